"""The language server, as seen by an editor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

import exoskel
from exoskel.lsp.open_document import EditorPositions
from exoskel.source.positions import Scan
from tests.lsp.client import Editor, session
from tests.support.xml import body, joint, one_body, skeleton, world

MISSPELLED = one_body("\n  <transfromation>0 0 1 0 0 0</transfromation>\n")
TWO = world(
    skeleton(
        "\n" + body(name="upper") + "\n" + body(name="lower") + "\n"
        + joint(child="upper", name="shoulder") + "\n" + joint(parent="upper", child="lower", name="elbow", kind="ball")
        + "\n"
    )
)  # fmt: skip
XODE = """<xode version="1.0r22" name="x"><world name="w"><space>
<body name="hub"><transform><position x="0" y="0" z="1"/></transform>
<geom><sphere radius="1"/></geom></body>
<body name="rim"><geom><sphere radius="1"/></geom></body>
<joint name="axle"><link1 body="hub"/><link2 body="rim"/><fixed/></joint>
</space></world></xode>
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "scene.skel"


def test_diagnostics_are_published_while_typing(path: Path) -> None:
    async def script(editor: Editor) -> None:
        (found,) = await editor.open(MISSPELLED)
        assert (found.code, found.severity, found.source) == ("SK010", types.DiagnosticSeverity.Warning, "exoskel")
        assert editor.between(found.range) == "<transfromation"
        assert "did you mean 'transformation'?" in found.message and "DART 6" in found.message
        assert await editor.change(MISSPELLED.replace("transfromation", "transformation")) == []
        (broken,) = await editor.change("<skel><world>")
        assert broken.code == "SK001"
        (empty,) = await editor.change("")
        assert empty.code == "SK001"
        editor.client.text_document_did_close(types.DidCloseTextDocumentParams(editor.document))
        assert await editor.diagnostics() == []

    session(path, script)


@pytest.mark.parametrize("name", ["my scene.skel", "Ünicode 场景.skel", "a#b%20c.skel"])
def test_paths_with_spaces_and_other_characters_work(tmp_path: Path, name: str) -> None:
    """Editors write them with percent signs, on Windows also the colon after the drive."""

    async def script(editor: Editor) -> None:
        assert "%" in editor.uri
        (found,) = await editor.open(MISSPELLED)
        assert found.code == "SK010"
        symbols = await editor.client.text_document_document_symbol_async(types.DocumentSymbolParams(editor.document))
        assert symbols
        assert await editor.change(MISSPELLED.replace("transfromation", "transformation")) == []

    session(tmp_path / name, script)


def test_diagnostics_match_those_of_check(path: Path) -> None:
    text = (Path(exoskel.__file__).parent / "samples/skel/robot_arm.skel").read_text() + "<!-- end -->\n"

    async def script(editor: Editor) -> None:
        shown = await editor.open(text)
        expected = exoskel.load(text.encode()).diagnostics
        assert [(d.code, d.range.start.line + 1) for d in shown] == [(d.code, d.line) for d in expected]

    session(path, script)


