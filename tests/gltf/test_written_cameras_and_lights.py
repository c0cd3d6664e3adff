"""Cameras and lights of a scene are those of nodes of glTF; what glTF does not have is reported."""

from __future__ import annotations

from math import pi, radians
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

import exoskel
from exoskel import Pose, SceneCamera, SceneLight, World
from exoskel.formats.gltf.compose import read_back
from exoskel.formats.gltf.write import write
from exoskel.scene.cameras_and_keyframes import lost_view_part, view_part
from exoskel.source.output_context import OutputContext
from tests.gltf.reader import Glb
from tests.oracles import khronos
from tests.support.views import CAMERAS, LIGHTS, unmatched, world_with_views

PUNCTUAL = "KHR_lights_punctual"
EYE = SceneCamera("eye", body="m/b", pose=exoskel.look_at((1, 1, 1), (0, 0, 0)), field_of_view=50.0)
PLAN = SceneCamera("plan", orthographic=True, field_of_view=3.5, pose=Pose((0.0, 0.0, 5.0)))
LAMP = SceneLight(
    "lamp", "m/a", kind="point", attenuation=(0, 0, 0.5), diffuse=(0.6, 0.3, 0.3), specular=(0.6, 0.3, 0.3)
)
SUN = SceneLight("sun", kind="directional", direction=(1, 0, -1), diffuse=(2, 1, 1), specular=(2, 1, 1))
SPOT = SceneLight("spot", position=(0, 0, 3), attenuation=(0, 0, 1), specular=(0.7, 0.7, 0.7), cutoff=30.0)


def written(world: World) -> tuple[bytes, OutputContext]:
    output = OutputContext()
    return write(exoskel.Scene([world]), output), output


def test_the_file_has_their_values() -> None:
    document = Glb(written(world_with_views([EYE, PLAN], [LAMP, SUN, SPOT]))[0]).document
    first, second = document["cameras"]
    assert first["perspective"]["yfov"] == radians(50.0) and first["perspective"]["znear"] == 0.01
    assert second["orthographic"] == {"xmag": 1.75, "ymag": 1.75, "znear": 0.0, "zfar": 10000.0}
    lamp, sun, spot = document["extensions"][PUNCTUAL]["lights"]
    assert document["extensionsUsed"] == [PUNCTUAL]
    assert lamp["color"] == pytest.approx([1, 0.5, 0.5]) and lamp["intensity"] / pi == pytest.approx(0.6 / 0.5)
    assert (sun["type"], sun["intensity"]) == ("directional", pytest.approx(2 * pi))
    assert spot["spot"] == {"innerConeAngle": 0.0, "outerConeAngle": radians(30.0)}
    nodes = {node["name"]: node for node in document["nodes"]}
    assert document["nodes"].index(nodes["eye"]) in nodes["b"]["children"]
    assert document["nodes"].index(nodes["spot"]) in nodes["w"]["children"]
    assert nodes["spot"] == {"name": "spot", "translation": [0, 0, 3], "extensions": {PUNCTUAL: {"light": 2}}}


@pytest.mark.skipif(not khronos.available(), reason="the Khronos validator is not installed")
def test_the_validator_finds_nothing(tmp_path: Path) -> None:
    file = tmp_path / "out.glb"
    wide = SceneCamera("wide", resolution=(640, 480))
    file.write_bytes(written(world_with_views([EYE, PLAN, wide], [LAMP, SUN, SPOT, SceneLight(cutoff=90.0)]))[0])
    assert khronos.report(file)["issues"]["messages"] == []


def test_they_come_back() -> None:
    world = world_with_views([EYE, PLAN], [LAMP, SUN, SPOT])
    report = exoskel.convert(world, None, to="gltf")
    assert report.certificate.passed
    assert [one.passed for one in report.certificate.checks if one.name == "cameras and lights"] == [True]
    other = exoskel.load(report.data)
    assert other.diagnostics == []
    assert unmatched(world, other.world, {"exponent"}) == []
    assert [one.name for one in other.world.cameras] == ["eye", "plan"]
    assert [one.name for one in other.world.lights] == ["lamp", "sun", "spot"]
    assert [one.why for one in report.losses if "'spot'" in one.why or "camera" in one.why] == [
        "glTF has no exponent of spots: light 'spot' decays towards its cone in another way (GL207)"
    ] * len([one for one in report.losses if "'spot'" in one.why])


