"""Names in URDF and SDFormat files, and the places that refer to them: for renaming in the text.

These formats are not edited in place, because a scene does not contain all of them.  A name is different: the tables
here state where the text refers to names, also in elements that a scene does not contain, or that have errors.
Parameters of plugins are not searched.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from html import unescape

from msgspec import Struct

from exoskel.diagnostics import ExoskelError
from exoskel.scene.item import Item, TakenNameError, check_name
from exoskel.scene.joint import Joint
from exoskel.scene.shape import Shape
from exoskel.scene.world import Scene
from exoskel.source.document import Document
from exoskel.source.expanded_document import ExpandedDocument
from exoskel.source.markup import escape_attribute
from exoskel.source.positions import Span
from exoskel.source.splice import Patch, Splice

TEXT_FORMATS = frozenset({"urdf", "sdf"})
"""Formats in which names are changed in the text."""
_SEPARATOR = b"::"
_NAME = "name"
_MODELS = ("model", "world")

_URDF_NAMES = ("link", "joint", "material")
_URDF_REFERENCES: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {
    ("joint", "parent"): {"link": ("link",)},
    ("joint", "child"): {"link": ("link",)},
    ("joint", "mimic"): {"joint": ("joint",)},
    ("visual", "material"): {_NAME: ("material",)},
    ("robot", "gazebo"): {"reference": ("link", "joint")},
    ("sensor", "parent"): {"link": ("link",), "joint": ("joint",)},
    ("ros2_control", "joint"): {_NAME: ("joint",)},
    ("transmission", "joint"): {_NAME: ("joint",)},
}
"""The kinds of items that attributes name, by the tags of the elements around and of their own."""

_SDF_NAMES = ("link", "joint", "frame", "model", "include")
_SDF_TEXTS = {
    ("joint", "parent"),
    ("joint", "child"),
    ("joint", "gearbox_reference_body"),
    ("gripper", "gripper_link"),
    ("gripper", "palm_link"),
}
"""Elements whose text is a name, with the tags of the elements around them."""
_SDF_ATTRIBUTES = ("relative_to", "attached_to", "expressed_in", "canonical_link", "placement_frame")
_OF_ITS_MODEL = ("canonical_link", "placement_frame")
"""Attributes of a model that name what is in it."""


class NameReference(Struct, frozen=True):
    """A part of the text that names an item: the element that states the name, and its own."""

    target: int
    node: int
    span: Span


class RenamedText(Struct, frozen=True):
    """The bytes of a document with another name, and how many parameters of plugins still have the old one."""

    data: bytes
    parameters: int


def rename_in_text(scene: Scene, item: Item, name: str) -> RenamedText:
    """Rename an item in the text of the document of a scene.  Raises ExoskelError."""
    document = scene.documents[0]
    if not isinstance(document, Document) or isinstance(document, ExpandedDocument):
        raise ExoskelError("names in files with macros cannot be changed; convert the file first")
    if isinstance(item, Shape):
        raise ExoskelError("shapes of URDF and SDF files are not renamed in place; use --out FILE")
    if item.document != 0 or (isinstance(item, Joint) and item.implicit):
        raise ExoskelError("this name is not in the file: it is in an included file, or that of a joint to the world")
    patch = Patch(document)
    known = NameReferences(document)
    patch.splices += known.rename(item.node, name)
    return RenamedText(patch.apply(), known.parameters(item.node))


class NameReferences:
    """The names of models, links, joints, frames and materials in a document, and the references to them."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.tags, self.parents = document.outline.tags, document.outline.parents
        self.is_robot = self.tags[:1] == ["robot"]
        """It is URDF, in which names have no scopes; otherwise SDF."""

    def name_at(self, offset: int) -> NameReference | None:
        """The name or reference at a place in the text."""
        for node, span in self.names.items():
            if span.start <= offset <= span.end:
                return NameReference(node, node, span)
        return next((one for one in self.references if one.span.start <= offset <= one.span.end), None)

    def places(self, node: int) -> list[Span]:
        """The name that an element states, and all references to it, in the order of the text."""
        own = [self.names[node]] if node in self.names else []
        return sorted([*own, *(one.span for one in self.references if one.target == node)], key=lambda one: one.start)

    def rename(self, node: int, name: str) -> list[Splice]:
        """The changes of the text that rename an item with all references.  Raises ExoskelError."""
        if node not in self.names:
            raise ExoskelError("the file does not state this name")
        self._check_name(node, name)
        new = escape_attribute(name).encode(self.document.scan.codec, "xmlcharrefreplace")
        return [(span.start, span.end, new) for span in self.places(node)]

    def parameters(self, node: int) -> int:
        """How many parameters of plugins have the name of an item as their text, and may refer to it."""
        name, tags = self._text(self.names[node]), self.tags
        plugins = (one for one, tag in enumerate(tags) if tag == "plugin")
        inside = {one for plugin in plugins for one in range(plugin + 1, self.document.outline.ends[plugin])}
        texts = (self.document.value_text(one).strip() for one in inside)
        return sum(text == name or text.endswith(f"::{name}") for text in texts)

    def _check_name(self, node: int, name: str) -> None:
        kind = self.tags[node]
        check_name(kind, name)
        if name != name.strip():
            raise ExoskelError(f"the name {name!r} must not begin or end with spaces")
        is_reserved = "::" in name or name == "world" or (name.startswith("__") and name.endswith("__"))
        if is_reserved and not self.is_robot:
            raise ExoskelError(f"the name {name!r} is reserved in SDF: `world`, `__name__` and names with `::`")
        taken = self._scopes.get(self._scope(node), {}).get((self._kind(node), name))
        if taken is not None and taken != node:
            raise TakenNameError(f"another {self.tags[taken]} is already called {name!r}")

    # --- names ----------------------------------------------------------------------------------------

    @cached_property
    def names(self) -> dict[int, Span]:
        """The names that elements state."""
        return dict(self._find_names())

    def _find_names(self) -> Iterator[tuple[int, Span]]:
        scan, known = self.document.scan, set[str]()
        for node, tag in enumerate(self.tags):
            above = self.tags[self.parents[node]] if self.parents[node] >= 0 else ""
            if self.is_robot:
                is_name = node == 0 or (tag in _URDF_NAMES and above in ("robot", "visual"))
                if tag == "material":  # the first one with a name; the others refer to it
                    text = self.document.attribute_text(node, _NAME)
                    is_name = is_name and text not in known
                    known.add(text)
            else:
                is_name = tag == "world" or (tag in _SDF_NAMES and (above in _MODELS or self.parents[node] == 0))
            if not is_name:
                continue
            stated = self._include_name(node) if tag == "include" else scan.attribute(node, _NAME)
            if stated is not None:
                yield node, stated

    def _include_name(self, node: int) -> Span | None:
        inside = range(node + 1, self.document.outline.ends[node])
        found = (one for one in inside if self.parents[one] == node and self.tags[one] == _NAME)
        return next((self.document.scan.value(one) for one in found), None)

    @cached_property
    def _scopes(self) -> dict[int, dict[tuple[str, str], int]]:
        """The elements that state names, by the model or world around them, and by kind and name."""
        found: dict[int, dict[tuple[str, str], int]] = {}
        for node, span in self.names.items():
            found.setdefault(self._scope(node), {}).setdefault((self._kind(node), self._text(span)), node)
        return found

    def _kind(self, node: int) -> str:
        """Items of a kind have different names: in SDF, all that is in a model."""
        return self.tags[node] if self.is_robot else ""

    def _scope(self, node: int) -> int:
        """The model or world around an element; -1 outside of models and worlds, and in URDF."""
        if self.is_robot:
            return -1
        around = reversed(self.document.outline.ancestry(node)[:-1])
        return next((one for one in around if self.tags[one] in _MODELS), -1)

    def _text(self, span: Span) -> str:
        return unescape(self.document.text[span.start : span.end].decode(self.document.scan.codec, "replace"))

    # --- references -----------------------------------------------------------------------------------

    @cached_property
    def references(self) -> list[NameReference]:
        """All references to names that the document states."""
        return list(self._urdf_references() if self.is_robot else self._sdf_references())

    def _urdf_references(self) -> Iterator[NameReference]:
        known = self._scopes.get(-1, {})
        for node, tag in enumerate(self.tags):
            above = self.tags[self.parents[node]] if self.parents[node] >= 0 else ""
            for name, kinds in _URDF_REFERENCES.get((above, tag), {}).items():
                span = self.document.scan.attribute(node, name)
                text = "" if span is None else self._text(span)
                targets = (known.get((kind, text)) for kind in kinds)
                target = next((one for one in targets if one is not None), None)
                if span is not None and target not in (None, node):
                    yield NameReference(int(target or 0), node, span)

    def _sdf_references(self) -> Iterator[NameReference]:
        scan = self.document.scan
        for node, tag in enumerate(self.tags):
            parent = self.parents[node]
            above = self.tags[parent] if parent >= 0 else ""
            scope = self._scope(node)
            if (above, tag) in _SDF_TEXTS:
                yield from self._parts(scope, node, scan.value(node))
            if tag == "mimic" and (span := scan.attribute(node, "joint")) is not None:
                yield from self._parts(scope, node, span)
            for name in _SDF_ATTRIBUTES:
                if (span := scan.attribute(node, name)) is not None:
                    is_inner = tag == "model" and name in _OF_ITS_MODEL
                    yield from self._parts(node if is_inner else self._frame_scope(node), node, span)
            if tag == "pose" and (span := scan.attribute(node, "frame")) is not None:
                yield from self._parts(self._frame_scope(node), node, span)

    def _frame_scope(self, node: int) -> int:
        """The model or world that an attribute names a frame of: the pose of a model is relative to one around it."""
        parent = self.parents[node]
        is_of_model = self.tags[node] == "pose" and parent >= 0 and self.tags[parent] == "model"
        return self._scope(parent if is_of_model else node)

    def _parts(self, scope: int, node: int, span: Span) -> Iterator[NameReference]:
        """The parts of a name such as `arm::hand`, as far as the document states what they name."""
        start = span.start
        for part in self.document.text[span.start : span.end].split(_SEPARATOR):
            own = Span(start, start + len(part))
            target = self._scopes.get(scope, {}).get(("", self._text(own)))
            if target is None:
                return
            yield NameReference(target, node, own)
            if self.tags[target] != "model":
                return
            scope, start = target, own.end + len(_SEPARATOR)
