"""The player: playing, seeking, posing and pulling, without a page."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import exoskel
from exoskel.diagnostics import ExoskelError
from exoskel.engines.dart import dart_world
from exoskel.engines.ode import ode_world
from exoskel.view.player import Player
from tests.support.findings import load_text
from tests.view.documents import RED, falling, pinned, sliding, world


def player(text: str, **options: object) -> Player:
    return Player(load_text(text).world, **options)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def no_slow_motion(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable slow motion, so that the tests do not depend on the speed of the machine."""
    monkeypatch.setattr("exoskel.view.player.HALF_CORE", 3000.0)


def height(one: Player) -> float:
    return float(one.poses[0, 2])


def play(one: Player, seconds: float) -> None:
    one.play()
    for _ in range(round(seconds / 0.02)):
        one.tick(0.02)


BALL = world(falling("ball", "0 0 3", RED))
ENGINES = [
    "mujoco",
    pytest.param("dart", marks=pytest.mark.skipif(not dart_world.available(), reason="dartpy is not installed")),
    pytest.param("ode", marks=pytest.mark.skipif(not ode_world.available(), reason="panda3d is not installed")),
]


def test_the_initial_state_needs_no_engine() -> None:
    one = player(BALL)
    assert (one.time, height(one)) == (0.0, 3.0)
    assert one._simulation is None


def test_a_played_body_falls_in_real_time() -> None:
    one = player(BALL)
    play(one, 0.4)
    assert one.time == pytest.approx(0.4, abs=0.002)
    assert height(one) == pytest.approx(3.0 - 4.905 * one.time * (one.time + 0.001), abs=1e-9)


def test_speed_scales_the_time() -> None:
    one = player(BALL)
    one.speed = 0.25
    play(one, 0.4)
    assert one.time == pytest.approx(0.1, abs=0.002)


def test_recorded_frames_are_replayed_before_the_simulation_continues() -> None:
    one = player(BALL)
    play(one, 0.4)
    end, low = one.time, height(one)
    one.seek(0.2)
    assert one.time == pytest.approx(0.2, abs=0.02) and height(one) > low
    assert one.contacts == []
    play(one, 0.1)
    assert one.time == pytest.approx(0.3, abs=0.02)
    count = len(one.frames)
    play(one, 0.3)
    assert one.time > end and len(one.frames) > count


def test_a_step_is_one_time_step() -> None:
    one = player(BALL)
    one.step()
    assert one.time == pytest.approx(0.001)


def test_reset_returns_to_the_initial_state() -> None:
    one = player(BALL)
    play(one, 0.3)
    one.reset()
    assert (one.time, height(one), len(one.frames)) == (0.0, 3.0, 1)
    play(one, 0.1)
    assert one.time == pytest.approx(0.1, abs=0.002)


def test_posing_sets_one_coordinate_and_the_simulation_continues_from_it() -> None:
    one = player(world(falling("ball", "0 0 3", RED), sliding("cart", "0 2 0.25", RED)))
    play(one, 0.2)
    one.pose(6, 0.4)
    assert one.poses[1, 1] == pytest.approx(2.4)
    assert not one.is_playing
    before = one.time
    play(one, 0.1)
    assert one.time == pytest.approx(before + 0.1, abs=0.01)
    assert one.poses[1, 1] == pytest.approx(2.4, abs=1e-3)


def test_without_gravity_nothing_falls_and_the_scene_is_not_edited() -> None:
    scene = load_text(BALL)
    one = Player(scene.world)
    one.set_gravity(False)
    play(one, 0.2)
    assert height(one) == pytest.approx(3.0)
    assert scene.world.gravity == (0.0, 0.0, -9.81)
    one.set_gravity(True)
    play(one, 0.2)
    assert height(one) < 2.95
    assert one.time == pytest.approx(0.4, abs=0.01)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_pull_lifts_a_body(engine: str) -> None:
    one = player(BALL, engine=engine)
    one.play()
    for _ in range(100):
        one.pull(0, (0.0, 0.0, 0.25), (0.0, 0.0, 4.0))
        one.tick(0.02)
    assert height(one) > 3.2
    one.release()
    before = height(one)
    play(one, 0.3)
    assert height(one) < before
    one.close()


