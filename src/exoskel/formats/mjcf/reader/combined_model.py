"""The parts of a document that MuJoCo compiled one by one, as if they were one model.

Numbers of bodies, joints, coordinates, constraints, tendons, actuators, shapes, sites, cameras and lights are those of
the whole document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from exoskel.formats.mjcf import mujoco_import
from exoskel.formats.mjcf.controls import actuator_count, are_numbered_alike
from exoskel.formats.mjcf.reader.compiler import CompilerError, CompilerOutput, PartRow, PartText, compile_parts
from exoskel.formats.mjcf.reader.document_parts import DocumentParts
from exoskel.formats.mjcf.reader.fragment import Fragment
from exoskel.source.numbers import parse_decimal
from exoskel.spatial import Array, Indices

_BODY_KINDS = {"geom": "geoms", "site": "sites", "cam": "cameras", "light": "lights"}
"""Prefixes of what belongs to bodies, and the kinds of elements."""
_BODY_NUMBERS = frozenset(
    ["body_parentid", *(f"{kind}_bodyid" for kind in _BODY_KINDS), "cam_targetbodyid", "light_targetbodyid"]
)
_OF_FIRST = ("mesh_", "mat_", "hfield_")
_COUNTS = {"ngeom": "geoms", "nsite": "sites", "ncam": "cameras", "nlight": "lights"}


class _JointlessPart(Struct):
    """The model of one part, and the numbers in the whole document of what it contains, by kind."""

    model: Any
    numbers: dict[str, Indices]
    others: int
    """The first element that the whole document takes from this part: only the first one has the world."""


class _JointlessModel:
    """The arrays of MuJoCo's model that do not depend on joints; `rows` are the elements by kind.

    They are those of parts without joints and of complete parts.  The first part has all elements of the world itself,
    and all meshes and height fields.
    """

    def __init__(self, compiled: Sequence[tuple[PartText, CompilerOutput]]) -> None:
        texts, outputs = zip(*compiled, strict=True)
        self._parts = [
            _JointlessPart(output.model, {"bodies": np.array([0, *text.bodies], dtype=np.intp)}, min(number, 1))
            for number, (text, output) in enumerate(zip(texts, outputs, strict=True))
        ]
        if any(len(part.numbers["bodies"]) != part.model.nbody for part in self._parts):
            raise CompilerError("a part has other bodies than its text")
        first = outputs[0]
        self.opt = first.model.opt
        self.nmesh: int = first.model.nmesh
        self.nbody: int = 1 + sum(part.model.nbody - 1 for part in self._parts)
        self.rows = {kind: rows for kind, rows in first.parts.items() if kind not in ("bodies", *_BODY_KINDS.values())}
        self.rows["bodies"] = sorted(
            (
                PartRow(int(part.numbers["bodies"][row.number]), row.name, row.line)
                for part, output in zip(self._parts, outputs, strict=True)
                for row in output.parts["bodies"]
                if row.number >= part.others
            ),
            key=lambda row: row.number,
        )
        for prefix, kind in _BODY_KINDS.items():
            self._number(prefix, kind, [output.parts[kind] for output in outputs])
        self.full_inertias = {
            int(part.numbers["bodies"][body]): moments
            for part, output in zip(self._parts, outputs, strict=True)
            for body, moments in output.full_inertias.items()
        }
        self.framed_meshes = first.framed_meshes

    def _number(self, prefix: str, kind: str, rows: Sequence[list[PartRow]]) -> None:
        """Number the elements of a kind by their bodies, and in the order of their part."""
        owners = [part.numbers["bodies"][getattr(part.model, f"{prefix}_bodyid")] for part in self._parts]
        order = np.argsort(np.concatenate(owners), kind="stable")
        places = np.empty(len(order), dtype=np.intp)
        places[order] = np.arange(len(order))
        ends = np.cumsum([len(one) for one in owners])
        found: list[PartRow] = []
        for part, numbers, own in zip(self._parts, np.split(places, ends[:-1]), rows, strict=True):
            part.numbers[kind] = numbers
            found += (PartRow(int(numbers[row.number]), row.name, row.line) for row in own)
        self.rows[kind] = sorted(found, key=lambda row: row.number)

    def __getattr__(self, name: str) -> Any:
        prefix, _, _ = name.partition("_")
        if name.startswith(_OF_FIRST):
            return getattr(self._parts[0].model, name)
        if name in _COUNTS:
            return len(self.rows[_COUNTS[name]])
        if prefix == "body":
            found = self._gather(name, "bodies", self.nbody)
        elif prefix in _BODY_KINDS:
            found = self._gather(name, _BODY_KINDS[prefix], len(self.rows[_BODY_KINDS[prefix]]))
        else:
            raise AttributeError(f"the parts of a document have no '{name}'")
        setattr(self, name, found)
        return found

    def __dir__(self) -> list[str]:
        return dir(self._parts[0].model)

    def _gather(self, name: str, kind: str, count: int) -> Any:
        """An array of all parts, by the numbers in the whole document."""
        arrays = [getattr(part.model, name) for part in self._parts]
        out = np.zeros((count, *arrays[0].shape[1:]), dtype=arrays[0].dtype)
        for part, array in zip(self._parts, arrays, strict=True):
            start = part.others if kind == "bodies" else 0
            values = _translate(array, part.numbers["bodies"]) if name in _BODY_NUMBERS else array
            out[part.numbers[kind][start:]] = values[start:]
        if name == "body_mocapid":
            return np.where(out >= 0, np.cumsum(out >= 0) - 1, -1)
        if name == "body_geomadr":
            counts = self.body_geomnum
            return np.where(counts > 0, np.cumsum(counts) - counts, -1)
        return out


def _translate(found: Any, bodies: Indices) -> Any:
    """Numbers of bodies in the whole document; -1 remains."""
    return np.where(found >= 0, bodies[found], -1)


_NONE: Indices = np.empty(0, dtype=np.intp)
_OF_WHOLE = ("geom_", "site_", "cam_", "light_", "mesh_", "mat_", "hfield_")
"""Prefixes of what does not depend on joints."""
_OF_BODIES = "parentid pos quat ipos iquat mass inertia gravcomp mocapid geomnum geomadr"
_ALSO_OF_WHOLE = frozenset(
    [*(f"body_{name}" for name in _OF_BODIES.split()), "opt", "nbody", "ngeom", "nsite", "ncam", "nlight", "nmesh"]
)
_KINDS = {"jnt": "joints", "tendon": "tendons", "actuator": "actuators", "eq": "equalities"}
"""Prefixes of what parts have, and the kinds of elements."""
_CHECKED = (
    "geom_",
    "site_",
    "cam_",
    "light_",
    "mesh_",
    "mat_",
    "hfield_",
    "jnt_",
    "dof_",
    "actuator_",
    "eq_",
    "tendon_",
)
_FREE, _BALL = 0, 1
_QPOS, _DOFS = np.array([7, 4, 1, 1]), np.array([6, 3, 1, 1])
"""The coordinates of a joint, by MuJoCo's type: free, ball, slide, hinge."""
_NO_ROTATION = (1.0, 0.0, 0.0, 0.0)
_BALL_BODY = '<body><joint type="ball"/><geom size="1"/></body>'
_CHUNK = 50
"""The number of quaternions that MuJoCo normalizes at once."""
_BITS = 16
"""The signature of a pair has the number of its second body in so many bits."""


