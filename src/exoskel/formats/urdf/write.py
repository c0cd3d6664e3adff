"""Write a model as URDF.

A link's frame in URDF is at its joint.  So a link gets the frame of the body's joint (`Joint.pose` in the body's
frame), and mass properties and shapes are expressed in it.  Roots are connected to a link named `world`, which readers
know: without it, MuJoCo would weld a root to the world and DART would let it float.

Joints that URDF lacks are lowered to chains (`exoskel.scene.lowering.joint_passes`).  Motors are effort interfaces of a
`ros2_control` element.  Springs, other actuators and gravity are not supported by URDF and are not written.  The
initial state is in files beside it: see `exoskel.formats.initial_state`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np
from msgspec import Struct

from exoskel import spatial
from exoskel.diagnostics import ExoskelError
from exoskel.formats import collision_visuals
from exoskel.formats.generated_meshes import AS_MESH, MESH_KINDS, mesh_of
from exoskel.formats.interface import WriterCapabilities
from exoskel.formats.urdf.codes import CATALOGUE
from exoskel.formats.urdf.context import add_pose, add_transform, format_bound, mimics_itself
from exoskel.formats.urdf.dart_losses import record_ignored_parts
from exoskel.formats.urdf.motors import MOTOR_JOINTS, motor_elements
from exoskel.formats.urdf.mujoco_options import add_options
from exoskel.formats.urdf.vocabulary import DYNAMICS, JOINT_KINDS, MOMENT_ENTRIES, SYMMETRIC_LIMITS, URDF
from exoskel.scene.body import Body
from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.item import Names, unique_name
from exoskel.scene.joint import DOF_VALUES, STOPS, UNLIMITED, Dof, Interval, Joint
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.lowering.joint_passes import (
    LoweredWorld,
    lower_to_hinges,
    map_to_originals,
    needs_hinge_lowering,
)
from exoskel.scene.model import Model
from exoskel.scene.pose import Vector
from exoskel.scene.shape import (
    Box,
    Capsule,
    Color,
    Cone,
    Cylinder,
    Ellipsoid,
    Geometry,
    Mesh,
    MultiSphere,
    Plane,
    Shape,
    Sphere,
    simplest_geometry,
    texture_of,
)
from exoskel.scene.summary import moments
from exoskel.scene.world import Scene, World
from exoskel.source.markup import Markup, format_color, format_number, format_numbers
from exoskel.source.output_context import TEXTURE_FIELD, OutputContext
from exoskel.spatial import Array

Origins = dict[int, Body | Joint]
"""The bodies and joints of the scene, by the ids of their copies in the lowered model."""

UNSHIFTED = np.eye(4)
"""The shift of every link whose frame is its body's; compared by identity."""

_LOWERED = frozenset({"screw", "ball", "hinge2", "amotor", "free"})
"""Joints that become others in URDF."""
_LOWERED_FIELDS = ("kind", "axes", "drives", *DOF_VALUES)


class RobotLink(Struct, frozen=True):
    """A body, its parent joint (None: it floats), and the items of the scene that they come from.

    `frame` is the link's frame in the world at zero positions, `shift` the same in the body's frame.
    """

    body: Body
    joint: Joint | None
    frame: Array
    shift: Array
    item: Body | None
    joint_item: Joint | None


class Robot(Struct, frozen=True):
    links: list[RobotLink]
    static: bool


def build_robot(model: Model, output: OutputContext) -> Robot:
    """Build the robot of a model, with joints lowered that URDF does not support; the model is not changed.

    A static model is written in its initial state.
    """
    origins: Origins = {id(body): body for body in model.bodies}
    origins |= {id(joint): joint for joint in model.joints}
    with no_edits():  # building another model is not an edit of this one
        made = model if not needs_hinge_lowering(World(models=[model])) else _lower(model, origins)
    _report_losses(model, output)
    kinematics = Kinematics([made])
    poses = kinematics.poses() if model.static else kinematics.zero_poses
    parent_joints = {id(joint.child): joint for joint in made.joints if not joint.loop}
    links = [
        _link(body, parent_joints.get(id(body)), pose, model.static, origins)
        for body, pose in zip(made.bodies, poses, strict=True)
    ]
    return Robot(links, model.static)


