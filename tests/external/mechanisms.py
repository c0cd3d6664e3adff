"""How the bodies of a document move with the coordinates of the scene that was written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from exoskel import Body, Joint, Kinematics, Model, spatial
from exoskel.scene.summary import moments
from tests.external.expectation import REACH, Array, Dof, Inertial, Mechanism, Values

Chain = Callable[[Joint, Array], Sequence[float]]
"""The coordinates that a format's joints have for those of one of ours."""
Prefix = Callable[[Model], str]
"""The prefix of the names of a model's bodies and joints."""


def draw(models: Sequence[Model]) -> Callable[[np.random.Generator], Array]:
    """Random positions of all joints; a static model stays at its initial positions."""

    def positions(rng: np.random.Generator) -> Array:
        rows = [
            np.array([q for joint in model.joints if not joint.loop for q in joint.positions])
            if model.static
            else rng.uniform(-REACH, REACH, Kinematics([model]).dof_count)
            for model in models
        ]
        return np.concatenate([np.zeros(0), *rows])

    return positions


def moving(models: Sequence[Model]) -> list[int]:
    """The coordinates of models that are not static."""
    kinds = [model.static for model in models for _ in range(Kinematics([model]).dof_count)]
    return [number for number, static in enumerate(kinds) if not static]


def inertials(bodies: Sequence[Body]) -> list[Inertial]:
    tensors = spatial.moment_matrix(moments(bodies))
    return [Inertial(b.mass, np.array(b.com), tensor) for b, tensor in zip(bodies, tensors, strict=True)]


def split(models: Sequence[Model], q: Array) -> Iterator[tuple[Model, Joint, Array]]:
    """All joints of the trees, with their coordinates."""
    at = 0
    for model in models:
        for joint in model.joints:
            if not joint.loop:
                yield model, joint, q[at : at + joint.dof_count]
                at += joint.dof_count


# --- documents that we read ---------------------------------------------------------------------------


class ReadModels:
    """Models of a document, with names as the document has them."""

    def __init__(self, models: Sequence[Model], prefix: Prefix) -> None:
        self.models = models
        self.kinematics = Kinematics(models)
        self.names = [prefix(model) + body.name for model in models for body in model.bodies]
        self.bodies = [body for model in models for body in model.bodies]
        number = {id(body): n for n, body in enumerate(self.bodies)}
        self.joints: list[tuple[Joint, str, int, int]] = []
        """Those that move: with a name, the number of the child, and the first coordinate."""
        at = 0
        for model in models:
            for joint in (j for j in model.joints if not j.loop):
                if not model.static and joint.kind != "weld":
                    item = joint.child if joint.kind == "free" else joint
                    self.joints.append((joint, prefix(model) + item.name, number[id(joint.child)], at))
                at += joint.dof_count

    def dofs(self) -> dict[str, Dof]:
        """Of hinges and sliders."""
        found = {}
        for joint, name, _, _ in self.joints:
            if joint.kind in ("revolute", "prismatic"):
                limits = joint.dofs[0].position_limits
                has_limits = joint.limits_enforced and np.isfinite(limits).all() and limits[0] < limits[1]
                found[name] = Dof(limits if has_limits else None, joint.dofs[0].damping)
        return found

    def values(self, q: Array, poses: Array) -> Values:
        joints: dict[str, list[float]] = {}
        floating: dict[str, list[float]] = {}
        places = spatial.pose7(poses).tolist()
        for joint, name, child, at in self.joints:
            own = q[at : at + joint.dof_count]
            if joint.kind == "free":
                floating[name] = places[child]
            elif joint.kind == "ball":
                joints[name] = spatial.quaternion(spatial.exp(own)).tolist()
            else:
                joints[name] = own.tolist()
        return Values(joints, floating)


