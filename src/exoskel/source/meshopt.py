"""Decode the compressed views of glTF files: EXT_meshopt_compression and KHR_meshopt_compression.

Attributes are differences of the bytes of consecutive elements, in blocks of up to 256 elements and groups of 16.
Triangles refer to the edges and vertices before them.  Filters change the decoded numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]


class MeshoptError(Exception):
    """Compressed data is invalid; the message is the reason."""


class CompressedView(Struct, frozen=True):
    """Compressed elements, with the mode and the filter that they are stored with."""

    data: bytes
    mode: str
    filter: str
    count: int
    stride: int


def decode_view(view: CompressedView) -> bytes:
    """The elements of a compressed view, one after the other.  Raises MeshoptError."""
    decode = _MODES.get(view.mode)
    if decode is None:
        raise MeshoptError(f"its mode {view.mode!r} is unknown")
    if view.filter not in _FILTERS:
        raise MeshoptError(f"its filter {view.filter!r} is unknown")
    widths, change = _FILTERS[view.filter]
    if view.stride not in (widths or range(4, 257, 4)) and view.mode == "ATTRIBUTES":
        raise MeshoptError(f"its elements have {view.stride} bytes, which its filter does not support")
    try:
        found = decode(view.data, view.count, view.stride)
    except IndexError:
        raise MeshoptError("its data ends too early") from None
    return found if view.mode != "ATTRIBUTES" or change is None else change(found, view.stride)


# --- attributes ---------------------------------------------------------------------------------------


_GROUP, _BLOCK, _BLOCK_BYTES = 16, 256, 8192
_ATTRIBUTES, _TRIANGLES, _INDICES = 0xA0, 0xE1, 0xD1
"""The first bytes of the modes; that of attributes contains the version."""
_TAILS = (32, 24)
"""The least size of the end of attributes, by version."""
_BITS = ((0, 2, 4, 8),)
_CONTROLLED_BITS = ((0, 1, 2, 4), (1, 2, 4, 8))
"""The bits per difference of a group, by its number in the header and, in version 1, by the control number."""
_ZEROS, _LITERAL = 2, 3
"""Control numbers of version 1: all differences are zero, or are stored as they are."""


def _decode_attributes(data: bytes, count: int, stride: int) -> bytes:
    version = data[0] - _ATTRIBUTES
    if version not in (0, 1):
        raise MeshoptError("its data is not that of attributes")
    tail = stride + (stride // 4 if version else 0)
    end = len(data) - max(tail, _TAILS[version])
    base = np.frombuffer(data, np.uint8)[len(data) - tail :]
    groups = _GroupReader(data, end, count, stride, version)
    groups.read()
    return _sum_differences(groups.differences(), base, stride).tobytes()


class _GroupReader:
    """The differences of attributes.

    Where a group starts depends on the groups before it: their places are found one by one, and their contents are read
    together.
    """

    def __init__(self, data: bytes, end: int, count: int, stride: int, version: int) -> None:
        self._data, self._end = data, end
        self._count, self._stride = count, stride
        self._is_new = version == 1
        self._most = min(_BLOCK_BYTES // stride & -_GROUP, _BLOCK)
        blocks = -(-count // self._most)
        self._found = np.zeros((blocks, stride, self._most), np.uint8)
        self._groups: dict[int, tuple[list[int], list[int]]] = {bits: ([], []) for bits in (1, 2, 4, 8)}
        """Numbers and starts of groups, by their bits per difference."""

    def read(self) -> None:
        """Find the places of all groups.  Raises MeshoptError or IndexError."""
        at = 1
        for block in range(len(self._found)):
            size = min(self._most, self._count - block * self._most)
            controls = [0] * self._stride
            if self._is_new:
                packed = self._data[at : at + self._stride // 4]
                controls = [packed[k // 4] >> 2 * (k % 4) & 3 for k in range(self._stride)]
                at += len(packed)
            for k, control in enumerate(controls):
                if control == _LITERAL:
                    self._check(at + size)
                    self._found[block, k, :size] = np.frombuffer(self._data, np.uint8, size, at)
                    at += size
                elif control != _ZEROS:
                    widths = _CONTROLLED_BITS[control] if self._is_new else _BITS[0]
                    at = self._place(at, (block * self._stride + k) * (self._most // _GROUP), size, widths)
        if at != self._end:
            raise MeshoptError("its data ends too early or too late")

    def _place(self, at: int, first: int, size: int, widths: tuple[int, int, int, int]) -> int:
        """Find the groups of one byte of a block, which start with a header; returns where they end."""
        data, count = self._data, -(-size // _GROUP)
        header = at
        at += -(-count // 4)
        for number in range(count):
            bits = widths[data[header + number // 4] >> 2 * (number % 4) & 3]
            if not bits:
                continue
            numbers, starts = self._groups[bits]
            numbers.append(first + number)
            starts.append(at)
            at += 2 * bits
            if bits != 8:
                at += sum(data[at - 2 * bits : at].translate(_ESCAPES[bits]))
        self._check(at)
        return at

    def _check(self, at: int) -> None:
        if at > self._end:
            raise MeshoptError("its data ends too early")

    def differences(self) -> Bytes:
        """The differences of the bytes of all elements, one element per row."""
        rows = self._found.reshape(-1, _GROUP)
        content = np.frombuffer(self._data + bytes(_GROUP), np.uint8)
        for bits, (numbers, starts) in self._groups.items():
            if numbers:
                rows[numbers] = _unpacked(content, np.array(starts), bits)
        return self._found.transpose(0, 2, 1).reshape(-1, self._stride)[: self._count]


_ESCAPES = {
    bits: bytes(sum(byte >> shift & 2**bits - 1 == 2**bits - 1 for shift in range(0, 8, bits)) for byte in range(256))
    for bits in (1, 2, 4)
}
"""How many differences in a byte are stored after their group, as they do not fit."""


def _unpacked(content: Bytes, starts: NDArray[np.int64], bits: int) -> Bytes:
    """The differences of groups with so many bits per difference, each 16 in a row."""
    packed = content[starts[:, None] + np.arange(2 * bits)]
    if bits == 8:
        return np.asarray(packed, np.uint8)
    shifts = np.arange(0, 8, bits) if bits == 1 else np.arange(8 - bits, -1, -bits)
    found: Bytes = (packed[:, :, None] >> shifts.astype(np.uint8) & (2**bits - 1)).reshape(-1, _GROUP)
    is_escaped = found == 2**bits - 1
    places = starts[:, None] + 2 * bits + np.cumsum(is_escaped, axis=1) - 1
    found[is_escaped] = content[places[is_escaped]]
    return found


def _sum_differences(differences: Bytes, tail: Bytes, stride: int) -> Bytes:
    """The elements: each differs from the one before it, and the first one from that at the end of the data."""
    modes = tail[stride:] if len(tail) > stride else np.zeros(stride // 4, np.uint8)
    found = np.empty_like(differences)
    for number, mode in enumerate(modes.tolist()):
        columns = slice(4 * number, 4 * number + 4)
        if mode & 15 > 2 or (mode & 15 < 2 and mode >> 4):
            raise MeshoptError(f"the mode {mode} of a channel is unknown")
        kind = np.dtype(("<u1", "<u2", "<u4")[mode & 15])
        rows = np.ascontiguousarray(differences[:, columns]).view(kind)
        base = np.ascontiguousarray(tail[columns]).view(kind)
        if mode & 15 == 2:
            turn = mode >> 4
            rows = rows >> np.uint32(turn) | rows << np.uint32(-turn % 32)
            summed = np.bitwise_xor.accumulate(np.vstack([base, rows]), axis=0)
        else:
            rows = rows >> 1 ^ (~(rows & 1) + 1).astype(kind)
            summed = np.cumsum(np.vstack([base, rows]), axis=0, dtype=kind)
        found[:, columns] = np.ascontiguousarray(summed[1:]).view(np.uint8)
    return found


# --- triangles and indices ----------------------------------------------------------------------------


_MASK = 2**32 - 1
_UNSIGNED = {2: "<u2", 4: "<u4"}


def _index_bytes(found: list[int], stride: int) -> bytes:
    return np.array(found, np.uint32).astype(_UNSIGNED[stride]).tobytes()


def _check_indices(data: bytes, stride: int, sign: int) -> None:
    if stride not in _UNSIGNED or data[0] != sign:
        raise MeshoptError("its data is not that of indices")


def _decode_triangles(data: bytes, count: int, stride: int) -> bytes:
    _check_indices(data, stride, _TRIANGLES)
    if count % 3 or len(data) < 17 + count // 3:
        raise MeshoptError("its data is shorter than its triangles")
    reader = _TriangleReader(data, 1 + count // 3)
    found = [index for code in data[1 : 1 + count // 3] for index in reader.triangle(code)]
    if reader.at != len(data) - 16:
        raise MeshoptError("its data ends too early or too late")
    return _index_bytes(found, stride)


class _TriangleReader:
    """Triangles that refer to the last 16 edges and vertices, which are at the ends of the lists."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data = data
        self._table = data[-16:]
        self.at = at
        self._next = self._last = 0
        self._edges: list[tuple[int, int]] = []
        self._vertices: list[int] = []

    def triangle(self, code: int) -> tuple[int, int, int]:
        """The corners of the next triangle.  Raises IndexError if it refers to nothing."""
        found = self._apart(code) if code >= 0xF0 else self._at_edge(code >> 4, code & 15)
        if len(self._edges) > _MOST_KEPT:
            del self._edges[:-16], self._vertices[:-16]
        return found

    def _at_edge(self, edge: int, which: int) -> tuple[int, int, int]:
        """A triangle at one of the last edges."""
        a, b = self._edges[-1 - edge]
        if which == 0:
            c = self._new()
        elif which < 13:
            c = self._vertices[-1 - which]
        elif which < 15:
            c = self._last = self._last + (-1 if which == 13 else 1) & _MASK
        else:
            c = self._stated()
        self._edges += [(c, b), (a, c)]
        if not 0 < which < 13:
            self._vertices.append(c)
        return a, b, c

    def _apart(self, code: int) -> tuple[int, int, int]:
        """A triangle that shares no edge."""
        is_listed = code < 0xFE
        if is_listed:
            which = self._table[code & 15]
        else:
            which = self._data[self.at]
            self.at += 1
            self._next = self._next if which else 0
        a = self._stated() if code == 0xFF else self._new()
        b, is_new_b = self._corner(which >> 4)
        c, is_new_c = self._corner(which & 15)
        self._edges += [(b, a), (c, b), (a, c)]
        self._vertices += [a, *([b] if is_new_b else []), *([c] if is_new_c else [])]
        return a, b, c

    def _corner(self, which: int) -> tuple[int, bool]:
        """A vertex, and whether it is not one of the last ones."""
        if which == 0:
            return self._new(), True
        return (self._stated(), True) if which == 15 else (self._vertices[-which], False)

    def _new(self) -> int:
        found = self._next
        self._next = found + 1 & _MASK
        return found

    def _stated(self) -> int:
        value, self.at = _variable_number(self._data, self.at)
        self._last = self._last + (value >> 1 ^ -(value & 1)) & _MASK
        return self._last


