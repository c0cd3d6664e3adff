"""Text and MjSpec are two ways to the same compiled model."""

from __future__ import annotations

from math import inf
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import exoskel
from exoskel.formats.mjcf import mujoco_import
from exoskel.formats.mjcf.model.layout import simulation_layout
from exoskel.formats.mjcf.model.soft_bodies import body_skins
from exoskel.formats.mjcf.spec_writer import SpecWriter
from exoskel.formats.mjcf.tree import CompactBody, to_spec, to_text
from exoskel.formats.mjcf.write import write
from tests.support.places import sample_files, xode_sample_files
from tests.support.scenes import name_of


def different_fields(one: Any, other: Any) -> list[str]:
    """The fields of two compiled models that are not the very same."""
    out = []
    for name in dir(one):
        mine = getattr(one, name)
        if name.startswith("_") or callable(mine):
            continue
        theirs = getattr(other, name)
        if isinstance(mine, np.ndarray):
            same = mine.shape == theirs.shape and np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f")
        elif isinstance(mine, int | float | str | bytes):
            same = mine == theirs
        else:
            same = name in ("opt", "vis", "stat") or type(mine) is type(theirs)
        if not same:
            out.append(name)
    return out


def different_options(one: Any, other: Any) -> list[str]:
    names = [n for n in dir(one.opt) if not n.startswith("_") and not callable(getattr(one.opt, n))]
    return [n for n in names if not np.array_equal(getattr(one.opt, n), getattr(other.opt, n))]


@pytest.mark.parametrize("file", [*sample_files(), *xode_sample_files()], ids=name_of)
def test_text_and_spec_compile_to_the_same_model(file: Path) -> None:
    tree = write(exoskel.load(file).world)
    text, spec = mujoco.MjModel.from_xml_string(to_text(tree)), to_spec(tree).compile()
    assert different_fields(text, spec) == []
    assert different_options(text, spec) == []


def test_the_model_comparison_finds_differences() -> None:
    tree = write(exoskel.load("dart://sample/skel/pendulum.skel").world)
    one, other = to_spec(tree).compile(), to_spec(tree).compile()
    other.body_mass[-1] += 1e-15 + 1e-15 * other.body_mass[-1]
    other.opt.timestep *= 2
    assert different_fields(one, other) == ["body_mass"]
    assert different_options(one, other) == ["timestep"]


def test_many_bodies_preserve_names_and_order() -> None:
    """They are added in batches; nothing of that shows."""
    world = exoskel.World()
    for i in range(250):
        world.add_model(f"m{i}").add_body("b", pose=exoskel.Pose((float(i), 0.0, 0.0)), shapes=[exoskel.Sphere(0.1)])
    model = to_spec(write(world)).compile()
    assert [model.body(i + 1).name for i in range(250)] == [f"m{i}/b" for i in range(250)]
    assert model.body_pos[1:, 0].tolist() == list(range(250))


def _free_bodies(count: int) -> exoskel.World:
    """Free bodies with shapes of several kinds, one of them rotated, before and after a model with two bodies."""
    world, tilted = exoskel.World(), exoskel.Pose((0.1, 0.2, 0.3), exoskel.Euler((0.1, 0.2, 0.3)))
    for i in range(count):
        moved = exoskel.Shape(exoskel.Cylinder(0.1, 0.4), pose=tilted, friction=0.5)
        shapes = [exoskel.Sphere(0.1), moved, exoskel.Box((0.1, 0.2, 0.3))][: i % 3 + 1]
        pose = exoskel.Pose((float(i), 0.0, 0.0), tilted.rotation if i % 2 else exoskel.Euler())
        model = world.add_model(f"m{i}")
        body = model.add_body("b", pose=pose, shapes=shapes)
        if i == count // 2:
            model.add_body("c", parent=body, joint="ball", shapes=[exoskel.Sphere(0.1)])
        elif i == 3:
            body.gravity = False
    return world


@pytest.mark.parametrize("count", [12, 402], ids=["at once", "in batches"])
def test_bodies_without_elements_for_their_parts_compile_to_the_same_model(count: int) -> None:
    world = _free_bodies(count)
    compact = write(world, compact=True)
    assert {type(one) for one in compact.child("worldbody").iter()} == {type(compact), CompactBody}
    model, expected = to_spec(compact).compile(), to_spec(write(world)).compile()
    assert different_fields(expected, model) == []
    assert different_options(expected, model) == []


