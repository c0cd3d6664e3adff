"""Values of the wrong type, and values that are probably mistakes, in scenes that are built in Python."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exoskel
from exoskel import (
    Ball,
    Body,
    Box,
    ExoskelError,
    Inertia,
    Marker,
    Mesh,
    Mimic,
    Model,
    MultiSphere,
    Pose,
    Shape,
    Sphere,
    World,
)
from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.joint import TRAITS


def arm() -> tuple[World, Model]:
    world = World(name="lab")
    model = world.add_model("robot")
    base = model.add_body("base", joint="weld", shapes=[Box((1, 1, 1))])
    model.add_body("arm", parent=base, at=(1, 0, 0), shapes=[Box((1, 1, 1))], joint="revolute", axis=(0, 0, 1))
    return world, model


HINGE: dict[str, Any] = {"joint": "revolute", "axis": (0, 0, 1)}
REFUSED: list[tuple[Callable[[World, Model], Any], str]] = [
    (lambda world, model: world.add_model(None), "the name of a model is None"),  # type: ignore[arg-type]
    (lambda world, model: world.add_model(""), "a name must not be empty"),
    (lambda world, model: World(name=3), "the name of world 3 is 3, but must be a string"),  # type: ignore[arg-type]
    (lambda world, model: model.add_body(3), "the name of a body is 3"),  # type: ignore[arg-type]
    (lambda world, model: model.add_body("c", joint_name=3), "the name of a joint is 3"),  # type: ignore[arg-type]
    (lambda world, model: model.add_body("c", parent=3), "expected a body of model 'robot' or its name, not 3"),  # type: ignore[arg-type]
    (lambda world, model: model.add_body("c", joint=[]), "unknown joint kind []"),  # type: ignore[arg-type]
    (lambda world, model: model.add_body("c", at=(0, 0, 0), relative_to=[]), "relative_to is []"),  # type: ignore[arg-type]
    (lambda world, model: model.add_body("c", shapes=3), "the shapes of body 'c' are 3"),  # type: ignore[arg-type]
    (lambda world, model: model.add_body("c", shapes=Box((1, 1, 1))), "the shapes of body 'c' are Box"),  # type: ignore[arg-type]
    (lambda world, model: model.add_body("c", density="x", shapes=[Sphere(1)]), "the density of body 'c' is 'x'"),  # type: ignore[arg-type]
    (lambda world, model: model.add_body("c", density=-1, shapes=[Sphere(1)]), "the density of body 'c' is -1.0"),
    (lambda world, model: model.add_body("c", position="x", **HINGE), "the position of joint 'c_joint' is 'x'"),
    (lambda world, model: model.add_body("c", limits=np.array(2.0), **HINGE), "'limits' of joint 'c_joint'"),
    (lambda world, model: model.add_body("c", limits=(1, -1), **HINGE), "the lower limit must not exceed"),
    (lambda world, model: model.add_body("c", damping="x", **HINGE), "'damping' of joint 'c_joint' is 'x'"),
    (lambda world, model: model.attach("x", to="arm"), "expected a Model, not 'x'"),  # type: ignore[arg-type]
    (lambda world, model: model.attach(model, to="arm", prefix=3), "the prefix is 3"),  # type: ignore[arg-type]
    (lambda world, model: model.attach(model, to=3, prefix="x"), "expected a body of model 'robot'"),  # type: ignore[arg-type]
    (lambda world, model: model.copy(3), "expected a body of model 'robot'"),  # type: ignore[arg-type]
    (lambda world, model: model.rename("arm", 3), "the name of a body is 3"),  # type: ignore[arg-type]
    (lambda world, model: model.body([]), "names are strings"),  # type: ignore[arg-type]
    (lambda world, model: world.find(3), "the pattern is 3"),  # type: ignore[call-overload]
    (lambda world, model: world.find("*", "body"), "the kind is 'body'"),  # type: ignore[call-overload]
    (lambda world, model: Mesh(3), "the uri of a mesh is 3"),  # type: ignore[arg-type]
    (lambda world, model: Marker(name=3), "the name of marker 3 is 3"),  # type: ignore[arg-type]
    (lambda world, model: Shape(geometry=Sphere(1), collidable="no"), "but must be True or False"),  # type: ignore[arg-type]
    (lambda world, model: Inertia(-1), "the mass of an inertia is -1.0, but must not be negative"),
    (lambda world, model: setattr(world, "time_step", -1), "the time_step of world 'lab' is -1.0"),
    (lambda world, model: setattr(model, "static", "yes"), "the static of model 'robot' is 'yes'"),
    (lambda world, model: setattr(model, "bodies", ["x"]), "the bodies of model 'robot' are 'x', but must be a Body"),
    (lambda world, model: setattr(model.bodies[0], "visuals", [Sphere(1)]), "but must be a Shape"),
    (lambda world, model: setattr(model.joints[1].dofs[0], "position_limits", (2, 1)), "2 to 1, but the lower limit"),
    (lambda world, model: Pose().apply("x"), "points are 'x', but must be numbers"),
]  # fmt: skip


@pytest.mark.parametrize(("edit", "message"), REFUSED)
def test_a_wrong_value_is_refused_where_it_is_given(edit: Callable[[World, Model], Any], message: str) -> None:
    with pytest.raises(ExoskelError) as found:
        edit(*arm())
    assert message in str(found.value)


def test_a_pose_times_an_array_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        Pose() @ np.eye(4)  # type: ignore[operator]


def test_lists_and_numpy_values_are_still_accepted() -> None:
    world, model = arm()
    body = model.add_body("c", limits=np.array([-1.0, 1.0]), density=np.float64(2), shapes=(Sphere(1),), **HINGE)
    assert type(body.mass) is float
    model.add_body("d", joint="universal", axes=np.eye(3)[:2], limits=[(-1, 1), np.array([-2, 2])])
    assert [dof.position_limits for dof in model.joint("d_joint").dofs] == [(-1.0, 1.0), (-2.0, 2.0)]
    model.static = np.bool_(True)  # type: ignore[assignment]
    assert model.static is True
    model.bodies = (*model.bodies,)  # type: ignore[assignment]
    assert type(model.bodies) is not tuple
    world.time_step = np.float32(0.5)  # type: ignore[assignment]
    assert exoskel.SolverParameters(solref=[2, 1]).solref == (2.0, 1.0)  # not an interval


def test_a_joint_takes_bodies_by_name() -> None:
    _, model = arm()
    joint = model.add_joint("loop", "ball", child="arm", parent="base")
    assert joint.loop
    assert joint.parent is model.body("base")


def add_zero_axis(model: Model) -> None:
    """Add a joint with an axis that only a file may have."""
    model.add_body("c", joint="revolute", axis=(0, 0, 1))
    with no_edits():
        model.joint("c_joint").axes = ((0.0, 0.0, 0.0),)


DOUBTFUL: list[tuple[Callable[[Model], Any], str]] = [
    (lambda model: model.add_body("c", mass=0), "SC108"),
    (lambda model: model.add_body("c", moment=(-1, 1, 1, 0, 0, 0)), "SC109"),
    (lambda model: model.add_body("c", moment=(10, 1, 1, 0, 0, 0)), "SC109"),
    (add_zero_axis, "SC110"),
    (lambda model: model.add_body("c", limits=(0, 1), position=3, **HINGE), "SC111"),
    (lambda model: model.add_body("c", damping=-1, **HINGE), "SC112"),
    (lambda model: model.add_body("c", stiffness=-1, **HINGE), "SC112"),
    (lambda model: model.add_body("c", shapes=[Mesh("nowhere.obj")]), "SC114"),
    (lambda model: model.add_body("c", mimic=Mimic("nowhere"), **HINGE), "SC115"),
    (lambda model: model.add_body("c", mimic=Mimic("base_joint"), **HINGE), "SC115"),
]


@pytest.mark.parametrize(("edit", "code"), DOUBTFUL)
def test_a_built_scene_gets_the_warnings_of_a_file(edit: Callable[[Model], Any], code: str) -> None:
    world, model = arm()
    assert not exoskel.check(world)
    edit(model)
    assert [(one.code, one.severity.value) for one in exoskel.check(world)] == [(code, "warning")]


def test_a_model_without_bodies_is_noted() -> None:
    world, _ = arm()
    world.add_model("empty")
    assert [one.code for one in exoskel.check(world)] == ["SC113"]


def test_an_unknown_collision_detector_is_a_warning() -> None:
    world, _ = arm()
    for name in ("", "fcl", "bullet"):
        world.collision_detector = name
        assert not exoskel.check(world)
    world.collision_detector = "bulet"
    (found,) = exoskel.check(world)
    assert (found.code, found.severity.value) == ("SC117", "warning")
    assert found.message == "unknown collision detector 'bulet'"


def test_an_error_does_not_hide_warnings_about_other_items() -> None:
    world, model = arm()
    model.add_body("c", damping=-1, **HINGE)
    model.body("arm").collisions[0].friction = -1
    assert [one.code for one in exoskel.check(world)] == ["SC101", "SC112"]


TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def test_a_mesh_is_found_from_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "part.obj").write_text(TETRAHEDRON)
    monkeypatch.chdir(tmp_path)
    world = World(name="w")
    body = world.add_model("m").add_body("b", shapes=[Mesh("part.obj", (2, 2, 2))], mass=1)
    assert body.com == (1.0, 1.0, 1.0)
    assert not exoskel.check(world)
    assert {one.code for one in exoskel.preflight(world)} == {"EN011"}
    for name in ("w.skel", "w.xode", "w.sdf", "other/w.skel"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        exoskel.save(world, tmp_path / name)
        found = exoskel.load(tmp_path / name).world.models[0].bodies[0].collisions[0].geometry
        assert isinstance(found, Mesh)
        assert found.path is not None


def test_long_objects_have_short_texts() -> None:
    assert len(repr(MultiSphere(tuple(Ball(1.0, (0, 0, i)) for i in range(100))))) < 150
    assert repr(Body(name="a"))


@pytest.mark.parametrize("to", ["skel", "xode", "mjcf", "urdf", "sdf", "usd"])
def test_friction_of_shapes_of_a_built_body_is_converted(to: str) -> None:
    model = Model(name="m")
    shape = Shape(geometry=Sphere(0.1), friction=0.8, restitution=0.3, color=(1, 0, 0, 1), name="ball")
    model.add_body("b", shapes=[shape], mass=1)
    report = exoskel.convert(model, to=to)
    assert report.certificate.passed
    (found,) = exoskel.load(report.data).world.models[0].bodies[0].collisions
    assert found.friction == (None if to == "urdf" else pytest.approx(0.8))


def test_a_mass_from_a_density_is_a_clean_number() -> None:
    body = Model(name="m").add_body("b", shapes=[Box((0.1, 0.3, 0.7))], density=0.7)
    assert repr(body.mass) == "0.0147"


@pytest.mark.parametrize(("name", "kinds"), [("swapped", {"universal", "hinge2"}), ("collapses", {"universal"})])
@pytest.mark.parametrize("kind", ["revolute", "prismatic", "universal", "hinge2", "ball", "screw"])
def test_flags_of_other_kinds_of_joints_are_refused(name: str, kinds: set[str], kind: str) -> None:
    world = exoskel.World()
    body = world.add_model("m").add_body("a")
    joint = next(world.joints())
    joint.kind = kind  # type: ignore[assignment]
    joint.axes = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))[: TRAITS[joint.kind].axes]
    setattr(joint, name, True)
    found = [one.message for one in exoskel.check(world)]
    assert found == [] if kind in kinds else found[0].endswith("joints may have") and name in found[0]
    joint.kind = "weld"
    joint.axes = ()
    assert not getattr(joint, name)  # it does not outlive its kind
    assert body in world.bodies()
