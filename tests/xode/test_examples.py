"""Sections 15 and 16 of the reference: the nine examples and the numeric vectors."""

from __future__ import annotations

import math

import numpy as np
import pytest

import exoskel
from exoskel import Body, Model, Scene
from exoskel.scene.world import World
from tests.support.checklist import rule
from tests.support.findings import Read
from tests.support.geometry import spatial_inertia
from tests.support.places import TESTS
from tests.support.xode import at, body, geom, mass, mass_shape, scene, transform, trimesh

EXAMPLES = TESTS / "xode" / "examples"


def example(number: int, **options: object) -> Scene:
    (file,) = EXAMPLES.glob(f"{number}_*.xode")
    return exoskel.load(file, **{"dialect": "spec", **options})  # type: ignore[arg-type]


def find_body(world: World, name: str) -> Body:
    return next(b for b in world.bodies() if b.name == name)


def pose(found: Body) -> tuple[list[float], list[list[float]]]:
    matrix = found.pose.matrix()
    return matrix[:3, 3].tolist(), matrix[:3, :3].tolist()


def codes(loaded: Scene) -> list[str]:
    return sorted(d.code for d in loaded.diagnostics)


def test_example_1_the_smallest_scene_is_read() -> None:
    loaded = example(1)
    assert codes(loaded) == [] == codes(example(1, dialect="auto")) == codes(example(1, strict=True))
    ball = find_body(loaded.world, "ball")
    assert ball.pose.position == (0.0, 0.0, 2.5)
    assert ball.mass == pytest.approx(52.359878)
    assert ball.moment == pytest.approx((1.308997, 1.308997, 1.308997, 0, 0, 0), abs=1e-6)
    assert [(s.name, s.pose.is_identity) for s in ball.collisions] == [("ball-shape", True)]
    (ground,) = loaded.world.model("environment").bodies[0].collisions
    assert ground.geometry == exoskel.Plane((0.0, 0.0, 1.0), 0.0)


_POSES = {
    "by-euler": (
        (98, 1, 3),
        [(-0.312992, -0.944702, 0.097843), (0.936293, -0.289629, 0.198669), (-0.159345, 0.153792, 0.975170)],
    ),
    "by-axisangle": ((100, 1, 0), [(1, 0, 0), (0, 1, 0), (0, 0, 1)]),
    "by-quaternion": ((5, 6, 7), [(0.28, 0, 0.96), (0, 1, 0), (-0.96, 0, 0.28)]),
    "by-matrix": ((95, 4, 6), [(-1, 0, 0), (0, -1, 0), (0, 0, 1)]),
    "outer": ((90, 2, 0), [(0, 0, 1), (1, 0, 0), (0, 1, 0)]),
    "inner": ((90, 2, 2), [(0, 0, 1), (1, 0, 0), (0, 1, 0)]),
}


@rule(15, 17, 21)
def test_example_2_transforms_give_the_expected_poses() -> None:
    loaded = example(2)
    assert codes(loaded) == ["X509"]
    assert codes(example(2, dialect="auto")) == ["X509", "X517", "X901"]
    for name, (position, rotation) in _POSES.items():
        found = pose(find_body(loaded.world, name))
        assert np.allclose(found[0], position, atol=1e-6), name
        assert np.allclose(found[1], rotation, atol=1e-6), name
        assert (find_body(loaded.world, name).mass, find_body(loaded.world, name).moment[:3]) == (1.0, (1.0, 1.0, 1.0))


