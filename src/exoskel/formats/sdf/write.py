"""Write a scene as SDFormat, in the oldest version that supports all of it.

DART 6 rejects versions after 1.6.  Gazebo and Drake use libsdformat, which reads every version up to its own.  The
elements we write mean the same in all versions: poses and axes are relative to their default frames, and no default is
used that has changed.  So a document is 1.6 unless an element needs more (`versions.REQUIRED_VERSIONS`).

Links have their poses at zero joint positions, because SDF has no initial joint positions.  A free joint to the
world is not written.  Values that SDF does not support are recorded in `output.losses`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from math import isfinite

from exoskel import spatial
from exoskel.formats.generated_meshes import AS_MESH, MESH_KINDS
from exoskel.formats.interface import WriterCapabilities, item_fields
from exoskel.formats.sdf.cameras_and_lights import SdfViewWriter, changed_views
from exoskel.formats.sdf.codes import CATALOGUE
from exoskel.formats.sdf.context import FRAMES_SINCE, OLDEST, REQUIRED_VERSIONS, parse_version, version_text
from exoskel.formats.sdf.dart_losses import record_ignored_parts
from exoskel.formats.sdf.frames import add_frames
from exoskel.formats.sdf.names import valid_name
from exoskel.formats.sdf.sensors import SdfSensorWriter, changed_sensors, rotated_sensors
from exoskel.formats.sdf.shape_elements import (
    DART,
    add_pose,
    add_shapes,
    record_material_sources,
    record_shown_colors,
    soft_shape,
)
from exoskel.formats.sdf.values import JOINT_KINDS, UNBOUNDED
from exoskel.formats.sdf.vocabulary import DRIVES, DYNAMICS, MOMENT, SDF, SYMMETRIC_LIMITS
from exoskel.scene.body import Body, Marker
from exoskel.scene.collision_filter import CollisionRules, collision_rules
from exoskel.scene.inertia import MIN_MASS, UNIT_MOMENT, Moment
from exoskel.scene.item import Names
from exoskel.scene.joint import DOF_STATES, DOF_VALUES, STOPS, UNLIMITED, Dof, Drive, Interval, Joint, Mimic
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.lowering import joint_passes
from exoskel.scene.lowering.joint_passes import LoweredWorld, lower_with_origins
from exoskel.scene.model import Model
from exoskel.scene.pose import Pose, Vector, pose_matrices, poses_from_matrices
from exoskel.scene.shape import Shape
from exoskel.scene.summary import moments
from exoskel.scene.world import Scene, World
from exoskel.source.document import Document
from exoskel.source.losses import loss, with_owners
from exoskel.source.markup import Markup, format_number, format_numbers
from exoskel.source.output_context import OutputContext
from exoskel.spatial import inverse

_FREE = frozenset({"free", "amotor"})
_SELF_COLLIDE = "self_collide"
_WORLD_FIELDS = ("name", "gravity", "time_step", "erp", "cfm", "collision_detector")

_PLUGIN = "plugin"


def write(scene: Scene, output: OutputContext) -> Markup:
    """The document as a tree whose elements refer to the parts of the scene they represent."""
    root = Markup("sdf", {"version": version_text(OLDEST)}, item=scene)
    output.changed_nodes |= changed_sensors(scene) | changed_views(scene)
    if output.is_rotated:
        output.changed_nodes |= rotated_sensors(scene)
    names = Names()
    for world in scene.worlds:
        simple, original, owner = lower_with_origins(world)
        name = valid_name("" if world.name == "world" else world.name, "default", names)
        before, kept = len(output.losses), len(output.kept)
        element = _world(simple, name, output, SdfViewWriter(simple, output, scene.source_info.views))
        if output.is_bare:
            output.add_loss(simple, CATALOGUE["SD210"], *_WORLD_FIELDS, is_dropped=True)
        for one in element.iter():
            one.item = original(one.item)
        for losses, first in ((output.losses, before), (output.kept, kept)):
            losses[first:] = with_owners(losses[first:], owner)
        root.children += [one for one in element.children if one.tag == "model"] if output.is_bare else [element]
    needed = FRAMES_SINCE if add_frames(scene, root, output) else OLDEST
    record_material_sources(scene, root, output)
    record_shown_colors(scene, output)
    if output.target != DART:  # DART ignores elements of newer versions, but refuses the versions
        root.attributes["version"] = version_text(needed)
        update_version(root)
    return root


def update_version(root: Markup) -> None:
    """State a newer version if an element needs it; what is inside of plugins does not count."""
    needed, waiting = parse_version(root.attributes["version"]), [root]
    while waiting:
        one = waiting.pop()
        needed = max(needed, REQUIRED_VERSIONS.get(one.tag, OLDEST))
        waiting += one.children if one.tag != _PLUGIN else []
    root.attributes["version"] = version_text(needed)


def _world(world: World, name: str, output: OutputContext, views: SdfViewWriter) -> Markup:
    element = Markup("world", {"name": name}, item=world)
    element.children.append(_physics(world))
    element.add("gravity", format_numbers(world.gravity))
    if output.target == DART:  # its reader knows only the place of version 1.5
        element.children[0].add("gravity", format_numbers(world.gravity))
        record_ignored_parts(world, output)
    if world.collision_exempt_groups:
        output.add_loss(world, CATALOGUE["SD201"], "collision_exempt_groups")
    names = Names()
    sensors = SdfSensorWriter(world, output)
    rows = iter(moments(list(world.bodies())).tolist())  # all at once: many are derived from shapes
    for model in world.models:
        made = _model(model, [next(rows) for _ in model.bodies], world, output)
        made.attributes["name"] = valid_name(model.name, "model", names)
        sensors.add_to(made)
        views.add_to(model, made)
        for body in model.bodies:
            if any(id(marker) not in sensors.markers for marker in body.markers):
                output.add_loss(body, CATALOGUE["SD205"], "markers")
        element.children.append(made)
    views.add_to_world(element, names)
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


def _model(model: Model, rows: Sequence[Sequence[float]], world: World, output: OutputContext) -> Markup:
    """The element of a model that has only joints that SDFormat supports; `rows` are the moments of its bodies.

    Names of links and joints share one namespace in SDF.
    """
    element = Markup("model", {"name": model.name}, item=model)
    add_pose(element, model.pose)
    if model.static or not model.bodies:  # libsdformat refuses other models without links
        element.add("static", "true")
    if world.self_collision:
        element.add(_SELF_COLLIDE, "true")
    taken = Names()
    names = {id(body): valid_name(body.name, "link", taken) for body in model.bodies}
    places = _places(model)
    for body, place, moment in zip(model.bodies, places, rows, strict=True):
        element.children.append(_link(body, names[id(body)], place, moment, output, static=model.static))
    # Of several joints with the same child, the first one is read as its parent joint.
    in_order = sorted(model.joints, key=lambda joint: joint.loop)
    written = [joint for joint in in_order if _is_written(joint, model, output)]
    joint_names = [valid_name(joint.name, "joint", taken) for joint in written]
    known = {joint.name: name for joint, name in zip(written, joint_names, strict=True)}
    writer = SdfJointWriter(names, known, output)
    element.children += [writer.write(joint, name) for joint, name in zip(written, joint_names, strict=True)]
    return element


def _places(model: Model) -> Sequence[Pose]:
    """The poses of links in the model: at zero positions, or at initial positions if the model is static."""
    if not model.static or not any(any(joint.positions) for joint in model.joints):
        return [body.pose for body in model.bodies]
    return poses_from_matrices(inverse(pose_matrices([model.pose])[0]) @ Kinematics([model]).poses())


def _is_written(joint: Joint, model: Model, output: OutputContext) -> bool:
    """Whether a joint is written; records a loss if it is not, unless nothing is lost."""
    if model.static:
        return joint.kind == "weld"
    if joint.loop and output.target == DART:
        output.add_loss(joint, CATALOGUE["SD202.dart"])
        return False
    if joint.kind in TYPES:
        return True
    if joint.kind == "amotor":
        output.add_loss(joint, CATALOGUE["SD202.motor"])
    elif joint.kind not in _FREE:  # a loop joint, which is not lowered
        output.add_loss(joint, CATALOGUE["SD202.loop"], kind=joint.kind)
    elif joint.parent is None and not joint.loop:
        _report_free_joint_losses(joint, output)
    return False


def _report_free_joint_losses(joint: Joint, output: OutputContext) -> None:
    if any(joint.positions) or any(joint.velocities):
        output.add_loss(
            joint,
            CATALOGUE["SD203"],
            "position",
            "velocity",
        )
    if not joint.pose.is_identity:
        output.add_loss(joint, CATALOGUE["SD101"], "pose")
    if any(dof.damping or dof.friction or dof.stiffness for dof in joint._dofs or ()):
        output.add_loss(joint, CATALOGUE["SD101.dynamics"], *DYNAMICS.values())


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
        # No reader accepts a link without mass, and the mass of a static link has no effect.
        mass, entries = 1.0, UNIT_MOMENT
    elif mass == 0.0:
        mass = MIN_MASS  # readers assume 1 kg otherwise, or reject the file
        if not all(entry > 0.0 for entry in entries[:3]):
            entries = tuple(MIN_MASS * entry for entry in UNIT_MOMENT)
        output.add_loss(body, CATALOGUE["SD102"], "inertia", mass=MIN_MASS)
    _add_inertial(element, body, mass, entries)
    add_shapes(element, body, output)
    if body.soft is not None and output.target == DART:
        element.children.append(soft_shape(body.soft))
    _report_losses(body, output)
    return element


def _add_inertial(element: Markup, body: Body, mass: float, moment: Moment | tuple[float, ...]) -> None:
    """Add mass properties in the orientation of the link: DART ignores a rotation of the inertial frame."""
    inertial = element.add("inertial")
    inertial.add("mass", format_number(mass))
    add_pose(inertial, Pose(body.com))
    inertia = inertial.add("inertia")
    for tag, entry in sorted(zip(MOMENT, moment, strict=True)):
        inertia.add(tag, format_number(entry))


def _report_losses(body: Body, output: OutputContext) -> None:
    if body.soft is not None and output.target == DART:
        output.kept.append(loss(body, CATALOGUE["SD108"], "soft"))
    elif body.soft is not None:
        output.add_loss(body, CATALOGUE["SD204"], "soft")
    if body.state is not None:
        output.add_loss(body, CATALOGUE["SD203.link"], "state")


# --- joints -------------------------------------------------------------------------------------------


TYPES: dict[str, str] = {kind: type for type, kind in reversed(JOINT_KINDS.items())}
"""SDFormat's joint types by joint kind."""

