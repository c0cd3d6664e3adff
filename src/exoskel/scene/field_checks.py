"""The fields of scene objects: numbers are given as any sequence or array, checked where they are set, and stored as
floats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite, isnan
from operator import attrgetter
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from exoskel.diagnostics import ExoskelError, is_plural, pluralize
from exoskel.spatial import AXIS_ORDERS

NumberSequence = Sequence[float] | NDArray[Any]
"""Some numbers: a tuple, a list or an array."""
NumberRows = Sequence[NumberSequence] | NDArray[Any]
"""Rows of numbers."""

Stored = TypeVar("Stored")
Given = TypeVar("Given")

if TYPE_CHECKING:

    class ConvertedField(Generic[Stored, Given]):
        """A field that stores numbers as a tuple, and is set from any sequence of them.

        Only type checkers see this class: constructors and assignments accept what is `Given`.
        """

        def __get__(self, item: object, owner: type) -> Stored: ...

        def __set__(self, item: object, value: Given) -> None: ...

else:

    class ConvertedField:
        """At run time, a field has the type that it stores."""

        def __class_getitem__(cls, types: tuple[Any, Any]) -> Any:
            return types[0]


def initially(value: Any) -> Any:
    """The default value of a converted field."""
    return value


_PLAIN = {float, int}
_MOST_CHARACTERS = 80


_PLURALS = {"is": "are", "has": "have"}


class FieldError(ValueError):
    """A value is not what a field needs.  The text follows the name of the field: `has 2 numbers, but needs 3`."""

    def about(self, name: str) -> str:
        """The text with the verb that fits the name of a field."""
        if not is_plural(name):
            return str(self)
        verb, rest = str(self).replace("but needs ", "but need ").split(" ", 1)
        return f"{_PLURALS[verb]} {rest}"


def number(value: Any, *, finite: bool = True) -> float:
    """A number as a float.  Raises FieldError for anything else, for text, and for a number that is not finite.

    Without `finite`, infinities are accepted.
    """
    if type(value) is not float:
        try:
            if isinstance(value, str | bytes) or (isinstance(value, np.ndarray) and value.ndim):
                raise TypeError
            value = float(value)
        except (TypeError, ValueError, OverflowError):
            raise FieldError(f"is {_shown(value)}, but must be a number") from None
    if not isfinite(value) and (finite or isnan(value)):
        raise FieldError(f"is {value}, but must be finite" if finite else "is nan, but must be a number")
    return float(value)


def numbers(values: Any, count: int | None = None, *, finite: bool = True) -> tuple[float, ...]:
    """Some numbers as floats.  Raises FieldError as `number` does, and if there are not `count` of them."""
    try:
        if {*map(type, values)} <= _PLAIN:
            row = tuple(map(float, values))
        else:
            row = tuple([number(value, finite=False) for value in values])
    except (TypeError, ValueError, OverflowError):
        row = None
    if row is None or isinstance(values, str | bytes):
        wanted = "numbers" if count is None else f"{count} numbers"
        raise FieldError(f"is {_shown(values)}, but must be {wanted}")
    if count is not None and len(row) != count:
        raise FieldError(f"has {pluralize(len(row), 'number')}, but needs {count}")
    if not isfinite(sum(row)) and not all(map(isfinite if finite else _is_number, row)):
        raise FieldError(f"is {row}, but must {'be finite' if finite else 'not contain NaN'}")
    return row


def vector(values: object) -> tuple[float, float, float]:
    """Three finite numbers, as they are if they are a tuple of floats."""
    if type(values) is tuple and len(values) == 3:
        x, y, z = values
        if type(x) is float and type(y) is float and type(z) is float and isfinite(x + y + z):
            return values
    x, y, z = numbers(values, 3)
    return (x, y, z)


def direction(values: object) -> tuple[float, float, float]:
    """Three finite numbers that are not all zero.  Raises FieldError for others."""
    found = vector(values)
    if not any(found):
        raise FieldError("is zero, but must have a direction, such as (0, 0, 1)")
    return found


def _directions(values: object) -> tuple[tuple[float, ...], ...]:
    """Rows of three numbers, none of them all zero."""
    rows = _rows(values, 3)
    if not all(map(any, rows)):
        raise FieldError(f"is {rows}, but none of them may be zero")
    return rows


def _quaternion(values: object) -> tuple[float, ...]:
    """Four finite numbers that are not all zero."""
    found = numbers(values, 4)
    if not any(found):
        raise FieldError("is zero, but must be a rotation, such as (1, 0, 0, 0)")
    return found


def _is_number(value: float) -> bool:
    return not isnan(value)


def _rows(values: Any, width: int, count: int | None = None) -> tuple[tuple[float, ...], ...]:
    """Rows of `width` numbers."""
    try:
        rows = [*values]
    except TypeError:
        rows = None
    if rows is None or isinstance(values, str | bytes):
        raise FieldError(f"is {_shown(values)}, but must be rows of {width} numbers")
    if count is not None and len(rows) != count:
        raise FieldError(f"has {pluralize(len(rows), 'row')}, but needs {count}")
    return tuple([numbers(row, width) for row in rows])


def _array(values: object, kinds: str, dtype: type, width: int = 3) -> NDArray[Any]:
    """Rows of `width` numbers as an array; `kinds` are the kinds of NumPy types that are converted."""
    if isinstance(values, np.ndarray) and values.dtype == dtype:
        return values
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.ndim != 2 or array.shape[1] != width or array.dtype.kind not in kinds:
        wanted = f"{width} {'numbers' if 'f' in kinds else 'integers'}"
        raise FieldError(f"is {_shown(values)}, but must be rows of {wanted}")
    return array.astype(dtype)


def _choice(value: object, choices: tuple[str, ...]) -> str:
    """One of some names."""
    if not (isinstance(value, str) and value in choices):
        raise FieldError(f"is {_shown(value)}, but must be {', '.join(choices[:-1])} or {choices[-1]}")
    return value


def _text(value: object) -> str:
    """A text."""
    if not isinstance(value, str):
        raise FieldError(f"is {_shown(value)}, but must be a string")
    return value


def _flag(value: object) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise FieldError(f"is {_shown(value)}, but must be True or False")
    return bool(value)


def _integer(value: object) -> int:
    """An integer."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise FieldError(f"is {_shown(value)}, but must be an integer")
    return int(value)


