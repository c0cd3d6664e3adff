"""Pixar's UsdPhysics parser finds the same bodies, colliders and articulations in the files we write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exoskel
from exoskel import Kinematics, Scene
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
    articulated = [model for model in world.models if "PhysicsArticulationRootAPI" in _apis(stage, where[id(model)])]
    assert len(seen.get(kinds.Articulation, {})) == len(articulated)


def _apis(stage: Any, path: str) -> list[str]:
    return list(stage.GetPrimAtPath(path).GetAppliedSchemas())
