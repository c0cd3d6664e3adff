"""Scenes as models of Newton: no document is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from inspect import signature
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from exoskel import spatial
from exoskel.diagnostics import ExoskelError
from exoskel.engines.live_parts import (
    CARTESIAN,
    NameMap,
    PlacedJoint,
    actuator_losses,
    commanded_losses,
    common_losses,
    common_value,
    dof_losses,
    placed_joints,
    shape_labels,
    simple_motions,
)
from exoskel.scene.body import Body
from exoskel.scene.collision_filter import connected_pairs
from exoskel.scene.joint import Dof, Joint
from exoskel.scene.lowering.actuators import lower_actuators
from exoskel.scene.model import Model
from exoskel.scene.shape import Box, Capsule, Cone, Cylinder, Ellipsoid, Plane, Ray, Shape, Sphere, simplest_geometry
from exoskel.scene.summary import moments
from exoskel.scene.validation import require_valid_world
from exoskel.scene.world import SceneLike, World
from exoskel.source.surface import Surfaces
from exoskel.spatial import Array

if TYPE_CHECKING:
    import newton


class NewtonModel(Struct, frozen=True, eq=False):
    """A world in Newton: a builder, which can be edited, replicated and finalized.

    `names` are Newton's labels by kind (`"body"`, `"joint"`, `"shape"`) and by path in the scene, such as
    `"model/body"`.  `losses` lists what Newton approximates or lacks.
    """

    builder: newton.ModelBuilder
    names: Mapping[str, Mapping[str, str]]
    losses: tuple[str, ...] = ()

    def model(self, device: Any = None) -> newton.Model:
        """Finalize the builder on a device, by default that of Warp."""
        return self.builder.finalize(device=device)

    def body(self, path: str) -> int:
        """The number of a body in Newton, by its path in the scene, such as `"model/body"`."""
        return int(self.builder.body_label.index(self.names["body"][path]))

    def __repr__(self) -> str:
        return f"NewtonModel({self.builder.body_count} bodies, {self.builder.joint_dof_count} degrees of freedom)"


def to_newton(scene: SceneLike) -> NewtonModel:
    """Build a `newton.ModelBuilder` with the bodies, joints and shapes of a scene, in its initial state.

    Universal, euler, planar and translational joints become D6 joints.  Springs become position drives.  Static
    bodies are fixed to the world.  The time step is not part of it.  Raises ExoskelError for invalid scenes and
    several worlds.
    """
    lowered = lower_actuators(require_valid_world(scene))
    try:
        import newton
    except ImportError:
        raise ExoskelError("Newton is not installed: pip install 'exoskel[newton]'") from None
    made = _NewtonBuilder(newton, lowered.world)
    made.build()
    return NewtonModel(
        made.builder, made.names.listed(), tuple(dict.fromkeys([*made.losses, *actuator_losses(lowered)]))
    )


class _NewtonBuilder:
    """Fills a builder with one world."""

    def __init__(self, newton: Any, world: World) -> None:
        self.newton = newton
        self.world = world
        self.builder = newton.ModelBuilder(gravity=world.gravity)
        self.names = NameMap()
        self.losses = [*common_losses(world), *_unsupported(world)]
        self.numbers: dict[int, int] = {}
        """Numbers of bodies by the id of the body."""
        self.shapes: dict[int, list[int]] = {}
        """Numbers of collision shapes by the id of the body."""
        self._surfaces = Surfaces()

    def build(self) -> None:
        bodies = list(self.world.bodies())
        inertias = dict(zip(map(id, bodies), moments(bodies).tolist(), strict=True))
        articulations: dict[int, list[int]] = {}
        for placed in placed_joints(self.world):
            body = placed.joint.child
            self.numbers[id(body)] = self.builder.add_link(
                xform=_transform(placed.pose),
                com=body.com,
                inertia=spatial.moment_matrix(inertias[id(body)]),
                mass=body.mass,
                label=self.names.unique("body", placed.model.name, body.name),
                lock_inertia=True,
            )
            self._add_shapes(placed.model, body)
            articulations.setdefault(id(placed.model), []).append(self._add_joint(placed))
        for model in self.world.models:
            if id(model) in articulations:
                self.builder.add_articulation(articulations[id(model)], label=model.name)
        self._filter_collisions()

    # --- joints ---------------------------------------------------------------------------------------

    def _add_joint(self, placed: PlacedJoint) -> int:
        joint, builder = placed.joint, self.builder
        parent = -1 if joint.parent is None else self.numbers[id(joint.parent)]
        options: dict[str, Any] = {
            "parent_xform": _transform(placed.from_parent),
            "child_xform": _transform(placed.from_child),
            "label": self.names.unique("joint", placed.model.name, joint.name),
            "collision_filter_parent": False,
        }
        child = self.numbers[id(joint.child)]
        if placed.model.static or joint.kind == "weld":
            if placed.model.static:
                options["parent_xform"] = _transform(placed.relative @ placed.from_child)
            return int(builder.add_joint_fixed(parent, child, **options))
        if joint.kind in ("free", "amotor"):
            number = builder.add_joint_free(child, parent=parent, **options)
            self._set_free_state(number, placed)
        elif joint.kind == "ball":
            options |= {name: value for name in _OF_BALLS if (value := common_value(joint, name, _ALL))}
            number = builder.add_joint_ball(parent, child, **options)
            q = np.array(joint.positions)  # Newton's angular velocity is in the axes of the joint in the parent
            self._set_values(number, _quaternion(q), spatial.exp(q) @ np.array(joint.velocities))
        else:
            number = self._add_axes(joint, parent, child, options)
        return int(number)

    def _add_axes(self, joint: Joint, parent: int, child: int, options: dict[str, Any]) -> int:
        motions = [(one.rotates, one.axis, one.dof) for one in simple_motions(joint)]
        motions = motions or [(True, spatial.unit(np.array(joint.axes[0])), 0)]  # a screw
        linear = [self._axis(joint, axis, joint.dofs[dof]) for rotates, axis, dof in motions if not rotates]
        angular = [self._axis(joint, axis, joint.dofs[dof]) for rotates, axis, dof in motions if rotates]
        kinds = self.newton.JointType
        kind = kinds.D6 if len(motions) > 1 else kinds.REVOLUTE if angular else kinds.PRISMATIC
        number = self.builder.add_joint(kind, parent, child, linear_axes=linear, angular_axes=angular, **options)
        order = [dof for *_, dof in motions]
        self._set_values(number, np.array(joint.positions)[order], np.array(joint.velocities)[order])
        return int(number)

    def _axis(self, joint: Joint, axis: Array, dof: Dof) -> Any:
        options: dict[str, Any] = {"damping": dof.damping, "friction": dof.friction}
        if joint.limits_enforced:
            low, high = dof.position_limits
            options.update(limit_lower=low, limit_upper=high)
        if dof.armature:
            options["armature"] = dof.armature
        if dof.stiffness:
            options.update({"target_ke": dof.stiffness, target_option(self.builder.JointDofConfig): dof.rest})
        for name, limits in (("effort_limit", dof.force_limits), ("velocity_limit", dof.velocity_limits)):
            if isfinite(bound := min(map(abs, limits))):
                options[name] = bound
        return self.builder.JointDofConfig(axis=axis.tolist(), **options)

    def _set_free_state(self, number: int, placed: PlacedJoint) -> None:
        q = np.array(placed.joint.positions)
        linear, angular = placed.free_twist()
        # Newton's velocity is that of the centre of mass, in the axes of the joint in the parent.
        com = spatial.inverse(placed.from_child) @ np.array([*placed.joint.child.com, 1.0])
        rotation = spatial.exp(q[:3])
        speed = rotation @ (linear + np.cross(angular, com[:3]))
        self._set_values(number, np.concatenate([q[3:], _quaternion(q)]), np.concatenate([speed, rotation @ angular]))

    def _set_values(self, number: int, q: Array, v: Array) -> None:
        builder = self.builder
        first, first_velocity = builder.joint_q_start[number], builder.joint_qd_start[number]
        builder.joint_q[first : first + len(q)] = q.tolist()
        builder.joint_qd[first_velocity : first_velocity + len(v)] = v.tolist()

    # --- shapes ---------------------------------------------------------------------------------------

    def _add_shapes(self, model: Model, body: Body) -> None:
        # A negative group collides with all shapes but its own.
        group = -1 if self.world.self_collision or model.static else -2 - self.world.models.index(model)
        for label, shape in shape_labels(body):
            is_visual = label.startswith("visual")
            config = self.builder.ShapeConfig(
                density=0.0,
                collision_group=group,
                has_shape_collision=not is_visual and shape.collidable,
                has_particle_collision=not is_visual and shape.collidable,
                is_visible=is_visual or not body.visuals,
                collision_filter_parent=False,
            )
            if shape.friction is not None:
                config.mu = shape.friction
            if shape.restitution is not None:
                config.restitution = shape.restitution
            name = self.names.unique("shape", model.name, body.name, label)
            number = self._add_shape(self.numbers[id(body)], shape, config, name)
            if number is None:
                self.losses.append(f"a {shape.kind} of body {body.name!r} is missing in Newton")
            elif not is_visual and shape.collidable:
                self.shapes.setdefault(id(body), []).append(number)

    def _add_shape(self, body: int, shape: Shape, config: Any, label: str) -> int | None:
        options: dict[str, Any] = {"xform": _transform(shape.pose.matrix()), "cfg": config, "label": label}
        if shape.color is not None:
            options["color"] = shape.color[:3]
        add = self.builder
        match simplest_geometry(shape.geometry):
            case Box(size=(x, y, z)):
                return int(add.add_shape_box(body, hx=x / 2, hy=y / 2, hz=z / 2, **options))
            case Sphere(radius=radius):
                return int(add.add_shape_sphere(body, radius=radius, **options))
            case Ellipsoid(size=(x, y, z)):
                return int(add.add_shape_ellipsoid(body, rx=x / 2, ry=y / 2, rz=z / 2, **options))
            case Cylinder(radius=radius, height=height):
                return int(add.add_shape_cylinder(body, radius=radius, half_height=height / 2, **options))
            case Capsule(radius=radius, height=height):
                return int(add.add_shape_capsule(body, radius=radius, half_height=height / 2, **options))
            case Cone(radius=radius, height=height, centred=True):
                return int(add.add_shape_cone(body, radius=radius, half_height=height / 2, **options))
            case Plane(normal=normal, offset=offset):
                from_z = spatial.rotation_from_z(np.array([normal]))[0]
                pose = shape.pose.matrix() @ spatial.transform(from_z, offset * np.array(normal))
                options["xform"] = _transform(pose)
                return int(add.add_shape_plane(plane=None, width=0.0, length=0.0, body=body, **options))
            case Ray():
                return None
        surface = self._surfaces.of(shape.geometry)
        if surface is None:
            return None
        vertices, triangles = surface.merge_vertices()
        mesh = self.newton.Mesh(vertices, triangles.ravel(), compute_inertia=False)
        return int(add.add_shape_mesh(body, mesh=mesh, **options))

    def _filter_collisions(self) -> None:
        """Exempt bodies that joints connect: without self-collision, the groups of the models exempt them."""
        if not self.world.self_collision:
            return
        for model in self.world.models:
            for parent, child in connected_pairs(model):
                for first in self.shapes.get(id(parent), ()):
                    for second in self.shapes.get(id(child), ()):
                        self.builder.add_shape_collision_filter_pair(first, second)


def target_option(config: Callable[..., object]) -> str:
    """The name of the position that a drive holds: Newton 1.7 has another one, which is deprecated in 1.8."""
    return "target_q" if "target_q" in signature(config).parameters else "target_pos"


def _transform(matrix: Array) -> Any:
    import warp

    w, x, y, z = spatial.quaternion(matrix[:3, :3]).tolist()
    return warp.transform(matrix[:3, 3].tolist(), (x, y, z, w))


def _quaternion(rotation_vector: Array) -> Array:
    """The rotation x y z w of a rotation vector, the first three numbers."""
    w, x, y, z = spatial.quaternion(spatial.exp(rotation_vector[:3])).tolist()
    return np.array([x, y, z, w])


_ALL = slice(None)
_OF_BALLS = ("damping", "armature")
"""What Newton has of a ball joint: in the axes of the parent, so it must be the same about all axes."""
_OF_AXES = frozenset(
    {"position_limits", "velocity_limits", "force_limits", "damping", "friction", "stiffness", "armature"}
)


def _supported(joint: Joint) -> frozenset[str]:
    """The fields of degrees of freedom that are included."""
    if joint.kind == "ball":
        return frozenset(name for name in _OF_BALLS if common_value(joint, name, _ALL) is not None)
    return frozenset() if joint.kind in CARTESIAN else _OF_AXES


def _uneven_limits(joint: Joint) -> Iterable[str]:
    for field, words in (("velocity_limits", "velocity"), ("force_limits", "force")):
        if any(-low != high for low, high in (getattr(dof, field) for dof in joint._dofs or ())):
            yield f"joint {joint.name!r}: Newton limits the {words} alike in both directions, to the smaller bound"


def _unsupported(world: World) -> Iterable[str]:
    """Yield what Newton has no place for."""
    for joint in (joint for model in world.models if not model.static for joint in model.joints):
        if joint.loop:
            yield f"joint {joint.name!r} ({joint.kind}) closes a loop, which is open in Newton"
            continue
        if joint.kind == "hinge2":
            yield f"joint {joint.name!r}: Newton has no hinge2 joints; it is universal"
        if joint.kind == "screw":
            yield f"joint {joint.name!r}: Newton has no screws; it is revolute and does not travel"
        if joint.mimic is not None:
            yield f"joint {joint.name!r}: it moves independently of the joint that it mimics"
        yield from commanded_losses(joint)
        yield from dof_losses("Newton", joint, _supported(joint))
        if joint.kind not in CARTESIAN:
            yield from _uneven_limits(joint)
    if any(not body.gravity for body in world.bodies()):
        yield "gravity acts on all bodies in Newton"
    if world.collision_exempt_groups:
        yield "collision_exempt_groups are missing in Newton; these bodies collide"
