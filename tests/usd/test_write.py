"""Writing USD: units, names, joints, drives, shapes, groups, and reported losses."""

from __future__ import annotations

import re
import sys
from math import degrees, inf, pi, radians
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exoskel
from exoskel import Model, Scene, SceneCamera, SceneLight, World
from exoskel.formats.usd import mapping
from exoskel.formats.usd.codes import CATALOGUE, fate_of
from exoskel.formats.usd.compose import NATIVE_JOINTS, read_back
from exoskel.formats.usd.joint_writer import MOTOR_DAMPING
from exoskel.formats.usd.shape_writer import MaterialWriter
from exoskel.formats.usd.tree import Identifiers, Prim, PrimPath, quote, to_text
from exoskel.formats.usd.write import up_axis
from exoskel.scene.body import BodyState, FiniteRotation, Marker, SoftBody
from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.inertia import MIN_MASS, MIN_MOMENT, UNIT_MOMENT, Inertia
from exoskel.scene.joint import TRAITS, Drive, Mimic, spring_from_erp_cfm
from exoskel.scene.pose import IDENTITY, AxisAngle, Pose
from exoskel.scene.shape import (
    Ball,
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    Geometry,
    Material,
    Mesh,
    MultiSphere,
    Plane,
    Pyramid,
    Ray,
    Shape,
    Sphere,
    Texture,
    TriMesh,
)
from tests.support.places import PROJECT
from tests.usd.support import prim, written, written_world
from tools import make_docs

Z = ((0.0, 0.0, 1.0),)
XY = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
TURNED = Pose((1.0, 2.0, 3.0), AxisAngle((1.0, 2.0, 3.0), 0.5))


def world_of(kind: Any = "revolute", **options: Any) -> World:
    world = World("w")
    model = world.add_model("m")
    model.add_body("a", moment=UNIT_MOMENT, joint="weld")
    if kind in ("revolute", "prismatic", "screw"):
        options.setdefault("axes", Z)
    if kind in ("universal", "hinge2"):
        options.setdefault("axes", XY)
    model.add_body("b", moment=UNIT_MOMENT, parent="a", joint=kind, joint_name="j", **options)
    return world


def joint_of(world: World) -> Prim:
    return prim(written_world(world)[0], "w", "m", "joints", "j")


def shaped(geometry: Geometry, pose: Pose = IDENTITY, **options: Any) -> World:
    world = World("w")
    body = world.add_model("m").add_body("a", moment=UNIT_MOMENT)
    body.visuals.append(Shape(geometry=geometry, pose=pose, color=(0.1, 0.2, 0.3, 0.4)))
    body.collisions.append(Shape(geometry=geometry, pose=pose, **options))
    return world


def codes(world: World) -> list[str]:
    _, output = written_world(world)
    return [loss.code for loss in output.losses]


def value(one: Prim, name: str) -> Any:
    found = [v for declaration, v in one.properties.items() if declaration.endswith(f" {name}")]
    return found[0] if found else None


# --- tables -------------------------------------------------------------------------------------------


def test_every_joint_and_shape_kind_has_a_mapping_row() -> None:
    assert mapping.JOINTS.keys() == TRAITS.keys()
    assert TRAITS.keys() - {"screw"} == NATIVE_JOINTS
    kinds = {g.__struct_config__.tag for g in Geometry.__args__}
    assert mapping.SHAPES.keys() == kinds


def test_mapping_tables_and_catalogue_have_the_same_codes() -> None:
    rows = [*mapping.JOINTS.values(), *mapping.SHAPES.values(), *(row for _, row in make_docs.USD_PARTS)]
    named = {code for row in rows for code in row.codes}
    assert named == {code for code in CATALOGUE.topics if code >= "US2"}
    assert {fate_of(code).value for code in named} == {"approximated", "dropped"}


def test_the_docs_contain_the_mapping_tables() -> None:
    page = (PROJECT / "docs" / "usd.md").read_text(encoding="utf-8")
    assert make_docs.with_usd_tables(page) == page, "run `make docs`"
    assert set(re.findall(r"US\d{3}", page)) == set(CATALOGUE.topics)


# --- stage and names ----------------------------------------------------------------------------------


def test_units_and_default_prim_are_written() -> None:
    layer, _ = written_world(World("w"))
    assert layer.metadata["metersPerUnit"] == layer.metadata["kilogramsPerUnit"] == 1
    assert layer.metadata["defaultPrim"] == "w"


@pytest.mark.parametrize(
    ("gravity", "axis"),
    [((0.0, -9.81, 0.0), "Y"), ((0.0, 0.0, -9.81), "Z"), ((0.0, 0.0, 0.0), "Z"), ((-9.81, 0.0, 0.0), "Z")],
)
def test_the_up_axis_is_opposite_to_gravity(gravity: Any, axis: str) -> None:
    layer, _ = written_world(World("w", gravity=gravity))
    assert (up_axis(World("w", gravity=gravity)), layer.metadata["upAxis"]) == (axis, axis)
    scene = prim(layer, "w", "PhysicsScene")
    size = value(scene, "physics:gravityMagnitude")
    assert np.allclose(size * np.array(value(scene, "physics:gravityDirection")), gravity)
    assert any(value(scene, "physics:gravityDirection")), "none would mean down, with the gravity of the earth"


