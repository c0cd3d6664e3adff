"""A stage as a MuJoCo model that is made only to be drawn: nothing in it has weight, and nothing touches.

The scene is moved to the middle, turned so that z is up, and made one metre large: light, shadow and fog are then the
same for all scenes.  Bodies are moved from outside (MuJoCo's `mocap`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from exoskel import spatial
from exoskel.source.surface import Surface
from exoskel.spatial import Array
from exoskel.view.backdrop import BELOW
from exoskel.view.camera import Camera
from exoskel.view.draw_batches import Batch, Rows, compose, grid_cell
from exoskel.view.lighting import FILL_AT, SUN_AT, Lighting

_AMBIENT, _SUN, _FILL, _HEADLIGHT = 0.58, 0.44, 0.10, 0.03
"""How strongly lights shine: what lies flat in the sun gets about as much as its colour says."""
_SHINE, _SHARPNESS = 0.18, 0.45
_SHADOWS = 4096
"""The edge of the shadow map, in cells."""
_MOST_PIXELS = 8192
"""The longest side that OpenGL is asked to draw."""
_ROUND = (64, 32)
"""Slices and stacks of round things."""
_SKY_SIDE, _GRID_SIDE = 512, 2048
_FOG = (0.75, 4.5)
"""Where the ground begins to dissolve behind the middle of the scene, and where it is gone, in sizes of the scene."""
_GREY = (0.5, 0.5, 0.5, 1.0)
"""What MuJoCo takes for a colour that nobody stated."""
_CYLINDER = "mjGEOM_CYLINDER"
_KINDS = {"box": "mjGEOM_BOX", "sphere": "mjGEOM_ELLIPSOID", "cylinder": _CYLINDER}
"""What MuJoCo has a shape of its own for; all else is a mesh."""


class RenderJob(Struct):
    """All that a picture needs but the poses of its `bodies`.

    `frame` are forward, left and up as rows; `middle` and `size` are the scene's; `ground` is its height, m.
    """

    batches: list[Batch]
    bodies: int
    frame: Array
    middle: Array
    size: float
    ground: float
    camera: Camera
    look: Lighting
    width: int
    height: int

    @property
    def finer(self) -> int:
        """So many pixels a side are drawn for each of the picture: nothing else smooths the edges of shadows."""
        return 2 if 2 * max(self.width, self.height) <= _MOST_PIXELS else 1

    def placed(self, points: Array) -> Array:
        """Points of the world in the model."""
        moved: Array = (points - self.middle) @ self.frame.T / self.size
        return moved


def compile_model(job: RenderJob) -> Any:
    """The model; it has one mocap body for each body that shows something, in their order."""
    import mujoco

    spec = mujoco.MjSpec()
    _set_quality(spec, job)
    _add_backdrop(mujoco, spec, job)
    _add_lights(mujoco, spec)
    spec.add_material(name="plain", specular=_SHINE, shininess=_SHARPNESS)
    bodies = [spec.worldbody.add_body(mocap=True) for _ in range(job.bodies)]
    for number, batch in enumerate(job.batches):
        _add_batch(mujoco, spec, bodies, job, batch, f"mesh_{number}")
    return spec.compile()


def _set_quality(spec: Any, job: RenderJob) -> None:
    visual = spec.visual
    visual.global_.offwidth, visual.global_.offheight = job.finer * job.width, job.finer * job.height
    visual.quality.shadowsize, visual.quality.offsamples = _SHADOWS, 0
    visual.quality.numslices, visual.quality.numstacks = _ROUND
    visual.headlight.ambient = [_AMBIENT] * 3
    visual.headlight.diffuse = [_HEADLIGHT] * 3
    visual.headlight.specular = [0.05] * 3
    visual.map.shadowclip, visual.map.shadowscale = 1.2, 0.9
    visual.map.fogstart, visual.map.fogend = _fog(job)
    visual.rgba.fog = [*job.look.horizon, 1.0]
    spec.stat.extent = 1.0
    spec.stat.center = [0.0, 0.0, 0.0]


def _fog(job: RenderJob) -> tuple[float, float]:
    """The distances from the eye at which things begin to dissolve, and are gone."""
    away = float(np.linalg.norm(job.placed(spatial.array(job.camera.position))))
    return away + _FOG[0], away + _FOG[1]


# --- surroundings -------------------------------------------------------------------------------------


def _add_lights(mujoco: Any, spec: Any) -> None:
    for at, strength, shadow in ((SUN_AT, _SUN, True), (FILL_AT, _FILL, False)):
        toward = spatial.unit(np.array(at))
        spec.worldbody.add_light(
            type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
            pos=(2.0 * toward).tolist(),
            dir=(-toward).tolist(),
            castshadow=shadow,
            ambient=[0.0] * 3,
            diffuse=[strength] * 3,
            specular=[0.5 * shadow] * 3,
        )


def _add_backdrop(mujoco: Any, spec: Any, job: RenderJob) -> None:
    _add_texture(spec, "sky", mujoco.mjtTexture.mjTEXTURE_SKYBOX, _sky(job.look).reshape(-1, _SKY_SIDE, 3))
    _add_texture(spec, "grid", mujoco.mjtTexture.mjTEXTURE_2D, _grid(job.look, _on_the_ground()))
    cell = grid_cell(job.size) / job.size
    material = spec.add_material(
        name="ground", texuniform=True, texrepeat=[2 / (5 * cell)] * 2, specular=0.0, shininess=0.0
    )
    material.textures[int(mujoco.mjtTextureRole.mjTEXROLE_RGB)] = "grid"
    height = job.placed(job.middle + (job.ground - job.middle @ job.frame[2]) * job.frame[2])[2] - BELOW
    # Lines lie at whole numbers of the scene, wherever it was moved from.
    corner = -(job.middle @ job.frame[:2].T % (5 * cell * job.size)) / job.size
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], pos=[*corner.tolist(), height], material="ground",
        contype=0, conaffinity=0, castshadow=False,
    )  # fmt: skip


def _add_texture(spec: Any, name: str, kind: Any, pixels: NDArray[np.uint8]) -> None:
    height, width, channels = pixels.shape
    texture = spec.add_texture(name=name, type=kind, width=width, height=height, nchannel=channels)
    texture.data = pixels.tobytes()


def _on_the_ground() -> float:
    """How much light falls on what lies flat in the sun; the little that comes from the eye is left out."""
    sun, fill = (float(spatial.unit(np.array(at))[2]) for at in (SUN_AT, FILL_AT))
    return _AMBIENT + _SUN * sun + _FILL * fill


def _grid(look: Lighting, light: float) -> NDArray[np.uint8]:
    """Five by five cells, with a line around each and a stronger one around all, that look as stated in the light."""
    at = (np.arange(_GRID_SIDE) + 0.5) / _GRID_SIDE + 0.5  # MuJoCo puts the middle of a texture at the origin
    line = np.zeros(_GRID_SIDE)
    for cells, strength in ((5, 0.45), (1, 1.0)):
        away = np.abs(at * cells - np.round(at * cells)) / cells * _GRID_SIDE
        line = np.maximum(line, strength * np.clip(2.5 - away, 0.0, 1.0))
    share = np.maximum(line[:, None], line[None, :])[..., None]
    color = np.array(look.ground) * (1.0 - share) + np.array(look.line) * share
    return _bytes(color / light)


def _sky(look: Lighting) -> NDArray[np.uint8]:
    """Six faces below each other: right, left, up, down, front, back."""
    across = (np.arange(_SKY_SIDE) + 0.5) / _SKY_SIDE * 2.0 - 1.0
    u, v = np.meshgrid(across, -across)
    side = v / np.sqrt(1.0 + u**2 + v**2)
    over = 1.0 / np.sqrt(1.0 + u**2 + v**2)
    slopes = np.stack([side, side, over, -over, side, side])
    rise = np.clip(slopes / 0.35, 0.0, 1.0)[..., None] ** 0.6
    horizon = np.array(look.horizon)
    return _bytes(horizon + (np.array(look.sky) - horizon) * rise)


def _bytes(colors: Array) -> NDArray[np.uint8]:
    out: NDArray[np.uint8] = np.round(255 * np.clip(colors, 0.0, 1.0)).astype(np.uint8)
    return out


# --- shapes -------------------------------------------------------------------------------------------


def _add_batch(mujoco: Any, spec: Any, bodies: list[Any], job: RenderJob, batch: Batch, name: str) -> None:
    own = _KINDS.get(batch.name.split("_")[0])
    made: dict[tuple[float, ...], str] = {}
    columns = zip(batch.bodies.tolist(), batch.local.astype(float), batch.scales, batch.colors, strict=True)
    for body, local, scale, color in columns:
        how: dict[str, Any] = {
            "pos": (local[:3] / job.size).tolist(),
            "quat": local[3:].tolist(),
            "rgba": _paint(color),
            "material": "plain",
            "contype": 0,
            "conaffinity": 0,
            "castshadow": bool(color[3] >= 1.0),
        }
        if own is not None and scale.min() > 0.0:
            half = scale / 2 / job.size
            how |= {
                "type": getattr(mujoco.mjtGeom, own),
                "size": [half[0], half[2], 0.0] if own.endswith("CYLINDER") else half,
            }
        else:
            key = tuple(scale.tolist())
            if key not in made:
                made[key] = f"{name}_{len(made)}"
                # One looks into a room from outside: a wall is seen from the side that its normal points to.
                both = not batch.name.startswith("plane") and _is_open(batch.surface)
                _add_mesh(mujoco, spec, made[key], batch.surface, scale / job.size, both_sides=both)
            how |= {"type": mujoco.mjtGeom.mjGEOM_MESH, "meshname": made[key]}
        bodies[body].add_geom(**how)


def _paint(color: Array) -> list[float]:
    """A colour; MuJoCo draws what one sees through twice, and its default grey in the colour of the material."""
    bounded = np.clip(color, 0.0, 1.0)
    if (bounded == _GREY).all():
        bounded[0] = np.nextafter(np.float32(0.5), np.float32(1.0))
    return [*bounded[:3].tolist(), float(1.0 - np.sqrt(1.0 - bounded[3]))]


def _add_mesh(mujoco: Any, spec: Any, name: str, surface: Surface, scale: Array, *, both_sides: bool) -> None:
    vertices = surface.vertices * scale
    normals = spatial.unit(surface.normals / np.where(np.abs(scale) < 1e-12, 1e-12, scale))
    triangles = np.asarray(surface.triangles)
    if both_sides:
        triangles = np.concatenate([triangles, triangles[:, ::-1] + len(vertices)])
        vertices, normals = np.concatenate([vertices, vertices]), np.concatenate([normals, -normals])
    spec.add_mesh(
        name=name,
        uservert=vertices.ravel().tolist(),
        usernormal=normals.ravel().tolist(),
        userface=triangles.ravel().tolist(),
        userfacenormal=triangles.ravel().tolist(),
        inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL,
    )


def _is_open(surface: Surface) -> bool:
    """Whether some edge belongs to a single triangle."""
    _, triangles = surface.merge_vertices()
    edges = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    _, count = np.unique(edges, axis=0, return_counts=True)
    return bool((count == 1).any())


# --- moving -------------------------------------------------------------------------------------------


def place(job: RenderJob, data: Any, poses: Rows) -> None:
    """Move the bodies to poses `(bodies, 7)` of the world."""
    inner = poses.astype(np.float64)
    outer = np.zeros_like(inner)
    outer[:, 3:] = spatial.quaternion(job.frame)
    data.mocap_pos[:] = job.placed(inner[:, :3])
    data.mocap_quat[:] = compose(outer, inner)[1]


def aim(job: RenderJob, scene: Any) -> None:
    """Have a scene of MuJoCo's seen by the camera."""
    own = job.camera
    _, up, back = own.axes() @ job.frame.T
    near, far = own.near / job.size, _fog(job)[1] + 1.0  # behind the fog there is nothing to see
    half = near * np.tan(own.field_of_view / 2)
    for eye in scene.camera:
        eye.pos[:], eye.forward[:], eye.up[:] = job.placed(spatial.array(own.position)), -back, up
        eye.frustum_center, eye.frustum_width = 0.0, half * job.width / job.height
        eye.frustum_bottom, eye.frustum_top = -half, half
        eye.frustum_near, eye.frustum_far = near, far
