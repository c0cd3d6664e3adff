"""What an engine cannot do, or does otherwise, is said before it runs, with the line of the file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

import exoskel
from exoskel import Activation, BodyState, Box, Drive, Mimic, Pose, Scene, Shape, SoftBody, World, preflight
from exoskel.engines.codes import CATALOGUE
from exoskel.engines.registry import ENGINES
from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.inertia import UNIT_MOMENT
from exoskel.scene.joint import TRAITS, Joint, JointActuator

MAX_DEPTH = ENGINES["mujoco"].capabilities.max_depth or 0


def one_joint(kind: str = "ball", **options: object) -> Joint:
    """A body on a joint; `joint_world` gives its world."""
    world = World(name="w")
    axes = ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))[: TRAITS[kind].axes]
    world.add_model("m").add_body("b", joint=kind, axes=axes, moment=(1.0,) * 3 + (0.0,) * 3)  # type: ignore[arg-type]
    joint = world.models[0].joints[0]
    for name, value in options.items():
        setattr(joint, name, value)
    _worlds[id(joint)] = world
    return joint


_worlds: dict[int, World] = {}


def world_of(joint: Joint) -> World:
    return _worlds[id(joint)]


def massless() -> World:
    joint = one_joint("revolute")
    joint.child.mass = 0.0
    return world_of(joint)


def zero_axis() -> World:
    joint = one_joint("revolute")
    with no_edits():  # only a file may have it
        joint.axes = ((0.0, 0.0, 0.0),)
    return world_of(joint)


def moment(*values: float) -> World:
    joint = one_joint("revolute")
    joint.child.moment = (*values, 0.0, 0.0, 0.0)  # type: ignore[assignment]
    return world_of(joint)


def soft_above_floor() -> World:
    world = soft()
    world.add_model("ground", static=True).add_body("floor", joint="weld", shapes=[Box((1.0, 1.0, 1.0))])
    return world


def soft() -> World:
    joint = one_joint("revolute")
    joint.child.soft = SoftBody(total_mass=1.0, geometry=Box((1.0, 1.0, 1.0)))
    return world_of(joint)


def deep(count: int) -> World:
    world = World(name="w")
    model = world.add_model("m")
    for number in range(count):
        parent = model.bodies[-1] if number else None
        model.add_body(f"b{number}", joint="revolute", axes=((0, 0, 1),), parent=parent, moment=(1.0,) * 3 + (0.0,) * 3)  # type: ignore[arg-type]
    return world


def sprung(field: str, *values: float) -> World:
    joint = one_joint("ball")
    for dof, value in zip(joint.dofs, values, strict=True):
        setattr(dof, field, value)
    return world_of(joint)


def geared() -> World:
    joint = one_joint("revolute")
    joint.dofs[0].armature = 0.5
    return world_of(joint)


def driven(**options: Any) -> World:
    world = world_of(one_joint("revolute"))
    world.add_actuator("drive", world.models[0].joints[0], **options)
    return world


def pulled() -> World:
    world = world_of(one_joint("revolute"))
    world.add_tendon("string", joints={world.models[0].joints[0].name: 1.0})
    return world


def locked() -> World:
    world = world_of(one_joint("revolute"))
    world.add_equality("lock", "joint", f"{world.models[0].name}/{world.models[0].joints[0].name}")
    return world


def limited(kind: str, **fields: tuple[float, float]) -> World:
    joint = one_joint(kind)
    for name, value in fields.items():
        setattr(joint.dofs[0], name, value)
        for dof in joint.dofs[1:]:
            dof.position_limits = (-1.0, 1.0)
    return world_of(joint)


def slow_ball() -> World:
    joint = one_joint("ball")
    for dof in joint.dofs:
        dof.velocity_limits = (-1.0, 1.0)
    return world_of(joint)


def framed() -> World:
    joint = one_joint("free", pose=Pose((0.3, 0.0, 0.0)))
    for dof in joint.dofs[:3]:
        dof.damping = 1.0
    return world_of(joint)


def half_limited() -> World:
    joint = one_joint("ball")
    joint.dofs[2].position_limits = (-0.3, 0.1)
    return world_of(joint)


def looped() -> World:
    world = deep(2)
    model = world.models[0]
    model.joints.append(Joint(name="b_joint", kind="ball", parent=None, child=model.bodies[1], loop=True))
    return world


def softly_looped() -> World:
    world = looped()
    loop = world.models[0].joints[-1]
    loop.kind, loop.axes, loop.drives = "revolute", ((0.0, 0.0, 1.0),), (Drive(stop_cfm=0.1),)
    return world


def following() -> World:
    world = deep(2)
    world.models[0].joints[1].mimic = Mimic(world.models[0].joints[0].name)
    return world


def crowded(world: World) -> World:
    """The same, with two bodies that may touch."""
    world.models[0].bodies[0].collisions.append(Shape(geometry=exoskel.Sphere(0.1)))
    world.add_model("other").add_body("ball").collisions.append(Shape(geometry=exoskel.Sphere(0.1)))
    return world


def sprung_and_rough() -> World:
    world = deep(2)
    world.models[0].joints[0].dofs[0].damping = 1.0
    world.models[0].joints[1].dofs[0].friction = 1.0
    return world


def rough() -> World:
    world = deep(2)
    world.models[0].joints[1].dofs[0].friction = 1.0
    return world


def servo_with_limits() -> World:
    joint = one_joint("revolute", actuator="servo", limits_enforced=False)
    joint.dofs[0].position_limits = (-1.0, 1.0)
    return world_of(joint)


def shaped(geometry: object) -> World:
    joint = one_joint("revolute")
    joint.child.collisions.append(Shape(geometry=geometry))  # type: ignore[arg-type]
    return world_of(joint)


def asleep() -> World:
    joint = one_joint("revolute")
    joint.child.state = BodyState(enabled=False)
    return world_of(joint)


def of_ode() -> World:
    world = world_of(one_joint("revolute"))
    world.erp = 0.5
    return world


def flat() -> World:
    world = World(name="w")
    plane = {"plane": "arbitrary", "axes": ((1, 0, 0), (-2, 0, 0))}
    world.add_model("m").add_body("b", joint="planar", moment=UNIT_MOMENT, **plane)
    return world


def with_motor(kind: str, **parameters: float) -> World:
    return world_of(one_joint(kind, drives=(Drive(**parameters),)))


def stopped(**parameters: float) -> World:
    joint = one_joint("revolute", drives=(Drive(**parameters),))
    joint.dofs[0].position_limits = (-1.0, 1.0)
    return world_of(joint)


TETRA = exoskel.TriMesh(
    np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]), np.array([[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]])
)


def test_dart_accepts_a_missing_visual_mesh() -> None:
    """It crashes where a moment is derived from one, or where one collides."""
    world = World()
    body = world.add_model("m").add_body("b", moment=UNIT_MOMENT)
    body.visuals.append(Shape(geometry=exoskel.Mesh("nowhere.obj")))
    assert [d.key for d in preflight(world, "dart")] == []
    body.inertia.moment = None
    assert [d.key for d in preflight(world, "dart")] == ["EN010.refused"]


def many_from_a_file() -> Scene:
    """A scene that takes longer to compile than the limit that it is read with."""
    models = "".join(f'<skeleton name="s{number}"><body name="b"/></skeleton>' for number in range(2000))
    text = f'<skel version="1.0"><world name="w">{models}</world></skel>'
    return exoskel.load(text.encode(), limits=exoskel.Limits(seconds=1.0))


CASES: dict[str, tuple[Any, str]] = {
    "EN001": (massless(), "mujoco"),
    "EN001.refused": (massless(), "ode"),
    "EN002": (moment(1.0, 1.0, 5.0), "mujoco"),
    "EN003": (moment(0.0, 1.0, 1.0), "mujoco"),
    "EN003.refused": (moment(0.0, 1.0, 1.0), "ode"),
    "EN004": (soft(), "ode"),
    "EN004.contact": (soft_above_floor(), "mujoco"),
    "EN005": (deep(MAX_DEPTH + 1), "mujoco"),
    "EN005.time": (many_from_a_file(), "mujoco"),
    "EN006": (world_of(one_joint("screw")), "dart"),
    "EN006.loop": (looped(), "dart"),
    "EN007": (sprung("stiffness", 1.0, 2.0, 2.0), "warp"),
    "EN007.frame": (framed(), "warp"),
    "EN007.rest": (sprung("rest", 0.5, 0.0, 0.0), "warp"),
    "EN008": (limited("ball", position_limits=(-0.5, 0.5)), "warp"),
    "EN008.open": (half_limited(), "warp"),
    "EN008.contacts": (crowded(half_limited()), "mujoco"),
    "EN009": (limited("revolute", velocity_limits=(-1.0, 1.0)), "ode"),
    "EN009.contacts": (crowded(slow_ball()), "mujoco"),
    "EN009.servo": (servo_with_limits(), "warp"),
    "EN009.soft": (limited("revolute", position_limits=(-1.0, 1.0)), "warp"),
    "EN010": (shaped(exoskel.Ray(1.0)), "mujoco"),
    "EN010.refused": (shaped(exoskel.Mesh("nowhere.obj")), "dart"),
    "EN011": (shaped(TETRA), "mujoco"),
    "EN012": (with_motor("amotor", high_stop=1.0), "warp"),
    "EN012.contacts": (crowded(with_motor("amotor", high_stop=1.0)), "mujoco"),
    "EN013": (with_motor("revolute", cfm=0.1, max_force=1.0), "warp"),
    "EN013.contacts": (crowded(with_motor("revolute", cfm=0.1, max_force=1.0)), "mujoco"),
    "EN013.loop": (softly_looped(), "mujoco"),
    "EN013.world": (of_ode(), "mujoco"),
    "EN014": (asleep(), "mujoco"),
    "EN015": (world_of(one_joint("revolute", mimic=Mimic("nobody"))), "mujoco"),
    "EN015.lost": (following(), "ode"),
    "EN016": (world_of(one_joint("ball", actuator="servo")), "warp"),
    "EN016.contacts": (crowded(world_of(one_joint("ball", actuator="servo"))), "mujoco"),
    "EN016.reaction": (world_of(one_joint("revolute", actuator="velocity")), "warp"),
    "EN016.locked": (world_of(one_joint("revolute", actuator="locked", velocities=(1.0,))), "warp"),
    "EN016.velocity": (world_of(one_joint("revolute", actuator="velocity")), "ode"),
    "EN017": (sprung_and_rough(), "warp"),
    "EN017.creep": (rough(), "warp"),
    "EN018.motor": (with_motor("amotor", max_force=1.0), "warp"),
    "EN018.bounce": (stopped(bounce=0.5), "warp"),
    "EN018.stop": (stopped(max_force=1.0, fudge_factor=0.5), "warp"),
    "EN018.contacts": (crowded(with_motor("amotor", max_force=1.0)), "mujoco"),
    "EN018.yield": (stopped(bounce=0.5), "mujoco"),
    "EN018.suspension": (world_of(one_joint("hinge2", drives=(Drive(suspension_cfm=0.1), Drive()))), "mujoco"),
    "EN019": (zero_axis(), "mujoco"),
    "EN019.plane": (flat(), "mujoco"),
    "EN019.collapse": (world_of(one_joint("universal", collapses=True)), "mujoco"),
    "EN020": (geared(), "dart"),
    "EN021": (driven(control_range=(-1, 1)), "dart"),
    "EN021.spring": (driven(kind="position", gain=20.0, control=0.5), "ode"),
    "EN021.force": (driven(control=0.5), "dart"),
    "EN021.limits": (driven(kind="position", gain=20.0, force_range=(-1, 1)), "dart"),
    "EN021.activation": (driven(kind="position", gain=20.0, activation=Activation("filter", 0.1)), "dart"),
    "EN021.integrator": (driven(control=0.5, activation=Activation("integrator")), "dart"),
    "EN021.ignored": (driven(kind="general", bias=(1.0, 0.0, 0.0)), "dart"),
    "EN022": (pulled(), "ode"),
    "EN023": (locked(), "ode"),
}
for _dof in _worlds[id(CASES["EN007.rest"][0].models[0].joints[0])].models[0].joints[0].dofs:
    _dof.stiffness = 1.0


ALSO = {"EN021.activation": ["EN021.spring"]}
"""Messages that come with another one: what an actuator without its filter becomes."""


def test_every_message_has_a_case() -> None:
    assert CASES.keys() == CATALOGUE.messages.keys()


@pytest.mark.parametrize("key", CASES)
def test_each_diagnostic_is_reported_alone(key: str, snapshot: SnapshotAssertion) -> None:
    world, engine = CASES[key]
    found = preflight(world, engine)
    assert [d.key for d in found] == [key, *ALSO.get(key, [])]
    assert f"{found[0].severity}: {found[0].message}\nhint: {found[0].hint}" == snapshot


def test_limits_in_contact_are_reported_only_where_they_differ() -> None:
    """MuJoCo's solver limits velocities of hinges and slides; nothing is different for bodies that touch nothing."""
    assert preflight(crowded(limited("revolute", velocity_limits=(-1.0, 1.0)))) == []
    apart = crowded(world_of(one_joint("revolute")))
    ball = apart.add_model("apart").add_body("apart", joint="ball", moment=UNIT_MOMENT)
    joint = next(joint for joint in apart.joints() if joint.child is ball)
    for dof in joint.dofs:
        dof.position_limits = dof.velocity_limits = (-1.0, 1.0)
    assert preflight(apart) == []


