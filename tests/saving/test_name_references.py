"""Names in URDF, SDF and MJCF files are changed in the text, with all references and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

import exoskel
from exoskel.formats import registry
from exoskel.formats.name_references import NameReferences
from exoskel.formats.renaming import RenamedText
from exoskel.formats.renaming import rename_in_text as rename_item
from exoskel.scene.body import Body
from exoskel.scene.joint import Joint
from exoskel.scene.model import Model
from exoskel.source.document import Document
from tests.sdf.support import link

NEW = "renamed"
URDF = """<robot name="r"><material name="red"><color rgba="1 0 0 1"/></material>
<link name="base"><visual><geometry><box size="1 1 1"/></geometry><material name="red"/></visual></link><link name="up"/>
<link name="tip &amp; end"/>
<joint name="j" type="continuous"><parent link="base"/><child link="up"/><axis xyz="0 0 1"/></joint>
<joint name="k" type="continuous"><parent link="up"/><child link="tip &amp; end"/><mimic joint="j"/></joint>
<joint name="broken" type="twisted"><parent link="up"/><child link="missing"/></joint>
<transmission name="t"><type>t/S</type><joint name="j"/></transmission><gazebo reference="up"><a>up</a></gazebo>
<ros2_control name="c" type="system"><joint name="k"/></ros2_control><sensor name="s"><parent link="up"/></sensor></robot>"""
SDF = f"""<sdf version="1.9"><world name="w"><frame name="there" attached_to="m::arm::b"><pose relative_to="m"/></frame>
<model name="m" canonical_link="base" placement_frame="mount">{link("base")}
<frame name="mount" attached_to="arm::b"><pose relative_to="arm::j"/></frame>
<model name="arm" canonical_link="b"><pose relative_to="base">1 0 0 0 0 0</pose>{link("a")}{link("b")}
<joint name="j" type="revolute"><pose relative_to="a"/><parent>a</parent><child>b</child>
<axis><xyz expressed_in="a">0 0 1</xyz></axis></joint></model>
<joint name="j" type="revolute"><parent>base</parent><child> arm::a </child><axis><xyz>0 0 1</xyz></axis></joint>
<gripper name="g"><gripper_link>base</gripper_link></gripper>
<plugin name="p" filename="f"><joint_name>j</joint_name></plugin></model>
<model name="other">{link("a")}<pose relative_to="there"/></model></world></sdf>"""


def names_of(text: str) -> NameReferences:
    kind = registry.detect(text.encode(), "").name_references()
    assert kind is not None
    return kind(Document(text.encode()))


def rename_in_text(scene: exoskel.Scene, item: Model | Body | Joint, name: str) -> RenamedText:
    return rename_item(scene, item, name, lambda data: exoskel.load(data, format=scene.source_info.format))


def items(scene: exoskel.Scene) -> list[Model | Body | Joint]:
    found: list[Model | Body | Joint] = []
    for model in (model for world in scene.worlds for model in world.models):
        found += [model, *model.bodies]
        found += [joint for joint in model.joints if not joint.implicit]
    return found


@pytest.mark.parametrize("text", [URDF, SDF], ids=["urdf", "sdf"])
def test_every_item_is_renamed_with_all_its_references(text: str) -> None:
    scene = exoskel.load(text)
    for number, item in enumerate(items(scene)):
        again = exoskel.load(rename_in_text(scene, item, NEW).data)
        found = items(again)
        name = item.name.rpartition("::")[0] + "::" * ("::" in item.name) + NEW
        assert found[number].name == name
        others = [one.name for at, one in enumerate(items(scene)) if at != number and not isinstance(item, Model)]
        assert [one.name for at, one in enumerate(found) if at != number and not isinstance(item, Model)] == others
        assert [one.key for one in again.diagnostics] == [one.key for one in scene.diagnostics]
        for one, other in zip(items(scene), found, strict=True):
            if isinstance(one, Body | Model) and isinstance(other, Body | Model):
                assert one.pose == other.pose


def renamed(text: str, name: str, kind: str) -> str:
    """A document in which the first item of a kind with a name has another one."""
    known = names_of(text)
    node = next(n for n in known.names if known.tags[n] == kind and known.name(n) == name)
    out = text.encode()
    for start, end, piece in reversed(known.rename(node, NEW)):
        out = out[:start] + piece + out[end:]
    return out.decode()


def test_references_of_extensions_and_of_joints_with_errors_are_renamed() -> None:
    after = renamed(URDF, "up", "link")
    assert after == URDF.replace('"up"', f'"{NEW}"')
    assert renamed(URDF, "j", "joint") == URDF.replace('"j"', f'"{NEW}"')
    assert renamed(URDF, "red", "material") == URDF.replace('"red"', f'"{NEW}"')
    assert renamed(URDF, "broken", "joint") == URDF.replace('"broken"', f'"{NEW}"')


def test_parts_of_scoped_names_are_renamed() -> None:
    assert renamed(SDF, "arm", "model") == SDF.replace('"arm"', f'"{NEW}"').replace("arm::", f"{NEW}::")
    after = renamed(SDF, "b", "link")
    assert after.count(NEW) == SDF.count('"b"') + SDF.count(">b<") + SDF.count("arm::b")
    after = renamed(SDF, "there", "frame")
    assert after == SDF.replace('"there"', f'"{NEW}"')


def test_names_of_other_models_stay() -> None:
    after = renamed(SDF, "a", "link")
    assert '<model name="other"><link name="a">' in after and f"<child> arm::{NEW} </child>" in after


def test_the_name_of_an_include_is_renamed(tmp_path: Path) -> None:
    (tmp_path / "part.sdf").write_text(f'<sdf version="1.9"><model name="part">{link("a")}</model></sdf>')
    text = f"""<sdf version="1.9"><model name="m">{link("base")}<include><uri>part.sdf</uri><name>p</name></include>
    <joint name="j" type="fixed"><parent>base</parent><child>p::a</child></joint></model></sdf>"""
    known = names_of(text)
    (node,) = (node for node in known.names if known.tags[node] == "include")
    assert len(known.rename(node, NEW)) == 2


@pytest.mark.parametrize("name", ["", " ", "a::b", "world", "__x__", " x"])
def test_invalid_names_are_refused(name: str) -> None:
    scene = exoskel.load(SDF)
    with pytest.raises(exoskel.ExoskelError):
        rename_in_text(scene, scene.world.models[0].bodies[0], name)


def test_names_in_use_are_refused() -> None:
    for text, item, name in ((URDF, "body:up", "base"), (SDF, "body:base", "arm"), (SDF, "joint:m/j", "base")):
        scene = exoskel.load(text)
        with pytest.raises(exoskel.ExoskelError, match="already called"):
            rename_in_text(scene, scene.world.find(item)[0], name)


def test_parameters_of_plugins_are_counted() -> None:
    scene = exoskel.load(SDF)
    assert rename_in_text(scene, scene.world.find("joint:m/j")[0], NEW).parameters == 1
    assert rename_in_text(scene, scene.world.find("body:base")[0], NEW).parameters == 0


@pytest.mark.parametrize("codec", ["utf-8", "utf-16", "latin-1"])
def test_encodings_are_kept(codec: str) -> None:
    text = f'<?xml version="1.0" encoding="{codec}"?>\n<robot name="r"><link name="größe"/></robot>'
    scene = exoskel.load(text.encode(codec))
    data = rename_in_text(scene, scene.world.models[0].bodies[0], "länge").data
    assert data.decode(codec) == text.replace("größe", "länge")


MJCF = """<mujoco model="m">
  <extension><plugin plugin="mujoco.pid"><instance name="pid"><config key="kp" value="j"/></instance></plugin></extension>
  <default><default class="arm"><geom rgba="1 0 0 1"/></default></default>
  <visual><rgba joint="1 0 0 1"/></visual>
  <asset><texture name="wood" type="2d" builtin="flat" width="4" height="4"/><material name="red" texture="wood"/>
    <hfield name="hills" nrow="2" ncol="2" size="1 1 1 1" elevation="0 1 1 0"/>
    <mesh name="solid" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>
  <worldbody>
    <geom type="hfield" hfield="hills"/><light name="sun" mode="targetbody" target="up"/><camera name="eye"/>
    <body name="up" childclass="arm"><joint name="j"/><geom name="g" size="1" material="red"/><site name="s"/>
      <body name="low" pos="0 0 3"><joint name="k"/><geom name="g2" size="1" class="arm"/><site name="s2"/>
        <geom type="mesh" mesh="solid"/></body></body>
    <replicate count="2"><body name="copy"><geom name="g3" size="1" material="red"/></body></replicate>
  </worldbody>
  <deformable><flex name="cloth" dim="2" body="up low world" vertex="0 0 0 0 0 0 0 0 0" element="0 1 2"/></deformable>
  <contact><exclude body1="up" body2="low"/><pair name="p" geom1="g" geom2="g2"/></contact>
  <tendon><spatial name="t"><site site="s"/><geom geom="g" sidesite="s"/><site site="s2"/></spatial>
    <fixed name="t2"><joint joint="j" coef="1"/></fixed></tendon>
  <actuator><motor name="mo" joint="j"/><general tendon="t"/></actuator>
  <sensor><framepos name="p" objtype="xbody" objname="up" reftype="site" refname="s2"/><actuatorfrc actuator="mo"/>
    <rangefinder camera="eye"/><distance body1="up" geom2="g2"/></sensor>
  <custom><tuple name="tu"><element objtype="body" objname="up"/><element objtype="geom" objname="g"/></tuple></custom>
