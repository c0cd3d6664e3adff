"""What only models use that are not converted is not selected either, and is lost for no other reason."""

from __future__ import annotations

from pathlib import Path

import pytest

import exoskel
from exoskel import Box, Pose, SceneCamera, SceneLight, World
from exoskel.conversion.report import Report

STAGE = """#usda 1.0
(
    metersPerUnit = 1
    kilogramsPerUnit = 1
    upAxis = "Z"
)
def PhysicsScene "scene" {}
def Cube "floor" (prepend apiSchemas = ["PhysicsCollisionAPI", "MaterialBindingAPI"])
{
    double size = 1
    rel material:binding:physics = </Stone>
}
def Xform "ball" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
{
    float physics:mass = 1
    def Sphere "round" (prepend apiSchemas = ["PhysicsCollisionAPI", "MaterialBindingAPI"])
    {
        double radius = 0.1
        rel material:binding = </Red>
        rel material:binding:physics = </Ice>
    }
    def Camera "eye" {}
}
def Xform "other" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
{
    float physics:mass = 1
    def Sphere "round" (prepend apiSchemas = ["PhysicsCollisionAPI", "MaterialBindingAPI"])
    {
        double radius = 0.1
        rel material:binding:physics = </Ice>
    }
}
def Material "Stone" (prepend apiSchemas = ["PhysicsMaterialAPI"])
{
    float physics:dynamicFriction = 0.9
}
def Material "Ice" (prepend apiSchemas = ["PhysicsMaterialAPI"])
{
    float physics:dynamicFriction = 0.1
}
def Material "Red"
{
    def Shader "surface"
    {
        uniform token info:id = "UsdPreviewSurface"
        color3f inputs:diffuseColor = (1, 0, 0)
    }
}
def PhysicsCollisionGroup "balls" (prepend apiSchemas = ["CollectionAPI:colliders"])
{
    rel collection:colliders:includes = </ball>
}
"""


def unselected(report: Report) -> set[str]:
    """The paths of elements that were not selected, without those of attributes."""
    return {one.path for one in report.items if one.unselected and not one.attribute}


def elsewhere(report: Report) -> set[str]:
    """The paths of other elements that have a loss."""
    return {one.path for one in report.losses if not one.unselected and not one.attribute}


@pytest.mark.parametrize("to", ["mjcf", "sdf", "skel", "usd"])
def test_shapes_and_materials_of_usd(tmp_path: Path, to: str) -> None:
    pytest.importorskip("pxr")
    file = tmp_path / "stage.usda"
    file.write_text(STAGE)
    ball = ["/ball", "/ball/round", "/ball/eye", "/Red", "/Red/surface", "/balls"]
    other = ["/other", "/other/round"]
    for model, expected in {
        "ball": {"/floor", "/Stone", *other},
        "other": {"/floor", "/Stone", *ball},
        "environment": {*ball, *other, "/Ice"},
    }.items():
        report = exoskel.convert(file, None, to=to, model=model)
        assert unselected(report) == expected
        assert elsewhere(report) == set()


def two_models(tmp_path: Path, name: str) -> Path:
    world = World("w", gravity=(0.0, 0.0, -9.81))
    for one, color in (("one", (1.0, 0.0, 0.0, 1.0)), ("two", (0.0, 1.0, 0.0, 1.0))):
        model = world.add_model(one, pose=Pose((len(one), 0.0, 0.0)))
        body = model.add_body(f"{one} body", mass=1.0, shapes=[Box((0.1, 0.1, 0.1))])
        body.visuals[0].color = color
        world.cameras.append(SceneCamera(f"{one} camera", body=f"{one}/{body.name}"))
        world.lights.append(SceneLight(f"{one} light", body=f"{one}/{body.name}"))
    world.cameras.append(SceneCamera("overview"))
    exoskel.convert(world, tmp_path / name)
    return tmp_path / name


def test_nodes_and_meshes_of_gltf(tmp_path: Path) -> None:
    file = two_models(tmp_path, "scene.glb")
    report = exoskel.convert(file, None, to="mjcf", model="one")
    document = exoskel.load(file)
    assert len(document.world.cameras) == 3
    names = {one.path: one for one in report.items}
    lost = unselected(report)
    assert {path for path in lost if not path.startswith("/nodes")} == {
        *("/meshes/1", "/materials/1", "/cameras/1", "/extensions/KHR_lights_punctual/lights/1")
    }
    assert len({path for path in lost if path.startswith("/nodes")}) == 5, "model, body, shape, camera and light"
    assert {names[path].fate for path in ("/meshes/0", "/materials/0")} <= {"exact", "lowered"}
    assert {names[path].fate for path in ("/cameras/0", "/cameras/2")} == {"exact"}


MODELS = """
<mujoco><worldbody>
  <body name="one"><freejoint/><geom size="0.1"/><site name="s1"/><camera name="c1"/></body>
  <body name="two"><freejoint/><geom size="0.1"/><site name="s2"/><light name="l2"/></body>
</worldbody>
<sensor><gyro name="g1" site="s1"/><gyro name="g2" site="s2"/></sensor></mujoco>"""


