"""Reading MJCF: the scene has the values that MuJoCo compiles."""

from __future__ import annotations

from math import inf, pi
from pathlib import Path

import mujoco
import numpy as np
import pytest

import exoskel
from exoskel import Actuator
from exoskel.formats.mjcf.read import ImportedScene
from exoskel.scene.lowering.actuators import lower_actuators
from tests.mjcf.support import Trip, apart, bodies, codes, imported, mass_matrices

TESTDATA = Path(mujoco.__file__).parent / "testdata"


def mjcf(body: str, rest: str = "", model: str = "m") -> str:
    return f'<mujoco model="{model}">\n{rest}\n<worldbody>\n{body}\n</worldbody>\n</mujoco>'


def joint(found: ImportedScene, name: str) -> exoskel.Joint:
    return next(j for j in found.scene.world.joints() if j.name == name)


def agree(found: ImportedScene) -> None:
    for seed in range(3):
        mujocos, ours = mass_matrices(found, seed)
        assert ours == pytest.approx(mujocos, rel=1e-9, abs=1e-9)


# --- public models ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", sorted(TESTDATA.glob("*.xml")), ids=lambda path: path.name)
def test_public_models_load_with_the_same_masses(file: Path) -> None:
    found = imported(file)
    assert not [d for d in found.scene.diagnostics if d.severity == "error"]
    assert found.compiled is not None
    assert found.scene.world.mass == pytest.approx(float(found.compiled.model.body_mass.sum()), rel=1e-12)
    agree(found)


HUMANOID = mjcf(
    """
    <geom name="floor" type="plane" size="5 5 .1"/>
    <body name="torso" pos="0 0 1.4" childclass="limb">
      <freejoint name="root"/>
      <geom type="capsule" fromto="0 -.07 0 0 .07 0" size=".07"/>
      <body name="waist" pos="-.01 0 -.26" quat="1 0 -.002 0">
        <joint name="abdomen_z" axis="0 0 1" range="-45 45"/>
        <joint name="abdomen_y" axis="0 1 0" range="-75 30"/>
        <joint name="abdomen_x" axis="1 0 0" range="-35 35"/>
        <geom type="capsule" fromto="0 -.06 0 0 .06 0" size=".06"/>
        <body name="thigh" pos="0 -.1 -.04">
          <joint name="hip_x" axis="1 0 0"/>
          <joint name="hip_z" axis="0 0 1"/>
          <joint name="hip_skew" axis="0 1 1" pos="0 0 .1"/>
          <geom type="capsule" fromto="0 0 0 0 .01 -.34" size=".06"/>
          <body name="foot" pos="0 .01 -.6" euler="0 30 0">
            <joint name="ankle" type="ball"/>
            <geom type="box" size=".1 .05 .02" mass="1.5"/>
          </body>
        </body>
      </body>
    </body>
    <body name="walker" pos="3 0 0">
      <joint name="rootz" type="slide" axis="0 0 1"/>
      <joint name="rootx" type="slide" axis="1 0 0"/>
      <joint name="rooty" axis="0 1 0"/>
      <geom type="ellipsoid" size=".1 .2 .3"/>
    </body>
    <body name="hopper" pos="5 0 0">
      <joint name="hopx" type="slide" axis="1 0 0"/>
      <joint name="hopz" type="slide" axis="0 0 1"/>
      <joint name="hopy" axis="0 1 0"/>
      <geom type="cylinder" size=".1 .2"/>
    </body>
    <body name="gantry" pos="7 0 0">
      <joint type="slide" axis="1 0 0"/>
      <joint type="slide" axis="0 1 0"/>
      <joint type="slide" axis="0 0 1"/>
      <geom size=".1"/>
      <body pos="0 0 1">
        <joint type="slide" axis="1 0 0"/>
        <joint type="slide" axis="0 1 0"/>
        <joint type="slide" axis="0 0 1"/>
        <joint type="ball"/>
        <geom size=".1" pos="0 .2 0"/>
      </body>
    </body>""",
    """<compiler angle="degree" autolimits="true"/>
    <default><default class="limb"><joint damping=".2" stiffness="1"/><geom rgba="1 0 0 1"/></default></default>""",
)


