"""Safe fixes: each fix removes its diagnostic, changes few bytes and is applied only once."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

import exoskel
from exoskel.diagnostics import Diagnostic, KnownNames, Severity, is_typo
from exoskel.formats.fixer import ACTIONS, FixedFile, Fixes, apply_fixes, fixable_diagnostics
from exoskel.formats.registry import FORMATS
from exoskel.formats.skel.codes import FIXES as SKEL_FIXES
from exoskel.formats.xode.codes import FIXES as XODE_FIXES
from exoskel.scene.fields import differences, iter_items
from exoskel.source.document import Document
from tests.skel.cases import CASES as SKEL_CASES
from tests.support.messages import Case, make_folder
from tests.support.places import PROJECT
from tests.support.xml import BOX, body, joint, one_body, one_shape, skeleton, world
from tests.xode.cases import CASES as XODE_CASES

MISSPELT = {
    "SK010": Case(one_body("<transfromation>0 0 1 0 0 0</transfromation>")),
    "SK060.soft": Case(one_body("<soft_shape><geometry><shpere><radius>1</radius></shpere></geometry></soft_shape>")),
    "SK060.unknown": Case(one_shape("<spere><radius>1</radius></spere>")),
}
"""Misspelt names, in place of cases with names that resemble no known name."""

TABLES = {"skel": (SKEL_FIXES, SKEL_CASES | MISSPELT), "xode": (XODE_FIXES, XODE_CASES)}
ROWS = [(format, key) for format, (fixes, _) in TABLES.items() for key in fixes]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_folder(tmp_path)


def bytes_of(case: Case) -> bytes:
    return case.document if isinstance(case.document, bytes) else case.document.encode()


def load(data: bytes | str, folder: Path, format: str | None = None, **options: object) -> exoskel.Scene:
    given = {name: value for name, value in options.items() if name in ("dialect", "semantics")}
    return exoskel.load(
        data if isinstance(data, bytes) else data.encode(), name="doc", base=folder, format=format, **given
    )  # type: ignore[arg-type]


def fix(data: bytes | str, folder: Path, format: str | None = None, **options: object) -> FixedFile:
    return apply_fixes(load(data, folder, format, **options), lambda again: load(again, folder, format, **options))


def diagnostics_of(scene: exoskel.Scene, key: str) -> list[Diagnostic]:
    return [found for found in scene.diagnostics if found.key == key]


@pytest.mark.parametrize(("format", "key"), ROWS)
def test_a_fix_removes_its_diagnostic(format: str, key: str, folder: Path) -> None:
    case = TABLES[format][1][key]
    scene = load(bytes_of(case), folder, format, **case.options)
    found = [one for one in diagnostics_of(scene, key) if one.fix is not None]
    assert found, "the case has the diagnostic, with a fix"
    assert isinstance(scene.documents[0], Document)
    fixes = Fixes(scene.documents[0])
    assert fixes.add(found[0])
    again = load(fixes.apply(), folder, format, **case.options)
    assert len(diagnostics_of(again, key)) == len(diagnostics_of(scene, key)) - 1


@pytest.mark.parametrize(("format", "key"), ROWS)
def test_fixing_is_idempotent(format: str, key: str, folder: Path) -> None:
    case = TABLES[format][1][key]
    once = fix(bytes_of(case), folder, format, **case.options)
    assert fix(once.data, folder, format, **case.options).data == once.data


@pytest.mark.parametrize(
    ("format", "key"),
    [(f, k) for f, k in ROWS if TABLES[f][0][k].preserves_meaning and TABLES[f][0][k].action != "rename"],
)
def test_a_fix_that_keeps_the_meaning_does_not_change_the_scene(format: str, key: str, folder: Path) -> None:
    case = TABLES[format][1][key]
    before = load(bytes_of(case), folder, format, **case.options)
    after = fix(bytes_of(case), folder, format, **case.options).scene
    ones, others = ([item for item, _, _ in iter_items(scene)] for scene in (before, after))
    assert differences(list(zip(ones, others, strict=True))) == []


def test_every_row_names_a_message_and_an_action() -> None:
    for format in FORMATS:
        catalogue = format.catalogue()
        for key, fix in catalogue.fixes.items():
            assert key in catalogue.messages
            assert fix.action in ACTIONS


def test_a_fix_changes_only_the_bytes_of_its_value(folder: Path) -> None:
    odd = one_body("\r\n<!-- äöü -->\t<transfromation   >0,0,1,0,0,0</transfromation>").encode("utf-8-sig")
    result = fix(odd, folder)
    expected = odd.replace(b"transfromation", b"transformation").replace(b"0,0,1,0,0,0", b"0 0 1 0 0 0")
    assert result.data == expected


def test_utf16_files_are_fixed_in_utf16(folder: Path) -> None:
    text = one_body("<transfromation>0 0 1 0 0 0</transfromation>")
    data = ('<?xml version="1.0" encoding="UTF-16"?>' + text).encode("utf-16")
    fixed_text = fix(data, folder).data.decode("utf-16")
    assert fixed_text.endswith(text.replace("transfromation", "transformation"))


@pytest.mark.parametrize(
    ("word", "meant", "slip"),
    [
        ("transfromation", "transformation", True),
        ("mas", "mass", True),
        ("masss", "mass", True),
        ("miss", "mass", True),
        ("body_1", "body_2", False),
        ("body_12", "body_1", False),
        ("xy", "yx", False),
        ("mess", "mass_struct", False),
        ("heigth", "height", True),
        ("bxo", "box", True),
        ("hp", "hip", True),
        ("ab", "ac", True),
        ("b", "ab", False),
        ("b1", "b2", False),
        ("larm", "rarm", False),
        ("lmotor", "amotor", False),
    ],
)
def test_which_names_count_as_misspelt(word: str, meant: str, slip: bool) -> None:
    assert is_typo(word, meant) is slip


@pytest.mark.parametrize(
    ("word", "meant", "slip"),
    [("bxo", "box", True), ("boxx", "box", True), ("bo", "box", True), ("bax", "box", False), ("xz", "zx", False)],
)
def test_which_terms_of_a_format_count_as_misspelt(word: str, meant: str, slip: bool) -> None:
    assert is_typo(word, meant, is_term=True) is slip


@pytest.mark.parametrize(
    ("word", "known", "fixed"),
    [("hp", ("hip", "toe"), "hip"), ("ab", ("ac", "xy"), "ac"), ("ab", ("ac", "ad"), ""), ("lg", ("leg", "lag"), "")],
)
def test_short_names_are_fixed_if_one_name_differs_by_a_typo(word: str, known: tuple[str, ...], fixed: str) -> None:
    found = KnownNames(known).suggestion(word)
    assert (found.word if found.sure else "") == fixed


def test_an_ambiguous_name_is_not_fixed(folder: Path) -> None:
    text = world(
        skeleton(
            body(name="left_arm") + body(name="lift_arm") + joint(child="left_arm") + joint(name="k", child="loft_arm")
        )
    )
    scene = load(text, folder)
    (found,) = diagnostics_of(scene, "SK071.child")
    assert found.fix is not None and not found.fix.safe
    assert found not in fixable_diagnostics(scene)
    assert fix(text, folder).data == text.encode()


def test_a_rename_that_would_duplicate_an_element_is_not_applied(folder: Path) -> None:
    text = one_body("<inertia><mass>1</mass><mas>2</mas></inertia>")
    assert fix(text, folder).data == text.encode()


def test_fixing_a_misspelt_parent_reveals_and_fixes_problems_inside(folder: Path) -> None:
    shape = f"<collision_shape>{BOX}</collision_shape>"
    text = one_body(f"<inerta><mas>2</mas><ofset>0 0 0</ofset></inerta>{shape}")
    result = fix(text, folder)
    assert b"<inertia><mass>2</mass><offset>0 0 0</offset></inertia>" in result.data
    assert result.scene.world.models[0].bodies[0].mass == 2.0


def test_one_failing_fix_does_not_prevent_the_others(folder: Path) -> None:
    good = "".join(body(f"<inertia><mas>{i + 1}</mas></inertia>", name=f"b{i}") for i in range(100))
    bad = body("<inertia><mass>1</mass><mas>2</mas></inertia>", name="bad")
    result = fix(world(skeleton(good + bad)), folder)
    assert result.data.count(b"<mas>") == 1
    assert len(result.done) == 100


def test_notes_are_not_fixed(folder: Path) -> None:
    text = one_body().replace(' version="1.0"', "")
    scene = load(text, folder)
    (found,) = diagnostics_of(scene, "SK006.absent")
    assert found.severity is Severity.INFO and found.fix is not None
    assert fix(text, folder).data == text.encode()


def test_a_malformed_document_is_not_changed(folder: Path) -> None:
    for data in (b"", b"\x1f\x8b", b"<skel", b"<skel>&a;</skel>", b"<!DOCTYPE skel [<!ENTITY a 'b'>]><skel/>"):
        assert fix(data, folder, "skel").data == data


def test_fixes_are_minimal_diffs(folder: Path) -> None:
    text = one_body("\n<transfromation>0 0 1 0 0 0</transfromation>\n<inertia>\n  <mas>2</mas>\n</inertia>\n")
    after = fix(text, folder).data.decode()
    changed = [line for line in difflib.ndiff(text.splitlines(), after.splitlines()) if line[0] in "+-"]
    assert changed == [
        "- <transfromation>0 0 1 0 0 0</transfromation>",
        "+ <transformation>0 0 1 0 0 0</transformation>",
        "-   <mas>2</mas>",
        "+   <mass>2</mass>",
    ]


def test_a_file_with_many_problems_reports_all_of_them_before_anything_is_fixed() -> None:
    file = PROJECT / "examples" / "files" / "old_robot.skel"
    before = exoskel.load(file)
    after = apply_fixes(before, exoskel.load)
    revealed = {d.key for d in after.scene.diagnostics if d.severity is not Severity.INFO}
    assert revealed <= {d.key for d in before.diagnostics}
    assert {"SK077.length", "SK082"} <= revealed
    assert b"<child>upper_arm</child>" in after.data
