"""Data that a format cannot express, embedded in elements of our own, field by field.

Each embedded field has a fingerprint of the value that the format itself states in its place.  If that value was
edited, the edit takes precedence: the embedded value is ignored, with a warning.  `exoskel.source.embedded_format`
describes the elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from math import inf
from operator import attrgetter
from typing import Any

from msgspec import UNSET, Struct, structs

from exoskel.diagnostics import Topic, warning
from exoskel.scene.body import Body, Marker
from exoskel.scene.fields import iter_items
from exoskel.scene.inertia import Inertia
from exoskel.scene.item import Item
from exoskel.scene.joint import TRAITS, Joint
from exoskel.scene.json_codec import (
    CodecError,
    decode_field,
    decode_item,
    decode_json,
    field_value,
    has_fingerprint,
    remember,
    set_dofs,
)
from exoskel.scene.model import Model
from exoskel.scene.pose import Pose
from exoskel.scene.shape import Material, Mesh, Shape, TriMesh
from exoskel.scene.validation import world_problems
from exoskel.scene.value_checks import Problem
from exoskel.scene.world import Scene, World
from exoskel.source.embedded_format import (
    EmbeddedElement,
    EmbeddedTag,
    GroupingRow,
    RejectedElements,
    parse_grouping,
)
from exoskel.source.meshes import MeshFinder

_ITEMS: dict[str, type[Item]] = {"visuals": Shape, "collisions": Shape, "markers": Marker, "joints": Joint}

_STRUCTURAL_FIELDS = frozenset({"", "child", "parent", "loop", "name"})
"""Fields that decide how items are connected; empty for elements that add, remove or group items."""

POSE_FIELDS = frozenset({"pose", "axes", "dofs"})
"""Fields that together place bodies: if one of them is outdated, all of the model's are ignored."""


_REPEATED_FIELDS = frozenset({"dofs", "drives", "pose", "axes", "inertia", "color", "actuator"})
"""Fields that often have the same value, without arrays, and that other fields of an item do not affect."""


class _PreparedChange(Struct):
    """A change of the scene that an embedded element asks for: the item and the field it is about, and the action."""

    number: int
    item: Item | None
    field: str
    apply: Callable[[], None]


_MOST_ROUNDS = 8
"""How often a document is read again without elements that make the scene invalid, until all are ignored."""


