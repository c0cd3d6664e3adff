"""Reads the joints of a SKEL skeleton: kind, frame, axes and bodies.  `dofs` reads the degrees of freedom."""

from __future__ import annotations

from math import hypot, isfinite
from typing import Any, NamedTuple

import numpy as np

from exoskel import spatial
from exoskel.diagnostics import KnownNames
from exoskel.formats.skel.context import DOCUMENT, SkelContext
from exoskel.formats.skel.dofs import AXES, AXIS_DYNAMICS, NOT_IN_DART, DofReader
from exoskel.formats.skel.values import NOT_FINITE
from exoskel.formats.skel.vocabulary import INITIAL, JOINT_ELEMENT
from exoskel.scene.body import Body
from exoskel.scene.edit_tracking import set_field
from exoskel.scene.joint import DEFAULT_PITCH, Joint, JointKind
from exoskel.scene.model import Model
from exoskel.scene.pose import IDENTITY, ZERO, Pose, Vector
from exoskel.source.flat_tree import Node, merge_fields
from exoskel.source.positions import Elements
from exoskel.spatial import Array

X: Vector = (1.0, 0.0, 0.0)
Y: Vector = (0.0, 1.0, 0.0)
Z: Vector = (0.0, 0.0, 1.0)


class AxisUse(NamedTuple):
    """Which axis elements a type of joint uses.

    `directions` are the axes whose direction is used, as (element, fallback).  `dynamics` is the number of
    elements among `axis`, `axis2` and `axis3` whose dynamics and limits are used.
    """

    directions: tuple[tuple[str, Vector], ...] = ()
    dynamics: int = 0


AXIS_USES: dict[JointKind, AxisUse] = {
    "weld": AxisUse(),
    "revolute": AxisUse((("axis", Z),), 1),
    "prismatic": AxisUse((("axis", Z),), 1),
    "screw": AxisUse((("axis", Z),), 1),
    "universal": AxisUse((("axis", X), ("axis2", Y)), 2),
    "ball": AxisUse(),
    "euler": AxisUse(dynamics=3),
    "translational": AxisUse(dynamics=3),
    "translational2d": AxisUse(dynamics=2),
    "planar": AxisUse(dynamics=3),
    "free": AxisUse(),
}

_WITH_DIRECTION = {kind: frozenset([element for element, _ in use.directions]) for kind, use in AXIS_USES.items()}
_AXES = frozenset({"axes"})
_PLANAR_KINDS = ("planar", "translational2d")
_UNIT_TOLERANCE = 1e-6
_ROUNDING = 1e-12
_NOT_UNIT_CONSEQUENCES = {"universal": "moves the child to its parent's origin at nonzero positions"}
"""What DART does with axes that are not unit vectors, for kinds where it does not normalise them."""

_DETAIL_ELEMENTS = frozenset({*AXES, "axis_order", "plane", "init_pos", "init_vel", "dof"})


