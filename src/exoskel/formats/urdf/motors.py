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
from exoskel.formats.urdf.context import format_bound, range_of
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
_SYSTEM, _SENSOR = "system", "sensor"
"""Types of `ros2_control` elements."""
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
    type: str
    """Of `ros2_control`: `system`, `actuator` or `sensor`."""
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
    interfaces, type = list(read(element, numbers)), element.get("type") or _SYSTEM
    return ControlElement(str(element.tag), numbers[element], interfaces, joints, type, initial)


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
            bounds = None if low is None or high is None or low > high else range_of(low, high)
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
    _report_invalid(root, collector)
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


_PARAMETERS = {"command_interface": ("min", "max"), "state_interface": (INITIAL_VALUE,)}
"""The parameters of interfaces that are read."""


def _report_invalid(root: Tree, collector: Collector) -> None:
    """Report joints that a robot does not have, and values that are no numbers."""
    known = {one.get("name") or "" for one in root.iterfind("joint")}
    suggestions = collector.suggestions.among(known)
    has_control = root.find(CONTROL) is not None
    for number, one in enumerate(root.iter("*")):
        around = one.getparent()
        tag = "" if around is None else around.tag
        if one.tag == "joint" and (tag == CONTROL or (tag == TRANSMISSION and not has_control)):
            name = one.get("name") or ""
            if name not in known:
                suggestion = suggestions.did_you_mean(name)
                collector.report("UR111", number, element=tag, name=name, suggestion=suggestion)
        elif tag in _PARAMETERS and one.get("name") in _PARAMETERS[str(tag)] and _number(one.text) is None:
            collector.report("UR112", number, name=one.get("name"), value=(one.text or "").strip())
        elif one.tag == "command_interface":
            values = {inner.get("name"): _number(inner.text) for inner in one.iterfind("param")}
            low, high = values.get("min"), values.get("max")
            if low is not None and high is not None and low > high:
                collector.report("UR112.range", number, low=low, high=high)


def _motor(interface: CommandInterface, joint: Joint, model: Model, taken: Names) -> Actuator:
    name = unique_name(joint.name, taken)
    taken.add(name)
    limits = joint.dofs[0].force_limits
    bounds = interface.range or (limits if all(map(isfinite, limits)) else UNLIMITED)
    return Actuator(name, qualified_name(model.name, joint.name), control_range=bounds)


# --- writing -------------------------------------------------------------------------------------------


class MotorElement(Struct, frozen=True):
    """A `ros2_control` element, and the number of the element of the source that it changes, or -1."""

    element: Markup
    source: int = -1


class _SourceControls(Struct, frozen=True):
    """The elements of the source that are written again, and what they state, by the ids of joints.

    `ranges` are those of motors, and None in `stated` if they are not stated but follow from the effort limit.
    `initial` are initial values, with the names of their states.
    """

    elements: list[ControlElement]
    joints: dict[str, Joint]
    ranges: dict[int, Interval]
    stated: dict[int, Interval | None]
    initial: dict[tuple[int, str], float]


def motor_elements(scene: Scene, model: Model, names: Mapping[int, str], *, copies_source: bool) -> list[MotorElement]:
    """The `ros2_control` elements to write for the motors of a model.

    `names` are the names of joints in the document, by their ids.  With `copies_source`, the elements of the source are
    copied: the list is empty if they still state the same motors; otherwise it has a changed one for each of them.
    """
    joints = {qualified_name(model.name, joint.name): joint for joint in model.joints if id(joint) in names}
    motors = [(joints[one.joint], one) for one in scene.world.actuators if one.joint in joints]
    source = _source_controls(scene, model) if copies_source else _SourceControls([], {}, {}, {}, {})
    by_id = {id(joint): joint for joint in model.joints}
    is_same_state = all(getattr(by_id[key].dofs[0], state) == value for (key, state), value in source.initial.items())
    if is_same_state and Counter(source.ranges.items()) == Counter((id(joint), m.control_range) for joint, m in motors):
        return []
    return _MotorElements(model, names, motors, source).made()


