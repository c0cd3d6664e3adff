"""How bodies are grouped into models, in XODE files: the format has no words for it, so it is carried and kept true."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import exoskel
from exoskel.formats.save import saved_bytes
from exoskel.formats.write import reread, write
from exoskel.scene.json_codec import fingerprint
from tests.saving.documents import XODE
from tests.saving.support import Edit, edited, lines, name_of, own_files, proved, stripped

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
CONVERTED = pytest.mark.parametrize("more", ["", BASE], ids=["alone", "beside a static one"])


def converted(more: str = "") -> bytes:
    """An arm as our own converter writes it in XODE."""
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
def test_a_converted_file_is_edited_like_any_other(edit: Edit, more: str) -> None:
    scene = exoskel.load(converted(more))
    edit(scene.world)
    names = told(scene)
    again = exoskel.load(proved(scene))
    assert told(scene) == told(again) == names
    assert not [str(found) for found in again.diagnostics if found.code == "X910"]


def told(scene: Any) -> list[object]:
    return [(m.name, m.static, [b.name for b in m.bodies], [j.name for j in m.joints]) for m in scene.world.models]


def test_the_row_of_models_changes_with_a_name_and_nothing_else_does() -> None:
    before = converted(BASE)
    gone, new = stripped(before, edited(before, lambda w: w.model("arm").rename("b", "B2")))
    assert [line for line in gone if "models" in line] == [
        '<models>[{"name": "arm", "at": 0, "bodies": ["a", "b"]}, '
        '{"name": "base", "at": 1, "bodies": ["g"], "static": true}]</models>'
    ]
    assert len(gone) == len(new) == 3, "the body, the link to it, the row"


def test_a_row_that_says_no_more_than_the_file_does_goes() -> None:
    saved = edited(converted(), lambda w: w.rename("arm", "a"))
    assert rows(saved) == []


def test_a_new_model_keeps_its_name_and_that_of_its_joint() -> None:
    scene = exoskel.load(XODE)
    scene.world.add_model("M2").add_body("z", joint_name="my free")
    saved = proved(scene)
    for found in (scene, exoskel.load(saved)):
        assert [m.name for m in found.world.models] == ["environment", "crate", "M2"]
        assert [j.name for j in found.world.model("M2").joints] == ["my free"]
    assert lines(XODE, saved)[0] == []


def test_a_model_that_is_called_after_its_body_needs_no_row() -> None:
    assert rows(edited(XODE, lambda w: w.add_model("z").add_body("z"))) == []


def test_a_name_that_follows_still_does_beside_new_models() -> None:
    def edit(world: Any) -> None:
        world.model("crate").rename("crate", "box")
        world.add_model("M2").add_body("z")

    assert [m.name for m in exoskel.load(edited(XODE, edit)).world.models] == ["environment", "box", "M2"]


@pytest.mark.parametrize(
    "text", [XODE, converted(), converted(BASE)], ids=["by hand", "converted", "with a static one"]
)
def test_a_model_is_moved_with_its_bodies(text: Any) -> None:
    scene = exoskel.load(text)
    model = scene.world.models[1 if text is XODE else 0]
    pose = exoskel.Pose((1.0, 2.0, 3.0), exoskel.Euler((0.0, 0.0, 0.5)))
    model.pose = pose
    places = exoskel.Kinematics(scene.world.models).poses()
    saved = proved(scene)
    again = exoskel.load(saved)
    assert again.world.models[1 if text is XODE else 0].pose == pose
    native = reread(saved, "xode", None, apply_embedded_data=False)
    for seen in (again, native):
        assert exoskel.Kinematics(seen.world.models).poses() == pytest.approx(places, abs=1e-12)


def test_a_body_of_a_model_that_is_moved_is_edited() -> None:
    text = ARM.replace('<skeleton name="arm">', '<skeleton name="arm"><transformation>1 2 3 0 0 1</transformation>')
    scene = exoskel.load(write(exoskel.load(text % ""), "xode").data)
    body = scene.world.model("arm").body("b")
    body.pose = exoskel.Pose((1.0, 0.5, 1.0))
    proved(scene)
    assert body.pose == exoskel.Pose((1.0, 0.5, 1.0))


def test_a_body_below_a_joint_that_starts_elsewhere_is_edited() -> None:
    text = (ARM % "").replace("</axis></joint>", "</axis><init_pos>0.75</init_pos></joint>")
    scene = exoskel.load(write(exoskel.load(text), "xode").data)
    scene.world.model("arm").body("b").pose = exoskel.Pose((1.0, 0.5, 1.0))
    places = exoskel.Kinematics(scene.world.models).poses()
    native = reread(proved(scene), "xode", None, apply_embedded_data=False)
    assert exoskel.Kinematics(native.world.models).poses() == pytest.approx(places, abs=1e-12)


SKELS = [path for path in own_files() if path.suffix == ".skel"]


@pytest.mark.parametrize("path", SKELS, ids=name_of)
def test_every_model_of_a_converted_file_is_renamed_moved_and_added_to(path: Path) -> None:
    made = write(exoskel.load(path), "xode", folder=path.parent).data
    scene = exoskel.load(made, base=str(path.with_suffix(".xode")))
    for world in scene.worlds:
        for number, model in enumerate(world.models):
            world.rename(model, f"model {number}")
            model.pose = exoskel.Pose((1.0, 2.0, 3.0), exoskel.Euler((0.1, 0.2, 0.3)))
            for body in list(model.bodies):
                model.rename(body, f"{body.name} of {number}")
            model.add_body(f"added {number}", parent=model.bodies[0] if model.bodies else None, joint="ball")
    proved(scene)


@pytest.mark.parametrize("path", SKELS, ids=name_of)
def test_every_model_of_a_converted_file_is_held_or_let_go(path: Path) -> None:
    made = write(exoskel.load(path), "xode", folder=path.parent).data
    scene = exoskel.load(made, base=str(path.with_suffix(".xode")))
    for world in scene.worlds:
        for model in world.models:
            model.static = not model.static
    proved(scene)


def test_a_static_model_of_a_file_by_hand_is_saved() -> None:
    saved = edited(XODE, lambda w: setattr(w.model("crate"), "static", True))
    assert exoskel.load(saved).world.model("crate").static
    assert rows(edited(saved, lambda w: setattr(w.model("crate"), "static", False))) == []


def test_a_model_that_its_joints_no_longer_hold_together_is_still_one() -> None:
    saved = edited(XODE, lambda w: w.model("crate").remove("hinge"))
    model = exoskel.load(saved).world.model("crate")
    assert [body.name for body in model.bodies] == ["crate", "ball"]
    assert [joint.kind for joint in model.joints] == ["free", "free"]


def test_rows_are_found_by_the_names_of_the_file_wherever_they_stand() -> None:
    """A carried name in front of the row is not the name that the row goes by."""
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
