"""Reading USD: files of the kinds that Isaac Sim and Newton write, units, frames, masses, filters, and hostile files."""

from __future__ import annotations

from math import degrees, radians
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exoskel
from exoskel.formats.usd import usd_process
from exoskel.formats.usd.reader import prims
from exoskel.formats.usd.text_layer import prim_positions
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.shape import Box, Capsule, Cylinder, Ellipsoid, Mesh, Plane, Sphere, TriMesh

pytest.importorskip("pxr")

HEAD = """#usda 1.0
(
    defaultPrim = "World"
    metersPerUnit = {metre}
    kilogramsPerUnit = {kilogram}
    upAxis = "{up}"
)
"""


def head(metre: float = 1, kilogram: float = 1, up: str = "Z") -> str:
    return HEAD.format(metre=metre, kilogram=kilogram, up=up)


ARM = (
    head()
    + """
def Xform "World"
{
    def PhysicsScene "physicsScene" (prepend apiSchemas = ["PhysxSceneAPI"])
    {
        vector3f physics:gravityDirection = (0, 0, -1)
        float physics:gravityMagnitude = 9.81
        bool physxScene:enableGPUDynamics = 0
        uint physxScene:timeStepsPerSecond = 500
    }

    def Xform "arm" (prepend apiSchemas = ["PhysicsArticulationRootAPI", "PhysxArticulationAPI"])
    {
        bool physxArticulation:enabledSelfCollisions = 0
        double3 xformOp:translate = (1, 0, 0)
        uniform token[] xformOpOrder = ["xformOp:translate"]

        def Xform "base" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
        {
            float physics:mass = 4
            float3 physics:diagonalInertia = (0.1, 0.2, 0.3)
            point3f physics:centerOfMass = (0, 0, 0.05)

            def Cube "collision" (prepend apiSchemas = ["PhysicsCollisionAPI", "MaterialBindingAPI"])
            {
                double size = 0.2
                rel material:binding:physics = </World/rubber>
            }
        }

        def Xform "link" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
        {
            float physics:density = 500
            double3 xformOp:translate = (0, 0, 0.5)
            uniform token[] xformOpOrder = ["xformOp:translate"]

            def Xform "geometry"
            {
                double3 xformOp:scale = (0.5, 0.5, 0.5)
                uniform token[] xformOpOrder = ["xformOp:scale"]

                def Cylinder "body" (prepend apiSchemas = ["PhysicsCollisionAPI"])
                {
                    double radius = 0.1
                    double height = 1
                    uniform token axis = "X"
                    color3f[] primvars:displayColor = [(1, 0.5, 0)]
                }
            }
        }

        def Scope "joints"
        {
            def PhysicsFixedJoint "root"
            {
                rel physics:body1 = </World/arm/base>
                point3f physics:localPos0 = (1, 0, 0)
            }

            def PhysicsRevoluteJoint "elbow" (
                prepend apiSchemas = ["PhysicsDriveAPI:angular", "PhysxJointAPI", "PhysxJointStateAPI:angular"]
            )
            {
                rel physics:body0 = </World/arm/base>
                rel physics:body1 = </World/arm/link>
                uniform token physics:axis = "Y"
                point3f physics:localPos0 = (0, 0, 0.5)
                float physics:lowerLimit = -90
                float physics:upperLimit = 45
                uniform token drive:angular:physics:type = "force"
                float drive:angular:physics:stiffness = 2
                float drive:angular:physics:damping = 0.5
                float drive:angular:physics:targetPosition = 30
                float physxJoint:jointFriction = 0.25
                float physxJoint:maxJointVelocity = 180
                float physxJoint:armature = 0.01
            }
        }
    }

    def Material "rubber" (prepend apiSchemas = ["PhysicsMaterialAPI"])
    {
        float physics:dynamicFriction = 0.7
        float physics:staticFriction = 0.7
        float physics:restitution = 0.25
    }

    def Plane "ground" (prepend apiSchemas = ["PhysicsCollisionAPI"])
    {
        uniform token axis = "Z"
    }

    def DistantLight "light"
    {
        float inputs:intensity = 1000
    }
}
"""
)
"""Of the kind that Isaac Sim writes."""


