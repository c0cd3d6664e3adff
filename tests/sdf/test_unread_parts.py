"""What no field of a scene has, by the vocabulary: it survives SDF to SDF, and an edited scene that is saved."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from lxml import etree
from msgspec import structs

import exoskel
from exoskel import Fate, Report
from exoskel.formats.sdf.vocabulary import SDF
from exoskel.source.vocabulary import Element, SceneField

_GEOMETRIES = {
    "box": "<size>1 1 1</size>",
    "sphere": "<radius>1</radius>",
    "cylinder": "<radius>1</radius><length>1</length>",
    "capsule": "<radius>1</radius><length>1</length>",
    "ellipsoid": "<radii>1 2 3</radii>",
    "cone": "<radius>1</radius><length>1</length>",
    "plane": "<normal>0 0 1</normal>",
    "mesh": "<uri>box.obj</uri>",
    "polyline": "<point>0 0</point><point>1 0</point><point>0 1</point><height>1</height>",
}
_COLLISIONS = "".join(
    f'<collision name="{kind}"><geometry><{kind}>{inside}</{kind}></geometry></collision>'
    for kind, inside in _GEOMETRIES.items()
)
_MOMENT = "<ixx>1</ixx><iyy>1</iyy><izz>1</izz>"
_BASE = f"""<sdf version="1.11" xmlns:foo="http://example.org/foreign"><world name="w">
<physics name="p" type="ode"><max_step_size>0.002</max_step_size></physics><gravity>0 0 -9</gravity>
<frame name="f"><pose>0 0 1 0 0 0</pose></frame>
<model name="m"><pose>0 0 1 0 0 0</pose>
  <link name="a"><pose>0 0 2 0 0 0</pose><inertial><pose>0 0 1 0 0 0</pose><mass>1</mass><inertia>{_MOMENT}</inertia></inertial>
    {_COLLISIONS}
    <visual name="v"><pose>1 0 0 0 0 0</pose><geometry><box><size>1 1 1</size></box></geometry>
      <material><diffuse>1 0 0 1</diffuse></material></visual></link>
  <link name="b"><inertial><mass>2</mass></inertial></link>
  <frame name="g"><pose>0 0 1 0 0 0</pose></frame>
  <joint name="j" type="revolute"><parent>a</parent><child>b</child><pose>1 0 0 0 0 0</pose>
    <axis><xyz>0 0 1</xyz><dynamics><damping>1</damping></dynamics><limit><lower>-1</lower><upper>1</upper></limit>
      <mimic joint="k"><multiplier>2</multiplier></mimic></axis>
  </joint>
  <joint name="k" type="revolute"><parent>b</parent><child>d</child><axis><xyz>1 0 0</xyz></axis></joint>
  <link name="d"><inertial><mass>2</mass></inertial></link>
  <joint name="u" type="universal"><parent>a</parent><child>c</child><axis><xyz>1 0 0</xyz></axis>
    <axis2><xyz>0 1 0</xyz><limit><effort>3</effort></limit></axis2></joint>
  <link name="c"><inertial><mass>2</mass></inertial></link>
