"""Edits of a scene as edits of the document that it was read from: everything else stays as its author wrote it.

Only values that elements state themselves are edited here.  The result is read back and compared with the scene, so
that an edit which has another effect (because of a default class, a frame or a setting) is noticed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property
from math import degrees

import numpy as np
from msgspec import Struct

from exoskel import spatial
from exoskel.fates import Fate, Verdict
from exoskel.formats.interface import NodeKey, SourceCopy
from exoskel.formats.mjcf import joint_edits, shape_edits
from exoskel.formats.mjcf.document_references import have_states, named_kind, renamed_references
from exoskel.formats.mjcf.joint_edits import coupling_node, joint_nodes, joints_of_body
from exoskel.formats.mjcf.keyframe_edits import (
    KeyframeEditor,
    StateEditError,
    changes_states,
    import_base,
    reference_positions,
)
from exoskel.formats.mjcf.names import table_without
from exoskel.formats.mjcf.removed_elements import RemovedElements
from exoskel.formats.mjcf.shape_edits import ROTATIONS, CannotEditError
from exoskel.formats.mjcf.stated_poses import StatedPoses
from exoskel.formats.mjcf.world_list_edits import LISTS, edit_world_list
from exoskel.formats.saving.changes import Changes, changed_fields
from exoskel.scene.body import Body, Marker
from exoskel.scene.fields import transform_differences
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.model import Model
from exoskel.scene.pose import pose_matrices
from exoskel.scene.shape import Shape
from exoskel.scene.world import Scene, World
from exoskel.source.document import Document
from exoskel.source.markup import Markup, format_number, format_numbers
from exoskel.source.splice import Patch
from exoskel.spatial import Array

EDITED = Verdict(Fate.LOWERED, "replaced by the value of the edited scene")
"""Of attributes."""
_REMOVED = Verdict(Fate.DROPPED, "it was removed from the scene", harmless=True)
_DEPENDENT = Verdict(Fate.DROPPED, "what it refers to is not in the output")
_OF_NEW_ITEMS = frozenset({"dofs"})
"""The fields of new items that are edited: their states."""
_SAME_POSE = 1e-13
"""The difference of poses that is rounding."""
_MASS_FIELDS = frozenset({"geometry", "pose"})
"""Fields of shapes that mass properties follow from."""
_MASS_SETTINGS = ("settotalmass", "inertiafromgeom")
"""Attributes of the compiler that change stated mass properties."""
_FOLLOWING = frozenset(
    {"cameras", "lights", "keyframes", "actuators", "tendons", "sensors", "equalities", "collision_exempt_groups"}
)
"""Fields of a world that change with the names of its parts, and with removed ones."""


_OF_LIMITS = ("jointlimit", "tendonlimit")
"""How the names of sensors begin that MuJoCo refuses without limits."""


def edit_source(
    document: Document, base: Scene, scene: Scene, changes: Changes, restated: Collection[int] = frozenset()
) -> SourceCopy | None:
    """A document with the edits of a scene; None if a new document is needed.

    `base` is the scene that was read from the document, `changes` are the differences between it and the scene.  The
    bodies and joints whose ids are `restated` were not edited, but their values would follow from edited ones.
    """
    if changes.added:
        return None
    try:
        editor = _SourceEditor(document, base, scene, changes, restated)
        editor.collect()
        return editor.apply()
    except CannotEditError:
        return None


class _FirstChild(Struct, frozen=True):
    """A new first child of an element."""

    parent: int
    tag: str
    attributes: dict[str, str]

    @property
    def is_last(self) -> bool:
        """Whether it is the child of a new section, the last one."""
        return self.tag == "key" and self.parent == 0


class _SourceEditor:
    def __init__(
        self, document: Document, base: Scene, scene: Scene, changes: Changes, restated: Collection[int]
    ) -> None:
        self.document = document
        self.restated = restated
        self.tags = document.outline.tags
        self.base = base
        self.scene = scene
        self.changes = changes
        self.values: dict[NodeKey, str | None] = {}
        """New values of attributes; None: the attribute is removed."""
        self.insertions: list[_FirstChild] = []
        self.removed: set[int] = set()
        self.dependent: set[int] = set()
        self.poses = StatedPoses(document)

    def collect(self) -> None:
        self.removed, self.dependent = RemovedElements(self.document, self.base, self.changes).find()
        self._remove_names()
        has_other_names = bool(self.changes.removed)
        weighed: dict[int, tuple[Body, Body]] = {}
        for source, item in self.changes.edited:
            names = changed_fields(source, item)
            has_other_names |= "name" in names
            if isinstance(source, Body) and isinstance(item, Body) and "inertia" in names:
                weighed[id(item)] = source, item
        following = self.changes.derived | (_FOLLOWING if has_other_names else frozenset())
        if self._moves_bodies():  # a weld without a pose keeps the bodies as they are placed
            following |= {"equalities"}
        for source, item in self.changes.edited:
            is_new = id(item) in self.changes.inserted
            for name in changed_fields(source, item):
                if is_new and name not in _OF_NEW_ITEMS:  # written by what has inserted it
                    continue
                if isinstance(source, World) and name in following:
                    continue
                if isinstance(source, World) and isinstance(item, World) and name in LISTS:
                    if not edit_world_list(self, name, source, item):
                        raise CannotEditError
                    continue
                edit = _EDITS.get((type(source), name))
                has_element = source.node >= 0 and source.document == 0
                if edit is None or not (has_element or (type(source), name) in _TOGETHER):
                    raise CannotEditError
                edit(self, source, item)
        self._collect_inertias(weighed)
        self._restate_joints()
        if self._moves_bodies():
            self._collect_poses()
        self._collect_states()

    def _remove_names(self) -> None:
        """Remove the names of removed elements from the texts that list them."""
        ends = self.document.outline.ends
        gone: dict[str, set[str]] = {}
        for node in (inner for one in self.removed | self.dependent for inner in range(one, ends[one])):
            gone.setdefault(named_kind(self.document, node), set()).add(self.document.attribute_text(node, "name"))
        for node in (node for node, tag in enumerate(self.tags) if tag == "text" and gone):
            name, data = (self.document.attribute_text(node, one) for one in ("name", "data"))
            kept = table_without(name, data, gone)
            if not kept:
                self.removed.add(node)
            elif kept != data:
                self.set(node, "data", kept)

    def _collect_states(self) -> None:
        """Edit keyframes, and remove the numbers of removed elements from them."""
        ends = self.document.outline.ends
        lost = {inner for node in self.removed | self.dependent for inner in range(node, ends[node])}
        if not have_states(self.document, lost) and not changes_states(
            self.document, self.base, self.scene, self.changes
        ):
            return
        try:
            KeyframeEditor(self, self.base, self.scene, self.changes, lost).edit()
        except StateEditError as problem:
            raise CannotEditError from problem

    def _moves_bodies(self) -> bool:
        pairs = self.changes.edited
        return any(isinstance(one, Body | Model) and "pose" in changed_fields(one, other) for one, other in pairs)

    # --- the document ---------------------------------------------------------------------------------

    def text(self, node: int, name: str) -> str:
        """The value of an attribute as it is edited so far."""
        if (node, name) in self.values:
            return self.values[node, name] or ""
        return self.document.attribute_text(node, name)

    def set(self, node: int, name: str, value: str) -> None:
        self.values[node, name] = value

    def drop(self, node: int, *names: str) -> None:
        for name in names:
            if name in self.document.attributes(node):
                self.values[node, name] = None

    def add_key(self, before: int, attributes: dict[str, str]) -> None:
        """Add a keyframe before another one, or the first one of all (-1)."""
        sections = [node for node, tag in enumerate(self.tags) if tag == "keyframe"]
        parent = self.document.outline.parents[before] if before >= 0 else sections[0] if sections else 0
        self.insertions.append(_FirstChild(parent, "key", attributes))

    def set_first(self, node: int, name: str, value: float) -> None:
        """Set the first of several numbers."""
        rest = self.text(node, name).split()[1:]
        self.set(node, name, " ".join([format_number(value), *rest]))

    def frame(self, node: int) -> Array:
        return self.poses.frame(node)

    def set_pose(self, node: int, matrix: Array) -> None:
        """State the pose in its body of an element, which may be in a `<frame>`."""
        matrix = spatial.inverse(self.frame(node)) @ matrix
        self.set(node, "pos", format_numbers(spatial.without_noise(matrix[:3, 3]).tolist()))
        self.drop(node, *ROTATIONS)
        if np.abs(matrix[:3, :3] - np.eye(3)).max() > _SAME_POSE or self._has_default_pose(node):
            self.set(node, "quat", format_numbers(spatial.quaternion(matrix[:3, :3]).tolist()))

    def _has_default_pose(self, node: int) -> bool:
        """Whether a default class may state a rotation."""
        return self.tags[node] != "body" and "default" in self.tags

    def children(self, node: int) -> Iterator[int]:
        child, end = node + 1, self.document.outline.ends[node]
        while child < end:
            yield child
            child = self.document.outline.ends[child]

    def apply(self) -> SourceCopy:
        """The edited document, and the fates of what was edited."""
        patch = Patch(self.document)
        fates: dict[NodeKey, Verdict] = {}
        gone = self.removed | self.dependent
        ends = self.document.outline.ends
        for node in sorted(gone):
            verdict = _REMOVED if node in self.removed else _DEPENDENT
            for inner in range(node, ends[node]):
                fates |= {(inner, name): verdict for name in ("", *self.document.attributes(inner))}
            if not any(other < node < ends[other] for other in gone):
                patch.remove(node)
        for (node, name), value in self.values.items():
            if (node, "") in fates:
                continue
            is_stated = name in self.document.attributes(node)
            if value is None:
                patch.remove_attribute(node, name)
            elif not is_stated or value != self.document.attribute_text(node, name):
                patch.set_attribute(node, name, value)
            if is_stated:
                fates[node, name] = EDITED
        for one in self.insertions:
            made = Markup(one.tag, one.attributes)
            if one.is_last:
                patch.insert(0, Markup("keyframe", children=[made]), after=self._last_section)
            else:
                patch.insert(one.parent, made)
        lost = frozenset(inner for node in gone for inner in range(node, ends[node]))
        return SourceCopy(patch.apply(), fates, source_numbers=self._source_numbers(), removed=lost)

    @property
    def _last_section(self) -> int:
        parents, gone = self.document.outline.parents, self.removed | self.dependent
        return max(node for node, parent in enumerate(parents) if parent == 0 and node not in gone)

    def _source_numbers(self) -> list[int]:
        """The number of each element of the edited document in the document; -1 for new ones."""
        gone, ends = self.removed | self.dependent, self.document.outline.ends
        new = Counter(one.parent for one in self.insertions if not one.is_last)
        count = sum(one.is_last for one in self.insertions)
        found: list[int] = []
        node = 0
        while node < len(self.tags):
            if node in gone:
                node = ends[node]
                continue
            found += [node, *[-1] * new[node]]
            node += 1
        return found + [-1] * 2 * count

    # --- worlds and names -----------------------------------------------------------------------------

    def edit_world_name(self, _: Item, item: Item) -> None:
        assert isinstance(item, World)
        self.set(0, "model", item.name)

    def edit_option(self, attribute: str, value: str) -> None:
        """State an option in the last element that does, or in a new one."""
        options = [node for node, tag in enumerate(self.tags) if tag == "option"]
        stated = [node for node in options if attribute in self.document.attributes(node)] or options[:1]
        if stated:
            self.set(stated[-1], attribute, value)
        else:
            self.insertions.append(_FirstChild(0, "option", {attribute: value}))

    def edit_gravity(self, _: Item, item: Item) -> None:
        assert isinstance(item, World)
        self.edit_option("gravity", format_numbers(item.gravity))

    def edit_time_step(self, _: Item, item: Item) -> None:
        assert isinstance(item, World)
        self.edit_option("timestep", format_number(item.time_step))

    def edit_name(self, source: Item, item: Item) -> None:
        before, after = (str(getattr(one, "name", "")) for one in (source, item))
        if isinstance(item, Joint) and item.kind == "weld":  # without an element
            return
        if isinstance(source, Body) and isinstance(item, Body):
            self._state_joint_name(source, item)
        node = source.node
        if isinstance(source, Joint) and node < 0 and source.child.node >= 0:  # a floating body's
            node = next(iter(joints_of_body(self.document, source.child.node)), -1)
        if not isinstance(source, Joint) or source.implicit or node != source.node or self._is_single(source):
            if node < 0:
                raise CannotEditError
            self.rename(node, before, after)
            return
        raise CannotEditError

    def _is_single(self, joint: Joint) -> bool:
        return len(joint_nodes(self.document, joint)) == 1

    def _state_joint_name(self, source: Body, item: Body) -> None:
        """State the name of the joint of a renamed body, if it would follow from the name of the body."""
        joints = (joint for world in self.scene.worlds for joint in world.joints() if joint.child is item)
        joint = next((one for one in joints if not one.loop and one.kind != "weld"), None)
        known = self.changes.sources.get(id(joint)) if joint is not None else None
        if joint is None or not isinstance(known, Joint) or known.name != joint.name:
            return
        nodes = joints_of_body(self.document, source.node)
        if len(nodes) == 1 and not self.document.attribute_text(nodes[0], "name"):
            self.set(nodes[0], "name", joint.name)

    def rename(self, node: int, before: str, after: str) -> None:
        """Rename an element and all references to it."""
        stated = self.document.attribute_text(node, "name")
        is_plain = not set("~&<>\"'") & set(before + after)
        if not after or not is_plain or self.tags[node] == "worldbody":
            raise CannotEditError
        if stated.endswith(f"/{before}"):  # the name of the model is in front
            after = stated.removesuffix(before) + after
        elif stated not in (before, ""):
            raise CannotEditError
        self.set(node, "name", after)
        if not stated:
            return
        for user, attribute, value in renamed_references(self.document, self.tags[node], stated, after):
            self.set(user, attribute, value)

    # --- bodies ---------------------------------------------------------------------------------------

    def edit_nothing(self, source: Item, item: Item) -> None:
        """Do nothing: mass properties and poses of all bodies are edited together."""

    def edit_body_gravity(self, source: Item, item: Item) -> None:
        assert isinstance(item, Body)
        self.set(source.node, "gravcomp", "0" if item.gravity else "1")

    def _collect_inertias(self, weighed: dict[int, tuple[Body, Body]]) -> None:
        """State the mass properties of edited bodies, and of those whose edited shapes they would follow."""
        edited = {
            id(item)
            for source, item in self.changes.edited
            if isinstance(item, Shape) and not _MASS_FIELDS.isdisjoint(changed_fields(source, item))
        }
        removed = {one.node for one in self.changes.removed if isinstance(one, Shape)}
        is_weighed = bool(weighed or edited or removed) or not self.changes.inserted.isdisjoint(self.restated)
        has_all = is_weighed and self._drop_mass_settings()
        parents = self.document.outline.parents
        for model in (model for world in self.scene.worlds for model in world.models):
            for body in model.bodies:
                source = self.changes.sources.get(id(body))
                is_reshaped = bool(edited) and any(id(shape) in edited for shape in body.shapes)
                if isinstance(source, Body) and source.node >= 0 and self.tags[source.node] == "body":
                    is_reshaped |= bool(removed) and any(parents[node] == source.node for node in removed)
                    is_restated = id(body) in self.restated or (has_all and body.mass > 0.0)
                    if id(body) in weighed or is_restated or (is_reshaped and not model.static):
                        self._set_inertia(source, body, is_whole=is_restated)

    def _drop_mass_settings(self) -> bool:
        """Remove settings that change the stated mass properties of all bodies; these have to be stated then."""
        found = False
        for node, tag in enumerate(self.tags):
            if tag == "compiler":
                stated = [name for name in _MASS_SETTINGS if name in self.document.attributes(node)]
                stated = [name for name in stated if self.document.attribute_text(node, name) not in ("auto", "false")]
                self.drop(node, *stated)
                found |= bool(stated)
        return found

    def _restate_joints(self) -> None:
        """State the springs and dampers of joints that follow from the mass properties of bodies."""
        for joint in (joint for world in self.scene.worlds for model in world.models for joint in model.joints):
            source = self.changes.sources.get(id(joint))
            if id(joint) not in self.restated or not isinstance(source, Joint):
                continue
            for node, dof in zip(joint_nodes(self.document, source), joint.dofs, strict=False):
                self.set(node, "springdamper", "0 0")
                self.set_first(node, "stiffness", dof.stiffness)
                self.set_first(node, "damping", dof.damping)

    def _set_inertia(self, source: Body, body: Body, *, is_whole: bool) -> None:
        """State the mass properties of a body: those that differ, or all of them."""
        node = next((one for one in self.children(source.node) if self.tags[one] == "inertial"), None)
        given = {"mass": format_number(body.mass)}
        is_whole |= node is None
        if is_whole or body.com != source.com:
            given["pos"] = format_numbers(body.com)
        if is_whole or body.moment != source.moment:
            xx, yy, zz, *products = body.moment
            is_diagonal = not any(products)
            given["diaginertia" if is_diagonal else "fullinertia"] = format_numbers(
                (xx, yy, zz) if is_diagonal else body.moment
            )
        if node is None:
            order = ("pos", "mass", "diaginertia", "fullinertia")
            self.insertions.append(
                _FirstChild(source.node, "inertial", {name: given[name] for name in order if name in given})
            )
            return
        if "diaginertia" in given or "fullinertia" in given:
            self.drop(node, *ROTATIONS, "diaginertia", "fullinertia")
        for name, value in given.items():
            self.set(node, name, value)

    def _collect_poses(self) -> None:
        """Write the poses of bodies in their parent bodies where they differ."""
        before, after = self._places(self.base), self._places(self.scene, self.changes.sources)
        parents = self.document.outline.parents
        for node in after:
            above = parents[node]
            while above > 0 and self.tags[above] != "body":
                above = parents[above]
            mine, theirs = (
                side[node] if above <= 0 else spatial.inverse(side[above]) @ side[node] for side in (after, before)
            )
            if transform_differences(mine[None], theirs[None])[0] > _SAME_POSE:
                if self.tags[node] != "body":
                    raise CannotEditError
                self.set_pose(node, mine)

    def _places(self, scene: Scene, sources: Mapping[int, Item] | None = None) -> dict[int, Array]:
        """The frames of bodies in the world by their elements in the document."""
        found: dict[int, Array] = {}
        for model in (model for world in scene.worlds for model in world.models):
            frame = model.pose.matrix()
            bodies = [body for body in model.bodies if (body if sources is None else sources.get(id(body))) is not None]
            matrices = frame @ pose_matrices([body.pose for body in bodies])
            for body, matrix in zip(bodies, matrices, strict=True):
                node = (body if sources is None else sources[id(body)]).node
                found[node] = matrix  # of the massless links of a body, all have its frame
        return found

    def edit_connection(self, source: Item, item: Item) -> None:
        """Check that a joint connects the same bodies as before, which may have other names."""
        assert isinstance(source, Joint) and isinstance(item, Joint)
        ends = ((source.child, item.child), (source.parent, item.parent))
        if any(after is not None and self.changes.sources.get(id(after)) is not before for before, after in ends):
            raise CannotEditError

    def edit_mimic(self, source: Item, item: Item) -> None:
        """Edit or remove the constraint of a joint that follows another one.

        That of a joint which followed a removed one is removed with this.
        """
        assert isinstance(source, Joint) and isinstance(item, Joint)
        node = coupling_node(self.document, source)
        if node in self.dependent and item.mimic is None:
            return
        if node is None or node in self.dependent or source.mimic is None:
            raise CannotEditError
        if item.mimic is None:
            self.removed.add(node)
            return
        leader = self._joint_beside(item, item.mimic.joint)
        if leader is None or len(joint_nodes(self.document, leader)) > 1 or len(joint_nodes(self.document, source)) > 1:
            raise CannotEditError
        name = self.text(leader.node, "name")
        if not name:
            raise CannotEditError
        self.set(node, "joint2", name)
        self.set(node, "polycoef", format_numbers((item.mimic.offset, item.mimic.multiplier, 0.0, 0.0, 0.0)))

    def _joint_beside(self, joint: Joint, name: str) -> Joint | None:
        """The joint of the document that has a name in the model of another one."""
        models = (model for world in self.scene.worlds for model in world.models)
        model = next(one for one in models if any(other is joint for other in one.joints))
        found = next((one for one in model.joints if one.name == name), None)
        source = self.changes.sources.get(id(found))
        return source if isinstance(source, Joint) else None

    # --- joints ---------------------------------------------------------------------------------------

    @cached_property
    def _references(self) -> Mapping[int, float]:
        """The positions of joints in the pose in which their bodies are stated, by their elements."""
        if not any("ref" in self.document.attributes(node) for node in range(len(self.tags))):
            return {}
        try:
            compiled = import_base(self.base).compiled
        except StateEditError as problem:
            raise CannotEditError from problem
        return {} if compiled is None else reference_positions(compiled)

    def stated_position(self, node: int, joint: Joint, value: float) -> float:
        """A position of a joint in the unit of the document, from its reference position."""
        kind = self.document.attribute_text(node, "type")
        is_slide = kind == "slide" or (not kind and joint.kind in ("prismatic", "translational", "translational2d"))
        if not kind and joint.kind not in ("revolute", "prismatic", "universal", "euler", "ball"):
            raise CannotEditError
        value += self._references.get(node, 0.0)
        return value if is_slide or not self.poses.uses_degrees else degrees(value)

    def remove_limits(self, node: int) -> None:
        """State that a joint or tendon has no limits, unless other elements may need them."""
        attributes = map(self.document.attributes, range(len(self.tags)))
        if any(tag.startswith(_OF_LIMITS) for tag in self.tags) or any("inheritrange" in one for one in attributes):
            raise CannotEditError
        self.set(node, "limited", "false")


_EDITS: dict[tuple[type[Item], str], Callable[[_SourceEditor, Item, Item], None]] = {
    (World, "name"): _SourceEditor.edit_world_name,
    (World, "gravity"): _SourceEditor.edit_gravity,
    (World, "time_step"): _SourceEditor.edit_time_step,
    (World, "keyframes"): _SourceEditor.edit_nothing,
    (Model, "name"): _SourceEditor.edit_nothing,
    (Model, "static"): _SourceEditor.edit_nothing,  # follows from the joints
    (Model, "pose"): _SourceEditor.edit_nothing,
    (Body, "name"): _SourceEditor.edit_name,
    (Body, "pose"): _SourceEditor.edit_nothing,
    (Body, "inertia"): _SourceEditor.edit_nothing,
    (Body, "gravity"): _SourceEditor.edit_body_gravity,
    (Joint, "name"): _SourceEditor.edit_name,
    (Joint, "child"): _SourceEditor.edit_connection,
    (Joint, "parent"): _SourceEditor.edit_connection,
    (Joint, "mimic"): _SourceEditor.edit_mimic,
    (Joint, "dofs"): joint_edits.edit_dofs,
    (Joint, "pose"): joint_edits.edit_pose,
    (Joint, "axes"): joint_edits.edit_axes,
    (Shape, "name"): _SourceEditor.edit_name,
    (Shape, "color"): shape_edits.edit_color,
    (Shape, "friction"): shape_edits.edit_friction,
    (Shape, "geometry"): shape_edits.edit_geometry,
    (Shape, "pose"): shape_edits.edit_shape_pose,
    (Marker, "name"): _SourceEditor.edit_name,
    (Marker, "color"): shape_edits.edit_color,
    (Marker, "offset"): shape_edits.edit_marker_pose,
    (Marker, "quaternion"): shape_edits.edit_marker_pose,
    (Marker, "size"): shape_edits.edit_marker_size,
    (Marker, "kind"): shape_edits.edit_marker_kind,
}
"""The fields that can be edited in a document, and how."""
_TOGETHER = frozenset(
    {
        *((Model, "name"), (Model, "static"), (World, "keyframes")),
        *((Joint, name) for name in ("dofs", "pose", "name", "child", "parent")),
    }
)
"""Fields that are edited in other elements, at least in part."""
