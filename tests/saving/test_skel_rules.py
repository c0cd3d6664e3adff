"""Edits of SKEL files, field by field."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest

import exoskel
from tests.saving.documents import SKEL
from tests.saving.support import changed_lines_stripped, differing_bytes, edited, save_and_verify

FORE, BASE = "fore", "base"


def arm(world: Any) -> Any:
    return world.model("arm")


def set_body(name: str, **fields: Any) -> Any:
    return lambda world: [setattr(arm(world).body(name), field, value) for field, value in fields.items()]


def set_joint(**fields: Any) -> Any:
    return lambda world: [setattr(arm(world).joint("elbow"), field, value) for field, value in fields.items()]


def set_dof(**fields: Any) -> Any:
    return lambda world: [setattr(arm(world).joint("elbow").dofs[0], field, value) for field, value in fields.items()]


def set_shape(**fields: Any) -> Any:
    return lambda world: [setattr(arm(world).body(BASE).visuals[0], field, value) for field, value in fields.items()]


IN_PLACE: dict[str, tuple[Any, bytes, bytes]] = {
    "mass": (set_body(BASE, mass=7.25), b"5.00", b"7.25"),
    "a component of the centre of mass": (set_body(BASE, com=(0.0, 0.0, 0.25)), b".1", b"0.25"),
    "a component of a position": (set_body(FORE, pose=exoskel.Pose((0.0, 0.0, 1.5))), b"1.00", b"1.5"),
    "a component of a color": (set_shape(color=(0.8, 0.25, 0.8, 1.0)), b".8", b"0.25"),
    "a size": (set_shape(geometry=exoskel.Box((0.2, 0.3, 1.0))), b"0.2", b"0.3"),
    "an entry of a moment": (set_body(FORE, moment=(0.1, 0.1, 0.03, 0.0, 0.0, 0.0)), b"0.02", b"0.03"),
    "an axis": (set_joint(axes=((0.5, 1.0, 0.0),)), b"0 1.0", b"0.5 1.0"),
    "a limit": (set_dof(position_limits=(-1.5, 1.25)), b"1.50", b"1.25"),
    "damping": (set_dof(damping=0.5), b"0.010", b"0.5"),
    "an initial position": (set_dof(position=-1.0), b"0.250", b"-1"),
    "gravity": (lambda w: setattr(w, "gravity", (0.0, 0.0, -1.62)), b"-9.810", b"-1.62"),
    "time step": (lambda w: setattr(w, "time_step", 0.002), b"0.0010", b"0.002"),
    "a detector": (lambda w: setattr(w, "collision_detector", "bullet"), b"fcl_mesh", b"bullet"),
    "the world's name": (lambda w: setattr(w, "name", "den"), b"lab", b"den"),
    "a marker": (
        lambda w: setattr(arm(w).body(FORE).markers[0], "offset", (0.0, 0.0, 0.75)),
        b"0.5",
        b"0.75",
    ),
    "a joint's kind": (
        lambda w: setattr(arm(w).joint("elbow"), "kind", "prismatic"),
        b"revolute",
        b"prismatic",
    ),
    "a joint's name": (lambda w: arm(w).rename("elbow", "knee"), b"elbow", b"knee"),
    "a model's name": (lambda w: w.rename("arm", "leg"), b"arm", b"leg"),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_an_edited_value_changes_only_its_own_bytes(name: str) -> None:
    edit, old, new = IN_PLACE[name]
    saved = edited(SKEL, edit)
    start, removed, added = differing_bytes(SKEL.encode(), saved)
    # Bytes that both texts share at the ends are not counted as differing.
    assert removed in old and added in new
    place = SKEL.encode().rfind(old, 0, start + len(old) + 1)
    assert saved == SKEL.encode()[:place] + new + SKEL.encode()[place + len(old) :]


def test_a_mass_is_edited_in_a_long_file_with_comments() -> None:
    filler = "".join(f"    <!-- remark {i}: {'x' * 60} -->\n" for i in range(500))
    text = SKEL.replace('    <skeleton name="arm">\n', filler + '    <skeleton name="arm">\n')
    assert len(text) > 40_000
    assert edited(text, set_body(BASE, mass=6.5)).decode() == text.replace("<mass> 5.00 </mass>", "<mass> 6.5 </mass>")


# --- mass properties --------------------------------------------------------------------------------


def test_a_derived_moment_stays_derived_when_the_mass_changes() -> None:
    scene = exoskel.load(SKEL)
    body = scene.world.model("arm").body(BASE)
    before = body.moment
    body.mass *= 2
    saved = save_and_verify(scene)
    again = exoskel.load(saved).world.model("arm").body(BASE)
    assert b"moment_of_inertia" not in saved[: saved.index(b'name="fore"')]
    assert again.moment == pytest.approx([2 * entry for entry in before], rel=1e-12)


def test_a_stated_moment_does_not_change_with_the_mass() -> None:
    again = exoskel.load(edited(SKEL, set_body(FORE, mass=9.0))).world.model("arm").body(FORE)
    assert (again.mass, again.moment[:3]) == (9.0, (0.1, 0.1, 0.02))


@pytest.mark.parametrize("indent", ["  ", "    ", "\t", " "], ids=["two", "four", "tab", "one"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["lf", "crlf", "cr"])
def test_a_new_moment_is_indented_like_the_file(indent: str, end: str) -> None:
    text = "\n".join(indent * ((len(line) - len(line.lstrip())) // 2) + line.lstrip() for line in SKEL.split("\n"))
    text = text.replace("\n", end)
    saved = edited(text.encode(), set_body(BASE, moment=(1.0, 2.0, 3.0, 0.0, 0.0, 0.5))).decode()
    margin = indent * 5
    entries = zip(("ixx", "iyy", "izz", "ixy", "ixz", "iyz"), ("1", "2", "3", "0", "0", "0.5"), strict=True)
    block = [f"{margin}<moment_of_inertia>"]
    block += [f"{margin}{indent}<{tag}>{value}</{tag}>" for tag, value in entries]
    block += [f"{margin}</moment_of_inertia>"]
    after = f"{margin}<offset>0 0 .1</offset>{end}"
    assert saved == text.replace(after, after + end.join(block) + end)


def test_a_moment_that_is_derived_again_is_removed() -> None:
    saved = edited(SKEL, set_body(FORE, moment=None))
    removed, new = changed_lines_stripped(SKEL, saved)
    assert not new
    assert removed[0] == "<moment_of_inertia>" and removed[-1] == "</moment_of_inertia>"


def test_a_body_without_inertia_gets_one() -> None:
    saved = edited(SKEL, lambda world: setattr(world.model("table").body("top"), "mass", 30.0))
    removed, new = changed_lines_stripped(SKEL, saved)
    assert removed == ['<body name="top"/>']
    assert new[:3] == ['<body name="top">', "<inertia>", "<mass>30</mass>"]
    assert new[-2:] == ["</inertia>", "</body>"]


# --- shapes -----------------------------------------------------------------------------------------


def test_a_new_geometry_replaces_the_element() -> None:
    saved = edited(SKEL, set_shape(geometry=exoskel.Cylinder(0.1, 1.0)))
    wanted = b"<geometry><cylinder><radius>0.1</radius><height>1</height></cylinder></geometry>"
    assert SKEL.encode().replace(b"<geometry><box><size>0.2 0.2 1.0</size></box></geometry>", wanted) == saved


def test_a_new_geometry_replaces_an_element_of_several_lines() -> None:
    def edit(world: Any) -> None:
        arm(world).body(BASE).collisions[0].geometry = exoskel.Sphere(0.4)

    assert changed_lines_stripped(SKEL, edited(SKEL, edit)) == (
        ["<box>", "<size>0.2 0.2 1.0</size>", "</box>"],
        ["<sphere>", "<radius>0.4</radius>", "</sphere>"],
    )


def test_an_opaque_color_has_no_alpha() -> None:
    _, new = changed_lines_stripped(SKEL, edited(SKEL, set_shape(color=(0.8, 0.8, 0.8, 0.5))))
    assert new == ["<color>0.8 0.8 0.8 0.5</color>"]


def test_a_removed_color_removes_its_line() -> None:
    assert changed_lines_stripped(SKEL, edited(SKEL, set_shape(color=None))) == (["<color>0.8 .8 0.80</color>"], [])


# --- joints -----------------------------------------------------------------------------------------


def test_a_removed_limit_removes_its_element() -> None:
    assert changed_lines_stripped(SKEL, edited(SKEL, set_dof(position_limits=(-1.5, inf)))) == (
        ["<upper>1.50</upper>"],
        [],
    )
    removed, new = changed_lines_stripped(SKEL, edited(SKEL, set_dof(position_limits=(-inf, inf))))
    assert removed == ["<limit> <!-- rad -->", "<lower>-1.50</lower>", "<upper>1.50</upper>", "</limit>"]
    assert not new


def test_a_spring_is_added_to_the_dynamics() -> None:
    assert changed_lines_stripped(SKEL, edited(SKEL, set_dof(stiffness=4.0, rest=0.5))) == (
        [],
        ["<spring_rest_position>0.5</spring_rest_position>", "<spring_stiffness>4</spring_stiffness>"],
    )


def test_velocity_and_force_limits_are_added_as_a_dof_element() -> None:
    _, new = changed_lines_stripped(SKEL, edited(SKEL, set_dof(velocity_limits=(-2.0, 2.0), force=1.5)))
    assert new == ['<dof local_index="0">', '<velocity lower="-2" upper="2"/>', '<force initial="1.5"/>', "</dof>"]


def test_an_actuator_is_written_as_an_attribute() -> None:
    saved = edited(SKEL, set_joint(actuator="servo"))
    assert saved.decode() == SKEL.replace('type="revolute">', 'type="revolute" actuator="servo">')
    back = edited(saved, set_joint(actuator="force"))
    assert back.decode() == SKEL


def test_a_new_parent_changes_the_parent_text() -> None:
    saved = edited(SKEL, set_joint(parent=None))
    assert saved.decode() == SKEL.replace("<parent>base</parent>", "<parent>world</parent>")


def test_renaming_a_body_renames_its_references() -> None:
    saved = edited(SKEL, lambda world: arm(world).rename(BASE, "pedestal"))
    wanted = SKEL.replace('<body name="base">', '<body name="pedestal">').replace(">base<", ">pedestal<")
    assert saved.decode() == wanted


def test_a_static_model_is_written_as_immobile() -> None:
    saved = edited(SKEL, lambda world: setattr(arm(world), "static", True))
    assert changed_lines_stripped(SKEL, saved) == ([], ["<mobile>false</mobile>"])
    saved = edited(SKEL, lambda world: setattr(world.model("table"), "static", False))
    assert changed_lines_stripped(SKEL, saved) == (["<mobile>false</mobile>"], [])


def test_an_implicit_joint_is_added_once_it_is_edited() -> None:
    scene = exoskel.load(SKEL)
    (root,) = scene.world.model("table").joints
    assert root.implicit
    root.kind = "weld"
    root._dofs = None
    saved = save_and_verify(scene)
    _, new = changed_lines_stripped(SKEL, saved)
    assert new == ['<joint type="weld" name="root">', "<parent>world</parent>", "<child>top</child>", "</joint>"]
    assert not root.implicit


def test_dof_elements_are_found_by_their_index() -> None:
    text = SKEL.replace(
        "        <init_pos>0.250</init_pos>\n",
        '        <dof local_index="0" name="bend"><velocity lower="-3.0" upper="3.0"/></dof>\n',
    )
    saved = edited(text, set_dof(velocity_limits=(-3.0, 4.0)))
    assert saved.decode() == text.replace('upper="3.0"', 'upper="4"')


def test_limits_under_alias_names_are_found_and_replaced() -> None:
    text = SKEL.replace(
        "        <init_pos>0.250</init_pos>\n", '        <dof local_index="0"><position lower="-1" upper="1"/></dof>\n'
    )
    saved = edited(text, set_dof(position_limits=(-0.5, 0.5)))
    assert b"carry" not in saved
    assert exoskel.load(saved).world.model("arm").joint("elbow").dofs[0].position_limits == (-0.5, 0.5)


# --- what SKEL has no words for ---------------------------------------------------------------------


def test_data_that_skel_cannot_express_is_embedded_in_the_element() -> None:
    saved = edited(SKEL, set_joint(drives=(exoskel.Drive(max_force=3.0),)))
    removed, new = changed_lines_stripped(SKEL, saved)
    assert not removed
    assert len(new) == 1 and new[0].startswith('<exoskel:carry xmlns:exoskel="urn:exoskel:carried" field="drives"')
    assert exoskel.load(saved).world.model("arm").joint("elbow").drives == (exoskel.Drive(max_force=3.0),)


def test_an_embedded_value_is_updated_and_removed() -> None:
    once = edited(SKEL, set_joint(drives=(exoskel.Drive(max_force=3.0),)))
    twice = edited(once, set_joint(drives=(exoskel.Drive(max_force=4.5),)))
    assert twice == once.replace(b"3.0", b"4.5")
    assert edited(twice, set_joint(drives=())).decode() == SKEL


# --- several at once, and one after another ---------------------------------------------------------


def test_several_edits_at_once_equal_single_edits() -> None:
    edits = [set_body(BASE, mass=7.25), set_dof(damping=0.5), set_shape(color=None), set_joint(parent=None)]
    together = edited(SKEL, lambda world: [edit(world) for edit in edits])
    scene = exoskel.load(SKEL)
    for edit in edits:
        edit(scene.world)
        saved = save_and_verify(scene)
    assert saved == together
    apart = SKEL.encode()
    for edit in edits:
        apart = edited(apart, edit)
    assert apart == together


def test_an_edit_and_its_inverse_restore_the_file() -> None:
    scene = exoskel.load(SKEL)
    base = scene.world.model("arm").body(BASE)
    base.com = (0.0, 0.0, 0.5)
    save_and_verify(scene)
    base.com = (0.0, 0.0, 0.1)
    assert save_and_verify(scene).decode() == SKEL.replace("0 0 .1<", "0 0 0.1<")


# --- layouts ----------------------------------------------------------------------------------------


def test_a_document_on_one_line_stays_on_one_line() -> None:
    text = "".join(line.strip() for line in SKEL.split("\n") if "?xml" not in line and "<!--" not in line)
    text = text.replace("<limit>", "").replace("</limit>", "")
    text = "<?xml version='1.0'?>" + text.replace("<lower>-1.50</lower><upper>1.50</upper>", "")
    assert "\n" not in text

    def edit(world: Any) -> None:
        arm(world).body(BASE).moment = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)
        arm(world).add_body("hand", parent="fore", joint="weld", mass=0.5)

    saved = edited(text, edit).decode()
    assert "\n" not in saved
    assert '<body name="hand"><transformation>' in saved


def test_comments_on_the_line_of_an_element_stay_with_it() -> None:
    text = SKEL.replace("          <offset>0 0 .1</offset>\n", "")
    saved = edited(text, set_body(BASE, com=(0.0, 0.0, 0.3))).decode()
    assert "<mass> 5.00 </mass> <!-- kg, weighed -->\n          <offset>0 0 0.3</offset>\n" in saved


@pytest.mark.parametrize(
    "spelled", ["<mass>5<!-- kg --></mass>", "<mass><!-- kg -->5</mass>", "<mass>\n 5\n</mass>", "<mass>&#53;</mass>"]
)
def test_comments_in_a_value_survive(spelled: str) -> None:
    text = SKEL.replace("<mass> 5.00 </mass>", spelled)
    saved = edited(text, set_body(BASE, mass=6.0)).decode()
    assert saved == text.replace(spelled, spelled.replace("&#53;", "6").replace("5", "6"))


def test_a_cdata_section_is_replaced_by_the_value() -> None:
    text = SKEL.replace("<mass> 5.00 </mass>", "<mass><![CDATA[5]]></mass>")
    assert edited(text, set_body(BASE, mass=6.0)).decode() == text.replace("<![CDATA[5]]>", "6")