_MOST_KEPT = 4096


def _decode_indices(data: bytes, count: int, stride: int) -> bytes:
    _check_indices(data, stride, _INDICES)
    if len(data) < 5 + count:
        raise MeshoptError("its data is shorter than its indices")
    at = 1
    last = [0, 0]
    found: list[int] = []
    for _ in range(count):
        value, at = _variable_number(data, at)
        which = value & 1
        last[which] = last[which] + (value >> 2 ^ -(value >> 1 & 1)) & _MASK
        found.append(last[which])
    if at != len(data) - 4:
        raise MeshoptError("its data ends too early or too late")
    return _index_bytes(found, stride)


def _variable_number(data: bytes, at: int) -> tuple[int, int]:
    """A number of up to five bytes with seven bits each, and where it ends."""
    found = 0
    for shift in range(0, 35, 7):
        byte = data[at]
        at += 1
        found |= (byte & 127) << shift
        if byte < 128:
            return found & _MASK, at
    raise MeshoptError("a number has more than five bytes")


# --- filters ------------------------------------------------------------------------------------------


def _round(values: NDArray[Any], kind: str) -> bytes:
    """Whole numbers of a type; halves are rounded away from zero."""
    found: bytes = np.trunc(values + np.copysign(0.5, values)).astype(kind).tobytes()
    return found


