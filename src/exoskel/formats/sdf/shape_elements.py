"""Write shapes as visuals and collisions."""

from __future__ import annotations

from copy import copy

import numpy as np
from msgspec import structs

from exoskel import spatial
from exoskel.formats import collision_visuals
from exoskel.formats.generated_meshes import MESH_KINDS, mesh_of
from exoskel.formats.sdf.codes import CATALOGUE
from exoskel.formats.sdf.names import valid_name
from exoskel.scene.body import Body, SoftBody
from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.fields import items_of_documents
from exoskel.scene.item import Names, unique_name
from exoskel.scene.pose import ZERO, Euler, Pose, Vector
from exoskel.scene.shape import (
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    Geometry,
    Material,
    Mesh,
    MultiSphere,
    Plane,
    Shape,
    Sphere,
    Texture,
    kind_of,
    simplest_geometry,
    texture_of,
)
from exoskel.scene.world import Scene
from exoskel.source.document import Document
from exoskel.source.markup import Markup, format_color, format_number, format_numbers
from exoskel.source.output_context import TEXTURE_FIELD, OutputContext, Target
from exoskel.source.surface import Surfaces

DART: Target = "dart"
"""DART's reader supports SDFormat up to 1.6, fewer geometries, and soft skins."""


def add_pose(element: Markup, pose: Pose) -> None:
    if not pose.is_identity:
        element.add("pose", pose_text(pose))


def pose_text(pose: Pose) -> str:
    """Position, then roll, pitch and yaw about fixed axes, preserved if the scene has them and computed otherwise."""
    return format_numbers((*pose.position, *_angles(pose)))


def _angles(pose: Pose) -> tuple[float, float, float]:
    rotation = pose.rotation
    if isinstance(rotation, Euler) and rotation.order == "zyx":
        yaw, pitch, roll = rotation.in_radians
        return (roll, pitch, yaw)
    if isinstance(rotation, Euler) and rotation.order == "xyz" and rotation.angles.count(0.0) > 1:
        return rotation.in_radians  # for a single axis the order does not matter
    # R = Rz(yaw) Ry(pitch) Rx(roll) means that its inverse is Rx(-roll) Ry(-pitch) Rz(-yaw).
    roll, pitch, yaw = spatial.round_vectors(-spatial.euler_xyz(rotation.matrix().T), 1.0).tolist()
    return (roll, pitch, yaw)


# --- shapes --------------------------------------------------------------------------------------------


WORKFLOWS = ("metal", "specular")
"""The elements of `pbr` that have a texture of colours."""
TEXTURE_ELEMENT = "albedo_map"
_DRAWN_SIZE = (100.0, 100.0)
"""The drawn size of a plane, m; as a collider it is infinite."""


def add_shapes(element: Markup, body: Body, output: OutputContext) -> None:
    """Add the shapes of a body, each with a unique name."""
    shows_collisions = collision_visuals.shows_collisions(body, output.source_format)
    for tag, shapes in (("visual", body.visuals), ("collision", body.collisions)):
        taken = Names(shape.name for shape in shapes if shape.name)
        used = Names()
        made: list[tuple[Markup, Shape]] = []
        for count, shape in enumerate(shapes, 1):
            name = valid_name(shape.name.strip() or unique_name(f"{tag}_{count}", taken), tag, used)
            own = _shape(tag, shape, name, output)
            made += [(one, shape) for one in own]
            if tag == "visual" or (shows_collisions and own):
                _record_lost_texture(shape, output)
        if tag == "collision" and shows_collisions:
            for count, (one, shape) in enumerate(made, 1):
                visual = collision_visuals.visual_of(one, count)
                _add_material(visual, shape, output)
                element.children.append(visual)
        element.children += [one for one, _ in made]


