"""Messages, fates and differences about files of xacro name the lines that were written, not those of the expanded text."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import exoskel
from exoskel.diagnostics import Diagnostic
from exoskel.formats import xacro

XMLNS = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'
PARTS = f"""<?xml version="1.0"?>
<!-- parts -->
<robot {XMLNS}>
  <xacro:macro name="wheel" params="side">
    <link name="${{side}}_wheel">
      <inertial>
        <mass value="0"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
      </inertial>
      <unknwn/>
    </link>
    <joint name="${{side}}_axle" type="revolut">
      <parent link="base"/>
      <child link="${{side}}_wheel"/>
    </joint>
  </xacro:macro>
</robot>
"""
ROBOT = f"""<?xml version="1.0"?>
<robot name="r" {XMLNS}>
  <!-- a comment -->
  <xacro:include filename="parts.xacro"/>
  <xacro:property name="size" value="big"/>
  <xacro:macro name="body">
    <link name="base">
      <visual>
        <geometry> <!-- size -->
          <box size="${{size}}"/>
        </geometry>
      </visual>
    </link>
  </xacro:macro>


  <xacro:body/>
  <xacro:wheel side="left"/>
  <xacro:if value="true">
    <xacro:wheel side="right"/>
    <!-- another -->
    <gazebo><static>true</static></gazebo>
  </xacro:if>
</robot>
"""


@pytest.fixture
def robot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "parts.xacro").write_text(PARTS)
    (tmp_path / "robot.urdf.xacro").write_text(ROBOT)
    return Path("robot.urdf.xacro")


def places(found: list[Diagnostic], code: str) -> list[tuple[str, int | None]]:
    return [(d.file, d.line) for d in found if d.code == code]


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "exoskel", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_a_message_names_the_line_of_the_macro_in_its_file(robot: Path) -> None:
    scene = exoskel.load(robot)
    (value,) = [d for d in scene.diagnostics if "'big'" in d.message]
    assert (value.line, value.column) == (10, 22)
    assert '<box size="${size}"/>' in value.excerpt and value.excerpt.endswith("^^^^^^^")
    unknown = [d for d in scene.diagnostics if "unknwn" in d.message]
    assert [(d.file, d.line) for d in unknown] == [("parts.xacro", 10)] * 2
    assert ["left_wheel" in unknown[0].path, "right_wheel" in unknown[1].path] == [True, True]
    types = [d for d in scene.diagnostics if "revolut" in d.message]
    assert [(d.file, d.line, d.column) for d in types] == [("parts.xacro", 12, 38)] * 2


def test_all_outputs_of_check_agree(robot: Path) -> None:
    text = run("check", robot)
    assert "parts.xacro:10:7: info[" in text.stdout
    assert "robot.urdf.xacro:10:22: error[" in text.stdout
    found = json.loads(run("check", robot, "--json").stdout)
    entries = [d for d in found if "unknwn" in d["message"]]
    assert [(d["file"], d["line"]) for d in entries] == [("parts.xacro", 10)] * 2
    sarif = json.loads(run("check", robot, "--sarif").stdout)
    where = [r["locations"][0]["physicalLocation"] for r in sarif["runs"][0]["results"]]
    assert not any(
        "fixes" in result for result in sarif["runs"][0]["results"]
    )  # they were at lines of the expanded text
    assert ("parts.xacro", 10) in [(w["artifactLocation"]["uri"], w["region"]["startLine"]) for w in where]


@pytest.mark.parametrize("encoding", ["iso-8859-1", "utf-16", "utf-8-sig"])
def test_included_files_are_read_in_the_encoding_that_they_declare(robot: Path, encoding: str) -> None:
    """The package reads all of them as UTF-8."""
    text = f'<?xml version="1.0" encoding="{encoding.removesuffix("-sig")}"?>\r\n<robot {XMLNS}>\r\n<link name="ü"><unknwn/></link></robot>'
    Path("parts.xacro").write_bytes(text.encode(encoding))
    Path("robot.urdf.xacro").write_text(f'<robot name="r" {XMLNS}><xacro:include filename="parts.xacro"/></robot>')
    scene = exoskel.load(robot)
    assert [body.name for body in scene.world.bodies()] == ["ü"]
    assert places(scene.diagnostics, "UR101") == [("parts.xacro", 3)]


NESTED = f"""<robot {XMLNS}>

  <xacro:macro name="deep" params="n *block">
    <link name="${{n}}">
      <xacro:insert_block name="block"/>
      <deepbad/>
    </link>
  </xacro:macro>
</robot>
"""
INNER = f"""<robot {XMLNS}><xacro:include filename="nested.xacro" ns="d"/>
<xacro:property name="box">
   <visual><geometry><box size="1 1 z"/></geometry></visual>
