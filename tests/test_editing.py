"""Editing models and worlds in Python: references stay valid, and files change only where they have to."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from msgspec import structs

import exoskel
from exoskel import (
    Body,
    Box,
    Euler,
    ExoskelError,
    Joint,
    Mimic,
    Model,
    Pose,
    Shape,
    Sphere,
    TakenNameError,
    UnknownNameError,
    World,
)
from exoskel.scene.body import Marker
from exoskel.scene.cameras_and_keyframes import SceneCamera, SceneLight
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.tendon import TendonPoint

WALKER = "dart://sample/skel/walker.skel"
RAGDOLL = "dart://sample/xode/ragdoll.xode"


def gripper() -> Model:
    model = Model(name="gripper", pose=Pose((5, 5, 5)))
    palm = model.add_body("palm", shapes=[Box((0.1, 0.1, 0.02))])
    for name, mimic in (("left", None), ("right", Mimic("left_joint", -1.0))):
        model.add_body(name, parent=palm, at=(0, 0, 0.1), joint="prismatic", axis=(1, 0, 0), mimic=mimic)
    return model


def arm() -> World:
    world = World(name="lab")
    model = world.add_model("arm", pose=(0, 0, 1))
    base = model.add_body("base", joint="weld", shapes=[Shape(geometry=Box((1, 1, 1)), name="block")])
    turned = Pose((0, 0, 1), Euler((0, math.pi / 2, 0)))
    model.add_body("hand", parent=base, at=turned, joint="revolute", axis=(0, 0, 1), shapes=[Sphere(0.1)])
    return world


def world_pose(model: Model, name: str) -> np.ndarray:
    poses = Kinematics([model]).poses()
    return np.asarray(poses[[body.name for body in model.bodies].index(name)])


# --- attach, add and copy ------------------------------------------------------------------------------


def test_an_attached_model_is_welded_at_the_given_pose() -> None:
    model = arm().models[0]
    palm, left, right = model.attach(gripper(), to="hand", at=(0, 0, 0.5), prefix="g_")
    assert [palm.name, left.name, right.name] == ["g_palm", "g_left", "g_right"]
    assert (model.joint("g_palm_joint").kind, model.joint("g_palm_joint").parent) == ("weld", model.body("hand"))
    expected = world_pose(model, "hand") @ Pose((0, 0, 0.5)).matrix()
    assert np.allclose(world_pose(model, "g_palm"), expected)
    assert model.joint("g_right_joint").mimic == Mimic("g_left_joint", -1.0)
    assert exoskel.check(model) == []


def test_the_attached_model_is_not_changed() -> None:
    model, other = arm().models[0], gripper()
    before = exoskel.summarize(other)
    model.attach(other, to="hand", prefix="one_")
    model.attach(other, to="hand", prefix="two_")
    assert exoskel.summarize(other) == before and len(model.bodies) == 8
    model.attach(model, to="hand", prefix="self_")
    assert len(model.bodies) == 16 and exoskel.check(model) == []


def test_the_joint_of_an_attached_model_can_be_chosen() -> None:
    model, other = arm().models[0], gripper()
    model.attach(other, to=model.body("hand"), prefix="a_", joint="revolute", axis=(0, 0, 1), limits=(-1, 1))
    assert (model.joint("a_palm_joint").kind, model.joint("a_palm_joint").dofs[0].position_limits) == (
        "revolute",
        (-1, 1),
    )
    other.replace("palm_joint", "ball")
    model.attach(other, to="hand", prefix="b_")
    assert model.joint("b_palm_joint").kind == "ball"


def test_taken_names_say_how_to_attach_and_change_nothing() -> None:
    model = arm().models[0]
    model.attach(gripper(), to="hand")
    with pytest.raises(TakenNameError, match="a body called 'palm'; attach it with prefix='gripper_'"):
        model.attach(gripper(), to="hand")
    assert len(model.bodies) == 5 and len(model.joints) == 5
    static = gripper()
    static.static = True
    with pytest.raises(ExoskelError, match="model 'gripper' is static; set static to False"):
        model.attach(static, to="hand", prefix="s_")
    with pytest.raises(UnknownNameError, match="did you mean 'hand'"):
        model.attach(gripper(), to="hnd")


def test_a_world_adds_copies_of_models() -> None:
    world, loaded = arm(), exoskel.load(WALKER)
    walker = loaded.world.model("walker")
    added = world.add(walker, at=(3, 0, 0))
    assert added is world.model("walker") and added is not walker and added.pose.position == (3, 0, 0)
    assert all(item.node == item.document == -1 for item in (added, *added.bodies, *added.joints))
    with pytest.raises(TakenNameError, match="a model called 'walker'; add it with name="):
        world.add(walker)
    assert world.add(walker, name="second").name == "second"
    with pytest.raises(ExoskelError, match=r"expected a Model, not World.*exoskel\.merge"):
        world.add(cast("Any", loaded.world))
    assert exoskel.check(world) == [] and exoskel.diff(loaded, exoskel.load(WALKER)) == []
    exoskel.Simulation(world).step(2)


def test_the_copy_of_a_body_is_a_model_with_all_bodies_below_it() -> None:
    model = arm().models[0]
    model.attach(gripper(), to="hand", prefix="g_")
    model.joint("g_left_joint").mimic = Mimic("hand_joint")
    copied = model.copy("hand")
    assert [body.name for body in copied.bodies] == ["hand", "g_palm", "g_left", "g_right"]
    assert (copied.joints[0].kind, copied.joints[0].parent) == ("revolute", None)
    for name in ("hand", "g_palm"):
        assert np.allclose(world_pose(copied, name), world_pose(model, name))
    assert copied.body("hand").pose.is_identity
    part = model.copy("g_palm", name="tool")
    assert part.name == "tool" and part.joint("g_left_joint").mimic is None
    copied.body("hand").mass = 7.0
    assert model.body("hand").mass == 1.0
    model.attach(copied, to="base", at=(0, 1, 1), prefix="second_")
    assert model.joint("second_hand_joint").parent is model.body("base")
    assert exoskel.check(model) == []


def test_initial_motions_turn_with_the_model() -> None:
    model = Model(name="m")
    model.add_body("b").state = exoskel.BodyState(linear_velocity=(1, 0, 0), torque=(0, 0, 2))
    added = World(name="w").add(model, at=Pose(rotation=Euler((0, 0, math.pi / 2))))
    state = added.bodies[0].state
    assert state is not None and state.linear_velocity == pytest.approx((0, 1, 0), abs=1e-15)
    assert state.torque == (0, 0, 2)


# --- find ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("arm", ["arm"]),
        ("*", ["arm"]),
        ("arm/*", ["base", "hand", "base_joint", "hand_joint"]),
        ("arm/ba?e", ["base"]),
        ("arm/[bh]a*d", ["hand"]),
        ("arm/base/*", ["block", "block"]),
        ("body:*", ["base", "hand"]),
        ("body:arm/h*", ["hand"]),
        ("body:hand", ["hand"]),
        ("joint:*_joint", ["base_joint", "hand_joint"]),
        ("shape:bl*", ["block", "block"]),
        ("shape:base/block", ["block", "block"]),
        ("marker:*", []),
        ("model:arm", ["arm"]),
        ("hand", []),
    ],
)
def test_items_are_found_by_paths(pattern: str, names: list[str]) -> None:
    assert [item.name for item in arm().find(pattern)] == names


def test_items_are_found_by_class() -> None:
    world = arm()
    assert world.find("arm/*", Body) == world.models[0].bodies
    assert world.find("arm/*", Joint) == world.models[0].joints
    world.rename("arm", "a/b")
    assert [body.name for body in world.find("a~1b/*", Body)] == ["base", "hand"]


# --- rename, remove and replace ------------------------------------------------------------------------


def test_a_world_renames_and_removes_by_item_and_by_path() -> None:
    world = arm()
    model = world.models[0]
    model.attach(gripper(), to="hand")
    world.rename("arm/left_joint", "slide")
    assert model.joint("right_joint").mimic == Mimic("slide", -1.0)
    world.rename(model.body("hand"), "wrist")
    world.rename(model.body("base").visuals[0], "cube")
    world.rename("arm", "robot")
    assert [item.name for item in world.find("robot/base/*")] == ["cube", "block"]
    world.remove(model.body("base").visuals[0])
    assert len(model.body("base").visuals) == 0 and len(model.body("base").collisions) == 1
    world.remove("robot/slide")
    assert model.joint("right_joint").mimic is None and model.joint("left_root").kind == "free"
    with pytest.raises(ExoskelError, match=r"has bodies below it \(('palm', 'left', 'right'|'palm', 'right')\)"):
        world.remove("robot/wrist")
    world.remove("robot/wrist", subtree=True)
    assert exoskel.check(world) == []
    world.remove("robot")
    assert not world.models


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda w: w.rename("arm", ""), "a name must not be empty"),
        (lambda w: w.rename("arm/hand", "base"), "already has a body called 'base'"),
        (lambda w: w.rename("arm/hand_joint", "base_joint"), "already has a joint called 'base_joint'"),
        (lambda w: w.rename("arm/*", "x"), r"4 items match 'arm/\*'"),
        (lambda w: w.remove("arm/nothing"), "no item matches 'arm/nothing' in world 'lab'"),
        (lambda w: w.remove("amr"), "did you mean 'arm'"),
        (lambda w: w.remove(Body(name="x")), r"Body\('x'.* is not in world 'lab'"),
        (lambda w: w.models[0].replace("hand", "ball"), "body 'hand' cannot be replaced by 'ball'; use a Body"),
        (lambda w: w.models[0].replace("hand_joint", "balls"), "unknown joint kind 'balls'"),
        (lambda w: w.models[0].replace(w.models[0].body("base").visuals[0], 3), "the geometry of shape 'block' is 3"),
        (lambda w: w.models[0].remove(Shape(geometry=Sphere(1))), "is not in model 'arm'"),
    ],
)
def test_edits_that_are_not_possible_change_nothing(action: Any, message: str) -> None:
    world = arm()
    before = exoskel.summarize(world)
    with pytest.raises(ExoskelError, match=message):
        action(world)
    assert exoskel.summarize(world) == before


def referring_world() -> World:
    """A world in which something of each kind refers to a part of the model `arm`."""
    world = arm()
    base, hand = world.model("arm").bodies
    base.markers.append(Marker(name="anchor"))
    base.collisions.append(Shape(geometry=Sphere(0.1), name="ball"))
    hand.markers.append(Marker(name="tip"))
    world.add_actuator("motor", "hand_joint")
    world.add_tendon("cable", joints={"arm/hand_joint": 1.0})
    world.add_tendon("rope", path=["arm/base/anchor", TendonPoint(shape="arm/base/ball"), "arm/hand/tip"])
    world.add_sensor("angle", "jointpos", "arm/hand_joint")
    world.add_equality("stop", "joint", "arm/hand_joint")
    world.cameras.append(SceneCamera("eye", "arm/hand"))
    world.lights.append(SceneLight(name="lamp", target="arm/hand"))
    world.add_keyframe("start")
    return world


def references(world: World) -> dict[str, str]:
    """What refers to something, as text."""
    lists = (world.actuators, world.tendons, world.sensors, world.equalities, world.cameras, world.lights)
    found = {one.name: repr(structs.asdict(one)) for values in lists for one in values}
    return found | {one.name: repr(structs.asdict(one)) for one in world.keyframes if one.joints}


def edited(action: Callable[[World], object]) -> World:
    world = referring_world()
    action(world)
    assert exoskel.check(world) == []
    return world


@pytest.mark.parametrize("name", ["hand", "hand_joint", "base"])
def test_references_follow_what_a_model_renames_as_what_a_world_renames(name: str) -> None:
    by_world = edited(lambda world: world.rename(f"arm/{name}", "other"))
    by_model = edited(lambda world: world.models[0].rename(name, "other"))
    assert references(by_model) == references(by_world) != references(referring_world())
    assert references(by_model).keys() == references(referring_world()).keys()


def test_tendons_keep_a_shape_that_a_model_renames() -> None:
    world = edited(lambda world: world.models[0].rename(world.models[0].body("base").collisions[1], "globe"))
    assert [point.shape for point in world.tendon("rope").path] == ["", "arm/base/collision1", ""]


@pytest.mark.parametrize("name", ["hand", "hand_joint"])
def test_a_model_removes_references_as_a_world_does(name: str) -> None:
    by_world = edited(lambda world: world.remove(f"arm/{name}"))
    by_model = edited(lambda world: world.models[0].remove(name))
    assert references(by_model) == references(by_world)
    assert "motor" not in references(by_model)


def test_replacing_a_joint_or_model_removes_what_cannot_refer_to_it_any_more() -> None:
    welded = edited(lambda world: world.models[0].replace("hand_joint", "weld"))
    assert references(welded).keys() == {"rope", "eye", "lamp"}
    turned = edited(lambda world: world.models[0].replace("hand_joint", "prismatic", axis=(1, 0, 0)))
    assert references(turned) == references(referring_world())
    swapped = edited(lambda world: world.replace("arm", gripper()))
    assert references(swapped) == {}


def test_copies_of_worlds_keep_their_own_references() -> None:
    world = referring_world()
    copied = exoskel.merge(world).world
    copied.models[0].rename("hand_joint", "wrist")
    assert "wrist" in references(copied)["motor"] and "wrist" not in references(world)["motor"]
    assert exoskel.check(copied) == [] == exoskel.check(world)


def test_the_actuator_of_a_file_follows_a_joint_that_its_model_renames(tmp_path: Path) -> None:
    joint = '<worldbody><body name="b"><joint name="j"/><geom size=".1"/></body></worldbody>'
    text = f'<mujoco>{joint}<actuator><motor name="a" joint="j"/></actuator></mujoco>'
    scene = exoskel.load(text)
    scene.world.models[0].rename("j", "hip")
    exoskel.save(scene, tmp_path / "b.xml")
    assert (tmp_path / "b.xml").read_text() == text.replace('"j"', '"hip"')


def test_collision_filters_follow_renamed_bodies() -> None:
    world = arm()
    world.collision_exempt_groups = [("base", "han")]
    world.rename("arm/hand", "wrist")
    assert world.collision_exempt_groups == [("base", "han", "wrist")]
    world.models[0].add_body("block", shapes=[Sphere(1)])
    with pytest.raises(ExoskelError, match="cannot rename 'base' to 'bl': other bodies would collide"):
        world.rename("arm/base", "bl")
    assert world.models[0].bodies[0].name == "base" and world.collision_exempt_groups == [("base", "han", "wrist")]
    with pytest.raises(ExoskelError, match="other bodies would collide"):
        world.rename("arm/block", "base2")


def test_replaced_items_keep_their_place_and_their_references() -> None:
    world = arm()
    model = world.models[0]
    hand, joint = model.body("hand"), model.joint("hand_joint")
    pose = hand.pose
    other = Model(name="o").add_body("other", mass=3.0, shapes=[Box((1, 2, 3))], at=(9, 9, 9))
    assert model.replace("hand", other) is hand
    assert (hand.name, hand.pose, hand.mass, joint.child) == ("hand", pose, 3.0, hand)
    assert hand.visuals[0] is not other.visuals[0] and hand.visuals[0].geometry == Box((1, 2, 3))
    assert model.replace(joint, "universal", axes=np.eye(3)[:2], damping=2) is joint
    assert (joint.kind, joint.parent, joint.dof_count) == ("universal", model.body("base"), 2)
    shape = model.body("base").visuals[0]
    assert model.replace(shape, Sphere(2)) is shape and (shape.name, shape.geometry) == ("block", Sphere(2))
    assert model.replace(shape, Shape(geometry=Sphere(1), name="ball")).name == "ball"
    assert world.replace("arm", gripper()) is model
    assert (model.name, model.pose.position, len(model.bodies)) == ("arm", (0, 0, 1), 3)
    assert model.body("palm") is model.bodies[0] and exoskel.check(world) == []
    exoskel.Simulation(world).step(2)


# --- files ---------------------------------------------------------------------------------------------


def saved_lines(path: Path, sample: str, edit: Any) -> tuple[list[str], list[str]]:
    """The lines that an edit of a copy of a sample removes and adds."""
    exoskel.save(exoskel.load(sample), path)
    before = path.read_text(encoding="utf-8").splitlines()
    scene = exoskel.load(path)
    edit(scene.world)
    exoskel.save(scene)
    assert exoskel.diff(scene, exoskel.load(path)) == []
    lines = list(difflib.ndiff(before, path.read_text(encoding="utf-8").splitlines()))
    return [line[2:] for line in lines if line[0] == "-"], [line[2:] for line in lines if line[0] == "+"]


@pytest.mark.parametrize("sample", [WALKER, RAGDOLL])
def test_what_is_added_to_a_file_removes_none_of_its_lines(sample: str, tmp_path: Path) -> None:
    def edit(world: World) -> None:
        target = next(model for model in world.models if not model.static)
        world.add(gripper(), at=(1, 2, 3))
        target.attach(gripper(), to=target.bodies[-1], at=(0, 0, 0.5), prefix="tool_")

    path = tmp_path / f"saved{Path(sample).suffix}"
    removed, added = saved_lines(path, sample, edit)
    assert len(added) > 10 and len(removed) <= 1
    read = exoskel.load(path)
    assert {model.name for model in read.world.models} >= {"gripper"} and exoskel.check(read) == []


def test_a_copy_of_a_model_is_saved_in_its_file(tmp_path: Path) -> None:
    removed, _ = saved_lines(tmp_path / "a.skel", WALKER, lambda world: world.add(world.model("walker"), name="twin"))
    assert not removed
    with pytest.raises(exoskel.SaveError, match="save to a new file"):  # bodies of XODE have unique names
        saved_lines(tmp_path / "a.xode", RAGDOLL, lambda world: world.add(world.models[1], name="twin"))


def test_renaming_and_replacing_change_only_their_lines(tmp_path: Path) -> None:
    removed, added = saved_lines(tmp_path / "a.skel", WALKER, lambda world: world.rename("walker/head", "skull"))
    assert len(removed) == len(added) <= 4 and all("skull" in line for line in added)
    removed, added = saved_lines(
        tmp_path / "b.skel",
        WALKER,
        lambda world: world.models[0].replace(world.find("shape:*")[0], Sphere(0.25)),
    )
    assert len(removed) <= 3 and len(added) <= 3


def test_a_removed_subtree_is_removed_from_the_file(tmp_path: Path) -> None:
    removed, added = saved_lines(
        tmp_path / "a.skel", WALKER, lambda world: world.remove(f"{world.model('walker').name}/head", subtree=True)
    )
    assert removed and not added


@pytest.mark.parametrize("name", ["hand", "hand_joint", "base"])
def test_references_follow_a_name_that_is_set(name: str) -> None:
    by_world = edited(lambda world: world.rename(f"arm/{name}", "other"))

    def assign(world: World) -> None:
        item = next(one for one in (*world.bodies(), *world.joints()) if one.name == name)
        item.name = "other"

    assert references(edited(assign)) == references(by_world)


def test_references_follow_the_name_of_a_model_or_shape_that_is_set() -> None:
    world = edited(lambda world: setattr(world.models[0], "name", "robot"))
    assert references(world) == references(edited(lambda world: world.rename("arm", "robot")))
    world = edited(lambda world: setattr(world.models[0].bodies[0].collisions[1], "name", "globe"))
    assert len(world.tendons) == 2


def test_names_in_other_worlds_stay() -> None:
    one, other = referring_world(), referring_world()
    one.models[0].joints[1].name = "wrist"
    assert "wrist" in references(one)["motor"] and references(other) == references(referring_world())


def test_mimics_follow_the_name_of_a_joint_that_is_set() -> None:
    world = World()
    world.add(gripper())
    world.models[0].joint("left_joint").name = "leader"
    assert world.models[0].joint("right_joint").mimic == Mimic("leader", -1.0)
    assert exoskel.check(world) == []
