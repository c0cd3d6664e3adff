"""Point instancers: each instance is a copy of its prototype, and each copy of a rigid body is a body."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pxr import Usd, UsdGeom

import exoskel

BODY = 'Xform "ball" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])'
SOLID = """def Cube "geom" (prepend apiSchemas = ["PhysicsCollisionAPI"])
                {
                    double size = 2
                    double3 xformOp:translate = (1, 0, 0)
                    uniform token[] xformOpOrder = ["xformOp:translate"]
                }"""
PLACES = """
        quath[] orientations = [(1, 0, 0, 0), (0.5, 0.5, 0.5, 0.5), (0, 0, 1, 0)]
        point3f[] positions = [(0, 0, 1), (4, 0, 1), (8, 0, 1)]
        float3[] scales = [(1, 1, 1), (2, 2, 2), (1, 1, 3)]
        int[] protoIndices = [0, 0, 1]"""
PATHS = "rel prototypes = [</World/balls/P/ball>, </World/balls/P/wall>]"
PROTOTYPES = f"""def Scope "P"
        {{
            def {BODY}
            {{
                float physics:mass = 3
                quatf xformOp:orient = (0.8, 0, 0.6, 0)
                uniform token[] xformOpOrder = ["xformOp:orient"]
                {SOLID}
            }}
            def Cube "wall" (prepend apiSchemas = ["PhysicsCollisionAPI"])
            {{
                double size = 1
            }}
        }}"""


def text_of(places: str = PLACES, prototypes: str = PROTOTYPES, paths: str = PATHS, beside: str = "") -> str:
    return f"""#usda 1.0
