"""The bundled sample scenes."""

from __future__ import annotations

import re
from pathlib import Path

from msgspec import Struct

_ROOT = Path(__file__).parent
_COMMENT = re.compile(r"<!--\s*(.*?)\s*-->", re.DOTALL)
_FOLDERS = ("skel", "xode")


class Sample(Struct, frozen=True):
    """One sample.  `title` is the first line of the first comment in its file."""

    name: str
    uri: str
    title: str
    path: Path
    root: Path = _ROOT

    def files(self) -> list[Path]:
        """The scene file and all mesh files of the samples."""
        return [self.path, *sorted((self.root / "obj").glob("*"))]


def samples() -> list[Sample]:
    """All samples, sorted by folder and name."""
    return [_sample(path) for folder in _FOLDERS for path in sorted((_ROOT / folder).glob(f"*.{folder}"))]


def _sample(path: Path) -> Sample:
    comment = _COMMENT.search(path.read_text(encoding="utf-8"))
    title = comment[1].split("\n")[0].strip() if comment else ""
    folder = path.parent.name
    return Sample(path.stem, f"dart://sample/{folder}/{path.name}", title, path)
