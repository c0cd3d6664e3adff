"""The camera of a converted scene shows all moving bodies: they are between MuJoCo's clip planes."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import mujoco
import numpy as np
import pytest

import exoskel
from exoskel import Box, Pose, World
from tests.support.places import sample_files

SAMPLE_FILES = sample_files()


def yard(size: float, ground: float, *, at: float = 0.0) -> World:
    """Two small boxes above a ground."""
    world = World("w", gravity=(0.0, 0.0, -9.81))
    if ground:
        world.add_model("ground", static=True).add_body("plate", shapes=[Box((ground, ground, 0.1))], at=(0, 0, -1))
    for number in range(2):
        model = world.add_model(f"m{number}")
        model.add_body("b", joint="free", shapes=[Box((size, size, size))], at=(at + 2 * number * size, 0, size))
    return world


def seen_by(source: bytes | Path, camera: str = "exoskel_camera") -> dict[str, bool]:
    """Whether a camera of the initial state sees the centres of the geoms of each moving body."""
    if isinstance(source, Path):
        model = mujoco.MjModel.from_xml_path(str(source))
    else:
        model = mujoco.MjModel.from_xml_string(source.decode())
    state = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, state, 0)
    mujoco.mj_forward(model, state)
    view = state.camera(camera)
    near, far = (limit * model.stat.extent for limit in (model.vis.map.znear, model.vis.map.zfar))
    height = np.tan(np.radians(model.camera(camera).fovy[0]) / 2)
    found: dict[str, bool] = {}
    for number in range(model.ngeom):
        body = model.geom_bodyid[number]
        if model.body_weldid[body] == 0:
            continue
        x, y, z = view.xmat.reshape(3, 3).T @ (state.geom_xpos[number] - view.xpos)
        inside = near < -z < far and abs(y) < -z * height and abs(x) < -z * height * 4 / 3
        name = model.body(body).name
        found[name] = found.get(name, True) and bool(inside)
    return found


@pytest.mark.parametrize("size", [1e-4, 0.05, 1.0, 200.0])
@pytest.mark.parametrize("ground", [0.0, 1.0, 100.0, 20000.0])
@pytest.mark.parametrize("at", [0.0, 30.0])
def test_small_bodies_on_a_large_ground_are_between_the_clip_planes(size: float, ground: float, at: float) -> None:
    report = exoskel.convert(yard(size, ground, at=at), None, to="mjcf")
    assert report.certificate.passed
    assert seen_by(report.data) == {"m0_b": True, "m1_b": True}


@pytest.mark.parametrize("file", SAMPLE_FILES, ids=lambda file: file.stem)
def test_moving_bodies_of_samples_are_visible(file: Path, tmp_path: Path) -> None:
    exoskel.convert(file, tmp_path / "scene.xml", meshes="copy")
    assert all(seen_by(tmp_path / "scene.xml").values())


def test_own_cameras_still_see_the_ground() -> None:
    world = yard(0.05, 100.0)
    world.cameras.append(exoskel.SceneCamera("high", pose=Pose((0.0, 0.0, 60.0))))
    assert seen_by(exoskel.convert(world, None, to="mjcf").data, "high") == {"m0_b": True, "m1_b": True}


def test_the_range_is_not_read_as_settings_of_an_author() -> None:
    written = exoskel.convert(yard(0.05, 100.0), None, to="mjcf").data
    assert {"statistic", "visual"} <= {one.tag for one in ElementTree.fromstring(written)}
    read = exoskel.load(written, format="mjcf")
    assert not any("statistics" in one.message or "visual" in one.message for one in read.diagnostics)
    changed = written.replace(b"<map zfar", b'<map znear="0.5" zfar')
    assert sum("visual" in one.message for one in exoskel.load(changed, format="mjcf").diagnostics) == 1
    assert "statistic" not in {one.tag for one in ElementTree.fromstring(small().data)}


def small() -> exoskel.Report:
    return exoskel.convert(yard(0.05, 1.0), None, to="mjcf")


AUTHORED = """<mujoco><statistic extent="3"/>{}<worldbody><geom type="box" size="50 50 .1"/>
<body name="b" pos="0 0 1"><freejoint/><geom size=".05"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize("visual", ["", '<visual><map zfar="70"/></visual>'])
def test_settings_of_an_author_are_kept_in_a_new_document(visual: str) -> None:
    scene = exoskel.load(AUTHORED.format(visual), format="mjcf")
    scene.world.models[-1].add_body("n", joint="ball", mass=1.0)
    scene.world.models[-1].joints[0].kind = "ball"  # this needs a new document
    root = ElementTree.fromstring(exoskel.convert(scene, None, to="mjcf").data)
    assert [one.attrib for one in root.iter("statistic")] == [{"extent": "3"}]
    assert [one.attrib for one in root.iter("map")] == ([{"zfar": "70"}] if visual else [])
    assert not [one for one in root.iter("text") if one.get("name") == "exoskel_view"]
