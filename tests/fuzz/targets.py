"""What is fuzzed: each reader, with documents to begin from and what must hold whatever it is given."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

MALFORMED = 0
READ = 1
"""How far an input got: no further than to the parser, or into the making of a scene."""


class Target(NamedTuple):
    """A reader.  `modules` are what its coverage is counted in; `vocabulary` is where mutations take words from."""

    name: str
    run: Callable[[bytes], int]
    seeds: Callable[[], Iterator[bytes]]
    modules: tuple[str, ...]
    vocabulary: str = ""


# --- scenes -------------------------------------------------------------------------------------------


def _scene_runner(format: str) -> Callable[[bytes], int]:
    """Read a document and say all there is to say about it; nothing may raise."""
    from exoskel.formats.options import ReadOptions
    from exoskel.scene.summary import summarize
    from exoskel.source.document import Document
    from exoskel.source.limits import Limits
    from exoskel.source.malformed import Malformed

    read = import_module(f"exoskel.formats.{format}.read").read
    limits = Limits(bytes=2**20, elements=20_000, mesh_bytes=2**20)
    options = [ReadOptions(limits=limits)]
    if format == "skel":
        options.append(ReadOptions(limits=limits, semantics="dart"))
    if format == "xode":
        options += [ReadOptions(limits=limits, dialect="pyode"), ReadOptions(limits=limits, dialect="spec")]

    def run(data: bytes) -> int:
        choice = options[len(data) % len(options)]
        document = Document(data)
        scene = read(document, choice)
        for finding in scene.diagnostics[:50]:
            assert str(finding) and finding.excerpt is not None and finding.path is not None
        summarize(scene)
        if scene.worlds:
            return READ
        try:
            document.parse(limits)
        except (Malformed, ValueError, LookupError):
            return MALFORMED
        return MALFORMED

    return run


def _texts(*documents: Any) -> Iterator[bytes]:
    for document in documents:
        data = document if isinstance(document, bytes) else str(document).encode("utf-8", "surrogatepass")
        if len(data) < 20_000:
            yield data


def _skel_seeds() -> Iterator[bytes]:
    from tests.skel.cases import CASES
    from tests.support.places import SAMPLES, example_files

    yield from _texts(*(case.document for case in CASES.values()))
    yield from _texts(*(path.read_bytes() for path in [*example_files(), *SAMPLES.glob("skel/*.skel")]))


def _xode_seeds() -> Iterator[bytes]:
    from tests.support.places import SAMPLES, TESTS
    from tests.xode.cases import CASES

    yield from _texts(*(case.document for case in CASES.values()))
    yield from _texts(*(path.read_bytes() for path in (TESTS / "xode" / "examples").glob("*.xode")))
    yield from _texts(*(path.read_bytes() for path in SAMPLES.glob("xode/*.xode")))


def _urdf_seeds() -> Iterator[bytes]:
    from tests.urdf.test_read import FINDINGS

    yield from _texts(*(text for text, _ in FINDINGS.values()))


def _sdf_seeds() -> Iterator[bytes]:
    from tests.sdf.documents import DOCUMENTS
    from tests.sdf.test_messages import CASES

    yield from _texts(*DOCUMENTS.values(), *CASES.values())


def _mjcf_seeds() -> Iterator[bytes]:
    import mujoco

    from tests.mjcf.test_read import HUMANOID

    yield from _texts(HUMANOID)
    yield from _texts(*(path.read_bytes() for path in (Path(mujoco.__file__).parent / "testdata").glob("*.xml")))
    body = "<body><{}/><geom size='1'/><body pos='0 0 1'><joint type='{}' axis='0 0 1' range='-1 1'/><geom size='1'/></body></body>"
    for kind in ("hinge", "slide", "ball"):
        yield f"<mujoco><worldbody>{body.format('freejoint', kind)}</worldbody></mujoco>".encode()


def _whole(format: str) -> tuple[str, ...]:
    return (f"exoskel.formats.{format}",)


# --- other files --------------------------------------------------------------------------------------


def _run_trajectory(data: bytes) -> int:
    from exoskel.diagnostics import ExoskelError
    from exoskel.simulate.trajectory import Trajectory

    folder = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.NamedTemporaryFile(suffix=".npz", dir=folder) as file:
        file.write(data)
        file.flush()
        try:
            found = Trajectory.load(file.name)
        except ExoskelError:
            return MALFORMED
    assert len(found.time) == len(found.positions)
    repr(found)
    return READ


def _trajectory_seeds() -> Iterator[bytes]:
    shapes: dict[str, Any] = {
        "time": np.zeros(2),
        "body_names": np.array(["m/b"]),
        "body_poses": np.zeros((2, 1, 7)),
        "dof_names": np.array(["j"]),
        "positions": np.zeros((2, 1)),
        "velocities": np.zeros((2, 1)),
        "energy": np.zeros((2, 2)),
        "meta": np.array('{"format": 1}'),
    }
    for save in (np.savez, np.savez_compressed):
        for left_out in ("", "meta", "time"):
            file = io.BytesIO()
            save(file, **{key: value for key, value in shapes.items() if key != left_out})
            yield file.getvalue()
    for odd in (np.array("[" * 3000), np.array("[]"), np.array(3.0), np.zeros((2, 2), dtype="V8")):
        file = io.BytesIO()
        np.savez(file, **{**shapes, "meta": odd})
        yield file.getvalue()
    yield b"\x93NUMPY\x01\x00"


def _run_comment(data: bytes) -> int:
    from exoskel.formats.xode.comment import parse

    found = parse("odeenvironment parameters\n" + data.decode("utf-8", "replace"))
    assert all(isinstance(name, str) for name in found.affixed)
    return READ


def _comment_seeds() -> Iterator[bytes]:
    sections = {
        "passpairs": "['a', 'b']\n('a','b','c')\n[1]\n[",
        "affixToEnvironment": "body",
        "colors": "('a', (1.0, 0.5, 0, 0.8))\n('b', (1,))\n('c', 'x')",
        "centerOn": "body",
        "odd": "x",
    }
    for name, text in sections.items():
        yield f"<{name}>\n{text}\n<end>\n".encode()
    yield "".join(f"<{name}>\n{text}\n" for name, text in sections.items()).encode()


@cache
def _runner(format: str) -> Callable[[bytes], int]:
    return _scene_runner(format)


def _lazily(format: str) -> Callable[[bytes], int]:
    """The fuzzer has to see the reader being imported."""

    def run(data: bytes) -> int:
        return _runner(format)(data)

    return run


TARGETS = {
    target.name: target
    for target in (
        Target("skel", _lazily("skel"), _skel_seeds, _whole("skel"), "skel"),
        Target("xode", _lazily("xode"), _xode_seeds, _whole("xode"), "xode"),
        Target("urdf", _lazily("urdf"), _urdf_seeds, _whole("urdf"), "urdf"),
        Target("sdf", _lazily("sdf"), _sdf_seeds, _whole("sdf"), "sdf"),
        Target("mjcf", _lazily("mjcf"), _mjcf_seeds, ("exoskel.formats.mjcf.reading", "exoskel.formats.mjcf.read")),
        Target("trajectory", _run_trajectory, _trajectory_seeds, ("exoskel.simulate.trajectory",)),
        Target("comment", _run_comment, _comment_seeds, ("exoskel.formats.xode.comment",)),
    )
}  # fmt: skip

WRITING = ("write", "writing", "edit", "editing", "fixes", "losses", "lowering", "emit", "surfaces", "feeds")
"""Parts of a format's package that no reader uses."""
