"""Written and read back, a scene is the same scene: in its own format, in the other one, and home again."""

from __future__ import annotations

from pathlib import Path

import pytest

import exoskel
from exoskel.formats.write import reread, write
from exoskel.scene.content import FIELDS, differences, value, walk
from exoskel.scene.joint import Joint
from tests.support.scenes import all_files, name_of

FILES = all_files()
FORMATS = ("skel", "xode")


def load(file: Path) -> exoskel.Scene:
    scene = exoskel.load(file)
    if not scene.worlds:
        pytest.skip("the example holds no world")
    return scene


def unlike(one: exoskel.Scene, other: exoskel.Scene, tolerance: float = 1e-12) -> list[str]:
    ours, theirs = list(walk(one)), list(walk(other))
    if [type(row[0]) for row in ours] != [type(row[0]) for row in theirs]:
        return ["not the same parts in the same order"]
    pairs = [(a[0], b[0]) for a, b in zip(ours, theirs, strict=True)]
    return [f"{d.one!r}.{d.field}: {d.error}" for d in differences(pairs, tolerance)]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_a_written_scene_reads_back_as_the_same(file: Path, format: str) -> None:
    scene = load(file)
    if format == "skel" and len(scene.worlds) > 1:
        with pytest.raises(exoskel.ExoskelError, match="SKEL holds one world"):
            write(scene, format, folder=file.parent)
        return
    written = write(scene, format, folder=file.parent)
    again = reread(written.data, format, file.parent)
    assert unlike(scene, again) == []
    assert not [d for d in again.diagnostics if d.code in ("SK098", "X910")]
    assert write(again, format, folder=file.parent).data == written.data, "writing again gives other bytes"


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_there_and_home_again(file: Path) -> None:
    """SKEL → XODE → SKEL and XODE → SKEL → XODE give back the scene, through what is carried."""
    scene = load(file)
    if len(scene.worlds) > 1:
        pytest.skip("SKEL holds one world")
    home = scene.reading.format
    away = "xode" if home == "skel" else "skel"
    abroad = reread(write(scene, away, folder=file.parent).data, away, file.parent)
    back = reread(write(abroad, home, folder=file.parent).data, home, file.parent)
    assert unlike(scene, back) == []


@pytest.mark.parametrize("file", [f for f in FILES if f.suffix == ".skel"], ids=name_of)
def test_what_skel_stores_as_authored_comes_back_bit_by_bit(file: Path) -> None:
    scene = load(file)
    again = reread(write(scene, "skel", folder=file.parent).data, "skel", file.parent)
    for (one, _, _), (other, _, _) in zip(walk(scene), walk(again), strict=True):
        for field in FIELDS[type(one)]:
            if field in ("pose", "inertia", "soft"):  # angles beyond half a turn are written within it
                continue
            if field == "axes" and isinstance(one, Joint) and one.kind == "universal":  # written at unit length
                continue
            if isinstance(one, Joint) and field == "dofs":
                assert value(one, field) == value(other, field)
            assert value(one, field) == value(other, field), f"{one!r}.{field}"


def test_writing_is_deterministic() -> None:
    scene = exoskel.load("dart://sample/skel/walker.skel")
    assert write(scene, "xode").data == write(exoskel.load("dart://sample/skel/walker.skel"), "xode").data


@pytest.mark.parametrize("file", [f for f in FILES if f.suffix == ".xode"], ids=name_of)
def test_a_written_xode_file_states_the_plain_version(file: Path) -> None:
    assert b'<xode version="1.0r22"' in write(load(file), "xode", folder=file.parent).data
