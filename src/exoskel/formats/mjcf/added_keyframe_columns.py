"""The numbers of new joints and actuators in the keyframes of a document.

They are those of the default state; the states of the scene are set when they are compared with the document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from typing import Any, TypeVar

from exoskel.formats.mjcf.added_contacts import PlacedElement
from exoskel.formats.mjcf.keyframe_edits import StateEditError, import_base, lost_columns, whole_document
from exoskel.formats.mjcf.model.coordinates import SIZES
from exoskel.formats.mjcf.reader.complete_document import state_elements
from exoskel.formats.mjcf.tree import MjcfElement
from exoskel.scene.world import Scene
from exoskel.source.document import Document

_LISTS = ("qpos", "qvel", "act", "ctrl")
_QUATERNION = ("1", "0", "0", "0")
_QPOS = {"free": ("0", "0", "0", *_QUATERNION), "ball": _QUATERNION}
"""The positions of joints with a quaternion."""


_Placed = TypeVar("_Placed", bound=PlacedElement)


def expanded_keyframes(
    document: Document,
    base: Scene,
    insertions: Sequence[_Placed],
    position: Callable[[_Placed], int],
    removed: Set[int] = frozenset(),
) -> dict[tuple[int, str], str]:
    """The lists of numbers in keyframes with those of new joints and actuators, by element and attribute.

    `base` was read from the document; `position` is the element before which a new one is inserted.  The numbers of
    `removed` elements have no columns.
    """
    keys = [node for node, tag in enumerate(document.outline.tags) if tag == "key"]
    stated = {name for node in keys for name in document.attributes(node)} & {*_LISTS}
    joints = [(position(one), joint) for one in insertions if not one.section for joint in _joints(one.element)]
    actuators = [(position(one), one.element) for one in insertions if one.section == "actuator"]
    if not stated or not (joints or actuators or removed):
        return {}
    found_base = import_base(base).compiled
    if found_base is None:
        raise StateEditError
    compiled = whole_document(base, found_base)
    model: Any = compiled.model
    elements = state_elements(compiled, document)
    places: dict[str, list[tuple[int, int]]] = {name: [] for name in _LISTS}
    for number, (kind, node) in enumerate(zip(compiled.types, elements.joints, strict=True)):
        for name, first, size in zip(
            ("qpos", "qvel"), (model.jnt_qposadr[number], model.jnt_dofadr[number]), SIZES[kind], strict=True
        ):
            places[name].append((node, int(first) + size))
    for number, (node, controls) in enumerate(zip(elements.actuators, compiled.control_slices, strict=True)):
        places["ctrl"].append((node, controls.stop))
        if (first := int(model.actuator_actadr[number])) >= 0:
            places["act"].append((node, first + int(model.actuator_actnum[number])))
    new: dict[str, list[tuple[int, Sequence[str]]]] = {name: [] for name in _LISTS}
    for at, kind in joints:
        new["qpos"].append((_columns(places["qpos"], at), _QPOS.get(kind, ("0",))))
        new["qvel"].append((_columns(places["qvel"], at), ("0",) * SIZES[kind][1]))
    new["ctrl"] = [(_columns(places["ctrl"], at), ("0",)) for at, _ in actuators]
    new["act"] = [(_columns(places["act"], at), ("0",)) for at, one in actuators if _has_activation(one)]
    ends = {"ctrl": model.nu if not places["ctrl"] else places["ctrl"][-1][1]}
    sizes = {"qpos": model.nq, "qvel": model.nv, "act": model.na, **ends}
    lost = lost_columns(compiled, document, removed)
    found: dict[tuple[int, str], str] = {}
    for node in keys:
        for name, columns in new.items():
            numbers = document.attribute_text(node, name).split()
            if not numbers or not (columns or lost[name]):
                continue
            if len(numbers) != sizes[name]:
                raise StateEditError
            found[node, name] = " ".join(_merged(numbers, columns, lost[name]))
    return found


def _has_activation(element: MjcfElement) -> bool:
    return str(element.attributes.get("dyntype", "none")) != "none"


def _joints(element: MjcfElement) -> Iterator[str]:
    """The types of the joints in an element: those of a body, and then those of the bodies in it."""
    waiting = [element]
    while waiting:
        one = waiting.pop()
        joints = [one] if one.tag == "joint" else [child for child in one.children if child.tag == "joint"]
        yield from (str(joint.attributes.get("type", "hinge")) for joint in joints)
        waiting += [child for child in reversed(one.children) if child.tag == "body"]


def _columns(places: Sequence[tuple[int, int]], position: int) -> int:
    """The number of columns of elements before a place."""
    return max((end for node, end in places if node < position), default=0)


def _merged(numbers: Sequence[str], new: Sequence[tuple[int, Sequence[str]]], lost: Set[int]) -> Iterator[str]:
    """The numbers of a list without lost ones and with new ones, each before the number at its place."""
    for place in range(len(numbers) + 1):
        for at, values in new:
            if at == place:
                yield from values
        if place < len(numbers) and place not in lost:
            yield numbers[place]
