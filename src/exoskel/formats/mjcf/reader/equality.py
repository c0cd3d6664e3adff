"""Read equality constraints as loop joints, mimic joints and locked joints, and others as constraints of the world."""

from __future__ import annotations

from collections.abc import Callable
from math import isclose
from typing import Any

import numpy as np

from exoskel import spatial
from exoskel.formats.mjcf.model.joints import STIFF, STIFF_STEPS
from exoskel.formats.mjcf.reader.compiled import Compiled, disabled_flags
from exoskel.formats.mjcf.reader.constraint_objects import ConstraintObjects, UnsupportedConstraintError
from exoskel.formats.mjcf.reader.generated_parts import GeneratedParts, strip_model
from exoskel.formats.mjcf.reader.joint_chains import Screws
from exoskel.formats.mjcf.reader.models import DOCUMENT, FoundParts, bodies_of
from exoskel.formats.mjcf.reader.tendons import TendonReader
from exoskel.scene.item import Names, qualified_name, unique_name
from exoskel.scene.joint import Joint, JointKind, Mimic, can_mimic
from exoskel.scene.pose import IDENTITY, Pose, Vector, vector_from_array
from exoskel.scene.solver_parameters import SolverParameters
from exoskel.scene.world import World
from exoskel.spatial import Array

_KINDS = ("connect", "weld", "joint", "tendon", "flex", "flexvert", "flexstrain", "distance")
_TOLERANCE = 1e-9
"""The largest distance of points that count as coincident, m."""
_TORQUE_SCALE = 10
"""Where the data of a weld has its torque scale."""


def find_screws(compiled: Compiled) -> Screws:
    """Find slides that are coupled to a hinge of the same body: candidates for screw joints."""
    model: Any = compiled.model
    out: Screws = {}
    for number in () if "equality" in disabled_flags(compiled) else range(model.neq):
        slide, hinge = int(model.eq_obj1id[number]), int(model.eq_obj2id[number])
        if _KINDS[int(model.eq_type[number])] != "joint" or hinge < 0 or not model.eq_active0[number]:
            continue
        data = model.eq_data[number]
        if model.jnt_bodyid[slide] == model.jnt_bodyid[hinge] and not data[0] and not any(data[2:5]):
            out[slide] = (hinge, float(data[1]))
    return out


