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
from exoskel.engines.mujoco.step_model import has_colliding_skins, has_stops, needs_impulse_step
from exoskel.engines.registry import engine as find_engine
from exoskel.formats.interface import ReadOptions
from exoskel.formats.mjcf.model.inertials import Inertials
from exoskel.formats.mjcf.reader.compiler import allowed_seconds
from exoskel.scene.body import Body, SoftBody
from exoskel.scene.inertia import MIN_MASS
from exoskel.scene.item import Item
from exoskel.scene.joint import PRESCRIBED_ACTUATORS, UNLIMITED, Dof, Drive, Interval, Joint, can_mimic
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.lowering.actuators import lower_actuators
from exoskel.scene.lowering.joint_passes import mimicked_joint
from exoskel.scene.model import Model
from exoskel.scene.shape import Geometry, Mesh, Ray, TriMesh
from exoskel.scene.soft_skin import has_surface
from exoskel.scene.validation import InvalidSceneError, require_valid
from exoskel.scene.world import Scene, SceneLike, as_scene
from exoskel.source.document import Document
from exoskel.source.surface import MAX_SLABS, has_hollows
from exoskel.spatial import Array, unit

_SURFACES = (Mesh, TriMesh, Ray)
_SINGLE_AXIS = ("revolute", "prismatic")
"""Shapes that an engine may not collide with as they are."""
_PARALLEL = 1e-9
"""The sine of the angle up to which two axes are parallel."""


