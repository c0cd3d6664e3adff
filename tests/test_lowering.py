"""The pass `lower.joints`: the same motion with hinges, sliders and balls, without any loss."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import exoskel
from exoskel import Joint, Kinematics, Model, Pose, Quaternion, World
from exoskel.formats.write import write
from exoskel.scene.edit_tracking import CLOCK
from exoskel.scene.fields import DOF_FIELDS, transform_differences
from exoskel.scene.joint import TRAITS
from exoskel.scene.kinematics import initial_twists
from exoskel.scene.lowering import joint_passes

CASES = {
    "euler_xyz": ("euler", {"order": "xyz"}),
    "euler_zyx": ("euler", {"order": "zyx"}),
    "euler_xzx": ("euler", {"order": "xzx"}),
    "planar_xy": ("planar", {"plane": "xy"}),
    "planar_yz": ("planar", {"plane": "yz"}),
    "planar_zx": ("planar", {"plane": "zx"}),
    "planar_any": ("planar", {"plane": "arbitrary", "axes": ((1.0, 2.0, 3.0), (0.0, 1.0, 1.0))}),
    "translational": ("translational", {}),
    "translational2d_zx": ("translational2d", {"plane": "zx"}),
    "translational2d_any": ("translational2d", {"plane": "arbitrary", "axes": ((0.0, 2.0, 1.0), (1.0, 1.0, 0.0))}),
    "free": ("free", {}),
}
LINKS = {
    "euler": ["revolute"] * 3,
    "planar": ["prismatic", "prismatic", "revolute"],
    "translational": ["prismatic"] * 3,
    "translational2d": ["prismatic"] * 2,
    "free": ["prismatic"] * 3 + ["ball"],
}
ORDERS = {"free": (3, 4, 5, 0, 1, 2)}
"""The coordinates of the chain as numbers of the joint's coordinates; other kinds keep their order."""


def some_pose(rng: np.random.Generator) -> Pose:
    x, y, z = rng.normal(size=3).tolist()
    a, b, c, d = rng.normal(size=4).tolist()
    return Pose((x, y, z), Quaternion((a, b, c, d)))


def chain_world(case: str, seed: int) -> World:
    """A body on a hinge, one below it on the tested joint, and one below that; all with random frames and velocities."""
    kind, options = CASES[case]
    rng = np.random.default_rng(seed)
    world = World()
    model = world.add_model("rig", pose=some_pose(rng))
    base = model.add_body("base", pose=some_pose(rng), joint="revolute", axes=((0.0, 0.6, 0.8),), mass=3.0)
    count = len(TRAITS[kind].motion)
    hand = model.add_body(
        "hand",
        parent=base,
        pose=some_pose(rng),
        mass=2.0,
        moment=(0.2, 0.3, 0.4, 0.0, 0.0, 0.0),
        joint=kind,  # type: ignore[arg-type]
        joint_name="wrist",
        positions=rng.uniform(-1.0, 1.0, count).tolist(),
        velocities=rng.uniform(-1.0, 1.0, count).tolist(),
        **options,
    )
    model.joint("wrist").pose = some_pose(rng)
    model.add_body("tip", parent=hand, pose=some_pose(rng), joint="prismatic", axes=((1.0, 0.0, 0.0),))
    for number, dof in enumerate(model.joint("wrist").dofs, 1):
        dof.position_limits, dof.velocity_limits = (-float(number), 2.0 * number), (-9.0, 10.0 + number)
        dof.force_limits, dof.acceleration_limits = (-inf, 20.0 + number), (-30.0 - number, inf)
        dof.damping, dof.friction, dof.stiffness, dof.rest = 0.1 * number, 0.2 * number, 3.0 * number, 0.01 * number
    return world


def between(world: World) -> list[int]:
    return [number for number, body in enumerate(world.bodies()) if "~" not in body.name]


def order_of(case: str, joint: Joint) -> tuple[int, ...]:
    return ORDERS.get(CASES[case][0], tuple(range(len(joint.motion))))


