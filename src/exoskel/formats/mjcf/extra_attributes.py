"""Writes attributes of options, geoms, joints and bodies that a scene does not contain, if it was read from MJCF."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from msgspec import Struct

from exoskel.formats.mjcf.flags import MEANINGS
from exoskel.formats.mjcf.item_keys import PartKey, find_value
from exoskel.formats.mjcf.names import plain_name
from exoskel.formats.mjcf.tree import MjcfElement, Value
from exoskel.formats.mjcf.views import element_key
from exoskel.scene.body import Body, Marker
from exoskel.scene.shape import Shape
from exoskel.source.output_context import OutputContext, Target
from exoskel.spatial import Array


class _Extra(Protocol):
    @property
    def values(self) -> Mapping[str, Value]: ...
    @property
    def node(self) -> int: ...
    @property
    def stated(self) -> frozenset[str]: ...


class _Extras(Protocol):
    @property
    def geoms(self) -> Mapping[PartKey, _Extra]: ...
    @property
    def joints(self) -> Sequence[tuple[Any, _Extra]]: ...
    @property
    def bodies(self) -> Mapping[tuple[int, str], _Extra]: ...
    @property
    def solref(self) -> tuple[float, ...]: ...
    @property
    def defaults(self) -> frozenset[tuple[int, str]]: ...
    @property
    def sites(self) -> Mapping[PartKey, _Extra]: ...
    @property
    def named(self) -> Mapping[tuple[str, str], _Extra]: ...


_OF_JOINTS = ("solreflimit", "solimplimit", "solreffriction", "solimpfriction")
"""Attributes that the writer has values of its own for."""
_POLYNOMIALS = frozenset({"stiffness", "damping"})
"""Attributes with coefficients, of which the writer has the first."""
_SOLREF = (0.02, 1.0)
"""MuJoCo's default."""


# --- options -------------------------------------------------------------------------------------------


class OptionElement(Struct, frozen=True):
    """The settings of an `<option>` and of its flags that a scene does not contain, with their nodes."""

    values: Mapping[str, str]
    node: int
    flags: Mapping[str, int]
    """The nodes of flags, by their names."""
    states: Mapping[str, str]
    """Whether flags are enabled, by their names."""


class _Numbered(Protocol):
    @property
    def tag(self) -> str: ...
    @property
    def attributes(self) -> Mapping[str, str]: ...
    @property
    def children(self) -> Sequence[_Numbered]: ...
    @property
    def node(self) -> int: ...


_OPTIONS_OF_WORLDS = frozenset({"gravity", "timestep"})
"""Attributes of `<option>` that a scene contains."""
_OWN_OPTIONS = ("cone", "impratio", "tolerance", "integrator")
"""Settings of the solver that the writer has values of its own for."""


def collect_options(option: _Numbered) -> OptionElement:
    """What an element states that a scene does not contain."""
    values = {name: value for name, value in option.attributes.items() if name not in _OPTIONS_OF_WORLDS}
    nodes, states = dict[str, int](), dict[str, str]()
    for child in option.children:
        for name, value in child.attributes.items() if child.tag == "flag" else ():
            if name not in MEANINGS:
                nodes[name], states[name] = child.node, value
    return OptionElement(values, option.node, nodes, states)


_OLD_INTEGRATORS = frozenset({"Euler", "RK4", "implicit", "implicitfast"})
_INTEGRATORS: dict[Target, frozenset[str]] = {
    "mujoco3": _OLD_INTEGRATORS,
    "dm_control": _OLD_INTEGRATORS,
    "newton": _OLD_INTEGRATORS,
    "isaac": _OLD_INTEGRATORS,
    "dart": frozenset({"Euler", "RK4"}),
}
"""The integrators that programs know, if these are not all of MuJoCo 4."""
_OTHER_INTEGRATORS: frozenset[Target] = frozenset({"mujoco3", "dm_control"})
_OTHER_INTEGRATOR = "MJ508"
"""The targets for which files have another integrator than `exoskel run`, and the code of this loss."""


def add_options(root: MjcfElement, options: Sequence[OptionElement], output: OutputContext) -> None:
    """State the settings of the source in place of those of the writer, but an integrator only if it is known."""
    own = root.child("option")
    known = _INTEGRATORS.get(output.target)
    stated = next((one.values["integrator"] for one in reversed(options) if "integrator" in one.values), "")
    is_kept = not stated or known is None or stated in known
    for name in _OWN_OPTIONS if is_kept else _OWN_OPTIONS[:-1]:
        own.attributes.pop(name, None)
    if is_kept and output.target in _OTHER_INTEGRATORS:
        output.losses[:] = [one for one in output.losses if one.code != _OTHER_INTEGRATOR]
    states: dict[str, Value] = {}
    for one in options:
        values = {name: value for name, value in one.values.items() if is_kept or name != "integrator"}
        own.attributes |= values if output.rotation is None else _rotated(values, output.rotation)
        states |= one.states
        output.preserved_attributes |= {(one.node, name) for name in values}
        output.preserved_attributes |= {(node, name) for name, node in one.flags.items()}
    if states:
        own.add("flag", **states)


_IN_WORLD = ("wind", "magnetic")
"""Options that are vectors in the frame of the world."""


def _rotated(values: Mapping[str, str], rotation: Array) -> dict[str, Value]:
    """The options of a world that was rotated for another up axis."""
    found: dict[str, Value] = dict(values)
    for name in _IN_WORLD:
        if name in values:
            found[name] = (rotation @ np.array(values[name].split(), dtype=float) + 0.0).tolist()
    return found


def collect_sizes(size: _Numbered) -> OptionElement:
    """What a `<size>` states, but for the number of keyframes, which may be another one."""
    return OptionElement({name: value for name, value in size.attributes.items() if name != "nkey"}, size.node, {}, {})


