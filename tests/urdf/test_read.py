"""Reading URDF: the meaning of each element, and all diagnostics."""

from __future__ import annotations

from math import inf, pi
from pathlib import Path

import numpy as np
import pytest

import exoskel
from exoskel import Kinematics, Model, Scene, spatial
from exoskel.cli.main import main
from exoskel.formats.urdf.codes import CATALOGUE
from exoskel.scene.shape import Box, Capsule, Mesh
from tests.urdf.support import SAMPLES, read_text

INERTIAL = '<inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
LINK = f'<link name="a">{INERTIAL}</link>'
PAIR = '<link name="a"/><link name="b"/>'
ENDS = '<parent link="a"/><child link="b"/>'


def robot(inside: str) -> str:
    return f'<robot name="r">\n{inside}\n</robot>'


def joint(inside: str = "", type: str = "continuous", name: str = "j", ends: str = ENDS) -> str:
    return f'<joint name="{name}" type="{type}">{ends}{inside}</joint>'


def effort(name: str, interface: str) -> str:
    command = f'<command_interface name="{interface}"/>'
    return f'<ros2_control name="c" type="system"><joint name="{name}">{command}</joint></ros2_control>'


def control(parameters: str) -> str:
    command = f'<command_interface name="effort">{parameters}</command_interface>'
    return f'\n<ros2_control name="c" type="system"><joint name="j">{command}</joint></ros2_control>'


def model(text: str) -> Model:
    scene = read_text(text)
    assert [str(d) for d in scene.diagnostics if d.severity != "info"] == []
    return scene.world.models[0]


def keys(scene: Scene) -> list[str]:
    return [diagnostic.key for diagnostic in scene.diagnostics]


# --- meaning ------------------------------------------------------------------------------------------


def test_a_root_floats_unless_it_is_the_world() -> None:
    one = model(robot(PAIR + joint()))
    assert [(j.name, j.kind, j.implicit) for j in one.joints] == [("a_root", "free", True), ("j", "revolute", False)]
    other = model(robot('<link name="world"/><link name="b"/>' + joint(ends='<parent link="world"/><child link="b"/>')))
    assert [(j.name, j.kind, j.parent) for j in other.joints] == [("j", "revolute", None)]
    assert [b.name for b in other.bodies] == ["b"]


def test_joints_to_an_undeclared_world_attach_to_the_world_as_in_drake(tmp_path: Path) -> None:
    fixed = joint(ends='<parent link="world"/><child link="a"/>', type="fixed", name="base")
    text = robot(LINK + LINK.replace('"a"', '"b"') + fixed + joint())
    scene = read_text(text)
    assert [(d.key, d.severity) for d in scene.diagnostics] == [("UR302.world", "warning")]
    found = scene.world.models[0].joints
    assert [(j.name, j.kind, j.parent and j.parent.name) for j in found] == [
        ("base", "weld", None),
        ("j", "revolute", "a"),
    ]
    declared = read_text(text.replace("<link", '<link name="world"/><link', 1))
    assert exoskel.diff(scene, declared) == []
    file = tmp_path / "robot.urdf"
    file.write_text(text)
    exoskel.save(exoskel.load(file), file)
    assert file.read_text() == text
    assert keys(read_text(text.replace(joint(), ""))) == ["UR305", "UR302.world"]


def test_rpy_rotates_about_fixed_axes() -> None:
    made = model(robot(PAIR + joint('<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><axis xyz="0 0 1"/>')))
    pose = Kinematics([made]).poses()[1]
    rotation = spatial.axis_rotation("z", 0.3) @ spatial.axis_rotation("y", 0.2) @ spatial.axis_rotation("x", 0.1)
    assert np.allclose(pose, spatial.transform(rotation, [1, 2, 3]), atol=1e-15)


def test_moments_are_rotated_to_the_link_frame() -> None:
    inertial = (
        f'<inertial><origin xyz="1 0 0" rpy="0 0 {pi / 2}"/><mass value="3"/>'
        '<inertia ixx="1" iyy="2" izz="2.5" ixy="0" ixz="0" iyz="0.1"/></inertial>'
    )
    body = model(robot(f'<link name="a">{inertial}</link>')).bodies[0]
    assert (body.mass, body.com) == (3.0, (1.0, 0.0, 0.0))
    assert np.allclose(body.moment, (2.0, 1.0, 2.5, 0.0, -0.1, 0.0), atol=1e-15)


