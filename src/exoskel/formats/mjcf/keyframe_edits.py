"""Edits of the initial state and of keyframes, as edits of the lists of numbers in the keyframes of a document.

The compiled document tells which number belongs to which coordinate, actuator or mocap body.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from exoskel.formats.interface import ReadOptions
from exoskel.formats.mjcf.joint_edits import joints_of_body
from exoskel.formats.mjcf.model.coordinates import SIZES
from exoskel.formats.mjcf.names import KEY, OTHER_KEY
from exoskel.formats.mjcf.read import ImportedScene, import_document
from exoskel.formats.mjcf.reader.compiled import Compiled
from exoskel.formats.mjcf.reader.complete_document import compile_complete, own_numbers, state_elements
from exoskel.formats.mjcf.shape_edits import AttributeEditor
from exoskel.formats.saving.changes import Changes, changed_fields
from exoskel.scene.actuator import initial_activations
from exoskel.scene.body import Body
from exoskel.scene.cameras_and_keyframes import Keyframe
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.model import Model
from exoskel.scene.world import Scene, World
from exoskel.source.document import Document
from exoskel.source.markup import format_number
from exoskel.spatial import Array, Indices

_STATES = ("qpos", "qvel", "act", "ctrl", "mpos", "mquat")
_VECTORS = frozenset({"ball", "free"})
"""Kinds of joints whose coordinates are vectors in their frames."""
_SAME_NUMBER = 1e-13
"""The difference of numbers that is rounding."""


class StateEditError(Exception):
    """The keyframes of the document cannot be edited."""


class _KeyframeDocument(AttributeEditor, Protocol):
    def add_key(self, before: int, attributes: dict[str, str]) -> None: ...


def changes_states(document: Document, base: Scene, scene: Scene, changes: Changes) -> bool:
    """Whether an edit of a scene changes what the keyframes of its document state, or its initial state."""
    depends_on_poses = "key" in document.outline.tags and any(j.kind == "free" for j in base.world.joints())
    for source, item in changes.edited:
        names = changed_fields(source, item)
        if "pose" in names and isinstance(item, Body | Model) and depends_on_poses:
            return True
        if not isinstance(source, Joint) or not isinstance(item, Joint):
            continue
        if "dofs" in names and _state(source) != _state(item):
            return True
        if "pose" in names and item.kind in _VECTORS and any(map(any, _state(item))):
            return True
    mine, theirs = base.world, scene.world
    known = {one.name for one in theirs.actuators}
    for values_of in (_controls, _activations):
        if {name: value for name, value in values_of(mine).items() if name in known} != values_of(theirs):
            return True
    return _changes_keyframes(mine, theirs, changes)


def _changes_keyframes(base: World, world: World, changes: Changes) -> bool:
    if [(one.name, one.time) for one in base.keyframes] != [(one.name, one.time) for one in world.keyframes]:
        return True
    known = {one.name for one in world.actuators}
    for one, other in zip(base.keyframes, world.keyframes, strict=True):
        before = {id(joint): (state.positions, state.velocities) for joint, state in one.states(base.models)}
        for joint, state in other.states(world.models):
            source = changes.sources.get(id(joint))
            if source is not None and before.get(id(source)) != (state.positions, state.velocities):
                return True
        for pairs, others in ((one.controls, other.controls), (one.activations, other.activations)):
            if {name: value for name, value in pairs if name in known} != dict(others):
                return True
    return False


def _state(joint: Joint) -> tuple[tuple[float, ...], tuple[float, ...]]:
    return tuple(joint.positions), tuple(joint.velocities)


def _controls(world: World) -> dict[str, float]:
    return {one.name: one.control for one in world.actuators if one.control}


def _activations(world: World) -> dict[str, float]:
    return initial_activations(world.actuators)


def _initial(world: World) -> Keyframe:
    """The initial controls and activations as a keyframe."""
    return Keyframe(controls=tuple(_controls(world).items()), activations=tuple(_activations(world).items()))


class KeyframeEditor:
    """Edits the keyframes of a document.

    `base` is the scene that was read from it, `changes` are the differences between it and `scene`, and `lost` are the
    elements that are removed.
    """

    def __init__(self, editor: _KeyframeDocument, base: Scene, scene: Scene, changes: Changes, lost: Set[int]) -> None:
        self.editor = editor
        self.base, self.scene = base.world, scene.world
        self.sources = changes.sources
        self.lost = lost
        self.found = import_base(base)
        if self.found.coordinates is None or self.found.compiled is None:
            raise StateEditError
        self.compiled = self.found.compiled
        self.whole = whole_document(base, self.compiled)
        """The document with what a scene does not have, in which keyframes state numbers."""
        self.model: Any = self.whole.model
        own = own_numbers(self.whole).places
        self.own: dict[str, Indices] = {name: np.array(places, dtype=int) for name, places in own.items()}
        """The places of the numbers of the scene among those of keyframes."""
        document = editor.document
        self.keys = [node for node, tag in enumerate(document.outline.tags) if tag == "key"]
        if self.model.nkey != len(self.keys):
            raise StateEditError
        self.values: dict[tuple[int, str], list[str]] = {}
        """The edited lists of numbers, by the numbers of keyframes."""

    def edit(self) -> None:
        """Edit all keyframes, and add one for the initial state if no other states it."""
        world, keys = self.scene, self.keys
        first = 1 if keys and self._name(0) in (KEY, OTHER_KEY) else 0
        every, after = self.base.keyframes, world.keyframes
        if len(keys) - first != len(every):
            raise StateEditError
        kept = [number for number in range(first, len(keys)) if keys[number] not in self.lost]
        before = [every[number - first] for number in kept]
        if [one.name for one in before] != [one.name for one in after]:
            raise StateEditError
        initial = _initial(world)
        base_initial = _initial(self.base)
        if first:
            self._edit_key(0, initial, base_initial)
        for number, one, other in zip(kept, before, after, strict=True):
            self._edit_key(number, other, one)
            if one.time != other.time:
                self.values[number, "time"] = [format_number(other.time)]
        if not first and self._differs(initial, base_initial, kept):
            self._add_initial_key(initial, base_initial)
        self._write()

    def _name(self, number: int) -> str:
        return self.editor.document.attribute_text(self.keys[number], "name")

    def _differs(self, initial: Keyframe, base: Keyframe, kept: Sequence[int]) -> bool:
        """Whether no keyframe states the initial state: without one for it, the first one that is `kept` does."""
        if not kept:
            qpos, qvel = self._coordinates_of(initial, self.model.qpos0, np.zeros(self.model.nv))
            is_same = _are_same(qpos, self.model.qpos0) and not np.any(np.abs(qvel) > _SAME_NUMBER)
            is_same = is_same and dict(initial.activations) == dict(base.activations)
            return not (is_same and dict(initial.controls) == dict(base.controls))
        first, rows = self.scene.keyframes[0], (self.model.key_qpos[kept[0]], self.model.key_qvel[kept[0]])
        mine, theirs = self._coordinates_of(initial, *rows), self._coordinates_of(first, *rows)
        is_same = all(_are_same(a, b) for a, b in zip(mine, theirs, strict=True))
        known = {one.name for one in self.scene.actuators}
        controls = {name: control for name, control in first.controls if name in known}
        activations = {name: value for name, value in first.activations if name in known}
        return not (is_same and dict(initial.controls) == controls and dict(initial.activations) == activations)

    # --- states ---------------------------------------------------------------------------------------

    @cached_property
    def _counterparts(self) -> dict[int, Item]:
        """The items of the edited scene by the ids of those of the base."""
        every = [item for model in self.scene.models for item in (model, *model.bodies, *model.joints)]
        return {id(self.sources[id(item)]): item for item in every if id(item) in self.sources}

    @cached_property
    def _coordinates(self) -> Any:
        """The coordinates with the poses of the edited scene."""
        world = self.found.scene.world
        for model, base_model in zip(world.models, self.base.models, strict=True):
            edited = self._counterparts.get(id(base_model))
            if isinstance(edited, Model):
                model.pose = edited.pose
            for body, base_body in zip(model.bodies, base_model.bodies, strict=True):
                other = self._counterparts.get(id(base_body))
                if isinstance(other, Body):
                    body.pose = other.pose
            for joint, base_joint in zip(model.joints, base_model.joints, strict=True):
                other = self._counterparts.get(id(base_joint))
                if joint.kind in _VECTORS and isinstance(other, Joint) and other.kind == joint.kind:
                    joint.pose = other.pose  # the frame of its coordinates
        assert self.found.reader is not None
        return self.found.reader.coordinates(world)

    def _coordinates_of(self, keyframe: Keyframe, qpos: Array, qvel: Array) -> tuple[Array, Array]:
        """The coordinates in MuJoCo of a state; `qpos` and `qvel` have those of what is no part of a scene."""
        own = {id(joint): state for joint, state in keyframe.states(self.scene.models)}
        positions, velocities = list[float](), list[float]()
        for joint in (one for one in self.base.joints() if not one.loop):
            other = self._counterparts.get(id(joint))
            state = own.get(id(other))
            positions += joint.positions if state is None else state.positions
            velocities += joint.velocities if state is None else state.velocities
        reader = self.found.reader
        assert reader is not None
        zero = self.compiled.model.qpos0
        reference = zero - reader.relative(zero)
        found, speeds = np.array(qpos), np.array(qvel)
        shifted, moving = reader.relative(found[self.own["qpos"]]), speeds[self.own["qvel"]]
        self._coordinates.set_positions(np.array(positions), shifted)
        self._coordinates.set_velocities(np.array(velocities), shifted, moving)
        found[self.own["qpos"]], speeds[self.own["qvel"]] = shifted + reference, moving
        return found, speeds

    def _edit_key(self, number: int, keyframe: Keyframe, base: Keyframe) -> None:
        qpos, qvel = self._coordinates_of(keyframe, self.model.key_qpos[number], self.model.key_qvel[number])
        self._set_numbers(number, "qpos", self.model.key_qpos[number], qpos)
        self._set_numbers(number, "qvel", self.model.key_qvel[number], qvel)
        controls = self._controls_of(number, keyframe, base)
        if controls is not None:
            self._set_numbers(number, "ctrl", self.model.key_ctrl[number], controls)
        activations = self._activations_of(number, keyframe, base)
        if activations is not None:
            self._set_numbers(number, "act", self.model.key_act[number], activations)

    def _controls_of(self, number: int, keyframe: Keyframe, base: Keyframe) -> Array | None:
        """The controls of a keyframe, if some differ; those of the first one are the initial ones."""
        before, after = dict(base.controls), dict(keyframe.controls)
        changed = {name for name in {**before, **after} if before.get(name, 0.0) != after.get(name, 0.0)}
        if not changed:
            return None
        out = np.array(self.model.key_ctrl[number]) if number >= 0 else np.zeros(self.model.nu)
        compiled = self.compiled
        known = {one.name for one in self.base.actuators}
        for name in changed & known:
            place = compiled.control(compiled.actuators.numbers[name]) if name in compiled.actuators.numbers else None
            if place is None:
                raise StateEditError
            if name in {one.name for one in self.scene.actuators}:
                out[self.own["ctrl"][place]] = after.get(name, 0.0)
        return out

    def _activations_of(self, number: int, keyframe: Keyframe, base: Keyframe) -> Array | None:
        """The activations of a keyframe, if some differ."""
        before, after = dict(base.activations), dict(keyframe.activations)
        changed = {name for name in {**before, **after} if before.get(name, 0.0) != after.get(name, 0.0)}
        if not changed:
            return None
        out = np.array(self.model.key_act[number]) if number >= 0 else np.zeros(self.model.na)
        model = self.compiled.model
        for name in changed & {one.name for one in self.base.actuators}:
            actuator = self.compiled.actuators.numbers.get(name)
            if actuator is None or model.actuator_actnum[actuator] != 1:
                raise StateEditError
            out[self.own["act"][int(model.actuator_actadr[actuator])]] = after.get(name, 0.0)
        return out

    def _set_numbers(self, number: int, name: str, before: Array, after: Array) -> None:
        """Replace the numbers that differ; others stay as they are written."""
        if _are_same(before, after):
            return
        stated = self.editor.document.attribute_text(self.keys[number], name).split()
        if len(stated) != len(after):
            stated = [format_number(value) for value in before.tolist()]
        pairs = zip(stated, before.tolist(), after.tolist(), strict=True)
        self.values[number, name] = [
            text if abs(new - old) <= _SAME_NUMBER * max(1.0, abs(old)) else format_number(new)
            for text, old, new in pairs
        ]

    def _add_initial_key(self, initial: Keyframe, base: Keyframe) -> None:
        """Add the keyframe of the initial state before all others."""
        document, model = self.editor.document, self.model
        number = 0 if self.keys else -1
        start = (model.key_qpos[0], model.key_qvel[0]) if self.keys else (model.qpos0, np.zeros(model.nv))
        qpos, qvel = self._coordinates_of(initial, *start)
        is_taken = any(one.name == KEY for one in self.scene.keyframes)
        given = {"name": OTHER_KEY if is_taken else KEY}
        lists = {"qpos": qpos, "qvel": qvel}
        controls = self._controls_of(number, initial, base)
        if controls is not None:
            lists["ctrl"] = controls
        activations = self._activations_of(number, initial, base)
        if activations is not None:
            lists["act"] = activations
        stated = {}
        if self.keys:
            stated = {name: document.attribute_text(self.keys[0], name) for name in document.attributes(self.keys[0])}
        for name in _STATES:
            numbers = [format_number(one) for one in lists[name].tolist()] if name in lists else []
            numbers = numbers or stated.get(name, "").split()
            numbers = [one for place, one in enumerate(numbers) if place not in self._lost_columns.get(name, ())]
            if numbers and (name == "qpos" or any(float(one) for one in numbers)):
                given[name] = " ".join(numbers)
        self.editor.add_key(self.keys[0] if self.keys else -1, given)

    # --- removed elements -----------------------------------------------------------------------------

    @cached_property
    def _lost_columns(self) -> Mapping[str, frozenset[int]]:
        """The places of numbers of removed elements, by the names of the lists."""
        return lost_columns(self.whole, self.editor.document, self.lost)

    def _write(self) -> None:
        document = self.editor.document
        for number, node in enumerate(self.keys):
            if node in self.lost:
                continue
            for name in ("time", *_STATES):
                stated = document.attribute_text(node, name).split()
                values = self.values.get((number, name), stated)
                lost = self._lost_columns.get(name, ())
                kept = [one for place, one in enumerate(values) if place not in lost]
                if kept and kept != stated:
                    self.editor.set(node, name, " ".join(kept))
                elif stated and not kept:
                    self.editor.drop(node, name)


def _are_same(one: Array, other: Array) -> bool:
    return bool((np.abs(one - other) <= _SAME_NUMBER * np.maximum(1.0, np.abs(one))).all())


def import_base(base: Scene) -> ImportedScene:
    """The compiled document of a scene, with a scene of its own.  Raises StateEditError."""
    document = base.documents[0]
    if not isinstance(document, Document):
        raise StateEditError
    return import_document(Document(document.data, document.name, document.location), ReadOptions.of(base))


def whole_document(base: Scene, compiled: Compiled) -> Compiled:
    """The document of a scene with what it ignores, if keyframes have numbers of this.  Raises StateEditError."""
    if not compiled.prepared.ignored_states:
        return compiled
    document = base.documents[0]
    complete = compile_complete(document, ReadOptions.of(base)) if isinstance(document, Document) else None
    if complete is None:
        raise StateEditError
    return complete


def reference_positions(compiled: Compiled) -> dict[int, float]:
    """The positions of hinges and slides in the pose in which their bodies are stated, by their elements."""
    qpos0, places = compiled.model.qpos0, compiled.model.jnt_qposadr
    return {
        compiled.joints.node(number): float(qpos0[places[number]])
        for number, kind in enumerate(compiled.types)
        if SIZES[kind] == (1, 1)
    }


def lost_columns(compiled: Compiled, document: Document, lost: Set[int]) -> dict[str, frozenset[int]]:
    """The places of numbers of removed elements in the lists of keyframes, by the names of the lists."""
    found: dict[str, list[int]] = {name: [] for name in _STATES}
    for name, numbers in _lost_numbers(compiled, document, lost) if lost else ():
        found[name] += numbers
    return {name: frozenset(numbers) for name, numbers in found.items()}


def _lost_numbers(compiled: Compiled, document: Document, lost: Set[int]) -> Iterator[tuple[str, range]]:
    model: Any = compiled.model
    elements = state_elements(compiled, document).joints
    for number, kind in enumerate(compiled.types):
        owner, node = compiled.bodies.node(int(model.jnt_bodyid[number])), compiled.joints.node(number)
        if (
            elements[number] in lost
            or owner in lost
            or node in lost
            or (node < 0 and not lost.isdisjoint(joints_of_body(document, owner)))
        ):
            first, speed = int(model.jnt_qposadr[number]), int(model.jnt_dofadr[number])
            yield "qpos", range(first, first + SIZES[kind][0])
            yield "qvel", range(speed, speed + SIZES[kind][1])
    for number, controls in enumerate(compiled.control_slices):
        if compiled.actuators.node(number) in lost:
            yield "ctrl", range(controls.start, controls.stop)
            first = int(model.actuator_actadr[number])
            yield "act", range(first, first + int(model.actuator_actnum[number]) if first >= 0 else first)
    mocap: Indices = model.body_mocapid
    for body, number in enumerate(mocap.tolist()):
        if number >= 0 and compiled.bodies.node(body) in lost:
            yield "mpos", range(3 * number, 3 * number + 3)
            yield "mquat", range(4 * number, 4 * number + 4)
