"""Roughness and metalness of shapes: read and written by SDF, MJCF, USD and glTF, embedded in SKEL and XODE."""

from __future__ import annotations

import json
import struct

import mujoco
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import exoskel
from exoskel import Box, Material, Scene, Shape, World

METAL = Material(roughness=0.25, metalness=0.75)
SDF = """<sdf version="1.9"><world name="w"><model name="m"><link name="a"><inertial><mass>1</mass></inertial>
  <visual name="v"><geometry><box><size>1 1 1</size></box></geometry><material><diffuse>0.2 0.4 0.6 1</diffuse>
  <pbr><metal><albedo_map>wood.png</albedo_map><roughness>0.25</roughness><metalness>0.75</metalness>
  <normal_map>bumps.png</normal_map></metal></pbr></material></visual></link></model></world></sdf>"""


def world_with(material: Material | None, color: tuple[float, float, float, float] | None = None) -> World:
    world = World("w")
    body = world.add_model("m").add_body("a", mass=1.0)
    body.visuals.append(Shape(geometry=Box((1.0, 1.0, 1.0)), name="v", material=material, color=color))
    return world


def material_of(scene: Scene) -> Material | None:
    return next(shape.material for body in scene.world.bodies() for shape in body.visuals)


def test_sdf_is_read_and_written_again_with_its_textures() -> None:
    found = material_of(exoskel.load(SDF))
    assert found is not None and (found.roughness, found.metalness) == (0.25, 0.75)
    assert found.texture is not None and found.texture.uri == "wood.png"
    report = exoskel.convert(SDF, None, to="sdf")
    text = report.data.decode()
    assert report.certificate.passed and not report.losses
    for kept in ("<albedo_map>wood.png<", "<normal_map>bumps.png<", "<roughness>0.25<", "<metalness>0.75<"):
        assert text.count(kept) == 1, kept
    assert text.count("<pbr>") == 1


def test_an_edited_material_replaces_that_of_the_file() -> None:
    scene = exoskel.load(SDF)
    shape = next(shape for body in scene.world.bodies() for shape in body.visuals)
    shape.material = Material(roughness=0.5)
    text = exoskel.convert(scene, None, to="sdf").data.decode()
    assert "<roughness>0.5<" in text and "<metalness>" not in text
    shape.material = None
    text = exoskel.convert(scene, None, to="sdf").data.decode()
    assert "<pbr>" not in text


def test_textures_are_losses_elsewhere_and_the_rest_is_not() -> None:
    report = exoskel.convert(SDF, None, to="mjcf")
    fates = {one.path.rpartition("/")[2]: (str(one.fate), one.loss) for one in report.items}
    assert fates["roughness"] == fates["metalness"] == ("exact", False)
    assert fates["albedo_map"] == fates["normal_map"] == ("dropped", True)
    model = mujoco.MjModel.from_xml_string(report.data.decode())
    assert (model.mat_roughness[0], model.mat_metallic[0]) == pytest.approx((0.25, 0.75))
    assert model.mat_rgba[0] == pytest.approx((0.2, 0.4, 0.6, 1.0))


def test_mjcf_is_read_and_its_materials_are_written_as_they_are() -> None:
    text = """<mujoco><asset><material name="steel" metallic="0.75" roughness="0.25" shininess="0.1"/></asset>
      <worldbody><body name="a"><freejoint/><geom type="box" size=".5 .5 .5" material="steel"/></body></worldbody></mujoco>"""
    scene = exoskel.load(text)
    shapes = [shape for body in scene.world.bodies() for shape in body.shapes]
    assert [shape.material for shape in shapes] == [METAL]
    written = exoskel.convert(text, None, to="mjcf").data.decode()
    assert written.count("<material ") == 1 and 'shininess="0.1"' in written
    sdf = exoskel.convert(text, None, to="sdf")
    fates = {one.path.rpartition("/")[2]: (str(one.fate), one.loss) for one in sdf.items}
    assert fates["@roughness"][1] is not None


