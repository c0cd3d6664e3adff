"""Reads the bodies of a SKEL skeleton: mass properties, markers and shapes."""

from __future__ import annotations

from math import isfinite

from exoskel import spatial
from exoskel.formats.skel.context import DOCUMENT, EXTREME, SkelContext
from exoskel.formats.skel.shapes import SkelShapeReader
from exoskel.formats.skel.vocabulary import BODY_ELEMENT, INERTIA_ELEMENT, MARKER_ELEMENT, MOMENT_ENTRIES
from exoskel.scene.body import Body, Marker
from exoskel.scene.inertia import Inertia, Moment
from exoskel.scene.item import Names, unique_name
from exoskel.scene.moment_checks import check_moment
from exoskel.scene.pose import IDENTITY, ZERO, Pose, Vector
from exoskel.source.flat_tree import Node, invalid_fields, merge_fields

_DEFAULT_MASS = 1.0


class SkelBodyReader:
    """Reads the `body` elements of all skeletons of one document."""

    def __init__(self, context: SkelContext) -> None:
        self.context = context
        self.report = context.report
        self.shapes = SkelShapeReader(context)
        self.derived: list[Body] = []
        """Bodies whose moment is derived from shapes, collected so that all are checked at once."""

    def read_bodies(self, nodes: list[Node]) -> dict[str, Body]:
        """The bodies of a skeleton by name, in document order."""
        bodies: dict[str, Body] = {}
        generated_names: Names | None = None
        for node in nodes:
            name = node.fields.get("@name")
            if name is None:
                generated_names = generated_names or Names(bodies)
                name = self._generate_name(node, generated_names)
            if generated_names is not None:
                generated_names.add(name)
            if name == "world":
                self.report("SK042", node.number, attribute="name")
            if name in bodies:
                self.report("SK040.repeated", node.number, attribute="name", name=name)
                if self.context.dart:
                    self._merge_duplicate(bodies[name], node)
                continue
            bodies[name] = self._read_body(node, name)
        return bodies

    def _generate_name(self, node: Node, taken: Names) -> str:
        name = "" if self.context.dart else unique_name("body", taken)
        self.report("SK040.missing", node.number, name=name)
        return name

    def _read_body(self, node: Node, name: str) -> Body:
        fields = node.fields
        mass_node: Node | None = fields.get("inertia")
        read_shapes = self.shapes.read_shapes
        body = Body(
            name=name,
            pose=fields.get("transformation", IDENTITY),
            inertia=Inertia() if mass_node is None else self._read_inertia(mass_node),
            gravity=fields.get("gravity", True),
            visuals=read_shapes(fields.get("visualization_shape", ()), visual=True),
            collisions=read_shapes(fields.get("collision_shape", ()), visual=False),
            document=DOCUMENT,
            node=node.number,
            given=_stated_fields(node, mass_node),
        )
        if "soft_shape" in fields:
            body.soft = self.shapes.read_soft_body(fields["soft_shape"])
        if "marker" in fields:
            body.markers = self._read_markers(node, soft=body.soft is not None)
        if "self_collide" in fields:
            body.ignored_values = {"self_collide": "true" if fields["self_collide"] else "false"}
        if node.invalid or (mass_node is not None and mass_node.invalid):
            body.repaired = invalid_fields((node, BODY_ELEMENT), (mass_node, INERTIA_ELEMENT))
        derives = body.inertia.moment is None and body.inertia.mass > 0.0
        self.shapes.report_missing_meshes(derives)
        if derives:
            self.derived.append(body)
        return body

    def _merge_duplicate(self, first: Body, node: Node) -> None:
        """Merge a body with a duplicate name as DART does: drop it, but add its shapes to the first body.

        DART derives the first body's moment again, from all shapes, only if the duplicate has a derived moment.
        """
        duplicate = self._read_body(node, first.name)
        self.derived = [body for body in self.derived if body is not duplicate]
        if duplicate.inertia.moment is None:
            if first.inertia.moment is not None and first.mass > 0.0:
                self.derived.append(first)
            first.inertia.moment = None
        else:
            first.inertia.moment = first.moment
            self.derived = [body for body in self.derived if body is not first]
        first.visuals.extend(duplicate.visuals)
        first.collisions.extend(duplicate.collisions)

    # --- mass properties ------------------------------------------------------------------------------

    def _read_inertia(self, node: Node) -> Inertia:
        fields = node.fields
        com: Vector = fields.get("offset", ZERO)
        obsolete_pose: Pose | None = None
        if "transformation" in fields:
            com, obsolete_pose = self._read_obsolete_transformation(node, com)
        moment = self._read_moment(fields["moment_of_inertia"]) if "moment_of_inertia" in fields else None
        if moment is not None and obsolete_pose is not None:
            tensor = spatial.rotate_moment(obsolete_pose.rotation.matrix(), spatial.moment_matrix(moment))
            xx, yy, zz, xy, xz, yz = spatial.moment_entries(tensor).tolist()
            moment = (xx, yy, zz, xy, xz, yz)
        return Inertia(self._read_mass(node), com, moment, self.context.options.inertia_rule)

    def _read_mass(self, node: Node) -> float:
        mass: float = node.fields.get("mass", _DEFAULT_MASS)
        if mass > 0.0 and isfinite(mass):
            self.context.extreme |= mass > EXTREME
            return mass
        if mass == 0.0:
            self.report("SK050.zero", node.number, "mass")
            return mass
        if mass < 0.0:
            self.report("SK050.negative", node.number, "mass", found=mass)
            if self.context.dart and isfinite(mass):
                return mass
        node.mark_invalid("mass")
        return _DEFAULT_MASS

    def _read_obsolete_transformation(self, node: Node, com: Vector) -> tuple[Vector, Pose | None]:
        """The centre of mass and the rotation from a `transformation` in `inertia`, as in DART's old wiki."""
        old: Pose = node.fields["transformation"]
        if "offset" in node.fields:
            self.report("SK053.both", node.number, "transformation")
            return com, None
        self.report("SK053", node.number, "transformation")
        return (com, None) if self.context.dart else (old.position, old)

    def _read_moment(self, node: Node) -> Moment | None:
        fields = node.fields
        if not fields.keys() >= {"ixx", "iyy", "izz"} or (self.context.dart and _is_incomplete(node)):
            return None
        xx, yy, zz, xy, xz, yz = (fields.get(name, 0.0) for name in MOMENT_ENTRIES)
        moment = (xx, yy, zz, xy, xz, yz)
        if xy == xz == yz == 0.0 and _is_clearly_valid(xx, yy, zz):
            return moment
        validity = check_moment(moment)
        if not validity.definite:
            key = "SK052.indefinite"
        elif validity.singular:
            key = "SK052.singular"
        elif not validity.triangle:
            key = "SK052.triangle"
        else:
            return moment
        self.report(key, node.number, eigenvalues=", ".join([f"{value:.4g}" for value in validity.eigenvalues]))
        return moment

    # --- markers --------------------------------------------------------------------------------------

    def _read_markers(self, node: Node, soft: bool) -> list[Marker]:
        markers = [self._read_marker(child) for child in node.nodes("marker")]
        if soft:
            self.report("SK013.soft_marker", markers[0].node)
            return [] if self.context.dart else markers
        return markers

    def _read_marker(self, node: Node) -> Marker:
        name = node.fields.get("@name")
        if name is None:
            name = "" if self.context.dart else "marker"
            self.report("SK041.missing", node.number, element="marker", name=name)
        return Marker(
            name=name,
            offset=node.fields.get("offset", ZERO),
            document=DOCUMENT,
            node=node.number,
            given=node.stated_fields(MARKER_ELEMENT),
            repaired=node.invalid_fields(MARKER_ELEMENT),
        )


def _stated_fields(node: Node, mass_node: Node | None) -> frozenset[str]:
    own = node.stated_fields(BODY_ELEMENT)
    return own if mass_node is None else merge_fields(own, mass_node.stated_fields(INERTIA_ELEMENT))


def _is_incomplete(node: Node) -> bool:
    """Whether an entry of a moment is missing; an invalid one is not."""
    return any(name not in node.fields and not node.is_invalid(name) for name in MOMENT_ENTRIES)


def _is_clearly_valid(a: float, b: float, c: float) -> bool:
    """Whether diagonal moments are positive and satisfy the triangle inequality strictly."""
    return a > 0.0 and b > 0.0 and c > 0.0 and a < b + c and b < a + c and c < a + b
