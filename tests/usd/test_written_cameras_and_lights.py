"""Cameras and lights of a scene are prims of USD; what USD does not have is reported."""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

import exoskel
from exoskel import Pose, SceneCamera, SceneLight, World
from exoskel.scene.cameras_and_keyframes import lost_view_part, view_part
from tests.support.views import CAMERAS, LIGHTS, unmatched, world_with_views
from tests.usd.support import stage_of, written_world

pytest.importorskip("pxr")

EYE = SceneCamera("eye", body="m/b", pose=exoskel.look_at((1, 1, 1), (0, 0, 0)), field_of_view=50.0)
PLAN = SceneCamera("plan view", orthographic=True, field_of_view=3.5, pose=Pose((0.0, 0.0, 5.0)))
LAMP = SceneLight(
    "lamp", "m/a", kind="point", attenuation=(0, 0, 0.5), diffuse=(0.6, 0.3, 0.3), specular=(0.2, 0.1, 0.1)
)
SUN = SceneLight("sun", kind="directional", direction=(1, 0, -1), diffuse=(2, 1, 1), specular=(0, 0, 0))
SPOT = SceneLight(
    "spot", position=(0, 0, 3), attenuation=(0, 0, 1), exponent=3.0, cutoff=90.0, active=False, casts_shadows=False
)


def stage(world: World) -> Any:
    return stage_of(written_world(world)[0])


def reloaded(world: World) -> World:
    report = exoskel.convert(world, None, to="usd")
    assert report.certificate.passed
    assert [one.passed for one in report.certificate.checks if one.name == "cameras and lights"] == [True]
    return exoskel.load(report.data).world


def test_usd_has_the_fields_of_view_of_cameras() -> None:
    from pxr import Gf, UsdGeom

    made = stage(world_with_views([EYE, PLAN], []))
    eye = UsdGeom.Camera(made.GetPrimAtPath("/w/m/b/eye")).GetCamera(0.0)
    assert eye.GetFieldOfView(Gf.Camera.FOVVertical) == pytest.approx(50.0, rel=1e-6)
    assert eye.projection == Gf.Camera.Perspective and eye.clippingRange.min == pytest.approx(0.01)
    body = np.array(UsdGeom.XformCache().GetLocalToWorldTransform(made.GetPrimAtPath("/w/m/b"))).T
    assert np.allclose(np.array(eye.transform).T, body @ EYE.pose.matrix())
    plan = UsdGeom.Camera(made.GetPrimAtPath("/w/plan_view")).GetCamera(0.0)
    assert plan.projection == Gf.Camera.Orthographic
    height = (plan.frustum.window.max - plan.frustum.window.min)[1]
    assert height == pytest.approx(3.5), "a frustum is in units of the stage, which are m"


def test_usd_has_the_brightness_of_lights() -> None:
    from pxr import UsdGeom, UsdLux

    made = stage(world_with_views([], [LAMP, SUN, SPOT]))
    lamp = UsdLux.SphereLight(made.GetPrimAtPath("/w/m/a/lamp"))
    assert lamp.GetNormalizeAttr().Get()
    # The power of a normalized sphere is spread over 4 pi steradians, and a white matt surface reflects 1 / pi of it.
    assert lamp.GetIntensityAttr().Get() / (4 * pi) == pytest.approx(0.6 / 0.5)
    assert tuple(lamp.GetColorAttr().Get()) == pytest.approx((1, 0.5, 0.5))
    assert (lamp.GetDiffuseAttr().Get(), lamp.GetSpecularAttr().Get()) == (1.0, pytest.approx(1 / 3))
    sun = UsdLux.DistantLight(made.GetPrimAtPath("/w/sun"))
    assert sun.GetIntensityAttr().Get() / pi == pytest.approx(2.0)
    place = np.array(UsdGeom.Xformable(sun).ComputeLocalToWorldTransform(0.0)).T
    assert -place[:3, 2] == pytest.approx((2**-0.5, 0, -(2**-0.5)))
    spot = made.GetPrimAtPath("/w/spot")
    shaping = UsdLux.ShapingAPI(spot)
    assert (shaping.GetShapingConeAngleAttr().Get(), shaping.GetShapingFocusAttr().Get()) == (90.0, 3.0)
    assert UsdLux.ShadowAPI(spot).GetShadowEnableAttr().Get() is False
    assert UsdGeom.Imageable(spot).ComputeVisibility() == UsdGeom.Tokens.invisible


def test_all_usd_validators_pass() -> None:
    from pxr import UsdValidation

    validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    made = stage(world_with_views([EYE, PLAN], [LAMP, SUN, SPOT]))
    found = UsdValidation.ValidationContext(validators).Validate(made)
    assert not [f"{one.GetName()}: {one.GetMessage()}" for one in found]


