"""Pinocchio as a reader of URDF and MJCF.

From MJCF it reads only the first tree of bodies, ignores the pose of a fixed root, and checks the size of keyframes.
So it gets all bodies inside one body named `world`, without sections that do not concern bodies.
"""

from __future__ import annotations

import os
import tempfile
import xml.etree.ElementTree as ET

import numpy as np
import pinocchio as pin
from protocol import inertia, matrix, need, serve, transform

KEPT = ("compiler", "default", "asset", "worldbody")
"""The sections that concern bodies."""


def load(request):
    """The model, and the joints that each composite joint consists of, by name."""
    if request["format"] == "urdf":
        return pin.buildModelFromUrdf(request["file"]), {}
    document = ET.parse(request["file"])
    root = document.getroot()
    for child in [child for child in root if child.tag not in KEPT]:
        root.remove(child)
    world = root.find("worldbody")
    bodies = world.findall("body")
    joints = composed_joints(world)
    whole = ET.SubElement(world, "body", name="world")
    ET.SubElement(whole, "inertial", pos="0 0 0", mass="0", diaginertia="0 0 0")
    for body in bodies:
        world.remove(body)
        whole.append(body)
    # In the folder of the file, because mesh references are relative.
    with tempfile.NamedTemporaryFile(dir=os.path.dirname(request["file"]), suffix=".xml") as file:
        document.write(file)
        file.flush()
        return pin.buildModelFromMJCF(file.name), joints


def composed_joints(world):
    joints = ([joint.get("name") for joint in body.findall("joint")] for body in world.iter("body"))
    return {f"Composite_{own[0]}": own for own in joints if len(own) > 1}


class Places:
    """The coordinates of a model.

    `joints` are a joint and the first of its coordinates, by name; `floating` the numbers of free joints, by body;
    `velocities` the names of all velocities.
    """

    def __init__(self, model, composed):
        self.joints, self.floating, self.velocities = {}, {}, []
        held = {f.parentJoint: f.name for f in reversed(list(model.frames)) if f.type == pin.BODY}
        for number in range(1, model.njoints):
            name, joint = model.names[number], model.joints[number]
            if joint.shortname() == "JointModelFreeFlyer":
                self.floating[held[number]] = number
                self.velocities += [[held[number], k] for k in range(6)]
                continue
            parts = joint.extract().joints if name in composed else [joint]
            at = joint.idx_q
            for part, called in zip(parts, composed.get(name, [name]), strict=True):
                self.joints[called] = part, at
                self.velocities += [[called, k] for k in range(part.nv)]
                at += part.nq


def describe(request):
    return describe_model(*load(request), request)


def describe_model(model, composed, request):
    model.armature = np.zeros(model.nv)  # no mass of a body
    data = model.createData()
    places = Places(model, composed)
    frames = {f.name: (number, f) for number, f in enumerate(model.frames) if f.type == pin.BODY}
    poses, answer = [], {}
    for number, configuration in enumerate(request["configurations"]):
        q = configure(model, places, configuration)
        pin.framesForwardKinematics(model, data, q)
        poses.append({name: data.oMf[i].homogeneous[:3].tolist() for name, (i, _) in frames.items()})
        if number == 0:
            answer["mass_matrix"] = mass_matrix(model, data, places, q)
    return answer | {"bodies": list(bodies(model, frames)), "poses": poses, "dofs": dofs(model)}


def dofs(model):
    rows = {}
    for name, joint in zip(model.names, model.joints, strict=True):
        if joint.idx_q >= 0 and joint.nv == 1:
            low, high = model.lowerPositionLimit[joint.idx_q], model.upperPositionLimit[joint.idx_q]
            rows[name] = [float(low), float(high), float(model.damping[joint.idx_v])]
    return rows


def configure(model, places, configuration):
    q = pin.neutral(model)
    for name, value in configuration["joints"].items():
        place(q, *need(places.joints, name, "joint"), value)
    for name, value in configuration["floating"].items():
        joint = need(places.floating, name, "floating body")
        below = model.jointPlacements[joint].inverse() * pin.SE3(transform(value))
        first = model.joints[joint].idx_q
        q[first : first + 7] = pin.SE3ToXYZQUAT(below)
    return q


def place(q, joint, first, value):
    if joint.nq == 2 and joint.nv == 1:  # an unlimited hinge: cosine and sine
        value = [np.cos(value[0]), np.sin(value[0])]
    elif joint.nq == 4:
        w, x, y, z = value
        value = [x, y, z, w]
    if joint.nq != len(value):
        raise ValueError(f"a joint with {joint.nq} coordinates, {joint.shortname()}, for {len(value)}")
    q[first : first + len(value)] = value


def mass_matrix(model, data, places, q):
    full = np.triu(pin.crba(model, data, q))
    change = np.eye(model.nv)
    for joint in places.floating.values():  # its linear velocity is in the axes of the body
        first = model.joints[joint].idx_v
        change[first : first + 3, first : first + 3] = data.oMi[joint].rotation.T
    return matrix(full + np.triu(full, 1).T, places.velocities, change)


def bodies(model, frames):
    """Bodies that share a parent joint are merged."""
    held = {}
    for name, (_, frame) in frames.items():
        held.setdefault(frame.parentJoint, []).append((name, frame))
    for joint, members in held.items():
        first, frame = members[0]
        whole = frame.placement.actInv(model.inertias[joint])
        yield inertia([name for name, _ in members], first, whole.mass, whole.lever, whole.inertia)


if __name__ == "__main__":
    serve(describe, lambda: pin.__version__)