def test_joints_of_one_body_become_joints_of_a_scene() -> None:
    found = imported(HUMANOID)
    kinds = {j.name: (j.kind, j.order) for j in found.scene.world.joints()}
    assert kinds["root"][0] == "free"
    assert kinds["waist_joint"] == ("euler", "zyx")
    assert kinds["thigh_link0_joint"][0] == "universal"
    assert kinds["hip_skew"][0] == "revolute"
    assert kinds["ankle"][0] == "ball"
    assert kinds["walker_joint"][0] == "planar"
    assert kinds["hopper_link0_joint"][0] == "translational2d"
    assert kinds["hopy"][0] == "revolute"
    assert kinds["gantry_joint"][0] == "translational"
    assert [j.kind for j in found.scene.world.model("gantry").joints] == ["translational", "free"]
    assert joint(found, "waist_joint").dof_names == ["abdomen_z", "abdomen_y", "abdomen_x"]
    assert [code for code, _ in codes(found)] == ["MJ301", "MJ301"]
    agree(found)


def test_defaults_and_units_are_applied() -> None:
    found = imported(HUMANOID)
    z, y, _ = joint(found, "waist_joint").dofs
    assert (z.damping, z.stiffness) == (0.2, 1.0)
    assert z.position_limits == pytest.approx((-pi / 4, pi / 4))
    assert y.position_limits == pytest.approx((-75 * pi / 180, pi / 6))
    thigh = found.scene.world.model("torso").body("thigh")
    assert thigh.collisions[0].color == (1.0, 0.0, 0.0, 1.0)
    assert joint(found, "hip_skew").dofs[0].position_limits == (-inf, inf)


@pytest.mark.parametrize("text", [HUMANOID, (TESTDATA / "model.xml").read_text()], ids=["humanoid", "model"])
def test_models_by_others_round_trip(text: str) -> None:
    first = imported(text).scene.world
    trip = Trip(first)
    for seed in range(3):
        assert apart(*trip.poses(seed)) < 1e-9
    here, there = bodies(first), bodies(trip.back.scene.world)
    for name, body in here.items():
        assert there[name].mass == pytest.approx(body.mass, abs=1e-9)
        assert there[name].moment == pytest.approx(body.moment, rel=2e-9, abs=1e-9)
    agree(trip.back)


# --- details ----------------------------------------------------------------------------------------------


def test_positions_are_relative_to_the_reference_pose() -> None:
    text = mjcf(
        """<body name="a"><joint name="j" axis="0 1 0" ref="0.5" springref="0.7" stiffness="3" range="-1 1"/>
        <geom size=".1" pos="1 0 0"/></body>""",
        '<compiler angle="radian"/>\n<keyframe><key qpos="0.9" qvel="2"/></keyframe>',
    )
    dof = joint(imported(text), "j").dofs[0]
    assert (dof.position, dof.velocity, dof.rest) == pytest.approx((0.4, 2.0, 0.2))
    assert dof.position_limits == pytest.approx((-1.5, 0.5))


def test_frames_and_replicas_are_expanded_by_mujoco() -> None:
    text = mjcf(
        """<frame pos="0 0 1" euler="0 0 90"><body name="f"><freejoint/><geom type="box" size=".1 .2 .3"/></body></frame>
        <replicate count="3" offset="1 0 0" euler="0 0 10">
          <body name="r" pos="0 0 2"><joint name="h" axis="0 1 0"/><geom size=".1" pos="0 0 -.3"/></body>
        </replicate>"""
    )
    found = imported(text)
    assert [model.name for model in found.scene.world.models] == ["f", "r0", "r1", "r2"]
    assert found.scene.where(found.scene.world.model("r2").bodies[0]).line == 6  # type: ignore[union-attr]
    agree(found)


