"""Writes the masses of XODE: a single solid with a density if it matches, else mass and inertia."""

from __future__ import annotations

from math import sqrt

import numpy as np

from exoskel import spatial
from exoskel.formats.xode.mass import solid_properties
from exoskel.formats.xode.writing.shapes import geometry_element
from exoskel.scene.body import Body
from exoskel.scene.inertia import Moment, is_clearly_valid
from exoskel.scene.pose import ZERO
from exoskel.scene.shape import Box, Capsule, Cylinder, Shape, Sphere
from exoskel.source.markup import Markup, format_number
from exoskel.source.output_context import OutputContext
from exoskel.spatial import Array

_SOLIDS = (Box, Capsule, Cylinder, Sphere)
_PYODE_SOLIDS = (Box, Sphere)
_TOLERANCE = 1e-12


def mass_element(body: Body, moment: Moment, output: OutputContext) -> Markup | None:
    """The mass of a body; None if XODE cannot express it: no mass, or a moment that is not positive."""
    if not body.mass > 0.0:
        return None
    mass = Markup("mass")
    plain = body.com == ZERO and not any(moment[3:])
    if output.target == "pyode":
        # Solids rotated by right angles have products of inertia that are rounding errors.
        plain = body.com == ZERO and max(map(abs, moment[3:])) <= _TOLERANCE * max(moment[:3])
        shape, exact = _single_solid(body, moment, _PYODE_SOLIDS), True
        if shape is None:
            shape, exact = _equivalent_box(body, moment)
        if not (exact and plain):
            output.add_loss(body, "PyODE reads only masses of boxes and spheres about the body's origin", "inertia")
    else:
        shape = _single_solid(body, moment, _SOLIDS) if plain else None
    if shape is not None:
        made = mass.add("mass_shape", density=format_number(_density(body, shape)))
        inner = geometry_element(shape, output)
        assert inner is not None
        made.children.append(inner)
        return mass
    tensor = spatial.moment_matrix(moment)
    if not is_clearly_valid(moment) and (not np.isfinite(tensor).all() or np.linalg.eigvalsh(tensor)[0] <= 0.0):
        return None
    _add_mass_struct(mass, body, tensor)
    return mass


def _density(body: Body, shape: Shape) -> float:
    weight = solid_properties(shape.geometry)
    assert weight is not None
    return body.mass / weight[0]


def _single_solid(body: Body, moment: Moment, kinds: tuple[type, ...]) -> Shape | None:
    """The collision shape whose moments about the axes match those of the body, if there is one."""
    for shape in body.collisions:
        if isinstance(shape.geometry, kinds) and shape.pose.is_identity:
            weight = solid_properties(shape.geometry)
            assert weight is not None
            if not weight[0] > 0.0:
                continue
            wanted = [body.mass * entry for entry in weight[1]]
            if all(abs(a - b) <= _TOLERANCE * max(wanted) for a, b in zip(moment, wanted, strict=False)):
                return shape
    return None


def _equivalent_box(body: Body, moment: Moment) -> tuple[Shape, bool]:
    """A box with the same moments about the axes, and whether the moments match exactly."""
    xx, yy, zz = moment[:3]
    if not xx + yy + zz > 0.0:
        return Shape(geometry=Box((1.0, 1.0, 1.0))), False
    squares = [6.0 * (xx + yy + zz - 2.0 * value) / body.mass for value in (xx, yy, zz)]
    least = 1e-6 * max(squares)
    x, y, z = (sqrt(max(square, least)) for square in squares)
    return Shape(geometry=Box((x, y, z))), min(squares) >= least


def _add_mass_struct(mass: Markup, body: Body, moment: Array) -> None:
    """Add mass, centre of mass, and inertia about the body origin as in ODE."""
    about_origin = moment + body.mass * spatial.point_moment(body.com)
    struct = mass.add("mass_struct", total=format_number(body.mass))
    struct.add("centerGravity", **{n: format_number(v) for n, v in zip("xyz", body.com, strict=True)})
    rows = about_origin.tolist()
    entries = {f"m{r}{c}": format_number(rows[r][c]) for r in range(3) for c in range(3)}
    struct.children.append(Markup("imatrix", entries))
