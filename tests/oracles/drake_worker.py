"""Asks Drake what it makes of an SDFormat file: `drake_worker.py FILE CONFIGURATIONS` prints one line of JSON.

The folder of the file is the package `beside`, as Drake includes nothing by a relative path.
"""

from __future__ import annotations

import json
import logging
import os
import sys

import numpy as np


class Words(logging.Handler):
    def __init__(self):
        super().__init__()
        self.said = []

    def emit(self, record):
        self.said.append(record.getMessage())


def main():
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant

    words = Words()
    logging.getLogger("drake").handlers = [words]
    logging.getLogger("drake").propagate = False
    plant = MultibodyPlant(0.0)
    try:
        parser = Parser(plant)
        parser.package_map().Add("beside", os.path.dirname(os.path.abspath(sys.argv[1])))
        models = parser.AddModels(sys.argv[1])
        plant.Finalize()
        answer = describe(plant, models, int(sys.argv[2]))
    except Exception as error:
        answer = {"failed": str(error)}
    answer["said"] = words.said
    print(json.dumps(answer))


def describe(plant, models, configurations):
    context = plant.CreateDefaultContext()
    rng = np.random.default_rng(0)
    bodies = [plant.get_body(i) for model in models for i in plant.GetBodyIndices(model)]
    joints = [plant.get_joint(i) for model in models for i in plant.GetJointIndices(model)]
    movable = [j for j in joints if j.num_positions() == 1]
    default = plant.GetPositions(context)
    rows = [{"positions": {}, "poses": poses(plant, context, bodies)}]
    for _ in range(configurations if movable else 0):
        q = default.copy()
        chosen = {}
        for joint in movable:
            value = float(rng.uniform(-1.5, 1.5))
            q[joint.position_start()] = value
            chosen[full_name(plant, joint.child_body())] = value
        plant.SetPositions(context, q)
        rows.append({"positions": chosen, "poses": poses(plant, context, bodies)})
    return {"bodies": [row(plant, context, body) for body in bodies], "configurations": rows}


def full_name(plant, body):
    """Joints go by their child: Drake puts them into the model of that."""
    return f"{plant.GetModelInstanceName(body.model_instance())}::{body.name()}"


def row(plant, context, body):
    inertia = body.CalcSpatialInertiaInBodyFrame(context)
    com = inertia.get_com()
    central = inertia.Shift(com).CalcRotationalInertia()
    moments, products = central.get_moments(), central.get_products()
    return {
        "name": full_name(plant, body),
        "mass": inertia.get_mass(),
        "com": com.tolist(),
        "moment": [*moments.tolist(), *products.tolist()],
    }


def poses(plant, context, bodies):
    return [plant.EvalBodyPoseInWorld(context, body).GetAsMatrix34().ravel().tolist() for body in bodies]


if __name__ == "__main__":
    main()
