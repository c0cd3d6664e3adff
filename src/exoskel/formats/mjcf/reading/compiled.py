"""A document compiled by MuJoCo: arrays, names, and the nodes of the document they come from."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np

from exoskel import spatial
from exoskel.diagnostics import Collector
from exoskel.formats.mjcf import mujoco_import
from exoskel.formats.mjcf.reading.preprocessor import PreparedDocument
from exoskel.spatial import Array

_LINE = re.compile(r"line (\d+)")
_ELEMENT = re.compile(r"Element '(\w+)'")
_TYPES = ("free", "ball", "slide", "hinge")


class Compiled:
    """The model, and for bodies, joints, geoms, sites, tendons, actuators and constraints their names and nodes.

    `zero` are the world poses of all bodies, `(bodies, 4, 4)`, at zero joint displacement.
    """

    def __init__(self, spec: Any, model: Any, prepared: PreparedDocument) -> None:
        self.model = model
        self.prepared = prepared
        bodies = _bodies(spec)
        self.bodies = _Parts(bodies, prepared)
        self.joints = _Parts((one for body in bodies for one in body.joints), prepared)
        self.geoms = _Parts((one for body in bodies for one in body.geoms), prepared)
        self.sites = _Parts((one for body in bodies for one in body.sites), prepared)
        self.tendons = _Parts(spec.tendons, prepared)
        self.actuators = _Parts(spec.actuators, prepared)
        self.equalities = _Parts(spec.equalities, prepared)
        self.excludes = _Parts(spec.excludes, prepared)
        self.meshes = _Parts(spec.meshes, prepared)
        self.framed_meshes = {str(mesh.name) for mesh in spec.meshes if _has_frame(mesh)}
        """Meshes whose asset changes their frame."""
        self.specs: dict[int, Any] = {int(body.id): body for body in bodies}
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


def _bodies(spec: Any) -> list[Any]:
    """All bodies, found by traversing the tree: MuJoCo's own list takes quadratic time."""
    found = [spec.worldbody]
    for body in found:
        found += body.bodies
    return found


class _Parts:
    """Names and nodes of one kind of element, by number."""

    def __init__(self, elements: Any, prepared: PreparedDocument) -> None:
        self.names: dict[int, str] = {}
        self.nodes: dict[int, int] = {}
        for one in elements:
            self.names[int(one.id)] = str(one.name)
            found = _LINE.search(str(one.info))
            self.nodes[int(one.id)] = prepared.node(int(found[1])) if found else -1
        self.numbers = {name: number for number, name in self.names.items() if name}

    def node(self, number: int) -> int:
        return self.nodes.get(number, -1)

    def name(self, number: int) -> str:
        return self.names.get(number, "")

    def quoted(self, number: int) -> str:
        """The name in quotes after a space, for messages; empty if there is none."""
        return f" '{self.name(number)}'" if self.name(number) else ""


def _has_frame(mesh: Any) -> bool:
    return any(mesh.refpos) or abs(mesh.refquat[0]) != 1.0


def compile(prepared: PreparedDocument, collector: Collector) -> Compiled | None:
    """Compile with MuJoCo; if it rejects the document, report one error at the element that it names."""
    mujoco = mujoco_import.load()
    mujoco.set_mju_user_warning(_ignore)  # the default writes a file to the working directory

    def work() -> tuple[Any, Any]:
        spec = mujoco.MjSpec.from_string(prepared.text, assets=prepared.assets)
        # A scene does not support muscles; computing their length range would take a simulation.
        spec.compiler.LRopt.mode = mujoco.mjtLRMode.mjLRMODE_NONE
        return spec, spec.compile()

    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            spec, model = mujoco_import.run_in_thread(work)
        for one in caught:
            collector.report("MJ106.warning", 0, reason=str(one.message).partition("\n")[0])
        return Compiled(spec, model, prepared)
    except (ValueError, RuntimeError, MemoryError, mujoco.FatalError) as problem:
        text = str(problem)
        found = _LINE.findall(text)
        reason = text.partition("\n")[0].removeprefix("XML Error: ").removeprefix("Error: ")
        element = _ELEMENT.search(text)
        reason += f", <{element[1]}>" if element else ""
        collector.report("MJ106", prepared.node(int(found[-1])) if found else -1, reason=reason)
        return None


def _ignore(_message: str) -> None:
    """The reader itself reports what warnings of the compiler are about."""


def transforms(positions: Any, quaternions: Any) -> Array:
    """MuJoCo's positions and quaternions as 4x4 transforms."""
    return spatial.transform(spatial.quaternion_matrix(quaternions), positions)
