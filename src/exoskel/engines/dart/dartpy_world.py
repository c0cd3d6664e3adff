"""Scenes as worlds of dartpy: no document is written, DART's own functions build the skeletons."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import quoteattr

import numpy as np
from msgspec import Struct

from exoskel import spatial
from exoskel.diagnostics import ExoskelError
from exoskel.engines.dart.dart_world import INSTALL
from exoskel.engines.live_parts import NameMap, actuator_losses, common_losses, shape_labels
from exoskel.formats.skel.write import NATIVE_KIND, PARTLY_SUPPORTED, supported_order
from exoskel.scene.body import Body
from exoskel.scene.collision_filter import connections
from exoskel.scene.joint import DOF_STATES, Dof, Joint
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.lowering.actuators import lower_actuators
from exoskel.scene.model import Model
from exoskel.scene.shape import (
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    Geometry,
    Mesh,
    MultiSphere,
    Plane,
    Ray,
    Shape,
    Sphere,
)
from exoskel.scene.summary import moments
from exoskel.scene.validation import require_valid_world
from exoskel.scene.world import SceneLike, World
from exoskel.source.atomic_write import TemporaryFolder
from exoskel.source.meshes import obj_bytes
from exoskel.source.surface import Surfaces
from exoskel.spatial import Array

if TYPE_CHECKING:
    import dartpy

_MINUTE_DOCUMENT = """<skel version="1.0"><world name="w"><skeleton name="s"><body name="b"><inertia><mass>1</mass>
<offset>0 0 0</offset></inertia></body><joint type="euler" name="j"><parent>world</parent><child>b</child>
<axis_order>zyx</axis_order></joint></skeleton></world></skel>
"""
_DETECTORS = {"dart": "DARTCollisionDetector", "bullet": "BulletCollisionDetector", "ode": "OdeCollisionDetector"}


class DartpyWorld(Struct, frozen=True):
    """A world in DART, in this process and in the initial state of the scene.

    `names` are DART's names by kind (`"skeleton"`, `"body"`, `"joint"`, `"dof"`, `"shape"`) and by path in the scene,
    such as `"model/body"`.  `losses` lists what dartpy approximates or lacks.
    """

    world: dartpy.simulation.World
    names: Mapping[str, Mapping[str, str]]
    losses: tuple[str, ...] = ()

    def body(self, path: str) -> dartpy.dynamics.BodyNode:
        """The body node of a body, by its path in the scene, such as `"model/body"`."""
        return self._skeleton(path).getBodyNode(self.names["body"][path])

    def joint(self, path: str) -> dartpy.dynamics.Joint:
        """DART's joint of a joint, by its path in the scene."""
        return self._skeleton(path).getJoint(self.names["joint"][path])

    def _skeleton(self, path: str) -> Any:
        return self.world.getSkeleton(self.names["skeleton"][path.split("/", maxsplit=1)[0]])

    def __repr__(self) -> str:
        skeletons = [self.world.getSkeleton(index) for index in range(self.world.getNumSkeletons())]
        bodies, dofs = sum(s.getNumBodyNodes() for s in skeletons), sum(s.getNumDofs() for s in skeletons)
        return f"DartpyWorld({bodies} bodies, {dofs} degrees of freedom)"


def to_dartpy(scene: SceneLike, *, limits: bool | None = None) -> DartpyWorld:
    """Build a `dartpy.simulation.World` by DART's own functions, in this process.

    `limits` enforces the position limits of all joints, or of none; by default the scene says which are enforced.
    Screws, translational2d joints, self-collision, friction, and balls and welds that close loops are included.  Soft
    skins, markers and mimic joints, which dartpy lacks, are losses.  Raises ExoskelError for invalid scenes and
    several worlds.
    """
    lowered = lower_actuators(require_valid_world(scene))
    try:
        import dartpy
    except ImportError:
        raise ExoskelError(f"DART is not installed: {INSTALL}") from None
    with TemporaryFolder() as folder:
        builder = _WorldBuilder(dartpy, lowered.world, limits, folder)
        built = builder.build()
    return DartpyWorld(
        built, builder.names.listed(), tuple(dict.fromkeys([*builder.losses, *actuator_losses(lowered)]))
    )


