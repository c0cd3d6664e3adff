"""What the MJCF reader of DART 6.20 ignores, reads in another way or refuses, and how documents for it differ.

The tables list what a perturbed document does not change in DART's world, in 6.20.0 and 6.20.3.  DART reads bodies with
their poses, masses and centres of mass; the types, axes, damping and limits of joints; shapes, colours, friction and
sites; and welds between two bodies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from exoskel.formats.mjcf.codes import CATALOGUE
from exoskel.formats.mjcf.model.joints import UNLIMITED_RANGE, anchors, flywheel_name, joint_chain
from exoskel.formats.mjcf.names import INERTIA
from exoskel.formats.mjcf.reader_losses import ASSUMED_GRAVITY
from exoskel.formats.mjcf.tree import MjcfElement
from exoskel.scene.body import MARKER_SIZE, Body
from exoskel.scene.cameras_and_keyframes import view_part
from exoskel.scene.equality import Equality, equality_part
from exoskel.scene.item import Item
from exoskel.scene.joint import UNLIMITED, Dof, Drive, Joint
from exoskel.scene.model import Model
from exoskel.scene.sensor import sensor_part
from exoskel.scene.shape import Capsule, Material, Plane, Shape
from exoskel.scene.world import World
from exoskel.source.losses import Loss, loss

# --- the document --------------------------------------------------------------------------------------

_PLANE = (50.0, 50.0, 1.0)
"""The size of planes, which DART would replace by cubes of 1 m."""
_INERTIA_SIZE = 0.001
"""The radius in m of the sphere of a body without shapes."""
_HIDDEN_GROUP = 4
_UNLIMITED = frozenset({"hinge", "slide"})
"""Types of joints that are fixed at zero if a program lets DART enforce limits, unless they have a range."""


def adapt_document(root: MjcfElement) -> None:
    """State what MuJoCo does not need, and DART reads.

    DART ignores the mass of a body without shapes: it gets an invisible one.  Welds without a second body crash it.
    """
    for weld in (one for one in root.child("equality").children if one.tag == "weld"):
        if "body1" in weld.attributes:
            weld.attributes.setdefault("body2", "world")
    count = 0
    for element in list(root.child("worldbody").iter()):
        given = element.attributes
        match element.tag:
            case "geom" if given.get("type") == "plane":
                given["size"] = _PLANE
            case "site":
                given.setdefault("size", MARKER_SIZE)  # DART's default is 1 m
            case "joint" if given.get("type") in _UNLIMITED and "range" not in given:
                given |= {"limited": False, "range": (-UNLIMITED_RANGE, UNLIMITED_RANGE)}
            case "body" if _has_only_inertia(element):
                _add_shape(element, f"{INERTIA}{count}")
                count += 1


def _has_only_inertia(body: MjcfElement) -> bool:
    """Whether a body has mass and no shapes.  Flywheels of motors, which DART does not drive, need none."""
    tags = {child.tag for child in body.children}
    is_flywheel = body.item is None and str(body.attributes["name"]).endswith(flywheel_name(""))
    return "inertial" in tags and "geom" not in tags and not is_flywheel


def _add_shape(body: MjcfElement, name: str) -> None:
    """Add a shape that does not collide, and that viewers hide."""
    geom = body.add("geom", name=name, type="sphere", size=_INERTIA_SIZE, mass=0.0, rgba=(0.0, 0.0, 0.0, 0.0))
    geom.attributes |= {"contype": 0, "conaffinity": 0, "group": _HIDDEN_GROUP}


# --- losses --------------------------------------------------------------------------------------------

_ASSUMED_STEP = 0.001
_MAX_JOINTS = 3
"""The number of MuJoCo joints of a body from which DART's reader creates one of its own."""
_SAME_AXES = 1e-9
_DEFAULT_DOF = Dof()
_WITHOUT_FORCE = frozenset({"force", "passive"})
"""Actuators that MJCF expresses by nothing."""


