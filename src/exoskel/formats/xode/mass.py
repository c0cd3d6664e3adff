"""Reads the masses of XODE: sums of shapes that are translated, rotated and scaled.

As in ODE, the result is a mass, a centre of mass, and an inertia about the body origin, all in the body frame.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, pi, sqrt
from typing import Any

import numpy as np
from msgspec import Struct

from exoskel import spatial
from exoskel.formats.xode.context import XodeContext
from exoskel.formats.xode.transforms import NO_TRANSFORM, TransformReader, vector
from exoskel.formats.xode.vocabulary import MASS_SHAPES
from exoskel.scene.inertia import Inertia, Moment
from exoskel.scene.moment_checks import is_clearly_valid
from exoskel.scene.pose import IDENTITY, ZERO, Vector
from exoskel.scene.shape import Box, Capsule, Cylinder, Geometry, Shape, Sphere
from exoskel.source.flat_tree import Node
from exoskel.spatial import Array

_CENTRE_TOLERANCE = 1e-9
_SYMMETRY_TOLERANCE = 1e-6
_ORDER = {"mass_struct": 0, "mass_shape": 0, "transform": 1, "adjust": 2, "mass": 3}


class Mass(Struct, frozen=True):
    """Mass in kg, centre in m, inertia about the body origin in kg·m²."""

    total: float
    centre: Array
    inertia: Array

    def rotated(self, rotation: Array) -> Mass:
        inertia = spatial.without_noise(spatial.rotate_moment(rotation, self.inertia).ravel()).reshape(3, 3)
        return Mass(self.total, rotation @ self.centre, inertia)

    def translated(self, offset: Array) -> Mass:
        before, after = spatial.cross_matrix(self.centre), spatial.cross_matrix(self.centre + offset)
        inertia = self.inertia + self.total * (before @ before - after @ after)
        return Mass(self.total, self.centre + offset, inertia)

    def scaled(self, total: float) -> Mass:
        return Mass(total, self.centre, self.inertia / self.total * total)

    def plus(self, other: Mass) -> Mass:
        total = self.total + other.total
        centre = (self.total * self.centre + other.total * other.centre) / total if total else self.centre
        return Mass(total, centre, self.inertia + other.inertia)


def _central_moments(masses: Sequence[Mass]) -> Array:
    """The inertias of masses about their centres, `(n, 3, 3)`."""
    cross = spatial.cross_matrix([mass.centre for mass in masses])
    totals = np.array([mass.total for mass in masses])[:, None, None]
    inertias = np.array([mass.inertia for mass in masses]) + totals * cross @ cross
    return spatial.without_noise(inertias.reshape(-1, 9)).reshape(-1, 3, 3)


ZERO_MASS = Mass(0.0, np.zeros(3), np.zeros((3, 3)))

VolumeAndInertia = tuple[float, Vector]
"""The volume of a solid and its diagonal inertia at mass 1.

