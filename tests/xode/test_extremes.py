"""Numbers near the limits of a double are used exactly or reported."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator

import numpy as np
import pytest

import exoskel
from exoskel import Inertia, Kinematics, spatial
from exoskel.formats.xode.mass import MassReader
from tests.support.findings import Read
from tests.support.xode import (
    ANCHOR,
    at,
    axis,
    body,
    geom,
    joint,
    mass,
    mass_shape,
    matrix,
    position,
    scene,
    transform,
    trimesh,
    two,
)
from tests.xode.cases import struct


@pytest.fixture(autouse=True)
def no_warnings() -> Iterator[None]:
    """Treat NumPy warnings as errors: the library must not write to standard error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def load(document: str) -> Read:
    return Read(exoskel.load(document, dialect="spec"))


# --- masses -------------------------------------------------------------------------------------------

HUGE_BOX = '<box sizex="1e200" sizey="1e200" sizez="1"/>'
LARGE = 'm00="{0}" m01="0" m02="0" m10="0" m11="{0}" m12="0" m20="0" m21="0" m22="{0}"'.format("1e308")


def weighed(inner: str, geoms: str = "") -> tuple[Inertia, Read]:
    read = load(scene(body(geoms + mass(inner))))
    return next(b for b in read.world.bodies() if b.name == "b").inertia, read


@pytest.mark.parametrize(
    ("inner", "key"),
    [
        (mass_shape('<sphere radius="1e200"/>'), "X605"),
        (mass_shape('<sphere radius="1e-150"/>', ' density="3"'), "X605"),
        (mass_shape('<sphere radius="1e200"/>', ' total="1"'), "X605.moment"),
        (mass_shape(HUGE_BOX), "X605"),
        (mass_shape(HUGE_BOX, ' total="1"'), "X605.moment"),
        (mass_shape('<cappedCylinder radius="1e200" length="1e200"/>'), "X605"),
        (mass_shape('<cylinder radius="1e-200" length="1"/>', ' total="1"'), "X607"),
        (struct(LARGE, centre="1e200"), "X605.moment"),
        (mass(struct(LARGE)) + mass(struct(LARGE)), "X605.moment"),
    ],
)
def test_masses_that_overflow_count_as_absent(inner: str, key: str) -> None:
    found, read = weighed(inner)
    read.expect(key, "error")
    read.assert_clean()
    assert found == Inertia()


@pytest.mark.parametrize(
    ("inner", "total", "moment"),
    [
        (mass_shape('<sphere radius="1e-150"/>', ' total="3"'), 3.0, 1.2e-300),
        (mass_shape('<sphere radius="1"/>', ' total="1e-300"') + '<adjust total="1e300"/>', 1e300, 4e299),
        (struct(LARGE), 2.0, 1e308),
    ],
)
def test_masses_that_are_extreme_but_finite_are_used(inner: str, total: float, moment: float) -> None:
    found, read = weighed(inner)
    read.assert_clean()
    assert found.mass == total
    assert found.moment == pytest.approx((moment, moment, moment, 0.0, 0.0, 0.0), rel=1e-12)


def test_geoms_that_overflow_give_no_mass() -> None:
    found, read = weighed('<adjust total="1"/>', geom('<sphere radius="1e200"/>'))
    read.expect_all("X604", "X605.moment").assert_clean()
    assert found == Inertia()


def test_an_impossible_inertia_counts_as_absent() -> None:
    negative = LARGE.replace("1e308", "1").replace('"1"', '"-1"', 1)
    found, read = weighed(struct(negative))
    read.expect("X607", "error")
    read.assert_clean()
    assert found == Inertia()
    far, read = weighed(struct(LARGE.replace("1e308", "1"), centre="3"))
    read.expect("X607", "error")
    assert far == Inertia() and np.isfinite(far.mass)


# --- directions ---------------------------------------------------------------------------------------