@rule(18, 19, 24)
def test_example_3_geoms_are_placed_inside_their_body() -> None:
    loaded = example(3)
    assert codes(loaded) == ["X512"]
    assert codes(example(3, dialect="auto")) == ["X512", "X517", "X901"]
    hammer = find_body(loaded.world, "hammer")
    assert np.allclose(pose(hammer)[0], (0, 0, 10))
    assert np.allclose(pose(hammer)[1], [(0, 0, 1), (0, 1, 0), (-1, 0, 0)])
    assert hammer.mass == 2.0
    assert np.allclose(hammer.moment[:3], (0.167917, 0.167917, 0.0025), atol=1e-6)
    offsets = {
        "handle": ((0, 0, 0), np.eye(3)),
        "block": ((0, 0, 0.6), [(1, 0, 0), (0, 0, -1), (0, 1, 0)]),
        "tip": ((0.15, 0, 0.6), [(1, 0, 0), (0, 0, -1), (0, 1, 0)]),
        "marker": ((0, 0, 1), [(0, 0, -1), (0, 1, 0), (1, 0, 0)]),
    }
    found = {shape.name: shape.pose.matrix() for shape in hammer.collisions}
    assert found.keys() == offsets.keys()
    for name, (position, rotation) in offsets.items():
        assert np.allclose(found[name][:3, 3], position, atol=1e-12), name
        assert np.allclose(found[name][:3, :3], rotation, atol=1e-12), name


@rule(13, 14)
def test_example_4_masses_have_the_expected_centres_and_moments() -> None:
    loaded = example(4)
    assert codes(loaded) == ["X603", "X604", "X608"]
    assert codes(example(4, dialect="auto")) == ["X517", "X603", "X604", "X608", "X901"]
    expected = {
        "m-struct": (4, (0, 0, 0), (0.5, 0.6, 0.7)),
        "m-box": (6000, (0, 0, 0), (6500, 5000, 2500)),
        "m-capsule": (3, (0, 0, 0), (1.996875, 1.996875, 0.35625)),
        "m-density-wins": (1570.796327, (0, 0, 0), (621.773546, 621.773546, 196.349541)),
        "m-moved": (12, (1, 0, 0), (10, 13, 5)),
        "m-dumbbell": (10, (0, 0, 0), (0.16, 10.16, 10.16)),
        "m-adjust-only": (1, (0, 0, 0), (2.666667, 2.666667, 2.666667)),
        "m-none": (1, (0, 0, 0), (1, 1, 1)),
    }
    for name, (total, centre, diagonal) in expected.items():
        found = find_body(loaded.world, name)
        assert found.mass == pytest.approx(total)
        assert np.allclose(found.com, centre, atol=1e-12)
        assert np.allclose(found.moment, (*diagonal, 0, 0, 0), atol=1e-6), name
    about_origin = spatial_inertia(find_body(loaded.world, "m-moved"))[:3, :3]
    assert np.allclose(about_origin, np.diag([10, 25, 17]), atol=1e-12)


@rule(29)
def test_example_5_shapes_are_read_with_their_poses() -> None:
    loaded = example(5)
    assert codes(loaded) == ["X705", "X708"]
    shapes = {shape.name: shape for shape in loaded.world.model("environment").bodies[0].collisions}
    assert len(shapes) == 9
    assert np.allclose(shapes["g-capsule"].pose.matrix()[:3], [[1, 0, 0, 3], [0, 0, -1, 0], [0, 1, 0, 0]], atol=1e-12)
    assert shapes["g-satellite"].pose.position == (0.0, 0.0, 2.0)
    assert shapes["g-plane"].geometry == exoskel.Plane((0.0, 0.0, 1.0), -0.5)
    mesh = shapes["g-mesh"].geometry
    assert isinstance(mesh, exoskel.TriMesh)
    assert mesh.triangles.tolist() == [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]
    assert mesh.remarks == {0: "corner"}
    assert shapes["g-cone"].geometry.bounds() == ((-0.5, -0.5, 0.0), (0.5, 0.5, 1.5))


