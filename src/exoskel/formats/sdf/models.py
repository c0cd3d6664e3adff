"""Read models with their nested models, and find the tree of their joints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct

from exoskel.formats.sdf.context import NamedFrame, Scope, SdfContext, StatedPose, relative
from exoskel.formats.sdf.frames import StatedFrame, state_frame
from exoskel.formats.sdf.joints import PendingJoint, build_joint, check_mimics, couple_gearboxes
from exoskel.formats.sdf.links import DisplacedShape, read_link, report_unsupported_motion
from exoskel.formats.sdf.names import SEPARATOR, WORLD, is_reserved
from exoskel.formats.sdf.sensors import SENSOR, PendingSensor, pending_sensors
from exoskel.formats.sdf.vocabulary import MODEL_ELEMENT
from exoskel.scene.body import Body
from exoskel.scene.item import Names, unique_name
from exoskel.scene.joint import Joint
from exoskel.scene.model import Model
from exoskel.scene.pose import Pose
from exoskel.scene.world import World
from exoskel.source.flat_tree import Node
from exoskel.source.output_context import NodeOfDocument
from exoskel.spatial import Array, array, identity, inverse

_SELF_COLLIDE = "self_collide"
_PLACED = ("projector", "audio_source", "particle_emitter")
"""Elements of links that have a pose, and are not part of a scene."""


class SelfCollision:
    """What the links of some models state about collisions with each other.  A scene has one value for a world."""

    def __init__(self) -> None:
        self._links: list[bool] = []
        self._nodes: list[tuple[SdfContext, int, bool]] = []

    def add_model(self, source: SdfContext, node: Node) -> None:
        """Add what a model and its links state."""
        links = node.nodes("link")
        whole = node.fields.get(_SELF_COLLIDE, False)
        stated = [one for one in (node, *links) if _SELF_COLLIDE in one.fields]
        self._nodes += [(source, one.number, one.fields[_SELF_COLLIDE]) for one in stated]
        self._links += [link.fields.get(_SELF_COLLIDE, whole) for link in links]

    def add(self, other: SelfCollision, bodies: int) -> None:
        """Add what another model states; that of a single body has no effect."""
        if bodies > 1:
            self._links += other._links
            self._nodes += other._nodes

    def apply(self, world: World) -> None:
        """Set the value of the world, and report what differs: the values that disable it, or the first one."""
        world.self_collision = any(self._links)
        if world.self_collision and not all(self._links):
            for source, number, _ in [one for one in self._nodes if not one[2]] or self._nodes[:1]:
                source.report("SD033", number, _SELF_COLLIDE)


class JointTree:
    """The joints of one model.  `report` is called for each joint that closes a loop."""

    def __init__(self, bodies: list[Body], joints: list[Joint], report: Callable[[Joint], Any]) -> None:
        self.bodies = bodies
        self.parent_joints: dict[int, Joint] = {}
        self.loops: list[Joint] = []
        self.group = {id(body): id(body) for body in bodies}
        for joint in joints:
            if self._is_parent_joint(joint):
                self.parent_joints[id(joint.child)] = joint
            else:
                joint.loop = True
                self.loops.append(joint)
                report(joint)

    def _is_parent_joint(self, joint: Joint) -> bool:
        """Whether the joint is its child's parent joint: the first one, and not part of a cycle."""
        if id(joint.child) in self.parent_joints:
            return False
        if joint.parent is not None:
            above, below = self._root(id(joint.parent)), self._root(id(joint.child))
            if above == below:
                return False
            self.group[below] = above
        return True

    def _root(self, number: int) -> int:
        while self.group[number] != number:
            self.group[number] = self.group[self.group[number]]
            number = self.group[number]
        return number

    def add_root_joints(self, fixed: Callable[[Body], bool]) -> None:
        """Add a joint for each link without one: free, or a weld if it is fixed to the world."""
        taken = Names(joint.name for joint in (*self.parent_joints.values(), *self.loops))
        for body in self.bodies:
            if id(body) not in self.parent_joints:
                name = unique_name(f"{body.name}_root", taken)
                taken.add(name)
                self.parent_joints[id(body)] = Joint(
                    name=name,
                    kind="weld" if fixed(body) else "free",
                    child=body,
                    implicit=True,
                    document=body.document,
                    node=body.node,
                )

    def ordered(self) -> list[Joint]:
        """The parent joints in the order of their links, but parents before children; then the loop joints."""
        order: list[Joint] = []
        done: set[int] = set()
        for body in self.bodies:
            chain: list[Joint] = []
            step: Body | None = body
            while step is not None and id(step) not in done:
                done.add(id(step))
                chain.append(self.parent_joints[id(step)])
                step = self.parent_joints[id(step)].parent
            order.extend(reversed(chain))
        return [*order, *self.loops]


