"""Section 11 of the reference: the chosen rule where existing readers disagree."""

from __future__ import annotations

import math

import numpy as np
import pytest

import exoskel
from exoskel import Body
from tests.support.checklist import disagreement
from tests.support.findings import Read
from tests.support.xode import (
    ANCHOR,
    BOX,
    SPHERE,
    TURN,
    at,
    axis,
    body,
    geom,
    hinge,
    joint,
    mass,
    mass_shape,
    matrix,
    position,
    scene,
    transform,
    trimesh,
    two,
    world,
    xode,
)
from tests.xode.cases import struct
from tests.xode.test_examples import anchor

EULER = '<rotation><euler x="0" y="0" z="90" aformat="degrees"/></rotation>'


def load(document: str, **options: object) -> Read:
    return Read(exoskel.load(document, **{"dialect": "spec", **options}))  # type: ignore[arg-type]


def one(inner: str, **options: object) -> tuple[Body, Read]:
    read = load(scene(body(inner)), **options)
    return next(b for b in read.world.bodies() if b.name == "b"), read


def place(found: Body) -> list[float]:
    return np.round(found.pose.matrix()[:3, 3], 12).tolist()


def turn(found: Body) -> np.ndarray:
    rotation: np.ndarray = np.round(found.pose.matrix()[:3, :3], 12)
    return rotation


QUARTER = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]


@disagreement(1)
def test_matrix_is_a_name_of_matrix4f() -> None:
    found, read = one(transform(matrix(m03=4).replace("matrix4f", "matrix")))
    read.expect("X511", "warning")
    assert place(found) == [4.0, 0.0, 0.0]


@disagreement(2)
@pytest.mark.parametrize(
    ("entries", "dialect", "where", "codes"),
    [
        ({"m03": 4}, "spec", [4, 0, 0], []),
        ({"m03": 4}, "pyode", [4, 0, 0], []),
        ({"m30": 4}, "spec", [4, 0, 0], ["X504"]),
        ({"m30": 4}, "pyode", [4, 0, 0], ["X504"]),
        ({}, "spec", [0, 0, 0], []),
        ({"m03": 4, "m30": 5}, "spec", [0, 0, 0], ["X502"]),
        ({"m03": 4, "m30": 5}, "pyode", [5, 0, 0], ["X504"]),
        ({"m33": 0, "m03": 4}, "spec", [4, 0, 0], ["X502.corner"]),
    ],
)
def test_the_translation_of_a_matrix_is_found_in_either_layout(
    entries: dict[str, float], dialect: str, where: list[float], codes: list[str]
) -> None:
    found, read = one(transform(matrix(**entries)), dialect=dialect)
    read.expect_all(*codes).assert_clean()
    assert place(found) == where


@disagreement(2)
def test_matrix_block_is_a_scaled_rotation() -> None:
    one(transform(matrix(m01=0.5)))[1].expect("X503", "error")
    one(transform(matrix(m00=-1)))[1].expect("X514", "error")
    rows = {"m00": 0, "m01": -1, "m10": 1, "m11": 0}
    assert turn(one(transform(matrix(**rows)))[0]).tolist() == QUARTER
    assert turn(one(transform(matrix(**rows, m30=1)), dialect="pyode")[0]).tolist() == QUARTER, "untransposed"


@disagreement(3)
def test_the_direction_of_euler_angles_depends_on_the_dialect() -> None:
    assert turn(one(transform(EULER))[0]).tolist() == QUARTER
    assert turn(one(transform(EULER), dialect="pyode")[0]).tolist() == np.transpose(QUARTER).tolist()
    auto = load(scene(body(transform(EULER))), dialect="auto")
    auto.expect("X901", "info", says="spec")
    auto.expect("X517", "warning", says="1 rotation")
    auto.assert_clean()


