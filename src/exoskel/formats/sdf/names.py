"""Names in SDFormat: which are reserved, and how others are written."""

from __future__ import annotations

from exoskel.scene.item import Names, unique_name

WORLD = "world"
SEPARATOR = "::"
"""Between the names of nested scopes."""
_AROUND = "__"


def is_reserved(name: str) -> bool:
    return name == WORLD or (name.startswith(_AROUND) and name.endswith(_AROUND)) or SEPARATOR in name


def valid_name(name: str, otherwise: str, taken: Names) -> str:
    """A name that SDFormat allows: not empty, not reserved, unique in `taken`, to which it is added.

    libsdformat joins several spaces to one where a name is the text of an element, but not in attributes.
    """
    valid = " ".join(name.replace(SEPARATOR, "__").split()) or otherwise
    if is_reserved(valid):
        valid = f"{valid.strip('_') or otherwise}_1"
    valid = unique_name(valid, taken)
    taken.add(valid)
    return valid
