"""What a format has no words for travels along in elements of our own, field by field.

Each carried field has a fingerprint of what the format itself says in its place.  Where somebody has changed
that since, the change counts and the carried value is left out, with a word about it.

    <carry field="actuator" was="9d1e77aa">"servo"</carry>      a field of the item around it
    <carry of="joint" field="…" …>                              a field of the joint that holds the body around it
    <add to="visuals" at="0">{…}</add>                          an item of a list that has no counterpart; a joint
                                                                may stand in the body that it holds
    <stand-in/>                                                 the element around it is for other readers
    <models>[{…}]</models>                                      how bodies are grouped, where the format does not say
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from exoskel.diagnostics import Topic, warning
from exoskel.scene.body import Body, Marker
from exoskel.scene.fields import iter_items
from exoskel.scene.item import Item
from exoskel.scene.joint import TRAITS, Joint
from exoskel.scene.json_codec import (
    CodecError,
    decode_field,
    decode_item,
    decode_json,
    field_of_name,
    field_value,
    fingerprint,
    set_dofs,
)
from exoskel.scene.pose import Pose
from exoskel.scene.shape import Mesh, Shape, TriMesh
from exoskel.scene.validation import joint_problem
from exoskel.scene.world import Model, Scene, World
from exoskel.source.document import Tree
from exoskel.source.mesh_finder import MeshFinder

NAMESPACE = "urn:exoskel:carried"
PREFIX = "exoskel"
OURS = f"{{{NAMESPACE}}}"
"""How the tags of our own elements begin in a tree."""
EXTENSION = "exoskel"
_MARK = b"exoskel"

_ITEMS: dict[str, type[Item]] = {"visuals": Shape, "collisions": Shape, "markers": Marker, "joints": Joint}

Report = Callable[..., None]
_Plan = tuple[int, "Item | None", str, Callable[[], None]]
"""The number of a carried element, the item and the field it is about, and what to do."""

PLACING = frozenset({"pose", "axes", "dofs"})
"""Fields that say together where bodies are: if one of them no longer holds, none does."""


class _Found(Struct):
    """One carried thing, and the element it stands in."""

    tag: str
    owner: int
    number: int
    attributes: dict[str, str]
    text: str


def might_be_in(text: bytes) -> bool:
    """Whether a document can hold anything carried; most do not, and pay nothing."""
    return _MARK in text


class EmbeddedReader:
    """Puts what a document carries into the scene that was read from it."""

    def __init__(self, scene: Scene, report: Report, key: str, finder: MeshFinder) -> None:
        self.scene = scene
        self.finder = finder
        self.report = report
        self.key = key
        self.items: dict[int, Item] = {}
        self.holders: dict[int, Joint] = {}
        self.parents: dict[int, tuple[Item, str]] = {}
        self.models = {id(i): m for w in scene.worlds for m in w.models for i in (*m.bodies, *m.joints)}
        self.moved: set[int] = set()
        """Models, by id, in which a place was changed since the file was written."""
        self.set_aside: set[int] = set()
        """Joints, by id, whose carried positions belong to places that no longer hold."""
        self.retied: set[int] = set()
        """Models, by id, whose joints hold other bodies than the file says by itself."""
        for item, holder, name in iter_items(scene):
            if holder is not None:
                self.parents[id(item)] = (holder, name)
            if isinstance(item, Joint) and item.implicit:
                continue
            if item.node >= 0 and not (isinstance(item, Model) and item.node in self.items):
                self.items.setdefault(item.node, item)
        for item, _, _ in iter_items(scene):
            if isinstance(item, Body):
                self.items[item.node] = item
            if isinstance(item, Joint) and not item.loop:
                self.holders[id(item.child)] = item

    def unload(self, tree: Tree) -> bool:
        """Take everything up; False if the scene makes no sense afterwards and is to be read without it."""
        found = sorted(_find(tree), key=lambda one: one.tag != "models")  # joints look for their ends in their models
        todo = [plan for one in found if (plan := self._prepare(one)) is not None]
        for number, item, field, step in todo:
            if field in PLACING and self._is_moved(item):
                if field != "dofs":
                    continue  # told with what was changed
                self.set_aside.add(id(item))
            try:
                step()
            except (CodecError, TypeError, ValueError, KeyError, IndexError, OverflowError, AttributeError) as problem:
                self._problem(number, str(problem))
        self._sort()
        self._check()
        reason = next(
            filter(None, (joint_problem(joint) for world in self.scene.worlds for joint in world.joints())), ""
        )
        if reason:
            self._problem(0, f"{reason}; all of it is left out")
        return not reason

    def _is_moved(self, item: Item | None) -> bool:
        """Whether somebody has moved a part of the item's model: then its places are those of the file itself."""
        return id(self._model_of(item)) in self.moved

    def _model_of(self, item: Item | None) -> Item | None:
        """The model that the file itself puts an item in, before anything is grouped otherwise."""
        return self.models.get(id(item))

    def _problem(self, number: int, reason: str) -> None:
        self.report(f"{self.key}.broken", number, reason=reason)

    def _prepare(self, one: _Found) -> _Plan | None:
        """What to do about a carried thing, judged before anything has been changed."""
        item = self.items.get(one.owner)
        if one.tag == "stand-in":
            return (one.number, item, "", lambda: self._remove(item)) if item is not None else None
        try:
            data = decode_json(one.text)
        except CodecError as problem:
            self._problem(one.number, str(problem))
            return None
        if one.tag == "models":
            return self._grouping(item, one, data) if isinstance(item, World) else None
        if one.tag == "add":
            return one.number, item, "", lambda: self._add(item, one.attributes, data)
        if one.attributes.get("of") == "joint":
            item = self.holders.get(id(item))
        if item is None:
            self._problem(one.number, "nothing here that it could belong to")
            return None
        return self._field(item, one, data)

    def _field(self, item: Item, one: _Found, data: Any) -> _Plan | None:
        field = field_of_name(one.attributes.get("field", ""))
        try:
            value = decode_field(type(item), field, data)
            if fingerprint(field_value(item, field)) != one.attributes.get("was"):
                self.report(f"{self.key}.stale", one.number, name=field)
                if field in PLACING:
                    self.moved.add(id(self._model_of(item)))
                return None
        except (CodecError, AttributeError) as problem:
            self._problem(one.number, str(problem))
            return None
        return one.number, item, field, lambda: self._set(item, field, value)

    def _set(self, item: Item, field: str, value: Any) -> None:
        if isinstance(item, Joint) and field in ("child", "loop"):
            self.retied.add(id(self.parents[id(item)][0]))
        if isinstance(item, Joint) and field in ("child", "parent"):
            model = self.parents[id(item)][0]
            assert isinstance(model, Model)
            found = next((body for body in model.bodies if body.name == value), None)
            if value is not None and found is None:
                raise CodecError(f"there is no body called {value!r}")
            setattr(item, field, found)
        elif isinstance(item, Joint) and field == "dofs":
            for dof in value if id(item) in self.set_aside else ():
                dof.position = 0.0  # the file says where the bodies are now
            set_dofs(item, value)
        elif isinstance(item, Shape) and isinstance(value, Mesh):
            mesh = self.finder.found(value)
            if mesh.path is not None or not isinstance(item.geometry, TriMesh):  # else the triangles stand for it
                item.geometry = mesh
        else:
            if isinstance(item, Joint) and field == "kind" and len(TRAITS[value].motion) != len(item.motion):
                item._dofs = None
            setattr(item, field, value)

    def _add(self, item: Item | None, attributes: dict[str, str], data: Any) -> None:
        name = attributes.get("to", "")
        if name == "joints" and isinstance(item, Body):  # what holds a body is of the body's model
            item = self.parents[id(item)][0]
            self.retied.add(id(item))
        target: list[Any] | None = getattr(item, name, None) if name in _ITEMS else None
        if target is None:
            raise CodecError(f"there is no list called {name!r} here")
        bodies = {body.name: body for body in item.bodies} if isinstance(item, Model) else None
        made = decode_item(_ITEMS[name], data, bodies)
        if isinstance(made, Shape) and isinstance(made.geometry, Mesh):
            made.geometry = self.finder.found(made.geometry)
        place = attributes.get("at", "")
        known = place.isascii() and place.isdigit() and len(place) < 9
        target.insert(int(place) if known else len(target), made)

    def _remove(self, item: Item | None) -> None:
        if item is None or id(item) not in self.parents:
            return
        holder, name = self.parents[id(item)]
        items: list[Any] = getattr(holder, name)
        items[:] = [one for one in items if one is not item]
        if isinstance(holder, Body) and not holder.collisions and holder.mass == 0.0:
            model = next((m for w in self.scene.worlds for m in w.models if holder in m.bodies), None)
            if model is not None and model.static and model.document < 0:
                for world in self.scene.worlds:
                    world.models[:] = [m for m in world.models if m is not model]

    def _grouping(self, world: World, one: _Found, rows: Any) -> _Plan | None:
        """Bodies go by their names in the file itself, so they are found before carried names are put in place."""
        bodies = {body.name: body for model in world.models for body in model.bodies}
        named: list[str] = [str(name) for row in rows for name in row["bodies"]] if _are_rows(rows) else [""]
        if len(set(named)) != len(named) or not all(name in bodies for name in named):
            self._problem(one.number, "it does not list bodies of this world, each once")
            return None
        members = [[bodies[str(name)] for name in row["bodies"]] for row in rows]
        return one.number, world, "", lambda: self._group(world, rows, members)

    def _group(self, world: World, rows: list[dict[str, Any]], members: list[list[Body]]) -> None:
        """Models as they were before they were taken apart into assemblies."""
        joints = {id(joint.child): joint for model in world.models for joint in model.joints if not joint.loop}
        loops = [joint for model in world.models for joint in model.joints if joint.loop]
        grouped = [self._model(row, own, joints, loops) for row, own in zip(rows, members, strict=True)]
        taken = {id(body) for own in members for body in own}
        left = [model for model in world.models if not all(id(body) in taken for body in model.bodies)]
        for model in left:
            model.bodies[:] = [body for body in model.bodies if id(body) not in taken]
            model.joints[:] = [joint for joint in model.joints if id(joint.child) not in taken]
        places = [at if isinstance(at := row.get("at"), int) else 10**9 for row in rows]
        merged = left
        for place, model in sorted(zip(places, grouped, strict=True), key=lambda pair: pair[0]):
            merged.insert(min(place, len(merged)), model)
        world.models[:] = merged

    def _model(self, row: dict[str, Any], members: list[Body], joints: dict[int, Joint], loops: list[Joint]) -> Model:
        own = {id(body) for body in members}
        model = Model(
            name=str(row.get("name", members[0].name if members else "model")),
            static=bool(row.get("static", False)),
            pose=decode_field(Model, "pose", row["pose"]) if "pose" in row else Pose(),
            bodies=members,
            document=0,
            node=members[0].node if members else -1,
        )
        model.joints = [joints[id(body)] for body in members if id(body) in joints]
        model.joints += [joint for joint in loops if id(joint.child) in own]
        for item in (*model.bodies, *model.joints):
            self.parents[id(item)] = (model, "bodies" if isinstance(item, Body) else "joints")
        return model

    def _sort(self) -> None:
        """Each joint at the place of the body that it holds now, as coordinates are ordered; loops at the end."""
        for model in (model for world in self.scene.worlds for model in world.models if id(model) in self.retied):
            place = {id(body): number for number, body in enumerate(model.bodies)}
            model.joints.sort(key=lambda joint: (joint.loop, 0 if joint.loop else place.get(id(joint.child), -1)))

    def _check(self) -> None:
        """Joints whose ends ended up in different models, or nowhere, cannot stand."""
        for world in self.scene.worlds:
            for model in world.models:
                own = {id(body) for body in model.bodies}
                model.joints[:] = [
                    joint
                    for joint in model.joints
                    if id(joint.child) in own and (joint.parent is None or id(joint.parent) in own)
                ]


