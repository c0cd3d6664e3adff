"""Section 18, items 29 to 40: bodies and inertia."""

from __future__ import annotations

import numpy as np
import pytest

import exoskel
from exoskel.formats.skel import checks
from exoskel.scene.inertia import Inertia, all_shapes_moment, derive_moments
from exoskel.scene.pose import NO_ROTATION, ZERO, Euler, Pose
from exoskel.scene.shape import Box, Cylinder, Geometry, Mesh, Plane, Pyramid, Shape, Sphere
from tests.support.checklist import item
from tests.support.findings import Reads
from tests.support.geometry import spatial_inertia
from tests.support.places import EXAMPLES
from tests.support.xml import BOX, MOMENT, body, joint, one_body, skeleton, world

UNIT = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)


def inertia(inner: str) -> str:
    return f"<inertia>{inner}</inertia>"


def moment(xx: float, yy: float, zz: float, xy: float = 0, xz: float = 0, yz: float = 0) -> str:
    entries = zip(("ixx", "iyy", "izz", "ixy", "ixz", "iyz"), (xx, yy, zz, xy, xz, yz), strict=True)
    inner = "".join(f"<{name}>{value}</{name}>" for name, value in entries)
    return f"<moment_of_inertia>{inner}</moment_of_inertia>"


@item(29)
def test_without_inertia_shapes_do_not_count(reads: Reads) -> None:
    b = reads(one_body(f"<collision_shape>{BOX}</collision_shape>")).body()
    assert (b.mass, b.com, b.moment) == (1.0, (0.0, 0.0, 0.0), UNIT)


@item(30)
def test_a_moment_is_derived_from_every_geometry() -> None:
    scene = exoskel.load(EXAMPLES / "04_geometry.skel")
    many = scene.world.model("shapes").body("many")
    assert np.allclose(many.moment[:3], (1.25488505, 26.65449787, 26.53454603), atol=1e-8)
    assert np.allclose(many.moment[3:], 0.0, atol=1e-12)
    assert many.com == (0.0, 0.0, 0.0)


@item(31)
def test_the_older_rule_uses_only_the_first_shape() -> None:
    geometry = exoskel.load(EXAMPLES / "04_geometry.skel", inertia_rule="first_shape")
    many = geometry.world.model("shapes").body("many")
    assert np.allclose(many.moment[:3], (0.208333, 0.166667, 0.108333), atol=1e-6)
    bodies = exoskel.load(EXAMPLES / "06_inertia.skel", inertia_rule="first_shape").world.model("bodies")
    assert np.allclose(bodies.body("mass_two_shapes").moment[:3], 0.02, atol=1e-12)
    assert np.allclose(bodies.body("mass_offset").moment[:3], 0.012, atol=1e-12)


@item(32)
def test_offset_moves_the_centre_and_adds_to_the_moment() -> None:
    bodies = exoskel.load(EXAMPLES / "06_inertia.skel").world.model("bodies")
    offset = bodies.body("mass_offset")
    assert offset.com == (0.0, 0.0, 0.25)
    assert np.allclose(offset.moment[:3], (0.1995, 0.1995, 0.012), atol=1e-12)


@item(33)
def test_no_shapes_to_derive_from(reads: Reads) -> None:
    read = reads(one_body(inertia("<mass>3</mass>")))
    read.expect("SK055.no_shape", "warning")
    assert (read.body().mass, read.body().moment) == (3.0, UNIT)


@item(33)
@pytest.mark.parametrize("shape", ["", f"<collision_shape>{BOX}</collision_shape>"])
def test_mass_zero_has_the_identity_moment(reads: Reads, shape: str) -> None:
    read = reads(one_body(inertia("<mass>0</mass>") + shape))
    read.expect("SK050.zero", "warning")
    assert (read.body().mass, read.body().moment) == (0.0, UNIT)


@item(34)
def test_off_diagonals_are_tensor_entries() -> None:
    explicit = exoskel.load(EXAMPLES / "06_inertia.skel").world.model("bodies").body("explicit")
    spin = np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    energy = spin @ spatial_inertia(explicit) @ spin
    # ω·Iω about the centre of mass, plus m|c×ω|² for the offset of 0.1 m.
    assert energy == pytest.approx(0.5 + 0.6 + 2 * 0.01 + 3 * 0.1**2)


@item(35)
def test_a_missing_mass_is_1_kg(reads: Reads) -> None:
    read = reads(one_body(inertia(f"<moment_of_inertia>{MOMENT}</moment_of_inertia>")))
    read.expect("SK050.missing", "warning")
    assert read.body().mass == 1.0


@item(35)
def test_a_negative_mass_is_an_error(reads: Reads) -> None:
    read = reads(one_body(inertia("<mass>-2</mass>" + moment(1, 1, 1))))
    read.expect("SK050.negative", "error", path="skeleton[s]/body[b]/inertia/mass")
    assert read.body().mass == 1.0
    assert read.body().provenance("mass") == "repaired"


