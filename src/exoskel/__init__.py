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
from exoskel.version import XODE_COMPLIANCE, __version__

if TYPE_CHECKING:
    from exoskel import gym
    from exoskel.conversion.diff import DiffEntry, diff
    from exoskel.conversion.driver import convert
    from exoskel.conversion.report import Certificate, Check, RefusedError, Report
    from exoskel.conversion.saving import save
    from exoskel.diagnostics import (
        Diagnostic,
        ExoskelError,
        LoadError,
        Position,
        SaveError,
        Severity,
        SourceError,
    )
    from exoskel.engines.dart.dartpy_world import DartpyWorld, to_dartpy
    from exoskel.engines.interface import Contact
    from exoskel.engines.mujoco.live_model import MujocoModel, from_mujoco, to_mujoco
    from exoskel.engines.newton_model import NewtonModel, to_newton
    from exoskel.engines.pinocchio_model import PinocchioModel, to_pinocchio
    from exoskel.engines.preflight import EngineWarning, NotRunnableError, preflight
    from exoskel.fates import Fate, NodeFate
    from exoskel.formats.load import load
    from exoskel.scene.actuator import Activation, Actuator
    from exoskel.scene.body import Body, BodyState, FiniteRotation, Marker, SoftBody, Tessellation
    from exoskel.scene.cameras_and_keyframes import Keyframe, KeyframeJoint, SceneCamera, SceneLight, look_at
    from exoskel.scene.equality import Equality
    from exoskel.scene.inertia import Inertia
    from exoskel.scene.item import TakenNameError, UnknownNameError
    from exoskel.scene.joint import Dof, Drive, Joint, Mimic
    from exoskel.scene.kinematics import Kinematics
    from exoskel.scene.merge import merge
    from exoskel.scene.model import Model
    from exoskel.scene.pose import AxisAngle, Euler, Matrix, Pose, Quaternion
    from exoskel.scene.sensor import SceneSensor
    from exoskel.scene.shape import (
        Ball,
        Box,
        Capsule,
        Cone,
        Cylinder,
        Ellipsoid,
        Material,
        Mesh,
        MultiSphere,
        Plane,
        Pyramid,
        Ray,
        Shape,
        Sphere,
        Texture,
        TriMesh,
    )
    from exoskel.scene.solver_parameters import SolverParameters
    from exoskel.scene.summary import summarize
    from exoskel.scene.tendon import Tendon, TendonJoint, TendonPoint
    from exoskel.scene.validation import InvalidSceneError, check
    from exoskel.scene.world import Scene, World
    from exoskel.simulate import controllers
    from exoskel.simulate.batch.rollout import rollout
    from exoskel.simulate.batch.trajectory import BatchTrajectory
    from exoskel.simulate.compare import Comparison, compare
    from exoskel.simulate.coordinate_array import CoordinateArray
    from exoskel.simulate.handles import SimulatedBody, SimulatedJoint, SimulatedModel, Wrench
    from exoskel.simulate.ik import IKSolution, ik
    from exoskel.simulate.measured_world import DivergedError
    from exoskel.simulate.simulation import Simulation, run
    from exoskel.simulate.trajectory import ContactRecord, Record, Trajectory
    from exoskel.source.atomic_write import FileChangedError
    from exoskel.source.limits import Limits
    from exoskel.view.export import export, show
    from exoskel.view.plots import plot
    from exoskel.view.render import animate, render