def _link(body: Body, joint: Joint | None, pose: Array, static: bool, origins: Origins) -> RobotLink:
    is_at_body = joint is None or static or joint.pose.is_identity
    shift = UNSHIFTED if is_at_body or joint is None else joint.pose.matrix()
    own, parent_joint = origins.get(id(body)), origins.get(id(joint))
    assert not isinstance(own, Joint)
    assert not isinstance(parent_joint, Body)
    return RobotLink(body, joint, pose if is_at_body else pose @ shift, shift, own, parent_joint)


def _report_losses(model: Model, output: OutputContext) -> None:
    """Record the joints that change or are not written."""
    for joint in model.joints:
        if joint.loop:
            output.add_loss(joint, CATALOGUE["UR701"])
        elif joint.kind in _LOWERED and not _is_floating(joint) and not model.static:
            output.add_loss(joint, CATALOGUE[f"UR601.{joint.kind}"], *_LOWERED_FIELDS)


def _is_floating(joint: Joint) -> bool:
    return joint.kind == "free" and joint.parent is None


def _lower(model: Model, origins: Origins) -> Model:
    world = World(models=[model])
    done = lower_to_hinges(world)
    known = map_to_originals(world, done)
    origins |= {key: item for key, item in known.items() if isinstance(item, Body | Joint)}
    return done.world.models[0]


PLANE_SIZE, PLANE_DEPTH = 100.0, 1.0
"""The width and depth of a box that approximates a plane, m."""

_OTHER_SHAPES = {
    "ellipsoid": "UR602",
    "cone": "UR602",
    "plane": "UR602.plane",
    "multi_sphere": "UR602.spheres",
}
"""Shapes that become others in URDF, with the keys of the losses."""

ShapePart = tuple[Geometry, Array | None]
"""A geometry of URDF, and its pose in the frame of the shape it is part of (None: identity)."""


