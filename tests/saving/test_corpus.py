"""Saving other people's files.  They lie beside the project where somebody put them; else these tests skip."""

from __future__ import annotations

from pathlib import Path

import pytest

import exoskel
from exoskel.formats.save import saved_bytes
from tests.saving.support import content, elements, name_of, other_files, proved, stretch

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
def test_a_mass_changes_in_its_place(path: Path) -> None:
    scene = exoskel.load(path)
    found = elements(content(path))
    bodies = [body for body in scene.world.bodies() if body.node >= 0 and body.mass > 0.0]
    stated = [body for body in bodies if found.child(body.node, "mass") >= 0 or found.child(body.node, "inertia") >= 0]
    body = (stated or bodies)[0]
    body.mass *= 1.5
    _, gone, new = stretch(content(path), proved(scene))
    assert max(len(gone), len(new)) <= 20 if stated else not gone


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_renaming_and_adding_leave_the_rest_alone(path: Path) -> None:
    scene = exoskel.load(path)
    model = next((m for m in scene.world.models if m.bodies[0].node >= 0 and not m.static), None)
    if model is None:
        model = scene.world.models[-1]
    model.add_body("one_more", parent=model.bodies[-1], joint="revolute", axes=((0.0, 1.0, 0.0),))
    saved = proved(scene)
    kept = iter(saved.split(b"\n"))
    missing = [line for line in content(path).split(b"\n") if line not in kept]
    assert not missing, "every line of the file is still there, in order"