@pytest.mark.parametrize("case", CASES)
@given(seed=st.integers(0, 2**32 - 1))
def test_lowering_preserves_the_poses_of_bodies(case: str, seed: int) -> None:
    world = chain_world(case, seed)
    done = joint_passes.lower_joints(world)
    before, after = Kinematics(world.models), Kinematics(done.world.models)
    kept = between(done.world)
    assert transform_differences(before.poses(), after.poses()[kept]).max() < 1e-12
    order = order_of(case, world.models[0].joint("wrist"))
    numbers = [0, *(1 + number for number in order), 1 + len(order)]
    q = np.random.default_rng(seed + 1).uniform(-3.0, 3.0, before.dof_count)
    assert transform_differences(before.poses(q), after.poses(q[numbers])[kept]).max() < 1e-12
    moving, then = initial_twists(world.models, before), initial_twists(done.world.models, after)
    bodies = list(done.world.bodies())
    for body, number in zip(world.bodies(), kept, strict=True):
        one, other = moving.get(id(body), np.zeros((2, 3))), then.get(id(bodies[number]), np.zeros((2, 3)))
        assert np.abs(np.array(one) - np.array(other)).max() < 1e-7  # rates are differences of poses


@pytest.mark.parametrize("case", CASES)
def test_limits_and_dynamics_stay_with_their_axis(case: str) -> None:
    world = chain_world(case, 0)
    wrist = world.models[0].joint("wrist")
    wrist.actuator, wrist.limits_enforced = "servo", False
    (chain,) = joint_passes.lower_joints(world).chains
    assert chain.joint is wrist
    assert [link.kind for link in chain.links] == LINKS[wrist.kind]
    assert chain.coordinates == order_of(case, wrist)
    found = [dof for link in chain.links for dof in link.dofs]
    fields = [f for f in DOF_FIELDS if f != "name" and not (f == "velocity" and wrist.kind == "free")]
    for number, dof in zip(chain.coordinates, found, strict=True):
        assert [getattr(dof, f) for f in fields] == [getattr(wrist.dofs[number], f) for f in fields]
    names = [name for link in chain.links for name in link.dof_names]
    assert names == [wrist.dof_names[number] for number in chain.coordinates]
    assert all((link.actuator, link.limits_enforced) == ("servo", False) for link in chain.links)
    assert chain.links[-1].child.name == "hand" and chain.links[0].parent is not wrist.parent
    assert chain.links[0].parent is not None and chain.links[0].parent.name == "base"


def test_bodies_in_between_are_light_and_named_after_the_joint() -> None:
    world = chain_world("euler_xyz", 0)
    done = joint_passes.lower_joints(world)
    (chain,) = done.chains
    assert [body.name for body in done.world.bodies()] == ["base", "wrist~1", "wrist~2", "hand", "tip"]
    assert [joint.name for joint in done.world.joints()] == [
        "base_joint", "wrist_x", "wrist_y", "wrist", "tip_joint",
    ]  # fmt: skip
    for body in chain.bodies:
        assert body.mass == 2.0 * joint_passes.MASS_RATIO and not body.gravity and not body.shapes
        assert body.moment[:3] == (0.2 * joint_passes.MASS_RATIO,) * 3
    assert done.world.mass == pytest.approx(world.mass + done.added_mass)
    assert done.added_mass == pytest.approx(2 * 2.0 * joint_passes.MASS_RATIO)


def test_added_names_do_not_clash_with_existing_names() -> None:
    world = chain_world("euler_xyz", 0)
    for name in ("wrist~1", "wrist_x"):
        world.models[0].add_body(name)
    done = joint_passes.lower_joints(world)
    names = [body.name for body in done.world.bodies()] + [joint.name for joint in done.world.joints()]
    assert len(set(names)) == len(names)
    assert [body.name for body in done.chains[0].bodies] == ["wrist~1(1)", "wrist~2"]
    assert [link.name for link in done.chains[0].links] == ["wrist_x(1)", "wrist_y", "wrist"]
    assert done.chains[0].links[0].dof_names == ["wrist_x"]


