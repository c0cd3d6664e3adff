"""Compiling a world with MuJoCo: the model, and where the scene's coordinates, bodies and actuators are in it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property, partial
from typing import Any

import numpy as np

from exoskel.diagnostics import ExoskelError
from exoskel.formats.mjcf import mujoco_import
from exoskel.formats.mjcf.model.actuation import Actuation, ModelFields, is_prescribed
from exoskel.formats.mjcf.model.coordinates import Addresses, Coordinates, LateCoordinates
from exoskel.formats.mjcf.model.joints import needs_duplicate
from exoskel.formats.mjcf.model.layout import WorldLayout, duplicate_name, simulation_layout
from exoskel.formats.mjcf.model.soft_bodies import EXPLICIT_EDGES, BodySkin, SkinSprings, body_skins
from exoskel.formats.mjcf.reader.compiler import Workload
from exoskel.formats.mjcf.spec_writer import SpecWriter
from exoskel.formats.mjcf.tree import MjcfElement
from exoskel.scene.joint import spring_from_erp_cfm
from exoskel.scene.world import World
from exoskel.spatial import Array, Indices, Mask

INTEGRATORS = ("discrete", "Euler", "RK4", "implicit", "implicitfast")
MIN_IMPEDANCE = 1e-4
"""The share of the acceleration that a spring takes over: MuJoCo accepts no less."""


SMALL_WORLD = 200
"""The number of free bodies up to which MuJoCo needs little memory for a world without large meshes and soft skins.

