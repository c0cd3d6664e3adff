"""What differs from world to world: as if each world had been edited and compiled by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import exoskel
from exoskel.simulate.batch.parameters import draw, parse_distribution

STEPS = 60


def scene(name: str, folder: str = "skel") -> exoskel.Scene:
    return exoskel.load(f"dart://sample/{folder}/{name}.{folder}")


def edited(world: exoskel.World, joint: exoskel.Joint, field: str, value: float) -> None:
    """What a program would do to the scene instead."""
    if field == "y":
        world.gravity = (world.gravity[0], value, world.gravity[2])
    elif field == "mass":
        joint.child.mass = value
    else:
        for dof in joint.dofs:
            setattr(dof, field, value)


CASES = [
    ("cart_pole.skel", "gravity.y", (-12.0, -3.0)),
    ("robot_arm.skel", "joint:{joint}.damping", (0.1, 3.0)),
    ("robot_arm.skel", "joint:{joint}.stiffness", (0.0, 30.0)),
    ("robot_arm.skel", "joint:{joint}.friction", (0.1, 2.0)),
    ("robot_arm.skel", "joint:{joint}.position", (-0.5, 0.5)),
    ("robot_arm.skel", "joint:{joint}.velocity", (-0.5, 0.5)),
    ("springs.skel", "joint:{joint}.rest", (-0.1, 0.1)),
    ("double_pendulum.skel", "body:{body}.mass", (0.5, 5.0)),
    ("four_bar.xode", "body:{body}.mass", (0.5, 5.0)),
    ("chain.skel", "joint:{joint}.damping", (0.1, 3.0)),
    ("walker.skel", "body:{body}.mass", (1.0, 9.0)),
]


def chosen(world: exoskel.World) -> exoskel.Joint:
    """A joint that drives coordinates of its own in a model that moves, with a spring if there is one."""
    found = [
        joint
        for model in world.models
        for joint in model.joints
        if not (model.static or joint.loop)
        and joint.dof_count in (1, 3)
        and joint.actuator in ("force", "passive")
        and joint.child.mass
    ]
    return next((joint for joint in found if any(dof.stiffness for dof in joint.dofs)), found[0])


@pytest.mark.parametrize(("file", "key", "bounds"), CASES)
def test_a_varied_world_moves_like_an_edited_scene(file: str, key: str, bounds: tuple[float, float]) -> None:
    one = scene(*file.split("."))
    joint = chosen(one.world)
    key = key.format(joint=joint.name, body=joint.child.name)
    many = exoskel.rollout(one, 3, STEPS, vary={key: bounds}, seed=5, stride=STEPS)
    values = many.parameters[key]
    assert len(set(values.tolist())) == 3
    assert ((values >= bounds[0]) & (values <= bounds[1])).all()
    for number, value in enumerate(values.tolist()):
        fresh = scene(*file.split("."))
        edited(fresh.world, chosen(fresh.world), key.rpartition(".")[2], value)
        simulation = exoskel.Simulation(fresh)
        simulation.step(STEPS)
        np.testing.assert_allclose(many.positions[number, -1], simulation.positions, rtol=1e-9, atol=1e-9)
    assert len(np.unique(many.positions[:, -1].round(9), axis=0)) == 3


def test_friction_of_contacts_varies() -> None:
    world = exoskel.World(gravity=(0.0, 0.0, -9.81))
    ground = world.add_model("ground", static=True)
    ground.add_body("floor", shapes=[exoskel.Box((20.0, 20.0, 0.2))], joint="weld")
    sled = world.add_model("sled").add_body("box", pose=exoskel.Pose((0.0, 0.0, 0.2)), shapes=[exoskel.Box((0.2,) * 3)])
    sled.mass = 1.0
    world.model("sled").joints[0].velocities = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0)
    for key in ("friction", "body:box.friction"):
        many = exoskel.rollout(world, 2, 300, vary={key: [1.2, 1.8]})
        slid = many.positions[:, -1, 3]
        assert slid[0] > 1.2 * slid[1] > 0.0


def test_gravity_may_vary_as_a_vector() -> None:
    ball = exoskel.World(gravity=(0.0, 0.0, -9.81))
    ball.add_model("ball").add_body("ball", shapes=[exoskel.Sphere(0.1)])
    many = exoskel.rollout(ball, 3, 100, vary={"gravity": [(0.0, 0.0, -1.0), (2.0, 0.0, 0.0), (0.0, 3.0, 0.0)]})
    # semi-implicit: n (n + 1) / 2 steps of g h²
    fallen = 100 * 101 / 2 * 1e-6
    np.testing.assert_allclose(many.positions[:, -1, 3:], fallen * np.diag([2.0, 3.0, -1.0])[[2, 0, 1]], atol=1e-12)
    drawn = exoskel.rollout(ball, 4, 10, vary={"gravity": ((-1.0, 0.0, -2.0), (1.0, 0.0, -1.0))}).parameters["gravity"]
    assert drawn.shape == (4, 3)
    assert ((drawn >= (-1.0, 0.0, -2.0)) & (drawn <= (1.0, 0.0, -1.0))).all()


def test_drawn_values_depend_only_on_the_number_of_the_world() -> None:
    stated = {"b": (0.0, 1.0), "a": ("normal", 0.0, 1.0), "c": [1.0, 2.0]}
    distributions = {key: parse_distribution(key, value) for key, value in stated.items()}
    widths = dict.fromkeys(distributions, 1)
    whole = draw(distributions, widths, 7, np.arange(10))
    part = draw(distributions, widths, 7, np.arange(6, 9))
    for key, values in whole.items():
        np.testing.assert_array_equal(values[6:9], part[key])
    assert not np.array_equal(whole["b"], draw(distributions, widths, 8, np.arange(10))["b"])
    np.testing.assert_array_equal(whole["c"][:, 0], [1.0, 2.0] * 5)
    stream = np.random.default_rng(np.random.SeedSequence(7, spawn_key=(4,)))
    assert whole["b"][4, 0] == stream.random(3)[1]


def test_distributions_have_their_moments() -> None:
    indices = np.arange(4000)
    found = {
        "log": parse_distribution("log", ("loguniform", 0.01, 100.0)),
        "normal": parse_distribution("normal", ("normal", 3.0, 0.5)),
        "even": parse_distribution("even", ("uniform", -1.0, 1.0)),
    }
    drawn = draw(found, dict.fromkeys(found, 1), 0, indices)
    assert np.median(drawn["log"]) == pytest.approx(1.0, rel=0.2)
    assert drawn["normal"].mean() == pytest.approx(3.0, abs=0.05)
    assert drawn["normal"].std() == pytest.approx(0.5, abs=0.05)
    assert drawn["even"].mean() == pytest.approx(0.0, abs=0.05)


@pytest.mark.parametrize(
    ("vary", "message"),
    [
        ({"colour": (0.0, 1.0)}, "unknown key"),
        ({"body:bxo.mass": (1.0, 2.0)}, "unknown body 'bxo'"),
        ({"body:pole.mass": (2.0, 1.0)}, "reversed"),
        ({"body:pole.mass": (-1.0, -0.5)}, "must be positive"),
        ({"body:pole.mass": ("gamma", 1.0, 2.0)}, "one of uniform"),
        ({"body:pole.mass": ("loguniform", 0.0, 2.0)}, "must be positive"),
        ({"body:pole.mass": "heavy"}, "bounds, a distribution, a list or a number"),
        ({"body:pole.colour": (0.0, 1.0)}, "have the fields mass, friction"),
        ({"joint:{joint}.damping": (-2.0, -1.0)}, "must not be negative"),
        ({"gravity": [1.0, 2.0]}, "rows of 3 numbers"),
        ({"gravity": (-9.81, -1.0)}, "bound of 'gravity' needs 3 numbers"),
        ({"gravity.w": 1.0}, r"did you mean gravity\.z"),
        ({"body:pole.mas": 1.0}, "did you mean mass"),
        ({"body:cart_pole/pol.mass": 1.0}, "did you mean cart_pole/pole"),
        ({"body:pole.mass": (-1e308, 1e308)}, "exceed the range"),
        ({"gravity": [[0.0, 0.0, -1.0]], "gravity.z": 2.0}, "'gravity' and 'gravity.z' set the same"),
        ({"body:pole.mass": 1.0, "body:cart_pole/pole.mass": 2.0}, "set the same"),
        ({"joint:hinge.damping": 1.0, "dof:hinge.damping": 2.0}, "set the same"),
    ],
)
def test_invalid_variations_are_an_error(vary: dict[str, Any], message: str) -> None:
    one = scene("cart_pole")
    joint = next(j.name for m in one.world.models for j in m.joints if j.dof_count)
    with pytest.raises(exoskel.ExoskelError, match=message):
        exoskel.rollout(one, 2, 5, vary={key.format(joint=joint): value for key, value in vary.items()})


def test_the_friction_of_one_body_overrides_that_of_the_world() -> None:
    one = exoskel.load("dart://sample/skel/stack.skel")
    name = next(b.name for m in one.world.models if not m.static for b in m.bodies)
    own, rest = {f"body:{name}.friction": 1.0}, {"friction": 0.0}
    push = np.zeros(one.world.dof_count)
    push[3] = 1.0
    ways = ({**own, **rest}, {**rest, **own}, rest)
    first, second, slippery = (exoskel.rollout(one, 1, 100, vary=vary, forces=push).positions for vary in ways)
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, slippery)
