"""Scenes as Gymnasium environments."""

from __future__ import annotations

import copy
import math
import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exoskel

gymnasium = pytest.importorskip("gymnasium")
from gymnasium.utils.env_checker import check_env  # noqa: E402

TASKS = tuple(exoskel.gym.TASKS)


@pytest.mark.parametrize("task", TASKS)
def test_built_in_tasks_pass_the_gymnasium_checker(task: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*Box observation space (min|max)imum.*infinity.*")
        warnings.filterwarnings("ignore", message=".*not having a spec.*")  # it is made without the registry
        check_env(exoskel.gym.make(task=task, render_mode="ansi"))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", ["skel/robot_arm.skel", "skel/actuators.skel", "xode/four_bar.xode"])
def test_any_scene_is_an_environment(name: str) -> None:
    env = exoskel.gym.make(f"dart://sample/{name}", frame_skip=2)
    check_env(env, skip_render_check=True)
    world = exoskel.load(f"dart://sample/{name}").world
    assert env.observation_space.shape == (2 * world.dof_count,)


def test_actions_are_those_of_driven_joints_within_their_limits() -> None:
    env = exoskel.gym.make("dart://sample/skel/cart_pole.skel")
    names = env.core.actions.names
    assert names == ["slide", "hinge"]
    assert (env.action_space.low[0], env.action_space.high[0]) == (-20.0, 20.0)


def arm_with_actuators() -> exoskel.World:
    world = exoskel.World("w")
    model = world.add_model("arm")
    model.add_body("upper", joint="revolute", axis=(0, 1, 0), limits=(-1, 2), joint_name="shoulder")
    model.add_body("fore", joint="prismatic", axis=(1, 0, 0), joint_name="slide", at=(0.5, 0, 0))
    model.add_body("hand", joint="revolute", axis=(0, 1, 0), joint_name="wrist", at=(1, 0, 0))
    world.add_actuator("motor", "shoulder", gear=20, control_range=(-1, 1))
    world.add_actuator("servo", "shoulder", kind="position", gain=30, damping=3, gear=-2)
    world.add_actuator("lift", "slide", kind="position", gain=80, damping=9, control=0.2)
    world.add_actuator("turn", "wrist", kind="position", gain=2, damping=0.2)
    world.add_actuator("spin", "wrist", kind="velocity", gain=2, control_range=(-math.inf, 3))
    return world


def test_actions_are_the_controls_of_actuators_within_their_ranges() -> None:
    env = exoskel.gym.make(arm_with_actuators())
    assert env.core.actions.names == ["motor", "servo", "lift", "turn", "spin"]
    np.testing.assert_array_equal(env.action_space.low, [-1, -4, -100, -math.pi, -100])
    np.testing.assert_array_equal(env.action_space.high, [1, 2, 100, math.pi, 3])


TENDONS = """<mujoco><worldbody><body name="a"><joint name="r" axis="0 1 0" range="-1 1"/><geom size=".1" pos=".3 0 0"/>
<body name="b" pos=".6 0 0"><joint name="s" axis="0 1 0"/><geom size=".1"/></body></body></worldbody>
<tendon><fixed name="t" range="-2 3" limited="true"><joint joint="r" coef="1"/><joint joint="s" coef="1"/></fixed></tendon>
<actuator><motor name="m" joint="r" ctrlrange="-1 1"/><motor name="tm" tendon="t"/><position name="tp" tendon="t" kp="2"
gear="2"/><motor name="tr" tendon="t" ctrlrange="0 4"/></actuator></mujoco>"""


def test_actuators_of_tendons_are_actions(tmp_path: Path) -> None:
    file = tmp_path / "tendons.xml"
    file.write_text(TENDONS)
    env = exoskel.gym.make(file)
    assert env.action_space.low.tolist() == [-1, -100, -4, 0]
    assert env.action_space.high.tolist() == [1, 100, 6, 4]
    states = []
    for action in ([0, 0, 0, 0], [0, 0, 0, 4]):
        env.reset(seed=1)
        states.append(env.step(np.array(action, dtype=np.float64))[0])
    assert not np.allclose(states[0], states[1])
    envs = exoskel.gym.make_vec(file, num_envs=2)
    envs.reset(seed=1)
    envs.step(envs.action_space.sample())


def test_controls_of_environments_act_as_in_a_simulation() -> None:
    world = arm_with_actuators()
    env = exoskel.gym.make(world, frame_skip=3)
    envs = exoskel.gym.make_vec(world, num_envs=2, frame_skip=3)
    simulation = exoskel.Simulation(world)
    env.reset(seed=0)
    envs.reset(seed=0)
    action = np.array([0.5, 0.3, 0.1, -0.4, 2.0])
    for _ in range(5):
        simulation.controls = action
        simulation.step(3)
        observation = env.step(action)[0]
        many = envs.step(np.stack([action, np.zeros(5)]))[0]
    np.testing.assert_array_equal(observation[:3], simulation.positions)
    np.testing.assert_allclose(many[0], observation, rtol=1e-9, atol=1e-12)
    assert abs(many[1] - observation).max() > 1e-3
    first = env.reset(seed=0)[0]  # the initial controls act again until the first action
    np.testing.assert_array_equal(env.core.engine.actuator_controls, [0, 0, 0.2, 0, 0])
    np.testing.assert_array_equal(first, np.zeros(6))


@pytest.mark.parametrize("integrator", [None, "discrete"])
@pytest.mark.parametrize("task", TASKS)
def test_an_action_acts_for_frame_skip_steps(task: str, integrator: str | None) -> None:
    env = exoskel.gym.make(task=task, integrator=integrator)
    env.reset(seed=1)
    core = env.core
    simulation = exoskel.Simulation(core.world, integrator=integrator or core.task.integrator)
    simulation.positions = core.now.positions[0]
    simulation.velocities = core.now.velocities[0]
    action = 0.5 * env.action_space.high
    commands = simulation.commands.copy()
    for name, value in zip(core.actions.names, action, strict=True):
        commands[simulation.dof_names.index(name)] = (core.task.gears or {})[name] * value
    for _ in range(3):
        simulation.commands = commands
        simulation.step(core.task.frame_skip)
        env.step(action)
    np.testing.assert_array_equal(core.now.positions[0], simulation.positions)


@pytest.mark.parametrize("task", TASKS)
def test_each_vector_environment_matches_a_single_one(task: str) -> None:
    count, steps = 3, 30
    envs = exoskel.gym.make_vec(task=task, num_envs=count, horizon=12)
    singles = [exoskel.gym.make(task=task, horizon=12) for _ in range(count)]
    seen, _ = envs.reset(seed=10)
    rows = [env.reset(seed=10 + i)[0] for i, env in enumerate(singles)]
    np.testing.assert_array_equal(seen, rows)
    actions = np.random.default_rng(0).uniform(-1, 1, (steps, *envs.action_space.shape))
    done = [False] * count
    for action in actions:
        result = envs.step(action)
        for i, env in enumerate(singles):
            if done[i]:
                expected: Any = (env.reset()[0], 0.0, False, False)
            else:
                expected = env.step(action[i])[:4]
            done[i] = expected[2] or expected[3]
            np.testing.assert_array_equal(result[0][i], expected[0])
            assert [part[i] for part in result[1:4]] == list(expected[1:])
    assert any(env.core.ages[0] < steps for env in singles)


def test_seeds_determine_the_initial_state() -> None:
    env = exoskel.gym.make(task="hopper")
    first, second, third = (env.reset(seed=seed)[0] for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, third)


def test_the_pole_falls_and_the_episode_ends() -> None:
    env = exoskel.gym.make(task="cartpole")
    env.reset(seed=0)
    total, over = 0.0, False
    while not over:
        _, reward, over, late, _ = env.step(np.zeros(1))
        total += reward
        assert not late
    assert 5 < total < 400


def test_a_pole_can_be_balanced() -> None:
    env = exoskel.gym.make(task="cartpole")
    seen, _ = env.reset(seed=0)
    for _ in range(1000):
        place, angle, speed, spin = seen
        force = 1.0 * place + 2.0 * speed - 30.0 * angle - 8.0 * spin
        seen, _, over, late, _ = env.step(np.array([np.clip(force, -1, 1)]))
        assert not over
    assert late


def test_an_episode_ends_at_the_horizon() -> None:
    env = exoskel.gym.make(task="half_cheetah", horizon=3)
    env.reset(seed=0)
    assert [env.step(np.zeros(6))[3] for _ in range(3)] == [False, False, True]


def test_the_reward_is_the_forward_speed() -> None:
    env = exoskel.gym.make(task="half_cheetah")
    env.reset(seed=0)
    before = env.core.now.position("root_x")[0]
    action = np.full(6, 0.3)
    _, reward, *_ = env.step(action)
    moved = (env.core.now.position("root_x")[0] - before) / env.core.seconds
    assert reward == pytest.approx(moved - 0.1 * 6 * 0.09)


def test_the_reacher_observes_its_fingertip() -> None:
    env = exoskel.gym.make(task="reacher")
    env.reset(seed=5)
    poses = env.core.now.body_poses[0]
    names = [name for _, name in env.core.engine.bodies]
    fore = poses[names.index("fore")]
    from exoskel import spatial

    along = spatial.quaternion_matrix(fore[3:]) @ (0.0, -0.055, 0.0)  # from the middle of the link to its far end
    gap = poses[names.index("spot"), :2] - (fore[:3] + along)[:2]
    np.testing.assert_allclose(env.core.observation[0, -2:], gap, atol=1e-12)


@pytest.mark.parametrize("gl", ["egl", "glfw"])
def test_a_picture_shows_moving_bodies(gl: str) -> None:
    """By MuJoCo, and where it cannot draw (here: for want of a display) by the processor."""
    script = """
import numpy as np, exoskel
for _ in range(2):
    env = exoskel.gym.make(task="hopper", render_mode="rgb_array")
    env.reset(seed=0)
    picture = env.render()
    assert picture.shape == (480, 640, 3) and picture.dtype == np.uint8
    backdrop = picture[240, 40].astype(int)
    seen = np.abs(picture.astype(int) - backdrop).max(axis=-1) > 40
    assert seen[:, 300:340].any(axis=1).sum() > 150, "the leg stands upright in the middle"
    for _ in range(20):
        env.step(np.ones(3))
    assert (env.render() != picture).any()
    env.close()
"""
    settings = {word: value for word, value in os.environ.items() if word not in ("DISPLAY", "WAYLAND_DISPLAY")}
    settings["MUJOCO_GL"] = gl
    done = subprocess.run([sys.executable, "-c", script], env=settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_custom_task_defines_observation_reward_and_end() -> None:
    task = exoskel.gym.Task(
        observe=lambda now: now.positions,
        reward=lambda before, now, action, seconds: -np.abs(now.positions).sum(axis=-1),
        is_over=lambda now: np.abs(now.positions[:, 0]) > 1.0,
        gears={"slide": 5.0},
        noise=0.1,
    )
    env = exoskel.gym.make("dart://sample/skel/cart_pole.skel", task=task)
    seen, _ = env.reset(seed=0)
    assert seen.shape == (2,)
    assert env.action_space.shape == (1,)
    assert env.step([1.0])[1] < 0.0


def test_functions_that_take_single_get_no_first_axis() -> None:
    seen: list[tuple[tuple[int, ...], ...]] = []

    def reward(before: Any, now: Any, action: Any, seconds: float) -> Any:
        seen.append((before.positions.shape, now.velocities.shape, np.shape(now.position("hinge")), action.shape))
        return -np.abs(now.positions).sum(axis=-1)

    options: dict[str, Any] = {"observe": lambda now: now.positions, "reward": reward, "gears": {"slide": 5.0}}
    file, results = "dart://sample/skel/cart_pole.skel", []
    for single in (False, True):
        env = exoskel.gym.make(file, task=exoskel.gym.Task(**options, take_single=single, noise=0.1))
        env.reset(seed=1)
        results.append([env.step(np.ones(1))[:2] for _ in range(3)])
        assert env.core.now.positions.shape == env.core.observation.shape == (1, 2)
        assert env.core.now.body_poses.shape[0] == 1
    assert set(seen[:3]) == {((1, 2), (1, 2), (1,), (1, 1))}
    assert set(seen[3:]) == {((2,), (2,), (), (1,))}
    for (one, first), (other, second) in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)
        assert first == second


def test_invalid_results_of_single_tasks_are_an_error() -> None:
    task = exoskel.gym.Task(reward=lambda *_: np.zeros(2), take_single=True)
    env = exoskel.gym.make("dart://sample/skel/cart_pole.skel", task=task)
    env.reset(seed=0)
    with pytest.raises(exoskel.ExoskelError, match="must return a number for each environment"):
        env.step(np.zeros(2))


def test_built_in_tasks_are_registered() -> None:
    ids = exoskel.gym.register()
    assert "exoskel/HalfCheetah-v0" in ids
    env = gymnasium.make("exoskel/Hopper-v0")
    assert env.unwrapped.core.task == exoskel.gym.TASKS["hopper"]
    envs = gymnasium.make_vec("exoskel/Hopper-v0", num_envs=2, vectorization_mode="vector_entry_point")
    assert envs.num_envs == 2


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((), {}, "needs a file"),
        ((), {"task": "swimming"}, "unknown task 'swimming'"),
        (("dart://sample/skel/cart_pole.skel",), {"task": "hopper"}, "drives unknown coordinates: ankle, hip, knee"),
        ((), {"task": 5}, "a task must be a name or a Task"),
        ((), {"task": "hopper", "frame_skip": 0}, "frame_skip must be a whole number of at least 1"),
        ((), {"task": "hopper", "frame_skip": 1.5}, "frame_skip must be a whole number"),
        ((), {"task": "hopper", "step": -0.01}, "the time step must be"),
        ((), {"task": "hopper", "num_envs": 3}, "unknown option num_envs"),
        ((), {"task": "hopper", "render_mode": "smell"}, "unknown render mode"),
    ],
)
def test_invalid_environments_are_an_error(arguments: tuple[str, ...], options: dict[str, Any], message: str) -> None:
    with pytest.raises(exoskel.ExoskelError, match=message):
        exoskel.gym.make(*arguments, **options)


