"""`package://` and `model://` URIs: how they are written, and what is said about those that are not found."""

from __future__ import annotations

from pathlib import Path

import pytest

import exoskel
from exoskel.diagnostics import Diagnostic

OBJ = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"
VARIABLES = ("AMENT_PREFIX_PATH", "ROS_PACKAGE_PATH", "GZ_SIM_RESOURCE_PATH", "GAZEBO_MODEL_PATH")
URDF = '<robot name="r"><link name="l"><visual><geometry><mesh filename="{}"/></geometry></visual></link></robot>'
SDF = (
    '<sdf version="1.9"><model name="m"><link name="l"><visual name="v"><geometry><mesh><uri>{}</uri></mesh></geometry>'
    "</visual></link></model></sdf>"
)
INCLUDE = '<sdf version="1.9"><world name="w"><include><uri>{}</uri></include></world></sdf>'
SKEL = (
    '<skel version="1.0"><world name="w"><skeleton name="s"><body name="b"><visualization_shape><geometry><mesh>'
    "<file_name>{}</file_name><scale>1 1 1</scale></mesh></geometry></visualization_shape></body></skeleton></world></skel>"
)


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    for folder in ("arm/urdf", "arm/meshes/a b", "models/box", "models/tall box", "secret"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "arm/package.xml").write_text("<package><name>arm</name></package>")
    for file in (
        "arm/meshes/a.obj",
        "arm/meshes/a b/c.obj",
        "models/box/a.obj",
        "models/tall box/a.obj",
        "secret/a.obj",
    ):
        (tmp_path / file).write_text(OBJ)
    monkeypatch.setenv("GZ_SIM_RESOURCE_PATH", str(tmp_path / "models"))
    return tmp_path


def mesh_of(text: str, workspace: Path, **options: bool) -> tuple[str | None, list[Diagnostic]]:
    scene = exoskel.load(text, base=workspace / "arm/urdf/x", **options)  # type: ignore[arg-type]
    paths = [shape.geometry.path for body in scene.world.bodies() for shape in body.visuals]  # type: ignore[union-attr]
    return paths[0], [d for d in scene.diagnostics if "mesh" in d.message or "://" in d.message]


@pytest.mark.parametrize("document", [URDF, SDF])
@pytest.mark.parametrize(
    ("uri", "found"),
    [
        ("package://arm/meshes/a.obj", "arm/meshes/a.obj"),
        ("package://arm//meshes//a.obj", "arm/meshes/a.obj"),
        ("package://arm/meshes/a%20b/c.obj", "arm/meshes/a b/c.obj"),
        ("package://arm/meshes/a b/c.obj", "arm/meshes/a b/c.obj"),
        ("model://box/a.obj", "models/box/a.obj"),
        ("model://box//a%2eobj", "models/box/a.obj"),
        ("model://tall box/a.obj", "models/tall box/a.obj"),
        ("model://tall%20box/a.obj", "models/tall box/a.obj"),
    ],
)
def test_slashes_and_percent_codes_are_read_as_in_uris(workspace: Path, document: str, uri: str, found: str) -> None:
    """A path that began with a second slash was taken as absolute."""
    path, problems = mesh_of(document.format(uri), workspace)
    assert path is not None and Path(path) == workspace / found
    assert problems == []


@pytest.mark.parametrize("scheme", ["package://arm", "model://box"])
def test_a_second_slash_does_not_lead_to_the_root(workspace: Path, scheme: str) -> None:
    assert mesh_of(URDF.format(f"{scheme}/{workspace}/secret/a.obj"), workspace)[0] is None


@pytest.mark.parametrize("name", ["%2e%2e", "%2E", "..%2Fsecret", "%2e%2e%2fsecret", "%00"])
def test_the_name_of_a_model_with_percent_codes_leads_to_no_other_folder(workspace: Path, name: str) -> None:
    assert mesh_of(URDF.format(f"model://{name}/a.obj"), workspace)[0] is None
    assert mesh_of(URDF.format(f"model://{name}/secret/a.obj"), workspace)[0] is None


