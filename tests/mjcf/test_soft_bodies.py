"""Soft bodies in MJCF: a body on slides for each point, tendons for edges; and back to soft bodies."""

from __future__ import annotations

import re
from pathlib import Path

import mujoco
import numpy as np
import pytest

import exoskel
from exoskel import Box, Cylinder, Ellipsoid, Scene, SoftBody, Sphere, Tessellation, World
from exoskel.formats.mjcf.file_writer import write_document
from exoskel.formats.mjcf.tree import to_text
from exoskel.scene.fields import SOFT_FIELDS
from exoskel.scene.soft_skin import soft_skin
from exoskel.source.output_context import OutputContext

ROUND = {"slices": 6, "stacks": 5}
SKINS = {
    "box": SoftBody(total_mass=0.6, geometry=Box((0.2, 0.2, 0.3)), pose=exoskel.Pose((0.1, 0.0, 0.0))),
    "sphere": SoftBody(total_mass=0.6, geometry=Sphere(0.2), tessellation=Tessellation(**ROUND)),
    "ellipsoid": SoftBody(total_mass=0.6, geometry=Ellipsoid((0.2, 0.3, 0.4)), tessellation=Tessellation(**ROUND)),
    "cylinder": SoftBody(
        total_mass=0.6, geometry=Cylinder(0.1, 0.3), tessellation=Tessellation(**ROUND, rings=3), edge_stiffness=0.0
    ),
}


def swung(soft: SoftBody, *, static: bool = False) -> World:
    """A soft body at the end of an arm that turns."""
    world = World(gravity=(0.0, 0.0, -9.81), time_step=0.001)
    body = world.add_model("model", static=static).add_body(
        "body",
        mass=0.5,
        moment=(0.01, 0.012, 0.008, 0.0, 0.0, 0.0),
        joint="universal",
        axes=((1, 0, 0), (0, 1, 0)),
        joint_at=(0.0, 0.1, 0.4),
        velocities=(3.0, -5.0),
    )
    body.soft = soft
    return world


def springy(name: str) -> SoftBody:
    soft = SKINS[name]
    soft.vertex_stiffness, soft.damping = 80.0, 0.4
    soft.edge_stiffness = 0.0 if name in ("box", "cylinder") else 30.0
    return soft


def written(world: World, folder: Path, target: str = "portable") -> tuple[exoskel.Report, Path]:
    file = folder / "soft.xml"
    return exoskel.convert(Scene([world]), file, target=target), file


@pytest.mark.parametrize("name", SKINS)
def test_a_soft_body_returns_from_mjcf(name: str, tmp_path: Path) -> None:
    soft = springy(name)
    report, file = written(swung(soft), tmp_path)
    assert report.certificate.passed and not report.losses
    assert [check.max_error for check in report.certificate.checks if check.name == "soft skins"] == [0.0]
    scene = exoskel.load(file)
    (body,) = scene.world.bodies()
    assert body.soft is not None
    assert [getattr(body.soft, field) for field in SOFT_FIELDS] == [getattr(soft, field) for field in SOFT_FIELDS]
    assert len(list(scene.world.joints())) == 1
    assert not [one for one in scene.diagnostics if one.code in ("MJ202", "MJ301")]


def test_the_sample_returns_from_mjcf_to_skel(tmp_path: Path) -> None:
    sample = exoskel.load("dart://sample/skel/soft_bodies.skel")
    report = exoskel.convert(sample, tmp_path / "soft.xml")
    assert report.certificate.passed
    assert not [loss for loss in report.losses if "soft" in loss.path]
    back = exoskel.convert(tmp_path / "soft.xml", tmp_path / "soft.skel")
    assert back.certificate.passed
    read = exoskel.load(tmp_path / "soft.skel")
    for body, other in zip(sample.world.bodies(), read.world.bodies(), strict=True):
        for field in SOFT_FIELDS if body.soft else ():
            assert getattr(other.soft, field) == getattr(body.soft, field)