@pytest.mark.parametrize("engine", ["warp", "mujoco"])
def test_limits_of_a_free_joint_along_its_axes_are_soft_in_warp(engine: str) -> None:
    joint = one_joint("free")
    joint.dofs[5].position_limits = (-1.0, 1.0)
    found = preflight(world_of(joint), engine)
    assert [d.key for d in found] == (["EN009.soft"] if engine == "warp" else [])


def test_limits_of_ball_joints_beside_a_loop_are_reported() -> None:
    world = looped()
    ball = world.models[0].add_body("ball", joint="ball", moment=UNIT_MOMENT)
    joint = next(joint for joint in world.joints() if joint.child is ball)
    for dof in joint.dofs:
        dof.position_limits = dof.velocity_limits = (-1.0, 1.0)
    assert {"EN008.contacts", "EN009.contacts"} <= {d.key for d in preflight(world)}


REFUSED = ("EN005", "EN005.time", "EN015", "EN019", "EN019.plane")
RUNNABLE = [key for key, (world, engine) in CASES.items() if engine == "mujoco" and key not in REFUSED]


def test_the_default_engine_steps_as_dart_where_others_do_not() -> None:
    for key in (
        "EN007",
        "EN007.frame",
        "EN007.rest",
        "EN008",
        "EN008.open",
        "EN009",
        "EN009.servo",
        "EN009.soft",
        "EN012",
        "EN013",
        "EN016",
        "EN016.locked",
        "EN016.reaction",
        "EN017",
        "EN017.creep",
        "EN018.motor",
    ):
        assert preflight(CASES[key][0]) == []
        assert [d.key for d in preflight(CASES[key][0], integrator="rk4")] == [key]


