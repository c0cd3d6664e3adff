"""Attributes of elements that a scene does not contain: contacts, solver settings, groups and data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from exoskel.formats.mjcf.controls import actuator_count, first_outputs
from exoskel.formats.mjcf.names import plain_name
from exoskel.formats.mjcf.preserved_elements import ExtraAttributes, ItemReference
from exoskel.formats.mjcf.reader.compiled import Compiled
from exoskel.formats.mjcf.reader.models import FoundParts
from exoskel.formats.mjcf.tree import Value
from exoskel.scene.joint import Joint
from exoskel.spatial import Array

_SOLREF, _SOLIMP = (0.02, 1.0), (0.9, 0.95, 0.001, 0.5, 2.0)
_ExtraRow = tuple[str, str, Any]
"""An attribute, the array of the compiled model, and MuJoCo's default."""
_GEOM: tuple[_ExtraRow, ...] = (
    ("condim", "geom_condim", 3),
    ("priority", "geom_priority", 0),
    ("group", "geom_group", 0),
    ("solmix", "geom_solmix", 1.0),
    ("solref", "geom_solref", _SOLREF),
    ("solimp", "geom_solimp", _SOLIMP),
    ("margin", "geom_margin", 0.0),
    ("gap", "geom_gap", 0.0),
    ("adhesion", "geom_adhesion", 0.0),
    ("surfacevel", "geom_surfacevel", 0.0),
    ("user", "geom_user", 0.0),
)
_JOINT: tuple[_ExtraRow, ...] = (
    ("group", "jnt_group", 0),
    ("margin", "jnt_margin", 0.0),
    ("solreflimit", "jnt_solref", _SOLREF),
    ("solimplimit", "jnt_solimp", _SOLIMP),
    ("user", "jnt_user", 0.0),
)
_SITE: tuple[_ExtraRow, ...] = (("group", "site_group", 0), ("user", "site_user", 0.0))
_CAMERA: tuple[_ExtraRow, ...] = (("ipd", "cam_ipd", np.float32(0.068)), ("user", "cam_user", 0.0))
_LIGHT: tuple[_ExtraRow, ...] = (
    ("bulbradius", "light_bulbradius", np.float32(0.02)),
    ("intensity", "light_intensity", 0.0),
    ("range", "light_range", 10.0),
    ("softness", "light_softness", 0.0),
)
_ACTUATOR: tuple[_ExtraRow, ...] = (
    ("group", "actuator_group", 0),
    ("lengthrange", "actuator_lengthrange", 0.0),
    ("user", "actuator_user", 0.0),
)
_DOF: tuple[_ExtraRow, ...] = (("solreffriction", "dof_solref", _SOLREF), ("solimpfriction", "dof_solimp", _SOLIMP))
GEOM_ATTRIBUTES = frozenset({*(row[0] for row in _GEOM), "fluidshape", "fluidcoef", "friction"})
_POLYNOMIALS = (("stiffness", "jnt_stiffnesspoly", "joint"), ("damping", "dof_dampingpoly", "dof"))
"""Attributes of joints with the coefficients of polynomials, and the arrays of all coefficients but the first."""
JOINT_ATTRIBUTES = frozenset({*(row[0] for row in (*_JOINT, *_DOF)), "actuatorgravcomp", "stiffness", "damping"})
BODY_ATTRIBUTES = frozenset({"gravcomp", "user", "mocap"})
_FRICTION = (0.005, 0.0001)
"""The default of torsional and rolling friction."""
_FLUID_COEFFICIENTS = slice(1, 6)
_BALL = 1

GeomExtras = Mapping[tuple[int, str], ExtraAttributes | None]
"""The attributes of geoms by the nodes and names of their shapes; None if several are meant."""


def geom_extras(compiled: Compiled) -> GeomExtras:
    """The attributes of all geoms that differ from MuJoCo's defaults."""
    model: Any = compiled.model
    values = _differing(model, _GEOM, model.ngeom)
    torsion = np.asarray(model.geom_friction)[:, 1:]
    for number in np.flatnonzero((torsion != _FRICTION).any(axis=1)).tolist():
        values.setdefault(number, {})["friction"] = model.geom_friction[number].tolist()
    for number in np.flatnonzero(np.asarray(model.geom_fluid)[:, 0]).tolist():
        coefficients = model.geom_fluid[number][_FLUID_COEFFICIENTS].tolist()
        values.setdefault(number, {}).update(fluidshape="ellipsoid", fluidcoef=coefficients)
    stated = _stated(compiled, compiled.geoms.lines, GEOM_ATTRIBUTES)
    found: dict[tuple[int, str], ExtraAttributes | None] = {}
    for number in range(model.ngeom):
        key = compiled.geoms.node(number), plain_name(compiled.geoms.name(number))
        extra = ExtraAttributes(values.get(number, {}), key[0], stated.get(number, frozenset()))
        known = found.setdefault(key, extra)
        if known is not extra and (known is None or known.values != extra.values):
            found[key] = None
    return found


