"""Corrupted documents never raise: they are read as far as possible."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

import exoskel
from tests.sdf.documents import CHILD, DOCUMENTS
from tests.sdf.support import load_text, written
from tests.sdf.test_messages import CASES

_PIECES = re.compile(r"<[^>]*>|[^<]+")
_ODD = (
    "",
    "nan",
    "1e999",
    "world",
    "__model__",
    "a::",
    "::",
    "n::",
    "-1",
    "0 0 0",
    "a",
    "<link/>",
    "<joint/>",
    "<model/>",
)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_corrupted_documents_are_read_and_written(name: str, tmp_path: Path) -> None:
    (tmp_path / "child.sdf").write_text(CHILD)
    rng = random.Random(name)
    for _ in range(150):
        pieces = _PIECES.findall(DOCUMENTS[name])
        for _ in range(rng.randint(1, 4)):
            _spoil(pieces, rng)
        scene = load_text("".join(pieces), tmp_path)
        if scene.worlds:
            written(scene)
            assert all(d.line is None or d.line >= 1 for d in scene.diagnostics)


def _spoil(pieces: list[str], rng: random.Random) -> None:
    """Change one text, attribute or element, so that the document mostly stays XML."""
    at = rng.randrange(len(pieces))
    piece = pieces[at]
    if not piece.startswith("<"):
        pieces[at] = rng.choice(_ODD)
    elif '="' in piece:
        values = re.findall(r'"[^"]*"', piece)
        pieces[at] = piece.replace(rng.choice(values), f'"{rng.choice(_ODD[:11])}"', 1)
    elif rng.random() < 0.3 and piece.startswith("</"):
        pieces.insert(at, rng.choice(_ODD))
    elif rng.random() < 0.5:
        pieces[at] = re.sub(r"\w+", rng.choice(["link", "frame", "pose", "axis", "child", "x"]), piece, count=1)


@pytest.mark.parametrize("key", CASES)
def test_the_scene_of_an_invalid_document_can_be_written(key: str, tmp_path: Path) -> None:
    scene = load_text(CASES[key], tmp_path)
    if scene.worlds:
        text, _ = written(scene)
        assert [len(w.models) for w in load_text(text).worlds] == [len(w.models) for w in scene.worlds]


@pytest.mark.parametrize("base", ["/folder\0/scene.sdf", "/\ud800/scene.sdf"])
def test_an_impossible_path_is_handled(base: str) -> None:
    scene = exoskel.load(b'<sdf version="1.7"><model name="a"><link name="b"/></model></sdf>', base=base)
    assert [body.name for body in scene.world.bodies()] == ["b"]
