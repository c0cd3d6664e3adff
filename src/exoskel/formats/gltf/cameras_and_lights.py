"""Cameras of glTF and lights of KHR_lights_punctual, read as cameras and lights of a world, and written.

Both look along their -z axis, with y up, as in a scene.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import degrees, pi, radians
from typing import Any

import numpy as np
from msgspec import structs

from exoskel import spatial
from exoskel.fates import Fate
from exoskel.formats.gltf.accessors import GltfFile
from exoskel.formats.gltf.codes import CATALOGUE, fate_of
from exoskel.scene.cameras_and_keyframes import (
    LightKind,
    SceneCamera,
    SceneLight,
    View,
    body_paths,
    decaying_light,
    even_light,
    lost_view_part,
    round_view_number,
    scaled_color,
    shown_name,
    view_part,
)
from exoskel.scene.item import Names, unique_name
from exoskel.scene.light_brightness import LightEmission, emission, light_rotation
from exoskel.scene.pose import Pose, Vector
from exoskel.scene.world import World
from exoskel.source.output_context import OutputContext
from exoskel.spatial import Array

LIGHTS = "KHR_lights_punctual"
_KINDS: tuple[LightKind, ...] = ("point", "directional", "spot")
_HALF_TURN = 180.0
_LARGE = 1e300
_WHITE = [1.0, 1.0, 1.0]


class InvalidViewError(Exception):
    """A camera or light has invalid values; the message is the reason."""


def light_rows(file: GltfFile) -> list[dict[str, Any]]:
    """The lights that nodes refer to."""
    found = _extension(file.header)
    rows = found.get("lights")
    return [one for one in rows if isinstance(one, dict)] if isinstance(rows, list) else []


def _extension(row: Mapping[str, Any]) -> dict[str, Any]:
    extensions = row.get("extensions")
    found = extensions.get(LIGHTS) if isinstance(extensions, dict) else None
    return found if isinstance(found, dict) else {}


class GltfViewReader:
    """Adds the cameras and lights of nodes to a world; `views` are those of the document, by its objects.

    `is_own`: Exoskel wrote the file, from lights that are as bright as those of a scene.
    """

    def __init__(
        self,
        file: GltfFile,
        numbers: Mapping[tuple[str, int], int],
        report: Callable[..., None],
        *,
        is_own: bool,
    ) -> None:
        self.numbers = numbers
        self.report = report
        self.is_own = is_own
        self.views: dict[tuple[int, int], list[View]] = {}
        self._cameras, self._lights = file.rows("cameras"), light_rows(file)
        self._names: dict[tuple[int, str], Names] = {}
        self._problems: dict[tuple[str, int], str] = {}
        self._used: set[tuple[str, int]] = set()

    def read_views(self, world: World, number: int, node: Mapping[str, Any], body: str, place: Array) -> None:
        """Read those of a node; `place` is its transform to the body (empty: the world)."""
        camera, light = node.get("camera"), _extension(node).get("light")
        if camera is None and light is None:
            return
        for kind, rows, one in (("cameras", self._cameras, camera), ("lights", self._lights, light)):
            if type(one) is not int or not 0 <= one < len(rows):
                continue
            self._used.add((kind, one))
            name = str(node.get("name") or rows[one].get("name") or f"{kind[:-1]}_{one}")
            taken = self._names.setdefault((id(world), kind), Names())
            try:
                pose = _pose(place)
                view = _camera(rows[one], pose) if kind == "cameras" else _light(rows[one], pose, is_own=self.is_own)
            except InvalidViewError as problem:
                self._problems[kind, one] = str(problem)
                continue
            view = structs.replace(view, name=unique_name(name, taken), body=body)
            taken.add(view.name)
            for key in (("nodes", number), (kind, one)):
                self.views.setdefault((0, self.numbers[key]), []).append(view)
            if isinstance(view, SceneCamera):
                world.cameras.append(view)
            else:
                world.lights.append(view)

    def report_unread(self) -> None:
        """Report cameras and lights that are not read, and settings that a scene does not have."""
        for kind, rows in (("cameras", self._cameras), ("lights", self._lights)):
            for number, row in enumerate(rows):
                node, key = self.numbers[kind, number], (kind, number)
                if key not in self._used:
                    self.report("GL108", node, kind=kind[:-1], number=number, reason="no node refers to it")
                elif key in self._problems:
                    self.report("GL108", node, kind=kind[:-1], number=number, reason=self._problems[key])
                else:
                    self._report_settings(kind, number, row)

    def _report_settings(self, kind: str, number: int, row: Mapping[str, Any]) -> None:
        node = self.numbers[kind, number]
        if kind == "cameras":
            if "aspectRatio" in _settings(row, "perspective"):
                self.report("GL109.aspect", node, attribute="perspective", number=number)
            return
        if "range" in row:
            self.report("GL109.range", node, attribute="range", number=number)
        if _settings(row, "spot").get("innerConeAngle"):
            self.report("GL109.cone", node, attribute="spot", number=number)
        if row.get("type") == "directional" and not self.is_own and even_light(_color(row), _strength(row))[1]:
            self.report("GL109.bright", node, attribute="intensity", number=number)


def is_view(node: Mapping[str, Any]) -> bool:
    """Whether a node of a file that Exoskel wrote is a camera or light."""
    return "camera" in node or "light" in _extension(node)


def written_view(document: Mapping[str, Any], node: Mapping[str, Any], place: Array, body: str) -> View:
    """The camera or light of a node of a file that Exoskel wrote."""
    pose = _pose(place)
    if "camera" in node:
        camera = _camera(document["cameras"][node["camera"]], pose)
        return structs.replace(camera, name=node["name"], body=body)
    row = _extension(document)["lights"][_extension(node)["light"]]
    return structs.replace(_light(row, pose, is_own=True), name=node["name"], body=body)


def _settings(row: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = row.get(name)
    return found if isinstance(found, dict) else {}


def _number(row: Mapping[str, Any], name: str, otherwise: float) -> float:
    found = row.get(name, otherwise)
    if type(found) not in (int, float) or not -_LARGE < found < _LARGE:  # an integer may be too large for a float
        raise InvalidViewError(f"its {name} is not a number")
    return float(found)


def _camera(row: Mapping[str, Any], pose: Pose) -> SceneCamera:
    """A camera without a name and body."""
    is_orthographic = row.get("type") == "orthographic"
    if is_orthographic:
        view = 2.0 * _number(_settings(row, "orthographic"), "ymag", 0.0)
    else:
        view = degrees(_number(_settings(row, "perspective"), "yfov", 0.0))
    if not view > 0.0 or (not is_orthographic and view >= _HALF_TURN):
        raise InvalidViewError("it has no valid field of view")
    return SceneCamera(pose=pose, field_of_view=round_view_number(view), orthographic=is_orthographic)


def _light(row: Mapping[str, Any], pose: Pose, *, is_own: bool) -> SceneLight:
    """A light without a name and body."""
    kind = next((one for one in _KINDS if one == row.get("type")), None)
    if kind is None:
        raise InvalidViewError("it has no valid type")
    color, strength, decay = _color(row), _strength(row), SceneLight().attenuation
    if kind == "directional":
        diffuse = scaled_color(color, strength) if is_own else even_light(color, strength)[0]
    else:
        diffuse, decay = decaying_light(color, strength)
    cutoff = SceneLight().cutoff
    if kind == "spot":
        cutoff = round_view_number(degrees(_number(_settings(row, "spot"), "outerConeAngle", pi / 4.0)))
        if not 0.0 < cutoff <= _HALF_TURN / 2.0:
            raise InvalidViewError("its outerConeAngle is not between 0 and a right angle")
    x, y, z = (spatial.round_vectors(-pose.matrix()[:3, 2]) + 0.0).tolist()
    return SceneLight(
        position=pose.position,
        direction=(x, y, z),
        kind=kind,
        diffuse=diffuse,
        specular=diffuse,
        attenuation=decay,
        cutoff=cutoff,
    )


def _color(row: Mapping[str, Any]) -> Vector:
    stated = row.get("color", _WHITE)
    is_list = isinstance(stated, list) and len(stated) == len(_WHITE)
    if not is_list or not all(type(one) in (int, float) and 0.0 <= one <= 1.0 for one in stated):
        raise InvalidViewError("its colour is not three numbers from 0 to 1")
    red, green, blue = map(float, stated)
    return (red, green, blue)


def _strength(row: Mapping[str, Any]) -> float:
    """The brightness of a white matt surface that faces the light, at 1 m."""
    power = _number(row, "intensity", 1.0)
    if power < 0.0:
        raise InvalidViewError("its intensity is negative")
    return power / pi


def _pose(place: Array) -> Pose:
    """The translation of a transform, and the rotation nearest to its linear part, which may scale."""
    if not np.isfinite(place).all():
        raise InvalidViewError("its pose is not finite")
    linear = place[:3, :3]
    left, _, right = np.linalg.svd(linear / (np.abs(linear).max() or 1.0))
    rotation = left @ right
    if np.linalg.det(rotation) < 0.0:
        rotation = left @ np.diag([1.0, 1.0, -1.0]) @ right
    is_rigid = np.abs(rotation - linear).max() < _ROUNDING
    return Pose.from_matrix(spatial.transform(linear if is_rigid else rotation, place[:3, 3]))


_ROUNDING = 1e-12


# --- writing -------------------------------------------------------------------------------------------


_NEAR, _FAR = 0.01, 10000.0
"""What cameras clip, in m; perspective ones have no far plane."""
_MAX_VIEW = 179.9999
_MAX_INTENSITY = 3.4e38
"""Most programs hold it in single precision."""
_MIN_CONE = 1e-4
"""The smallest angle of a spot light that is written, in degrees."""


class GltfViewWriter:
    """Creates the nodes of cameras and lights, and the objects of the file that they refer to."""

    def __init__(self, output: OutputContext) -> None:
        self.output = output
        self.cameras: list[dict[str, Any]] = []
        self.lights: list[dict[str, Any]] = []

    def nodes(self, world: World, number: Mapping[int, int], poses: Array) -> dict[int | None, list[dict[str, Any]]]:
        """The nodes by the ids of their bodies; None: the world.

        `number` are the rows of bodies, by their ids, in their initial poses in the world.
        """
        made: dict[int | None, list[dict[str, Any]]] = {}
        if not (world.cameras or world.lights):
            return made
        bodies = body_paths(world.models)
        centre = poses[:, :3, 3].mean(axis=0) if len(poses) else np.zeros(3)
        views: list[View] = [*world.cameras, *world.lights]
        for view in views:
            if view.body and view.body not in bodies:
                continue
            body = id(bodies[view.body]) if view.body else None
            if isinstance(view, SceneCamera):
                node = self._camera_node(world, view)
            else:
                place = np.array([*view.position, 1.0])
                at = place[:3] if body is None else (poses[number[body]] @ place)[:3]
                node = self._light_node(world, view, float(np.linalg.norm(at - centre)))
            if node is not None:
                made.setdefault(body, []).append(node)
        return made

    def _lose(self, world: World, view: View, key: str, *fields: str, **details: Any) -> None:
        """Report fields of a camera or light that are not written, or the whole of it."""
        parts = [lost_view_part(view, field) for field in fields]
        kind = "camera" if isinstance(view, SceneCamera) else "light"
        message, is_dropped = CATALOGUE[key], fate_of(key) is Fate.DROPPED
        details |= {"name": shown_name(view), "kind": kind}
        self.output.add_loss(world, message, view_part(view), *parts, is_dropped=is_dropped, **details)

    def _camera_node(self, world: World, camera: SceneCamera) -> dict[str, Any] | None:
        width, height = camera.resolution
        is_stated = camera.resolution != (1, 1) and width > 0 and height > 0
        if camera.orthographic:
            half = camera.field_of_view / 2.0
            shape = {"xmag": half * width / height if is_stated else half, "ymag": half, "znear": 0.0, "zfar": _FAR}
        elif camera.field_of_view <= _MAX_VIEW:
            shape = {"yfov": radians(camera.field_of_view), "znear": _NEAR}
            shape |= {"aspectRatio": width / height} if is_stated else {}
        else:
            self._lose(world, camera, "GL309.angle")
            return None
        kind = "orthographic" if camera.orthographic else "perspective"
        self.cameras.append({"name": camera.name, "type": kind, kind: shape})
        if camera.mode != "fixed":
            self._lose(world, camera, "GL207.mode", "mode", mode=camera.mode)
        if is_stated:
            self._lose(world, camera, "GL207.resolution", "resolution")
        pose = _placed(camera.pose.position, camera.pose.quaternion)
        return {"name": camera.name, **pose, "camera": len(self.cameras) - 1}

    def _light_node(self, world: World, light: SceneLight, distance: float) -> dict[str, Any] | None:
        if not light.active:
            self._lose(world, light, "GL309.off")
            return None
        emitted = emission(structs.replace(light, specular=light.diffuse), distance)
        made: dict[str, Any] = {"name": light.name, "type": light.kind, "color": list(emitted.color)}
        made["intensity"] = min(pi * emitted.strength, _MAX_INTENSITY)
        if light.kind == "spot":
            made["spot"] = {"innerConeAngle": 0.0, "outerConeAngle": radians(_cone(light))}
        self.lights.append(made)
        self._report_light(world, light, emitted)
        pose = _placed(light.position, light_rotation(light))
        return {"name": light.name, **pose, "extensions": {LIGHTS: {"light": len(self.lights) - 1}}}

    def _report_light(self, world: World, light: SceneLight, emitted: LightEmission) -> None:
        if light.mode != "fixed":
            self._lose(world, light, "GL207.mode", "mode", mode=light.mode)
        if emitted.distance:
            at = f"{emitted.distance:.3g}"
            self._lose(world, light, "GL207.decay", "diffuse", "specular", "attenuation", distance=at)
        if pi * emitted.strength > _MAX_INTENSITY:
            self._lose(world, light, "GL207.power", "diffuse", "specular", "attenuation")
        if light.specular != light.diffuse:
            self._lose(world, light, "GL207.specular", "specular")
        if any(light.ambient):
            self._lose(world, light, "GL207.ambient", "ambient")
        if light.kind == "spot":
            self._lose(world, light, "GL207.spot", "exponent")
            angle = _cone(light)
            if angle != light.cutoff:
                self._lose(world, light, "GL207.cone", "cutoff", angle=angle)
        if not light.casts_shadows:
            self._lose(world, light, "GL207.shadows", "casts_shadows")


def _cone(light: SceneLight) -> float:
    return min(max(light.cutoff, _MIN_CONE), _HALF_TURN / 2.0)


def _placed(position: Vector, quaternion: tuple[float, ...]) -> dict[str, Any]:
    """The translation and rotation of a node, if they are not the identity."""
    w, x, y, z = spatial.round_vectors(quaternion).tolist()
    made: dict[str, Any] = {"translation": list(position)} if any(position) else {}
    return made | ({"rotation": [x, y, z, w]} if x or y or z else {})