@rule(26, 28)
def test_example_6_joints_connect_the_expected_bodies() -> None:
    loaded = example(6)
    assert codes(loaded) == ["X805"]
    assert codes(example(6, dialect="auto")) == ["X805", "X901"]
    (model,) = loaded.world.models
    joints = {joint.name: joint for joint in model.joints}
    assert {name: joint.group for name, joint in joints.items() if joint.group} == {"j-ball": "jg", "j-fixed": "jg"}
    for name in ("j-ball", "j-fixed", "j-hinge", "j-slider", "j-hinge2", "j-universal", "j-amotor"):
        ends = {joints[name].child.name, joints[name].parent.name if joints[name].parent else None}
        assert ends == {"a", "b"}, name
    assert {joints["j-relative"].child.name, joints["j-relative"].parent.name} == {"a", "c"}
    anchors = {
        "j-ball": (1, 0, 1),
        "j-hinge": (1, 0, 1),
        "j-universal": (1, 0, 1),
        "j-hinge2": (2, 0, 1),
        "j-relative": (5, 0, 1),
    }
    for name, point in anchors.items():
        assert np.allclose(anchor(model, name), point, atol=1e-12), name
    hinge = joints["j-hinge"]
    assert hinge.axes == ((0.0, 2.0, 0.0),)
    assert hinge.dofs[0].position_limits == (-1.2, 1.2)
    assert hinge.drives[0] == exoskel.Drive(-1.2, 1.2, 0.5, 10.0, 0.9, 0.1, 0.0001, 0.3, 0.00001)
    assert joints["j-hinge2"].drives[0].suspension_erp == 0.4
    assert joints["j-hinge2"].drives[1].velocity == 20.0
    assert [drive.max_force for drive in joints["j-amotor"].drives] == [5.0, 5.0, 5.0]
    assert np.allclose(anchor(example(6, dialect="pyode").world.models[0], "j-relative"), (0, 0, 1), atol=1e-12)


def anchor(model: Model, name: str) -> np.ndarray:
    """The anchor of a joint in the world."""
    joint = model.joint(name)
    frame: np.ndarray = joint.child.pose.matrix() @ joint.pose.matrix()
    return frame[:3, 3]


@rule(16, 20, 25, 27)
def test_example_7_omitted_links_are_completed() -> None:
    loaded = example(7)
    assert codes(loaded) == ["X805", "X805"]
    assert codes(example(7, dialect="auto")) == ["X805", "X805", "X901"]
    left, right = loaded.worlds
    assert find_body(left, "late").pose.position == (0.0, 0.0, 1.0)
    (model,) = left.models
    ends = {j.name: (j.parent.name if j.parent else None, j.child.name, j.loop) for j in model.joints}
    assert ends == {
        "to-environment": (None, "pendulum", False),
        "second-link-omitted": ("pendulum", "late", False),
        "first-link-omitted": ("late", "pendulum", True),
        "one-link-outside-body": (None, "pendulum", True),
    }
    assert np.allclose(anchor(model, "to-environment"), (0, 0, 4))
    assert np.allclose(anchor(model, "second-link-omitted"), (0, 0, 2))
    assert [m.name for m in right.models] == ["lonely"]


@rule(32)
def test_example_8_states_and_extensions_are_read() -> None:
    loaded = example(8)
    assert codes(loaded) == [] == codes(example(8, dialect="auto"))
    spinner = find_body(loaded.world, "spinner")
    state = spinner.state
    assert state is not None
    assert (state.enabled, spinner.gravity) == (False, False)
    assert (state.force, state.torque) == ((1.0, 0.0, 0.0), (0.0, 0.0, 0.5))
    assert (state.linear_velocity, state.angular_velocity) == ((0.1, 0.0, 0.0), (0.0, 0.0, 30.0))
    assert (state.finite_rotation.mode, state.finite_rotation.axis) == (1, (0.0, 0.0, 1.0))
    assert spinner.mass == pytest.approx(14.137167)
    assert np.allclose(spinner.moment[:3], (0.329867, 0.329867, 0.636173), atol=1e-6)
    assert loaded.world.gravity == (0.0, 0.0, -9.81)
    assert loaded.world.cfm == 1e-5
    assert loaded.world.provenance("gravity") == "explicit"
    owners = sorted((extension.owner, extension.name) for extension in loaded.extensions)
    assert owners == [
        ("body", "authoring"),
        ("body", "colour"),
        ("cylinder", "material"),
        ("geom", "colour"),
        ("group", "authoring"),
        ("world", "world-params"),
        ("xode", "authoring"),
    ]
    assert loaded.world.models[0].joint("spinner_root").velocities == (0.0, 0.0, 30.0, 0.1, 0.0, 0.0)


