"""Reading `dart` agrees with the recorded values of DART 6.20 to 1e-9, for our samples and the examples."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import exoskel
from tests.golden.record_dart import FOLDER, golden_files
from tests.oracles import dart

DART_FAILS = {
    "example_09_legacy": "an incomplete moment",
    "example_10_bare": "no world",
    "sample_screw_press": "screw joints",
    "sample_gantry": "translational2d joints",
}


@pytest.mark.parametrize(("name", "file"), golden_files().items(), ids=golden_files())
def test_values_agree_with_those_recorded_from_dart(name: str, file: Path) -> None:
    recorded = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    scene = exoskel.load(file, semantics="dart")
    if name in DART_FAILS:
        assert "failed" in recorded
        assert scene.world.models, "what DART cannot load loads here"
        return
    assert "failed" not in recorded
    assert dart.differences(scene, recorded) == []


def test_records_have_enough_configurations() -> None:
    for name in golden_files().keys() - DART_FAILS.keys():
        recorded = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
        for model in recorded["models"]:
            if any(joint["dofs"] for joint in model["joints"]):
                assert len(model["configurations"]) == 20


def test_a_planted_difference_is_found() -> None:
    name, file = next(iter(golden_files().items()))
    recorded = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    scene = exoskel.load(file, semantics="dart")
    scene.world.models[1].bodies[0].mass += 1e-8
    assert len(dart.differences(scene, recorded)) == 1