@item(35)
def test_missing_off_diagonals_are_zero_with_one_warning(reads: Reads) -> None:
    entries = "<ixx>1</ixx><iyy>2</iyy><izz>2</izz>"
    read = reads(one_body(inertia(f"<mass>1</mass><moment_of_inertia>{entries}</moment_of_inertia>")))
    read.expect("SK051.off_diagonal", "warning", says="<ixy>, <ixz>, <iyz>")
    assert read.body().moment == (1.0, 2.0, 2.0, 0.0, 0.0, 0.0)


@item(35)
def test_missing_diagonal_entries_are_one(reads: Reads) -> None:
    read = reads(one_body(inertia("<mass>12</mass><moment_of_inertia><ixx>1.5</ixx></moment_of_inertia>")))
    read.expect("SK051.diagonal", "warning", says="<iyy>, <izz>")
    read.expect("SK051.off_diagonal", "warning")
    assert read.body().moment == (1.5, 1.0, 1.0, 0.0, 0.0, 0.0)


@item(35)
@pytest.mark.parametrize("missing", ["izz", "iyz"])
def test_reading_dart_ignores_an_incomplete_moment(reads: Reads, missing: str) -> None:
    names = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    entries = "".join(f"<{name}>0</{name}>" for name in names if name != missing)
    shape = f"<collision_shape>{BOX}</collision_shape>"
    read = reads(
        one_body(inertia(f"<mass>12</mass><moment_of_inertia>{entries}</moment_of_inertia>") + shape), semantics="dart"
    )
    read.expect("SK051.refused", "error", says=f"<{missing}>")
    assert np.allclose(read.body().moment[:3], (0.13, 0.10, 0.05))


@item(36)
@pytest.mark.parametrize(
    ("values", "key", "severity"),
    [
        ((1, 1, -1), "SK052.indefinite", "error"),
        ((1, 1, 1, 2, 0, 0), "SK052.indefinite", "error"),
        ((0.1, 0.1, 0.1, 0.1, 0.1, 0.1), "SK052.singular", "warning"),
        ((0, 0, 0), "SK052.singular", "warning"),
        ((1, 1, 3), "SK052.triangle", "warning"),
    ],
)
def test_impossible_moments_are_reported(reads: Reads, values: tuple[float, ...], key: str, severity: str) -> None:
    read = reads(one_body(inertia("<mass>1</mass>" + moment(*values))))
    read.expect(key, severity, path="skeleton[s]/body[b]/inertia/moment_of_inertia")
    assert read.body().moment == (*map(float, values), 0.0, 0.0, 0.0)[:6]


@item(36)
@pytest.mark.parametrize("values", [(1, 1, 2), (1, 2, 3), (0.5, 0.6, 0.7, 0.01, 0.02, 0.03)])
def test_possible_moments_are_not_reported(reads: Reads, values: tuple[float, ...]) -> None:
    reads(one_body(inertia("<mass>1</mass>" + moment(*values))))


@item(37)
def test_gravity_flag_belongs_to_one_body() -> None:
    bodies = exoskel.load(EXAMPLES / "06_inertia.skel").world.model("bodies").bodies
    assert [b.name for b in bodies if not b.gravity] == ["weightless_gravity"]


@item(38)
def test_a_repeated_body_name_is_an_error(reads: Reads) -> None:
    first, second = body("<gravity>0</gravity>"), body("<transformation>1 0 0 0 0 0</transformation>")
    read = reads(world(skeleton(first + second + joint())))
    read.expect("SK040.repeated", "error", path="skeleton[s]/body[b]/@name")
    assert [b.name for b in read.model.bodies] == ["b"]
    assert read.body().pose.is_identity


@item(38)
def test_missing_body_names_are_generated(reads: Reads) -> None:
    read = reads(world(skeleton(body() + "<body/><body/>" + joint())))
    read.expect("SK040.missing", "warning", says="'body'")
    read.expect("SK040.missing", "warning", says="'body(1)'")
    read.expect("SK074")
    read.expect("SK074")
    assert [b.name for b in read.model.bodies] == ["b", "body", "body(1)"]


@item(39)
def test_a_body_named_world_hides_the_world(reads: Reads) -> None:
    read = reads(world(skeleton(body() + body(name="world") + joint(kind="weld"))))
    read.expect("SK042", "warning")
    read.expect("SK074", "warning", says="'world'")
    assert read.joint().parent is read.body("world")


@item(40)
@pytest.mark.parametrize("soft", [False, True])
def test_markers_are_read_on_rigid_and_soft_bodies(reads: Reads, soft: bool) -> None:
    skin = (
        "<soft_shape><total_mass>1</total_mass><geometry><box><size>1 1 1</size><frags>3 3 3</frags></box>"
        "</geometry></soft_shape>"
    )
    markers = '<marker name="tip"><offset>0 0 0.3</offset></marker><marker name="origin"/>'
    read = reads(one_body(markers + skin * soft))
    if soft:
        read.expect("SK013.soft_marker", "warning")
    found = [(marker.name, marker.offset) for marker in read.body().markers]
    assert found == [("tip", (0.0, 0.0, 0.3)), ("origin", (0.0, 0.0, 0.0))]


