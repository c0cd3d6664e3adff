"""`--json`: every command that reports prints what its JSON Schema describes."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from exoskel.cli import commands
from exoskel.cli.reference import SHAPES, json_schema
from tests.cli.conftest import Command
from tests.support.xml import one_body

ARM = one_body("<odd/>")
COMMANDS = [
    ("check", "arm.skel"),
    ("check", "arm.skel", "--statistics"),
    ("info", "arm.skel"),
    ("info", "dart://sample/xode/four_bar.xode"),
    ("fmt", "--check", "arm.skel"),
    ("get", "arm.skel", "gravity", "body:b.mass"),
    ("set", "arm.skel", "body:b.mass=2"),
    ("rename", "arm.skel", "body:b=c"),
    ("convert", "arm.skel", "arm.sdf"),
    ("convert", ".", "out/", "--to", "sdf"),
    ("diff", "arm.skel", "dart://sample/skel/pendulum.skel"),
    ("run", "arm.skel", "--time", "0.01"),
    ("compare", "dart://sample/skel/pendulum.skel", "--engines", "mujoco,ode", "--time", "0.01"),
    ("rollout", "arm.skel", "--worlds", "2", "--steps", "2", "--vary", "gravity.z=-9..-8"),
    ("engines",),
    ("doctor",),
    ("describe", "joint"),
    ("explain", "SK024"),
    ("explain",),
    ("samples",),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_output_matches_the_schema(
    exoskel_command: Command, command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm.skel").write_text(ARM)
    printed = json.loads(exoskel_command(*command, "--json").out)
    schema = json.loads(exoskel_command("schema", "json", command[0]).out)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(printed, schema)
    assert printed, "there is something to validate"


def test_every_command_that_reports_has_json_and_a_schema(exoskel_command: Command) -> None:
    with_option = {
        command for command in commands.COMMANDS if "\n      --json " in exoskel_command(command, "--help").out
    }
    assert with_option == set(SHAPES) == {command[0] for command in COMMANDS}
    assert set(commands.COMMANDS) - set(SHAPES) == {"view", "render", "lsp", "schema", "completion"}


def test_schemas_allow_no_other_names() -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate([{"item": "a", "name": "b", "more": 1}], json_schema("rename"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("json",), "the command is missing; choose one of check, info"),
        (("json", "chek"), "'chek' has no --json output; did you mean 'check'?"),
        (("skel", "check"), "unexpected argument 'check': only `exoskel schema json` takes a command"),
    ],
)
def test_other_commands_are_refused(exoskel_command: Command, arguments: tuple[str, ...], message: str) -> None:
    ran = exoskel_command("schema", *arguments)
    assert ran.code == 2 and message in ran.err