</xacro:property>
</robot>
"""
OUTER = f"""<robot name="r" {XMLNS}>
<xacro:include filename="inner.xacro"/>
<link name="base"><xacro:insert_block name="box"/></link>
<xacro:d.deep n="a">
  <visual><geometry><sphere radius="q"/></geometry></visual>
</xacro:d.deep>
<link name="l"><xacro:attribute name="foo" value="1"/></link>
<xacro:element xacro:name="link" name="e"><elbad/></xacro:element>
<xacro:call macro="d.deep" n="c"><visual/></xacro:call>
</robot>
"""


def test_blocks_namespaces_calls_and_generated_elements_have_places(tmp_path: Path) -> None:
    for name, content in (("nested.xacro", NESTED), ("inner.xacro", INNER), ("outer.xacro", OUTER)):
        (tmp_path / name).write_text(content)
    found = {
        (Path(d.file).name, d.line, d.message.partition("'")[2].partition("'")[0] or d.message)
        for d in exoskel.load(tmp_path / "outer.xacro").diagnostics
        if d.code in ("UR101", "UR102", "UR105", "UR201")
    }
    assert found == {
        ("inner.xacro", 3, "z"),
        ("outer.xacro", 5, "q"),
        ("nested.xacro", 6, "unknown element <deepbad> in <link>"),
        ("outer.xacro", 7, "foo"),
        ("outer.xacro", 8, "unknown element <elbad> in <link>"),
        ("outer.xacro", 9, "<visual> has no <geometry>"),
    }


def test_fixes_are_not_applied(robot: Path) -> None:
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    assert "fixes and edits do not change the file" in run("check", "--fix", robot).stdout
    assert run("check", "--diff", robot).stdout.count("+++") == 0
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before


@pytest.mark.parametrize("name", ["robot.urdf.xacro", "parts.xacro"])
def test_macros_are_not_overwritten_by_what_they_expand_to(robot: Path, name: str) -> None:
    before = Path(name).read_bytes()
    scene = exoskel.load(robot)
    with pytest.raises(exoskel.SaveError, match="is a source of the scene, and it has macros"):
        exoskel.save(scene, name)
    refused = run("set", robot, "body:base.mass=3", "--out", name)
    assert refused.returncode == 2 and "save the scene to another file" in refused.stderr
    assert Path(name).read_bytes() == before
    exoskel.save(scene, name, force=True)
    assert b"macro" not in Path(name).read_bytes()


def test_an_included_file_is_not_overwritten_by_the_scene(tmp_path: Path) -> None:
    (tmp_path / "part.sdf").write_text('<sdf version="1.9"><model name="m"><link name="l"/></model></sdf>')
    include = "<include><uri>part.sdf</uri></include>"
    (tmp_path / "world.sdf").write_text(f'<sdf version="1.9"><world name="w">{include}</world></sdf>')
    with pytest.raises(exoskel.SaveError, match="it is included"):
        exoskel.save(exoskel.load(tmp_path / "world.sdf"), tmp_path / "part.sdf")


def test_fates_name_lines_of_the_source(robot: Path, tmp_path: Path) -> None:
    report = exoskel.convert(robot, tmp_path / "out.sdf")
    lines = {f.path: f.line for f in report.items}
    assert lines["robot[r]"] == 2
    assert lines["link[base]/visual"] == 8
    assert lines["link[left_wheel]"] == 18  # the call of a macro of another file
    assert lines["link[right_wheel]/inertial/mass"] == 20
    assert [f.line for f in report.items if f.path.startswith("comment")] == [9, 21]
    assert lines["gazebo"] == 22


def test_differences_name_lines_of_the_source(robot: Path) -> None:
    other = exoskel.load(robot)
    other.world.models[0].body("base").mass = 5.0
    other.world.models[0].body("left_wheel").mass = 5.0
    found = exoskel.diff(exoskel.load(robot), other)
    assert {d.line_a for d in found} == {7, 18}


def test_a_comment_in_the_source_suppresses_a_message(robot: Path) -> None:
    Path("parts.xacro").write_text(PARTS.replace("<unknwn/>", "<unknwn/> <!-- exoskel: ignore UR -->"))
    text = run("check", robot).stdout
    assert "unknwn" not in text and "revolut" in text


def test_text_that_is_expanded_has_lines(tmp_path: Path) -> None:
    scene = exoskel.load(
        ROBOT.replace(
            '<xacro:include filename="parts.xacro"/>',
            PARTS.partition("<robot")[2].partition(">")[2].rpartition("</robot>")[0].strip(),
        ),
        base=tmp_path,
    )
    unknown = [d for d in scene.diagnostics if "unknwn" in d.message]
    assert [(d.file, d.line) for d in unknown] == [("<text>", 10)] * 2


SDF = f"""<sdf version="1.9" {XMLNS}>
  <xacro:arg name="mass" default="2"/>
  <xacro:macro name="ball" params="name">
    <model name="${{name}}">
      <link name="l">
        <inertial><mass>$(arg mass)</mass></inertial>
        <inertal/>
      </link>
    </model>
  </xacro:macro>
  <world name="w">
    <xacro:ball name="a"/>
    <xacro:ball name="b"/>
    <xacro:include filename="none*.xacro"/>
  </world>
