"""Servos of joints with several axes are written to MJCF, compared there, and read back as servos."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import exoskel
from exoskel.scene.joint import Joint

BODY = (
    '<body name="{name}"><transformation>{pose}</transformation><inertia><mass>2</mass><offset>0.1 0 0</offset>'
    "<moment_of_inertia><ixx>0.2</ixx><iyy>0.3</iyy><izz>0.4</izz></moment_of_inertia></inertia></body>"
)
HINGE = '<joint type="revolute" name="i"><parent>world</parent><child>a</child><axis><xyz>1 0 0</xyz></axis></joint>'
PLACE = "<transformation>0.1 0.2 0.3 0.4 0.5 0.6</transformation>"
COUNTS = {"free": 6, "ball": 3, "planar": 3}


def servo(kind: str, *, below: bool, dofs: str = "", place: str = PLACE) -> str:
    """A servo on the only joint of a model, or below a hinge."""
    bodies = BODY.format(name="b", pose="0 0 1 0.3 0.2 0.1")
    if below:
        bodies = BODY.format(name="a", pose="0 1 0 0.5 0 0") + bodies
    plane = '<plane type="xy"/>' if kind == "planar" else ""
    parent = "a" if below else "world"
    return (
        f'<skel version="1.0"><world name="w"><skeleton name="s">{bodies}{HINGE if below else ""}'
        f'<joint type="{kind}" name="j" actuator="servo"><parent>{parent}</parent><child>b</child>{place}{plane}{dofs}'
        "</joint></skeleton></world></skel>"
    )


def limits(low: float, high: float, *numbers: int) -> str:
    return "".join(f'<dof local_index="{i}"><force lower="{low + i}" upper="{high + i}"/></dof>' for i in numbers)


def to_mjcf(text: str) -> exoskel.Report:
    report = exoskel.convert(text, None, to="mjcf")
    assert report.certificate is not None and report.certificate.passed
    return report


def joint_in(data: bytes) -> Joint:
    return exoskel.load(data, format="mjcf").world.models[0].joints[-1]


@pytest.mark.parametrize("bounds", [None, (-50.0, 50.0), (-20.0, 50.0), (-7.0, float("inf")), (3.0, 3.0)])
@pytest.mark.parametrize("below", [False, True])
@pytest.mark.parametrize("kind", COUNTS)
def test_a_servo_survives_mjcf(kind: str, below: bool, bounds: tuple[float, float] | None) -> None:
    numbers = range(COUNTS[kind])
    dofs = limits(*bounds, *numbers) if bounds else ""
    report = to_mjcf(servo(kind, below=below, dofs=dofs))
    scene = exoskel.load(report.data, format="mjcf")
    joint = scene.world.models[0].joints[-1]
    assert {d.code for d in scene.diagnostics} <= {"MJ203"}  # the light and camera
    assert joint.actuator == "servo"
    expected = [(bounds[0] + i, bounds[1] + i) if bounds else (-np.inf, np.inf) for i in numbers]
    assert np.array([dof.force_limits for dof in joint.dofs]) == pytest.approx(np.array(expected), rel=1e-6)
    back = exoskel.convert(scene, None, to="skel")
    assert back.certificate is not None and back.certificate.passed
    assert exoskel.load(back.data).world.models[0].joints[-1].actuator == "servo"


@pytest.mark.parametrize("kind", ["ball", "free"])
def test_the_frame_of_a_servo_is_read_back(kind: str) -> None:
    """The limits of forces are along the axes of the joint frame."""
    text = servo(kind, below=False, dofs=limits(-1, 1, 0, 1, 2))
    joint = joint_in(to_mjcf(text).data)
    assert joint.pose.matrix() == pytest.approx(exoskel.load(text).world.models[0].joints[-1].pose.matrix())


@pytest.mark.parametrize("below", [False, True])
@pytest.mark.parametrize("kind", ["ball", "free"])
def test_the_certificate_compares_the_forces_of_a_servo(
    kind: str, below: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from exoskel.formats.mjcf.model import actuation

    text = servo(kind, below=below, dofs=limits(-1, 1, 0))
    row = next(row for row in to_mjcf(text).certificate.checks if row.name.startswith("generalised forces"))
    assert row.name == "generalised forces at random states"
    add = actuation._add_axis

    def reverse(axis: actuation.ServoAxis, *rest: object) -> object:
        changed = actuation.ServoAxis(axis.motor, tuple(-x for x in axis.gear), axis.gain, axis.in_parent)
        return add(changed, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(actuation, "_add_axis", reverse)
    report = exoskel.convert(text, None, to="mjcf")
    assert not next(
        row for row in report.certificate.checks if row.name == "generalised forces at random states"
    ).passed


@pytest.mark.parametrize("below", [False, True])
@pytest.mark.parametrize("kind", ["ball", "free"])
def test_a_servo_brakes_in_mujoco_without_oscillating(kind: str, below: bool) -> None:
    model = mujoco.MjModel.from_xml_string(to_mjcf(servo(kind, below=below)).data.decode())
    model.opt.gravity[:] = 0.0
    data = mujoco.MjData(model)
    joint = model.joint("j_3" if kind == "free" and below else "j")
    own = slice(int(joint.dofadr[0]), int(joint.dofadr[0]) + (6 if joint.type[0] == mujoco.mjtJoint.mjJNT_FREE else 3))
    data.qvel[own] = 1.0
    speeds = []
    for _ in range(400):
        mujoco.mj_step(model, data)
        speeds.append(float(np.abs(data.qvel[own]).max()))
    assert max(speeds) < 1.5 and speeds[-1] < 1e-3


def test_actuators_that_differ_from_those_of_a_servo_are_reported() -> None:
    """With another gear, the three actuators are not the servo of one joint frame."""
    data = to_mjcf(servo("ball", below=False, place="")).data
    changed = data.replace(b'gear="1 0 0"', b'gear="2 0 0"')
    assert changed != data
    scene = exoskel.load(changed, format="mjcf")
    assert scene.world.models[0].joints[-1].actuator == "force"
    assert "MJ402" in {d.code for d in scene.diagnostics}


INTEGRATORS = ("EULER", "RK4", "IMPLICIT", "IMPLICITFAST", "DISCRETE")
PENDULUM = """<skel version="1.0"><world name="w"><physics><time_step>0.001</time_step><gravity>0 -9.81 0</gravity></physics>
<skeleton name="s"><body name="b"><inertia><mass>1</mass><offset>0 -0.1 0</offset><moment_of_inertia><ixx>0.01</ixx>
<iyy>0.01</iyy><izz>0.01</izz></moment_of_inertia></inertia></body><joint type="revolute" name="j" {actuator}>
<parent>world</parent><child>b</child><axis><xyz>0 0 1</xyz>{axis}</axis><init_pos>1</init_pos><init_vel>1</init_vel>
</joint></skeleton></world></skel>"""
HOLDS = {
    "friction": PENDULUM.format(actuator="", axis="<dynamics><friction>2</friction></dynamics>"),
    "servo": PENDULUM.format(actuator='actuator="servo"', axis=""),
}


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("text", HOLDS.values(), ids=HOLDS)
def test_friction_and_servos_hold_a_pendulum_with_each_integrator(text: str, integrator: str) -> None:
    """A file does not know which integrator its reader uses."""
    model = mujoco.MjModel.from_xml_string(to_mjcf(text).data.decode())
    model.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator}")
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    for _ in range(50):
        mujoco.mj_step(model, data)
    assert abs(float(data.qvel[0])) < 1e-4


@pytest.mark.parametrize("integrator", ["Euler", "RK4", "implicit", "implicitfast", "discrete"])
def test_friction_holds_a_pendulum_in_the_engine_with_each_integrator(integrator: str) -> None:
    motion = exoskel.run(exoskel.load(HOLDS["friction"]), duration=0.1, integrator=integrator)
    assert abs(motion.velocities[-1][0]) < 1e-4
