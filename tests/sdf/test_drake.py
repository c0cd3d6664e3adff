"""Drake, and so libsdformat, reads what we write, with nothing to say but what it ignores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from exoskel import Kinematics, Scene
from tests.oracles import libsdformat as drake
from tests.sdf.documents import CHILD, DOCUMENTS
from tests.sdf.support import original, read_file, save
from tests.support.scenes import all_files, name_of

pytestmark = pytest.mark.skipif(not drake.available(), reason="Drake is not installed")

TOLERANCE = 1e-9

REFUSED = {
    "form one or more loops": "Drake takes no loops",
    "revolute2": "Drake has no revolute2 joints",
    "invalid inertia": "libsdformat refuses moments of no real thing",
    "exactly one <world>": "Drake reads one world",
    "already has joint": "Drake takes one joint between two links",
    "physically invalid": "Drake refuses moments of no real thing",
}
"""What Drake may refuse, and why that is not the writer's fault."""

IGNORED = (
    "Ignoring unsupported SDFormat element",
    "Unsupported value for SDFormat element gravity",
    "Actuation (via non-zero effort limits) for",
    "Joint damping must be equal",
)


@pytest.mark.parametrize("file", all_files(), ids=name_of)
def test_drake_sees_the_same_masses_and_motion(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.sdf"
    save(original(file), out)
    scene = read_file(out)
    answer = drake.ask(out)
    if "failed" in answer:
        told = " ".join([answer["failed"], *answer["said"]])
        why = next((why for words, why in REFUSED.items() if words in told), None)
        assert why is not None, told
        pytest.skip(why)
    unexpected = [said for said in answer["said"] if not any(words in said for words in IGNORED)]
    assert not unexpected
    _compare(scene, answer)


def _compare(scene: Scene, answer: dict) -> None:
    models = scene.world.models
    bodies = [(f"{model.name}::{body.name}", body) for model in models for body in model.bodies]
    theirs = {body["name"]: number for number, body in enumerate(answer["bodies"])}
    assert sorted(theirs) == sorted(name for name, _ in bodies)
    for name, body in bodies:
        other = answer["bodies"][theirs[name]]
        scale = max(1.0, body.mass)
        assert abs(other["mass"] - body.mass) <= TOLERANCE * scale
        assert np.abs(np.subtract(other["com"], body.com)).max() <= TOLERANCE
        assert np.abs(np.subtract(other["moment"], body.moment)).max() <= TOLERANCE * max(scale, *body.moment)
    order = [theirs[name] for name, _ in bodies]
    kinematics = Kinematics(models)
    for row in answer["configurations"]:
        positions = [
            q
            for model in models
            for joint in model.joints
            for q in [row["positions"].get(f"{model.name}::{joint.child.name}", 0.0)] * joint.dof_count
        ]
        ours = kinematics.poses(np.array(positions))[:, :3].reshape(-1, 12)
        assert np.abs(ours - np.array(row["poses"])[order]).max() <= TOLERANCE


@pytest.mark.parametrize("name", DOCUMENTS)
def test_drake_reads_documents_as_we_do(name: str, tmp_path: Path) -> None:
    (tmp_path / "child.sdf").write_text(CHILD)
    file = tmp_path / "doc.sdf"
    file.write_text(DOCUMENTS[name].replace(">child.sdf<", ">package://beside/child.sdf<"))
    answer = drake.ask(file)
    file.write_text(DOCUMENTS[name])
    assert "failed" not in answer, answer["failed"]
    _compare(read_file(file), answer)
