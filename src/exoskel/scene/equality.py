"""Equality constraints of a world: between points, frames, coordinates of joints, and lengths of tendons."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal, get_args

from msgspec import structs

from exoskel.diagnostics import ExoskelError
from exoskel.scene.edit_tracking import CheckedValue, checks_values
from exoskel.scene.field_checks import ConvertedField, NumberSequence, initially
from exoskel.scene.item import qualified_name
from exoskel.scene.model import Model
from exoskel.scene.pose import IDENTITY, ZERO, Pose, Vector, vector_from_array
from exoskel.scene.solver_parameters import DEFAULT_PARAMETERS, SolverParameters
from exoskel.scene.tendon import Tendon, TendonParts, part_path

EqualityKind = Literal["connect", "weld", "joint", "tendon"]
"""What a constraint keeps equal, with the names of MJCF: points, frames, coordinates of joints, lengths of tendons."""
EqualityTarget = Literal["body", "site", "joint", "tendon"]
Polynomial = tuple[float, float, float, float, float]
IDENTITY_POLYNOMIAL: Polynomial = (0.0, 1.0, 0.0, 0.0, 0.0)

_TARGETS: dict[EqualityKind, tuple[EqualityTarget, ...]] = {
    "connect": ("body", "site"),
    "weld": ("body", "site"),
    "joint": ("joint",),
    "tendon": ("tendon",),
}


def equality_targets(kind: EqualityKind) -> tuple[EqualityTarget, ...]:
    """What constraints of a kind may connect."""
    return _TARGETS.get(kind, ("body",))


class Equality(CheckedValue, frozen=True):
    """A soft constraint of MuJoCo between a `target` and an `other`; `kind` has the names of MJCF.

    Both are paths, `model/body`, `model/body/marker` or `model/joint`, or names of tendons.  Without `other`, a body is
    connected to the world, and a joint or tendon is kept at a constant.

    `connect` keeps two points together: two sites, or `anchor` in the frame of the target and the point of the other
    body that is there at zero joint positions.  `weld` keeps two frames together: two sites, or the frame `pose` in the
    target and the frame of the other body, moved to `anchor` in that body; without a `pose`, it is that at zero joint
    positions.  `joint` and `tendon` keep the position or length of the target at a `polynomial` of that of the other,
    both measured from zero joint positions; `coordinate` and `other_coordinate` are those of the joints.

    Loops and mimics that other programs have, too, are joints: see `Joint.loop` and `Joint.mimic`.
    """

    name: str
    kind: EqualityKind
    target_kind: EqualityTarget = "body"
    target: str = ""
    other: str = ""
    anchor: ConvertedField[Vector, NumberSequence] = initially(ZERO)
    pose: Pose | None = None
    polynomial: ConvertedField[Polynomial, NumberSequence] = initially(IDENTITY_POLYNOMIAL)
    coordinate: int = 0
    other_coordinate: int = 0
    active: bool = True
    solver: SolverParameters = DEFAULT_PARAMETERS

    def __post_init__(self) -> None:
        super().__post_init__()
        if checks_values() and (problem := self.problem):
            raise ExoskelError(f"equality constraint {self.name!r} {problem}")

    @property
    def problem(self) -> str:
        """What is wrong with it as a whole, or an empty string."""
        if self.kind not in get_args(EqualityKind):
            return f"is of the unknown kind {self.kind!r}"
        if not self.name:
            return "must have a name"
        known = _TARGETS[self.kind]
        if self.target_kind not in known:
            return f"connects a {self.target_kind}, but a {self.kind} connects a {' or '.join(known)}"
        if not self.target and not (self.target_kind == "body" and self.other):
            return "must have a target"
        if self.target_kind == "site" and not self.other:
            return "must have two sites"
        if self.target == self.other and (self.coordinate == self.other_coordinate or self.target_kind != "joint"):
            return f"connects {self.target!r} with itself"
        return ""

    def with_paths(self, body_path: Callable[[str], str], joint_path: Callable[[str], str]) -> Equality:
        """The constraint with other paths of bodies and joints."""
        change = {
            "body": lambda path: body_path(path) if path else "",
            "site": lambda path: part_path(path, body_path),
            "joint": lambda path: joint_path(path) if path else "",
        }.get(self.target_kind)
        if change is None:
            return self
        return structs.replace(self, target=change(self.target), other=change(self.other))

    def in_rotated_world(self, rotation: Pose) -> Equality:
        """The constraint in a world that is rotated about its origin: what is in the frame of the world changes."""
        if self.target_kind != "body" or (self.target and self.other):
            return self
        anchor_body = self.target if self.kind == "connect" else self.other
        anchor = self.anchor if anchor_body else vector_from_array(rotation.apply(self.anchor))
        pose = self.pose
        if pose is not None:
            pose = pose @ rotation.inverse() if self.target else rotation @ pose
        return structs.replace(self, anchor=anchor, pose=pose)

    def with_tendons(self, names: dict[str, str]) -> Equality:
        """The constraint with other names of tendons."""
        if self.target_kind != "tendon":
            return self
        target, other = (names.get(one, one) for one in (self.target, self.other))
        return structs.replace(self, target=target, other=other)

    def comparable(self, poses: Mapping[str, Pose]) -> tuple[object, ...]:
        """The values that matter for a constraint of its kind; `poses` are those of bodies at zero joint positions."""
        scale = self.solver.torque_scale if self.kind == "weld" else 1.0
        ends = (self.name, self.kind, self.target_kind, self.target, self.other, self.active)
        values: tuple[object, ...] = (*ends, self.solver.solref, self.solver.solimp, scale)
        match self.target_kind:
            case "site":
                return values
            case "joint" | "tendon":
                coordinates = (self.coordinate, self.other_coordinate) if self.target_kind == "joint" else ()
                polynomial = self.polynomial if self.other else self.polynomial[:1]
                return (*values, polynomial, *(coordinates if self.other else coordinates[:1]))
        if self.kind == "connect":
            return (*values, self.anchor)
        zero = poses.get(self.target, IDENTITY).inverse() @ poses.get(self.other, IDENTITY) @ Pose(self.anchor)
        return (*values, self.anchor, zero if self.pose is None else self.pose)

    def __repr__(self) -> str:
        return f"Equality({self.name!r}, {self.kind}, {self.target!r}, {self.other!r})"


def equality_part(name: str) -> str:
    """How losses name an equality constraint of a world."""
    return f"equalities/{name}"


class EqualityTargets:
    """What the equality constraints of a world may connect."""

    def __init__(self, parts: TendonParts, tendons: Iterable[Tendon]) -> None:
        self.parts = parts
        self._bodies = {qualified_name(model.name, body.name) for model in parts.models for body in model.bodies}
        self._tendons = {one.name for one in tendons}

    def unknown(self, equality: Equality) -> list[str]:
        """The paths of a constraint that refer to nothing."""
        ends = ((equality.target, equality.coordinate), (equality.other, equality.other_coordinate))
        return [path for path, coordinate in ends if path and not self._is_known(equality, path, coordinate)]

    def _is_known(self, equality: Equality, path: str, coordinate: int) -> bool:
        match equality.target_kind:
            case "site":
                return path in self.parts.sites
            case "joint":
                joint = self.parts.joints.get(path)
                return joint is not None and 0 <= coordinate < joint.dof_count
            case "tendon":
                return path in self._tendons
        return path in self._bodies


def known_equalities(
    equalities: Iterable[Equality], models: Iterable[Model], tendons: Iterable[Tendon]
) -> list[Equality]:
    """The constraints that connect what exists."""
    every = list(equalities)
    targets = EqualityTargets(TendonParts(models if every else ()), tendons)
    return [one for one in every if not targets.unknown(one)]


def comparable_equalities(equalities: Iterable[Equality], models: Iterable[Model]) -> tuple[tuple[object, ...], ...]:
    """Equality constraints for comparisons of worlds."""
    found = list(equalities)
    needs_poses = any(one.kind == "weld" and one.target_kind == "body" for one in found)
    poses = {
        qualified_name(model.name, body.name): model.pose @ body.pose
        for model in (models if needs_poses else ())
        for body in model.bodies
    }
    return tuple(one.comparable(poses) for one in found)
