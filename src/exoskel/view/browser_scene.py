"""A scene on the page: each batch is one batched mesh of viser, and each frame sends one message per batch.

Overlays (`overlays.py`) are built once in body frames and then follow the poses `(bodies, 7)`, except for contacts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from exoskel import spatial
from exoskel.diagnostics import printable
from exoskel.engines.interface import Contact
from exoskel.scene.pose import vector_from_array
from exoskel.scene.shape import Color
from exoskel.spatial import Array
from exoskel.view import lighting
from exoskel.view.camera import Camera, frame_of, look_at
from exoskel.view.lighting import light_directions, srgb_to_linear
from exoskel.view.overlays import (
    CENTRE,
    MASS,
    BodyLines,
    ForceScale,
    constraint_lines,
    force_text,
    inertia_batches,
    joint_axes,
    spread_points,
    tendon_lines,
)
from exoskel.view.render_scene import (
    COLLISION,
    VISUAL,
    InstanceBatch,
    RenderScene,
    compact_poses,
    grid_cell,
)
from exoskel.view.scene_placement import ScenePlacement, placement_for
from exoskel.view.surfaces import PoseRows, SkinSurface, glb_with_material

if TYPE_CHECKING:
    from viser import ViserServer

HIGHLIGHT = "highlight"
_HIGHLIGHT_ALPHA = 0.6
_LABEL_DISTANCE, _LABEL_SCALE = 0.08, 0.75
"""Names are at least this far apart, as a fraction of the scene's size, so that they do not cover it; their size."""
_MAX_FORCE_LABELS = 5
"""Contact forces whose numbers are shown, strongest first."""
_AXIS_LENGTH, _AXIS_RANGE, _AXIS_WITHOUT_SHAPE = 1.2, (0.06, 0.5), 0.12
"""The length of a joint axis in sizes of its body, within fractions of the scene's size; for bodies without shapes."""