def test_an_engine_that_cannot_run_the_world_is_an_error() -> None:
    one = player(BALL, engine="nonsense")
    play(one, 0.1)
    assert "nonsense" in one.error
    assert not one.is_playing and one.time == 0.0


def test_a_recorded_motion_is_played_and_repeats_after_its_end() -> None:
    scene = load_text(BALL)
    motion = exoskel.run(scene, 0.5)
    one = Player(scene.world, recorded=motion)
    assert one.span == (0.0, pytest.approx(0.5))
    play(one, 0.8)
    assert one.is_at_end and not one.is_playing
    assert height(one) == pytest.approx(motion.body_poses[-1, 0, 2], rel=1e-6)
    one.play()
    assert one.time == 0.0


def test_a_motion_of_another_scene_is_rejected() -> None:
    motion = exoskel.run(load_text(BALL), 0.01)
    two = load_text(world(falling("a", "0 0 1", RED), falling("b", "0 0 2", RED)))
    with pytest.raises(ExoskelError, match="another scene"):
        Player(two.world, recorded=motion)


def test_a_long_recording_is_thinned_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exoskel.view.player.MAX_NUMBERS", 7 * 20)
    one = player(BALL)
    play(one, 1.0)
    assert len(one.frames) <= 21
    assert one.frames[0].time == 0.0 and one.time == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_resting_box_presses_on_the_ground_with_its_weight(engine: str) -> None:
    one = player(world(pinned("floor", "0 0 -0.25", RED), falling("box", "0 0 0.25", RED)), engine=engine)
    play(one, 0.2)
    _ = one.contacts
    forces = []
    for _ in range(100):  # later, DART deactivates resting bodies and reports no forces
        one.step()
        down = (c.force if c.bodies[1] == "floor/floor" else -c.force for c in one.contacts)
        forces.append(sum(down, np.zeros(3)))
    force = np.mean(forces, axis=0)
    assert force[2] == pytest.approx(-9.81, rel=0.02)
    assert np.abs(force[:2]).max() < 0.05
    one.close()


def test_an_engine_that_cannot_set_a_state_reports_it_and_starts_after_a_reset() -> None:
    pytest.importorskip("panda3d", reason="Panda3D is not installed")
    one = player(BALL)
    play(one, 0.1)
    one.set_engine("ode")
    assert "press Reset" in one.error
    assert height(one) < 3.0, "what was simulated stays"
    one.reset()
    play(one, 0.1)
    assert one.engine == "ode" and one.time == pytest.approx(0.1, abs=0.01) and not one.error
    one.close()


def test_a_slow_simulation_plays_in_slow_motion() -> None:
    one = player(BALL)
    one.core_share = 0.0
    play(one, 1.0)
    assert one.time < 0.1
    one.core_share = 3000.0
    before = one.time
    one.tick(0.02)
    assert one.time == pytest.approx(before + 0.02, abs=0.002)


@pytest.mark.parametrize("cost", [0.0001, 0.004, 0.1])
@pytest.mark.parametrize("share", [0.4, 0.9])
def test_a_simulation_takes_no_more_than_its_share_of_a_core(
    share: float, cost: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step takes `cost` s here; the clock is that of the test."""
    now = 0.0
    one = player(BALL)
    one.core_share = share
    one.play()
    simulation = one._ensure_started()
    spent, advance = 0.0, simulation.step

    def step(count: int = 1) -> None:
        nonlocal now, spent
        now, spent = now + count * cost, spent + count * cost
        advance(count)

    monkeypatch.setattr(simulation, "step", step)
    monkeypatch.setattr("exoskel.view.player.clock", SimpleNamespace(perf_counter=lambda: now))
    before = 0.0
    for _ in range(300):
        begin, elapsed = now, now - before
        one.tick(elapsed)
        before, now = begin, max(now, begin + 1 / 30)
    assert spent <= (share + 0.05) * now
    needed = cost / simulation.time_step
    assert one.time / now == pytest.approx(min(1.0, share / needed), rel=0.15)