def _not_negative(value: object) -> float:
    """A finite number that is not negative."""
    found = number(value)
    if found < 0.0:
        raise FieldError(f"is {found}, but must not be negative")
    return found


def _positive(value: object) -> float:
    """A finite number above zero."""
    found = number(value)
    if not found > 0.0:
        raise FieldError(f"is {found}, but must be positive")
    return found


def interval(values: object) -> tuple[float, float]:
    """A lower and an upper limit, which may be infinite.  Raises FieldError for others."""
    low, high = numbers(values, 2, finite=False)
    if low > high:
        raise FieldError(f"is {low:g} to {high:g}, but the lower limit must not exceed the upper one")
    return (low, high)


def _shown(value: object) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 1]}…"


# --- fields --------------------------------------------------------------------------------------------

_Convert = Callable[[object], object]


class _Fields(Struct, frozen=True):
    """The fields of a class that are checked: how each is converted, and a function that checks them all."""

    convert: dict[str, _Convert]
    check: Callable[[Struct], None]


def check_fields(item: Struct) -> None:
    """Check a new object, and convert its numbers.  Raises ExoskelError with the object and the invalid field."""
    (_FIELDS.get(type(item)) or _fields(type(item))).check(item)


def check_field(item: Struct, name: str, value: object) -> object:
    """The value of a field that is to be set, with its numbers converted.  Raises ExoskelError as `check_fields`."""
    convert = _fields(type(item)).convert.get(name)
    return value if convert is None else _convert(item, name, convert, value)


def _convert(item: Struct, name: str, convert: _Convert, value: object) -> object:
    try:
        return convert(value)
    except FieldError as error:
        raise ExoskelError(f"the {name} of {_describe(item)} {error.about(name)}") from None


def _describe(item: Struct) -> str:
    """What a message calls an object: `body 'arm'`, or `a box` without a name."""
    kind, name = kind_name(item), getattr(item, "name", "")
    return f"{kind} {name!r}" if name else f"{'an' if kind[0] in 'aei' else 'a'} {kind}"


def kind_name(item: Struct | None) -> str:
    """What a message calls objects of this kind, such as `soft body`."""
    return _KINDS.get(type(item).__name__, type(item).__name__.lower())


_KINDS = {
    "Dof": "degree of freedom",
    "AxisAngle": "axis angle",
    "BodyState": "body state",
    "FiniteRotation": "finite rotation",
    "SceneCamera": "camera",
    "SceneLight": "light",
    "SceneSensor": "sensor",
    "SoftBody": "soft body",
}


_FIELDS: dict[type[Struct], _Fields] = {}


def _fields(kind: type[Struct]) -> _Fields:
    """The fields of a class that are checked, by their types: those with numbers, and those with other objects."""
    if kind not in _FIELDS:
        found = {name: _converter(kind.__name__, name, hint) for name, hint in get_type_hints(kind).items()}
        convert = {name: one for name in kind.__struct_fields__ if (one := found.get(name)) is not None}
        defaults = {field.name: field.default for field in structs.fields(kind)}
        _FIELDS[kind] = _Fields(convert, _checker([(name, one, defaults[name]) for name, one in convert.items()]))
    return _FIELDS[kind]


