"""A document compiled by MuJoCo: arrays, names, and the nodes of the document they come from."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from exoskel import spatial
from exoskel.diagnostics import Collector
from exoskel.formats.mjcf.reader.compiler import (
    CompilerError,
    CompilerMemoryError,
    CompilerOutput,
    CompilerTimeError,
    PartRow,
    compile_document,
)
from exoskel.formats.mjcf.reader.preprocessor import PreparedDocument
from exoskel.spatial import Array

_LINE = re.compile(r"line (\d+)")
_ELEMENT = re.compile(r"Element '(\w+)'")
_TYPES = ("free", "ball", "slide", "hinge")


class Compiled:
    """The model, and for bodies, joints, geoms, sites, tendons, actuators and constraints their names and nodes.

    `zero` are the world poses of all bodies, `(bodies, 4, 4)`, at zero joint displacement.
    """

    def __init__(self, output: CompilerOutput, prepared: PreparedDocument) -> None:
        self.model = model = output.model
        self.prepared = prepared
        self.bodies = _Parts(output.parts["bodies"], prepared)
        self.joints = _Parts(output.parts["joints"], prepared)
        self.geoms = _Parts(output.parts["geoms"], prepared)
        self.sites = _Parts(output.parts["sites"], prepared)
        self.tendons = _Parts(output.parts["tendons"], prepared)
        self.actuators = _Parts(output.parts["actuators"], prepared)
        self.equalities = _Parts(output.parts["equalities"], prepared)
        self.excludes = _Parts(output.parts["excludes"], prepared)
        self.meshes = _Parts(output.parts["meshes"], prepared)
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
        """The initial controls of actuators."""
        return np.array(self.model.key_ctrl[0]) if self.model.nkey else np.zeros(self.model.nu)


class _Parts:
    """Names and nodes of one kind of element, by number."""

    def __init__(self, rows: list[PartRow], prepared: PreparedDocument) -> None:
        self.names = {row.number: row.name for row in rows}
        self.nodes = {row.number: prepared.node(row.line) for row in rows}
        self.numbers = {name: number for number, name in self.names.items() if name}

    def node(self, number: int) -> int:
        return self.nodes.get(number, -1)

    def name(self, number: int) -> str:
        return self.names.get(number, "")

    def quoted(self, number: int) -> str:
        """The name in quotes after a space, for messages; empty if there is none."""
        return f" '{self.name(number)}'" if self.name(number) else ""


def compile(prepared: PreparedDocument, collector: Collector, seconds: float) -> Compiled | None:
    """Compile with MuJoCo; if it rejects the document, report one error at the element that it names."""
    try:
        output = compile_document(prepared.text, prepared.assets, prepared.work, seconds)
    except CompilerTimeError as problem:
        collector.report("MJ106.limit", -1, limit=str(problem))
        return None
    except CompilerMemoryError as problem:
        collector.report("MJ106.memory", -1, limit=str(problem))
        return None
    except CompilerError as problem:
        text = str(problem)
        found = _LINE.findall(text)
        reason = text.partition("\n")[0].removeprefix("XML Error: ").removeprefix("Error: ")
        element = _ELEMENT.search(text)
        reason += f", <{element[1]}>" if element else ""
        collector.report("MJ106", prepared.node(int(found[-1])) if found else -1, reason=reason)
        return None
    for warned in output.warnings:
        collector.report("MJ106.warning", 0, reason=warned)
    return Compiled(output, prepared)


def transforms(positions: Any, quaternions: Any) -> Array:
    """MuJoCo's positions and quaternions as 4x4 transforms."""
    return spatial.transform(spatial.quaternion_matrix(quaternions), positions)


# --- features that `<option><flag>` disables: the scene is read without them --------------------------


CONSTRAINTS = frozenset({"equality", "frictionloss", "limit", "contact"})
"""The flags that `constraint` includes."""
MEANINGS: dict[str, str] = {
    "constraint": "constraints, dry friction, limits and contacts are ignored",
    "equality": "equality constraints are ignored",
    "frictionloss": "joints have no dry friction",
    "limit": "joints have no limits",
    "contact": "shapes do not collide",
    "spring": "joints have no springs",
    "damper": "joints have no damping",
    "actuation": "actuators are ignored",
    "clampctrl": "the control ranges of motors are ignored",
    "gravity": "gravity is zero",
}
"""Supported flags, and the effect of disabling them."""


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
