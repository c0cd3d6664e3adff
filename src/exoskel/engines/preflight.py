"""Checks a world before an engine runs it: what the engine does not support, or only approximately."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cached_property
from math import isfinite, pi
from typing import Any

import numpy as np

from exoskel.diagnostics import Collector, Diagnostic, ExoskelError, NoSource, Severity, has_errors
from exoskel.engines.codes import CATALOGUE
from exoskel.engines.interface import Engine, InvalidInertia
from exoskel.engines.mujoco.step_choice import needs_impulse_step
from exoskel.engines.registry import engine as find_engine
from exoskel.formats.mjcf.model.inertials import MIN_MASS, Inertials
from exoskel.scene.body import Body
from exoskel.scene.item import Item
from exoskel.scene.joint import PRESCRIBED_ACTUATORS, UNLIMITED, Dof, Joint
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.lowering.joint_passes import mimicked_joint
from exoskel.scene.model import Model
from exoskel.scene.shape import Geometry, Mesh, Ray, TriMesh
from exoskel.scene.validation import InvalidSceneError, require_valid
from exoskel.scene.world import Scene, SceneLike, as_scene
from exoskel.source.convexity import MAX_SLABS, has_hollows
from exoskel.spatial import Array, unit

_PARALLEL = 1e-9
"""The sine of the angle up to which two axes are parallel."""


class NotRunnableError(ExoskelError):
    """An engine cannot run the world.  `diagnostics` has all errors, warnings and notes."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        self.diagnostics = diagnostics
        errors = [d for d in diagnostics if d.severity is Severity.ERROR]
        super().__init__(errors[0].message + (f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""))


class EngineWarning(UserWarning):
    """An engine simulates something differently from the scene.  `Simulation.diagnostics` has all of it."""


def preflight(
    world: SceneLike,
    engine: str = "mujoco",
    *,
    limits: bool | None = None,
    inertials: Inertials | None = None,
    integrator: str | None = None,
) -> list[Diagnostic]:
    """What `engine` does not support in a world (errors), or does differently (warnings, notes).

    For a scene, the diagnostics point into its file.  `inertials` are those of the world, if already known.
    `integrator` is MuJoCo's, if it is not the default.  The diagnostics of an invalid world are those of `check`.
    """
    chosen = find_engine(engine)
    scene = as_scene(world)
    try:
        require_valid(scene)
    except InvalidSceneError as problem:
        return problem.diagnostics
    return _Preflight(scene, chosen, limits, inertials, integrator).diagnostics()


def require(
    world: SceneLike,
    engine: str,
    *,
    limits: bool | None = None,
    inertials: Inertials | None = None,
    integrator: str | None = None,
) -> list[Diagnostic]:
    """Like `preflight`, but raises NotRunnableError for errors."""
    found = preflight(world, engine, limits=limits, inertials=inertials, integrator=integrator)
    if has_errors(found):
        raise NotRunnableError(found)
    return found


_MOST_WARNINGS = 5


def warn_about(diagnostics: list[Diagnostic], engine: str) -> None:
    """Issue an EngineWarning about the warnings among diagnostics, at the caller's line outside of this package."""
    found = [f"{d.message} ({d.code})" for d in diagnostics if d.severity is Severity.WARNING]
    if not found:
        return
    more = len(found) - _MOST_WARNINGS
    lines = [*found[:_MOST_WARNINGS], *([f"and {more} more: see `exoskel.preflight`"] if more > 0 else [])]
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).startswith("exoskel."):
        level, frame = level + 1, frame.f_back
    title = find_engine(engine).title
    warnings.warn(f"{title} differs from the scene: {'; '.join(lines)}", EngineWarning, stacklevel=level)


def engine_notes(diagnostics: list[Diagnostic]) -> list[dict[str, str]]:
    """Diagnostics of an engine for the metadata of a motion: code, severity and message."""
    return [{"code": one.code, "severity": one.severity.value, "message": one.message} for one in diagnostics]


