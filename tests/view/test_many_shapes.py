"""Pictures of very many shapes: fewer triangles for each, and a limit on all of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import exoskel
from exoskel.scene.pose import Pose
from exoskel.scene.shape import Box, Shape, Sphere
from exoskel.view import software_renderer
from exoskel.view.render_scene import RenderScene
from exoskel.view.software_renderer import TooManyTrianglesError


def world_of(count: int, geometry: Sphere | Box) -> exoskel.World:
    world = exoskel.World(name="w")
    body = world.add_model("m").add_body("b")
    for number in range(count):
        body.visuals.append(Shape(geometry=geometry, pose=Pose((float(number), 0.0, 0.0))))
    return world


def triangles_of(count: int) -> int:
    (batch,) = RenderScene(world_of(count, Sphere(0.5))).batches
    return len(batch.surface.triangles)


def test_many_spheres_have_fewer_triangles_each() -> None:
    assert triangles_of(1) == triangles_of(2000) > 4 * triangles_of(8001)
    assert triangles_of(2000) > triangles_of(2001) > triangles_of(8001)


def test_a_scene_with_too_many_triangles_is_refused_before_they_are_collected(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(software_renderer, "_MOST_TRIANGLES", 100)
    monkeypatch.setattr(software_renderer, "_placed", lambda *_: pytest.fail("collected"))
    with pytest.raises(TooManyTrianglesError, match="has 120 triangles; an image can have at most 100"):
        exoskel.render(world_of(10, Box((1.0, 1.0, 1.0))), tmp_path / "a.png", renderer="software", size=(64, 64))


def test_shapes_that_are_placed_in_several_parts_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = RenderScene(world_of(10, Box((1.0, 1.0, 1.0))))
    whole = software_renderer._collect_triangles(scene.batches, scene.initial, images={})
    monkeypatch.setattr(software_renderer, "_VERTICES_AT_ONCE", 60)
    parts = software_renderer._collect_triangles(scene.batches, scene.initial, images={})
    for name in ("vertices", "normals", "triangles", "colors"):
        assert np.array_equal(getattr(whole, name), getattr(parts, name))
