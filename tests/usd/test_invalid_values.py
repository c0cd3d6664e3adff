"""One invalid value costs what it belongs to, and not the rest of the file."""

from __future__ import annotations

import re

import pytest

import exoskel
from exoskel.formats.usd import read
from exoskel.formats.usd.reader import stage

pytest.importorskip("pxr")

STAGE = """#usda 1.0
(
    defaultPrim = "W"
    metersPerUnit = 1
    kilogramsPerUnit = 1
    upAxis = "Z"
)
def Xform "W"
{
    def PhysicsScene "scene"
    {
        vector3f physics:gravityDirection = (0, 0, -1)
        float physics:gravityMagnitude = 9.81
        int newton:timeStepsPerSecond = 500
        double mjc:option:timestep = 0.002
    }
    def Material "m" ( prepend apiSchemas = ["PhysicsMaterialAPI"] )
    {
        float physics:staticFriction = 0.5
        float physics:dynamicFriction = 0.5
        float physics:restitution = 0.1
        float physics:density = 500
        token outputs:surface.connect = </W/m/s.outputs:surface>
        def Shader "s"
        {
            uniform token info:id = "UsdPreviewSurface"
            color3f inputs:diffuseColor = (0.5, 0.5, 0.5)
            float inputs:opacity = 1
            float inputs:roughness = 0.5
            float inputs:metallic = 0.5
            token outputs:surface
        }
    }
    def Camera "camera"
    {
        float focalLength = 20
        float horizontalAperture = 20
        float verticalAperture = 15
        float2 clippingRange = (1, 100)
    }
    def SphereLight "lamp"
    {
        float inputs:intensity = 10
        float inputs:exposure = 1
        float inputs:radius = 0.1
        float inputs:diffuse = 1
        float inputs:specular = 1
        color3f inputs:color = (1, 1, 1)
        float inputs:shaping:cone:angle = 40
        float inputs:shaping:focus = 1
    }
    def Xform "a" ( prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"] )
    {
        double3 xformOp:translate = (1, 2, 3)
        quatd xformOp:orient = (1, 0, 0, 0)
        double3 xformOp:scale = (1, 1, 1)
        uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:orient", "xformOp:scale"]
        vector3f physics:velocity = (1, 0, 0)
        vector3f physics:angularVelocity = (1, 0, 0)
        float physics:mass = 2
        float physics:density = 3
        point3f physics:centerOfMass = (0.1, 0, 0)
        float3 physics:diagonalInertia = (1, 1, 1)
        quatf physics:principalAxes = (1, 0, 0, 0)
        double mjc:body:gravcomp = 0
        def Cube "cube" ( prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMassAPI", "MaterialBindingAPI"] )
        {
            double size = 1
            float physics:density = 100
            rel material:binding = </W/m>
            rel material:binding:physics = </W/m>
        }
        def Sphere "sphere"
        {
            double radius = 0.5
        }
        def Cylinder "cylinder" ( prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMassAPI"] )
        {
            double radius = 0.5
            double height = 0.5
            float physics:mass = 5
            double3 xformOp:scale = (1, 1, 1)
            uniform token[] xformOpOrder = ["xformOp:scale"]
        }
        def Capsule "capsule"
        {
            double radius = 0.5
            double height = 0.5
        }
        def Cone "cone"
        {
            double radius = 0.5
            double height = 0.5
        }
        def Capsule_1 "tapered"
        {
            double radiusTop = 0.5
            double radiusBottom = 0.4
            double height = 0.5
        }
        def Mesh "mesh" ( prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMeshCollisionAPI"] )
        {
            point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
            int[] faceVertexCounts = [3, 3, 3, 3]
            int[] faceVertexIndices = [0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3]
            color3f[] primvars:displayColor = [(0.5, 0.5, 0.5)]
            uniform token physics:approximation = "boundingSphere"
        }
    }
    def Xform "b" ( prepend apiSchemas = ["PhysicsRigidBodyAPI"] )
    {
        double3 xformOp:translate = (1, 2, 4)
        float xformOp:rotateX = 0
        uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:rotateX"]
        def Sphere "sphere" ( prepend apiSchemas = ["PhysicsCollisionAPI"] )
        {
            double radius = 0.5
        }
    }
    def Xform "c" ( prepend apiSchemas = ["PhysicsRigidBodyAPI"] )
    {
        double3 xformOp:translate = (1, 2, 5)
        uniform token[] xformOpOrder = ["xformOp:translate"]
        def Sphere "sphere" ( prepend apiSchemas = ["PhysicsCollisionAPI"] )
        {
            double radius = 0.5
        }
    }
    def Xform "d" ( prepend apiSchemas = ["PhysicsRigidBodyAPI"] )
    {
        double3 xformOp:translate = (1, 2, 6)
        uniform token[] xformOpOrder = ["xformOp:translate"]
        def Sphere "sphere" ( prepend apiSchemas = ["PhysicsCollisionAPI"] )
        {
            double radius = 0.5
        }
    }
    def PhysicsRevoluteJoint "hinge" ( prepend apiSchemas = ["PhysicsDriveAPI:angular", "PhysicsJointStateAPI:angular"] )
    {
        rel physics:body0 = </W/a>
        rel physics:body1 = </W/b>
        uniform token physics:axis = "X"
        point3f physics:localPos0 = (0, 0, 1)
        point3f physics:localPos1 = (0, 0, 0)
        quatf physics:localRot0 = (1, 0, 0, 0)
        quatf physics:localRot1 = (1, 0, 0, 0)
        float physics:lowerLimit = -90
        float physics:upperLimit = 90
        float physics:breakForce = 100
        float drive:angular:physics:stiffness = 1
        float drive:angular:physics:damping = 1
        float drive:angular:physics:maxForce = 50
        float drive:angular:physics:targetPosition = 5
        float drive:angular:physics:targetVelocity = 0
        float state:angular:physics:position = 0
        float state:angular:physics:velocity = 1
        float newton:friction = 0.1
        float newton:damping = 0.1
        float newton:armature = 0.1
        float newton:velocityLimit = 500
        double newton:limitStiffness = 100
        double newton:limitDamping = 1
        float physxJoint:maxJointVelocity = 100
        double mjc:stiffness = 1
        double mjc:springref = 1
        double mjc:ref = 0
        double mjc:actuatorfrcrange:min = -4
        double mjc:actuatorfrcrange:max = 4
    }
    def PhysicsSphericalJoint "ball"
    {
        rel physics:body0 = </W/b>
        rel physics:body1 = </W/c>
        point3f physics:localPos0 = (0, 0, 1)
        float physics:coneAngle0Limit = 40
        float physics:coneAngle1Limit = 40
    }
    def PhysicsPrismaticJoint "slide" ( prepend apiSchemas = ["PhysicsDriveAPI:linear", "PhysicsJointStateAPI:linear"] )
    {
        rel physics:body0 = </W/c>
        rel physics:body1 = </W/d>
        uniform token physics:axis = "Z"
        point3f physics:localPos0 = (0, 0, 1)
        float physics:lowerLimit = -1
        float physics:upperLimit = 1
        float drive:linear:physics:damping = 100
        float drive:linear:physics:maxForce = 50
        float drive:linear:physics:targetVelocity = 2
        float state:linear:physics:position = 0
        float state:linear:physics:velocity = 1
    }
}
"""
_PROPERTY = re.compile(
    r"^ +(?:double|float|int|quat|vector3|point3|color3)[^=\n]* ([\w:]+) = [^\n\d-]*(-?[\d.]+)", re.M
)
PLACES = [(found[1], found.start(2), found.end(2)) for found in _PROPERTY.finditer(STAGE)]
NUMBERS = ("0", "-1", "nan", "inf", "-inf", "1e300", "-1e300")


