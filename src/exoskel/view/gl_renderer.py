"""The MuJoCo renderer, for systems that have EGL or OSMesa.

It runs in a child process, which reads pickled requests from standard input and writes replies.  A driver that is
missing, crashes or hangs raises NoRendererError here.

The MuJoCo model of a scene has no masses and no collisions.  The scene is centred,
rotated so that z is up, and scaled to one metre, so that light, shadow and fog are the same for all scenes.
"""

from __future__ import annotations

import os
import pickle
import struct
import sys
from collections.abc import Mapping
from threading import Lock
from typing import IO, Any, BinaryIO

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from exoskel import spatial
from exoskel.diagnostics import ExoskelError
from exoskel.source.child_process import ChildFailedError, ChildProcess
from exoskel.source.surface import SEGMENTS, Surface
from exoskel.spatial import Array
from exoskel.view.camera import Camera, frame_of
from exoskel.view.lighting import FILL_DIRECTION, LIGHT, SUN_DIRECTION, Lighting, light_directions
from exoskel.view.render_scene import VISUAL, InstanceBatch, RenderScene, compose_poses, grid_cell
from exoskel.view.software_renderer import GROUND_OFFSET, Image
from exoskel.view.surfaces import PoseRows, SkinSurface

_AMBIENT, _SUN, _FILL, _HEADLIGHT = 0.58, 0.44, 0.10, 0.03
"""Light intensities: a level surface in the sun appears in about its own colour."""
_SHINE, _SHARPNESS = 0.18, 0.45
_SHADOWS = 4096
"""The side of the shadow map, in cells."""
_MOST_COVERED = 40.0
"""How often shapes may cover the image with supersampling and the large shadow map, by their bounding boxes."""
_MAX_PIXELS = 8192
"""The longest side of an OpenGL image."""
_SLICES = {SEGMENTS: 64, SEGMENTS // 2: 16}
_FEWEST_SLICES = 12
"""Slices of round shapes by the segments of surfaces.  There are half as many stacks."""
_SKY_SIDE, _GRID_SIDE = 512, 2048
_FOG = (0.75, 4.5)
"""Where fog begins and ends behind the centre of the scene, in sizes of the scene."""
_GREY = (0.5, 0.5, 0.5, 1.0)
"""MuJoCo treats this colour as unset."""
_CYLINDER = "mjGEOM_CYLINDER"
_KINDS = {"box": "mjGEOM_BOX", "sphere": "mjGEOM_ELLIPSOID", "cylinder": _CYLINDER}
"""Shapes that MuJoCo has as primitives; all others are meshes."""


class RenderJob(Struct):
    """Everything needed to render frames, except for their poses; `rest` is the first of them.

    `frame` has forward, left and up as rows; `middle` and `size` describe the scene; `ground` is a height, m.
    """

    batches: list[InstanceBatch]
    skins: list[SkinSurface]
    rest: PoseRows
    frame: Array
    middle: Array
    size: float
    ground: float
    camera: Camera
    lighting: Lighting
    width: int
    height: int
    segments: int
    """Segments of circles in surfaces: fewer in scenes of very many shapes."""

    @property
    def supersampling(self) -> int:
        """The supersampling factor per side; only supersampling smooths the edges of shadows."""
        return 2 if 2 * max(self.width, self.height) <= _MAX_PIXELS and not self.is_crowded else 1

    @property
    def is_crowded(self) -> bool:
        """Whether the shapes cover the first image so often that OpenGL without a GPU would take many seconds."""
        covered = 0.0
        for batch in self.batches:
            seen = self.camera.project(batch.boxes(self.rest), self.width / self.height)
            shares = np.ptp(np.clip(np.nan_to_num(seen[..., :2]), -1.0, 1.0), axis=1).prod(axis=1) / 4.0
            in_front = (seen[..., 2] > 0.0).sum(axis=1)
            # What surrounds the camera is counted as the whole image.
            covered += float(np.where(in_front == 8, shares, in_front > 0).sum())
        return covered > _MOST_COVERED

    def to_model(self, points: Array) -> Array:
        """Transform points from the world to the model."""
        moved: Array = (points - self.middle) @ self.frame.T / self.size
        return moved


def compile_model(job: RenderJob) -> Any:
    """Compile the model: the ground, then the geoms of all batches in order.

    All geoms belong to the world and are placed frame by frame: MuJoCo's time to add a body grows with their number.
    Only the bones of skins are bodies.
    """
    import mujoco

    spec = mujoco.MjSpec()
    spec.compiler.balanceinertia = True  # rounding gives flat meshes impossible moments, which would be an error
    _set_quality(spec, job)
    _add_backdrop(mujoco, spec, job)
    _add_lights(mujoco, spec, job)
    spec.add_material(name="plain", specular=_SHINE, shininess=_SHARPNESS)
    for number, batch in enumerate(job.batches):
        _add_batch(mujoco, spec, job, batch, f"mesh_{number}")
    for row in _bones(job).tolist():
        spec.worldbody.add_body(name=_row_name(row), mocap=True)
    for skin in job.skins:
        _add_skin(spec, job, skin)
    return spec.compile()


def _bones(job: RenderJob) -> NDArray[np.intp]:
    """The rows of a frame that move the points of skins, which are the bodies of the model, in order."""
    return np.unique(np.concatenate([np.zeros(0, np.intp), *(skin.rows for skin in job.skins)]))


def _set_quality(spec: Any, job: RenderJob) -> None:
    visual = spec.visual
    visual.global_.offwidth, visual.global_.offheight = job.supersampling * job.width, job.supersampling * job.height
    visual.quality.shadowsize = _SHADOWS // 4 if job.is_crowded else _SHADOWS
    visual.quality.offsamples = 0
    slices = _SLICES.get(job.segments, _FEWEST_SLICES)
    visual.quality.numslices, visual.quality.numstacks = slices, slices // 2
    visual.headlight.ambient = [_AMBIENT] * 3
    visual.headlight.diffuse = [_HEADLIGHT] * 3
    visual.headlight.specular = [0.05] * 3
    visual.map.shadowclip, visual.map.shadowscale = 1.2, 0.9
    visual.map.fogstart, visual.map.fogend = _fog(job)
    visual.rgba.fog = [*job.lighting.horizon, 1.0]
    spec.stat.extent = 1.0
    spec.stat.center = [0.0, 0.0, 0.0]


def _fog(job: RenderJob) -> tuple[float, float]:
    """The distances from the camera at which fog begins and ends."""
    away = float(np.linalg.norm(job.to_model(spatial.array(job.camera.position))))
    return away + _FOG[0], away + _FOG[1]


# --- surroundings -------------------------------------------------------------------------------------


def _add_lights(mujoco: Any, spec: Any, job: RenderJob) -> None:
    sun, fill = light_directions(job.camera, job.frame)
    for at, strength, shadow in ((sun, _SUN, True), (fill, _FILL, False)):
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
    _add_texture(spec, "sky", mujoco.mjtTexture.mjTEXTURE_SKYBOX, _sky(job.lighting).reshape(-1, _SKY_SIDE, 3))
    _add_texture(spec, "grid", mujoco.mjtTexture.mjTEXTURE_2D, _grid(job.lighting, _ground_light()))
    cell = grid_cell(job.size) / job.size
    material = spec.add_material(
        name="ground", texuniform=True, texrepeat=[2 / (5 * cell)] * 2, specular=0.0, shininess=0.0
    )
    material.textures[int(mujoco.mjtTextureRole.mjTEXROLE_RGB)] = "grid"
    height = job.to_model(job.middle + (job.ground - job.middle @ job.frame[2]) * job.frame[2])[2] - GROUND_OFFSET
    # Grid lines stay at round coordinates of the scene.
    corner = -(job.middle @ job.frame[:2].T % (5 * cell * job.size)) / job.size
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], pos=[*corner.tolist(), height], material="ground",
        contype=0, conaffinity=0, castshadow=False,
    )  # fmt: skip


