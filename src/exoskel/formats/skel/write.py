"""Writes a scene as SKEL that DART reads without warnings.

Data that SKEL cannot express is not written here: `exoskel.formats.write` finds it by reading the document back,
and embeds it in elements of its own namespace.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, pi, sqrt

import numpy as np
from msgspec import structs

from exoskel import spatial
from exoskel.diagnostics import ExoskelError
from exoskel.formats.interface import FormatEditor, WriterCapabilities, item_fields
from exoskel.formats.skel.values import JOINT_KINDS
from exoskel.formats.skel.vocabulary import DYNAMICS, INITIAL, MOMENT_ENTRIES
from exoskel.scene.body import Body, SoftBody
from exoskel.scene.inertia import UNIT_MOMENT, derive_moments
from exoskel.scene.item import Item, Names, unique_name
from exoskel.scene.joint import DOF_LIMITS, DOF_STATES, UNLIMITED, Dof, Joint
from exoskel.scene.model import Model
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
from exoskel.scene.world import Scene, World
from exoskel.source.markup import Markup, format_number, format_numbers
from exoskel.source.output_context import OutputContext
from exoskel.source.vocabulary import Element

NATIVE_KIND = {"hinge2": "universal", "amotor": "free"}
"""The SKEL kinds for joints that SKEL does not support: the nearest with the same motion."""

PARTLY_SUPPORTED = ("capsule", "ellipsoid", "cone")
"""Shapes that not every collision detector of DART supports."""

EULER_ORDERS = ("xyz", "zyx")
"""The orders that SKEL supports; other orders are written in a frame with permuted axes."""
_AXES = ("axis", "axis2", "axis3")
_BY_AXIS = frozenset(
    {"revolute", "prismatic", "screw", "universal", "euler", "translational", "translational2d", "planar"}
)
"""Kinds whose degrees of freedom each have an axis element; for other kinds, `dof` is written."""


def write(scene: Scene, output: OutputContext) -> Markup:
    """The document as a tree whose elements refer to their items of the scene."""
    root = Markup("skel", {"version": "1.0"}, item=scene)
    if len(scene.worlds) > 1:
        names = ", ".join(repr(world.name) for world in scene.worlds)
        raise ExoskelError(f"SKEL files contain one world, but the scene has {len(scene.worlds)} ({names}); choose one")
    for world in scene.worlds:
        root.children.append(_world_element(world, output, other_format=scene.source_info.format not in ("", "skel")))
    return root


def _world_element(world: World, output: OutputContext, *, other_format: bool) -> Markup:
    element = Markup("world", {"name": world.name.strip() or "world"}, item=world)
    physics = element.add("physics")
    physics.add("time_step", format_number(world.time_step))
    physics.add("gravity", format_numbers(world.gravity))
    detector = world.collision_detector
    # A file that names a detector the scene does not state was written by us from another format.
    other_format = other_format or "collision_detector" in world.given
    kinds = {shape.kind for body in world.bodies() for shape in body.collisions}
    if not detector and other_format and not kinds.isdisjoint(PARTLY_SUPPORTED):
        detector = "dart"  # DART's default detector replaces capsules with spheres
    if detector:
        physics.add("collision_detector", detector)
    names = Names()
    for model in world.models:
        skeleton = skeleton_element(model, output)
        skeleton.attributes["name"] = _valid_name(model.name, names)
        element.children.append(skeleton)
    return element


def _valid_name(name: str, taken: Names) -> str:
    """A name that SKEL supports: not empty, no spaces around it, unique."""
    fit = name.strip(" \t\r\n") or "unnamed"
    fit = unique_name(fit, taken)
    taken.add(fit)
    return fit


def skeleton_element(model: Model, output: OutputContext) -> Markup:
    element = Markup("skeleton", {"name": model.name}, item=model)
    _add_pose(element, model.pose)
    if model.static:
        element.add("mobile", "false")
    taken = Names(["world"])
    names = {id(body): _valid_name(body.name, taken) for body in model.bodies}
    for body, moment in zip(model.bodies, moments(model.bodies).tolist(), strict=True):
        # DART rejects a body without mass; a static body may have any.
        mass = 1.0 if model.static and body.mass == 0.0 else body.mass
        element.children.append(
            body_element(body, names[id(body)], mass, moment if mass == body.mass else UNIT_MOMENT, output)
        )
    taken = Names()
    for joint in model.joints:
        if not joint.loop:
            element.children.append(joint_element(joint, _valid_name(joint.name, taken), names))
    return element


# --- bodies -----------------------------------------------------------------------------------------


def body_element(body: Body, name: str, mass: float, moment: Sequence[float], output: OutputContext) -> Markup:
    element = Markup("body", {"name": name}, item=body)
    if not body.gravity:
        element.add("gravity", "false")
    element.add("transformation", transformation(body.pose))
    inertia = element.add("inertia")
    inertia.add("mass", format_number(mass))
    inertia.add("offset", format_numbers(body.com))
    tensor = inertia.add("moment_of_inertia")
    for entry, value in zip(MOMENT_ENTRIES, moment, strict=True):
        tensor.add(entry, format_number(value))
    for tag, shapes in (("visualization_shape", body.visuals), ("collision_shape", body.collisions)):
        element.children += [child for shape in shapes if (child := shape_element(tag, shape, output)) is not None]
    if body.soft is not None:
        element.children.append(_soft_element(body.soft))
    for marker in body.markers:
        marker_element = element.add("marker", name=marker.name)
        marker_element.item = marker
        marker_element.add("offset", format_numbers(marker.offset))
    if body.ignored_values and "self_collide" in body.ignored_values:
        element.add("self_collide", body.ignored_values["self_collide"])
    return element


def shape_element(tag: str, shape: Shape, output: OutputContext) -> Markup | None:
    """The element of a shape, or None if SKEL does not support its geometry."""
    geometry = geometry_element(shape.geometry, output)
    if geometry is None:
        return None
    element = Markup(tag, item=shape)
    _add_pose(element, shape.pose)
    element.children.append(geometry)
    if tag == "visualization_shape":
        if shape.color is not None:
            element.add("color", format_numbers(shape.color if shape.color[3] != 1.0 else shape.color[:3]))
    elif not shape.collidable:
        element.add("collidable", "0")
    return element


def geometry_element(geometry: Geometry, output: OutputContext) -> Markup | None:
    element = Markup("geometry")
    match geometry:
        case Box(size=size):
            element.add("box").add("size", format_numbers(size))
        case Ellipsoid(size=size):
            element.add("ellipsoid").add("size", format_numbers(size))
        case Sphere(radius=radius):
            element.add("sphere").add("radius", format_number(radius))
        case Cylinder() | Capsule() | Cone(centred=True):
            tube = element.add(str(geometry.__struct_config__.tag))
            tube.add("radius", format_number(geometry.radius))
            tube.add("height", format_number(geometry.height))
        case Pyramid(width=width, depth=depth, height=height):
            pyramid = element.add("pyramid")
            for name, value in (("base_width", width), ("base_depth", depth), ("height", height)):
                pyramid.add(name, format_number(value))
        case Plane(normal=normal, offset=offset):
            plane = element.add("plane")
            plane.add("normal", format_numbers(normal))
            plane.add("offset", format_number(offset))
        case MultiSphere(spheres=spheres) if spheres:
            group = element.add("multi_sphere")
            for ball in spheres:
                sphere = group.add("sphere")
                sphere.add("radius", format_number(ball.radius))
                sphere.add("position", format_numbers(ball.position))
        case Mesh(scale=scale):
            mesh = element.add("mesh")
            mesh.add("file_name", output.reference(geometry))
            mesh.add("scale", format_numbers(scale))
        case _:
            return None
    return element


def _soft_element(soft: SoftBody) -> Markup:
    element = Markup("soft_shape")
    element.add("total_mass", format_number(soft.total_mass))
    _add_pose(element, soft.pose)
    geometry = element.add("geometry")
    tessellation = soft.tessellation
    match soft.geometry:
        case Box(size=size):
            child = geometry.add("box")
            child.add("size", format_numbers(size))
            child.add("frags", " ".join(str(n) for n in tessellation.fragments))
        case Sphere(radius=radius):
            geometry.add("sphere").add("radius", format_number(radius))
        case Ellipsoid(size=size):
            geometry.add("ellipsoid").add("size", format_numbers(size))
        case Cylinder(radius=radius, height=height):
            child = geometry.add("cylinder")
            child.add("radius", format_number(radius))
            child.add("height", format_number(height))
        case None:
            pass
    if geometry.children and not isinstance(soft.geometry, Box):
        child = geometry.children[0]
        child.add("num_slices", str(tessellation.slices))
        child.add("num_stacks", str(tessellation.stacks))
        if isinstance(soft.geometry, Cylinder):
            child.add("num_rings", str(tessellation.rings))
    element.add("kv", format_number(soft.vertex_stiffness))
    element.add("ke", format_number(soft.edge_stiffness))
    element.add("damp", format_number(soft.damping))
    return element


# --- joints -----------------------------------------------------------------------------------------


def joint_element(joint: Joint, name: str, names: dict[int, str]) -> Markup:
    kind = NATIVE_KIND.get(joint.kind, joint.kind)
    element = Markup("joint", {"type": kind, "name": name}, item=joint)
    if joint.actuator != "force":
        element.attributes["actuator"] = joint.actuator
    element.add("parent", "world" if joint.parent is None else names[id(joint.parent)])
    element.add("child", names[id(joint.child)])
    order, frame = supported_order(joint) if kind == "euler" else ("", joint.pose)
    _add_pose(element, frame)
    dofs: Sequence[Dof] = joint._dofs or ()
    axes = joint.axes
    if joint.swapped:
        # The first axis of SKEL is the parent's, so axes and coordinates are swapped.
        axes, dofs = axes[::-1], dofs[::-1]
    if kind in _BY_AXIS:
        _add_axes(element, joint, kind, axes, dofs)
    if kind == "euler":
        element.add("axis_order", order)
    if kind in ("planar", "translational2d"):
        _add_plane(element, joint)
    for tag, field in INITIAL.items():
        _add_initial(element, tag, [getattr(dof, field) for dof in dofs])
    for index, dof in enumerate(dofs):
        child = _dof_element(dof, index, dynamics=kind not in _BY_AXIS)
        if child is not None:
            element.children.append(child)
    return element


def supported_order(joint: Joint) -> tuple[str, Pose]:
    """An order that SKEL supports, and the frame in which the joint rotates about the same axes by the same angles."""
    if joint.order in EULER_ORDERS:
        return joint.order, joint.pose
    axes = [np.eye(3)["xyz".index(letter)] for letter in joint.order]
    order = "xyz" if np.linalg.det(axes) > 0.0 else "zyx"
    rotation = np.stack(axes if order == "xyz" else axes[::-1], axis=1)
    return order, Pose.from_matrix(joint.pose.matrix() @ spatial.transform(rotation, np.zeros(3)))


def _add_axes(element: Markup, joint: Joint, kind: str, axes: Sequence[Vector], dofs: Sequence[Dof]) -> None:
    directed = kind in ("revolute", "prismatic", "screw", "universal")
    count = len(joint.motion) if not directed else len(axes)
    for index in range(min(count, 3)):
        axis = Markup(_AXES[index])
        if directed:
            bent = kind == "universal" and not joint.collapses
            axis.add("xyz", format_numbers(_unit_axis(axes[index]) if bent else axes[index]))
        if kind == "screw":
            axis.add("pitch", format_number(joint.pitch))
        if index < len(dofs):
            _add_dynamics(axis, dofs[index])
        if axis.children:
            element.children.append(axis)


_UNIT_TOLERANCE = 1e-6


def _unit_axis(axis: Vector) -> Vector:
    """The axis as given if it is a unit vector, else normalised: DART misreads other axes of universal joints."""
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
        for tag, text in _bound_attributes(dof.position_limits).items():
            limit.add(tag, text)


def _add_plane(element: Markup, joint: Joint) -> None:
    plane = element.add("plane", type=joint.plane)
    if joint.plane == "arbitrary":
        for tag, axis in zip(("translation_axis1", "translation_axis2"), joint.axes, strict=True):
            plane.add(tag).add("xyz", format_numbers(axis))


def _add_initial(element: Markup, tag: str, values: Sequence[float]) -> None:
    if any(values):
        element.add(tag, format_numbers(values))


def _dof_element(dof: Dof, index: int, *, dynamics: bool) -> Markup | None:
    """The `dof` element with everything that only it can express; None if there is nothing."""
    element = Markup("dof", {"local_index": str(index)})
    if dof.name:
        element.attributes["name"] = dof.name
    for state, field in zip(DOF_STATES, DOF_LIMITS, strict=True):
        is_in_axis = state == "position" and not dynamics
        attributes = _bound_attributes(UNLIMITED if is_in_axis else getattr(dof, field))
        # Positions and velocities have elements of their own, but a state without an initial value would reset them.
        if getattr(dof, state) and (attributes or state not in INITIAL.values()):
            attributes["initial"] = format_number(getattr(dof, state))
        if attributes:
            element.children.append(Markup(state, attributes))
    if dynamics:
        for tag, field in DYNAMICS.items():
            if getattr(dof, field):
                element.add(tag, format_number(getattr(dof, field)))
    return element if element.children or dof.name else None


def _bound_attributes(limits: tuple[float, float]) -> dict[str, str]:
    """The bounds that differ from the default; a bound may be infinite on the wrong side."""
    named = zip(("lower", "upper"), limits, UNLIMITED, strict=True)
    return {
        name: format_number(bound) if isfinite(bound) else str(bound)
        for name, bound, default in named
        if bound != default
    }


# --- poses ------------------------------------------------------------------------------------------


def _add_pose(element: Markup, pose: Pose) -> None:
    if not pose.is_identity:
        element.add("transformation", transformation(pose))


def transformation(pose: Pose) -> str:
    """Position, then Euler angles about x, y, z, as given if they are such angles in the principal range."""
    return format_numbers((*pose.position, *euler_angles(pose)))


def euler_angles(pose: Pose) -> tuple[float, float, float]:
    rotation = pose.rotation
    if isinstance(rotation, Euler) and rotation.order == "xyz":
        a, b, c = rotation.in_radians
        if -pi < a <= pi and -pi / 2 <= b <= pi / 2 and -pi < c <= pi:
            return (a, b, c)
    a, b, c = spatial.without_noise(spatial.euler_xyz(rotation.matrix()), 1.0).tolist()
    return (pi if a == -pi else a, b, pi if c == -pi else c)


# --- the writer ----------------------------------------------------------------------------------------


_RENAMED = "renamed: SKEL does not support the name"

CAPABILITIES = WriterCapabilities(
    native_joints=frozenset(JOINT_KINDS),
    write=write,
    depends_on_source=True,
    # Not all that the vocabulary sets: names may be embedded too, and what only some shapes and worlds state.
    fields=item_fields(
        {
            World: ("gravity", "time_step"),
            Model: ("pose", "static"),
            Body: ("pose", "inertia", "gravity", "soft"),
            Shape: ("geometry", "pose"),
            Joint: ("kind", "parent", "child", "pose", "axes", "order", "plane", "pitch", "actuator", "dofs"),
        }
    ),
    rewritten_fields={
        (Body, "name"): _RENAMED,
        (Joint, "name"): _RENAMED,
        (Model, "name"): _RENAMED,
        (Joint, "order"): "in a frame with permuted axes",
    },
    shapes=frozenset({"box", "sphere", "ellipsoid", "cylinder", "capsule", "pyramid", "plane", "multi_sphere", "mesh"}),
    euler_orders=EULER_ORDERS,
)


class SkelEditor(FormatEditor):
    """Adapts edits to the form of a SKEL document."""

    has_independent_models = True

    def has_element(self, item: Item) -> bool:
        return item.node >= 0 and not (isinstance(item, Joint) and item.implicit)

    def adapt_edited(self, source: Item, item: Item, old: Markup, new: Markup) -> tuple[Markup, Markup]:
        old, new = self.adapt_added(source, old), self.adapt_added(item, new)
        if isinstance(source, Body) and isinstance(item, Body) and source.com == item.com:
            return _without_offset(old), _without_offset(new)
        return old, new

    def adapt_added(self, item: Item, element: Markup) -> Markup:
        """Remove a moment of inertia that DART derives too: the file does not state what the scene does not state."""
        if isinstance(item, Body) and item.inertia.moment is None and _dart_derives_moment(item):
            children = [c.without("moment_of_inertia") if c.tag == "inertia" else c for c in element.children]
            return Markup(element.tag, element.attributes, element.text, children, element.item)
        if element.tag == "skeleton":
            children = [self.adapt_added(c.item, c) if isinstance(c.item, Body) else c for c in element.children]
            return Markup(element.tag, element.attributes, element.text, children, element.item)
        return element

    def find_child(self, node: int, wanted: Markup, ordinal: int, rule: Element | None) -> int:
        if wanted.tag == "dof":  # identified by its index, not by its position in the file
            for child in self.elements.children(node):
                if self.elements.tag(child) == "dof":
                    index = (self.elements.attribute(child, "local_index") or "").strip()
                    if index == wanted.attributes["local_index"]:
                        return child
            return -1
        return super().find_child(node, wanted, ordinal, rule)


def _without_offset(element: Markup) -> Markup:
    """A body element without its centre of mass, which has not changed."""
    children = [child.without("offset") if child.tag == "inertia" else child for child in element.children]
    return Markup(element.tag, element.attributes, element.text, children, element.item)


def _dart_derives_moment(body: Body) -> bool:
    """Whether DART derives the same moment of inertia from the shapes, up to rounding."""
    if body.inertia.rule != "solid":
        return True
    stated = structs.replace(body.inertia, com=body.com)
    found = derive_moments([(stated, body.shapes)], "all_shapes").moments[0]
    return bool(np.abs(found - body.moment).max() <= _ROUNDING * np.abs(found).max())


_ROUNDING = 1e-13
