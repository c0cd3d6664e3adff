"""Writes a scene as XODE that most readers interpret in the same way.

Bodies are at their initial poses, all directly in one space.  Data that XODE cannot express is not written here:
`exoskel.formats.write` finds it by reading the document back, and embeds it in extensions.
"""

from __future__ import annotations

from math import degrees, sqrt
from pathlib import Path

import numpy as np

from exoskel import spatial
from exoskel.formats.interface import WriterCapabilities, item_fields
from exoskel.formats.xode.codes import CATALOGUE
from exoskel.formats.xode.joint_elements import NATIVE, XodeJointWriter
from exoskel.formats.xode.mass import solid_properties
from exoskel.formats.xode.models import ENVIRONMENT_NAME
from exoskel.formats.xode.vocabulary import GROUPS, XODE
from exoskel.scene.body import Body, BodyState, FiniteRotation
from exoskel.scene.inertia import Moment
from exoskel.scene.item import Names, unique_name
from exoskel.scene.joint import Joint
from exoskel.scene.kinematics import Kinematics, bodies_moved_by_initial_positions, initial_twists, stated_twists
from exoskel.scene.model import Model
from exoskel.scene.moment_checks import is_positive_about_origin
from exoskel.scene.pose import IDENTITY, NO_ROTATION, ZERO, Pose, Quaternion, Vector, poses_from_matrices
from exoskel.scene.shape import (
    Box,
    Capsule,
    Cone,
    Cylinder,
    Mesh,
    Plane,
    Ray,
    Shape,
    Sphere,
    TriMesh,
    simplest_geometry,
)
from exoskel.scene.summary import moments
from exoskel.scene.world import Scene, World
from exoskel.source import meshes
from exoskel.source.embedded_format import EXTENSION
from exoskel.source.markup import Markup, format_number
from exoskel.source.meshes import MeshError
from exoskel.source.numbers import GivenNumbers, given_values, round_value
from exoskel.source.output_context import OutputContext
from exoskel.spatial import Array


def add_transform(element: Markup, pose: Pose, output: OutputContext) -> None:
    """Add a `transform` with the position and the rotation as a quaternion; nothing for the identity."""
    if pose.is_identity:
        return
    transform = element.add("transform")
    if pose.position != ZERO:
        transform.add("position", **{n: format_number(v) for n, v in zip("xyz", pose.position, strict=True)})
    rotation = Markup("rotation")
    if pose.has_no_rotation:
        pass
    elif output.target == "pyode":
        # PyODE does not read quaternions, and rotates Euler angles in the opposite direction.
        angles = spatial.without_noise(spatial.euler_xyz(pose.rotation.matrix()), 1.0).tolist()
        if any(angles):
            angles_text = {n: format_number(-degrees(v)) for n, v in zip("xyz", angles, strict=True)}
            rotation.add("euler", **angles_text, aformat="degrees")
    else:
        w, x, y, z = pose.rotation.wxyz if isinstance(pose.rotation, Quaternion) else pose.quaternion
        if (x, y, z) != ZERO:
            rotation.add("quaternion", x=format_number(x), y=format_number(y), z=format_number(z), w=format_number(w))
    if rotation.children:
        transform.children.append(rotation)
    if not transform.children:
        element.children.remove(transform)


def geometry_element(shape: Shape, output: OutputContext) -> Markup | None:
    """The element of a geometry, or None if XODE does not support it."""
    geometry = simplest_geometry(shape.geometry)
    match geometry:
        case Box(size=(x, y, z)):
            return Markup("box", {"sizex": format_number(x), "sizey": format_number(y), "sizez": format_number(z)})
        case Sphere(radius=radius):
            return Markup("sphere", {"radius": format_number(radius)})
        case Cylinder(radius=radius, height=height) if output.target != "pyode":
            return Markup("cylinder", {"radius": format_number(radius), "length": format_number(height)})
        case Capsule(radius=radius, height=height):
            return Markup("cappedCylinder", {"radius": format_number(radius), "length": format_number(height)})
        case Cone(radius=radius, height=height, centred=False) if output.target != "pyode":
            return Markup("cone", {"radius": format_number(radius), "length": format_number(height)})
        case Ray(length=length) if output.target != "pyode":
            return Markup("ray", {"length": format_number(length)})
        case Plane():
            return plane_element(geometry, IDENTITY.matrix())
        case TriMesh() as mesh:
            return _trimesh(mesh.vertices, mesh.triangles, mesh.remarks)
        case Mesh(path=str(path), extent=extent, scale=scale) if extent is not None:
            return _mesh_triangles(path, np.array(scale), output)
        case _:
            return None


