"""Documents that cause a message, and what a user sees."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import exoskel
from exoskel.cli.terminal import format_diagnostic
from exoskel.diagnostics import sort_by_position
from tests.support.geometry import TETRA


class Case(NamedTuple):
    """A document, and the options to load it with.  `{folder}` in `base` is a folder with meshes in it."""

    document: str | bytes
    options: dict[str, Any] = {}


def make_folder(folder: Path) -> Path:
    (folder / "in").mkdir()
    for name in ("a b.obj", "a#b.obj", "c.obj"):
        (folder / name).write_text(TETRA)
    return folder


def load_case(case: Case, folder: Path, name: str) -> exoskel.Scene:
    document, options = case
    options = dict(options)
    if "limits_depth" in options:
        options["limits"] = exoskel.Limits(depth=options.pop("limits_depth"))
    if "base" in options:
        options["base"] = options["base"].format(folder=folder)
    data = document.encode() if isinstance(document, str) else document
    try:
        return exoskel.load(data, name=name, **options)
    except exoskel.LoadError as refused:  # strict reading returns no scene
        return exoskel.Scene(diagnostics=refused.diagnostics)


def shown(scene: exoskel.Scene, original_reader: str) -> str:
    """All diagnostics as they stand on a plain terminal."""
    return "".join(format_diagnostic(one, original_reader).plain for one in sort_by_position(scene.diagnostics))