class UrdfShapeWriter:
    """Writes shapes and collects their materials."""

    def __init__(self, output: OutputContext) -> None:
        self.output = output
        self.materials: dict[tuple[Color | None, str], str] = {}

    def link_shapes(self, body: Body, items: Body, shift: Array) -> list[Markup]:
        """The elements of a link's shapes; `shift` is the link frame in the body, `items` is the body of the scene."""
        visuals = [
            one
            for shape, item in zip(body.visuals, items.visuals, strict=True)
            for one in self._shape("visual", shape, item, shift)
        ]
        collisions = [
            (one, item)
            for shape, item in zip(body.collisions, items.collisions, strict=True)
            if shape.collidable  # others have no effect
            for one in self._shape("collision", shape, item, shift)
        ]
        if collision_visuals.shows_collisions(items, self.output.source_format):
            for count, (one, item) in enumerate(collisions, 1):
                visuals.append(collision_visuals.visual_of(one, count))
                self._add_appearance(visuals[-1], item)
                if one.item is item:  # the first of several parts
                    self._record_lost_texture(item)
        return [*visuals, *(one for one, _ in collisions)]

    def _shape(self, tag: str, shape: Shape, item: Shape, shift: Array) -> list[Markup]:
        parts = _parts(mesh_of(shape.geometry, self.output) or shape.geometry)
        if not parts:
            self.output.add_loss(item, CATALOGUE["UR702.faces" if shape.kind in MESH_KINDS else "UR702.ray"])
        elif shape.kind in _OTHER_SHAPES and not _is_exact(shape.geometry):
            self.output.add_loss(item, CATALOGUE[_OTHER_SHAPES[shape.kind]], "geometry", size=PLANE_SIZE)
        if tag == "visual":
            self._record_lost_texture(item)
        made = [self._part(tag, shape, part, shift) for part in parts]
        if made:
            made[0].item = item
        return made

    def _record_lost_texture(self, item: Shape) -> None:
        if (image := texture_of(item)) is not None and image.repeat != (1.0, 1.0):
            self.output.add_loss(item, CATALOGUE["UR605"], TEXTURE_FIELD)

    def _part(self, tag: str, shape: Shape, part: ShapePart, shift: Array) -> Markup:
        geometry, offset = part
        element = Markup(tag, {"name": shape.name} if shape.name else {})
        if offset is None:
            add_pose(element, shape.pose, None if shift is UNSHIFTED else shift)
        else:
            add_transform(element, shape.pose.matrix() @ offset, None if shift is UNSHIFTED else shift)
        element.children.append(self._geometry(geometry))
        if tag == "visual":
            self._add_appearance(element, shape)
        return element

    def _add_appearance(self, visual: Markup, shape: Shape) -> None:
        if shape.color is not None or texture_of(shape) is not None:
            visual.add("material", name=self._material(shape))

    def _geometry(self, geometry: Geometry) -> Markup:
        element = Markup("geometry")
        match geometry:
            case Box(size=size):
                element.add("box", size=format_numbers(size))
            case Sphere(radius=radius):
                element.add("sphere", radius=format_number(radius))
            case Cylinder(radius=radius, height=height):
                element.add("cylinder", radius=format_number(radius), length=format_number(height))
            case Mesh(scale=scale):
                mesh = element.add("mesh", filename=self.output.reference(geometry))
                if scale != (1.0, 1.0, 1.0):
                    mesh.attributes["scale"] = format_numbers(scale)
        return element

    def _material(self, shape: Shape) -> str:
        image = texture_of(shape)
        reference = "" if image is None else self.output.texture_reference(image)
        kind = "texture" if reference else "color"
        return self.materials.setdefault((shape.color, reference), f"{kind}_{len(self.materials) + 1}")

    def material_elements(self) -> list[Markup]:
        """The material elements of all colours and textures used."""
        made = []
        for (color, reference), name in self.materials.items():
            element = Markup("material", {"name": name})
            if color is not None:
                element.add("color", rgba=format_color(color))
            if reference:
                element.add("texture", filename=reference)
            made.append(element)
        return made


def _is_exact(geometry: Geometry) -> bool:
    """Whether a geometry that URDF lacks equals one that it supports."""
    if isinstance(geometry, MultiSphere):
        return len(geometry.spheres) == 1
    return isinstance(simplest_geometry(geometry), Sphere)


def _parts(geometry: Geometry) -> list[ShapePart]:
    geometry = simplest_geometry(geometry)
    match geometry:
        case Box() | Sphere() | Cylinder() | Mesh():
            return [(geometry, None)]
        case Capsule(radius=radius, height=height):
            ends = [(Sphere(radius), _translation((0.0, 0.0, z))) for z in (height / 2, -height / 2)]
            return [(Cylinder(radius, height), None), *ends]
        case Ellipsoid(size=size):
            return [(Box(size), None)]
        case MultiSphere(spheres=spheres):
            return [(Sphere(ball.radius), _translation(ball.position)) for ball in spheres]
        case Cone():
            low, high = np.array(geometry.bounds())
            x, y, z = (high - low).tolist()
            return [(Box((x, y, z)), _translation((low + high) / 2))]
        case Plane(normal=normal, offset=offset):
            return [(Box((PLANE_SIZE, PLANE_SIZE, PLANE_DEPTH)), _pose_below(normal, offset))]
    return []


def _translation(position: Sequence[float] | Array) -> Array:
    return spatial.transform(np.eye(3), position)


def _pose_below(normal: Sequence[float], offset: float) -> Array:
    """The pose of a box whose top face, normal to z, lies in the plane."""
    up = spatial.unit(normal)
    aside = np.cross(up, np.eye(3)[int(np.argmin(np.abs(up)))])
    x = spatial.unit(aside)
    rotation = np.stack([x, np.cross(up, x), up], axis=1)
    return spatial.transform(rotation, (offset - PLANE_DEPTH / 2) * up)


WORLD = "world"

