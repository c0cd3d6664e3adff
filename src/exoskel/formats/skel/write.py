"""From a scene to SKEL, by the writer contract of the reference: what DART reads without a word.

What SKEL has no words for is not written here; `exoskel.formats.write` finds out by reading back, and carries
it in elements of a namespace of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, pi, sqrt

import numpy as np

from exoskel import spatial
from exoskel.diagnostics import ExoskelError
from exoskel.formats.skel.vocabulary import DYNAMICS
from exoskel.scene.body import Body, SoftBody
from exoskel.scene.inertia import UNIT_MOMENT
from exoskel.scene.item import Names, unique_name
from exoskel.scene.joint import UNLIMITED, Dof, Joint
from exoskel.scene.pose import Euler, Pose, Vector
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
    Pyramid,
    Shape,
    Sphere,
)
from exoskel.scene.summary import moments
from exoskel.scene.world import Model, Scene, World
from exoskel.source.markup import Markup, format_number, format_numbers
from exoskel.source.output_context import OutputContext

NATIVE_KIND = {"hinge2": "universal", "amotor": "free"}
"""What joints that SKEL does not know are written as: the nearest that moves alike."""

DELICATE = ("capsule", "ellipsoid", "cone")
"""Shapes that not every collision detector of DART knows."""

EULER_ORDERS = ("xyz", "zyx")
"""The orders that SKEL has; a joint of another one has one of these in a frame whose axes have changed places."""
_MOMENT = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
_AXES = ("axis", "axis2", "axis3")
_BY_AXIS = frozenset(
    {"revolute", "prismatic", "screw", "universal", "euler", "translational", "translational2d", "planar"}
)
"""Kinds whose degrees of freedom have an axis element each; those of others are written as `dof`."""


def write(scene: Scene, output: OutputContext) -> Markup:
    """The document as a tree whose elements know the parts of the scene they stand for."""
    root = Markup("skel", {"version": "1.0"}, item=scene)
    if len(scene.worlds) > 1:
        names = ", ".join(repr(world.name) for world in scene.worlds)
        raise ExoskelError(f"SKEL holds one world, and the scene has {len(scene.worlds)} ({names}); choose one of them")
    for world in scene.worlds:
        root.children.append(_world(world, output, foreign=scene.reading.format not in ("", "skel")))
    return root


def _world(world: World, output: OutputContext, *, foreign: bool) -> Markup:
    element = Markup("world", {"name": world.name.strip() or "world"}, item=world)
    physics = element.add("physics")
    physics.add("time_step", format_number(world.time_step))
    physics.add("gravity", format_numbers(world.gravity))
    detector = world.collision_detector
    # What says no detector although its file names one was read from what we wrote for another format.
    foreign = foreign or "collision_detector" in world.given
    if not detector and foreign and any(s.kind in DELICATE for body in world.bodies() for s in body.collisions):
        detector = "dart"  # DART's own default makes spheres of capsules
    if detector:
        physics.add("collision_detector", detector)
    names = Names()
    for model in world.models:
        skeleton = skeleton_of(model, output)
        skeleton.attributes["name"] = _fresh(model.name, names)
        element.children.append(skeleton)
    return element


def _fresh(name: str, taken: Names) -> str:
    """A name SKEL can hold: not empty, no blanks around it, unique."""
    fit = name.strip(" \t\r\n") or "unnamed"
    fit = unique_name(fit, taken)
    taken.add(fit)
    return fit


def skeleton_of(model: Model, output: OutputContext) -> Markup:
    element = Markup("skeleton", {"name": model.name}, item=model)
    _add_pose(element, model.pose)
    if model.static:
        element.add("mobile", "false")
    taken = Names(["world"])
    names = {id(body): _fresh(body.name, taken) for body in model.bodies}
    for body, moment in zip(model.bodies, moments(model.bodies).tolist(), strict=True):
        # DART takes no body without mass, and what never moves may as well have one.
        mass = 1.0 if model.static and body.mass == 0.0 else body.mass
        element.children.append(
            body_of(body, names[id(body)], mass, moment if mass == body.mass else UNIT_MOMENT, output)
        )
    taken = Names()
    for joint in model.joints:
        if not joint.loop:
            element.children.append(joint_of(joint, _fresh(joint.name, taken), names))
    return element


# --- bodies -----------------------------------------------------------------------------------------


def body_of(body: Body, name: str, mass: float, moment: Sequence[float], output: OutputContext) -> Markup:
    element = Markup("body", {"name": name}, item=body)
    if not body.gravity:
        element.add("gravity", "false")
    element.add("transformation", transformation(body.pose))
    inertia = element.add("inertia")
    inertia.add("mass", format_number(mass))
    inertia.add("offset", format_numbers(body.com))
    tensor = inertia.add("moment_of_inertia")
    for entry, value in zip(_MOMENT, moment, strict=True):
        tensor.add(entry, format_number(value))
    for tag, shapes in (("visualization_shape", body.visuals), ("collision_shape", body.collisions)):
        element.children += [made for shape in shapes if (made := shape_of(tag, shape, output)) is not None]
    if body.soft is not None:
        element.children.append(_soft(body.soft))
    for marker in body.markers:
        made = element.add("marker", name=marker.name)
        made.item = marker
        made.add("offset", format_numbers(marker.offset))
    if body.kept and "self_collide" in body.kept:
        element.add("self_collide", body.kept["self_collide"])
    return element


def shape_of(tag: str, shape: Shape, output: OutputContext) -> Markup | None:
    """The shape, or None if SKEL has no word for its geometry."""
    holder = geometry_of(shape.geometry, output)
    if holder is None:
        return None
    element = Markup(tag, item=shape)
    _add_pose(element, shape.pose)
    element.children.append(holder)
    if tag == "visualization_shape":
        if shape.color is not None:
            element.add("color", format_numbers(shape.color if shape.color[3] != 1.0 else shape.color[:3]))
    elif not shape.collidable:
        element.add("collidable", "0")
    return element


def geometry_of(geometry: Geometry, output: OutputContext) -> Markup | None:
    holder = Markup("geometry")
    match geometry:
        case Box(size=size):
            holder.add("box").add("size", format_numbers(size))
        case Ellipsoid(size=size):
            holder.add("ellipsoid").add("size", format_numbers(size))
        case Sphere(radius=radius):
            holder.add("sphere").add("radius", format_number(radius))
        case Cylinder() | Capsule() | Cone(centred=True):
            tube = holder.add(str(geometry.__struct_config__.tag))
            tube.add("radius", format_number(geometry.radius))
            tube.add("height", format_number(geometry.height))
        case Pyramid(width=width, depth=depth, height=height):
            pyramid = holder.add("pyramid")
            for name, value in (("base_width", width), ("base_depth", depth), ("height", height)):
                pyramid.add(name, format_number(value))
        case Plane(normal=normal, offset=offset):
            plane = holder.add("plane")
            plane.add("normal", format_numbers(normal))
            plane.add("offset", format_number(offset))
        case MultiSphere(spheres=spheres) if spheres:
            group = holder.add("multi_sphere")
            for ball in spheres:
                one = group.add("sphere")
                one.add("radius", format_number(ball.radius))
                one.add("position", format_numbers(ball.position))
        case Mesh(scale=scale):
            mesh = holder.add("mesh")
            mesh.add("file_name", output.reference(geometry))
            mesh.add("scale", format_numbers(scale))
        case _:
            return None
    return holder


def _soft(soft: SoftBody) -> Markup:
    element = Markup("soft_shape")
    element.add("total_mass", format_number(soft.total_mass))
    _add_pose(element, soft.pose)
    holder = element.add("geometry")
    cut = soft.tessellation
    match soft.geometry:
        case Box(size=size):
            made = holder.add("box")
            made.add("size", format_numbers(size))
            made.add("frags", " ".join(str(n) for n in cut.fragments))
        case Sphere(radius=radius):
            holder.add("sphere").add("radius", format_number(radius))
        case Ellipsoid(size=size):
            holder.add("ellipsoid").add("size", format_numbers(size))
        case Cylinder(radius=radius, height=height):
            made = holder.add("cylinder")
            made.add("radius", format_number(radius))
            made.add("height", format_number(height))
        case None:
            pass
    if holder.children and not isinstance(soft.geometry, Box):
        made = holder.children[0]
        made.add("num_slices", str(cut.slices))
        made.add("num_stacks", str(cut.stacks))
        if isinstance(soft.geometry, Cylinder):
            made.add("num_rings", str(cut.rings))
    element.add("kv", format_number(soft.vertex_stiffness))
    element.add("ke", format_number(soft.edge_stiffness))
    element.add("damp", format_number(soft.damping))
    return element


# --- joints -----------------------------------------------------------------------------------------


def joint_of(joint: Joint, name: str, names: dict[int, str]) -> Markup:
    kind = NATIVE_KIND.get(joint.kind, joint.kind)
    element = Markup("joint", {"type": kind, "name": name}, item=joint)
    if joint.actuator != "force":
        element.attributes["actuator"] = joint.actuator
    element.add("parent", "world" if joint.parent is None else names[id(joint.parent)])
    element.add("child", names[id(joint.child)])
    order, frame = _euler(joint) if kind == "euler" else ("", joint.pose)
    _add_pose(element, frame)
    rows: Sequence[Dof] = joint._dofs or ()
    axes = joint.axes
    if joint.swapped:
        # SKEL's first axis is the parent's: the axes change places, and so do their coordinates.
        axes, rows = axes[::-1], rows[::-1]
    if kind in _BY_AXIS:
        _add_axes(element, joint, kind, axes, rows)
    if kind == "euler":
        element.add("axis_order", order)
    if kind in ("planar", "translational2d"):
        _add_plane(element, joint)
    _add_initial(element, "init_pos", [dof.position for dof in rows])
    _add_initial(element, "init_vel", [dof.velocity for dof in rows])
    for index, dof in enumerate(rows):
        made = _dof(dof, index, dynamics=kind not in _BY_AXIS)
        if made is not None:
            element.children.append(made)
    return element


def _euler(joint: Joint) -> tuple[str, Pose]:
    """An order that SKEL has, and the frame in which the joint turns about the same axes by the same angles."""
    if joint.order in EULER_ORDERS:
        return joint.order, joint.pose
    axes = [np.eye(3)["xyz".index(letter)] for letter in joint.order]
    order = "xyz" if np.linalg.det(axes) > 0.0 else "zyx"
    turn = np.stack(axes if order == "xyz" else axes[::-1], axis=1)
    return order, Pose.from_matrix(joint.pose.matrix() @ spatial.transform(turn, np.zeros(3)))


def _add_axes(element: Markup, joint: Joint, kind: str, axes: Sequence[Vector], rows: Sequence[Dof]) -> None:
    directed = kind in ("revolute", "prismatic", "screw", "universal")
    count = len(joint.motion) if not directed else len(axes)
    for index in range(min(count, 3)):
        axis = Markup(_AXES[index])
        if directed:
            bent = kind == "universal" and not joint.collapses
            axis.add("xyz", format_numbers(_direction(axes[index]) if bent else axes[index]))
        if kind == "screw":
            axis.add("pitch", format_number(joint.pitch))
        if index < len(rows):
            _add_dynamics(axis, rows[index])
        if axis.children:
            element.children.append(axis)


_UNIT_TOLERANCE = 1e-6


def _direction(axis: Vector) -> Vector:
    """An axis as authored if it is unit; DART makes something else of a universal joint's that is not."""
    x, y, z = spatial.unit(axis).tolist()
    length = sqrt(sum(value * value for value in axis))
    return axis if abs(length - 1.0) <= _UNIT_TOLERANCE or length == 0.0 else (x, y, z)