class _Preflight:
    def __init__(
        self,
        scene: Scene,
        engine: Engine,
        limits: bool | None,
        inertials: Inertials | None = None,
        integrator: str | None = None,
    ) -> None:
        self.world = scene.world
        self.collectors = [Collector(CATALOGUE, document) for document in scene.documents]
        self.unplaced = Collector(CATALOGUE, NoSource(self.world.name))
        self.title = engine.title
        self.capabilities = engine.capabilities
        self.limits = limits
        self.inertials = inertials
        is_default = integrator is None or integrator.lower() == "discrete"
        takes_impulse_steps = engine.capabilities.impulse_steps and is_default
        self.takes_impulse_steps = takes_impulse_steps and needs_impulse_step(self.world, limits)

    def diagnostics(self) -> list[Diagnostic]:
        if self.capabilities.invalid_inertia is not InvalidInertia.ACCEPTED:
            self._check_inertias()
        if self.capabilities.stiff_constraints and (self.world.erp is not None or self.world.cfm is not None):
            self._report("EN013.world", self.world)
        for model in self.world.models:
            self._check_depth(model)
            self._check_stages(model)
            for body in model.bodies:
                self._check_body(body, model.static)
            for joint in model.joints:
                self._check_joint(model, joint)
        return [d for one in (self.unplaced, *self.collectors) for d in one.diagnostics]

    def _report(self, key: str, item: Item, **details: str | float) -> None:
        known = 0 <= item.document < len(self.collectors)
        collector = self.collectors[item.document] if known else self.unplaced
        values: dict[str, Any] = {"engine": self.title, **details}
        collector.report(key, item.node if known else -1, **values)

    # --- bodies ---------------------------------------------------------------------------------------

    def _check_inertias(self) -> None:
        repairs = (self.inertials or Inertials(list(self.world.bodies()))).repairs
        fixed = {id(body) for model in self.world.models if model.static for body in model.bodies} if repairs else ()
        for repair in (one for one in repairs if id(one.body) not in fixed):
            key = {"massless": "EN001", "triangle": "EN002", "moment": "EN003"}[repair.fault]
            if repair.fault == "triangle" and not self.capabilities.needs_triangle_inequality:
                continue
            if self.capabilities.invalid_inertia is InvalidInertia.REFUSED:
                key += ".refused"
            self._report(key, repair.body, body=repair.body.name, mass=MIN_MASS, change=repair.change)

    def _check_depth(self, model: Model) -> None:
        most = self.capabilities.max_depth
        if most is None or len(model.bodies) <= most or model.static:
            return
        depths: dict[int, int] = {}
        for joint in model.joints:  # parents precede children
            if not joint.loop:
                depths[id(joint.child)] = depths.get(id(joint.parent), 0) + 1
        if max(depths.values()) > most:
            self._report("EN005", model, model=model.name, depth=max(depths.values()), most=most)

    def _check_body(self, body: Body, fixed: bool) -> None:
        if body.soft is not None and not self.capabilities.soft_bodies:
            self._report("EN004", body, body=body.name)
        if body.state is not None and not body.state.enabled and not self.capabilities.sleeping_bodies:
            self._report("EN014", body, body=body.name)
        # A visual mesh that cannot be loaded does no harm, unless the moment of inertia is derived from it.
        needed = body.shapes if body.inertia.moment is None else body.collisions
        if self.capabilities.crashes_on_missing_meshes and any(
            isinstance(shape.geometry, Mesh) and shape.geometry.extent is None for shape in needed
        ):
            self._report("EN010.refused", body, body=body.name)
        for shape in body.collisions if self.capabilities.convex_meshes else ():
            if not shape.collidable or not isinstance(shape.geometry, Mesh | TriMesh | Ray):
                continue
            mesh = shape.geometry
            is_missing = isinstance(mesh, Ray) or (isinstance(mesh, Mesh) and mesh.extent is None)
            if not is_missing and _collides_exactly(mesh, fixed):
                continue
            kind = type(shape.geometry).__name__.lower()
            self._report("EN010" if is_missing else "EN011", shape, body=body.name, shape=kind)

    # --- joints ---------------------------------------------------------------------------------------

    def _check_joint(self, model: Model, joint: Joint) -> None:
        if joint.kind in self.capabilities.unsupported_joints:
            self._report("EN006", joint, kind=joint.kind, joint=joint.name)
            return
        if joint.loop and not self.capabilities.loops:
            self._report("EN006.loop", joint, joint=joint.name)
            return
        if joint.axes and not (self.capabilities.zero_axes or model.static):
            self._check_axes(joint)
        self._check_mimic(model, joint)
        if not model.static:
            self._check_limits(model, joint)
        if joint.actuator == "velocity" and self.capabilities.keeps_actuator_velocity:
            self._report("EN016.velocity", joint, joint=joint.name)
        self._check_motors(joint)
        self._check_actuator(model, joint)
        yields = joint._dofs is not None and joint.actuator not in PRESCRIBED_ACTUATORS and not model.static
        if yields and joint.kind in ("ball", "free") and self.capabilities.isotropic_balls:
            self._check_rotations(model, joint)

    def _check_axes(self, joint: Joint) -> None:
        if joint.collapses:
            self._report("EN019.collapse", joint, joint=joint.name)
        if not all(map(any, joint.axes)):
            self._report("EN019", joint, joint=joint.name)
        elif joint.plane == "arbitrary" and joint.kind in ("planar", "translational2d"):
            first, second = unit(joint.axes)
            if not np.linalg.norm(np.cross(first, second)) > _PARALLEL:
                self._report("EN019.plane", joint, joint=joint.name)

    def _check_mimic(self, model: Model, joint: Joint) -> None:
        if joint.mimic is None:
            return
        other = mimicked_joint(joint, model)
        if other is None or other.kind != joint.kind or joint.kind in ("ball", "free", "weld"):
            self._report("EN015", joint, joint=joint.name, other=joint.mimic.joint)
        elif not self.capabilities.mimic_joints:
            self._report("EN015.lost", joint, joint=joint.name, other=joint.mimic.joint)

    def _check_limits(self, model: Model, joint: Joint) -> None:
        enforced = joint.limits_enforced if self.limits is None else self.limits
        is_soft = self.capabilities.joint_forces_in_one_stage and not (self.takes_impulse_steps or joint.drives)
        # The limits of rotations of ball and free joints are cones, with messages of their own.
        single = (joint._dofs or [])[{"ball": 3, "free": 3}.get(joint.kind, 0) :]
        if is_soft and any(isfinite(v) for dof in single for v in dof.position_limits):
            if enforced:
                self._report("EN009.soft", joint, joint=joint.name)
            elif joint.actuator == "servo" and joint.kind != "free":
                self._report("EN009.servo", joint, joint=joint.name)
        if not enforced or joint._dofs is None:
            return
        if any(isfinite(v) for dof in joint._dofs for v in dof.velocity_limits):
            if self.takes_impulse_steps and joint.kind in ("ball", "free") and self._is_solved_together(model):
                self._report("EN009.contacts", joint, joint=joint.name, kind=joint.kind)
            elif not (self.capabilities.velocity_limits or self.takes_impulse_steps):
                self._report("EN009", joint, joint=joint.name)

    def _is_solved_together(self, model: Model) -> bool:
        """Whether MuJoCo's solver may handle a model: it can touch another body, or has equality constraints."""
        if any(joint.loop or joint.mimic is not None or joint.kind == "screw" for joint in model.joints):
            return True
        return len(self._colliding) > 1 and any(id(body) in self._colliding for body in model.bodies)

    @cached_property
    def _colliding(self) -> set[int]:
        """The bodies with shapes that collide."""
        bodies = self.world.bodies()
        return {id(body) for body in bodies if any(shape.collidable for shape in body.collisions)}

    def _check_motors(self, joint: Joint) -> None:
        stops = (stop for drive in joint.drives for stop in (drive.low_stop, drive.high_stop))
        has_stops = joint.kind == "amotor" and any(stop is not None and isfinite(stop) for stop in stops)
        if has_stops and not self.capabilities.angular_motor_stops:
            self._report("EN012", joint, joint=joint.name)
        if self.capabilities.stiff_constraints and (
            any(d.cfm is not None for d in joint.drives) or (joint.loop and any(d.stop_cfm for d in joint.drives))
        ):
            self._report("EN013", joint, joint=joint.name)
        if self.capabilities.stiff_constraints:
            for key in sorted(_differences_from_ode(joint)):
                self._report(key, joint, joint=joint.name)

    def _check_actuator(self, model: Model, joint: Joint) -> None:
        if self.takes_impulse_steps:
            return
        if joint.actuator == "servo" and joint.kind in ("ball", "free") and not self.capabilities.ball_servos:
            self._report("EN016", joint, joint=joint.name, kind=joint.kind)
        if joint.actuator == "velocity" and self.capabilities.joint_forces_in_one_stage and not model.static:
            self._report("EN016.reaction", joint, joint=joint.name)
        is_stopped = joint.actuator == "locked" and any(joint.velocities) and not model.static
        if is_stopped and self.capabilities.joint_forces_in_one_stage:
            self._report("EN016.locked", joint, joint=joint.name)

    def _check_stages(self, model: Model) -> None:
        """Report friction and servos beside springs or dampers, which DART solves after these."""
        if not self.capabilities.joint_forces_in_one_stage or self.takes_impulse_steps or model.static:
            return
        dynamic = [joint for joint in model.joints if joint.actuator not in PRESCRIBED_ACTUATORS]
        resists = any(j.actuator == "servo" or any(dof.friction for dof in j._dofs or ()) for j in dynamic)
        if resists and any(dof.damping or dof.stiffness for j in dynamic for dof in j._dofs or ()):
            self._report("EN017", model, model=model.name)
        elif any(dof.friction for j in dynamic for dof in j._dofs or ()):
            self._report("EN017.creep", model, model=model.name)

    def _check_rotations(self, model: Model, joint: Joint) -> None:
        rotations = (joint._dofs or [])[:3]
        self._check_cone(model, joint, rotations)
        if self.takes_impulse_steps:
            return
        for what in _differing_fields(joint, rotations):
            self._report("EN007", joint, joint=joint.name, what=what)
        if any(dof.stiffness and dof.rest for dof in rotations):
            self._report("EN007.rest", joint, joint=joint.name)
        if joint.kind == "free" and _has_dynamics(joint) and not self._has_parent_axes(joint):
            self._report("EN007.frame", joint, joint=joint.name)

    def _has_parent_axes(self, joint: Joint) -> bool:
        """Whether the frame of a free joint is that of its child, whose zero pose has the axes of its parent."""
        poses = {id(body): pose for body, pose in zip(self.world.bodies(), self._zero_poses, strict=True)}
        axes = np.eye(3) if joint.parent is None else poses[id(joint.parent)][:3, :3]
        return joint.pose.is_identity and bool(np.allclose(axes, poses[id(joint.child)][:3, :3], rtol=0, atol=1e-12))

    @cached_property
    def _zero_poses(self) -> Array:
        return Kinematics(self.world.models).zero_poses

    def _check_cone(self, model: Model, joint: Joint, rotations: list[Dof]) -> None:
        limited = joint.limits_enforced if self.limits is None else self.limits
        if not limited or all(dof.position_limits == UNLIMITED for dof in rotations):
            return
        if self.takes_impulse_steps:
            if self._is_solved_together(model):
                self._report("EN008.contacts", joint, joint=joint.name)
            return
        widest = max(max(-dof.position_limits[0], dof.position_limits[1]) for dof in rotations)
        if 0.0 < widest < pi:
            self._report("EN008", joint, joint=joint.name, angle=widest)
        else:
            self._report("EN008.open", joint, joint=joint.name)