def test_inertia_is_exact_and_full() -> None:
    text = mjcf(
        """<body name="a"><freejoint/>
        <inertial pos=".1 .2 .3" mass="2" fullinertia="1 1.1 1.2 .1 .05 .02"/></body>
        <body name="b"><freejoint/><inertial pos="0 0 0" quat="1 1 0 0" mass="3" diaginertia="1 2 2.5"/></body>"""
    )
    world = imported(text).scene.world
    one, two = world.model("a").body("a"), world.model("b").body("b")
    assert (one.mass, one.com, one.moment) == (2.0, (0.1, 0.2, 0.3), (1.0, 1.1, 1.2, 0.1, 0.05, 0.02))
    assert two.moment == pytest.approx((1.0, 2.5, 2.0, 0.0, 0.0, 0.0), abs=1e-12)


def test_geoms_that_do_not_collide_are_visuals() -> None:
    text = mjcf(
        """<body name="a"><freejoint/><geom name="g" size=".1"/>
        <geom name="v" type="box" size=".1 .2 .3" contype="0" conaffinity="0" rgba="0 1 0 .5"/></body>"""
    )
    body = imported(text).scene.world.model("a").body("a")
    assert [s.name for s in body.collisions] == ["g"]
    assert [(s.name, s.geometry, s.color) for s in body.visuals] == [
        ("v", exoskel.Box((0.2, 0.4, 0.6)), (0.0, 1.0, 0.0, 0.5))
    ]


GREY = (0.5, 0.5, 0.5, 1.0)


@pytest.mark.parametrize(
    ("words", "color"),
    [
        ("", None),
        ('rgba="0.5 0.5 0.5 1"', GREY),
        ('class="grey"', GREY),
        ('class="plain"', None),
        ('material="red"', (1.0, 0.0, 0.0, 1.0)),
        ('material="red" rgba="0.5 0.5 0.5 1"', (1.0, 0.0, 0.0, 1.0)),
        ('material="red" rgba="0 0 1 1"', (0.0, 0.0, 1.0, 1.0)),
    ],
)
def test_only_stated_colours_are_read(words: str, color: object) -> None:
    """MuJoCo's default grey can also be stated; with a material, MuJoCo treats it as not stated."""
    text = mjcf(
        f'<body name="a"><freejoint/><geom size=".1" {words}/></body>',
        """<default><default class="grey"><geom rgba=".5 .5 .5 1"/></default><default class="plain"/></default>
        <asset><material name="red" rgba="1 0 0 1"/></asset>""",
    )
    assert imported(text).scene.world.model("a").body("a").collisions[0].color == color


def test_the_default_grey_round_trips(tmp_path: Path) -> None:
    """The certificate failed because a stated grey was read as no colour."""
    world = exoskel.World()
    body = world.add_model("m").add_body("b", shapes=[exoskel.Box((1.0, 1.0, 1.0))])
    for shape in body.visuals:
        shape.color = GREY
    exoskel.save(exoskel.Scene(worlds=[world]), tmp_path / "a.skel")
    report = exoskel.convert(tmp_path / "a.skel", None, to="mjcf")
    assert report.certificate.passed
    assert [s.color for s in exoskel.load(report.data).world.model("m").body("b").visuals] == [GREY]


ACTUATED = mjcf(
    "".join(f'<body name="b{i}"><joint name="j{i}" damping="1"/><geom size=".1"/></body>\n' for i in range(5)),
    """<actuator>
    <motor name="m" joint="j0" gear="10" ctrlrange="-1 2"/>
    <position joint="j1" kp="100" kv="3"/>
    <velocity joint="j2" kv="4" forcerange="-5 5"/>
    <muscle joint="j3"/>
    <general joint="j4" gainprm="2" biastype="affine" biasprm="0 5 0"/>
    </actuator>
    <keyframe><key ctrl="0 .5 0 0 0"/></keyframe>""",
)


