"""The same bytes are written on every processor: last bits of computed numbers make no difference."""

from __future__ import annotations

import json

import numpy as np
import pytest

import exoskel
from exoskel import spatial
from exoskel.formats.usd.tree import _PrimWriter
from exoskel.formats.usd.write import principal_axes
from exoskel.scene.kinematics import Kinematics
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


def test_bodies_whose_joints_have_not_moved_have_the_poses_that_are_stated() -> None:
    """The pose at the end of a chain has the rounding errors of the numbers of the whole chain."""
    source = """<skel version="1.0"><world name="w"><skeleton name="s">
    <body name="a"><transformation>0.731 -0.924 0.553 0.3 -0.7 1.1</transformation><inertia><mass>1</mass></inertia></body>
    <body name="b"><transformation>0.000363964 6.82062e-05 1.68504e-07 -0.9 0.4 2.1</transformation><inertia>
    <mass>1</mass></inertia></body>
    <joint name="i" type="revolute"><parent>world</parent><child>a</child><transformation>0.1 0.2 0.3 0.1 0.5 0.7
    </transformation><axis><xyz>0 0 1</xyz></axis></joint>
    <joint name="j" type="revolute"><parent>a</parent><child>b</child><transformation>0.3 0.1 0.2 0.7 0.3 0.1
    </transformation><axis><xyz>0 0 1</xyz></axis></joint></skeleton></world></skel>"""
    scene = exoskel.load(source)
    assert "(0.000363964, 6.82062e-05, 1.68504e-07)" in exoskel.convert(scene, None, to="usd").data.decode()
    data = exoskel.convert(scene, None, to="gltf").data
    nodes = json.loads(data[20 : 20 + int.from_bytes(data[12:16], "little")])["nodes"]
    assert nodes[-1]["translation"] == [0.000363964, 6.82062e-05, 1.68504e-07]
    kinematics = Kinematics(scene.world.models)
    assert (kinematics.initial_poses() == kinematics.zero_poses).all()
    scene.world.models[0].joints[0].positions = (0.5,)
    moved = Kinematics(scene.world.models)
    assert (moved.initial_poses() == moved.poses()).all()


def test_small_entries_of_inertia_tensors_in_usd_have_the_digits_of_the_large_ones() -> None:
    layer = {"double[] newton:inertia": [0.01279831427954, 2.388021419055e-06]}
    (text,) = (_PrimWriter([], {})._property(name, value) for name, value in layer.items())
    assert text == "double[] newton:inertia = [0.01279831427954, 2.38802142e-06]"
