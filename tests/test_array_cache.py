"""Results that are kept for arrays with the same content."""

from __future__ import annotations

import numpy as np
import pytest

from exoskel.scene.array_cache import kept_for_content
from exoskel.spatial import Array


@pytest.mark.parametrize("size", [3, 100_000], ids=["kept", "too large to keep"])
def test_results_for_equal_arrays_are_read_only(size: int) -> None:
    calls = []

    @kept_for_content
    def doubled(array: Array) -> tuple[float, Array]:
        calls.append(len(array))
        return float(array.sum()), 2.0 * array

    total, found = doubled(np.ones(size))
    assert (total, found.tolist()) == (size, [2.0] * size)
    with pytest.raises(ValueError, match="read-only"):
        found[0] = 5.0
    assert doubled(np.ones(size))[1].tolist() == [2.0] * size
    assert len(calls) == (1 if size == 3 else 2)


def test_a_single_array_is_read_only() -> None:
    @kept_for_content
    def copied(array: Array) -> Array:
        return array + 0.0

    found = copied(np.ones(2))
    with pytest.raises(ValueError, match="read-only"):
        found += 1.0
