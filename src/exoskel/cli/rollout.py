"""`exoskel rollout`: many worlds at once."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from exoskel.cli import terminal
from exoskel.cli.interrupts import stopping
from exoskel.cli.read_flags import Flag, ReadFlags, read
from exoskel.cli.simulation_flags import Friction, Gravity, Limits, Step, WorldName, choose, prepare, show
from exoskel.diagnostics import ExoskelError, has_errors, printable
from exoskel.engines.preflight import NotRunnableError, preflight

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
        str | None,
        Parameter(
            help="Write the motions to this file, .npz or .parquet; for several files to a folder, made if its "
            "name ends in a slash."
        ),
    ] = None,
    json: Annotated[Flag, Parameter(help="Print the figures as JSON.")] = False,
    flags: ReadFlags | None = None,
) -> int:
    """Simulate many copies of a scene, each with values of its own, and tell how it went.

    Exit code 0: all of them ran. 1: a file has errors, or a motion exploded. 2: it could not run. 130 or 143: it was
    stopped, and what was simulated is kept.
    """
    if not files:
        raise ExoskelError("no file is given")
    common: dict[str, Any] = {
        "worlds": worlds,
        "vary": _varied(vary),
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
        findings = preflight(scene, "warp" if backend == "gpu" else "mujoco", limits=switched)
        show(findings)
        if has_errors(findings):  # before another file runs for long
            raise NotRunnableError(findings)
        jobs.append((scene, {**common, "limits": switched, "steps": _steps(scene, steps, time, step)}))
    told: list[dict[str, Any]] = []
    failed = False
    with stopping() as stop:
        for number, found in _results(jobs, backend):
            scene, target = scenes[number], targets[number]
            if target is not None:
                found.save(target)
            name = printable(scene.source.name if scene.source else "scene")
            told.append(_figures(name, backend, found, target))
            failed |= bool(len(found.diverged)) or has_errors(scene.diagnostics)
            if not json:
                _tell(told[-1])
    if json:
        terminal.write_json(told)
    is_complete = len(told) == len(files) and not any(one["interrupted"] for one in told)
    return int(failed) if is_complete else stop.code


def _results(jobs: list[tuple[Scene, dict[str, Any]]], backend: str) -> Iterator[tuple[int, BatchTrajectory]]:
    """One after the other, by their numbers; on a cluster all at the same time.  An interruption ends them all."""
    if backend == "ray" and len(jobs) > 1:
        yield from _at_once(jobs)
        return
    for number, (scene, options) in enumerate(jobs):
        try:
            found = _run(scene, options)
        except KeyboardInterrupt:  # before there was anything to keep
            return
        yield number, found
        if found.meta["interrupted"]:
            return


def _at_once(jobs: list[tuple[Scene, dict[str, Any]]]) -> Iterator[tuple[int, BatchTrajectory]]:
    from concurrent.futures import ThreadPoolExecutor, wait

    from exoskel.simulate.batch import cluster
    from exoskel.simulate.batch.rollout import rollout as roll

    cluster.connect(jobs[0][1]["address"], jobs[0][1]["workers"])
    with terminal.working("simulating"), ThreadPoolExecutor(len(jobs)) as pool:
        futures = [pool.submit(roll, scene, **options) for scene, options in jobs]
        try:
            for number, future in enumerate(futures):
                try:
                    wait([future])
                except KeyboardInterrupt:
                    cluster.STOPPED.set()  # they end by themselves, with what they have
                with suppress(KeyboardInterrupt):  # that one has nothing to keep
                    yield number, future.result()
        finally:
            cluster.STOPPED.set()
            wait(futures)
            cluster.STOPPED.clear()


def _varied(stated: tuple[str, ...]) -> dict[str, Any]:
    pairs = [parse(one) for one in stated]
    twice = next((key for key, _ in pairs if [other for other, _ in pairs].count(key) > 1), None)
    if twice is not None:
        raise ExoskelError(f"--vary is given twice for {twice!r}")
    return dict(pairs)


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
    is_folder = Path(out).is_dir() or out.endswith(("/", os.sep))
    if len(files) == 1 and not is_folder:
        check_batch_target(out)
        return [out]
    if not is_folder:
        raise ExoskelError(f"the motions of several files go to a folder, and {out!r} is none; {out}/ would be made")
    names = [f"{PurePath(file).stem}.npz" for file in files]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ExoskelError(f"two of the files would be written to {twice!r}")
    try:
        Path(out).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ExoskelError(f"the folder {out!r} cannot be made: {error.strerror}") from None
    return [str(Path(out) / name) for name in names]


def _steps(scene: Scene, steps: int | None, time: float | None, step: float | None) -> int:
    from exoskel.simulate.options import check_positive

    if time is None:
        return 1000 if steps is None else steps
    if steps is not None:
        raise ExoskelError("give either --steps or --time")
    if not 0.0 <= time < float("inf"):
        raise ExoskelError(f"a time has to be finite and not negative, not {time}")
    check_positive("a time step", step)
    return round(time / (step or scene.world.time_step))


def _run(scene: Scene, options: dict[str, Any]) -> BatchTrajectory:
    from exoskel.simulate.batch.rollout import rollout as roll

    with terminal.progress(
        "simulating", "{task.completed:.0f} of {task.total:.0f} steps", options["steps"]
    ) as progress:
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
            {"world": int(found.numbers[row]), "time": float(found.time[found.sound[row] - 1])}
            for row in found.diverged.tolist()
        ],
        "parameters": {
            key: {"least": values.min(axis=0).tolist(), "most": values.max(axis=0).tolist()}
            for key, values in found.parameters.items()
        },
        "out": target,
    }


def _tell(told: dict[str, Any]) -> None:
    from rich.markup import escape

    console = terminal.console()
    where = f"{told['backend']} ({told['device']})" if told["device"] else told["backend"]
    rate = f", [green]{told['steps_per_second']:,.0f} steps a second[/]" if told["wall"] else ""
    console.print(
        f"[bold]{escape(told['file'])}[/]: {terminal.counted(told['worlds'], 'world')}, "
        f"{terminal.counted(told['steps'], 'step')} each, in {told['wall']:.3g} s on {where}{rate}"
    )
    for key, spread in told["parameters"].items():
        console.print(f"{escape(printable(key))}: {_spread(spread)}")
    if told["interrupted"]:
        console.print("[yellow]interrupted[/]: what was simulated so far is kept")
    bad = told["diverged"]
    if bad:
        named = ", ".join(f"{one['world']} after {one['time']:.4g} s" for one in bad[:_MOST_NAMED])
        more = f" and {len(bad) - _MOST_NAMED} more" if len(bad) > _MOST_NAMED else ""
        terminal.complain(
            f"the motion of {terminal.counted(len(bad), 'world')} exploded: {named}{more}; a smaller time step may help"
        )


def _spread(told: dict[str, Any]) -> str:
    least, most = (value if isinstance(value, list) else [value] for value in (told["least"], told["most"]))
    return ", ".join(f"{low:.4g} to {high:.4g}" for low, high in zip(least, most, strict=True))
