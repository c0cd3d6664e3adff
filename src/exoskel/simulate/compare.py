"""Compares the motion of a world in several engines."""

from __future__ import annotations

import time as clock
from typing import Any

import numpy as np
from msgspec import Struct

from exoskel.diagnostics import ExoskelError, pluralize
from exoskel.scene.fields import transform_differences
from exoskel.scene.soft_skin import has_surface
from exoskel.scene.world import SceneLike, as_world
from exoskel.simulate.options import step_chunks, step_count
from exoskel.simulate.simulation import Simulation
from exoskel.spatial import Array

DEFAULT_ENGINES = ("mujoco", "dart")


class EngineTrack(Struct):
    """The motion in one engine: a row for each sample."""

    engine: str
    time: Array
    poses: Array
    positions: Array
    energy: Array
    contacts: list[int]
    seconds: float
    has_skin_energy: bool = True
    """Whether the energy includes that of soft skins; DART reports their cores alone."""

    def __repr__(self) -> str:
        return f"EngineTrack({self.engine!r}, {pluralize(len(self.time), 'sample')})"


class EngineGap(Struct, frozen=True):
    """The difference between two engines: maximum and root mean square over time and bodies, in m, rad or the unit
    of the coordinate.

    `distance` and `rotation` are the maximum over all bodies at each sample.
    """

    engines: tuple[str, str]
    position_max: float
    position_rms: float
    rotation_max: float
    rotation_rms: float
    coordinate_max: float
    coordinate_rms: float
    throughput_ratio: float
    """Steps per second of the first over those of the second."""
    distance: Array
    rotation: Array

    def __repr__(self) -> str:
        return f"EngineGap({self.engines}, {self.position_max:.3g} m, {self.rotation_max:.3g} rad)"


class Comparison(Struct):
    """The motions, and the difference of each engine to the first."""

    world: str
    tracks: list[EngineTrack]
    gaps: list[EngineGap]

    def __repr__(self) -> str:
        return f"Comparison({self.world!r}, {', '.join(map(repr, self.gaps))})"

    def as_dict(self) -> dict[str, Any]:
        """The shape of `compare --json`."""
        return {
            "world": self.world,
            "time": self.tracks[0].time.tolist(),
            "engines": [_track_dict(track) for track in self.tracks],
            "differences": [{name: _json_value(getattr(g, name)) for name in g.__struct_fields__} for g in self.gaps],
        }


def _track_dict(track: EngineTrack) -> dict[str, Any]:
    return {
        "engine": track.engine,
        "seconds": track.seconds,
        "energy_first": track.energy[0].tolist(),
        "energy_last": track.energy[-1].tolist(),
        "energy": track.energy.sum(axis=1).tolist(),
        "has_skin_energy": track.has_skin_energy,
        "most_contacts": max(track.contacts),
    }


def _json_value(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else list(value) if isinstance(value, tuple) else value


def compare(
    world: SceneLike,
    duration: float = 1.0,
    *,
    engines: tuple[str, ...] = DEFAULT_ENGINES,
    samples: int = 50,
    step: float | None = None,
    limits: bool | None = None,
    friction: float | None = None,
    warn: bool = True,
) -> Comparison:
    """Run a world in each engine at its time step (or `step`, s), and measure their differences.

    All are compared with the first.  `limits` switches position limits, `friction` is that of all contacts.  With
    `warn`, an EngineWarning reports what an engine does differently from the scene.
    """
    if len(engines) < 2:
        raise ExoskelError("a comparison needs two engines or more, separated by commas")
    if not (np.isfinite(duration) and duration > 0.0):
        raise ExoskelError(f"the duration must be positive and finite, not {duration}")
    options: dict[str, Any] = {"step": step, "limits": limits, "friction": friction, "warn": warn}
    tracks = [_track(Simulation(world, name, **options), duration, samples) for name in engines]
    gaps = [_gap(tracks[0], other) for other in tracks[1:]]
    return Comparison(as_world(world).name, tracks, gaps)


def _track(simulation: Simulation, duration: float, samples: int) -> EngineTrack:
    steps = max(1, step_count(duration, simulation.time_step))
    cuts = np.unique(np.linspace(0, steps, samples + 1).round().astype(int))
    rows: list[tuple[Any, ...]] = []
    seconds = 0.0
    with simulation as one:
        is_soft = any(body.soft and has_surface(body.soft) for body in one.world.bodies())
        has_skin_energy = not is_soft or one.engine.soft_points is not None
        for before, now in zip([0, *cuts.tolist()], cuts.tolist(), strict=False):
            begin = clock.perf_counter()
            for chunk in step_chunks(now - before) if now > before else ():
                one.step(chunk)
            seconds += clock.perf_counter() - begin
            if problem := one.engine.state_problem:
                raise ExoskelError(f"{problem.text} after {one.time:.4g} s; try a smaller time step")
            rows.append((one.time, one.body_poses, one.positions, one.energy, one.contact_count))
    times, poses, positions, energies, contacts = zip(*rows, strict=True)
    return EngineTrack(
        simulation.name,
        np.array(times),
        np.array(poses),
        np.array(positions),
        np.array(energies),
        list(contacts),
        seconds,
        has_skin_energy,
    )


def _gap(one: EngineTrack, other: EngineTrack) -> EngineGap:
    shape = one.poses.shape[:2]
    distance = np.linalg.norm(one.poses[..., :3, 3] - other.poses[..., :3, 3], axis=-1)
    flat = [track.poses.reshape(-1, 4, 4).copy() for track in (one, other)]
    for poses in flat:
        poses[:, :3, 3] = 0.0
    rotation = transform_differences(flat[0], flat[1]).reshape(shape)
    coordinates = np.abs(one.positions - other.positions)
    return EngineGap(
        engines=(one.engine, other.engine),
        position_max=float(distance.max(initial=0.0)),
        position_rms=_rms(distance),
        rotation_max=float(rotation.max(initial=0.0)),
        rotation_rms=_rms(rotation),
        coordinate_max=float(coordinates.max(initial=0.0)),
        coordinate_rms=_rms(coordinates),
        throughput_ratio=other.seconds / one.seconds if one.seconds else float("inf"),
        distance=distance.max(axis=1, initial=0.0),
        rotation=rotation.max(axis=1, initial=0.0),
    )


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2))) if values.size else 0.0
