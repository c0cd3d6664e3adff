"""Concave meshes become convex parts on request; here a stand-in for CoACD cuts an angle into two boxes."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import exoskel
from exoskel.cli.main import main
from exoskel.conversion.report import Report
from exoskel.fates import Fate
from exoskel.scene.shape import Mesh, TriMesh
from exoskel.scene.summary import moments
from tests.convert.test_mesh_fates import L_SHAPE, SQUARE, prism, sdf

STAND_IN = """
import os
from pathlib import Path
import numpy as np

FACES = [(0, 2, 1), (0, 3, 2), (4, 5, 6), (4, 6, 7), (0, 1, 5), (0, 5, 4), (1, 2, 6), (1, 6, 5), (2, 3, 7), (2, 7, 6),
         (3, 0, 4), (3, 4, 7)]


class Mesh:
    def __init__(self, vertices, indices):
        self.vertices, self.indices = vertices, indices


def set_log_level(level):
    print("noise on standard output")


def box(low, high):
    (a, b, c), (x, y, z) = low, high
    corners = [(a, b, c), (x, b, c), (x, y, c), (a, y, c), (a, b, z), (x, b, z), (x, y, z), (a, y, z)]
    return np.array(corners, dtype=float), np.array(FACES, dtype=np.int32)


def run_coacd(mesh, threshold, seed):
    with open(os.environ["COACD_CALLS"], "a") as calls:
        calls.write("called\\n")
    mode = os.environ.get("COACD_MODE", "")
    if mode == "crash":
        os._exit(7)
    if mode == "error":
        raise RuntimeError("it is not closed")
    if mode == "wrong":
        return [box((0, 0, 0), (1, 1, 1))]
    return [box((0, 0, 0), (2, 1, 1)), box((0, 1, 0), (1, 2, 1))]
"""


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Installs the stand-in; the file has a line for each call."""
    (tmp_path / "site" / "coacd").mkdir(parents=True)
    (tmp_path / "site" / "coacd" / "__init__.py").write_text(STAND_IN, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    known = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path / "site"), *([known] if known else [])]))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COACD_CALLS", str(tmp_path / "calls.txt"))
    (tmp_path / "calls.txt").write_text("", encoding="utf-8")
    return tmp_path / "calls.txt"


@pytest.fixture
def hook(tmp_path: Path) -> Path:
    (tmp_path / "hook.obj").write_text(prism(L_SHAPE), encoding="utf-8")
    return sdf(tmp_path / "hook.sdf", "hook.obj")


def why(report: Report) -> str:
    found = next(item for item in report.items if item.path.endswith("mesh"))
    assert found.fate is Fate.APPROXIMATED and found.loss
    return found.why


@pytest.mark.parametrize("format", ["mjcf", "usd", "xode"])
def test_parts_are_triangles_where_the_format_has_them(format: str, hook: Path, calls: Path) -> None:
    report = exoskel.convert(hook, to=format, decompose=True)
    assert report.certificate.passed
    assert why(report) == "shapes.convex_parts: as 2 convex parts, by CoACD"
    names = [check.name for check in report.certificate.checks]
    assert "before shapes.convex_parts: meshes in their parts" in names
    assert not any("MJ501" in item.why for item in report.items)


@pytest.mark.parametrize("format", ["sdf", "urdf", "skel"])
def test_parts_are_files_where_the_format_refers_to_meshes(
    format: str, hook: Path, calls: Path, tmp_path: Path
) -> None:
    report = exoskel.convert(hook, tmp_path / "out" / f"hook.{format}", decompose=True)
    assert report.saved and "2 convex parts" in why(report)
    body = next(iter(exoskel.load(tmp_path / "out" / f"hook.{format}").world.bodies()))
    found = [shape.geometry for shape in body.collisions]
    assert [mesh.bounds() for mesh in found] == [((0, 0, 0), (2, 1, 1)), ((0, 1, 0), (1, 2, 1))]
    assert all(isinstance(mesh, Mesh) and Path(mesh.path or "").parent.name == "meshes" for mesh in found)
    assert [shape.kind for shape in body.visuals] == ["mesh"]  # it looks as before


