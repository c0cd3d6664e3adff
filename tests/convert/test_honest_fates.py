"""Fates agree with what is read back: no value that the output has is reported as dropped, none that it lacks as exact."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

import exoskel
from exoskel import Model
from exoskel.conversion.report import group_losses
from exoskel.fates import Fate, NodeFate
from exoskel.scene.world import Scene
from tests.convert.test_sound_conversions import FORMATS, LONG_COLOR, URDF
from tests.convert.test_sound_conversions import SKEL as ONE_BODY
from tests.properties.support import load, tried
from tests.support.generate import MESH, Generated, documents
from tests.support.honest_fates import dishonest_fates
from tests.support.scenes import all_files, name_of

OTHER_FORMATS = sorted((Path(__file__).parent / "examples").iterdir())
TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def fates(report: exoskel.Report) -> dict[str, NodeFate]:
    """The fates by paths without names and numbers."""
    return {re.sub(r"\[[^]]*\]", "", item.path): item for item in report.items}


def problems(scene: Scene) -> list[str]:
    if not scene.worlds:
        return []
    world = scene.worlds[0].name if len(scene.worlds) > 1 else None
    single = scene.worlds[0].models[:1]
    found: list[str] = []
    for to in FORMATS:
        if to != "urdf" or single:
            model = single[0].name if to == "urdf" else None
            found += dishonest_fates(scene, to, world=world, model=model)
    return found


@pytest.mark.parametrize("file", [*all_files(), *OTHER_FORMATS], ids=name_of)
def test_fates_are_honest(file: Path) -> None:
    assert problems(exoskel.load(file)) == []


@tried
@given(document=documents())
def test_fates_of_generated_documents_are_honest(tmp_path_factory: pytest.TempPathFactory, document: Generated) -> None:
    folder = tmp_path_factory.getbasetemp()
    (folder / MESH).write_text(TETRAHEDRON)
    assert problems(load(document, folder)) == []


# --- tolerances -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("text", [ONE_BODY.format(color=LONG_COLOR, joint="free", axis=""), URDF], ids=["skel", "urdf"])
def test_a_colour_with_many_digits_is_not_reported_as_dropped(text: str, to: str) -> None:
    found = [item for item in exoskel.convert(text, to=to).items if "color" in item.path]
    assert found and all(item.fate in (Fate.EXACT, Fate.KEPT) for item in found)


# --- surfaces -------------------------------------------------------------------------------------------

SURFACE = """<sdf version="1.7"><model name="m"><link name="a"><collision name="c"><geometry><box><size>1 1 1</size>
</box></geometry><surface><friction><ode><mu>0.73125</mu></ode></friction></surface></collision></link></model></sdf>"""


@pytest.mark.parametrize(("to", "fate"), [("usd", Fate.EXACT), ("gltf", Fate.DROPPED), ("mjcf", Fate.EXACT)])
def test_friction_is_exact_only_if_it_is_written(to: str, fate: Fate) -> None:
    report = exoskel.convert(SURFACE, to=to)
    assert fates(report)["model/link/collision/surface/friction/ode/mu"].fate is fate
    assert (b"0.73125" in report.data) is (fate is Fate.EXACT)


FREE = """<skel version="1.0"><world name="w"><skeleton name="s"><body name="b"><inertia><mass>1</mass></inertia></body>
<joint type="free" name="j"><parent>world</parent><child>b</child><dof local_index="{index}">{value}</dof></joint>
</skeleton></world></skel>"""


@pytest.mark.parametrize(("index", "fate"), [(4, Fate.EXACT), (1, Fate.APPROXIMATED)])
@pytest.mark.parametrize("tag", ["damping", "spring_stiffness"])
def test_springs_and_dampers_of_a_free_joint_are_in_usd(tag: str, index: int, fate: Fate) -> None:
    report = exoskel.convert(FREE.format(index=index, value=f"<{tag}>5</{tag}>"), to="usd")
    assert report.certificate.passed
    assert fates(report)[f"skeleton/joint/dof/{tag}"].fate is fate


MESH_AND_COLLIDER = """#usda 1.0
(
    defaultPrim = "w"
    metersPerUnit = 1
    upAxis = "Z"
)
def Xform "w" {
    def PhysicsScene "scene" {}
    def Xform "b" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]) {
        float physics:mass = 1
        def Cube "collider" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {}
        def Mesh "shown" {
            int[] faceVertexCounts = [3, 3, 3, 3]
            int[] faceVertexIndices = [0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3]
            point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
        }
    }
}
"""


@pytest.mark.parametrize("to", ["sdf", "urdf", "skel"])
def test_a_shape_is_in_the_moment_of_inertia_only_if_the_moment_depends_on_it(to: str) -> None:
    report = exoskel.convert(MESH_AND_COLLIDER.encode(), to=to)
    found = [item for item in report.items if item.path.startswith("/w/b/shown")]
    assert found and not [item for item in found if "moment of inertia" in item.why]


# --- defaults -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("kind", ["revolute", "prismatic", "universal", "screw"])
def test_a_joint_without_an_axis_is_in_the_output(kind: str, to: str) -> None:
    report = exoskel.convert(ONE_BODY.format(color="1 0 0", joint=kind, axis=""), to=to)
    found = fates(report)
    if to != "gltf":
        assert found["skeleton/joint"].fate is Fate.APPROXIMATED and "SK077" in found["skeleton/joint"].why
    assert all("SK077" not in found[f"skeleton/joint/{name}"].why for name in ("@type", "@name", "parent", "child"))


def test_an_axis_without_a_direction_and_a_plane_without_axes_are_used() -> None:
    for kind, inside, spot in (
        ("revolute", "<axis><damping>1</damping></axis>", "axis"),
        ("planar", '<plane type="arbitrary"/>', "plane"),
    ):
        text = ONE_BODY.format(color="1 0 0", joint=kind, axis=inside)
        found = fates(exoskel.convert(text, to="skel", semantics="dart"))
        assert found[f"skeleton/joint/{spot}"].fate is Fate.APPROXIMATED


# --- motors ---------------------------------------------------------------------------------------------

SERVO = """<skel version="1.0"><world name="w"><skeleton name="s"><body name="a"><inertia><mass>1</mass></inertia></body>
<body name="b"><inertia><mass>1</mass></inertia></body>
<joint type="{root}" name="root" actuator="{root_actuator}"><parent>world</parent><child>a</child></joint>
<joint type="{kind}" name="j" actuator="{actuator}"><parent>a</parent><child>b</child>{axis}</joint>
</skeleton></world></skel>"""
AXIS = "<axis><xyz>0 0 1</xyz></axis>"


def servo(root: str, kind: str, *, at_root: bool = False) -> str:
    actuators = ("servo", "force") if at_root else ("force", "servo")
    axis = AXIS if kind == "revolute" else ""
    return SERVO.format(root=root, root_actuator=actuators[0], kind=kind, actuator=actuators[1], axis=axis)


@pytest.mark.parametrize(
    ("text", "spot"),
    [
        (servo("weld", "ball"), 1),
        (servo("free", "weld", at_root=True), 0),
        (servo("ball", "weld", at_root=True), 0),
    ],
    ids=["ball", "free", "ball at the root"],
)
def test_a_servo_of_a_ball_or_free_joint_is_approximated_in_mjcf(text: str, spot: int) -> None:
    report = exoskel.convert(text, to="mjcf")
    found = [item for item in report.items if item.path.endswith("@actuator")][spot]
    assert report.data.count(b"<velocity") == (6 if b'type="free"' in report.data else 3)
    assert (found.fate, found.loss) == (Fate.APPROXIMATED, True) and "velocity actuators" in found.why


def test_a_free_servo_below_a_body_has_flywheels_and_velocity_actuators_in_mjcf() -> None:
    report = exoskel.convert(servo("weld", "free"), to="mjcf")
    found = [item for item in report.items if item.path.endswith("@actuator")][1]
    assert (report.data.count(b"<fixed"), report.data.count(b"<velocity")) == (3, 3)
    assert found.fate is Fate.APPROXIMATED and "flywheel" in found.why and "velocity actuators" in found.why


def test_the_actuator_of_a_joint_that_does_not_move_is_no_loss() -> None:
    text = servo("weld", "weld")
    assert not [item for item in exoskel.convert(text, to="mjcf").losses if "actuator" in item.path]


@pytest.mark.parametrize("to", ["skel", "xode"])
@pytest.mark.parametrize("kind", ["revolute", "free"])
def test_motors_of_our_own_mjcf_are_recognised(kind: str, to: str) -> None:
    data = exoskel.convert(servo("weld", kind), to="mjcf").data
    report = exoskel.convert(data, to=to)
    motors = [item for item in report.items if "_motor" in item.path]
    assert motors and not [item.path for item in report.losses]
    assert {item.fate for item in motors} == {Fate.LOWERED}


def test_motors_of_our_own_mjcf_share_the_fate_of_their_joint() -> None:
    data = exoskel.convert(servo("weld", "revolute"), to="mjcf").data
    motors = [item for item in exoskel.convert(data, to="urdf").items if "_motor" in item.path]
    assert {item.fate for item in motors} == {Fate.DROPPED} and {item.why for item in motors} == {
        "not supported by URDF"
    }


@pytest.mark.parametrize("sample", ["ragdoll", "four_bar", "amotor_gimbal"])
def test_motors_and_loops_of_samples_are_recognised(sample: str) -> None:
    data = exoskel.convert(f"dart://sample/xode/{sample}.xode", to="mjcf").data
    losses = exoskel.convert(data, to="xode").losses
    assert [item.path for item in losses if "motor" in item.path or "stand" in item.path or "tendon" in item.path] == []


ANGULAR_MOTOR = """<xode version="1.0r22"><world name="w"><space><body name="a"/><body name="b"/>
<joint name="m"><link1 body="a"/><link2 body="b"/><amotor><axis x="1" y="0" z="0" FMax="2" Vel="1"/>
<axis x="0" y="1" z="0"/><axis x="0" y="0" z="1"/></amotor></joint></space></world></xode>"""


def test_an_angular_motor_between_floating_bodies_is_converted_to_mjcf() -> None:
    scene = exoskel.load(ANGULAR_MOTOR)
    report = exoskel.convert(scene, to="mjcf")
    assert report.certificate.passed
    kinds = [joint.kind for joint in exoskel.load(report.data).world.joints()]
    assert kinds == [joint.kind for joint in scene.world.joints()]


def test_only_the_first_axis_has_motor_parameters_in_sdf() -> None:
    report = exoskel.convert("dart://sample/xode/ragdoll.xode", to="sdf")
    found = {i.path.rpartition("/universal")[2]: i.fate for i in report.items if "waist" in i.path}
    assert (found["[1]/axis[1]/@FMax"], found["[1]/axis[2]/@FMax"]) == (Fate.EXACT, Fate.DROPPED)


# --- lists of losses ------------------------------------------------------------------------------------


def test_values_of_the_world_in_an_extension_have_their_own_fates() -> None:
    items = exoskel.convert("dart://sample/xode/extensions.xode", to="mjcf").items
    found = {
        item.path.rpartition("/ext[1]")[2]: item for item in items if "world'" in item.path or "_world" in item.path
    }
    assert found["/gravity[1]"].fate is found["/timestep[1]"].fate is Fate.EXACT
    assert found["/CFM[1]"].fate is found["/CFM[1]/@value"].fate is Fate.DROPPED
    assert found["/CFM[1]"].why == found["/CFM[1]/@value"].why == "not supported by MJCF"
    (outer,) = [item for item in items if item.path == "/xode/world[@name='extensions_world']/ext[1]"]
    assert outer.fate is Fate.EXACT


@pytest.mark.parametrize("to", FORMATS)
def test_nothing_inside_of_a_listed_dropped_node_is_listed_again(to: str) -> None:
    groups = (
        group_losses(exoskel.convert("dart://sample/xode/extensions.xode", to=to, model=None).losses)
        if to != "urdf"
        else []
    )
    tops = [node.top for group in groups for node in group.nodes if node.top.fate is Fate.DROPPED]
    assert not [(a.path, b.path) for a in tops for b in tops if a.contains(b)]


def test_losses_are_listed_by_harm() -> None:
    report = exoskel.convert("dart://sample/xode/extensions.xode", to="mjcf")
    groups = group_losses(report.losses)
    ranks = [(not group.affects_motion, group.fate is not Fate.DROPPED) for group in groups]
    assert ranks == sorted(ranks) and len(set(ranks)) == 3
    assert sum(group.count for group in groups) == len(report.losses)


@pytest.mark.parametrize("bound", ["inf", "-inf"])
@pytest.mark.parametrize("to", FORMATS)
def test_equal_limits_at_infinity_do_not_block_a_conversion(to: str, bound: str) -> None:
    limits = f"<axis><xyz>0 0 1</xyz><limit><lower>{bound}</lower><upper>{bound}</upper></limit></axis>"
    report = exoskel.convert(ONE_BODY.format(color="1 0 0", joint="revolute", axis=limits), to=to)
    assert report.certificate.passed
    assert fates(report)["skeleton/joint/axis/limit/upper"].fate is not (Fate.EXACT if to == "mjcf" else None)


@pytest.mark.parametrize("tree", ["revolute", "universal", "ball", "free"])
@pytest.mark.parametrize(("kind", "actuator"), [("free", "servo"), ("ball", "force"), ("revolute", "force")])
def test_a_loop_is_dropped_by_urdf_whatever_joints_are_lowered_before_it(tree: Any, kind: Any, actuator: Any) -> None:
    axes: dict[str, Any] = {"universal": {"axes": ((1, 0, 0), (0, 1, 0))}, "revolute": {"axis": (0, 0, 1)}}
    model = Model(name="m")
    base = model.add_body("a", joint="weld")
    model.add_body("b", parent=base, at=(1, 0, 0), joint=tree, **axes.get(tree, {}))
    model.add_joint("l", kind, child="b", parent="a", actuator=actuator, **axes.get(kind, {}))
    losses = [loss for loss in exoskel.convert(model, to="urdf").losses if "exoskel:add" in loss.path]
    assert losses
    assert {(loss.fate.value, loss.why) for loss in losses} == {
        ("dropped", "not written: URDF robots are trees, and this joint closes a loop (UR701)")
    }


@pytest.mark.parametrize("to", ["mjcf", "urdf", "sdf", "usd"])
def test_limits_that_are_not_enforced_are_not_called_unsupported(to: str) -> None:
    source = """<skel version="1.0"><world name="w"><skeleton name="s"><body name="a"><inertia><mass>1</mass></inertia></body>
    <joint name="j" type="revolute"><parent>world</parent><child>a</child><axis><xyz>0 0 1</xyz><limit><lower>-1</lower>
    <upper>1</upper></limit></axis></joint></skeleton></world></skel>"""
    report = exoskel.convert(exoskel.load(source, semantics="dart"), None, to=to)
    reasons = {item.why for item in report.items if item.path.endswith("limit/lower")}
    assert [str(why).partition(" (")[0] for why in reasons] == ["limits that are not enforced are not written"]