def compile_in_parts(
    document: DocumentParts, assets: dict[str, bytes], seconds: float, *, is_own: bool = False
) -> CompilerOutput:
    """Compile the parts of a document.  Raises CompilerError where the whole has to show what is wrong."""
    jointless, parts = compile_parts(
        document.jointless, document.parts, assets, document.seconds, seconds, is_own=is_own
    )
    complete = [pair for pair in zip(document.parts, parts, strict=True) if pair[0].is_complete]
    whole = _JointlessModel([*zip(document.jointless, jointless, strict=True), *complete])
    model = CombinedModel(document, whole, parts)
    rows = whole.rows | model.rows
    for kind in ("bodies", "geoms", "sites", "cameras", "lights"):
        rows[kind] = [PartRow(row.number, document.names.get(row.line, row.name), row.line) for row in rows[kind]]
    warned = list(dict.fromkeys(text for output in (*jointless, *parts) for text in output.warnings))
    return CompilerOutput(rows, whole.framed_meshes, whole.full_inertias, warned, model)


class _CompiledPart(Struct):
    """The model of one part, and the numbers in the whole document of what it contains."""

    model: Any
    numbers: dict[str, Indices]
    """By kind of element."""
    qpos: Indices = _NONE
    dofs: Indices = _NONE
    wraps: Indices = _NONE