def _collides_exactly(mesh: Geometry, fixed: bool) -> bool:
    """Whether a mesh is divided into its triangles because it is static, or is known to be convex.

    Mesh files are not read for this: the engine reads them, if it can run the world.
    """
    if not isinstance(mesh, TriMesh):
        return fixed
    return (fixed and len(mesh.triangles) <= MAX_SLABS) or not has_hollows(mesh.vertices, mesh.triangles)


def _differences_from_ode(joint: Joint) -> set[str]:
    """The messages about motors, stops and suspension of a joint that MuJoCo approximates."""
    if joint.kind == "amotor":
        return {"EN018.motor"} if any(drive.max_force for drive in joint.drives) else set()
    found = set()
    if joint.kind == "hinge2" and joint.drives and joint.drives[0].suspension_cfm:
        found.add("EN018.suspension")
    for dof, drive in zip(joint._dofs or (), joint.drives, strict=False):
        if not any(map(isfinite, dof.position_limits)):
            continue
        if drive.bounce:
            found.add("EN018.bounce")
        if drive.max_force and (drive.stop_cfm or drive.fudge_factor not in (None, 1.0)):
            found.add("EN018.stop")
    return found


def _has_dynamics(joint: Joint) -> bool:
    return any(dof.damping or dof.stiffness or dof.friction for dof in joint._dofs or ())


def _differing_fields(joint: Joint, rotations: list[Dof]) -> Iterator[str]:
    squares = joint.pose.matrix()[:3, :3] ** 2
    aligned = bool((abs(squares - squares.round()) < 1e-12).all())
    read: Callable[[str], set[Any]] = lambda field: {getattr(dof, field) for dof in rotations}  # noqa: E731
    for field in ("stiffness",) if aligned else ("stiffness", "damping", "friction"):
        if len(read(field)) > 1:
            yield field