(
    defaultPrim = "World"
    metersPerUnit = 0.5
    upAxis = "Z"
)
def Xform "World"
{{
    double3 xformOp:translate = (0, 0, 7)
    uniform token[] xformOpOrder = ["xformOp:translate"]
    def PhysicsScene "scene" {{}}
    {beside}
    def PointInstancer "balls"
    {{
        {paths}
        double3 xformOp:translate = (0, 10, 0)
        uniform token[] xformOpOrder = ["xformOp:translate"]
        {places}
        {prototypes}
    }}
}}
"""


def read(folder: Path, **parts: str) -> exoskel.Scene:
    path = folder / "scene.usda"
    path.write_text(text_of(**parts))
    return exoskel.load(path)


def keys(scene: exoskel.Scene) -> list[str]:
    return [one.key for one in scene.diagnostics]


def test_instances_are_where_usd_core_puts_them(tmp_path: Path) -> None:
    scene = read(tmp_path)
    assert keys(scene) == []
    stage = Usd.Stage.Open(str(tmp_path / "scene.usda"))
    prim = stage.GetPrimAtPath("/World/balls")
    instancer, first = UsdGeom.PointInstancer(prim), Usd.TimeCode.Default()
    outer = np.array(UsdGeom.XformCache().GetLocalToWorldTransform(prim))
    moved = np.array(instancer.ComputeInstanceTransformsAtTime(first, first)) @ outer
    inner = [np.array(UsdGeom.Xformable(stage.GetPrimAtPath("/World/balls/P/ball/geom")).GetLocalTransformation())] * 2
    shapes = [shape for body in scene.world.bodies() for shape in body.collisions]
    bodies = [body for body in scene.world.bodies() for _ in body.collisions]
    assert [body.name for body in bodies] == ["ball_0", "ball_1", "wall_2"]
    for body, shape, row in zip(
        bodies, shapes, [*(i @ m for i, m in zip(inner, moved, strict=False)), moved[2]], strict=True
    ):
        found = body.pose.matrix() @ shape.pose.matrix()
        np.testing.assert_allclose(found[:3, 3], row[3, :3] / 2, atol=1e-6)
    assert [shape.geometry.size for shape in shapes] == [  # type: ignore[union-attr]
        pytest.approx(size) for size in [(1, 1, 1), (2, 2, 2), (0.5, 0.5, 1.5)]
    ]
    assert [(model.static, [body.mass for body in model.bodies]) for model in scene.world.models[:2]] == [
        (False, [3.0])
    ] * 2
    assert scene.world.models[2].static


@pytest.mark.parametrize("target", ["sdf", "mjcf", "usd"])
def test_instances_are_converted_without_losses(target: str, tmp_path: Path) -> None:
    scene = read(tmp_path)
    report = exoskel.convert(scene, None, to=target)
    assert report.certificate.passed
    assert [item.path for item in report.losses if "balls" in item.path] == []


def test_copies_keep_the_instancer_and_new_documents_have_bodies(tmp_path: Path) -> None:
    scene = read(tmp_path)
    exoskel.convert(scene, tmp_path / "copy.usda")
    assert "PointInstancer" in (tmp_path / "copy.usda").read_text()
    next(scene.world.bodies()).name = "first"
    exoskel.convert(scene, tmp_path / "new.usda")
    assert "PointInstancer" not in (tmp_path / "new.usda").read_text()
    again = exoskel.load(tmp_path / "new.usda")
    assert [body.name for body in again.world.bodies()] == ["first", "ball_1", "wall_2"]


def test_rotations_in_half_precision_do_not_scale(tmp_path: Path) -> None:
    places = PLACES.replace("(0.5, 0.5, 0.5, 0.5)", "(0.7071, 0, 0, 0.7071)")
    shapes = [shape for body in read(tmp_path, places=places).world.bodies() for shape in body.collisions]
    assert shapes[1].geometry.size == pytest.approx((2, 2, 2), rel=1e-12)  # type: ignore[union-attr]


def test_rotations_in_single_precision_are_used_first(tmp_path: Path) -> None:
    places = PLACES + "\n        quatf[] orientationsf = [(0, 0, 1, 0), (1, 0, 0, 0), (1, 0, 0, 0)]"
    first = next(read(tmp_path, places=places).world.bodies())
    assert first.pose.matrix()[:3, 2] == pytest.approx(np.diag([-1, 1, -1]) @ [0.96, 0, 0.28], abs=1e-6)


def test_instances_that_are_not_visible_are_left_out(tmp_path: Path) -> None:
    places = PLACES.replace(
        "int[] proto", "int64[] ids = [5, 6, 7]\n        int64[] invisibleIds = [6]\n        int[] proto"
    )
    scene = read(tmp_path, places=places)
    assert [body.pose.matrix()[0, 3] for body in scene.world.bodies()] == [0.0, 0.0]


def test_prototypes_may_be_elsewhere_and_in_classes(tmp_path: Path) -> None:
    inside = PROTOTYPES.replace('def Scope "P"', 'class Scope "P"')
    scene = read(tmp_path, prototypes="", paths=PATHS.replace("/balls/P", "/P"), beside=inside)
    assert keys(scene) == []
    assert [body.name for body in scene.world.bodies()] == ["ball_0", "ball_1", "wall_2"]
    defined = read(tmp_path, prototypes="", paths=PATHS.replace("/balls/P", "/P"), beside=PROTOTYPES)
    assert [body.name for body in defined.world.bodies()] == ["ball_0", "ball_1", "wall_2"]


def test_joints_of_a_prototype_connect_the_bodies_of_the_copy(tmp_path: Path) -> None:
    second = BODY.replace("ball", "arm")
    inside = f"""def Xform "P"
        {{
            def {BODY}
            {{
                {SOLID}
            }}
            def {second}
            {{
                {SOLID}
            }}
            def PhysicsRevoluteJoint "turn"
            {{
                rel physics:body0 = </World/balls/P/ball>
                rel physics:body1 = </World/balls/P/arm>
            }}
        }}"""
    places = (
        PLACES.replace("[0, 0, 1]", "[0, 0, 0]").replace("(2, 2, 2)", "(1, 1, 1)").replace("(1, 1, 3)", "(1, 1, 1)")
    )
    scene = read(tmp_path, prototypes=inside, places=places, paths="rel prototypes = </World/balls/P>")
    moving = [model for model in scene.world.models if not model.static]
    assert [[body.name for body in model.bodies] for model in moving] == [["ball", "arm"]] * 3
    assert all(any(joint.kind == "revolute" for joint in model.joints) for model in moving)


@pytest.mark.parametrize("places", ["", PLACES.replace("[0, 0, 1]", "[0, 0, 5]"), PLACES.replace(", (8, 0, 1)", "")])
def test_invalid_instancers_are_reported(places: str, tmp_path: Path) -> None:
    scene = read(tmp_path, places=places)
    assert keys(scene) == ["US113.instancer"]
    assert [body for model in scene.world.models for body in model.bodies] == []


def test_many_instances_are_refused(tmp_path: Path) -> None:
    count = 200_001
    places = f"point3f[] positions = [{'(0,0,0),' * count}]\n        int[] protoIndices = [{'1,' * count}]"
    assert keys(read(tmp_path, places=places)) == ["US113"]