The inertia is for mass 1, not density 1: volumes of very small and very large solids underflow and overflow.
Products are used instead of powers, because powers raise an exception on overflow.
"""


def _sphere(r: float) -> VolumeAndInertia:
    i = 0.4 * r * r
    return 4 / 3 * pi * r * r * r, (i, i, i)


def _box(x: float, y: float, z: float) -> VolumeAndInertia:
    return x * y * z, ((y * y + z * z) / 12, (x * x + z * z) / 12, (x * x + y * y) / 12)


def _cylinder(r: float, length: float) -> VolumeAndInertia:
    side = r * r / 4 + length * length / 12
    return pi * r * r * length, (side, side, r * r / 2)


def _capsule(r: float, length: float) -> VolumeAndInertia:
    tube = length / (length + 4 / 3 * r)
    caps = 1.0 - tube
    side = tube * (r * r / 4 + length * length / 12)
    side += caps * (0.4 * r * r + 0.375 * r * length + length * length / 4)
    return pi * r * r * (length + 4 / 3 * r), (side, side, (tube / 2 + 0.4 * caps) * r * r)


def solid_properties(geometry: Geometry) -> VolumeAndInertia | None:
    """The volume and inertia of a geometry, or None if it is not a mass shape."""
    match geometry:
        case Sphere(radius=r):
            return _sphere(r)
        case Box(size=(x, y, z)):
            return _box(x, y, z)
        case Cylinder(radius=r, height=h):
            return _cylinder(r, h)
        case Capsule(radius=r, height=h):
            return _capsule(r, h)
        case _:
            return None


_SOLIDS: dict[str, tuple[tuple[str, ...], Callable[..., VolumeAndInertia]]] = {
    "box": (("@sizex", "@sizey", "@sizez"), _box),
    "sphere": (("@radius",), _sphere),
    "cylinder": (("@radius", "@length"), _cylinder),
    "cappedCylinder": (("@radius", "@length"), _capsule),
    "capsule": (("@radius", "@length"), _capsule),
}


_MATRIX = tuple(tuple(f"@m{row}{column}" for column in range(3)) for row in range(3))
_SMALL = 1e-300


class MassReader:
    """Reads the `mass` elements of the bodies of one document."""

    def __init__(self, context: XodeContext) -> None:
        self.context = context
        self.report = context.report
        self.transforms = TransformReader(context)

    def read_inertias(self, bodies: Sequence[tuple[Sequence[Node], Sequence[Shape]]]) -> list[Inertia]:
        """The mass properties of bodies, from their `mass` elements and, for a lone `adjust`, their geoms."""
        simple: list[Inertia] = []
        for nodes, _ in bodies:
            found = self._read_simple_mass(nodes)
            if found is None:
                break
            simple.append(found)
        else:
            return simple
        with np.errstate(all="ignore"):  # values that are not finite are reported
            stated = [self._read_mass(nodes, geoms) for nodes, geoms in bodies]
            masses = [entry for entry in stated if not isinstance(entry, Inertia)]
            tensors = iter(_central_moments([mass for _, mass in masses]) if masses else ())
            return [entry if isinstance(entry, Inertia) else self._check(*entry, next(tensors)) for entry in stated]

    def _read_simple_mass(self, nodes: Sequence[Node]) -> Inertia | None:
        """The inertia of a body without a mass or with a simple one, which needs no report; None for others."""
        if not nodes:
            return Inertia()
        return (self._single_shape(nodes[0]) or self._single_struct(nodes[0])) if len(nodes) == 1 else None

    def _read_mass(self, nodes: Sequence[Node], geoms: Sequence[Shape]) -> Inertia | tuple[Node, Mass]:
        """The final inertia of a body, or an element and its mass that are still to be checked."""
        if not nodes:
            return Inertia()
        for extra in nodes[1:]:
            self.report("X204.mass", extra.number, line=self.context.line(nodes[0].number))
        node = nodes[-1]
        single = self._single_shape(node) or self._single_struct(node)
        if single is not None:
            return single
        structs = node.nodes("mass_struct")
        has_one_struct = len(structs) == 1 and node.fields.keys() <= {"mass_struct", "@name"}
        mass = self._read_struct(structs[0]) if has_one_struct else self._evaluate(node, geoms)
        if mass is None:
            return Inertia()
        if mass.total == 0.0:
            self.report("X610", node.number)
            return Inertia()
        return node, mass

    def _single_shape(self, node: Node) -> Inertia | None:
        """The inertia of a mass with a single shape and a density, without arrays: the common case."""
        shapes = node.fields.get("mass_shape")
        if shapes is None or len(shapes) != 1 or not node.fields.keys() <= {"mass_shape", "@name"}:
            return None
        shape: Node = shapes[0]
        present = [name for name in _SOLIDS if name in shape.fields]
        if len(present) != 1 or "@density" not in shape.fields or "@total" in shape.fields:
            return None
        names, formula = _SOLIDS[present[0]]
        inner: Node = shape.fields[present[0]]
        if not inner.fields.keys() >= set(names):
            return None
        volume, (x, y, z) = formula(*(inner.fields[name] for name in names))
        mass = shape.fields["@density"] * volume
        moment: Moment = (mass * x, mass * y, mass * z, 0.0, 0.0, 0.0)
        # Zero and infinite values are left to the general case, which reports them.
        is_regular = min(moment[:3]) > 0.0 and max(mass, *moment) < inf
        return Inertia(mass, ZERO, moment, scales=True) if is_regular else None

    def _single_struct(self, node: Node) -> Inertia | None:
        """The inertia of a mass with a single struct centred at the origin, without arrays: what we write ourselves."""
        structs = node.fields.get("mass_struct")
        if structs is None or len(structs) != 1 or not node.fields.keys() <= {"mass_struct", "@name"}:
            return None
        fields = structs[0].fields
        total, centre, matrix = fields.get("@total"), fields.get("centerGravity"), fields.get("imatrix")
        if total is None or centre is None or matrix is None or "@density" in fields or vector(centre) != ZERO:
            return None
        (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = (map(matrix.fields.get, row) for row in _MATRIX)
        if None in (xx, yy, zz) or None in (xy, xz, yz) or (xy, xz, yz) != (yx, zx, zy):
            return None
        moment: Moment = (xx, yy, zz, xy / 2 + yx / 2, xz / 2 + zx / 2, yz / 2 + zy / 2)
        # What is invalid is left to the general case, which reports it.  So are numbers that lose digits if halved.
        is_regular = 0.0 < total < inf and all(entry == 0.0 or abs(entry) > _SMALL for entry in moment)
        return Inertia(total, ZERO, moment) if is_regular and is_clearly_valid(moment) else None

    # --- the operations, in document order ------------------------------------------------------------

    def _evaluate(self, node: Node, geoms: Sequence[Shape] | None) -> Mass | None:
        """The mass of one element; None if it is invalid and counts as absent.  `geoms` is None for a nested mass."""
        steps = [(kind, child) for kind in _ORDER for child in node.nodes(kind)]
        steps.sort(key=lambda step: step[1].number)
        if "mass_struct" in node.fields and "mass_shape" in node.fields:
            self.report("X601", node.number)
            return None
        self._check_order(steps)
        mass = ZERO_MASS
        for kind, child in steps:
            result = self._apply(kind, child, mass, geoms)
            if result is None:
                return None
            mass = result
        return mass

    def _check_order(self, steps: list[tuple[str, Node]]) -> None:
        highest, before = -1, ""
        first: dict[str, Node] = {}
        for kind, child in steps:
            if kind in first and kind != "mass":
                key = "X204.replaced" if kind.startswith("mass_") else "X204.again"
                self.report(key, child.number, element=kind, line=self.context.line(first[kind].number))
            first.setdefault(kind, child)
            if _ORDER[kind] < highest:
                self.report("X205", child.number, element=kind, before=before)
            else:
                highest, before = _ORDER[kind], kind

    def _apply(self, kind: str, node: Node, mass: Mass, geoms: Sequence[Shape] | None) -> Mass | None:
        if kind == "mass_struct":
            return self._read_struct(node)
        if kind == "mass_shape":
            return self._read_shape(node)
        if kind == "transform":
            local = self.transforms.read_transform(node, of_mass=True)
            if local is NO_TRANSFORM:
                return mass
            return mass.rotated(local.pose.rotation.matrix()).translated(spatial.array(local.pose.position))
        if kind == "adjust":
            return self._adjust(node, mass, geoms)
        nested = self._evaluate(node, None)
        return mass if nested is None or nested.total == 0.0 else mass.plus(nested)

    def _read_struct(self, node: Node) -> Mass | None:
        total, centre_node, matrix = (node.fields.get(n) for n in ("@total", "centerGravity", "imatrix"))
        if "@density" in node.fields:
            self.report("X206", node.number, attribute="density", name="density", element="mass_struct", suggestion="")
        if total is None or centre_node is None or matrix is None:
            return None
        centre = vector(centre_node)
        entries: list[Any] = [matrix.fields.get(name) for row in _MATRIX for name in row]
        if centre is None or None in entries:
            return None
        inertia = np.array(entries, dtype=float).reshape(3, 3)
        if (entries[1], entries[2], entries[5]) != (entries[3], entries[6], entries[7]):
            self._check_symmetry(matrix, inertia)
        return Mass(total, spatial.array(centre), inertia / 2 + inertia.T / 2)

    def _check_symmetry(self, node: Node, inertia: Array) -> None:
        scale = float(np.abs(inertia).max())
        for row, column in ((0, 1), (0, 2), (1, 2)):
            a, b = float(inertia[row, column]), float(inertia[column, row])
            if abs(a - b) > _SYMMETRY_TOLERANCE * scale:
                self.report("X606", node.number, first=f"m{row}{column}", a=a, second=f"m{column}{row}", b=b)

    def _read_shape(self, node: Node) -> Mass | None:
        density: Any = node.fields.get("@density")
        total: Any = node.fields.get("@total")
        present = [name for name in _SOLIDS if name in node.fields]
        if density is None and total is None:
            if not (node.is_invalid("@density") or node.is_invalid("@total")):
                self.report("X602", node.number)
            return None
        if not present:
            if not node.is_invalid("?") and not any(
                name in node.fields for name in ("cone", "plane", "ray", "trimesh")
            ):
                self.report("X203.shape", node.number, parent="mass_shape", allowed=list(MASS_SHAPES))
            return None
        used = self.context.choose_first(node, present, "X204.shape")
        if density is not None and total is not None:
            self.report("X603", node.number)
        names, formula = _SOLIDS[used]
        inner: Node = node.fields[used]
        if not inner.fields.keys() >= set(names):
            return None
        volume, diagonal = formula(*(inner.fields[name] for name in names))
        mass = total if density is None else density * volume
        if not 0.0 < mass < inf:
            self.report("X605", node.number, mass=mass)
            return None
        return Mass(mass, np.zeros(3), mass * np.diag(diagonal))

    def _adjust(self, node: Node, mass: Mass, geoms: Sequence[Shape] | None) -> Mass | None:
        total = node.fields.get("@total")
        if "@density" in node.fields:
            self.report("X206", node.number, attribute="density", name="density", element="adjust", suggestion="")
        if total is None:
            return mass
        if mass.total > 0.0:
            return mass.scaled(total)
        return self._distribute(node, total, geoms)

    def _distribute(self, node: Node, total: float, geoms: Sequence[Shape] | None) -> Mass:
        if geoms is not None and self.context.dialect == "pyode":
            self.report("X604", node.number, rule="PyODE's sphere of radius 1 is used")
            return Mass(total, np.zeros(3), 0.4 * total * np.eye(3))
        spread = ZERO_MASS
        for shape in geoms or ():
            weight = solid_properties(shape.geometry)
            if weight is not None:
                own = Mass(weight[0], np.zeros(3), weight[0] * np.diag(weight[1]))
                if shape.pose is not IDENTITY:
                    own = own.rotated(shape.pose.rotation.matrix()).translated(spatial.array(shape.pose.position))
                spread = spread.plus(own)
        if spread.total > 0.0:
            self.report("X604", node.number, rule="the geoms of the body are used, with equal density")
            return spread.scaled(total)
        self.report("X604", node.number, rule="the identity times the mass is used")
        return Mass(total, np.zeros(3), total * np.eye(3))

    # --- the result -----------------------------------------------------------------------------------

    def _check(self, node: Node, mass: Mass, about_centre: Array) -> Inertia:
        """The inertia of the body; the default if the mass is physically invalid."""
        if not 0.0 < mass.total < inf:
            self.report("X605", node.number, mass=mass.total)
            return Inertia()
        moment = _entries(about_centre)
        if not is_clearly_valid(moment):
            if not np.isfinite(about_centre).all():
                self.report("X605.moment", node.number)
                return Inertia()
            if not self._has_positive_moments(node, about_centre):
                return Inertia()
        x, y, z = mass.centre.tolist()
        centre = (x, y, z)
        distance = max(abs(x), abs(y), abs(z))
        if distance > _CENTRE_TOLERANCE:
            self.report("X608", node.number, com="{:g} {:g} {:g}".format(*centre))
        elif distance <= _CENTRE_TOLERANCE * sqrt(max(moment[:3]) / mass.total):  # for a body of this size, it is noise
            centre, moment = ZERO, _entries(mass.inertia)
        return Inertia(mass.total, centre, moment, scales=not _states_moment(node))

    def _has_positive_moments(self, node: Node, tensor: Array) -> bool:
        low, middle, high = (float(v) for v in np.linalg.eigvalsh(tensor))
        shown = ", ".join(f"{value:.4g}" for value in (low, middle, high))
        if low <= 0.0:
            self.report("X607", node.number, eigenvalues=shown)
            return False
        if high > (low + middle) * (1 + 1e-9):
            self.report("X607.triangle", node.number, eigenvalues=shown)
        return True


def _entries(tensor: Array) -> Moment:
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = tensor.tolist()
    return (xx, yy, zz, xy, xz, yz)


def _states_moment(node: Node) -> bool:
    """Whether some part of a mass states its moments, instead of a solid with a density or mass."""
    return "mass_struct" in node.fields or any(_states_moment(inner) for inner in node.nodes("mass"))