def dart_losses(world: World) -> Iterator[Loss]:
    """What DART ignores or refuses of a world."""
    for what, fields in _of_world(world):
        if fields:
            yield _ignored(world, what, *fields)
    if sites := [equality_part(one.name) for one in world.equalities if _welds_sites(one)]:
        yield loss(world, CATALOGUE["MJ511.sites"], *sites, changes_effect=True, is_refused=True)
    for model in world.models:
        for body in model.bodies:
            yield from _of_body(model, body)
            for shape in body.shapes:
                yield from _of_shape(shape)
        if not model.static:
            yield from _of_trees(world, model)
            for joint in model.joints:
                yield from _of_joint(world, joint)


def _of_world(world: World) -> Iterator[tuple[str, list[str]]]:
    """What is ignored of a world, with its fields; no fields: the world states nothing of it."""
    gravity, step = world.gravity != ASSUMED_GRAVITY, world.time_step != _ASSUMED_STEP
    yield "gravity, and uses -9.81 m/s² along z", ["gravity"] if gravity else []
    yield "the time step, and uses 1 ms", ["time_step"] if step else []
    yield "collisions within a model", ["self_collision"] if world.self_collision else []
    yield "collision filters", ["collision_exempt_groups"] if world.collision_exempt_groups else []
    yield "cameras", [view_part(camera) for camera in world.cameras]
    yield "lights", [view_part(light) for light in world.lights]
    yield "keyframes", ["keyframes"] if world.keyframes else []
    yield "sensors", [sensor_part(sensor.name) for sensor in world.sensors]
    yield "actuators", ["actuators"] if world.actuators else []
    yield "tendons", ["tendons"] if world.tendons else []
    unread = [one for one in world.equalities if not _welds_bodies(one) and not _welds_sites(one)]
    yield "equality constraints, but for welds of bodies", [equality_part(one.name) for one in unread]
    inactive = [one for one in world.equalities if _welds_bodies(one) and not one.active]
    yield "that equality constraints are inactive", [equality_part(one.name) for one in inactive]


def _welds_bodies(equality: Equality) -> bool:
    return equality.kind == "weld" and equality.target_kind == "body" and bool(equality.target and equality.other)


def _welds_sites(equality: Equality) -> bool:
    return equality.kind == "weld" and equality.target_kind == "site"


def _of_body(model: Model, body: Body) -> Iterator[Loss]:
    if not body.gravity:
        yield _ignored(body, "that gravity does not act on the body", "gravity")
    yield loss(body, CATALOGUE["MJ507.dart"], "moment", "products", changes_effect=True)
    if body.soft is not None and not model.static:
        yield _ignored(body, "the springs of soft skins", "soft")


def _of_shape(shape: Shape) -> Iterator[Loss]:
    if isinstance(shape.geometry, Plane):
        yield loss(shape, CATALOGUE["MJ513.plane"], "geometry", changes_effect=True)
    elif isinstance(shape.geometry, Capsule) and shape.collidable:
        yield loss(shape, CATALOGUE["MJ513.capsule"], "geometry", changes_effect=True)
    material = shape.material or Material()
    if parts := [f"material/{part}" for part in Material.__struct_fields__ if getattr(material, part) is not None]:
        yield _ignored(shape, "materials of shapes", *parts)


def _of_trees(world: World, model: Model) -> Iterator[Loss]:
    """That trees of bodies of one model, which are skeletons in DART, collide with each other."""
    roots = [joint for joint in model.joints if joint.parent is None and not joint.loop]
    if len(roots) > 1 and not world.self_collision and sum(bool(body.collisions) for body in model.bodies) > 1:
        for joint in roots[1:]:
            yield loss(joint, CATALOGUE["MJ513.trees"], "parent", changes_effect=True)


