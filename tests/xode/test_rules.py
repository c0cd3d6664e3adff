"""Section 13 of the reference: the conformance checklist."""

from __future__ import annotations

import re

import numpy as np
import pytest

import exoskel
from exoskel import XODE_COMPLIANCE as COMPLIANCE
from tests.cli.conftest import Command, exoskel_command  # noqa: F401
from tests.support.checklist import rule
from tests.support.findings import Read
from tests.support.xode import (
    ANCHOR,
    SPHERE,
    TURN,
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
    two,
    world,
    xode,
)
from tests.xode.cases import struct


def load(document: str, **options: object) -> Read:
    return Read(exoskel.load(document, **{"dialect": "spec", **options}))  # type: ignore[arg-type]


@rule(1)
def test_the_root_is_xode() -> None:
    read = load("<world/>", format="xode")
    read.expect("X102", "error", says="<world>")
    assert read.scene.worlds == []


@rule(2)
def test_a_version_is_required() -> None:
    document = xode(world("<space/>"), "")
    read = load(document)
    read.expect("X103", "warning")
    assert read.scene.source_info.format_version == "1.0r22"
    with pytest.raises(exoskel.LoadError, match="X103"):
        exoskel.load(document, dialect="spec", strict=True)


@rule(3)
@pytest.mark.parametrize("document", [xode("<space/>" + world("<space/>")), scene(world("<space/>", "inner"))])
def test_misplaced_worlds_and_spaces_are_errors(document: str) -> None:
    load(document).expect("X201", "error")


@rule(4)
def test_a_world_holds_spaces_and_nothing_else() -> None:
    load(xode("<world/>")).expect("X203", "error", says="<space>")
    load(xode(world(body() + "<space/>"))).expect("X201", "error", says="<body> is not allowed in <world>")


@rule(5)
@pytest.mark.parametrize(
    "inner",
    [body() + body(), body() + geom(name="b"), body("<group name='s'/>"), body() + joint("<fixed/>", "b", "b", "")],
)
def test_names_are_unique_across_all_kinds(inner: str) -> None:
    load(scene(inner)).expect("X208", "warning")


@rule(6)
def test_a_geom_has_one_shape() -> None:
    load(scene(geom(""))).expect("X203", "error")
    read = load(scene(geom(SPHERE + SPHERE)))
    read.expect("X204", "error")
    assert len(read.world.models[0].bodies[0].collisions) == 1


@rule(7)
def test_a_joint_has_one_type() -> None:
    load(two("")).expect("X203", "error")
    load(two("<fixed/><ball/>")).expect("X204", "error")


COUNTS = {"amotor": 3, "ball": 0, "fixed": 0, "hinge": 1, "hinge2": 2, "slider": 1, "universal": 2}
DIRECTIONS = [axis(x=1, z=0), axis(y=1, z=0), axis(), axis(x=1, y=1)]


@rule(8)
@pytest.mark.parametrize("kind", COUNTS)
@pytest.mark.parametrize("count", range(5))
def test_every_joint_type_has_its_number_of_axes(kind: str, count: int) -> None:
    anchor = ANCHOR if kind in ("ball", "hinge", "hinge2", "universal") else ""
    read = load(two(f"<{kind}>{anchor}{''.join(DIRECTIONS[:count])}</{kind}>"))
    if count == COUNTS[kind]:
        read.assert_clean()
        return
    tolerated = kind == "amotor" and count < 3
    read.expect("X801", "warning" if tolerated else "error")
    read.assert_clean()
    assert (len(read.world.models) == 1) is tolerated, "an invalid joint is ignored"


@rule(9)
@pytest.mark.parametrize(
    ("inner", "late"),
    [
        ('<adjust total="1"/>' + mass_shape(), "mass_shape"),
        (mass_shape() + '<adjust total="1"/>' + transform(TURN), "transform"),
        (mass_shape() + mass(mass_shape()) + '<adjust total="1"/>', "adjust"),
    ],
)
def test_the_order_inside_a_mass_is_checked(inner: str, late: str) -> None:
    read = load(scene(body(mass(inner))))
    read.expect("X205", "warning", says=f"<{late}>")


@rule(10)
def test_struct_and_shape_exclude_each_other() -> None:
    read = load(scene(body(mass(struct() + mass_shape()))))
    read.expect("X601", "error")
    assert read.world.models[0].bodies[0].mass == 1.0


