"""Reads the degrees of freedom of SKEL joints.

The sources are `axis`, then `init_pos` and `init_vel`, then `dof`; later ones take precedence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import pi
from typing import Any

from exoskel.formats.skel.context import DOCUMENT, SkelContext
from exoskel.formats.skel.vocabulary import DYNAMICS, INITIAL, JOINT_ELEMENT
from exoskel.scene.edit_tracking import set_field
from exoskel.scene.item import NO_FIELDS
from exoskel.scene.joint import DOF_STATES, UNLIMITED, Dof, Interval, Joint
from exoskel.source.flat_tree import Node

AXES = ("axis", "axis2", "axis3")

_AXIS_ELEMENT = JOINT_ELEMENT.children["axis"]
AXIS_DYNAMICS = frozenset(_AXIS_ELEMENT.rows_setting("dofs"))
"""Elements of an axis that concern its degree of freedom, not the joint."""
_SYMMETRIC_LIMITS = _AXIS_ELEMENT.children["limit"].part_of_each_row("dofs")
"""Elements of `limit` that hold for both directions, and the fields that they set."""
_INITIAL_ELEMENTS = {field: element for element, field in INITIAL.items()}
_INITIAL_ITEMS = tuple(INITIAL.items())
_DYNAMICS_ITEMS = tuple(DYNAMICS.items())
_DAMPING_ITEMS = (("damping", DYNAMICS["damping"]),)
_BOUNDS = ("lower", "upper")
_NEVER_NEGATIVE = ("damping", "friction", "stiffness")
NOT_IN_DART = ("screw", "translational2d")
"""Joints that DART parses and never builds."""

PLANAR_THIRD = "default"
"""The name that DART gives the third degree of freedom of a planar joint."""

_SINGULARITY_TOLERANCE = 1e-6


class DofReader:
    """Reads the degrees of freedom of all joints of one document."""

    def __init__(self, context: SkelContext) -> None:
        self.context = context
        self.report = context.report

    def read(self, joint: Joint, node: Node, axes: int) -> None:
        """Read the degrees of freedom of a joint; the first `axes` of them may have an axis element."""
        fields = node.fields
        for number, element in enumerate(AXES[:axes]):
            axis: Node | None = fields.get(element)
            if axis is not None and (axis.invalid or not AXIS_DYNAMICS.isdisjoint(axis.fields)):
                self._read_axis(joint.dofs[number], axis)
        for element, field in _INITIAL_ITEMS:
            if element in fields and joint.motion:
                self._read_initial(joint, node, element, field)
        if "dof" in fields and joint.motion:
            self._read_dof_elements(joint, node)
        if joint._dofs is not None:
            self._check_joint(joint, node, joint._dofs)
        if self.context.dart and joint.kind == "planar":
            joint.dofs[2].name = joint.dofs[2].name or PLANAR_THIRD

    # --- axis -----------------------------------------------------------------------------------------

    def _read_axis(self, dof: Dof, axis: Node) -> None:
        stated: set[str] = set()
        fields = axis.fields
        set_field(dof, "node", axis.number)
        if axis.invalid or "damping" in fields:
            self._read_dynamics(dof, axis, _DAMPING_ITEMS, stated)
        dynamics: Node | None = fields.get("dynamics")
        if dynamics is not None:
            self._read_dynamics(dof, dynamics, _DYNAMICS_ITEMS, stated)
        limit: Node | None = fields.get("limit")
        if limit is not None:
            self._read_limit(dof, limit, stated)
        set_field(dof, "given", frozenset(stated))

    def _read_dynamics(self, dof: Dof, node: Node, elements: Iterable[tuple[str, str]], stated: set[str]) -> None:
        """Set the dynamics that a node states; adds the names of the fields to those that are stated."""
        fields = node.fields
        for element, field in elements:
            if element in fields:
                value: float = fields[element]
                if dof.repaired:
                    dof.repaired -= {field}
                if field in _NEVER_NEGATIVE and not value >= 0.0:
                    self.report("SK083", node.number, element, element=element, found=value)
                    value = 0.0
                    dof.repaired |= {field}
                set_field(dof, field, value)
                stated.add(field)
            elif node.invalid and element in node.invalid:
                dof.repaired |= {field}

    def _read_limit(self, dof: Dof, limit: Node, stated: set[str]) -> None:
        self._read_interval(dof, "position_limits", limit, _BOUNDS, UNLIMITED, stated)
        if self.context.dart or not (limit.invalid or limit.fields.keys() & _SYMMETRIC_LIMITS.keys()):
            return
        for element, field in _SYMMETRIC_LIMITS.items():
            if element in limit.fields:
                bound = abs(limit.fields[element])
                setattr(dof, field, (-bound, bound))
                stated.add(field)
            elif limit.is_invalid(element):
                dof.repaired |= {field}

    def _read_interval(
        self, dof: Dof, field: str, node: Node, ends: tuple[str, str], before: Interval, stated: set[str]
    ) -> None:
        """Set the bounds that a node states; adds the field to those that are stated if there are any."""
        if node.invalid and not node.invalid.isdisjoint(ends):
            dof.repaired |= {field}
        first, last = ends
        if not (first in node.fields or last in node.fields):
            return
        low, high = node.fields.get(first, before[0]), node.fields.get(last, before[1])
        if low > high:
            self.report("SK082", node.number, lower=low, upper=high)
            if not self.context.dart:
                low, high = UNLIMITED
                dof.repaired |= {field}
        set_field(dof, field, (low, high))
        stated.add(field)

    # --- init_pos and init_vel ------------------------------------------------------------------------

    def _read_initial(self, joint: Joint, node: Node, element: str, field: str) -> None:
        values: tuple[float, ...] = node.fields[element]
        count = len(joint.motion)
        if len(values) != count:
            self.report(
                "SK080", node.number, element, element=element, found=len(values), kind=joint.kind, expected=count
            )
            if not (self.context.dart and count == 1):
                node.mark_invalid(element)
                return
            values = values[:1]
        if any(values):
            for dof, value in zip(joint.dofs, values, strict=True):
                set_field(dof, field, value)

    # --- dof ------------------------------------------------------------------------------------------

    def _read_dof_elements(self, joint: Joint, node: Node) -> None:
        seen: set[int] = set()
        initial = {field for name, field in INITIAL.items() if name in node.fields and not node.is_invalid(name)}
        for element in node.nodes("dof"):
            index = self._read_index(joint, element)
            if index is None:
                continue
            if index in seen:
                self.report("SK086", element.number, index=index)
            dof = joint.dofs[index]
            # Differences between two dof elements are already reported as a duplicate.
            elsewhere = NO_FIELDS if index in seen else dof.given | initial
            seen.add(index)
            self._read_dof(joint, index, dof, element, elsewhere)

    def _read_index(self, joint: Joint, element: Node) -> int | None:
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
        return _dart_index(text, count) if self.context.dart else None

    def _read_dof(self, joint: Joint, index: int, dof: Dof, element: Node, elsewhere: frozenset[str]) -> None:
        fields = element.fields
        before: dict[str, Any] = {field: getattr(dof, field) for field in elsewhere}
        dof.document, dof.node = DOCUMENT, element.number
        if "@name" in fields:
            dof.name = fields["@name"]
        stated: set[str] = set()
        self._read_dynamics(dof, element, _DYNAMICS_ITEMS, stated)
        for state in DOF_STATES:
            if state in fields:
                self._read_state(dof, state, fields[state], stated)
        for field in sorted(stated & elsewhere):
            after = getattr(dof, field)
            if after != before[field]:
                self._report_disagreement(joint, index, element, field, after, before[field])
        dof.given = dof.given | stated

    def _read_state(self, dof: Dof, state: str, node: Node, stated: set[str]) -> None:
        limits = f"{state}_limits"
        self._read_interval(dof, limits, node, ("@lower", "@upper"), getattr(dof, limits), stated)
        if "@initial" in node.fields:
            setattr(dof, state, node.fields["@initial"])
            dof.repaired -= {state}
            stated.add(state)
        elif node.is_invalid("@initial"):
            dof.repaired |= {state}

    def _report_disagreement(self, joint: Joint, index: int, element: Node, field: str, value: Any, other: Any) -> None:
        place = _INITIAL_ELEMENTS.get(field, AXES[min(index, 2)])
        self.report(
            "SK085",
            element.number,
            element=field.replace("_", " "),
            dof=joint.dof_names[index],
            value=_format_value(value),
            other=_format_value(other),
            place=place,
        )

    # --- checks ---------------------------------------------------------------------------------------

    def _check_joint(self, joint: Joint, node: Node, dofs: list[Dof]) -> None:
        limited = [kind for kind, has in _LIMITS if has(dofs, node)]
        if limited and joint.kind not in NOT_IN_DART:
            key = "SK089.servo" if joint.actuator == "servo" else "SK089"
            self.report(key, joint.node, joint=joint.name, kinds=" and ".join(limited))
        if "position" in limited:
            self._check_initial_positions(joint, dofs)
        if joint.kind in ("ball", "free") and any(dof.stiffness for dof in dofs):
            self.report("SK092", joint.node, kind=joint.kind)
        if joint.kind == "euler" and abs(abs(dofs[1].position) - pi / 2) < _SINGULARITY_TOLERANCE:
            self.report("SK094", joint.node, found=dofs[1].position)

    def _check_initial_positions(self, joint: Joint, dofs: list[Dof]) -> None:
        for number, dof in enumerate(dofs):
            low, high = dof.position_limits
            if low <= high and not low <= dof.position <= high:
                name = joint.dof_names[number]
                self.report("SK081", joint.node, found=dof.position, dof=name, lower=low, upper=high)


_C_INTEGER = re.compile(r"\s*(?:0[xX]([0-9a-fA-F]+)|([+-]?[0-9]+))")
_MOST_DIGITS = 12


def _dart_index(text: str, count: int) -> int | None:
    """The index that DART reads: the leading integer, or 0 for a single degree of freedom without one."""
    index = -1
    if match := _C_INTEGER.match(text):
        hexadecimal, decimal = match.groups()
        index = int(hexadecimal[:_MOST_DIGITS], 16) if hexadecimal else int(decimal[:_MOST_DIGITS])
    if index == -1 and count == 1:
        return 0
    return index if 0 <= index < count else None


def _has_position_limits(dofs: list[Dof], _: Node) -> bool:
    limits = [dof.position_limits for dof in dofs]
    return limits.count(UNLIMITED) != len(limits)


def _has_velocity_limits(_: list[Dof], node: Node) -> bool:
    """Whether a `dof` states velocity limits; DART does not store those of `limit/velocity`."""
    if "dof" not in node.fields:
        return False
    velocities = [element.fields["velocity"] for element in node.nodes("dof") if "velocity" in element.fields]
    return any("@lower" in velocity.fields or "@upper" in velocity.fields for velocity in velocities)


_LIMITS = (("position", _has_position_limits), ("velocity", _has_velocity_limits))
"""The kinds of limits that DART stores but does not enforce, and the test for each."""


def _format_value(value: Any) -> str:
    return " to ".join(f"{v:g}" for v in value) if isinstance(value, tuple) else f"{value:g}"
