"""A USD layer as prims with typed properties and valid names, and how it is written to a file or a package.

Text has the shortest exact numbers; the binary form is written through usd-core.  Most properties of UsdPhysics are in
single precision: their numbers have the digits that it holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from math import inf, isfinite
from typing import Any

import numpy as np
from msgspec import Struct, field, structs

from exoskel.formats.usd.codes import catalogue_error
from exoskel.formats.usd.text_layer import asset_text
from exoskel.scene.shape import Texture
from exoskel.source.atomic_write import TemporaryFolder
from exoskel.source.markup import UnwritableError
from exoskel.source.numbers import GivenNumbers, round_computed, round_vector
from exoskel.source.usdz_archive import EXTENSION, FIRST_LAYER, pack
from exoskel.spatial import Array, round_array

_INVALID = re.compile(r"[^A-Za-z0-9_]")


class Identifiers:
    """The names of the children of one prim."""

    def __init__(self, reserved: tuple[str, ...] = ()) -> None:
        self._taken = set(reserved)
        self._counters: dict[str, int] = {}

    def unique(self, name: str, otherwise: str) -> str:
        """`name` in letters, digits and underscores, with a number appended if a sibling has the same name.

        USD allows letters of all scripts since 2024, but not all readers do.
        """
        fit = _INVALID.sub("_", name.strip()) or otherwise
        if fit[0].isdigit():
            fit = "_" + fit
        chosen = fit
        number = self._counters.get(fit, 0)
        while chosen in self._taken:
            number += 1
            chosen = f"{fit}_{number}"
        self._counters[fit] = number
        self._taken.add(chosen)
        return chosen


def display_name(name: str, identifier: str) -> dict[str, str]:
    """The metadata for the original name, if it differs from the identifier."""
    return {"displayName": name} if name and name != identifier else {}


# --- the layer -----------------------------------------------------------------------------------------


class PrimPath(str):
    """The path of a prim, for relationships."""

    __slots__ = ()


class AssetPath(str):
    """A reference to another file."""

    __slots__ = ()


class Varying(Struct, frozen=True):
    """A property with one value for each vertex, or each corner of each face (`faceVarying`)."""

    values: Any
    interpolation: str = "vertex"


Properties = dict[str, Any]
"""Values by declaration, such as `point3f physics:centerOfMass`.