def load(text: str, tmp_path: Path, name: str = "scene.usda") -> exoskel.Scene:
    file = tmp_path / name
    file.write_text(text)
    return exoskel.load(file)


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> exoskel.Scene:
    return load(ARM, tmp_path_factory.mktemp("arm"))


def codes(scene: exoskel.Scene) -> list[str]:
    return [diagnostic.key for diagnostic in scene.diagnostics]


def test_an_articulation_with_a_fixed_base_is_one_model(arm: exoskel.Scene) -> None:
    world = arm.world
    assert [model.name for model in world.models] == ["arm", "environment"]
    model = world.model("arm")
    assert [body.name for body in model.bodies] == ["base", "link"]
    assert [(joint.name, joint.kind) for joint in model.joints] == [("root", "weld"), ("elbow", "revolute")]
    assert world.gravity == (0.0, 0.0, -9.81)
    assert world.time_step == 0.002


def test_angles_are_read_in_degrees_and_gains_per_degree(arm: exoskel.Scene) -> None:
    dof = arm.world.model("arm").joint("elbow").dofs[0]
    assert dof.position_limits == pytest.approx((-radians(90), radians(45)))
    assert dof.stiffness == pytest.approx(degrees(2.0))
    assert dof.damping == pytest.approx(degrees(0.5))
    assert dof.rest == pytest.approx(radians(30))
    assert dof.friction == 0.25
    assert dof.velocity_limits == pytest.approx((-np.pi, np.pi))


def test_the_scale_of_a_group_applies_to_the_shapes_in_it(arm: exoskel.Scene) -> None:
    link = arm.world.model("arm").body("link")
    assert link.collisions[0].geometry == Cylinder(0.05, 0.5)
    assert np.allclose(link.collisions[0].pose.matrix()[:3, 2], [1, 0, 0])
    assert link.collisions[0].color == (1.0, 0.5, 0.0, 1.0)


def test_mass_is_stated_or_follows_from_the_density(arm: exoskel.Scene) -> None:
    model = arm.world.model("arm")
    base, link = model.body("base"), model.body("link")
    assert (base.mass, base.com, base.moment) == (4.0, (0.0, 0.0, 0.05), (0.1, 0.2, 0.3, 0.0, 0.0, 0.0))
    mass = 500 * np.pi * 0.05**2 * 0.5
    assert link.mass == pytest.approx(mass)
    assert link.moment[0] == pytest.approx(mass * 0.05**2 / 2)


def test_the_material_of_a_collider_has_friction_and_restitution(arm: exoskel.Scene) -> None:
    shape = arm.world.model("arm").body("base").collisions[0]
    assert (shape.friction, shape.restitution) == (0.7, 0.25)


def test_a_collider_without_a_body_is_static(arm: exoskel.Scene) -> None:
    model = arm.world.model("environment")
    assert model.static
    assert isinstance(model.bodies[0].collisions[0].geometry, Plane)


def test_self_collision_of_an_articulation_is_read(tmp_path: Path) -> None:
    assert not load(ARM, tmp_path).world.self_collision
    assert load(ARM.replace("enabledSelfCollisions = 0", "enabledSelfCollisions = 1"), tmp_path).world.self_collision


def test_bodies_are_where_the_file_puts_them(arm: exoskel.Scene) -> None:
    world = arm.world
    poses = Kinematics(world.models).poses()
    assert np.allclose(poses[:2, :3, 3], [(1, 0, 0), (1, 0, 0.5)])


def test_the_unit_of_length_and_mass_scales_everything(tmp_path: Path) -> None:
    text = ARM.replace("metersPerUnit = 1", "metersPerUnit = 0.1").replace(
        "kilogramsPerUnit = 1", "kilogramsPerUnit = 2"
    )
    world = load(text, tmp_path).world
    base, link = world.model("arm").bodies
    assert np.allclose(Kinematics(world.models).poses()[1, :3, 3], (0.1, 0, 0.05))
    assert (base.mass, base.com[2]) == (8.0, pytest.approx(0.005))
    assert base.moment[0] == pytest.approx(0.1 * 2 * 0.1**2)
    shape = link.collisions[0].geometry
    assert isinstance(shape, Cylinder)
    assert (shape.radius, shape.height) == pytest.approx((0.005, 0.05))
    assert link.mass == pytest.approx(2 * 500 * np.pi * 0.05**2 * 0.5)
    dof = world.model("arm").joint("elbow").dofs[0]
    assert dof.position_limits[0] == pytest.approx(-radians(90))
    assert dof.stiffness == pytest.approx(degrees(2.0) * 2 * 0.1**2)


