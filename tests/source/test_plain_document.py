"""Plain documents are read without a parser of XML, with the same result as with one."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from exoskel.diagnostics import Collector
from exoskel.formats.skel import read as skel_reader
from exoskel.formats.skel.codes import CATALOGUE
from exoskel.formats.skel.vocabulary import SKEL
from exoskel.formats.xode import read as xode_reader
from exoskel.source import plain_document
from exoskel.source.document import Document
from exoskel.source.limits import DEFAULT_LIMITS, Limits
from exoskel.source.plain_document import read_plain
from exoskel.source.valid_structure import SMALL_DOCUMENT, ValidStructure
from tests.source.test_pieces import FILES, contents
from tests.source.test_valid_structure import edited

DOCUMENT = b"""<?xml version="1.0" ?>
<skel version="1.0">
  <world name="w">
    <physics><gravity>0 -9.81 0</gravity></physics>
    <skeleton name="s">
      <body name="b"><inertia><mass>1.5</mass></inertia></body>
      <joint type="revolute" name="j"><parent>world</parent><child>b</child><axis><xyz>1 0 0</xyz></axis></joint>
    </skeleton>
  </world>
</skel>
"""

XODE = b"""<?xml version="1.0" encoding="UTF-8"?>
<xode version="1.0r23" name="box"
\txmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="http://a.org/xode.xsd">
  <world name="w">
    <space>
      <body name="a">
        <transform><position x="0" y="5" z="0" /></transform>
        <geom name="g"><box sizex="1" sizey="1" sizez="2"/></geom>
        <mass><mass_shape density="2"><cylinder radius="1" length="2"/></mass_shape></mass>
      </body>
      <joint name="j"><link1 body="a"/><hinge><axis x="1" y="0" z="0"/><anchor x="0" y="0" z="0"/></hinge></joint>
    </space>
  </world>
