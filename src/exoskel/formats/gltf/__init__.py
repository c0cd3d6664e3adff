"""glTF 2.0: still scenes and animations, written as `.glb`; text and binary files, read as static bodies."""
