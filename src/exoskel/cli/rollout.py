"""`exoskel rollout`: many worlds at once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from exoskel.cli import output
from exoskel.cli.reading import Flag, ReadFlags, read
from exoskel.cli.simulating import Friction, Gravity, Limits, Step, WorldName, choose, prepare, show
from exoskel.diagnostics import ExoskelError, Severity, printable
from exoskel.engines.preflight import preflight

if TYPE_CHECKING:
    from exoskel.scene.world import Scene
    from exoskel.simulate.batch.trajectory import BatchTrajectory

_LAW = re.compile(r"(uniform|loguniform|normal)\((.+),(.+)\)$")
_MOST_NAMED = 5


def rollout(
    files: Annotated[tuple[str, ...], Parameter(help="The files, one after the other; `-` is standard input.")],
    /,
    *,
    worlds: Annotated[int, Parameter(help="How many worlds.")] = 64,
    steps: Annotated[int | None, Parameter(help="How many time steps; 1000 if no time is given.")] = None,
    time: Annotated[float | None, Parameter(help="How long to simulate, in s, instead of steps.")] = None,
    vary: Annotated[
        tuple[str, ...],
        Parameter(
            help="What differs: KEY=LOW..HIGH, KEY=A,B,C or KEY=normal(MEAN,DEVIATION); keys are gravity.z, friction, "
            "body:NAME.mass, joint:NAME.damping, dof:NAME.position and the like. May be given several times.",
            show_default=False,
        ),
    ] = (),
    seed: Annotated[int, Parameter(help="What random values follow from, with the number of the world.")] = 0,
    backend: Annotated[
        Literal["threads", "gpu", "ray"],
        Parameter(help="What runs them: this machine's cores, a GPU (MuJoCo Warp), or a Ray cluster."),
    ] = "threads",
    threads: Annotated[int | None, Parameter(help="How many threads; all cores if not given.")] = None,
    address: Annotated[str | None, Parameter(help="Ray: where the cluster is; one is started here otherwise.")] = None,
    workers: Annotated[int | None, Parameter(help="Ray: how many workers are started here.")] = None,
    shard: Annotated[int | None, Parameter(help="Ray: how many worlds a worker takes at once.")] = None,
    device: Annotated[str | None, Parameter(help="GPU: which one, such as cuda:1 or cpu.")] = None,
    record: Annotated[
        str, Parameter(help="What is kept, separated by commas: positions, velocities, body_poses, energy; or all.")
    ] = "positions,velocities",
    stride: Annotated[int | None, Parameter(help="Steps between samples; 100 samples a second if not given.")] = None,
    step: Step = None,
    world: WorldName = None,
    gravity: Gravity = (),
    friction: Friction = None,
    limits: Limits = "file",
    out: Annotated[
        str | None, Parameter(help="Write the motions to this file, .npz or .parquet; for several files, a folder.")
    ] = None,
    json: Annotated[Flag, Parameter(help="Print the figures as JSON.")] = False,
    flags: ReadFlags | None = None,
) -> int:
    """Simulate many copies of a scene, each with values of its own, and tell how it went.

    Exit code 0: all of them ran. 1: a file has errors, or a motion exploded. 2: it could not run.
    """
    if not files:
        raise ExoskelError("no file is given")
    common: dict[str, Any] = {
        "worlds": worlds,
        "vary": dict(parse(one) for one in vary),
        "seed": seed,
        "backend": backend,
        "threads": threads,
        "address": address,
        "workers": workers,
        "shard": shard,
        "device": device,
        "record": "all" if record == "all" else tuple(name.strip() for name in record.split(",")),
        "stride": stride,
        "step": step,
        "friction": friction,
    }
    targets = _targets(files, out)
    scenes = [choose(read(file, flags), world) for file in files]
    jobs: list[tuple[Scene, dict[str, Any]]] = []
    for scene in scenes:
        switched = prepare(scene, gravity, limits)
        show(preflight(scene, "warp" if backend == "gpu" else "mujoco", limits=switched))
        jobs.append((scene, {**common, "limits": switched, "steps": _steps(scene, steps, time, step)}))
    told: list[dict[str, Any]] = []
    failed = False
    for scene, target, found in zip(scenes, targets, _results(jobs, backend), strict=True):
        if target is not None:
            found.save(target)
        name = printable(scene.source.name if scene.source else "scene")
        told.append(_figures(name, backend, found, target))
        failed |= bool(len(found.diverged)) or any(d.severity is Severity.ERROR for d in scene.diagnostics)
        if not json:
            _tell(told[-1])
    if json:
        output.write_json(told)
    return int(failed)


def _results(jobs: list[tuple[Scene, dict[str, Any]]], backend: str) -> Iterator[BatchTrajectory]:
    """One after the other; on a cluster all at the same time."""
    if backend != "ray" or len(jobs) == 1:
        for scene, options in jobs:
            yield _run(scene, options)
        return
    from concurrent.futures import ThreadPoolExecutor

    from exoskel.simulate.batch import cluster
    from exoskel.simulate.batch.rollout import rollout as roll

    cluster.connect(jobs[0][1]["address"], jobs[0][1]["workers"])
    with output.working("simulating"), ThreadPoolExecutor(len(jobs)) as pool:
        yield from pool.map(lambda job: roll(job[0], **job[1]), jobs)


def parse(stated: str) -> tuple[str, Any]:
    """`KEY=LOW..HIGH` and the like as a key and what the library takes."""
    key, equals, value = stated.rpartition("=")
    try:
        if not equals:
            raise ValueError
        if match := _LAW.fullmatch(value.replace(" ", "")):
            return key, (match[1], float(match[2]), float(match[3]))
        if ".." in value:
            low, _, high = value.partition("..")
            return key, (float(low), float(high))
        return key, [float(word) for word in value.split(",")]
    except ValueError:
        raise ExoskelError(
            f"--vary {stated!r} is not understood: KEY=LOW..HIGH, KEY=A,B,C or KEY=normal(MEAN,DEVIATION)"
        ) from None


def _targets(files: tuple[str, ...], out: str | None) -> list[str | None]:
    """Where each file's motions go; what could not be written is told before anything runs."""
    from exoskel.simulate.batch.trajectory import check_batch_target

    if out is None:
        return [None] * len(files)
    if len(files) == 1 and not Path(out).is_dir():
        check_batch_target(out)
        return [out]
    if not Path(out).is_dir():
        raise ExoskelError(f"the motions of several files go to a folder, and {out!r} is none")
    names = [f"{PurePath(file).stem}.npz" for file in files]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ExoskelError(f"two of the files would be written to {twice!r}")
    return [str(Path(out) / name) for name in names]