def test_actuators_are_read() -> None:
    found = imported(ACTUATED)
    motor, position, velocity, general = found.scene.world.actuators
    assert motor == Actuator("m", "b0/j0", gear=10.0, control_range=(-1.0, 2.0))
    assert position == Actuator("j1", "b1/j1", kind="position", gain=100.0, damping=3.0, control=0.5)
    assert velocity == Actuator("j2", "b2/j2", kind="velocity", gain=4.0, force_range=(-5.0, 5.0))
    assert general == Actuator("j4", "b4/j4", kind="general", gain=2.0, bias=(0.0, 5.0, 0.0))
    assert {joint(found, f"j{i}").dofs[0].damping for i in range(5)} == {1.0}
    assert codes(found) == [("MJ402", 6)]


def test_actuators_are_lowered_to_limits_springs_and_dampers() -> None:
    lowered = lower_actuators(imported(ACTUATED).scene.world)
    dofs = {joint.name: joint.dofs[0] for joint in lowered.world.joints() if joint.motion}
    assert dofs["j0"].force_limits == (-10.0, 20.0)
    assert (dofs["j1"].stiffness, dofs["j1"].rest, dofs["j1"].damping) == (100.0, 0.5, 4.0)
    assert (dofs["j2"].stiffness, dofs["j2"].damping) == (0.0, 5.0)
    assert [one.result for one in lowered.actuators] == ["force limits", "spring", "spring", "dropped"]
    assert [one.loses_limits for one in lowered.actuators] == [False, False, True, False]


def test_the_total_force_of_motors_is_bounded() -> None:
    bodies = "".join(
        f'<body name="b{i}"><joint name="j{i}" actuatorfrcrange="-7 4"/><geom size=".1"/></body>' for i in range(2)
    )
    motor = '<motor joint="j0" ctrlrange="-3 3"/>'
    found = imported(mjcf(bodies, f"<actuator>{2 * motor}</actuator>"))
    assert joint(found, "j0").dofs[0].force_limits == joint(found, "j1").dofs[0].force_limits == (-7.0, 4.0)
    lowered = {joint.name: joint for joint in lower_actuators(found.scene.world).world.joints()}
    assert lowered["j0"].dofs[0].force_limits == (-6.0, 4.0)


def test_constraints_become_loop_joints_and_mimics() -> None:
    text = mjcf(
        """<body name="a" pos="0 0 1"><joint name="ja"/><geom size=".1"/>
          <body name="b" pos="1 0 0"><joint name="jb"/><geom size=".1"/></body></body>
        <body name="c" pos="2 0 1"><joint name="jc"/><joint name="jd" type="slide"/><geom size=".1"/></body>
        <body name="d" pos="4 0 1"><freejoint/><geom size=".1"/></body>""",
        """<equality>
        <connect name="loop" body1="b" body2="c" anchor=".5 0 0"/>
        <joint joint1="ja" joint2="jb" polycoef=".1 2 0 0 0"/>
        <joint joint1="jc" polycoef=".2 0 0 0 0"/>
        <weld name="hold" body1="d"/>
        <weld name="bent" body1="d" body2="a" relpose="1 1 1 1 0 0 0"/>
        <joint joint1="ja" joint2="jb" polycoef="0 0 1 0 0"/>
        <connect name="off" body1="d" body2="a" anchor="0 0 0" active="false"/>
        </equality>""",
    )
    found = imported(text)
    loop = joint(found, "loop")
    assert (loop.kind, loop.loop, loop.child.name, loop.parent.name if loop.parent else "") == ("ball", True, "b", "c")
    assert loop.pose.position == (0.5, 0.0, 0.0)
    mimic = joint(found, "ja").mimic
    assert mimic is not None
    assert (mimic.joint, mimic.multiplier, mimic.offset) == ("jb", 2.0, 0.1)
    assert joint(found, "jc").dofs[0].position_limits == (0.2, 0.2)
    assert (joint(found, "hold").kind, joint(found, "hold").parent) == ("weld", None)
    assert not [code for code, _ in codes(found) if code == "MJ403"]
    assert [(one.kind, one.target, one.other, one.active) for one in found.scene.world.equalities] == [
        ("weld", "a/d", "a/a", True),
        ("joint", "a/ja", "a/jb", True),
        ("connect", "a/d", "a/a", False),
    ]


