"""Read joints."""

from __future__ import annotations

from math import inf, pi
from typing import cast

import numpy as np
from msgspec import Struct

from exoskel.formats.sdf.context import JOINT_FRAME_AXES, MODEL_FRAME, NamedFrame, Scope, SdfContext, relative
from exoskel.formats.sdf.names import WORLD
from exoskel.formats.sdf.values import JOINT_KINDS, VECTOR, finite_or_infinite
from exoskel.formats.sdf.vocabulary import DRIVES, DYNAMICS, JOINT_ELEMENT, SYMMETRIC_LIMITS
from exoskel.scene.body import Body
from exoskel.scene.joint import TRAITS, Dof, Drive, Interval, Joint, Mimic
from exoskel.scene.pose import Pose, Vector
from exoskel.source.flat_tree import Node
from exoskel.source.output_context import NodeOfDocument
from exoskel.spatial import Array

DEFAULT_PITCH = 1.0
"""m per revolution."""

GEARBOX = "gearbox"
_PARALLEL = 1e-6
"""How much the cosine of the angle between parallel axes may differ from 1."""

_Z: Vector = (0.0, 0.0, 1.0)
_AXES = ("axis", "axis2")


class PendingJoint(Struct, eq=False):
    """A joint that is built once all frames are known.  `prefix` is the name prefix of its model."""

    source: SdfContext
    node: Node
    name: str
    frame: NamedFrame
    scope: Scope
    prefix: str


def build_joint(pending: PendingJoint) -> Joint | None:
    """Build a joint; None if it is invalid or unsupported, which is reported."""
    source, node, name = pending.source, pending.node, pending.name
    type: str | None = node.fields.get("@type")
    if type is None or type == GEARBOX:
        if type is None:
            source.report("SD061.type", node.number, attribute="type", joint=name)
        return None  # a gearbox couples other joints
    ends = _ends(pending)
    if ends is None:
        return None
    parent, child = ends
    joint = Joint(
        name=name,
        kind=JOINT_KINDS[type],
        child=child if isinstance(child, Body) else cast("Body", parent),
        parent=parent if isinstance(parent, Body) and isinstance(child, Body) else None,
        document=source.number,
        node=node.number,
        given=node.stated_fields(JOINT_ELEMENT) | {"parent", "child"},
        repaired=node.invalid_fields(JOINT_ELEMENT),
    )
    place = pending.scope.place(pending.frame)
    joint.pose = _pose(pending, joint.child, place)
    count = TRAITS[joint.kind].axes
    joint.axes = tuple(_axis(pending, element, place) for element in _AXES[:count])
    for index, element in enumerate(_AXES[:count]):
        inner: Node | None = node.fields.get(element)
        if inner is not None:
            _set_dof(source, inner, joint, index, bounds=type != "continuous")
    if joint.kind == "screw":
        joint.pitch = _pitch(source, node, name)
    joint.drives = _drives(node, count)
    joint.mimic = _mimic(pending, count)
    if not isinstance(child, Body):
        source.report("SD060.reversed", node.number, "child", joint=name)
        _reverse(joint)
    return joint


def _reverse(joint: Joint) -> None:
    """Swap parent and child: the axes of the same motion change sign."""
    joint.axes = tuple((-x, -y, -z) for x, y, z in joint.axes)
    joint.swapped = len(joint.axes) > 1


# --- ends and frames --------------------------------------------------------------------------------


def _ends(pending: PendingJoint) -> tuple[Body | str, Body | str] | None:
    source, node = pending.source, pending.node
    found: list[Body | str] = []
    for end in ("parent", "child"):
        name: str | None = node.fields.get(end)
        if name is None:
            source.report("SD060.missing", node.number, joint=pending.name, end=end)
            return None
        body = WORLD if name == WORLD else pending.scope.body(name)
        if body is None:
            known = source.collector.suggestions.among(pending.scope.frames)
            suggestion = known.did_you_mean(name)
            source.report(
                "SD060.unknown", node.number, end, token=name, joint=pending.name, name=name, suggestion=suggestion
            )
            return None
        found.append(body)
    if found[0] is found[1]:
        source.report("SD060.self", node.number, "child", joint=pending.name, name=node.fields["child"])
        return None
    return found[0], found[1]


