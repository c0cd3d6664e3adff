"""`exoskel diff`: its output and exit codes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

import exoskel
from exoskel.cli import diff as diff_command
from tests.cli.conftest import Command
from tests.support.places import EXAMPLES
from tests.support.xml import one_body

BEFORE = """\
<skel version="1.0">
  <world name="lab">
    <physics><time_step>0.001</time_step><gravity>0 0 -9.81</gravity></physics>
    <skeleton name="arm">
      <body name="upper"><transformation>0 0 1 0 0 0</transformation>
        <inertia><mass>2</mass></inertia>
        <visualization_shape><geometry><box><size>1 1 1</size></box></geometry></visualization_shape>
      </body>
      <body name="hand"><transformation>0 0 2 0 0 0</transformation></body>
      <body name="tool"><transformation>0 0 3 0 0 0</transformation></body>
      <joint type="revolute" name="shoulder">
        <parent>world</parent><child>upper</child>
        <axis><xyz>0 0 1</xyz><limit><lower>-1</lower><upper>1</upper></limit></axis>
      </joint>
      <joint type="weld" name="wrist"><parent>upper</parent><child>hand</child></joint>
      <joint type="free" name="grip"><parent>hand</parent><child>tool</child></joint>
    </skeleton>
    <skeleton name="crate"><body name="box"/></skeleton>
    <skeleton name="stone"><body name="box"><inertia><mass>3</mass></inertia></body></skeleton>
  </world>
</skel>
"""
AFTER = """\
<skel version="1.0">
  <world name="lab">
    <physics><time_step>0.001</time_step><gravity>0 0 -1.62</gravity></physics>
    <skeleton name="arm">
      <body name="upper"><transformation>0 0 1 0 0 1.5707963267948966</transformation>
        <inertia><mass>2.5</mass></inertia>
        <visualization_shape><geometry><box><size>1 1 2</size></box></geometry></visualization_shape>
      </body>
      <body name="paw"><transformation>0 0 2 0 0 0</transformation></body>
      <joint type="revolute" name="shoulder">
        <parent>world</parent><child>upper</child>
        <axis><xyz>0 0 5</xyz><limit><lower>-1</lower><upper>1.5</upper></limit></axis>
      </joint>
      <joint type="revolute" name="wrist"><parent>upper</parent><child>paw</child><axis><xyz>1 0 0</xyz></axis></joint>
    </skeleton>
    <skeleton name="stone"><body name="box"><inertia><mass>3</mass></inertia></body></skeleton>
    <skeleton name="crate"><body name="box"/></skeleton>
    <skeleton name="lamp"><body name="foot"/></skeleton>
  </world>
</skel>
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("before.skel").write_text(BEFORE)
    Path("after.skel").write_text(AFTER)
    return tmp_path


def test_diff_prints_what_differs(exoskel_command: Command, folder: Path, snapshot: SnapshotAssertion) -> None:
    ran = exoskel_command("diff", "before.skel", "after.skel")
    assert (ran.code, ran.err) == (1, "")
    assert ran.out == snapshot


def test_json_matches_the_library(exoskel_command: Command, folder: Path) -> None:
    ran = exoskel_command("diff", "before.skel", "after.skel", "--json")
    found = exoskel.diff(exoskel.load("before.skel"), exoskel.load("after.skel"))
    assert ran.code == 1
    assert json.loads(ran.out) == [entry.as_dict() for entry in found]
    assert json.loads(ran.out)[0] == {
        "path": "lab/gravity",
        "kind": "changed",
        "a": "0 0 -9.81",
        "b": "0 0 -1.62",
        "size": pytest.approx(8.19 / 9.81),
        "line_a": 2,
        "line_b": 2,
        "world": "lab",
        "model": "",
    }


def test_files_with_the_same_meaning_do_not_differ(exoskel_command: Command, folder: Path) -> None:
    Path("same.skel").write_text(BEFORE.replace("<xyz>0 0 1<", "<xyz> 0 0 3.0<").replace("\n", ""))
    ran = exoskel_command("diff", "before.skel", "same.skel")
    assert ran == (0, "before.skel and same.skel mean the same (tolerance 1e-09)\n", "")
    assert exoskel_command("diff", "before.skel", "same.skel", "--json") == (0, "[]\n", "")
    assert exoskel_command("diff", "before.skel", "-", stdin=BEFORE.encode()).code == 0


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.skel")), ids=lambda path: path.stem)
def test_a_converted_file_does_not_differ(exoskel_command: Command, example: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.xode"
    exoskel_command("convert", example, other)
    assert exoskel_command("diff", "-q", example, other).code == 0


def test_small_differences_are_ignored_within_the_tolerance(exoskel_command: Command, folder: Path) -> None:
    Path("near.skel").write_text(BEFORE.replace("-9.81", "-9.8101"))
    assert exoskel_command("diff", "before.skel", "near.skel").code == 1
    assert exoskel_command("diff", "before.skel", "near.skel", "--tolerance", "1e-4").code == 0
    ran = exoskel_command("diff", "before.skel", "near.skel", "--tolerance=-1")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "exoskel: --tolerance must be finite and not negative, not -1\n"


def test_quiet_sets_only_the_exit_code(exoskel_command: Command, folder: Path) -> None:
    assert exoskel_command("diff", "--quiet", "before.skel", "after.skel") == (1, "", "")
    assert exoskel_command("diff", "-q", "before.skel", "before.skel") == (0, "", "")


def test_files_that_cannot_be_compared_are_errors(exoskel_command: Command, folder: Path) -> None:
    ran = exoskel_command("diff", "before.skel", "none.skel")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "exoskel: cannot read 'none.skel': no such file or directory\n"
    Path("broken.skel").write_text("<skel")
    ran = exoskel_command("diff", "broken.skel", "broken.skel")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("exoskel: broken.skel contains no world to compare: broken.skel:1:")
    ran = exoskel_command("diff", "-", "-")
    assert (ran.code, ran.err) == (2, "exoskel: only one of the two files can be standard input\n")


def test_errors_in_the_files_are_reported(exoskel_command: Command, folder: Path) -> None:
    Path("bad.skel").write_text(one_body("<inertia><mass>x</mass></inertia>"))
    Path("good.skel").write_text(one_body())
    ran = exoskel_command("diff", "bad.skel", "good.skel")
    assert ran.code == 0
    assert ran.err == "exoskel: bad.skel has 1 error; the invalid parts are not compared (see `exoskel check`)\n"


def test_read_options_are_accepted(exoskel_command: Command, folder: Path) -> None:
    file = EXAMPLES / "05_dofs.skel"
    assert exoskel_command("diff", file, file, "--semantics", "dart").code == 0


def test_terminal_output_is_coloured_and_escapes_names(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    Path("after.skel").write_text(AFTER.replace('"lamp"', '"lamp\u202e[red]"'))
    assert diff_command.diff("before.skel", "after.skel") == 1
    out = capsys.readouterr().out
    assert "\x1b[31m0 0 -9.81\x1b[0m" in out and "\x1b[32m0 0 -1.62\x1b[0m" in out
    assert "\u202e" not in out and "lamp\\u202e[red]" in out