# --- models --------------------------------------------------------------------------------------------


MAX_NESTED = 200
"""The depth of models in models, with the files that they include."""


class ModelPlacement(Struct, frozen=True):
    """The placement of a model, with the values that an include overrides."""

    source: SdfContext
    node: Node
    name: str
    stated: StatedPose
    static: bool
    frame: str = ""
    """The frame whose pose is stated; empty: the model's own."""
    merge: bool = False
    referrer: SdfContext | None = None
    """The document that includes the model, which states the pose."""
    number: int = -1


Included = Callable[[SdfContext, Node], "ModelPlacement | None"]


def placement_of(source: SdfContext, node: Node) -> ModelPlacement:
    """The placement of a model that is defined in the document itself."""
    fields = node.fields
    return ModelPlacement(
        source=source,
        node=node,
        name=fields.get("@name", ""),
        stated=source.pose(node),
        static=fields.get("static", False),
        frame=fields.get("@placement_frame", ""),
        number=node.number,
    )


class NestedModel(Struct, frozen=True):
    """The position of a nested model: the prefix of its names, and the frames and scopes of its ancestors."""

    prefix: str = ""
    roots: tuple[NamedFrame, ...] = ()
    scopes: tuple[Scope, ...] = ()

    def below(self, frame: NamedFrame, scope: Scope, name: str) -> NestedModel:
        """The position of a model nested in a scope; without a name it is merged into the scope."""
        prefix = self.prefix + name + SEPARATOR if name else self.prefix
        return NestedModel(prefix, (*self.roots, frame), (*self.scopes, scope))


