"""Scenes with cameras and lights, for tests of the formats that have them."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from exoskel import Box, Pose, Quaternion, SceneCamera, SceneLight, World
from exoskel.scene.cameras_and_keyframes import placed_views
from exoskel.scene.fields import relative_difference

_NUMBER = st.floats(-5.0, 5.0)
_VECTOR = st.tuples(_NUMBER, _NUMBER, _NUMBER)
_POSE = st.tuples(_VECTOR, st.tuples(*[st.floats(-1.0, 1.0)] * 4)).map(
    lambda pair: Pose(pair[0], Quaternion(pair[1] if np.linalg.norm(pair[1]) > 0.1 else (1.0, 0.0, 0.0, 0.0)))
)
_BODY = st.sampled_from(["", "m/a", "m/b"])
_COLOR = st.tuples(*[st.floats(0.0, 1.0)] * 3)
CAMERAS = st.builds(
    SceneCamera,
    body=_BODY,
    pose=_POSE,
    field_of_view=st.floats(0.1, 170.0),
    orthographic=st.booleans(),
    resolution=st.sampled_from([(1, 1), (640, 480), (100, 300)]),
)
LIGHTS = st.builds(
    SceneLight,
    body=_BODY,
    position=_VECTOR,
    direction=_VECTOR.filter(lambda one: np.linalg.norm(one) > 0.1),
    kind=st.sampled_from(["spot", "directional", "point"]),
    active=st.booleans(),
    casts_shadows=st.booleans(),
    diffuse=_COLOR,
    ambient=st.sampled_from([(0.0, 0.0, 0.0), (0.1, 0.2, 0.3)]),
    specular=_COLOR,
    attenuation=st.one_of(_COLOR, st.floats(1e-3, 1.0).map(lambda factor: (0.0, 0.0, factor))),
    cutoff=st.floats(1.0, 90.0),
    exponent=st.floats(0.0, 50.0),
)


def world_with_views(cameras: list[SceneCamera], lights: list[SceneLight]) -> World:
    """A world with cameras and lights in the bodies `m/a` and `m/b`, which a joint connects, or in none of them."""
    world = World("w", gravity=(0.0, 0.0, -9.81))
    model = world.add_model("m", pose=Pose((1.0, 2.0, 3.0)))
    model.add_body("a", mass=1.0, shapes=[Box((0.1, 0.2, 0.3))])
    model.add_body("b", parent="a", joint="revolute", axis=(1.0, 0.0, 0.0), mass=1.0, shapes=[Box((0.1, 0.2, 0.3))])
    world.cameras += cameras
    world.lights += lights
    return world


def unmatched(world: World, other: World, lost: set[str], tolerance: float = 1e-6) -> list[Any]:
    """The cameras and lights of a world that another one does not have, apart from `lost` fields of them."""
    left = list(placed_views([*other.cameras, *other.lights], other.models))
    missing: list[Any] = []
    for view, body, values in placed_views([*world.cameras, *world.lights], world.models):
        compared = {name: part for name, part in values.items() if name not in lost}
        number = next(
            (
                i
                for i, (one, on, there) in enumerate(left)
                if type(one) is type(view)
                and (on.name if on else "") == (body.name if body else "")
                and relative_difference([*compared.values()], [there.get(name) for name in compared]) < tolerance
            ),
            None,
        )
        if number is None:
            missing.append(view)
        else:
            left.pop(number)
    return missing