def _add_texture(spec: Any, name: str, kind: Any, pixels: NDArray[np.uint8]) -> None:
    height, width, channels = pixels.shape
    texture = spec.add_texture(name=name, type=kind, width=width, height=height, nchannel=channels)
    texture.data = pixels.tobytes()


def _ground_light() -> float:
    """The light on a level surface in the sun, without the weak headlight."""
    sun, fill = (float(spatial.unit(np.array(at))[2]) for at in (SUN_DIRECTION, FILL_DIRECTION))
    return _AMBIENT + _SUN * sun + _FILL * fill


def _grid(lighting: Lighting, light: float) -> NDArray[np.uint8]:
    """A texture of five by five grid cells that has the colours of `lighting` when lit by `light`."""
    at = (np.arange(_GRID_SIDE) + 0.5) / _GRID_SIDE + 0.5  # MuJoCo places the centre of a texture at the origin
    line = np.zeros(_GRID_SIDE)
    for cells, strength in ((5, 0.45), (1, 1.0)):
        away = np.abs(at * cells - np.round(at * cells)) / cells * _GRID_SIDE
        line = np.maximum(line, strength * np.clip(2.5 - away, 0.0, 1.0))
    share = np.maximum(line[:, None], line[None, :])[..., None]
    color = np.array(lighting.ground) * (1.0 - share) + np.array(lighting.line) * share
    return _bytes(color / light)


