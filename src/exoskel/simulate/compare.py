"""The same world in several engines, side by side."""

from __future__ import annotations

import time as clock
from typing import Any

import numpy as np
from msgspec import Struct

from exoskel.engines.registry import Engine, engine
from exoskel.scene.content import transform_gaps
from exoskel.scene.world import Scene, World
from exoskel.spatial import Array

DEFAULT_ENGINES = ("mujoco", "dart")


class Track(Struct):
    """What one engine did: a row for each sample."""

    engine: str
    time: Array
    poses: Array
    positions: Array
    energy: Array
    contacts: list[int]
    seconds: float


class Gap(Struct, frozen=True):
    """How far two engines are apart: largest and root-mean-square over time, m (and rad) or as the coordinate."""

    engines: tuple[str, str]
    position_max: float
    position_rms: float
    rotation_max: float
    coordinate_max: float
    throughput_ratio: float
    """Steps a second of the first over the second."""


class Comparison(Struct):
    tracks: list[Track]
    gaps: list[Gap]

    def as_dict(self) -> dict[str, Any]:
        """The shape of `compare --json`."""
        return {
            "engines": [
                {
                    "engine": t.engine,
                    "seconds": t.seconds,
                    "energy_first": t.energy[0].tolist(),
                    "energy_last": t.energy[-1].tolist(),
                    "most_contacts": max(t.contacts),
                }
                for t in self.tracks
            ],
            "differences": [
                {name: list(v) if isinstance(v := getattr(g, name), tuple) else v for name in g.__struct_fields__}
                for g in self.gaps
            ],
        }


def compare(
    world: World | Scene,
    duration: float = 1.0,
    *,
    engines: tuple[str, ...] = DEFAULT_ENGINES,
    samples: int = 50,
    limits: bool | None = None,
) -> Comparison:
    """Run a world in each engine at its own time step, and measure how far they drift apart."""
    chosen = world.world if isinstance(world, Scene) else world
    chosen_engines = [engine(name) for name in engines]
    tracks = [_track(one, chosen, duration, samples, limits) for one in chosen_engines]
    gaps = [_gap(tracks[0], other) for other in tracks[1:]]
    return Comparison(tracks, gaps)


def _track(engine: Engine, world: World, duration: float, samples: int, limits: bool | None) -> Track:
    steps = max(1, round(duration / world.time_step))
    cuts = np.unique(np.linspace(0, steps, samples + 1).round().astype(int))
    simulation = engine.start(world, limits=limits)
    rows: list[tuple[Any, ...]] = []
    seconds = 0.0
    try:
        for before, now in zip([0, *cuts.tolist()], cuts.tolist(), strict=False):
            begin = clock.perf_counter()
            if now > before:
                simulation.step(now - before)
            seconds += clock.perf_counter() - begin
            one = simulation
            rows.append((one.time, one.body_poses, one.positions, one.energy, one.contact_count))
    finally:
        simulation.close()
    times, poses, positions, energies, contacts = zip(*rows, strict=True)
    return Track(
        engine.name, np.array(times), np.array(poses), np.array(positions), np.array(energies), list(contacts), seconds
    )


def _gap(one: Track, other: Track) -> Gap:
    distance = np.linalg.norm(one.poses[..., :3, 3] - other.poses[..., :3, 3], axis=-1)
    flat = [track.poses.reshape(-1, 4, 4).copy() for track in (one, other)]
    for poses in flat:
        poses[:, :3, 3] = 0.0
    turned = transform_gaps(flat[0], flat[1])
    coordinates = np.abs(one.positions - other.positions)
    return Gap(
        engines=(one.engine, other.engine),
        position_max=float(distance.max(initial=0.0)),
        position_rms=float(np.sqrt(np.mean(distance**2))) if distance.size else 0.0,
        rotation_max=float(turned.max(initial=0.0)),
        coordinate_max=float(coordinates.max(initial=0.0)),
        throughput_ratio=other.seconds / one.seconds if one.seconds else float("inf"),
    )
