"""Writes a world as an MJCF file for other programs: the document that the engine runs, and more.

In addition it has visual shapes (group 2), whole meshes with their triangles or references to their files, markers as
sites, the masses of static bodies, motors where forces have limits, and the initial state as a keyframe.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exoskel.formats.mjcf.losses import losses
from exoskel.formats.mjcf.mesh_assets import MeshAssetWriter
from exoskel.formats.mjcf.model import motors
from exoskel.formats.mjcf.model.coordinates import Addresses, Coordinates, document_addresses
from exoskel.formats.mjcf.tree import Element, markup
from exoskel.formats.mjcf.write import CONTACT_STEPS, WorldWriter
from exoskel.scene.body import Body
from exoskel.scene.item import qualified_name
from exoskel.scene.joint import Joint
from exoskel.scene.world import Model, Scene, World
from exoskel.source.markup import Markup
from exoskel.source.output_context import OutputContext
from exoskel.spatial import Array

VISUAL_GROUP, HIDDEN_GROUP = 2, 3
"""The groups of visual shapes, and of collision shapes of bodies with visual ones: viewers hide groups from 3 on."""
RESTING_ACTUATORS = frozenset({"locked", "velocity"})
"""Actuators whose joints start at rest: in DART a velocity without a command holds for the first step only."""
KEY = "initial"
"""The name of the keyframe."""


def write_document(world: World, output: OutputContext | None = None, *, limits: bool | None = None) -> Element:
    """The document.  Mesh files are referred to from `output.folder`; without one, their triangles are inlined.

    What can only be written approximately, or not at all, is recorded in `output.losses`.
    """
    output = output or OutputContext()
    output.losses += losses(world)
    return FileWriter(world, output, limits).document()


def write(scene: Scene, output: OutputContext) -> Markup:
    """The markup of a scene with one world: the writer of the format."""
    return markup(write_document(scene.world, output))


class FileWriter(WorldWriter):
    """Writes one world as a file."""

    def __init__(self, world: World, output: OutputContext, limits: bool | None = None) -> None:
        self.output = output
        super().__init__(world, limits)

    def _geom_writer(self, bodies: Sequence[Body], friction: float | None) -> MeshAssetWriter:
        shapes = [shape for body in bodies for shape in body.shapes]
        return MeshAssetWriter(shapes, (CONTACT_STEPS * self.step, 1.0), friction, self.output)

    def document(self) -> Element:
        root = super().document()
        self._keyframe(root)
        return root

    def _joint(self, model: Model, joint: Joint, element: Element) -> None:
        super()._joint(model, joint, element)
        chain, names = self.layout.chain(model, joint)
        for name, link in zip(names, chain, strict=True):
            for dof in (joint.dofs[c] for c in link.coordinates if joint._dofs is not None):
                if motors.has_force_motor(joint, dof):
                    motors.add_force_motor(dof, name, self.root)

    def _body(self, model: Model, joint: Joint, parent_element: Element, fixed: bool) -> Element:
        element = super()._body(model, joint, parent_element, fixed)
        body = joint.child
        if fixed:  # MuJoCo does not need it, but Drake and Pinocchio reject a body without inertia
            self._inertial(element, body)
        if body.visuals:
            for geom in (child for child in element.children if child.tag == "geom"):
                geom.attributes["group"] = HIDDEN_GROUP
        for number, shape in enumerate(body.visuals):
            if self._is_moving_plane(body, shape):
                continue
            before = len(element.children)
            self.geoms.add(element, shape, qualified_name(model.name, body.name, f"visual{number}"), 0, 0, fixed)
            for geom in element.children[before:]:
                geom.attributes["group"] = VISUAL_GROUP
        for marker in body.markers:
            site = element.add("site", name=qualified_name(model.name, body.name, marker.name), pos=marker.offset)
            site.item = marker
        return element

    # --- the initial state ----------------------------------------------------------------------------

    def _keyframe(self, root: Element) -> None:
        found = document_addresses(root)
        if not found.nv:
            return
        coordinates = Coordinates(self.layout, found)
        qpos, qvel = _zero_positions(root, found), np.zeros(found.nv)
        joints = [(m, j) for m in self.world.models for j in m.joints if not j.loop]
        coordinates.set_positions(np.array([q for _, j in joints for q in j.positions]), qpos)
        moving = [0.0 if j.actuator in RESTING_ACTUATORS else v for _, j in joints for v in j.velocities]
        coordinates.set_velocities(np.array(moving), qpos, qvel)
        for name, speed in self.speeds.items():
            qvel[found.by_name[name][1]] = speed
        root.add("keyframe").add("key", name=KEY, qpos=qpos.tolist(), qvel=qvel.tolist())


def _zero_positions(root: Element, found: Addresses) -> Array:
    """Zero positions, with identity quaternions for balls."""
    out = np.zeros(found.nq)
    for element in root.child("worldbody").iter():
        if element.tag == "joint" and element.attributes.get("type") == "ball":
            out[found.by_name[str(element.attributes["name"])][0]] = 1.0
    return out
