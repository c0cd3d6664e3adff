"""Section 18, items 1 to 19: the lexical layer."""

from __future__ import annotations

import locale
import math

import pytest

import exoskel
from tests.support.checklist import item
from tests.support.findings import Reads
from tests.support.xml import PHYSICS, body, joint, one_body, one_shape, skel, skeleton, world

GRAVITY = "<gravity>{}</gravity>"
STEP = "<time_step>{}</time_step><gravity>0 0 -9.81</gravity>"


def gravity(text: str) -> str:
    return world(skeleton(body() + joint()), physics=GRAVITY.format(text))


def step(text: str) -> str:
    return world(skeleton(body() + joint()), physics=STEP.format(text))


@item(1)
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("declaration", [b"", b'<?xml version="1.0"?>\n', b'<?xml version="1.0" encoding="UTF-8"?>'])
def test_utf8_with_and_without_mark_and_declaration(reads: Reads, mark: bytes, declaration: bytes) -> None:
    read = reads(mark + declaration + one_body().encode())
    assert read.body().name == "b"


@item(2)
@pytest.mark.parametrize("text", ["1\r\n2\r\n3", "1\t2\t3", "\n  1 2\n  3\n", "1\r2\r3"])
def test_all_xml_whitespace_separates_numbers(reads: Reads, text: str) -> None:
    assert reads(gravity(text)).world.gravity == (1.0, 2.0, 3.0)


@item(3)
def test_a_comment_before_a_value_has_no_effect(reads: Reads) -> None:
    assert reads(gravity("<!-- earth --> 0 -1 0")).world.gravity == (0.0, -1.0, 0.0)


@item(3)
def test_comment_inside_a_value_is_a_warning(reads: Reads) -> None:
    read = reads(gravity("0 -1<!-- x --> 0"))
    assert read.world.gravity == (0.0, -1.0, 0.0)
    finding = read.expect("SK014.split", "warning", path="physics/gravity")
    assert finding.reader_note == "reads only '0 -1'"


@item(4)
def test_cdata_is_text(reads: Reads) -> None:
    assert reads(gravity("<![CDATA[0 -1 0]]>")).world.gravity == (0.0, -1.0, 0.0)


@item(5)
@pytest.mark.parametrize(
    ("document", "line", "column", "says"),
    [
        ("<skel>\n<world>\n</skel>", 3, 1, "</skel> does not match <world> of line 2"),
        ("<skel>\n <world>\n", 2, 2, "<world> is not closed"),
        ("<skel version='1.0'><world/></skel>\nmore", 2, 1, "unexpected content after the root element"),
        ("<skel version='1.0'><world/></skel>\n<skel/>", 2, 1, "unexpected content after the root element"),
        ('<skel>\n<world name="a" name="b"/></skel>', 2, 25, "the attribute 'name' is repeated"),
        ("<skel>\n</world></skel>", 2, 1, "</world> does not match <skel> of line 1"),
        ("<skel>\n<a & b/></skel>", 2, 4, "expected an attribute"),
    ],
)
def test_malformed_xml_has_a_position(reads: Reads, document: str, line: int, column: int, says: str) -> None:
    read = reads(document)
    read.expect("SK001", "error", line=line, column=column, says=says)
    assert read.scene.worlds == []


@item(6)
@pytest.mark.parametrize(
    "text",
    [
        "dofs {\n  x 0\n}\n",
        "# a comment\n\nmass { m 1 }\nnode pelvis {\n chain { }\n}\n",
        "// old\n/* and\nolder */ dofs\n{ }",
    ],
)
def test_text_format_of_dart_2_is_named(reads: Reads, text: str) -> None:
    reads(text.encode()).expect("SK002", "error", says="DART 1 and 2")


@item(6)
@pytest.mark.parametrize("data", [b"", b"  \n\t ", b"\xef\xbb\xbf"])
def test_an_empty_file_is_an_error(reads: Reads, data: bytes) -> None:
    reads(data).expect("SK001", "error", says="empty")


@item(7)
@pytest.mark.parametrize(
    ("root", "name"), [("sdf", "SDFormat"), ("robot", "URDF"), ("mujoco", "MJCF"), ("xode", "XODE")]
)
def test_other_formats_are_named(reads: Reads, root: str, name: str) -> None:
    read = reads(f"<{root}/>", format="skel")
    read.expect("SK003", "error", line=1, says=name)