def _checker(rows: list[tuple[str, _Convert, object]]) -> Callable[[Struct], None]:
    """A function that checks fields with these names, converters and defaults."""
    names = [name for name, _, _ in rows]
    if len(rows) < 2:
        # most geometries
        get = attrgetter(*names) if names else lambda _item: None
        name, convert, _ = rows[0] if rows else ("", lambda value: value, None)

        def check_one(item: Struct) -> None:
            value = get(item)
            converted = _convert(item, name, convert, value)
            if converted is not value:
                structs.force_setattr(item, name, converted)

        return check_one
    get_all: Callable[[Struct], tuple[object, ...]] = attrgetter(*names)

    def check_all(item: Struct) -> None:
        for value, (name, convert, default) in zip(get_all(item), rows, strict=True):
            if value is not default:
                converted = _convert(item, name, convert, value)
                if converted is not value:
                    structs.force_setattr(item, name, converted)

    return check_all


def _converter(owner: str, name: str, hint: Any) -> _Convert | None:
    """What converts the values of a field of this type; None if they are not checked."""
    if get_origin(hint) in (Union, UnionType):
        inner = [one for one in get_args(hint) if one is not NoneType]
        found = _converter(owner, name, inner[0]) if len(inner) == 1 else _type_check(inner)
        if found is None or len(inner) == len(get_args(hint)):
            return found
        return lambda value: None if value is None else found(value)
    if (owner, name) in _DIRECTIONS:
        return _DIRECTIONS[owner, name]
    choices = get_args(hint) if get_origin(hint) is Literal else _CHOICES.get((owner, name))
    if choices is not None:
        return lambda value: _choice(value, choices)
    if hint is float and (owner, name) in _RANGES:
        return _RANGES[owner, name]
    if hint in _PLAIN_TYPES:
        return _PLAIN_TYPES[hint]
    if get_origin(hint) is list:
        return _list_check(get_args(hint)[0])
    if hint is float:
        finite = (owner, name) not in _INFINITE
        return lambda value: number(value, finite=finite)
    if get_origin(hint) is tuple:
        return _tuple_converter(get_args(hint), is_interval=(owner, name) not in _PAIRS)
    if hint in _ARRAYS:
        is_float, width = hint == NDArray[np.float64], _WIDTHS.get((owner, name), 3)
        return lambda value: _array(value, "fiu" if is_float else "iu", np.float64 if is_float else np.int64, width)
    return _type_check([hint])


def _type_check(types: list[Any]) -> _Convert | None:
    """A check that a value is an object of one of some classes; None for other types."""
    if not all(isinstance(one, type) and issubclass(one, Struct) for one in types):
        return None
    classes = tuple(types)

    def check(value: object) -> object:
        if not isinstance(value, classes):
            wanted = [one.__name__ for one in classes]
            names = f"{', '.join(wanted[:-1])} or {wanted[-1]}" if len(wanted) > 1 else wanted[0]
            raise FieldError(f"is {_shown(value)}, but must be {'an' if names[0] in 'AEI' else 'a'} {names}")
        return value

    return check


def _list_check(kind: Any) -> _Convert | None:
    """A check that a value is a list of objects of a class; None for other types."""
    check = _type_check([kind])
    if check is None:
        return None

    def check_all(values: object) -> object:
        if not isinstance(values, list | tuple):
            raise FieldError(f"is {_shown(values)}, but must be a list")
        for value in values:
            check(value)
        return values if isinstance(values, list) else [*values]

    return check_all


def _tuple_converter(types: tuple[Any, ...], *, is_interval: bool) -> _Convert | None:
    count = len(types)
    if set(types) == {float}:
        if count == 3:
            return vector
        return interval if count == 2 and is_interval else lambda value: numbers(value, count)
    inner = get_args(types[0])
    if set(inner) != {float}:
        return None
    return lambda value: _rows(value, len(inner), None if types[-1] is Ellipsis else count)


_ARRAYS = (NDArray[np.float64], NDArray[np.int64])
_WIDTHS = {("TriMesh", "uvs"): 2}
"""The numbers in each row of an array, if there are not three."""

_INFINITE = {("Drive", "low_stop"), ("Drive", "high_stop")}
"""Numbers that may be infinite, besides those of intervals."""

_PAIRS = {("SolverParameters", "solref"), ("Texture", "repeat")}
"""Two numbers that are not an interval."""

_RANGES: dict[tuple[str, str], _Convert] = {("Inertia", "mass"): _not_negative, ("World", "time_step"): _positive}
"""Numbers that are not negative, or positive."""

_DIRECTIONS: dict[tuple[str, str], _Convert] = {
    ("AxisAngle", "axis"): direction,
    ("Joint", "axes"): _directions,
    ("SceneLight", "direction"): direction,
    ("Marker", "quaternion"): _quaternion,
    ("Plane", "normal"): direction,
    ("Quaternion", "wxyz"): _quaternion,
}
"""Vectors and quaternions of any length but zero."""

_PLAIN_TYPES: dict[type, _Convert] = {str: _text, bool: _flag, int: _integer}

_CHOICES = {
    ("Euler", "order"): AXIS_ORDERS,
    ("Joint", "order"): AXIS_ORDERS,
    ("Joint", "plane"): ("xy", "yz", "zx", "arbitrary"),
}
"""The values of texts that are names.  Types that list their values need no row."""