def test_without_a_unit_lengths_are_centimetres_and_that_is_reported(tmp_path: Path) -> None:
    scene = load(ARM.replace("    metersPerUnit = 1\n", ""), tmp_path)
    assert "US103" in codes(scene)
    assert np.allclose(Kinematics(scene.world.models).poses()[1, :3, 3], (0.01, 0, 0.005))


@pytest.mark.parametrize(("up", "gravity"), [("Y", (0.0, -9.81, 0.0)), ("Z", (0.0, 0.0, -9.81))])
def test_gravity_without_a_scene_is_against_the_up_axis(tmp_path: Path, up: str, gravity: Any) -> None:
    scene = load(head(up=up) + 'def Sphere "ball" (prepend apiSchemas = ["PhysicsRigidBodyAPI"])\n{\n}\n', tmp_path)
    assert scene.world.gravity == gravity
    assert "US103.scene" in codes(scene)


def test_a_free_body_has_a_free_joint_and_the_default_density(tmp_path: Path) -> None:
    text = head() + 'def Cube "box" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"])\n{\n}\n'
    scene = load(text, tmp_path)
    body = scene.world.models[0].bodies[0]
    assert scene.world.models[0].joints[0].kind == "free"
    assert body.collisions[0].geometry == Box((2.0, 2.0, 2.0))
    assert body.mass == 8000.0
    assert "US108" in codes(scene)


# --- losses ---------------------------------------------------------------------------------------------


def test_attributes_of_other_schemas_are_reported_as_lost(tmp_path: Path) -> None:
    load(ARM, tmp_path)
    report = exoskel.convert(tmp_path / "scene.usda", tmp_path / "out.skel")
    assert report.certificate.passed
    lost = {fate.path for fate in report.losses}
    assert "/World/physicsScene/@physxScene:enableGPUDynamics" in lost
    assert not any("light" in path for path in lost)


@pytest.mark.parametrize("extension", [".skel", ".sdf", ".xml", ".urdf", ".usda"])
def test_what_was_read_converts_with_a_certificate(tmp_path: Path, extension: str) -> None:
    load(ARM, tmp_path)
    report = exoskel.convert(tmp_path / "scene.usda", tmp_path / f"out{extension}", model="arm")
    assert report.certificate.passed
    exact = {fate.path for fate in report.items if fate.fate in ("exact", "lowered")}
    assert "/World/arm/base/@physics:mass" in exact
    assert "/World/arm/joints/elbow/@physics:axis" in exact


def test_diagnostics_point_at_the_line_of_the_prim(arm: exoskel.Scene) -> None:
    mass = next(d for d in arm.diagnostics if d.key == "US108")
    lines = ARM.splitlines()
    assert 'def Xform "link"' in lines[mass.line - 1]  # type: ignore[operator]
    assert mass.path == "/World/arm/link"


# --- references -----------------------------------------------------------------------------------------


WHEEL = (
    head()
    + """
def Xform "World" (prepend apiSchemas = ["PhysicsRigidBodyAPI"])
{
    def Sphere "ball" (prepend apiSchemas = ["PhysicsCollisionAPI"])
    {
        double radius = 0.5
    }
}
"""
)
TWO = (
    head()
    + """
def Xform "World"
{
    def "one" (
        instanceable = true
        prepend references = @parts/wheel.usda@
    )
    {
    }
    def "two" (
        instanceable = true
        prepend references = @parts/wheel.usda@
    )
    {
        double3 xformOp:translate = (3, 0, 0)
        uniform token[] xformOpOrder = ["xformOp:translate"]
    }
}
"""
)


def test_instances_of_a_referenced_file_are_bodies(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "wheel.usda").write_text(WHEEL)
    scene = load(TWO, tmp_path)
    assert [model.name for model in scene.world.models] == ["one", "two"]
    assert scene.world.models[1].bodies[0].collisions[0].geometry == Sphere(0.5)
    assert np.allclose(Kinematics(scene.world.models).poses()[1, :3, 3], (3, 0, 0))


def test_a_missing_reference_is_an_error(tmp_path: Path) -> None:
    scene = load(TWO, tmp_path)
    assert "US101" in codes(scene)
    assert scene.world.models == []


