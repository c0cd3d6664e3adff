"""Formatting large documents by the shapes of their bodies and joints: the same result, and no difference accepted."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exoskel.formats import formatter, registry
from exoskel.formats.formatter import FormatterError, format_file, have_same_shapes, same_markup
from exoskel.source import similar_elements
from exoskel.source.canonical_layout import format_document
from exoskel.source.document import Document
from exoskel.source.limits import Limits
from exoskel.source.similar_elements import SimilarElements, find_similar
from tests.source.test_layout import documents
from tests.support.places import corpus_files, pybrain_files, sample_files, xode_sample_files

FILES = [*sample_files(), *xode_sample_files(), *corpus_files(), *pybrain_files()]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small documents, and those in which each element has a shape of its own, are cut like large ones."""
    for name, value in {"_LARGE": 0, "_FEWEST": 1, "_FEWEST_PER_SHAPE": 0}.items():
        monkeypatch.setattr(similar_elements, name, value)


def find(text: str | bytes) -> SimilarElements | None:
    data = text if isinstance(text, bytes) else text.encode()
    return find_similar(Document(data), registry.detect(data, "").vocabulary())


def both_ways(data: bytes) -> tuple[bytes, bytes]:
    """A document as it is formatted by shapes, and as a whole."""
    vocabulary = registry.detect(data, "").vocabulary()
    similar = find_similar(Document(data), vocabulary)
    return format_document(Document(data), vocabulary, similar=similar), format_document(Document(data), vocabulary)


def scene(*bodies: str) -> str:
    return f'<?xml version="1.0"?>\n<skel version="1.0"><world name="w"><skeleton name="s">{"".join(bodies)}</skeleton></world></skel>'


def body(number: int, mass: str = "1", before: str = "\n") -> str:
    return (
        f'{before}<body name="b{number}"><inertia><mass>{mass}</mass></inertia>\n\n<gravity>1</gravity>'
        f"<transformation>{number} 0 0 0 0 0</transformation></body>"
    )


MANY = scene(*(body(number) for number in range(2_000)))


def test_a_large_document_is_formatted_by_its_shapes_with_the_same_result() -> None:
    found = find(MANY)
    assert found is not None
    assert len(found.shapes) == 1
    assert len(found.elements) == 2_000
    first, second = both_ways(MANY.encode())
    assert first == second != MANY.encode()
    again = find(first)
    assert again is not None
    assert have_same_shapes(found, again)


def test_a_large_formatted_file_is_compared_with_its_source(monkeypatch: pytest.MonkeyPatch) -> None:
    data = scene(*(body(number) for number in range(8_000))).encode()
    skel = registry.by_name("skel")
    compared: list[bool] = []

    def compare(one: SimilarElements, other: SimilarElements, limits: Limits) -> bool:
        compared.append(have_same_shapes(one, other, limits))
        return compared[-1]

    monkeypatch.setattr(formatter, "have_same_shapes", compare)
    assert format_file(Document(data), skel, lambda _: pytest.fail("it is not read")) == both_ways(data)[1]
    assert compared == [True]
    monkeypatch.setattr(formatter, "format_document", lambda *_, **__: data.replace(b"<mass>1<", b"<mass>2<", 1))
    with pytest.raises(FormatterError, match="different content"):
        format_file(Document(data), skel, lambda _: pytest.fail("it is not read"))
    assert compared == [True, False]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_files_are_formatted_the_same_by_shapes(file: Path) -> None:
    first, second = both_ways(file.read_bytes())
    assert first == second


@pytest.mark.usefixtures("small")
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(documents())
def test_random_documents_are_formatted_the_same_by_shapes(text: str) -> None:
    plain = re.sub(r"<!.*?>|<\?.*?\?>|\r", "", text, flags=re.DOTALL).encode()
    for data in (text.encode(), text.replace("\r", "").encode(), plain):
        first, second = both_ways(data)
        assert first == second


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    "inner",
    [
        '<body name="a"><transformation>1  0 0 0 0 0</transformation></body>',
        '<body name="a"><transformation>1 0 0 0 0 0 </transformation></body>',
        '<body name="a"><transformation>1 0 0\t0 0 0</transformation></body>',
        '<body name="a"><note>free <b>text</b> here</note></body>',
        "<body name='a\"b'><mass> 1 2  3 </mass></body>",
        '<body name="a &amp; b"/><body name=""><mass></mass></body>',
        '<body name="outer"><body name="inner"><mass>1</mass></body></body>',
        '<note><body name="a"><mass>1</mass></body> text</note>',
        '<extension><body name="a">  <mass>1</mass></body></extension>',
        '<body name="a" xml:space="preserve">  <mass>1</mass>  </body>',
        '<body name="a"><mass>1</mass></body ><joint name="j"><parent>a</parent></joint\n>',
        '<body exoskel.stub="0"/><body name="a"><mass>1</mass></body>',
        '<body name="\ue0000\ue000"><mass>1</mass></body>',
        '<body name="a>b"><mass>1</mass></body>',
        '<q:body xmlns:q="u" name="a"><q:mass>1</q:mass></q:body><body name="c"><q:x xmlns:q="u">1</q:x></body>',
    ],
)
def test_unusual_content_is_formatted_the_same_by_shapes(inner: str) -> None:
    first, second = both_ways(scene(inner, '<body name="z"><mass>1</mass></body>').encode())
    assert first == second


