"""Cylinders and capsules whose ends have different radii, and colliders that are not read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exoskel
from exoskel import spatial
from exoskel.formats.usd.reader.tapered_solids import TaperedSolid
from exoskel.scene.inertia import solid
from exoskel.scene.shape import Capsule, Cone, Cylinder, MultiSphere, Shape, TriMesh
from exoskel.source.surface import Surfaces

pytest.importorskip("pxr", reason="usd-core is not installed")

COLLIDER = """#usda 1.0
(
    metersPerUnit = 1
    upAxis = "Z"
)

def Xform "body" (prepend apiSchemas = ["PhysicsRigidBodyAPI"])
{{
    def {kind} "shape" (prepend apiSchemas = ["PhysicsCollisionAPI"])
    {{
        {values}
    }}
}}
"""


def read(kind: str, values: str, folder: Path) -> exoskel.Scene:
    file = folder / "shape.usda"
    file.write_text(COLLIDER.format(kind=kind, values=values), encoding="utf-8")
    return exoskel.load(file)


def radii(bottom: float, top: float, height: float = 1.5, axis: str = "Z") -> str:
    lines = f"double radiusBottom = {bottom}", f"double radiusTop = {top}", f"double height = {height}"
    return "\n        ".join([*lines, f'uniform token axis = "{axis}"'])


@pytest.mark.parametrize(
    ("kind", "values", "geometry"),
    [
        ("Capsule_1", "", Capsule(0.5, 1.0)),
        ("Capsule_1", radii(0.25, 0.25), Capsule(0.25, 1.5)),
        ("Cylinder_1", "", Cylinder(1.0, 2.0)),
        ("Cylinder_1", radii(0.25, 0.25), Cylinder(0.25, 1.5)),
        ("Cylinder_1", radii(0.25, 0.0), Cone(0.25, 1.5)),
    ],
)
def test_equal_radii_are_plain_solids(kind: str, values: str, geometry: Any, tmp_path: Path) -> None:
    scene = read(kind, values, tmp_path)
    assert [shape.geometry for shape in next(scene.world.bodies()).collisions] == [geometry]
    assert not [d.key for d in scene.diagnostics if d.key.startswith(("US104", "US113"))]


@pytest.mark.parametrize("axis", "XYZ")
@pytest.mark.parametrize("kind", ["Capsule_1", "Cylinder_1"])
def test_solids_with_different_radii_have_the_extent_of_usd(kind: str, axis: str, tmp_path: Path) -> None:
    from pxr import Sdf, Usd, UsdGeom

    values = radii(0.5, 0.25, axis=axis)
    layer = Sdf.Layer.CreateAnonymous(".usda")
    layer.ImportFromString(COLLIDER.format(kind=kind, values=values))
    stage = Usd.Stage.Open(layer)
    prim = UsdGeom.Boundable(stage.GetPrimAtPath("/body/shape"))
    extent = np.array(UsdGeom.Boundable.ComputeExtentFromPlugins(prim, Usd.TimeCode.Default()))
    scene = read(kind, values, tmp_path)
    (shape,) = next(scene.world.bodies()).collisions
    assert isinstance(shape.geometry, MultiSphere if kind == "Capsule_1" else TriMesh)
    seen = Surfaces().of(shape.geometry)
    assert seen is not None
    points = seen.vertices @ shape.pose.matrix()[:3, :3].T
    ends = np.array([points.min(axis=0), points.max(axis=0)])
    if kind == "Cylinder_1":
        assert np.allclose(ends, extent, atol=1e-9)
        assert [d.key for d in scene.diagnostics if d.key == "US104.tapered"]
    else:  # usd-core gives both ends the larger radius
        along = "XYZ".index(axis)
        assert np.allclose(np.delete(ends, along, 1), np.delete(extent, along, 1), atol=0.01)
        assert np.allclose(ends[:, along], [-0.75 - 0.5, 0.75 + 0.25], atol=0.01)


@pytest.mark.parametrize("sizes", [(0.5, 0.25, 1.5), (0.0, 0.4, 0.7), (0.25, 0.5, 1.5), (0.5, 0.5, 1.0)])
@pytest.mark.parametrize("is_capsule", [False, True])
def test_mass_properties_are_those_of_a_fine_mesh(sizes: tuple[float, float, float], is_capsule: bool) -> None:
    bottom, top, height = sizes
    one = TaperedSolid(bottom, top, height, is_capsule)
    z = np.linspace(-height / 2 - bottom - 1e-9, height / 2 + top + 1e-9, 200_001)
    z = (z[:-1] + z[1:]) / 2
    slope = (bottom - top) / height
    across = np.sqrt(1 - slope**2)
    if is_capsule:  # the largest of many spheres between the two ends
        steps = np.linspace(0, 1, 301)
        squares = [(bottom + (top - bottom) * t) ** 2 - (z - height * (t - 0.5)) ** 2 for t in steps]
        squared = np.maximum(np.max(squares, axis=0), 0)
        assert across > 0
    else:
        inside = np.abs(z) <= height / 2
        squared = np.where(inside, (bottom + (top - bottom) * (z / height + 0.5)) ** 2, 0)
    step = z[1] - z[0]
    volume = np.pi * squared.sum() * step
    centre = np.pi * (squared * z).sum() * step / volume
    along = np.pi * (squared**2).sum() * step / 2 / volume
    side = along / 2 + np.pi * (squared * (z - centre) ** 2).sum() * step / volume
    found = one.mass_properties()
    assert (found.volume, found.centre[2]) == pytest.approx((volume, centre), rel=1e-4, abs=1e-6)
    assert found.moment == pytest.approx((side, side, along), rel=1e-4)


def test_capsules_in_capsules_are_spheres() -> None:
    one = TaperedSolid(0.2, 1.0, 0.5, is_capsule=True)
    assert one.mass_properties().volume == pytest.approx(4 / 3 * np.pi)
    assert one.mass_properties().centre == (0.0, 0.0, pytest.approx(0.25))


def test_a_body_has_the_mass_of_a_tapered_capsule(tmp_path: Path) -> None:
    scene = read("Capsule_1", radii(0.5, 0.25, axis="X"), tmp_path)
    body = next(scene.world.bodies())
    expected = TaperedSolid(0.5, 0.25, 1.5, is_capsule=True).mass_properties()
    assert body.mass == pytest.approx(1000 * expected.volume)
    assert body.com == pytest.approx((expected.centre[2], 0.0, 0.0))
    ends = [expected.moment[2], expected.moment[0], expected.moment[0]]
    assert np.allclose(np.diag(spatial.moment_matrix(body.moment)), body.mass * np.array(ends))


def test_facets_are_closed_and_face_outwards() -> None:
    for bottom, top in ((0.5, 0.25), (0.0, 0.25), (0.25, 0.5)):
        one = TaperedSolid(bottom, top, 1.0, is_capsule=False)
        assert isinstance(one.geometry, TriMesh)
        assert one.has_facets
        volume = np.linalg.det(one.geometry.vertices[one.geometry.triangles]).sum() / 6
        assert 0.99 * one.mass_properties().volume < volume < one.mass_properties().volume
        assert solid(one.geometry).volume == pytest.approx(volume)
        assert Shape(one.geometry).geometry == one.geometry


@pytest.mark.parametrize("kind", ["Xform", "Points", "TetMesh", "PointInstancer", ""])
def test_colliders_that_are_not_read_are_reported(kind: str, tmp_path: Path) -> None:
    scene = read(kind, "", tmp_path)
    (found,) = (d for d in scene.diagnostics if d.key == "US113.collider")
    assert "'shape'" in found.message
    assert kind in found.message


def test_prototypes_of_a_point_instancer_are_not_where_they_are(tmp_path: Path) -> None:
    inside = (
        'def Cube "box" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"])\n        {\n        }'
    )
    scene = read("PointInstancer", inside, tmp_path)
    assert [body.name for body in scene.world.bodies()] == ["body"]


def test_a_collider_around_others_is_not_reported(tmp_path: Path) -> None:
    scene = read(
        "Xform", 'def Cube "box" (prepend apiSchemas = ["PhysicsCollisionAPI"])\n        {\n        }', tmp_path
    )
    assert not [d.key for d in scene.diagnostics if d.key == "US113.collider"]
    assert len(next(scene.world.bodies()).collisions) == 1