def test_names_become_identifiers_with_display_names() -> None:
    world = World("my world")
    model = world.add_model("1 robot")
    for name in ("left/arm", "left.arm", "größe", "joints"):
        model.add_body(name, moment=UNIT_MOMENT)
    layer, _ = written_world(world)
    made = prim(layer, "my_world", "_1_robot")
    assert [one.name for one in made.children] == ["left_arm", "left_arm_1", "gr__e", "joints_1"]
    assert [one.metadata["displayName"] for one in made.children] == ["left/arm", "left.arm", "größe", "joints"]
    assert made.metadata["displayName"] == "1 robot"


def test_thousands_of_equal_names_become_unique() -> None:
    names = Identifiers()
    assert len({names.unique("a", "") for _ in range(20_000)}) == 20_000
    assert (Identifiers().unique("", "body"), Identifiers().unique("  ", "body")) == ("body", "body")


def test_strings_are_quoted() -> None:
    assert quote('a"b\\c\n\x01é') == '"a\\"b\\\\c\\n\\x01é"'


def test_each_world_has_its_own_physics_scene() -> None:
    scene = Scene([shaped(Box((1.0, 1.0, 1.0))), shaped(Box((1.0, 1.0, 1.0)))])
    layer, _ = written(scene)
    assert [one.name for one in layer.prims] == ["w", "w_1"]
    body = prim(layer, "w_1", "m", "a")
    assert value(body, "physics:simulationOwner") == "/w_1/PhysicsScene"
    assert value(body.children[1], "physics:simulationOwner") == "/w_1/PhysicsScene"


def test_a_number_out_of_single_precision_is_clipped() -> None:
    world = World("w")
    world.add_model("m").add_body("a", mass=1e39, moment=UNIT_MOMENT)
    assert "float physics:mass = 3.4e+38" in to_text(written_world(world)[0])


def test_double_precision_is_not_clipped() -> None:
    world = World("w")
    world.add_model("m").add_body("a", pose=Pose((1e95, 0.0, 0.0)), moment=UNIT_MOMENT)
    assert "double3 xformOp:translate = (1e+95, 0, 0)" in to_text(written_world(world)[0])


# --- bodies -------------------------------------------------------------------------------------------


def test_velocities_are_of_the_centre_of_mass_in_the_body_frame() -> None:
    world = World("w")
    turned = Pose((1.0, 0.0, 0.0), AxisAngle((0.0, 0.0, 1.0), pi / 2))
    world.add_model("m").add_body("a", pose=turned, com=(1.0, 0.0, 0.0), moment=UNIT_MOMENT)
    world.models[0].joints[0].velocities = (1.0, 0.0, 0.0, 0.0, 0.0, 1.0)  # about the world's x, and upwards
    made = prim(written_world(world)[0], "w", "m", "a")
    # The centre of mass is 1 m along the world's y, so the rotation about x adds 1 m/s upwards.
    assert np.allclose(value(made, "physics:velocity"), (0.0, 0.0, 2.0))
    assert np.allclose(value(made, "physics:angularVelocity"), (0.0, -degrees(1.0), 0.0))


def test_a_floating_body_has_the_velocity_of_its_joint() -> None:
    """Engines start from the joint.  What the body states besides is a loss."""
    world = World("w")
    body = world.add_model("m").add_body("a", moment=UNIT_MOMENT)
    body.state = BodyState(linear_velocity=(0.0, 0.0, 1.0))
    assert not any("elocity" in name for name in prim(written_world(world)[0], "w", "m", "a").properties)
    report = exoskel.convert(exoskel.Scene(worlds=[world]), None, to="usd")
    assert report.certificate.passed
    assert any("linear velocity cannot be expressed" in item.why for item in report.losses)


def test_gravity_sleep_and_markers_are_written() -> None:
    world = World("w")
    body = world.add_model("m").add_body("a", moment=UNIT_MOMENT)
    body.gravity = False
    body.state = BodyState(enabled=False)
    body.markers.append(Marker(name="tip", offset=(1.0, 2.0, 3.0)))
    made = prim(written_world(world)[0], "w", "m", "a")
    assert value(made, "physxRigidBody:disableGravity") is True
    assert value(made, "mjc:body:gravcomp") == 1.0
    assert value(made, "physics:startsAsleep") is True
    assert made.children[0].apis == ["NewtonSiteAPI"]
    assert value(made.children[0], "xformOp:translate") == (1.0, 2.0, 3.0)