def plane_element(plane: Plane, place: Array) -> Markup:
    """A plane in the root frame, without a transform."""
    normal = place[:3, :3] @ plane.normal
    offset = plane.offset + float(normal @ place[:3, 3])
    a, b, c = normal.tolist()
    return Markup(
        "plane", {"a": format_number(a), "b": format_number(b), "c": format_number(c), "d": format_number(offset)}
    )


def _mesh_triangles(path: str, scale: Array, output: OutputContext) -> Markup | None:
    """The triangles of a mesh file as a `trimesh`."""
    if path in output.unwritten:
        return None
    try:
        vertices, triangles = meshes.load_triangles(Path(path))
        output.triangles.spend(path, max(len(vertices), len(triangles)))
    except MeshError as error:
        output.unwritten[path] = str(error)
        return None
    if np.prod(scale) < 0.0:
        triangles = triangles[:, ::-1]
    return _trimesh(vertices * scale, triangles, {}) if len(triangles) else None


def _trimesh(vertices: Array, triangles: np.ndarray, remarks: dict[int, str]) -> Markup:
    element = Markup("trimesh")
    points = element.add("vertices")
    for index, (x, y, z) in enumerate(vertices.tolist()):
        point = points.add("v", x=format_number(x), y=format_number(y), z=format_number(z))
        if index in remarks:
            point.attributes["e"] = remarks[index]
    corners = element.add("triangles")
    for a, b, c in (triangles + 1).tolist():
        corners.add("t", ia=str(a), ib=str(b), ic=str(c))
    return element


_SOLIDS = (Box, Capsule, Cylinder, Sphere)
_PYODE_SOLIDS = (Box, Sphere)
_TOLERANCE = 1e-12


def mass_element(body: Body, moment: Moment, output: OutputContext) -> Markup | None:
    """The mass of a body; None if XODE cannot express it: no mass, or a moment that is not positive."""
    if not body.mass > 0.0:
        return None
    mass = Markup("mass")
    plain = body.com == ZERO and not any(moment[3:])
    if output.target == "pyode":
        # Solids rotated by right angles have products of inertia that are rounding errors.
        plain = body.com == ZERO and max(map(abs, moment[3:])) <= _TOLERANCE * max(moment[:3])
        shape, exact = _single_solid(body, moment, _PYODE_SOLIDS), True
        if shape is None:
            shape, exact = _equivalent_box(body, moment)
        if not (exact and plain):
            output.add_loss(body, CATALOGUE["X921"], "inertia")
    else:
        shape = _single_solid(body, moment, _SOLIDS) if plain else None
    if shape is not None:
        made = mass.add("mass_shape", density=format_number(_density(body, shape)))
        inner = geometry_element(shape, output)
        assert inner is not None
        made.children.append(inner)
        return mass
    if not is_positive_about_origin(moment, body.mass, body.com):
        return None
    _add_mass_struct(mass, body, moment, output.given_numbers)
    return mass


def _density(body: Body, shape: Shape) -> float:
    weight = solid_properties(simplest_geometry(shape.geometry))
    assert weight is not None
    volume = weight[0]
    density = body.mass / volume
    short = float(spatial.round_vectors([density])[0])
    return short if short * volume == body.mass else density


