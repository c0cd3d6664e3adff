"""Command lines and documents that ask for too much: odd values of options, and small MJCF files that expand.

A command line is a line of JSON.  Commands answer with a documented exit code and never with an internal error.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.hostile import document_bombs

SAMPLES = ("dart://sample/skel/double_pendulum.skel", "dart://sample/xode/four_bar.xode", "dart://sample/skel/car.skel")
EXIT_CODES = (0, 1, 2)
NUMBERS = (
    "0", "-0", "1", "-1", "nan", "inf", "-inf", "1e308", "-1e308", "1e-308", "5e-324", "1e400", "99999999999",
    "99999999999999999999", "-99999999999", "0x10", "1__0", "１", "1,5", "", " ", "é", "[red]", "\u202e", "1.5", "true",
)  # fmt: skip
READING = ("--max-bytes", "--max-depth", "--max-elements", "--max-seconds", "--format", "--semantics", "--dialect")
RUNNING = ("--time", "--step", "--friction", "--gravity", "--limits", "--world")
OPTIONS = {
    "check": READING,
    "info": READING,
    "run": (*READING, *RUNNING, "--engine", "--integrator", "--start"),
    "rollout": (*READING, *RUNNING, "--steps", "--worlds", "--threads", "--seed", "--stride", "--record", "--shard"),
    "compare": (*READING, *RUNNING, "--engines"),
    "describe": (),
    "explain": (),
}
SHORT = {
    "run": ("--time", "0.01"),
    "rollout": ("--steps", "2"),
    "compare": ("--engines", "mujoco,mujoco", "--time", "0.01"),
}
"""Options that keep a valid run short."""


def command_lines() -> Iterator[bytes]:
    """Valid command lines."""
    for sample in SAMPLES[:2]:
        for command in ("check", "info", "run", "rollout"):
            yield json.dumps([command, sample, *SHORT.get(command, ())]).encode()


def mutate_command_line(data: bytes, rng: random.Random, _other: bytes) -> bytes:
    """A command with some options that have odd values."""
    command = rng.choice(list(OPTIONS))
    given = list(SHORT.get(command, ()))
    for option in rng.sample(OPTIONS[command], min(len(OPTIONS[command]), rng.randint(1, 3))):
        value = rng.choice(NUMBERS)
        if option in given:
            given[given.index(option) + 1] = value
        else:
            given += [option, value] if rng.random() < 0.8 else [f"{option}={value}"]
    return json.dumps([command, rng.choice(SAMPLES), *given]).encode()


def run_command_line(data: bytes) -> int:
    """Run a command in a folder of its own; returns whether it is a command."""
    try:
        arguments = json.loads(data)
    except ValueError:
        return 0
    if not isinstance(arguments, list) or not arguments or not all(isinstance(one, str) for one in arguments):
        return 0
    if arguments[0] not in OPTIONS:
        return 0
    code, output, errors = run_in_folder([one.replace("\0", "") for one in arguments], lambda _: None)
    printed = output + errors
    assert code in EXIT_CODES, (arguments, code)
    assert "internal error" not in printed and "Traceback" not in printed, (arguments, printed)
    return 1


def run_in_folder(arguments: list[str], prepare: Callable[[Path], None]) -> tuple[int, str, str]:
    """Run a command in a new folder; returns its exit code and what it prints."""
    from exoskel.cli.main import main

    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2)]
    here = os.getcwd()
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.redirect_stdout(streams[0]),
        contextlib.redirect_stderr(streams[1]),
    ):
        prepare(Path(folder))
        os.chdir(folder)
        try:
            code = main(arguments)
        finally:
            os.chdir(here)
    for stream in streams:
        stream.flush()
    output, errors = (stream.buffer.getvalue().decode() for stream in streams)  # type: ignore[attr-defined]
    return code, output, errors


# --- documents that expand ----------------------------------------------------------------------------

COUNTS = ("1", "3", "60", "4000", "20000", "1e9", "-5", "nan", "99999999999999999999")


def bombs() -> Iterator[bytes]:
    """Documents that expand a little."""
    for count in ("2", "3"):
        yield f'<mujoco><worldbody><replicate count="{count}"><geom size="1"/></replicate></worldbody></mujoco>'.encode()


_SCALED = (
    document_bombs.skel_chain,
    document_bombs.skel_skeletons,
    document_bombs.xode_chain,
    document_bombs.urdf_chain,
    document_bombs.sdf_chain,
)
_DOUBLED = (document_bombs.doubled_macros, document_bombs.doubled_properties, document_bombs.doubled_blocks)


def mutate_bomb(data: bytes, rng: random.Random, _other: bytes) -> bytes:
    """A document that expands, or a long chain, in any format."""
    chance = rng.random()
    if chance < 0.15:
        return rng.choice(_SCALED)(rng.choice((1, 2, 30, 700))).encode()
    if chance < 0.25:
        return rng.choice(_DOUBLED)(rng.choice((1, 2, 5, 30))).encode()
    return _mutate_mjcf_bomb(rng)


def _mutate_mjcf_bomb(rng: random.Random) -> bytes:
    """Nested replicas, generated meshes, height fields, many bodies, many contact bits, or deep nesting."""
    inside = rng.choice(
        ['<geom size="1"/>', '<body><freejoint/><geom size="1"/></body>', document_bombs.FREE, "<body/>", "<site/>"]
    )
    for _ in range(rng.randint(0, 3)):
        inside = f'<replicate count="{rng.choice(COUNTS)}">{inside}</replicate>'
    if rng.random() < 0.3:
        inside *= rng.choice((1, 10, 3000))
    if rng.random() < 0.2:
        depth = rng.choice((10, 190, 300))
        inside = "<body><joint/><geom size='1'/>" * depth + inside + "</body>" * depth
    if rng.random() < 0.2:
        inside += "".join(f'<geom size="1" contype="{n}" conaffinity="{rng.getrandbits(8)}"/>' for n in range(2000))
    mesh = rng.choice(("sphere", "supertorus", "supersphere", "wedge", "plate", "cone"))
    params = " ".join(rng.choice((*COUNTS, ".5")) for _ in range(rng.randint(1, 4)))
    sizes = f'nrow="{rng.choice(COUNTS)}" ncol="{rng.choice(COUNTS)}"'
    assets = rng.choice(
        ("", f'<mesh name="m" builtin="{mesh}" params="{params}"/>', f'<hfield name="h" {sizes} size="1 1 1 1"/>')
    )
    return f"<mujoco><asset>{assets}</asset><worldbody>{inside}</worldbody></mujoco>".encode()


def run_bomb(data: bytes) -> int:
    """Read a document; it has to be answered, whatever it asks for."""
    from exoskel.diagnostics import has_errors
    from exoskel.formats.load import load
    from exoskel.source.limits import Limits

    scene = load(data, limits=Limits(seconds=1.0))
    assert scene.worlds or has_errors(scene.diagnostics)
    return 1
