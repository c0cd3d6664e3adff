"""Cameras of UsdGeom and lights of UsdLux, as cameras and lights of a world.

A camera of USD looks along its -z axis, with y up, as one of a scene.  Lights of UsdLux emit along their -z axis.
Their radiance and size determine how bright a white matt surface is, which is what a scene states.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import atan, degrees, inf, isfinite, pi, pow, radians, sin
from typing import Any

import numpy as np
from msgspec import Struct, structs

from exoskel import spatial
from exoskel.formats.usd.mapping import (
    CAMERA,
    CAMERA_SETTINGS,
    HORIZONTAL_APERTURE,
    LIGHT_SETTINGS,
    LIGHTS,
    TEMPERATURE,
)
from exoskel.formats.usd.reader.prims import PrimIndex, is_in, name_of, values
from exoskel.formats.usd.reader.stage import Stage, StagePrim
from exoskel.scene.body import Body
from exoskel.scene.cameras_and_keyframes import (
    SceneCamera,
    SceneLight,
    View,
    body_paths,
    decaying_light,
    even_light,
    round_view_number,
    scaled_color,
)
from exoskel.scene.item import Names, unique_name
from exoskel.scene.pose import Pose, Vector
from exoskel.scene.world import World
from exoskel.spatial import Array

_FOCAL_LENGTH, _APERTURE = 50.0, 15.2908
"""The focal length and vertical aperture of a camera that does not state them."""
_TENTH = 0.1
"""Apertures are in tenths of the unit of length."""
_SUN, _SUN_ANGLE = 50000.0, 0.53
"""The intensity of a distant light that does not state it, and its angle in degrees."""
_RIGHT_ANGLE, _HALF_TURN = 90.0, 180.0
_CONE, _FOCUS = "inputs:shaping:cone:angle", "inputs:shaping:focus"
_SIZES = {
    "SphereLight": (("radius", 0.5), ("radius", 0.5)),
    "DiskLight": (("radius", 0.5), ("radius", 0.5)),
    "RectLight": (("width", 1.0), ("height", 1.0)),
    "CylinderLight": (("radius", 0.5), ("length", 1.0)),
}
"""The sizes of lights that do not state them."""
_FLAT = ("RectLight", "DiskLight")
"""Lights that emit to one side, with the cosine of the angle."""
_WHITE: Vector = (1.0, 1.0, 1.0)


class ViewBody(Struct, frozen=True, eq=False):
    """A body that has cameras and lights: its path in the scene, and its transform to the world."""

    path: str
    place: Array


WrittenView = tuple[Any, Body | None]
"""A prim of a layer that is a camera or light, and the body that it is in; None: the world."""


def is_view(kind: str) -> bool:
    """Whether prims of a type are cameras or lights."""
    return kind == CAMERA or kind in LIGHTS


class UsdViewReader:
    """Adds the cameras and lights of a stage to its worlds; `views` are those of the document, by their objects.

    `is_own`: Exoskel wrote the file, from lights that are as bright as those of a scene.
    """

    def __init__(self, index: PrimIndex, report: Callable[..., None], *, is_own: bool) -> None:
        self.index = index
        self.report = report
        self.is_own = is_own
        self.views: dict[tuple[int, int], list[View]] = {}

    def read_views(self, worlds: Mapping[str, World], bodies: Mapping[str, ViewBody]) -> None:
        """Read all: `worlds` by the path of their prim (empty: the whole stage), `bodies` by theirs."""
        cameras, lights = ({path: Names() for path in worlds} for _ in range(2))
        for prim in self.index.prims:
            if not is_view(prim.type):
                continue
            root = next((path for path in worlds if is_in(prim.path, path)), next(iter(worlds)))
            taken = (cameras if prim.type == CAMERA else lights)[root]
            view = self._view(prim, bodies, unique_name(prim.title, taken))
            if view is None:
                continue
            taken.add(view.name)
            self.views.setdefault((0, self.index.node(prim)), []).append(view)
            if isinstance(view, SceneCamera):
                worlds[root].cameras.append(view)
            else:
                worlds[root].lights.append(view)

    def _view(self, prim: StagePrim, bodies: Mapping[str, ViewBody], name: str) -> View | None:
        paths = (prim.path, *(one.path for one in self.index.ancestors(prim.path)))
        body = next((bodies[path] for path in paths if path in bodies), None)
        place = self.index.placement(prim).rigid
        if body is not None:
            place = spatial.inverse(body.place) @ place
        pose = Pose.from_matrix(place)
        is_camera = prim.type == CAMERA
        path = "" if body is None else body.path
        view = self._camera(prim, name, path, pose) if is_camera else self._light(prim, name, path, pose)
        kind = "camera" if is_camera else "light"
        if view is None:
            self.report("US114", self.index.node(prim), kind=kind, name=prim.title)
            return None
        settings = CAMERA_SETTINGS if is_camera else LIGHT_SETTINGS
        unread = [one for one in prim.properties if one in settings or one.startswith("inputs:shaping:ies:")]
        if unread:
            self.report("US115", self.index.node(prim), kind=kind, name=prim.title, settings=", ".join(unread))
        return view

    # --- cameras --------------------------------------------------------------------------------------

    def _camera(self, prim: StagePrim, name: str, body: str, pose: Pose) -> SceneCamera | None:
        """A camera; None if its values are invalid."""
        focal, aperture = _number(prim, "focalLength", _FOCAL_LENGTH), _number(prim, "verticalAperture", _APERTURE)
        is_orthographic = prim.values.get("projection") == "orthographic"
        if is_orthographic:
            view = _TENTH * aperture * self.index.metre
        else:
            view = degrees(2.0 * atan(aperture / (2.0 * focal))) if focal > 0.0 else 0.0
        if not (isfinite(aperture) and 0.0 < view < (inf if is_orthographic else _HALF_TURN)):
            return None
        if HORIZONTAL_APERTURE in prim.properties:
            self.report("US115.aspect", self.index.node(prim), attribute=HORIZONTAL_APERTURE, name=prim.title)
        return SceneCamera(
            name=name, body=body, pose=pose, field_of_view=round_view_number(view), orthographic=is_orthographic
        )

    # --- lights ---------------------------------------------------------------------------------------

    def _light(self, prim: StagePrim, name: str, body: str, pose: Pose) -> SceneLight | None:
        """A light; None if a scene has no such light or its values are invalid."""
        strength, color = self._strength(prim), prim.values.get("inputs:color", _WHITE)
        factors = [_number(prim, f"inputs:{part}", 1.0) for part in ("diffuse", "specular")]
        if strength is None or not isinstance(color, tuple | list) or len(color) != len(_WHITE):
            return None
        largest = strength * max(factors) * max(color)
        if not all(isfinite(value) and value >= 0.0 for value in (largest, strength, *factors, *color)):
            return None
        x, y, z = (spatial.round_vectors(-pose.matrix()[:3, 2]) + 0.0).tolist()
        cone, is_even = _number(prim, _CONE, _RIGHT_ANGLE), prim.type == "DistantLight"
        is_flat = prim.type in _FLAT
        has_cone = (_CONE in prim.values and 0.0 < cone <= _RIGHT_ANGLE) or is_flat
        light = SceneLight(
            name=name,
            body=body,
            position=pose.position,
            direction=(x, y, z),
            kind="directional" if is_even else "spot" if has_cone else "point",
            active=prim.is_visible,
            casts_shadows=bool(prim.values.get("inputs:shadow:enable", True)),
            cutoff=cone if 0.0 < cone < _RIGHT_ANGLE else _RIGHT_ANGLE if has_cone else SceneLight().cutoff,
            exponent=_focus(prim) + float(is_flat) if has_cone else SceneLight().exponent,
        )
        self._report_light(prim)
        return self._with_colors(light, prim, strength, color, factors)

    def _with_colors(
        self, light: SceneLight, prim: StagePrim, strength: float, color: Sequence[float], factors: Sequence[float]
    ) -> SceneLight:
        """A light with the colours for the brightness that it makes at 1 m, or everywhere."""
        largest = max(factors) or 1.0
        shares = [factor / largest for factor in factors]
        tint: Vector = (color[0], color[1], color[2])
        if light.kind == "directional":
            brightest, is_limited = even_light(tint, strength * largest)
            decay = light.attenuation
            if is_limited and self.is_own:
                brightest = scaled_color(tint, strength * largest)
            elif is_limited:
                self.report("US115.bright", self.index.node(prim), attribute="inputs:intensity", name=prim.title)
        else:
            brightest, decay = decaying_light(tint, strength * largest)
        diffuse, specular = (scaled_color(brightest, share) for share in shares)
        return structs.replace(light, diffuse=diffuse, specular=specular, attenuation=decay)

    def _strength(self, prim: StagePrim) -> float | None:
        """The brightness of a white matt surface that faces the light, at 1 m; None if a scene has no such light."""
        power = _number(prim, "inputs:intensity", _SUN if prim.type == "DistantLight" else 1.0)
        try:
            power *= pow(2.0, _number(prim, "inputs:exposure", 0.0))
        except OverflowError:
            return None
        is_normalized = bool(prim.values.get("inputs:normalize", False))
        if prim.type == "DistantLight":
            angle = radians(_number(prim, "inputs:angle", _SUN_ANGLE))
            return power / pi if is_normalized or angle <= 0.0 else power * sin(min(angle, pi) / 2.0) ** 2
        sizes = _SIZES.get(prim.type)
        if sizes is None:
            return None
        first, second = (_number(prim, f"inputs:{name}", otherwise) for name, otherwise in sizes)
        scale = pow(abs(float(np.linalg.det(self.index.placement(prim).stretch))), 1.0 / 3.0)
        seen, _ = _areas(prim.type, first, second)
        if is_normalized or seen <= 0.0:
            front, whole = _areas(prim.type, 1.0, 1.0)
            return power * self.index.metre**2 * front / whole / pi
        return power * seen * scale**2 / pi

    def _report_light(self, prim: StagePrim) -> None:
        node = self.index.node(prim)
        if prim.type in _FLAT or prim.type == "CylinderLight":
            self.report("US115.area", node, name=prim.title, kind="spot" if prim.type in _FLAT else "point")
        if prim.values.get("inputs:enableColorTemperature"):
            self.report("US115.temperature", node, attribute=TEMPERATURE, name=prim.title)


def _areas(kind: str, first: float, second: float) -> tuple[float, float]:
    """The area of a light that is seen from its front, and its whole surface."""
    if kind == "SphereLight":
        return pi * first**2, 4.0 * pi * first**2
    if kind == "DiskLight":
        return pi * first**2, pi * first**2
    if kind == "RectLight":
        return first * second, first * second
    return 2.0 * first * second, 2.0 * pi * first * second


def _focus(prim: StagePrim) -> float:
    """The exponent of the cosine of the angle to the axis of a light."""
    found = _number(prim, _FOCUS, 0.0)
    return found if 0.0 <= found < inf else 0.0


def _number(prim: StagePrim, name: str, otherwise: float) -> float:
    found = prim.values.get(name, otherwise)
    return float(found) if isinstance(found, int | float) else otherwise


# --- files that Exoskel has written, for certificates -----------------------------------------------------


def add_written_views(world: World, views: Sequence[WrittenView]) -> None:
    """Add the cameras and lights of prims of a layer to a world."""
    if not views:
        return
    paths = {id(body): path for path, body in body_paths(world.models).items()}
    stage = Stage([_written_prim(prim) for prim, _ in views], meters_per_unit=1.0)
    bodies = {str(prim.path): ViewBody(paths[id(body)], np.eye(4)) for prim, body in views if body is not None}
    UsdViewReader(PrimIndex(stage), lambda *_, **__: None, is_own=True).read_views({"": world}, bodies)


def _written_prim(prim: Any) -> StagePrim:
    """A prim whose transform is that to the prim around it."""
    found = values(prim)
    rotation = spatial.quaternion_matrix(found.get("xformOp:orient", (1.0, 0.0, 0.0, 0.0)))
    place = spatial.transform(rotation, found.get("xformOp:translate", (0.0, 0.0, 0.0)))
    return StagePrim(
        path=str(prim.path),
        type=str(prim.typeName),
        apis=[],
        kind="",
        display_name=name_of(prim),
        custom={},
        properties=[*found],
        values=found,
        arrays={},
        targets={},
        place=place.T.ravel().tolist(),
        is_visible=found.get("visibility") != "invisible",
        purpose="default",
        materials={},
        animated=[],
    )
