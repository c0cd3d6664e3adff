"""Versions of SDFormat, and what came with each."""

from __future__ import annotations

Version = tuple[int, int]

OLDEST: Version = (1, 6)
NEWEST: Version = (1, 12)

AXES_OF_JOINT: Version = (1, 5)
"""From here on an axis is in the frame of its joint; before, in that of the model."""

NEEDS: dict[str, Version] = {
    "capsule": (1, 8),
    "ellipsoid": (1, 8),
    "screw_thread_pitch": (1, 10),
    "mimic": (1, 11),
    "cone": (1, 11),
}
"""The elements among those we write that are younger than the oldest version."""


def version_of(text: str) -> Version:
    """A version as numbers that compare; (0, 0) if it is none."""
    major, _, minor = text.strip().partition(".")
    minor = minor.partition(".")[0]
    return (int(major), int(minor)) if major.isascii() and major.isdigit() and minor.isdigit() else (0, 0)


def text_of(version: Version) -> str:
    return f"{version[0]}.{version[1]}"
