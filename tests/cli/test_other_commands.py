"""The other commands: `info`, `describe`, `explain`, `schema`, `samples`, `--version`, `--help`."""

from __future__ import annotations

import json
import re
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from lxml import etree
from syrupy.assertion import SnapshotAssertion

import exoskel
from exoskel.cli.commands import COMMANDS
from exoskel.cli.run import replay_file
from exoskel.formats import registry
from exoskel.samples import samples
from exoskel.source.numbers import given_numbers, round_value
from tests.cli.conftest import Command
from tests.support.places import EXAMPLES
from tests.support.xml import one_body


@pytest.mark.parametrize("example", ["02_frames", "07_soft", "08_topology", "10_bare"])
def test_info_prints_the_content_of_a_file(
    exoskel_command: Command, example: str, snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(EXAMPLES)
    ran = exoskel_command("info", f"{example}.skel")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == snapshot


def test_info_json_is_the_summary(exoskel_command: Command) -> None:
    file = EXAMPLES / "05_dofs.skel"
    ran = exoskel_command("info", file, "--json")
    scene = exoskel.load(file)
    rounded = round_value(exoskel.summarize(scene), given_numbers(scene.documents))
    assert json.loads(ran.out) == json.loads(json.dumps(rounded))


def test_info_lists_cameras_lights_and_keyframes(exoskel_command: Command, tmp_path: Path) -> None:
    file = tmp_path / "scene.xml"
    file.write_text(
        '<mujoco><worldbody><camera name="top"/><light name="sun"/><light/>'
        '<body name="b"><camera name="eye"/><joint name="j"/><geom size="1"/></body></worldbody>'
        '<keyframe><key name="home" time="2" qpos="0.5"/></keyframe></mujoco>'
    )
    shown = exoskel_command("info", file).out
    assert [line in shown for line in ("2 cameras top, eye", "2 lights sun, (unnamed)", "1 keyframe home")] == [
        True
    ] * 3
    (world,) = json.loads(exoskel_command("info", file, "--json").out)["worlds"]
    assert [(one["name"], one["body"]) for one in world["cameras"]] == [("top", None), ("eye", "b/b")]
    assert (len(world["lights"]), world["keyframes"]) == (2, [{"name": "home", "time": 2.0}])


def test_info_counts_the_errors_of_a_file(exoskel_command: Command, tmp_path: Path) -> None:
    file = tmp_path / "bad.skel"
    file.write_text(one_body("<inertia><mass>x</mass></inertia>"))
    ran = exoskel_command("info", file)
    assert ran.code == 1 and "1 error" in ran.out
    assert json.loads(exoskel_command("info", file, "--json").out)["diagnostics"]["error"] == 1
    file.write_text("nothing")
    assert exoskel_command("info", file).code == 1
    assert json.loads(exoskel_command("info", file, "--json").out)["worlds"] == []


def test_info_reports_a_missing_file(exoskel_command: Command) -> None:
    ran = exoskel_command("info", "none.skel")
    assert (ran.code, ran.err) == (2, "exoskel: cannot read 'none.skel': no such file or directory\n")


def test_info_reads_standard_input(exoskel_command: Command) -> None:
    summary = json.loads(exoskel_command("info", "-", "--json", stdin=one_body().encode()).out)
    assert (summary["file"], summary["totals"]["bodies"]) == ("<stdin>", 1)


@pytest.mark.parametrize("name", ["inertia", "body/gravity", "sphere", "plane", "joint"])
def test_describe_prints_an_element(exoskel_command: Command, name: str, snapshot: SnapshotAssertion) -> None:
    ran = exoskel_command("describe", name)
    assert ran.code == 0
    assert ran.out == snapshot


def test_describe_covers_every_element(exoskel_command: Command) -> None:
    outline = exoskel_command("describe").out
    for name in registry.by_name("skel").vocabulary().names():
        assert name in outline
        (row, *_) = json.loads(exoskel_command("describe", name, "--json").out)
        assert row["name"] == name and row["meaning"]


def test_describe_suggests_a_name_for_an_unknown_element(exoskel_command: Command) -> None:
    ran = exoskel_command("describe", "jont")
    assert (ran.code, ran.err) == (2, "exoskel: unknown element 'jont'; did you mean 'joint'?\n")


@pytest.mark.parametrize("code", ["SK024", "sk054", "MG001"])
def test_explain_prints_a_code(exoskel_command: Command, code: str, snapshot: SnapshotAssertion) -> None:
    ran = exoskel_command("explain", code)
    assert ran.code == 0
    assert ran.out == snapshot


def test_explain_covers_every_code(exoskel_command: Command) -> None:
    listing = exoskel_command("explain").out
    for topic in registry.by_name("skel").catalogue().topics.values():
        assert f"{topic.code}  {topic.title}" in listing
        assert topic.text and topic.messages
        assert json.loads(exoskel_command("explain", topic.code, "--json").out)["title"] == topic.title


def test_explain_reports_an_unknown_code(exoskel_command: Command) -> None:
    ran = exoskel_command("explain", "SK02")
    assert ran.code == 2 and "unknown code 'SK02'" in ran.err


def test_schema_is_printed_or_written(exoskel_command: Command, tmp_path: Path) -> None:
    printed = exoskel_command("schema", "skel").out
    etree.XMLSchema(etree.fromstring(printed.encode()))
    assert exoskel_command("schema", "skel", "--out", tmp_path / "skel.xsd").code == 0
    assert (tmp_path / "skel.xsd").read_text() == printed
    assert exoskel_command("schema", "skel", "--out", tmp_path / "no" / "skel.xsd").code == 2


@pytest.mark.parametrize(("name", "problem"), [("foo", "unknown format 'foo'"), ("mjcf", "no vocabulary of MJCF")])
@pytest.mark.parametrize("command", [("schema",), ("describe", "body", "--format")])
def test_only_formats_with_a_vocabulary_are_offered(
    exoskel_command: Command, command: tuple[str, ...], name: str, problem: str
) -> None:
    ran = exoskel_command(*command, name)
    assert ran.code == 2
    assert problem in ran.err
    assert ran.err.endswith("choose one of skel, xode, urdf, sdf\n")


def test_info_names_the_option_of_the_format(exoskel_command: Command) -> None:
    assert "dialect: spec" in exoskel_command("info", "dart://sample/xode/ragdoll.xode").out
    assert "semantics: written" in exoskel_command("info", "dart://sample/skel/walker.skel").out


def test_samples_are_listed_and_copied(exoskel_command: Command, tmp_path: Path) -> None:
    listing = exoskel_command("samples").out
    for sample in samples():
        assert sample.uri in listing and sample.title in listing
    assert exoskel_command("samples", "--copy", tmp_path).code == 0
    for sample in samples():
        copied = exoskel.load(tmp_path / sample.path.relative_to(sample.root))
        assert not [d for d in copied.diagnostics if d.severity == "error"]
    rows = json.loads(exoskel_command("samples", "pendulum", "--json").out)
    assert [row["uri"] for row in rows] == ["dart://sample/skel/pendulum.skel"]
    assert "did you mean 'pendulum'?" in exoskel_command("samples", "pendullum").err


def test_version_is_printed(exoskel_command: Command) -> None:
    assert exoskel_command("--version").out == f"exoskel {exoskel.__version__}\nXODE 1.0r22 +retain\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples(exoskel_command: Command, command: str) -> None:
    out = exoskel_command(command, "--help").out
    assert "Examples" in out and f"exoskel {command}" in out
    assert command in exoskel_command("--help").out


def test_an_unknown_command_is_an_error(exoskel_command: Command) -> None:
    ran = exoskel_command("chekc", "x.skel")
    assert ran.code == 2 and "chekc" in ran.err


@pytest.mark.parametrize("command", COMMANDS)
def test_samples_in_the_examples_exist(command: str) -> None:
    known = {sample.uri for sample in samples()}
    assert {uri for example in COMMANDS[command].examples for uri in re.findall(r"dart://\S+", example)} <= known


def test_engines_prints_how_to_install_an_extra(exoskel_command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", _not_installed)
    out = "".join(exoskel_command("engines").out.split())
    assert "pipinstall'exoskel[gpu]'" in out and "pipinstall'exoskel[ode]'" in out


def _not_installed(package: str) -> str:
    raise PackageNotFoundError(package)


def test_samples_do_not_replace_files_that_were_changed(exoskel_command: Command, tmp_path: Path) -> None:
    assert exoskel_command("samples", "pendulum", "--copy", tmp_path).code == 0
    assert exoskel_command("samples", "pendulum", "--copy", tmp_path).code == 0, "they are the same"
    changed = tmp_path / "skel" / "pendulum.skel"
    changed.write_text("mine")
    refused = exoskel_command("samples", "pendulum", "--copy", tmp_path)
    assert refused.code == 2 and "--overwrite" in refused.err
    assert changed.read_text() == "mine"
    assert exoskel_command("samples", "pendulum", "--copy", tmp_path, "--overwrite").code == 0
    assert changed.read_text() != "mine"


def test_samples_of_a_diverged_motion_get_a_new_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    scene = exoskel.load("dart://sample/skel/pendulum.skel")
    assert replay_file(scene) == "pendulum.diverged.npz"
    (tmp_path / "pendulum.diverged.npz").touch()
    (tmp_path / "pendulum.diverged_2.npz").symlink_to("nowhere")
    assert replay_file(scene) == "pendulum.diverged_3.npz"
