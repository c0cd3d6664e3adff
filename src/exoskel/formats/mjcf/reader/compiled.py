"""A document compiled by MuJoCo: arrays, names, the nodes they come from, and what errors are about."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from exoskel import spatial
from exoskel.diagnostics import Collector
from exoskel.formats.mjcf.controls import control_slices, first_outputs
from exoskel.formats.mjcf.flags import CONSTRAINTS, MEANINGS
from exoskel.formats.mjcf.reader.combined_model import compile_in_parts
from exoskel.formats.mjcf.reader.compiler import (
    CompilerError,
    CompilerMemoryError,
    CompilerOutput,
    CompilerTimeError,
    PartRow,
    compile_document,
)
from exoskel.formats.mjcf.reader.document_parts import split
from exoskel.formats.mjcf.reader.preprocessor import PreparedDocument
from exoskel.formats.mjcf.reader.rejections import Rejections
from exoskel.scene.shape import Material
from exoskel.spatial import Array

_TYPES = ("free", "ball", "slide", "hinge")


class Compiled:
    """The model, and for bodies, joints, geoms, sites, cameras and other elements their names and nodes.

    `zero` are the world poses of all bodies, `(bodies, 4, 4)`, at zero joint displacement.
    """

    def __init__(self, output: CompilerOutput, prepared: PreparedDocument) -> None:
        self.model = model = output.model
        self.prepared = prepared
        self.bodies = _Parts(output.parts["bodies"], prepared)
        self.joints = _Parts(output.parts["joints"], prepared)
        self.geoms = _Parts(output.parts["geoms"], prepared)
        self.sites = _Parts(output.parts["sites"], prepared)
        self.cameras = _Parts(output.parts["cameras"], prepared)
        self.lights = _Parts(output.parts["lights"], prepared)
        self.keys = _Parts(output.parts["keys"], prepared)
        self.tendons = _Parts(output.parts["tendons"], prepared)
        self.actuators = _Parts(output.parts["actuators"], prepared)
        self.equalities = _Parts(output.parts["equalities"], prepared)
        self.excludes = _Parts(output.parts["excludes"], prepared)
        self.meshes = _Parts(output.parts["meshes"], prepared)
        self.materials: dict[str, Material | None] = {}
        """What shapes have of the materials of geoms, by the names of these."""
        self.framed_meshes = output.framed_meshes
        """Meshes whose asset changes their frame."""
        self.full_inertias = output.full_inertias
        """The six moments that bodies state, NaN if they state none."""
        self.types = [_TYPES[kind] for kind in model.jnt_type.tolist()]
        self.parents: list[int] = model.body_parentid.tolist()
        local = transforms(model.body_pos, model.body_quat)
        self.zero = local
        for number, parent in enumerate(self.parents[1:], start=1):
            self.zero[number] = self.zero[parent] @ local[number]

    def joints_of(self, body: int) -> list[int]:
        first = int(self.model.body_jntadr[body])
        return list(range(first, first + int(self.model.body_jntnum[body])))

    @property
    def initial_state(self) -> tuple[Array, Array]:
        """Initial positions and velocities in MuJoCo's coordinates: the first keyframe's if there is one."""
        model = self.model
        if model.nkey:
            return np.array(model.key_qpos[0]), np.array(model.key_qvel[0])
        return np.array(model.qpos0), np.zeros(model.nv)

    @property
    def controls(self) -> Array:
        """The initial controls, in MuJoCo's order."""
        return np.array(self.model.key_ctrl[0]) if self.model.nkey else np.zeros(self.model.nu)

    def activation(self, actuator: int, key: int = 0) -> float:
        """The activation of an actuator with one in a keyframe; the initial one without keyframes is zero."""
        if not self.model.nkey:
            return 0.0
        return float(self.model.key_act[key, int(self.model.actuator_actadr[actuator])])

    @cached_property
    def gears(self) -> Array:
        """The gears of the first output of each actuator, `(actuators, 6)`."""
        return np.asarray(self.model.actuator_gear)[first_outputs(self.model)]

    @cached_property
    def control_slices(self) -> list[slice]:
        """The places of the controls of each actuator."""
        return control_slices(self.model)

    def control(self, actuator: int) -> int | None:
        """The place of the only control of an actuator; None if it has none or several."""
        found = self.control_slices[actuator]
        return found.start if found.stop == found.start + 1 else None