class _WorldBuilder:
    """Builds the skeletons of one world."""

    def __init__(self, dartpy: Any, world: World, limits: bool | None, folder: Path) -> None:
        self.dartpy = dartpy
        self.source = world
        self.limits = limits
        self.names = NameMap()
        self.losses = list(common_losses(world))
        self.losses += [
            f"joint {joint.name!r}: DART has no armature"
            for joint in world.joints()
            if any(dof.armature for dof in joint._dofs or ())
        ]
        self.nodes: dict[int, Any] = {}
        """Body nodes by the id of the body."""
        self.shapes = _ShapeBuilder(dartpy, folder)
        self._zyx: Any = None

    def build(self) -> Any:
        world = self.dartpy.simulation.World(self.source.name)
        world.setTimeStep(self.source.time_step)
        world.setGravity(self.source.gravity)
        detector = self._detector()
        if detector is not None:
            world.setCollisionDetector(detector)
        for model in self.source.models:
            self._add_model(world, model)
        self._close_loops(world)
        self._filter_collisions(world)
        return world

    def _detector(self) -> Any:
        """The collision detector that the scene names; without a name DART's default, if it supports all shapes."""
        collision, name = self.dartpy.collision, self.source.collision_detector
        kinds = {shape.kind for body in self.source.bodies() for shape in body.collisions}
        if not name and not kinds.isdisjoint(PARTLY_SUPPORTED):
            name = "dart"
        if name in _DETECTORS and hasattr(collision, _DETECTORS[name]):
            return getattr(collision, _DETECTORS[name])()
        if name in ("fcl", "fcl_mesh"):
            detector = collision.FCLCollisionDetector()
            shapes = detector.MESH if name == "fcl_mesh" else detector.PRIMITIVE
            detector.setPrimitiveShapeType(shapes)
            return detector
        if name:
            self.losses.append(f"collision detector {name!r} is not in this DART; it uses its default")
        return None

    # --- models ---------------------------------------------------------------------------------------

    def _add_model(self, world: Any, model: Model) -> None:
        skeleton = self.dartpy.dynamics.Skeleton(model.name)
        kinematics = Kinematics([model])
        joints = [joint for joint in model.joints if not joint.loop]
        inertias = dict(zip(map(id, model.bodies), moments(model.bodies).tolist(), strict=True))
        for index, joint in enumerate(joints):
            frames = kinematics.from_parent[index], kinematics.from_child[index]
            made, node = self._add_joint(skeleton, joint, *frames)
            self.nodes[id(joint.child)] = node
            self.names.add("joint", made.getName(), model.name, joint.name)
            self._fill_body(node, model, joint.child, inertias[id(joint.child)])
            self._set_coordinates(made, model, joint)
        skeleton.setMobile(not model.static)
        if self.source.self_collision:
            skeleton.setSelfCollisionCheck(True)
            skeleton.setAdjacentBodyCheck(True)  # connected bodies are filtered by pairs
        world.addSkeleton(skeleton)
        self.names.add("skeleton", skeleton.getName(), model.name)
        for index, name in enumerate(model.dof_names):
            self.names.add("dof", skeleton.getDof(index).getName(), model.name, name)

    def _add_joint(self, skeleton: Any, joint: Joint, from_parent: Array, from_child: Array) -> tuple[Any, Any]:
        kind = NATIVE_KIND.get(joint.kind, joint.kind)
        if kind != joint.kind:
            self.losses.append(f"joint {joint.name!r}: DART has no {joint.kind} joints; it is {kind}")
        create = getattr(skeleton, f"create{_CLASSES[kind]}AndBodyNodePair")
        made, node = create(None if joint.parent is None else self.nodes[id(joint.parent)])
        if kind == "euler":
            order, frame = supported_order(joint)
            frame_change = spatial.inverse(joint.pose.matrix()) @ frame.matrix()
            from_parent, from_child = from_parent @ frame_change, from_child @ frame_change
            if order == "zyx":
                made.setProperties(self._zyx_properties())
        made.setName(joint.name)
        node.setName(joint.child.name)
        isometry = self.dartpy.math.Isometry3
        made.setTransformFromParentBodyNode(isometry(from_parent))
        made.setTransformFromChildBodyNode(isometry(from_child))
        self._set_axes(made, joint, kind)
        return made, node

    def _zyx_properties(self) -> Any:
        """The properties of an euler joint with the order zyx: dartpy has no name for this order, but can copy it."""
        if self._zyx is None:
            file = self.shapes.folder / "zyx.skel"
            file.write_text(_MINUTE_DOCUMENT, encoding="utf-8")
            self._zyx = self.dartpy.utils.SkelParser.readWorld(str(file))
        return self._zyx.getSkeleton(0).getJoint(0).getEulerJointProperties()

    def _set_axes(self, made: Any, joint: Joint, kind: str) -> None:
        axes = joint.axes[::-1] if joint.swapped else joint.axes
        if kind in ("revolute", "prismatic", "screw"):
            made.setAxis(spatial.unit(np.array(axes[0])))
        elif kind == "universal":
            made.setAxis1(spatial.unit(np.array(axes[0])))
            made.setAxis2(spatial.unit(np.array(axes[1])))
        elif kind in ("planar", "translational2d"):
            if joint.plane == "arbitrary":
                made.setArbitraryPlane(*(spatial.unit(np.array(axis)) for axis in joint.axes), False)
            else:
                getattr(made, f"set{joint.plane.upper()}Plane")(False)
        if kind == "screw":
            made.setPitch(joint.pitch)

    def _set_coordinates(self, made: Any, model: Model, joint: Joint) -> None:
        if joint.mimic is not None:
            self.losses.append(f"joint {joint.name!r}: dartpy lacks mimic joints; it moves independently")
        made.setActuatorType(getattr(self.dartpy.dynamics.ActuatorType, joint.actuator.upper()))
        made.setLimitEnforcement(joint.limits_enforced if self.limits is None else self.limits)
        dofs = joint.dofs[::-1] if joint.swapped else joint.dofs
        for index, (dof, name) in enumerate(zip(dofs, self._dof_names(joint), strict=True)):
            if dof.name:
                made.setDofName(index, name)
            _set_dof(made, index, dof)

    @staticmethod
    def _dof_names(joint: Joint) -> list[str]:
        names = joint.dof_names
        return names[::-1] if joint.swapped else names

    # --- bodies ---------------------------------------------------------------------------------------

    def _fill_body(self, node: Any, model: Model, body: Body, moment: list[float]) -> None:
        self.names.add("body", node.getName(), model.name, body.name)
        if model.static and body.mass == 0.0:  # DART rejects bodies without mass; this one does not move
            node.setInertia(self.dartpy.dynamics.Inertia())
        else:
            tensor = spatial.moment_matrix(moment)
            node.setInertia(self.dartpy.dynamics.Inertia(body.mass, np.array(body.com), tensor))
        node.setGravityMode(body.gravity)
        for label, shape in shape_labels(body):
            self._add_shape(node, model, body, label, shape, is_visual=label.startswith("visual"))

    def _add_shape(self, node: Any, model: Model, body: Body, label: str, shape: Shape, *, is_visual: bool) -> None:
        geometry = self.shapes.geometry(shape.geometry)
        if geometry is None:
            self.losses.append(f"a {shape.kind} of body {body.name!r} is missing in DART")
            return
        made = node.createShapeNode(geometry, f"{body.name}_{label}")
        made.setRelativeTransform(self.dartpy.math.Isometry3(shape.pose.matrix()))
        self.names.add("shape", made.getName(), model.name, body.name, label)
        if is_visual:
            made.createVisualAspect()
            if shape.color is not None:
                made.getVisualAspect().setRGBA(np.array(shape.color))
            return
        if shape.collidable:
            made.createCollisionAspect()
        made.createDynamicsAspect()
        dynamics = made.getDynamicsAspect()
        if shape.friction is not None:
            dynamics.setFrictionCoeff(shape.friction)
        if shape.restitution is not None:
            dynamics.setRestitutionCoeff(shape.restitution)

    # --- loops and the collision filter ---------------------------------------------------------------

    def _close_loops(self, world: Any) -> None:
        constraint = self.dartpy.constraint
        for joint in (joint for joint in self.source.joints() if joint.loop):
            bodies = [self.nodes[id(body)] for body in (joint.parent, joint.child) if body is not None]
            position = (bodies[-1].getWorldTransform().matrix() @ joint.pose.matrix())[:3, 3]
            if joint.kind == "weld":
                world.getConstraintSolver().addConstraint(constraint.WeldJointConstraint(*bodies))
            elif joint.kind == "ball":
                world.getConstraintSolver().addConstraint(constraint.BallJointConstraint(*bodies, position))
            else:
                self.losses.append(f"joint {joint.name!r} ({joint.kind}) closes a loop, which is open in DART")

    def _filter_collisions(self, world: Any) -> None:
        exempt = [pair for model in self.source.models for pair in self._connected(model)]
        exempt += [pair for parts in range(len(self.source.collision_exempt_groups)) for pair in self._exempt(parts)]
        solver = world.getConstraintSolver()
        for first, second in exempt:
            nodes = self.nodes[id(first)], self.nodes[id(second)]
            solver.getCollisionOption().collisionFilter.addBodyNodePairToBlackList(*nodes)

    def _connected(self, model: Model) -> list[tuple[Body, Body]]:
        if not self.source.self_collision or model.static:
            return []
        return [(parent, child) for joint, parent, child in connections(model) if not joint.collide_connected]

    def _exempt(self, group: int) -> list[tuple[Body, Body]]:
        """The pairs of bodies that an exempt group names."""
        members: list[Body] = []
        for body in self.source.bodies():
            solid = [shape for shape in body.collisions if shape.collidable]
            inside = [group in self.source.exempt_groups_of(body.collision_name(shape)) for shape in solid]
            if solid and all(inside):
                members.append(body)
            elif any(inside):
                self.losses.append(f"body {body.name!r}: DART filters collisions by bodies, not by shapes")
        return list(combinations(members, 2))


