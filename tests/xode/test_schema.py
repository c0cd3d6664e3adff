"""The XML Schema that the specification left to do says the same about structure as a strict reading."""

from __future__ import annotations

from pathlib import Path

import pytest
from lxml import etree

import exoskel
from exoskel.formats.xode.vocabulary import XODE
from exoskel.source.schema import schema
from tests.support.messages import load_case
from tests.support.places import TESTS, xode_sample_files
from tests.xode.cases import CASES

EXAMPLES = sorted((TESTS / "xode" / "examples").glob("*.xode"))

STRUCTURAL = {
    "X102", "X103", "X106", "X201", "X202", "X203", "X204", "X205", "X206", "X207", "X209", "X210", "X301", "X302",
    "X303", "X304", "X305", "X306", "X307", "X501", "X505", "X506", "X509.element", "X510", "X511", "X513", "X601", "X609",
    "X709", "X801", "X803", "X807", "X903",
}  # fmt: skip
NOT_FOR_A_SCHEMA = {"X203.few", "X202.prefixed", "X303.overflow", "X903.conflict"}


@pytest.fixture(scope="module")
def validator() -> etree.XMLSchema:
    return etree.XMLSchema(etree.fromstring(schema(XODE)))


def is_structural(key: str) -> bool:
    return key not in NOT_FOR_A_SCHEMA and (key in STRUCTURAL or key.partition(".")[0] in STRUCTURAL)


@pytest.mark.parametrize("key", [key for key in CASES if not key.startswith(("X101", "X105"))])
def test_schema_and_reader_agree_on_every_case(validator: etree.XMLSchema, key: str, tmp_path: Path) -> None:
    case = CASES[key]
    keys = {d.key for d in load_case(case, tmp_path, "doc.xode").diagnostics}
    data = case.document.encode() if isinstance(case.document, str) else case.document
    expected = not any(map(is_structural, keys))
    accepted = validator.validate(etree.fromstring(data))
    assert accepted is expected, (keys, validator.error_log)


@pytest.mark.parametrize("file", EXAMPLES + xode_sample_files(), ids=lambda path: path.name)
def test_schema_accepts_examples_and_samples(validator: etree.XMLSchema, file: Path) -> None:
    keys = {d.key for d in exoskel.load(file).diagnostics}
    assert validator.validate(etree.parse(file)) is not any(map(is_structural, keys)), validator.error_log
    assert any(map(is_structural, keys)) == (file.stem == "9_dialect"), "only the last one lacks a version"


def test_every_element_is_declared() -> None:
    declared = set(etree.fromstring(schema(XODE)).xpath("//@name"))
    tolerated = {"matrix", "scale", "capsule", "indices"}
    assert {element.name for _, element in XODE.rows()} - tolerated <= declared