class EqualityReader:
    """Adds loop joints and mimics to models for equality constraints that act like them, and the others to the world.

    A joint has one set of solver parameters: a constraint with others is one of the world.
    """

    def __init__(
        self,
        compiled: Compiled,
        generated: GeneratedParts,
        found: FoundParts,
        world: World,
        tendons: TendonReader,
        report: Callable[..., None],
    ) -> None:
        self.compiled = compiled
        self.model: Any = compiled.model
        self.generated = generated
        self.found = found
        self.report = report
        self.objects = ConstraintObjects(compiled, found, world, tendons)
        self._points: dict[tuple[int, int], list[tuple[int, Array]]] = {}
        self.unread: list[int] = []
        """The numbers of constraints that are not part of the scene."""
        self._joint_names: dict[int, Names] = {}
        """The names of joints in use, by the id of their model."""
        self._couplings: dict[tuple[int, int], list[tuple[int, int, int, float, float]]] = {}
        self._claimed: set[int] = set()
        """The ids of the joints whose solver parameters are those of a constraint."""

    def read(self) -> None:
        for number in () if "equality" in disabled_flags(self.compiled) else range(self.model.neq):
            kind = _KINDS[int(self.model.eq_type[number])]
            if number in self.generated.equalities:
                continue
            if kind not in ("connect", "weld", "joint", "tendon"):
                self._report_unsupported(number, "a scene does not support it")
            elif not self.model.eq_active0[number] or kind == "tendon" or self.objects.is_stated(number):
                self._add_object(number)
            elif kind == "connect":
                self._read_connect(number)
            elif kind == "weld":
                self._read_weld(number)
            else:
                self._read_joint_equality(number)
        for (child, parent), points in self._points.items():
            self._add_point_loops(child, parent, points)
        for couplings in self._couplings.values():
            self._add_mimic(couplings)
        self.objects.finish()

    def _add_object(self, number: int) -> None:
        """Read a constraint as one of the world."""
        try:
            self.objects.add(number, self._parameters(number))
        except UnsupportedConstraintError as reason:
            self._report_unsupported(number, str(reason))

    def _report_unsupported(self, number: int, reason: str) -> None:
        self.unread.append(number)
        kind, parts = _KINDS[int(self.model.eq_type[number])], self.compiled.equalities
        self.report("MJ403", parts.node(number), kind=kind, name=parts.quoted(number), reason=reason)

    # --- solver parameters ----------------------------------------------------------------------------

    def _parameters(self, number: int) -> SolverParameters:
        model = self.model
        is_weld = _KINDS[int(model.eq_type[number])] == "weld"
        scale = float(model.eq_data[number][_TORQUE_SCALE]) if is_weld else 1.0
        return SolverParameters(tuple(model.eq_solref[number].tolist()), tuple(model.eq_solimp[number].tolist()), scale)

    def _solver(self, number: int) -> SolverParameters | None:
        """The parameters of a joint for a constraint: None if it is as stiff as those that Exoskel writes."""
        found = self._parameters(number)
        stiff = (STIFF_STEPS * float(self.model.opt.timestep), 1.0)
        is_stiff = found.solimp == STIFF and found.torque_scale == 1.0
        return None if is_stiff and all(map(isclose, found.solref, stiff)) else found

    def _claim(self, joint: Joint, number: int) -> bool:
        """Set the solver parameters of a joint to those of a constraint; False if another one has set others."""
        solver = self._solver(number)
        if id(joint) in self._claimed:
            return joint.solver == solver
        self._claimed.add(id(joint))
        joint.solver = solver
        return True

    # --- bodies ---------------------------------------------------------------------------------------

    def _ends(self, number: int) -> tuple[int, int, bool] | None:
        """Child, parent (0: the world) and whether they are swapped; a fixed body counts as the world."""
        one, other = bodies_of(self.compiled, number)
        weld = self.model.body_weldid
        if not weld[one] and not weld[other]:
            return None
        if not weld[one]:
            return other, 0, True
        return one, other if weld[other] else 0, False

    def _read_connect(self, number: int) -> None:
        ends = self._ends(number)
        if ends is None or not self.objects.points_coincide(number):
            self._add_object(number)
            return
        child, parent, swapped = ends
        data = self.model.eq_data[number]
        point = data[3:6] if swapped else data[0:3]
        self._points.setdefault((child, parent), []).append((number, np.array(point)))

    def _add_point_loops(self, child: int, parent: int, points: list[tuple[int, Array]]) -> None:
        """Add a ball joint for one point, a revolute joint for two with the same solver parameters."""
        if len(points) == 2 and np.linalg.norm(points[0][1] - points[1][1]) > _TOLERANCE:
            (first, low), (second, high) = points
            solver = self._solver(first)
            if self._solver(second) == solver:
                axis = spatial.unit(high - low) if solver is None else high - low
                middle = Pose(vector_from_array((low + high) / 2))
                self._add_loop([first, second], "revolute", child, parent, middle, (vector_from_array(axis),))
                return
        for number, point in points:
            self._add_loop([number], "ball", child, parent, Pose(vector_from_array(point)), ())

    def _read_weld(self, number: int) -> None:
        ends = self._ends(number)
        if ends is None or not self.objects.frames_coincide(number):
            self._add_object(number)
            return
        pose = IDENTITY
        if self._solver(number) is not None:  # where it acts matters
            child, zero = ends[0], self.compiled.zero
            anchor = np.append(self.model.eq_data[number][0:3], 1.0)
            point = spatial.inverse(zero[child]) @ zero[bodies_of(self.compiled, number)[1]] @ anchor
            pose = Pose(vector_from_array(spatial.without_noise(point[:3])))
        self._add_loop([number], "weld", ends[0], ends[1], pose, ())

    def _add_loop(
        self, numbers: list[int], kind: JointKind, child: int, parent: int, pose: Pose, axes: tuple[Vector, ...]
    ) -> None:
        """Add a joint for some constraints, or these themselves if the bodies are not in one model."""
        model = self.found.models.get(child)
        if model is None or (parent and self.found.models.get(parent) is not model):
            for one in numbers:
                self._add_object(one)
            return
        number = numbers[0]
        written = self.compiled.equalities.name(number)
        name = strip_model(written, qualified_name(model.name)) or f"{self.found.bodies[child].name}_{kind}"
        head, _, tail = name.rpartition("/")
        name = head if tail.isdigit() and head else name
        taken = self._joint_names.get(id(model))
        if taken is None:
            taken = self._joint_names[id(model)] = Names(joint.name for joint in model.joints)
        name = unique_name(name, taken)
        taken.add(name)
        model.joints.append(
            Joint(
                name=name,
                kind=kind,
                child=self.found.bodies[child],
                parent=self.found.bodies[parent] if parent else None,
                pose=pose,
                axes=axes,
                loop=True,
                solver=self._solver(number),
                document=DOCUMENT,
                node=self.compiled.equalities.node(number),
            )
        )

    # --- joints ---------------------------------------------------------------------------------------

    def _read_joint_equality(self, number: int) -> None:
        follower, leader = int(self.model.eq_obj1id[number]), int(self.model.eq_obj2id[number])
        offset, factor, *rest = self.model.eq_data[number][:5].tolist()
        mine, theirs = self.found.owners.get(follower), self.found.owners.get(leader)
        if mine is None:  # the slide of a screw, coupled to its hinge or to another screw
            if theirs is not None and theirs.joint.kind == "screw":
                self._claim(theirs.joint, number)
            return
        if leader < 0:
            dof = mine.joint.dofs[mine.first]
            low, high = dof.position_limits
            if low < high and low <= offset <= high and self._claim(mine.joint, number):
                dof.position_limits = (offset, offset)
            else:
                self._add_object(number)
        elif (
            any(rest)
            or theirs is None
            or mine.model is not theirs.model
            or not can_mimic(mine.joint.kind, theirs.joint.kind)
        ):
            self._add_object(number)
        else:
            pair = (id(mine.joint), id(theirs.joint))
            self._couplings.setdefault(pair, []).append((number, follower, leader, offset, factor))

    def _add_mimic(self, couplings: list[tuple[int, int, int, float, float]]) -> None:
        """Add a mimic if all coordinates of a joint are coupled in the same way."""
        owners = self.found.owners
        mine, theirs = owners[couplings[0][1]].joint, owners[couplings[0][2]].joint
        rules = {(offset, factor) for *_, offset, factor in couplings}
        order = [(owners[follower].first, owners[leader].first) for _, follower, leader, _, _ in couplings]
        is_whole = len(rules) == 1 and sorted(order) == [(i, i) for i in range(len(mine.motion))]
        is_whole = is_whole and len({self._solver(number) for number, *_ in couplings}) == 1
        if is_whole and mine.mimic is None and self._claim(mine, couplings[0][0]):
            offset, factor = rules.pop()
            mine.mimic = Mimic(theirs.name, factor, offset)
            return
        for number, *_ in couplings:
            self._add_object(number)