@pytest.mark.parametrize("to", ["mjcf", "sdf", "skel", "xode"])
def test_sensors_of_mjcf(to: str) -> None:
    scene = exoskel.load(MODELS.encode(), format="mjcf")
    lost = unselected(exoskel.convert(scene, None, to=to, model="one"))
    assert {path.rpartition("/")[2] for path in lost} == {
        *("body[@name='two']", "freejoint[1]", "geom[1]", "site[@name='s2']", "light[@name='l2']", "gyro[@name='g2']")
    }


DEPENDENT = """
<mujoco>
 <asset><mesh name="wedge" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/><mesh name="shared" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>
 <worldbody>
  <body name="one"><freejoint/><geom name="g1" type="mesh" mesh="shared"/>
    <body name="one2"><joint name="j1"/><geom size="0.1"/></body></body>
  <body name="two"><freejoint/><geom name="g2" type="mesh" mesh="wedge"/><geom type="mesh" mesh="shared"/>
    <body name="two2"><joint name="j2"/><geom size="0.1"/></body></body>
 </worldbody>
 <contact><exclude name="x1" body1="one" body2="one2"/><exclude name="x2" body1="two" body2="two2"/></contact>
 <sensor><actuatorfrc name="s2" actuator="a2"/><jointpos name="s1" joint="j1"/></sensor>
 <actuator><motor name="a1" joint="j1"/><motor name="a2" tendon="t2"/></actuator>
 <tendon><fixed name="t1"><joint joint="j1" coef="1"/></fixed><fixed name="t2"><joint joint="j2" coef="1"/></fixed></tendon>
 <equality><joint name="e1" joint1="j1"/><joint name="e2" joint1="j2"/></equality>
</mujoco>"""


@pytest.mark.parametrize("to", ["mjcf", "sdf", "skel"])
def test_what_refers_to_other_models_in_mjcf(to: str) -> None:
    scene = exoskel.load(DEPENDENT.encode(), format="mjcf")
    lost = unselected(exoskel.convert(scene, None, to=to, model="one"))
    named = {path.rpartition("[@name='")[2].partition("'")[0] for path in lost if "worldbody" not in path}
    assert named - {""} == {"wedge", "x2", "t2", "e2", "a2", "s2"}
    back = exoskel.convert(scene, None, to="mjcf", model="one").data.decode()
    assert not [name for name in ("x2", "t2", "e2", "a2", "s2") if f'"{name}"' in back], "they are not in the output"


DEFINITIONS = """
<mujoco>
 <default><geom rgba="1 0 0 1"/>
  <default class="arm"><geom density="100"/><default class="arm visual"><geom contype="0" conaffinity="0"/></default></default>
  <default class="leg"><geom density="200" material="sole"/><default class="foot"><joint damping="3"/></default></default>
  <default class="nobody"><geom density="7"/></default>
 </default>
 <asset>
  <texture name="wood" type="2d" builtin="checker" width="8" height="8"/>
  <texture name="steel" type="2d" builtin="flat" width="8" height="8"/>
  <material name="wooden" texture="wood"/><material name="plate" texture="steel"/><material name="sole" rgba="0 1 0 1"/>
  <material name="both"/><material name="unused"/>
  <hfield name="hill" nrow="2" ncol="2" size="1 1 1 0.1" elevation="0 1 0 1"/>
  <mesh name="wedge" material="plate" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/>
 </asset>
 <worldbody>
  <body name="one" childclass="arm"><freejoint/>
   <geom size="0.1" material="wooden"/><geom size="0.2" class="arm visual"/><site name="s1" material="both"/></body>
  <body name="two" childclass="leg"><joint class="foot"/><geom size="0.1"/>
   <geom type="hfield" hfield="hill" material="both"/><geom type="mesh" mesh="wedge"/></body>
 </worldbody>
</mujoco>"""


@pytest.mark.parametrize("to", ["mjcf", "sdf", "skel", "usd"])
def test_assets_and_default_classes_of_mjcf(to: str) -> None:
    scene = exoskel.load(DEFINITIONS.encode(), format="mjcf")
    for model, expected in {
        "one": {"default[2]", "default[2]/default[1]", "steel", "plate", "sole", "hill", "wedge"},
        "two": {"default[1]", "default[1]/default[1]", "wood", "wooden"},
    }.items():
        report = exoskel.convert(scene, None, to=to, model=model)
        lost = {path for path in unselected(report) if "worldbody" not in path}
        names = {
            path.partition("[@name='")[2].rstrip("']") or path.removeprefix("/mujoco/default[1]/") for path in lost
        }
        assert {name for name in names if not name.endswith(("geom[1]", "joint[1]"))} == expected
        if to == "mjcf":
            text = report.data.decode()
            assert not [name for name in expected if f'name="{name}"' in text], "they are not in the output"
            assert ('class="leg"' in text, 'class="arm"' in text) == (model == "two", model == "one")
            assert exoskel.load(report.data, format="mjcf").world.bodies()