@pytest.mark.parametrize("units", ["utf-16", "utf-8", "utf-32"])
def test_positions_use_the_negotiated_encoding(path: Path, units: str) -> None:
    text = one_body("<!-- 🤖é --><odd/>\r<!-- \u2028 🤖 --><odd2/>\r\n<odd3/>")
    sizes = {"utf-16": ("utf-16-le", 2), "utf-8": ("utf-8", 1), "utf-32": ("utf-32-le", 4)}
    codec, size = sizes[units]

    async def script(editor: Editor) -> None:
        found = [one for one in await editor.open(text) if one.code == "SK010"]
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        for number, (one, tag) in enumerate(zip(found, ("<odd/", "<odd2", "<odd3"), strict=True)):
            before = lines[number][: lines[number].index(tag)]
            assert one.range.start == types.Position(number, len(before.encode(codec)) // size)

    session(path, script, encodings=[units])


def test_quick_fixes_edit_the_text(path: Path) -> None:
    text = one_body('\n<!-- 🤖 --><transfromation>0 0 1 0 0 0</transfromation>\n<x:odd xmlns:x="y"/>')

    async def script(editor: Editor) -> None:
        found = await editor.open(text)
        slip = next(one for one in found if one.code == "SK010" and one.severity == types.DiagnosticSeverity.Warning)
        (action,) = await editor.actions(slip.range, ["quickfix"])
        assert (action.title, action.is_preferred) == ("use <transformation>", True)
        fixed = text.replace("transfromation", "transformation")
        assert editor.applied(editor.edits(action.edit)) == fixed
        (everything,) = await editor.actions(slip.range, ["source.fixAll"])
        assert (everything.title, editor.applied(editor.edits(everything.edit))) == ("Apply the only safe fix", fixed)
        assert await editor.actions(types.Range(types.Position(0, 0), types.Position(0, 0)), ["quickfix"]) == []
        assert await editor.change(fixed) != found
        assert await editor.actions(slip.range) == []

    session(path, script)


def test_hover_documents_elements_attributes_and_values(path: Path) -> None:
    text = one_body("<inertia><mass>1</mass></inertia>", kind="ball")

    async def hover(editor: Editor, position: types.Position) -> str:
        found = await editor.client.text_document_hover_async(types.HoverParams(editor.document, position))
        return "" if found is None else found.contents.value  # type: ignore[union-attr]

    async def script(editor: Editor) -> None:
        await editor.open(text)
        for place in (editor.at("<mass>"), editor.at(">1</mass"), editor.at("</mass>", inside=3)):
            assert "**`<mass>`**" in await hover(editor, place)
        assert "kg" in await hover(editor, editor.at("<mass>"))
        assert "**`type`** of `<joint>` (required)" in await hover(editor, editor.at("type="))
        assert "**`type`** of `<joint>`" in await hover(editor, editor.at('"ball"', inside=2))
        assert "children: `<parent>`" in await hover(editor, editor.at("<joint"))
        await editor.change(text.replace("<mass>", "<!-- mass -->"))
        assert await hover(editor, editor.at("<!-- mass", inside=6)) == ""

    session(path, script)


def test_completion_depends_on_the_context(path: Path) -> None:
    async def complete(editor: Editor, text: str) -> dict[str, types.CompletionItem]:
        await editor.change(text.replace("|", ""))
        found = await editor.client.text_document_completion_async(
            types.CompletionParams(editor.document, editor.position(text.index("|")))
        )
        return {item.label: item for item in found or []}  # type: ignore[union-attr]

    def after(editor: Editor, item: types.CompletionItem) -> str:
        assert isinstance(item.text_edit, types.TextEdit)
        return editor.applied([item.text_edit])

    async def script(editor: Editor) -> None:
        await editor.open("")
        found = await complete(editor, '<skel><world name="w"><skeleton><body name="b"><in|')
        assert {"inertia", "transformation", "collision_shape"} <= found.keys()
        assert "mass" not in found
        assert after(editor, found["inertia"]).endswith('<body name="b"><inertia>$0</inertia>')
        found = await complete(editor, "<skel><world><skeleton><body><inertia>|</inertia>")
        assert {"mass", "offset", "moment_of_inertia"} <= found.keys()
        found = await complete(editor, "<skel><world><skeleton><joint | name='j'></joint>")
        assert after(editor, found["type"]).count('type="') == 1
        found = await complete(editor, '<skel><world><skeleton><joint type="|"/>')
        assert {"revolute", "free", "weld"} <= found.keys()
        found = await complete(editor, '<skel><world><skeleton><joint type="re|" name="j">')
        assert after(editor, found["revolute"]).endswith('<joint type="revolute" name="j">')
        found = await complete(editor, TWO.replace("<parent>upper<", "<parent>up|<"))
        assert found.keys() == {"world", "upper", "lower"}
        assert after(editor, found["lower"]) == TWO.replace("<parent>upper<", "<parent>lower<")
        found = await complete(editor, "<skel><world><physics></|")
        assert after(editor, found["/physics"]) == "<skel><world><physics></physics>"
        assert (await complete(editor, "|")).keys() == {"skel"}
        assert await complete(editor, "<skel><!-- <| -->") == {}
        assert await complete(editor, "<nonsense><|") == {}
        assert await complete(editor, "</|") == {}

    session(path, script)


def test_definitions_and_references_are_found(path: Path) -> None:
    async def script(editor: Editor) -> None:
        await editor.open(TWO)

        async def definition(position: types.Position) -> types.Range | None:
            found = await editor.client.text_document_definition_async(
                types.DefinitionParams(editor.document, position)
            )
            return found.range if isinstance(found, types.Location) else None

        async def references(position: types.Position) -> list[int]:
            found = await editor.client.text_document_references_async(
                types.ReferenceParams(types.ReferenceContext(True), editor.document, position)
            )
            return [one.range.start.line for one in found or []]

        parent = editor.at("<parent>upper", inside=10)
        found = await definition(parent)
        assert found is not None and (found.start.line, editor.between(found)) == (1, "upper")
        parent_joint = await definition(editor.at('body name="lower"', inside=12))
        assert parent_joint is not None and editor.between(parent_joint) == "elbow"
        child = await definition(editor.at('name="elbow"', inside=7))
        assert child is not None and editor.between(child) == "lower"
        assert await definition(editor.at("<parent>world", inside=10)) is None
        assert await definition(editor.at("<physics>")) is None
        assert await references(parent) == [1, 3, 4]

    session(path, script)


@pytest.mark.parametrize(("format", "text", "where", "old"), [
    ("skel", TWO, "<parent>upper", "upper"),
    ("skel", TWO, 'body name="upper', "upper"),
    ("skel", TWO, 'joint type="ball" name="elbow', "elbow"),
    ("skel", TWO, 'skeleton name="s', "s"),
    ("xode", XODE, 'link1 body="hub', "hub"),
    ("xode", XODE, 'body name="rim', "rim"),
    ("xode", XODE, 'joint name="axle', "axle"),
])  # fmt: skip
def test_renaming_changes_the_name_and_its_references(
    tmp_path: Path, format: str, text: str, where: str, old: str
) -> None:
    text = text.replace("><", ">\n<!-- 🤖 --><", 1)

    async def script(editor: Editor) -> None:
        await editor.open(text, format)
        position = editor.at(where, inside=len(where))
        place = await editor.client.text_document_prepare_rename_async(
            types.PrepareRenameParams(editor.document, position)
        )
        assert isinstance(place, types.Range) and editor.between(place) == old
        edit = await editor.client.text_document_rename_async(
            types.RenameParams(editor.document, position, "nöw & then")
        )
        expected = text
        for opening, closing in (('name="', '"'), ('body="', '"'), ("<parent>", "<"), ("<child>", "<")):
            expected = expected.replace(f"{opening}{old}{closing}", f"{opening}nöw &amp; then{closing}")
        assert editor.applied(editor.edits(edit)) == expected

    session(tmp_path / f"scene.{format}", script)


@pytest.mark.parametrize(
    "broken",
    [
        TWO.replace('type="ball"', 'type="bal"'),
        TWO.replace("<child>lower</child>", ""),
        TWO.replace("<child>lower</child>", "<child>nothing</child>"),
    ],
)
def test_a_joint_with_an_error_is_renamed_and_found_too(path: Path, broken: str) -> None:
    async def script(editor: Editor) -> None:
        await editor.open(broken)
        position = editor.at("<parent>upper", inside=10)
        found = await editor.client.text_document_references_async(
            types.ReferenceParams(types.ReferenceContext(True), editor.document, position)
        )
        assert [editor.between(one.range) for one in found or []] == ["upper"] * 3
        marked = await editor.client.text_document_document_highlight_async(
            types.DocumentHighlightParams(editor.document, position)
        )
        assert [one.range for one in marked or []] == [one.range for one in found or []]
        edit = await editor.client.text_document_rename_async(types.RenameParams(editor.document, position, "arm"))
        assert editor.applied(editor.edits(edit)) == broken.replace("upper", "arm")

    session(path, script)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        (TWO.replace('type="ball"', 'type="bal"'), 'name="elbow'),
        (TWO.replace("<child>lower</child>", ""), 'name="elbow'),
        (TWO.replace('name="lower"', 'name="upper"'), '<body name="upper'),
        (TWO.replace('name="elbow"', 'name="shoulder"'), 'name="shoulder'),
        (XODE.replace("<fixed/>", "<fxed/>"), 'name="axle'),
    ],
)
def test_an_element_that_an_error_excludes_can_be_renamed(tmp_path: Path, text: str, where: str) -> None:
    """Such as a joint with an unknown type, or the second of two bodies with the same name."""

    async def script(editor: Editor) -> None:
        await editor.open(text)
        position = editor.position(text.rindex(where) + len(where))
        name = where.rpartition('"')[2]
        place = await editor.client.text_document_prepare_rename_async(
            types.PrepareRenameParams(editor.document, position)
        )
        assert isinstance(place, types.Range) and editor.between(place) == name
        found = await editor.client.text_document_references_async(
            types.ReferenceParams(types.ReferenceContext(True), editor.document, position)
        )
        assert [one.range for one in found or []] == [place]
        edit = await editor.client.text_document_rename_async(types.RenameParams(editor.document, position, "a & b"))
        head, _, tail = text.rpartition(where)
        assert editor.applied(editor.edits(edit)) == f"{head}{where.removesuffix(name)}a &amp; b{tail}"
        taken = "hub" if "<xode" in text else "upper"
        refused = taken if "<body" in where else name if text.count(f'"{name}"') > 1 else " "
        with pytest.raises(JsonRpcException, match=r"already|must not be empty"):
            await editor.client.text_document_rename_async(types.RenameParams(editor.document, position, refused))

    session(tmp_path / ("scene.xode" if "<xode" in text else "scene.skel"), script)