</model></world></sdf>"""
_MESH = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"
_FOREIGN = "http://example.org/foreign"
_OTHER_KINDS = ("light", "sensor", "include")
"""Elements with tests of their own."""
_CHANGED = ("polyline", "soft_shape", "axis2/mimic")
"""Elements that are written as others, or not for all readers: their content is reported."""


class Part(NamedTuple):
    """An element or attribute that no scene has, and the path of the element that it is put in."""

    path: str
    name: str
    text: str = ""
    is_attribute: bool = False


def unread_rows(path: str, row: Element, inherited: SceneField | None, seen: set[int]) -> Iterator[Part]:
    """The parts in an element of the vocabulary that no scene has."""
    seen.add(id(row))
    yield Part(path, "foo:mark", "5", is_attribute=True)
    for name, attribute in row.attributes.items():
        if isinstance(attribute.field, SceneField) and attribute.field.unused:
            yield Part(path, name, "other", is_attribute=True)
    if row.opaque or row.is_leaf:
        return
    yield Part(path, "foo:extra", "5")
    for name, child in row.children.items():
        field = child.field or inherited
        if name in _OTHER_KINDS or id(child) in seen:
            continue
        if child.occurrence_code or (field is not None and field.unused):
            yield Part(path, name, "0.25" if child.is_leaf else "")
        else:
            yield from unread_rows(f"{path}/{name}", child, child.content or inherited, seen)


PARTS = [
    Part("sdf", "foo:mark", "5", is_attribute=True),
    Part("sdf", "foo:extra", "5"),
    *unread_rows("sdf/world", SDF.root.children["world"], None, set()),
]


def _value_of(path: str) -> str | None:
    """A value for an element without children."""
    row = SDF.root
    for tag in path.split("/")[1:]:
        row = row.children[tag]
    return row.default or {"vector": "0 0 1", "pair": "2 3"}.get(row.kind.name, "0.5") if row.kind else None


def _put(root: etree._Element, part: Part) -> None:
    """Put a part in the first element with its path, which is created if there is none."""
    at = root
    for tag in part.path.split("/")[1:]:
        found = at.find(tag)
        if found is None and tag in _GEOMETRIES and at.tag == "geometry":
            found = root.find(f".//collision[@name='{tag}']/geometry/{tag}")
        if found is None and at.tag == "joint" and tag == "axis2":
            found = root.find(".//joint[@name='u']/axis2")
        if found is None:
            found = etree.SubElement(at, tag)
            found.text = _value_of(part.path)
        at = found
    name = part.name.replace("foo:", f"{{{_FOREIGN}}}")
    if part.is_attribute:
        at.set(name, part.text)
        return
    made = etree.SubElement(at, name, nsmap={"foo": _FOREIGN} if ":" in part.name else None)
    made.text = part.text or None
    if not part.text:
        etree.SubElement(made, "inside").text = "4.5"


def _document(folder: Path) -> Path:
    """A document with all parts."""
    (folder / "box.obj").write_text(_MESH)
    root = etree.fromstring(_BASE)
    for part in PARTS:
        _put(root, part)
    out = folder / "source.sdf"
    out.write_bytes(etree.tostring(root))
    return out


def _count(data: bytes, part: Part) -> int:
    """How often an element at the path of a part has it."""
    root = etree.fromstring(data)
    name = part.name.replace("foo:", f"{{{_FOREIGN}}}")
    around = [root] if "/" not in part.path else root.findall(part.path.partition("/")[2])
    if part.is_attribute:
        return sum(one.get(name) == part.text for one in around)
    found = [inner for one in around for inner in one.findall(name)]
    return sum(
        (one.text or "").strip() == part.text and (bool(part.text) or one.find("inside") is not None) for one in found
    )


def _lost(data: bytes, source: bytes) -> list[Part]:
    """The parts that a document has less often than its source."""
    return [one for one in PARTS if _count(data, one) < _count(source, one)]


def _is_reported(part: Part, report: Report) -> bool:
    """Whether the report states why a part is not in the output."""
    path = part.path.partition("/")[2].replace("world/", "", 1)
    name = f"@{part.name}" if part.is_attribute else part.name
    found = [one for one in report.items if re.sub(r"\[[^]]*\]", "", one.path) == f"{path}/{name}".lstrip("/")]
    return bool(found) and any(one.fate is Fate.DROPPED and one.why for one in found)


def test_parts_that_no_scene_has_survive(tmp_path: Path) -> None:
    source = _document(tmp_path)
    assert len(PARTS) > 250
    assert {"mu2", "torsional", "real_time_factor", "submesh", "kinematic", "foo:extra"} <= {one.name for one in PARTS}
    report = exoskel.convert(source, tmp_path / "out.sdf")
    lost = _lost(report.data, source.read_bytes())
    assert [one for one in lost if not _is_reported(one, report)] == []
    assert [one for one in lost if not one.is_attribute and not any(tag in one.path for tag in _CHANGED)] == []
    again = exoskel.convert(tmp_path / "out.sdf", to="sdf")
    assert _lost(again.data, report.data) == []


def test_parts_that_no_scene_has_survive_an_edit(tmp_path: Path) -> None:
    source = _document(tmp_path)
    scene = exoskel.load(source)
    scene.world.gravity = (0.0, 0.0, -1.0)
    body = scene.world.models[0].bodies[0]
    body.mass = 3.0
    body.visuals[0].color = (0.0, 1.0, 0.0, 1.0)
    exoskel.save(scene, tmp_path / "edited.sdf")
    unedited = exoskel.convert(source, to="sdf").data
    lost = _lost((tmp_path / "edited.sdf").read_bytes(), unedited)
    assert [one.name for one in lost] == ["ambient"]  # it belongs to the old colour


HEIGHTMAP = "<geometry><heightmap><uri>hills.png</uri><size>9 9 1</size></heightmap></geometry>"
SETTINGS = f"""<sdf version="1.9"><world name="w">
  <physics name="fast" type="dart"><max_step_size>0.01</max_step_size><real_time_factor>0</real_time_factor></physics>
  <physics name="fine" default="1" type="ode"><max_step_size>0.001</max_step_size><ode><solver><iters>9</iters></solver></ode>
  </physics>
  <light name="sun" type="spot"><attenuation><range>7</range></attenuation>
    <spot><outer_angle>1</outer_angle><falloff>3</falloff></spot></light>
  <model name="m"><link name="a"><inertial><mass>1</mass></inertial>
    <collision name="hills">{HEIGHTMAP}</collision>
    <collision name="ball"><geometry><sphere><radius>1</radius></sphere></geometry>
      <surface><friction><ode><mu>0.5</mu><mu2>0.25</mu2></ode></friction>
        <contact><collide_bitmask>0x03</collide_bitmask></contact></surface></collision>
    <sensor name="eye" type="camera"><update_rate>12</update_rate>
      <camera><horizontal_fov>1</horizontal_fov><clip><near>0.3</near><far>9</far></clip></camera>
      <plugin name="p" filename="f"/></sensor>
    <sensor name="imu" type="imu"><update_rate>77</update_rate><topic>/imu</topic></sensor>
  </link><link name="b"><inertial><mass>1</mass></inertial></link>
  <joint name="gears" type="gearbox"><parent>a</parent><child>b</child><gearbox_ratio>3</gearbox_ratio></joint></model>
