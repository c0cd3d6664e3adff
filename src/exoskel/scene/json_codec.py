"""Values of the scene as plain data and back, exactly: the spelling in which they are carried along.

Numbers keep every bit; infinities are the words `inf` and `-inf`; objects list only what differs from defaults.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from functools import lru_cache
from math import inf, isfinite
from operator import attrgetter
from typing import Any, get_type_hints

import msgspec
import numpy as np
from msgspec import Struct

from exoskel.scene.body import Body, Marker, SoftBody
from exoskel.scene.fields import DOF_FIELDS, FIELDS, SOFT_FIELDS
from exoskel.scene.item import Item
from exoskel.scene.joint import TRAITS, Dof, Joint
from exoskel.scene.shape import Mesh, Shape

_NEEDED = {Shape: ("geometry",), Marker: ("name",), Joint: ("name", "kind", "child"), SoftBody: ("total_mass",)}
_FOUND: dict[type[Struct], tuple[str, ...]] = {Mesh: ("path", "extent")}
"""What a reader finds out by itself: where a file is, is another matter on every machine."""
_dof_row, _soft_row = attrgetter(*DOF_FIELDS), attrgetter(*SOFT_FIELDS)
_OPTIONAL: dict[type[Item], tuple[Callable[[Any], Any], Any]] = {
    Dof: (_dof_row, _dof_row(Dof())),
    SoftBody: (_soft_row, _soft_row(SoftBody(total_mass=0.0))),
}
"""What is told by what it states: its fields, and their defaults."""


_NAMES_IN_FILES = {"collision_exempt_groups": "passing", "collide_connected": "touching"}
"""Fields that files spell otherwise than the scene does; all others have the same name in both."""
_FIELDS_OF_NAMES = {name: field for field, name in _NAMES_IN_FILES.items()}


def name_in_file(field: str) -> str:
    """How files spell the name of a field."""
    return _NAMES_IN_FILES.get(field, field)


def field_of_name(name: str) -> str:
    """The field that a file names; the inverse of `name_in_file`."""
    return _FIELDS_OF_NAMES.get(name, name)


def encode_value(value: Any) -> Any:
    """A value as what JSON knows."""
    kind = type(value)
    if kind is float:
        return "inf" if value == inf else "-inf" if value == -inf else value
    if kind in _PLAIN:
        return value
    if kind is tuple or kind is list:
        return [encode_value(inner) for inner in value]
    if isinstance(value, Item):
        return encode_item(value)
    if isinstance(value, Struct):
        blank = _defaults(type(value))
        data = {
            name: encode_value(getattr(value, name))
            for name in value.__struct_fields__
            if name not in _FOUND.get(type(value), ()) and (name not in blank or getattr(value, name) != blank[name])
        }
        tag = value.__struct_config__.tag
        return {"type": tag, **data} if tag else data
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {str(key): encode_value(inner) for key, inner in value.items()}
    if isinstance(value, tuple | list):
        return [encode_value(inner) for inner in value]
    if isinstance(value, float) and value in (np.inf, -np.inf):
        return "inf" if value > 0 else "-inf"
    return value


_PLAIN = frozenset({str, int, bool, type(None)})


@lru_cache
def _defaults(kind: type[Struct]) -> dict[str, Any]:
    return {f.name: f.default for f in msgspec.structs.fields(kind) if f.default is not msgspec.NODEFAULT}


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def encode_json(value: Any) -> str:
    """A packed value as JSON."""
    return _ENCODER.encode(encode_value(value))


def fingerprint(value: Any) -> str:
    """Eight digits that tell whether a value is still the one it was."""
    return f"{zlib.crc32(encode_json(value).encode()):08x}"


def field_value(item: Item, field: str) -> Any:
    """A field as it is carried: bodies by name, degrees of freedom by what they state."""
    if isinstance(item, Joint):
        if field in ("child", "parent"):
            body: Body | None = getattr(item, field)
            return None if body is None else body.name
        if field == "dofs":
            rows = [_given(dof, DOF_FIELDS) for dof in item._dofs or ()]
            return rows if any(rows) else []
    return getattr(item, field)


def encode_item(item: Item) -> dict[str, Any]:
    """An item that has no other counterpart, whole."""
    if isinstance(item, SoftBody):
        return {"total_mass": item.total_mass, **_given(item, SOFT_FIELDS)}
    needed = _NEEDED[type(item)]
    blank = _blank(type(item))
    data = {name: encode_value(field_value(item, name)) for name in FIELDS[type(item)]}
    return {name_in_file(name): value for name, value in data.items() if name in needed or value != blank.get(name)}


@lru_cache
def _blank(kind: type[Item]) -> dict[str, Any]:
    return {name: encode_value(value) for name, value in _defaults(kind).items()} | {"dofs": []}


def _given(item: Item, fields: tuple[str, ...]) -> dict[str, Any]:
    row, blank = _OPTIONAL[type(item)]
    return {name: encode_value(v) for name, v, default in zip(fields, row(item), blank, strict=True) if v != default}


class CodecError(Exception):
    """Carried data that is not what it should be, with the reason."""


def decode_json(text: str) -> Any:
    """What a JSON text holds."""
    try:
        return json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise CodecError(str(error)) from None


def _finite(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise ValueError(f"{text} is too large")
    return value


def _refuse(word: str) -> float:
    raise ValueError(f"{word} is not JSON")


@lru_cache
def _types(kind: type[Item]) -> dict[str, Any]:
    return get_type_hints(kind)


def decode_field(kind: type[Item], field: str, data: Any) -> Any:
    """The value of a field of an item, from what was packed.  References to bodies stay names."""
    if kind is Joint and field in ("child", "parent"):
        return _converted(data, str | None)
    if kind is Joint and field == "dofs":
        return [_item(Dof, row) for row in _converted(data, list[dict[str, Any]])]
    if field == "soft":
        return None if data is None else _item(SoftBody, _converted(data, dict[str, Any]))
    if field not in FIELDS.get(kind, ()) and kind not in _OPTIONAL:
        raise CodecError(f"a {kind.__name__.lower()} has no {field!r}")
    return _field(kind, field, data)


def _field(kind: type[Item], field: str, data: Any) -> Any:
    found = _converted(data, _types(kind)[field])
    if not field.endswith("limits") and not _is_finite(found):
        raise CodecError(f"{field} is infinite")
    return found


_STOPS = ("low_stop", "high_stop")


def _is_finite(value: Any) -> bool:
    """Whether all numbers in a value are finite; stops, like limits, need not be."""
    if isinstance(value, float):
        return isfinite(value)
    if isinstance(value, np.ndarray):
        return bool(np.isfinite(value).all())
    if isinstance(value, Struct):
        return all(_is_finite(getattr(value, name)) for name in value.__struct_fields__ if name not in _STOPS)
    return not isinstance(value, tuple | list) or all(map(_is_finite, value))


def _converted(data: Any, wanted: Any) -> Any:
    try:
        return msgspec.convert(data, wanted, strict=False, dec_hook=_array)
    except (msgspec.ValidationError, ValueError, TypeError) as error:
        raise CodecError(str(error)) from None


def _array(wanted: Any, data: Any) -> Any:
    whole = "int" in str(wanted)
    return np.array(data, dtype=np.int64 if whole else np.float64).reshape(-1, 3)


def _item(kind: type[Item], data: dict[str, Any]) -> Any:
    allowed = DOF_FIELDS if kind is Dof else SOFT_FIELDS if kind is SoftBody else FIELDS[kind]
    stray = data.keys() - set(allowed)
    if stray:
        raise CodecError(f"a {kind.__name__.lower()} has no {sorted(stray)[0]!r}")
    try:
        return kind(**{name: _field(kind, name, value) for name, value in data.items()})
    except TypeError as error:
        raise CodecError(str(error)) from None


def decode_item(kind: type[Item], data: Any, bodies: dict[str, Body] | None = None) -> Any:
    """A whole item from what was packed; joints find their bodies by name."""
    fields = {field_of_name(name): value for name, value in _converted(data, dict[str, Any]).items()}
    if kind is not Joint:
        return _item(kind, fields)
    rows = fields.pop("dofs", [])
    values = {name: decode_field(Joint, name, value) for name, value in fields.items()}
    if not {"name", "kind", "child"} <= values.keys() or values["kind"] not in TRAITS:
        raise CodecError("a joint needs a name, a kind and a child")
    for end in ("child", "parent"):
        if values.get(end) is not None:
            if bodies is None or values[end] not in bodies:
                raise CodecError(f"there is no body called {values[end]!r}")
            values[end] = bodies[values[end]]
    joint = Joint(**values)
    if rows:
        set_dofs(joint, decode_field(Joint, "dofs", rows))
    return joint


def set_dofs(joint: Joint, rows: list[Dof]) -> None:
    if rows and len(rows) != len(joint.motion):
        raise CodecError(f"a {joint.kind} joint has {len(joint.motion)} degrees of freedom, not {len(rows)}")
    for dof in rows:
        dof.document, dof.node = joint.document, joint.node
    joint._dofs = rows or None
