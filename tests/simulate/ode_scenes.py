"""Small worlds that ODE runs, for recording and for asking it now."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import exoskel
from exoskel import Box, Dof, Drive, Plane, Pose, Sphere, World
from exoskel.engines.ode.ode_world import OdeWorld
from tests.support.xode import at, axis, body, joint, position, scene, transform
from tests.xode.probes import ANCHOR

EARTH = (0.0, 0.0, -9.81)
NONE = (0.0, 0.0, 0.0)
MOTORS = (0.5, -0.3)
"""Speeds of the motors of the first and second axis, rad/s or m/s."""
_AXES = ((0.0, 0.6, 0.8), (1.0, 0.0, 0.0))
_COUNT = {"hinge": 1, "slider": 1, "universal": 2, "hinge2": 2}
ENDS = (("a", "b"), ("b", "a"), ("a", ""), ("", "a"))


class Scene(NamedTuple):
    """A world, and how many steps to take between looking at it."""

    world: World
    every: int
    looks: int


def motor(kind: str, first: str, second: str) -> World:
    """A joint between a turned body and another or the environment, in that order, and a motor on each axis."""
    axes = "".join(
        axis(f'Vel="{speed}" FMax="1000"', *direction)
        for direction, speed in zip(_AXES[: _COUNT[kind]], MOTORS, strict=False)
    )
    x, y, z = ANCHOR
    anchor = "" if kind == "slider" else f'<anchor x="{x}" y="{y}" z="{z}" absolute="true"/>'
    turn = '<rotation><axisangle x="0" y="0" z="1" angle="90" aformat="degrees"/></rotation>'
    bodies = body(transform(position(0.2, 0.1, 0.3) + turn), "a")
    if "b" in (first, second):
        bodies += body(at(1, -0.5, 2), "b")
    inner = f"<{kind}>{anchor}{axes}</{kind}>"
    return exoskel.load(scene(bodies + joint(inner, first=first, second=second)), dialect="spec").world


def stopped(bounce: float) -> World:
    """A slider that falls one metre to its stop."""
    world = World(gravity=EARTH, time_step=1e-3)
    model = world.add_model("m")
    model.add_body("b", joint="prismatic", joint_name="j", axes=((0, 0, 1),), moment=(1, 1, 1, 0, 0, 0))
    model.joint("j").dofs[0].position_limits = (-1.0, 5.0)
    model.joint("j").drives = (Drive(low_stop=-1.0, high_stop=5.0, bounce=bounce),)
    return world


def sprung(kind: str) -> World:
    """A joint with a spring, a damper, and limits that it does not reach."""
    world = World(gravity=NONE, time_step=1e-3)
    model = world.add_model("m")
    model.add_body("b", mass=2.0, moment=(2, 2, 2, 0, 0, 0), joint=kind, joint_name="j", axes=((1, 0, 0),))  # type: ignore[arg-type]
    model.joint("j")._dofs = [Dof(position=1.0, stiffness=50.0, damping=2.0, rest=0.2, position_limits=(-3.0, 3.0))]
    return world


def rubbed() -> World:
    """A slider that Coulomb friction stops: 2 m/s² for half a second, a quarter of a metre."""
    world = World(gravity=NONE, time_step=1e-3)
    model = world.add_model("m")
    model.add_body("b", mass=2.0, moment=(1, 1, 1, 0, 0, 0), joint="prismatic", joint_name="j", axes=((1, 0, 0),))
    model.joint("j").velocities = (1.0,)
    model.joint("j").dofs[0].friction = 4.0
    return world


def amotor() -> World:
    """A body that floats, with a motor about each of the world's axes."""
    axes = "".join(
        axis(f'Vel="{speed}" FMax="1000"', *direction)
        for speed, direction in zip((0.5, -0.3, 0.2), np.eye(3).tolist(), strict=True)
    )
    return exoskel.load(
        scene(body(at(1, 2, 3), "a") + joint(f"<amotor>{axes}</amotor>", second="")), dialect="spec"
    ).world


def fall() -> World:
    """A body whose centre of mass is off its origin falls and turns about it; another has no gravity."""
    world = World(gravity=EARTH, time_step=1e-3)
    model = world.add_model("m")
    model.add_body(
        "b", mass=2.0, com=(0.5, 0.0, 0.0), moment=(1, 1, 1, 0, 0, 0), velocities=(0.0, 0.0, 2.0, 0.0, 1.0, 0.0)
    )
    world.add_model("n").add_body("floats", pose=Pose((5.0, 0.0, 0.0))).gravity = False
    return world


def resting() -> World:
    """A box and a sphere that are let go just above the ground."""
    world = _ground(EARTH)
    world.add_model("box").add_body("b", pose=Pose((0, 0, 0.52)), shapes=[Box((1.0, 1.0, 1.0))])
    world.add_model("sphere").add_body("s", pose=Pose((3, 0, 0.32)), shapes=[Sphere(0.3)])
    return world


def incline(slope: float) -> World:
    """A box on the ground, and gravity aslant, `slope` along x for one down."""
    world = _ground((9.81 * slope, 0.0, -9.81))
    world.add_model("box").add_body("b", pose=Pose((0, 0, 0.25)), shapes=[Box((1.0, 1.0, 0.5))])
    return world


def _ground(gravity: tuple[float, float, float]) -> World:
    world = World(gravity=gravity, time_step=2e-3)
    world.add_model("ground", static=True).add_body("g", joint="weld", shapes=[Plane((0.0, 0.0, 1.0))])
    return world


PROBES = [(kind, *ends) for kind in _COUNT for ends in ENDS if kind != "hinge2" or "" not in ends]
SCENES: dict[str, Scene] = {
    **{
        f"{kind}: {first or 'environment'} to {second or 'environment'}": Scene(motor(kind, first, second), 50, 4)
        for kind, first, second in PROBES
    },
    "amotor": Scene(amotor(), 50, 4),
    "stop": Scene(stopped(0.0), 50, 24),
    "bounce": Scene(stopped(0.5), 50, 24),
    "spring that turns": Scene(sprung("revolute"), 100, 10),
    "spring that slides": Scene(sprung("prismatic"), 100, 10),
    "friction": Scene(rubbed(), 100, 10),
    "fall": Scene(fall(), 100, 5),
    "rest": Scene(resting(), 100, 5),
    "stick": Scene(incline(0.5), 100, 5),
    "slip": Scene(incline(1.5), 100, 5),
}


def look(world: OdeWorld) -> dict[str, Any]:
    """Everything that ODE and we say about a world now."""
    measured = world.measure()
    return {
        "time": world.time,
        "poses": exoskel.spatial.pose7(world.body_poses).tolist(),
        "positions": world.positions.tolist(),
        "velocities": world.velocities.tolist(),
        "energy": list(world.energy),
        "contacts": world.contact_count,
        "measured": {str(number): list(found) for number, found in measured.items()},
    }


def watch(name: str) -> list[dict[str, Any]]:
    """What a scene does, look by look."""
    one = SCENES[name]
    world = OdeWorld(one.world)
    try:
        rows = [look(world)]
        for _ in range(one.looks):
            world.step(one.every)
            rows.append(look(world))
        return rows
    finally:
        world.close()
