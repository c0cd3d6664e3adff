"""Write a scene as USD with UsdPhysics, as a layer of prims that `tree` converts to text or the binary form.

Bodies have their initial poses, because UsdPhysics starts from the transforms of bodies.  Joint frames do not depend on
them: the two frames of a joint coincide at position zero, which preserves the numbers of limits and springs.  Values
that UsdPhysics does not support use the schemas of Newton, MuJoCo or PhysX.  Others are recorded in `output.losses`.
The tables are in `mapping`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import degrees, hypot, isfinite
from typing import Any

import numpy as np
from msgspec import structs

from exoskel import spatial
from exoskel.fates import Fate
from exoskel.formats.usd.actuator_writer import UsdActuatorWriter, servo_joints
from exoskel.formats.usd.codes import CATALOGUE, fate_of
from exoskel.formats.usd.collision_filter import FILTERED_PAIRS, CollisionGroups
from exoskel.formats.usd.collision_filter import SCOPE as GROUPS
from exoskel.formats.usd.joint_axes import fits
from exoskel.formats.usd.joint_writer import UsdJointWriter
from exoskel.formats.usd.shape_writer import MESHES, MaterialWriter, UsdShapeWriter
from exoskel.formats.usd.shape_writer import SCOPE as LOOKS
from exoskel.formats.usd.tree import Identifiers, Layer, Prim, PrimPath, Properties, clip_to_single, display_name
from exoskel.formats.usd.view_writer import UsdViewWriter
from exoskel.scene.body import Body
from exoskel.scene.inertia import MIN_MASS, MIN_MOMENT
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.kinematics import Kinematics, Twist, initial_twists, stated_twists
from exoskel.scene.lowering.joint_passes import lower_with_origins
from exoskel.scene.model import Model
from exoskel.scene.shape import Shape
from exoskel.scene.soft_skin import has_surface
from exoskel.scene.summary import moments
from exoskel.scene.world import Scene, World
from exoskel.source.losses import with_owners
from exoskel.source.output_context import OutputContext
from exoskel.spatial import Array
from exoskel.version import __version__

XFORM_OPS = ["xformOp:translate", "xformOp:orient"]
_CHAIN_ERRORS = 4.0
"""How much larger the rounding errors of a chain of poses are than those of one."""
_MARKER_RADIUS = 0.005
"""The radius of the sphere that shows a marker, m."""


class BodyWriter:
    """The bodies of one world; their values are computed all at once."""

    def __init__(self, world: World, kinematics: Kinematics, output: OutputContext) -> None:
        self.output = output
        bodies = list(world.bodies())
        self.number = {id(body): i for i, body in enumerate(bodies)}
        poses = kinematics.initial_poses()
        self.poses = poses
        lengths, _ = kinematics.chains()
        self.positions: list[list[float]] = spatial.without_noise(poses[:, :3, 3], _CHAIN_ERRORS * lengths).tolist()
        self.quaternions: list[list[float]] = spatial.quaternion(poses[:, :3, :3]).tolist() if bodies else []
        self.rows = moments(bodies)
        principal, axes = principal_axes(self.rows)
        self.principal: list[list[float]] = principal.tolist()
        self.axes: list[list[float]] = axes.tolist()
        self.motions = _motions(world, kinematics, poses)

    def prim(self, body: Body, name: str, *, static: bool) -> Prim:
        """The prim of a body, without shapes and markers."""
        i = self.number[id(body)]
        made = Prim("Xform", name, item=body, metadata={"kind": "subcomponent"})
        made.properties["double3 xformOp:translate"] = tuple(self.positions[i])
        made.properties["quatd xformOp:orient"] = tuple(self.quaternions[i])
        made.properties["uniform token[] xformOpOrder"] = XFORM_OPS
        if not static:
            made.apis.append("PhysicsRigidBodyAPI")
            self._add_motion(made, body)
        self._add_mass(made, body, i, static=static)
        self._record_losses(body)
        return made

    def _add_motion(self, made: Prim, body: Body) -> None:
        if id(body) in self.motions:
            speed, spin = self.motions[id(body)]
            made.properties["vector3f physics:velocity"] = speed
            made.properties["vector3f physics:angularVelocity"] = spin
        if body.state is not None and not body.state.enabled:
            made.properties["uniform bool physics:startsAsleep"] = True
        if not body.gravity:
            made.apis.append("PhysxRigidBodyAPI")
            made.properties["bool physxRigidBody:disableGravity"] = True
            made.properties["float mjc:body:gravcomp"] = 1.0

    def _add_mass(self, made: Prim, body: Body, i: int, *, static: bool) -> None:
        if static and not (isfinite(body.mass) and body.mass > 0.0):
            return  # a fixed body needs no mass
        if body.mass == 0.0:
            self.output.add_loss(body, CATALOGUE["US211"], "inertia", mass=MIN_MASS)
        made.apis += ["PhysicsMassAPI", "NewtonMassAPI"]
        made.properties |= {"float physics:mass": body.mass or MIN_MASS, "point3f physics:centerOfMass": body.com}
        principal = self.principal[i]
        if not min(principal) > 0.0 and body.mass and not static:
            self.output.add_loss(body, CATALOGUE["US211.moment"], "inertia", moment=MIN_MOMENT)
        made.properties["float3 physics:diagonalInertia"] = tuple(one if one > 0.0 else MIN_MOMENT for one in principal)
        made.properties["quatf physics:principalAxes"] = tuple(self.axes[i])
        made.properties["double[] newton:inertia"] = self.rows[i].tolist()

    def _record_losses(self, body: Body) -> None:
        if body.soft is not None:
            self.output.add_loss(body, CATALOGUE["US214" if has_surface(body.soft) else "US301"], "soft")
        if body.state is not None and any((*body.state.force, *body.state.torque)):
            self.output.add_loss(body, CATALOGUE["US307"], "state", "state/force", "state/torque")
        if body.state is not None and body.state.finite_rotation.mode:
            self.output.add_loss(body, CATALOGUE["US307.rotation"], "state", "state/finite_rotation")


def marker_properties(offset: Any) -> Properties:
    """A point, as a small sphere with purpose guide."""
    return {
        "double radius": _MARKER_RADIUS,
        "uniform token purpose": "guide",
        "double3 xformOp:translate": tuple(offset),
        "uniform token[] xformOpOrder": ["xformOp:translate"],
    }


def principal_axes(rows: Array) -> tuple[Array, Array]:
    """Principal moments and their axes as quaternions, of rows of ixx iyy izz ixy ixz iyz.

    A diagonal tensor is not changed.  Axes that the tensor leaves open are chosen by a rule, not by LAPACK.
    """
    tensors = spatial.moment_matrix(rows.reshape(-1, 6))
    values = np.stack([tensors[:, 0, 0], tensors[:, 1, 1], tensors[:, 2, 2]], axis=1)
    axes = np.tile([1.0, 0.0, 0.0, 0.0], (len(rows), 1))
    rotated = np.flatnonzero(rows[:, 3:].any(axis=1) & np.isfinite(rows).all(axis=1))
    if rotated.size:
        found, vectors = np.linalg.eigh(tensors[rotated])
        values[rotated] = spatial.round_vectors(found)
        axes[rotated] = spatial.round_vectors(spatial.quaternion(_frames(found, vectors)))
    return values, axes


_SAME_MOMENTS = 1e-8
"""Moments that differ less, relative to the largest, are the same in single precision."""


def _frames(values: Array, vectors: Array) -> Array:
    """The principal axes in the columns of `vectors`, for ascending moments, in a form without any choice.

    Each axis points to the side of its largest component.  Of a rotationally symmetric body, only one axis is
    determined, and of a sphere none.
    """
    differ = np.diff(values) > _SAME_MOMENTS * np.abs(values).max(axis=1, keepdims=True)
    axes = _upward(np.swapaxes(vectors, 1, 2))
    first, second = axes[:, 0], axes[:, 1]
    is_lowest, is_symmetric = differ[:, :1], ~differ.all(axis=1, keepdims=True)
    axis = np.where(is_lowest, axes[:, 0], axes[:, 2])
    helpers = np.eye(3)[np.argmin(np.round(np.abs(axis), 6), axis=1)]
    across = _upward(spatial.unit(np.cross(helpers, axis)))
    first = np.where(is_symmetric, np.where(is_lowest, axis, across), first)
    second = np.where(is_symmetric, np.where(is_lowest, across, np.cross(axis, across)), second)
    frames = np.stack([first, second, np.cross(first, second)], axis=2)
    frames[~differ.any(axis=1)] = np.eye(3)
    return frames


def _upward(axes: Array) -> Array:
    """Axes or their opposites: those whose largest component, the first of several, is positive."""
    largest = np.argmax(np.round(np.abs(axes), 6), axis=-1, keepdims=True)
    turned: Array = axes * np.sign(np.take_along_axis(axes, largest, axis=-1))
    return turned


def _motions(world: World, kinematics: Kinematics, poses: Array) -> dict[int, Twist]:
    """Velocity of the centre of mass (m/s) and angular velocity (degrees/s) in the body frame, for moving bodies.

    Those of a floating body are the velocities of its joint, whatever the body states: they have no other place.
    """
    floating = {id(j.child) for j in world.joints() if j.kind == "free" and j.parent is None and not j.loop}
    own = stated_twists(body for body in world.bodies() if id(body) not in floating)
    if not own and not any(joint._dofs and any(joint.velocities) for joint in world.joints()):
        return {}
    models = [model for model in world.models if not model.static]
    number = {id(body): (i, body) for i, body in enumerate(world.bodies())}
    made: dict[int, Twist] = {}
    for key, (speed, spin) in initial_twists(world.models, kinematics, own).items():
        i, body = number[key]
        rotation = poses[i][:3, :3]
        at_centre = spatial.array(speed) + np.cross(spin, rotation @ body.com)
        size = np.abs(speed).max() + np.abs(spin).max() * np.abs(body.com).max()
        a, b, c = spatial.without_noise(rotation.T @ at_centre, size).tolist()
        x, y, z = spatial.without_noise(rotation.T @ spatial.array(spin)).tolist()
        made[key] = (a, b, c), (degrees(x), degrees(y), degrees(z))
    moving = {id(body) for model in models for body in model.bodies}
    return {key: twist for key, twist in made.items() if key in moving}


_MOST_STEPS = 2.0**31 - 1.0
"""The largest integer of USD."""
_STEP_TOLERANCE = 1e-6
"""The tolerance for an integer number of steps per second."""

LOWERED_KINDS = frozenset({"screw", "universal", "hinge2", "euler"})
"""Joint kinds that are lowered to chains unless `fits` returns True."""

_SCENE, _JOINTS = "PhysicsScene", "joints"


def write(scene: Scene, output: OutputContext) -> Layer:
    """The layer, whose prims refer to the parts of the scene they represent."""
    layer = Layer({})
    names = Identifiers((MESHES,))
    simple = [lower_with_origins(world, LOWERED_KINDS, lambda joint: not fits(joint)) for world in scene.worlds]
    bodies = [body for world, *_ in simple for body in world.bodies()]
    own = OutputContext(output.folder, output.target)
    visuals, colliders = (s for b in bodies for s in b.visuals), (s for b in bodies for s in b.collisions)
    shapes = UsdShapeWriter(visuals, colliders, own, output)
    for world, original, owner in simple:
        name = names.unique(world.name, "world")
        prim = _UsdWorldWriter(world, name, shapes, own, is_one_of_several=len(simple) > 1).prim()
        _clip_numbers(prim, world, own)
        for one in prim.iter():
            one.item = original(one.item)
        output.losses += [
            structs.replace(loss, is_dropped=fate_of(loss.code) is Fate.DROPPED)
            for loss in with_owners(own.losses, owner)
        ]
        own.losses.clear()
        layer.prims.append(prim)
    layer.textures = shapes.textures
    meshes = shapes.meshes()
    layer.prims += [meshes] if meshes is not None else []
    layer.metadata |= _metadata(scene, layer)
    return layer


def _clip_numbers(prim: Prim, item: Item, output: OutputContext) -> None:
    """Clip numbers beyond single precision, and record the loss of the item that a prim or its ancestor represents."""
    waiting = [(prim, item)]
    while waiting:
        one, above = waiting.pop()
        own = above if one.item is None else one.item
        for declaration, number in clip_to_single(one):
            output.add_loss(own, CATALOGUE["US213"], *_fields_of(own, declaration), number=number)
        waiting += [(child, own) for child in one.children]


_SINGLE_PRECISION_FIELDS: tuple[tuple[type[Item], str, str], ...] = (
    (Joint, "localPos", "pose"),
    (Joint, "state:", "velocity"),
    (Joint, "velocityLimit", "velocity_limits"),
    (Joint, "newton:limit", "drives"),
    (Joint, "imit", "position_limits"),
    (Joint, "maxForce", "force_limits"),
    (Joint, "stiffness", "stiffness"),
    (Joint, "damping", "damping"),
    (Joint, "friction", "friction"),
    (Joint, "armature", "armature"),
    (Joint, "mimic", "mimic"),
    (Joint, "target", "rest"),
    (Body, "elocity", "state"),
    (Body, "gravcomp", "gravity"),
    (Body, "physics:", "inertia"),
    (Shape, "riction", "friction"),
    (Shape, "restitution", "restitution"),
    (Shape, "olor", "color"),
    (Shape, "", "geometry"),
    (World, "gravity", "gravity"),
)
"""The field that a property in single precision states, by the first part that its declaration contains."""


def _fields_of(item: Item, declaration: str) -> list[str]:
    rows = [field for kind, part, field in _SINGLE_PRECISION_FIELDS if isinstance(item, kind) and part in declaration]
    return rows[:1]


def _metadata(scene: Scene, layer: Layer) -> dict[str, object]:
    up = up_axis(scene.worlds[0]) if scene.worlds else "Z"
    made: dict[str, object] = {"customLayerData": {"creator": f"exoskel {__version__}"}}
    if scene.worlds:
        made["defaultPrim"] = layer.prims[0].name
    return made | {"kilogramsPerUnit": 1, "metersPerUnit": 1, "upAxis": up}


def up_axis(world: World) -> str:
    """Y or Z, the only up axes of USD: the one along gravity, Z without gravity."""
    _, y, z = world.gravity
    return "Y" if abs(y) > abs(z) else "Z"


class _UsdWorldWriter:
    def __init__(
        self, world: World, name: str, shapes: UsdShapeWriter, output: OutputContext, *, is_one_of_several: bool
    ) -> None:
        self.world = world
        self.name = name
        self.path = f"/{name}"
        self.shapes = shapes
        self.output = output
        kinematics = Kinematics(world.models)
        self.bodies = BodyWriter(world, kinematics, output)
        self.joints = UsdJointWriter(world, kinematics, output, servo_joints(world))
        self.actuators = UsdActuatorWriter(world, output)
        self.looks = MaterialWriter(self.path)
        self.groups = CollisionGroups(world, self.path)
        self.views = UsdViewWriter(world, self.bodies.number, self.bodies.poses, output)
        self.owner = PrimPath(f"{self.path}/{_SCENE}") if is_one_of_several else None

    def prim(self) -> Prim:
        made = Prim("Xform", self.name, apis=["MaterialBindingAPI"], item=self.world)
        made.metadata |= {"kind": "assembly", **display_name(self.world.name, self.name)}
        made.properties["rel material:binding:physics"] = self.looks.contact
        made.children.append(self._scene())
        names = Identifiers((_SCENE, LOOKS, GROUPS, *self.actuators.reserved))
        models = [self._model(model, names.unique(model.name, "model")) for model in self.world.models]
        groups = self.groups.prim()
        made.children += [self.looks.prim(), *([groups] if groups is not None else []), *models]
        made.children += self.views.prims(None, names)
        made.children += self.actuators.prims(self.joints.plans, made)
        self._record_losses()
        return made

    def _scene(self) -> Prim:
        made = Prim(_SCENE, _SCENE, apis=["NewtonSceneAPI", "MjcSceneAPI"])
        size = hypot(*self.world.gravity)
        down = (0.0, -1.0, 0.0) if up_axis(self.world) == "Y" else (0.0, 0.0, -1.0)
        # A direction of zero means "down" to readers, with any magnitude.
        direction = tuple(np.divide(self.world.gravity, size).tolist()) if size else down
        steps = max(round(min(1.0 / self.world.time_step, _MOST_STEPS)), 1)
        made.properties |= {
            "vector3f physics:gravityDirection": direction,
            "float physics:gravityMagnitude": size,
            "uniform int newton:timeStepsPerSecond": steps,
            "uniform double mjc:option:timestep": self.world.time_step,
        }
        if abs(steps * self.world.time_step - 1.0) > _STEP_TOLERANCE:
            self.output.add_loss(
                self.world, CATALOGUE["US212"], "time_step", steps=steps, found=1.0 / self.world.time_step
            )
        return made

    def _record_losses(self) -> None:
        if self.world.erp is not None or self.world.cfm is not None:
            self.output.add_loss(self.world, CATALOGUE["US306.world"], "erp", "cfm")
        if self.world.collision_detector:
            self.output.add_loss(
                self.world, CATALOGUE["US311"], "collision_detector", name=self.world.collision_detector
            )

    # --- models ---------------------------------------------------------------------------------------

    def _model(self, model: Model, name: str) -> Prim:
        made = Prim("Xform", name, item=model)
        made.metadata |= {"kind": "component", **display_name(model.name, name)}
        path = f"{self.path}/{name}"
        self.groups.add_model(model, name, PrimPath(path))
        names = Identifiers((_JOINTS,))
        names_in_order = [names.unique(body.name, "body") for body in model.bodies]
        made.children += [
            self._body(model, body, own, path) for body, own in zip(model.bodies, names_in_order, strict=True)
        ]
        bodies = {id(body): PrimPath(f"{path}/{own}") for body, own in zip(model.bodies, names_in_order, strict=True)}
        self._add_joints(made, model, path, bodies)
        self._add_floating_data(made, model, bodies)
        self._add_pairs(made, model, bodies)
        if model.static and any(joint.motion for joint in model.joints):
            self.output.add_loss(model, CATALOGUE["US210"], "joints")
        return made

    def _add_joints(self, made: Prim, model: Model, path: str, bodies: dict[int, PrimPath]) -> None:
        written = [joint for joint in model.joints if self.joints.is_written(joint)]
        if not written:
            return
        names = Identifiers()
        names_in_order = [names.unique(joint.name, "joint") for joint in written]
        known = {
            j.name: (j, PrimPath(f"{path}/{_JOINTS}/{own}")) for j, own in zip(written, names_in_order, strict=True)
        }
        scope = Prim("Scope", _JOINTS)
        for joint, own in zip(written, names_in_order, strict=True):
            prim = self.joints.prim(joint, own, bodies, known)
            prim.metadata |= display_name(joint.name, own)
            scope.children.append(prim)
        made.children.append(scope)
        roots = _tree_roots(model, [joint for joint in written if not joint.loop])
        prims = {id(prim.item): prim for prim in (*made.children, *scope.children)}
        # Newton refuses an articulation with several trees if one of them floats, and, if all of them are fixed to the
        # world and loops connect them, several articulations.
        is_whole = len(roots) == 1 or (roots and all(one.kind != "free" for one in roots))
        places = [made] if is_whole else [prims.get(id(one)) or prims[id(one.child)] for one in roots]
        for place in places:
            place.apis += ["PhysicsArticulationRootAPI", "NewtonArticulationRootAPI"]
            place.properties["bool newton:selfCollisionEnabled"] = self.world.self_collision

    def _add_floating_data(self, made: Prim, model: Model, bodies: dict[int, PrimPath]) -> None:
        """Add custom data for the free joints of floating bodies, which are not written as joints."""
        prims = {id(body): prim for body, prim in zip(model.bodies, made.children, strict=False)}
        for joint in model.joints if not model.static else ():
            if not joint.loop and not self.joints.is_written(joint):
                custom = self.joints.floating_data(joint, bodies)
                if custom:
                    prims[id(joint.child)].metadata["customData"] = custom

    def _add_pairs(self, made: Prim, model: Model, bodies: dict[int, PrimPath]) -> None:
        prims = {id(body): prim for body, prim in zip(model.bodies, made.children, strict=False)}
        written = [joint for joint in model.joints if self.joints.is_written(joint)]
        for one, other in self.groups.pairs(model, written):
            child = prims[id(other)]
            if "PhysicsFilteredPairsAPI" not in child.apis:
                child.apis.append("PhysicsFilteredPairsAPI")
            child.properties.setdefault(f"rel {FILTERED_PAIRS}", []).append(bodies[id(one)])

    def _body(self, model: Model, body: Body, name: str, model_path: str) -> Prim:
        made = self.bodies.prim(body, name, static=model.static)
        made.metadata |= display_name(body.name, name)
        path = f"{model_path}/{name}"
        names = Identifiers()
        for number, shape in enumerate(body.visuals, 1):
            own = names.unique(shape.name or f"visual_{number}", "visual")
            made.children += self._named(self.shapes.visual(shape, own, self.looks), shape)
        for number, shape in enumerate(body.collisions, 1):
            own = names.unique(shape.name or f"collision_{number}", "collision")
            made.children += self._named(
                self.shapes.collider(shape, own, self.looks, is_hidden=bool(body.visuals)), shape
            )
            self.groups.add_shape(body, shape, PrimPath(f"{path}/{own}"))
        if body.soft is not None and has_surface(body.soft):
            made.children.append(self.shapes.skin(body.soft, names.unique("skin", "skin"), self.looks))
        for marker in body.markers:
            own = names.unique(marker.name, "marker")
            apis = ["NewtonSiteAPI", *(["MjcSiteAPI"] if id(marker) in self.actuators.sites else [])]
            site = Prim("Sphere", own, apis=apis, properties=marker_properties(marker.offset), item=marker)
            site.metadata |= display_name(marker.name, own)
            made.children.append(site)
        made.children += self.views.prims(body, names)
        if self.owner is not None:
            for prim in made.iter():
                if (prim is made and not model.static) or "PhysicsCollisionAPI" in prim.apis:
                    prim.properties["rel physics:simulationOwner"] = self.owner
        return made

    @staticmethod
    def _named(prim: Prim | None, shape: Shape) -> list[Prim]:
        if prim is None:
            return []
        prim.metadata |= display_name(shape.name, prim.name)
        return [prim]


def _tree_roots(model: Model, joints: Sequence[Joint]) -> list[Joint]:
    """The joints of the roots of the trees that contain some joints, in the order of the model."""
    roots: dict[int, Joint] = {}
    for joint in (joint for joint in model.joints if not joint.loop):  # those of parents are before those of children
        roots[id(joint.child)] = joint if joint.parent is None else roots[id(joint.parent)]
    return list({id(root): root for root in (roots[id(joint.child)] for joint in joints)}.values())
