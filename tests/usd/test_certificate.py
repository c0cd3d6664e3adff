"""What is read back for the certificate is all that was written."""

from __future__ import annotations

from importlib.util import find_spec
from math import inf
from pathlib import Path
from typing import Any

import pytest

import exoskel
from exoskel import Scene
from exoskel.formats.usd.emit import TEXT, to_bytes
from exoskel.formats.usd.read_back import read_back
from exoskel.scene.joint import Interval
from tests.usd.support import written
from tests.usd.test_write import world_of

pytest.importorskip("pxr", reason="usd-core is not installed")

ROBOT = """<robot name="r">
  <link name="base"><inertial><mass value="1"/>{inertia}</inertial></link>
  <link name="arm"><inertial><mass value="2"/>{inertia}</inertial></link>
  <joint name="j" type="{type}"><parent link="base"/><child link="arm"/><axis xyz="1 1 0"/>
    <limit lower="-1" upper="2" effort="{effort}" velocity="{velocity}"/></joint>
</robot>"""
INERTIA = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'


def gymnasium_models() -> list[Path]:
    spec = find_spec("gymnasium")
    if spec is None or spec.origin is None:
        return []
    return sorted((Path(spec.origin).parent / "envs" / "mujoco" / "assets").glob("*.xml"))


@pytest.mark.parametrize("ending", ["usda", "usdc"])
@pytest.mark.parametrize("type", ["revolute", "prismatic"])
@pytest.mark.parametrize("velocity", ["4", "1e30"])
@pytest.mark.parametrize("effort", ["30", "1e30"])
def test_limits_of_velocity_and_force_are_certified(
    tmp_path: Path, type: str, effort: str, velocity: str, ending: str
) -> None:
    file = tmp_path / "r.urdf"
    file.write_text(ROBOT.format(inertia=INERTIA, type=type, effort=effort, velocity=velocity), encoding="utf-8")
    report = exoskel.convert(file, tmp_path / f"r.{ending}")
    assert report.certificate.passed, report.certificate
    assert report.saved


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "ball", "universal", "euler", "translational", "planar"])
def test_limits_are_read_back(kind: Any) -> None:
    world = world_of(kind)
    for dof in world.models[0].joints[1].dofs:
        dof.velocity_limits = (-3.0, 3.0)
        if kind in ("revolute", "prismatic"):
            dof.force_limits = (-4.0, 5.0)
    layer, output = written(Scene([world]))
    assert not [why for _, why in output.inexact if "limit" in why]
    joint = read_back(to_bytes(layer, TEXT)).world.models[0].joints[1]
    force: Interval = (-4.0, 5.0) if kind in ("revolute", "prismatic") else (-inf, inf)
    assert [dof.velocity_limits for dof in joint.dofs] == [pytest.approx((-3.0, 3.0))] * len(joint.dofs)
    assert [dof.force_limits for dof in joint.dofs] == [force] * len(joint.dofs)


@pytest.mark.skipif(not gymnasium_models(), reason="gymnasium is not installed")
def test_the_robots_of_gymnasium_are_certified(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    for file in gymnasium_models():
        report = exoskel.convert(file, tmp_path / f"{file.stem}.usda")
        assert report.saved, (file.name, [check for check in report.certificate.checks if not check.passed])
