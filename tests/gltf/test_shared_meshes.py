"""Meshes that very many nodes of a small file use."""

from __future__ import annotations

import pytest

import exoskel
from exoskel.scene.shape import Shape, TriMesh
from exoskel.source.surface import Surfaces
from tests.hostile.mesh_bombs import BOMBS, _points, accessor, glb_mesh

POINTS = 60_000


def _load(nodes: list[dict[str, object]]) -> exoskel.Scene:
    return exoskel.load(glb_mesh([accessor(POINTS)], _points(POINTS), nodes=nodes), format="gltf")


@pytest.mark.parametrize("name", ["4000 primitives of one accessor"])
def test_copies_of_a_mesh_beyond_the_limit_are_refused(name: str) -> None:
    scene = exoskel.load(BOMBS[name][1](), format="gltf")
    assert "need more than 256 MB" in scene.diagnostics[0].message


@pytest.mark.parametrize("key", ["scale", "matrix"])
def test_scaled_copies_of_a_mesh_beyond_the_limit_are_refused(key: str) -> None:
    """Each scale has a copy of the vertices: 1,500 copies needed 4 GB."""

    def value(number: int) -> list[float]:
        shear = 0.001 * number
        return [1.0 + shear, 1, 1] if key == "scale" else [1, shear, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]

    scene = _load([{"mesh": 0, key: value(number)} for number in range(1500)])
    assert not scene.worlds
    assert [found.code for found in scene.diagnostics] == ["GL104"]
    assert "need more than 256 MB" in scene.diagnostics[0].message


def test_a_mesh_that_many_shapes_share_is_examined_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was hashed and checked for every shape: 10,000 shapes took minutes."""
    hashed: list[int] = []
    plain_hash = TriMesh.__hash__
    monkeypatch.setattr(TriMesh, "__hash__", lambda mesh: hashed.append(1) or plain_hash(mesh))
    scene = _load([{"mesh": 0, "translation": [number, 0, 0]} for number in range(200)])
    shapes: list[Shape] = [shape for body in scene.world.bodies() for shape in body.visuals]
    assert len({id(shape.geometry) for shape in shapes}) == 1
    surfaces = Surfaces()
    assert len({id(surfaces.of(shape.geometry)) for shape in shapes}) == 1
    assert len(hashed) < 10