_AXES = ("axis", "axis2")
_DOF_FIELDS = SDF.field_parts(Joint, "dofs")
_DEFAULT_DOF = Dof()


class SdfJointWriter:
    """Writes the joints of one model; `bodies` and `joints` are the names to use."""

    def __init__(self, bodies: dict[int, str], joints: dict[str, str], output: OutputContext) -> None:
        self.bodies = bodies
        self.joints = joints
        self.output = output

    def write(self, joint: Joint, name: str) -> Markup:
        kind = TYPES[joint.kind]
        axes: Sequence[Vector] = joint.axes
        rows: Sequence[Dof] = joint._dofs or ()
        if joint.swapped:
            # In SDF the first axis is fixed in the parent: swap the axes and their coordinates.
            axes, rows = axes[::-1], rows[::-1]
        if any(not any(axis) for axis in axes):
            self.output.add_loss(joint, CATALOGUE["SD103"], "kind", "axes", *DOF_VALUES)
            kind, axes, rows = "fixed", (), ()
        element = Markup("joint", {"name": name, "type": kind}, item=joint)
        element.add("parent", "world" if joint.parent is None else self.bodies[id(joint.parent)])
        element.add("child", self.bodies[id(joint.child)])
        add_pose(element, joint.pose)
        if kind == "screw":
            element.add("screw_thread_pitch", format_number(joint.pitch))
            if self.output.target == DART:  # DART reads the older element, and in m per revolution
                element.add("thread_pitch", format_number(joint.pitch))
        for index, axis in enumerate(axes):
            dof = rows[index] if index < len(rows) else None
            self._add_axis(element, joint, _AXES[index], axis, dof)
        if joint.mimic is not None:
            self._add_mimic(element, joint, joint.mimic)
        self._add_drive(element, joint)
        self._report_losses(joint, rows, with_axes=bool(axes))
        return element

    def _add_axis(self, element: Markup, joint: Joint, tag: str, axis: Vector, dof: Dof | None) -> None:
        made = element.add(tag)
        made.add("xyz", format_numbers(_unit(axis)))
        if dof is None:
            return
        dynamics = Markup("dynamics")
        for name, field in DYNAMICS.items():
            if getattr(dof, field):
                dynamics.add(name, format_number(getattr(dof, field)))
        if dynamics.children:
            made.children.append(dynamics)
        limit = Markup("limit")
        if joint.limits_enforced:
            for word, bound in zip(("lower", "upper"), dof.position_limits, strict=True):
                if isfinite(bound):
                    limit.add(word, format_number(bound))
        for word, field in SYMMETRIC_LIMITS.items():
            most = self._larger(joint, word, field, getattr(dof, field))
            if isfinite(most):
                limit.add(word, format_number(most))
        if limit.children:
            made.children.append(limit)

    def _larger(self, joint: Joint, word: str, field: str, interval: Interval) -> float:
        """One number for both directions."""
        low, high = interval
        if -low != high:
            self.output.add_loss(joint, CATALOGUE["SD104"], field, limit=word)
        return max(abs(low), abs(high))

    def _add_mimic(self, element: Markup, joint: Joint, mimic: Mimic) -> None:
        axis = next((child for child in element.children if child.tag == "axis"), None)
        if self.output.target == DART:
            self.output.add_loss(joint, CATALOGUE["SD206.dart"], "mimic", is_dropped=True)
            return
        if axis is None or mimic.joint not in self.joints:
            self.output.add_loss(joint, CATALOGUE["SD206"], "mimic", is_dropped=True)
            return
        made = axis.add("mimic", joint=self.joints[mimic.joint])
        made.add("multiplier", format_number(mimic.multiplier))
        made.add("offset", format_number(mimic.offset))
        made.add("reference", "0")

    def _add_drive(self, element: Markup, joint: Joint) -> None:
        """Add ODE's parameters, of which SDFormat has one set per joint."""
        if not joint.drives:
            return
        drive = joint.drives[0]
        if any(_parameters_without_stops(other) != _parameters_without_stops(drive) for other in joint.drives[1:]):
            self.output.add_loss(
                joint,
                CATALOGUE["SD105"],
                "drives",
            )
        ode = Markup("ode")
        for container, fields in DRIVES.items():
            element_of_rows = Markup(container) if container else ode
            for tag, field in fields.items():
                if getattr(drive, field) is not None:
                    element_of_rows.add(tag, format_number(getattr(drive, field)))
            if container and element_of_rows.children:
                ode.children.append(element_of_rows)
        if ode.children:
            element.add("physics").children.append(ode)

    # --- losses ---------------------------------------------------------------------------------------

    def _report_losses(self, joint: Joint, rows: Sequence[Dof], *, with_axes: bool) -> None:
        if joint.actuator not in ("force", "passive"):
            self.output.add_loss(joint, CATALOGUE["SD207"], "actuator", is_dropped=True, actuator=joint.actuator)
        if any(getattr(dof, field) for dof in rows for field in DOF_STATES):
            self.output.add_loss(joint, CATALOGUE["SD203"], *DOF_STATES)
        if any(dof.acceleration_limits != UNLIMITED for dof in rows):
            self.output.add_loss(joint, CATALOGUE["SD208.acceleration"], "acceleration_limits")
        if not joint.limits_enforced and any(dof.position_limits != UNLIMITED for dof in rows):
            self.output.add_loss(joint, CATALOGUE["SD208.unenforced"], "position_limits")
        for field in ("position_limits", *SYMMETRIC_LIMITS.values()):
            if any(isfinite(bound) and abs(bound) >= UNBOUNDED for dof in rows for bound in getattr(dof, field)):
                self.output.add_loss(joint, CATALOGUE["SD208.large"], field)
        if not with_axes and any(_has_dynamics(dof) for dof in rows):
            self.output.add_loss(joint, CATALOGUE["SD208.axes"], *_DOF_FIELDS)