def test_a_scene_without_driven_joints_is_an_environment_without_actions() -> None:
    env = exoskel.gym.make("dart://sample/skel/falling_boxes.skel")
    assert env.action_space.shape == (0,)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_env(env, skip_render_check=True)
    envs = exoskel.gym.make_vec("dart://sample/skel/falling_boxes.skel", 2)
    start, _ = envs.reset(seed=0)
    assert (envs.step(envs.action_space.sample())[0] != start).any()


@pytest.mark.parametrize(
    "action", [np.zeros(3), [0.0], "a", None, [np.nan, 0.0], 0.0, np.zeros((2, 1)), [[0.0], [1, 2]]]
)
def test_invalid_actions_are_an_error(action: Any) -> None:
    env = exoskel.gym.make("dart://sample/skel/cart_pole.skel")
    env.reset(seed=0)
    with pytest.raises(exoskel.ExoskelError, match=r"actions must be|actions must have the shape \(2,\), not \("):
        env.step(action)


def test_transposed_actions_are_an_error() -> None:
    envs = exoskel.gym.make_vec("dart://sample/skel/cart_pole.skel", 3)
    envs.reset(seed=0)
    with pytest.raises(exoskel.ExoskelError, match="must have the shape"):
        envs.step(np.zeros((2, 3)))


