"""The actuators of a scene as elements of MJCF, for files and for the engine.

In the model of the engine, controls are relative to the initial ones: all of them are zero after a reset, in one world
as in many.  Those of actuators with activations are not: these are not linear.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from exoskel.formats.mjcf.model.joints import finite_range
from exoskel.formats.mjcf.model.layout import WorldLayout
from exoskel.formats.mjcf.model.tendons import tendon_name
from exoskel.formats.mjcf.tree import MjcfElement, Value
from exoskel.scene.actuator import Activation, ActivationKind, Actuator, driven_dofs
from exoskel.scene.item import qualified_name
from exoskel.scene.joint import UNLIMITED, Dof, Interval, Joint
from exoskel.scene.tendon import TendonParts
from exoskel.scene.world import World

DrivenCoordinates = frozenset[tuple[int, int]]
"""The ids of joints, and the numbers of their coordinates that actuators drive."""


def driven_coordinates(world: World) -> DrivenCoordinates:
    """The coordinates with actuators: there the limits of forces are those of all actuators together."""
    if not world.actuators:
        return frozenset()
    return frozenset((id(joint), one.coordinate) for one, joint, _ in driven_dofs(world.actuators, world.models))


def actuator_joints(layout: WorldLayout) -> Iterator[tuple[Actuator, Joint, str]]:
    """Yield actuators with the joints that they drive, and the names of the MuJoCo joints."""
    world = layout.world
    models = {id(joint): model for model in world.models for joint in model.joints} if world.actuators else {}
    for actuator, joint, _ in driven_dofs(world.actuators, world.models):
        chain, names = layout.chain(models[id(joint)], joint)
        found = (name for name, link in zip(names, chain, strict=True) if actuator.coordinate in link.coordinates)
        yield actuator, joint, next(found)


def actuator_targets(layout: WorldLayout) -> Iterator[tuple[Actuator, str, str]]:
    """Yield all actuators that drive something, in order: `joint` or `tendon`, and the name of its element."""
    world = layout.world
    if not world.actuators:
        return
    joints = {one.name: name for one, _, name in actuator_joints(layout)}
    parts = TendonParts(world.models if any(one.tendon for one in world.actuators) else ())
    tendons = {one.name for one in world.tendons if parts.models and parts.is_complete(one)}
    for one in world.actuators:
        if one.tendon in tendons:
            yield one, "tendon", tendon_name(one.tendon)
        elif one.name in joints:
            yield one, "joint", joints[one.name]


def element_name(actuator: Actuator) -> str:
    """The name of the element: a path of one name, which is not that of a generated part."""
    return qualified_name(actuator.name)


def force_range_attributes(dof: Dof) -> dict[str, Value]:
    """The attributes of a MuJoCo joint that bound the total force of its actuators."""
    if dof.force_limits == UNLIMITED:
        return {}
    return {"actuatorfrclimited": True, "actuatorfrcrange": finite_range(dof.force_limits)}


_DYNAMICS: dict[ActivationKind, str] = {"filter": "filter", "exact_filter": "filterexact", "integrator": "integrator"}


def add_actuators(layout: WorldLayout, root: MjcfElement) -> None:
    """Add the actuators of a world to a file."""
    for actuator, kind, target in actuator_targets(layout):
        given: dict[str, Value] = {"name": element_name(actuator), kind: target}
        given |= {"gear": (actuator.gear,)} if actuator.gear != 1.0 else {}
        given |= _range("ctrl", actuator.control_range) | _range("force", actuator.force_range)
        tag, more = _kind(actuator)
        root.child("actuator").add(tag, **given, **more)


def key_controls(
    world: World, root: MjcfElement, controls: Mapping[str, float], activations: Mapping[str, float]
) -> dict[str, Value]:
    """The controls and activations of all actuators in a document, from those of some by name; none if all are zero."""
    made: dict[str, Value] = {}
    for attribute, values in (("ctrl", controls), ("act", activations)):
        stated = {element_name(one): values.get(one.name, 0.0) for one in world.actuators}
        if any(stated.values()):
            elements = root.child("actuator").children
            chosen = elements if attribute == "ctrl" else filter(has_activation, elements)
            made[attribute] = [stated.get(str(one.attributes["name"]), 0.0) for one in chosen]
    return made


def has_activation(element: MjcfElement) -> bool:
    """Whether an element written by `add_actuators` has an activation."""
    return "dyntype" in element.attributes


def add_engine_actuators(layout: WorldLayout, root: MjcfElement) -> None:
    """Add the actuators of a world to the document of the engine."""
    for actuator, kind, target in actuator_targets(layout):
        constant, *factors = actuator.feedback
        if actuator.activation is None:
            constant += actuator.gain * actuator.clipped(actuator.control)
        given = _range("force", actuator.force_range) | _gain(actuator.gain)
        given |= {"biastype": "affine", "biasprm": (constant, *factors)}
        given |= {"name": element_name(actuator), kind: target, "gear": (actuator.gear,)}
        if actuator.activation is not None:
            given |= _dynamics(actuator.activation) | _range("ctrl", actuator.control_range)
        root.child("actuator").add("general", **given)


def _kind(actuator: Actuator) -> tuple[str, dict[str, Value]]:
    """The tag of an actuator in a file, and the attributes of its gains."""
    if actuator.activation is not None:
        return "general", _general(actuator.gain, actuator.feedback) | _dynamics(actuator.activation)
    if actuator.kind == "motor" and actuator.gain == 1.0:
        return "motor", {}
    if actuator.kind == "position" and min(actuator.gain, actuator.damping) >= 0.0:
        gains: dict[str, Value] = {"kp": actuator.gain}
        return "position", gains | ({"kv": actuator.damping} if actuator.damping else {})
    if actuator.kind == "velocity" and actuator.gain >= 0.0:
        return "velocity", {"kv": actuator.gain}
    return "general", _general(actuator.gain, actuator.feedback)


def _general(gain: float, bias: tuple[float, ...]) -> dict[str, Value]:
    return _gain(gain) | ({"biastype": "affine", "biasprm": bias} if any(bias) else {})


def _dynamics(activation: Activation) -> dict[str, Value]:
    """The attributes of an activation, apart from its initial value."""
    constant = () if activation.kind == "integrator" else (activation.time_constant, 0.0, 0.0)
    given: dict[str, Value] = {"dyntype": _DYNAMICS[activation.kind]}
    given |= {"dynprm": constant} if constant else {}
    given |= {"actearly": True} if activation.early else {}
    return given | _range("act", activation.range)


def _gain(gain: float) -> dict[str, Value]:
    return {"gainprm": (gain, 0.0, 0.0)}


def _range(kind: str, limits: Interval) -> dict[str, Value]:
    return {} if limits == UNLIMITED else {f"{kind}limited": True, f"{kind}range": finite_range(limits)}