def test_a_static_model_has_no_rigid_bodies_and_joints() -> None:
    world = world_of(positions=(1.0,))
    world.models[0].static = True
    layer, _ = written_world(world)
    assert [one.name for one in prim(layer, "w", "m").children] == ["a", "b"]
    assert all("PhysicsRigidBodyAPI" not in one.apis for one in layer.iter())
    assert np.allclose(value(prim(layer, "w", "m", "b"), "xformOp:orient"), (np.cos(0.5), 0, 0, np.sin(0.5)))
    assert codes(world) == ["US210"]


def test_a_diagonal_inertia_keeps_its_order() -> None:
    world = World("w")
    world.add_model("m").add_body("a", moment=(3.0, 1.0, 2.0, 0.0, 0.0, 0.0))
    made = prim(written_world(world)[0], "w", "m", "a")
    assert value(made, "physics:diagonalInertia") == (3.0, 1.0, 2.0)
    assert value(made, "physics:principalAxes") == (1.0, 0.0, 0.0, 0.0)


# --- joints -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "options", "type", "free"),
    [
        ("weld", {}, "PhysicsFixedJoint", ()),
        ("revolute", {}, "PhysicsRevoluteJoint", ()),
        ("prismatic", {}, "PhysicsPrismaticJoint", ()),
        ("ball", {}, "PhysicsSphericalJoint", ()),
        ("universal", {}, "PhysicsJoint", ("rotX", "rotY")),
        ("hinge2", {}, "PhysicsJoint", ("rotX", "rotY")),
        ("hinge2", {"drives": (Drive(suspension_cfm=0.1),)}, "PhysicsJoint", ("rotX", "rotY", "transX")),
        ("euler", {}, "PhysicsJoint", ("rotX", "rotY", "rotZ")),
        ("planar", {}, "PhysicsJoint", ("rotZ", "transX", "transY")),
        ("translational", {}, "PhysicsJoint", ("transX", "transY", "transZ")),
        ("translational2d", {}, "PhysicsJoint", ("transX", "transY")),
    ],
)
def test_joint_kinds_have_their_prims_and_axes(kind: str, options: Any, type: str, free: tuple[str, ...]) -> None:
    made = joint_of(world_of(kind, **options))
    assert made.type == type
    assert (value(made, "physics:body0"), value(made, "physics:body1")) == ("/w/m/a", "/w/m/b")
    axes = {name.split(":")[1] for name in made.apis if name.startswith("PhysicsLimitAPI")}
    moving = {a for a in axes if value(made, f"limit:{a}:physics:low") < value(made, f"limit:{a}:physics:high")}
    assert moving == set(free)
    assert len(axes) == (6 if type == "PhysicsJoint" else 0), "Newton moves only axes that are named"


def test_a_joint_to_the_world_has_one_body() -> None:
    made = prim(written_world(world_of())[0], "w", "m", "joints", "a_joint")
    assert value(made, "physics:body0") is None


@pytest.mark.parametrize("kind", ["free", "amotor"])
def test_a_floating_body_has_no_joint(kind: str) -> None:
    axes = {"axes": (XY[0], XY[1], Z[0])} if kind == "amotor" else {}
    world = world_of(kind, **axes)
    assert [one.name for one in prim(written_world(world)[0], "w", "m", "joints").children] == ["a_joint"]
    assert codes(world) == (["US302"] if kind == "amotor" else [])


def test_a_damped_floating_body_has_a_joint() -> None:
    world = world_of("free")
    for dof in world.models[0].joints[1].dofs:
        dof.damping = 2.0
    made = joint_of(world)
    assert value(made, "drive:transX:physics:damping") == 2.0
    assert value(made, "drive:rotX:physics:damping") == pytest.approx(radians(2.0))
    assert codes(world) == ["US202"]


@pytest.mark.parametrize(
    ("kind", "options", "bodies"),
    [
        ("screw", {}, 3),
        ("universal", {"axes": ((1.0, 0.0, 0.0), (1.0, 1.0, 0.0))}, 3),
        ("hinge2", {"axes": ((1.0, 0.0, 0.0), (1.0, 1.0, 0.0))}, 3),
        ("euler", {"order": "xyx"}, 4),
    ],
)
def test_unsupported_joints_become_chains(kind: str, options: Any, bodies: int) -> None:
    layer, _ = written_world(world_of(kind, **options))
    made = prim(layer, "w", "m")
    assert sum(one.type == "Xform" for one in made.children) == bodies
    assert {one.type for one in made.children[-1].children} <= {
        "PhysicsFixedJoint",
        "PhysicsRevoluteJoint",
        "PhysicsPrismaticJoint",
    }


def test_a_screw_becomes_a_prismatic_joint_that_mimics_a_revolute_joint() -> None:
    world = world_of("screw", pitch=0.5)
    layer, _ = written_world(world)
    slide = next(one for one in layer.iter() if one.type == "PhysicsPrismaticJoint")
    assert slide.apis == ["NewtonMimicAPI"]
    assert value(slide, "newton:mimicJoint") == "/w/m/joints/j"
    assert value(slide, "newton:mimicCoef1") == pytest.approx(0.5 / (2 * pi))
    assert codes(world) == ["US204"]


