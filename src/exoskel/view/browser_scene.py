"""A stage in the browser: batches become batched meshes, and each picture one message for each of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from exoskel import spatial
from exoskel.scene.pose import Vector
from exoskel.spatial import Array
from exoskel.view import overlays, palette
from exoskel.view.camera import Camera, frame_of, vector
from exoskel.view.draw_batches import COLLISION, VISUAL, Batch, DrawBatches, Rows, compact, grid_cell
from exoskel.view.lighting import FILL_AT, SUN_AT, linear
from exoskel.view.scene_placement import ScenePlacement, layout_of

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
"""What can be shown, and whether it is at first."""
MOST_LABELS = 200
_PLAIN = ScenePlacement()
_MANY = 200
"""Above so many copies, distant ones are drawn more coarsely."""
_ROOT = "/exoskel"
_SKY = 1.3
LIGHTS: dict[str, tuple[Vector, float, bool]] = {
    "sun": (SUN_AT, 2.2, True),
    "fill": (FILL_AT, 0.7, False),
}
"""Where lights shine from (forward, left, up), how strongly, and whether they cast shadows."""
_LINES = {False: ((206, 211, 217), (164, 173, 184)), True: ((56, 60, 66), (86, 92, 100))}
"""Colours of the grid on a light and on a dark page: of its cells, and of five of them."""
Picked = Callable[[int], None]
Dragged = Callable[[str, int, Array, Array], None]


class BrowserScene:
    """One stage on a page.  `show` moves everything to where the bodies are.

    `ghost` draws it pale and see-through, as what something else is held against.  Without `lights`, viser's own shine.
    `layout` is where on the page it lies.
    """

    def __init__(
        self,
        server: ViserServer,
        stage: DrawBatches,
        *,
        name: str = "scene",
        ghost: bool = False,
        lights: bool = True,
        layout: ScenePlacement | None = None,
        dark: bool = False,
    ) -> None:
        self.server, self.stage = server, stage
        self.layout = layout_of(stage.corners()) if layout is None else layout
        self.scale = self.layout.scale
        self.root = f"{_ROOT}/{name}"
        self.ghost, self.dark = ghost, dark
        self.layers = dict(LAYERS)
        self.selected = -1
        self.poses: Rows = compact(stage.initial)
        self.meshes: list[tuple[Batch, Any]] = []
        self._others: dict[str, Any] = {}
        self._labels: list[tuple[int, Any]] = []
        self._arrows = overlays.joint_axes(stage.world, 0.18 * stage.size)
        self._build(lights)

    # --- building -------------------------------------------------------------------------------------

    def _build(self, lights: bool) -> None:
        with self.server.atomic():
            if lights and not self.ghost:
                self._add_lights()
            if not self.ghost:
                self._add_ground()
            for batch in self.stage.batches:
                if not self.ghost:
                    self._add(batch, visible=self.layers[batch.role])
                elif batch.role == VISUAL and (moving := _moving(batch, self.stage)) is not None:
                    self._add(moving, visible=True)

    def _add(self, batch: Batch, *, visible: bool) -> None:
        positions, quaternions = self._placed(batch)
        alphas = np.full(len(batch.bodies), palette.GHOST[3]) if self.ghost else batch.colors[:, 3]
        is_clear = self.ghost or batch.is_clear
        handle = self.server.scene.add_batched_meshes_simple(
            f"{self.root}/{batch.role}/{batch.name}",
            batch.surface.vertices,
            batch.surface.triangles,
            batched_wxyzs=quaternions,
            batched_positions=positions,
            batched_scales=self.scale * batch.scales,
            batched_colors=self._colors(batch),
            batched_opacities=alphas if is_clear else None,
            lod="auto" if len(batch.bodies) > _MANY else "off",
            cast_shadow=not is_clear,
            receive_shadow=not is_clear,
            side="double" if batch.name.startswith(("mesh", "trimesh")) else "front",
            visible=visible,
        )
        self.meshes.append((batch, handle))

    def _placed(self, batch: Batch) -> tuple[Rows, Rows]:
        positions, quaternions = batch.placed(self.poses)
        return (positions if self.layout == _PLAIN else self.layout.on_page(positions)), quaternions

    def _add_lights(self) -> None:
        """A sun over the viewer's shoulder that casts shadows, and a sky that leaves them soft."""
        scene = self.server.scene
        scene.configure_default_lights(enabled=False)
        scene.configure_environment_map(None)
        self._others["sky"] = scene.add_light_ambient(f"{self.root}/sky", intensity=_SKY)
        frame = frame_of(self.stage.up)
        for name, (place, strength, shadow) in LIGHTS.items():
            self._others[name] = scene.add_light_directional(
                f"{self.root}/{name}",
                intensity=strength,
                cast_shadow=shadow,
                position=tuple((np.array(place) @ frame).tolist()),
            )

    def _add_ground(self) -> None:
        stage = self.stage
        size = self.scale * stage.size
        cell = self.scale * grid_cell(stage.size)
        frame = frame_of(stage.up)
        middle, up = (stage.low + stage.high) / 2, frame[2]
        cells, sections = _LINES[self.dark]
        self._others[GROUND] = self.server.scene.add_grid(
            f"{self.root}/{GROUND}",
            infinite_grid=True,
            plane="xy",  # turned, since shadows fall on the side that its normal points to
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
            # A hair lower, so that what lies on the ground does not flicker.
            position=vector(self.layout.on_page(middle + (stage.ground - 1e-3 * stage.size - middle @ up) * up)),
        )

    def set_dark(self, dark: bool) -> None:
        """Have the ground go with a dark page, or with a light one."""
        self.dark = dark
        if GROUND in self._others:
            self._others[GROUND].cell_color, self._others[GROUND].section_color = _LINES[dark]

    def remove(self) -> None:
        """Take everything off the page."""
        with self.server.atomic():
            for _, handle in self.meshes:
                handle.remove()
            for handle in (*self._others.values(), *(label for _, label in self._labels)):
                handle.remove()
        self.meshes, self._others, self._labels = [], {}, []

    # --- moving ---------------------------------------------------------------------------------------

    def show(self, poses: Rows, contacts: list[Any] | None = None) -> None:
        """Move everything that is visible to the poses `(bodies, 7)`."""
        self.poses = poses
        with self.server.atomic():
            for batch, handle in self.meshes:
                if self.layers.get(batch.role, True):
                    handle.batched_positions, handle.batched_wxyzs = self._placed(batch)
            self._move_others(poses, contacts or [])

    def _move_others(self, poses: Rows, contacts: list[Any]) -> None:
        if self.layers[FRAMES] and FRAMES in self._others:
            handle = self._others[FRAMES]
            handle.batched_positions, handle.batched_wxyzs = self.layout.on_page(poses[:, :3]), poses[:, 3:]
        if self.layers[AXES] and AXES in self._others:
            self._others[AXES].points = self.layout.on_page(self._arrows.placed(poses)).astype(np.float32)
        if self.layers[CONTACTS]:
            self._show_contacts(contacts)
        for number, label in self._labels if self.layers[LABELS] else ():
            label.position = self.layout.on_page(poses[number, :3])

    def _show_contacts(self, contacts: list[Any]) -> None:
        arrows = overlays.contact_arrows(contacts, 0.2 * self.stage.size)
        points: Rows = self.layout.on_page(arrows).astype(np.float32)
        if CONTACTS in self._others:
            if len(points):
                self._others[CONTACTS].points = points
            self._others[CONTACTS].visible = bool(len(points))
        elif len(points):
            self._others[CONTACTS] = self._add_arrows(CONTACTS, points, palette.bytes_of(palette.CONTACT), 1.0)

    def _add_arrows(self, name: str, points: Rows, color: tuple[int, int, int], width: float) -> Any:
        unit = 0.004 * self.scale * self.stage.size * width
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
                self._make(name)
            for batch, handle in self.meshes:
                if batch.role == name or (name, batch.role) == (overlays.MASS, overlays.CENTRE):
                    handle.visible = on
            if name in self._others:
                self._others[name].visible = on
            for _, label in self._labels if name == LABELS else ():
                label.visible = on
        self.show(self.poses)

    def _make(self, name: str) -> None:
        """Build what is only built when it is asked for."""
        if name == FRAMES and FRAMES not in self._others:
            length = 0.07 * self.scale * self.stage.size
            self._others[FRAMES] = self.server.scene.add_batched_axes(
                f"{self.root}/{FRAMES}",
                batched_wxyzs=self.poses[:, 3:],
                batched_positions=self.layout.on_page(self.poses[:, :3]),
                axes_length=length,
                axes_radius=0.05 * length,
            )
        if name == AXES and AXES not in self._others and len(self._arrows.bodies):
            points: Rows = self.layout.on_page(self._arrows.placed(self.poses)).astype(np.float32)
            self._others[AXES] = self._add_arrows(AXES, points, palette.bytes_of(palette.JOINT), 0.8)
        if name == overlays.MASS and not any(batch.role == overlays.MASS for batch, _ in self.meshes):
            moving = np.flatnonzero(~self.stage.is_static).tolist()
            for batch in overlays.masses(self.stage.bodies, moving, self.stage.size):
                self._add(batch, visible=True)
        if name == LABELS and not self._labels:
            self._add_labels()

    def _add_labels(self) -> None:
        for number, (model, body) in enumerate(self.stage.names[:MOST_LABELS]):
            text = body if body == model else f"{model}/{body}"
            place = vector(self.layout.on_page(self.poses[number, :3]))
            label = self.server.scene.add_label(f"{self.root}/{LABELS}/{number}", text, position=place)
            self._labels.append((number, label))

    # --- choosing -------------------------------------------------------------------------------------

    def select(self, number: int) -> None:
        """Light a body up; -1 lights none."""
        before, self.selected = self.selected, number
        for batch, handle in self.meshes:
            if batch.role == VISUAL and np.isin(batch.bodies, (before, number)).any():
                handle.batched_colors = self._colors(batch)

    def _colors(self, batch: Batch) -> Any:
        colors = batch.colors[:, :3].copy()
        if self.ghost:
            colors = 0.35 * colors + 0.65 * np.array(palette.GHOST[:3])
        elif batch.role == VISUAL:
            chosen = batch.bodies == self.selected
            colors[chosen] = 0.25 * colors[chosen] + 0.75 * np.array(palette.SELECTED[:3])
        # viser's page takes the colours of copies for light, not for sRGB as all others.
        return np.round(255 * linear(colors)).astype(np.uint8)

    def on_pick(self, picked: Picked) -> None:
        """Call back with the number of a body that is clicked on."""
        for batch, handle in self.meshes:
            handle.on_click(_clicking(batch, picked))

    def on_drag(self, dragged: Dragged) -> None:
        """Call back while a body is dragged with Ctrl held: phase, body, point held and pointer, in the world."""
        for batch, handle in self.meshes:
            handle.on_drag("left", modifier="cmd/ctrl")(_dragging(batch, dragged, self.layout))