def test_names_of_several_words_are_found_from_their_references(path: Path) -> None:
    text = TWO.replace("upper", "upper arm")

    async def script(editor: Editor) -> None:
        await editor.open(text)
        position = editor.at("<parent>upper arm", inside=10)
        place = await editor.client.text_document_prepare_rename_async(
            types.PrepareRenameParams(editor.document, position)
        )
        assert isinstance(place, types.Range) and editor.between(place) == "upper arm"
        found = await editor.client.text_document_references_async(
            types.ReferenceParams(types.ReferenceContext(True), editor.document, position)
        )
        assert [editor.between(one.range) for one in found or []] == ["upper arm"] * 3

    session(path, script)


def test_names_in_other_models_are_not_renamed(path: Path) -> None:
    other = skeleton(body(name="upper") + joint(child="upper", name="k"), name="t")
    text = TWO.replace("</world>", other + "</world>").replace('type="ball"', 'type="bal"')

    async def script(editor: Editor) -> None:
        await editor.open(text)
        position = editor.at("<parent>upper", inside=10)
        edit = await editor.client.text_document_rename_async(types.RenameParams(editor.document, position, "arm"))
        assert editor.applied(editor.edits(edit)).count("upper") == 2

    session(path, script)


def test_elements_fold_where_they_take_several_lines(path: Path) -> None:
    text = "<skel>\n<!-- one\ntwo -->\n<world name='w'>\n<physics/>\n</world>\n</skel>\n"

    async def script(editor: Editor) -> None:
        await editor.open(text)
        found = await editor.client.text_document_folding_range_async(types.FoldingRangeParams(editor.document))
        assert [(one.start_line, one.end_line) for one in found or []] == [(0, 6), (1, 2), (3, 5)]
        assert [one.kind for one in found or []] == [None, types.FoldingRangeKind.Comment, None]
        await editor.change("<skel><world>\n")
        assert not await editor.client.text_document_folding_range_async(types.FoldingRangeParams(editor.document))

    session(path, script)