@pytest.mark.parametrize("way", ["..", "%2e%2e", "%2E%2E%2F..", "meshes/../.."])
def test_a_confined_document_leaves_its_folder_by_no_spelling(workspace: Path, way: str) -> None:
    (workspace / "arm/urdf/package.xml").write_text("<package><name>inner</name></package>")
    for scheme in ("package://inner", "model://inner"):
        uri = f"{scheme}/{way}/../secret/a.obj"
        path, (problem, *_) = mesh_of(URDF.format(uri), workspace, confine=True)
        assert path is None
        assert str(workspace) not in problem.hint.replace(str(workspace / "arm/urdf"), "")


@pytest.mark.parametrize("document", [URDF, SDF, SKEL])
def test_a_message_says_where_a_package_was_searched(workspace: Path, document: str) -> None:
    _, (problem, *_) = mesh_of(document.format("package://leg/meshes/a.obj"), workspace)
    assert problem.hint == (
        "set --package-path DIR (package_path=): package 'leg' was searched around the file, "
        "in AMENT_PREFIX_PATH (not set) and in ROS_PACKAGE_PATH (not set)"
    )
    _, (problem, *_) = mesh_of(document.format("model://leg/a.obj"), workspace)
    assert problem.hint.endswith(
        "model 'leg' was searched around the file, in GZ_SIM_RESOURCE_PATH and in GAZEBO_MODEL_PATH (not set)"
    )
    _, (problem, *_) = mesh_of(document.format("package://leg/meshes/a.obj"), workspace, confine=True)
    assert problem.hint.endswith(": package 'leg' was searched in the folder of the file")


@pytest.mark.parametrize("document", [URDF, SDF, SKEL])
def test_a_message_names_the_folder_of_a_package_without_the_file(workspace: Path, document: str) -> None:
    _, (problem, *_) = mesh_of(document.format("package://arm/meshes/b.obj"), workspace)
    assert problem.hint == f"check the path: package 'arm' is {workspace / 'arm'}, which has no file 'meshes/b.obj'"


def test_a_message_about_an_include_says_where_the_model_was_searched(workspace: Path) -> None:
    (problem,) = exoskel.load(INCLUDE.format("model://none"), base=workspace / "arm/urdf/x").diagnostics
    assert "model 'none' was searched around the file, in GZ_SIM_RESOURCE_PATH" in problem.hint
    (problem,) = exoskel.load(INCLUDE.format("model://box"), base=workspace / "arm/urdf/x").diagnostics
    assert problem.hint.endswith(f"is {workspace / 'models/box'}, which has neither model.config nor model.sdf")


def test_reasons_are_not_shortened(workspace: Path) -> None:
    """It ended with `which is not allowed h…`."""
    _, (problem, *_) = mesh_of(URDF.format("../meshes/a.obj"), workspace, confine=True)
    assert problem.message == "mesh '../meshes/a.obj' is outside the document's directory, which is not allowed here"


def test_packages_in_repositories_of_a_workspace_are_found(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only folders directly in ROS_PACKAGE_PATH were; ROS searches all folders below."""
    packages = {"src/repository/leg": "leg", "src/group/repository/other_name": "foot", "src/hidden/.git/p": "git"}
    packages |= {"src/repository/leg/inner": "inner", "src/ignored/toe": "toe"}
    for folder, name in packages.items():
        (workspace / folder / "meshes").mkdir(parents=True)
        (workspace / folder / "package.xml").write_text(f"<package><name>{name}</name></package>")
        (workspace / folder / "meshes/a.obj").write_text(OBJ)
    (workspace / "src/ignored/COLCON_IGNORE").touch()
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(workspace / "src"))
    for name, folder in (("leg", "src/repository/leg"), ("foot", "src/group/repository/other_name")):
        path, problems = mesh_of(URDF.format(f"package://{name}/meshes/a.obj"), workspace)
        assert path == str(workspace / folder / "meshes/a.obj")
        assert problems == []
        assert mesh_of(URDF.format(f"package://{name}/meshes/a.obj"), workspace, confine=True)[0] is None
    for name in ("git", "inner", "toe"):
        assert mesh_of(URDF.format(f"package://{name}/meshes/a.obj"), workspace)[0] is None