</mujoco>
"""


@pytest.mark.parametrize(
    ("kind", "name", "attributes"),
    [
        ("body", "up", ["name", "target", "body1", "objname"]),
        ("body", "low", ["name", "body2"]),
        ("joint", "j", ["name", "joint"]),
        ("geom", "g", ["name", "geom", "geom1", "objname"]),
        ("site", "s", ["name", "site", "sidesite"]),
        ("site", "s2", ["name", "site", "refname"]),
        ("texture", "wood", ["name", "texture"]),
        ("material", "red", ["name", "material"]),
        ("hfield", "hills", ["name", "hfield"]),
        ("mesh", "solid", ["name", "mesh"]),
        ("camera", "eye", ["name", "camera"]),
        ("spatial", "t", ["name", "tendon"]),
        ("motor", "mo", ["name", "actuator"]),
        ("default", "arm", ["class", "childclass"]),
    ],
)
def test_names_of_mjcf_are_renamed_with_references_in_all_sections(kind: str, name: str, attributes: list[str]) -> None:
    expected = MJCF
    for attribute in attributes:
        expected = expected.replace(f' {attribute}="{name}"', f' {attribute}="{NEW}"')
    for before, after in ((f'"{name} ', f'"{NEW} '), (f" {name} ", f" {NEW} ")):
        expected = expected.replace(f"body={before}", f"body={after}") if kind == "body" else expected
    if name == "low":
        expected = expected.replace("up low world", f"up {NEW} world")
    assert renamed(MJCF, name, kind) == expected


def test_names_of_mjcf_that_mujoco_makes_are_not_found() -> None:
    known = names_of(MJCF)
    assert not {"copy", "g3"} & {known.name(node) for node in known.names}


def test_names_in_lists_of_mjcf_have_no_spaces() -> None:
    known = names_of(MJCF)
    node = next(node for node in known.names if known.name(node) == "up")
    with pytest.raises(exoskel.ExoskelError, match="must not have spaces"):
        known.rename(node, "two words")
    assert known.parameters(next(node for node in known.names if known.name(node) == "j")) == 1


def test_an_mjcf_file_is_renamed_and_read_again(tmp_path: Path) -> None:
    """Names used by an included file are refused: MuJoCo cannot read the result."""
    (tmp_path / "more.xml").write_text('<mujoco><actuator><motor joint="k"/></actuator></mujoco>')
    text = (
        '<mujoco><include file="more.xml"/><worldbody><body name="a"><joint name="j"/><geom size="1"/>'
        '<body name="b"><joint name="k"/><geom size="1"/></body></body></worldbody></mujoco>'
    )
    (tmp_path / "x.xml").write_text(text)
    scene = exoskel.load(tmp_path / "x.xml")
    found = {item.name: item for item in items(scene) if not isinstance(item, Model)}

    def read(data: bytes) -> exoskel.Scene:
        return exoskel.load(data, format="mjcf", base=tmp_path)

    assert rename_item(scene, found["b"], NEW, read).data.decode() == text.replace('"b"', f'"{NEW}"')
    with pytest.raises(exoskel.ExoskelError, match="would no longer be valid"):
        rename_item(scene, found["k"], NEW, read)


def test_names_of_mjcf_in_a_table_of_names_are_refused(tmp_path: Path) -> None:
    world = exoskel.World(name="w")
    for model in ("one", "two"):
        world.add_model(model).add_body("same", mass=1.0, moment=(1, 1, 1, 0, 0, 0))
    exoskel.save(world, tmp_path / "x.xml")
    scene = exoskel.load(tmp_path / "x.xml")
    assert "exoskel_names" in (tmp_path / "x.xml").read_text()
    with pytest.raises(exoskel.ExoskelError, match="does not state this name"):
        rename_in_text(scene, scene.world.models[0].bodies[0], NEW)


STATE = f"""<sdf version="1.9"><world name="w"><light name="sun" type="point"/>
<model name="m">{link("a")}<model name="inner">{link("a")}</model>
<joint name="j" type="fixed"><parent>a</parent><child>inner::a</child></joint></model>
<state world_name="w"><model name="m"><pose>0 0 1 0 0 0</pose><link name="a"/><link name="inner::a"/><joint name="j"/>
<model name="inner"><link name="a"/></model></model><light name="sun"/>
<insertions><model name="new">{link("a")}</model></insertions><deletions><name>m</name></deletions></state>
</world></sdf>"""


@pytest.mark.parametrize(
    ("kind", "name", "count"),
    [("world", "w", 2), ("model", "m", 3), ("model", "inner", 4), ("joint", "j", 2), ("light", "sun", 2)],
)
def test_names_of_sdf_are_renamed_in_the_state_of_the_world(kind: str, name: str, count: int) -> None:
    after = renamed(STATE, name, kind)
    assert after.count(NEW) == count
    assert names_of(STATE).parents != []


def test_links_of_nested_models_are_renamed_in_the_state_of_the_world() -> None:
    after = renamed(STATE, "a", "link")
    assert after.count(NEW) == 3 and "inner::a" in after and f'<link name="{NEW}"/><link name="inner::a"/>' in after
    known = names_of(STATE)
    inner = [node for node in known.names if known.tags[node] == "link"][1]
    places = [known.document.text[one.start - 3 : one.end] for one in known.places(inner)]
    assert places == [b'e="a', b"r::a", b"r::a", b'e="a']


CONTACT = """<sdf version="1.9"><model name="m"><link name="a">
<collision name="c"><geometry><sphere><radius>1</radius></sphere></geometry></collision>
<visual name="c"><geometry><sphere><radius>1</radius></sphere></geometry></visual>
<sensor name="s" type="contact"><contact><collision>c</collision></contact></sensor></link></model></sdf>"""


def test_collisions_of_sdf_are_renamed_with_their_contact_sensors() -> None:
    assert renamed(CONTACT, "c", "collision").count(NEW) == 2
    assert renamed(CONTACT, "c", "visual").count(NEW) == 1


EXTENSIONS = """<robot name="r" xmlns:drake="http://drake.mit.edu"><link name="a"/><link name="b"/>
<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>
<transmission name="t"><gripper_joint name="j"/><passive_joint name="j"/></transmission>
<ros2_control name="c" type="system"><joint name="k"><param name="mimic">j</param><param name="x">j</param></joint>
<sensor name="f"><param name="frame_id">b</param></sensor></ros2_control>
<gazebo><joint name="loop" type="revolute"><parent>a</parent><child>b</child><pose relative_to="b"/></joint>
<plugin name="p"><joint_name>j</joint_name><link_name>b</link_name></plugin></gazebo>
<drake:collision_filter_group name="g"><drake:member link="b"/></drake:collision_filter_group>
<frame name="f" link="b"/><disable_collisions link1="a" link2="b"/></robot>"""


def test_names_are_renamed_in_extensions_of_urdf() -> None:
    after = renamed(EXTENSIONS, "b", "link")
    expected = EXTENSIONS.replace('"b"', f'"{NEW}"').replace("<child>b<", f"<child>{NEW}<")
    assert after == expected.replace('frame_id">b<', f'frame_id">{NEW}<')
    after = renamed(EXTENSIONS, "j", "joint")
    assert after == EXTENSIONS.replace('"j"', f'"{NEW}"').replace('mimic">j<', f'mimic">{NEW}<')
    known = names_of(EXTENSIONS)
    assert known.parameters(next(node for node in known.names if known.name(node) == "j")) == 1
