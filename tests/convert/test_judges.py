"""Other readers judge what is written: DART every SKEL file, PyODE every XODE file that is written for it."""

from __future__ import annotations

from pathlib import Path

import pytest

import exoskel
from exoskel.formats.write import reread, write
from exoskel.scene.joint import Joint
from tests.oracles import dart, pyode
from tests.support.scenes import all_files, name_of

FILES = all_files()
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
    if "failed" in answer and _is_beyond_pyode(scene):
        pytest.skip(f"PyODE cannot: {answer['failed']}")
    assert "failed" not in answer, answer
    assert pyode.differences(reread(written.data, "xode", tmp_path, "pyode"), answer) == []


def _is_beyond_pyode(scene: exoskel.Scene) -> bool:
    """What PyODE's reader or its ODE cannot do at all, however it is written."""
    kinds = {shape.kind for body in scene.world.bodies() for shape in body.collisions}
    hinges = any(_hangs_on_the_world(joint) for joint in scene.world.joints())
    return bool(kinds & {"trimesh", "mesh"}) or hinges or any(j.kind == "amotor" for j in scene.world.joints())


def _hangs_on_the_world(joint: Joint) -> bool:
    return joint.kind == "hinge2" and joint.parent is None