def _pose(pending: PendingJoint, child: Body, place: Array) -> Pose:
    """The joint's frame in the child, as written if it is relative to the child."""
    frame, scope = pending.frame, pending.scope
    stated = frame.stated
    default_frame = scope.frames.get(stated.relative_to or frame.default_frame)
    if default_frame is not None and default_frame.body is child:
        return stated.pose
    return relative(place, scope.transform(scope.paths[id(child)]))


def _axis(pending: PendingJoint, element: str, place: Array) -> Vector:
    """The direction of an axis in the joint's frame."""
    source, node, scope = pending.source, pending.node, pending.scope
    element_node: Node | None = node.fields.get(element)
    stated: Node | None = element_node.fields.get("xyz") if element_node else None
    if element_node is None or stated is None:
        if element_node is None:
            source.report("SD062.default", node.number, joint=pending.name, element=element)
        return _Z
    value = source.value(VECTOR, "xyz", stated)
    if not isinstance(value, tuple):
        return _Z
    if not any(value):
        source.report("SD062.zero", stated.number)
        return _Z
    frame: str = stated.fields.get("@expressed_in", "")
    if not frame and (element_node.fields.get("use_parent_model_frame", source.version < JOINT_FRAME_AXES)):
        frame = MODEL_FRAME
    if not frame or scope.frames.get(frame) is pending.frame:
        return (value[0], value[1], value[2])
    if not scope.has_frame(frame):
        instead, suggestion = "the joint frame is used", source.collector.suggestions.among(scope.frames)
        source.report(
            "SD050.unknown", stated.number, attribute="expressed_in",
            name=frame, instead=instead, suggestion=suggestion.did_you_mean(frame),
        )  # fmt: skip
        return (value[0], value[1], value[2])
    x, y, z = (place[:3, :3].T @ scope.transform(frame)[:3, :3] @ value).tolist()
    return (x, y, z)


# --- degrees of freedom -----------------------------------------------------------------------------


def _set_dof(source: SdfContext, node: Node, joint: Joint, index: int, *, bounds: bool) -> None:
    dynamics: Node | None = node.fields.get("dynamics")
    limit: Node | None = node.fields.get("limit")
    if dynamics is None and limit is None:
        return
    dof: Dof = joint.dofs[index]
    for element, field in DYNAMICS.items():
        if dynamics is not None and element in dynamics.fields:
            setattr(dof, field, dynamics.fields[element])
    if limit is not None:
        if bounds:
            dof.position_limits = _position_limits(source, limit)
        for element, field in SYMMETRIC_LIMITS.items():
            setattr(dof, field, _symmetric(limit.fields.get(element, inf)))


def _position_limits(source: SdfContext, limit: Node) -> Interval:
    lower, upper = (
        finite_or_infinite(limit.fields.get("lower", -inf)),
        finite_or_infinite(limit.fields.get("upper", inf)),
    )
    if lower > upper:
        source.report("SD066", limit.number, lower=lower, upper=upper)
        return (-inf, inf)
    return (lower, upper)


def _symmetric(most: float) -> Interval:
    most = finite_or_infinite(most) if most >= 0.0 else inf
    return (-most, most)


def _pitch(source: SdfContext, node: Node, name: str) -> float:
    """The travel in m per revolution, from either element."""
    travel: float | None = node.fields.get("screw_thread_pitch")
    thread_pitch: float | None = node.fields.get("thread_pitch")
    if travel is not None:
        if thread_pitch is not None:
            source.report("SD064.both", node.number, "thread_pitch")
        return travel
    if thread_pitch is None:
        source.report("SD064.default", node.number, joint=name)
        return DEFAULT_PITCH
    if thread_pitch == 0.0:
        source.report("SD064.zero", node.number, "thread_pitch")
        return DEFAULT_PITCH
    pitch = -2.0 * pi / thread_pitch
    source.report("SD064.old", node.number, "thread_pitch", found=thread_pitch, pitch=pitch)
    return pitch


def _drives(node: Node, count: int) -> tuple[Drive, ...]:
    physics: Node | None = node.fields.get("physics")
    ode: Node | None = physics.fields.get("ode") if physics else None
    if ode is None or count == 0:
        return ()
    stated: dict[str, float] = {}
    for container, fields in DRIVES.items():
        node_of_rows: Node | None = ode.fields.get(container) if container else ode
        if node_of_rows is not None:
            found = node_of_rows.fields
            stated |= {field: found[element] for element, field in fields.items() if element in found}
    return (Drive(**stated), *(Drive() for _ in range(count - 1))) if stated else ()


