"""Joints of SKEL: their kind, frame, axes and bodies.  Degrees of freedom are read next door."""

from __future__ import annotations

from math import hypot
from typing import Any, NamedTuple

from exoskel.diagnostics import KnownNames
from exoskel.formats.skel.context import DOCUMENT, Context
from exoskel.formats.skel.dofs import AXES, NOT_IN_DART, DofReader
from exoskel.scene.body import Body
from exoskel.scene.joint import DEFAULT_PITCH, Joint
from exoskel.scene.pose import IDENTITY, Vector
from exoskel.source.flat_tree import Node

X: Vector = (1.0, 0.0, 0.0)
Y: Vector = (0.0, 1.0, 0.0)
Z: Vector = (0.0, 0.0, 1.0)


class Use(NamedTuple):
    """What a type of joint takes from its children.

    `directions` are the axes whose direction counts, as (element, fallback); `dynamics` is how many of
    `axis`, `axis2`, `axis3` have dynamics and limits that count.
    """

    directions: tuple[tuple[str, Vector], ...] = ()
    dynamics: int = 0


USES: dict[str, Use] = {
    "weld": Use(),
    "revolute": Use((("axis", Z),), 1),
    "prismatic": Use((("axis", Z),), 1),
    "screw": Use((("axis", Z),), 1),
    "universal": Use((("axis", X), ("axis2", Y)), 2),
    "ball": Use(),
    "euler": Use(dynamics=3),
    "translational": Use(dynamics=3),
    "translational2d": Use(dynamics=2),
    "planar": Use(dynamics=3),
    "free": Use(),
}

_AXES_GIVEN = frozenset({"axes"})
_IN_A_PLANE = ("planar", "translational2d")
_UNIT_TOLERANCE = 1e-6
_ROUNDING = 1e-12
_NOT_UNIT = {"universal": "moves the child to its parent's origin at nonzero positions"}
"""What DART does with axes that are not unit, where it does not normalise them."""

_WITH_MORE_TO_SAY = frozenset({*AXES, "axis_order", "plane", "init_pos", "init_vel", "dof"})


