"""Canonical layout: order, indentation, and that formatting loses nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

import exoskel
from exoskel.diagnostics import ExoskelError
from exoskel.formats import registry
from exoskel.formats.formatter import same_markup
from exoskel.source.canonical_layout import format_document, parse_raw_tree
from exoskel.source.document import Document
from exoskel.source.encoding import EncodingRoundTripError, encode_like_source
from tests.support.places import (
    PROJECT,
    TESTS,
    corpus_files,
    example_files,
    pybrain_files,
    sample_files,
    xode_sample_files,
)

OWN_FILES = [
    *sample_files(),
    *xode_sample_files(),
    *example_files(),
    *sorted((TESTS / "xode" / "examples").glob("*.xode")),
    *sorted((PROJECT / "examples" / "files").glob("*.skel")),
]
CORPUS = [*corpus_files(), *pybrain_files()]


def formatted(source: str | bytes, **options: bool) -> bytes:
    data = source if isinstance(source, bytes) else source.encode()
    vocabulary = registry.detect(data, "").vocabulary()
    document = Document(data)
    document.parse()
    result = format_document(document, vocabulary, **options)
    assert format_document(Document(result), vocabulary, **options) == result, "formatting twice is formatting once"
    assert same_markup(document, Document(result))
    return result


def fmt(source: str, **options: bool) -> str:
    return formatted(source, **options).decode()


def skeleton(inner: str) -> str:
    return f'<skel version="1.0"><skeleton name="s">{inner}</skeleton></skel>'


def inner(text: str) -> list[str]:
    """The lines inside the outermost two elements, without their indentation."""
    return [line[4:] for line in text.split("\n")[2:-3]]


def meaning(data: bytes, base: Path, semantics: str = "written") -> object:
    scene = exoskel.load(data, base=base, name="f", semantics=semantics)
    summary = exoskel.summarize(scene)
    for world in summary["worlds"]:
        for model in world["models"]:
            for part in (*model["bodies"], *model["joints"]):
                del part["line"]
    return summary, sorted(d.key for d in scene.diagnostics)


# --- real files -------------------------------------------------------------------------------------


def check_file(file: Path) -> None:
    data = file.read_bytes()
    for numbers in (False, True):
        result = formatted(data, numbers=numbers)
        for semantics in ("written", "dart"):
            assert meaning(result, file, semantics) == meaning(data, file, semantics)


@pytest.mark.parametrize("file", OWN_FILES, ids=lambda path: path.name)
def test_formatting_preserves_the_meaning_of_own_files(file: Path) -> None:
    check_file(file)


@pytest.mark.skipif(not CORPUS, reason="no corpus beside the project")
@pytest.mark.parametrize("file", CORPUS, ids=lambda path: path.name)
def test_formatting_preserves_the_meaning_of_corpus_files(file: Path) -> None:
    check_file(file)


MESSY = """\
<?xml version="1.0" ?><!-- top --><?style a?>
<!DOCTYPE skel [ <!-- it's > ] --> <!ELEMENT a (b)> ]>


<skel
   version='1.0' >  <!-- on the root's line -->
<skeleton name="a &amp; b"   extra='say "x"'><!-- beside -->

<joint name='j' type="free" > <child>b</child><!-- behind the child --> <parent>world</parent>

   <my:thing xmlns:my='u'><p>1</p>  <q> x </q></my:thing>


   <transformation>
     0 0   0
     0 0 1.50</transformation><!-- behind
     two lines --></joint>
  <body name="b"><!-- alone --></body>
  <!-- about the next -->
  <body name="c">
    <visualization_shape><geometry><box><size>1 <!-- cut --> 1 1</size></box></geometry><color>1 0.0 0</color></visualization_shape>
    <inertia> <offset><![CDATA[0 0 0]]></offset> <mass></mass>stray</inertia>
    <gravity> true </gravity>
    <unknown></unknown><collision_shape  />
    <transformation>0 0 1e0 0 0 0</transformation>
    <!-- last -->
  </body>
</skeleton>
</skel><!-- end --> <?done?>"""


def test_a_messy_document_gets_the_canonical_layout(snapshot: SnapshotAssertion) -> None:
    assert fmt(MESSY) == snapshot
    assert fmt(MESSY, numbers=True) == snapshot


# --- order ------------------------------------------------------------------------------------------


def test_children_are_in_the_order_of_the_reference() -> None:
    text = fmt(
        skeleton(
            '<joint name="j" type="free"><child>b</child><parent>world</parent></joint>'
            '<body name="b"><inertia><offset>0 0 1</offset><mass>1</mass></inertia><gravity>false</gravity></body>'
            "<mobile>true</mobile>"
        )
    )
    expected = ["mobile", "body", "gravity", "inertia", "mass", "offset", "joint", "parent", "child"]
    assert re.findall(r"<(\w+)", text)[2:] == expected


def test_elements_with_equal_names_keep_their_order() -> None:
    bodies = '<body name="z"/><body name="a"/>'
    joints = '<joint type="free" name="y"/><joint type="free" name="b"/>'
    shapes = '<body name="s"><collision_shape/><visualization_shape/><collision_shape><color/></collision_shape></body>'
    text = fmt(skeleton(joints + bodies + shapes))
    assert re.findall(r'name="(\w)"', text) == ["s", "z", "a", "s", "y", "b"]
    assert text.index("<visualization_shape") < text.index("<collision_shape/>") < text.index("<collision_shape>")
    doubled = fmt(skeleton("<mobile>false</mobile><transformation>1 0 0 0 0 0</transformation><mobile>true</mobile>"))
    assert doubled.index("false") < doubled.index("true")


def space(inside: str) -> str:
    return f'<xode version="1.0r22"><world><space>{inside}</space></world></xode>'


def test_the_parts_of_a_mass_keep_their_order() -> None:
    mass = '<mass><adjust total="2"/><transform/><mass_shape density="1"><sphere radius="1"/></mass_shape></mass>'
    assert re.findall(r"<(\w+)", fmt(space(f"<body>{mass}</body>")))[4:] == re.findall(r"<(\w+)", mass)


def test_objects_of_xode_keep_their_order() -> None:
    """The first body names its model, and joints and geoms are numbered in document order."""
    inside = '<group><body name="c"/></group><joint name="j"/><body name="b"/><geom name="g"/><body name="a"/>'
    assert re.findall(r'name="(\w)"', fmt(space(inside))) == ["c", "j", "b", "g", "a"]


def test_the_first_of_several_alternatives_stays_the_first() -> None:
    several = '<geom><capsule radius="1" length="1"/><sphere radius="1"/><box sizex="1" sizey="1" sizez="1"/></geom>'
    assert re.findall(r"<(\w+)", fmt(space(several)))[4:] == ["capsule", "sphere", "box"]


def test_a_body_of_xode_has_its_transform_first_and_its_mass_last() -> None:
    inside = (
        '<body><mass/><geom><sphere radius="1"/><transform/></geom><linearVel x="0" y="0" z="0"/><transform/></body>'
    )
    assert re.findall(r"<(\w+)", fmt(space(inside)))[3:] == [
        "body",
        "transform",
        "linearVel",
        "geom",
        "transform",
        "sphere",
        "mass",
    ]


def test_axes_keep_their_order() -> None:
    inside = '<joint><universal><axis x="0" y="0" z="1"/><axis x="1" y="0" z="0"/><anchor x="0" y="0" z="0"/></universal></joint>'
    text = fmt(space(inside))
    assert text.index("<anchor") < text.index('z="1"') < text.index('<axis x="1"')


def test_unknown_elements_stay_after_the_sibling_they_follow() -> None:
    lines = inner(fmt(skeleton('<first/><body name="b"/><note>x</note><a:b xmlns:a="urn:a"/><mobile>true</mobile>')))
    assert lines == [
        "<first/>",
        "<mobile>true</mobile>",
        '<body name="b"/>',
        "<note>x</note>",
        '<a:b xmlns:a="urn:a"/>',
    ]


def test_extensions_are_preserved_byte_for_byte() -> None:
    content = "\n <b  x = 'y'>1</b >  text\t<a/>\n\n\n <!-- c --> "
    text = fmt(space(f"<geom><sphere radius=\"1\"/><ext  ename = 'e'>{content}</ext><transform/></geom>"))
    assert f'<sphere radius="1"/>\n        <ext ename="e">{content}</ext>\n' in text
    assert "<ext></ext>" in fmt(space("<ext></ext>"))


# --- comments, text, blank lines --------------------------------------------------------------------


def test_a_comment_moves_with_the_element_after_it() -> None:
    text = skeleton(
        '\n<!-- j -->\n<?p j?>\n<joint type="free"/> <!-- behind j -->\n\n<!-- b -->\n<body name="b"/>\n<!-- end -->\n'
    )
    assert inner(fmt(text)) == [
        "<!-- b -->",
        '<body name="b"/>',
        "<!-- j -->",
        "<?p j?>",
        '<joint type="free"/> <!-- behind j -->',
        "<!-- end -->",
    ]


def test_a_comment_on_the_line_of_a_start_tag_stays_there() -> None:
    assert inner(fmt(skeleton(' <!-- s -->\n<body name="b"/>'))) == ['<body name="b"/>']
    assert '<skeleton name="s"> <!-- s -->\n    <body' in fmt(skeleton(' <!-- s -->\n<body name="b"/>'))
    assert inner(fmt(skeleton('<!-- b --><body name="b"/>'))) == ["<!-- b -->", '<body name="b"/>']


def test_at_most_one_empty_line_is_left_between_siblings() -> None:
    text = skeleton('\n\n<body name="a"/>\n\n\n\n<body name="b"/>\n<body name="c"/>\n\n')
    assert inner(fmt(text)) == ['<body name="a"/>', "", '<body name="b"/>', '<body name="c"/>']


@pytest.mark.parametrize(
    "content",
    [
        "<parent> world </parent>",
        "<parent><!-- c -->world</parent>",
        "<parent>w<![CDATA[or]]>ld</parent>",
        "<parent>&#119;orld</parent>",
        "<axis>text <xyz> 1  0 0</xyz>\n more</axis>",
        "<axis> <xyz/>&#32; </axis>",
        "<init_pos>0,  0</init_pos>",
        "<init_pos><!-- none --></init_pos>",
        "<child>  </child>",
        "<note>  <!-- none --></note>",
        '<axis xml:space="preserve">  <xyz>1 0 0</xyz></axis>',
        "<note></note>",
    ],
)
def test_values_and_mixed_content_are_not_changed(content: str) -> None:
    assert content in fmt(skeleton(f'<joint type="free" name="j">{content}</joint>'))


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("<mobile></mobile>", "<mobile/>"),
        ("<body  >\n \n</body >", "<body/>"),
        ("<transformation>\n 1 0  0\t0 0 +0.50\n</transformation>", "<transformation>1 0 0 0 0 +0.50</transformation>"),
        ("<body extra='1' name='b'/>", '<body name="b" extra="1"/>'),
        ("<body name='say \"b\"'/>", "<body name='say \"b\"'/>"),
        ('<body\n  name = "&lt;&#10;\'"\n/>', '<body name="&lt;&#10;\'"/>'),
    ],
)
def test_each_element_gets_the_canonical_layout(written: str, expected: str) -> None:
    assert inner(fmt(skeleton(written))) == [expected]


@pytest.mark.parametrize(
    ("written", "rewritten"),
    [
        ("1.0 -0.50 +3e0 1E-5 00.100 -0", "1 -0.5 3 1e-05 0.1 -0"),
        ("0.1000000000000000055511151231257827 1e22 123456789.25 0 0 0", "0.1 1e+22 123456789.25 0 0 0"),
        ("1 2 3 4 5 1e999", "1 2 3 4 5 1e999"),
    ],
)
def test_numbers_get_their_shortest_spelling(written: str, rewritten: str) -> None:
    text = skeleton(f"<transformation>{written}</transformation>")
    assert inner(fmt(text)) == [f"<transformation>{written}</transformation>"]
    assert inner(fmt(text, numbers=True)) == [f"<transformation>{rewritten}</transformation>"]


def test_only_numbers_are_rewritten() -> None:
    text = fmt(skeleton('<body name="1.0"/><joint type="free" name="01"><parent>1.0</parent></joint>'), numbers=True)
    assert 'version="1.0"' in text and 'name="1.0"' in text and 'name="01"' in text and "<parent>1.0<" in text
    geom = fmt(space('<geom name="2.50"><sphere radius=" 2.50"/></geom>'), numbers=True)
    assert 'name="2.50"' in geom and 'radius="2.5"' in geom
    mesh = '<geom><trimesh><vertices/><triangles><t ia="01" ib="2" ic="3.0"/></triangles></trimesh></geom>'
    assert '<t ia="1" ib="2" ic="3.0"/>' in fmt(space(mesh), numbers=True), "3.0 draws a remark, which stays"


# --- bytes ------------------------------------------------------------------------------------------

ACCENTED = '<skel version="1.0"><skeleton name="s\xfc\xdf"><!-- \xe9 -->\n<mobile>true</mobile></skeleton></skel>'


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le"])
@pytest.mark.parametrize("mark", ["\ufeff", ""])
def test_formatting_preserves_wide_encodings(codec: str, mark: str) -> None:
    result = formatted((mark + ACCENTED).encode(codec))
    assert result.decode(codec) == mark + fmt(ACCENTED)


@pytest.mark.parametrize("codec", ["iso-8859-1", "windows-1252", "utf-8", "iso-8859-15"])
def test_formatting_preserves_declared_encodings(codec: str) -> None:
    text = f'<?xml version="1.0" encoding="{codec}"?>\n{ACCENTED}'
    assert formatted(text.encode(codec)).decode(codec) == fmt(text.replace(codec, "utf-8")).replace("utf-8", codec)


def test_a_byte_order_mark_is_preserved() -> None:
    assert formatted(b"\xef\xbb\xbf<skel/>") == b"\xef\xbb\xbf<skel/>\n"


def test_an_encoding_that_does_not_round_trip_is_an_error() -> None:
    data = b'<?xml version="1.0" encoding="iso-2022-jp"?><skel><!-- \x1b(B\x1b$B$"\x1b(B --></skel>'
    with pytest.raises(EncodingRoundTripError, match="several byte sequences"):
        encode_like_source(Document(data).text, data, Document(data).encoding)
    assert issubclass(EncodingRoundTripError, ExoskelError)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_are_preserved(end: str) -> None:
    text = skeleton("\n\n<!-- two\nlines -->\n<body/>\n\n\n<body/>")
    assert formatted(text.replace("\n", end).encode()) == fmt(text).replace("\n", end).encode()


def test_mixed_line_ends_become_the_most_common_one() -> None:
    """Line ends in comments and extensions stay, and are not counted."""
    text = space("\r\n<body/>\r\n\r\n\r\n\r\n<body/><!-- \n\n\n\n\n\n -->\n")
    assert b"<body/>\r\n\r\n" in formatted(text)
    assert b"<!-- \n\n\n\n\n\n -->\r\n" in formatted(text)
    assert formatted(space("<ext>\r\n</ext>")).endswith(b"</xode>\r\n"), "where none is laid out, all count"


def test_a_deeply_nested_document_is_formatted() -> None:
    depth = 150
    text = fmt("<skel>" + "<x>" * depth + "<y/>" + "</x>" * depth + "</skel>")
    assert f"\n{'  ' * (depth + 1)}<y/>\n" in text
    deep = b"<x>" * 20_000 + b"</x>" * 20_000
    assert parse_raw_tree(deep).children


@pytest.mark.parametrize("text", [b"<a>", b"<a></b>", b"<a b></a>", b"</a>", b"<a/><", b"<a>]]></a><!-- "])
def test_malformed_markup_is_an_error(text: bytes) -> None:
    with pytest.raises(ValueError, match="not well-formed"):
        parse_raw_tree(text)


def test_time_is_linear_in_size() -> None:
    from time import process_time

    def seconds(count: int) -> float:
        body = '<body name="b"><transformation>0 0 0 0 0 0</transformation><!-- c --></body>\n'
        document = Document(skeleton(body * count).encode())
        begin = process_time()
        format_document(document, registry.by_name("skel").vocabulary())
        return process_time() - begin

    small, large = min(seconds(500) for _ in range(5)), min(seconds(5_000) for _ in range(3))
    assert large < 25 * small


# --- sameness ---------------------------------------------------------------------------------------

BASE = '<skel version="1.0"><skeleton name="s"><!-- c --><body name="a"/><mobile>true</mobile><body name="b"/></skeleton></skel>'


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("<!-- c -->", "\n <!-- c -->\n", True),
        ('<body name="a"/><mobile>true</mobile>', '<mobile>true</mobile><body name="a"/>', True),
        ('version="1.0"', "version='1.00'", True),
        ("<!-- c -->", "", False),
        ("<!-- c -->", "<!-- d -->", False),
        ('<body name="a"/>', "", False),
        ('name="a"', 'name="A"', False),
        ('name="a"', 'name="b"', False),
        ("true", " true", False),
        ("true", "<x/>true", False),
        ('<body name="b"/>', '<body name="b"/>stray', False),
        ('<body name="b"/>', '<body name="b" x=""/>', False),
        ('version="1.0"', 'version="1.01"', False),
    ],
)
def test_same_markup_ignores_only_the_layout(old: str, new: str, same: bool) -> None:
    other = BASE.replace(old, new)
    assert other != BASE
    assert same_markup(Document(BASE.encode()), Document(other.encode())) is same


def test_reordering_equal_names_is_a_difference() -> None:
    swapped = BASE.replace('"a"', '"x"').replace('"b"', '"a"').replace('"x"', '"b"')
    assert not same_markup(Document(BASE.encode()), Document(swapped.encode()))


# --- random documents ------------------------------------------------------------------------------

SKEL_NAMES = ["body", "joint", "inertia", "mass", "axis", "xyz", "transformation", "parent", "mobile", "note", "a:b"]
XODE_NAMES = ["space", "group", "body", "geom", "sphere", "box", "mass", "transform", "joint", "hinge", "ext", "note"]
BLANKS = ["", " ", "\n", "\n\n", "\r\n", "\t", "\n \n\n"]
WORDS = ["1.0 2 3", "x", "&amp;", "<![CDATA[ <x> ]]>", "&#65;", "-0.50", "  7  "]


@st.composite
def documents(draw: st.DrawFn) -> str:
    names = draw(st.sampled_from([SKEL_NAMES, XODE_NAMES]))
    blank = st.sampled_from(BLANKS)
    attribute = st.sampled_from([" name='n'", ' x = "1.50"', " extra='\"'", '\n version="&lt;"', ' xmlns:a="u"'])

    def tags(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        def element(parts: tuple[str, list[str], str, list[str]]) -> str:
            name, attributes, before, inside = parts
            content = "".join(inside)
            tag = (
                name
                + "".join(attributes)
                + (' xmlns:a="u"' if ":" in name and ' xmlns:a="u"' not in attributes else "")
            )
            return f"{before}<{tag}>{content}</{name} >" if content else f"{before}<{tag} />"

        return st.tuples(
            st.sampled_from(names), st.lists(attribute, unique=True, max_size=3), blank, st.lists(children, max_size=5)
        ).map(element)

    leaf = st.one_of(
        st.sampled_from(WORDS),
        blank,
        st.tuples(blank, st.sampled_from(["<!-- c -->", "<!--\n d\r\n -->", "<?p i?>"]), blank).map("".join),
    )
    content = draw(st.lists(st.recursive(leaf, tags, max_leaves=12), max_size=6))
    root = "skel" if names is SKEL_NAMES else "xode"
    return f"{draw(blank)}<{root} version='1.0'>{''.join(content)}</{root}>{draw(blank)}<!-- end -->"


SPARED = re.compile(r"<!--.*?-->|<\?.*?\?>|<!\[CDATA\[.*?\]\]>", re.DOTALL)


@settings(max_examples=300, deadline=None)
@given(documents())
def test_formatting_loses_nothing(text: str) -> None:
    result = formatted(text)
    shown = result.decode()
    assert sorted(SPARED.findall(shown)) == sorted(SPARED.findall(text))
    words = sorted(w for piece in re.split(r"<[^>]*>", SPARED.sub("", text)) for w in piece.split())
    assert sorted(w for piece in re.split(r"<[^>]*>", SPARED.sub("", shown)) for w in piece.split()) == words


@settings(max_examples=150, deadline=None)
@given(documents())
def test_formatting_preserves_the_meaning(text: str) -> None:
    data = text.encode()
    for numbers in (False, True):
        assert meaning(formatted(data, numbers=numbers), Path()) == meaning(data, Path())