def test_a_link_without_inertial_has_no_mass() -> None:
    body = model(robot('<link name="a"/>')).bodies[0]
    assert (body.mass, body.moment) == (0.0, (0.0,) * 6)


@pytest.mark.parametrize(
    ("type", "kind", "dofs"),
    [("fixed", "weld", 0), ("continuous", "revolute", 1), ("floating", "free", 6), ("planar", "planar", 3)],
)
def test_joint_types_become_joint_kinds(type: str, kind: str, dofs: int) -> None:
    made = model(robot(PAIR + joint(type=type))).joints[1]
    assert (made.kind, made.dof_count) == (kind, dofs)


@pytest.mark.parametrize("normal", ["0 0 1", "1 0 0", "0 -2 0", "0 0 -1", "0.6 0 0.8"])
def test_a_planar_joint_moves_in_the_plane_normal_to_its_axis(normal: str) -> None:
    made = model(robot(PAIR + joint(f'<axis xyz="{normal}"/>', type="planar")))
    n = spatial.unit([float(v) for v in normal.split()])
    moved = Kinematics([made]).poses([0.0] * 6 + [0.3, 0.4, 0.0])[1]
    assert abs(moved[:3, 3] @ n) < 1e-15
    assert np.isclose(np.linalg.norm(moved[:3, 3]), 0.5)
    rotation = Kinematics([made]).poses([0.0] * 6 + [0.0, 0.0, 0.5])[1]
    assert np.allclose(rotation[:3, :3], spatial.axis_angle_matrix(n, 0.5), atol=1e-12)


def test_limits_and_dynamics_are_read() -> None:
    inside = '<limit lower="-1" upper="2" effort="3" velocity="4"/><dynamics damping="5" friction="6"/>'
    dof = model(robot(PAIR + joint(inside, type="revolute"))).joints[1].dofs[0]
    assert dof.position_limits == (-1.0, 2.0)
    assert (dof.force_limits, dof.velocity_limits) == ((-3.0, 3.0), (-4.0, 4.0))
    assert (dof.damping, dof.friction) == (5.0, 6.0)


def test_a_huge_limit_is_read_as_infinite() -> None:
    inside = '<limit lower="-1e30" upper="1e30" effort="1e30" velocity="1e30"/>'
    dof = model(robot(PAIR + joint(inside, type="prismatic"))).joints[1].dofs[0]
    assert dof.position_limits == dof.force_limits == dof.velocity_limits == (-inf, inf)


def test_mimic_is_read() -> None:
    third = '<link name="c"/>' + joint(
        '<mimic joint="j" multiplier="2" offset="0.5"/>', name="k", ends='<parent link="b"/><child link="c"/>'
    )
    mimic = model(robot(PAIR + joint() + third)).joint("k").mimic
    assert mimic is not None
    assert (mimic.joint, mimic.multiplier, mimic.offset) == ("j", 2.0, 0.5)


def visual(inside: str) -> str:
    return robot(f'<link name="a">{INERTIAL}<visual>{inside}</visual></link>')


def test_materials_are_found_by_name_wherever_they_are_defined() -> None:
    box = '<geometry><box size="1 2 3"/></geometry>'
    blue = '<material name="blue"><color rgba="0 0 1 1"/></material>'
    text = robot(
        f'<link name="a"><visual>{box}<material name="blue"/></visual><visual>{box}'
        '<material name="red"><color rgba="1 0 0 1"/></material></visual>'
        f'<visual>{box}<material name="red"/></visual></link>{blue}'
    )
    shapes = model(text).bodies[0].visuals
    assert [shape.color for shape in shapes] == [(0, 0, 1, 1), (1, 0, 0, 1), (1, 0, 0, 1)]
    assert shapes[0].geometry == Box((1.0, 2.0, 3.0))