def test_a_confined_document_reads_no_file_outside_its_folder(tmp_path: Path) -> None:
    (tmp_path / "wheel.usda").write_text(WHEEL)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "scene.usda").write_text(TWO.replace("parts/wheel.usda", "../wheel.usda"))
    scene = exoskel.load(tmp_path / "in" / "scene.usda", confine=True)
    assert "US101" in codes(scene)
    assert exoskel.load(tmp_path / "in" / "scene.usda").world.models


def test_a_file_that_is_overwritten_by_its_conversion_is_protected(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "wheel.usda").write_text(WHEEL)
    load(TWO, tmp_path)
    with pytest.raises(exoskel.ExoskelError, match="overwrite its input"):
        exoskel.convert(tmp_path / "scene.usda", tmp_path / "parts" / "wheel.usda")


# --- shapes ---------------------------------------------------------------------------------------------


def body_with(shape: str) -> str:
    return head() + f'def Xform "World" (prepend apiSchemas = ["PhysicsRigidBodyAPI"])\n{{\n{shape}\n}}\n'


SCALED = 'double3 xformOp:scale = ({0})\nuniform token[] xformOpOrder = ["xformOp:scale"]'
SOLID = '(prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMeshCollisionAPI"])'


@pytest.mark.parametrize(
    ("shape", "geometry", "code"),
    [
        (f'def Cube "a" {SOLID}\n{{\n{SCALED.format("1, 2, 3")}\n}}', Box((2.0, 4.0, 6.0)), ""),
        (f'def Sphere "a" {SOLID}\n{{\n{SCALED.format("1, 2, 3")}\n}}', Ellipsoid((2.0, 4.0, 6.0)), ""),
        (f'def Sphere "a" {SOLID}\n{{\n{SCALED.format("2, 2, 2")}\n}}', Sphere(2.0), ""),
        (f'def Capsule "a" {SOLID}\n{{\n{SCALED.format("2, 2, 2")}\n}}', Capsule(1.0, 2.0), ""),
        (f'def Cylinder "a" {SOLID}\n{{\n{SCALED.format("1, 3, 1")}\n}}', Cylinder(2.0, 2.0), "US104.uneven"),
    ],
)
def test_scaled_shapes(tmp_path: Path, shape: str, geometry: Any, code: str) -> None:
    scene = load(body_with(shape), tmp_path)
    assert scene.world.models[0].bodies[0].collisions[0].geometry == geometry
    assert (code in codes(scene)) == bool(code)


PYRAMID = """
    point3f[] points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0.5, 0.5, 1)]
    int[] faceVertexCounts = [4, 3, 3, 3, 3]
    int[] faceVertexIndices = [0, 3, 2, 1, 0, 1, 4, 1, 2, 4, 2, 3, 4, 3, 0, 4]
"""


def test_polygons_become_triangles(tmp_path: Path) -> None:
    scene = load(body_with(f'def Mesh "a" {SOLID}\n{{\n{PYRAMID}\n{SCALED.format("1, 1, 2")}\n}}'), tmp_path)
    mesh = scene.world.models[0].bodies[0].collisions[0].geometry
    assert isinstance(mesh, TriMesh)
    assert len(mesh.triangles) == 6
    assert mesh.vertices.max() == 2.0
    assert not isinstance(mesh, Mesh)
    assert scene.world.models[0].bodies[0].mass == pytest.approx(1000 * 2 / 3)


@pytest.mark.parametrize(
    ("approximation", "geometry"),
    [("boundingCube", Box((1.0, 1.0, 1.0))), ("boundingSphere", Sphere), ("convexHull", TriMesh)],
)
def test_the_shape_that_approximates_a_mesh_collides(tmp_path: Path, approximation: str, geometry: Any) -> None:
    token = f'uniform token physics:approximation = "{approximation}"'
    scene = load(body_with(f'def Mesh "a" {SOLID}\n{{\n{PYRAMID}\n{token}\n}}'), tmp_path)
    found = scene.world.models[0].bodies[0].collisions[0].geometry
    assert found == geometry if isinstance(geometry, Box) else isinstance(found, geometry)
    assert "US105.approximation" not in codes(scene)


