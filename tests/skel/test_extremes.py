"""Extremely large and small numbers, and the marks of repaired values."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import exoskel
from tests.support.checklist import item
from tests.support.findings import Reads
from tests.support.xml import INERTIA, body, joint, one_body, skeleton, world

SOLIDS = {
    "box": "<box><size>{0} {0} {0}</size></box>",
    "sphere": "<sphere><radius>{0}</radius></sphere>",
    "ellipsoid": "<ellipsoid><size>{0} {0} {0}</size></ellipsoid>",
    "cylinder": "<cylinder><radius>{0}</radius><height>{0}</height></cylinder>",
    "capsule": "<capsule><radius>{0}</radius><height>{0}</height></capsule>",
    "cone": "<cone><radius>{0}</radius><height>{0}</height></cone>",
}


@item(95)
@pytest.mark.parametrize("rule", ["all_shapes", "first_shape"])
@pytest.mark.parametrize("kind", SOLIDS)
@pytest.mark.parametrize(("size", "mass"), [("1e160", "1"), ("1e60", "1e300"), ("1e-200", "1"), ("1e-320", "1e-310")])
def test_derived_moments_are_finite(reads: Reads, kind: str, size: str, mass: str, rule: str) -> None:
    shape = f"<visualization_shape><geometry>{SOLIDS[kind].format(size)}</geometry></visualization_shape>"
    document = one_body(f"<inertia><mass>{mass}</mass></inertia>{shape}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read = reads(document, inertia_rule=rule)
        exoskel.summarize(read.scene)
        assert np.isfinite(read.body().moment).all()
    if not size.startswith("1e-"):
        read.expect("SK055.overflow", "warning")


def test_large_positions_are_read(reads: Reads) -> None:
    for semantics in ("written", "dart"):
        read = reads(one_body("<transformation>1e308 1e308 0 0 0 0</transformation>"), semantics=semantics)
        assert read.body().pose.position == (1e308, 1e308, 0.0)


def test_poses_that_overflow_raise_no_warnings(reads: Reads) -> None:
    place = "<transformation>1e308 1e308 1e308 1 1 1</transformation>"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exoskel.summarize(reads(world(skeleton(place + body(place) + joint(place)))).scene)


@item(60)
@pytest.mark.parametrize("length", ["1e-200", "1e200"])
def test_axes_of_any_length_have_a_direction(reads: Reads, length: str) -> None:
    axis = f"<axis><xyz>{length} 0 0</xyz></axis><init_pos>1</init_pos>"
    read = reads(one_body(joint_inner=axis, kind="revolute"))
    read.expect("SK077.length")
    pose = exoskel.Kinematics(read.world.models).poses()[0]
    assert pose[1:3, 1:3].ravel() == pytest.approx([np.cos(1), -np.sin(1), np.sin(1), np.cos(1)])


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_axes_whose_square_overflows_cannot_move_in_dart(reads: Reads, kind: str) -> None:
    """DART divides by their length, which is infinite there."""
    axis = "<axis><xyz>0 1e155 1e155</xyz></axis><init_pos>1</init_pos>"
    read = reads(one_body(joint_inner=axis, kind=kind), semantics="dart")
    read.expect("SK077.length")
    assert exoskel.Kinematics(read.world.models).poses()[0] == pytest.approx(np.eye(4))


WRONG_JOINT = (
    "<axis><xyz>0 0 0</xyz><dynamics><damping>-4</damping><friction>abc</friction>"
    "<spring_stiffness>2</spring_stiffness></dynamics><limit><lower>2</lower><upper>1</upper></limit></axis>"
    '<dof><position initial="x"/><velocity initial="1" lower="y"/></dof>'
)


def test_repaired_values_are_marked(reads: Reads) -> None:
    physics = "<time_step>-1</time_step><gravity>0 0</gravity>"
    marked = body('<marker name="m"><offset>1 2</offset></marker>')
    read = reads(world(skeleton(marked + joint(WRONG_JOINT, "revolute")), physics))
    read.expect_all("SK030", "SK024", "SK024", "SK077", "SK083", "SK022", "SK082", "SK022", "SK022")
    assert [read.world.provenance(field) for field in ("time_step", "gravity")] == ["repaired"] * 2
    assert read.body().markers[0].provenance("offset") == "repaired"
    assert read.joint().provenance("axes") == "repaired"
    (dof,) = read.joint().dofs
    fields = ("damping", "friction", "position_limits", "position", "velocity_limits")
    assert [dof.provenance(field) for field in fields] == ["repaired"] * len(fields)
    assert [dof.provenance(field) for field in ("stiffness", "velocity")] == ["explicit"] * 2
    assert dof.provenance("rest") == "default"


def test_valid_axes_are_explicit(reads: Reads) -> None:
    read = reads(one_body(joint_inner="<axis><xyz>1 0 0</xyz></axis>", kind="revolute"))
    assert read.joint().provenance("axes") == "explicit"


SOFT = (
    "<soft_shape><total_mass>1</total_mass>{}<geometry><box><size>1 1 1</size><frags>{}</frags></box></geometry>"
    "</soft_shape>"
)


@item(51)
@pytest.mark.parametrize(
    ("text", "counts", "code"),
    [
        ("4.0 3 3", (4, 3, 3), None),
        ("1e1 5 5", (10, 5, 5), None),
        ("2 5 5", (3, 5, 5), "SK068.low"),
        ("-1 5 5", (3, 5, 5), "SK068.low"),
        ("1e300 3 3", (3, 3, 3), "SK026.overflow"),
        ("4.5 3 3", (3, 3, 3), "SK023.count"),
    ],
)
def test_fragments_are_read(reads: Reads, text: str, counts: tuple[int, ...], code: str | None) -> None:
    read = reads(one_body(INERTIA + SOFT.format("", text)))
    if code:
        read.expect(code)
    soft = read.body().soft
    assert soft is not None and soft.tessellation.fragments == counts


def test_a_skin_of_unknown_geometry_is_reported_once(reads: Reads) -> None:
    skin = SOFT.format("<transformation>0 0 0 0 0 0</transformation>", "3 3 3").replace("box>", "cube>")
    reads(one_body(INERTIA + skin)).expect("SK060")


@item(64)
def test_invalid_initial_positions_do_not_disagree_with_dof(reads: Reads) -> None:
    inner = '<init_pos>1 2</init_pos><dof local_index="0"><position initial="3"/></dof>'
    read = reads(one_body(joint_inner=inner, kind="ball"))
    read.expect("SK080")
    assert read.joint().positions == (3.0, 0.0, 0.0)