def test_seeds_of_many_may_be_of_any_type() -> None:
    envs = exoskel.gym.make_vec(task="hopper", num_envs=3)
    start, _ = envs.reset(seed=5)
    for seeds in (np.int64(5), [5, 6, 7], (5, 6, 7), np.array([5, 6, 7])):
        np.testing.assert_array_equal(envs.reset(seed=seeds)[0], start)
    for wrong in ([1], [1, 2, 3, 4], "abc", -1, 1.5):
        with pytest.raises(exoskel.ExoskelError, match="seed"):
            envs.reset(seed=wrong)
    for mask in ([True], "x", np.ones(5, dtype=bool), [0, 1, 2]):
        with pytest.raises(exoskel.ExoskelError, match="reset_mask"):
            envs.reset(options={"reset_mask": mask})


def test_each_vector_environment_is_drawn() -> None:
    envs = exoskel.gym.make_vec(task="hopper", num_envs=3, render_mode="rgb_array")
    alone = exoskel.gym.make(task="hopper", render_mode="rgb_array")
    envs.reset(seed=5)
    alone.reset(seed=7)
    pictures = envs.render()
    assert pictures is not None
    assert [picture.shape for picture in pictures] == [(480, 640, 3)] * 3
    assert (pictures[2] == alone.render()).all()
    assert (pictures[0] != pictures[2]).any()
    envs.close()
    alone.close()


