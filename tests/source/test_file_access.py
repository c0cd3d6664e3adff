"""Files that documents name: where they may be, what they may be, and who opens them."""

from __future__ import annotations

import ast
import os
import threading
from pathlib import Path

import pytest

import exoskel
from exoskel.source import file_access
from tests.support.places import PROJECT

SDF = '<sdf version="1.9"><model name="m"><link name="secret_link"/></model></sdf>'
WORLD = '<sdf version="1.9"><world name="w"><include><uri>{}</uri></include></world></sdf>'
OBJ = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"
CONFIG = "<model><sdf version='1.9'>{}</sdf></model>"

OPENERS = {
    "cli/lsp.py": "standard input and output",
    "cli/standard_streams.py": "os.devnull",
    "cli/installation.py": "the samples of the package",
    "cli/settings.py": "settings of the project",
    "cli/view.py": "a page in the browser",
    "formats/file_search.py": "files that a folder of the user contains",
    "formats/mjcf/reader/compiler.py": "standard output of a child process",
    "formats/xacro.py": "standard output of a child process",
    "formats/usd/tree.py": "entries of an archive in memory, and a temporary file of our own",
    "formats/usd/usd_process.py": "standard output of a child process",
    "samples/__init__.py": "the samples of the package",
    "view/page.py": "the script of the page in the package",
    "simulate/trajectory.py": "entries of an archive that is open already",
    "source/atomic_write.py": "files that are written, and temporary folders of our own",
    "source/convex_decomposition.py": "standard output of a child process",
    "source/draco.py": "standard output of a child process",
    "source/file_access.py": "the one place that opens what a document names",
    "source/mesh_packages.py": "entries of an archive in memory",
    "source/mesh_parsing.py": "bytes in memory, and standard output of a child process",
    "source/mesh_textures.py": "images in memory",
    "source/textures.py": "images in memory",
    "source/usdz_archive.py": "entries of an archive that is open already",
    "view/export.py": "a page in the browser",
    "view/gl_renderer.py": "standard input and output of a child process",
}
"""The modules that open something, and what it is."""

_NAMES = frozenset({
    "open", "fdopen", "read_text", "fromfile", "memmap", "ZipFile", "load_scene", "from_xml_path", "OpenAsAnonymous",
    "read_table", "copyfile", "copy2", "copytree", "loadtxt", "genfromtxt", "iterparse",
})  # fmt: skip


def _is_opening(call: ast.Call) -> bool:
    match call.func:
        case ast.Name(id=name):
            return name in _NAMES
        case ast.Attribute(value=ast.Name(id=owner), attr="load" | "parse"):
            return owner in ("np", "numpy", "pickle", "trimesh", "etree")
        case ast.Attribute(attr=name):
            return name in _NAMES or name == "read_bytes"
    return False


def test_only_listed_modules_open_files() -> None:
    source = PROJECT / "src" / "exoskel"
    found = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and _is_opening(node)
    }
    assert found == set(OPENERS)


# --- confinement --------------------------------------------------------------------------------------


def _keys(scene: exoskel.Scene) -> list[str]:
    return [diagnostic.key for diagnostic in scene.diagnostics]


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    inside, outside = tmp_path / "in", tmp_path / "out"
    (inside / "model").mkdir(parents=True)
    outside.mkdir()
    (outside / "model.sdf").write_text(SDF)
    (outside / "secret.obj").write_text(OBJ)
    return inside, outside


def test_paths_are_inside_if_their_resolved_form_is(folders: tuple[Path, Path]) -> None:
    inside, outside = folders
    (inside / "link").symlink_to("model")
    (inside / "out").symlink_to(outside)
    (inside / "ring").symlink_to("ring")
    (inside / "gone").symlink_to(outside / "missing")
    (inside.parent / "in2").mkdir()
    ends = [
        "",
        ".",
        "..",
        "a.obj",
        "a\0b",
        "x" * 300,
        "secret.obj",
        "../in/a",
        "../in2/a",
        "../../in/a",
        "../out/secret.obj",
    ]
    paths = [
        f"{inside}/{start}/{end}"
        for start in ("model", "link", "out", "ring", "gone", "none", ".", "..")
        for end in ends
    ]
    expected = {path for path in paths if (place := _resolved(path)) and place.is_relative_to(inside.resolve())}
    assert file_access.paths_inside(inside, paths) == expected
    assert f"{inside}/model/a.obj" in expected and f"{inside}/out/secret.obj" not in expected


