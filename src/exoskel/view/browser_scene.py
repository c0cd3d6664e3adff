"""A scene on the page: each batch is one batched mesh of viser, and each frame sends one message per batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from exoskel import spatial
from exoskel.scene.pose import Vector
from exoskel.spatial import Array
from exoskel.view import lighting, overlays
from exoskel.view.camera import Camera, frame_of, vector
from exoskel.view.lighting import FILL_DIRECTION, SUN_DIRECTION, srgb_to_linear
from exoskel.view.render_scene import COLLISION, VISUAL, InstanceBatch, PoseRows, RenderScene, compact_poses, grid_cell
from exoskel.view.scene_placement import ScenePlacement, placement_for

if TYPE_CHECKING:
    from viser import ViserServer

FRAMES, AXES, CONTACTS, LABELS, GROUND = "frames", "axes", "contacts", "labels", "ground"
LAYERS = {
    VISUAL: True,
    COLLISION: False,
    GROUND: True,
    FRAMES: False,
    AXES: False,
    overlays.MASS: False,
    CONTACTS: False,
    LABELS: False,
}
"""The layers that can be shown, and whether they are visible initially."""
MAX_LABELS = 200
_IDENTITY = ScenePlacement()
_LOD_THRESHOLD = 200
"""Batches with more instances than this use coarser meshes at a distance."""
_ROOT = "/exoskel"
_SKY = 1.3
LIGHTS: dict[str, tuple[Vector, float, bool]] = {
    "sun": (SUN_DIRECTION, 2.2, True),
    "fill": (FILL_DIRECTION, 0.7, False),
}
"""The direction of each light (forward, left, up), its intensity, and whether it casts shadows."""
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
        self._handles: dict[str, Any] = {}
        self._labels: list[tuple[int, Any]] = []
        self._arrows = overlays.joint_axes(render_scene.world, 0.18 * render_scene.size)
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

    def _add(self, batch: InstanceBatch, *, visible: bool) -> None:
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
            cast_shadow=not is_transparent,
            receive_shadow=not is_transparent,
            side="double" if batch.name.startswith(("mesh", "trimesh")) else "front",
            visible=visible,
        )
        self.meshes.append((batch, handle))

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
        for name, (place, strength, shadow) in LIGHTS.items():
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
            position=vector(
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
            for _, handle in self.meshes:
                handle.remove()
            for handle in (*self._handles.values(), *(label for _, label in self._labels)):
                handle.remove()
        self.meshes, self._handles, self._labels = [], {}, []

    # --- moving ---------------------------------------------------------------------------------------

    def show(self, poses: PoseRows, contacts: list[Any] | None = None) -> None:
        """Move all visible parts to the poses `(bodies, 7)`."""
        self.poses = poses
        with self.server.atomic():
            for batch, handle in self.meshes:
                if self.layers.get(batch.role, True):
                    handle.batched_positions, handle.batched_wxyzs = self._instance_poses(batch)
            self._move_handles(poses, contacts or [])

    def _move_handles(self, poses: PoseRows, contacts: list[Any]) -> None:
        if self.layers[FRAMES] and FRAMES in self._handles:
            handle = self._handles[FRAMES]
            handle.batched_positions, handle.batched_wxyzs = self.placement.on_page(poses[:, :3]), poses[:, 3:]
        if self.layers[AXES] and AXES in self._handles:
            self._handles[AXES].points = self.placement.on_page(self._arrows.world_points(poses)).astype(np.float32)
        if self.layers[CONTACTS]:
            self._show_contacts(contacts)
        for number, label in self._labels if self.layers[LABELS] else ():
            label.position = self.placement.on_page(poses[number, :3])

    def _show_contacts(self, contacts: list[Any]) -> None:
        arrows = overlays.contact_arrows(contacts, 0.2 * self.render_scene.size)
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
        if name == overlays.MASS:
            self.layers[overlays.CENTRE] = on
        with self.server.atomic():
            if on:
                self._build_layer(name)
            for batch, handle in self.meshes:
                if batch.role == name or (name, batch.role) == (overlays.MASS, overlays.CENTRE):
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
            self._handles[FRAMES] = self.server.scene.add_batched_axes(
                f"{self.root}/{FRAMES}",
                batched_wxyzs=self.poses[:, 3:],
                batched_positions=self.placement.on_page(self.poses[:, :3]),
                axes_length=length,
                axes_radius=0.05 * length,
            )
        if name == AXES and AXES not in self._handles and len(self._arrows.bodies):
            points: PoseRows = self.placement.on_page(self._arrows.world_points(self.poses)).astype(np.float32)
            self._handles[AXES] = self._add_arrows(AXES, points, lighting.bytes_of(lighting.JOINT), 0.8)
        if name == overlays.MASS and not any(batch.role == overlays.MASS for batch, _ in self.meshes):
            moving = np.flatnonzero(~self.render_scene.is_static).tolist()
            for batch in overlays.inertia_batches(self.render_scene.bodies, moving, self.render_scene.size):
                self._add(batch, visible=True)
        if name == LABELS and not self._labels:
            self._add_labels()

    def _add_labels(self) -> None:
        for number, (model, body) in enumerate(self.render_scene.names[:MAX_LABELS]):
            text = body if body == model else f"{model}/{body}"
            place = vector(self.placement.on_page(self.poses[number, :3]))
            label = self.server.scene.add_label(f"{self.root}/{LABELS}/{number}", text, position=place)
            self._labels.append((number, label))

    # --- selection ------------------------------------------------------------------------------------

    def select(self, number: int) -> None:
        """Highlight a body; -1 for none."""
        before, self.selected = self.selected, number
        for batch, handle in self.meshes:
            if batch.role == VISUAL and np.isin(batch.bodies, (before, number)).any():
                handle.batched_colors = self._colors(batch)

    def _colors(self, batch: InstanceBatch) -> Any:
        colors = batch.colors[:, :3].copy()
        if self.ghost:
            colors = 0.35 * colors + 0.65 * np.array(lighting.GHOST[:3])
        elif batch.role == VISUAL:
            chosen = batch.bodies == self.selected
            colors[chosen] = 0.25 * colors[chosen] + 0.75 * np.array(lighting.SELECTED[:3])
        # viser's page reads the colours of instances as linear light, unlike all other colours.
        return np.round(255 * srgb_to_linear(colors)).astype(np.uint8)

    def on_pick(self, picked: PickCallback) -> None:
        """Call `picked` with the number of a body that is clicked."""
        for batch, handle in self.meshes:
            handle.on_click(_click_handler(batch, picked))

    def on_drag(self, dragged: DragCallback) -> None:
        """Call `dragged` while a body is Ctrl-dragged: phase, body, pulled point and pointer, in the world."""
        for batch, handle in self.meshes:
            handle.on_drag("left", modifier="cmd/ctrl")(_drag_handler(batch, dragged, self.placement))


def _click_handler(batch: InstanceBatch, picked: PickCallback) -> Callable[[Any], Any]:
    async def clicked(event: Any) -> None:
        if event.instance_index is not None:
            picked(int(batch.bodies[event.instance_index]))

    return clicked


def _drag_handler(batch: InstanceBatch, dragged: DragCallback, placement: ScenePlacement) -> Callable[[Any], Any]:
    # A coroutine, so that viser keeps the order of start, updates and end.
    async def moved(event: Any) -> None:
        if event.instance_index is not None:
            body = int(batch.bodies[event.instance_index])
            point, pointer = (placement.in_world(np.array(at)) for at in (event.start_position, event.end_position))
            dragged(event.phase, body, point, pointer)

    return moved


def _movable_instances(batch: InstanceBatch, render_scene: RenderScene) -> InstanceBatch | None:
    """The instances that belong to bodies that can move."""
    is_movable = ~render_scene.is_static[batch.bodies]
    if not is_movable.any():
        return None
    bodies, local, scales, colors = (x[is_movable] for x in (batch.bodies, batch.local, batch.scales, batch.colors))
    return InstanceBatch(batch.name, batch.role, batch.surface, bodies, local, scales, colors, batch.is_plane)


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
    return Camera(vector(position), vector(target), vector(up), own.fov, near, far)
