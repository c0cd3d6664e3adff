"""Large arrays whose memory the system gets back part by part, while the rest is still read.

What is computed from a part then takes the place of the part: both together need little more memory than one of them.
Memory that was just released is also cheaper to get than other memory.
"""

import mmap
import sys
from contextlib import suppress
from math import prod

import numpy as np

from exoskel.spatial import Array

_LARGE = 1 << 22
"""Bytes from which an array is mapped by itself; smaller ones share pages with others."""


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


def owns_memory(array: Array) -> bool:
    """Whether an array is no view of another one."""
    memory = _mapping(array)
    return array.flags.owndata if memory is None else array.nbytes == len(memory)


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
