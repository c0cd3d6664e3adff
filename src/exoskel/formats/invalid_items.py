"""Repairs scenes that were read with invalid values: the shape or value is removed, and the rest is used."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct, structs

from exoskel.diagnostics import Severity
from exoskel.scene.body import Body, Marker
from exoskel.scene.codes import CATALOGUE
from exoskel.scene.inertia import UNIT_MOMENT, Inertia, solid
from exoskel.scene.item import Item
from exoskel.scene.joint import Dof, Joint
from exoskel.scene.pose import IDENTITY
from exoskel.scene.shape import Shape
from exoskel.scene.validation import world_problems
from exoskel.scene.value_checks import Problem
from exoskel.scene.world import World

SKIPPED, REPLACED = "it is not read", "its default is used"
_MOST_ROUNDS = 4
"""A default can be invalid with another value that is invalid, too."""
_LISTS = ("cameras", "lights", "keyframes", "tendons", "actuators", "sensors", "equalities")
_DEFAULTS: dict[type[Item], dict[str, Any]] = {
    Shape: dict.fromkeys(("color", "friction", "restitution", "material")),
    Body: {"pose": IDENTITY, "state": None},
    Joint: {"pose": IDENTITY, "drives": (), "mimic": None, "solver": None, "pitch": 0.0},
    World: {name: getattr(World(), name) for name in ("gravity", "time_step", "erp", "cfm")},
}
_DOF = re.compile(r"dofs\[(\d+)\]\.(\w+)")


class RepairedItem(Struct, frozen=True):
    """A problem of a scene, and what became of the value: the second half of a sentence."""

    problem: Problem
    outcome: str
    removed: Any = None
    """What was removed of a list of the world, such as a camera."""

    @property
    def field(self) -> str:
        """The last word of the path of the value, such as `radius` or `mass`."""
        return str(self.problem.details.get("field", self.problem.field)).rpartition(".")[2]

    @property
    def expected(self) -> str:
        """What the value must be."""
        return str(self.problem.details.get("expected", "a valid value"))


def repair(world: World) -> list[RepairedItem] | None:
    """Repair a world; returns what was invalid, or None if something remains invalid."""
    done: list[RepairedItem] = []
    for _ in range(_MOST_ROUNDS):
        problems = list(_errors(world))
        if not problems:
            return done
        owners = _owners(world)
        repaired: list[RepairedItem] = []
        for field in dict.fromkeys(one.field for one in problems if _is_list(one)):
            repaired += _remove_invalid_rows(world, field)
        for problem in (one for one in problems if not _is_list(one)):
            outcome = _repair(world, problem, owners)
            if not outcome:
                return None
            repaired.append(RepairedItem(problem, outcome))
        known = {one.problem.message for one in done}
        done += {one.problem.message: one for one in repaired if one.problem.message not in known}.values()
    return None if any(_errors(world)) else done


def _is_list(problem: Problem) -> bool:
    """Whether a problem is about a list of a world, such as its cameras."""
    return isinstance(problem.item, World) and problem.field in _LISTS


def _errors(world: World) -> Iterator[Problem]:
    return (one for one in world_problems(world) if CATALOGUE[one.key].severity is Severity.ERROR)


def _owners(world: World) -> dict[int, Body]:
    """The bodies of shapes and markers, by id."""
    return {id(part): body for body in world.bodies() for part in (*body.shapes, *body.markers)}


def _repair(world: World, problem: Problem, owners: dict[int, Body]) -> str:
    """Repair what a problem is about; returns what became of it, or an empty string."""
    item, field = problem.item, problem.field
    if isinstance(item, Shape | Marker) and (isinstance(item, Marker) or field in ("geometry", "pose")):
        body = owners[id(item)]
        for name in ("visuals", "collisions", "markers"):
            setattr(body, name, [one for one in getattr(body, name) if one is not item])
        return SKIPPED
    if isinstance(item, Body) and field == "inertia":
        item.inertia = _repaired_inertia(item, str(problem.details.get("field", "")))
        return REPLACED
    if isinstance(item, Joint) and field == "dofs":
        return _repair_dof(item, str(problem.details.get("field", "")))
    if field in _DEFAULTS.get(type(item), {}):
        setattr(item, field, _DEFAULTS[type(item)][field])
        return REPLACED
    return ""


def _repaired_inertia(body: Body, part: str) -> Inertia:
    """The inertia of a body with the default of an invalid part."""
    if part == "mass":
        return structs.replace(body.inertia, mass=1.0)
    if part == "com":
        return structs.replace(body.inertia, com=(0.0, 0.0, 0.0))
    has_volume = any(0.0 < solid(shape.geometry).volume < float("inf") for shape in body.mass_shapes)
    return structs.replace(body.inertia, moment=None if has_volume else UNIT_MOMENT, rule="solid")


def _repair_dof(joint: Joint, path: str) -> str:
    found = _DOF.fullmatch(path)
    if found is None:
        return ""
    setattr(joint.dofs[int(found[1])], found[2], getattr(Dof(), found[2]))
    return REPLACED


def _remove_invalid_rows(world: World, field: str) -> list[RepairedItem]:
    """Remove the rows of a list that are invalid, or without which the others are valid."""
    kept, removed = list[Any](), list[RepairedItem]()
    for row in list(getattr(world, field)):
        setattr(world, field, [*kept, row])
        problem = next((one for one in _errors(world) if one.field == field), None)
        if problem is None:
            kept.append(row)
        else:
            removed.append(RepairedItem(problem, SKIPPED, row))
    setattr(world, field, kept)
    return removed
