"""Helpers for the USD tests: write scenes, and read the files with usd-core instead of our own reader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from exoskel import Scene, World, spatial
from exoskel.formats.usd.joint_axes import fits
from exoskel.formats.usd.tree import Layer, Prim, to_text
from exoskel.formats.usd.write import LOWERED_KINDS, write
from exoskel.scene.lowering import joint_passes
from exoskel.source.output_context import OutputContext


def written(scene: Scene) -> tuple[Layer, OutputContext]:
    output = OutputContext()
    return write(scene, output), output


def written_world(world: World) -> tuple[Layer, OutputContext]:
    return written(Scene([world]))


def lowered(world: World) -> World:
    """The world with its joints lowered, as in the writer."""
    return joint_passes.lower_joints(world, LOWERED_KINDS, only=lambda joint: not fits(joint)).world


def prim(layer: Layer, *names: str) -> Prim:
    """The prim at a path of names."""
    found = next(one for one in layer.prims if one.name == names[0])
    for name in names[1:]:
        found = next(one for one in found.children if one.name == name)
    return found


def paths(layer: Layer) -> dict[int, str]:
    """The path of each part of the scene, by id."""
    found: dict[int, str] = {}

    def walk(one: Prim, path: str) -> None:
        if one.item is not None:
            found[id(one.item)] = f"{path}/{one.name}"
        for child in one.children:
            walk(child, f"{path}/{one.name}")

    for root in layer.prims:
        walk(root, "")
    return found


def save(scene: Scene, file: Path) -> Layer:
    layer, _ = written(scene)
    file.write_text(to_text(layer), encoding="utf-8")
    return layer


# --- by usd-core --------------------------------------------------------------------------------------


def stage_of(layer: Layer) -> Any:
    from pxr import Sdf, Usd

    made = Sdf.Layer.CreateAnonymous(".usda")
    assert made.ImportFromString(to_text(layer))
    return Usd.Stage.Open(made)


def matrix(transform: Any) -> np.ndarray:
    """USD's matrices act on rows."""
    return np.array(transform).T


def quaternion(value: Any) -> np.ndarray:
    return spatial.quaternion_matrix([value.GetReal(), *value.GetImaginary()])


def frame(joint: Any, side: int) -> np.ndarray:
    """The frame of a joint in its first or second body."""
    position = getattr(joint, f"GetLocalPos{side}Attr")().Get()
    return spatial.transform(quaternion(getattr(joint, f"GetLocalRot{side}Attr")().Get()), np.array(position))


def turn(axis: str, angle: float) -> np.ndarray:
    return spatial.transform(spatial.axis_rotation(axis.lower(), angle), np.zeros(3))


def close(ours: Any, theirs: Any, tolerance: float) -> bool:
    a, b = np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)
    return a.shape == b.shape and bool((np.abs(a - b) <= tolerance * (1.0 + np.abs(a).max(initial=0.0))).all())
