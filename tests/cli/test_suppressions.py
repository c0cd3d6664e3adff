"""Comments that suppress diagnostics, in `check` and in the language server."""

from __future__ import annotations

from pathlib import Path

import pytest

import exoskel
from exoskel.formats.fixer import unsuppressed
from tests.cli.conftest import Command

SKEL = """<?xml version="1.0"?>
{top}
<skel version="1.0">
  <world name="w">
    <skeleton name="s">
      {before}
      <body name="one">
        <odd/>{after}
        <inertia><mass>x</mass></inertia>
      </body>
      <body name="two">
        <odd/>
        {last}
      </body>
    </skeleton>
  </world>
</skel>
"""
IGNORE = "<!-- exoskel: ignore {} -->"


def lines(code: str = "SK010", encoding: str = "utf-8", **comments: str) -> list[int | None]:
    """The lines of the diagnostics with a code that are left."""
    text = SKEL.format(**{"top": "", "before": "", "after": "", "last": "", **comments})
    found = unsuppressed(exoskel.load(text.encode(encoding)).diagnostics)
    return [one.line for one in found if one.code == code]


def test_a_comment_applies_to_the_element_that_follows() -> None:
    assert lines() == [8, 12]
    assert lines(before=IGNORE.format("SK010")) == [12]
    assert lines(last=IGNORE.format("SK010")) == [8, 12], "no element follows"
    assert lines("SK022", before=IGNORE.format("SK010")) == lines("SK022") != []


def test_a_comment_before_the_root_element_applies_to_the_file() -> None:
    assert lines(top=IGNORE.format("SK010")) == []
    assert lines("SK022", top=IGNORE.format("SK010")) == [9]


def test_a_comment_at_the_end_of_a_line_applies_to_the_line() -> None:
    assert lines(after=IGNORE.format("SK010")) == [12]


@pytest.mark.parametrize(
    "codes",
    [
        "SK010",
        "sk010",
        "SK01",
        "SK",
        "SK055, SK010",
        "SK055 SK010",
        ": SK010",
        "SK010 - an old name",
        "SK010: an old name",
    ],
)
def test_codes_are_separated_by_commas_or_spaces_and_may_be_beginnings(codes: str) -> None:
    assert lines(top=IGNORE.format(codes)) == []


@pytest.mark.parametrize("comment", ["", "SK011", "X", "QQ"])
def test_other_comments_suppress_nothing(comment: str) -> None:
    assert lines(top=IGNORE.format(comment)) == [8, 12]


def test_any_encoding_works() -> None:
    assert lines(top=IGNORE.format("SK010"), encoding="utf-16") == []


def test_documents_that_are_not_read_keep_their_errors() -> None:
    assert [d.code for d in unsuppressed(exoskel.load(b"<!-- exoskel: ignore SK001 --><skel>").diagnostics)] == [
        "SK001"
    ]


def test_many_comments_take_no_longer_than_the_file() -> None:
    body = "".join(f"\n{IGNORE.format('SK010')}<odd/>\n<odd/>" for _ in range(20000))
    assert len(lines(last=body)) == 20002


def test_check_and_fix_leave_suppressed_problems_alone(exoskel_command: Command, tmp_path: Path) -> None:
    file = tmp_path / "a.skel"
    text = SKEL.replace("odd", "transfromation").format(top="", before=IGNORE.format("SK"), after="", last="")
    file.write_text(text)
    ran = exoskel_command("check", file)
    assert "a.skel:8" not in ran.out and "a.skel:12" in ran.out
    exoskel_command("check", "--fix", file)
    assert file.read_text().count("<transfromation/>") == 1


def test_the_language_server_honours_comments() -> None:
    from exoskel.lsp.open_document import OpenDocument, Settings, diagnostics

    text = SKEL.format(top="", before=IGNORE.format("SK010"), after="", last="")
    found = diagnostics(OpenDocument(text, "", Settings(), "utf-16"))
    assert [one.range.start.line for one in found if one.code == "SK010"] == [11]
