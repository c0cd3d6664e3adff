"""Mesh files with names that readers take for a part of a URI."""

from __future__ import annotations

import json
import subprocess
import sys
from html import escape
from pathlib import Path
from typing import Any

import pytest

import exoskel
from exoskel.scene.shape import Mesh

TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
NAMES = ["part", "a b", "a#b", "a?b", "a%b", "a%20b", "a%23b", "ä", "a&b", "a+b", "ab:c", "a;b", "a'b", "[a]", "a,b"]
ROBOT = """<robot name="r"><link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
iyz="0"/></inertial><collision><geometry><mesh filename="{}"/></geometry></collision></link></robot>"""
READER = """
import json, sys
import dartpy
found = {}
for file in sys.argv[1:]:
    if file.endswith((".sdf", ".xml")):
        parser = dartpy.utils.SdfParser if file.endswith(".sdf") else dartpy.utils.MjcfParser
        world = parser.readWorld("file://" + file)
        skeleton = None if world is None else world.getSkeleton(0)
    else:
        skeleton = dartpy.utils.DartLoader().parseSkeleton("file://" + file)
    nodes = [] if skeleton is None else [skeleton.getBodyNode(i) for i in range(skeleton.getNumBodyNodes())]
    found[file] = sum(node.getNumShapeNodes() for node in nodes)
    print("RESULT", json.dumps(found), flush=True)
"""


def read_by_dart(*files: Path) -> dict[str, int]:
    """The number of shapes that DART finds in files, up to the first one that it crashes on."""
    pytest.importorskip("dartpy")
    command = [sys.executable, "-c", READER, *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    lines = [line.removeprefix("RESULT ") for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    return dict(json.loads(lines[-1])) if lines else {}


def robot(folder: Path, name: str) -> Path:
    folder.mkdir()
    (folder / f"{name}.obj").write_text(TETRAHEDRON)
    (folder / "robot.urdf").write_text(ROBOT.format(escape(f"./{name}.obj")))
    return folder / "robot.urdf"


@pytest.mark.parametrize("meshes", ["reference", "copy", "absolute"])
@pytest.mark.parametrize("extension", ["sdf", "xml"])
def test_dart_opens_every_mesh_of_files_for_dart(extension: str, meshes: Any, tmp_path: Path) -> None:
    files = []
    for number, name in enumerate(NAMES):
        file = robot(tmp_path / str(number), name)
        files.append(file.with_name(f"out.{extension}"))
        assert exoskel.convert(file, files[-1], target="dart", meshes=meshes).certificate.passed
    assert read_by_dart(*files) == {str(file): 1 for file in files}


def test_dart_opens_every_copy_beside_urdf_and_sdf(tmp_path: Path) -> None:
    files = []
    for number, name in enumerate(NAMES):
        file = robot(tmp_path / str(number), name)
        for format in ("urdf", "sdf"):
            files.append(file.with_name(f"out.{format}"))
            assert exoskel.convert(file, files[-1], meshes="copy").certificate.passed
    assert read_by_dart(*files) == {str(file): 1 for file in files}


@pytest.mark.parametrize("name", NAMES)
def test_absolute_references_are_the_paths_that_readers_open(name: str, tmp_path: Path) -> None:
    file = robot(tmp_path / "in", name)
    for format in ("urdf", "sdf"):
        report = exoskel.convert(file, tmp_path / f"out.{format}", meshes="absolute")
        assert report.certificate.passed
        (shape,) = next(iter(exoskel.load(tmp_path / f"out.{format}").world.bodies())).collisions
        assert isinstance(shape.geometry, Mesh)
        assert shape.geometry.uri == f"file://{tmp_path}/in/{name}.obj"
        assert shape.geometry.path == f"{tmp_path}/in/{name}.obj"


def test_copies_of_files_with_similar_names_are_kept_apart(tmp_path: Path) -> None:
    world = exoskel.World(name="w")
    body = world.add_model("m").add_body("b")
    for number, name in enumerate(("a#b", "a?b", "a_b")):
        (tmp_path / f"{name}.obj").write_text(TETRAHEDRON.replace("1", str(number + 1), 1))
        body.collisions.append(exoskel.Shape(geometry=Mesh(f"{name}.obj", path=str(tmp_path / f"{name}.obj"))))
    (tmp_path / "out").mkdir()
    report = exoskel.convert(world, tmp_path / "out" / "w.sdf", meshes="copy")
    assert sorted(report.companions) == ["meshes/a_b.obj", "meshes/a_b_2.obj", "meshes/a_b_3.obj"]
    assert len(set(report.companions.values())) == 3
