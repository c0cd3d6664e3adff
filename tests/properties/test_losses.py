"""Every loss of a writer names an item of the scene, a code of the catalogue and the fields that it concerns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from msgspec import structs

import exoskel
from exoskel import Scene, World
from exoskel.formats import registry, shared_codes
from exoskel.formats.write import Written, write
from exoskel.scene.body import Body, BodyState, Marker, SoftBody
from exoskel.scene.cameras_and_keyframes import SceneCamera, SceneLight
from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.fields import iter_items
from exoskel.scene.inertia import UNIT_MOMENT
from exoskel.scene.joint import DOF_VALUES, Drive, Joint, Mimic
from exoskel.scene.pose import Pose
from exoskel.scene.shape import Ball, Material, Mesh, MultiSphere, Plane, Ray, Shape, Sphere, Texture, TriMesh
from exoskel.scene.world import as_scene
from exoskel.source.output_context import Target
from tests.properties.support import load, tried
from tests.support.generate import Generated, documents

FORMATS: tuple[tuple[str, Target], ...] = (
    ("mjcf", "portable"),
    ("mjcf", "mujoco3"),
    ("mjcf", "isaac"),
    ("mjcf", "dart"),
    ("urdf", "portable"),
    ("urdf", "dart"),
    ("sdf", "portable"),
    ("sdf", "dart"),
    ("usd", "portable"),
    ("gltf", "portable"),
    ("xode", "pyode"),
)
SAMPLES = ("skel/actuators", "skel/geometry_zoo", "skel/joint_zoo", "skel/soft_bodies", "xode/amotor_gimbal")
"""Together with the unusual world, they have every loss of MJCF, URDF and SDF."""
PARTS = {Joint: DOF_VALUES, Body: ("moment", "products")}
"""What losses name besides fields: values of degrees of freedom and of inertia."""
X = ((1.0, 0.0, 0.0),)
XY = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))


def odd_world(format: str) -> World:
    """A world with parts that most formats do not support; MuJoCo rejects an axis of zero."""
    world = World("w", collision_exempt_groups=[["a", "b"]], self_collision=True)
    model = world.add_model("m")
    base = model.add_body("base", moment=UNIT_MOMENT)
    base.state = BodyState(force=(1.0, 0.0, 0.0), enabled=False)
    base.markers.append(Marker(name="k"))
    hull = MultiSphere((Ball(1.0, (0.0, 0.0, 0.0)), Ball(0.5, (1.0, 0.0, 0.0))))
    corners = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    triangles = TriMesh(corners, np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]))
    for geometry in (hull, triangles, Plane((1.0, 0.0, 0.0), 0.0), Ray(1.0), Mesh("missing.obj")):
        base.collisions.append(Shape(geometry=geometry))
    image = Texture("missing.png", (2.0, 1.0))
    base.visuals.append(Shape(geometry=Sphere(1.0), material=Material(texture=image)))
    model.joints[0].dofs[0].damping, model.joints[0].dofs[3].stiffness = 1.0, 2.0
    model.joints[0].pose = Pose((1.0, 0.0, 0.0))
    model.add_body("arm", parent="base", joint="revolute", axes=X, joint_name="j", mass=0.0)
    joint = model.joint("j")
    joint.collide_connected = True
    dof = joint.dofs[0]
    dof.acceleration_limits = dof.velocity_limits = dof.force_limits = (-1.0, 2.0)
    dof.damping = -1.0 if format == "urdf" else 0.0
    dof.force, joint.limits_enforced, dof.position_limits = 1.0, False, (-1.0, 1.0)
    model.add_body("ball", parent="arm", joint="ball", joint_name="b", moment=UNIT_MOMENT)
    ball = model.joint("b")
    ball.actuator = "servo"
    ball.dofs[0].stiffness, ball.dofs[0].rest, ball.dofs[1].position_limits = 1.0, 0.5, (-1.0, 1.0)
    model.add_body("still", parent="arm", joint="revolute", joint_name="z", axes=X, moment=UNIT_MOMENT)
    if format != "mjcf":
        with no_edits():  # only a file may have it
            model.joint("z").axes = ((0.0, 0.0, 0.0),)
    model.joint("z").mimic = Mimic("j")
    if format == "urdf":
        for name, leader in (("x", "y"), ("y", "x")):
            model.add_body(f"{name}_end", parent="arm", joint="revolute", joint_name=name, axes=X, moment=UNIT_MOMENT)
            model.joint(name).mimic = Mimic(leader)
    stops = (Drive(-1.0, 1.0, stop_cfm=0.1), Drive(bounce=0.5))
    model.add_body("wheel", parent="arm", joint="universal", joint_name="u", axes=XY, drives=stops, moment=UNIT_MOMENT)
    model.joint("u").collapses = True
    static = world.add_model("s", static=True)
    static.add_body("door", joint="revolute", axes=X, moment=UNIT_MOMENT).soft = SoftBody(total_mass=1.0)
    world.add_sensor("rate", "gyro", "m/base/k", cutoff=1.0)
    world.add_sensor("angle", "jointpos", "m/j")
    world.cameras.append(SceneCamera(name="plan", orthographic=True))
    world.lights.append(SceneLight(name="lamp", ambient=(0.1, 0.1, 0.1)))
    return world


def load_sample(name: str) -> Scene:
    return exoskel.load(f"dart://sample/{name}.{name.partition('/')[0]}")


def scenes(scene: Scene, format: str) -> list[Scene]:
    """The scenes to write: in URDF, each model is a document, and its writer lowers joints itself."""
    if format == "urdf":
        return [as_scene(model) for world in scene.worlds for model in world.models]
    lower = registry.by_name(format).capabilities().lower_joints
    lowered = [(world, lower(world)) for world in scene.worlds]
    return [structs.replace(scene, worlds=[world if done is None else done.world for world, done in lowered])]


def check_losses(scene: Scene, format: str, target: Target) -> set[str]:
    """Check the losses of all documents of a scene; returns their codes."""
    return {code for one in scenes(scene, format) for code in _checked(one, write(one, format, target=target), format)}


def _checked(scene: Scene, written: Written, format: str) -> Iterator[str]:
    items = {id(item) for item, *_ in iter_items(scene)}
    topics = {**registry.by_name(format).catalogue().topics, **shared_codes.CATALOGUE.topics}
    for loss in (*written.output.losses, *written.output.kept, *written.output.rejected):
        assert id(loss.item) in items, loss
        assert loss.code in topics and loss.text and "{" not in loss.text, loss
        known = {*type(loss.item).__struct_fields__, *PARTS.get(type(loss.item), ())}
        assert known.issuperset(field.partition("/")[0] for field in loss.fields), loss
        assert loss.fields or id(loss.item) not in written.elements, f"what of the item is lost? {loss}"
        yield loss.code


@pytest.mark.parametrize(("format", "target"), FORMATS)
@pytest.mark.parametrize("sample", SAMPLES)
def test_losses_of_samples_have_item_code_and_fields(sample: str, format: str, target: Target) -> None:
    check_losses(load_sample(sample), format, target)


@pytest.mark.parametrize(("format", "target"), FORMATS)
def test_losses_of_an_unusual_world_have_item_code_and_fields(format: str, target: Target) -> None:
    assert check_losses(as_scene(odd_world(format)), format, target)


@pytest.mark.parametrize(("format", "target"), FORMATS)
@settings(tried, max_examples=5)
@given(document=documents())
def test_losses_of_generated_documents_have_item_code_and_fields(
    folder: Path, format: str, target: Target, document: Generated
) -> None:
    check_losses(load(document, folder), format, target)


LOSS_CODES = {"mjcf": "MJ5", "urdf": "UR6", "sdf": "SD1"}
"""The first letters of the codes of losses; those of readers are lower."""


OF_SEPARATE_MODELS = {"SD210"}
"""Losses of one file per model, which tests/sdf/test_dart_target.py shows."""


@pytest.mark.parametrize("format", LOSS_CODES)
def test_every_code_of_a_writer_has_an_example(format: str) -> None:
    known = [as_scene(odd_world(format)), *map(load_sample, SAMPLES)]
    targets = [target for name, target in FORMATS if name == format]
    found = {code for scene in known for target in targets for code in check_losses(scene, format, target)}
    wanted = {code for code in registry.by_name(format).catalogue().topics if code >= LOSS_CODES[format]}
    assert wanted - OF_SEPARATE_MODELS <= found