FRAMES, AXES, CONTACTS, LABELS, GROUND = "frames", "axes", "contacts", "labels", "ground"
CONSTRAINTS = "constraints"
_TENDONS, _LINE_WIDTH = "tendons", 0.006
"""The lines of spatial tendons, which belong to the visual shapes; the width of lines in sizes of the scene."""
LAYERS = {
    VISUAL: True,
    COLLISION: False,
    GROUND: True,
    FRAMES: False,
    AXES: False,
    CONSTRAINTS: False,
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
_REFLECTION, _SKY_WITH_REFLECTIONS = 0.3, 0.75
"""The intensity of surroundings that metals reflect, which would be black otherwise, and of the ambient light then."""
LIGHTS = {"sun": (2.2, True), "fill": (0.7, False)}
"""The intensity of each light, and whether it casts shadows."""
_LINES = {False: ((206, 211, 217), (164, 173, 184)), True: ((56, 60, 66), (86, 92, 100))}
"""Grid colours on a light and on a dark page: the lines of cells, and of sections of five cells."""
PickCallback = Callable[[int], None]
DragCallback = Callable[[str, int, Array, Array], None]


class BrowserScene:
    """One scene on a page.  `show` moves everything to the poses of the bodies.

    `ghost` draws it pale and transparent, for comparison; static bodies only `with_static`, the
    ground never.  Without `lights`, viser's own lights are used.
    `placement` maps the world to the page.
    """

    def __init__(
        self,
        server: ViserServer,
        render_scene: RenderScene,
        *,
        name: str = "scene",
        ghost: bool = False,
        with_static: bool = False,
        lights: bool = True,
        placement: ScenePlacement | None = None,
        dark: bool = False,
    ) -> None:
        self.server, self.render_scene = server, render_scene
        self.placement = placement_for(render_scene.corners()) if placement is None else placement
        self.scale = self.placement.scale
        self.root = f"{_ROOT}/{name}"
        self.ghost, self.with_static, self.dark = ghost, with_static, dark
        self.layers = dict(LAYERS)
        self.selected = -1
        self.poses: PoseRows = compact_poses(render_scene.initial)
        self.meshes: list[tuple[InstanceBatch, Any]] = []
        self.skins: list[tuple[SkinSurface, Any]] = []
        self._handles: dict[str, Any] = {}
        self._labels: list[tuple[int, Any]] = []
        self._arrows = joint_axes(render_scene.world, _axis_lengths(render_scene))
        self._tendons, self._constraints = tendon_lines(render_scene.world), constraint_lines(render_scene.world)
        self.forces = ForceScale(0.2 * render_scene.size)
        self._force_labels: list[Any] = []
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
                elif batch.role == VISUAL and (shown := self._ghost_instances(batch)) is not None:
                    self._add(shown, visible=True)
            for skin in self.render_scene.skins.surfaces:
                if not (self.ghost and not self.with_static and self.render_scene.is_static[skin.body]):
                    self._add_skin(skin)
            if len(self._tendons.bodies) and not self.ghost:
                self._handles[_TENDONS] = self._add_lines(f"{VISUAL}/{_TENDONS}", self._tendons, lighting.TENDON)

    def _add_lines(self, name: str, lines: BodyLines, color: Color) -> Any:
        return self.server.scene.add_line_segments(
            f"{self.root}/{name}",
            self._line_points(lines),
            lighting.bytes_of(color),
            thickness=_LINE_WIDTH * self.scale * self.render_scene.size,
        )

    def _line_points(self, lines: BodyLines) -> PoseRows:
        return self.placement.on_page(lines.world_points(self.poses)).astype(np.float32)

    def _ghost_instances(self, batch: InstanceBatch) -> InstanceBatch | None:
        if self.with_static:
            return None if batch.is_ground or batch.is_plane else batch
        return _movable_instances(batch, self.render_scene)

    def _add(self, batch: InstanceBatch, *, visible: bool) -> None:
        if batch.has_fixed_look and not self.ghost:
            self._add_with_material(batch, visible=visible)
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

    def _add_with_material(self, batch: InstanceBatch, *, visible: bool) -> None:
        positions, quaternions = self._instance_poses(batch)
        handle = self.server.scene.add_batched_glb(
            f"{self.root}/{batch.role}/{batch.name}",
            glb_with_material(batch.surface, _color(batch.colors.min(axis=0)), batch.image, batch.material),
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
        frame = frame_of(self.render_scene.up)
        has_metals = any(one.material is not None and one.material.metalness for one in self.render_scene.batches)
        scene.configure_environment_map("city" if has_metals else None, environment_intensity=_REFLECTION)
        self._handles["sky"] = scene.add_light_ambient(
            f"{self.root}/sky", intensity=_SKY_WITH_REFLECTIONS if has_metals else _SKY
        )
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
            for handle in (*self._handles.values(), *(label for _, label in self._labels), *self._force_labels):
                handle.remove()
        self.meshes, self.skins, self._handles, self._labels, self._force_labels = [], [], {}, [], []

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
        if self.layers[VISUAL] and _TENDONS in self._handles:
            self._handles[_TENDONS].points = self._line_points(self._tendons)
        if self.layers[CONSTRAINTS] and CONSTRAINTS in self._handles:
            self._handles[CONSTRAINTS].points = self._line_points(self._constraints)
        if self.layers[CONTACTS]:
            self._show_contacts(contacts)
        for number, label in self._labels if self.layers[LABELS] else ():
            label.position = self.placement.on_page(poses[number, :3])

    def _show_contacts(self, contacts: list[Contact]) -> None:
        arrows = self.forces.arrows(contacts)
        points: PoseRows = self.placement.on_page(arrows).astype(np.float32)
        if CONTACTS in self._handles:
            if len(points):
                self._handles[CONTACTS].points = points
            self._handles[CONTACTS].visible = bool(len(points))
        elif len(points):
            self._handles[CONTACTS] = self._add_arrows(CONTACTS, points, lighting.bytes_of(lighting.CONTACT), 1.0)
        self._show_force_numbers(arrows)

    def _show_force_numbers(self, arrows: Array) -> None:
        """Write the numbers of the strongest forces at the heads of their arrows."""
        strength = self.forces.strengths
        order = np.argsort(-strength)[: 4 * _MAX_FORCE_LABELS]
        order = order[strength[order] > 0.0]
        near = spread_points(arrows[order, 1], _LABEL_DISTANCE * self.render_scene.size, _MAX_FORCE_LABELS)
        for place, number in enumerate(order[near].tolist()):
            text, at = force_text(float(strength[number])), vector_from_array(self.placement.on_page(arrows[number, 1]))
            if place == len(self._force_labels):
                self._force_labels.append(self._add_label(f"{CONTACTS}_{place}", text, at))
            label = self._force_labels[place]
            label.text, label.position, label.visible = text, at, True
        for label in self._force_labels[len(near) :]:
            label.visible = False

    def _add_label(self, name: str, text: str, position: Any) -> Any:
        return self.server.scene.add_label(
            f"{self.root}/{LABELS}/{name}",
            text,
            position=position,
            font_screen_scale=_LABEL_SCALE,
            anchor="bottom-center",
        )

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
            for key in {name, _TENDONS if name == VISUAL else name} & self._handles.keys():
                self._handles[key].visible = on
            for _, label in self._labels if name == LABELS else ():
                label.visible = on
            for label in self._force_labels if name == CONTACTS and not on else ():
                label.visible = False
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
        if name == CONSTRAINTS and CONSTRAINTS not in self._handles and len(self._constraints.bodies):
            self._handles[CONSTRAINTS] = self._add_lines(CONSTRAINTS, self._constraints, lighting.CONSTRAINT)
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
            text = printable(body if count[body] == 1 else f"{model}/{body}")
            at = vector_from_array(self.placement.on_page(self.poses[number, :3]))
            self._labels.append((number, self._add_label(str(number), text, at)))

    # --- selection ------------------------------------------------------------------------------------

    def select(self, number: int) -> None:
        """Highlight a body; -1 for none."""
        before, self.selected = self.selected, number
        for batch, handle in self.meshes:
            if batch.role == VISUAL and not batch.has_fixed_look and np.isin(batch.bodies, (before, number)).any():
                handle.batched_colors = self._colors(batch)
        self._highlight_fixed_looks(number)
        for skin, handle in self.skins:
            if skin.body in (before, number):
                handle.color = self._skin_color(skin)

    def _highlight_fixed_looks(self, number: int) -> None:
        """Draw transparent copies over the parts of a body whose colours cannot be changed."""
        for _, handle in (one for one in self.meshes if one[0].role == HIGHLIGHT):
            handle.remove()
        self.meshes = [one for one in self.meshes if one[0].role != HIGHLIGHT]
        color = np.array([(*lighting.SELECTED[:3], _HIGHLIGHT_ALPHA)])
        for batch in [batch for batch, _ in self.meshes if batch.has_fixed_look]:
            own = batch.bodies == number
            if own.any():
                plain = batch.take(own, role=HIGHLIGHT, image=None, material=None)
                colors = np.repeat(color, int(own.sum()), axis=0)
                self._add(structs.replace(plain, colors=colors), visible=True)

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


def _color(values: Array) -> Color:
    red, green, blue, alpha = values.tolist()
    return (red, green, blue, alpha)


def _axis_lengths(render_scene: RenderScene) -> Array:
    """The length of the joint axes of each body, m: they fit the size of the body."""
    sizes, whole = render_scene.body_sizes(), render_scene.size
    fitting = np.clip(_AXIS_LENGTH * sizes, _AXIS_RANGE[0] * whole, _AXIS_RANGE[1] * whole)
    lengths: Array = np.where(sizes > 0.0, fitting, _AXIS_WITHOUT_SHAPE * whole)
    return lengths


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
