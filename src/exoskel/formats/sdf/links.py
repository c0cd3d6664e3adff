"""Read links: their visuals, collisions and mass properties, also those computed from collisions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import hypot

import numpy as np
from msgspec import structs

from exoskel import spatial
from exoskel.formats import collision_visuals
from exoskel.formats.sdf.context import SdfContext, StatedPose
from exoskel.formats.sdf.geometry_elements import (
    GEOMETRIES,
    SOFT_ELEMENT,
    SOFT_GEOMETRIES,
    UNSUPPORTED_GEOMETRIES,
)
from exoskel.formats.sdf.polylines import MOST_CORNERS, extrude
from exoskel.formats.sdf.shape_elements import TEXTURE_ELEMENT, WORKFLOWS, parse_material
from exoskel.formats.sdf.surfaces import report_unread_properties
from exoskel.formats.sdf.vocabulary import INERTIAL_ELEMENT, LINK_ELEMENT, MOMENT
from exoskel.scene.body import Body, SoftBody, SoftGeometry, Tessellation
from exoskel.scene.inertia import UNIT_MOMENT, Inertia, Moment, solid_properties
from exoskel.scene.moment_checks import check_moment
from exoskel.scene.pose import IDENTITY, Pose, Vector
from exoskel.scene.shape import (
    Box,
    Capsule,
    Color,
    Cone,
    Cylinder,
    Ellipsoid,
    Geometry,
    Material,
    Mesh,
    Plane,
    Shape,
    Sphere,
    Texture,
)
from exoskel.source.document import Tree
from exoskel.source.flat_tree import Node, invalid_fields, stated_fields
from exoskel.spatial import unit_divisor


def read_shape(source: SdfContext, node: Node, element: str) -> tuple[Shape, StatedPose] | None:
    """Read a shape and its pose as written; None if its geometry is missing or unsupported."""
    geometry = _geometry(source, node, element)
    if geometry is None:
        return None
    stated, rule = source.pose(node), LINK_ELEMENT.children[element]
    report_unread_properties(source, node)
    surface: Node | None = node.fields.get("surface")
    contact: Node | None = surface.fields.get("contact") if surface else None
    shape = Shape(
        geometry=geometry,
        pose=stated.pose,
        name=node.fields.get("@name", ""),
        color=_color(node),
        material=_material(source, node),
        collidable=contact is None or contact.fields.get("collide_bitmask", 1) != 0,
        friction=_friction(source, node, surface),
        restitution=_nested_number(surface, "bounce", "restitution_coefficient"),
        document=source.number,
        node=node.number,
        given=node.stated_fields(rule),
        repaired=node.invalid_fields(rule),
    )
    return shape, stated


def _friction(source: SdfContext, node: Node, surface: Node | None) -> float | None:
    """The coefficient of friction; one that is negative, or differs in the two directions, is reported."""
    one, other = (_nested_number(surface, "friction", "ode", name) for name in ("mu", "mu2"))
    if one is not None and one < 0.0:
        source.report("SD083.negative", node.number, "surface/friction/ode/mu", mu=one)
        return None
    if other is not None and other != (1.0 if one is None else one):
        source.report("SD083", node.number, "surface/friction/ode/mu2", mu=1.0 if one is None else one, mu2=other)
    return one


def _nested_number(node: Node | None, *names: str) -> float | None:
    """The number at a path of nested elements; None if one is missing."""
    for name in names[:-1]:
        node = node.fields.get(name) if node is not None else None
    found: float | None = node.fields.get(names[-1]) if node is not None else None
    return found


def _color(node: Node) -> Color | None:
    material: Node | None = node.fields.get("material")
    diffuse: tuple[float, ...] | None = material.fields.get("diffuse") if material else None
    transparency = min(max(node.fields.get("transparency", 0.0), 0.0), 1.0)
    if diffuse is None:
        return None
    red, green, blue, alpha = (*diffuse, 1.0)[:4]
    return (red, green, blue, alpha * (1.0 - transparency) if transparency else alpha)


def _material(source: SdfContext, node: Node) -> Material | None:
    """The material besides the colour, by the metal workflow."""
    material: Node | None = node.fields.get("material")
    if material is None or (pbr := source.elements[material.number].find("pbr")) is None:
        return None
    images = [one for flow in WORKFLOWS if (one := pbr.find(f"{flow}/{TEXTURE_ELEMENT}")) is not None]
    image = next((one for one in images if (one.text or "").strip()), None)
    rough, metal = (_text_of(pbr.find(f"metal/{tag}")) for tag in ("roughness", "metalness"))
    found = parse_material(rough, metal, _text_of(image))
    if found is None or found.texture is None:
        return found
    uri = found.texture.uri
    path, problem = source.find_image(uri)
    if problem:
        number = next(n for n in range(material.number, len(source.elements)) if source.elements[n] is image)
        hint = "" if path else source.search_hint(uri)
        source.report("SD086" if path else "SD086.missing", number, uri=uri.strip(), reason=problem, hint=[hint])
    return structs.replace(found, texture=Texture(uri, path=path))


def _text_of(element: Tree | None) -> str:
    return "" if element is None else element.text or ""


def _geometry(source: SdfContext, node: Node, element: str) -> Geometry | None:
    element_node: Node | None = node.fields.get("geometry")
    found = [kind for kind in GEOMETRIES if element_node is not None and kind in element_node.fields]
    if element_node is None or not found:
        unsupported = next(
            (kind for kind in UNSUPPORTED_GEOMETRIES if element_node is not None and kind in element_node.fields), ""
        )
        if unsupported != "empty":  # an explicit absence of geometry
            key = "SD080.unknown" if unsupported else "SD080.none"
            source.report(key, node.number, element=element, kind=unsupported)
        return None
    kind = found[0]
    if len(found) > 1:
        source.report("SD080.several", element_node.number, kind=kind)
    if kind == "polyline":
        return _polylines(source, element_node.nodes(kind))
    inner: Node = element_node.fields[kind]
    return _GEOMETRY_READERS[kind](source, inner, kind)


def _sizes(source: SdfContext, node: Node, *names: str) -> list[float] | None:
    """The values of some lengths; None if one is missing or not positive, which is reported."""
    values: list[float] = []
    for name in names:
        stated = node.fields.get(name)
        if stated is None:
            return None
        own = stated if isinstance(stated, tuple) else (stated,)
        if min(own) <= 0.0:
            source.report("SD025", node.number, name, element=name, found=min(own))
            return None
        values += own
    return values


def _box(source: SdfContext, node: Node, _: str) -> Geometry | None:
    sizes = _sizes(source, node, "size")
    return Box((sizes[0], sizes[1], sizes[2])) if sizes else None


def _sphere(source: SdfContext, node: Node, _: str) -> Geometry | None:
    sizes = _sizes(source, node, "radius")
    return Sphere(sizes[0]) if sizes else None


def _ellipsoid(source: SdfContext, node: Node, _: str) -> Geometry | None:
    sizes = _sizes(source, node, "radii")
    return Ellipsoid((2.0 * sizes[0], 2.0 * sizes[1], 2.0 * sizes[2])) if sizes else None


def _round(source: SdfContext, node: Node, kind: str) -> Geometry | None:
    sizes = _sizes(source, node, "radius", "length")
    return _ROUND[kind](sizes[0], sizes[1]) if sizes else None


def _plane(source: SdfContext, node: Node, _: str) -> Geometry:
    normal: Vector = node.fields.get("normal", (0.0, 0.0, 1.0))
    length = hypot(*normal)
    if length == 0.0:
        source.report("SD080.normal", node.number, "normal")
        return Plane((0.0, 0.0, 1.0))
    length = unit_divisor(length)
    x, y, z = normal
    return Plane((x / length, y / length, z / length))


def _mesh(source: SdfContext, node: Node, _: str) -> Geometry | None:
    uri: str | None = node.fields.get("uri")
    scale: Vector = node.fields.get("scale", (1.0, 1.0, 1.0))
    if uri is None:
        return None
    if 0.0 in scale:
        source.report("SD025.scale", node.number, "scale")
        return None
    found = source.find(uri)
    if found.path is None:
        source.report("SD081.missing", node.number, "uri", uri=uri, hint=[source.search_hint(uri)])
        return Mesh(uri, scale)
    extent = source.extent(str(found.path))
    if isinstance(extent, str):
        source.report("SD081.unreadable", node.number, "uri", uri=uri, reason=extent)
        return Mesh(uri, scale, str(found.path))
    return Mesh(uri, scale, str(found.path), extent)


def _polylines(source: SdfContext, nodes: Sequence[Node]) -> Geometry | None:
    """The prism of all polylines, with the height of the first, as in Gazebo."""
    polygons = [[point for point in one.fields.get("point", ()) if isinstance(point, tuple)] for one in nodes]
    heights = [_sizes(source, one, "height") for one in nodes]
    if heights[0] is None:
        return None
    other = next((one for one, height in zip(nodes, heights, strict=True) if height != heights[0]), None)
    if other is not None:
        source.report("SD080.height", other.number, height=heights[0][0])
    found = extrude(polygons, heights[0][0])
    if found is None:
        source.report("SD080.polyline", nodes[0].number, most=MOST_CORNERS)
    return found


_ROUND: dict[str, type[Cylinder] | type[Capsule] | type[Cone]] = {
    "cylinder": Cylinder,
    "capsule": Capsule,
    "cone": Cone,
}
_GEOMETRY_READERS: dict[str, Callable[[SdfContext, Node, str], Geometry | None]] = {
    "box": _box,
    "sphere": _sphere,
    "cylinder": _round,
    "capsule": _round,
    "ellipsoid": _ellipsoid,
    "cone": _round,
    "plane": _plane,
    "mesh": _mesh,
}


DEFAULT_DENSITY = 1000.0
"""The density of a collision shape without one, kg/m³."""
_SUPPORTED = (Box, Sphere, Cylinder, Capsule, Ellipsoid)
"""Geometries whose moments about the centre are known."""

WeighedShape = tuple[Shape, float]
"""A shape and its density in kg/m³."""


def density_of(collision: Node, inertial: Node) -> float:
    """The density of a collision shape: its own, or the default of its link."""
    stated: float = collision.fields.get("density", inertial.fields.get("density", DEFAULT_DENSITY))
    return stated


def derive_inertia(lumps: Sequence[WeighedShape], mass: float | None) -> Inertia | None:
    """The total mass properties of solids, scaled to `mass` if given; None if they cannot be computed."""
    if not lumps or any(not isinstance(shape.geometry, _SUPPORTED) or density <= 0.0 for shape, density in lumps):
        return None
    solids = [solid_properties(shape.geometry) for shape, _ in lumps]
    masses = np.array([volume * density for (volume, _, _), (_, density) in zip(solids, lumps, strict=True)])
    total = float(masses.sum())
    poses = np.array([shape.pose.matrix() for shape, _ in lumps])
    centre = masses @ poses[:, :3, 3] / total
    tensor = np.zeros((3, 3))
    for weight, (_, diagonal, _), pose in zip(masses, solids, poses, strict=True):
        tensor += weight * spatial.rotate_moment(pose[:3, :3], np.diag(diagonal))
        tensor += weight * spatial.point_moment(pose[:3, 3] - centre)
    scale = 1.0 if mass is None or mass <= 0.0 else mass / total
    xx, yy, zz, xy, xz, yz = (spatial.moment_entries(tensor) * scale).tolist()
    x, y, z = centre.tolist()
    return Inertia(mass=total * scale, com=(x, y, z), moment=(xx, yy, zz, xy, xz, yz))


# --- links ---------------------------------------------------------------------------------------------


DisplacedShape = tuple[Shape, StatedPose, Node]
"""A shape whose pose is relative to another frame than its link."""


def read_link(source: SdfContext, node: Node, name: str, *, static: bool) -> tuple[Body, list[DisplacedShape]]:
    """Read a body without its pose, and the shapes whose poses are relative to other frames."""
    inertial: Node | None = node.fields.get("inertial")
    body = Body(
        name=name,
        inertia=_inertia(source, node, name, static=static),
        gravity=node.fields.get("gravity", True),
        document=source.number,
        node=node.number,
        given=stated_fields((node, LINK_ELEMENT), (inertial, INERTIAL_ELEMENT)),
        repaired=invalid_fields((node, LINK_ELEMENT), (inertial, INERTIAL_ELEMENT)),
    )
    report_unsupported_motion(source, node)
    if (soft := node.fields.get("soft_shape")) is not None:
        body.soft = _soft_body(source, soft)
    solids: list[WeighedShape] = []
    is_auto = inertial is not None and inertial.fields.get("@auto", False)
    displaced: list[DisplacedShape] = []
    for element, shapes in (("visual", body.visuals), ("collision", body.collisions)):
        for one in node.nodes(element):
            made = read_shape(source, one, element)
            if made is not None:
                shapes.append(made[0])
                if made[1].relative_to:
                    displaced.append((made[0], made[1], one))
                if is_auto and inertial is not None and element == "collision":
                    solids.append((made[0], density_of(one, inertial)))
    _merge_shown(source, body, displaced)
    if is_auto and inertial is not None:
        # The poses of displaced shapes are not known yet.
        found = derive_inertia(solids, inertial.fields.get("mass")) if not displaced else None
        if found is None:
            source.report("SD070.auto", inertial.number, attribute="auto", name=name)
        body.inertia = found or body.inertia
    return body, displaced


_SHOWN = frozenset({"pose", "geometry", "material"})
_SHOWN_MATERIAL = frozenset(
    {"material", "ambient", "diffuse", "pbr", "metal", "roughness", "metalness", TEXTURE_ELEMENT}
)


def _merge_shown(source: SdfContext, body: Body, displaced: list[DisplacedShape]) -> None:
    """Remove visuals that only show the collision shapes, which get their appearance."""
    pairs = collision_visuals.shown_pairs(body) if body.visuals and not displaced else []
    if pairs and all(_states_appearance(source.elements[visual.node]) for visual, _ in pairs):
        for visual, solid in pairs:
            collision_visuals.give_appearance(visual, solid)
        body.visuals.clear()


def _states_appearance(visual: Tree) -> bool:
    """Whether a visual states only what is written for a collision shape."""
    material = visual.find("material")
    if material is None:
        return {one.tag for one in visual} <= _SHOWN
    colors = [_text_of(material.find(tag)) for tag in ("ambient", "diffuse")]
    tags = {one.tag for one in material.iter()}
    return {one.tag for one in visual} <= _SHOWN and tags <= _SHOWN_MATERIAL and colors[0] == colors[1]


def report_unsupported_motion(source: SdfContext, node: Node) -> None:
    """Report settings of the motion of a link or model that a scene does not support."""
    decay: Node | None = node.fields.get("velocity_decay")
    lost = [name for name in ("kinematic", "enable_wind") if node.fields.get(name)]
    if decay is not None and any(decay.fields.values()):
        lost.append("velocity_decay")
    for name in lost:
        source.report("SD012.physics", node.number, name, element=name)


# --- soft skins ----------------------------------------------------------------------------------------


def _soft_body(source: SdfContext, node: Node) -> SoftBody | None:
    """DART's soft skin; None if it is invalid, which is reported."""
    inner: Node | None = node.fields.get("geometry")
    mass: float | None = node.fields.get("total_mass")
    found = [kind for kind in SOFT_GEOMETRIES if inner is not None and kind in inner.fields]
    if inner is None or mass is None:
        return None
    if mass < 0.0:
        source.report("SD084.mass", node.number, "total_mass", found=mass)
        return None
    geometry: SoftGeometry | None = None
    cut: Tessellation | None = Tessellation()
    if found:
        kind: Node = inner.fields[found[0]]
        geometry, cut = _soft_geometry(source, kind, found[0]), _tessellation(source, kind)
        if geometry is None or cut is None:
            return None
    return SoftBody(
        total_mass=mass,
        geometry=geometry,
        tessellation=cut or Tessellation(),
        pose=source.pose(node).pose if found and found[0] == "box" else IDENTITY,
        vertex_stiffness=node.fields.get("kv", 1.0),
        edge_stiffness=node.fields.get("ke", 1.0),
        damping=node.fields.get("damp", 0.01),
        document=source.number,
        node=node.number,
        given=stated_fields((node, SOFT_ELEMENT)),
        repaired=invalid_fields((node, SOFT_ELEMENT)),
    )


