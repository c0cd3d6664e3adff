"""MuJoCo as a reader of MJCF and URDF."""

from __future__ import annotations

import mujoco
import numpy as np
from protocol import inertia, matrix, need, rotation, serve

FREE, BALL = mujoco.mjtJoint.mjJNT_FREE, mujoco.mjtJoint.mjJNT_BALL


def load(request):
    if request["format"] == "mjcf":
        return mujoco.MjModel.from_xml_path(request["file"])
    spec = mujoco.MjSpec.from_file(request["file"])
    # As in the file: do not merge welded bodies, and do not discard visual geoms.
    spec.compiler.fusestatic = False
    spec.compiler.discardvisual = False
    if hasattr(spec, "strippath"):
        spec.strippath = False
    return spec.compile()


def describe(request):
    return describe_model(load(request), request)


def describe_model(model, request):
    stated = dynamics(model)
    model.dof_armature[:] = 0.0  # no mass of a body
    data = mujoco.MjData(model)
    joints = {model.joint(i).name: i for i in range(model.njnt)}
    floating = {model.body(model.jnt_bodyid[i]).name: i for i in joints.values() if model.jnt_type[i] == FREE}
    names = {model.body(i).name: i for i in range(1, model.nbody)}
    poses, full = [], np.zeros((model.nv, model.nv))
    for number, configuration in enumerate(request["configurations"]):
        data.qpos[:] = model.qpos0
        places = [(need(joints, name, "joint"), value) for name, value in configuration["joints"].items()]
        places += [(need(floating, name, "floating body"), value) for name, value in configuration["floating"].items()]
        for joint, value in places:
            first = model.jnt_qposadr[joint]
            data.qpos[first : first + len(value)] = value
        mujoco.mj_kinematics(model, data)
        poses.append(
            {n: np.hstack([data.xmat[i].reshape(3, 3), data.xpos[i][:, None]]).tolist() for n, i in names.items()}
        )
        if number == 0 and model.nv:
            mujoco.mj_comPos(model, data)
            full_inertia(model, data, full)
    bodies = [body(model, name, i) for name, i in names.items()]
    answer = {
        "mass_matrix": matrix(full, velocities(model), np.eye(model.nv)),
        "dofs": dofs(model, joints),
        "dynamics": stated,
    }
    return answer | {"bodies": bodies, "poses": poses}


def full_inertia(model, data, full):
    if hasattr(data, "qM"):  # up to 3.16
        mujoco.mj_makeM(model, data)
        mujoco.mj_fullM(model, full, data.qM)
    else:
        mujoco.mj_crb(model, data)
        mujoco.mj_fullM(model, data, full)


def body(model, name, i):
    turn = rotation(model.body_iquat[i])
    moment = turn @ np.diag(model.body_inertia[i]) @ turn.T
    return inertia([name], name, model.body_mass[i], model.body_ipos[i], moment)


def dofs(model, joints):
    return {
        name: [*model.jnt_range[i].tolist(), float(model.dof_damping[model.jnt_dofadr[i]])]
        for name, i in joints.items()
    }


def dynamics(model):
    found = {}
    for i in range(model.njnt):
        at = model.jnt_dofadr[i]
        stiffness = float(np.ravel(model.jnt_stiffness[i])[0])
        rest = {"friction": float(model.dof_frictionloss[at]), "armature": float(model.dof_armature[at])}
        found[model.joint(i).name] = {"stiffness": stiffness, **rest}
    return found


def velocities(model):
    names = []
    for i in range(model.njnt):
        kind = model.jnt_type[i]
        name = model.body(model.jnt_bodyid[i]).name if kind == FREE else model.joint(i).name
        names += [[name, k] for k in range(6 if kind == FREE else 3 if kind == BALL else 1)]
    return names


if __name__ == "__main__":
    serve(describe, lambda: mujoco.__version__)