def test_each_vector_environment_is_rendered_as_text() -> None:
    envs = exoskel.gym.make_vec(task="hopper", num_envs=2, render_mode="ansi")
    alone = exoskel.gym.make(task="hopper", render_mode="ansi")
    envs.reset(seed=0)
    alone.reset(seed=1)
    lines = envs.render()
    assert lines is not None
    assert lines[1] == alone.render() != lines[0]
    assert exoskel.gym.make_vec(task="hopper", num_envs=2).render() is None
    with pytest.raises(exoskel.ExoskelError, match="unknown render mode"):
        exoskel.gym.make_vec(task="hopper", num_envs=2, render_mode="smell")


def test_a_missing_renderer_is_reported_every_time() -> None:
    script = """
import exoskel
exoskel.display_hooks.create_painter = lambda *_: None  # the viewer is not installed
for _ in range(3):
    env = exoskel.gym.make(task="hopper", render_mode="rgb_array")
    env.reset(seed=0)
    try:
        env.render()
    except exoskel.ExoskelError as error:
        print(error)
    env.close()
"""
    settings = {word: value for word, value in os.environ.items() if word not in ("DISPLAY", "WAYLAND_DISPLAY")}
    settings["MUJOCO_GL"] = "glfw"
    done = subprocess.run([sys.executable, "-c", script], env=settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("MuJoCo cannot draw here") == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reward": lambda *_: "much"}, "reward of a task must return a number for each"),
        ({"reward": lambda *_: np.zeros(7)}, "reward of a task must return a number for each"),
        ({"is_over": lambda _: None}, "is_over of a task must return a number for each"),
        ({"observe": lambda _: [1.0]}, "one row per environment"),
    ],
)
def test_invalid_results_of_a_task_are_an_error(options: dict[str, Any], message: str) -> None:
    task = exoskel.gym.Task(**options)
    with pytest.raises(exoskel.ExoskelError, match=message):
        exoskel.gym.make_vec("dart://sample/skel/cart_pole.skel", 3, task=task).step(np.zeros((3, 2)))


