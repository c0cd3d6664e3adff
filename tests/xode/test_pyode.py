"""Comparison with an installed PyODE."""

from __future__ import annotations

import pytest

import exoskel
from tests.golden.record_ode import golden_files
from tests.oracles import pyode
from tests.support.geometry import spatial_inertia
from tests.support.xode import body, scene
from tests.xode.probes import MASSES

pytestmark = pytest.mark.skipif(not pyode.python(), reason="no Python with PyODE")


def test_files_agree_with_pyode() -> None:
    files = golden_files()
    answers = pyode.ask([{"file": str(path)} for path in files.values()])
    for (name, path), answer in zip(files.items(), answers, strict=True):
        if "failed" not in answer:
            assert pyode.differences(exoskel.load(path, dialect="pyode"), answer) == [], name


def test_masses_agree_with_pyode() -> None:
    answers = pyode.ask([{"mass": weighed.steps} for weighed in MASSES.values()])
    for (name, weighed), answer in zip(MASSES.items(), answers, strict=True):
        (found,) = exoskel.load(scene(body(weighed.element)), dialect="spec").world.models[0].bodies
        assert pyode.mass_differences(name, spatial_inertia(found), answer) == []