def _unit(axis: Vector) -> Vector:
    """The axis with unit length; its digits are preserved if it already has it."""
    length = float(spatial.array(axis) @ spatial.array(axis)) ** 0.5
    if spatial.unit_divisor(length) == 1.0:
        return axis
    x, y, z = spatial.round_vectors(spatial.unit(axis)).tolist()
    return (x, y, z)


def _parameters_without_stops(drive: Drive) -> tuple[float | None, ...]:
    return tuple(getattr(drive, field) for fields in DRIVES.values() for field in fields.values())


def _has_dynamics(dof: Dof) -> bool:
    return any(getattr(dof, field) != getattr(_DEFAULT_DOF, field) for field in _DOF_FIELDS)


# --- the writer ----------------------------------------------------------------------------------------


_RENAMED = "renamed: SDF does not support the name"


def lower_joints(world: World) -> LoweredWorld | None:
    """Replace the joints that SDFormat lacks; None if all are supported."""
    return joint_passes.lower_joints(world) if joint_passes.joints_to_lower(world) else None


def _read_collision_rules(scene: Scene, world: World) -> CollisionRules:
    """The collision rules of a document that Exoskel wrote, for certificates: a scene has no self-collision per model.

    Such a document has no nested models.
    """
    document = scene.documents[0]
    assert isinstance(document, Document)
    models = sorted(world.models, key=lambda model: model.node)
    places = [model.node for model in models]
    tag = f"<{_SELF_COLLIDE}>".encode()
    starts = document.scan.starts.tolist()
    stated = [node for node, start in enumerate(starts) if document.text.startswith(tag, start)]
    enabled = [node for node in stated if document.value_text(node).strip() in ("true", "1")]
    ends = document.outline.ends
    found: set[int] = set()
    for node in enabled:
        place = bisect_right(places, node) - 1
        if place >= 0 and node < ends[places[place]]:  # otherwise a model of another world
            found.add(id(models[place]))
    return collision_rules(world, self_colliding=found, exempt_groups=False, collide_connected=False)


