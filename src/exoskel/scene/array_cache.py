"""Results that are kept for small arrays with the same content, such as the meshes of a robot."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")
_MOST_NUMBERS = 1 << 13
"""Larger arrays take less time to compute with than to keep."""
_MOST_RESULTS = 256
_ArrayContent = tuple[bytes, np.dtype[Any], tuple[int, ...]]


def kept_for_content(function: Callable[..., T]) -> Callable[..., T]:
    """A function of arrays that computes its result once for each content.  Arrays in the result are read-only."""

    @lru_cache(maxsize=_MOST_RESULTS)
    def compute(*contents: _ArrayContent) -> T:
        return _read_only(function(*(np.frombuffer(data, dtype).reshape(shape) for data, dtype, shape in contents)))

    @wraps(function)
    def call(*arrays: Any) -> T:
        if sum([array.size for array in arrays]) > _MOST_NUMBERS:
            return _read_only(function(*arrays))
        return compute(*[(array.tobytes(), array.dtype, array.shape) for array in arrays])

    return call


def _read_only(result: T) -> T:
    """The result, in which arrays cannot be changed."""
    for part in result if isinstance(result, tuple) else (result,):
        if isinstance(part, np.ndarray):
            part.flags.writeable = False
    return result