_LAZY = {
    "DartpyWorld": "exoskel.engines.dart.dartpy_world",
    "to_dartpy": "exoskel.engines.dart.dartpy_world",
    "NewtonModel": "exoskel.engines.newton_model",
    "to_newton": "exoskel.engines.newton_model",
    "PinocchioModel": "exoskel.engines.pinocchio_model",
    "to_pinocchio": "exoskel.engines.pinocchio_model",
    "ExoskelError": "exoskel.diagnostics",
    "DiffEntry": "exoskel.conversion.diff",
    "diff": "exoskel.conversion.diff",
    "convert": "exoskel.conversion.driver",
    "Certificate": "exoskel.conversion.report",
    "Check": "exoskel.conversion.report",
    "RefusedError": "exoskel.conversion.report",
    "Report": "exoskel.conversion.report",
    "Diagnostic": "exoskel.diagnostics",
    "LoadError": "exoskel.diagnostics",
    "Position": "exoskel.diagnostics",
    "SaveError": "exoskel.diagnostics",
    "Severity": "exoskel.diagnostics",
    "SourceError": "exoskel.diagnostics",
    "Contact": "exoskel.engines.interface",
    "MujocoModel": "exoskel.engines.mujoco.live_model",
    "from_mujoco": "exoskel.engines.mujoco.live_model",
    "to_mujoco": "exoskel.engines.mujoco.live_model",
    "EngineWarning": "exoskel.engines.preflight",
    "NotRunnableError": "exoskel.engines.preflight",
    "preflight": "exoskel.engines.preflight",
    "Fate": "exoskel.fates",
    "NodeFate": "exoskel.fates",
    "load": "exoskel.formats.load",
    "save": "exoskel.conversion.saving",
    "Activation": "exoskel.scene.actuator",
    "Actuator": "exoskel.scene.actuator",
    "SceneSensor": "exoskel.scene.sensor",
    "Equality": "exoskel.scene.equality",
    "SolverParameters": "exoskel.scene.solver_parameters",
    **dict.fromkeys(("Tendon", "TendonJoint", "TendonPoint"), "exoskel.scene.tendon"),
    "Body": "exoskel.scene.body",
    "BodyState": "exoskel.scene.body",
    "FiniteRotation": "exoskel.scene.body",
    "Marker": "exoskel.scene.body",
    "SoftBody": "exoskel.scene.body",
    "Tessellation": "exoskel.scene.body",
    "SceneCamera": "exoskel.scene.cameras_and_keyframes",
    "SceneLight": "exoskel.scene.cameras_and_keyframes",
    "look_at": "exoskel.scene.cameras_and_keyframes",
    "Inertia": "exoskel.scene.inertia",
    "TakenNameError": "exoskel.scene.item",
    "UnknownNameError": "exoskel.scene.item",
    "Dof": "exoskel.scene.joint",
    "Drive": "exoskel.scene.joint",
    "Joint": "exoskel.scene.joint",
    "Mimic": "exoskel.scene.joint",
    "Keyframe": "exoskel.scene.cameras_and_keyframes",
    "KeyframeJoint": "exoskel.scene.cameras_and_keyframes",
    "Kinematics": "exoskel.scene.kinematics",
    "merge": "exoskel.scene.merge",
    "Model": "exoskel.scene.model",
    "AxisAngle": "exoskel.scene.pose",
    "Euler": "exoskel.scene.pose",
    "Matrix": "exoskel.scene.pose",
    "Pose": "exoskel.scene.pose",
    "Quaternion": "exoskel.scene.pose",
    "Ball": "exoskel.scene.shape",
    "Box": "exoskel.scene.shape",
    "Capsule": "exoskel.scene.shape",
    "Cone": "exoskel.scene.shape",
    "Cylinder": "exoskel.scene.shape",
    "Ellipsoid": "exoskel.scene.shape",
    "Material": "exoskel.scene.shape",
    "Mesh": "exoskel.scene.shape",
    "MultiSphere": "exoskel.scene.shape",
    "Plane": "exoskel.scene.shape",
    "Pyramid": "exoskel.scene.shape",
    "Ray": "exoskel.scene.shape",
    "Shape": "exoskel.scene.shape",
    "Sphere": "exoskel.scene.shape",
    "Texture": "exoskel.scene.shape",
    "TriMesh": "exoskel.scene.shape",
    "summarize": "exoskel.scene.summary",
    "InvalidSceneError": "exoskel.scene.validation",
    "check": "exoskel.scene.validation",
    "Scene": "exoskel.scene.world",
    "World": "exoskel.scene.world",
    "controllers": "exoskel.simulate.controllers",
    "gym": "exoskel.gym",
    "animate": "exoskel.view.render",
    "rollout": "exoskel.simulate.batch.rollout",
    "BatchTrajectory": "exoskel.simulate.batch.trajectory",
    "Comparison": "exoskel.simulate.compare",
    "compare": "exoskel.simulate.compare",
    "CoordinateArray": "exoskel.simulate.coordinate_array",
    "SimulatedBody": "exoskel.simulate.handles",
    "SimulatedJoint": "exoskel.simulate.handles",
    "SimulatedModel": "exoskel.simulate.handles",
    "Wrench": "exoskel.simulate.handles",
    "IKSolution": "exoskel.simulate.ik",
    "ik": "exoskel.simulate.ik",
    "DivergedError": "exoskel.simulate.measured_world",
    "run": "exoskel.simulate.simulation",
    "Simulation": "exoskel.simulate.simulation",
    "ContactRecord": "exoskel.simulate.trajectory",
    "Record": "exoskel.simulate.trajectory",
    "Trajectory": "exoskel.simulate.trajectory",
    "FileChangedError": "exoskel.source.atomic_write",
    "Limits": "exoskel.source.limits",
    "export": "exoskel.view.export",
    "show": "exoskel.view.export",
    "plot": "exoskel.view.plots",
    "render": "exoskel.view.render",
}
"""The module of each public name; it is imported on first use, so that importing exoskel is fast."""


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
    from exoskel.diagnostics import ExoskelError

    try:
        from exoskel.view.export import notebook_html

        return notebook_html(shown)
    except (ImportError, ExoskelError):
        return None


