"""Writes a world as an MJCF file for other programs: the document that the engine runs, and more.

In addition it has visual shapes (group 2), whole meshes with their triangles or references to their files, markers as
sites, the masses of static bodies, motors where forces have limits, cameras, lights, the initial state and other
keyframes, a sky, and a light and a camera if the scene has none.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np

from exoskel.formats.interface import WriterCapabilities, item_fields
from exoskel.formats.mjcf.codes import CATALOGUE
from exoskel.formats.mjcf.collision_filter import read_collision_rules
from exoskel.formats.mjcf.force_comparison import compare_forces
from exoskel.formats.mjcf.geoms import MIN_VERTICES, GeomWriter, is_flat, vertex_values
from exoskel.formats.mjcf.losses import losses, target_losses
from exoskel.formats.mjcf.materials import MjcfMaterialWriter, paint_geoms
from exoskel.formats.mjcf.model.actuation import add_servo
from exoskel.formats.mjcf.model.coordinates import Addresses, Coordinates, document_addresses
from exoskel.formats.mjcf.model.driven_joints import add_actuators, key_controls
from exoskel.formats.mjcf.model.joints import add_force_motor, has_force_motor
from exoskel.formats.mjcf.model.layout import WorldLayout
from exoskel.formats.mjcf.model.soft_bodies import body_skins
from exoskel.formats.mjcf.names import EQUALITIES_TEXT, GENERATED, SKIN_TEXT, equalities_text, name_geoms, shorten_names
from exoskel.formats.mjcf.preserved_elements import add_preserved_elements
from exoskel.formats.mjcf.source_copy import copy_source
from exoskel.formats.mjcf.source_edits import edit_source
from exoskel.formats.mjcf.tree import MjcfElement, Value, markup
from exoskel.formats.mjcf.write import CONTACT_STEPS, WorldWriter, site_attributes
from exoskel.scene.body import Body, Marker
from exoskel.scene.cameras_and_keyframes import Keyframe, SceneCamera, SceneLight
from exoskel.scene.item import qualified_name, unique_name
from exoskel.scene.joint import TRAITS, Joint
from exoskel.scene.json_codec import encode_json
from exoskel.scene.model import Model
from exoskel.scene.pose import Vector, pose_matrices
from exoskel.scene.shape import Color, Geometry, Mesh, Plane, Ray, Shape
from exoskel.scene.world import Scene, World
from exoskel.source.file_access import open_referenced
from exoskel.source.markup import Markup
from exoskel.source.meshes import SINGLE_PRECISION, MeshError, Triangles
from exoskel.source.output_context import OutputContext, Target
from exoskel.source.surface import has_hollows
from exoskel.spatial import Array

_MIN_VOLUME = 1e-12
"""The volume in m³ from which meshes are written as solids; MuJoCo rejects less than 1e-14."""
_STL_HEAD, _STL_FACE, _MAX_STL_FACES = 84, 50, 200_000
"""Bytes before the triangles of a binary STL file, bytes per triangle, and the maximum that MuJoCo reads."""


class MeshAssetWriter(GeomWriter):
    """A geom writer that preserves the triangles of meshes, and the whole mesh beside the slabs that collide.

    The masses of meshes are zero, but MuJoCo computes a moment for each one.  It rejects solids that are flat or tiny;
    these are shells, which readers before MuJoCo 3.3 do not know.
    """

    def __init__(
        self, shapes: Sequence[Shape], contact: tuple[float, float], friction: float | None, output: OutputContext
    ) -> None:
        super().__init__(shapes, contact, friction)
        self.output, self.keeps_plane_axes = output, output.source_format == "mjcf"
        self._names: set[str] = set()
        self._files: dict[tuple[str, Vector], str] = {}
        self._flat: dict[tuple[str, Vector], bool] = {}
        """Whether a mesh file is flat at a scale: many shapes may share a large one."""
        self._hollow: dict[Mesh, bool] = {}
        self._colors: dict[str, Color | None] = {}
        self.materials = MjcfMaterialWriter(self.assets, output)

    def add(self, body: MjcfElement, shape: Shape, name: str, bits: tuple[int, int], fixed: bool) -> None:
        before = len(body.children)
        super().add(body, shape, name, bits, fixed)
        if len(body.children) - before > 1:  # slabs: the mesh itself is visual
            super().add(body, shape, name, (0, 0), fixed)
        elif any(bits):
            self._record_hull(shape)
        color = self._file_color(shape)
        if color is not None:
            for geom in body.children[before:]:
                geom.attributes["rgba"] = color
        if self.output.source_format != "mjcf":  # whose materials are written as they are
            for geom in body.children[before:]:
                self.materials.paint(shape, geom)

    def _record_hull(self, shape: Shape) -> None:
        """Record the loss of the hollows of a mesh that collides."""
        if self._has_hollows(shape):
            self.output.add_loss(shape, CATALOGUE["MJ501"], "geometry", changes_effect=True)

    def _has_hollows(self, shape: Shape) -> bool:
        """Whether a mesh has hollows; that of a file is examined once."""
        found = self.triangles(shape)
        if found is None:
            return False
        geometry = shape.geometry
        if not isinstance(geometry, Mesh) or geometry.path is None:
            return has_hollows(*found)
        if geometry not in self._hollow:
            self._hollow[geometry] = has_hollows(*found)
        return self._hollow[geometry]

    def _file_color(self, shape: Shape) -> Color | None:
        """The most frequent colour in a mesh file, if the scene states none: MuJoCo does not read it."""
        if shape.color is not None or not isinstance(shape.geometry, Mesh) or shape.geometry.path is None:
            return None
        path = shape.geometry.path
        if path not in self._colors:
            self._colors[path] = self._most_frequent_color(shape.geometry)
        return self._colors[path]

    def _most_frequent_color(self, mesh: Mesh) -> Color | None:
        try:
            _, _, colors = self._meshes.colored_triangles(mesh)
        except MeshError:
            return None
        if colors is None:
            return None
        different, counts = np.unique(colors, axis=0, return_counts=True)
        r, g, b, a = different[counts.argmax()].tolist()
        return (r, g, b, a)

    def _rank(self, shapes: Sequence[Shape]) -> dict[float | None, int]:
        """No priorities: a file states the friction of shapes, and its reader combines them."""
        return {}

    def asset(self, name: str, vertices: Array) -> str:
        self._names.add(name)
        return super().asset(name, vertices)

    def _mesh(self, shape: Shape, name: str) -> list[str]:
        names = self._mesh_assets(shape, name)
        if self.output.target == "dart" and not set(names) <= set(self._files.values()):
            self.output.add_loss(shape, CATALOGUE["MJ511.mesh"], "geometry", changes_effect=True)
        return names

    def _mesh_assets(self, shape: Shape, name: str) -> list[str]:
        found = self.triangles(shape)
        if found is None:
            self._note_unreadable(shape)
            return super()._mesh(shape, name)
        if len(found[0]) >= MIN_VERTICES and self._is_flat(shape.geometry, found[0]):
            return super()._mesh(shape, name)
        if len(found[0]) < MIN_VERTICES or not len(found[1]):
            self.output.add_loss(shape, CATALOGUE["MJ606.small"], is_dropped=True, changes_effect=True)
            return []
        reference = self._reference(shape.geometry) if isinstance(shape.geometry, Mesh) else None
        if reference:
            return [self._file_asset(shape.geometry, reference, *found)]
        return self._once(self._inlined, shape, name)

    def _note_unreadable(self, shape: Shape) -> None:
        """Record the loss of a mesh whose file exists; others are in `losses`."""
        geometry = shape.geometry
        if isinstance(geometry, Mesh) and geometry.path is not None:
            try:
                self._meshes.colored_triangles(geometry)
            except MeshError:
                self.output.add_loss(shape, CATALOGUE["MJ606.unreadable"], is_dropped=True, changes_effect=True)

    def _is_flat(self, geometry: Geometry, vertices: Array) -> bool:
        if not isinstance(geometry, Mesh) or geometry.path is None:
            return is_flat(vertices)
        key = (geometry.path, geometry.scale)
        if key not in self._flat:
            self._flat[key] = is_flat(vertices)
        return self._flat[key]

    def _inlined(self, shape: Shape, name: str) -> list[str]:
        found = self.triangles(shape)
        assert found is not None
        vertices, triangles = found
        self._names.add(name)
        given: dict[str, Value] = {"name": name, **_inertia_rule(vertices, triangles)}
        given |= {"vertex": vertex_values(vertices), "face": triangles.ravel().tolist()}
        self.assets.append(MjcfElement("mesh", given))
        return [name]

    def _file_asset(self, mesh: object, reference: str, vertices: Array, triangles: Triangles) -> str:
        assert isinstance(mesh, Mesh)
        key = (reference, mesh.scale)
        if key not in self._files:
            name = unique_name(Path(reference).stem, self._names)
            self._names.add(name)
            given: dict[str, Value] = {"name": name, **_inertia_rule(vertices, triangles), "file": reference}
            if mesh.scale != (1.0, 1.0, 1.0):
                given["scale"] = mesh.scale
            self.assets.append(MjcfElement("mesh", given))
            self._files[key] = name
        return self._files[key]

    def _reference(self, mesh: Mesh) -> str | None:
        """The reference to the mesh file from the document's folder; None if MuJoCo would not read it."""
        if mesh.path is None:
            return None
        if self.output.meshes == "copy":
            return self.output.reference(mesh, is_readable=_is_readable(Path(mesh.path)))
        if self.output.folder is None or not _is_readable(Path(mesh.path)):
            return None
        target = Path(mesh.path).resolve()
        if self.output.meshes == "absolute" and self.output.target != "dart":  # DART reads no absolute paths
            return target.as_posix()
        try:
            found = Path(os.path.relpath(target, self.output.folder.resolve())).as_posix()
        except ValueError:  # another drive
            return target.as_posix()
        return self.output.openable_reference(mesh, found)


