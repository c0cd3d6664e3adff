"""`exoskel get`, `set` and `rename`: values and names from the shell, as minimal changes of the text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import exoskel
from tests.cli.conftest import Command
from tests.cli.test_streams import shell


@pytest.fixture
def pendulum(tmp_path: Path) -> Path:
    path = tmp_path / "pendulum.skel"
    exoskel.save(exoskel.load("dart://sample/skel/pendulum.skel"), path)
    return path


def changed_lines(before: str, after: str) -> list[tuple[str, str]]:
    """The lines that differ, without their indentation."""
    pairs = zip(before.splitlines(), after.splitlines(), strict=True)
    return [(one.strip(), other.strip()) for one, other in pairs if one != other]


def test_set_changes_only_the_numbers(exoskel_command: Command, pendulum: Path) -> None:
    before = pendulum.read_text()
    ran = exoskel_command("set", pendulum, "body:bob.mass=4.2", "gravity.z=-1.62")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "body:pendulum/bob.mass: 2.2 → 4.2\ngravity.z: -9.81 → -1.62\n"
    assert changed_lines(before, pendulum.read_text()) == [
        ("<gravity>0 0 -9.81</gravity>", "<gravity>0 0 -1.62</gravity>"),
        ("<mass>2.2</mass>", "<mass>4.2</mass>"),
    ]


@pytest.mark.parametrize(
    ("assignment", "path"),
    [
        ("gravity=0,0,-1", "gravity"),
        ("gravity=0 0 -1", "gravity"),
        ("time_step=0.002", "time_step"),
        ("body:bob.com=0,0,0.1", "body:bob.com"),
        ("body:pendulum/bob.gravity=false", "body:bob.gravity"),
        ("body:bob.friction=0.3", "body:bob.friction"),
        ("model:pendulum.static=true", "model:pendulum.static"),
        ("joint:hinge.damping=0.5", "dof:hinge.damping"),
        ("dof:hinge.position_limits=-1,1", "joint:hinge.position_limits"),
        ("joint:h*.stiffness=2", "joint:hinge.stiffness"),
    ],
)
def test_get_prints_what_set_has_written(exoskel_command: Command, pendulum: Path, assignment: str, path: str) -> None:
    assert exoskel_command("set", pendulum, assignment).code == 0
    wanted = assignment.partition("=")[2].replace(" ", ",")
    lines = exoskel_command("get", pendulum, path).out.splitlines()
    assert {line.rpartition("=")[2] for line in lines} == {wanted}


def test_wildcards_set_several_values(exoskel_command: Command, tmp_path: Path) -> None:
    walker = tmp_path / "walker.skel"
    exoskel.save(exoskel.load("dart://sample/skel/walker.skel"), walker)
    ran = exoskel_command("set", walker, "joint:*knee.damping=0.5", "--json")
    assert json.loads(ran.out) == [
        {"path": "dof:walker/left_knee.damping", "before": 15.0, "after": 0.5},
        {"path": "dof:walker/right_knee.damping", "before": 15.0, "after": 0.5},
    ]
    several = exoskel_command("get", walker, "joint:*knee.damping")
    assert several.out == "dof:walker/left_knee.damping=0.5\ndof:walker/right_knee.damping=0.5\n"
    assert exoskel_command("set", walker, *several.out.split()).code == 0, "set accepts what get prints"
    rows = json.loads(exoskel_command("get", walker, "gravity", "--json").out)
    assert rows == [{"path": "gravity", "value": [0.0, 0.0, -9.81]}]


@pytest.mark.parametrize(
    "arguments", [("set", "body:bob.mass=3"), ("rename", "body:bob=weight", "joint:hinge=pivot")], ids=lambda a: a[0]
)
def test_diff_writes_nothing(exoskel_command: Command, pendulum: Path, arguments: tuple[str, ...]) -> None:
    before = pendulum.read_bytes()
    ran = exoskel_command(arguments[0], pendulum, *arguments[1:], "--diff")
    assert ran.code == 0 and ran.out.startswith("--- ") and "\n+" in ran.out
    assert pendulum.read_bytes() == before


def test_rename_changes_a_name_and_all_references(exoskel_command: Command, pendulum: Path) -> None:
    before = pendulum.read_text()
    ran = exoskel_command("rename", pendulum, "body:bob=weight")
    assert (ran.code, ran.out) == (0, "body:bob → weight\n")
    assert changed_lines(before, pendulum.read_text()) == [
        ('<body name="bob">', '<body name="weight">'),
        ("<child>bob</child>", "<child>weight</child>"),
    ]
    assert json.loads(exoskel_command("rename", pendulum, "joint:hinge=pivot", "--json").out) == [
        {"item": "joint:hinge", "name": "pivot"}
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("set", "body:bobb.mass=3"), "no body matches 'bobb'; did you mean 'bob'?"),
        (("set", "body:bob.mas=3"), "'body:bob.mas': unknown value 'mas'; did you mean 'mass'?"),
        (("set", "body:bob.mass=heavy"), "body:pendulum/bob.mass must be a number, not 'heavy'"),
        (("set", "body:bob.mass=1,2"), "body:pendulum/bob.mass is one number, not 2"),
        (("set", "body:bob.mass=-1"), "the mass of body 'bob' is -1.0, but must not be negative"),
        (("set", "gravity=1,2"), "has 2 numbers, but needs 3"),
        (("set", "body:bob.gravity=1"), "must be true or false, not '1'"),
        (("set", "body:bob.mass"), "'body:bob.mass' is not an assignment; use PATH=VALUE"),
        (("get", "mass"), "'mass': unknown value 'mass'; the values of a world are gravity, time_step, erp, cfm"),
        (("get", "thing:bob.mass"), "'thing:bob.mass' is not a path of a value"),
        (("rename", "body:none=x"), "no item matches 'body:none'"),
        (("rename", "body:bob= "), "a name must not be empty"),
        (("rename", "bob=x"), "use KIND:NAME=NEW"),
        (("rename", "body:bob=world"), "body 'world' would be read back as 'world(1)'"),
        (("rename", "dof:hinge=x"), "cannot rename a 'dof'"),
    ],
)
def test_what_cannot_be_done_is_reported_and_nothing_is_written(
    exoskel_command: Command, pendulum: Path, arguments: tuple[str, ...], message: str
) -> None:
    before = pendulum.read_bytes()
    ran = exoskel_command(arguments[0], pendulum, *arguments[1:])
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert pendulum.read_bytes() == before


def test_documents_in_pipes_and_other_files(exoskel_command: Command, pendulum: Path, tmp_path: Path) -> None:
    before = pendulum.read_bytes()
    done = shell("exoskel set - body:bob.mass=3 < pendulum.skel | exoskel rename - body:bob=weight", tmp_path)
    assert done.stdout == before.replace(b"<mass>2.2<", b"<mass>3<").replace(b'"bob"', b'"weight"').replace(
        b">bob<", b">weight<"
    )
    assert b"body:pendulum/bob.mass: 2.2 \xe2\x86\x92 3" in done.stderr
    other = tmp_path / "other.skel"
    assert exoskel_command("set", pendulum, "body:bob.mass=3", "--out", other).code == 0
    assert other.read_bytes() == before.replace(b"<mass>2.2<", b"<mass>3<") and pendulum.read_bytes() == before


def test_files_that_are_not_edited_in_place_need_another_file(exoskel_command: Command, tmp_path: Path) -> None:
    urdf = tmp_path / "arm.urdf"
    urdf.write_text('<robot name="r"><link name="a"/></robot>')
    ran = exoskel_command("set", urdf, "body:a.mass=1")
    assert ran.code == 2 and "URDF files are not edited in place; use --out FILE" in ran.err
    assert exoskel_command("set", urdf, "body:a.mass=1", "--out", tmp_path / "b.urdf").code == 0
    assert exoskel.load(tmp_path / "b.urdf").world.models[0].body("a").mass == 1.0
    ran = exoskel_command("set", "dart://sample/skel/pendulum.skel", "body:bob.mass=3")
    assert ran.code == 2 and "samples are read-only" in ran.err


def test_xode_files_are_edited_in_place(exoskel_command: Command, tmp_path: Path) -> None:
    ragdoll = tmp_path / "ragdoll.xode"
    exoskel.save(exoskel.load("dart://sample/xode/ragdoll.xode"), ragdoll)
    before = ragdoll.read_text()
    name = exoskel.load(ragdoll).world.models[-1].bodies[0].name
    assert exoskel_command("rename", ragdoll, f"body:{name}=renamed").code == 0
    assert len(changed_lines(before, ragdoll.read_text())) < 10


def test_a_name_in_use_is_refused(exoskel_command: Command, tmp_path: Path) -> None:
    walker = tmp_path / "walker.skel"
    exoskel.save(exoskel.load("dart://sample/skel/walker.skel"), walker)
    ran = exoskel_command("rename", walker, "body:torso=head")
    assert ran.code == 2 and "already has a body called 'head'" in ran.err


def test_computed_numbers_are_printed_without_rounding_errors(exoskel_command: Command, tmp_path: Path) -> None:
    file = tmp_path / "box.xml"
    file.write_text(
        '<mujoco><worldbody><body name="b" pos="0.12345678901234567 0 0"><freejoint/>'
        '<geom type="box" size="0.05 0.15 0.35" density="700"/></body></worldbody></mujoco>'
    )
    assert exoskel_command("get", file, "body:b.moment").out == "0.7105,0.6125,0.1225,0,0,0\n"
    shown = exoskel_command("info", file, "--json").out
    assert "0.6125," in shown and "0.6124" not in shown and "0.1234567890123456" in shown


FOREIGN = {
    "robot.urdf": '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="fixed"><parent link="a"/>'
    '<child link="b"/></joint><transmission name="t"><joint name="j"/></transmission><gazebo reference="b"/></robot>',
    "robot.sdf": '<sdf version="1.9"><model name="r"><link name="b"><sensor name="s" type="imu"/></link>'
    '<plugin name="p" filename="f"/></model></sdf>',
    "robot.xml": '<mujoco><worldbody><body name="b"><geom size="1"/><site name="s"/></body></worldbody>'
    '<sensor><gyro site="s"/></sensor></mujoco>',
}


def test_names_in_mjcf_files_are_changed_in_the_text(tmp_path: Path, exoskel_command: Command) -> None:
    path = tmp_path / "robot.xml"
    text = FOREIGN["robot.xml"].replace("<gyro", '<framepos objtype="body" objname="b"/><gyro')
    path.write_text(text)
    assert exoskel_command("rename", path, "body:b=c").code == 0
    assert path.read_text() == text.replace('"b"', '"c"')


@pytest.mark.parametrize("name", ["robot.urdf", "robot.sdf"])
def test_names_in_urdf_and_sdf_files_are_changed_in_the_text(
    name: str, tmp_path: Path, exoskel_command: Command
) -> None:
    path = tmp_path / name
    path.write_text(FOREIGN[name])
    assert "+" in exoskel_command("rename", path, "body:b=c", "--diff").out and path.read_text() == FOREIGN[name]
    ran = exoskel_command("rename", path, "body:b=c", "model:r=s")
    assert (ran.code, ran.out, ran.err) == (0, "body:b → c\nmodel:r → s\n", "")
    assert path.read_text() == FOREIGN[name].replace('"b"', '"c"').replace('"r"', '"s"')


@pytest.mark.parametrize("name", FOREIGN)
def test_a_rename_to_another_file_of_the_folder_changes_only_names(
    name: str, tmp_path: Path, exoskel_command: Command
) -> None:
    path, other = tmp_path / name, tmp_path / f"new_{name}"
    path.write_text(FOREIGN[name])
    ran = exoskel_command("rename", path, "body:b=c", "--out", other)
    assert (ran.code, ran.out, ran.err) == (0, "body:b → c\n", "")
    assert other.read_text() == FOREIGN[name].replace('"b"', '"c"') and path.read_text() == FOREIGN[name]


def test_a_rename_tells_which_parameters_of_plugins_are_unchanged(tmp_path: Path, exoskel_command: Command) -> None:
    path = tmp_path / "robot.sdf"
    path.write_text(FOREIGN["robot.sdf"].replace("<plugin", "<plugin><link_name>b</link_name></plugin><plugin", 1))
    ran = exoskel_command("rename", path, "body:b=c")
    assert ran.code == 0 and "body:b: 1 parameter of a plugin has this name" in ran.err
    assert "<link_name>b</link_name>" in path.read_text()


@pytest.mark.parametrize("items", [["body:missing=c"], ["body:b=c", "body:b=d"], ["shape:*=c"], ["joint:b_root=c"]])
def test_a_rename_that_fails_changes_nothing(items: list[str], tmp_path: Path, exoskel_command: Command) -> None:
    path = tmp_path / "robot.sdf"
    path.write_text(FOREIGN["robot.sdf"])
    assert exoskel_command("rename", path, *items).code == 2
    assert path.read_text() == FOREIGN["robot.sdf"]


def test_a_urdf_file_keeps_its_text(tmp_path: Path, exoskel_command: Command) -> None:
    path = tmp_path / "robot.urdf"
    path.write_text(FOREIGN["robot.urdf"])
    assert exoskel_command("set", path, "body:b.mass=3", "--out", tmp_path / "new.urdf").code == 0
    before, after = (one.read_text().splitlines() for one in (path, tmp_path / "new.urdf"))
    assert any('<mass value="3"/>' in line for line in after)
    assert sum(line not in after for line in before) <= 1


@pytest.mark.parametrize("name", ["robot.sdf"])
def test_a_new_document_without_parts_that_a_scene_lacks_is_announced(
    name: str, tmp_path: Path, exoskel_command: Command
) -> None:
    path = tmp_path / name
    path.write_text(FOREIGN[name])
    ran = exoskel_command("set", path, "body:b.mass=3", "--out", tmp_path / f"new_{name}")
    assert ran.code == 0
    assert "data that a scene cannot store may be lost" in ran.err