def _record_lost_texture(shape: Shape, output: OutputContext) -> None:
    image = texture_of(shape)
    if image is None:
        return
    if output.target == DART:
        output.add_loss(shape, CATALOGUE["SD215.dart"], TEXTURE_FIELD, is_dropped=True)
    elif image.repeat != (1.0, 1.0):
        output.add_loss(shape, CATALOGUE["SD215.repeat"], TEXTURE_FIELD)


def _shape(tag: str, shape: Shape, name: str, output: OutputContext) -> list[Markup]:
    found = _parts(shape, output.target)
    if found is not None:
        parts, key = found
        output.add_loss(shape, CATALOGUE[key], "geometry")
        shapes = [
            structs.replace(copy(shape), geometry=geometry, pose=_moved(shape.pose, offset))
            for geometry, offset in parts
        ]
        made = [one for i, part in enumerate(shapes, 1) for one in _shape(tag, part, f"{name}_{i}", output)]
        for one in made:
            one.item, one.placeholder = shape, True
        return made
    if output.target == DART and isinstance(shape.geometry, Plane) and shape.geometry.normal != _UP:
        made = _shape(tag, _turned_plane(shape, shape.geometry), name, output)
        for one in made:
            one.item = shape
        return made
    if output.target == DART and isinstance(shape.geometry, Mesh) and Surfaces().of(shape.geometry) is None:
        output.add_loss(shape, CATALOGUE["SD209.dart"], is_dropped=True)
        return []
    geometry = _dart_mesh(shape, output) if output.target == DART else None
    geometry = geometry or geometry_element(mesh_of(shape.geometry, output) or shape.geometry, output)
    if geometry is None:
        output.add_loss(shape, CATALOGUE["SD209.faces" if shape.kind in MESH_KINDS else "SD209"])
        return []
    element = Markup(tag, {"name": name}, item=shape)
    add_pose(element, _place(shape))
    element.children.append(geometry)
    if tag == "visual":
        _add_material(element, shape, output)
    else:
        _add_surface(element, shape)
    return [element]


def _parts(shape: Shape, target: Target) -> tuple[list[tuple[Geometry, Vector]], str] | None:
    """The geometries that replace one, at their positions in its frame, and the key of the loss; None: as it is."""
    match shape.geometry:
        case MultiSphere(spheres=spheres):
            return [(Sphere(ball.radius), ball.position) for ball in spheres], "SD106"
        case Capsule(radius=radius, height=height) if target == DART:
            ends: list[tuple[Geometry, Vector]] = [(Sphere(radius), (0.0, 0.0, z * height)) for z in (-0.5, 0.5)]
            return [(Cylinder(radius, height), ZERO), *ends], "SD107.capsule"
    return None


def _dart_mesh(shape: Shape, output: OutputContext) -> Markup | None:
    """A mesh of a surface that DART's reader lacks."""
    if not isinstance(shape.geometry, Ellipsoid | Cone):
        return None
    geometry = (
        shape.geometry if isinstance(shape.geometry, Ellipsoid) else structs.replace(shape.geometry, centred=True)
    )
    surface = Surfaces().of(geometry)
    if surface is None:
        return None
    kind = kind_of(geometry)
    output.add_loss(shape, CATALOGUE["SD107"], "geometry", kind=kind)
    return geometry_element(output.generate_mesh(kind, *surface.merge_vertices()), output)


def soft_shape(soft: SoftBody) -> Markup:
    """DART's own element for a soft skin, which SDFormat does not define."""
    element = Markup("soft_shape")
    element.add("total_mass", format_number(soft.total_mass))
    add_pose(element, soft.pose)
    geometry, cut = element.add("geometry"), soft.tessellation
    if soft.geometry is not None:
        inner = geometry.add(kind_of(soft.geometry))
        match soft.geometry:
            case Box(size=size):
                inner.add("size", format_numbers(size))
                inner.add("frags", format_numbers(cut.fragments))
            case Ellipsoid(size=size):
                inner.add("size", format_numbers(size))
            case Sphere(radius=radius):
                inner.add("radius", format_number(radius))
            case Cylinder(radius=radius, height=height):
                inner.add("radius", format_number(radius))
                inner.add("height", format_number(height))
        counts = {"num_slices": cut.slices, "num_stacks": cut.stacks, "num_rings": cut.rings}
        for tag, count in counts.items():
            if count and not isinstance(soft.geometry, Box):
                inner.add(tag, str(count))
    for tag, value in (("kv", soft.vertex_stiffness), ("ke", soft.edge_stiffness), ("damp", soft.damping)):
        element.add(tag, format_number(value))
    return element


