"""Every model of every sample, written to URDF and read back, has the same masses and poses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from exoskel import Body, Joint, Kinematics, Model, Pose, Quaternion, Scene, World
from exoskel.scene.shape import Mesh
from exoskel.source.output_context import OutputContext
from tests.urdf.support import (
    cases,
    in_urdf,
    physics,
    random_positions,
    read_text,
    sample,
    shape_places,
    written,
)

CASES = cases()
TOLERANCE = 1e-9


def close(one: object, other: object) -> bool:
    return bool(np.allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE))


def same_physics(model: Model, read: Model, rounds: int = 3) -> None:
    rng = np.random.default_rng(0)
    for _ in range(rounds):
        q = random_positions(model, rng)
        mine, theirs = physics(model, q), physics(read, in_urdf(model, q))
        assert mine.keys() <= theirs.keys()
        for name, (mass, com, moment) in mine.items():
            assert mass == theirs[name][0]
            assert close(com, theirs[name][1]), name
            assert close(moment, theirs[name][2]), name
        for name in theirs.keys() - mine.keys():
            assert theirs[name][0] <= max(1e-10 * model.mass, 1e-10), name


def same_shapes(model: Model, read: Model) -> None:
    q = random_positions(model, np.random.default_rng(1))
    for kind in ("visuals", "collisions"):
        mine, theirs = shape_places(model, q, kind), shape_places(read, in_urdf(model, q), kind)
        for name, places in mine.items():
            for geometry, pose in places:
                assert any(close(pose, other) and alike(geometry, found) for found, other in theirs[name]), name


def alike(one: object, other: object) -> bool:
    if isinstance(one, Mesh) and isinstance(other, Mesh):
        assert other.path is not None
        return Path(one.path or "").resolve() == Path(other.path).resolve() and one.scale == other.scale
    return one == other


@pytest.mark.parametrize(("file", "name"), CASES, ids=[f"{f.stem}-{n}" for f, n in CASES])
def test_samples_round_trip(file: Path, name: str, tmp_path: Path) -> None:
    scene = sample(file)
    model = scene.world.model(name)
    output = OutputContext(tmp_path)
    text = written(scene, name, output=output)
    for reference, data in output.companions.items():
        (tmp_path / reference).parent.mkdir(exist_ok=True)
        (tmp_path / reference).write_bytes(data)
    back = read_text(text, folder=tmp_path)
    assert [str(d) for d in back.diagnostics] == []
    same_physics(model, back.world.models[0])
    same_shapes(model, back.world.models[0])


def some_pose(rng: np.random.Generator) -> Pose:
    x, y, z = rng.normal(size=3).tolist()
    a, b, c, d = rng.normal(size=4).tolist()
    return Pose((x, y, z), Quaternion((a, b, c, d)))


JOINTS = {
    "weld": {},
    "revolute": {"axes": ((1.0, 2.0, 2.0),)},
    "prismatic": {"axes": ((0.0, 0.6, 0.8),)},
    "screw": {"axes": ((0.0, 3.0, 0.0),), "pitch": 0.3},
    "universal": {"axes": ((1.0, 0.0, 0.0), (0.0, 1.0, 1.0))},
    "swapped": {"axes": ((1.0, 0.0, 0.0), (0.0, 1.0, 1.0)), "swapped": True},
    "hinge2": {"axes": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))},
    "ball": {},
    "euler": {"order": "zyx"},
    "translational": {},
    "translational2d": {"plane": "zx"},
    "planar": {"plane": "arbitrary", "axes": ((1.0, 2.0, 3.0), (0.0, 1.0, 1.0))},
    "free": {},
    "amotor": {"axes": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))},
}


def rig(case: str, seed: int = 0) -> Scene:
    """A chain of two joints of a kind and a revolute joint, with frames that are not aligned."""
    rng = np.random.default_rng(seed)
    kind = "universal" if case == "swapped" else case
    model = Model(name="rig", pose=some_pose(rng))
    parent: Body | None = None
    for number, (joint, options) in enumerate([(kind, JOINTS[case])] * 2 + [("revolute", JOINTS["revolute"])]):
        parent = model.add_body(
            f"body {number}",
            pose=some_pose(rng),
            mass=1.0 + number,
            com=tuple(rng.normal(size=3).tolist()),
            moment=(1.0, 1.1, 1.2, 0.1, 0.05, -0.1),
            parent=parent,
            joint=joint,
            **options,
        )
    for joint in model.joints:
        joint.pose = some_pose(rng)
    return Scene(worlds=[World(models=[model])])


@pytest.mark.parametrize("case", JOINTS)
def test_every_joint_kind_moves_the_same_after_a_round_trip(case: str) -> None:
    scene = rig(case)
    back = read_text(written(scene))
    same_physics(scene.world.models[0], back.world.models[0], rounds=5)


@pytest.mark.parametrize("case", JOINTS)
def test_a_document_that_was_read_is_written_the_same(case: str) -> None:
    once = read_text(written(rig(case)))
    twice = read_text(written(once))
    one, two = once.world.models[0], twice.world.models[0]
    q = np.random.default_rng(3).uniform(-1, 1, one.dof_count)
    assert np.allclose(Kinematics([one]).poses(q), Kinematics([two]).poses(q), atol=1e-12)
    assert [j.name for j in one.joints] == [j.name for j in two.joints]
    assert [b.name for b in one.bodies] == [b.name for b in two.bodies]


def test_writing_does_not_change_the_scene() -> None:
    scene = rig("ball")
    before = [(j.name, j.kind, j.axes) for j in scene.world.joints()]
    written(scene)
    assert [(j.name, j.kind, j.axes) for j in scene.world.joints()] == before
    assert all(isinstance(j, Joint) for j in scene.world.joints())
