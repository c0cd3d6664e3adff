"""The brightness and direction of lights for formats that measure light in physical units: USD and glTF.

Their lights decay with the square of the distance, and have one colour.
"""

from __future__ import annotations

from math import isfinite

from msgspec import Struct

from exoskel import spatial
from exoskel.scene.cameras_and_keyframes import SceneLight
from exoskel.scene.pose import Vector

_SAME_COLOR = 1e-6
_MIN_DISTANCE = 1.0
"""The least distance, in m, at which a light that decays in another way is compared."""
_WHITE: Vector = (1.0, 1.0, 1.0)


class LightEmission(Struct, frozen=True):
    """What a light emits: a colour of at most 1, with factors of at most 1 for diffuse and specular reflection.

    `strength` is the brightness of a white matt surface that faces the light, at 1 m; of directional lights, anywhere.
    """

    color: Vector
    strength: float
    diffuse: float
    specular: float
    is_specular_exact: bool
    """Whether the specular colour is that of the light times `specular`."""
    distance: float
    """The distance in m at which the brightness is that of the light; 0 if it is the same at all distances."""


def emission(light: SceneLight, distance: float) -> LightEmission:
    """What a light emits.  One that decays in another way is as bright at `distance`, in m."""
    diffuse, specular = (_not_negative(color) for color in (light.diffuse, light.specular))
    largest, shine = max(diffuse), max(specular)
    tint = diffuse if largest else specular if shine else _WHITE
    color = _divided(tint, max(tint))
    brightest = max(largest, shine)
    differences = (abs(mine - shine * part) for mine, part in zip(specular, color, strict=True))
    factor, at = _decay(light, max(distance, _MIN_DISTANCE))
    return LightEmission(
        color=color,
        strength=brightest * factor,
        diffuse=largest / brightest if brightest else 1.0,
        specular=shine / brightest if brightest else 1.0,
        is_specular_exact=max(differences) <= _SAME_COLOR * brightest,
        distance=at if brightest else 0.0,
    )


def _decay(light: SceneLight, distance: float) -> tuple[float, float]:
    """The brightness at 1 m relative to the colours of a light, and the distance where it applies, as above."""
    if light.kind == "directional":
        return 1.0, 0.0
    constant, linear, quadratic = light.attenuation
    if constant == linear == 0.0 and quadratic > 0.0 and isfinite(1.0 / quadratic):
        return 1.0 / quadratic, 0.0
    divisor = constant + distance * (linear + distance * quadratic)
    return distance**2 / (divisor if divisor > 0.0 else 1.0), distance


def _not_negative(color: Vector) -> Vector:
    red, green, blue = color
    return (max(red, 0.0), max(green, 0.0), max(blue, 0.0))


def _divided(color: Vector, divisor: float) -> Vector:
    red, green, blue = color
    return (red / divisor, green / divisor, blue / divisor)


def light_rotation(light: SceneLight) -> tuple[float, float, float, float]:
    """The rotation w x y z from -z, along which lights of USD and glTF shine, to the direction of a light."""
    if light.kind == "point" or light.direction == SceneLight().direction:
        return (1.0, 0.0, 0.0, 0.0)
    w, x, y, z = spatial.quaternion(spatial.rotation_from_z(-spatial.unit(light.direction))).tolist()
    return (w, x, y, z)
