"""The equality constraints of a scene as elements of MJCF, for files and for the engine."""

from __future__ import annotations

from collections.abc import Callable

from exoskel.formats.mjcf.model.joints import STIFF
from exoskel.formats.mjcf.model.tendons import tendon_name
from exoskel.formats.mjcf.tree import MjcfElement, Value
from exoskel.scene.equality import IDENTITY_POLYNOMIAL, Equality, EqualityTargets
from exoskel.scene.item import qualified_name
from exoskel.scene.joint import Joint
from exoskel.scene.pose import ZERO
from exoskel.scene.solver_parameters import DEFAULT_PARAMETERS, SolverParameters
from exoskel.scene.tendon import Tendon, TendonJoint, TendonParts
from exoskel.scene.world import World


class EqualityWriter:
    """Writes the equality constraints of a world; those that refer to something that does not exist are omitted.

    `sites` are the ids of the markers that they connect.
    """

    def __init__(self, world: World, tendons: list[Tendon]) -> None:
        self.equalities: list[Equality] = []
        self.sites: set[int] = set()
        if world.equalities:
            self._find_parts(world, tendons)

    def _find_parts(self, world: World, tendons: list[Tendon]) -> None:
        parts = TendonParts(world.models)
        targets = EqualityTargets(parts, tendons)
        self.equalities = [one for one in world.equalities if not targets.unknown(one)]
        ends = [path for one in self.equalities if one.target_kind == "site" for path in (one.target, one.other)]
        self.sites = {id(parts.sites[path][2]) for path in ends}

    @property
    def ambiguous_names(self) -> list[str]:
        """The names of the elements that the reader would take for loops or mimics of joints."""
        return [equality_name(one.name) for one in self.equalities if _looks_like_joint(one)]

    def add_equalities(self, root: MjcfElement, joint_name: Callable[[TendonJoint], str]) -> None:
        """Add all constraints to a document; `joint_name` is the name of the MuJoCo joint of a coordinate."""
        for one in self.equalities:
            element = root.child("equality").add(one.kind, name=equality_name(one.name), **_ends(one, joint_name))
            element.attributes |= _values(one)


def equality_name(name: str) -> str:
    """The name of the element of a constraint: a path of one name, which is not that of a loop."""
    return qualified_name(name)


def _looks_like_joint(one: Equality) -> bool:
    """Whether a constraint may be that of a loop, a mimic or a locked joint."""
    if not one.active or one.target_kind in ("site", "tendon"):
        return False
    return one.kind != "joint" or not one.other or not any(one.polynomial[2:])


def joint_solver(joint: Joint, stiff: tuple[float, float]) -> dict[str, Value]:
    """The solver parameters of the constraints of a joint; `stiff` is the smallest time constant of a constraint."""
    if joint.solver is None:
        return {"solref": stiff, "solimp": STIFF}
    return solver_attributes(joint.solver)


def solver_attributes(solver: SolverParameters) -> dict[str, Value]:
    """The parameters that differ from MuJoCo's defaults."""
    found: dict[str, Value] = {}
    if solver.solref != DEFAULT_PARAMETERS.solref:
        found["solref"] = solver.solref
    if solver.solimp != DEFAULT_PARAMETERS.solimp:
        found["solimp"] = solver.solimp
    return found


def _ends(one: Equality, joint_name: Callable[[TendonJoint], str]) -> dict[str, Value]:
    """The attributes that name the two ends."""
    match one.target_kind:
        case "joint":
            ends = [(one.target, one.coordinate), (one.other, one.other_coordinate)]
            names = [joint_name(TendonJoint(path, coordinate=number)) if path else "" for path, number in ends]
        case "tendon":
            names = [tendon_name(path) if path else "" for path in (one.target, one.other)]
        case "body":
            names = [one.target or "world", one.other]
        case "site":
            names = [one.target, one.other]
    return {f"{one.target_kind}{number}": name for number, name in enumerate(names, start=1) if name}


def _values(one: Equality) -> dict[str, Value]:
    """The other attributes that differ from MuJoCo's defaults."""
    found: dict[str, Value] = {}
    if one.kind in ("joint", "tendon"):
        if one.polynomial != IDENTITY_POLYNOMIAL:
            found["polycoef"] = one.polynomial
    elif one.target_kind == "body" and (one.kind == "connect" or one.anchor != ZERO):
        found["anchor"] = one.anchor
    if one.kind == "weld":
        if one.pose is not None and one.target_kind == "body":
            found["relpose"] = (*one.pose.position, *one.pose.quaternion)
        if one.solver.torque_scale != 1.0:
            found["torquescale"] = one.solver.torque_scale
    if not one.active:
        found["active"] = False
    return found | solver_attributes(one.solver)
