"""Small documents that expand, or that have very many or very deeply chained parts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import exoskel
from exoskel.diagnostics import has_errors
from exoskel.source.limits import Limits
from tests.hostile.document_bombs import BOMBS, sdf_chain, skel_chain, urdf_chain, xode_chain

EXTENSIONS = {"mjcf": "xml", "xacro": "urdf.xacro"}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_read_or_reported_within_the_limits(name: str, tmp_path: Path) -> None:
    kind, make = BOMBS[name]
    content = make()
    data = content.encode() if isinstance(content, str) else content
    assert len(data) < 1_000_000
    file = tmp_path / f"bomb.{EXTENSIONS.get(kind, kind)}"
    file.write_bytes(data)
    scene = exoskel.load(file, limits=Limits(seconds=1.0))  # of processor time, in child processes
    assert scene.worlds or has_errors(scene.diagnostics)


@pytest.mark.parametrize(
    ("chain", "to"),
    [
        *((skel_chain, to) for to in ("xode", "urdf", "sdf", "usd", "gltf")),
        *((chain, "skel") for chain in (xode_chain, urdf_chain, sdf_chain)),
    ],
)
def test_a_chain_deeper_than_the_stack_is_converted(chain: Callable[[int], str], to: str) -> None:
    report = exoskel.convert(chain(1100).encode(), to=to)
    assert report.certificate.passed
