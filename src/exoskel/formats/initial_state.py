"""The initial state of a scene beside a document whose format has none (URDF, SDF).

`robot.urdf.state.json` has the initial positions and velocities of the joints that have any.  Beside URDF, `robot.srdf`
has the positions as the group state `initial`, for MoveIt.  Either is applied when the document is loaded from a file.
"""

from __future__ import annotations

import json
import os
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import structs

from exoskel import spatial
from exoskel.diagnostics import Collector, Diagnostic, Position, printable
from exoskel.formats.interface import Format, ReadOptions
from exoskel.formats.shared_codes import CATALOGUE
from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.kinematics import free_twist
from exoskel.scene.model import Model
from exoskel.scene.world import Scene
from exoskel.source.document import Document
from exoskel.source.file_access import read_referenced
from exoskel.source.file_lookup import confinement, find_beside, lower_first
from exoskel.source.losses import loss
from exoskel.source.markup import Markup, format_number, serialize
from exoskel.source.output_context import OutputContext
from exoskel.source.well_formedness import MalformedError

_STATE, _SRDF = ".state.json", ".srdf"
_VERSION = 1
_KEYS = ("position", "velocity")
_GROUP, _INITIAL = "all", "initial"
"""The planning group and the group state in SRDF."""

JointState = dict[str, list[float]]
"""Values of the degrees of freedom of a joint, by `position` and `velocity`."""
SceneState = dict[str, dict[str, dict[str, JointState]]]
"""The states of joints by the names of world, model and joint."""


# --- writing -----------------------------------------------------------------------------------------------


def add_state_files(
    scene: Scene, native: Scene, counterparts: Mapping[int, Item], output: OutputContext, format: Format
) -> None:
    """Add the initial state to the companions of a document, and to `native`, which was read back from it.

    Does nothing for a document without a file name.  An existing state file is replaced even if there is no state, an
    SRDF file only if it was written here.
    """
    if not output.file_name or output.folder is None:
        return
    state: SceneState = {}
    kept: list[Joint] = []
    with no_edits():
        for model, joint, other, names in _written_joints(scene, native, counterparts):
            values = _converted(model, joint, other, at_joint=format.capabilities().body_frames_at_joints)
            if values is None:
                continue
            other.positions, other.velocities = values
            found = {key: list(one) for key, one in zip(_KEYS, values, strict=True) if any(one)}
            state.setdefault(names[0], {}).setdefault(names[1], {})[names[2]] = found
            kept.append(joint)
    name = output.file_name + _STATE
    if not kept and not os.path.lexists(output.folder / name):
        return
    output.companions[name] = _state_text(state).encode()
    where = name
    if format.has_srdf and (root := _srdf(native, state)) is not None:
        data, srdf = serialize(root).encode(), Path(output.file_name).with_suffix(_SRDF).name
        if _may_replace(output.folder / srdf, data):
            output.companions[srdf] = data
            where = f"{name} and {srdf}"
    _record_kept(kept, where, output, format.label)


def _written_joints(
    scene: Scene, native: Scene, counterparts: Mapping[int, Item]
) -> Iterator[tuple[Model, Joint, Joint, tuple[str, str, str]]]:
    """Yield the moving joints of a scene that have a state, with their models, their counterparts and their names."""
    names = {
        id(joint): (world.name, model.name, joint.name)
        for world in native.worlds
        for model in world.models
        for joint in model.joints
    }
    for model in (model for world in scene.worlds for model in world.models if not model.static):
        for joint in model.joints:
            other = counterparts.get(id(joint))
            has_state = joint._dofs is not None and any((*joint.positions, *joint.velocities))
            if has_state and isinstance(other, Joint) and not joint.loop and other.kind == joint.kind:
                yield model, joint, other, names[id(other)]


def _converted(
    model: Model, joint: Joint, other: Joint, *, at_joint: bool
) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    """Initial positions and velocities of a joint as those of its counterpart; None if that cannot have them."""
    if joint.kind != "free":
        step = -1 if joint.swapped != other.swapped else 1
        return joint.positions[::step], joint.velocities[::step]
    if joint.pose.is_identity and other.pose.is_identity:
        return joint.positions, joint.velocities
    if joint.parent is not None or not other.pose.is_identity:
        return None
    # The body of the counterpart has the frame of the joint, or the joint that of the body.
    frame, q = joint.pose.matrix(), np.array(joint.positions)
    own = frame if at_joint else np.eye(4)
    motion = spatial.transform(spatial.exp(q[:3]), q[3:])
    moved = spatial.inverse(own) @ frame @ motion @ spatial.inverse(frame) @ own
    zero = model.pose.matrix() @ joint.child.pose.matrix()  # velocities are in the axes of the world
    relative = zero @ frame @ motion @ spatial.inverse(frame)
    spin, speed = free_twist(joint, np.array(joint.velocities))
    speed = speed + np.cross(spin, relative[:3, :3] @ own[:3, 3])
    positions = np.concatenate([spatial.log(moved[:3, :3]), moved[:3, 3]])
    return tuple(positions.tolist()), tuple(np.concatenate([spin, speed]).tolist())


