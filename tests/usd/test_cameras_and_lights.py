"""Cameras and lights of USD files are those of the scene; what a scene does not have is reported."""

from __future__ import annotations

from math import atan, degrees, pi, radians, sin
from pathlib import Path

import numpy as np
import pytest

import exoskel
from tests.usd.test_read import head

pytest.importorskip("pxr")

STAGE = """
def Xform "World"
{
    double3 xformOp:translate = (0, 0, 100)
    uniform token[] xformOpOrder = ["xformOp:translate"]
    def Xform "arm" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
    {
        float physics:mass = 1
        double3 xformOp:translate = (100, 0, 0)
        float3 xformOp:rotateXYZ = (0, 0, 90)
        uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:rotateXYZ"]
        def Xform "mount"
        {
            double3 xformOp:translate = (0, 20, 0)
            uniform token[] xformOpOrder = ["xformOp:translate"]
            def Camera "eye"
            {
                float focalLength = 24
                float verticalAperture = 16
                float horizontalAperture = 32
                float fStop = 4
                float3 xformOp:rotateXYZ = (90, 0, 0)
                uniform token[] xformOpOrder = ["xformOp:rotateXYZ"]
            }
        }
        def SphereLight "bulb" (prepend apiSchemas = ["ShapingAPI"])
        {
            color3f inputs:color = (1, 0.5, 0.25)
            float inputs:intensity = 1000
            float inputs:exposure = 1
            float inputs:radius = 5
            float inputs:shaping:cone:angle = 30
            float inputs:shaping:cone:softness = 0.1
            bool inputs:shadow:enable = 0
        }
    }
    def Camera "plan"
    {
        token projection = "orthographic"
        float verticalAperture = 3000
    }
    def DistantLight "sun"
    {
        float inputs:intensity = 2
        bool inputs:normalize = 1
        float inputs:specular = 0.5
        token visibility = "invisible"
        float3 xformOp:rotateXYZ = (90, 0, 0)
        uniform token[] xformOpOrder = ["xformOp:rotateXYZ"]
    }
    def DistantLight "glare" {}
    def RectLight "panel"
    {
        float inputs:width = 200
        float inputs:height = 50
        bool inputs:enableColorTemperature = 1
    }
    def DomeLight "sky"
    {
        asset inputs:texture:file = @sky.hdr@
    }
}
"""


def load(tmp_path: Path, content: str, metre: float = 0.01, up: str = "Z") -> exoskel.Scene:
    file = tmp_path / "stage.usda"
    file.write_text(head(metre, up=up) + content)
    return exoskel.load(file)


def test_cameras_are_in_the_frame_of_the_body_around_them(tmp_path: Path) -> None:
    eye, plan = load(tmp_path, STAGE).world.cameras
    assert (eye.name, eye.body, eye.orthographic) == ("eye", "arm/arm", False)
    assert eye.pose.position == pytest.approx((0.0, 0.2, 0.0))
    assert -eye.pose.matrix()[:3, 2] == pytest.approx((0.0, 1.0, 0.0)), "it looks along y of the body"
    assert eye.field_of_view == pytest.approx(degrees(2 * atan(16 / 48)), rel=1e-6)
    assert (plan.name, plan.body, plan.orthographic) == ("plan", "", True)
    assert plan.pose.position == pytest.approx((0.0, 0.0, 1.0))
    assert plan.field_of_view == pytest.approx(3.0), "apertures are tenths of the unit"


def test_lights_have_the_brightness_of_a_white_surface(tmp_path: Path) -> None:
    lights = {one.name: one for one in load(tmp_path, STAGE).world.lights}
    assert list(lights) == ["bulb", "sun", "glare", "panel"]
    bulb, sun, glare, panel = lights.values()
    assert (bulb.kind, bulb.body, bulb.cutoff, bulb.casts_shadows) == ("spot", "arm/arm", 30.0, False)
    assert np.divide(bulb.diffuse, bulb.attenuation[2]) == pytest.approx(2000 * 0.05**2 * np.array([1, 0.5, 0.25]))
    assert max(bulb.diffuse) == 1.0 and bulb.attenuation[:2] == (0.0, 0.0)
    assert (sun.kind, sun.active, sun.attenuation) == ("directional", False, (1.0, 0.0, 0.0))
    assert sun.direction == pytest.approx((0.0, 1.0, 0.0))
    assert sun.diffuse == pytest.approx((2 / pi,) * 3, rel=1e-6)
    assert sun.specular == pytest.approx((1 / pi,) * 3, rel=1e-6)
    assert 50000 * sin(radians(0.265)) ** 2 > 1 and glare.diffuse == (1.0, 1.0, 1.0)
    assert (panel.kind, panel.cutoff, panel.exponent) == ("spot", 90.0, 1.0)
    assert panel.diffuse == pytest.approx((1 / pi,) * 3, rel=1e-6)


