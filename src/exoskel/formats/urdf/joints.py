"""Read joints: kind, axes, limits, dynamics and mimic."""

from __future__ import annotations

from math import inf

import numpy as np
from msgspec import Struct

from exoskel import spatial
from exoskel.diagnostics import did_you_mean
from exoskel.formats.urdf.context import UNBOUNDED, Context, pose_of
from exoskel.formats.urdf.vocabulary import DYNAMICS, JOINT_ELEMENT, JOINT_KINDS, SYMMETRIC_LIMITS
from exoskel.scene.body import Body
from exoskel.scene.item import Names
from exoskel.scene.joint import TRAITS, Dof, Interval, Joint, JointKind, Mimic
from exoskel.scene.pose import Pose, Vector
from exoskel.source.flat_tree import Node

_LIMITED = ("revolute", "prismatic")
_X: Vector = (1.0, 0.0, 0.0)


class JointSpec(Struct):
    """A joint as stated in the file: the names of its links, and its frame in the parent at position zero."""

    name: str
    node: Node
    kind: JointKind
    parent: str
    child: str
    frame: Pose
    type: str

    @property
    def number(self) -> int:
        return self.node.number


class JointReader:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.report = context.report
        self.names = Names()

    def read_spec(self, node: Node) -> JointSpec | None:
        """Read a joint element; None if its parent or child is missing."""
        fields = node.fields
        name = self.context.name(node, "joint", self.names)
        parent, child = (_link_name(fields.get(end)) for end in ("parent", "child"))
        if parent is None or child is None:
            self.report("UR302.ends", node.number, joint=name)
            return None
        type = fields.get("@type", "fixed")
        return JointSpec(name, node, JOINT_KINDS[type], parent, child, pose_of(fields.get("origin")), type)

    def joint(self, spec: JointSpec, child: Body, parent: Body | None) -> Joint:
        joint = Joint(
            name=spec.name,
            kind=spec.kind,
            child=child,
            parent=parent,
            axes=self._axes(spec),
            **self.context.origin(spec.node, JOINT_ELEMENT),
        )
        if spec.kind == "planar":
            joint.plane = "arbitrary"
            self.report("UR505", spec.number, joint=spec.name)
        if spec.kind in _LIMITED:
            self._dof(spec, joint.dofs[0])
        mimic: Node | None = spec.node.fields.get("mimic")
        if mimic is not None and "@joint" in mimic.fields:
            multiplier, offset = mimic.fields.get("@multiplier", 1.0), mimic.fields.get("@offset", 0.0)
            joint.mimic = Mimic(mimic.fields["@joint"], multiplier, offset)
        return joint

    # --- axes -----------------------------------------------------------------------------------------

    def _axes(self, spec: JointSpec) -> tuple[Vector, ...]:
        if spec.kind in ("weld", "free"):
            return ()
        element: Node | None = spec.node.fields.get("axis")
        axis: Vector = element.fields.get("@xyz", _X) if element is not None else _X
        if not any(axis) and element is not None:
            self.report("UR501", element.number, attribute="xyz", joint=spec.name)
            axis = _X
        return _plane_directions(axis) if spec.kind == "planar" else (axis,)

    # --- limits and dynamics --------------------------------------------------------------------------

    def _dof(self, spec: JointSpec, dof: Dof) -> None:
        limit: Node | None = spec.node.fields.get("limit")
        if limit is not None:
            self._limits(spec, limit, dof)
        elif spec.type in _LIMITED:
            self.report("UR502", spec.number, kind=spec.type, joint=spec.name)
        dynamics: Node | None = spec.node.fields.get("dynamics")
        if dynamics is not None:
            for attribute, field in DYNAMICS.items():
                setattr(dof, field, self._resistance(spec, dynamics, attribute))

    def _limits(self, spec: JointSpec, limit: Node, dof: Dof) -> None:
        if spec.type in _LIMITED:
            lower, upper = limit.fields.get("@lower", 0.0), limit.fields.get("@upper", 0.0)
            if lower > upper:
                self.report("UR502.order", limit.number, joint=spec.name, lower=lower, upper=upper)
                lower, upper = upper, lower
            dof.position_limits = (-inf if lower == -UNBOUNDED else lower, inf if upper == UNBOUNDED else upper)
        for attribute, field in SYMMETRIC_LIMITS.items():
            setattr(dof, field, self._symmetric_limit(spec, limit, attribute))

    def _symmetric_limit(self, spec: JointSpec, limit: Node, attribute: str) -> Interval:
        value: float | None = limit.fields.get(attribute)
        name = attribute[1:]
        if value is None:
            if not limit.is_invalid(attribute):
                self.report("UR106.limit", limit.number, attribute_name=name)
            return (-inf, inf)
        if value < 0.0:
            self.report("UR502.negative", limit.number, attribute=name, name=name, joint=spec.name, value=value)
        elif value == 0.0:
            self.report("UR502.zero", limit.number, attribute=name, name=name, joint=spec.name)
        size = abs(value) if abs(value) != UNBOUNDED else inf
        return (-size, size)

    def _resistance(self, spec: JointSpec, dynamics: Node, attribute: str) -> float:
        value: float = dynamics.fields.get(attribute, 0.0)
        if value < 0.0:
            name = attribute[1:]
            self.report("UR504", dynamics.number, attribute=name, name=name, joint=spec.name, value=value)
            return 0.0
        return value

    # --- mimic ----------------------------------------------------------------------------------------

    def check_mimics(self, joints: list[Joint]) -> None:
        """Remove mimics of unknown joints, of themselves, or of joints with other degrees of freedom."""
        by_name = {joint.name: joint for joint in joints}
        for joint in joints:
            mimic = joint.mimic
            if mimic is None:
                continue
            other = by_name.get(mimic.joint)
            if other is None:
                suggestion = did_you_mean(mimic.joint, by_name)
                self.report(
                    "UR503",
                    joint.node,
                    "mimic",
                    attribute="joint",
                    joint=joint.name,
                    other=mimic.joint,
                    suggestion=suggestion,
                )
            elif _mimics_itself(joint, by_name):
                self.report("UR503.self", joint.node, "mimic", joint=joint.name, other=mimic.joint)
            elif len(TRAITS[other.kind].motion) != len(joint.motion):
                own, theirs = len(joint.motion), len(other.motion)
                self.report(
                    "UR503.unlike", joint.node, "mimic", joint=joint.name, other=other.name, own=own, theirs=theirs
                )
            else:
                continue
            joint.mimic = None


def _mimics_itself(joint: Joint, by_name: dict[str, Joint]) -> bool:
    """Whether a joint mimics itself through other joints."""
    seen: set[str] = set()
    at: Joint | None = joint
    while at is not None and at.mimic is not None and at.name not in seen:
        seen.add(at.name)
        at = by_name.get(at.mimic.joint)
    return at is joint


def _link_name(node: Node | None) -> str | None:
    found: str | None = node.fields.get("@link") if node is not None else None
    return found


def _plane_directions(normal: Vector) -> tuple[Vector, Vector]:
    """The x and y axes after the shortest rotation that aligns z with the normal."""
    z = np.array([0.0, 0.0, 1.0])
    n = spatial.unit(normal)
    across = np.cross(z, n)
    angle = float(np.arctan2(np.linalg.norm(across), n[2]))
    rotation = spatial.axis_angle_matrix(across if across.any() else [1.0, 0.0, 0.0], angle)
    (a, b, c), (d, e, f) = rotation[:, 0].tolist(), rotation[:, 1].tolist()
    return ((a, b, c), (d, e, f))
