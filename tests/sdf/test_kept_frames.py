"""Frames of SDF are written to SDF again; poses relative to others are resolved."""

from __future__ import annotations

from pathlib import Path

import pytest
from lxml import etree

import exoskel
from exoskel.fates import Fate
from tests.sdf.support import link

CAMERA = '<sensor name="cam" type="camera">{}<update_rate>30</update_rate><camera>{}</camera></sensor>'
IMU = '<sensor name="imu" type="imu">{}<update_rate>100</update_rate></sensor>'
GPS = '<sensor name="gps" type="navsat">{}<update_rate>5</update_rate></sensor>'
LAMP = '<light name="lamp" type="point">{}<attenuation><range>7</range></attenuation></light>'
PROJECTOR = '<projector name="p">{}<fov>0.5</fov></projector>'
SENSORS = CAMERA + IMU + GPS + LAMP + PROJECTOR
BASE = '<pose relative_to="{}">0.1 0 0 0 0 0</pose>'


def sensors(base: str) -> str:
    """One of each kind of element with a pose in a link, relative to a frame; the camera has a pose of its own."""
    pose = BASE.format(base)
    return SENSORS.format(pose, pose, pose, pose, pose, pose)


def convert(
    folder: Path, inside: str, version: str = "1.9", **options: object
) -> tuple[exoskel.Report, etree._Element]:
    source = folder / "in.sdf"
    source.write_text(f'<sdf version="{version}"><world name="w">{inside}</world></sdf>')
    report = exoskel.convert(source, folder / "out.sdf", **options)
    assert report.certificate.passed and report.saved
    return report, etree.parse(folder / "out.sdf").getroot()


def fates(report: exoskel.Report, end: str) -> dict[str, Fate]:
    return {one.path: one.fate for one in report.items if one.path.endswith(end)}


def assert_same_views(folder: Path) -> None:
    before, after = (exoskel.load(folder / name).world for name in ("in.sdf", "out.sdf"))
    for mine, theirs in zip((*before.cameras, *before.lights), (*after.cameras, *after.lights), strict=True):
        place = mine.pose.position if isinstance(mine, exoskel.SceneCamera) else mine.position
        other = theirs.pose.position if isinstance(theirs, exoskel.SceneCamera) else theirs.position
        assert place == pytest.approx(other, abs=1e-12)
    markers = [[one.offset for body in world.bodies() for one in body.markers] for world in (before, after)]
    assert len(markers[0]) == len(markers[1])
    for offset, moved in zip(*markers, strict=True):
        assert offset == pytest.approx(moved, abs=1e-12)


FRAMES = (
    '<frame name="mount" attached_to="l"><pose>0 0 0.5 0 0.1 0</pose></frame><frame name="tip" attached_to="mount"/>'
)


def test_frames_of_a_model_are_written_as_they_are(tmp_path: Path) -> None:
    report, root = convert(tmp_path, f'<model name="m">{FRAMES}{link("l", sensors("tip"))}</model>')
    frames = {one.get("name"): one for one in root.iter("frame")}
    assert {name: one.get("attached_to") for name, one in frames.items()} == {"mount": "l", "tip": "mount"}
    assert frames["mount"].findtext("pose") == "0 0 0.5 0 0.1 0"
    assert {one.get("relative_to") for one in root.iter("pose") if one.get("relative_to")} == {"tip"}
    assert len([one for one in root.iter("pose") if one.get("relative_to")]) == 6
    assert not report.losses and set(fates(report, "frame[mount]").values()) == {Fate.KEPT}
    assert root.get("version") == "1.7"
    assert_same_views(tmp_path)


def test_frames_that_nothing_refers_to_are_written(tmp_path: Path) -> None:
    report, root = convert(tmp_path, f'<model name="m"><frame name="f"/>{link("l")}</model><frame name="g"/>')
    assert [one.get("name") for one in root.iter("frame")] == ["f", "g"]
    assert not report.losses


def test_frames_of_the_world_follow_their_links(tmp_path: Path) -> None:
    inside = (
        '<frame name="f" attached_to="m::l"><pose>0 0 1 0 0 0</pose></frame>'
        '<frame name="g"><pose relative_to="m">1 2 3 0 0 0.5</pose></frame>'
        f'<light name="sun" type="point"><pose relative_to="g">0 1 0 0 0 0</pose><visualize>1</visualize></light>'
        f'<model name="m"><pose relative_to="g">1 0 0 0 0 0</pose>{link("l")}</model>'
    ).replace('relative_to="m">1 2', 'relative_to="world">1 2')
    _, root = convert(tmp_path, inside)
    frames = {one.get("name"): one for one in root.find("world").findall("frame")}
    assert frames["f"].get("attached_to") == "m::l" and frames["g"].find("pose").get("relative_to") == "world"
    assert root.find("world/light/pose").get("relative_to") == "g"
    assert_same_views(tmp_path)


