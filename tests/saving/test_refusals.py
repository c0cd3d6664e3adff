"""Edits that cannot be saved, or only to a new file, and the errors they raise."""

from __future__ import annotations

from math import inf, nan
from pathlib import Path
from typing import Any

import pytest

import exoskel
from exoskel.formats.save import saved_bytes
from exoskel.formats.saving.verification import match
from exoskel.scene.joint import Mimic
from tests.saving.documents import SKEL, XODE
from tests.saving.support import Edit, edited, save_and_verify
from tests.support.edits import unchecked_values


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "robot.skel"
    path.write_text(SKEL, encoding="utf-8")
    return path


# --- new files --------------------------------------------------------------------------------------


def test_an_edit_unsupported_in_place_can_be_saved_to_a_new_file(file: Path, tmp_path: Path) -> None:
    scene = exoskel.load(file)
    scene.world.models.reverse()
    with pytest.raises(
        exoskel.SaveError, match="the order of the parts of a file cannot be changed; save to a new file"
    ):
        exoskel.save(scene)
    assert file.read_text(encoding="utf-8") == SKEL
    exoskel.save(scene, tmp_path / "new.skel")
    again = exoskel.load(tmp_path / "new.skel")
    assert [m.name for m in again.world.models] == ["table", "arm"]
    assert not match(scene, again).problem
    assert exoskel.load(file).world.models[0].name == "arm"


def test_no_new_file_is_suggested_if_that_would_fail_too(file: Path, tmp_path: Path) -> None:
    scene = exoskel.load(file)
    with unchecked_values():
        scene.world.gravity = (0.0, nan, 0.0)
    with pytest.raises(exoskel.SaveError) as found:
        exoskel.save(scene)
    assert "new file" not in str(found.value)
    with pytest.raises(exoskel.SaveError, match=r"the gravity of world '.*' is \(0, nan, 0\)"):
        exoskel.save(scene, tmp_path / "new.skel")
    assert not (tmp_path / "new.skel").exists()


# --- numbers ----------------------------------------------------------------------------------------


def dof(field: str, value: Any) -> Edit:
    return lambda world: setattr(world.models[-1].joints[-1].dofs[-1], field, value)


def field(name: str, value: Any) -> Edit:
    return lambda world: setattr(world, name, value)


def follow(world: Any) -> None:
    model = world.models[-1]
    model.joints[-1].mimic = Mimic("other", multiplier=nan)


ODD: list[tuple[str, Edit, str]] = [
    *[(XODE, dof(name, nan), f"dofs.*{name} of joint 'hinge' is nan") for name in ("damping", "stiffness", "velocity")],
    (XODE, dof("force_limits", (nan, 1.0)), r"force_limits of joint 'hinge' are \(nan, 1\)"),
    (XODE, dof("damping", inf), "damping of joint 'hinge' is inf|dofs of joint 'hinge' would change"),
    (XODE, follow, "the mimic.multiplier of joint 'hinge' is nan"),
    (XODE, field("erp", nan), "the erp of world 'lab' is nan"),
]


def follow_mount(world: Any) -> None:
    world.model("arm").joint("elbow").mimic = Mimic("mount", nan)


def elbow_dof(name: str, value: Any) -> Edit:
    return lambda world: setattr(world.model("arm").joint("elbow").dofs[0], name, value)


ODD += [
    (SKEL, elbow_dof("position_limits", (nan, 1.0)), r"position_limits of joint 'elbow' are \(nan, 1\)"),
    (SKEL, elbow_dof("force_limits", (nan, 1.0)), r"force_limits of joint 'elbow' are \(nan, 1\)"),
    (SKEL, follow_mount, "the mimic.multiplier of joint 'elbow' is nan"),
    (SKEL, field("erp", nan), "the erp of world '.*' is nan"),
]


@pytest.mark.parametrize(("text", "edit", "message"), ODD)
def test_the_error_names_a_number_that_is_not_finite(text: str, edit: Edit, message: str, tmp_path: Path) -> None:
    scene = exoskel.load(text)
    with unchecked_values():
        edit(scene.world)
    with pytest.raises(exoskel.SaveError, match=message):
        saved_bytes(scene)
    for name in ("new.skel", "new.xode"):
        with pytest.raises(exoskel.SaveError, match=r"joint '|world '"):
            exoskel.save(scene, tmp_path / name)
    for format in ("skel", "xode"):
        with pytest.raises(exoskel.ExoskelError):
            exoskel.convert(scene, tmp_path / f"c.{format}", strict=True)