def test_faces_that_do_not_fit_the_points_are_an_error(tmp_path: Path) -> None:
    broken = PYRAMID.replace("0, 4]", "0, 9]")
    assert "US105.mesh" in codes(load(body_with(f'def Mesh "a" {SOLID}\n{{\n{broken}\n}}'), tmp_path))


def test_time_samples_and_other_prims_are_reported(tmp_path: Path) -> None:
    shape = f"""def Cube "a" {SOLID}
    {{
        double size.timeSamples = {{ 0: 3, 10: 4 }}
    }}
    def BasisCurves "hair"
    {{
    }}"""
    scene = load(body_with(shape), tmp_path)
    assert scene.world.models[0].bodies[0].collisions[0].geometry == Box((3.0, 3.0, 3.0))
    assert {"US111", "US113"} <= {*codes(scene)}


# --- joints ---------------------------------------------------------------------------------------------


def bodies_with(joint: str) -> str:
    made = head() + 'def Xform "World"\n{\n'
    for name, x in (("a", 0), ("b", 1), ("c", 2)):
        made += f"""def Cube "{name}" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"])
        {{
            double size = 0.1
            double3 xformOp:translate = ({x}, 0, 0)
            uniform token[] xformOpOrder = ["xformOp:translate"]
        }}
        """
    return made + joint + "\n}\n"


ENDS = "rel physics:body0 = </World/{0}>\nrel physics:body1 = </World/{1}>"


def joint_prim(kind: str, one: str, other: str, rest: str = "", name: str = "j") -> str:
    frames = f"point3f physics:localPos0 = ({'abc'.index(other) - 'abc'.index(one)}, 0, 0)"
    return f'def {kind} "{name}"\n{{\n{ENDS.format(one, other)}\n{frames}\n{rest}\n}}\n'


def locked(*axes: str) -> str:
    return "\n".join(f"float limit:{a}:physics:low = 1\nfloat limit:{a}:physics:high = -1" for a in axes)


ALL = ("transX", "transY", "transZ", "rotX", "rotY", "rotZ")


@pytest.mark.parametrize(
    ("free", "kind"),
    [
        ((), "weld"),
        (("rotY",), "revolute"),
        (("transZ",), "prismatic"),
        (("rotX", "rotY"), "universal"),
        (("rotX", "rotZ"), "universal"),
        (("rotY", "rotZ"), "universal"),
        (("transY", "transZ"), "translational2d"),
        (("transX", "transZ", "rotY"), "planar"),
        (("rotX", "rotY", "rotZ"), "euler"),
        (ALL, "free"),
    ],
)
def test_the_free_axes_of_a_generic_joint_decide_its_kind(tmp_path: Path, free: tuple[str, ...], kind: str) -> None:
    text = bodies_with(joint_prim("PhysicsJoint", "a", "b", locked(*(axis for axis in ALL if axis not in free))))
    scene = load(text, tmp_path)
    joint = scene.world.models[0].joint("j")
    assert joint.kind == kind
    assert not [code for code in codes(scene) if code.startswith("US106")]
    poses = Kinematics(scene.world.models).poses()
    assert np.allclose(poses[:2, :3, 3], [(0, 0, 0), (1, 0, 0)])
    assert np.allclose(poses[:2, :3, :3], np.eye(3))


def test_the_axes_of_a_turned_generic_joint_are_those_of_the_file(tmp_path: Path) -> None:
    text = bodies_with(joint_prim("PhysicsJoint", "a", "b", locked("transX", "transY", "transZ", "rotY")))
    joint = load(text, tmp_path).world.models[0].joint("j")
    axes = joint.pose.matrix()[:3, :3] @ np.array(joint.axes).T
    assert np.allclose(axes, np.array([(1, 0, 0), (0, 0, 1)]).T)


def test_unsupported_free_axes_are_reported(tmp_path: Path) -> None:
    free = "bool physics:excludeFromArticulation = 1\n" + locked("transY", "transZ", "rotX", "rotZ")
    first, second = joint_prim("PhysicsRevoluteJoint", "a", "b"), joint_prim("PhysicsJoint", "a", "b", free, "closing")
    scene = load(bodies_with(first + second), tmp_path)
    assert "US106.axes" in codes(scene)
    closing = scene.world.models[0].joint("closing")
    assert closing.loop and closing.kind == "revolute"


