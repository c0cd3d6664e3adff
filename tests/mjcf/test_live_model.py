"""Scenes as objects of MuJoCo, and back."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from PIL import Image

import exoskel
from exoskel.formats.mjcf.spec_text import full_text
from tests.mjcf.model_fields import differing_fields
from tests.support.places import SAMPLES

NAMES = sorted(path.name for path in (SAMPLES / "skel").glob("*.skel"))
CONTACT_FREE = ("double_pendulum.skel", "cart_pole.skel", "gyroscope.skel", "ferris_wheel.skel")


def poses(made: exoskel.MujocoModel, data: mujoco.MjData, world: exoskel.World) -> np.ndarray:
    """The positions of all bodies, found by their names in the scene."""
    paths = [f"{model.name}/{body.name}" for model in world.models for body in model.bodies]
    return np.array([data.body(made.names["body"][path]).xpos for path in paths])


@pytest.mark.parametrize("name", NAMES)
def test_bodies_and_masses_are_those_of_the_scene(name: str) -> None:
    world = exoskel.load(SAMPLES / "skel" / name).world
    made = exoskel.to_mujoco(world)
    found = poses(made, made.data(), world)
    np.testing.assert_allclose(found, exoskel.Kinematics(world.models).poses()[:, :3, 3], atol=1e-9)
    moving = [(m, b) for m in world.models if not m.static for b in m.bodies]
    masses = [made.model.body(made.names["body"][f"{m.name}/{b.name}"]).mass[0] for m, b in moving if not b.soft]
    np.testing.assert_allclose(masses, [b.mass for _, b in moving if not b.soft], rtol=1e-9)


@pytest.mark.parametrize("name", [name for name in CONTACT_FREE if name in NAMES])
def test_the_model_moves_as_a_simulation_does(name: str) -> None:
    scene = exoskel.load(SAMPLES / "skel" / name)
    made, simulation = exoskel.to_mujoco(scene), exoskel.Simulation(scene)
    data = made.data()
    simulation.step(50)
    for _ in range(50):
        mujoco.mj_step(made.model, data)
    mujoco.mj_forward(made.model, data)
    np.testing.assert_allclose(poses(made, data, scene.world), simulation.body_poses[:, :3, 3], atol=1e-3)


def test_the_specification_can_be_edited_and_read_back(tmp_path: Path) -> None:
    made = exoskel.to_mujoco(exoskel.load("dart://sample/skel/cart_pole.skel"))
    made.spec.body(made.names["body"]["cart_pole/pole"]).add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.1, 0, 0])
    scene = exoskel.from_mujoco(made.spec)
    assert any(shape.kind == "sphere" for shape in scene.world.model("cart_pole").body("pole").shapes)
    exoskel.save(scene, tmp_path / "edited.xml", format="mjcf")
    assert exoskel.load(tmp_path / "edited.xml").world.model("cart_pole").body("pole")


def test_a_specification_made_by_hand_is_read() -> None:
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="ball", pos=[0, 0, 1])
    body.add_freejoint()
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.2, 0, 0], mass=3)
    scene = exoskel.from_mujoco(spec)
    (found,) = scene.world.bodies()
    assert (found.name, found.mass) == ("ball", 3.0)


def test_a_specification_that_mujoco_rejects_is_an_error_of_ours() -> None:
    spec = mujoco.MjSpec()
    spec.worldbody.add_body(name="a").add_freejoint()  # without mass
    with pytest.raises(exoskel.ExoskelError, match="MuJoCo cannot compile the specification"):
        exoskel.from_mujoco(spec)


def test_scenes_with_several_worlds_are_refused() -> None:
    world = exoskel.load("dart://sample/skel/cart_pole.skel").world
    with pytest.raises(exoskel.ExoskelError, match=r"2 worlds; pass one of them, such as scene.worlds\[0\]"):
        exoskel.to_mujoco(exoskel.Scene([world, exoskel.World("other")]))


def test_losses_are_named() -> None:
    assert exoskel.to_mujoco(exoskel.load("dart://sample/skel/geometry_zoo.skel")).losses


@pytest.mark.parametrize("value", [3, None, "<mujoco/>"])
def test_other_values_than_specifications_are_refused(value: Any) -> None:
    with pytest.raises(exoskel.ExoskelError, match=r"expected a mujoco.MjSpec, not .*; use exoskel.load to read MJCF"):
        exoskel.from_mujoco(value)


MANY_DIGITS = """
<mujoco><compiler angle="degree" boundmass="0.0001234567"/>
<option timestep="0.00123456789" integrator="RK4" cone="elliptic" solver="CG" iterations="7" tolerance="1.23456789e-9"
 impratio="3.123456789" o_margin="0.00123456789" wind="0.123456789 1.12345678 0"><flag energy="enable"/></option>
<statistic extent="1.23456789" center="0.123456789 0 0"/>
<visual><map znear="0.0123456789"/><rgba haze="0.123456789 0 0 1"/></visual>
<default><joint range="-10.123456789 20.123456789" damping="0.123456789" springref="1.23456789"/>
 <default class="c"><geom rgba="0.123456789 0 0 1" friction="0.123456789"/><site pos="1.23456789 0 0"/></default></default>