def _add_material(element: Markup, shape: Shape, output: OutputContext) -> None:
    if shape.color is not None:
        material = element.add("material")
        material.add("ambient", format_color(shape.color))
        material.add("diffuse", format_color(shape.color))
    if shape.material is not None and shape.material != Material() and output.target != DART:
        found = next((one for one in element.children if one.tag == "material"), None) or element.add("material")
        metal = found.add("pbr").add("metal")
        for tag, value in (("roughness", shape.material.roughness), ("metalness", shape.material.metalness)):
            if value is not None:
                metal.add(tag, format_number(value))
        if shape.material.texture is not None:
            metal.add(TEXTURE_ELEMENT, output.texture_reference(shape.material.texture))


def record_material_sources(scene: Scene, root: Markup, output: OutputContext) -> None:
    """Record the materials of the source that a copy may replace, with their textures, and those that were edited."""
    main = scene.documents[0] if scene.documents else None
    has_some = len(scene.documents) > 1 or (isinstance(main, Document) and b"<pbr" in main.text)
    if scene.source_info.format != "sdf" or not has_some:
        return
    items = items_of_documents(scene)
    written = {id(one.item): one for one in root.iter() if one.tag == "visual" and isinstance(one.item, Shape)}
    for number in sorted(items):
        source = scene.documents[number] if number >= 0 else None
        if not isinstance(source, Document) or b"<pbr" not in source.text:
            continue
        outline = source.outline
        for node in (node for node, tag in enumerate(outline.tags) if tag == "pbr" and outline.parents[node] > 0):
            visual = outline.parents[outline.parents[node]]
            shapes = [one for one in items[number].get(visual, ()) if isinstance(one, Shape)]
            material = _stated_material(source, node) if shapes else None
            if any(not _is_same_material(material, shape.material) for shape in shapes):
                output.changed_nodes.add((number, node))
                continue
            own = [part for one in shapes if id(one) in written for part in written[id(one)].children]
            found = [inner for part in own if part.tag == "material" for inner in part.children if inner.tag == "pbr"]
            if found:
                output.source_copies[number, node] = found


def _stated_material(source: Document, node: int) -> Material | None:
    """The material that an element `pbr` states."""
    outline = source.outline
    texts = {
        (outline.tags[outline.parents[one]], outline.tags[one]): source.value_text(one)
        for one in range(node + 1, outline.ends[node])
    }
    image = next((text for flow in WORKFLOWS if (text := texts.get((flow, TEXTURE_ELEMENT), "")).strip()), "")
    return parse_material(texts.get(("metal", "roughness"), ""), texts.get(("metal", "metalness"), ""), image)


def record_shown_colors(scene: Scene, output: OutputContext) -> None:
    """Record the ambient colours of the source that are written again to show collision shapes."""
    source = scene.documents[0] if scene.documents else None
    if scene.source_info.format != "sdf" or not isinstance(source, Document):
        return
    outline = source.outline
    bodies = (body for world in scene.worlds for body in world.bodies() if not body.visuals)
    for shape in (shape for body in bodies for shape in body.collisions):
        node = shape.appearance_node
        if node >= 0 and shape.document == 0 and shape.color is not None:
            inside = (one for one in range(node + 1, outline.ends[node]) if outline.tags[one] == "ambient")
            text = format_color(shape.color)
            output.preserved_nodes |= {one for one in inside if source.value_text(one).strip() == text}


