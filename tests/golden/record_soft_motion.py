"""Records how soft bodies move in DART, without contacts.

python -m tests.golden.record_soft_motion
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import exoskel
from exoskel import Pose, Scene
from tests.golden.record_dart import rounded
from tests.support.places import GOLDEN, corpus_files, sample_files

FILE = GOLDEN / "soft_motion.json"
SECONDS, SAMPLES = 1.0, 4
APART = 50.0
"""The distance between models, m."""


def soft_files() -> dict[str, Path]:
    """Our sample and DART's files with soft bodies, by name."""
    files = [*sample_files(), *corpus_files()]
    return {path.stem: path for path in files if b"<soft_shape>" in path.read_bytes()}


def apart(file: Path) -> Scene:
    """A scene in which nothing touches: without shapes that collide, without ground, with models far from each other.

    Free bodies spin, so that their skins deform, and chains do not hang straight.
    """
    scene = exoskel.load(file)
    world = scene.world
    for model in [one for one in world.models if one.static or all(j.kind == "weld" for j in one.joints)]:
        world.models.remove(model)
    for number, model in enumerate(world.models):
        for body in model.bodies:
            body.moment = body.moment
            body.collisions.clear()
            x, y, z = body.pose.position
            body.pose = Pose((x + APART * number, y, z), body.pose.rotation)
        for joint in model.joints:
            if joint.kind == "free":
                joint.velocities = (3.0 - number, 1.0 + number, -2.0, 0.1, 0.2, 0.3)
            elif joint.dof_count:
                joint.positions = tuple(0.2 for _ in range(joint.dof_count))
    return scene


def core_positions(scene: Scene, engine: str) -> list[Any]:
    """The origins of all bodies at each sample."""
    motion = exoskel.run(scene, SECONDS, engine=engine, every=SECONDS / SAMPLES, warn=False)
    found: list[Any] = np.asarray(motion.body_poses[:, :, :3]).tolist()
    return found


@cache
def recorded() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text())
    return found


def main() -> None:
    found = {name: rounded(core_positions(apart(file), "dart")) for name, file in soft_files().items()}
    FILE.write_text(json.dumps(found, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