def test_example_9_is_recognised_as_pyode() -> None:
    loaded = example(9, dialect="auto")
    assert codes(loaded) == ["X103", "X208", "X504", "X705", "X805", "X901"]
    assert loaded.source_info.semantics == "pyode"
    (floor,) = loaded.world.model("environment").bodies[0].collisions
    assert floor.geometry == exoskel.Plane((0.0, 1.0, 0.0), -0.5)
    wedge, crate = (find_body(loaded.world, name) for name in ("wedge", "crate"))
    half = math.sqrt(3) / 2
    assert np.allclose(pose(wedge)[1], [(1, 0, 0), (0, half, -0.5), (0, 0.5, half)], atol=1e-12)
    assert pose(wedge)[0] == [0.0, 1.0, -20.0]
    assert pose(crate)[0] == [7.0, 8.0, 9.0]
    model = loaded.world.model("wedge")
    pin = model.joint("pin")
    assert (pin.parent, pin.child) == (wedge, crate)
    assert np.allclose(anchor(model, "pin"), (2, 0, 0), atol=1e-12)
    assert pin.dofs[0].position_limits == (-0.5, 0.5)
    assert loaded.world.collision_exempt_groups == [("wedge", "crate")]
    fixed = model.joint("wedge_affixed")
    assert (fixed.kind, fixed.parent, fixed.child) == ("weld", None, wedge)
    spec = example(9).world
    assert np.allclose(pose(find_body(spec, "wedge"))[1], [(1, 0, 0), (0, half, 0.5), (0, -0.5, half)], atol=1e-12)
    assert np.allclose(anchor(spec.model("wedge"), "pin"), (9, 8, 9), atol=1e-12)


# --- section 16 ---------------------------------------------------------------------------------------


def one(inner: str, **options: object) -> Body:
    return find_body(exoskel.load(scene(body(inner)), **{"dialect": "spec", **options}).world, "b")  # type: ignore[arg-type]


def euler(x: float, y: float, z: float, extra: str = "") -> str:
    return transform(f'<rotation><euler x="{x}" y="{y}" z="{z}" {extra}/></rotation>')


@pytest.mark.parametrize(
    ("dialect", "rows"),
    [
        (
            "spec",
            [
                (0.936293364, -0.289629478, 0.198669331),
                (0.312991826, 0.944702486, -0.097843395),
                (-0.159345079, 0.153791998, 0.975170327),
            ],
        ),
        (
            "pyode",
            [
                (0.936293364, 0.289629478, -0.198669331),
                (-0.275095847, 0.956425086, 0.097843395),
                (0.218350663, -0.036957014, 0.975170327),
            ],
        ),
    ],
)
def test_euler_angles_differ_between_the_dialects(dialect: str, rows: list[tuple[float, ...]]) -> None:
    found = one(euler(0.1, 0.2, 0.3), dialect=dialect)
    assert np.allclose(pose(found)[1], rows, atol=1e-9)


def test_euler_angles_give_the_expected_quaternion() -> None:
    w, x, y, z = one(euler(0.1, 0.2, 0.3)).pose.quaternion
    assert np.allclose((x, y, z, w), (0.064071348, 0.091157549, 0.153439302, 0.981856173), atol=1e-9)


@rule(23)
@pytest.mark.parametrize(
    ("angles", "rows"),
    [
        ((90, 0, 90), [(0, -1, 0), (0, 0, -1), (1, 0, 0)]),
        ((90, 90, 0), [(0, 0, 1), (1, 0, 0), (0, 1, 0)]),
    ],
)
def test_euler_angles_in_degrees_equal_those_in_radians(
    angles: tuple[float, float, float], rows: list[tuple[float, ...]]
) -> None:
    in_degrees = one(euler(*angles, 'aformat="degrees"'))
    in_radians = one(euler(*map(math.radians, angles)))
    assert np.allclose(pose(in_degrees)[1], rows, atol=1e-12)
    assert np.allclose(pose(in_degrees)[1], pose(in_radians)[1], atol=1e-12)


