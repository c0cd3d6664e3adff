"""The points, edges and triangles of soft skins."""

from __future__ import annotations

import numpy as np
import pytest

import exoskel
from exoskel import Box, Cylinder, Ellipsoid, EngineWarning, Euler, Pose, SoftBody, Sphere, Tessellation, World
from exoskel.scene.body import SoftGeometry
from exoskel.scene.soft_skin import SoftSkin, soft_skin

SKINS: dict[str, tuple[SoftGeometry, Tessellation, float]] = {
    "box": (Box((0.2, 0.3, 0.4)), Tessellation(fragments=(3, 4, 5)), 0.2 * 0.3 * 0.4),
    "sphere": (Sphere(0.5), Tessellation(slices=40, stacks=40), 4 / 3 * np.pi * 0.5**3),
    "ellipsoid": (Ellipsoid((0.2, 0.3, 0.4)), Tessellation(slices=40, stacks=40), np.pi / 6 * 0.2 * 0.3 * 0.4),
    "cylinder": (Cylinder(0.2, 0.5), Tessellation(slices=60, stacks=4, rings=3), np.pi * 0.2**2 * 0.5),
}


def skin_of(kind: str) -> SoftSkin:
    geometry, tessellation, _ = SKINS[kind]
    return soft_skin(SoftBody(total_mass=1.0, geometry=geometry, tessellation=tessellation))


@pytest.mark.parametrize("kind", SKINS)
def test_a_skin_has_as_many_points_as_its_tessellation(kind: str) -> None:
    geometry, tessellation, _ = SKINS[kind]
    soft = SoftBody(total_mass=1.0, geometry=geometry, tessellation=tessellation)
    assert len(skin_of(kind)) == soft.point_count == len(np.unique(skin_of(kind).points.round(12), axis=0))


@pytest.mark.parametrize("kind", SKINS)
def test_the_triangles_are_a_closed_surface_seen_from_outside(kind: str) -> None:
    skin = skin_of(kind)
    corners = skin.points[skin.faces]
    volume = np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6
    assert volume == pytest.approx(SKINS[kind][2], rel=1e-2)
    directed = [tuple(pair) for i, j in ((0, 1), (1, 2), (2, 0)) for pair in skin.faces[:, [i, j]].tolist()]
    assert len(set(directed)) == len(directed)
    assert set(directed) == {(b, a) for a, b in directed}
    assert len(skin) - len(directed) / 2 + len(skin.faces) == 2


def test_the_points_of_a_sphere_are_in_the_order_of_dart() -> None:
    skin = soft_skin(SoftBody(total_mass=1.0, geometry=Sphere(0.5), tessellation=Tessellation(slices=4, stacks=4)))
    assert skin.points[0].tolist() == [0, 0, 0.5] and skin.points[-1].tolist() == [0, 0, -0.5]
    half = 0.5 * np.sqrt(0.5)
    assert skin.points[1] == pytest.approx([0, half, half])
    assert skin.points[2] == pytest.approx([-half, 0, half])


def test_the_edges_are_those_of_dart() -> None:
    assert len(skin_of("box").edges) == 0
    tessellation = Tessellation(slices=6, stacks=5)
    sphere = soft_skin(SoftBody(total_mass=1.0, geometry=Sphere(0.5), tessellation=tessellation))
    # two poles, three spans of meridians, four rings, and both diagonals of three rows of cells
    assert len(sphere.edges) == 2 * 6 + 3 * 6 + 4 * 6 + 2 * 3 * 6
    tessellation = Tessellation(slices=6, stacks=4, rings=3)
    can = soft_skin(SoftBody(total_mass=1.0, geometry=Cylinder(0.2, 0.5), tessellation=tessellation))
    # spokes, meridians of lid, drum and bottom, rings of the drum, and its diagonals
    assert len(can.edges) == (6 + 5) + (2 + 3 + 2) * 6 + 4 * 6 + 2 * 2 * 6


def test_only_a_box_has_a_pose() -> None:
    pose = Pose((1, 2, 3), Euler((0.1, 0.2, 0.3)))
    geometry, tessellation, _ = SKINS["box"]
    moved = soft_skin(SoftBody(total_mass=1.0, geometry=geometry, tessellation=tessellation, pose=pose))
    assert np.allclose(moved.points, pose.apply(skin_of("box").points))
    nothing = soft_skin(SoftBody(total_mass=1.0))
    assert len(nothing) == len(nothing.faces) == len(nothing.edges) == 0


@pytest.mark.parametrize(
    ("geometry", "tessellation"),
    [
        (Box((1, 1, 1)), Tessellation(fragments=(1, 3, 3))),
        (Sphere(0.5), Tessellation(slices=2, stacks=4)),
        (Sphere(0.5), Tessellation(slices=4, stacks=1)),
        (Cylinder(0.5, 1), Tessellation(slices=4, stacks=0, rings=1)),
        (Cylinder(0.5, 1), Tessellation(slices=4, stacks=1, rings=0)),
    ],
)
def test_a_skin_that_is_divided_too_coarsely_has_no_points_and_that_is_reported(
    geometry: SoftGeometry, tessellation: Tessellation
) -> None:
    soft = SoftBody(total_mass=1.0, geometry=geometry, tessellation=tessellation)
    assert len(soft_skin(soft)) == 0
    world = World()
    world.add_model("model").add_body("body").soft = soft
    with pytest.warns(EngineWarning, match="the soft skin of body 'body' is ignored"):
        motion = exoskel.run(world, 0.01)
    assert motion.soft_points["body"].shape[1:] == (0, 3)