@item(8)
def test_entities_are_refused_and_not_expanded(reads: Reads) -> None:
    document = '<?xml version="1.0"?>\n<!DOCTYPE skel [\n<!ENTITY g "0 0 -1">\n]>\n' + gravity("&g;")
    read = reads(document)
    read.expect("SK007.entity", "error", line=3)
    assert read.scene.worlds == []


@item(8)
@pytest.mark.parametrize("where", ["/etc/passwd", "http://127.0.0.1:1/x"])
def test_external_entities_are_never_fetched(reads: Reads, where: str) -> None:
    document = f'<!DOCTYPE skel [<!ENTITY x SYSTEM "{where}">]>' + gravity("&x;")
    reads(document).expect("SK007.entity", "error")


@item(8)
def test_a_bare_doctype_is_a_warning(reads: Reads) -> None:
    read = reads("<!DOCTYPE skel>\n" + one_body())
    read.expect("SK007.doctype", "warning", line=1, column=1)
    assert len(read.world.models) == 1


@item(9)
@pytest.mark.parametrize(
    ("text", "value"), [("1e-3", 1e-3), (".5", 0.5), ("1.", 1.0), ("+2", 2.0), ("1E+2", 100.0), (" 7 ", 7.0)]
)
def test_decimal_numbers_are_read(reads: Reads, text: str, value: float) -> None:
    assert reads(step(text)).world.time_step == value


@item(9)
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("abc", "SK022"),
        ("-", "SK022"),
        ("e5", "SK022"),
        ("1abc", "SK023"),
        ("0x10", "SK023"),
        ("1m", "SK023"),
        ("1_0", "SK023"),
        ("0.1 0.2", "SK023"),
        ("1.5.2", "SK023"),
        ("١", "SK022"),
        ("nan", "SK026"),
        ("inf", "SK026"),
        ("-Infinity", "SK026"),
    ],
)
def test_texts_that_are_not_numbers_are_errors(reads: Reads, text: str, code: str) -> None:
    read = reads(step(text))
    finding = read.expect(code, "error", path="physics/time_step")
    assert f"'{text}'" in finding.message
    assert read.world.time_step == 0.001
    assert read.world.provenance("time_step") == "repaired"


@item(10)
def test_overflow_is_refused_and_subnormals_are_not(reads: Reads) -> None:
    reads(step("1e999")).expect("SK026.overflow", "error")
    assert reads(gravity("0 0 1e-310")).world.gravity == (0.0, 0.0, 1e-310)


@item(11)
def test_the_locale_does_not_matter(reads: Reads) -> None:
    before = locale.setlocale(locale.LC_NUMERIC)
    names = ["de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", "C.UTF-8", "C"]
    try:
        for name in names:
            try:
                locale.setlocale(locale.LC_NUMERIC, name)
            except locale.Error:
                continue
            assert reads(step("0.25")).world.time_step == 0.25
    finally:
        locale.setlocale(locale.LC_NUMERIC, before)


@item(12)
@pytest.mark.parametrize("text", ["0,0,-9.8", "0, 0, -9.8", "0 ,0 , -9.8", "0,0 -9.8"])
def test_commas_are_accepted_if_the_count_is_right(reads: Reads, text: str) -> None:
    read = reads(gravity(text))
    read.expect("SK025", "warning")
    assert read.world.gravity == (0.0, 0.0, -9.8)


@item(12)
def test_a_decimal_comma_is_not_accepted(reads: Reads) -> None:
    reads(step("0,5")).expect("SK023", "error")


@item(13)
@pytest.mark.parametrize(("text", "found"), [("0 0", 2), ("0 0 0 0", 4), ("9", 1)])
def test_a_wrong_number_of_components_is_an_error(reads: Reads, text: str, found: int) -> None:
    read = reads(gravity(text))
    read.expect("SK024", "error", says=f"expected 3 numbers, found {found}")
    assert read.world.gravity == (0.0, 0.0, -9.81)


@item(13)
def test_transformation_of_three_numbers_is_a_translation(reads: Reads) -> None:
    read = reads(one_body("<transformation>1 2 3</transformation>"))
    read.expect("SK024", "warning")
    assert read.body().pose.position == (1.0, 2.0, 3.0)


