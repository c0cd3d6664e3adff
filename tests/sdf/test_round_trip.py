"""Every sample, written to SDFormat and read back, has the same masses and the same motion."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from exoskel import Kinematics, Model
from tests.sdf.support import lowered, original, read_file, save
from tests.support.scenes import all_files, name_of

TOLERANCE = 1e-9
FILES = all_files()


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_masses_and_motion_round_trip(file: Path, tmp_path: Path) -> None:
    scene = original(file)
    out = tmp_path / "out.sdf"
    save(scene, out)
    back = read_file(out)
    assert not [str(d) for d in back.diagnostics if d.severity == "error" and d.code != "SD070"]
    assert len(back.worlds) == len(scene.worlds)
    for before, after in zip(map(lowered, scene.worlds), back.worlds, strict=True):
        assert after.gravity == before.gravity
        assert after.time_step == before.time_step
        assert len(after.models) == len(before.models)
        for one, other in zip(before.models, after.models, strict=True):
            _compare(one, other)


def _compare(one: Model, other: Model) -> None:
    assert one.static == other.static
    assert len(one.bodies) == len(other.bodies)
    for body, same in zip(one.bodies, other.bodies, strict=True):
        assert body.gravity == same.gravity
        if not (one.static and body.mass == 0.0):  # a massless static body gets a mass, which readers require
            assert same.mass == body.mass
            assert same.com == body.com
            assert same.moment == body.moment
    ours, theirs = Kinematics([one]), Kinematics([other])
    if one.static:
        assert _gap(ours.poses(), theirs.poses()) <= TOLERANCE
        return
    assert ours.dof_count == theirs.dof_count
    rng = np.random.default_rng(0)
    zero = np.zeros(ours.dof_count)
    for positions in [zero, *(rng.uniform(-1.5, 1.5, ours.dof_count) for _ in range(5))]:
        here, there = _sayable(one, positions)
        assert _gap(ours.poses(here), theirs.poses(there)) <= TOLERANCE


def _sayable(model: Model, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Random coordinates of the scene, and the same in SDFormat.

    The axis fixed in the parent comes first there.  A floating link has no joint, so it turns about its own origin,
    wherever the joint of the scene is: such a joint stays where it is.
    """
    ours, at = positions.copy(), 0
    for joint in model.joints:
        if joint.kind == "free" and joint.parent is None and not joint.pose.is_identity:
            ours[at : at + 6] = 0.0
        at += joint.dof_count
    theirs, at = ours.copy(), 0
    for joint in model.joints:
        if joint.swapped and joint.dof_count == 2:
            theirs[[at, at + 1]] = ours[[at + 1, at]]
        at += joint.dof_count
    return ours, theirs


def _gap(ours: np.ndarray, theirs: np.ndarray) -> float:
    return float(np.abs(ours - theirs).max()) if ours.size else 0.0


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_a_document_that_was_read_is_written_the_same(file: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first.sdf", tmp_path / "second.sdf"
    save(original(file), first)
    save(read_file(first), second)
    again = tmp_path / "third.sdf"
    save(read_file(second), again)
    assert second.read_text() == again.read_text()
