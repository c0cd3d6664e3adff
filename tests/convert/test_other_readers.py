"""DART reads every SKEL file that we write, and PyODE every XODE file that is written for it."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

import exoskel
from exoskel.formats.write import reread, write
from tests.oracles import dart, pyode
from tests.support.scenes import all_files, name_of

FILES = all_files()
AXES = {"x": "1 0 0", "y": "0 1 0", "z": "0 0 1"}
NOT_IN_DART = ("screw", "translational2d")


def dart_can_build(scene: exoskel.Scene) -> bool:
    """The exceptions of the writer contract."""
    bodies = list(scene.world.bodies())
    meshes = [s.geometry for b in bodies for s in b.shapes if isinstance(s.geometry, exoskel.Mesh)]
    return (
        not any(joint.kind in NOT_IN_DART for joint in scene.world.joints())
        and all(body.mass > 0.0 for model in scene.world.models for body in model.bodies if not model.static)
        and all(mesh.extent is not None for mesh in meshes)
    )


@pytest.mark.skipif(not dart.available(), reason="dartpy is not installed")
@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_dart_reads_what_we_write(file: Path, tmp_path: Path) -> None:
    scene = exoskel.load(file)
    if len(scene.worlds) != 1 or not dart_can_build(scene):
        pytest.skip("an exception of the writer contract")
    data = write(scene, "skel", folder=tmp_path).data
    output = tmp_path / "out.skel"
    output.write_bytes(data)
    answer = dart.ask(output)
    assert "failed" not in answer, answer
    assert dart.differences(exoskel.load(output, semantics="dart"), answer) == []


@pytest.mark.skipif(not dart.available(), reason="dartpy is not installed")
@pytest.mark.parametrize("order", ["".join(letters) for letters in permutations("xyz")])
def test_dart_reads_euler_joints_of_all_axis_orders(order: str, tmp_path: Path) -> None:
    """SKEL has two orders, and DART ignores embedded data."""
    hinges = "".join(f'<joint name="{one}" axis="{AXES[one]}" pos="-.2 .1 .3" range="-1 2"/>' for one in order)
    body = f'<body name="b" euler="10 20 30">{hinges}<geom size=".1" pos=".3 0 0"/></body>'
    text = f'<mujoco><worldbody><body name="p" pos="0 0 1">{body}</body></worldbody></mujoco>'
    output = tmp_path / "out.skel"
    assert exoskel.convert(text, output).saved
    scene = exoskel.load(output)
    assert next(joint.order for joint in scene.world.joints() if joint.kind == "euler") == order
    answer = dart.ask(output)
    assert "failed" not in answer, answer
    assert dart.differences(scene, answer) == []


@pytest.mark.skipif(not pyode.python(), reason="PyODE is not installed")
@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_pyode_reads_what_we_write_for_it(file: Path, tmp_path: Path) -> None:
    scene = exoskel.load(file)
    if len(scene.worlds) != 1 or not list(scene.world.bodies()):
        pytest.skip("one world is written at a time")
    written = write(scene, "xode", folder=tmp_path, target="pyode")
    output = tmp_path / "out.xode"
    output.write_bytes(written.data)
    answer = pyode.ask([{"file": str(output)}])[0]
    if "failed" in answer and (written.output.rejected or _is_beyond_pyode(scene)):
        pytest.skip(f"PyODE cannot: {answer['failed']}")
    assert "failed" not in answer, answer
    assert pyode.differences(reread(written.data, "xode", tmp_path, "pyode"), answer) == []


def _is_beyond_pyode(scene: exoskel.Scene) -> bool:
    """Whether a scene has meshes, which an ODE built without them does not support."""
    kinds = {shape.kind for body in scene.world.bodies() for shape in body.collisions}
    return bool(kinds & {"trimesh", "mesh"})


HINGE2 = """<xode version="1.0r22"><world name="w"><space>
<body name="a"/><body name="b"><transform><rotation><euler x="{turn}" y="0" z="0" aformat="degrees"/></rotation></transform></body>
<joint name="j"><link1 body="a"/><link2 body="b"/><hinge2><anchor x="0" y="0" z="0"/>
<axis x="{x}" y="{y}" z="{z}"/><axis x="1" y="0" z="0"/></hinge2></joint></space></world></xode>"""


@pytest.mark.skipif(not pyode.python(), reason="PyODE is not installed")
@pytest.mark.parametrize(("turn", "axis"), [(0, (0, 1, 0)), (0, (0, -1, 0)), (90, (0, 0, 1)), (0, (0, 0, 1))])
def test_pyode_survives_every_first_axis_of_a_hinge2(turn: int, axis: tuple[int, int, int], tmp_path: Path) -> None:
    """PyODE aborts if the first axis is parallel to the default second axis, which is not set yet."""
    x, y, z = axis
    report = exoskel.convert(
        HINGE2.format(turn=turn, x=x, y=y, z=z), tmp_path / "out.xode", target="pyode", dialect="spec"
    )
    assert report.saved and not any("hinge2" in item.path for item in report.losses)
    answer = pyode.ask([{"file": str(tmp_path / "out.xode")}])[0]
    assert "failed" not in answer, answer
    assert pyode.differences(reread(report.data, "xode", tmp_path, "pyode"), answer) == []