class SkelJointReader:
    """Reads the `joint` elements of all skeletons of one document."""

    def __init__(self, context: SkelContext) -> None:
        self.context = context
        self.report = context.report
        self.dofs = DofReader(context)
        self._lexicons: dict[str, KnownNames] | None = None
        """The names of the skeleton's bodies, for suggestions; built on first use."""

    def read_joints(self, nodes: list[Node], bodies: dict[str, Body]) -> list[Joint]:
        """The joints of a skeleton in document order, without invalid ones.

        Names are as written: `topology` makes them unique, because that depends on the creation order.
        """
        self._lexicons = None
        return [joint for node in nodes if (joint := self._read_joint(node, bodies)) is not None]

    def _read_joint(self, node: Node, bodies: dict[str, Body]) -> Joint | None:
        fields = node.fields
        kind = fields.get("@type")
        if kind is None and not node.is_invalid("@type"):
            self.report("SK070.missing", node.number)
        connected = self._find_bodies(node, bodies)
        if kind is None or connected is None:
            self._check_ignored(node, kind or self._likely_kind(node), bodies)
            return None
        child, parent = connected
        joint = self._build_joint(node, kind, child, parent)
        if kind in NOT_IN_DART:
            self.report("SK090", node.number, attribute="type", kind=kind)
        if not self._read_details(joint, node):
            self.context.ignored_joints[joint.child.node] = joint.name
            return None
        if node.invalid:
            joint.repaired |= node.invalid_fields(JOINT_ELEMENT)
        return joint

    def _build_joint(self, node: Node, kind: JointKind, child: Body, parent: Body | None) -> Joint:
        fields = node.fields
        return Joint(
            name=fields.get("@name") or ("default" if self.context.dart else "joint"),
            kind=kind,
            child=child,
            parent=parent,
            pose=fields.get("transformation", IDENTITY),
            actuator=fields.get("@actuator", "force"),
            limits_enforced=not self.context.dart,
            document=DOCUMENT,
            node=node.number,
            given=node.stated_fields(JOINT_ELEMENT),
        )

    def _check_ignored(self, node: Node, kind: JointKind | None, bodies: dict[str, Body]) -> None:
        """Report the problems inside of a joint that is ignored, and remember the body that it leaves without one."""
        child = self._likely_child(node, bodies)
        if child is not None:
            self.context.ignored_joints[child.node] = node.fields.get("@name", "joint")
        if kind is not None:
            self._read_details(self._build_joint(node, kind, child or Body(name=""), None), node)

    def _likely_kind(self, node: Node) -> JointKind | None:
        """The type that a misspelt one is similar to."""
        written = Elements(self.context.document.scan).attribute(node.number, "type") or ""
        meant = self.context.suggestions.among(AXIS_USES).did_you_mean(written).word
        return next((kind for kind in AXIS_USES if kind == meant), None)

    def _likely_child(self, node: Node, bodies: dict[str, Body]) -> Body | None:
        """The child of a joint, or the body that its misspelt name is similar to."""
        name: str = node.fields.get("child", "")
        return bodies.get(name) or bodies.get(self._known_names(bodies)["child"].did_you_mean(name).word)

    def _read_details(self, joint: Joint, node: Node) -> bool:
        """Read axes, plane and degrees of freedom; False if the joint is invalid."""
        use = AXIS_USES[joint.kind]
        if not use.dynamics and _DETAIL_ELEMENTS.isdisjoint(node.fields):
            return True
        self._report_unused(joint, node, use)
        if not self._read_axes(joint, node, use):
            return False
        self.dofs.read(joint, node, use.dynamics)
        return True

    # --- bodies ---------------------------------------------------------------------------------------

    def _find_bodies(self, node: Node, bodies: dict[str, Body]) -> tuple[Body, Body | None] | None:
        """The child and parent bodies, or None if a name is unknown."""
        child_name, parent_name = node.fields.get("child"), node.fields.get("parent", "world")
        if child_name is None:
            return None
        child, parent = bodies.get(child_name), bodies.get(parent_name)
        if child is None:
            self._report_unknown_body("child", node, child_name, bodies)
        if parent is None and parent_name != "world":
            self._report_unknown_body("parent", node, parent_name, bodies)
            return None
        return None if child is None else (child, parent)

    def _report_unknown_body(self, end: str, node: Node, name: str, bodies: dict[str, Body]) -> None:
        suggestion = self._known_names(bodies)[end].did_you_mean(name)
        self.report(f"SK071.{end}", node.number, end, token=name.strip(), name=name, suggestion=suggestion)

    def _known_names(self, bodies: dict[str, Body]) -> dict[str, KnownNames]:
        if self._lexicons is None:
            among = self.context.suggestions.among
            self._lexicons = {"child": among(bodies), "parent": among([*bodies, "world"])}
        return self._lexicons

    # --- axes and planes ------------------------------------------------------------------------------

    def _read_axes(self, joint: Joint, node: Node, use: AxisUse) -> bool:
        kind, fields, directions = joint.kind, node.fields, use.directions
        if directions:
            axes = [self._read_axis(joint, node, element, fallback) for element, fallback in directions]
            set_field(joint, "axes", tuple(axes))
            if directions[0][0] in fields:
                set_field(joint, "given", merge_fields(joint.given, _AXES))
        if kind == "screw" and "axis" in fields:
            joint.pitch = fields["axis"].fields.get("pitch", DEFAULT_PITCH)
        elif kind == "euler":
            if "axis_order" not in fields and not node.is_invalid("axis_order"):
                self.report("SK078.missing", node.number)
            joint.order = fields.get("axis_order", "xyz")
        elif kind in _PLANAR_KINDS:
            return self._read_plane(joint, node)
        return True

    def _read_axis(self, joint: Joint, node: Node, element: str, fallback: Vector) -> Vector:
        axis_node: Node | None = node.fields.get(element)
        axis: Vector | None = None if axis_node is None else axis_node.fields.get("xyz")
        if axis is not None and self._is_unit(axis):
            return axis
        details: dict[str, Any] = {
            "kind": joint.kind,
            "element": element,
            "fallback": "{:g} {:g} {:g}".format(*fallback),
        }
        if axis_node is None:
            self.report("SK077.missing", node.number, **details)
            return fallback
        if axis is None:
            return self._choose_axis(joint, axis_node, fallback, details)
        if not all(map(isfinite, axis)):
            return axis  # `place_like_dart` does what DART does
        length = hypot(*axis)
        if self.context.dart and joint.kind == "universal" and abs(length - 1.0) > _ROUNDING:
            joint.collapses = True
        if length == 0.0:
            self.report("SK077.zero", axis_node.number, "xyz", **details)
            if self.context.dart:
                return axis
            joint.repaired = _AXES
            return fallback
        overflows = joint.kind not in _NOT_UNIT_CONSEQUENCES and not isfinite(sum(value * value for value in axis))
        if overflows and self.context.dart:
            axis = ZERO
        if abs(length - 1.0) > _UNIT_TOLERANCE:
            consequence = _NOT_UNIT_CONSEQUENCES.get(joint.kind, "also normalises it")
            if overflows:
                consequence = "divides it by an infinite length: the joint cannot move"
            self.report("SK077.length", axis_node.number, "xyz", found=length, consequence=consequence)
        return axis

    def _is_unit(self, axis: Vector) -> bool:
        """Whether nothing has to be done about an axis."""
        return abs(hypot(*axis) - 1.0) <= (_ROUNDING if self.context.dart else _UNIT_TOLERANCE)

    def _choose_axis(self, joint: Joint, node: Node, fallback: Vector, details: dict[str, Any]) -> Vector:
        """The axis for an element without a valid direction."""
        documented = details["element"] == "axis" and not self.context.dart
        if not node.is_invalid("xyz"):
            self.report("SK077.default" if documented else "SK077.no_xyz", node.number, **details)
            fallback = X if documented else fallback
        joint.repaired = _AXES
        return fallback

    def _read_plane(self, joint: Joint, node: Node) -> bool:
        plane_node: Node | None = node.fields.get("plane")
        if plane_node is None:
            self.report("SK079.missing", node.number, kind=joint.kind)
            return True
        if "@type" not in plane_node.fields and not plane_node.is_invalid("@type"):
            self.report("SK079.no_type", plane_node.number)
        set_field(joint, "plane", plane_node.fields.get("@type", "xy"))
        if joint.plane != "arbitrary":
            return True
        first = self._read_plane_axis(plane_node, "translation_axis1", X)
        second = self._read_plane_axis(plane_node, "translation_axis2", Y)
        joint.axes = (first, second)
        if _are_parallel(first, second):
            self.report("SK079.parallel", plane_node.number)
            return self.context.dart
        return True

    def _read_plane_axis(self, plane_node: Node, element: str, fallback: Vector) -> Vector:
        inner: Node | None = plane_node.fields.get(element)
        axis: Vector | None = inner.fields.get("xyz") if inner is not None else None
        if axis is not None:
            return axis
        if inner is None or not inner.is_invalid("xyz"):
            place = plane_node.number if inner is None else inner.number
            self.report("SK079.axis", place, element=element, fallback="{:g} {:g} {:g}".format(*fallback))
        return fallback

    # --- what has no effect ---------------------------------------------------------------------------

    def _report_unused(self, joint: Joint, node: Node, use: AxisUse) -> None:
        kind, fields = joint.kind, node.fields
        with_direction = _WITH_DIRECTION[kind]
        for number, element in enumerate(AXES):
            axis: Node | None = fields.get(element)
            if axis is None:
                continue
            if number >= use.dynamics:
                ignores_dynamics = not AXIS_DYNAMICS.isdisjoint(axis.fields)
                unused = "SK013.weld" if kind == "weld" else "SK013.axis_dynamics"
                key = unused if ignores_dynamics else "SK013.axis"
                self.report(key, axis.number, element=element, kind=kind)
            elif "xyz" in axis.fields and element not in with_direction:
                self.report("SK013.axis_xyz", axis.number, "xyz", element=element, kind=kind)
            if "pitch" in axis.fields and kind != "screw":
                self.report("SK013.pitch", axis.number, "pitch", kind=kind)
        if "axis_order" in fields and kind != "euler":
            self.report("SK013.axis_order", node.number, "axis_order", kind=kind)
        if "plane" in fields and kind not in _PLANAR_KINDS:
            self.report("SK013.plane", fields["plane"].number, kind=kind)
        if kind == "weld":
            for element in (*INITIAL, "dof"):
                if element in fields:
                    self.report("SK013.weld", node.number, element, element=element)