def _add_dynamics(axis: Markup, dof: Dof) -> None:
    dynamics = Markup("dynamics")
    for tag, field in DYNAMICS.items():
        if getattr(dof, field):
            dynamics.add(tag, format_number(getattr(dof, field)))
    if dynamics.children:
        axis.children.append(dynamics)
    if dof.position_limits != UNLIMITED:
        limit = axis.add("limit")
        for tag, text in _bounds(dof.position_limits).items():
            limit.add(tag, text)


def _add_plane(element: Markup, joint: Joint) -> None:
    plane = element.add("plane", type=joint.plane)
    if joint.plane == "arbitrary":
        for tag, axis in zip(("translation_axis1", "translation_axis2"), joint.axes, strict=True):
            plane.add(tag).add("xyz", format_numbers(axis))


def _add_initial(element: Markup, tag: str, values: Sequence[float]) -> None:
    if any(values):
        element.add(tag, format_numbers(values))


def _dof(dof: Dof, index: int, *, dynamics: bool) -> Markup | None:
    """What of a degree of freedom only a `dof` element can say; None if there is nothing."""
    element = Markup("dof", {"local_index": str(index)})
    if dof.name:
        element.attributes["name"] = dof.name
    states: list[tuple[str, tuple[float, float], float]] = [
        ("position", dof.position_limits if dynamics else UNLIMITED, 0.0),
        ("velocity", dof.velocity_limits, 0.0),
        ("acceleration", dof.acceleration_limits, dof.acceleration),
        ("force", dof.force_limits, dof.force),
    ]
    for tag, limits, initial in states:
        attributes = _state(limits, initial)
        if attributes:
            # A state without an initial value of its own would reset what `init_pos` and `init_vel` have set.
            if tag in ("position", "velocity") and getattr(dof, tag):
                attributes["initial"] = format_number(getattr(dof, tag))
            element.children.append(Markup(tag, attributes))
    if dynamics:
        for tag, field in DYNAMICS.items():
            if getattr(dof, field):
                element.add(tag, format_number(getattr(dof, field)))
    return element if element.children or dof.name else None


