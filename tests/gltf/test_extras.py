"""The extras of other programs are preserved from glTF to glTF at objects of the scene, and are losses elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import exoskel
from tests.gltf.reader import Glb
from tests.gltf.test_read import document, load

DATA = {"tags": ["a", {"b": 1.5}], "id": 12345678901234567, "note": None}


def with_extras(**extras: Any) -> dict[str, Any]:
    """A document whose objects have extras; those of `wall` are at the node of a body."""
    content = document(extras={"of": "the file"}, cameras=[{"type": "perspective", "perspective": {"yfov": 1}}])
    content["nodes"][0]["extras"] = {"of": "a group"}
    content["nodes"][1] |= {"extras": extras, "camera": 0}
    content["cameras"][0]["extras"] = {"of": "a camera"}
    content["meshes"][0]["extras"] = {"of": "a mesh"}
    return content


def edited(scene: exoskel.Scene, height: float = 0.5) -> exoskel.Scene:
    """A scene that is written as a new document: the first body is moved."""
    next(scene.world.bodies()).pose = exoskel.Pose((0.0, 0.0, height))
    return scene


def extras_of(data: bytes, name: str) -> dict[str, Any]:
    (found,) = (node["extras"] for node in Glb(data).nodes if node["name"] == name and "extras" in node)
    return dict(found)


def test_extras_of_bodies_are_preserved(tmp_path: Path) -> None:
    scene = edited(load(tmp_path, with_extras(**DATA)))
    report = exoskel.convert(scene, None, to="gltf")
    assert DATA.items() <= extras_of(report.data, "wall").items()
    fates = {one.path: one.fate for one in report.items if one.path.endswith("@extras")}
    assert fates == {
        **dict.fromkeys(("/@extras", "/nodes/1/@extras", "/meshes/0/@extras"), "kept"),
        **dict.fromkeys(("/nodes/0/@extras", "/cameras/0/@extras"), "dropped"),
    }
    again = exoskel.convert(edited(exoskel.load(report.data), 0.75), None, to="gltf")
    assert extras_of(again.data, "wall") == extras_of(report.data, "wall"), "also from files of Exoskel"
    kept = {one.fate for one in again.items if one.path.endswith("@extras")}
    assert kept == {"kept"}


@pytest.mark.parametrize("to", ["mjcf", "skel", "usd", "sdf"])
def test_other_formats_lose_them(tmp_path: Path, to: str) -> None:
    scene = load(tmp_path, with_extras(**DATA))
    losses = {one.path: one for one in exoskel.convert(scene, None, to=to).losses}
    for path in ("", "/nodes/0", "/nodes/1", "/meshes/0", "/cameras/0"):
        loss = losses[f"{path}/@extras"]
        assert (loss.why, loss.affects_motion) == ("data of another program", False)


def test_extras_with_names_of_our_own_are_not_preserved(tmp_path: Path) -> None:
    scene = edited(load(tmp_path, with_extras(mass=7, tool="x")))
    report = exoskel.convert(scene, None, to="gltf")
    assert "tool" not in extras_of(report.data, "wall") and extras_of(report.data, "wall")["mass"] != 7
    assert "/nodes/1/@extras" in {one.path for one in report.losses}


def test_our_own_extras_have_a_fate_each(tmp_path: Path) -> None:
    data = exoskel.convert(exoskel.load("dart://sample/skel/chain.skel"), None, to="gltf").data
    report = exoskel.convert(exoskel.load(data), None, to="mjcf")
    found: dict[str, set[str]] = {}
    for one in report.items:
        if one.attribute.startswith("extras"):
            found.setdefault(one.attribute, set()).add(str(one.fate))
    assert found["extras.joint"] == {"dropped"}, "joints are not rebuilt"
    assert found["extras.mass"] <= {"exact", "lowered"}