@given(cameras=st.lists(CAMERAS, max_size=3), lights=st.lists(LIGHTS, max_size=3))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_cameras_and_lights_come_back(cameras: list[SceneCamera], lights: list[SceneLight]) -> None:
    cameras = [structs.replace(one, name=f"c{i}") for i, one in enumerate(cameras)]
    lights = [structs.replace(one, name=f"l{i}") for i, one in enumerate(lights)]
    world = world_with_views(cameras, lights)
    data, output = written(world)
    losses = [loss for loss in output.losses if loss.code in ("GL207", "GL309")]
    lost = {field for loss in losses for field in loss.fields}
    dropped = {field for loss in losses if loss.is_dropped for field in loss.fields}
    assert dropped == {view_part(one) for one in lights if not one.active}
    other = read_back(data).worlds[0]
    for one in [*cameras, *lights]:
        fields = {name for name in one.__struct_fields__ if lost_view_part(one, name) in lost}
        is_camera = isinstance(one, SceneCamera)
        single = world_with_views([one] if is_camera else [], [] if is_camera else [one])
        assert (unmatched(single, other, fields) == []) != (view_part(one) in dropped)
    assert exoskel.convert(world, None, to="gltf").certificate.passed


def test_what_gltf_does_not_have_is_reported() -> None:
    world = world_with_views(
        [
            SceneCamera("wide", field_of_view=180.0),
            SceneCamera("chase", body="m/a", mode="track", resolution=(640, 480)),
        ],
        [
            SceneLight("even", kind="point", position=(1, 2, 7), specular=(0.7, 0.7, 0.7)),
            SceneLight("blue", kind="directional", specular=(0, 0, 1), ambient=(0.1, 0.1, 0.1), casts_shadows=False),
            SceneLight("broad", attenuation=(0, 0, 1), specular=(0.7, 0.7, 0.7), cutoff=120.0),
            SceneLight("dark", active=False),
        ],
    )
    losses = [one for one in written(world)[1].losses if one.code in ("GL207", "GL309")]
    assert [one.reason.removesuffix(f" ({one.code})") for one in losses] == [
        "the angle of camera 'wide' is not below 180 degrees: the camera is not written",
        "glTF does not support the mode 'track': camera 'chase' is fixed",
        "glTF has no resolution of cameras: camera 'chase' has only its aspect ratio",
        "lights of glTF decay with the square of the distance: light 'even' has its brightness at 4 m",
        "lights of glTF have one colour: that of the highlights of 'blue' is not written",
        "glTF has no ambient colours of lights: that of 'blue' is not written",
        "glTF does not state shadows: light 'blue' may cast them",
        "glTF has no exponent of spots: light 'broad' decays towards its cone in another way",
        "the cone of a light is above 0 and up to 90 degrees: 90 is written for 'broad'",
        "glTF has no lights that are off: light 'dark' is not written",
    ]
    other = exoskel.load(exoskel.convert(world, None, to="gltf").data).world
    assert [one.name for one in other.cameras] == ["chase"]
    even = next(one for one in other.lights if one.name == "even")
    assert np.divide(even.diffuse, even.attenuation[2] * 4.0**2) == pytest.approx(0.7), "as bright at 4 m"


SOURCE = """
<mujoco><worldbody>
  <camera name="plan" pos="0 0 5" fovy="40"/>
  <light name="exact" type="directional" ambient="0 0 0" specular="0.7 0.7 0.7"/>
  <light name="even" pos="0 0 4"/>
  <light name="off" active="false"/>
</worldbody></mujoco>"""


def test_fates_of_mjcf_name_what_is_lost() -> None:
    scene = exoskel.load(SOURCE.encode(), format="mjcf")
    report = exoskel.convert(scene, None, to="gltf")
    assert report.certificate.passed
    names = ("plan", "exact", "even", "off")
    fates: dict[str, Any] = {
        name: one for one in report.items for name in names if one.path.endswith(f"[@name='{name}']")
    }
    assert [fates[name].fate for name in names] == ["exact", "lowered", "approximated", "dropped"]
    assert "decay" in fates["even"].why and "off" in fates["off"].why
