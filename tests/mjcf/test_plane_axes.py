"""A plane of MJCF keeps its axes: they are those of the textures on it."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import exoskel
from exoskel.source.output_context import Target


def planes(text: str) -> list[np.ndarray]:
    """The axes of the planes in the world."""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    kinds = model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE
    return [data.geom_xmat[number].reshape(3, 3) for number in np.flatnonzero(kinds)]


@given(angles=st.tuples(*[st.floats(-180.0, 180.0)] * 3))
@settings(max_examples=10, deadline=None)
@pytest.mark.parametrize("target", ["portable", "dart"])  # a copy, and a new document
def test_planes_of_mjcf_have_the_same_axes_after_any_number_of_conversions(
    target: Target, angles: tuple[float, float, float]
) -> None:
    turn = " ".join(map(str, angles))
    text = f"""<mujoco><worldbody><geom type="plane" size="1 1 1" euler="{turn}"/>
      <body pos="0 0 2"><freejoint/><geom size="0.1"/></body></worldbody></mujoco>"""
    (before,) = planes(text)
    for _ in range(3):
        text = exoskel.convert(text, None, to="mjcf", target=target).data.decode()
        (after,) = planes(text)
        assert after == pytest.approx(before, abs=1e-9)


def test_the_document_is_the_same_after_the_first_conversion() -> None:
    text = exoskel.convert("dart://sample/xode/box_and_sphere.xode", None, to="mjcf").data
    assert b'type="plane"' in text
    assert exoskel.convert(text, None, to="mjcf").data == text