def _inertia_rule(vertices: Array, triangles: Triangles) -> dict[str, Value]:
    """The attribute that makes a mesh a shell, if MuJoCo would reject it as a solid.

    MuJoCo's volume of a solid is that of the pyramids from the centre of its faces to each face.
    """
    corners = vertices[triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    areas = np.linalg.norm(normals, axis=1)
    if not areas.any():
        return {"inertia": "shell"}
    middle = np.average(corners.mean(axis=1), axis=0, weights=areas)
    volume = np.abs(((corners[:, 0] - middle) * normals).sum(axis=1)).sum() / 6.0
    return {} if volume > _MIN_VOLUME and areas.min() > 0.0 else {"inertia": "shell"}


def _is_readable(path: Path) -> bool:
    """Whether MuJoCo reads the file as we do: OBJ, and binary STL."""
    extension = path.suffix.lower()
    if extension != ".stl":
        return extension == ".obj"
    try:
        with open_referenced(path) as file:
            head = file.read(_STL_HEAD)
            size = os.fstat(file.fileno()).st_size
    except OSError:
        return False
    count = int(np.frombuffer(head[-4:], dtype="<u4")[0]) if len(head) == _STL_HEAD else 0
    return 0 < count <= _MAX_STL_FACES and size == _STL_HEAD + _STL_FACE * count


# --- scenery for viewers: not part of the scene, and not read back ------------------------------------


SKY, LIGHT, CAMERA = f"{GENERATED}sky", f"{GENERATED}light", f"{GENERATED}camera"
_ZENITH, _HORIZON = (0.35, 0.55, 0.8), (0.9, 0.95, 1.0)
_SKY_PIXELS = 256
_SLANT = (0.35, 0.5)
"""How far the light leans along the two horizontal directions, per unit of height."""
_VIEW = (0.6, 1.0, 0.45)
"""The direction to the camera: to the right, to the front, and up."""
_DISTANCE = 2.8
"""The distance of the camera in radii of the scene: everything is in view at MuJoCo's angle of 45 degrees."""
_MIN_RADIUS, _FARTHEST = 0.1, 1e6
"""The smallest radius, and the distance in m from which points are out of view."""


def add_scenery(root: MjcfElement, layout: WorldLayout, moving: set[int]) -> None:
    """Add a sky, a light and a camera that see all moving bodies, upright with respect to gravity.

    A world with lights or cameras keeps its own.
    """
    right, front, up = _axes(np.array(layout.world.gravity, dtype=float))
    centre, radius = _bounding_sphere(layout, moving)
    sky = root.child("asset").add("texture", name=SKY, type="skybox", builtin="gradient", rgb1=_ZENITH, rgb2=_HORIZON)
    sky.attributes |= {"width": _SKY_PIXELS, "height": _SKY_PIXELS}
    slant = _SLANT[0] * right + _SLANT[1] * front + up
    above = centre + 4.0 * radius * slant
    worldbody = root.child("worldbody")
    light = MjcfElement("light", {"name": LIGHT, "directional": True, "pos": _rounded(above), "dir": _rounded(-slant)})
    to_camera = _VIEW[0] * right + _VIEW[1] * front + _VIEW[2] * up
    to_camera /= np.linalg.norm(to_camera)
    across = np.cross(up, to_camera)
    position = centre + _DISTANCE * radius * to_camera
    axes = (*_rounded(across), *_rounded(np.cross(to_camera, across)))
    camera = MjcfElement("camera", {"name": CAMERA, "pos": _rounded(position), "xyaxes": axes})
    worldbody.children[:0] = [
        *([light] if not layout.world.lights else []),
        *([camera] if not layout.world.cameras else []),
    ]


def _axes(gravity: Array) -> tuple[Array, Array, Array]:
    """Directions to the right, to the front and up; up is against gravity, or z without it."""
    strength = float(np.linalg.norm(gravity))
    up = -gravity / strength if 0.0 < strength < np.inf else np.array([0.0, 0.0, 1.0])
    front = np.array([0.0, -1.0, 0.0]) if abs(up[1]) < np.sqrt(0.5) else np.array([0.0, 0.0, 1.0])
    right = np.cross(up, front)
    right /= np.linalg.norm(right)
    return right, np.cross(right, up), up


def _bounding_sphere(layout: WorldLayout, moving: set[int]) -> tuple[Array, float]:
    """The centre and radius of the moving bodies in the initial state; of all bodies if none moves."""
    bodies = [joint.child for _, joint in layout.joints]
    seen = [number for number, body in enumerate(bodies) if id(body) in moving] or list(range(len(bodies)))
    poses = layout.initial_poses[seen] if bodies else np.empty((0, 4, 4))
    points = _corners([bodies[number] for number in seen], poses) if seen else np.zeros((1, 3))
    points = points[(np.abs(points) < _FARTHEST).all(axis=1)]
    if not len(points):
        return np.zeros(3), 1.0
    low, high = points.min(axis=0), points.max(axis=0)
    return 0.5 * (low + high), max(0.5 * float(np.linalg.norm(high - low)), _MIN_RADIUS)


def _corners(bodies: Sequence[Body], poses: Array) -> Array:
    """The origins of bodies and the corners of the boxes around their shapes, in the world, `(n, 3)`."""
    found = [
        (number, shape.pose, bounds)
        for number, body in enumerate(bodies)
        for shape in body.shapes
        if not isinstance(shape.geometry, Plane | Ray)  # a ray is not written
        if (bounds := shape.geometry.bounds()) is not None
    ]
    places = poses[np.array([number for number, _, _ in found], dtype=np.intp)] @ pose_matrices(
        [pose for _, pose, _ in found]
    )
    ends = np.array([bounds for _, _, bounds in found]).reshape(-1, 2, 3)
    boxes = ends[:, list(product((0, 1), repeat=3)), range(3)]
    corners = boxes @ np.swapaxes(places[:, :3, :3], 1, 2) + places[:, None, :3, 3]
    return np.concatenate([poses[:, :3, 3], corners.reshape(-1, 3)])


def _rounded(values: Array) -> tuple[float, ...]:
    """Numbers with three decimals: for viewing that is enough, and files stay the same on every processor."""
    return tuple(round(value, 3) + 0.0 for value in values.tolist())


# --- cameras and lights of the scene -------------------------------------------------------------------


def _camera_element(camera: SceneCamera) -> MjcfElement:
    given: dict[str, Value] = {"name": camera.name} if camera.name else {}
    given |= {"pos": camera.pose.position, "quat": camera.pose.quaternion, "fovy": camera.field_of_view}
    if camera.orthographic:
        given["projection"] = "orthographic"
    if camera.resolution != (1, 1):
        given["resolution"] = camera.resolution
    return MjcfElement("camera", given | _tracking(camera))


def _light_element(light: SceneLight) -> MjcfElement:
    default, given = SceneLight(), dict[str, Value]({"name": light.name} if light.name else {})
    if light.kind == "directional":
        given["directional"] = True  # all versions of MuJoCo know it
    elif light.kind != default.kind:
        given["type"] = light.kind
    given |= {"pos": light.position, "dir": light.direction}
    for attribute, field in _LIGHT_ATTRIBUTES.items():
        if getattr(light, field) != getattr(default, field):
            given[attribute] = getattr(light, field)
    return MjcfElement("light", given | _tracking(light))


_LIGHT_ATTRIBUTES = {
    **{name: name for name in ("active", "diffuse", "ambient", "specular", "attenuation", "cutoff", "exponent")},
    "castshadow": "casts_shadows",
}


def _tracking(view: SceneCamera | SceneLight) -> dict[str, Value]:
    """How a camera or light follows bodies."""
    given: dict[str, Value] = {} if view.mode == "fixed" else {"mode": view.mode}
    target = view.target or ("world" if view.mode.startswith("target") else "")
    return given | ({"target": target} if target else {})


def _view_elements(world: World) -> dict[str, list[MjcfElement]]:
    """The cameras and lights by the path of their body."""
    bodies = {"", *(qualified_name(model.name, body.name) for model in world.models for body in model.bodies)}
    found: dict[str, list[MjcfElement]] = {}
    views: list[SceneCamera | SceneLight] = [*world.cameras, *world.lights]
    for view in views:
        if view.body in bodies and view.target in bodies:
            made = _camera_element(view) if isinstance(view, SceneCamera) else _light_element(view)
            found.setdefault(view.body, []).append(made)
    return found


# --- the document --------------------------------------------------------------------------------------


VISUAL_GROUP, HIDDEN_GROUP = 2, 3
"""The groups of visual shapes, and of collision shapes of bodies with visual ones: viewers hide groups from 3 on."""
RESTING_ACTUATORS = frozenset({"locked", "velocity"})
"""Actuators whose joints start at rest: in DART a velocity without a command holds for the first step only."""
KEY, OTHER_KEY = "initial", f"{GENERATED}initial"
"""The name of the keyframe of the initial state, and that if the scene has a keyframe of this name."""


INTEGRATORS: dict[Target, str | None] = {
    "portable": None,
    "mujoco4": "discrete",
    "mujoco3": "implicitfast",
    "dm_control": "implicitfast",
    "newton": None,
    "dart": None,
    "isaac": None,
}
"""The integrator that a file asks for.  `discrete` is that of the engine; only MuJoCo 4 knows it, and DART's reader
knows only Euler and RK4.  Without one, each program uses its own."""


def write_document(world: World, output: OutputContext | None = None, *, limits: bool | None = None) -> MjcfElement:
    """The document, with qualified names.

    Mesh files are referred to from `output.folder`; without one, their triangles are inlined.  What can
    only be written approximately, or not at all, is recorded in `output.losses`.
    """
    output = output or OutputContext()
    output.losses += losses(world)
    output.losses += target_losses(world, output.target, INTEGRATORS.get(output.target))
    return FileWriter(world, output, limits).document()


def write(scene: Scene, output: OutputContext) -> Markup:
    """The markup of a scene with one world: the writer of the format."""
    document = write_document(scene.world, output)
    add_preserved_elements(document, scene, output)
    if output.source_format == "mjcf":
        paint_geoms(document, output)
    name_geoms(document)
    shorten_names(document)
    return markup(document)


class FileWriter(WorldWriter):
    """Writes one world as a file."""

    def __init__(self, world: World, output: OutputContext, limits: bool | None = None) -> None:
        self.output = output
        self.views = _view_elements(world)
        super().__init__(world, limits, INTEGRATORS.get(output.target), skins=body_skins(world))
        self._has_tendons = True

    def _geom_writer(self, bodies: Sequence[Body], friction: float | None) -> MeshAssetWriter:
        shapes = [shape for body in bodies for shape in body.shapes]
        return MeshAssetWriter(shapes, (CONTACT_STEPS * self.step, 1.0), friction, self.output)

    def document(self) -> MjcfElement:
        root = super().document()
        self._keyframes(root)
        for skin in self.skins.values():
            root.child("custom").add("text", name=SKIN_TEXT + skin.name, data=encode_json(skin.soft))
        if names := self.equalities.ambiguous_names:
            root.child("custom").add("text", name=EQUALITIES_TEXT, data=equalities_text(names))
        if "" in self.views:
            root.child("worldbody").children += self.views[""]
        add_scenery(root, self.layout, self.moving)
        if self.output.target == "dart" and any("file" in asset.attributes for asset in self.geoms.assets):
            root.child("compiler").attributes["meshdir"] = "."  # else DART looks in the root of the file system
        return root

    def _actuators(self) -> None:
        add_actuators(self.layout, self.root)

    def _add_tendon_parts(self, model: Model, body: Body, element: MjcfElement, fixed: bool) -> None:
        """Do nothing: a file has all visual shapes and sites."""

    def _joint(self, model: Model, joint: Joint, element: MjcfElement) -> None:
        super()._joint(model, joint, element)
        chain, names = self.layout.chain(model, joint)
        for name, link in zip(names, chain, strict=True):
            for number in link.coordinates if joint._dofs is not None else ():
                if has_force_motor(joint, joint.dofs[number]) and (id(joint), number) not in self.driven:
                    add_force_motor(joint.dofs[number], name, self.root)
        add_servo(self.layout, model, joint, self.step, self.root)

    def _body(self, model: Model, joint: Joint, parent_element: MjcfElement, fixed: bool) -> MjcfElement:
        element, body = super()._body(model, joint, parent_element, fixed), joint.child
        if fixed:  # MuJoCo does not need it, but Drake and Pinocchio reject a body without inertia
            self._inertial(element, body)
        if body.visuals:
            for geom in (child for child in element.children if child.tag == "geom"):
                geom.attributes["group"] = HIDDEN_GROUP
        visuals = ((number, one) for number, one in enumerate(body.visuals) if not self._is_moving_plane(body, one))
        for number, shape in visuals:
            before = len(element.children)
            self.geoms.add(element, shape, qualified_name(model.name, body.name, f"visual{number}"), (0, 0), fixed)
            for geom in element.children[before:]:
                geom.attributes["group"] = VISUAL_GROUP
        for marker in body.markers:
            site = element.add("site", name=qualified_name(model.name, body.name, marker.name), pos=marker.offset)
            site.attributes |= site_attributes(marker) | ({"rgba": marker.color} if marker.color is not None else {})
            site.item = marker
        element.children += self.views.get(qualified_name(model.name, body.name), ())
        return element

    # --- the initial state ----------------------------------------------------------------------------

    def _keyframes(self, root: MjcfElement) -> None:
        """Add the initial state as the first keyframe, and then those of the scene."""
        found = document_addresses(root)
        if not found.nv:  # nothing has a state
            for keyframe in self.world.keyframes:
                root.child("keyframe").add("key", **_key_attributes(keyframe))
            return
        coordinates = Coordinates(self.layout, found)
        qpos, qvel = _zero_positions(root, found), np.zeros(found.nv)
        joints = [(m, j) for m in self.world.models for j in m.joints if not j.loop]
        zero = qpos.copy()
        coordinates.set_positions(np.array([q for _, j in joints for q in j.positions]), qpos)
        moving = [0.0 if j.actuator in RESTING_ACTUATORS else v for _, j in joints for v in j.velocities]
        coordinates.set_velocities(np.array(moving), qpos, qvel)
        for name, speed in self.speeds.items():
            qvel[found.by_name[name][1]] = speed
        section = root.add("keyframe")
        is_taken = any(keyframe.name == KEY for keyframe in self.world.keyframes)
        controls = key_controls(self.world, root, {one.name: one.control for one in self.world.actuators})
        section.add("key", name=OTHER_KEY if is_taken else KEY, qpos=qpos.tolist(), qvel=qvel.tolist(), **controls)
        for keyframe in self.world.keyframes:
            qpos, qvel = zero.copy(), np.zeros(found.nv)
            coordinates.set_positions(np.array(keyframe.positions(self.world.models)), qpos)
            coordinates.set_velocities(np.array(keyframe.velocities(self.world.models)), qpos, qvel)
            controls = key_controls(self.world, root, dict(keyframe.controls))
            section.add("key", **_key_attributes(keyframe), qpos=qpos.tolist(), qvel=qvel.tolist(), **controls)


def _key_attributes(keyframe: Keyframe) -> dict[str, Value]:
    given: dict[str, Value] = {"name": keyframe.name} if keyframe.name else {}
    return given | ({"time": keyframe.time} if keyframe.time else {})


def _zero_positions(root: MjcfElement, found: Addresses) -> Array:
    """Zero positions, with identity quaternions for balls."""
    out = np.zeros(found.nq)
    for element in root.child("worldbody").iter():
        if element.tag == "joint" and element.attributes.get("type") == "ball":
            out[found.by_name[str(element.attributes["name"])][0]] = 1.0
    return out


# --- the writer ----------------------------------------------------------------------------------------


_JOINTS = frozenset(TRAITS)
_FILTER = "as contype, conaffinity and exclude"

CAPABILITIES = WriterCapabilities(
    native_joints=_JOINTS,
    write=write,
    copy_source=copy_source,
    edit_source=edit_source,
    fields=item_fields(
        {
            World: (
                *("name", "gravity", "time_step", "collision_exempt_groups", "self_collision"),
                *("cameras", "lights", "keyframes", "actuators", "tendons", "sensors", "equalities"),
            ),
            Model: ("name", "pose", "static"),
            Body: ("name", "pose", "inertia", "gravity", "soft"),
            Shape: ("name", "geometry", "pose", "color", "collidable", "friction", "material"),
            Marker: ("name", "offset", "quaternion", "kind", "size", "color"),
            Joint: (
                *("name", "kind", "child", "parent", "pose", "axes", "order", "plane", "pitch", "mimic"),
                *("swapped", "loop", "collide_connected", "actuator", "drives", "solver"),
            ),
        }
    ),
    dof_fields={
        **dict.fromkeys(
            ("position", "velocity", "damping", "friction", "stiffness", "rest", "armature"), _JOINTS - {"amotor"}
        ),
        "position_limits": _JOINTS - {"amotor", "free"},
        "force_limits": _JOINTS - {"amotor"},
    },
    drive_fields={
        **dict.fromkeys(("low_stop", "high_stop"), "as a range"),
        **dict.fromkeys(("velocity", "max_force"), "as a flywheel behind dry friction"),
        "bounce": "as the solver parameters of the range",
        **dict.fromkeys(("stop_erp", "stop_cfm", "suspension_erp", "suspension_cfm"), "as a spring and a damper"),
    },
    rewritten_fields={
        (World, "collision_exempt_groups"): _FILTER,
        (World, "self_collision"): _FILTER,
        (Model, "pose"): "in the poses of its bodies",
        (Model, "static"): "its bodies have no joints",
        (Body, "pose"): "in the frame of its parent body",
        (Body, "soft"): "as a body on three slides for each point, and tendons for edges",
        (Joint, "pose"): "in the frame of the body",
        (Joint, "axes"): "as axes of one or more joints, in the frame of the body",
        (Joint, "order"): "as axes of several joints",
        (Joint, "plane"): "as axes of several joints",
        (Joint, "swapped"): "by the order of two joints",
        (Joint, "collide_connected"): "by omitting <exclude>",
        (Joint, "parent"): "by the body that contains it",
    },
    shapes=frozenset({"box", "sphere", "ellipsoid", "cylinder", "capsule"}),
    rewritten_shapes={"plane": "with its normal along z", "mesh": "as triangles"},
    color_precision=SINGLE_PRECISION,  # MuJoCo's
    reads_mesh_textures=False,
    has_textures=True,
    has_initial_state=True,
    resting_actuators=RESTING_ACTUATORS,
    collision_rules=read_collision_rules,
    compare_forces=compare_forces,
)