def test_a_loop_joint_is_excluded_from_the_articulation() -> None:
    world = world_of()
    model = world.models[0]
    model.add_joint("k", "revolute", child=model.body("b"), axes=Z)
    layer, _ = written_world(world)
    assert value(prim(layer, "w", "m", "joints", "k"), "physics:excludeFromArticulation") is True
    assert value(prim(layer, "w", "m", "joints", "j"), "physics:excludeFromArticulation") is None
    model.add_joint("s", "screw", child=model.body("b"), axes=Z)
    assert codes(world) == ["US313"]


@pytest.mark.parametrize(
    ("axis", "turn", "word", "inner"),
    [
        ((1.0, 0.0, 0.0), IDENTITY.rotation, "X", (1.0, 0.0, 0.0, 0.0)),
        ((-1.0, 0.0, 0.0), IDENTITY.rotation, "X", (0.0, 0.0, 0.0, 1.0)),
        ((0.0, -2.0, 0.0), IDENTITY.rotation, "Y", (0.0, 1.0, 0.0, 0.0)),
        ((0.0, 0.0, -1.0), IDENTITY.rotation, "Z", (0.0, 1.0, 0.0, 0.0)),
        ((1.0, 0.0, 0.0), AxisAngle((0.0, 0.0, 1.0), pi / 2), "Y", (1.0, 0.0, 0.0, 0.0)),
        ((1.0, 0.0, 0.0), AxisAngle((1.0, 0.0, 0.0), 0.3), "X", (1.0, 0.0, 0.0, 0.0)),
    ],
)
def test_an_axis_along_a_child_axis_has_an_exact_frame(axis: Any, turn: Any, word: str, inner: Any) -> None:
    world = world_of(axes=(axis,))
    world.models[0].joints[1].pose = Pose((0.1, 0.2, 0.3), turn)
    made = joint_of(world)
    assert value(made, "physics:axis") == word
    assert value(made, "physics:localRot1") == inner
    assert value(made, "physics:localPos1") == (0.1, 0.2, 0.3)


def test_limits_drives_and_states_are_in_degrees() -> None:
    world = world_of(positions=(0.5,), velocities=(2.0,))
    dof = world.models[0].joints[1].dofs[0]
    dof.position_limits, dof.stiffness, dof.damping, dof.rest = (-1.0, 2.0), 3.0, 4.0, 0.25
    made = joint_of(world)
    assert value(made, "physics:axis") == "Z"
    assert value(made, "physics:lowerLimit") == degrees(-1.0)
    assert value(made, "physics:upperLimit") == degrees(2.0)
    assert value(made, "drive:angular:physics:stiffness") == pytest.approx(radians(3.0))
    assert value(made, "drive:angular:physics:damping") == pytest.approx(radians(4.0))
    assert value(made, "drive:angular:physics:targetPosition") == degrees(0.25)
    assert value(made, "drive:angular:physics:type") == "force"
    assert value(made, "state:angular:physics:position") == degrees(0.5)
    assert value(made, "state:angular:physics:velocity") == degrees(2.0)
    assert not codes(world)


def test_a_left_handed_order_reverses_the_last_axis() -> None:
    world = world_of("euler", order="zyx", positions=(0.1, 0.2, 0.3))
    world.models[0].joints[1].dofs[2].position_limits = (-1.0, 2.0)
    world.models[0].joints[1].dofs[2].stiffness = 1.0
    world.models[0].joints[1].dofs[2].rest = 0.5
    made = joint_of(world)
    assert (value(made, "limit:rotZ:physics:low"), value(made, "limit:rotZ:physics:high")) == (
        degrees(-2.0),
        degrees(1.0),
    )
    assert value(made, "drive:rotZ:physics:targetPosition") == degrees(-0.5)
    assert value(made, "state:rotZ:physics:position") == degrees(-0.3)
    assert value(made, "state:rotX:physics:position") == degrees(0.1)


def test_newton_and_mujoco_properties_are_written() -> None:
    world = world_of("prismatic", drives=(Drive(stop_erp=0.8, stop_cfm=0.1),))
    world.time_step = 0.01
    dof = world.models[0].joints[1].dofs[0]
    dof.friction, dof.velocity_limits, dof.force_limits = 0.5, (-3.0, 3.0), (-4.0, 5.0)
    made = joint_of(world)
    assert (value(made, "newton:friction"), value(made, "mjc:frictionloss")) == (0.5, 0.5)
    assert value(made, "newton:velocityLimit") == 3.0
    assert (value(made, "mjc:actuatorfrcrange:min"), value(made, "mjc:actuatorfrcrange:max")) == (-4.0, 5.0)
    found = value(made, "newton:limitStiffness"), value(made, "newton:limitDamping")
    assert found == pytest.approx(spring_from_erp_cfm(0.8, 0.1, 0.01))
    assert {"NewtonJointAPI", "MjcJointAPI"} <= set(made.apis)
    assert not codes(world)


