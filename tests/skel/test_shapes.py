"""Section 18, items 41 to 51: shapes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import exoskel
from exoskel import Box, Capsule, Cone, Cylinder, Ellipsoid, Mesh, MultiSphere, Plane, Pyramid, Sphere
from tests.support.checklist import item
from tests.support.findings import Read, Reads
from tests.support.geometry import TETRA
from tests.support.places import EXAMPLES
from tests.support.xml import INERTIA, PHYSICS, body, joint, one_body, one_shape, skeleton, world

GEOMETRIES: dict[str, tuple[str, Any, Any]] = {
    "box": ("<box><size>1 2 3</size></box>", Box((1.0, 2.0, 3.0)), ((-0.5, -1, -1.5), (0.5, 1, 1.5))),
    "sphere": ("<sphere><radius>2</radius></sphere>", Sphere(2.0), ((-2, -2, -2), (2, 2, 2))),
    "ellipsoid": (
        "<ellipsoid><size>1 2 3</size></ellipsoid>",
        Ellipsoid((1.0, 2.0, 3.0)),
        ((-0.5, -1, -1.5), (0.5, 1, 1.5)),
    ),
    "cylinder": (
        "<cylinder><radius>1</radius><height>4</height></cylinder>",
        Cylinder(1.0, 4.0),
        ((-1, -1, -2), (1, 1, 2)),
    ),
    "capsule": (
        "<capsule><radius>1</radius><height>4</height></capsule>",
        Capsule(1.0, 4.0),
        ((-1, -1, -3), (1, 1, 3)),
    ),
    "cone": ("<cone><radius>1</radius><height>4</height></cone>", Cone(1.0, 4.0), ((-1, -1, -2), (1, 1, 2))),
    "pyramid": (
        "<pyramid><base_width>2</base_width><base_depth>4</base_depth><height>6</height></pyramid>",
        Pyramid(2.0, 4.0, 6.0),
        ((-1, -2, -3), (1, 2, 3)),
    ),
    "multi_sphere": (
        "<multi_sphere><sphere><radius>1</radius><position>-1 0 0</position></sphere>"
        "<sphere><radius>2</radius><position>1 0 0</position></sphere></multi_sphere>",
        MultiSphere((exoskel.Ball(1.0, (-1.0, 0.0, 0.0)), exoskel.Ball(2.0, (1.0, 0.0, 0.0)))),
        ((-2, -2, -2), (3, 2, 2)),
    ),
}


def visual(reads: Reads, geometry: str, **options: Any) -> Read:
    return reads(one_shape(geometry, "visualization_shape"), **options)


@item(41)
@pytest.mark.parametrize("kind", GEOMETRIES)
def test_every_geometry_is_read(reads: Reads, kind: str) -> None:
    text, expected, bounds = GEOMETRIES[kind]
    shape = visual(reads, text).body().visuals[0]
    assert (shape.kind, shape.geometry) == (kind, expected)
    assert shape.geometry.bounds() == bounds


@item(42)
def test_several_geometries_are_chosen_in_the_order_of_dart(reads: Reads) -> None:
    read = visual(reads, "<box><size>1 1 1</size></box><sphere><radius>1</radius></sphere>")
    read.expect("SK061", "warning", says="the sphere is used")
    assert read.body().visuals[0].kind == "sphere"


@item(43)
@pytest.mark.parametrize(
    ("geometry", "missing"),
    [
        ("<sphere/>", "radius"),
        ("<capsule><height>1</height></capsule>", "radius"),
        ("<cone><radius>1</radius></cone>", "height"),
        ("<pyramid><base_width>1</base_width><height>1</height></pyramid>", "base_depth"),
        ("<plane><offset>0</offset></plane>", "normal"),
        ("<multi_sphere/>", "sphere"),
        ("<multi_sphere><sphere><radius>1</radius></sphere></multi_sphere>", "position"),
        ("<mesh><scale>1 1 1</scale></mesh>", "file_name"),
    ],
)
def test_a_shape_without_a_dimension_is_ignored(reads: Reads, geometry: str, missing: str) -> None:
    read = visual(reads, geometry)
    read.expect("SK020", "error", says=f"<{missing}>")
    assert read.body().visuals == []


@item(43)
@pytest.mark.parametrize(
    ("geometry", "codes", "expected"),
    [
        ("<box/>", ["SK020.size"], Box((1.0, 1.0, 1.0))),
        ("<ellipsoid/>", ["SK020.size"], Ellipsoid((1.0, 1.0, 1.0))),
        ("<cylinder><radius>2</radius></cylinder>", ["SK020.height"], Cylinder(2.0, 1.0)),
        ("<cylinder><height>2</height></cylinder>", ["SK020.radius"], Cylinder(0.5, 2.0)),
        ("<cylinder/>", ["SK020.radius", "SK020.height"], Cylinder(0.5, 1.0)),
    ],
)
def test_a_dimension_that_the_wiki_gives_a_default_is_used(
    reads: Reads, geometry: str, codes: list[str], expected: Any
) -> None:
    read = visual(reads, geometry)
    for code in codes:
        read.expect(code, "warning")
    assert read.body().visuals[0].geometry == expected


@item(43)
@pytest.mark.parametrize("geometry", ["<box/>", "<ellipsoid/>", "<cylinder/>"])
def test_dart_has_no_default_dimensions(reads: Reads, geometry: str) -> None:
    read = visual(reads, geometry, semantics="dart")
    read.expect("SK020", "error")
    assert read.body().visuals == []


@item(43)
def test_a_soft_box_has_no_default_size(reads: Reads) -> None:
    shape = "<soft_shape><total_mass>1</total_mass><geometry><box><frags>3 3 3</frags></box></geometry></soft_shape>"
    read = reads(one_body(shape))
    read.expect("SK020", "error", says="<size>")
    assert read.body().soft is None


@item(43)
def test_an_invalid_dimension_has_no_default(reads: Reads) -> None:
    read = visual(reads, "<box><size>a 1 1</size></box>")
    read.expect("SK022", "error")
    assert read.body().visuals == []


@item(43)
@pytest.mark.parametrize("kind", ["cylinder", "capsule"])
def test_length_is_read_as_height(reads: Reads, kind: str) -> None:
    read = visual(reads, f"<{kind}><radius>1</radius><length>4</length></{kind}>")
    read.expect("SK069", "warning")
    assert read.body().visuals[0].geometry == GEOMETRIES[kind][1]


@item(43)
def test_height_takes_precedence_over_length(reads: Reads) -> None:
    read = visual(reads, "<cylinder><radius>1</radius><length>9</length><height>4</height></cylinder>")
    read.expect("SK069", "warning")
    assert read.body().visuals[0].geometry == Cylinder(1.0, 4.0)


@item(43)
def test_the_magnitude_of_negative_dimensions_is_used(reads: Reads) -> None:
    read = visual(reads, "<box><size>1 -2 3</size></box>")
    read.expect("SK062.negative", "warning", says="1 -2 3")
    assert read.body().visuals[0].geometry == Box((1.0, 2.0, 3.0))
    ball = visual(reads, "<sphere><radius>-1</radius></sphere>")
    ball.expect("SK062.negative", "warning")
    assert ball.body().visuals[0].geometry == Sphere(1.0)
    many = visual(reads, GEOMETRIES["multi_sphere"][0].replace("<radius>2", "<radius>-2"))
    many.expect("SK062.negative", "warning")
    assert many.body().visuals[0].geometry == GEOMETRIES["multi_sphere"][1]


@item(43)
@pytest.mark.parametrize(
    "geometry",
    [
        "<box><size>1 0 3</size></box>",
        "<sphere><radius>0</radius></sphere>",
        "<cylinder><radius>1</radius><height>0</height></cylinder>",
        "<multi_sphere><sphere><radius>0</radius><position>0 0 0</position></sphere></multi_sphere>",
    ],
)
def test_a_shape_of_zero_size_is_ignored(reads: Reads, geometry: str) -> None:
    read = visual(reads, geometry)
    read.expect("SK062.zero", "error")
    assert read.body().visuals == []


@item(43)
def test_a_mesh_scale_may_mirror_but_not_flatten(reads: Reads, tmp_path: Path) -> None:
    (tmp_path / "t.obj").write_text(TETRA)
    mesh = "<mesh><file_name>t.obj</file_name>{}</mesh>"
    mirrored = visual(reads, mesh.format("<scale>-1 2 3</scale>"), base=tmp_path)
    assert mirrored.body().visuals[0].geometry.bounds() == ((-1.0, 0.0, 0.0), (0.0, 2.0, 3.0))
    flat = visual(reads, mesh.format("<scale>1 0 1</scale>"), base=tmp_path)
    flat.expect("SK062.scale", "error")
    assert flat.body().visuals == []
    plain = visual(reads, mesh.format(""), base=tmp_path)
    plain.expect("SK020.scale", "warning")
    assert plain.body().visuals[0].geometry.scale == (1.0, 1.0, 1.0)


@item(44)
@pytest.mark.parametrize(
    ("inner", "offset", "key"),
    [
        ("<offset>3</offset>", 3.0, None),
        ("<point>5 6 7</point>", 7.0, "SK065.point"),
        ("<point>5 6 7</point><offset>3</offset>", 3.0, "SK065.point"),
        ("", 0.0, "SK065.none"),
    ],
)
def test_invalid_planes_are_reported(reads: Reads, inner: str, offset: float, key: str | None) -> None:
    read = visual(reads, f"<plane><normal>0 0 2</normal>{inner}</plane>")
    if key:
        read.expect(key, "warning")
    assert read.body().visuals[0].geometry == Plane((0.0, 0.0, 1.0), offset)


@item(44)
def test_a_plane_needs_a_normal_with_a_direction(reads: Reads) -> None:
    read = visual(reads, "<plane><normal>0 0 0</normal><offset>0</offset></plane>")
    read.expect("SK066", "error")
    assert read.body().visuals == []


@item(45)
@pytest.mark.parametrize(
    ("text", "color", "key"),
    [
        ("0.1 0.2 0.3", (0.1, 0.2, 0.3, 1.0), None),
        ("0.1 0.2 0.3 0.4", (0.1, 0.2, 0.3, 0.4), None),
        ("0.1, 0.2, 0.3", (0.1, 0.2, 0.3, 1.0), "SK025"),
        ("0.1 0.2", None, "SK067.count"),
        ("1 1 1 1 1", None, "SK067.count"),
        ("0 0 1.5", (0.0, 0.0, 1.5, 1.0), "SK067.range"),
    ],
)
def test_colours_have_three_or_four_components(reads: Reads, text: str, color: Any, key: str | None) -> None:
    read = reads(one_shape("<box><size>1 1 1</size></box>", "visualization_shape", f"<color>{text}</color>"))
    if key:
        read.expect(key, "warning")
    assert read.body().visuals[0].color == color


@item(45)
def test_the_default_colour_is_that_of_dart() -> None:
    from exoskel.scene.shape import DEFAULT_COLOR

    assert DEFAULT_COLOR == (0.5, 0.5, 1.0, 1.0)


@item(46)
def test_visual_shapes_come_first() -> None:
    many = exoskel.load(EXAMPLES / "04_geometry.skel").world.model("shapes").body("many")
    kinds = ["box", "sphere", "ellipsoid", "cylinder", "pyramid", "mesh", "capsule", "cone", "multi_sphere"]
    assert [shape.kind for shape in many.shapes] == kinds


@item(47)
@pytest.mark.parametrize(
    ("shape", "key"),
    [
        ("<geometry><heightmap/></geometry>", "SK060.unknown"),
        ("<geometry/>", "SK060.empty"),
        ("", "SK060.none"),
    ],
)
@pytest.mark.parametrize("where", ["visualization_shape", "collision_shape"])
def test_a_shape_without_geometry_is_an_error(reads: Reads, shape: str, key: str, where: str) -> None:
    read = reads(one_body(f"{INERTIA}<{where}>{shape}</{where}>"))
    read.expect(key, "error")
    assert read.body().shapes == ()


def mesh_document(name: str, where: str = "visualization_shape", inertia: str = INERTIA) -> str:
    mesh = f"<mesh><file_name>{name}</file_name><scale>1 1 1</scale></mesh>"
    return one_body(f"{inertia}<{where}><geometry>{mesh}</geometry></{where}>")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder `here` of a document, with meshes in it and next to it."""
    here = tmp_path / "here"
    (here / "m").mkdir(parents=True)
    (tmp_path / "obj").mkdir()
    for place in ("here/foot.obj", "here/m/c.obj", "obj/foot.obj", "here/a b.obj", "here/a#b.obj"):
        (tmp_path / place).write_text(TETRA)
    return here


