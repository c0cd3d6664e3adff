"""Attributes of elements that a scene does not contain: contacts, solver settings, groups and data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from exoskel.formats.mjcf.controls import actuator_count, first_outputs
from exoskel.formats.mjcf.item_keys import PartKey, values_by_key
from exoskel.formats.mjcf.names import plain_name
from exoskel.formats.mjcf.preserved_elements import ExtraAttributes, ItemReference
from exoskel.formats.mjcf.reader.compiled import Compiled
from exoskel.formats.mjcf.reader.models import FoundParts
from exoskel.formats.mjcf.tree import Value
from exoskel.formats.mjcf.views import view_key
from exoskel.scene.cameras_and_keyframes import SceneCamera, View
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
    ("castshadow", "geom_castshadow", True),
    ("surfacevel", "geom_surfacevel", 0.0),
    ("user", "geom_user", 0.0),
)
_JOINT: tuple[_ExtraRow, ...] = (
    ("group", "jnt_group", 0),
    ("margin", "jnt_margin", 0.0),
    ("solreflimit", "jnt_solref", _SOLREF),
    ("solimplimit", "jnt_solimp", _SOLIMP),
    ("springyield", "jnt_springyield", 0.0),
    ("user", "jnt_user", 0.0),
)
_SITE: tuple[_ExtraRow, ...] = (("group", "site_group", 0), ("user", "site_user", 0.0))
_CAMERA: tuple[_ExtraRow, ...] = (("ipd", "cam_ipd", 0.068), ("user", "cam_user", 0.0))
_LIGHT: tuple[_ExtraRow, ...] = (
    ("bulbradius", "light_bulbradius", 0.02),
    ("intensity", "light_intensity", 0.0),
    ("range", "light_range", 10.0),
    ("softness", "light_softness", 0.2),
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
_STATED_OF_BODIES = frozenset({"simple", "sleep"})
"""Attributes of bodies that are kept as they are stated."""
BODY_ATTRIBUTES = frozenset({"gravcomp", "user", "mocap"}) | _STATED_OF_BODIES
_LENS = ("sensorsize", "focal", "focalpixel", "principal", "principalpixel")
_CAMERA_ATTRIBUTES, _LIGHT_ATTRIBUTES = frozenset({"output", *_LENS}), frozenset({"texture"})
_FRICTION = (0.005, 0.0001)
"""The default of torsional and rolling friction."""
_FLUID_COEFFICIENTS = slice(1, 6)
_BALL = 1
_OUTPUTS = ((1, "rgb"), (2, "depth"), (4, "distance"), (8, "normal"), (16, "segmentation"))
"""What cameras may render, by their bits."""


def geom_extras(compiled: Compiled, found: FoundParts, keys: Mapping[int, PartKey]) -> dict[PartKey, ExtraAttributes]:
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
    extras = {
        number: ExtraAttributes(values.get(number, {}), compiled.geoms.node(number), stated.get(number, frozenset()))
        for number in found.shapes
    }
    return values_by_key(found.shapes, extras, keys)


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
    fragments = list(compiled.prepared.root.iter())
    for number in (one for one, names in stated.items() if not _STATED_OF_BODIES.isdisjoint(names)):
        own = fragments[compiled.bodies.lines[number] - 1].attributes
        values.setdefault(number, {}).update({name: own[name] for name in _STATED_OF_BODIES & own.keys()})
    return {
        (body.node, body.name): ExtraAttributes(values[number], body.node, stated.get(number, frozenset()))
        for number, body in found.bodies.items()
        if number in values
    }


def site_extras(compiled: Compiled, found: FoundParts, keys: Mapping[int, PartKey]) -> dict[PartKey, ExtraAttributes]:
    """The groups and data of sites."""
    values = _differing(compiled.model, _SITE, compiled.model.nsite)
    stated = _stated(compiled, compiled.sites.lines, _names(_SITE))
    extras = {
        number: ExtraAttributes(values.get(number, {}), compiled.sites.node(number), stated.get(number, frozenset()))
        for number in found.markers
    }
    return values_by_key(found.markers, extras, keys)


def named_extras(compiled: Compiled, views: Mapping[str, Mapping[int, View]]) -> dict[tuple[str, str], ExtraAttributes]:
    """Data of cameras, lights and actuators, how lights look, and groups, by kinds and names.

    `views` are the cameras and lights that were read, by their tags and numbers.
    """
    model: Any = compiled.model
    parts = {
        "camera": (compiled.cameras, _CAMERA, model.ncam, _CAMERA_ATTRIBUTES),
        "light": (compiled.lights, _LIGHT, model.nlight, _LIGHT_ATTRIBUTES),
        "actuator": (compiled.actuators, _ACTUATOR, actuator_count(model), frozenset[str]()),
    }
    found: dict[tuple[str, str], ExtraAttributes] = {}
    for kind, (names, rows, count, more) in parts.items():
        stated = _stated(compiled, names.lines, _names(rows) | more)
        values = _differing(model, rows, count)
        for number, own in _lenses(model, stated) if kind == "camera" else _images(compiled) if kind == "light" else ():
            values.setdefault(number, {}).update(own)
            stated[number] = stated.get(number, frozenset()) | (_LIGHT_ATTRIBUTES & own.keys())
        for number, own in values.items():
            if "lengthrange" not in stated.get(number, ()):  # MuJoCo computes it
                own.pop("lengthrange", None)
            view = views.get(kind, {}).get(number)
            name = plain_name(names.name(number)) if kind == "actuator" else "" if view is None else view_key(view)
            if isinstance(view, SceneCamera):
                own["fovy"] = view.field_of_view
            if own and name:
                extra = ExtraAttributes(own, names.node(number), stated.get(number, frozenset()))
                found[kind, name] = extra
    return found


def _lenses(model: Any, stated: Mapping[int, frozenset[str]]) -> Iterator[tuple[int, dict[str, Value]]]:
    """The lenses of cameras with a sensor, and what cameras render."""
    for number in range(model.ncam):
        own: dict[str, Value] = {}
        if "output" in stated.get(number, ()):
            own["output"] = " ".join(word for bit, word in _OUTPUTS if model.cam_output[number] & bit)
        if model.cam_sensorsize[number].any():
            lens = [float(str(one)) for one in model.cam_intrinsic[number]]
            own["sensorsize"] = [float(str(one)) for one in model.cam_sensorsize[number]]
            own |= {"focal": lens[:2]} if any(lens[:2]) else {}
            own |= {"principal": lens[2:]} if any(lens[2:]) else {}
        if own:
            yield number, own


def _images(compiled: Compiled) -> Iterator[tuple[int, dict[str, Value]]]:
    """The textures of lights."""
    collected = compiled.prepared.collected
    images = collected.light_images if collected is not None else {}
    if not images:
        return
    fragments = list(compiled.prepared.root.iter())
    for number, line in compiled.lights.lines.items():
        if 0 < line <= len(fragments) and (own := images.get(id(fragments[line - 1]))):
            yield number, dict(own)


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
        "camera": _names(_CAMERA) | _CAMERA_ATTRIBUTES,
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
        different = values != np.asarray(default, values.dtype)
        for number in np.flatnonzero(different.any(axis=1)).tolist() if values.size else ():
            single = values.dtype == np.float32  # as the shortest number that reads back
            row = [float(str(one)) for one in values[number]] if single else values[number].tolist()
            found.setdefault(number, {})[attribute] = row if len(row) > 1 else row[0]
    return found


def _stated(compiled: Compiled, lines: Mapping[int, int], names: frozenset[str]) -> dict[int, frozenset[str]]:
    """Which of some attributes the elements themselves state, by number."""
    fragments = list(compiled.prepared.root.iter())
    found = {number: fragments[line - 1] for number, line in lines.items() if 0 < line <= len(fragments)}
    return {number: own for number, one in found.items() if (own := names & one.attributes.keys())}
