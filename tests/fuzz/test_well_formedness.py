"""What is well-formed: a run with a fixed seed that compares with expat, and the documents on which we differ from it."""

from __future__ import annotations

import random

import pytest

from exoskel.source.document import Document
from exoskel.source.encoding import UnknownEncodingError
from tests.fuzz.well_formedness import (
    NEW_NAMES,
    declares_entity,
    disagreement,
    documents,
    exception,
    expat_verdict,
    mutate,
    verdict,
)
from tests.fuzz.xml_grammar import Grammar

MUTATIONS = 5000


def test_mutated_documents_are_well_formed_exactly_if_expat_agrees() -> None:
    rng = random.Random("exoskel well-formedness")
    known = list(documents())
    well_formed = 0
    for _ in range(MUTATIONS):
        data = mutate(rng.choice(known), rng, rng.choice(known))
        problem = disagreement(data)
        assert not problem, (data, problem)
        well_formed += not expat_verdict(data)
    assert 0.1 * MUTATIONS < well_formed < 0.9 * MUTATIONS


def test_entities_that_expat_finds_are_found_before_a_document_is_parsed() -> None:
    grammar = Grammar(random.Random("exoskel entities"))
    found = 0
    for _ in range(2000):
        data = grammar.document(has_entities=True)
        if declares_entity(data):
            found += 1
            assert _refuses_entities(data), data
    assert found > 1000


def _refuses_entities(data: bytes) -> bool:
    try:
        return Document(data).prolog.entities is not None
    except (UnicodeDecodeError, UnknownEncodingError):  # the document cannot be read at all
        return True


AGREED = {
    "content after a prefix and a relative namespace": b"<x:a><b xmlns='u'/></x:a>\n<c/> & <junk",
    "content after a namespace that is not a URI": b"<x:a xmlns:x='>'><?xml-p?></x:a><b/>",
    "content after a declaration of a reserved prefix": b"<a xmlns:xmlns='u' xmlns='v'/>b",
    "a repeated attribute before a relative namespace": b"<x:a x:b='1' x:b='2' xmlns='u'/>",
    "a repeated declaration of the prefix xml": b"<a xmlns:xml='http://www.w3.org/XML/1998/namespace' "
    b"xmlns:xml='http://www.w3.org/XML/1998/namespace'/>",
    "content after the root": b"<a><x:b/></a>\n<b/> & <junk",
    "text after the root": b"<a><x:b/></a>text",
    "a second root": b"<x:a/><b/>",
    "an end tag after the root": b"<x:a/></a>",
    "a comment that is not closed after the root": b"<x:a/><!--",
    "an instruction that is not closed after the root": b"<x:a/><?p",
    "half of a character after the root": b"<x:a/>\xc3",
    "NUL after the root": b"<x:a/>\0",
    "a document type after the root": b"<x:a/><!DOCTYPE a>",
    "a repeated attribute with a prefix": b"<a x:b='1' x:b='2'/>",
    "a repeated attribute beside a prefix": b"<a x:b='1' c='1' c='2'/>",
    "a quotation mark after the root": b'<a x:b="1"/>"',
    "an undeclared entity": b"<!DOCTYPE a><a>&b;</a>",
    "an undeclared entity in a complete document": b"<!DOCTYPE a [<!NOTATION n PUBLIC 'x'>]><a>&b;</a>",
    "an undeclared entity in a standalone document": b"<?xml version='1.0' standalone='yes'?><!DOCTYPE a SYSTEM 'x'><a>&b;</a>",
    "a reference without a name": b"<!DOCTYPE a SYSTEM 'x'><a>&1;</a>",
    "a reference with a line separator": b"<!DOCTYPE a SYSTEM 'x'><a>&b\xe2\x80\xa8c;</a>",
}


@pytest.mark.parametrize("data", AGREED.values(), ids=AGREED.keys())
def test_a_document_that_expat_refuses_is_an_error(data: bytes) -> None:
    assert expat_verdict(data) and verdict(data)