NESTED = '<model name="n"><pose>0 0 1 0.1 0 0</pose><frame name="mount"><pose>0 0.2 0 0 0 0.3</pose></frame>{}</model>'


@pytest.mark.parametrize(
    ("base", "written"),
    [("n::mount", "n__mount"), ("n::l", "n__l"), ("n", ""), ("n::__model__", "")],
)
def test_poses_relative_to_parts_of_nested_models(base: str, written: str, tmp_path: Path) -> None:
    nested = NESTED.format(link("l", "<pose>0 1 0 0 0 0</pose>"))
    report, root = convert(tmp_path, f'<model name="m">{link("a", sensors(base))}{nested}</model>')
    (frame,) = root.iter("frame")
    assert (frame.get("name"), frame.get("attached_to")) == ("n__mount", "n__l")
    bases = [one.get("relative_to") for one in root.iter("pose") if one.get("relative_to")]
    assert bases == ([written] * 6 if written else [])
    assert not report.losses
    assert set(fates(report, "frame[mount]").values()) == {Fate.LOWERED}
    assert set(fates(report, "sensor[gps]/pose").values()) == {Fate.KEPT if written else Fate.LOWERED}
    assert_same_views(tmp_path)


@pytest.mark.parametrize("base", ["mount", "__model__", "l", "hinge"])
def test_poses_in_nested_models(base: str, tmp_path: Path) -> None:
    joint = '<joint name="hinge" type="fixed"><pose>0 0 1 0 0 0</pose><parent>b</parent><child>l</child></joint>'
    inside = link("l", "<pose>0 1 0 0 0 0</pose>" + sensors(base)) + link("b") + joint
    report, root = convert(tmp_path, f'<model name="m">{link("a")}{NESTED.format(inside)}</model>')
    bases = {one.get("relative_to") for one in root.iter("pose") if one.get("relative_to")}
    assert bases == (set() if base == "__model__" else {f"n__{base}"})
    assert not report.losses
    assert_same_views(tmp_path)


@pytest.mark.parametrize("merge", ["", 'merge="true"'])
def test_frames_of_included_files(merge: str, tmp_path: Path) -> None:
    model = f'<sdf version="1.9"><model name="part">{FRAMES}{link("l", sensors("tip"))}</model></sdf>'
    (tmp_path / "part.sdf").write_text(model)
    include = f"<include {merge}><uri>part.sdf</uri><name>p</name><pose>1 0 0 0 0 0.4</pose></include>"
    report, root = convert(tmp_path, f'<model name="m">{link("a")}{include}</model>')
    prefix = "" if merge else "p__"
    assert [one.get("name") for one in root.iter("frame")] == [f"{prefix}mount", f"{prefix}tip"]
    bases = [one.get("relative_to") for one in root.iter("pose") if one.get("relative_to")]
    assert bases == [f"{prefix}tip"] * 6
    assert not report.losses
    assert_same_views(tmp_path)


def test_a_file_that_is_included_twice_has_its_frames_twice(tmp_path: Path) -> None:
    model = f'<sdf version="1.9"><model name="part">{FRAMES}{link("l", sensors("tip"))}</model></sdf>'
    (tmp_path / "part.sdf").write_text(model)
    report, root = convert(
        tmp_path, "".join(f"<include><uri>part.sdf</uri><name>{name}</name></include>" for name in "pq")
    )
    assert [one.getparent().get("name") for one in root.iter("frame")] == ["p", "p", "q", "q"]
    assert not report.losses
    assert_same_views(tmp_path)


def test_a_frame_with_the_name_of_a_nested_link_is_renamed_with_its_references(tmp_path: Path) -> None:
    inside = (
        f'<frame name="n__l"><pose>0 0 3 0 0 0</pose></frame>{link("a", sensors("n__l"))}{NESTED.format(link("l"))}'
    )
    _, root = convert(tmp_path, f'<model name="m">{inside}</model>')
    names = [one.get("name") for one in root.find("world/model") if one.tag in ("link", "frame")]
    assert len(set(names)) == len(names)
    (base,) = {one.get("relative_to") for one in root.iter("pose") if one.get("relative_to")}
    assert base in names and base != "n__l"
    assert_same_views(tmp_path)


