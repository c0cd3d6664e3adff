"""A process that has everything imported and forks a child for each file, with limits on time and memory.

A request is a line of JSON with the path, format, options and limits; the answer is a line of JSON.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import signal
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from exoskel.cli.main import main as command
from exoskel.diagnostics import ExoskelError
from exoskel.formats import registry
from exoskel.formats.interface import ReadOptions
from exoskel.formats.load import load, open_document
from exoskel.scene.summary import summarize
from exoskel.scene.world import Scene

MEBI = 2**20
_SMALL = 5 * MEBI
"""Larger files are not printed as well: that takes long without testing anything new."""


def read(path: str, format: str, options: dict[str, Any]) -> Scene:
    if format in [one.name for one in registry.FORMATS]:
        return load(path, **options)
    scene: Scene = import_module(f"exoskel.formats.{format}.read").read(open_document(path), ReadOptions(**options))
    return scene


def read_and_print(request: dict[str, Any]) -> dict[str, Any]:
    """Read the file as a user would, and print its diagnostics in all formats."""
    begin = time.process_time()
    try:
        scene = read(request["path"], request["format"], request["options"])
    except ExoskelError as error:
        return {"refused": str(error), "seconds": time.process_time() - begin}
    keys = sorted({finding.key for finding in scene.diagnostics})
    shown = "".join(f"{d} {d.hint} {d.reader_note} {d.path} {d.excerpt}" for d in scene.diagnostics[:1000])
    summary = json.dumps(summarize(scene))
    result = {"keys": keys, "findings": len(scene.diagnostics), "worlds": len(scene.worlds)}
    result["seconds"] = time.process_time() - begin
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    if request["format"] in ("skel", "xode") and os.path.getsize(request["path"]) < _SMALL:
        sys.stdout = sys.stderr = output  # type: ignore[assignment]
        with contextlib.suppress(SystemExit):
            result["exit"] = command(["check", request["path"]])
        output.flush()
    printed = output.buffer.getvalue().decode("utf-8")  # type: ignore[attr-defined]
    result["controls"] = sorted(
        {
            hex(ord(c))
            for c in printed
            if (ord(c) < 32 and c != "\n")
            or 127 <= ord(c) < 160
            or 0x202A <= ord(c) <= 0x202E
            or 0x2066 <= ord(c) <= 0x2069
        }
    )
    result["leaks"] = bool(request["secret"]) and request["secret"] in printed + shown + summary
    result["internal"] = "internal error" in printed
    return result


def attend(request: dict[str, Any], parent: int) -> dict[str, Any]:
    """Read a file in a child process; a crash of the child is an answer too."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + request["memory"] * MEBI,) * 2)
        resource.setrlimit(resource.RLIMIT_CPU, (int(request["seconds"] * 3) + 5,) * 2)
        signal.alarm(int(request["seconds"] * 10) + 30)  # in case a file blocks without using the CPU
        os.chdir(os.path.dirname(request["path"]))
        try:
            answer = read_and_print(request)
        except BaseException as error:
            answer = {"raised": f"{type(error).__name__}: {error}"[:300]}
        with os.fdopen(writing, "w") as pipe:
            pipe.write(json.dumps(answer))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    result: dict[str, Any] = json.loads(text) if text else {"died": code}
    return result


def main() -> None:
    import_module("trimesh")
    import_module("collada")
    import_module("mujoco")
    for format in ("urdf", "sdf", "mjcf", "skel", "xode"):
        import_module(f"exoskel.formats.{format}.read")
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        answers.write(json.dumps(attend(json.loads(line), os.getpid())) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