def _soft_geometry(source: SdfContext, node: Node, kind: str) -> SoftGeometry | None:
    sizes = _sizes(source, node, *_SOFT_SIZES[kind])
    if sizes is None:
        return None
    match kind:
        case "sphere":
            return Sphere(sizes[0])
        case "cylinder":
            return Cylinder(sizes[0], sizes[1])
    size = (sizes[0], sizes[1], sizes[2])
    return Box(size) if kind == "box" else Ellipsoid(size)


_SOFT_SIZES = {"sphere": ("radius",), "box": ("size",), "ellipsoid": ("size",), "cylinder": ("radius", "height")}


def _tessellation(source: SdfContext, node: Node) -> Tessellation | None:
    """The resolution of a skin; None if a number is not whole or out of range, which is reported."""
    given: dict[str, tuple[float, ...]] = {"frags": node.fields.get("frags", (3.0, 3.0, 3.0))}
    given |= {name: (node.fields.get(f"num_{name}", 0.0),) for name in ("slices", "stacks", "rings")}
    for name, values in given.items():
        tag, least = (name, 3) if name == "frags" else (f"num_{name}", 1)
        if tag in node.fields and not all(least <= one <= _MOST_FRAGMENTS and one == int(one) for one in values):
            source.report("SD084.count", node.number, tag, element=tag, least=least, most=_MOST_FRAGMENTS)
            return None
    x, y, z = (int(one) for one in given["frags"])
    slices, stacks, rings = (int(given[name][0]) for name in ("slices", "stacks", "rings"))
    return Tessellation((x, y, z), slices, stacks, rings)