def test_seeds_apply_to_the_environments_that_are_reset() -> None:
    ours = exoskel.gym.make_vec(task="cartpole", num_envs=2)
    theirs = gymnasium.vector.SyncVectorEnv([lambda: exoskel.gym.make(task="cartpole")] * 2)
    found = []
    for envs in (ours, theirs):
        envs.reset(seed=1)
        envs.reset(seed=50, options={"reset_mask": np.array([True, False])})
        found.append(envs.reset()[0])
    np.testing.assert_array_equal(*found)


REGISTERED = [f"exoskel/{''.join(word.capitalize() for word in name.split('_'))}-v0" for name in TASKS]


@pytest.mark.parametrize("name", REGISTERED)
def test_environments_are_made_by_the_name_of_the_module(name: str) -> None:
    env = gymnasium.make(f"exoskel.gym:{name}")
    assert env.spec is not None
    assert env.spec.max_episode_steps == exoskel.gym.TASKS[env.unwrapped.core.task.scene.removesuffix(".skel")].horizon
    observation, _ = env.reset(seed=1)
    assert env.observation_space.contains(observation)


def test_importing_the_module_registers_the_tasks() -> None:
    script = "import gymnasium, exoskel.gym; print(sorted(n for n in gymnasium.registry if n.startswith('exoskel/')))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(sorted(REGISTERED))