class JointReader:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.report = context.report
        self.dofs = DofReader(context)
        self._lexicons: dict[str, KnownNames] | None = None
        """The names of the skeleton's bodies, for suggestions, once one has been asked for."""

    def joints(self, nodes: list[Node], bodies: dict[str, Body]) -> list[Joint]:
        """The joints of a skeleton in document order, without those that cannot stand.

        Their names are as written; namesakes are told apart when it is known who is built first.
        """
        self._lexicons = None
        return [joint for node in nodes if (joint := self._joint(node, bodies)) is not None]

    def _joint(self, node: Node, bodies: dict[str, Body]) -> Joint | None:
        fields = node.fields
        kind = fields.get("@type")
        if kind is None and not node.is_invalid("@type"):
            self.report("SK070.missing", node.number)
        ends = self._ends(node, bodies)
        if kind is None or ends is None:
            return None
        child, parent = ends
        joint = Joint(
            name=fields.get("@name") or ("default" if self.context.dart else "joint"),
            kind=kind,
            child=child,
            parent=parent,
            pose=fields.get("transformation", IDENTITY),
            actuator=fields.get("@actuator", "force"),
            limits_enforced=not self.context.dart,
            document=DOCUMENT,
            node=node.number,
            given=self.context.given(node),
        )
        if kind in NOT_IN_DART:
            self.report("SK090", node.number, attribute="type", kind=kind)
        if (USES[kind].dynamics or not _WITH_MORE_TO_SAY.isdisjoint(fields)) and not self._detail(joint, node):
            return None
        if node.invalid:
            joint.repaired = self.context.repaired(node)
        return joint

    def _detail(self, joint: Joint, node: Node) -> bool:
        """Axes, planes and degrees of freedom; False if the joint cannot stand."""
        self._remark_on_unused(joint, node)
        if not self._directions(joint, node):
            return False
        self.dofs.read(joint, node, USES[joint.kind].dynamics)
        return True

    # --- ends -----------------------------------------------------------------------------------------

    def _ends(self, node: Node, bodies: dict[str, Body]) -> tuple[Body, Body | None] | None:
        """Child and parent, or None if a name leads nowhere."""
        child_name, parent_name = node.fields.get("child"), node.fields.get("parent", "world")
        if child_name is None:
            return None
        child, parent = bodies.get(child_name), bodies.get(parent_name)
        if child is None:
            self._unknown_body("child", node, child_name, bodies)
        if parent is None and parent_name != "world":
            self._unknown_body("parent", node, parent_name, bodies)
            return None
        return None if child is None else (child, parent)

    def _unknown_body(self, end: str, node: Node, name: str, bodies: dict[str, Body]) -> None:
        if self._lexicons is None:
            among = self.context.suggestions.among
            self._lexicons = {"child": among(bodies), "parent": among([*bodies, "world"])}
        suggestion = self._lexicons[end].did_you_mean(name)
        self.report(f"SK071.{end}", node.number, end, token=name.strip(), name=name, suggestion=suggestion)

    # --- axes and planes ------------------------------------------------------------------------------

    def _directions(self, joint: Joint, node: Node) -> bool:
        kind, fields = joint.kind, node.fields
        wanted = USES[kind].directions
        if wanted:
            joint.axes = tuple(self._axis(joint, node, element, fallback) for element, fallback in wanted)
            if wanted[0][0] in fields:
                joint.given |= _AXES_GIVEN
        if kind == "screw" and "axis" in fields:
            joint.pitch = fields["axis"].fields.get("pitch", DEFAULT_PITCH)
        elif kind == "euler":
            if "axis_order" not in fields and not node.is_invalid("axis_order"):
                self.report("SK078.missing", node.number)
            joint.order = fields.get("axis_order", "xyz")
        elif kind in _IN_A_PLANE:
            return self._plane(joint, node)
        return True

    def _axis(self, joint: Joint, node: Node, element: str, fallback: Vector) -> Vector:
        details: dict[str, Any] = {
            "kind": joint.kind,
            "element": element,
            "fallback": "{:g} {:g} {:g}".format(*fallback),
        }
        holder: Node | None = node.fields.get(element)
        if holder is None:
            self.report("SK077.missing", node.number, **details)
            return fallback
        axis: Vector | None = holder.fields.get("xyz")
        if axis is None:
            if not holder.is_invalid("xyz"):
                self.report("SK077.no_xyz", holder.number, **details)
            node.mark_invalid("axes")
            return fallback
        length = hypot(*axis)
        if self.context.dart and joint.kind == "universal" and abs(length - 1.0) > _ROUNDING:
            joint.collapses = True
        if length == 0.0:
            self.report("SK077.zero", holder.number, "xyz", **details)
            if self.context.dart:
                return axis
            node.mark_invalid("axes")
            return fallback
        if abs(length - 1.0) > _UNIT_TOLERANCE:
            consequence = _NOT_UNIT.get(joint.kind, "also normalises it")
            self.report("SK077.length", holder.number, "xyz", found=length, consequence=consequence)
        return axis

    def _plane(self, joint: Joint, node: Node) -> bool:
        holder: Node | None = node.fields.get("plane")
        if holder is None:
            self.report("SK079.missing", node.number, kind=joint.kind)
            return True
        if "@type" not in holder.fields and not holder.is_invalid("@type"):
            self.report("SK079.no_type", holder.number)
        joint.plane = holder.fields.get("@type", "xy")
        if joint.plane != "arbitrary":
            return True
        first = self._plane_axis(holder, "translation_axis1", X)
        second = self._plane_axis(holder, "translation_axis2", Y)
        joint.axes = (first, second)
        if _parallel(first, second):
            self.report("SK079.parallel", holder.number)
            return self.context.dart
        return True

    def _plane_axis(self, holder: Node, element: str, fallback: Vector) -> Vector:
        inner: Node | None = holder.fields.get(element)
        axis: Vector | None = inner.fields.get("xyz") if inner is not None else None
        if axis is not None:
            return axis
        if inner is None or not inner.is_invalid("xyz"):
            place = holder.number if inner is None else inner.number
            self.report("SK079.axis", place, element=element, fallback="{:g} {:g} {:g}".format(*fallback))
        return fallback

    # --- what has no effect ---------------------------------------------------------------------------

    def _remark_on_unused(self, joint: Joint, node: Node) -> None:
        kind, fields, use = joint.kind, node.fields, USES[joint.kind]
        directed = {element for element, _ in use.directions}
        for number, element in enumerate(AXES):
            axis: Node | None = fields.get(element)
            if axis is None:
                continue
            if number >= use.dynamics:
                loses = any(name in axis.fields for name in ("dynamics", "limit", "damping"))
                key = "SK013.axis" if not loses else "SK013.weld" if kind == "weld" else "SK013.axis_dynamics"
                self.report(key, axis.number, element=element, kind=kind)
            elif "xyz" in axis.fields and element not in directed:
                self.report("SK013.axis_xyz", axis.number, "xyz", element=element, kind=kind)
            if "pitch" in axis.fields and kind != "screw":
                self.report("SK013.pitch", axis.number, "pitch", kind=kind)
        if "axis_order" in fields and kind != "euler":
            self.report("SK013.axis_order", node.number, "axis_order", kind=kind)
        if "plane" in fields and kind not in _IN_A_PLANE:
            self.report("SK013.plane", fields["plane"].number, kind=kind)
        if kind == "weld":
            for element in ("init_pos", "init_vel", "dof"):
                if element in fields:
                    self.report("SK013.weld", node.number, element, element=element)


def _parallel(first: Vector, second: Vector) -> bool:
    """Whether two vectors span no plane, to rounding."""
    lengths = hypot(*first), hypot(*second)
    if 0.0 in lengths:
        return True
    (a, b, c), (x, y, z) = ([value / length for value in v] for v, length in zip((first, second), lengths, strict=True))
    return hypot(b * z - c * y, c * x - a * z, a * y - b * x) <= 1e-9
