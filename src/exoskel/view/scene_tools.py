"""Tools of the viewer that work in the scene: measuring, pulling with its force, and the last version as a ghost."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from exoskel import spatial
from exoskel.diagnostics import ExoskelError
from exoskel.scene.pose import vector_from_array
from exoskel.spatial import Array
from exoskel.view import html_text, lighting
from exoskel.view.browser_scene import BrowserScene
from exoskel.view.overlays import force_text
from exoskel.view.player import Player
from exoskel.view.render_scene import VISUAL, InstanceBatch, RenderScene
from exoskel.view.scene_placement import ScenePlacement
from exoskel.view.surfaces import PoseRows

if TYPE_CHECKING:
    from viser import ViserServer

_ROOT = "/exoskel/tools"
_MARK_SIZE = 0.006
"""The radius of the marks at measured points, as a fraction of the scene's size."""


# --- rays ----------------------------------------------------------------------------------------------


class RayHit(Struct, frozen=True, eq=False):
    """Where a ray meets the scene: the body's number, -1 for the ground, and the point in the world, m."""

    body: int
    point: Array


def cast_ray(render_scene: RenderScene, poses: PoseRows, origin: Array, direction: Array) -> RayHit | None:
    """The first visual shape, skin or ground that a ray meets; None if it meets nothing."""
    toward = spatial.unit(direction)
    nearest, body = np.inf, -1
    for batch in render_scene.of_role(VISUAL):
        for number, distance in _batch_hits(batch, poses, origin, toward):
            if distance < nearest:
                nearest, body = distance, number
    for skin in render_scene.skins.surfaces:
        distance = _triangle_distance(skin.vertices(poses)[skin.triangles].astype(np.float64), origin, toward)
        if distance < nearest:
            nearest, body = distance, skin.body
    up = np.array(render_scene.up)
    if toward @ up < 0.0:
        distance = float((render_scene.ground - origin @ up) / (toward @ up))
        if 0.0 < distance < nearest:
            nearest, body = distance, -1
    return RayHit(body, origin + nearest * toward) if np.isfinite(nearest) else None


def _batch_hits(batch: InstanceBatch, poses: PoseRows, origin: Array, toward: Array) -> list[tuple[int, float]]:
    """The bodies of the instances that a ray meets, with the distances."""
    boxes = batch.boxes(poses).astype(np.float64)
    middles = boxes.mean(axis=1)
    radii = np.linalg.norm(boxes - middles[:, None], axis=2).max(axis=1)
    along = np.maximum((middles - origin) @ toward, 0.0)
    apart = np.linalg.norm(origin + along[:, None] * toward - middles, axis=1)
    positions, quaternions = batch.instance_poses(poses)
    found: list[tuple[int, float]] = []
    for number in np.flatnonzero(apart <= radii).tolist():
        rotation = spatial.quaternion_matrix(quaternions[number].astype(np.float64))
        vertices = (batch.surface.vertices * batch.scales[number]) @ rotation.T + positions[number]
        distance = _triangle_distance(vertices[batch.surface.triangles], origin, toward)
        if np.isfinite(distance):
            found.append((int(batch.bodies[number]), distance))
    return found


