"""Exoskel: read, check, edit, save, convert and simulate physics scenes in SKEL, XODE and other formats.

import exoskel

scene = exoskel.load("dart://sample/skel/walker.skel")
for diagnostic in scene.diagnostics:
    print(diagnostic)
scene.world.model("walker").body("head").mass = 4.2
exoskel.save(scene, "walker.skel")                   # only that number changes
report = exoskel.convert("walker.skel", "walker.xode")
"""

from typing import TYPE_CHECKING, Any

from exoskel import display_hooks
from exoskel.convert.driver import convert
from exoskel.convert.report import Certificate, Check, RefusedError, Report
from exoskel.diagnostics import (
    Diagnostic,
    ExoskelError,
    LoadError,
    Position,
    SaveError,
    Severity,
    SourceError,
)
from exoskel.fates import Fate, NodeFate
from exoskel.formats.load import load
from exoskel.scene.body import Body, BodyState, FiniteRotation, Marker, SoftBody, Tessellation
from exoskel.scene.inertia import Inertia
from exoskel.scene.item import TakenNameError, UnknownNameError
from exoskel.scene.joint import Dof, Drive, Joint, Mimic
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.merge import merge
from exoskel.scene.model import Model
from exoskel.scene.pose import AxisAngle, Euler, Matrix, Pose, Quaternion
from exoskel.scene.shape import (
    Ball,
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    Mesh,
    MultiSphere,
    Plane,
    Pyramid,
    Ray,
    Shape,
    Sphere,
    TriMesh,
)
from exoskel.scene.summary import summarize
from exoskel.scene.validation import InvalidSceneError, check
from exoskel.scene.world import Scene, World
from exoskel.source.limits import Limits
from exoskel.version import XODE_COMPLIANCE, __version__

if TYPE_CHECKING:
    from exoskel.convert.diff import DiffEntry, diff
    from exoskel.engines.interface import Contact
    from exoskel.engines.mujoco.live_model import MujocoModel, from_mujoco, to_mujoco
    from exoskel.engines.preflight import EngineWarning, NotRunnableError, preflight
    from exoskel.formats.save import save
    from exoskel.simulate import controllers, gym
    from exoskel.simulate.animation import animate
    from exoskel.simulate.batch.rollout import rollout
    from exoskel.simulate.batch.trajectory import BatchTrajectory
    from exoskel.simulate.compare import Comparison, compare
    from exoskel.simulate.coordinate_array import CoordinateArray
    from exoskel.simulate.handles import SimulatedBody, SimulatedJoint, SimulatedModel, Wrench
    from exoskel.simulate.ik import IKSolution, ik
    from exoskel.simulate.motion_recorder import DivergedError
    from exoskel.simulate.run import run
    from exoskel.simulate.simulation import Simulation
    from exoskel.simulate.trajectory import ContactRecord, Record, Trajectory
    from exoskel.source.atomic_write import FileChangedError
    from exoskel.view.export import export, show
    from exoskel.view.plots import plot
    from exoskel.view.render import render

_LAZY = {
    "BatchTrajectory": "exoskel.simulate.batch.trajectory",
    "Comparison": "exoskel.simulate.compare",
    "DiffEntry": "exoskel.convert.diff",
    "animate": "exoskel.simulate.animation",
    "compare": "exoskel.simulate.compare",
    "diff": "exoskel.convert.diff",
    "save": "exoskel.formats.save",
    "DivergedError": "exoskel.simulate.motion_recorder",
    "MujocoModel": "exoskel.engines.mujoco.live_model",
    "from_mujoco": "exoskel.engines.mujoco.live_model",
    "to_mujoco": "exoskel.engines.mujoco.live_model",
    "FileChangedError": "exoskel.source.atomic_write",
    "Trajectory": "exoskel.simulate.trajectory",
    "export": "exoskel.view.export",
    "plot": "exoskel.view.plots",
    "rollout": "exoskel.simulate.batch.rollout",
    "render": "exoskel.view.render",
    "show": "exoskel.view.export",
    "run": "exoskel.simulate.run",
    "Simulation": "exoskel.simulate.simulation",
    "gym": "exoskel.simulate.gym",
    "EngineWarning": "exoskel.engines.preflight",
    "Contact": "exoskel.engines.interface",
    "SimulatedJoint": "exoskel.simulate.handles",
    "SimulatedBody": "exoskel.simulate.handles",
    "SimulatedModel": "exoskel.simulate.handles",
    "Wrench": "exoskel.simulate.handles",
    "Record": "exoskel.simulate.trajectory",
    "ContactRecord": "exoskel.simulate.trajectory",
    "CoordinateArray": "exoskel.simulate.coordinate_array",
    "controllers": "exoskel.simulate.controllers",
    "ik": "exoskel.simulate.ik",
    "IKSolution": "exoskel.simulate.ik",
    "preflight": "exoskel.engines.preflight",
    "NotRunnableError": "exoskel.engines.preflight",
}
"""Names whose modules are imported on first use, so that importing exoskel is fast."""


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        from importlib import import_module

        module = import_module(_LAZY[name])
        value = getattr(module, name, module)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'exoskel' has no attribute {name!r}")


def _render_html(shown: Any) -> str | None:
    """The viewer's page for notebooks; None if the viewer is not installed or cannot show the object."""
    try:
        from exoskel.view.export import notebook_html

        return notebook_html(shown)
    except (ImportError, ExoskelError):
        return None


def _create_painter(world: Any, size: tuple[int, int]) -> display_hooks.Paint | None:
    """The viewer's software renderer; None if the viewer is not installed."""
    try:
        from exoskel.view.render import frame_renderer

        return frame_renderer(world, size)
    except ImportError:
        return None


display_hooks.render_html = _render_html
display_hooks.create_painter = _create_painter

__all__ = [
    "XODE_COMPLIANCE",
    "AxisAngle",
    "Ball",
    "BatchTrajectory",
    "Body",
    "BodyState",
    "Box",
    "Capsule",
    "Certificate",
    "Check",
    "Comparison",
    "Cone",
    "Contact",
    "ContactRecord",
    "CoordinateArray",
    "Cylinder",
    "Diagnostic",
    "DiffEntry",
    "DivergedError",
    "Dof",
    "Drive",
    "Ellipsoid",
    "EngineWarning",
    "Euler",
    "ExoskelError",
    "Fate",
    "FileChangedError",
    "FiniteRotation",
    "IKSolution",
    "Inertia",
    "InvalidSceneError",
    "Joint",
    "Kinematics",
    "Limits",
    "LoadError",
    "Marker",
    "Matrix",
    "Mesh",
    "Mimic",
    "Model",
    "MujocoModel",
    "MultiSphere",
    "NodeFate",
    "NotRunnableError",
    "Plane",
    "Pose",
    "Position",
    "Pyramid",
    "Quaternion",
    "Ray",
    "Record",
    "RefusedError",
    "Report",
    "SaveError",
    "Scene",
    "Severity",
    "Shape",
    "SimulatedBody",
    "SimulatedJoint",
    "SimulatedModel",
    "Simulation",
    "SoftBody",
    "SourceError",
    "Sphere",
    "TakenNameError",
    "Tessellation",
    "Trajectory",
    "TriMesh",
    "UnknownNameError",
    "World",
    "Wrench",
    "__version__",
    "animate",
    "check",
    "compare",
    "controllers",
    "convert",
    "diff",
    "export",
    "from_mujoco",
    "gym",
    "ik",
    "load",
    "merge",
    "plot",
    "preflight",
    "render",
    "rollout",
    "run",
    "save",
    "show",
    "summarize",
    "to_mujoco",
]
