"""Conversions of scenes that are valid but unusual: empty worlds, incomplete motors, names that XML does not allow."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import exoskel
from exoskel.diagnostics import has_errors
from tests.support.places import PROJECT

SAMPLES = PROJECT / "src" / "exoskel" / "samples"
BODY = (
    '<body name="b"><mass><mass_shape density="1"><sphere radius="1"/></mass_shape></mass>'
    '<geom name="g"><sphere radius="1"/></geom></body>'
)


@pytest.mark.parametrize("order", [(BODY, ""), ("", BODY), (BODY, BODY.replace('"b"', '"c"').replace('"g"', '"h"'))])
def test_worlds_of_xode_are_converted_to_sdf_even_if_one_is_empty(order: tuple[str, str], tmp_path: Path) -> None:
    worlds = "".join(f'<world name="w{n}"><space name="s{n}">{one}</space></world>' for n, one in enumerate(order))
    source = tmp_path / "two.xode"
    source.write_text(f'<xode version="1.0r22" name="x">{worlds}</xode>')
    report = exoskel.convert(source, tmp_path / "two.sdf")
    assert report.certificate.passed
    assert len(exoskel.load(tmp_path / "two.sdf").worlds) == 2


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_an_angular_motor_without_one_of_its_actuators_is_converted(missing: int, tmp_path: Path) -> None:
    exoskel.convert("dart://sample/xode/amotor_gimbal.xode", tmp_path / "gimbal.xml")
    lines = (tmp_path / "gimbal.xml").read_text().splitlines()
    kept = [line for line in lines if not ("<general" in line and f'_amotor_{missing}"' in line)]
    assert len(kept) == len(lines) - 1
    (tmp_path / "edited.xml").write_text("\n".join(kept))
    exoskel.convert(tmp_path / "edited.xml", tmp_path / "edited.xode")
    (motor,) = [joint for joint in exoskel.load(tmp_path / "edited.xode").world.joints() if joint.kind == "amotor"]
    assert sum(bool(drive.max_force) for drive in motor.drives) == 2


@pytest.mark.parametrize(
    ("folder", "message"),
    [(b"not\xff\xfeutf8", "bytes that are not UTF-8"), ("a\ufffeb".encode(), r"character U\+FFFE")],
)
def test_a_path_that_xml_does_not_allow_is_refused_with_its_name(folder: bytes, message: str, tmp_path: Path) -> None:
    place = tmp_path / os.fsdecode(folder)
    shutil.copytree(SAMPLES / "obj", place / "obj")
    shutil.copytree(SAMPLES / "skel", place / "skel")
    scene = exoskel.load(place / "skel" / "actuators.skel")
    exoskel.convert(place / "skel" / "actuators.skel", place / "out.sdf", meshes="copy")
    with pytest.raises(exoskel.ExoskelError, match=f"label.*obj' cannot be written to a file: it contains .*{message}"):
        exoskel.convert(scene, tmp_path / "out.sdf", meshes="reference")


@pytest.mark.parametrize("to", ["urdf", "sdf", "xode", "skel"])
@pytest.mark.parametrize("folder", [b"not\xff\xfeutf8", "a\ufffeb".encode()])
def test_absolute_references_may_have_any_bytes(to: str, folder: bytes, tmp_path: Path) -> None:
    place = tmp_path / os.fsdecode(folder)
    shutil.copytree(SAMPLES / "obj", place / "obj")
    shutil.copytree(SAMPLES / "skel", place / "skel")
    output = tmp_path / f"out.{to}"
    exoskel.convert(place / "skel" / "actuators.skel", output, to=to, meshes="absolute", model="force_wheel")
    back = exoskel.load(output)
    assert "file:///" in output.read_text("utf-8") and not has_errors(back.diagnostics)


@pytest.mark.parametrize("to", ["skel", "xode", "sdf", "mjcf", "usd"])
def test_a_loop_joint_may_come_before_the_parent_joint_of_its_child(to: str) -> None:
    scene = exoskel.load("dart://sample/xode/four_bar.xode")
    model = next(model for model in scene.world.models if any(joint.loop for joint in model.joints))
    model.joints.sort(key=lambda joint: not joint.loop)
    report = exoskel.convert(scene, to=to)
    assert report.certificate.passed
    read = exoskel.load(report.data, format=to)
    loops = {joint.name for joint in model.joints if joint.loop}
    assert {joint.name for joint in read.world.joints() if joint.loop} == loops
