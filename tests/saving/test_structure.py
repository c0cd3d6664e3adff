"""Adding, removing and renaming parts of a scene in its file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import exoskel
from exoskel.formats.save import saved_bytes
from exoskel.scene.json_codec import name_in_file
from tests.saving.documents import SKEL, XODE
from tests.saving.support import changed_lines_stripped, content, edited, name_of, own_files, save_and_verify

FILES = own_files()
FILE = pytest.mark.parametrize("path", FILES, ids=name_of)


def is_within(lines: list[bytes], others: list[bytes]) -> bool:
    """Whether all lines are contained in others, in order."""
    rest = iter(others)
    return all(line in rest for line in lines)


def moving(scene: Any) -> Any:
    """The last model that has bodies of its own, if there is one."""
    return next(
        (m for m in reversed(scene.worlds[0].models) if m.bodies and m.bodies[0].node >= 0 and not m.static), None
    )


# --- adding -----------------------------------------------------------------------------------------


@FILE
def test_an_added_body_only_adds_lines(path: Path) -> None:
    scene = exoskel.load(path)
    model = moving(scene)
    if model is None:
        model = scene.worlds[0].add_model("more")
    parent = model.bodies[-1] if model.bodies else None
    kind: Any = "revolute" if parent is not None else "free"
    axes = ((0.0, 0.0, 1.0),) if parent is not None else ()
    added = model.add_body(
        "added", parent=parent, joint=kind, axes=axes, mass=2.0, shapes=[exoskel.Box((1.0, 2.0, 3.0))]
    )
    before = content(path)
    saved = save_and_verify(scene)
    assert is_within(before.splitlines(), saved.splitlines())
    assert added.node >= 0 and model.body("added") is added


@FILE
def test_an_added_model_only_adds_lines(path: Path) -> None:
    scene = exoskel.load(path)
    model = scene.worlds[0].add_model("added")
    model.add_body("added", mass=2.0, moment=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0), shapes=[exoskel.Sphere(0.5)])
    assert is_within(content(path).splitlines(), save_and_verify(scene).splitlines())


def test_a_body_and_its_joint_are_added_behind_the_others() -> None:
    saved = edited(
        SKEL,
        lambda w: w.model("arm").add_body(
            "hand", parent="fore", joint="revolute", axes=((1.0, 0.0, 0.0),), mass=0.5, shapes=[exoskel.Sphere(0.05)]
        ),
    ).decode()
    lines = [line.strip() for line in saved.splitlines() if "<body" in line or "<joint" in line]
    assert lines[:3] == ['<body name="base">', '<body name="fore">', '<body name="hand">']
    assert lines[4:6] == ['<joint  name="elbow"   type="revolute">', '<joint type="revolute" name="hand_joint">']
    assert "moment_of_inertia" not in saved[saved.index('"hand"') : saved.index("<joint")], "the moment is derived"


def test_shapes_and_markers_are_added_behind_others_of_their_kind() -> None:
    def edit(world: Any) -> None:
        base = world.model("arm").body("base")
        base.visuals.append(exoskel.Shape(geometry=exoskel.Sphere(0.5), color=(1.0, 0.0, 0.0, 1.0)))
        base.collisions.insert(0, exoskel.Shape(geometry=exoskel.Sphere(0.5)))
        base.markers.append(exoskel.Marker(name="mark", offset=(1.0, 2.0, 3.0)))

    removed, new = changed_lines_stripped(SKEL, edited(SKEL, edit))
    assert not removed
    assert [line for line in new if "shape" in line or "marker" in line] == [
        "<visualization_shape>",
        "</visualization_shape>",
        "<collision_shape>",
        "</collision_shape>",
        '<marker name="mark">',
        "</marker>",
    ]


def test_a_loop_joint_is_added_to_xode() -> None:
    def edit(world: Any) -> None:
        model = world.model("crate")
        model.add_joint("loop", "ball", child=model.body("ball"), parent=model.body("crate"))

    saved = edited(XODE, edit)
    assert exoskel.load(saved).world.model("crate").joint("loop").loop
    assert changed_lines_stripped(XODE, saved)[0] == []


def test_bodies_added_to_a_space_with_a_transform_have_the_right_pose() -> None:
    text = XODE.replace(
        '<space name="room">\n',
        '<space name="room">\n\t\t\t<transform><position x="5" y="0" z="0"/></transform>\n',
    )

    def edit(world: Any) -> None:
        pose = exoskel.Pose((1.0, 2.0, 3.0))
        world.add_model("added").add_body("added", pose=pose, mass=2.0, moment=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0))

    saved = edited(text, edit)
    assert next(b for b in exoskel.load(saved).world.bodies() if b.name == "added").pose.position == (1.0, 2.0, 3.0)


def test_a_model_of_another_scene_can_be_added() -> None:
    scene, other = exoskel.load(SKEL), exoskel.load(SKEL.replace('name="arm"', 'name="second"'))
    scene.world.add(other.world.model("second"))
    saved = save_and_verify(scene)
    assert saved.count(b"<skeleton ") == 3
    assert is_within(SKEL.encode().splitlines(), saved.splitlines())


def test_a_model_is_added_to_a_bare_skeleton() -> None:
    text = '<skel version="1.0">\n  <skeleton name="a">\n    <body name="b"/>\n  </skeleton>\n</skel>\n'
    saved = edited(text, lambda w: w.add_model("more").add_body("c", mass=1.0, moment=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0)))
    assert is_within(text.encode().splitlines(), saved.splitlines())
    assert b'  </skeleton>\n  <skeleton name="more">\n' in saved


# --- removing ---------------------------------------------------------------------------------------


@FILE
def test_removing_a_model_removes_only_its_lines(path: Path) -> None:
    scene = exoskel.load(path)
    world = scene.worlds[0]
    world.remove(world.models[-1])
    if path.name == "10_bare.skel":  # a file without a world has only this model
        with pytest.raises(exoskel.SaveError):
            saved_bytes(scene)
        return
    assert is_within(save_and_verify(scene).splitlines(), content(path).splitlines())


@pytest.mark.parametrize("path", [path for path in FILES if path.name != "pyode_dialect.xode"], ids=name_of)
def test_removing_parts_removes_only_their_lines(path: Path) -> None:
    scene = exoskel.load(path)
    model = moving(scene)
    parents = {id(joint.parent) for joint in model.joints} if model else set()
    for body in [b for b in model.bodies[1:] if id(b) not in parents][:1] if model else []:
        model.remove(body)
    for body in scene.worlds[0].bodies():
        del body.visuals[1:], body.collisions[1:], body.markers[:]
    saved = save_and_verify(scene)
    assert is_within(saved.splitlines(), content(path).splitlines())


def test_removing_a_middle_body_in_xode_leaves_one_model() -> None:
    scene = exoskel.load("dart://sample/xode/pyode_dialect.xode")
    model = scene.world.model("platform")
    model.remove("pump_rod")
    names = [body.name for body in model.bodies]
    again = exoskel.load(save_and_verify(scene), dialect=scene.source_info.semantics)
    assert [body.name for body in again.world.model("platform").bodies] == names


def test_a_body_with_children_is_removed_with_them_or_refused() -> None:
    scene = exoskel.load(SKEL)
    arm = scene.world.model("arm")
    with pytest.raises(exoskel.ExoskelError, match=r"has bodies below it \('fore'"):
        arm.remove("base")
    assert saved_bytes(scene).decode() == SKEL
    arm.remove("base", subtree=True)
    arm.add_body("stump", mass=1.0, moment=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
    saved = save_and_verify(scene)
    assert saved.count(b"<body ") == 2 and b"<child>stump</child>" in saved


def test_removing_a_joint_leaves_a_floating_body() -> None:
    scene = exoskel.load(SKEL)
    scene.world.model("arm").remove("elbow")
    saved = save_and_verify(scene).decode()
    start, end = SKEL.index('      <joint  name="elbow"'), SKEL.index("    </skeleton>")
    assert saved.startswith(SKEL[:start]) and saved.endswith(SKEL[end:])
    added = [line.strip() for line in saved[start : len(saved) - len(SKEL[end:])].splitlines()]
    assert added == [
        '<joint type="free" name="fore_root">',
        "<parent>world</parent>",
        "<child>fore</child>",
        "</joint>",
    ]


def test_removing_a_shape_removes_its_lines() -> None:
    removed, new = changed_lines_stripped(SKEL, edited(SKEL, lambda w: w.model("arm").body("base").collisions.clear()))
    assert not new
    assert (removed[0], removed[-1], len(removed)) == ("<collision_shape>", "</collision_shape>", 7)


def test_an_item_removed_and_added_again_is_written_as_new() -> None:
    scene = exoskel.load(SKEL)
    arm = scene.world.model("arm")
    arm.remove("fore")
    first = save_and_verify(scene)
    arm.add_body("fore", parent="base", joint="weld", mass=2.0, moment=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
    second = save_and_verify(scene)
    assert is_within(first.splitlines(), second.splitlines())


# --- renaming ---------------------------------------------------------------------------------------


NAMED = [path for path in FILES if path.name not in ("9_dialect.xode", "pyode_dialect.xode", "5_shapes.xode")]
"""Two files have a PyBrain comment that refers to bodies by name; the third has no bodies."""


@pytest.mark.parametrize("path", NAMED, ids=name_of)
def test_renaming_everything_changes_only_lines_with_names(path: Path) -> None:
    scene = exoskel.load(path)
    for world in scene.worlds:
        for model in world.models:
            for item in (*model.bodies, *model.joints):
                if item.node >= 0 and not getattr(item, "implicit", False):
                    model.rename(item, item.name + "-new")
    before = content(path).decode().splitlines()
    saved = save_and_verify(scene).decode().splitlines()
    assert len(saved) == len(before)
    changed = [(a, b) for a, b in zip(before, saved, strict=True) if a != b]
    assert changed
    assert all("-new" in b and (b.replace("-new", "") == a or "name" not in a) for a, b in changed)


def test_a_body_that_a_pybrain_comment_names_cannot_be_renamed() -> None:
    scene = exoskel.load("dart://sample/xode/pyode_dialect.xode")
    scene.world.model("platform").rename("platform", "floor")
    with pytest.raises(exoskel.SaveError):
        saved_bytes(scene)


def test_names_may_contain_any_xml_character() -> None:
    name = "a<b>&'\"c é 腕"
    scene = exoskel.load(SKEL)
    scene.world.model("arm").rename("base", name)
    saved = save_and_verify(scene)
    assert exoskel.load(saved).world.model("arm").joint("elbow").parent.name == name  # type: ignore[union-attr]


def test_names_can_be_swapped() -> None:
    def edit(world: Any) -> None:
        base, fore = world.model("arm").bodies
        base.name, fore.name = fore.name, base.name

    saved = edited(SKEL, edit).decode()
    assert '<body name="fore">\n        <transformation>0  0 0.50' in saved
    assert "<parent>fore</parent>\n        <child>base</child>" in saved


def test_reordering_is_refused() -> None:
    for text in (SKEL, XODE):
        scene = exoskel.load(text)
        scene.world.models.reverse()
        with pytest.raises(exoskel.SaveError, match="order"):
            saved_bytes(scene)


# --- fields that are not free to take any value -----------------------------------------------------


@pytest.mark.parametrize("text", [SKEL, XODE], ids=["skel", "xode"])
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("limits_enforced", False),
        ("collide_connected", True),
        ("collision_exempt_groups", [("a", "b")]),
    ],
)
def test_fields_that_no_format_states_are_embedded_and_read_back(text: str, field: str, value: Any) -> None:
    def edit(world: Any) -> None:
        joint = next(joint for joint in world.joints() if joint.kind == "revolute")
        setattr(world if field == "collision_exempt_groups" else joint, field, value)

    saved = edited(text, edit)
    removed, new = changed_lines_stripped(text, saved)
    assert not removed
    assert any(f'field="{name_in_file(field)}"' in line for line in new)
    assert edited(saved, lambda world: None) == saved


@pytest.mark.parametrize("text", [SKEL, XODE], ids=["skel", "xode"])
@pytest.mark.parametrize("field", ["collapses", "swapped"])
def test_flags_of_universal_joints_are_saved_at_these_and_refused_at_others(text: str, field: str) -> None:
    def edit(world: Any, kind: str) -> None:
        joint = next(joint for joint in world.joints() if joint.kind == "revolute")
        joint.kind = kind
        if kind == "universal":
            joint.axes = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
        setattr(joint, field, True)

    saved = edited(text, lambda world: edit(world, "universal"))
    (joint,) = [joint for joint in exoskel.load(saved).world.joints() if joint.kind == "universal"]
    assert getattr(joint, field)
    with pytest.raises(exoskel.SaveError, match=f"{field}=True, which only universal"):
        edited(text, lambda world: edit(world, "revolute"))


def test_a_new_joint_kind_replaces_the_element_in_xode() -> None:
    def edit(world: Any) -> None:
        joint = world.model("crate").joint("hinge")
        joint.kind, joint.pose = "prismatic", exoskel.Pose(rotation=joint.pose.rotation)

    saved = edited(XODE, edit).decode()
    assert "<slider>" in saved and "<hinge>" not in saved
    assert "<!-- the links are the wrong way round on purpose -->" in saved


def test_a_new_child_changes_the_link_in_xode() -> None:
    text = XODE.replace("\t\t\t<joint name", '\t\t\t<body name="spare"/>\n\t\t\t<joint name')
    scene = exoskel.load(text)
    model, spare = scene.world.model("crate"), scene.world.model("spare")
    assert model.joint("hinge").child.name == "ball"
    model.remove("ball")
    with pytest.raises(exoskel.ExoskelError):
        model.add_joint("again", "weld", child=spare.bodies[0])
    model.add_body("end", parent="crate", joint="weld", mass=1.0, moment=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
    saved = save_and_verify(scene)
    assert b'<link1 body="end"/>' in saved and b'body="ball"' not in saved
