"""The parameters that can vary between worlds, their distributions, and where MuJoCo stores them.

| key | what |
|---|---|
| `gravity`, `gravity.x` | m/s², the vector or one component |
| `friction` | the coefficient of all contacts |
| `body:NAME.mass` | kg; a moment derived from shapes, or stated to scale with the mass, scales |
| `body:NAME.friction` | the coefficient of contacts of one body |
| `joint:NAME.damping`, `stiffness`, `friction`, `rest` | as in `Dof`, for all coordinates of a joint |
| `joint:NAME.position`, `velocity` | initial values |
| `dof:NAME.…` | the same for one coordinate |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Literal

import numpy as np
from msgspec import Struct

from exoskel.diagnostics import ExoskelError
from exoskel.engines.mujoco.mujoco_world import MujocoWorld
from exoskel.formats.mjcf import mujoco_import
from exoskel.formats.mjcf.model.joints import friction_parameters
from exoskel.formats.mjcf.write import TOLERANCE
from exoskel.scene.item import qualified_name
from exoskel.scene.joint import PRESCRIBED_ACTUATORS, Joint
from exoskel.scene.merge import copy_world
from exoskel.scene.model import Model
from exoskel.scene.world import World
from exoskel.simulate.batch.worlds import Worlds
from exoskel.spatial import Array, Indices

DistributionKind = Literal["uniform", "loguniform", "normal", "values"]
KINDS = ("uniform", "loguniform", "normal")


class Distribution(Struct, frozen=True):
    """Bounds for `uniform` and `loguniform`, mean and deviation for `normal`; rows, used cyclically, for `values`."""

    kind: DistributionKind
    first: Array
    second: Array

    def draw(self, uniform: Array, normal: Array, indices: Indices) -> Array:
        """A row for each world, from uniform numbers in [0, 1) and standard normal ones, `(worlds, width)`."""
        if self.kind == "values":
            return self.first[indices % len(self.first)]
        if self.kind == "normal":
            return self.first + self.second * normal
        if self.kind == "uniform":
            return self.first + (self.second - self.first) * uniform
        return np.asarray(self.first * (self.second / self.first) ** uniform)


def parse_distribution(key: str, stated: Any, width: int = 1) -> Distribution:
    """Parse `(low, high)`, `("normal", mean, deviation)`, `("loguniform", low, high)`, a list, or a number.

    `width` is the count of numbers per world: three for a vector.
    """
    if isinstance(stated, Distribution):
        return stated
    if isinstance(stated, tuple) and stated and isinstance(stated[0], str):
        if stated[0] not in KINDS or len(stated) != 3:
            raise ExoskelError(
                f"invalid distribution {stated!r} for {key!r}: use (kind, a, b), with kind one of {', '.join(KINDS)}"
            )
        return _checked(key, Distribution(stated[0], *(_row(key, one, width) for one in stated[1:])))  # type: ignore[arg-type]
    if isinstance(stated, tuple) and len(stated) == 2:
        if width > 1 and all(np.ndim(one) == 0 for one in stated):  # the components would vary independently
            raise ExoskelError(
                f"each bound of {key!r} needs {width} numbers; use {key}.x, .y or .z to vary one component"
            )
        return _checked(key, Distribution("uniform", *(_row(key, one, width) for one in stated)))
    rows = _numbers(key, stated)
    if rows.ndim == (0 if width == 1 else 1):  # one value for all worlds
        rows = rows[None]
    rows = rows[:, None] if rows.ndim == 1 else rows
    if rows.ndim != 2 or rows.shape[1] != width or not len(rows):
        wanted = "numbers" if width == 1 else f"rows of {width} numbers"
        raise ExoskelError(f"{key!r} needs a list of {wanted}, not an array of shape {_numbers(key, stated).shape}")
    return Distribution("values", rows, rows)


def _numbers(key: str, stated: Any) -> Array:
    try:
        found = np.asarray(stated, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ExoskelError(
            f"invalid values {stated!r} for {key!r}: use bounds, a distribution, a list or a number"
        ) from None
    if not np.isfinite(found).all():
        raise ExoskelError(f"the values of {key!r} must be finite")
    return found


def _row(key: str, stated: Any, width: int) -> Array:
    found = _numbers(key, stated)
    if found.shape not in ((), (width,)):
        raise ExoskelError(f"{key!r} needs {width} numbers, not an array of shape {found.shape}")
    return np.broadcast_to(found, (width,)).copy()


def _checked(key: str, found: Distribution) -> Distribution:
    if found.kind == "normal":
        if (found.second < 0.0).any():
            raise ExoskelError(f"the deviation of {key!r} is negative")
        return found
    if (found.first > found.second).any():
        index = int(np.argmax(found.first > found.second))
        low, high = found.first[index], found.second[index]
        raise ExoskelError(f"the bounds of {key!r} are reversed: {low:g} is greater than {high:g}")
    if found.kind == "loguniform" and not (found.first > 0.0).all():
        raise ExoskelError(f"the bounds of {key!r} must be positive for a loguniform distribution")
    return found


def draw(
    distributions: Mapping[str, Distribution], widths: Mapping[str, int], seed: int, indices: Indices
) -> dict[str, Array]:
    """The values of each world, `(worlds, width)` by key."""
    order = sorted(distributions)
    total = sum(widths[key] for key in order)
    uniform, normal = np.empty((len(indices), total)), np.empty((len(indices), total))
    if any(one.kind != "values" for one in distributions.values()):
        for row, index in enumerate(indices.tolist()):
            stream = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(index,))))
            stream.random(out=uniform[row])
            stream.standard_normal(out=normal[row])
    out: dict[str, Array] = {}
    at = 0
    for key in order:
        part = slice(at, at + widths[key])
        with np.errstate(over="ignore", invalid="ignore"):
            out[key] = distributions[key].draw(uniform[:, part], normal[:, part], indices)
        if not np.isfinite(out[key]).all():
            raise ExoskelError(f"the values of {key!r} exceed the range of floating-point numbers")
        at += widths[key]
    return {key: out[key] for key in distributions}


# --- parameters ----------------------------------------------------------------------------------------


_COMPONENTS = {"x": 0, "y": 1, "z": 2}
_WORLD_KEYS = ("gravity", "friction", *(f"gravity.{axis}" for axis in _COMPONENTS))


class ParameterTarget(Struct, frozen=True):
    """The target of a key: the kind of item, its number, the field, and the numbers of coordinates."""

    key: str
    what: str
    field: str
    number: int = -1
    dofs: tuple[int, ...] = ()

    @property
    def width(self) -> int:
        return 3 if (self.what, self.field) == ("world", "gravity") else 1

    @property
    def indices(self) -> tuple[int, ...]:
        """The numbers, among those of its kind, that it sets."""
        return self.dofs or (tuple(range(3)) if self.width == 3 else (self.number,))


class Variation:
    """The keys of `vary`, resolved in a world, and their distributions."""

    def __init__(self, engine: MujocoWorld, stated: dict[str, Any]) -> None:
        self.engine = engine
        self.targets = {key: _target(engine, key) for key in stated}
        _check_distinct(list(self.targets.values()))
        self.distributions: dict[str, Distribution] = {
            key: parse_distribution(key, stated[key], self.targets[key].width) for key in stated
        }

    def example(self) -> World:
        """The world, or a copy of it in which springs, dampers and friction that vary are not zero."""
        varied = [target for target in self.targets.values() if target.field in ("damping", "stiffness", "friction")]
        if not varied:
            return self.engine.world
        world = copy_world(self.engine.world)
        dofs = [dof for joint in world.joints() for dof in joint.dofs[: joint.dof_count]]
        for target in varied:
            for number in target.dofs:
                setattr(dofs[number], target.field, 1.0)
        return world

    def draw(self, seed: int, indices: Indices) -> dict[str, Array]:
        """The values of each world, `(worlds, width)` by key."""
        return draw(self.distributions, {key: target.width for key, target in self.targets.items()}, seed, indices)

    @property
    def varies_initial_values(self) -> bool:
        return any(target.field in ("position", "velocity") for target in self.targets.values())

    def set_initial_values(self, drawn: dict[str, Array], positions: Array, velocities: Array) -> None:
        """Set drawn initial values in `(worlds, dofs)`."""
        for key, target in self.targets.items():
            if target.field in ("position", "velocity"):
                array = positions if target.field == "position" else velocities
                array[:, list(target.dofs)] = drawn[key]

    def apply(self, worlds: Worlds, drawn: dict[str, Array]) -> None:
        """Set the values of each world."""
        fields = _WorldFields(worlds)
        general_first = sorted(self.targets.items(), key=lambda item: item[1].what != "world")
        for key, target in general_first:  # the friction of one body overrides that of the world
            setter = _SETTERS.get((target.what, target.field))
            if setter is not None:
                setter(fields, target, drawn[key])
        fields.update_derived()
        worlds.parameters = {key: values[:, 0] if values.shape[1] == 1 else values for key, values in drawn.items()}


def _check_distinct(targets: Sequence[ParameterTarget]) -> None:
    """Raise if two keys set the same number: one of them would have no effect."""
    seen: dict[tuple[str, str, int], str] = {}
    for target in targets:
        for index in target.indices:
            other = seen.setdefault((target.what, target.field.replace("component", "gravity"), index), target.key)
            if other != target.key:
                raise ExoskelError(f"{other!r} and {target.key!r} set the same value")


class _WorldFields:
    """The model fields of many worlds while they are set."""

    def __init__(self, worlds: Worlds) -> None:
        self.worlds = worlds
        self.engine = worlds.engine
        self.model: Any = worlds.model
        self.field: Callable[[str], Array] = worlds.batch.expand
        self.friction = self.engine.compiled.stated_friction
        self.changes_masses = False
        self.changes_dynamics = False

    def update_derived(self) -> None:
        """Recompute the fields that depend on those that were set."""
        if self.changes_masses:
            self.worlds.batch.set_const()
        if self.changes_masses or self.changes_dynamics:
            shape = (self.worlds.count, self.model.nv)
            friction = np.broadcast_to(self.friction, shape)
            self.engine.compiled.set_derived_values(self.field, friction)
            self.worlds.joint_friction = self.friction


# --- setters: values are (worlds, width) ------------------------------------------------------------------


def _gravity(at: _WorldFields, target: ParameterTarget, values: Array) -> None:
    at.field("opt.gravity")[:] = values


def _gravity_component(at: _WorldFields, target: ParameterTarget, values: Array) -> None:
    at.field("opt.gravity")[:, target.number] = values[:, 0]


def _friction(at: _WorldFields, target: ParameterTarget, values: Array) -> None:
    _at_least_zero(target, values)
    at.field("geom_friction")[:, :, 0] = values


def _body_friction(at: _WorldFields, target: ParameterTarget, values: Array) -> None:
    _at_least_zero(target, values)
    own = np.flatnonzero(at.model.geom_bodyid == at.engine.body_ids[target.number])
    if not len(own):
        raise ExoskelError(f"{target.key!r} cannot vary: the body has no collision shapes")
    at.field("geom_friction")[:, own, 0] = values


def _mass(at: _WorldFields, target: ParameterTarget, values: Array) -> None:
    if not (values > 0.0).all():
        raise ExoskelError(f"{target.key!r} must be positive")
    engine, world = at.engine, at.engine.world
    body = list(world.bodies())[target.number]
    if not body.mass > 0.0:
        raise ExoskelError(f"{target.key!r} cannot vary: the body has no mass")
    joints = [(m, j) for m in world.models for j in m.joints if j.child is body]
    if joints[0][0].static:
        raise ExoskelError(f"{target.key!r} cannot vary: the body does not move")
    if any(joint.kind == "amotor" for _, joint in joints):
        raise ExoskelError(f"{target.key!r} cannot vary: the gains of its amotor depend on the mass")
    ids = engine.compiled.ids_sharing_mass(target.number)
    share = 1.0 / len(ids)
    at.field("body_mass")[:, ids] = share * values
    if body.inertia.moment is None or body.inertia.scales:
        at.field("body_inertia")[:, ids] = at.model.body_inertia[ids] * (values / body.mass)[:, :, None]
    at.changes_masses = True


def _damping(at: _WorldFields, target: ParameterTarget, values: Array) -> None:
    _at_least_zero(target, values)
    at.field("dof_damping")[:, _addresses(at, target)] = values
    at.changes_dynamics = True


def _stiffness(at: _WorldFields, target: ParameterTarget, values: Array) -> None:
    _at_least_zero(target, values)
    joints = np.unique(at.model.dof_jntid[_addresses(at, target)])
    at.field("jnt_stiffness")[:, joints] = values
    at.changes_dynamics = True


def _joint_friction(at: _WorldFields, target: ParameterTarget, values: Array) -> None:
    _at_least_zero(target, values)
    addresses = _addresses(at, target)
    at.friction = np.broadcast_to(at.friction, (at.worlds.count, at.model.nv)).copy()
    at.friction[:, addresses] = values
    at.field("dof_frictionloss")[:, addresses] = values
    at.field("opt.tolerance")[:] = TOLERANCE
    integrator = mujoco_import.load().mjtIntegrator(at.model.opt.integrator).name.removeprefix("mjINT_")
    for name, solver in friction_parameters(integrator, at.model.opt.timestep).items():
        at.field(f"dof_{name.removesuffix('friction')}")[:, addresses] = solver
    at.changes_dynamics = True


def _rest(at: _WorldFields, target: ParameterTarget, values: Array) -> None:
    coordinates = at.engine.coordinates
    addresses = dict(zip(coordinates.scene.tolist(), coordinates.qpos.tolist(), strict=True))
    if not all(dof in addresses for dof in target.dofs):
        raise ExoskelError(f"{target.key!r} cannot vary: MuJoCo's springs of ball and free joints rest at zero")
    at.field("qpos_spring")[:, [addresses[dof] for dof in target.dofs]] = values


def _armature(at: _WorldFields, target: ParameterTarget, values: Array) -> None:
    _at_least_zero(target, values)
    addresses = _addresses(at, target)
    if at.engine.compiled.prescribed_dofs[addresses].any():
        raise ExoskelError(f"{target.key!r} cannot vary: the motion of the joint is prescribed")
    at.field("dof_armature")[:, addresses] = values
    at.changes_masses = True


_SETTERS: dict[tuple[str, str], Callable[[_WorldFields, ParameterTarget, Array], None]] = {
    ("world", "gravity"): _gravity,
    ("world", "component"): _gravity_component,
    ("world", "friction"): _friction,
    ("body", "mass"): _mass,
    ("body", "friction"): _body_friction,
    ("joint", "damping"): _damping,
    ("joint", "stiffness"): _stiffness,
    ("joint", "friction"): _joint_friction,
    ("joint", "rest"): _rest,
    ("joint", "armature"): _armature,
}
_FIELDS = {
    "body": tuple(field for what, field in _SETTERS if what == "body"),
    "joint": (*(field for what, field in _SETTERS if what == "joint"), "position", "velocity"),
}


def _at_least_zero(target: ParameterTarget, values: Array) -> None:
    if (values < 0.0).any():
        raise ExoskelError(f"{target.key!r} must not be negative")


def _addresses(at: _WorldFields, target: ParameterTarget) -> Indices:
    """MuJoCo's degrees of freedom of coordinates: single ones, or all three of a ball."""
    coordinates = at.engine.coordinates
    single = dict(zip(coordinates.scene.tolist(), coordinates.qvel.tolist(), strict=True))
    found = [single[dof] for dof in target.dofs if dof in single]
    for group in coordinates.rotational if len(found) < len(target.dofs) else ():
        if group.kind == "ball":
            for ours, rows in zip(group.scene.tolist(), group.qvel.tolist(), strict=True):
                found += rows if set(ours) == set(target.dofs) else []
    if len(found) < len(target.dofs):
        raise ExoskelError(
            f"{target.key!r} cannot vary: free joints, and single axes of a ball, have no such value in MuJoCo"
        )
    return np.array(found, dtype=np.intp)


