"""What the tests of saving share: files to edit, and how an edited file is held against the one before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import exoskel
from exoskel.formats.save import saved_bytes
from exoskel.formats.saving.bulk_compare import changed_fields
from exoskel.formats.saving.patch import patch_document
from exoskel.formats.saving.rebase import rebase
from exoskel.formats.saving.verification import match
from exoskel.scene.fields import iter_items
from exoskel.scene.item import Item
from exoskel.scene.world import Scene
from exoskel.source.element_context import Elements
from exoskel.source.positions import Scan
from tests.support.places import TESTS, corpus_files, example_files, pybrain_files, sample_files, xode_sample_files

Edit = Callable[[Any], object]


def xode_example_files() -> list[Path]:
    return sorted((TESTS / "xode" / "examples").glob("*.xode"))


def own_files() -> list[Path]:
    """The files that come with the project."""
    return [*sample_files(), *example_files(), *xode_sample_files(), *xode_example_files()]


def other_files() -> list[Path]:
    """Files by other people, where a copy lies beside the project."""
    return [*corpus_files(), *pybrain_files()]


def name_of(path: Path) -> str:
    return path.name


def edited(data: bytes | str, edit: Edit, **options: Any) -> bytes:
    """A document after an edit of its world, proved to read as the edited scene."""
    scene = exoskel.load(data, **options)
    edit(scene.world)
    return proved(scene)


def proved(scene: Scene) -> bytes:
    """What a scene is saved as, read again and found to be the scene, which goes on living."""
    done = patch_document(scene)
    rebase(scene, done)
    again = match(scene, reread(scene, done.data))
    assert not again.problem, again.problem
    assert not [pair for pair in again.unequal if changed_fields(*pair)], (
        "after saving, a scene is what its file says to the last bit"
    )
    assert saved_bytes(scene) == done.data, "saving twice gives the same bytes"
    return done.data


def reread(scene: Scene, data: bytes) -> Scene:
    """Saved bytes, read as the scene was."""
    document: Any = scene.documents[0]
    options: Any = scene.options
    names = ("semantics", "dialect", "inertia_rule", "free_velocity_axes", "index_base")
    return exoskel.load(data, base=document.location.path or None, **{n: getattr(options, n) for n in names})


def stretch(before: bytes, after: bytes) -> tuple[int, bytes, bytes]:
    """Where two texts differ: the place, and what stands there in one and the other."""
    shorter = min(len(before), len(after))
    start = next((i for i in range(shorter) if before[i] != after[i]), shorter)
    end = next((i for i in range(shorter - start) if before[-1 - i] != after[-1 - i]), shorter - start)
    return start, before[start : len(before) - end], after[start : len(after) - end]


def lines(before: bytes | str, after: bytes | str) -> tuple[list[str], list[str]]:
    """The lines that are gone and those that are new, as a diff has them."""
    import difflib

    sides = [text.encode() if isinstance(text, str) else text for text in (before, after)]
    found = list(difflib.ndiff(*(side.decode("utf-8").splitlines() for side in sides)))
    gone, new = ([line[2:] for line in found if line.startswith(mark)] for mark in ("- ", "+ "))
    return gone, new


def stripped(before: bytes | str, after: bytes | str) -> tuple[list[str], list[str]]:
    gone, new = lines(before, after)
    return [line.strip() for line in gone], [line.strip() for line in new]


def items(scene: Scene, kind: type[Item]) -> Iterator[Item]:
    return (item for item, _, _ in iter_items(scene) if type(item) is kind)


def elements(data: bytes) -> Elements:
    return Elements(Scan(data))


LOADED: dict[Path, bytes] = {}


def content(path: Path) -> bytes:
    if path not in LOADED:
        LOADED[path] = path.read_bytes()
    return LOADED[path]
