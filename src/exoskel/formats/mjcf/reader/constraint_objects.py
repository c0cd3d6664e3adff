"""Read equality constraints that are neither loops nor mimics of joints as constraints of the world."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
from msgspec.structs import replace

from exoskel import spatial
from exoskel.formats.mjcf import mujoco_import
from exoskel.formats.mjcf.names import plain_name
from exoskel.formats.mjcf.reader.compiled import Compiled
from exoskel.formats.mjcf.reader.models import FoundParts, bodies_of
from exoskel.formats.mjcf.reader.tendons import TendonReader, UnsupportedTendonError
from exoskel.scene.equality import Equality, EqualityKind
from exoskel.scene.item import Names, qualified_name, unique_name
from exoskel.scene.pose import Pose, vector_from_array
from exoskel.scene.solver_parameters import SolverParameters
from exoskel.scene.world import World

_KINDS: tuple[EqualityKind, ...] = get_args(EqualityKind)
"""Of mjtEq, from 0."""
_TOLERANCE = 1e-9
"""The largest difference of frames that count as equal, m."""


class UnsupportedConstraintError(Exception):
    """Why a constraint is not read."""


class ConstraintObjects:
    """Creates the equality constraints of a world."""

    def __init__(self, compiled: Compiled, found: FoundParts, world: World, tendons: TendonReader) -> None:
        self.compiled = compiled
        self.model: Any = compiled.model
        self.found = found
        self.world = world
        self.tendons = tendons
        self._made: dict[int, Equality] = {}
        self._site = int(mujoco_import.load().mjtObj.mjOBJ_SITE)

    @property
    def nodes(self) -> dict[int, str]:
        """The names of the constraints in the world, by their elements."""
        names = (one.name for one in self.world.equalities)
        return {
            self.compiled.equalities.node(number): name for number, name in zip(sorted(self._made), names, strict=True)
        }

    def add(self, number: int, solver: SolverParameters) -> None:
        """Read a constraint.  Raises UnsupportedConstraintError."""
        try:
            values = self._values(number)
        except UnsupportedTendonError as reason:
            raise UnsupportedConstraintError(str(reason)) from None
        kind = _KINDS[int(self.model.eq_type[number])]
        given = self.compiled.equalities.name(number)
        name = plain_name(given) or kind
        active = bool(self.model.eq_active0[number])
        made = Equality(name, kind, **values, active=active, solver=solver)
        if made.problem:
            raise UnsupportedConstraintError(f"it {made.problem}")
        self._made[number] = made

    def finish(self) -> None:
        """Add all constraints to the world, in the order of the document and with unique names."""
        taken = Names()
        for number in sorted(self._made):
            one = self._made[number]
            name = unique_name(one.name, taken)
            taken.add(name)
            self.world.equalities.append(one if name == one.name else replace(one, name=name))

    def is_stated(self, number: int) -> bool:
        """Whether a constraint is one of the world, whatever it does: it connects sites, or our writer says so."""
        return self.has_sites(number) or self.compiled.equalities.name(number) in self.compiled.prepared.equalities

    def has_sites(self, number: int) -> bool:
        """Whether a constraint connects sites."""
        return int(self.model.eq_objtype[number]) == self._site

    def points_coincide(self, number: int) -> bool:
        """Whether the points of a `connect` constraint of bodies are one in the reference pose."""
        one, other = bodies_of(self.compiled, number)
        data, zero = self.model.eq_data[number], self.compiled.zero
        mine, theirs = np.append(data[0:3], 1.0), np.append(data[3:6], 1.0)
        return bool(np.abs(zero[one] @ mine - zero[other] @ theirs).max() <= _TOLERANCE)

    def frames_coincide(self, number: int) -> bool:
        """Whether the frames of a `weld` constraint of bodies are one in the reference pose."""
        one, other = bodies_of(self.compiled, number)
        zero, data = self.compiled.zero, self.model.eq_data[number]
        # The constrained pose of the second body relative to the first: the anchor is in the second body's frame.
        rotation = spatial.quaternion_matrix(data[6:10])
        constrained = spatial.transform(rotation, data[3:6] - rotation @ data[0:3])
        return bool(np.abs(spatial.inverse(zero[one]) @ zero[other] - constrained).max() <= _TOLERANCE)

    # --- values ---------------------------------------------------------------------------------------

    def _values(self, number: int) -> dict[str, Any]:
        model = self.model
        kind = _KINDS[int(model.eq_type[number])]
        ends = [int(model.eq_obj1id[number]), int(model.eq_obj2id[number])]
        if kind == "joint":
            return self._joints(ends) | {"polynomial": tuple(model.eq_data[number][:5].tolist())}
        if kind == "tendon":
            target, other = (self._tendon(end) for end in ends)
            polynomial = tuple(model.eq_data[number][:5].tolist())
            return {"target_kind": "tendon", "target": target, "other": other, "polynomial": polynomial}
        if self.has_sites(number):
            target, other = (self.tendons.site_path(end) for end in ends)
            return {"target_kind": "site", "target": target, "other": other}
        target, other = (self._body(end) for end in ends)
        anchor = vector_from_array(model.eq_data[number][0:3])
        found: dict[str, Any] = {"target_kind": "body", "target": target, "other": other, "anchor": anchor}
        if kind == "connect":
            if not self.points_coincide(number):
                raise UnsupportedConstraintError("its anchor points do not coincide in the reference pose")
        elif not self.frames_coincide(number):
            found["pose"] = Pose.from_matrix(
                spatial.transform(spatial.quaternion_matrix(model.eq_data[number][6:10]), model.eq_data[number][3:6])
            )
        return found

    def _joints(self, ends: list[int]) -> dict[str, Any]:
        owners = [self.found.owners.get(end) for end in ends]
        mine, theirs = owners
        if mine is None or (theirs is None and ends[1] >= 0):
            raise UnsupportedConstraintError("one of its joints is not part of the scene")
        found = {
            "target_kind": "joint",
            "target": qualified_name(mine.model.name, mine.joint.name),
            "coordinate": mine.first,
        }
        if theirs is not None:
            found |= {
                "other": qualified_name(theirs.model.name, theirs.joint.name),
                "other_coordinate": theirs.first,
            }
        return found

    def _tendon(self, number: int) -> str:
        if number >= 0 and number not in self.tendons.names:
            raise UnsupportedConstraintError("one of its tendons is not part of the scene")
        return self.tendons.names[number] if number >= 0 else ""

    def _body(self, number: int) -> str:
        """The path of a body; empty for the world."""
        if number == 0:
            return ""
        body, model = self.found.bodies.get(number), self.found.models.get(number)
        if body is None or model is None:
            raise UnsupportedConstraintError("one of its bodies is a copy of another for a loop joint")
        return qualified_name(model.name, body.name)
