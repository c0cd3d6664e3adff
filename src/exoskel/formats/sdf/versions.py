"""Versions of SDFormat, and the elements that require them."""

from __future__ import annotations

Version = tuple[int, int]

OLDEST: Version = (1, 6)
NEWEST: Version = (1, 12)

JOINT_FRAME_AXES: Version = (1, 5)
"""Since this version an axis is expressed in the joint frame; before, in the model frame."""

REQUIRED_VERSIONS: dict[str, Version] = {
    "capsule": (1, 8),
    "ellipsoid": (1, 8),
    "screw_thread_pitch": (1, 10),
    "mimic": (1, 11),
    "cone": (1, 11),
}
"""Elements that we write and that need a newer version than the oldest."""


def parse_version(text: str) -> Version:
    """A version as comparable numbers; (0, 0) if it is invalid."""
    major, _, minor = text.strip().partition(".")
    minor = minor.partition(".")[0]
    return (int(major), int(minor)) if major.isascii() and major.isdigit() and minor.isdigit() else (0, 0)


def version_text(version: Version) -> str:
    return f"{version[0]}.{version[1]}"