def _sky(lighting: Lighting) -> NDArray[np.uint8]:
    """The six faces of the sky box, one below the other: right, left, up, down, front, back."""
    across = (np.arange(_SKY_SIDE) + 0.5) / _SKY_SIDE * 2.0 - 1.0
    u, v = np.meshgrid(across, -across)
    side = v / np.sqrt(1.0 + u**2 + v**2)
    over = 1.0 / np.sqrt(1.0 + u**2 + v**2)
    slopes = np.stack([side, side, over, -over, side, side])
    rise = np.clip(slopes / 0.35, 0.0, 1.0)[..., None] ** 0.6
    horizon = np.array(lighting.horizon)
    return _bytes(horizon + (np.array(lighting.sky) - horizon) * rise)


def _bytes(colors: Array) -> NDArray[np.uint8]:
    out: NDArray[np.uint8] = np.round(255 * np.clip(colors, 0.0, 1.0)).astype(np.uint8)
    return out


# --- shapes -------------------------------------------------------------------------------------------


def _add_batch(mujoco: Any, spec: Any, job: RenderJob, batch: InstanceBatch, name: str) -> None:
    primitive = _KINDS.get(batch.name.split("_")[0]) if batch.image is None else None
    material = "plain" if batch.image is None else _add_image(mujoco, spec, f"image_{name}", batch.image)
    mesh_names: dict[tuple[float, ...], str] = {}
    for local, scale, color in zip(batch.local.astype(float), batch.scales, batch.colors, strict=True):
        options: dict[str, Any] = {
            "pos": (local[:3] / job.size).tolist(),
            "quat": local[3:].tolist(),
            "rgba": _paint(color if batch.image is None else np.array([1.0, 1.0, 1.0, color[3]])),
            "material": material,
            "contype": 0,
            "conaffinity": 0,
            "castshadow": bool(color[3] >= 1.0) and not batch.is_ground,
        }
        if primitive is not None and scale.min() > 0.0:
            half = scale / 2 / job.size
            options |= {
                "type": getattr(mujoco.mjtGeom, primitive),
                "size": [half[0], half[2], 0.0] if primitive.endswith("CYLINDER") else half,
            }
        else:
            key = tuple(scale.tolist())
            if key not in mesh_names:
                mesh_names[key] = f"{name}_{len(mesh_names)}"
                # A plane is visible only from the side of its normal, so that walls do not hide the scene.
                both = not batch.is_plane and _is_open(batch.surface)
                _add_mesh(mujoco, spec, mesh_names[key], batch.surface, scale / job.size, both_sides=both)
            options |= {"type": mujoco.mjtGeom.mjGEOM_MESH, "meshname": mesh_names[key]}
        spec.worldbody.add_geom(**options)


