"""The protocol of external readers: each request and each answer is one line of JSON.

A request: `{"file", "format", "configurations": [{"joints": {name: [numbers]}, "floating": {body: [x y z qw qx qy qz]}}]}`.
A revolute joint (rad), a prismatic joint (m) and a screw (rad) have one number, a universal joint two, a ball joint a
quaternion w x y z.  Poses of floating bodies are in world coordinates.

An answer: `{"bodies": [...], "poses": [...], "mass_matrix": {...}, "said": text}`.

- `bodies`: mass, centre of mass and moments about it.  Bodies that the reader merges are one entry, relative to `frame`.
- `poses`: world poses of all bodies at each configuration, as 3x4 rows.
- `mass_matrix`: at the first configuration, for velocities named `[joint or body, number]`.  A ball joint has the angular
  velocity in the child frame.  A floating body has the velocity of its origin in the world frame, then the angular
  velocity in the body frame.
- `dofs`: lower limit, upper limit and damping of revolute and prismatic joints, by name.
- `dynamics`: `stiffness`, `friction` and `armature` of these joints, by name; what is missing is zero.
- `said`: everything that the reader printed.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile

import numpy as np


def serve(describe, version):
    """Answer all requests; each answer includes what the reader printed meanwhile."""
    answers = os.fdopen(os.dup(1), "w")
    with tempfile.TemporaryFile() as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        _write(answers, {"version": version()})
        for line in sys.stdin:
            log.seek(0)
            log.truncate()
            try:
                answer = describe(json.loads(line))
            except Exception as error:
                answer = {"failed": f"{type(error).__name__}: {error}"}
            sys.stdout.flush()
            log.seek(0)
            answer["said"] = log.read().decode(errors="replace") + answer.get("said", "")
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


def need(entries, name, what):
    """The entry of a name; raises LookupError if it is missing."""
    if name not in entries:
        raise LookupError(f"no {what} {name!r}")
    return entries[name]
