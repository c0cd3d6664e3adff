"""Comparison with an installed DART: documents that it crashes on, and the values of reading `dart`."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest

import exoskel
from tests.oracles import dart
from tests.skel.test_readings import ROWS
from tests.support.findings import Read, load_text
from tests.support.geometry import TETRA
from tests.support.xml import BOX, INERTIA, body, joint, one_body, one_shape, skeleton, world

pytestmark = pytest.mark.skipif(not dart.available(), reason="dartpy is not installed")

AXIS = "<axis><xyz>1 0 0</xyz></axis>"
VISIBLE = f"{INERTIA}<visualization_shape>{BOX}</visualization_shape>"


def hinge(name: str, parent: str, child: str) -> str:
    return joint(AXIS, "revolute", name, parent, child)


FATAL = {
    "a cycle": (world(skeleton(body(name="a") + body() + hinge("i", "b", "a") + hinge("j", "a", "b"))), "SK073"),
    "a joint from a body to itself": (world(skeleton(body() + hinge("j", "b", "b"))), "SK073"),
    "a shape without geometry": (one_body(INERTIA + "<collision_shape/>"), "SK060"),
    "an unknown geometry to weigh": (
        one_body(
            "<inertia><mass>1</mass></inertia><collision_shape><geometry><heightmap/></geometry></collision_shape>"
        ),
        "SK060",
    ),
    "a missing mesh to weigh": (
        one_body(
            "<inertia><mass>1</mass></inertia><visualization_shape><geometry><mesh><file_name>none.obj</file_name>"
            "<scale>1 1 1</scale></mesh></geometry></visualization_shape>"
        ),
        "SK063",
    ),
    "a body in no joint": (world(skeleton(body(VISIBLE) + body(name="c") + joint(child="c"))), "SK074"),
    "an unknown joint type": (one_body(VISIBLE, kind="hinge"), "SK070"),
    "an unknown child": (world(skeleton(body(VISIBLE) + joint(child="c"))), "SK071"),
    "an arbitrary plane without axes": (
        one_body(joint_inner='<plane type="arbitrary"/>', kind="planar"),
        "SK079",
    ),
    "a screw joint": (one_body(VISIBLE, AXIS, kind="screw"), "SK090"),
    "a missing mass": (one_body("<inertia><offset>0 0 0</offset></inertia>"), "SK050"),
    "an incomplete moment": (
        one_body("<inertia><mass>1</mass><moment_of_inertia><ixx>1</ixx></moment_of_inertia></inertia>"),
        "SK051",
    ),
    "a missing dimension": (one_shape("<sphere/>"), "SK020"),
    "a value that is no number": (one_body("<inertia><mass>x</mass></inertia>"), "SK022"),
    "an empty value": (one_body("<inertia><mass/></inertia>"), "SK021"),
    "an overflowing number": (one_body("<inertia><mass>1e999</mass></inertia>"), "SK026"),
    "a euler joint without an order": (one_body(kind="euler"), "SK078"),
    "an axis without a direction": (one_body(joint_inner="<axis/>", kind="revolute"), "SK077"),
    "a word in collidable": (
        one_shape("<box><size>1 1 1</size></box>", beside="<collidable>true</collidable>"),
        "SK027",
    ),
    "a soft box without fragments": (
        one_body(
            "<soft_shape><total_mass>1</total_mass><geometry><box><size>1 1 1</size></box></geometry></soft_shape>"
        ),
        "SK068",
    ),
}


@pytest.mark.parametrize("name", FATAL)
def test_documents_that_stop_dart_get_a_diagnostic(name: str, tmp_path: Path) -> None:
    document, code = FATAL[name]
    file = tmp_path / "fatal.skel"
    file.write_text(document)
    assert "failed" in dart.ask(file, configurations=0, timeout=5), "DART has learnt to read this"
    read = Read(exoskel.load(file))
    read.expect(code)
    assert read.world.models[0].bodies


REFUSED_FROM_6_20_3 = {
    "short transformation",
    "commas in a transformation",
    "commas and spaces in a transformation",
}
DART_LOADS = sorted(ROWS.keys() - {"missing names: body", "spaces: body name", "value split by a comment"})


@pytest.mark.parametrize("name", DART_LOADS)
def test_reading_dart_gives_the_values_of_dart(name: str, tmp_path: Path) -> None:
    file = tmp_path / "row.skel"
    file.write_text(ROWS[name].document)
    answer = dart.ask(file)
    if name in REFUSED_FROM_6_20_3 and tuple(map(int, version("dartpy").split(".")[:3])) >= (6, 20, 3):
        assert "must contain exactly 6 elements" in answer["failed"]
        return
    assert "failed" not in answer
    assert dart.differences(exoskel.load(file, semantics="dart"), answer) == []


def universal(first: str, second: str = "0 1 0", position: str = "0 0") -> str:
    axes = f"<axis><xyz>{first}</xyz></axis><axis2><xyz>{second}</xyz></axis2><init_pos>{position}</init_pos>"
    frame = "<transformation>0.1 0.2 0.3 0.4 0.5 0.6</transformation>"
    return one_body("<transformation>1 2 3 0.1 0.2 0.3</transformation>", frame + axes, "universal")


def pair(first: str, second: str) -> str:
    """Bodies a and c with two joints in the given order."""
    return world(skeleton(body(name="a") + body(name="c") + first + second))


LIKE_DART = {
    "two axes that are not unit": universal("2 0 0", "0 3 0", "0.3 0.4"),
    "an axis that is not unit, not rotated about": universal("2 0 0", position="0 0.5"),
    "an axis that is not unit, rotated about": universal("2 0 0", position="0.5 0"),
    "an axis that is nearly unit": universal("1.0000001 0 0", position="1 1"),
    "an axis of three digits": universal("0.707 0.707 0", position="1 1"),
    "an axis too long to tell": universal("1.0000004 0 0", "0 1.0000004 0", "0.5 1"),
    "a universal axis of zero": universal("0 0 0", position="1 1"),
    "a universal axis of zero, not rotated about": universal("0 0 0", position="0 1"),
    "a large transformation": one_body("<transformation>1e200 1e200 0 0 0 0</transformation>"),
    "shapes too large to weigh": one_body(
        "<inertia><mass>2</mass><offset>0.1 0.2 0.3</offset></inertia>"
        + "".join(
            f"<visualization_shape><transformation>{place}</transformation><geometry><box><size>{size}</size></box>"
            "</geometry></visualization_shape>"
            for place, size in (("1 0 0 0 0 0.5", "1 1 1"), ("0 1 0 0 0 0", "1e160 1e160 1e160"))
        )
    ),
    "a shape too far away to weigh": one_body(
        "<inertia><mass>2</mass></inertia><visualization_shape><transformation>1e200 0 0 0 0 0</transformation>"
        "<geometry><sphere><radius>1</radius></sphere></geometry></visualization_shape>"
    ),
    "namesakes built in another order": pair(hinge("j", "a", "c"), hinge("j", "world", "a")),
    "a joint called root beside an implicit root": pair(hinge("root", "a", "c"), ""),
    "a joint called root before an implicit root": pair(hinge("root", "world", "a"), hinge("k", "c", "b")).replace(
        "<joint", '<body name="b"/><joint', 1
    ),
    "a namesake that is left out": pair(hinge("j", "world", "a"), hinge("k", "world", "a") + hinge("k", "a", "c")),
    "unnamed joints in another order": pair(hinge("", "a", "c"), hinge("", "world", "a")).replace(' name=""', ""),
    "coordinates of namesakes": pair(joint("", "ball", "j", "a", "c"), joint("", "ball", "j", "world", "a")),
    "adjacent CDATA sections": world(
        skeleton(body() + joint()), "<time_step><![CDATA[0.0]]><![CDATA[5]]></time_step><gravity>0 0 0</gravity>"
    ),
    "an undeclared prefix": world(skeleton("<x:a/>" + body() + joint())),
}


@pytest.mark.parametrize("name", LIKE_DART)
def test_reading_dart_matches_dart(name: str, tmp_path: Path) -> None:
    file = tmp_path / "like.skel"
    file.write_text(LIKE_DART[name])
    answer = dart.ask(file)
    assert "failed" not in answer
    assert dart.differences(exoskel.load(file, semantics="dart"), answer) == []


@pytest.mark.parametrize(
    "name",
    ["file:{}", "file://localhost{}", "file://elsewhere{}", "file://{}#x", "file://{}?x", "//localhost{}", "{}#x"],
)
def test_dart_finds_meshes_on_any_machine(name: str, tmp_path: Path) -> None:
    (tmp_path / "t.obj").write_text(TETRA)
    mesh = f"<mesh><file_name>{name.format(tmp_path / 't.obj')}</file_name><scale>1 2 3</scale></mesh>"
    file = tmp_path / "mesh.skel"
    shape = f"<visualization_shape><geometry>{mesh}</geometry></visualization_shape>"
    file.write_text(one_body(f"<inertia><mass>1</mass></inertia>{shape}"))
    assert dart.differences(exoskel.load(file, semantics="dart"), dart.ask(file)) == []


def test_repeated_body_with_derived_moments(tmp_path: Path) -> None:
    box = "<visualization_shape><geometry><box><size>{}</size></box></geometry></visualization_shape>"
    mass = "<inertia><mass>{}</mass></inertia>"
    documents = [
        body(mass.format(2) + box.format("1 1 1")) + body(mass.format(5) + box.format("2 1 1")),
        body(mass.format(2) + box.format("1 1 1")) + body(box.format("2 1 1")),
        body(box.format("1 1 1")) + body(mass.format(5) + box.format("2 1 1")),
        body(INERTIA + box.format("1 1 1")) + body(mass.format(5) + box.format("2 1 1")),
    ]
    for number, inner in enumerate(documents):
        file = tmp_path / f"{number}.skel"
        file.write_text(world(skeleton(inner + joint())))
        assert dart.differences(exoskel.load(file, semantics="dart"), dart.ask(file)) == [], inner


def test_a_document_dart_reads_differently_is_reported() -> None:
    for row in ROWS.values():
        assert load_text(row.document).diagnostics
