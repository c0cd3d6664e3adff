"""Edits of the actuators, tendons, sensors, constraints and views of a world, as edits of elements of a document.

Like all edits of a document, they are read back and compared: an edit may have another effect in a default class.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any, Protocol

from msgspec import structs

from exoskel import spatial
from exoskel.formats.mjcf.shape_edits import AttributeEditor
from exoskel.scene.actuator import Actuator
from exoskel.scene.cameras_and_keyframes import SceneCamera, SceneLight
from exoskel.scene.equality import Equality
from exoskel.scene.joint import UNLIMITED
from exoskel.scene.sensor import SceneSensor
from exoskel.scene.tendon import Tendon
from exoskel.scene.world import World
from exoskel.source.document import Document
from exoskel.source.markup import format_number, format_numbers


class _ListEditor(AttributeEditor, Protocol):
    def remove_limits(self, node: int) -> None: ...


_Edit = Callable[[_ListEditor, int, Any, Any], None]
"""An edit of an element, with the item that has a new value, and that value."""
_SECTIONS = {"actuators": "actuator", "tendons": "tendon", "sensors": "sensor", "equalities": "equality"}
"""The sections of the elements in some lists of a world."""
_TAGS = {"cameras": "camera", "lights": "light"}
"""The tags of those in other lists."""
LISTS = frozenset({*_SECTIONS, *_TAGS})
"""The lists whose items can be edited."""


def removed_elements(document: Document, field: str, source: World, world: World) -> set[int] | None:
    """The elements of the items that a list of a world does not have any more; None if some are not known."""
    kept = {one.name for one in getattr(world, field)}
    found = [_find(document, field, one.name) for one in getattr(source, field) if one.name not in kept]
    return None if None in found else {node for node in found if node is not None}


def edit_world_list(editor: _ListEditor, field: str, source: World, world: World) -> bool:
    """Edit the elements of a list of a world; False if this is not possible."""
    after: Sequence[Any] = getattr(world, field)
    kept = {one.name for one in after}
    before = [one for one in getattr(source, field) if one.name in kept]
    if [one.name for one in before] != [one.name for one in after]:
        return False
    for one, other in zip(before, after, strict=True):
        changed = [name for name in one.__struct_fields__ if _differs(name, getattr(one, name), getattr(other, name))]
        node = _find(editor.document, field, one.name) if changed else -1
        for name in changed:
            edit = _EDITS.get((type(one), name))
            if edit is None or node is None:
                return False
            edit(editor, node, other, getattr(other, name))
    return True


def _differs(field: str, before: Any, after: Any) -> bool:
    """Whether a value is another one in its element; initial activations are in keyframes."""
    if field == "activation" and before is not None and after is not None:
        before = structs.replace(before, initial=after.initial)
    return bool(before != after)


def _find(document: Document, field: str, name: str) -> int | None:
    """The element with the name of an item; None if no element or more than one has it."""
    tags, parents = document.outline.tags, document.outline.parents
    section, tag = _SECTIONS.get(field), _TAGS.get(field)
    found = [
        node
        for node, own in enumerate(tags)
        if (own == tag if section is None else parents[node] > 0 and tags[parents[node]] == section)
        and document.attribute_text(node, "name") == name
    ]
    return found[0] if name and len(found) == 1 else None


def _number(attribute: str) -> _Edit:
    return lambda editor, node, _, value: editor.set(node, attribute, format_number(value))


def _first_number(attribute: str) -> _Edit:
    """An edit of the first number of an attribute."""
    return lambda editor, node, _, value: editor.set_first(node, attribute, value)


def _numbers(attribute: str) -> _Edit:
    return lambda editor, node, _, value: editor.set(node, attribute, format_numbers(value))


def _flag(attribute: str) -> _Edit:
    return lambda editor, node, _, value: editor.set(node, attribute, "true" if value else "false")


def _range(attribute: str, flag: str) -> _Edit:
    def edit(editor: _ListEditor, node: int, _: object, value: Any) -> None:
        is_limited = value != UNLIMITED and all(map(isfinite, value))
        if is_limited:
            editor.set(node, flag, "true")
            editor.set(node, attribute, format_numbers(value))
        elif flag == "limited":
            editor.remove_limits(node)
        else:
            editor.set(node, flag, "false")

    return edit


def _edit_gain(editor: _ListEditor, node: int, item: Actuator, value: float) -> None:
    """State the gain in the attribute of the kind of actuator; a motor has none."""
    tag = editor.document.outline.tags[node]
    if tag == "general":
        editor.set_first(node, "gainprm", value)
        if item.kind in ("position", "velocity"):
            _edit_bias(editor, node, item, item.feedback)
    else:
        editor.set(node, "kv" if tag == "velocity" else "kp", format_number(value))
        if editor.document.attribute_text(node, "dampratio"):
            _edit_damping(editor, node, item, item.damping)


def _edit_damping(editor: _ListEditor, node: int, item: Actuator, value: float) -> None:
    if editor.document.outline.tags[node] == "general":
        _edit_bias(editor, node, item, item.feedback)
    else:
        editor.drop(node, "dampratio")
        editor.set(node, "kv", format_number(value))


def _edit_bias(editor: _ListEditor, node: int, _: Actuator, value: Any) -> None:
    rest = editor.document.attribute_text(node, "biasprm").split()[3:]
    editor.set(node, "biasprm", " ".join([format_numbers(value), *rest]))


def _edit_pose(editor: _ListEditor, node: int, _: SceneCamera, value: Any) -> None:
    editor.set_pose(node, value.matrix())


def _edit_light_position(editor: _ListEditor, node: int, _: SceneLight, value: Any) -> None:
    frame = spatial.inverse(editor.frame(node))
    editor.set(node, "pos", format_numbers((frame[:3, :3] @ value + frame[:3, 3]).tolist()))


def _edit_light_direction(editor: _ListEditor, node: int, _: SceneLight, value: Any) -> None:
    editor.set(node, "dir", format_numbers((editor.frame(node)[:3, :3].T @ value).tolist()))


_EDITS: dict[tuple[type[object], str], _Edit] = {
    (Actuator, "control"): lambda editor, node, item, value: None,  # in keyframes
    (Actuator, "gear"): _first_number("gear"),
    (Actuator, "gain"): _edit_gain,
    (Actuator, "damping"): _edit_damping,
    (Actuator, "bias"): _edit_bias,
    (Actuator, "control_range"): _range("ctrlrange", "ctrllimited"),
    (Actuator, "force_range"): _range("forcerange", "forcelimited"),
    (Tendon, "stiffness"): _first_number("stiffness"),
    (Tendon, "damping"): _first_number("damping"),
    (Tendon, "friction"): _number("frictionloss"),
    (Tendon, "limits"): _range("range", "limited"),
    (Tendon, "force_limits"): _range("actuatorfrcrange", "actuatorfrclimited"),
    (Tendon, "armature"): _number("armature"),
    (SceneSensor, "noise"): _number("noise"),
    (SceneSensor, "cutoff"): _number("cutoff"),
    (Equality, "active"): _flag("active"),
    (Equality, "polynomial"): _numbers("polycoef"),
    (SceneCamera, "pose"): _edit_pose,
    (SceneCamera, "field_of_view"): _number("fovy"),
    (SceneCamera, "mode"): lambda editor, node, _, value: editor.set(node, "mode", value),
    (SceneLight, "position"): _edit_light_position,
    (SceneLight, "direction"): _edit_light_direction,
    (SceneLight, "active"): _flag("active"),
    (SceneLight, "casts_shadows"): _flag("castshadow"),
    (SceneLight, "diffuse"): _numbers("diffuse"),
    (SceneLight, "ambient"): _numbers("ambient"),
    (SceneLight, "specular"): _numbers("specular"),
    (SceneLight, "attenuation"): _numbers("attenuation"),
    (SceneLight, "cutoff"): _number("cutoff"),
    (SceneLight, "exponent"): _number("exponent"),
}
"""The fields of list items that can be edited in a document."""