def _has_rotated_slides(joint: Joint) -> bool:
    """Whether the three slides of a body are not along its axes, where DART's TranslationalJoint moves it."""
    chain = joint_chain(joint)
    axes = [link.axis for link in chain if link.type == "slide"]
    return len(chain) == len(axes) == _MAX_JOINTS and bool(np.abs(np.array(axes) - np.eye(3)).max() > _SAME_AXES)


_WHOLE_JOINT = ("", "kind", "loop", "parent", "child", "pose", "axes")
_DRIVES = tuple(f"drives/{part}" for part in Drive.__struct_fields__)
_JOINTS: tuple[tuple[str, tuple[str, ...], Callable[[Joint], bool]], ...] = (
    ("the coupling of screws", ("kind", "pitch"), lambda joint: joint.kind == "screw"),
    ("the axes of three slides", ("kind", "pose"), _has_rotated_slides),
    ("mimic joints", ("mimic",), lambda joint: joint.mimic is not None),
    ("motors and stops of joints", _DRIVES, lambda joint: bool(joint.drives)),
    ("the suspension of hinge2 joints", ("kind",), lambda joint: joint.kind == "hinge2"),
    ("actuators of joints", ("actuator",), lambda joint: joint.actuator not in _WITHOUT_FORCE),
    ("solver parameters of joints", ("solver",), lambda joint: joint.solver is not None),
)
"""What is ignored of joints: words, the fields that it concerns, and the condition."""
_DOFS: dict[str, str] = {
    "position": "initial positions",
    "velocity": "initial velocities",
    "armature": "armature",
    "friction": "friction",
    "stiffness": "springs",
    "rest": "springs",
    "force_limits": "force limits",
}
"""The fields of degrees of freedom that are ignored, with words for them."""


def _of_joint(world: World, joint: Joint) -> Iterator[Loss]:
    needs_site = needs_site_of_world(joint) and bool(joint.drives)
    if needs_site:
        yield loss(joint, CATALOGUE["MJ511.site"], "kind", "drives", *_DRIVES, is_dropped=True)
    if joint.loop and _is_constraint(joint):
        if joint.kind not in ("free", "amotor") and (joint.kind != "weld" or joint.parent is None):
            yield _ignored(joint, "joints that close loops, but for welds of two bodies", *_WHOLE_JOINT)
        return
    for what, fields, applies in _JOINTS:
        if applies(joint) and not (needs_site and fields == _DRIVES):
            yield _ignored(joint, what, *fields)
    stated: dict[str, list[str]] = {}
    for field, words in _DOFS.items():
        if any(getattr(dof, field) != getattr(_DEFAULT_DOF, field) for dof in joint._dofs or ()):
            stated.setdefault(words, []).append(field)
    for words, names in stated.items():
        yield _ignored(joint, f"{words} of joints", *names)
    if joint.limits_enforced and any(low == high for low, high in (dof.position_limits for dof in joint._dofs or ())):
        yield _ignored(joint, "limits of joints at one point", "position_limits", "mimic")
    elif joint.limits_enforced and any(dof.position_limits != UNLIMITED for dof in joint._dofs or ()):
        yield loss(joint, CATALOGUE["MJ513.limits"], "position_limits", changes_effect=True)
    if world.self_collision and joint.collide_connected:
        yield _ignored(joint, "that connected bodies collide", "collide_connected")
    if not joint.loop and len(joint_chain(joint)) > _MAX_JOINTS:
        yield loss(joint, CATALOGUE["MJ511"], "kind", changes_effect=True, is_refused=True)


def _is_constraint(joint: Joint) -> bool:
    """Whether a joint that closes a loop is written as a constraint, and not as a joint of a second body."""
    return joint.kind in ("weld", "free", "amotor") or anchors(joint) is not None


def needs_site_of_world(joint: Joint) -> bool:
    """Whether the motor of a joint acts between a site of its child and one of the world."""
    return joint.kind == "amotor" and joint.parent is None


def _ignored(item: Item, what: str, *fields: str) -> Loss:
    return loss(item, CATALOGUE["MJ513"], *fields, changes_effect=True, program="DART", what=what)
