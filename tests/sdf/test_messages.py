"""Every message of the reader, with a document that causes it; reading never raises."""

from __future__ import annotations

from pathlib import Path

import pytest

from exoskel.formats.sdf.codes import CATALOGUE
from exoskel.source.limits import Limits
from tests.sdf.support import link, load_text
from tests.support.findings import Read

A, B = link("a"), link("b")


def model(inside: str, attributes: str = "", version: str = "1.11") -> str:
    return f'<sdf version="{version}"><model name="m" {attributes}>{inside}</model></sdf>'


def world(inside: str) -> str:
    return f'<sdf version="1.11"><world name="w">{inside}</world></sdf>'


def joint(inside: str, kind: str = "revolute", ends: str = "<parent>a</parent><child>b</child>") -> str:
    return model(f'{A}{B}<joint name="j" type="{kind}">{ends}{inside}</joint>')


def shape(inside: str, tag: str = "collision", beside: str = "") -> str:
    return model(link("a", f'<{tag} name="s"><geometry>{inside}</geometry>{beside}</{tag}>'))


def painted(image: str) -> str:
    return f"<material><pbr><metal><albedo_map>{image}</albedo_map></metal></pbr></material>"


BOX = "<box><size>1 1 1</size></box>"
BITS = (
    f"<collision name='c'><geometry>{BOX}</geometry><surface><contact><collide_bitmask>{{}}</collide_bitmask></contact>"
    "</surface></collision>"
)
SKIN = "<geometry><box><size>1 1 1</size><frags>3 3 3</frags></box></geometry>"
AXIS = "<axis><xyz>0 0 1</xyz></axis>"
MODEL = "<model name='x'>" + A + "</model>"