def test_they_come_back_without_losses() -> None:
    world = world_with_views([EYE, PLAN], [LAMP, SUN, SPOT])
    report = exoskel.convert(world, None, to="usd")
    assert [one.why for one in report.losses] == []
    other = exoskel.load(report.data)
    assert other.diagnostics == []
    assert unmatched(world, other.world, set()) == []
    assert [one.name for one in other.world.cameras] == ["eye", "plan view"]
    assert [one.name for one in other.world.lights] == ["lamp", "sun", "spot"]
    again = exoskel.convert(other, None, to="usd")
    assert unmatched(other.world, exoskel.load(again.data).world, set()) == []


@given(cameras=st.lists(CAMERAS, max_size=3), lights=st.lists(LIGHTS, max_size=3))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_cameras_and_lights_come_back(cameras: list[SceneCamera], lights: list[SceneLight]) -> None:
    cameras = [structs.replace(one, name=f"c{i}") for i, one in enumerate(cameras)]
    lights = [structs.replace(one, name=f"l{i}") for i, one in enumerate(lights)]
    world = world_with_views(cameras, lights)
    _, output = written_world(world)
    lost = {field for loss in output.losses for field in loss.fields}
    other = reloaded(world) if cameras or lights else world
    for one in [*cameras, *lights]:
        fields = {name for name in one.__struct_fields__ if lost_view_part(one, name) in lost}
        is_camera = isinstance(one, SceneCamera)
        single = world_with_views([one] if is_camera else [], [] if is_camera else [one])
        assert (view_part(one) in lost) == bool(fields)
        assert unmatched(single, other, fields) == []


def test_what_usd_does_not_have_is_reported() -> None:
    world = world_with_views(
        [
            SceneCamera("wide", field_of_view=180.0),
            SceneCamera("chase", body="m/a", mode="track", resolution=(640, 480)),
        ],
        [
            SceneLight("even", position=(1, 2, 7), specular=(0.7, 0.7, 0.7)),
            SceneLight("blue", kind="directional", specular=(0, 0, 1), ambient=(0.1, 0.1, 0.1)),
            SceneLight("broad", attenuation=(0, 0, 1), cutoff=120.0),
        ],
    )
    assert [one.reason.removesuffix(f" ({one.code})") for one in written_world(world)[1].losses] == [
        "USD has no resolution of cameras: camera 'chase' has only its aspect ratio",
        "USD does not support the mode 'track': camera 'chase' is fixed",
        "the angle of camera 'wide' is not between 0 and 180 degrees: the camera is not written",
        "lights of USD decay with the square of the distance: light 'even' has its brightness at 4 m",
        "lights of USD have one colour: that of the highlights of 'blue' is not written",
        "USD has no ambient colours of lights: that of 'blue' is not written",
        "the cone of a light is above 0 and up to 90 degrees: 90 is written for 'broad'",
    ]
    other = reloaded(world)
    assert [one.name for one in other.cameras] == ["chase"]
    even = next(one for one in other.lights if one.name == "even")
    assert np.divide(even.diffuse, even.attenuation[2] * 4.0**2) == pytest.approx(0.7), "as bright at 4 m"


SOURCE = """
<mujoco><worldbody>
  <camera name="plan" pos="0 0 5" fovy="40"/>
  <light name="exact" pos="0 0 3" attenuation="0 0 1" ambient="0 0 0" specular="0.7 0.7 0.7"/>
  <light name="even" pos="0 0 4"/>
  <light name="dim" dir="1 0 -1" type="directional" ambient="0.1 0.1 0.1"/>
  <body name="arm"><freejoint/><geom size="0.1"/><camera name="eye" fovy="60" resolution="64 32"/></body>
</worldbody></mujoco>"""


def test_fates_of_mjcf_name_what_is_lost() -> None:
    scene = exoskel.load(SOURCE.encode(), format="mjcf")
    report = exoskel.convert(scene, None, to="usd")
    assert report.certificate.passed
    views = ("plan", "eye", "exact", "even", "dim")
    fates = {name: one for one in report.items for name in views if one.path.endswith(f"[@name='{name}']")}
    assert [fates[name].fate for name in views] == [
        "lowered",
        "approximated",
        "lowered",
        "approximated",
        "approximated",
    ]
    assert "resolution" in fates["eye"].why
    assert "decay" in fates["even"].why and "ambient" in fates["dim"].why
    there = exoskel.load(report.data).world
    assert [one.field_of_view for one in there.cameras] == [60.0, 40.0]


@pytest.mark.parametrize("to", ["usd", "gltf"])
def test_messages_about_lights_without_a_name_say_so(to: str) -> None:
    text = '<mujoco><worldbody><light pos="0 0 3"/><body><freejoint/><geom size="1"/></body></worldbody></mujoco>'
    found = next(one for one in exoskel.convert(text, to=to).items if "/light" in one.path)
    assert "light '(unnamed)' has its brightness at" in found.why