class _MotorElements:
    """Makes the elements with some motors of a model."""

    def __init__(
        self, model: Model, names: Mapping[int, str], motors: list[tuple[Joint, Actuator]], source: _SourceControls
    ) -> None:
        self.model = model
        self.names = names
        self.motors = motors
        self.source = source
        self.by_id = {id(joint): joint for joint in model.joints}

    def made(self) -> list[MotorElement]:
        controls = [one for one in self.source.elements if one.tag == CONTROL]
        homes = self._homes(controls)
        found = [MotorElement(self._changed(one, homes), one.node) for one in controls]
        others = [(joint, motor) for joint, motor in self.motors if id(joint) not in homes]
        element = self._element()
        for joint, motor in others:
            self._add_motor(element, joint, motor)
        driven = {id(joint) for joint, _ in self.motors}
        listed = {id(self.source.joints[name]) for one in controls for name in one.joints & self.source.joints.keys()}
        for number in dict.fromkeys(number for number, _ in self.source.initial if number not in driven | listed):
            if number in self.names:
                _add_states(element.add("joint", name=self.names[number]), self.by_id[number])
        return found if len(element.children) == 1 and found else [*found, MotorElement(element)]

    def _homes(self, controls: list[ControlElement]) -> dict[int, int]:
        """The elements of the source that get the motors of joints, by their ids.

        That is the first one with an effort interface of the joint, or else with another interface.  Other joints are
        added to the first element of a system: elements of single actuators and sensors have no others.
        """
        found: dict[int, int] = {}
        for wants_effort in (True, False):
            for element in controls:
                efforts = {one.joint for one in element.interfaces if one.kind == "effort"}
                for name in efforts if wants_effort else element.joints:
                    if name in self.source.joints and (wants_effort or element.type != _SENSOR):
                        found.setdefault(id(self.source.joints[name]), element.node)
        system = next((one.node for one in controls if one.type == _SYSTEM), None)
        if system is not None:
            for joint, _ in self.motors:
                found.setdefault(id(joint), system)
        return found

    def _changed(self, source: ControlElement, homes: Mapping[int, int]) -> Markup:
        """The element for one of the source: with the motors that it gets, and its initial values."""
        element = self._element()
        listed = {id(self.source.joints[name]) for name in source.joints & self.source.joints.keys()}
        efforts = {one.joint for one in source.interfaces if one.kind == "effort"}
        repeated = {id(self.source.joints[name]) for name in efforts & self.source.joints.keys()}
        done: set[int] = set()
        for joint, motor in self.motors:
            if homes.get(id(joint)) == source.node or id(joint) in repeated:
                self._add_motor(element, joint, motor)
                done.add(id(joint))
        for number in dict.fromkeys(number for number, _ in self.source.initial if number in listed - done):
            if number in self.names:
                _add_states(element.add("joint", name=self.names[number]), self.by_id[number])
        return element

    def _element(self) -> Markup:
        element = Markup(CONTROL, {"name": self.model.name.strip() or "robot", "type": _SYSTEM})
        element.add("hardware").children.append(Markup("plugin", text=_HARDWARE))
        return element

    def _add_motor(self, element: Markup, joint: Joint, motor: Actuator) -> None:
        made = element.add("joint", name=self.names[id(joint)])
        command = made.add("command_interface", name="effort")
        if motor.control_range != _range_of_joint(joint) or not self._follows_limit(joint):
            for key, value in zip(("min", "max"), motor.control_range, strict=True):
                command.children.append(Markup("param", {"name": key}, text=format_bound(value)))
        _add_states(made, joint)

    def _follows_limit(self, joint: Joint) -> bool:
        """Whether the range of a motor is omitted if it is that of its joint: as in the source, or without limits."""
        if _range_of_joint(joint) == UNLIMITED:
            return True
        return id(joint) in self.source.stated and self.source.stated[id(joint)] is None


def _range_of_joint(joint: Joint) -> Interval:
    """The range of motors that state none, with the effort limit that is written for their joint."""
    largest = max(map(abs, joint.dofs[0].force_limits))
    return (-largest, largest) if isfinite(largest) else UNLIMITED


def _add_states(element: Markup, joint: Joint) -> None:
    """Add the state interfaces of a joint, with its initial state."""
    for state in (*STATES, "effort"):
        made = element.add("state_interface", name=state)
        value = getattr(joint.dofs[0], state) if state in STATES else 0.0
        if value:
            made.children.append(Markup("param", {"name": INITIAL_VALUE}, text=format_number(value)))


def _source_controls(scene: Scene, model: Model) -> _SourceControls:
    """The motors of the elements of the source, which are written again.

    Elements that refer to a joint that was removed are not written; of a `ros2_control` element, only what refers to
    it.
    """
    source = scene.documents[0] if scene.documents else None
    if not isinstance(source, Document):
        return _SourceControls([], {}, {}, {}, {})
    known = {source.attribute_text(joint.node, "name"): joint for joint in model.joints if joint.document == 0}
    root = source.parse()
    removed = {one.get("name") for one in root.iterfind("joint")} - known.keys()
    elements = [one for one in find_control_elements(root) if not one.is_lost_with(removed)]
    known = {name: joint for name, joint in known.items() if joint.kind in MOTOR_JOINTS}
    found = _SourceControls(elements, known, {}, {}, {})
    for element in elements:
        for (name, state), value in element.initial_values.items():
            if name in known:
                found.initial[id(known[name]), state] = value
        for one in element.interfaces:
            joint = known.get(one.joint)
            if joint is not None and one.kind == "effort" and id(joint) not in found.ranges:
                found.ranges[id(joint)] = _motor(one, joint, model, Names()).control_range
                found.stated[id(joint)] = one.range
    return found
