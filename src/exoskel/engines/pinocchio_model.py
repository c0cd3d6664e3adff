"""Scenes as models of Pinocchio: no document is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
from exoskel.scene.joint import Joint
from exoskel.scene.lowering.actuators import lower_actuators
from exoskel.scene.model import Model
from exoskel.scene.shape import Box, Capsule, Cylinder, Ellipsoid, Geometry, Plane, Ray, Sphere, simplest_geometry
from exoskel.scene.summary import moments
from exoskel.scene.validation import require_valid_world
from exoskel.scene.world import SceneLike, World
from exoskel.source.surface import Surfaces
from exoskel.spatial import Array

if TYPE_CHECKING:
    import pinocchio


class PinocchioModel(Struct, frozen=True, eq=False):
    """A world in Pinocchio: all models in one tree, and their shapes.

    `q` and `v` are the initial configuration and velocity in Pinocchio's conventions.  `names` are Pinocchio's names by
    kind (`"body"` and `"joint"` are names of frames, all different; `"geometry"` of shapes) and by path in the scene,
    such as `"model/body"`.  `losses` lists what Pinocchio approximates or lacks.
    """

    model: pinocchio.Model
    collisions: pinocchio.GeometryModel
    visuals: pinocchio.GeometryModel
    q: Array
    v: Array
    names: Mapping[str, Mapping[str, str]]
    losses: tuple[str, ...] = ()

    def data(self) -> pinocchio.Data:
        """New data with the frames of the initial state."""
        import pinocchio

        data = self.model.createData()
        pinocchio.framesForwardKinematics(self.model, data, self.q)
        return data

    def body(self, path: str) -> int:
        """The number of the frame of a body, by its path in the scene, such as `"model/body"`."""
        return int(self.model.getFrameId(self.names["body"][path]))

    def __repr__(self) -> str:
        return f"PinocchioModel({len(self.names.get('body', ()))} bodies, {self.model.nv} degrees of freedom)"


def to_pinocchio(scene: SceneLike) -> PinocchioModel:
    """Build a `pinocchio.Model` with the bodies, joints, limits, damping and shapes of a scene.

    Screws, universal, euler, planar and translational joints keep one joint each.  Welded and static bodies are frames.
    Springs, actuators, loops and mimic joints are losses.  Raises ExoskelError for invalid scenes and several
    worlds.
    """
    lowered = lower_actuators(require_valid_world(scene))
    try:
        import pinocchio
    except ImportError:
        raise ExoskelError("Pinocchio is not installed: pip install 'exoskel[pinocchio]'") from None
    builder = _TreeBuilder(pinocchio, lowered.world)
    builder.build()
    made = builder.model
    q, v = np.concatenate([[], *builder.q]), np.concatenate([[], *builder.v])
    return PinocchioModel(
        made,
        builder.collisions,
        builder.visuals,
        q,
        v,
        builder.names.listed(),
        tuple(dict.fromkeys([*builder.losses, *actuator_losses(lowered)])),
    )


class _Support(Struct, frozen=True):
    """The joint of Pinocchio that a body moves with, its pose there, and its frame."""

    joint: int
    pose: Array
    frame: int


class _TreeBuilder:
    """Builds the tree of one world."""

    def __init__(self, pinocchio: Any, world: World) -> None:
        self.pin = pinocchio
        self.world = world
        self.model = pinocchio.Model()
        self.model.name = world.name
        self.model.gravity = pinocchio.Motion(np.array(world.gravity), np.zeros(3))
        self.collisions, self.visuals = pinocchio.GeometryModel(), pinocchio.GeometryModel()
        self.names = NameMap(shared=("body", "joint"), reserved=[self.model.names[0]])  # all are names of frames
        self.losses = [*common_losses(world), *_unsupported(world)]
        self.q: list[Array] = []
        self.v: list[Array] = []
        self.supports: dict[int, _Support] = {}
        self._bodies: dict[int, str] = {}
        """Names of bodies by the id of the body."""
        self._surfaces = Surfaces()

    def build(self) -> None:
        bodies = list(self.world.bodies())
        inertias = dict(zip(map(id, bodies), moments(bodies).tolist(), strict=True))
        self._bodies = {  # named before joints, which are renamed if they have the same name
            id(body): self.names.unique("body", model.name, body.name)
            for model in self.world.models
            for body in model.bodies
        }
        for placed in placed_joints(self.world):
            support = self._support(placed)
            body = placed.joint.child
            self.supports[id(body)] = support
            tensor = spatial.moment_matrix(inertias[id(body)])
            inertia = self.pin.Inertia(body.mass, np.array(body.com), tensor)
            self.model.appendBodyToJoint(support.joint, inertia, self.pin.SE3(support.pose))
            self._add_shapes(placed.model, body, support)

    def _support(self, placed: PlacedJoint) -> _Support:
        """Add a joint and the frame of its child."""
        joint, model = placed.joint, placed.model
        root = _Support(0, np.eye(4), 0)
        parent = root if joint.parent is None else self.supports[id(joint.parent)]
        name = self.names.unique("joint", model.name, joint.name)
        to_child = spatial.inverse(placed.from_child)
        motion = None if model.static else self._joint_model(joint)
        if motion is None:
            start = placed.relative if model.static else placed.from_parent @ to_child
            support, frame = parent.joint, self._fixed_frame(name, parent, parent.pose @ start)
            pose = parent.pose @ start
        else:
            support = self.model.addJoint(parent.joint, motion, self.pin.SE3(parent.pose @ placed.from_parent), name)
            frame, pose = self.model.addJointFrame(support, parent.frame), to_child
            self._set_state(support, placed)
        body = self._bodies[id(joint.child)]
        return _Support(support, pose, self.model.addBodyFrame(body, support, self.pin.SE3(pose), frame))

    def _fixed_frame(self, name: str, parent: _Support, pose: Array) -> int:
        frame = self.pin.Frame(name, parent.joint, parent.frame, self.pin.SE3(pose), self.pin.FrameType.FIXED_JOINT)
        return int(self.model.addFrame(frame))

    # --- joints ---------------------------------------------------------------------------------------

    def _joint_model(self, joint: Joint) -> Any | None:
        """Pinocchio's joint; None for a weld."""
        pin = self.pin
        match joint.kind:
            case "weld":
                return None
            case "ball":
                return pin.JointModelSpherical()
            case "free" | "amotor":
                return pin.JointModelFreeFlyer()
            case "screw":
                return pin.JointModelHelicalUnaligned(spatial.unit(np.array(joint.axes[0])), joint.pitch / (2 * np.pi))
        motions = [
            (pin.JointModelRevoluteUnaligned if one.rotates else pin.JointModelPrismaticUnaligned)(one.axis)
            for one in simple_motions(joint)
        ]
        if len(motions) == 1:
            return motions[0]
        composite = pin.JointModelComposite(motions[0], pin.SE3.Identity())
        for motion in motions[1:]:
            composite.addJoint(motion, pin.SE3.Identity())
        return composite

    def _set_state(self, number: int, placed: PlacedJoint) -> None:
        joint, positions = placed.joint, np.array(placed.joint.positions)
        if joint.kind in ("ball", "free", "amotor"):
            w, *xyz = spatial.quaternion(spatial.exp(positions[:3])).tolist()
            self.q.append(np.array([*positions[3:], *xyz, w]))
            linear, angular = placed.free_twist() if joint.kind != "ball" else (np.zeros(0), np.array(joint.velocities))
            self.v.append(np.concatenate([linear, angular]))
            self._set_isotropic(self.model.joints[number], joint)
            if joint.kind == "ball":  # whose velocities are those of the scene
                self._set_limits(self.model.joints[number], joint, [0, 1, 2], has_positions=False)
            return
        order = [one.dof for one in simple_motions(joint)] or [0]
        self.q.append(positions[order])
        self.v.append(np.array(joint.velocities)[order])
        self._set_limits(self.model.joints[number], joint, order)

    def _set_isotropic(self, made: Any, joint: Joint) -> None:
        """Set what is the same along all axes, whose directions are others in Pinocchio than in a scene."""
        for part, first in _PARTS if joint.kind != "ball" else ():
            for name in _ISOTROPIC & _supported(joint):
                start, value = made.idx_v + first, common_value(joint, name, part)
                getattr(self.model, name)[start : start + 3] = value

    def _set_limits(self, made: Any, joint: Joint, order: list[int], *, has_positions: bool = True) -> None:
        model = self.model
        for number, index in enumerate(order):
            dof, q, v = joint.dofs[index], made.idx_q + number, made.idx_v + number
            if joint.limits_enforced and has_positions:
                model.lowerPositionLimit[q], model.upperPositionLimit[q] = dof.position_limits
            for field, limits in (("Velocity", dof.velocity_limits), ("Effort", dof.force_limits)):
                lower = getattr(model, f"lower{field}Limit", None)
                if lower is not None:
                    lower[v], getattr(model, f"upper{field}Limit")[v] = limits
            model.damping[v] = dof.damping
            model.armature[v] = dof.armature
            if dof.friction:
                model.lowerDryFrictionLimit[v], model.upperDryFrictionLimit[v] = -dof.friction, dof.friction

    # --- shapes ---------------------------------------------------------------------------------------

    def _add_shapes(self, model: Model, body: Body, support: _Support) -> None:
        for label, shape in shape_labels(body):
            is_visual = label.startswith("visual")
            if not is_visual and not shape.collidable:
                continue
            geometry = self._geometry(shape.geometry)
            if geometry is None:
                self.losses.append(f"a {shape.kind} of body {body.name!r} is missing in Pinocchio")
                continue
            name = self.names.unique("geometry", model.name, body.name, label)
            pose = self.pin.SE3(support.pose @ shape.pose.matrix())
            made = self.pin.GeometryObject(name, support.joint, support.frame, pose, geometry)
            if shape.color is not None:
                made.meshColor = np.array(shape.color)
            (self.visuals if is_visual else self.collisions).addGeometryObject(made)

    def _geometry(self, geometry: Geometry) -> Any | None:
        import coal

        match simplest_geometry(geometry):
            case Box(size=size):
                return coal.Box(*size)
            case Sphere(radius=radius):
                return coal.Sphere(radius)
            case Ellipsoid(size=size):
                return coal.Ellipsoid(*(edge / 2 for edge in size))
            case Cylinder(radius=radius, height=height):
                return coal.Cylinder(radius, height)
            case Capsule(radius=radius, height=height):
                return coal.Capsule(radius, height)
            case Plane(normal=normal, offset=offset):
                return coal.Halfspace(np.array(normal), offset)
            case Ray():
                return None
        surface = self._surfaces.of(geometry)
        if surface is None:
            return None
        vertices, triangles = surface.merge_vertices()
        mesh = coal.BVHModelOBBRSS()
        mesh.beginModel(len(triangles), len(vertices))
        mesh.addVertices(np.ascontiguousarray(vertices))
        mesh.addTriangles(np.ascontiguousarray(triangles))
        mesh.endModel()
        return mesh


