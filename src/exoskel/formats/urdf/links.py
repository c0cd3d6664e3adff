"""Read links: mass properties and shapes."""

from __future__ import annotations

from collections.abc import Callable

from exoskel import spatial
from exoskel.diagnostics import PACKAGE_HINT, did_you_mean
from exoskel.formats.urdf.context import Context, pose_of
from exoskel.formats.urdf.vocabulary import COLLISION_ELEMENT, GEOMETRIES, LINK_ELEMENT, MOMENT_ENTRIES, VISUAL_ELEMENT
from exoskel.scene.body import Body
from exoskel.scene.inertia import NO_MOMENT, Inertia, Moment, check_moment
from exoskel.scene.item import Names
from exoskel.scene.pose import NO_ROTATION, Vector
from exoskel.scene.shape import Box, Capsule, Color, Cylinder, Geometry, Mesh, Shape, Sphere
from exoskel.source.flat_tree import Node
from exoskel.source.vocabulary import Element

_NOT_FOUND_REASONS = {
    "scheme": "cannot be resolved",
    "foreign_file_uri": "is on another machine",
    "no_base": "is relative, but the document has no location",
    "outside": "is outside the document's directory, which is not allowed here",
}
_UNUSUAL = {
    "spaces": "it has spaces around it",
    "backslash": "it contains backslashes",
    "percent": "it contains percent codes",
    "fragment": "it contains # or ?",
    "relative_file_uri": "it is a file: URI with a relative path",
}