@item(48)
@pytest.mark.parametrize(
    ("name", "found", "key", "severity"),
    [
        ("foot.obj", "foot.obj", None, ""),
        ("./m/c.obj", "m/c.obj", None, ""),
        ("../obj/foot.obj", "../obj/foot.obj", None, ""),
        ("m//c.obj", "m/c.obj", None, ""),
        ("a b.obj", "a b.obj", None, ""),
        ("{here}/foot.obj", "foot.obj", "SK064.absolute", "info"),
        ("file://{here}/foot.obj", "foot.obj", None, ""),
        ("file:m/c.obj", "m/c.obj", "SK064.relative_file_uri", "warning"),
        ("file://m/c.obj", None, "SK064.foreign_file_uri", "error"),
        ("dart://sample/obj/none.obj", None, "SK064.scheme", "warning"),
        ("package://robot/foot.obj", None, "SK064.scheme", "warning"),
        ("http://example.org/foot.obj", None, "SK064.scheme", "warning"),
        ("DART://sample/obj/foot.obj", None, "SK064.scheme", "warning"),
        ("a%20b.obj", "a b.obj", "SK064.percent", "warning"),
        ("a#b.obj", "a#b.obj", "SK064.fragment", "warning"),
        ("foot.obj?x", "foot.obj", "SK064.fragment", "warning"),
        ("m\\c.obj", "m/c.obj", "SK064.backslash", "warning"),
        (" foot.obj ", "foot.obj", "SK064.spaces", "warning"),
    ],
)
def test_mesh_names_are_resolved_to_files(
    reads: Reads, folder: Path, name: str, found: str | None, key: str | None, severity: str
) -> None:
    read = reads(mesh_document(name.format(here=folder)), base=folder)
    if key:
        read.expect(key, severity)
    geometry = read.body().visuals[0].geometry
    assert isinstance(geometry, Mesh)
    assert geometry.uri == name.format(here=folder)
    expected = None if found is None else os.path.normpath(folder / found)
    assert geometry.path == expected


