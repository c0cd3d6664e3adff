"""Data of other applications stays what it is: nobody takes it for something else where it is put."""

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
def test_only_extensions_of_a_world_speak_of_gravity(place: str) -> None:
    """Seen with generated documents: an extension of a space was moved into the world, and read there."""
    scene = exoskel.load(PLACES[place].format(EXT))
    assert (scene.world.gravity == (0.0, 0.0, 0.0)) is (place != "world")
    straight = reread(write(scene, "xode").data, "xode", None)
    abroad = reread(write(scene, "skel").data, "skel", None)
    again = reread(write(abroad, "skel").data, "skel", None)
    home = write(again, "xode").data
    assert unlike(scene, straight) == unlike(scene, abroad) == unlike(scene, reread(home, "xode", None)) == []
    assert (b"ename='app'" in home or b'ename="app"' in home) is (place != "world")


def test_an_edited_gravity_is_not_taken_back_by_the_extension_it_came_from() -> None:
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
def test_comments_behind_what_is_carried_stay(format: str) -> None:
    """Seen with generated documents: what follows an extension was taken for a part of it, and was lost."""
    scene = exoskel.load("""<skel version="1.0"><world><skeleton name="s">
        <body name="a"><transformation>0 0 0 .3 .2 .1</transformation></body><!-- 1 --><body name="b"/>
        <!-- 2 --><joint type="screw" name="i"><parent>world</parent><child>a</child><axis><xyz>0 0 1</xyz></axis></joint>
        <!-- 3 --><joint type="screw" name="j"><parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz></axis></joint>
        <!-- 4 --></skeleton></world></skel>""")
    for _ in range(3):
        written = write(scene, format)
        assert sorted(comments(written.data)) == [" 1 ", " 2 ", " 3 ", " 4 "]
        scene = written.reread


def test_a_comment_stays_where_it_is_whatever_those_beside_it_say() -> None:
    scene = exoskel.load("""<xode version="1.0"><world><space><body name="a"><!-- </body> --><!-- in a --></body>
        <!-- </space></world> --><!-- of b --><body name="b"/><!-- <body> --></space><!-- of w --></world></xode>""")
    text = write(scene, "xode").data.decode()
    assert text.index("in a") < text.index("</body>\n") < text.index("of b") < text.index('<body name="b"')
    assert write(exoskel.load(text), "xode").data.decode() == text


def test_comments_in_our_own_extensions_are_not_lost() -> None:
    scene = exoskel.load("""<xode version="1.0"><world><space><body name="a">
        <ext ename="exoskel"><!-- by hand --></ext></body></space></world></xode>""")
    assert comments(write(scene, "xode").data) == [" by hand "]


# --- elements of other namespaces ---------------------------------------------------------------------

UNKNOWN_NAMESPACE = """<skel version="1.0" xmlns:q="urn:q"><world name="w"><q:note of="x">hello <b>t</b><!-- c --></q:note>
<skeleton name="s"><q:a/><body name="b"><q:deep v="1"><body name="no"/></q:deep><visualization_shape><geometry><q:g/>
<sphere><radius>1</radius></sphere></geometry></visualization_shape></body>
<joint type="free" name="j"><parent>world</parent><child>b</child><q:in/></joint></skeleton></world><q:end/></skel>"""


@pytest.mark.parametrize("format", ["skel", "xode"])
def test_elements_of_other_namespaces_are_kept_as_the_message_says(format: str) -> None:
    """They were said to be kept, and were dropped."""
    report = exoskel.convert(UNKNOWN_NAMESPACE, None, to=format)
    said = [d for d in report.diagnostics if d.key == "SK010.prefixed"]
    assert len(said) == 6 and all("preserved" in d.message for d in said)
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


def test_an_element_of_another_namespace_in_xode_is_kept() -> None:
    text = "<xode version='1.0' xmlns:q='urn:q'><world><space><q:note>words</q:note></space></world></xode>"
    report = exoskel.convert(text, None, to="skel")
    assert b'<q:note xmlns:q="urn:q">words</q:note>' in report.data
    assert [item.fate for item in report.items if "note" in item.path] == ["kept"]


