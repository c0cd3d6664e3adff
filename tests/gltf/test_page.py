"""The docs page about glTF contains the mapping tables."""

from __future__ import annotations

import re

import pytest

from exoskel.fates import Fate
from exoskel.formats.gltf import write
from exoskel.formats.gltf.codes import CATALOGUE, fate_of
from exoskel.scene.shape import Geometry
from tests.support.places import PROJECT
from tools import make_docs

PAGE = (PROJECT / "docs" / "gltf.md").read_text(encoding="utf-8")
ROWS = [*write.SHAPES.values(), *(row for _, row in make_docs.GLTF_PARTS)]


def test_the_docs_contain_the_mapping() -> None:
    assert make_docs.gltf_table() in PAGE


def test_the_docs_contain_exactly_the_codes() -> None:
    assert set(re.findall(r"GL\d{3}", PAGE)) == set(CATALOGUE.topics)


def test_every_geometry_has_a_mapping_row() -> None:
    assert set(write.SHAPES) == {kind.__struct_config__.tag for kind in Geometry.__args__}


@pytest.mark.parametrize("row", [row for row in ROWS if row.always], ids=lambda row: row.why)
def test_diagnostics_of_every_part_have_the_fate_of_the_row(row: write.GltfMapping) -> None:
    assert fate_of(row.always) == row.fate
    assert row.fate == Fate.APPROXIMATED
