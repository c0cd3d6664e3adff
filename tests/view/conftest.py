"""Fixtures: a browser, and viewers that are closed after the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.view.browser import CHROMIUM, DRIVER, MISSING, Browser

Show = Callable[..., Any]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if not (CHROMIUM and DRIVER):
        pytest.skip(MISSING)
    one = Browser()
    yield one
    one.close()


@pytest.fixture
def show(tmp_path: Path) -> Iterator[Show]:
    """Show a document in its own viewer, from a file that the test can edit."""
    from exoskel.formats.load import load
    from exoskel.view.viewer import Viewer

    viewers: list[Viewer] = []

    def start(text: str, name: str = "scene.skel", **options: Any) -> tuple[Viewer, Path]:
        file = tmp_path / name
        file.write_text(text, encoding="utf-8")
        viewer = Viewer(lambda: load(file), port=0, **options)
        viewer.start()
        viewers.append(viewer)
        return viewer, file

    yield start
    for viewer in viewers:
        viewer.close()