class EmbeddedReader:
    """Applies the data that is embedded in a document to the scene that was read from it.

    `code` is that of the format's topic about embedded data.  `rejected` elements are reported and not applied.
    """

    def __init__(
        self, scene: Scene, report: Callable[..., None], code: str, finder: MeshFinder, rejected: RejectedElements
    ) -> None:
        self.scene = scene
        self.rejected = rejected
        self.touched: dict[int, list[tuple[str, int]]] = {}
        """The fields that embedded elements have set, with the numbers of these elements, by the id of the item."""
        self.removed: dict[int, Item] = {}
        """Placeholders that were removed, by id."""
        self._parsed: dict[str, Any] = {}
        self._decoded: dict[tuple[type[Item], str, str], Any] = {}
        """Values by the type of the item, the field and the text."""
        self.finder = finder
        self.report = report
        self.code = code
        self.items: dict[int, Item] = {}
        """Items by the numbers of their elements."""
        self.parent_joints: dict[int, Joint] = {}
        """Joints by the ids of their child bodies, without loop joints."""
        self.containers: dict[int, tuple[Item, str]] = {}
        """The item that holds another one and the name of the list, by the id of the inner item."""
        self.models = {id(i): m for w in scene.worlds for m in w.models for i in (*m.bodies, *m.joints)}
        """The model that the file itself puts an item in, by the item's id."""
        self.moved: set[int] = set()
        """Models, by id, in which something was moved since the file was written."""
        self.outdated_positions: set[int] = set()
        """Joints, by id, whose embedded positions belong to poses that are outdated."""
        self.reconnected: set[int] = set()
        """Models, by id, whose joints have other child bodies than the file itself states."""
        for item, container, name in iter_items(scene):
            if container is not None:
                self.containers[id(item)] = (container, name)
            if isinstance(item, Joint) and item.implicit:
                continue
            if item.node >= 0 and not (isinstance(item, Model) and item.node in self.items):
                self.items.setdefault(item.node, item)
        for item, _, _ in iter_items(scene):
            if isinstance(item, Body):
                self.items[item.node] = item
            if isinstance(item, Joint) and not item.loop:
                self.parent_joints[id(item.child)] = item

    def apply(self, elements: Iterable[EmbeddedElement]) -> RejectedElements | None:
        """Apply everything; if the scene is invalid then, return the elements without which to read it again."""
        for number, reason in self.rejected.reasons.items():
            self.report(f"{self.code}.broken", number, reason=[reason])  # a list is not shortened
        # Groupings come first: joints look up their bodies in their models.
        found = [element for element in elements if element.number not in self.rejected.reasons]
        found.sort(key=lambda element: element.tag is not EmbeddedTag.GROUPING)
        # All fingerprints are compared before anything changes.
        steps = [step for element in found if (step := self._prepare(element)) is not None]
        for step in steps:
            if step.field in POSE_FIELDS and id(self._model_of(step.item)) in self.moved:
                if step.field != "dofs":
                    continue  # the warning about the moved item covers it
                self.outdated_positions.add(id(step.item))
            if step.field:
                self._note_change(step.item, step.field, step.number)
            try:
                step.apply()
            except (CodecError, TypeError, ValueError, KeyError, IndexError, OverflowError, AttributeError) as problem:
                self._report_broken(step.number, str(problem))
        self._sort_joints()
        self._remove_joints_of_placeholders()
        return self._find_rejected(steps)

    def _note_change(self, item: Item | None, field: str, number: int) -> None:
        """Record that an element has set a field of an item, or created the item."""
        if item is not None:
            self.touched.setdefault(id(item), []).append((field, number))

    # --- validation -----------------------------------------------------------------------------------

    def _find_rejected(self, steps: list[_PreparedChange]) -> RejectedElements | None:
        """The elements that make the scene invalid, with those that were rejected before; None if it is valid."""
        problems = [problem for world in self.scene.worlds for problem in world_problems(world)] if steps else []
        found: dict[int, str] = {}
        for problem in problems:
            for number in self._responsible_elements(problem, steps):
                found.setdefault(number, problem.message)
        if not found:
            return None
        if self.rejected.rounds >= _MOST_ROUNDS:
            found = {step.number: next(iter(found.values())) for step in steps}
        return RejectedElements({**self.rejected.reasons, **found}, self.rejected.rounds + 1)

    def _responsible_elements(self, problem: Problem, steps: list[_PreparedChange]) -> set[int]:
        """The elements that set the invalid field, changed the items involved, or, at last, rearranged items."""
        changes = [change for item in (problem.item, *problem.others) for change in self.touched.get(id(item), ())]
        exact = {number for field, number in changes if field in (problem.field, "")}
        found = exact or {number for _, number in changes}
        if found or not problem.is_structural:
            return found
        return {step.number for step in steps if step.field in _STRUCTURAL_FIELDS}

    def _model_of(self, item: Item | None) -> Item | None:
        return self.models.get(id(item))

    def _report_broken(self, number: int, reason: str) -> None:
        self.report(f"{self.code}.broken", number, reason=reason)

    def _prepare(self, element: EmbeddedElement) -> _PreparedChange | None:
        """What an embedded element asks for, decided before anything has been changed."""
        item = self.items.get(element.owner)
        if element.tag is EmbeddedTag.PLACEHOLDER:
            return None if item is None else _PreparedChange(element.number, item, "", lambda: self._remove(item))
        try:
            data = self._parse(element.text)
        except CodecError as problem:
            self._report_broken(element.number, str(problem))
            return None
        if element.tag is EmbeddedTag.GROUPING:
            return self._prepare_grouping(item, element, data) if isinstance(item, World) else None
        if element.tag is EmbeddedTag.ITEM:
            return _PreparedChange(element.number, item, "", lambda: self._add(item, element, data))
        if element.is_of_parent_joint:
            item = self.parent_joints.get(id(item))
        if item is None:
            self._report_broken(element.number, "it is inside an element that cannot have embedded data")
            return None
        return self._prepare_field(item, element, data)

    def _parse(self, text: str) -> Any:
        """The data in a text; many elements may have the same."""
        if text not in self._parsed:
            remember(self._parsed, text, decode_json(text))
        return self._parsed[text]

    def _decode_field(self, kind: type[Item], element: EmbeddedElement, data: Any) -> Any:
        if element.field not in _REPEATED_FIELDS:
            return decode_field(kind, element.field, data)
        key = (kind, element.field, element.text)
        if key not in self._decoded:
            remember(self._decoded, key, decode_field(kind, element.field, data))
        known = self._decoded[key]
        if isinstance(known, list):
            return [copy(one) for one in known]
        return copy(known) if isinstance(known, Inertia) else known

    def _decode_item(self, container: Item | None, element: EmbeddedElement, data: Any) -> Any:
        kind = _ITEMS[element.list_name]
        if kind is not Shape:
            bodies = {body.name: body for body in container.bodies} if isinstance(container, Model) else None
            return decode_item(kind, data, bodies)
        key: tuple[type[Item], str, str] = (Shape, "", element.text)
        known = self._decoded.get(key)
        if known is None:
            known = decode_item(kind, data)
            if not isinstance(known.geometry, Mesh | TriMesh):
                remember(self._decoded, key, known)
        return copy(known)

    def _prepare_field(self, item: Item, element: EmbeddedElement, data: Any) -> _PreparedChange | None:
        field = element.field
        try:
            value = self._decode_field(type(item), element, data)
            if not has_fingerprint(field_value(item, field), element.fingerprint):
                self.report(f"{self.code}.stale", element.number, name=field)
                if field in POSE_FIELDS:
                    self.moved.add(id(self._model_of(item)))
                return None
        except (CodecError, AttributeError) as problem:
            self._report_broken(element.number, str(problem))
            return None
        return _PreparedChange(element.number, item, field, lambda: self._set(item, field, value))

    def _set(self, item: Item, field: str, value: Any) -> None:
        if isinstance(item, Joint) and field in ("child", "loop"):
            self.reconnected.add(id(self.containers[id(item)][0]))
        if isinstance(item, Joint) and field in ("child", "parent"):
            model = self.containers[id(item)][0]
            assert isinstance(model, Model)
            found = next((body for body in model.bodies if body.name == value), None)
            if value is not None and found is None:
                raise CodecError(f"unknown body {value!r}")
            setattr(item, field, found)
        elif isinstance(item, Joint) and field == "dofs":
            for dof in value if id(item) in self.outdated_positions else ():
                dof.position = 0.0  # the file itself states where the bodies are now
            set_dofs(item, value)
        elif isinstance(item, Shape) and isinstance(value, Mesh):
            mesh = self.finder.locate(value)
            # The triangles in the file replace a mesh file that is missing.
            if mesh.path is not None or not isinstance(item.geometry, TriMesh):
                item.geometry = mesh
        elif isinstance(item, Shape) and isinstance(value, Material):
            item.material = self._with_texture(value)
        else:
            if isinstance(item, Joint) and field == "kind" and len(TRAITS[value].motion) != len(item.motion):
                item._dofs = None
            setattr(item, field, value)

    def _with_texture(self, material: Material) -> Material:
        """A material with the path of its image, if it has one."""
        if material.texture is None:
            return material
        return structs.replace(material, texture=self.finder.textures.locate(material.texture))

    def _add(self, item: Item | None, element: EmbeddedElement, data: Any) -> None:
        name = element.list_name
        if name == "joints" and isinstance(item, Body):  # a body's parent joint belongs to the body's model
            item = self.containers[id(item)][0]
            self.reconnected.add(id(item))
        target: list[Any] | None = getattr(item, name, None) if name in _ITEMS else None
        if target is None:
            raise CodecError(f"the element around it has no list called {name!r}")
        new = self._decode_item(item, element, data)
        if isinstance(new, Shape) and isinstance(new.geometry, Mesh):
            new.geometry = self.finder.locate(new.geometry)
        if isinstance(new, Shape) and new.material is not None:
            new.material = self._with_texture(new.material)
        self._note_change(new, "", element.number)
        target.insert(len(target) if element.index is None else element.index, new)

    def _remove(self, item: Item | None) -> None:
        if item is None or id(item) not in self.containers:
            return
        container, name = self.containers[id(item)]
        items: list[Any] = getattr(container, name)
        items[:] = [other for other in items if other is not item]
        self.removed[id(item)] = item
        if isinstance(container, Body) and not container.collisions and container.mass == 0.0:
            model = next((m for w in self.scene.worlds for m in w.models if container in m.bodies), None)
            if model is not None and model.static and model.document < 0:
                for world in self.scene.worlds:
                    world.models[:] = [m for m in world.models if m is not model]

    # --- grouping -------------------------------------------------------------------------------------

    def _prepare_grouping(self, world: World, element: EmbeddedElement, data: Any) -> _PreparedChange | None:
        """Look up bodies by their names in the file itself, before embedded names are applied."""
        bodies = {body.name: body for model in world.models for body in model.bodies}
        rows = parse_grouping(data)
        named = [name for row in rows or () for name in row.bodies]
        if rows is None or len(set(named)) != len(named) or not all(name in bodies for name in named):
            self._report_broken(element.number, "it does not list bodies of this world, each of them once")
            return None
        members = [[bodies[name] for name in row.bodies] for row in rows]
        return _PreparedChange(element.number, world, "", lambda: self._group(world, rows, members))

    def _group(self, world: World, rows: list[GroupingRow], members: list[list[Body]]) -> None:
        """Restore the models that were split into assemblies."""
        joints = {id(joint.child): joint for model in world.models for joint in model.joints if not joint.loop}
        loops = sorted(
            (joint for model in world.models for joint in model.joints if joint.loop), key=attrgetter("node")
        )
        grouped = [self._model(row, own, joints, loops) for row, own in zip(rows, members, strict=True)]
        listed = {id(body) for own in members for body in own}
        models = [model for model in world.models if not all(id(body) in listed for body in model.bodies)]
        for model in models:
            model.bodies[:] = [body for body in model.bodies if id(body) not in listed]
            model.joints[:] = [joint for joint in model.joints if id(joint.child) not in listed]
        indices = [inf if row.index is None else row.index for row in rows]
        for index, model in sorted(zip(indices, grouped, strict=True), key=lambda pair: pair[0]):
            models.insert(int(min(index, len(models))), model)
        world.models[:] = models

    def _model(self, row: GroupingRow, members: list[Body], joints: dict[int, Joint], loops: list[Joint]) -> Model:
        own = {id(body) for body in members}
        model = Model(
            name=(members[0].name if members else "model") if row.name is None else row.name,
            static=row.static,
            pose=Pose() if row.pose is UNSET else decode_field(Model, "pose", row.pose),
            bodies=members,
            document=0,
            node=members[0].node if members else -1,
        )
        model.joints = [joints[id(body)] for body in members if id(body) in joints]
        model.joints += [joint for joint in loops if id(joint.child) in own]
        for item in (*model.bodies, *model.joints):
            self.containers[id(item)] = (model, "bodies" if isinstance(item, Body) else "joints")
        return model

    # --- joints ---------------------------------------------------------------------------------------

    def _sort_joints(self) -> None:
        """Put each joint at the index of its child body, which is the order of coordinates.

        Loops come last, in the order of the document: some may have been joints of the tree that the file itself has.
        """
        for model in (m for world in self.scene.worlds for m in world.models if id(m) in self.reconnected):
            index = {id(body): number for number, body in enumerate(model.bodies)}
            model.joints.sort(
                key=lambda joint: (joint.loop, joint.node if joint.loop else index.get(id(joint.child), -1))
            )

    def _remove_joints_of_placeholders(self) -> None:
        """Remove joints whose child or parent was a placeholder."""
        for world in self.scene.worlds if self.removed else ():
            for model in world.models:
                ends = [(joint, id(joint.child), id(joint.parent)) for joint in model.joints]
                model.joints[:] = [
                    joint for joint, child, parent in ends if child not in self.removed and parent not in self.removed
                ]


def embedded_data_topic(code: str) -> Topic:
    """The topic about embedded data in a format's catalogue."""
    return Topic(
        code,
        "Data embedded by Exoskel",
        "Exoskel wrote the file from a scene that the format cannot fully express. The rest is "
        "embedded in Exoskel's own elements. Where the file was edited afterwards, the edit takes precedence.",
        warning(
            f"{code}.stale",
            "the embedded value of '{name}' is ignored: the file was edited there after Exoskel wrote it",
            "delete this element to keep the edit",
            "ignores such elements",
        ),
        warning(f"{code}.broken", "invalid embedded data: {reason}", "", "ignores such elements"),
    )