@pytest.mark.parametrize("to", ["urdf", "mjcf", "sdf"])
def test_a_material_without_a_name_has_its_own_colour_as_in_files_of_solidworks(to: str) -> None:
    one, other = (f'<material name=""><color rgba="{red} 0 0 1"/></material>' for red in (0.25, 0.75))
    box = '<visual><geometry><box size="1 1 1"/></geometry>{}</visual>'
    scene = exoskel.load(robot(f'<link name="a">{box.format(one)}{box.format(other)}{box.format("")}</link>'))
    assert not scene.diagnostics
    assert [shape.color and shape.color[0] for shape in scene.world.models[0].bodies[0].visuals] == [0.25, 0.75, None]
    report = exoskel.convert(scene, to=to)
    assert not report.losses and b"0.25" in report.data and b"0.75" in report.data


def test_meshes_are_found_by_package_and_path() -> None:
    for uri, options in (
        ("package://samples/obj/gear.obj", {"paths": _packages()}),
        (f"file://{SAMPLES}/obj/gear.obj", {}),
        (f"{SAMPLES}/obj/gear.obj", {}),
    ):
        scene = read_text(visual(f'<geometry><mesh filename="{uri}" scale="1 1 -2"/></geometry>'), **options)
        geometry = scene.world.models[0].bodies[0].visuals[0].geometry
        assert isinstance(geometry, Mesh)
        assert geometry.path is not None
        assert geometry.extent is not None
        assert geometry.scale == (1.0, 1.0, -2.0)
        assert keys(scene) == []


def _packages() -> object:
    from exoskel.source.file_lookup import SearchPaths

    return SearchPaths(packages=[SAMPLES.parent])


def test_parents_come_before_children_in_document_order() -> None:
    links = "".join(f'<link name="{n}"/>' for n in "dcba")
    ties = "".join(
        joint(name=f"{p}{c}", ends=f'<parent link="{p}"/><child link="{c}"/>') for p, c in ("ab", "bc", "bd")
    )
    assert [b.name for b in model(robot(links + ties)).bodies] == ["a", "b", "d", "c"]


# --- every diagnostic ---------------------------------------------------------------------------------

