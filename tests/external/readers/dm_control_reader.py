"""dm_control as a reader of MJCF: its own parser, then MuJoCo."""

from __future__ import annotations

from importlib.metadata import version

from dm_control import mjcf
from mujoco_reader import describe_model
from protocol import serve


def describe(request):
    physics = mjcf.Physics.from_mjcf_model(mjcf.from_path(request["file"]))
    return describe_model(physics.model.ptr, request)


if __name__ == "__main__":
    serve(describe, lambda: version("dm_control"))
