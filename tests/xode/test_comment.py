"""The PyBrain comment after the scene is read as data and never evaluated."""

from __future__ import annotations

import pytest

import exoskel
from tests.support.findings import Read
from tests.support.xode import body, geom, hinge, joint, scene

INNER = body(geom(name="ga"), "a") + body(geom(name="gb"), "b") + joint(hinge())


def load(comment: str) -> Read:
    return Read(exoskel.load(scene(INNER) + f"<!--odeenvironment parameters\n{comment}\n-->"))


def test_the_pybrain_comment_exempts_geoms_from_collisions() -> None:
    read = load("<passpairs>\n('a', 'b')\n['ga', 'gb', 'x']\n<end>")
    read.assert_clean()
    assert read.world.collision_exempt_groups == [("a", "b"), ("ga", "gb", "x")]


def test_the_pybrain_comment_attaches_joints_and_bodies_to_the_environment() -> None:
    read = load("<affixToEnvironment>\nj\n<end>")
    read.assert_clean()
    models = {m.name: m for m in read.world.models}
    assert models["a"].joint("j").parent is None, "its second link is the environment now"
    body_read = load("<affixToEnvironment>\nb\n<end>")
    fixed = body_read.world.models[0].joint("b_affixed")
    assert (fixed.kind, fixed.parent, fixed.child.name) == ("weld", None, "b")


def test_colours_have_three_or_four_components() -> None:
    read = load("<colors>\n('a', (0.5, 0.5, 0.25))\n('gb', (1, 0, 0, 0.5))\n<end>")
    read.assert_clean()
    colors = {s.name: s.color for b in read.world.bodies() for s in b.collisions}
    assert colors == {"ga": (0.5, 0.5, 0.25, 1.0), "gb": (1.0, 0.0, 0.0, 0.5)}


@pytest.mark.parametrize(
    "line",
    [
        "__import__('os').system('true')",
        "('a', open('/etc/passwd'))",
        "('a', 1)",
        "42",
        "(",
        "('a'," * 300,
        "[" * 5000,
        "{'a': 'b'}",
    ],
)
def test_an_invalid_pass_pair_is_a_warning(line: str) -> None:
    read = load(f"<passpairs>\n{line}\n<end>")
    read.expect("X905", "warning", says="line 3")
    read.assert_clean()
    assert read.world.collision_exempt_groups == []


def test_code_and_unknown_sections_of_the_comment_are_ignored() -> None:
    load("<sensors>\nself.sensors = [evil()]\n<centerOn>\na\n<future>\n???\n<end>\nrubbish").assert_clean()


def test_other_comments_have_no_effect() -> None:
    read = Read(exoskel.load(scene(INNER) + "<!-- passpairs -->"))
    read.assert_clean()
    assert read.world.collision_exempt_groups == [] and read.scene.source_info.semantics == "spec"


def test_attaching_a_body_that_is_already_attached_changes_nothing() -> None:
    pinned = scene(body(name="a") + joint(hinge(), "j", "", "a"))
    read = Read(exoskel.load(pinned + "<!--odeenvironment parameters\n<affixToEnvironment>\nj\n<end>\n-->"))
    read.assert_clean()
    tie = read.joint()
    assert (tie.parent, tie.child.name) == (None, "a")


@pytest.mark.parametrize("number", ["1" + "0" * 400, "1e999", "-1e999", "1" * 5000, "'red'", "None", "1j"])
def test_colours_are_finite_numbers(number: str) -> None:
    read = load(f"<colors>\n('a', ({number}, 0, 0))\n('gb', (1, 0, 0, {number}))\n<end>")
    read.expect_all("X905", "X905").assert_clean()
    assert {s.color for b in read.world.bodies() for s in b.collisions} == {None}
