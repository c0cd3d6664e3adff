"""Small documents with a valid structure are read in one pass, with the same result as step by step."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

import exoskel
from exoskel.formats.skel import read as skel_reader
from exoskel.formats.xode import read as xode_reader
from exoskel.source import structure
from exoskel.source.limits import Limits
from exoskel.source.valid_structure import ValidStructure, read_valid
from tests.source.test_pieces import FILES, contents

EDITS: tuple[Callable[[list[bytes], int], None], ...] = (
    lambda lines, at: lines.__delitem__(at),
    lambda lines, at: lines.insert(at, lines[at]),
    lambda lines, at: lines.insert(at, b"stray"),
    lambda lines, at: lines.insert(at, b"<stray a='1'/>"),
    lambda lines, at: lines.insert(at, b"<!-- comment -->"),
    lambda lines, at: lines.__setitem__(at, lines[at].replace(b">", b" stray='1'>", 1)),
    lambda lines, at: lines.__setitem__(at, lines[at].replace(b"</", b"x</", 1)),
    lambda lines, at: lines.__setitem__(at, lines[at].replace(b"</", b"<stray/></", 1)),
    lambda lines, at: lines.__setitem__(at, lines[at].replace(b"/>", b"> </stray>").replace(b"<", b"<stray ", 1)),
)


@pytest.fixture(autouse=True)
def only_with_a_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain documents are read in another way, which has its own tests."""
    for reader in (skel_reader, xode_reader):
        monkeypatch.setattr(reader, "read_plain", lambda *_: None)


def step_by_step(data: bytes, monkeypatch: pytest.MonkeyPatch, limits: Limits) -> object:
    with monkeypatch.context() as patch:
        patch.setattr(structure, "read_valid", lambda *_: None)
        return contents(data, limits)


def edited(data: bytes, seed: int) -> bytes:
    """A document with one edited line, which is not always well-formed."""
    choose, lines = random.Random(seed), data.split(b"\n")
    choose.choice(EDITS)(lines, choose.randrange(2, len(lines) - 2))
    return b"\n".join(lines)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_samples_with_and_without_problems_are_read_the_same(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = file.read_bytes()
    for changed in (data, *(edited(data, seed) for seed in range(3))):
        assert contents(changed) == step_by_step(changed, monkeypatch, Limits())
    for depth in (3, 6):
        limits = Limits(depth=depth)
        assert contents(data, limits) == step_by_step(data, monkeypatch, limits)


def test_most_samples_are_read_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    results: list[ValidStructure | None] = []

    def record(*arguments: object) -> ValidStructure | None:
        results.append(read_valid(*arguments))  # type: ignore[arg-type]
        return results[-1]

    monkeypatch.setattr(structure, "read_valid", record)
    for file in FILES[:12]:
        contents(file.read_bytes())
    assert len(results) >= 12
    assert results.count(None) <= 2


NAMESPACE = b'<xode version="1.0r23" %b><world><space><body name="a"><mass%b/></body></space></world></xode>'


@pytest.mark.parametrize(
    "document_type", [b"", b'<!DOCTYPE xode [<!ATTLIST xode xmlns:b CDATA #FIXED "b">]>'], ids=["plain", "declared"]
)
@pytest.mark.parametrize("declaration", [b"", b'xmlns:a="a" a:b="c"', b'xmlns="d" xmlns:a="a"'])
def test_unknown_attributes_are_found_beside_namespaces(declaration: bytes, document_type: bytes) -> None:
    without = exoskel.load(document_type + NAMESPACE % (declaration, b""))
    scene = exoskel.load(document_type + NAMESPACE % (declaration, b' stray="1"'))
    found = [one.code for one in scene.diagnostics]
    found.remove("X206")
    assert found == [one.code for one in without.diagnostics]