def _single_solid(body: Body, moment: Moment, kinds: tuple[type, ...]) -> Shape | None:
    """The collision shape whose moments about the axes match those of the body, if there is one."""
    for shape in body.collisions:
        if isinstance(simplest_geometry(shape.geometry), kinds) and shape.pose.is_identity:
            weight = solid_properties(simplest_geometry(shape.geometry))
            assert weight is not None
            if not weight[0] > 0.0:
                continue
            wanted = [body.mass * entry for entry in weight[1]]
            if all(abs(a - b) <= _TOLERANCE * max(wanted) for a, b in zip(moment, wanted, strict=False)):
                return shape
    return None


def _equivalent_box(body: Body, moment: Moment) -> tuple[Shape, bool]:
    """A box with the same moments about the axes, and whether the moments match exactly."""
    xx, yy, zz = moment[:3]
    if not xx + yy + zz > 0.0:
        return Shape(geometry=Box((1.0, 1.0, 1.0))), False
    squares = [6.0 * (xx + yy + zz - 2.0 * value) / body.mass for value in (xx, yy, zz)]
    least = 1e-6 * max(squares)
    x, y, z = (sqrt(max(square, least)) for square in squares)
    return Shape(geometry=Box((x, y, z))), min(squares) >= least


_DISTANT = 1e3


def _add_mass_struct(mass: Markup, body: Body, moment: Moment, given: GivenNumbers | None) -> None:
    """Add mass, centre of mass, and inertia about the body origin as in ODE.

    With a distant centre, readers get the moment about it as the difference of large numbers.  These are computed from
    the numbers as they are written, and keep all digits.
    """
    total, centre = body.mass, body.com
    struct = mass.add("mass_struct", total=format_number(total))
    struct.add("centerGravity", **_components(centre))
    is_distant = False
    if centre != ZERO:
        stated = None if given is None else given_values(_about_origin(total, centre, moment), given)
        if given is not None and stated is None:
            total, centre, moment = round_value((total, tuple(centre), tuple(moment)), given)
        x, y, z = centre
        is_distant = total * max(y * y + z * z, x * x + z * z, x * x + y * y) > _DISTANT * max(moment[:3])
        moment = stated or _about_origin(total, centre, moment)  # type: ignore[assignment]
    xx, yy, zz, xy, xz, yz = map(format_number, moment)
    matrix = struct.add("imatrix", m00=xx, m01=xy, m02=xz, m10=xy, m11=yy, m12=yz, m20=xz, m21=yz, m22=zz)
    matrix.is_rounded = is_distant


def _about_origin(mass: float, centre: Vector, moment: Moment) -> tuple[float, ...]:
    """The moment about the origin of a body, from that about its centre of mass."""
    x, y, z = centre
    point = (y * y + z * z, x * x + z * z, x * x + y * y, -x * y, -x * z, -y * z)
    return tuple(own + mass * shift for own, shift in zip(moment, point, strict=True))


# --- the document --------------------------------------------------------------------------------------


VERSION = "1.0r22"


def write(scene: Scene, output: OutputContext) -> Markup:
    """The document as a tree whose elements refer to their items of the scene."""
    root = Markup("xode", {"version": VERSION}, item=scene)
    names = _UniqueNames()
    for world in scene.worlds:
        names.taken.add(world.name)
    if scene.worlds:
        root.attributes["name"] = names.unique(f"{scene.worlds[0].name}-scene", "scene")
    for world in scene.worlds:
        root.children.append(_XodeWorldWriter(world, output, names).write())
    return root


class _UniqueNames:
    """Names of bodies, geoms and joints: unique in the document and not empty."""

    def __init__(self) -> None:
        self.taken = Names()

    def unique(self, name: str, fallback: str) -> str:
        chosen = unique_name(name or fallback, self.taken)
        self.taken.add(chosen)
        return chosen