def _state_text(state: SceneState) -> str:
    """JSON with one joint per line."""
    lines = ["{", f'  "exoskel_state": {_VERSION},', '  "worlds": {']
    for number, (world, models) in enumerate(state.items()):
        lines.append(f"    {json.dumps(world)}: {{")
        for index, (model, joints) in enumerate(models.items()):
            lines.append(f"      {json.dumps(model)}: {{")
            rows = [f"        {json.dumps(joint)}: {json.dumps(values)}" for joint, values in joints.items()]
            lines += [row + ("," if row is not rows[-1] else "") for row in rows]
            lines.append("      }" + ("," if index < len(models) - 1 else ""))
        lines.append("    }" + ("," if number < len(state) - 1 else ""))
    return "\n".join([*lines, "  }", "}", ""])


def _srdf(native: Scene, state: SceneState) -> Markup | None:
    """The positions of joints with one degree of freedom as a group state; None without such joints."""
    model = native.world.models[0]
    joints = state.get(native.world.name, {}).get(model.name, {})
    values = {name: one["position"][0] for name, one in joints.items() if len(one.get("position", ())) == 1}
    if not values:
        return None
    root = Markup("robot", {"name": model.name})
    group = root.add("group", name=_GROUP)
    for joint in model.joints:
        if len(joint.motion) == 1:
            group.add("joint", name=joint.name)
    made = root.add("group_state", name=_INITIAL, group=_GROUP)
    for name, value in values.items():
        made.add("joint", name=name, value=format_number(value))
    return root


def _may_replace(path: Path, data: bytes) -> bool:
    """Whether a file does not exist, or has the same planning group: then it was written here."""
    try:
        existing = read_referenced(path, _LARGEST_SRDF)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return existing.partition(_STATE_TAG)[0] == data.partition(_STATE_TAG)[0]


_STATE_TAG = b"<group_state"
_LARGEST_SRDF = 10**7


def _record_kept(kept: list[Joint], where: str, output: OutputContext, label: str) -> None:
    """Record where the states are, and remove the losses that the writer has recorded for them."""
    ids = {id(joint) for joint in kept}
    for joint in kept:
        output.kept.append(loss(joint, CATALOGUE["FM401"], *_KEYS, format=label, file=where))
    remaining = []
    for one in output.losses:
        fields = tuple(field for field in one.fields if id(one.item) not in ids or field not in _KEYS)
        if fields or not one.fields:
            remaining.append(structs.replace(one, fields=fields))
    output.losses[:] = remaining
    output.state_file = where


# --- reading -----------------------------------------------------------------------------------------------


def apply_state_files(scene: Scene, document: Document, options: ReadOptions, format: Format) -> None:
    """Set the initial state of a scene from the files beside its document; their problems become diagnostics."""
    location = document.location
    if not location.path or location.is_base or not scene.worlds:
        return
    suffixes = (_STATE, _SRDF) if format.has_srdf else (_STATE,)
    path = Path(location.path)
    for suffix in suffixes:
        name = path.with_suffix(_SRDF).name if suffix == _SRDF else path.name + _STATE
        found = find_beside(path, name, location, options.paths).path
        if found is None:
            beside = path.with_name(name)
            if not options.paths.confine and os.path.lexists(beside):  # a pipe, a folder, or a link to nothing
                rejected = _StateReader(scene, beside, options)
                rejected.reject("it is not a regular file")
                scene.diagnostics += rejected.diagnostics
            continue
        reader = _StateReader(scene, found, options)
        reader.read(confinement(location, options.paths), is_srdf=suffix == _SRDF)
        document.included.append(str(found))
        scene.diagnostics += reader.diagnostics
        return