def _add_image(mujoco: Any, spec: Any, name: str, image: NDArray[np.uint8]) -> str:
    """Add a material with an image; returns its name."""
    _add_texture(spec, name, mujoco.mjtTexture.mjTEXTURE_2D, image)
    material = spec.add_material(name=name, specular=_SHINE, shininess=_SHARPNESS)
    material.textures[int(mujoco.mjtTextureRole.mjTEXROLE_RGB)] = name
    return name


def _row_name(row: int) -> str:
    """The name of the body of a row of a frame."""
    return f"row_{row}"


def _add_skin(spec: Any, job: RenderJob, skin: SkinSurface) -> None:
    """Bind each vertex to the body of its point."""
    rows, numbers = np.unique(skin.rows, return_inverse=True)
    spec.add_skin(
        name=skin.name,
        rgba=_paint(spatial.array(skin.color)),
        material="plain",
        vert=job.to_model(spatial.array(job.rest[skin.rows, :3])).ravel().tolist(),
        face=skin.triangles.ravel().tolist(),
        bodyname=[_row_name(row) for row in rows.tolist()],
        bindpos=job.to_model(spatial.array(job.rest[rows, :3])).ravel().tolist(),
        bindquat=[1.0, 0.0, 0.0, 0.0] * len(rows),
        vertid=[np.flatnonzero(numbers == bone).tolist() for bone in range(len(rows))],
        vertweight=[[1.0] * int((numbers == bone).sum()) for bone in range(len(rows))],
    )


def _paint(color: Array) -> list[float]:
    """Convert a colour for MuJoCo, which draws transparent shapes twice and treats its default grey as unset."""
    bounded = np.clip(color, 0.0, 1.0)
    if (bounded == _GREY).all():
        bounded[0] = np.nextafter(np.float32(0.5), np.float32(1.0))
    return [*bounded[:3].tolist(), float(1.0 - np.sqrt(1.0 - bounded[3]))]


def _add_mesh(mujoco: Any, spec: Any, name: str, surface: Surface, scale: Array, *, both_sides: bool) -> None:
    vertices = surface.vertices * scale
    normals = spatial.unit(surface.normals / np.where(np.abs(scale) < 1e-12, 1e-12, scale))
    triangles = np.asarray(surface.triangles)
    uv = None if surface.uv is None else np.stack([surface.uv[:, 0], 1.0 - surface.uv[:, 1]], axis=1)
    if both_sides:
        uv = None if uv is None else np.concatenate([uv, uv])
        triangles = np.concatenate([triangles, triangles[:, ::-1] + len(vertices)])
        vertices, normals = np.concatenate([vertices, vertices]), np.concatenate([normals, -normals])
    placed = {} if uv is None else {"usertexcoord": uv.ravel().tolist(), "userfacetexcoord": triangles.ravel().tolist()}
    spec.add_mesh(
        name=name,
        **placed,
        uservert=vertices.ravel().tolist(),
        usernormal=normals.ravel().tolist(),
        userface=triangles.ravel().tolist(),
        userfacenormal=triangles.ravel().tolist(),
        inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL,
    )


def _is_open(surface: Surface) -> bool:
    """Whether the surface has a boundary: an edge of a single triangle."""
    _, triangles = surface.merge_vertices()
    edges = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    _, count = np.unique(edges, axis=0, return_counts=True)
    return bool((count == 1).any())


# --- moving -------------------------------------------------------------------------------------------


def place_bones(job: RenderJob, data: Any, poses: PoseRows) -> None:
    """Move the bones of skins to the poses of a frame, before MuJoCo's kinematics."""
    placed = _placed(job, poses)[_bones(job)]
    data.mocap_pos[:], data.mocap_quat[:] = placed[:, :3], placed[:, 3:]


