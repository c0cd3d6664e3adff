"""Which diagnostics are reported, where none are, and how the document is read."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from lxml import etree

import exoskel
from exoskel.scene.joint import UNLIMITED
from tests.support.findings import Read
from tests.support.xode import (
    SPHERE,
    at,
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
    xode,
)

ABSOLUTE = ' absolute="true"'


def load(document: str, **options: object) -> Read:
    return Read(exoskel.load(document, **{"dialect": "spec", **options}))  # type: ignore[arg-type]


def placed(inner: str, attributes: str = "") -> Read:
    return load(scene(body(transform(inner, attributes))))


# --- transforms ---------------------------------------------------------------------------------------


def test_an_absolute_group_in_a_body_is_reported_for_each_geom() -> None:
    group = transform(position(1, 2, 3), ABSOLUTE) + geom(name="g") + geom(name="h", before=at(0, 0, 1))
    read = load(scene(body(at(5, 0, 0) + f"<group>{group}</group>")))
    read.expect("X512", "warning", says="-4 2 3")
    read.expect("X512", "warning", says="-4 2 4")
    read.assert_clean()


def test_a_scale_without_a_value_is_reported() -> None:
    read = placed("<scale/>")
    read.expect("X301", "error", says="scale")
    read.assert_clean()
    placed('<scale scale="x"/>').expect_all("X302").assert_clean()


def test_a_contradictory_scale_element_is_reported() -> None:
    placed('<scale scale="2" x="3" y="3" z="3"/>').expect_all("X513.element").assert_clean()
    placed('<scale scale="2" x="2" y="2" z="2"/>').expect_all("X509.element", "X509").assert_clean()


@pytest.mark.parametrize(("first", "where"), [("matrix4f", 1.0), ("matrix", 2.0)])
def test_the_first_of_two_matrices_is_used(first: str, where: float) -> None:
    one, two_ = matrix(m03=1), matrix(m03=2).replace("matrix4f", "matrix")
    read = placed(one + two_ if first == "matrix4f" else two_ + one)
    read.expect("X204", "warning")
    read.expect("X511", "warning")
    read.assert_clean()
    assert read.body().pose.position == (where, 0.0, 0.0)


def test_a_matrix_with_two_translations_names_them() -> None:
    placed(matrix(m03=1, m23=0.5, m31=-2)).expect("X502", "error", says="m03 1, m23 0.5, m31 -2")


def test_a_scale_in_the_matrix_of_a_mass_is_reported_as_unused() -> None:
    doubled = matrix(m00=2, m11=2, m22=2, m03=1)
    read = load(scene(body(mass(mass_shape(attributes=' total="1"') + transform(doubled)))))
    read.expect("X611", "warning", says="scale")
    read.expect("X608", "warning", says="1 0 0")
    read.assert_clean()


# --- names, links and paths ---------------------------------------------------------------------------


def test_an_empty_link_is_a_missing_one() -> None:
    read = load(scene(body() + '<joint name="j"><link1 body=""/><link2 body="b"/><fixed/></joint>'))
    read.expect("X301", "error", says="<link1> has no 'body'")
    read.assert_clean()
    assert [j.name for j in read.world.joints()] == ["b_root"]


@pytest.mark.parametrize("name", ["it's", 'say "x"', 'it\'s "x"', "a & b", "<", "ü/ö", "plain"])
def test_paths_resolve_to_their_elements(name: str) -> None:
    element = etree.Element("body", name=name, nam="x")
    document = scene(etree.tostring(element, encoding="unicode"))
    (finding,) = load(document).left
    (found,) = etree.fromstring(document).xpath(finding.path.removesuffix("/@nam"))
    assert found.get("name") == name


# --- namespaces and strangers -------------------------------------------------------------------------

GRAVITY = '<ext ename="x"><{0}gravity x="0" y="0" z="-9"/></ext>'


@pytest.mark.parametrize("prefix", ["", "x:"])
def test_a_document_in_a_namespace_is_read_like_any_other(prefix: str) -> None:
    declared = 'xmlns:x="u"' if prefix else 'xmlns="u"'
    plain = f'<xode {declared} version="1.0r22"><world>{GRAVITY.format("")}<space>{body(mass(mass_shape()))}</space></world></xode>'
    document = plain.replace("</", "<!").replace("<", f"<{prefix}").replace(f"<{prefix}!", f"</{prefix}")
    read = Read(exoskel.load(document))
    read.expect("X106", "warning", says="u")
    read.assert_clean()
    assert read.world.gravity == (0.0, 0.0, -9.0)
    assert read.body().mass == pytest.approx(0.5235987755982988)
    with pytest.raises(exoskel.LoadError, match="X106"):
        exoskel.load(document, strict=True)


@pytest.mark.parametrize("inner", ["<q:note/>", "<note/>"])
@pytest.mark.parametrize(
    ("holder", "severity"),
    [
        ("<transform>{}</transform>", "error"),
        ("<transform><rotation>{}</rotation></transform>", "error"),
        ("<mass>{}</mass>", "error"),
        ("<joint>{}</joint>", "error"),
        ("<group>{}</group>", "warning"),
    ],
)
def test_unknown_elements_in_joints_masses_and_transforms_are_errors(holder: str, severity: str, inner: str) -> None:
    read = load(scene(body(holder.format(inner))).replace("<xode", '<xode xmlns:q="urn:q"'))
    read.expect("X202", severity)


def test_an_invalid_mass_shape_is_reported_once() -> None:
    for shape in (
        '<cone radius="1" length="1"/>',
        '<plane a="0" b="0" c="1" d="0"/>',
        '<ray length="1"/>',
        trimesh(3, [(1, 2, 3)]),
    ):
        load(scene(body(mass(mass_shape(shape))))).expect_all("X609").assert_clean()


# --- extensions ---------------------------------------------------------------------------------------


def world_with(extension: str) -> Read:
    return load(xode(f"<world>{extension}<space/></world>"))


@pytest.mark.parametrize(
    "content",
    [
        "<gravity>9.8</gravity>",
        '<gravity value="9.8"/><CFM/>',
        '<gravity x="left" y="0" z="0"/>',
        '<timestep value="auto"/>',
        '<q:gravity xmlns:q="urn:q" x="0" y="0" z="1"/>',
    ],
)
def test_the_contents_of_other_extensions_are_not_checked(content: str) -> None:
    read = world_with(f'<ext ename="theirs">{content}</ext>')
    read.assert_clean()
    assert read.world.gravity == (0.0, 0.0, 0.0)


def test_world_parameters_are_read_from_any_extension_but_reported_only_in_world_params() -> None:
    assert world_with('<ext ename="x"><gravity x="0" y="0" z="-1"/></ext>').world.gravity == (0.0, 0.0, -1.0)
    read = world_with('<ext ename="world-params"><gravity x="a" y="0"/><CFM/><timestep value="0"/></ext>')
    read.expect("X302", says="x: 'a'")
    read.expect("X301", says="<gravity> has no 'z'")
    read.expect("X301", says="<CFM> has no 'value'")
    read.expect("X306", says="is 0")
    read.assert_clean()


def test_extensions_are_checked_everywhere() -> None:
    nested = mass(mass_shape(SPHERE.replace("/>", "><ext/></sphere>")) + "<ext/>")
    inner = body(mass(mass_shape() + nested) + joint("<fixed><ext/></fixed>", "j", "", ""))
    read = load(scene(inner))
    read.expect_all("X902", "X902", "X902", "X210", "X210").assert_clean()
    assert sorted(e.owner for e in read.scene.extensions) == ["fixed", "mass", "sphere"]


# --- bodies and meshes --------------------------------------------------------------------------------


def test_a_partial_axis_of_finite_rotation_is_reported() -> None:
    given = '<finiteRotation mode="1" xaxis="q" yaxis="0" zaxis="1"/>'
    load(scene(body(given))).expect_all("X302").assert_clean()
    part = '<finiteRotation mode="1" xaxis="1"/>'
    read = load(scene(body(part)))
    read.expect("X301", says="yaxis, zaxis")
    read.assert_clean()


def test_too_few_vertices_are_reported_even_without_triangles() -> None:
    read = load(scene(geom(trimesh(2, []))))
    read.expect("X203.few", "error")
    read.expect("X203", "error", says="<t>")
    read.assert_clean()


def test_every_triangle_out_of_range_is_named() -> None:
    read = load(scene(geom(trimesh(4, [(1, 2, 9), (1, 2, 4), (8, 7, 1)]))))
    read.expect("X701", says="triangle 1 refers to vertex 9")
    read.expect("X701", says="triangle 3 refers to vertex 8")
    read.assert_clean()


def test_the_first_of_triangles_and_indices_is_used() -> None:
    mesh = trimesh(4, [(1, 2, 4)])
    both = mesh.replace("</trimesh>", '<indices><t ia="1" ib="3" ic="4"/></indices></trimesh>')
    read = load(scene(geom(both)))
    read.expect("X204", "warning", says="indices")
    read.expect("X709", "warning")
    read.assert_clean()
    (shape,) = read.model.bodies[0].collisions
    assert shape.geometry.triangles.tolist() == [[0, 1, 3]]  # type: ignore[union-attr]


# --- stops --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stops", "limits", "codes"),
    [
        ('LowStop="inf"', UNLIMITED, ["X809.infinite"]),
        ('HiStop="-inf"', UNLIMITED, ["X809.infinite"]),
        ('LowStop="inf" HiStop="1"', UNLIMITED, ["X809"]),
        ('LowStop="-inf" HiStop="1"', (-inf, 1.0), []),
        ('LowStop="1" HiStop="1"', (1.0, 1.0), []),
    ],
)
def test_stops_that_allow_no_position_are_disabled(stops: str, limits: tuple[float, float], codes: list[str]) -> None:
    read = load(two(hinge(stops)))
    read.expect_all(*codes).assert_clean()
    assert read.joint().dofs[0].position_limits == limits


def test_the_pyode_dialect_keeps_parameters_out_of_range_as_pyode_does() -> None:
    parameters = 'Bounce="6" StopERP="8" StopCFM="0.1" SuspensionERP="2" CFM="-1" FMax="-1" FudgeFactor="3"'
    scene = exoskel.load(two(hinge(f'LowStop="-1" HiStop="1" {parameters}')), dialect="pyode")
    (drive,) = scene.world.models[0].joints[-1].drives
    assert (drive.bounce, drive.stop_erp, drive.suspension_erp, drive.cfm) == (6.0, 8.0, 2.0, -1.0)
    assert drive.max_force is None and drive.fudge_factor is None, "ODE ignores these"
    assert np.isfinite(exoskel.run(scene, 0.1).positions).all()
