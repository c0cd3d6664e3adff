"""Interactive playback of a world: play, pause, seek, pose and pull.

Simulated frames are recorded.  Playing first replays the recorded frames, then continues the simulation from the
last one.  The engine is started when it is first needed.
"""

from __future__ import annotations

import time as clock
from collections.abc import Mapping
from copy import copy

import numpy as np
from msgspec import Struct

from exoskel import spatial
from exoskel.diagnostics import ExoskelError
from exoskel.engines.interface import ActuatedWorld, Contact, pull_force
from exoskel.scene.actuator import Actuator
from exoskel.scene.body import Body
from exoskel.scene.cameras_and_keyframes import Keyframe
from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.item import qualified_name
from exoskel.scene.joint import Joint
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.pose import Vector
from exoskel.scene.world import World
from exoskel.simulate.options import MAX_CHUNK, MAX_STEPS, step_chunks, step_count
from exoskel.simulate.simulation import Simulation
from exoskel.simulate.trajectory import Trajectory
from exoskel.spatial import Array
from exoskel.view.render_scene import compact_poses
from exoskel.view.surfaces import PoseRows, Skins

MAX_NUMBERS = 40_000_000
"""Pose numbers recorded (160 MB in single precision) before the older half of the frames is thinned out."""
HALF_CORE, WHOLE_CORE = 0.4, 0.9
"""The fraction of the time that simulating may take.  Sending the frames takes up to a tenth more."""
_MAX_SAVED = 0.07
"""Wall time in s for which a simulation can save up what it did not take."""
_STEPS_PER_PULL = 4
"""Steps for which the force of a pull is constant."""


class PlayerFrame(Struct):
    """One recorded frame: time in s, poses of bodies and points of skins as x y z qw qx qy qz, joint coordinates."""

    time: float
    poses: PoseRows
    positions: Array


class PullHandle(Struct):
    """A pull by the user: the body's number, the pulled point (body frame, m) and the target (world, m)."""

    body: int
    point: Array
    target: Array


