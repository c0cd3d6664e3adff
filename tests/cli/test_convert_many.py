"""`exoskel convert` of folders, and of worlds that are written as several files."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

import exoskel
from exoskel.source.file_lookup import sample_directory
from tests.cli.conftest import Command
from tests.support.places import TESTS

EXAMPLES = TESTS / "convert" / "examples"


def test_a_folder_is_converted_with_a_table_of_results(tmp_path: Path, exoskel_command: Command) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    for file in EXAMPLES.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    (folder / "broken.skel").write_text("<skel>")
    (folder / "notes.xml").write_text("<notes/>")
    done = exoskel_command(
        "convert", str(folder), str(tmp_path / "out"), "--to", "sdf", "--report", str(tmp_path / "table.json")
    )
    assert done.code == 1
    rows = {row["file"]: row for row in json.loads((tmp_path / "table.json").read_text())}
    assert set(rows) == {"arm.sdf", "arm.urdf", "arm.xml", "broken.skel"}
    assert [name for name, row in rows.items() if not row["ok"]] == ["broken.skel"]
    assert all(row["certificate"] for name, row in rows.items() if name != "broken.skel")
    assert all(Path(row["output"]).is_file() for name, row in rows.items() if name != "broken.skel")
    assert "3 of 4 files converted" in done.out


def test_a_folder_and_json_have_the_hints_of_the_files(tmp_path: Path, exoskel_command: Command) -> None:
    folder, table = tmp_path / "models", tmp_path / "table"
    folder.mkdir()
    source = (sample_directory() / "skel" / "pendulum.skel").read_text()
    for name in ("one", "two"):
        (folder / f"{name}.skel").write_text(source.replace("0 0 -9.81", "0 -9.81 0"))
    hint = "y points up, but SDF expects z up: use --up z (up=)"
    alone = exoskel_command("convert", str(folder / "one.skel"), str(tmp_path / "a.sdf"), "--json")
    assert hint in json.loads(alone.out)["hints"]
    for report in (table.with_suffix(".json"), table.with_suffix(".md")):
        done = exoskel_command("convert", str(folder), str(tmp_path / "out"), "--to", "sdf", "--report", str(report))
    assert done.out.count(f"hint: {hint} (2 files)") == 1
    assert all(hint in row["hint"].splitlines() for row in json.loads(table.with_suffix(".json").read_text()))
    assert f"Hint: {hint} (2 files)" in table.with_suffix(".md").read_text()
    turned = exoskel_command("convert", str(folder), str(tmp_path / "out"), "--to", "sdf", "--up", "z")
    assert "points up" not in turned.out


def test_a_file_with_errors_is_no_success_in_a_folder_either(tmp_path: Path, exoskel_command: Command) -> None:
    folder, table = tmp_path / "models", tmp_path / "table"
    folder.mkdir()
    source = Path(exoskel.__file__).parent / "samples" / "skel" / "pendulum.skel"
    (folder / "good.skel").write_bytes(source.read_bytes())
    text = source.read_text().replace(
        "</skeleton>", '<joint type="hinge"><parent>world</parent><child>floor</child></joint></skeleton>', 1
    )
    (folder / "odd.skel").write_text(text)
    alone = exoskel_command("convert", str(folder / "odd.skel"), str(tmp_path / "odd.sdf"))
    assert alone.code == 1
    for report in (table.with_suffix(".json"), table.with_suffix(".md")):
        done = exoskel_command("convert", str(folder), str(tmp_path / "out"), "--to", "sdf", "--report", str(report))
        assert done.code == 1
    good, odd = json.loads(table.with_suffix(".json").read_text())
    assert (good["ok"], good["errors"], good["problem"]) == (True, 0, "")
    assert not odd["ok"] and odd["errors"] == 1 and Path(odd["output"]).is_file()
    assert odd["problem"].endswith("(SK070)")
    assert "2 of 2 files converted, 1 with errors" in done.out
    assert "| odd.skel | no | 1 |" in table.with_suffix(".md").read_text()


def test_the_table_reports_why_a_file_cannot_be_read(tmp_path: Path, exoskel_command: Command) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    skybox = '<asset><texture name="t" type="skybox" builtin="flat" width="8" height="8"/></asset>'
    (folder / "broken.xml").write_text(f"<mujoco>{skybox}<worldbody><body><freejoint/></body></worldbody></mujoco>")
    table = tmp_path / "table.json"
    exoskel_command("convert", str(folder), str(tmp_path / "out"), "--to", "sdf", "--report", str(table))
    (row,) = json.loads(table.read_text())
    assert row["problem"].endswith("(MJ106)")


def test_a_world_of_several_models_is_written_as_a_folder(tmp_path: Path, exoskel_command: Command) -> None:
    sample = "dart://sample/skel/robot_arm.skel"
    refused = exoskel_command("convert", sample, str(tmp_path / "all.urdf"))
    assert refused.code == 2 and "--model NAME" in refused.err
    assert exoskel_command("convert", sample, str(tmp_path / "robots"), "--to", "urdf").code == 0
    names = {model.name for model in exoskel.load(sample).world.models}
    assert {path.stem for path in (tmp_path / "robots").glob("*.urdf")} == names
    one = exoskel_command("convert", sample, str(tmp_path / "arm.urdf"), "--model", "arm")
    assert one.code == 0 and exoskel.load(tmp_path / "arm.urdf").world.models[0].name == "arm"


ROBOT = '<robot name="{}"><link name="{}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>'
SDF = '<sdf version="1.6"><model name="from_sdf"><link name="l"/></model></sdf>'


def test_converting_a_file_onto_itself_is_refused_unless_overwriting_is_allowed(
    tmp_path: Path, exoskel_command: Command
) -> None:
    file = tmp_path / "a.urdf"
    file.write_text(ROBOT.format("r", "l"), encoding="utf-8")
    before = file.read_bytes()
    for output in (file, tmp_path / "." / "a.urdf"):
        refused = exoskel_command("convert", str(file), str(output))
        assert (refused.code, file.read_bytes()) == (2, before)
        assert "would overwrite its input" in refused.err and "--overwrite" in refused.err
    assert exoskel_command("convert", str(file), str(file), "--overwrite").code == 0
    assert file.read_bytes() != before


def test_a_conversion_never_overwrites_a_mesh_of_its_source(tmp_path: Path, exoskel_command: Command) -> None:
    import trimesh

    robot, mesh = tmp_path / "base.urdf", tmp_path / "base.glb"
    shape = '<visual><geometry><mesh filename="base.glb"/></geometry></visual></link>'
    robot.write_text(ROBOT.format("r", "l").replace("</link>", shape), encoding="utf-8")
    before = trimesh.creation.box().export(file_type="glb")
    mesh.write_bytes(before)
    for arguments in ((str(robot), str(mesh)), (str(tmp_path), str(tmp_path), "--to", "gltf")):
        assert exoskel_command("convert", *arguments).code != 0
        assert mesh.read_bytes() == before
    assert exoskel_command("convert", str(robot), str(mesh), "--overwrite").code == 0
    assert mesh.read_bytes() != before


MESH_OF_ANOTHER = """<robot name="z"><link name="l"><visual><geometry><mesh filename="base.glb"/></geometry></visual></link></robot>"""
INCLUDING = """<mujoco><include file="base.xml"/></mujoco>"""
INCLUDED = """<mujocoinclude><worldbody><geom size="1"/></worldbody></mujocoinclude>"""


@pytest.mark.parametrize("user", ["a", "z"])  # read before and after the file that is converted
@pytest.mark.parametrize(
    ("text", "extension", "used", "to"),
    [(MESH_OF_ANOTHER, ".urdf", "base.glb", "gltf"), (INCLUDING, ".xml", "base.xml", "mjcf")],
    ids=["mesh", "included"],
)
def test_converting_a_folder_into_itself_never_overwrites_what_another_source_uses(
    tmp_path: Path, exoskel_command: Command, user: str, text: str, extension: str, used: str, to: str
) -> None:
    import trimesh

    file = tmp_path / used
    file.write_bytes(trimesh.creation.box().export(file_type="glb") if to == "gltf" else INCLUDED.encode())
    before = file.read_bytes()
    (tmp_path / "base.urdf").write_text(ROBOT.format("r", "l"), encoding="utf-8")
    (tmp_path / f"{user}{extension}").write_text(text, encoding="utf-8")
    table = tmp_path / "table.json"
    arguments = ("convert", str(tmp_path), str(tmp_path), "--to", to, "--report", str(table))
    assert exoskel_command(*arguments).code == 1
    problems = {row["file"]: row["problem"] for row in json.loads(table.read_text())}
    assert f"would overwrite its input {str(file)!r}" in problems["base.urdf"]
    assert file.read_bytes() == before
    exoskel_command(*arguments, "--overwrite")
    assert file.read_bytes() != before


def test_copies_of_meshes_do_not_overwrite_a_mesh_that_another_source_uses(
    tmp_path: Path, exoskel_command: Command
) -> None:
    import trimesh

    meshes, other = tmp_path / "meshes", tmp_path / "other"
    for folder, size in ((meshes, 1.0), (other, 2.0)):
        folder.mkdir()
        trimesh.creation.box([size] * 3).export(folder / "arm.obj")
    before = (meshes / "arm.obj").read_bytes()
    for name in ("other", "meshes"):
        text = MESH_OF_ANOTHER.replace("base.glb", f"{name}/arm.obj")
        (tmp_path / f"{name}.urdf").write_text(text, encoding="utf-8")
    done = exoskel_command("convert", str(tmp_path), str(tmp_path), "--to", "sdf", "--meshes", "copy")
    assert done.code == 0, done.out
    assert (meshes / "arm.obj").read_bytes() == before
    assert (meshes / "arm_2.obj").read_bytes() == (other / "arm.obj").read_bytes()


def test_converting_a_folder_into_itself_never_overwrites_a_source(tmp_path: Path, exoskel_command: Command) -> None:
    urdf, sdf = tmp_path / "robot.urdf", tmp_path / "robot.sdf"
    urdf.write_text(ROBOT.format("r", "l"), encoding="utf-8")
    sdf.write_text(SDF, encoding="utf-8")
    before = urdf.read_bytes(), sdf.read_bytes()
    for format in ("urdf", "sdf"):
        done = exoskel_command("convert", str(tmp_path), str(tmp_path), "--to", format)
        assert done.code == 1
        assert "would overwrite" in done.out
        assert (urdf.read_bytes(), sdf.read_bytes()) == before


def test_sources_are_read_before_the_conversion_of_another_file_replaces_them(
    tmp_path: Path, exoskel_command: Command
) -> None:
    urdf, sdf = tmp_path / "robot.urdf", tmp_path / "robot.sdf"
    urdf.write_text(ROBOT.format("r", "l"), encoding="utf-8")
    sdf.write_text(SDF, encoding="utf-8")
    assert exoskel_command("convert", str(tmp_path), str(tmp_path), "--to", "urdf", "--overwrite").code == 0
    names = {name: exoskel.load(tmp_path / name).world.models[0].name for name in ("robot.urdf", "robot_urdf.urdf")}
    assert names["robot_urdf.urdf"] == "r" != names["robot.urdf"]


def test_included_files_are_read_before_they_are_converted_in_place(tmp_path: Path, exoskel_command: Command) -> None:
    included = (
        '<mujoco><compiler angle="radian"/><worldbody><body><freejoint/><geom size="1"/></body></worldbody></mujoco>'
    )
    (tmp_path / "base.xml").write_text(included, encoding="utf-8")
    (tmp_path / "user.xml").write_text(
        INCLUDING.replace("<include", "<option timestep='0.004'/><include"), encoding="utf-8"
    )
    before = exoskel.load(tmp_path / "user.xml")
    done = exoskel_command("convert", str(tmp_path), str(tmp_path), "--to", "mjcf", "--overwrite")
    assert "failed" not in done.out, done.out
    assert not exoskel.diff(before, exoskel.load(tmp_path / "user.xml"))


def test_a_source_is_not_overwritten_under_a_name_in_another_case(tmp_path: Path, exoskel_command: Command) -> None:
    """A hard link stands for a file system that does not distinguish cases."""
    file = tmp_path / "robot.urdf"
    file.write_text(ROBOT.format("r", "l"), encoding="utf-8")
    (tmp_path / "ROBOT.urdf").hardlink_to(file)
    refused = exoskel_command("convert", str(file), str(tmp_path / "ROBOT.urdf"))
    assert refused.code == 2 and "would overwrite its input" in refused.err


def test_a_symbolic_link_to_a_source_is_not_overwritten_either(tmp_path: Path, exoskel_command: Command) -> None:
    file, link = tmp_path / "a.urdf", tmp_path / "link.urdf"
    file.write_text(ROBOT.format("r", "l"), encoding="utf-8")
    link.symlink_to(file)
    before = file.read_bytes()
    assert exoskel_command("convert", str(file), str(link)).code == 2
    assert file.read_bytes() == before


def test_names_in_a_report_cannot_break_its_table(tmp_path: Path, exoskel_command: Command) -> None:
    folder = tmp_path / os.fsdecode(b"models\xff")
    folder.mkdir()
    names = [os.fsdecode(b"a\xff.skel"), "b\nc|d\\|e<b>`[x](y).skel", "c\u202e.skel"]
    for name in names:
        (folder / name).write_bytes((sample_directory() / "skel" / "pendulum.skel").read_bytes())
    for report in (tmp_path / "table.md", tmp_path / "table.json"):
        done = exoskel_command("convert", str(folder), str(tmp_path / "out"), "--to", "sdf", "--report", str(report))
        assert done.code == 0, done.err
    table = (tmp_path / "table.md").read_text(encoding="utf-8")
    rows = [line for line in table.splitlines() if line.startswith("|")]
    assert len(rows) == 2 + len(names)
    assert rows[3].startswith("| b\\\\u000ac\\|d\\\\\\|e\\<b\\>\\`\\[x\\](y).skel | yes |")
    assert "\u202e" not in table
    assert len(json.loads((tmp_path / "table.json").read_text(encoding="utf-8"))) == len(names)


def test_a_file_in_place_of_the_output_folder_is_one_error(tmp_path: Path, exoskel_command: Command) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.skel").write_bytes((sample_directory() / "skel" / "pendulum.skel").read_bytes())
    (tmp_path / "out").write_text("")
    done = exoskel_command("convert", str(tmp_path / "in"), str(tmp_path / "out"), "--to", "sdf")
    assert done.code == 2 and done.err.endswith("out' is not a folder\n")


def test_a_report_that_cannot_be_written_is_an_error_before_anything_is_converted(
    tmp_path: Path, exoskel_command: Command
) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "arm.sdf").write_bytes((EXAMPLES / "arm.sdf").read_bytes())
    (tmp_path / "file").touch()
    out, report = tmp_path / "out", tmp_path / "file" / "table.md"
    done = exoskel_command("convert", str(tmp_path / "models"), str(out), "--to", "urdf", "--report", str(report))
    assert done.code == 2 and "is not a folder" in done.err
    assert not out.exists()


def test_a_report_lists_losses_by_harm_with_numbers_that_add_up(tmp_path: Path, exoskel_command: Command) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    for name in ("actuators", "soft_bodies", "springs"):
        (folder / f"{name}.skel").write_bytes((sample_directory() / "skel" / f"{name}.skel").read_bytes())
    report = tmp_path / "table.md"
    assert (
        exoskel_command("convert", str(folder), str(tmp_path / "out"), "--to", "urdf", "--report", str(report)).code
        == 0
    )
    text = report.read_text(encoding="utf-8")
    losses = sum(int(line.split("|")[5]) for line in text.splitlines() if line.startswith("| ") and ".skel" in line)
    headings = [int(number) for number in re.findall(r"^### .*: (\d+) nodes?$", text, re.MULTILINE)]
    rows = [int(number) for number in re.findall(r"^- .*: (\d+) nodes? in \d+ files?$", text, re.MULTILINE)]
    assert losses == sum(headings) == sum(rows) > 0
    assert text.index("### Missing physics") < text.index("### Different physics")
    assert text.index("3 of 3 files converted") < text.index("| file |")