@pytest.mark.parametrize("engine", ["mujoco", "warp"])
def test_springs_of_joints_that_do_not_yield_are_not_reported(engine: str) -> None:
    """They have no effect on a joint whose acceleration is prescribed, nor in a static model."""
    still = sprung("stiffness", 1.0, 2.0, 2.0)
    still.models[0].static = True
    assert preflight(still, engine) == []
    for actuator in ("acceleration", "locked"):
        driven = sprung("stiffness", 1.0, 2.0, 2.0)
        driven.models[0].joints[0].actuator = actuator  # type: ignore[assignment]
        assert preflight(driven, engine) == []


@pytest.mark.parametrize("engine", ["mujoco", "warp", "ode"])
@pytest.mark.parametrize("actuator", ["servo", "velocity", "locked"])
def test_actuators_of_welds_do_nothing_to_report(actuator: JointActuator, engine: str) -> None:
    world = world_of(one_joint("weld", actuator=actuator))
    damped = world.models[0].add_body("damped", joint="revolute", axis=(1.0, 0.0, 0.0), moment=UNIT_MOMENT)
    next(joint for joint in world.joints() if joint.child is damped).dofs[0].damping = 1.0
    assert preflight(world, engine) == []


@pytest.mark.parametrize("key", RUNNABLE)
def test_worlds_without_errors_run_in_mujoco(key: str) -> None:
    motion = exoskel.run(CASES[key][0], 0.05)
    assert np.isfinite(motion.body_poses).all()


