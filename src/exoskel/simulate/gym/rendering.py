"""Pictures of an environment: by MuJoCo, seen from the side; without OpenGL, as the viewer draws them itself."""

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
_LEAST = 0.2
"""Half of what is seen at least, m."""
_AWAY = 2.7
"""Distance of the eye, in radii of what moves."""


def picture_of(world: World, worlds: Worlds) -> Picture | Painted:
    """What draws worlds that are copies of one."""
    try:
        return Picture(world, worlds.qpos[0])
    except ExoskelError:
        paint = display_hooks.create_painter(world, SIZE[::-1])
        if paint is None:
            raise
        return Painted(paint)


class Painted:
    """Draws a world without OpenGL."""

    def __init__(self, paint: display_hooks.Paint) -> None:
        self._paint = paint

    def draw(self, worlds: Worlds, number: int) -> Any:
        return self._paint(worlds.body_poses[number])

    def close(self) -> None:
        """Nothing is held."""


class Picture:
    """Draws a world.  The eye follows what moves, from a distance that the start sets."""

    _refused: ClassVar[str] = ""
    """Why there is nothing to draw with, once that is known: MuJoCo ends the process if it is asked again."""

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
            self.radius = max(_LEAST, self._spread())
            self._light()
            self.renderer: Any = mujoco.Renderer(self.model, *SIZE)
        except Exception as error:  # of many kinds, from many systems
            Picture._refused = f"MuJoCo cannot draw here: {error}; MUJOCO_GL=egl or osmesa may help"
            raise ExoskelError(Picture._refused) from None
        up = -spatial.array(world.gravity)
        self.up = spatial.unit(up) if up.any() else spatial.array((0.0, 1.0, 0.0))
        self.forward = spatial.array((0.0, 0.0, -1.0)) if abs(self.up[2]) < 0.5 else spatial.array((0.0, 1.0, 0.0))

    def _light(self) -> None:
        self.model.stat.extent = 2.0 * self.radius  # near and far follow from it
        self.model.vis.headlight.ambient[:] = 0.5
        self.model.vis.headlight.diffuse[:] = 0.5

    def _spread(self) -> float:
        """How far what moves reaches from its middle, m."""
        places = self.data.geom_xpos[self.moving]
        if not len(places):
            return 1.0
        away = np.linalg.norm(places - places.mean(axis=0), axis=-1) + self.model.geom_rbound[self.moving]
        return float(away.max())

    def _place(self, qpos: Array) -> None:
        self.data.qpos[:] = qpos
        self._mujoco.mj_kinematics(self.model, self.data)
        self._mujoco.mj_camlight(self.model, self.data)

    def draw(self, worlds: Worlds, number: int) -> Any:
        """One of the worlds in red, green and blue, `(height, width, 3)`."""
        self._place(worlds.qpos[number])
        self.renderer.update_scene(self.data)
        places = self.data.geom_xpos[self.moving]
        middle = places.mean(axis=0) if len(places) else np.zeros(3)
        for eye in self.renderer.scene.camera:
            eye.pos[:] = middle - _AWAY * self.radius * self.forward
            eye.forward[:], eye.up[:] = self.forward, self.up
        return self.renderer.render()

    def close(self) -> None:
        self.renderer.close()
