"""The embedded rows that group bodies into models in XODE files, which has no elements for models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import exoskel
from exoskel.formats.save import saved_bytes
from exoskel.formats.write import reread, write
from exoskel.scene.json_codec import fingerprint
from tests.saving.documents import XODE
from tests.saving.support import (
    Edit,
    changed_lines,
    changed_lines_stripped,
    edited,
    name_of,
    own_files,
    save_and_verify,
)

ARM = """\
<skel version="1.0"><world name="w"><physics><gravity>0 0 -9.81</gravity></physics>
<skeleton name="arm">
<body name="a"><transformation>0 0 1 0 0 0</transformation><inertia><mass>1</mass></inertia></body>
<body name="b"><transformation>1 0 1 0 0 0.5</transformation><inertia><mass>1</mass></inertia></body>
<joint type="free" name="ja"><parent>world</parent><child>a</child></joint>
<joint type="revolute" name="jb"><parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz></axis></joint>
</skeleton>%s</world></skel>
"""
BASE = (
    '<skeleton name="base"><mobile>false</mobile><body name="g"><inertia><mass>1</mass></inertia></body>'
    '<joint type="weld" name="jg"><parent>world</parent><child>g</child></joint></skeleton>'
)
CONVERTED = pytest.mark.parametrize("more", ["", BASE], ids=["alone", "beside a static model"])


def converted(more: str = "") -> bytes:
    """An arm converted to XODE."""
    return write(exoskel.load(ARM % more), "xode").data


def add(world: Any) -> None:
    world.model("arm").add_body("c", parent="b", joint="revolute", axes=((1.0, 0.0, 0.0),), mass=2.0)


def rows(data: bytes) -> list[str]:
    return [line.strip() for line in data.decode().splitlines() if "<models>" in line]


EDITS: dict[str, Edit] = {
    "rename root": lambda w: w.model("arm").rename("a", "A2"),
    "rename tip": lambda w: w.model("arm").rename("b", "B2"),
    "rename joint": lambda w: w.model("arm").rename("jb", "J2"),
    "rename root joint": lambda w: w.model("arm").rename("ja", "J2"),
    "rename model": lambda w: w.rename("arm", "leg"),
    "add": add,
    "remove": lambda w: w.model("arm").remove("b"),
    "remove root": lambda w: w.model("arm").remove("a", subtree=True),
    "remove all": lambda w: w.remove("arm"),
    "loosen": lambda w: w.model("arm").remove("jb"),
    "static": lambda w: setattr(w.model("arm"), "static", True),
    "add model": lambda w: w.add_model("M2").add_body("z", joint_name="my free"),
}


@CONVERTED
@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_a_converted_file_can_be_edited(edit: Edit, more: str) -> None:
    scene = exoskel.load(converted(more))
    edit(scene.world)
    names = names_of(scene)
    again = exoskel.load(save_and_verify(scene))
    assert names_of(scene) == names_of(again) == names
    assert not [str(found) for found in again.diagnostics if found.code == "X910"]


def names_of(scene: Any) -> list[object]:
    return [(m.name, m.static, [b.name for b in m.bodies], [j.name for j in m.joints]) for m in scene.world.models]


def test_renaming_a_model_changes_only_the_embedded_row() -> None:
    before = converted(BASE)
    removed, new = changed_lines_stripped(before, edited(before, lambda w: w.model("arm").rename("b", "B2")))
    assert [line for line in removed if "models" in line] == [
        '<models>[{"name": "arm", "at": 0, "bodies": ["a", "b"]}, '
        '{"name": "base", "at": 1, "bodies": ["g"], "static": true}]</models>'
    ]
    assert len(removed) == len(new) == 3, "the body, the link to it, the row"


def test_a_redundant_row_is_removed() -> None:
    saved = edited(converted(), lambda w: w.rename("arm", "a"))
    assert rows(saved) == []


def test_a_new_model_and_its_joint_keep_their_names() -> None:
    scene = exoskel.load(XODE)
    scene.world.add_model("M2").add_body("z", joint_name="my free")
    saved = save_and_verify(scene)
    for found in (scene, exoskel.load(saved)):
        assert [m.name for m in found.world.models] == ["environment", "crate", "M2"]
        assert [j.name for j in found.world.model("M2").joints] == ["my free"]
    assert changed_lines(XODE, saved)[0] == []


def test_a_model_named_after_its_body_needs_no_row() -> None:
    assert rows(edited(XODE, lambda w: w.add_model("z").add_body("z"))) == []


def test_a_default_model_name_follows_its_body_when_models_are_added() -> None:
    def edit(world: Any) -> None:
        world.model("crate").rename("crate", "box")
        world.add_model("M2").add_body("z")

    assert [m.name for m in exoskel.load(edited(XODE, edit)).world.models] == ["environment", "box", "M2"]


@pytest.mark.parametrize(
    "text", [XODE, converted(), converted(BASE)], ids=["authored", "converted", "with a static model"]
)
def test_a_model_is_moved_with_its_bodies(text: Any) -> None:
    scene = exoskel.load(text)
    model = scene.world.models[1 if text is XODE else 0]
    pose = exoskel.Pose((1.0, 2.0, 3.0), exoskel.Euler((0.0, 0.0, 0.5)))
    model.pose = pose
    places = exoskel.Kinematics(scene.world.models).poses()
    saved = save_and_verify(scene)
    again = exoskel.load(saved)
    assert again.world.models[1 if text is XODE else 0].pose == pose
    native = reread(saved, "xode", None, apply_embedded_data=False)
    for seen in (again, native):
        assert exoskel.Kinematics(seen.world.models).poses() == pytest.approx(places, abs=1e-12)


def test_a_body_of_a_moved_model_can_be_edited() -> None:
    text = ARM.replace('<skeleton name="arm">', '<skeleton name="arm"><transformation>1 2 3 0 0 1</transformation>')
    scene = exoskel.load(write(exoskel.load(text % ""), "xode").data)
    body = scene.world.model("arm").body("b")
    body.pose = exoskel.Pose((1.0, 0.5, 1.0))
    save_and_verify(scene)
    assert body.pose == exoskel.Pose((1.0, 0.5, 1.0))


def test_a_body_can_be_edited_below_a_joint_with_an_initial_position() -> None:
    text = (ARM % "").replace("</axis></joint>", "</axis><init_pos>0.75</init_pos></joint>")
    scene = exoskel.load(write(exoskel.load(text), "xode").data)
    scene.world.model("arm").body("b").pose = exoskel.Pose((1.0, 0.5, 1.0))
    places = exoskel.Kinematics(scene.world.models).poses()
    native = reread(save_and_verify(scene), "xode", None, apply_embedded_data=False)
    assert exoskel.Kinematics(native.world.models).poses() == pytest.approx(places, abs=1e-12)


SKELS = [path for path in own_files() if path.suffix == ".skel"]


@pytest.mark.parametrize("path", SKELS, ids=name_of)
def test_every_model_of_a_converted_file_can_be_renamed_moved_and_extended(path: Path) -> None:
    data = write(exoskel.load(path), "xode", folder=path.parent).data
    scene = exoskel.load(data, base=str(path.with_suffix(".xode")))
    for world in scene.worlds:
        for number, model in enumerate(world.models):
            world.rename(model, f"model {number}")
            model.pose = exoskel.Pose((1.0, 2.0, 3.0), exoskel.Euler((0.1, 0.2, 0.3)))
            for body in list(model.bodies):
                model.rename(body, f"{body.name} of {number}")
            model.add_body(f"added {number}", parent=model.bodies[0] if model.bodies else None, joint="ball")
    save_and_verify(scene)


@pytest.mark.parametrize("path", SKELS, ids=name_of)
def test_every_model_of_a_converted_file_can_be_made_static_or_movable(path: Path) -> None:
    data = write(exoskel.load(path), "xode", folder=path.parent).data
    scene = exoskel.load(data, base=str(path.with_suffix(".xode")))
    for world in scene.worlds:
        for model in world.models:
            model.static = not model.static
    save_and_verify(scene)


def test_a_model_of_an_authored_file_can_be_made_static() -> None:
    saved = edited(XODE, lambda w: setattr(w.model("crate"), "static", True))
    assert exoskel.load(saved).world.model("crate").static
    assert rows(edited(saved, lambda w: setattr(w.model("crate"), "static", False))) == []


def test_a_model_stays_one_model_when_its_joints_are_removed() -> None:
    saved = edited(XODE, lambda w: w.model("crate").remove("hinge"))
    model = exoskel.load(saved).world.model("crate")
    assert [body.name for body in model.bodies] == ["crate", "ball"]
    assert [joint.kind for joint in model.joints] == ["free", "free"]


def test_rows_refer_to_the_names_in_the_file() -> None:
    """Rows do not use embedded names, also if these come first in the file."""
    text = converted(BASE).decode()
    start, end = text.index('    <ext ename="exoskel">\n'), text.index("    <space>")
    moved = text[:start] + text[end:].replace("  </world>", text[start:end] + "  </world>")
    named = moved.replace(
        '<body name="b">', '<body name="b"><ext ename="exoskel"><carry field="name" was="%s">"n"</carry></ext>'
    )
    scene = exoskel.load(named % fingerprint("b"))
    assert [m.name for m in scene.world.models] == ["arm", "base"]
    assert scene.world.model("arm").body("n")
    assert not [d for d in scene.diagnostics if d.code == "X910"]
    assert saved_bytes(scene) == (named % fingerprint("b")).encode()