def test_added_names_are_unique_in_their_model_only() -> None:
    world = chain_world("euler_xyz", 0)
    world.add(chain_world("euler_xyz", 0).models[0], name="second")
    one, two = joint_passes.lower_joints(world).chains
    assert [link.name for link in one.links] == [link.name for link in two.links] == ["wrist_x", "wrist_y", "wrist"]
    assert [body.name for body in one.bodies] == [body.name for body in two.bodies] == ["wrist~1", "wrist~2"]
    scene = exoskel.load(write(exoskel.Scene([world]), "skel").data)
    for format in ("sdf", "urdf", "usd", "xode"):
        assert exoskel.convert(scene, None, to=format, lower=True).certificate.passed


@pytest.mark.parametrize("mass, moment", [(0.0, None), (1.0, (0.0,) * 6), (1.0, (1.0, 1.0, 0.0, 0.0, 0.0, 0.0))])
def test_bodies_in_between_are_valid_for_ode_with_any_child(
    mass: float, moment: exoskel.scene.inertia.Moment | None
) -> None:
    world = World()
    world.add_model("m").add_body("b", mass=mass, moment=moment, joint="planar")
    for body in joint_passes.lower_joints(world).chains[0].bodies:
        assert body.mass > 0.0 and min(body.moment[:3]) > 0.0


def test_joints_that_need_no_lowering_are_not_changed() -> None:
    world = World()
    model = world.add_model("m")
    base = model.add_body("floats", joint="free")
    model.add_body("turns", parent=base, joint="universal", axes=((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
    model.add_body("screws", parent=base, joint="screw", axes=((1.0, 0.0, 0.0),))
    model.add_joint("loop", "euler", child=model.body("turns"), parent=model.body("screws"))
    world.add_model("still", static=True).add_body("b", joint="planar")
    assert joint_passes.joints_to_lower(world) == []
    done = joint_passes.lower_joints(world)
    assert done.chains == [] and done.added_mass == 0.0
    assert [joint.kind for joint in done.world.joints()] == [joint.kind for joint in world.joints()]


def test_only_the_requested_kinds_are_lowered() -> None:
    world = World()
    model = world.add_model("m")
    model.add_body("a", joint="euler")
    model.add_body("b", joint="planar")
    assert [joint.kind for joint in joint_passes.joints_to_lower(world, frozenset({"planar", "screw"}))] == ["planar"]
    assert [chain.joint.kind for chain in joint_passes.lower_joints(world, frozenset({"planar", "screw"})).chains] == [
        "planar"
    ]


def test_lowering_does_not_change_the_original_world() -> None:
    world = chain_world("planar_any", 0)
    before = exoskel.summarize(exoskel.Scene([world]))
    ticks = CLOCK.ticks
    done = joint_passes.lower_joints(world)
    assert CLOCK.ticks == ticks
    done.world.models[0].body("hand").mass = 7.0
    done.chains[0].links[0].dofs[0].damping = 8.0
    assert exoskel.summarize(exoskel.Scene([world])) == before
    assert world.models[0].joint("wrist").dofs[0].damping == 0.1


def test_lowering_a_lowered_world_changes_nothing() -> None:
    once = joint_passes.lower_joints(chain_world("free", 0)).world
    assert joint_passes.lower_joints(once).chains == []
    assert isinstance(once.models[0], Model)


# --- what only some formats want taken apart ----------------------------------------------------------

MORE = {
    "universal": ("universal", {"axes": ((1.0, 0.0, 0.0), (0.0, 1.0, 2.0))}),
    "swapped": ("universal", {"axes": ((1.0, 0.0, 0.0), (0.0, 1.0, 2.0)), "swapped": True}),
    "hinge2": ("hinge2", {"axes": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))}),
    "screw": ("screw", {"axes": ((0.0, 2.0, 1.0),), "pitch": 0.4}),
}


@pytest.mark.parametrize("case", MORE)
def test_further_kinds_are_lowered_on_request(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CASES, case, MORE[case])
    world = chain_world(case, 5)
    assert joint_passes.lower_joints(world).chains == []
    done = joint_passes.lower_joints(world, joint_passes.ALL_KINDS)
    [chain] = done.chains
    before = Kinematics(world.models)
    after = Kinematics(done.world.models)
    first = dict(zip(world.models[0].dof_names, before.initial, strict=True))
    own = [first[chain.joint.dof_names[i]] * f for i, f in zip(chain.coordinates, chain.factors, strict=True)]
    assert [q for link in chain.links for q in link.positions] == pytest.approx(own)
    old, new = before.poses(), after.poses()
    names = [body.name for body in done.world.models[0].bodies]
    for number, body in enumerate(world.models[0].bodies):
        assert np.allclose(old[number], new[names.index(body.name)], atol=1e-12)


def test_the_slider_of_a_screw_mimics_its_hinge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CASES, "screw", MORE["screw"])
    [chain] = joint_passes.lower_joints(chain_world("screw", 1), joint_passes.ALL_KINDS).chains
    slider, hinge = chain.links
    assert (slider.kind, hinge.kind) == ("prismatic", "revolute")
    assert slider.mimic is not None
    assert slider.mimic.joint == hinge.name
    assert slider.mimic.multiplier == pytest.approx(0.4 / (2 * np.pi))


