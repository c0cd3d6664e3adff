"""Exoskel: read, check, edit and convert physics scenes in SKEL and XODE.

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
from exoskel.scene.body import Body, Marker, SoftBody, Tessellation
from exoskel.scene.inertia import Inertia
from exoskel.scene.item import TakenName, UnknownName
from exoskel.scene.joint import Dof, Joint
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
    Shape,
    Sphere,
)
from exoskel.scene.summary import summarize
from exoskel.scene.world import Model, Scene, World
from exoskel.source.limits import Limits
from exoskel.version import __version__

__all__ = [
    "AxisAngle",
    "Ball",
    "Body",
    "Box",
    "Capsule",
    "Cone",
    "Cylinder",
    "Diagnostic",
    "Dof",
    "Ellipsoid",
    "Euler",
    "ExoskelError",
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
    "Scene",
    "Severity",
    "Shape",
    "SoftBody",
    "SourceError",
    "Sphere",
    "TakenName",
    "Tessellation",
    "UnknownName",
    "World",
    "__version__",
    "load",
    "merge",
    "summarize",
]
