"""Worlds that are built in Exoskel, and the same ones with MuJoCo's own interface."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np

import exoskel

_X, _Y = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
_LEG = 3
"""The bodies of a leg: two links and a foot."""
_FOOT = 0.05 * np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], dtype=np.float64)
_FACES = np.array([[a, b, c] for a in (0, 1) for b in (2, 3) for c in (4, 5)])
_OUTWARD = np.array([[a, c, b] if (a + b + c) % 2 else [a, b, c] for a, b, c in _FACES.tolist()])


def boxes(count: int) -> exoskel.World:
    """Free boxes."""
    world = exoskel.World()
    for i in range(count):
        place = exoskel.Pose((float(i % 100), float(i // 100), 0.2))
        world.add_model(f"m{i}").add_body("b", pose=place, shapes=[exoskel.Box((0.2, 0.2, 0.2))])
    return world


def boxes_by_hand(count: int) -> Any:
    spec = mujoco.MjSpec()
    for i in range(count):
        body = spec.worldbody.add_body(name=f"m{i}/b", pos=(float(i % 100), float(i // 100), 0.2))
        body.add_freejoint(name=f"m{i}/b_joint")
        body.add_geom(name=f"m{i}/b/collision0", type=mujoco.mjtGeom.mjGEOM_BOX, size=(0.1, 0.1, 0.1))
    return mujoco.MjData(spec.compile())


def chain(count: int) -> exoskel.World:
    """A chain of boxes on hinges."""
    world = exoskel.World()
    model, parent = world.add_model("chain"), None
    for i in range(count):
        pose, shapes = exoskel.Pose((0.0, 0.0, -0.2 * i)), [exoskel.Box((0.1, 0.1, 0.2))]
        parent = model.add_body(f"link{i}", parent=parent, pose=pose, joint="revolute", axis=_X, shapes=shapes)
    return world


def chain_by_hand(count: int) -> Any:
    spec = mujoco.MjSpec()
    body = spec.worldbody
    for i in range(count):
        body = body.add_body(name=f"chain/link{i}", pos=(0.0, 0.0, -0.2 if i else 0.0))
        body.add_joint(name=f"chain/link{i}_joint", type=mujoco.mjtJoint.mjJNT_HINGE, axis=_X)
        size = (0.05, 0.05, 0.1)
        body.add_geom(
            name=f"chain/link{i}/collision0", type=mujoco.mjtGeom.mjGEOM_BOX, size=size, contype=1, conaffinity=0
        )
    return mujoco.MjData(spec.compile())


def robot(count: int) -> exoskel.World:
    """A trunk with legs above a ground: joints with limits, springs and damping, and feet that are meshes."""
    world = exoskel.World()
    world.add_model("ground", static=True).add_body("ground", shapes=[exoskel.Plane((0.0, 0.0, 1.0))])
    model = world.add_model("robot")
    parent = trunk = model.add_body("trunk", pose=exoskel.Pose((0.0, 0.0, 1.0)), shapes=[exoskel.Box((1.0, 0.4, 0.2))])
    for i in range(count - 1):
        leg, part = divmod(i, _LEG)
        shape = exoskel.TriMesh(_FOOT, _OUTWARD) if part == _LEG - 1 else exoskel.Capsule(0.03, 0.2)
        parent = model.add_body(
            f"part{i}",
            parent=parent if part else trunk,
            pose=exoskel.Pose((0.1 * leg, 0.3, 1.0 - 0.25 * part)),
            joint="revolute",
            axis=_Y if part else _X,
            shapes=[shape],
        )
        dof = model.joints[-1].dofs[0]
        dof.position_limits, dof.damping, dof.stiffness = (-1.0, 1.0), 0.1, 2.0
    return world


def robot_by_hand(count: int) -> Any:
    spec = mujoco.MjSpec()
    kinds = mujoco.mjtGeom
    ground = spec.worldbody.add_body(name="ground/ground")
    ground.add_geom(name="ground/ground/collision0", type=kinds.mjGEOM_PLANE, size=(0.0, 0.0, 1.0))
    parent = trunk = spec.worldbody.add_body(name="robot/trunk", pos=(0.0, 0.0, 1.0))
    trunk.add_freejoint(name="robot/trunk_joint")
    own = {"contype": 2, "conaffinity": 1}  # parts of the robot do not collide with each other
    trunk.add_geom(name="robot/trunk/collision0", type=kinds.mjGEOM_BOX, size=(0.5, 0.2, 0.1), **own)
    for i in range(count - 1):
        leg, part = divmod(i, _LEG)
        place = (0.0, 0.0, -0.25) if part else (0.1 * leg, 0.3, 0.0)
        parent = (parent if part else trunk).add_body(name=f"robot/part{i}", pos=place)
        parent.add_joint(
            name=f"robot/part{i}_joint",
            type=mujoco.mjtJoint.mjJNT_HINGE,
            axis=_Y if part else _X,
            limited=1,
            range=(-1.0, 1.0),
            damping=(0.1, 0.0, 0.0),
            stiffness=(2.0, 0.0, 0.0),
        )
        name = f"robot/part{i}/collision0"
        if part == _LEG - 1:
            spec.add_mesh(name=name, uservert=_FOOT.ravel())
            parent.add_geom(name=name, type=kinds.mjGEOM_MESH, meshname=name, **own)
        else:
            parent.add_geom(name=name, type=kinds.mjGEOM_CAPSULE, size=(0.03, 0.1, 0.0), **own)
    return mujoco.MjData(spec.compile())


HAND_BUILT: dict[str, tuple[Callable[[int], exoskel.World], Callable[[int], Any]]] = {
    "free boxes": (boxes, boxes_by_hand),
    "links of a chain": (chain, chain_by_hand),
    "bodies of a robot with limits, springs, meshes and a ground": (robot, robot_by_hand),
}
"""How a world is built in Exoskel, and by hand, both with a number of bodies."""
