"""The fields that a document states follow from the rows of the vocabulary."""

from __future__ import annotations

import pytest

import exoskel
from exoskel.formats.sdf.vocabulary import SDF
from exoskel.formats.skel.vocabulary import SKEL
from exoskel.formats.urdf.vocabulary import URDF
from exoskel.formats.xode.vocabulary import XODE
from exoskel.scene.body import SoftBody
from exoskel.scene.item import Item
from exoskel.source.vocabulary import Element, Vocabulary

SKEL_TEXT = """<skel version="1.0"><world name="w"><physics><time_step>0.002</time_step></physics>
<skeleton name="s">
  <body name="a"><inertia><mass>2</mass><offset>0 0 1</offset></inertia>
    <visualization_shape><geometry><box><size>1 1 1</size></box></geometry></visualization_shape>
    <soft_shape><total_mass>1</total_mass><geometry><box><size>1 1 1</size><frags>3 3 3</frags></box></geometry><kv>5</kv>
    </soft_shape><marker name="m"><offset>0 0 2</offset></marker></body>
  <joint type="revolute" name="j"><parent>world</parent><child>a</child><axis><xyz>0 0 1</xyz></axis>
    <init_pos>0.1</init_pos></joint>
</skeleton></world></skel>"""

XODE_TEXT = """<xode version="1.0r22"><world name="w"><space>
<body name="a" gravitymode="0"><transform><position x="1" y="0" z="0"/></transform>
  <mass><mass_shape density="1"><sphere radius="1"/></mass_shape></mass><force x="1" y="0" z="0"/>
  <geom><sphere radius="1"/></geom></body>
</space></world></xode>"""

SDF_TEXT = """<sdf version="1.9"><world name="w"><gravity>0 0 -1</gravity><model name="m">
<link name="a"><inertial><mass>2</mass></inertial>
  <collision name="c"><geometry><sphere><radius>1</radius></sphere></geometry></collision></link>
<link name="b"/><joint name="j" type="revolute"><parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz></axis></joint>
</model></world></sdf>"""

URDF_TEXT = """<robot name="r"><link name="a"><inertial><origin xyz="0 0 1"/><mass value="2"/></inertial>
  <visual><geometry><sphere radius="1"/></geometry></visual></link>
<link name="b"><inertial><mass value="heavy"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
<joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 up"/><dynamics damping="1"/></joint>
</robot>"""


def _stated(item: Item, *fields: str) -> set[str]:
    return {field for field in fields if item.provenance(field) == "explicit"}


def test_a_skel_file_states_what_its_elements_set() -> None:
    world = exoskel.load(SKEL_TEXT.encode(), name="doc.skel").world
    model = world.models[0]
    body, joint = model.bodies[0], model.joints[0]
    assert _stated(world, "name", "time_step", "gravity") == {"name", "time_step"}
    assert _stated(model, "name", "bodies", "joints", "pose", "static") == {"name", "bodies", "joints"}
    stated = {"inertia", "mass", "com", "visuals", "soft", "markers"}
    assert _stated(body, *stated, "moment", "pose", "collisions", "gravity") == stated
    assert _stated(joint, "kind", "axes", "positions", "velocities", "pose") == {"kind", "axes", "positions"}
    assert body.soft is not None
    stated = {"total_mass", "geometry", "vertex_stiffness"}
    assert _stated(body.soft, *stated, "edge_stiffness", "damping", "pose") == stated


def test_an_offset_is_the_centre_of_mass_in_an_inertia_and_a_position_in_a_marker() -> None:
    body = exoskel.load(SKEL_TEXT.encode(), name="doc.skel").world.models[0].bodies[0]
    assert (body.provenance("com"), body.provenance("offset")) == ("explicit", "default")
    assert (body.markers[0].provenance("offset"), body.markers[0].provenance("com")) == ("explicit", "default")


def test_an_xode_file_states_what_its_elements_set() -> None:
    world = exoskel.load(XODE_TEXT.encode(), name="doc.xode").world
    body = next(body for body in world.bodies() if body.name == "a")
    stated = {"name", "pose", "mass", "inertia", "gravity", "state"}
    assert _stated(body, *stated, "visuals") == stated
    assert _stated(body.collisions[0], "geometry", "name", "pose") == {"geometry"}


def test_an_sdformat_file_states_what_its_elements_set() -> None:
    world = exoskel.load(SDF_TEXT.encode(), name="doc.sdf").world
    body, joint = world.models[0].bodies[0], next(j for j in world.joints() if j.name == "j")
    assert _stated(world, "gravity", "time_step", "models") == {"gravity", "models"}
    assert _stated(body, "mass", "inertia", "moment", "collisions", "visuals") == {"mass", "inertia", "collisions"}
    assert _stated(body.collisions[0], "name", "geometry", "pose") == {"name", "geometry"}
    assert _stated(joint, "kind", "axes", "parent", "child", "pitch") == {"kind", "axes", "parent", "child"}


def test_a_urdf_file_states_what_its_elements_set() -> None:
    model = exoskel.load(URDF_TEXT.encode(), name="doc.urdf").world.models[0]
    (body, other), joint = model.bodies, model.joint("j")
    stated = {"name", "inertia", "mass", "com", "visuals"}
    assert _stated(body, *stated, "moment", "pose", "collisions") == stated
    assert _stated(body.visuals[0], "geometry", "name", "pose", "color") == {"geometry"}
    assert _stated(joint, "kind", "parent", "child", "dofs", "mimic") == {"kind", "parent", "child", "dofs"}
    assert (other.provenance("moment"), other.provenance("mass")) == ("explicit", "repaired")
    assert joint.provenance("axes") == "repaired"


@pytest.mark.parametrize("vocabulary", [SKEL, XODE, SDF, URDF], ids=lambda vocabulary: str(vocabulary.language))
def test_every_stated_name_is_a_field_of_the_item_around_its_row(vocabulary: Vocabulary) -> None:
    checked = 0
    for row in vocabulary.field_rows():
        if not isinstance(row.row, Element) or row.kind is None:
            continue
        owner = SoftBody if row.field is not None and row.field.name == "soft" else row.kind
        children = [child for child in row.row.children.values() if child is not row.row]  # nested models are flattened
        for name in (name for child in children for name in child.states):
            assert hasattr(owner, name), (row.path, name)
            checked += 1
    assert checked