Its data of 200 free bodies have 134 MB, and its compiler needs a few more."""
SMALL_MESHES = 10_000
"""Coordinates of vertices up to which MuJoCo needs little memory for the hulls of meshes."""
CONTACT_TOLERANCE = 1e-12
"""Tolerance of the solver if all constraints are contacts and limits: the last iteration reaches rounding errors."""


class CompiledWorld:
    """A world as a MuJoCo model.

    `stated_friction` is the scene's joint friction by MuJoCo's degrees of freedom; the model's own follows from it and
    from the inertia.
    """

    def __init__(
        self,
        world: World,
        *,
        limits: bool | None = None,
        integrator: str = "discrete",
        step: float | None = None,
        friction: float | None = None,
        layout: WorldLayout | None = None,
        skins: bool = True,
    ) -> None:
        self.world = world
        self.layout = layout or simulation_layout(world)
        self.skins = body_skins(world) if skins else []
        """The soft skins that it contains."""
        chosen = _integrator(integrator)
        self.model: Any = _compile(self.layout, limits, chosen, step, friction, self.skins)
        has_tendons = chosen != EXPLICIT_EDGES
        self.skin_springs = SkinSprings(self.skins, addresses(self.model).by_name, has_tendons) if self.skins else None
        """The springs of soft skins; None without soft skins."""
        self._late = LateCoordinates(self.layout, partial(addresses, self.model))
        if self.layout.has_axis_values:
            self._set_axis_values()
        self.stated_friction: Array = self.model.dof_frictionloss.copy()
        self.actuation = Actuation(self.layout, self.model, self._late)
        has_friction = not self.layout.is_plain and bool(self.stated_friction.any())
        if has_friction or self.layout.has_drives or self.model.nu:
            self.set_derived_values(lambda name: getattr(self.model, name), self.stated_friction)
        has_forces = has_friction or (not self.layout.is_plain and self.prescribed_dofs.any())
        if not (has_forces or self.model.neq or self.model.ntendon):
            self.model.opt.tolerance = CONTACT_TOLERANCE
        self.bodies = [(m.name, b.name) for m in world.models for b in m.bodies]
        self._duplicates = self._find_duplicates() if self.layout.has_loops else {}
        """MuJoCo's duplicates of bodies in loops, by the id of the body: see `loop_constraints`."""
        self.first_wrenches = self._find_first_wrenches()
        """Forces (N, at the centre of mass) and torques (N·m) of the first step, `(nbody, 6)`; empty if all are 0."""

    @property
    def coordinates(self) -> Coordinates:
        return self._late.coordinates

    # --- values that depend on the whole model --------------------------------------------------------

    def _set_axis_values(self) -> None:
        """Set damping and friction about each axis of a ball: MJCF has one value, a compiled model three."""
        for group in self.coordinates.rotational:
            for number, place in enumerate(group.members):
                if group.kind == "free" or place.joint._dofs is None:
                    continue
                for field, target in (("damping", self.model.dof_damping), ("friction", self.model.dof_frictionloss)):
                    values = group.axis_values(number, field)
                    if values is not None:
                        target[place.qvel : place.qvel + 3] = values

    def set_derived_values(self, fields: ModelFields, friction: Array) -> None:
        """Set what follows from the inertia of the whole: in one model, or in the fields of many worlds.

        `friction` is the scene's, `(..., nv)`.
        """
        if friction.any():
            self._scale_friction(fields, friction)
        if self.layout.has_drives and self.coordinates.soft_stops:
            self._soften_stops(fields)
        self.actuation.set_motor_gains(self.model, fields)

    def _soften_stops(self, fields: ModelFields) -> None:
        """Give ODE's soft stops their stiffness and damping: MuJoCo's are per unit of inertia there."""
        coordinates, model = self.coordinates, self.model
        addresses = dict(zip(coordinates.scene.tolist(), coordinates.qvel.tolist(), strict=True))
        inverses, references, impedances = (fields(n) for n in ("dof_invweight0", "jnt_solref", "jnt_solimp"))
        for coordinate, (erp, cfm) in coordinates.soft_stops.items():
            stiffness, damping = spring_from_erp_cfm(erp, cfm, model.opt.timestep)
            address = addresses[coordinate]
            joint = model.dof_jntid[address]
            references[..., joint, 0] = -stiffness * inverses[..., address]
            references[..., joint, 1] = -damping * inverses[..., address]
            impedances[..., joint, :2] = MIN_IMPEDANCE  # it adds a force, instead of imposing the acceleration

    def _scale_friction(self, fields: ModelFields, friction: Array) -> None:
        """Let friction act as in DART, on the bare inertia, without what implicit springs and dampers add to it.

        In MuJoCo the step h makes friction act on more: by 1 + (h d + h² k) / m for a single joint.
        """
        damping = fields("dof_damping")
        stiffness = np.zeros_like(damping)
        stiffness[..., self.model.jnt_dofadr] = fields("jnt_stiffness")
        h = self.model.opt.timestep
        fields("dof_frictionloss")[...] = friction * (
            1.0 + (h * damping + h * h * stiffness) * fields("dof_invweight0")
        )

    # --- bodies ---------------------------------------------------------------------------------------

    @cached_property
    def body_ids(self) -> Indices:
        """MuJoCo's numbers of the scene's bodies, in state order."""
        names, known = list(self.layout.body_names.values()), _names(self.model, self.model.name_bodyadr)
        if known[1:] == names:  # the first one is the world
            return np.arange(1, len(known), dtype=np.intp)
        numbers = {name: number for number, name in enumerate(known)}
        return np.array([numbers[name] for name in names], dtype=np.intp)

    @cached_property
    def point_ids(self) -> list[Indices]:
        """MuJoCo's numbers of the points of each skin; none if they do not move."""
        known = _names(self.model, self.model.name_bodyadr) if self.skins else []
        numbers = {name: number for number, name in enumerate(known)}
        return [
            np.array([numbers[skin.point_name(i)] for i in range(len(skin.skin))] if skin.moves else [], dtype=np.intp)
            for skin in self.skins
        ]

    def _find_duplicates(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for model in self.world.models:
            for joint in model.joints if not model.static else ():
                if joint.loop and needs_duplicate(joint):
                    number = int(self.model.body(duplicate_name(model, joint)).id)
                    found.setdefault(id(joint.child), []).append(number)
        return found

    def ids_sharing_mass(self, number: int) -> list[int]:
        """MuJoCo's bodies that share the mass of one body of the scene equally: itself, and its duplicates."""
        return [int(self.body_ids[number]), *self._duplicates.get(id(self.layout.bodies[number]), ())]

    @cached_property
    def mass_factors(self) -> Array:
        """What MuJoCo's masses have to be multiplied by to be the scene's: 0 for duplicates, `(nbody)`."""
        factors = np.ones(self.model.nbody)
        for number, body in enumerate(self.layout.bodies if self._duplicates else ()):
            duplicates = self._duplicates.get(id(body), [])
            factors[self.body_ids[number]] = 1 + len(duplicates)
            factors[duplicates] = 0.0
        return factors

    def _find_first_wrenches(self) -> Array:
        states = [body.state for body in self.layout.bodies]
        if not any(states):
            return np.empty((0, 6))
        out = np.zeros((self.model.nbody, 6))
        for state, number in zip(states, self.body_ids.tolist(), strict=True):
            if state is not None:
                out[number] = (*state.force, *state.torque)
        return out if out.any() else np.empty((0, 6))

    @cached_property
    def rotating_coordinates(self) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
        """The coordinates whose axes rotate relative to MuJoCo's: forces on them depend on the position."""
        groups = [group.scene.ravel() for group in self.coordinates.rotational]
        return np.concatenate(groups) if groups else np.empty(0, dtype=np.intp)

    @cached_property
    def prescribed_dofs(self) -> Mask:
        """Which of MuJoCo's degrees of freedom move regardless of forces."""
        return is_prescribed(self.actuation.armature)

    @cached_property
    def stated_armature(self) -> Array:
        """The scene's armature by MuJoCo's degrees of freedom, without that of prescribed joints and flywheels."""
        return np.where(self.prescribed_dofs, 0.0, self.actuation.armature)


def compile_seconds(world: World) -> float:
    """The least processor time in s that MuJoCo needs to compile a world."""
    bodies = dofs = entries = 0.0
    for model in world.models:
        bodies += len(model.bodies)
        above: dict[int, int] = {}
        """The number of coordinates between the world and each body."""
        for joint in model.joints if not model.static else ():  # parents precede children
            if not joint.loop:
                own, before = joint.dof_count, above.get(id(joint.parent), 0)
                above[id(joint.child)] = before + own
                dofs += own
                entries += own * (before + (own + 1) / 2)
                points = joint.child.soft.point_count if joint.child.soft is not None else 0
                bodies, dofs = bodies + points, dofs + 3 * points
                entries += 3 * points * (before + own + 2)
    return Workload(bodies, bodies, dofs, entries).seconds


def _compile(
    layout: WorldLayout,
    limits: bool | None,
    integrator: str,
    step: float | None,
    friction: float | None,
    skins: Sequence[BodySkin],
) -> Any:
    mujoco = mujoco_import.load()
    # MuJoCo would write its warnings to a file in the working directory; they are counted in its data anyway.
    mujoco.set_mju_user_warning(_ignore)
    writer = SpecWriter(layout.world, limits, integrator, friction, step, layout, skins)
    spec = writer.spec()
    is_small = _is_small(layout, writer.geoms.assets)
    run = mujoco_import.run_with_memory if is_small and not skins else mujoco_import.run_in_thread
    spec.compiler.usethread = not is_small  # for small meshes, starting threads takes longer than their hulls
    try:
        model = run(spec.compile)
    except (ValueError, RuntimeError, MemoryError, mujoco.FatalError) as error:
        raise ExoskelError(f"MuJoCo cannot compile the world: {error}") from None
    reset, sensor, island = _disable_flags(mujoco)
    # Values that are not finite stay so and are reported; MuJoCo would silently reset the state.
    flags = reset
    # Sensors are computed when they are read, and not in each step.
    flags |= sensor if model.nsensor else 0
    # A single tree of bodies is always one island of constraints.
    flags |= island if model.ntree == 1 else 0
    model.opt.disableflags |= flags
    return model


@cache
def _disable_flags(mujoco: Any) -> tuple[int, int, int]:
    """The bits that disable automatic resets, sensors and islands of constraints."""
    bits = mujoco.mjtDisableBit
    return int(bits.mjDSBL_AUTORESET), int(bits.mjDSBL_SENSOR), int(bits.mjDSBL_ISLAND)


def _is_small(layout: WorldLayout, meshes: Sequence[MjcfElement]) -> bool:
    """Whether MuJoCo needs little memory to compile a world: few bodies and shapes, and small meshes."""
    vertices: list[Any] = [mesh.attributes["vertex"] for mesh in meshes]
    if layout.dof_count > 6 * SMALL_WORLD or sum(map(len, vertices)) > SMALL_MESHES:
        return False
    return sum(len(body.collisions) + 1 for body in layout.bodies) <= 10 * SMALL_WORLD


def _ignore(_message: str) -> None:
    """Do nothing with a warning."""


def _integrator(name: str) -> str:
    if name in INTEGRATORS:
        return name
    chosen = next((known for known in INTEGRATORS if known.lower() == name.lower()), "")
    if not chosen:
        raise ExoskelError(f"unknown integrator {name!r}; choose one of {', '.join(INTEGRATORS)}")
    return chosen


def addresses(model: Any) -> Addresses:
    """The addresses of all joints at once: a lookup one by one creates an object each time."""
    names = _names(model, model.name_jntadr)
    pairs = zip(model.jnt_qposadr.tolist(), model.jnt_dofadr.tolist(), strict=True)
    return Addresses(int(model.nq), int(model.nv), dict(zip(names, pairs, strict=True)))


def actuator_numbers(model: Any) -> dict[str, int]:
    """The numbers of all actuators by name."""
    return {name: number for number, name in enumerate(_names(model, model.name_actuatoradr))}


def tendon_names(model: Any) -> list[str]:
    """The names of all tendons of a model of MuJoCo."""
    return _names(model, model.name_tendonadr)


def _names(model: Any, offsets: Any) -> list[str]:
    """The names of all objects of a kind, which follow each other in the model's text, from their offsets there."""
    if not len(offsets):
        return []
    text: bytes = model.names[int(offsets[0]) :]
    return text.decode().split("\0")[: len(offsets)]