class _StateReader:
    """Reads one state file; invalid values are reported and ignored."""

    def __init__(self, scene: Scene, path: Path, options: ReadOptions) -> None:
        self.scene = scene
        self.path = path
        self.options = options
        self.text = ""
        self.start = 0
        """Where the state begins in the text."""
        self.collector = Collector(CATALOGUE, Document(b"", str(path)), options.strict)

    @property
    def diagnostics(self) -> list[Diagnostic]:
        return self.collector.diagnostics

    def read(self, within: Path | None, *, is_srdf: bool) -> None:
        limits = self.options.limits
        try:
            data = read_referenced(self.path, limits.bytes, within)
        except OSError as error:
            return self.reject(printable(error.strerror or str(error)))
        if len(data) > limits.bytes:
            return self.reject(f"it has more than {limits.bytes} bytes")
        self.collector = Collector(CATALOGUE, Document(data, str(self.path)), self.options.strict)
        try:
            state = self._parse_srdf(data) if is_srdf else self._parse(data)
        except MalformedError as error:
            return self.reject(error.located_reason)
        except json.JSONDecodeError as error:
            reason = f"it is not valid JSON: {lower_first(error.msg)}"
            return self.reject(printable(reason), Position(error.lineno, error.colno, 1))
        except UnicodeDecodeError as error:
            return self.reject("it is not encoded in UTF-8", Position(data.count(b"\n", 0, error.start) + 1, 1, 1))
        except RecursionError:
            return self.reject("it is nested too deeply")
        except ValueError as error:
            return self.reject(printable(str(error)))
        return self._apply(state)

    def _parse(self, data: bytes) -> Any:
        self.text = data.decode("utf-8-sig")
        found = json.loads(self.text, parse_constant=_reject_constant, parse_int=_integer)
        if not isinstance(found, dict) or found.get("exoskel_state") != _VERSION:
            raise ValueError(f'it does not begin with "exoskel_state": {_VERSION}')
        return found.get("worlds", {})

    def _parse_srdf(self, data: bytes) -> SceneState:
        """The group state `initial`, as positions of the only model."""
        root = Document(data, str(self.path)).parse(self.options.limits)
        self.text = data.decode("utf-8", errors="replace")
        joints: dict[str, Any] = {}
        for group in root.iter("group_state"):
            if group.get("name") == _INITIAL:
                stated = _INITIAL_GROUP.search(self.text)
                self.start = stated.start() if stated is not None and not joints else self.start
                for joint in group.iter("joint"):
                    joints[joint.get("name", "")] = {
                        "position": [_number(word) for word in joint.get("value", "").split()]
                    }
        world = self.scene.worlds[0]
        return {world.name: {model.name: joints for model in world.models[:1]}} if joints else {}

    # --- values ---------------------------------------------------------------------------------------

    def _apply(self, worlds: Any) -> None:
        known = {world.name: world for world in self.scene.worlds}
        for name, models in self._rows(worlds, "worlds"):
            if (world := known.get(name)) is None:
                self._report("FM402.unknown", name, kind="world", name=name)
                continue
            known_models = {model.name: model for model in world.models}
            for model_name, joints in self._rows(models, name):
                if (model := known_models.get(model_name)) is None:
                    self._report("FM402.unknown", model_name, kind="model", name=model_name)
                    continue
                known_joints = {joint.name: joint for joint in model.joints if not joint.loop}
                for joint_name, values in self._rows(joints, model_name):
                    if (joint := known_joints.get(joint_name)) is None:
                        self._report("FM402.unknown", joint_name, kind="joint", name=joint_name)
                    else:
                        self._set(joint, values)

    def _rows(self, value: Any, name: str) -> list[tuple[str, Any]]:
        if isinstance(value, dict):
            return list(value.items())
        self._report("FM402.value", name, name=name, found=_shown(value), expected="an object")
        return []

    def _set(self, joint: Joint, values: Any) -> None:
        for key, numbers in self._rows(values, joint.name):
            count = len(joint.motion)
            if key not in _KEYS:
                self._report("FM402.unknown", joint.name, kind="value", name=key)
            elif not _are_numbers(numbers) or len(numbers) != count:
                expected = "one finite number" if count == 1 else f"{count} finite numbers"
                self._report("FM402.value", joint.name, name=joint.name, found=_shown(numbers), expected=expected)
            elif count and key == "position":
                joint.positions = tuple(map(float, numbers))
            elif count:
                joint.velocities = tuple(map(float, numbers))

    def reject(self, reason: str, position: Position | None = None) -> None:
        self.collector.report("FM402", reason=reason, position=position)

    @cached_property
    def _offsets(self) -> dict[str, int]:
        """Where each text in quotes occurs first: a file may have very many unknown names."""
        found: dict[str, int] = {}
        for one in _QUOTED.finditer(self.text, self.start):
            found.setdefault(one[0], one.start())
        return found

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(one.end() for one in re.finditer("\n", self.text))]

    def _report(self, key: str, at: str, **details: str) -> None:
        """Report a problem at the line of the first occurrence of a name."""
        forms = (json.dumps(at), json.dumps(at, ensure_ascii=False))
        offset = max(self._offsets.get(form, self.start) for form in forms)
        line = bisect_right(self._line_starts, offset)
        position = Position(line, offset - self._line_starts[line - 1] + 1, len(at) + 2)
        shown: dict[str, Any] = {word: printable(one) for word, one in details.items()}
        self.collector.report(key, position=position, **shown)


def _reject_constant(word: str) -> float:
    raise ValueError(f"{word} is not a number")


def _number(word: str) -> float | str:
    """A number, or the word itself if it is not a number: it is reported later."""
    try:
        return float(word)
    except ValueError:
        return word


def _integer(digits: str) -> float:
    """An integer; a very long one as a float, because Python refuses it."""
    return int(digits) if len(digits) <= _LONGEST_INTEGER else float(digits)


def _are_numbers(values: Any) -> bool:
    if not isinstance(values, list):
        return False
    return all(isinstance(one, float | int) and not isinstance(one, bool) and _is_finite(one) for one in values)


def _is_finite(value: float) -> bool:
    try:
        return isfinite(value)
    except OverflowError:  # a very long integer
        return False


_SHOWN = 40
_LONGEST_INTEGER = 400
_INITIAL_GROUP = re.compile(r"<group_state\b[^>]*\bname\s*=\s*[\"']initial[\"']")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')


def _shown(value: Any) -> str:
    text = json.dumps(value) if not isinstance(value, dict) else "an object"
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
