"""Against DART, asked now: the same motion, step by step, where there are no contacts."""

from __future__ import annotations

from pathlib import Path

import pytest

import exoskel
from exoskel.engines import dart
from exoskel.simulate.compare import compare
from tests.support.places import sample_files

pytestmark = pytest.mark.skipif(not dart.available(), reason="dartpy is not installed")

EXCEPT = {
    "actuators": "servo and velocity actuators are not as DART's yet",
    "ferris_wheel": "an acceleration actuator: 2e-9",
    "swing_ride": "an acceleration actuator: 1e-8",
    "gyroscope": "a ball joint with different damping about its axes",
    "joint_zoo": "a tumbling body, where the schemes part ways: 4e-4 rad after half a second",
    "gantry": "DART has no translational2d joint",
    "screw_press": "DART has no screw joint",
    "soft_bodies": "DART's skins move",
}
ROUND = ("ball", "free")


@pytest.mark.parametrize("file", [f for f in sample_files() if f.stem not in EXCEPT], ids=lambda f: f.stem)
def test_contact_free_motion_is_dart_s(file: Path) -> None:
    scene = exoskel.load(file)
    for body in scene.world.bodies():
        body.moment = body.moment
        body.collisions.clear()
    (gap,) = compare(scene, 0.5, limits=False).gaps
    is_round = any(j.kind in ROUND and any(j.velocities) for j in scene.world.joints()) or any(
        j.kind == "ball" for j in scene.world.joints()
    )
    tolerance = 1e-6 if is_round else 1e-8
    assert gap.position_max < tolerance and gap.rotation_max < tolerance


def test_resting_contacts_agree_to_five_millimetres() -> None:
    (gap,) = compare(exoskel.load("dart://sample/skel/stack.skel"), 0.3).gaps
    assert gap.position_max < 5e-3


def test_what_dart_cannot_build_is_told() -> None:
    with pytest.raises(exoskel.ExoskelError, match="DART's parser cannot build a screw joint"):
        compare(exoskel.load("dart://sample/skel/screw_press.skel"), 0.1)


def test_unknown_engines_are_told() -> None:
    with pytest.raises(exoskel.ExoskelError, match="there is no engine 'bullet'"):
        compare(exoskel.load("dart://sample/skel/pendulum.skel"), 0.1, engines=("mujoco", "bullet"))
