"""Drake as a reader of SDFormat (with Gazebo's libsdformat), URDF and MJCF.

The folder of the file is the package `beside`, because Drake cannot include files by relative paths.
"""

from __future__ import annotations

import logging
import os
from importlib.metadata import version

import numpy as np
from protocol import inertia, matrix, need, serve, transform
from pydrake.math import RigidTransform, RollPitchYaw, RotationMatrix
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant


class LogRecorder(logging.Handler):
    def __init__(self):
        super().__init__()
        self.said = []

    def emit(self, record):
        self.said.append(record.getMessage())


def describe(request):
    log = LogRecorder()
    logging.getLogger("drake").handlers = [log]
    logging.getLogger("drake").propagate = False
    try:
        answer = load(request)
    except Exception as error:
        answer = {"failed": str(error)}
    return answer | {"said": "\n".join(log.said)}


def load(request):
    plant = MultibodyPlant(0.0)
    parser = Parser(plant)
    parser.package_map().Add("beside", os.path.dirname(os.path.abspath(request["file"])))
    models = parser.AddModels(request["file"])
    plant.Finalize()
    context = plant.CreateDefaultContext()
    found = Found(plant, models, request)
    poses, answer = [], {}
    for number, configuration in enumerate(request["configurations"]):
        q = plant.GetPositions(context)
        for name, value in configuration["joints"].items():
            place(q, need(found.joints, name, "joint"), value)
        plant.SetPositions(context, q)
        for name, value in configuration["floating"].items():
            float_at(context, need(found.floating, name, "floating body"), value)
        here = {n: plant.EvalBodyPoseInWorld(context, b) for n, b in found.bodies.items()}
        poses.append({name: pose.GetAsMatrix34().tolist() for name, pose in here.items()})
        if number == 0:
            answer["mass_matrix"] = mass_matrix(plant, context, found)
    answer["dofs"] = {name: dof(joint) for name, joint in found.joints.items() if joint.num_velocities() == 1}
    return answer | {"bodies": [row(name, b, context) for name, b in found.bodies.items()], "poses": poses}


def dof(joint):
    return [joint.position_lower_limits()[0], joint.position_upper_limits()[0], joint.default_damping_vector()[0]]


class Found:
    """Bodies, joints, and the joints of floating bodies, by their names in the document."""

    def __init__(self, plant, models, request):
        self.scoped = request["format"] == "sdf"
        bodies = [plant.get_body(i) for model in models for i in plant.GetBodyIndices(model)]
        joints = [plant.get_joint(i) for i in plant.GetJointIndices()]
        asked = {name for configuration in request["configurations"] for name in configuration["joints"]}
        self.bodies = {self.name(plant, b, b): b for b in bodies if b.index() != plant.world_body().index()}
        floats = {j.child_body().index(): j for j in joints if j.num_velocities() == 6}
        self.floating = {name: floats[b.index()] for name, b in self.bodies.items() if b.index() in floats}
        self.joints = {}
        for joint in joints:
            if joint.num_velocities() in range(1, 6):
                names = self.names(self.name(plant, joint, joint.child_body()))
                self.joints[next((name for name in names if name in asked), names[0])] = joint

    def name(self, plant, item, body):
        """Drake puts a joint into the model of its child."""
        model = plant.GetModelInstanceName(body.model_instance())
        return f"{model}::{item.name()}" if self.scoped else item.name()

    def names(self, name):
        """The possible names of a joint in the document, which may put it into an outer model."""
        *models, own = name.split("::") if self.scoped else [name]
        return ["::".join([*models[:count], own]) for count in range(len(models), -1, -1)]


def place(q, joint, value):
    if joint.type_name() == "ball_rpy":
        w, x, y, z = value
        value = RollPitchYaw(RotationMatrix(transform([0, 0, 0, w, x, y, z])[:3, :3])).vector()
    if joint.num_positions() != len(value):
        raise ValueError(f"a joint of type {joint.type_name()} for {len(value)} coordinates")
    first = joint.position_start()
    q[first : first + len(value)] = value


def float_at(context, joint, value):
    above = joint.frame_on_parent().CalcPoseInWorld(context)
    below = joint.frame_on_child().CalcPoseInBodyFrame(context)
    joint.SetPose(context, above.inverse() @ RigidTransform(transform(value)) @ below)


def row(name, body, context):
    whole = body.CalcSpatialInertiaInBodyFrame(context)
    com = whole.get_com()
    central = whole.Shift(com).CalcRotationalInertia()
    return inertia([name], name, whole.get_mass(), com, central.CopyToFullMatrix3())


def mass_matrix(plant, context, found):
    for index in plant.GetJointActuatorIndices():
        plant.get_joint_actuator(index).SetRotorInertia(context, 0.0)  # no mass of a body
    full = plant.CalcMassMatrix(context)
    change = np.zeros_like(full)
    names = [["", 0]] * len(full)
    for name, joint in [*found.joints.items(), *found.floating.items()]:
        first, count = joint.velocity_start(), joint.num_velocities()
        block = np.eye(count)
        if count == 6:  # angular first, in the axes of the world
            turn = plant.EvalBodyPoseInWorld(context, joint.child_body()).rotation().matrix()
            block = np.block([[np.zeros((3, 3)), turn], [np.eye(3), np.zeros((3, 3))]])
        elif joint.type_name() == "ball_rpy":  # in the axes of the parent
            block = RollPitchYaw(joint.get_angles(context)).ToRotationMatrix().matrix()
        change[first : first + count, first : first + count] = block
        names[first : first + count] = [[name, k] for k in range(count)]
    return matrix(full, names, change)


if __name__ == "__main__":
    serve(describe, lambda: version("drake"))
