"""Models in models: names through many levels, and more levels than the limit."""

from __future__ import annotations

from pathlib import Path

import exoskel
from exoskel.formats.sdf import context
from tests.sdf.support import Read, load_text


def _nested(levels: int, inside: str, reference: str = "") -> str:
    for number in range(levels):
        inside = f'<model name="m{number}">{inside}</model>'
    return f'<sdf version="1.9"><model name="top"><link name="l">{reference}</link>{inside}</model></sdf>'


def test_a_name_is_looked_up_once_per_level() -> None:
    levels = 45
    path = "::".join(f"m{number}" for number in reversed(range(levels)))
    inner = '<link name="l"><pose>1 0 0 0 0 0</pose></link>'
    read = Read(load_text(_nested(levels, inner, f'<pose relative_to="{path}::l">0 2 0 0 0 0</pose>')))
    assert read.model.bodies[0].pose.position == (1.0, 2.0, 0.0)


def test_a_name_that_can_be_split_in_many_ways_is_looked_up_once_per_part() -> None:
    scope = inner = context.Scope()
    for _ in range(60):
        below = context.Scope()
        for name in ("a", "a::a"):
            inner.nested[name] = below
            inner.frames[name] = context.NamedFrame(name, None, 0)  # type: ignore[arg-type]
        inner = below
    assert not scope.has_frame("::".join(["a"] * 61 + ["b"]))


def test_files_that_include_each_other_cannot_nest_models_deeper_than_the_limit(tmp_path: Path) -> None:
    for number in range(12):
        inside = f"<include><uri>s{number + 1}.sdf</uri></include>" if number < 11 else '<link name="l"/>'
        for level in range(90):
            inside = f'<model name="m{level}">{inside}</model>'
        (tmp_path / f"s{number}.sdf").write_text(f'<sdf version="1.9">{inside}</sdf>')
    keys = [found.key for found in exoskel.load(tmp_path / "s0.sdf").diagnostics]
    assert "SD034" in keys
