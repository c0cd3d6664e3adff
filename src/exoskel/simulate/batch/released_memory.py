"""Large arrays whose memory gets another use part by part, while the rest is still read.

What is computed from a part takes the place of the part: in the same memory if it has space there, or else in memory
that the system got back.  Both together then need little more memory than one of them.  New memory takes time, because
the system clears it, and threads that get some at the same time wait for each other.
"""

import mmap
import sys
from contextlib import suppress
from math import prod

import numpy as np

from exoskel.spatial import Array

_LARGE = 1 << 22
"""Bytes from which an array is mapped by itself; smaller ones share pages with others."""
_MIN_PADDED = 16
"""The least number of columns to which another one is added."""
_MAX_EXCESS = 1.5
"""How much larger than its content memory may be."""


def empty(shape: tuple[int, ...]) -> Array:
    """A new array of any content."""
    size = 8 * prod(shape)
    if size < _LARGE or sys.platform != "linux":  # elsewhere, advice may leave the memory as it is
        return np.empty(shape)
    try:
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError:
        raise MemoryError(f"cannot allocate {size} bytes") from None
    with suppress(OSError):  # in a system without large pages
        memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory).reshape(shape)


def is_padded(columns: int, rows: int, wanted: int) -> bool:
    """Whether `rows` of that many columns need another column, so that they have space for `wanted` numbers."""
    return columns >= _MIN_PADDED and rows * columns < wanted <= rows * (columns + 1)


def whole(array: Array) -> Array:
    """All the memory of an array or of a view of some of its columns, `(len(array), …)`."""
    memory = np.asarray(array if array.base is None else array.base)
    if array.strides[0] * len(array) != memory.nbytes:
        raise ValueError("the array is a view of other rows")
    return memory.reshape(len(array), -1)


def reused(array: Array, shape: tuple[int, ...]) -> Array | None:
    """The memory of a large array as one of another shape, `(len(array), …)`, row by row; None if it has no space."""
    memory, wanted = whole(array), prod(shape[1:])
    if memory.nbytes < _LARGE or not wanted <= memory.shape[1] <= _MAX_EXCESS * wanted:
        return None
    return memory[:, :wanted].reshape(shape)


def release(rows: Array) -> None:
    """Give the memory of some contiguous rows back, if they are of an array of `empty`; they are zero then."""
    memory = _mapping(rows)
    if memory is None or sys.platform != "linux":
        return
    begin = rows.ctypes.data - np.frombuffer(memory, dtype=np.uint8).ctypes.data
    end = begin + rows.nbytes
    first = -(-begin // mmap.PAGESIZE) * mmap.PAGESIZE
    last = end if end == len(memory) else end // mmap.PAGESIZE * mmap.PAGESIZE
    if first < last:
        memory.madvise(mmap.MADV_DONTNEED, first, last - first)


def _mapping(array: Array) -> mmap.mmap | None:
    """The memory that an array of `empty` is a view of."""
    base: object = array
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, memoryview):
        base = base.obj
    return base if isinstance(base, mmap.mmap) else None