A value is a number, text, path, tuple of numbers, list or array of these, or None for a declaration without a value.
Lengths are in m, masses in kg, and angles in degrees, as in UsdPhysics."""


class Prim(Struct, eq=False):
    """A prim.  `item` is the part of the scene that it represents, if any."""

    type: str
    name: str
    apis: list[str] = field(default_factory=list)
    properties: Properties = field(default_factory=dict)
    children: list[Prim] = field(default_factory=list)
    item: Any = None
    metadata: dict[str, Any] = field(default_factory=dict)
    specifier: str = "def"

    def iter(self) -> Iterator[Prim]:
        """The prim and its descendants, in document order."""
        yield self
        for child in self.children:
            yield from child.iter()

    def paths(self, above: str = "") -> Iterator[tuple[str, Prim]]:
        """Like `iter`, with the paths of prims below the path `above`."""
        own = f"{above}/{self.name}"
        yield own, self
        for child in self.children:
            yield from child.paths(own)


class Layer(Struct, eq=False):
    """A whole layer."""

    metadata: dict[str, Any]
    prims: list[Prim] = field(default_factory=list)
    textures: dict[str, Texture] = field(default_factory=dict)
    """The textures of shapes, by the references to their images."""

    def iter(self) -> Iterator[Prim]:
        """All prims, in document order."""
        for prim in self.prims:
            yield from prim.iter()

    def paths(self) -> Iterator[tuple[str, Prim]]:
        """Like `iter`, with the paths of prims."""
        for prim in self.prims:
            yield from prim.paths()


# --- files --------------------------------------------------------------------------------------------


TEXT, BINARY = ".usda", ".usdc"
_INDENT = "    "
MAX_SINGLE = 3.4e38
"""The limit of single precision, in which UsdPhysics has most of its numbers."""


def to_text(layer: Layer, given: GivenNumbers | None = None) -> str:
    """The layer as a `.usda` document.  Computed numbers are rounded: all but the `given` ones, if these are known."""
    lines = ["#usda 1.0", "("]
    lines += [f"{_INDENT}{name} = {_value(value, _INDENT)}" for name, value in layer.metadata.items()]
    lines.append(")")
    writer = _PrimWriter(lines, given)
    for prim in layer.prims:
        lines.append("")
        writer.append(prim, "")
    return "\n".join(lines) + "\n"


def to_binary(layer: Layer, given: GivenNumbers | None = None) -> bytes:
    """The layer as a `.usdc` document.  Raises UsdError without usd-core."""
    try:
        from pxr import Sdf
    except ImportError:
        raise catalogue_error("US001", what="the binary form of USD") from None
    return layer_bytes(open_layer(to_text(layer, given).encode(), TEXT, Sdf), BINARY)


def layer_bytes(layer: Any, extension: str) -> bytes:
    """A layer of usd-core as text or in the binary form."""
    with TemporaryFolder() as folder:
        file = folder / f"layer{extension}"
        layer.Export(str(file))
        return file.read_bytes()


def open_layer(data: bytes, extension: str, sdf: Any) -> Any:
    """Open a document as a layer of usd-core, which is faster with files than with strings.

    usd-core reads the binary form lazily, so the content is copied before the file is deleted.
    """
    with TemporaryFolder() as folder:
        file = folder / f"layer{extension}"
        file.write_bytes(data)
        read = sdf.Layer.OpenAsAnonymous(str(file))
        if extension == TEXT:
            return read
        layer = sdf.Layer.CreateAnonymous(TEXT)
        layer.TransferContent(read)
        del read
    return layer


def to_bytes(
    layer: Layer, extension: str, given: GivenNumbers | None = None, images: Mapping[str, bytes] | None = None
) -> bytes:
    """The layer in the form for a file extension; `.usd` allows both forms and gets the binary one.

    An archive contains the `images`, by the references to them.
    """
    if extension.lower() == TEXT:
        return to_text(layer, given).encode()
    data = to_binary(layer, given)
    return pack({FIRST_LAYER: data, **(images or {})}) if extension.lower() == EXTENSION else data


class _PrimWriter:
    """Appends prims to the lines of a document."""

    def __init__(self, lines: list[str], given: GivenNumbers | None) -> None:
        self.lines = lines
        self.given = given
        self._repeated = lru_cache(maxsize=4096)(self._property)

    def append(self, prim: Prim, margin: str) -> None:
        lines, inner = self.lines, margin + _INDENT
        head = f'{prim.specifier} {prim.type} "{prim.name}"' if prim.type else f'{prim.specifier} "{prim.name}"'
        if prim.apis or prim.metadata:
            lines.append(f"{margin}{head} (")
            if prim.apis:
                lines.append(f"{inner}prepend apiSchemas = {_value(prim.apis)}")
            lines += [f"{inner}{name} = {_value(value, inner)}" for name, value in prim.metadata.items()]
            lines.append(margin + ")")
        else:
            lines.append(margin + head)
        lines.append(margin + "{")
        for declaration, value in prim.properties.items():
            made = self._repeated if type(value) in _REPEATED else self._property
            lines.append(inner + made(declaration, value))
        for child in prim.children:
            lines.append("")
            self.append(child, inner)
        lines.append(margin + "}")

    def _property(self, declaration: str, value: Any) -> str:
        if value is None:
            return declaration
        if self.given is not None:
            value = _rounded(value, self.given, is_vector=_is_vector(declaration))
        return f"{declaration} = {_value(value, number=_single if _is_single(declaration) else None)}"


_REPEATED = (float, tuple)
"""The types of values that many prims have, and whose text takes long to make."""


_SINGLE = re.compile(r"(?:^| )(?:float|quatf|[a-z]+[A-Za-z]*[234]f)[234]?(?:\[\])? ")


@lru_cache(maxsize=256)
def _is_single(declaration: str) -> bool:
    """Whether a declaration such as `point3f physics:localPos0` is in single precision."""
    return _SINGLE.search(declaration) is not None


_VECTOR = re.compile(
    r"(?:^| )(?:(?:quat|point3|vector3|normal3)[fd]|double3|float3)(?:\[\])? (?!xformOp:scale)"
    r"|double\[\] newton:inertia"
)


@lru_cache(maxsize=256)
def _is_vector(declaration: str) -> bool:
    """Whether a declaration is that of a vector, rotation or tensor, or of several."""
    return _VECTOR.search(declaration) is not None


def _rounded(value: Any, given: GivenNumbers, *, is_vector: bool) -> Any:
    """A value of a property without the rounding errors of its numbers."""
    if isinstance(value, float):
        return round_computed(value, given)
    if isinstance(value, tuple | list) and is_vector and all(isinstance(one, float) for one in value):
        return type(value)(round_vector(value, given))
    if isinstance(value, tuple):
        return tuple(_rounded(one, given, is_vector=is_vector) for one in value)
    if isinstance(value, np.ndarray):
        return round_array(value) if is_vector else value
    if isinstance(value, Varying):
        return structs.replace(value, values=_rounded(value.values, given, is_vector=is_vector))
    return [_rounded(one, given, is_vector=is_vector) for one in value] if isinstance(value, list) else value


def _value(value: Any, margin: str = "", number: Callable[[float], str] | None = None) -> str:
    number = number or _double
    kind = type(value)
    if kind is float:
        return number(value)
    if kind is tuple:
        return f"({', '.join([number(one) if type(one) is float else _value(one, '', number) for one in value])})"
    if kind is str:
        return quote(value)
    if kind is PrimPath:
        return f"<{value}>"
    if kind is AssetPath:
        return asset_text(value)
    if kind is bool:
        return "true" if value else "false"
    if kind is list:
        return f"[{', '.join([_value(one, '', number) for one in value])}]"
    if kind is dict:
        rows = [f"{margin}{_INDENT}string {name} = {quote(str(one))}" for name, one in value.items()]
        return "\n".join(["{", *rows, margin + "}"])
    if isinstance(value, np.ndarray):
        numbers = value.tolist()
        return _value(numbers if value.ndim == 1 else [tuple(row) for row in numbers], "", number)
    if kind is Varying:
        return f'{_value(value.values, "", number)} (interpolation = "{value.interpolation}")'
    return str(value)


def _single(value: float) -> str:
    """The shortest text that reads back to the same number in single precision."""
    return str(np.float32(value)).removesuffix(".0") if value and -MAX_SINGLE <= value <= MAX_SINGLE else _double(value)


def clip_to_single(prim: Prim) -> Iterator[tuple[str, float]]:
    """Clip the properties of a prim that are in single precision to its range.

    Yields the declarations of those beyond it, each with a number.
    """
    for declaration, value in prim.properties.items():
        numbers = value.values if isinstance(value, Varying) else value
        if not _is_single(declaration) or not isinstance(numbers, float | tuple | list | np.ndarray):
            continue
        if type(numbers) is float and abs(numbers) <= MAX_SINGLE:
            continue
        if type(numbers) is tuple and all(type(one) is float and abs(one) <= MAX_SINGLE for one in numbers):
            continue
        found = np.asarray(numbers, dtype=np.float64)
        beyond = np.isfinite(found) & (np.abs(found) > MAX_SINGLE)
        if beyond.any():
            yield declaration, float(found[beyond].flat[0])
            prim.properties[declaration] = _like(np.where(beyond, np.copysign(MAX_SINGLE, found), found), value)


def _like(numbers: Array, value: Any) -> Any:
    """Numbers in the same form as the value of a property."""
    if isinstance(value, Varying):
        return Varying(numbers, value.interpolation)
    if isinstance(value, np.ndarray):
        return numbers
    return float(numbers) if isinstance(value, float) else type(value)(numbers.tolist())


def _double(value: float) -> str:
    """The shortest text that reads back to the same number."""
    if not value:
        return "0"
    if isfinite(value):
        return repr(value).removesuffix(".0")
    if value in (inf, -inf):
        return "inf" if value > 0.0 else "-inf"
    raise UnwritableError(f"the number {value} is out of the range of USD")


_ESCAPES = str.maketrans(
    {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    | {i: f"\\x{i:02x}" for i in range(32) if i not in (9, 10, 13)}
)


def quote(text: str) -> str:
    """A quoted string in USD text."""
    if text.isidentifier():  # most are
        return f'"{text}"'
    return f'"{text.translate(_ESCAPES)}"'
