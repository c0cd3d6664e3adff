"""Write materials and shapes, as USD primitives if possible and as meshes otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct, structs

from exoskel import spatial
from exoskel.formats.usd.codes import CATALOGUE
from exoskel.formats.usd.mapping import MATERIAL_INPUTS, SHAPES, SKIN
from exoskel.formats.usd.textures import IMAGE, KINDS, PLACES, texture_shaders
from exoskel.formats.usd.tree import Identifiers, Prim, PrimPath, Properties, Varying
from exoskel.scene.body import SoftBody
from exoskel.scene.pose import pose_matrices
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
    MultiSphere,
    Plane,
    Pyramid,
    Shape,
    Sphere,
    Texture,
    TriMesh,
    kind_of,
    simplest_geometry,
    texture_of,
)
from exoskel.scene.soft_skin import soft_skin
from exoskel.source.file_lookup import uri_scheme
from exoskel.source.mesh_textures import TexturedMeshFiles
from exoskel.source.output_context import OutputContext
from exoskel.source.surface import Surface, Surfaces
from exoskel.source.texture_coordinates import with_texture_coordinates
from exoskel.source.textures import ImageError
from exoskel.spatial import Array

FRICTION = 1.0
"""The friction of shapes that state none, DART's default."""
SCOPE = "Looks"
_NO_COLOR = (0.5, 0.5, 0.5)
"""The colour of shapes that have none, as in usdview."""


class _Look(Struct, frozen=True):
    """What one material shows.  Without a colour, the displayed colours of the shape are shown, if it has any."""

    color: Color | None
    material: Material
    has_displayed_opacity: bool = False
    reference: str = ""
    """The reference to the image of the texture."""


class MaterialWriter:
    """The materials of one world: one for each appearance, and one for each friction and restitution."""

    def __init__(self, world: str) -> None:
        self.path = f"{world}/{SCOPE}"
        self.names = Identifiers(("contact",))
        self.found: dict[_Look, PrimPath] = {}
        self.contacts: dict[tuple[float, float], PrimPath] = {(FRICTION, 0.0): self.contact}

    @property
    def contact(self) -> PrimPath:
        """The material of colliders that state neither friction nor restitution."""
        return PrimPath(f"{self.path}/contact")

    def of_contact(self, shape: Shape) -> PrimPath:
        """The material of the friction and restitution of a shape, created on first use."""
        key = (FRICTION if shape.friction is None else shape.friction, shape.restitution or 0.0)
        path = self.contacts.get(key)
        if path is None:
            path = self.contacts[key] = PrimPath(f"{self.path}/{self.names.unique('contact', 'contact')}")
        return path

    def of(
        self,
        color: Color | None,
        material: Material | None = None,
        *,
        with_opacity: bool = False,
        reference: str = "",
    ) -> PrimPath:
        """The material of an appearance, created on first use.

        `with_opacity` if the shape displays opacities; `reference` is that to the image of the texture.
        """
        key = _Look(color, material or Material(), with_opacity, reference)
        path = self.found.get(key)
        if path is None:
            name = "surface" if color is None else "color"
            path = self.found[key] = PrimPath(f"{self.path}/{self.names.unique(name, name)}")
        return path

    def prim(self) -> Prim:
        contacts = [_contact_material(*key, path) for key, path in self.contacts.items()]
        return Prim("Scope", SCOPE, children=[*contacts, *(_material(key, path) for key, path in self.found.items())])


def _contact_material(friction: float, restitution: float, path: PrimPath) -> Prim:
    made = Prim("Material", path.rpartition("/")[2], apis=["PhysicsMaterialAPI"])
    made.properties |= {
        "float physics:staticFriction": friction,
        "float physics:dynamicFriction": friction,
        "float physics:restitution": restitution,
    }
    return made


def _material(look: _Look, path: PrimPath) -> Prim:
    shader = Prim("Shader", "shader")
    made = Prim("Material", path.rpartition("/")[2], children=[shader])
    for name, value in zip(MATERIAL_INPUTS, (look.material.roughness, look.material.metalness), strict=True):
        if value is not None:
            shader.properties[f"float {name}"] = value
    shader.properties["uniform token info:id"] = "UsdPreviewSurface"
    if look.reference and look.material.texture is not None:
        made.children += texture_shaders(path, look.material.texture, look.reference, look.color)
        shader.properties["color3f inputs:diffuseColor.connect"] = PrimPath(f"{path}/{IMAGE}.outputs:rgb")
    elif look.color is not None:
        shader.properties["color3f inputs:diffuseColor"] = look.color[:3]
    if look.color is not None:
        shader.properties["float inputs:opacity"] = look.color[3]
    elif not look.reference:
        made.children.append(_displayed("displayColor", "float3", _NO_COLOR))
        shader.properties["color3f inputs:diffuseColor.connect"] = PrimPath(f"{path}/displayColor.outputs:result")
    if look.has_displayed_opacity:
        made.children.append(_displayed("displayOpacity", "float", 1.0))
        shader.properties["float inputs:opacity.connect"] = PrimPath(f"{path}/displayOpacity.outputs:result")
    shader.properties["token outputs:surface"] = None
    made.properties["token outputs:surface.connect"] = PrimPath(f"{path}/shader.outputs:surface")
    return made