class Player:
    """Plays one world.  `poses` `(bodies and points, 7)`, `positions` and `time` are those of the current frame."""

    def __init__(self, world: World, engine: str = "mujoco", *, recorded: Trajectory | None = None) -> None:
        self.world = world
        self.engine = engine
        self.speed = 1.0
        self.gravity = True
        self.is_playing = False
        self.error = ""
        self.can_simulate = recorded is None
        self.core_share = HALF_CORE
        """The fraction of the time that the simulation may take; one that needs more plays in slow motion."""
        self._time_left = 0.0
        """Time in s that the simulation may take now; negative after a step that took longer."""
        self.active_pull: PullHandle | None = None
        self._simulation: Simulation | None = None
        self._kinematics = Kinematics(world.models)
        self._skins = Skins(world)
        self._names = [(model.name, body.name) for model in world.models for body in model.bodies]
        self._time_offset = 0.0
        """The recorded time at which the engine's time is zero."""
        self._time_debt = 0.0
        """Simulated time in s that the last tick had no time for."""
        self._pending_state: tuple[Array, Array] | None = None
        """The state for an engine that has not been started yet."""
        self._commands: dict[int, float] = {}
        """The commands of coordinates that were set; they act until the player is reset."""
        self._actuator_controls: dict[str, float] = {}
        """The controls of actuators that were set; they act until the player is reset."""
        self.frames: list[PlayerFrame] = []
        if recorded is None:
            self._record_initial()
        else:
            self._load_recorded(recorded)
        self._current = 0
        self._replay_time = self.frames[0].time

    def _record_initial(self) -> None:
        q = self._kinematics.initial.copy()
        self.frames = [PlayerFrame(0.0, self._frame(self._kinematics.poses(q)), q)]

    def _load_recorded(self, recorded: Trajectory) -> None:
        if not len(recorded):
            raise ExoskelError("cannot play the trajectory: it is empty")
        count = sum(len(model.bodies) for model in self.world.models)
        if recorded.body_poses.shape[1] != count:
            recorded_count = recorded.body_poses.shape[1]
            raise ExoskelError(
                f"the motion belongs to another scene: it has {recorded_count} bodies, the scene {count}"
            )
        moved = compact_poses(self._skins.frames(recorded.body_poses, recorded.soft_points))
        rows = zip(recorded.time.tolist(), moved, recorded.positions, strict=True)
        self.frames = [PlayerFrame(time, poses, positions) for time, poses, positions in rows]

    # --- the current frame ----------------------------------------------------------------------------

    @property
    def frame(self) -> PlayerFrame:
        return self.frames[self._current]

    @property
    def time(self) -> float:
        return self.frame.time

    @property
    def positions(self) -> Array:
        return self.frame.positions

    @property
    def poses(self) -> PoseRows:
        """Rows of x y z qw qx qy qz, in single precision unless the bodies are far from the origin."""
        return self.frame.poses

    @property
    def span(self) -> tuple[float, float]:
        """The times of the first and the last frame."""
        return self.frames[0].time, self.frames[-1].time

    @property
    def is_at_end(self) -> bool:
        return self._current == len(self.frames) - 1

    @property
    def needs_engine(self) -> bool:
        """Whether the next frame requires starting an engine."""
        return self.can_simulate and self._simulation is None and self.is_at_end

    @property
    def contacts(self) -> list[Contact]:
        """The current contacts; empty for earlier frames and recorded motions, because only engines know them."""
        if self._simulation is None or not self.is_at_end:
            return []
        return self._simulation.contacts

    def joint_force(self, joint: Joint) -> tuple[float, ...] | None:
        """The force of the parent on the child through a joint, N; None unless an engine is at this frame."""
        if self._simulation is None or not self.is_at_end or self._simulation.engine.controls is None:
            return None
        return tuple(self._simulation.joint_reaction(joint).force.tolist())

    def contact_force(self, body: Body) -> tuple[float, ...] | None:
        """The sum of the contact forces on a body, N; None unless an engine is at this frame."""
        if self._simulation is None or not self.is_at_end:
            return None
        return tuple(self._simulation.contact_force(None, body).tolist())

    def contact_count(self, body: int) -> float | None:
        """The number of contacts of a body, given by number; None unless an engine is at this frame."""
        if self._simulation is None or not self.is_at_end:
            return None
        path = qualified_name(*self._names[body])
        return float(sum(path in contact.bodies for contact in self._simulation.contacts))

    def pull_force(self) -> tuple[float, bool] | None:
        """The force of the pull, N, and whether it is an estimate; None without a pull.

        Where the engine does not report it, it is computed from the mass of the body alone.
        """
        if self.active_pull is None or self._simulation is None:
            return None
        engine, number = self._simulation.engine, self.active_pull.body
        reported = engine.pull_force(number)
        if reported is not None:
            return float(np.linalg.norm(reported)), False
        rotation, position = engine.body_poses[number, :3, :3], engine.body_poses[number, :3, 3]
        arm = rotation @ self.active_pull.point
        angular, linear = engine.body_velocities[number, :3], engine.body_velocities[number, 3:]
        mass = list(self.world.bodies())[number].mass
        force = pull_force(mass, self.active_pull.target - position - arm, linear + np.cross(angular, arm))
        return float(np.linalg.norm(force)), True

    # --- playing --------------------------------------------------------------------------------------

    def play(self) -> None:
        if self.is_at_end and not self.can_simulate:
            self.seek(self.span[0])
        self.is_playing = True
        self.error = ""
        self._time_debt = 0.0
        self._replay_time = self.time

    def pause(self) -> None:
        self.is_playing = False

    def tick(self, elapsed: float) -> bool:
        """Advance by `elapsed` s of wall time; returns whether the frame has changed."""
        if not self.is_playing:
            return False
        if not self.is_at_end:
            return self._replay(elapsed * self.speed)
        if not self.can_simulate:
            self.is_playing = False
            return False
        self._time_left = min(self._time_left + self.core_share * elapsed, self.core_share * _MAX_SAVED)
        return self._simulate(elapsed * self.speed)

    def step(self) -> None:
        """Advance by one time step, or by one recorded frame."""
        if not self.is_at_end:
            self._show(self._current + 1)
        elif self.can_simulate:
            simulation = self._ensure_started()
            self._pull(simulation)
            self._advance(simulation, 1)

    def step_back(self) -> None:
        """Go back by one frame."""
        self._show(self._current - 1)
        self._replay_time = self.time

    def advance_to(self, time: float) -> None:
        """Go to a time in s: a recorded frame, or simulate until then, however long that takes."""
        if time <= self.span[1]:
            self.seek(time)
            return
        self._show(len(self.frames) - 1)
        simulation = self._ensure_started()
        steps = step_count(time - self.time, simulation.time_step)
        if steps > 0:
            self._advance(simulation, steps)
        if self.error:
            raise ExoskelError(self.error)

    def seek(self, time: float) -> None:
        """Go to the recorded frame nearest to a time, s."""
        times = np.array([frame.time for frame in self.frames])
        self._show(int(np.argmin(np.abs(times - time))))
        self._replay_time = self.time

    def reset(self) -> None:
        """Return to the initial state and discard all simulated frames."""
        self.is_playing = False
        self.error = ""
        self.release()
        self._commands, self._actuator_controls = {}, {}
        if self.can_simulate:
            self._stop()
            self._record_initial()
        self._show(0)

    def _replay(self, duration: float) -> bool:
        self._replay_time += duration
        number = self._current
        while number + 1 < len(self.frames) and self.frames[number + 1].time <= self._replay_time:
            number += 1
        changed = number != self._current
        self._show(number)
        return changed

    def _simulate(self, duration: float) -> bool:
        try:
            simulation = self._ensure_started()
        except ExoskelError as error:
            self._fail(str(error))
            return False
        self._time_debt = min(self._time_debt + duration, 0.25)
        steps = int(min(self._time_debt / simulation.time_step, MAX_STEPS))
        begin, done = clock.perf_counter(), 0
        chunk = _STEPS_PER_PULL if self.active_pull is not None else min(max(1, steps // 8), MAX_CHUNK)
        while done < steps and clock.perf_counter() - begin < self._time_left:
            self._pull(simulation)
            count = min(chunk, steps - done)
            simulation.step(count)
            done += count
        self._time_debt = 0.0 if done < steps else self._time_debt - done * simulation.time_step
        changed = done > 0 and self._record(simulation)
        self._time_left -= clock.perf_counter() - begin
        return changed

    def _advance(self, simulation: Simulation, count: int) -> None:
        for chunk in step_chunks(count):
            simulation.step(chunk)
        self._record(simulation)

    def _record(self, simulation: Simulation) -> bool:
        poses, positions = simulation.engine.body_poses, simulation.engine.positions
        problem = simulation.engine.state_problem
        if problem is not None or not (np.isfinite(poses).all() and np.isfinite(positions).all()):
            self._fail(problem.text if problem is not None else "the simulation diverged")
            return False
        points = simulation.soft_points if simulation.engine.soft_points is not None else None
        frame = self._frame(poses, points)
        self.frames.append(PlayerFrame(self._time_offset + simulation.time, frame, positions))
        if len(self.frames) * frame.size > MAX_NUMBERS and len(self.frames) > 4:
            older = len(self.frames) // 2
            self.frames = self.frames[:older:2] + self.frames[older:]
        self._show(len(self.frames) - 1)
        return True

    def _frame(self, poses: Array, points: Mapping[str, Array] | None = None) -> PoseRows:
        return compact_poses(self._skins.frames(spatial.pose7(poses), points))

    def _show(self, number: int) -> None:
        self._current = max(0, min(number, len(self.frames) - 1))

    def _fail(self, message: str) -> None:
        self.is_playing = False
        self.error = message

    # --- changing -------------------------------------------------------------------------------------

    def pose(self, dof: int, value: float) -> None:
        """Set one coordinate (rad or m) of the current frame; the simulation continues from there, at rest."""
        q = self.positions.copy()
        q[dof] = value
        self.set_state(q, np.zeros_like(q))

    def set_state(self, positions: Array, velocities: Array) -> None:
        """Replace the current frame by a state; the simulation continues from there."""
        self.is_playing = False
        time, poses = self.time, self._frame(self._kinematics.poses(positions))
        self.frames = [*self.frames[: self._current], PlayerFrame(time, poses, positions)]
        self._show(len(self.frames) - 1)
        self._restart(positions, velocities, time)

    def command(self, dof: int) -> float:
        """The command of a coordinate that was set; 0 if none was."""
        return self._commands.get(dof, 0.0)

    def set_command(self, dof: int, value: float) -> None:
        """Set the command of a coordinate: a force, velocity or acceleration, by its actuator."""
        if not self.can_simulate:
            raise ExoskelError("a recorded motion takes no commands; they work only while simulating")
        self._commands[dof] = value
        if self._simulation is not None:
            self._apply_commands(self._simulation)

    def control(self, actuator: Actuator) -> float:
        """The present control of an actuator."""
        return self._actuator_controls.get(actuator.name, actuator.control)

    def set_control(self, actuator: str, value: float) -> None:
        """Set the control of the actuator with this name."""
        if not self.can_simulate:
            raise ExoskelError("a recorded motion takes no controls; they work only while simulating")
        self._ensure_started().controls[actuator] = value
        self._actuator_controls[actuator] = value

    def set_keyframe(self, keyframe: Keyframe) -> None:
        """Go to a keyframe: a state, and the controls of actuators."""
        controls = dict(keyframe.controls)
        self._actuator_controls = {one.name: controls.get(one.name, 0.0) for one in self.world.actuators}
        models = self.world.models
        self.set_state(np.array(keyframe.positions(models)), np.array(keyframe.velocities(models)))

    def _apply_commands(self, simulation: Simulation) -> None:
        # Engines without actuators have springs and force limits instead, which take no controls.
        if self._actuator_controls and isinstance(simulation.engine, ActuatedWorld):
            simulation.controls = self._actuator_controls
        if self._commands:
            values = np.array(simulation.commands)
            values[list(self._commands)] = list(self._commands.values())
            simulation.commands = values

    def set_engine(self, engine: str) -> None:
        """Continue with another engine."""
        if engine != self.engine:
            self.engine = engine
            self._rebuild_engine()

    def set_gravity(self, on: bool) -> None:
        if on != self.gravity:
            self.gravity = on
            self._rebuild_engine()

    def _rebuild_engine(self) -> None:
        """Rebuild the engine and continue from the last frame."""
        if self._simulation is None:
            return
        state = self._simulation.positions, self._simulation.velocities
        self._restart(*state, self._time_offset + self._simulation.time)

    def _restart(self, positions: Array, velocities: Array, time: float) -> None:
        was_needed = self._simulation is not None
        self._stop()
        self._pending_state = (positions, velocities)
        self._time_offset = time
        if was_needed:
            try:
                self._ensure_started()
            except ExoskelError as error:
                self._fail(str(error))

    def _ensure_started(self) -> Simulation:
        if self._simulation is None:
            simulation = Simulation(self._world_with_gravity(), self.engine, warn=False)
            if self._pending_state is not None:
                try:
                    simulation.positions, simulation.velocities = self._pending_state
                except ExoskelError as error:  # not every engine can set a state
                    simulation.close()
                    raise ExoskelError(f"{error}; press Reset to start from the initial state") from None
                self._pending_state = None
            try:
                self._apply_commands(simulation)
            except ExoskelError:  # not every engine takes commands
                simulation.close()
                raise
            self._simulation = simulation
        return self._simulation

    def _world_with_gravity(self) -> World:
        """The world with gravity on or off; everything else is shared with the scene."""
        if self.gravity:
            return self.world
        with no_edits():  # the scene itself is unchanged
            other = copy(self.world)
            other.gravity = (0.0, 0.0, 0.0)
        return other

    def _stop(self) -> None:
        if self._simulation is not None:
            self._simulation.close()
        self._simulation = None
        self._time_offset = 0.0
        self._pending_state = None

    # --- pulling --------------------------------------------------------------------------------------

    def pull(self, body: int, point: Vector | Array, target: Vector | Array) -> None:
        """Pull a point of a body (body frame, m) towards a target (world, m) while the simulation runs."""
        self.active_pull = PullHandle(body, spatial.array(point), spatial.array(target))

    def release(self) -> None:
        self.active_pull = None
        if self._simulation is not None:
            self._simulation.engine.release()

    def _pull(self, simulation: Simulation) -> None:
        if self.active_pull is not None:
            simulation.engine.pull(self.active_pull.body, self.active_pull.point, self.active_pull.target)

    def close(self) -> None:
        """Close the engine and its process."""
        self._stop()
