"""Newton as a reader of MJCF.

Its labels are paths of names, in which `-` becomes `_`.  It merges the joints of a body into one, slides first.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET

import newton
from newton_reader import bodies, dofs, placed, version
from protocol import serve


def describe(request):
    builder = newton.ModelBuilder()
    builder.add_mjcf(request["file"], parse_visuals=False)
    elements = list(ET.parse(request["file"]).getroot().iter("body"))
    names = {changed(body.get("name")): body.get("name") for body in elements}
    builder.body_label[:] = [names.get(last(label), last(label)) for label in builder.body_label]
    builder.joint_label[:] = [last(label) for label in builder.joint_label]
    joints = [body.findall("joint") for body in elements]
    for configuration in request["configurations"]:
        configuration["joints"] = merged(configuration["joints"], joints)
    names = [joint.get("name") for body in elements for joint in body.findall("joint")]
    found, dynamics = stated_dofs(builder)
    answer = {"bodies": bodies(builder)}
    answer["dofs"] = {name: found[changed(name)] for name in names if changed(name) in found}
    answer["dynamics"] = {name: dynamics[changed(name)] for name in names if changed(name) in found}
    return answer | {"poses": placed(builder, request["configurations"])}


def stated_dofs(builder):
    """Limits and damping, and the other dynamics: Newton keeps dampers and springs apart from the drives of joints."""
    found, dynamics = dofs(builder), {}
    for i, name in enumerate(builder.joint_label):
        if name in found:
            at = builder.joint_qd_start[i]
            found[name][2] = float(builder.joint_damping[at])
            lists = {"stiffness": "joint_stiffness", "friction": "joint_friction", "armature": "joint_armature"}
            dynamics[name] = {field: float(getattr(builder, own)[at]) for field, own in lists.items()}
    return found, dynamics


def changed(name):
    return name.replace("-", "_")


def last(label):
    return label.rpartition("/")[2]


def merged(values, joints):
    """Positions by the names that Newton gives to the joints of each body."""
    found = {}
    for own in joints:
        stated = [joint for joint in own if joint.get("name") in values]
        if stated:
            name = changed("_".join(joint.get("name") for joint in own))
            ordered = sorted(stated, key=lambda joint: joint.get("type") != "slide")
            found[name] = [number for joint in ordered for number in values[joint.get("name")]]
    return found


if __name__ == "__main__":
    serve(describe, version)
