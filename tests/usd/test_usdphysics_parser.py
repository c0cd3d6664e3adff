"""Pixar's UsdPhysics parser finds the same bodies, colliders and articulations in the files we write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exoskel
from exoskel import Kinematics, Scene, World
from tests.support.scenes import all_files, name_of
from tests.usd.support import close, lowered, paths, stage_of, written

pytest.importorskip("pxr", reason="usd-core is not installed")

SINGLE = 1e-6
FILES = [file for file in all_files() if len(exoskel.load(file).worlds) == 1]


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_the_usdphysics_parser_finds_the_same_objects(file: Path) -> None:
    from pxr import UsdPhysics

    world = exoskel.load(file).world
    layer, _ = written(Scene([world]))
    stage = stage_of(layer)
    found = UsdPhysics.UsdPhysicsLoadStageFromPrimRange(stage, ["/"])
    kinds = UsdPhysics.ObjectType
    seen = {kind: dict(zip(map(str, where), described, strict=True)) for kind, (where, described) in found.items()}
    assert all(one.isValid for group in seen.values() for one in group.values())
    simple = lowered(world)
    moving = [body for model in simple.models if not model.static for body in model.bodies]
    assert len(seen.get(kinds.RigidBody, {})) == len(moving)
    where = paths(layer)
    poses = dict(zip(map(id, world.bodies()), Kinematics(world.models).poses(), strict=True))
    for body in (body for model in world.models if not model.static for body in model.bodies):
        one = seen[kinds.RigidBody][where[id(body)]]
        assert close(poses[id(body)][:3, 3], np.array(one.position), SINGLE)
        assert len(one.collisions) == sum(id(shape) in where for shape in body.collisions)
    roots = [str(one.GetPath()) for one in stage.Traverse() if "PhysicsArticulationRootAPI" in _apis(one)]
    assert sorted(seen.get(kinds.Articulation, {})) == sorted(roots)


TREES = {
    "floating": (("free", "free"), ["/w/m/a", "/w/m/b"]),
    "at the world": (("revolute", "prismatic"), ["/w/m"]),  # so that loops may connect the trees
    "both": (("free", "weld"), ["/w/m/a", "/w/m/joints/b_joint"]),
    "one": (("free", ""), ["/w/m"]),
}


@pytest.mark.parametrize("self_collision", [False, True], ids=["apart", "colliding"])
@pytest.mark.parametrize(("kinds", "expected"), TREES.values(), ids=TREES)
def test_each_tree_of_a_model_is_an_articulation_if_one_of_them_floats(
    kinds: tuple[Any, Any], expected: list[str], self_collision: bool
) -> None:
    from pxr import UsdPhysics

    world = World("w", self_collision=self_collision)
    model = world.add_model("m")
    shapes = [exoskel.Box((0.1, 0.1, 0.1))]
    for name, kind in zip("ab", kinds, strict=True):
        options: Any = {} if kind in ("free", "weld") else {"axis": (0, 1, 0)}
        if kind:
            model.add_body(name, joint=kind, mass=1.0, shapes=shapes, **options)
            model.add_body(name * 2, parent=name, joint="revolute", mass=1.0, shapes=shapes, axis=(1, 0, 0))
    layer, _ = written(Scene([world]))
    found = UsdPhysics.UsdPhysicsLoadStageFromPrimRange(stage_of(layer), ["/"])
    articulations = dict(zip(*found[UsdPhysics.ObjectType.Articulation], strict=True))
    assert sorted(map(str, articulations)) == sorted(expected)
    bodies = [sorted(map(str, one.articulatedBodies)) for one in articulations.values()]
    if expected != ["/w/m"]:
        assert all(len({path[:6] for path in paths if path}) == 1 for paths in bodies)
    report = exoskel.convert(Scene([world]), None, to="usd")
    assert report.certificate.passed
    again = exoskel.load(report.data).world
    assert [(one.name, {body.name for body in one.bodies}) for one in again.models] == [
        ("m", {body.name for body in model.bodies})
    ]
    assert again.self_collision is self_collision
    stated = [item for item in exoskel.convert(report.data, None, to="mjcf").items if "selfColl" in item.path]
    assert len(stated) == len(expected) and all(item.fate.value == "exact" for item in stated)


def _apis(prim: Any) -> list[str]:
    return list(prim.GetAppliedSchemas())