def joint_extras(compiled: Compiled, found: FoundParts) -> Iterator[tuple[ItemReference, ExtraAttributes]]:
    """The same for joints, with the coordinates of the scene that they are."""
    model: Any = compiled.model
    values = _differing(model, _JOINT, model.njnt)
    of_dofs = _differing(model, _DOF, model.nv)
    stated = _stated(compiled, compiled.joints.lines, JOINT_ATTRIBUTES)
    for number, owner in found.owners.items():
        own = values.get(number, {}) | of_dofs.get(int(model.jnt_dofadr[number]), {})
        for attribute, name, at in _POLYNOMIALS:
            rest = np.asarray(getattr(model, name)[number if at == "joint" else int(model.jnt_dofadr[number])])
            if rest.any():
                own[attribute] = [0.0, *rest.tolist()]  # the scene has the linear part
        if model.jnt_actgravcomp[number]:
            own["actuatorgravcomp"] = True
        joint: Joint = owner.joint
        reference = ItemReference(joint.node, owner.model.name, joint.name, owner.first)
        names = stated.get(number, frozenset()) - {name for name, *_ in _POLYNOMIALS if name not in own}
        yield reference, ExtraAttributes(own, compiled.joints.node(number), names)


def body_extras(compiled: Compiled, found: FoundParts) -> dict[tuple[int, str], ExtraAttributes]:
    """The same for bodies: gravity compensation that is not 0 or 1, data, and which ones are mocap bodies."""
    model: Any = compiled.model
    values = _differing(model, (("user", "body_user", 0.0),), model.nbody)
    gravcomp = np.asarray(model.body_gravcomp)
    for number in np.flatnonzero((gravcomp != 0.0) & (gravcomp != 1.0)).tolist():
        values.setdefault(number, {})["gravcomp"] = float(gravcomp[number])
    for number in np.flatnonzero(np.asarray(model.body_mocapid) >= 0).tolist():
        values.setdefault(number, {})["mocap"] = True
    stated = _stated(compiled, compiled.bodies.lines, BODY_ATTRIBUTES)
    return {
        (body.node, body.name): ExtraAttributes(values[number], body.node, stated.get(number, frozenset()))
        for number, body in found.bodies.items()
        if number in values
    }


def site_extras(compiled: Compiled) -> dict[int, ExtraAttributes]:
    """The groups and data of sites, by their nodes."""
    values = _differing(compiled.model, _SITE, compiled.model.nsite)
    stated = _stated(compiled, compiled.sites.lines, _names(_SITE))
    found: dict[int, ExtraAttributes] = {}
    for number, own in values.items():
        node = compiled.sites.node(number)
        found.setdefault(node, ExtraAttributes(own, node, stated.get(number, frozenset())))
    return found


def named_extras(compiled: Compiled) -> dict[tuple[str, str], ExtraAttributes]:
    """Data of cameras, lights and actuators, how lights look, and groups, by kinds and names."""
    model: Any = compiled.model
    parts = {
        "camera": (compiled.cameras, _CAMERA, model.ncam),
        "light": (compiled.lights, _LIGHT, model.nlight),
        "actuator": (compiled.actuators, _ACTUATOR, actuator_count(model)),
    }
    found: dict[tuple[str, str], ExtraAttributes] = {}
    for kind, (names, rows, count) in parts.items():
        stated = _stated(compiled, names.lines, _names(rows))
        for number, own in _differing(model, rows, count).items():
            if "lengthrange" not in stated.get(number, ()):  # MuJoCo computes it
                own.pop("lengthrange", None)
            if own and (name := plain_name(names.name(number))):
                extra = ExtraAttributes(own, names.node(number), stated.get(number, frozenset()))
                found[kind, name] = extra
    return found


def _names(rows: Iterable[_ExtraRow]) -> frozenset[str]:
    return frozenset(row[0] for row in rows)


def most_frequent_solref(compiled: Compiled) -> tuple[float, ...]:
    """The time constant and damping ratio of most contacts."""
    rows = np.asarray(compiled.model.geom_solref)
    if not len(rows):
        return _SOLREF
    different, counts = np.unique(rows, axis=0, return_counts=True)
    return tuple(different[counts.argmax()].tolist())


def attributes_of_defaults(compiled: Compiled) -> frozenset[tuple[int, str]]:
    """What default classes state of these attributes, as the nodes and names of attributes."""
    tags = {
        "geom": GEOM_ATTRIBUTES,
        "joint": JOINT_ATTRIBUTES - {name for name, *_ in _POLYNOMIALS},
        "site": _names(_SITE),
        "camera": _names(_CAMERA),
        "light": _names(_LIGHT),
    }
    found: set[tuple[int, str]] = set()
    for section in compiled.prepared.root.children:
        if section.tag == "default":
            for one in section.iter():
                found |= {(one.node, name) for name in tags.get(one.tag, frozenset()) & one.attributes.keys()}
    return frozenset(found)


def _differing(model: Any, rows: Iterable[_ExtraRow], count: int) -> dict[int, dict[str, Value]]:
    """The values that differ from MuJoCo's defaults, by number."""
    found: dict[int, dict[str, Value]] = {}
    for attribute, name, default in rows:
        if not count or not hasattr(model, name):
            continue
        values: Array = np.asarray(getattr(model, name))
        if len(values) != count:  # of the outputs of actuators, which have the same value
            values = values[first_outputs(model)]
        values = values.reshape(count, -1)
        for number in np.flatnonzero((values != default).any(axis=1)).tolist() if values.size else ():
            single = values.dtype == np.float32  # as the shortest number that reads back
            row = [float(str(one)) for one in values[number]] if single else values[number].tolist()
            found.setdefault(number, {})[attribute] = row if len(row) > 1 else row[0]
    return found


def _stated(compiled: Compiled, lines: Mapping[int, int], names: frozenset[str]) -> dict[int, frozenset[str]]:
    """Which of some attributes the elements themselves state, by number."""
    fragments = list(compiled.prepared.root.iter())
    found = {number: fragments[line - 1] for number, line in lines.items() if 0 < line <= len(fragments)}
    return {number: own for number, one in found.items() if (own := names & one.attributes.keys())}
