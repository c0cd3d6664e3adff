"""Comments and data of other applications are preserved unchanged."""

from __future__ import annotations

import re

import pytest

import exoskel
from exoskel.formats.registry import by_name
from exoskel.formats.write import reread, write
from exoskel.source.canonical_layout import format_document
from exoskel.source.document import Document
from tests.convert.test_round_trip import unlike

EXT = "<ext ename='app'><gravity x='0' y='-9.81' z='0'/><ERP value='0.2'/></ext>"
PLACES = {
    "root": "<xode version='1.0'>{0}<world><space/></world></xode>",
    "space": "<xode version='1.0'><world><space>{0}</space></world></xode>",
    "group": "<xode version='1.0'><world><space><group>{0}</group></space></world></xode>",
    "body": "<xode version='1.0'><world><space><body>{0}</body></space></world></xode>",
    "world": "<xode version='1.0'><world>{0}<space/></world></xode>",
}


@pytest.mark.parametrize("place", PLACES)
def test_only_extensions_of_a_world_set_gravity(place: str) -> None:
    """Found with generated documents: an extension of a space was moved into the world and read there."""
    scene = exoskel.load(PLACES[place].format(EXT))
    assert (scene.world.gravity == (0.0, 0.0, 0.0)) is (place != "world")
    straight = reread(write(scene, "xode").data, "xode", None)
    abroad = reread(write(scene, "skel").data, "skel", None)
    again = reread(write(abroad, "skel").data, "skel", None)
    home = write(again, "xode").data
    assert unlike(scene, straight) == unlike(scene, abroad) == unlike(scene, reread(home, "xode", None)) == []
    assert (b"ename='app'" in home or b'ename="app"' in home) is (place != "world")


def test_an_edited_gravity_overrides_the_extension_it_came_from() -> None:
    ext = "<ext ename='app'><gravity x='0' y='-9.81' z='0'/>words<other/><q:gravity xmlns:q='urn:q'/>text</ext>"
    scene = exoskel.load(PLACES["world"].format(ext))
    scene.world.gravity = (1.0, 2.0, 3.0)
    written = write(scene, "xode")
    assert written.reread.world.gravity == (1.0, 2.0, 3.0)
    assert b"words<other/>" in written.data
    assert b"q:gravity" in written.data
    home = write(reread(write(scene, "skel").data, "skel", None), "xode")
    assert home.reread.world.gravity == (1.0, 2.0, 3.0)
    assert b"<other/>" in home.data


# --- comments -----------------------------------------------------------------------------------------


def comments(data: bytes | str) -> list[str]:
    """All comments of a document, in order."""
    text = data.decode() if isinstance(data, bytes) else data
    return re.findall(r"<!--(.*?)-->", text, re.DOTALL)


@pytest.mark.parametrize("format", ["skel", "xode"])
def test_comments_after_embedded_data_are_preserved(format: str) -> None:
    """Found with generated documents: comments after an extension were taken for a part of it and lost."""
    scene = exoskel.load("""<skel version="1.0"><world><skeleton name="s">
        <body name="a"><transformation>0 0 0 .3 .2 .1</transformation></body><!-- 1 --><body name="b"/>
        <!-- 2 --><joint type="screw" name="i"><parent>world</parent><child>a</child><axis><xyz>0 0 1</xyz></axis></joint>
        <!-- 3 --><joint type="screw" name="j"><parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz></axis></joint>
        <!-- 4 --></skeleton></world></skel>""")
    for _ in range(3):
        written = write(scene, format)
        assert sorted(comments(written.data)) == [" 1 ", " 2 ", " 3 ", " 4 "]
        scene = written.reread


def test_a_comment_stays_in_place_next_to_comments_with_markup() -> None:
    scene = exoskel.load("""<xode version="1.0"><world><space><body name="a"><!-- </body> --><!-- in a --></body>
        <!-- </space></world> --><!-- of b --><body name="b"/><!-- <body> --></space><!-- of w --></world></xode>""")
    text = write(scene, "xode").data.decode()
    assert text.index("in a") < text.index("</body>\n") < text.index("of b") < text.index('<body name="b"')
    assert write(exoskel.load(text), "xode").data.decode() == text


