"""The XML Schema and the reader agree on the structure of documents."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lxml import etree

from exoskel.formats.skel.vocabulary import SKEL
from exoskel.source.schema import build_schema
from tests.skel.cases import CASES
from tests.support.findings import load_text
from tests.support.places import corpus_files, example_files, sample_files
from tests.support.xml import one_shape

STRUCTURAL = {
    "SK003", "SK004", "SK010", "SK011", "SK012", "SK014", "SK020", "SK021", "SK022", "SK023", "SK024", "SK025",
    "SK026", "SK060", "SK061", "SK067.count",
}  # fmt: skip
"""Codes of structural errors; all other codes concern values and meaning."""

STRUCTURAL_KEYS = {
    "SK005.world",
    "SK027",
    "SK027.number",
    "SK050.missing",
    "SK051.off_diagonal",
    "SK051.diagonal",
    "SK051.refused",
    "SK070.missing",
    "SK070.unknown",
    "SK075",
    "SK076.unknown",
    "SK078.unknown",
    "SK079.unknown",
    "SK028.case",
    "SK069",
}
NOT_FOR_A_SCHEMA = {"SK014.split", "SK010.prefixed", "SK011.prefixed", "SK026.overflow"}


@pytest.fixture(scope="module")
def validator() -> etree.XMLSchema:
    return etree.XMLSchema(etree.fromstring(build_schema(SKEL)))


def is_structural(key: str) -> bool:
    if key in NOT_FOR_A_SCHEMA:
        return False
    return key in STRUCTURAL_KEYS or key in STRUCTURAL or key.partition(".")[0] in STRUCTURAL - {"SK067.count"}


def readable(key: str) -> bool:
    return not key.startswith(("SK001", "SK002", "SK007"))


@pytest.mark.parametrize("key", [key for key in CASES if readable(key)])
def test_schema_and_reader_agree_on_every_case(validator: etree.XMLSchema, key: str) -> None:
    document = CASES[key].document
    data = document.encode() if isinstance(document, str) else document
    keys = {d.key for d in load_text(data, format="skel").diagnostics}
    expected = not any(map(is_structural, keys))
    accepted = validator.validate(etree.fromstring(data))
    assert accepted is expected, (keys, validator.error_log)


@pytest.mark.parametrize("file", example_files() + sample_files() + corpus_files(), ids=lambda path: path.name)
def test_schema_accepts_real_documents(validator: etree.XMLSchema, file: Path) -> None:
    keys = {d.key for d in load_text(file.read_bytes(), base=file.parent).diagnostics}
    expected = not any(map(is_structural, keys))
    accepted = validator.validate(etree.parse(file))
    assert accepted is expected, validator.error_log
    if "corpus" in file.parts or "samples" in file.parts:
        assert accepted


@pytest.mark.parametrize("name", ["parent", "child", "file_name"])
@pytest.mark.parametrize("text", ["", " \n "])
def test_the_schema_rejects_empty_required_names(validator: etree.XMLSchema, name: str, text: str) -> None:
    mesh = "<mesh><file_name>a b\n</file_name><scale>1 1 1</scale></mesh>"
    document = one_shape(mesh, "visualization_shape")
    assert validator.validate(etree.fromstring(document)), validator.error_log
    blank = re.sub(rf"<{name}>[^<]*<", f"<{name}>{text}<", document)
    assert not validator.validate(etree.fromstring(blank))


STRANGER = "<q:note xmlns:q='urn:q'>x</q:note>"


@pytest.mark.parametrize("holder", ["physics", "inertia", "visualization_shape", "sphere", "marker", "axis", "limit"])
def test_the_schema_allows_unknown_elements_everywhere(validator: etree.XMLSchema, holder: str) -> None:
    """A regression: found by validating generated documents against the schema."""
    document = """<skel version="1.0"><world><physics><gravity>0 0 1</gravity></physics><skeleton name="s"><body name="b">
        <inertia><mass>1</mass></inertia>
        <visualization_shape><geometry><sphere><radius>1</radius></sphere></geometry></visualization_shape>
        <marker name="m"><offset>0 0 0</offset></marker></body>
        <joint type="revolute" name="j"><parent>world</parent><child>b</child>
        <axis><xyz>0 0 1</xyz><limit><lower>0</lower></limit></axis></joint></skeleton></world></skel>"""
    opened = re.sub(rf"<{holder}( [^>]*)?>", lambda match: match[0] + STRANGER, document)
    closed = document.replace(f"</{holder}>", STRANGER + f"</{holder}>")
    for changed in (opened, closed):
        assert changed.count(STRANGER) == 1
        assert validator.validate(etree.fromstring(changed)), validator.error_log
    doubled = re.sub(r"(<radius>1</radius>|<mass>1</mass>|<lower>0</lower>)", r"\1\1", document)
    assert not validator.validate(etree.fromstring(doubled))


def test_every_element_is_declared(validator: etree.XMLSchema) -> None:
    declared = set(etree.fromstring(build_schema(SKEL)).xpath("//@name"))
    assert {element.name for _, element in SKEL.rows()} <= declared


def test_the_schema_is_the_same_every_time() -> None:
    assert build_schema(SKEL) == build_schema(SKEL)
