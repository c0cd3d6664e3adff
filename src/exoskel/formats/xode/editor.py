"""How XODE files are edited in place.

A scene has everything in the root frame and in one set of words; a document has groups that are moved, links in
either order, anchors relative to their surroundings, and masses of many kinds.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from math import inf

from msgspec import structs

from exoskel import spatial
from exoskel.formats.saving.changes import Changes
from exoskel.formats.saving.format_editor import FormatEditor, Restore, without
from exoskel.formats.xode.editing import masses
from exoskel.formats.xode.editing.initial_poses import Places
from exoskel.formats.xode.editing.name_clashes import new_clash
from exoskel.formats.xode.editing.static_models import recast_joints
from exoskel.formats.xode.editing.transforms import Transforms
from exoskel.scene.body import Body, BodyState
from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.item import Item
from exoskel.scene.joint import Drive, Joint
from exoskel.scene.shape import Plane, Shape
from exoskel.scene.world import Model, Scene, World
from exoskel.source.markup import Markup, format_number
from exoskel.source.vocabulary import Element

_ROUNDING = 1e-14
_ONE_SIDED = ("hinge", "slider", "ball", "fixed", "amotor")
"""Joints whose coordinates change sign with the order of their links."""


class XodeEditor(FormatEditor):
    writes_items_alone = False
    has_model_elements = False
    fixes_static_bodies = True
    derived_fields = frozenset(
        {
            (Joint, "drives"),
            (Joint, "dofs"),
            (Joint, "name"),
            (Joint, "swapped"),
            (Joint, "group"),
            (Body, "state"),
            (Body, "inertia"),
            (Model, "name"),
            (Shape, "name"),
            (Shape, "space"),
        }
    )

    @staticmethod
    def mark_replaced_items(changes: Changes) -> None:
        recast_joints(changes)

    @staticmethod
    def find_name_clash(base: Scene, reread: Scene) -> str:
        return new_clash(base, reread)

    @cached_property
    def transforms(self) -> Transforms:
        pyode = self.base.reading.semantics == "pyode"
        made = Transforms(self.document, self.options, self.elements, pyode)
        for source, item in self._moved_bodies():
            before, after = self.places.of(source), self.places.of(item)
            made.moves.append((source.node, after.matrix() @ spatial.inverse(before.matrix())))
        return made

    def _moved_bodies(self) -> Iterator[tuple[Body, Body]]:
        """Bodies that stand elsewhere than they did, because they or what they hang on was moved."""
        pairs = self.changes.edited
        if self.places:
            inside = (body for model in self.changes.models.values() for body in model.bodies)
            pairs = [(self.changes.sources[id(body)], body) for body in inside if id(body) in self.changes.sources]
        for source, item in pairs:
            if not isinstance(source, Body) or not isinstance(item, Body) or source.node < 0:
                continue
            if self.places.differ(source, item):
                yield source, item

    def has_element(self, item: Item) -> bool:
        if item.node < 0 or isinstance(item, Model):
            return False
        # Bodies without a joint, and those that a comment fixes, have theirs without an element of its own.
        return not isinstance(item, Joint) or (not item.implicit and item.node != item.child.node)

    # --- what goes with what --------------------------------------------------------------------------

    def update_dependent_fields(self) -> Restore:
        """Stops follow limits, and a floating body's velocities those of its joint.

        Other joints start at zero in XODE: where they start otherwise is not said in places of bodies.
        """
        undo: list[tuple[Item, str, object]] = []

        def put(item: Item, field: str, value: object) -> None:
            undo.append((item, field, getattr(item, field)))
            setattr(item, field, value)

        with no_edits():
            for source, item in self.changes.edited:
                if isinstance(source, Joint) and isinstance(item, Joint) and source.kind == item.kind:
                    if source.drives == item.drives and item.drives and _limits(source) != _limits(item):
                        put(item, "drives", _with_stops(item, _limits(source)))
                    if item.kind == "free" and item.parent is None and source.velocities != item.velocities:
                        put(item.child, "state", _moving(item.child.state, item.velocities))
                    state = zip(item._dofs or (), source.positions, source.velocities, strict=False)
                    for dof, position, velocity in state:
                        put(dof, "position", position)
                        put(dof, "velocity", velocity)
        self.places = Places()
        self.places.note(self.changes.models.values())

        def restore() -> None:
            with no_edits():
                for item, field, value in reversed(undo):
                    setattr(item, field, value)

        return restore

    def affected_items(self) -> list[tuple[Item, Item]]:
        """The joints of models with edits, and bodies inside bodies that move."""
        known = {id(item) for _, item in self.changes.edited}
        found: list[tuple[Item, Item]] = []
        for item in self._carried_along():
            source = self.changes.sources.get(id(item))
            if source is not None and id(item) not in known:
                known.add(id(item))
                found.append((source, item))
        return found

    def _carried_along(self) -> Iterator[Item]:
        for source, item in list(self.changes.edited):
            if isinstance(item, Joint) and isinstance(source, Joint) and item.kind == "free" and item.parent is None:
                yield item.child
        if self.places:
            yield from (body for _, body in self._moved_bodies())
        for model in list(self.changes.models.values()):
            yield from (joint for joint in model.joints if not joint.implicit)
        if any(self._holds_bodies(node) for node, _ in self.transforms.moves):
            for world in self.scene.worlds:
                for model in world.models:
                    yield from self._nested(model)

    def _holds_bodies(self, node: int) -> bool:
        span = self.elements.span(node)
        return self.elements.text.find(b"<body", span.start + 1, span.end) >= 0

    def _nested(self, model: Model) -> Iterator[Item]:
        """The bodies of a model that stand inside a body that moves."""
        for body in model.bodies:
            source = self.changes.sources.get(id(body))
            if source is not None and source.node >= 0 and self.transforms.is_inside_moved(source.node):
                origin = self.changes.sources.get(id(model))
                self.changes.models.update({id(one): one for one in (model, origin) if isinstance(one, Model)})
                yield body

    # --- items in the words of the document -----------------------------------------------------------

    def adapt_edited(self, source: Item, item: Item, old: Markup, new: Markup) -> tuple[Markup, Markup]:
        old, new = self._name(source, item, old, new)
        if isinstance(source, Body) and isinstance(item, Body):
            return self._body(source, item, old, new)
        if isinstance(source, Shape) and isinstance(item, Shape):
            return self._geom(source, item, old, new)
        if isinstance(source, Joint) and isinstance(item, Joint):
            return self._joint(source, item, old, new)
        return self._world(old, new)

    def _name(self, source: Item, item: Item, old: Markup, new: Markup) -> tuple[Markup, Markup]:
        """Canonical names are made unique; here they are what the scene says, and only if that has changed."""
        names = (getattr(source, "name", ""), getattr(item, "name", ""))
        made: list[Markup] = []
        for element, name in zip((old, new), names, strict=True):
            attributes = {k: v for k, v in element.attributes.items() if k != "name"}
            if names[0] != names[1] and name:
                attributes["name"] = name
            made.append(Markup(element.tag, attributes, element.text, list(element.children), element.item))
        return made[0], made[1]

    def _body(self, source: Body, item: Body, old: Markup, new: Markup) -> tuple[Markup, Markup]:
        before, after = self.places.of(source), self.places.of(item)
        moved = self.places.differ(source, item) or self.transforms.is_inside_moved(source.node)
        places = self.transforms.adapt(source.node, before, after) if moved else (None, None)
        weights: masses.Masses = (None, None)
        if source.inertia != item.inertia:
            canonical = next((child for child in new.children if child.tag == "mass"), None)
            weights = masses.adapt(self.elements, source.node, source.inertia, item.inertia, canonical)
        made = [
            _with(without(element, "transform", "mass"), place, weight)
            for element, place, weight in zip((old, new), places, weights, strict=True)
        ]
        return made[0], made[1]

    def _geom(self, source: Shape, item: Shape, old: Markup, new: Markup) -> tuple[Markup, Markup]:
        if isinstance(item.geometry, Plane):
            return old, new
        places: tuple[Markup | None, Markup | None] = (None, None)
        if source.pose != item.pose:
            places = self.transforms.adapt(source.node, source.pose, item.pose)
        made = [_with(without(element, "transform"), place) for element, place in zip((old, new), places, strict=True)]
        if self.elements.child(source.node, "capsule") >= 0:
            made = [_renamed(element, "cappedCylinder", "capsule") for element in made]
        return made[0], made[1]

    def _world(self, old: Markup, new: Markup) -> tuple[Markup, Markup]:
        """Of gravity and the like only what is new, each in the extension that has it."""
        before, after = (next(c for c in element.children if c.tag == "ext") for element in (old, new))
        known = {child.tag: child.attributes for child in before.children}
        changed = [child for child in after.children if known.get(child.tag) != child.attributes]
        gone = [child for child in before.children if child.tag not in {c.tag for c in after.children}]
        tags = {child.tag for child in (*changed, *gone)}
        made = [
            Markup("world", element.attributes, children=[_only(ext, tags)] if tags else [], item=element.item)
            for element, ext in ((old, before), (new, after))
        ]
        return made[0], made[1]

    def find_child(self, node: int, wanted: Markup, ordinal: int, rule: Element | None) -> int:
        if wanted.tag != "ext":
            return super().find_child(node, wanted, ordinal, rule)
        found = [child for child in self.elements.children(node) if self.elements.tag(child) == "ext"]
        tags = {child.tag for child in wanted.children}
        for child in found:
            if tags & {self.elements.tag(inner) for inner in self.elements.children(child)}:
                return child
        return next((c for c in found if self.elements.attribute(c, "ename") == wanted.attributes["ename"]), -1)

    # --- joints ---------------------------------------------------------------------------------------

    def _joint(self, source: Joint, item: Joint, old: Markup, new: Markup) -> tuple[Markup, Markup]:
        links = {tag: self._link(source.node, tag) for tag in ("link1", "link2")}
        stated = {tag: _linked(old, tag) for tag in ("link1", "link2")}
        if self._is_reversed(links, stated):
            old, new = _reversed(old), _reversed(new)
        for tag, name in links.items():
            if name is None and _ends(source) == _ends(item):
                # The end is the body around the joint, or the environment; neither has to be named.
                old, new = without(old, tag), without(new, tag)
        if self._goes_with_child(source, item):
            old, new = (_without_anchor(element) for element in (old, new))
        return _shortened(old), _steadied(_shortened(old), _shortened(new))

    def _link(self, node: int, tag: str) -> str | None:
        link = self.elements.child(node, tag)
        return None if link < 0 else self.elements.attribute(link, "body")

    def _is_reversed(self, links: dict[str, str | None], stated: dict[str, str | None]) -> bool:
        if links["link1"] is not None:
            return links["link1"] == stated["link2"] and links["link1"] != stated["link1"]
        return links["link2"] is not None and links["link2"] == stated["link1"]

    def _goes_with_child(self, source: Joint, item: Joint) -> bool:
        """Whether the anchor is relative to the child around it, and stays where it is in there."""
        if source.pose != item.pose or source.child.node < 0:
            return False
        inner = next((c for c in self.elements.children(source.node) if self.elements.child(c, "anchor") >= 0), -1)
        anchor = self.elements.child(inner, "anchor") if inner >= 0 else -1
        is_relative = anchor >= 0 and self.elements.attribute(anchor, "absolute") in (None, "false", "0")
        inside = self.elements.encloses(source.child.node, source.node)
        return is_relative and inside and self.base.reading.semantics != "pyode"

    # --- new items ------------------------------------------------------------------------------------

    def adapt_added(self, item: Item, element: Markup) -> Markup:
        """Shapes without a name need none here."""
        if isinstance(element.item, Shape) and not element.item.name:
            attributes = {k: v for k, v in element.attributes.items() if k != "name"}
            return Markup(element.tag, attributes, element.text, element.children, element.item)
        children = [
            self.adapt_added(child.item, child) if child.item is not None else child for child in element.children
        ]
        made = Markup(element.tag, element.attributes, element.text, children, element.item)
        if isinstance(item, Joint):
            return _shortened(made)
        if isinstance(item, Body) and not self._is_plain(self._space(item)):
            place = Markup("transform", {"absolute": "true"})
            return _with(without(made, "transform"), _absolute(element) or place)
        return made

    def container(self, item: Item, owner: Item | None) -> int:
        if isinstance(item, Shape) and owner is not None and owner.node >= 0:
            return owner.node
        return -1 if isinstance(item, World) else self._space(item)

    @cached_property
    def _owners(self) -> dict[int, World]:
        """The source's world of each model of the scene that has differences, by the model's id."""
        found = {id(model): world for world in self.base.worlds for model in world.models}
        for added in self.changes.added:
            world = added.owner if isinstance(added.owner, World) else None
            source = self.changes.sources.get(id(world)) if world is not None else None
            if isinstance(source, World):
                found[id(added.item)] = source
        return found

    def _space(self, item: Item) -> int:
        """The first space of the world that an item is in."""
        world = self.base.worlds[0]
        for model in self.changes.models.values():
            if item is model or any(item is one for one in (*model.bodies, *model.joints)):
                source = self.changes.sources.get(id(model), model)
                world = self._owners.get(id(source), world)
        return self.elements.child(world.node, "space")

    def _is_plain(self, space: int) -> bool:
        """Whether a space lies in the root's outside as it is."""
        nodes = [self.base.worlds[0].node, 0, space]
        return all(node < 0 or self.elements.child(node, "transform") < 0 for node in nodes)


