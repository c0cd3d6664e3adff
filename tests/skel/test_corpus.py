"""Public SKEL files by other people.  They are not part of the project; without them, these tests are skipped."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest

import exoskel
from exoskel.diagnostics import sort_by_position
from tests.oracles import dart
from tests.support.places import corpus_files

FILES = corpus_files()

pytestmark = pytest.mark.skipif(not FILES, reason="no corpus beside the project")


@functools.cache
def dart_says(file: Path) -> dict[str, Any]:
    return dart.ask(file)


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
@pytest.mark.parametrize("semantics", ["written", "dart"])
def test_corpus_files_load_without_errors(file: Path, semantics: str) -> None:
    scene = exoskel.load(file, semantics=semantics)
    assert [str(d) for d in scene.diagnostics if d.severity == "error"] == []
    assert scene.world.name
    exoskel.summarize(scene)


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
def test_every_diagnostic_has_a_position(file: Path) -> None:
    for finding in sort_by_position(exoskel.load(file).diagnostics):
        assert finding.line and finding.column and finding.path
        assert finding.excerpt.count("\n") == 1


@pytest.mark.skipif(not dart.available(), reason="dartpy is not installed")
@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
def test_corpus_files_agree_with_dart(file: Path) -> None:
    answer = dart_says(file)
    scene = exoskel.load(file, semantics="dart")
    if "failed" in answer:
        assert scene.world.models
        assert scene.diagnostics, "a file that DART cannot load is explained"
    else:
        assert dart.differences(scene, answer) == []
