"""URDF, SDF and xacro files in editors: references of links, the outline, links to files, and macros."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types

from exoskel.lsp import open_document, symbols
from exoskel.lsp.hover_and_completion import completions
from exoskel.lsp.open_document import OpenDocument, Settings

URDF = """<robot name="r">
  <link name="base"/>
  <link name="arm"/>
  <joint name="j" type="revolut"><parent link="base"/><child link="arm"/></joint>
  <joint name="k" type="fixed"><parent link="arm"/><child link="hand"/></joint>
</robot>
"""
SDF = """<sdf version="1.9"><world name="w"><frame name="f"/><model name="m">
  <link name="base"/>
  <link name="arm"/>
  <joint name="j" type="revolut"><parent>base</parent><child>arm</child></joint>
  <joint name="k" type="fixed"><parent>arm</parent><child>hand</child></joint>
</model></world></sdf>
"""
XMLNS = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'
PARTS = f"""<robot {XMLNS}>
  <xacro:macro name="wheel" params="side">
    <link name="${{side}}"><unknwn/></link>
  </xacro:macro>
</robot>
"""
ROBOT = f"""<robot name="r" {XMLNS}>
  <xacro:include filename="parts.xacro"/>
  <xacro:include filename="$(find arm)/parts.xacro"/>
  <xacro:arg name="size" default="1"/>
  <xacro:macro name="body">
    <link name="base"><visual><geometry><box size="$(arg size)"/></geometry></visual></link>
  </xacro:macro>
  <xacro:body/>
  <xacro:wheel side="left"/>
</robot>
"""


def opened(path: Path, text: str, settings: Settings | None = None) -> OpenDocument:
    path.write_text(text)
    return OpenDocument(text, str(path), settings or Settings(), "utf-16")


def at(text: str, piece: str) -> types.Position:
    """The position before the last letter of a piece of a text."""
    before = text[: text.index(piece) + len(piece) - 2]
    return types.Position(before.count("\n"), len(before.rpartition("\n")[2]))


def names(found: list[types.DocumentSymbol]) -> list[object]:
    return [[one.name, *names(list(one.children or []))] if one.children else one.name for one in found]


@pytest.mark.parametrize(("suffix", "text", "outer"), [("urdf", URDF, ["r"]), ("sdf", SDF, ["w", "f", "m"])])
def test_the_outline_contains_links_and_models(tmp_path: Path, suffix: str, text: str, outer: list[str]) -> None:
    """It had joints only."""
    (tree,) = names(symbols.outline(opened(tmp_path / f"x.{suffix}", text)))
    inner = ["base", "arm", "j", "k"]
    assert tree == ([*outer, *inner] if suffix == "urdf" else [*outer[:-1], [outer[-1], *inner]])


@pytest.mark.parametrize(
    ("suffix", "text", "pieces"),
    [
        ("urdf", URDF, ['link name="arm"', 'child link="arm"', 'parent link="arm"']),
        ("sdf", SDF, ['link name="arm"', "<child>arm<", "<parent>arm<"]),
    ],
)
def test_references_of_links_include_those_of_joints_with_errors(
    tmp_path: Path, suffix: str, text: str, pieces: list[str]
) -> None:
    document = opened(tmp_path / f"x.{suffix}", text)
    lines = [3, 4, 5]
    for piece in pieces:
        found = symbols.references(document, at(text, piece))
        assert sorted(one.start.line + 1 for one in found) == lines
    definition = symbols.definition(document, at(text, pieces[1]))
    assert definition is not None and definition.start.line + 1 == 3
    labels = [one.label for one in completions(document, at(text, pieces[1]), types.MarkupKind.PlainText)]
    assert labels == ["base", "arm"]


def test_links_lead_to_included_files_of_xacro(tmp_path: Path) -> None:
    (tmp_path / "arm").mkdir()
    for folder in (tmp_path, tmp_path / "arm"):
        (folder / "parts.xacro").write_text(PARTS)
    document = opened(tmp_path / "r.urdf.xacro", ROBOT, Settings(package_path=(str(tmp_path),)))
    targets = [one.target for one in symbols.links(document)]
    assert targets == [(tmp_path / "parts.xacro").as_uri(), (tmp_path / "arm" / "parts.xacro").as_uri()]


def test_macros_are_not_expanded_by_default_and_no_error(tmp_path: Path) -> None:
    (found,) = open_document.diagnostics(opened(tmp_path / "r.urdf.xacro", ROBOT))
    assert found.severity is types.DiagnosticSeverity.Information
    assert "set `expand`" in found.message
    (tree,) = names(symbols.outline(opened(tmp_path / "r.urdf.xacro", ROBOT)))
    assert tree == ["r", ["body", "base"]]


def test_with_the_setting_macros_are_expanded_and_problems_are_shown_where_they_were_written(tmp_path: Path) -> None:
    pytest.importorskip("xacro")
    (tmp_path / "parts.xacro").write_text(PARTS)
    text = ROBOT.replace('<xacro:include filename="$(find arm)/parts.xacro"/>', "")
    settings = Settings(expand=True, arguments={"size": "big"})
    found = {
        one.range.start.line + 1: one.message
        for one in open_document.diagnostics(opened(tmp_path / "r.xacro", text, settings))
    }
    assert "'big' is not a number" in found[6]
    assert "parts.xacro:3: unknown element <unknwn>" in found[9]
    (own,) = open_document.diagnostics(
        opened(tmp_path / "r.xacro", text.replace("xacro:wheel", "xacro:weel"), settings)
    )
    assert own.range.start.line + 1 == 9 and "xacro cannot expand the file: unknown macro name" in own.message
    (macros,) = open_document.diagnostics(opened(tmp_path / "parts.xacro", PARTS, settings))
    assert macros.message == "the file only defines macros; read the file that includes it"


def test_a_setting_that_expands_macros_is_sent_to_the_package(tmp_path: Path) -> None:
    """A confined document is not expanded."""
    found = open_document.diagnostics(opened(tmp_path / "r.xacro", ROBOT, Settings(expand=True, confine=True)))
    assert [one.code for one in found] == ["UR004"]
    assert "confined" in found[0].message


# --- renaming -----------------------------------------------------------------------------------------

SCOPED = """<sdf version="1.9"><model name="m"><link name="base"/>
  <model name="arm"><link name="tip"/></model>
  <joint name="j" type="fixed"><parent>base</parent><child>arm::tip</child></joint>
  <joint name="broken" type="revolut"><parent>arm::tip</parent><child>base</child></joint>
