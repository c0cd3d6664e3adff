"""Section 18, items 52 to 73: joints, degrees of freedom, topology."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import exoskel
from exoskel import Kinematics, spatial
from tests.support.checklist import item
from tests.support.findings import Reads, load_text
from tests.support.places import EXAMPLES
from tests.support.xml import body, joint, one_body, skeleton, world

AXIS = "<axis><xyz>{}</xyz></axis>"
TYPES = {
    "weld": "",
    "revolute": AXIS.format("0 1 1"),
    "prismatic": AXIS.format("0 1 1"),
    "screw": AXIS.format("0 1 1"),
    "universal": AXIS.format("1 0 0") + "<axis2><xyz>0 1 0</xyz></axis2>",
    "ball": "",
    "euler": "<axis_order>zyx</axis_order>",
    "translational": "",
    "translational2d": '<plane type="zx"/>',
    "planar": '<plane type="yz"/>',
    "free": "",
}


def numbers(values: list[float]) -> str:
    return " ".join(map(repr, values))


poses = st.lists(st.floats(-3, 3), min_size=6, max_size=6)


def two_bodies(s: list[float], p: list[float], c: list[float], j: list[float], kind: str) -> str:
    transformation = "<transformation>{}</transformation>"
    inner = (
        transformation.format(numbers(s))
        + body(transformation.format(numbers(p)), "p")
        + body(transformation.format(numbers(c)), "c")
        + joint(name="root", kind="weld", child="p")
        + joint(transformation.format(numbers(j)) + TYPES[kind], kind, "j", "p", "c")
    )
    return world(skeleton(inner))


def matrix(values: list[float]) -> spatial.Array:
    return spatial.transform(spatial.euler_matrix(values[3:]), values[:3])


@item(52)
@given(poses, poses, poses, poses)
@settings(max_examples=60, deadline=None)
def test_joint_frames_follow_the_formulas(s: list[float], p: list[float], c: list[float], j: list[float]) -> None:
    model = load_text(two_bodies(s, p, c, j, "ball")).world.models[0]
    kinematics, number = Kinematics([model]), [joint.name for joint in model.joints].index("j")
    from_parent, from_child = kinematics.from_parent[number], kinematics.from_child[number]
    parent, child = matrix(s) @ matrix(p), matrix(s) @ matrix(c)
    assert np.allclose(from_child, matrix(j), atol=1e-12)
    assert np.allclose(from_parent, np.linalg.inv(parent) @ child @ matrix(j), atol=1e-9)


@item(53)
@pytest.mark.parametrize("kind", TYPES)
@given(poses, poses, poses, poses)
@settings(max_examples=25, deadline=None)
def test_at_zero_positions_every_body_is_at_its_own_pose(
    kind: str, s: list[float], p: list[float], c: list[float], j: list[float]
) -> None:
    model = load_text(two_bodies(s, p, c, j, kind)).world.models[0]
    found = Kinematics([model]).poses(np.zeros(model.dof_count))
    assert np.allclose(found, [matrix(s) @ matrix(p), matrix(s) @ matrix(c)], atol=1e-9)


_FRAMES = {
    "base": [[0, -1, 0, 1], [1, 0, 0, 0], [0, 0, 1, 0.5]],
    "upper": [[0, -1, 0, 1], [0.866025, 0, 0.5, 0.446410], [-0.5, 0, 0.866025, 0.3]],
    "slider": [
        [-0.707107, -0.707107, 0, 1],
        [0.612372, -0.612372, 0.5, 1.095929],
        [-0.353553, 0.353553, 0.866025, -0.075],
    ],
}

_ZOO = {
    "b_w": [[0.936293, -0.289629, 0.198669, 0], [0.312992, 0.944702, -0.097843, 0], [-0.159345, 0.153792, 0.975170, 0]],
    "b_rev": [[0.877583, 0, 0.479426, 1], [0, 1, 0, 0], [-0.479426, 0, 0.877583, 0]],
    "b_pri": [[1, 0, 0, 2], [0, 1, 0, 0], [0, 0, 1, 0.2]],
    "b_uni": [[0.921061, 0, 0.389418, 3], [0.115081, 0.955336, -0.272192, 0], [-0.372026, 0.295520, 0.879923, 0]],
    "b_bal": [
        [0.803401, -0.401821, 0.439417, 4],
        [0.516904, 0.836966, -0.179715, 0],
        [-0.295564, 0.371520, 0.880122, 0],
    ],
    "b_exyz": [
        [0.808307, -0.441580, 0.389418, 5],
        [0.559006, 0.783214, -0.272192, 0],
        [-0.184803, 0.437702, 0.879923, 0],
    ],
    "b_ezyx": [
        [0.879923, -0.080985, 0.468163, 6],
        [0.272192, 0.893559, -0.357020, 0],
        [-0.389418, 0.441580, 0.808307, 0],
    ],
    "b_tra": [[1, 0, 0, 7.1], [0, 1, 0, 0.2], [0, 0, 1, 0.3]],
    "b_pxy": [[0.955336, -0.295520, 0, 8.1], [0.295520, 0.955336, 0, 0.2], [0, 0, 1, 0]],
    "b_pyz": [[1, 0, 0, 9], [0, 0.955336, -0.295520, 0.1], [0, 0.295520, 0.955336, 0.2]],
    "b_pzx": [[0.955336, 0, 0.295520, 10.2], [0, 1, 0, 0], [-0.295520, 0, 0.955336, 0.1]],
    "b_parb": [
        [0.970224, -0.185507, -0.155731, 10.989061],
        [0.155731, 0.970224, -0.185507, 0.152360],
        [0.185507, 0.155731, 0.970224, 0.163299],
    ],
    "b_fre": [
        [-0.516904, -0.836966, 0.179715, 11.8],
        [0.803401, -0.401821, 0.439417, 0.1],
        [-0.295564, 0.371520, 0.880122, 0.3],
    ],
}


@item(54)
@pytest.mark.parametrize(("file", "expected"), [("02_frames", _FRAMES), ("03_joints", _ZOO)])
def test_the_examples_have_the_expected_poses(file: str, expected: dict[str, list[list[float]]]) -> None:
    loaded = exoskel.load(EXAMPLES / f"{file}.skel").world
    found = {b.name: pose for b, pose in zip(loaded.bodies(), Kinematics(loaded.models).poses(), strict=True)}
    assert found.keys() == expected.keys()
    for name, pose in expected.items():
        assert np.allclose(found[name][:3], pose, atol=1e-6), name


def motion(kind: str, inner: str, positions: list[float]) -> spatial.Array:
    """The pose of a body with one joint to the world, at given positions."""
    model = load_text(one_body(joint_inner=inner, kind=kind)).world.models[0]
    pose: spatial.Array = Kinematics([model]).poses(positions)[0]
    return pose


@item(55)
@given(st.lists(st.floats(-3, 3), min_size=3, max_size=3))
@settings(max_examples=30, deadline=None)
def test_euler_joints_are_products_of_elementary_rotations(q: list[float]) -> None:
    for order in ("xyz", "zyx"):
        expected = np.linalg.multi_dot([spatial.axis_rotation(axis, q[i]) for i, axis in enumerate(order)])
        found = motion("euler", f"<axis_order>{order}</axis_order>", q)
        assert np.allclose(found[:3, :3], expected, atol=1e-12)


@item(56)
def test_planar_zx_translates_along_z_then_x_and_rotates_about_y() -> None:
    found = motion("planar", '<plane type="zx"/>', [1.0, 2.0, 0.3])
    assert np.allclose(found, spatial.transform(spatial.axis_rotation("y", 0.3), [2.0, 0.0, 1.0]))


@item(57)
def test_an_arbitrary_plane_is_made_orthonormal() -> None:
    axes = (
        "<translation_axis1><xyz>0 2 0</xyz></translation_axis1><translation_axis2><xyz>0 1 1</xyz></translation_axis2>"
    )
    found = motion("planar", f'<plane type="arbitrary">{axes}</plane>', [1.0, 2.0, 0.3])
    assert np.allclose(found, spatial.transform(spatial.axis_rotation("x", 0.3), [0.0, 1.0, 2.0]))


@item(57)
def test_parallel_plane_axes_are_an_error(reads: Reads) -> None:
    axes = "<translation_axis1><xyz>1 1 0</xyz></translation_axis1><translation_axis2><xyz>-2 -2 0</xyz></translation_axis2>"
    read = reads(one_body(joint_inner=f'<plane type="arbitrary">{axes}</plane>', kind="planar"))
    read.expect("SK079.parallel", "error")
    read.expect("SK074")
    assert [j.kind for j in read.model.joints] == ["free"]


@item(57)
@pytest.mark.parametrize("first", ["", "<translation_axis1/>"])
def test_a_missing_plane_axis_is_replaced_by_its_default(reads: Reads, first: str) -> None:
    second = "<translation_axis2><xyz>0 0 1</xyz></translation_axis2>"
    read = reads(one_body(joint_inner=f'<plane type="arbitrary">{first}{second}</plane>', kind="planar"))
    read.expect("SK079.axis", "error", says="translation_axis1")
    assert read.joint().axes == ((1.0, 0.0, 0.0), (0.0, 0.0, 1.0))


@item(58)
def test_ball_and_free_have_rotation_vectors() -> None:
    w = [0.3, -0.4, 1.2]
    turned = spatial.exp(w)
    assert np.allclose(motion("ball", "", w)[:3, :3], turned, atol=1e-14)
    free = motion("free", "", [*w, 1.0, 2.0, 3.0])
    assert np.allclose(free, spatial.transform(turned, [1.0, 2.0, 3.0]), atol=1e-14)


@item(59)
def test_screw_and_translational2d_joints_are_read_although_dart_ignores_them(reads: Reads) -> None:
    read = reads((EXAMPLES / "10_bare.skel").read_text())
    read.expect("SK009", "info")
    read.expect("SK090", "warning", says="screw")
    read.expect("SK090", "warning", says="translational2d")
    nut, table = Kinematics(read.world.models).poses()
    half_turn = spatial.axis_rotation("z", math.pi)
    assert np.allclose(nut, spatial.transform(half_turn, [0, 0, 1.025]), atol=1e-12)
    assert np.allclose(table, spatial.transform(half_turn, [0, -0.1, 1.725]), atol=1e-12)


@item(59)
def test_the_default_pitch_is_a_tenth_of_a_metre_per_turn(reads: Reads) -> None:
    read = reads(one_body(joint_inner=AXIS.format("0 0 1"), kind="screw"))
    read.expect("SK090")
    assert Kinematics([read.model]).poses([2 * math.pi])[0, 2, 3] == pytest.approx(0.1)


@item(60)
@pytest.mark.parametrize("kind", ["revolute", "prismatic", "universal"])
def test_axes_are_normalised(reads: Reads, kind: str) -> None:
    second = "<axis2><xyz>0 1 0</xyz></axis2>" if kind == "universal" else ""
    long, short = (reads(one_body(joint_inner=AXIS.format(a) + second, kind=kind)) for a in ("3 0 0", "1 0 0"))
    long.expect("SK077.length", "warning", says="length 3")
    q = np.full(long.model.dof_count, 0.4)
    assert np.allclose(Kinematics([long.model]).poses(q), Kinematics([short.model]).poses(q), atol=1e-14)
    assert long.joint().axes[0] == (3.0, 0.0, 0.0), "axes have the components of the file"


@item(60)
def test_a_zero_axis_uses_the_default(reads: Reads) -> None:
    read = reads(one_body(joint_inner=AXIS.format("0 0 0"), kind="revolute"))
    read.expect("SK077.zero", "error")
    assert read.joint().axes == ((0.0, 0.0, 1.0),)


@item(61)
@pytest.mark.parametrize(
    ("kind", "axes"),
    [
        ("revolute", ((0.0, 0.0, 1.0),)),
        ("prismatic", ((0.0, 0.0, 1.0),)),
        ("universal", ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))),
    ],
)
def test_missing_axes_have_the_defaults_of_dart(reads: Reads, kind: str, axes: object) -> None:
    read = reads(one_body(kind=kind))
    for _ in range(2 if kind == "universal" else 1):
        read.expect("SK077.missing", "error")
    assert read.joint().axes == axes


@item(61)
@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_an_axis_without_xyz_is_the_default_of_the_wiki(reads: Reads, kind: str) -> None:
    read = reads(one_body(joint_inner="<axis/>", kind=kind))
    read.expect("SK077.default", "warning")
    assert read.joint().axes == ((1.0, 0.0, 0.0),)


@item(61)
def test_reading_dart_uses_the_default_axis_of_dart(reads: Reads) -> None:
    read = reads(one_body(joint_inner="<axis/>", kind="revolute"), semantics="dart")
    read.expect("SK077.no_xyz", "error")
    assert read.joint().axes == ((0.0, 0.0, 1.0),)


@item(61)
def test_an_invalid_axis_uses_the_default_of_dart(reads: Reads) -> None:
    read = reads(one_body(joint_inner="<axis><xyz>a 0 0</xyz></axis>", kind="revolute"))
    read.expect("SK022", "error")
    assert read.joint().axes == ((0.0, 0.0, 1.0),)


@item(61)
def test_a_second_axis_without_xyz_is_not_parallel_to_the_first(reads: Reads) -> None:
    read = reads(one_body(joint_inner="<axis/><axis2/>", kind="universal"))
    read.expect("SK077.default", "warning")
    read.expect("SK077.no_xyz", "error")
    assert read.joint().axes == ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))


@pytest.mark.parametrize("broken", [{"kind": "revolut"}, {"child": "bb"}, {"parent": "wrld"}])
def test_problems_inside_of_an_ignored_joint_are_reported(reads: Reads, broken: dict[str, str]) -> None:
    inner = "<axis><xyz>0 0 2</xyz><limit><lower>2</lower><upper>1</upper></limit></axis><init_pos>1 2</init_pos>"
    read = reads(world(skeleton(body() + joint(inner, **{"kind": "revolute", **broken}))))
    read.expect("SK070.unknown" if "kind" in broken else f"SK071.{next(iter(broken))}", "error")
    read.expect("SK077.length", "warning")
    read.expect("SK082", "error")
    read.expect("SK080", "error")
    read.expect("SK074", "warning")
    assert read.joint("root").kind == "free"


def test_a_joint_of_an_unknown_type_that_resembles_none_is_not_guessed(reads: Reads) -> None:
    read = reads(one_body(joint_inner="<axis><xyz>0 0 2</xyz></axis>", kind="mate"))
    read.expect("SK070.unknown", "error")
    read.expect("SK074.ignored", "warning", says="because joint 'j' is ignored")


@item(61)
@pytest.mark.parametrize("kind", ["ball", "free", "weld"])
def test_axes_without_effect_are_reported(reads: Reads, kind: str) -> None:
    reads(one_body(joint_inner=AXIS.format("1 0 0"), kind=kind)).expect("SK013.axis", "info")
    dynamics = "<axis><dynamics><damping>1</damping></dynamics></axis>"
    lost = "SK013.weld" if kind == "weld" else "SK013.axis_dynamics"  # what moves can have it said elsewhere
    reads(one_body(joint_inner=dynamics, kind=kind)).expect(lost, "warning")


@item(61)
def test_directions_that_have_no_effect(reads: Reads) -> None:
    inner = "<axis_order>xyz</axis_order>" + AXIS.format("1 0 0")
    reads(one_body(joint_inner=inner, kind="euler")).expect("SK013.axis_xyz", "info")


@item(62)
def test_a_missing_or_unknown_axis_order_is_read_as_xyz(reads: Reads) -> None:
    missing = reads(one_body(kind="euler"))
    missing.expect("SK078.missing", "warning")
    assert missing.joint().order == "xyz"
    unknown = reads(one_body(joint_inner="<axis_order>yzx</axis_order>", kind="euler"))
    unknown.expect("SK078.unknown", "error", says="yzx")
    assert unknown.joint().order == "xyz"


@item(63)
@pytest.mark.parametrize(
    ("plane", "key", "severity"),
    [
        ("", "SK079.missing", "warning"),
        ("<plane/>", "SK079.no_type", "warning"),
        ('<plane type="xz"/>', "SK079.unknown", "error"),
    ],
)
def test_invalid_planes_are_reported(reads: Reads, plane: str, key: str, severity: str) -> None:
    read = reads(one_body(joint_inner=plane, kind="planar"))
    finding = read.expect(key, severity)
    assert read.joint().plane == "xy"
    if "xz" in plane:
        assert finding.hint == "did you mean 'zx'?"


@item(63)
def test_text_where_only_elements_belong(reads: Reads) -> None:
    reads(one_body(joint_inner='<plane type="xy">xz</plane>', kind="planar")).expect("SK014", "warning", says="xz")
    between = world("stray" + skeleton(body() + joint()))
    reads(between).expect("SK014", "warning", says="stray")
    behind = world(skeleton(body() + "lost" + joint()))
    reads(behind).expect("SK014", "warning", says="lost")


@item(64)
@pytest.mark.parametrize(("kind", "text"), [("revolute", "1 2"), ("free", "1 2 3"), ("universal", "1")])
def test_initial_values_are_counted(reads: Reads, kind: str, text: str) -> None:
    for element in ("init_pos", "init_vel"):
        read = reads(one_body(joint_inner=f"{TYPES[kind]}<{element}>{text}</{element}>", kind=kind))
        read.ignore("SK077")
        read.expect("SK080", "error", says=element)
        assert not any(read.joint().positions + read.joint().velocities)


@item(64)
def test_an_initial_position_outside_the_limits_is_used(reads: Reads) -> None:
    inner = "<axis><xyz>1 0 0</xyz><limit><lower>-1</lower><upper>1</upper></limit></axis><init_pos>2</init_pos>"
    read = reads(one_body(joint_inner=inner, kind="revolute"))
    read.expect("SK089", "info")
    read.expect("SK081", "warning", says="2")
    assert read.joint().positions == (2.0,)


@item(65)
def test_dof_takes_precedence_over_axis_and_init_pos() -> None:
    rig = exoskel.load(EXAMPLES / "05_dofs.skel").world.model("rig")
    assert rig.dof_names == ["rail", "tilt", "neck_z", "neck_y", "neck_roll", "whip"]
    (tilt,) = rig.joint("hinge").dofs
    assert (tilt.position, tilt.position_limits, tilt.velocity_limits) == (0.2, (-1.5, 1.5), (-10.0, 10.0))
    assert (tilt.acceleration_limits, tilt.force_limits, tilt.damping) == ((-100.0, 100.0), (-5.0, 5.0), 0.01)
    neck = rig.joint("neck").dofs
    assert [dof.damping for dof in neck] == [0.1, 0.2, 0.3]
    assert (neck[2].friction, neck[2].stiffness, neck[2].rest) == (0.05, 0.4, 0.1)
    assert [dof.force_limits for dof in neck] == [(-math.inf, math.inf)] * 2 + [(-1.0, 1.0)]
    loaded = exoskel.load(EXAMPLES / "05_dofs.skel").world
    found = {b.name: p for b, p in zip(loaded.bodies(), Kinematics(loaded.models).poses(), strict=True)}
    assert np.allclose(found["pole"][:3, 3], (0.499335, 0, 0.490033), atol=1e-6)
    assert np.allclose(found["antenna"][:3, 3], (0.658270, 0, 1.274087), atol=1e-6)


@item(65)
def test_dof_and_axis_that_disagree_are_reported(reads: Reads) -> None:
    inner = (
        "<axis><xyz>1 0 0</xyz><dynamics><damping>1</damping><friction>2</friction></dynamics></axis>"
        "<dof><damping>3</damping><friction>2</friction></dof>"
    )
    read = reads(one_body(joint_inner=inner, kind="revolute"))
    read.expect("SK085", "warning", says="damping")
    assert (read.joint().dofs[0].damping, read.joint().dofs[0].friction) == (3.0, 2.0)


@item(66)
def test_the_index_is_optional_for_one_degree_of_freedom(reads: Reads) -> None:
    inner = AXIS.format("1 0 0") + '<dof name="d"><damping>2</damping></dof>'
    read = reads(one_body(joint_inner=inner, kind="revolute"))
    assert (read.joint().dof_names, read.joint().dofs[0].damping) == (["d"], 2.0)


@item(66)
@pytest.mark.parametrize(
    ("index", "key"),
    [
        ("", "SK084.missing"),
        (' local_index="3"', "SK084.range"),
        (' local_index="-2"', "SK084.range"),
        (' local_index="-1"', "SK084.range"),
        (' local_index="first"', "SK084.range"),
        (' local_index="1.0"', "SK084.range"),
    ],
)
def test_invalid_indices_of_a_dof_are_errors(reads: Reads, index: str, key: str) -> None:
    read = reads(one_body(joint_inner=f"<dof{index}><damping>2</damping></dof>", kind="ball"))
    read.expect(key, "error")
    assert all(dof.damping == 0.0 for dof in read.joint().dofs)


@item(66)
def test_a_duplicate_dof_is_reported(reads: Reads) -> None:
    twice = '<dof local_index="1"><damping>2</damping></dof><dof local_index="1"><damping>3</damping></dof>'
    read = reads(one_body(joint_inner=twice, kind="ball"))
    read.expect("SK086", "warning")
    assert [dof.damping for dof in read.joint().dofs] == [0.0, 3.0, 0.0]


@item(67)
@pytest.mark.parametrize("kind", ["ball", "free"])
def test_dof_on_ball_and_free_joints(reads: Reads, kind: str) -> None:
    inner = (
        '<dof local_index="2" name="twist"><position lower="-1" upper="2" initial="0.5"/><damping>1</damping>'
        "<spring_stiffness>4</spring_stiffness><spring_rest_position>0.1</spring_rest_position></dof>"
    )
    read = reads(one_body(joint_inner=inner, kind=kind))
    read.expect("SK089", "info")
    read.expect("SK092", "info")
    twist = read.joint().dofs[2]
    assert read.joint().dof_names[2] == "twist"
    assert (twist.position, twist.position_limits, twist.damping) == (0.5, (-1.0, 2.0), 1.0)
    assert (twist.stiffness, twist.rest) == (4.0, 0.1)


@item(68)
@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("weld", []),
        ("revolute", ["j"]),
        ("prismatic", ["j"]),
        ("screw", ["j"]),
        ("universal", ["j_1", "j_2"]),
        ("ball", ["j_x", "j_y", "j_z"]),
        ("euler", ["j_z", "j_y", "j_x"]),
        ("translational", ["j_x", "j_y", "j_z"]),
        ("translational2d", ["j_1", "j_2"]),
        ("planar", ["j_y", "j_z", "j_rot"]),
        ("free", ["j_rot_x", "j_rot_y", "j_rot_z", "j_pos_x", "j_pos_y", "j_pos_z"]),
    ],
)
def test_default_names_of_degrees_of_freedom(reads: Reads, kind: str, names: list[str]) -> None:
    read = reads(one_body(joint_inner=TYPES[kind], kind=kind))
    read.ignore("SK090", "SK077")
    assert read.joint().dof_names == names


@item(68)
def test_the_third_planar_dof_has_the_name_of_dart(reads: Reads) -> None:
    bodies = body(name="a") + body(name="b")
    joints = joint(TYPES["planar"], "planar", "j", child="a") + joint(TYPES["planar"], "planar", "k")
    read = reads(world(skeleton(bodies + joints)), semantics="dart")
    assert read.model.dof_names == ["j_y", "j_z", "default", "k_y", "k_z", "default(1)"]


def test_names_of_degrees_of_freedom_are_unique(reads: Reads) -> None:
    bodies = body(name="a") + body(name="b")
    joints = joint(kind="ball", child="a") + joint(AXIS.format("1 0 0"), "revolute", "j_x")
    read = reads(world(skeleton(bodies + joints)))
    read.expect("SK041.repeated", "warning", says="'j_x(1)'")
    assert read.model.dof_names == ["j_x", "j_y", "j_z", "j_x(1)"]


@item(69)
@pytest.mark.parametrize("word", ["force", "passive", "servo", "acceleration", "velocity", "locked"])
def test_every_actuator_type_is_read(reads: Reads, word: str) -> None:
    assert reads(one_body(attributes=f' actuator="{word}"')).joint().actuator == word


@item(69)
def test_actuator_torque_is_read_as_force(reads: Reads) -> None:
    read = reads(one_body(attributes=' actuator="torque"'))
    read.expect("SK076.torque", "warning")
    assert read.joint().actuator == "force"


@item(69)
@pytest.mark.parametrize("word", ["mimic", "motor"])
def test_unknown_actuators_are_errors(reads: Reads, word: str) -> None:
    read = reads(one_body(attributes=f' actuator="{word}"'))
    read.expect("SK076.unknown", "error", says=word)
    assert read.joint().actuator == "force"


@item(70)
@pytest.mark.parametrize(("inside", "damping"), [("", 0.3), ("<dynamics><damping>0.7</damping></dynamics>", 0.7)])
def test_damping_directly_in_an_axis_is_read_with_a_warning(reads: Reads, inside: str, damping: float) -> None:
    inner = f"<axis><xyz>1 0 0</xyz><damping>0.3</damping>{inside}</axis>"
    read = reads(one_body(joint_inner=inner, kind="revolute"))
    read.expect("SK087", "warning")
    assert read.joint().dofs[0].damping == damping


@item(71)
def test_misspelled_springs_are_read(reads: Reads) -> None:
    dynamics = "<sprint_stiffness>5</sprint_stiffness><sprint_rest_position>0.1</sprint_rest_position>"
    read = reads(one_body(joint_inner=f"<axis><xyz>1 0 0</xyz><dynamics>{dynamics}</dynamics></axis>", kind="revolute"))
    read.expect("SK088.sprint", "warning")
    read.expect("SK088.sprint", "warning")
    assert (read.joint().dofs[0].stiffness, read.joint().dofs[0].rest) == (5.0, 0.1)


@item(71)
def test_the_correct_name_takes_precedence(reads: Reads) -> None:
    dynamics = "<sprint_stiffness>5</sprint_stiffness><spring_stiffness>7</spring_stiffness>"
    read = reads(one_body(joint_inner=f"<axis><xyz>1 0 0</xyz><dynamics>{dynamics}</dynamics></axis>", kind="revolute"))
    read.expect("SK088.sprint", "warning")
    assert read.joint().dofs[0].stiffness == 7.0


@item(71)
def test_effort_and_velocity_are_limits(reads: Reads) -> None:
    limit = "<limit><effort>5</effort><velocity>7</velocity></limit>"
    read = reads(one_body(joint_inner=f"<axis><xyz>1 0 0</xyz>{limit}</axis>", kind="revolute"))
    read.expect("SK088.effort", "warning")
    read.expect("SK088.velocity", "warning")
    (dof,) = read.joint().dofs
    assert (dof.force_limits, dof.velocity_limits) == ((-5.0, 5.0), (-7.0, 7.0))


@item(71)
@pytest.mark.parametrize("name", ["stiffness", "spring_damping"])
def test_names_that_are_not_applied(reads: Reads, name: str) -> None:
    inner = f"<axis><xyz>1 0 0</xyz><dynamics><{name}>5</{name}></dynamics></axis>"
    read = reads(one_body(joint_inner=inner, kind="revolute"))
    read.expect(f"SK088.{name}", "warning")
    assert (read.joint().dofs[0].stiffness, read.joint().dofs[0].damping) == (0.0, 0.0)


def hinge(name: str, parent: str, child: str) -> str:
    return joint(AXIS.format("1 0 0"), "revolute", name, parent, child)


def bodies(*names: str) -> str:
    return "".join(body(name=name) for name in names)


TOPOLOGIES = {
    "implicit root": (bodies("a", "b") + hinge("j", "a", "b"), ["SK074"], ["root", "j"]),
    "unconnected": (bodies("a", "b") + hinge("j", "world", "b"), ["SK074"], ["j", "root"]),
    "one body, no joint": (bodies("a"), ["SK074"], ["root"]),
    "two parents": (
        bodies("a", "b") + hinge("i", "world", "a") + hinge("j", "world", "b") + hinge("k", "a", "b"),
        ["SK072"],
        ["i", "j"],
    ),
    "self": (bodies("a") + hinge("j", "a", "a"), ["SK073.self", "SK074"], ["root"]),
    "cycle of two": (
        bodies("a", "b") + hinge("i", "b", "a") + hinge("j", "a", "b"),
        ["SK073.cycle", "SK074"],
        ["root", "i"],
    ),
    "cycle of three with a tail": (
        bodies("a", "b", "c", "d")
        + hinge("i", "c", "a")
        + hinge("j", "a", "b")
        + hinge("k", "b", "c")
        + hinge("l", "c", "d"),
        ["SK073.cycle", "SK074"],
        ["root", "i", "j", "l"],
    ),
    "unknown parent": (
        bodies("a", "b") + hinge("i", "world", "a") + hinge("j", "aa", "b"),
        ["SK071.parent", "SK074"],
        ["i", "root"],
    ),
    "unknown child": (bodies("a") + hinge("i", "world", "a") + hinge("j", "a", "zz"), ["SK071.child"], ["i"]),
    "two roots": (bodies("a", "b") + hinge("i", "world", "a") + hinge("j", "world", "b"), [], ["i", "j"]),
    "several implicit": (bodies("a", "b") + joint(name="root", child="a"), ["SK074"], ["root", "root(1)"]),
}


@item(72)
@pytest.mark.parametrize("name", TOPOLOGIES)
def test_bodies_and_joints_of_any_topology_become_a_tree(reads: Reads, name: str) -> None:
    inner, codes, order = TOPOLOGIES[name]
    begin = time.monotonic()
    read = reads(world(skeleton(inner)))
    assert time.monotonic() - begin < 1.0
    read.expect_all(*codes)
    assert [j.name for j in read.model.joints] == order
    assert Kinematics([read.model]).poses().shape == (len(read.model.bodies), 4, 4)


@item(72)
def test_unknown_bodies_get_suggestions(reads: Reads) -> None:
    read = reads(world(skeleton(bodies("upper_arm") + hinge("j", "world", "uper_arm"))))
    assert read.expect("SK071.child", "error").hint == "did you mean 'upper_arm'?"
    read.expect("SK074")


@item(72)
def test_a_cycle_is_reported_with_its_bodies(reads: Reads) -> None:
    read = reads(world(skeleton(bodies("a", "b") + hinge("i", "b", "a") + hinge("j", "a", "b"))))
    read.expect("SK073.cycle", "error", says="'b'", path="skeleton[s]/joint[j]")
    read.expect("SK074")


@item(72)
def test_a_joint_without_a_parent_is_attached_to_the_world(reads: Reads) -> None:
    read = reads(world(skeleton(bodies("b") + joint().replace("<parent>world</parent>", ""))))
    read.expect("SK075", "warning")
    assert read.joint().parent is None


@item(72)
@pytest.mark.parametrize(("child", "code"), [("", "SK020"), ("<child></child>", "SK021")])
def test_a_joint_without_a_child_is_ignored(reads: Reads, child: str, code: str) -> None:
    read = reads(world(skeleton(bodies("b") + joint().replace("<child>b</child>", child))))
    read.expect(code, "error")
    read.expect("SK074", "warning")


@item(72)
@pytest.mark.parametrize(("attribute", "key"), [("", "SK070.missing"), (' type="hinge"', "SK070.unknown")])
def test_invalid_joint_types_are_errors(reads: Reads, attribute: str, key: str) -> None:
    read = reads(world(skeleton(bodies("b") + joint().replace(' type="free"', attribute))))
    read.expect(key, "error")
    read.expect("SK074", "warning")


@item(73)
def test_creation_order_of_the_example(reads: Reads) -> None:
    read = reads((EXAMPLES / "08_topology.skel").read_text())
    read.expect("SK074", "warning", says="'trunk'")
    implicit, forest, pinned = read.world.models
    assert [b.name for b in implicit.bodies] == ["trunk", "limb"]
    assert [(j.name, j.kind, j.implicit) for j in implicit.joints] == [
        ("root", "free", True),
        ("elbow", "revolute", False),
    ]
    assert implicit.dof_count == 7
    poses = Kinematics([implicit]).poses()
    assert np.allclose(poses[0], spatial.transform(spatial.axis_rotation("z", 0.5), [0, 0, 1]), atol=1e-12)
    assert np.allclose(poses[1], spatial.transform(np.eye(3), [0.4, 0, 1]), atol=1e-12)
    assert [b.name for b in forest.bodies] == ["stem", "leaf", "other"]
    assert forest.dof_names[:3] == ["stem_joint", "leaf_joint", "other_joint_rot_x"]
    assert sum(j.parent is None for j in forest.joints) == 2
    assert pinned.static


@item(73)
def test_joints_listed_from_the_leaf_to_the_root(reads: Reads) -> None:
    inner = bodies("a", "b", "c") + hinge("c", "b", "c") + hinge("b", "a", "b") + hinge("a", "world", "a")
    read = reads(world(skeleton(inner)))
    assert [j.name for j in read.model.joints] == ["a", "b", "c"]


def test_the_velocity_of_a_rotated_free_joint_depends_on_the_version(reads: Reads) -> None:
    turned = "<transformation>0 0 0 0 0 1.5707963267948966</transformation>"
    document = one_body(turned, "<init_vel>0 0 0 1 0 0</init_vel>")
    read = reads(document)
    read.expect("SK091", "info")
    assert read.joint().velocities == (0.0, 0.0, 0.0, 1.0, 0.0, 0.0)
    older = reads(document, free_velocity_axes="child")
    older.expect("SK091", "info")
    assert np.allclose(older.joint().velocities, (0, 0, 0, 0, 1, 0), atol=1e-12)


def test_the_velocity_of_an_unrotated_free_joint_is_the_same_in_all_versions(reads: Reads) -> None:
    read = reads(one_body(joint_inner="<init_vel>0 0 0 1 0 0</init_vel>"), free_velocity_axes="child")
    assert read.joint().velocities == (0.0, 0.0, 0.0, 1.0, 0.0, 0.0)


def test_an_euler_joint_at_its_singularity(reads: Reads) -> None:
    inner = f"<axis_order>xyz</axis_order><init_pos>0 {math.pi / 2} 0</init_pos>"
    reads(one_body(joint_inner=inner, kind="euler")).expect("SK094", "warning")


@pytest.mark.parametrize("name", ["damping", "friction", "spring_stiffness"])
def test_negative_dynamics_are_errors(reads: Reads, name: str) -> None:
    inner = f"<axis><xyz>1 0 0</xyz><dynamics><{name}>-1</{name}></dynamics></axis>"
    read = reads(one_body(joint_inner=inner, kind="revolute"))
    read.expect("SK083", "error", says=name)
    assert (read.joint().dofs[0].damping, read.joint().dofs[0].friction, read.joint().dofs[0].stiffness) == (0, 0, 0)


def test_reversed_limits_are_errors(reads: Reads) -> None:
    inner = "<axis><xyz>1 0 0</xyz><limit><lower>1</lower><upper>-1</upper></limit></axis>"
    read = reads(one_body(joint_inner=inner, kind="revolute"))
    read.expect("SK082", "error")
    assert read.joint().dofs[0].position_limits == (-math.inf, math.inf)


def test_infinite_limits_are_read(reads: Reads) -> None:
    inner = "<axis><xyz>1 0 0</xyz><limit><lower>-INF</lower><upper>infinity</upper></limit></axis>"
    assert reads(one_body(joint_inner=inner, kind="revolute")).joint().dofs[0].position_limits == (-math.inf, math.inf)


@pytest.mark.parametrize(
    ("kind", "inner", "key"),
    [
        ("ball", "<axis_order>zyx</axis_order>", "SK013.axis_order"),
        ("ball", '<plane type="xy"/>', "SK013.plane"),
        ("revolute", "<axis><xyz>1 0 0</xyz><pitch>1</pitch></axis>", "SK013.pitch"),
        ("revolute", "<axis><xyz>1 0 0</xyz><thread_pitch>1</thread_pitch></axis>", "SK013.thread_pitch"),
        ("weld", "<init_pos>1</init_pos>", "SK013.weld"),
        ("ball", '<dof local_index="0"><position><lower>1</lower></position></dof>', "SK013.dof_limit"),
    ],
)
def test_children_without_effect_on_the_joint_are_reported(reads: Reads, kind: str, inner: str, key: str) -> None:
    reads(one_body(joint_inner=inner, kind=kind)).expect(key, "warning")


def test_unnamed_and_repeated_joint_names_become_unique(reads: Reads) -> None:
    nameless = joint(child="a").replace(' name="j"', "")
    read = reads(world(skeleton(bodies("a", "b", "c") + nameless + joint() + joint(child="c"))))
    read.expect("SK041.missing", "warning", says="'joint'")
    read.expect("SK041.repeated", "warning", says="'j(1)'")
    assert [j.name for j in read.model.joints] == ["joint", "j", "j(1)"]


def test_counts_of_the_first_example() -> None:
    drop = exoskel.load(EXAMPLES / "01_drop.skel").world
    assert [(m.name, m.dof_count) for m in drop.models] == [("floor", 0), ("crate", 6)]
