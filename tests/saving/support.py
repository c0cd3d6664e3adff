"""Files to edit, and functions that compare a file before and after an edit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import exoskel
from exoskel.formats.save import rebase, saved_bytes
from exoskel.formats.saving.changes import changed_fields
from exoskel.formats.saving.patch import patch_document
from exoskel.formats.saving.verification import match
from exoskel.scene.fields import iter_items
from exoskel.scene.item import Item
from exoskel.scene.world import Scene
from exoskel.source.positions import Elements, Scan
from tests.support.places import TESTS, corpus_files, example_files, pybrain_files, sample_files, xode_sample_files

Edit = Callable[[Any], object]


def xode_example_files() -> list[Path]:
    return sorted((TESTS / "xode" / "examples").glob("*.xode"))


def own_files() -> list[Path]:
    """The files that come with the project."""
    return [*sample_files(), *example_files(), *xode_sample_files(), *xode_example_files()]


def other_files() -> list[Path]:
    """Files by other authors, if the corpus is available."""
    return [*corpus_files(), *pybrain_files()]


def name_of(path: Path) -> str:
    return path.name


def edited(data: bytes | str, edit: Edit, **options: Any) -> bytes:
    """Edit the world of a document and save it; the result is verified."""
    scene = exoskel.load(data, **options)
    edit(scene.world)
    return save_and_verify(scene)


def save_and_verify(scene: Scene) -> bytes:
    """Save a scene, verify that reading the bytes gives the same scene, and rebase the scene on them."""
    done = patch_document(scene)
    rebase(scene, done)
    again = match(scene, reread(scene, done.data))
    assert not again.problem, again.problem
    assert not [pair for pair in again.unequal if changed_fields(*pair)], (
        "a saved scene equals its file to the last bit"
    )
    assert saved_bytes(scene) == done.data, "saving twice gives the same bytes"
    return done.data


def reread(scene: Scene, data: bytes) -> Scene:
    """Read saved bytes with the options of the scene."""
    document: Any = scene.documents[0]
    options: Any = scene.options
    names = ("semantics", "dialect", "inertia_rule", "free_velocity_axes", "index_base")
    return exoskel.load(data, base=document.location.path or None, **{n: getattr(options, n) for n in names})


def differing_bytes(before: bytes, after: bytes) -> tuple[int, bytes, bytes]:
    """Where two texts differ: the offset, and the differing bytes of each text."""
    shorter = min(len(before), len(after))
    start = next((i for i in range(shorter) if before[i] != after[i]), shorter)
    end = next((i for i in range(shorter - start) if before[-1 - i] != after[-1 - i]), shorter - start)
    return start, before[start : len(before) - end], after[start : len(after) - end]


def changed_lines(before: bytes | str, after: bytes | str) -> tuple[list[str], list[str]]:
    """The removed and the new lines of a diff."""
    import difflib

    sides = [text.encode() if isinstance(text, str) else text for text in (before, after)]
    found = list(difflib.ndiff(*(side.decode("utf-8").splitlines() for side in sides)))
    removed, new = ([line[2:] for line in found if line.startswith(mark)] for mark in ("- ", "+ "))
    return removed, new


def changed_lines_stripped(before: bytes | str, after: bytes | str) -> tuple[list[str], list[str]]:
    removed, new = changed_lines(before, after)
    return [line.strip() for line in removed], [line.strip() for line in new]


def items(scene: Scene, kind: type[Item]) -> Iterator[Item]:
    return (item for item, _, _ in iter_items(scene) if type(item) is kind)


def elements(data: bytes) -> Elements:
    return Elements(Scan(data))


LOADED: dict[Path, bytes] = {}


def content(path: Path) -> bytes:
    if path not in LOADED:
        LOADED[path] = path.read_bytes()
    return LOADED[path]
