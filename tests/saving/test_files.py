"""Saving to files: complete files at the given path, or no change at all."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Any

import pytest

import exoskel
from exoskel.formats.save import saved_bytes
from exoskel.formats.saving.verification import match
from exoskel.samples import samples
from tests.saving.documents import SKEL, XODE
from tests.support.edits import unchecked_values


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "robot.skel"
    path.write_text(SKEL, encoding="utf-8")
    return path


def heavier(scene: Any) -> None:
    scene.world.model("arm").body("base").mass = 7.5


WANTED = SKEL.replace(" 5.00 ", " 7.5 ")


def test_a_scene_is_saved_to_its_own_file(file: Path) -> None:
    scene = exoskel.load(file)
    heavier(scene)
    exoskel.save(scene)
    assert file.read_text(encoding="utf-8") == WANTED


def test_a_saved_scene_can_be_edited_and_saved_again(file: Path) -> None:
    scene = exoskel.load(file)
    arm = scene.world.model("arm")
    heavier(scene)
    exoskel.save(scene)
    arm.add_body("hand", parent="fore", joint="weld", mass=0.5)
    exoskel.save(scene)
    with_hand = file.read_bytes()
    arm.body("hand").mass = 0.75
    arm.joint("elbow").dofs[0].damping = 0.5
    exoskel.save(scene)
    assert file.read_bytes() == with_hand.replace(b"<mass>0.5</mass>", b"<mass>0.75</mass>").replace(b"0.010", b"0.5")
    assert scene.where(arm.body("hand")).line == with_hand[: with_hand.index(b'"hand"')].count(b"\n") + 1  # type: ignore[union-attr]
    exoskel.save(scene)
    assert not match(scene, exoskel.load(file)).problem


def test_saving_updates_the_diagnostics(file: Path) -> None:
    file.write_text(SKEL.replace("<mass>2</mass>", "<mass>-2</mass>"), encoding="utf-8")
    scene = exoskel.load(file)
    assert [d for d in scene.diagnostics if "mass" in d.path]
    scene.world.model("arm").body("fore").mass = 2.5
    exoskel.save(scene)
    assert not [d for d in scene.diagnostics if "mass" in d.path]


def test_saving_to_another_file_does_not_change_the_source_of_a_scene(file: Path, tmp_path: Path) -> None:
    scene = exoskel.load(file)
    heavier(scene)
    exoskel.save(scene, tmp_path / "copy.skel")
    assert (tmp_path / "copy.skel").read_text(encoding="utf-8") == WANTED
    assert file.read_text(encoding="utf-8") == SKEL
    exoskel.save(scene)
    assert file.read_text(encoding="utf-8") == WANTED


def test_saved_bytes_does_not_change_the_scene(file: Path) -> None:
    scene = exoskel.load(file)
    heavier(scene)
    assert saved_bytes(scene).decode() == saved_bytes(scene).decode() == WANTED
    assert scene.documents[0].data.decode() == SKEL  # type: ignore[attr-defined]


def test_the_format_is_chosen_by_the_extension(file: Path, tmp_path: Path) -> None:
    scene = exoskel.load(file)
    exoskel.save(scene, tmp_path / "robot.xode")
    again = exoskel.load(tmp_path / "robot.xode")
    assert again.source_info.format == "xode"
    assert not match(scene, again).problem
    exoskel.save(scene, tmp_path / "robot.txt")
    assert (tmp_path / "robot.txt").read_text(encoding="utf-8") == SKEL, "by default the format of the source"
    exoskel.save(scene, tmp_path / "odd.txt", format="xode")
    assert exoskel.load(tmp_path / "odd.txt").source_info.format == "xode"
    with pytest.raises(exoskel.ExoskelError, match="unknown format 'obj'"):
        exoskel.save(scene, tmp_path / "x", format="obj")


def test_a_scene_built_by_a_program_needs_a_path(tmp_path: Path) -> None:
    scene = exoskel.Scene(worlds=[exoskel.World(name="built")])
    scene.world.add_model("m").add_body("b", mass=2.0, shapes=[exoskel.Box((1.0, 1.0, 1.0))])
    with pytest.raises(exoskel.ExoskelError, match="pass the path to save it to"):
        exoskel.save(scene)
    with pytest.raises(exoskel.ExoskelError, match="no extension"):
        exoskel.save(scene, tmp_path / "built")
    for extension in ("skel", "xode"):
        exoskel.save(scene, tmp_path / f"built.{extension}")
        assert exoskel.load(tmp_path / f"built.{extension}").world.model("m").body("b").mass == pytest.approx(2.0)


def test_a_scene_read_from_text_needs_a_path(tmp_path: Path) -> None:
    (tmp_path / "document").write_text("mine", encoding="utf-8")
    for scene in (exoskel.load(SKEL), exoskel.load(SKEL.encode()), exoskel.load(SKEL, base=tmp_path)):
        with pytest.raises(exoskel.ExoskelError, match="pass the path to save it to"):
            exoskel.save(scene)
    assert (tmp_path / "document").read_text(encoding="utf-8") == "mine"


def test_a_sample_is_not_overwritten() -> None:
    scene = exoskel.load(samples()[0].uri)
    scene.world.name = "mine now"
    with pytest.raises(exoskel.ExoskelError, match="pass the path to save it to"):
        exoskel.save(scene)


def test_a_merged_scene_is_written_as_a_new_document(file: Path, tmp_path: Path) -> None:
    other = exoskel.load(XODE)
    merged = exoskel.merge(exoskel.load(file), other)
    exoskel.save(merged, tmp_path / "merged.skel")
    again = exoskel.load(tmp_path / "merged.skel")
    assert [m.name for m in again.world.models] == [m.name for m in merged.world.models]
    assert file.read_text(encoding="utf-8") == SKEL


# --- refusals ---------------------------------------------------------------------------------------


def nothing(scene: Any) -> None:
    with unchecked_values():
        scene.world.gravity = (0.0, float("nan"), 0.0)


def infinite(scene: Any) -> None:
    with unchecked_values():
        scene.world.model("arm").body("base").inertia.com = (float("inf"), 0.0, 0.0)


def reversed_order(scene: Any) -> None:
    scene.world.models.reverse()


def control_character(scene: Any) -> None:
    scene.world.model("arm").body("base").name = "a\x00b"


def circle(scene: Any) -> None:
    scene.world.model("arm").joint("mount").parent = scene.world.model("arm").body("fore")


@pytest.mark.parametrize("edit", [nothing, infinite, reversed_order, control_character, circle])
def test_an_unsupported_edit_raises_and_does_not_change_the_file(file: Path, edit: Any) -> None:
    os.utime(file, ns=(1_000_000_000, 1_000_000_000))
    scene = exoskel.load(file)
    edit(scene)
    with pytest.raises(exoskel.SaveError):
        exoskel.save(scene)
    assert file.read_text(encoding="utf-8") == SKEL
    assert file.stat().st_mtime_ns == 1_000_000_000
    assert os.listdir(file.parent) == ["robot.skel"]


def test_the_error_states_the_reason(file: Path) -> None:
    scene = exoskel.load(file)
    circle(scene)
    with pytest.raises(exoskel.SaveError, match="cannot be saved: the joints of these bodies form a cycle: base, fore"):
        exoskel.save(scene)


def test_a_refused_edit_can_be_undone(file: Path) -> None:
    scene = exoskel.load(file)
    gravity = scene.world.gravity
    nothing(scene)
    with pytest.raises(exoskel.SaveError):
        exoskel.save(scene)
    scene.world.gravity = gravity
    heavier(scene)
    exoskel.save(scene)
    assert file.read_text(encoding="utf-8") == WANTED


def test_a_world_that_the_file_does_not_state_cannot_be_edited() -> None:
    scene = exoskel.load('<skel version="1.0"><skeleton name="a"><body name="b"/></skeleton></skel>')
    scene.world.gravity = (0.0, 0.0, -1.0)
    with pytest.raises(exoskel.SaveError, match="gravity of world"):
        saved_bytes(scene)


# --- the file system --------------------------------------------------------------------------------


def test_permissions_are_preserved(file: Path) -> None:
    file.chmod(0o640)
    scene = exoskel.load(file)
    heavier(scene)
    exoskel.save(scene)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_a_link_stays_a_link(file: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.skel"
    link.symlink_to(file)
    scene = exoskel.load(link)
    heavier(scene)
    exoskel.save(scene)
    assert link.is_symlink()
    assert file.read_text(encoding="utf-8") == WANTED


def test_a_failed_write_preserves_the_old_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = exoskel.load(file)
    heavier(scene)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patches:
        patches.setattr(os, "replace", fail)
        with pytest.raises(OSError, match="no space left"):
            exoskel.save(scene)
    assert file.read_text(encoding="utf-8") == SKEL
    assert os.listdir(file.parent) == ["robot.skel"]
    exoskel.save(scene)
    assert file.read_text(encoding="utf-8") == WANTED, "the edits are preserved"


def test_a_missing_folder_is_an_error(file: Path, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="cannot write"):
        exoskel.save(exoskel.load(file), tmp_path / "nowhere" / "x.skel")


@pytest.mark.parametrize(
    ("name", "writer"),
    [
        ("x.png", "exoskel.render"),
        ("x.MP4", "exoskel.render"),
        ("x.html", "exoskel.export"),
        ("x.npz", "exoskel.run(scene).save"),
    ],
)
def test_files_that_are_no_scenes_are_refused_with_what_writes_them(
    name: str, writer: str, file: Path, tmp_path: Path
) -> None:
    for scene in (exoskel.load(file), exoskel.World("built")):
        with pytest.raises(exoskel.ExoskelError, match=f"files are written by {re.escape(writer)}"):
            exoskel.save(scene, tmp_path / name)
    with pytest.raises(exoskel.ExoskelError, match=f"files are written by {re.escape(writer)}"):
        exoskel.convert(file, tmp_path / name)
    assert os.listdir(tmp_path) == ["robot.skel"]