def _displayed(primvar: str, kind: str, fallback: object) -> Prim:
    """The shader that reads a primvar of the shape."""
    made = Prim("Shader", primvar)
    made.properties |= {
        "uniform token info:id": f"UsdPrimvarReader_{kind}",
        "string inputs:varname": primvar,
        f"{kind} inputs:fallback": fallback,
        f"{kind} outputs:result": None,
    }
    return made


# --- shapes --------------------------------------------------------------------------------------------


MESHES = "Meshes"
"""The root prim of meshes that are used more than once."""
_NORMAL_ERRORS = 1e3
"""How much larger the rounding errors of normals are than those of unit vectors: edges are differences."""
_SKIN_COLOR = (0.9, 0.55, 0.6, 0.55)
_PLANE_SIZE = 100.0
"""The drawn size of a plane, m."""
_NO_TRANSLATION, _NO_ROTATION = [0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]
_HULLS = (Ellipsoid, MultiSphere, Pyramid)
"""Geometries that collide as the convex hull of their mesh."""

Use = tuple[Geometry, bool]
"""A geometry, and whether it is visual (True) or a collider (False)."""


class UsdShapeWriter:
    """The shapes of a scene; their poses are computed all at once.  `files` copies the images of textures."""

    def __init__(
        self, visual: Iterable[Shape], collider: Iterable[Shape], output: OutputContext, files: OutputContext
    ) -> None:
        self.output, self._files = output, files
        self.surfaces, self._textured = Surfaces(), Surfaces(files=TexturedMeshFiles())
        self.textures: dict[str, Texture] = {}
        """The textures that are written, by the references to their images."""
        visual, collider = list(visual), list(collider)
        self.places = _places([*visual, *collider])
        uses: list[Use] = [(s.geometry, True) for s in visual if _is_mesh(s.geometry, True)]
        uses += [(s.geometry, False) for s in collider if _is_mesh(s.geometry, False)]
        self.shared: dict[Use, PrimPath] = {}
        self.prototypes: list[Prim] = []
        self.names = Identifiers()
        self.reused = {use for use, count in Counter(uses).items() if count > 1}

    def visual(self, shape: Shape, name: str, looks: MaterialWriter) -> Prim | None:
        """The prim of a visual shape."""
        made = self._gprim(shape, name, is_visual=True)
        if made is not None:
            self._add_look(made, shape, looks)
        return made

    def _add_look(self, made: Prim, shape: Shape, looks: MaterialWriter) -> None:
        """Add the colour and the material of a shape."""
        reference = self._reference(made, shape)
        if shape.color is not None:
            _add_color(made, shape.color, looks, shape.material, reference)
        elif shape.material not in (None, Material()):
            is_clear = not reference and self._has_opacity(shape.geometry)
            _bind(made, "", looks.of(None, shape.material, with_opacity=is_clear, reference=reference))

    def _reference(self, made: Prim, shape: Shape) -> str:
        """The reference to the image of a shape's texture; empty without one, or if it cannot be written."""
        texture = texture_of(shape)
        if texture is None:
            return ""
        try:
            is_uri = bool(uri_scheme(texture.uri)) and not self._files.is_archive
            if texture.path is not None and is_uri:  # programs for USD know no packages of robots
                path, folder = Path(texture.path), self._files.folder
                uri = texture.path if folder is None else self._files.relative_path(path, folder)
                texture = structs.replace(texture, uri=uri)
            reference = self._files.texture_reference(texture, KINDS if texture.path is not None else frozenset())
        except ImageError as error:
            self.output.add_loss(shape, CATALOGUE["US314"], "material", uri=texture.uri, reason=error)
            return ""
        self.textures[reference] = texture
        has_places = isinstance(shape.geometry, TriMesh) and shape.geometry.uvs is not None
        if PLACES not in made.properties and not has_places:
            self.output.add_loss(shape, CATALOGUE["US215"], "material", changes_effect=True, kind=made.type)
        return reference

    def _has_opacity(self, geometry: Geometry) -> bool:
        """Whether a mesh file has transparent colours."""
        surface = self.surfaces.of(geometry) if isinstance(geometry, Mesh) else None
        return surface is not None and surface.colors is not None and bool((surface.colors[:, 3] < 1.0).any())

    def collider(self, shape: Shape, name: str, looks: MaterialWriter, *, is_hidden: bool) -> Prim | None:
        """The prim of a collision shape; hidden if the body has visual shapes."""
        made = self._gprim(shape, name, is_visual=False)
        if made is None:
            return None
        made.apis.append("PhysicsCollisionAPI")
        if made.type == "Mesh":
            made.apis.append("PhysicsMeshCollisionAPI")
            hull = isinstance(shape.geometry, _HULLS)
            made.properties["uniform token physics:approximation"] = "convexHull" if hull else "none"
        if not shape.collidable:
            made.properties["bool physics:collisionEnabled"] = False
        self._add_look(made, shape, looks)
        if shape.friction is not None or shape.restitution is not None:
            _bind(made, ":physics", looks.of_contact(shape))
        if is_hidden:
            made.properties["uniform token purpose"] = "guide"
        return made

    def skin(self, soft: SoftBody, name: str, looks: MaterialWriter) -> Prim:
        """The prim of the skin of a soft body at rest, which is not a shape of the scene."""
        skin = soft_skin(soft)
        surface = self.surfaces.of(TriMesh(skin.points, skin.faces))
        assert surface is not None
        made = Prim(
            "Mesh", name, properties=_triangles(surface, is_visual=True), metadata={"customData": {SKIN: "true"}}
        )
        _add_color(made, _SKIN_COLOR, looks)
        return made

    def meshes(self) -> Prim | None:
        """The scope of shared meshes; abstract, so that readers do not treat them as objects."""
        return Prim("Scope", MESHES, children=self.prototypes, specifier="class") if self.prototypes else None

    # --- geometry -------------------------------------------------------------------------------------

    def _gprim(self, shape: Shape, name: str, *, is_visual: bool) -> Prim | None:
        geometry = simplest_geometry(shape.geometry)
        row = SHAPES[kind_of(geometry)]
        if not row.prim:
            self.output.add_loss(shape, CATALOGUE["US308"], "geometry", kind=shape.kind)
            return None
        position, quaternion = self.places[id(shape)]
        if _is_mesh(geometry, is_visual):
            made = self._mesh(shape, name, is_visual)
            if made is not None:
                add_pose(made.properties, position, quaternion)
            return made
        made = Prim(row.prim, name, item=shape)
        scale = _add_primitive(made.properties, geometry)
        if isinstance(geometry, Plane | Cone):
            position, quaternion = _usd_origin(geometry, position, quaternion)
        add_pose(made.properties, position, quaternion, scale)
        return made

    def _mesh(self, shape: Shape, name: str, is_visual: bool) -> Prim | None:
        geometry = shape.geometry
        if not is_visual and isinstance(geometry, Ellipsoid | MultiSphere):
            self.output.add_loss(shape, CATALOGUE["US207"], "geometry", kind=shape.kind)
        surface = self.surfaces.of(geometry)
        if surface is None:
            self.output.add_loss(shape, CATALOGUE["US308.mesh"], "geometry", reason=self.surfaces.missing[geometry])
            return None
        if is_visual and texture_of(shape) is not None:
            placed = with_texture_coordinates(self._textured.of(geometry) or surface, geometry)
            return Prim("Mesh", name, properties=_triangles(placed, is_visual), item=shape)
        use = (geometry, is_visual)
        if use not in self.reused:
            return Prim("Mesh", name, properties=_triangles(surface, is_visual), item=shape)
        if use not in self.shared:
            called = self.names.unique("mesh", "mesh")
            self.shared[use] = PrimPath(f"/{MESHES}/{called}")
            self.prototypes.append(Prim("Mesh", called, properties=_triangles(surface, is_visual)))
        return Prim("Mesh", name, metadata={"references": self.shared[use]}, item=shape)