def place_geoms(job: RenderJob, model: Any, data: Any, poses: PoseRows) -> None:
    """Move the geoms to the poses of a frame, after MuJoCo's kinematics; the ground, the first one, stays."""
    rows = np.concatenate([np.zeros(0, np.intp), *(batch.bodies for batch in job.batches)])
    # Compiled poses: MuJoCo moves meshes to their centres and principal axes.
    local = np.concatenate([model.geom_pos[1:], model.geom_quat[1:]], axis=1)
    positions, rotations = compose_poses(_placed(job, poses)[rows], local)
    data.geom_xpos[1:] = positions
    data.geom_xmat[1:] = spatial.quaternion_matrix(rotations).reshape(-1, 9)


def _placed(job: RenderJob, poses: PoseRows) -> Array:
    """The rows of a frame in the model."""
    inner = poses.astype(np.float64)
    outer = np.zeros_like(inner)
    outer[:, 3:] = spatial.quaternion(job.frame)
    return np.concatenate([job.to_model(inner[:, :3]), compose_poses(outer, inner)[1]], axis=1)


def set_camera(job: RenderJob, scene: Any) -> None:
    """Set the camera of a MuJoCo scene."""
    camera = job.camera
    _, up, back = camera.axes() @ job.frame.T
    near, far = camera.near / job.size, _fog(job)[1] + 1.0  # nothing is visible beyond the fog
    half = near * np.tan(camera.field_of_view / 2)
    for eye in scene.camera:
        eye.pos[:], eye.forward[:], eye.up[:] = job.to_model(spatial.array(camera.position)), -back, up
        eye.frustum_center, eye.frustum_width = 0.0, half * job.width / job.height
        eye.frustum_bottom, eye.frustum_top = -half, half
        eye.frustum_near, eye.frustum_far = near, far


VARIABLE = "MUJOCO_GL"
_OFF = ("disable", "disabled", "off", "false", "0")
_FRAME_TIMEOUT = 120.0
"""Seconds to wait for one image; a driver that hangs never returns one."""


class NoRendererError(ExoskelError):
    """MuJoCo cannot render on this system."""


def systems(environment: Mapping[str, str]) -> list[str]:
    """The OpenGL systems to try, in order: the one in MUJOCO_GL, or all that need no display."""
    named = environment.get(VARIABLE, "").strip().lower()
    if named in _OFF:
        return []
    if sys.platform != "linux":
        return [named]
    return [named] if named in ("egl", "osmesa") else ["egl", "osmesa"]


class GlRenderer:
    """Renders one scene from one camera, frame by frame; raises NoRendererError.  It must be closed."""

    def __init__(
        self, render_scene: RenderScene, camera: Camera, width: int, height: int, *, lighting: Lighting = LIGHT
    ) -> None:
        self.width, self.height = width, height
        job = RenderJob(
            batches=[batch for batch in render_scene.batches if batch.role == VISUAL],
            skins=render_scene.skins.surfaces,
            rest=render_scene.initial,
            frame=frame_of(render_scene.up),
            middle=(render_scene.low + render_scene.high) / 2,
            size=render_scene.size,
            ground=render_scene.ground,
            camera=camera,
            lighting=lighting,
            width=width,
            height=height,
            segments=render_scene.segments,
        )
        self._lock = Lock()
        self._first = pickle.dumps(render_scene.initial.astype(np.float32))
        self._worker, self._first_image = _start_worker(pickle.dumps(job), self._first)

    def draw(self, poses: PoseRows) -> Image:
        """Render an image, `(height, width, 3)`, of a frame."""
        request = pickle.dumps(poses)
        if request == self._first:
            content = self._first_image
        else:
            with self._lock:
                content = self._worker.request(request)
        return np.frombuffer(content, dtype=np.uint8).reshape(self.height, self.width, 3)

    def close(self) -> None:
        self._worker.close()


def _start_worker(job: bytes, poses: bytes) -> tuple[_Worker, bytes]:
    """Start a worker and render a first image, which shows that it works."""
    reasons: list[str] = []
    for system in systems(os.environ):
        worker = _Worker(system)
        try:
            worker.request(job)
            image = worker.request(poses)
        except NoRendererError as error:
            worker.close()
            reasons.append(f"{system.upper() or 'OpenGL'}: {error}")
        else:
            return worker, image
    raise NoRendererError("; ".join(reasons) or f"{VARIABLE} disables it")


