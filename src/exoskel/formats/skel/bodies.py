"""Bodies of SKEL: mass properties, markers, and the lists of their shapes."""

from __future__ import annotations

from math import isfinite
from typing import Any

from exoskel import spatial
from exoskel.formats.skel.context import DOCUMENT, EXTREME, Context
from exoskel.formats.skel.shapes import ShapeReader
from exoskel.formats.skel.vocabulary import MOMENT_ENTRIES
from exoskel.scene.body import Body, Marker
from exoskel.scene.inertia import Inertia, Moment, check_moment
from exoskel.scene.item import Names, unique_name
from exoskel.scene.pose import IDENTITY, ZERO, Pose, Vector
from exoskel.source.flat_tree import Node

_DEFAULT_MASS = 1.0


class BodyReader:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.report = context.report
        self.shapes = ShapeReader(context)
        self.derived: list[Body] = []
        """Bodies whose moment comes from their shapes, for the checks that look at all of them at once."""

    def bodies(self, nodes: list[Node]) -> dict[str, Body]:
        """The bodies of a skeleton by name, in document order."""
        found: dict[str, Body] = {}
        made_up: Names | None = None
        for node in nodes:
            name = node.fields.get("@name")
            if name is None:
                made_up = made_up or Names(found)
                name = self._made_up_name(node, made_up)
            if made_up is not None:
                made_up.add(name)
            if name == "world":
                self.report("SK042", node.number, attribute="name")
            if name in found:
                self.report("SK040.repeated", node.number, attribute="name", name=name)
                if self.context.dart:
                    self._join(found[name], node)
                continue
            found[name] = self._body(node, name)
        return found

    def _made_up_name(self, node: Node, taken: Names) -> str:
        name = "" if self.context.dart else unique_name("body", taken)
        self.report("SK040.missing", node.number, name=name)
        return name

    def _body(self, node: Node, name: str) -> Body:
        fields = node.fields
        mass_node: Node | None = fields.get("inertia")
        read_shape = self.shapes.shape
        body = Body(
            name=name,
            pose=fields.get("transformation", IDENTITY),
            inertia=Inertia() if mass_node is None else self._inertia(mass_node),
            gravity=fields.get("gravity", True),
            visuals=[
                shape
                for child in fields.get("visualization_shape", ())
                if (shape := read_shape(child, visual=True)) is not None
            ],
            collisions=[
                shape
                for child in fields.get("collision_shape", ())
                if (shape := read_shape(child, visual=False)) is not None
            ],
            document=DOCUMENT,
            node=node.number,
            given=self.context.given(node, mass_node),
        )
        if "soft_shape" in fields:
            body.soft = self.shapes.soft(fields["soft_shape"])
        if "marker" in fields:
            body.markers = self._markers(node, soft=body.soft is not None)
        if "self_collide" in fields:
            body.kept = {"self_collide": "true" if fields["self_collide"] else "false"}
        if node.invalid or (mass_node is not None and mass_node.invalid):
            body.repaired = self.context.repaired(node, mass_node)
        derives = body.inertia.moment is None and body.inertia.mass > 0.0
        self.shapes.report_missing_meshes(derives)
        if derives:
            self.derived.append(body)
        return body

    def _join(self, first: Body, node: Node) -> None:
        """DART drops a second body of the same name but gives its shapes to the first.

        It derives the first one's moment anew, from all shapes, only if the second asks for a derived one.
        """
        again = self._body(node, first.name)
        self.derived = [body for body in self.derived if body is not again]
        if again.inertia.moment is None:
            if first.inertia.moment is not None and first.mass > 0.0:
                self.derived.append(first)
            first.inertia.moment = None
        else:
            first.inertia.moment = first.moment
            self.derived = [body for body in self.derived if body is not first]
        first.visuals.extend(again.visuals)
        first.collisions.extend(again.collisions)

    # --- mass properties ------------------------------------------------------------------------------

    def _inertia(self, node: Node) -> Inertia:
        fields = node.fields
        com: Vector = fields.get("offset", ZERO)
        turned: Pose | None = None
        if "transformation" in fields:
            com, turned = self._old_form(node, com)
        moment = self._moment(fields["moment_of_inertia"]) if "moment_of_inertia" in fields else None
        if moment is not None and turned is not None:
            tensor = spatial.rotate_moment(turned.rotation.matrix(), spatial.moment_matrix(moment))
            xx, yy, zz, xy, xz, yz = spatial.moment_entries(tensor).tolist()
            moment = (xx, yy, zz, xy, xz, yz)
        return Inertia(self._mass(node), com, moment, self.context.options.inertia_rule)

    def _mass(self, node: Node) -> float:
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

    def _old_form(self, node: Node, com: Vector) -> tuple[Vector, Pose | None]:
        """A `transformation` in `inertia`, as the old wiki drew it."""
        old: Pose = node.fields["transformation"]
        if "offset" in node.fields:
            self.report("SK053.both", node.number, "transformation")
            return com, None
        self.report("SK053", node.number, "transformation")
        return (com, None) if self.context.dart else (old.position, old)

    def _moment(self, node: Node) -> Moment | None:
        fields = node.fields
        if not fields.keys() >= {"ixx", "iyy", "izz"}:
            return None
        xx, yy, zz, xy, xz, yz = (fields.get(name, 0.0) for name in MOMENT_ENTRIES)
        moment = (xx, yy, zz, xy, xz, yz)
        if xy == xz == yz == 0.0 and _plainly_sound(xx, yy, zz):
            return moment
        verdict = check_moment(moment)
        details: dict[str, Any] = {"eigenvalues": ", ".join(f"{value:.4g}" for value in verdict.eigenvalues)}
        if not verdict.definite:
            self.report("SK052.indefinite", node.number, **details)
        elif verdict.singular:
            self.report("SK052.singular", node.number, **details)
        elif not verdict.triangle:
            self.report("SK052.triangle", node.number, **details)
        return moment

    # --- markers --------------------------------------------------------------------------------------

    def _markers(self, node: Node, soft: bool) -> list[Marker]:
        markers = [self._marker(child) for child in node.nodes("marker")]
        if soft:
            self.report("SK013.soft_marker", markers[0].node)
            return [] if self.context.dart else markers
        return markers

    def _marker(self, node: Node) -> Marker:
        name = node.fields.get("@name")
        if name is None:
            name = "" if self.context.dart else "marker"
            self.report("SK041.missing", node.number, element="marker", name=name)
        return Marker(
            name=name,
            offset=node.fields.get("offset", ZERO),
            document=DOCUMENT,
            node=node.number,
            # An `offset` is one here, and not a centre of mass as elsewhere.
            given=frozenset(field.lstrip("@") for field in node.fields),
            repaired=frozenset(field.lstrip("@") for field in node.invalid or ()),
        )


def _plainly_sound(a: float, b: float, c: float) -> bool:
    """Positive, and within the triangle inequality by a margin that rounding cannot touch."""
    return a > 0.0 and b > 0.0 and c > 0.0 and a < b + c and b < a + c and c < a + b
