"""Written documents are stable: reading one and writing it again gives the same bytes."""

from __future__ import annotations

import pytest

import exoskel
from exoskel.formats import write as writing
from tests.support.places import SAMPLES

NAMES = sorted(path.name for path in SAMPLES.rglob("*.skel"))[::4]


@pytest.mark.parametrize("name", NAMES)
def test_the_short_proof_agrees_with_writing_again(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = exoskel.load(next(SAMPLES.rglob(name)))
    short = writing.write(scene, "xode").data
    monkeypatch.setattr(writing, "_is_surely_stable", lambda *_: False)
    assert writing.write(scene, "xode").data == short


def test_a_document_without_comments_is_written_once(monkeypatch: pytest.MonkeyPatch) -> None:
    world = exoskel.World(name="w")
    for number in range(3):
        world.add_model(f"m{number}").add_body("b")
    count: list[object] = []
    write_once = writing._write_once
    monkeypatch.setattr(writing, "_write_once", lambda *given: count.append(given) or write_once(*given))
    written = writing.write(exoskel.Scene(worlds=[world]), "xode")
    assert len(count) == 1
    assert b'<carry field="name"' in written.data  # bodies of the same name have other names in XODE