EXTREMES = [1e-300, 1e-200, 1e200, 1e300]
ROTATED = [[1, 0, 0], [0, 0, -1], [0, 1, 0]]


@pytest.mark.parametrize("size", EXTREMES)
@pytest.mark.parametrize(
    ("rotation", "codes"),
    [
        ('<axisangle x="{0}" y="0" z="0" angle="90" aformat="degrees"/>', []),
        ('<quaternion x="{0}" y="0" z="0" w="{0}"/>', ["X508"]),
    ],
)
def test_rotations_of_any_size_are_rotations(size: float, rotation: str, codes: list[str]) -> None:
    read = load(scene(body(transform(f"<rotation>{rotation.format(size)}</rotation>"))))
    read.expect_all(*codes).assert_clean()
    assert np.allclose(read.body().pose.matrix()[:3, :3], ROTATED, atol=1e-15)


@pytest.mark.parametrize("angle", [1e160, 1e300])
def test_angles_of_any_size_are_angles(angle: float) -> None:
    read = load(scene(body(transform(f'<rotation><axisangle x="0" y="3" z="4" angle="{angle}"/></rotation>'))))
    read.assert_clean()
    rotation = read.body().pose.matrix()[:3, :3]
    assert np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-14)


@pytest.mark.parametrize("size", EXTREMES)
def test_axes_of_any_size_are_directions(size: float) -> None:
    read = load(two(f"<hinge>{ANCHOR}{axis(x=size, y=size, z=0)}</hinge>"))
    read.assert_clean()
    assert np.allclose(spatial.unit(read.joint().axes[0]), [-(0.5**0.5), -(0.5**0.5), 0.0])
    kinematics = Kinematics(read.world.models)
    assert np.isfinite(kinematics.poses(np.full(kinematics.dof_count, 0.5))).all()


@pytest.mark.parametrize("size", EXTREMES)
def test_parallel_axes_of_any_size_are_parallel(size: float) -> None:
    parallel = load(two(f"<hinge2>{ANCHOR}{axis(x=size, z=0)}{axis(x=-size, z=0)}</hinge2>"))
    parallel.expect("X812", "error")
    parallel.assert_clean()
    load(two(f"<hinge2>{ANCHOR}{axis(x=size, z=0)}{axis(y=size, z=0)}</hinge2>")).assert_clean()


@pytest.mark.parametrize("size", EXTREMES)
def test_plane_normals_of_any_size_are_directions(size: float) -> None:
    read = load(scene(geom(f'<plane a="{size}" b="0" c="0" d="{size}"/>')))
    read.expect("X705", "warning")
    read.assert_clean()
    (shape,) = read.model.bodies[0].collisions
    assert (shape.geometry.normal, shape.geometry.offset) == ((1.0, 0.0, 0.0), 1.0)  # type: ignore[union-attr]


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_matrices_of_any_size_are_scaled_rotations(size: float) -> None:
    block = {"m00": size, "m01": 0, "m11": 0, "m12": -size, "m21": size, "m22": 0}
    read = load(scene(body(transform(matrix(**block)))))
    read.expect("X509", "warning")
    read.assert_clean()
    assert np.allclose(read.body().pose.matrix()[:3, :3], ROTATED, atol=1e-15)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_meshes_of_any_size_have_an_area(size: float) -> None:
    mesh = trimesh(3, [(1, 2, 3)]).replace('x="1"', f'x="{size}"').replace('y="4"', f'y="{size}"')
    flat = mesh.replace('y="1" z="1"', 'y="0" z="0"').replace('x="2"', 'x="0"').replace('z="2"', 'z="0"')
    load(scene(geom(flat))).assert_clean()


# --- places -------------------------------------------------------------------------------------------


