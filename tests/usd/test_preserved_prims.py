"""What a scene does not contain is written from USD to USD again, also if the scene was edited."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exoskel
from exoskel.conversion.report import Report
from exoskel.fates import Fate
from exoskel.source.usdz_archive import unpack
from tests.support.edits import edited
from tests.support.textured_meshes import png

pytest.importorskip("pxr")
ROBOT = """#usda 1.0
(
    customLayerData = { string note = "kept" }
    defaultPrim = "World"
    endTimeCode = 10
    metersPerUnit = 1
    startTimeCode = 0
    timeCodesPerSecond = 24
    upAxis = "Z"
)
def Xform "World" (customData = { string owner = "me" })
{
    custom int level = 3
    def PhysicsScene "Physics" (prepend apiSchemas = ["PhysxSceneAPI"])
    {
        vector3f physics:gravityDirection = (0, 0, -1)
        float physics:gravityMagnitude = 9.81
        bool physxScene:enableGPUDynamics = 1
        token physxScene:solverType = "TGS"
        custom rel extra = </World/robot/base>
    }
    def DomeLight "Sky" (prepend apiSchemas = ["CustomLightAPI"])
    {
        float inputs:intensity = 1000
        asset inputs:texture:file = @./textures/sky.png@
        quatf xformOp:orient = (0, 1, 0, 0)
        uniform token[] xformOpOrder = ["xformOp:orient"]
    }
    def Scope "Graphs"
    {
        def OmniGraph "Drive"
        {
            def OmniGraphNode "Tick"
            {
                token node:type = "omni.graph.action.OnTick"
                custom double outputs:time = 1
            }
            def OmniGraphNode "Apply"
            {
                token node:type = "isaac.ArticulationController"
                custom double inputs:time.connect = </World/Graphs/Drive/Tick.outputs:time>
                custom rel inputs:target = </World/robot/base>
                custom rel inputs:gone = </World/Nothing>
            }
        }
    }
    def Xform "robot" (prepend apiSchemas = ["PhysicsArticulationRootAPI", "PhysxArticulationAPI", "IsaacRobotAPI"])
    {
        int physxArticulation:solverPositionIterationCount = 32
        string isaac:namespace = "arm"
        def Xform "base" (
            prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI", "PhysxRigidBodyAPI", "IsaacLinkAPI"]
            customData = { string vendor = "acme" }
            assetInfo = { string name = "base" }
        )
        {
            float physics:mass = 2
            float3 physics:diagonalInertia = (1, 1, 1)
            float physxRigidBody:angularDamping = 0.05
            float physxRigidBody:angularDamping.timeSamples = { 0: 0.05, 10: 0.5 }
            float physxRigidBody:maxLinearVelocity = 40
            double newton:custom = 7
            double3 xformOp:translate = (0, 0, 1)
            uniform token[] xformOpOrder = ["xformOp:translate"]
            def Cube "shape" (prepend apiSchemas = ["PhysicsCollisionAPI", "PhysxCollisionAPI"])
            {
                double size = 0.2
                float physxCollision:contactOffset = 0.02
                int mjc:group = 3
                double3 xformOp:translate = (0.1, 0, 0)
                uniform token[] xformOpOrder = ["xformOp:translate"]
            }
            def Sphere "tcp" (prepend apiSchemas = ["MjcSiteAPI"])
            {
                double radius = 0.01
                uniform int mjc:group = 4
                double3 xformOp:translate = (0, 0, 0.3)
                uniform token[] xformOpOrder = ["xformOp:translate"]
            }
            def Xform "mount" (kind = "component")
            {
                double3 xformOp:translate = (0, 0.5, 0)
                uniform token[] xformOpOrder = ["xformOp:translate"]
                def IsaacImuSensor "imu"
                {
                    bool enabled = 1
                    double3 xformOp:translate = (0, 0, 0.25)
                    uniform token[] xformOpOrder = ["xformOp:translate"]
                }
            }
            def Cube "hidden"
            {
                double size = 9
                token visibility = "invisible"
            }
        }
        def Xform "arm" (prepend apiSchemas = ["PhysicsRigidBodyAPI"])
        {
            float physics:mass = 1
            float3 physics:diagonalInertia = (1, 1, 1)
            double3 xformOp:translate = (1, 0, 1)
            uniform token[] xformOpOrder = ["xformOp:translate"]
        }
        def PhysicsRevoluteJoint "hinge" (prepend apiSchemas = ["PhysxJointAPI"])
        {
            rel physics:body0 = </World/robot/base>
            rel physics:body1 = </World/robot/arm>
            uniform token physics:axis = "Z"
            point3f physics:localPos0 = (1, 0, 0)
            quatf physics:localRot0 = (1, 0, 0, 0)
            point3f physics:localPos1 = (0, 0, 0)
            quatf physics:localRot1 = (1, 0, 0, 0)
            float physics:breakForce = 100
            float physxJoint:armature = 0.1
            bool physxJoint:enableProjection = 1
        }
        def PhysicsDistanceJoint "rope"
        {
            rel physics:body0 = </World/robot/base>
            rel physics:body1 = </World/robot/arm>
            float physics:maxDistance = 2
        }
    }
    def MjcActuator "motor"
    {
        rel mjc:target = </World/robot/hinge>
        uniform double[] mjc:gainPrm = [10, 0, 0]
    }
    def Camera "eye"
    {
        float focalLength = 24
        float fStop = 2.8
        float verticalAperture = 15
    }
}
"""
KEPT = {
    "/World/@level": 3,
    "/World/Physics/@physxScene:enableGPUDynamics": True,
    "/World/Physics/@physxScene:solverType": "TGS",
    "/World/Sky/@inputs:intensity": 1000,
    "/World/Graphs/Drive/Tick/@node:type": "omni.graph.action.OnTick",
    "/World/robot/@physxArticulation:solverPositionIterationCount": 32,
    "/World/robot/@isaac:namespace": "arm",
    "/World/robot/base/@physxRigidBody:angularDamping": 0.05,
    "/World/robot/base/@physxRigidBody:maxLinearVelocity": 40,
    "/World/robot/base/@newton:custom": 7,
    "/World/robot/base/shape/@physxCollision:contactOffset": 0.02,
    "/World/robot/base/shape/@mjc:group": 3,
    "/World/robot/base/tcp/@mjc:group": 4,
    "/World/robot/base/mount/imu/@enabled": True,
    "/World/robot/base/hidden/@size": 9,
    "/World/robot/hinge/@physics:breakForce": 100,
    "/World/robot/hinge/@physxJoint:enableProjection": True,
    "/World/robot/rope/@physics:maxDistance": 2,
    "/World/eye/@fStop": 2.8,
}
"""Properties that no scene contains, and their values."""


@pytest.fixture
def robot(tmp_path: Path) -> Path:
    folder = tmp_path / "robot"
    (folder / "textures").mkdir(parents=True)
    (folder / "robot.usda").write_text(ROBOT)
    (folder / "textures" / "sky.png").write_bytes(png())
    return folder / "robot.usda"


def stage_of(path: Path) -> Any:
    from pxr import Usd

    stage = Usd.Stage.Open(str(path))
    assert stage.GetCompositionErrors() == []
    return stage


def named(stage: Any, name: str) -> Any:
    (found,) = (prim for prim in stage.TraverseAll() if prim.GetName() == name)
    return found


def fates(report: Report) -> dict[str, Fate]:
    return {one.path: one.fate for one in report.items}


@pytest.mark.parametrize("form", ["usda", "usdc", "usdz"])
def test_an_edited_scene_keeps_what_it_does_not_contain(form: str, robot: Path, tmp_path: Path) -> None:
    report = exoskel.convert(edited(robot), tmp_path / f"new.{form}")
    assert report.certificate.passed
    stage, found = stage_of(tmp_path / f"new.{form}"), fates(report)
    for path, value in KEPT.items():
        prim, _, name = path.rpartition("/@")
        own = prim.rpartition("/")[2]
        written = named(stage, "PhysicsScene" if own == "Physics" else own if own != "World" else "World__edited_")
        assert written.GetAttribute(name).Get() == pytest.approx(value) if isinstance(value, float) else value, path
        assert written.GetAttribute(name).HasAuthoredValue(), path
        assert found[path] is Fate.KEPT, path
    for prim in ("Sky", "Graphs/Drive", "Graphs/Drive/Tick", "robot/base/mount/imu", "robot/rope"):
        assert found[f"/World/{prim}"] is Fate.KEPT
    assert found["/World/motor"] is Fate.EXACT
    assert found["/@customLayerData"] is Fate.KEPT and stage.GetTimeCodesPerSecond() == 24


def test_schemas_and_custom_data_are_kept(robot: Path, tmp_path: Path) -> None:
    exoskel.convert(edited(robot), tmp_path / "new.usda")
    stage = stage_of(tmp_path / "new.usda")
    base = named(stage, "base")
    listed = base.GetMetadata("apiSchemas").GetAddedOrExplicitItems()
    assert {"IsaacLinkAPI", "PhysxRigidBodyAPI", "PhysicsRigidBodyAPI"} <= {*listed} and len({*listed}) == len(listed)
    assert base.GetCustomDataByKey("vendor") == "acme" and base.GetAssetInfo() == {"name": "base"}
    assert base.GetAttribute("physxRigidBody:angularDamping").GetTimeSamples() == [0, 10]
    assert stage.GetRootLayer().customLayerData["note"] == "kept"
    assert "CustomLightAPI" in named(stage, "Sky").GetMetadata("apiSchemas").GetAddedOrExplicitItems()


def test_targets_and_connections_lead_to_the_new_prims(robot: Path, tmp_path: Path) -> None:
    report = exoskel.convert(edited(robot), tmp_path / "new.usda")
    stage, found = stage_of(tmp_path / "new.usda"), fates(report)
    base, hinge, apply = (named(stage, name) for name in ("base", "hinge", "Apply"))
    assert apply.GetRelationship("inputs:target").GetTargets() == [base.GetPath()]
    assert named(stage, "motor").GetRelationship("mjc:target").GetTargets() == [hinge.GetPath()]
    assert named(stage, "rope").GetRelationship("physics:body1").GetTargets() == [named(stage, "arm").GetPath()]
    (source,) = apply.GetAttribute("inputs:time").GetConnections()
    assert stage.GetObjectAtPath(source).Get() == 1
    assert not apply.GetRelationship("inputs:gone")
    assert found["/World/Graphs/Drive/Apply/@inputs:gone"] is Fate.DROPPED
    assert found["/World/Graphs/Drive/Apply/@inputs:target"] is Fate.KEPT


def test_prims_stay_where_they_are(robot: Path, tmp_path: Path) -> None:
    from pxr import UsdGeom

    exoskel.convert(edited(robot), tmp_path / "new.usda")
    for name in ("Sky", "mount", "hidden"):
        places = (
            UsdGeom.XformCache().GetLocalToWorldTransform(named(stage_of(one), name))
            for one in (robot, tmp_path / "new.usda")
        )
        one, other = map(np.array, places)
        assert one == pytest.approx(other)


@pytest.mark.parametrize("meshes", ["reference", "copy", "absolute"])
def test_files_are_found_from_the_new_document(meshes: Any, robot: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    exoskel.convert(edited(robot), tmp_path / "out" / "new.usda", meshes=meshes)
    stage = stage_of(tmp_path / "out" / "new.usda")
    image = named(stage, "Sky").GetAttribute("inputs:texture:file").Get()
    assert Path(image.resolvedPath).read_bytes() == png()
    exoskel.convert(edited(robot), tmp_path / "out" / "new.usdz", meshes=meshes)
    assert unpack((tmp_path / "out" / "new.usdz").read_bytes())["textures/sky.png"] == png()


def test_what_belongs_to_a_removed_body_is_reported(robot: Path, tmp_path: Path) -> None:
    scene = exoskel.load(robot)
    model = scene.world.models[0]
    model.joints[:] = [joint for joint in model.joints if joint.child.name != "arm"]
    model.bodies[:] = [body for body in model.bodies if body.name != "arm"]
    report = exoskel.convert(scene, tmp_path / "new.usda")
    found = fates(report)
    assert found["/World/robot/rope/@physics:body1"] is Fate.DROPPED
    assert found["/World/motor/@mjc:target"] is Fate.DROPPED
    assert found["/World/robot/base/mount/imu"] is Fate.KEPT


def test_a_second_edit_keeps_the_same(robot: Path, tmp_path: Path) -> None:
    exoskel.convert(edited(robot), tmp_path / "one.usda")
    exoskel.convert(edited(tmp_path / "one.usda"), tmp_path / "two.usda")
    one, two = (stage_of(tmp_path / f"{name}.usda") for name in ("one", "two"))
    names = [sorted(prim.GetName() for prim in stage.TraverseAll()) for stage in (one, two)]
    assert [name for name in names[0] if "edited" not in name] == [name for name in names[1] if "edited" not in name]
    assert named(two, "base").GetAttribute("newton:custom").Get() == 7
    scenes = [exoskel.load(tmp_path / f"{name}.usda") for name in ("one", "two")]
    assert len({len(body.shapes) for scene in scenes for body in scene.world.bodies() if body.name == "base"}) == 1


def test_numbers_in_other_units_are_not_kept(tmp_path: Path) -> None:
    layer = """#usda 1.0
(metersPerUnit = 0.01)
def Xform "base" (prepend apiSchemas = ["PhysicsRigidBodyAPI"])
{
    float physxRigidBody:maxLinearVelocity = 40
    bool physxRigidBody:retainAccelerations = 1
    def BasisCurves "line"
    {
        point3f[] points = [(100, 0, 0)]
    }
}
"""
    (tmp_path / "a.usda").write_text(layer)
    report = exoskel.convert(edited(tmp_path / "a.usda"), tmp_path / "b.usda")
    found, stage = fates(report), stage_of(tmp_path / "b.usda")
    assert found["/base/@physxRigidBody:maxLinearVelocity"] is Fate.DROPPED
    assert found["/base/@physxRigidBody:retainAccelerations"] is Fate.KEPT
    from pxr import UsdGeom

    line = named(stage, "line")
    place = UsdGeom.XformCache().GetLocalToWorldTransform(line)
    assert list(place.Transform(line.GetAttribute("points").Get()[0])) == pytest.approx([1, 0, 0])
