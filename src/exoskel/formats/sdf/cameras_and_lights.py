"""Cameras and lights in SDFormat: sensors with a camera, lights of links and of the world, and how they are written.

A camera of SDF looks along its x axis, with z up; one of a scene along its -z axis, with y up.  SDF has only cameras of
links: those of the world are written as sensors of a static model of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import atan, degrees, hypot, isfinite, pi, radians, tan
from typing import Any

from msgspec import structs

from exoskel import spatial
from exoskel.formats.sdf.codes import CATALOGUE
from exoskel.formats.sdf.context import NamedFrame, Scope, SdfContext, relative
from exoskel.formats.sdf.names import valid_name
from exoskel.formats.sdf.sensors import (
    SENSOR,
    PendingSensor,
    number_at,
    parse_numbers,
    pending_sensors,
    pose_in,
    stated_pose,
    text_at,
)
from exoskel.formats.sdf.shape_elements import DART, add_pose
from exoskel.scene.body import Body
from exoskel.scene.cameras_and_keyframes import (
    LightKind,
    SceneCamera,
    SceneLight,
    View,
    body_paths,
    lost_view_part,
    shown_name,
    view_part,
)
from exoskel.scene.item import Names, qualified_name, unique_name
from exoskel.scene.model import Model
from exoskel.scene.pose import IDENTITY, ZERO, Pose, Quaternion, Vector
from exoskel.scene.world import Scene, World
from exoskel.source.document import Tree
from exoskel.source.flat_tree import Node
from exoskel.source.markup import Markup, format_color, format_number, format_numbers
from exoskel.source.output_context import NodeOfDocument, OutputContext

LIGHT = "light"
_CAMERA = "camera"
OTHER_CAMERAS = frozenset({"depth", "depth_camera", "rgbd", "rgbd_camera", "wideangle_camera", "wideanglecamera"})
"""Types of cameras that measure distances, or have a lens."""
CAMERA_TYPES = OTHER_CAMERAS | {_CAMERA}
_AXES = Pose(ZERO, Quaternion((0.5, 0.5, -0.5, -0.5)))
"""The camera of a scene in the frame of that of SDF."""
_FIELD_OF_VIEW = 1.047
_IMAGE = (320, 240)
_RANGE = 1000.0
_MIN_ANGLE = 1e-6
"""The smallest angle of a camera that is written."""
_KINDS: tuple[LightKind, ...] = ("point", "directional", "spot")
_DIRECTION: Vector = (0.0, 0.0, -1.0)
_WORLD_CAMERAS = "exoskel_cameras"
"""The name of the static model, and of its link, that has the cameras of the world."""
_TRUE, _FALSE = ("true", "1"), ("false", "0")


# --- cameras -------------------------------------------------------------------------------------------


class SdfViewReader:
    """Adds cameras and lights to a world, and to `views` by their elements."""

    def __init__(self, world: World, views: dict[NodeOfDocument, list[View]]) -> None:
        self.world = world
        self.views = views
        self._cameras, self._lights = Names(), Names()

    def read_cameras(
        self, model: Model, sensors: Sequence[PendingSensor], *, in_world: bool = False
    ) -> list[PendingSensor]:
        """Read the cameras of a placed model; returns its other sensors."""
        left: list[PendingSensor] = []
        for one in sensors:
            body = None if one.joint else one.body
            camera = None if body is None else _camera(one, model, body, in_world=in_world)
            if camera is None:
                left.append(one)
                continue
            camera = structs.replace(camera, name=unique_name(camera.name, self._cameras))
            self._cameras.add(camera.name)
            self.world.cameras.append(camera)
            self._record(one, camera)
            one.source.report("SD012.camera", one.number, name=one.name)
        return left

    def read_lights(self, model: Model, lights: Iterable[PendingSensor]) -> None:
        """Read the lights of the links of a placed model."""
        for one in lights:
            if one.body is not None:
                self._add_light(one, pose_in(one, one.body), qualified_name(model.name, one.body.name))

    def read_world_lights(self, source: SdfContext, nodes: Iterable[Node], scope: Scope) -> None:
        """Read the lights of the world, whose frames are those of a scope."""
        for one in pending_sensors(source, nodes, scope, ""):
            direct = scope.direct(one.frame)
            self._add_light(one, direct if direct is not None else Pose.from_matrix(scope.place(one.frame)), "")

    def _add_light(self, one: PendingSensor, pose: Pose, body: str) -> None:
        light = _light(one.element, pose)
        if light is None:
            one.source.report("SD012", one.number, element=LIGHT)
            return
        name = unique_name((one.element.get("name") or "").strip() or LIGHT, self._lights)
        self._lights.add(name)
        light = structs.replace(light, name=name, body=body)
        self.world.lights.append(light)
        self._record(one, light)

    def _record(self, one: PendingSensor, view: View) -> None:
        self.views.setdefault((one.source.number, one.number), []).append(view)


def has_world_cameras(model: Model, sensors: Sequence[PendingSensor]) -> bool:
    """Whether a model only has the cameras of the world that Exoskel has written."""
    is_ours = model.static and model.name.startswith(_WORLD_CAMERAS) and len(model.bodies) == 1
    has_shapes = any(True for body in model.bodies for _ in body.shapes)
    return is_ours and not has_shapes and all((one.element.get("type") or "").strip() == _CAMERA for one in sensors)


def _camera(one: PendingSensor, model: Model, body: Body, *, in_world: bool) -> SceneCamera | None:
    """The camera of a sensor; None for other sensors, and if a value is invalid."""
    settings = one.element.find(_CAMERA)
    if (one.element.get("type") or "").strip() not in CAMERA_TYPES or settings is None:
        return None
    image, size = settings.find("image"), _IMAGE
    if image is not None:
        width, height = (number_at(image, tag, most) for tag, most in zip(("width", "height"), _IMAGE, strict=True))
        if not (isfinite(width) and isfinite(height) and width >= 1.0 and height >= 1.0):
            return None
        size = (int(width), int(height))
    angle = _vertical_angle(settings, size)
    pose = _pose_in_sensor(one, settings, pose_in(one, body)) @ _AXES
    if in_world:
        pose = model.pose @ body.pose @ pose
    if not 0.0 < angle < pi or not all(map(isfinite, pose.matrix().ravel().tolist())):
        return None
    return SceneCamera(
        name=one.name,
        body="" if in_world else qualified_name(model.name, body.name),
        pose=pose,
        field_of_view=degrees(angle),
        resolution=(1, 1) if image is None else size,
    )


def _vertical_angle(settings: Tree, size: tuple[int, int]) -> float:
    """The vertical field of view in rad; not between 0 and pi if it is invalid."""
    intrinsics = settings.find("lens/intrinsics")
    if intrinsics is not None:
        focal = number_at(intrinsics, "fy", 277.0)
        return 2.0 * atan(size[1] / (2.0 * focal)) if focal > 0.0 else 0.0
    across = number_at(settings, "horizontal_fov", _FIELD_OF_VIEW)
    return 2.0 * atan(tan(across / 2.0) * size[1] / size[0]) if 0.0 < across < pi else 0.0


def _pose_in_sensor(one: PendingSensor, settings: Tree, sensor: Pose) -> Pose:
    """The pose of a camera, which is stated in the frame of its sensor or in another one."""
    if settings.find("pose") is None:
        return sensor
    stated = stated_pose(one.source, one.number_of(settings), settings)
    if not stated.relative_to or one.body is None:
        return sensor @ stated.pose
    frame = NamedFrame("", one.source, one.number, stated)
    return relative(one.scope.place(frame), one.scope.transform(one.scope.paths[id(one.body)]))


# --- lights --------------------------------------------------------------------------------------------


def _light(element: Tree, pose: Pose) -> SceneLight | None:
    """A light whose pose in its body or in the world is known; None if its type or its values are invalid."""
    kind = (element.get("type") or "").strip()
    found = next((one for one in _KINDS if one == kind), None)
    direction = _vector(element, "direction", _DIRECTION)
    length = hypot(*direction)
    if found is None or not isfinite(length) or length == 0.0:
        return None
    x, y, z = spatial.round_vectors(pose.matrix()[:3, :3] @ (spatial.array(direction) / length)).tolist()
    power = number_at(element, "intensity", 1.0)
    factors = (number_at(element, f"attenuation/{tag}", value) for tag, value in _ATTENUATION.items())
    constant, linear, quadratic = factors
    cutoff = degrees(number_at(element, "spot/outer_angle", 0.0)) / 2.0
    values = (*pose.position, x, y, z, power, constant, linear, quadratic, cutoff)
    diffuse, specular = (_vector(element, tag, color) for tag, color in _COLORS.items())
    if not all(map(isfinite, (*values, *diffuse, *specular))):
        return None
    return SceneLight(
        position=pose.position,
        direction=(x, y, z),
        kind=found,
        active=text_at(element, "light_on", "true") not in _FALSE,
        casts_shadows=text_at(element, "cast_shadows", "false") in _TRUE,
        diffuse=_scaled(diffuse, power),
        specular=_scaled(specular, power),
        attenuation=(constant, linear, quadratic),
        cutoff=cutoff if kind == "spot" and cutoff > 0.0 else SceneLight().cutoff,
    )


_ATTENUATION = {"constant": 1.0, "linear": 1.0, "quadratic": 0.0}
_COLORS: dict[str, Vector] = {"diffuse": (1.0, 1.0, 1.0), "specular": (0.1, 0.1, 0.1)}
"""What a light has that does not state it."""


def _scaled(color: Vector, factor: float) -> Vector:
    red, green, blue = color
    return (factor * red, factor * green, factor * blue)


def _vector(element: Tree, tag: str, otherwise: Vector) -> Vector:
    found = parse_numbers(text_at(element, tag, ""))
    return (found[0], found[1], found[2]) if len(found) >= 3 else otherwise


# --- writing -------------------------------------------------------------------------------------------


class SdfViewWriter:
    """Writes the cameras and lights of a world; `nodes` are the elements of the source by the views they state."""

    def __init__(self, world: World, output: OutputContext, views: Mapping[NodeOfDocument, Sequence[View]]) -> None:
        self.world = world
        self.output = output
        self._nodes: dict[str, list[NodeOfDocument]] = {}
        for node, stated in views.items():
            for one in stated:
                self._nodes.setdefault(view_part(one), []).append(node)
        self._views: dict[str, list[View]] = {}
        known = {"", *body_paths(world.models)}
        every: list[View] = [*world.cameras, *world.lights]
        for one in every:
            if one.body in known and self._is_written(one):
                self._views.setdefault(one.body, []).append(one)

    def _is_written(self, one: View) -> bool:
        kind = _CAMERA if isinstance(one, SceneCamera) else LIGHT
        key = ""
        if self.output.target == DART:
            key = "SD213.dart"
        elif isinstance(one, SceneCamera) and one.orthographic:
            key = "SD213.orthographic"
        elif isinstance(one, SceneCamera) and not _MIN_ANGLE < _horizontal_angle(one) < pi:
            key = "SD213.angle"
        elif self.output.is_bare and not one.body:
            key = "SD213.world"
        if key:
            self.output.add_loss(
                self.world, CATALOGUE[key], view_part(one), is_dropped=True, kind=kind, name=shown_name(one)
            )
        return not key

    def add_to(self, model: Model, element: Markup) -> None:
        """Add the cameras and lights of a model to its links."""
        for link in element.children if self._views else ():
            if isinstance(link.item, Body):
                found = self._views.get(qualified_name(model.name, link.item.name), ())
                self._add(link, found, Names(child.attributes.get("name", "") for child in link.children))

    def add_to_world(self, element: Markup, names: Names) -> None:
        """Add those of the world: lights, and a static model with the cameras."""
        found = self._views.get("", [])
        self._add(element, [one for one in found if isinstance(one, SceneLight)], names)
        if cameras := [one for one in found if isinstance(one, SceneCamera)]:
            name = unique_name(_WORLD_CAMERAS, names)
            names.add(name)
            model = element.add("model", name=name)
            model.add("static", "true")
            self._add(model.add("link", name="link"), cameras, Names())

    def _add(self, owner: Markup, views: Iterable[View], taken: Names) -> None:
        for one in views:
            is_camera = isinstance(one, SceneCamera)
            name = valid_name(one.name, _CAMERA if is_camera else LIGHT, taken)
            made = _camera_element(one, name) if isinstance(one, SceneCamera) else _light_element(one, name)
            owner.children.append(made)
            for node in self._nodes.get(view_part(one), ()):
                self.output.source_copies.setdefault(node, []).append(made)
            self._report_losses(one)

    def _report_losses(self, one: View) -> None:
        if one.mode != "fixed":
            kind = _CAMERA if isinstance(one, SceneCamera) else LIGHT
            self._lose(one, "SD214.mode", "mode", kind=kind, mode=one.mode)
        if isinstance(one, SceneLight) and any(one.ambient):
            self._lose(one, "SD214.ambient", "ambient")
        if isinstance(one, SceneLight) and one.kind == "spot":
            self._lose(one, "SD214.spot", "exponent")

    def _lose(self, one: View, key: str, field: str, **details: Any) -> None:
        loss_of = self.output.add_loss
        loss_of(self.world, CATALOGUE[key], view_part(one), lost_view_part(one, field), name=shown_name(one), **details)


def _horizontal_angle(camera: SceneCamera) -> float:
    """The horizontal field of view in rad; 0 if the vertical one is not possible."""
    width, height = _IMAGE if camera.resolution == (1, 1) else camera.resolution
    if not 0.0 < camera.field_of_view < 180.0 or width < 1 or height < 1:
        return 0.0
    return 2.0 * atan(tan(radians(camera.field_of_view) / 2.0) * width / height)


def _camera_element(camera: SceneCamera, name: str) -> Markup:
    made = Markup(SENSOR, {"name": name, "type": _CAMERA})
    add_pose(made, _tidy(camera.pose @ _AXES.inverse()))
    settings = made.add(_CAMERA)
    settings.add("horizontal_fov", format_number(_horizontal_angle(camera)))
    if camera.resolution != (1, 1):
        image = settings.add("image")
        for tag, count in zip(("width", "height"), camera.resolution, strict=True):
            image.add(tag, str(count))
    return made


def _tidy(pose: Pose) -> Pose:
    """A pose without a rotation that only rounding has made."""
    return Pose(pose.position) if abs(pose.matrix()[:3, :3] - IDENTITY.matrix()[:3, :3]).max() < 1e-12 else pose


def _light_element(light: SceneLight, name: str) -> Markup:
    made = Markup(LIGHT, {"name": name, "type": light.kind})
    add_pose(made, Pose(light.position))
    made.add("cast_shadows", "true" if light.casts_shadows else "false")
    if not light.active:
        made.add("light_on", "false")
    made.add("diffuse", format_color((*light.diffuse, 1.0)))
    made.add("specular", format_color((*light.specular, 1.0)))
    attenuation = made.add("attenuation")
    attenuation.add("range", format_number(_RANGE))
    for tag, value in zip(_ATTENUATION, light.attenuation, strict=True):
        attenuation.add(tag, format_number(value))
    made.add("direction", format_numbers(light.direction))
    if light.kind == "spot":
        spot = made.add("spot")
        spot.add("inner_angle", "0")
        spot.add("outer_angle", format_number(radians(2.0 * light.cutoff)))
        spot.add("falloff", "1")
    return made


def changed_views(scene: Scene) -> set[NodeOfDocument]:
    """The elements of cameras and lights of the source that differ from the scene, which are not copied from it.

    The scene may have fewer of the models that include a file.
    """
    every: list[View] = []
    for world in scene.worlds:
        every += [*world.cameras, *world.lights]
    present = {view_part(one): structs.replace(one, body="") for one in every}
    changed: set[NodeOfDocument] = set()
    for key, stated in scene.source_info.views.items():
        known = [(present[part], one) for one in stated if (part := view_part(one)) in present]
        if not known or any(mine != structs.replace(one, body="") for mine, one in known):
            changed.add(key)
    return changed
