"""Settings of rendering and of other programs in SDF: they are written to SDF again as they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

import exoskel

WORLD = """<sdf version="1.9"><world name="default">
  <gui fullscreen="0"><plugin filename="MinimalScene" name="3D View"><engine>ogre2</engine></plugin></gui>
  <scene><ambient>0.4 0.4 0.4 1</ambient><background>0.7 0.7 0.7 1</background><shadows>true</shadows>
    <sky><time>10</time><clouds><speed>12</speed></clouds></sky></scene>
  <spherical_coordinates><latitude_deg>47.5</latitude_deg></spherical_coordinates>
  <model name="box"><link name="link"><inertial><mass>1</mass></inertial>
    <visual name="v"><geometry><box><size>1 1 1</size></box></geometry><cast_shadows>false</cast_shadows>
      <material><ambient>0.1 0.2 0.3 1</ambient><diffuse>1 0.5 0.25 1</diffuse><pbr><metal>
        <albedo_map>maps/albedo.png</albedo_map><metalness>0.7</metalness><roughness>0.3</roughness>
      </metal></pbr></material></visual>
    <visual name="w"><geometry><sphere><radius>1</radius></sphere></geometry>
      <material><pbr><specular><glossiness>0.5</glossiness></specular></pbr></material></visual>
  </link></model></world></sdf>"""
KEPT = (
    *("MinimalScene", "<background>0.7 0.7 0.7 1</background>", "<speed>12</speed>", "<latitude_deg>47.5<"),
    *("<cast_shadows>false<", "<ambient>0.1 0.2 0.3 1<", "<metalness>0.7<", "<glossiness>0.5<"),
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    out = tmp_path / "world.sdf"
    out.write_text(WORLD)
    (tmp_path / "maps").mkdir()
    Image.new("RGB", (2, 2)).save(tmp_path / "maps" / "albedo.png")
    return out


def test_a_plain_world_of_gazebo_has_no_warnings(file: Path) -> None:
    assert not exoskel.load(file, strict=True).diagnostics


@pytest.mark.parametrize("folder", [".", "deep/er"])
def test_settings_are_written_again(file: Path, folder: str) -> None:
    out = file.parent / folder / "out.sdf"
    out.parent.mkdir(parents=True, exist_ok=True)
    report = exoskel.convert(file, out)
    text = out.read_text()
    assert [one for one in KEPT if one not in text] == []
    assert text.count("<diffuse>") == 1
    assert text.count("<ambient>") == 2
    path = "maps/albedo.png" if folder == "." else "../../maps/albedo.png"
    assert f"<albedo_map>{path}</albedo_map>" in text
    fates = {one.path.rpartition("/")[2]: str(one.fate) for one in report.items}
    assert [fates[name] for name in ("scene", "pbr", "gui", "cast_shadows")] == ["kept"] * 4


def test_settings_stay_with_an_edited_scene(file: Path) -> None:
    scene = exoskel.load(file)
    shape = scene.world.models[0].bodies[0].visuals[0]
    shape.color = (0.0, 0.0, 1.0, 1.0)
    scene.world.rename("box", "crate")
    exoskel.save(scene)
    text = file.read_text()
    assert [one for one in KEPT if one not in text] == ["<ambient>0.1 0.2 0.3 1<"]  # it belongs to the old colour
    assert text.count("<ambient>0 0 1 1</ambient>") == 1


def test_settings_have_a_fate_in_other_formats(file: Path) -> None:
    report = exoskel.convert(file, None, to="mjcf")
    found = {one.path.rpartition("/")[2]: (str(one.fate), one.why) for one in report.items}
    for name in ("scene", "gui"):
        assert found[name] == ("dropped", "appearance or solver settings: not part of a scene")
    textures = [
        one
        for one in report.losses
        if one.why == "a scene has no textures but those of colours, and no specular materials"
    ]
    assert textures and all("pbr" in one.path for one in textures)


def test_settings_are_not_written_for_dart(file: Path) -> None:
    data = exoskel.convert(file, None, to="sdf", target="dart").data
    assert b"<pbr>" not in data


OFF = "<enable_wind>0</enable_wind><kinematic>false</kinematic><velocity_decay><linear>0</linear></velocity_decay>"
SAVED = (
    '<sdf version="1.7"><world name="default">{}<model name="m"><enable_wind>0</enable_wind>'
    f'<link name="l">{OFF}<inertial><mass>1</mass></inertial></link></model></world></sdf>'
)


@pytest.mark.parametrize("wind", ["<wind/>", "<wind><linear_velocity>0 -0 0e5</linear_velocity></wind>"])
def test_motion_that_is_off_has_no_effect(tmp_path: Path, wind: str) -> None:
    """Worlds that Gazebo saves contain it."""
    (tmp_path / "saved.sdf").write_text(SAVED.format(wind))
    assert not exoskel.load(tmp_path / "saved.sdf", strict=True).diagnostics
    report = exoskel.convert(tmp_path / "saved.sdf", tmp_path / "saved.xml")
    assert [one.path for one in report.items if one.loss] == []
    exoskel.convert(tmp_path / "saved.sdf", tmp_path / "again.sdf")
    assert "<wind" in (tmp_path / "again.sdf").read_text()


@pytest.mark.parametrize(
    ("before", "after", "path"),
    [
        ("<world", "<world", "wind"),
        ('name="m"><enable_wind>0', 'name="m"><enable_wind>1', "enable_wind"),
        ("<linear>0<", "<linear>0.5<", "velocity_decay"),
        ("<kinematic>false", "<kinematic>true", "kinematic"),
    ],
)
def test_motion_that_is_on_is_reported_and_lost(tmp_path: Path, before: str, after: str, path: str) -> None:
    wind = "<wind><linear_velocity>0 1e-3 0</linear_velocity></wind>" if path == "wind" else ""
    (tmp_path / "saved.sdf").write_text(SAVED.format(wind).replace(before, after))
    assert [one.key for one in exoskel.load(tmp_path / "saved.sdf").diagnostics] == ["SD012.physics"]
    report = exoskel.convert(tmp_path / "saved.sdf", tmp_path / "saved.xml")
    assert path in {one.path.rpartition("/")[2] for one in report.items if one.loss}
