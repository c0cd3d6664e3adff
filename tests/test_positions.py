"""Positions of elements and values are right on any line and in any encoding."""

from __future__ import annotations

import pytest

import exoskel
from exoskel.diagnostics import Place
from exoskel.source.document import Document
from exoskel.source.positions import Scan
from tests.support.findings import load_text

HEAD = '<?xml version="1.0"{}?>\n<skel version="1.0"><world name="w">'
TAIL = "</world></skel>"


def document(text: str, encoding: str = "utf-8") -> Document:
    return Document(text.encode(encoding))


def at(doc: Document, node: int, **place: str) -> tuple[int, int]:
    position = doc.position(Place(node, **place))
    assert position is not None
    return position.line, position.column


@pytest.mark.parametrize("line", [70_000, 200_000])
def test_positions_are_exact_beyond_line_65535(line: int) -> None:
    blank = "\n" * (line - 2)
    text = HEAD.format("") + blank + '<odd/><!-- <not this="one"/> --><odd hue="red"></odd>' + TAIL
    doc = document(text)
    assert at(doc, 2) == (line, 1)
    assert at(doc, 3) == (line, 33)
    assert at(doc, 3, attribute="hue") == (line, 43)
    found = [(d.code, d.line, d.column) for d in load_text(text).diagnostics]
    assert ("SK010", line, 1) in found and ("SK010", line, 33) in found


@pytest.mark.parametrize("line", [70_000, 200_000])
def test_syntax_errors_have_exact_lines_beyond_line_65535(line: int) -> None:
    text = "<skel>" + "\n" * (line - 1) + '<world a="1" a="2"/></skel>'
    (finding,) = load_text(text).diagnostics
    assert (finding.code, finding.line) == ("SK001", line)


@pytest.mark.parametrize(
    "skipped",
    [
        "<!-- <a> </b> -->",
        "<![CDATA[ <a> ]]>",
        "<?php <a> ?>",
        "<!-- > -->",
        "<!---->",
        "<![CDATA[]]>",
    ],
)
def test_comments_and_sections_are_not_counted_as_elements(skipped: str) -> None:
    doc = document(f"<r>\n{skipped}\n<x/></r>")
    assert at(doc, 1) == (3, 1)


def test_a_doctype_is_not_counted_as_an_element() -> None:
    doc = document('<!DOCTYPE r [\n<!ELEMENT a (b)>\n<!-- ]> -->\n<!ATTLIST a b CDATA "]>">\n]>\n<r>\n<x/></r>')
    assert (at(doc, 0), at(doc, 1)) == ((6, 1), (7, 1))


@pytest.mark.parametrize(("end", "lines"), [("\n", 3), ("\r\n", 3), ("\r", 3)])
def test_every_line_end_starts_a_new_line(end: str, lines: int) -> None:
    doc = document(f"<r>{end}<a/>{end}<b/></r>")
    assert [at(doc, node)[0] for node in (0, 1, 2)] == [1, 2, lines]
    assert doc.line_text(2) == "<a/>"


@pytest.mark.parametrize(
    ("encoding", "declared"),
    [
        ("utf-8", "UTF-8"),
        ("utf-8-sig", "UTF-8"),
        ("utf-16", "UTF-16"),
        ("utf-16-le", "UTF-16LE"),
        ("utf-16-be", "UTF-16BE"),
        ("utf-32", "UTF-32"),
        ("shift_jis", "Shift_JIS"),
        ("gb18030", "GB18030"),
        ("euc-jp", "EUC-JP"),
    ],
)
def test_columns_are_characters_in_every_encoding(encoding: str, declared: str) -> None:
    text = HEAD.format(f' encoding="{declared}"') + '\n<skeleton name="表示能十"/><odd/>' + TAIL
    scene = exoskel.load(text.encode(encoding), name="doc.skel")
    assert [m.name for m in scene.world.models] == ["表示能十"]
    odd = next(d for d in scene.diagnostics if d.code == "SK010")
    assert (odd.line, odd.column) == (3, 24)
    assert odd.excerpt.startswith('<skeleton name="表示能十"/><odd/>')
    assert ("SK008" in {d.code for d in scene.diagnostics}) is (not encoding.startswith("utf-8"))


@pytest.mark.parametrize("encoding", ["iso-8859-1", "windows-1252", "iso-8859-15", "koi8-r"])
def test_columns_are_characters_in_single_byte_encodings(encoding: str) -> None:
    name = "бу" if encoding == "koi8-r" else "café"
    text = HEAD.format(f' encoding="{encoding}"') + f'<skeleton name="{name}"/><odd/>' + TAIL
    scene = exoskel.load(text.encode(encoding), name="doc.skel")
    assert scene.world.models[0].name == name
    odd = next(d for d in scene.diagnostics if d.code == "SK010")
    assert odd.column == text.split("\n")[1].index("<odd/>") + 1


def test_invalid_utf8_is_reported_with_its_position() -> None:
    (finding,) = exoskel.load(b"<skel>\n  <world name='caf\xe9'/></skel>").diagnostics
    assert (finding.code, finding.line, finding.column) == ("SK001", 2, 19)
    assert "0xE9" in finding.message


def test_positions_point_at_attributes_and_values() -> None:
    text = "<r>\n  <a  one = 'x' two=\"y > z\" >\n   12 13 <!-- 14 -->\n</a>\n</r>"
    doc = document(text)
    assert at(doc, 1, attribute="two") == (2, 22)
    assert at(doc, 1, token="13") == (3, 7)
    assert at(doc, 0, child="a") == (3, 4)
    assert at(doc, 1, attribute="none") == (2, 3)


def test_paths_name_elements_or_count_them() -> None:
    text = (
        HEAD.format("")
        + '<skeleton name="s"><body name="b"><visualization_shape/><visualization_shape/></body></skeleton>'
        + TAIL
    )
    doc = document(text)
    paths = [doc.path(Place(node)) for node in range(6)]
    assert paths == [
        "skel",
        "world[w]",
        "skeleton[s]",
        "skeleton[s]/body[b]",
        "skeleton[s]/body[b]/visualization_shape[1]",
        "skeleton[s]/body[b]/visualization_shape[2]",
    ]
    assert doc.path(Place(3, attribute="name")) == "skeleton[s]/body[b]/@name"


def test_paths_can_be_written_as_xpath() -> None:
    doc = Document(b"<xode><world><body name='arm'><mass/></body></world><world/></xode>", path_style="xpath")
    assert doc.path(Place(3)) == "/xode/world[1]/body[@name='arm']/mass[1]"


def test_lines_of_many_elements_are_found_at_once() -> None:
    text = "<r>" + "\n<a/>" * 1000 + "</r>"
    doc = document(text)
    assert doc.lines(range(1, 1001)) == list(range(2, 1002))


def test_an_empty_document_has_no_elements() -> None:
    assert len(Scan(b"").starts) == 0
    assert len(Scan(b"<").starts) == 0
    assert Scan(b"").line_text(1) == ""
