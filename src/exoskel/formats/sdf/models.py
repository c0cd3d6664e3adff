"""From models, with all that is nested in them, to models of a scene."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from exoskel.formats.sdf.context import Source, Stated, given
from exoskel.formats.sdf.frames import WORLD, NamedFrame, Scope, relative
from exoskel.formats.sdf.joints import Pending, check_mimics, joint_of
from exoskel.formats.sdf.links import Elsewhere, body_of
from exoskel.formats.sdf.topology import Forest
from exoskel.scene.body import Body
from exoskel.scene.item import Names, unique_name
from exoskel.scene.pose import Pose
from exoskel.scene.world import Model
from exoskel.source.flat_tree import Node
from exoskel.spatial import Array, array, identity, inverse

SEPARATOR = "::"


class Placement(Struct, frozen=True):
    """Where a model is, whether it came in directly or by an include, which may say otherwise than the model."""

    source: Source
    node: Node
    name: str
    stated: Stated
    static: bool
    frame: str = ""
    """The frame that the pose is of; empty: the model's own."""
    merge: bool = False
    holder: Source | None = None
    """The document that the pose is written in, if it is another."""
    number: int = -1


Included = Callable[[Source, Node], "Placement | None"]


def placement_of(source: Source, node: Node) -> Placement:
    """The placement of a model that stands in the document itself."""
    fields = node.fields
    return Placement(
        source=source,
        node=node,
        name=fields.get("@name", ""),
        stated=source.pose(node),
        static=fields.get("static", False),
        frame=fields.get("@placement_frame", ""),
        number=node.number,
    )


class NestedModel(Struct, frozen=True):
    """Where in the outermost model a scope is: what its names begin with, and the frames and scopes that lead to it."""

    prefix: str = ""
    roots: tuple[NamedFrame, ...] = ()
    scopes: tuple[Scope, ...] = ()

    def below(self, frame: NamedFrame, scope: Scope, name: str) -> NestedModel:
        """The place of a model nested in a scope; without a name it is merged into that."""
        prefix = self.prefix + name + SEPARATOR if name else self.prefix
        return NestedModel(prefix, (*self.roots, frame), (*self.scopes, scope))


