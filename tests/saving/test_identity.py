"""Saving an unedited scene writes the bytes that were read."""

from __future__ import annotations

from pathlib import Path

import pytest

import exoskel
from exoskel.formats.save import saved_bytes
from exoskel.formats.saving.patch import is_unedited
from tests.saving.documents import SKEL, XODE
from tests.saving.support import content, name_of, own_files

DECLARED = "<?xml version='1.0' encoding='{}'?>\n"
JAPANESE = SKEL.replace("robot arm", "ロボットアーム").replace("ACME", "株式会社").partition("\n")[2]
WESTERN = SKEL.replace("robot arm", "Öl- und Gestängearm").replace("ACME", "Müller").partition("\n")[2]

ENCODINGS = {
    "utf-8": WESTERN.encode(),
    "utf-8 with a mark": b"\xef\xbb\xbf" + WESTERN.encode(),
    "utf-16 little": ("\ufeff" + JAPANESE).encode("utf-16-le"),
    "utf-16 big": ("\ufeff" + JAPANESE).encode("utf-16-be"),
    "latin-1": (DECLARED.format("ISO-8859-1") + WESTERN).encode("latin-1"),
    "shift_jis": (DECLARED.format("Shift_JIS") + JAPANESE).encode("shift_jis"),
    "euc-jp": (DECLARED.format("EUC-JP") + JAPANESE).encode("euc-jp"),
    "ascii": (DECLARED.format("US-ASCII") + SKEL.partition("\n")[2]).encode("ascii"),
}
LINE_ENDS = {"cr lf": "\r\n", "cr": "\r", "lf": "\n"}


@pytest.mark.parametrize("path", own_files(), ids=name_of)
def test_a_file_comes_back_byte_for_byte(path: Path, tmp_path: Path) -> None:
    target = tmp_path / path.name
    exoskel.save(exoskel.load(path), target)
    assert target.read_bytes() == content(path)


@pytest.mark.parametrize("path", own_files(), ids=name_of)
def test_an_undone_edit_changes_no_bytes(path: Path) -> None:
    scene = exoskel.load(path)
    for world in scene.worlds:
        gravity = world.gravity
        world.gravity = (1.0, 2.0, 3.0)
        world.gravity = gravity
        for body in world.bodies():
            body.mass = body.mass
            body.visuals.append(exoskel.Shape(geometry=exoskel.Sphere(1.0)))
            body.visuals.pop()
    assert not is_unedited(scene)
    assert saved_bytes(scene) == content(path)


@pytest.mark.parametrize("path", own_files(), ids=name_of)
def test_reading_values_is_not_an_edit(path: Path) -> None:
    scene = exoskel.load(path)
    exoskel.summarize(scene)
    for world in scene.worlds:
        for model in world.models:
            assert all(model.body(body.name) for body in model.bodies)
            assert [joint.dofs for joint in model.joints]
    assert is_unedited(scene)


@pytest.mark.parametrize("data", ENCODINGS.values(), ids=ENCODINGS.keys())
def test_every_encoding_is_preserved(data: bytes) -> None:
    scene = exoskel.load(data)
    assert scene.world.model("arm").body("fore").mass == 2.0
    scene.world.name = scene.world.name
    assert saved_bytes(scene) == data


@pytest.mark.parametrize("data", ENCODINGS.values(), ids=ENCODINGS.keys())
def test_an_edit_keeps_the_encoding(data: bytes) -> None:
    scene = exoskel.load(data)
    scene.world.model("arm").body("fore").mass = 3.25
    codec = scene.documents[0].encoding.codec  # type: ignore[attr-defined]
    mark = scene.documents[0].encoding.mark  # type: ignore[attr-defined]
    wanted = data[mark:].decode(codec).replace("<mass>2</mass>", "<mass>3.25</mass>")
    assert saved_bytes(scene) == data[:mark] + wanted.encode(codec)


def test_characters_outside_the_encoding_are_written_as_references() -> None:
    data = ENCODINGS["latin-1"]
    scene = exoskel.load(data)
    scene.world.model("arm").rename("fore", "腕")
    saved = saved_bytes(scene)
    assert b'<body name="&#33109;">' in saved
    assert exoskel.load(saved).world.model("arm").body("腕").mass == 2.0


@pytest.mark.parametrize("end", LINE_ENDS.values(), ids=LINE_ENDS.keys())
@pytest.mark.parametrize("text", [SKEL, XODE], ids=["skel", "xode"])
def test_line_ends_are_preserved(text: str, end: str) -> None:
    data = text.replace("\n", end).encode()
    scene = exoskel.load(data)
    scene.world.name = scene.world.name
    assert saved_bytes(scene) == data


@pytest.mark.parametrize("end", LINE_ENDS.values(), ids=LINE_ENDS.keys())
def test_new_lines_have_the_line_ends_of_the_file(end: str) -> None:
    scene = exoskel.load(SKEL.replace("\n", end).encode())
    scene.world.model("arm").body("base").moment = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)
    saved = saved_bytes(scene).decode()
    assert "<ixx>1</ixx>" + end in saved
    assert len(saved.split(end)) == len(SKEL.split("\n")) + 8
    assert saved.replace(end, "").count("\n") == saved.replace(end, "").count("\r") == 0


def test_an_encoding_that_does_not_round_trip_is_not_edited() -> None:
    # In ISO-2022-JP a text may contain escape sequences that are not needed.
    text = "<?xml version='1.0' encoding='ISO-2022-JP'?>\n" + SKEL.partition("\n")[2]
    data = text.encode("iso2022_jp").replace(b"ACME", b"\x1b$B\x1b(BACME")
    scene = exoskel.load(data)
    assert saved_bytes(scene) == data
    scene.world.name = "other"
    with pytest.raises(exoskel.SaveError, match="several byte sequences"):
        saved_bytes(scene)
