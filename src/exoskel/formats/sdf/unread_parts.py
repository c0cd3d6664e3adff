"""What a document states and no field of a scene has, by the vocabulary: it is written to SDF again as it is."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping

from exoskel.formats.sdf.cameras_and_lights import CAMERA_TYPES, LIGHT
from exoskel.formats.sdf.geometry_elements import UNSUPPORTED_GEOMETRIES
from exoskel.formats.sdf.joints import GEARBOX
from exoskel.formats.sdf.names import WORLD
from exoskel.formats.sdf.sensors import SENSOR
from exoskel.formats.sdf.values import MASK, is_zero
from exoskel.formats.sdf.vocabulary import SDF
from exoskel.scene.body import Body, Marker
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.shape import Shape
from exoskel.scene.world import World
from exoskel.source.document import Document
from exoskel.source.markup import Markup
from exoskel.source.source_elements import UnreadParts
from exoskel.source.vocabulary import STRUCTURE, Element, SceneField, SceneFieldTable

_ELSEWHERE = (SENSOR, LIGHT)
"""Elements that are copied as a whole, or not at all."""
_PARTLY_READ = ("collide_bitmask",)
"""Elements that a scene has only a part of."""
_PHYSICS, _PLUGIN, _MIMIC = "physics", "plugin", "mimic"
_SEVERAL_AXES = ("universal", "revolute2", "ball")
"""Types of joints that a scene has no mimics of."""


def find_unread(document: Document, fields: SceneFieldTable) -> UnreadParts:
    """The elements and attributes that no field of a scene has; `fields` are those that others set."""
    return _PartFinder(document, fields).find()


class _PartFinder:
    def __init__(self, document: Document, fields: SceneFieldTable) -> None:
        self.document = document
        self.fields = fields
        self.outline = document.outline
        self.elements: list[int] = []
        self.attributes: list[tuple[int, str]] = []
        self.containers: dict[int, bool] = {}
        self.single: list[int] = []
        self.inside: dict[int, frozenset[int]] = {}
        self.unused_physics = {*find_other_physics(document)}

    def find(self) -> UnreadParts:
        rows: dict[int, tuple[Element, SceneField | None]] = {}
        for node, tag in enumerate(self.outline.tags):
            if node == 0:
                found: tuple[Element, SceneField | None] | None = (SDF.root, None)
            else:
                above = rows.get(self.outline.parents[node])
                found = None if above is None else self._row_of(node, tag, *above)
            if found is not None:
                rows[node] = found
                self._add_attributes(node, found[0])
                self.containers[node] = _may_be_added(*found)
        return UnreadParts(
            frozenset(self.elements), tuple(self.attributes), self.containers, frozenset(self.single), self.inside
        )

    def _row_of(
        self, node: int, tag: str, around: Element, inherited: SceneField | None
    ) -> tuple[Element, SceneField | None] | None:
        """The row of an element and the field that its content sets; None if the content is not considered."""
        if around.opaque or around.is_leaf:
            return None
        if tag in _ELSEWHERE:
            self.inside[node] = frozenset(self._unread_inside(node, tag, World if around.item is World else Body))
            return None
        row = around.children.get(tag)
        if row is not None and not row.many and self.outline.ordinal(node) > 1:
            return None  # a duplicate, which is reported
        field = None if row is None else row.field or inherited
        if row is None or row.occurrence_code or (field is not None and field.unused) or self._is_unread(node, row):
            self.elements.append(node)
            if row is not None and not row.many:
                self.single.append(node)
            return None
        if tag in _PARTLY_READ:
            self.elements.append(node)
        return row, row.content or inherited

    def _unread_inside(self, top: int, tag: str, kind: type[Item]) -> Iterator[int]:
        """The elements in a sensor or light that a scene does not have."""
        is_view = tag == LIGHT or self.document.attribute_text(top, "type").strip() in CAMERA_TYPES
        paths = {top: tag if is_view else ""}
        for node in range(top + 1, self.outline.ends[top]):
            around = paths.get(self.outline.parents[node])
            if around is None:
                continue
            own = self.outline.tags[node]
            path = f"{around}/{own}" if around else own
            row = self.fields.find(kind if is_view else Marker, path)
            if ":" in own or row is None or row.unused:
                if own != _PLUGIN:
                    self.single.append(node)
                yield node
            else:
                paths[node] = path
                self.containers[node] = False

    def _add_attributes(self, node: int, row: Element) -> None:
        for name in self.document.attributes(node):
            known = row.attributes.get(name)
            if known is None:
                is_unread = name != "xmlns" and not name.startswith(("xmlns:", "xsi:"))
            else:
                is_unread = isinstance(known.field, SceneField) and bool(known.field.unused) and node > 0
            if is_unread or (name == "default" and row.name == _PHYSICS):
                self.attributes.append((node, name))

    def _is_unread(self, node: int, row: Element) -> bool:
        """Whether an element is of a kind that a scene has, and is not read all the same."""
        if row.name == _MIMIC:
            return self._has_several_axes(node)
        if row.name == _PHYSICS:
            return node in self.unused_physics
        if row.item is Joint:
            above = self.outline.tags[self.outline.parents[node]]
            return above == WORLD or self.document.attribute_text(node, "type").strip() == GEARBOX
        if row.item is Shape:
            geometry = next((one for one in self._children(node) if self.outline.tags[one] == "geometry"), -1)
            kinds = {self.outline.tags[one] for one in self._children(geometry)} if geometry >= 0 else set()
            return bool(kinds) and kinds <= {*UNSUPPORTED_GEOMETRIES}
        return False

    def _has_several_axes(self, mimic: int) -> bool:
        """Whether a mimic is on a joint with several axes, or of such a joint."""
        joint = self.outline.parents[self.outline.parents[mimic]]
        name = self.document.attribute_text(mimic, "joint").strip()
        leaders = (
            one
            for one in self._children(max(self.outline.parents[joint], 0))
            if self.outline.tags[one] == "joint" and self.document.attribute_text(one, "name").strip() == name
        )
        return any(
            self.document.attribute_text(one, "type").strip() in _SEVERAL_AXES
            or any(self.outline.tags[inner] == "axis2" for inner in self._children(one))
            for one in (joint, *leaders)
        )

    def _children(self, node: int) -> Iterator[int]:
        return (one for one in range(node + 1, self.outline.ends[node]) if self.outline.parents[one] == node)


def _may_be_added(row: Element, inherited: SceneField | None) -> bool:
    """Whether an element only groups others, so that it means nothing without them."""
    sets_nothing = inherited is None and row.field in (None, STRUCTURE)
    is_group = not (row.is_leaf or row.opaque or row.item is not None or row.states or row.required)
    return sets_nothing and is_group and not row.required_attributes


def find_other_physics(document: Document) -> Iterator[int]:
    """The physics settings that their worlds do not use."""
    outline = document.outline
    worlds: dict[int, list[int]] = {}
    for node, tag in enumerate(outline.tags):
        if tag == _PHYSICS and outline.tags[outline.parents[node]] == WORLD:
            worlds.setdefault(outline.parents[node], []).append(node)
    for nodes in worlds.values():
        is_default = [document.attribute_text(node, "default").strip() in ("true", "1") for node in nodes]
        used = is_default.index(True) if True in is_default else 0
        yield from (*nodes[:used], *nodes[used + 1 :])


# --- the meaning of a part in the output -----------------------------------------------------------------


def may_carry(document: Document, node: int, owner: Markup) -> bool:
    """Whether an unread element means the same in an element of the output: the scene may have been edited."""
    outline = document.outline
    tag, parent = outline.tags[node], outline.parents[node]
    around = _texts(document, parent)
    written = {one.tag: one.text for one in owner.children}
    if outline.tags[parent] == "mesh":  # it is about one file
        return _file_name(around.get("uri", "")) == _file_name(written.get("uri", ""))
    match tag:
        case "mu2":
            return "mu" not in written or _number(around.get("mu", "1")) == _number(written["mu"])
        case "collide_bitmask":
            value = MASK.value(document.value_text(node))
            return tag not in written and value is not None and value != 0
        case "fluid_added_mass":  # in the axes of the inertial frame; those of the output are the axes of the link
            return all(map(is_zero, around.get("pose", "").split()[3:]))
        case "initial_position":  # the joint is written in the other direction, with the opposite sign
            return _texts(document, outline.parents[parent]).get("child", "").strip() != WORLD
    return True


def _texts(document: Document, node: int) -> Mapping[str, str]:
    """The texts of the elements in an element, by their tags; of several, the first counts."""
    outline, found = document.outline, dict[str, str]()
    for one in range(node + 1, outline.ends[node]):
        if outline.parents[one] == node:
            found.setdefault(outline.tags[one], document.value_text(one))
    return found


def _file_name(reference: str) -> str:
    return posixpath.basename(reference.strip())


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