def test_frames_follow_edits(tmp_path: Path) -> None:
    (tmp_path / "in.sdf").write_text(
        f'<sdf version="1.9"><model name="m">{FRAMES}{link("l")}{link("b", sensors("tip"))}</model></sdf>'
    )
    scene = exoskel.load(tmp_path / "in.sdf")
    scene.world.models[0].body("l").name = "base"
    scene.world.models[0].body("b").pose = exoskel.Pose((0.0, 5.0, 0.0))
    report = exoskel.convert(scene, tmp_path / "out.sdf")
    assert report.certificate.passed and report.saved
    root = etree.parse(tmp_path / "out.sdf").getroot()
    assert {one.get("attached_to") for one in root.iter("frame")} == {"base"}
    assert not [one for one in root.iter("pose") if one.get("relative_to")]
    assert exoskel.load(tmp_path / "out.sdf").world.cameras[0].pose.position == pytest.approx(
        exoskel.load(tmp_path / "in.sdf").world.cameras[0].pose.position
    )


def test_frames_that_are_attached_to_a_removed_link_are_reported(tmp_path: Path) -> None:
    (tmp_path / "in.sdf").write_text(
        f'<sdf version="1.9"><model name="m">{FRAMES}{link("l")}{link("b", sensors("tip"))}</model></sdf>'
    )
    scene = exoskel.load(tmp_path / "in.sdf")
    scene.world.models[0].bodies = [scene.world.models[0].body("b")]
    scene.world.models[0].joints = [one for one in scene.world.models[0].joints if one.child.name == "b"]
    report = exoskel.convert(scene, tmp_path / "out.sdf")
    assert report.certificate.passed and b"<frame" not in report.data and b"relative_to" not in report.data
    lost = [one for one in report.items if one.path.endswith("frame[mount]")]
    assert [(one.fate, one.why) for one in lost] == [(Fate.DROPPED, "it is attached to a link that is not written")]


def test_frames_are_rotated_with_the_world(tmp_path: Path) -> None:
    inside = (
        f'<frame name="g"/><frame name="f" attached_to="m::l"><pose relative_to="g">0 0 1 0 0 0</pose></frame>'
        f'<model name="m">{FRAMES}{link("l", CAMERA.format(BASE.format("tip"), ""))}</model>'
    )
    _, root = convert(tmp_path, inside, up="y")
    assert [one.get("name") for one in root.find("world").findall("frame")] == ["f"]
    assert [one.get("name") for one in root.find("world/model").findall("frame")] == ["mount", "tip"]
    assert_same_views(tmp_path)


def test_one_file_per_model_has_the_frames_of_the_model(tmp_path: Path) -> None:
    inside = "".join(f'<model name="{name}">{FRAMES}{link("l", sensors("tip"))}</model>' for name in "ab")
    (tmp_path / "in.sdf").write_text(f'<sdf version="1.9"><world name="w"><frame name="g"/>{inside}</world></sdf>')
    report = exoskel.convert(tmp_path / "in.sdf", tmp_path / "out", to="sdf", split=True)
    assert report.certificate.passed
    for name in "ab":
        root = etree.parse(tmp_path / "out" / f"{name}.sdf").getroot()
        assert [one.get("name") for one in root.iter("frame")] == ["mount", "tip"]
    assert set(fates(report, "frame[mount]").values()) == {Fate.KEPT}
    assert set(fates(report, "frame[g]").values()) == {Fate.DROPPED}


def test_frames_of_older_versions_are_written_in_the_newer_form(tmp_path: Path) -> None:
    convert(tmp_path, f'<model name="m">{link("l", IMU.format(BASE.format("b")))}{link("b")}</model>', "1.6")
    (tmp_path / "in.sdf").write_text((tmp_path / "in.sdf").read_text().replace("relative_to", "frame"))
    report = exoskel.convert(tmp_path / "in.sdf", tmp_path / "out.sdf")
    assert report.certificate.passed
    assert b'<pose relative_to="b">' in report.data and b'version="1.7"' in report.data


def test_other_targets_get_resolved_poses(tmp_path: Path) -> None:
    inside = f'<model name="m">{FRAMES}{link("l", sensors("tip"))}</model>'
    report, root = convert(tmp_path, inside, target="dart")
    assert root.get("version") == "1.6" and not root.findall(".//frame")
    assert {Fate.DROPPED, Fate.LOWERED} >= set(fates(report, "frame[mount]").values())
