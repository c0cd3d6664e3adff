"""A written scene reads back as the same scene: in its format, in another one, and converted back."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given

from exoskel.formats.write import reread, write
from tests.properties.support import load, tried, unlike
from tests.support.generate import Generated, documents, xode_documents

FORMATS = ("skel", "xode")


@pytest.mark.parametrize("format", FORMATS)
@tried
@given(document=documents())
def test_a_written_scene_reads_back_as_the_same(folder: Path, format: str, document: Generated) -> None:
    scene = load(document, folder)
    done = write(scene, format, folder=folder)
    again = reread(done.data, format, folder)
    assert unlike(scene, again) == []
    assert [str(d) for d in again.diagnostics if d.code in ("SK098", "X910")] == []
    assert write(again, format, folder=folder).data == done.data, "writing again gives other bytes"


@tried
@given(document=xode_documents(worlds=2))
def test_several_worlds_read_back_as_the_same(folder: Path, document: Generated) -> None:
    scene = load(document, folder)
    done = write(scene, "xode", folder=folder)
    again = reread(done.data, "xode", folder)
    assert unlike(scene, again) == []
    assert write(again, "xode", folder=folder).data == done.data, "writing again gives other bytes"


@tried
@given(document=documents())
def test_converting_there_and_back_preserves_the_scene(folder: Path, document: Generated) -> None:
    scene = load(document, folder)
    home = document.format
    away = "xode" if home == "skel" else "skel"
    abroad = reread(write(scene, away, folder=folder).data, away, folder)
    back = reread(write(abroad, home, folder=folder).data, home, folder)
    assert unlike(scene, back) == []