def _mimic(pending: PendingJoint, count: int) -> Mimic | None:
    for element in _AXES:
        axis: Node | None = pending.node.fields.get(element)
        node: Node | None = axis.fields.get("mimic") if axis else None
        name: str = node.fields.get("@joint", "") if node else ""
        if node is None or not name:
            continue
        if count != 1 or element != "axis" or node.fields.get("@axis", "axis") != "axis":
            pending.source.report("SD065.axis", node.number)
            continue
        multiplier = node.fields.get("multiplier", 1.0)
        offset = node.fields.get("offset", 0.0) - multiplier * node.fields.get("reference", 0.0)
        return Mimic(pending.prefix + name, multiplier, offset)
    return None


def check_mimics(pending: list[PendingJoint], joints: list[Joint]) -> None:
    """Remove mimics of unknown joints and of joints with more or less than one axis."""
    known = {joint.name: joint for joint in joints}
    source_of = {one.name: one.source for one in pending}
    prefix_of = {one.name: one.prefix for one in pending}
    for joint in joints:
        if joint.mimic is None:
            continue
        leader = known.get(joint.mimic.joint)
        report = source_of[joint.name].report
        if leader is None or leader is joint:
            prefix = prefix_of[joint.name]
            near = [name.removeprefix(prefix) for name in known if name.startswith(prefix)]
            name = joint.mimic.joint.removeprefix(prefix)
            suggestion = source_of[joint.name].collector.suggestions.among(near).did_you_mean(name)
            report("SD065.unknown", joint.node, "axis/mimic", attribute="joint", name=name, suggestion=suggestion)
            joint.mimic = None
        elif len(leader.motion) != 1:
            report("SD065.axis", joint.node, "axis/mimic")
            joint.mimic = None


# --- gearboxes ----------------------------------------------------------------------------------------


def couple_gearboxes(pending: list[PendingJoint], joints: list[Joint]) -> dict[NodeOfDocument, NodeOfDocument]:
    """Let the joint of the child of each gearbox mimic that of its parent: θ₂ = -ratio · θ₁.

    The result has the elements of the gearboxes, and those of the joints that mimic others because of them.
    """
    coupled: dict[NodeOfDocument, NodeOfDocument] = {}
    for gearbox in pending:
        if gearbox.node.fields.get("@type") != GEARBOX:
            continue
        ends = _ends(gearbox) or ("", "")
        name: str = gearbox.node.fields.get("gearbox_reference_body", "")
        reference = WORLD if name == WORLD else gearbox.scope.body(name)
        leader, follower = (
            _hinge(gearbox, joints, axis, end, reference) for axis, end in zip(_AXES, ends, strict=True)
        )
        source, number = gearbox.source, gearbox.node.number
        if leader is None or follower is None or follower[0].mimic is not None or leader[0] is follower[0]:
            source.report("SD061.gearbox", number, joint=gearbox.name)
            continue
        multiplier = -gearbox.node.fields.get("gearbox_ratio", 1.0) * leader[1] * follower[1]
        follower[0].mimic = Mimic(leader[0].name, multiplier)
        coupled[source.number, number] = (follower[0].document, follower[0].node)
        source.report(
            "SD067",
            number,
            joint=gearbox.name,
            follower=follower[0].name,
            leader=leader[0].name,
            multiplier=f"{multiplier:g}",
        )
    return coupled


def _hinge(
    gearbox: PendingJoint, joints: list[Joint], axis: str, link: Body | str, reference: Body | str | None
) -> tuple[Joint, float] | None:
    """The joint between a link and the reference body about an axis of a gearbox, and 1, or -1 if it is reversed."""
    scope, place = gearbox.scope, gearbox.scope.place(gearbox.frame)
    wanted = place[:3, :3] @ _axis(gearbox, axis, place)
    for joint in joints:
        ends = (WORLD if joint.parent is None else joint.parent, joint.child)
        if joint.kind != "revolute" or ends not in ((reference, link), (link, reference)):
            continue
        frame = scope.transform(scope.paths[id(joint.child)])[:3, :3] @ joint.pose.matrix()[:3, :3]
        direction = frame @ joint.axes[0]
        cosine = float(direction @ wanted) / float(np.linalg.norm(direction) * np.linalg.norm(wanted))
        if abs(cosine) > 1.0 - _PARALLEL:
            return joint, (1.0 if cosine > 0.0 else -1.0) * (1.0 if ends[1] is link else -1.0)
    return None
