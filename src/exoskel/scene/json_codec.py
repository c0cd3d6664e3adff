"""Encoding of scene values as JSON and decoding them: the form in which they are embedded in files.

Numbers keep every bit; infinities are the strings `inf` and `-inf`; objects list only fields that differ from defaults.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import lru_cache
from math import floor, inf, isfinite, log10
from operator import attrgetter
from types import NoneType
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

import msgspec
import numpy as np
from msgspec import Struct

from exoskel.scene.body import Body, Marker, SoftBody
from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.fields import DOF_FIELDS, FIELDS, SOFT_FIELDS
from exoskel.scene.inertia import Inertia
from exoskel.scene.item import Item
from exoskel.scene.joint import STOPS, TRAITS, Dof, Drive, Joint, wrong_count
from exoskel.scene.pose import Pose
from exoskel.scene.shape import Mesh, Shape, Texture, TriMesh, clamp_color, texture_of

if TYPE_CHECKING:
    from json import JSONDecoder, JSONEncoder

K = TypeVar("K")
V = TypeVar("V")
_REQUIRED = {Shape: ("geometry",), Marker: ("name",), Joint: ("name", "kind", "child"), SoftBody: ("total_mass",)}
_NOT_ENCODED: dict[type[Struct], tuple[str, ...]] = {Mesh: ("path", "extent"), Texture: ("path",)}
"""Fields that the reader finds itself, because they depend on the machine."""
_INFINITE = (*STOPS, "control_range", "force_range", "range", "limits", "force_limits")
"""Fields of values that may be infinite."""
_shape_values = attrgetter(*FIELDS[Shape])
_dof_row, _soft_row = attrgetter(*DOF_FIELDS), attrgetter(*SOFT_FIELDS)
_OPTIONAL: dict[type[Item], tuple[Callable[[Any], Any], Any]] = {
    Dof: (_dof_row, _dof_row(Dof())),
    SoftBody: (_soft_row, _soft_row(SoftBody(total_mass=0.0))),
}
"""Items of which only fields that differ from defaults are encoded: a getter of the fields, and their defaults."""


_NAMES_IN_FILES = {"collision_exempt_groups": "passing", "collide_connected": "touching", "ignored_values": "kept"}
"""Fields with another name in files than in the scene; all others have the same name in both."""
_FIELDS_OF_NAMES = {name: field for field, name in _NAMES_IN_FILES.items()}


def name_in_file(field: str) -> str:
    """The name of a field in files."""
    return _NAMES_IN_FILES.get(field, field)


def field_of_name(name: str) -> str:
    """The field with a name in files; the inverse of `name_in_file`."""
    return _FIELDS_OF_NAMES.get(name, name)


def encode_value(value: Any) -> Any:
    """Encode a value as dicts, lists, strings, numbers, booleans and None."""
    kind = type(value)
    if kind is float:
        return "inf" if value == inf else "-inf" if value == -inf else value
    if kind in _JSON_TYPES:
        return value
    if kind is tuple or kind is list:
        return [encode_value(inner) for inner in value]
    if isinstance(value, Item):
        return encode_item(value)
    if isinstance(value, Struct):
        default = _defaults(type(value))
        data = {
            name: encode_value(getattr(value, name))
            for name in value.__struct_fields__
            if name not in _NOT_ENCODED.get(type(value), ())
            and (name not in default or not _is_default(getattr(value, name), default[name]))
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


def _is_default(value: Any, default: Any) -> bool:
    return value is default or (not isinstance(value, np.ndarray) and bool(value == default))


_JSON_TYPES = frozenset({str, int, bool, type(None)})


@lru_cache
def _defaults(kind: type[Struct]) -> dict[str, Any]:
    return {f.name: f.default for f in msgspec.structs.fields(kind) if f.default is not msgspec.NODEFAULT}


@lru_cache
def _encoder() -> JSONEncoder:
    from json import JSONEncoder

    return JSONEncoder(ensure_ascii=False, allow_nan=False)


def encode_json(value: Any) -> str:
    """Encode a value as JSON text."""
    return _encoder().encode(encode_value(value))


def fingerprint(value: Any) -> str:
    """A checksum of a value, eight hexadecimal digits.

    Numbers are rounded before: their last digits depend on the processor where they are computed from a document.
    """
    if type(value) in _JSON_TYPES:
        return _checksum(value)
    key = value_key(value)
    found = _FINGERPRINTS.get(key) if key is not None else None
    if found is None:
        found = _checksum(_rounded(value, 0.0))
        if key is not None:
            remember(_FINGERPRINTS, key, found)
    return found


ValueKey = tuple[type, type, bytes]
_FINGERPRINTS: dict[ValueKey, str] = {}
_MOST_REMEMBERED = 1 << 12
_MOST_BYTES = 1 << 10
_PLAIN_ENTRIES = (NoneType, float, tuple, dict, Drive)
"""The types of entries of tuples and lists that have different encodings."""


def value_key(value: Any) -> ValueKey | None:
    """A key that only values with the same encoding have, to the bit; None for values that are seldom repeated.

    Bodies and joints that are alike have many values in common, and encoding them as JSON takes long.
    """
    kind = type(value)
    entry = NoneType
    if kind is tuple or kind is list:
        entry = type(value[0]) if value else NoneType
        if entry not in _PLAIN_ENTRIES:
            return None
    elif kind is not Pose and kind is not Inertia:
        return None
    return struct_key(kind, entry, value)


def struct_key(kind: type, entry: type, value: Any) -> ValueKey | None:
    """The key of a value of a known type; None if it is large or contains arrays."""
    try:
        data = msgspec.msgpack.encode(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return (kind, entry, data) if len(data) < _MOST_BYTES else None


def item_key(item: Item, field: str) -> ValueKey | None:
    """A key of items or fields with the same encoding; None for those with files, or that seldom repeat."""
    if not isinstance(item, Shape):
        return value_key(field_value(item, field)) if field else None
    if field:
        return None if field in ("geometry", "material") else value_key(field_value(item, field))
    if isinstance(item.geometry, Mesh | TriMesh) or texture_of(item) is not None:
        return None
    return struct_key(Shape, Shape, _shape_values(item))


def remember(known: dict[K, V], key: K, value: V) -> None:
    """Add a value to some that are known, which are forgotten if there are too many."""
    if len(known) >= _MOST_REMEMBERED:
        known.clear()
    known[key] = value


def has_fingerprint(value: Any, expected: str) -> bool:
    """Whether a value has a fingerprint, also if rounding errors move a number from one rounded one to the next."""
    if fingerprint(value) == expected:
        return True
    if type(value) in _JSON_TYPES:
        return False  # no number to round
    return any(_checksum(_rounded(value, shift)) == expected for shift in (_SHIFT, -_SHIFT)) or (
        _checksum(encode_value(value)) == expected
    )


_DIGITS = 10
_SHIFT = 1e-3
"""Moves numbers across a limit between two rounded ones, in units of the last digit; more than rounding errors do."""


def _checksum(data: Any) -> str:
    return f"{zlib.crc32(_encoder().encode(data).encode()):08x}"


def _rounded(value: Any, shift: float) -> Any:
    """An encoded value with rounded numbers; zero positions and rotations are omitted, as exact zeros are."""
    if not isinstance(value, Pose):
        return _round_numbers(encode_value(value), shift)
    data = _round_numbers(encode_value(value), shift)
    if not any(data.get("position", ())):
        data.pop("position", None)
    rotation = data.get("rotation", {})
    if "wxyz" in rotation:
        first = next((entry for entry in rotation["wxyz"] if entry), 1.0)
        rotation["wxyz"] = [-entry or 0.0 for entry in rotation["wxyz"]] if first < 0.0 else rotation["wxyz"]
        if not any(rotation["wxyz"][1:]):
            del data["rotation"]
    return data


def _round_numbers(data: Any, shift: float, *, is_moment: bool = False) -> Any:
    """Round numbers to ten digits: those of a list to the digits of the largest, and to ten decimals at most.

    Moments of inertia may be small, and have no such limit.
    """
    if isinstance(data, float):
        return _round_to(data, abs(data), shift)
    if isinstance(data, dict):
        return {key: _round_numbers(one, shift, is_moment=key == "moment") for key, one in data.items()}
    if not isinstance(data, list):
        return data
    scale = max((abs(one) for one in data if isinstance(one, float)), default=0.0)
    scale = scale if is_moment else max(scale, 1.0)
    return [_round_to(one, scale, shift) if isinstance(one, float) else _round_numbers(one, shift) for one in data]


def _round_to(number: float, scale: float, shift: float) -> float:
    """A number with ten digits, counted from the first one of a scale."""
    if not (isfinite(number) and _LEAST < scale < _LARGEST):
        return number or 0.0
    decimals = _DIGITS - 1 - floor(log10(scale))
    return round(number + shift * 10.0**-decimals, decimals) or 0.0


_LEAST, _LARGEST = 1e-280, 1e280


def field_value(item: Item, field: str) -> Any:
    """The value of a field to encode: bodies by name, degrees of freedom as dicts of the fields they set."""
    if isinstance(item, Joint):
        if field in ("child", "parent"):
            body: Body | None = getattr(item, field)
            return None if body is None else body.name
        if field == "dofs":
            rows = [_encode_set_fields(dof, DOF_FIELDS) for dof in item._dofs or ()]
            return rows if any(rows) else []
    if field == "color" and isinstance(item, Shape | Marker):
        return clamp_color(item.color)  # embedded data has to be valid
    return getattr(item, field)


def encode_item(item: Item) -> dict[str, Any]:
    """Encode a whole item."""
    if isinstance(item, SoftBody):
        return {"total_mass": item.total_mass, **_encode_set_fields(item, SOFT_FIELDS)}
    required = _REQUIRED[type(item)]
    default = _encoded_defaults(type(item))
    data = {name: encode_value(field_value(item, name)) for name in FIELDS[type(item)]}
    return {name_in_file(name): value for name, value in data.items() if name in required or value != default.get(name)}


@lru_cache
def _encoded_defaults(kind: type[Item]) -> dict[str, Any]:
    return {name: encode_value(value) for name, value in _defaults(kind).items()} | {"dofs": []}


def _encode_set_fields(item: Item, fields: tuple[str, ...]) -> dict[str, Any]:
    row, defaults = _OPTIONAL[type(item)]
    return {name: encode_value(v) for name, v, default in zip(fields, row(item), defaults, strict=True) if v != default}


class CodecError(Exception):
    """Embedded data is invalid; the message gives the reason."""


@lru_cache
def _decoder() -> JSONDecoder:
    from json import JSONDecoder

    return JSONDecoder(parse_constant=_reject_constant, parse_float=_parse_finite)


def decode_json(text: str) -> Any:
    """Parse JSON text; numbers have to be finite."""
    try:
        return _decoder().decode(text)
    except (ValueError, RecursionError) as error:
        raise CodecError(str(error)) from None


def _parse_finite(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise ValueError(f"{text} is too large")
    return value


def _reject_constant(text: str) -> float:
    raise ValueError(f"{text} is not JSON")


@lru_cache
def _types(kind: type[Item]) -> dict[str, Any]:
    return get_type_hints(kind)


def decode_field(kind: type[Item], field: str, data: Any) -> Any:
    """Decode the value of a field of an item.  References to bodies stay names."""
    if kind is Joint and field in ("child", "parent"):
        return _convert(data, str | None)
    if kind is Joint and field == "dofs":
        return [_decode_fields(Dof, row) for row in _convert(data, list[dict[str, Any]])]
    if field == "soft":
        return None if data is None else _decode_fields(SoftBody, _convert(data, dict[str, Any]))
    if field not in FIELDS.get(kind, ()) and kind not in _OPTIONAL:
        raise CodecError(f"{kind.__name__} has no field {field!r}")
    return _decode_checked_field(kind, field, data)


def _decode_checked_field(kind: type[Item], field: str, data: Any) -> Any:
    found = _convert(data, _types(kind)[field])
    if not field.endswith("limits") and not _is_finite(found):
        raise CodecError(f"{field} is infinite")
    return found


def _is_finite(value: Any) -> bool:
    """Whether all numbers in a value are finite; joint stops may be infinite."""
    if isinstance(value, float):
        return isfinite(value)
    if isinstance(value, np.ndarray):
        return bool(np.isfinite(value).all())
    if isinstance(value, Struct):
        return all(_is_finite(getattr(value, name)) for name in value.__struct_fields__ if name not in _INFINITE)
    return not isinstance(value, tuple | list) or all(map(_is_finite, value))


def _convert(data: Any, wanted: Any) -> Any:
    try:
        with no_edits():  # what is read is validated later
            return msgspec.convert(data, wanted, strict=False, dec_hook=_decode_array)
    except (msgspec.ValidationError, ValueError, TypeError) as error:
        raise CodecError(str(error)) from None


def _decode_array(wanted: Any, data: Any) -> Any:
    whole = "int" in str(wanted)
    found = np.array(data, dtype=np.int64 if whole else np.float64)
    has_pairs = found.ndim == 2 and found.shape[1] == 2 and not whole  # texture coordinates
    return found if has_pairs else found.reshape(-1, 3)


def _decode_fields(kind: type[Item], data: dict[str, Any]) -> Any:
    allowed = DOF_FIELDS if kind is Dof else SOFT_FIELDS if kind is SoftBody else FIELDS[kind]
    unknown = data.keys() - set(allowed)
    if unknown:
        raise CodecError(f"{kind.__name__} has no field {sorted(unknown)[0]!r}")
    try:
        return kind(**{name: _decode_checked_field(kind, name, value) for name, value in data.items()})
    except TypeError as error:
        raise CodecError(str(error)) from None


def decode_item(kind: type[Item], data: Any, bodies: dict[str, Body] | None = None) -> Any:
    """Decode a whole item; joints find their bodies by name."""
    fields = {field_of_name(name): value for name, value in _convert(data, dict[str, Any]).items()}
    if kind is not Joint:
        return _decode_fields(kind, fields)
    rows = fields.pop("dofs", [])
    values = {name: decode_field(Joint, name, value) for name, value in fields.items()}
    if not {"name", "kind", "child"} <= values.keys() or values["kind"] not in TRAITS:
        raise CodecError("a joint needs a name, a kind and a child")
    for end in ("child", "parent"):
        if values.get(end) is not None:
            if bodies is None or values[end] not in bodies:
                raise CodecError(f"unknown body {values[end]!r}")
            values[end] = bodies[values[end]]
    joint = Joint(**values)
    if rows:
        set_dofs(joint, decode_field(Joint, "dofs", rows))
    return joint


def set_dofs(joint: Joint, rows: list[Dof]) -> None:
    """Replace the degrees of freedom of a joint, or reset them if `rows` is empty."""
    if rows and len(rows) != len(joint.motion):
        raise CodecError(wrong_count("degrees of freedom", joint, len(joint.motion), len(rows)))
    for dof in rows:
        dof.document, dof.node = joint.document, joint.node
    joint._dofs = rows or None
