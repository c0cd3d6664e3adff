"""`exoskel rollout`: simulate many copies of a scene in parallel."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, Any, Literal

from exoskel.cli import terminal
from exoskel.cli.flags import (
    Friction,
    Gravity,
    LimitMode,
    ReadFlags,
    TimeStep,
    WorldName,
    prepare_world,
    print_warnings,
    read_scene,
    select_world,
)
from exoskel.cli.parameters import Argument, between, not_negative, positive
from exoskel.cli.terminal import catch_stop_signals
from exoskel.diagnostics import ExoskelError, has_errors, pluralize, printable
from exoskel.engines.preflight import NotRunnableError, preflight
from exoskel.simulate.options import MAX_THREADS
from exoskel.source.atomic_write import make_folder

if TYPE_CHECKING:
    from exoskel.scene.world import Scene
    from exoskel.simulate.batch.trajectory import BatchTrajectory

_DISTRIBUTION = re.compile(r"(uniform|loguniform|normal)\((.+),(.+)\)$")
_MAX_DIVERGED_LISTED = 5


def rollout(
    files: Annotated[tuple[str, ...], Argument(help="Files to simulate, one after the other; `-` is standard input.")],
    /,
    *,
    worlds: Annotated[int, Argument(help="Number of worlds.", validator=positive)] = 64,
    steps: Annotated[int | None, Argument(help="Number of time steps; default 1000.", validator=not_negative)] = None,
    time: Annotated[
        float | None, Argument(help="Simulated time in s, instead of --steps.", validator=not_negative)
    ] = None,
    vary: Annotated[
        tuple[str, ...],
        Argument(
            help="Parameter to vary: KEY=LOW..HIGH, KEY=A,B,C or KEY=normal(MEAN,DEVIATION). Keys include gravity.z, "
            "friction, body:NAME.mass, joint:NAME.damping and dof:NAME.position. Repeat to vary more.",
        ),
    ] = (),
    seed: Annotated[int, Argument(help="Random seed; each world also uses its number.", validator=not_negative)] = 0,
    backend: Annotated[
        Literal["threads", "gpu", "ray"],
        Argument(help="Where to run: CPU threads, a GPU (MuJoCo Warp), or a Ray cluster."),
    ] = "threads",
    threads: Annotated[
        int | None, Argument(help="Number of threads; default: all cores.", validator=between(1, MAX_THREADS))
    ] = None,
    address: Annotated[str | None, Argument(help="Ray: address of the cluster; default: start one here.")] = None,
    workers: Annotated[int | None, Argument(help="Ray: number of workers to start here.", validator=positive)] = None,
    shard: Annotated[int | None, Argument(help="Ray: number of worlds per task.", validator=positive)] = None,
    device: Annotated[str | None, Argument(help="GPU: device, such as cuda:1 or cpu.")] = None,
    record: Annotated[
        str,
        Argument(
            help="Values to record, separated by commas: positions, velocities, body_poses, energy; all for these "
            "four; forces, reactions and others of `run`."
        ),
    ] = "positions,velocities",
    stride: Annotated[
        int | None, Argument(help="Steps between samples; default: 100 samples per second.", validator=positive)
    ] = None,
    step: TimeStep = None,
    world: WorldName = None,
    gravity: Gravity = (),
    friction: Friction = None,
    limits: LimitMode = "file",
    out: Annotated[
        str | None,
        Argument(
            help="Write the motions to this .npz or .parquet file. With several input files: a folder, which is "
            "created if the name ends in a slash."
        ),
    ] = None,
    json: Annotated[bool, Argument(help="Print the results as JSON.")] = False,
    flags: ReadFlags | None = None,
) -> int:
    """Simulate many copies of a scene with varied parameters and print a summary.

    Exit code 0: all worlds ran. 1: a file has errors, or a motion diverged. 2: it could not run. 130, 143 and
    129: it was interrupted by Ctrl-C, SIGTERM or SIGHUP; the samples recorded so far are saved.
    """
    common: dict[str, Any] = {
        "worlds": worlds,
        "vary": _parse_variations(vary),
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
        "warn": False,
    }
    targets = _targets(files, out)
    scenes = [select_world(read_scene(file, flags), world) for file in files]
    jobs: list[tuple[Scene, dict[str, Any]]] = []
    for scene in scenes:
        limits_enabled = prepare_world(scene, gravity, limits)
        with terminal.spinner("preparing", after=terminal.NOTICEABLE):
            diagnostics = preflight(scene, "warp" if backend == "gpu" else "mujoco", limits=limits_enabled)
        print_warnings(diagnostics)
        if has_errors(diagnostics):  # fail before a long run of another file
            raise NotRunnableError(diagnostics)
        jobs.append((scene, {**common, "limits": limits_enabled, "steps": _steps(scene, steps, time, step)}))
    results: list[dict[str, Any]] = []
    failed = False
    with catch_stop_signals() as stop:
        for number, batch in _run_jobs(jobs, backend):
            scene, target = scenes[number], targets[number]
            if target is not None:
                batch.save(target)
            name = printable(scene.source.name if scene.source else "scene")
            results.append(_summarize(name, backend, batch, target))
            failed |= bool(len(batch.diverged)) or has_errors(scene.diagnostics)
            if not json:
                _print_summary(results[-1])
    if json:
        terminal.write_json(results)
    is_complete = len(results) == len(files) and not any(result["interrupted"] for result in results)
    return int(failed) if is_complete else stop.code


def _run_jobs(jobs: list[tuple[Scene, dict[str, Any]]], backend: str) -> Iterator[tuple[int, BatchTrajectory]]:
    """Run the jobs and yield each result with its number.

    Jobs run one after the other, on a cluster at the same time.  An interruption ends all of them.
    """
    if backend == "ray" and len(jobs) > 1:
        yield from _run_on_cluster(jobs)
        return
    for number, (scene, options) in enumerate(jobs):
        try:
            batch = _run(scene, options)
        except KeyboardInterrupt:  # before the first sample
            return
        yield number, batch
        if batch.meta["interrupted"]:
            return


def _run_on_cluster(jobs: list[tuple[Scene, dict[str, Any]]]) -> Iterator[tuple[int, BatchTrajectory]]:
    from concurrent.futures import ThreadPoolExecutor, wait

    from exoskel.simulate.batch import cluster
    from exoskel.simulate.batch.rollout import rollout as simulate_batch

    cluster.connect(jobs[0][1]["address"], jobs[0][1]["workers"])
    with terminal.spinner("simulating"), ThreadPoolExecutor(len(jobs)) as pool:
        futures = [pool.submit(simulate_batch, scene, **options) for scene, options in jobs]
        try:
            for number, future in enumerate(futures):
                try:
                    wait([future])
                except KeyboardInterrupt:
                    cluster.STOPPED.set()  # the jobs stop and return the samples recorded so far
                with suppress(KeyboardInterrupt):  # a job without any sample
                    yield number, future.result()
        finally:
            cluster.STOPPED.set()
            wait(futures)
            cluster.STOPPED.clear()


def _parse_variations(texts: tuple[str, ...]) -> dict[str, Any]:
    pairs = [parse_variation(text) for text in texts]
    repeated = next((key for key, _ in pairs if [other for other, _ in pairs].count(key) > 1), None)
    if repeated is not None:
        raise ExoskelError(f"--vary is given twice for {repeated!r}")
    return dict(pairs)


def parse_variation(text: str) -> tuple[str, Any]:
    """Parse `KEY=LOW..HIGH` and the other forms of --vary into an item of `rollout(vary=...)`."""
    key, equals, value = text.rpartition("=")
    try:
        if not equals:
            raise ValueError
        if match := _DISTRIBUTION.fullmatch(value.replace(" ", "")):
            return key, (match[1], float(match[2]), float(match[3]))
        if ".." in value:
            low, _, high = value.partition("..")
            return key, (float(low), float(high))
        return key, [float(number) for number in value.split(",")]
    except ValueError:
        raise ExoskelError(
            f"invalid --vary {text!r}: expected KEY=LOW..HIGH, KEY=A,B,C or KEY=normal(MEAN,DEVIATION)"
        ) from None


def _targets(files: tuple[str, ...], out: str | None) -> list[str | None]:
    """The output file for each input file; a target that cannot be written is an error before anything runs."""
    from exoskel.simulate.batch.trajectory import check_batch_target

    if out is None:
        return [None] * len(files)
    is_folder = Path(out).is_dir() or out.endswith(("/", os.sep))
    if len(files) == 1 and not is_folder:
        check_batch_target(out)
        return [out]
    if not is_folder:
        raise ExoskelError(f"--out must be a folder for several files, and {out!r} is not; use {out}/ to create it")
    names = [f"{PurePath(file).stem}.npz" for file in files]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise ExoskelError(f"two input files would be written to the same file, {repeated!r}")
    make_folder(Path(out))
    return [str(Path(out) / name) for name in names]


def _steps(scene: Scene, steps: int | None, time: float | None, step: float | None) -> int:
    from exoskel.simulate.options import step_count

    if time is None:
        return 1000 if steps is None else steps
    if steps is not None:
        raise ExoskelError("use either --steps or --time, not both")
    return step_count(time, step or scene.world.time_step)


def _run(scene: Scene, options: dict[str, Any]) -> BatchTrajectory:
    from exoskel.simulate.batch.rollout import rollout as simulate_batch

    on_device = options.get("backend") == "gpu"
    with terminal.progress_bar(
        "simulating",
        "{task.completed:.0f} of {task.total:.0f} steps",
        options["steps"],
        first="looking for a GPU" if on_device else "",
    ) as progress:
        if on_device and progress is not None:
            options = {**options, "compiling": partial(_show_compiling, progress)}
        return simulate_batch(scene, **options, progress=progress)


def _show_compiling(progress: terminal.ProgressBar, done: int, total: int) -> None:
    progress(0, f"compiling kernels, {done} of {total} modules (cached for later runs)")


def _summarize(name: str, backend: str, batch: BatchTrajectory, target: str | None) -> dict[str, Any]:
    steps, wall = batch.meta["steps"], batch.meta["wall"]
    total = steps * len(batch)
    return {
        "file": name,
        "backend": backend,
        "device": batch.meta["device"],
        "worlds": len(batch),
        "steps": steps,
        "time_step": batch.meta["time_step"],
        "samples": len(batch.time),
        "wall": wall,
        "steps_per_second": total / wall if wall else None,
        "real_time_factor": total * batch.meta["time_step"] / wall if wall else None,
        "interrupted": batch.meta["interrupted"],
        "diverged": [
            {"world": int(batch.numbers[row]), "time": float(batch.time[batch.valid_samples[row] - 1])}
            for row in batch.diverged.tolist()
        ],
        "parameters": {
            key: {"least": values.min(axis=0).tolist(), "most": values.max(axis=0).tolist()}
            for key, values in batch.parameters.items()
        },
        "out": target,
    }


def _print_summary(result: dict[str, Any]) -> None:
    from rich.markup import escape

    console = terminal.console()
    where = f"{result['backend']} ({result['device']})" if result["device"] else result["backend"]
    rate = f", [green]{result['steps_per_second']:,.0f} steps per second[/]" if result["wall"] else ""
    console.print(
        f"[bold]{escape(result['file'])}[/]: {pluralize(result['worlds'], 'world')}, "
        f"{pluralize(result['steps'], 'step')} each, in {result['wall']:.3g} s on {where}{rate}"
    )
    for key, bounds in result["parameters"].items():
        console.print(f"{escape(printable(key))}: {_format_range(bounds)}")
    if result["interrupted"]:
        console.print("[yellow]interrupted[/]: the result contains the samples recorded so far")
    bad = result["diverged"]
    if bad:
        listed = ", ".join(f"{one['world']} after {one['time']:.4g} s" for one in bad[:_MAX_DIVERGED_LISTED])
        more = f" and {len(bad) - _MAX_DIVERGED_LISTED} more" if len(bad) > _MAX_DIVERGED_LISTED else ""
        terminal.print_message(
            f"the simulation of {pluralize(len(bad), 'world')} diverged: {listed}{more}; try a smaller --step"
        )


def _format_range(bounds: dict[str, Any]) -> str:
    least, most = (value if isinstance(value, list) else [value] for value in (bounds["least"], bounds["most"]))
    return ", ".join(f"{low:.4g} to {high:.4g}" for low, high in zip(least, most, strict=True))