@pytest.mark.parametrize("file", [*sample_files(), *xode_sample_files()], ids=name_of)
def test_samples_without_elements_for_parts_compile_to_the_same_model(file: Path) -> None:
    world = exoskel.load(file).world
    layout, skins = simulation_layout(world), body_skins(world)
    model, expected = (
        to_spec(write(world, layout=layout, skins=skins, compact=compact)).compile() for compact in (True, False)
    )
    assert different_fields(expected, model) == []
    assert different_options(expected, model) == []


def _models_of_both_writers(world: exoskel.World, **options: Any) -> tuple[Any, Any]:
    """The models of what is added to a spec directly, and of the document."""
    layout, skins = simulation_layout(world), body_skins(world)
    direct = SpecWriter(world, layout=layout, skins=skins, **options).spec().compile()
    return direct, to_spec(write(world, layout=layout, skins=skins, **options)).compile()


@pytest.mark.parametrize("file", [*sample_files(), *xode_sample_files()], ids=name_of)
def test_samples_are_added_to_a_spec_as_their_document(file: Path) -> None:
    direct, expected = _models_of_both_writers(exoskel.load(file).world)
    assert different_fields(expected, direct) == []
    assert different_options(expected, direct) == []


def _robot() -> exoskel.World:
    """Joints with limits, springs and damping, many of them with the same values, above a ground; rotated bodies."""
    world = exoskel.World()
    world.add_model("ground", static=True).add_body("ground", shapes=[exoskel.Plane((0.0, 0.0, 1.0))])
    model = world.add_model("a/b~c")
    mesh = exoskel.Shape(exoskel.Cone(0.1, 0.3), friction=0.3)
    shapes: list[Any] = [exoskel.Box((0.1, 0.2, 0.3)), exoskel.Capsule(0.1, 0.2), mesh, exoskel.Sphere(0.1)]
    parent = model.add_body("trunk", pose=exoskel.Pose((-0.0, 0.0, 1.0)), shapes=shapes)
    for i in range(16):
        rotation = exoskel.Euler((0.1, 0.2, 0.3)) if i == 9 else exoskel.Euler()
        pose = exoskel.Pose((0.1 * i, 0.1, 1.0), rotation)
        kind = "prismatic" if i % 5 == 4 else "revolute"
        axis = (0.0, 1.0, -0.0)
        parent = model.add_body(f"part/{i}", parent=parent, pose=pose, joint=kind, axis=axis, shapes=[shapes[i % 4]])
        dof = model.joints[-1].dofs[0]
        dof.damping, dof.stiffness, dof.rest = (0.1, 2.0, 0.3) if i % 7 else (0.0, 0.0, 0.0)
        dof.position_limits = [(-1.0, 1.0), (-inf, inf), (-0.5, inf), (0.2, 0.2)][0 if i < 9 else i % 4]
        dof.friction, dof.armature = (0.2, 0.0) if i == 11 else (0.0, 0.1 if i == 12 else 0.0)
    return world


@pytest.mark.parametrize("limits", [None, False, True])
@pytest.mark.parametrize("is_rotated", [False, True])
def test_a_robot_is_added_to_a_spec_as_its_document(limits: bool | None, is_rotated: bool) -> None:
    world = _robot()
    if not is_rotated:
        for body in world.bodies():
            body.pose = exoskel.Pose(body.pose.position)
    direct, expected = _models_of_both_writers(world, limits=limits, friction=0.5 if limits else None)
    assert different_fields(expected, direct) == []
    assert different_options(expected, direct) == []


@pytest.mark.parametrize("count", [12, 402], ids=["at once", "in batches"])
def test_free_bodies_are_added_to_a_spec_as_their_document(count: int) -> None:
    direct, expected = _models_of_both_writers(_free_bodies(count))
    assert different_fields(expected, direct) == []
    assert different_options(expected, direct) == []


def test_small_worlds_compile_in_a_thread_only_if_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    run = mujoco_import.run_in_thread
    monkeypatch.setattr(mujoco_import, "run_in_thread", lambda work: calls.append("thread") or run(work))
    exoskel.Simulation(_free_bodies(12))
    assert calls == []
    monkeypatch.setattr(mujoco_import, "_SMALL_MEMORY", 1 << 60)  # more than there can be
    exoskel.Simulation(_free_bodies(12))
    assert calls == ["thread"]
    exoskel.Simulation(_free_bodies(202))
    assert calls == ["thread", "thread"]
