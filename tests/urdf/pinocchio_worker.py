"""Asks Pinocchio what it makes of URDF files: requests and answers as in `dart_worker`.

Positions are by the name of a joint: a number, or for a floating joint its 4x4 transform.
"""

from __future__ import annotations

import json
import sys

import numpy as np
import pinocchio as pin


def describe(request):
    model = pin.buildModelFromUrdf(request["file"])
    data = model.createData()
    poses = []
    for positions in request["positions"]:
        q = pin.neutral(model)
        for number, name in enumerate(model.names):
            if number == 0:
                continue
            joint, value = model.joints[number], positions[name]
            if joint.nq == 7:
                q[joint.idx_q : joint.idx_q + 7] = pin.SE3ToXYZQUAT(pin.SE3(np.array(value)))
            elif joint.nq == 2:  # an unlimited hinge: cosine and sine
                q[joint.idx_q : joint.idx_q + 2] = np.cos(value), np.sin(value)
            else:
                q[joint.idx_q] = value
        pin.framesForwardKinematics(model, data, q)
        frames = {f.name: data.oMf[i].homogeneous.tolist() for i, f in enumerate(model.frames) if f.type == pin.BODY}
        poses.append(frames)
    masses = {
        name: {"mass": i.mass, "com": i.lever.tolist(), "moment": i.inertia.tolist()}
        for name, i in zip(list(model.names)[1:], list(model.inertias)[1:], strict=True)
    }
    return {"joints": masses, "poses": poses, "total": pin.computeTotalMass(model)}


for line in sys.stdin:
    try:
        answer = describe(json.loads(line))
    except Exception as error:
        answer = {"failed": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), flush=True)