class _Worker:
    def __init__(self, system: str) -> None:
        self._child = ChildProcess("exoskel.view.gl_renderer", {VARIABLE: system} if system else {})

    def request(self, message: bytes) -> bytes:
        """Send a message and return the reply; a failure, including a crash, raises NoRendererError."""
        try:
            kind, content = self._child.request(message, receive, _FRAME_TIMEOUT)
        except ChildFailedError as error:
            raise NoRendererError(str(error)) from None
        if kind == FAILED:
            raise NoRendererError(content.decode("utf-8", "replace"))
        return content

    def close(self) -> None:
        self._child.close()


# --- replies: a letter, a length, and the content -----------------------------------------------------

IMAGE, FAILED = b"I", b"F"
_HEADER = struct.Struct("<cQ")
_MAX_MESSAGE = 160


def send(stream: IO[bytes], kind: bytes, content: bytes) -> None:
    stream.write(_HEADER.pack(kind, len(content)))
    stream.write(content)
    stream.flush()


def receive(stream: IO[bytes]) -> tuple[bytes, bytes] | None:
    """Read a reply; None if the process has ended."""
    header = stream.read(_HEADER.size)
    if len(header) < _HEADER.size:
        return None
    kind, length = _HEADER.unpack(header)
    content = stream.read(length)
    return (kind, content) if len(content) == length else None


# --- the child process ---------------------------------------------------------------------------------------


def main() -> None:
    """Read a job, then reply to poses with images until the input ends."""
    # Drivers print to standard output, so replies use a copy of it.
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        renderer = _OffscreenRenderer(pickle.load(sys.stdin.buffer))
        send(output, IMAGE, b"")
        _serve(renderer, output)
    except EOFError:
        pass
    except Exception as error:  # each OpenGL system raises its own exceptions
        message = (str(error) or type(error).__name__).splitlines()[0]
        send(output, FAILED, message[:_MAX_MESSAGE].encode())


def _serve(renderer: _OffscreenRenderer, output: BinaryIO) -> None:
    while True:
        send(output, IMAGE, renderer.draw(pickle.load(sys.stdin.buffer)))


class _OffscreenRenderer:
    def __init__(self, job: RenderJob) -> None:
        mujoco = _import_mujoco()
        self._mujoco, self._job = mujoco, job
        self._model: Any = compile_model(job)
        self._data: Any = mujoco.MjData(self._model)
        height, width = job.supersampling * job.height, job.supersampling * job.width
        self._renderer: Any = mujoco.Renderer(self._model, height, width, max_geom=self._model.ngeom + 100)

    def draw(self, poses: PoseRows) -> bytes:
        place_bones(self._job, self._data, poses)
        self._mujoco.mj_kinematics(self._model, self._data)
        place_geoms(self._job, self._model, self._data, poses)
        self._mujoco.mj_camlight(self._model, self._data)
        self._renderer.update_scene(self._data)
        scene = self._renderer.scene
        set_camera(self._job, scene)
        flags = self._mujoco.mjtRndFlag
        scene.flags[flags.mjRND_FOG], scene.flags[flags.mjRND_HAZE] = 1, 0
        return _downsample(self._renderer.render(), self._job.supersampling).tobytes()


def _import_mujoco() -> Any:
    try:
        import mujoco
    except Exception:  # the exception of a missing OpenGL library depends on the library
        raise RuntimeError("not available on this system") from None
    return mujoco


def _downsample(pixels: NDArray[np.uint8], factor: int) -> NDArray[np.uint8]:
    """Average blocks of `factor` by `factor` pixels."""
    parts = [pixels[row::factor, column::factor].astype(np.uint16) for row in range(factor) for column in range(factor)]
    mean: NDArray[np.uint8] = ((sum(parts[1:], parts[0]) + factor**2 // 2) // factor**2).astype(np.uint8)
    return mean


if __name__ == "__main__":
    main()
