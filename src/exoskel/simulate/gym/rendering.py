"""Pictures of environments, and the window that shows one."""

from __future__ import annotations

import copy
import sys
import warnings
from collections.abc import Sequence
from time import monotonic, sleep
from typing import Any, ClassVar, Protocol

import numpy as np
from msgspec import Struct, structs

from exoskel import display_hooks, spatial
from exoskel.diagnostics import ExoskelError
from exoskel.formats.mjcf.file_writer import write_document
from exoskel.formats.mjcf.tree import to_text
from exoskel.scene.cameras_and_keyframes import SceneCamera
from exoskel.scene.world import World
from exoskel.simulate.options import whole_number
from exoskel.spatial import Array

RENDER_MODES = ("human", "rgb_array", "ansi")
_MIN_SIDE, _MAX_SIDE = 16, 8192
"""The smallest and the largest side of a picture, pixels."""
_MIN_RADIUS = 0.2
"""The minimum radius of the view, m."""
_CAMERA_DISTANCE = 2.7
"""The distance of the camera, in radii of the moving bodies."""


class _DrawnWorlds(Protocol):
    """One world, or many: MuJoCo's coordinates and the poses of the scene's bodies, by the number of the world."""

    qpos: Array

    @property
    def body_poses(self) -> Array: ...
    @property
    def dof_names(self) -> Sequence[str]: ...


class _DrawnState(Protocol):
    @property
    def positions(self) -> Array: ...


class _DrawnCore(Protocol):
    """What pictures and texts show of one environment or of many."""

    world: World
    seconds: float

    @property
    def worlds(self) -> _DrawnWorlds: ...
    @property
    def now(self) -> _DrawnState: ...


class PictureOptions(Struct, frozen=True):
    """The size of pictures in pixels, and the camera of the scene that takes them, by its name or number.

    Without a camera, the picture follows the moving bodies.
    """

    width: int = 640
    height: int = 480
    camera_name: str | None = None
    camera_id: int | None = None

    def checked(self) -> PictureOptions:
        """The same, with whole numbers.  Raises ExoskelError for invalid ones."""
        sides = {name: whole_number(name, getattr(self, name), _MIN_SIDE, _MAX_SIDE) for name in ("width", "height")}
        if self.camera_name is not None and self.camera_id is not None:
            raise ExoskelError("give camera_name or camera_id, not both")
        return structs.replace(self, **sides)

    def camera_number(self, cameras: Sequence[SceneCamera]) -> int | None:
        """The number of the camera among those of a scene; None without one."""
        if self.camera_name is None and self.camera_id is None:
            return None
        if not cameras:
            raise ExoskelError("the scene has no camera; omit camera_name and camera_id")
        if self.camera_id is not None:
            return whole_number("camera_id", self.camera_id, 0, len(cameras) - 1)
        names = [camera.name for camera in cameras]
        if self.camera_name not in names:
            raise ExoskelError(f"unknown camera {self.camera_name!r}; choose one of {', '.join(filter(None, names))}")
        return names.index(self.camera_name)


def _choose_picture(world: World, worlds: _DrawnWorlds, options: PictureOptions) -> _MujocoPicture | _SoftwarePicture:
    """A renderer for copies of a world."""
    camera = options.camera_number(world.cameras)
    try:
        return _MujocoPicture(world, worlds.qpos[0], options, camera)
    except ExoskelError:
        paint = display_hooks.create_painter(world, (options.width, options.height), camera)
        if paint is None:
            raise
        return _SoftwarePicture(paint)


class _SoftwarePicture:
    """Draws a world without OpenGL."""

    def __init__(self, paint: display_hooks.Paint) -> None:
        self._paint = paint

    def draw(self, worlds: _DrawnWorlds, number: int) -> Any:
        return self._paint(worlds.body_poses[number])

    def close(self) -> None:
        """Do nothing."""


