"""Hostile SKEL documents: unusual encodings, references, sizes and repetitions (items 95 and 96)."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

import exoskel
from tests.skel.test_shapes import mesh_document
from tests.support.checklist import item
from tests.support.findings import Reads, load_text
from tests.support.xml import PHYSICS, body, joint, one_body, skeleton, world

NO_CHARSETS = [
    *("rot13", "base64", "hex", "zlib", "quopri", "uu", "undefined", "punycode"),
    *("idna", "utf-7", "unicode_escape", "raw_unicode_escape", "cp037", "nonsense"),
]


def declared(encoding: str, document: str) -> str:
    return f'<?xml version="1.0" encoding="{encoding}"?>\n{document}'


@item(95)
@pytest.mark.parametrize("encoding", NO_CHARSETS)
def test_codecs_that_are_not_text_encodings_are_unknown(reads: Reads, encoding: str) -> None:
    read = reads(declared(encoding, one_body()))
    finding = read.expect("SK001", "error", line=1, column=31, says="unknown")
    assert encoding in finding.message
    assert finding.excerpt.startswith("<?xml")


@item(95)
@pytest.mark.parametrize("semantics", ["written", "dart"])
def test_an_invalid_file_uri_finds_no_file(semantics: str) -> None:
    scene = load_text(mesh_document("file://[x"), semantics=semantics, base=".")
    assert scene.world.models[0].bodies[0].visuals[0].geometry.path is None
    with pytest.raises(exoskel.SourceError, match="another machine"):
        exoskel.load("file://[x")


REFERENCES = """<!DOCTYPE skel SYSTEM "x.dtd">
<skel version="1.0"><world name="&n;">&foo;<physics>
<time_step>0.1&t;</time_step>
<gravity>0 0 <![CDATA[&g;]]></gravity>
</physics>
<skeleton name="s">&bar;
<body name="b"><odd/></body>
<joint type="free" name="j"><parent>world</parent><child>b</child></joint>
</skeleton></world></skel>"""


@item(95)
def test_references_to_undeclared_entities_are_text(reads: Reads) -> None:
    read = reads(REFERENCES)
    read.expect("SK007.doctype", "warning", line=1)
    read.expect("SK014", line=2, says="&foo;")
    read.expect("SK023", line=3, says="0.1&t;")
    read.expect("SK014.split", line=4)
    read.expect("SK022", line=4, says="&g;")
    read.expect("SK014", line=6, says="&bar;")
    read.expect("SK010", line=7, path="skeleton[s]/body[b]/odd")
    assert read.world.name == "&n;"
    assert [b.name for b in read.model.bodies] == ["b"]


@pytest.mark.parametrize(
    ("doctype", "code"),
    [
        ("<!DOCTYPE skel [<!-- <!ENTITY a 'b'> -->]>", "SK007.doctype"),
        ("<!DOCTYPE skel [<?x <!ENTITY ' ?>]>", "SK007.doctype"),
        ("<!DOCTYPE skel SYSTEM '<!-- ' [<!ENTITY a 'b'>]>", "SK007.entity"),
        ("<!DOCTYPE skel [<!-- ' --><!ENTITY a 'b'>]>", "SK007.entity"),
        ("<!DOCTYPE skel [<!ENTITY % a 'b'>]>", "SK007.entity"),
    ],
)
def test_only_entity_declarations_are_refused(reads: Reads, doctype: str, code: str) -> None:
    read = reads(doctype + one_body())
    read.expect(code)
    assert bool(read.scene.worlds) is (code == "SK007.doctype")


MANY = 1500
SLOW: dict[str, Callable[[], str | bytes]] = {
    "unknown parents": lambda: world(
        skeleton(
            "".join(body(name=f"body_number_{i}") for i in range(MANY))
            + "".join(joint(name=f"j{i}", parent=f"bdoy_numbr_{i}", child=f"body_number_{i}") for i in range(MANY))
        )
    ),
    "skeletons of one name": lambda: world(skeleton("") * 8000),
    "bodies in no joint": lambda: world(skeleton("".join(body(name=f"b{i}") for i in range(6000)))),
    "bodies without a name": lambda: world(skeleton("<body/>" * 6000)),
    "joints of one name": lambda: world(
        skeleton("".join(body(name=f"b{i}") + joint(name="j", child=f"b{i}") for i in range(3000)))
    ),
    "elements in a value": lambda: one_body("<transformation>" + "<a/>" * 20_000 + "</transformation>"),
    "different unknown elements": lambda: one_body("".join(f"<transfromaton{i}/>" for i in range(10_000))),
    "one element again and again": lambda: world(
        skeleton(body() + joint()), PHYSICS + "<time_step>1</time_step>" * 6000
    ),
    "lines of comments": lambda: b"#\n" * 600_000,
    "undeclared prefixes": lambda: one_body("<x:a/>" * 20_000),
    "undeclared entities": lambda: (
        "<!DOCTYPE skel>" + one_body("<transformation>" + "&a;" * 40_000 + "</transformation>")
    ),
}


@item(95)
@pytest.mark.parametrize("name", SLOW)
def test_nothing_takes_longer_than_a_second_per_100_kb(name: str) -> None:
    document = SLOW[name]()
    begin = time.process_time()  # the tests beside this one are not to count
    load_text(document)
    assert time.process_time() - begin < max(1.0, len(document) / 100_000)


def test_duplicate_names_get_the_first_free_number() -> None:
    names = ["s", "s", "s(2)", "s", "s"]
    scene = load_text(world("".join(skeleton(body() + joint(), name) for name in names)))
    assert [model.name for model in scene.world.models] == ["s", "s(1)", "s(2)", "s(3)", "s(4)"]


LONG = 11_000_000


@pytest.mark.parametrize(
    "document",
    [
        lambda: one_body("<transformation>" + " " * LONG + "0 0 0 0 0 0</transformation>"),
        lambda: world(skeleton(body() + joint(), name="x" * LONG)),
        lambda: one_body("<!--" + "x" * LONG + "-->"),
    ],
    ids=["text", "attribute", "comment"],
)
def test_sizes_are_limited_only_by_the_given_limits(reads: Reads, document: Callable[[], str]) -> None:
    assert reads(document()).world.models


def test_depth_is_limited_whatever_the_parser_allows(reads: Reads) -> None:
    for depth in (300, 3000, 100_000):
        read = reads(one_body("<a>" * depth + "</a>" * depth))
        read.ignore("SK010")
        read.expect("SK001.limit", "error", line=1, says="limit of 200")


def test_elements_are_counted_in_any_encoding(reads: Reads) -> None:
    limits = exoskel.Limits(elements=11)
    crowded = one_body().replace('name="s"', 'name="' + "\u3c3c" * 50 + '"')
    document = declared("UTF-16", crowded).encode("utf-16")
    reads(document, limits=limits).expect("SK008", line=1, column=31)
    reads(document, limits=exoskel.Limits(elements=10)).expect_all("SK008", "SK001.limit")


@item(18)
@pytest.mark.parametrize("semantics", ["written", "dart"])
def test_an_undeclared_prefix_is_an_extension_like_any_other(reads: Reads, semantics: str) -> None:
    document = world('\n<skeleton name="s" x:a="1">' + body("<x:a/>") + joint() + "</skeleton>")
    read = reads(document, semantics=semantics)
    read.expect("SK010.prefixed", "info", line=2, path="skeleton[s]/body[b]/x:a")
    read.expect("SK011.prefixed", "info", line=2, path="skeleton[s]/@x:a")
    assert read.body().name == "b"


def test_mistakes_next_to_an_undeclared_prefix_are_reported(reads: Reads) -> None:
    reads("<skel><x:a/><b>&nope;</b></skel>").expect("SK001", "error", says="'&nope;' is not defined")


@item(19)
@pytest.mark.parametrize("semantics", ["written", "dart"])
@pytest.mark.parametrize("times", [1, 2000])
def test_the_first_of_duplicate_elements_is_used_even_if_invalid(reads: Reads, semantics: str, times: int) -> None:
    twice = "<gravity>abc</gravity><gravity>0</gravity>"
    inner = "".join(skeleton(body(twice) + joint(), f"s{i}") for i in range(times))
    read = reads(world(inner), semantics=semantics)
    codes = [finding.code for finding in read.left]
    assert (codes.count("SK027"), codes.count("SK012")) == (times, times)
    assert {model.bodies[0].gravity for model in read.world.models} == {semantics == "written"}
    read.ignore("SK027", "SK012")


@item(3, 4)
def test_adjacent_cdata_sections_are_pieces_of_one_value(reads: Reads) -> None:
    step = "<time_step><![CDATA[0.0]]><![CDATA[5]]></time_step><gravity>0 0 0</gravity>"
    document = world(skeleton(body() + joint()), physics=step)
    written = reads(document)
    written.expect("SK014.split", "warning")
    assert written.world.time_step == 0.05
    dart = reads(document, semantics="dart")
    dart.expect_all("SK014.split", "SK030")
    assert dart.world.time_step == 0.001


@item(1)
@pytest.mark.parametrize("encoding", ["UTF-8", "ISO-8859-1", "UTF-16", "shift_jis", "rot13", "us-ascii", "nonsense"])
def test_a_str_is_read_regardless_of_its_declared_encoding(encoding: str) -> None:
    for text in (declared(encoding, one_body()), "\ufeff" + declared(encoding, one_body())):
        scene = exoskel.load(text.replace('name="s"', 'name="é表"'))
        assert scene.world.models[0].name == "é表"


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("inertia_rule", "first-shape"),
        ("semantics", "Dart"),
        ("free_velocity_axes", "x"),
        ("dialect", "x"),
        ("index_base", 2),
    ],
)
def test_an_invalid_option_raises(option: str, value: object) -> None:
    with pytest.raises(exoskel.ExoskelError, match=f"{option}={value!r} .*use one of"):
        load_text(one_body(), **{option: value})


@item(5, 96)
@pytest.mark.parametrize(
    ("inner", "says", "column"),
    [
        ("<world><![CDATA[ </world></skel>", "CDATA section that starts here is not closed", 14),
        ("<world><!-- </world></skel>", "comment that starts here is not closed", 14),
        ("<world><?x </world></skel>", "processing instruction that starts here is not closed", 14),
        ("<world>\n<?xml version='1.0'?></world></skel>", "XML declaration allowed only", None),
    ],
)
def test_unclosed_elements_are_named(reads: Reads, inner: str, says: str, column: int | None) -> None:
    reads("<skel>" + inner).expect("SK001", "error", says=says, column=column)


def test_bytes_that_do_not_fit_the_encoding_are_pointed_at(reads: Reads) -> None:
    for encoding in ("us-ascii", "utf-8"):
        document = declared(encoding, one_body()).encode().replace(b'name="s"', b'name="\xe9"')
        finding = reads(document).expect("SK001", "error", line=2, says="byte 0xE9")
        assert finding.column == document.splitlines()[1].index(b"\xe9") + 1
    document = declared("shift_jis", "<skel>\n<world name='表\x81\xff'/></skel>").encode("utf-8")
    broken = reads(declared("shift_jis", "<skel>\n<world name='x").encode() + b"\x81\xff'/></skel>")
    broken.expect("SK008", line=1, column=31)
    broken.expect("SK001", line=3, column=15)


@item(96)
def test_paths_show_names_without_escapes(reads: Reads) -> None:
    document = world('<skeleton name="a&amp;b&#x3c;&#65;&lt;">' + body("<odd/>") + joint() + "</skeleton>")
    reads(document).expect("SK010", path="skeleton[a&b<A<]/body[b]/odd")
