"""Cameras of UsdGeom and lights of UsdLux, made of the cameras and lights of a world.

They are prims in their bodies, or in the world.  Lights that shine from a point are small spheres that are normalized:
their size changes only soft shadows.  `reader.cameras_and_lights` is the other direction.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import pi, radians, tan
from typing import Any

import numpy as np

from exoskel.formats.usd.codes import CATALOGUE
from exoskel.formats.usd.mapping import CAMERA, CLIPPING_RANGE
from exoskel.formats.usd.shape_writer import add_pose
from exoskel.formats.usd.tree import MAX_SINGLE, Identifiers, Prim, Properties, display_name
from exoskel.scene.body import Body
from exoskel.scene.cameras_and_keyframes import (
    SceneCamera,
    SceneLight,
    View,
    body_paths,
    lost_view_part,
    shown_name,
    view_part,
)
from exoskel.scene.light_brightness import emission, light_rotation
from exoskel.scene.world import World
from exoskel.source.output_context import OutputContext
from exoskel.spatial import Array

_APERTURE = 24.0
"""The vertical aperture of perspective cameras."""
_TENTHS = 10.0
"""That of orthographic cameras is the height of the view in tenths of the unit, which is 1 m."""
_MIN_VIEW, _MAX_VIEW = 1e-6, 179.9999
"""The angles of perspective cameras that are written, in degrees."""
_CLIPPING = (0.01, 10000.0)
"""In m.  Those that do not state it clip everything that is closer than 1 m."""
_RADIUS = 0.01
_RIGHT_ANGLE = 90.0


class UsdViewWriter:
    """Creates the prims of the cameras and lights of a world.

    `number` are the rows of bodies, by their ids, in their initial poses in the world.
    """

    def __init__(self, world: World, number: Mapping[int, int], poses: Array, output: OutputContext) -> None:
        self.world = world
        self.output = output
        self._number, self._poses = number, poses
        self._bodies = body_paths(world.models) if world.cameras or world.lights else {}
        self._views: dict[int | None, list[View]] = {}
        every: list[View] = [*world.cameras, *world.lights]
        for one in every:
            if not one.body or one.body in self._bodies:
                self._views.setdefault(id(self._bodies[one.body]) if one.body else None, []).append(one)

    def prims(self, body: Body | None, names: Identifiers) -> list[Prim]:
        """The prims of a body, or of the world."""
        made: list[Prim] = []
        for view in self._views.get(None if body is None else id(body), ()):
            is_camera = isinstance(view, SceneCamera)
            name = names.unique(view.name, "camera" if is_camera else "light")
            prim = self._camera(view, name) if isinstance(view, SceneCamera) else self._light(view, name)
            if prim is None:
                continue
            prim.metadata |= display_name(view.name, name)
            made.append(prim)
            if view.mode != "fixed":
                self._report(view, "US216.mode", "mode", kind="camera" if is_camera else "light", mode=view.mode)
        return made

    def _report(self, view: View, key: str, *fields: str, **details: Any) -> None:
        """Report fields of a camera or light that are not written, or the whole of it."""
        parts = [lost_view_part(view, field) for field in fields]
        self.output.add_loss(self.world, CATALOGUE[key], view_part(view), *parts, name=shown_name(view), **details)

    # --- cameras --------------------------------------------------------------------------------------

    def _camera(self, camera: SceneCamera, name: str) -> Prim | None:
        width, height = camera.resolution
        made = Prim(CAMERA, name)
        if camera.orthographic:
            aperture = _TENTHS * camera.field_of_view
            made.properties["token projection"] = "orthographic"
        elif _MIN_VIEW < camera.field_of_view <= _MAX_VIEW:
            aperture = _APERTURE
            made.properties["float focalLength"] = _APERTURE / 2.0 / tan(radians(camera.field_of_view / 2.0))
        else:
            self._report(camera, "US315")
            return None
        made.properties["float verticalAperture"] = aperture
        if camera.resolution != (1, 1) and width > 0 and height > 0:
            made.properties["float horizontalAperture"] = aperture * width / height
            self._report(camera, "US216.resolution", "resolution")
        made.properties[f"float2 {CLIPPING_RANGE}"] = _CLIPPING
        add_pose(made.properties, camera.pose.position, camera.pose.quaternion)
        return made

    # --- lights ---------------------------------------------------------------------------------------

    def _light(self, light: SceneLight, name: str) -> Prim:
        emitted = emission(light, self._distance(light))
        is_even = light.kind == "directional"
        power = pi * emitted.strength * (1.0 if is_even else 4.0)
        if power > MAX_SINGLE:
            self._report(light, "US216.power", "diffuse", "specular", "attenuation")
        made = Prim("DistantLight" if is_even else "SphereLight", name)
        own: Properties = {
            "float inputs:angle" if is_even else "float inputs:radius": 0.0 if is_even else _RADIUS,
            "bool inputs:normalize": True,
            "color3f inputs:color": emitted.color,
            "float inputs:intensity": min(power, MAX_SINGLE),
        }
        for factor, value in (("diffuse", emitted.diffuse), ("specular", emitted.specular)):
            if value != 1.0:
                own[f"float inputs:{factor}"] = value
        made.properties |= own
        if light.kind == "spot":
            self._add_cone(made, light)
        if not light.casts_shadows:
            made.apis.append("ShadowAPI")
            made.properties["bool inputs:shadow:enable"] = False
        if not light.active:
            made.properties["token visibility"] = "invisible"
        add_pose(made.properties, light.position, light_rotation(light))
        if emitted.distance:
            at = f"{emitted.distance:.3g}"
            self._report(light, "US216.decay", "diffuse", "specular", "attenuation", distance=at)
        if not emitted.is_specular_exact:
            self._report(light, "US216.specular", "specular")
        if any(light.ambient):
            self._report(light, "US216.ambient", "ambient")
        return made

    def _add_cone(self, made: Prim, light: SceneLight) -> None:
        cutoff = min(max(light.cutoff, 0.0), _RIGHT_ANGLE)
        made.apis.append("ShapingAPI")
        made.properties["float inputs:shaping:cone:angle"] = cutoff
        made.properties["float inputs:shaping:focus"] = max(light.exponent, 0.0)
        if not 0.0 < light.cutoff <= _RIGHT_ANGLE:
            self._report(light, "US216.cone", "cutoff", "kind", "direction", "exponent", angle=cutoff)
        elif light.exponent < 0.0:
            self._report(light, "US216.exponent", "exponent")

    def _distance(self, light: SceneLight) -> float:
        """The distance in m from a light to the centre of the bodies."""
        place = np.array(light.position)
        if light.body:
            pose = self._poses[self._number[id(self._bodies[light.body])]]
            place = pose[:3, :3] @ place + pose[:3, 3]
        centre = self._poses[:, :3, 3].mean(axis=0) if len(self._poses) else np.zeros(3)
        return float(np.linalg.norm(place - centre))