def test_max_episode_steps_ends_episodes_of_one_and_of_many() -> None:
    env = gymnasium.make("exoskel.gym:exoskel/HalfCheetah-v0", max_episode_steps=7)
    env.reset(seed=1)
    ends = [env.step(env.action_space.sample())[3] for _ in range(7)]
    assert ends == [False] * 6 + [True]
    envs = gymnasium.make_vec("exoskel/HalfCheetah-v0", num_envs=2, max_episode_steps=7)
    envs.reset(seed=1)
    ends = [bool(envs.step(envs.action_space.sample())[3].all()) for _ in range(7)]
    assert ends == [False] * 6 + [True]
    longer = gymnasium.make("exoskel.gym:exoskel/Reacher-v0", max_episode_steps=60)
    longer.reset(seed=1)
    ends = [longer.step(longer.action_space.sample())[3] for _ in range(60)]
    assert ends == [False] * 59 + [True]


def test_environments_can_be_pickled() -> None:
    env = exoskel.gym.make(task="hopper", frame_skip=2, friction=0.7)
    other = pickle.loads(pickle.dumps(env))
    assert other.core.task.frame_skip == 2
    for one in (env, other):
        one.reset(seed=3)
    for _ in range(5):
        np.testing.assert_array_equal(env.step(np.full(3, 0.3))[0], other.step(np.full(3, 0.3))[0])
    envs = pickle.loads(pickle.dumps(exoskel.gym.make_vec(task="hopper", num_envs=3)))
    assert envs.num_envs == 3
    wrapped = pickle.loads(pickle.dumps(gymnasium.make("exoskel.gym:exoskel/Hopper-v0")))
    assert wrapped.reset(seed=3)[0].shape == (11,)


def pickled(env: Any) -> Any:
    return pickle.loads(pickle.dumps(env))


@pytest.mark.parametrize("copied", [copy.deepcopy, pickled])
@pytest.mark.parametrize("task", TASKS)
def test_a_copy_of_a_registered_environment_continues_like_the_original(task: str, copied: Any) -> None:
    title = "".join(word.capitalize() for word in task.split("_"))
    env = gymnasium.make(f"exoskel.gym:exoskel/{title}-v0", max_episode_steps=12)
    env.reset(seed=3)
    env.action_space.seed(4)
    for _ in range(5):
        env.step(env.action_space.sample())
    other = copied(env)
    assert other.spec == env.spec and other.unwrapped.spec == env.unwrapped.spec is not None
    for _ in range(30):
        actions = [one.action_space.sample() for one in (env, other)]
        ours, theirs = (one.step(action) for one, action in zip((env, other), actions, strict=True))
        np.testing.assert_array_equal(ours[0], theirs[0])
        assert ours[1:] == theirs[1:]
        if ours[2] or ours[3]:
            np.testing.assert_array_equal(env.reset()[0], other.reset()[0])