@item(13)
@pytest.mark.parametrize("text", ["1 2 3 4", "1 2 3 4 5 6 7", "1"])
def test_other_counts_of_a_transformation(reads: Reads, text: str) -> None:
    read = reads(one_body(f"<transformation>{text}</transformation>"))
    read.expect("SK024", "error")
    assert read.body().pose.is_identity


@item(14)
@pytest.mark.parametrize("text", ["", "  ", "\n", "<!-- nothing -->"])
def test_empty_values_are_errors(reads: Reads, text: str) -> None:
    read = reads(gravity(text))
    read.expect("SK021", "error", path="physics/gravity")
    assert read.world.gravity == (0.0, 0.0, -9.81)


@item(15)
@pytest.mark.parametrize(
    ("text", "value"), [("1", True), ("0", False), ("true", True), ("false", False), ("TRUE", True), ("False", False)]
)
def test_boolean_values_are_read(reads: Reads, text: str, value: bool) -> None:
    assert reads(one_body(f"<gravity>{text}</gravity>")).body().gravity is value


@item(15)
def test_spaces_around_a_boolean_are_removed(reads: Reads) -> None:
    read = reads(one_body("<gravity> 0 </gravity>"))
    read.expect("SK028", "warning")
    assert read.body().gravity is False


@item(15)
@pytest.mark.parametrize("text", ["no", "2", "yes", "1.0"])
def test_other_keywords_are_not_booleans(reads: Reads, text: str) -> None:
    read = reads(one_body(f"<gravity>{text}</gravity>"))
    read.expect("SK027", "error", says=text)
    assert read.body().gravity is True


@item(16)
@pytest.mark.parametrize(
    ("text", "value", "code"),
    [
        ("0", False, None),
        ("1", True, None),
        ("true", True, "SK027.word"),
        ("False", False, "SK027.word"),
        ("2", True, "SK027.number"),
        ("0.0", False, "SK027.number"),
    ],
)
def test_collidable_accepts_numbers_and_words(reads: Reads, text: str, value: bool, code: str | None) -> None:
    read = reads(one_shape("<box><size>1 1 1</size></box>", beside=f"<collidable>{text}</collidable>"))
    if code:
        read.expect(code, "warning")
    if not value:
        read.expect("SK013.collidable_zero", "info")
    assert read.body().collisions[0].collidable is value


def test_collidable_zero_has_no_effect_in_the_reading_dart() -> None:
    document = one_shape("<box><size>1 1 1</size></box>", beside="<collidable>0</collidable>")
    scene = exoskel.load(document, semantics="dart")
    assert scene.world.models[0].bodies[0].collisions[0].collidable is True
    assert "SK013" in [d.code for d in scene.diagnostics]


@item(16)
def test_a_collidable_that_is_not_a_boolean_is_an_error(reads: Reads) -> None:
    read = reads(one_shape("<box><size>1 1 1</size></box>", beside="<collidable>maybe</collidable>"))
    read.expect("SK027", "error")
    assert read.body().collisions[0].collidable is True


@item(17)
def test_spaces_around_keywords_are_accepted(reads: Reads) -> None:
    physics = PHYSICS.replace(">dart<", "> dart <")
    moving = joint("<axis_order> zyx </axis_order>", "euler", parent=" world ")
    read = reads(world(skeleton(body() + moving), physics=physics))
    for word in ("dart", "world", "zyx"):
        read.expect("SK028.trimmed", "warning", says=word)
    assert read.world.collision_detector == "dart"
    assert read.joint().order == "zyx"


@item(17)
def test_capitals_in_keywords_are_accepted(reads: Reads) -> None:
    physics = PHYSICS.replace(">dart<", ">FCL<")
    moving = joint("<axis_order>XYZ</axis_order>", "euler")
    read = reads(world(skeleton(body() + moving), physics=physics))
    read.expect("SK028.case", "warning", says="FCL")
    read.expect("SK028.case", "warning", says="XYZ")
    assert (read.world.collision_detector, read.joint().order) == ("fcl", "xyz")