# --- resolving keys -----------------------------------------------------------------------------------------


def _target(engine: MujocoWorld, key: str) -> ParameterTarget:
    if key in ("gravity", "friction"):
        return ParameterTarget(key, "world", key)
    if key.startswith("gravity.") and key[8:] in _COMPONENTS:
        return ParameterTarget(key, "world", "component", _COMPONENTS[key[8:]])
    what, _, rest = key.partition(":")
    name, dot, field = rest.rpartition(".")
    kind = "joint" if what == "dof" else what
    if kind not in _FIELDS or not dot:
        raise ExoskelError(
            f"unknown key {key!r}; keys are gravity, gravity.z, friction, body:NAME.mass, joint:NAME.damping, "
            f"dof:NAME.position and similar{_hint(key, _WORLD_KEYS)}"
        )
    if field not in _FIELDS[kind]:
        hint = _hint(field, _FIELDS[kind])
        raise ExoskelError(f"{key!r}: {what} keys have the fields {', '.join(_FIELDS[kind])}, not {field!r}{hint}")
    if what == "body":
        return ParameterTarget(key, "body", field, number=_find(engine.bodies, name, "body"))
    return _joint_target(engine, key, what, name, field)


def _joint_target(engine: MujocoWorld, key: str, what: str, name: str, field: str) -> ParameterTarget:
    joints = [(m, j) for m in engine.world.models for j in m.joints if not j.loop]
    firsts = np.cumsum([0, *(joint.dof_count for _, joint in joints)]).tolist()
    if what == "joint":
        number = _find([(m.name, j.name) for m, j in joints], name, "joint")
        dofs = tuple(range(firsts[number], firsts[number + 1]))
    else:
        pairs = [(m.name, dof) for m, j in joints for dof in j.dof_names]
        dofs = (_find(pairs, name, "coordinate"),)
        number = int(np.searchsorted(firsts, dofs[0], side="right")) - 1
    _check_variable(key, field, *joints[number][:2])
    return ParameterTarget(key, "joint", field, number, dofs)


def _check_variable(key: str, field: str, model: Model, joint: Joint) -> None:
    if not joint.dof_count:
        raise ExoskelError(f"{key!r} cannot vary: the joint has no coordinates")
    if model.static:
        raise ExoskelError(f"{key!r} cannot vary: its model does not move")
    if joint.actuator in PRESCRIBED_ACTUATORS and field == "friction":
        raise ExoskelError(f"{key!r} cannot vary: the motion of the joint is prescribed")


def _find(pairs: Sequence[tuple[str, str]], name: str, kind: str) -> int:
    """The number of the item named `name`, or `model/name`."""
    same = [number for number, (model, own) in enumerate(pairs) if name in (own, qualified_name(model, own))]
    if len(same) == 1:
        return same[0]
    if same:
        known = ", ".join(qualified_name(*pairs[number]) for number in same[:5])
        raise ExoskelError(f"{name!r} is ambiguous: {known}")
    hint = _hint(name, [shown for pair in pairs for shown in (pair[1], qualified_name(*pair))])
    raise ExoskelError(f"unknown {kind} {name!r}{hint}")


def _hint(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, dict.fromkeys(known), n=3)
    return f"; did you mean {', '.join(near)}?" if near else ""
