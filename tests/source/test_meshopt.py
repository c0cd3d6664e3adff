"""Decode the modes and filters of meshoptimizer."""

from __future__ import annotations

import random

import numpy as np
import pytest

from exoskel.source.meshopt import CompressedView, MeshoptError, decode_view
from tests.gltf import encoded_numbers as numbers
from tests.gltf.encoded_numbers import encoded


def decode(name: str, count: int, stride: int, mode: str = "ATTRIBUTES", filter: str = "NONE") -> bytes:
    return decode_view(CompressedView(encoded(name), mode, filter, count, stride))


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("whole", numbers.WHOLE),
        ("whole, version 1", numbers.WHOLE),
        ("floats", numbers.FLOATS),
        ("floats, version 1", numbers.FLOATS),
        ("floats, combined bits", numbers.FLOATS),
    ],
)
def test_attributes_are_decoded_exactly(name: str, rows: np.ndarray) -> None:
    assert decode(name, len(rows), rows.itemsize * rows.shape[1]) == rows.tobytes()


@pytest.mark.parametrize("stride", [2, 4])
def test_indices_are_decoded_exactly(stride: int) -> None:
    kind = f"<u{stride}"
    rows = np.frombuffer(decode("triangles", 90, stride, "TRIANGLES"), kind).reshape(-1, 3).tolist()
    turned = [
        [sorted([row, row[1:] + row[:1], row[2:] + row[:2]])[0] for row in one]
        for one in (rows, numbers.TRIANGLES.tolist())
    ]
    assert turned[0] == turned[1]
    assert np.frombuffer(decode("indices", 30, stride, "INDICES"), kind).tolist() == numbers.INDICES.tolist()


def test_filters_restore_numbers() -> None:
    turns = np.frombuffer(decode("quaternions", 40, 8, filter="QUATERNION"), "<i2").reshape(-1, 4) / 32767
    assert np.abs((turns * numbers.QUATERNIONS).sum(axis=1)) == pytest.approx(1.0, abs=1e-4)
    found = np.frombuffer(decode("directions", 40, 8, filter="OCTAHEDRAL"), "<i2").reshape(-1, 4) / 32767
    np.testing.assert_allclose(found, numbers.DIRECTIONS, atol=2e-3)
    exact = np.frombuffer(decode("exponents", 40, 12, filter="EXPONENTIAL"), "<f4").reshape(-1, 3)
    np.testing.assert_allclose(exact, numbers.FLOATS, rtol=2**-13)


def test_colours_are_computed_from_luma_and_chrominance() -> None:
    """The rows of version 0 without differences are those at the end of the data."""
    luma, orange, green, alpha = 100, 20, 10, 0x80 | 0x7F
    tail = bytes([luma, orange, green, alpha])
    data = b"\xa0" + b"\0" * 4 + bytes(28) + tail
    found = decode_view(CompressedView(data, "ATTRIBUTES", "COLOR", 3, 4))
    assert list(found) == [luma + orange - green, luma + green, luma - orange - green, 255] * 3


@pytest.mark.parametrize("name", numbers.ENCODED)
def test_damaged_data_is_an_error_or_has_the_same_size(name: str) -> None:
    stated = encoded(name)
    mode = {"triangles": "TRIANGLES", "indices": "INDICES"}.get(name, "ATTRIBUTES")
    count = {"TRIANGLES": 90, "INDICES": 30, "ATTRIBUTES": 40}[mode]
    stride = 4 if mode != "ATTRIBUTES" else 12 if name.startswith(("floats", "exp")) else 8
    rng = random.Random(name)
    failed = 0
    for _ in range(300):
        damaged = bytearray(stated[: rng.choice([len(stated), rng.randrange(len(stated))])])
        for _ in range(rng.randrange(1, 4)):
            if damaged:
                damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        try:
            assert len(decode_view(CompressedView(bytes(damaged), mode, "NONE", count, stride))) == count * stride
        except MeshoptError:
            failed += 1
    assert failed > 50


@pytest.mark.parametrize(
    ("mode", "filter", "stride", "reason"),
    [
        ("OTHER", "NONE", 8, "its mode 'OTHER' is unknown"),
        ("ATTRIBUTES", "OTHER", 8, "its filter 'OTHER' is unknown"),
        ("ATTRIBUTES", "NONE", 6, "its elements have 6 bytes"),
        ("ATTRIBUTES", "QUATERNION", 4, "its elements have 4 bytes"),
        ("TRIANGLES", "NONE", 4, "its data is not that of indices"),
    ],
)
def test_invalid_views_have_a_reason(mode: str, filter: str, stride: int, reason: str) -> None:
    with pytest.raises(MeshoptError, match=reason):
        decode_view(CompressedView(encoded("whole"), mode, filter, 39, stride))
