"""`exoskel convert` of folders, and of worlds that are written as several files."""

from __future__ import annotations

import json
from pathlib import Path

import exoskel
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
    assert {path.stem for path in (tmp_path / "robots").iterdir()} == names
    one = exoskel_command("convert", sample, str(tmp_path / "arm.urdf"), "--model", "arm")
    assert one.code == 0 and exoskel.load(tmp_path / "arm.urdf").world.models[0].name == "arm"