def test_comments_in_embedded_data_are_preserved() -> None:
    scene = exoskel.load("""<xode version="1.0"><world><space><body name="a">
        <ext ename="exoskel"><!-- by hand --></ext></body></space></world></xode>""")
    assert comments(write(scene, "xode").data) == [" by hand "]


# --- elements of other namespaces ---------------------------------------------------------------------

UNKNOWN_NAMESPACE = """<skel version="1.0" xmlns:q="urn:q"><world name="w"><q:note of="x">hello <b>t</b><!-- c --></q:note>
<skeleton name="s"><q:a/><body name="b"><q:deep v="1"><body name="no"/></q:deep><visualization_shape><geometry><q:g/>
<sphere><radius>1</radius></sphere></geometry></visualization_shape></body>
<joint type="free" name="j"><parent>world</parent><child>b</child><q:in/></joint></skeleton></world><q:end/></skel>"""


@pytest.mark.parametrize("format", ["skel", "xode"])
def test_elements_of_other_namespaces_are_preserved_as_reported(format: str) -> None:
    """They were reported as preserved, but dropped."""
    report = exoskel.convert(UNKNOWN_NAMESPACE, None, to=format)
    reported = [d for d in report.diagnostics if d.key == "SK010.prefixed"]
    assert len(reported) == 6 and all("preserved" in d.message for d in reported)
    fates = {item.path.rpartition("q:")[2]: item.fate for item in report.items if "q:" in item.path}
    assert {fate for path, fate in fates.items() if path != "q"} == {"kept"}  # `q` is the declaration on the root
    scene = exoskel.load(UNKNOWN_NAMESPACE)
    for target in (format, "xode", "skel", "skel", "xode"):
        written = write(scene, target)
        for tag in ("note", "a", "deep", "g", "in", "end"):
            assert written.data.count(f"<q:{tag} xmlns:q=".encode()) == 1, (tag, target)
        assert b'of="x">hello <b>t</b><!-- c --></q:note>' in written.data
        assert write(written.reread, target).data == written.data
        scene = written.reread


def test_an_element_of_another_namespace_in_xode_is_preserved() -> None:
    text = "<xode version='1.0' xmlns:q='urn:q'><world><space><q:note>words</q:note></space></world></xode>"
    report = exoskel.convert(text, None, to="skel")
    assert b'<q:note xmlns:q="urn:q">words</q:note>' in report.data
    assert [item.fate for item in report.items if "note" in item.path] == ["kept"]


@pytest.mark.parametrize("to", ["skel", "xode"])
def test_an_element_with_an_undeclared_prefix_is_dropped(to: str) -> None:
    """XML readers that support namespaces would reject the whole output."""
    text = (
        '<skel version="1.0"><world><skeleton name="s"><body name="b"><q:x/><!-- c --></body></skeleton></world></skel>'
    )
    report = exoskel.convert(text, None, to=to)
    (item,) = [item for item in report.items if item.path.endswith("q:x")]
    assert (item.fate, item.why) == ("dropped", "data of another application; the output format does not support it")
    assert b"q:x" not in report.data
    assert b"<!-- c -->" in report.data
    (other,) = [
        i for i in exoskel.convert(UNKNOWN_NAMESPACE, None, to="xode", target="pyode").items if i.path.endswith("q:a")
    ]
    assert (other.fate, other.why) == ("dropped", "PyODE rejects extensions")


def test_attributes_of_other_namespaces_are_dropped() -> None:
    text = '<skel version="1.0"><world><skeleton name="s" xml:id="x"><body name="b"/></skeleton></world></skel>'
    (item,) = [item for item in exoskel.convert(text, None, to="xode").items if item.attribute == "xml:id"]
    assert item.fate == "dropped"
    assert "kept" not in item.why


@pytest.mark.parametrize("format", ["skel", "xode"])
def test_output_with_data_of_other_applications_is_in_canonical_layout(format: str) -> None:
    """Found in review: `fmt --check` failed for outputs of `convert`."""
    extension = "<xode version='1.0'><world><space><ext ename='f'><a><b/></a> text</ext><ext ename='g'><a><b/></a></ext></space></world></xode>"
    for text in (UNKNOWN_NAMESPACE, extension):
        data = exoskel.convert(text, None, to=format).data
        assert format_document(Document(data), by_name(format).vocabulary()) == data
        assert write(exoskel.load(data), format).data == data