def test_files_that_exist_are_links(path: Path) -> None:
    (path.parent / "arm.obj").write_text("v 0 0 0\n")
    shape = "<visualization_shape><geometry><mesh><file_name>{}</file_name></mesh></geometry></visualization_shape>"
    text = one_body(shape.format("arm.obj") + shape.format("missing.obj"))

    async def script(editor: Editor) -> None:
        await editor.open(text)
        (link,) = await editor.client.text_document_document_link_async(types.DocumentLinkParams(editor.document)) or []
        assert editor.between(link.range) == "arm.obj"
        assert link.target == (path.parent / "arm.obj").as_uri()

    session(path, script)


def test_texts_have_no_markup_for_editors_that_do_not_show_markdown(path: Path) -> None:
    async def script(editor: Editor) -> None:
        await editor.open(TWO)
        hover = await editor.client.text_document_hover_async(
            types.HoverParams(editor.document, editor.at("<gravity>", inside=2))
        )
        assert hover is not None and isinstance(hover.contents, types.MarkupContent)
        assert hover.contents.kind is types.MarkupKind.PlainText
        assert "<gravity>" in hover.contents.value
        assert not set("*`") & set(hover.contents.value)

    session(path, script, texts=types.MarkupKind.PlainText)


def test_invalid_renames_are_rejected(path: Path) -> None:
    async def script(editor: Editor) -> None:
        await editor.open(TWO)
        for where, name in (("<parent>upper", "lower"), ("<gravity>0 0", "x")):
            with pytest.raises(JsonRpcException) as refusal:
                await editor.client.text_document_rename_async(
                    types.RenameParams(editor.document, editor.at(where, inside=len(where)), name)
                )
            assert "Traceback" not in str(refusal.value)
        await editor.change("<skel><world>")
        assert (
            await editor.client.text_document_prepare_rename_async(
                types.PrepareRenameParams(editor.document, types.Position(0, 8))
            )
            is None
        )

    session(path, script)


