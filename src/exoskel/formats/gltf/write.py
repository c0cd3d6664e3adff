"""Write a scene as binary glTF 2.0: its appearance in the initial state, and optionally its motion.

Each world is a scene of the file.  Its root node rotates the world so that y is up.  Below it are nodes for models,
bodies and shapes.  The nodes of bodies have world poses, so the keyframes of an animation are the poses of a motion.
Values that glTF does not support are stored as `extras` if useful, and recorded in `output.losses` otherwise.

The file is not written through trimesh, which supports neither animations nor extras of nodes and creates a mesh for
each shape: here 10,000 boxes share one mesh.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, isfinite, sqrt
from typing import Any, Literal

import numpy as np
from msgspec import Struct, structs

from exoskel import spatial
from exoskel.fates import Fate
from exoskel.formats.gltf.accessors import INDICES, VERTICES, Buffer, is_text_output, single
from exoskel.formats.gltf.animation import Keyframes, Motion, animation
from exoskel.formats.gltf.cameras_and_lights import LIGHTS, GltfViewWriter
from exoskel.formats.gltf.codes import CATALOGUE, catalogue_error
from exoskel.formats.gltf.foreign_data import ForeignDataWriter
from exoskel.formats.gltf.textures import TRANSFORM, GltfTextureWriter
from exoskel.scene.body import Body, BodyState, Marker
from exoskel.scene.joint import UNLIMITED, Dof, Joint
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.lowering.up_axis import nearest_up_axis
from exoskel.scene.model import Model
from exoskel.scene.pose import Vector, pose_matrices
from exoskel.scene.shape import DEFAULT_COLOR, Color, Geometry, Material, Mesh, Shape, TriMesh, kind_of, texture_of
from exoskel.scene.summary import moments
from exoskel.scene.validation import require_valid
from exoskel.scene.world import Scene, World
from exoskel.source.document import garbage_collection_paused
from exoskel.source.losses import Loss
from exoskel.source.markup import UnwritableError
from exoskel.source.mesh_parsing import srgb_to_linear
from exoskel.source.mesh_textures import TexturedMeshFiles
from exoskel.source.numbers import round_computed, round_vector
from exoskel.source.output_context import OutputContext
from exoskel.source.surface import PLANE_HALF_SIZE, Surface, Surfaces, unit_geometry
from exoskel.source.texture_coordinates import with_texture_coordinates
from exoskel.source.textures import ImageError
from exoskel.version import __version__


class GltfMapping(Struct, frozen=True):
    """One row of the mapping: the glTF object, the fate of the part and why, and the possible diagnostics.

    `always` is the code of a diagnostic that every such part has.
    """

    written_as: str
    fate: Fate
    why: str = ""
    codes: tuple[str, ...] = ()
    always: str = ""


SHAPES: dict[str, GltfMapping] = {
    "box": GltfMapping("mesh", Fate.EXACT, "one mesh with edge length 1, scaled by its nodes"),
    "pyramid": GltfMapping("mesh", Fate.EXACT, "one mesh of size 1, scaled by its nodes"),
    "sphere": GltfMapping(
        "mesh", Fate.APPROXIMATED, "tessellated, facets up to 1 % of the radius inside", always="GL201"
    ),
    "ellipsoid": GltfMapping("mesh", Fate.APPROXIMATED, "a scaled sphere", always="GL201"),
    "cylinder": GltfMapping("mesh", Fate.APPROXIMATED, "tessellated; height exact", always="GL201"),
    "capsule": GltfMapping("mesh", Fate.APPROXIMATED, "tessellated", always="GL201"),
    "cone": GltfMapping("mesh", Fate.APPROXIMATED, "tessellated; height exact", always="GL201"),
    "plane": GltfMapping("mesh", Fate.APPROXIMATED, "a square, 20 m wide by default", always="GL202"),
    "multi_sphere": GltfMapping("mesh", Fate.APPROXIMATED, "tessellated convex hull", always="GL203"),
    "mesh": GltfMapping(
        "mesh",
        Fate.EXACT,
        "triangles in single precision; colours of vertices, faces and materials; no textures of its file",
        ("GL305",),
    ),
    "trimesh": GltfMapping("mesh", Fate.EXACT, "triangles in single precision"),
    "ray": GltfMapping("", Fate.DROPPED, "a ray has no surface", ("GL305",)),
}
"""How each geometry is written."""


_MOST_SHORT = 65535
"""Indices below this fit into two bytes; the largest itself is reserved."""
ROUGHNESS = 0.7
"""The roughness of materials that do not state it."""
_WHITE: Color = (1.0, 1.0, 1.0, 1.0)


class MeshWriter:
    """Creates meshes and materials, each once."""

    def __init__(
        self,
        surfaces: Surfaces,
        textured: Surfaces,
        buffer: Buffer,
        textures: GltfTextureWriter,
        preserved: ForeignDataWriter,
    ) -> None:
        self.surfaces, self._preserved = surfaces, preserved
        self._textured, self._textures = textured, textures
        self.meshes: list[dict[str, Any]] = []
        self.materials: list[dict[str, Any]] = []
        self._buffer = buffer
        self._made: dict[tuple[Geometry, Color | None, Material | None], int] = {}
        self._painted: dict[tuple[Color, bool, bool, Material | None, int | None], int] = {}
        self._numbers: dict[tuple[Geometry, bool], dict[str, Any]] = {}

    def of(self, geometry: Geometry, color: Color | None, material: Material | None = None) -> int | None:
        """The index of the mesh of a geometry in a colour (None: that of its file); None if it has no surface."""
        key = (geometry, color, material)
        if key not in self._made:
            surface = self.surfaces.of(geometry)
            if surface is None:
                return None
            if material is not None and material.texture is not None:
                surface = with_texture_coordinates(self._textured.of(geometry) or surface, geometry)
            self._made[key] = self._make(geometry, surface, color, material)
        return self._made[key]

    def _make(self, geometry: Geometry, surface: Surface, color: Color | None, stated: Material | None) -> int:
        source = self._preserved.material(geometry, color, stated)
        has_texture = stated is not None and stated.texture is not None
        numbers = self._numbers.get((geometry, has_texture))
        if numbers is None:
            numbers = self._numbers[geometry, has_texture] = self._stored(geometry, surface)
        attributes = {name: numbers[name] for name in ("POSITION", "NORMAL")}
        opaque = True
        if "TEXCOORD_0" in numbers:
            attributes["TEXCOORD_0"] = numbers["TEXCOORD_0"]
        if has_texture:
            color = color or _WHITE
        if color is None and surface.colors is not None:
            attributes["COLOR_0"] = numbers["COLOR_0"]
            opaque = bool((surface.colors[:, 3] >= 1.0).all())
            color = _WHITE
        # Files often have reversed triangles, or a single layer of them.
        both_sides = isinstance(geometry, Mesh | TriMesh)
        material = self._material(color or DEFAULT_COLOR, opaque, both_sides, stated, source)
        primitive = {"attributes": attributes, "indices": numbers["indices"], "material": material}
        self.meshes.append({"name": _name(geometry), "primitives": [primitive]})
        origin = self._preserved.origin(geometry)
        if origin is not None:
            self._preserved.add(self.meshes[-1], ("meshes", origin.mesh))
            self._preserved.add(primitive, ("meshes", origin.mesh, "primitives", origin.primitive))
        return len(self.meshes) - 1

    def _stored(self, geometry: Geometry, surface: Surface) -> dict[str, Any]:
        what = f"a vertex of a {kind_of(geometry)}"
        small = np.uint16 if len(surface.vertices) < _MOST_SHORT else np.uint32
        stored = {
            "POSITION": self._buffer.add(single(surface.vertices, what), target=VERTICES, bounds=True),
            "NORMAL": self._buffer.add(single(surface.normals, what), target=VERTICES),
            "indices": self._buffer.add(surface.triangles.ravel().astype(small), target=INDICES),
        }
        if surface.uv is not None:  # from the top
            places = np.column_stack([surface.uv[:, 0], 1.0 - surface.uv[:, 1]])
            stored["TEXCOORD_0"] = self._buffer.add(single(places, what), target=VERTICES)
        if surface.colors is not None:
            light = np.rint(np.clip(srgb_to_linear(surface.colors), 0.0, 1.0) * _MOST_SHORT).astype(np.uint16)
            stored["COLOR_0"] = self._buffer.add(light, target=VERTICES, normalized=True)
        return stored

    def _material(
        self, color: Color, opaque: bool, both_sides: bool, stated: Material | None, source: int | None
    ) -> int:
        """The index of a material; `source` is the number of that in the source, if it has data of other programs."""
        key = (color, opaque, both_sides, stated, source)
        if key not in self._painted:
            made = _material(color, opaque, both_sides, stated or Material())
            if stated is not None and stated.texture is not None:
                made["pbrMetallicRoughness"]["baseColorTexture"] = self._textures.reference(stated.texture)
            if source is not None:
                self._preserved.add_all(made, ("materials", source))
            self.materials.append(made)
            self._painted[key] = len(self.materials) - 1
        return self._painted[key]


def _material_name(color: Sequence[float], stated: Material) -> str:
    """The colour, and the roughness and metalness if one of them is stated; `-` if it is not."""
    values = [] if (stated.roughness, stated.metalness) == (None, None) else [stated.roughness, stated.metalness]
    return " ".join([*(f"{part:g}" for part in color), *("-" if value is None else f"{value:g}" for value in values)])


def _material(color: Color, opaque: bool, both_sides: bool, stated: Material) -> dict[str, Any]:
    shown = np.clip(color, 0.0, 1.0)
    made: dict[str, Any] = {
        "name": _material_name(shown.tolist(), stated),
        "pbrMetallicRoughness": {
            "baseColorFactor": srgb_to_linear(shown).tolist(),
            "metallicFactor": 0.0 if stated.metalness is None else stated.metalness,
            "roughnessFactor": ROUGHNESS if stated.roughness is None else stated.roughness,
        },
    }
    if shown[3] < 1.0 or not opaque:
        made["alphaMode"] = "BLEND"
    if both_sides:
        made["doubleSided"] = True
    return made


def _name(geometry: Geometry) -> str:
    return geometry.uri if isinstance(geometry, Mesh) else kind_of(geometry)


def record_losses(world: World, output: OutputContext) -> None:
    """Record all losses except those of shapes, which the writer records."""
    if world.collision_exempt_groups:
        output.add_loss(world, CATALOGUE["GL303"], "collision_exempt_groups")
    if world.erp is not None or world.cfm is not None:
        output.add_loss(world, CATALOGUE["GL306.world"], "erp", "cfm")
    for joint in world.joints():
        if _loses_dynamics(joint):
            output.add_loss(joint, CATALOGUE["GL301"], kind=joint.kind)
        if any(joint.velocities):
            output.add_loss(joint, CATALOGUE["GL302"], "velocity")
    for body in world.bodies():
        if body.state is not None:
            _record_state_losses(body, body.state, output)


def _record_state_losses(body: Body, state: BodyState, output: OutputContext) -> None:
    if any((*state.linear_velocity, *state.angular_velocity)):
        output.add_loss(body, CATALOGUE["GL302"], "state")
    if any((*state.force, *state.torque)) or state.finite_rotation.mode != 0:
        output.add_loss(body, CATALOGUE["GL306"], "state")


def shapes_differ(ones: Sequence[Shape], others: Sequence[Shape]) -> bool:
    """Whether two lists of shapes differ in geometry or pose."""
    return len(ones) != len(others) or any(
        one.geometry != other.geometry or one.pose != other.pose for one, other in zip(ones, others, strict=True)
    )


def _loses_dynamics(joint: Joint) -> bool:
    """Whether a joint has more than its name, kind and parent; welds and plain free joints do not."""
    if joint.kind == "weld" and not joint.loop:
        return False
    if joint.kind != "free" or joint.loop or joint.parent is not None:
        return True
    return bool(joint.drives or joint.mimic is not None or any(map(_has_dynamics, joint._dofs or ())))


def _has_dynamics(dof: Dof) -> bool:
    limits = (dof.position_limits, dof.velocity_limits, dof.acceleration_limits, dof.force_limits)
    forces = (dof.damping, dof.friction, dof.stiffness, dof.force, dof.acceleration)
    return any(forces) or any(limit != UNLIMITED for limit in limits)


# --- the file ------------------------------------------------------------------------------------------


Shown = Literal["visual", "collision", "both"]
"""Which shapes are written; `visual` includes the collision shapes of bodies without visual shapes."""

_HALF = sqrt(0.5)
_UP_ROTATIONS: dict[Vector, list[float]] = {
    (0.0, 1.0, 0.0): [0.0, 0.0, 0.0, 1.0],
    (0.0, -1.0, 0.0): [1.0, 0.0, 0.0, 0.0],
    (0.0, 0.0, 1.0): [-_HALF, 0.0, 0.0, _HALF],
    (0.0, 0.0, -1.0): [_HALF, 0.0, 0.0, _HALF],
    (1.0, 0.0, 0.0): [0.0, 0.0, _HALF, _HALF],
    (-1.0, 0.0, 0.0): [0.0, 0.0, -_HALF, _HALF],
}
"""The rotations, x y z w, from an up axis to y."""
_NO_ROTATION = [0.0, 0.0, 0.0, 1.0]

GltfNode = dict[str, Any]


def write(
    scene: Scene,
    output: OutputContext,
    *,
    shown: Shown = "visual",
    reach: float = PLANE_HALF_SIZE,
    motion: Motion | None = None,
) -> bytes:
    """Write the file.  Planes are squares of half size `reach`, in m; a `motion` of the only world is an animation."""
    if motion is not None and len(scene.worlds) != 1:
        raise catalogue_error("GL103.worlds", count=len(scene.worlds))
    require_valid(scene)
    with garbage_collection_paused():
        return _file(scene, motion, _GltfWriter(output, shown, reach, ForeignDataWriter(scene, output)))


def _file(scene: Scene, motion: Motion | None, writer: _GltfWriter) -> bytes:
    scenes = [writer.world(world, motion) for world in scene.worlds]
    if not writer.finite:
        raise UnwritableError("some poses or sizes of the scene are not finite")
    document: dict[str, Any] = {"asset": {"version": "2.0", "generator": f"exoskel {__version__}"}}
    if scenes:
        document |= {"scene": 0, "scenes": scenes, "nodes": writer.nodes}
    made = writer.meshes
    parts = {"meshes": made.meshes, "materials": made.materials, "animations": writer.animations}
    parts |= {"cameras": writer.views.cameras}
    parts |= {"textures": writer.textures.textures, "images": writer.textures.images}
    used = [TRANSFORM] if writer.textures.is_repeated else []
    if writer.views.lights:
        used.append(LIGHTS)
        document["extensions"] = {LIGHTS: {"lights": writer.views.lights}}
    preserved = writer.preserved
    preserved.add(document, ())
    preserved.add(document["asset"], ("asset",))
    if used or preserved.names:
        document["extensionsUsed"] = [*used, *sorted(preserved.names - {*used})]
    if preserved.required:
        document["extensionsRequired"] = preserved.required
    made_of = document | {name: part for name, part in parts.items() if part}
    return writer.buffer.file(made_of, is_text=is_text_output(writer.output))


class _GltfWriter:
    def __init__(self, output: OutputContext, shown: Shown, reach: float, preserved: ForeignDataWriter) -> None:
        self.output = output
        self.preserved = preserved
        self.shown = shown
        self.reach = reach
        self.buffer = Buffer()
        self.textures = GltfTextureWriter(self.buffer, output)
        self.views = GltfViewWriter(output)
        textured = Surfaces(reach, TexturedMeshFiles())
        self.meshes = MeshWriter(Surfaces(reach), textured, self.buffer, self.textures, preserved)
        self.nodes: list[GltfNode] = []
        self.animations: list[dict[str, Any]] = []
        self.finite = True

    def world(self, world: World, motion: Motion | None) -> dict[str, Any]:
        """Add the nodes of a world; returns its scene."""
        root = self.add({"name": world.name})
        rotation = _UP_ROTATIONS[nearest_up_axis(world)]
        if rotation != _NO_ROTATION:
            self.nodes[root]["rotation"] = rotation
        transforms = Kinematics(world.models).initial_poses()
        poses = self.rows(transforms)
        views = self.views.nodes(world, {id(body): i for i, body in enumerate(world.bodies())}, transforms)
        bodies = _Bodies(self, world, poses, views)
        models = [bodies.model(model) for model in world.models]
        _set_children(self.nodes[root], [*models, *map(self.add, views.get(None, ()))])
        if motion is not None:
            self._animate(world, motion, bodies.numbers, poses)
        record_losses(world, self.output)
        self.finite &= all(map(isfinite, world.gravity))
        extras = {"gravity": list(world.gravity), "time_step": world.time_step}
        made = {"name": world.name, "nodes": [root], "extras": extras}
        self.preserved.add(made, self.preserved.scene(world.name))
        return made

    def shapes(self, shapes: Sequence[Shape], places: Sequence[Sequence[float]]) -> list[int]:
        """Add the nodes of shapes at their poses in the body; records shapes without a surface as losses."""
        made = []
        for shape, place in zip(shapes, places, strict=True):
            plain, scale = unit_geometry(shape.geometry)
            mesh = self.meshes.of(plain, shape.color, self._material(shape))
            if mesh is None:
                reason = self.meshes.surfaces.missing[plain]
                self.output.add_loss(
                    shape, CATALOGUE["GL305"], "geometry", kind=shape.kind.replace("_", " "), reason=reason
                )
                continue
            made.append(self.add({"name": shape.name or shape.kind, **_transform(place), "mesh": mesh}))
            if scale != (1.0, 1.0, 1.0):
                self.nodes[made[-1]]["scale"] = scale
                self.finite &= all(map(isfinite, scale))
            self.preserved.add(self.nodes[made[-1]], self.preserved.node(shape.document, shape.node))
            self._record_shape_losses(shape)
        return made

    def _material(self, shape: Shape) -> Material | None:
        """The material of a shape; a texture that cannot be read is recorded as a loss."""
        texture = texture_of(shape)
        if shape.material is None or texture is None:
            return shape.material
        try:
            self.textures.check(texture)
        except ImageError as error:
            self.output.add_loss(
                shape, CATALOGUE["GL308"], "material", changes_effect=True, uri=texture.uri, reason=error
            )
            return structs.replace(shape.material, texture=None)
        return shape.material

    def _record_shape_losses(self, shape: Shape) -> None:
        if SHAPES[shape.kind].always:
            message = CATALOGUE[SHAPES[shape.kind].always]
            self.output.add_loss(shape, message, "geometry", kind=shape.kind, edge=2.0 * self.reach)
        if shape.color is not None and not all(0.0 <= part <= 1.0 for part in shape.color):
            self.output.add_loss(shape, CATALOGUE["GL205"], "color", changes_effect=True)

    def _animate(self, world: World, motion: Motion, nodes: list[int], still: list[list[float]]) -> None:
        keys = Keyframes(motion, len(nodes))
        made = animation(motion.name, keys, nodes, np.array(still).reshape(-1, 7), self.buffer)
        if made:
            self.animations.append(made)
        if keys.skipped:
            self.output.add_loss(world, CATALOGUE["GL206"], count=keys.skipped)

    def rows(self, transforms: spatial.Array) -> list[list[float]]:
        """Poses as x y z qw qx qy qz."""
        if not np.isfinite(transforms).all():
            self.finite = False
            return [[0.0] * 3 + [1.0] + [0.0] * 3] * len(transforms)
        rows: list[list[float]] = spatial.pose7(transforms).tolist()
        return rows

    def add(self, node: GltfNode) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1


class _Bodies:
    """Creates the nodes of one world's bodies; `numbers` are their indices, in the world's order."""

    def __init__(
        self,
        writer: _GltfWriter,
        world: World,
        poses: list[list[float]],
        views: Mapping[int | None, list[GltfNode]],
    ) -> None:
        self.writer = writer
        self._views = views
        self.numbers: list[int] = []
        bodies = list(world.bodies())
        self._poses = iter(poses)
        self._moments = iter(moments(bodies).tolist())
        self._shown = [self._choose_shapes(body) for body in bodies]
        self._lists = iter(self._shown)
        self._places = iter(writer.rows(pose_matrices([shape.pose for own in self._shown for shape in own])))
        self._parent_joints = {id(joint.child): joint for joint in world.joints() if not joint.loop}

    def model(self, model: Model) -> int:
        """Add the node of a model with the nodes of its bodies."""
        number = self.writer.add({"name": model.name})
        node = self.writer.nodes[number]
        extras: dict[str, Any] = {"static": True} if model.static else {}
        loops = [{**_joint(joint), "child": joint.child.name} for joint in model.joints if joint.loop]
        if loops:
            extras["loops"] = loops
        if extras:
            node["extras"] = extras
        _set_children(node, [self._body(body) for body in model.bodies])
        return number

    def _body(self, body: Body) -> int:
        number = self.writer.add({"name": body.name, **_transform(next(self._poses))})
        self.numbers.append(number)
        node = self.writer.nodes[number]
        shapes = next(self._lists)
        losses = self.writer.output.losses
        before = len(losses)
        children = self.writer.shapes(shapes, [next(self._places) for _ in shapes])
        if body.soft is not None:  # its skin is no shape of the body
            own = {id(shape) for shape in body.shapes}
            losses[before:] = [_of_skin(loss, body) if id(loss.item) not in own else loss for loss in losses[before:]]
        children += [self._marker(marker) for marker in body.markers]
        children += map(self.writer.add, self._views.get(id(body), ()))
        _set_children(node, children)
        node["extras"] = self._extras(body, next(self._moments))
        self.writer.preserved.add(node, self.writer.preserved.node(body.document, body.node))
        return number

    def _marker(self, marker: Marker) -> int:
        self.writer.finite &= all(map(isfinite, marker.offset))
        return self.writer.add({"name": marker.name, "translation": marker.offset, "extras": {"marker": True}})

    def _extras(self, body: Body, moment: list[float]) -> dict[str, Any]:
        given = self.writer.output.given_numbers or {}
        extras: dict[str, Any] = {
            "mass": round_computed(body.mass, given),
            "com": round_vector(body.com, given),
            "inertia": round_vector(moment, given),
        }
        if not all(map(isfinite, (body.mass, *body.com, *moment))):
            self.writer.output.add_loss(body, CATALOGUE["GL307"], "inertia")
            extras = {}
        if not body.gravity:
            extras["gravity"] = False
        joint = self._parent_joints.get(id(body))
        if joint is not None:
            extras["joint"] = _joint(joint)
        return extras

    def _choose_shapes(self, body: Body) -> list[Shape]:
        """The shapes to write, including the soft skin."""
        shown, output = self.writer.shown, self.writer.output
        skin = []
        if body.soft is not None and body.soft.geometry is not None and shown != "collision":
            skin = [Shape(geometry=body.soft.geometry, pose=body.soft.pose, name=f"{body.name} skin")]
            output.add_loss(body, CATALOGUE["GL204"], "soft")
        if shown == "both":
            return [*body.visuals, *skin, *body.collisions]
        if shown == "collision":
            if shapes_differ(body.visuals, body.collisions):
                output.add_loss(body, CATALOGUE["GL304.visual"], "visuals")
            return list(body.collisions)
        if body.visuals and body.collisions and shapes_differ(body.visuals, body.collisions):
            output.add_loss(body, CATALOGUE["GL304"], "collisions")
        return [*(body.visuals or ([] if skin else body.collisions)), *skin]


def _of_skin(loss: Loss, body: Body) -> Loss:
    return structs.replace(loss, item=body, fields=("soft",))


def _joint(joint: Joint) -> dict[str, Any]:
    return {"name": joint.name, "type": joint.kind, "parent": joint.parent.name if joint.parent else None}


def _transform(pose: Sequence[float]) -> GltfNode:
    """The translation and rotation of a node, if they are not the identity."""
    qw, qx, qy, qz = _round(pose[3:])
    made: GltfNode = {}
    if any(pose[:3]):
        made["translation"] = _round(pose[:3])
    if qx or qy or qz:
        made["rotation"] = [qx, qy, qz, qw]
    return made


def _round(vector: Sequence[float]) -> list[float]:
    """A vector without digits that differ between processors: the 13th of the largest component is the last one."""
    size = max(map(abs, vector))
    if not _LEAST < size < inf:
        return list(vector)
    decimals = spatial.COMPUTED_DIGITS - 1 - spatial.decimal_exponent(size)
    return [round(value, decimals) + 0.0 for value in vector]


_LEAST = 1e-280


def _set_children(node: GltfNode, children: list[int]) -> None:
    if children:
        node["children"] = children