class CombinedModel:
    """The arrays of MuJoCo's model that a reader needs.

    `rows` are joints, tendons, actuators, constraints, excluded pairs and keyframes, numbered as in the whole document.
    """

    def __init__(self, document: DocumentParts, whole: _JointlessModel, parts: Sequence[CompilerOutput]) -> None:
        self._whole = whole
        self.rows: dict[str, list[PartRow]] = {}
        known = {kind: {row.line: row.number for row in whole.rows[kind]} for kind in ("bodies", "sites")}
        self._parts = [
            _CompiledPart(one.model, {kind: _numbers(one.parts[kind], lines) for kind, lines in known.items()})
            for one in parts
        ]
        for kind in _KINDS.values():
            self._number(kind, [one.parts[kind] for one in parts])
        self.njnt, self.ntendon, self.nactuator, self.neq = (len(self.rows[kind]) for kind in _KINDS.values())
        self.nu = self.nactuator  # documents with other actuators are not split
        if not all(are_numbered_alike(part.model) for part in self._parts):
            raise CompilerError("actuators without one control")
        if any(getattr(part.model, "na", 0) for part in self._parts):
            raise CompilerError("actuators with activations")
        self._set_addresses()
        self._set_relations()
        self._set_weld_ids()
        self._set_excludes(document, {document.names.get(line): number for line, number in known["bodies"].items()})
        self._set_keys(document)

    def __getattr__(self, name: str) -> Any:
        prefix, _, _ = name.partition("_")
        if name.startswith(_OF_WHOLE) or name in _ALSO_OF_WHOLE:
            found = getattr(self._whole, name)
        elif prefix in _KINDS:
            found = self._gather(name, lambda part: part.numbers[_KINDS[prefix]])
        elif prefix == "dof":
            found = self._gather(name, lambda part: part.dofs)
        else:
            raise AttributeError(f"the parts of a document have no '{name}'")
        setattr(self, name, found)
        return found

    def __dir__(self) -> list[str]:
        return [name for name in dir(self._whole) if name.startswith(_CHECKED)]

    def _gather(self, name: str, numbers: Callable[[_CompiledPart], Indices]) -> Any:
        """An array of all parts, by the numbers in the whole document."""
        arrays = [getattr(part.model, name) for part in self._parts]
        out = np.empty((sum(map(len, arrays)), *arrays[0].shape[1:]), dtype=arrays[0].dtype)
        for part, array in zip(self._parts, arrays, strict=True):
            out[numbers(part)] = array
        return out

    # --- numbers --------------------------------------------------------------------------------------

    def _number(self, kind: str, rows: Sequence[list[PartRow]]) -> None:
        """Number the elements of a kind in the order of the document; joints follow their bodies."""
        placed = [
            (self._body(part, row) if kind == "joints" else row.line, row.number, number, row)
            for number, (part, own) in enumerate(zip(self._parts, rows, strict=True))
            for row in own
        ]
        if any(not first for first, *_ in placed):
            raise CompilerError(f"{kind} without a place")
        placed.sort(key=lambda one: one[:2])
        for part, own in zip(self._parts, rows, strict=True):
            part.numbers[kind] = np.zeros(len(own), dtype=np.intp)
        for place, (_, _, number, row) in enumerate(placed):
            self._parts[number].numbers[kind][row.number] = place
        self.rows[kind] = [PartRow(place, row.name, row.line) for place, (*_, row) in enumerate(placed)]

    def _body(self, part: _CompiledPart, joint: PartRow) -> int:
        return int(part.numbers["bodies"][part.model.jnt_bodyid[joint.number]])

    def _set_addresses(self) -> None:
        """Number coordinates: those of each joint follow those of the joints before."""
        types = self.jnt_type
        qpos_ends, dof_ends = np.cumsum(_QPOS[types]), np.cumsum(_DOFS[types])
        self.jnt_qposadr, self.jnt_dofadr = qpos_ends - _QPOS[types], dof_ends - _DOFS[types]
        self.nq, self.nv = (int(ends[-1]) if len(ends) else 0 for ends in (qpos_ends, dof_ends))
        for part in self._parts:
            joints, own = part.numbers["joints"], part.model.jnt_type
            part.qpos = _ranges(self.jnt_qposadr[joints], _QPOS[own])
            part.dofs = _ranges(self.jnt_dofadr[joints], _DOFS[own])
        self.jnt_bodyid = self._translate("jnt_bodyid", "joints", lambda part, found: part.numbers["bodies"][found])
        self.qpos0 = self._gather("qpos0", lambda part: part.qpos)
        self.qpos_spring = self._gather("qpos_spring", lambda part: part.qpos)
        names = [row.name.encode() + b"\0" for kind in ("joints", "actuators") for row in self.rows[kind]]
        starts = _starts([len(name) for name in names])
        self.names, self.name_jntadr, self.name_actuatoradr = b"".join(names), *np.split(starts, [self.njnt])
        self.body_jntnum = np.bincount(self.jnt_bodyid, minlength=self._whole.nbody)
        self.body_jntadr = np.where(self.body_jntnum, _starts(self.body_jntnum), -1)

    def _translate(self, name: str, kind: str, convert: Callable[[_CompiledPart, Indices], Indices]) -> Indices:
        """An array of numbers of elements, by the numbers in the whole document."""
        out = np.zeros(len(self.rows[kind]), dtype=np.intp)
        for part in self._parts:
            out[part.numbers[kind]] = convert(part, getattr(part.model, name))
        return out

    def _set_relations(self) -> None:
        """Set what constraints, tendons and actuators refer to."""
        self.eq_obj1id = self._translate("eq_obj1id", "equalities", _equality_objects)
        self.eq_obj2id = self._translate("eq_obj2id", "equalities", _equality_objects)
        self.actuator_trnid = np.full((self.nactuator, 2), -1, dtype=np.intp)
        for part in self._parts:
            if part.model.nu:
                self.actuator_trnid[part.numbers["actuators"]] = _transmissions(part)
        self.tendon_adr = _starts(self.tendon_num)
        self.wrap_objid = np.zeros(int(self.tendon_num.sum()), dtype=np.intp)
        for part in self._parts:
            part.wraps = _ranges(self.tendon_adr[part.numbers["tendons"]], part.model.tendon_num)
            self.wrap_objid[part.wraps] = part.numbers["joints"][part.model.wrap_objid]
        self.wrap_prm = self._gather("wrap_prm", lambda part: part.wraps)

    def _set_weld_ids(self) -> None:
        self.body_weldid = np.zeros(self._whole.nbody, dtype=np.intp)
        for part in self._parts:
            bodies = part.numbers["bodies"]
            self.body_weldid[bodies] = bodies[part.model.body_weldid]

    def _set_excludes(self, document: DocumentParts, bodies: dict[str | None, int]) -> None:
        """Number pairs of bodies as MuJoCo does, by their signatures."""
        if document.excludes and self._whole.nbody > 1 << _BITS:
            raise CompilerError("too many bodies for the signatures of pairs")
        found: list[tuple[int, int, str]] = []
        for line, fragment in document.excludes:
            pair = [bodies.get(fragment.attributes.get(name, "")) for name in ("body1", "body2")]
            if None in pair or pair[0] == pair[1]:
                raise CompilerError("unknown bodies in exclude")
            first, second = sorted(number for number in pair if number is not None)
            found.append(((first << _BITS) + second, line, fragment.attributes.get("name", "")))
        found.sort(key=lambda one: one[0])
        self.exclude_signature = np.array([one[0] for one in found], dtype=np.int64)
        self.rows["excludes"] = [PartRow(number, name, line) for number, (_, line, name) in enumerate(found)]

    # --- keyframes ------------------------------------------------------------------------------------

    def _set_keys(self, document: DocumentParts) -> None:
        keys = [fragment for _, fragment in document.keys]
        self.nkey = len(keys)
        self.rows["keys"] = [PartRow(number, key.attributes.get("name", ""), 0) for number, key in enumerate(keys)]
        self.key_time = np.array([_vector(key, "time", np.zeros(1))[0] for key in keys])
        self.key_qvel = _stack([_vector(key, "qvel", np.zeros(self.nv)) for key in keys], self.nv)
        self.key_ctrl = _stack([_vector(key, "ctrl", np.zeros(self.nu)) for key in keys], self.nu)
        self.key_qpos = _stack([_vector(key, "qpos", self.qpos0) for key in keys], self.nq)
        has_quaternion = self.jnt_type <= _BALL
        firsts = (self.jnt_qposadr + np.where(self.jnt_type == _FREE, 3, 0))[has_quaternion]
        _normalize(self.key_qpos, firsts[:, None] + np.arange(4))

    # --- forces ---------------------------------------------------------------------------------------

    def parts(self) -> Iterator[tuple[Any, Indices, Indices, Indices]]:
        """The models of all parts, with the numbers of their positions, velocities and actuators in the whole."""
        return ((part.model, part.qpos, part.dofs, part.numbers["actuators"]) for part in self._parts)


