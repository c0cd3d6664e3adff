"""Saving files by other authors.  These tests are skipped if the corpus is not available."""

from __future__ import annotations

from pathlib import Path

import pytest

import exoskel
from exoskel.formats.save import saved_bytes
from tests.saving.support import content, differing_bytes, elements, name_of, other_files, save_and_verify

FILES = other_files()

pytestmark = pytest.mark.skipif(not FILES, reason="no corpus beside the project")


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_file_comes_back_byte_for_byte(path: Path) -> None:
    scene = exoskel.load(path)
    assert saved_bytes(scene) == content(path)
    for world in scene.worlds:
        world.name = world.name
    assert saved_bytes(scene) == content(path)


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_an_edited_mass_changes_only_its_own_bytes(path: Path) -> None:
    scene = exoskel.load(path)
    found = elements(content(path))
    bodies = [body for body in scene.world.bodies() if body.node >= 0 and body.mass > 0.0]
    stated = [body for body in bodies if found.child(body.node, "mass") >= 0 or found.child(body.node, "inertia") >= 0]
    body = (stated or bodies)[0]
    body.mass *= 1.5
    _, removed, new = differing_bytes(content(path), save_and_verify(scene))
    assert max(len(removed), len(new)) <= 20 if stated else not removed


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_renaming_and_adding_change_no_other_lines(path: Path) -> None:
    scene = exoskel.load(path)
    model = next((m for m in scene.world.models if m.bodies[0].node >= 0 and not m.static), None)
    if model is None:
        model = scene.world.models[-1]
    model.add_body("one_more", parent=model.bodies[-1], joint="revolute", axes=((0.0, 1.0, 0.0),))
    saved = save_and_verify(scene)
    lines = iter(saved.split(b"\n"))
    missing = [line for line in content(path).split(b"\n") if line not in lines]
    assert not missing, "all lines of the file are preserved, in order"
