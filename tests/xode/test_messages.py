"""Every message has an example document, and snapshots record the full output."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from exoskel.formats.xode.codes import CATALOGUE
from tests.support.messages import load_case, make_folder, shown
from tests.xode.cases import CASES, RAISED_ELSEWHERE


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_folder(tmp_path)


def test_every_message_has_a_case() -> None:
    assert CATALOGUE.messages.keys() == CASES.keys() | RAISED_ELSEWHERE.keys()


@pytest.mark.parametrize("key", CASES)
def test_every_message_is_reported_as_recorded(key: str, folder: Path, snapshot: SnapshotAssertion) -> None:
    scene = load_case(CASES[key], folder, "doc.xode")
    assert key in [finding.key for finding in scene.diagnostics]
    assert shown(scene, CATALOGUE.original_reader) == snapshot


@pytest.mark.parametrize("key", [key for key in CASES if not key.startswith(("X101", "X105", "X905"))])
def test_messages_name_line_and_path(key: str, folder: Path) -> None:
    for finding in load_case(CASES[key], folder, "doc.xode").diagnostics:
        assert finding.line is not None and finding.column is not None
        assert finding.path.startswith("/")


def test_templates_are_filled(folder: Path) -> None:
    for key, case in CASES.items():
        for finding in load_case(case, folder, "doc.xode").diagnostics:
            for text in (finding.message, finding.hint, finding.reader_note):
                assert "{" not in text, key


def test_every_message_has_its_strict_and_lenient_severity(folder: Path) -> None:
    """Both columns of section 14, for every message with an example document."""
    for key, case in CASES.items():
        message = CATALOGUE[key]
        for strict, wanted in ((False, message.severity), (True, message.strict)):
            options = {**case.options, "strict": strict}
            found = load_case(case._replace(options=options), folder, "doc.xode").diagnostics
            severities = {d.severity for d in found if d.key == key}
            assert severities == ({wanted} if wanted else set()), (key, strict)
