"""Locations of test files."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
PROJECT = TESTS.parent
EXAMPLES = TESTS / "skel" / "examples"
GOLDEN = TESTS / "golden"
SAMPLES = PROJECT / "src" / "exoskel" / "samples"
SHARED = PROJECT.parent / "shared"
DART_CORPUS = SHARED / "corpus" / "dart"


def corpus_files() -> list[Path]:
    """Real SKEL files of other projects, if a copy is next to the project."""
    return sorted(DART_CORPUS.rglob("*.skel"))


def example_files() -> list[Path]:
    return sorted(EXAMPLES.glob("*.skel"))


def sample_files() -> list[Path]:
    return sorted((SAMPLES / "skel").glob("*.skel"))


def xode_sample_files() -> list[Path]:
    return sorted((SAMPLES / "xode").glob("*.xode"))


def pybrain_files() -> list[Path]:
    """Real XODE files of other projects, if a copy is next to the project."""
    return sorted((SHARED / "corpus" / "pybrain").rglob("*.xode"))