def test_an_unnamed_marker_is_reported(reads: Reads) -> None:
    read = reads(one_body("<marker/>"))
    read.expect("SK041.missing", "warning", says="marker")


def test_the_transformation_of_an_inertia_is_read_if_there_is_no_offset(reads: Reads) -> None:
    turned = "<transformation>0 0 1 0 0 1.5707963267948966</transformation>"
    read = reads(one_body(inertia("<mass>1</mass>" + turned + moment(1, 2, 2))))
    read.expect("SK053", "warning")
    assert read.body().com == (0.0, 0.0, 1.0)
    assert np.allclose(read.body().moment, (2, 1, 2, 0, 0, 0), atol=1e-12)


def test_offset_takes_precedence_over_the_transformation_of_an_inertia(reads: Reads) -> None:
    both = "<offset>1 0 0</offset><transformation>0 0 1 0 0 1.5</transformation>"
    read = reads(one_body(inertia("<mass>1</mass>" + both + moment(1, 2, 2))))
    read.expect("SK053.both", "warning")
    assert (read.body().com, read.body().moment) == ((1.0, 0.0, 0.0), (1.0, 2.0, 2.0, 0.0, 0.0, 0.0))


def test_derived_moments_are_reported(reads: Reads) -> None:
    shape = f"<visualization_shape><transformation>0 1 0 0 0 0</transformation>{BOX}</visualization_shape>"
    read = reads(one_body(inertia("<mass>1</mass>") + shape))
    read.expect("SK054.centre", "info", says="1 m")
    read.expect("SK054.rule", "info")


@pytest.mark.parametrize(
    ("geometry", "key"),
    [
        ("<plane><normal>0 0 1</normal><offset>0</offset></plane>", "SK055.plane"),
        ("<pyramid><base_width>1</base_width><base_depth>1</base_depth><height>1</height></pyramid>", "SK055.pyramid"),
    ],
)
def test_geometries_without_a_moment_are_warnings(reads: Reads, geometry: str, key: str) -> None:
    shape = f"<visualization_shape><geometry>{geometry}</geometry></visualization_shape>"
    reads(one_body(inertia("<mass>1</mass>") + shape)).expect(key, "warning")


def test_self_collide_is_preserved(reads: Reads) -> None:
    read = reads(one_body("<self_collide>1</self_collide>"))
    read.expect("SK013.self_collide", "warning")
    assert read.body().ignored_values == {"self_collide": "true"}


def test_setting_the_mass_derives_the_moment_again(reads: Reads) -> None:
    b = reads(one_body(inertia("<mass>12</mass>") + f"<collision_shape>{BOX}</collision_shape>")).body()
    assert np.allclose(b.moment[:3], (0.13, 0.10, 0.05))
    b.mass = 24.0
    assert np.allclose(b.moment[:3], (0.26, 0.20, 0.10))
    b.moment = UNIT
    b.mass = 6.0
    assert b.moment == UNIT


def random_body(rng: np.random.Generator) -> tuple[Inertia, list[Shape]]:
    """A body with up to four shapes, some of them rotated; a few numbers are very large."""
    kinds: list[Geometry] = [Box((0.1, 0.2, 0.3)), Sphere(0.4), Cylinder(0.1, 2.0), Pyramid(0.5, 0.5, 0.2)]
    kinds += [Plane((0.0, 0.0, 1.0)), Box((1e120, 1.0, 1e120)), Mesh("missing.obj")]
    shapes: list[Shape] = []
    for _ in range(rng.integers(0, 5)):
        kind = kinds[rng.choice(len(kinds), p=[0.25, 0.15, 0.15, 0.1, 0.1, 0.2, 0.05])]
        rotation = Euler(tuple(rng.uniform(-3, 3, 3).tolist())) if rng.random() < 0.5 else NO_ROTATION
        shapes.append(Shape(geometry=kind, pose=Pose(tuple(rng.uniform(-1, 1, 3).tolist()), rotation)))
    mass = 1e200 if rng.random() < 0.1 else float(rng.uniform(0.1, 9))
    return Inertia(mass, tuple(rng.uniform(-1, 1, 3).tolist()), None), shapes


def test_the_moments_of_few_bodies_are_those_of_many() -> None:
    rng = np.random.default_rng(3)
    bodies = [random_body(rng) for _ in range(300)]
    bodies[0] = (Inertia(1.0, ZERO, None), [])
    with np.errstate(all="ignore"):
        few, many = checks._few_moments(bodies), checks._many_moments(bodies)
    assert few is not None
    assert few[0] == many[0] and 3 < sum(few[0]) < 100
    assert np.allclose(few[1], many[1], rtol=1e-12, atol=1e-15) and np.allclose(few[2], many[2], rtol=1e-9, atol=1e-12)
    one_by_one = np.array([found[0] for body in bodies if (found := all_shapes_moment(body)) is not None])
    at_once = derive_moments(bodies, "all_shapes").moments
    assert (np.abs(one_by_one - at_once).max(axis=1) < 1e-12 * np.abs(at_once).max(axis=1)).all()
