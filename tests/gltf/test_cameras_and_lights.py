"""Cameras and lights of glTF files are those of the scene; what a scene does not have is reported."""

from __future__ import annotations

import json
from math import degrees, pi
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exoskel
from tests.gltf.test_read import codes, document, load

LIGHTS = "KHR_lights_punctual"
CAMERAS = [
    {"name": "eye", "type": "perspective", "perspective": {"yfov": 1, "znear": 0.1}},
    {"type": "orthographic", "orthographic": {"xmag": 2, "ymag": 1.5, "znear": 0.1, "zfar": 9}},
]
SPOT = {"type": "spot", "color": [1, 0.5, 0], "intensity": 10 * pi, "spot": {"outerConeAngle": 0.5}}
POINT = {"type": "point", "intensity": pi / 2}
SUN = {"type": "directional", "intensity": pi / 4}


def views(lights: list[dict[str, Any]], cameras: list[dict[str, Any]]) -> dict[str, Any]:
    """A document whose wall has all cameras and lights, each at a node of its own, and the world the first light."""
    made = document(cameras=cameras, extensionsUsed=[LIGHTS], extensionsRequired=[LIGHTS])
    made["extensions"] = {LIGHTS: {"lights": lights}}
    half = [0, np.sqrt(0.5), 0, np.sqrt(0.5)]
    nodes: list[dict[str, Any]] = [{"camera": i, "translation": [0, 1, 0]} for i in range(len(cameras))]
    nodes += [{"name": f"l{i}", "rotation": half, "extensions": {LIGHTS: {"light": i}}} for i in range(len(lights))]
    first = len(made["nodes"])
    made["nodes"][1]["children"] = [*range(first, first + len(nodes))]
    made["nodes"] += [*nodes, {"name": "top", "translation": [0, 9, 0], "extensions": {LIGHTS: {"light": 0}}}]
    made["scenes"][0]["nodes"].append(len(made["nodes"]) - 1)
    return made


def test_cameras_are_in_the_frame_of_the_body_around_them(tmp_path: Path) -> None:
    scene = load(tmp_path, views([SUN], CAMERAS))
    eye, plan = scene.world.cameras
    assert (eye.name, eye.body, eye.orthographic) == ("eye", "house/wall", False)
    assert eye.pose.position == pytest.approx((0.0, 2.0, 0.0)), "the wall is scaled"
    assert eye.pose.has_no_rotation
    assert eye.field_of_view == pytest.approx(degrees(1), rel=1e-6)
    assert (plan.name, plan.orthographic, plan.field_of_view) == ("camera_1", True, 3.0)
    assert codes(scene) == []


def test_lights_have_the_brightness_of_a_white_surface(tmp_path: Path) -> None:
    scene = load(tmp_path, views([SPOT, POINT, SUN], []))
    spot, point, sun, top = scene.world.lights
    assert [one.name for one in scene.world.lights] == ["l0", "l1", "l2", "top"]
    assert (spot.kind, spot.body, top.body, top.position) == ("spot", "house/wall", "", (0.0, 9.0, 0.0))
    assert spot.direction == pytest.approx((-1.0, 0.0, 0.0))
    assert spot.cutoff == pytest.approx(degrees(0.5), rel=1e-6)
    assert (spot.diffuse, spot.attenuation) == ((1.0, 0.5, 0.0), (0.0, 0.0, 0.1))
    assert (point.kind, point.diffuse, point.attenuation) == ("point", (0.5, 0.5, 0.5), (0.0, 0.0, 1.0))
    assert (sun.kind, sun.diffuse, sun.attenuation) == ("directional", (0.25, 0.25, 0.25), (1.0, 0.0, 0.0))
    assert codes(scene) == []


def test_what_is_read_is_no_loss(tmp_path: Path) -> None:
    scene = load(tmp_path, views([SPOT, POINT, SUN], CAMERAS))
    report = exoskel.convert(scene, None, to="mjcf")
    assert report.certificate.passed
    assert [one.path for one in report.losses] == []
    other = exoskel.load(report.data).world
    assert (len(other.cameras), len(other.lights)) == (2, 4)