def test_a_joint_with_any_free_axes_becomes_a_chain(tmp_path: Path) -> None:
    text = bodies_with(joint_prim("PhysicsJoint", "a", "b", locked("transY", "transZ", "rotX", "rotZ")))
    scene = load(text, tmp_path)
    assert "US106.split" in codes(scene)
    assert [joint.kind for joint in scene.world.models[0].joints if joint.name.startswith("j_")] == [
        "prismatic",
        "revolute",
    ]


def test_a_joint_that_starts_from_the_child_moves_the_same_way(tmp_path: Path) -> None:
    limits = 'uniform token physics:axis = "Z"\nfloat physics:lowerLimit = -10\nfloat physics:upperLimit = 80'
    world_joint = (
        'def PhysicsFixedJoint "fix"\n{\nrel physics:body1 = </World/b>\npoint3f physics:localPos0 = (1, 0, 0)\n}\n'
    )
    text = bodies_with(joint_prim("PhysicsRevoluteJoint", "a", "b", limits) + world_joint)
    scene = load(text, tmp_path)
    joint = scene.world.models[0].joint("j")
    assert (joint.parent.name, joint.child.name) == ("b", "a")  # type: ignore[union-attr]
    assert joint.dofs[0].position_limits == pytest.approx((-radians(10), radians(80)))
    joint.positions = (radians(80),)
    model = scene.world.models[0]
    pose = Kinematics([model]).poses()[model.bodies.index(model.body("a"))]
    relative = np.linalg.inv(pose[:3, :3])  # b in a, which is turned by +80 degrees about z
    assert np.arctan2(relative[1, 0], relative[0, 0]) == pytest.approx(radians(80))


def test_a_joint_that_closes_a_loop_is_a_constraint(tmp_path: Path) -> None:
    joints = "".join(
        joint_prim("PhysicsRevoluteJoint", one, other, name=one + other) for one, other in ("ab", "bc", "ca")
    )
    model = load(bodies_with(joints), tmp_path).world.models[0]
    assert [joint.name for joint in model.joints if joint.loop] == ["ca"]


@pytest.mark.parametrize(
    ("joint", "code"),
    [
        (joint_prim("PhysicsDistanceJoint", "a", "b"), "US106.distance"),
        (joint_prim("PhysicsFixedJoint", "a", "b", "bool physics:jointEnabled = 0"), "US106.disabled"),
        (joint_prim("PhysicsFixedJoint", "a", "a"), "US106.same"),
        (joint_prim("PhysicsFixedJoint", "a", "b").replace("/World/b>", "/World/nothing>"), "US106.body"),
        (joint_prim("PhysicsFixedJoint", "a", "b").replace("(1, 0, 0)", "(1, 2, 0)"), "US106.apart"),
    ],
)
def test_joints_that_are_not_read_are_reported(tmp_path: Path, joint: str, code: str) -> None:
    assert code in codes(load(bodies_with(joint), tmp_path))


@pytest.mark.parametrize(
    ("drive", "code"),
    [
        ("float drive:angular:physics:targetVelocity = 90\nfloat drive:angular:physics:maxForce = 5", "US107.damper"),
        ("float drive:angular:physics:targetVelocity = 90", "US107.velocity"),
        ("float drive:angular:physics:maxForce = 5", "US107.force"),
        ('uniform token drive:angular:physics:type = "acceleration"', "US107.acceleration"),
    ],
)
def test_drives_that_are_read_approximately_are_reported(tmp_path: Path, drive: str, code: str) -> None:
    rest = f"float drive:angular:physics:damping = 3\n{drive}"
    assert code in codes(load(bodies_with(joint_prim("PhysicsRevoluteJoint", "a", "b", rest)), tmp_path))


def test_a_drive_with_a_target_velocity_and_a_largest_force_is_a_motor(tmp_path: Path) -> None:
    rest = """float drive:angular:physics:damping = 3
    float drive:angular:physics:targetVelocity = 90
    float drive:angular:physics:maxForce = 5"""
    scene = load(bodies_with(joint_prim("PhysicsRevoluteJoint", "a", "b", rest)), tmp_path)
    (drive,) = scene.world.models[0].joint("j").drives
    assert (drive.velocity, drive.max_force) == (pytest.approx(radians(90)), 5.0)


