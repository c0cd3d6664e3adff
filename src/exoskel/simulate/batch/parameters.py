"""What can differ from world to world, and where MuJoCo keeps it.

| key | what |
|---|---|
| `gravity`, `gravity.x` | m/s², all of it or one component |
| `friction` | the coefficient of all contacts |
| `body:NAME.mass` | kg; a moment that was derived from shapes, or scales with the mass, follows |
| `body:NAME.friction` | the coefficient of contacts of one body |
| `joint:NAME.damping`, `stiffness`, `friction`, `rest` | as in `Dof`, for all coordinates of a joint |
| `joint:NAME.position`, `velocity` | initial values |
| `dof:NAME.…` | the same for one coordinate |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from exoskel.diagnostics import ExoskelError
from exoskel.engines.mujoco.mujoco_world import MujocoWorld
from exoskel.formats.mjcf.model.motors import STIFF_FRICTION
from exoskel.formats.mjcf.write import PRESCRIBED
from exoskel.scene.item import qualified_name
from exoskel.scene.joint import Joint
from exoskel.simulate.batch.distributions import Distribution, draw, law
from exoskel.simulate.batch.worlds import Worlds
from exoskel.spatial import Array

Numbers = NDArray[np.intp]
_COMPONENTS = {"x": 0, "y": 1, "z": 2}
_PLAIN = ("gravity", "friction", *(f"gravity.{axis}" for axis in _COMPONENTS))


class Target(Struct, frozen=True):
    """What a key names: the kind of thing, which one, and which of its values; coordinates by number."""

    key: str
    what: str
    field: str
    number: int = -1
    dofs: tuple[int, ...] = ()

    @property
    def width(self) -> int:
        return 3 if (self.what, self.field) == ("world", "gravity") else 1

    @property
    def places(self) -> tuple[int, ...]:
        """Which numbers of its kind it sets."""
        return self.dofs or (tuple(range(3)) if self.width == 3 else (self.number,))


class Variation:
    """The keys of `vary`, looked up in a world, and the laws they follow."""

    def __init__(self, engine: MujocoWorld, stated: dict[str, Any]) -> None:
        self.engine = engine
        self.targets = {key: _target(engine, key) for key in stated}
        _check_apart(list(self.targets.values()))
        self.laws: dict[str, Distribution] = {key: law(key, stated[key], self.targets[key].width) for key in stated}

    def draw(self, seed: int, indices: Numbers) -> dict[str, Array]:
        """What each world gets, `(worlds, width)` by key."""
        return draw(self.laws, {key: target.width for key, target in self.targets.items()}, seed, indices)

    def start(self, drawn: dict[str, Array], positions: Array, velocities: Array) -> None:
        """Put drawn initial values into `(worlds, dofs)`."""
        for key, target in self.targets.items():
            if target.field in ("position", "velocity"):
                array = positions if target.field == "position" else velocities
                array[:, list(target.dofs)] = drawn[key]

    def apply(self, worlds: Worlds, drawn: dict[str, Array]) -> None:
        """Give each world its own values."""
        adjusted = _Adjusted(worlds)
        general_first = sorted(self.targets.items(), key=lambda item: item[1].what != "world")
        for key, target in general_first:  # the friction of one body is that of all others no more
            setter = _SETTERS.get((target.what, target.field))
            if setter is not None:
                setter(adjusted, target, drawn[key])
        adjusted.settle()
        worlds.parameters = {key: values[:, 0] if values.shape[1] == 1 else values for key, values in drawn.items()}


def _check_apart(targets: Sequence[Target]) -> None:
    """Raise if two keys set the same number: one of them would not be what the worlds have."""
    seen: dict[tuple[str, str, int], str] = {}
    for target in targets:
        for place in target.places:
            other = seen.setdefault((target.what, target.field.replace("component", "gravity"), place), target.key)
            if other != target.key:
                raise ExoskelError(f"{other!r} and {target.key!r} set the same")


class _Adjusted:
    """The fields of many worlds while they are written."""

    def __init__(self, worlds: Worlds) -> None:
        self.worlds = worlds
        self.engine = worlds.engine
        self.model: Any = worlds.model
        self.field: Callable[[str], Array] = worlds.batch.expand
        self.friction = self.engine.compiled.stated_friction
        self.has_other_masses = False
        self.has_other_dynamics = False

    def settle(self) -> None:
        """Work out what follows from the values that were set."""
        if self.has_other_masses:
            self.worlds.batch.set_const()
        if self.has_other_masses or self.has_other_dynamics:
            shape = (self.worlds.count, self.model.nv)
            friction = np.broadcast_to(self.friction, shape)
            self.engine.compiled.set_derived_values(self.field, friction)


# --- setters: values are (worlds, width) ------------------------------------------------------------------


def _gravity(at: _Adjusted, target: Target, values: Array) -> None:
    at.field("opt.gravity")[:] = values


def _gravity_component(at: _Adjusted, target: Target, values: Array) -> None:
    at.field("opt.gravity")[:, target.number] = values[:, 0]


def _friction(at: _Adjusted, target: Target, values: Array) -> None:
    _at_least_zero(target, values)
    at.field("geom_friction")[:, :, 0] = values


def _body_friction(at: _Adjusted, target: Target, values: Array) -> None:
    _at_least_zero(target, values)
    own = np.flatnonzero(at.model.geom_bodyid == at.engine.body_ids[target.number])
    if not len(own):
        raise ExoskelError(f"{target.key!r}: that body touches nothing")
    at.field("geom_friction")[:, own, 0] = values


def _mass(at: _Adjusted, target: Target, values: Array) -> None:
    if not (values > 0.0).all():
        raise ExoskelError(f"{target.key!r} has to stay positive")
    engine, world = at.engine, at.engine.world
    body = list(world.bodies())[target.number]
    if not body.mass > 0.0:
        raise ExoskelError(f"{target.key!r} cannot vary: the body has no mass to begin with")
    holders = [(m, j) for m in world.models for j in m.joints if j.child is body]
    if holders[0][0].static:
        raise ExoskelError(f"{target.key!r} cannot vary: the body does not move")
    if any(joint.kind == "amotor" for _, joint in holders):
        raise ExoskelError(f"{target.key!r} cannot vary: an amotor is as strong as the mass it was made for")
    ids = engine.compiled.ids_sharing_mass(target.number)
    share = 1.0 / len(ids)
    at.field("body_mass")[:, ids] = share * values
    if body.inertia.moment is None or body.inertia.scales:
        at.field("body_inertia")[:, ids] = at.model.body_inertia[ids] * (values / body.mass)[:, :, None]
    at.has_other_masses = True


def _damping(at: _Adjusted, target: Target, values: Array) -> None:
    _at_least_zero(target, values)
    at.field("dof_damping")[:, _addresses(at, target)] = values
    at.has_other_dynamics = True


def _stiffness(at: _Adjusted, target: Target, values: Array) -> None:
    _at_least_zero(target, values)
    joints = np.unique(at.model.dof_jntid[_addresses(at, target)])
    at.field("jnt_stiffness")[:, joints] = values
    at.has_other_dynamics = True


def _joint_friction(at: _Adjusted, target: Target, values: Array) -> None:
    _at_least_zero(target, values)
    addresses = _addresses(at, target)
    at.friction = np.broadcast_to(at.friction, (at.worlds.count, at.model.nv)).copy()
    at.friction[:, addresses] = values
    at.field("dof_frictionloss")[:, addresses] = values
    at.field("dof_solref")[:, addresses] = STIFF_FRICTION
    at.has_other_dynamics = True


def _rest(at: _Adjusted, target: Target, values: Array) -> None:
    coordinates = at.engine.coordinates
    places = dict(zip(coordinates.scene.tolist(), coordinates.qpos.tolist(), strict=True))
    if not all(dof in places for dof in target.dofs):
        raise ExoskelError(f"{target.key!r} cannot vary: MuJoCo's springs of ball and free joints rest at zero")
    at.field("qpos_spring")[:, [places[dof] for dof in target.dofs]] = values


_SETTERS: dict[tuple[str, str], Callable[[_Adjusted, Target, Array], None]] = {
    ("world", "gravity"): _gravity,
    ("world", "component"): _gravity_component,
    ("world", "friction"): _friction,
    ("body", "mass"): _mass,
    ("body", "friction"): _body_friction,
    ("joint", "damping"): _damping,
    ("joint", "stiffness"): _stiffness,
    ("joint", "friction"): _joint_friction,
    ("joint", "rest"): _rest,
}
_FIELDS = {
    "body": tuple(field for what, field in _SETTERS if what == "body"),
    "joint": (*(field for what, field in _SETTERS if what == "joint"), "position", "velocity"),
}


def _at_least_zero(target: Target, values: Array) -> None:
    if (values < 0.0).any():
        raise ExoskelError(f"{target.key!r} must not become negative")


def _addresses(at: _Adjusted, target: Target) -> Numbers:
    """MuJoCo's degrees of freedom behind coordinates: one by one, or all three of a ball."""
    coordinates = at.engine.coordinates
    plain = dict(zip(coordinates.scene.tolist(), coordinates.qvel.tolist(), strict=True))
    found = [plain[dof] for dof in target.dofs if dof in plain]
    for group in coordinates.rotational if len(found) < len(target.dofs) else ():
        if group.kind == "ball":
            for ours, rows in zip(group.scene.tolist(), group.qvel.tolist(), strict=True):
                found += rows if set(ours) == set(target.dofs) else []
    if len(found) < len(target.dofs):
        raise ExoskelError(f"{target.key!r} cannot vary: a free joint, or one axis of a ball, has none of its own")
    return np.array(found, dtype=np.intp)