URDF = """<robot name="arm">
  <link name="base"/>
  <link name="tip"/>
  <joint name="elbow" type="fixed"><parent link="base"/><child link="tip"/></joint>
  <transmission name="t"><joint name="elbow"/></transmission>
</robot>
"""
SDF = """<sdf version="1.9"><world name="w"><model name="m"><link name="base"><sensor name="s" type="imu"/></link></model>
<plugin name="p" filename="p"/></world></sdf>
"""
USD = """#usda 1.0
def Xform "base"
{
}
"""


MACRO = """<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><link name="base"/>
<link name="${name}"/></robot>"""


@pytest.mark.parametrize(
    ("format", "text", "where", "reason"),
    [
        ("urdf", MACRO, 'link name="base', "names in files with macros cannot be changed"),
        ("usda", USD, 'Xform "base', "cannot be changed without rewriting the file"),
    ],
)
def test_renames_that_would_rewrite_a_file_are_refused(
    tmp_path: Path, format: str, text: str, where: str, reason: str
) -> None:
    async def script(editor: Editor) -> None:
        await editor.open(text, format)
        position = editor.at(where, inside=len(where))
        place = types.PrepareRenameParams(editor.document, position)
        assert await editor.client.text_document_prepare_rename_async(place) is None
        with pytest.raises(JsonRpcException) as refusal:
            await editor.client.text_document_rename_async(types.RenameParams(editor.document, position, "other"))
        assert reason in str(refusal.value)

    session(tmp_path / f"scene.{format}", script)


def test_renaming_a_joint_renames_it_in_the_joints_that_mimic_it(path: Path) -> None:
    scene = exoskel.load("dart://sample/skel/double_pendulum.skel")
    first, second = [joint for joint in scene.worlds[0].models[-1].joints if joint.kind == "revolute"][:2]
    second.mimic = exoskel.Mimic(first.name)
    exoskel.save(scene, path)
    text = path.read_text()

    async def script(editor: Editor) -> None:
        await editor.open(text)
        where = f'name="{first.name}'
        edit = await editor.client.text_document_rename_async(
            types.RenameParams(editor.document, editor.at(where, inside=len(where)), "driver")
        )
        renamed = exoskel.load(editor.applied(editor.edits(edit)).encode())
        joints = {joint.name: joint for model in renamed.worlds[0].models for joint in model.joints}
        assert joints["driver"].kind == "revolute"
        assert joints[second.name].mimic.joint == "driver"

    session(path, script)


@pytest.mark.parametrize("where", ['world name="w', 'skeleton name="s', 'body name="upper', 'name="elbow'])
def test_a_name_cannot_become_empty(path: Path, where: str) -> None:
    async def script(editor: Editor) -> None:
        await editor.open(TWO)
        with pytest.raises(JsonRpcException) as refusal:
            await editor.client.text_document_rename_async(
                types.RenameParams(editor.document, editor.at(where, inside=len(where)), " ")
            )
        assert "a name must not be empty" in str(refusal.value)

    session(path, script)


def test_the_outline_lists_models_bodies_and_joints(path: Path) -> None:
    async def script(editor: Editor) -> None:
        await editor.open(TWO)
        params = types.DocumentSymbolParams(editor.document)
        (shown,) = await editor.client.text_document_document_symbol_async(params) or []
        assert isinstance(shown, types.DocumentSymbol) and shown.name == "w" and shown.children
        (model,) = shown.children
        names = [(one.name, one.kind) for one in model.children or []]
        assert names == [
            ("upper", types.SymbolKind.Object),
            ("lower", types.SymbolKind.Object),
            ("shoulder", types.SymbolKind.Interface),
            ("elbow", types.SymbolKind.Interface),
        ]
        for one in model.children or []:
            assert editor.between(one.selection_range) == one.name
            assert editor.between(one.range).startswith("<") and editor.between(one.range).endswith(">")
        await editor.change("<skel><world>")
        assert not await editor.client.text_document_document_symbol_async(params)

    session(path, script)