@pytest.mark.parametrize("copied", [copy.deepcopy, pickled])
@pytest.mark.parametrize("integrator", ["discrete", "implicitfast"])
@pytest.mark.parametrize("count", [None, 3])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_copies_continue_like_the_originals(count: int | None, integrator: str, copied: Any) -> None:
    """Contacts, stops, prescribed velocities, forces that act in the first step only, and controls of actuators."""
    samples = ("skel/walker.skel", "skel/actuators.skel", "xode/four_bar.xode")
    for scene in (arm_with_actuators(), *(f"dart://sample/{name}" for name in samples)):
        options: dict[str, Any] = {"integrator": integrator}
        env = exoskel.gym.make(scene, **options) if count is None else exoskel.gym.make_vec(scene, count, **options)
        env.reset(seed=1)
        env.action_space.seed(0)
        for steps in (0, 1, 4):
            for _ in range(steps):
                env.step(0.05 * env.action_space.sample())
            other = copied(env)
            for _ in range(8):
                action = 0.05 * env.action_space.sample()
                ours, theirs = env.step(action), other.step(action)
                np.testing.assert_array_equal(ours[0], theirs[0])
                np.testing.assert_array_equal(ours[1], theirs[1])
            np.testing.assert_array_equal(env.reset()[0], other.reset()[0])


def test_a_copy_of_environments_that_have_ended_resets_them_as_the_original_does() -> None:
    envs = gymnasium.make_vec("exoskel.gym:exoskel/Cartpole-v0", num_envs=3, max_episode_steps=4)
    envs.reset(seed=5)
    envs.action_space.seed(1)
    for steps in range(1, 9):
        envs.step(envs.action_space.sample())
        other = pickle.loads(pickle.dumps(envs))
        assert other.spec == envs.spec is not None
        actions = envs.action_space.sample()
        for ours, theirs in zip(copy.deepcopy(envs).step(actions)[:4], other.step(actions)[:4], strict=True):
            np.testing.assert_array_equal(ours, theirs, str(steps))


def test_gymnasium_collects_pictures() -> None:
    env = gymnasium.make("exoskel.gym:exoskel/Hopper-v0", render_mode="rgb_array_list", width=64, height=48)
    env.reset(seed=1)
    env.step(np.zeros(3))
    pictures = env.render()
    assert pictures is not None
    assert [picture.shape for picture in pictures] == [(48, 64, 3)] * 2
    env.close()
    with pytest.raises(exoskel.ExoskelError, match=r"gymnasium\.make also collects lists"):
        exoskel.gym.make(task="hopper", render_mode="rgb_array_list")


CAMERAS = b"""<mujoco><worldbody><camera name="away" pos="0 0 2" euler="170 0 0"/><camera name="above" pos="0 0 2"/>
<body name="b"><camera pos=".3 0 2"/><joint name="slide" type="slide" axis="1 0 0"/>
<geom type="box" size=".1 .1 .1" rgba="1 0 0 1"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize("gl", ["egl", "glfw"])
def test_a_camera_of_the_scene_takes_the_picture(gl: str) -> None:
    script = """
import numpy as np, exoskel
from tests.batch.test_gym import CAMERAS
scene = exoskel.load(CAMERAS)
def red(**options):
    env = exoskel.gym.make(scene, render_mode="rgb_array", width=90, height=60, **options)
    env.reset(seed=1)
    first = env.render()
    env.core.engine.positions = np.array([0.4])
    both = [(one[..., 0] > 2.0 * one[..., 1].astype(float) + 40) for one in (first, env.render())]
    env.close()
    assert first.shape == (60, 90, 3)
    return [(int(one.sum()), float(np.argwhere(one)[:, 1].mean()) if one.any() else -1.0) for one in both]