HARMLESS = {
    "an instruction that begins like a declaration": b"<?xmlversion encoding='latin-1' standalone='yes'?><a b='\xc3\xa9'/>",
    "UTF-16 that begins with a space": " <a>é</a>".encode("utf-16-le"),
    "UTF-16 that begins with a line break": "\n<a>é</a>".encode("utf-16-be"),
    "an undeclared prefix": b"<a><x:b x:c='1'/></a>\n<!-- c --><?p i?>\n",
    "two colons": b"<x:y:z/>",
    "an element that is declared twice": b"<!DOCTYPE a [<!ELEMENT a ANY><!ELEMENT a ANY>]><a/>",
    "a prefix beside a parameter entity": b"<!DOCTYPE a [%p;]><a x:b='1'>&c;</a>",
    "an entity that another file may declare": b"<!DOCTYPE a SYSTEM 'x'><a>&b; &\xc3\xa9;</a>",
}


@pytest.mark.parametrize("data", HARMLESS.values(), ids=HARMLESS.keys())
def test_a_document_that_expat_accepts_is_well_formed(data: bytes) -> None:
    assert (expat_verdict(data), verdict(data)) == ("", "")


EXCEPTIONS = {
    "a name of the fifth edition": ("<a‿/>".encode(), True),
    "a name of the fifth edition beside a prefix": ("<a><x:€/></a>".encode(), True),
    "content after a name of the fifth edition": ("<a><x:€/></a>b".encode(), False),
    "different names of the fifth edition": ("<a x:€='1' x:₤='2'/>".encode(), True),
    "UTF-16 declared as UTF-8": ("<?xml version='1.0' encoding='utf-8'?><a/>".encode("utf-16"), True),
    "UTF-8 with a mark, declared as Latin-1": (
        "<?xml version='1.0' encoding='iso-8859-1'?><a>é</a>".encode("utf-8-sig"),
        True,
    ),
    "a parameter entity in a standalone document": (
        b"<?xml version='1.0' standalone='yes'?><!DOCTYPE a [%p;]><a/>",
        False,
    ),
    "a digit after a prefix": (b"<x:1></x:1>", True),
    "a line break after a prefix": (b"<x:\r\n></x:>", False),
    "XML 1.1": (b"<?xml version='1.1'?><a/>", True),
    "XML 2.0": (b"<?xml version='2.0'?><a/>", False),
    "UTF-8 declared as UTF-16": (b"<?xml version='1.0' encoding='utf-16'?><a/>", True),
    "UTF-32": ("<a/>".encode("utf-32"), True),
    "half of a character in UTF-16 after the root": (" <a/>\r\n".encode("utf-16-le")[:-1], False),
    "an encoding with several bytes per character": (
        "<?xml version='1.0' encoding='shift_jis'?><a>表</a>".encode("shift_jis"),
        True,
    ),
    "an unknown encoding": (b"<?xml version='1.0' encoding='nonsense'?><a/>", False),
    "a declared entity": (b"<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", False),
    "a declared entity beside a prefix": (b"<!DOCTYPE a [<!ENTITY b 'c'>]><x:a>&b;</x:a>", False),
}
"""Documents that expat cannot be asked about, and whether they are well-formed for us.  Readers refuse entities."""


@pytest.mark.parametrize(("data", "is_well_formed"), EXCEPTIONS.values(), ids=EXCEPTIONS.keys())
def test_expat_is_not_asked_about_a_few_kinds_of_documents(data: bytes, is_well_formed: bool) -> None:
    assert exception(data) or expat_verdict(data) == NEW_NAMES
    assert (not verdict(data)) is is_well_formed


DEEP = b"<a>" * 3000 + b"</a>" * 3000


def test_a_document_that_expat_accepts_may_exceed_a_limit() -> None:
    assert not expat_verdict(DEEP) and "nested deeper" in verdict(DEEP)