def test_gltf_has_the_values() -> None:
    data = exoskel.convert(world_with(METAL, (0.2, 0.4, 0.6, 1.0)), None, to="gltf").data
    length = struct.unpack("<I", data[12:16])[0]
    surface = json.loads(data[20 : 20 + length])["materials"][0]["pbrMetallicRoughness"]
    assert (surface["roughnessFactor"], surface["metallicFactor"]) == (0.25, 0.75)
    assert material_of(exoskel.load(data)) == METAL
    plain = exoskel.convert(world_with(None), None, to="gltf").data
    assert material_of(exoskel.load(plain)) is None


def test_usd_has_the_values() -> None:
    pytest.importorskip("pxr")
    report = exoskel.convert(world_with(METAL, (0.2, 0.4, 0.6, 1.0)), None, to="usd")
    text = report.data.decode()
    assert report.certificate.passed
    assert "float inputs:roughness = 0.25" in text and "float inputs:metallic = 0.75" in text
    assert material_of(exoskel.load(report.data)) == METAL


def test_usd_shows_displayed_colours_with_a_material_without_a_colour() -> None:
    pytest.importorskip("pxr")
    report = exoskel.convert(world_with(METAL), None, to="usd")
    assert report.certificate.passed and not report.losses
    shape = next(shape for body in exoskel.load(report.data).world.bodies() for shape in body.visuals)
    assert (shape.color, shape.material) == (None, METAL)
    assert 'string inputs:varname = "displayColor"' in report.data.decode()


def test_usd_has_the_appearance_of_colliders() -> None:
    pytest.importorskip("pxr")
    world = World("w")
    solid = Shape(geometry=Box((1.0, 1.0, 1.0)), material=METAL, color=(1.0, 0.0, 0.0, 0.5), friction=0.5)
    world.add_model("m").add_body("a", mass=1.0).collisions.append(solid)
    report = exoskel.convert(world, None, to="usd")
    assert report.certificate.passed and not report.losses
    assert report.data.decode().count('"MaterialBindingAPI"') == 2  # of the world and of the shape
    (shape,) = (shape for body in exoskel.load(report.data).world.bodies() for shape in body.collisions)
    assert (shape.color, shape.material, shape.friction) == (solid.color, METAL, 0.5)


def test_formats_without_it_report_the_loss() -> None:
    report = exoskel.convert(world_with(METAL, (0.2, 0.4, 0.6, 1.0)), None, to="urdf")
    assert [one for one in report.losses if not one.affects_motion]


_FRACTION = st.none() | st.floats(0.0, 1.0).map(lambda value: round(value, 4))
_COLOR = st.sampled_from([None, (0.5, 0.5, 0.5, 1.0), (0.2, 0.4, 0.6, 1.0)])


@given(material=st.builds(Material, _FRACTION, _FRACTION), color=_COLOR)
@settings(max_examples=10, deadline=None)
@pytest.mark.parametrize("to", ["sdf", "mjcf", "gltf", "skel", "usd", "xode"])
def test_any_material_comes_back(to: str, material: Material, color: tuple[float, float, float, float] | None) -> None:
    report = exoskel.convert(world_with(material, color), None, to=to)
    assert report.certificate.passed
    scene = exoskel.load(report.data)
    found = material_of(scene) or Material()
    assert found.roughness == (material.roughness if material.roughness is None else pytest.approx(material.roughness))
    assert found.metalness == (material.metalness if material.metalness is None else pytest.approx(material.metalness))
    if color is None and to != "gltf":
        assert next(shape.color for body in scene.world.bodies() for shape in body.visuals) is None


@pytest.mark.parametrize("format", ["sdf", "urdf", "mjcf"])
def test_channels_below_the_range_of_single_precision_are_zero(format: str) -> None:
    """MuJoCo 3.3 and libsdformat refuse them."""
    text = exoskel.convert(Scene([world_with(None, (1e-40, 0.5, 1e-30, 1.0))]), None, to=format).data.decode()
    assert "0 0.5 1e-30 1" in text and "1e-40" not in text
