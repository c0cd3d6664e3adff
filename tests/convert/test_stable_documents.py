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


def test_embedded_shapes_and_markers_are_written_once(monkeypatch: pytest.MonkeyPatch) -> None:
    world = exoskel.World(name="w")
    for number in range(3):
        box = exoskel.Shape(exoskel.Box((0.1, 0.2, 0.3)), color=(0.2, 0.4, 1 / 3, 1.0))
        body = world.add_model(f"m{number}").add_body("b", shapes=[exoskel.Sphere(0.1)])
        body.visuals[:] = [box]
        body.markers.append(exoskel.Marker("tip", offset=(0.0, number / 7, 0.0)))
    count: list[object] = []
    write_once = writing._write_once
    monkeypatch.setattr(writing, "_write_once", lambda *given: count.append(given) or write_once(*given))
    written = writing.write(exoskel.Scene(worlds=[world]), "xode")
    assert written.data.count(b"<add to=") == 6
    assert len(count) == 1
    monkeypatch.setattr(writing, "_is_surely_stable", lambda *_: False)
    assert writing.write(exoskel.Scene(worlds=[world]), "xode").data == written.data
