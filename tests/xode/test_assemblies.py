"""How bodies connected by joints become models, and that motion has the coordinates of ODE."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import exoskel
from exoskel import Kinematics, Model
from exoskel.scene.kinematics import initial_twists
from tests.support.xode import ANCHOR, TURN, at, axis, body, geom, hinge, joint, position, scene, transform, xode


def models(inner: str) -> list[Model]:
    return exoskel.load(scene(inner), dialect="spec").world.models


def shape(model: Model) -> list[tuple[str, str | None, str, bool]]:
    return [(j.name, j.parent.name if j.parent else None, j.child.name, j.loop) for j in model.joints]


def bodies(*names: str) -> str:
    return "".join(body(name=name) for name in names)


def test_the_first_body_of_a_chain_gets_the_free_joint() -> None:
    (model,) = models(bodies("a", "b", "c") + joint(hinge(), "i", "b", "c") + joint(hinge(), "k", "a", "b"))
    assert model.name == "a"
    assert shape(model) == [("a_root", None, "a", False), ("k", "a", "b", False), ("i", "b", "c", False)]
    assert [b.name for b in model.bodies] == ["a", "b", "c"]


def test_the_environment_is_the_root_if_a_joint_connects_to_it() -> None:
    (model,) = models(bodies("a", "b") + joint(hinge(), "i", "a", "b") + joint(hinge(), "k", "b", ""))
    assert model.name == "a"
    assert shape(model) == [("k", None, "b", False), ("i", "b", "a", False)]


def test_the_environment_does_not_connect_models() -> None:
    found = models(bodies("a", "b") + joint(hinge(), "i", "a", "") + joint(hinge(), "k", "b", ""))
    assert [m.name for m in found] == ["a", "b"]


def test_a_four_bar_linkage_has_one_loop_joint() -> None:
    links = joint(hinge(), "ab", "a", "b") + joint(hinge(), "bc", "b", "c")
    ground = joint(hinge(), "ga", "a", "") + joint(hinge(), "gc", "c", "")
    (model,) = models(bodies("a", "b", "c") + links + ground)
    assert shape(model) == [
        ("ga", None, "a", False),
        ("gc", None, "c", False),
        ("ab", "a", "b", False),
        ("bc", "c", "b", True),
    ]
    assert model.dof_count == 3


def test_joints_are_found_breadth_first() -> None:
    joints = (
        joint(hinge(), "1", "a", "b")
        + joint(hinge(), "2", "b", "d")
        + joint(hinge(), "3", "a", "c")
        + joint(hinge(), "4", "c", "d")
    )
    (model,) = models(bodies("a", "b", "c", "d") + joints)
    assert [j.name for j in model.joints] == ["a_root", "1", "3", "2", "4"]
    assert [j.loop for j in model.joints] == [False, False, False, False, True]


def test_static_geoms_form_the_environment() -> None:
    found = models(geom(name="floor") + body(geom(name="own")))
    assert [(m.name, m.static, m.mass) for m in found] == [("environment", True, 0.0), ("b", False, 1.0)]
    assert [s.name for s in found[0].bodies[0].collisions] == ["floor"]
    assert shape(found[0]) == [("environment_root", None, "environment", False)]


def test_unnamed_bodies_and_joints_are_numbered() -> None:
    found = models("<body/>" + body(name="b") + "<body/>" + "<joint><link1 body='b'/><fixed/></joint>")
    assert [m.name for m in found] == ["body_1", "b", "body_3"]
    assert found[1].joints[0].name == "joint_1"


def test_worlds_do_not_share_models() -> None:
    two = xode('<world><space><body name="a"/></space></world><world><space><body name="b"/></space></world>')
    assert [[m.name for m in w.models] for w in exoskel.load(two).worlds] == [["a"], ["b"]]


def test_a_chain_of_ten_thousand_links_is_read() -> None:
    count = 10_000
    inner = "".join(body(name=f"b{i}") for i in range(count))
    inner += "".join(joint("<fixed/>", f"j{i}", f"b{i}", f"b{i + 1}") for i in range(count - 1))
    (model,) = models(inner)
    assert len(model.bodies) == count and not any(j.loop for j in model.joints)


poses = st.tuples(st.floats(-2, 2), st.floats(-2, 2), st.floats(-2, 2))
KINDS = {"hinge": 1, "slider": 1, "ball": 0, "universal": 2, "hinge2": 2, "fixed": 0, "amotor": 3}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ends", [("a", "b"), ("b", "a"), ("b", "")])
@given(poses, poses)
@settings(max_examples=15, deadline=None)
def test_zero_positions_are_the_described_pose(
    kind: str, ends: tuple[str, str], first: tuple[float, ...], second: tuple[float, ...]
) -> None:
    anchored = ANCHOR if kind in ("hinge", "ball", "universal", "hinge2") else ""
    directions = "".join([axis(x=1, z=0), axis(y=1, z=0), axis()][: KINDS[kind]])
    inner = body(transform(position(*first) + TURN), "a") + body(at(*second), "b")
    inner += joint(f"<{kind}>{anchored}{directions}</{kind}>", "j", *ends)
    world = exoskel.load(scene(inner), dialect="spec").world
    kinematics = Kinematics(world.models)
    found = {b.name: pose for b, pose in zip(world.bodies(), kinematics.poses(), strict=True)}
    assert np.allclose(found["a"][:3, 3], first, atol=1e-9)
    assert np.allclose(found["b"][:3, 3], second, atol=1e-9)
    assert np.allclose(found["a"][:3, :3], [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-9)


def test_body_velocities_become_joint_velocities() -> None:
    spinning = body('<angularVel x="0" y="0" z="3"/>', "b")
    (model,) = models(spinning + joint(f"<hinge>{ANCHOR.replace('1', '0', 1)}{axis()}</hinge>", "j", "b", ""))
    assert model.joint("j").velocities == pytest.approx((3.0,))
    (other,) = models(spinning + joint(f"<hinge>{ANCHOR.replace('1', '0', 1)}{axis()}</hinge>", "j", "", "b"))
    assert other.joint("j").velocities == pytest.approx((-3.0,)), "the environment counts as the first body"


@pytest.mark.parametrize("links", [("a", ""), ("a", "b"), ("b", "a")])
def test_bodies_connected_by_an_amotor_have_their_stated_velocities(links: tuple[str, str]) -> None:
    """A regression: velocities were read as those of a joint with an unrotated frame."""
    moving = '<linearVel x="1" y="-1" z="2"/><angularVel x="0.5" y="0" z="3"/>'
    tilted = transform(position(1, 2, 3) + '<rotation><euler x="20" y="-30" z="50" aformat="degrees"/></rotation>')
    turned = transform(position(0, 1, 0) + TURN)
    axes = axis(x=1, z=0) + axis(y=1, z=0) + axis()
    inner = body(turned + '<linearVel x="0" y="0" z="1"/>', "b") + body(tilted + moving, "a")
    found = models(inner + joint(f"<amotor>{axes}</amotor>", "j", *links))
    motion = initial_twists(found, Kinematics(found))
    one = next(b for model in found for b in model.bodies if b.name == "a")
    assert motion[id(one)][0] == pytest.approx((1.0, -1.0, 2.0))
    assert motion[id(one)][1] == pytest.approx((0.5, 0.0, 3.0))
