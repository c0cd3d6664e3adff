"""Reads the degrees of freedom of SKEL joints.

The sources are `axis`, then `init_pos` and `init_vel`, then `dof`; later ones take precedence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from math import pi
from typing import Any

from exoskel.formats.skel.context import DOCUMENT, SkelContext
from exoskel.formats.skel.vocabulary import DYNAMICS, INITIAL, JOINT_ELEMENT
from exoskel.scene.edit_tracking import TrackedList, set_field
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
_DAMPING = {"damping": DYNAMICS["damping"]}
_BOUNDS = ("lower", "upper")
_BOUND_ATTRIBUTES = ("@lower", "@upper")
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
        fields, count = node.fields, len(joint.motion)
        if not count:
            return
        positions = self._read_initial(joint, node, "init_pos", count) if "init_pos" in fields else None
        velocities = self._read_initial(joint, node, "init_vel", count) if "init_vel" in fields else None
        states_values = bool(positions or velocities or "dof" in fields)
        dofs: list[Dof] = []
        for number in range(count):
            position = positions[number] if positions else 0.0
            velocity = velocities[number] if velocities else 0.0
            axis: Node | None = fields.get(AXES[number]) if number < axes else None
            if axis is not None and (axis.invalid or not AXIS_DYNAMICS.isdisjoint(axis.fields)):
                dof = Dof(document=DOCUMENT, node=axis.number, position=position, velocity=velocity)
                self._read_axis(dof, axis)
                states_values = True
            else:
                dof = Dof(document=DOCUMENT, node=joint.node, position=position, velocity=velocity)
            dofs.append(dof)
        if states_values:
            set_field(joint, "_dofs", TrackedList(dofs))
            if "dof" in fields:
                self._read_dof_elements(joint, node)
            self._check_joint(joint, node, dofs)
        if self.context.dart and joint.kind == "planar":
            joint.dofs[2].name = joint.dofs[2].name or PLANAR_THIRD

    # --- axis -----------------------------------------------------------------------------------------

    def _read_axis(self, dof: Dof, axis: Node) -> None:
        stated: list[str] = []
        fields = axis.fields
        if axis.invalid or "damping" in fields:
            self._read_dynamics(dof, axis, _DAMPING, stated)
        dynamics: Node | None = fields.get("dynamics")
        if dynamics is not None:
            self._read_dynamics(dof, dynamics, DYNAMICS, stated)
        limit: Node | None = fields.get("limit")
        if limit is not None:
            self._read_interval(dof, "position_limits", limit, _BOUNDS, UNLIMITED, stated)
            if not self.context.dart and (limit.invalid or not _SYMMETRIC_LIMITS.keys().isdisjoint(limit.fields)):
                self._read_symmetric_limits(dof, limit, stated)
        set_field(dof, "given", _set_of_fields(tuple(stated)))

    def _read_dynamics(self, dof: Dof, node: Node, elements: Mapping[str, str], stated: list[str]) -> None:
        """Set the dynamics that a node states; adds the names of the fields to those that are stated.

        `elements` are those that count, with their fields.
        """
        for element, value in node.fields.items():
            field = elements.get(element)
            if field is None:
                continue
            if dof.repaired:
                dof.repaired -= {field}
            is_negative = not value >= 0.0 and field in _NEVER_NEGATIVE
            if is_negative:
                self.report("SK083", node.number, element, element=element, found=value)
                dof.repaired |= {field}
            set_field(dof, field, 0.0 if is_negative else value)
            stated.append(field)
        if node.invalid:
            dof.repaired |= {elements[element] for element in node.invalid if element in elements}

    def _read_symmetric_limits(self, dof: Dof, limit: Node, stated: list[str]) -> None:
        for element, field in _SYMMETRIC_LIMITS.items():
            if element in limit.fields:
                bound = abs(limit.fields[element])
                setattr(dof, field, (-bound, bound))
                stated.append(field)
            elif limit.is_invalid(element):
                dof.repaired |= {field}

    def _read_interval(
        self, dof: Dof, field: str, node: Node, ends: tuple[str, str], before: Interval, stated: list[str]
    ) -> None:
        """Set the bounds that a node states; adds the field to those that are stated if there are any."""
        if node.invalid and not node.invalid.isdisjoint(ends):
            dof.repaired |= {field}
        low, high = node.fields.get(ends[0]), node.fields.get(ends[1])
        if low is None or high is None:
            if low is None and high is None:
                return
            low, high = before[0] if low is None else low, before[1] if high is None else high
        if low > high:
            self.report("SK082", node.number, lower=low, upper=high)
            if not self.context.dart:
                low, high = UNLIMITED
                dof.repaired |= {field}
        set_field(dof, field, (low, high))
        stated.append(field)

    # --- init_pos and init_vel ------------------------------------------------------------------------

    def _read_initial(self, joint: Joint, node: Node, element: str, count: int) -> tuple[float, ...] | None:
        """The initial positions or velocities; None if they are invalid or all zero."""
        values: tuple[float, ...] = node.fields[element]
        if len(values) != count:
            self.report(
                "SK080", node.number, element, element=element, found=len(values), kind=joint.kind, expected=count
            )
            if not (self.context.dart and count == 1):
                node.mark_invalid(element)
                return None
            values = values[:1]
        return values if any(values) else None

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
        stated: list[str] = []
        self._read_dynamics(dof, element, DYNAMICS, stated)
        for state in DOF_STATES:
            if state in fields:
                self._read_state(dof, state, fields[state], stated)
        for field in sorted(elsewhere.intersection(stated)):
            after = getattr(dof, field)
            if after != before[field]:
                self._report_disagreement(joint, index, element, field, after, before[field])
        dof.given = dof.given.union(stated)

    def _read_state(self, dof: Dof, state: str, node: Node, stated: list[str]) -> None:
        limits = f"{state}_limits"
        self._read_interval(dof, limits, node, _BOUND_ATTRIBUTES, getattr(dof, limits), stated)
        if "@initial" in node.fields:
            setattr(dof, state, node.fields["@initial"])
            dof.repaired -= {state}
            stated.append(state)
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
        """Report limits that DART does not enforce, and initial positions outside of them."""
        bounded = [dof for dof in dofs if dof.position_limits != UNLIMITED]
        limited = ["position"] if bounded else []
        if "dof" in node.fields and _has_velocity_limits(node.nodes("dof")):
            limited.append("velocity")
        if limited and joint.kind not in NOT_IN_DART:
            key = "SK089.servo" if joint.actuator == "servo" else "SK089"
            self.report(key, joint.node, joint=joint.name, kinds=" and ".join(limited))
        if bounded:
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


def _has_velocity_limits(elements: list[Node]) -> bool:
    """Whether a `dof` states velocity limits; DART does not store those of `limit/velocity`."""
    velocities = [element.fields["velocity"] for element in elements if "velocity" in element.fields]
    return any("@lower" in velocity.fields or "@upper" in velocity.fields for velocity in velocities)


@lru_cache(maxsize=256)
def _set_of_fields(fields: tuple[str, ...]) -> frozenset[str]:
    """Files repeat a few combinations over and over, so the sets are shared."""
    return frozenset(fields)


def _format_value(value: Any) -> str:
    return " to ".join(f"{v:g}" for v in value) if isinstance(value, tuple) else f"{value:g}"
