"""Scenes built in Python: every function accepts them, and they have the values that a person expects."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exoskel
from exoskel import Body, Box, ExoskelError, Model, Pose, Scene, Shape, Sphere, World, spatial
from exoskel.scene.cameras_and_keyframes import SceneLight
from exoskel.scene.inertia import Inertia, derive_moments
from tests.support.places import PROJECT

WALKER = "dart://sample/skel/walker.skel"


def pendulum() -> World:
    world = World(name="lab")
    model = world.add_model("pendulum")
    model.add_body("bob", joint="revolute", axes=((0, 1, 0),), mass=2.0, shapes=[Sphere(0.1)], pose=Pose((0, 0, 1)))
    return world


def sources() -> dict[str, Any]:
    built, loaded = pendulum(), exoskel.load(WALKER)
    return {
        "built scene": Scene(worlds=[built]),
        "built world": built,
        "built model": built.models[0],
        "loaded scene": loaded,
        "loaded world": loaded.world,
        "loaded model": loaded.world.model("walker"),
    }


@pytest.mark.parametrize("kind", sources())
class TestEveryFunctionTakesScenesWorldsAndModels:
    def test_it_can_be_saved_in_every_format(self, kind: str, tmp_path: Path) -> None:
        source = sources()[kind]
        for extension in ("skel", "xode", "sdf", "xml"):
            exoskel.save(source, tmp_path / f"saved.{extension}")
            assert (
                exoskel.load(tmp_path / f"saved.{extension}").world.dof_count
                == exoskel.Simulation(source).positions.size
            )

    @pytest.mark.parametrize("extension", ["skel", "xode", "sdf", "urdf", "xml", "glb"])
    def test_it_can_be_converted_to_every_format(self, kind: str, extension: str, tmp_path: Path) -> None:
        source = sources()[kind]
        report = exoskel.convert(
            source, tmp_path / f"out.{extension}", model="walker" if "loaded" in kind and extension == "urdf" else None
        )
        assert report.certificate.passed and report.saved and report.nodes

    def test_it_can_be_checked_summarized_and_compared(self, kind: str) -> None:
        source = sources()[kind]
        assert exoskel.check(source) == []
        assert exoskel.summarize(source)["totals"]["worlds"] == 1
        assert exoskel.diff(source, sources()[kind]) == []

    def test_it_can_be_simulated(self, kind: str) -> None:
        source = sources()[kind]
        assert len(exoskel.run(source, 0.05)) == 6
        assert exoskel.rollout(source, worlds=2, steps=3).positions.shape[0] == 2
        assert exoskel.preflight(source) is not None

    def test_it_can_be_shown_and_rendered(self, kind: str, tmp_path: Path) -> None:
        source = sources()[kind]
        exoskel.render(source, tmp_path / "a.png", renderer="software", size=(64, 48))
        exoskel.export(source, tmp_path / "a.html")
        handle = exoskel.show(source, port=0, browser=False)
        handle.close()
        handle = exoskel.show(exoskel.run(source, 0.02), port=0, browser=False)
        handle.close()

    def test_it_can_be_merged(self, kind: str) -> None:
        assert len(exoskel.merge(sources()[kind], pendulum()).world.models) >= 2


@pytest.mark.parametrize(
    "use", [exoskel.check, exoskel.summarize, exoskel.run, exoskel.rollout, exoskel.Simulation, exoskel.merge]
)
def test_other_types_are_refused_with_what_to_do(use: Any) -> None:
    with pytest.raises(ExoskelError, match=r"expected a Scene, World or Model, not 'a\.skel'; use exoskel\.load"):
        use("a.skel")


def test_saving_without_a_file_needs_a_path() -> None:
    with pytest.raises(ExoskelError, match="pass the path"):
        exoskel.save(pendulum())


def test_a_scene_without_a_document_is_converted_with_fates(tmp_path: Path) -> None:
    report = exoskel.convert(pendulum(), tmp_path / "pendulum.sdf")
    assert (report.input, report.formats) == ("<scene>", ("skel", "sdf"))
    assert report.fates["exact"] > 10 and not report.losses


def test_several_worlds_without_a_document_are_converted(tmp_path: Path) -> None:
    second = pendulum()
    second.name = "other"
    scene = Scene(worlds=[pendulum(), second])
    report = exoskel.convert(scene, tmp_path / "two.xode")
    assert report.certificate.passed and len(exoskel.load(tmp_path / "two.xode").worlds) == 2
    assert exoskel.convert(scene, tmp_path / "one.sdf", world="other").certificate.passed


def test_converting_does_not_edit_the_scene() -> None:
    world = pendulum()
    before = exoskel.summarize(world)
    exoskel.convert(world, to="mjcf")
    assert exoskel.summarize(world) == before


def test_a_model_has_the_default_world() -> None:
    model = Model(name="ball")
    model.add_body("ball", mass=1.0, shapes=[Box((1, 1, 1))])
    simulation = exoskel.Simulation(model)
    assert simulation.world.gravity == (0.0, 0.0, -9.81) and simulation.world.models == [model]


# --- mass properties -----------------------------------------------------------------------------------


def body_with(*shapes: Any, **options: Any) -> Body:
    return Model(name="m").add_body("b", shapes=shapes, **options)


def test_centre_and_moment_come_from_the_shapes() -> None:
    body = body_with(Shape(geometry=Box((1, 2, 3)), pose=Pose((0, 0, -1))), mass=12.0)
    assert body.com == (0.0, 0.0, -1.0) and body.moment == pytest.approx((13, 10, 5, 0, 0, 0))
    assert body.inertia.derived == ("com", "moment")


def test_given_values_are_not_derived() -> None:
    shape = Shape(geometry=Box((1, 2, 3)), pose=Pose((0, 0, -1)))
    body = body_with(shape, com=(0, 0, 0), moment=(1, 1, 1, 0, 0, 0))
    assert body.com == (0, 0, 0) and body.moment == (1, 1, 1, 0, 0, 0) and body.inertia.derived == ()
    assert body_with(shape, com=(0, 0, 0), mass=12.0).moment == pytest.approx((25, 22, 5, 0, 0, 0))


def test_derived_values_follow_the_shapes_and_the_mass() -> None:
    body = body_with(Sphere(0.1), mass=2.0)
    body.mass = 4.0
    assert body.moment[0] == pytest.approx(0.016)
    body.collisions[0].pose = Pose((1, 0, 0))
    assert body.com == (1.0, 0.0, 0.0)
    body.com = (0.0, 0.0, 0.0)
    assert body.inertia.derived == ("moment",)
    body.com = None
    assert body.inertia.derived == ("com", "moment")


CUBE = exoskel.TriMesh(
    np.array([[x, y, z] for x in (0, 2) for y in (0, 1) for z in (0, 1)], dtype=np.float64),
    np.array(
        [
            [0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
            [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3],
        ]
    ),
)  # fmt: skip


@pytest.mark.parametrize(
    "geometry",
    [
        Box((0.3, 0.5, 0.7)),
        Sphere(0.4),
        exoskel.Ellipsoid((0.3, 0.5, 0.7)),
        exoskel.Cylinder(0.2, 0.9),
        exoskel.Capsule(0.2, 0.9),
        exoskel.Cone(0.4, 0.9),
        exoskel.Cone(0.4, 0.9, centred=False),
        exoskel.Pyramid(0.4, 0.6, 0.9),
        CUBE,
    ],
    ids=lambda geometry: geometry.__class__.__name__,
)
def test_solids_agree_with_the_volume_integral(geometry: Any) -> None:
    """Compare with sums over random points inside the bounding box."""
    pose = Pose((0.3, -0.2, 0.5), exoskel.Euler((0.4, -0.7, 1.1)))
    body = body_with(Shape(geometry=geometry, pose=pose), density=1000.0)
    low, high = (np.array(corner) for corner in geometry.bounds())
    points = np.random.default_rng(1).uniform(low, high, (400_000, 3))
    inside = points[_is_inside(geometry, points)]
    mass = 1000.0 * float(np.prod(high - low)) * len(inside) / len(points)
    placed = inside @ pose.matrix()[:3, :3].T + pose.position
    centre = placed.mean(axis=0)
    tensor = mass * spatial.point_moment(placed - centre).mean(axis=0)
    assert body.mass == pytest.approx(mass, rel=1e-2)
    assert body.com == pytest.approx(centre, abs=3e-3)
    size = np.abs(tensor).max()
    assert np.abs(spatial.moment_matrix(body.moment) - tensor).max() < 0.02 * size


def _is_inside(geometry: Any, points: np.ndarray) -> np.ndarray:
    x, y, z = points.T
    match geometry:
        case Sphere(radius=r):
            return x * x + y * y + z * z < r * r
        case exoskel.Ellipsoid(size=(a, b, c)):
            return (2 * x / a) ** 2 + (2 * y / b) ** 2 + (2 * z / c) ** 2 < 1
        case exoskel.Cylinder(radius=r):
            return x * x + y * y < r * r
        case exoskel.Capsule(radius=r, height=h):
            return x * x + y * y + np.maximum(np.abs(z) - h / 2, 0) ** 2 < r * r
        case exoskel.Cone(radius=r, height=h, centred=centred):
            return np.hypot(x, y) < r * (1 - (z + (h / 2 if centred else 0)) / h)
        case exoskel.Pyramid(width=w, depth=d, height=h):
            rest = 1 - (z + h / 2) / h
            return (np.abs(x) < w / 2 * rest) & (np.abs(y) < d / 2 * rest)
    return np.ones(len(points), dtype=bool)


def test_density_counts_each_shape_once() -> None:
    assert body_with(Box((1, 1, 1)), density=500.0).mass == 500.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mass": -1.0}, "the mass of body 'b' is -1.0"),
        ({"mass": math.nan}, "the mass of body 'b' is nan"),
        ({"mass": math.inf}, "the mass of body 'b' is inf"),
        ({"density": -1.0}, "the density of body 'b' is -1.0"),
        ({"density": math.nan}, "the density of body 'b' is nan"),
        ({"density": 1.0, "mass": 1.0}, "body 'b' has both a mass and a density"),
        ({"density": 1.0, "shapes": []}, "body 'b' has a density but no shape"),
        ({"density": 1.0, "shapes": [exoskel.Plane((0, 0, 1))]}, "body 'b' has a density but no shape"),
    ],
)
def test_invalid_masses_are_refused_with_the_name_of_the_body(options: dict[str, Any], message: str) -> None:
    model = Model(name="m")
    with pytest.raises(ExoskelError, match=message):
        model.add_body("b", **{"shapes": [Box((1, 1, 1))], **options})
    assert not model.bodies and not model.joints


def test_a_pendulum_swings() -> None:
    world = World(name="lab")
    rod = Shape(geometry=Box((0.05, 0.05, 1.0)), pose=Pose((0, 0, -0.5)))
    world.add_model("pendulum").add_body(
        "rod", joint="revolute", axes=((0, 1, 0),), positions=(0.1,), mass=1.0, shapes=[rod]
    )
    motion = exoskel.run(world, 4.0)
    period = 2 * math.pi * math.sqrt((1 / 3) / (9.81 * 0.5))
    crossings = motion.time[:-1][np.diff(np.sign(motion.positions[:, 0])) < 0]
    assert np.diff(crossings)[0] == pytest.approx(period, abs=0.02)
    assert motion.positions[0, 0] == 0.1


@pytest.mark.parametrize("extension", ["skel", "xode", "sdf", "xml"])
def test_derived_mass_properties_are_saved(extension: str, tmp_path: Path) -> None:
    world = World(name="lab")
    shapes = [Shape(geometry=exoskel.Cone(0.2, 0.5), pose=Pose((0.1, 0.2, 0.3), exoskel.Euler((0.1, 0.2, 0.3))))]
    body = world.add_model("m").add_body("b", shapes=[*shapes, Box((0.1, 0.2, 0.3))], density=700.0)
    path = tmp_path / f"m.{extension}"
    exoskel.save(world, path)
    read = exoskel.load(path).world.models[0].body("b")
    assert (read.mass, *read.com, *read.moment) == pytest.approx((body.mass, *body.com, *body.moment))


def test_a_body_added_to_a_file_keeps_its_mass_properties(tmp_path: Path) -> None:
    scene = exoskel.load(WALKER)
    exoskel.save(scene, tmp_path / "walker.skel")
    scene = exoskel.load(tmp_path / "walker.skel")
    added = scene.world.models[0].add_body("cone", shapes=[exoskel.Cone(0.2, 0.5)], density=700.0)
    exoskel.save(scene)
    read = exoskel.load(tmp_path / "walker.skel").world.models[0].body("cone")
    assert read.com == pytest.approx(added.com) and read.moment == pytest.approx(added.moment)


# --- collision shapes ----------------------------------------------------------------------------------


def test_collision_copies_keep_everything() -> None:
    shape = Shape(
        geometry=Box((1, 1, 1)),
        pose=Pose((1, 2, 3)),
        name="foot",
        color=(1.0, 0.0, 0.0, 1.0),
        friction=0.3,
        restitution=0.7,
        collidable=False,
    )
    body = body_with(shape)
    copied = body.collisions[0]
    assert copied is not body.visuals[0]
    for field in ("geometry", "pose", "name", "color", "friction", "restitution", "collidable"):
        assert getattr(copied, field) == getattr(shape, field)


# --- frames --------------------------------------------------------------------------------------------


def random_poses(count: int) -> list[Pose]:
    numbers = np.random.default_rng(2).normal(size=(count, 6)).tolist()
    return [Pose((a, b, c), exoskel.Euler((d, e, f))) for a, b, c, d, e, f in numbers]


def test_poses_compose_like_matrices() -> None:
    for one, other in itertools.pairwise([*random_poses(5), Pose((1, 2, 3)), Pose(), Pose((0, 1, 0)), Pose()]):
        assert np.allclose((one @ other).matrix(), one.matrix() @ other.matrix(), atol=1e-14)
        assert np.allclose((one @ one.inverse()).matrix(), np.eye(4), atol=1e-14)
        points = np.random.default_rng(3).normal(size=(2, 4, 3))
        assert np.allclose((one @ other).apply(points), one.apply(other.apply(points)), atol=1e-14)
    assert one.apply([1, 2, 3]).shape == (3,)


def test_points_need_three_numbers() -> None:
    with pytest.raises(ExoskelError, match=r"points have the shape \(2,\)"):
        Pose().apply([1, 2])


def test_bodies_are_placed_relative_to_other_frames() -> None:
    model = Model(name="m", pose=Pose((0, 0, 5), exoskel.Euler((0, 0, math.pi / 2))))
    base = model.add_body("base", at=(1, 0, 0), joint="weld")
    turned = Pose((0, 0, 1), exoskel.Euler((0, math.pi / 2, 0)))
    arm = model.add_body("arm", parent=base, at=turned)
    tip = model.add_body("tip", parent="arm", at=np.array([0, 0, 2]))
    assert base.pose.position == (1, 0, 0) and arm.pose.position == (1, 0, 1)
    assert tip.pose.position == pytest.approx((3, 0, 1))
    assert model.add_body("a", parent=arm, at=(1, 2, 3), relative_to="model").pose.position == (1, 2, 3)
    assert model.add_body("b", parent=arm, at=(0, 1, 5), relative_to="world").pose.position == pytest.approx((1, 0, 0))
    assert model.add_body("c", parent=tip, at=(0, 0, 1), relative_to=base).pose.position == (1, 0, 1)


def test_joints_are_placed_relative_to_other_frames() -> None:
    model = Model(name="m")
    base = model.add_body("base", at=(0, 0, 1), joint="weld")
    model.add_body("a", parent=base, at=(0, 0, -1), joint="ball", joint_at=(0, 0, 0.5))
    model.add_body("b", parent=base, at=(0, 0, -1), joint="ball", joint_at=(0, 0, 0), joint_relative_to="parent")
    model.add_body("c", parent=base, at=(0, 0, -1), joint="ball", joint_at=(0, 0, 3), joint_relative_to="model")
    assert [joint.pose.position for joint in model.joints[1:]] == [(0, 0, 0.5), (0, 0, 1), (0, 0, 3)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"at": (1, 2)}, "the position of body 'b' has 2 numbers, but needs 3"),
        ({"at": "up"}, "the position of body 'b' is 'up', but must be 3 numbers"),
        ({"at": (1, 2, 3), "pose": Pose()}, "body 'b' has both 'pose' and 'at'"),
        ({"at": (1, 2, 3), "relative_to": "moon"}, "relative_to is 'moon', but must be a body or one of 'model'"),
        ({"at": (1, 2, 3), "relative_to": Body(name="x")}, "no body called 'x'"),
        ({"joint_at": (1, math.nan, 3)}, "the position of joint 'b_joint' is .*, but must be finite"),
        ({"com": (1, 2)}, "the centre of mass of body 'b' has 2 numbers, but needs 3"),
        ({"moment": (1, 2)}, "the moment of inertia of body 'b' has 2 numbers, but needs 6"),
        ({"joint": "revolute", "axis": (1, 2)}, "the axis of joint 'b_joint' has 2 numbers, but needs 3"),
        ({"joint": "revolute", "axis": (1, 2, None)}, r"the axis of joint 'b_joint' is \(1, 2, None\)"),
        ({"joint": "revolute", "axis": (0, 0, 0)}, "the axis of joint 'b_joint' is zero, but must have a direction"),
        ({"joint": "universal", "axes": np.zeros((2, 3))}, "the axis of joint 'b_joint' is zero"),
        ({"joint": "revolute"}, "wrong number of axes for joint 'b_joint'"),
        ({"joint": "revolute", "axis": (1, 0, 0), "axes": ()}, "has both 'axis' and 'axes'"),
        ({"joint": "ball", "positions": (1, 2)}, "wrong number of positions for joint 'b_joint'"),
        ({"joint": "ball", "damping": (1, 2)}, "wrong number of damping for joint 'b_joint'"),
        ({"joint": "ball", "limits": (1, 2, 3)}, "'limits' of joint 'b_joint' has 3 numbers, but needs 2"),
        ({"joint": "ball", "limits": (2, 1)}, "'limits' of joint 'b_joint' is 2 to 1"),
        ({"joint": "ball", "limits": [(0, 1), (0, 1)]}, "wrong number of limits for joint 'b_joint'"),
        ({"joint": "balls"}, "unknown joint kind 'balls'"),
    ],
)
def test_invalid_options_are_refused_with_names(options: dict[str, Any], message: str) -> None:
    model = Model(name="m")
    with pytest.raises(ExoskelError, match=message):
        model.add_body("b", **options)
    assert not model.bodies and not model.joints


def test_unknown_options_are_refused_with_a_suggestion() -> None:
    with pytest.raises(TypeError, match="joints have no option 'dampin'; did you mean 'damping'"):
        Model(name="m").add_body("b", dampin=1.0)  # type: ignore[call-arg]


def test_joint_options_set_all_degrees_of_freedom() -> None:
    model = Model(name="m")
    model.add_body(
        "a", joint="revolute", axis=np.array([0, 1, 0]), position=0.3, velocity=-1, limits=(-1, 2), damping=3
    )
    model.add_body("b", joint="universal", axes=np.eye(3)[:2], damping=[1, 2], limits=[(0, 1), (-1, 0)], friction=0.5)
    model.add_body("c", joint="ball", positions=np.arange(3), stiffness=4, rest=(1, 2, 3), force_limits=(-5, 5))
    a, b, c = model.joints
    assert (a.axes, a.positions, a.velocities) == (((0, 1, 0),), (0.3,), (-1,))
    assert (a.dofs[0].position_limits, a.dofs[0].damping) == ((-1, 2), 3)
    assert [dof.damping for dof in b.dofs] == [1, 2] and [dof.position_limits for dof in b.dofs] == [(0, 1), (-1, 0)]
    assert [dof.friction for dof in b.dofs] == [0.5, 0.5]
    assert [(dof.stiffness, dof.rest, dof.force_limits) for dof in c.dofs] == [(4, r, (-5, 5)) for r in (1, 2, 3)]
    assert all(type(value) is float for value in (*a.axes[0], *c.positions))


# --- numbers -------------------------------------------------------------------------------------------


def with_three_dofs() -> exoskel.Joint:
    model = Model(name="m")
    model.add_body("b", joint="ball")
    return model.joints[0]


SETTERS: dict[str, tuple[Any, str, int, str]] = {
    "gravity": (lambda: World(name="w"), "gravity", 3, "the gravity of world 'w'"),
    "colour": (lambda: Shape(geometry=Box((1, 1, 1)), name="s"), "color", 4, "the color of shape 's'"),
    "marker": (lambda: exoskel.Marker(name="m"), "offset", 3, "the offset of marker 'm'"),
    "centre of mass": (lambda: Body(name="b"), "com", 3, "the com of body 'b'"),
    "moment": (lambda: Body(name="b"), "moment", 6, "the moment of body 'b'"),
    "inertia": (exoskel.Inertia, "com", 3, "the com of an inertia"),
    "positions": (with_three_dofs, "positions", 3, "the positions of joint 'b_joint' .ball."),
    "velocities": (with_three_dofs, "velocities", 3, "the velocities of joint 'b_joint' .ball."),
    "body state": (exoskel.BodyState, "linear_velocity", 3, "the linear_velocity of a body state"),
}


def in_plural(reason: str) -> str:
    return reason.replace("has ", "have ").replace("is ", "are ").replace("needs ", "need ")


@pytest.mark.parametrize("name", SETTERS)
def test_attributes_take_sequences_and_arrays_and_refuse_others(name: str) -> None:
    build, field, count, described = SETTERS[name]
    singular = field not in ("positions", "velocities", "axes")
    for values in ([1] * count, np.ones(count), tuple(np.ones(count, dtype=np.float32))):
        item = build()
        setattr(item, field, values)
        assert getattr(item, field) == (1.0,) * count and {type(v) for v in getattr(item, field)} == {float}
    for wrong, reason in (
        ([1] * (count - 1), f"has {count - 1} numbers, but needs {count}"),
        ("x" * count, f"is '{'x' * count}', but must be {count} numbers"),
        (["1"] * count, f"must be {count} numbers"),
        (np.ones((count, 1)), f"must be {count} numbers"),
        (1.0, f"is 1.0, but must be {count} numbers"),
        ([math.nan] * count, "must be finite"),
        ([math.inf] * count, "must be finite"),
    ):
        item = build()
        before = getattr(item, field)
        with pytest.raises(ExoskelError, match=f"{described} .*{reason if singular else in_plural(reason)}"):
            setattr(item, field, wrong)
        assert getattr(item, field) == before


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (Box, "the size of a box"),
        (exoskel.Ellipsoid, "the size of an ellipsoid"),
        (exoskel.Plane, "the normal of a plane"),
        (lambda x: exoskel.Ball(1, x), "the position of a ball"),
        (lambda x: exoskel.Mesh("a.obj", x), "the scale of a mesh"),
        (Pose, "the position of a pose"),
        (exoskel.Euler, "the angles of an euler"),
        (exoskel.AxisAngle, "the axis of an axis angle"),
        (lambda x: exoskel.FiniteRotation(1, x), "the axis of a finite rotation"),
        (lambda x: World(name="w", gravity=x), "the gravity of world 'w'"),
        (lambda x: exoskel.Marker(name="m", offset=x), "the offset of marker 'm'"),
        (lambda x: exoskel.Inertia(com=x), "the com of an inertia"),
    ],
)
def test_constructors_take_sequences_and_arrays_and_refuse_others(build: Any, message: str) -> None:
    assert build([1, 2, 3]) == build(np.array([1, 2, 3])) == build((1.0, 2.0, 3.0)) or isinstance(
        build([1, 2, 3]), World | exoskel.Marker
    )
    for wrong in ((1, 2), "abc", (1, 2, math.nan), 5, np.eye(3), (1, 2, "3"), (1, 2, 10**400)):
        with pytest.raises(ExoskelError, match=message):
            build(wrong)


@pytest.mark.parametrize(
    ("field", "allowed"),
    [
        ("order", "xyz, xzy, yxz, yzx, zxy, zyx, xyx, xzx, yxy, yzy, zxz or zyz"),
        ("plane", "xy, yz, zx or arbitrary"),
        ("actuator", "force, passive, servo, acceleration, velocity or locked"),
        ("kind", "weld, revolute, .* or amotor"),
    ],
)
@pytest.mark.parametrize("value", ["xxx", "", None, 3, ["xyz"]])
def test_a_name_that_a_field_does_not_know_is_refused_where_it_is_set(field: str, allowed: str, value: Any) -> None:
    model = World(name="w").add_model("m")
    model.add_body("b", joint="euler")
    joint = model.joint("b_joint")
    before = getattr(joint, field)
    with pytest.raises(ExoskelError, match=f"the {field} of joint 'b_joint' is .*, but must be {allowed}"):
        setattr(joint, field, value)
    assert getattr(joint, field) == before


def test_euler_angles_with_an_unknown_order_are_refused() -> None:
    with pytest.raises(ExoskelError, match="the order of an euler is 'abc', but must be xyz, xzy"):
        exoskel.Euler((0, 0, 1), "abc")
    assert exoskel.Euler((0, 0, 1), "zxz").order == "zxz"


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Sphere("1"), "the radius of a sphere is '1', but must be a number"),
        (lambda: Sphere(np.ones(1)), r"the radius of a sphere is array\(\[1\.\]\), but must be a number"),
        (lambda: exoskel.Capsule(1, math.nan), "the height of a capsule is nan, but must be finite"),
        (lambda: exoskel.Quaternion((1, 0, 0)), "the wxyz of a quaternion has 3 numbers, but needs 4"),
        (lambda: exoskel.Quaternion((0, 0, 0, 0)), "the wxyz of a quaternion is zero, but must be a rotation"),
        (lambda: exoskel.AxisAngle((0, 0, 0)), "the axis of an axis angle is zero, but must have a direction"),
        (lambda: exoskel.Plane((0, 0, 0), 1), "the normal of a plane is zero, but must have a direction"),
        (lambda: SceneLight("sun", direction=(0, 0, 0)), "the direction of light 'sun' is zero"),
        (lambda: exoskel.Marker(name="tip", quaternion=(0, 0, 0, 0)), "the quaternion of marker 'tip' is zero"),
        (
            lambda: exoskel.Joint(name="j", kind="revolute", child=Body(name="b"), axes=((0, 0, 0),)),
            r"the axes of joint 'j' are \(\(0.0, 0.0, 0.0\),\), but none of them may be zero",
        ),
        (lambda: exoskel.Matrix(np.eye(2)), "the rows of a matrix have 2 rows, but need 3"),
        (lambda: exoskel.Matrix(((1, 0, 0), (0, 1), (0, 0, 1))), "the rows of a matrix have 2 numbers, but need 3"),
        (lambda: Pose((0, 0, 0), (0, 0, 1)), r"the rotation of a pose is \(0, 0, 1\), but must be an Euler, Quat"),
        (lambda: Shape(geometry=(1, 1, 1)), "the geometry of a shape is .*, but must be a Box, Sphere"),
        (lambda: Body(name="b", pose=(0, 0, 1)), r"the pose of body 'b' is \(0, 0, 1\), but must be a Pose"),
        (lambda: exoskel.Dof(name="q", damping="x"), "the damping of degree of freedom 'q' is 'x'"),
        (
            lambda: exoskel.Dof(position_limits=(1,)),
            "the position_limits of a degree of freedom have 1 number, but need 2",
        ),
        (lambda: exoskel.Dof(position_limits=(math.nan, 1)), "must not contain NaN"),
        (lambda: exoskel.Mimic("j", math.nan), "the multiplier of a mimic is nan"),
        (lambda: exoskel.Drive(velocity=math.inf), "the velocity of a drive is inf, but must be finite"),
        (
            lambda: exoskel.TriMesh([[0, 0]], [[0, 0, 0]]),
            "the vertices of a trimesh are .*, but must be rows of 3 numbers",
        ),
        (lambda: exoskel.TriMesh([[0, 0, 0]], [[0, 0, 0.5]]), "must be rows of 3 integers"),
        (lambda: World(name="w", time_step="x"), "the time_step of world 'w' is 'x', but must be a number"),
        (lambda: body_with("x"), "body 'b' has 'x' among its shapes; use a Shape"),
        (lambda: body_with(mass="x"), "the mass of body 'b' is 'x', but must be a number"),
    ],
)
def test_invalid_numbers_are_refused_with_the_object_and_the_field(build: Any, message: str) -> None:
    with pytest.raises(ExoskelError, match=message):
        build()


def test_numbers_that_may_be_infinite_are_accepted() -> None:
    assert exoskel.Dof(position_limits=[-np.inf, 1]).position_limits == (-math.inf, 1.0)
    assert exoskel.Drive(low_stop=-math.inf).low_stop == -math.inf
    mesh = exoskel.TriMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    assert mesh.vertices.dtype == np.float64 and mesh.triangles.dtype == np.int64


# --- types ---------------------------------------------------------------------------------------------

USER_SCRIPT = """
import numpy as np
import exoskel
from exoskel import Body, Box, Euler, Joint, Model, Pose, Report, Scene, Shape, Sphere, Trajectory, World

