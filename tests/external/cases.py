"""The scenes to compare: all scenes of the project, and those of the corpus if it is available."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from functools import partial
from math import copysign
from pathlib import Path

from msgspec import Struct

import exoskel
from exoskel import Scene
from exoskel.source.output_context import Target
from exoskel.version import __version__
from tests.external import documents, target_files
from tests.external.documents import FORMATS, WrittenDocument
from tests.external.target_files import TargetDocument
from tests.sdf.documents import CHILD, DOCUMENTS
from tests.support.places import SAMPLES, SHARED, TESTS
from tests.support.scenes import all_files
from tests.urdf.test_round_trip import JOINTS, rig

CORPUS = "corpus"
ROOTS = {"samples": SAMPLES, "tests": TESTS, CORPUS: SHARED / "corpus"}
"""Folders with scenes and their meshes, by their name in the record."""
_MESHES = {".obj", ".stl", ".dae", ".ply", ".mtl"}


class Case(Struct, frozen=True):
    """A scene, by its name in the record, and the documents it is written as in each format."""

    name: str
    write: Callable[[str], list[WrittenDocument]]
    formats: tuple[str, ...] = FORMATS
    readers: tuple[str, ...] = ()
    """The readers to run; if empty, all that support the format."""
    write_for: Callable[[str, Target], list[TargetDocument]] | None = None
    """Writes the documents for a certain program."""

    @property
    def is_ours(self) -> bool:
        """Whether it comes with the project."""
        return not self.name.startswith(f"{CORPUS}/")

    def digest(self, format: str) -> str:
        """The digest of the documents in a format."""
        return digest(self.write(format))


def digest(written: list[WrittenDocument]) -> str:
    """The SHA-256 of all documents with rounded numbers: it is the same on every processor.

    The version of exoskel and the comments of the scene are excluded, and so are the principal axes in USD: they are
    ambiguous if principal moments are equal, and the file also contains the full tensor.
    """
    found = hashlib.sha256()
    for one in written:
        text = _AXES.sub("", one.plain.replace(f"exoskel {__version__}", "exoskel"))
        found.update(f"{one.name}\n{NUMBER.sub(_rounded, text)}\n".encode())
    return found.hexdigest()


_AXES = re.compile(r"quatf physics:principalAxes = .*")
NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?:e[-+]?\d+)?")
_DECIMALS = 10
"""Differences of large numbers leave noise of about 1e-16, so that further decimals differ between processors."""
_OFF_TIE = (1 + 3e-11, 3.7e-11)
"""A factor and an offset that move short decimals off the boundary between two rounded values."""


def _rounded(number: re.Match[str]) -> str:
    """A number with nine digits, at most ten of them decimals."""
    value = float(number[0])
    factor, offset = _OFF_TIE
    return f"{round(value * factor + copysign(offset, value), _DECIMALS) or 0.0:.9g}"


def cases() -> Iterator[Case]:
    for file in all_files():
        label, root = next((label, root) for label, root in ROOTS.items() if file.is_relative_to(root))
        yield _case(f"{label}/{file.relative_to(root).as_posix()}", partial(exoskel.load, file), file.stem, file.parent)
    for kind in JOINTS:
        yield _case(f"rigs/{kind}", partial(rig, kind), kind, TESTS)
    for title, text in DOCUMENTS.items():
        stem = title.replace(" ", "_")
        yield Case(f"documents/{stem}", partial(_read, text, stem), ("sdf",), ("drake",))


def _case(name: str, load: Callable[[], Scene], stem: str, folder: Path) -> Case:
    return Case(name, partial(_written, load, stem, folder), write_for=partial(_written_for, load, stem, folder))


def _written_for(
    load: Callable[[], Scene], stem: str, folder: Path, format: str, target: Target
) -> list[TargetDocument]:
    return list(target_files.write(load(), format, target, stem, folder))


def _written(load: Callable[[], Scene], stem: str, folder: Path, format: str) -> list[WrittenDocument]:
    """The documents, written for the folder of the scene."""
    return list(documents.write(load(), format, stem, folder))


def _read(text: str, stem: str, format: str) -> list[WrittenDocument]:
    """A document by others and the scene we read from it; Drake cannot include files by relative paths."""
    return [documents.read(text, CHILD, f"{stem}.{format}", text.replace(*_INCLUDED))]


_INCLUDED = (">child.sdf<", ">package://beside/child.sdf<")


class Workspace(Struct, frozen=True):
    """A folder with links to all meshes, in which documents are written as if next to their scenes."""

    folder: Path

    def link_meshes(self) -> None:
        for label, root in ROOTS.items():
            for file in (f for f in root.rglob("*") if f.suffix.lower() in _MESHES):
                link = self.folder / label / file.relative_to(root)
                link.parent.mkdir(parents=True, exist_ok=True)
                os.symlink(file, link)
        (self.folder / "documents").mkdir()
        (self.folder / "documents" / "child.sdf").write_text(CHILD, encoding="utf-8")

    def write(self, case: Case, written: WrittenDocument, kind: str = "") -> Path:
        """Write a document; of a certain kind, in a folder of its own, which has copies of its meshes."""
        file = (self.folder / kind / case.name if kind else (self.folder / case.name).parent) / written.name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(written.text, encoding="utf-8")
        for name, data in written.companions.items():
            (file.parent / name).parent.mkdir(exist_ok=True)
            (file.parent / name).write_bytes(data)
        return file
