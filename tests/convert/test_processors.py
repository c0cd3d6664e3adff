"""The same bytes are written on every processor: last bits of computed numbers make no difference."""

from __future__ import annotations

import numpy as np
import pytest

from exoskel import spatial
from exoskel.formats.usd.write import principal_axes
from exoskel.source.document import Document
from exoskel.source.markup import Markup
from exoskel.source.numbers import given_numbers, round_json, round_markup, round_vector
from tests.convert.processors import files, noise, written


@pytest.mark.parametrize("name", ["hexapod.skel", "groups_and_nesting.xode", "02_frames.skel", "amotor_gimbal.xode"])
def test_other_last_bits_do_not_change_what_is_written(name: str) -> None:
    (file,) = files([name])
    plain = dict(written(file))
    with noise():
        other = dict(written(file))
    assert [one for one in plain if plain[one] != other[one]] == []


def test_small_components_have_the_digits_that_the_large_ones_justify() -> None:
    given = given_numbers([Document(b"<a>1.2345678901234567e-07 0.7853981633974483</a>")])
    assert round_vector((0.7648421993461234, 1.567326006202e-07, 0.0), {}) == [0.7648421993461, 1.567326e-07, 0.0]
    assert round_vector((1.0, -1.2345678901234567e-07), given) == [1.0, -1.2345678901234567e-07]
    assert round_vector((1.0, 2.2e-16), {}) == [1.0, 0.0]
    text = round_json('{"position": [0.15000000000000002, 3.371633716248001e-07], "x": 3.371633716248001e-07}', {})
    assert text == '{"position": [0.15, 3.371634e-07], "x": 3.371633716248e-07}'
    root = Markup(
        "a", {"x": "0.7648421993461234", "z": "1.5673260062021234e-07", "size": "1000 1.5673260062021234e-07"}
    )
    root.add("pose", "0.1499993283315123 3.3716337162481234e-07 0.07 0 0 1.5673260062021234e-07")
    round_markup(root, {})
    assert root.attributes == {"x": "0.7648421993461", "z": "1.567326e-07", "size": "1000 1.567326006202e-07"}
    assert root.children[0].text == "0.1499993283315 3.371634e-07 0.07 0 0 1.567326006202e-07"


def test_a_given_number_that_is_computed_again_keeps_its_digits() -> None:
    given = given_numbers([Document(b"<a>0.7853981633974483</a>")])
    root = Markup("a", {"rpy": "0 0 0.7853981633974484", "range": "-0.7853981633974482 0.7853981633973"})
    round_markup(root, given)
    assert root.attributes == {"rpy": "0 0 0.7853981633974483", "range": "-0.7853981633974483 0.7853981633973"}


@pytest.mark.parametrize("moments", [(2.0, 2.0, 1.0), (1.0, 2.0, 2.0), (1.0, 1.0, 1.0), (1.0, 1.5, 2.0)])
def test_principal_axes_do_not_depend_on_rounding_errors(moments: tuple[float, float, float]) -> None:
    rotation = spatial.euler_matrix([0.3, -0.7, 1.1])
    tensor = spatial.rotate_moment(rotation, np.diag(moments))
    draw = np.random.default_rng(1)
    rows = np.array([spatial.moment_entries(tensor) * (1 + 4e-16 * draw.normal(size=6)) for _ in range(20)])
    values, axes = principal_axes(rows)
    assert len({tuple(row) for row in values.tolist()}) == len({tuple(row) for row in axes.tolist()}) == 1
    frame = spatial.quaternion_matrix(axes[0])
    assert np.abs(spatial.rotate_moment(frame, np.diag(values[0])) - tensor).max() < 1e-7