class NotRunnableError(ExoskelError):
    """An engine cannot run the world.  `diagnostics` has all errors, warnings and notes."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        self.diagnostics: list[Diagnostic] = diagnostics
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
        self.scene = scene
        self.world = scene.world
        self.collectors = [Collector(CATALOGUE, document) for document in scene.documents]
        self.unplaced = Collector(CATALOGUE, NoSource(self.world.name))
        self.title = engine.title
        self.capabilities = engine.capabilities
        self.limits = limits
        self.inertials = inertials
        self.is_default_integrator = integrator is None or integrator.lower() == "discrete"

    @cached_property
    def takes_impulse_steps(self) -> bool:
        """Whether MuJoCo's own steps would differ from those of DART, and are replaced."""
        can_take_them = self.capabilities.impulse_steps and self.is_default_integrator
        return can_take_them and needs_impulse_step(self.world, self.limits)

    def diagnostics(self) -> list[Diagnostic]:
        if self.capabilities.invalid_inertia is not InvalidInertia.ACCEPTED:
            self._check_inertias()
        self._check_time()
        if self.capabilities.stiff_constraints and (self.world.erp is not None or self.world.cfm is not None):
            self._report("EN013.world", self.world)
        if not self.capabilities.actuators:
            self._check_actuators()
        if not self.capabilities.tendons:
            for tendon in self.world.tendons:
                self._report("EN022", self.world, tendon=tendon.name)
            for one in self.world.equalities:
                if one.active:
                    self._report("EN023", self.world, kind=one.kind, equality=one.name)
        unsupported, most = self.capabilities.unsupported_joints, self.capabilities.max_depth
        checked = self._bodies_to_check()
        for model in self.world.models:
            if most is not None and len(model.bodies) > most and not model.static:
                self._check_depth(model, most)
            joints: list[Joint] = []
            for joint in model.joints:
                if joint.axes or joint.loop or not joint.is_plain or joint.kind in unsupported:
                    joints.append(joint)
            if joints and not all(joint.is_plain for joint in joints):
                self._check_stages(model)
            for body in model.bodies if checked else ():
                if id(body) in checked:
                    self._check_body(body, model.static)
            for joint in joints:
                if not self._is_common(joint):
                    self._check_joint(model, joint)
        return [d for one in (self.unplaced, *self.collectors) for d in one.diagnostics]

    def _report(self, key: str, item: Item, **details: str | float) -> None:
        known = 0 <= item.document < len(self.collectors)
        collector = self.collectors[item.document] if known else self.unplaced
        values: dict[str, Any] = {"engine": self.title, **details}
        collector.report(key, item.node if known else -1, **values)

    def _check_actuators(self) -> None:
        """Report what actuators become in an engine that has none."""
        for one in lower_actuators(self.world).actuators:
            details: dict[str, str | float] = {"actuator": one.actuator.name, "control": one.control}
            if one.result == "dropped":
                if not one.actuator.tendon:  # reported with its tendon
                    self._report("EN021.integrator" if one.grows else "EN021.ignored", self.world, **details)
                continue
            if one.loses_activation:
                self._report("EN021.activation", self.world, **details)
            if one.result == "spring":
                self._report("EN021.limits" if one.loses_limits else "EN021.spring", self.world, **details)
            else:
                self._report("EN021.force" if one.fixes_control else "EN021", self.world, **details)

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

    def _check_depth(self, model: Model, most: int) -> None:
        depths: dict[int, int] = {}
        for joint in model.joints:  # parents precede children
            if not joint.loop:
                depths[id(joint.child)] = depths.get(id(joint.parent), 0) + 1
        if max(depths.values()) > most:
            self._report("EN005", model, model=model.name, depth=max(depths.values()), most=most)

    def _check_time(self) -> None:
        """Check that a world from a file is compiled within the limit that the file was read with."""
        if self.capabilities.compile_seconds is None or self.scene.options is None:
            return
        size = sum(len(one.data) for one in self.scene.documents if isinstance(one, Document))
        allowed = allowed_seconds(size, ReadOptions.of(self.scene).limits.seconds)
        if self.capabilities.compile_seconds(self.world) > allowed:
            self._report("EN005.time", self.world, limit=f"{allowed:g} s")

    @cached_property
    def _has_point_contacts(self) -> bool:
        """Whether soft skins may touch something, and collide at their points alone."""
        return self.capabilities.point_contacts and has_colliding_skins(self.world)

    def _bodies_to_check(self) -> set[int]:
        """The ids of the bodies that are soft, have a state of their own, or have meshes."""
        checks_all = self.capabilities.crashes_on_missing_meshes
        found: set[int] = set()
        for body in self.world.bodies():
            if checks_all or body.soft is not None or body.state is not None:
                found.add(id(body))
            for shape in body.collisions:
                if type(shape.geometry) in _SURFACES:
                    found.add(id(body))
        return found

    def _check_body(self, body: Body, fixed: bool) -> None:
        if body.soft is not None:
            self._check_skin(body, body.soft, fixed)
        if body.state is not None and not body.state.enabled and not self.capabilities.sleeping_bodies:
            self._report("EN014", body, body=body.name)
        if self.capabilities.crashes_on_missing_meshes:
            # A visual mesh that cannot be loaded does no harm, unless the moment of inertia is derived from it.
            needed = body.shapes if body.inertia.moment is None else body.collisions
            if any(isinstance(shape.geometry, Mesh) and shape.geometry.extent is None for shape in needed):
                self._report("EN010.refused", body, body=body.name)
        for shape in body.collisions if self.capabilities.convex_meshes else ():
            if not (isinstance(shape.geometry, _SURFACES) and shape.collidable):
                continue
            mesh = shape.geometry
            is_missing = isinstance(mesh, Ray) or (isinstance(mesh, Mesh) and mesh.extent is None)
            if not is_missing and _collides_exactly(mesh, fixed):
                continue
            kind = type(shape.geometry).__name__.lower()
            self._report("EN010" if is_missing else "EN011", shape, body=body.name, shape=kind)

    def _check_skin(self, body: Body, skin: SoftBody, fixed: bool) -> None:
        if not (self.capabilities.soft_bodies and _can_move(skin)):
            self._report("EN004", body, body=body.name)
        elif self._has_point_contacts and has_surface(skin) and not fixed:
            self._report("EN004.contact", body, body=body.name, count=skin.point_count)

    # --- joints ---------------------------------------------------------------------------------------

    def _is_common(self, joint: Joint) -> bool:
        """Whether a joint has one axis and is exact, as most joints with axes: it needs no further checks."""
        if joint.kind not in _SINGLE_AXIS or joint.loop or not any(joint.axes[0]) or joint.collapses:
            return False
        return joint.kind not in self.capabilities.unsupported_joints and (joint.is_plain or self._is_exact(joint))

    def _check_joint(self, model: Model, joint: Joint) -> None:
        if joint.kind in self.capabilities.unsupported_joints:
            self._report("EN006", joint, kind=joint.kind, joint=joint.name)
            return
        if joint.loop and not self.capabilities.loops:
            self._report("EN006.loop", joint, joint=joint.name)
            return
        if joint.axes and not (self.capabilities.zero_axes or model.static):
            self._check_axes(joint)
        if joint.is_plain or self._is_exact(joint):
            return
        if joint.mimic is not None:
            self._check_mimic(model, joint)
        if not model.static:
            self._check_limits(model, joint)
            if joint.drives:
                self._check_motors(model, joint)
        if joint.dof_count:
            if joint.actuator != "force":
                self._check_actuator(model, joint)
            self._check_armature(model, joint)
        yields = joint._dofs is not None and joint.actuator not in PRESCRIBED_ACTUATORS and not model.static
        if yields and joint.kind in ("ball", "free") and self.capabilities.isotropic_balls:
            self._check_rotations(model, joint)

    def _is_exact(self, joint: Joint) -> bool:
        """Whether the engine does all that a joint with springs, friction or limits does."""
        has_more = (
            joint.actuator != "force" or joint.kind in ("ball", "free") or joint.drives or joint.mimic is not None
        )
        return self.takes_impulse_steps and self.capabilities.armature and not has_more

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
        if other is None or not can_mimic(joint.kind, other.kind):
            self._report("EN015", joint, joint=joint.name, other=joint.mimic.joint)
        elif not self.capabilities.mimic_joints:
            self._report("EN015.lost", joint, joint=joint.name, other=joint.mimic.joint)

    def _check_limits(self, model: Model, joint: Joint) -> None:
        if joint._dofs is None:
            return
        enforced = joint.limits_enforced if self.limits is None else self.limits
        is_soft = self.capabilities.joint_forces_in_one_stage and not (self.takes_impulse_steps or joint.drives)
        # The limits of rotations of ball and free joints are cones, with messages of their own.
        single = joint._dofs[3 if joint.kind in ("ball", "free") else 0 :]
        if is_soft and any(isfinite(v) for dof in single for v in dof.position_limits):
            if enforced:
                self._report("EN009.soft", joint, joint=joint.name)
            elif joint.actuator == "servo" and joint.kind != "free":
                self._report("EN009.servo", joint, joint=joint.name)
        if enforced and any(
            dof.velocity_limits != UNLIMITED and _is_finite(dof.velocity_limits) for dof in joint._dofs
        ):
            if self.takes_impulse_steps and joint.kind in ("ball", "free") and self._is_solved_together(model):
                self._report("EN009.contacts", joint, joint=joint.name, kind=joint.kind)
            elif not (self.capabilities.velocity_limits or self.takes_impulse_steps):
                self._report("EN009", joint, joint=joint.name)

    def _is_solved_together(self, model: Model) -> bool:
        """Whether MuJoCo's solver may handle a model: it can touch another body, or has equality constraints."""
        for joint in model.joints:
            is_loop = joint.loop and joint.kind != "amotor"
            if is_loop or joint.mimic is not None or joint.kind == "screw":
                return True
        return len(self._colliding) > 1 and any(id(body) in self._colliding for body in model.bodies)

    @cached_property
    def _colliding(self) -> set[int]:
        """The bodies with shapes or soft skins that collide."""
        bodies = self.world.bodies()
        return {id(body) for body in bodies if body.soft or any(shape.collidable for shape in body.collisions)}

    def _check_motors(self, model: Model, joint: Joint) -> None:
        """Report how ODE's motors and stops differ: in contact only, if impulse steps are taken."""
        found = _differences_from_ode(joint)
        if self.capabilities.angular_motor_stops:
            found.discard("EN012")
        if not self.capabilities.stiff_constraints:
            found &= {"EN012"}
        if self.takes_impulse_steps:
            replaced = _CONTACT_KEYS if self._is_solved_together(model) else dict.fromkeys(_CONTACT_KEYS)
            found = {key for one in found if (key := replaced.get(one, one)) is not None}
            if self.capabilities.stiff_constraints and self._yields_to_impacts(joint):
                found.add("EN018.yield")
        for key in sorted(found):
            self._report(key, joint, joint=joint.name)

    def _yields_to_impacts(self, joint: Joint) -> bool:
        """Whether ODE's soft joints give way to the impacts at the stops of a joint, and to its motor there."""
        is_soft = self.world.cfm is None or self.world.cfm > _RIGID_CFM
        return is_soft and any(_has_impacts(*both) for both in zip(joint._dofs or (), joint.drives, strict=False))

    def _check_armature(self, model: Model, joint: Joint) -> None:
        values = {dof.armature for dof in joint._dofs or () if dof.armature}
        if not values or model.static or joint.actuator in PRESCRIBED_ACTUATORS:
            return
        if not self.capabilities.armature:
            self._report("EN020", joint, joint=joint.name, value=max(values))
        elif joint.kind in ("ball", "free") and len({dof.armature for dof in joint.dofs[:3]}) > 1:
            self._report("EN007", joint, joint=joint.name, what="armature")

    def _check_actuator(self, model: Model, joint: Joint) -> None:
        if joint.actuator == "velocity" and self.capabilities.keeps_actuator_velocity and not model.static:
            self._report("EN016.velocity", joint, joint=joint.name)
        is_ball_servo = joint.actuator == "servo" and joint.kind in ("ball", "free")
        if self.takes_impulse_steps:
            if is_ball_servo and not model.static and self._is_solved_together(model):
                self._report("EN016.contacts", joint, joint=joint.name, kind=joint.kind)
            return
        if is_ball_servo and not self.capabilities.ball_servos:
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
        moving = [joint for joint in model.joints if not joint.is_plain and joint.dof_count]
        dynamic = [joint for joint in moving if joint.actuator not in PRESCRIBED_ACTUATORS]
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