def test_errors_are_raised_with_all_findings() -> None:
    with pytest.raises(exoskel.NotRunnableError, match=f"nested {MAX_DEPTH + 1} deep") as problem:
        exoskel.run(CASES["EN005"][0])
    assert [d.code for d in problem.value.diagnostics] == ["EN005"]


def test_the_time_to_compile_is_limited_for_scenes_from_files_only() -> None:
    scene = many_from_a_file()
    starts: tuple[Callable[[Scene], object], ...] = (
        exoskel.run,
        exoskel.Simulation,
        lambda one: exoskel.rollout(one, 1, 1),
    )
    for start in starts:
        with pytest.raises(exoskel.NotRunnableError, match="it needs more than 1 s"):
            start(scene)
    assert preflight(scene.world) == []
    allowed = exoskel.load(scene.documents[0].data, limits=exoskel.Limits(seconds=60.0))  # type: ignore[attr-defined]
    assert preflight(allowed) == []


def test_the_maximum_depth_compiles() -> None:
    assert exoskel.Simulation(deep(MAX_DEPTH)).engine.model.nv == MAX_DEPTH


def test_repairs_change_as_little_as_possible() -> None:
    model = exoskel.Simulation(CASES["EN002"][0]).engine.model
    assert sorted(model.body_inertia[-1].tolist()) == pytest.approx([2.5, 2.5, 5.0], rel=1e-6)
    model = exoskel.Simulation(CASES["EN001"][0]).engine.model
    assert model.body_mass[-1] == 1e-12 and model.body_inertia[-1] == pytest.approx(np.ones(3))


