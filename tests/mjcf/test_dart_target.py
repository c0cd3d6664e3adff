"""What DART's MJCF reader refuses is reported in files for DART."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import exoskel
from exoskel import Scene, TriMesh, World
from exoskel.fates import Fate
from exoskel.samples import samples

REFUSED = {"domino", "trebuchet", "amotor_gimbal", "ferris_wheel", "gantry", "geometry_zoo", "gyroscope", "joint_zoo"}
REFUSED |= {"swing_ride", "groups_and_nesting", "trimesh_terrain"}
"""The samples whose MJCF DART 6.20.3 does not read."""


def reasons(report: exoskel.Report) -> set[str]:
    return {item.why for item in report.items if "MJ511" in item.why}


@pytest.mark.parametrize("uri", [sample.uri for sample in samples()])
def test_files_that_dart_refuses_are_reported(uri: str, tmp_path: Path) -> None:
    report = exoskel.convert(uri, tmp_path / "a.xml", target="dart")
    assert bool(reasons(report)) == (Path(uri).stem in REFUSED)
    assert not reasons(exoskel.convert(uri, to="mjcf"))


def world(kind: Any, inner: bool) -> World:
    out = World()
    model = out.add_model("m")
    base = model.add_body("base", mass=1.0, joint="weld") if inner else None
    model.add_body("b", mass=1.0, joint=kind, parent=base)
    return out


@pytest.mark.parametrize(
    ("kind", "inner", "refused"),
    [("free", False, False), ("free", True, True), ("ball", True, False), ("planar", True, False)],
)
def test_a_body_with_more_than_three_joints_is_reported(kind: str, inner: bool, refused: bool) -> None:
    report = exoskel.convert(Scene(worlds=[world(kind, inner)]), to="mjcf", target="dart")
    assert bool(reasons(report)) == refused
    assert all("more than three MuJoCo joints" in reason for reason in reasons(report))


def test_a_mesh_inside_the_file_is_not_exact() -> None:
    out = World()
    mesh = TriMesh([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)])
    out.add_model("m").add_body("b", mass=1.0, shapes=[mesh])
    for target, fate in (("portable", Fate.EXACT), ("dart", Fate.APPROXIMATED)):
        report = exoskel.convert(Scene(worlds=[out]), to="mjcf", target=target)
        assert {item.fate for item in report.items if "exoskel:add" in item.path} == {fate}