# --- looking up ---------------------------------------------------------------------------------------------


def _target(engine: MujocoWorld, key: str) -> Target:
    if key in ("gravity", "friction"):
        return Target(key, "world", key)
    if key.startswith("gravity.") and key[8:] in _COMPONENTS:
        return Target(key, "world", "component", _COMPONENTS[key[8:]])
    what, _, rest = key.partition(":")
    name, dot, field = rest.rpartition(".")
    kind = "joint" if what == "dof" else what
    if kind not in _FIELDS or not dot:
        raise ExoskelError(
            f"{key!r} names nothing that can vary; keys are gravity, gravity.z, friction, body:NAME.mass, "
            f"joint:NAME.damping, dof:NAME.position and the like{_hint(key, _PLAIN)}"
        )
    if field not in _FIELDS[kind]:
        hint = _hint(field, _FIELDS[kind])
        raise ExoskelError(f"{key!r}: a {what} has {', '.join(_FIELDS[kind])} to vary, not {field!r}{hint}")
    if what == "body":
        return Target(key, "body", field, number=_find(engine.bodies, name, "body"))
    return _joint_target(engine, key, what, name, field)


def _joint_target(engine: MujocoWorld, key: str, what: str, name: str, field: str) -> Target:
    held = [(m, j) for m in engine.world.models for j in m.joints if not j.loop]
    firsts = np.cumsum([0, *(joint.dof_count for _, joint in held)]).tolist()
    if what == "joint":
        number = _find([(m.name, j.name) for m, j in held], name, "joint")
        dofs = tuple(range(firsts[number], firsts[number + 1]))
    else:
        pairs = [(m.name, dof) for m, j in held for dof in j.dof_names]
        dofs = (_find(pairs, name, "coordinate"),)
        number = int(np.searchsorted(firsts, dofs[0], side="right")) - 1
    _check_driven(key, field, *held[number][:2])
    return Target(key, "joint", field, number, dofs)


def _check_driven(key: str, field: str, model: Any, joint: Joint) -> None:
    if not joint.dof_count:
        raise ExoskelError(f"{key!r} cannot vary: the joint has no coordinates")
    if model.static:
        raise ExoskelError(f"{key!r} cannot vary: its model does not move")
    if joint.actuator in PRESCRIBED and field == "friction":
        raise ExoskelError(f"{key!r} cannot vary: the joint moves as it is told, whatever the friction")


def _find(pairs: Sequence[tuple[str, str]], name: str, word: str) -> int:
    """The number of what is called `name`, or `model/name`."""
    same = [number for number, (model, own) in enumerate(pairs) if name in (own, qualified_name(model, own))]
    if len(same) == 1:
        return same[0]
    if same:
        known = ", ".join(qualified_name(*pairs[number]) for number in same[:5])
        raise ExoskelError(f"several things are called {name!r}: {known}")
    hint = _hint(name, [shown for pair in pairs for shown in (pair[1], qualified_name(*pair))])
    raise ExoskelError(f"there is no {word} {name!r}{hint}")


def _hint(word: str, known: Sequence[str]) -> str:
    near = get_close_matches(word, dict.fromkeys(known), n=3)
    return f"; did you mean {', '.join(near)}?" if near else ""