world: World = World(name="lab", gravity=(0, 0, -9.81))
model: Model = world.add_model("arm")
frame: Pose = Pose((0, 0, 1)) @ Pose((1, 0, 0), Euler((0, 0, 1))).inverse()
points = frame.apply(np.zeros((2, 3)))
base: Body = model.add_body("base", joint="weld", at=frame, relative_to="world", density=500, shapes=[Box((1, 1, 1))])
model.add_body(
    "arm", parent=base, at=np.array([0, 0, 1]), shapes=[Shape(geometry=Box((1, 1, 1)), friction=0.5)], mass=2,
    joint="revolute", axis=[0, 1, 0], joint_at=(0, 0, -0.5), joint_relative_to=base, position=0.1, velocity=0,
    limits=(-1, 1), damping=0.1, stiffness=0.2, friction=0.3, actuator="servo", com=(0, 0, 0), moment=np.ones(6),
)
model.add_body("hand", parent="arm", joint="ball", positions=np.zeros(3), limits=[(-1, 1)] * 3, damping=[1, 2, 3])
derived: tuple[str, ...] = base.inertia.derived
tool: Model = model.copy("arm", name="tool")
bodies: list[Body] = model.attach(tool, to=base, at=np.array([0, 1, 0]), prefix="second_", joint="weld")
twin: Model = world.add(tool, name="twin", at=(3, 0, 0))
found: list[Body] = world.find("arm/second_*", Body)
for item in world.find("joint:hand_joint"):
    world.rename(item, "wrist") if isinstance(item, Joint) else None