_TYPES: dict[str, str] = {kind: type for type, kind in reversed(JOINT_KINDS.items())}


def write(scene: Scene, output: OutputContext, *, model: str = "") -> Markup:
    """The document as a tree whose elements refer to the parts of the scene they represent.

    A URDF document contains one robot: if the world has several models, `model` names the one to write.
    """
    return _UrdfWriter(scene, _choose_model(scene, model), output).document()


def _choose_model(scene: Scene, name: str) -> Model:
    world = scene.world
    if name:
        return world.model(name)
    if len(world.models) == 1:
        return world.models[0]
    names = ", ".join(repr(one.name) for one in world.models) or "none"
    raise ExoskelError(
        f"URDF files contain one model, but the world has {len(world.models)} ({names}); choose one of world.models"
    )


class _UrdfWriter:
    def __init__(self, scene: Scene, model: Model, output: OutputContext) -> None:
        self.scene = scene
        self.model = model
        self.output = output
        self.robot: Robot = build_robot(model, output)
        self.shapes = UrdfShapeWriter(output)
        taken = Names([WORLD])
        self.names = {id(link.body): _unique(link.body.name, taken) for link in self.robot.links}
        self.by_body = {id(link.body): link for link in self.robot.links}
        self.keeps_roots = output.keeps_names and scene.source_info.format == "urdf" and not model.static
        """Whether roots without a joint and links without mass properties are written as they are in the source."""
        self.without_mimic: set[int] = set()
        """The ids of joints whose mimic is not written."""

    def document(self) -> Markup:
        root = Markup("robot", {"name": self.model.name.strip() or "robot"}, item=self.model)
        bodies = [link.body for link in self.robot.links]
        tensors = spatial.moment_matrix(moments(bodies))
        links = [self._link(link, tensor) for link, tensor in zip(self.robot.links, tensors, strict=True)]
        joints = self._joints()
        is_in_world = any(one.tag == "parent" and one.attributes["link"] == WORLD for j in joints for one in j.children)
        world = [Markup("link", {"name": WORLD})] if is_in_world or not self.keeps_roots else []
        root.children += [*self.shapes.material_elements(), *world, *links, *joints]
        if self.scene.world.actuators or self.scene.source_info.format == "urdf":
            self._add_motors(root)
        add_options(root, self.scene, self.output)
        if self.output.target == "dart":
            record_ignored_parts(self.model, self.scene.world, self.output)
        return root

    def _add_motors(self, root: Markup) -> None:
        names = {
            id(element.item): element.attributes["name"]
            for element in root.children
            if isinstance(element.item, Joint) and element.item.kind in MOTOR_JOINTS
        }
        copies_source = self.scene.source_info.format == "urdf" and self.output.target == "portable"
        for made in motor_elements(self.scene, self.model, names, copies_source=copies_source):
            root.children.append(made.element)
            if made.source >= 0:  # its hardware and sensors are kept
                self.output.source_copies[0, made.source] = [made.element]

    # --- links ----------------------------------------------------------------------------------------

    def _link(self, link: RobotLink, tensor: np.ndarray) -> Markup:
        body = link.body
        element = Markup("link", {"name": self.names[id(body)]}, item=link.item)
        # Write a mass of zero too: without one, DART assumes 1 kg and MuJoCo computes it from the shapes.
        if not (self.keeps_roots and link.item is not None and _states_no_mass(link.item) and not tensor.any()):
            element.children.append(_inertial(link, tensor))
        element.children += self.shapes.link_shapes(body, link.item or body, link.shift)
        return element

    # --- joints ---------------------------------------------------------------------------------------

    def _joints(self) -> list[Markup]:
        taken = Names()
        names = {
            id(link.body): _unique(link.joint.name if link.joint else f"{link.body.name}_root", taken)
            for link in self.robot.links
        }
        joint_names = {link.joint.name: names[id(link.body)] for link in self.robot.links if link.joint is not None}
        self._drop_circular_mimics()
        links = [link for link in self.robot.links if not (self.keeps_roots and _is_root_without_joint(link))]
        return [self._joint(link, names[id(link.body)], joint_names) for link in links]

    def _drop_circular_mimics(self) -> None:
        """Find the joints that mimic themselves through others, which readers of URDF refuse."""
        joints = {link.joint.name: link.joint for link in self.robot.links if link.joint is not None}
        for link in self.robot.links:
            joint = link.joint
            if joint is not None and joint.mimic is not None and mimics_itself(joint, joints, self.without_mimic):
                self.without_mimic.add(id(joint))
                self.output.add_loss(link.joint_item or self.model, CATALOGUE["UR703"], "mimic", is_dropped=True)

    def _joint(self, link: RobotLink, name: str, joint_names: dict[str, str]) -> Markup:
        joint = link.joint
        kind = "fixed" if self.robot.static else self._type(joint)
        element = Markup("joint", {"name": name, "type": kind}, item=link.joint_item)
        parent = self.by_body[id(joint.parent)] if joint is not None and joint.parent is not None else None
        add_transform(element, link.frame, None if parent is None else parent.frame)
        element.add("parent", link=WORLD if parent is None else self.names[id(parent.body)])
        element.add("child", link=self.names[id(link.body)])
        if joint is None or kind in ("fixed", "floating"):
            return element
        element.add("axis", xyz=format_numbers(_direction(joint.axes[0])))
        self._add_limit(element, link, joint, kind)
        self._add_dynamics(element, link, joint.dofs[0])
        self._add_mimic(element, joint, joint_names)
        return element

    def _type(self, joint: Joint | None) -> str:
        if joint is None:
            return "floating"
        if joint.kind == "revolute" and _positions(joint) == UNLIMITED:
            return "continuous"
        return _TYPES[joint.kind]

    def _add_limit(self, element: Markup, link: RobotLink, joint: Joint, kind: str) -> None:
        dof = joint.dofs[0]
        attributes: dict[str, str] = {}
        if kind != "continuous":
            lower, upper = _positions(joint)
            attributes = {"lower": format_bound(lower), "upper": format_bound(upper)}
        elif dof.velocity_limits == dof.force_limits == UNLIMITED:
            return
        attributes |= {name[1:]: self._larger_bound(dof, link, field) for name, field in SYMMETRIC_LIMITS.items()}
        element.children.append(Markup("limit", attributes))

    def _add_dynamics(self, element: Markup, link: RobotLink, dof: Dof) -> None:
        values = {attribute[1:]: getattr(dof, field) for attribute, field in DYNAMICS.items()}
        for field in DYNAMICS.values():
            if getattr(dof, field) < 0.0 and link.joint_item is not None:
                self.output.add_loss(link.joint_item, CATALOGUE["UR604"], field, field=field)
        dynamics = {name: format_number(value) for name, value in values.items() if value > 0.0}
        if dynamics:
            element.children.append(Markup("dynamics", dynamics))

    def _larger_bound(self, dof: Dof, link: RobotLink, field: str) -> str:
        """The larger bound of a limit, because URDF has one number for both directions."""
        low, high = getattr(dof, field)
        if -low != high and link.joint_item is not None:
            self.output.add_loss(link.joint_item, CATALOGUE["UR603"], field, limits=field.replace("_", " "))
        return format_bound(max(abs(low), abs(high)))

    def _add_mimic(self, element: Markup, joint: Joint, joint_names: dict[str, str]) -> None:
        mimic = joint.mimic
        if mimic is None or mimic.joint not in joint_names or id(joint) in self.without_mimic:
            return
        made = element.add("mimic", joint=joint_names[mimic.joint])
        if mimic.multiplier != 1.0:
            made.attributes["multiplier"] = format_number(mimic.multiplier)
        if mimic.offset:
            made.attributes["offset"] = format_number(mimic.offset)


