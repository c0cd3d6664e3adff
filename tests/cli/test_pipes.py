"""Documents in pipes: standard output has nothing but the document, and exit codes survive a closed pipe."""

from __future__ import annotations

from pathlib import Path

import pytest
from lxml import etree

import exoskel
from tests.cli.conftest import Command
from tests.cli.test_streams import shell
from tests.support.xml import one_body

ERROR = one_body("\n  <transformation>0 0 up 0 0 0</transformation>\n")


@pytest.fixture
def scenes(tmp_path: Path) -> Path:
    (tmp_path / "arm.skel").write_text(one_body())
    (tmp_path / "error.skel").write_text(ERROR)
    return tmp_path


@pytest.mark.parametrize(
    ("script", "root"),
    [
        ("exoskel convert - - --from skel --to sdf < arm.skel", "sdf"),
        ("exoskel convert arm.skel - --to mjcf", "mujoco"),
        ("cat arm.skel | exoskel convert - - --to xode", "xode"),
        ("exoskel fmt - < arm.skel", "skel"),
        ("exoskel convert arm.skel - --to sdf | exoskel convert - - --to skel", "skel"),
    ],
)
def test_standard_output_has_nothing_but_the_document(scenes: Path, script: str, root: str) -> None:
    done = shell(f"set -o pipefail; {script}", scenes)
    assert done.returncode == 0, done.stderr
    assert etree.QName(etree.fromstring(done.stdout)).localname == root
    assert {path.name for path in scenes.iterdir()} == {"arm.skel", "error.skel"}, "no other file is written"


def test_the_document_is_the_one_that_a_file_gets_and_the_report_goes_to_standard_error(scenes: Path) -> None:
    done = shell("exoskel convert arm.skel - --to sdf", scenes)
    shell("exoskel convert arm.skel arm.sdf", scenes)
    assert done.stdout == (scenes / "arm.sdf").read_bytes()
    assert "standard output (SDF)" in done.stderr.decode() and "certificate" in done.stderr.decode()


def test_meshes_are_found_from_the_working_folder(scenes: Path) -> None:
    """A shell redirects the document to a file there, and `-` reads a document as if it were there."""
    below = scenes / "models"
    (below / "meshes").mkdir(parents=True)
    (below / "meshes" / "tip.obj").write_text(
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\nf 1 3 4\nf 2 3 4\n"
    )
    shape = "<visualization_shape><geometry><mesh><file_name>meshes/tip.obj</file_name></mesh></geometry></visualization_shape>"
    (below / "arm.skel").write_text(one_body(shape))
    done = shell("exoskel convert models/arm.skel - --to sdf | exoskel check - --quiet", scenes)
    assert (done.returncode, b"not found" in done.stdout) == (0, False)
    text = shell("exoskel convert models/arm.skel - --to sdf", scenes).stdout
    assert b"<uri>models/meshes/tip.obj</uri>" in text
    refused = shell("exoskel convert models/arm.skel - --to sdf --meshes copy", scenes)
    assert (refused.returncode, refused.stdout) == (2, b"")
    assert b"needs files beside it (meshes/tip.obj)" in refused.stderr


@pytest.mark.parametrize(
    ("script", "code", "message"),
    [
        ("convert arm.skel -", 2, "needs a format: use --to FORMAT"),
        ("convert arm.skel - --to sdf --json", 2, "--json cannot be combined with a document on standard output"),
        ("convert . - --to sdf", 2, "a folder cannot be converted to standard output"),
        ("convert dart://sample/skel/walker.skel - --to urdf", 2, "choose one with --model NAME"),
        ("convert error.skel - --to sdf", 1, "SK022"),
        ("convert - - --to sdf < /dev/null", 1, "empty"),
    ],
)
def test_what_cannot_be_written_to_a_pipe_is_refused(scenes: Path, script: str, code: int, message: str) -> None:
    done = shell(f"exoskel {script}", scenes)
    assert done.returncode == code and message in done.stderr.decode()
    assert not done.stdout or etree.fromstring(done.stdout) is not None


def test_a_refused_conversion_writes_no_document(scenes: Path) -> None:
    done = shell("exoskel convert dart://sample/skel/walker.skel - --to sdf --strict", scenes)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"would be lost; nothing was written" in done.stderr


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("check many.skel", 1),
        ("check --json many.skel", 1),
        ("check --strict clean.skel", 0),
        ("fmt --check many.skel", 1),
        ("info many.skel", 1),
        ("convert many.skel - --to sdf", 1),
        ("explain", 0),
        ("--help", 0),
    ],
)
def test_a_closed_pipe_keeps_the_exit_code_of_what_was_found(scenes: Path, command: str, code: int) -> None:
    (scenes / "many.skel").write_text(ERROR.replace("</body>", "<odd/>" * 3000 + "</body>"))
    (scenes / "clean.skel").write_text(one_body())
    script = f"mkfifo gone; sleep 0 < gone & exec 3> gone; wait; exoskel {command} >&3; echo $? > code"
    done = shell(script, scenes)
    assert (scenes / "code").read_text() == f"{code}\n"
    assert b"Traceback" not in done.stderr and b"Broken pipe" not in done.stderr


def test_check_fix_diff_exits_with_1_if_errors_remain(scenes: Path, exoskel_command: Command) -> None:
    fixable = scenes / "fixable.skel"
    fixable.write_text(one_body("<transfromation>0 0 1 0 0 0</transfromation>"))
    assert exoskel_command("check", "--fix", "--diff", fixable).code == 0
    assert exoskel_command("check", "--fix", "--diff", fixable, "--strict").code == 0, (
        "what remains after the fixes counts"
    )
    assert exoskel_command("check", "--fix", "--diff", scenes / "error.skel").code == 1
    assert exoskel_command("check", "--fix", "--diff", "-", stdin=ERROR.encode()).code == 1
    assert exoskel_command("check", "--fix", "--diff", scenes / "error.skel").out == "", "problems are not listed"


def test_references_of_data_without_a_file_are_relative_to_a_folder(scenes: Path) -> None:
    report = exoskel.convert(scenes / "arm.skel", to="sdf", folder=scenes)
    assert report.data.startswith(b"<?xml") and not report.saved