def _triangle_distance(corners: Array, origin: Array, toward: Array) -> float:
    """The distance to the first of triangles `(n, 3, 3)` that a ray meets, by Möller and Trumbore; infinite if none."""
    first, second = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    across = np.cross(toward, second)
    volume = np.einsum("ni,ni->n", first, across)
    with np.errstate(divide="ignore", invalid="ignore"):
        away = origin - corners[:, 0]
        u = np.einsum("ni,ni->n", away, across) / volume
        turned = np.cross(away, first)
        v = turned @ toward / volume
        distance = np.einsum("ni,ni->n", second, turned) / volume
        is_hit = (u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & (distance > 0.0)
    return float(distance[is_hit].min(initial=np.inf))


# --- measuring -----------------------------------------------------------------------------------------


class Measurement:
    """The distance between two points that the user clicks; points on bodies move with them."""

    def __init__(self, server: ViserServer, clicked: Callable[[Array, Array], None]) -> None:
        self._server, self._clicked = server, clicked
        self.is_on = False
        self.points: list[RayHit] = []
        """Points of bodies are in the body's frame."""
        self._handles: list[Any] = []
        self._line: Any = None
        self._label: Any = None
        self._callback: Any = None

    def begin(self, render_scene: RenderScene, placement: ScenePlacement) -> None:
        """Measure in another scene."""
        self._render_scene, self._placement = render_scene, placement
        self.clear()

    def set_on(self, on: bool) -> None:
        """Measure with clicks from now on, or stop and remove the measurement."""
        if on == self.is_on:
            return
        self.is_on = on
        self.clear()
        scene: Any = self._server.scene
        if not on:
            scene.remove_click_callback(self._callback)
            return

        async def clicked(event: Any) -> None:
            self._clicked(np.array(event.ray_origin), np.array(event.ray_direction))

        self._callback = clicked
        scene.on_click()(clicked)

    def clear(self) -> None:
        for handle in (*self._handles, self._line, self._label):
            if handle is not None:
                handle.remove()
        self.points, self._handles, self._line, self._label = [], [], None, None

    def click(self, poses: PoseRows, origin: Array, direction: Array) -> None:
        """Add the point under a click, given as a ray on the page; a third point begins again."""
        hit = cast_ray(self._render_scene, poses, self._placement.in_world(origin), direction)
        if hit is None:
            return
        if len(self.points) == 2:
            self.clear()
        local = hit.point
        if hit.body >= 0:
            pose = poses[hit.body].astype(np.float64)
            local = (hit.point - pose[:3]) @ spatial.quaternion_matrix(pose[3:])
        self.points.append(RayHit(hit.body, local))
        self._handles.append(
            self._server.scene.add_icosphere(
                f"{_ROOT}/point_{len(self.points)}",
                radius=_MARK_SIZE * self._render_scene.size * self._placement.scale,
                color=lighting.bytes_of(lighting.SELECTED),
                cast_shadow=False,
            )
        )
        self.show(poses)

    def ends(self, poses: PoseRows) -> Array:
        """The points in the world, `(n, 3)`."""
        out = [one.point if one.body < 0 else _place(poses[one.body], one.point) for one in self.points]
        return np.array(out).reshape(-1, 3)

    def show(self, poses: PoseRows) -> None:
        """Move marks, line and number to the poses of a frame."""
        if not self.points:
            return
        ends = self.ends(poses)
        shown = self._placement.on_page(ends)
        for handle, at in zip(self._handles, shown, strict=True):
            handle.position = vector_from_array(at)
        if len(ends) < 2:
            return
        text, middle = f"{np.linalg.norm(ends[1] - ends[0]):.4g} m", vector_from_array(shown.mean(axis=0))
        if self._line is None:
            color = lighting.bytes_of(lighting.SELECTED)
            self._line = self._server.scene.add_line_segments(
                f"{_ROOT}/line",
                points=shown[None].astype(np.float32),
                colors=color,
                thickness=2.5,
                thickness_units="screen",
            )
            self._label = self._server.scene.add_label(
                f"{_ROOT}/distance", text, position=middle, anchor="bottom-center"
            )
        self._line.points = shown[None].astype(np.float32)
        self._label.text, self._label.position = text, middle

    def html(self, poses: PoseRows) -> str:
        """What was measured, for the panel."""
        if not self.is_on:
            return ""
        ends = self.ends(poses)
        if len(ends) < 2:
            inside = ("Click two points in the scene.", "Click the second point.")[len(ends)]
        else:
            x, y, z = (ends[1] - ends[0]).tolist()
            length = float(np.linalg.norm(ends[1] - ends[0]))
            inside = f"distance {length:.4g} m<br>Δx {x:.4g} m, Δy {y:.4g} m, Δz {z:.4g} m"
        return f"<div id='exoskel-measured' style='font-size:0.85em;padding:0 1em 0.4em'>{inside}</div>"


def _place(pose: Any, point: Array) -> Array:
    own = pose.astype(np.float64)
    placed: Array = spatial.quaternion_matrix(own[3:]) @ point + own[:3]
    return placed


# --- pulling -------------------------------------------------------------------------------------------


class PullTool:
    """Pulls bodies that the user drags, and writes the force at the pointer."""

    def __init__(self, server: ViserServer) -> None:
        self._server = server
        self._label: Any = None
        self._point: Array = np.zeros(3)

    def drag(self, player: Player, phase: str, body: int, point: Array, pointer: Array) -> None:
        """Pull a body at a point (world, m) towards the pointer; the point stays fixed in the body's frame."""
        if phase == "end":
            player.release()
            self._remove()
            return
        if not player.can_simulate:
            raise ExoskelError("bodies of a recorded motion cannot be pulled; this works only while simulating")
        if not player.is_playing:
            raise ExoskelError("bodies can be pulled only while the motion plays; press Play first")
        if phase == "start" or player.active_pull is None:
            pose = player.poses[body].astype(np.float64)
            self._point = (point - pose[:3]) @ spatial.quaternion_matrix(pose[3:])
        player.pull(body, self._point, pointer)

    def show(self, player: Player, placement: ScenePlacement) -> None:
        """Write the force of the current frame."""
        force = player.pull_force()
        if force is None or player.active_pull is None:
            self._remove()
            return
        strength, is_estimate = force
        text = f"{'about ' if is_estimate else ''}{force_text(strength)}"
        at = vector_from_array(placement.on_page(player.active_pull.target))
        if self._label is None:
            self._label = self._server.scene.add_label(f"{_ROOT}/pull", text, position=at, anchor="bottom-left")
        self._label.text, self._label.position = text, at

    def _remove(self) -> None:
        if self._label is not None:
            self._label.remove()
            self._label = None


# --- the last version ----------------------------------------------------------------------------------


class LastVersion:
    """The initial state of the scene before the file was saved, as a ghost."""

    def __init__(self, server: ViserServer) -> None:
        self._server = server
        self.render_scene: RenderScene | None = None
        self.browser_scene: BrowserScene | None = None
        self.is_visible = False

    def keep(self, render_scene: RenderScene) -> None:
        """Remember a scene that is replaced."""
        self.render_scene = render_scene

    def set_visible(self, on: bool, placement: ScenePlacement) -> None:
        self.is_visible = on
        self.place(placement)
        if on and self.render_scene is None:
            raise ExoskelError("the file has no earlier version yet; save it while the viewer runs")

    def place(self, placement: ScenePlacement) -> None:
        """Draw the ghost, if it is visible, where the scene is now on the page."""
        if self.browser_scene is not None:
            self.browser_scene.remove()
            self.browser_scene = None
        if self.is_visible and self.render_scene is not None:
            self.browser_scene = BrowserScene(
                self._server, self.render_scene, name="last", ghost=True, with_static=True, placement=placement
            )


def legend(text: str) -> str:
    """HTML of a line about contact forces; empty without a text."""
    style = "font-size:0.85em;padding:0 1em 0.4em"
    return f"<div id='exoskel-forces' style='{style}'>{html_text.safe(text)}</div>" if text else ""