class _MujocoPicture:
    """Draws a world with a camera of its own, or one that follows the moving bodies at a fixed distance."""

    _refused: ClassVar[str] = ""
    """Why MuJoCo cannot draw, once known: a second attempt would end the process."""

    def __init__(self, world: World, qpos: Array, options: PictureOptions, camera: int | None) -> None:
        import mujoco

        if _MujocoPicture._refused:
            raise ExoskelError(_MujocoPicture._refused)
        self._mujoco = mujoco
        try:
            self.model: Any = mujoco.MjModel.from_xml_string(to_text(write_document(_with_camera_names(world))))
            self.data: Any = mujoco.MjData(self.model)
            self._place(qpos)
            self.moving = np.flatnonzero(np.isin(self.model.geom_bodyid, np.flatnonzero(self.model.body_weldid)))
            self.radius = max(_MIN_RADIUS, self._moving_radius())
            self._light()
            buffer = self.model.vis.global_
            buffer.offwidth, buffer.offheight = options.width, options.height
            self.renderer: Any = mujoco.Renderer(self.model, options.height, options.width)
            self.camera = None if camera is None else self.model.camera(_camera_name(camera)).id
        except Exception as error:  # many types, depending on the system
            _MujocoPicture._refused = f"MuJoCo cannot draw here: {error}; try MUJOCO_GL=egl or MUJOCO_GL=osmesa"
            raise ExoskelError(_MujocoPicture._refused) from None
        up = -spatial.array(world.gravity)
        self.up = spatial.unit(up) if up.any() else spatial.array((0.0, 1.0, 0.0))
        self.forward = spatial.array((0.0, 0.0, -1.0)) if abs(self.up[2]) < 0.5 else spatial.array((0.0, 1.0, 0.0))

    def _light(self) -> None:
        self.model.stat.extent = 2.0 * self.radius  # near and far follow from it
        self.model.vis.headlight.ambient[:] = 0.5
        self.model.vis.headlight.diffuse[:] = 0.5

    def _moving_radius(self) -> float:
        """The radius of the moving bodies about their centre, m."""
        positions = self.data.geom_xpos[self.moving]
        if not len(positions):
            return 1.0
        distances = np.linalg.norm(positions - positions.mean(axis=0), axis=-1) + self.model.geom_rbound[self.moving]
        return float(distances.max())

    def _place(self, qpos: Array) -> None:
        self.data.qpos[:] = qpos
        self._mujoco.mj_kinematics(self.model, self.data)
        self._mujoco.mj_camlight(self.model, self.data)

    def draw(self, worlds: _DrawnWorlds, number: int) -> Any:
        """One of the worlds as an RGB image, `(height, width, 3)`."""
        self._place(worlds.qpos[number])
        if self.camera is not None:
            self.renderer.update_scene(self.data, self.camera)
            return self.renderer.render()
        self.renderer.update_scene(self.data)
        positions = self.data.geom_xpos[self.moving]
        centre = positions.mean(axis=0) if len(positions) else np.zeros(3)
        for camera in self.renderer.scene.camera:
            camera.pos[:] = centre - _CAMERA_DISTANCE * self.radius * self.forward
            camera.forward[:], camera.up[:] = self.forward, self.up
        return self.renderer.render()

    def close(self) -> None:
        self.renderer.close()


def _camera_name(number: int) -> str:
    """The name in MuJoCo of a camera of the scene."""
    return f"camera_{number}"


def _with_camera_names(world: World) -> World:
    """A world whose cameras have different names, which their numbers tell."""
    named = copy.copy(world)
    named.cameras = [structs.replace(one, name=_camera_name(number)) for number, one in enumerate(world.cameras)]
    return named


class _Window:
    """MuJoCo's viewer, which shows the steps of an environment in real time."""

    def __init__(self, world: World, qpos: Array) -> None:
        import mujoco
        import mujoco.viewer

        self._mujoco = mujoco
        self.model: Any = mujoco.MjModel.from_xml_string(to_text(write_document(world)))
        self.data: Any = mujoco.MjData(self.model)
        self.data.qpos[:] = qpos
        mujoco.mj_forward(self.model, self.data)
        try:
            _check_display(mujoco.viewer.glfw)
            self.handle: Any = mujoco.viewer.launch_passive(self.model, self.data)
        except Exception as error:  # many types, depending on the system
            raise ExoskelError(
                f"MuJoCo's viewer cannot open a window: {error}; on macOS, start Python with mjpython"
            ) from None
        self._due = monotonic()

    def show(self, qpos: Array, seconds: float) -> None:
        """Show a state that is some simulated seconds after the previous one."""
        with self.handle.lock():
            self.data.qpos[:] = qpos
            self._mujoco.mj_forward(self.model, self.data)
        self.handle.sync()
        self._due = max(self._due + seconds, monotonic() - seconds)  # no catching up after a pause
        sleep(max(0.0, self._due - monotonic()))

    def close(self) -> None:
        self.handle.close()


def _check_display(glfw: Any) -> None:
    """Raise RuntimeError if no window can be opened: MuJoCo's viewer would end the whole process."""
    if sys.platform == "darwin":  # only mjpython can open windows, and the viewer checks that itself
        return
    with warnings.catch_warnings(record=True) as problems:
        warnings.simplefilter("always")
        is_ready = glfw.init()
    if not is_ready:
        raise RuntimeError(str(problems[0].message) if problems else "there is no display")


class Drawing:
    """Renders worlds in a render mode: as a picture, as a line of text with the coordinates, or not at all."""

    def __init__(self, core: _DrawnCore, mode: str | None, options: PictureOptions | None) -> None:
        if mode is not None and mode not in RENDER_MODES:
            known = f"{', '.join(RENDER_MODES[:-1])} or {RENDER_MODES[-1]}"
            more = "; gymnasium.make also collects lists of pictures" if mode == "rgb_array_list" else ""
            raise ExoskelError(f"unknown render mode {mode!r}; choose {known}{more}")
        self._options = (options or PictureOptions()).checked()
        self._options.camera_number(core.world.cameras)
        self._core = core
        self._mode = mode
        self._picture: _MujocoPicture | _SoftwarePicture | None = None
        self._window: _Window | None = None

    def follow(self) -> None:
        """Show the new state in the window, in the mode `human`."""
        if self._mode == "human":
            qpos = self._core.worlds.qpos[0]
            if self._window is None:
                self._window = _Window(self._core.world, qpos)
            self._window.show(qpos, self._core.seconds)

    def show(self, number: int) -> Any:
        core = self._core
        if self._mode == "ansi":
            now = zip(core.worlds.dof_names, core.now.positions[number].tolist(), strict=True)
            return "  ".join(f"{name} {value:+.4f}" for name, value in now)
        if self._mode is None or self._mode == "human":
            return None
        if self._picture is None:
            self._picture = _choose_picture(core.world, core.worlds, self._options)
        return self._picture.draw(core.worlds, number)

    def close(self) -> None:
        if self._picture is not None:
            self._picture.close()
            self._picture = None
        if self._window is not None:
            self._window.close()
            self._window = None
