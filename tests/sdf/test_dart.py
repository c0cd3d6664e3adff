"""DART's own parser reads what we write, as far as it takes SDFormat at all: up to 1.6."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exoskel import Kinematics, Model, Scene
from tests.oracles import dart
from tests.sdf.support import original, read_file, save
from tests.support.scenes import all_files, name_of

pytestmark = pytest.mark.skipif(not dart.available(), reason="dartpy is not installed")

TOLERANCE = 1e-9


@pytest.mark.parametrize("file", all_files(), ids=name_of)
def test_dart_sees_the_same_masses_and_motion(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.sdf"
    source = original(file)
    save(source, out)
    scene = read_file(out)
    if scene.reading.format_version != "1.6":
        save(_without_shapes(source), out)  # often shapes alone need a newer version
        scene = read_file(out)
    if scene.reading.format_version != "1.6":
        pytest.skip("DART 6 reads SDFormat up to 1.6")
    if len(scene.worlds) > 1 or any(joint.loop for joint in scene.world.joints()):
        pytest.skip("DART reads one world, and hangs on loops")
    answer = dart.ask(out, configurations=5, parser="SdfParser")
    assert "failed" not in answer, answer
    assert answer["time_step"] == scene.world.time_step
    theirs = {model["name"]: model for model in answer["models"]}
    assert list(theirs) == [model.name for model in scene.world.models]
    for model in scene.world.models:
        _compare(model, theirs[model.name])


def _without_shapes(scene: Scene) -> Scene:
    for world in scene.worlds:
        for body in world.bodies():
            body.moment = body.moment  # no longer derived from shapes
            body.visuals.clear()
            body.collisions.clear()
    return scene


def _compare(model: Model, theirs: dict[str, Any]) -> None:
    assert theirs["static"] is model.static
    bodies = {body["name"]: body for body in theirs["bodies"]}
    assert sorted(bodies) == sorted(body.name for body in model.bodies)
    for body in model.bodies:
        other = bodies[body.name]
        assert abs(body.mass - other["mass"]) <= TOLERANCE
        assert np.abs(np.subtract(body.com, other["com"])).max() <= TOLERANCE
        assert np.abs(np.subtract(body.moment, other["inertia"])).max() <= TOLERANCE
        assert body.gravity is other["gravity"]
    kinematics = Kinematics([model])
    order = [list(bodies).index(body.name) for body in model.bodies]
    if model.static:  # on free joints in DART, which it never moves
        zero = np.zeros(kinematics.dof_count)
        assert _gap(kinematics.poses(zero), theirs["initial_poses"], order) <= TOLERANCE
        return
    # DART starts at zero, or between the limits where zero is beyond them.
    start = _ours(model, theirs, [q for joint in theirs["joints"] for q in joint["positions"]])
    assert _gap(kinematics.poses(start), theirs["initial_poses"], order) <= TOLERANCE
    for configuration in theirs["configurations"]:
        positions = _ours(model, theirs, configuration["positions"])
        assert _gap(kinematics.poses(positions), configuration["poses"], order) <= TOLERANCE


def _ours(model: Model, theirs: dict[str, Any], positions: list[float]) -> np.ndarray:
    """DART's coordinates in our order; its joints stand in the order of their links."""
    at, of = 0, {}
    for joint in theirs["joints"]:
        of[joint["child"]] = positions[at : at + joint["dofs"]]
        at += joint["dofs"]
    return np.array([q for joint in model.joints for q in of[joint.child.name]])


def _gap(ours: np.ndarray, theirs: list[list[float]], order: list[int]) -> float:
    return float(np.abs(ours[:, :3].reshape(-1, 12) - np.array(theirs)[order]).max())
