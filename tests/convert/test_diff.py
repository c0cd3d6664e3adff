"""Differences in meaning: none if only the notation differs, one if one value changed."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from functools import lru_cache
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import exoskel
from exoskel import (
    AxisAngle,
    Body,
    BodyState,
    Box,
    DiffEntry,
    Drive,
    Euler,
    Inertia,
    Joint,
    Marker,
    Matrix,
    Mesh,
    Mimic,
    Model,
    Pose,
    Quaternion,
    Scene,
    Shape,
    SoftBody,
    Sphere,
    TriMesh,
    World,
    diff,
)
from exoskel.formats.write import reread, write
from exoskel.samples import Sample, samples
from exoskel.scene.actuator import Actuator
from exoskel.scene.cameras_and_keyframes import Keyframe, SceneCamera, SceneLight
from exoskel.scene.equality import Equality
from exoskel.scene.fields import DOF_FIELDS, FIELDS, iter_items
from exoskel.scene.item import Item
from exoskel.scene.merge import copy_world
from exoskel.scene.sensor import SceneSensor
from exoskel.scene.shape import DEFAULT_COLOR, Material, Texture
from exoskel.scene.solver_parameters import SolverParameters
from exoskel.scene.tendon import Tendon, TendonJoint
from tests.support.xml import body, one_body, skeleton, world

MESHED = "lab/crate/body[box]/visual[1]"
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def lab() -> Scene:
    """A world with items of all types."""
    scene = World(name="lab", erp=0.2, cfm=1e-5, collision_exempt_groups=[("a", "b")])
    arm = scene.add_model("arm", pose=Pose((1.0, 2.0, 3.0), Euler((0.1, 0.2, 0.3))))
    upper = arm.add_body("upper", mass=2.0, shapes=[Box((0.1, 0.2, 0.3))], joint="revolute", axes=(Z,))
    hand = arm.add_body("hand", pose=Pose((0.0, 0.0, 1.0)), parent=upper, joint="euler")
    hand.markers.append(Marker(name="tip", offset=(0.0, 0.0, 0.1)))
    hand.visuals.append(Shape(geometry=Sphere(0.1), name="ball"))
    arm.add_body("slide", parent=upper, joint="planar", shapes=[Sphere(0.1)])
    arm.add_body("nut", parent=hand, joint="screw", axes=(X,))
    arm.add_body("cross", parent=hand, joint="universal", axes=(X, Y))
    arm.add_joint("rope", "ball", child=hand)
    crate = scene.add_model("crate")
    crate.add_body("box", shapes=[Box((1.0, 1.0, 1.0))])
    hand.inertia = Inertia(mass=1.0, moment=None)  # as in a file: the centre of mass does not follow the shapes
    return Scene(worlds=[scene])


def copy_of(scene: Scene) -> Scene:
    return Scene(worlds=[copy_world(one) for one in scene.worlds], documents=scene.documents)


def kinds(found: list[DiffEntry]) -> list[tuple[str, str]]:
    return [(contrast.path, contrast.kind) for contrast in found]


def only(found: list[DiffEntry]) -> DiffEntry:
    (contrast,) = found
    return contrast


def one_and(edit: Callable[[World], Any]) -> list[DiffEntry]:
    """The lab, compared with itself after one edit."""
    a, b = lab(), lab()
    edit(b.world)
    found = diff(a, b)
    assert len(diff(b, a)) == len(found)
    return found


# --- the same ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("sample", samples(), ids=lambda sample: sample.uri.removeprefix("dart://sample/"))
@pytest.mark.parametrize("format", ["skel", "xode"])
def test_a_sample_means_the_same_in_every_format(sample: Sample, format: str) -> None:
    folder = sample.path.parent
    scene = exoskel.load(sample.uri)
    written = reread(write(scene, format, folder=folder).data, format, folder)
    assert diff(scene, scene) == diff(scene, exoskel.load(sample.path)) == []
    assert diff(scene, written) == diff(written, scene) == []


TURNS = [
    Euler((0.0, 0.0, 90.0), degrees=True),
    Euler((np.pi / 2, 0.0, 0.0), order="zyx"),
    Quaternion((1.0, 0.0, 0.0, 1.0)),
    AxisAngle((0.0, 0.0, 3.0), np.pi / 2),
    Matrix(((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0))),
]


@pytest.mark.parametrize("turn", TURNS, ids=lambda turn: type(turn).__name__)
def test_rotations_are_compared_independent_of_their_notation(turn: Any) -> None:
    pose = Pose((1.0, 0.0, 0.0), Euler((0.0, 0.0, np.pi / 2)))

    def scene(pose: Pose) -> Scene:
        found = lab()
        (arm, _) = found.world.models
        arm.pose = arm.bodies[1].pose = arm.bodies[0].visuals[0].pose = arm.joints[1].pose = pose
        return found

    assert diff(scene(pose), scene(Pose((1.0, 0.0, 0.0), turn))) == []


def test_axes_are_compared_by_direction() -> None:
    assert one_and(lambda world: setattr(world.models[0].joints[0], "axes", ((0.0, 0.0, 7.5),))) == []
    found = only(one_and(lambda world: setattr(world.models[0].joints[0], "axes", ((0.0, 0.0, -1.0),))))
    assert (found.path, found.a, found.b, found.size) == ("lab/arm/joint[upper_joint]/axes", "0 0 1", "0 0 -1", 2.0)


HINGES = [
    Pose((0.0, 0.0, 5.0)),  # elsewhere on its axis
    Pose((0.0, 0.0, 0.0), Euler((0.0, 0.0, 1.0))),  # turned about it
]


@pytest.mark.parametrize("pose", HINGES)
def test_a_hinge_is_defined_by_its_axis_in_any_frame(pose: Pose) -> None:
    assert one_and(lambda world: setattr(world.models[0].joints[0], "pose", pose)) == []


def test_a_rotated_frame_with_axes_rotated_back_is_the_same_joint() -> None:
    def edit(world: World) -> None:
        joint = world.models[0].joint("upper_joint")
        joint.pose, joint.axes = Pose(rotation=Euler((np.pi / 2, 0.0, 0.0))), ((0.0, 1.0, 0.0),)

    assert one_and(edit) == []
    found = one_and(lambda world: setattr(world.models[0].joint("upper_joint"), "pose", Pose((0.1, 0.0, 0.0))))
    assert kinds(found) == [("lab/arm/joint[upper_joint]/pose", "changed")]


def test_the_plane_of_a_joint_can_be_named_or_given_by_axes() -> None:
    def edit(world: World) -> None:
        joint = world.models[0].joint("slide_joint")
        joint.plane, joint.axes = "arbitrary", ((2.0, 0.0, 0.0), (1.0, 1.0, 0.0))

    assert one_and(edit) == []


def test_fields_that_a_kind_of_joint_does_not_use_are_ignored() -> None:
    def edit(world: World) -> None:
        joint = world.models[0].joint("upper_joint")
        joint.order, joint.plane, joint.pitch = "zyx", "yz", 5.0
        joint.pose = Pose((0.1, 0.0, 0.0))

    assert kinds(one_and(edit)) == [("lab/arm/joint[upper_joint]/pose", "changed")]


def test_a_derived_moment_is_the_same_as_the_stated_one() -> None:
    def edit(world: World) -> None:
        hull = world.models[1].bodies[0]
        hull.moment = hull.moment

    assert one_and(edit) == []
    found = one_and(lambda world: setattr(world.models[1].bodies[0], "moment", (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)))
    assert kinds(found) == [("lab/crate/body[box]/moment", "changed")]


def test_a_moment_derived_from_the_mass_is_not_a_separate_difference() -> None:
    found = one_and(lambda world: setattr(world.models[1].bodies[0], "mass", 4.0))
    assert kinds(found) == [("lab/crate/body[box]/mass", "changed")]


def test_a_model_pose_moved_into_its_bodies_is_not_a_difference() -> None:
    def edit(world: World) -> None:
        (arm, _) = world.models
        for one in arm.bodies:
            one.pose = Pose.from_matrix(arm.pose.matrix() @ one.pose.matrix())
        arm.pose = Pose()

    assert one_and(edit) == []


def test_a_model_that_moved_with_its_bodies_is_one_difference() -> None:
    def edit(world: World) -> None:
        world.models[0].pose = Pose((0.0, 2.0, 3.0), Euler((0.5, 0.2, 0.3)))

    assert kinds(one_and(edit)) == [("lab/arm/pose", "changed")]

    def another(world: World) -> None:
        edit(world)
        world.models[0].body("nut").pose = Pose((0.0, 0.0, 0.5))

    assert kinds(one_and(another)) == [("lab/arm/pose", "changed"), ("lab/arm/body[nut]/pose", "changed")]


def test_a_default_is_the_same_as_its_stated_value() -> None:
    def edit(world: World) -> None:
        (arm, _) = world.models
        hand, hinge = arm.body("hand"), arm.joint("upper_joint")
        hand.state, hand.ignored_values, hand.visuals[0].color = BodyState(), {}, DEFAULT_COLOR
        hinge.drives = (Drive(low_stop=-inf, high_stop=inf, velocity=0.0, max_force=0.0, bounce=0.0),)
        hinge.dofs[0].name = "upper_joint"
        world.collision_exempt_groups = [("b", "a"), ("a", "b")]

    assert one_and(edit) == []


def test_unnamed_joints_are_the_same() -> None:
    stated = one_body()
    unstated = world(skeleton(body()))
    assert diff(exoskel.load(stated), exoskel.load(unstated)) == []


def test_meshes_are_the_same_if_their_files_are(tmp_path: Path) -> None:
    for name in ("a.obj", "copy.obj", "other.obj"):
        (tmp_path / name).write_text(f"v 0 0 0\nv 1 0 0\nv 0 1 {int(name == 'other.obj')}\nf 1 2 3\n")

    def scene(mesh: Mesh) -> Scene:
        found = lab()
        found.world.models[1].bodies[0].visuals[0].geometry = mesh
        return found

    path = str(tmp_path / "a.obj")
    one = scene(Mesh("a.obj", path=path))
    assert diff(one, scene(Mesh("./a.obj", path=path))) == []
    assert diff(one, scene(Mesh("copy.obj", path=str(tmp_path / "copy.obj")))) == []
    assert diff(scene(Mesh("gone.obj")), scene(Mesh(" gone.obj "))) == []
    for other in (Mesh("other.obj", path=str(tmp_path / "other.obj")), Mesh("a.obj"), Mesh("a.obj", path="/gone")):
        assert only(diff(one, scene(other))).path == f"{MESHED}/geometry/file"
    found = only(diff(one, scene(Mesh("a.obj", (2.0, 1.0, 1.0), path))))
    assert (found.path, found.a, found.b) == (f"{MESHED}/geometry/scale", "1 1 1", "2 1 1")


def test_a_copy_of_a_folder_means_the_same(tmp_path: Path) -> None:
    sample = next(one for one in samples() if one.name == "car")
    for file in sample.files():
        target = tmp_path / file.relative_to(sample.root)
        target.parent.mkdir(exist_ok=True)
        shutil.copyfile(file, target)
    assert diff(exoskel.load(sample.path), exoskel.load(tmp_path / "skel" / "car.skel")) == []


def test_meshes_in_the_scene_itself_are_compared() -> None:
    def scene(*heights: float) -> Scene:
        found = lab()
        vertices = np.array([(0.0, float(number), height) for number, height in enumerate(heights)])
        mesh = TriMesh(vertices, np.array([(0, 1, 2)]))
        found.world.models[1].bodies[0].inertia.moment = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)
        found.world.models[1].bodies[0].visuals[0].geometry = mesh
        return found

    a = scene(0.0, 1.0, 2.0)
    assert diff(a, scene(0.0, 1.0, 2.0)) == diff(a, scene(0.0, 1.0, 2.0 + 1e-12)) == []
    found = only(diff(a, scene(0.0, 1.5, 2.0)))
    assert (found.path, found.a, found.b) == (f"{MESHED}/geometry/vertices[1]", "0 1 1", "0 1 1.5")
    assert only(diff(a, scene(9.0, 1.5, 2.0))).path == f"{MESHED}/geometry/vertices[0] and 1 more"
    found = only(diff(a, scene(0.0, 1.0, 2.0, 3.0)))
    assert (found.path, found.a, found.b, found.size) == (f"{MESHED}/geometry/vertices", "3 rows", "4 rows", None)


# --- every field ------------------------------------------------------------------------------------

Edit = tuple[str, Any, str]
"""The path of an item, what a field becomes, and the path of the difference below the item."""

HAND, HINGE, WORLD, ARM = "lab/arm/body[hand]", "lab/arm/joint[upper_joint]", "lab", "lab/arm"
BALL, TIP = f"{HAND}/visual[ball]", f"{HAND}/marker[tip]"

EDITS: dict[tuple[type[Item], str], Edit] = {
    (World, "name"): (WORLD, "other", ""),
    (World, "gravity"): (WORLD, (0.0, 0.0, -1.62), "gravity"),
    (World, "time_step"): (WORLD, 0.002, "time_step"),
    (World, "collision_detector"): (WORLD, "bullet", "collision_detector"),
    (World, "erp"): (WORLD, 0.3, "erp"),
    (World, "cfm"): (WORLD, None, "cfm"),
    (World, "collision_exempt_groups"): (WORLD, [("a", "c")], "collision_exempt_groups"),
    (World, "self_collision"): (WORLD, True, "self_collision"),
    (World, "cameras"): (WORLD, [SceneCamera(name="eye")], "cameras"),
    (World, "lights"): (WORLD, [SceneLight(name="sun")], "lights"),
    (World, "actuators"): (WORLD, [Actuator("motor", "arm/upper_joint")], "actuators"),
    (World, "tendons"): (WORLD, [Tendon("t", (TendonJoint("arm/upper_joint"),))], "tendons"),
    (World, "sensors"): (WORLD, [SceneSensor("clock", "clock")], "sensors"),
    (World, "equalities"): (WORLD, [Equality("lock", "joint", "joint", "arm/upper_joint")], "equalities"),
    (World, "keyframes"): (WORLD, [Keyframe("start", 0.5)], "keyframes"),
    (Model, "name"): (ARM, "limb", ""),
    (Model, "pose"): (ARM, Pose((1.0, 2.0, 3.1)), "pose"),
    (Model, "static"): (ARM, True, "static"),
    (Body, "name"): (HAND, "paw", ""),
    (Body, "pose"): (HAND, Pose((0.0, 0.0, 1.1)), "pose"),
    (Body, "inertia"): (HAND, Inertia(mass=1.5, moment=None), "mass"),
    (Body, "gravity"): (HAND, False, "gravity"),
    (Body, "soft"): (HAND, SoftBody(total_mass=1.0), "soft"),
    (Body, "state"): (HAND, BodyState(linear_velocity=X), "state/linear_velocity"),
    (Body, "ignored_values"): (HAND, {"self_collide": "true"}, "ignored_values/self_collide"),
    (Shape, "geometry"): (BALL, Sphere(0.2), "geometry/radius"),
    (Shape, "pose"): (BALL, Pose((0.0, 0.1, 0.0)), "pose"),
    (Shape, "color"): (BALL, (1.0, 0.0, 0.0, 1.0), "color"),
    (Shape, "collidable"): (BALL, False, "collidable"),
    (Shape, "name"): (BALL, "globe", ""),
    (Shape, "space"): (BALL, "inner", "space"),
    (Shape, "friction"): (BALL, 0.5, "friction"),
    (Shape, "restitution"): (BALL, 0.25, "restitution"),
    (Shape, "material"): (BALL, Material(roughness=0.25, texture=Texture("wood.png")), "material"),
    (Marker, "name"): (TIP, "top", ""),
    (Marker, "offset"): (TIP, Z, "offset"),
    (Marker, "quaternion"): (TIP, (0.0, 1.0, 0.0, 0.0), "quaternion"),
    (Marker, "kind"): (TIP, "box", "kind"),
    (Marker, "size"): (TIP, (0.25, 0.5, 0.75), "size"),
    (Marker, "color"): (TIP, (0.25, 0.5, 0.75, 1.0), "color"),
    (Joint, "name"): (HINGE, "elbow", ""),
    (Joint, "kind"): (HINGE, "prismatic", "kind"),
    (Joint, "child"): (HINGE, "hand", "child"),
    (Joint, "parent"): (HINGE, "cross", "parent"),
    (Joint, "pose"): (HINGE, Pose((0.1, 0.0, 0.0)), "pose"),
    (Joint, "axes"): (HINGE, (X,), "axes"),
    (Joint, "order"): ("lab/arm/joint[hand_joint]", "zyx", "order"),
    (Joint, "plane"): ("lab/arm/joint[slide_joint]", "yz", "plane"),
    (Joint, "pitch"): ("lab/arm/joint[nut_joint]", 0.2, "pitch"),
    (Joint, "actuator"): (HINGE, "servo", "actuator"),
    (Joint, "limits_enforced"): (HINGE, False, "limits_enforced"),
    (Joint, "drives"): (HINGE, (Drive(velocity=1.0),), "drive[1]/velocity"),
    (Joint, "mimic"): (HINGE, Mimic("hand_joint"), "mimic"),
    (Joint, "swapped"): ("lab/arm/joint[cross_joint]", True, "swapped"),
    (Joint, "group"): (HINGE, "springs", "group"),
    (Joint, "loop"): (HINGE, True, "loop"),
    (Joint, "collide_connected"): (HINGE, True, "collide_connected"),
    (Joint, "collapses"): ("lab/arm/joint[cross_joint]", True, "collapses"),
    (Joint, "solver"): (HINGE, SolverParameters(), "solver"),
    (Joint, "dofs"): (HINGE, ("damping", 0.5), "dof[1]/damping"),
}


def test_every_field_has_an_edit() -> None:
    assert EDITS.keys() == {(kind, field) for kind, fields in FIELDS.items() for field in fields}


def item_at(scene: Scene, path: str) -> Item:
    steps = path.split("/")
    found: Any = scene.world
    for step in steps[1:]:
        word, _, name = step.rstrip("]").partition("[")
        lists = {"body": "bodies", "joint": "joints", "visual": "visuals", "marker": "markers"}
        members = getattr(found, lists[word]) if name else found.models
        found = next(one for one in members if one.name == (name or word))
    assert isinstance(found, Item)
    return found


@pytest.mark.parametrize(("kind", "field"), EDITS, ids=[f"{kind.__name__.lower()}-{field}" for kind, field in EDITS])
def test_the_change_of_a_field_is_found(kind: type[Item], field: str) -> None:
    path, new, tail = EDITS[kind, field]
    a, b = lab(), lab()
    item = item_at(b, path)
    assert type(item) is kind
    if field in ("child", "parent"):
        new = item_at(b, ARM).body(new)  # type: ignore[attr-defined]
    if field == "dofs":
        setattr(item.dofs[0], *new)  # type: ignore[attr-defined]
    else:
        setattr(item, field, new)
    found = only(diff(a, b))
    assert (found.path, found.kind) == (f"{path}/{tail}".rstrip("/"), "renamed" if field == "name" else "changed")
    assert found.a != found.b
    assert only(diff(b, a)).kind == found.kind


def test_self_collision_of_a_single_body_is_not_a_difference() -> None:
    """By default, bodies collide in XODE worlds but not in SKEL worlds; for one body that means the same."""
    a, b = (Scene(worlds=[World(self_collision=meets)]) for meets in (False, True))
    for scene in (a, b):
        scene.world.add_model("m").add_body("b", shapes=[Box((1.0, 1.0, 1.0))])
    assert diff(a, b) == []


DOF_EDITS = {field: (-1.0, 1.0) if "limits" in field else "twist" if field == "name" else 0.25 for field in DOF_FIELDS}


@pytest.mark.parametrize("field", DOF_FIELDS)
def test_the_change_of_a_degree_of_freedom_is_found(field: str) -> None:
    def edit(world: World) -> None:
        setattr(world.models[0].joint("hand_joint").dofs[1], field, DOF_EDITS[field])

    assert only(one_and(edit)).path == f"lab/arm/joint[hand_joint]/dof[2]/{field}"


def test_a_changed_kind_covers_axes_and_coordinates() -> None:
    def edit(world: World) -> None:
        hinge = world.models[0].joint("upper_joint")
        hinge.kind, hinge.axes = "weld", ()

    assert kinds(one_and(edit)) == [("lab/arm/joint[upper_joint]/kind", "changed")]


def test_mass_centre_and_moment_are_separate_differences() -> None:
    def edit(world: World) -> None:
        world.models[0].body("hand").inertia = Inertia(2.0, (0.0, 0.0, 0.1), (1.0, 2.0, 3.0, 0.0, 0.0, 0.0))

    found = one_and(edit)
    assert [(c.path.rpartition("/")[2], c.a, c.b, c.size) for c in found[:2]] == [
        ("mass", "1", "2", 0.5),
        ("com", "0 0 0", "0 0 0.1", 0.1),
    ]
    assert found[2].path.endswith("/moment")


# --- what is there, what is called otherwise, what stands elsewhere ---------------------------------


def test_renaming_is_the_only_difference() -> None:
    def edit(world: World) -> None:
        (arm, crate) = world.models
        world.rename(crate, "chest")
        for name in ("upper", "hand", "nut"):
            arm.rename(arm.body(name), f"{name}2")

    assert kinds(one_and(edit)) == [
        ("lab/arm/body[upper]", "renamed"),
        ("lab/arm/body[hand]", "renamed"),
        ("lab/arm/body[nut]", "renamed"),
        ("lab/crate", "renamed"),
    ]


def test_bodies_and_joints_renamed_together_are_matched_by_content() -> None:
    def edit(world: World) -> None:
        for item in [*world.models[0].bodies, *world.models[0].joints]:
            item.name += "2"

    found = one_and(edit)
    assert {contrast.kind for contrast in found} == {"renamed"}
    assert len(found) == len(lab().world.models[0].bodies) + len(lab().world.models[0].joints)


def test_the_last_unmatched_item_is_renamed_even_if_it_changed() -> None:
    def edit(world: World) -> None:
        crate = world.models[1]
        crate.name, crate.static = "chest", True

    assert kinds(one_and(edit)) == [("lab/crate", "renamed"), ("lab/crate/static", "changed")]


def test_items_in_only_one_scene_are_listed() -> None:
    a, b = lab(), lab()
    b.world.models[0].remove("cross")
    b.world.models[0].body("hand").markers.clear()
    b.world.models[0].body("upper").visuals.insert(0, Shape(geometry=Sphere(1.0)))
    b.world.add_model("new").add_body("x")
    expected = [
        ("lab/new", "only in B"),
        ("lab/arm/body[cross]", "only in A"),
        ("lab/arm/body[upper]/visual[1]", "only in B"),
        ("lab/arm/body[hand]/marker[tip]", "only in A"),
        ("lab/arm/joint[cross_joint]", "only in A"),
    ]
    found = diff(a, b)
    assert kinds(found) == expected
    assert [(c.a, c.b) for c in found[:2]] == [(None, "1 body, 1 joint, 1 kg"), ("1 kg, 0 shapes", None)]
    mirrored = {(path, {"A": "only in B", "B": "only in A"}[kind[-1]]) for path, kind in expected}
    assert set(kinds(diff(b, a))) == mirrored


def test_worlds_on_one_side_only_are_reported() -> None:
    a, b = lab(), lab()
    b.worlds.append(World(name="moon"))
    assert kinds(diff(a, b)) == [("moon", "only in B")]
    assert kinds(diff(b, a)) == [("moon", "only in A")]
    assert diff(Scene(), Scene()) == []


def test_a_changed_order_is_a_difference() -> None:
    def edit(world: World) -> None:
        bodies = world.models[0].bodies
        bodies.append(bodies.pop(1))

    found = only(one_and(edit))
    assert (found.path, found.kind, found.a, found.b) == ("lab/arm/body[hand]", "moved", "place 2", "place 5")
    assert only(one_and(lambda world: world.models.reverse())).kind == "moved"


def test_unnamed_shapes_are_matched_by_content() -> None:
    def scene(*sizes: float) -> Scene:
        found = World(name="w")
        found.add_model("m").add_body("b", moment=(1.0,) * 3 + (0.0,) * 3, shapes=[Sphere(r) for r in sizes])
        return Scene(worlds=[found])

    a = scene(1.0, 2.0, 3.0)
    assert {c.kind for c in diff(a, scene(2.0, 1.0, 3.0))} == {"moved"}
    assert [c.path for c in diff(a, scene(1.0, 3.0))] == ["w/m/body[b]/visual[2]", "w/m/body[b]/collision[2]"]
    assert diff(a, scene(1.0, 2.5, 3.0))[0].path == "w/m/body[b]/visual[2]/geometry/radius"


def test_items_with_the_same_name_are_matched_in_order() -> None:
    def scene(*masses: float) -> Scene:
        model = Model(name="m")
        for number, mass in enumerate(masses):
            twin = Body(name="twin", inertia=Inertia(mass=mass))
            model.bodies.append(twin)
            model.joints.append(Joint(name=f"j{number}", kind="free", child=twin))
        return Scene(worlds=[World(name="w", models=[model])])

    assert diff(scene(1.0, 2.0), scene(1.0, 2.0)) == []
    assert kinds(diff(scene(1.0, 2.0), scene(1.0, 3.0))) == [("w/m/body[twin]/mass", "changed")]


def test_names_in_paths_are_escaped() -> None:
    a, b = lab(), lab()
    for scene in (a, b):
        scene.world.models[1].name = "a/b~c"
    b.world.models[1].static = True
    found = only(diff(a, b))
    assert (found.path, found.world, found.model) == ("lab/a~1b~0c/static", "lab", "a/b~c")


# --- numbers ----------------------------------------------------------------------------------------


def test_differences_within_the_tolerance_are_ignored() -> None:
    a, b = lab(), lab()
    b.world.gravity = (0.0, 0.0, -9.81 * (1 + 1e-7))
    assert only(diff(a, b)).size == pytest.approx(1e-7)
    assert diff(a, b, tolerance=2e-7) == []
    b = lab()
    b.world.models[0].body("hand").pose = Pose((0.0, 0.0, 1.0), Euler((0.0, 0.0, 1e-4)))
    found = only(diff(a, b))
    assert found.size == pytest.approx(1e-4, rel=1e-3) and found.a != found.b
    assert diff(a, b, tolerance=1.1e-4) == []
    b = lab()
    b.world.models[0].body("hand").mass = 1.0 + 1e-15
    assert diff(a, b) == []
    found = only(diff(a, b, tolerance=0.0))
    assert (found.a, found.b) == ("1", "1.0000000000000011")


@pytest.mark.parametrize("tolerance", [-1.0, inf, float("nan")])
def test_an_invalid_tolerance_is_an_error(tolerance: float) -> None:
    with pytest.raises(exoskel.ExoskelError, match="tolerance"):
        diff(lab(), lab(), tolerance=tolerance)


def test_differences_have_the_lines_of_both_files() -> None:
    a = exoskel.load(one_body("<inertia><mass>1</mass></inertia>").replace("<body", "\n<body"))
    b = exoskel.load(one_body("<inertia><mass>2</mass></inertia>").replace("<body", "\n\n<body"))
    found = only(diff(a, b))
    assert (found.path, found.line_a, found.line_b) == ("w/s/body[b]/mass", 2, 3)
    assert only(one_and(lambda world: setattr(world, "erp", 0.5))).line_a is None


def test_comparing_does_not_edit() -> None:
    scene = exoskel.load("dart://sample/skel/walker.skel")
    data = Path(scene.documents[0].location.path).read_bytes()  # type: ignore[attr-defined]
    diff(scene, lab())
    assert write(scene, "skel").data == write(exoskel.load(data, base=samples()[0].path.parent), "skel").data


# --- properties -------------------------------------------------------------------------------------


@lru_cache
def loaded(uri: str) -> Scene:
    return exoskel.load(uri)


URIS = [f"dart://sample/{name}" for name in ("skel/joint_zoo.skel", "skel/soft_bodies.skel", "xode/ragdoll.xode")]


@settings(max_examples=60, deadline=None)
@given(
    uri=st.sampled_from(URIS),
    edits=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 20), st.floats(-1e-8, 1e-8)), max_size=3),
    tolerance=st.sampled_from([0.0, 1e-9, 1e-6]),
)
def test_both_directions_agree(uri: str, edits: list[tuple[int, int, float]], tolerance: float) -> None:
    a, b = loaded(uri), copy_of(loaded(uri))
    items = [item for item, _, _ in iter_items(b)]
    for place, which, step in edits:
        item = items[place % len(items)]
        fields = FIELDS[type(item)]
        nudge(item, fields[which % len(fields)], step)
    assert bool(diff(a, b, tolerance=tolerance)) == bool(diff(b, a, tolerance=tolerance))


def nudge(item: Any, field: str, step: float) -> None:
    """Change a field a little, or completely where it is not a number."""
    old = getattr(item, field)
    match old:
        case bool():
            setattr(item, field, not old)
        case float():
            setattr(item, field, abs(old + step))
        case str() if field == "name":
            item.name += "'"
        case Pose():
            x, y, z = old.position
            setattr(item, field, Pose((x + step, y, z), old.rotation))
        case Inertia():
            old.mass = abs(old.mass + step)
        case (float(), *_):
            setattr(item, field, (old[0] + step, *old[1:]))


def test_time_is_proportional_for_a_hundred_thousand_bodies() -> None:
    def seconds(count: int) -> float:
        def scene(height: float) -> Scene:
            model = Model(name="m")
            for number in range(count):
                one = Body(name=f"b{number}", pose=Pose((float(number), 0.0, height)))
                model.bodies.append(one)
                model.joints.append(Joint(name=f"j{number}", kind="free", child=one))
            return Scene(worlds=[World(models=[model])])

        a, b = scene(0.0), scene(0.1)
        for one in b.world.models[0].bodies:
            one.name = one.name.replace("b", "c")
        start = time.perf_counter()
        assert len(diff(a, b)) == 2 * count
        return time.perf_counter() - start

    seconds(100)
    small, large = seconds(1_000), seconds(20_000)
    assert large < 20 * small * 5 + 1.0


def _with_shape(geometry: Any, pose: Pose) -> Scene:
    scene = World(name="w")
    body = scene.add_model("m").add_body("b", mass=1.0, com=(0.0, 0.0, 0.0))
    body.collisions.append(Shape(geometry=geometry, pose=pose))
    return Scene(worlds=[scene])


ABOUT_Z = Euler((0.0, 0.0, 0.7))
TILTED = Euler((0.4, 0.3, 0.2))
HALF_TURN = AxisAngle(X, np.pi)
HALF_TURN_Z = AxisAngle(Z, np.pi)
QUARTER_TURN = AxisAngle(Z, np.pi / 2)


@pytest.mark.parametrize(
    ("geometry", "rotation"),
    [
        (Sphere(0.2), TILTED),
        (exoskel.Ellipsoid((0.3, 0.3, 0.3)), TILTED),
        (exoskel.Plane(Z, 0.5), ABOUT_Z),
        (exoskel.Cylinder(0.1, 1.0), ABOUT_Z),
        (exoskel.Cylinder(0.1, 1.0), HALF_TURN),
        (exoskel.Capsule(0.1, 1.0), HALF_TURN),
        (exoskel.Cone(0.1, 1.0), ABOUT_Z),
        (Box((1.0, 2.0, 3.0)), HALF_TURN),
        (Box((1.0, 1.0, 3.0)), QUARTER_TURN),
        (Box((1.0, 1.0, 1.0)), AxisAngle((1.0, 1.0, 1.0), 2 * np.pi / 3)),
        (exoskel.Ellipsoid((0.3, 0.3, 0.4)), ABOUT_Z),
        (exoskel.Ellipsoid((0.3, 0.3, 0.4)), HALF_TURN),
        (exoskel.Ellipsoid((0.4, 0.3, 0.3)), AxisAngle(X, 0.7)),
        (exoskel.Ellipsoid((0.1, 0.2, 0.3)), HALF_TURN),
        (exoskel.Capsule(0.1, 1.0), ABOUT_Z),
        (exoskel.Cone(0.1, 1.0, centred=False), ABOUT_Z),
        (exoskel.Pyramid(1.0, 1.0, 2.0), QUARTER_TURN),
        (exoskel.Pyramid(1.0, 2.0, 2.0), AxisAngle(Z, np.pi)),
        (exoskel.Ray(2.0), ABOUT_Z),
        (exoskel.MultiSphere((exoskel.Ball(0.2, (0.0, 0.0, 0.0)),)), TILTED),
        (exoskel.MultiSphere((exoskel.Ball(0.2, (0.0, 0.0, 1.0)), exoskel.Ball(0.1, (0.0, 0.0, 2.0)))), ABOUT_Z),
        (exoskel.MultiSphere((exoskel.Ball(0.2, X), exoskel.Ball(0.2, (-1.0, 0.0, 0.0)))), AxisAngle(Z, np.pi)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_shape_turned_onto_itself_is_the_same(geometry: Any, rotation: Any) -> None:
    before = _with_shape(geometry, Pose((0.1, 0.0, 0.2)))
    assert diff(before, _with_shape(geometry, Pose((0.1, 0.0, 0.2), rotation))) == []
    turned = Pose((0.3, 0.0, 0.2), TILTED)
    around = Pose.from_matrix(turned.matrix() @ Pose((0.0, 0.0, 0.0), rotation).matrix())
    assert diff(_with_shape(geometry, turned), _with_shape(geometry, around)) == []


@pytest.mark.parametrize(
    ("geometry", "rotation"),
    [
        (exoskel.Plane(Z, 0.5), TILTED),
        (exoskel.Plane(X, 0.5), ABOUT_Z),
        (exoskel.Cylinder(0.1, 1.0), TILTED),
        (exoskel.Cone(0.1, 1.0), HALF_TURN),
        (Box((1.0, 2.0, 3.0)), QUARTER_TURN),
        (Box((1.0, 1.0, 1.0)), ABOUT_Z),
        (exoskel.Ellipsoid((0.3, 0.3, 0.4)), TILTED),
        (exoskel.Ellipsoid((3e-4, 3e-4, 4e-4)), AxisAngle(X, 1e-5)),
        (exoskel.Ellipsoid((0.1, 0.2, 0.3)), QUARTER_TURN),
        (exoskel.Pyramid(1.0, 2.0, 2.0), QUARTER_TURN),
        (exoskel.Pyramid(1.0, 1.0, 2.0), HALF_TURN),
        (exoskel.Ray(2.0), HALF_TURN),
        (exoskel.MultiSphere((exoskel.Ball(0.2, X),)), HALF_TURN_Z),
        (exoskel.MultiSphere((exoskel.Ball(0.2, X), exoskel.Ball(0.1, (-1.0, 0.0, 0.0)))), HALF_TURN_Z),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_shape_turned_otherwise_differs(geometry: Any, rotation: Any) -> None:
    found = diff(_with_shape(geometry, Pose()), _with_shape(geometry, Pose((0.0, 0.0, 0.0), rotation)))
    assert kinds(found) == [("w/m/body[b]/collision[1]/pose", "changed")]


SAME_SPACE = [
    (Sphere(0.2), exoskel.MultiSphere((exoskel.Ball(0.2, (0.0, 0.0, 0.0)),)), Pose()),
    (Sphere(0.2), exoskel.MultiSphere((exoskel.Ball(0.2, X),)), Pose((-1.0, 0.0, 0.0))),
    (Sphere(0.2), exoskel.Ellipsoid((0.4, 0.4, 0.4)), Pose(rotation=TILTED)),
    (Box((1.0, 2.0, 3.0)), Box((2.0, 1.0, 3.0)), Pose(rotation=QUARTER_TURN)),
    (exoskel.Ellipsoid((1.0, 2.0, 3.0)), exoskel.Ellipsoid((2.0, 1.0, 3.0)), Pose(rotation=QUARTER_TURN)),
    (exoskel.Pyramid(1.0, 2.0, 3.0), exoskel.Pyramid(2.0, 1.0, 3.0), Pose(rotation=QUARTER_TURN)),
    (exoskel.Cone(0.1, 1.0), exoskel.Cone(0.1, 1.0, centred=False), Pose((0.0, 0.0, -0.5), ABOUT_Z)),
]


@pytest.mark.parametrize(("one", "other", "pose"), SAME_SPACE, ids=lambda value: type(value).__name__)
def test_shapes_that_take_up_the_same_space_are_the_same(one: Any, other: Any, pose: Pose) -> None:
    before, after = _with_shape(one, Pose()), _with_shape(other, pose)
    for scene in (before, after):
        scene.world.model("m").body("b").inertia.moment = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)
    assert diff(before, after) == diff(after, before) == []
    moved = _with_shape(other, Pose((pose.position[0] + 1e-6, *pose.position[1:]), pose.rotation))
    moved.world.model("m").body("b").inertia.moment = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)
    assert diff(before, moved) != []


def test_a_turn_onto_itself_is_no_second_difference_of_a_changed_size() -> None:
    before = _with_shape(exoskel.Cylinder(0.1, 1.0), Pose())
    after = _with_shape(exoskel.Cylinder(0.2, 1.0), Pose(rotation=ABOUT_Z))
    assert kinds(diff(before, after)) == [("w/m/body[b]/collision[1]/geometry/radius", "changed")]


def test_moments_that_are_derived_differently_from_the_same_space_differ() -> None:
    hull = exoskel.MultiSphere((exoskel.Ball(0.2, (0.0, 0.0, 0.0)),))
    before, after = _with_shape(Sphere(0.2), Pose()), _with_shape(hull, Pose())
    for scene in (before, after):
        scene.world.model("m").body("b").inertia.rule = "first_shape"  # DART uses the bounding box of a multi-sphere
    assert kinds(diff(before, after)) == [("w/m/body[b]/moment", "changed")]


def test_a_plane_moved_within_itself_is_the_same() -> None:
    before = _with_shape(exoskel.Plane(Z, 0.5), Pose())
    assert diff(before, _with_shape(exoskel.Plane(Z, 0.2), Pose((3.0, 4.0, 0.3)))) == []
    assert diff(before, _with_shape(exoskel.Plane(Z, 0.2), Pose((3.0, 4.0, 0.4)))) != []


def test_a_removed_part_is_not_matched_with_an_unrelated_new_one() -> None:
    before, after = lab(), lab()
    arm = after.worlds[0].model("arm")
    arm.remove("slide")
    arm.add_body("lamp", parent="hand", joint="ball", shapes=[Box((9.0, 1.0, 1.0))], mass=40.0)
    after.worlds[0].remove("crate")
    after.worlds[0].add_model("tree").add_body("trunk", joint="free", shapes=[Sphere(3.0)])
    assert {(entry.path.rpartition("/")[2], entry.kind) for entry in diff(before, after)} == {
        ("body[slide]", "only in A"),
        ("body[lamp]", "only in B"),
        ("joint[slide_joint]", "only in A"),
        ("joint[lamp_joint]", "only in B"),
        ("crate", "only in A"),
        ("tree", "only in B"),
    }


def test_unrelated_single_bodies_with_the_same_name_or_mass_are_not_matched() -> None:
    before, after = lab(), lab()
    for scene, name, shape in ((before, "ball", Sphere(0.1)), (after, "cart", Box((1.0, 2.0, 3.0)))):
        scene.worlds[0].add_model(name).add_body("link", joint="free", shapes=[shape], mass=2.0)
        scene.worlds[0].model("arm").add_body(f"{name} holder", parent="hand", joint="ball", shapes=[shape], mass=2.0)
    kinds = {(entry.path.rpartition("/")[2], entry.kind) for entry in diff(before, after)}
    assert {kind for _, kind in kinds} == {"only in A", "only in B"}
    assert {("ball", "only in A"), ("body[ball holder]", "only in A"), ("cart", "only in B")} <= kinds


def test_the_only_bodies_of_two_models_are_matched_if_they_resemble_each_other() -> None:
    def crate(name: str, size: float, mass: float) -> World:
        world = World(name="w")
        world.add_model("m").add_body(name, joint="free", shapes=[Box((size, 1.0, 1.0))], mass=mass)
        return world

    before = crate("crate", 1.0, 2.0)
    assert {entry.kind for entry in diff(before, crate("box", 1.0, 3.0))} == {"renamed", "changed"}
    assert {entry.kind for entry in diff(before, crate("wall", 9.0, 40.0))} == {"only in A", "only in B"}


def test_a_renamed_part_that_also_changed_is_still_matched() -> None:
    before, after = lab(), lab()
    arm = after.worlds[0].model("arm")
    arm.rename("slide", "glide")
    arm.joint("slide_joint").name = "glide joint"
    arm.body("glide").mass = 3.0
    after.worlds[0].rename("crate", "chest")
    after.worlds[0].model("chest").body("box").mass = 7.0
    assert {entry.kind for entry in diff(before, after)} == {"renamed", "changed"}
