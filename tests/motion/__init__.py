"""Random worlds, moved by Exoskel and by the engines that the formats come from."""