def test_contact_bits_become_collision_rules() -> None:
    bodies = """<body name="one"><freejoint/><geom size=".1"/><body name="two" pos="1 0 0"><joint/><geom size=".1"/>
      <body name="three" pos="1 0 0"><joint/><geom size=".1"/></body></body></body>"""
    plain = imported(mjcf(bodies)).scene.world
    assert plain.self_collision
    excluded = imported(mjcf(bodies, '<contact><exclude body1="one" body2="three"/></contact>')).scene.world
    assert excluded.collision_exempt_groups == [("one", "three")]
    bits = """<body name="{0}"><freejoint/><geom size=".1" contype="{1}" conaffinity="{2}"/></body>"""
    legs = [bits.format("leg1", 2, 1), bits.format("leg2", 2, 1), bits.format("box", 1, 3)]
    assert imported(mjcf("".join(legs))).scene.world.collision_exempt_groups == [("leg1", "leg2")]
    hidden = [*legs, bits.format("leg12", 1, 3)]  # its name contains another name
    assert codes(imported(mjcf("".join(hidden)))) == [("MJ308", 4)]


def test_gravity_and_time_step_are_read() -> None:
    world = imported(
        mjcf("", '<option gravity="0 -9.8 0" timestep="0.005"/>\n<worldbody><geom size=".1"/></worldbody>')
    ).scene.world
    assert (world.name, world.gravity, world.time_step) == ("m", (0.0, -9.8, 0.0), 0.005)
    flagged = imported(mjcf("", '<option><flag gravity="disable"/></option>'))
    assert flagged.scene.world.gravity == (0.0, 0.0, 0.0)
    text = mjcf('<body name="a" gravcomp="1"><freejoint/><geom size=".1"/></body>')
    assert not imported(text).scene.world.model("a").body("a").gravity


def test_ignored_elements_are_reported_with_their_lines() -> None:
    text = mjcf(
        """<light pos="0 0 3"/>
<camera name="eye" pos="0 0 3"/>
<body name="a" mocap="true"><geom size=".1"/></body>
<body name="b"><joint name="j" armature=".1" damping="1 2"/><geom size=".1"/><site name="s"/></body>""",
        '<sensor><user dim="2"/></sensor><custom><numeric name="n" data="1"/></custom>',
    )
    assert codes(imported(text)) == [
        ("MJ201", 2),
        ("MJ201", 2),
        ("MJ306", 6),
        ("MJ303", 7),
    ]


# --- files ------------------------------------------------------------------------------------------------

OBJ = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def test_includes_and_meshes_come_from_the_document_folder(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "tetra.obj").write_text(OBJ)
    (tmp_path / "assets.xml").write_text(
        '<mujocoinclude><asset><mesh file="tetra.obj" scale="2 2 2"/></asset></mujocoinclude>'
    )
    text = mjcf(
        '<body name="a"><freejoint/><geom type="mesh" mesh="tetra" pos="1 2 3" quat="1 1 0 0"/></body>',
        '<compiler meshdir="parts"/><include file="assets.xml"/>',
    )
    (tmp_path / "main.xml").write_text(text)
    found = imported(tmp_path / "main.xml", confine=True)
    shape = found.scene.world.model("a").body("a").collisions[0]
    assert shape.geometry == exoskel.Mesh(
        "tetra.obj", (2.0, 2.0, 2.0), str(tmp_path / "parts" / "tetra.obj"), ((0.0,) * 3, (1.0,) * 3)
    )
    expected = exoskel.Pose((1.0, 2.0, 3.0), exoskel.AxisAngle((1.0, 0.0, 0.0), pi / 2)).matrix()
    assert np.abs(shape.pose.matrix() - expected).max() < 1e-7
    agree(found)


