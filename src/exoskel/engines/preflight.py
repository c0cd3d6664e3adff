"""What an engine cannot do with a world, or only nearly, said before it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import isfinite, pi
from typing import Any

from exoskel.diagnostics import Collector, Diagnostic, ExoskelError, NoSource, Severity, has_errors
from exoskel.engines.codes import CATALOGUE
from exoskel.formats.mjcf.model.inertials import MIN_MASS, Inertials
from exoskel.scene.body import Body
from exoskel.scene.item import Item
from exoskel.scene.joint import UNLIMITED, Dof, Joint
from exoskel.scene.shape import Mesh, Ray, TriMesh
from exoskel.scene.world import Model, Scene, World

TITLES = {"mujoco": "MuJoCo", "warp": "MuJoCo Warp", "dart": "DART", "ode": "ODE"}
DEEPEST = 1000
"""Bodies below each other that MuJoCo compiles: a little less than what its compiler's stack holds."""
LACKING: dict[str, tuple[str, ...]] = {
    "mujoco": (),
    "dart": ("screw", "translational2d", "hinge2", "amotor"),
    "ode": ("screw", "euler", "translational", "translational2d", "planar"),
}
"""Kinds of joint that an engine, or DART's parser, does not have."""


class NotRunnableError(ExoskelError):
    """An engine cannot run the world.  `diagnostics` holds everything there is to say."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        self.diagnostics = diagnostics
        errors = [d for d in diagnostics if d.severity is Severity.ERROR]
        super().__init__(errors[0].message + (f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""))


def preflight(
    world: World | Scene, engine: str = "mujoco", *, limits: bool | None = None, inertials: Inertials | None = None
) -> list[Diagnostic]:
    """What `engine` cannot do with a world (errors), or does otherwise than it says (warnings, infos).

    Given a scene, the diagnostics point into its file.  `inertials` are those of the world, if known already.
    """
    if engine not in TITLES:
        raise ExoskelError(f"unknown engine {engine!r}; choose one of {', '.join(TITLES)}")
    return _Preflight(world, engine, limits, inertials).diagnostics()


def require(
    world: World | Scene, engine: str, *, limits: bool | None = None, inertials: Inertials | None = None
) -> list[Diagnostic]:
    """The same, but an error is raised."""
    found = preflight(world, engine, limits=limits, inertials=inertials)
    if has_errors(found):
        raise NotRunnableError(found)
    return found


class _Preflight:
    def __init__(
        self, world: World | Scene, engine: str, limits: bool | None, inertials: Inertials | None = None
    ) -> None:
        self.world = world.world if isinstance(world, Scene) else world
        documents = world.documents if isinstance(world, Scene) else []
        self.collectors = [Collector(CATALOGUE, document) for document in documents]
        self.elsewhere = Collector(CATALOGUE, NoSource(self.world.name))
        self.title = TITLES[engine]
        self.engine = "mujoco" if engine == "warp" else engine  # the same model, stepped elsewhere
        self.limits = limits
        self.inertials = inertials

    def diagnostics(self) -> list[Diagnostic]:
        if self.engine != "dart":
            self._inertias()
            self._world()
        for model in self.world.models:
            self._depth(model)
            for body in model.bodies:
                self._body(body, model.static)
            for joint in model.joints:
                self._joint(model, joint)
        return [d for one in (self.elsewhere, *self.collectors) for d in one.diagnostics]

    def _say(self, key: str, item: Item, **details: str | float) -> None:
        known = 0 <= item.document < len(self.collectors)
        collector = self.collectors[item.document] if known else self.elsewhere
        told: dict[str, Any] = {"engine": self.title, **details}
        collector.report(key, item.node if known else -1, **told)

    # --- bodies ---------------------------------------------------------------------------------------

    def _inertias(self) -> None:
        repairs = (self.inertials or Inertials(list(self.world.bodies()))).repairs
        fixed = {id(body) for model in self.world.models if model.static for body in model.bodies} if repairs else ()
        for repair in (one for one in repairs if id(one.body) not in fixed):
            key = {"massless": "EN001", "triangle": "EN002", "moment": "EN003"}[repair.fault]
            if self.engine == "ode":
                if repair.fault == "triangle":
                    continue  # ODE takes it as it is
                key += ".refused"
            self._say(key, repair.body, body=repair.body.name, mass=MIN_MASS, change=repair.change)

    def _world(self) -> None:
        if self.engine == "mujoco" and (self.world.erp is not None or self.world.cfm is not None):
            self._say("EN013.world", self.world)

    def _depth(self, model: Model) -> None:
        if self.engine != "mujoco" or len(model.bodies) <= DEEPEST or model.static:
            return
        depths: dict[int, int] = {}
        for joint in model.joints:  # parents stand before children
            if not joint.loop:
                depths[id(joint.child)] = depths.get(id(joint.parent), 0) + 1
        if max(depths.values()) > DEEPEST:
            self._say("EN005", model, model=model.name, depth=max(depths.values()), most=DEEPEST)

    def _body(self, body: Body, fixed: bool) -> None:
        if body.soft is not None and self.engine != "dart":
            self._say("EN004", body, body=body.name)
        if body.state is not None and not body.state.enabled and self.engine != "ode":
            self._say("EN014", body, body=body.name)
        # DART takes a mesh that is only seen, and crashes where it has to know how large one is.
        needed = body.shapes if body.inertia.moment is None else body.collisions
        if self.engine == "dart" and any(
            isinstance(shape.geometry, Mesh) and shape.geometry.extent is None for shape in needed
        ):
            self._say("EN010.refused", body, body=body.name)
        for shape in body.collisions if self.engine == "mujoco" else ():
            if not shape.collidable or not isinstance(shape.geometry, Mesh | TriMesh | Ray):
                continue
            mesh = shape.geometry
            lost = isinstance(mesh, Ray) or (isinstance(mesh, Mesh) and mesh.extent is None)
            if fixed and not lost:
                continue  # it is taken apart into its triangles
            word = type(shape.geometry).__name__.lower()
            self._say("EN010" if lost else "EN011", shape, body=body.name, shape=word)

    # --- joints ---------------------------------------------------------------------------------------

    def _joint(self, model: Model, joint: Joint) -> None:
        if joint.kind in LACKING[self.engine]:
            self._say("EN006", joint, kind=joint.kind, joint=joint.name)
            return
        if joint.loop and self.engine == "dart":
            self._say("EN006.loop", joint, joint=joint.name)
            return
        self._mimic(model, joint)
        if self.engine != "dart":
            self._velocity_limits(joint)
        if self.engine == "ode" and joint.actuator == "velocity":
            self._say("EN016.velocity", joint, joint=joint.name)
        if self.engine == "mujoco":
            self._motors(joint)
            if joint.kind in ("ball", "free") and joint._dofs is not None:
                self._round(joint)

    def _mimic(self, model: Model, joint: Joint) -> None:
        if joint.mimic is None:
            return
        other = next((j for j in model.joints if j.name == joint.mimic.joint and not j.loop), None)
        if other is None or other.kind != joint.kind or joint.kind in ("ball", "free", "weld"):
            self._say("EN015", joint, joint=joint.name, other=joint.mimic.joint)
        elif self.engine != "mujoco":
            self._say("EN015.lost", joint, joint=joint.name, other=joint.mimic.joint)

    def _velocity_limits(self, joint: Joint) -> None:
        enforced = joint.limits_enforced if self.limits is None else self.limits
        if enforced and any(isfinite(v) for dof in joint._dofs or () for v in dof.velocity_limits):
            self._say("EN009", joint, joint=joint.name)

    def _motors(self, joint: Joint) -> None:
        stops = (stop for drive in joint.drives for stop in (drive.low_stop, drive.high_stop))
        if joint.kind == "amotor" and any(stop is not None and isfinite(stop) for stop in stops):
            self._say("EN012", joint, joint=joint.name)
        if any(d.cfm is not None for d in joint.drives) or (joint.loop and any(d.stop_cfm for d in joint.drives)):
            self._say("EN013", joint, joint=joint.name)
        if joint.actuator == "servo" and joint.kind in ("ball", "free"):
            self._say("EN016", joint, joint=joint.name, kind=joint.kind)

    def _round(self, joint: Joint) -> None:
        turning = (joint._dofs or [])[:3]
        for what in _uneven(joint, turning):
            self._say("EN007", joint, joint=joint.name, what=what)
        if any(dof.stiffness and dof.rest for dof in turning):
            self._say("EN007.rest", joint, joint=joint.name)
        if joint.kind == "free" and not joint.pose.is_identity and _has_dynamics(joint):
            self._say("EN007.frame", joint, joint=joint.name)
        self._cone(joint, turning)

    def _cone(self, joint: Joint, turning: list[Dof]) -> None:
        limited = joint.limits_enforced if self.limits is None else self.limits
        if not limited or all(dof.position_limits == UNLIMITED for dof in turning):
            return
        widest = max(max(-dof.position_limits[0], dof.position_limits[1]) for dof in turning)
        if 0.0 < widest < pi:
            self._say("EN008", joint, joint=joint.name, angle=widest)
        else:
            self._say("EN008.open", joint, joint=joint.name)


def _has_dynamics(joint: Joint) -> bool:
    return any(dof.damping or dof.stiffness or dof.friction for dof in joint._dofs or ())


def _uneven(joint: Joint, turning: list[Dof]) -> Iterator[str]:
    square = joint.pose.matrix()[:3, :3] ** 2
    aligned = bool((abs(square - square.round()) < 1e-12).all())
    read: Callable[[str], set[Any]] = lambda field: {getattr(dof, field) for dof in turning}  # noqa: E731
    for field in ("stiffness",) if aligned else ("stiffness", "damping", "friction"):
        if len(read(field)) > 1:
            yield field