def test_mimic_joints_are_written() -> None:
    world = world_of()
    model = world.models[0]
    model.add_body(
        "c", moment=UNIT_MOMENT, parent="a", joint="revolute", joint_name="k", axes=Z, mimic=Mimic("j", 2.0, 0.5)
    )
    made = prim(written_world(world)[0], "w", "m", "joints", "k")
    assert value(made, "newton:mimicJoint") == PrimPath("/w/m/joints/j")
    assert (value(made, "newton:mimicCoef0"), value(made, "newton:mimicCoef1")) == (degrees(0.5), 2.0)
    assert not codes(world)


def test_a_motor_becomes_a_bounded_damper() -> None:
    world = world_of("prismatic", drives=(Drive(velocity=2.0, max_force=30.0),))
    made = joint_of(world)
    assert value(made, "drive:linear:physics:targetVelocity") == 2.0
    assert value(made, "drive:linear:physics:maxForce") == 30.0
    assert value(made, "drive:linear:physics:damping") == MOTOR_DAMPING
    assert codes(world) == ["US203"]


# --- losses -------------------------------------------------------------------------------------------


def changed(kind: str = "revolute", joint: dict[str, Any] | None = None, **dof: Any) -> World:
    world = world_of(kind, **(joint or {}))
    with no_edits():  # as a reader does, whose files may state what an edit refuses
        for name, given in dof.items():
            setattr(world.models[0].joints[1].dofs[0], name, given)
    return world


def with_cone() -> World:
    """A ball joint whose y axis turns up to 1 rad in all directions."""
    world = changed("ball")
    for coordinate in (0, 2):
        world.models[0].joints[-1].dofs[coordinate].position_limits = (-1.0, 1.0)
    return world


def without_axis() -> World:
    world = world_of("revolute")
    with no_edits():
        world.models[0].joints[1].axes = ((0.0, 0.0, 0.0),)
    return world


def bodied(**fields: Any) -> World:
    world = World("w")
    body = world.add_model("m").add_body("a", moment=UNIT_MOMENT)
    for name, given in fields.items():
        setattr(body, name, given)
    return world


def textured(file: str) -> Shape:
    return Shape(geometry=Box((1.0, 1.0, 1.0)), material=Material(texture=Texture(file)))


def driven(**values: Any) -> World:
    world = world_of()
    world.add_actuator("motor", "m/j", **values)
    return world


def with_tendon() -> World:
    """A fixed tendon of a joint with several axes."""
    world = world_of("translational")
    world.add_tendon("rope", joints={"m/j": 2.0})
    return world


LOST = {
    "US201": changed("universal"),
    "US203": changed(joint={"actuator": "servo"}),
    "US205": changed("translational", friction=1.0),
    "US208": changed("hinge2", {"swapped": True, "drives": (Drive(suspension_cfm=0.1),)}),
    "US211": bodied(inertia=Inertia(mass=0.0)),
    "US212": World("w", time_step=0.003),
    "US213": bodied(inertia=Inertia(mass=1e60)),
    "US214": bodied(soft=SoftBody(total_mass=1.0, geometry=Box((1.0, 1.0, 1.0)))),
    "US216": World("w", lights=[SceneLight(ambient=(0.1, 0.1, 0.1))]),
    "US315": World("w", cameras=[SceneCamera(field_of_view=180.0)]),
    "US215": bodied(visuals=[textured("missing.png")]),
    "US314": bodied(visuals=[textured(__file__)]),
    "US301": bodied(soft=SoftBody(total_mass=1.0)),
    "US217": with_cone(),
    "US303": changed("ball", stiffness=1.0),
    "US304": changed(joint={"limits_enforced": False}, position_limits=(0.0, 1.0)),
    "US305": changed(acceleration_limits=(0.0, 1.0)),
    "US306": changed(joint={"drives": (Drive(bounce=0.5),)}),
    "US307": changed(force=1.0),
    "US309": changed(joint={"mimic": Mimic("nobody")}),
    "US311": World("w", collision_detector="bullet"),
    "US312": without_axis(),
    "US218": driven(control=2.0),
    "US219": with_tendon(),
}
OTHERS = [
    ("US203", changed(joint={"actuator": "locked"})),
    ("US203", changed(joint={"actuator": "servo"}, stiffness=1.0)),
    ("US205", changed(velocity_limits=(-1.0, 2.0))),
    ("US211", bodied(inertia=Inertia(moment=(0.0, 1.0, 1.0, 0.0, 0.0, 0.0)))),
    ("US213", changed(stiffness=1e60)),
    ("US213", changed(damping=1e60)),
    ("US213", changed(friction=1e60)),
    ("US304", changed(position_limits=(1.0, 0.0))),
    ("US305", changed(force_limits=(-inf, 1.0))),
    ("US306", World("w", erp=0.2)),
    ("US307", bodied(state=BodyState(force=(1.0, 0.0, 0.0)))),
    ("US307", bodied(state=BodyState(finite_rotation=FiniteRotation(1)))),
    ("US309", changed("translational", {"mimic": Mimic("a_joint")})),
]


