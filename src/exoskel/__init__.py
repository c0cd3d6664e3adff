"""Exoskel: read and check physics scenes in SKEL and XODE.

import exoskel

scene = exoskel.load("biped.skel")
for finding in scene.diagnostics:
    print(finding)
world = scene.world
world.model("biped").body("h_head").mass = 4.2
"""

from exoskel.diagnostics import (
    Diagnostic,
    ExoskelError,
    LoadError,
    Position,
    Severity,
    SourceError,
)
from exoskel.formats.load import load
from exoskel.scene.body import Body, BodyState, FiniteRotation, Marker, SoftBody, Tessellation
from exoskel.scene.inertia import Inertia
from exoskel.scene.item import TakenName, UnknownName
from exoskel.scene.joint import Dof, Drive, Joint
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.merge import merge
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
from exoskel.scene.world import Model, Scene, World
from exoskel.source.limits import Limits
from exoskel.version import XODE_COMPLIANCE, __version__

__all__ = [
    "XODE_COMPLIANCE",
    "AxisAngle",
    "Ball",
    "Body",
    "BodyState",
    "Box",
    "Capsule",
    "Cone",
    "Cylinder",
    "Diagnostic",
    "Dof",
    "Drive",
    "Ellipsoid",
    "Euler",
    "ExoskelError",
    "FiniteRotation",
    "Inertia",
    "Joint",
    "Kinematics",
    "Limits",
    "LoadError",
    "Marker",
    "Matrix",
    "Mesh",
    "Model",
    "MultiSphere",
    "Plane",
    "Pose",
    "Position",
    "Pyramid",
    "Quaternion",
    "Ray",
    "Scene",
    "Severity",
    "Shape",
    "SoftBody",
    "SourceError",
    "Sphere",
    "TakenName",
    "Tessellation",
    "TriMesh",
    "UnknownName",
    "World",
    "__version__",
    "load",
    "merge",
    "summarize",
]
