"""Reading back for the certificate covers everything that is written."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exoskel
from exoskel import Scene, World
from exoskel.conversion.pipeline import certify
from exoskel.conversion.report import Certificate, Check
from exoskel.conversion.shape_checks import COLORS, MESHES, SHAPES
from exoskel.formats import registry
from exoskel.formats.usd import compose
from exoskel.formats.usd.compose import read_back
from exoskel.formats.usd.tree import TEXT, Layer, Prim, to_bytes
from exoskel.formats.usd.write import write as write_layer
from exoskel.formats.write import write
from exoskel.scene.inertia import UNIT_MOMENT
from exoskel.scene.joint import Interval
from exoskel.scene.pose import AxisAngle, Pose
from exoskel.scene.shape import (
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    Geometry,
    Plane,
    Pyramid,
    Shape,
    Sphere,
    TriMesh,
)
from exoskel.source.output_context import OutputContext
from tests.usd.support import written
from tests.usd.test_write import world_of

pytest.importorskip("pxr", reason="usd-core is not installed")

ROBOT = """<robot name="r">
  <link name="base"><inertial><mass value="1"/>{inertia}</inertial></link>
  <link name="arm"><inertial><mass value="2"/>{inertia}</inertial></link>
  <joint name="j" type="{type}"><parent link="base"/><child link="arm"/><axis xyz="1 1 0"/>
    <limit lower="-1" upper="2" effort="{effort}" velocity="{velocity}"/></joint>
