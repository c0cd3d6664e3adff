"""Named frames of SDFormat: what the scene does not contain of them, and how they are written to SDF again.

A scene has no frames.  The reader resolves all poses, and records each frame with the link that it is attached to.
Poses of elements that a scene does not contain are recorded as well, for a frame that is not in the output.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from exoskel.fates import Fate, Verdict
from exoskel.formats.sdf.context import NamedFrame, Scope, relative
from exoskel.formats.sdf.names import valid_name
from exoskel.formats.sdf.sensors import PendingSensor, stated_pose
from exoskel.formats.sdf.shape_elements import add_pose, pose_text
from exoskel.formats.written_names import WrittenNames
from exoskel.scene.body import Body
from exoskel.scene.item import Item, Names
from exoskel.scene.model import Model
from exoskel.scene.pose import Pose
from exoskel.scene.world import Scene, World
from exoskel.source.document import Document
from exoskel.source.markup import Markup
from exoskel.source.output_context import InnerModel, NodeOfDocument, OutputContext
from exoskel.spatial import Array, inverse

FRAME = "frame"
_AS_IT_IS = Verdict(Fate.KEPT, "not part of a scene; written to the same format as it is")
_RESOLVED = Verdict(Fate.LOWERED, "the same frame, with its pose in its link, its model or the world")
_WITHOUT_LINK = Verdict(Fate.DROPPED, "it is attached to a link that is not written")


class LinkReference(Struct, frozen=True):
    """A link by its element, and by its name and that of its model as read: a file may be included several times."""

    node: NodeOfDocument
    model: str
    name: str


class ModelReference(Struct, frozen=True):
    """An outermost model by its element, and by its name as read."""

    node: NodeOfDocument
    name: str


class StatedFrame(Struct, frozen=True):
    """A frame of a model or world; `owner` is the element of the world, or of the outermost model around it.

    `name` has the path of nested models.  `pose` is its pose in the link that it is attached to, or else in the owner.
    """

    node: NodeOfDocument
    owner: NodeOfDocument
    name: str
    link: LinkReference | None
    pose: Pose
    attached_to: str
    relative_to: str
    stated: Pose
    is_nested: bool = False


class SdfFrames(Struct, frozen=True):
    """The frames of a document, and the poses that other elements state relative to them, in their default frames.

    `frames` are those of each world and outermost model, by its element.  `places` are the poses of links by their
    elements, to find edits.
    """

    frames: Mapping[NodeOfDocument, Sequence[StatedFrame]] = {}
    poses: Mapping[NodeOfDocument, Pose] = {}
    places: Mapping[NodeOfDocument, Sequence[Pose]] = {}
    inner: Mapping[ModelReference, Mapping[NodeOfDocument, Sequence[str]]] = {}
    """The elements of nested models and of includes, by the models that they became part of, with the prefixes of the
    names in each."""


# --- reading -------------------------------------------------------------------------------------------


def state_frame(
    frame: NamedFrame,
    scope: Scope,
    owner: NodeOfDocument,
    name: str,
    model_of: Callable[[Body], str],
    outer: Array | None = None,
) -> StatedFrame | None:
    """The record of a frame in a scope; None if it is attached to nothing that exists.

    `outer` is the transform from the scope of a nested model to that of the outermost one.
    """
    body = scope.body(frame.name)
    if body is None and frame.attached not in ("", scope.own):
        return None
    attached, base = frame.attached, frame.stated.relative_to
    if isinstance(body, Body) and (outer is not None or attached not in ("", scope.own)):
        link = LinkReference((body.document, body.node), model_of(body), body.name)
        path = scope.paths[id(body)]
        is_direct = attached == path and base in ("", path)
        pose = frame.stated.pose if is_direct else relative(scope.place(frame), scope.transform(path))
    else:
        link, direct = None, scope.direct(frame) if outer is None else None
        place = scope.place(frame) if outer is None else outer @ scope.place(frame)
        pose = direct if direct is not None else Pose.from_matrix(place)
    return StatedFrame(
        (frame.source.number, frame.node), owner, name, link, pose, attached, base, frame.stated.pose, outer is not None
    )


def by_owner(frames: Iterable[StatedFrame]) -> dict[NodeOfDocument, list[StatedFrame]]:
    """The frames of each world and outermost model."""
    found: dict[NodeOfDocument, list[StatedFrame]] = {}
    for one in frames:
        found.setdefault(one.owner, []).append(one)
    return found


def resolve_poses(pending: Iterable[PendingSensor]) -> Iterator[tuple[NodeOfDocument, Pose]]:
    """The poses of elements, and of those in them, that state another frame than their default one."""
    for one in pending:
        for inner in one.element.iter("pose"):
            if not (inner.get("relative_to") or inner.get("frame")):
                continue
            number, around = one.number_of(inner), inner.getparent()
            own = one.scope.place(one.frame)
            key = (one.source.number, number)
            if around is one.element:
                yield key, relative(own, one.scope.transform(one.frame.default_frame))
            elif around is not None:
                stated = stated_pose(one.source, one.number_of(around), around)
                frame = NamedFrame("", one.source, one.number, stated)
                yield key, Pose.from_matrix(inverse(own) @ one.scope.place(frame))


def places_of_links(worlds: Iterable[World]) -> dict[NodeOfDocument, list[Pose]]:
    """The poses of links in their models, by their elements: a file may be included several times."""
    found: dict[NodeOfDocument, list[Pose]] = {}
    for body in (body for world in worlds for body in world.bodies()):
        found.setdefault((body.document, body.node), []).append(body.pose)
    return found


# --- writing -------------------------------------------------------------------------------------------


def add_frames(scene: Scene, root: Markup, output: OutputContext) -> bool:
    """Add the frames of the source to the models and worlds of a document; returns whether there are any.

    Records their names, what becomes of them, and the poses to use instead of a frame that is not written.
    """
    known = scene.source_info.preserved
    if not isinstance(known, SdfFrames) or output.target != "portable":
        return False
    output.frame_names = {}
    poses = known.poses
    output.resolve_pose = lambda key: pose_text(poses[key]) if key in poses else None
    for model, parts in _inner_parts(scene, known.inner):
        for node, prefixes in parts.items():
            output.inner_models.setdefault(node, []).extend(InnerModel(model, prefix, node) for prefix in prefixes)
    output.is_moved = bool(known.places) and _has_moved_links(scene, known.places)
    if known.frames:
        _FrameWriter(scene, root, output).add(known.frames)
    return bool(known.frames or known.poses)


def _inner_parts(
    scene: Scene, known: Mapping[ModelReference, Mapping[NodeOfDocument, Sequence[str]]]
) -> Iterator[tuple[Model, Mapping[NodeOfDocument, Sequence[str]]]]:
    """The models of a scene with their parts, by name; a renamed one by its element, if that is the only one."""
    models = [model for world in scene.worlds for model in world.models] if known else []
    references = Counter(one.node for one in known)
    by_node = {one.node: parts for one, parts in known.items() if references[one.node] == 1}
    found = Counter((model.document, model.node) for model in models)
    for model in models:
        node = (model.document, model.node)
        parts = known.get(ModelReference(node, model.name))
        if parts is None and found[node] == 1:
            parts = by_node.get(node)
        if parts is not None:
            yield model, parts


def _has_moved_links(scene: Scene, places: Mapping[NodeOfDocument, Sequence[Pose]]) -> bool:
    """Whether a link has another pose in its model than in the source."""
    bodies = (body for world in scene.worlds for body in world.bodies())
    return any(body.pose not in places.get((body.document, body.node), (body.pose,)) for body in bodies)


class _FrameWriter:
    def __init__(self, scene: Scene, root: Markup, output: OutputContext) -> None:
        self.scene = scene
        self.output = output
        self.elements = {id(one.item): one for one in root.iter() if isinstance(one.item, Item)}
        self.known: dict[tuple[int, str], str | None] = {}
        output.frame_names = self.known
        self.names = WrittenNames(scene, self.elements, self.known)
        self.worlds: dict[int, World] = {}
        """The worlds of models and of themselves, by id."""
        self.owners: dict[NodeOfDocument, list[Model | World]] = {}
        self.links: dict[NodeOfDocument, list[tuple[Model, Body]]] = {}
        for world in scene.worlds:
            self.worlds[id(world)] = world
            self.owners.setdefault((world.document, world.node), []).append(world)
            for model in world.models:
                self.worlds[id(model)] = world
                self.owners.setdefault((model.document, model.node), []).append(model)
                for body in model.bodies:
                    self.links.setdefault((body.document, body.node), []).append((model, body))

    def add(self, frames: Mapping[NodeOfDocument, Sequence[StatedFrame]]) -> None:
        found: list[tuple[StatedFrame, Model | World, Markup, str]] = []
        taken: dict[int, Names] = {}
        for one in (one for key in self.owners for one in frames.get(key, ())):
            for owner in self.owners[one.owner]:
                element = self.elements.get(id(owner))
                link = None if one.link is None else self._link(one.link, owner)
                if element is None or not self._is_placed(one, owner) or (one.link is not None and link is None):
                    self._record(one, _WITHOUT_LINK)
                    continue
                names = taken.setdefault(
                    id(owner), Names(child.attributes.get("name", "") for child in element.children)
                )
                name = valid_name(one.name, FRAME, names)
                key = (id(owner), one.name)
                self.known[key] = None if key in self.known else name
                found.append((one, owner, element, name))
        for one, owner, element, name in found:
            made = self._as_stated(one, owner, name) or self._resolved(one, owner, name)
            element.children.append(made)

    def _is_placed(self, frame: StatedFrame, owner: Model | World) -> bool:
        """Whether the pose of a frame is that in the output: a rotated world has others."""
        return not (isinstance(owner, World) and self.output.is_rotated and frame.link is None)

    def _as_stated(self, frame: StatedFrame, owner: Model | World, name: str) -> Markup | None:
        """The element as in the source, with the names of the output; None if it states a name that is not written."""
        if frame.is_nested or self.output.is_moved or (isinstance(owner, World) and self.output.is_rotated):
            return None
        made = Markup(FRAME, {"name": name})
        if frame.attached_to:
            attached = self.names.find_frame(frame.attached_to, owner, frame.node[0])
            if attached is None:
                return None
            made.attributes["attached_to"] = attached
        add_pose(made, frame.stated)
        if frame.relative_to:
            base = self.names.find_frame(frame.relative_to, owner, frame.node[0])
            if base is None:
                return None
            pose = next(iter(made.children), None) or made.add("pose", pose_text(frame.stated))
            pose.attributes["relative_to"] = base
        self._record(frame, _AS_IT_IS if self._is_plain(frame) else _RESOLVED)
        return made

    def _is_plain(self, frame: StatedFrame) -> bool:
        """Whether a frame has no parts that are written in another way, such as angles in degrees."""
        source = self.scene.documents[frame.node[0]]
        if not isinstance(source, Document):
            return False
        inside = range(frame.node[1], source.outline.ends[frame.node[1]])
        return not any({"degrees", "rotation_format"} & {*source.attributes(node)} for node in inside)

    def _resolved(self, frame: StatedFrame, owner: Model | World, name: str) -> Markup:
        """The element with its pose in its link, or in its model or the world."""
        made = Markup(FRAME, {"name": name})
        if frame.link is not None and (found := self._link(frame.link, owner)) is not None:
            model, body = found
            path = self.elements[id(body)].attributes["name"]
            inside = "" if isinstance(owner, Model) else f"{self.elements[id(model)].attributes['name']}::"
            made.attributes["attached_to"] = f"{inside}{path}"
        add_pose(made, frame.pose)
        self._record(frame, _RESOLVED)
        return made

    def _link(self, link: LinkReference, owner: Model | World) -> tuple[Model, Body] | None:
        """The link of the scene in a model or world, and its model; None if it is not written or not known."""
        world = self.worlds[id(owner)]
        found = [
            (model, body)
            for model, body in self.links.get(link.node, ())
            if (model is owner or (owner is world and self.worlds[id(model)] is world)) and id(body) in self.elements
        ]
        named = [(model, body) for model, body in found if body.name == link.name]
        same = [(model, body) for model, body in named if model.name == link.model]
        return next((one[0] for one in (found, named, same) if len(one) == 1), None)

    def _record(self, frame: StatedFrame, found: Verdict) -> None:
        """Record what becomes of a frame: of models that include a file, the one that changes it most counts."""
        order = (_AS_IT_IS, _RESOLVED, _WITHOUT_LINK)
        known = self.output.carried_nodes.get(frame.node, found)
        self.output.carried_nodes[frame.node] = max(known, found, key=order.index)
