"""Scenes have the same values only if all of them are the same to the bit."""

from __future__ import annotations

from collections.abc import Callable
from math import nextafter

import pytest

import exoskel
from exoskel.scene.exact_comparison import have_same_values
from exoskel.scene.merge import copy_scene


def _scene() -> exoskel.Scene:
    world = exoskel.World("world")
    model = world.add_model("model")
    first = model.add_body("first", shapes=[exoskel.Box((1.0, 1.0, 1.0))])
    model.add_body("second", parent=first, joint="revolute", axes=[(0.0, 0.0, 1.0)])
    model.add_body("third", parent=first, joint="revolute", axes=[(0.0, 0.0, 1.0)])
    return exoskel.Scene(worlds=[world])


def _set_parent(scene: exoskel.Scene) -> None:
    model = scene.world.models[0]
    model.joints[2].parent = model.bodies[1]


def _remove_joint(scene: exoskel.Scene) -> None:
    del scene.world.models[0].joints[-1]


def _swap_bodies(scene: exoskel.Scene) -> None:
    model = scene.world.models[0]
    model.bodies[1:] = model.bodies[:0:-1]


def _set_mass(scene: exoskel.Scene) -> None:
    body = scene.world.models[0].bodies[0]
    body.mass = nextafter(body.mass, 2.0 * body.mass)


def _set_zero(scene: exoskel.Scene) -> None:
    scene.world.models[0].bodies[0].pose = exoskel.Pose((0.0, -0.0, 0.0))


def _set_damping(scene: exoskel.Scene) -> None:
    scene.world.models[0].joints[1].dofs[0].damping = 0.5


def _move_shape(scene: exoskel.Scene) -> None:
    body = scene.world.models[0].bodies[0]
    body.visuals.append(body.collisions.pop())


def test_copies_have_the_same_values() -> None:
    scene = _scene()
    assert have_same_values(scene, copy_scene(scene))
    assert have_same_values(_scene(), _scene())


@pytest.mark.parametrize(
    "edit", [_set_parent, _remove_joint, _swap_bodies, _set_mass, _set_zero, _set_damping, _move_shape]
)
def test_other_values_are_found(edit: Callable[[exoskel.Scene], None]) -> None:
    scene, other = _scene(), _scene()
    edit(other)
    assert not have_same_values(scene, other)
    assert not have_same_values(other, scene)
