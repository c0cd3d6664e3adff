"""The XML Schema and a strict reading agree on the structure of documents."""

from __future__ import annotations

from pathlib import Path

import pytest
from lxml import etree

import exoskel
from exoskel.formats.xode.vocabulary import XODE
from exoskel.source.schema import build_schema, describe_element
from tests.support.messages import Case, load_case
from tests.support.places import TESTS, xode_sample_files
from tests.support.xode import body, geom, joint, mass, mass_shape, scene, transform, trimesh
from tests.xode.cases import CASES, struct

EXAMPLES = sorted((TESTS / "xode" / "examples").glob("*.xode"))

STRUCTURAL = {
    "X102", "X103", "X104", "X106", "X201", "X202", "X203", "X204", "X205", "X206", "X207", "X209", "X210", "X301", "X302",
    "X303", "X304", "X305", "X306", "X307", "X501", "X505", "X506", "X509.element", "X510", "X511", "X513", "X601", "X609", "X611",
    "X709", "X801", "X803", "X807", "X903",
}  # fmt: skip
NOT_FOR_A_SCHEMA = {"X303.overflow", "X903.conflict"}


@pytest.fixture(scope="module")
def validator() -> etree.XMLSchema:
    return etree.XMLSchema(etree.fromstring(build_schema(XODE)))


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
    declared = set(etree.fromstring(build_schema(XODE)).xpath("//@name"))
    tolerated = {"matrix", "scale", "capsule", "indices"}
    assert {element.name for _, element in XODE.rows()} - tolerated <= declared


EMPTY = "<fixed>\n  </fixed>"


@pytest.mark.parametrize(
    ("inner", "valid"),
    [
        (body(attributes=' enabled=" true "'), False),
        (body(attributes=' enabled="true"'), True),
        (body(transform('<rotation><euler x="0" y="0" z="0" aformat=" degrees "/></rotation>')), True),
        (body(mass(mass_shape() + '<transform scale="2"/>')), False),
        (body(mass(mass_shape() + '<transform absolute="true"/>')), False),
        (body(mass(mass_shape() + "<transform/>")), True),
        (body(mass(mass_shape() + '<adjust total="1" density="2"/>')), False),
        (body(mass(struct().replace("<mass_struct", '<mass_struct density="2"'))), False),
        (geom(trimesh(2, [(1, 2, 1)])), False),
        (geom(trimesh(3, [(1, 2, 3)])), True),
        (geom(trimesh(5, [(1, 2, 5)])), True),
        (body("<q:note/>"), False),
        (body("<transform><q:note/></transform>"), False),
        (body(transform('<position x="0" y="0" z="0"><q:note/></position>')), False),
        (body('<ext ename="a"><q:note/></ext>'), True),
        (body(attributes=' q:note="1"'), True),
        (body(joint(EMPTY, "j", "", "")), True),
    ],
)  # fmt: skip
def test_schema_and_strict_reading_agree(validator: etree.XMLSchema, inner: str, valid: bool, tmp_path: Path) -> None:
    document = scene(inner).replace("<xode", '<xode xmlns:q="urn:q"')
    found = load_case(Case(document, {"strict": True, "dialect": "spec"}), tmp_path, "doc.xode").diagnostics
    errors = [d for d in found if d.severity == "error"]
    assert (not errors) is valid, errors
    assert validator.validate(etree.fromstring(document)) is valid, validator.error_log


@pytest.mark.parametrize(
    ("version", "valid"), [("1.0r22", True), ("1.0", True), ("1", False), ("2.0", False), ("1.0r", False), ("", False)]
)
def test_schema_knows_versions(validator: etree.XMLSchema, version: str, valid: bool) -> None:
    document = f'<xode version="{version}"><world><space/></world></xode>'
    assert validator.validate(etree.fromstring(document)) is valid
    assert ("X104" not in {d.code for d in exoskel.load(document).diagnostics}) is valid


def test_the_reference_states_what_the_schema_requires() -> None:
    (_, root), *_ = XODE.find("xode")
    assert {a["name"]: a["required"] for a in describe_element("xode", root)["attributes"]} == {
        "version": True,
        "name": False,
    }
    ((path, vertices),) = XODE.find("vertices")
    assert [child["occurs"] for child in describe_element(path, vertices)["children"]] == ["at least 3"]
