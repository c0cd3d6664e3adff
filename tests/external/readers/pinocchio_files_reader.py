"""Pinocchio as a reader of MJCF, of the very files: nothing is removed or rearranged."""

from __future__ import annotations

import resource
import xml.etree.ElementTree as ET

import pinocchio as pin
from pinocchio_reader import composed_joints, describe_model
from protocol import serve


def describe(request):
    world = ET.parse(request["file"]).getroot().find("worldbody")
    return describe_model(pin.buildModelFromMJCF(request["file"]), composed_joints(world), request)


MEMORY = 8 << 30
"""Bytes that it may use: it stores tensors of the third power of the number of coordinates."""


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    serve(describe, lambda: pin.__version__)