</xode>
"""
XODE_EDITS = (
    (b"\txmlns", b"xmlns"),
    (b"\txmlns", b" a:b='c' xmlns"),
    (b"\txmlns", b" xsi:schemaLocation='c' xmlns"),
    (b"\txmlns", b" xmlns='c' xmlns"),
    (b'XMLSchema-instance"', b"XMLSchema-instance'"),
    (b"XMLSchema-instance", b"another"),
    (b"xmlns:xsi", b"xmlns:xsj"),
    (b'" xsi:', b'"xsi:'),
    (b"xsi:noNamespaceSchemaLocation=", b"xsi:other="),
    (b'noNamespaceSchemaLocation="', b'noNamespaceSchemaLocation=">'),
    (b"<world", b"<xsi:world/><world"),
    (b"<world", b"<world xsi:a='b'"),
    (b'x="1"', b'x="1" x="2"'),
    (b'x="1"', b'x="one"'),
    (b'x="1"', b'x=" 1"'),
    (b'x="1"', b'x="1" w="2"'),
    (b'x="1" ', b""),
    (b"<axis x", b"<axis  \r\n\tx"),
    (b"<hinge>", b"<hinge>text"),
    (b"<hinge>", b"<hinge><!-- a -->"),
    (b"<hinge>", b"<hinge><ext name='a'><b/></ext>"),
    (b"</hinge>", b"</hinge>text"),
    (b'<link1 body="a"/>', b"<link1 body='a'></link1>"),
    (b'<link1 body="a"/>', b"<link1 body='a'> </link1>"),
    (b'<link1 body="a"/>', b"<link1 body='a'/><link1 body='a'/>"),
    (b"</space>", b"</space><!--XODE 1.0r22 +retain-->"),
)

EDITS = (
    (b"1.5", b"1&#46;5"),
    (b"1.5", b"1.5\x01"),
    (b"1.5", b"1.5 "),
    (b"1.5", b"\r\n1.5\r\n"),
    (b"1.5", b"1.5]]>"),
    (b"1.5", b"1.5<!-- a -->"),
    (b"1.5", b"1.5<!-- a --> "),
    (b"1.5", b"<!-- a -->1.5"),
    (b"1.5", b"1<!-- a -->.5"),
    (b"1.5", b"<![CDATA[1.5]]>"),
    (b"1.5", b"1.5<?a?>"),
    (b"1.5", b"1.5<mass/>"),
    (b"1.5", b""),
    (b"1.5", b"  "),
    (b"1.5", b"1.5\xc3\xa9"),
    (b"1.5", b"1.5\xe9"),
    (b"1.5", b"1.5>"),
    (b"<physics>", b"<physics"),
    (b"<mass>", b"<mass"),
    (b"<mass>", b"<mass >"),
    (b"<mass>", b"<mass a='1'>"),
    (b"</mass>", b"</mass >"),
    (b"</mass>", b"</ mass>"),
    (b"</mass>", b"</mass a='1'>"),
    (b"</mass>", b"</Mass>"),
    (b"</mass>", b"</mass"),
    (b"</mass>", b""),
    (b"</mass>", b"</mass>text"),
    (b"</mass>", b"</mass></mass>"),
    (b"</mass>", b"</mass><mass>2</mass>"),
    (b"<mass>1.5</mass>", b"<mass/>"),
    (b"<mass>1.5</mass>", b""),
    (b'name="b"', b'name="b" name="c"'),
    (b'name="b"', b'name="b"stray="c"'),
    (b'name="b"', b'name="<b"'),
    (b'name="b"', b'name="b>"'),
    (b'name="b"', b'name="b\t"'),
    (b'name="b"', b"name='b'"),
    (b'name="b"', b"name='b\""),
    (b'name="b"', b"name=b"),
    (b'name="b"', b"name"),
    (b'name="b"', b'name\n= "b"'),
    (b'name="b"', b'name="b&amp;"'),
    (b'name="b"', b'name="\xc3\xa9"'),
    (b'name="b"', b'name=""'),
    (b'name="b"', b'xml:space="preserve" name="b"'),
    (b'name="b"', b'xmlns="a" name="b"'),
    (b' name="b"', b""),
    (b"<skeleton", b"<!-- a -- b --><skeleton"),
    (b"<skeleton", b"<!-- a ---><skeleton"),
    (b"<skeleton", b"<!-- <skeleton> --><skeleton"),
    (b"<skeleton", b"<!-- a --><!-- b -->\n<!----><skeleton"),
    (b"<skeleton", b"<!-- \xc3\xa9 --><skeleton"),
    (b"<skeleton", b"<!-- \xe9 --><skeleton"),
    (b"<skeleton", b"<!-- \x02 --><skeleton"),
    (b"<skeleton", b"<!-- a ><skeleton"),
    (b"<skeleton", b"<![CDATA[ ]]><skeleton"),
    (b"<skeleton", b"<?a <!-- ?><skeleton"),
    (b"<skeleton", b"< skeleton"),
    (b"<skeleton", b"<1/><skeleton"),
    (b"<skeleton", b"<stray:a/><skeleton"),
    (b"<skeleton", b"<mobile>0</mobile><skeleton"),
    (b"<body", b"<transformation>1 2 3</transformation><body"),
    (b"<body", b"<mobile>0</mobile><mobile>1</mobile><body"),
    (b"<body", b"<body name='c'/><body"),
    (b"<body", b"<body name='c'></body><body"),
    (b"<body", b"<body name='c'>stray</body><body"),
    (b"</skel>\n", b"</skel>\n<!-- the end -->\n"),
    (b"</skel>\n", b"</skel>\n<!-- the -- end -->\n"),
    (b"</skel>\n", b"</skel>\ntext"),
    (b"</skel>\n", b"</skel><skel/>"),
    (b"</skel>\n", b"</skel>\0"),
    (b"</skel>\n", b""),
    (b'<?xml version="1.0" ?>\n', b""),
    (b'<?xml version="1.0" ?>\n', b"<!-- a -->\n"),
    (b'<?xml version="1.0" ?>\n', b"<!-- a -- b -->\n"),
    (b'<?xml version="1.0" ?>\n', b"<!-- \x03 -->\n"),
    (b'<?xml version="1.0" ?>\n', b"\n"),
    (b'<?xml version="1.0" ?>', b"<?xml version='1.0\" ?>"),
    (b'<?xml version="1.0" ?>', b'<?xml version="1.0" encoding="utf-8"?>'),
    (b'<?xml version="1.0" ?>', b'<?xml version="1.0" encoding=\'utf-8"?>'),
    (b'<?xml version="1.0" ?>', b'<?xml version="1.1" ?>'),
    (b'<?xml version="1.0" ?>', b'<?xml version="1.0" standalone="yes"?>'),
    (b'<?xml version="1.0" ?>', b"<!DOCTYPE skel>"),
    (b'<?xml version="1.0" ?>', b"<?a?>"),
)


@pytest.fixture
def with_parser(monkeypatch: pytest.MonkeyPatch) -> Callable[..., object]:
    """Reads a document with the parser."""

    def read(data: bytes, limits: Limits = DEFAULT_LIMITS) -> object:
        with monkeypatch.context() as patch:
            for reader in (skel_reader, xode_reader):
                patch.setattr(reader, "read_plain", lambda *_: None)
            return contents(data, limits)

    return read


def read_skel(data: bytes) -> ValidStructure | None:
    document = Document(data)
    return read_plain(document, SKEL, Collector(CATALOGUE, document), Limits())


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_samples_with_and_without_problems_are_read_as_with_a_parser(
    file: Path, with_parser: Callable[..., object]
) -> None:
    data = file.read_bytes()
    for changed in (data, *(edited(data, seed) for seed in range(3))):
        assert contents(changed) == with_parser(changed)
    for limits in (Limits(depth=3), Limits(depth=6), Limits(elements=10), Limits(bytes=50), Limits(attributes=2)):
        assert contents(data, limits) == with_parser(data, limits)


@pytest.mark.parametrize(("before", "after"), EDITS, ids=lambda text: repr(text)[2:-1][:40])
def test_edited_documents_are_read_as_with_a_parser(
    before: bytes, after: bytes, with_parser: Callable[..., object]
) -> None:
    data = DOCUMENT.replace(before, after, 1)
    assert data != DOCUMENT
    assert contents(data) == with_parser(data)


@pytest.mark.parametrize(("before", "after"), XODE_EDITS, ids=lambda text: repr(text)[2:-1][:40])
def test_edited_xode_documents_are_read_as_with_a_parser(
    before: bytes, after: bytes, with_parser: Callable[..., object]
) -> None:
    data = XODE.replace(before, after, 1)
    assert data != XODE
    assert contents(data) == with_parser(data)


@pytest.mark.parametrize("document", [DOCUMENT, XODE], ids=["skel", "xode"])
def test_damaged_documents_are_read_as_with_a_parser(document: bytes, with_parser: Callable[..., object]) -> None:
    choose = random.Random(5)
    fragments = (
        b"<",
        b">",
        b"/",
        b'"',
        b"'",
        b"&",
        b"!",
        b"-",
        b"--",
        b"]]>",
        b"<!--",
        b"-->",
        b" ",
        b"=",
        b"\r",
        b"?",
    )
    for _ in range(300):
        data = bytearray(document)
        for _ in range(choose.randrange(1, 3)):
            at = choose.randrange(len(data))
            data[at : at + choose.randrange(3)] = choose.choice(fragments)
        assert contents(bytes(data)) == with_parser(bytes(data)), bytes(data)


def test_most_samples_are_plain() -> None:
    skel = [data for file in FILES if file.suffix == ".skel" and len(data := file.read_bytes()) < SMALL_DOCUMENT]
    read = [read_skel(data) for data in skel]
    assert len(read) >= 10
    assert read.count(None) <= 0.3 * len(read)


def test_an_xode_document_with_the_location_of_its_schema_is_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("parsed")

    monkeypatch.setattr(Document, "parse", fail)
    contents(XODE)
    with pytest.raises(AssertionError, match="parsed"):
        contents(XODE.replace(b"XMLSchema-instance", b"another"))


def test_the_caches_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_document, "_MOST_CACHED", 50)
    plain_document._ENDS.clear()
    for _, element in SKEL.rows():
        element.piece_meanings.clear()
    for number in range(200):
        data = DOCUMENT.replace(b'name="s"', b'name="s%d"' % number).replace(b"</mass>", b"</mass>" + b" " * number)
        assert read_skel(data) is not None
    assert max(len(element.piece_meanings) for _, element in SKEL.rows()) <= 50
    assert len(plain_document._ENDS) <= 50


def test_long_texts_are_not_cached() -> None:
    long = b"b" * 10_000
    assert read_skel(DOCUMENT.replace(b">b<", b">%b<" % long)) is not None
    pieces = [piece for _, element in SKEL.rows() for piece in element.piece_meanings]
    assert pieces and not any(long in piece for piece in pieces)
    assert not any(long.decode() in kind.memo for kind in SKEL.kinds().values())


def test_values_of_attributes_are_not_shared_by_elements() -> None:
    twice = DOCUMENT.replace(b"<joint", b'<body name="c"/><joint')
    first, second = read_skel(twice), read_skel(twice)
    assert first is not None and second is not None
    first.root.fields["@version"] = first.streamed[0][0].fields["@name"] = "changed"
    assert second.root.fields["@version"] == "1.0"
    assert second.streamed[0][0].fields["@name"] == "s"