def read_mechanism(models: Sequence[Model], prefix: Prefix) -> Mechanism:
    """The mechanism that we read from a document by others."""
    found = ReadModels(models, prefix)

    def at(q: Array) -> tuple[Array, Values]:
        poses = found.kinematics.poses(q)
        return poses, found.values(q, poses)

    bodies: dict[str, Inertial | None] = dict(zip(found.names, inertials(found.bodies), strict=True))
    return Mechanism(bodies, draw(models), moving(models), at)


# --- documents that we write --------------------------------------------------------------------------


class Tree:
    """Models, the same models read back from a document, and the names of their bodies in the document.

    Only names and the bodies added by lowering come from the document; poses come from the models.  `shifts` are the
    frames of bodies in the document, relative to those of the scene.
    """

    def __init__(
        self,
        models: Sequence[Model],
        back: Sequence[Model],
        named: dict[int, str],
        chain: Chain,
        prefix: Prefix,
        shift: Callable[[Model, Joint | None], Array],
    ) -> None:
        self.models, self.chain = models, chain
        self.kinematics = Kinematics(models)
        self.back = ReadModels(back, prefix)
        pairs = [(m, b) for m in models for b in m.bodies]
        parent_joints = {id(j.child): j for m in models for j in m.joints if not j.loop}
        self.shifts = np.array([shift(m, parent_joints.get(id(b))) for m, b in pairs]).reshape(-1, 4, 4)
        own = [_shifted(i, s) for i, s in zip(inertials([b for _, b in pairs]), self.shifts, strict=True)]
        self.bodies: dict[str, Inertial | None] = {
            # A fixed body may be given a mass, because no reader accepts a link without one.
            named[id(b)]: None if m.static and not b.mass > 0.0 else inertial
            for (m, b), inertial in zip(pairs, own, strict=True)
        }
        self.numbers = {name: number for number, name in enumerate(self.bodies)}
        self.between = [number for number, name in enumerate(self.back.names) if name not in self.bodies]
        found = inertials([self.back.bodies[number] for number in self.between])
        self.bodies |= {self.back.names[n]: i for n, i in zip(self.between, found, strict=True)}
        free = [(child, at) for joint, _, child, at in self.back.joints if joint.kind == "free"]
        self.roots = np.array([self.numbers[self.back.names[child]] for child, _ in free], dtype=int)
        """Numbers of the bodies that float in the document; their coordinates there, and where they stand at zero."""
        self.root_coordinates = np.array([range(at, at + 6) for _, at in free], dtype=int).reshape(-1, 6)
        self.root_places = self.back.kinematics.zero_poses[[child for child, _ in free]]
        spans = [range(at, at + joint.dof_count) for joint, _, _, at in self.back.joints]
        self.coordinates = np.array([number for span in spans for number in span], dtype=int)

    def mechanism(self) -> Mechanism:
        return Mechanism(self.bodies, draw(self.models), moving(self.models), self.at, self.back.dofs())

    def at(self, q: Array) -> tuple[Array, Values]:
        mine = self.kinematics.poses(q) @ self.shifts
        there = self._there(q, mine)
        theirs = self.back.kinematics.poses(there)
        return np.concatenate([mine, theirs[self.between]]), self.back.values(there, theirs)

    def _there(self, q: Array, poses: Array) -> Array:
        """The coordinates in the document."""
        there = self.back.kinematics.initial.copy()
        there[self.coordinates] = [
            value for m, joint, own in split(self.models, q) if not m.static for value in self.chain(joint, own)
        ]
        motion = spatial.inverse(self.root_places) @ poses[self.roots]
        there[self.root_coordinates] = np.hstack([spatial.log(motion[:, :3, :3]), motion[:, :3, 3]])
        return there


def _shifted(inertial: Inertial, shift: Array) -> Inertial:
    back = spatial.inverse(shift)
    com = back[:3, :3] @ inertial.com + back[:3, 3]
    return Inertial(inertial.mass, com, spatial.rotate_moment(back[:3, :3], inertial.moment))