def _resolved(path: str) -> Path | None:
    try:
        return Path(path).resolve()
    except (OSError, RuntimeError, ValueError):
        return None


@pytest.mark.parametrize("uri", ["model", "model/model.sdf", "model/model.config"])
@pytest.mark.parametrize("named", [None, "model.sdf", "other.sdf"])
def test_an_include_that_is_a_link_to_the_outside(folders: tuple[Path, Path], uri: str, named: str | None) -> None:
    inside, outside = folders
    if named is not None or uri.endswith("config"):
        (inside / "model" / "model.config").write_text(CONFIG.format(named or ""))
    (inside / "model" / (named or "model.sdf")).symlink_to(outside / "model.sdf")
    (inside / "world.sdf").write_text(WORLD.format(uri))
    confined = exoskel.load(inside / "world.sdf", confine=True)
    assert "secret_link" not in str([body.name for body in confined.world.bodies()])
    assert {"SD040.outside", "SD040.missing"} & set(_keys(confined))


def test_a_config_that_is_a_link_to_the_outside(folders: tuple[Path, Path]) -> None:
    inside, outside = folders
    (outside / "model.config").write_text(CONFIG.format("a.sdf"))
    (inside / "model" / "model.config").symlink_to(outside / "model.config")
    (inside / "model" / "a.sdf").write_text(SDF)
    (inside / "world.sdf").write_text(WORLD.format("model"))
    assert not list(exoskel.load(inside / "world.sdf", confine=True).world.bodies())
    assert list(exoskel.load(inside / "world.sdf").world.bodies())


@pytest.mark.parametrize("named", [".", "/", "..", "", "../..", "model.config", "\u2028", "x" * 5000, "a.sdf#", "~"])
@pytest.mark.parametrize("version", ["1.9", "9" * 5000, "1.²", "-1"])
def test_odd_names_in_model_config(tmp_path: Path, named: str, version: str) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "model.config").write_text(f"<model><sdf version='{version}'>{named}</sdf></model>")
    (tmp_path / "world.sdf").write_text(WORLD.format("model"))
    scene = exoskel.load(tmp_path / "world.sdf")
    assert any(diagnostic.code in ("SD040", "SD001", "SD002") for diagnostic in scene.diagnostics)