class _ShapeBuilder:
    """Builds DART's shapes; a geometry that DART lacks becomes a mesh."""

    def __init__(self, dartpy: Any, folder: Path) -> None:
        self.dartpy = dartpy
        self.folder = folder
        self.surfaces = Surfaces()
        self._files = 0

    def geometry(self, geometry: Geometry) -> Any | None:
        """DART's shape; None if it has none."""
        dynamics = self.dartpy.dynamics
        match geometry:
            case Box(size=size):
                return dynamics.BoxShape(np.array(size))
            case Sphere(radius=radius):
                return dynamics.SphereShape(radius)
            case Ellipsoid(size=size):
                return dynamics.EllipsoidShape(np.array(size))
            case Cylinder(radius=radius, height=height):
                return dynamics.CylinderShape(radius, height)
            case Capsule(radius=radius, height=height):
                return dynamics.CapsuleShape(radius, height)
            case Cone(radius=radius, height=height, centred=True):
                return dynamics.ConeShape(radius, height)
            case Plane(normal=normal, offset=offset):
                return dynamics.PlaneShape(np.array(normal), offset)
            case MultiSphere(spheres=spheres):
                return dynamics.MultiSphereConvexHullShape([(s.radius, np.array(s.position)) for s in spheres])
            case Ray():
                return None
            case Mesh(path=str(path), scale=scale) if path:
                return self._mesh(Path(path), scale) or self._surface(geometry)
            case _:
                return self._surface(geometry)

    def _surface(self, geometry: Geometry) -> Any | None:
        surface = self.surfaces.of(geometry)
        if surface is None:
            return None
        self._files += 1
        file = self.folder / f"{self._files}.obj"
        file.write_bytes(obj_bytes(*surface.merge_vertices()))
        return self._mesh(file, (1.0, 1.0, 1.0))

    def _mesh(self, file: Path, scale: tuple[float, float, float]) -> Any | None:
        """A mesh that DART has read: dartpy creates them only through its URDF reader."""
        numbers = " ".join(map(repr, scale))
        mesh = f"<mesh filename={quoteattr(str(file))} scale={quoteattr(numbers)}/>"
        text = f'<robot name="m"><link name="l"><visual><geometry>{mesh}</geometry></visual></link></robot>'
        loaded = self.dartpy.utils.DartLoader().parseSkeletonString(text, self.dartpy.common.Uri("file:///"))
        if loaded is None or loaded.getBodyNode(0).getNumShapeNodes() == 0:
            return None
        return loaded.getBodyNode(0).getShapeNode(0).getShape()


_CLASSES = {
    "weld": "WeldJoint",
    "revolute": "RevoluteJoint",
    "prismatic": "PrismaticJoint",
    "screw": "ScrewJoint",
    "universal": "UniversalJoint",
    "ball": "BallJoint",
    "euler": "EulerJoint",
    "translational": "TranslationalJoint",
    "translational2d": "TranslationalJoint2D",
    "planar": "PlanarJoint",
    "free": "FreeJoint",
}


def _set_dof(made: Any, index: int, dof: Dof) -> None:
    for state in DOF_STATES:
        low, high = getattr(dof, f"{state}_limits")
        getattr(made, f"set{state.title()}LowerLimit")(index, low)
        getattr(made, f"set{state.title()}UpperLimit")(index, high)
    made.setInitialPosition(index, dof.position)
    made.setInitialVelocity(index, dof.velocity)
    made.setPosition(index, dof.position)
    made.setVelocity(index, dof.velocity)
    made.setAcceleration(index, dof.acceleration)
    made.setForce(index, dof.force)
    made.setDampingCoefficient(index, dof.damping)
    made.setCoulombFriction(index, dof.friction)
    made.setSpringStiffness(index, dof.stiffness)
    made.setRestPosition(index, dof.rest)