def _state(limits: tuple[float, float], initial: float) -> dict[str, str]:
    found = _bounds(limits)
    if initial:
        found["initial"] = format_number(initial)
    return found


def _bounds(limits: tuple[float, float]) -> dict[str, str]:
    """The ends of an interval that are not where they are anyway; one may be infinite on the wrong side."""
    named = zip(("lower", "upper"), limits, UNLIMITED, strict=True)
    return {
        name: format_number(bound) if isfinite(bound) else str(bound) for name, bound, none in named if bound != none
    }


# --- poses ------------------------------------------------------------------------------------------


def _add_pose(element: Markup, pose: Pose) -> None:
    if not pose.is_identity:
        element.add("transformation", transformation(pose))


def transformation(pose: Pose) -> str:
    """Position, then Euler angles about x, y, z: as authored if they are such, within half a turn."""
    return format_numbers((*pose.position, *euler_angles(pose)))


def euler_angles(pose: Pose) -> tuple[float, float, float]:
    rotation = pose.rotation
    if isinstance(rotation, Euler) and rotation.order == "xyz":
        a, b, c = rotation.in_radians
        if -pi < a <= pi and -pi / 2 <= b <= pi / 2 and -pi < c <= pi:
            return (a, b, c)
    a, b, c = (float(angle) for angle in spatial.euler_xyz(rotation.matrix()))
    return (pi if a == -pi else a, b, pi if c == -pi else c)