CASES: dict[str, str] = {
    "SD001": "<sdf><model></sdf>",
    "SD001.kind": "{}",
    "SD002": "<scene/>",
    "SD002.format": "<robot/>",
    "SD003": '<sdf version="1.6"/>',
    "SD004.entity": f'<!DOCTYPE sdf [<!ENTITY x "y">]>{model(A)}',
    "SD004.doctype": f"<!DOCTYPE sdf>{model(A)}",
    "SD005.absent": f"<sdf>{MODEL}</sdf>",
    "SD005.other": f'<sdf version="2.0">{MODEL}</sdf>',
    "SD006.beside": f'<sdf version="1.6"><world name="w"/>{MODEL}</sdf>',
    "SD006.several": f'<sdf version="1.6">{MODEL}<model name="y">{A}</model></sdf>',
    "SD010": model(A + "<limk/>"),
    "SD010.misplaced": model(A + "<mass>1</mass>"),
    "SD010.prefixed": model(A + '<d:mass xmlns:d="urn:d">1</d:mass>'),
    "SD011": model(A, "colour='red'"),
    "SD011.prefixed": model(A, "xmlns:d='urn:d' d:colour='red'"),
    "SD012": model(A + "<plugin name='p' filename='f'/>"),
    "SD012.physics": model(link("a", "<kinematic>true</kinematic>")),
    "SD012.camera": model(link("a", "<sensor name='s' type='camera'><camera/></sensor>")),
    "SD012.sensor": model(link("a", "<sensor name='s' type='imu'/>")),
    "SD012.noise": model(
        link(
            "a", "<sensor name='s' type='imu'><imu><angular_velocity><x><noise/></x></angular_velocity></imu></sensor>"
        )
    ),
    "SD013.stray": model(A + "words"),
    "SD013.split": model(A + "<static>fal<!-- -->se</static>"),
    "SD014": model(A + "<static>0</static><static>1</static>"),
    "SD015": shape("<sphere/>"),
    "SD015.empty": model(A + "<static/>"),
    "SD016": f'<sdf version="1.6"><model>{A}</model></sdf>',
    "SD016.blank": f'<sdf version="1.6"><model name=" ">{A}</model></sdf>',
    "SD020": shape("<sphere><radius>one</radius></sphere>"),
    "SD021": shape("<box><size>1 2</size></box>"),
    "SD022": shape("<sphere><radius>nan</radius></sphere>"),
    "SD023": model(A + "<static>perhaps</static>"),
    "SD024": joint(AXIS, kind="revolut"),
    "SD025": shape("<sphere><radius>0</radius></sphere>"),
    "SD025.step": world("<physics><max_step_size>0</max_step_size></physics>"),
    "SD025.scale": shape("<mesh><uri>m.obj</uri><scale>1 0 1</scale></mesh>"),
    "SD026": model(link("a", '<pose rotation_format="quat_xyzw">0 0 0 0 0 0 0</pose>')),
    "SD030.repeated": model(A + A),
    "SD030.reserved": model(link("__a__")),
    "SD031": model(""),
    "SD032": model(A + f"<model name='n'><static>1</static>{A}</model>"),
    "SD033": world(f"<model name='x'><self_collide>1</self_collide>{A}{B}</model><model name='y'>{A}{B}</model>"),
    "SD034": model(f"<model name='n'>{A}" * 202 + "</model>" * 202),
    "SD040.missing": world("<include><uri>model://nowhere</uri></include>"),
    "SD040.outside": world("<include><uri>../x.sdf</uri></include>"),
    "SD040.remote": world("<include><uri>https://example.org/model</uri></include>"),
    "SD040.circle": world("<include><uri>circle.sdf</uri></include>"),
    "SD040.config": world("<include><uri>malformed</uri></include>"),
    "SD040.empty": world("<include><uri>empty.sdf</uri></include>"),
    "SD040.several": world("<include><uri>several.sdf</uri></include>"),
    "SD040.deep": world("<include><uri>deep0.sdf</uri></include>"),
    "SD040.many": world("<include><uri>twice0.sdf</uri></include>"),
    "SD050.unknown": model(link("a", '<pose relative_to="bb">0 0 0 0 0 0</pose>')),
    "SD050.circle": model(
        link("a", '<pose relative_to="b">0 0 0 0 0 0</pose>') + link("b", '<pose relative_to="a">0 0 0 0 0 0</pose>')
    ),
    "SD050.attached": model(
        f"{A}{B}<frame name='f' attached_to='g'/><frame name='g' attached_to='f'/>"
        f"<joint name='j' type='fixed'><parent>a</parent><child>f</child></joint>"
    ),
    "SD050.canonical": model(A, "canonical_link='c'"),
    "SD060.unknown": joint(AXIS, ends="<parent>a</parent><child>c</child>"),
    "SD060.self": joint(AXIS, ends="<parent>a</parent><child>a</child>"),
    "SD060.missing": joint(AXIS, ends="<parent>a</parent>"),
    "SD060.reversed": joint(AXIS, ends="<parent>a</parent><child>world</child>"),
    "SD061.gearbox": joint(AXIS, kind="gearbox"),
    "SD067": model(
        A
        + B
        + link("c")
        + "".join(
            f'<joint name="{child}" type="revolute"><parent>a</parent><child>{child}</child>{AXIS}</joint>'
            for child in "bc"
        )
        + '<joint name="g" type="gearbox"><parent>b</parent><child>c</child><gearbox_ratio>3</gearbox_ratio>'
        + f"<gearbox_reference_body>a</gearbox_reference_body>{AXIS}<axis2><xyz>0 0 1</xyz></axis2></joint>"
    ),
    "SD061.world": world(f"{MODEL}<joint name='j' type='fixed'><parent>world</parent><child>x</child></joint>"),
    "SD061.type": joint(AXIS, kind="revolut"),
    "SD062.zero": joint("<axis><xyz>0 0 0</xyz></axis>"),
    "SD062.default": joint(""),
    "SD063": model(
        f"{A}{B}<joint name='j' type='ball'><parent>a</parent><child>b</child></joint>"
        "<joint name='k' type='ball'><parent>b</parent><child>a</child></joint>"
    ),
    "SD064.old": joint(AXIS + "<thread_pitch>-10</thread_pitch>", kind="screw"),
    "SD064.zero": joint(AXIS + "<thread_pitch>0</thread_pitch>", kind="screw"),
    "SD064.default": joint(AXIS, kind="screw"),
    "SD064.both": joint(
        AXIS + "<thread_pitch>1</thread_pitch><screw_thread_pitch>1</screw_thread_pitch>", kind="screw"
    ),
    "SD065.unknown": joint("<axis><xyz>0 0 1</xyz><mimic joint='k'/></axis>"),
    "SD065.axis": joint("<axis><mimic joint='j' axis='axis2'/></axis>"),
    "SD066": joint("<axis><limit><lower>1</lower><upper>0</upper></limit></axis>"),
    "SD070.default": model("<link name='a'/>"),
    "SD070.auto": model("<link name='a'><inertial auto='true'/></link>"),
    "SD085": joint("<sensor name='s' type='force_torque'/>", "fixed"),
    "SD083": model(
        "<link name='a'><collision name='c'><geometry><sphere><radius>1</radius></sphere></geometry><surface><friction>"
        "<ode><mu>0.4</mu><mu2>0.1</mu2></ode></friction></surface></collision></link>"
    ),
    "SD083.negative": model(
        "<link name='a'><collision name='c'><geometry><sphere><radius>1</radius></sphere></geometry><surface><friction>"
        "<ode><mu>-0.5</mu></ode></friction></surface></collision></link>"
    ),
    "SD070.mass": model("<link name='a'><inertial><mass>-1</mass></inertial></link>"),
    "SD070.moment": model("<link name='a'><inertial><inertia><ixx>9</ixx></inertia></inertial></link>"),
    "SD070.added": model("<link name='a'><inertial><fluid_added_mass/></inertial></link>"),
    "SD080.none": shape(""),
    "SD080.several": shape("<sphere><radius>1</radius></sphere><box><size>1 1 1</size></box>"),
    "SD080.unknown": shape("<heightmap/>"),
    "SD080.polyline": shape("<polyline><point>0 0</point><point>1 0</point><height>1</height></polyline>"),
    "SD080.height": shape(
        "<polyline><point>0 0</point><point>1 0</point><point>0 1</point><height>1</height></polyline>"
        "<polyline><point>5 0</point><point>6 0</point><point>5 1</point><height>2</height></polyline>"
    ),
    "SD080.normal": shape("<plane><normal>0 0 0</normal></plane>"),
    "SD081.missing": shape("<mesh><uri>none.obj</uri></mesh>"),
    "SD081.unreadable": shape("<mesh><uri>bad.obj</uri></mesh>"),
    "SD086": shape(BOX, "visual", painted("bad.obj")),
    "SD086.missing": shape(BOX, "visual", painted("none.png")),
    "SD081.submesh": shape("<mesh><uri>none.obj</uri><submesh><name>x</name></submesh></mesh>"),
    "SD084.mass": model(link("a", f"<soft_shape><total_mass>-1</total_mass>{SKIN}</soft_shape>")),
    "SD084.count": model(
        link("a", f"<soft_shape><total_mass>1</total_mass>{SKIN.replace('3 3 3', '3 2 3')}</soft_shape>")
    ),
    "SD082": shape("<sphere><radius>1</radius></sphere>", beside="<surface><soft_contact/></surface>"),
    "SD082.motion": shape(BOX, beside="<surface><friction><ode><slip1>0.1</slip1></ode></friction></surface>"),
    "SD082.bitmask": world("".join(f"<model name='m{bits}'>{link('a', BITS.format(bits))}</model>" for bits in (1, 2))),
    "SD001.limit": model(A),
}

