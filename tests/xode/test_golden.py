"""Comparison with recorded values of ODE: files read by PyODE, masses, and joint coordinates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exoskel
from tests.golden.record_ode import FOLDER, golden_files, probe_request
from tests.oracles import pyode
from tests.support.geometry import spatial_inertia
from tests.support.xode import body, scene
from tests.xode.probes import MASSES, PROBES


def recorded(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return content


FILES = golden_files()
ACCEPTED = [name for name, answer in recorded("files").items() if "failed" not in answer]


@pytest.mark.parametrize("name", ACCEPTED)
def test_files_that_pyode_reads_agree_with_its_records(name: str) -> None:
    scene_read = exoskel.load(FILES[name], dialect="pyode")
    assert pyode.differences(scene_read, recorded("files")[name]) == []


def test_pyode_reads_some_of_our_samples() -> None:
    assert recorded("files").keys() == FILES.keys()
    assert len([name for name in ACCEPTED if name.startswith("sample_")]) >= 3


@pytest.mark.parametrize("name", MASSES)
def test_masses_agree_with_those_recorded_from_ode(name: str) -> None:
    (found,) = exoskel.load(scene(body(MASSES[name].element)), dialect="spec").world.models[0].bodies
    assert pyode.mass_differences(name, spatial_inertia(found), recorded("masses")[name]) == []


# ODE refuses a hinge2 to the environment; and of a universal joint whose first body is the environment it
# returns the first angle with the wrong sign, against its own rule for all other joints.
ODE_CANNOT = {"hinge2: a to environment", "hinge2: environment to a", "universal: environment to a"}


@pytest.mark.parametrize("name", sorted(PROBES.keys() - ODE_CANNOT))
def test_joint_coordinates_are_what_ode_measures(name: str) -> None:
    """ODE measures the coordinates to which our kinematics moved its bodies, and anchors stay together."""
    request, answer = recorded("joints")[name]["request"], recorded("joints")[name]["answer"]
    ours = probe_request(name)
    for field in ("start", "moved"):
        for mine, theirs in zip(ours[field], request[field], strict=True):
            assert np.allclose(mine["position"], theirs["position"], atol=1e-9)
            assert np.allclose(mine["rotation"], theirs["rotation"], atol=1e-9)
    wanted = PROBES[name].positions
    assert np.allclose(answer["positions"], wanted[: len(answer["positions"])], atol=1e-9)
    assert np.allclose(answer["rates"], wanted, atol=1e-6)
    assert np.allclose(answer.get("gap", 0.0), 0.0, atol=1e-9)


def test_the_folder_of_examples_is_complete() -> None:
    assert all(isinstance(path, Path) and path.exists() for path in FILES.values())