def _are_rows(rows: Any) -> bool:
    return isinstance(rows, list) and all(isinstance(row, dict) and isinstance(row.get("bodies"), list) for row in rows)


TAGS = ("carry", "add", "stand-in", "models")


def _find(tree: Tree) -> Any:
    """Everything carried, in document order."""
    numbers = {element: number for number, element in enumerate(tree.iter())}
    for element, number in numbers.items():
        tag = element.tag
        if not isinstance(tag, str):
            continue
        if tag.startswith(OURS):
            local, owner = tag.rpartition("}")[2], element.getparent()
        else:
            holder = element.getparent()
            if holder is None or holder.tag != "ext" or holder.get("ename") != EXTENSION:
                continue
            local, owner = tag, holder.getparent()
        if local in TAGS and owner is not None:
            yield _Found(local, numbers[owner], number, dict(element.attrib), element.text or "")


def topic(code: str) -> Topic:
    """What a format's catalogue says about carried data."""
    return Topic(
        code,
        "Data carried along by exoskel",
        "The file was written by exoskel from a scene that says more than the format can. The rest travels in elements "
        "of its own. Where the file itself was changed afterwards, the change counts.",
        (
            warning(
                f"{code}.stale",
                "the carried value of '{name}' is left out: what it goes with was changed since it was written",
                "delete the element to keep the change for good",
                "does not know such elements",
            ),
            warning(f"{code}.broken", "carried data cannot be used: {reason}", "", "does not know such elements"),
        ),
    )