@pytest.mark.parametrize(("code", "world"), [*LOST.items(), *OTHERS])
def test_losses_are_reported(code: str, world: World) -> None:
    assert code in codes(world)


@pytest.mark.parametrize("field", ["stiffness", "damping", "friction"])
def test_a_number_out_of_range_is_a_loss_of_its_field(field: str) -> None:
    _, output = written_world(changed(**{field: 1e60}))
    assert {loss.fields for loss in output.losses if loss.code == "US213"} == {(field,)}


def test_a_massless_body_stays_almost_massless() -> None:
    """OpenUSD takes a mass or moment of zero as not stated, and would compute 1000 kg from this box."""
    box = Shape(geometry=Box((1.0, 1.0, 1.0)))
    massless = bodied(collisions=[box], inertia=Inertia(mass=0.0, moment=(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)))
    pointlike = bodied(collisions=[box], inertia=Inertia(mass=2.0, moment=(0.0, 1.0, 1.0, 0.0, 0.0, 0.0)))
    for world, moments in ((massless, (MIN_MOMENT,) * 3), (pointlike, (MIN_MOMENT, 1.0, 1.0))):
        layer, _ = written_world(world)
        stated = next(one for root in layer.prims for one in root.iter() if "PhysicsMassAPI" in one.apis).properties
        assert stated["float physics:mass"] == (next(world.bodies()).mass or MIN_MASS)
        assert stated["float3 physics:diagonalInertia"] == pytest.approx(moments, rel=1e-9)
        result = exoskel.convert(exoskel.Scene(worlds=[world]), None, to="usd")
        assert result.certificate.passed
        back = exoskel.load(result.data)
        assert next(back.world.bodies()).mass == pytest.approx(next(world.bodies()).mass, abs=1e-9)


def test_every_loss_has_a_test_case() -> None:
    shown = {*LOST, "US202", "US204", "US207", "US210", "US302", "US308", "US313", "US316"}
    assert shown == {code for code in CATALOGUE.topics if code >= "US2"}


def test_a_simple_world_has_no_losses() -> None:
    for kind in ("weld", "revolute", "prismatic", "ball", "planar", "translational", "translational2d", "free"):
        assert not codes(world_of(kind)), kind


# --- shapes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("geometry", "type", "properties"),
    [
        (Box((1.0, 2.0, 3.0)), "Cube", {"size": 1.0, "xformOp:scale": (1.0, 2.0, 3.0)}),
        (Sphere(2.0), "Sphere", {"radius": 2.0}),
        (Cylinder(1.0, 2.0), "Cylinder", {"radius": 1.0, "height": 2.0, "axis": "Z"}),
        (Capsule(1.0, 2.0), "Capsule", {"radius": 1.0, "height": 2.0, "axis": "Z"}),
        (Cone(1.0, 2.0), "Cone", {"radius": 1.0, "height": 2.0, "axis": "Z"}),
        (Plane((0.0, 0.0, 1.0)), "Plane", {"axis": "Z"}),
    ],
)
def test_primitive_shapes_are_exact(geometry: Geometry, type: str, properties: dict[str, Any]) -> None:
    world = shaped(geometry, TURNED)
    seen, solid = prim(written_world(world)[0], "w", "m", "a").children
    for one in (seen, solid):
        assert one.type == type
        assert {name: value(one, name) for name in properties} == properties
        assert value(one, "xformOp:translate") == TURNED.position
        assert np.allclose(value(one, "xformOp:orient"), TURNED.quaternion)
    assert solid.apis == ["PhysicsCollisionAPI"]
    assert value(solid, "purpose") == "guide"
    assert not codes(world)


def test_planes_and_cones_have_their_poses() -> None:
    plane = prim(written_world(shaped(Plane((0.0, 1.0, 0.0), 2.0)))[0], "w", "m", "a").children[1]
    assert value(plane, "xformOp:translate") == (0.0, 2.0, 0.0)
    rotation = Pose((0.0, 0.0, 0.0), _quaternion(value(plane, "xformOp:orient"))).matrix()[:3, :3]
    assert np.allclose(rotation @ (0.0, 0.0, 1.0), (0.0, 1.0, 0.0))
    cone = prim(written_world(shaped(Cone(1.0, 4.0, centred=False)))[0], "w", "m", "a").children[1]
    assert value(cone, "xformOp:translate") == (0.0, 0.0, 2.0)