def test_formatting_matches_fmt(path: Path) -> None:
    async def script(editor: Editor) -> None:
        await editor.open(TWO)
        params = types.DocumentFormattingParams(editor.document, types.FormattingOptions(2, True))
        formatted = editor.applied(list(await editor.client.text_document_formatting_async(params) or []))
        assert formatted.startswith('<skel version="1.0">\n  <world name="w">\n    <physics>\n')
        await editor.change(formatted)
        assert not await editor.client.text_document_formatting_async(params)
        await editor.change("<skel><world>")
        assert await editor.client.text_document_formatting_async(params) is None

    session(path, script)


def test_formats_without_a_canonical_layout_are_left_unchanged(tmp_path: Path) -> None:
    """An error would be shown with each save in editors that format then."""

    async def script(editor: Editor) -> None:
        await editor.open('<mujoco><worldbody><body name="b"><geom size="1"/></body></worldbody></mujoco>', "xml")
        params = types.DocumentFormattingParams(editor.document, types.FormattingOptions(2, insert_spaces=True))
        assert await editor.client.text_document_formatting_async(params) is None

    session(tmp_path / "robot.mjcf", script)


def test_settings_are_initialization_options(path: Path) -> None:
    text = one_body("<transformation>0,0,1,0,0,0</transformation>")

    async def script(editor: Editor) -> None:
        assert [one.code for one in await editor.open(text)] == ["SK025"]

    session(path, script, options={"semantics": "dart"})
    with pytest.raises(JsonRpcException, match="semantics"):
        session(path, script, options={"semantics": "odd"})


def test_invalid_documents_are_handled(path: Path) -> None:
    async def script(editor: Editor) -> None:
        await editor.open("\x00\ud83d")
        for text in (
            "<",
            "<skel",
            '<skel a="',
            "<skel>\u2028<world ",
            "{}",
            "<a><b></a>",
            "<!DOCTYPE skel [<!ENTITY a 'b'>]><skel/>",
        ):
            assert await editor.change(text)
            for index in range(len(text) + 1):
                position = editor.position(index)
                await editor.client.text_document_completion_async(types.CompletionParams(editor.document, position))
                await editor.client.text_document_hover_async(types.HoverParams(editor.document, position))
                await editor.client.text_document_definition_async(types.DefinitionParams(editor.document, position))

    session(path, script)


MJCF = '<mujoco><worldbody><body name="a"><geom size="1"/></body></worldbody></mujoco>'


@pytest.mark.parametrize(("name", "text"), [("scene.xml", MJCF), ("scene.xml", ""), ("scene.glb", "glTF")])
def test_formats_without_a_vocabulary_are_only_checked(tmp_path: Path, name: str, text: str) -> None:
    async def script(editor: Editor) -> None:
        client, place = editor.client, types.Position(0, min(3, len(text)))
        found = await editor.open(text, "xml")
        assert bool(found) is (text != MJCF)
        assert await client.text_document_hover_async(types.HoverParams(editor.document, place)) is None
        assert await client.text_document_completion_async(types.CompletionParams(editor.document, place)) == []
        assert await client.text_document_definition_async(types.DefinitionParams(editor.document, place)) is None
        assert await editor.actions(types.Range(place, place)) == []

    session(tmp_path / name, script)


def test_only_open_documents_are_read(path: Path) -> None:
    """Other addresses are rejected: reading a device would never end."""
    other = types.TextDocumentIdentifier(Path("/dev/zero").as_uri())

    async def script(editor: Editor) -> None:
        with pytest.raises(JsonRpcException, match="is not open"):
            await editor.client.text_document_document_symbol_async(types.DocumentSymbolParams(other))
        editor.client.text_document_did_save(types.DidSaveTextDocumentParams(other))
        assert await editor.open(MISSPELLED) != []

    session(path, script)


class CountingBytes(bytes):
    """Bytes that count how many of them are read."""

    taken = 0

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        CountingBytes.taken += len(found) if isinstance(found, bytes) else 1
        return found


@pytest.mark.parametrize("units", ["utf-8", "utf-16", "utf-32"])
def test_a_long_line_is_not_decoded_for_each_position(units: str) -> None:
    text = CountingBytes("é🤖x".encode() * 3000)
    columns = EditorPositions(Scan(text), units)
    step = {"utf-8": 7, "utf-16": 4, "utf-32": 3}[units]
    CountingBytes.taken = 0
    assert [columns.position(7 * number).character for number in range(3000)] == [step * n for n in range(3000)]
    assert CountingBytes.taken <= 2 * len(text)