</model></sdf>
"""


def applied(document: OpenDocument, edits: list[types.TextEdit]) -> str:
    lines = document.text.decode().splitlines(keepends=True)
    for edit in sorted(edits, key=lambda one: (one.range.start.line, one.range.start.character), reverse=True):
        assert edit.range.start.line == edit.range.end.line
        line = lines[edit.range.start.line]
        lines[edit.range.start.line] = (
            line[: edit.range.start.character] + edit.new_text + line[edit.range.end.character :]
        )
    return "".join(lines)


@pytest.mark.parametrize(
    ("suffix", "text", "piece", "old"),
    [
        ("urdf", URDF, 'link name="arm"', "arm"),
        ("urdf", URDF, 'child link="arm"', "arm"),
        ("urdf", URDF, 'joint name="j"', "j"),
        ("sdf", SDF, 'link name="arm"', "arm"),
        ("sdf", SDF, "<child>arm<", "arm"),
        ("sdf", SDF, 'frame name="f"', "f"),
        ("sdf", SCOPED, 'model name="arm"', "arm"),
        ("sdf", SCOPED, "<child>arm::", "arm"),
        ("sdf", SCOPED, "<child>arm::tip<", "tip"),
    ],
)
def test_names_and_their_references_are_renamed_in_the_text(
    tmp_path: Path, suffix: str, text: str, piece: str, old: str
) -> None:
    document = opened(tmp_path / f"x.{suffix}", text)
    position = at(text, piece)
    place = symbols.rename_range(document, position)
    assert place is not None and place.end.character - place.start.character == len(old)
    found = applied(document, symbols.rename_edits(document, position, "new & old"))
    expected = text
    for before, after in (('"', '"'), (">", "<"), (">", "::"), ("::", "<")):
        expected = expected.replace(f"{before}{old}{after}", f"{before}new &amp; old{after}")
    assert found == expected
    assert len(symbols.references(document, position)) == found.count("new &amp; old")


def test_a_scoped_name_leads_to_the_definition_of_each_part(tmp_path: Path) -> None:
    document = opened(tmp_path / "x.sdf", SCOPED)
    for piece, line in (("<child>arm::", 1), ("<child>arm::tip<", 1), ("<parent>base<", 0)):
        found = symbols.definition(document, at(SCOPED, piece))
        assert found is not None and found.start.line == line


def test_names_in_a_document_that_is_not_well_formed_are_not_renamed(tmp_path: Path) -> None:
    document = opened(tmp_path / "x.urdf", URDF.replace("</robot>", ""))
    assert symbols.rename_range(document, at(URDF, 'link name="arm"')) is None