@pytest.mark.parametrize("special", ["<!-- c -->", "<![CDATA[x]]>", "<?p i?>", "\r\n"])
def test_documents_whose_bodies_contain_more_than_elements_are_not_cut(special: str) -> None:
    assert find(MANY.replace("</body>", f"{special}</body>")) is None


COMMENTS = [
    "<!-- a header -->",
    '<!-- <body name="old"><mass>1</mass></body> -->',
    '<!-- <body name="old"> -->',
    "<!-- </body> -->",
    "<?p i?>",
    '<note><![CDATA[<body name="text"><mass>1</mass></body>]]></note>',
]


@pytest.mark.parametrize("comment", COMMENTS)
def test_comments_between_bodies_are_preserved(comment: str) -> None:
    first, second = both_ways(MANY.replace('<body name="b7">', f'{comment}\n<body name="b7">').encode())
    assert first == second
    assert comment.encode() in first


def test_a_large_document_with_a_header_is_formatted_by_its_shapes() -> None:
    text = MANY.replace("<skel ", "<!-- a header -->\n<skel ", 1)
    assert find(text) is not None
    first, second = both_ways(text.encode())
    assert first == second


def test_documents_whose_bodies_all_differ_are_not_cut() -> None:
    assert (
        find(scene(*(body(number, before=" " * number).replace("mass", f"m{number}") for number in range(1_000))))
        is None
    )


# --- comparison ------------------------------------------------------------------------------------

CHANGES = [
    ("<mass>1</mass>", "<mass>2</mass>"),
    ("<mass>1</mass>", ""),
    ('name="b3"', 'name="b4"'),
    ('name="b3"', 'nome="b3"'),
    ("3 0 0 0 0 0", "0 3 0 0 0 0"),
    ("<gravity>1</gravity>", "<gravity>1</gravity><gravity>1</gravity>"),
    ("<skeleton", "<skeleton x='1'"),
    ("</skeleton>", "stray</skeleton>"),
    ("kind='x'", "kind='y'"),
    ("kind='x'", 'kind="y"'),
    ("free ", "three "),
    (" here", " there"),
    ("<radius>1</radius>", "<radius>3</radius>"),
    ("<radius>1</radius></a><a><radius>2</radius>", "<radius>2</radius></a><a><radius>1</radius>"),
]
MIXED = "<note>free <b>text</b> here</note></body>"
RICH = "<note kind='x'/><a><radius>1</radius></a><a><radius>2</radius></a></body>"


@pytest.mark.usefixtures("small")
def test_siblings_with_other_names_and_attributes_may_be_in_any_order() -> None:
    one = scene('<body name="a" id="1"><mass>1</mass><a>2</a><a>3</a></body>')
    other = scene('<body id="1" name="a">\n<a>2</a> <a>3</a>\n\n<mass>1</mass></body>')
    first, second = find(one), find(other)
    assert first is not None
    assert second is not None
    assert have_same_shapes(first, second)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("old", "new"), CHANGES)
def test_each_difference_is_found(old: str, new: str) -> None:
    end = MIXED if old in MIXED else RICH
    text = scene(*(body(number).replace("</body>", end) for number in range(5)))
    changed = text.replace(old, new, 1)
    assert changed != text
    first, second = find(text), find(changed)
    assert first is not None
    assert second is not None
    assert not have_same_shapes(first, second)


@pytest.mark.usefixtures("small")
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(documents(), st.randoms(use_true_random=False))
def test_shapes_are_the_same_only_if_the_markup_is(text: str, chance: random.Random) -> None:
    plain = text.replace("\r", "")
    tokens = re.findall(r"<[^>]*>|[^<]+", plain)
    at = chance.randrange(len(tokens))
    texts = [plain, plain.replace(tokens[at], tokens[at] + " ", 1), plain.replace("1.0 2 3", "1.0 3 2", 1)]
    texts.append(plain.replace("'n'", "'m'", 1))
    for other in texts:
        one, two = Document(plain.encode()), Document(other.encode())
        first, second = find(plain), find(other)
        if first is not None and second is not None and have_same_shapes(first, second):
            assert same_markup(one, two)