def test_decomposition_works_with_other_passes(hook: Path, calls: Path) -> None:
    report = exoskel.convert(hook, to="mjcf", decompose=True, up="y")
    assert report.certificate.passed and "2 convex parts" in why(report)


def test_masses_that_follow_from_shapes_stay_as_they_were(hook: Path, calls: Path, tmp_path: Path) -> None:
    scene = exoskel.load(hook)
    body = next(iter(scene.world.bodies()))
    body.inertia = exoskel.Inertia(mass=3.0, com=None, moment=None)
    exoskel.save(scene, tmp_path / "derived.skel")
    expected = moments([body])[0]
    report = exoskel.convert(tmp_path / "derived.skel", tmp_path / "d.xml", to="mjcf", decompose=True)
    assert report.certificate.passed
    other = next(iter(exoskel.load(tmp_path / "d.xml").world.bodies()))
    np.testing.assert_allclose(moments([other])[0], expected, rtol=1e-9)
    np.testing.assert_allclose(other.com, body.com, rtol=1e-9, atol=1e-12)


def test_each_mesh_is_decomposed_once(hook: Path, calls: Path, tmp_path: Path) -> None:
    for _ in range(2):
        exoskel.convert(hook, to="mjcf", decompose=True)
    assert calls.read_text(encoding="utf-8") == "called\n"
    (cached,) = (tmp_path / "cache" / "exoskel" / "convex_parts").iterdir()
    cached.write_bytes(cached.read_bytes()[:-5])  # a damaged file is made again
    assert "2 convex parts" in why(exoskel.convert(hook, to="mjcf", decompose=True))
    assert calls.read_text(encoding="utf-8") == "called\n" * 2


def test_convex_and_static_meshes_are_left_alone(calls: Path, tmp_path: Path) -> None:
    (tmp_path / "box.obj").write_text(prism(SQUARE), encoding="utf-8")
    (tmp_path / "hook.obj").write_text(prism(L_SHAPE), encoding="utf-8")
    for file in (sdf(tmp_path / "b.sdf", "box.obj"), sdf(tmp_path / "h.sdf", "hook.obj", static=True)):
        report = exoskel.convert(file, to="mjcf", decompose=True)
        assert report.certificate.passed and not any("convex" in item.why for item in report.items)
    assert calls.read_text(encoding="utf-8") == ""


@pytest.mark.parametrize(
    ("mode", "reason"),
    [("crash", "CoACD failed: it crashed (exit code 7)"), ("error", "CoACD failed: it is not closed")],
)
def test_a_failure_is_reported(
    mode: str, reason: str, hook: Path, calls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COACD_MODE", mode)
    with pytest.raises(exoskel.ExoskelError, match="a mesh of body 'a' cannot be decomposed") as caught:
        exoskel.convert(hook, to="mjcf", decompose=True)
    assert reason in str(caught.value)


def test_parts_that_do_not_cover_the_mesh_fail_the_certificate(
    hook: Path, calls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COACD_MODE", "wrong")
    report = exoskel.convert(hook, to="mjcf", decompose=True)
    failed = [check.name for check in report.certificate.checks if not check.passed]
    assert failed == ["before shapes.convex_parts: meshes in their parts"]


def test_a_missing_coacd_is_explained(hook: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exoskel.source.convex_decomposition.util.find_spec", lambda name: None)
    with pytest.raises(exoskel.ExoskelError, match=r"pip install 'exoskel\[decompose\]'"):
        exoskel.convert(hook, to="mjcf", decompose=True)


def test_a_run_uses_the_parts(hook: Path, calls: Path) -> None:
    scene = exoskel.load(hook)
    motion = exoskel.run(scene, 0.01, decompose=True)
    assert calls.read_text(encoding="utf-8") == "called\n"
    assert motion.scene is scene
    shape = next(iter(scene.world.bodies())).collisions[0]
    assert isinstance(shape.geometry, Mesh) and not isinstance(shape.geometry, TriMesh)


def test_the_commands_have_the_option(
    hook: Path, calls: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["convert", str(hook), str(tmp_path / "o.xml"), "--decompose"]) == 0
    assert "2 convex parts" in " ".join(capsys.readouterr().out.split())
    assert main(["run", str(hook), "--time", "0.01", "--decompose"]) == 0
