"""Names in URDF and SDF files are changed in the text, with all references and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

import exoskel
from exoskel.formats.name_references import NameReferences, rename_in_text
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
    document = Document(text.encode())
    known = NameReferences(document)
    tags = document.outline.tags
    node = next(n for n in known.names if tags[n] == kind and document.attribute_text(n, "name") == name)
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
    known = NameReferences(Document(text.encode()))
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