def _numbers(rows: Sequence[PartRow], known: dict[int, int]) -> Indices:
    """The numbers in the whole document of elements of a part, by their lines; the world is the same in both."""
    out = np.zeros(max((row.number for row in rows), default=-1) + 1, dtype=np.intp)
    for row in rows:
        if row.line in known:
            out[row.number] = known[row.line]
        elif row.number:
            raise CompilerError("an element without a line")
    return out


def _starts(counts: Any) -> Indices:
    """Where ranges of some lengths begin, one after the other."""
    return np.concatenate([[0], np.cumsum(counts, dtype=np.intp)])[:-1].astype(np.intp)


def _ranges(starts: Indices, counts: Any) -> Indices:
    """The numbers in ranges of some lengths."""
    return np.repeat(starts - _starts(counts), counts) + np.arange(int(np.sum(counts)))


def _equality_objects(part: _CompiledPart, found: Indices) -> Indices:
    """The numbers of the bodies, sites, joints or tendons of constraints; -1 for a missing second one."""
    mujoco = mujoco_import.load()
    # MuJoCo states the kind of object only of constraints that may be between bodies or between sites.
    kinds = {int(mujoco.mjtEq.mjEQ_JOINT): "joints", int(mujoco.mjtEq.mjEQ_TENDON): "tendons"}
    others = {int(mujoco.mjtObj.mjOBJ_BODY): "bodies", int(mujoco.mjtObj.mjOBJ_SITE): "sites"}
    out = np.full(len(found), -1, dtype=np.intp)
    rows = zip(part.model.eq_type.tolist(), part.model.eq_objtype.tolist(), found.tolist(), strict=True)
    for place, (constraint, kind, number) in enumerate(rows):
        if number >= 0:
            out[place] = part.numbers[kinds.get(constraint) or others[kind]][number]
    return out