def _clicking(batch: Batch, picked: Picked) -> Callable[[Any], Any]:
    async def clicked(event: Any) -> None:
        if event.instance_index is not None:
            picked(int(batch.bodies[event.instance_index]))

    return clicked


def _dragging(batch: Batch, dragged: Dragged, layout: ScenePlacement) -> Callable[[Any], Any]:
    # Asynchronous, so that beginning, movement and end come in this order.
    async def moved(event: Any) -> None:
        if event.instance_index is not None:
            body = int(batch.bodies[event.instance_index])
            held, pointer = (layout.in_world(np.array(at)) for at in (event.start_position, event.end_position))
            dragged(event.phase, body, held, pointer)

    return moved


def _moving(batch: Batch, stage: DrawBatches) -> Batch | None:
    """The copies that belong to bodies which can move."""
    kept = ~stage.is_static[batch.bodies]
    if not kept.any():
        return None
    parts = (part[kept] for part in (batch.bodies, batch.local, batch.scales, batch.colors))
    return Batch(batch.name, batch.role, batch.surface, *parts)


def aim(server: ViserServer, camera: Camera) -> None:
    """Where those who open the page from now on look from, on the page."""
    first = server.initial_camera
    first.position, first.look_at = np.array(camera.position), np.array(camera.target)
    first.up, first.fov, first.near, first.far = camera.up, camera.field_of_view, camera.near, camera.far


def turn(client: Any, camera: Camera) -> None:
    """Let one who looks already look from there, on the page."""
    with client.atomic():
        client.camera.up_direction = camera.up
        client.camera.position = np.array(camera.position)
        client.camera.look_at = np.array(camera.target)
        client.camera.fov, client.camera.near, client.camera.far = camera.field_of_view, camera.near, camera.far


def seen_by(client: Any, layout: ScenePlacement) -> Camera:
    """The camera of one who looks, in the world."""
    own = client.camera
    position, target, up = layout.in_world(own.position), layout.in_world(own.look_at), own.up_direction
    distance = float(np.linalg.norm(position - target))
    near, far = distance * 1e-3, max(own.far / layout.scale, 1e3 * distance)
    return Camera(vector(position), vector(target), vector(up), own.fov, near, far)