class ShapeReader:
    """Creates shapes.  Colours of named materials are set at the end, when all materials are known."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.report = context.report
        self.colors: dict[str, Color | None] = {}
        self._inline: dict[str, Color] = {}
        """Materials that a visual defines; readers accept them in other visuals too."""
        self._references: list[tuple[Shape, str, int]] = []

    def shapes(self, nodes: list[Node], rule: Element) -> list[Shape]:
        return [made for node in nodes if (made := self._shape(node, rule)) is not None]

    def _shape(self, node: Node, rule: Element) -> Shape | None:
        element: Node | None = node.fields.get("geometry")
        geometry = self._geometry(element) if element is not None else None
        if geometry is None:
            return None
        shape = Shape(
            geometry=geometry,
            pose=pose_of(node.fields.get("origin")),
            name=node.fields.get("@name", ""),
            **self.context.origin(node, rule),
        )
        material: Node | None = node.fields.get("material")
        if material is not None:
            self._color(shape, material)
        return shape

    # --- materials ------------------------------------------------------------------------------------

    def material(self, node: Node) -> None:
        """Add a material of the robot."""
        name: str | None = node.fields.get("@name")
        if name is not None and name in self.colors:
            self.report("UR301.material", node.number, attribute="name", name=name)
        elif name is not None:
            self.colors[name] = _rgba(node)

    def _color(self, shape: Shape, material: Node) -> None:
        name: str | None = material.fields.get("@name")
        color = _rgba(material)
        if color is not None:
            shape.color = color
            if name is not None:
                self._inline.setdefault(name, color)
        elif name is not None and "texture" not in material.fields:
            self._references.append((shape, name, material.number))

    def resolve_materials(self) -> None:
        for shape, name, number in self._references:
            if name in self.colors or name in self._inline:
                shape.color = self.colors.get(name) or self._inline.get(name)
            else:
                suggestion = did_you_mean(name, [*self.colors, *self._inline])
                self.report("UR406", number, attribute="name", name=name, suggestion=suggestion)

    # --- geometry -------------------------------------------------------------------------------------

    def _geometry(self, element: Node) -> Geometry | None:
        kinds = [kind for kind in GEOMETRIES if kind in element.fields]
        if not kinds:
            self.report("UR403", element.number)
            return None
        if len(kinds) > 1:
            self.report("UR403.several", element.number, kinds=kinds, taken=kinds[0])
        node: Node = element.fields[kinds[0]]
        if kinds[0] == "capsule":
            self.report("UR403.capsule", node.number)
        return _GEOMETRY_READERS[kinds[0]](self, node)

    def _length(self, node: Node, element: str, name: str) -> float | None:
        value: float | None = node.fields.get(f"@{name}")
        if value is not None and value <= 0.0:
            self.report("UR404", node.number, attribute=name, name=name, element=element, value=value)
            return None
        return value

    def _box(self, node: Node) -> Box | None:
        size: Vector | None = node.fields.get("@size")
        if size is not None and min(size) <= 0.0:
            self.report("UR404", node.number, attribute="size", name="size", element="box", value=min(size))
            return None
        return None if size is None else Box(size)

    def _sphere(self, node: Node) -> Sphere | None:
        radius = self._length(node, "sphere", "radius")
        return None if radius is None else Sphere(radius)

    def _cylinder(self, node: Node) -> Cylinder | None:
        sizes = self._tube(node, "cylinder")
        return None if sizes is None else Cylinder(*sizes)

    def _capsule(self, node: Node) -> Capsule | None:
        sizes = self._tube(node, "capsule")
        return None if sizes is None else Capsule(*sizes)

    def _tube(self, node: Node, element: str) -> tuple[float, float] | None:
        radius, length = self._length(node, element, "radius"), self._length(node, element, "length")
        return None if radius is None or length is None else (radius, length)

    def _mesh(self, node: Node) -> Mesh | None:
        uri: str | None = node.fields.get("@filename")
        scale: Vector = node.fields.get("@scale", (1.0, 1.0, 1.0))
        if uri is None:
            return None
        if 0.0 in scale:
            self.report("UR404", node.number, attribute="scale", name="scale", element="mesh", value=0.0)
            return None
        found = self.context.find_mesh(uri)
        for finding in found.findings:
            if finding in _UNUSUAL:
                self.report("UR405.odd", node.number, attribute="filename", uri=uri, finding=_UNUSUAL[finding])
        if found.path is None:
            reason = next((_NOT_FOUND_REASONS[r] for r in found.findings if r in _NOT_FOUND_REASONS), "was not found")
            self._report_unusable(node, uri, reason)
            return Mesh(uri, scale)
        path = str(found.path)
        extent = self.context.mesh_extent(path)
        if isinstance(extent, str):
            self._report_unusable(node, uri, f"cannot be read: {extent}")
            return Mesh(uri, scale, path)
        return Mesh(uri, scale, path, extent)

    def _report_unusable(self, node: Node, uri: str, reason: str) -> None:
        hint = PACKAGE_HINT if uri.startswith("package:") else ""
        self.report("UR405.lost", node.number, attribute="filename", uri=uri, reason=reason, hint=hint)


def _rgba(material: Node) -> Color | None:
    color: Node | None = material.fields.get("color")
    found: Color | None = color.fields.get("@rgba") if color is not None else None
    return found


_GEOMETRY_READERS: dict[str, Callable[[ShapeReader, Node], Geometry | None]] = {
    "box": ShapeReader._box,
    "cylinder": ShapeReader._cylinder,
    "sphere": ShapeReader._sphere,
    "mesh": ShapeReader._mesh,
    "capsule": ShapeReader._capsule,
}


# --- links ---------------------------------------------------------------------------------------------


class LinkReader:
    """Creates bodies; their poses follow from the joints."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.report = context.report
        self.shapes = ShapeReader(context)
        self.names = Names()

    def body(self, node: Node) -> Body:
        name = self.context.name(node, "link", self.names)
        return Body(
            name=name,
            inertia=self._inertia(node.fields.get("inertial"), name),
            visuals=self.shapes.shapes(node.nodes("visual"), VISUAL_ELEMENT),
            collisions=self.shapes.shapes(node.nodes("collision"), COLLISION_ELEMENT),
            **self.context.origin(node, LINK_ELEMENT),
        )

    def _inertia(self, node: Node | None, link: str) -> Inertia:
        """The mass properties, with the tensor rotated to the link frame."""
        if node is None:
            return Inertia(mass=0.0, moment=NO_MOMENT)
        frame = pose_of(node.fields.get("origin"))
        moment = self._moment(node, link)
        if any(moment) and frame.rotation != NO_ROTATION:
            rotated = spatial.rotate_moment(frame.rotation.matrix(), spatial.moment_matrix(moment))
            xx, yy, zz, xy, xz, yz = spatial.moment_entries(rotated).tolist()
            moment = (xx, yy, zz, xy, xz, yz)
        return Inertia(mass=self._mass(node, link, moment), com=frame.position, moment=moment)

    def _mass(self, node: Node, link: str, moment: Moment) -> float:
        element: Node | None = node.fields.get("mass")
        mass: float = element.fields.get("@value", 0.0) if element is not None else 0.0
        if mass < 0.0 and element is not None:
            self.report("UR401", element.number, attribute="value", link=link, mass=mass)
            return 0.0
        if mass == 0.0 and any(moment):
            self.report("UR402.massless", node.number, link=link)
        return mass

    def _moment(self, node: Node, link: str) -> Moment:
        element: Node | None = node.fields.get("inertia")
        if element is None:
            return NO_MOMENT
        xx, yy, zz, xy, xz, yz = (float(element.fields.get(f"@{entry}", 0.0)) for entry in MOMENT_ENTRIES)
        moment = (xx, yy, zz, xy, xz, yz)
        check = check_moment(moment)
        if any(moment) and not (check.definite and check.triangle):
            shown = " ".join(f"{value:.3g}" for value in check.eigenvalues)
            self.report("UR402", element.number, link=link, moments=shown)
        return moment
