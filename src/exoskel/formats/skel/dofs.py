"""Degrees of freedom of SKEL joints: `axis` first, then `init_pos` and `init_vel`, then `dof`, which wins."""

from __future__ import annotations

from math import pi
from typing import Any

from exoskel.formats.skel.context import DOCUMENT, Context
from exoskel.scene.item import NOTHING
from exoskel.scene.joint import UNLIMITED, Dof, Interval, Joint
from exoskel.source.flat import Node

AXES = ("axis", "axis2", "axis3")

_DYNAMICS = {
    "damping": "damping",
    "friction": "friction",
    "spring_stiffness": "stiffness",
    "spring_rest_position": "rest",
}
"""Elements of `dynamics` and `dof`, and the scene's fields for them."""

_NEVER_NEGATIVE = ("damping", "friction", "stiffness")
_STATES = ("position", "velocity", "acceleration", "force")
NOT_IN_DART = ("screw", "translational2d")
"""Joints that DART parses and never builds."""

PLANAR_THIRD = "default"
"""What DART calls the third degree of freedom of a planar joint, for want of a better name."""

_SINGULARITY_TOLERANCE = 1e-6


class DofReader:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.report = context.report

    def read(self, joint: Joint, node: Node, axes: int) -> None:
        """Fill in the degrees of freedom of a joint, `axes` of which have an axis element of their own."""
        fields = node.fields
        for number in range(axes):
            axis: Node | None = fields.get(AXES[number])
            if axis is not None and not _SAYS_NOTHING.issuperset(axis.fields):
                self._axis(joint.dofs[number], axis)
        for element, field in (("init_pos", "position"), ("init_vel", "velocity")):
            if element in fields and joint.motion:
                self._initial(joint, node, element, field)
        if "dof" in fields and joint.motion:
            self._dof_elements(joint, node)
        if joint._dofs is not None:
            self._check(joint)
        if self.context.dart and joint.kind == "planar":
            joint.dofs[2].name = joint.dofs[2].name or PLANAR_THIRD

    # --- axis -----------------------------------------------------------------------------------------

    def _axis(self, dof: Dof, axis: Node) -> None:
        stated: set[str] = set()
        dof.node = axis.number
        if "damping" in axis.fields:
            self._set_dynamics(dof, axis, "damping", "damping", axis.fields["damping"], "", stated)
        dynamics: Node | None = axis.fields.get("dynamics")
        if dynamics is not None:
            for element, field in _DYNAMICS.items():
                if element in dynamics.fields:
                    value = dynamics.fields[element]
                    self._set_dynamics(dof, dynamics, element, field, value, "", stated)
        limit: Node | None = axis.fields.get("limit")
        if limit is not None:
            self._limit(dof, limit, stated)
        dof.given = frozenset(stated)

    def _set_dynamics(
        self, dof: Dof, node: Node, element: str, field: str, value: float, child: str, stated: set[str]
    ) -> None:
        if field in _NEVER_NEGATIVE and not value >= 0.0:
            self.report("SK083", node.number, child or element, element=element, found=value)
            value = 0.0
        setattr(dof, field, value)
        stated.add(field)

    def _limit(self, dof: Dof, limit: Node, stated: set[str]) -> None:
        fields = limit.fields
        if "lower" in fields or "upper" in fields:
            low, high = fields.get("lower", UNLIMITED[0]), fields.get("upper", UNLIMITED[1])
            dof.position_limits = self._interval(low, high, limit.number)
            stated.add("position_limits")
        if self.context.dart:
            return
        for element, field in (("effort", "force_limits"), ("velocity", "velocity_limits")):
            if element in fields:
                bound = abs(fields[element])
                setattr(dof, field, (-bound, bound))
                stated.add(field)

    def _interval(self, low: float, high: float, node: int) -> Interval:
        if low > high:
            self.report("SK082", node, lower=low, upper=high)
            return (low, high) if self.context.dart else UNLIMITED
        return (low, high)

    # --- init_pos and init_vel ------------------------------------------------------------------------

    def _initial(self, joint: Joint, node: Node, element: str, field: str) -> None:
        values: tuple[float, ...] = node.fields[element]
        count = len(joint.motion)
        if len(values) != count:
            self.report(
                "SK080", node.number, element, element=element, found=len(values), kind=joint.kind, expected=count
            )
            if not (self.context.dart and count == 1):
                node.spoil(element)
                return
            values = values[:1]
        if any(values):
            for dof, value in zip(joint.dofs, values, strict=True):
                setattr(dof, field, value)

    # --- dof ------------------------------------------------------------------------------------------

    def _dof_elements(self, joint: Joint, node: Node) -> None:
        seen: set[int] = set()
        initial = {
            "position" if name == "init_pos" else "velocity" for name in ("init_pos", "init_vel") if name in node.fields
        }
        for element in node.nodes("dof"):
            index = self._index(joint, element)
            if index is None:
                continue
            if index in seen:
                self.report("SK086", element.number, index=index)
            dof = joint.dofs[index]
            # A second dof may say otherwise than the first: that has been reported as such.
            elsewhere = NOTHING if index in seen else dof.given | initial
            seen.add(index)
            self._dof(joint, index, dof, element, elsewhere)

    def _index(self, joint: Joint, element: Node) -> int | None:
        count = len(joint.motion)
        text: str | None = element.fields.get("@local_index")
        if text is None:
            if count == 1:
                return 0
            self.report("SK084.missing", element.number, kind=joint.kind, count=count, last=count - 1)
            return None
        token = text.strip()
        if token.isascii() and token.isdigit() and len(token) < 10 and int(token) < count:
            return int(token)
        self.report("SK084.range", element.number, attribute="local_index", found=text, last=count - 1)
        return None

    def _dof(self, joint: Joint, index: int, dof: Dof, element: Node, elsewhere: frozenset[str]) -> None:
        fields = element.fields
        stated: set[str] = set()
        before: dict[str, Any] = {field: getattr(dof, field) for field in elsewhere}
        dof.document, dof.node = DOCUMENT, element.number
        if "@name" in fields:
            dof.name = fields["@name"]
        for state in _STATES:
            if state in fields:
                self._state(dof, state, fields[state], stated)
        for name, field in _DYNAMICS.items():
            if name in fields:
                self._set_dynamics(dof, element, name, field, fields[name], "", stated)
        for field in sorted(stated & elsewhere):
            after = getattr(dof, field)
            if after != before[field]:
                self._disagreement(joint, index, element, field, after, before[field])
        dof.given = dof.given | stated

    def _state(self, dof: Dof, state: str, node: Node, stated: set[str]) -> None:
        fields = node.fields
        if "@initial" in fields:
            setattr(dof, state, fields["@initial"])
            stated.add(state)
        if "@lower" in fields or "@upper" in fields:
            limits = f"{state}_limits"
            low, high = getattr(dof, limits)
            interval = self._interval(fields.get("@lower", low), fields.get("@upper", high), node.number)
            setattr(dof, limits, interval)
            stated.add(limits)

    def _disagreement(self, joint: Joint, index: int, element: Node, field: str, value: Any, other: Any) -> None:
        place = {"position": "init_pos", "velocity": "init_vel"}.get(field, AXES[min(index, 2)])
        self.report(
            "SK085",
            element.number,
            element=field.replace("_", " "),
            dof=joint.dof_names[index],
            value=_shown(value),
            other=_shown(other),
            place=place,
        )

    # --- checks ---------------------------------------------------------------------------------------

    def _check(self, joint: Joint) -> None:
        dofs = joint.dofs
        if any(dof.position_limits != UNLIMITED for dof in dofs):
            if joint.kind not in NOT_IN_DART:
                self.report("SK089", joint.node, joint=joint.name)
            self._check_initial_positions(joint)
        if joint.kind in ("ball", "free") and any(dof.stiffness for dof in dofs):
            self.report("SK092", joint.node, kind=joint.kind)
        if joint.kind == "euler" and abs(abs(dofs[1].position) - pi / 2) < _SINGULARITY_TOLERANCE:
            self.report("SK094", joint.node, found=dofs[1].position)

    def _check_initial_positions(self, joint: Joint) -> None:
        for name, dof in zip(joint.dof_names, joint.dofs, strict=True):
            low, high = dof.position_limits
            if low <= high and not low <= dof.position <= high:
                self.report("SK081", joint.node, found=dof.position, dof=name, lower=low, upper=high)


_SAYS_NOTHING = frozenset({"xyz", "pitch", "thread_pitch"})
"""What an axis may hold that is no business of a degree of freedom."""


def _shown(value: Any) -> str:
    return " to ".join(f"{v:g}" for v in value) if isinstance(value, tuple) else f"{value:g}"
