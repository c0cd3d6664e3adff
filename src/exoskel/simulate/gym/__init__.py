"""Creates and registers Gymnasium environments; `exoskel.gym` is the public module."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from msgspec import structs

from exoskel.diagnostics import ExoskelError
from exoskel.formats.load import load
from exoskel.scene.world import SceneLike
from exoskel.simulate.gym.tasks import SCENES, TASKS, EnvironmentState, Task
from exoskel.simulate.options import whole_number

if TYPE_CHECKING:
    from exoskel.simulate.gym.environments import SceneEnv, SceneVectorEnv

__all__ = ["TASKS", "EnvironmentState", "Task", "make", "make_vec", "register"]

SceneOrFile = str | os.PathLike[str] | SceneLike


def make(
    file: SceneOrFile | None = None,
    *,
    task: Task | str | None = None,
    frame_skip: int | None = None,
    horizon: int | None = None,
    render_mode: str | None = None,
    width: int = 640,
    height: int = 480,
    camera_name: str | None = None,
    camera_id: int | None = None,
    **options: Any,
) -> SceneEnv:
    """Create a Gymnasium environment of a scene: a file, a scene or a world; or the scene of a built-in task.

    `task` is one of `TASKS`, or a `Task`; without one, everything is observed, and there is no reward.  Actions are
    then the controls of the actuators of the world, or, if it has none, commands of every driven joint.  `render_mode`
    is `rgb_array`, `ansi` (a line of text), or `human` (a window that follows the steps in real time).  Pictures have
    `width` x `height` pixels and follow the moving bodies, or a camera of the scene takes them: the one with
    `camera_name`, or number `camera_id`.  `options` are those of the engine: `step`, `limits`, `friction` and
    `integrator`.
    """
    _require_gymnasium()
    from exoskel.simulate.gym.environments import SceneEnv
    from exoskel.simulate.gym.rendering import PictureOptions

    picture = PictureOptions(width, height, camera_name, camera_id)
    return SceneEnv(*_chosen(file, task, frame_skip, horizon), render_mode=render_mode, picture=picture, **options)


def make_vec(
    file: SceneOrFile | None = None,
    num_envs: int = 1,
    *,
    task: Task | str | None = None,
    frame_skip: int | None = None,
    horizon: int | None = None,
    threads: int = 0,
    render_mode: str | None = None,
    max_episode_steps: int | None = None,
    width: int = 640,
    height: int = 480,
    camera_name: str | None = None,
    camera_id: int | None = None,
    **options: Any,
) -> SceneVectorEnv:
    """Create a vector environment, stepped on all cores or on `threads` threads; see `make`.

    `max_episode_steps` is Gymnasium's name of `horizon`.
    """
    _require_gymnasium()
    from exoskel.simulate.gym.environments import SceneVectorEnv
    from exoskel.simulate.gym.rendering import PictureOptions

    _require_batch()

    chosen = _chosen(file, task, frame_skip, max_episode_steps if horizon is None else horizon)
    picture = PictureOptions(width, height, camera_name, camera_id)
    return SceneVectorEnv(*chosen, num_envs, threads=threads, render_mode=render_mode, picture=picture, **options)


def _require_batch() -> None:
    """Raise ExoskelError with MuJoCo 3, which steps only one world at once."""
    from exoskel.formats.mjcf.mujoco_import import load_batch

    try:
        load_batch()
    except ExoskelError as error:
        raise ExoskelError(f'{error}; or use gymnasium.make_vec(id, vectorization_mode="async")') from None


class _RegisteredTasks:
    """Creates the environments of registered tasks."""

    @property
    def metadata(self) -> dict[str, Any]:
        """The render modes: Gymnasium offers others with them, such as `rgb_array_list`."""
        from exoskel.simulate.gym.rendering import RENDER_MODES

        return {"render_modes": list(RENDER_MODES)}

    def __call__(self, **options: Any) -> SceneEnv:
        """Create an environment; Gymnasium ends its episodes, after `max_episode_steps`."""
        env = make(**options)
        env.ends_late = "horizon" in options
        return env


make_registered = _RegisteredTasks()


def register() -> list[str]:
    """Register the built-in tasks for `gymnasium.make("exoskel/Hopper-v0")`; returns their ids.

    Importing `exoskel.gym` does so, too.
    """
    _require_gymnasium()
    import gymnasium

    ids: list[str] = []
    for name, task in TASKS.items():
        title = "".join(word.capitalize() for word in name.split("_"))
        ids.append(f"exoskel/{title}-v0")
        if ids[-1] not in gymnasium.registry:
            gymnasium.register(
                ids[-1],
                entry_point="exoskel.simulate.gym:make_registered",
                vector_entry_point="exoskel.simulate.gym:make_vec",
                kwargs={"task": name},
                max_episode_steps=task.horizon,
            )
    return ids


def _require_gymnasium() -> None:
    try:
        import gymnasium  # noqa: F401
    except ImportError:
        raise ExoskelError("environments need Gymnasium: pip install 'exoskel[gym]'") from None


def _chosen(
    file: SceneOrFile | None, task: Task | str | None, frame_skip: int | None, horizon: int | None
) -> tuple[SceneLike, Task]:
    if isinstance(task, str):
        if task not in TASKS:
            raise ExoskelError(f"unknown task {task!r}; choose one of {', '.join(TASKS)}")
        task = TASKS[task]
    task = Task(take_single=True) if task is None else task
    if not isinstance(task, Task):
        raise ExoskelError(f"a task must be a name or a Task, not {task!r}")
    changes = {"frame_skip": frame_skip, "horizon": horizon}
    given = {name: whole_number(name, number, 1) for name, number in changes.items() if number is not None}
    task = structs.replace(task, **given)
    if isinstance(file, SceneLike):
        return file, task
    if file is None and not task.scene:
        raise ExoskelError("an environment needs a file, or a task that has a scene")
    own = SCENES / task.scene
    return load(file if file is not None else str(own if own.is_file() else task.scene)), task