changed: Joint = model.replace(model.joint("wrist"), "universal", axes=[[1, 0, 0], [0, 1, 0]], damping=1)
same: Body = model.replace(model.body("hand"), Body(name="x"))
ball: Shape = model.replace(model.body("arm").visuals[0], Sphere(0.1))
world.replace(twin, tool)
world.remove("twin")
model.remove("second_hand")
html: str = world._repr_html_() + model._repr_html_() + Scene(worlds=[world])._repr_html_()
scene: Scene = Scene(worlds=[world])
for source in (scene, world, model):
    exoskel.check(source)
    exoskel.save(source, "arm.skel")
    report: Report = exoskel.convert(source, "arm.sdf")
    motion: Trajectory = exoskel.run(source, 0.01)
    exoskel.diff(source, world)
    exoskel.summarize(source)
"""


def test_a_user_script_runs_and_is_typed(tmp_path: Path) -> None:
    script = tmp_path / "user.py"
    script.write_text(USER_SCRIPT)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--follow-imports=silent", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=PROJECT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr


def test_reports_have_a_short_text_and_tables() -> None:
    report = exoskel.convert(pendulum(), to="sdf")
    assert repr(report).startswith("Report('<scene>' -> 'sdf', ") and len(repr(report)) < 200
    assert repr(report.certificate).endswith(" checks, passed)")
    assert report._repr_html_().count("<table>") == 3 and "<td>exact</td>" in report._repr_html_()
    failed = exoskel.Certificate.of([exoskel.Check("<mass>", None, 1e-9, False)])
    assert repr(failed) == "Certificate(1 check, failed: <mass>)" and "&lt;mass&gt;" in failed._repr_html_()


# --- texts and notebooks -------------------------------------------------------------------------------


def public_objects() -> list[Any]:
    scene = exoskel.load(WALKER)
    model = scene.world.model("walker")
    items = [*model.bodies, *model.joints, *(shape for body in model.bodies for shape in body.shapes)]
    dofs = [dof for joint in model.joints for dof in joint.dofs]
    poses = [body.pose for body in model.bodies]
    inertias = [body.inertia for body in model.bodies]
    return [
        scene, scene.world, model, *items, *dofs, *poses, *inertias, CUBE, Pose(), exoskel.Marker(name="m"),
        exoskel.SoftBody(total_mass=1.0), exoskel.BodyState(), exoskel.Drive(velocity=1.0), exoskel.Mimic("a"),
        exoskel.run(scene, 0.01), exoskel.Simulation(scene), scene.diagnostics[0],
    ]  # fmt: skip


def test_every_object_has_a_short_text() -> None:
    for item in public_objects():
        assert type(item).__name__ in repr(item) and " at 0x" not in repr(item) and "frozenset" not in repr(item)
        assert len(repr(item)) < 300 or isinstance(item, exoskel.Diagnostic), repr(item)
    assert repr(Pose()) == "Pose()" and repr(CUBE) == "TriMesh(vertices=8, triangles=12)"
    assert repr(Shape(geometry=Sphere(0.1), name="tip")) == "Shape(geometry=Sphere(radius=0.1), name='tip')"


def test_notebooks_show_tables_with_escaped_names() -> None:
    world = pendulum()
    world.models[0].rename("bob", "<b>&'")
    world.rename("pendulum", "<i>")
    assert "<td>&lt;i&gt;</td>" in world._repr_html_() and "<i>" not in world._repr_html_()
    html = world.models[0]._repr_html_()
    assert "<td>&lt;b&gt;&amp;&#x27;</td><td>2</td>" in html and "<td>revolute</td><td>world</td>" in html
    motion = exoskel.run(world, 0.05)
    motion.scene = None
    assert "<th>greatest</th>" in motion._repr_html_() and "<td>bob_joint</td>" in motion._repr_html_()
    scene = exoskel.load(WALKER)
    tables = scene._repr_html_()
    assert "<td>walker</td>" in tables and "<caption>Diagnostics</caption>" in tables and "<iframe" in tables


def test_long_tables_end_with_the_number_of_further_rows() -> None:
    model = Model(name="m")
    for number in range(150):
        model.add_body(f"b{number}")
    assert "and 50 more" in model._repr_html_() and model._repr_html_().count("<tr>") == 102


def test_pages_print_nothing_in_notebooks(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    import rich
    import rich.jupyter

    displayed: list[Any] = []
    monkeypatch.setattr(rich.jupyter, "display", lambda *shown: displayed.append(shown))
    monkeypatch.setattr(rich.get_console(), "is_jupyter", True)
    pendulum_scene = Scene(worlds=[pendulum()])
    assert "<iframe" in pendulum_scene._repr_html_()
    assert not displayed and not capsys.readouterr().out


def test_every_public_name_is_documented() -> None:
    for name in exoskel.__all__:
        value = getattr(exoskel, name)
        if callable(value):
            assert (value.__doc__ or "").strip(), name
            assert not (value.__doc__ or "").startswith(f"{name}("), name
        if isinstance(value, type):
            for method, inner in vars(value).items():
                if not method.startswith("_") and callable(inner):
                    assert (getattr(inner, "__doc__", "") or "").strip(), f"{name}.{method}"


@pytest.mark.parametrize("shift", [(0.0, 0.0, 0.0), (0.3, -0.2, 0.1), (1e3, 0.7, -0.1)])
def test_a_single_mesh_has_the_inertia_that_sums_of_shapes_have(shift: tuple[float, float, float]) -> None:
    """A body of one mesh is computed without arrays: to the same digits as bodies of many shapes."""
    points = np.random.default_rng(7).uniform(0.1, 0.5, (10, 4, 3)) + shift
    for corners in points:
        faces = np.array([[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]])
        if np.linalg.det(corners[1:] - corners[0]) > 0.0:
            faces = faces[:, ::-1]
        own = Shape(exoskel.TriMesh(corners, faces))
        inertia = Inertia(mass=1.7, com=None, moment=None, rule="solid")
        single = derive_moments([(inertia, [own])])
        both = derive_moments([(inertia, [own, Shape(exoskel.Ray(1.0))])])  # a ray has no volume
        assert single.moments.tobytes() == both.moments.tobytes()
        assert single.centres.tobytes() == both.centres.tobytes()


def test_shapes_are_not_added_to_the_shapes_of_both_kinds() -> None:
    """A shape that was appended to `body.shapes`, which is made from two lists, was silently ignored."""
    body = Body(name="b")
    shape = Shape(Sphere(1.0))
    for values in (body.shapes, body.mass_shapes):
        with pytest.raises(AttributeError):
            values.append(shape)  # type: ignore[union-attr]
    body.visuals.append(shape)
    assert body.shapes == (shape,)