def test_mujoco_moves_a_written_soft_body_as_the_engine_does(tmp_path: Path) -> None:
    """Tendons are implicit in MuJoCo, edges are not in DART; so points differ a little, and the core less."""
    for name, close in (("box", 1e-9), ("ellipsoid", 1e-3)):
        world = swung(springy(name))
        _, file = written(world, tmp_path, "mujoco4")
        model = mujoco.MjModel.from_xml_path(str(file))
        data = mujoco.MjData(model)
        mujoco.mj_resetDataKeyframe(model, data, 0)
        mujoco.mj_step(model, data, 1000)
        mujoco.mj_kinematics(model, data)
        motion = exoskel.run(world, 1.0, every=1.0, warn=False)
        assert np.abs(data.body("body").xpos - motion.body_poses[-1, 0, :3]).max() < close
        points = np.array([data.body(f"body_{i}_point").xpos for i in range(len(soft_skin(springy(name))))])
        assert np.abs(points - motion.soft_points["body"][-1]).max() < 3 * close
        assert model.body_mass.sum() == pytest.approx(1.1)


def test_edited_springs_are_read(tmp_path: Path) -> None:
    _, file = written(swung(springy("ellipsoid")), tmp_path)
    file.write_text(
        file.read_text().replace('stiffness="80"', 'stiffness="90"').replace('stiffness="30"', 'stiffness="7"')
    )
    (body,) = exoskel.load(file).world.bodies()
    assert body.soft is not None
    assert (body.soft.vertex_stiffness, body.soft.edge_stiffness, body.soft.damping) == (90.0, 7.0, 0.4)


EDITS = {
    "a moved point": ('<body name="body_0_point" pos="0 0 0.2"', '<body name="body_0_point" pos="0 0 0.3"'),
    "an uneven spring": (
        '<joint name="body_3_point_x" type="slide" axis="1 0 0" stiffness="80"',
        '<joint name="body_3_point_x" type="slide" axis="1 0 0" stiffness="81"',
    ),
    "a missing edge spring": ('<fixed name="body_edge3_x"', '<fixed name="other"'),
    "broken data": ("&quot;total_mass&quot;", "&quot;mass&quot;"),
    "other data": ("&quot;slices&quot;: 6", "&quot;slices&quot;: 7"),
    "huge data": ("&quot;slices&quot;: 6", "&quot;slices&quot;: 999999999999"),
    "no data": ("exoskel_skin_body", "exoskel_skin_nobody"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_what_was_edited_otherwise_is_read_as_bodies(edit: str, tmp_path: Path) -> None:
    _, file = written(swung(springy("ellipsoid")), tmp_path)
    text = file.read_text()
    assert EDITS[edit][0] in text
    file.write_text(text.replace(*EDITS[edit]))
    scene = exoskel.load(file)
    bodies = list(scene.world.bodies())
    assert len(bodies) == 27 and not any(body.soft for body in bodies)
    assert scene.world.tendons


@pytest.mark.parametrize("case", ["static", "massless", "without points"])
def test_skins_that_do_not_move_are_losses(case: str) -> None:
    soft = SoftBody(
        total_mass=0.0 if case == "massless" else 0.6,
        geometry=None if case == "without points" else Box((0.2, 0.2, 0.3)),
    )
    output = OutputContext()
    document = write_document(swung(soft, static=case == "static"), output)
    assert [loss.text for loss in output.losses if loss.fields == ("soft",)] == ["the soft skin is not written"]
    assert "_point" not in to_text(document)


def test_names_are_short_and_unambiguous(tmp_path: Path) -> None:
    world = World(gravity=(0.0, 0.0, -9.81), time_step=0.001)
    for model in ("one", "two"):
        made = world.add_model(model)
        body = made.add_body("a b", mass=0.5)
        body.soft = springy("sphere")
        made.add_body("a b_0_point", parent=body, mass=0.1)
        made.add_body("point1", parent=body, mass=0.1)
    _, file = written(world, tmp_path)
    tables = re.findall(r'<text name="exoskel_names_\w+" data="([^"]*)"', file.read_text())
    assert sum(len(rows.split()) for rows in tables) < 30  # points and edges follow from the tree
    bodies = list(exoskel.load(file).world.bodies())
    assert [body.name for body in bodies] == ["a b", "a b_0_point", "point1"] * 2
    assert [body.soft is not None for body in bodies] == [True, False, False] * 2
