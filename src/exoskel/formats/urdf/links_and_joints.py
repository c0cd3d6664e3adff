"""Read links (mass properties, shapes) and joints (kind, axes, limits, dynamics, mimic)."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import numpy as np
from msgspec import Struct

from exoskel import spatial
from exoskel.diagnostics import did_you_mean
from exoskel.formats import collision_visuals
from exoskel.formats.urdf.context import UNBOUNDED, UrdfContext, mimics_itself, pose_of, range_of
from exoskel.formats.urdf.vocabulary import (
    COLLISION_ELEMENT,
    DYNAMICS,
    GEOMETRIES,
    JOINT_ELEMENT,
    JOINT_KINDS,
    LINK_ELEMENT,
    MOMENT_ENTRIES,
    SYMMETRIC_LIMITS,
    VISUAL_ELEMENT,
)
from exoskel.scene.body import Body
from exoskel.scene.inertia import NO_MOMENT, Inertia, Moment
from exoskel.scene.item import Names
from exoskel.scene.joint import TRAITS, Dof, Interval, Joint, JointKind, Mimic
from exoskel.scene.moment_checks import check_moment
from exoskel.scene.pose import NO_ROTATION, Pose, Vector
from exoskel.scene.shape import Box, Capsule, Color, Cylinder, Geometry, Material, Mesh, Shape, Sphere, Texture
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


class UrdfShapeReader:
    """Creates shapes.  Named materials are set at the end, when all of them are known."""

    def __init__(self, context: UrdfContext) -> None:
        self.context = context
        self.report = context.report
        self.materials: dict[str, _Appearance] = {}
        self._inline: dict[str, _Appearance] = {}
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
            self._paint(shape, material)
        return shape

    # --- materials ------------------------------------------------------------------------------------

    def material(self, node: Node) -> None:
        """Add a material of the robot."""
        name: str | None = node.fields.get("@name")
        if name is not None and name in self.materials:
            self.report("UR301.material", node.number, attribute="name", name=name)
        elif name is not None:
            self.materials[name] = self._appearance(node)

    def _paint(self, shape: Shape, material: Node) -> None:
        name: str = material.fields.get("@name", "")
        found = self._appearance(material)
        if found != _PLAIN:
            found.give_to(shape)
            if name:
                self._inline.setdefault(name, found)
        elif name and "texture" not in material.fields:
            self._references.append((shape, name, material.number))

    def resolve_materials(self) -> None:
        for shape, name, number in self._references:
            if name in self.materials or name in self._inline:
                shared = self.materials.get(name, _PLAIN)
                (self._inline.get(name, _PLAIN) if shared == _PLAIN else shared).give_to(shape)
            else:
                suggestion = did_you_mean(name, [*self.materials, *self._inline])
                self.report("UR406", number, attribute="name", name=name, suggestion=suggestion)

    def _appearance(self, material: Node) -> _Appearance:
        color: Node | None = material.fields.get("color")
        image: Node | None = material.fields.get("texture")
        uri: str = image.fields.get("@filename", "") if image is not None else ""
        return _Appearance(
            color.fields.get("@rgba") if color is not None else None,
            self._texture(image, uri) if image is not None and uri.strip() else None,
        )

    def _texture(self, node: Node, uri: str) -> Texture:
        path, problem = self.context.find_image(uri)
        if problem:
            hint = self.context.search_hint(uri) if path is None else ""
            self.report("UR408", node.number, attribute="filename", uri=uri, reason=[problem], hint=[hint])
        return Texture(uri, path=path)

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
        hint = self.context.search_hint(uri) if reason == _NOT_FOUND_REASONS["scheme"] else ""
        self.report("UR405.lost", node.number, attribute="filename", uri=uri, reason=[reason], hint=[hint])


class _Appearance(Struct, frozen=True):
    """What a material states."""

    color: Color | None = None
    texture: Texture | None = None

    def give_to(self, shape: Shape) -> None:
        shape.color = self.color
        shape.material = None if self.texture is None else Material(texture=self.texture)


_PLAIN = _Appearance()


_GEOMETRY_READERS: dict[str, Callable[[UrdfShapeReader, Node], Geometry | None]] = {
    "box": UrdfShapeReader._box,
    "cylinder": UrdfShapeReader._cylinder,
    "sphere": UrdfShapeReader._sphere,
    "mesh": UrdfShapeReader._mesh,
    "capsule": UrdfShapeReader._capsule,
}


# --- links ---------------------------------------------------------------------------------------------


class LinkReader:
    """Creates bodies; their poses follow from the joints."""

    def __init__(self, context: UrdfContext) -> None:
        self.context = context
        self.report = context.report
        self.shapes = UrdfShapeReader(context)
        self.names = Names()
        self._shown: list[tuple[Shape, Shape]] = []
        """Visuals that were removed because they only show collision shapes, with these."""

    def body(self, node: Node) -> Body:
        name = self.context.name(node, "link", self.names)
        body = Body(
            name=name,
            inertia=self._inertia(node.fields.get("inertial"), name),
            visuals=self.shapes.shapes(node.nodes("visual"), VISUAL_ELEMENT),
            collisions=self.shapes.shapes(node.nodes("collision"), COLLISION_ELEMENT),
            **self.context.origin(node, LINK_ELEMENT),
        )
        if body.visuals and (pairs := collision_visuals.shown_pairs(body)):
            self._shown += pairs
            body.visuals.clear()
        return body

    def resolve_materials(self) -> None:
        """Set the named materials of shapes, when all of them are known."""
        self.shapes.resolve_materials()
        for visual, solid in self._shown:
            collision_visuals.give_appearance(visual, solid)

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


_LIMITED = ("revolute", "prismatic")
_X: Vector = (1.0, 0.0, 0.0)


class JointSpec(Struct):
    """A joint as stated in the file: the names of its links, and its frame in the parent at position zero."""

    name: str
    node: Node
    kind: JointKind
    parent: str
    child: str
    frame: Pose
    type: str

    @property
    def number(self) -> int:
        return self.node.number


class UrdfJointReader:
    def __init__(self, context: UrdfContext) -> None:
        self.context = context
        self.report = context.report
        self.names = Names()

    def read_spec(self, node: Node) -> JointSpec | None:
        """Read a joint element; None if its parent or child is missing."""
        fields = node.fields
        name = self.context.name(node, "joint", self.names)
        parent, child = (_link_name(fields.get(end)) for end in ("parent", "child"))
        if parent is None or child is None:
            self.report("UR302.ends", node.number, joint=name)
            return None
        type = fields.get("@type", "fixed")
        return JointSpec(name, node, JOINT_KINDS[type], parent, child, pose_of(fields.get("origin")), type)

    def joint(self, spec: JointSpec, child: Body, parent: Body | None) -> Joint:
        joint = Joint(
            name=spec.name,
            kind=spec.kind,
            child=child,
            parent=parent,
            axes=self._axes(spec),
            **self.context.origin(spec.node, JOINT_ELEMENT),
        )
        if spec.kind == "planar":
            joint.plane = "arbitrary"
            self.report("UR505", spec.number, joint=spec.name)
        if spec.kind in _LIMITED:
            self._dof(spec, joint.dofs[0])
        mimic: Node | None = spec.node.fields.get("mimic")
        if mimic is not None and "@joint" in mimic.fields:
            multiplier, offset = mimic.fields.get("@multiplier", 1.0), mimic.fields.get("@offset", 0.0)
            joint.mimic = Mimic(mimic.fields["@joint"], multiplier, offset)
        return joint

    # --- axes -----------------------------------------------------------------------------------------

    def _axes(self, spec: JointSpec) -> tuple[Vector, ...]:
        if spec.kind in ("weld", "free"):
            return ()
        element: Node | None = spec.node.fields.get("axis")
        axis: Vector = element.fields.get("@xyz", _X) if element is not None else _X
        if not any(axis) and element is not None:
            self.report("UR501", element.number, attribute="xyz", joint=spec.name)
            axis = _X
        return _plane_directions(axis) if spec.kind == "planar" else (axis,)

    # --- limits and dynamics --------------------------------------------------------------------------

    def _dof(self, spec: JointSpec, dof: Dof) -> None:
        limit: Node | None = spec.node.fields.get("limit")
        if limit is not None:
            self._limits(spec, limit, dof)
        elif spec.type in _LIMITED:
            self.report("UR502", spec.number, kind=spec.type, joint=spec.name)
        dynamics: Node | None = spec.node.fields.get("dynamics")
        if dynamics is not None:
            for attribute, field in DYNAMICS.items():
                setattr(dof, field, self._resistance(spec, dynamics, attribute))

    def _limits(self, spec: JointSpec, limit: Node, dof: Dof) -> None:
        if spec.type in _LIMITED:
            lower, upper = limit.fields.get("@lower", 0.0), limit.fields.get("@upper", 0.0)
            if lower > upper:
                self.report("UR502.order", limit.number, joint=spec.name, lower=lower, upper=upper)
                lower, upper = upper, lower
            dof.position_limits = range_of(lower, upper)
        for attribute, field in SYMMETRIC_LIMITS.items():
            setattr(dof, field, self._symmetric_limit(spec, limit, attribute))

    def _symmetric_limit(self, spec: JointSpec, limit: Node, attribute: str) -> Interval:
        value: float | None = limit.fields.get(attribute)
        name = attribute[1:]
        if value is None:
            if not limit.is_invalid(attribute):
                self.report("UR106.limit", limit.number, attribute_name=name)
            return (-inf, inf)
        if value < 0.0:
            self.report("UR502.negative", limit.number, attribute=name, name=name, joint=spec.name, value=value)
        elif value == 0.0:
            self.report("UR502.zero", limit.number, attribute=name, name=name, joint=spec.name)
        size = abs(value) if abs(value) != UNBOUNDED else inf
        return (-size, size)

    def _resistance(self, spec: JointSpec, dynamics: Node, attribute: str) -> float:
        value: float = dynamics.fields.get(attribute, 0.0)
        if value < 0.0:
            name = attribute[1:]
            self.report("UR504", dynamics.number, attribute=name, name=name, joint=spec.name, value=value)
            return 0.0
        return value

    # --- mimic ----------------------------------------------------------------------------------------

    def check_mimics(self, joints: list[Joint]) -> None:
        """Remove mimics of unknown joints, of themselves, or of joints with other degrees of freedom."""
        by_name = {joint.name: joint for joint in joints}
        for joint in joints:
            mimic = joint.mimic
            if mimic is None:
                continue
            other = by_name.get(mimic.joint)
            if other is None:
                suggestion = did_you_mean(mimic.joint, by_name)
                self.report(
                    "UR503",
                    joint.node,
                    "mimic",
                    attribute="joint",
                    joint=joint.name,
                    other=mimic.joint,
                    suggestion=suggestion,
                )
            elif mimics_itself(joint, by_name):
                self.report("UR503.self", joint.node, "mimic", joint=joint.name, other=mimic.joint)
            elif len(TRAITS[other.kind].motion) != len(joint.motion):
                own, theirs = len(joint.motion), len(other.motion)
                self.report(
                    "UR503.unlike", joint.node, "mimic", joint=joint.name, other=other.name, own=own, theirs=theirs
                )
            else:
                continue
            joint.mimic = None


def _link_name(node: Node | None) -> str | None:
    found: str | None = node.fields.get("@link") if node is not None else None
    return found


def _plane_directions(normal: Vector) -> tuple[Vector, Vector]:
    """The x and y axes after the shortest rotation that aligns z with the normal."""
    z = np.array([0.0, 0.0, 1.0])
    n = spatial.unit(normal)
    across = np.cross(z, n)
    angle = float(np.arctan2(np.linalg.norm(across), n[2]))
    rotation = spatial.axis_angle_matrix(across if across.any() else [1.0, 0.0, 0.0], angle)
    (a, b, c), (d, e, f) = rotation[:, 0].tolist(), rotation[:, 1].tolist()
    return ((a, b, c), (d, e, f))