OPTIONS = {
    "SD001.limit": {"limits": Limits(elements=2)},
    "SD040.outside": {"confine": True},
    "SD034": {"limits": Limits(depth=300)},
    "SD040.many": {"limits": Limits(elements=1000)},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "circle.sdf").write_text(model(A + "<include><uri>circle.sdf</uri></include>"))
    (tmp_path / "empty.sdf").write_text('<sdf version="1.6"><light name="l"/></sdf>')
    (tmp_path / "malformed").mkdir()
    (tmp_path / "malformed" / "model.config").write_text("<model><x:a/></model>\n<sdf>robot.sdf</sdf>")
    (tmp_path / "malformed" / "model.sdf").write_text(model(A))
    (tmp_path / "several.sdf").write_text(f'<sdf version="1.6">{MODEL}{MODEL}</sdf>')
    (tmp_path / "bad.obj").write_text("f 1 2 3\n")
    for number in range(60):
        inside = f"{A}<include><uri>deep{number + 1}.sdf</uri><name>n</name></include>"
        (tmp_path / f"deep{number}.sdf").write_text(model(inside))
    for number in range(40):
        inside = A + "".join(f"<include><uri>twice{number + 1}.sdf</uri><name>n{i}</name></include>" for i in range(2))
        (tmp_path / f"twice{number}.sdf").write_text(model(inside))
    return tmp_path


@pytest.mark.parametrize("key", CASES)
def test_a_diagnostic_has_its_line(key: str, folder: Path) -> None:
    read = Read(load_text("\n\n" + CASES[key] if key != "SD001.kind" else CASES[key], folder, **OPTIONS.get(key, {})))
    finding = read.expect(key)
    assert finding.code == key.partition(".")[0]
    if key not in ("SD001.kind", "SD001.limit", "SD040.circle", "SD040.deep", "SD040.many"):
        assert finding.line == 3
    assert "{" not in finding.message + finding.hint


XACRO = {key for key in CATALOGUE.messages if key.partition(".")[0] == "SD007"}
"""Tested in tests/urdf/test_xacro_places.py."""


def test_every_message_has_a_test_case() -> None:
    of_reader = {key for key in CATALOGUE.messages if key < "SD1"}
    assert {*CASES, *XACRO} == of_reader


@pytest.mark.parametrize("key", CASES)
def test_strict_reading_does_not_raise(key: str, folder: Path) -> None:
    load_text(CASES[key], folder, strict=True, **OPTIONS.get(key, {}))


def test_embedded_data_is_not_applied_to_sdf() -> None:
    text = model(A + '<e:carry xmlns:e="urn:exoskel:carried" field="static" was="0">true</e:carry>')
    read = Read(load_text(text))
    assert read.left == []
    assert not read.model.static


@pytest.mark.parametrize("version", ["1.6", "1.7", "1.8", "1.9", "1.10", "1.11", "1.12"])
def test_supported_versions_have_no_diagnostics(version: str) -> None:
    Read(load_text(model(A, version=version))).assert_clean()
