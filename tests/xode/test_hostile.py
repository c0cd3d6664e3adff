"""Hostile XODE documents: thousands of unknown or ambiguous names."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

import exoskel
from tests.support import xode
from tests.support.xode import body, hinge, joint

MANY = 800
SLOW: dict[str, Callable[[], str]] = {
    "unknown bodies": lambda: xode.scene(
        "".join(body(name=f"body_number_{i}") for i in range(MANY))
        + "".join(joint(hinge(), f"j{i}", f"bdoy_numbr_{i}", f"body_number_{i}") for i in range(MANY))
    ),
    "bodies of one name": lambda: xode.scene(
        body(name="b") * MANY + "".join(joint(hinge(), f"j{i}", "b", "b") for i in range(MANY))
    ),
    "one element again and again": lambda: xode.scene(body("<transform/>" * 6000)),
}


@pytest.mark.parametrize("name", SLOW)
def test_nothing_takes_longer_than_a_second_per_100_kb(name: str) -> None:
    document = SLOW[name]().encode()
    begin = time.process_time()  # the tests beside this one are not to count
    exoskel.load(document)
    assert time.process_time() - begin < max(1.0, len(document) / 100_000)
