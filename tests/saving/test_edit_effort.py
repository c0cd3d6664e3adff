"""Edits of one item in a long chain take little more than reading its file twice."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

import pytest

import exoskel
from exoskel.formats import registry
from exoskel.formats.renaming import rename_in_text
from exoskel.formats.saving.patch import patch_document
from exoskel.scene.model import Model
from exoskel.scene.world import Scene
from exoskel.source.document import Document
from exoskel.source.markup import serialize
from exoskel.source.output_context import OutputContext

LENGTH = 300


def chain(format: str) -> bytes:
    world = exoskel.World()
    model = world.add_model("chain")
    for number in range(LENGTH):
        parent = f"link{number - 1}" if number else None
        model.add_body(
            f"link{number}",
            pose=exoskel.Pose((0.0, 0.0, -0.2 * number)),
            shapes=[exoskel.Box((0.1, 0.1, 0.1))],
            parent=parent,
            joint="revolute",
            axes=[(1.0, 0.0, 0.0)],
        )
    for body in model.bodies:
        body.visuals.clear()  # XODE has only shapes that collide
    chosen = registry.by_name(format)
    return serialize(chosen.writer()(exoskel.Scene(worlds=[world]), OutputContext())).encode()


def calls(action: Callable[[], object]) -> int:
    """The number of function calls that an action takes."""
    count = 0

    def count_calls(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(count_calls)
    try:
        action()
    finally:
        sys.setprofile(None)
    return count


def rename_joint(model: Model) -> None:
    model.rename(model.joint("link150_joint"), "renamed")


def rename_body(model: Model) -> None:
    model.rename(model.body("link150"), "renamed")


def set_mass(model: Model) -> None:
    model.body("link150").mass = 2.5


def remove_leaf(model: Model) -> None:
    model.remove(model.bodies[-1])


@pytest.mark.parametrize("edit", [rename_joint, rename_body, set_mass, remove_leaf])
@pytest.mark.parametrize("format", ["skel", "xode"])
def test_an_edit_takes_little_more_than_reading_twice(format: str, edit: Callable[[Model], None]) -> None:
    """In XODE, all joints of the model were written again."""
    data = chain(format)
    read = partial(exoskel.load, data, format=format)
    read()  # imports
    scene = read()
    edit(scene.worlds[0].models[0])
    assert calls(partial(patch_document, scene)) / calls(read) < 3.0


@pytest.mark.parametrize(("format", "most"), [("mjcf", 4.0), ("urdf", 2.0), ("sdf", 3.0)])
def test_renaming_in_the_text_takes_little_more_than_reading(format: str, most: float) -> None:
    """In SDF, the model around each element was searched for five attributes that it does not have."""
    data = chain(format)
    read = partial(exoskel.load, data, format=format)
    read()
    scene = read()

    def read_again(text: bytes) -> Scene:
        return registry.by_name(format).reader()(Document(text), scene.options)

    joint = scene.worlds[0].models[0].joints[LENGTH // 2]
    assert calls(partial(rename_in_text, scene, joint, "renamed", read_again)) / calls(read) < most