_OTHER_FIELDS = item_fields({Marker: ("name", "offset", "quaternion"), Shape: ("material",)})
"""What a sensor states of its marker, and `pbr` of a shape."""
_REWRITTEN_LISTS = {
    "sensors": "as sensors of links and joints",
    "cameras": "as sensors of links",
    "lights": "as lights of links and of the world",
}
CAPABILITIES = WriterCapabilities(
    native_joints=frozenset(TYPES) | {"free"},  # a free joint only to the world
    write=write,
    update_version=update_version,
    # The order of the axes expresses `swapped`, and a second joint of the same child `loop`.
    fields=(SDF.item_fields() | {(Joint, "swapped"), (Joint, "loop")} | _OTHER_FIELDS)
    - {(Body, "soft"), *((World, field) for field in _REWRITTEN_LISTS)},  # skins only for DART
    dof_fields=dict.fromkeys(
        SDF.field_parts(Joint, "dofs"), frozenset({"revolute", "prismatic", "screw", "universal", "hinge2"})
    ),
    drive_fields={
        **dict.fromkeys(STOPS, "as limits of its axis"),
        **dict.fromkeys(SDF.field_parts(Joint, "drives"), ""),
    },
    rewritten_fields={
        (World, "name"): _RENAMED,
        (Model, "name"): _RENAMED,
        (Body, "name"): _RENAMED,
        (Joint, "name"): _RENAMED,
        (Shape, "name"): "renamed to be valid and unique in its link",
        (Joint, "axes"): "as unit vectors",
        (Joint, "swapped"): "by the order of the axes",
        (Body, "pose"): "as the pose in the initial state",
        **{(World, field): why for field, why in _REWRITTEN_LISTS.items()},
    },
    shapes=frozenset({"box", "sphere", "ellipsoid", "cylinder", "capsule", "cone", "mesh"}),
    rewritten_shapes={
        "plane": "through the origin of its pose",
        "cone": "centred at half its height",
        **dict.fromkeys(MESH_KINDS, AS_MESH),
    },
    mesh_extensions=frozenset({".stl", ".dae", ".obj", ".glb"}),
    resolves_model_uris=True,
    has_textures=True,
    lower_joints=lower_joints,
    collision_rules=_read_collision_rules,
)
