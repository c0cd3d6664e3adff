"""Loads, edits, saves and simulates a scene, with a digest of all results."""

from __future__ import annotations

import hashlib
import json

import exoskel
from exoskel.formats.save import saved_bytes

SAMPLES = (
    "dart://sample/skel/double_pendulum.skel",
    "dart://sample/skel/robot_arm.skel",
    "dart://sample/xode/four_bar.xode",
    "dart://sample/xode/hinge2_car.xode",
)


def digest(sample: str) -> str:
    """Load, summarise, edit, save and run a sample; returns a digest of all results."""
    scene = exoskel.load(sample)
    diagnostics = [d.as_dict() for d in scene.diagnostics]
    parts = [json.dumps(exoskel.summarize(scene)).encode(), json.dumps(diagnostics).encode()]
    motion = exoskel.run(scene.world, duration=0.05)
    parts += [motion.positions.tobytes(), motion.velocities.tobytes(), motion.body_poses.tobytes()]
    body = list(scene.world.bodies())[-1]
    body.name = "renamed"
    parts.append(saved_bytes(scene))
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def digests(repeats: int) -> list[list[str]]:
    return [[digest(sample) for sample in SAMPLES] for _ in range(repeats)]
