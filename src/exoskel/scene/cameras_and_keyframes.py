"""Cameras and lights of a world, which viewers and renderers use, and keyframes: named states of all joints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import numpy as np
from msgspec import structs

from exoskel import spatial
from exoskel.diagnostics import ExoskelError
from exoskel.scene.body import Body
from exoskel.scene.edit_tracking import CheckedValue
from exoskel.scene.field_checks import ConvertedField, NumberSequence, initially, vector
from exoskel.scene.item import qualified_name
from exoskel.scene.joint import Joint
from exoskel.scene.model import Model
from exoskel.scene.pose import IDENTITY, ZERO, Pose, Vector, vector_from_array

TrackingMode = Literal["fixed", "track", "trackcom", "targetbody", "targetbodycom"]
"""How a camera or light follows bodies, as in MuJoCo: fixed to its body; with the body's position but not its rotation
(`track`), or that of the centre of mass below it (`trackcom`); or rotated towards a target."""
LightKind = Literal["spot", "directional", "point"]
_PARALLEL = 1e-9


class SceneCamera(CheckedValue, frozen=True):
    """A camera in the frame of a body, as a path `model/body`, or of the world (empty).

    It looks along its -z axis, with y up.  `field_of_view` is vertical, in degrees; of an orthographic camera it is the
    height of the view in m.  `target` is the path of the body that it follows in the modes `targetbody` and
    `targetbodycom`.
    """

    name: str = ""
    body: str = ""
    pose: Pose = IDENTITY
    field_of_view: float = 45.0
    orthographic: bool = False
    resolution: tuple[int, int] = (1, 1)
    """Width and height in pixels; (1, 1) if none is stated."""
    mode: TrackingMode = "fixed"
    target: str = ""


class SceneLight(CheckedValue, frozen=True):
    """A light in the frame of a body, as a path `model/body`, or of the world (empty).

    Colours are red, green and blue from 0 to 1.  `attenuation` is constant, linear and quadratic; `cutoff` is in
    degrees.  `target` is as in `SceneCamera`.
    """

    name: str = ""
    body: str = ""
    position: ConvertedField[Vector, NumberSequence] = initially(ZERO)
    direction: ConvertedField[Vector, NumberSequence] = initially((0.0, 0.0, -1.0))
    kind: LightKind = "spot"
    active: bool = True
    casts_shadows: bool = True
    diffuse: ConvertedField[Vector, NumberSequence] = initially((0.7, 0.7, 0.7))
    ambient: ConvertedField[Vector, NumberSequence] = initially(ZERO)
    specular: ConvertedField[Vector, NumberSequence] = initially((0.3, 0.3, 0.3))
    attenuation: ConvertedField[Vector, NumberSequence] = initially((1.0, 0.0, 0.0))
    cutoff: float = 45.0
    exponent: float = 10.0
    mode: TrackingMode = "fixed"
    target: str = ""


View = SceneCamera | SceneLight


def view_part(view: View) -> str:
    """How losses name a camera or light of a world."""
    return f"{'cameras' if isinstance(view, SceneCamera) else 'lights'}/{view.name}"


def as_perspective(camera: SceneCamera) -> SceneCamera:
    """A camera in the place of an orthographic one, for programs without these."""
    return structs.replace(camera, orthographic=False, field_of_view=SceneCamera().field_of_view)


def shown_name(view: View) -> str:
    """The name of a camera or light for messages."""
    return view.name or "(unnamed)"


def comparable_views(views: Sequence[View]) -> tuple[tuple[object, ...], ...]:
    """Cameras or lights for comparisons: independent of their order and of the lengths of directions.

    Lights are compared in single precision.
    """
    ordered = [_with_unit_direction(one) for one in sorted(views, key=lambda one: (one.name, one.body))]
    return tuple(
        tuple(map(_in_single_precision, structs.astuple(one))) if isinstance(one, SceneLight) else structs.astuple(one)
        for one in ordered
    )


def _with_unit_direction(view: View) -> View:
    if isinstance(view, SceneCamera) or not any(view.direction):
        return view
    return structs.replace(view, direction=vector_from_array(spatial.unit(view.direction)))


def _in_single_precision(value: object) -> object:
    if not isinstance(value, float | tuple):
        return value
    with np.errstate(over="ignore"):
        return np.asarray(value).astype(np.float32).tolist()


def body_paths(models: Iterable[Model]) -> dict[str, Body]:
    """Bodies by their paths."""
    return {qualified_name(model.name, body.name): body for model in models for body in model.bodies}


PartsOfView = dict[str, tuple[float, ...]]
"""What a camera or light states, by the names of its fields, as numbers that formats may express differently."""


def lost_view_part(view: View, part: str) -> str:
    """How losses name a field of a camera or light, of which the rest is written."""
    return f"{view_part(view)}/{part}"


def placed_views(views: Iterable[View], models: Iterable[Model]) -> Iterator[tuple[View, Body | None, PartsOfView]]:
    """The fixed cameras and lights with their bodies (None: the world), and with what all formats that have them state.

    The values are those of pictures: where the view is, what it shows, and the colours of lights at 1 m.
    """
    bodies = body_paths(models)
    for one in views:
        if one.mode != "fixed" or (one.body and one.body not in bodies):
            continue
        parts = _camera_parts(one) if isinstance(one, SceneCamera) else _light_parts(one)
        yield one, bodies.get(one.body), parts


def _camera_parts(camera: SceneCamera) -> PartsOfView:
    width, height = camera.resolution
    return {
        "pose": tuple(camera.pose.matrix()[:3].ravel().tolist()),
        "field_of_view": (camera.field_of_view,),
        "orthographic": (float(camera.orthographic),),
        "resolution": (float(width), float(height)),
    }


def _light_parts(light: SceneLight) -> PartsOfView:
    kinds = ("spot", "directional", "point")
    parts: PartsOfView = {
        "position": light.position,
        "kind": (float(kinds.index(light.kind)),),
        "active": (float(light.active),),
        "casts_shadows": (float(light.casts_shadows),),
    }
    if light.kind != "point":
        parts["direction"] = tuple(spatial.unit(np.array(light.direction)).tolist())
    if light.kind == "spot":
        parts |= {"cutoff": (light.cutoff,), "exponent": (light.exponent,)}
    at_a_metre = 1.0
    if light.kind != "directional" and any((*light.diffuse, *light.specular)):
        total = sum(light.attenuation)
        at_a_metre = total if total > 0.0 else 1.0
        parts["attenuation"] = tuple(value / at_a_metre for value in light.attenuation)
    for name in ("diffuse", "specular"):
        parts[name] = tuple(value / at_a_metre for value in getattr(light, name))
    return parts


def look_at(position: NumberSequence, target: NumberSequence, up: NumberSequence = (0.0, 0.0, 1.0)) -> Pose:
    """The pose of a camera at a position that looks at a point, both in the frame of its body or of the world."""
    eye = np.array(vector(position))
    back = eye - np.array(vector(target))
    across = np.cross(np.array(vector(up)), back)
    if not np.linalg.norm(across) > _PARALLEL * max(1.0, float(np.linalg.norm(back))):
        raise ExoskelError("a camera needs a target away from its position, and not straight above or below it")
    across, back = spatial.unit(across), spatial.unit(back)
    rotation = np.stack([across, np.cross(back, across), back], axis=1)
    return Pose.from_matrix(spatial.transform(rotation, eye))


class KeyframeJoint(CheckedValue, frozen=True):
    """The positions and velocities of one joint, in the units of `Dof`; `joint` is its path, `model/joint`."""

    joint: str
    positions: tuple[float, ...] = ()
    velocities: tuple[float, ...] = ()

    def fits(self, joint: Joint | None) -> bool:
        """Whether it has one position and one velocity for each coordinate of a joint."""
        return joint is not None and len(self.positions) == len(self.velocities) == joint.dof_count


class Keyframe(CheckedValue, frozen=True):
    """A named state of the joints of a world, at `time` in s.

    Joints that it does not list are in the initial state, and so are those of static models.  `controls` and
    `activations` are names of actuators with their controls and activations; others are zero.
    """

    name: str = ""
    time: float = 0.0
    joints: tuple[KeyframeJoint, ...] = ()
    controls: tuple[tuple[str, float], ...] = ()
    activations: tuple[tuple[str, float], ...] = ()

    def states(self, models: Iterable[Model]) -> Iterator[tuple[Joint, KeyframeJoint]]:
        """Yield the joints of some models with their states, in state order; unknown joints are skipped."""
        known = {state.joint: state for state in self.joints}
        for owner, joint in ((model, joint) for model in models for joint in model.joints if joint.dof_count):
            path = qualified_name(owner.name, joint.name)
            state = None if owner.static else known.get(path)
            yield joint, state if state is not None and state.fits(joint) else state_of(path, joint)

    def positions(self, models: Iterable[Model]) -> tuple[float, ...]:
        """The positions of all coordinates, in state order."""
        return tuple(value for _, state in self.states(models) for value in state.positions)

    def velocities(self, models: Iterable[Model]) -> tuple[float, ...]:
        """The velocities of all coordinates, in state order."""
        return tuple(value for _, state in self.states(models) for value in state.velocities)

    def comparable(self, models: Iterable[Model], *, by_name: bool = False) -> tuple[object, ...]:
        """Name, time and state for comparisons: rotations of ball and free joints as matrices.

        With `by_name`, joints are in the order of their names, for worlds in which they have another order.
        """
        rows: list[object] = [self.name, self.time, tuple(control for _, control in self.controls)]
        rows += [tuple(value for _, value in self.activations)] if self.activations else []
        states = list(self.states([model for model in models if not model.static]))
        for joint, state in sorted(states, key=lambda one: one[1].joint) if by_name else states:
            has_rotation_vector = joint.kind in ("ball", "free", "amotor")
            matrix = spatial.exp(np.array(state.positions[:3])).ravel().tolist() if has_rotation_vector else []
            rows += [(*matrix, *state.positions[3 * has_rotation_vector :]), state.velocities]
        return tuple(rows)

    def __repr__(self) -> str:
        return f"Keyframe({self.name!r}, time={self.time:g}, joints={len(self.joints)})"


def joint_paths(models: Iterable[Model]) -> Iterator[tuple[str, Joint]]:
    """Yield the joints that move, and their paths, in state order."""
    for model in models:
        for joint in model.joints:
            if joint.dof_count and not model.static:
                yield qualified_name(model.name, joint.name), joint


def state_of(path: str, joint: Joint) -> KeyframeJoint:
    """The initial state of a joint."""
    return KeyframeJoint(path, joint.positions, joint.velocities)


def decaying_light(color: Vector, strength: float) -> tuple[Vector, Vector]:
    """The diffuse colour and attenuation of a light that decays with the square of the distance.

    A white matt surface at 1 m that faces the light has the brightness `strength`.  The colour is at most 1: the
    attenuation of a brighter light is smaller.
    """
    largest = max(strength * max(color), 1.0)
    return scaled_color(color, strength / largest), (0.0, 0.0, round_view_number(1.0 / largest))


def even_light(color: Vector, strength: float) -> tuple[Vector, bool]:
    """The diffuse colour of a light that does not decay, and whether it is limited: to 1 in its largest component."""
    largest = max(strength * max(color), 1.0)
    return scaled_color(color, strength / largest), largest > _BRIGHTEST


_BRIGHTEST = 1.0 + 1e-6


def scaled_color(color: Vector, factor: float) -> Vector:
    """A colour times a factor, with the digits that are the same after single precision."""
    red, green, blue = (round_view_number(factor * part) for part in color)
    return (red, green, blue)


def round_view_number(value: float) -> float:
    """A number with the digits that are the same after single precision."""
    return float(f"{value:.7g}")
