"""The validation of equality constraints and of the solver parameters of joints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from exoskel.scene.equality import Equality, EqualityTargets
from exoskel.scene.item import Item, item_name
from exoskel.scene.model import Model
from exoskel.scene.solver_parameters import SolverParameters
from exoskel.scene.tendon import Tendon, TendonParts
from exoskel.scene.unknown_references import UnknownReferences
from exoskel.scene.value_checks import NOT_NEGATIVE, ValueChecker
from exoskel.scene.world import World


def check_equalities(world: World, models: Sequence[Model], check: ValueChecker, references: UnknownReferences) -> None:
    """Check the numbers, names and ends of equality constraints; names of models are only compared if all are texts."""
    rows = [(one, world) for one in world.equalities]
    equalities: list[Equality] = check.typed(rows, "equalities", Equality)
    if not equalities:
        return
    before = len(check.problems)
    owners = [world] * len(equalities)
    check.check_numbers(owners, "equalities", [one.anchor for one in equalities], width=3, path="equalities.anchor")
    polynomials = [one.polynomial for one in equalities]
    check.check_numbers(owners, "equalities", polynomials, width=5, path="equalities.polynomial")
    poses = [(world, one.pose) for one in equalities if one.pose is not None]
    check.check_poses(poses, "equalities", "equalities.pose")
    check_solvers([(world, one.solver) for one in equalities], "equalities", "equalities.solver", check)
    has_valid_numbers = len(check.problems) == before
    for name, count in Counter(one.name for one in equalities).items():
        if count > 1:
            kind = "equality constraints"
            check.report("SC102", world, "equalities", owner=check.describe(world), kind=kind, name=name)
    names = [item_name(one) for model in models for one in (model, *model.bodies, *model.joints)]
    if not has_valid_numbers or not all(isinstance(name, str) for name in names):
        return
    targets = EqualityTargets(TendonParts(models), [one for one in world.tendons if isinstance(one, Tendon)])
    for one in equalities:
        if one.problem:
            expected = "a name, and two ends of the kind of the constraint"
            check.report_value(world, "equalities", "equalities", one, expected)
            continue
        for path in targets.unknown(one):
            references.report("equalities", "equality constraint", one.name, path)


def check_solvers(rows: Sequence[tuple[Item, SolverParameters]], field: str, path: str, check: ValueChecker) -> None:
    """Check the numbers of solver parameters, each with the item that has it."""
    found: list[SolverParameters] = check.typed([(value, item) for item, value in rows], field, SolverParameters)
    items = [item for item, value in rows if isinstance(value, SolverParameters)]
    for name, width in (("solref", 2), ("solimp", 5)):
        check.check_numbers(items, field, [getattr(one, name) for one in found], width=width, path=f"{path}.{name}")
    scales = [one.torque_scale for one in found]
    check.check_numbers(items, field, scales, NOT_NEGATIVE, path=f"{path}.torque_scale")
