"""What is judged: all scenes that come with the project, and those of other people where they lie beside it."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from msgspec import Struct

import exoskel
from exoskel import Scene
from exoskel.version import __version__
from tests.foreign import writing
from tests.foreign.writing import FORMATS, Written
from tests.sdf.documents import CHILD, DOCUMENTS
from tests.support.places import SAMPLES, SHARED, TESTS
from tests.support.scenes import all_files
from tests.urdf.test_round_trip import JOINTS, rig

CORPUS = "corpus"
ROOTS = {"samples": SAMPLES, "tests": TESTS, CORPUS: SHARED / "corpus"}
"""Folders with scenes and their meshes, by what records call them."""
_MESHES = {".obj", ".stl", ".dae", ".ply", ".mtl"}


class Case(Struct, frozen=True):
    """A scene by the name that records have for it, and the documents it becomes in a format."""

    name: str
    write: Callable[[str], list[Written]]
    formats: tuple[str, ...] = FORMATS
    judges: tuple[str, ...] = ()
    """Who is asked; all who know the format if none are named."""

    @property
    def is_ours(self) -> bool:
        """Whether it comes with the project."""
        return not self.name.startswith(f"{CORPUS}/")

    def digest(self, format: str) -> str:
        """Of what is judged."""
        return digest(self.write(format))


def digest(written: list[Written]) -> str:
    """The SHA-256 of all documents, with settled numbers: it is the same on every processor.

    Left out are the version of exoskel and the principal axes of USD, which equal principal moments leave open (the
    tensor stands beside them).
    """
    found = hashlib.sha256()
    for one in written:
        text = _AXES.sub("", one.text.replace(f"exoskel {__version__}", "exoskel"))
        found.update(f"{one.name}\n{NUMBER.sub(_settled, text)}\n".encode())
    return found.hexdigest()


_AXES = re.compile(r"quatf physics:principalAxes = .*")
NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?:e[-+]?\d+)?")
_OFF_TIE = 1 + 3e-11
"""Moves short decimals that end in 5 off the boundary between two rounded values."""


def _settled(number: re.Match[str]) -> str:
    """A number to nine digits, at most twelve of them decimals: differences of large numbers leave noise of 1e-16."""
    return f"{round(float(number[0]) * _OFF_TIE, 12) or 0.0:.9g}"


def cases() -> Iterator[Case]:
    for file in all_files():
        called, root = next((called, root) for called, root in ROOTS.items() if file.is_relative_to(root))
        name = f"{called}/{file.relative_to(root).as_posix()}"
        yield Case(name, partial(_written, partial(exoskel.load, file), file.stem, file.parent))
    for kind in JOINTS:
        yield Case(f"rigs/{kind}", partial(_written, partial(rig, kind), kind, TESTS))
    for title, text in DOCUMENTS.items():
        stem = title.replace(" ", "_")
        yield Case(f"documents/{stem}", partial(_read, text, stem), ("sdf",), ("drake",))


def _written(load: Callable[[], Scene], stem: str, folder: Path, format: str) -> list[Written]:
    """The documents, as if they were to lie beside the scene."""
    return list(writing.write(load(), format, stem, folder))


def _read(text: str, stem: str, format: str) -> list[Written]:
    """Somebody else's document, and what we read in it; Drake includes nothing by a relative path."""
    return [writing.read(text, CHILD, f"{stem}.{format}", text.replace(*_INCLUDED))]


_INCLUDED = (">child.sdf<", ">package://beside/child.sdf<")


class Desk(Struct, frozen=True):
    """A folder with links to all meshes, where documents can lie as if beside their scenes."""

    folder: Path

    def lay(self) -> None:
        for called, root in ROOTS.items():
            for file in (f for f in root.rglob("*") if f.suffix.lower() in _MESHES):
                link = self.folder / called / file.relative_to(root)
                link.parent.mkdir(parents=True, exist_ok=True)
                os.symlink(file, link)
        (self.folder / "documents").mkdir()
        (self.folder / "documents" / "child.sdf").write_text(CHILD, encoding="utf-8")

    def put(self, case: Case, written: Written) -> Path:
        file = (self.folder / case.name).parent / written.name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(written.text, encoding="utf-8")
        return file
