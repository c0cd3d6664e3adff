"""The short ways through plain documents give the results of the general ones."""

from __future__ import annotations

import gc
import random

import pytest

import exoskel
from exoskel.source.document import Document
from exoskel.source.encoding import detect_encoding, read_prolog
from exoskel.source.positions import Scan, may_split_text
from exoskel.source.root_check import root_tag

PLAIN = (
    b"<skel/>",
    b"<skel version='1.0'></skel>",
    b'<?xml version="1.0"?><skel/>',
    b'<?xml version="1.0" ?>\r\n<skel/>',
    b'<?xml version="1.0" encoding="UTF-8"?>\n<!-- <a> -->\n<!-- b --><xode>\n</xode>',
    b"<?xml version='1.0' encoding='utf-8'?>\n\t<xode/>",
    b"<!-- a --><skel/>",
)
OTHERS = (
    b"",
    b" <skel/>",
    b"\xef\xbb\xbf<skel/>",
    b"<!-- <skel/>",
    b"<!-- a --><!-- <skel/>",
    b"<!DOCTYPE skel><skel/>",
    b'<?xml version="1.0" encoding="latin-1"?><skel/>',
    b'<?xml version="1.0" encoding="ascii"?><skel/>',
    b'<?xml version="1.0" standalone="yes"?><skel/>',
    b"<a:skel xmlns:a='b'/>",
    b"<skel",
    b"<!-- a --> text <skel/>",
    "<skel/>".encode("utf-16"),
)


@pytest.mark.parametrize("data", PLAIN)
def test_a_plain_document_is_recognized(data: bytes) -> None:
    document = Document(data)
    assert document.plain_root == root_tag(data) != ""
    assert document.encoding == detect_encoding(data)
    assert document.text is data
    assert document.prolog == read_prolog(data)


@pytest.mark.parametrize("data", OTHERS)
def test_all_others_are_not_plain(data: bytes) -> None:
    assert Document(data).plain_root == ""


def test_many_comments_are_skipped_in_linear_time() -> None:
    assert Document(b"<!-- a -->" * 100_000 + b"text").plain_root == ""


@pytest.mark.parametrize("content", [b"\0\0\0", b"\1" * 2000], ids=["zeros", "controls"])
def test_binary_content_after_a_plain_start_is_reported_as_such(content: bytes) -> None:
    data = b"<skel version='1.0'>" + content + b"</skel>"
    for name in ("a.skel", "a.xode"):
        found = exoskel.load(data, name=name).diagnostics
        assert ["the file is binary" in one.message for one in found] == [True]


def split_by_pieces(text: bytes) -> bool:
    """The rule of `may_split_text`, by cutting the text at its comments."""
    if b"<![CDATA[" in text or b"<!DOCTYPE" in text or text.find(b"<?", 1) >= 0:
        return True
    first, *parts = text.split(b"<!--")
    pieces = [first, *[part.partition(b"-->")[2] for part in parts]]
    texts = [piece.strip(b" \t\r\n") for piece in pieces]
    return any(one and not (one.startswith(b"<") and one.endswith(b">")) for one in texts)


def test_comments_beside_text_are_found() -> None:
    choices, found = random.Random(0), 0
    parts = [
        b"<a>",
        b"</a>",
        b"<!-- b -->",
        b"<!---->",
        b"<!-- ! <c> -->",
        b" ",
        b"\n",
        b"text!",
        b"<?d?>",
        b"<![CDATA[e]]>",
    ]
    for _ in range(3000):
        text = (
            b"<a>"
            + b"".join(choices.choices(parts, [5, 5, 5, 2, 2, 5, 5, 1, 0.2, 0.2], k=choices.randint(0, 8)))
            + b"</a>"
        )
        expected = split_by_pieces(text) if b"!" in text else False
        assert may_split_text(text) == expected, text
        found += expected
    assert 300 < found < 2700


def test_the_line_of_one_element_is_that_among_many() -> None:
    text = b"<?xml version='1.0'?>\n<a><!-- <b>\n -->\n<c\n/><![CDATA[<d>]]>\n\n<e></e></a>"
    lines = Scan(text).lines([0, 1, 2])
    assert lines == [2, 4, 7]
    assert [Scan(text).lines([node])[0] for node in range(3)] == lines
    scan = Scan(text)
    assert [scan.lines([2])[0] for _ in range(9)] == [7] * 9
    scan = Scan(text)
    assert [scan.lines([node])[0] for node in (1, 0, 2)] == [4, 2, 7]


@pytest.mark.parametrize(
    "sample", ["skel/pendulum.skel", "skel/walker.skel", "xode/four_bar.xode", "xode/ragdoll.xode"]
)
def test_reading_leaves_no_reference_cycles(sample: str) -> None:
    """Otherwise a document stays in memory until the garbage is collected."""
    source = f"dart://sample/{sample}"
    exoskel.load(source)
    gc.collect()
    exoskel.load(source)
    assert gc.collect() == 0


def test_each_mesh_file_of_a_document_is_looked_up_once_unless_a_resolver_answers() -> None:
    mesh = "<mesh><file_name>a.obj</file_name><scale>1 1 1</scale></mesh>"
    shape = f"<visualization_shape><geometry>{mesh}</geometry></visualization_shape>"
    text = f"<skel version='1.0'><world><skeleton name='s'><body name='b'>{shape * 3}</body></skeleton></world></skel>"
    asked: list[str] = []
    exoskel.load(text, resolver=asked.append)
    assert asked == ["a.obj"] * 3
    found = [one.code for one in exoskel.load(text, base="/").diagnostics if one.code == "SK063"]
    assert found == ["SK063"] * 3
