"""Asks Newton what it makes of USD files: one request a line on stdin, one answer a line on stdout, both JSON."""

from __future__ import annotations

import json
import sys
import warnings

import newton
import numpy as np
import warp as wp
from newton.usd import SchemaResolverNewton, SchemaResolverPhysx
from pxr import Usd

warnings.simplefilter("ignore")
wp.config.quiet = True


def describe(request):
    stage = Usd.Stage.Open(request["file"])
    builder = newton.ModelBuilder(up_axis=stage.GetMetadata("upAxis"))
    builder.add_usd(stage, schema_resolvers=[SchemaResolverNewton(), SchemaResolverPhysx()], load_visual_shapes=False)
    bodies = {
        label: {
            "mass": builder.body_mass[i],
            "com": list(map(float, builder.body_com[i])),
            "moment": np.array(builder.body_inertia[i]).reshape(3, 3).tolist(),
            "pose": list(map(float, builder.body_q[i])),
            "motion": list(map(float, builder.body_qd[i])),
        }
        for i, label in enumerate(builder.body_label)
    }
    joints = {
        label: {
            "type": newton.JointType(builder.joint_type[i]).name,
            "dofs": int(sum(builder.joint_dof_dim[i])),
            "outer": list(map(float, builder.joint_X_p[i])),
        }
        for i, label in enumerate(builder.joint_label)
    }
    return {"bodies": bodies, "joints": joints, "shapes": len(builder.shape_label), "poses": moved(builder)}


def moved(builder):
    """Where bodies are by Newton's own kinematics, at the joint positions that the file states."""
    if not builder.body_label:
        return {}
    model = builder.finalize(device="cpu")
    state = model.state()
    newton.eval_fk(model, model.joint_q, model.joint_qd, state)
    return {label: list(map(float, row)) for label, row in zip(builder.body_label, state.body_q.numpy(), strict=True)}


for line in sys.stdin:
    try:
        answer = describe(json.loads(line))
    except Exception as error:
        answer = {"failed": f"{type(error).__name__}: {error}"}
    print("@" + json.dumps(answer), flush=True)
