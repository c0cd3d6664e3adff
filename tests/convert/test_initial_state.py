"""The initial state beside URDF and SDF documents, which have none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exoskel
from exoskel.scene.kinematics import initial_twists
from tests.support.places import PROJECT, SAMPLES

FILES = sorted((SAMPLES / "skel").glob("*.skel"))


def arm() -> exoskel.World:
    world = exoskel.World("lab")
    model = world.add_model("arm")
    shoulder = model.add_body("upper", joint="revolute", axis=(0, 1, 0), joint_name="shoulder", mass=1)
    model.add_body(
        "lower", parent=shoulder, at=(1, 0, 0), joint="prismatic", axis=(1, 0, 0), joint_name="slide", mass=1
    )
    model.joint("shoulder").positions = (0.5,)
    model.joint("slide").velocities = (0.25,)
    return world


def poses_and_velocities(world: exoskel.World) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    kinematics = exoskel.Kinematics(world.models)
    names = [f"{model.name}/{body.name}" for model in world.models for body in model.bodies]
    twists, bodies = initial_twists(world.models, kinematics), list(world.bodies())
    return dict(zip(names, kinematics.poses(), strict=True)), {
        name: twists[id(body)] for name, body in zip(names, bodies, strict=True) if id(body) in twists
    }


def state_of(folder: Path, name: str = "arm.urdf") -> dict[str, Any]:
    return json.loads((folder / f"{name}.state.json").read_text())


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_skel_to_sdf_to_skel_keeps_the_initial_state(file: Path, tmp_path: Path) -> None:
    exoskel.convert(file, tmp_path / "scene.sdf")
    back = exoskel.convert(tmp_path / "scene.sdf", tmp_path / "back.skel")
    assert back.saved
    mine, theirs = exoskel.load(file).world, exoskel.load(tmp_path / "back.skel").world
    (poses, twists), (found, found_twists) = poses_and_velocities(mine), poses_and_velocities(theirs)
    static = {f"{model.name}/{body.name}" for model in mine.models if model.static for body in model.bodies}
    for name in poses.keys() & found.keys():
        np.testing.assert_allclose(found[name], poses[name], atol=1e-9)
    assert {name for name in twists if name not in static} <= found_twists.keys()
    for name in twists.keys() - static:
        np.testing.assert_allclose(found_twists[name], twists[name], atol=1e-9)


@pytest.mark.parametrize("name", ["car", "hexapod", "walker", "gyroscope", "screw_press", "robot_arm"])
def test_skel_to_urdf_to_skel_keeps_the_poses(name: str, tmp_path: Path) -> None:
    report = exoskel.convert(SAMPLES / "skel" / f"{name}.skel", tmp_path / "out", to="urdf")
    assert not [one for one in report.items if one.loss and one.path.endswith(("init_pos", "init_vel"))]
    wanted, _ = poses_and_velocities(exoskel.load(SAMPLES / "skel" / f"{name}.skel").world)
    for file in sorted((tmp_path / "out").glob("*.urdf")):
        exoskel.convert(file, tmp_path / "back.skel", overwrite=True)
        world = exoskel.load(tmp_path / "back.skel").world
        found, _ = poses_and_velocities(world)
        shared = [one for one in found if one in wanted and wanted[one] is not None]
        frames = {f"{model.name}/{body.name}": body for model in world.models for body in model.bodies}
        assert shared
        for one in shared:  # a link has the frame of its joint, but its mass is where it was
            body = frames[one]
            original = next(
                b for m in exoskel.load(SAMPLES / "skel" / f"{name}.skel").world.models for b in m.bodies
                if f"{m.name}/{b.name}" == one
            )  # fmt: skip
            ours = found[one] @ np.array([*body.com, 1.0])
            np.testing.assert_allclose(ours, wanted[one] @ np.array([*original.com, 1.0]), atol=1e-8)


def test_the_fate_names_the_files_and_the_certificate_compares_the_state(tmp_path: Path) -> None:
    exoskel.save(arm(), tmp_path / "arm.skel")
    report = exoskel.convert(tmp_path / "arm.skel", tmp_path / "arm.urdf")
    assert sorted(report.companions) == ["arm.srdf", "arm.urdf.state.json"]
    kept = [one for one in report.items if one.path.endswith("init_pos")]
    assert [one.fate for one in kept] == [exoskel.Fate.KEPT]
    assert "it is in arm.urdf.state.json and arm.srdf (FM401)" in str(kept[0])
    assert {"poses in the initial state", "initial velocities"} <= {one.name for one in report.certificate.checks}
    assert state_of(tmp_path)["worlds"]["world"]["arm"] == {
        "shoulder": {"position": [0.5]},
        "slide": {"velocity": [0.25]},
    }
    assert '<joint name="shoulder" value="0.5"/>' in (tmp_path / "arm.srdf").read_text()


def test_a_scene_at_rest_has_no_state_file(tmp_path: Path) -> None:
    world = arm()
    world.model("arm").joint("shoulder").positions = (0.0,)
    world.model("arm").joint("slide").velocities = (0.0,)
    exoskel.convert(world, tmp_path / "arm.urdf")
    assert [path.name for path in tmp_path.iterdir()] == ["arm.urdf"]


def test_an_old_state_file_is_replaced_by_an_empty_one(tmp_path: Path) -> None:
    exoskel.convert(arm(), tmp_path / "arm.urdf")
    world = arm()
    world.model("arm").joint("shoulder").positions = (0.0,)
    world.model("arm").joint("slide").velocities = (0.0,)
    exoskel.convert(world, tmp_path / "arm.urdf")
    assert state_of(tmp_path)["worlds"] == {}
    assert exoskel.load(tmp_path / "arm.urdf").world.model("arm").joint("shoulder").positions == (0.0,)


def test_without_the_state_file_the_srdf_is_read(tmp_path: Path) -> None:
    exoskel.convert(arm(), tmp_path / "arm.urdf")
    (tmp_path / "arm.urdf.state.json").unlink()
    model = exoskel.load(tmp_path / "arm.urdf").world.model("arm")
    assert (model.joint("shoulder").positions, model.joint("slide").velocities) == ((0.5,), (0.0,))


def test_an_srdf_of_another_program_is_not_overwritten(tmp_path: Path) -> None:
    other = '<robot name="arm"><group name="hand"/></robot>'
    (tmp_path / "arm.srdf").write_text(other)
    report = exoskel.convert(arm(), tmp_path / "arm.urdf")
    assert (tmp_path / "arm.srdf").read_text() == other
    assert list(report.companions) == ["arm.urdf.state.json"]


def test_saving_an_edited_document_updates_its_state(tmp_path: Path) -> None:
    exoskel.convert(arm(), tmp_path / "arm.urdf")
    scene = exoskel.load(tmp_path / "arm.urdf")
    scene.world.model("arm").joint("shoulder").positions = (1.25,)
    exoskel.save(scene)
    assert exoskel.load(tmp_path / "arm.urdf").world.model("arm").joint("shoulder").positions == (1.25,)


def test_saving_under_another_name_copies_the_state(tmp_path: Path) -> None:
    exoskel.convert(arm(), tmp_path / "arm.urdf")
    exoskel.save(exoskel.load(tmp_path / "arm.urdf"), tmp_path / "copy.urdf")
    model = exoskel.load(tmp_path / "copy.urdf").world.model("arm")
    assert (model.joint("shoulder").positions, model.joint("slide").velocities) == ((0.5,), (0.25,))


def test_the_state_file_of_the_input_is_protected(tmp_path: Path) -> None:
    exoskel.convert(arm(), tmp_path / "arm.urdf")
    scene = exoskel.load(tmp_path / "arm.urdf")
    scene.world.model("arm").joint("shoulder").positions = (1.0,)
    text = (tmp_path / "arm.urdf").read_bytes()
    with pytest.raises(exoskel.ExoskelError, match="would overwrite its input"):
        exoskel.convert(scene, tmp_path / "arm.urdf")
    assert (tmp_path / "arm.urdf").read_bytes() == text
    assert state_of(tmp_path)["worlds"]["world"]["arm"]["shoulder"] == {"position": [0.5]}


HOSTILE = {
    "not JSON": ("{", "FM402", "the state file is ignored: it is not valid JSON: expecting property name"),
    "another file": ('{"a": 1}', "FM402", 'does not begin with "exoskel_state": 1'),
    "no number": ('{"exoskel_state": 1, "worlds": {"world": {"arm": {"shoulder": {"position": [NaN]}}}}}', "FM402", "NaN"),
    "deep": ("[" * 100000, "FM402", "it is nested too deeply"),
    "bytes": ("\n\udcff", "FM402", "it is not encoded in UTF-8"),
    "infinite": ("VALUE 1e999", "FM402", "must have one finite number"),
    "huge": ("VALUE 1" + "0" * 400, "FM402", "must have one finite number"),
    "very huge": ("VALUE 1" + "0" * 5000, "FM402", "must have one finite number"),
    "text": ('VALUE "0.5"', "FM402", "must have one finite number"),
    "true": ("VALUE true", "FM402", "must have one finite number"),
    "too many": ("VALUE 1, 2", "FM402", "must have one finite number"),
    "unknown joint": (
        '{"exoskel_state": 1, "worlds": {"world": {"arm": {\n"elbow": {"position": [1]}}}}}', "FM402", "unknown joint 'elbow'"
    ),
    "a list": ('{"exoskel_state": 1, "worlds": {"world": {"arm": [1]}}}', "FM402", "must have an object"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_state_files_are_reported_and_ignored(name: str, tmp_path: Path) -> None:
    text, code, message = HOSTILE[name]
    if text.startswith("VALUE "):
        text = (
            f'{{"exoskel_state": 1, "worlds": {{"world": {{"arm": {{\n"shoulder": {{"position": [{text[6:]}]}}}}}}}}}}'
        )
    exoskel.convert(arm(), tmp_path / "arm.urdf")
    (tmp_path / "arm.srdf").unlink()
    (tmp_path / "arm.urdf.state.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    scene = exoskel.load(tmp_path / "arm.urdf")
    found = [one for one in scene.diagnostics if one.code == code]
    assert len(found) == 1 and message in found[0].message
    assert found[0].file.endswith("arm.urdf.state.json")
    if "\n" in text:
        assert found[0].line == 2
    assert scene.world.model("arm").joint("shoulder").positions == (0.0,)


def test_confined_reading_ignores_a_link_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    exoskel.convert(arm(), tmp_path / "arm.urdf")
    (tmp_path / "inside" / "arm.urdf").write_bytes((tmp_path / "arm.urdf").read_bytes())
    (tmp_path / "inside" / "arm.urdf.state.json").symlink_to(tmp_path / "arm.urdf.state.json")
    confined = exoskel.load(tmp_path / "inside" / "arm.urdf", confine=True)
    assert confined.world.model("arm").joint("shoulder").positions == (0.0,)
    free = exoskel.load(tmp_path / "inside" / "arm.urdf")
    assert free.world.model("arm").joint("shoulder").positions == (0.5,)


def test_a_wrong_value_in_srdf_is_reported_where_it_is(tmp_path: Path) -> None:
    exoskel.convert(arm(), tmp_path / "arm.urdf")
    (tmp_path / "arm.urdf.state.json").unlink()
    states = (
        '<group_state name="home"><joint name="shoulder" value="1"/></group_state>\n',
        '<group_state name="initial">\n',
    )
    wrong = '<joint name="shoulder" value="a"/></group_state></robot>'
    (tmp_path / "arm.srdf").write_text(f'<robot name="arm">\n{"".join(states)}{wrong}')
    (found,) = [one for one in exoskel.load(tmp_path / "arm.urdf").diagnostics if one.code == "FM402"]
    assert found.line == 4 and "must have one finite number" in found.message


def test_hostile_srdf_is_reported_and_ignored(tmp_path: Path) -> None:
    exoskel.convert(arm(), tmp_path / "arm.urdf")
    (tmp_path / "arm.urdf.state.json").unlink()
    for text in (
        "<robot>",
        '<robot><group_state name="initial"><joint name="shoulder" value="x"/></group_state></robot>',
    ):
        (tmp_path / "arm.srdf").write_text(text)
        scene = exoskel.load(tmp_path / "arm.urdf")
        assert [one.code for one in scene.diagnostics if one.code == "FM402"]
        assert scene.world.model("arm").joint("shoulder").positions == (0.0,)


def test_a_state_file_makes_no_folder(tmp_path: Path) -> None:
    for extension in ("sdf", "urdf"):
        with pytest.raises(exoskel.ExoskelError, match="the folder does not exist"):
            exoskel.convert("dart://sample/skel/robot_arm.skel", tmp_path / "missing" / f"out.{extension}", model="arm")
        assert not (tmp_path / "missing").exists()


@pytest.mark.parametrize("format", ["urdf", "sdf"])
def test_velocities_of_free_bodies_in_rotated_models_are_kept(format: str, tmp_path: Path) -> None:
    """A link of URDF has the frame of its joint: its velocity is that of another point."""
    skeleton = (
        '<skeleton name="s"><transformation>0.1 0.2 0.3 -0.618 0.193 1.255</transformation>'
        '<body name="b"><transformation>1 2 3 0.4 0.5 0.6</transformation>'
        "<inertia><mass>2</mass><offset>0.1 0 0</offset></inertia></body>"
        '<joint type="free" name="j"><parent>world</parent><child>b</child>'
        "<transformation>-0.125 -0.27 -0.4 0.945 -0.276 -0.485</transformation>"
        "<init_pos>0.1 0.2 0.3 1 2 3</init_pos><init_vel>0.7 -0.6 -0.3 -0.3 -0.6 -0.5</init_vel></joint></skeleton>"
    )
    (tmp_path / "a.skel").write_text(f'<skel version="1.0"><world name="w">{skeleton}</world></skel>')
    report = exoskel.convert(tmp_path / "a.skel", tmp_path / f"a.{format}")
    assert report.saved and report.certificate.passed


def test_very_many_unknown_names_take_linear_time(tmp_path: Path) -> None:
    exoskel.convert(arm(), tmp_path / "arm.urdf")
    joints = ",\n".join(f'"j{number}": {{"position": [1]}}' for number in range(20_000))
    text = f'{{"exoskel_state": 1, "worlds": {{"world": {{"arm": {{{joints}}}}}}}}}'
    (tmp_path / "arm.urdf.state.json").write_text(text)
    begin = time.process_time()
    found = [one for one in exoskel.load(tmp_path / "arm.urdf").diagnostics if one.code == "FM402"]
    assert time.process_time() - begin < 5.0  # 30 s when each name was searched in the text
    assert [one.line for one in found] == list(range(1, 20_001))


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_dangling_link(path: Path) -> None:
    path.symlink_to("nothing")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("name", ["arm.urdf.state.json", "arm.srdf"])
@pytest.mark.parametrize("make", [make_pipe, Path.mkdir, make_dangling_link])
def test_what_is_no_file_in_place_of_the_state_is_reported(
    make: Callable[[Path], None], name: str, tmp_path: Path
) -> None:
    exoskel.convert(arm(), tmp_path / "arm.urdf")
    for one in ("arm.urdf.state.json", "arm.srdf"):
        (tmp_path / one).unlink()
    make(tmp_path / name)
    (found,) = [one for one in exoskel.load(tmp_path / "arm.urdf").diagnostics if one.code == "FM402"]
    assert "it is not a regular file" in found.message and found.file.endswith(name)


def test_a_word_in_srdf_is_shown_as_it_is(tmp_path: Path) -> None:
    exoskel.convert(arm(), tmp_path / "arm.urdf")
    (tmp_path / "arm.urdf.state.json").unlink()
    text = '<robot><group_state name="initial"><joint name="shoulder" value="x"/></group_state></robot>'
    (tmp_path / "arm.srdf").write_text(text)
    (found,) = [one for one in exoskel.load(tmp_path / "arm.urdf").diagnostics if one.code == "FM402"]
    assert """'shoulder' has ["x"], but""" in found.message


@pytest.mark.parametrize("name", ["arm.urdf", "arm.sdf"])
def test_no_state_is_missing_of_a_static_model(name: str, tmp_path: Path) -> None:
    world = arm()
    world.models[0].static = True
    report = exoskel.convert(world, tmp_path / name)
    assert "initial state" not in report.hint and not (tmp_path / f"{name}.state.json").exists()
    poses, found = (poses_and_velocities(one)[0] for one in (world, exoskel.load(tmp_path / name).world))
    np.testing.assert_allclose(found["arm/lower"], poses["arm/lower"], atol=1e-12)


# --- the snippet of docs/sdf.md ------------------------------------------------------------------------------

PRINTED = """
skeletons = [world.getSkeleton(index) for index in range(world.getNumSkeletons())]
frame = dartpy.dynamics.Frame.World()
print(json.dumps({
    f"{skeleton.getName()}/{body.getName()}": [
        body.getWorldTransform().matrix().tolist(), body.getSpatialVelocity(frame, frame).tolist()
    ]
    for skeleton in skeletons
    for body in skeleton.getBodyNodes()
}))
"""
SDF_STATES = [f for f in FILES if f.stem in ("cart_pole", "joint_zoo", "robot_arm", "walker")]


def two_falling_pairs() -> exoskel.World:
    """Two models, each with two free bodies, and one with a hinge called `root`."""
    world = exoskel.World("w")
    for place, name in enumerate(("a", "b")):
        model = world.add_model(name)
        for number, body in enumerate(("m", "n")):
            model.add_body(body, at=(place, number, 1), joint="free", joint_name=f"fall{number}", mass=1)
            model.joint(f"fall{number}").positions = (0.1 * place, 0.2, 0.3, 3, number, 1)
            model.joint(f"fall{number}").velocities = (0, 0, 1 + number, 1, 0, place)
    arm = world.add_model("arm")
    arm.add_body("upper", joint="revolute", axis=(0, 1, 0), joint_name="root", mass=1)
    arm.joint("root").positions = (0.5,)
    return world


@pytest.mark.parametrize("source", [two_falling_pairs, *SDF_STATES], ids=lambda s: getattr(s, "stem", "built"))
def test_the_snippet_for_dart_sets_the_state_of_all_models(source: Any, tmp_path: Path) -> None:
    pytest.importorskip("dartpy")
    page = (PROJECT / "docs" / "sdf.md").read_text()
    snippet = page[page.index("import json\nimport dartpy") :].partition("```")[0]
    path = tmp_path / "scene.sdf"
    exoskel.convert(source() if callable(source) else source, path, target="dart")
    code = snippet.replace("/path/to/scene.sdf", path.as_posix()) + PRINTED
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    world = exoskel.load(path).world
    poses, twists = poses_and_velocities(world)
    assert found.keys() == poses.keys()
    static = {f"{model.name}/{body.name}" for model in world.models if model.static for body in model.bodies}
    for name, (pose, velocity) in found.items():
        np.testing.assert_allclose(pose, poses[name], atol=1e-9)
        if name in twists and name not in static:
            np.testing.assert_allclose(velocity, [*twists[name][1], *twists[name][0]], atol=1e-9)
