"""Names of our writer, taken apart, and the parts that it generates only for MuJoCo.

These are flywheels of motors, actuators of servos, duplicates of bodies that close loops, slabs of meshes, angular
motors, and the points and edges of soft skins.  A part counts as generated only if all its properties are as the writer
sets them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

import numpy as np
from msgspec import Struct, field

from exoskel.formats.mjcf.model.actuation import SERVO
from exoskel.formats.mjcf.model.joints import PRESCRIBED_ARMATURE, UNBOUNDED_FORCE, Motor
from exoskel.formats.mjcf.model.soft_bodies import edge_name, point_name
from exoskel.formats.mjcf.names import INERTIA, split_path
from exoskel.formats.mjcf.reader.compiled import Compiled
from exoskel.scene.body import Body, SoftBody
from exoskel.scene.json_codec import CodecError, decode_field, decode_json
from exoskel.scene.soft_skin import has_surface, soft_skin
from exoskel.spatial import Array


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
_AT_JOINT, _AFFINE = (0, 1), 1
"""Values of mjtTrn and mjtBias."""
_SAME_AXES = 1e-9
"""The tolerance of axes that are orthogonal in a file."""
WELD = 1
"""Values of mjtEq."""


class _SkinParts(Struct, frozen=True):
    """The bodies and tendons of a skin."""

    points: list[int]
    edges: list[int]


class GeneratedParts(Struct):
    """Numbers of elements that are not part of the scene, and what they represent.

    `motors` are keyed by the MuJoCo joint that they drive.  `duplicates` map each duplicate to its body.  `angular`
    are the actuators of angular motors, by the motor's name.  `servos` are the actuators of ball and free joints, by
    the MuJoCo joint and the coordinate.  `skins` are soft skins by body, `skin_parts` their points and edges.
    """

    bodies: set[int] = field(default_factory=set)
    tendons: set[int] = field(default_factory=set)
    actuators: set[int] = field(default_factory=set)
    equalities: set[int] = field(default_factory=set)
    motors: dict[int, Motor] = field(default_factory=dict)
    duplicates: dict[int, int] = field(default_factory=dict)
    angular: dict[str, list[int]] = field(default_factory=dict)
    servos: dict[int, dict[int, int]] = field(default_factory=dict)
    skins: dict[int, SoftBody] = field(default_factory=dict)
    skin_parts: dict[int, _SkinParts] = field(default_factory=dict)


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
    _find_servos(compiled, found)
    for name, text in compiled.prepared.skins.items():
        if name in compiled.bodies.numbers:
            _find_skin(compiled, compiled.bodies.numbers[name], text, found)
    return found


def is_inertia_shape(compiled: Compiled, number: int) -> bool:
    """Whether a geom is one that a body without shapes has in a document for DART."""
    collides = compiled.model.geom_contype[number] or compiled.model.geom_conaffinity[number]
    return not collides and compiled.geoms.name(number).startswith(INERTIA)


def generated_nodes(compiled: Compiled, generated: GeneratedParts, owners: Mapping[int, int]) -> dict[int, int]:
    """The elements of generated parts, each with the element of the joint that it belongs to.

    `owners` are the elements of the joints of a scene, by the MuJoCo joints that they consist of.
    """
    found: dict[int, int] = {}
    for driven in filter(owners.__contains__, generated.motors):  # a joint may not have been read
        name = compiled.joints.name(driven) + _FLYWHEEL
        for parts in (compiled.bodies, compiled.tendons, compiled.actuators):
            if name in parts.numbers:
                found[parts.node(parts.numbers[name])] = owners[driven]
    for driven in filter(owners.__contains__, generated.servos):
        found |= {compiled.actuators.node(number): owners[driven] for number in generated.servos[driven].values()}
    for body in generated.duplicates:
        joints = compiled.joints_of(body)
        found |= {compiled.bodies.node(body): owners[joint] for joint in joints[:1] if joint in owners}
    for name, actuators in generated.angular.items():
        own = compiled.actuators.node(actuators[0])
        sites = [compiled.sites.numbers.get(f"{name}{_AMOTOR}{end}") for end in ("site", "reference")]
        found |= {compiled.sites.node(site): own for site in sites if site is not None}
        found |= {compiled.actuators.node(number): own for number in actuators[1:]}
    geoms = [number for number in compiled.geoms.names if is_inertia_shape(compiled, number)]
    bodies = compiled.model.geom_bodyid
    found |= {compiled.geoms.node(number): compiled.bodies.node(int(bodies[number])) for number in geoms}
    for body, skin in generated.skin_parts.items():
        own = compiled.bodies.node(body)
        found |= {compiled.bodies.node(point): own for point in skin.points}
        found |= {compiled.tendons.node(edge): own for edge in skin.edges}
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


def _find_servos(compiled: Compiled, found: GeneratedParts) -> None:
    model: Any = compiled.model
    axes: dict[int, dict[int, int]] = {}
    for number, name in compiled.actuators.names.items():
        head, mark, coordinate = name.rpartition(SERVO)
        driven = compiled.joints.numbers.get(head) if mark and coordinate in "012345" else None
        control = compiled.control(number)
        is_resting = control is not None and not compiled.controls[control]
        if driven is not None and is_resting and _is_servo_axis(model, number, driven):
            axes.setdefault(driven, {})[int(coordinate)] = number
    for driven, actuators in axes.items():
        is_complete = sorted(actuators) == list(range(6 if compiled.types[driven] == "free" else 3))
        frame = servo_frame(compiled, driven, actuators) if is_complete else None
        if frame is not None and np.abs(frame.T @ frame - np.eye(3)).max() < _SAME_AXES and np.linalg.det(frame) > 0.0:
            found.servos[driven] = actuators
            found.actuators.update(actuators.values())


def _is_servo_axis(model: Any, number: int, driven: int) -> bool:
    """Whether an actuator tracks a speed, or exerts a constant force, on a joint."""
    kind, target = int(model.actuator_trntype[number]), int(model.actuator_trnid[number, 0])
    gain, (_, stiffness, damping) = (
        float(model.actuator_gainprm[number, 0]),
        model.actuator_biasprm[number, :3].tolist(),
    )
    types = (
        int(model.actuator_dyntype[number]),
        int(model.actuator_gaintype[number]),
        int(model.actuator_biastype[number]),
    )
    return kind in _AT_JOINT and target == driven and types == (0, 0, _AFFINE) and not stiffness and gain == -damping


def servo_frame(compiled: Compiled, driven: int, actuators: Mapping[int, int]) -> Array:
    """The axes of rotation of a servo, as columns."""
    first = 3 if compiled.types[driven] == "free" else 0
    gears = compiled.gears[[actuators[i] for i in range(3)], first : first + 3]
    return np.array(gears, dtype=float).T


def servo_motors(compiled: Compiled, actuators: Mapping[int, int]) -> dict[int, Motor]:
    """The motors of a servo by coordinate."""
    model: Any = compiled.model
    found: dict[int, Motor] = {}
    for coordinate, number in actuators.items():
        low, high = -inf, inf
        if not model.actuator_gainprm[number, 0]:
            low = high = float(model.actuator_biasprm[number, 0])
        elif model.actuator_forcelimited[number]:
            low, high = (_bound_or_infinity(force) for force in model.actuator_forcerange[number].tolist())
        found[coordinate] = Motor(coordinate, float(compiled.controls[compiled.control(number)]), (low, high))
    return found


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


# --- soft skins ----------------------------------------------------------------------------------------


_SLIDES = ["slide"] * 3
_CLOSE = 1e-9
"""The relative tolerance of numbers that agree."""


def _find_skin(compiled: Compiled, body: int, text: str, found: GeneratedParts) -> None:
    """Find the points and edges of a skin, if all are as the writer sets them; masses and springs may be others."""
    soft = _stated_skin(compiled, body, text)
    if soft is None:
        return
    skin, name, model = soft_skin(soft), compiled.bodies.name(body), compiled.model
    points = [compiled.bodies.numbers[point_name(name, number)] for number in range(len(skin))]
    joints = [joint for point in points for joint in compiled.joints_of(point)]
    edges = [
        compiled.tendons.numbers[edge]
        for number in range(len(skin.edges))
        for axis in "xyz"
        if (edge := edge_name(name, number, axis)) in compiled.tendons.numbers
    ]
    dofs = model.jnt_dofadr[joints]
    if not (_are_slides(compiled, body, points) and _is_at_rest(compiled, joints)):
        return
    close = _CLOSE * float(np.abs(skin.points).max())
    springs = (model.body_mass[points], model.jnt_stiffness[joints], model.dof_damping[dofs])
    if np.abs(model.body_pos[points] - skin.points).max() > close or not all(map(_is_uniform, springs)):
        return
    if edges and not (len(edges) == 3 * len(skin.edges) and _is_uniform(model.tendon_stiffness[edges])):
        return
    mass, stiffness, damping = (float(values[0]) for values in springs)
    soft.total_mass = _stated_or(soft.total_mass, len(points) * mass)
    soft.vertex_stiffness = _stated_or(soft.vertex_stiffness, stiffness)
    soft.damping = _stated_or(soft.damping, damping)
    if len(skin.edges):
        soft.edge_stiffness = _stated_or(soft.edge_stiffness, float(model.tendon_stiffness[edges[0]]) if edges else 0.0)
    found.skins[body], found.skin_parts[body] = soft, _SkinParts(points, edges)
    found.bodies.update(points)
    found.tendons.update(edges)


def _stated_skin(compiled: Compiled, body: int, text: str) -> SoftBody | None:
    """The skin that a text describes; None if it is invalid, or has other points than the document."""
    try:
        soft = decode_field(Body, "soft", decode_json(text))
    except CodecError:
        return None
    if not isinstance(soft, SoftBody) or not has_surface(soft):
        return None
    name = compiled.bodies.name(body)
    numbers = compiled.bodies.numbers
    count = sum(parent == body for parent in compiled.parents)
    is_complete = soft.point_count <= count and all(point_name(name, i) in numbers for i in range(soft.point_count))
    return soft if is_complete else None


def _are_slides(compiled: Compiled, body: int, points: Sequence[int]) -> bool:
    """Whether points are bodies with slides along the axes of their parent alone."""
    for point in points:
        joints = compiled.joints_of(point)
        if compiled.parents[point] != body or [compiled.types[joint] for joint in joints] != _SLIDES:
            return False
        if not np.array_equal(compiled.model.jnt_axis[joints], np.eye(3)):
            return False
    return bool((compiled.model.body_quat[points] == (1.0, 0.0, 0.0, 0.0)).all())


def _is_at_rest(compiled: Compiled, joints: Sequence[int]) -> bool:
    """Whether joints are at zero in the initial state, and do not move."""
    qpos, qvel = compiled.initial_state
    return not (qpos[compiled.model.jnt_qposadr[joints]].any() or qvel[compiled.model.jnt_dofadr[joints]].any())


def _is_uniform(values: Array) -> bool:
    return bool(np.ptp(values) <= _CLOSE * np.abs(values).max())


def _stated_or(stated: float, found: float) -> float:
    """The stated number if it agrees with what was found."""
    return stated if abs(stated - found) <= _CLOSE * abs(found) else found
