"""Large files: only the edited models are read again, with the same result as reading the whole file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exoskel
from benchmarks.scenes import chains, free_boxes
from exoskel.formats.saving import patch
from exoskel.formats.saving.edited_models import PartialReading
from exoskel.scene.fields import iter_items
from exoskel.scene.world import Scene

Edit = Callable[[Scene], None]
COUNT = 120


def _set_one_mass(scene: Scene) -> None:
    scene.world.models[60].bodies[0].mass = 5.5


def _edit_first_and_last(scene: Scene) -> None:
    for number in (0, 1, COUNT - 1):
        scene.world.models[number].bodies[0].mass = 1234.5 + number
    scene.world.models[2].bodies[0].pose = exoskel.Pose((1.0, 2.0, 3.0))


def _set_a_color(scene: Scene) -> None:
    scene.world.models[7].bodies[0].visuals[0].color = (0.1, 0.2, 0.3, 1.0)


def _set_an_embedded_value(scene: Scene) -> None:
    scene.world.models[7].bodies[0].collisions[0].friction = 0.5


def _set_a_default(scene: Scene) -> None:
    scene.world.models[9].joints[0].positions = (0.1, 0.2, 0.3, 1.0, 2.0, 3.0)


def _rename_a_model(scene: Scene) -> None:
    scene.world.models[5].name = "another name"


def _remove_a_model(scene: Scene) -> None:
    del scene.world.models[5]


def _edit_the_world(scene: Scene) -> None:
    scene.world.gravity = (0.0, 0.0, -5.0)


@pytest.mark.parametrize(
    ("edit", "is_in_parts"),
    [
        (_set_one_mass, True),
        (_edit_first_and_last, True),
        (_set_a_color, True),
        (_set_an_embedded_value, True),  # finds that the value is missing
        (_set_a_default, False),
        (_rename_a_model, False),
        (_remove_a_model, False),
        (_edit_the_world, False),
    ],
)
def test_edited_models_are_read_as_in_the_whole_file(
    edit: Edit, is_in_parts: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[bool] = []
    reread = patch.reread_edited_models

    def in_parts(*arguments: Any) -> PartialReading | None:
        reading = reread(*arguments)
        found.append(reading is not None)
        return reading

    monkeypatch.setattr(patch, "reread_edited_models", in_parts)
    parts = _save_twice(edit, tmp_path / "parts.skel")
    assert found[0] == is_in_parts
    monkeypatch.setattr(patch, "reread_edited_models", lambda *_: None)
    assert parts == _save_twice(edit, tmp_path / "whole.skel")


def _save_twice(edit: Edit, file: Path) -> tuple[bytes, list[object], bytes]:
    """Edit and save a file, and once more: the bytes, and where the items of the scene are in the file."""
    file.write_bytes(free_boxes(COUNT))
    scene = exoskel.load(file)
    edit(scene)
    exoskel.save(scene)
    first = file.read_bytes()
    items = [(repr(i), i.node, i.document, sorted(i.given), sorted(i.repaired)) for i, _, _ in iter_items(scene)]
    scene.world.models[3].bodies[0].mass = 77.0
    exoskel.save(scene)
    assert exoskel.load(file).world.models[3].bodies[0].mass == 77.0
    return first, list(items), file.read_bytes()


def test_models_of_several_bodies_and_joints_are_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "chains.skel"
    data = chains(COUNT, 3).replace(b"<ixy>0.01</ixy>", b"<ixy>0</ixy>")
    results = []
    for is_whole in (False, True):
        if is_whole:
            monkeypatch.setattr(patch, "reread_edited_models", lambda *_: None)
        file.write_bytes(data)
        scene = exoskel.load(file)
        scene.world.models[40].joints[1].dofs[0].damping = 0.75
        scene.world.models[41].bodies[2].inertia.mass = 2.5
        exoskel.save(scene)
        dofs = [(dof.node, sorted(dof.given)) for joint in scene.world.joints() for dof in joint.dofs]
        results.append((file.read_bytes(), dofs))
    assert results[0] == results[1]


def test_text_that_reaches_out_of_an_edited_model_is_not_accepted(tmp_path: Path) -> None:
    """A comment between models is no part of them, and stays where it is."""
    file = tmp_path / "boxes.skel"
    data = free_boxes(COUNT).replace(b"    <skeleton", b"    <!-- a box -->\n    <skeleton")
    file.write_bytes(data)
    scene = exoskel.load(file)
    scene.world.models[60].bodies[0].mass = 5.5
    exoskel.save(scene)
    assert file.read_bytes() == data.replace(b"<mass>1.00006</mass>", b"<mass>5.5</mass>")