def test_what_a_scene_does_not_have_is_reported(tmp_path: Path) -> None:
    scene = load(tmp_path, STAGE)
    found = [(one.key, one.message) for one in scene.diagnostics if one.key.startswith(("US114", "US115"))]
    assert found == [
        ("US115.aspect", "the horizontal aperture of camera 'eye' is not read: the view has no aspect ratio"),
        ("US115", "settings of camera 'eye' are not read: fStop"),
        ("US115", "settings of light 'bulb' are not read: inputs:shaping:cone:softness"),
        ("US115.bright", "light 'glare' is brighter than a light of a scene; its largest colour is 1"),
        ("US115.area", "light 'panel' has an area; it is read as a spot light at its centre"),
        ("US115.temperature", "the colour temperature of light 'panel' is not read"),
        ("US114", "light 'sky' is not read"),
    ]
    report = exoskel.convert(scene, None, to="mjcf")
    assert report.certificate.passed
    losses = {one.path.removeprefix("/World/"): one for one in report.losses}
    views = [one for one in losses if one.startswith(("arm/mount/eye", "arm/bulb", "glare", "panel", "sky", "sun"))]
    assert sorted(views) == [
        "arm/bulb/@inputs:shaping:cone:softness",
        "arm/mount/eye/@fStop",
        "arm/mount/eye/@horizontalAperture",
        "glare",
        "panel",
        "panel/@inputs:enableColorTemperature",
        "sky",
        "sky/@inputs:texture:file",
    ]
    assert losses["sky"].why == "light 'sky' is not read (US114)"
    assert not any(losses[one].affects_motion for one in views)


@pytest.mark.parametrize("up", ["Y", "Z"])
def test_they_are_in_mjcf(tmp_path: Path, up: str) -> None:
    scene = load(tmp_path, STAGE, up=up)
    text = exoskel.convert(scene, None, to="mjcf").data
    world = exoskel.load(text).world
    assert sorted(one.name for one in world.cameras) == ["eye", "plan"]
    assert sorted(one.name for one in world.lights) == ["bulb", "glare", "panel", "sun"]


@pytest.mark.parametrize("value", ["focalLength = 0", "verticalAperture = -1", "verticalAperture = inf"])
def test_cameras_with_invalid_values_are_not_read(tmp_path: Path, value: str) -> None:
    scene = load(tmp_path, f'def Camera "eye"\n{{\n    float {value}\n}}\n')
    assert scene.world.cameras == []
    assert "camera 'eye' is not read" in [one.message for one in scene.diagnostics]


@pytest.mark.parametrize(
    "value", ["float inputs:intensity = -1", "float inputs:exposure = 1e30", "color3f inputs:color = (inf, 0, 0)"]
)
def test_lights_with_invalid_values_are_not_read(tmp_path: Path, value: str) -> None:
    scene = load(tmp_path, f'def SphereLight "bulb"\n{{\n    {value}\n}}\n')
    assert scene.world.lights == []
    assert "light 'bulb' is not read" in [one.message for one in scene.diagnostics]


@pytest.mark.parametrize("format", ["skel", "xode", "mjcf", "sdf", "urdf", "usd", "gltf"])
def test_scenes_with_cameras_and_lights_are_converted_to_every_format(tmp_path: Path, format: str) -> None:
    pytest.importorskip("pxr", reason="usd-core is not installed")
    scene = load(tmp_path, STAGE)
    report = exoskel.convert(scene, to=format)
    assert report.certificate.passed
    if format in ("mjcf", "sdf"):
        world = exoskel.load(report.data, format=format).world
        expected = [one for one in scene.world.cameras if format == "mjcf" or not one.orthographic]
        assert len(world.cameras) >= len(expected) > 0
        assert len(world.lights) >= len(scene.world.lights)
