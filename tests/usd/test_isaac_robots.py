"""Robots as Isaac Sim writes them: assets in other units, payloads in variants, instances, robots placed in a scene."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import exoskel
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.shape import TriMesh

pytest.importorskip("pxr", reason="usd-core is not installed")

MESHES = """#usda 1.0
(
    defaultPrim = "meshes"
)

def Xform "meshes"
{
    def Mesh "plate" (prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMeshCollisionAPI"])
    {
        uniform token physics:approximation = "convexHull"
        int[] faceVertexCounts = [4]
        int[] faceVertexIndices = [0, 1, 2, 3]
        point3f[] points = [(-5, -5, 0), (5, -5, 0), (5, 5, 0), (-5, 5, 0)]
    }
}
"""
ROBOT = """#usda 1.0
(
    defaultPrim = "robot"
    metersPerUnit = 0.01
    upAxis = "Z"
)

def Xform "robot" (prepend apiSchemas = ["PhysicsArticulationRootAPI"])
{
    def Xform "base" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
    {
        float physics:mass = 4

        def Xform "collisions" (instanceable = true
            prepend references = @meshes.usda@)
        {
        }
    }

    def Xform "link" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
    {
        double3 xformOp:translate = (0, 0, 40)
        uniform token[] xformOpOrder = ["xformOp:translate"]
        float physics:mass = 1

        def Xform "collisions" (instanceable = true
            prepend references = @meshes.usda@)
        {
        }

        def PhysicsRevoluteJoint "elbow" (prepend apiSchemas = ["PhysicsDriveAPI:angular"])
        {
            uniform token physics:axis = "X"
            rel physics:body0 = </robot/base>
            rel physics:body1 = </robot/link>
            point3f physics:localPos0 = (0, 0, 40)
            float physics:lowerLimit = -90
            float physics:upperLimit = 90
            float drive:angular:physics:stiffness = 1000
        }
    }

    def PhysicsFixedJoint "root_joint"
    {
        rel physics:body1 = </robot/base>
    }
}
"""
VARIANTS = """#usda 1.0
(
    defaultPrim = "robot"
    metersPerUnit = 0.01
    upAxis = "Z"
)

def Xform "robot" (
    variants = {
        string Physics = "physx"
    }
    prepend variantSets = "Physics"
)
{
    variantSet "Physics" = {
        "none" {
        }
        "physx" (
            prepend payload = @robot.usda@
        ) {
        }
    }
}
"""
SCENE = """#usda 1.0
(
    defaultPrim = "World"
    metersPerUnit = 1
    upAxis = "Y"
)

def Xform "World"
{
    def PhysicsScene "scene"
    {
    }
"""
PLACED = """
    def Xform "env_{number}"
    {{
        def Xform "robot" (prepend references = @variants.usda@)
        {{
            double3 xformOp:translate = ({x}, 0, 0)
            float3 xformOp:rotateXYZ = (-90, 0, 0)
            float3 xformOp:scale = (0.01, 0.01, 0.01)
            uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:rotateXYZ", "xformOp:scale"]
        }}
    }}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    robots = "".join(PLACED.format(number=number, x=2 * number) for number in range(2))
    files = {"meshes": MESHES, "robot": ROBOT, "variants": VARIANTS, "scene": f"{SCENE}{robots}}}\n"}
    for name, text in files.items():
        (tmp_path / f"{name}.usda").write_text(text, encoding="utf-8")
    return tmp_path


def test_a_robot_in_centimetres_with_payloads_and_instances(folder: Path) -> None:
    world = exoskel.load(folder / "variants.usda").world
    (model,) = world.models
    base, link = model.bodies
    assert (model.name, model.joints[0].kind) == ("robot", "weld")
    assert [type(shape.geometry) for shape in (*base.collisions, *link.collisions)] == [TriMesh, TriMesh]
    assert link.collisions[0].geometry.bounds() == ((-0.05, -0.05, 0.0), (0.05, 0.05, 0.0))
    assert np.allclose(Kinematics(world.models).poses()[1, :3, 3], (0, 0, 0.4))
    dof = model.joints[1].dofs[0]
    assert np.degrees(dof.position_limits) == pytest.approx((-90, 90))
    assert dof.stiffness == pytest.approx(np.degrees(1000) * 1e-4)


def test_robots_that_are_fixed_to_the_world_stay_where_they_are_placed(folder: Path) -> None:
    scene = exoskel.load(folder / "scene.usda")
    world = scene.world
    assert [model.name for model in world.models] == ["robot", "robot(1)"]
    poses = Kinematics(world.models).poses()
    assert np.allclose(poses[:, :3, 3], [(0, 0, 0), (0, 0.4, 0), (2, 0, 0), (2, 0.4, 0)], atol=1e-6)
    assert np.allclose(poses[:, :3, 2], (0, 1, 0), atol=1e-6)
    found = [one.key for one in scene.diagnostics if one.key.startswith("US106")]
    assert found == ["US106.welded", "US106.welded"]


def test_joints_to_the_world_that_fit_are_not_reported(folder: Path) -> None:
    assert not [one for one in exoskel.load(folder / "robot.usda").diagnostics if one.key.startswith("US106")]
