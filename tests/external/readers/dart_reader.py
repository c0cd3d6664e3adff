"""DART as a reader of URDF and SDFormat.

It reads SDFormat up to 1.6.  If only shapes need a newer version, it gets the document without shapes, which are not
compared.
"""

from __future__ import annotations

import os
import tempfile
import xml.etree.ElementTree as ET

import dartpy
import numpy as np
from protocol import diagonal, inertia, matrix, need, serve, transform

NEWEST = "1.6"
NEWER = ("screw_thread_pitch", "mimic")
"""Elements that DART would need and that SDFormat 1.6 does not have."""


def load(request):
    if request["format"] == "urdf":
        skeleton = dartpy.utils.DartLoader().parseSkeleton(uri(request["file"]))
        return None if skeleton is None else [("", skeleton)]
    with tempfile.NamedTemporaryFile(suffix=".sdf") as file:
        world = dartpy.utils.SdfParser.readWorld(uri(older(request["file"], file)))
    if world is None:
        return None
    skeletons = [world.getSkeleton(i) for i in range(world.getNumSkeletons())]
    return [(f"{skeleton.getName()}::", skeleton) for skeleton in skeletons]


def uri(file):
    return "file://" + os.path.abspath(file)


def older(file, other):
    """The file, or a copy in a version that DART reads, written to `other`."""
    document = ET.parse(file)
    root = document.getroot()
    if root.get("version") == NEWEST:
        return file
    for link in root.iter("link"):
        for shape in [*link.findall("visual"), *link.findall("collision")]:
            link.remove(shape)
    if any(root.find(f".//{tag}") is not None for tag in NEWER):
        raise ValueError(f"SDFormat {root.get('version')}, and DART reads {NEWEST}")
    root.set("version", NEWEST)
    document.write(other)
    other.flush()
    return other.name


def describe(request):
    loaded = load(request)
    if loaded is None:
        return {"failed": "nothing loaded"}
    return describe_skeletons(loaded, request)


def describe_skeletons(loaded, request):
    """Describe skeletons, with the prefixes of their names."""
    bodies = {p + s.getBodyNode(i).getName(): s.getBodyNode(i) for p, s in loaded for i in range(s.getNumBodyNodes())}
    joints = {p + s.getJoint(i).getName(): s.getJoint(i) for p, s in loaded for i in range(s.getNumJoints())}
    poses, answer = [], {}
    for number, configuration in enumerate(request["configurations"]):
        for name, value in configuration["joints"].items():
            place(need(joints, name, "joint"), value)
        for name, value in configuration["floating"].items():
            float_at(need(bodies, name, "body").getParentJoint(), transform(value))
        poses.append({name: body.getTransform().matrix()[:3].tolist() for name, body in bodies.items()})
        if number == 0:
            answer["mass_matrix"] = mass_matrix(loaded)
    rows = [inertia([n], n, b.getMass(), b.getLocalCOM(), b.getInertia().getMoment()) for n, b in bodies.items()]
    dofs = {
        name: [j.getPositionLowerLimit(0), j.getPositionUpperLimit(0), j.getDampingCoefficient(0)]
        for name, j in joints.items()
        if j.getNumDofs() == 1
    }
    dynamics = {
        name: {"stiffness": joints[name].getSpringStiffness(0), "friction": joints[name].getCoulombFriction(0)}
        for name in dofs
    }
    return answer | {"bodies": rows, "poses": poses, "dofs": dofs, "dynamics": dynamics}


def place(joint, value):
    if joint.getType() == "BallJoint":
        value = rotation_vector(value)
    if joint.getNumDofs() != len(value):
        raise ValueError(f"a {joint.getType()} for {len(value)} coordinates")
    joint.setPositions(np.array(value))


def rotation_vector(quaternion):
    w, *axis = quaternion
    sine = np.linalg.norm(axis)
    return np.array(axis) * (2.0 if sine == 0.0 else 2.0 * np.arctan2(sine, w) / sine)


def float_at(joint, pose):
    if joint.getType() != "FreeJoint":
        raise ValueError(f"a {joint.getType()} for a floating body")
    before = np.linalg.inv(joint.getTransformFromParentBodyNode().matrix())
    motion = before @ pose @ joint.getTransformFromChildBodyNode().matrix()
    joint.setPositions(dartpy.dynamics.FreeJoint.convertToPositions(dartpy.math.Isometry3(motion)))


def mass_matrix(loaded):
    blocks, names, changes = [], [], []
    for prefix, skeleton in loaded:
        if not skeleton.isMobile() or not skeleton.getNumDofs():
            continue
        blocks.append(np.array(skeleton.getMassMatrix()))
        for i in range(skeleton.getNumJoints()):
            joint, change = skeleton.getJoint(i), np.eye(skeleton.getJoint(i).getNumDofs())
            name = joint.getName()
            if joint.getType() == "FreeJoint":  # angular first, both in the axes of the world
                name, turn = joint.getChildBodyNode().getName(), joint.getChildBodyNode().getTransform().rotation()
                change = np.block([[np.zeros((3, 3)), turn], [np.eye(3), np.zeros((3, 3))]])
            names += [[prefix + name, k] for k in range(len(change))]
            changes.append(change)
    return matrix(diagonal(blocks), names, diagonal(changes))


if __name__ == "__main__":
    serve(describe, lambda: dartpy.__version__)
