"""Initial velocities of bodies."""

from __future__ import annotations

import numpy as np
import pytest

import exoskel
from exoskel import spatial
from exoskel.scene.joint import TRAITS, Joint
from exoskel.scene.kinematics import Kinematics, initial_twists

SPINNING = """<skel version="1.0"><world name="w"><skeleton name="s">
  <body name="a"><transformation>1 2 3 0 0 0</transformation></body>
  <joint type="revolute" name="j"><parent>world</parent><child>a</child>
    <axis><xyz>0 0 1</xyz></axis><init_pos>0.5</init_pos><init_vel>2</init_vel></joint>
</skeleton></world></skel>"""
BY_RATE = sorted(set(TRAITS) - {"weld", "ball", "free", "amotor"})
STEP = 1e-6


def test_a_velocity_is_exact_to_rounding() -> None:
    """A difference of poses would give 1.9999999999566116 instead of 2 rad/s."""
    data = exoskel.convert(SPINNING, None, to="xode").data
    assert b'<angularVel x="0" y="0" z="2"/>' in data


def chain(kind: str, swapped: bool, seed: int) -> exoskel.Model:
    rng = np.random.default_rng(seed)

    def pose() -> exoskel.Pose:
        return exoskel.Pose.from_matrix(spatial.transform(spatial.exp(rng.uniform(-1, 1, 3)), rng.uniform(-1, 1, 3)))

    axes = tuple(tuple(rng.uniform(-1, 1, 3).tolist()) for _ in range(TRAITS[kind].axes))
    bodies = [exoskel.Body(name=name, pose=pose()) for name in "ab"]
    joints = [
        Joint(
            name=child.name, kind=kind, child=child, parent=parent, pose=pose(), axes=axes,
            order="zyx", plane="arbitrary", pitch=0.3, swapped=swapped,
        )
        for child, parent in zip(bodies, (None, bodies[0]), strict=True)
    ]  # fmt: skip
    for joint in joints:
        joint.positions = tuple(rng.uniform(-1, 1, len(joint.motion)).tolist())
        joint.velocities = tuple(rng.uniform(-1, 1, len(joint.motion)).tolist())
    return exoskel.Model(name="m", bodies=bodies, joints=joints)


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("kind", BY_RATE)
def test_initial_velocities_are_the_derivatives_of_poses(kind: str, swapped: bool) -> None:
    model = chain(kind, swapped, seed=len(kind))
    kinematics = Kinematics([model])
    rates = np.array([rate for joint in model.joints for rate in joint.velocities])
    ahead, behind = (kinematics.poses(kinematics.initial + sign * rates) for sign in (STEP, -STEP))
    moving = initial_twists([model], kinematics)
    for number, body in enumerate(model.bodies):
        speed, spin = moving[id(body)] if id(body) in moving else (np.zeros(3), np.zeros(3))
        turned = spatial.log(ahead[number, :3, :3] @ behind[number, :3, :3].T) / (2 * STEP)
        assert np.abs(np.array(speed) - (ahead - behind)[number, :3, 3] / (2 * STEP)).max() < 1e-8
        assert np.abs(np.array(spin) - turned).max() < 1e-8