def _limits(joint: Joint) -> list[tuple[float, float]]:
    return [dof.position_limits for dof in joint._dofs or ()] or [(-inf, inf)] * len(joint.motion)


def _with_stops(joint: Joint, before: list[tuple[float, float]]) -> tuple[Drive, ...]:
    """ODE's parameters with stops where limits have changed."""
    made = list(joint.drives)
    for place, ((low, high), known) in enumerate(zip(_limits(joint), before, strict=False)):
        if place < len(made) and (low, high) != known:
            stops = {"low_stop": None if low == -inf else low, "high_stop": None if high == inf else high}
            made[place] = structs.replace(made[place], **stops)
    return tuple(made)


def _moving(state: BodyState | None, velocities: tuple[float, ...]) -> BodyState:
    made = BodyState() if state is None else structs.replace(state)
    spin, speed = velocities[:3], velocities[3:]
    made.angular_velocity, made.linear_velocity = (spin[0], spin[1], spin[2]), (speed[0], speed[1], speed[2])
    return made


def _ends(joint: Joint) -> tuple[int, int]:
    return joint.child.node, -2 if joint.parent is None else joint.parent.node


def _linked(element: Markup, tag: str) -> str | None:
    return next((child.attributes.get("body") for child in element.children if child.tag == tag), None)


