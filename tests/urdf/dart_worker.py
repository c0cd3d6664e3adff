"""Asks DART what it makes of URDF files, in a process of its own.

One request a line on standard input, `{"file": path, "positions": [{dof name: value}, …]}`, and one answer a line.
"""

from __future__ import annotations

import json
import os
import sys


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    # DART writes warnings to standard output; they must not get between the answers.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    import dartpy

    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = describe(dartpy, request)
        except Exception as error:
            answer = {"failed": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def describe(dartpy, request):
    skeleton = dartpy.utils.DartLoader().parseSkeleton("file://" + os.path.abspath(request["file"]))
    if skeleton is None:
        return {"failed": "nothing loaded"}
    bodies = [skeleton.getBodyNode(i) for i in range(skeleton.getNumBodyNodes())]
    dofs = [skeleton.getDof(i) for i in range(skeleton.getNumDofs())]
    poses = []
    for positions in request["positions"]:
        for dof in dofs:
            dof.setPosition(positions[dof.getName()])
        poses.append({b.getName(): b.getTransform().matrix().tolist() for b in bodies})
    return {
        "bodies": {
            b.getName(): {
                "mass": b.getMass(),
                "com": b.getLocalCOM().tolist(),
                "moment": b.getInertia().getMoment().tolist(),
                "shapes": b.getNumShapeNodes(),
            }
            for b in bodies
        },
        "dofs": {
            d.getName(): [d.getPositionLowerLimit(), d.getPositionUpperLimit(), d.getDampingCoefficient()] for d in dofs
        },
        "poses": poses,
    }


if __name__ == "__main__":
    main()