BOX = '<geometry><box size="1 1 1"/></geometry>'
TIE = joint(type="revolute", inside="{}")
XACRO = {f"UR004.{name}" for name in ("missing", "confined", "failed", "empty", "expanded", "argument", "warning")}
"""Tested in test_xacro.py."""
FINDINGS: dict[str, tuple[str, int]] = {
    "UR001": ("<robot", 1),
    "UR001.kind": ('{"robot": 1}', 0),
    "UR002": ("<machine/>", 1),
    "UR002.format": ("<sdf/>", 1),
    "UR003.entity": ('<!DOCTYPE robot [<!ENTITY x "y">]><robot name="r"/>', 1),
    "UR003.doctype": (f'<!DOCTYPE robot>\n<robot name="r">{LINK}</robot>', 1),
    "UR004": (robot('<xacro:property name="x" value="1"/>'), 2),
    "UR005": ('<robot name="r"/>', 1),
    "UR101": (robot(LINK.replace("</link>", "<colour/></link>")), 2),
    "UR101.prefixed": ('<robot name="r" xmlns:drake="d">' + LINK + "<drake:x/></robot>", 1),
    "UR101.misspelt": (robot(LINK.replace("</link>", "<visula/></link>")), 2),
    "UR102": (robot('<link name="a" colour="b"/>'), 2),
    "UR102.misspelt": (robot('<link name="a" nmae="b"/>'), 2),
    "UR102.prefixed": ('<robot name="r" xmlns:d="d"><link name="a" d:b="c"/></robot>', 1),
    "UR103": (robot(f'<link name="a">{INERTIAL}\n{INERTIAL}</link>'), 3),
    "UR104": (robot(f"text {LINK}"), 2),
    "UR105": (robot('<link name="a"><visual/></link>'), 2),
    "UR106": (robot('<link name="a"><visual><geometry><sphere/></geometry></visual></link>'), 2),
    "UR106.name": (robot("<link/>"), 2),
    "UR106.limit": (robot(PAIR + joint('<limit lower="0" upper="1" effort="1"/>', type="revolute")), 2),
    "UR107": (robot(LINK + "\n<gazebo><x/></gazebo>"), 3),
    "UR108": (robot(PAIR + "\n" + joint('<calibration rising="0"/>')), 3),
    "UR109": (robot(PAIR + joint() + "\n" + effort("j", "effort")), 3),
    "UR109.initial": (
        robot(
            PAIR
            + joint()
            + '\n<ros2_control name="c" type="system"><joint name="j"><state_interface name="position">'
            + '<param name="initial_value">1</param></state_interface></joint></ros2_control>'
        ),
        3,
    ),
    "UR110": (robot(PAIR + joint() + "\n" + effort("j", "velocity")), 3),
    "UR111": (robot(PAIR + joint() + "\n" + effort("k", "effort")), 3),
    "UR112": (robot(PAIR + joint() + control('<param name="max">abc</param>')), 3),
    "UR112.range": (robot(PAIR + joint() + control('<param name="min">2</param><param name="max">1</param>')), 3),
    "UR408": (visual(BOX + '<material name="m"><texture filename="x.png"/></material>'), 2),
    "UR201": (visual('<geometry><sphere radius="1,5"/></geometry>'), 2),
    "UR202": (visual('<geometry><sphere radius="nan"/></geometry>'), 2),
    "UR203": (visual('<geometry><box size="1 1"/></geometry>'), 2),
    "UR204": (robot(PAIR + joint(type="ball")), 2),
    "UR205": (robot('<link name=" "/>'), 2),
    "UR301": (robot(LINK + "\n" + LINK), 3),
    "UR301.material": (robot(LINK + '<material name="m"/>\n<material name="m"/>'), 3),
    "UR302": (robot(PAIR + "\n" + joint(ends='<parent link="a"/><child link="c"/>')), 3),
    "UR302.ends": (robot(PAIR + "\n" + joint(ends='<parent link="a"/>')), 3),
    "UR302.world": (robot('<link name="b"/>\n' + joint(ends='<parent link="world"/><child link="b"/>')), 3),
    "UR303": (robot(PAIR + '<link name="c"/>' + joint() + "\n" + joint(name="k", ends='<parent link="c"/><child link="b"/>')), 3),
    "UR304": (robot(PAIR + joint() + "\n" + joint(name="k", ends='<parent link="b"/><child link="a"/>')), 3),
    "UR305": (robot('<link name="a"/>\n<link name="b"/>'), 3),
    "UR401": (robot(LINK.replace('value="2"', 'value="-2"')), 2),
    "UR402": (robot(LINK.replace('ixx="1"', 'ixx="9"')), 2),
    "UR402.massless": (robot(LINK.replace('value="2"', 'value="0"')), 2),
    "UR403": (visual("<geometry/>"), 2),
    "UR403.several": (visual('<geometry><box size="1 1 1"/><sphere radius="1"/></geometry>'), 2),
    "UR403.capsule": (visual('<geometry><capsule radius="1" length="2"/></geometry>'), 2),
    "UR404": (visual('<geometry><sphere radius="0"/></geometry>'), 2),
    "UR405.lost": (visual('<geometry><mesh filename="package://nowhere/x.obj"/></geometry>'), 2),
    "UR405.odd": (visual(f'<geometry><mesh filename=" {SAMPLES}/obj/gear.obj"/></geometry>'), 2),
    "UR406": (visual(BOX + '<material name="blue"/>'), 2),
    "UR407": (robot(f'<link name="world">{INERTIAL}</link>'), 2),
    "UR501": (robot(PAIR + joint('<axis xyz="0 0 0"/>')), 2),
    "UR502": (robot(PAIR + joint(type="prismatic")), 2),
    "UR502.order": (robot(PAIR + joint('<limit lower="1" upper="-1" effort="1" velocity="1"/>', type="revolute")), 2),
    "UR502.negative": (robot(PAIR + joint('<limit effort="-1" velocity="1"/>')), 2),
    "UR502.zero": (robot(PAIR + joint('<limit effort="0" velocity="1"/>')), 2),
    "UR503": (robot(PAIR + joint('<mimic joint="k"/>')), 2),
    "UR503.self": (robot(PAIR + joint('<mimic joint="j"/>')), 2),
    "UR503.unlike": (robot(PAIR + joint('<mimic joint="a_root"/>')), 2),
    "UR504": (robot(PAIR + joint('<dynamics damping="-1"/>')), 2),
    "UR505": (robot(PAIR + joint(type="planar")), 2),
}  # fmt: skip
REFUSED = ("UR001", "UR002", "UR003.entity", "UR004")


