"""What DART's and Newton's readers ignore is not exact in files for them; tests with these programs are in external."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from lxml import etree

import exoskel
from exoskel import Box, Joint, Plane, World
from exoskel.conversion.report import Report
from exoskel.source.output_context import Target

LIMITS = (-3.0, 3.0)


def arm(edit: Callable[[World, Joint], object] = lambda world, joint: None, kind: Any = "revolute") -> World:
    world = World("w", gravity=(0.0, 0.0, -9.81))
    model = world.add_model("m")
    axes: dict[str, Any] = {"axis": (0, 1, 0)} if kind == "revolute" else {}
    model.add_body("b", joint=kind, mass=1.0, shapes=[Box((0.1, 0.2, 0.3))], **axes)
    edit(world, model.joints[0])
    return world


def of_dof(field: str, value: Any) -> Callable[[World, Joint], object]:
    return lambda _, joint: [setattr(dof, field, value) for dof in joint.dofs]


def of_shape(field: str, value: Any) -> Callable[[World, Joint], object]:
    return lambda _, joint: setattr(joint.child.collisions[0], field, value)


def of_drive(**values: float) -> Callable[[World, Joint], object]:
    return lambda _, joint: setattr(joint, "drives", (exoskel.Drive(**values),))


def of_world(field: str, value: Any) -> Callable[[World, Joint], object]:
    return lambda world, _: setattr(world, field, value)


def reasons(report: Report, code: str) -> set[str]:
    return {item.why for item in report.losses if code in item.why}


def is_lost(report: Report, what: str) -> bool:
    """Whether the armature, which SKEL embeds with other values, is a loss."""
    return any(what in item.why for item in report.losses)


def add_second(world: World, kind: Any = "revolute") -> Joint:
    model = world.models[0]
    shape = Box((0.1, 0.2, 0.3))
    model.add_body("c", parent="b", at=(1, 0, 0), joint=kind, axis=(0, 1, 0), mass=1.0, shapes=[shape])
    return model.joints[1]


def add_equality(world: World) -> None:
    world.equalities.append(exoskel.Equality("e", "connect", target="m/b"))


SOLVER = exoskel.SolverParameters(solref=(0.1, 1.0))
PROGRAMS: dict[Target, str] = {"dart": "DART", "newton": "Newton", "isaac": "Isaac Sim"}
MJCF: dict[str, tuple[set[Target], Callable[[World, Joint], object]]] = {
    "initial positions of joints": ({"dart", "newton", "isaac"}, of_dof("position", 0.25)),
    "initial velocities of joints": ({"dart", "newton", "isaac"}, of_dof("velocity", 0.25)),
    "gravity, and uses -9.81 m/s² along z": ({"dart", "newton"}, of_world("gravity", (0.0, 0.0, -1.62))),
    "force limits of joints": ({"dart"}, of_dof("force_limits", LIMITS)),
    "friction of joints": ({"dart"}, of_dof("friction", 0.25)),
    "springs of joints": ({"dart"}, of_dof("stiffness", 0.25)),
    "collisions within a model": ({"dart", "isaac"}, of_world("self_collision", True)),
    "collision filters": ({"dart", "isaac"}, of_world("collision_exempt_groups", [("a", "b")])),
    "limits of joints at one point": ({"dart", "isaac"}, of_dof("position_limits", (0.25, 0.25))),
    "cameras": ({"dart", "newton", "isaac"}, lambda world, _: world.cameras.append(exoskel.SceneCamera("c"))),
    "lights": ({"dart", "newton", "isaac"}, lambda world, _: world.lights.append(exoskel.SceneLight("l"))),
    "materials of shapes": ({"dart"}, of_shape("material", exoskel.Material(roughness=0.25))),
    "keyframes": ({"dart", "newton", "isaac"}, lambda world, _: world.keyframes.append(exoskel.Keyframe("k"))),
    "sensors": ({"dart", "newton", "isaac"}, lambda world, _: world.sensors.append(exoskel.SceneSensor("s", "clock"))),
    "actuators": ({"dart"}, lambda world, _: world.actuators.append(exoskel.Actuator("a", "m/b_joint"))),
    "tendons": (
        {"dart"},
        lambda world, _: world.tendons.append(exoskel.Tendon("t", (exoskel.TendonJoint("m/b_joint"),))),
    ),
    "mimic joints": ({"dart"}, lambda world, _: add_second(world).__setattr__("mimic", exoskel.Mimic("b_joint"))),
    "equality constraints, but for welds of bodies": ({"dart"}, lambda world, _: add_equality(world)),
    "the coupling of screws": ({"dart"}, lambda world, _: add_second(world, "screw")),
    "solver parameters of joints": ({"dart"}, lambda world, _: setattr(add_second(world), "solver", SOLVER)),
    "that gravity does not act on the body": ({"dart"}, lambda _, joint: setattr(joint.child, "gravity", False)),
}
TARGETS: tuple[Target, ...] = ("portable", "mujoco4", "newton", "dart", "isaac")


@pytest.mark.parametrize("what", MJCF)
def test_what_readers_of_mjcf_ignore(what: str) -> None:
    programs, edit = MJCF[what]
    for target in TARGETS:
        assert not reasons(exoskel.convert(arm(), None, to="mjcf", target=target), "MJ513")
        found = reasons(exoskel.convert(arm(edit), None, to="mjcf", target=target), "MJ513")
        assert found == (
            {f"{PROGRAMS.get(target)}'s MJCF reader ignores {what} (MJ513)"} if target in programs else set()
        )


@pytest.mark.parametrize("closes_loop", [False, True])
@pytest.mark.parametrize("self_collision", [False, True])
def test_newton_ignores_that_connected_bodies_collide(closes_loop: bool, self_collision: bool) -> None:
    world = World("w", gravity=(0.0, 0.0, -9.81), self_collision=self_collision)
    model = world.add_model("m")
    parent = model.add_body("a", joint="weld", mass=1.0, shapes=[Box((0.1, 0.2, 0.3))])
    for name in ("b", "c"):
        model.add_body(name, parent=parent, joint="revolute", axis=(0, 1, 0), mass=1.0, shapes=[Box((0.1, 0.2, 0.3))])
    joint = model.add_joint("loop", "ball", child="c", parent="b") if closes_loop else model.joint("b_joint")
    joint.collide_connected = True
    for target in TARGETS[:3]:
        report = exoskel.convert(world, None, to="mjcf", target=target)
        found = [one for one in report.losses if "carry" in one.path or "add" in one.path]
        assert bool(found) == (self_collision and target == "newton"), target


def test_a_joint_whose_bodies_cannot_collide_in_mujoco_is_a_loss() -> None:
    world = World("w", self_collision=True)
    model = world.add_model("m")
    first = model.add_body("a", joint="free", mass=1.0, shapes=[Box((0.1, 0.2, 0.3))])
    model.add_body("b", parent=first, joint="revolute", axis=(0, 1, 0), mass=1.0, shapes=[Box((0.1, 0.2, 0.3))])
    model.joint("b_joint").collide_connected = True
    assert reasons(exoskel.convert(world, None, to="mjcf"), "MJ607")


def test_what_newton_refuses_is_reported() -> None:
    for kind, edit, is_refused in (
        ("free", of_dof("damping", 0.5), True),
        ("free", of_dof("damping", 0.0), False),
        ("ball", of_dof("damping", 0.5), False),
    ):
        report = exoskel.convert(arm(edit, kind), None, to="mjcf", target="newton")
        assert any("Newton 1.8 refuses the file" in one for one in reasons(report, "MJ513")) == is_refused


def test_welds_for_dart_name_the_world() -> None:
    """DART crashes on a weld that names one body."""

    def weld(world: World, _: Joint) -> None:
        world.add_equality("e", "weld", "m/b")

    data = exoskel.convert(arm(weld), None, to="mjcf", target="dart").data
    (found,) = etree.fromstring(data).iter("weld")
    assert found.get("body2") == "world"


def test_prescribed_motion_and_the_time_step_are_losses_for_dart() -> None:
    for edit, what in (
        (lambda _, joint: setattr(joint, "actuator", "locked"), "DART's MJCF reader ignores actuators of joints"),
        (of_world("time_step", 0.004), "DART's MJCF reader ignores the time step, and uses 1 ms"),
        (of_dof("position_limits", (-1.0, 1.0)), "DART's MJCF reader does not enforce limits of joints"),
    ):
        for target in TARGETS:
            report = exoskel.convert(arm(edit), None, to="mjcf", target=target)
            assert is_lost(report, what) == (target == "dart")


DRIVEN = """<xode version="1.0r23" name="t"><world name="w"><space name="s">
<body name="a"><mass><mass_shape density="1000"><sphere radius=".1"/></mass_shape></mass></body>
<joint name="j"><link1 body="a"/><hinge><anchor x="0" y="0" z="0"/>
<axis x="0" y="1" z="0" LowStop="-1" HiStop="1" Bounce="0.5" StopERP=".3" CFM=".1" FMax="2" Vel="1"/></hinge></joint>
</space></world></xode>"""


@pytest.mark.parametrize("to", ["mjcf", "sdf"])
def test_parameters_of_ode_are_losses_for_dart(to: str) -> None:
    report = exoskel.convert(DRIVEN, None, to=to, target="dart")
    exact = {item.path.rpartition("/")[2] for item in report.items if "/axis[1]/@" in item.path and not item.loss}
    assert exact == {"@x", "@y", "@z"} | ({"@LowStop", "@HiStop"} if to == "sdf" else set())


CONNECTED = """<mujoco><compiler autolimits="false"/><worldbody>
 <body name="a"><geom size=".1"/><joint name="j" axis="0 1 0"/></body>
 <body name="b" pos="1 0 0"><geom size=".1"/><joint name="k" axis="0 1 0"/></body>
