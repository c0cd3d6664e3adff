"""What is known of the file that a scene was read from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from msgspec import Struct

from exoskel.scene.cameras_and_keyframes import View
from exoskel.scene.sensor import SensorSource


class SourceInfo(Struct, frozen=True):
    """The format of the file that a scene was read from, and how it was interpreted."""

    format: str = ""
    format_version: str = ""
    semantics: str = ""
    bare: bool = False
    """The document is a bare skeleton: it has no world element."""
    generated: Mapping[int, int] = {}
    """Elements that Exoskel has generated to express a motor, a loop or a soft skin, and the element of its owner."""
    couplings: Mapping[tuple[int, int], Set[tuple[int, int]]] = {}
    """Elements that were read as mimics of joints, such as gearboxes, and the elements of these joints, by document."""
    sensors: Mapping[tuple[int, int], Set[SensorSource]] = {}
    """The sensors that were read from each element of each document: a file may be included several times."""
    views: Mapping[tuple[int, int], Sequence[View]] = {}
    """The same for cameras and lights."""
    users: Mapping[int, Set[int]] = {}
    """Elements of the document that bodies and shapes use, such as materials, and the elements of these."""
    included: Mapping[int, bool] = {}
    """The documents that are included files, by number, and whether their models are parts of other models."""
    also_reported: Mapping[str, Set[tuple[int, str]]] = {}
    """Elements and attributes that a diagnostic is about, too, by its code: it is reported once for all of them."""
    objects: Mapping[int, tuple[str, str]] = {}
    """Elements of the document that are objects in other lists of a world: the field of the list, and their names."""
    partly_read: Mapping[tuple[int, str], bool] = {}
    """Attributes with numbers of items that were not read, and whether all of their numbers are."""
    preserved: object = None
    """What the scene does not contain, for the writer of the same format."""
