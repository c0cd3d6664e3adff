"""Newton, of USD.  Names are paths of prims."""

from __future__ import annotations

import sys
import warnings

import newton
import numpy as np
import warp
from newton.usd import SchemaResolverNewton, SchemaResolverPhysx
from pxr import Usd
from wire import inertia, need, serve, transform

warp.config.log_level = warp.LOG_WARNING
warnings.simplefilter("always")
warnings.showwarning = lambda message, *_: print(message, file=sys.stderr)
RESOLVERS = [SchemaResolverNewton, SchemaResolverPhysx]


def describe(request):
    stage = Usd.Stage.Open(request["file"])
    builder = newton.ModelBuilder(up_axis=stage.GetMetadata("upAxis"))
    builder.add_usd(stage, schema_resolvers=[made() for made in RESOLVERS], load_visual_shapes=False)
    answer = {"bodies": bodies(builder), "dofs": dofs(builder), "start": start(builder)}
    return answer | {"poses": placed(builder, request["configurations"])}


def bodies(builder):
    return [
        inertia(
            [name], name, builder.body_mass[i], builder.body_com[i], np.array(builder.body_inertia[i]).reshape(3, 3)
        )
        for i, name in enumerate(builder.body_label)
    ]


def start(builder):
    return {
        name: {"pose": rows(builder.body_q[i]), "motion": [float(part) for part in builder.body_qd[i]]}
        for i, name in enumerate(builder.body_label)
    }


def rows(pose):
    x, y, z, w = np.array(pose[3:7]) / np.linalg.norm(pose[3:7])
    return transform([*pose[:3], w, x, y, z])[:3].tolist()


def dofs(builder):
    found = {}
    for i, name in enumerate(builder.joint_label):
        if newton.JointType(builder.joint_type[i]) in (newton.JointType.REVOLUTE, newton.JointType.PRISMATIC):
            at = builder.joint_qd_start[i]
            found[name] = [
                float(builder.joint_limit_lower[at]),
                float(builder.joint_limit_upper[at]),
                float(builder.joint_target_kd[at]),
            ]
    return found


def placed(builder, configurations):
    """Where bodies are by Newton's own kinematics."""
    if not builder.body_label:
        return [{} for _ in configurations]
    model = builder.finalize(device="cpu")
    state = model.state()
    poses = []
    for configuration in configurations:
        model.joint_q.assign(positions(builder, model.joint_q.numpy().copy(), configuration))
        newton.eval_fk(model, model.joint_q, model.joint_qd, state)
        poses.append(
            {name: rows(row.tolist()) for name, row in zip(builder.body_label, state.body_q.numpy(), strict=True)}
        )
    return poses


def positions(builder, q, configuration):
    named = {name: i for i, name in enumerate(builder.joint_label)}
    for name, value in configuration["joints"].items():
        put(q, builder, need(named, name, "joint"), [*value[1:], value[0]] if len(value) == 4 else value)
    free = {builder.body_label[builder.joint_child[i]]: i for i in named.values() if is_free(builder, i)}
    for name, (x, y, z, *turn) in configuration["floating"].items():
        put(q, builder, need(free, name, "floating body"), [x, y, z, *turn[1:], turn[0]])
    return q


def is_free(builder, joint):
    return newton.JointType(builder.joint_type[joint]) == newton.JointType.FREE


def put(q, builder, joint, value):
    ends = [*builder.joint_q_start, len(q)]
    first, last = ends[joint], ends[joint + 1]
    if last - first != len(value):
        raise LookupError(f"joint {builder.joint_label[joint]!r} has {last - first} coordinates, not {len(value)}")
    q[first:last] = value


def version():
    """Here nobody listens yet, and there is time: Warp talks when it starts, and compiles what it has not compiled before."""
    builder = newton.ModelBuilder()
    body = builder.add_link(mass=1.0, inertia=warp.mat33(np.eye(3)))
    builder.add_articulation([builder.add_joint_revolute(-1, body)])
    placed(builder, [{"joints": {}, "floating": {}}])
    return newton.__version__


if __name__ == "__main__":
    serve(describe, version)