def _create_painter(world: Any, size: tuple[int, int], camera: int | None) -> display_hooks.Paint | None:
    """The viewer's software renderer; None if the viewer is not installed."""
    try:
        from exoskel.view.render import frame_renderer

        return frame_renderer(world, size, camera)
    except ImportError:
        return None


def _locate_mesh(mesh: Any) -> Any:
    """A mesh with the path and extent of its file."""
    from exoskel.source.meshes import locate_from_working_folder

    return locate_from_working_folder(mesh)


def _locate_texture(texture: Any) -> Any:
    """A texture with the path of its file."""
    from exoskel.source.textures import locate_from_working_folder

    return locate_from_working_folder(texture)


display_hooks.locate_mesh = _locate_mesh
display_hooks.locate_texture = _locate_texture
display_hooks.render_html = _render_html
display_hooks.create_painter = _create_painter

__all__ = [
    "XODE_COMPLIANCE",
    "Activation",
    "Actuator",
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
    "DartpyWorld",
    "Diagnostic",
    "DiffEntry",
    "DivergedError",
    "Dof",
    "Drive",
    "Ellipsoid",
    "EngineWarning",
    "Equality",
    "Euler",
    "ExoskelError",
    "Fate",
    "FileChangedError",
    "FiniteRotation",
    "IKSolution",
    "Inertia",
    "InvalidSceneError",
    "Joint",
    "Keyframe",
    "KeyframeJoint",
    "Kinematics",
    "Limits",
    "LoadError",
    "Marker",
    "Material",
    "Matrix",
    "Mesh",
    "Mimic",
    "Model",
    "MujocoModel",
    "MultiSphere",
    "NewtonModel",
    "NodeFate",
    "NotRunnableError",
    "PinocchioModel",
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
    "SceneCamera",
    "SceneLight",
    "SceneSensor",
    "Severity",
    "Shape",
    "SimulatedBody",
    "SimulatedJoint",
    "SimulatedModel",
    "Simulation",
    "SoftBody",
    "SolverParameters",
    "SourceError",
    "Sphere",
    "TakenNameError",
    "Tendon",
    "TendonJoint",
    "TendonPoint",
    "Tessellation",
    "Texture",
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
    "look_at",
    "merge",
    "plot",
    "preflight",
    "render",
    "rollout",
    "run",
    "save",
    "show",
    "summarize",
    "to_dartpy",
    "to_mujoco",
    "to_newton",
    "to_pinocchio",
]
