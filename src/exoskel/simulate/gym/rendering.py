"""Pictures of environments: by MuJoCo, from the side; without OpenGL, by the software renderer of the viewer."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from exoskel import display_hooks, spatial
from exoskel.diagnostics import ExoskelError
from exoskel.formats.mjcf.emitters import to_text
from exoskel.formats.mjcf.file_writer import write_document
from exoskel.scene.world import World
from exoskel.simulate.batch.worlds import Worlds
from exoskel.spatial import Array

SIZE = (480, 640)
"""Height and width, pixels."""
_MIN_RADIUS = 0.2
"""The minimum radius of the view, m."""
_CAMERA_DISTANCE = 2.7
"""The distance of the camera, in radii of the moving bodies."""


def picture_of(world: World, worlds: Worlds) -> Picture | SoftwarePicture:
    """A renderer for copies of a world."""
    try:
        return Picture(world, worlds.qpos[0])
    except ExoskelError:
        paint = display_hooks.create_painter(world, SIZE[::-1])
        if paint is None:
            raise
        return SoftwarePicture(paint)


class SoftwarePicture:
    """Draws a world without OpenGL."""

    def __init__(self, paint: display_hooks.Paint) -> None:
        self._paint = paint

    def draw(self, worlds: Worlds, number: int) -> Any:
        return self._paint(worlds.body_poses[number])

    def close(self) -> None:
        """Do nothing."""


class Picture:
    """Draws a world.  The camera follows the moving bodies, at a distance from the initial state."""

    _refused: ClassVar[str] = ""
    """Why MuJoCo cannot draw, once known: a second attempt would end the process."""

    def __init__(self, world: World, qpos: Array) -> None:
        import mujoco

        if Picture._refused:
            raise ExoskelError(Picture._refused)
        self._mujoco = mujoco
        try:
            self.model: Any = mujoco.MjModel.from_xml_string(to_text(write_document(world)))
            self.data: Any = mujoco.MjData(self.model)
            self._place(qpos)
            self.moving = np.flatnonzero(np.isin(self.model.geom_bodyid, np.flatnonzero(self.model.body_weldid)))
            self.radius = max(_MIN_RADIUS, self._moving_radius())
            self._light()
            self.renderer: Any = mujoco.Renderer(self.model, *SIZE)
        except Exception as error:  # many types, depending on the system
            Picture._refused = f"MuJoCo cannot draw here: {error}; try MUJOCO_GL=egl or MUJOCO_GL=osmesa"
            raise ExoskelError(Picture._refused) from None
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

    def draw(self, worlds: Worlds, number: int) -> Any:
        """One of the worlds as an RGB image, `(height, width, 3)`."""
        self._place(worlds.qpos[number])
        self.renderer.update_scene(self.data)
        positions = self.data.geom_xpos[self.moving]
        centre = positions.mean(axis=0) if len(positions) else np.zeros(3)
        for camera in self.renderer.scene.camera:
            camera.pos[:] = centre - _CAMERA_DISTANCE * self.radius * self.forward
            camera.forward[:], camera.up[:] = self.forward, self.up
        return self.renderer.render()

    def close(self) -> None:
        self.renderer.close()