def _is_same_material(stated: Material | None, found: Material | None) -> bool:
    """Whether a material has the values that the source states; where the image is does not matter."""
    image = None if found is None else found.texture
    if found is not None and image is not None:
        with no_edits():
            found = structs.replace(found, texture=structs.replace(image, path=None))
    return stated == found


def parse_material(roughness: str, metalness: str, image: str) -> Material | None:
    """The material that `pbr` states, with a reference to an image; None if it states nothing, or only invalid values.

    The image has no path yet.
    """
    rough, metal = parse_fraction(roughness.strip()), parse_fraction(metalness.strip())
    with no_edits():
        texture = Texture(image) if image.strip() else None
    return Material(rough, metal, texture) if (rough, metal, texture) != (None, None, None) else None


def parse_fraction(text: str) -> float | None:
    """A number from 0 to 1; None for other texts."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0.0 <= value <= 1.0 else None


def _add_surface(element: Markup, shape: Shape) -> None:
    surface = Markup("surface")
    if not shape.collidable:
        surface.add("contact").add("collide_bitmask", "0")
    if shape.friction is not None:
        ode = surface.add("friction").add("ode")
        for tag in ("mu", "mu2"):
            ode.add(tag, format_number(shape.friction))
    if shape.restitution is not None:
        surface.add("bounce").add("restitution_coefficient", format_number(shape.restitution))
    if surface.children:
        element.children.append(surface)


_UP = (0.0, 0.0, 1.0)


def _turned_plane(shape: Shape, plane: Plane) -> Shape:
    """The plane with its normal along z, in a rotated frame: DART's reader ignores normals."""
    normal = spatial.unit(np.array(plane.normal))
    turned = spatial.transform(spatial.rotation_from_z(normal[None])[0], plane.offset * normal)
    pose = Pose.from_matrix(shape.pose.matrix() @ turned)
    return structs.replace(copy(shape), geometry=Plane(_UP), pose=pose)


def _place(shape: Shape) -> Pose:
    """The pose of the geometry's origin in SDFormat: on the plane, or at half the height of a cone."""
    match shape.geometry:
        case Plane(normal=(x, y, z), offset=offset) if offset:
            return _moved(shape.pose, (x * offset, y * offset, z * offset))
        case Cone(centred=False, height=height):
            return _moved(shape.pose, (0.0, 0.0, height / 2.0))
    return shape.pose


def _moved(pose: Pose, offset: Vector) -> Pose:
    """A pose translated along its own axes."""
    moved = spatial.array(pose.position) + pose.rotation.matrix() @ offset
    x, y, z = spatial.round_vectors(moved, max(map(abs, offset))).tolist()
    return Pose((x, y, z), pose.rotation)


def geometry_element(geometry: Geometry, output: OutputContext) -> Markup | None:
    """The geometry element, or None if SDFormat does not support the geometry."""
    element = Markup("geometry")
    geometry = simplest_geometry(geometry)
    match geometry:
        case Box(size=size):
            element.add("box").add("size", format_numbers(size))
        case Sphere(radius=radius):
            element.add("sphere").add("radius", format_number(radius))
        case Ellipsoid(size=size):
            element.add("ellipsoid").add("radii", format_numbers(d / 2.0 for d in size))
        case Cylinder() | Capsule() | Cone():
            tube = element.add(str(geometry.__struct_config__.tag))
            tube.add("radius", format_number(geometry.radius))
            tube.add("length", format_number(geometry.height))
        case Plane(normal=normal):
            plane = element.add("plane")
            plane.add("normal", format_numbers(normal))
            plane.add("size", format_numbers(_DRAWN_SIZE))
        case Mesh(scale=scale):
            mesh = element.add("mesh")
            mesh.add("uri", output.reference(geometry))
            mesh.add("scale", format_numbers(scale))
        case _:
            return None
    return element
