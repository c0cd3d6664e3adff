"""Every message has an example document, and snapshots record the full output."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from exoskel.formats.skel.codes import CATALOGUE
from tests.skel.cases import CASES, RAISED_ELSEWHERE
from tests.support.checklist import item
from tests.support.messages import load_case, make_folder, shown


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_folder(tmp_path)


@item(104)
def test_every_message_has_a_case() -> None:
    assert CATALOGUE.messages.keys() == CASES.keys() | RAISED_ELSEWHERE.keys()


@item(96, 104)
@pytest.mark.parametrize("key", CASES)
def test_every_message_is_reported_as_recorded(key: str, folder: Path, snapshot: SnapshotAssertion) -> None:
    scene = load_case(CASES[key], folder, "doc.skel")
    assert key in [finding.key for finding in scene.diagnostics]
    assert shown(scene, CATALOGUE.original_reader) == snapshot


@item(96)
@pytest.mark.parametrize("key", [key for key in CASES if not key.startswith(("SK001", "SK002", "SK007", "SK008"))])
def test_messages_name_line_and_path(key: str, folder: Path) -> None:
    for finding in load_case(CASES[key], folder, "doc.skel").diagnostics:
        assert finding.line is not None and finding.column is not None
        assert finding.path


def test_templates_are_filled(folder: Path) -> None:
    for key, case in CASES.items():
        for finding in load_case(case, folder, "doc.skel").diagnostics:
            for text in (finding.message, finding.hint, finding.reader_note):
                assert "{" not in text, key