def test_replacing_balls_preserves_the_motion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CASES, "ball", ("ball", {}))
    world = chain_world("ball", 2)
    turned = joint_passes.replace_balls(world)
    assert [j.kind for j in turned.joints()].count("euler") == 1
    assert [j.kind for j in world.joints()].count("ball") == 1
    one, two = Kinematics(world.models), Kinematics(turned.models)
    assert np.allclose(one.poses(), two.poses(), atol=1e-12)
    moving, then = initial_twists(world.models, one), initial_twists(turned.models, two)
    for old, new in zip(world.bodies(), turned.bodies(), strict=True):
        assert (id(old) in moving) == (id(new) in then)
        if id(old) in moving:
            assert np.allclose(moving[id(old)], then[id(new)], atol=1e-6)
    assert moving


MIMICS = [*LINKS, "weld", "revolute", "prismatic", "screw", "universal", "ball", "hinge2", "amotor"]


def _mimicking_world(follower: str, leader: str) -> World:
    """Two bodies on one; the joint of the second mimics that of the first, or an unknown joint."""
    world = World()
    model = world.add_model("rig")
    base = model.add_body("base", joint="weld", mass=1.0)
    for name, kind in (("one", leader or "weld"), ("two", follower)):
        count = 0 if "plan" in kind or "2d" in kind else TRAITS[kind].axes
        axes = {"axes": ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0))[:count]} if count else {}
        model.add_body(name, parent=base, joint=kind, mass=1.0, **axes)
    model.joint("two_joint").mimic = exoskel.Mimic("one_joint" if leader else "nobody")
    return world


@pytest.mark.parametrize("follower", MIMICS)
def test_all_joints_become_hinges_whatever_they_mimic(follower: str) -> None:
    for leader in (*MIMICS, ""):
        lowered = joint_passes.lower_to_hinges(_mimicking_world(follower, leader))
        assert {joint.kind for joint in lowered.world.joints()} <= {"weld", "revolute", "prismatic"}, leader


@pytest.mark.parametrize(
    ("follower", "leader"), [("ball", ""), ("revolute", "ball"), ("free", "free"), ("weld", "weld")]
)
def test_mimics_without_effect_are_not_in_urdf(follower: str, leader: str) -> None:
    scene = exoskel.Scene(worlds=[_mimicking_world(follower, leader)])
    assert exoskel.convert(scene, None, to="urdf").certificate.passed