class _XodeWorldWriter:
    def __init__(self, world: World, output: OutputContext, names: _UniqueNames) -> None:
        self.world = world
        self.output = output
        self.names = names
        bodies = list(world.bodies())
        written_poses = self._written_poses()
        self.kinematics = Kinematics(world.models, [written_poses.get(id(body), body.pose) for body in bodies])
        self.transforms = self.kinematics.poses()
        self.places = dict(zip(map(id, bodies), poses_from_matrices(self.transforms), strict=True))
        self.matrices: dict[int, Array] = dict(zip(map(id, bodies), self.transforms, strict=True))
        self.moments: dict[int, Moment] = dict(zip(map(id, bodies), map(tuple, moments(bodies).tolist()), strict=True))
        self.places.update(written_poses)
        # A joint's velocity is read as the difference of the velocities that its bodies state.
        own = stated_twists(bodies)
        moving = any(any(joint.velocities) for joint in world.joints() if not joint.loop)
        moving = moving or any(pair != (ZERO, ZERO) for pair in own.values())
        self.twists = initial_twists(world.models, self.kinematics, own) if moving else {}

    def _written_poses(self) -> dict[int, Pose]:
        """The poses as written, by id, of bodies whose initial pose is their own pose.

        Anchors and axes are computed from these, so that writing a second time gives the same digits.
        """
        found: dict[int, Pose] = {}
        for model in self.world.models:
            if model.pose.is_identity:
                moved = bodies_moved_by_initial_positions(model)
                found.update(
                    (id(body), self._with_quaternion(body.pose)) for body in model.bodies if id(body) not in moved
                )
        return found

    def _with_quaternion(self, pose: Pose) -> Pose:
        """A pose whose rotation is the quaternion written to the file, if one is written."""
        if self.output.target == "pyode" or isinstance(pose.rotation, Quaternion) or pose.rotation == NO_ROTATION:
            return pose
        return Pose(pose.position, Quaternion(pose.quaternion))

    def write(self) -> Markup:
        world = Markup("world", {"name": self.world.name}, item=self.world)
        self._add_parameters(world)
        space = world.add("space")
        environment = next((model for model in self.world.models if is_environment(model)), None)
        if environment is not None:
            body = environment.bodies[0]
            space.children += [
                child for shape in body.collisions if (child := self._geom_element(shape, ZERO_POSE)) is not None
            ]
        moving = [model for model in self.world.models if model is not environment]
        # Joints refer to bodies by name, so the names are chosen first.
        body_names = {id(body): self.names.unique(body.name, "body") for model in moving for body in model.bodies}
        for model in moving:
            space.children += self._plane_placeholders(model)
        for model in moving:
            space.children += [self._body_element(body, body_names[id(body)]) for body in model.bodies]
        writer = XodeJointWriter(
            body_names, self.matrices, self.kinematics, self.world.models, self.names.unique, self.output
        )
        for model in moving:
            space.children += [child for joint in model.joints if (child := writer.joint(joint, model)) is not None]
        return world

    def _add_parameters(self, world: Markup) -> None:
        """Add gravity and other world parameters in the extension that the reference proposes."""
        if self.output.target == "pyode":
            return
        ext = EXTENSION.new(EXTENSION.world_extension)
        for tag, field in EXTENSION.world_parameters.items():
            value = getattr(self.world, field)
            if value is None or value == ZERO:
                continue
            is_scalar = isinstance(value, int | float)
            ext.add(tag, **({"value": format_number(value)} if is_scalar else _components(value)))
        world.children.append(ext)

    # --- bodies ---------------------------------------------------------------------------------------

    def _body_element(self, body: Body, name: str) -> Markup:
        element = Markup("body", {"name": name}, item=body)
        if body.state is not None and (not body.state.enabled or body.state == BodyState()):
            # For a stated state at rest, this attribute is the only trace in the file.
            element.attributes["enabled"] = "true" if body.state.enabled else "false"
        if not body.gravity:
            element.attributes["gravitymode"] = "0"
        add_transform(element, self.places[id(body)], self.output)
        self._add_state(element, body)
        for shape in body.collisions:
            if not isinstance(shape.geometry, Plane):
                child = self._geom_element(shape, shape.pose)
                if child is not None:
                    element.children.append(child)
        mass = mass_element(body, self.moments[id(body)], self.output)
        if mass is not None:
            element.children.append(mass)
        return element

    def _add_state(self, element: Markup, body: Body) -> None:
        state = body.state or BodyState()
        linear, angular = state.linear_velocity, state.angular_velocity
        if body.state is None:
            linear, angular = self.twists.get(id(body), (ZERO, ZERO))
        for tag, vector in (("torque", state.torque), ("force", state.force)):
            if vector != ZERO:
                element.add(tag, **_components(vector))
        finite_rotation = state.finite_rotation
        if finite_rotation != FiniteRotation():
            child = element.add("finiteRotation", mode=str(finite_rotation.mode))
            for name, value in zip(("xaxis", "yaxis", "zaxis"), finite_rotation.axis, strict=True):
                child.attributes[name] = format_number(value)
        for tag, vector in (("linearVel", linear), ("angularVel", angular)):
            if vector != ZERO:
                element.add(tag, **_components(vector))

    def _geom_element(self, shape: Shape, pose: Pose) -> Markup | None:
        child = geometry_element(shape, self.output)
        if child is None:
            return None
        element = Markup("geom", {"name": self.names.unique(shape.name, "geom")}, item=shape)
        if isinstance(shape.geometry, Plane):
            child = plane_element(shape.geometry, shape.pose.matrix())
        else:
            add_transform(element, shape.pose if pose is ZERO_POSE else pose, self.output)
        element.children.append(child)
        return element

    def _plane_placeholders(self, model: Model) -> list[Markup]:
        """Placeholders for planes of bodies: XODE planes never move, so they are in the space, at the initial pose."""
        child: list[Markup] = []
        for body in model.bodies:
            for shape in body.collisions:
                if isinstance(shape.geometry, Plane):
                    place = self.matrices[id(body)] @ shape.pose.matrix()
                    element = Markup("geom", {"name": self.names.unique(shape.name, f"{body.name}_plane")})
                    element.children.append(plane_element(shape.geometry, place))
                    element.placeholder = True
                    child.append(element)
        return child


