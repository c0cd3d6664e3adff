"""Joints: what they allow, their limits and what they follow."""

from __future__ import annotations

from math import inf

import numpy as np
from msgspec import Struct

from exoskel import spatial
from exoskel.diagnostics import did_you_mean
from exoskel.formats.urdf.context import UNBOUNDED, Context
from exoskel.formats.urdf.frames import pose_of
from exoskel.scene.body import Body
from exoskel.scene.item import Names
from exoskel.scene.joint import TRAITS, Dof, Interval, Joint, Kind, Mimic
from exoskel.scene.pose import Pose, Vector
from exoskel.source.flat_tree import Node

KINDS: dict[str, Kind] = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "fixed": "weld",
    "floating": "free",
    "planar": "planar",
}
"""What URDF's types of joint are in a scene."""

_LIMITED = ("revolute", "prismatic")
_GIVEN = {"@name": "name", "@type": "kind", "axis": "axes", "mimic": "mimic", "limit": "dofs", "dynamics": "dofs"}
_X: Vector = (1.0, 0.0, 0.0)


class Tie(Struct):
    """A joint as the file states it: the names of its ends, and its frame in the parent at zero."""

    name: str
    node: Node
    kind: Kind
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

    def tie(self, node: Node) -> Tie | None:
        """The joint, or None if it does not say what it ties."""
        fields = node.fields
        name = self.context.name(node, "joint", self.names)
        parent, child = (_end(fields.get(end)) for end in ("parent", "child"))
        if parent is None or child is None:
            self.report("UR302.ends", node.number, joint=name)
            return None
        word = fields.get("@type", "fixed")
        return Tie(name, node, KINDS[word], parent, child, pose_of(fields.get("origin")), word)

    def joint(self, tie: Tie, child: Body, parent: Body | None) -> Joint:
        joint = Joint(
            name=tie.name,
            kind=tie.kind,
            child=child,
            parent=parent,
            axes=self._axes(tie),
            **self.context.origin(tie.node, **_GIVEN),
        )
        if tie.kind == "planar":
            joint.plane = "arbitrary"
            self.report("UR505", tie.number, joint=tie.name)
        if tie.kind in _LIMITED:
            self._dof(tie, joint.dofs[0])
        mimic: Node | None = tie.node.fields.get("mimic")
        if mimic is not None and "@joint" in mimic.fields:
            multiplier, offset = mimic.fields.get("@multiplier", 1.0), mimic.fields.get("@offset", 0.0)
            joint.mimic = Mimic(mimic.fields["@joint"], multiplier, offset)
        return joint

    # --- axes -----------------------------------------------------------------------------------------

    def _axes(self, tie: Tie) -> tuple[Vector, ...]:
        if tie.kind in ("weld", "free"):
            return ()
        holder: Node | None = tie.node.fields.get("axis")
        axis: Vector = holder.fields.get("@xyz", _X) if holder is not None else _X
        if not any(axis) and holder is not None:
            self.report("UR501", holder.number, attribute="xyz", joint=tie.name)
            axis = _X
        return _plane(axis) if tie.kind == "planar" else (axis,)

    # --- limits and dynamics --------------------------------------------------------------------------

    def _dof(self, tie: Tie, dof: Dof) -> None:
        limit: Node | None = tie.node.fields.get("limit")
        if limit is not None:
            self._limits(tie, limit, dof)
        elif tie.type in _LIMITED:
            self.report("UR502", tie.number, kind=tie.type, joint=tie.name)
        dynamics: Node | None = tie.node.fields.get("dynamics")
        if dynamics is not None:
            dof.damping = self._resistance(tie, dynamics, "damping")
            dof.friction = self._resistance(tie, dynamics, "friction")

    def _limits(self, tie: Tie, limit: Node, dof: Dof) -> None:
        if tie.type in _LIMITED:
            lower, upper = limit.fields.get("@lower", 0.0), limit.fields.get("@upper", 0.0)
            if lower > upper:
                self.report("UR502.order", limit.number, joint=tie.name, lower=lower, upper=upper)
                lower, upper = upper, lower
            dof.position_limits = (-inf if lower == -UNBOUNDED else lower, inf if upper == UNBOUNDED else upper)
        dof.velocity_limits = self._both_ways(tie, limit, "velocity")
        dof.force_limits = self._both_ways(tie, limit, "effort")

    def _both_ways(self, tie: Tie, limit: Node, name: str) -> Interval:
        value: float | None = limit.fields.get(f"@{name}")
        if value is None:
            if not limit.is_invalid(f"@{name}"):
                self.report("UR106.limit", limit.number, attribute_name=name)
            return (-inf, inf)
        if value < 0.0:
            self.report("UR502.negative", limit.number, attribute=name, name=name, joint=tie.name, value=value)
        elif value == 0.0:
            self.report("UR502.zero", limit.number, attribute=name, name=name, joint=tie.name)
        size = abs(value) if abs(value) != UNBOUNDED else inf
        return (-size, size)

    def _resistance(self, tie: Tie, dynamics: Node, name: str) -> float:
        value: float = dynamics.fields.get(f"@{name}", 0.0)
        if value < 0.0:
            self.report("UR504", dynamics.number, attribute=name, name=name, joint=tie.name, value=value)
            return 0.0
        return value

    # --- mimic ----------------------------------------------------------------------------------------

    def check_mimics(self, joints: list[Joint]) -> None:
        """Take back what follows nothing, itself, or something that moves otherwise."""
        by_name = {joint.name: joint for joint in joints}
        for joint in joints:
            mimic = joint.mimic
            if mimic is None:
                continue
            other = by_name.get(mimic.joint)
            if other is None:
                hint = did_you_mean(mimic.joint, by_name)
                self.report("UR503", joint.node, "mimic", joint=joint.name, other=mimic.joint, hint=hint)
            elif _follows(joint, by_name):
                self.report("UR503.self", joint.node, "mimic", joint=joint.name, other=mimic.joint)
            elif len(TRAITS[other.kind].motion) != len(joint.motion):
                own, theirs = len(joint.motion), len(other.motion)
                self.report(
                    "UR503.unlike", joint.node, "mimic", joint=joint.name, other=other.name, own=own, theirs=theirs
                )
            else:
                continue
            joint.mimic = None


def _follows(joint: Joint, by_name: dict[str, Joint]) -> bool:
    """Whether a joint leads back to itself by what it follows."""
    seen: set[str] = set()
    at: Joint | None = joint
    while at is not None and at.mimic is not None and at.name not in seen:
        seen.add(at.name)
        at = by_name.get(at.mimic.joint)
    return at is joint


def _end(node: Node | None) -> str | None:
    found: str | None = node.fields.get("@link") if node is not None else None
    return found


def _plane(normal: Vector) -> tuple[Vector, Vector]:
    """Two directions that x and y come to lie on when z is turned onto the normal by the shortest way."""
    z = np.array([0.0, 0.0, 1.0])
    n = spatial.unit(normal)
    across = np.cross(z, n)
    angle = float(np.arctan2(np.linalg.norm(across), n[2]))
    turn = spatial.axis_angle_matrix(across if across.any() else [1.0, 0.0, 0.0], angle)
    (a, b, c), (d, e, f) = turn[:, 0].tolist(), turn[:, 1].tolist()
    return ((a, b, c), (d, e, f))
