"""Reads SKEL files with DART.  It runs in its own process, because DART crashes on invalid input.

Reads one request per line from standard input and answers each with one line on standard output, both
JSON: `{"file": path, "configurations": n, "seed": s}` gives the loaded world in numbers; `{"text": SKEL, "steps": n,
"commands": {skeleton: {joint: [..]}}, "limits": whether they are enforced, "perturbation": e, "noise": f}` gives its
state after n steps; all positions are changed by e or -e at the start, and by f or -f after each step.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile

import numpy as np


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    # DART writes warnings to standard output; they must not mix with the answers.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    import dartpy

    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = move(dartpy, request) if "steps" in request else describe(dartpy, request)
        except Exception as error:
            answer = {"failed": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def describe(dartpy, request):
    world = dartpy.utils.SkelParser.readWorld("file://" + os.path.abspath(request["file"]))
    if world is None:
        return {"failed": "nothing loaded"}
    rng = np.random.default_rng(request.get("seed", 0))
    skeletons = [world.getSkeleton(i) for i in range(world.getNumSkeletons())]
    return {
        "gravity": world.getGravity().tolist(),
        "time_step": world.getTimeStep(),
        "models": [model(s, request.get("configurations", 20), rng) for s in skeletons],
    }


def move(dartpy, request):
    """Positions and velocities by skeleton and joint, and poses by skeleton and body."""
    with tempfile.NamedTemporaryFile("w", suffix=".skel") as file:
        file.write(request["text"])
        file.flush()
        world = dartpy.utils.SkelParser.readWorld("file://" + file.name)
    skeletons = [world.getSkeleton(i) for i in range(world.getNumSkeletons())]
    joints = {s.getName(): [s.getJoint(i) for i in range(s.getNumJoints())] for s in skeletons}
    commands = [
        (joint, np.array(request["commands"][name][joint.getName()]))
        for name, those in joints.items()
        for joint in those
        if joint.getName() in request["commands"].get(name, ())
    ]
    for joint in (joint for those in joints.values() for joint in those if request.get("limits")):
        joint.setLimitEnforcement(True)
    rng = np.random.default_rng(0)
    disturb(skeletons, request.get("perturbation"), rng)
    for _ in range(request["steps"]):
        for joint, values in commands:
            for index, value in enumerate(values):
                joint.setCommand(index, value)
        world.step()
        disturb(skeletons, request.get("noise"), rng)
    return {
        "positions": {n: {j.getName(): j.getPositions().tolist() for j in those} for n, those in joints.items()},
        "velocities": {n: {j.getName(): j.getVelocities().tolist() for j in those} for n, those in joints.items()},
        "poses": {s.getName(): poses([s.getBodyNode(i) for i in range(s.getNumBodyNodes())]) for s in skeletons},
        "bodies": {s.getName(): [s.getBodyNode(i).getName() for i in range(s.getNumBodyNodes())] for s in skeletons},
    }


def disturb(skeletons, size, rng):
    """Change all positions by a size, up or down at random; not at all without one."""
    for skeleton in skeletons if size else ():
        signs = rng.choice((-1.0, 1.0), skeleton.getNumDofs())
        skeleton.setPositions(skeleton.getPositions() + size * signs)


def model(skeleton, configurations, rng):
    bodies = [skeleton.getBodyNode(i) for i in range(skeleton.getNumBodyNodes())]
    joints = [skeleton.getJoint(i) for i in range(skeleton.getNumJoints())]
    initial = [list(map(float, j.getInitialPositions())) for j in joints]
    result = {
        "name": skeleton.getName(),
        "static": not skeleton.isMobile(),
        "bodies": [
            {
                "name": b.getName(),
                "mass": b.getMass(),
                "com": b.getLocalCOM().tolist(),
                "inertia": entries(b.getInertia().getMoment()),
                "gravity": b.getGravityMode(),
                "shapes": b.getNumShapeNodes(),
            }
            for b in bodies
        ],
        "joints": [
            {
                "name": j.getName(),
                "type": j.getType(),
                "dofs": j.getNumDofs(),
                "dof_names": [j.getDofName(k) for k in range(j.getNumDofs())],
                "parent": j.getParentBodyNode().getName() if j.getParentBodyNode() else None,
                "child": j.getChildBodyNode().getName(),
                "positions": q,
                "velocities": list(map(float, j.getInitialVelocities())),
                "limits": [
                    [finite(j.getPositionLowerLimit(k)), finite(j.getPositionUpperLimit(k))]
                    for k in range(j.getNumDofs())
                ],
                "damping": [j.getDampingCoefficient(k) for k in range(j.getNumDofs())],
                "friction": [j.getCoulombFriction(k) for k in range(j.getNumDofs())],
                "stiffness": [j.getSpringStiffness(k) for k in range(j.getNumDofs())],
                "rest": [j.getRestPosition(k) for k in range(j.getNumDofs())],
            }
            for j, q in zip(joints, initial, strict=True)
        ],
        "initial_poses": poses(bodies),
        "configurations": [],
    }
    count = skeleton.getNumDofs()
    for _ in range(configurations if count else 0):
        q = rng.uniform(-1.5, 1.5, count)
        skeleton.setPositions(q)
        result["configurations"].append({"positions": q.tolist(), "poses": poses(bodies)})
    return result


def entries(m):
    return [m[0, 0], m[1, 1], m[2, 2], m[0, 1], m[0, 2], m[1, 2]]


def finite(value):
    return value if np.isfinite(value) else None


def poses(bodies):
    """Upper 3x4 parts, row by row."""
    return [b.getTransform().matrix()[:3].ravel().tolist() for b in bodies]


if __name__ == "__main__":
    main()