def _is_mesh(geometry: Geometry, is_visual: bool) -> bool:
    geometry = simplest_geometry(geometry)
    if isinstance(geometry, Ellipsoid):
        return not is_visual
    return isinstance(geometry, Mesh | TriMesh | MultiSphere | Pyramid)


def _places(shapes: list[Shape]) -> dict[int, tuple[list[float], list[float]]]:
    """Positions and quaternions in the body, by the shape's id."""
    transforms = pose_matrices([shape.pose for shape in shapes])
    quaternions = spatial.quaternion(transforms[:, :3, :3]).tolist() if shapes else []
    return {id(s): (p, q) for s, p, q in zip(shapes, transforms[:, :3, 3].tolist(), quaternions, strict=True)}


def _add_primitive(properties: Properties, geometry: Geometry) -> tuple[float, float, float] | None:
    """Add the properties of a USD primitive; returns its scale."""
    match geometry:
        case Box(size=size):
            properties["double size"] = 1.0
            return size
        case Sphere(radius=radius):
            properties["double radius"] = radius
        case Ellipsoid(size=size):
            properties["double radius"] = 0.5
            return size
        case Cylinder() | Capsule() | Cone():
            properties["double radius"] = geometry.radius
            properties["double height"] = geometry.height
            properties["uniform token axis"] = "Z"
        case Plane():
            properties["double width"] = _PLANE_SIZE
            properties["double length"] = _PLANE_SIZE
            properties["uniform token axis"] = "Z"
    return None


