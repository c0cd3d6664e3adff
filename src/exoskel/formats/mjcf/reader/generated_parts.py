"""Names of our writer, taken apart, and the parts that it generates only for MuJoCo.

These are flywheels of motors, duplicates of bodies that close loops, slabs of meshes, and angular motors.  A part
counts as generated only if all its properties are as the writer sets them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from exoskel.formats.mjcf.model.motors import PRESCRIBED_ARMATURE, UNBOUNDED_FORCE, Motor
from exoskel.formats.mjcf.names import split_path
from exoskel.formats.mjcf.reader.compiled import Compiled


def common_model(names: Sequence[str]) -> str | None:
    """The first part of two-part names if all share it: `model` of `model/body`."""
    split = [name.partition("/") for name in names]
    if not split or any(not rest or not first for first, _, rest in split):
        return None
    return split[0][0] if len({first for first, _, _ in split}) == 1 else None


def strip_model(name: str, model: str) -> str:
    """A name without the prefix of its model, with escaped characters restored."""
    rest = name.removeprefix(f"{model}/") if model else name
    return split_path(rest)[0] if "/" not in rest and model else rest


def joint_name(names: Sequence[str], model: str, body: str) -> str:
    """The name of a joint that consists of MuJoCo joints with these names."""
    if len(names) == 1 and names[0]:
        return strip_model(names[0], model)
    numbered = numbered_joint(names)
    return strip_model(numbered, model) if numbered else f"{body}_joint"


def numbered_joint(names: Sequence[str]) -> str:
    """The common name before the numbers `0`, `1`, … that our writer appends; otherwise empty."""
    heads = {name.rpartition("/")[0] for name in names}
    tails = [name.rpartition("/")[2] for name in names]
    return heads.pop() if len(heads) == 1 and tails == [str(i) for i in range(len(names))] else ""


# --- parts ---------------------------------------------------------------------------------------------


_FLYWHEEL, _DUPLICATE, _AMOTOR = "/motor", "/stand-in", "/amotor/"
WELD = 1
"""Of mjtEq."""


class GeneratedParts(Struct):
    """Numbers of elements that are not part of the scene, and what they represent.

    `motors` are keyed by the MuJoCo joint that they drive.  `duplicates` map each duplicate to its body.  `angular`
    are the actuators of angular motors, by the motor's name.
    """

    bodies: set[int] = field(default_factory=set)
    tendons: set[int] = field(default_factory=set)
    actuators: set[int] = field(default_factory=set)
    equalities: set[int] = field(default_factory=set)
    motors: dict[int, Motor] = field(default_factory=dict)
    duplicates: dict[int, int] = field(default_factory=dict)
    angular: dict[str, list[int]] = field(default_factory=dict)


def find_generated_parts(compiled: Compiled) -> GeneratedParts:
    """Find all generated parts of a compiled document."""
    found = GeneratedParts()
    for number, name in compiled.bodies.names.items():
        if name.endswith(_FLYWHEEL):
            _find_flywheel(compiled, number, name, found)
        elif name.endswith(_DUPLICATE):
            _find_duplicate(compiled, number, name, found)
    for number, name in compiled.actuators.names.items():
        motor, mark, axis = name.rpartition(_AMOTOR)
        if mark and axis in ("0", "1", "2") and f"{motor}{_AMOTOR}site" in compiled.sites.numbers:
            found.angular.setdefault(motor, []).append(number)
            found.actuators.add(number)
    return found


def generated_nodes(compiled: Compiled, generated: GeneratedParts, owners: Mapping[int, int]) -> dict[int, int]:
    """The elements of generated parts, each with the element of the joint that it belongs to.

    `owners` are the elements of the joints of a scene, by the MuJoCo joints that they consist of.
    """
    found: dict[int, int] = {}
    for driven in generated.motors:
        name = compiled.joints.name(driven) + _FLYWHEEL
        for parts in (compiled.bodies, compiled.tendons, compiled.actuators):
            if name in parts.numbers:
                found[parts.node(parts.numbers[name])] = owners[driven]
    for body in generated.duplicates:
        joints = compiled.joints_of(body)
        found |= {compiled.bodies.node(body): owners[joint] for joint in joints[:1] if joint in owners}
    for name, actuators in generated.angular.items():
        own = compiled.actuators.node(actuators[0])
        sites = [compiled.sites.numbers.get(f"{name}{_AMOTOR}{end}") for end in ("site", "reference")]
        found |= {compiled.sites.node(site): own for site in sites if site is not None}
        found |= {compiled.actuators.node(number): own for number in actuators[1:]}
    return found


def _find_flywheel(compiled: Compiled, body: int, name: str, found: GeneratedParts) -> None:
    model: Any = compiled.model
    wheel, tendon = compiled.joints.numbers.get(name), compiled.tendons.numbers.get(name)
    driven = compiled.joints.numbers.get(name.removesuffix(_FLYWHEEL))
    if wheel is None or tendon is None or driven is None or compiled.joints_of(body) != [wheel]:
        return
    address = int(model.jnt_dofadr[wheel])
    if model.dof_armature[address] < 0.5 * PRESCRIBED_ARMATURE:
        return
    bound, bias = float(model.tendon_frictionloss[tendon]), 0.0
    actuator = compiled.actuators.numbers.get(name)
    if actuator is not None:
        bias = float(model.actuator_biasprm[actuator, 0])
        found.actuators.add(actuator)
    found.bodies.add(body)
    found.tendons.add(tendon)
    limits = (_bound_or_infinity(bias - bound), _bound_or_infinity(bias + bound))
    found.motors[driven] = Motor(0, float(compiled.initial_state[1][address]), limits)


def _bound_or_infinity(force: float) -> float:
    """The force, or infinity if it is so large that it means no bound."""
    return force if abs(force) < 0.99 * UNBOUNDED_FORCE else float("inf") if force > 0 else -float("inf")


def _find_duplicate(compiled: Compiled, body: int, name: str, found: GeneratedParts) -> None:
    model: Any = compiled.model
    weld = compiled.equalities.numbers.get(name)
    if weld is None or int(model.eq_type[weld]) != WELD or int(model.eq_obj2id[weld]) != body:
        return
    found.bodies.add(body)
    found.equalities.add(weld)
    found.duplicates[body] = int(model.eq_obj1id[weld])