@rule(11)
@pytest.mark.parametrize(
    ("lost", "code"),
    [
        (' total="2"', "X301"),
        ('<centerGravity x="0" y="0" z="0"/>', "X203"),
        ('m11="1"', "X301"),
        ('y="0"', "X301"),
    ],
)
def test_a_mass_struct_is_complete(lost: str, code: str) -> None:
    read = load(scene(body(mass(struct().replace(lost, "", 1)))))
    read.expect(code, "error")
    assert read.world.models[0].bodies[0].mass == 1.0


@rule(12)
@pytest.mark.parametrize(
    "shape", ['<cone radius="1" length="1"/>', '<plane a="0" b="0" c="1" d="0"/>', '<ray length="1"/>']
)
def test_cones_planes_and_rays_are_refused_as_mass_shapes(shape: str) -> None:
    load(scene(body(mass(mass_shape(shape))))).expect("X609", "error")


@rule(22)
def test_matrix_and_vector_styles_are_interchangeable() -> None:
    by_matrix = transform(matrix(m00=0, m01=-1, m10=1, m11=0, m03=1, m13=2, m23=3))
    by_vectors = transform(position(1, 2, 3) + TURN)
    poses = [load(scene(body(form))).world.models[0].bodies[0].pose.matrix() for form in (by_matrix, by_vectors)]
    assert np.allclose(*poses, atol=1e-12)


@rule(24)
def test_a_geom_belongs_to_the_innermost_space() -> None:
    nested = f'<space name="inner">{geom(name="one")}<group>{geom(name="two")}</group></space>{geom(name="three")}'
    shapes = load(scene(nested)).world.model("environment").bodies[0].collisions
    assert {shape.name: shape.space for shape in shapes} == {"one": "inner", "two": "inner", "three": "s"}


@rule(30)
def test_an_extension_has_a_name() -> None:
    load(scene("<ext/>")).expect("X902", "warning")


@rule(31)
def test_ename_is_the_only_attribute_of_an_extension() -> None:
    load(scene('<ext ename="x" build="7"/>')).expect("X903", "warning", says="build")


@rule(33)
def test_duplicate_extension_names_are_warnings_in_strict_readings() -> None:
    document = scene('<ext ename="x">1</ext><ext ename="x">2</ext>')
    load(document).assert_clean()
    load(document, strict=True).expect("X904", "warning")


@rule(35, 36)
def test_the_compliance_string_is_advertised(exoskel_command: Command) -> None:  # noqa: F811
    grammar = r"XODE \d+\.\d+(r\d+)?( (-bgig|-postlink|\+retain))*"
    assert re.fullmatch(grammar, COMPLIANCE)
    assert COMPLIANCE == "XODE 1.0r22 +retain"
    assert COMPLIANCE in exoskel_command("--version").out


@rule(38)
def test_the_schema_accepts_what_is_valid_and_nothing_else() -> None:
    from lxml import etree

    from exoskel.formats.xode.vocabulary import XODE
    from exoskel.source.schema import build_schema

    validator = etree.XMLSchema(etree.fromstring(build_schema(XODE)))
    assert validator.validate(etree.fromstring(scene(body(geom()))))
    assert not validator.validate(etree.fromstring(scene(geom(SPHERE + SPHERE))))


def test_absolute_transforms_are_relative_to_the_root() -> None:
    inner = body(transform(position(1, 2, 3), ' absolute="true"'))
    document = xode(world(at(100, 0, 0) + "<space>" + at(0, 50, 0) + inner + "</space>"))
    assert load(document).world.models[0].bodies[0].pose.position == (1.0, 2.0, 3.0)


@pytest.mark.parametrize("links", [("a", ""), ("a", "b"), ("", "b")])
def test_a_joint_connects_bodies_of_its_own_world(links: tuple[str, str]) -> None:
    home = world("<space>" + body(name="a") + body(name="b") + "</space>", "left")
    away = world("<space>" + joint("<fixed/>", "j", *links) + body(name="c") + "</space>", "right")
    read = load(xode(home + away))
    read.expect("X405.joint", "error", says="left")
    read.assert_clean()
    assert [[m.name for m in w.models] for w in read.scene.worlds] == [["a", "b"], ["c"]]
