"""How judges are asked: a request is a line of JSON, and so is its answer.

A request: `{"file", "format", "configurations": [{"joints": {name: [numbers]}, "floating": {body: [x y z qw qx qy qz]}}]}`.
One number for a hinge (rad), a slider (m) and a screw (rad), two for a universal joint, a quaternion w x y z for a
ball.  Floating bodies stand in the world.

An answer: `{"bodies": [...], "poses": [...], "mass_matrix": {...}, "said": text}`.  Of bodies mass, centre of mass and
moments about that, as the judge has them: several bodies as one where it has welded them together, seen from `frame`.
Poses of all bodies in the world at each configuration, as 3x4 rows.  The mass matrix is that of the first configuration,
for velocities called `[joint or body, number]`: of a ball the angular velocity in the axes of the child, of a floating body
the velocity of its origin in the axes of the world and then the angular velocity in those of the body.  `"dofs"` has the
lower limit, the upper one, and the damping of hinges and sliders by name.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile

import numpy as np


def serve(describe, version):
    """Answer until there are no more requests; what is said meanwhile goes with the answer."""
    answers = os.fdopen(os.dup(1), "w")
    with tempfile.TemporaryFile() as talk:
        os.dup2(talk.fileno(), 1)
        os.dup2(talk.fileno(), 2)
        _write(answers, {"version": version()})
        for line in sys.stdin:
            talk.seek(0)
            talk.truncate()
            try:
                answer = describe(json.loads(line))
            except Exception as error:
                answer = {"failed": f"{type(error).__name__}: {error}"}
            sys.stdout.flush()
            talk.seek(0)
            answer["said"] = talk.read().decode(errors="replace") + answer.get("said", "")
            _write(answers, answer)


def _write(answers, answer):
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


def inertia(bodies, frame, mass, com, moment):
    """An entry of `bodies`."""
    made = {"bodies": bodies, "frame": frame, "mass": float(mass)}
    return made | {"com": np.asarray(com).tolist(), "moment": np.asarray(moment).tolist()}


def matrix(full, names, change):
    """The mass matrix for velocities v with `own = change @ v`."""
    return {"names": names, "matrix": (change.T @ full @ change).tolist()}


def diagonal(blocks):
    size = sum(len(block) for block in blocks)
    made, at = np.zeros((size, size)), 0
    for block in blocks:
        made[at : at + len(block), at : at + len(block)] = block
        at += len(block)
    return made


def rotation(quaternion):
    w, x, y, z = quaternion
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def transform(pose):
    made = np.eye(4)
    made[:3, :3] = rotation(pose[3:])
    made[:3, 3] = pose[:3]
    return made


def need(holder, name, what):
    """The entry of a name, or a failure that says what is missing."""
    if name not in holder:
        raise LookupError(f"there is no {what} {name!r}")
    return holder[name]