def _is_root_without_joint(link: RobotLink) -> bool:
    """Whether the source states a root without a joint, which floats."""
    joint = link.joint_item
    is_implicit = joint is not None and joint.implicit and joint.kind == "free" and joint.parent is None
    return is_implicit and bool(np.array_equal(link.frame, UNSHIFTED))


def _states_no_mass(body: Body) -> bool:
    """Whether the source states no mass properties of a link, and it has none."""
    return "inertia" not in body.given and body.node >= 0 and body.mass == 0.0


def _inertial(link: RobotLink, tensor: np.ndarray) -> Markup:
    """The inertial element: at the centre of mass, in the orientation of the link."""
    element = Markup("inertial")
    body, shift = link.body, link.shift
    x, y, z = body.com
    if shift is not UNSHIFTED:
        moved = (spatial.inverse(shift) @ np.array([*body.com, 1.0]))[:3]
        x, y, z = spatial.without_noise(moved, np.abs(shift[:3, 3]).max()).tolist()
    if x or y or z:
        element.add("origin", xyz=format_numbers((x, y, z)))
    element.add("mass", value=format_number(body.mass))
    rotated = tensor
    if shift is not UNSHIFTED:
        rotated = spatial.rotate_moment(shift[:3, :3].T, tensor)
        rotated = (rotated + rotated.T) / 2.0  # restore the symmetry lost by rounding
    entries = spatial.without_noise(spatial.moment_entries(rotated)).tolist()
    element.add("inertia", **{name: format_number(value) for name, value in zip(MOMENT_ENTRIES, entries, strict=True)})
    return element


