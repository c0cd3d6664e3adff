"""Helpers for the MJCF tests: round trips, and comparison of a document in MuJoCo and in a scene."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco
import numpy as np

import exoskel
from exoskel.formats.interface import ReadOptions
from exoskel.formats.load import open_document
from exoskel.formats.mjcf.file_writer import write_document
from exoskel.formats.mjcf.model.coordinates import Coordinates, document_addresses
from exoskel.formats.mjcf.model.layout import WorldLayout
from exoskel.formats.mjcf.read import ImportedScene, import_document
from exoskel.formats.mjcf.tree import MjcfElement, to_text
from exoskel.scene.body import Body
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.world import World
from exoskel.source.file_lookup import SearchPaths
from exoskel.spatial import Array

Name = tuple[str, str]


def imported(source: str | Path, base: Path | None = None, confine: bool = False) -> ImportedScene:
    options = ReadOptions(paths=SearchPaths(confine=confine))
    return import_document(open_document(str(source), base=base), options)


def codes(found: ImportedScene, without: str = "MJ203") -> list[tuple[str, int | None]]:
    """Codes and lines of all diagnostics except those for solver attributes."""
    return [(d.code, d.line) for d in found.scene.diagnostics if d.code != without]


def bodies(world: World) -> dict[Name, Body]:
    return {(m.name, b.name): b for m in world.models for b in m.bodies}


class Trip:
    """A world, its MJCF document, and the world that is read from that."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.document: MjcfElement = write_document(world)
        self.back = imported(to_text(self.document))
        assert self.back.scene.worlds, self.back.scene.diagnostics

    def poses(self, seed: int) -> tuple[dict[Name, Array], dict[Name, Array]]:
        """World poses of all bodies at one random configuration, before and after."""
        assert self.back.compiled is not None and self.back.reader is not None and self.back.coordinates is not None
        here = Coordinates(WorldLayout(self.world), document_addresses(self.document))
        positions = np.random.default_rng(seed).uniform(-1.0, 1.0, here.count)
        for index, value in here.static:
            positions[index] = value
        qpos = self.back.compiled.initial_state[0]
        here.set_positions(positions, qpos)
        there = self.back.coordinates.positions(self.back.reader.relative(qpos))
        return named_poses(self.world, positions), named_poses(self.back.scene.world, there)


def named_poses(world: World, positions: Array | None = None) -> dict[Name, Array]:
    return dict(zip(bodies(world), Kinematics(world.models).poses(positions), strict=True))


def apart(one: dict[Name, Array], other: dict[Name, Array]) -> float:
    assert one.keys() == other.keys()
    return max((float(np.abs(one[name] - other[name]).max()) for name in one), default=0.0)


def mass_matrices(found: ImportedScene, seed: int) -> tuple[Array, Array]:
    """MuJoCo's own of the document, and that of a simulation of what was read.

    Both at one random configuration and in the scene's coordinates.
    """
    compiled, reader, coordinates = found.compiled, found.reader, found.coordinates
    assert compiled is not None and reader is not None and coordinates is not None
    model: Any = compiled.model
    data = mujoco.MjData(model)
    positions = np.random.default_rng(seed).uniform(-1.0, 1.0, coordinates.count)
    relative = reader.relative(data.qpos)
    coordinates.set_positions(positions, relative)
    data.qpos[:] = relative + (model.qpos0 - reader.relative(model.qpos0))
    mujoco.mj_forward(model, data)
    full = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, full)
    change = coordinates.velocity_matrix(relative)
    simulation = exoskel.Simulation(found.scene.world)
    simulation.positions = positions
    return change.T @ full @ change, simulation.mass_matrix()