class ModelReader:
    """One model of a world, and everything nested in it."""

    def __init__(self, included: Included) -> None:
        self.included = included
        self.bodies: list[Body] = []
        self.links: list[tuple[NamedFrame, Scope, NestedModel]] = []
        self.elsewhere: dict[int, list[Elsewhere]] = {}
        self.pending: list[Pending] = []
        self.fixed: set[int] = set()
        self.names = {"link": Names(), "joint": Names()}
        """Those of the whole model: what is merged into one may bring names that are taken."""
        self.self_collide: list[bool] = []
        self.choosing: list[tuple[Source, int]] = []
        """The elements that say something about that."""

    def read(self, placed: Placement, name: str) -> tuple[Model, Scope]:
        """The model, still to be placed in the world, and its frames."""
        scope = self._scope(placed, NestedModel())
        self._place_links()
        joints = [joint for one in self.pending if (joint := joint_of(one)) is not None]
        check_mimics(self.pending, joints)
        source_of = {one.name: one.source for one in self.pending}
        forest = Forest(self.bodies, joints, lambda j: source_of[j.name].report("SD063", j.node, joint=j.name))
        forest.hold(lambda body: id(body) in self.fixed)
        ordered = forest.ordered()
        if not self.bodies and not placed.static:
            placed.source.report("SD031", placed.node.number, name=name)
        model = Model(
            name=name,
            static=placed.static,
            bodies=[joint.child for joint in ordered if not joint.loop],
            joints=ordered,
            document=placed.source.number,
            node=placed.node.number,
            given=given(placed.node),
        )
        return model, scope

    # --- scopes ---------------------------------------------------------------------------------------

    def _scope(self, placed: Placement, place: NestedModel) -> Scope:
        source, node = placed.source, placed.node
        scope = Scope()
        scope.fixed = placed.static
        names = Names()
        for link in node.nodes("link"):
            self._link(placed, link, _fresh(source, link, "link", names), scope, place)
        included = [found for one in node.nodes("include") if (found := self.included(source, one)) is not None]
        for inner in (*(placement_of(source, one) for one in node.nodes("model")), *included):
            self._nested(inner, names, scope, place)
        for one in node.nodes("frame"):
            name = _fresh(source, one, "frame", names)
            attached = one.fields.get("@attached_to", "")
            scope.frames[name] = NamedFrame(
                name, source, one.number, source.pose(one), home=attached, attached=attached
            )
        for one in node.nodes("joint"):
            self._joint(source, one, _fresh(source, one, "joint", names), scope, place)
        scope.canonical = self._canonical(placed, scope)
        self._self_collision(source, node)
        return scope

    def _nested(self, inner: Placement, names: Names, scope: Scope, place: NestedModel) -> None:
        holder = inner.holder or inner.source
        name = "" if inner.merge else unique(holder, inner.number, inner.name, "model", names)
        frame = NamedFrame(name, holder, inner.number, inner.stated)
        below = self._scope(inner, place.below(frame, scope, name))
        frame.behind = behind(inner, below)
        if inner.static:
            holder.report("SD032", inner.number, name=inner.name)
        if inner.merge:
            scope.merged.append((frame, below))
        else:
            scope.frames[name] = frame
            scope.nested[name] = below

    def _link(self, placed: Placement, node: Node, name: str, scope: Scope, place: NestedModel) -> None:
        source = placed.source
        body, elsewhere = body_of(source, node, self._full(source, node, "link", name, place), static=placed.static)
        frame = NamedFrame(name, source, node.number, source.pose(node), body=body)
        scope.frames[name] = frame
        self.bodies.append(body)
        self.links.append((frame, scope, place))
        if elsewhere:
            self.elsewhere[id(body)] = elsewhere
        if placed.static:
            self.fixed.add(id(body))

    def _joint(self, source: Source, node: Node, name: str, scope: Scope, place: NestedModel) -> None:
        child = node.fields.get("child", "")
        # A child that is the world is no frame of the model: the joint is taken to be in its parent then.
        home = node.fields.get("parent", "") if child == WORLD else child
        frame = NamedFrame(name, source, node.number, source.pose(node), home=home, attached=home)
        scope.frames[name] = frame
        full = self._full(source, node, "joint", name, place)
        self.pending.append(Pending(source, node, full, frame, scope, place.prefix))

    def _full(self, source: Source, node: Node, element: str, name: str, place: NestedModel) -> str:
        """The name in the whole model."""
        taken = self.names[element]
        full = place.prefix + name
        renamed = unique_name(full, taken)
        if renamed != full:
            source.report("SD030.repeated", node.number, attribute="name", name=full, element=element, renamed=renamed)
        taken.add(renamed)
        return renamed

    def _canonical(self, placed: Placement, scope: Scope) -> Body | None:
        name: str = placed.node.fields.get("@canonical_link", "")
        first = scope.first_body()
        if not name:
            return first
        scope.canonical = first
        body = scope.body(name) if scope.knows(name) else None
        if isinstance(body, Body):
            return body
        suggestion = placed.source.collector.suggestions.among(scope.frames).did_you_mean(name)
        placed.source.report(
            "SD050.canonical", placed.node.number, attribute="canonical_link", name=name, suggestion=suggestion
        )
        return first

    def _self_collision(self, source: Source, node: Node) -> None:
        whole = node.fields.get("self_collide", False)
        self.choosing += [(source, one.number) for one in (node, *node.nodes("link")) if "self_collide" in one.fields]
        self.self_collide += [link.fields.get("self_collide", whole) for link in node.nodes("link")]

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
                frame.body.pose = Pose.from_matrix(self._above(place.roots, place.scopes, above) @ here)
            for shape, stated, node in self.elsewhere.get(id(frame.body), ()):
                stood = NamedFrame(frame.name, frame.source, node.number, stated, home=frame.name)
                shape.pose = relative(scope.place(stood), scope.place(frame))

    def _above(self, roots: tuple[NamedFrame, ...], scopes: tuple[Scope, ...], known: dict[int, Array]) -> Array:
        """The frame of a nested model in that of the outermost one."""
        if not roots:
            return array(identity(1)[0])
        own = roots[-1]
        if id(own) not in known:
            known[id(own)] = self._above(roots[:-1], scopes[:-1], known) @ scopes[-1].place(own)
        return known[id(own)]


def behind(placed: Placement, scope: Scope) -> Array | None:
    """From the frame that a model's pose is of to the model's own; None if that is the same."""
    if not placed.frame or placed.frame == scope.own:
        return None
    if not scope.knows(placed.frame):
        holder = placed.holder or placed.source
        suggestion = holder.collector.suggestions.among(scope.frames).did_you_mean(placed.frame)
        instead = "the pose is taken to be that of the model"
        holder.report("SD050.unknown", placed.number, name=placed.frame, instead=instead, suggestion=suggestion)
        return None
    return inverse(scope.transform(placed.frame))


def unique(source: Source, number: int, name: str, element: str, taken: Names) -> str:
    """A name of its own, in a scope where some are taken."""
    if not name:
        name = unique_name(element, taken)
    elif name == WORLD or (name.startswith("__") and name.endswith("__")) or SEPARATOR in name:
        source.report("SD030.reserved", number, attribute="name", name=name)
    renamed = unique_name(name, taken)
    if renamed != name:
        source.report("SD030.repeated", number, attribute="name", name=name, element=element, renamed=renamed)
    taken.add(renamed)
    return renamed


def _fresh(source: Source, node: Node, element: str, taken: Names) -> str:
    return unique(source, node.number, node.fields.get("@name", ""), element, taken)
