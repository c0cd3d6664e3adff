"""Spatial tendons of MuJoCo's schema: sites, shapes with side sites, pulleys."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import exoskel
from exoskel import TendonPoint

pytest.importorskip("pxr", reason="usd-core is not installed")

SITE = """def Sphere "{name}" (prepend apiSchemas = ["MjcSiteAPI"])
    {{
        double radius = 0.01
        double3 xformOp:translate = ({place})
        uniform token[] xformOpOrder = ["xformOp:translate"]
    }}
    """
BODY = """def Xform "{name}" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
{{
    float physics:mass = 1
    float3 physics:diagonalInertia = (1, 1, 1)
    {parts}
}}
"""
TENDON = """uniform token mjc:type = "spatial"
    rel mjc:path = [</base/s1>, </base/wrap>, </arm/s2>, </arm/s3>]
    uniform int[] mjc:path:indices = [0, 1, 2, 3, 2]
    uniform int[] mjc:path:segments = [0, 0, 0, 1, 1]
    uniform double[] mjc:path:divisors = [1, 2]
    rel mjc:sideSites = [</base/side>]
    uniform int[] mjc:sideSites:indices = [-1, 0, -1, -1, -1]
    uniform double mjc:stiffness = 20
    uniform double mjc:damping = 0.5
    uniform double[] mjc:springlength = [0.3]
    uniform double mjc:range:max = 0.9"""
WRAP = """def Cylinder "wrap" (prepend apiSchemas = ["PhysicsCollisionAPI"])
    {
        double radius = 0.05
        double height = 0.2
        uniform token axis = "Y"
    }
    """
MJCF = """<mujoco><option gravity="0 0 {gravity}" timestep="{step}"/><worldbody><body name="base">
<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><site name="s1" pos="0 0 0.2"/><site name="side" pos="0 0 0.1"/>
<geom name="wrap" type="cylinder" size="0.05 0.1" euler="90 0 0"/>
<body name="arm"><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><joint name="hinge" axis="0 1 0"/>
<site name="s2" pos="0.3 0 -0.2"/><site name="s3" pos="0.4 0 -0.1"/></body></body></worldbody>
<tendon><spatial name="string" stiffness="20" damping="0.5" springlength="0.3" range="0 0.9" limited="true">
<site site="s1"/><geom geom="wrap" sidesite="side"/><site site="s2"/><pulley divisor="2"/><site site="s3"/>
<site site="s2"/></spatial></tendon></mujoco>"""


def load(folder: Path, tendon: str = TENDON, metre: float = 1.0) -> exoskel.Scene:
    def site(name: str, *place: float) -> str:
        return SITE.format(name=name, place=", ".join(map(str, place)))

    text = f"""#usda 1.0
(
    metersPerUnit = {metre}
    upAxis = "Z"
)
def PhysicsScene "scene"
{{
}}
{BODY.format(name="base", parts=site("s1", 0, 0, 0.2) + site("side", 0, 0, 0.1) + WRAP)}
{BODY.format(name="arm", parts=site("s2", 0.3, 0, -0.2) + site("s3", 0.4, 0, -0.1))}
def PhysicsFixedJoint "fix"
{{
    rel physics:body1 = </base>
}}
def PhysicsRevoluteJoint "hinge"
{{
    rel physics:body0 = </base>
    rel physics:body1 = </arm>
    uniform token physics:axis = "Y"
}}
def MjcTendon "string"
{{
    {tendon}
}}
def MjcActuator "pull"
{{
    rel mjc:target = </string>
}}
"""
    (folder / "scene.usda").write_text(text)
    return exoskel.load(folder / "scene.usda")


def test_spatial_tendons_pass_sites_shapes_and_pulleys(tmp_path: Path) -> None:
    scene = load(tmp_path)
    assert [one.key for one in scene.diagnostics if one.code == "US113"] == []
    (tendon,) = scene.world.tendons
    assert tendon.path == (
        TendonPoint("base/base/s1"),
        TendonPoint(shape="base/base/collision0", side_site="base/base/side"),
        TendonPoint("base/arm/s2"),
        TendonPoint(divisor=2.0),
        TendonPoint("base/arm/s3"),
        TendonPoint("base/arm/s2"),
    )
    assert (tendon.stiffness, tendon.rest_length, tendon.limits) == (20.0, (0.3, 0.3), (0.0, 0.9))
    assert [one.tendon for one in scene.world.actuators] == ["string"]
    fates = {item.path: item.fate.value for item in exoskel.convert(scene, None, to="mjcf").items}
    assert {fate for path, fate in fates.items() if path.startswith("/string/")} == {"exact"}


def test_spatial_tendons_move_as_those_of_mjcf(tmp_path: Path) -> None:
    scene = load(tmp_path)
    gravity, step = scene.world.gravity[2], scene.world.time_step
    found = []
    for one in (scene, exoskel.load(MJCF.format(gravity=gravity, step=step))):
        simulation = exoskel.Simulation(one, engine="mujoco")
        simulation.step(200)
        found.append(np.array(simulation.positions))
    assert abs(found[0]).max() > 1e-3
    assert found[0] == pytest.approx(found[1], rel=1e-6)


def test_lengths_follow_the_units_of_the_stage(tmp_path: Path) -> None:
    (tendon,) = load(tmp_path, metre=0.01).world.tendons
    assert tendon.rest_length == pytest.approx((0.003, 0.003))
    assert tendon.limits == pytest.approx((0.0, 0.009))
    assert tendon.stiffness == pytest.approx(20.0)


@pytest.mark.parametrize(
    ("stated", "wrong", "reason"),
    [
        ("</arm/s2>", "</arm>", "leads to '/arm', not a site"),
        ("</base/side>", "</arm>", "is not a site"),
        ("[0, 1, 2, 3, 2]", "[0, 1, 2, 3, 4]", "do not exist"),
        ("[0, 1, 2, 3, 2]", "[0, 1, 2]", "do not fit its path"),
        ("[0, 0, 0, 1, 1]", "[0, 1, 0, 1, 1]", "not in order"),
        ("[0, 0, 0, 1, 1]", "[0, 0, 0, 2, 2]", "no divisor"),
        ("[1, 2]", "[1, 0]", "divisor 0 is not positive"),
        ('"spatial"', '"elastic"', "its type is 'elastic'"),
    ],
)
def test_wrong_paths_are_reported(stated: str, wrong: str, reason: str, tmp_path: Path) -> None:
    assert stated in TENDON
    scene = load(tmp_path, TENDON.replace(stated, wrong))
    assert scene.world.tendons == []
    assert any(one.code == "US113" and reason in one.message for one in scene.diagnostics)
