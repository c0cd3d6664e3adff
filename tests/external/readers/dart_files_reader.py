"""DART as a reader of SDFormat and MJCF, of the very files: nothing is removed or relabelled."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import dartpy
from dart_reader import describe_skeletons, uri
from protocol import serve


def load(request):
    if request["format"] == "mjcf":
        return dartpy.utils.MjcfParser.readWorld(uri(request["file"]))
    return dartpy.utils.SdfParser.readWorld(uri(request["file"]))


def describe(request):
    world = load(request)
    if world is None or not world.getNumSkeletons():
        return {"failed": "nothing loaded"}
    skeletons = [world.getSkeleton(i) for i in range(world.getNumSkeletons())]
    if request["format"] == "sdf":
        return describe_skeletons([(f"{one.getName()}::", one) for one in skeletons], request)
    merged = merged_joints(ET.parse(request["file"]).getroot(), skeletons)
    for configuration in request["configurations"]:
        joints = configuration["joints"]
        for name, parts in merged.items():
            joints[name] = [joints.pop(part)[0] for part in parts if part in joints]
    answer = describe_skeletons([("", one) for one in skeletons], request)
    names = answer["mass_matrix"]["names"]
    answer["mass_matrix"]["names"] = [[merged[n][k], 0] if n in merged else [n, k] for n, k in names]
    return answer


def merged_joints(root, skeletons):
    """The joints of a body that DART reads as one, such as three slides, by the name of the first."""
    counts = {
        one.getJoint(i).getName(): one.getJoint(i).getNumDofs() for one in skeletons for i in range(one.getNumJoints())
    }
    found = {}
    for body in root.iter("body"):
        names = [joint.get("name") for joint in body.findall("joint")]
        if len(names) > 1 and counts.get(names[0]) == len(names):
            found[names[0]] = names
    return found


if __name__ == "__main__":
    serve(describe, lambda: dartpy.__version__)