class SdfModelReader:
    """Reads one model of a world with its nested models."""

    def __init__(self, included: Included) -> None:
        self.included = included
        self.bodies: list[Body] = []
        self.links: list[tuple[NamedFrame, Scope, NestedModel]] = []
        self.frames: list[tuple[NamedFrame, Scope, NestedModel]] = []
        self.displaced: dict[int, list[DisplacedShape]] = {}
        self.pending: list[PendingJoint] = []
        self.sensors: list[PendingSensor] = []
        self.lights: list[PendingSensor] = []
        self.others: list[PendingSensor] = []
        """Other elements of links that have poses, and are not part of a scene."""
        self.fixed: set[int] = set()
        self.names = {"link": Names(), "joint": Names()}
        """All names of the model: merged models may repeat names."""
        self.self_collision = SelfCollision()
        self.nested_documents: set[int] = set()
        self.couplings: dict[NodeOfDocument, NodeOfDocument] = {}
        """The elements of gearboxes, and those of the joints that they couple to others."""
        self.inner: dict[NodeOfDocument, list[str]] = {}
        """The prefixes of names in nested models, by the elements of these models and of their includes."""

    def read(self, placed: ModelPlacement, name: str) -> tuple[Model, Scope]:
        """Read the model, without its pose in the world, and its frames."""
        scope = self._scope(placed, NestedModel())
        self._place_links()
        joints = [joint for one in self.pending if (joint := build_joint(one)) is not None]
        self.couplings = couple_gearboxes(self.pending, joints)
        check_mimics(self.pending, joints)
        for frame, own_scope, _ in self.frames:
            own_scope.check(frame)
        source_of = {one.name: one.source for one in self.pending}
        tree = JointTree(self.bodies, joints, lambda j: source_of[j.name].report("SD063", j.node, joint=j.name))
        tree.add_root_joints(lambda body: id(body) in self.fixed)
        ordered = tree.ordered()
        if not self.bodies and not placed.static:
            placed.source.report("SD031", placed.node.number, name=name)
        model = Model(
            name=name,
            static=placed.static,
            bodies=[joint.child for joint in ordered if not joint.loop],
            joints=ordered,
            document=placed.source.number,
            node=placed.node.number,
            given=placed.node.stated_fields(MODEL_ELEMENT),
        )
        return model, scope

    def stated_frames(self, model: Model) -> Iterator[StatedFrame]:
        """The frames of the model, and those of models in it, once all of them are placed."""
        above: dict[int, Array] = {}
        for frame, scope, place in self.frames:
            outer = self._outer_transform(place.roots, place.scopes, above) if place.roots else None
            owner, name = (model.document, model.node), place.prefix + frame.name
            stated = state_frame(frame, scope, owner, name, lambda _: model.name, outer)
            if stated is not None:
                yield stated

    # --- scopes ---------------------------------------------------------------------------------------

    def _scope(self, placed: ModelPlacement, place: NestedModel) -> Scope:
        source, node = placed.source, placed.node
        scope = Scope()
        scope.fixed = placed.static
        names = Names()
        for link in node.nodes("link"):
            self._add_link(placed, link, _unique(source, link, "link", names), scope, place)
        included = [found for one in node.nodes("include") if (found := self.included(source, one)) is not None]
        for inner in (*(placement_of(source, one) for one in node.nodes("model")), *included):
            self._add_nested(inner, names, scope, place)
        for one in node.nodes("frame"):
            name = _unique(source, one, "frame", names)
            attached = one.fields.get("@attached_to", "")
            frame = NamedFrame(name, source, one.number, source.pose(one), default_frame=attached, attached=attached)
            frame.attribute = "attached_to"
            scope.frames[name] = frame
            self.frames.append((frame, scope, place))
        for one in node.nodes("joint"):
            self._add_joint(source, one, _unique(source, one, "joint", names), scope, place)
        scope.canonical = self._canonical(placed, scope)
        report_unsupported_motion(source, node)
        self.self_collision.add_model(source, node)
        return scope

    def _add_nested(self, inner: ModelPlacement, names: Names, scope: Scope, place: NestedModel) -> None:
        referrer = inner.referrer or inner.source
        if len(place.roots) >= MAX_NESTED:
            referrer.report("SD034", inner.number, name=inner.name, most=MAX_NESTED)
            return
        if inner.referrer is not None:
            self.nested_documents.add(inner.source.number)
        name = "" if inner.merge else unique_in_scope(referrer, inner.number, inner.name, "model", names)
        frame = NamedFrame(name, referrer, inner.number, inner.stated)
        inside = place.below(frame, scope, name)
        self.inner.setdefault((inner.source.number, inner.node.number), []).append(inside.prefix)
        if inner.referrer is not None:
            self.inner.setdefault((referrer.number, inner.number), []).append(inside.prefix)
        below = self._scope(inner, inside)
        frame.inner_transform = inner_transform(inner, below)
        if inner.static:
            referrer.report("SD032", inner.number, name=inner.name)
        if inner.merge:
            scope.merged.append((frame, below))
        else:
            scope.frames[name] = frame
            scope.nested[name] = below

    def _add_link(self, placed: ModelPlacement, node: Node, name: str, scope: Scope, place: NestedModel) -> None:
        source = placed.source
        body, displaced = read_link(
            source, node, self._full_name(source, node, "link", name, place), static=placed.static
        )
        frame = NamedFrame(name, source, node.number, source.pose(node), body=body)
        scope.frames[name] = frame
        self.bodies.append(body)
        self.links.append((frame, scope, place))
        self.sensors += pending_sensors(source, node.nodes(SENSOR), scope, name, body)
        self.lights += pending_sensors(source, node.nodes("light"), scope, name, body)
        others = [one for tag in _PLACED for one in node.nodes(tag)]
        self.others += pending_sensors(source, others, scope, name, body)
        if displaced:
            self.displaced[id(body)] = displaced
        if placed.static:
            self.fixed.add(id(body))

    def _add_joint(self, source: SdfContext, node: Node, name: str, scope: Scope, place: NestedModel) -> None:
        child = node.fields.get("child", "")
        # The world is not a frame of the model: if it is the child, the pose is relative to the parent.
        default_frame = node.fields.get("parent", "") if child == WORLD else child
        frame = NamedFrame(
            name, source, node.number, source.pose(node), default_frame=default_frame, attached=default_frame
        )
        scope.frames[name] = frame
        full = self._full_name(source, node, "joint", name, place)
        self.sensors += pending_sensors(source, node.nodes(SENSOR), scope, name, joint=full)
        self.pending.append(PendingJoint(source, node, full, frame, scope, place.prefix))

    def _full_name(self, source: SdfContext, node: Node, element: str, name: str, place: NestedModel) -> str:
        """The unique name in the whole model."""
        taken = self.names[element]
        full = place.prefix + name
        renamed = unique_name(full, taken)
        if renamed != full:
            source.report("SD030.repeated", node.number, attribute="name", name=full, element=element, renamed=renamed)
        taken.add(renamed)
        return renamed

    def _canonical(self, placed: ModelPlacement, scope: Scope) -> Body | None:
        name: str = placed.node.fields.get("@canonical_link", "")
        first = scope.first_body()
        if not name:
            return first
        scope.canonical = first
        body = scope.body(name) if scope.has_frame(name) else None
        if isinstance(body, Body):
            return body
        suggestion = placed.source.collector.suggestions.among(scope.frames).did_you_mean(name)
        placed.source.report(
            "SD050.canonical", placed.node.number, attribute="canonical_link", name=name, suggestion=suggestion
        )
        return first

    # --- places ---------------------------------------------------------------------------------------

    def _place_links(self) -> None:
        above: dict[int, Array] = {}
        for frame, scope, place in self.links:
            assert frame.body is not None
            direct = None if place.roots else scope.direct(frame)
            if direct is not None:
                frame.body.pose = direct
            else:
                here = scope.place(frame)
                frame.body.pose = Pose.from_matrix(self._outer_transform(place.roots, place.scopes, above) @ here)
            for shape, stated, node in self.displaced.get(id(frame.body), ()):
                own = NamedFrame(frame.name, frame.source, node.number, stated, default_frame=frame.name)
                shape.pose = relative(scope.place(own), scope.place(frame))

    def _outer_transform(
        self, roots: tuple[NamedFrame, ...], scopes: tuple[Scope, ...], known: dict[int, Array]
    ) -> Array:
        """The transform from a nested model to the outermost one."""
        if not roots:
            return array(identity(1)[0])
        own = roots[-1]
        if id(own) not in known:
            known[id(own)] = self._outer_transform(roots[:-1], scopes[:-1], known) @ scopes[-1].place(own)
        return known[id(own)]


