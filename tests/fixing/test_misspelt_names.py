"""All problems of a file are reported at once, including those that misspelt names hide."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from msgspec import Struct

import exoskel
from exoskel.diagnostics import Diagnostic, KnownNames, Severity
from exoskel.formats import registry
from exoskel.formats.fixer import apply_fixes
from exoskel.source.document import Document
from exoskel.source.file_lookup import sample_directory
from exoskel.source.splice import Patch
from exoskel.source.vocabulary import Element
from tests.support.xml import INERTIA, body, joint, one_body, one_shape, skeleton, world


def problems(text: str | bytes) -> list[Diagnostic]:
    return [d for d in exoskel.load(text).diagnostics if d.severity is not Severity.INFO]


def fixed(text: str | bytes) -> bytes:
    return apply_fixes(exoskel.load(text), exoskel.load).data


def test_problems_in_a_misspelt_element_are_reported_with_it() -> None:
    outer, inner, value = (
        d for d in problems(one_body("<inerta><mas>2q</mas></inerta>")) if d.code in ("SK010", "SK023")
    )
    assert (outer.note, outer.assumed) == ("", False)
    assert inner.note == "found by reading <inerta> in line 1 as <inertia>"
    assert value.note == "found by reading <mas> in line 1 as <mass>" and value.assumed
    assert value.path.endswith("body[b]/inerta/mas") and "2q" in value.excerpt


def test_a_problem_that_follows_from_a_misspelt_name_is_marked() -> None:
    axis = "<axs><xyz>0 0 2</xyz></axs>"
    found = {d.key: d for d in problems(one_body(INERTIA, axis, kind="revolute"))}
    assert found["SK077.length"].note == "found by reading <axs> in line 1 as <axis>"
    (missing,) = [d for d in found.values() if d.note.startswith("follows")]
    assert missing.code == "SK077" and missing.note == "follows from <axs> in line 1"
    assert missing.as_dict()["note"] == missing.note


def test_notes_that_a_misspelt_name_hides_are_reported_at_their_element() -> None:
    text = (
        '<skel version="1.0"><world name="w"><skeleton name="s"><body name="other">\n<inertia><mass>1</mass></inertia>\n'
        '</body><body name="b">\n<inertia><mass>1</mass><ofset>0 0.5 0</ofset></inertia>\n<collision_shape><geometry><box>'
        "<size>1 1 1</size></box></geometry></collision_shape></body></skeleton></world></skel>"
    )
    (note,) = [d for d in exoskel.load(text).diagnostics if d.key == "SK054.centre"]
    assert (note.line, note.severity, note.assumed) == (4, Severity.INFO, True)
    assert note.path.endswith("body[b]/inertia") and note.note == "found by reading <ofset> in line 4 as <offset>"


@pytest.mark.parametrize(
    ("text", "repaired"),
    [
        (one_shape("<bxo><size>1 q 1</size></bxo>"), b"<box><size>1 q 1</size></box>"),
        (one_shape("<boxx><size>1 1 1</size></boxx>"), b"<box><size>1 1 1</size></box>"),
        (one_body("<inertia><mass>1</mass><ofset>0 0</ofset></inertia>"), b"<offset>0 0</offset>"),
        (one_body(INERTIA, "<axs><xyz>0 0 q</xyz></axs>", kind="revolute"), b"<axis><xyz>0 0 q</xyz></axis>"),
        (
            '<xode version="1.0r23"><world><space><geom><bxo sizex="1" sizey="q" sizez="1"/></geom></space></world></xode>',
            b'<box sizex="1" sizey="q" sizez="1"/>',
        ),
        (
            '<sdf version="1.9"><model name="m"><lnk name="a"><inertial><mass>q</mass></inertial></lnk></model></sdf>',
            b'<link name="a"><inertial><mass>q</mass></inertial></link>',
        ),
    ],
)
def test_a_misspelt_element_is_repaired_whatever_is_inside(text: str, repaired: bytes) -> None:
    assert repaired in fixed(text)


def test_an_element_that_would_be_repeated_is_not_read_as_its_neighbour() -> None:
    text = one_body("<inertia><mass>1</mass><mas>2q</mas></inertia>")
    assert [d.code for d in problems(text) if d.note] == []
    assert fixed(text) == text.encode()


def test_an_attribute_that_would_be_repeated_is_not_read_as_its_neighbour() -> None:
    (found,) = problems(one_body(INERTIA, attributes=' nmae="x"'))
    assert found.code == "SK011" and "'name'" in found.hint


def test_two_elements_misspelt_alike_do_not_hide_each_other() -> None:
    first, second = ("<inerta><mass>q</mass></inerta>", "<inerta><mass>w</mass></inerta>")
    joints = joint(child="b") + joint(name="k", child="c")
    text = world(skeleton(body(first) + body(second, name="c") + joints))
    assert [d.place.token for d in problems(text) if d.code == "SK022"] == ["q", "w"]
    doubled = world(skeleton(body(first + second) + joint(child="b")))
    assert b"<inerta>" in fixed(doubled)  # one of them is too many


def test_the_scene_and_its_conversion_are_those_of_the_file_as_it_is() -> None:
    text = one_body(INERTIA, "<axs><xyz>0 0 q</xyz></axs>", kind="revolute")
    scene = exoskel.load(text)
    assert scene.world.models[0].joints[0].axes == ((0.0, 0.0, 1.0),)
    report = exoskel.convert(scene, None, to="xode")
    assert {item.fate.value for item in report.items if "/axs" in item.path} == {"dropped"}


# --- planted faults ------------------------------------------------------------------------------------

SAMPLES = sorted(
    file
    for file in [*(sample_directory() / "skel").glob("*.skel"), *(sample_directory() / "xode").glob("*.xode")]
    if file.stat().st_size < 30_000
)


class Fault(Struct):
    """A fault that was planted at an element, and the original tag of a misspelt one."""

    node: int
    tag: str = ""


def vocabulary_rows(document: Document, root: Element) -> dict[int, Element]:
    """The rows of the elements of a valid document, by number, except for extensions."""
    outline = document.outline
    rows = {0: root}
    for node in range(1, len(outline.tags)):
        above = rows.get(outline.parents[node])
        row = above.children.get(outline.tags[node]) if above is not None and not above.opaque else None
        if row is not None:
            rows[node] = row
    return rows


def plant(data: bytes, choose: random.Random, count: int) -> tuple[bytes, list[Fault]]:
    """Plant faults at different elements: misspelt tags, broken numbers and references to nothing."""
    document = exoskel.load(data).documents[0]
    assert isinstance(document, Document)
    rows = vocabulary_rows(document, registry.detect(data, "").vocabulary().root)
    patch, faults = Patch(document), list[Fault]()
    nodes = sorted(rows.keys() - {0})
    choose.shuffle(nodes)
    for node in nodes:
        plants = [misspell, break_number, break_reference]
        choose.shuffle(plants)
        fault = next((found for one in plants if (found := one(patch, rows, node)) is not None), None)
        faults += [fault] if fault is not None else []
        if len(faults) == count:
            break
    return patch.apply(), faults


def misspell(patch: Patch, rows: dict[int, Element], node: int) -> Fault | None:
    tag = rows[node].name
    word = tag[0] + tag[2] + tag[1] + tag[3:] if len(tag) > 2 else tag
    around = rows[patch.document.outline.parents[node]].children
    meant = KnownNames(around, are_terms=True).suggestion(word)
    if word in around or (meant.word, meant.sure) != (tag, True) or rows[node].alias_of:
        return None
    patch.rename(node, word)
    return Fault(node, tag)


def break_number(patch: Patch, rows: dict[int, Element], node: int) -> Fault | None:
    row, document = rows[node], patch.document
    if row.children or row.kind is None or "number" not in row.kind.meaning:
        return None
    patch.set_text(node, document.value_text(node).strip() + "x")
    return Fault(node)


def break_reference(patch: Patch, rows: dict[int, Element], node: int) -> Fault | None:
    if rows[node].name not in ("child", "parent") or patch.document.value_text(node).strip() == "world":
        return None
    patch.set_text(node, "nobody_at_all")
    return Fault(node)


@pytest.mark.parametrize("file", SAMPLES, ids=lambda file: file.name)
def test_all_planted_faults_are_reported_at_once_and_names_are_repaired_in_one_round(file: Path) -> None:
    for seed in range(3):
        data, faults = plant(file.read_bytes(), random.Random(f"{file.name} {seed}"), 2 + 2 * seed)
        document = exoskel.load(data).documents[0]
        assert isinstance(document, Document)
        reported = {document.element(d.place) for d in problems(data)}
        assert {fault.node for fault in faults} <= reported, data.decode()
        once = fixed(data)
        assert fixed(once) == once
        tags = exoskel.load(once).documents[0].outline.tags  # type: ignore[attr-defined]
        assert [(fault, tags[fault.node]) for fault in faults if fault.tag and tags[fault.node] != fault.tag] == []


TWO_NAMES = """<skel version="1.0"><world name="w"><skeleton name="s">
<body name="b"><transfromation>0 0 1 0 0 0</transfromation><inertia><mass>1</mass></inertia></body>
<joint type="revolut" name="j"><parent>world</parent><child>b</child><axis><xyz>0 0 1</xyz></axis></joint>
</skeleton></world></skel>"""


def test_a_problem_that_follows_from_one_of_two_misspelt_names_shows_the_right_one() -> None:
    (found,) = [d for d in exoskel.load(TWO_NAMES).diagnostics if d.code == "SK074"]
    assert found.note == "follows from 'revolut' in line 3"


def test_a_problem_that_follows_from_two_names_together_shows_one_of_them() -> None:
    text = TWO_NAMES.replace("<child>b</child>", "<child>arn</child>").replace('body name="b"', 'body name="arm"')
    (found,) = [d for d in exoskel.load(text).diagnostics if d.code == "SK074"]
    assert found.note == "follows from 'revolut' in line 3"


URDF_NAMES = """<robot name="r"><link name="base"/><link name="lower_arm"><visula><geometry><box size="1 1 1"/></geometry></visula>
<inertial><mas value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<link name="hand"/><joint name="wrist" type="fixed"><parent link="lower_arm"/><child link="hand"/></joint>
<joint name="elbow" type="revolut"><parent link="base"/><child link="lower_amr"/><axis xyzz="0 0 1"/>
<limit lower="0" uper="1" effort="1" velocity="1"/></joint></robot>"""
SDF_NAMES = """<sdf version="1.9"><world name="w"><model name="m"><link name="base"><inertail><mass>1</mass></inertail></link>
<link name="lower_arm"><colision name="c"><geometry><bxo><size>1 1 1</size></bxo></geometry></colision></link>
<joint name="elbow" type="revolut"><parent>base</parent><child>lower_amr</child><axis><xyz>0 0 1</xyz>
<limt><lower>0</lower></limt></axis></joint></model></world></sdf>"""
MJCF_NAMES = """<mujoco model="m"><worldbody><body nam="arm"><joint name="elbow" type="hige" axs="0 0 1"/>
<geom typ="box" size="1 1 1"/><bdy name="hand"><gem size="1"/></bdy><geom type="mesh" mesh="tetrahedro"/></body></worldbody>
<asset><mesh name="tetrahedron" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>
<actuator><motor joint="elbwo"/></actuator></mujoco>"""
MEANT = {
    "visula": "visual",
    "mas ": "mass ",
    'revolut"': 'revolute"',
    "lower_amr": "lower_arm",
    "xyzz": "xyz",
    "uper": "upper",
}
MEANT |= {
    "inertail": "inertial",
    "colision": "collision",
    "bxo": "box",
    "limt": "limit",
    "nam=": "name=",
    "hige": "hinge",
}
MEANT |= {
    "axs": "axis",
    "typ=": "type=",
    "bdy": "body",
    "gem ": "geom ",
    'tetrahedro"': 'tetrahedron"',
    "elbwo": "elbow",
}


@pytest.mark.parametrize("text", [URDF_NAMES, SDF_NAMES, MJCF_NAMES], ids=["urdf", "sdf", "mjcf"])
def test_misspelt_elements_attributes_words_and_references_of_other_formats_are_repaired(text: str) -> None:
    meant = text
    for wrong, right in MEANT.items():
        meant = meant.replace(wrong, right)
    assert not [d for d in exoskel.load(meant).diagnostics if d.severity is Severity.ERROR]
    found = exoskel.load(text).diagnostics
    assert [d for d in found if d.hint.startswith("did you mean")]
    assert fixed(text.encode()).decode() == meant


def test_all_misspelt_names_of_mjcf_are_reported_at_once() -> None:
    found = {d.hint for d in exoskel.load(MJCF_NAMES).diagnostics if d.key.startswith("MJ106")}
    words = ("name", "hinge", "axis", "type", "body", "geom")
    assert {f"did you mean '{word}'?" for word in words} <= found


def test_elements_of_other_programs_in_urdf_are_not_renamed() -> None:
    text = '<robot name="r"><link name="a"/><gazebo_plugin/><controllers/></robot>'
    assert fixed(text.encode()).decode() == text