@pytest.mark.parametrize(
    ("shape", "total", "dense", "light"),
    [
        ('<sphere radius="0.5"/>', 523.598776, (52.359878, 52.359878, 52.359878), (0.3, 0.3, 0.3)),
        ('<box sizex="1" sizey="2" sizez="3"/>', 6000, (6500, 5000, 2500), (3.25, 2.5, 1.25)),
        (
            '<cylinder radius="0.5" length="2"/>',
            1570.796327,
            (621.773546, 621.773546, 196.349541),
            (1.1875, 1.1875, 0.375),
        ),
        (
            '<cappedCylinder radius="0.5" length="2"/>',
            2094.395102,
            (1394.081740, 1394.081740, 248.709418),
            (1.996875, 1.996875, 0.35625),
        ),
        (
            '<cappedCylinder radius="0.1" length="5"/>',
            161.268423,
            (354.624026, 354.624026, 0.802153),
            (6.596903, 6.596903, 0.014922),
        ),
    ],
)
def test_the_mass_of_a_shape_follows_from_density_or_total(
    shape: str, total: float, dense: tuple[float, ...], light: tuple[float, ...]
) -> None:
    by_density = one(mass(mass_shape(shape, ' density="1000"')))
    by_total = one(mass(mass_shape(shape, ' total="3"')))
    assert by_density.mass == pytest.approx(total, abs=1e-6)
    assert np.allclose(by_density.moment[:3], dense, atol=1e-6)
    assert by_total.mass == 3.0
    assert np.allclose(by_total.moment[:3], light, atol=1e-6)


def test_the_transform_of_a_group_moves_its_bodies() -> None:
    parent = transform(
        '<position x="1" y="2" z="3"/><rotation><euler x="0" y="0" z="90" aformat="degrees"/></rotation>'
    )
    loaded = exoskel.load(scene(f"<group>{parent}{body(at(1, 0, 0))}</group>"), dialect="spec")
    assert np.allclose(pose(find_body(loaded.world, "b"))[0], (1, 3, 3), atol=1e-12)


def test_the_transform_of_a_plane_moves_its_equation() -> None:
    loaded = exoskel.load(scene(geom('<plane a="0" b="0" c="2" d="-1"/>', before=at(0, 0, 5))), dialect="spec")
    (plane,) = loaded.world.model("environment").bodies[0].collisions
    assert plane.geometry == exoskel.Plane((0.0, 0.0, 1.0), 4.5)
    assert plane.pose.is_identity


@pytest.mark.parametrize(
    ("triangles", "base", "expected"),
    [
        ([(0, 1, 2), (1, 2, 3)], 0, []),
        ([(1, 2, 3), (2, 3, 4)], 1, []),
        ([(1, 2, 3)], 1, ["X702"]),
        ([(0, 1, 4)], None, ["X701"]),
    ],
)
def test_triangle_indices_may_start_at_0_or_1(
    triangles: list[tuple[int, int, int]], base: int | None, expected: list[str]
) -> None:
    read = Read(exoskel.load(scene(geom(trimesh(4, triangles))), dialect="spec"))
    read.expect_all(*expected).assert_clean()
    if base is not None:
        (shape,) = read.world.model("environment").bodies[0].collisions
        assert isinstance(shape.geometry, exoskel.TriMesh)
        assert shape.geometry.triangles.tolist() == [[i - base for i in t] for t in triangles]


def test_stiffness_and_damping_convert_to_erp_and_cfm_and_back() -> None:
    from exoskel.scene.joint import erp_cfm_from_spring, spring_from_erp_cfm

    erp, cfm = erp_cfm_from_spring(stiffness=10.0, damping=4.5, step=0.02)
    assert (erp, cfm) == pytest.approx((0.042553191, 0.212765957), abs=1e-9)
    assert spring_from_erp_cfm(erp, cfm, step=0.02) == pytest.approx((10.0, 4.5))