@pytest.mark.parametrize("to", ["skel", "xode"])
def test_what_cannot_be_kept_is_not_said_to_be(to: str) -> None:
    """A prefix that nobody declared: XML readers that know namespaces would refuse the whole output."""
    text = (
        '<skel version="1.0"><world><skeleton name="s"><body name="b"><q:x/><!-- c --></body></skeleton></world></skel>'
    )
    report = exoskel.convert(text, None, to=to)
    (item,) = [item for item in report.items if item.path.endswith("q:x")]
    assert (item.fate, item.why) == ("dropped", "data of another application, which the output cannot hold")
    assert b"q:x" not in report.data
    assert b"<!-- c -->" in report.data
    (other,) = [
        i for i in exoskel.convert(UNKNOWN_NAMESPACE, None, to="xode", target="pyode").items if i.path.endswith("q:a")
    ]
    assert (other.fate, other.why) == ("dropped", "PyODE rejects extensions")


def test_attributes_of_other_namespaces_are_left_out_and_not_said_to_be_kept() -> None:
    text = '<skel version="1.0"><world><skeleton name="s" xml:id="x"><body name="b"/></skeleton></world></skel>'
    (item,) = [item for item in exoskel.convert(text, None, to="xode").items if item.attribute == "xml:id"]
    assert item.fate == "dropped"
    assert "kept" not in item.why


@pytest.mark.parametrize("format", ["skel", "xode"])
def test_output_with_foreign_data_is_in_canonical_layout(format: str) -> None:
    """Found in review: `fmt --check` complained about what `convert` had written."""
    extension = "<xode version='1.0'><world><space><ext ename='f'><a><b/></a> text</ext><ext ename='g'><a><b/></a></ext></space></world></xode>"
    for text in (UNKNOWN_NAMESPACE, extension):
        data = exoskel.convert(text, None, to=format).data
        assert format_document(Document(data), by_name(format).vocabulary()) == data
        assert write(exoskel.load(data), format).data == data


def test_a_comment_at_the_end_of_a_skeleton_stands_behind_its_bodies() -> None:
    text = """<skel version="1.0"><world name="w"><skeleton name="s"><body name="a"/><body name="b"/>
    <joint type="revolute" name="j"><parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz></axis></joint>
    <!-- the end --></skeleton><skeleton name="t"><body name="c"/></skeleton></world></skel>"""
    data = exoskel.convert(text, None, to="xode").data
    assert data.index(b'<joint name="j"') < data.index(b"<!-- the end -->")
    back = exoskel.convert(data, None, to="skel").data
    assert back.index(b'name="j"') < back.index(b"<!-- the end -->") < back.index(b'<skeleton name="t"')


# --- comments in formats that carry nothing else ------------------------------------------------------------

REMARKED = """<!--head--><skel version="1.0"><!--world--><world name="w"><physics><!--step--><time_step>0.001</time_step></physics>
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
def test_comments_come_along_into_formats_that_carry_nothing(format: str, followed: dict[str, str]) -> None:
    report = exoskel.convert(exoskel.load(REMARKED), to=format)
    text = report.data.decode()
    assert sorted(comments(text)) == sorted(comments(REMARKED))
    for comment, tag in followed.items():
        # Others may stand between.
        assert re.search(rf"<!--{comment}-->(\s*<!--\w+-->)*\s*<{tag}[ >]", text), (comment, text)
    assert text.rstrip().endswith("<!--tail-->")
    assert {item.fate for item in report.items if item.path.startswith("comment")} == {"kept"}
    assert report.certificate.passed


def test_a_model_alone_has_its_own_comments() -> None:
    scene = exoskel.load(REMARKED)
    arm = exoskel.convert(scene, to="urdf", model="arm")
    assert comments(arm.data) == ["head", "arm", "a", "mass", "box", "elbow", "end", "tail"]
    told = [item.why for item in arm.items if item.path.startswith("comment") and item.fate == "dropped"]
    assert told == ["the element next to it is not in the output"] * 4
    both = exoskel.convert(scene, to="urdf")
    assert set(comments(both.data)) == set(comments(REMARKED)) - {"world", "step"}
    fates = [item.fate for item in both.items if item.path.startswith("comment")]
    assert fates.count("dropped") == 2 and fates.count("kept") == len(comments(REMARKED)) - 2


@pytest.mark.parametrize("format", ["usd", "gltf"])
def test_what_is_no_xml_has_no_comments_and_says_so(format: str) -> None:
    if format == "usd":
        pytest.importorskip("pxr", reason="usd-core is not installed")
    report = exoskel.convert(exoskel.load(REMARKED), to=format)
    whys = {item.why for item in report.items if item.path.startswith("comment")}
    assert whys == {f"comments are left out for {by_name(format).label}"}