def _positions(joint: Joint) -> Interval:
    """The enforced position limits: URDF has no others."""
    dof = joint.dofs[0]
    return dof.position_limits if joint.limits_enforced and not dof.has_limits_at_infinity else UNLIMITED


def _direction(axis: Vector) -> Vector:
    """The axis with unit length: some readers do not normalize it."""
    length = sqrt(sum(value * value for value in axis))
    if spatial.unit_divisor(length) == 1.0:
        return axis
    x, y, z = spatial.unit(axis).tolist()
    return (x, y, z)


def _unique(name: str, taken: Names) -> str:
    """A valid URDF name: not empty, without surrounding spaces, unique."""
    fit = unique_name(name.strip(" \t\r\n") or "unnamed", taken)
    taken.add(fit)
    return fit


# --- the writer ----------------------------------------------------------------------------------------


_RENAMED = "renamed: URDF does not support the name"
_IN_LINK_FRAME = "in the link frame, which is at the joint"


def lower_joints(world: World) -> LoweredWorld | None:
    """Replace the joints that URDF lacks; None if all are supported."""
    return lower_to_hinges(world) if needs_hinge_lowering(world) else None


CAPABILITIES = WriterCapabilities(
    native_joints=frozenset({"weld", "revolute", "prismatic", "free"}),
    write=write,
    fields=URDF.item_fields() | {(World, "actuators")},
    motor_joints=MOTOR_JOINTS,
    dof_fields=dict.fromkeys(URDF.field_parts(Joint, "dofs"), frozenset({"revolute", "prismatic"})),
    drive_fields=dict.fromkeys(STOPS, "as limits"),
    rewritten_fields={
        (World, "actuators"): "as effort interfaces of ros2_control",
        (Body, "name"): _RENAMED,
        (Joint, "name"): _RENAMED,
        (Model, "name"): _RENAMED,
        (Body, "pose"): "as frames of joints",
        (Body, "inertia"): _IN_LINK_FRAME,
        (Model, "pose"): "as frames of the root joints",
        (Model, "static"): "as fixed joints",
        (Joint, "pose"): "the link frame is at the joint",
        (Shape, "collidable"): "shapes that do not collide are omitted",
        (Shape, "pose"): _IN_LINK_FRAME,
    },
    shapes=frozenset({"box", "sphere", "cylinder", "mesh"}),
    rewritten_shapes={"capsule": "as a cylinder and two spheres", **dict.fromkeys(MESH_KINDS, AS_MESH)},
    mesh_extensions=frozenset({".stl", ".dae", ".obj"}),
    has_textures=True,
    body_frames_at_joints=True,
    lower_joints=lower_joints,
)
