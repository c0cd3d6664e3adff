"""`package://` and `model://` references: where packages of ROS and models of Gazebo are searched."""

from __future__ import annotations

from pathlib import Path

import pytest

import exoskel
from exoskel.scene.shape import Mesh

OBJ = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
VARIABLES = ("AMENT_PREFIX_PATH", "ROS_PACKAGE_PATH", "GZ_SIM_RESOURCE_PATH", "GAZEBO_MODEL_PATH")


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)


def package(folder: Path, name: str = "") -> Path:
    """A package of ROS with a mesh; it is called like its folder, unless `name` says otherwise."""
    (folder / "meshes").mkdir(parents=True)
    (folder / "meshes" / "arm.obj").write_text(OBJ)
    (folder / "package.xml").write_text(
        f"<package><!-- <name>other</name> --><name> {name or folder.name} </name></package>"
    )
    return folder


def robot(folder: Path, uri: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    mesh = f"<visual><geometry><mesh filename='{uri}'/></geometry></visual>"
    (folder / "robot.urdf").write_text(f"<robot name='r'><link name='l'>{mesh}</link></robot>")
    return folder / "robot.urdf"


def found(document: Path, **options: object) -> str | None:
    """The file of the only mesh."""
    geometry = exoskel.load(document, **options).world.models[0].bodies[0].visuals[0].geometry  # type: ignore[arg-type]
    assert isinstance(geometry, Mesh)
    return geometry.path


def test_the_package_that_contains_the_file_is_found(tmp_path: Path) -> None:
    home = package(tmp_path / "arm_description")
    document = robot(home / "urdf" / "parts", "package://arm_description/meshes/arm.obj")
    assert found(document) == str(home / "meshes" / "arm.obj")


def test_a_package_is_recognized_by_the_name_that_it_states(tmp_path: Path) -> None:
    home = package(tmp_path / "checkout-2", "arm_description")
    assert found(robot(home / "urdf", "package://arm_description/meshes/arm.obj")) == str(home / "meshes" / "arm.obj")
    assert found(robot(home / "urdf", "package://checkout-2/meshes/arm.obj")) is None
    assert found(robot(home / "urdf", "package://other/meshes/arm.obj")) is None


def test_a_package_next_to_the_one_of_the_file_is_found(tmp_path: Path) -> None:
    package(tmp_path / "bringup")
    other = package(tmp_path / "arm_description")
    document = robot(tmp_path / "bringup" / "urdf", "package://arm_description/meshes/arm.obj")
    assert found(document) == str(other / "meshes" / "arm.obj")


@pytest.mark.parametrize(
    ("variable", "folder", "value"),
    [
        ("AMENT_PREFIX_PATH", "install/share/arm", "install"),
        ("ROS_PACKAGE_PATH", "workspace/arm", "workspace"),
        ("ROS_PACKAGE_PATH", "workspace/arm", "workspace/arm"),
    ],
)
def test_packages_are_found_by_the_variables_of_ros(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, folder: str, value: str
) -> None:
    home = package(tmp_path / folder)
    document = robot(tmp_path / "elsewhere", "package://arm/meshes/arm.obj")
    assert found(document) is None
    monkeypatch.setenv(variable, f"{tmp_path / 'missing'}:{tmp_path / value}")
    assert found(document) == str(home / "meshes" / "arm.obj")


@pytest.mark.parametrize("variable", ["GZ_SIM_RESOURCE_PATH", "GAZEBO_MODEL_PATH"])
def test_models_are_found_by_the_variables_of_gazebo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    model = tmp_path / "models" / "cart"
    model.mkdir(parents=True)
    (model / "model.config").write_text("<model><sdf version='1.10'>cart.sdf</sdf></model>")
    (model / "cart.sdf").write_text("<sdf version='1.10'><model name='cart'><link name='l'/></model></sdf>")
    world = tmp_path / "elsewhere" / "deep" / "down" / "world.sdf"
    world.parent.mkdir(parents=True)
    world.write_text("<sdf version='1.10'><world name='w'><include><uri>model://cart</uri></include></world></sdf>")
    assert not exoskel.load(world).world.models
    monkeypatch.setenv(variable, str(tmp_path / "models"))
    assert [m.name for m in exoskel.load(world).world.models] == ["cart"]


def test_folders_that_the_caller_gives_come_first(tmp_path: Path) -> None:
    home = package(tmp_path / "arm")
    given = package(tmp_path / "given" / "arm")
    document = robot(home / "urdf", "package://arm/meshes/arm.obj")
    assert found(document, package_path=[tmp_path / "given"]) == str(given / "meshes" / "arm.obj")
    assert found(document, package_path={"arm": given}) == str(given / "meshes" / "arm.obj")


def test_a_confined_file_is_not_searched_for_outside_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = package(tmp_path / "arm")
    for variable in VARIABLES:
        monkeypatch.setenv(variable, str(tmp_path))
    for uri in ("package://arm/meshes/arm.obj", "model://arm/meshes/arm.obj", "package://arm/../arm/meshes/arm.obj"):
        assert found(robot(home / "urdf", uri), confine=True) is None
    assert found(robot(home, "package://arm/meshes/arm.obj"), confine=True) == str(home / "meshes" / "arm.obj")
    assert found(robot(home, "package://arm/../arm/meshes/arm.obj")) is not None


@pytest.mark.parametrize("name", ["", ".", "..", "a\\0b"])
def test_names_that_are_not_packages_are_not_found(tmp_path: Path, name: str) -> None:
    package(tmp_path / "arm")
    assert found(robot(tmp_path / "arm" / "urdf", f"package://{name}/meshes/arm.obj")) is None
