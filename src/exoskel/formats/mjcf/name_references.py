"""Names in MJCF files and the places that refer to them, also in lists, sensors and tuples."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import unquote

from exoskel.diagnostics import ExoskelError
from exoskel.formats.mjcf.document_references import BODY_LISTS, find_references, shared_kind
from exoskel.formats.mjcf.names import SKIN_TEXT, is_name_table
from exoskel.formats.name_references import NAME, NOWHERE, NameReference, NameReferences
from exoskel.source.positions import Span

_CLASS, _INSTANCE, _MODEL = "class", "instance", "model"
_IN_BODIES = frozenset({"body", "joint", "freejoint", "geom", "site", "camera", "light", "frame"})
_IN_SECTIONS: dict[str, str] = {
    "asset": "",
    "deformable": "",
    "contact": "",
    "custom": "",
    "keyframe": "",
    **{one: one for one in ("tendon", "actuator", "sensor", "equality")},
}
"""The kind of all that is in a section; empty where tags are kinds."""
_VALUES = ("visual", "size", "option", "compiler", "statistic")
"""Sections whose attributes are no names."""
_GENERATING = ("replicate", "composite", "flexcomp", "attach")
"""Elements that make other names of those in them."""
_PATH_SEPARATOR = "/"


class MjcfNames(NameReferences):
    """A name is unique in the document for its kind: joints, bodies, sensors and others."""

    def find_names(self) -> Iterator[tuple[int, Span]]:
        for node, tag in enumerate(self.tags):
            span = None
            if node == 0:
                span = self.attribute(node, _MODEL)
            elif tag == "default":
                span = self.attribute(node, _CLASS)
            elif self._has_name(node) and self.around(node, _GENERATING) < 0:
                span = self.attribute(node, NAME)
            if span is not None:
                yield node, span

    def _has_name(self, node: int) -> bool:
        tag, above = self.tags[node], self.above(node)
        if above in _IN_SECTIONS or (tag, above) == (_INSTANCE, "plugin"):
            return True
        return tag in _IN_BODIES and self.around(node, ("worldbody",)) >= 0

    def kind(self, node: int) -> str:
        tag, above = self.tags[node], self.above(node)
        if tag == "default":
            return _CLASS
        return _IN_SECTIONS.get(above) or shared_kind(tag)

    def check_format(self, node: int, name: str) -> None:
        if self.kind(node) == "body" and name == "world":
            raise ExoskelError("the name 'world' is reserved in MJCF")
        before = self.name(node)
        if any(before in words for words in self._tables()):
            raise ExoskelError("the file has a table of names, which Exoskel wrote; use `exoskel rename --out FILE`")

    def _tables(self) -> Iterator[set[str]]:
        """The names in the tables with which Exoskel finds the names of a scene again."""
        for node, tag in enumerate(self.tags):
            name = self.document.attribute_text(node, NAME) if tag == "text" else ""
            if name.startswith(SKIN_TEXT):
                yield {name.removeprefix(SKIN_TEXT)}
            elif is_name_table(name):
                rows = self.document.attribute_text(node, "data").replace("=", " ").split()
                yield {unquote(part) for row in rows for part in (row, *row.split(_PATH_SEPARATOR))}

    def find_parameters(self) -> Iterator[str]:
        nodes = (node for node, tag in enumerate(self.tags) if tag == "config")
        return (self.document.attribute_text(node, "value") for node in nodes)

    def find_references(self) -> Iterator[NameReference]:
        for node, attribute, kind, _ in find_references(self.document):
            if self.tags[node] in _VALUES or self.above(node) in _VALUES:
                continue
            span = self.attribute(node, attribute)
            if attribute in BODY_LISTS.get(self.tags[node], ()):
                yield from self.refer_to_words(node, span, kind)
            else:
                yield from self.refer(node, span, NOWHERE, (kind,))
        for node, tag in enumerate(self.tags):
            if tag != "default":
                yield from self.refer(node, self.attribute(node, _CLASS), NOWHERE, (_CLASS,))
            yield from self.refer(node, self.attribute(node, "childclass"), NOWHERE, (_CLASS,))
            if tag == "plugin":
                yield from self.refer(node, self.attribute(node, _INSTANCE), NOWHERE, (_INSTANCE,))
            if tag == "attach":
                yield from self.refer(node, self.attribute(node, _MODEL), NOWHERE, (_MODEL,))