def _steps(scene: Scene, steps: int | None, time: float | None, step: float | None) -> int:
    if time is None:
        return 1000 if steps is None else steps
    if steps is not None:
        raise ExoskelError("give either --steps or --time")
    if not 0.0 <= time < float("inf"):
        raise ExoskelError(f"a time has to be finite and not negative, not {time}")
    return round(time / (step or scene.world.time_step))


def _run(scene: Scene, options: dict[str, Any]) -> BatchTrajectory:
    from exoskel.simulate.batch.rollout import rollout as roll

    with output.progress("simulating", "{task.completed:.0f} of {task.total:.0f} steps", options["steps"]) as progress:
        return roll(scene, **options, progress=progress)


def _figures(name: str, backend: str, found: BatchTrajectory, target: str | None) -> dict[str, Any]:
    steps, wall = found.meta["steps"], found.meta["wall"]
    total = steps * len(found)
    return {
        "file": name,
        "backend": backend,
        "device": found.meta["device"],
        "worlds": len(found),
        "steps": steps,
        "time_step": found.meta["time_step"],
        "samples": len(found.time),
        "wall": wall,
        "steps_per_second": total / wall if wall else None,
        "real_time_factor": total * found.meta["time_step"] / wall if wall else None,
        "interrupted": found.meta["interrupted"],
        "diverged": [
            {"world": number, "time": float(found.time[found.sound[number] - 1])} for number in found.diverged.tolist()
        ],
        "parameters": {
            key: {"least": values.min(axis=0).tolist(), "most": values.max(axis=0).tolist()}
            for key, values in found.parameters.items()
        },
        "out": target,
    }


def _tell(told: dict[str, Any]) -> None:
    from rich.markup import escape

    console = output.console()
    where = f"{told['backend']} ({told['device']})" if told["device"] else told["backend"]
    rate = f", [green]{told['steps_per_second']:,.0f} steps a second[/]" if told["wall"] else ""
    console.print(
        f"[bold]{escape(told['file'])}[/]: {output.counted(told['worlds'], 'world')}, "
        f"{output.counted(told['steps'], 'step')} each, in {told['wall']:.3g} s on {where}{rate}"
    )
    for key, spread in told["parameters"].items():
        console.print(f"{escape(printable(key))}: {_spread(spread)}")
    if told["interrupted"]:
        console.print("[yellow]interrupted[/]: what was simulated so far is kept")
    bad = told["diverged"]
    if bad:
        named = ", ".join(f"{one['world']} after {one['time']:.4g} s" for one in bad[:_MOST_NAMED])
        more = f" and {len(bad) - _MOST_NAMED} more" if len(bad) > _MOST_NAMED else ""
        output.complain(
            f"the motion of {output.counted(len(bad), 'world')} exploded: {named}{more}; a smaller time step may help"
        )


def _spread(told: dict[str, Any]) -> str:
    least, most = (value if isinstance(value, list) else [value] for value in (told["least"], told["most"]))
    return ", ".join(f"{low:.4g} to {high:.4g}" for low, high in zip(least, most, strict=True))
