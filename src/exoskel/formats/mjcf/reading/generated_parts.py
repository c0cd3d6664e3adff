"""What this package's writer adds for MuJoCo alone, found again by its three-part names.

Flywheels behind motors, stand-ins on joints that close loops, slabs of meshes, and angular motors.  Each is taken
for what it looks like unless everything about it is as the writer makes it.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from exoskel.formats.mjcf.model.motors import PRESCRIBED_ARMATURE, UNBOUNDED_FORCE, Motor
from exoskel.formats.mjcf.reading.compiled import Compiled

_FLYWHEEL, _STAND_IN, _AMOTOR = "/motor", "/stand-in", "/amotor/"
WELD = 1
"""Of mjtEq."""


class GeneratedParts(Struct):
    """Numbers of elements that are no part of the scene, and what they stand for.

    `motors` are by the MuJoCo joint that they drive; `stand_ins` give the body that each stands for; `angular` are
    the actuators of angular motors, by the motor's name.
    """

    bodies: set[int] = field(default_factory=set)
    tendons: set[int] = field(default_factory=set)
    actuators: set[int] = field(default_factory=set)
    equalities: set[int] = field(default_factory=set)
    motors: dict[int, Motor] = field(default_factory=dict)
    stand_ins: dict[int, int] = field(default_factory=dict)
    angular: dict[str, list[int]] = field(default_factory=dict)


def find_helpers(compiled: Compiled) -> GeneratedParts:
    found = GeneratedParts()
    for number, name in compiled.bodies.names.items():
        if name.endswith(_FLYWHEEL):
            _flywheel(compiled, number, name, found)
        elif name.endswith(_STAND_IN):
            _stand_in(compiled, number, name, found)
    for number, name in compiled.actuators.names.items():
        motor, mark, axis = name.rpartition(_AMOTOR)
        if mark and axis.isdigit() and f"{motor}{_AMOTOR}site" in compiled.sites.numbers:
            found.angular.setdefault(motor, []).append(number)
            found.actuators.add(number)
    return found


def _flywheel(compiled: Compiled, body: int, name: str, found: GeneratedParts) -> None:
    model: Any = compiled.model
    wheel, tie = compiled.joints.numbers.get(name), compiled.tendons.numbers.get(name)
    driven = compiled.joints.numbers.get(name.removesuffix(_FLYWHEEL))
    if wheel is None or tie is None or driven is None or compiled.joints_of(body) != [wheel]:
        return
    address = int(model.jnt_dofadr[wheel])
    if model.dof_armature[address] < 0.5 * PRESCRIBED_ARMATURE:
        return
    bound, bias = float(model.tendon_frictionloss[tie]), 0.0
    actuator = compiled.actuators.numbers.get(name)
    if actuator is not None:
        bias = float(model.actuator_biasprm[actuator, 0])
        found.actuators.add(actuator)
    found.bodies.add(body)
    found.tendons.add(tie)
    limits = (_bound(bias - bound), _bound(bias + bound))
    found.motors[driven] = Motor(0, float(compiled.start[1][address]), limits)


def _bound(force: float) -> float:
    """Where it is as good as boundless, infinity."""
    return force if abs(force) < 0.99 * UNBOUNDED_FORCE else float("inf") if force > 0 else -float("inf")


def _stand_in(compiled: Compiled, body: int, name: str, found: GeneratedParts) -> None:
    model: Any = compiled.model
    weld = compiled.equalities.numbers.get(name)
    if weld is None or int(model.eq_type[weld]) != WELD or int(model.eq_obj2id[weld]) != body:
        return
    found.bodies.add(body)
    found.equalities.add(weld)
    found.stand_ins[body] = int(model.eq_obj1id[weld])
