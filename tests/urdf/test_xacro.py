"""xacro files are expanded by the package xacro, in a child process with limits."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import exoskel
from exoskel.formats import xacro
from exoskel.scene.world import Scene

NAMESPACE = "xmlns:xacro='http://www.ros.org/wiki/xacro'"
LEG = """<xacro:macro name="leg" params="side">
  <link name="${side}_leg"><inertial><mass value="${mass * 2}"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
  </inertial></link>
  <joint name="${side}_hip" type="fixed"><parent link="torso"/><child link="${side}_leg"/></joint>
</xacro:macro>
<xacro:arg name="prefix" default="my"/>
<xacro:property name="mass" value="1.5"/>
<link name="torso"/>
<xacro:leg side="left"/>
<xacro:leg side="$(arg prefix)_right"/>"""


def write(path: Path, content: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"<robot name='r' {NAMESPACE}>{content}</robot>")
    return path


def body_names(scene: Scene) -> list[str]:
    return [body.name for body in scene.world.bodies()]


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "exoskel", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_macros_properties_and_arguments_are_expanded(tmp_path: Path) -> None:
    scene = exoskel.load(write(tmp_path / "robot.urdf.xacro", LEG), arguments={"prefix": "your"})
    assert body_names(scene) == ["torso", "left_leg", "your_right_leg"]
    assert scene.world.models[0].body("left_leg").mass == 3.0
    assert [d.key for d in scene.diagnostics if d.code == "UR004"] == ["UR004.expanded"]


def test_arguments_are_given_on_the_command_line(tmp_path: Path) -> None:
    file = write(tmp_path / "robot.urdf.xacro", LEG)
    result = run("convert", file, tmp_path / "robot.urdf", "--arg", "prefix=far")
    assert result.returncode == 0, result.stderr
    assert 'name="far_right_leg"' in (tmp_path / "robot.urdf").read_text()
    wrong = run("check", file, "--arg", "prefix")
    assert wrong.returncode == 2
    assert "--arg 'prefix' is not an argument; use --arg NAME=VALUE" in wrong.stderr


def test_included_files_and_packages_are_found(tmp_path: Path) -> None:
    package = tmp_path / "arm"
    write(package / "urdf" / "parts.xacro", "<link name='part'/>")
    (package / "package.xml").write_text("<package><name>arm</name></package>")
    near = write(package / "urdf" / "near.xacro", "<xacro:include filename='parts.xacro'/>")
    far = write(package / "urdf" / "far.xacro", "<xacro:include filename='$(find arm)/urdf/parts.xacro'/>")
    outside = write(tmp_path / "outside.xacro", "<xacro:include filename='$(find arm)/urdf/parts.xacro'/>")
    assert (
        body_names(exoskel.load(near)) == body_names(exoskel.load(far)) == body_names(exoskel.load(outside)) == ["part"]
    )


def test_text_is_expanded_like_a_file(tmp_path: Path) -> None:
    write(tmp_path / "parts.xacro", "<link name='part'/>")
    text = f"<robot name='r' {NAMESPACE}><xacro:include filename='parts.xacro'/><link name='${{1 + 1}}'/></robot>"
    assert body_names(exoskel.load(text, base=tmp_path)) == ["part", "2"]


def test_the_file_itself_is_never_changed(tmp_path: Path) -> None:
    file = write(tmp_path / "robot.urdf.xacro", LEG + "<link name='x'><inertal/></link><joint nam='j'/>")
    before = file.read_bytes()
    scene = exoskel.load(file)
    with pytest.raises(exoskel.ExoskelError):
        exoskel.save(scene)
    assert run("check", "--fix", file).returncode in (0, 1)
    refused = run("convert", file, file, "--to", "urdf")
    assert refused.returncode == 2
    assert "overwrite" in refused.stderr
    assert file.read_bytes() == before
    exoskel.save(scene, tmp_path / "robot.urdf")
    assert body_names(exoskel.load(tmp_path / "robot.urdf")) == body_names(scene)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("<link name='${missing}'/>", "missing"),
        ("<xacro:include filename='missing.xacro'/>", "missing.xacro"),
        ("<xacro:include filename='$(find missing)/a.xacro'/>", "package 'missing' was not found"),
        ("<xacro:include filename='robot.xacro'/>", "nested too deeply"),
        ("<xacro:macro name='m'><xacro:m/></xacro:macro><xacro:m/>", "nested too deeply"),
        ("<link name='${9 ** 9 ** 9 ** 9}'/>", "takes more than"),
        ("<link name='${[0] * 10 ** 10}'/>", "memory"),
        ("<xacro:unknown/>", "unknown"),
    ],
)
def test_a_file_that_cannot_be_expanded_is_reported_with_the_reason(tmp_path: Path, content: str, reason: str) -> None:
    file = write(tmp_path / "robot.xacro", content)
    scene = exoskel.load(file, limits=exoskel.Limits(seconds=2 if "**" in content else 60))
    (problem,) = scene.diagnostics
    assert problem.key == "UR004.failed"
    assert problem.message.startswith("xacro cannot expand the file: ")
    assert reason in problem.message
    assert not scene.worlds


BROKEN = """<xacro:macro name="part" params="name">
  <!-- a comment -->
  <link name="${name}"><xacro:unknown/></link>