_SPOTS = {
    "skel": skel(
        '<extra/><world name="w"><physics><gravity>0 0 0</gravity></physics>' + skeleton(body() + joint()) + "</world>"
    ),
    "world": world("<extra/>" + skeleton(body() + joint())),
    "physics": world(skeleton(body() + joint()), physics=PHYSICS + "<extra/>"),
    "skeleton": world(skeleton("<extra/>" + body() + joint())),
    "body": one_body("<extra/>"),
    "inertia": one_body("<inertia><mass>1</mass><extra/></inertia>"),
    "box": one_shape("<box><size>1 1 1</size><extra/></box>"),
    "collision_shape": one_shape("<box><size>1 1 1</size></box>", beside="<extra/>"),
    "joint": one_body(joint_inner="<extra/>"),
    "axis": one_body(joint_inner="<axis><xyz>1 0 0</xyz><extra/></axis>", kind="revolute"),
    "dynamics": one_body(joint_inner="<axis><xyz>1 0 0</xyz><dynamics><extra/></dynamics></axis>", kind="revolute"),
    "limit": one_body(joint_inner="<axis><xyz>1 0 0</xyz><limit><extra/></limit></axis>", kind="revolute"),
    "dof": one_body(joint_inner='<dof local_index="0"><extra/></dof>'),
}


@item(18)
@pytest.mark.parametrize("parent", _SPOTS)
def test_unknown_elements_at_every_level(reads: Reads, parent: str) -> None:
    read = reads(_SPOTS[parent])
    read.ignore("SK055")
    read.expect("SK010", "warning", says=f"<extra> in <{parent}>")


@item(18)
@pytest.mark.parametrize(
    "tag", ["skel", "world", "physics", "time_step", "skeleton", "body", "inertia", "mass", "joint", "parent"]
)
def test_unknown_attributes_at_every_level(reads: Reads, tag: str) -> None:
    document = one_body("<inertia><mass>1</mass></inertia>").replace(f"<{tag}", f'<{tag} hue="red"', 1)
    read = reads(document)
    read.ignore("SK055")
    read.expect("SK011", "warning", says=f"'hue' on <{tag}>")


@item(18)
def test_unknown_names_get_suggestions(reads: Reads) -> None:
    read = reads(one_body("<inertai><mass>1</mass></inertai>"))
    assert read.expect("SK010").hint == "did you mean 'inertia'?"
    assert read.expect("SK055").note == "found by reading <inertai> in line 1 as <inertia>"


@item(18)
def test_prefixed_names_are_extensions(reads: Reads) -> None:
    document = one_body("<my:note/>").replace("<skel", '<skel xmlns:my="urn:x" my:by="me"', 1)
    read = reads(document)
    read.expect("SK010.prefixed", "info", says="<my:note>")
    read.expect("SK011.prefixed", "info", says="my:by")


@item(18)
def test_a_default_namespace_has_no_effect(reads: Reads) -> None:
    read = reads(one_body().replace("<skel", '<skel xmlns="http://example.org/skel"', 1))
    assert read.body().name == "b"


@item(18)
def test_names_are_case_sensitive(reads: Reads) -> None:
    read = reads(world(skeleton(body("<Gravity>0</Gravity>") + joint())))
    assert read.expect("SK010").hint == "did you mean 'gravity'?"
    assert read.body().gravity is True


@item(19)
def test_the_first_of_duplicate_elements_is_used(reads: Reads) -> None:
    read = reads(one_body("<gravity>0</gravity><gravity>1</gravity>"))
    read.expect("SK012", "warning", path="skeleton[s]/body[b]/gravity[2]")
    assert read.body().gravity is False


@item(19)
def test_a_duplicate_container_is_not_checked(reads: Reads) -> None:
    twice = "<inertia><mass>2</mass></inertia><inertia><mass>x</mass><odd/></inertia>"
    read = reads(one_body(twice))
    read.expect("SK012", "warning", says="inertia")
    read.expect("SK055")
    assert read.body().mass == 2.0


def test_an_element_inside_of_a_value(reads: Reads) -> None:
    read = reads(one_body("<transformation>1 2 3 0 0 0<b/></transformation>"))
    read.expect("SK010", says="<b> in <transformation>")
    assert read.body().pose.position == (1.0, 2.0, 3.0)


def test_a_no_break_space_does_not_separate(reads: Reads) -> None:
    read = reads(gravity("0\u00a00 0"))
    read.expect("SK023", "error")


def test_non_finite_components_are_found_one_by_one(reads: Reads) -> None:
    read = reads(gravity("nan 0 inf"))
    read.expect("SK026", says="nan")
    read.expect("SK026", says="inf")
    assert all(map(math.isfinite, read.world.gravity))
