"""The extent of plain OBJ files, in a small part of the time that trimesh takes to parse them."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from exoskel.scene.shape import Bounds
from exoskel.spatial import Array

Letters = NDArray[np.uint8]
ByteOffsets = NDArray[np.int32]
"""Half the size of usual indices, so that arrays stay in the cache; larger files are not plain."""
Digits = NDArray[np.int32 | np.int64]

_FACES = {
    b"\nf" + corner * count: (slice(2, None, len(corner)), slice(1 + len(corner), None, len(corner)), len(corner) == 3)
    for corner in (b" ", b" /", b" //")
    for count in (3, 4)
}
"""Triangles and quadrilaterals without their digits, the first and last numbers of corners, and if there is another."""
_OTHERS = frozenset(b"#ogs\n")
"""The first letters of lines that have no effect on the triangles."""
_UNUSUAL = (b"\r", b"\\", b"usemtl", b"+e", b"-e")
_EXACT = 2**53
_MOST_DIGITS = 18
"""Integers below 2⁵³, divided by up to 10²², are rounded like the decimal numbers that they come from."""
_MINUS, _DOT, _ZERO, _VERTEX, _SPACE, _LINE_FEED = b"-.0v \n"
_FEW = 8
_LARGEST = 2**31


def plain_obj_extent(data: bytes) -> Bounds | None:
    """The bounding box of an OBJ file with a block of vertices and a block of faces.

    None for all others: invalid ones, and those with materials, normals or texture coordinates.
    """
    text = _with_line_feeds(data)
    vertices, faces = _block(text, b"v"), _block(text, b"f")
    rest = _outside(text, vertices, faces)
    if rest is None or _has_effects(rest) or len(text) >= _LARGEST:
        return None
    letters = np.frombuffer(text, dtype=np.uint8)
    used = _used_vertices(letters[slice(*faces)])
    points = _decimal_points(letters[slice(*vertices)]) or _points(text[slice(*vertices)])
    if used is None or points is None:
        return None
    coordinates, divisor = points
    if used.max() >= coordinates.shape[1]:
        return None
    is_used = np.zeros(coordinates.shape[1], dtype=np.bool_)
    is_used[used] = True
    found = coordinates if is_used.all() else coordinates[:, is_used]
    low, high = found.min(axis=1) / divisor + 0.0, found.max(axis=1) / divisor + 0.0  # no minus zero
    (x0, y0, z0), (x1, y1, z1) = low.tolist(), high.tolist()
    return ((x0, y0, z0), (x1, y1, z1))


def _with_line_feeds(data: bytes) -> bytes:
    """A file with line feeds before and after each line.  Most files start with a comment and are not copied."""
    if b"\r" in data:
        return b"\n%b\n" % data.replace(b"\r\n", b"\n").strip()
    is_complete = data.startswith((b"#", b"\n")) and data.endswith(b"\n")
    return data if is_complete else b"\n%b\n" % data.strip()


def _block(text: bytes, letter: bytes) -> tuple[int, int]:
    """Where the lines are from the first to the last that start with a letter and a space, each after its line feed."""
    mark = b"\n%b " % letter
    start = _first(text, mark, letter)
    return (start, text.find(b"\n", _last(text, mark, letter) + 1)) if start >= 0 else (0, 0)


def _first(text: bytes, mark: bytes, letter: bytes) -> int:
    """Where a mark first occurs: a letter between a line feed and a space.  The letter alone is found faster."""
    at = 0
    for _ in range(_FEW):
        at = text.find(letter, at + 1)
        if at < 0 or text.startswith(mark, at - 1):
            return at - 1 if at > 0 else -1
    return text.find(mark, at)


def _last(text: bytes, mark: bytes, letter: bytes) -> int:
    """Where a mark that does occur is last, as in `_first`."""
    at = len(text)
    for _ in range(_FEW):
        at = text.rfind(letter, 0, at)
        if text.startswith(mark, at - 1):
            return at - 1
    return text.rfind(mark, 0, at)


def _outside(text: bytes, one: tuple[int, int], other: tuple[int, int]) -> bytes | None:
    """What is outside of two blocks; None if one is missing, or if they overlap."""
    (a, b), (c, d) = sorted((one, other))
    return text[:a] + text[b:c] + text[d:] if a < b <= c < d else None


def _has_effects(lines: bytes) -> bool:
    """Whether any lines are not comments, groups, objects or empty."""
    if any(unusual in lines for unusual in _UNUSUAL):
        return True
    return not _OTHERS.issuperset(line[0] for line in lines.split(b"\n") if line)


def _used_vertices(letters: Letters) -> NDArray[np.intp] | None:
    """The vertices of faces of one form, counted from zero; None for faces of other forms."""
    digits = letters - np.uint8(_ZERO)
    others = _where(digits > 9)
    outlines = letters.take(others)
    feeds = np.flatnonzero(outlines == _LINE_FEED)
    outline = outlines[: feeds[1] if len(feeds) > 1 else None].tobytes()
    if outline not in _FACES or outlines.tobytes() != outline * len(feeds):
        return None
    vertices, lasts, has_middle = _FACES[outline]
    ends = _columns(_following(others, len(letters)), len(feeds))
    widths = ends - _columns(others, len(feeds))
    widths -= 1
    if widths[:2].any() or not (widths[vertices].all() and widths[lasts].all()):
        return None
    if has_middle and widths[3::3].any() and not widths[3::3].all():  # texture coordinates
        return None
    corners = widths[vertices]
    if corners.max() > _MOST_DIGITS:
        return None
    numbers = _integers(digits, ends[vertices], corners)
    return np.maximum(numbers - 1, 0).astype(np.intp)  # trimesh reads 0 as 1


def _decimal_points(letters: Letters) -> tuple[Array, float] | None:
    """The coordinates `(3, n)` of vertices as whole numbers, and their divisor, if all have as many decimals."""
    spaces = _where(letters <= _SPACE)
    count = len(spaces) // 4
    if len(spaces) != 4 * count:
        return None
    lines, ends = _columns(spaces, count), _columns(_following(spaces, len(letters)), count)[1:]
    decimals = len(letters[lines[-1, -1] :].tobytes().partition(b".")[2])
    starts, dots = lines[1:] + 1, ends - np.int32(decimals + 1)
    is_negative = letters.take(starts) == _MINUS
    widths = dots - starts
    widths -= is_negative
    digits = letters - np.uint8(_ZERO)
    if not (
        0 < decimals <= _MOST_DIGITS - widths.max()
        and widths.min() >= 0
        and (lines[1] - lines[0] == 2).all()
        and (letters.take(lines[0]) == _LINE_FEED).all()
        and (letters.take(lines[0] + 1) == _VERTEX).all()
        and (letters.take(dots) == _DOT).all()
        and np.count_nonzero(letters == _SPACE) == 3 * count
        # Each line has a line feed, a letter, three spaces and three points: nothing else is between them.
        and np.count_nonzero(digits < 10) + np.count_nonzero(is_negative) + 8 * count == len(letters)
    ):
        return None
    numbers: Array = np.multiply(_integers(digits, dots, widths), 10.0**decimals, dtype=np.float64)
    numbers += _integers(digits, ends, np.full(1, decimals))
    if numbers.max() >= _EXACT:
        return None
    np.negative(numbers, out=numbers, where=is_negative)
    return numbers, 10.0**decimals


def _points(lines: bytes) -> tuple[Array, float] | None:
    """The coordinates `(3, n)` of vertices with three numbers each, and 1; None for all others."""
    count = lines.count(b"\n")
    if lines.count(b"\nv ") != count or any(unusual in lines for unusual in _UNUSUAL):
        return None
    numbers = _numbers(lines.replace(b"\nv ", b" "))
    columns = len(lines[3:].partition(b"\n")[0].split())
    if columns != 3 or numbers.size != 3 * count or not np.isfinite(numbers).all():
        return None
    return numbers.reshape(-1, 3).T, 1.0


def _where(chosen: NDArray[np.bool_]) -> ByteOffsets:
    return np.flatnonzero(chosen).astype(np.int32)


def _following(indices: ByteOffsets, end: int) -> ByteOffsets:
    """The next of some indices for each of them; `end` for the last."""
    following = np.empty_like(indices)
    following[:-1] = indices[1:]
    following[-1:] = end
    return following


def _columns(indices: ByteOffsets, count: int) -> ByteOffsets:
    """Indices in `count` lines of a file, in a row for each of their columns."""
    return np.ascontiguousarray(indices.reshape(count, -1).T)


def _integers(digits: Letters, ends: ByteOffsets, widths: ByteOffsets) -> Digits:
    """The integers with `widths` digits each that end before `ends`."""
    widest, narrowest = int(widths.max()), int(widths.min())
    numbers: Digits = np.zeros(ends.shape, dtype=np.int32 if widest <= _MOST_DIGITS // 2 else np.int64)
    at = ends - np.int32(widest)
    for place in range(widest, 0, -1):
        found = digits.take(at)
        if place > narrowest:
            found *= widths >= place
        numbers *= 10
        numbers += found
        at += 1
    return numbers


def _numbers(text: bytes) -> Array:
    """Numbers separated by spaces; empty if anything else is among them."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return np.fromstring(text, dtype=np.float64, sep=" ")
    except (ValueError, Warning):
        return np.empty(0)
