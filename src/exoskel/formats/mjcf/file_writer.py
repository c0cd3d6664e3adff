"""Writes a world as an MJCF file for other programs: the document that the engine runs, and more.

In addition it has visual shapes (group 2), whole meshes with their triangles or references to their files, markers as
sites, the masses of static bodies, motors where forces have limits, cameras, lights, the initial state and other
keyframes, a sky, and a light and a camera if the scene has none.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exoskel.formats.interface import SourceCopy, WriterCapabilities, item_fields
from exoskel.formats.mjcf.added_elements import insert_added
from exoskel.formats.mjcf.collision_filter import read_collision_rules
from exoskel.formats.mjcf.copy_comparison import count_differences
from exoskel.formats.mjcf.dart_losses import adapt_document, needs_site_of_world
from exoskel.formats.mjcf.force_comparison import compare_forces
from exoskel.formats.mjcf.losses import losses, projection_losses, target_losses
from exoskel.formats.mjcf.materials import paint_geoms
from exoskel.formats.mjcf.mesh_assets import MeshAssetWriter
from exoskel.formats.mjcf.model.actuation import add_servo
from exoskel.formats.mjcf.model.coordinates import Addresses, Coordinates, document_addresses
from exoskel.formats.mjcf.model.driven_joints import add_actuators, key_controls
from exoskel.formats.mjcf.model.joints import add_force_motor, has_force_motor
from exoskel.formats.mjcf.model.soft_bodies import body_skins
from exoskel.formats.mjcf.names import (
    EQUALITIES_TEXT,
    KEY,
    OTHER_KEY,
    SKIN_TEXT,
    equalities_text,
    name_geoms,
    shorten_names,
)
from exoskel.formats.mjcf.preserved_writer import add_preserved_elements
from exoskel.formats.mjcf.program_copies import TARGETS, adapt_copy
from exoskel.formats.mjcf.replicated_elements import expand_edited
from exoskel.formats.mjcf.scenery import add_scenery
from exoskel.formats.mjcf.source_copy import copy_source
from exoskel.formats.mjcf.source_edits import edit_source
from exoskel.formats.mjcf.tree import MjcfElement, Value, markup
from exoskel.formats.mjcf.up_axis_edits import rotate_document
from exoskel.formats.mjcf.views import view_elements
from exoskel.formats.mjcf.write import CONTACT_STEPS, WorldWriter, site_attributes
from exoskel.formats.saving.changes import Changes
from exoskel.scene.actuator import initial_activations
from exoskel.scene.body import Body, Marker
from exoskel.scene.cameras_and_keyframes import Keyframe
from exoskel.scene.item import qualified_name
from exoskel.scene.joint import TRAITS, Joint
from exoskel.scene.json_codec import encode_json
from exoskel.scene.model import Model
from exoskel.scene.shape import Shape
from exoskel.scene.world import Scene, World
from exoskel.source.document import Document
from exoskel.source.markup import Markup
from exoskel.source.meshes import SINGLE_PRECISION
from exoskel.source.output_context import OutputContext, Target
from exoskel.spatial import Array

# --- the document --------------------------------------------------------------------------------------


VISUAL_GROUP, HIDDEN_GROUP = 2, 3
"""The groups of visual shapes, and of collision shapes of bodies with visual ones: viewers hide groups from 3 on."""
RESTING_ACTUATORS = frozenset({"locked", "velocity"})
"""Actuators whose joints start at rest: in DART a velocity without a command holds for the first step only."""


INTEGRATORS: dict[Target, str | None] = {
    "portable": None,
    "mujoco4": "discrete",
    "mujoco3": "implicitfast",
    "dm_control": "implicitfast",
    "newton": None,
    "dart": None,
    "isaac": None,
}
"""The integrator that a file asks for.  `discrete` is that of the engine; only MuJoCo 4 knows it, and DART's reader
knows only Euler and RK4.  Without one, each program uses its own."""


def write_document(world: World, output: OutputContext | None = None, *, limits: bool | None = None) -> MjcfElement:
    """The document, with qualified names.

    Mesh files are referred to from `output.folder`; without one, their triangles are inlined.  What can
    only be written approximately, or not at all, is recorded in `output.losses`.
    """
    output = output or OutputContext()
    output.losses += losses(world)
    output.losses += target_losses(world, output.target, INTEGRATORS.get(output.target))
    document = FileWriter(world, output, limits).document()
    if output.target == "dart":
        adapt_document(document)
    return document


def write(scene: Scene, output: OutputContext) -> Markup:
    """The markup of a scene with one world: the writer of the format."""
    document = write_document(scene.world, output)
    add_preserved_elements(document, scene, output)
    if output.source_format == "mjcf":
        paint_geoms(document, output)
    name_geoms(document)
    shorten_names(document)
    return markup(document)


class FileWriter(WorldWriter):
    """Writes one world as a file."""

    def __init__(self, world: World, output: OutputContext, limits: bool | None = None) -> None:
        self.output = output
        self.views = view_elements(world, has_projections=not any(projection_losses(world, output.target)))
        super().__init__(world, limits, INTEGRATORS.get(output.target), skins=body_skins(world))
        self._has_tendons = True

    def _geom_writer(self, bodies: Sequence[Body], friction: float | None) -> MeshAssetWriter:
        shapes = [shape for body in bodies for shape in body.shapes]
        return MeshAssetWriter(shapes, (CONTACT_STEPS * self.step, 1.0), friction, self.output)

    def document(self) -> MjcfElement:
        root = super().document()
        self._keyframes(root)
        for skin in self.skins.values():
            root.child("custom").add("text", name=SKIN_TEXT + skin.name, data=encode_json(skin.soft))
        if names := self.equalities.ambiguous_names:
            root.child("custom").add("text", name=EQUALITIES_TEXT, data=equalities_text(names))
        if "" in self.views:
            root.child("worldbody").children += self.views[""]
        add_scenery(root, self.layout, self.moving)
        if self.output.target == "dart" and any("file" in asset.attributes for asset in self.geoms.assets):
            root.child("compiler").attributes["meshdir"] = "."  # else DART looks in the root of the file system
        return root

    def _actuators(self) -> None:
        add_actuators(self.layout, self.root)

    def _add_tendon_parts(self, model: Model, body: Body, element: MjcfElement, fixed: bool) -> None:
        """Do nothing: a file has all visual shapes and sites."""

    def _amotor(self, model: Model, joint: Joint, elements: dict[int, MjcfElement], worldbody: MjcfElement) -> None:
        if not (self.output.target == "dart" and needs_site_of_world(joint)):
            super()._amotor(model, joint, elements, worldbody)

    def _joint(self, model: Model, joint: Joint, element: MjcfElement) -> None:
        super()._joint(model, joint, element)
        chain, names = self.layout.chain(model, joint)
        for name, link in zip(names, chain, strict=True):
            for number in link.coordinates if joint._dofs is not None else ():
                if has_force_motor(joint, joint.dofs[number]) and (id(joint), number) not in self.driven:
                    add_force_motor(joint.dofs[number], name, self.root)
        add_servo(self.layout, model, joint, self.step, self.root)

    def _body(self, model: Model, joint: Joint, parent_element: MjcfElement, fixed: bool) -> MjcfElement:
        element, body = super()._body(model, joint, parent_element, fixed), joint.child
        if fixed:  # MuJoCo does not need it, but Drake and Pinocchio reject a body without inertia
            self._inertial(element, body)
        if body.visuals:
            for geom in (child for child in element.children if child.tag == "geom"):
                geom.attributes["group"] = HIDDEN_GROUP
        visuals = ((number, one) for number, one in enumerate(body.visuals) if not self._is_moving_plane(body, one))
        for number, shape in visuals:
            before = len(element.children)
            self.geoms.add(element, shape, qualified_name(model.name, body.name, f"visual{number}"), (0, 0), fixed)
            for geom in element.children[before:]:
                geom.attributes["group"] = VISUAL_GROUP
        for marker in body.markers:
            site = element.add("site", name=qualified_name(model.name, body.name, marker.name), pos=marker.offset)
            site.attributes |= site_attributes(marker) | ({"rgba": marker.color} if marker.color is not None else {})
            site.item = marker
        element.children += self.views.get(qualified_name(model.name, body.name), ())
        return element

    # --- the initial state ----------------------------------------------------------------------------

    def _keyframes(self, root: MjcfElement) -> None:
        """Add the initial state as the first keyframe, and then those of the scene."""
        found = document_addresses(root)
        if not found.nv:  # nothing has a state
            for keyframe in self.world.keyframes:
                root.child("keyframe").add("key", **_key_attributes(keyframe))
            return
        coordinates = Coordinates(self.layout, found)
        qpos, qvel = _zero_positions(root, found), np.zeros(found.nv)
        joints = [(m, j) for m in self.world.models for j in m.joints if not j.loop]
        zero = qpos.copy()
        coordinates.set_positions(np.array([q for _, j in joints for q in j.positions]), qpos)
        moving = [0.0 if j.actuator in RESTING_ACTUATORS else v for _, j in joints for v in j.velocities]
        coordinates.set_velocities(np.array(moving), qpos, qvel)
        for name, speed in self.speeds.items():
            qvel[found.by_name[name][1]] = speed
        section = root.add("keyframe")
        is_taken = any(keyframe.name == KEY for keyframe in self.world.keyframes)
        actuators = self.world.actuators
        controls = {one.name: one.control for one in actuators}
        driving = key_controls(self.world, root, controls, initial_activations(actuators))
        section.add("key", name=OTHER_KEY if is_taken else KEY, qpos=qpos.tolist(), qvel=qvel.tolist(), **driving)
        for keyframe in self.world.keyframes:
            qpos, qvel = zero.copy(), np.zeros(found.nv)
            coordinates.set_positions(np.array(keyframe.positions(self.world.models)), qpos)
            coordinates.set_velocities(np.array(keyframe.velocities(self.world.models)), qpos, qvel)
            driving = key_controls(self.world, root, dict(keyframe.controls), dict(keyframe.activations))
            section.add("key", **_key_attributes(keyframe), qpos=qpos.tolist(), qvel=qvel.tolist(), **driving)


def _key_attributes(keyframe: Keyframe) -> dict[str, Value]:
    given: dict[str, Value] = {"name": keyframe.name} if keyframe.name else {}
    return given | ({"time": keyframe.time} if keyframe.time else {})


def _zero_positions(root: MjcfElement, found: Addresses) -> Array:
    """Zero positions, with identity quaternions for balls."""
    out = np.zeros(found.nq)
    for element in root.child("worldbody").iter():
        if element.tag == "joint" and element.attributes.get("type") == "ball":
            out[found.by_name[str(element.attributes["name"])][0]] = 1.0
    return out


# --- the document of the source -------------------------------------------------------------------------


def insert_items(
    document: Document, base: Scene, scene: Scene, changes: Changes, output: OutputContext
) -> SourceCopy | None:
    """The document that a scene was read from, with the elements of items that were added since; None if a new one
    is needed."""

    if output.rotation is not None:
        return rotate_document(document, output.rotation, output.target)

    def write_all() -> MjcfElement:
        output.source_format = "mjcf"
        return FileWriter(scene.world, output).document()

    return insert_added(document, base, scene, changes, output, write_all)


# --- the writer ----------------------------------------------------------------------------------------


_JOINTS = frozenset(TRAITS)
_FILTER = "as contype, conaffinity and exclude"

CAPABILITIES = WriterCapabilities(
    native_joints=_JOINTS,
    write=write,
    copy_source=copy_source,
    insert_items=insert_items,
    edit_source=edit_source,
    expand_copies=expand_edited,
    adapt_copy=adapt_copy,
    copy_targets=TARGETS,
    compare_copy=count_differences,
    fields=item_fields(
        {
            World: (
                *("name", "gravity", "time_step", "collision_exempt_groups", "self_collision"),
                *("cameras", "lights", "keyframes", "actuators", "tendons", "sensors", "equalities"),
            ),
            Model: ("name", "pose", "static"),
            Body: ("name", "pose", "inertia", "gravity", "soft"),
            Shape: ("name", "geometry", "pose", "color", "collidable", "friction", "material"),
            Marker: ("name", "offset", "quaternion", "kind", "size", "color"),
            Joint: (
                *("name", "kind", "child", "parent", "pose", "axes", "order", "plane", "pitch", "mimic"),
                *("swapped", "loop", "collide_connected", "actuator", "drives", "solver"),
            ),
        }
    ),
    dof_fields={
        **dict.fromkeys(
            ("position", "velocity", "damping", "friction", "stiffness", "rest", "armature"), _JOINTS - {"amotor"}
        ),
        "position_limits": _JOINTS - {"amotor", "free"},
        "force_limits": _JOINTS - {"amotor"},
    },
    drive_fields={
        **dict.fromkeys(("low_stop", "high_stop"), "as a range"),
        **dict.fromkeys(("velocity", "max_force"), "as a flywheel behind dry friction"),
        "bounce": "as the solver parameters of the range",
        **dict.fromkeys(("stop_erp", "stop_cfm", "suspension_erp", "suspension_cfm"), "as a spring and a damper"),
    },
    rewritten_fields={
        (World, "collision_exempt_groups"): _FILTER,
        (World, "self_collision"): _FILTER,
        (Model, "pose"): "in the poses of its bodies",
        (Model, "static"): "its bodies have no joints",
        (Body, "pose"): "in the frame of its parent body",
        (Body, "soft"): "as a body on three slides for each point, and tendons for edges",
        (Joint, "pose"): "in the frame of the body",
        (Joint, "axes"): "as axes of one or more joints, in the frame of the body",
        (Joint, "order"): "as axes of several joints",
        (Joint, "plane"): "as axes of several joints",
        (Joint, "swapped"): "by the order of two joints",
        (Joint, "collide_connected"): "by omitting <exclude>",
        (Joint, "parent"): "by the body that contains it",
    },
    shapes=frozenset({"box", "sphere", "ellipsoid", "cylinder", "capsule"}),
    rewritten_shapes={"plane": "with its normal along z", "mesh": "as triangles"},
    color_precision=SINGLE_PRECISION,  # MuJoCo's
    reads_mesh_textures=False,
    has_textures=True,
    has_initial_state=True,
    resting_actuators=RESTING_ACTUATORS,
    collision_rules=read_collision_rules,
    compare_forces=compare_forces,
)
