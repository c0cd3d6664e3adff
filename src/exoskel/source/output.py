"""Where a document is going to be, and the files that go with it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from exoskel.scene.item import Item
from exoskel.scene.shape import Mesh

Target = Literal["portable", "pyode"]
"""For any reader, with everything carried along; or for PyODE's, which refuses what it does not know."""


class Output:
    """The folder of a document to be written (None: nowhere yet), and for whom it is written.

    `inexact` gathers the parts of the scene that could only be written approximately, with the reason, and `refused`
    those that are written but that the reader in question cannot take.
    """

    def __init__(self, folder: Path | None = None, target: Target = "portable") -> None:
        self.folder = folder
        self.target = target
        self.inexact: list[tuple[Item, str]] = []
        self.refused: list[tuple[Item, str]] = []

    def reference(self, mesh: Mesh) -> str:
        """How the document refers to a mesh: as before where that leads to the same file, else anew."""
        if mesh.path is None or self.folder is None or _is_uri(mesh.uri):
            return mesh.uri
        target = Path(mesh.path)
        if (self.folder / mesh.uri.strip()).resolve() == target.resolve():
            return mesh.uri
        try:
            return Path(os.path.relpath(target.resolve(), self.folder.resolve())).as_posix()
        except ValueError:  # another drive
            return "file://" + quote(target.as_posix())


def _is_uri(reference: str) -> bool:
    return "://" in reference