_CONTACT_KEYS = {
    "EN012": "EN012.contacts",
    "EN013": "EN013.contacts",
    **dict.fromkeys(("EN018.motor", "EN018.bounce", "EN018.stop"), "EN018.contacts"),
}
"""What differs in contact alone, if impulse steps are taken."""
_RIGID_CFM = 1e-6
"""The CFM up to which ODE's joints are practically rigid."""


def _has_impacts(dof: Dof, drive: Drive) -> bool:
    is_limited = any(map(isfinite, dof.position_limits))
    return is_limited and bool(drive.bounce or drive.max_force)


def _differences_from_ode(joint: Joint) -> set[str]:
    """The messages about motors, stops and suspension of a joint that MuJoCo itself approximates."""
    found = {"EN013"} if any(drive.max_force and drive.cfm is not None for drive in joint.drives) else set()
    if joint.loop and any(drive.stop_cfm for drive in joint.drives):
        found.add("EN013.loop")
    if joint.kind == "amotor":
        found |= {"EN018.motor"} if any(drive.max_force for drive in joint.drives) else set()
        return found | ({"EN012"} if any(map(has_stops, joint.drives)) else set())
    if joint.kind == "hinge2" and joint.drives[0].suspension_cfm:
        found.add("EN018.suspension")
    for dof, drive in zip(joint._dofs or (), joint.drives, strict=False):
        if not any(map(isfinite, dof.position_limits)):
            continue
        if drive.bounce:
            found.add("EN018.bounce")
        if drive.max_force and (drive.stop_cfm or drive.fudge_factor not in (None, 1.0)):
            found.add("EN018.stop")
    return found


def _is_finite(limits: Interval) -> bool:
    """Whether one of two limits is finite."""
    return isfinite(limits[0]) or isfinite(limits[1])


def _has_dynamics(joint: Joint) -> bool:
    return any(dof.damping or dof.stiffness or dof.friction for dof in joint._dofs or ())


def _differing_fields(joint: Joint, rotations: list[Dof]) -> Iterator[str]:
    squares = joint.pose.matrix()[:3, :3] ** 2
    aligned = bool((abs(squares - squares.round()) < 1e-12).all())
    read: Callable[[str], set[Any]] = lambda field: {getattr(dof, field) for dof in rotations}  # noqa: E731
    for field in ("stiffness",) if aligned else ("stiffness", "damping", "friction"):
        if len(read(field)) > 1:
            yield field


def _can_move(soft: SoftBody) -> bool:
    """Whether a skin has points that move: one without a geometry has none in DART, either."""
    return soft.geometry is None or has_surface(soft)
