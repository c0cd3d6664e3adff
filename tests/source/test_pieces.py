"""Large documents are read in pieces, with the same result as from the tree of the whole document."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

import exoskel
from exoskel.formats import load as loading
from exoskel.formats.skel import read as skel_reader
from exoskel.formats.xode import read as xode_reader
from exoskel.scene.fields import iter_items
from exoskel.source import pieces
from exoskel.source.document import Document
from exoskel.source.limits import DEFAULT_LIMITS, Limits
from exoskel.source.pieces import NotInPiecesError, Pieces

SAMPLES = Path(exoskel.__file__).parent / "samples"
FILES = sorted([*(SAMPLES / "skel").glob("*.skel"), *(SAMPLES / "xode").glob("*.xode")])
Contents = tuple[list[Any], list[Any], str, str]


def contents(data: bytes, limits: Limits = DEFAULT_LIMITS, name: str = "") -> Contents:
    """Everything that was read from a document, with the numbers of the elements."""
    scene = exoskel.load(data, base=SAMPLES, limits=limits, format=name or None)
    items = [(type(item), repr(item), item.node, item.given, item.repaired) for item, _, _ in iter_items(scene)]
    found = [(d.key, d.message, d.hint, d.note, d.place, d.severity) for d in scene.diagnostics]
    return items, found, repr(scene.source_info), repr(scene.extensions)


@pytest.fixture
def cut_at(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """A function that sets the least size of a piece; documents of any size are cut then."""

    def set_size(size: int) -> None:
        for reader in (skel_reader, xode_reader):
            monkeypatch.setattr(reader, "read_plain", lambda *_: None)
        monkeypatch.setattr(pieces, "_LARGE", 0)
        monkeypatch.setattr(pieces, "_SAMPLE", 10**9)
        monkeypatch.setattr(pieces, "_SIZE", size)

    return set_size


@pytest.fixture
def no_trees(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """A function after which documents cannot be parsed as a whole."""

    def forbid(*_: object) -> None:
        raise AssertionError("the document was parsed as a whole")

    return lambda: monkeypatch.setattr(Document, "parse", forbid)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_samples_are_the_same_in_pieces(file: Path, cut_at: Callable[[int], None]) -> None:
    data = file.read_bytes()
    whole = contents(data)
    for size in (1, 700):
        cut_at(size)
        assert contents(data) == whole


def skeletons(*texts: str, after: str = "") -> bytes:
    """A SKEL document with one skeleton per text; each text is added to the skeleton's body."""
    inside = [
        f'<skeleton name="s{i}"><body name="b">{text}</body>'
        '<joint type="free" name="j"><parent>world</parent><child>b</child></joint></skeleton>\n'
        for i, text in enumerate(texts)
    ]
    physics = "<physics><time_step>0.001</time_step><gravity>0 -9.81 0</gravity></physics>\n"
    return f'<skel version="1.0">\n<world name="w">{physics}{"".join(inside)}{after}</world></skel>'.encode()


CASES = {
    "plain": skeletons(*[""] * 9),
    "comments": skeletons("", "<!-- </skeleton> -->", "", "<![CDATA[ </skeleton> ]]>", "", "<?x </skeleton> ?>", ""),
    "invalid values": skeletons("", "", "<inertia><mass>x</mass></inertia>", "", "<inertia><mass>-1</mass></inertia>"),
    "unknown attributes": skeletons("", "<inertia unit='kg'><mass a='1' b='2'>1</mass></inertia>", "", ""),
    "unknown elements": skeletons("", "<inertai><mass>1</mass></inertai>", "", "<x:y xmlns:x='u'/>", ""),
    "repeated physics": skeletons("", "", "", after="<physics><gravity>0 0 0</gravity></physics>"),
    "repeated physics with unknown attributes": skeletons(
        "", "", "", after="<physics><time_step a='1'>1</time_step></physics>"
    ),
    "stray text": skeletons("", "stray", "", "", after="more"),
    "stray text in a continued element": skeletons("", "", "", "").replace(b"</skeleton>\n", b"</skeleton>x\n", 3),
    "stray text at the end only": skeletons("", "", "", after="late"),
    "two worlds": skeletons("", "").replace(b"</skeleton>\n<skel", b"</skeleton></world><world><skel"),
    "a namespace": skeletons("", "<x:y/>", "").replace(b"<skel ", b"<skel xmlns='urn:a' xmlns:x='urn:b' "),
    "an unknown world": skeletons("", "", "").replace(b"world", b"wrld"),
    "early root": skeletons("", "", "").replace(b"<skel v", b"<dart v").replace(b"</skel>", b"</dart>"),
    "another root": skeletons("", "", "").replace(b"<skel v", b"<skeleton v").replace(b"</skel>", b"</skeleton>"),
    "text at the end": skeletons("", "", "") + b"text",
    "an undeclared prefix": skeletons("", "<x:y/>", ""),
    "an open tag at the end": skeletons("", "", "", after="<skeleton>"),
    "an end tag too many": skeletons("", "", "", after="</body>"),
    "an unknown entity": skeletons("", "&x;", ""),
    "a document type": b"<!DOCTYPE skel>" + skeletons("", "", ""),
    "one skeleton": b"<skel version='1.0'><world><skeleton name='s'><mobile>x</mobile>"
    + b"".join(b"<body name='b%d'><inertia><mass a='1'>1</mass></inertia></body>" % i for i in range(5))
    + b"<mobile>1</mobile>stray<immobile>0</immobile>"
    + b"".join(b"<joint type='weld' name='j'><child>b%d</child></joint>" % i for i in range(5))
    + b"</skeleton></world></skel>",
}


