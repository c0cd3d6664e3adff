"""Motors in URDF: effort interfaces of `ros2_control` and of transmissions.

The command of an effort interface is the force on its joint, N or N·m, so it is a motor of the scene.  A position or
velocity interface has no gains: the force of its servo is unknown, and it is not an actuator of the scene.
`ros2_control` replaces transmissions: they are not read if a document has both.  The `initial_value` of a state
interface is the initial position or velocity of its joint.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Set
from math import isfinite

from msgspec import Struct

from exoskel.diagnostics import Collector
from exoskel.scene.actuator import Actuator
from exoskel.scene.item import Names, qualified_name, unique_name
from exoskel.scene.joint import UNLIMITED, Interval, Joint
from exoskel.scene.model import Model
from exoskel.scene.world import Scene
from exoskel.source.document import Document, Tree
from exoskel.source.markup import Markup, format_number

MOTOR_JOINTS = frozenset({"revolute", "prismatic"})
"""The kinds of joint that an effort interface drives."""
CONTROL, TRANSMISSION = "ros2_control", "transmission"
_INTERFACES = {
    "EffortJointInterface": "effort",
    "PositionJointInterface": "position",
    "VelocityJointInterface": "velocity",
}
STATES = ("position", "velocity")
"""The state interfaces whose initial values are read."""
INITIAL_VALUE = "initial_value"
_HARDWARE = "mock_components/GenericSystem"
"""The plugin of written documents: it accepts commands without hardware."""


class CommandInterface(Struct, frozen=True):
    """A command of a joint, by the names in the document; `range` is None if it is not stated."""

    joint: str
    kind: str
    node: int
    range: Interval | None = None


class ControlElement(Struct, frozen=True):
    """A `ros2_control` or `transmission` element: the number of its node, and what it contains."""

    tag: str
    node: int
    interfaces: list[CommandInterface]
    joints: frozenset[str]
    """The names of all joints that it refers to."""
    initial_values: dict[tuple[str, str], float]
    """Initial values by the names of joints and of their state interfaces, `position` or `velocity`."""

    def is_lost_with(self, removed: Set[str | None]) -> bool:
        """Whether the element is not written if some joints are removed: of `ros2_control`, other parts remain."""
        return bool(self.joints & removed) and (self.tag != CONTROL or self.joints <= removed)


def find_control_elements(root: Tree) -> list[ControlElement]:
    """The elements of a robot that state command interfaces, without transmissions if there is a `ros2_control`."""
    numbers = {element: number for number, element in enumerate(root.iter("*"))}
    found = [_control_element(element, numbers) for element in root if element.tag in (CONTROL, TRANSMISSION)]
    has_control = any(one.tag == CONTROL for one in found)
    return [one for one in found if one.tag == CONTROL or not has_control]


def _control_element(element: Tree, numbers: Mapping[Tree, int]) -> ControlElement:
    read = _control_interfaces if element.tag == CONTROL else _transmission_interfaces
    joints = frozenset(one.get("name") or "" for one in element.iter("joint"))
    initial = _initial_values(element) if element.tag == CONTROL else {}
    return ControlElement(str(element.tag), numbers[element], list(read(element, numbers)), joints, initial)


def _initial_values(element: Tree) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], float] = {}
    for joint in element.iterfind("joint"):
        for state in joint.iterfind("state_interface"):
            for one in state.iterfind("param"):
                value = _number(one.text) if one.get("name") == INITIAL_VALUE else None
                if value is not None and state.get("name") in STATES:
                    found.setdefault((joint.get("name") or "", state.get("name") or ""), value)
    return found


def _control_interfaces(element: Tree, numbers: Mapping[Tree, int]) -> Iterator[CommandInterface]:
    for joint in element.iterfind("joint"):
        for command in joint.iterfind("command_interface"):
            values = {one.get("name"): _number(one.text) for one in command.iterfind("param")}
            low, high = values.get("min"), values.get("max")
            bounds = None if low is None or high is None or low > high else (low, high)
            yield CommandInterface(joint.get("name") or "", command.get("name") or "", numbers[command], bounds)


def _transmission_interfaces(element: Tree, numbers: Mapping[Tree, int]) -> Iterator[CommandInterface]:
    shared = {kind for one in element.iterfind("actuator") for kind in _stated_interfaces(one)}
    for joint in element.iterfind("joint"):
        for kind in _stated_interfaces(joint) or shared:
            yield CommandInterface(joint.get("name") or "", kind, numbers[joint])


def _stated_interfaces(element: Tree) -> set[str]:
    """The interfaces of a joint or actuator: `hardware_interface/EffortJointInterface`, or without the package."""
    texts = ((one.text or "").strip().rpartition("/")[2] for one in element.iterfind("hardwareInterface"))
    return {_INTERFACES[text] for text in texts if text in _INTERFACES}


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if isfinite(value) else None


# --- reading -------------------------------------------------------------------------------------------


def read_motors(root: Tree, model: Model, collector: Collector) -> list[Actuator]:
    """The motors of a robot, and reports of what is read and what is not."""
    joints = {joint.name: joint for joint in model.joints if joint.kind in MOTOR_JOINTS}
    taken, driven, found = Names(), set[str](), list[Actuator]()
    for element in find_control_elements(root):
        made = 0
        for one in element.interfaces:
            joint = joints.get(one.joint)
            if joint is None or one.kind not in _INTERFACES.values():
                continue
            if one.kind != "effort":
                collector.report("UR110", one.node, interface=one.kind, joint=one.joint)
            elif joint.name not in driven:
                driven.add(joint.name)
                found.append(_motor(one, joint, model, taken))
                made += 1
        stated = {(name, state): value for (name, state), value in element.initial_values.items() if name in joints}
        for (name, state), value in stated.items():
            setattr(joints[name].dofs[0], state, value)
        if made or stated:
            ignored = ("UR107", element.node)
            kept = [d for d in collector.diagnostics if (d.code, d.place.node) != ignored]
            collector.diagnostics[:] = kept
        if made:
            collector.report("UR109", element.node, element=element.tag, count=made)
        if stated:
            collector.report("UR109.initial", element.node, element=element.tag, count=len(stated))
    return found


def _motor(interface: CommandInterface, joint: Joint, model: Model, taken: Names) -> Actuator:
    name = unique_name(joint.name, taken)
    taken.add(name)
    limits = joint.dofs[0].force_limits
    bounds = interface.range or (limits if all(map(isfinite, limits)) else UNLIMITED)
    return Actuator(name, qualified_name(model.name, joint.name), control_range=bounds)


# --- writing -------------------------------------------------------------------------------------------


def motor_element(scene: Scene, model: Model, names: Mapping[int, str], *, copies_source: bool) -> Markup | None:
    """The `ros2_control` element with the motors of a model; None if the model has no motor.

    `names` are the names of joints in the document, by their ids.  With `copies_source`, elements of the source are
    written again: then None, too, if they state the same motors.
    """
    joints = {qualified_name(model.name, joint.name): joint for joint in model.joints if id(joint) in names}
    motors = [(joints[one.joint], one) for one in scene.world.actuators if one.joint in joints]
    present, stated = _copied_motors(scene, model) if copies_source else (Counter[tuple[int, Interval]](), {})
    by_id = {id(joint): joint for joint in model.joints}
    changed = [by_id[key] for (key, state), value in stated.items() if getattr(by_id[key].dofs[0], state) != value]
    if present == Counter((id(joint), one.control_range) for joint, one in motors) and not changed:
        return None
    element = Markup(CONTROL, {"name": model.name.strip() or "robot", "type": "system"})
    hardware = element.add("hardware")
    hardware.children.append(Markup("plugin", text=_HARDWARE))
    for joint, motor in motors:
        made = element.add("joint", name=names[id(joint)])
        command = made.add("command_interface", name="effort")
        if motor.control_range != UNLIMITED:
            for key, value in zip(("min", "max"), motor.control_range, strict=True):
                command.children.append(Markup("param", {"name": key}, text=format_number(value)))
        _add_states(made, joint)
    driven = {id(joint) for joint, _ in motors}
    for number in dict.fromkeys(number for number, _ in stated if number not in driven and number in names):
        _add_states(element.add("joint", name=names[number]), by_id[number])
    return element


def control_element(scene: Scene) -> int | None:
    """The only `ros2_control` element of the source; None if it has none or several."""
    source = scene.documents[0] if scene.documents else None
    if not isinstance(source, Document):
        return None
    outline = source.outline
    found = [node for node, tag in enumerate(outline.tags) if tag == CONTROL and outline.parents[node] == 0]
    return found[0] if len(found) == 1 else None


def _add_states(element: Markup, joint: Joint) -> None:
    """Add the state interfaces of a joint, with its initial state."""
    for state in (*STATES, "effort"):
        made = element.add("state_interface", name=state)
        value = getattr(joint.dofs[0], state) if state in STATES else 0.0
        if value:
            made.children.append(Markup("param", {"name": INITIAL_VALUE}, text=format_number(value)))


def _copied_motors(scene: Scene, model: Model) -> tuple[Counter[tuple[int, Interval]], dict[tuple[int, str], float]]:
    """The motors of the elements of the source, which are written again, by the ids of joints and their ranges.

    And initial values, by the ids of joints and names of states.  Elements that refer to a joint that was removed are
    not written; of a `ros2_control` element, only what refers to it.
    """
    source = scene.documents[0] if scene.documents else None
    found: Counter[tuple[int, Interval]] = Counter()
    initial: dict[tuple[int, str], float] = {}
    if not isinstance(source, Document):
        return found, initial
    known = {source.attribute_text(joint.node, "name"): joint for joint in model.joints if joint.document == 0}
    root, driven = source.parse(), set[str]()
    removed = {one.get("name") for one in root.iterfind("joint")} - known.keys()
    for element in find_control_elements(root):
        for (name, state), value in element.initial_values.items() if not element.is_lost_with(removed) else ():
            if name in known and known[name].kind in MOTOR_JOINTS:
                initial[id(known[name]), state] = value
        for one in element.interfaces if not element.is_lost_with(removed) else ():
            joint = known.get(one.joint)
            if joint is not None and one.kind == "effort" and joint.kind in MOTOR_JOINTS and one.joint not in driven:
                driven.add(one.joint)
                found[id(joint), _motor(one, joint, model, Names()).control_range] += 1
    return found, initial