@pytest.mark.parametrize(
    "compilers",
    [
        '<compiler meshdir="parts"/>',
        '<compiler assetdir="parts"/>',
        '<compiler assetdir="other" meshdir="parts"/>',
        '<compiler meshdir="other"/><compiler assetdir="parts"/>',
        '<compiler assetdir="other"/><compiler meshdir="parts"/>',
        '<compiler meshdir="other"/><compiler meshdir="parts" texturedir="other"/>',
        '<compiler meshdir="other/../parts" strippath="true"/>',
    ],
)
def test_meshes_and_height_fields_are_searched_where_mujoco_searches_them(compilers: str, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "tetra.obj").write_text(OBJ)
    (tmp_path / "parts" / "hill.bin").write_bytes(np.array([2, 2], "i4").tobytes() + np.arange(4, dtype="f4").tobytes())
    file = tmp_path / "main.xml"
    assets = '<asset><mesh file="tetra.obj"/><hfield name="hill" file="hill.bin" size="1 1 1 1"/></asset>'
    file.write_text(mjcf('<geom type="mesh" mesh="tetra"/><geom type="hfield" hfield="hill"/>', compilers + assets))
    mujoco.MjModel.from_xml_path(str(file))
    assert codes(imported(file)) == [("MJ307", 4)]


def test_the_last_folder_of_assets_counts_as_in_mujoco(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "tetra.obj").write_text(OBJ)
    file = tmp_path / "main.xml"
    compilers = '<compiler meshdir="parts"/><compiler assetdir="other"/>'
    file.write_text(mjcf('<geom type="mesh" mesh="tetra"/>', f'{compilers}<asset><mesh file="tetra.obj"/></asset>'))
    with pytest.raises(ValueError, match="Error opening file"):
        mujoco.MjModel.from_xml_path(str(file))
    assert codes(imported(file)) == [("MJ105", 2)]


@pytest.mark.parametrize(
    ("rest", "body", "key"),
    [
        ('<asset><mesh file="lost.obj"/></asset>', '<joint/><geom type="mesh" mesh="lost" density="1e-3"/>', "MJ105"),
        ('<include file="lost.xml"/>', '<joint/><geom size="1" class="soft"/>', "MJ104"),
        (
            '<default><default class="sft"/></default><include file="lost.xml"/>',
            '<geom size="1" class="soft"/>',
            "MJ104",
        ),
    ],
)
@pytest.mark.parametrize("within", [False, True])
def test_consequences_of_missing_files_are_no_errors(
    rest: str, body: str, key: str, within: bool, tmp_path: Path
) -> None:
    text = mjcf(f"<body>{body}</body>", rest)
    (tmp_path / "inner.xml").write_text(text)
    (tmp_path / "main.xml").write_text('<mujoco><include file="inner.xml"/></mujoco>' if within else text)
    found = imported(tmp_path / "main.xml").scene
    assert [one.key for one in found.diagnostics if one.severity == "error"] == [key]
    notes = [one for one in found.diagnostics if one.severity == "info"]
    assert {one.key for one in notes} == {"MJ106.missing"}
    assert list(found.world.bodies()), "the rest is read"


@pytest.mark.parametrize(("geom", "key"), [("siz='1'", "MJ106.attribute"), ("type='bxo'", "MJ106.word")])
def test_other_errors_are_reported_besides_missing_files(geom: str, key: str) -> None:
    found = imported(mjcf(f"<geom {geom}/>", '<include file="lost.xml"/>')).scene
    assert [one.key for one in found.diagnostics if one.severity == "error"] == ["MJ104", key]