def test_a_comment_at_the_end_of_a_skeleton_stays_after_its_bodies() -> None:
    text = """<skel version="1.0"><world name="w"><skeleton name="s"><body name="a"/><body name="b"/>
    <joint type="revolute" name="j"><parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz></axis></joint>
    <!-- the end --></skeleton><skeleton name="t"><body name="c"/></skeleton></world></skel>"""
    data = exoskel.convert(text, None, to="xode").data
    assert data.index(b'<joint name="j"') < data.index(b"<!-- the end -->")
    back = exoskel.convert(data, None, to="skel").data
    assert back.index(b'name="j"') < back.index(b"<!-- the end -->") < back.index(b'<skeleton name="t"')


# --- comments in formats without embedded data -------------------------------------------------------------

COMMENTED = """<!--head--><skel version="1.0"><!--world--><world name="w"><physics><!--step--><time_step>0.001</time_step></physics>
<!--arm--><skeleton name="arm"><!--a--><body name="a"><!--mass--><inertia><mass>2</mass></inertia>
<collision_shape><!--box--><geometry><box><size>1 1 1</size></box></geometry></collision_shape></body>
<body name="b"><inertia><mass>1</mass></inertia></body>
<!--elbow--><joint type="euler" name="e"><parent>a</parent><child>b</child><axis_order>xyz</axis_order></joint>
<!--end--></skeleton>
<!--other--><skeleton name="other"><body name="o"><!--o--><inertia><mass>1</mass></inertia></body></skeleton>
</world></skel><!--tail-->"""


@pytest.mark.parametrize(
    ("format", "followed"),
    [
        ("mjcf", {"head": "mujoco", "arm": "body", "a": "body", "box": "geom", "elbow": "joint", "other": "body"}),
        ("sdf", {"head": "sdf", "world": "world", "arm": "model", "a": "link", "box": "collision", "elbow": "joint"}),
    ],
)
def test_comments_are_preserved_in_formats_without_embedded_data(format: str, followed: dict[str, str]) -> None:
    report = exoskel.convert(exoskel.load(COMMENTED), to=format)
    text = report.data.decode()
    assert sorted(comments(text)) == sorted(comments(COMMENTED))
    for comment, tag in followed.items():
        # Other comments may be in between.
        assert re.search(rf"<!--{comment}-->(\s*<!--\w+-->)*\s*<{tag}[ >]", text), (comment, text)
    assert text.rstrip().endswith("<!--tail-->")
    assert {item.fate for item in report.items if item.path.startswith("comment")} == {"kept"}
    assert report.certificate.passed


def test_a_single_model_keeps_only_its_own_comments() -> None:
    scene = exoskel.load(COMMENTED)
    arm = exoskel.convert(scene, to="urdf", model="arm")
    assert comments(arm.data) == ["head", "arm", "a", "mass", "box", "elbow", "end", "tail"]
    reasons = [item.why for item in arm.items if item.path.startswith("comment") and item.fate == "dropped"]
    assert reasons == ["the element next to it is not in the output"] * 4
    both = exoskel.convert(scene, to="urdf")
    assert set(comments(both.data)) == set(comments(COMMENTED)) - {"world", "step"}
    fates = [item.fate for item in both.items if item.path.startswith("comment")]
    assert fates.count("dropped") == 2 and fates.count("kept") == len(comments(COMMENTED)) - 2


@pytest.mark.parametrize("format", ["usd", "gltf"])
def test_comments_are_dropped_in_formats_that_are_not_xml(format: str) -> None:
    if format == "usd":
        pytest.importorskip("pxr", reason="usd-core is not installed")
    report = exoskel.convert(exoskel.load(COMMENTED), to=format)
    whys = {item.why for item in report.items if item.path.startswith("comment")}
    assert whys == {f"comments are not written for {by_name(format).label}"}