@disagreement(3)
@pytest.mark.parametrize(
    ("document", "chosen"),
    [
        (scene(body()), "spec"),
        (scene(body()).replace(' version="1.0r22"', ""), "pyode"),
        (scene(body()) + "<!--odeenvironment parameters\n<end>\n-->", "pyode"),
        (scene(body()) + "<!-- about odeenvironment parameters -->", "spec"),
    ],
)
def test_dialect_auto_depends_on_the_document(document: str, chosen: str) -> None:
    assert load(document, dialect="auto").scene.source_info.semantics == chosen


@disagreement(4)
def test_rotations_without_their_wrapper_are_read_with_a_warning() -> None:
    loose = '<axisangle x="0" y="0" z="1" angle="90" aformat="degrees"/>'
    found, read = one(transform(loose))
    read.expect("X506", "warning")
    assert turn(found).tolist() == QUARTER


@disagreement(5)
@pytest.mark.parametrize("word", ["degrees", "DEGREES", "Degrees"])
def test_the_angle_format_is_read_in_any_case(word: str) -> None:
    assert turn(one(transform(EULER.replace("degrees", word)))[0]).tolist() == QUARTER


@disagreement(5)
def test_angles_are_radians_by_default() -> None:
    radians = EULER.replace('"90"', f'"{math.pi / 2}"')
    assert turn(one(transform(radians.replace(' aformat="degrees"', "")))[0]).tolist() == QUARTER
    found, read = one(transform(EULER.replace("degrees", "grad")))
    read.expect("X307", "error")
    assert turn(found).tolist() == np.eye(3).tolist()


@disagreement(6)
@pytest.mark.parametrize(
    ("attributes", "element", "codes"),
    [
        (' scale="2"', "", ["X509"]),
        ("", '<scale scale="2"/>', ["X509.element", "X509"]),
        ("", '<scale x="2" y="2" z="2"/>', ["X509.element", "X509"]),
        (' scale="2"', '<scale scale="2"/>', ["X509.element", "X509"]),
    ],
)
def test_scale_applies_to_offsets_of_the_contents(attributes: str, element: str, codes: list[str]) -> None:
    outer = transform(position(1, 0, 0) + element, attributes)
    inner = body(at(1, 0, 0) + geom(BOX, before=at(0, 1, 0)))
    read = load(scene(f"<group>{outer}{inner}</group>"))
    read.expect_all(*codes).assert_clean()
    found = read.world.models[0].bodies[0]
    assert place(found) == [3.0, 0.0, 0.0], "the own position is not scaled, what is inside is"
    assert found.collisions[0].geometry == exoskel.Box((1.0, 2.0, 3.0)), "sizes are left alone"
    assert found.collisions[0].pose.position == (0.0, 1.0, 0.0)


@disagreement(6)
def test_invalid_scales_are_errors() -> None:
    one(transform('<scale x="1" y="2" z="3"/>'))[1].expect("X510", "error")
    one(transform('<scale scale="3"/>', ' scale="2"'))[1].expect("X513", "error")


@disagreement(7)
def test_absolute_defaults_to_false() -> None:
    nested = "<group>" + at(10, 0, 0) + body(transform(position(1, 0, 0), "{}")) + "</group>"
    for attribute, x in (("", 11.0), (' absolute="false"', 11.0), (' absolute="true"', 1.0)):
        assert place(load(scene(nested.format(attribute))).world.models[0].bodies[0])[0] == x


@disagreement(8)
def test_nested_transforms_are_composed_by_the_specification_in_both_dialects() -> None:
    nested = scene("<group>" + transform(position(1, 2, 3) + TURN) + body(at(1, 0, 0)) + "</group>")
    spec, pyode = load(nested), load(nested, dialect="pyode")
    spec.assert_clean()
    pyode.expect("X515", "warning")
    assert place(spec.world.models[0].bodies[0]) == place(pyode.world.models[0].bodies[0]) == [1.0, 3.0, 3.0]