</robot>"""
INERTIA = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'


def gymnasium_models() -> list[Path]:
    spec = find_spec("gymnasium")
    if spec is None or spec.origin is None:
        return []
    return sorted((Path(spec.origin).parent / "envs" / "mujoco" / "assets").glob("*.xml"))


@pytest.mark.parametrize("ending", ["usda", "usdc"])
@pytest.mark.parametrize("type", ["revolute", "prismatic"])
@pytest.mark.parametrize("velocity", ["4", "1e30"])
@pytest.mark.parametrize("effort", ["30", "1e30"])
def test_velocity_and_force_limits_are_certified(
    tmp_path: Path, type: str, effort: str, velocity: str, ending: str
) -> None:
    file = tmp_path / "r.urdf"
    file.write_text(ROBOT.format(inertia=INERTIA, type=type, effort=effort, velocity=velocity), encoding="utf-8")
    report = exoskel.convert(file, tmp_path / f"r.{ending}")
    assert report.certificate.passed, report.certificate
    assert report.saved


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "ball", "universal", "euler", "translational", "planar"])
def test_limits_are_read_back(kind: Any) -> None:
    world = world_of(kind)
    for dof in world.models[0].joints[1].dofs:
        dof.velocity_limits = (-3.0, 3.0)
        if kind in ("revolute", "prismatic"):
            dof.force_limits = (-4.0, 5.0)
    layer, output = written(Scene([world]))
    others = [loss for loss in output.losses if loss.code != "US201"]  # which is about the order of rotations
    assert not [loss for loss in others if any("limit" in field for field in loss.fields)]
    joint = read_back(to_bytes(layer, TEXT)).world.models[0].joints[1]
    force: Interval = (-4.0, 5.0) if kind in ("revolute", "prismatic") else (-inf, inf)
    assert [dof.velocity_limits for dof in joint.dofs] == [pytest.approx((-3.0, 3.0))] * len(joint.dofs)
    assert [dof.force_limits for dof in joint.dofs] == [force] * len(joint.dofs)


# --- shapes -------------------------------------------------------------------------------------------

PLACED = Pose((0.1, -0.2, 0.3), AxisAngle((1.0, 2.0, 3.0), 0.7))
CORNERS = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0]])
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
GEOMETRIES: tuple[Geometry, ...] = (
    Box((0.1, 0.2, 0.3)),
    Sphere(0.2),
    Ellipsoid((0.1, 0.2, 0.3)),
    Cylinder(0.1, 0.4),
    Capsule(0.1, 0.4),
    Cone(0.1, 0.4),
    Cone(0.1, 0.4, centred=False),
    Pyramid(0.1, 0.2, 0.3),
    Plane((0.6, 0.0, 0.8), 0.25),
    TriMesh(CORNERS, FACES),
)
HULL = GEOMETRIES[2]
"""Geometries that collide as a convex hull, which is reported as approximate."""
COLOR = (0.1, 0.2, 0.3, 0.4)


def seen_and_solid(geometry: Geometry) -> World:
    world = World("w")
    body = world.add_model("m").add_body("b", moment=UNIT_MOMENT, pose=PLACED)
    body.visuals.append(Shape(geometry=geometry, pose=PLACED, color=COLOR))
    body.collisions.append(Shape(geometry=geometry, pose=PLACED))
    return world


def shapes_row(world: World) -> Check:
    scene = Scene([world])
    found = certify(scene, write(scene, "usd"), registry.by_name("usd"))
    rows = [check for check in found.checks if check.name in (SHAPES, MESHES, COLORS)]
    return next((check for check in rows if not check.passed), rows[0])


def plant(monkeypatch: pytest.MonkeyPatch, *names: str, fault: Callable[[Prim], object]) -> None:
    """Change the prims with these names."""

    def faulty(scene: Scene, output: OutputContext) -> Layer:
        layer = write_layer(scene, output)
        found = [one for one in layer.iter() if one.name in names or not names]
        assert found
        for one in found:
            fault(one)
        return layer

    monkeypatch.setattr(compose, "write", faulty)


def scale(word: str, by: float) -> Callable[[Prim], None]:
    """A number, tuple or list of points, multiplied by a factor."""

    def fault(one: Prim) -> None:
        (name,) = [name for name in one.properties if name.endswith(f" {word}")]
        value = one.properties[name]
        one.properties[name] = tuple(by * v for v in value) if isinstance(value, tuple) else by * value

    return fault


@pytest.mark.parametrize("ending", [".usda", ".usdc"])
@pytest.mark.parametrize("geometry", GEOMETRIES, ids=lambda geometry: geometry.__struct_config__.tag)
def test_shapes_are_read_back(geometry: Geometry, ending: str) -> None:
    world = seen_and_solid(geometry)
    layer, _ = written(Scene([world]))
    body = read_back(to_bytes(layer, ending)).world.models[0].bodies[0]
    assert len(body.visuals) == len(body.collisions) == 1
    assert body.visuals[0].color == pytest.approx(COLOR)
    assert shapes_row(world).passed


SIZES: dict[str, Geometry] = {
    "xformOp:scale": GEOMETRIES[0],
    "radius": GEOMETRIES[1],
    "height": GEOMETRIES[4],
    "points": GEOMETRIES[9],
}


@pytest.mark.parametrize("name", ["visual_1", "collision_1"])
@pytest.mark.parametrize("word", SIZES)
def test_a_shape_with_a_wrong_size_fails(word: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, name, fault=scale(word, 1.001))
    assert not shapes_row(seen_and_solid(SIZES[word])).passed


@pytest.mark.parametrize(
    ("name", "geometry"),
    [(name, one) for name in ("visual_1", "collision_1") for one in GEOMETRIES if (name, one) != ("collision_1", HULL)],
)
def test_a_shape_at_a_wrong_position_fails(name: str, geometry: Geometry, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, name, fault=scale("xformOp:translate", 1.01))
    assert not shapes_row(seen_and_solid(geometry)).passed


@pytest.mark.parametrize("name", ["visual_1", "collision_1"])
def test_a_shape_with_a_wrong_rotation_fails(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, name, fault=lambda one: one.properties.update({"quatd xformOp:orient": (1.0, 0.0, 0.0, 0.0)}))
    assert not shapes_row(seen_and_solid(GEOMETRIES[0])).passed


@pytest.mark.parametrize("name", ["visual_1", "collision_1"])
@pytest.mark.parametrize("geometry", [GEOMETRIES[0], GEOMETRIES[9]], ids=["box", "trimesh"])
def test_a_missing_shape_fails(name: str, geometry: Geometry, monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(one: Prim) -> None:
        one.children = [child for child in one.children if child.name != name]

    plant(monkeypatch, "b", fault=fault)
    assert not shapes_row(seen_and_solid(geometry)).passed


@pytest.mark.parametrize(
    ("name", "word", "value"),
    [
        ("visual_1", "color3f[] primvars:displayColor", [(0.1, 0.2, 0.4)]),
        ("visual_1", "float[] primvars:displayOpacity", [1.0]),
        ("shader", "color3f inputs:diffuseColor", (0.1, 0.2, 0.4)),
        ("shader", "float inputs:opacity", 1.0),
    ],
)
def test_a_wrong_colour_fails(name: str, word: str, value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(one: Prim) -> None:
        assert one.properties[word] != value
        one.properties[word] = value

    plant(monkeypatch, name, fault=fault)
    assert not shapes_row(seen_and_solid(GEOMETRIES[0])).passed


def test_shared_meshes_are_read_back(monkeypatch: pytest.MonkeyPatch) -> None:
    world = seen_and_solid(GEOMETRIES[9])
    world.add(seen_and_solid(GEOMETRIES[9]).models[0], name="other")
    assert shapes_row(world).passed
    plant(monkeypatch, "mesh", fault=scale("points", 1.001))
    assert not shapes_row(world).passed


@pytest.mark.skipif(not gymnasium_models(), reason="gymnasium is not installed")
def test_gymnasium_robots_are_certified(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    for file in gymnasium_models():
        report = exoskel.convert(file, tmp_path / f"{file.stem}.usda")
        assert report.saved, (file.name, [check for check in report.certificate.checks if not check.passed])


def long_chain(arm: float, links: int) -> World:
    """Links with frames up to `arm` m apart along each axis, with shapes and velocities."""
    rng = np.random.default_rng(7)

    def vector(size: float) -> tuple[float, float, float]:
        x, y, z = rng.uniform(-size, size, 3).round(3).tolist()
        return (x, y, z)

    def pose() -> Pose:
        return Pose(vector(arm), AxisAngle(vector(1.0), float(rng.uniform(0.2, 3.0))))

    world = World("w")
    model = world.add_model("chain")
    parent = None
    for number in range(links):
        shapes = [Shape(geometry=one, pose=pose()) for one in (Box((1.0, 2.0, 3.0)), Plane((0.6, 0.0, 0.8), 0.5))]
        parent = model.add_body(
            f"b{number}", moment=UNIT_MOMENT, pose=pose(), shapes=shapes, parent=parent, joint="weld"
        )
        joint = model.joints[-1]
        joint.kind, joint.pose, joint.axes, joint.velocities = "revolute", pose(), (vector(1.0),), (1.5,)
    return world


def certify_chain(arm: float, links: int) -> Certificate:
    scene = Scene([long_chain(arm, links)])
    return certify(scene, write(scene, "usd"), registry.by_name("usd"))


@pytest.mark.parametrize(("arm", "links"), [(50.0, 5), (50.0, 60), (0.5, 150)])
def test_errors_of_single_precision_are_measured_by_the_length_of_the_chain(arm: float, links: int) -> None:
    found = certify_chain(arm, links)
    assert found.passed and max(check.max_error for check in found.checks) < 3e-7


@pytest.mark.parametrize("word", ["xformOp:translate", "physics:localPos0"])
def test_a_wrong_frame_in_a_long_chain_fails(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(one: Prim) -> None:
        for name in one.properties:
            if name.endswith(f" {word}"):
                x, y, z = one.properties[name]
                one.properties[name] = (x + 0.001, y, z)

    plant(monkeypatch, fault=fault)
    assert not certify_chain(50.0, 8).passed
