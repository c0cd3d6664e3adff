"""mujoco-usd-converter as a reader of MJCF: the physics of the USD stage that it makes.

Bodies are nested prims.  A body without joints is welded to its parent or, if it has no fixed joint either, floats.
Several joints of a body move it one after the other, in its own frame, as in MuJoCo.
"""

from __future__ import annotations

import math
import tempfile
from importlib.metadata import version

import numpy as np
from mujoco_usd_converter import Converter
from protocol import inertia, need, rotation, serve
from pxr import Usd, UsdGeom, UsdPhysics


def describe(request):
    with tempfile.TemporaryDirectory() as folder:
        asset = Converter(layer_structure=False).convert(request["file"], folder)
        stage = Usd.Stage.Open(asset.path)
        return describe_stage(stage, request)


def describe_stage(stage, request):
    prims = [prim for prim in stage.Traverse() if prim.HasAPI(UsdPhysics.RigidBodyAPI)]
    moving = {name(one): one for prim in prims for one in axial(prim)}
    answer = {"bodies": [mass(prim) for prim in prims], "dofs": {key: dof(one) for key, one in moving.items()}}
    answer["dynamics"] = {key: dynamics(one) for key, one in moving.items()}
    floating = {name(prim): prim for prim in prims if not joints(prim)}
    known = {name(joint): joint for prim in prims for joint in joints(prim)}
    for configuration in request["configurations"]:
        for joint in configuration["joints"]:
            need(known, joint, "joint")
        for body in configuration["floating"]:
            need(floating, body, "floating body")
    return answer | {"poses": [placed(prims, configuration) for configuration in request["configurations"]]}


def name(prim):
    """The name in the MJCF file, which is not always that of the prim."""
    return prim.GetDisplayName() or prim.GetName()


def joints(prim):
    return [child for child in prim.GetChildren() if child.IsA(UsdPhysics.Joint)]


def axial(prim):
    return [one for one in joints(prim) if one.IsA(UsdPhysics.RevoluteJoint) or one.IsA(UsdPhysics.PrismaticJoint)]


def mass(prim):
    stated = UsdPhysics.MassAPI(prim)
    if not stated or not stated.GetMassAttr().HasAuthoredValue():
        return inertia([name(prim)], name(prim), 0.0, np.zeros(3), np.zeros((3, 3)))
    full = prim.GetAttribute("newton:inertia")
    if full and full.HasAuthoredValue():
        xx, yy, zz, xy, xz, yz = full.Get()
        moment = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    else:
        axes = rotation(quaternion(stated.GetPrincipalAxesAttr().Get()))
        moment = axes @ np.diag(stated.GetDiagonalInertiaAttr().Get()) @ axes.T
    return inertia([name(prim)], name(prim), stated.GetMassAttr().Get(), stated.GetCenterOfMassAttr().Get(), moment)


def quaternion(value):
    stated = np.array([value.GetReal(), *value.GetImaginary()], dtype=float)
    return stated / np.linalg.norm(stated)


def dof(prim):
    """The limits of a joint in rad or m, and its damping: USD has degrees."""
    turns = prim.IsA(UsdPhysics.RevoluteJoint)
    unit = math.pi / 180.0 if turns else 1.0
    stated = UsdPhysics.RevoluteJoint(prim) if turns else UsdPhysics.PrismaticJoint(prim)
    low, high = stated.GetLowerLimitAttr().Get(), stated.GetUpperLimitAttr().Get()
    damping = prim.GetAttribute("newton:damping").Get() or 0.0
    return [low * unit, high * unit, damping / unit]


def dynamics(prim):
    words = {"stiffness": "mjc:stiffness", "friction": "newton:friction", "armature": "newton:armature"}
    stated = {field: prim.GetAttribute(word) for field, word in words.items()}
    return {field: float(one.Get() or 0.0) for field, one in stated.items() if one}


# --- kinematics ---------------------------------------------------------------------------------------


def placed(prims, configuration):
    """Where all bodies are; prims come after those they are nested in."""
    cache, poses = UsdGeom.XformCache(), {}
    for prim in prims:
        outer = prim.GetParent()
        before = poses.get(outer.GetPath())
        if before is None:
            before = np.array(cache.GetLocalToWorldTransform(outer)).T
        if name(prim) in configuration["floating"]:
            *position, w, x, y, z = configuration["floating"][name(prim)]
            poses[prim.GetPath()] = whole(rotation([w, x, y, z]), position)
            continue
        pose = before @ np.array(UsdGeom.Xformable(prim).GetLocalTransformation()).T
        for joint in joints(prim):
            pose = pose @ motion(joint, configuration["joints"].get(name(joint)))
        poses[prim.GetPath()] = pose
    return {name(prim): poses[prim.GetPath()][:3].tolist() for prim in prims}


def motion(prim, value):
    """How a joint moves its body, in the frame of the body."""
    joint = UsdPhysics.Joint(prim)
    if value is None:
        return np.eye(4)
    frame = rotation(quaternion(joint.GetLocalRot1Attr().Get()))
    place = whole(np.eye(3), joint.GetLocalPos1Attr().Get())
    if prim.IsA(UsdPhysics.SphericalJoint):
        return place @ whole(rotation(value), np.zeros(3)) @ np.linalg.inv(place)
    own = UsdPhysics.RevoluteJoint(prim) if prim.IsA(UsdPhysics.RevoluteJoint) else UsdPhysics.PrismaticJoint(prim)
    axis = frame @ np.eye(3)["XYZ".index(own.GetAxisAttr().Get())]
    if prim.IsA(UsdPhysics.PrismaticJoint):
        return whole(np.eye(3), axis * value[0])
    half = 0.5 * value[0]
    turn = rotation([np.cos(half), *(np.sin(half) * axis / np.linalg.norm(axis))])
    return place @ whole(turn, np.zeros(3)) @ np.linalg.inv(place)


def whole(turn, position):
    made = np.eye(4)
    made[:3, :3], made[:3, 3] = turn, position
    return made


if __name__ == "__main__":
    serve(describe, lambda: version("mujoco-usd-converter"))