def test_mimic_joints_of_physx_are_read(tmp_path: Path) -> None:
    follower = """rel physxMimicJoint:rotX:referenceJoint = </World/ab>
    float physxMimicJoint:rotX:gearing = -2
    float physxMimicJoint:rotX:offset = 10"""
    joints = joint_prim("PhysicsRevoluteJoint", "a", "b", name="ab") + joint_prim(
        "PhysicsRevoluteJoint", "b", "c", follower, name="bc"
    )
    mimic = load(bodies_with(joints), tmp_path).world.models[0].joint("bc").mimic
    assert mimic is not None
    assert (mimic.joint, mimic.multiplier, mimic.offset) == ("ab", 2.0, pytest.approx(-radians(10)))


# --- collision filter -----------------------------------------------------------------------------------


GROUP = """def PhysicsCollisionGroup "{name}" (prepend apiSchemas = ["CollectionAPI:colliders"])
{{
    rel collection:colliders:includes = [{members}]
    rel physics:filteredGroups = [{others}]
}}
"""


def test_collision_groups_become_exempt_groups(tmp_path: Path) -> None:
    one = GROUP.format(name="one", members="</World/a>", others="</World/two>")
    two = GROUP.format(name="two", members="</World/b>, </World/c>", others="")
    world = load(bodies_with(one + two), tmp_path).world
    assert {frozenset(group) for group in world.collision_exempt_groups} == {frozenset("ab"), frozenset("ac")}


def test_filtered_pairs_become_exempt_groups(tmp_path: Path) -> None:
    text = bodies_with("").replace("double size = 0.1", "double size = 0.1\nrel physics:filteredPairs = </World/c>", 1)
    assert load(text, tmp_path).world.collision_exempt_groups == [("a", "c")]


def test_connected_bodies_do_not_collide_unless_the_joint_allows_it(tmp_path: Path) -> None:
    joint = joint_prim("PhysicsRevoluteJoint", "a", "b", "bool physics:collisionEnabled = 1")
    world = load(bodies_with(joint), tmp_path).world
    assert world.self_collision
    assert world.models[0].joint("j").collide_connected


# --- hostile files --------------------------------------------------------------------------------------


def test_prims_nested_too_deep_do_not_crash(tmp_path: Path) -> None:
    depth = 50_000
    text = "#usda 1.0\n" + 'def "a"\n{\n' * depth + "}\n" * depth
    scene = load(text, tmp_path)
    assert codes(scene) == ["US002"]


def test_references_that_multiply_end_at_a_limit(tmp_path: Path) -> None:
    text = "#usda 1.0\n" + 'def "a0"\n{\n}\n'
    for level in range(1, 10):
        children = "".join(f'def "x{i}" (references = </a{level - 1}>)\n{{\n}}\n' for i in range(10))
        text += f'def "a{level}"\n{{\n{children}}}\n'
    scene = load(text, tmp_path)
    assert codes(scene)[0] in ("US003", "US002")
    assert not scene.worlds


