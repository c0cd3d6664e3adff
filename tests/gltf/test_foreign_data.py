"""Extensions and extras of other programs: in every object of a glTF file, they are kept or reported."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import exoskel
from exoskel import Report
from tests.gltf.rich_file import rich_document, write_rich
from tests.gltf.test_extras import edited
from tests.oracles import khronos

NAME, NOTE = "VENDOR_note", {"text": "unique-4711", "size": 0.5, "on": True, "none": None, "large": 10**6}
Place = tuple[str | int, ...]
_NO_OBJECTS = ("attributes", "targets")
"""Objects of glTF without extensions."""
KEPT: set[Place] = {
    (),
    ("asset",),
    ("scenes", 0),
    ("nodes", 1),
    ("meshes", 0),
    ("meshes", 0, "primitives", 0),
    ("materials", 0),
    ("materials", 0, "pbrMetallicRoughness"),
    ("materials", 0, "pbrMetallicRoughness", "baseColorTexture"),
}
"""Objects that a scene has, so that an edited scene is written with them."""


def all_places(value: Any, place: Place = ()) -> Iterator[Place]:
    """The places of all objects of a document that may have extensions."""
    if isinstance(value, list):
        for number, row in enumerate(value):
            yield from all_places(row, (*place, number))
    elif isinstance(value, dict):
        yield place
        for name, row in value.items():
            if name not in _NO_OBJECTS:
                yield from all_places(row, (*place, name))


PLACES = list(all_places(rich_document()[0]))


def at(document: Any, place: Place) -> dict[str, Any]:
    for key in place:
        document = document[key]
    assert isinstance(document, dict)
    return document


def with_extension(place: Place, value: Any, name: str = NAME) -> dict[str, Any]:
    document = copy.deepcopy(rich_document()[0])
    document["extensionsUsed"] = [name]
    at(document, place).setdefault("extensions", {})[name] = value
    return document


def fate_of(report: Report, place: Place, key: str) -> str:
    path = "/".join(["", *map(str, place)])
    names = (f"{path}/@{key}", f"{path}/{key}")
    (found,) = (one for one in report.items if one.path in names)
    return str(found.fate)


def text_of(path: Path) -> str:
    document = json.loads(path.read_text())
    document.pop("buffers", None)
    return json.dumps(document)


@pytest.mark.parametrize("place", PLACES, ids=lambda place: "/".join(map(str, place)) or "file")
def test_an_unknown_extension_is_kept_or_reported(place: Place, tmp_path: Path) -> None:
    source = write_rich(tmp_path, with_extension(place, NOTE))
    report = exoskel.convert(exoskel.load(source), tmp_path / "copy.gltf")
    assert not report.losses and fate_of(report, place, f"extensions/{NAME}") == "exact"
    assert copy_of(tmp_path / "copy.gltf") == copy_of(source)

    report = exoskel.convert(edited(exoskel.load(source)), tmp_path / "new.gltf")
    assert report.certificate.passed
    is_kept = "unique-4711" in text_of(tmp_path / "new.gltf")
    assert fate_of(report, place, f"extensions/{NAME}") == ("kept" if is_kept else "dropped")
    assert is_kept == (place in KEPT)
    used = json.loads((tmp_path / "new.gltf").read_text()).get("extensionsUsed", [])
    assert (NAME in used) == is_kept
    for to in ("skel", "mjcf"):
        assert fate_of(exoskel.convert(exoskel.load(source), None, to=to), place, f"extensions/{NAME}") == "dropped"


def copy_of(path: Path) -> Any:
    return json.loads(path.read_text())


@pytest.mark.parametrize("place", PLACES, ids=lambda place: "/".join(map(str, place)) or "file")
def test_extras_are_kept_or_reported(place: Place, tmp_path: Path) -> None:
    document = copy.deepcopy(rich_document()[0])
    at(document, place)["extras"] = NOTE
    source = write_rich(tmp_path, document)
    report = exoskel.convert(exoskel.load(source), tmp_path / "copy.gltf")
    assert not report.losses and fate_of(report, place, "extras") == "exact"
    report = exoskel.convert(edited(exoskel.load(source)), tmp_path / "new.gltf")
    is_kept = "unique-4711" in text_of(tmp_path / "new.gltf")
    assert fate_of(report, place, "extras") == ("kept" if is_kept else "dropped")
    assert is_kept == (place in KEPT)


@pytest.mark.parametrize("place", sorted(KEPT, key=str), ids=lambda place: "/".join(map(str, place)) or "file")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        (NAME, {"owner": 0}),
        (NAME, {"parts": [{"a": [2]}]}),
        (NAME, {"target": "/nodes/1/translation"}),
        ("MSFT_lod", {"ids": []}),
        ("KHR_physics_rigid_bodies", {"motion": {"mass": 2.5}}),
        ("KHR_materials_clearcoat", {"clearcoatTexture": {"index": 0}}),
    ],
)
def test_extensions_that_may_refer_to_objects_are_reported(
    place: Place, name: str, value: dict[str, Any], tmp_path: Path
) -> None:
    source = write_rich(tmp_path, with_extension(place, value, name))
    scene = exoskel.load(source)
    if not list(scene.world.bodies()):
        pytest.skip("compressed triangles are not read")
    report = exoskel.convert(edited(scene), tmp_path / "new.gltf")
    assert name not in (tmp_path / "new.gltf").read_text()
    assert fate_of(report, place, f"extensions/{name}") == "dropped"


def test_numbers_of_materials_are_no_references(tmp_path: Path) -> None:
    place = ("materials", 0)
    source = write_rich(tmp_path, with_extension(place, {"ior": 1}, "KHR_materials_ior"))
    report = exoskel.convert(edited(exoskel.load(source)), tmp_path / "new.gltf")
    assert fate_of(report, place, "extensions/KHR_materials_ior") == "kept"
    assert copy_of(tmp_path / "new.gltf")["materials"][0]["extensions"] == {"KHR_materials_ior": {"ior": 1}}


def test_what_belongs_to_a_lost_extension_of_the_file_is_lost(tmp_path: Path) -> None:
    document = with_extension(("nodes", 1), {"note": "a"})
    document["extensions"] = {NAME: {"of": [{"node": 1}]}}
    report = exoskel.convert(edited(exoskel.load(write_rich(tmp_path, document))), tmp_path / "new.gltf")
    assert NAME not in (tmp_path / "new.gltf").read_text()
    assert fate_of(report, ("nodes", 1), f"extensions/{NAME}") == "dropped"


def test_the_data_of_a_material_is_lost_with_its_look(tmp_path: Path) -> None:
    source = write_rich(tmp_path, with_extension(("materials", 0), NOTE))
    scene = exoskel.load(source)
    next(scene.world.bodies()).visuals[0].color = (1.0, 0.0, 0.0, 1.0)
    report = exoskel.convert(scene, tmp_path / "new.gltf")
    assert "unique-4711" not in text_of(tmp_path / "new.gltf")
    assert fate_of(report, ("materials", 0), f"extensions/{NAME}") == "dropped"


def test_required_extensions_that_are_kept_are_required_again(tmp_path: Path) -> None:
    document = with_extension(("nodes", 1), NOTE)
    document["extensionsRequired"] = [NAME]
    scene = exoskel.load(write_rich(tmp_path, document))
    assert "GL107" in [one.key for one in scene.diagnostics]
    exoskel.convert(edited(scene), tmp_path / "new.gltf")
    assert copy_of(tmp_path / "new.gltf")["extensionsRequired"] == [NAME]


@pytest.mark.skipif(not khronos.available(), reason="the Khronos validator is not installed")
@pytest.mark.parametrize("extension", [".glb", ".gltf"])
def test_new_documents_with_data_of_others_pass_the_validator(extension: str, tmp_path: Path) -> None:
    document = rich_document()[0] | {"extensionsUsed": [NAME]}
    for place in PLACES:
        at(document, place)["extensions"] = {NAME: NOTE}
        at(document, place)["extras"] = NOTE
    path = tmp_path / f"new{extension}"
    exoskel.convert(edited(exoskel.load(write_rich(tmp_path, document))), path)
    assert khronos.report(path)["issues"]["numErrors"] == 0
