"""Documentation is true: generated pages are up to date, links lead somewhere, commands exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from exoskel.cli.commands import COMMANDS
from exoskel.formats import registry
from tests.support.pages import Session, blocks, examples, matches
from tests.support.places import PROJECT
from tools import make_docs

NEW_IN_THE_GUIDE = {"SK056"}
"""The code that CONTRIBUTING.md adds as an example."""
RUN = [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md"))]
PAGES = [*sorted(PROJECT.glob("*.md")), *sorted((PROJECT / "docs").rglob("*.md"))]


PAGES_NOW = make_docs.pages()


@pytest.mark.parametrize("name", PAGES_NOW)
def test_generated_pages_are_up_to_date(name: str) -> None:
    assert (PROJECT / "docs" / "reference" / name).read_text(encoding="utf-8") == PAGES_NOW[name], "run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if not target.startswith(("http://", "https://")):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_commands_and_codes_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for command in re.findall(r"^\$? ?exoskel ([a-z]+)", text, re.MULTILINE):
        assert command in COMMANDS, command
    codes = {code for catalogue in registry.catalogues() for code in catalogue.topics}
    assert set(re.findall(r"\bSK\d{3}\b", text)) - NEW_IN_THE_GUIDE <= codes


@pytest.mark.parametrize("page", RUN, ids=lambda path: path.name)
def test_code_on_the_page_runs_as_it_stands(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    session = Session(tmp_path)
    for block in blocks(page.read_text(encoding="utf-8")):
        session.run(block)


def test_output_on_a_page_is_compared_line_by_line() -> None:
    assert matches("one\ntwo 2.5 s\nthree\n", "one\ntwo … s\nthree")
    assert matches("one\ntwo\nthree\n", "one\n…")
    assert not matches("one\ntwo\n", "one")
    assert examples("$ a b\nx\n$ c\n") == [("a b", "x\n"), ("c", "")]


def test_the_changelog_names_the_version() -> None:
    text = (PROJECT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "## [Unreleased]" in text
