"""A scene on the page: each batch is one batched mesh of viser, and each frame sends one message per batch.

Overlays (joint axes, centres of mass, inertia ellipsoids and contact forces) are drawable geometry.  Except for
contacts, they are built once in body frames and then follow the poses `(bodies, 7)`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from exoskel import spatial
from exoskel.diagnostics import printable
from exoskel.engines.interface import Contact
from exoskel.scene.body import Body
from exoskel.scene.joint import Joint
from exoskel.scene.kinematics import plane_frames
from exoskel.scene.pose import pose_matrices, vector_from_array
from exoskel.scene.shape import Sphere
from exoskel.scene.summary import moments
from exoskel.scene.world import World
from exoskel.source.surface import Surfaces
from exoskel.spatial import Array
from exoskel.view import lighting
from exoskel.view.camera import Camera, frame_of, look_at
from exoskel.view.lighting import light_directions, srgb_to_linear
from exoskel.view.render_scene import (
    COLLISION,
    VISUAL,
    InstanceBatch,
    RenderScene,
    compact_poses,
    compose_poses,
    grid_cell,
)
from exoskel.view.scene_placement import ScenePlacement, placement_for
from exoskel.view.skins import PoseRows, SkinSurface
from exoskel.view.surface_parts import textured_glb

if TYPE_CHECKING:
    from viser import ViserServer

MASS, CENTRE, HIGHLIGHT = "mass", "centre", "highlight"
_HIGHLIGHT_ALPHA = 0.6
MAX_LABELS = 60
_LABEL_DISTANCE, _LABEL_SCALE = 0.08, 0.75
"""Names are at least this far apart, as a fraction of the scene's size, so that they do not cover it; their size."""
_CENTRE_SIZE = 0.012
"""The diameter of the spheres at centres of mass, as a fraction of the scene's size."""


class Arrows(Struct):
    """Arrows fixed to bodies: the body of each arrow, and its two ends in that body's frame, `(n, 3)` each."""

    bodies: NDArray[np.intp]
    tails: Array
    heads: Array

    def world_points(self, poses: PoseRows) -> PoseRows:
        """Both ends of each arrow in the world, `(n, 2, 3)`."""
        outer = poses[self.bodies]
        return np.stack([_transform_points(outer, self.tails), _transform_points(outer, self.heads)], axis=1)


def _transform_points(outer: PoseRows, points: Array) -> PoseRows:
    inner = np.zeros((len(points), 7), dtype=outer.dtype)
    inner[:, :3], inner[:, 3] = points, 1.0
    return compose_poses(outer, inner)[0]


def joint_axes(world: World, length: float) -> Arrows:
    """The axes of all joints, as arrows of `length` m centred at the joints."""
    number = {id(body): i for i, body in enumerate(world.bodies())}
    joints = [joint for joint in world.joints() if not joint.loop]
    frames = pose_matrices([joint.pose for joint in joints])
    bodies: list[int] = []
    tails: list[Array] = []
    heads: list[Array] = []
    for joint, frame in zip(joints, frames, strict=True):
        for axis in spatial.unit(np.array(_joint_directions(joint)).reshape(-1, 3)):
            half = frame[:3, :3] @ axis * (length / 2)
            bodies.append(number[id(joint.child)])
            tails.append(frame[:3, 3] - half)
            heads.append(frame[:3, 3] + half)
    ends = np.array([tails, heads]).reshape(2, -1, 3)
    return Arrows(np.array(bodies, dtype=np.intp), ends[0], ends[1])


def _joint_directions(joint: Joint) -> Sequence[Sequence[float]]:
    if joint.kind == "euler":
        return [np.eye(3)["xyz".index(name)].tolist() for name in joint.order]
    if joint.kind in ("planar", "translational2d"):
        return [direction[0].tolist() for direction in plane_frames([joint])[:2]]
    return joint.axes


