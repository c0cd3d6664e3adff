"""Writing SDFormat: versions, names, chains of joints, and reported losses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import exoskel
from exoskel import Model, Scene, World
from exoskel.formats.sdf.write import write
from exoskel.scene.body import Body, BodyState, Marker, SoftBody
from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.inertia import UNIT_MOMENT, Inertia
from exoskel.scene.joint import Drive, Mimic
from exoskel.scene.pose import IDENTITY, AxisAngle, Pose
from exoskel.scene.shape import (
    Ball,
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    Geometry,
    Mesh,
    MultiSphere,
    Plane,
    Ray,
    Shape,
    Sphere,
)
from exoskel.source.markup import serialize
from exoskel.source.output_context import OutputContext
from tests.sdf.support import load_text, written, written_world


def world_of(kind: Any = "free", **options: Any) -> World:
    world = World("w")
    model = world.add_model("m")
    model.add_body("a", moment=UNIT_MOMENT, joint="weld")
    model.add_body("b", moment=UNIT_MOMENT, parent="a", joint=kind, joint_name="j", **options)
    return world


def following() -> World:
    world = world_of("revolute", axes=((0, 0, 1),))
    world.models[0].add_body(
        "c", moment=UNIT_MOMENT, parent="a", joint="revolute", axes=((0, 0, 1),), mimic=Mimic("j", 2.0, 0.5)
    )
    return world


def shaped(geometry: Geometry, pose: Pose = IDENTITY) -> World:
    world = World("w")
    body = world.add_model("m").add_body("a", moment=UNIT_MOMENT)
    body.visuals.append(Shape(geometry=geometry, pose=pose, color=(0.1, 0.2, 0.3, 0.4)))
    body.collisions.append(Shape(geometry=geometry, pose=pose))
    return world


def back(world: World) -> World:
    text, _ = written_world(world)
    scene = load_text(text)
    assert not [str(d) for d in scene.diagnostics if d.severity != "info"]
    return scene.world


def reasons(world: World) -> list[str]:
    return [loss.text for loss in written_world(world)[1].losses]


@pytest.mark.parametrize(
    ("world", "version"),
    [
        (shaped(Box((1.0, 2.0, 3.0))), "1.6"),
        (shaped(Capsule(1.0, 2.0)), "1.8"),
        (shaped(Ellipsoid((1.0, 2.0, 3.0))), "1.8"),
        (shaped(Cone(1.0, 2.0)), "1.11"),
        (world_of("screw", axes=((0, 0, 1),)), "1.10"),
        (following(), "1.11"),
    ],
)
def test_the_oldest_sufficient_version_is_written(world: World, version: str) -> None:
    assert f'<sdf version="{version}">' in written_world(world)[0]


TURNED = Pose((1.0, 2.0, 3.0), AxisAngle((1.0, 2.0, 3.0), 0.5))


@pytest.mark.parametrize(
    "geometry",
    [Box((1, 2, 3)), Sphere(1), Cylinder(1, 2), Capsule(1, 2), Ellipsoid((1, 2, 3)), Cone(1, 2), Plane((0, 0, 1))],
)
def test_shapes_round_trip(geometry: Geometry) -> None:
    body = back(shaped(geometry, TURNED)).models[0].bodies[0]
    for shape in (*body.visuals, *body.collisions):
        assert shape.geometry == geometry
        assert np.abs(shape.pose.matrix() - TURNED.matrix()).max() < 1e-12
    assert body.visuals[0].color == (0.1, 0.2, 0.3, 0.4)


def test_a_plane_with_offset_and_a_cone_on_its_base_are_translated() -> None:
    plane = back(shaped(Plane((0.0, 1.0, 0.0), 2.0))).models[0].bodies[0].collisions[0]
    assert (plane.geometry, plane.pose.position) == (Plane((0.0, 1.0, 0.0)), (0.0, 2.0, 0.0))
    cone = back(shaped(Cone(1.0, 4.0, centred=False))).models[0].bodies[0].collisions[0]
    assert (cone.geometry, cone.pose.position) == (Cone(1.0, 4.0), (0.0, 0.0, 2.0))


def test_a_shape_that_does_not_collide_round_trips() -> None:
    world = shaped(Box((1, 1, 1)))
    world.models[0].bodies[0].collisions[0].collidable = False
    assert not back(world).models[0].bodies[0].collisions[0].collidable


def test_a_mesh_is_written_as_a_reference() -> None:
    text, _ = written_world(shaped(Mesh("a/b.obj", (1.0, 2.0, 3.0))))
    assert "<uri>a/b.obj</uri>" in text
    assert "<scale>1 2 3</scale>" in text


def test_unsupported_geometries_are_reported() -> None:
    text, output = written_world(shaped(Ray(1)))
    assert "<geometry>" not in text
    assert [loss.text for loss in output.losses] == ["SDF does not support this geometry: the shape is not written"] * 2


def test_a_multi_sphere_is_written_as_spheres() -> None:
    world = shaped(MultiSphere((Ball(1.0, (0.0, 0.0, 1.0)), Ball(2.0, (0.0, 1.0, 0.0)))))
    assert [s.geometry for s in back(world).models[0].bodies[0].collisions] == [Sphere(1.0), Sphere(2.0)]
    assert len(reasons(world)) == 2


@pytest.mark.parametrize(
    ("kind", "options", "links"),
    [
        ("euler", {}, 3),
        ("translational", {}, 3),
        ("planar", {}, 3),
        ("translational2d", {}, 2),
        ("free", {}, 4),
        ("hinge2", {"axes": ((0, 0, 1), (0, 1, 0))}, 1),
        ("universal", {"axes": ((0, 0, 1), (0, 1, 0))}, 1),
    ],
)
def test_unsupported_joints_become_chains(kind: str, options: dict[str, Any], links: int) -> None:
    world = world_of(kind, **options)
    again = back(world)
    assert len(again.models[0].joints) == 1 + links
    assert again.dof_count == world.dof_count


def test_elements_refer_to_items_of_the_original_scene() -> None:
    world = world_of("euler", positions=(1.0, 0.0, 0.0), actuator="servo")
    output = OutputContext()
    root = write(Scene([world]), output)
    items = [element.item for element in root.iter() if element.item is not None]
    model = world.models[0]
    assert items[1:] == [world, model, *model.bodies, *model.joints]
    assert any(loss.item is model.joint("j") for loss in output.losses)


def test_engine_parameters_round_trip() -> None:
    world = world_of("revolute", axes=((0, 0, 1),), drives=(Drive(velocity=1.0, max_force=2.0, stop_erp=0.3),))
    world.erp, world.cfm, world.collision_detector, world.self_collision = 0.1, 0.2, "bullet", True
    again = back(world)
    assert (again.erp, again.cfm, again.collision_detector, again.self_collision) == (0.1, 0.2, "bullet", True)
    assert again.models[0].joint("j").drives == world.models[0].joint("j").drives


def test_names_are_made_valid_for_sdformat() -> None:
    world = World("world")
    model = world.add_model("a::b")
    model.add_body("world", moment=UNIT_MOMENT, joint_name="x")
    model.add_body("x", moment=UNIT_MOMENT, parent="world", joint="ball", joint_name="x ")
    again = back(world)
    assert again.name == "default"
    assert again.models[0].name == "a__b"
    assert [body.name for body in again.models[0].bodies] == ["world_1", "x"]
    assert again.models[0].joints[1].name == "x(1)"


def test_names_of_shapes_are_made_valid_for_sdformat() -> None:
    world = World("w")
    body = world.add_model("m").add_body("a", moment=UNIT_MOMENT)
    body.collisions += [Shape(Sphere(1.0), name=name) for name in ("world", "__a__", "____")]
    body.visuals.append(Shape(Sphere(1.0), name="one\ttwo  three\n"))
    again = back(world).models[0].body("a")
    assert [shape.name for shape in again.collisions] == ["world_1", "a_1", "collision_1"]
    assert [shape.name for shape in again.visuals] == ["one two three"]


def test_spaces_in_names_are_joined_because_libsdformat_joins_them_in_references() -> None:
    world = World("w")
    model = world.add_model("m")
    model.add_body("one  two", moment=UNIT_MOMENT, joint="weld")
    model.add_body("three\tfour", moment=UNIT_MOMENT, parent="one  two", joint="ball")
    again = back(world).models[0]
    assert [body.name for body in again.bodies] == ["one two", "three four"]
    assert again.joints[1].parent is again.bodies[0]


def test_a_model_without_bodies_is_static_because_libsdformat_refuses_others_without_links() -> None:
    world = World("w")
    world.add_model("m")
    assert back(world).models[0].static


def test_a_static_model_is_written_at_its_initial_pose() -> None:
    world = world_of("revolute", axes=((0, 0, 1),), positions=(0.5,), pose=Pose((1.0, 0.0, 0.0)))
    world.models[0].static = True
    again = back(world)
    assert [joint.kind for joint in again.models[0].joints] == ["weld", "weld"]
    w, x, y, _ = again.models[0].body("b").pose.quaternion
    assert (x, y) == (0.0, 0.0)
    assert abs(w - np.cos(0.25)) < 1e-12


def test_several_worlds_are_written_to_one_document() -> None:
    text, _ = written(Scene([World("one"), World("two")]))
    assert [world.name for world in load_text(text).worlds] == ["one", "two"]


def _limited(**limits: Any) -> World:
    world = world_of("revolute", axes=((0, 0, 1),))
    for field, value in limits.items():
        setattr(world.models[0].joint("j").dofs[0], field, value)
    return world


def _bodied(**fields: Any) -> World:
    body = Body(name="a", inertia=Inertia(), **fields)
    model = Model(name="m", bodies=[body])
    model.add_joint("j", "free", child=body)
    return World("w", models=[model])


def _looped(kind: Any) -> World:
    world = world_of("ball")
    model = world.models[0]
    model.add_joint("k", kind, child=model.body("b"), parent=model.body("a"), **_AXES.get(kind, {}))
    return world


_AXES: dict[str, dict[str, Any]] = {"amotor": {"axes": ((1, 0, 0), (0, 1, 0), (0, 0, 1))}}


def _passing() -> World:
    world = World("w")
    world.collision_exempt_groups.append(("a", "b"))
    return world


def _springy_root() -> World:
    world = _bodied()
    world.models[0].joint("j").dofs[0].damping = 1.0
    return world


def _springy_ball() -> World:
    world = world_of("ball")
    world.models[0].joint("j").dofs[0].stiffness = 1.0
    return world


def _zero_axis() -> World:
    world = world_of("revolute", axes=((0, 0, 1),))
    with no_edits():  # only a file may have it
        world.models[0].joint("j").axes = ((0.0, 0.0, 0.0),)
    return world


def _unenforced() -> World:
    world = _limited(position_limits=(-1.0, 1.0))
    world.models[0].joint("j").limits_enforced = False
    return world


LOSSES: list[tuple[World, str]] = [
    (world_of("revolute", axes=((0, 0, 1),), positions=(1.0,)), "initial state: links are written at rest"),
    (world_of("revolute", axes=((0, 0, 1),), actuator="servo"), "no actuators: 'servo'"),
    (_zero_axis(), "written as fixed"),
    (world_of("revolute", axes=((0, 0, 1),), mimic=Mimic("nobody")), "mimics a joint that is not written"),
    (
        world_of("hinge2", axes=((0, 0, 1), (0, 1, 0)), drives=(Drive(cfm=1.0), Drive(cfm=2.0))),
        "one set of ODE parameters",
    ),
    (_limited(force_limits=(-1.0, 2.0)), "one effort limit for both directions"),
    (_limited(velocity_limits=(-1.0, 2.0)), "one velocity limit for both directions"),
    (_limited(acceleration_limits=(-1.0, 1.0)), "no acceleration limits"),
    (_unenforced(), "not enforced"),
    (_limited(force_limits=(-1e50, 1e50)), "1e16 or more mean no limit"),
    (_limited(position_limits=(-1.0, 1e17)), "1e16 or more mean no limit"),
    (_springy_ball(), "joints without axes"),
    (_springy_root(), "springs and dampers are not written"),
    (_bodied(soft=SoftBody(total_mass=1.0)), "no soft bodies"),
    (_bodied(markers=[Marker(name="x")]), "no markers"),
    (_bodied(state=BodyState()), "no initial state of links"),
    (_looped("amotor"), "angular motors are not supported"),
    (_looped("euler"), "euler joints that close a loop"),
    (_passing(), "no groups exempt from collision"),
]


@pytest.mark.parametrize(("world", "words"), LOSSES, ids=[words for _, words in LOSSES])
def test_losses_are_reported(world: World, words: str) -> None:
    assert any(words in why for why in reasons(world)), reasons(world)


def test_the_pose_and_positions_of_a_free_joint_are_reported_as_lost() -> None:
    world = _bodied()
    world.models[0].joint("j").pose = Pose((1.0, 0.0, 0.0))
    world.models[0].joint("j").positions = (0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    assert [why.partition(":")[0] for why in reasons(world)] == [
        "SDF has no initial state",
        "a floating link has no joint in SDF",
    ]


def test_a_massless_body_gets_the_minimum_mass() -> None:
    world = exoskel.World()
    model = world.add_model("m")
    base = model.add_body("base", mass=2.0, moment=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
    between = model.add_body("between", parent=base, joint="revolute", axes=[(0.0, 0.0, 1.0)])
    between.mass, between.inertia.moment = 0.0, (0.0,) * 6
    output = OutputContext()
    text = serialize(write(Scene(worlds=[world]), output))
    found = exoskel.load(text.encode()).world.model("m")
    assert found.body("between").mass == 1e-12
    assert found.body("base").mass == 2.0
    assert any("massless" in loss.text for loss in output.losses if loss.item is between)


def test_computed_numbers_are_written_without_rounding_errors() -> None:
    turned = AxisAngle((0.0, 3.0, 0.0), 0.16)
    world = shaped(Cone(0.1, 0.2, centred=False), Pose((0.1, 0.2, 0.3), AxisAngle((1.0, 0.0, 0.0), np.pi)))
    world.models[0].bodies[0].pose = Pose((1.0 / 3.0, 0.2, 0.7000000000000001), turned)
    text = serialize(write(Scene([world]), OutputContext()))
    assert "<pose>0.3333333333333333 0.2 0.7000000000000001 0 0.16 0</pose>" in text
    assert "<pose>0.1 0.2 0.2 3.14159265359 0 0</pose>" in text