@item(48)
def test_packages_are_found_by_search_path(reads: Reads, folder: Path) -> None:
    document = mesh_document("package://here/m/c.obj")
    by_directory = reads(document, base=folder, package_path=[folder.parent])
    by_name = reads(document, base=folder, package_path={"here": folder})
    assert by_directory.body().visuals[0].geometry.path == str(folder / "m" / "c.obj")
    assert by_name.body().visuals[0].geometry.path == str(folder / "m" / "c.obj")


@item(48)
def test_a_caller_may_resolve_references_itself(reads: Reads, folder: Path) -> None:
    read = reads(mesh_document("http://x/y.obj"), base=folder, resolver=lambda uri: folder / "foot.obj")
    assert read.body().visuals[0].geometry.path == str(folder / "foot.obj")


@item(48)
def test_sample_data_of_dart_is_found_by_dart_data_path(
    reads: Reads, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DART_DATA_PATH", str(folder.parent))
    read = reads(mesh_document("dart://sample/obj/foot.obj"), base=folder)
    assert read.body().visuals[0].geometry.path == str(folder.parent / "obj" / "foot.obj")


@item(49)
@pytest.mark.parametrize(
    ("where", "inertia", "key", "severity"),
    [
        ("visualization_shape", INERTIA, "SK063.visual", "warning"),
        ("collision_shape", INERTIA, "SK063.needed", "error"),
        ("visualization_shape", "<inertia><mass>1</mass></inertia>", "SK063.needed", "error"),
    ],
)
def test_a_missing_mesh_does_not_stop_the_reading(
    reads: Reads, tmp_path: Path, where: str, inertia: str, key: str, severity: str
) -> None:
    read = reads(mesh_document("none.obj", where, inertia), base=tmp_path)
    read.expect(key, severity, says="'none.obj' was not found")
    (shape,) = read.body().shapes
    assert shape.geometry == Mesh("none.obj")
    assert read.body().moment == (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)


@item(49)
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("bad.stl", b"\0" * 90),
        ("bad.dae", b"<COLLADA"),
        ("empty.obj", b""),
        ("odd.xyz", b"1 2 3"),
        ("p.obj", b"v 1 2 3"),
    ],
)
def test_an_unreadable_mesh_does_not_stop_the_reading(reads: Reads, tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    read = reads(mesh_document(name), base=tmp_path)
    read.expect("SK063.visual", "warning", says=f"'{name}' cannot be read")
    assert read.body().visuals[0].geometry.path == str(tmp_path / name)


@item(49)
def test_text_without_a_place_has_no_relative_meshes(reads: Reads) -> None:
    reads(mesh_document("foot.obj")).expect("SK064.no_base", "warning")


@item(50)
@pytest.mark.parametrize(
    ("detector", "kind"),
    [
        ("fcl", "capsule"),
        ("fcl", "multi_sphere"),
        ("fcl_mesh", "capsule"),
        ("dart", "multi_sphere"),
        ("bullet", "pyramid"),
        ("bullet", "ellipsoid"),
        ("ode", "ellipsoid"),
        ("ode", "cone"),
    ],
)
def test_geometries_that_a_detector_does_not_support_are_reported(reads: Reads, detector: str, kind: str) -> None:
    read = reads(one_shape(GEOMETRIES[kind][0]).replace(">dart<", f">{detector}<"))
    read.expect("SK033", "warning", says=f"detector {detector} does not support {kind}")


@item(50)
def test_an_unspecified_detector_is_fcl(reads: Reads) -> None:
    document = one_shape(GEOMETRIES["capsule"][0]).replace("<collision_detector>dart</collision_detector>", "")
    reads(document).expect("SK033", "warning", says="fcl")


@item(50)
@pytest.mark.parametrize(
    ("detector", "kind"), [("dart", "capsule"), ("bullet", "multi_sphere"), ("fcl", "cone"), ("ode", "capsule")]
)
def test_geometries_that_a_detector_supports_are_silent(reads: Reads, detector: str, kind: str) -> None:
    reads(one_shape(GEOMETRIES[kind][0]).replace(">dart<", f">{detector}<"))


@item(50)
def test_unsupported_shapes_that_do_not_collide_are_not_reported_as_such(reads: Reads) -> None:
    read = reads(one_shape(GEOMETRIES["multi_sphere"][0], beside="<collidable>0</collidable>"))
    read.expect("SK013.collidable_zero", "info")


@item(51)
def test_soft_shapes_of_the_example() -> None:
    jelly = exoskel.load(EXAMPLES / "07_soft.skel").world.model("jelly")
    counts = {b.name: b.soft.point_count for b in jelly.bodies if b.soft}
    assert counts == {"cube": 54, "blob": 42, "ball": 42, "can": 74}
    ball = jelly.body("ball").soft
    assert ball is not None
    assert (ball.vertex_stiffness, ball.edge_stiffness, ball.damping) == (1.0, 1.0, 0.01)


def soft(geometry: str, beside: str = "") -> str:
    skin = f"<soft_shape><total_mass>1</total_mass><geometry>{geometry}</geometry>{beside}</soft_shape>"
    return one_body(INERTIA + skin)


@item(51)
@pytest.mark.parametrize(
    ("frags", "key"), [("", "SK068.missing"), ("<frags>2 3 3</frags>", "SK068.low"), ("<frags>3 3 3</frags>", None)]
)
def test_fragments_of_a_soft_box(reads: Reads, frags: str, key: str | None) -> None:
    read = reads(soft(f"<box><size>1 1 1</size>{frags}</box>"))
    if key:
        read.expect(key, "warning")
    skin = read.body().soft
    assert skin is not None
    assert (skin.tessellation.fragments, skin.point_count) == ((3, 3, 3), 26)


@item(51)
def test_a_soft_shape_of_another_geometry(reads: Reads) -> None:
    read = reads(soft("<cone><radius>1</radius><height>1</height></cone>"))
    read.expect("SK060.soft", "error", says="cone")
    skin = read.body().soft
    assert skin is not None and skin.point_count == 0


@item(51)
@pytest.mark.parametrize("count", ["0", "-3", "6.7", "many"])
def test_bad_counts_of_a_soft_shape(reads: Reads, count: str) -> None:
    cut = f"<num_slices>{count}</num_slices><num_stacks>4</num_stacks>"
    read = reads(soft(f"<sphere><radius>1</radius>{cut}</sphere>"))
    read.expect("SK022" if count == "many" else "SK023.count", "error")
    assert read.body().soft is None


def test_the_transformation_of_a_soft_sphere_is_not_applied(reads: Reads) -> None:
    cut = "<num_slices>8</num_slices><num_stacks>4</num_stacks>"
    read = reads(soft(f"<sphere><radius>1</radius>{cut}</sphere>", "<transformation>1 0 0 0 0 0</transformation>"))
    read.expect("SK013.soft_transformation", "warning")
    skin = read.body().soft
    assert skin is not None and skin.pose.is_identity


def test_a_colour_inside_a_geometry_is_read_with_a_warning(reads: Reads) -> None:
    read = visual(reads, "<box><size>1 1 1</size></box><color>1 0 0</color>")
    read.expect("SK013.geometry_color", "warning")
    assert read.body().visuals[0].color == (1.0, 0.0, 0.0, 1.0)


@pytest.mark.parametrize(
    ("where", "inner", "key"),
    [
        ("collision_shape", "<color>1 0 0</color>", "SK013.color"),
        ("visualization_shape", "<collidable>0</collidable>", "SK013.collidable"),
        ("visualization_shape", "<alpha>0.5</alpha>", "SK013.alpha"),
        ("collision_shape", "<friction>0.5</friction>", "SK013.contact"),
    ],
)
def test_children_without_effect_on_the_shape_are_reported(reads: Reads, where: str, inner: str, key: str) -> None:
    reads(one_shape("<box><size>1 1 1</size></box>", where, inner)).expect(key, "warning")


def test_contact_parameters_of_a_body(reads: Reads) -> None:
    reads(one_body("<restitution>0.5</restitution>")).expect("SK013.contact", "warning")


def test_tessellation_of_a_rigid_shape(reads: Reads) -> None:
    read = visual(reads, "<ellipsoid><size>1 1 1</size><num_slices>8</num_slices></ellipsoid>")
    read.expect("SK013.tessellation", "info")


def test_detector_may_follow_the_skeletons(reads: Reads) -> None:
    capsule = f"{INERTIA}<collision_shape><geometry>{GEOMETRIES['capsule'][0]}</geometry></collision_shape>"
    inner = skeleton(body(capsule) + joint()) + f"<physics>{PHYSICS}</physics>"
    reads(world(inner, physics=None))