def inertia_batches(bodies: Sequence[Body], numbers: Iterable[int], size: float) -> list[InstanceBatch]:
    """The inertia of bodies, given by number: equivalent ellipsoids of uniform density, and centres of mass.

    `size` is the size of the scene in m.
    """
    heavy = [i for i in numbers if bodies[i].mass > 0.0 and np.isfinite(bodies[i].mass)]
    if not heavy:
        return []
    chosen = [bodies[i] for i in heavy]
    mass = np.array([body.mass for body in chosen])
    tensors = np.nan_to_num(spatial.moment_matrix(moments(chosen)))
    values, vectors = np.linalg.eigh(tensors)
    vectors[np.linalg.det(vectors) < 0.0, :, 0] *= -1.0
    # The moments of a solid ellipsoid are m (b² + c²) / 5 and so on; solve for the squares of the half axes.
    squares = 2.5 * (values.sum(axis=1, keepdims=True) - 2.0 * values) / mass[:, None]
    scales = 2.0 * np.sqrt(np.clip(squares, 0.0, None))
    local = spatial.pose7(spatial.transform(vectors, np.array([body.com for body in chosen])))
    ball = Surfaces().of(Sphere(0.5))
    assert ball is not None
    which, count = np.array(heavy, dtype=np.intp), len(heavy)
    dots = np.full((count, 3), _CENTRE_SIZE * size)
    clear, solid = (np.tile(color, (count, 1)) for color in (lighting.MASS, (*lighting.MASS[:3], 1.0)))
    return [
        InstanceBatch("inertia", MASS, ball, which, local.astype(np.float32), scales, clear),
        InstanceBatch("centres", CENTRE, ball, which, local.astype(np.float32), dots, solid),
    ]


def contact_arrows(contacts: Sequence[Contact], length: float) -> Array:
    """Contact forces as arrows from the points of contact, `(n, 2, 3)`; the strongest is `length` m long.

    If the engine reports no forces, or all are zero, contact normals are drawn at a third of the length.
    """
    points = np.array([contact.position for contact in contacts]).reshape(-1, 3)
    forces = np.array([contact.force for contact in contacts]).reshape(-1, 3)
    strongest = float(np.linalg.norm(forces, axis=1).max(initial=0.0))
    if strongest > 0.0:
        return np.stack([points, points + forces * (length / strongest)], axis=1)
    normals = np.array([contact.normal for contact in contacts]).reshape(-1, 3)
    return np.stack([points, points + normals * (length / 3)], axis=1)


def spread_points(points: PoseRows, distance: float, most: int = MAX_LABELS) -> list[int]:
    """The numbers of at most `most` points that are at least `distance` m apart, earlier ones first."""
    chosen: list[int] = []
    for number, point in enumerate(points):
        if len(chosen) == most:
            break
        if not chosen or np.linalg.norm(points[chosen] - point, axis=1).min() >= distance:
            chosen.append(number)
    return chosen


FRAMES, AXES, CONTACTS, LABELS, GROUND = "frames", "axes", "contacts", "labels", "ground"
LAYERS = {
    VISUAL: True,
    COLLISION: False,
    GROUND: True,
    FRAMES: False,
    AXES: False,
    MASS: False,
    CONTACTS: False,
    LABELS: False,
}
"""The layers that can be shown, and whether they are visible initially."""
_IDENTITY = ScenePlacement()
_LOD_THRESHOLD = 200
"""Batches with more instances than this use coarser meshes at a distance."""
_ROOT = "/exoskel"
_SKY = 1.3
LIGHTS = {"sun": (2.2, True), "fill": (0.7, False)}
"""The intensity of each light, and whether it casts shadows."""
_LINES = {False: ((206, 211, 217), (164, 173, 184)), True: ((56, 60, 66), (86, 92, 100))}
"""Grid colours on a light and on a dark page: the lines of cells, and of sections of five cells."""
PickCallback = Callable[[int], None]
DragCallback = Callable[[str, int, Array, Array], None]


