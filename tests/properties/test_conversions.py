"""A conversion of any valid document is certified, and accounts for every node."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from lxml import etree

import exoskel
from exoskel.fates import Fate
from exoskel.source.document import Document
from tests.properties.support import load, tried
from tests.support.generate import Generated, documents, skel_documents


def comments(data: bytes) -> list[str]:
    root = etree.fromstring(data)
    outside = [*root.itersiblings(preceding=True), *root.itersiblings()]
    return [comment.text for comment in (*outside, *root.iter(etree.Comment))]


@pytest.mark.parametrize("format", ["skel", "xode"])
@tried
@given(document=documents())
def test_conversions_are_certified(folder: Path, format: str, document: Generated) -> None:
    report = exoskel.convert(load(document, folder), folder / f"converted.{format}", to=format)
    assert [check for check in report.certificate.checks if not check.passed] == []
    assert report.certificate.passed
    assert report.saved


@tried
@given(document=skel_documents())
def test_conversions_with_lowering_are_certified(folder: Path, document: Generated) -> None:
    report = exoskel.convert(load(document, folder), folder / "lowered.xode", lower=True)
    assert [check for check in report.certificate.checks if not check.passed] == []
    assert report.saved


@pytest.mark.parametrize("format", ["skel", "xode"])
@tried
@given(document=documents())
def test_every_node_has_exactly_one_fate(folder: Path, format: str, document: Generated) -> None:
    report = exoskel.convert(load(document, folder), None, to=format)
    source = Document(document.data)
    wanted = {(node, "") for node in range(len(source.outline.tags))}
    wanted |= {(node, name) for node, _ in wanted for name in source.scan.attributes(node)}
    reported = [(item.node, item.attribute) for item in report.items if item.node >= 0]
    assert len(reported) == len(set(reported))
    assert set(reported) == wanted
    regions = [r for r in source.scan.regions if not source.text.startswith(b"<![CDATA[", r[0])]
    assert len([item for item in report.items if item.node < 0]) == len(regions)
    assert set(comments(document.data)) <= set(comments(report.data)), "a comment was lost"
    assert report.data.count(b"<q:note") == document.data.count(b"<q:note"), "data of others was lost"
    assert all(item.why for item in report.items if item.fate not in (Fate.EXACT, Fate.KEPT)), "no reason given"
    assert report.certificate.passed