def test_includes_in_circles_through_model_config(tmp_path: Path) -> None:
    for name, other in (("a", "b"), ("b", "a")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.config").write_text(CONFIG.format("m.sdf"))
        inner = f"<link name='l'/><include><uri>../{other}</uri></include>"
        (tmp_path / name / "m.sdf").write_text(f"<sdf version='1.9'><model name='{name}'>{inner}</model></sdf>")
    (tmp_path / "world.sdf").write_text(WORLD.format("a"))
    assert "SD040.circle" in _keys(exoskel.load(tmp_path / "world.sdf"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("name", ["model/model.sdf", "model/model.config", "model/named.sdf"])
def test_a_pipe_in_place_of_an_include(folders: tuple[Path, Path], name: str) -> None:
    """Reading it would wait forever."""
    inside, _ = folders
    if "named" in name:
        (inside / "model" / "model.config").write_text(CONFIG.format("named.sdf"))
    os.mkfifo(inside / name)
    (inside / "world.sdf").write_text(WORLD.format("model"))
    assert "SD040.missing" in _keys(exoskel.load(inside / "world.sdf"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("confined", [True, False])
def test_a_pipe_is_not_opened_as_a_referenced_file(tmp_path: Path, confined: bool) -> None:
    os.mkfifo(tmp_path / "a.obj")
    with pytest.raises(OSError, match="not a file"):
        file_access.read_referenced(tmp_path / "a.obj", 100, tmp_path if confined else None)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_user_may_name_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.skel")
    writer = threading.Thread(target=lambda: (tmp_path / "a.skel").write_bytes(b"x" * 200_000))
    writer.start()
    assert file_access.read_source(tmp_path / "a.skel", 10**6) == b"x" * 200_000
    writer.join()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_that_stays_silent_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_access, "_SECONDS", 0.05)
    os.mkfifo(tmp_path / "a.skel")
    with pytest.raises(exoskel.ExoskelError, match="no data arrived"):
        exoskel.load(tmp_path / "a.skel")


def test_a_link_that_appears_while_a_file_is_opened(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Links are resolved, then the file is replaced by a link, then it is opened."""
    inside, outside = folders
    target = inside / "model" / "a.obj"
    target.write_text("harmless")
    resolve = os.path.realpath

    def swap(path: str | os.PathLike[str]) -> str:
        found = str(resolve(path))
        if Path(path) == target:
            target.unlink()
            target.symlink_to(outside / "secret.obj")
        return found

    monkeypatch.setattr(file_access.os.path, "realpath", swap)
    with pytest.raises(OSError, match="outside"):
        file_access.read_referenced(target, 1000, inside)


def test_a_folder_that_becomes_a_link_while_a_file_is_opened(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    inside, outside = folders
    target = inside / "model" / "secret.obj"
    target.write_text("harmless")
    resolve = os.path.realpath

    def swap(path: str | os.PathLike[str]) -> str:
        found = str(resolve(path))
        if Path(path) == target:
            (inside / "model").rename(inside / "moved")
            (inside / "model").symlink_to(outside)
        return found

    monkeypatch.setattr(file_access.os.path, "realpath", swap)
    with pytest.raises(OSError, match="outside"):
        file_access.read_referenced(target, 1000, inside)


def test_links_inside_the_folder_are_followed(folders: tuple[Path, Path]) -> None:
    inside, _ = folders
    (inside / "a.obj").write_text(OBJ)
    (inside / "model" / "b.obj").symlink_to("../a.obj")
    assert file_access.read_referenced(inside / "model" / "b.obj", 1000, inside) == OBJ.encode()


def test_systems_that_open_only_by_path_compare_afterwards(folders: tuple[Path, Path]) -> None:
    inside, outside = folders
    (inside / "a.obj").write_text(OBJ)
    os.close(file_access._open_and_compare(str(inside.resolve()), str((inside / "a.obj").resolve())))
    (inside / "b.obj").symlink_to(outside / "secret.obj")
    with pytest.raises(OSError, match="outside"):
        file_access._open_and_compare(str(inside.resolve()), str(inside / "b.obj"))


# --- copies -------------------------------------------------------------------------------------------


URDF = '<robot name="r"><link name="b"><visual><geometry><mesh filename="{}"/></geometry></visual></link></robot>'


@pytest.mark.parametrize("target", ["/proc/self/environ", "/etc/passwd", "text"])
@pytest.mark.parametrize("to", ["sdf", "skel", "urdf", "mjcf"])
def test_what_is_no_mesh_is_not_copied(tmp_path: Path, target: str, to: str) -> None:
    (tmp_path / "text").write_text("SECRET=1\n")
    (tmp_path / "a.obj").symlink_to(tmp_path / "text" if target == "text" else target)
    (tmp_path / "a.urdf").write_text(URDF.format("a.obj"))
    folder = tmp_path / "made"
    folder.mkdir()
    exoskel.convert(
        tmp_path / "a.urdf", folder / f"out.{to}" if to != "mjcf" else folder / "out.xml", to=to, meshes="copy"
    )
    assert not (folder / "meshes").exists()


def test_a_mesh_that_becomes_a_link_to_the_outside_is_not_copied(folders: tuple[Path, Path], tmp_path: Path) -> None:
    inside, outside = folders
    (inside / "a.obj").write_text(OBJ)
    (inside / "a.urdf").write_text(URDF.format("a.obj"))
    scene = exoskel.load(inside / "a.urdf", confine=True)
    (inside / "a.obj").unlink()
    (inside / "a.obj").symlink_to(outside / "secret.obj")
    exoskel.convert(scene, tmp_path / "made.sdf", meshes="copy")
    assert not (tmp_path / "meshes").exists()
    assert exoskel.convert(exoskel.load(inside / "a.urdf"), tmp_path / "made.sdf", meshes="copy")
    assert (tmp_path / "meshes").exists()