def _transmissions(part: _CompiledPart) -> Indices:
    """The numbers of the joints, tendons or sites that actuators act on."""
    kinds: Any = mujoco_import.load().mjtTrn
    targets = {
        int(kinds.mjTRN_JOINT): "joints",
        int(kinds.mjTRN_JOINTINPARENT): "joints",
        int(kinds.mjTRN_TENDON): "tendons",
        int(kinds.mjTRN_SITE): "sites",
        int(kinds.mjTRN_BODY): "bodies",
    }
    out = np.full((actuator_count(part.model), 2), -1, dtype=np.intp)
    for place, (kind, pair) in enumerate(
        zip(part.model.actuator_trntype.tolist(), part.model.actuator_trnid.tolist(), strict=True)
    ):
        numbers = part.numbers[targets[kind]]
        out[place] = [numbers[number] if number >= 0 else number for number in pair]
    return out


def _vector(key: Fragment, name: str, default: Array) -> Array:
    """The numbers of a keyframe, or the default; all must be stated."""
    text = key.attributes.get(name)
    if text is None:
        return default
    values = [parse_decimal(word) for word in text.split()]
    if len(values) != len(default) or None in values:
        raise CompilerError(f"wrong numbers in the {name} of a keyframe")
    return np.array(values, dtype=float)


def _normalize(rows: Array, places: Indices) -> None:
    """Normalize the quaternions in some places of each row.  MuJoCo itself does it, so that they are rounded alike."""
    mujoco = mujoco_import.load()
    for row in rows:
        rotated = places[(row[places] != _NO_ROTATION).any(axis=1)]
        for first in range(0, len(rotated), _CHUNK):
            chunk = rotated[first : first + _CHUNK]
            numbers = " ".join(map(repr, row[chunk].ravel().tolist()))
            text = f"<mujoco><worldbody>{_BALL_BODY * len(chunk)}</worldbody>"
            text += f'<keyframe><key qpos="{numbers}"/></keyframe></mujoco>'
            try:
                row[chunk] = mujoco.MjModel.from_xml_string(text).key_qpos[0].reshape(-1, 4)
            except ValueError as problem:
                raise CompilerError(str(problem)) from None


def _stack(rows: Sequence[Array], width: int) -> Array:
    return np.array(rows, dtype=float).reshape(len(rows), width)