def _quaternion(wxyz: Any) -> Any:
    from exoskel.scene.pose import Quaternion

    return Quaternion(wxyz)


_TRIANGLE = TriMesh(np.eye(3), np.array([[0, 1, 2]]))


@pytest.mark.parametrize(
    ("geometry", "approximation", "expected"),
    [
        (Ellipsoid((1.0, 2.0, 3.0)), "convexHull", ["US207"]),
        (MultiSphere((Ball(1.0, (0.0, 0.0, 1.0)), Ball(2.0, (0.0, 1.0, 0.0)))), "convexHull", ["US207"]),
        (Pyramid(1.0, 2.0, 3.0), "convexHull", []),
        (_TRIANGLE, "none", []),
    ],
)
def test_unsupported_colliders_become_meshes(geometry: Geometry, approximation: str, expected: list[str]) -> None:
    world = shaped(geometry)
    solid = prim(written_world(world)[0], "w", "m", "a").children[1]
    assert solid.type == "Mesh"
    assert value(solid, "physics:approximation") == approximation
    points = np.array(value(solid, "points"))
    (low, high), bounds = np.array(geometry.bounds()), value(solid, "extent")
    assert np.array_equal(bounds, [points.min(axis=0), points.max(axis=0)])
    assert (np.abs(bounds - np.stack([low, high])) <= 0.02 * (high - low).max()).all()
    assert codes(world) == expected


def test_a_visual_ellipsoid_is_a_scaled_sphere() -> None:
    seen = prim(written_world(shaped(Ellipsoid((1.0, 2.0, 3.0))))[0], "w", "m", "a").children[0]
    assert (seen.type, value(seen, "radius"), value(seen, "xformOp:scale")) == ("Sphere", 0.5, (1.0, 2.0, 3.0))


def test_a_mesh_used_twice_is_written_once() -> None:
    world = World("w")
    for name in ("a", "b", "c"):
        body = world.add_model(name).add_body(name, moment=UNIT_MOMENT)
        body.collisions.append(Shape(geometry=_TRIANGLE))
    layer, _ = written_world(world)
    used = [prim(layer, "w", name, name).children[0] for name in ("a", "b", "c")]
    assert {one.metadata["references"] for one in used} == {"/Meshes/mesh"}
    assert (layer.prims[1].specifier, len(layer.prims[1].children)) == ("class", 1)


@pytest.mark.parametrize("geometry", [Ray(1.0), Mesh("nowhere.obj")])
def test_shapes_without_a_surface_are_reported(geometry: Geometry) -> None:
    world = shaped(geometry)
    assert not prim(written_world(world)[0], "w", "m", "a").children
    assert codes(world) == ["US308", "US308"]


def test_each_colour_is_one_material() -> None:
    world = shaped(Sphere(1.0))
    world.models[0].bodies[0].visuals.append(Shape(geometry=Sphere(2.0), color=(0.1, 0.2, 0.3, 0.4)))
    layer, _ = written_world(world)
    one, two, _ = prim(layer, "w", "m", "a").children
    assert value(one, "material:binding") == value(two, "material:binding") == "/w/Looks/color"
    shader = prim(layer, "w", "Looks", "color", "shader")
    assert value(shader, "inputs:diffuseColor") == (0.1, 0.2, 0.3)
    assert value(shader, "inputs:opacity") == 0.4
    assert value(one, "primvars:displayColor") == [(0.1, 0.2, 0.3)]


def test_contacts_have_the_default_friction() -> None:
    layer, _ = written_world(shaped(Sphere(1.0)))
    assert value(prim(layer, "w"), "material:binding:physics") == "/w/Looks/contact"
    contact = prim(layer, "w", "Looks", "contact")
    assert (value(contact, "physics:dynamicFriction"), value(contact, "physics:restitution")) == (1.0, 0.0)


def test_a_shape_that_does_not_collide_round_trips() -> None:
    solid = prim(written_world(shaped(Sphere(1.0), collidable=False))[0], "w", "m", "a").children[1]
    assert value(solid, "physics:collisionEnabled") is False


# --- groups -------------------------------------------------------------------------------------------


def solid_pair(**options: Any) -> World:
    world = world_of()
    for name, given in options.items():
        setattr(world, name, given)
    for body in world.bodies():
        body.collisions.append(Shape(geometry=Sphere(1.0), name=f"{body.name}_shape"))
    return world


def groups(world: World) -> list[Prim]:
    return [one for one in written_world(world)[0].iter() if one.type == "PhysicsCollisionGroup"]


def test_bodies_of_a_model_do_not_collide_by_default() -> None:
    (group,) = groups(solid_pair())
    assert value(group, "collection:colliders:includes") == ["/w/m"]
    assert value(group, "physics:filteredGroups") == "/w/CollisionGroups/m"
    layer, _ = written_world(solid_pair())
    assert value(prim(layer, "w", "m"), "newton:selfCollisionEnabled") is False


