"""glTF 2.0, binary (`.glb`): scenes to look at, still or moving.  It is written, and not read."""