assert [count for count, _ in red(camera_name="away")] == [0, 0]
(count, column), (_, moved) = red(camera_name="above")
assert count > 10 and abs(column - 44.5) < 3 and moved > column + 5, (count, column, moved)
assert red(camera_id=1) == red(camera_name="above")
(count, column), (_, moved) = red(camera_id=2)
assert count > 10 and column < 43 and abs(moved - column) < 1, (count, column, moved)
"""
    settings = {word: value for word, value in os.environ.items() if word not in ("DISPLAY", "WAYLAND_DISPLAY")}
    settings["MUJOCO_GL"] = gl
    done = subprocess.run([sys.executable, "-c", script], env=settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 0}, "width must be a whole number of at least 16"),
        ({"height": 10_000}, "height must be at most 8,192"),
        ({"camera_name": "nowhere"}, "unknown camera 'nowhere'; choose one of away, above"),
        ({"camera_id": 3}, "camera_id must be at most 2"),
        ({"camera_id": 0, "camera_name": "away"}, "camera_name or camera_id, not both"),
    ],
)
def test_invalid_pictures_are_an_error(options: dict[str, Any], message: str) -> None:
    with pytest.raises(exoskel.ExoskelError, match=message):
        exoskel.gym.make(exoskel.load(CAMERAS), render_mode="rgb_array", **options)
    with pytest.raises(exoskel.ExoskelError, match="the scene has no camera"):
        exoskel.gym.make(task="hopper", camera_id=0)


def test_the_window_shows_every_state(monkeypatch: pytest.MonkeyPatch) -> None:
    import contextlib

    import mujoco.viewer

    shown: list[np.ndarray] = []

    class Window:
        def __init__(self, _model: Any, data: Any) -> None:
            self.data = data

        def lock(self) -> Any:
            return contextlib.nullcontext()

        def sync(self) -> None:
            shown.append(self.data.qpos.copy())

        def close(self) -> None:
            shown.clear()

    monkeypatch.setattr(mujoco.viewer, "launch_passive", Window)
    monkeypatch.setattr(mujoco.viewer.glfw, "init", lambda: True)
    env = exoskel.gym.make(task="cartpole", render_mode="human")
    env.reset(seed=1)
    env.step(np.ones(1))
    assert env.render() is None
    assert len(shown) == 2
    np.testing.assert_array_equal(shown[1], env.core.worlds.qpos[0])
    env.close()
    assert not shown


def test_a_window_that_cannot_be_opened_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    import mujoco.viewer

    def refuse(*_: Any) -> None:
        raise RuntimeError("no display")

    monkeypatch.setattr(mujoco.viewer, "launch_passive", refuse)
    monkeypatch.setattr(mujoco.viewer.glfw, "init", lambda: True)
    env = exoskel.gym.make(task="cartpole", render_mode="human")
    with pytest.raises(exoskel.ExoskelError, match="cannot open a window: no display"):
        env.reset()
    with pytest.raises(exoskel.ExoskelError, match="a window shows one environment"):
        exoskel.gym.make_vec(task="cartpole", num_envs=2, render_mode="human")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have a display without DISPLAY")
def test_a_missing_display_does_not_end_the_process() -> None:
    """MuJoCo's viewer calls `exit`, which no program can catch."""
    program = """
import exoskel
try:
    exoskel.gym.make(task="cartpole", render_mode="human").reset()
except exoskel.ExoskelError as error:
    print(error)
"""
    environment = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "MuJoCo's viewer cannot open a window: " in done.stdout and "DISPLAY" in done.stdout


@pytest.mark.parametrize(
    ("stated", "task", "used"),
    [(None, None, "DISCRETE"), (None, "RK4", "RK4"), ("implicit", "RK4", "IMPLICIT"), ("discrete", "RK4", "DISCRETE")],
)
def test_the_integrator_of_a_task_is_used_unless_another_is_stated(
    stated: str | None, task: str | None, used: str
) -> None:
    import mujoco

    chosen = exoskel.gym.Task(scene="dart://sample/skel/cart_pole.skel", integrator=task)
    for env in (
        exoskel.gym.make(task=chosen, integrator=stated),
        exoskel.gym.make_vec(task=chosen, num_envs=2, integrator=stated),
    ):
        assert mujoco.mjtIntegrator(env.core.engine.model.opt.integrator).name == f"mjINT_{used}"
        env.close()


def test_environments_that_could_not_be_created_can_be_closed() -> None:
    """Gymnasium 1.1 closes them when they are deleted."""
    from exoskel.simulate.gym.environments import SceneVectorEnv

    SceneVectorEnv.__new__(SceneVectorEnv).close()
