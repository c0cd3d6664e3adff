"""Renaming in the text of a document that is not edited in place: only names and references change."""

from __future__ import annotations

from collections import Counter

from msgspec import Struct

from exoskel.diagnostics import ExoskelError, Severity
from exoskel.formats import registry
from exoskel.formats.interface import SceneReader
from exoskel.formats.name_references import NameReferences
from exoskel.scene.body import Body, Marker
from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.joint import Joint
from exoskel.scene.model import Model
from exoskel.scene.shape import Shape
from exoskel.scene.world import Scene
from exoskel.source.document import Document
from exoskel.source.expanded_document import ExpandedDocument
from exoskel.source.splice import Patch, Splice

RenamableItem = Model | Body | Joint | Shape | Marker


class RenamedText(Struct, frozen=True):
    """A document with another name: its bytes and scene, and how many parameters of plugins still have the old one."""

    data: bytes
    scene: Scene
    parameters: int


def rename_in_text(scene: Scene, item: RenamableItem, name: str, read: SceneReader) -> RenamedText:
    """Rename an item in the text of the document of a scene.  Raises ExoskelError."""
    document, kind = scene.documents[0], registry.by_name(scene.source_info.format).name_references()
    if kind is None or not isinstance(document, Document) or isinstance(document, ExpandedDocument):
        raise ExoskelError("names in files with macros cannot be changed; convert the file first")
    if item.document != 0 or (isinstance(item, Joint) and item.implicit):
        raise ExoskelError("this name is not in the file: it is in an included file, or that of a joint to the world")
    known = kind(document)
    if item.node not in known.names or known.name(item.node) != item.name.rpartition("::")[2]:
        raise ExoskelError("the file does not state this name; use --out FILE")
    return rename_and_read(scene, known, item.node, name, read)


def rename_and_read(scene: Scene, known: NameReferences, node: int, name: str, read: SceneReader) -> RenamedText:
    """Rename an element of the document of a scene.  Raises ExoskelError, also if the result has other errors."""
    splices = known.rename(node, name)
    parameters = known.parameters(node)
    data = _applied(known.document, splices)
    with no_edits():  # creating a scene edits none
        after = read(data)
    new = _errors(after) - _errors(scene)
    if new:
        message = next(one.message for one in after.diagnostics if one.severity is Severity.ERROR and one.key in new)
        raise ExoskelError(f"the file would no longer be valid: {message}")
    return RenamedText(data, after, parameters)


def _applied(document: Document, splices: list[Splice]) -> bytes:
    patch = Patch(document)
    patch.splices += splices
    return patch.apply()


def _errors(scene: Scene) -> Counter[str]:
    """How many errors of each kind a scene has."""
    return Counter(one.key for one in scene.diagnostics if one.severity is Severity.ERROR)