def _usd_origin(
    geometry: Plane | Cone, position: list[float], quaternion: list[float]
) -> tuple[list[float], list[float]]:
    """The pose of the geometry's origin in USD: on the plane, with z as its normal, or at half the height of a cone."""
    rotation = spatial.quaternion_matrix(quaternion)
    if isinstance(geometry, Cone):
        if geometry.centred:
            return position, quaternion
        return (spatial.array(position) + rotation @ (0.0, 0.0, geometry.height / 2.0)).tolist(), quaternion
    place = spatial.array(position) + geometry.offset * rotation @ spatial.array(geometry.normal)
    if geometry.normal != (0.0, 0.0, 1.0):
        quaternion = spatial.quaternion(rotation @ spatial.rotation_from_z(geometry.normal)).tolist()
    return place.tolist(), quaternion


def add_pose(
    properties: Properties,
    position: Sequence[float],
    quaternion: Sequence[float],
    scale: tuple[float, float, float] | None = None,
) -> None:
    """Add the pose of a shape, camera or light in its body; identity operations are not written."""
    order: list[str] = []
    for declaration, value, nothing in (
        ("double3 xformOp:translate", position, _NO_TRANSLATION),
        ("quatd xformOp:orient", quaternion, _NO_ROTATION),
        ("double3 xformOp:scale", scale, None),
    ):
        if value is not None and list(value) != nothing:
            properties[declaration] = tuple(value)
            order.append(declaration.partition(" ")[2])
    if order:
        properties["uniform token[] xformOpOrder"] = order


def _bind(made: Prim, purpose: str, material: PrimPath) -> None:
    """Bind a material to a shape, for a purpose such as `:physics`."""
    if "MaterialBindingAPI" not in made.apis:
        made.apis.append("MaterialBindingAPI")
    made.properties[f"rel material:binding{purpose}"] = material


def _add_color(
    made: Prim, color: Color, looks: MaterialWriter, material: Material | None = None, reference: str = ""
) -> None:
    _bind(made, "", looks.of(color, material, reference=reference))
    made.properties["color3f[] primvars:displayColor"] = [color[:3]]
    if color[3] != 1.0:
        made.properties["float[] primvars:displayOpacity"] = [color[3]]


def _triangles(surface: Surface, is_visual: bool) -> Properties:
    """The properties of a mesh; a visual mesh has normals and the colours of its file."""
    vertices, faces, corners = surface.vertices, surface.triangles, None
    if not is_visual:
        vertices, faces, corners = surface.merge_corners()
    properties: Properties = {
        "uniform token subdivisionScheme": "none",
        "float3[] extent": _bounds(vertices),
        "int[] faceVertexCounts": np.full(len(faces), 3),
        "int[] faceVertexIndices": faces.ravel(),
        "point3f[] points": spatial.without_noise(vertices, np.abs(vertices).max(initial=0.0)),
    }
    if corners is not None:
        properties[PLACES] = Varying(corners, "faceVarying")
    if is_visual:
        properties["normal3f[] normals"] = spatial.without_noise(surface.normals, _NORMAL_ERRORS)
        if surface.uv is not None:
            properties[PLACES] = Varying(surface.uv)
        if surface.colors is not None:
            properties["color3f[] primvars:displayColor"] = Varying(surface.colors[:, :3])
            properties["float[] primvars:displayOpacity"] = Varying(surface.colors[:, 3])
    return properties


def _bounds(vertices: Array) -> Array:
    return np.stack([vertices.min(axis=0), vertices.max(axis=0)])