def _directions(data: bytes, stride: int) -> bytes:
    """Unit vectors from places on an octahedron; the fourth number is not changed."""
    kind = f"<i{stride // 4}"
    rows = np.frombuffer(data, kind).reshape(-1, 4).astype(np.float64)
    with np.errstate(all="ignore"):
        x, y = rows[:, 0] / rows[:, 2], rows[:, 1] / rows[:, 2]
        z = 1.0 - np.abs(x) - np.abs(y)
        below = np.minimum(z, 0.0)
        found = np.column_stack([x - np.copysign(below, x), y - np.copysign(below, y), z])
        found *= np.iinfo(kind).max / np.linalg.norm(found, axis=1)[:, None]
    return _round(np.column_stack([np.nan_to_num(found), rows[:, 3]]), kind)


def _quaternions(data: bytes, stride: int) -> bytes:
    """Quaternions from the components without the largest one."""
    stated = np.frombuffer(data, "<i2").reshape(-1, 4)
    parts = stated[:, :3] / (stated[:, 3:] | 3) / np.sqrt(2.0)
    largest = np.sqrt(np.maximum(0.0, 1.0 - (parts**2).sum(axis=1)))
    found = np.empty((len(stated), 4))
    places = ((stated[:, 3:] & 3) + np.arange(1, 5)) % 4
    np.put_along_axis(found, places.astype(np.int64), np.column_stack([parts, largest]), axis=1)
    return _round(np.clip(found, -1.0, 1.0) * 32767.0, "<i2")


