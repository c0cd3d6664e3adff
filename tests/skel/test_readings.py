"""Section 13.1: where reading `written` and reading `dart` differ, and that both report it (item 102)."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import exoskel
from exoskel import Kinematics, Scene
from tests.support.checklist import item
from tests.support.findings import Reads, load_text
from tests.support.geometry import TETRA
from tests.support.xml import BOX, INERTIA, MOMENT, PHYSICS, body, joint, one_body, one_shape, skel, skeleton, world

AXIS = "<axis><xyz>1 0 0</xyz>{}</axis>"
SOFT = (
    "<soft_shape><total_mass>1</total_mass><geometry><box><size>1 1 1</size><frags>3 3 3</frags></box>"
    "</geometry></soft_shape>"
)


class Row(NamedTuple):
    """A document, the code that both readings report, a value of the scene, and that value in each reading."""

    document: str
    code: str
    look: Callable[[Scene], Any]
    written: Any
    dart: Any


def model(scene: Scene) -> exoskel.Model:
    return scene.world.models[0]


def only_body(scene: Scene) -> exoskel.Body:
    return model(scene).bodies[0]


def only_joint(scene: Scene) -> exoskel.Joint:
    return model(scene).joints[0]


def dof(scene: Scene) -> exoskel.Dof:
    return only_joint(scene).dofs[0]


def hinge(inner: str) -> str:
    return one_body(joint_inner=AXIS.format(inner), kind="revolute")


def with_step(text: str) -> str:
    return world(skeleton(body() + joint()), physics=f"<time_step>{text}</time_step><gravity>0 0 0</gravity>")


def universal_pose(scene: Scene) -> list[float]:
    pose = Kinematics(scene.world.models).poses([0.3, 0.4])[0]
    return np.round(pose[:3, 3], 9).tolist()


def damped_dof(index: str) -> str:
    return f'<dof local_index="{index}"><damping>3</damping></dof>'


UNIVERSAL = one_body(
    "<transformation>1 2 3 0 0 0</transformation>",
    "<transformation>0 0 0 0 0 0</transformation><axis><xyz>2 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2>",
    "universal",
)

ROWS: dict[str, Row] = {
    "limits": Row(
        hinge("<limit><lower>-1</lower><upper>1</upper></limit>"),
        "SK089",
        lambda s: (only_joint(s).limits_enforced, dof(s).position_limits),
        (True, (-1.0, 1.0)),
        (False, (-1.0, 1.0)),
    ),
    "immobile": Row(
        world(skeleton("<immobile>1</immobile>" + body() + joint())), "SK043", lambda s: model(s).static, True, False
    ),
    "inertia/transformation": Row(
        one_body(
            f"<inertia><mass>1</mass><transformation>0 0 1 0 0 0</transformation>"
            f"<moment_of_inertia>{MOMENT}</moment_of_inertia></inertia>"
        ),
        "SK053",
        lambda s: only_body(s).com,
        (0.0, 0.0, 1.0),
        (0.0, 0.0, 0.0),
    ),
    "sprint": Row(
        hinge("<dynamics><sprint_stiffness>5</sprint_stiffness></dynamics>"),
        "SK088",
        lambda s: dof(s).stiffness,
        5.0,
        0.0,
    ),
    "limits of velocity": Row(
        one_body(joint_inner=AXIS.format("") + '<dof><velocity lower="-1" upper="1"/></dof>', kind="revolute"),
        "SK089",
        lambda s: (only_joint(s).limits_enforced, dof(s).velocity_limits),
        (True, (-1.0, 1.0)),
        (False, (-1.0, 1.0)),
    ),
    "limit/effort": Row(
        hinge("<limit><effort>5</effort></limit>"),
        "SK088",
        lambda s: dof(s).force_limits,
        (-5.0, 5.0),
        (-math.inf, math.inf),
    ),
    "limit/velocity": Row(
        hinge("<limit><velocity>5</velocity></limit>"),
        "SK088",
        lambda s: dof(s).velocity_limits,
        (-5.0, 5.0),
        (-math.inf, math.inf),
    ),
    "geometry/color": Row(
        one_shape("<box><size>1 1 1</size></box><color>1 0 0</color>", "visualization_shape"),
        "SK013",
        lambda s: only_body(s).visuals[0].color,
        (1.0, 0.0, 0.0, 1.0),
        None,
    ),
    "spaces: detector": Row(
        world(skeleton(body() + joint()), physics=PHYSICS.replace(">dart<", "> dart <")),
        "SK028",
        lambda s: s.world.collision_detector,
        "dart",
        "fcl",
    ),
    "capitals: detector": Row(
        world(skeleton(body() + joint()), physics=PHYSICS.replace(">dart<", ">DART<")),
        "SK028",
        lambda s: s.world.collision_detector,
        "dart",
        "fcl",
    ),
    "spaces: boolean": Row(one_body("<gravity> 1 </gravity>"), "SK028", lambda s: only_body(s).gravity, True, False),
    "capitals: axis order": Row(
        one_body(joint_inner="<axis_order>ZYX</axis_order>", kind="euler"),
        "SK028",
        lambda s: only_joint(s).order,
        "zyx",
        "xyz",
    ),
    "capitals: plane": Row(
        one_body(joint_inner='<plane type="YZ"/>', kind="planar"),
        "SK028",
        lambda s: only_joint(s).plane,
        "yz",
        "xy",
    ),
    "capitals: actuator": Row(
        one_body(attributes=' actuator="Servo"'), "SK028", lambda s: only_joint(s).actuator, "servo", "force"
    ),
    "spaces: body name": Row(
        world(skeleton(body(name="a") + body() + joint(name="i", child="a") + joint(parent=" a "))),
        "SK028",
        lambda s: [j.name for j in model(s).joints],
        ["i", "j"],
        ["i", "root"],
    ),
    "universal axes": Row(UNIVERSAL, "SK077", universal_pose, [1.0, 2.0, 3.0], [0.0, 0.0, 0.0]),
    "negative dimension": Row(
        one_shape("<box><size>1 -2 3</size></box>", "visualization_shape"),
        "SK062",
        lambda s: only_body(s).visuals[0].geometry,
        exoskel.Box((1.0, 2.0, 3.0)),
        exoskel.Box((1.0, 1.0, 1.0)),
    ),
    "negative radius": Row(
        one_shape("<cylinder><radius>-2</radius><height>3</height></cylinder>", "visualization_shape"),
        "SK062",
        lambda s: only_body(s).visuals[0].geometry,
        exoskel.Cylinder(2.0, 3.0),
        exoskel.Cylinder(1.0, 3.0),
    ),
    "zero dimension": Row(
        one_shape("<sphere><radius>0</radius></sphere>", "visualization_shape"),
        "SK062",
        lambda s: [shape.geometry for shape in only_body(s).visuals],
        [],
        [exoskel.Sphere(1.0)],
    ),
    "rubbish behind a number": Row(with_step("0.005s"), "SK023", lambda s: s.world.time_step, 0.001, 0.005),
    "hexadecimal": Row(with_step("0x10"), "SK023", lambda s: s.world.time_step, 0.001, 16.0),
    "bad boolean": Row(one_body("<gravity>yes</gravity>"), "SK027", lambda s: only_body(s).gravity, True, False),
    "negative mass": Row(
        one_body(f"<inertia><mass>-2</mass><moment_of_inertia>{MOMENT}</moment_of_inertia></inertia>"),
        "SK050",
        lambda s: only_body(s).mass,
        1.0,
        -2.0,
    ),
    "limits the wrong way round": Row(
        hinge("<limit><lower>1</lower><upper>-1</upper></limit>"),
        "SK082",
        lambda s: dof(s).position_limits,
        (-math.inf, math.inf),
        (1.0, -1.0),
    ),
    "two initial positions for one": Row(
        one_body(joint_inner=AXIS.format("") + "<init_pos>1 2</init_pos>", kind="revolute"),
        "SK080",
        lambda s: only_joint(s).positions,
        (0.0,),
        (1.0,),
    ),
    "short transformation": Row(
        one_body("<transformation>1 2 3 0.5</transformation>"),
        "SK024",
        lambda s: only_body(s).pose,
        exoskel.Pose(),
        exoskel.Pose((1.0, 2.0, 3.0), exoskel.Euler((0.5, 0.0, 0.0))),
    ),
    "commas in a transformation": Row(
        one_body("<transformation>1,2,3,0,0,1</transformation>"),
        "SK025",
        lambda s: only_body(s).pose,
        exoskel.Pose((1.0, 2.0, 3.0), exoskel.Euler((0.0, 0.0, 1.0))),
        exoskel.Pose((1.0, 0.0, 0.0)),
    ),
    "commas and spaces in a transformation": Row(
        one_body("<transformation>1,2 3,0 0,1</transformation>"),
        "SK025",
        lambda s: only_body(s).pose.position,
        (1.0, 2.0, 3.0),
        (1.0, 3.0, 0.0),
    ),
    "commas in a colour": Row(
        one_shape("<box><size>1 1 1</size></box>", "visualization_shape", "<color>1,0,0</color>"),
        "SK025",
        lambda s: only_body(s).visuals[0].color,
        (1.0, 0.0, 0.0, 1.0),
        None,
    ),
    **{
        f"index of the only degree of freedom: {index}": Row(
            one_body(joint_inner=AXIS.format("") + damped_dof(index), kind="revolute"),
            "SK084",
            lambda s: dof(s).damping,
            0.0,
            3.0,
        )
        for index in ("-1", "+0", "abc", "-0", "0x0", "0.7")
    },
    **{
        f"index of a degree of freedom: {index}": Row(
            one_body(joint_inner=damped_dof(index), kind="ball"),
            "SK084",
            lambda s: [d.damping for d in only_joint(s).dofs],
            [0.0, 0.0, 0.0],
            [0.0, 3.0, 0.0],
        )
        for index in ("1abc", "1.9", "0x1", " +1 ")
    },
    "zero axis": Row(
        one_body(joint_inner="<axis><xyz>0 0 0</xyz></axis>", kind="revolute"),
        "SK077",
        lambda s: only_joint(s).axes,
        ((0.0, 0.0, 1.0),),
        ((0.0, 0.0, 0.0),),
    ),
    "repeated body name": Row(
        world(
            skeleton(
                body(f"{INERTIA}<visualization_shape>{BOX}</visualization_shape>")
                + body(f"<collision_shape>{BOX}</collision_shape>")
                + joint()
            )
        ),
        "SK040",
        lambda s: [len(b.shapes) for b in model(s).bodies],
        [1],
        [2],
    ),
    "value split by a comment": Row(
        one_body("<transformation>1 2 3 <!-- turned --> 0 0 1</transformation>"),
        "SK014",
        lambda s: only_body(s).pose.rotation,
        exoskel.Euler((0.0, 0.0, 1.0)),
        exoskel.Euler((0.0, 0.0, 0.0)),
    ),
    "missing names: skeleton": Row(
        world(skeleton(body() + joint()).replace(' name="s"', "")),
        "SK041",
        lambda s: model(s).name,
        "skeleton",
        "skeleton",
    ),
    "missing names: joint": Row(
        one_body().replace(' name="j"', ""), "SK041", lambda s: only_joint(s).name, "joint", "default"
    ),
    "missing names: body": Row(
        world(skeleton("<body/>" + body() + joint())),
        "SK040",
        lambda s: sorted(b.name for b in model(s).bodies),
        ["b", "body"],
        ["", "b"],
    ),
    "markers of a soft body": Row(
        one_body(SOFT + '<marker name="tip"/>'), "SK013", lambda s: [m.name for m in only_body(s).markers], ["tip"], []
    ),
    "third planar name": Row(
        one_body(joint_inner="<plane/>", kind="planar"),
        "SK079",
        lambda s: only_joint(s).dof_names,
        ["j_x", "j_y", "j_rot"],
        ["j_x", "j_y", "default"],
    ),
    "skeleton beside an empty world": Row(
        skel(f'<world name="w"><physics>{PHYSICS}</physics></world>' + skeleton(body() + joint())),
        "SK005",
        lambda s: [m.name for m in s.world.models],
        ["s"],
        [],
    ),
}


@item(102)
@pytest.mark.parametrize("name", ROWS)
def test_rows_of_the_two_readings(name: str) -> None:
    row = ROWS[name]
    written, dart = (load_text(row.document, semantics=semantics) for semantics in ("written", "dart"))
    for scene in (written, dart):
        assert row.code in {d.code for d in scene.diagnostics}
    assert row.look(written) == row.written
    assert row.look(dart) == row.dart
    assert (written.source_info.semantics, dart.source_info.semantics) == ("written", "dart")


MESH = "<mesh><file_name>{}</file_name><scale>1 1 1</scale></mesh>"


@item(102)
@pytest.mark.parametrize(
    ("name", "code", "found_by_dart"),
    [
        (" foot.obj ", "SK064", False),
        ("a%20b.obj", "SK064", False),
        ("m\\foot.obj", "SK064", False),
        ("foot.obj#part", "SK064", True),
        ("file:foot.obj", "SK064", False),
    ],
)
def test_mesh_names_that_dart_looks_up_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, code: str, found_by_dart: bool
) -> None:
    (tmp_path / "m").mkdir()
    for file in ("foot.obj", "a b.obj", "m/foot.obj"):
        (tmp_path / file).write_text(TETRA)
    monkeypatch.chdir("/")
    document = one_shape(MESH.format(name), "visualization_shape")
    written = load_text(document, base=tmp_path)
    dart = load_text(document, base=tmp_path, semantics="dart")
    assert only_body(written).visuals[0].geometry.path is not None
    assert (only_body(dart).visuals[0].geometry.path is not None) is found_by_dart
    for scene in (written, dart):
        assert code in {d.code for d in scene.diagnostics}
    if not found_by_dart:
        assert "SK063" in {d.code for d in dart.diagnostics}


@item(102)
@pytest.mark.parametrize("name", ["package://robot/foot.obj", "http://example.org/foot.obj", "file://[x", "none.obj"])
@pytest.mark.parametrize("where", ["visualization_shape", "collision_shape"])
def test_missing_meshes_are_reported_alike_in_both_readings(tmp_path: Path, name: str, where: str) -> None:
    document = one_shape(MESH.format(name), where)
    written, dart = (load_text(document, base=tmp_path, semantics=s).diagnostics for s in ("written", "dart"))
    assert [(d.key, d.severity) for d in written] == [(d.key, d.severity) for d in dart]


@item(102)
@pytest.mark.parametrize(
    "document",
    [
        one_body("<inertia><mass>x</mass></inertia>"),
        one_body(joint_inner="<axis_order/>", kind="euler"),
        one_body(joint_inner=AXIS.format(""), kind="screw"),
        world(skeleton(body())),
        world(skeleton(body(name="a") + body() + joint("", "ball", "i", "a", "b") + joint("", "ball", "k", "b", "a"))),
        world(skeleton(body() + joint()), physics="<gravity>0 0</gravity>"),
    ],
)
def test_both_readings_repair_alike_what_dart_cannot_read(document: str) -> None:
    written, dart = (exoskel.summarize(load_text(document, semantics=s)) for s in ("written", "dart"))
    assert written["worlds"] == dart["worlds"]
    assert written["diagnostics"] == dart["diagnostics"]


def test_a_clean_file_reads_the_same_both_ways(reads: Reads) -> None:
    document = one_body(INERTIA, "<init_pos>0 0 0 1 2 3</init_pos>")
    written, dart = (exoskel.summarize(reads(document, semantics=s).scene) for s in ("written", "dart"))
    assert written["worlds"] == dart["worlds"]