@pytest.mark.parametrize("size", [1, 300])
@pytest.mark.parametrize("case", CASES)
def test_problems_are_the_same_in_pieces(case: str, size: int, cut_at: Callable[[int], None]) -> None:
    whole = contents(CASES[case], name="skel")
    shallow = contents(CASES[case], Limits(depth=4), name="skel")
    cut_at(size)
    assert contents(CASES[case], name="skel") == whole
    assert contents(CASES[case], Limits(depth=4), name="skel") == shallow


@pytest.mark.parametrize(
    "case",
    ["plain", "comments", "invalid values", "unknown attributes", "repeated physics", "a namespace", "one skeleton"],
)
def test_the_tree_of_the_whole_is_not_needed(
    case: str, cut_at: Callable[[int], None], no_trees: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "_complete", lambda *_: None)  # reads again what misspelt names hide
    cut_at(200)
    no_trees()
    exoskel.load(CASES[case])


def test_each_piece_has_a_small_tree(cut_at: Callable[[int], None]) -> None:
    cut_at(1000)
    document = Document(skeletons(*[""] * 100))
    found = pieces.cut(document, DEFAULT_LIMITS, (("skeleton",),))
    assert isinstance(found, Pieces)
    sizes = [len(etree.tostring(piece.root)) for piece in found]
    assert len(sizes) > 10
    assert max(sizes) < 1500


def test_small_documents_are_not_cut() -> None:
    assert pieces.cut(Document(CASES["plain"]), DEFAULT_LIMITS, (("skeleton",),)) is None


def test_malformed_pieces_are_refused(cut_at: Callable[[int], None]) -> None:
    cut_at(1)
    found = pieces.cut(Document(skeletons("", "<open>", "")), DEFAULT_LIMITS, (("skeleton",),))
    assert found is not None
    with pytest.raises(NotInPiecesError):
        list(found)


_INSERTED = [
    b"stray", b"<!-- </skeleton> </body> -->", b"<![CDATA[ </body> x]]>", b"<?x </body>?>", b"<unknown a='1'/>",
    b"<physics><gravity>0 0 0</gravity></physics>", b"<mobile>0</mobile>", b"<x:y xmlns:x='u'/>", b"<x:body/>",
    b"</world><world>", b"</world>", b"<body>", b"</body>", b"</skeleton><skeleton>", b"<skeleton/>", b"&amp;", b"&x;",
    b"</space><space>", b"<space><body/></space>", b"<group>", b"</group>", b"<ext ename='a'><b/></ext>", b"<mass/>",
    b"<body name='q'><body name='r'></body></body>", b" a='1'", b"<transform/>",
]  # fmt: skip
_ATTRIBUTES = [b" a='1'", b" name='z'", b" xmlns='urn:x'", b" xmlns:q='urn:x'", b" q:a='1'", b" xmlns=''"]
_TAG = re.compile(rb"<(/?)([A-Za-z_]\w*)[^<>]*>")


def damaged(data: bytes, rng: random.Random) -> bytes:
    """A document with up to three random changes."""
    for _ in range(rng.randint(1, 3)):
        tag = rng.choice(list(_TAG.finditer(data)))
        at, name_end = tag.start(), tag.end(2)
        kind = rng.random()
        if kind < 0.5:
            data = data[:at] + rng.choice(_INSERTED) + data[at:]
        elif kind < 0.8:
            data = data[:name_end] + (b"" if tag[1] else rng.choice(_ATTRIBUTES)) + data[name_end:]
        elif kind < 0.9:
            data = data[:at] + data[tag.end() :]
        else:
            data = re.sub(rb"(</?)%b\b" % tag[2], rb"\1%bx" % tag[2], data)
    return data


@pytest.mark.parametrize("seed", range(4))
def test_damaged_documents_are_the_same_in_pieces(
    seed: int, cut_at: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    files = [file for file in FILES if file.stat().st_size < 20_000]
    for _ in range(15):
        file = rng.choice(files)
        data = damaged(file.read_bytes(), rng)
        monkeypatch.undo()
        whole = contents(data, name=file.suffix[1:])
        cut_at(rng.randint(1, 3000))
        assert contents(data, name=file.suffix[1:]) == whole