def add_sizes(root: MjcfElement, sizes: Sequence[OptionElement], output: OutputContext) -> None:
    """State the sizes of the source, of memory and of data of the user; those of the writer are not needed then."""
    for one in sizes:
        if one.values:
            _first(root, "size").attributes |= dict(one.values)
            output.preserved_attributes |= {(one.node, name) for name in one.values}


def _first(root: MjcfElement, tag: str) -> MjcfElement:
    """The section of a document, before the bodies."""
    found = next((one for one in root.children if one.tag == tag), None)
    if found is None:
        found = MjcfElement(tag)
        root.children.insert(1, found)
    return found


# --- items ---------------------------------------------------------------------------------------------


def add_extra_attributes(
    root: MjcfElement,
    extras: _Extras,
    joint_name: Callable[[str, Any], str | None],
    textures: Mapping[str, str],
    keys: Mapping[int, PartKey],
    output: OutputContext,
) -> None:
    """Add the attributes to the items that are still there, and record those that are written again.

    `textures` are the names of textures by those in the source, `keys` those of shapes and markers by their ids.
    """
    common = next(one for one in root.child("default").children if one.tag == "geom")
    common.attributes["solref"] = extras.solref
    outer = {id(one) for one in root.child("worldbody").children}
    elements = list(root.child("worldbody").iter())
    joints = {str(one.attributes.get("name")): one for one in elements if one.tag == "joint"}
    for element in elements:
        item = element.item
        if element.tag == "geom" and isinstance(item, Shape):
            extra = find_value(extras.geoms, keys.get(id(item)))
            if extra is not None:
                _add_to_geom(element, extra, extras.solref)
                _record(extra, output)
        elif element.tag == "body" and isinstance(item, Body) and item.document == 0:
            extra = extras.bodies.get((item.node, item.name))
            if extra is not None and _add_to_body(
                element, extra, has_gravity=item.gravity, is_outer=id(element) in outer
            ):
                _record(extra, output)
    for reference, extra in extras.joints:
        written = joints.get(joint_name("joint", reference) or "")
        if written is not None:
            for name in _OF_JOINTS:
                written.attributes.pop(name, None)
            values = dict(extra.values)
            for name in _POLYNOMIALS & values.keys():
                coefficients: Any = values[name]
                values[name] = [written.attributes.get(name, 0.0), *coefficients[1:]]
            written.attributes |= values
            _record(extra, output)
    for element in elements:
        if element.tag == "site" and isinstance(element.item, Marker):
            _add(element, find_value(extras.sites, keys.get(id(element.item))), output)
        elif element.tag in ("camera", "light"):
            view = extras.named.get((element.tag, element_key(element)))
            if view is not None:
                _add_to_view(element, view, textures, output)
    for element in root.child("actuator").children:
        _add(element, extras.named.get(("actuator", plain_name(str(element.attributes.get("name", ""))))), output)
    output.preserved_attributes |= extras.defaults


def _add(element: MjcfElement, extra: _Extra | None, output: OutputContext) -> None:
    """Add attributes that the writer has no values of its own for."""
    if extra is not None:
        element.attributes = {**extra.values, **element.attributes}
        _record(extra, output)


def _record(extra: _Extra, output: OutputContext) -> None:
    output.preserved_attributes |= {(extra.node, name) for name in extra.stated}


_LENS = ("sensorsize", "focal", "principal")
"""Attributes of cameras that state the angle of view, and pixels of the same in an image of the stated size."""
_LENS_IN_PIXELS = ("focalpixel", "principalpixel")


def _add_to_view(element: MjcfElement, extra: _Extra, textures: Mapping[str, str], output: OutputContext) -> None:
    """Add attributes to a camera or light: those of a lens in place of its angle of view, unless that was edited."""
    values, lost = dict(extra.values), set[str]()
    if element.tag == "camera":
        if values.pop("fovy", None) == element.attributes["fovy"]:
            if "sensorsize" in values:
                del element.attributes["fovy"]
        else:
            lost = {*_LENS, *_LENS_IN_PIXELS}
    elif "texture" in values:
        texture = textures.get(str(values["texture"]))
        lost = {"texture", "type"} if texture is None else {"type"} if "directional" in element.attributes else set()
        values["texture"] = texture or ""
    element.attributes = {**{name: one for name, one in values.items() if name not in lost}, **element.attributes}
    output.preserved_attributes |= {(extra.node, name) for name in extra.stated - lost}


def _add_to_geom(element: MjcfElement, extra: _Extra, solref: tuple[float, ...]) -> None:
    values = dict(extra.values)
    friction: Any = values.pop("friction", None)
    element.attributes.pop("group", None)
    element.attributes |= values
    if "solref" not in values and solref != _SOLREF:
        element.attributes["solref"] = _SOLREF
    if friction is not None:  # the scene has the sliding friction
        own: Any = element.attributes.get("friction", (1.0,))
        element.attributes["friction"] = (own[0], *friction[1:])


def _add_to_body(element: MjcfElement, extra: _Extra, *, has_gravity: bool, is_outer: bool) -> bool:
    """Add attributes to a body; False if its gravity compensation was edited, or if it cannot be a mocap body."""
    values = dict(extra.values)
    compensation: Any = values.get("gravcomp")
    lost = set() if compensation is None or (compensation <= 0.5) == has_gravity else {"gravcomp"}
    has_joint = any(child.tag in ("joint", "freejoint") for child in element.children)
    lost |= {"mocap"} & values.keys() if has_joint or not is_outer else set()
    element.attributes |= {name: values[name] for name in values if name not in lost}
    return not lost