</world></sdf>"""
KEPT = (
    *("<max_step_size>0.01<", 'default="1"', "<iters>9<", "<range>7<", "<falloff>3<", "hills.png", "<mu2>0.25<"),
    *(
        "<collide_bitmask>0x03<",
        "<update_rate>12<",
        "<near>0.3<",
        'filename="f"',
        "<update_rate>77<",
        "/imu",
        "gearbox_ratio",
    ),
)


def test_edited_lights_sensors_and_shapes_keep_their_settings(tmp_path: Path) -> None:
    source = tmp_path / "source.sdf"
    source.write_text(SETTINGS)
    text = exoskel.convert(source, to="sdf").data.decode()
    assert [one for one in KEPT if one not in text] == []
    scene = exoskel.load(source)
    world = scene.world
    world.lights[0] = structs.replace(world.lights[0], diffuse=(1.0, 0.0, 0.0))
    world.cameras[0] = structs.replace(world.cameras[0], field_of_view=20.0)
    world.models[0].bodies[0].markers[0].offset = (0.0, 0.0, 1.0)
    world.time_step = 0.002
    exoskel.save(scene, tmp_path / "edited.sdf")
    text = (tmp_path / "edited.sdf").read_text()
    assert [one for one in KEPT if one not in text] == []
    assert "<max_step_size>0.002<" in text and "<diffuse>1 0 0 1<" in text


def test_settings_with_another_meaning_are_not_kept(tmp_path: Path) -> None:
    source = tmp_path / "source.sdf"
    source.write_text(
        SETTINGS.replace(
            "<mass>1</mass>", "<mass>1</mass><pose>0 0 0 0 0 1</pose><fluid_added_mass><xx>4</xx></fluid_added_mass>"
        )
    )
    report = exoskel.convert(source, to="sdf")
    assert b"fluid_added_mass" not in report.data  # it is in the axes of the inertial frame
    assert any(one.path.endswith("fluid_added_mass") and one.why for one in report.losses)
    scene = exoskel.load(source)
    shape = scene.world.models[0].bodies[0].collisions[0]
    shape.friction, shape.collidable = 0.75, False
    exoskel.save(scene, tmp_path / "edited.sdf")
    text = (tmp_path / "edited.sdf").read_text()
    assert "<mu2>0.75<" in text and "<collide_bitmask>0<" in text and "0x03" not in text


def test_joints_between_models_are_written_with_both_of_them() -> None:
    link = '<link name="l"><inertial><mass>1</mass></inertial></link>'
    models = f'<model name="a">{link}</model><model name="b">{link}</model>'
    joint = '<joint name="j" type="fixed"><parent>a::l</parent><child>b::l</child></joint>'
    scene = exoskel.load(f'<sdf version="1.9"><world name="w">{models}{joint}</world></sdf>'.encode(), format="sdf")
    report = exoskel.convert(scene, to="sdf")
    assert b"<parent>a::l</parent>" in report.data and b"<child>b::l</child>" in report.data
    scene.world.models.pop()
    report = exoskel.convert(scene, to="sdf")
    assert b"<joint" not in report.data
    assert any(one.path == "joint[j]" and one.why for one in report.losses)