</worldbody><equality>{}</equality></mujoco>"""


@pytest.mark.parametrize(
    ("constraint", "is_read"),
    [
        ('<weld name="e" body1="a" body2="b"/>', True),
        ('<weld name="e" body1="a" body2="b" active="false"/>', False),
        ('<weld name="e" body1="a"/>', False),
        ('<connect name="e" body1="a" body2="b" anchor="0 0 0"/>', False),
        ('<connect name="e" body1="a" anchor="0 0 0"/>', False),
        ('<joint name="e" joint1="j" joint2="k"/>', False),
        ('<joint name="e" joint1="j" polycoef="0.5 0 0 0 0"/>', False),
        ('<joint name="e" joint1="j" joint2="k" polycoef="0 0 1 0 0"/>', False),
    ],
)
def test_dart_reads_only_welds_of_two_bodies(constraint: str, is_read: bool) -> None:
    report = exoskel.convert(CONNECTED.format(constraint), None, to="mjcf", target="dart")
    assert any("/equality" in item.path and "MJ513" in item.why for item in report.losses) != is_read
    assert any("/equality" in item.path for item in report.losses) != is_read


def test_armature_is_a_loss_for_dart() -> None:
    for target in TARGETS:
        report = exoskel.convert(arm(of_dof("armature", 0.25)), None, to="mjcf", target=target)
        assert is_lost(report, "armature") == (target == "dart")


SDF: dict[str, Callable[[World, Joint], object]] = {
    "velocity limits of joints": of_dof("velocity_limits", LIMITS),
    "force limits of joints": of_dof("force_limits", LIMITS),
    "friction of shapes": of_shape("friction", 0.25),
    "restitution of shapes": of_shape("restitution", 0.25),
    "that the shape does not collide": of_shape("collidable", False),
    "the ERP of the world": of_world("erp", 0.25),
    "the CFM of the world": of_world("cfm", 0.25),
    "materials of shapes, but for their colours": of_shape("material", exoskel.Material(roughness=0.25)),
    "collisions within a model": of_world("self_collision", True),
    "the collision detector": of_world("collision_detector", "bullet"),
}


@pytest.mark.parametrize("what", SDF)
def test_what_the_reader_of_sdf_ignores(what: str) -> None:
    assert not reasons(exoskel.convert(arm(), None, to="sdf", target="dart"), "SD216")
    found = reasons(exoskel.convert(arm(SDF[what]), None, to="sdf", target="dart"), "SD216")
    assert f"DART's SDF reader ignores {what} (SD216)" in found
    assert not reasons(exoskel.convert(arm(SDF[what]), None, to="sdf"), "SD216")


@pytest.mark.parametrize("field", ["velocity_limits", "force_limits"])
def test_joints_that_are_lowered_lose_the_same(field: str) -> None:
    report = exoskel.convert(arm(of_dof(field, LIMITS), "euler"), None, to="sdf", target="dart")
    words = field.replace("_", " ")
    assert f"DART's SDF reader ignores {words} of joints (SD216)" in reasons(report, "SD216")


def test_the_initial_state_of_lowered_joints_is_in_a_file_beside_the_document(tmp_path) -> None:
    report = exoskel.convert(arm(of_dof("position", 0.25), "euler"), tmp_path / "a.sdf")
    (found,) = {(item.fate, item.why) for item in report.items if item.path.endswith("init_pos")}
    assert found[0] == "kept"
    assert "a.sdf.state.json" in found[1]


@pytest.mark.parametrize("target", ["portable", "dart"])
def test_gravity_is_where_the_reader_of_dart_looks(target: Target) -> None:
    report = exoskel.convert(arm(of_world("gravity", (0.0, -1.5, 0.0))), None, to="sdf", target=target)
    places = [one.getparent().tag for one in etree.fromstring(report.data).iter("gravity")]
    assert places == (["physics", "world"] if target == "dart" else ["world"])
    assert exoskel.load(report.data, format="sdf").world.gravity == (0.0, -1.5, 0.0)


def ground(normal: tuple[float, float, float]) -> World:
    world = World("w")
    world.add_model("ground", static=True).add_body("g", joint="weld", shapes=[Plane(normal, 0.5)])
    return world


def test_planes_for_the_reader_of_sdf_are_rotated() -> None:
    report = exoskel.convert(ground((0.0, 0.6, 0.8)), None, to="sdf", target="dart")
    assert report.certificate.passed
    assert {one.text for one in etree.fromstring(report.data).iter("normal")} == {"0 0 1"}
    (shape,) = exoskel.load(report.data, format="sdf").world.model("ground").bodies[0].collisions
    normal = shape.pose.matrix()[:3, 2]
    assert normal == pytest.approx((0.0, 0.6, 0.8), abs=1e-9)
    assert shape.pose.position == pytest.approx((0.0, 0.3, 0.4))
    assert "a box, 100 m wide and 1 mm thick" in reasons(report, "SD216").pop()


def test_planes_for_the_reader_of_mjcf_have_a_size() -> None:
    """DART replaces a plane without a size by a cube of 1 m."""
    for target, size in (("portable", "0 0 1"), ("dart", "50 50 1")):
        report = exoskel.convert(ground((0.0, 0.0, 1.0)), None, to="mjcf", target=target)
        planes = [one for one in etree.fromstring(report.data).iter("geom") if one.get("type") == "plane"]
        assert {one.get("size") for one in planes} == {size}
        assert bool(reasons(report, "MJ513")) == (target == "dart")


EQUALITIES = """<mujoco><worldbody><body name="b"><joint name="j"/><geom size=".1"/></body>
<body name="c" pos="0 0 1"><joint name="k" type="slide"/><geom size=".1"/></body></worldbody><equality>
<joint name="bent" joint1="k" joint2="j" polycoef="0 1 1 0 0"/><weld name="off" body1="b" body2="c" active="false"/>
<weld name="on" body1="b" body2="c"/><joint name="lock" joint1="k" polycoef="0.5 0 0 0 0"/></equality></mujoco>"""


@pytest.mark.parametrize(("target", "lossy"), [("dart", {"bent", "off", "lock"}), ("isaac", {"lock"})])
def test_each_equality_constraint_has_the_fate_of_its_own(target: Target, lossy: set[str]) -> None:
    scene = exoskel.load(EQUALITIES)
    next(iter(scene.world.bodies())).mass = 3.0  # a new document
    report = exoskel.convert(scene, None, to="mjcf", target=target)
    found = {item.path: item for item in report.items if item.path.startswith("/mujoco/equality[1]/")}
    reasons = {
        path.partition("@name='")[2].rstrip("']"): item.why for path, item in found.items() if "]/" not in path[20:]
    }
    assert {name for name, why in reasons.items() if "MJ513" in why} == lossy
    assert ("inactive" in reasons["off"]) is (target == "dart") and "inactive" not in reasons["lock"]
