"""Read joints from the prims of a stage: which body is the parent, frames in m, and values in N, kg and degrees."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from math import degrees, inf, isfinite, radians
from typing import Any

import numpy as np
from msgspec import Struct, structs

from exoskel import spatial
from exoskel.formats.usd.joint_axes import ROTATIONS, TRANSLATIONS, plan
from exoskel.formats.usd.joint_writer import MOTOR_DAMPING
from exoskel.formats.usd.mapping import CONE_ANGLES
from exoskel.formats.usd.reader.joints import GENERIC, JointSource, free_axes
from exoskel.formats.usd.reader.passive_forces import add_passive_forces, finite, passive_damping, polynomial
from exoskel.formats.usd.reader.prims import JointEnds, ModelSource, PrimIndex, Values
from exoskel.formats.usd.reader.shape_prims import ReportProblem
from exoskel.formats.usd.reader.stage import StagePrim
from exoskel.scene.joint import Drive, Joint, erp_cfm_from_spring
from exoskel.spatial import Array

_AXES = (*TRANSLATIONS, *ROTATIONS)
_DRIVE_WORDS = ("stiffness", "damping")
_TYPES = {"angular": "PhysicsRevoluteJoint", "linear": "PhysicsPrismaticJoint"}
_ZERO, _IDENTITY = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
EQUALITY, _TARGET = "MjcEqualityJointAPI", "mjc:target"
_SAME = 1e-5
"""The relative difference of two numbers in single precision that are the same."""


class _AxisPermutation(Struct, frozen=True, eq=False):
    """New names of axes, after the frames of a joint were rotated by `rotation`."""

    names: Mapping[str, str]
    rotation: Array


def _permutation(columns: str) -> _AxisPermutation:
    """The permutation whose new x, y and z are these old axes; a minus reverses the last."""
    letters, sign = columns.replace("-", ""), -1.0 if "-" in columns else 1.0
    rotation = np.stack([np.eye(3)["XYZ".index(letter)] for letter in letters], axis=1)
    rotation[:, 2] *= sign
    names = {
        f"{kind}{old}": f"{kind}{new}" for kind in ("trans", "rot") for new, old in zip("XYZ", letters, strict=True)
    }
    return _AxisPermutation(names, rotation)


_PERMUTATIONS = tuple(map(_permutation, ("XYZ", "YZX", "ZXY", "XZ-Y")))
"""Permutations that map free axes to those of a kind of joint."""


class JointPrimReader:
    """The joints of one stage."""

    def __init__(self, index: PrimIndex, numbers: Mapping[str, int], report: ReportProblem) -> None:
        self.index = index
        self.numbers = numbers
        """The numbers of bodies by path."""
        self.report = report
        self.ends: Mapping[str, JointEnds] = {}
        """The bodies of joints that have others than they state, by path."""
        self._read: set[str] = set()
        """The paths of the joints of the model."""

    def sources(self, model: ModelSource) -> list[JointSource]:
        """The joints of a model; those that close loops are marked as such."""
        self.ends = model.ends
        bodies = [body.path for body in model.bodies]
        edges = [edge for joint in model.joints if (edge := self._edge(joint)) is not None]
        self._read = {joint.path for joint, *_ in edges}
        return [
            source
            for joint, parent, child, is_loop in _orient(edges, bodies, model.root)
            if (source := self._source(joint, parent, child, is_loop=is_loop)) is not None
        ]

    def _edge(self, joint: StagePrim) -> _Edge | None:
        node = self.index.node(joint)
        if joint.values.get("physics:jointEnabled") is False:
            self.report("US106.disabled", node, name=joint.title)
            return None
        if joint.type == "PhysicsDistanceJoint":
            self.report("US106.distance", node, name=joint.title)
            return None
        if joint.path in self.ends:
            changed = self.ends[joint.path]
            return (joint, changed.first, changed.second, False)
        ends: list[str] = []
        for side in "01":
            path = joint.target(f"physics:body{side}")
            if path and path not in self.index.by_path:
                self.report("US106.body", node, attribute=f"physics:body{side}", name=joint.title, path=path)
                return None
            body = self.index.body_of(path) if path else None
            owner = path if path in self.numbers else body.path if body is not None else ""
            ends.append(owner if owner in self.numbers else "")
        if ends[0] == ends[1]:
            self.report("US106.same", node, name=joint.title)
            return None
        return (joint, ends[0], ends[1], bool(joint.values.get("physics:excludeFromArticulation", False)))

    # --- values ---------------------------------------------------------------------------------------

    def _source(self, joint: StagePrim, parent: str, child: str, *, is_loop: bool) -> JointSource | None:
        found = self._values(joint)
        kind = joint.type
        if kind == "PhysicsJoint":
            kind = self._fit(joint, found)
        changed = self.ends.get(joint.path)
        first = self._body_at(joint, "0") if changed is None else changed.first
        is_reversed = first == child
        if is_reversed and kind == "PhysicsJoint":
            self.report("US106.reversed", self.index.node(joint), name=joint.title)
        leader, multiplier, offset = self._mimic(joint)
        self._report_unread(joint, leader)
        found |= {"newton:mimicCoef1": multiplier, "newton:mimicCoef0": offset} if leader else {}
        return JointSource(
            path=joint.path,
            name=joint.title,
            type=kind,
            found=found,
            custom=joint.custom,
            parent=self.numbers[parent] if parent else -1,
            child=self.numbers[child],
            leader=leader,
            follows=_follows(joint),
            polynomial=polynomial(joint),
            is_reversed=is_reversed,
            is_loop=is_loop,
            node=self.index.node(joint),
        )

    def _report_unread(self, joint: StagePrim, leader: str) -> None:
        node = self.index.node(joint)
        if leader and leader not in self._read:
            self.report("US106.mimic", node, attribute="newton:mimicJoint", name=joint.title, path=leader)
        for name in CONE_ANGLES:
            if 0.0 <= joint.values.get(name, -1.0) < inf:
                self.report("US106.cone", node, attribute=name, name=joint.title)

    def _body_at(self, joint: StagePrim, side: str) -> str:
        path = joint.target(f"physics:body{side}")
        if not path or path in self.numbers:
            return path
        body = self.index.body_of(path)
        return body.path if body is not None and body.path in self.numbers else ""

    def _values(self, joint: StagePrim) -> Values:
        found = dict(joint.values)
        is_inner = joint.path in self.ends and self.ends[joint.path].is_inner
        for side in "01":
            frame = self._frame(joint, "1" if is_inner else side)
            found[f"physics:localPos{side}"] = tuple(frame[:3, 3].tolist())
            found[f"physics:localRot{side}"] = tuple(spatial.quaternion(frame[:3, :3]).tolist())
        metre, kilogram = self.index.metre, self.index.kilogram
        is_linear = joint.type == "PhysicsPrismaticJoint"
        torque = kilogram * metre**2
        for name, value in joint.values.items():
            if isinstance(value, bool | str | list):
                continue
            head, _, last = name.rpartition(":")
            linear = is_linear or ":linear" in head or ":trans" in head
            if last in (
                "lowerLimit",
                "upperLimit",
                "low",
                "high",
                "targetPosition",
                "targetVelocity",
                "position",
                "velocity",
            ):
                found[name] = value * metre if linear and isfinite(value) else value
            elif last in ("stiffness", "damping"):
                found[name] = value * (kilogram if linear else torque)
            elif last == "maxForce":
                found[name] = value * (kilogram * metre if linear else torque)
        add_passive_forces(found, joint, self.index, is_linear=is_linear)
        if is_linear and "newton:mimicCoef0" in found:
            found["newton:mimicCoef0"] *= metre
        for name in [name for name in found if name.endswith(":physics:stiffness")]:
            found.setdefault(name.replace("stiffness", "damping"), 0.0)
        for name in [name for name in found if name.endswith(":physics:damping")]:
            found.setdefault(name.replace("damping", "stiffness"), 0.0)
        return found

    def _frame(self, joint: StagePrim, side: str) -> Array:
        """The frame of a joint in a body, or in the world, in m."""
        position = np.array(joint.values.get(f"physics:localPos{side}", _ZERO), dtype=np.float64)
        quaternion = joint.values.get(f"physics:localRot{side}", _IDENTITY)
        path = joint.target(f"physics:body{side}")
        rotation = spatial.quaternion_matrix(quaternion if any(quaternion) else _IDENTITY)
        prim = self.index.by_path.get(path)
        if prim is None:
            return spatial.transform(rotation, position * self.index.metre)
        place = self.index.placement(prim)
        local = spatial.transform(rotation, place.stretch @ position)
        owner = self._body_at(joint, side)
        if owner == path:
            return local
        outer = place.rigid @ local
        return outer if not owner else spatial.inverse(self.index.placement(self.index.by_path[owner]).rigid) @ outer

    def _mimic(self, joint: StagePrim) -> tuple[str, float, float]:
        """The path of the joint that this one follows, the factor, and the offset in degrees or m."""
        values = joint.values
        unit = self.index.metre if joint.type == "PhysicsPrismaticJoint" else 1.0
        if _follows(joint):  # a polynomial of a higher degree
            return "", 1.0, 0.0
        if (leader := joint.target("newton:mimicJoint")) and values.get("newton:mimicEnabled", True):
            offset = unit * float(values.get("newton:mimicCoef0", 0.0))
            return leader, float(values.get("newton:mimicCoef1", 1.0)), offset
        if (leader := joint.target(_TARGET)) and EQUALITY in joint.apis:
            offset, factor, *_ = polynomial(joint)
            return leader, factor, unit * offset if joint.type == "PhysicsPrismaticJoint" else degrees(offset)
        for name, paths in joint.targets.items():
            if name.startswith("physxMimicJoint:") and name.endswith(":referenceJoint") and paths:
                head = name.removesuffix(":referenceJoint")
                # PhysX: position + gearing · reference + offset = 0
                return (
                    paths[0],
                    -float(values.get(f"{head}:gearing", 1.0)),
                    -unit * float(values.get(f"{head}:offset", 0.0)),
                )
        return "", 1.0, 0.0

    # --- generic joints -------------------------------------------------------------------------------

    def _fit(self, joint: StagePrim, found: Values) -> str:
        """Rotate a generic joint so that its free axes are those of a kind of joint; returns the schema."""
        moving = free_axes(found)
        if not is_supported(moving):
            self.report("US106.axes", self.index.node(joint), name=joint.title, axes=", ".join(moving))
            for name in set(moving) - set(ROTATIONS):
                found |= {f"limit:{name}:physics:low": 1.0, f"limit:{name}:physics:high": -1.0}
            moving = free_axes(found)
        permutation = _find_permutation(moving)
        if len(moving) == 1:
            return _single_axis(moving[0], found)
        if permutation is None:
            return "PhysicsFixedJoint"
        _rename_axes(found, permutation)
        return "PhysicsJoint"


def _follows(joint: StagePrim) -> str:
    """The joint that a joint follows by a polynomial that a mimic cannot express; empty if it has no such joint."""
    if EQUALITY not in joint.apis or not any(polynomial(joint)[2:]):
        return ""
    return joint.target(_TARGET) or joint.target("newton:mimicJoint")


def is_supported(moving: tuple[str, ...]) -> bool:
    """Whether the free axes of a generic joint are those of a joint of a scene."""
    return len(moving) < 2 or _find_permutation(moving) is not None


def _find_permutation(moving: tuple[str, ...]) -> _AxisPermutation | None:
    """The permutation after which the free axes are those of a kind of joint."""
    return next((one for one in _PERMUTATIONS if _renamed(moving, one) in GENERIC), None)


def _renamed(moving: tuple[str, ...], permutation: _AxisPermutation) -> tuple[str, ...]:
    """The names of free axes after a permutation; empty if it changes the order of rotations."""
    new = [permutation.names[name] for name in moving]
    rotations = [name for name in new if name in ROTATIONS]
    return tuple(sorted(new, key=_AXES.index)) if rotations == sorted(rotations) else ()


def _single_axis(name: str, found: Values) -> str:
    """Change the values of a generic joint with one free axis to those of a revolute or prismatic joint."""
    kind = "angular" if name in ROTATIONS else "linear"
    found["physics:axis"] = name[-1]
    for side, last in (("lower", "low"), ("upper", "high")):
        found[f"physics:{side}Limit"] = found.get(f"limit:{name}:physics:{last}", -inf if side == "lower" else inf)
    _move_values(found, {name: kind})
    return _TYPES[kind]


def _rename_axes(found: Values, permutation: _AxisPermutation) -> None:
    if permutation is _PERMUTATIONS[0]:
        return
    _move_values(found, dict(permutation.names))
    if permutation is _PERMUTATIONS[3]:
        _reverse_values(found, "rotZ")
        _reverse_values(found, "transZ")
    for side in "01":
        rotation = spatial.quaternion_matrix(found[f"physics:localRot{side}"]) @ permutation.rotation
        found[f"physics:localRot{side}"] = tuple(spatial.quaternion(rotation).tolist())


def _move_values(found: Values, names: Mapping[str, str]) -> None:
    moved: dict[str, Any] = {}
    for key in [key for key in found if key.startswith(("limit:", "drive:", "state:"))]:
        head, name, rest = key.split(":", 2)
        if name in names:
            moved[f"{head}:{names[name]}:{rest}"] = found.pop(key)
    found |= moved


def _reverse_values(found: Values, name: str) -> None:
    low, high = (found.get(f"limit:{name}:physics:{side}") for side in ("low", "high"))
    if low is not None and high is not None and low <= high:
        found |= {f"limit:{name}:physics:low": -high, f"limit:{name}:physics:high": -low}
    for key in (f"drive:{name}:physics:targetPosition", f"drive:{name}:physics:targetVelocity"):
        if key in found:
            found[key] = -found[key]


# --- the tree --------------------------------------------------------------------------------------------


_Edge = tuple[StagePrim, str, str, bool]
"""A joint, the paths of its bodies (empty: the world), and whether it is outside of the tree."""


def _orient(edges: list[_Edge], bodies: list[str], root: str) -> Iterator[_Edge]:
    """Yield each joint with its parent and child, parents first; a joint to a body that has a parent is a loop."""
    around: dict[str, list[int]] = {}
    for number, (_, one, other, is_outside) in enumerate(edges):
        if not is_outside:
            around.setdefault(one, []).append(number)
            around.setdefault(other, []).append(number)
    reached, done = {""}, set[int]()
    children = {other for _, _, other, is_outside in edges if not is_outside}
    roots = [path for path in bodies if path not in children]
    for start in ("", *([root] if root else ()), *roots, *bodies):
        if start in reached and start:
            continue
        reached.add(start)
        for number, here, child in _walk(edges, around, reached, start):
            done.add(number)
            yield edges[number][0], here, child, False
    for number, (joint, one, other, _) in enumerate(edges):
        if number not in done:
            yield (joint, one, other, True) if other else (joint, other, one, True)


def _walk(
    edges: list[_Edge], around: dict[str, list[int]], reached: set[str], start: str
) -> Iterator[tuple[int, str, str]]:
    """Yield joints from a body to bodies that are not reached yet: the number of the joint, parent and child.

    Joints are followed from their first to their second body, and backwards only where no other way is left.
    """
    forward, backward = [start], deque[str]()
    while forward or backward:
        is_forward = bool(forward)
        here = forward.pop(0) if forward else backward.popleft()
        if is_forward:
            backward.append(here)
        for number in around.get(here, ()):
            _, one, other, _ = edges[number]
            child = other if here == one else one
            if child not in reached and (here == one) == is_forward:
                reached.add(child)
                forward.append(child)
                yield number, here, child
                if not is_forward:
                    backward.appendleft(here)
                    break


# --- motors, soft stops and suspensions ------------------------------------------------------------------


class DriveReader:
    """Sets what a scene states as ODE's parameters of axes, and reports drives that a scene does not support."""

    def __init__(self, time_step: float, report: ReportProblem) -> None:
        self.time_step = time_step
        self.report = report

    def read(self, joint: Joint, source: JointSource) -> None:
        axis_plan = plan(joint)
        drives = [Drive() for _ in joint.motion]
        for freedom in axis_plan.freedoms if axis_plan is not None else ():
            head = f"drive:{freedom.name}:physics"
            found = {word: source.found.get(f"{head}:{word}") for word in _DRIVE_WORDS}
            stiffness, damping = float(found["stiffness"] or 0.0), float(found["damping"] or 0.0)
            if not stiffness and not damping:
                continue
            unit = radians(1.0) if freedom.is_rotation else 1.0
            if freedom.coordinate is None:
                erp, cfm = erp_cfm_from_spring(stiffness / unit, damping / unit, self.time_step)
                drives[0] = structs.replace(drives[0], suspension_erp=erp, suspension_cfm=cfm)
                continue
            motor = self._motor(joint, source, head, unit)
            if motor is not None:
                velocity, most = motor
                drives[freedom.coordinate] = Drive(velocity=freedom.sign * velocity, max_force=most)
                kind = joint.motion[freedom.coordinate]
                joint.dofs[freedom.coordinate].damping = passive_damping(source.found, kind)
        stops = self._stops(joint, source)
        if any(drive != Drive() for drive in drives) or stops:
            joint.drives = tuple(structs.replace(drive, **stops) for drive in drives)

    def _motor(self, joint: Joint, source: JointSource, head: str, unit: float) -> tuple[float, float] | None:
        """The velocity and largest force of a motor; None for a spring and damper."""
        found = source.found
        stiffness, damping = (float(found.get(f"{head}:{word}", 0.0)) for word in ("stiffness", "damping"))
        if found.get(f"{head}:type") == "acceleration":
            self.report("US107.acceleration", source.node, attribute=f"{head}:type", name=joint.name)
        speed = unit * float(found.get(f"{head}:targetVelocity", 0.0))
        most = float(found.get(f"{head}:maxForce", inf))
        is_motor = abs(damping / (unit * MOTOR_DAMPING) - 1.0) <= _SAME
        if not stiffness and (speed or is_motor) and isfinite(most):
            if not is_motor:
                self.report("US107.damper", source.node, attribute=f"{head}:damping", name=joint.name)
            return speed, most
        if speed or is_motor:
            key = "targetVelocity" if speed else "damping"
            self.report("US107.velocity", source.node, attribute=f"{head}:{key}", name=joint.name)
        elif isfinite(most):
            self.report("US107.force", source.node, attribute=f"{head}:maxForce", name=joint.name)
        return None

    def _stops(self, joint: Joint, source: JointSource) -> dict[str, float]:
        """The softness of the limits of all axes."""
        unit = radians(1.0) if "r" in joint.motion else 1.0
        stiffness, damping = (
            finite(source.found.get(f"newton:limit{word}", 0.0)) / unit for word in ("Stiffness", "Damping")
        )
        if not stiffness and not damping:
            return {}
        erp, cfm = erp_cfm_from_spring(stiffness, damping, self.time_step)
        return {"stop_erp": erp, "stop_cfm": cfm}