def test_bodies_of_a_model_collide_with_self_collision() -> None:
    assert not groups(solid_pair(self_collision=True))
    layer, _ = written_world(solid_pair(self_collision=True))
    assert value(prim(layer, "w", "m"), "newton:selfCollisionEnabled") is True


def test_exempt_groups_do_not_collide() -> None:
    (group,) = groups(solid_pair(self_collision=True, collision_exempt_groups=[("a", "nobody")]))
    assert value(group, "collection:colliders:includes") == ["/w/m/a/a_shape"]


def test_models_without_joints_are_not_articulations() -> None:
    layer, _ = written_world(shaped(Sphere(1.0)))
    assert "PhysicsArticulationRootAPI" not in prim(layer, "w", "m").apis
    assert "PhysicsArticulationRootAPI" in prim(written_world(world_of())[0], "w", "m").apis


def test_an_empty_scene_is_written() -> None:
    assert to_text(written(Scene())[0]).startswith("#usda 1.0")
    assert Model(name="m") is not None
    world = World("w")
    world.add_model("nothing")
    assert not codes(world)


@pytest.mark.parametrize("step", [1e-12, 1e-30, 5e-324])
def test_more_steps_per_second_than_usd_can_count_are_written_as_the_most(step: float) -> None:
    """usd-core refused the file, and the reciprocal of the smallest number overflowed."""
    text = exoskel.convert(World("w", time_step=step), None, to="usd").data.decode()
    assert "uniform int newton:timeStepsPerSecond = 2147483647\n" in text


SURFACE = """<sdf version="1.9"><world name="w"><gravity>0 0 -9.8</gravity><model name="m"><link name="l">{}</link></model>
</world></sdf>"""
COLLISION = (
    """<collision name="c{}"><geometry><box><size>1 1 1</size></box></geometry><surface>{}</surface></collision>"""
)
RUBBING = "<friction><ode><mu>{0}</mu><mu2>{0}</mu2></ode></friction>"
BOUNCING = "<bounce><restitution_coefficient>{}</restitution_coefficient></bounce>"


def test_friction_and_restitution_are_physics_materials() -> None:
    surfaces = [
        RUBBING.format(0.3),
        BOUNCING.format(0.7),
        RUBBING.format(0.3) + BOUNCING.format(0.7),
        "",
        RUBBING.format(0),
    ]
    text = SURFACE.format("".join(COLLISION.format(i, surface) for i, surface in enumerate(surfaces)))
    report = exoskel.convert(text, to="usd")
    assert report.certificate.passed
    assert {item.fate.value for item in report.items if item.path.endswith(("/mu", "/restitution_coefficient"))} == {
        "exact"
    }
    shapes = read_back(report.data).worlds[0].models[0].bodies[0].collisions
    found = [(shape.friction, shape.restitution) for shape in shapes]
    assert found == [
        (approx32(0.3), 0.0),
        (1.0, approx32(0.7)),
        (approx32(0.3), approx32(0.7)),
        (None, None),
        (0.0, 0.0),
    ]


def test_a_wrong_friction_fails_the_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MaterialWriter, "of_contact", lambda self, _: self.contact)
    report = exoskel.convert(SURFACE.format(COLLISION.format(0, RUBBING.format(0.3))), to="usd")
    assert [check.name for check in report.certificate.checks if not check.passed] == ["shapes"]


def approx32(value: float) -> object:
    return pytest.approx(value, rel=1e-6)


# --- soft bodies --------------------------------------------------------------------------------------


def test_a_soft_skin_is_a_mesh_that_is_not_read_as_a_shape(tmp_path: Path) -> None:
    soft = SoftBody(total_mass=1.0, geometry=Box((0.2, 0.2, 0.4)), pose=Pose((0.1, 0.0, 0.0)))
    world = bodied(soft=soft)
    world.models[0].bodies[0].visuals.append(Shape(geometry=Sphere(0.1)))
    file = tmp_path / "soft.usda"
    report = exoskel.convert(Scene([world]), file)
    assert report.certificate.passed
    layer, _ = written_world(world)
    mesh = prim(layer, "w", "m", "a", "skin")
    assert mesh.type == "Mesh"
    points = np.array(value(mesh, "points"))
    assert points.min(axis=0) == pytest.approx((0.0, -0.1, -0.2)) and points.max(axis=0) == pytest.approx(
        (0.2, 0.1, 0.2)
    )
    (body,) = exoskel.load(file).world.bodies()
    assert [shape.kind for shape in body.shapes] == ["sphere"]
    (again,) = read_back(report.data).worlds[0].bodies()
    assert [shape.kind for shape in again.shapes] == ["sphere"]


def test_writing_without_usd_core_says_that_writing_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pxr", None)
    with pytest.raises(exoskel.ExoskelError, match="writing USD needs the module pxr of OpenUSD; run: pip install"):
        exoskel.convert("dart://sample/skel/pendulum.skel", None, to="usd")