def inner_transform(placed: ModelPlacement, scope: Scope) -> Array | None:
    """The transform from a model's placement frame to its own frame; None if they are the same."""
    if not placed.frame or placed.frame == scope.own:
        return None
    if not scope.has_frame(placed.frame):
        referrer = placed.referrer or placed.source
        suggestion = referrer.collector.suggestions.among(scope.frames).did_you_mean(placed.frame)
        instead = "the pose is read as that of the model"
        referrer.report("SD050.unknown", placed.number, name=placed.frame, instead=instead, suggestion=suggestion)
        return None
    return inverse(scope.transform(placed.frame))


def unique_in_scope(source: SdfContext, number: int, name: str, element: str, taken: Names) -> str:
    """A unique name in a scope; reports reserved and repeated names."""
    if not name:
        name = unique_name(element, taken)
    elif is_reserved(name):
        source.report("SD030.reserved", number, attribute="name", name=name)
    renamed = unique_name(name, taken)
    if renamed != name:
        source.report("SD030.repeated", number, attribute="name", name=name, element=element, renamed=renamed)
    taken.add(renamed)
    return renamed


def _unique(source: SdfContext, node: Node, element: str, taken: Names) -> str:
    return unique_in_scope(source, node.number, node.fields.get("@name", ""), element, taken)
