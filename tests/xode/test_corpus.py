"""Public XODE files by other people.  They are not part of the project; without them, these tests are skipped."""

from __future__ import annotations

from pathlib import Path

import pytest
from lxml import etree

import exoskel
from exoskel.formats.xode.vocabulary import XODE
from exoskel.source.schema import build_schema
from tests.oracles import pyode
from tests.support.places import pybrain_files

FILES = pybrain_files()

pytestmark = pytest.mark.skipif(not FILES, reason="no corpus beside the project")


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
@pytest.mark.parametrize("dialect", ["auto", "spec", "pyode"])
def test_corpus_files_load_without_errors(file: Path, dialect: str) -> None:
    loaded = exoskel.load(file, dialect=dialect)
    assert [str(d) for d in loaded.diagnostics if d.severity == "error"] == []
    assert loaded.world.models
    exoskel.summarize(loaded)


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
def test_pybrain_files_are_recognised(file: Path) -> None:
    assert exoskel.load(file).source_info.semantics == "pyode"


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
def test_the_schema_accepts_corpus_files(file: Path) -> None:
    validator = etree.XMLSchema(etree.fromstring(build_schema(XODE)))
    assert validator.validate(etree.parse(file)), validator.error_log


@pytest.mark.skipif(not pyode.python(), reason="no Python with PyODE")
@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
def test_corpus_files_agree_with_pyode(file: Path) -> None:
    (answer,) = pyode.ask([{"file": str(file)}])
    loaded = exoskel.load(file, dialect="pyode")
    if "failed" in answer:
        assert loaded.world.models, "what PyODE stops at loads here"
    else:
        # PyBrain's comment is no business of PyODE's reader; it only adds joints and changes ends.
        assert [d for d in pyode.differences(loaded, answer) if " ties " not in d] == []
