"""Cameras: the whole scene in view, upright, and filling the image."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.lowering.up_axis import nearest_up_axis
from exoskel.scene.pose import Vector
from exoskel.scene.world import World
from exoskel.view.camera import PRESETS, corners_of, frame_of, look_at
from exoskel.view.scene_placement import placement_for, preset_along

sizes = st.floats(0.1, 100.0)
places = st.floats(-1e3, 1e3)


@given(
    size=st.tuples(sizes, sizes, sizes),
    place=st.tuples(places, places, places),
    up=st.sampled_from([(0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (0.0, -1.0, 0.0), (1.0, 0.0, 0.0)]),
    preset=st.sampled_from(sorted(PRESETS)),
    aspect=st.sampled_from([0.5, 1.0, 16 / 9]),
)
def test_a_box_fills_the_shorter_side_and_nothing_is_cut_off(size, place, up, preset, aspect) -> None:  # type: ignore[no-untyped-def]
    corners = corners_of(np.array(place) - np.array(size) / 2, np.array(place) + np.array(size) / 2)
    camera = look_at(corners, up, preset=preset, aspect=aspect)
    seen = camera.project(corners, aspect)
    assert (seen[:, 2] > camera.near).all() and (seen[:, 2] < camera.far).all()
    assert np.abs(seen[:, :2]).max() <= 0.9
    # In halves of the shorter side; a flat box seen edge-on fills only one direction.
    spread = np.ptp(seen[:, :2] * [aspect, 1.0] / min(1.0, aspect), axis=0) / 2
    assert 0.5 <= spread.max() <= 0.9


@pytest.mark.parametrize(
    ("gravity", "up"),
    [
        ((0.0, 0.0, -9.81), (0.0, 0.0, 1.0)),
        ((0.0, -9.81, 0.0), (0.0, 1.0, 0.0)),
        ((0.1, -9.81, 0.2), (0.0, 1.0, 0.0)),
        ((0.0, 0.0, 9.81), (0.0, 0.0, -1.0)),
        ((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)),
        ((float("nan"), 0.0, 0.0), (0.0, 0.0, 1.0)),
    ],
)
def test_up_points_against_gravity(gravity, up) -> None:  # type: ignore[no-untyped-def]
    with no_edits():  # a file may state any number
        world = World("w", gravity=gravity)
    assert nearest_up_axis(world) == up


@pytest.mark.parametrize("up", [(0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (0.0, 0.0, -1.0)])
def test_the_frame_of_a_world_is_right_handed(up) -> None:  # type: ignore[no-untyped-def]
    frame = frame_of(up)
    assert np.allclose(frame @ frame.T, np.eye(3))
    assert np.isclose(np.linalg.det(frame), 1.0)
    assert np.allclose(frame[2], up)


@pytest.mark.parametrize("up", [(0.0, 0.0, 1.0), (0.0, 1.0, 0.0)])
def test_higher_points_are_higher_in_the_image(up) -> None:  # type: ignore[no-untyped-def]
    camera = look_at(corners_of(-np.ones(3), np.ones(3)), up)
    low, high = camera.project(np.array([np.zeros(3), 0.5 * np.array(up)]), 1.0)
    assert high[1] > low[1]


def test_an_empty_scene_has_a_camera() -> None:
    for points in (np.empty((0, 3)), np.zeros((1, 3))):
        assert np.isfinite(look_at(points, (0.0, 0.0, 1.0)).position).all()


@pytest.mark.parametrize(
    ("axis", "up", "preset"),
    [
        ("+x", (0, 0, 1), "front"), ("-x", (0, 0, 1), "back"), ("+y", (0, 0, 1), "left"), ("-y", (0, 0, 1), "right"),
        ("+z", (0, 0, 1), "top"), ("-z", (0, 0, 1), "bottom"), ("+y", (0, 1, 0), "top"), ("+z", (0, 1, 0), "front"),
        ("+z", (0, 0, -1), "bottom"), ("+w", (0, 0, 1), ""), ("", (0, 0, 1), ""),
    ],
)  # fmt: skip
def test_an_axis_of_the_world_has_a_preset(axis: str, up: Vector, preset: str) -> None:
    assert preset_along(axis, up) == preset


@pytest.mark.parametrize("size", [0.4, 0.6, 2.0, 2.9, 3.1, 5.9, 100.0])
def test_a_scene_in_a_narrow_window_is_within_the_reach_of_shadows(size: float) -> None:
    """On the page, shadows end 20 m from the camera, which is far away in a narrow window."""
    corners = corners_of(np.zeros(3), np.full(3, size / np.sqrt(3.0)))
    placement = placement_for(corners)
    camera = placement.camera_on_page(look_at(corners, (0.0, 0.0, 1.0), aspect=0.43, both_sides=True))
    around = placement.scale * size  # shadows fall beside the bodies
    assert camera.coordinates(placement.on_page(corners))[:, 2].max() + around < 20.0