def _floats(data: bytes, stride: int) -> bytes:
    """Floats from exponents of eight bits and mantissas of 24."""
    stated = np.frombuffer(data, "<i4")
    with np.errstate(over="ignore"):
        found: bytes = np.ldexp((stated << 8 >> 8).astype(np.float64), stated >> 24).astype("<f4").tobytes()
    return found


def _colors(data: bytes, stride: int) -> bytes:
    """Red, green, blue and alpha from luma and chrominance; alpha has the highest bit of the numbers."""
    kind = f"<u{stride // 4}"
    luma, orange, green = np.frombuffer(data, kind.replace("u", "i")).reshape(-1, 4)[:, :3].T.astype(np.int64)
    luma &= np.iinfo(kind).max
    stated = np.frombuffer(data, kind).reshape(-1, 4)[:, 3].astype(np.int64)
    largest = (1 << np.frexp(stated.astype(np.float64))[1].astype(np.int64)) - 1
    alpha = stated & largest >> 1
    rows = np.column_stack([luma + orange - green, luma + green, luma - orange - green, alpha << 1 | alpha & 1])
    scaled = rows * (np.iinfo(kind).max / np.maximum(largest, 1))[:, None]
    return _round(np.clip(scaled, 0, np.iinfo(kind).max), kind)


_MODES: dict[str, Callable[[bytes, int, int], bytes]] = {
    "ATTRIBUTES": _decode_attributes,
    "TRIANGLES": _decode_triangles,
    "INDICES": _decode_indices,
}
_FILTERS: dict[str, tuple[tuple[int, ...], Callable[[bytes, int], bytes] | None]] = {
    "NONE": ((), None),
    "OCTAHEDRAL": ((4, 8), _directions),
    "QUATERNION": ((8,), _quaternions),
    "EXPONENTIAL": ((), _floats),
    "COLOR": ((4, 8), _colors),
}
"""The sizes of elements that each filter allows (empty: any size), and what it does to them."""