# --- mimics -----------------------------------------------------------------------------------------


def pair() -> Any:
    scene = exoskel.Scene(worlds=[exoskel.World(name="built")])
    model = scene.world.add_model("m")
    moment = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)
    for name in "abc":
        model.add_body(name, joint="revolute", joint_name=f"j{name}", axes=((0.0, 0.0, 1.0),), moment=moment)
    model.joint("jb").mimic = Mimic("ja", 2.0)
    model.joint("jc").mimic = Mimic("jb")
    return model


@pytest.mark.parametrize("removed", ["ja", "a"])
def test_removing_a_joint_clears_the_mimics_that_refer_to_it(removed: str) -> None:
    model = pair()
    model.remove(removed)
    assert model.joint("jb").mimic is None
    assert model.joint("jc").mimic == Mimic("jb")


def test_a_cleared_mimic_is_removed_from_the_file() -> None:
    def follow(world: Any) -> None:
        world.model("arm").joint("elbow").mimic = Mimic("mount")

    saved = edited(SKEL, follow)
    scene = exoskel.load(saved)
    scene.world.model("arm").remove("mount")
    assert b"mimic" in saved and b"mimic" not in save_and_verify(scene)


def test_a_joint_cannot_mimic_itself(tmp_path: Path) -> None:
    model = pair()
    with pytest.raises(exoskel.ExoskelError, match="'jd' cannot mimic itself"):
        model.add_body("d", joint="revolute", joint_name="jd", axes=((0.0, 0.0, 1.0),), mimic=Mimic("jd"))
    assert [body.name for body in model.bodies] == ["a", "b", "c"]
    scene = exoskel.load(SKEL)
    scene.world.model("arm").joint("elbow").mimic = Mimic("elbow")
    for target in ("new.skel", "new.xode"):
        with pytest.raises(exoskel.SaveError, match="joint 'elbow' mimics itself"):
            exoskel.save(scene, tmp_path / target)


# --- names ------------------------------------------------------------------------------------------


def test_a_duplicate_name_in_xode_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "pair.xode"
    path.write_text(XODE, encoding="utf-8")
    scene = exoskel.load(path)
    scene.world.model("crate").rename("hinge", "ball")
    with pytest.raises(
        exoskel.SaveError, match=r"the joint cannot have this name.*duplicate name 'ball': a body on line"
    ):
        exoskel.save(scene)
    assert path.read_text(encoding="utf-8") == XODE
    exoskel.save(scene, tmp_path / "new.xode")
    again = exoskel.load(tmp_path / "new.xode")
    assert again.world.model("crate").joint("ball")
    assert not [found for found in again.diagnostics if found.code == "X208"]


def test_duplicate_names_of_the_source_are_accepted() -> None:
    text = XODE.replace('geom name="ball_geom"', 'geom name="ball"')
    edited(text, lambda w: setattr(w.model("crate").body("ball"), "mass", 2.0))


# --- kinds ------------------------------------------------------------------------------------------


def test_a_new_joint_kind_gets_its_own_degrees_of_freedom() -> None:
    joint = pair().joint("ja")
    joint.dofs[0].damping = 0.5
    joint.kind = "prismatic"
    assert joint.dofs[0].damping == 0.5
    joint.kind = "ball"
    assert len(joint.dofs) == 3 and joint.positions == (0.0, 0.0, 0.0)


def test_a_joint_kind_with_other_coordinates_is_saved() -> None:
    text = '<skel version="1.0"><world><skeleton name="s"><body name="b"/><joint type="free" name="j">'
    text += "<parent>world</parent><child>b</child><init_pos>1 0 0 0 0 0</init_pos></joint></skeleton></world></skel>"
    scene = exoskel.load(text)
    scene.world.model("s").joint("j").kind = "ball"
    assert exoskel.load(save_and_verify(scene)).world.model("s").joint("j").dof_count == 3


def test_a_wrong_number_of_axes_is_an_error(tmp_path: Path) -> None:
    scene = exoskel.load(SKEL)
    scene.world.model("arm").joint("elbow").kind = "universal"
    for target in ("new.skel", "new.xode"):
        with pytest.raises(
            exoskel.SaveError, match=r"wrong number of axes for joint 'elbow' \(universal\): expected 2, found 1"
        ):
            exoskel.save(scene, tmp_path / target)