class _Parts:
    """Names and nodes of one kind of element, by number."""

    def __init__(self, rows: list[PartRow], prepared: PreparedDocument) -> None:
        self.names = {row.number: row.name for row in rows}
        self.lines = {row.number: row.line for row in rows}
        self.nodes = {row.number: prepared.node(row.line) for row in rows}
        self.numbers = {name: number for number, name in self.names.items() if name}

    def node(self, number: int) -> int:
        return self.nodes.get(number, -1)

    def name(self, number: int) -> str:
        return self.names.get(number, "")

    def quoted(self, number: int) -> str:
        """The name in quotes after a space, for messages; empty for an unnamed object."""
        return f" '{self.name(number)}'" if self.name(number) else ""


def compile(
    prepared: PreparedDocument, collector: Collector, seconds: float, *, is_own: bool = False
) -> Compiled | None:
    """Compile with MuJoCo; what it rejects is reported and removed, and the rest is compiled again.

    `is_own` is for documents that this process has written, of which nothing is removed.
    """
    rejections = Rejections(prepared, collector)
    if not is_own:
        rejections.remove_infinite_numbers()
    end = time.monotonic() + seconds
    while True:
        try:
            output = _compile_parts(prepared, seconds, is_own)
            if output is None:
                output = compile_document(prepared.text, prepared.assets, prepared.work, seconds)
            break
        except CompilerTimeError as problem:
            collector.report("MJ106.limit", -1, limit=str(problem))
        except CompilerMemoryError as problem:
            collector.report("MJ106.memory", -1, limit=str(problem))
        except CompilerError as problem:
            if rejections.repair(str(problem)) and not is_own and time.monotonic() < end:
                continue
        rejections.report(is_read=False)
        return None
    rejections.report(is_read=True)
    for warned in output.warnings:
        collector.report("MJ106.warning", 0, reason=warned)
    return Compiled(output, prepared)


def _compile_parts(prepared: PreparedDocument, seconds: float, is_own: bool) -> CompilerOutput | None:
    """Compile a large document in parts; None if it has none, or if only the whole shows what is wrong."""
    parts = split(prepared.root, prepared.work)
    if parts is None:
        return None
    try:
        return compile_in_parts(parts, prepared.assets, seconds, is_own=is_own)
    except CompilerError:
        return None


def transforms(positions: Any, quaternions: Any) -> Array:
    """MuJoCo's positions and quaternions as 4x4 transforms."""
    return spatial.transform(spatial.quaternion_matrix(quaternions), positions)


# --- features that `<option><flag>` disables: the scene is read without them --------------------------


def disabled_flags(compiled: Compiled) -> frozenset[str]:
    """The names of all disabled flags."""
    import mujoco

    bits = int(compiled.model.opt.disableflags)
    kinds: Any = mujoco.mjtDisableBit
    found = {name for name in (*MEANINGS, "filterparent") if bits & int(getattr(kinds, f"mjDSBL_{name.upper()}"))}
    return frozenset(found | CONSTRAINTS if "constraint" in found else found)


def report_disabled_flags(compiled: Compiled, flags: list[int], report: Callable[..., None]) -> None:
    """Report all disabled flags at the last <flag> element."""
    disabled = disabled_flags(compiled)
    node = flags[-1] if flags else 0
    for name, meaning in MEANINGS.items():
        if name in disabled and not (name in CONSTRAINTS and "constraint" in disabled):
            report("MJ108", node, attribute=name, name=name, meaning=meaning)
    if "filterparent" in disabled:
        report("MJ108.filterparent", node, attribute="filterparent")
