"""The bundled XODE samples are clean, have titles and colours, and cover the format."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from lxml import etree

import exoskel
from exoskel import Kinematics
from exoskel.formats.xode.transforms import ROTATIONS
from exoskel.formats.xode.vocabulary import JOINT_KINDS, MASS_SHAPES, SHAPES, XODE
from exoskel.samples import Sample, samples

SAMPLES = [sample for sample in samples() if sample.path.suffix == ".xode"]
REQUIRED = {
    "box_and_sphere",
    "ragdoll",
    "hinge2_car",
    "amotor_gimbal",
    "four_bar",
    "trimesh_terrain",
    "groups_and_nesting",
    "extensions",
}
MEANT = {
    "groups_and_nesting": {"X509": "a scale is always warned of", "X708": "and so is a cone"},
    "pyode_dialect": {"X901": "the note that PyODE's dialect was chosen"},
}
"""The expected diagnostics of samples; all other samples have none."""


def tree(sample: Sample) -> etree._Element:
    return etree.parse(sample.path).getroot()


def used(query: str) -> set[str]:
    return {str(element.tag) for sample in SAMPLES for element in tree(sample).xpath(query)}


each = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)


def test_there_are_enough_samples() -> None:
    assert len(SAMPLES) >= 8
    assert {sample.name for sample in SAMPLES} >= REQUIRED


def test_samples_have_unique_names() -> None:
    assert all(one.name < other.name for one, other in pairwise(SAMPLES))


@each
def test_a_sample_has_only_the_intended_diagnostics(sample: Sample) -> None:
    scene = exoskel.load(sample.uri)
    assert {d.code for d in scene.diagnostics} == MEANT.get(sample.name, {}).keys(), [*map(str, scene.diagnostics)]
    assert scene.world.models


@each
def test_a_sample_is_found_by_its_name(sample: Sample) -> None:
    assert sample.uri == f"dart://sample/xode/{sample.name}.xode"
    assert tree(sample).get("name") == sample.name


@each
def test_a_sample_begins_with_its_title(sample: Sample) -> None:
    first = next(tree(sample).itersiblings(preceding=True))
    assert isinstance(first, etree._Comment)
    assert 10 <= len(sample.title) <= 90
    assert str(first.text).strip().startswith(sample.title)


@each
def test_every_geom_of_a_sample_has_a_colour(sample: Sample) -> None:
    geoms = tree(sample).xpath("//geom")
    assert geoms and all(len(geom.xpath("ext[@ename='colour']")) == 1 for geom in geoms)


@each
def test_the_joints_of_a_sample_close(sample: Sample) -> None:
    """A joint has the same position on both of its bodies, including loop joints."""
    for world in exoskel.load(sample.uri).worlds:
        bodies = [body for model in world.models for body in model.bodies]
        poses = {id(body): pose for body, pose in zip(bodies, Kinematics(world.models).poses(), strict=True)}
        homes = {id(body): body.pose.matrix() for body in bodies}
        for joint in world.joints():
            anchor = homes[id(joint.child)] @ joint.pose.matrix() @ [0.0, 0.0, 0.0, 1.0]
            for body in filter(None, (joint.child, joint.parent)):
                local = np.linalg.solve(homes[id(body)], anchor)
                assert np.abs(poses[id(body)] @ local - anchor).max() < 1e-9, joint.name


@each
def test_anchors_are_near_their_bodies(sample: Sample) -> None:
    """The anchor of a joint is close to the bodies it connects."""
    for joint in (joint for world in exoskel.load(sample.uri).worlds for joint in world.joints()):
        if joint.implicit or joint.kind in ("weld", "prismatic", "amotor"):
            continue
        anchor = joint.child.pose.matrix() @ joint.pose.matrix() @ [0.0, 0.0, 0.0, 1.0]
        for body in filter(None, (joint.child, joint.parent)):
            local = np.linalg.solve(body.pose.matrix(), anchor)
            low, high = np.full(3, np.inf), np.full(3, -np.inf)
            for shape in body.collisions:
                bounds = shape.geometry.bounds()
                assert bounds is not None
                corners = np.array(np.meshgrid(*zip(*bounds, strict=True))).reshape(3, -1)
                placed = shape.pose.matrix()[:3, :3] @ corners + np.array(shape.pose.position)[:, None]
                low, high = np.minimum(low, placed.min(axis=1)), np.maximum(high, placed.max(axis=1))
            assert (local[:3] > low - 0.2).all() and (local[:3] < high + 0.2).all(), (joint.name, body.name)


def test_every_shape_is_shown() -> None:
    assert used("//geom/*") & set(SHAPES) == set(SHAPES)


def test_every_joint_type_is_shown() -> None:
    assert used("//joint/*") & set(JOINT_KINDS) == set(JOINT_KINDS)


def test_every_rotation_form_is_shown() -> None:
    assert used("//rotation/*") == set(ROTATIONS)
    assert used("//transform/matrix4f")


def test_every_mass_form_is_shown() -> None:
    body = XODE.root.children["world"].children["space"].children["body"]
    forms = {name for name, form in body.children["mass"].children.items() if form.in_schema}
    assert {"mass_struct", "mass_shape", "adjust", "mass"} <= forms
    assert used("//mass/*") == forms
    assert used("//mass_shape/*") == set(MASS_SHAPES)
    assert used("//mass_shape[@density]") and used("//mass_shape[@total]")


def test_the_pybrain_comment_selects_dialect_pyode() -> None:
    scene = exoskel.load("dart://sample/xode/pyode_dialect.xode")
    assert scene.source_info.semantics == "pyode"
    assert scene.world.collision_exempt_groups


def test_world_parameters_are_read_and_other_extensions_preserved() -> None:
    scene = exoskel.load("dart://sample/xode/extensions.xode")
    assert scene.world.gravity == (0.0, 0.0, -9.81)
    assert {"gravity", "cfm", "erp", "time_step"} <= scene.world.given
    assert {"authoring", "studio", "material", "music", "sensor", "breakable"} <= {e.name for e in scene.extensions}