ZERO_POSE = Pose()


def is_environment(model: Model) -> bool:
    """Whether a model is the XODE environment: static geoms and nothing else."""
    return (
        model.static
        and model.name == ENVIRONMENT_NAME
        and len(model.bodies) == 1
        and model.bodies[0].name == ENVIRONMENT_NAME
        and model.bodies[0].mass == 0.0
        and model.pose.is_identity
        and model.bodies[0].pose.is_identity
        and [joint.kind for joint in model.joints] == ["weld"]
    )


def _components(vector: tuple[float, ...]) -> dict[str, str]:
    return {name: format_number(value) for name, value in zip("xyz", vector, strict=True)}


# --- the writer ----------------------------------------------------------------------------------------


_RENAMED = "renamed to be unique in the document"

CAPABILITIES = WriterCapabilities(
    native_joints=frozenset(NATIVE) - {"euler"},
    write=write,
    loops=True,
    visual_shapes=False,
    # Not all that the vocabulary sets: names, poses, masses and drives may also be embedded, where they are rewritten.
    fields=item_fields(
        {
            World: tuple(EXTENSION.world_parameters.values()),
            Body: ("gravity", "state"),
            Joint: ("kind", "parent", "child"),
        }
    ),
    rewritten_fields={
        (Joint, "pose"): "as an anchor in the root frame",
        (Joint, "axes"): "as axes in the root frame",
        (Body, "pose"): "as the pose in the initial state",
        (Body, "name"): _RENAMED,
        (Joint, "name"): _RENAMED,
        (Shape, "name"): _RENAMED,
        (Shape, "geometry"): "as triangles",
    },
    shapes=frozenset({"box", "sphere", "cylinder", "capsule", "trimesh", "ray"}),
    # The order of the axes expresses `swapped`, stops and initial poses express `dofs`.
    pyode_fields=XODE.item_fields(GROUPS) | {(Joint, "dofs"), (Joint, "swapped")},
)