_PARTS = ((slice(0, 3), 3), (slice(3, 6), 0))
"""The rotations and translations of a free joint in a scene, and their places in Pinocchio's velocity."""
_ISOTROPIC = frozenset({"damping", "armature"})
_OF_BALLS = frozenset({"velocity_limits", "force_limits", "damping", "friction", "armature"})
_OF_AXES = _OF_BALLS | {"position_limits"}


def _supported(joint: Joint) -> frozenset[str]:
    """The fields of degrees of freedom that are included."""
    if joint.kind not in CARTESIAN:
        return _OF_AXES
    if joint.kind == "ball":
        return _OF_BALLS
    is_centred = not any(joint.pose.position)
    return frozenset(
        name
        for name in _ISOTROPIC
        if all(common_value(joint, name, part) is not None for part, _ in _PARTS)
        and (is_centred or not common_value(joint, name, _PARTS[1][0]))
    )


def _unsupported(world: World) -> Iterable[str]:
    """Yield what Pinocchio's model has no place for."""
    for joint in (joint for model in world.models if not model.static for joint in model.joints):
        if joint.loop:
            yield f"joint {joint.name!r} ({joint.kind}) closes a loop, which is open in Pinocchio"
            continue
        if joint.kind == "hinge2":
            yield f"joint {joint.name!r}: Pinocchio has no hinge2 joints; it is universal"
        if joint.mimic is not None:
            yield f"joint {joint.name!r}: it moves independently of the joint that it mimics"
        yield from commanded_losses(joint)
        yield from dof_losses("Pinocchio", joint, _supported(joint))
    for body in world.bodies():
        if any(shape.friction is not None or shape.restitution is not None for shape in body.collisions):
            yield f"body {body.name!r}: Pinocchio's shapes have no friction or restitution"
    if any(not body.gravity for body in world.bodies()):
        yield "gravity acts on all bodies in Pinocchio"