def place_like_dart(model: Model) -> None:
    """Place bodies as DART does where transformations or axes are not finite.

    DART rejects the frame of a joint, relative to its parent, that is not finite: the identity remains.  A motion that
    is not finite moves the child to the frame of its parent, and keeps it there; such axes become zero.
    """
    collapsed = {id(joint) for joint in model.joints if not all(isfinite(v) for axis in joint.axes for v in axis)}
    lost = {id(body) for body in model.bodies if model.pose is NOT_FINITE or body.pose is NOT_FINITE}
    rejected = {
        id(joint)
        for joint in model.joints
        if joint.pose is NOT_FINITE or id(joint.child) in lost or id(joint.parent) in lost
    }
    if not (collapsed or rejected):
        return
    frame = model.pose.matrix()
    stated = {id(body): frame @ body.pose.matrix() for body in model.bodies}
    placed: dict[int, Array] = {}
    for joint in model.joints:  # parents precede children
        parent = np.eye(4) if joint.parent is None else placed[id(joint.parent)]
        before = np.eye(4) if joint.parent is None else stated[id(joint.parent)]
        if id(joint) in collapsed:
            joint.axes, joint.collapses = (ZERO,) * len(joint.axes), False
            placed[id(joint.child)] = parent
        elif id(joint) in rejected:
            placed[id(joint.child)] = parent @ spatial.inverse(joint.pose.matrix())
        else:
            placed[id(joint.child)] = parent @ spatial.inverse(before) @ stated[id(joint.child)]
        joint.child.pose = Pose.from_matrix(spatial.inverse(frame) @ placed[id(joint.child)])


def _are_parallel(first: Vector, second: Vector) -> bool:
    """Whether two vectors are parallel, or one is zero, up to rounding."""
    lengths = hypot(*first), hypot(*second)
    if 0.0 in lengths:
        return True
    (a, b, c), (x, y, z) = ([value / length for value in v] for v, length in zip((first, second), lengths, strict=True))
    return hypot(b * z - c * y, c * x - a * z, a * y - b * x) <= 1e-9
