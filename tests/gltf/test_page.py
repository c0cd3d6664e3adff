"""The page about glTF says what the tables say."""

from __future__ import annotations

import re

import pytest

from exoskel.fates import Fate
from exoskel.formats.gltf import mapping
from exoskel.formats.gltf.codes import CATALOGUE, fate_of
from exoskel.scene.shape import Geometry
from tests.support.places import PROJECT

PAGE = (PROJECT / "docs" / "gltf.md").read_text(encoding="utf-8")
ROWS = [*mapping.SHAPES.values(), *(row for _, row in mapping.PARTS)]


def test_the_mapping_is_on_the_page() -> None:
    assert mapping.table() in PAGE


def test_all_codes_are_on_the_page_and_no_others() -> None:
    assert set(re.findall(r"GL\d{3}", PAGE)) == set(CATALOGUE.topics)


def test_all_geometries_have_a_row() -> None:
    assert set(mapping.SHAPES) == {kind.__struct_config__.tag for kind in Geometry.__args__}


@pytest.mark.parametrize("row", [row for row in ROWS if row.always], ids=lambda row: row.why)
def test_what_is_told_of_every_part_has_the_fate_of_its_row(row: mapping.Row) -> None:
    assert fate_of(row.always) == row.fate
    assert row.fate == Fate.APPROXIMATED