<asset><mesh name="m" vertex="0 0 0 1.123456789 0 0 0 1 0 0 0 1" scale="1.123456789 1 1"/>
 <hfield name="h" nrow="2" ncol="2" size="1.123456789 1 1 0.1" elevation="0 0.123456789 0 1"/>
 <texture name="tt" type="2d" builtin="checker" rgb1="0.123456789 0 0" width="8" height="8"/>
 <material name="mm" texture="tt" texrepeat="1.23456789 2" specular="0.123456789" rgba="0.123456789 0 0 1"/></asset>
<worldbody><light pos="0.123456789 1 2" dir="0.123456789 0.2 -1" diffuse="0.123456789 0 0"/>
 <camera name="1.0000000001" pos="0.123456789 1 2" xyaxes="1 0.123456789 0 0 0 1" fovy="45.123456789"/>
 <geom name="g2" type="hfield" hfield="h"/>
 <body name="a" pos="0.1000000001 1.23456789 12.3456789" euler="10.123456 20 30" gravcomp="0.123456789">
  <joint name="j" axis="1.23 2.34 3.45"/><geom name="g1" class="c" size="0.123456789" mass="1.23456789" material="mm"/>
  <geom type="mesh" mesh="m" pos="0.123456789 0 0"/><site class="c" name="s"/>
  <geom type="capsule" fromto="0.123456789 0 0 1 1.23456789 2" size="0.0123456789" solref="0.0212345678 1.01234567"
   density="123.456789"/>
  <body name="b"><joint name="k" type="slide" range="-1.23456789 1" stiffness="12.3456789" ref="0.123456789"
   solreflimit="0.0212345678 1" armature="0.00123456789" frictionloss="0.00123456789"/>
   <inertial pos="0.123456789 0 0" mass="1.23456789" diaginertia="0.123456789 0.23456789 0.3"/>
   <site name="s2" pos="0.00123456789 0 0"/></body></body>
 <body pos="5 5 5"><freejoint/><geom size="0.123456789 0.223456789 0.323456789" type="box"/>
  <body><joint type="ball" range="0 50.123456789" damping="0.00123456789"/>
   <inertial pos="0 0 0" mass="1" fullinertia="1.23456789 1.3456789 1.456789 0.0123456789 0 0"/></body></body>
</worldbody>
<contact><pair geom1="g1" geom2="g2" friction="0.123456789 0.123456789 0.01 0.001 0.001" margin="0.00123456789"/></contact>
<tendon><fixed name="t" range="0.123456789 1.23456789" stiffness="1.23456789"><joint joint="j" coef="1.23456789"/></fixed>
 <spatial springlength="0.123456789" width="0.00123456789"><site site="s"/><site site="s2"/><pulley divisor="1.23456789"/>
  <site site="s"/><site site="s2"/></spatial></tendon>
<equality><joint joint1="j" joint2="k" polycoef="0.123456789 1.23456789 0 0 0" solref="0.0212345678 1"/>
 <weld body1="b" relpose="0.123456789 0 0 1 0 0 0" torquescale="0.123456789"/></equality>
<actuator><position name="p" joint="j" kp="12.3456789" kv="1.23456789" ctrlrange="-1.23456789 1"/>
 <general joint="k" dyntype="filter" dynprm="0.0123456789" gear="1.23456789"/></actuator>
<sensor><jointpos joint="j" noise="0.123456789" cutoff="1.23456789"/></sensor>
<custom><numeric name="n" data="1.23456789 2.3456789"/><text name="x" data="1.0000001"/>
 <tuple name="tu"><element objtype="body" objname="a" prm="0.123456789"/></tuple></custom>
