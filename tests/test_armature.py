"""The armature of joints: read, written, converted, run and checked."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

import exoskel
from exoskel import ExoskelError, World

ARM = """<mujoco model="m"><worldbody>
<body name="a"><joint name="swing" axis="0 1 0" armature="0.25"/><geom type="box" size=".1 .1 .4" pos="0 0 -.4"/>
<body name="b" pos="0 0 -.8"><joint name="slide" type="slide" axis="0 0 1" armature="1.5"/><geom size=".1"/></body></body>
</worldbody></mujoco>"""
BALLS = """<mujoco model="m"><worldbody>
<body name="a"><joint name="ball" type="ball" armature="0.5"/><geom type="box" size=".1 .2 .3" pos="0 0 -.4"/></body>
<body name="c" pos="0 2 0"><joint name="free" type="free" armature="0.75"/><geom type="box" size=".1 .2 .3"/></body>
</worldbody></mujoco>"""


def armatures(scene: exoskel.Scene) -> list[tuple[float, ...]]:
    return [tuple(dof.armature for dof in joint.dofs) for joint in scene.world.joints()]


@pytest.mark.parametrize("text", [ARM, BALLS])
@pytest.mark.parametrize("to", ["mjcf", "skel", "xode"])
def test_armature_survives_conversions(text: str, to: str) -> None:
    before = exoskel.load(text)
    report = exoskel.convert(text, None, to=to)
    assert report.certificate.passed and not [item for item in report.losses if "armature" in item.path]
    after = exoskel.load(report.data.decode())
    assert armatures(after) == armatures(before) and any(map(any, armatures(before)))


def test_armature_survives_usd(tmp_path: Path) -> None:
    pytest.importorskip("pxr")
    file = tmp_path / "a.usda"
    exoskel.convert(ARM, file)
    assert "mjc:armature" in file.read_text()
    assert armatures(exoskel.load(file)) == [(0.25,), (1.5,)]


@pytest.mark.parametrize("to", ["urdf", "sdf"])
def test_armature_is_a_loss_in_formats_without_it(to: str) -> None:
    lost = [item for item in exoskel.convert(ARM, None, to=to).losses if item.path.endswith("@armature")]
    assert [item.fate for item in lost] == ["dropped", "dropped"]


@pytest.mark.parametrize("text", [ARM, BALLS])
def test_the_engine_moves_as_mujoco_does(text: str) -> None:
    simulation = exoskel.Simulation(exoskel.load(text))
    model = mujoco.MjModel.from_xml_string(text)
    full = np.zeros((model.nv, model.nv))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    mujoco.mj_fullM(model, data, full)
    found = simulation.mass_matrix()
    assert np.allclose(np.sort(np.linalg.eigvalsh(found)), np.sort(np.linalg.eigvalsh(full)), rtol=1e-9)


def test_armature_slows_a_joint_down_and_counts_as_kinetic_energy() -> None:
    def arm(armature: float) -> World:
        world = World(gravity=(0.0, 0.0, 0.0))
        model = world.add_model("arm")
        model.add_body("a", joint="revolute", axis=(0, 0, 1), mass=1.0, moment=(1, 1, 1, 0, 0, 0), armature=armature)
        return world

    for armature in (0.0, 3.0):
        simulation = exoskel.Simulation(arm(armature))
        simulation.commands = np.array([2.0])
        simulation.step()
        assert simulation.velocities[0] == pytest.approx(2.0 * 0.001 / (1.0 + armature))
        assert simulation.energy[0] == pytest.approx(0.5 * (1.0 + armature) * simulation.velocities[0] ** 2)


def test_prescribed_joints_keep_the_armature_of_others_in_the_mass_matrix() -> None:
    world = World()
    model = world.add_model("arm")
    base = model.add_body("a", joint="revolute", axis=(0, 0, 1), actuator="velocity", armature=2.0)
    model.add_body("b", parent=base, joint="revolute", axis=(0, 0, 1), armature=3.0)
    plain = World()
    other = plain.add_model("arm")
    base = other.add_body("a", joint="revolute", axis=(0, 0, 1))
    other.add_body("b", parent=base, joint="revolute", axis=(0, 0, 1))
    difference = exoskel.Simulation(world).mass_matrix() - exoskel.Simulation(plain).mass_matrix()
    assert np.allclose(difference, np.diag([0.0, 3.0]))


def test_engines_without_armature_report_it() -> None:
    scene = exoskel.load(ARM)
    assert [d.code for d in exoskel.preflight(scene, "mujoco") if d.code == "EN020"] == []
    for engine in ("dart", "ode"):
        assert [d.code for d in exoskel.preflight(scene, engine) if d.code == "EN020"] == ["EN020", "EN020"]


def test_negative_armature_is_invalid() -> None:
    world = World()
    world.add_model("arm").add_body("a", joint="revolute", axis=(0, 0, 1), armature=-1.0)
    with pytest.raises(ExoskelError, match="armature"):
        exoskel.Simulation(world)


def test_many_worlds_vary_the_armature() -> None:
    text = ARM.replace('axis="0 1 0"', 'axis="1 0 0"')
    varied = {"joint:swing.armature": [0.25, 1.0]}
    record = ("positions", "energy")
    many = exoskel.rollout(exoskel.load(text), 2, 50, initial={"velocities": [1.0, 0.0]}, vary=varied, record=record)
    for number, armature in enumerate(varied["joint:swing.armature"]):
        scene = exoskel.load(text)
        swing = scene.world.models[0].joint("swing")
        swing.dofs[0].armature, swing.velocities = armature, (1.0,)
        alone = exoskel.run(scene, 50 * scene.world.time_step)
        assert many.positions is not None and many.energy is not None
        assert np.allclose(many.positions[number, -1], alone.positions[-1], rtol=0, atol=1e-12)
        assert np.allclose(many.energy[number, -1], alone.energy[-1], rtol=1e-9)