class BrowserScene:
    """One scene on a page.  `show` moves everything to the poses of the bodies.

    `ghost` draws it pale and transparent, for comparison.  Without `lights`, viser's own lights are used.
    `placement` maps the world to the page.
    """

    def __init__(
        self,
        server: ViserServer,
        render_scene: RenderScene,
        *,
        name: str = "scene",
        ghost: bool = False,
        lights: bool = True,
        placement: ScenePlacement | None = None,
        dark: bool = False,
    ) -> None:
        self.server, self.render_scene = server, render_scene
        self.placement = placement_for(render_scene.corners()) if placement is None else placement
        self.scale = self.placement.scale
        self.root = f"{_ROOT}/{name}"
        self.ghost, self.dark = ghost, dark
        self.layers = dict(LAYERS)
        self.selected = -1
        self.poses: PoseRows = compact_poses(render_scene.initial)
        self.meshes: list[tuple[InstanceBatch, Any]] = []
        self.skins: list[tuple[SkinSurface, Any]] = []
        self._handles: dict[str, Any] = {}
        self._labels: list[tuple[int, Any]] = []
        self._arrows = joint_axes(render_scene.world, 0.18 * render_scene.size)
        self._build(lights)

    # --- building -------------------------------------------------------------------------------------

    def _build(self, lights: bool) -> None:
        with self.server.atomic():
            if lights and not self.ghost:
                self._add_lights()
            if not self.ghost:
                self._add_ground()
            for batch in self.render_scene.batches:
                if not self.ghost:
                    self._add(batch, visible=self.layers[batch.role])
                elif batch.role == VISUAL and (moving := _movable_instances(batch, self.render_scene)) is not None:
                    self._add(moving, visible=True)
            for skin in self.render_scene.skins.surfaces:
                if not (self.ghost and self.render_scene.is_static[skin.body]):
                    self._add_skin(skin)

    def _add(self, batch: InstanceBatch, *, visible: bool) -> None:
        if batch.image is not None and not self.ghost:
            self._add_textured(batch, visible=visible)
            return
        positions, quaternions = self._instance_poses(batch)
        alphas = np.full(len(batch.bodies), lighting.GHOST[3]) if self.ghost else batch.colors[:, 3]
        is_transparent = self.ghost or batch.is_transparent
        handle = self.server.scene.add_batched_meshes_simple(
            f"{self.root}/{batch.role}/{batch.name}",
            batch.surface.vertices,
            batch.surface.triangles,
            batched_wxyzs=quaternions,
            batched_positions=positions,
            batched_scales=self.scale * batch.scales,
            batched_colors=self._colors(batch),
            batched_opacities=alphas if is_transparent else None,
            lod="auto" if len(batch.bodies) > _LOD_THRESHOLD else "off",
            cast_shadow=batch.casts_shadow and not self.ghost,
            receive_shadow=batch.is_plane or not is_transparent,
            side="double" if batch.name.startswith(("mesh", "trimesh")) else "front",
            visible=visible,
        )
        self.meshes.append((batch, handle))

    def _add_textured(self, batch: InstanceBatch, *, visible: bool) -> None:
        assert batch.image is not None
        positions, quaternions = self._instance_poses(batch)
        handle = self.server.scene.add_batched_glb(
            f"{self.root}/{batch.role}/{batch.name}",
            textured_glb(batch.surface, batch.image, float(batch.colors[:, 3].min())),
            batched_wxyzs=quaternions,
            batched_positions=positions,
            batched_scales=self.scale * batch.scales,
            lod="off",
            cast_shadow=batch.casts_shadow,
            receive_shadow=not batch.is_transparent,
            visible=visible,
        )
        self.meshes.append((batch, handle))

    def _add_skin(self, skin: SkinSurface) -> None:
        handle = self.server.scene.add_mesh_simple(
            f"{self.root}/{VISUAL}/{skin.name}",
            self._skin_vertices(skin),
            skin.triangles,
            color=self._skin_color(skin),
            opacity=lighting.GHOST[3] if self.ghost else skin.color[3],
            cast_shadow=False,
            receive_shadow=False,
        )
        self.skins.append((skin, handle))

    def _skin_vertices(self, skin: SkinSurface) -> PoseRows:
        return self.placement.on_page(skin.vertices(self.poses)).astype(np.float32)

    def _instance_poses(self, batch: InstanceBatch) -> tuple[PoseRows, PoseRows]:
        positions, quaternions = batch.instance_poses(self.poses)
        return (positions if self.placement == _IDENTITY else self.placement.on_page(positions)), quaternions

    def _add_lights(self) -> None:
        """Add a sun that casts shadows, a fill light, and ambient light that softens the shadows."""
        scene = self.server.scene
        scene.configure_default_lights(enabled=False)
        scene.configure_environment_map(None)
        self._handles["sky"] = scene.add_light_ambient(f"{self.root}/sky", intensity=_SKY)
        frame = frame_of(self.render_scene.up)
        directions = light_directions(look_at(self.render_scene.corners(), self.render_scene.up), frame)
        for (name, (strength, shadow)), place in zip(LIGHTS.items(), directions, strict=True):
            self._handles[name] = scene.add_light_directional(
                f"{self.root}/{name}",
                intensity=strength,
                cast_shadow=shadow,
                position=tuple((np.array(place) @ frame).tolist()),
            )

    def _add_ground(self) -> None:
        render_scene = self.render_scene
        size = self.scale * render_scene.size
        cell = self.scale * grid_cell(render_scene.size)
        frame = frame_of(render_scene.up)
        middle, up = (render_scene.low + render_scene.high) / 2, frame[2]
        cells, sections = _LINES[self.dark]
        self._handles[GROUND] = self.server.scene.add_grid(
            f"{self.root}/{GROUND}",
            infinite_grid=True,
            plane="xy",  # rotated by wxyz, because shadows fall on the side of the normal
            wxyz=spatial.quaternion(frame.T),
            cell_size=cell,
            section_size=5 * cell,
            cell_color=cells,
            section_color=sections,
            cell_thickness=0.8,
            section_thickness=1.1,
            fade_distance=14 * size,
            fade_strength=1.5,
            fade_from="origin",
            shadow_opacity=0.35,
            # Slightly lower, so that flat objects on the ground do not flicker.
            position=vector_from_array(
                self.placement.on_page(middle + (render_scene.ground - 1e-3 * render_scene.size - middle @ up) * up)
            ),
        )

    def set_dark(self, dark: bool) -> None:
        """Use the grid colours of a dark or a light page."""
        self.dark = dark
        if GROUND in self._handles:
            self._handles[GROUND].cell_color, self._handles[GROUND].section_color = _LINES[dark]

    def remove(self) -> None:
        """Remove everything from the page."""
        with self.server.atomic():
            for _, handle in (*self.meshes, *self.skins):
                handle.remove()
            for handle in (*self._handles.values(), *(label for _, label in self._labels)):
                handle.remove()
        self.meshes, self.skins, self._handles, self._labels = [], [], {}, []

    # --- moving ---------------------------------------------------------------------------------------

    def show(self, poses: PoseRows, contacts: list[Contact] | None = None) -> None:
        """Move all visible parts to the poses of a frame."""
        self.poses = poses
        with self.server.atomic():
            for batch, handle in self.meshes:
                if self.layers.get(batch.role, True):
                    handle.batched_positions, handle.batched_wxyzs = self._instance_poses(batch)
            for skin, handle in self.skins if self.layers[VISUAL] else ():
                handle.vertices = self._skin_vertices(skin)
            self._move_handles(poses, contacts or [])

    def _move_handles(self, poses: PoseRows, contacts: list[Contact]) -> None:
        if self.layers[FRAMES] and FRAMES in self._handles:
            handle, own = self._handles[FRAMES], poses[: len(self.render_scene.bodies)]
            handle.batched_positions, handle.batched_wxyzs = self.placement.on_page(own[:, :3]), own[:, 3:]
        if self.layers[AXES] and AXES in self._handles:
            self._handles[AXES].points = self.placement.on_page(self._arrows.world_points(poses)).astype(np.float32)
        if self.layers[CONTACTS]:
            self._show_contacts(contacts)
        for number, label in self._labels if self.layers[LABELS] else ():
            label.position = self.placement.on_page(poses[number, :3])

    def _show_contacts(self, contacts: list[Contact]) -> None:
        arrows = contact_arrows(contacts, 0.2 * self.render_scene.size)
        points: PoseRows = self.placement.on_page(arrows).astype(np.float32)
        if CONTACTS in self._handles:
            if len(points):
                self._handles[CONTACTS].points = points
            self._handles[CONTACTS].visible = bool(len(points))
        elif len(points):
            self._handles[CONTACTS] = self._add_arrows(CONTACTS, points, lighting.bytes_of(lighting.CONTACT), 1.0)

    def _add_arrows(self, name: str, points: PoseRows, color: tuple[int, int, int], width: float) -> Any:
        unit = 0.004 * self.scale * self.render_scene.size * width
        return self.server.scene.add_arrows(
            f"{self.root}/{name}", points, color, shaft_radius=unit, head_radius=2.4 * unit, head_length=5 * unit
        )

    # --- layers ---------------------------------------------------------------------------------------

    def set_layer(self, name: str, on: bool) -> None:
        """Show or hide one of `LAYERS`."""
        self.layers[name] = on
        if name == MASS:
            self.layers[CENTRE] = on
        with self.server.atomic():
            if on:
                self._build_layer(name)
            for batch, handle in self.meshes:
                if batch.role == name or (name, batch.role) == (MASS, CENTRE):
                    handle.visible = on
            for _, handle in self.skins if name == VISUAL else ():
                handle.visible = on
            if name in self._handles:
                self._handles[name].visible = on
            for _, label in self._labels if name == LABELS else ():
                label.visible = on
        self.show(self.poses)

    def _build_layer(self, name: str) -> None:
        """Build a layer when it is first shown."""
        if name == FRAMES and FRAMES not in self._handles:
            length = 0.07 * self.scale * self.render_scene.size
            own = self.poses[: len(self.render_scene.bodies)]
            self._handles[FRAMES] = self.server.scene.add_batched_axes(
                f"{self.root}/{FRAMES}",
                batched_wxyzs=own[:, 3:],
                batched_positions=self.placement.on_page(own[:, :3]),
                axes_length=length,
                axes_radius=0.05 * length,
            )
        if name == AXES and AXES not in self._handles and len(self._arrows.bodies):
            points: PoseRows = self.placement.on_page(self._arrows.world_points(self.poses)).astype(np.float32)
            self._handles[AXES] = self._add_arrows(AXES, points, lighting.bytes_of(lighting.JOINT), 0.8)
        if name == MASS and not any(batch.role == MASS for batch, _ in self.meshes):
            moving = np.flatnonzero(~self.render_scene.is_static).tolist()
            for batch in inertia_batches(self.render_scene.bodies, moving, self.render_scene.size):
                self._add(batch, visible=True)
        if name == LABELS and not self._labels:
            self._add_labels()

    def _add_labels(self) -> None:
        names = self.render_scene.names
        count = Counter(body for _, body in names)
        for number in spread_points(self.poses[: len(names), :3], _LABEL_DISTANCE * self.render_scene.size):
            model, body = names[number]
            label = self.server.scene.add_label(
                f"{self.root}/{LABELS}/{number}",
                printable(body if count[body] == 1 else f"{model}/{body}"),
                position=vector_from_array(self.placement.on_page(self.poses[number, :3])),
                font_screen_scale=_LABEL_SCALE,
                anchor="bottom-center",
            )
            self._labels.append((number, label))

    # --- selection ------------------------------------------------------------------------------------

    def select(self, number: int) -> None:
        """Highlight a body; -1 for none."""
        before, self.selected = self.selected, number
        for batch, handle in self.meshes:
            if batch.role == VISUAL and batch.image is None and np.isin(batch.bodies, (before, number)).any():
                handle.batched_colors = self._colors(batch)
        self._highlight_textured(number)
        for skin, handle in self.skins:
            if skin.body in (before, number):
                handle.color = self._skin_color(skin)

    def _highlight_textured(self, number: int) -> None:
        """Draw transparent copies over the textured parts of a body, whose colours cannot be changed."""
        for _, handle in (one for one in self.meshes if one[0].role == HIGHLIGHT):
            handle.remove()
        self.meshes = [one for one in self.meshes if one[0].role != HIGHLIGHT]
        color = np.array([(*lighting.SELECTED[:3], _HIGHLIGHT_ALPHA)])
        for batch in [batch for batch, _ in self.meshes if batch.image is not None]:
            own = batch.bodies == number
            if own.any():
                colors = np.repeat(color, int(own.sum()), axis=0)
                self._add(structs.replace(batch.take(own, role=HIGHLIGHT, image=None), colors=colors), visible=True)

    def _colors(self, batch: InstanceBatch) -> Any:
        colors = self._shown_colors(batch.colors[:, :3], batch.bodies if batch.role == VISUAL else np.array([-2]))
        # viser's page reads the colours of instances as linear light, unlike all other colours.
        return np.round(255 * srgb_to_linear(colors)).astype(np.uint8)

    def _skin_color(self, skin: SkinSurface) -> tuple[int, int, int]:
        red, green, blue = self._shown_colors(np.array([skin.color[:3]]), np.array([skin.body]))[0].tolist()
        return lighting.bytes_of((red, green, blue, 1.0))

    def _shown_colors(self, colors: Array, bodies: NDArray[np.intp]) -> Array:
        """The colours of parts of bodies: pale for a ghost, and highlighted if they are selected."""
        if self.ghost:
            return np.asarray(0.35 * colors + 0.65 * np.array(lighting.GHOST[:3]))
        highlighted = 0.25 * colors + 0.75 * np.array(lighting.SELECTED[:3])
        return np.where((bodies == self.selected)[:, None], highlighted, colors)

    def on_pick(self, picked: PickCallback) -> None:
        """Call `picked` with the number of a body that is clicked."""
        for batch, handle in self.meshes:
            handle.on_click(_click_handler(batch.bodies, picked))
        for skin, handle in self.skins:
            handle.on_click(_click_handler(skin.body, picked))

    def on_drag(self, dragged: DragCallback) -> None:
        """Call `dragged` while a body is Ctrl-dragged: phase, body, pulled point and pointer, in the world."""
        for batch, handle in self.meshes:
            handle.on_drag("left", modifier="cmd/ctrl")(_drag_handler(batch.bodies, dragged, self.placement))
        for skin, handle in self.skins:
            handle.on_drag("left", modifier="cmd/ctrl")(_drag_handler(skin.body, dragged, self.placement))


