"""The time that MuJoCo's compiler gets for a document."""

from __future__ import annotations

import pytest

from exoskel.formats.mjcf.reader.compiler import CompilerTimeError, allowed_seconds, compile_document

FREE = '<body><freejoint/><geom size="0.1"/></body>'


def document(bodies: str) -> str:
    return f"<mujoco><worldbody>{bodies}</worldbody></mujoco>"


def test_three_thousand_free_bodies_get_more_time_than_the_default() -> None:
    assert allowed_seconds(document(FREE * 3000), 7.0) == 63
    assert allowed_seconds(document(FREE), 7.0) == 7


def test_repeated_bodies_get_no_more_time() -> None:
    assert allowed_seconds(document(f'<replicate count="20000">{FREE}</replicate>'), 7.0) == 7


def test_the_time_for_free_bodies_is_bounded() -> None:
    assert allowed_seconds(document(FREE * 20_000), 7.0) == 63


def test_a_document_that_needs_far_more_time_is_refused_at_once() -> None:
    with pytest.raises(CompilerTimeError, match="63 s"):
        compile_document(document(FREE * 20_000), {}, 60_000.0, 7.0)