@disagreement(8)
@pytest.mark.parametrize("inner", [body(at(1, 0, 0)), body(transform(position(1, 0, 0) + TURN))])
def test_simple_nesting_is_silent_in_dialect_pyode(inner: str) -> None:
    load(scene("<group>" + inner + "</group>"), dialect="pyode").assert_clean()


@disagreement(9)
def test_the_order_of_children_does_not_matter() -> None:
    first = scene(body(at(0, 0, 1) + geom(before=at(1, 0, 0)) + mass(mass_shape()), "a"))
    last = scene(body(mass(mass_shape()) + '<geom name="g">' + SPHERE + at(1, 0, 0) + "</geom>" + at(0, 0, 1), "a"))
    summaries = [exoskel.summarize(load(document).scene) for document in (first, last)]
    assert summaries[0]["worlds"] == summaries[1]["worlds"]
    shapes = [load(document).world.models[0].bodies[0].collisions[0].pose.position for document in (first, last)]
    assert shapes == [(1.0, 0.0, 0.0)] * 2
    reversed_joint = '<joint name="j">' + hinge() + '<link2 body="b"/><link1 body="a"/></joint>'
    swung = load(scene(body(name="a") + body() + reversed_joint)).world.models[0].joint("j")
    assert (swung.parent.name if swung.parent else "", swung.child.name) == ("a", "b")


@disagreement(10)
def test_the_root_transform_is_applied() -> None:
    document = scene(body(at(1, 0, 0))).replace("<world", at(0, 0, 5) + "<world", 1)
    assert place(load(document).world.models[0].bodies[0]) == [1.0, 0.0, 5.0]