def test_what_a_scene_does_not_have_is_reported(tmp_path: Path) -> None:
    lights = [
        {"type": "spot", "spot": {"innerConeAngle": 0.2}, "range": 5},
        {"type": "directional", "intensity": 10},
        {"type": "area"},
        {"type": "point", "intensity": -1},
    ]
    cameras = [
        {"type": "perspective", "perspective": {"yfov": 1, "aspectRatio": 2}},
        {"type": "perspective", "perspective": {"yfov": 4}},
    ]
    content = views(lights, cameras)
    content["cameras"].append({"type": "perspective", "perspective": {"yfov": 1}})
    scene = load(tmp_path, content)
    assert [one.message for one in scene.diagnostics] == [
        "the aspect ratio of camera 0 is not read",
        "camera 1 is not read: it has no valid field of view",
        "camera 2 is not read: no node refers to it",
        "the range of light 0 is not read: it has no limit",
        "the inner cone of light 0 is not read; its outer cone is",
        "light 1 is brighter than a light of a scene; its largest colour is 1",
        "light 2 is not read: it has no valid type",
        "light 3 is not read: its intensity is negative",
    ]
    found = {one.path for one in exoskel.convert(scene, None, to="mjcf").losses}
    losses = {one for one in found if one.rpartition("/@")[0] not in found}
    start = f"/extensions/{LIGHTS}/lights"
    assert losses == {
        *("/cameras/0/@perspective", "/cameras/1", "/cameras/2"),
        *(f"{start}/0/@range", f"{start}/0/@spot", f"{start}/1/@intensity", f"{start}/2", f"{start}/3"),
    }


@pytest.mark.parametrize("matrix", [[-1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 1, 0], [0] * 12, [1e200] + [0] * 11])
def test_cameras_have_a_rotation_in_any_frame(tmp_path: Path, matrix: list[float]) -> None:
    content = document(cameras=CAMERAS[:1])
    content["nodes"].append({"camera": 0, "matrix": [*matrix, 1, 2, 3, 1]})
    content["scenes"][0]["nodes"].append(3)
    (camera,) = load(tmp_path, content).world.cameras
    rotation = camera.pose.matrix()[:3, :3]
    assert np.allclose(rotation @ rotation.T, np.eye(3)) and np.linalg.det(rotation) > 0
    assert camera.pose.position == (1.0, 2.0, 3.0)


@pytest.mark.parametrize("value", ["1" + "0" * 400, "1e400", "true", '"x"', "null", "[]"])
def test_lights_with_invalid_numbers_are_not_read(tmp_path: Path, value: str) -> None:
    content = document(extensions={LIGHTS: {"lights": [{"type": "point", "intensity": "HERE"}]}})
    content["nodes"][0]["extensions"] = {LIGHTS: {"light": 0}}
    file = tmp_path / "scene.gltf"
    file.write_text(json.dumps(content).replace('"HERE"', value))
    scene = exoskel.load(file)
    assert codes(scene) in (["GL108"], ["GL104"])
    assert not any(world.lights for world in scene.worlds)


@pytest.mark.parametrize("format", ["skel", "xode", "mjcf", "sdf", "urdf", "usd", "gltf"])
def test_scenes_with_cameras_and_lights_are_converted_to_every_format(tmp_path: Path, format: str) -> None:
    pytest.importorskip("pxr", reason="usd-core is not installed")
    scene = load(tmp_path, views([SUN, SPOT], CAMERAS))
    report = exoskel.convert(scene, to=format)
    assert report.certificate.passed
    if format in ("mjcf", "sdf"):
        world = exoskel.load(report.data, format=format).world
        expected = [one for one in scene.world.cameras if format == "mjcf" or not one.orthographic]
        assert len(world.cameras) >= len(expected) > 0
        assert len(world.lights) >= len(scene.world.lights)
