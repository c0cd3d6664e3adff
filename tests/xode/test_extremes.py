"""Numbers at the edges of what a double holds: each is used exactly, or told of."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pytest

import exoskel
from exoskel import Inertia
from tests.support.findings import Read
from tests.support.xode import body, geom, mass, mass_shape, scene
from tests.xode.cases import struct


@pytest.fixture(autouse=True)
def no_warnings() -> Iterator[None]:
    """NumPy warns on standard error, which is not the library's."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def load(document: str) -> Read:
    return Read(exoskel.load(document, dialect="spec"))


# --- masses -------------------------------------------------------------------------------------------

HUGE_BOX = '<box sizex="1e200" sizey="1e200" sizez="1"/>'
LARGE = 'm00="{0}" m01="0" m02="0" m10="0" m11="{0}" m12="0" m20="0" m21="0" m22="{0}"'.format("1e308")


def weighed(inner: str, geoms: str = "") -> tuple[Inertia, Read]:
    read = load(scene(body(geoms + mass(inner))))
    return next(b for b in read.world.bodies() if b.name == "b").inertia, read


@pytest.mark.parametrize(
    ("inner", "key"),
    [
        (mass_shape('<sphere radius="1e200"/>'), "X605"),
        (mass_shape('<sphere radius="1e-150"/>', ' density="3"'), "X605"),
        (mass_shape('<sphere radius="1e200"/>', ' total="1"'), "X605.moment"),
        (mass_shape(HUGE_BOX), "X605"),
        (mass_shape(HUGE_BOX, ' total="1"'), "X605.moment"),
        (mass_shape('<cappedCylinder radius="1e200" length="1e200"/>'), "X605"),
        (mass_shape('<cylinder radius="1e-200" length="1"/>', ' total="1"'), "X607"),
        (struct(LARGE, centre="1e200"), "X605.moment"),
        (mass(struct(LARGE)) + mass(struct(LARGE)), "X605.moment"),
    ],
)
def test_masses_that_no_number_holds_count_as_absent(inner: str, key: str) -> None:
    found, read = weighed(inner)
    read.expect(key, "error")
    read.assert_clean()
    assert found == Inertia()


@pytest.mark.parametrize(
    ("inner", "total", "moment"),
    [
        (mass_shape('<sphere radius="1e-150"/>', ' total="3"'), 3.0, 1.2e-300),
        (mass_shape('<sphere radius="1"/>', ' total="1e-300"') + '<adjust total="1e300"/>', 1e300, 4e299),
        (struct(LARGE), 2.0, 1e308),
    ],
)
def test_masses_that_are_extreme_but_finite_are_used(inner: str, total: float, moment: float) -> None:
    found, read = weighed(inner)
    read.assert_clean()
    assert found.mass == total
    assert found.moment == pytest.approx((moment, moment, moment, 0.0, 0.0, 0.0), rel=1e-12)


def test_geoms_that_no_number_holds_give_no_mass() -> None:
    found, read = weighed('<adjust total="1"/>', geom('<sphere radius="1e200"/>'))
    read.expect_all("X604", "X605.moment").assert_clean()
    assert found == Inertia()


def test_an_impossible_inertia_counts_as_absent() -> None:
    negative = LARGE.replace("1e308", "1").replace('"1"', '"-1"', 1)
    found, read = weighed(struct(negative))
    read.expect("X607", "error")
    read.assert_clean()
    assert found == Inertia()
    far, read = weighed(struct(LARGE.replace("1e308", "1"), centre="3"))
    read.expect("X607", "error")
    assert far == Inertia() and np.isfinite(far.mass)
