"""Read equality constraints: loop joints, mimic joints and locked joints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from exoskel import spatial
from exoskel.formats.mjcf.reader.compiled import Compiled, disabled_flags
from exoskel.formats.mjcf.reader.generated_parts import GeneratedParts, strip_model
from exoskel.formats.mjcf.reader.joint_chains import Screws
from exoskel.formats.mjcf.reader.models import DOCUMENT, FoundParts, bodies_of
from exoskel.scene.item import Names, qualified_name, unique_name
from exoskel.scene.joint import Joint, JointKind, Mimic
from exoskel.scene.pose import IDENTITY, Pose, Vector, vector_from_array
from exoskel.spatial import Array

_KINDS = ("connect", "weld", "joint", "tendon", "flex", "flexvert", "flexstrain", "distance")
_TOLERANCE = 1e-9
"""The largest distance of points that count as coincident, m."""


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
    """Adds loop joints and mimics for equality constraints to models."""

    def __init__(
        self, compiled: Compiled, generated: GeneratedParts, found: FoundParts, report: Callable[..., None]
    ) -> None:
        self.compiled = compiled
        self.model: Any = compiled.model
        self.generated = generated
        self.found = found
        self.report = report
        self._points: dict[tuple[int, int], list[tuple[int, Array]]] = {}
        self.unread: list[int] = []
        """The numbers of constraints that are not part of the scene."""
        self._joint_names: dict[int, Names] = {}
        """The names of joints in use, by the id of their model."""
        self._couplings: dict[tuple[int, int], list[tuple[int, int, int, float, float]]] = {}

    def read(self) -> None:
        for number in () if "equality" in disabled_flags(self.compiled) else range(self.model.neq):
            kind = _KINDS[int(self.model.eq_type[number])]
            if number in self.generated.equalities:
                continue
            if not self.model.eq_active0[number]:
                self._report_unsupported(number, "it is not active")
            elif kind == "connect":
                self._read_connect(number)
            elif kind == "weld":
                self._read_weld(number)
            elif kind == "joint":
                self._read_joint_equality(number)
            else:
                self._report_unsupported(number, "a scene does not support it")
        for (child, parent), points in self._points.items():
            self._add_point_loops(child, parent, points)
        for couplings in self._couplings.values():
            self._add_mimic(couplings)

    def _report_unsupported(self, number: int, reason: str) -> None:
        self.unread.append(number)
        kind, parts = _KINDS[int(self.model.eq_type[number])], self.compiled.equalities
        self.report("MJ403", parts.node(number), kind=kind, name=parts.quoted(number), reason=reason)

    # --- bodies ---------------------------------------------------------------------------------------

    def _ends(self, number: int) -> tuple[int, int, bool] | None:
        """Child, parent (0: the world) and whether they are swapped; a fixed body counts as the world."""
        one, other = bodies_of(self.compiled, number)
        weld = self.model.body_weldid
        if not weld[one] and not weld[other]:
            self._report_unsupported(number, "neither of its bodies moves")
            return None
        if not weld[one]:
            return other, 0, True
        return one, other if weld[other] else 0, False

    def _read_connect(self, number: int) -> None:
        ends = self._ends(number)
        if ends is None:
            return
        child, parent, swapped = ends
        data = self.model.eq_data[number]
        one, other = bodies_of(self.compiled, number)
        zero = self.compiled.zero
        mine, theirs = np.append(data[0:3], 1.0), np.append(data[3:6], 1.0)
        if np.abs(zero[one] @ mine - zero[other] @ theirs).max() > _TOLERANCE:
            self._report_unsupported(number, "its anchor points do not coincide in the reference pose")
            return
        self._points.setdefault((child, parent), []).append((number, (theirs if swapped else mine)[:3]))

    def _add_point_loops(self, child: int, parent: int, points: list[tuple[int, Array]]) -> None:
        """Add a ball joint for one point, a revolute joint for two."""
        if len(points) == 2 and np.linalg.norm(points[0][1] - points[1][1]) > _TOLERANCE:
            low, high = points[0][1], points[1][1]
            axis = vector_from_array(spatial.unit(high - low))
            self._add_loop(points[0][0], "revolute", child, parent, Pose(vector_from_array((low + high) / 2)), (axis,))
            return
        for number, point in points:
            self._add_loop(number, "ball", child, parent, Pose(vector_from_array(point)), ())

    def _read_weld(self, number: int) -> None:
        ends = self._ends(number)
        if ends is None:
            return
        one, other = bodies_of(self.compiled, number)
        zero, data = self.compiled.zero, self.model.eq_data[number]
        # The constrained pose of the second body relative to the first: the anchor is in the second body's frame.
        rotation = spatial.quaternion_matrix(data[6:10])
        constrained = spatial.transform(rotation, data[3:6] - rotation @ data[0:3])
        if np.abs(spatial.inverse(zero[one]) @ zero[other] - constrained).max() > _TOLERANCE:
            self._report_unsupported(number, "the relative pose of its bodies differs in the reference pose")
            return
        self._add_loop(number, "weld", ends[0], ends[1], IDENTITY, ())

    def _add_loop(
        self, number: int, kind: JointKind, child: int, parent: int, pose: Pose, axes: tuple[Vector, ...]
    ) -> None:
        model = self.found.models.get(child)
        if model is None or (parent and parent not in self.found.models):
            self._report_unsupported(number, "one of its bodies is a copy of another for a loop joint")
            return
        if parent and self.found.models[parent] is not model:
            self._report_unsupported(number, "its bodies belong to different models")
            return
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
            return
        if leader < 0:
            mine.joint.dofs[mine.first].position_limits = (offset, offset)
        elif any(rest):
            self._report_unsupported(number, "it is not linear")
        elif theirs is None or mine.model is not theirs.model or mine.joint.kind != theirs.joint.kind:
            self._report_unsupported(number, "its joints differ in kind or model")
        else:
            pair = (id(mine.joint), id(theirs.joint))
            self._couplings.setdefault(pair, []).append((number, follower, leader, offset, factor))

    def _add_mimic(self, couplings: list[tuple[int, int, int, float, float]]) -> None:
        """Add a mimic if all coordinates of a joint are coupled in the same way."""
        owners = self.found.owners
        mine, theirs = owners[couplings[0][1]].joint, owners[couplings[0][2]].joint
        rules = {(offset, factor) for *_, offset, factor in couplings}
        order = [(owners[follower].first, owners[leader].first) for _, follower, leader, _, _ in couplings]
        if len(rules) == 1 and sorted(order) == [(i, i) for i in range(len(mine.motion))] and mine.mimic is None:
            offset, factor = rules.pop()
            mine.mimic = Mimic(theirs.name, factor, offset)
            return
        for number, *_ in couplings:
            self._report_unsupported(number, "it constrains only some coordinates of its joints")