def test_nothing_outside_the_folder_is_read(tmp_path: Path) -> None:
    (tmp_path / "secret.xml").write_text("<mujocoinclude><worldbody><geom size='1'/></worldbody></mujocoinclude>")
    (tmp_path / "secret.obj").write_text(OBJ)
    home = tmp_path / "home"
    home.mkdir()
    text = mjcf(
        '<body name="a"><freejoint/><geom type="mesh" mesh="secret"/></body>',
        '<include file="../secret.xml"/><asset><mesh file="../secret.obj"/></asset>',
    )
    (home / "main.xml").write_text(text)
    found = imported(home / "main.xml", confine=True)
    assert codes(found) == [("MJ104", 2), ("MJ105", 2)]
    geometry = found.scene.world.model("a").body("a").collisions[0].geometry
    assert geometry == exoskel.Mesh("../secret.obj")


def test_inline_meshes_are_read_in_full_precision() -> None:
    text = mjcf(
        '<body name="a"><freejoint/><geom type="mesh" mesh="t" pos="1 0 0"/></body>',
        '<asset><mesh name="t" vertex="0 0 0 .1 0 0 0 .1 0 0 0 .1" face="0 2 1 0 1 3 0 3 2 1 2 3"/></asset>',
    )
    shape = imported(text).scene.world.model("a").body("a").collisions[0]
    assert isinstance(shape.geometry, exoskel.TriMesh)
    assert shape.geometry.vertices[1].tolist() == [0.1, 0.0, 0.0]
    assert shape.pose.position == pytest.approx((1.0, 0.0, 0.0), abs=1e-12)


# --- errors -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("<mujoco><worldbody>", "MJ101", 1),
        ("<mujoco>\n<worldbody>\n<geom siz='1'/>\n</worldbody></mujoco>", "MJ106", 3),
        ("<mujoco>\n<worldbody>\n<body>\n<joint/></body>\n</worldbody></mujoco>", "MJ106", 3),
        ("<robot name='r'/>", "MJ102", 1),
        ("<mujoco>\n<worldbody>\n<geom type='box' size='1 -1 1'/>\n</worldbody></mujoco>", "MJ106", 3),
        ("<!DOCTYPE x [<!ENTITY a 'b'>]>\n<mujoco/>", "MJ103", 1),
        ("<mujoco>\n<include file='nowhere.xml'/></mujoco>", "MJ104", 2),
    ],
)
def test_errors_have_a_code_and_a_line(text: str, code: str, line: int) -> None:
    found = imported(text)
    assert codes(found) == [(code, line)]


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("qpos='x'", "the qpos of keyframe 'home' contains 'x': expected numbers"),
        ("qpos='1e400'", "the qpos of keyframe 'home' contains a number that is too large: 1e400"),
        ("ctrl='1 0.5s'", "the ctrl of keyframe 'home' contains '0.5s': expected numbers"),
        ("time='x'", "the time of keyframe 'home' contains 'x': expected numbers"),
        ("mpos='1,2'", "the mpos of keyframe 'home' contains '1,2': expected numbers"),
    ],
)
def test_wrong_numbers_of_keyframes_are_reported_with_the_keyframe(key: str, message: str) -> None:
    text = (
        f"<mujoco>\n<worldbody><geom size='1'/></worldbody>\n<keyframe>\n<key name='home' {key}/></keyframe></mujoco>"
    )
    scene = imported(text).scene
    (found,) = scene.diagnostics
    wanted = f"{message}; its default is used"
    assert (found.key, found.line, found.message.partition(": ")[2]) == ("MJ106.value", 4, wanted)
    assert [one.name for one in scene.world.keyframes] == ["home"]


