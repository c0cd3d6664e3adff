"""Cameras and lights of SDF are those of the scene, and are written to SDF again as they are."""

from __future__ import annotations

from math import atan, degrees, pi, tan
from pathlib import Path

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import exoskel
from exoskel import Pose, SceneCamera, SceneLight, World
from exoskel.scene.cameras_and_keyframes import placed_views
from exoskel.scene.fields import relative_difference

_INERTIAL = "<inertial><mass>2</mass></inertial>"
WORLD = f"""<sdf version="1.9"><world name="default">
  <light name="sun" type="directional"><pose>0 0 10 0 {pi / 2} 0</pose><cast_shadows>true</cast_shadows>
    <diffuse>0.8 0.7 0.6 1</diffuse><specular>0.2 0.2 0.2 1</specular><direction>0 0 -2</direction>
    <attenuation><range>1000</range><constant>0.9</constant><linear>0.01</linear><quadratic>0.001</quadratic>
    </attenuation></light>
  <light name="lamp" type="spot"><pose relative_to="arm::upper">0 0 1 0 0 0</pose><spot>
    <inner_angle>0.1</inner_angle><outer_angle>1</outer_angle><falloff>0.8</falloff></spot></light>
  <model name="arm"><pose>1 2 3 0 0 0.3</pose>
    <link name="base">{_INERTIAL}
      <light name="bulb" type="point"><pose>0 0 0.2 0 0 0</pose><intensity>0.5</intensity><light_on>false</light_on></light>
      <sensor name="eye" type="camera"><pose>0.1 0 0 0 0 {pi / 2}</pose><update_rate>30</update_rate>
        <topic>image</topic><camera><horizontal_fov>1.2</horizontal_fov><image><width>640</width><height>320</height>
        <format>L8</format></image><clip><near>0.1</near><far>50</far></clip></camera></sensor></link>
    <link name="upper"><pose>0 0 1 0 0 0</pose>{_INERTIAL}
      <sensor name="eye" type="depth_camera"><pose>0 0 1 0 0 0</pose><camera><pose>0 0 0.1 0 0 0</pose></camera></sensor>
      <sensor name="wide" type="wideangle_camera"><camera><horizontal_fov>5</horizontal_fov></camera></sensor></link>
    <joint name="hinge" type="revolute"><parent>base</parent><child>upper</child><axis><xyz>0 1 0</xyz></axis></joint>
  </model></world></sdf>"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    out = tmp_path / "arm.sdf"
    out.write_text(WORLD)
    return out


def test_cameras_are_in_the_frame_of_their_link_and_look_along_their_x_axis(file: Path) -> None:
    world = exoskel.load(file).world
    assert [(one.name, one.body, one.resolution) for one in world.cameras] == [
        ("eye", "arm/base", (640, 320)),
        ("eye(1)", "arm/upper", (1, 1)),
    ]
    first, second = world.cameras
    pose = first.pose.matrix()
    assert pose[:3, 3] == pytest.approx((0.1, 0.0, 0.0))
    assert -pose[:3, 2] == pytest.approx((0.0, 1.0, 0.0), abs=1e-12), "it looks along the y axis of the link"
    assert pose[:3, 1] == pytest.approx((0.0, 0.0, 1.0), abs=1e-12), "z is up"
    assert first.field_of_view == pytest.approx(degrees(2 * atan(tan(0.6) / 2)))
    assert second.pose.position == pytest.approx((0.0, 0.0, 1.1))
    assert second.field_of_view == pytest.approx(degrees(2 * atan(tan(1.047 / 2) * 240 / 320)))


def test_lights_of_the_world_and_of_links_are_read(file: Path) -> None:
    lights = {one.name: one for one in exoskel.load(file).world.lights}
    sun, lamp, bulb = lights["sun"], lights["lamp"], lights["bulb"]
    assert (sun.kind, sun.body, sun.position, sun.casts_shadows) == ("directional", "", (0.0, 0.0, 10.0), True)
    assert sun.direction == pytest.approx((-1.0, 0.0, 0.0), abs=1e-12), "in the frame of the light, which is rotated"
    assert (sun.diffuse, sun.specular, sun.attenuation) == ((0.8, 0.7, 0.6), (0.2, 0.2, 0.2), (0.9, 0.01, 0.001))
    assert (lamp.kind, lamp.body, lamp.position) == ("spot", "", (1.0, 2.0, 5.0))
    assert lamp.cutoff == pytest.approx(degrees(0.5))
    assert (bulb.kind, bulb.body, bulb.active, bulb.diffuse) == ("point", "arm/base", False, (0.5, 0.5, 0.5))


def test_all_are_written_to_sdf_as_they_are(file: Path) -> None:
    report = exoskel.convert(file, None, to="sdf")
    assert report.certificate.passed
    assert not report.losses
    text = report.data.decode()
    for kept in ("<far>50<", "<update_rate>30<", "<topic>image<", "<falloff>0.8<", "<range>1000<", "<intensity>0.5<"):
        assert text.count(kept) == 1, kept
    assert text.count("<sensor ") == text.count("<light ") == 3
    one, other = exoskel.load(report.data).world, exoskel.load(file).world
    assert (one.cameras, one.lights) == (other.cameras, other.lights)


def test_they_are_in_mjcf_and_other_settings_are_reported(file: Path) -> None:
    report = exoskel.convert(file, None, to="mjcf")
    assert report.certificate.passed
    model = mujoco.MjModel.from_xml_string(report.data.decode())
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    rotation = np.array([[np.cos(0.3), -np.sin(0.3), 0], [np.sin(0.3), np.cos(0.3), 0], [0, 0, 1]])
    assert data.cam("eye").xpos == pytest.approx(rotation @ (0.1, 0.0, 0.0) + (1.0, 2.0, 3.0))
    assert -data.cam("eye").xmat.reshape(3, 3)[:, 2] == pytest.approx(rotation @ (0.0, 1.0, 0.0))
    fates = {one.path.partition("]/")[2]: (str(one.fate), one.loss) for one in report.items if "base" in one.path}
    for path in ("sensor[eye]", "sensor[eye]/camera/horizontal_fov", "sensor[eye]/pose", "light[bulb]/intensity"):
        assert fates[f"link[base]/{path}"] == ("exact", False), path
    for path in ("sensor[eye]/camera/clip/far", "sensor[eye]/update_rate", "sensor[eye]/camera/image/format"):
        assert fates[f"link[base]/{path}"] == ("dropped", True), path
    lost = {one.path.rpartition("/")[2] for one in report.losses}
    assert {"range", "inner_angle", "falloff", "@type", "sensor[wide]"} <= lost


def test_an_edited_camera_keeps_its_other_settings_and_a_removed_light_is_not_written(file: Path) -> None:
    scene = exoskel.load(file)
    scene.world.cameras[0] = SceneCamera(name="eye", body="arm/base", field_of_view=30.0)
    scene.world.lights[:] = [one for one in scene.world.lights if one.name != "sun"]
    report = exoskel.convert(scene, None, to="sdf")
    text = report.data.decode()
    assert "<far>50<" in text and "sun" not in text  # the clip planes are not in the scene
    assert exoskel.load(report.data).world.cameras[0].field_of_view == pytest.approx(30.0)


def test_a_camera_on_another_body_is_not_copied_to_the_old_one(file: Path) -> None:
    scene = exoskel.load(file)
    first = scene.world.cameras[0]
    moved = SceneCamera("eye", "arm/upper", first.pose, first.field_of_view, resolution=first.resolution)
    scene.world.cameras[0] = moved
    found = exoskel.load(exoskel.convert(scene, None, to="sdf").data).world.cameras
    assert sorted(one.body for one in found) == ["arm/upper", "arm/upper"]


def test_a_renamed_link_keeps_its_camera_as_it_is(file: Path) -> None:
    scene = exoskel.load(file)
    scene.world.rename(scene.world.model("arm").body("base"), "foot")
    text = exoskel.convert(scene, None, to="sdf").data.decode()
    assert text.count("<far>50<") == 1
    assert exoskel.load(text).world.cameras[0].body == "arm/foot"


def test_cameras_of_the_world_come_back_to_the_world() -> None:
    world = World("w")
    world.add_model("m").add_body("b", mass=1.0)
    world.cameras.append(
        SceneCamera("side", pose=exoskel.look_at((3.0, 1.0, 1.0), (0.0, 0.0, 0.0)), field_of_view=50.0)
    )
    report = exoskel.convert(world, None, to="sdf")
    assert report.certificate.passed and not [one for one in report.losses if "joint" not in one.path]
    scene = exoskel.load(report.data)
    assert [model.name for model in scene.world.models] == ["m"]
    assert [(one.name, one.body) for one in scene.world.cameras] == [("side", "")]
    again = exoskel.convert(scene, None, to="sdf")
    assert again.certificate.passed and not again.losses
    assert again.data == report.data


def test_what_sdf_does_not_have_is_reported() -> None:
    world = World("w")
    world.add_model("m").add_body("b", mass=1.0)
    world.cameras += [SceneCamera("flat", orthographic=True), SceneCamera("chase", body="m/b", mode="trackcom")]
    world.lights += [SceneLight("lamp", ambient=(0.1, 0.1, 0.1))]
    report = exoskel.convert(world, None, to="sdf")
    told = " ".join(one.why for one in report.losses)
    assert "orthographic" in told and "'trackcom'" in told and "ambient" in told and "exponent" in told
    assert report.certificate.passed
    assert not exoskel.convert(world, None, to="sdf", target="dart").data.count(b"<light")


_NUMBER = st.floats(-5.0, 5.0)
_VECTOR = st.tuples(_NUMBER, _NUMBER, _NUMBER)
_POSE = st.tuples(_VECTOR, st.tuples(*[st.floats(-1.0, 1.0)] * 4)).map(
    lambda pair: Pose(pair[0], exoskel.Quaternion(pair[1] if np.linalg.norm(pair[1]) > 0.1 else (1.0, 0.0, 0.0, 0.0)))
)
_BODY = st.sampled_from(["", "m/a", "m/b"])
_COLOR = st.tuples(*[st.floats(0.0, 1.0)] * 3)
_CAMERAS = st.builds(
    SceneCamera,
    body=_BODY,
    pose=_POSE,
    field_of_view=st.floats(1.0, 170.0),
    resolution=st.sampled_from([(1, 1), (640, 480), (100, 300)]),
)
_LIGHTS = st.builds(
    SceneLight,
    body=_BODY,
    position=_VECTOR,
    direction=_VECTOR.filter(lambda one: np.linalg.norm(one) > 0.1),
    kind=st.sampled_from(["spot", "directional", "point"]),
    active=st.booleans(),
    casts_shadows=st.booleans(),
    diffuse=_COLOR,
    specular=_COLOR,
    attenuation=_COLOR,
    cutoff=st.floats(1.0, 90.0),
)


@given(cameras=st.lists(_CAMERAS, max_size=3), lights=st.lists(_LIGHTS, max_size=3))
@settings(max_examples=25, deadline=None)
def test_any_fixed_cameras_and_lights_come_back(cameras: list[SceneCamera], lights: list[SceneLight]) -> None:
    world = World("w")
    model = world.add_model("m", pose=Pose((1.0, 2.0, 3.0)))
    model.add_body("a", mass=1.0)
    model.add_body("b", parent="a", joint="revolute", axis=(1.0, 0.0, 0.0), mass=1.0)
    world.cameras += cameras
    world.lights += lights
    report = exoskel.convert(world, None, to="sdf")
    assert report.certificate.passed
    there = exoskel.load(report.data).world
    left = list(placed_views([*there.cameras, *there.lights], there.models))
    for view, body, values in placed_views([*cameras, *lights], world.models):
        values.pop("exponent", None)  # SDF has none
        found = [
            number
            for number, (one, on, others) in enumerate(left)
            if type(one) is type(view)
            and (on.name if on else "") == (body.name if body else "")
            and relative_difference([*values.values()], [others.get(name) for name in values]) < 1e-8
        ]
        assert found, view
        left.pop(found[0])
    assert not left
