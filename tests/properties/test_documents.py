"""Generated documents are valid, are saved unchanged, and can be formatted without changing their meaning."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from hypothesis import given
from lxml import etree

import exoskel
from exoskel.formats.save import saved_bytes
from exoskel.formats.skel.vocabulary import SKEL
from exoskel.formats.xode.vocabulary import XODE
from exoskel.source.canonical_layout import format_document
from exoskel.source.document import Document
from exoskel.source.schema import build_schema
from tests.properties.support import load, tried, unlike
from tests.support.generate import Generated, documents, xode_documents

VOCABULARIES = {"skel": SKEL, "xode": XODE}


@cache
def validator(format: str) -> etree.XMLSchema:
    return etree.XMLSchema(etree.fromstring(build_schema(VOCABULARIES[format])))


@tried
@given(documents() | xode_documents(worlds=2))
def test_generated_documents_load_without_errors(folder: Path, document: Generated) -> None:
    scene = load(document, folder)
    assert [str(d) for d in scene.diagnostics if d.severity == "error"] == []
    assert scene.worlds
    assert scene.source_info.format == document.format


@tried
@given(documents())
def test_the_schema_accepts_generated_documents(document: Generated) -> None:
    schema = validator(document.format)
    assert schema.validate(etree.fromstring(document.data)), schema.error_log


@tried
@given(documents() | xode_documents(worlds=2))
def test_unedited_documents_are_saved_unchanged(folder: Path, document: Generated) -> None:
    scene = load(document, folder)
    assert saved_bytes(scene) == document.data
    path = folder / f"scene.{document.format}"
    exoskel.save(scene, path)
    assert path.read_bytes() == document.data


@tried
@given(documents())
def test_formatted_documents_have_the_same_meaning(folder: Path, document: Generated) -> None:
    vocabulary = VOCABULARIES[document.format]
    for numbers in (False, True):
        laid_out = format_document(Document(document.data), vocabulary, numbers=numbers)
        again = document._replace(data=laid_out)
        assert unlike(load(document, folder), load(again, folder), 0.0) == []
        assert format_document(Document(laid_out), vocabulary, numbers=numbers) == laid_out, "laid out twice"