@pytest.fixture(autouse=True)
def composed_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compose the stages in this process: hundreds of processes would take minutes."""

    def open_here(data: bytes, *_: object) -> stage.Stage:
        answer = stage._answer(stage.StageLayers(), stage.StageRequest({stage.ROOT: data}, [], len(data)))
        assert answer.stage is not None
        return answer.stage

    monkeypatch.setattr(read, "open_stage", open_here)


def changed(start: int, end: int, number: str) -> bytes:
    is_whole = "int" in STAGE[STAGE.rindex("\n", 0, start) : start].split()[0]
    number = (
        {"nan": "7000", "inf": "-7000", "-inf": "0", "1e300": "2000000000", "-1e300": "-2000000000"}.get(number, number)
        if is_whole
        else number
    )
    return f"{STAGE[:start]}{number}{STAGE[end:]}".encode()


def test_the_stage_is_valid_and_its_properties_are_found() -> None:
    scene = exoskel.load(STAGE.encode(), format="usd")
    assert not [one for one in scene.diagnostics if one.severity is exoskel.Severity.ERROR]
    assert len(PLACES) > 95


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("place", PLACES, ids=lambda place: f"{place[0]}-{place[1]}")
def test_an_invalid_number_does_not_refuse_the_file(place: tuple[str, int, int], number: str) -> None:
    """The other bodies, joints and shapes are read; an error names the prim and the line."""
    name, start, end = place
    scene = exoskel.load(changed(start, end, number), format="usd")
    assert scene.worlds, [str(one) for one in scene.diagnostics]
    world = scene.world
    assert len(list(world.bodies())) >= 4 and len(list(world.joints())) >= 4, name
    assert sum(len(body.shapes) for body in world.bodies()) >= 9, name
    assert not [one for one in exoskel.check(world) if one.severity is exoskel.Severity.ERROR]
    for one in scene.diagnostics:
        if one.severity is exoskel.Severity.ERROR:
            assert one.line > 1 and not one.message.endswith("…"), one