</sdf>
"""
MJCF = f"""<mujoco {XMLNS}>
  <xacro:property name="size" value="0.5"/>
  <xacro:macro name="ball" params="name">
    <body name="${{name}}">
      <freejoint/>
      <geom size="${{size}}" mass="$(arg mass)" rgb="1 0 0"/>
    </body>
  </xacro:macro>
  <xacro:arg name="mass" default="2"/>
  <worldbody>
    <xacro:ball name="a"/>
    <xacro:ball name="b"/>
    <xacro:include filename="none*.xacro"/>
  </worldbody>
</mujoco>
"""


@pytest.mark.parametrize(
    ("name", "content", "code", "line"),
    [("s.sdf.xacro", SDF, "SD007", 7), ("m.xml.xacro", MJCF, "MJ110", 6)],
)
def test_sdf_and_mjcf_are_expanded(tmp_path: Path, name: str, content: str, code: str, line: int) -> None:
    file = tmp_path / name
    file.write_text(content)
    scene = exoskel.load(file, arguments={"mass": 3, "other": 1})
    keys = [d.key for d in scene.diagnostics]
    assert keys.count(f"{code}.expanded") == keys.count(f"{code}.argument") == 1
    (warned,) = [d for d in scene.diagnostics if d.key == f"{code}.warning"]
    assert "matched no files" in warned.message
    problems = [d for d in scene.diagnostics if d.code != code]
    assert problems and {d.line for d in problems} == {line}
    good = content.replace("<inertal/>", "").replace('rgb="1 0 0"', "")
    file.write_text(good)
    result = run("convert", file, tmp_path / "out.skel", "--arg", "mass=3")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "out.skel").read_text().count("<mass>3</mass>") == 2
    scene = exoskel.load(file, arguments={"mass": 3})
    assert [body.mass for body in scene.world.bodies()] == [3.0, 3.0]


@pytest.mark.parametrize(("name", "content", "code"), [("s.sdf.xacro", SDF, "SD007"), ("m.xml.xacro", MJCF, "MJ110")])
def test_sdf_and_mjcf_that_cannot_be_expanded_are_refused_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: str, code: str
) -> None:
    file = tmp_path / name
    file.write_text(content.replace('<xacro:ball name="b"/>', "<xacro:bell/>"))
    (problem,) = exoskel.load(file).diagnostics
    assert problem.key == f"{code}.failed" and problem.line == 1 + content[: content.index('name="b"')].count("\n")
    assert [d.key for d in exoskel.load(file, confine=True).diagnostics] == [f"{code}.confined"]
    assert [d.key for d in exoskel.load(file, expand=False).diagnostics] == [code]
    monkeypatch.setattr(xacro, "is_installed", lambda: False)
    (problem,) = exoskel.load(file).diagnostics
    assert problem.key == f"{code}.missing" and "pip install 'exoskel[xacro]'" in str(problem.hint)


def test_files_of_a_folder_are_named_without_the_extension_of_xacro(tmp_path: Path) -> None:
    """`robot.urdf.xacro` became `robot.urdf.sdf`."""
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("robot.urdf.xacro", "arm.v2.xacro", "robot.urdf"):
        (folder / name).write_text(f"<robot name='r' {XMLNS}><link name='l'/></robot>")
    result = run("convert", folder, tmp_path / "out", "--to", "sdf")
    assert result.returncode == 0, result.stderr
    names = {path.name for path in (tmp_path / "out").iterdir() if path.suffix == ".sdf"}
    assert names == {"arm.v2.sdf", "robot.sdf", "robot_urdf_xacro.sdf"}


def test_a_file_that_only_defines_macros_is_no_error(robot: Path) -> None:
    """The robot had no link."""
    (found,) = exoskel.load("parts.xacro").diagnostics
    assert (found.key, found.severity) == ("UR004.empty", "info")
    assert run("check", "parts.xacro", robot.parent).stdout.count("no link") == 0
    assert run("convert", "parts.xacro", "parts.sdf").returncode != 0