@pytest.mark.parametrize(
    ("geom", "message"),
    [
        ("size='1' condim='1.5'", "the condim of <geom> contains '1.5': expected whole numbers"),
        ("size='1' condim='99999999999'", "the condim of <geom> contains a number that is too large: 99999999999"),
        ("size='1' name='g' pos='1 y 2'", "the pos of <geom> 'g' contains 'y': expected numbers"),
        ("size='1' pos='1 2'", "the pos of <geom> has too few numbers: 2"),
        ("size='1' pos='1 2 3 4'", "the pos of <geom> has too many numbers: 4"),
    ],
)
def test_wrong_numbers_are_reported_at_their_attribute(geom: str, message: str) -> None:
    (found,) = imported(f"<mujoco><worldbody>\n<geom {geom}/></worldbody></mujoco>").scene.diagnostics
    wanted = f"{message}; its default is used"
    assert (found.key, found.line, found.message.partition(": ")[2]) == ("MJ106.value", 2, wanted)
    assert "/@" in found.path


@pytest.mark.parametrize("seed", range(40))
def test_damaged_documents_never_raise(seed: int) -> None:
    """Parts of attributes and elements are removed or repeated at random."""
    random = np.random.default_rng(seed)
    text = (TESTDATA / "model.xml").read_text() if seed % 2 else HUMANOID
    pieces = text.split('"')
    for _ in range(3):
        place = int(random.integers(1, len(pieces) - 1))
        pieces[place] = str(random.choice(["", "-1", "nan", "1 2", "x", pieces[place] * 2, "1e300"]))
    assert imported('"'.join(pieces)).scene.diagnostics is not None


@pytest.mark.parametrize(
    "body",
    [
        '<geom size="inf"/>',
        '<geom size="1e150"/>',
        '<geom size="1" mass="inf"/>',
        '<geom size="1" pos="nan 0 0"/>',
        '<geom size="1" rgba="nan 0 0 1"/>',
        '<geom size="1"/><inertial mass="inf" pos="0 0 0" diaginertia="1 1 1"/>',
        '<geom size="1"/><body euler="inf 0 0"><geom size="1"/></body>',
        '<geom size="1"/><joint name="k" damping="nan"/>',
        '<geom size="1"/><joint name="k" armature="-1"/>',
        '<geom size="1"/><joint name="k" axis="0 0 inf"/>',
    ],
)
def test_values_that_mujoco_accepts_but_no_scene_may_have_are_errors(body: str) -> None:
    scene = exoskel.load(f"<mujoco><worldbody><body>{body}</body></worldbody></mujoco>")
    assert "MJ109" in {found.code for found in scene.diagnostics}
    assert all(found.line == 1 and found.message.endswith(("used", "ignored")) for found in scene.diagnostics)
    assert not [found for found in exoskel.check(scene) if found.severity == "error"]
    for use in (exoskel.Simulation, lambda one: exoskel.convert(one, to="skel"), exoskel.summarize):
        use(scene)


def test_constraints_of_deformable_bodies_are_ignored_with_them() -> None:
    """The bodies that a flexcomp generates are not read, so that no reference to them is an error."""
    text = """<mujoco><worldbody><body name="r" pos="0 0 1"><freejoint/><geom size=".1"/></body>
      <flexcomp name="cloth" type="grid" count="3 3 1" spacing=".1 .1 .1" mass="1" radius=".01">
        <edge equality="true"/></flexcomp></worldbody>
      <equality><connect name="c" body1="cloth_8" body2="r" anchor="0 0 0"/></equality></mujoco>"""
    assert mujoco.MjModel.from_xml_string(text).neq > 0
    scene = exoskel.load(text, format="mjcf")
    told = [(one.code, str(one.severity)) for one in scene.diagnostics if "connect" in one.message]
    assert told == [("MJ202", "warning")]
    assert not scene.world.equalities
    next(scene.world.bodies()).collisions[0].color = (1.0, 0.0, 0.0, 1.0)
    written = exoskel.convert(scene, None, to="mjcf").data.decode()
    assert 'rgba="1 0 0 1"' in written and 'body1="cloth_8"' in written
