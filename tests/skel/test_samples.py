"""The bundled SKEL samples are clean, have titles, and cover the format."""

from __future__ import annotations

import pytest

import exoskel
from exoskel.samples import Sample, samples
from exoskel.scene.joint import TRAITS

ALLOWED = {
    "SK089": "limits are meant to be there",
    "SK091": "spinning free bodies are the point of some",
    "SK092": "so are springs on ball joints",
    "SK054": "several shapes of one body",
    "SK090": "the two scenes with joints DART cannot build",
    "SK055": "the geometry zoo has a pyramid",
}
SAMPLES = [sample for sample in samples() if sample.path.suffix == ".skel"]


def test_there_are_enough_samples() -> None:
    assert len(SAMPLES) >= 15


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_a_sample_has_only_the_intended_diagnostics(sample: Sample) -> None:
    scene = exoskel.load(sample.uri)
    assert {d.code for d in scene.diagnostics} <= ALLOWED.keys(), [str(d) for d in scene.diagnostics]
    assert 10 <= len(sample.title) <= 75
    assert len(scene.world.models) and scene.world.provenance("gravity") == "explicit"


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_every_visual_of_a_sample_has_a_colour(sample: Sample) -> None:
    visuals = [shape for body in exoskel.load(sample.uri).world.bodies() for shape in body.visuals]
    assert visuals and all(shape.color is not None for shape in visuals)


def test_every_joint_kind_geometry_and_actuator_is_shown() -> None:
    worlds = [exoskel.load(sample.uri).world for sample in SAMPLES]
    joints = [joint for world in worlds for joint in world.joints()]
    shapes = [shape for world in worlds for body in world.bodies() for shape in body.shapes]
    assert {joint.kind for joint in joints} == TRAITS.keys() - {"hinge2", "amotor"}
    assert {joint.actuator for joint in joints} == {"force", "passive", "servo", "acceleration", "velocity", "locked"}
    assert {shape.kind for shape in shapes} == {
        "box", "sphere", "ellipsoid", "cylinder", "capsule", "cone", "pyramid", "plane", "multi_sphere", "mesh",
    }  # fmt: skip
    soft = {type(b.soft.geometry).__name__ for world in worlds for b in world.bodies() if b.soft}
    assert soft == {"Box", "Sphere", "Ellipsoid", "Cylinder"}