def scaled(scale: float, inner: str, x: float = 0.0) -> str:
    attribute = f' scale="{scale}"'
    return f"<group>{transform(position(x, 0, 0), attribute)}{inner}</group>"


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_positions_that_overflow_count_as_absent(scale: float) -> None:
    inside = body(at(1, 0, 0) + scaled(scale, scaled(scale, geom())))
    read = load(scene(scaled(scale, scaled(scale, inside + geom(name="h")))))
    for _ in range(3):  # the second, and inside of the first alone each of the others
        read.expect("X303.overflow", "error", says="<group>")
    read.ignore("X509").assert_clean()
    for found in read.world.bodies():
        assert np.isfinite(found.pose.matrix()).all()
        assert all(np.isfinite(shape.pose.matrix()).all() for shape in found.collisions)


def test_distances_that_overflow_count_as_absent() -> None:
    read = load(scene(f"<group>{at(1e308, 0, 0)}{body(at(1, 0, 0))}</group>"))
    read.expect("X303.overflow", "error", says="<group>")
    read.assert_clean()
    assert read.body().pose.position == (1.0, 0.0, 0.0)


def test_anchors_that_overflow_count_as_absent() -> None:
    far = '<ball><anchor x="1e308" y="1e308" z="0"/></ball>'
    read = load(scene(body(transform(position(1, 0, 0), ' scale="10"') + joint(far, "j", "", ""))))
    read.expect("X303.overflow", "error", says="anchor")
    read.ignore("X509").assert_clean()
    assert (read.body().pose.matrix() @ read.joint().pose.matrix())[:3, 3].tolist() == [1.0, 0.0, 0.0]


def test_planes_that_overflow_are_ignored() -> None:
    read = load(scene(geom('<plane a="1e-200" b="0" c="0" d="1e200"/>')))
    read.expect("X303.overflow", "error", says="plane")
    read.ignore("X705").assert_clean()
    assert read.world.models == []


def test_joint_transforms_that_overflow_count_as_absent() -> None:
    tie = joint(transform(position(1e308, 0, 0)) + '<ball><anchor x="0" y="0" z="0"/></ball>', "j", "", "")
    read = load(scene(body(at(1, 0, 0) + tie)))
    read.expect("X303.overflow", "error", says="<joint>")
    read.ignore("X516", "X805").assert_clean()
    assert (read.body().pose.matrix() @ read.joint().pose.matrix())[:3, 3].tolist() == [1.0, 0.0, 0.0]


_ENTRIES = ("0", "-0", "1", "1.5", "0.25", "-0.25", "5e-324", "1e-310", "1e300", "1e308", "nan", "-1")


def test_a_lone_mass_struct_is_read_as_in_general(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(1)
    names = [f"m{row}{column}" for row in range(3) for column in range(3)]
    bodies = []
    for number in range(300):
        values = {
            name: rng.choice(
                ("1", "1", "1.5", rng.choice(_ENTRIES)) if name[1] == name[2] else ("0", rng.choice(_ENTRIES))
            )
            for name in names
        }
        if rng.random() < 0.8:
            values |= {"m10": values["m01"], "m20": values["m02"], "m21": values["m12"]}
        entries = " ".join(f'{name}="{value}"' for name, value in values.items())
        centre = rng.choice(("0", "0", "-0", "1e-12", "0.5"))
        struct = f'<mass_struct total="{rng.choice(("2", "2", "0", "1e308", "5e-324", "-1"))}"><centerGravity x="{centre}" y="0" z="0"/><imatrix {entries}/></mass_struct>'
        bodies.append(f'<body name="b{number}"><mass>{struct}</mass></body>')
    document = f'<xode version="1.0r22" name="x"><world name="w"><space>{"".join(bodies)}</space></world></xode>'

    def read() -> list[object]:
        scene = exoskel.load(document)
        return [[repr(body.inertia) for body in scene.world.bodies()], [str(found) for found in scene.diagnostics]]

    quick = read()
    monkeypatch.setattr(MassReader, "_single_struct", lambda self, node: None)
    assert read() == quick
