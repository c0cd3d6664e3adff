"""Edits XODE files in place.

A scene states everything in the root frame and in one canonical form.  A document has groups with transforms, links in
either order, anchors relative to the element around them, and masses of many kinds: a solid keeps its
shape, and only its density or total mass changes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property
from math import inf

from msgspec import structs

from exoskel import spatial
from exoskel.formats.interface import FormatEditor
from exoskel.formats.saving.changes import AddedItem, Changes
from exoskel.formats.xode.transform_edits import InitialPoses, Transforms
from exoskel.scene.body import Body, BodyState
from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.inertia import Inertia
from exoskel.scene.item import Item, item_name
from exoskel.scene.joint import Drive, Joint
from exoskel.scene.model import Model
from exoskel.scene.shape import Plane, Shape
from exoskel.scene.world import Scene, World
from exoskel.source.document import Document
from exoskel.source.embedded_format import EXTENSION
from exoskel.source.markup import Markup, format_number
from exoskel.source.positions import Elements
from exoskel.source.vocabulary import Element

_CLOSE = 1e-12
_IN_BODY, _IN_GEOM = re.compile(rb"<body|<joint|absolute"), re.compile(rb"<body|<joint|<geom")
_STEPS = frozenset({"mass_struct", "mass_shape", "transform", "adjust", "mass"})


def _adapt_mass(elements: Elements, body: int, before: Inertia, after: Inertia, canonical: Markup | None) -> _Masses:
    """The mass element of a body before and after the edit."""
    nodes = [child for child in elements.children(body) if elements.tag(child) == "mass"]
    if not nodes:
        return None, canonical
    old = _markup(elements, nodes[-1])
    factor = _mass_factor(before, after)
    if factor is not None:
        return old, _scale_mass(old, factor, after.mass)
    if canonical is None:
        return old, None
    others = [child for child in old.children if child.tag not in _STEPS]
    return old, Markup("mass", old.attributes, children=[*canonical.children, *others])


_Masses = tuple[Markup | None, Markup | None]


def _markup(elements: Elements, node: int) -> Markup:
    """An element of the document as markup."""
    children = [_markup(elements, child) for child in elements.children(node)]
    return Markup(elements.tag(node), elements.attributes(node), children=children)


def _mass_factor(before: Inertia, after: Inertia) -> float | None:
    """The factor between two inertias; None if they differ by more than a factor."""
    if before.moment is None or after.moment is None or not before.mass > 0.0 or before.com != after.com:
        return None
    factor = after.mass / before.mass
    largest = max(abs(entry) for entry in after.moment)
    pairs = zip(before.moment, after.moment, strict=True)
    same = all(abs(factor * one - other) <= _CLOSE * largest for one, other in pairs)
    return factor if same and factor != 1.0 else None


def _scale_mass(element: Markup, factor: float, total: float | None) -> Markup:
    """A mass element multiplied by a factor.  `total` is the resulting mass, if known."""
    last_adjust = max((index for index, child in enumerate(element.children) if child.tag == "adjust"), default=-1)
    steps = [child for child in element.children[max(last_adjust, 0) :] if child.tag in _STEPS - {"transform"}]
    only_total = total if len(steps) == 1 else None
    children = [
        child if index < last_adjust else _scale_mass_step(child, factor, only_total)
        for index, child in enumerate(element.children)
    ]
    return Markup(element.tag, element.attributes, element.text, children)


def _scale_mass_step(step: Markup, factor: float, total: float | None) -> Markup:
    if step.tag == "mass":
        return _scale_mass(step, factor, None)
    attributes = dict(step.attributes)
    if step.tag == "mass_shape" and "density" in attributes:
        attributes["density"] = format_number(factor * float(attributes["density"]))
    elif step.tag in ("mass_shape", "mass_struct", "adjust") and "total" in attributes:
        attributes["total"] = format_number(factor * float(attributes["total"]) if total is None else total)
    children = [
        Markup(child.tag, {name: format_number(factor * float(text)) for name, text in child.attributes.items()})
        if step.tag == "mass_struct" and child.tag == "imatrix"
        else child
        for child in step.children
    ]
    return Markup(step.tag, attributes, step.text, children)


_ROUNDING = 1e-14
_ONE_SIDED = ("hinge", "slider", "ball", "fixed", "amotor")
"""Joints whose coordinates change sign when their links are swapped."""
_NAME_CLASH = "X208"
"""The diagnostic about a name that is not unique in the document."""


class XodeEditor(FormatEditor):
    """Adapts edits to the form of a XODE document."""

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
        """Replace the joints of models that become static or movable: each body of a static model has a fixed joint."""
        for source, model in list(changes.edited):
            if isinstance(source, Model) and isinstance(model, Model) and source.static != model.static:
                _replace_joints(changes, model)

    @staticmethod
    def find_name_clash(base: Scene, reread: Scene) -> str:
        clashes = _name_clashes(reread)
        if not clashes:
            return ""
        known = Counter(name for _, name, _ in _name_clashes(base))
        for tag, name, message in clashes:
            known[name] -= 1
            if known[name] < 0:
                return f"the {tag} cannot have this name, because names are unique in a XODE file: {message}"
        return ""

    @cached_property
    def transforms(self) -> Transforms:
        pyode = self.base.source_info.semantics == "pyode"
        transforms = Transforms(self.document, self.options, self.elements, pyode, self._placed_elements)
        for source, item in self._moved_bodies():
            before, after = self.initial_poses.of(source), self.initial_poses.of(item)
            transforms.moves[source.node] = after.matrix() @ spatial.inverse(before.matrix())
        moved = [pair for pair in self._moved_shapes() if self._contains_items(pair[0].node)]
        owners = self._owners_of_shapes() if moved else {}
        for shape, other in moved:
            old, new = shape.pose.matrix(), other.pose.matrix()
            transforms.moves_in_body[shape.node] = new @ spatial.inverse(old)
            places = [self.initial_poses.of(owners[id(one)]).matrix() for one in (shape, other)]
            transforms.moves[shape.node] = places[1] @ new @ spatial.inverse(places[0] @ old)
        return transforms

    def _moved_shapes(self) -> Iterator[tuple[Shape, Shape]]:
        """Shapes with another pose in their body; planes have none."""
        for source, item in self.changes.edited:
            if isinstance(source, Shape) and isinstance(item, Shape) and source.node >= 0 and source.pose != item.pose:
                yield source, item

    def _owners_of_shapes(self) -> dict[int, Body]:
        """The bodies of all shapes before and after the edit, by the ids of the shapes."""
        worlds = (*self.base.worlds, *self.scene.worlds)
        return {id(shape): body for world in worlds for body in world.bodies() for shape in body.shapes}

    def _placed_elements(self) -> set[int]:
        """The elements whose poses are those of the scene after the edit."""
        bodies = [body for world in self.base.worlds for body in world.bodies()]
        shapes = (shape for body in bodies for shape in body.shapes if not isinstance(shape.geometry, Plane))
        return {item.node for item in (*bodies, *shapes) if item.node >= 0}

    def _moved_bodies(self) -> Iterator[tuple[Body, Body]]:
        """Bodies with another initial pose, because they or their parents were moved."""
        pairs = self.changes.edited
        if self.initial_poses:
            inside = (body for model in self.changes.models.values() for body in model.bodies)
            pairs = [(self.changes.sources[id(body)], body) for body in inside if id(body) in self.changes.sources]
        for source, item in pairs:
            if not isinstance(source, Body) or not isinstance(item, Body) or source.node < 0:
                continue
            if self.initial_poses.differ(source, item):
                yield source, item

    def has_element(self, item: Item) -> bool:
        if item.node < 0 or isinstance(item, Model):
            return False
        # The joints of floating bodies, and of those that a PyBrain comment fixes, have no element of their own.
        return not isinstance(item, Joint) or (not item.implicit and item.node != item.child.node)

    # --- dependent fields and items -------------------------------------------------------------------

    def update_dependent_fields(self) -> Callable[[], None]:
        """Set stops from limits, and the velocities of a floating body from its joint.

        In XODE other joints are at zero initially: their initial positions do not change the poses of bodies.
        """
        undo: list[tuple[Item, str, object]] = []

        def set_field(item: Item, field: str, value: object) -> None:
            undo.append((item, field, getattr(item, field)))
            setattr(item, field, value)

        with no_edits():
            for source, item in self.changes.edited:
                if isinstance(source, Joint) and isinstance(item, Joint) and source.kind == item.kind:
                    if source.drives == item.drives and item.drives and _limits(source) != _limits(item):
                        set_field(item, "drives", _with_stops(item, _limits(source)))
                    if item.kind == "free" and item.parent is None and source.velocities != item.velocities:
                        set_field(item.child, "state", _with_velocities(item.child.state, item.velocities))
                    state = zip(item._dofs or (), source.positions, source.velocities, strict=False)
                    for dof, position, velocity in state:
                        set_field(dof, "position", position)
                        set_field(dof, "velocity", velocity)
        self.initial_poses = InitialPoses()
        self.initial_poses.compute(self.changes.models.values())

        def restore() -> None:
            with no_edits():
                for item, field, value in reversed(undo):
                    setattr(item, field, value)

        return restore

    @cached_property
    def _is_in_place(self) -> bool:
        """Whether no item has another place in the world or in the file: others then refer to it by its name only.

        The poses of bodies are then written as they are, without those of their parents.
        """
        if self.initial_poses or self.transforms.moves:
            return False
        return not any(isinstance(source, World | Model) for source, _ in self.changes.edited)

    def writes_alone(self, model: Model) -> bool:
        # The name of a new item must not be that of another one.
        is_alone = self._is_in_place and not self.changes.added and not model.static
        return is_alone and not any(any(joint.velocities) for joint in model.joints)

    def affected_items(self) -> list[tuple[Item, Item]]:
        """The joints that depend on edited items, and bodies inside moved bodies."""
        known = {id(item) for _, item in self.changes.edited}
        found: list[tuple[Item, Item]] = []
        for item in self._dependent_items():
            source = self.changes.sources.get(id(item))
            if source is not None and id(item) not in known:
                known.add(id(item))
                found.append((source, item))
        return found

    def _dependent_items(self) -> Iterator[Item]:
        for source, item in list(self.changes.edited):
            if isinstance(item, Joint) and isinstance(source, Joint) and item.kind == "free" and item.parent is None:
                yield item.child
        if self.initial_poses:
            yield from (body for _, body in self._moved_bodies())
        bodies = {id(item) for _, item in self.changes.edited if isinstance(item, Body)}
        for model in list(self.changes.models.values()):
            joints = (joint for joint in model.joints if not joint.implicit)
            if self._is_in_place:
                joints = (joint for joint in joints if id(joint.child) in bodies or id(joint.parent) in bodies)
            yield from joints
        if any(self._contains_items(node) for node in self.transforms.moves):
            for world in self.scene.worlds:
                for model in world.models:
                    yield from self._nested_items(model)

    def _contains_items(self, node: int) -> bool:
        """Whether an element contains others that may move with it; the geoms of a body belong to it."""
        span, pattern = self.elements.span(node), _IN_BODY if self.elements.tag(node) == "body" else _IN_GEOM
        return pattern.search(self.elements.text, span.start + 1, span.end) is not None

    def _nested_items(self, model: Model) -> Iterator[Item]:
        """The items of a model whose elements are inside of one that is moved."""
        shapes = (shape for body in model.bodies for shape in body.shapes)
        for item in (*model.bodies, *model.joints, *shapes):
            source = self.changes.sources.get(id(item))
            if source is not None and source.node >= 0 and self.transforms.may_move(source.node):
                origin = self.changes.sources.get(id(model))
                self.changes.models.update({id(one): one for one in (model, origin) if isinstance(one, Model)})
                yield item

    # --- edited items ---------------------------------------------------------------------------------

    def adapt_edited(self, source: Item, item: Item, old: Markup, new: Markup) -> tuple[Markup, Markup]:
        old, new = self._adapt_name(source, item, old, new)
        if isinstance(source, Body) and isinstance(item, Body):
            return self._adapt_body(source, item, old, new)
        if isinstance(source, Shape) and isinstance(item, Shape):
            return self._adapt_geom(source, item, old, new)
        if isinstance(source, Joint) and isinstance(item, Joint):
            return self._adapt_joint(source, item, old, new)
        return self._adapt_world(old, new)

    def _adapt_name(self, source: Item, item: Item, old: Markup, new: Markup) -> tuple[Markup, Markup]:
        """Replace canonical names, which are unique, by those of the scene, and leave out unchanged ones."""
        names = (item_name(source), item_name(item))
        adapted: list[Markup] = []
        for element, name in zip((old, new), names, strict=True):
            attributes = {k: v for k, v in element.attributes.items() if k != "name"}
            if names[0] != names[1] and name:
                attributes["name"] = name
            adapted.append(Markup(element.tag, attributes, element.text, list(element.children), element.item))
        return adapted[0], adapted[1]

    def _adapt_body(self, source: Body, item: Body, old: Markup, new: Markup) -> tuple[Markup, Markup]:
        before, after = self.initial_poses.of(source), self.initial_poses.of(item)
        is_moved = self.initial_poses.differ(source, item) or self.transforms.has_moved_frame(source.node)
        transforms = self.transforms.adapt(source.node, before, after) if is_moved else (None, None)
        mass: _Masses = (None, None)
        if source.inertia != item.inertia:
            canonical = next((child for child in new.children if child.tag == "mass"), None)
            mass = _adapt_mass(self.elements, source.node, source.inertia, item.inertia, canonical)
        adapted = [
            _with(element.without("transform", "mass"), *parts)
            for element, *parts in zip((old, new), transforms, mass, strict=True)
        ]
        return adapted[0], adapted[1]

    def _adapt_geom(self, source: Shape, item: Shape, old: Markup, new: Markup) -> tuple[Markup, Markup]:
        if isinstance(item.geometry, Plane):
            return old, new
        transforms: tuple[Markup | None, Markup | None] = (None, None)
        if source.pose != item.pose or self.transforms.has_moved_frame(source.node):
            transforms = self.transforms.adapt(source.node, source.pose, item.pose)
        adapted = [_with(old.without("transform"), transforms[0]), _with(new.without("transform"), transforms[1])]
        if self.elements.child(source.node, "capsule") >= 0:
            adapted = [_rename_child(element, "cappedCylinder", "capsule") for element in adapted]
        return adapted[0], adapted[1]

    def _adapt_world(self, old: Markup, new: Markup) -> tuple[Markup, Markup]:
        """Keep only the changed values of gravity and the like, each in the extension that states it."""
        before, after = (next(c for c in element.children if c.tag == EXTENSION.tag) for element in (old, new))
        known = {child.tag: child.attributes for child in before.children}
        changed = [child for child in after.children if known.get(child.tag) != child.attributes]
        removed = [child for child in before.children if child.tag not in {c.tag for c in after.children}]
        tags = {child.tag for child in (*changed, *removed)}
        adapted = [
            Markup("world", element.attributes, children=[_only(ext, tags)] if tags else [], item=element.item)
            for element, ext in ((old, before), (new, after))
        ]
        return adapted[0], adapted[1]

    def find_child(self, node: int, wanted: Markup, ordinal: int, rule: Element | None) -> int:
        if wanted.tag != EXTENSION.tag:
            return super().find_child(node, wanted, ordinal, rule)
        found = [child for child in self.elements.children(node) if self.elements.tag(child) == EXTENSION.tag]
        tags = {child.tag for child in wanted.children}
        for child in found:
            if tags & {self.elements.tag(inner) for inner in self.elements.children(child)}:
                return child
        name = EXTENSION.name_attribute
        return next((c for c in found if self.elements.attribute(c, name) == wanted.attributes[name]), -1)

    # --- joints ---------------------------------------------------------------------------------------

    def _adapt_joint(self, source: Joint, item: Joint, old: Markup, new: Markup) -> tuple[Markup, Markup]:
        has_moved_anchor = self._has_moved_anchor(source, item)
        if old.is_same(new) and not has_moved_anchor:
            return old, new
        links = {tag: self._link(source.node, tag) for tag in ("link1", "link2")}
        stated = {tag: _linked(old, tag) for tag in ("link1", "link2")}
        if self._has_swapped_links(links, stated):
            old, new = _swap_links(old), _swap_links(new)
        for tag, name in links.items():
            if name is None and _link_nodes(source) == _link_nodes(item):
                # The link is the body around the joint, or the environment; neither has to be named.
                old, new = old.without(tag), new.without(tag)
        if self._anchor_moves_with_child(source, item):
            old, new = (_without_anchor(element) for element in (old, new))
        old, new = _round_digits(old), _round_digits(new)
        return (_without_anchor_values(old), new) if has_moved_anchor else (old, _keep_unmoved(old, new))

    def _link(self, node: int, tag: str) -> str | None:
        link = self.elements.child(node, tag)
        return None if link < 0 else self.elements.attribute(link, "body")

    def _has_swapped_links(self, links: dict[str, str | None], stated: dict[str, str | None]) -> bool:
        if links["link1"] is not None:
            return links["link1"] == stated["link2"] and links["link1"] != stated["link1"]
        return links["link2"] is not None and links["link2"] == stated["link1"]

    def _anchor_moves_with_child(self, source: Joint, item: Joint) -> bool:
        """Whether the anchor is relative to the child body around it, and does not move in that body."""
        if source.pose != item.pose or source.child.node < 0:
            return False
        return self._has_relative_anchor(source) and self.elements.encloses(source.child.node, source.node)

    def _has_moved_anchor(self, source: Joint, item: Joint) -> bool:
        """Whether the anchor is relative to what has moved around the joint."""
        if not self._has_relative_anchor(source) or self._anchor_moves_with_child(source, item):
            return False
        return self.transforms.is_in_moved_frame(source.node)

    def _has_relative_anchor(self, source: Joint) -> bool:
        inner = next((c for c in self.elements.children(source.node) if self.elements.child(c, "anchor") >= 0), -1)
        anchor = self.elements.child(inner, "anchor") if inner >= 0 else -1
        is_relative = anchor >= 0 and self.elements.attribute(anchor, "absolute") in (None, "false", "0")
        return is_relative and self.base.source_info.semantics != "pyode"

    # --- new items ------------------------------------------------------------------------------------

    def adapt_added(self, item: Item, element: Markup) -> Markup:
        """Remove names that the scene does not state, and place bodies in spaces with transforms."""
        if isinstance(element.item, Shape) and not element.item.name:
            attributes = {k: v for k, v in element.attributes.items() if k != "name"}
            return Markup(element.tag, attributes, element.text, element.children, element.item)
        children = [
            self.adapt_added(child.item, child) if isinstance(child.item, Item) else child for child in element.children
        ]
        adapted = Markup(element.tag, element.attributes, element.text, children, element.item)
        if isinstance(item, Joint):
            return _round_digits(adapted)
        if isinstance(item, Body) and self._has_transform(self._space(item)):
            identity = Markup("transform", {"absolute": "true"})
            return _with(adapted.without("transform"), _absolute_transform(element) or identity)
        return adapted

    def container(self, item: Item, owner: Item | None) -> int:
        if isinstance(item, Shape) and owner is not None and owner.node >= 0:
            return owner.node
        return -1 if isinstance(item, World) else self._space(item)

    @cached_property
    def _owners(self) -> dict[int, World]:
        """The world in the source of each model that has differences, by the id of the model."""
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

    def _has_transform(self, space: int) -> bool:
        """Whether a space, the world or the root has a transform."""
        nodes = [self.base.worlds[0].node, 0, space]
        return any(node >= 0 and self.elements.child(node, "transform") >= 0 for node in nodes)


def _replace_joints(changes: Changes, model: Model) -> None:
    """Mark the joints of a model as removed and added."""
    replaced: set[int] = set()
    for index, joint in enumerate(model.joints):
        source = changes.sources.get(id(joint))
        if isinstance(source, Joint) and not joint.loop:
            del changes.sources[id(joint)]
            replaced.add(id(joint))
            if not source.implicit and source.node != source.child.node:
                changes.removed.append(source)
            changes.added.append(AddedItem(joint, model, "joints", model.joints[:index][::-1]))
    changes.edited[:] = [pair for pair in changes.edited if id(pair[1]) not in replaced]


def _name_clashes(scene: Scene) -> list[tuple[str, str, str]]:
    """The elements whose names are not unique: their tags, their names and the messages about them."""
    nodes = [(d.place.node, d.message) for d in scene.diagnostics if d.code == _NAME_CLASH]
    document = scene.documents[0] if nodes else None
    if not isinstance(document, Document):
        return []
    elements = Elements(document.scan)
    return [(elements.tag(node), elements.attribute(node, "name") or "", message) for node, message in nodes]


def _limits(joint: Joint) -> list[tuple[float, float]]:
    return [dof.position_limits for dof in joint._dofs or ()] or [(-inf, inf)] * len(joint.motion)


def _with_stops(joint: Joint, before: list[tuple[float, float]]) -> tuple[Drive, ...]:
    """The drives of a joint with new stops where limits have changed."""
    drives = list(joint.drives)
    for index, ((low, high), known) in enumerate(zip(_limits(joint), before, strict=False)):
        if index < len(drives) and (low, high) != known:
            stops = {"low_stop": None if low == -inf else low, "high_stop": None if high == inf else high}
            drives[index] = structs.replace(drives[index], **stops)
    return tuple(drives)


def _with_velocities(state: BodyState | None, velocities: tuple[float, ...]) -> BodyState:
    copy = BodyState() if state is None else structs.replace(state)
    spin, speed = velocities[:3], velocities[3:]
    copy.angular_velocity, copy.linear_velocity = (spin[0], spin[1], spin[2]), (speed[0], speed[1], speed[2])
    return copy


def _link_nodes(joint: Joint) -> tuple[int, int]:
    return joint.child.node, -2 if joint.parent is None else joint.parent.node


def _linked(element: Markup, tag: str) -> str | None:
    return next((child.attributes.get("body") for child in element.children if child.tag == tag), None)


def _swap_links(element: Markup) -> Markup:
    """A joint with its links swapped."""
    swap = {"link1": "link2", "link2": "link1"}
    children = [Markup(swap.get(c.tag, c.tag), c.attributes, children=c.children) for c in element.children]
    for child in children:
        if child.tag in _ONE_SIDED:
            child.children = [_negate(inner) if inner.tag == "axis" else inner for inner in child.children]
    children.sort(key=lambda child: child.tag not in swap)
    return Markup(element.tag, element.attributes, element.text, children, element.item)


def _negate(axis: Markup) -> Markup:
    negated = {name: format_number(-float(axis.attributes[name])) for name in "xyz"}
    return Markup("axis", {**axis.attributes, **negated})


def _round_digits(element: Markup) -> Markup:
    """Round anchors and axes to 15 digits, to remove the rounding errors of a change of frames."""
    attributes = element.attributes
    if element.tag in ("anchor", "axis"):
        attributes = {k: format_number(float(f"{float(v):.15g}")) if k in "xyz" else v for k, v in attributes.items()}
    children = [_round_digits(child) for child in element.children]
    return Markup(element.tag, attributes, element.text, children, element.item)


def _keep_unmoved(old: Markup, new: Markup) -> Markup:
    """Keep the old values of anchors and axes that have moved by rounding errors only."""
    attributes = dict(new.attributes)
    if new.tag in ("anchor", "axis") and new.tag == old.tag:
        for name in "xyz":
            before, after = float(old.attributes[name]), float(new.attributes[name])
            if abs(after - before) <= _ROUNDING * max(1.0, abs(before)):
                attributes[name] = old.attributes[name]
    children = [_keep_unmoved(*pair) for pair in zip(old.children, new.children, strict=False)]
    return Markup(new.tag, attributes, new.text, [*children, *new.children[len(children) :]], new.item)


def _without_anchor(element: Markup) -> Markup:
    children = [child.without("anchor") for child in element.children]
    return Markup(element.tag, element.attributes, element.text, children, element.item)


def _without_anchor_values(element: Markup) -> Markup:
    """A joint whose anchor states nothing, so that all its values are written."""
    children = [
        Markup(child.tag, {} if child.tag == "anchor" else child.attributes, child.text, child.children)
        for child in map(_without_anchor_values, element.children)
    ]
    return Markup(element.tag, element.attributes, element.text, children, element.item)


def _with(element: Markup, *parts: Markup | None) -> Markup:
    """A copy with more children: a transform comes first, a mass last."""
    children = list(element.children)
    for part in parts:
        if part is not None:
            children.insert(0 if part.tag == "transform" else len(children), part)
    return Markup(element.tag, element.attributes, element.text, children, element.item)


def _rename_child(element: Markup, tag: str, name: str) -> Markup:
    children = [Markup(name, c.attributes, children=c.children) if c.tag == tag else c for c in element.children]
    return Markup(element.tag, element.attributes, element.text, children, element.item)


def _only(ext: Markup, tags: set[str]) -> Markup:
    return Markup(ext.tag, ext.attributes, children=[child for child in ext.children if child.tag in tags])


def _absolute_transform(element: Markup) -> Markup | None:
    """The transform of a new body relative to the root."""
    found = next((child for child in element.children if child.tag == "transform"), None)
    return None if found is None else Markup("transform", {"absolute": "true"}, children=found.children)