<keyframe><key time="0.123456789" qpos="0.123456789 0.23456789 1 2 3 1 0 0 0 1 0 0 0" ctrl="0.123456789 0"/></keyframe>
</mujoco>"""


def test_the_text_of_a_specification_has_all_digits() -> None:
    """MuJoCo prints six digits, and `<text>` is not a number."""
    spec = mujoco.MjSpec.from_string(MANY_DIGITS)
    model = spec.compile()
    rounded = set(differing_fields(model, mujoco.MjSpec.from_string(spec.to_xml()).compile()))
    assert len(rounded) > 50
    text = full_text(spec, model)
    computed = {"actuator_acc0", "bvh_aabb", "geom_pos", "geom_quat", "body_invweight0", "dof_invweight0", "dof_M0"}
    computed |= {"body_inertia", "body_iquat", "body_ipos"}
    again = mujoco.MjSpec.from_string(text).compile()
    assert set(differing_fields(model, again)) <= computed
    for name in computed:
        np.testing.assert_allclose(getattr(model, name), getattr(again, name), rtol=1e-12, atol=1e-14)
    assert 'name="1.0000000001"' in text
    assert "1.0000001" in text


@pytest.mark.parametrize("name", NAMES)
def test_the_specification_of_a_sample_is_read_to_the_bit(name: str) -> None:
    made = exoskel.to_mujoco(exoskel.load(SAMPLES / "skel" / name).world)
    again = mujoco.MjSpec.from_string(full_text(made.spec, made.model)).compile()
    assert differing_fields(made.model, again) == []


@pytest.mark.parametrize("integrator", ["RK4", "implicit", None])
def test_settings_of_the_solver_are_those_of_the_specification(integrator: str | None) -> None:
    text = MANY_DIGITS if integrator else MANY_DIGITS.replace(' integrator="RK4" cone="elliptic"', "")
    spec = mujoco.MjSpec.from_string(text.replace("RK4", integrator or ""))
    mine, theirs = exoskel.to_mujoco(exoskel.from_mujoco(spec)).model.opt, spec.compile().opt
    for name in (
        "integrator",
        "cone",
        "solver",
        "iterations",
        "tolerance",
        "impratio",
        "o_margin",
        "timestep",
        "enableflags",
    ):
        assert getattr(mine, name) == getattr(theirs, name), name
    assert mine.wind.tolist() == theirs.wind.tolist()


# --- files in memory -------------------------------------------------------------------------------------


def tetrahedron(size: float) -> bytes:
    corners = ("0 0 0", f"{size} 0 0", f"0 {size} 0", f"0 0 {size}")
    return "".join([*(f"v {one}\n" for one in corners), "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"]).encode()


def picture(mode: str) -> bytes:
    stream = BytesIO()
    pixels = np.arange(0, 160, 10, dtype=np.uint8).reshape(4, 4)
    Image.fromarray(pixels).convert(mode).save(stream, "PNG")
    return stream.getvalue()


WITH_ASSETS = """<mujoco><compiler meshdir="m" texturedir="t"/><asset><mesh name="m" file="{}"/>
<texture name="t" type="2d" file="p.png"/><material name="paint" texture="t"/>
<hfield name="h" file="h.png" size="1 1 .2 .1"/></asset><worldbody><geom type="hfield" hfield="h"/>
<body name="b" pos="0 0 2"><freejoint/><geom type="mesh" mesh="m" material="paint"/></body></worldbody></mujoco>"""
IMAGES = {"t/p.png": picture("RGB"), "m/h.png": picture("L")}


@pytest.mark.parametrize(
    ("file", "names"),
    [
        ("u.obj", ["u.obj"]),
        ("u.obj", ["m/u.obj"]),
        ("s/u.obj", ["m/s/u.obj"]),
        ("s/u.obj", ["u.obj"]),
        ("U.OBJ", ["./u.obj"]),
        ("../m/u.obj", ["m/u.obj", "other/u.obj"]),
        ("/no/folder/u.obj", ["u.obj"]),
    ],
)
def test_assets_are_found_as_in_mujoco(file: str, names: list[str]) -> None:
    files = {name: tetrahedron(1 + number) for number, name in enumerate(names)}
    spec = mujoco.MjSpec.from_string(WITH_ASSETS.format(file), assets=IMAGES | files)
    scene = exoskel.from_mujoco(spec)
    assert not [one for one in scene.diagnostics if one.severity != "info"]
    assert scene.world.mass == pytest.approx(spec.compile().body_mass.sum(), rel=1e-12)
    assert exoskel.to_mujoco(scene).model.body_mass.sum() == pytest.approx(scene.world.mass, rel=1e-9)


def test_assets_that_a_program_sets_are_found() -> None:
    spec = mujoco.MjSpec()
    spec.assets = {"u.obj": tetrahedron(1.0)}
    spec.add_mesh(name="u", file="u.obj")
    body = spec.worldbody.add_body(name="b")
    body.add_freejoint()
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="u")
    assert exoskel.from_mujoco(spec).world.mass == pytest.approx(1000 / 6, rel=1e-12)


@pytest.mark.parametrize(
    ("extension", "saves"),
    [*((one, False) for one in ("xml", "urdf", "sdf", "skel", "xode", "glb")), ("xml", True), ("skel", True)],
)
@pytest.mark.parametrize("is_edited", [False, True])
def test_documents_have_copies_of_assets(extension: str, is_edited: bool, saves: bool, tmp_path: Path) -> None:
    assets = IMAGES | {"u.obj": tetrahedron(1.0)}
    scene = exoskel.from_mujoco(mujoco.MjSpec.from_string(WITH_ASSETS.format("u.obj"), assets=assets))
    model = scene.world.models[-1]
    if is_edited:
        model.bodies[0].mass = 3.0
    path = tmp_path / f"scene.{extension}"
    if saves:
        exoskel.save(scene, path)
    else:
        exoskel.convert(scene, path, model=model.name if extension == "urdf" else None)
    if extension != "glb":  # which contains the triangles
        assert (tmp_path / "meshes" / "u.obj").read_bytes() == assets["u.obj"]
    assert b".exoskel-" not in path.read_bytes()  # the temporary folder
    back = exoskel.load(path)
    assert back.world.models[-1].bodies[-1].mass == pytest.approx(3.0 if is_edited else 1000 / 6, rel=1e-6)
    assert not [one for one in back.diagnostics if one.code in ("MJ105", "FM301", "SK110")]
