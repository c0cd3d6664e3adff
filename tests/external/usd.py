"""How the bodies of a USD layer move with the coordinates of the worlds that were written.

Joints move as in Newton: first translations, then intrinsic rotations about x, y and z.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exoskel import Joint, Kinematics, Model, Scene, World, spatial
from exoskel.formats.usd.joint_axes import ROTATIONS, TRANSLATIONS, fits, plan
from exoskel.formats.usd.tree import Layer, Prim
from exoskel.formats.usd.write import LOWERED_KINDS, write
from exoskel.scene.kinematics import initial_twists
from exoskel.scene.lowering import joint_passes
from exoskel.source.output_context import OutputContext
from tests.external.expectation import Array, Dof, Inertial, InitialState, Mechanism, Values
from tests.external.mechanisms import draw, inertials, split
from tests.usd.support import paths

_ORDER = (*TRANSLATIONS, *ROTATIONS)


class UsdMechanism:
    """Worlds, the same worlds with joints lowered as in the writer, and the paths of their parts in the layer."""

    def __init__(self, worlds: Sequence[World], output: OutputContext) -> None:
        self.worlds = worlds
        self.models = [model for world in worlds for model in world.models]
        self.kinematics = Kinematics(self.models)
        done = [joint_passes.lower_joints(world, LOWERED_KINDS, only=lambda joint: not fits(joint)) for world in worlds]
        self.chains = {id(chain.joint): chain for one in done for chain in one.chains}
        self.simple = [model for one in done for model in one.world.models]
        self.after = Kinematics(self.simple)
        self.layer = write(Scene([one.world for one in done]), output)
        self.where = paths(self.layer)
        added = {id(body) for chain in self.chains.values() for body in chain.bodies}
        pairs = [(model, body) for model in self.simple for body in model.bodies]
        self.numbers = {id(body): number for number, (_, body) in enumerate(pairs)}
        self.between = [number for number, (_, body) in enumerate(pairs) if id(body) in added]
        order = [pair for pair in pairs if id(pair[1]) not in added] + [pairs[number] for number in self.between]
        found = inertials([body for _, body in order])
        self.bodies: dict[str, Inertial | None] = {
            self.where[id(body)]: None if model.static else inertial
            for (model, body), inertial in zip(order, found, strict=True)
        }
        self.scenery = frozenset(self.where[id(body)] for model, body in pairs if model.static)

    def mechanism(self) -> Mechanism:
        return Mechanism(self.bodies, self.draw, None, self.at, self._dofs(), self.scenery, self._start())

    def draw(self, rng: np.random.Generator) -> Array:
        q = draw(self.models)(rng)
        return np.concatenate([np.zeros(0), *(_with_locked(joint, own) for _, joint, own in split(self.models, q))])

    def at(self, q: Array) -> tuple[Array, Values]:
        there = np.concatenate([np.zeros(0), *(self._after(joint, own) for _, joint, own in split(self.models, q))])
        theirs = self.after.poses(there)
        return np.concatenate([self.kinematics.poses(q), theirs[self.between]]), self._values(there, theirs)

    def _after(self, joint: Joint, own: Array) -> Array:
        chain = self.chains.get(id(joint))
        return own if chain is None else chain.positions(own)

    def _values(self, q: Array, poses: Array) -> Values:
        joints: dict[str, list[float]] = {}
        floating: dict[str, list[float]] = {}
        places = spatial.pose7(poses).tolist()
        for model, joint, own in split(self.simple, q):
            if model.static:
                continue
            if id(joint) not in self.where:
                floating[self.where[id(joint.child)]] = places[self.numbers[id(joint.child)]]
            elif value := _value(joint, own):
                joints[self.where[id(joint)]] = value
        return Values(joints, floating)

    def _dofs(self) -> dict[str, Dof]:
        """Limits and damping of revolute and prismatic joints without a motor."""
        found = {}
        for joint in (j for m in self.simple if not m.static for j in m.joints):
            is_driven = bool(joint.drives) or joint.actuator in ("servo", "velocity", "acceleration", "locked")
            if joint.kind in ("revolute", "prismatic") and np.any(joint.axes[0]) and not joint.loop and not is_driven:
                limits = joint.dofs[0].position_limits
                has_limits = joint.limits_enforced and np.isfinite(limits).all() and limits[0] < limits[1]
                found[self.where[id(joint)]] = Dof(limits if has_limits else None, joint.dofs[0].damping)
        return found

    def _start(self) -> InitialState:
        """Poses and velocities in the initial state, except for bodies added by lowering."""
        motions: dict[str, Array] = {}
        poses = self.kinematics.poses()
        names = list(self.bodies)[: len(poses)]
        known = dict(zip((id(b) for m in self.models for b in m.bodies), names, strict=True))
        for world in self.worlds:
            motions |= {known[key]: motion for key, motion in _motions(world).items()}
        return InitialState(dict(zip(names, poses, strict=True)), motions)


def _value(joint: Joint, own: Array) -> list[float]:
    """The coordinates of a UsdPhysics joint in the form of `readers.protocol`."""
    made = plan(joint)
    assert made is not None
    if joint.kind == "ball":
        quaternion: list[float] = spatial.quaternion(spatial.exp(own)).tolist()
        return quaternion
    if joint.kind == "free":
        own = np.concatenate([spatial.euler_xyz(spatial.exp(own[:3])), own[3:]])
    if made.axis:
        return [float(own[0])]
    axes = sorted((f for f in made.freedoms if not _is_locked(joint, f.coordinate)), key=lambda f: _ORDER.index(f.name))
    return [0.0 if f.coordinate is None else f.sign * float(own[f.coordinate]) for f in axes]


def _with_locked(joint: Joint, own: Array) -> Array:
    return np.array([joint.dofs[n].position_limits[0] if _is_locked(joint, n) else q for n, q in enumerate(own)])


def _is_locked(joint: Joint, coordinate: int | None) -> bool:
    """Whether its limits lock an axis, so that a generic joint does not have it."""
    if coordinate is None or len(joint.motion) < 2 or not joint.limits_enforced:
        return False
    low, high = joint.dofs[coordinate].position_limits
    return low == high


def _motions(world: World) -> dict[int, Array]:
    """Velocity of the centre of mass, and angular velocity, of each body that moves, by id."""
    kinematics = Kinematics(world.models)
    stated = {id(b): (b.state.linear_velocity, b.state.angular_velocity) for b in world.bodies() if b.state}
    found = initial_twists(world.models, kinematics, stated)
    pairs = [(model, body) for model in world.models for body in model.bodies]
    made = {}
    for (model, body), pose in zip(pairs, kinematics.poses(), strict=True):
        if not model.static:
            speed, spin = map(np.array, found.get(id(body), (np.zeros(3), np.zeros(3))))
            made[id(body)] = np.array([*(speed + np.cross(spin, pose[:3, :3] @ body.com)), *spin])
    return made


def traits(models: Sequence[Model], layer: Layer) -> frozenset[str]:
    """Traits that some readers cannot handle."""
    moving = [body for model in models if not model.static for body in model.bodies]
    scopes = [prim for root in layer.prims for prim in root.iter() if prim.type == "Scope" and prim.name == "joints"]
    found = {
        "unphysical moments": not all(map(_is_solid, inertials(moving))),
        "a moment of zero": any(map(_has_moment_of_zero, inertials(moving))),
        "no joint between two bodies": any(map(_is_fixed_to_the_world, scopes)),
    }
    return frozenset(trait for trait, has in found.items() if has)


def _is_solid(one: Inertial) -> bool:
    low, middle, high = np.linalg.eigvalsh(one.moment)
    return one.mass > 0.0 and low > _SLACK * high and low + middle > (1.0 + _SLACK) * high


def _has_moment_of_zero(one: Inertial) -> bool:
    """Whether a principal moment is zero in double precision, though not all of them are."""
    low, _, high = np.linalg.eigvalsh(one.moment)
    return one.mass > 0.0 and high > 0.0 and low <= _ROUNDING * high


def _is_fixed_to_the_world(joints: Prim) -> bool:
    """Whether all joints of a model connect to the world."""
    return not any("rel physics:body0" in joint.properties for joint in joints.children)


_ROUNDING = 1e-14
_SLACK = 1e-6
"""The margin, relative to the largest moment, by which moments must be physical to be so in single precision."""
