"""Models that Gazebo has downloaded, file URIs with relative paths, and names of models in the folders of resources."""

from __future__ import annotations

from pathlib import Path

import pytest

import exoskel
from tests.sdf.support import link

WORLD = '<sdf version="1.9"><world name="w">{}</world></sdf>'
MESH = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"
VISUAL = "<visual name='v'><geometry><mesh><uri>{}</uri></mesh></geometry></visual>"
SERVER = "https://fuel.gazebosim.org/1.0/OpenRobotics/models"


@pytest.fixture(autouse=True)
def no_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("GZ_SIM_RESOURCE_PATH", "GAZEBO_MODEL_PATH", "SDF_PATH", "IGN_GAZEBO_RESOURCE_PATH"):
        monkeypatch.delenv(name, raising=False)
    for name in ("GZ_FUEL_CACHE_PATH", "IGN_FUEL_CACHE_PATH"):
        monkeypatch.setenv(name, str(tmp_path / "nothing"))


def add_model(folder: Path, name: str) -> None:
    folder.mkdir(parents=True)
    (folder / "model.config").write_text("<model><sdf version='1.9'>robot.sdf</sdf></model>")
    (folder / "robot.sdf").write_text(f'<sdf version="1.9"><model name="{name}">{link("l")}</model></sdf>')
    (folder / "meshes").mkdir()
    (folder / "meshes" / "a.obj").write_text(MESH)


def load(folder: Path, inside: str, **options: bool) -> exoskel.Scene:
    (folder / "world").mkdir()
    (folder / "world" / "w.sdf").write_text(WORLD.format(inside))
    return exoskel.load(folder / "world" / "w.sdf", **options)


def models(scene: exoskel.Scene) -> list[str]:
    return [model.name for model in scene.world.models]


def keys(scene: exoskel.Scene) -> set[str]:
    return {one.key for one in scene.diagnostics if one.severity != "info"}


@pytest.mark.parametrize("variable", ["GZ_FUEL_CACHE_PATH", "IGN_FUEL_CACHE_PATH"])
@pytest.mark.parametrize(("end", "name"), [("", "new"), ("/tip", "new"), ("/10", "new"), ("/9", "old"), ("/9/", "old")])
def test_downloaded_models_are_included(
    end: str, name: str, variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, str(tmp_path / "cache"))
    home = tmp_path / "cache" / "fuel.gazebosim.org" / "openrobotics" / "models" / "coke can"
    add_model(home / "9", "old")
    add_model(home / "10", "new")
    scene = load(tmp_path, f"<include><uri>{SERVER}/Coke%20Can{end}</uri></include>")
    assert models(scene) == [name] and not keys(scene)


def test_meshes_of_downloaded_models_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GZ_FUEL_CACHE_PATH", str(tmp_path / "cache"))
    add_model(tmp_path / "cache" / "fuel.gazebosim.org" / "openrobotics" / "models" / "coke" / "2", "coke")
    visual = VISUAL.format(f"{SERVER}/Coke/2/files/meshes/a.obj")
    scene = load(tmp_path, f'<model name="m">{link("l", visual)}</model>')
    (shape,) = next(scene.world.bodies()).visuals
    assert getattr(shape.geometry, "path", None) is not None


@pytest.mark.parametrize(
    "uri",
    [f"{SERVER}/Other", f"{SERVER}/Coke/3", f"{SERVER}/..", "https://example.com/x.sdf", f"{SERVER}/Coke/2/../.."],
)
def test_other_models_on_servers_are_not_read(uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GZ_FUEL_CACHE_PATH", str(tmp_path / "cache"))
    add_model(tmp_path / "cache" / "fuel.gazebosim.org" / "openrobotics" / "models" / "coke" / "2", "coke")
    assert "SD040.remote" in keys(load(tmp_path, f"<include><uri>{uri}</uri></include>"))


def test_a_confined_document_reads_no_downloaded_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GZ_FUEL_CACHE_PATH", str(tmp_path / "cache"))
    add_model(tmp_path / "cache" / "fuel.gazebosim.org" / "openrobotics" / "models" / "coke" / "2", "coke")
    assert "SD040.remote" in keys(load(tmp_path, f"<include><uri>{SERVER}/Coke</uri></include>", confine=True))


def test_file_uris_may_be_relative(tmp_path: Path) -> None:
    add_model(tmp_path / "world" / "box", "box")
    (tmp_path / "world" / "w.sdf").write_text(
        WORLD.format(
            "<include><uri>file://box</uri></include>"
            f'<model name="m">{link("l", VISUAL.format("file://box/meshes/a.obj"))}</model>'
        )
    )
    scene = exoskel.load(tmp_path / "world" / "w.sdf")
    assert models(scene) == ["box", "m"] and not keys(scene)


@pytest.mark.parametrize("variable", ["GZ_SIM_RESOURCE_PATH", "SDF_PATH", "IGN_GAZEBO_RESOURCE_PATH"])
@pytest.mark.parametrize("uri", ["box", "model://box", "box/robot.sdf"])
def test_models_are_found_in_folders_of_resources(
    uri: str, variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, str(tmp_path / "resources"))
    add_model(tmp_path / "resources" / "box", "box")
    scene = load(tmp_path, f"<include><uri>{uri}</uri></include>")
    assert models(scene) == ["box"] and not keys(scene)