@pytest.mark.parametrize("data", [b"#usda 1.0\n\xff\xfe", b"#usda 1.0\ndef (", b"PXR-USDC" + bytes(80)])
def test_invalid_files_are_reported(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "bad.usd"
    file.write_bytes(data)
    assert codes(exoskel.load(file)) == ["US002"]


@pytest.mark.parametrize(
    ("shape", "code"),
    [
        (f'def Sphere "a" {SOLID}\n{{\ndouble radius = -1\n}}', "US004.skipped"),
        (f'def Sphere "a" {SOLID}\n{{\ndouble radius = nan\n}}', "US004"),
        (f'def Sphere "a" {SOLID}\n{{\n{SCALED.format("inf, 1, 1")}\n}}', "US004.place"),
    ],
)
def test_invalid_numbers_are_reported(tmp_path: Path, shape: str, code: str) -> None:
    assert code in codes(load(body_with(shape), tmp_path))


def test_a_chain_of_files_is_composed_in_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = 20
    for number in range(count):
        reference = f"prepend references = @l{number + 1}.usda@" if number < count - 1 else ""
        body = 'prepend apiSchemas = ["PhysicsRigidBodyAPI"]' if number == count - 1 else ""
        layer = (
            f'#usda 1.0\n(\n defaultPrim = "r"\n upAxis = "Z"\n)\ndef Xform "r" (\n {reference}\n {body}\n)\n{{\n}}\n'
        )
        (tmp_path / f"l{number}.usda").write_text(layer)
    started: list[str] = []

    class Counted(usd_process.ChildProcess):
        def __init__(self, module: str, environment: Any = None) -> None:
            started.append(module)
            super().__init__(module, environment)

    monkeypatch.setattr(usd_process, "ChildProcess", Counted)
    scene = exoskel.load(tmp_path / "l0.usda")
    assert [body.name for body in scene.world.bodies()] == ["r"]
    assert len(started) == 1


def test_placements_without_rotation_are_split_as_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    for _ in range(200):
        matrix = np.eye(4)
        matrix[:3, :3] = np.diag(10.0 ** rng.uniform(-30, 30, 3))
        matrix[:3, 3] = rng.normal(size=3)
        quick = prims.placement(matrix)
        with monkeypatch.context() as patch:
            patch.setattr(prims, "_SMALL", np.inf)
            general = prims.placement(matrix)
        assert (quick.rigid == general.rigid).all() and (quick.stretch == general.stretch).all()
        assert not quick.is_sheared


@pytest.mark.parametrize("to", ["skel", "xode", "urdf", "sdf", "mjcf", "gltf", "usd"])
def test_stages_become_every_format_with_the_paths_of_their_prims(to: str, tmp_path: Path) -> None:
    stage = tmp_path / "walker.usda"
    exoskel.convert("dart://sample/skel/walker.skel", stage)
    report = exoskel.convert(stage, tmp_path / "out", to=to, model="walker" if to == "urdf" else None)
    assert report.certificate.passed
    assert any(item.path.startswith("/walker") for item in report.items)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'#usda 1.0\ndef Xform "a" {', "line 2, column 16: Expected }"),
        (b"#usda 9.0\n", "line 1, column 1: Cannot parse layer version '9.0'"),
        (b'#usda 1.0\ndef Xform "a" { float x = "s" }', "line 2, column 27: Error parsing simple value"),
        (b'#usda 1.0\ndef Xform "a" (\n doc = "b', "line 3, column "),
        (b"PXR-USDC and then nothing of the kind", ""),
        (b"#usda 1.0\n\xff", "it is not encoded in UTF-8"),
    ],
)
def test_a_file_that_usd_core_refuses_has_a_reason(tmp_path: Path, content: bytes, reason: str) -> None:
    file = tmp_path / "a.usd"
    file.write_bytes(content)
    (found,) = exoskel.load(file).diagnostics
    message = found.message.removeprefix("not a USD file: ")
    assert message.startswith(reason) and len(message) > 10
    assert "pxr" not in message and "/opt/" not in message


MOVING = """#usda 1.0
(
    metersPerUnit = 1
    upAxis = "Z"
)
def Xform "w" {{
    def PhysicsScene "scene" {{}}
    def Xform "a" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]) {{
        float physics:mass = 1
        vector3f physics:velocity = (1, 2, 3)
    }}
    def Xform "b" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]) {{
        float physics:mass = 1
        vector3f physics:velocity = ({speed})
    }}
    def PhysicsRevoluteJoint "j" {{
        rel physics:body0 = </w/a>
        rel physics:body1 = </w/b>
        uniform token physics:axis = "Z"
    }}
}}
"""


@pytest.mark.parametrize(
    ("speed", "keys"), [("1, 2, 3", []), ("5, 2, 3", ["US106.moving"]), ("0, 0, 0", ["US106.moving"])]
)
def test_a_velocity_that_joints_contradict_is_reported(tmp_path: Path, speed: str, keys: list[str]) -> None:
    file = tmp_path / "moving.usda"
    file.write_text(MOVING.format(speed=speed))
    scene = exoskel.load(file)
    assert codes(scene) == keys
    lost = [item.path for item in exoskel.convert(scene, None, to="mjcf").losses]
    assert lost == ["/w/b/@physics:velocity"] * len(keys)


def test_dictionaries_in_metadata_do_not_hide_where_prims_are() -> None:
    layer = b"""#usda 1.0
def Xform "a" (
    customData = { dictionary inner = { string x = "y" } }
)
{
    def Cube "b"
    {
        double size = 2
    }
}
"""
    found = prim_positions(layer)
    assert {path: line for path, (line, _) in found.items()} == {"/a": 2, "/a/b": 6}
    assert found["/a/b"][1] == {"size": 8}