def test_findings_point_into_the_file() -> None:
    text = """<skel version="1.0"><world name="w"><skeleton name="s">
      <body name="b"><inertia><mass>0</mass></inertia></body>
      <joint type="revolute" name="j"><parent>world</parent><child>b</child><axis><xyz>0 0 1</xyz></axis></joint>
    </skeleton></world></skel>"""
    scene: Scene = exoskel.load(text.encode())
    (found,) = preflight(scene)
    assert (found.code, found.line) == ("EN001", 2)
    assert exoskel.Simulation(scene).diagnostics == [found]


def test_chains_of_massless_bodies_run() -> None:
    """As dart-env has them: three bodies without mass between the world and the one that weighs something."""
    world = World(gravity=(0.0, 0.0, -9.81))
    model = world.add_model("walker")
    for number, (kind, axis) in enumerate(
        (("prismatic", (1, 0, 0)), ("prismatic", (0, 0, 1)), ("revolute", (0, 1, 0)))
    ):
        parent = model.bodies[-1] if number else None
        model.add_body(
            f"b{number}",
            mass=0.0 if number < 2 else 3.0,
            joint=kind,
            axes=(axis,),
            parent=parent,
            moment=(0.1,) * 3 + (0.0,) * 3,
        )  # type: ignore[arg-type]
    motion = exoskel.run(world, 1.0, integrator="rk4")
    assert motion.positions[-1, 1] == pytest.approx(-9.81 / 2, abs=1e-6)
    assert [d.code for d in preflight(world)] == ["EN001", "EN001"]
