"""From a scene to SDFormat, in the oldest version that has words for all of it.

DART 6 refuses everything newer than 1.6, while Gazebo and Drake, which read by libsdformat, take every version up to
their own.  What we write means the same in all of them: poses and axes are in their default frames, and nothing relies
on a default that has changed.  So a document is 1.6 unless it holds something younger (`versions.NEEDS`).

Links stand where they are at zero joint positions, since SDFormat knows no initial positions of joints.  A free joint
to the world is no joint at all.  What SDFormat has no words for is told through `output.losses`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from msgspec import structs

from exoskel.formats.sdf.versions import NEEDS, OLDEST, text_of
from exoskel.formats.sdf.writing.joints import DYNAMICS, TYPES, JointWriter
from exoskel.formats.sdf.writing.poses import add_pose
from exoskel.formats.sdf.writing.shapes import add_shapes
from exoskel.scene.body import Body
from exoskel.scene.inertia import UNIT_MOMENT, Moment
from exoskel.scene.item import Names, unique_name
from exoskel.scene.joint import Joint
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.lowering.joint_passes import lower_with_origins
from exoskel.scene.pose import Pose, pose_matrices, poses_from_matrices
from exoskel.scene.summary import moments
from exoskel.scene.world import Model, Scene, World
from exoskel.source.markup import Markup, format_number, format_numbers
from exoskel.source.output_context import OutputContext
from exoskel.spatial import inverse

LEAST_MASS = 1e-12
"""What a link that moves and has no mass gets, kg: readers take 1 kg, or refuse the file."""
_MOMENT = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
_ENTRY = {"ixx": 0, "iyy": 1, "izz": 2, "ixy": 3, "ixz": 4, "iyz": 5}
_FREE = frozenset({"free", "amotor"})


def write(scene: Scene, output: OutputContext) -> Markup:
    """The document as a tree whose elements know the parts of the scene they stand for."""
    root = Markup("sdf", {"version": text_of(OLDEST)}, item=scene)
    names = Names()
    for world in scene.worlds:
        simple, original = lower_with_origins(world)
        name = _fresh("" if world.name == "world" else world.name, "default", names)
        before = len(output.losses)
        element = _world(simple, name, output)
        for one in element.iter():
            one.item = original(one.item)
        output.losses[before:] = [
            structs.replace(loss, item=original(loss.item) or loss.item) for loss in output.losses[before:]
        ]
        root.children.append(element)
    root.attributes["version"] = text_of(max((NEEDS.get(e.tag, OLDEST) for e in root.iter()), default=OLDEST))
    return root


def _fresh(name: str, otherwise: str, taken: Names) -> str:
    """A name SDFormat can hold: not empty, without blanks around it and `::`, not reserved, unique."""
    fit = name.strip().replace("::", "__") or otherwise
    if fit == "world" or (fit.startswith("__") and fit.endswith("__")):
        fit = f"{fit.strip('_')}_1"
    fit = unique_name(fit, taken)
    taken.add(fit)
    return fit


def _world(world: World, name: str, output: OutputContext) -> Markup:
    element = Markup("world", {"name": name}, item=world)
    element.children.append(_physics(world))
    element.add("gravity", format_numbers(world.gravity))
    if world.collision_exempt_groups:
        output.add_loss(world, "SDFormat has no groups of shapes that pass each other", "collision_exempt_groups")
    names = Names()
    rows = iter(moments(list(world.bodies())).tolist())  # all at once: many are worked out from shapes
    for model in world.models:
        made = model_of(model, [next(rows) for _ in model.bodies], output, self_collide=world.self_collision)
        made.attributes["name"] = _fresh(model.name, "model", names)
        element.children.append(made)
    return element


def _physics(world: World) -> Markup:
    physics = Markup("physics", {"name": "default", "type": "ode"})
    physics.add("max_step_size", format_number(world.time_step))
    if world.erp is not None or world.cfm is not None:
        constraints = physics.add("ode").add("constraints")
        for tag, value in (("cfm", world.cfm), ("erp", world.erp)):
            if value is not None:
                constraints.add(tag, format_number(value))
    if world.collision_detector:
        physics.add("dart").add("collision_detector", world.collision_detector)
    return physics


# --- models -----------------------------------------------------------------------------------------


def model_of(
    model: Model, rows: Sequence[Sequence[float]], output: OutputContext, *, self_collide: bool = False
) -> Markup:
    """A model whose joints SDFormat has all, with the moments of its bodies.

    Links and joints share one list of names there.
    """
    element = Markup("model", {"name": model.name}, item=model)
    add_pose(element, model.pose)
    if model.static:
        element.add("static", "true")
    if self_collide:
        element.add("self_collide", "true")
    taken = Names()
    names = {id(body): _fresh(body.name, "link", taken) for body in model.bodies}
    places = _places(model)
    for body, place, moment in zip(model.bodies, places, rows, strict=True):
        element.children.append(_link(body, names[id(body)], place, moment, output, static=model.static))
    written = [joint for joint in model.joints if _is_written(joint, model, output)]
    called = [_fresh(joint.name, "joint", taken) for joint in written]
    known = {joint.name: name for joint, name in zip(written, called, strict=True)}
    writer = JointWriter(names, known, output)
    element.children += [writer.write(joint, name) for joint, name in zip(written, called, strict=True)]
    return element


def _places(model: Model) -> Sequence[Pose]:
    """Where links are in the model: at zero positions, but in a static model, which stays so, at the initial ones."""
    if not model.static or not any(any(joint.positions) for joint in model.joints):
        return [body.pose for body in model.bodies]
    return poses_from_matrices(inverse(pose_matrices([model.pose])[0]) @ Kinematics([model]).poses())


def _is_written(joint: Joint, model: Model, output: OutputContext) -> bool:
    """Whether a joint becomes one; tells of those that do not, unless nothing is lost with them."""
    if model.static:
        return joint.kind == "weld"
    if joint.kind in TYPES:
        return True
    if joint.kind == "amotor":
        output.add_loss(joint, "SDFormat has no angular motors: nothing drives its bodies")
    elif joint.kind not in _FREE:  # a loop, which the pass leaves alone
        output.add_loss(joint, f"SDFormat has no {joint.kind} joints to close a loop with")
    elif joint.parent is None and not joint.loop:
        _tell_of_free(joint, output)
    return False


def _tell_of_free(joint: Joint, output: OutputContext) -> None:
    if any(joint.positions) or any(joint.velocities):
        output.add_loss(
            joint, "SDFormat has no initial state: links stand at zero joint positions, at rest", "position", "velocity"
        )
    if not joint.pose.is_identity:
        output.add_loss(
            joint, "a floating link has no joint: its coordinates are those of the link's own frame", "pose"
        )
    if any(dof.damping or dof.friction or dof.stiffness for dof in joint._dofs or ()):
        output.add_loss(joint, "a floating link has no joint: its springs and dampers are left out", *DYNAMICS)


# --- links ------------------------------------------------------------------------------------------


def _link(
    body: Body, name: str, place: Pose, moment: Sequence[float], output: OutputContext, *, static: bool
) -> Markup:
    element = Markup("link", {"name": name}, item=body)
    add_pose(element, place)
    if not body.gravity:
        element.add("gravity", "false")
    mass, entries = body.mass, tuple(moment)
    if static and not (isfinite(mass) and mass > 0.0):
        # No reader takes a link without mass, and what never moves may as well have one.
        mass, entries = 1.0, UNIT_MOMENT
    elif mass == 0.0:
        mass = LEAST_MASS
        if not all(entry > 0.0 for entry in entries[:3]):
            entries = tuple(LEAST_MASS * entry for entry in UNIT_MOMENT)
        output.add_loss(body, f"SDFormat has no links without mass: it weighs {LEAST_MASS:g} kg", "inertia")
    _add_inertial(element, body, mass, entries)
    add_shapes(element, body, output)
    _tell(body, output)
    return element


def _add_inertial(element: Markup, body: Body, mass: float, moment: Moment | tuple[float, ...]) -> None:
    """Mass properties in the axes of the link: DART leaves out a rotation of the inertial frame."""
    inertial = element.add("inertial")
    inertial.add("mass", format_number(mass))
    add_pose(inertial, Pose(body.com))
    inertia = inertial.add("inertia")
    for tag in _MOMENT:
        inertia.add(tag, format_number(moment[_ENTRY[tag]]))


def _tell(body: Body, output: OutputContext) -> None:
    if body.soft is not None:
        output.add_loss(body, "SDFormat has no soft bodies: the skin is left out, with its mass", "soft")
    if body.markers:
        output.add_loss(body, "SDFormat has no markers", "markers")
    if body.state is not None:
        output.add_loss(body, "SDFormat has no initial state of links", "state")
