"""Newton as a reader of USD.  Names are prim paths."""

from __future__ import annotations

import sys
import warnings

import newton
import numpy as np
import warp
from newton.usd import SchemaResolverNewton, SchemaResolverPhysx
from protocol import inertia, need, serve, transform
from pxr import Usd

warp.config.log_level = warp.LOG_WARNING
warnings.simplefilter("always")
warnings.showwarning = lambda message, *_: print(message, file=sys.stderr)
RESOLVERS = [SchemaResolverNewton, SchemaResolverPhysx]
SINGLE = 1e-5
"""How far Newton's kinematics may be from its joints: lengths in m, relative where they are beyond 1 m."""


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
    """Where bodies are by the joints that Newton has, worked out in double precision.

    Its own kinematics works in single precision, where errors add up from joint to joint: it only has to agree with that.
    """
    if not builder.body_label:
        return [{} for _ in configurations]
    model = builder.finalize(device="cpu")
    state = model.state()
    poses = []
    for configuration in configurations:
        model.joint_q.assign(positions(builder, model.joint_q.numpy().copy(), configuration))
        newton.eval_fk(model, model.joint_q, model.joint_qd, state)
        own = [np.array(rows(row.tolist())) for row in state.body_q.numpy()]
        exact = kinematics(model, [np.vstack([row, [0, 0, 0, 1]]) for row in own])
        for name, one, other in zip(builder.body_label, own, exact, strict=True):
            gap = np.abs(one - other[:3])
            if not max(gap[:, :3].max(), gap[:, 3].max() / max(1.0, np.abs(other[:3, 3]).max())) <= SINGLE:
                raise LookupError(f"its own kinematics has {name!r} elsewhere than its joints")
        poses.append({name: one[:3].tolist() for name, one in zip(builder.body_label, exact, strict=True)})
    return poses


def kinematics(model, poses):
    """The poses of bodies that articulations move, in place of those given."""
    q, axes = model.joint_q.numpy().astype(float), model.joint_axis.numpy().astype(float)
    outer, inner = model.joint_X_p.numpy().astype(float), model.joint_X_c.numpy().astype(float)
    parents, children, owners = (a.numpy() for a in (model.joint_parent, model.joint_child, model.joint_articulation))
    kinds, starts, axis_starts = (a.numpy() for a in (model.joint_type, model.joint_q_start, model.joint_qd_start))
    counts = model.joint_dof_dim.numpy()
    for i in np.flatnonzero(owners >= 0).tolist():
        base = poses[parents[i]] if parents[i] >= 0 else np.eye(4)
        slides, turns = counts[i].tolist()
        own = axes[axis_starts[i] : axis_starts[i] + slides + turns]
        moved = motion(newton.JointType(kinds[i]), q[starts[i] : starts[i + 1]], own[:slides], own[slides:])
        poses[children[i]] = base @ whole(outer[i]) @ moved @ np.linalg.inv(whole(inner[i]))
    return poses


def motion(kind, q, slides, turns):
    """What a joint does: slides first, then turns, each axis carried along by those before."""
    if kind == newton.JointType.BALL:
        return whole([0, 0, 0, *q])
    if kind in (newton.JointType.FREE, newton.JointType.DISTANCE):
        return whole(q)
    moved = np.eye(4)
    for axis, value in zip(slides, q, strict=False):
        moved[:3, 3] += axis * value
    for axis, value in zip(turns, q[len(slides) :], strict=True):
        half = 0.5 * value
        moved = moved @ whole([0, 0, 0, *(np.sin(half) * axis / np.linalg.norm(axis)), np.cos(half)])
    return moved


def whole(pose):
    return np.vstack([rows(pose), [0, 0, 0, 1]])


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
    """Also starts Warp, which prints messages and compiles kernels, before the first request."""
    builder = newton.ModelBuilder()
    body = builder.add_link(mass=1.0, inertia=warp.mat33(np.eye(3)))
    builder.add_articulation([builder.add_joint_revolute(-1, body)])
    placed(builder, [{"joints": {}, "floating": {}}])
    return newton.__version__


if __name__ == "__main__":
    serve(describe, version)
