"""Reading what the writer wrote, from its bytes, to certify it: masses, places, joints, limits and dynamics.

No reader of USD at large: shapes, looks and the files of other programs are none of its business.  Physics comes from
what every reader sees; the scene's own words, which the writer leaves in `customData`, only tell which of several
ways of counting the same coordinates is meant.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from exoskel import spatial
from exoskel.formats.usd.codes import failure
from exoskel.formats.usd.reading.joints import JointReader, Placed
from exoskel.formats.usd.reading.specs import Specs
from exoskel.scene.body import Body
from exoskel.scene.inertia import UNIT_MOMENT, Inertia, Moment
from exoskel.scene.joint import Joint
from exoskel.scene.pose import IDENTITY, Pose, Vector
from exoskel.scene.world import Model, Reading, Scene, World

_TEXT, _BINARY = b"#usda", b"PXR-USDC"


def read_back(data: bytes) -> Scene:
    """The scene in a file that exoskel wrote.  Raises UsdError."""
    specs = Specs(_layer(data))
    if not str(specs.layer.customLayerData.get("creator", "")).startswith("exoskel"):
        raise failure("US002.foreign", reason="it does not say so")
    try:
        worlds = [_world(specs, prim) for prim in specs.layer.rootPrims if specs.kind(prim) == "assembly"]
    except (KeyError, ValueError, TypeError, AttributeError, IndexError) as problem:
        raise failure("US002.foreign", reason=f"it was changed since ({problem})") from problem
    return Scene(worlds=worlds, reading=Reading("usd"))


def _layer(data: bytes) -> Any:
    try:
        from pxr import Sdf, Tf
    except ImportError:
        raise failure("US001", what="reading USD") from None
    try:
        if data.startswith(_TEXT):
            layer = Sdf.Layer.CreateAnonymous(".usda")
            layer.ImportFromString(data.decode())
            return layer
        if data.startswith(_BINARY):
            return _binary(data, Sdf)
    except (Tf.ErrorException, UnicodeDecodeError) as problem:
        raise failure("US002", reason=str(problem).strip().splitlines()[-1]) from None
    raise failure("US002", reason="it is neither usda nor usdc")


def _binary(data: bytes, sdf: Any) -> Any:
    """Usd-core reads the binary form from files only, and lazily: the content is taken over before the file goes."""
    layer = sdf.Layer.CreateAnonymous(".usda")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "layer.usdc"
        file.write_bytes(data)
        opened = sdf.Layer.OpenAsAnonymous(str(file))
        layer.TransferContent(opened)
        del opened
    return layer


def _world(specs: Specs, prim: Any) -> World:
    scene = prim.nameChildren.get("PhysicsScene")
    direction = np.array(specs.value(scene, "physics:gravityDirection", (0.0, 0.0, 0.0)), dtype=np.float64)
    size = float(specs.value(scene, "physics:gravityMagnitude", 0.0))
    gravity = _vector(direction * size)
    step = float(specs.value(scene, "mjc:option:timestep", 0.001))
    models = [_model(specs, one) for one in prim.nameChildren if specs.kind(one) == "component"]
    return World(name=specs.name(prim), gravity=gravity, time_step=step, models=models)


def _model(specs: Specs, prim: Any) -> Model:
    prims = [one for one in prim.nameChildren if specs.kind(one) == "subcomponent"]
    placed = {str(one.path): _placed(specs, one) for one in prims}
    static = not any("PhysicsRigidBodyAPI" in specs.apis(one) for one in prims)
    model = Model(name=specs.name(prim), static=static and bool(prims), bodies=[p.body for p in placed.values()])
    reader = JointReader(specs, placed)
    scope = prim.nameChildren.get("joints")
    for spec in scope.nameChildren if scope is not None else ():
        reader.read(spec)
    model.joints = reader.finish(prims, static=model.static)
    _stand_at_zero(model.joints, {id(p.body): p for p in placed.values()}, reader)
    return model


def _stand_at_zero(joints: list[Joint], places: dict[int, Placed], reader: JointReader) -> None:
    """Bodies stand where they are when all positions are zero: both frames of each joint coincide there."""
    zero: dict[int, Any] = {}
    for joint in joints:
        if joint.loop:
            continue
        outer, inner = reader.frames[id(joint)]
        above = np.eye(4) if joint.parent is None else zero[id(joint.parent)]
        zero[id(joint.child)] = above @ outer @ spatial.inverse(inner)
        joint.child.pose = Pose.from_matrix(zero[id(joint.child)])


def _placed(specs: Specs, prim: Any) -> Placed:
    transform = spatial.transform(
        spatial.quaternion_matrix(specs.value(prim, "xformOp:orient", (1.0, 0.0, 0.0, 0.0))),
        specs.value(prim, "xformOp:translate", (0.0, 0.0, 0.0)),
    )
    body = Body(name=specs.name(prim), pose=IDENTITY, inertia=_inertia(specs, prim))
    body.gravity = not specs.value(prim, "physxRigidBody:disableGravity", False)
    speed = np.array(specs.value(prim, "physics:velocity", (0.0, 0.0, 0.0)))
    spin = np.radians(specs.value(prim, "physics:angularVelocity", (0.0, 0.0, 0.0)))
    turn = transform[:3, :3]
    at_origin = turn @ (speed - np.cross(spin, body.com))
    return Placed(body, transform, at_origin, turn @ spin)


def _inertia(specs: Specs, prim: Any) -> Inertia:
    """As plain UsdPhysics has it; Newton's tensor where that cannot say it."""
    mass = float(specs.value(prim, "physics:mass", 0.0))
    centre = _vector(specs.value(prim, "physics:centerOfMass", (0.0, 0.0, 0.0)))
    principal = specs.value(prim, "physics:diagonalInertia", None)
    moment: Moment = UNIT_MOMENT
    if principal is not None:
        turn = spatial.quaternion_matrix(specs.value(prim, "physics:principalAxes", (1.0, 0.0, 0.0, 0.0)))
        xx, yy, zz, xy, xz, yz = spatial.moment_entries(spatial.rotate_moment(turn, np.diag(principal))).tolist()
        moment = (xx, yy, zz, xy, xz, yz)
    elif specs.value(prim, "newton:inertia", None) is not None:
        xx, yy, zz, xy, xz, yz = (float(v) for v in specs.value(prim, "newton:inertia", None))
        moment = (xx, yy, zz, xy, xz, yz)
    return Inertia(mass=mass, com=centre, moment=moment)


def _vector(values: Any) -> Vector:
    x, y, z = (float(value) for value in values)
    return (x, y, z)