def _body_of(bodies: NDArray[np.intp] | int, event: Any) -> int | None:
    """The number of the body of an event; None if it is between the instances of a batch."""
    if isinstance(bodies, int):
        return bodies
    return None if event.instance_index is None else int(bodies[event.instance_index])


def _click_handler(bodies: NDArray[np.intp] | int, picked: PickCallback) -> Callable[[Any], Any]:
    async def clicked(event: Any) -> None:
        body = _body_of(bodies, event)
        if body is not None:
            picked(body)

    return clicked


def _drag_handler(
    bodies: NDArray[np.intp] | int, dragged: DragCallback, placement: ScenePlacement
) -> Callable[[Any], Any]:
    # A coroutine, so that viser keeps the order of start, updates and end.
    async def moved(event: Any) -> None:
        body = _body_of(bodies, event)
        if body is not None:
            point, pointer = (placement.in_world(np.array(at)) for at in (event.start_position, event.end_position))
            dragged(event.phase, body, point, pointer)

    return moved


def _movable_instances(batch: InstanceBatch, render_scene: RenderScene) -> InstanceBatch | None:
    """The instances that belong to bodies that can move."""
    is_movable = ~render_scene.is_static[batch.bodies]
    return batch.take(is_movable) if is_movable.any() else None


def set_initial_camera(server: ViserServer, camera: Camera) -> None:
    """Set the camera, in page coordinates, of clients that connect later."""
    first = server.initial_camera
    first.position, first.look_at = np.array(camera.position), np.array(camera.target)
    first.up, first.fov, first.near, first.far = camera.up, camera.field_of_view, camera.near, camera.far


def set_client_camera(client: Any, camera: Camera) -> None:
    """Set the camera of a connected client, in page coordinates."""
    with client.atomic():
        client.camera.up_direction = camera.up
        client.camera.position = np.array(camera.position)
        client.camera.look_at = np.array(camera.target)
        client.camera.fov, client.camera.near, client.camera.far = camera.field_of_view, camera.near, camera.far


def client_camera(client: Any, placement: ScenePlacement) -> Camera:
    """The camera of a client, in world coordinates."""
    own = client.camera
    position, target, up = placement.in_world(own.position), placement.in_world(own.look_at), own.up_direction
    distance = float(np.linalg.norm(position - target))
    near, far = distance * 1e-3, max(own.far / placement.scale, 1e3 * distance)
    return Camera(vector_from_array(position), vector_from_array(target), vector_from_array(up), own.fov, near, far)