def _reversed(element: Markup) -> Markup:
    """A joint with its links the other way round."""
    swap = {"link1": "link2", "link2": "link1"}
    children = [Markup(swap.get(c.tag, c.tag), c.attributes, children=c.children) for c in element.children]
    for child in children:
        if child.tag in _ONE_SIDED:
            child.children = [_opposite(inner) if inner.tag == "axis" else inner for inner in child.children]
    children.sort(key=lambda child: child.tag not in swap)
    return Markup(element.tag, element.attributes, element.text, children, element.item)


def _opposite(axis: Markup) -> Markup:
    turned = {name: format_number(-float(axis.attributes[name])) for name in "xyz"}
    return Markup("axis", {**axis.attributes, **turned})


def _shortened(element: Markup) -> Markup:
    """Anchors and axes come out of a change of frames: without the dust of that in their last digits."""
    attributes = element.attributes
    if element.tag in ("anchor", "axis"):
        attributes = {k: format_number(float(f"{float(v):.15g}")) if k in "xyz" else v for k, v in attributes.items()}
    children = [_shortened(child) for child in element.children]
    return Markup(element.tag, attributes, element.text, children, element.item)


def _steadied(old: Markup, new: Markup) -> Markup:
    """Anchors and axes that have moved by no more than rounding stay as they are."""
    attributes = dict(new.attributes)
    if new.tag in ("anchor", "axis") and new.tag == old.tag:
        for name in "xyz":
            before, after = float(old.attributes[name]), float(new.attributes[name])
            if abs(after - before) <= _ROUNDING * max(1.0, abs(before)):
                attributes[name] = old.attributes[name]
    children = [_steadied(*pair) for pair in zip(old.children, new.children, strict=False)]
    return Markup(new.tag, attributes, new.text, [*children, *new.children[len(children) :]], new.item)


def _without_anchor(element: Markup) -> Markup:
    children = [without(child, "anchor") for child in element.children]
    return Markup(element.tag, element.attributes, element.text, children, element.item)


def _with(element: Markup, *parts: Markup | None) -> Markup:
    """A copy with more children, where they belong: a transform first, a mass last."""
    children = list(element.children)
    for part in parts:
        if part is not None:
            children.insert(0 if part.tag == "transform" else len(children), part)
    return Markup(element.tag, element.attributes, element.text, children, element.item)


def _renamed(element: Markup, tag: str, name: str) -> Markup:
    children = [Markup(name, c.attributes, children=c.children) if c.tag == tag else c for c in element.children]
    return Markup(element.tag, element.attributes, element.text, children, element.item)


def _only(ext: Markup, tags: set[str]) -> Markup:
    return Markup("ext", ext.attributes, children=[child for child in ext.children if child.tag in tags])


def _absolute(element: Markup) -> Markup | None:
    """The transform of a new body, from the root instead of its surroundings."""
    found = next((child for child in element.children if child.tag == "transform"), None)
    return None if found is None else Markup("transform", {"absolute": "true"}, children=found.children)
