"""Every message has a document that shows it, and every document's output is kept word for word."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

import exoskel
from exoskel.cli.output import render
from exoskel.diagnostics import in_file_order
from exoskel.formats.skel.codes import CATALOGUE
from tests.skel.cases import CASES, RAISED_ELSEWHERE
from tests.support.checklist import item


def load_case(key: str, folder: Path) -> exoskel.Scene:
    document, options = CASES[key]
    options = dict(options)
    if "limits_depth" in options:
        options["limits"] = exoskel.Limits(depth=options.pop("limits_depth"))
    if "base" in options:
        options["base"] = options["base"].format(folder=folder)
    data = document.encode() if isinstance(document, str) else document
    return exoskel.load(data, name="doc.skel", **options)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tetra = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    (tmp_path / "in").mkdir()
    for name in ("a b.obj", "a#b.obj", "c.obj"):
        (tmp_path / name).write_text(tetra)
    return tmp_path


@item(104)
def test_every_message_has_a_case() -> None:
    assert CATALOGUE.messages.keys() == CASES.keys() | RAISED_ELSEWHERE.keys()


@item(96, 104)
@pytest.mark.parametrize("key", CASES)
def test_messages_word_for_word(key: str, folder: Path, snapshot: SnapshotAssertion) -> None:
    findings = in_file_order(load_case(key, folder).diagnostics)
    assert key in [finding.key for finding in findings]
    screen = io.StringIO()
    console = Console(file=screen, width=200, highlight=False, soft_wrap=True, no_color=True)
    for finding in findings:
        console.print(render(finding, CATALOGUE.engine), end="")
    assert screen.getvalue() == snapshot


@item(96)
@pytest.mark.parametrize("key", [key for key in CASES if not key.startswith(("SK001", "SK002", "SK007", "SK008"))])
def test_messages_name_line_and_path(key: str, folder: Path) -> None:
    for finding in load_case(key, folder).diagnostics:
        assert finding.line is not None and finding.column is not None
        assert finding.path


def test_templates_are_filled(folder: Path) -> None:
    for key in CASES:
        for finding in load_case(key, folder).diagnostics:
            for text in (finding.message, finding.hint, finding.engine):
                assert "{" not in text
