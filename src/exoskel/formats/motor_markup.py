"""Motors of a scene in a copy of the `ros2_control` element of its source."""

from __future__ import annotations

from exoskel.source.markup import Markup

CONTROL = "ros2_control"
_COMMAND, _STATE, _EFFORT = "command_interface", "state_interface", "effort"
_INITIAL_VALUE, _RANGE = "initial_value", ("min", "max")


def take_motors(made: Markup, own: Markup) -> None:
    """Give a copy of an element the effort interfaces and initial values of the one that was made from the scene.

    Hardware, sensors, other interfaces and other parameters stay as they are in the source.
    """
    if made.tag != CONTROL:
        return
    motors = {joint.attributes.get("name"): joint for joint in own.children if joint.tag == "joint"}
    for joint in (child for child in made.children if child.tag == "joint"):
        motor = motors.pop(joint.attributes.get("name"), None)
        _take_command(joint, None if motor is None else _find(motor, _COMMAND, _EFFORT))
        for state in (one for one in joint.children if one.tag == _STATE):
            written = None if motor is None else _find(motor, _STATE, str(state.attributes.get("name")))
            _take_initial_value(state, written)
    made.children += motors.values()
    _sort_motors(made, [one.attributes.get("name") for one in own.children if one.tag == "joint"])


def _sort_motors(made: Markup, order: list[str | None]) -> None:
    """Place the joints with motors in the order of the scene's motors, where others are between them."""
    places = [number for number, one in enumerate(made.children) if _find(one, _COMMAND, _EFFORT) is not None]
    driven = [made.children[number] for number in places]
    driven.sort(key=lambda one: order.index(one.attributes.get("name")))
    for number, one in zip(places, driven, strict=True):
        made.children[number] = one


def _find(joint: Markup, tag: str, name: str) -> Markup | None:
    return next((one for one in joint.children if one.tag == tag and one.attributes.get("name") == name), None)


def _take_command(joint: Markup, command: Markup | None) -> None:
    """Replace the range of the effort interface of a joint; without a motor, remove the interface."""
    known = _find(joint, _COMMAND, _EFFORT)
    if command is None:
        joint.children = [one for one in joint.children if one is not known]
    elif known is None:
        joint.children.insert(0, command)
    elif _numbers(known, _RANGE) != _numbers(command, _RANGE):
        known.children = [one for one in known.children if one.attributes.get("name") not in _RANGE]
        known.children += command.children


def _take_initial_value(state: Markup, written: Markup | None) -> None:
    """Replace the initial value of a state interface."""
    names = (_INITIAL_VALUE,)
    if _numbers(state, names) == ({} if written is None else _numbers(written, names)):
        return
    given = [] if written is None else [one for one in written.children if one.attributes.get("name") in names]
    state.children = [one for one in state.children if one.attributes.get("name") not in names] + given


def _numbers(interface: Markup, names: tuple[str, ...]) -> dict[str, float | str]:
    """The numbers of some parameters of an interface; a value that is not a number is a text."""
    found: dict[str, float | str] = {}
    for one in interface.children:
        name = one.attributes.get("name", "")
        if name in names:
            try:
                found[name] = float(one.text)
            except ValueError:
                found[name] = one.text
    return found