_MOST_FRAGMENTS = 10_000


def _inertia(source: SdfContext, link: Node, name: str, *, static: bool) -> Inertia:
    node: Node | None = link.fields.get("inertial")
    if node is None:
        if not static:
            source.report("SD070.default", link.number, name=name)
        return Inertia()
    mass: float = node.fields.get("mass", 1.0)
    if mass <= 0.0:
        source.report("SD070.mass", node.number, "mass", found=mass)
        mass = 1.0
    pose = source.pose(node).pose
    return Inertia(mass=mass, com=pose.position, moment=_moment(source, node, pose, name))


def _moment(source: SdfContext, node: Node, pose: Pose, name: str) -> Moment:
    """The moments about the centre of mass, rotated from the frame of the inertial to that of the link."""
    stated: Node | None = node.fields.get("inertia")
    if stated is None:
        return UNIT_MOMENT
    xx, yy, zz, xy, xz, yz = (stated.fields.get(e, UNIT_MOMENT[i]) for i, e in enumerate(MOMENT))
    moment: Moment = (xx, yy, zz, xy, xz, yz)
    check = check_moment(moment)
    if not (check.definite and check.triangle):
        source.report("SD070.moment", stated.number, name=name)
    if pose.is_identity or Pose((0.0, 0.0, 0.0), pose.rotation).is_identity:
        return moment
    rotated = spatial.rotate_moment(pose.rotation.matrix(), spatial.moment_matrix(moment))
    xx, yy, zz, xy, xz, yz = spatial.moment_entries(rotated).tolist()
    return (xx, yy, zz, xy, xz, yz)
