"""All scene files, for tests that apply to every file."""

from __future__ import annotations

from pathlib import Path

from tests.support.places import (
    TESTS,
    corpus_files,
    example_files,
    pybrain_files,
    sample_files,
    xode_sample_files,
)


def own_files() -> list[Path]:
    """Samples, and the examples of both references."""
    return [
        *sample_files(),
        *xode_sample_files(),
        *example_files(),
        *sorted((TESTS / "xode" / "examples").glob("*.xode")),
    ]


def all_files() -> list[Path]:
    """Own files, and those of other projects if a copy is next to the project."""
    return [*own_files(), *corpus_files(), *pybrain_files()]


def name_of(file: Path) -> str:
    return f"{file.parent.name}/{file.name}"
