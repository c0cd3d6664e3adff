"""The parts of the USD reader."""