@disagreement(11)
def test_a_body_without_a_mass_has_1_kg() -> None:
    assert (one("")[0].mass, one("")[0].moment) == (1.0, (1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
    found, read = one(mass(""))
    read.expect("X610", "warning")
    assert (found.mass, found.moment[:3]) == (1.0, (1.0, 1.0, 1.0))


@disagreement(11)
@pytest.mark.parametrize(
    ("inner", "dialect", "diagonal"),
    [
        (geom('<box sizex="4" sizey="4" sizez="4"/>'), "spec", 16 / 3),
        ("", "spec", 2.0),
        (geom('<box sizex="4" sizey="4" sizez="4"/>'), "pyode", 0.8),
        (geom('<plane a="0" b="0" c="1" d="0"/>'), "spec", 2.0),
    ],
)
def test_adjust_with_nothing_to_adjust_depends_on_the_dialect(inner: str, dialect: str, diagonal: float) -> None:
    found, read = one(inner + mass('<adjust total="2"/>'), dialect=dialect)
    read.expect("X604", "warning")
    assert found.mass == 2.0
    assert np.allclose(found.moment, (diagonal,) * 3 + (0, 0, 0))


@disagreement(11)
def test_adjust_from_moved_geoms_and_when_nested() -> None:
    shapes = geom(SPHERE, "l", at(-1, 0, 0)) + geom(SPHERE, "r", at(1, 0, 0))
    found, read = one(shapes + mass('<adjust total="2"/>'))
    read.expect("X604", "warning", says="geoms")
    assert np.allclose(found.moment[:3], (0.2, 2.2, 2.2))
    nested, read = one(shapes + mass(mass('<adjust total="2"/>')))
    read.expect("X604", "warning", says="identity")
    assert np.allclose(nested.moment[:3], (2.0, 2.0, 2.0))


@disagreement(12)
def test_a_mass_shape_may_state_its_total() -> None:
    found, read = one(mass(mass_shape('<sphere radius="0.5"/>', ' total="3"')))
    read.assert_clean()
    assert found.mass == 3.0 and np.allclose(found.moment[:3], 0.3)


@disagreement(13)
def test_a_mass_is_rotated_then_translated() -> None:
    found, read = one(mass(mass_shape(BOX, ' total="12"') + transform(position(1, 0, 0) + TURN)))
    read.expect("X608", "warning")
    assert np.allclose(found.com, (1, 0, 0))
    assert np.allclose(found.moment[:3], (10, 13, 5))


@disagreement(14)
def test_struct_inertia_is_about_the_body_origin() -> None:
    inertia = 'm00="1" m01="0" m02="0" m10="0" m11="9" m12="0" m20="0" m21="0" m22="9"'
    found, read = one(mass(struct(inertia, centre="2")))
    read.expect("X608", "warning")
    assert (found.mass, found.com) == (2.0, (2.0, 0.0, 0.0))
    assert np.allclose(found.moment[:3], (1, 1, 1)), "less m c² about the centre of mass"


@disagreement(15)
def test_the_last_of_several_masses_is_used() -> None:
    found, read = one(mass(mass_shape(attributes=' total="3"')) + mass(mass_shape(attributes=' total="5"')))
    read.expect("X204", "warning", says="last")
    assert found.mass == 5.0


@disagreement(16, 17)
def test_capsules_are_along_z_and_their_length_excludes_the_caps() -> None:
    capsule = '<cappedCylinder radius="0.5" length="2"/>'
    found, _ = one(geom(capsule) + mass(mass_shape(capsule, ' density="1"')))
    assert found.collisions[0].geometry.bounds() == ((-0.5, -0.5, -1.5), (0.5, 0.5, 1.5))
    assert found.mass == pytest.approx(math.pi * 0.25 * 2 + 4 / 3 * math.pi * 0.125)
    assert found.moment[2] < found.moment[0]


@disagreement(17)
def test_cylinders_are_along_z_and_have_flat_ends() -> None:
    found, _ = one(geom('<cylinder radius="0.5" length="2"/>'))
    assert found.collisions[0].geometry == exoskel.Cylinder(0.5, 2.0)


@disagreement(18)
def test_plane_offsets_are_divided_by_the_length_of_the_normal() -> None:
    read = load(scene(geom('<plane a="0" b="10" c="0" d="-5"/>')))
    read.expect("X705", "warning")
    assert read.world.models[0].bodies[0].collisions[0].geometry == exoskel.Plane((0.0, 1.0, 0.0), -0.5)


@disagreement(19)
@pytest.mark.parametrize(("dialect", "offset", "code"), [("spec", 5.0, "X707"), ("pyode", 0.0, "X707.ignored")])
def test_each_dialect_moves_planes_in_its_own_way(dialect: str, offset: float, code: str) -> None:
    read = load(scene(geom('<plane a="0" b="0" c="1" d="0"/>', before=at(0, 0, 5))), dialect=dialect)
    read.expect(code, "warning")
    assert read.world.models[0].bodies[0].collisions[0].geometry == exoskel.Plane((0.0, 0.0, 1.0), offset)


@disagreement(19)
@pytest.mark.parametrize(("dialect", "where"), [("spec", (0.0, 0.0, 5.0)), ("pyode", (0.0, 0.0, 0.0))])
def test_each_dialect_moves_rays_in_its_own_way(dialect: str, where: tuple[float, ...]) -> None:
    read = load(scene(geom('<ray length="1"/>', before=at(0, 0, 5))), dialect=dialect)
    read.expect("X707", "warning")
    assert read.world.models[0].bodies[0].collisions[0].pose.position == where


@disagreement(20)
def test_cones_are_preserved() -> None:
    read = load(scene(geom('<cone radius="1" length="2"/>')))
    read.expect("X708", "warning")
    (shape,) = read.world.models[0].bodies[0].collisions
    assert shape.geometry.bounds() == ((-1.0, -1.0, 0.0), (1.0, 1.0, 2.0))


@disagreement(21)
def test_indices_is_an_obsolete_name_of_triangles() -> None:
    read = load(scene(geom(trimesh(3, [(1, 2, 3)], "indices"))))
    read.expect("X709", "warning")
    assert read.world.models[0].bodies[0].collisions[0].kind == "trimesh"


@disagreement(22)
@pytest.mark.parametrize("base", [0, 1])
def test_the_index_base_can_be_forced(base: int) -> None:
    read = load(scene(geom(trimesh(4, [(1, 2, 3)]))), index_base=base)
    read.assert_clean()
    mesh = read.world.models[0].bodies[0].collisions[0].geometry
    assert isinstance(mesh, exoskel.TriMesh)
    assert mesh.triangles.tolist() == [[1 - base, 2 - base, 3 - base]]


@disagreement(23)
def test_an_unresolved_link_is_an_error() -> None:
    read = load(scene(body("<joint>" + '<link1 body="c"/>' + "<fixed/></joint>")))
    assert read.expect("X401", "error").reader_note
    assert [j.kind for j in read.world.models[0].joints] == ["free"]


@disagreement(24)
def test_a_missing_second_body_is_the_environment() -> None:
    read = load(scene(body() + joint(hinge(), first="b", second="")))
    read.assert_clean()
    assert read.world.models[0].joint("j").parent is None


@disagreement(25)
@pytest.mark.parametrize(
    ("attribute", "dialect", "point", "code"),
    [
        ("", "spec", (5, 0, 1), "X805"),
        ("", "pyode", (0, 0, 1), "X805"),
        (' absolute="false"', "spec", (5, 0, 1), "X805"),
        (' absolute="false"', "pyode", (0, 0, 1), "X805"),
        (' absolute="true"', "spec", (0, 0, 1), None),
        (' absolute="true"', "pyode", (0, 0, 1), None),
    ],
)
def test_anchors_are_read_in_the_frame_of_their_dialect(
    attribute: str, dialect: str, point: tuple[float, ...], code: str | None
) -> None:
    ball = f'<ball><anchor x="0" y="0" z="1"{attribute}/></ball>'
    read = load(scene(body(name="a") + body(at(5, 0, 0) + joint(ball, second=""))), dialect=dialect)
    if code:
        read.expect(code, "warning")
    read.assert_clean()
    assert np.allclose(anchor(read.world.models[0], "j"), point)


@disagreement(26)
@pytest.mark.parametrize(
    ("attribute", "direction", "code"), [("", (1, 0, 0), "X806"), ('absolute="false"', (0, 1, 0), "X806.relative")]
)
def test_axes_are_in_the_root_frame_unless_stated_otherwise(
    attribute: str, direction: tuple[float, ...], code: str
) -> None:
    slide = f"<slider>{axis(attribute, x=1, z=0)}</slider>"
    inner = "<group>" + transform(TURN) + body() + joint(slide, first="b", second="") + "</group>"
    read = load(scene(inner))
    read.expect(code, "warning")
    read.assert_clean()
    model = read.world.models[0]
    pushed = exoskel.Kinematics([model]).poses([1.0])[0][:3, 3]
    assert np.allclose(pushed, direction, atol=1e-12)


@disagreement(27)
def test_lower_stops_under_both_names() -> None:
    for name in ("LowStop", "LoStop"):
        read = load(two(hinge(f'{name}="-1"')))
        read.assert_clean()
        assert read.world.models[0].joint("j").dofs[0].position_limits == (-1.0, math.inf)
    load(two(hinge('LowStop="-1" LoStop="-1"'))).assert_clean()
    load(two(hinge('LowStop="-1" LoStop="-2"'))).expect("X808", "error")


@disagreement(28)
def test_suspension_belongs_to_the_first_axis_of_a_hinge2() -> None:
    first, second = axis('SuspensionERP="0.4"'), axis("", y=1, z=0)
    load(two(f"<hinge2>{ANCHOR}{first}{second}</hinge2>")).assert_clean()
    swapped = axis("", z=1), axis('SuspensionERP="0.4"', y=1, z=0)
    read = load(two(f"<hinge2>{ANCHOR}{swapped[0]}{swapped[1]}</hinge2>"))
    read.expect("X811", "warning")
    assert read.world.models[0].joint("j").drives[1].suspension_erp == 0.4, "preserved there"


@pytest.mark.parametrize("name", ["LowStop", "LoStop"])
def test_the_second_axis_of_a_hinge2_has_no_stops(name: str) -> None:
    """ODE ignores them."""
    stops = f'{name}="-0.1" HiStop="0.2"'
    read = load(two(f"<hinge2>{ANCHOR}{axis(stops)}{axis(stops, x=1, z=0)}</hinge2>"))
    read.expect_all("X811.stop", "X811.stop")
    read.assert_clean()
    joint = read.world.models[0].joint("j")
    assert [dof.position_limits for dof in joint.dofs] == [(-0.1, 0.2), (-math.inf, math.inf)]
    assert (joint.drives[1].low_stop, joint.drives[1].high_stop) == (-0.1, 0.2), "preserved there"


@disagreement(29)
def test_unknown_axis_parameters_are_reported() -> None:
    read = load(two(hinge('TestCFM="1"')))
    read.expect("X807", "warning", says="TestCFM")
    with pytest.raises(exoskel.LoadError, match="X807"):
        exoskel.load(two(hinge('TestCFM="1"')), dialect="spec", strict=True)


@disagreement(30)
def test_reversed_stops_are_disabled() -> None:
    read = load(two(hinge('LowStop="1" HiStop="-1"')))
    read.expect("X809", "warning")
    assert read.world.models[0].joint("j").dofs[0].position_limits == (-math.inf, math.inf)


@disagreement(31)
@pytest.mark.parametrize(
    ("kind", "code"),
    [("slider", "X803"), ("fixed", "X803"), ("amotor", "X803.amotor"), ("universal", None), ("ball", None)],
)
def test_anchors_are_accepted_on_all_types(kind: str, code: str | None) -> None:
    axes = {"slider": 1, "amotor": 3, "universal": 2}.get(kind, 0)
    directions = "".join([axis(x=1, z=0), axis(y=1, z=0), axis()][:axes])
    read = load(two(f"<{kind}>{ANCHOR}{directions}</{kind}>"))
    if code:
        read.expect(code, "warning")
    read.assert_clean()


@disagreement(32)
def test_an_extension_may_state_its_name_in_two_ways() -> None:
    read = load(scene('<ext name="a"/><ext ename="b"/><ext ename="c" name="c"/>'))
    read.assert_clean()
    assert [extension.name for extension in read.scene.extensions] == ["a", "b", "c"]
    both = load(scene('<ext ename="a" name="b"/>'))
    both.expect("X903", "warning")
    assert both.scene.extensions[0].name == "a"


@disagreement(33)
def test_extensions_may_contain_anything() -> None:
    anything = '<ext ename="x">text <a b="c"><body name="not me"/></a> <!-- and --> more &amp; more</ext>'
    read = load(scene(anything + body(anything + geom(f"{SPHERE}{anything}")) + "<group>" + anything + "</group>"))
    read.assert_clean()
    assert len(read.scene.extensions) == 4
    assert [b.name for m in read.world.models for b in m.bodies] == ["b"]


@disagreement(34)
def test_groups_compose() -> None:
    nested = "<group>" + at(1, 0, 0) + "<jointgroup>" + at(0, 1, 0) + body(at(0, 0, 1)) + "</jointgroup></group>"
    assert place(load(scene(nested)).world.models[0].bodies[0]) == [1.0, 1.0, 1.0]


@disagreement(35)
def test_bodies_may_share_a_name_until_a_link_uses_it() -> None:
    read = load(scene(body() + body(at(1, 0, 0))))
    read.expect("X208", "warning")
    read.assert_clean()
    assert [m.name for m in read.world.models] == ["b", "b(1)"]
    linked = load(scene(body() + body() + joint("<fixed/>", first="b", second="")))
    linked.expect("X208")
    linked.expect("X403", "error")


@disagreement(35)
def test_links_refer_only_to_bodies() -> None:
    read = load(scene(geom(name="b") + body() + joint("<fixed/>", first="b", second="")))
    read.expect("X208", "warning")
    read.assert_clean()
    assert read.world.model("b").joint("j").child.name == "b"


@disagreement(36)
def test_enabled_and_gravitymode_are_read_as_attributes() -> None:
    found, read = one("")
    assert (found.gravity, found.state) == (True, None)
    read = load(scene(body(attributes=' enabled="false" gravitymode="0"')))
    read.assert_clean()
    found = read.world.models[0].bodies[0]
    assert found.gravity is False and found.state is not None and found.state.enabled is False


@disagreement(37)
@pytest.mark.parametrize(
    ("attributes", "mode", "axes", "code"),
    [
        ('mode="1" xaxis="0" yaxis="0" zaxis="1"', 1, (0.0, 0.0, 1.0), None),
        ('mode="1.0"', 1, (0.0, 0.0, 0.0), "X304"),
        ('mode="1" xaxis="1"', 1, (0.0, 0.0, 0.0), "X301"),
        ('mode="99"', 0, (0.0, 0.0, 0.0), "X307"),
    ],
)
def test_finite_rotations_are_read_with_their_axis(
    attributes: str, mode: int, axes: tuple[float, ...], code: str | None
) -> None:
    found, read = one(f"<finiteRotation {attributes}/>")
    if code:
        read.expect(code)
    read.assert_clean()
    assert found.state is not None
    assert (found.state.finite_rotation.mode, found.state.finite_rotation.axis) == (mode, axes)


@disagreement(38)
@pytest.mark.parametrize(
    ("version", "code"), [("1.0r22", None), ("1.0r23", None), ("1.0", None), ("2.0", "X104"), ("draft", "X104")]
)
def test_unknown_versions_are_read_with_a_warning(version: str, code: str | None) -> None:
    read = load(xode(world("<space/>"), f' version="{version}"'))
    if code:
        read.expect(code, "warning")
    read.assert_clean()
    assert read.scene.source_info.format_version == version


@disagreement(39)
def test_all_worlds_and_spaces_are_read() -> None:
    read = load(
        xode(world("<space>" + body(name="a") + "</space><space>" + body() + "</space>") + world("<space/>", "v"))
    )
    read.assert_clean()
    assert [[m.name for m in w.models] for w in read.scene.worlds] == [["a", "b"], []]


@disagreement(40)
def test_a_fixed_joint_preserves_the_initial_relative_pose() -> None:
    model = load(two("<fixed/>", at(1, 2, 3))).world.models[0]
    poses = exoskel.Kinematics([model]).poses()
    assert poses[1][:3, 3].tolist() == [1.0, 2.0, 3.0]


@disagreement(41)
def test_a_joint_s_own_transform_moves_its_anchor() -> None:
    ball = at(0, 0, 2) + '<ball><anchor x="0" y="0" z="1"/></ball>'
    read = load(scene(body(name="a") + body() + joint(ball)))
    read.expect("X516", "warning")
    read.expect("X805", "warning")
    assert np.allclose(anchor(read.world.models[0], "j"), (0, 0, 3))


@disagreement(42)
def test_a_nested_geom_without_a_transform_shares_its_parent_s_offset() -> None:
    outer = geom(SPHERE + geom(BOX, "inner"), "outer", at(0, 0, 1))
    found, read = one(outer)
    read.assert_clean()
    assert {s.name: s.pose.position for s in found.collisions} == {"outer": (0.0, 0.0, 1.0), "inner": (0.0, 0.0, 1.0)}


@disagreement(43)
@pytest.mark.parametrize(
    ("wrong", "right"), [("cappedcylinder", "cappedCylinder"), ("Sphere", "sphere"), ("TriMesh", "trimesh")]
)
def test_names_are_exact_and_the_right_one_is_suggested(wrong: str, right: str) -> None:
    read = load(scene(geom(f"<{wrong}/>")))
    assert read.expect("X202", "warning").hint == f"did you mean '{right}'?"
