"""Passes from scene to scene: the same physics with simpler joints, or another up axis."""