@pytest.mark.parametrize("key", FINDINGS)
def test_a_diagnostic_has_its_line_and_the_scene_is_read(key: str) -> None:
    text, line = FINDINGS[key]
    scene = read_text(text, expand=False)
    assert key in keys(scene)
    found = next(d for d in scene.diagnostics if d.key == key)
    assert (found.line or 0) == line
    assert "{" not in found.message or key == "UR004"
    if key.startswith(REFUSED):
        assert scene.worlds == []
    else:
        made = scene.world.models[0]
        assert len(made.joints) == len(made.bodies)
        assert np.isfinite(Kinematics([made]).poses()).all()


def test_files_over_the_size_limit_are_rejected() -> None:
    from exoskel.source.limits import Limits

    assert keys(read_text(robot(LINK), limits=Limits(bytes=10))) == ["UR001.limit"]


def test_every_message_has_a_test_case() -> None:
    of_reader = {key for key in CATALOGUE.messages if key < "UR6"}
    assert of_reader == {*FINDINGS, "UR001.limit", *XACRO}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (robot('<xacro:macro name="leg"/>'), "a.urdf"),
        ('<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><link name="${n}"/></robot>', "a.urdf"),
        (robot('<link name="$(arg n)"/>'), "a.urdf.xacro"),
    ],
)
def test_xacro_files_that_are_not_expanded_are_rejected_as_xacro(text: str, name: str) -> None:
    scene = read_text(text, name, expand=False)
    assert keys(scene) == ["UR004"]
    assert "xacro" in scene.diagnostics[0].message


def test_output_of_xacro_is_read() -> None:
    scene = read_text(f'<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">{LINK}</robot>', "a.xacro")
    assert keys(scene) == []
    assert len(scene.world.models[0].bodies) == 1


def test_invalid_values_are_replaced() -> None:
    first = read_text(FINDINGS["UR401"][0]).world.models[0].bodies[0]
    assert first.mass == 0.0
    limits = read_text(FINDINGS["UR502.order"][0]).world.models[0].joints[1].dofs[0].position_limits
    assert limits == (-1.0, 1.0)
    assert read_text(FINDINGS["UR204"][0]).world.models[0].joints[1].kind == "weld"
    assert [b.name for b in read_text(FINDINGS["UR301"][0]).world.models[0].bodies] == ["a", "a(1)"]
    capsule = read_text(FINDINGS["UR403.capsule"][0]).world.models[0].bodies[0].visuals[0].geometry
    assert capsule == Capsule(1.0, 2.0)
    assert read_text(FINDINGS["UR407"][0]).world.models[0].joints[0].kind == "weld"


def test_strict_reading_reports_warnings_as_errors() -> None:
    scene = read_text(FINDINGS["UR406"][0], strict=True)
    assert [d.severity for d in scene.diagnostics] == ["error"]


def test_a_long_chain_is_read(tmp_path: Path) -> None:
    count = 3000
    links = "".join(f'<link name="l{i}"/>' for i in reversed(range(count)))
    ties = "".join(
        f'<joint name="j{i}" type="fixed"><parent link="l{i - 1}"/><child link="l{i}"/></joint>'
        for i in range(1, count)
    )
    assert len(model(robot(links + ties)).bodies) == count


def test_a_misspelt_material_and_joint_are_reported_once_and_fixed(tmp_path: Path) -> None:
    text = (
        '<robot name="r"><material name="crimson"><color rgba="1 0 0 1"/></material>'
        '<link name="a"><visual><geometry><sphere radius="1"/></geometry><material name="crimsn"/></visual></link>'
        '<link name="b"/><link name="c"/>'
        '<joint name="shoulder" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint>'
        '<joint name="k" type="continuous"><parent link="a"/><child link="c"/><axis xyz="0 0 1"/>'
        '<mimic joint="sholder"/></joint></robot>'
    )
    file = tmp_path / "r.urdf"
    file.write_text(text)
    found = [d.code for d in exoskel.load(file).diagnostics if d.severity.value != "info"]
    assert found == ["UR406", "UR503"]
    assert main(["check", str(file), "--fix"]) == 0
    assert file.read_text() == text.replace("crimsn", "crimson").replace("sholder", "shoulder")