</xacro:macro>
"""


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        ("<!-- a comment -->\n<link name='a'/>\n<link name='${missing}'/>", 3, "missing"),
        ("<link name='a'/>\n<xacro:include filename='missing.xacro'/>", 2, "missing.xacro: no such file or directory"),
        ("<link name='${1}'/>\n<xacro:include filename='$(find p)/a.xacro'/>", 2, "package 'p' was not found"),
        (f"{BROKEN}<link name='a'/>\n<xacro:part name='b'/>", 3, "unknown macro name: xacro:unknown"),
        ("<link name='a'/>\n<link name='b'>$(arg size)</link>", 2, "Undefined substitution argument size"),
        (
            "<xacro:include filename='broken.xacro'/>\n<xacro:part name='b'/>",
            2,
            "broken.xacro:3: unknown macro name: x",
        ),
        ("<xacro:include filename='broken.xacro'/>\n<xacro:part no='b'/>", 2, 'Invalid parameter "no"'),
        ("<link name='a'/>\n<xacro:include filename='half.xml'/>", 2, "half.xml is not well-formed XML: no element fo"),
    ],
)
def test_a_problem_has_the_line_of_the_element(tmp_path: Path, content: str, line: int, reason: str) -> None:
    """It was always that of the first macro of the file, and long reasons were shortened."""
    write(tmp_path / "broken.xacro", BROKEN)
    (tmp_path / "half.xml").write_text("<robot>")
    (problem,) = exoskel.load(write(tmp_path / "robot.xacro", content)).diagnostics
    assert (problem.key, problem.line) == ("UR004.failed", line)
    assert reason in problem.message
    assert "…" not in problem.message and "<class" not in problem.message
    if "package" not in reason:
        assert problem.hint == ("set it with --arg size=VALUE (arguments=)" if "argument size" in reason else "")


def test_a_missing_package_is_reported_with_the_places_that_were_searched(tmp_path: Path) -> None:
    content = "<xacro:include filename='$(find arm)/a.xacro'/>"
    (problem,) = exoskel.load(write(tmp_path / "robot.xacro", content)).diagnostics
    assert problem.hint == (
        "set --package-path DIR (package_path=): package 'arm' was searched around the file, "
        "in AMENT_PREFIX_PATH (not set) and in ROS_PACKAGE_PATH (not set)"
    )


def test_an_argument_that_the_file_does_not_have_is_reported(tmp_path: Path) -> None:
    """xacro ignores it silently."""
    file = write(tmp_path / "robot.xacro", f"{LEG}<xacro:if value='${{False}}'><link name='$(arg spare)'/></xacro:if>")
    scene = exoskel.load(file, arguments={"prefx": "your", "prefix": 3, "spare": "x"})
    assert body_names(scene)[-1] == "3_right_leg"
    (problem,) = [d for d in scene.diagnostics if d.key == "UR004.argument"]
    assert problem.message == "the file has no argument 'prefx'"
    assert problem.hint == "did you mean 'prefix'?"


def test_warnings_of_the_package_are_reported(tmp_path: Path) -> None:
    content = "<link name='a'/><xacro:include filename='none*.xacro'/><xacro:arg name='a' default='1' unit='m'/>"
    scene = exoskel.load(write(tmp_path / "robot.xacro", content))
    messages = [d.message for d in scene.diagnostics if d.key == "UR004.warning"]
    assert len(messages) == 2
    assert "matched no files" in messages[0] and messages[1].endswith("xacro:arg: unknown attribute(s): unit")


def test_a_confined_file_is_not_expanded(tmp_path: Path) -> None:
    scene = exoskel.load(write(tmp_path / "robot.xacro", LEG), confine=True)
    assert [d.key for d in scene.diagnostics] == ["UR004.confined"]
    assert not scene.worlds


def test_without_the_package_the_message_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xacro, "is_installed", lambda: False)
    (problem,) = exoskel.load(write(tmp_path / "robot.xacro", LEG)).diagnostics
    assert problem.key == "UR004.missing"
    assert "pip install 'exoskel[xacro]'" in str(problem.hint)


def test_expanded_files_are_read_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xacro, "is_installed", lambda: False)
    scene = exoskel.load(write(tmp_path / "robot.urdf", "<link name='l'/>"))
    assert body_names(scene) == ["l"]
    assert not [d for d in scene.diagnostics if d.code == "UR004"]


@pytest.mark.parametrize("content", ["<xacro:include filename='pipe'/>", "<link name=\"${xacro.load_yaml('pipe')}\"/>"])
def test_a_pipe_that_a_file_names_is_refused(tmp_path: Path, content: str) -> None:
    """The package waited until the time for an answer was over."""
    os.mkfifo(tmp_path / "pipe")
    scene = exoskel.load(write(tmp_path / "robot.xacro", content))
    assert "it is a device, a pipe or a socket" in scene.diagnostics[0].message


@pytest.mark.parametrize("name", ["$(env EXOSKEL_UNSET)", "$(dirname)", "$(arg unknown)", "${unknown}", "${1/0}"])
def test_the_reason_of_a_failure_states_each_thing_once(tmp_path: Path, name: str) -> None:
    scene = exoskel.load(write(tmp_path / "robot.urdf.xacro", f'<link name="{name}"/>'))
    (failure,) = [one for one in scene.diagnostics if one.key == "UR004.failed"]
    words = failure.message.split()
    halves = [words[i : i + n] == words[i + n : i + 2 * n] for n in range(1, len(words)) for i in range(len(words) - n)]
    assert "<class" not in failure.message and not any(halves)
