"""The visible geometry of a world: every shape at its place, in one batch per kind."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import exoskel
from exoskel import spatial
from exoskel.scene.kinematics import Kinematics
from exoskel.view import overlays
from exoskel.view.render_scene import COLLISION, VISUAL, RenderScene, compose_poses
from tests.support.findings import load_text
from tests.support.places import sample_files, xode_sample_files
from tests.view.documents import GREEN, RED, falling, pinned, sliding, world

numbers = st.floats(-1.0, 1.0)
poses = st.tuples(*[numbers] * 7).filter(lambda pose: np.linalg.norm(pose[3:]) > 0.1)


def boxes(count: int) -> exoskel.World:
    out = exoskel.World()
    for i in range(count):
        place = exoskel.Pose((float(i % 50), float(i // 50), 0.1))
        out.add_model(f"m{i}").add_body("b", pose=place, shapes=[exoskel.Box((0.2, 0.3, 0.4))])
    return out


@given(poses, poses)
def test_composed_poses_match_matrix_products(outer, inner) -> None:  # type: ignore[no-untyped-def]
    one, two = (np.array([[*pose[:3], *spatial.unit(pose[3:])]]) for pose in (outer, inner))
    matrices = [spatial.transform(spatial.quaternion_matrix(pose[:, 3:]), pose[:, :3]) for pose in (one, two)]
    positions, quaternions = compose_poses(one, two)
    wanted = matrices[0] @ matrices[1]
    assert np.allclose(positions, wanted[:, :3, 3])
    assert np.allclose(spatial.quaternion_matrix(quaternions), wanted[:, :3, :3])


@pytest.mark.parametrize("file", [*sample_files(), *xode_sample_files()], ids=lambda file: file.name)
def test_every_shape_of_every_sample_has_an_instance(file) -> None:  # type: ignore[no-untyped-def]
    render_scene = RenderScene(exoskel.load(file).world)
    wanted = [number for number, body in enumerate(render_scene.bodies) for _ in body.visuals or body.collisions]
    skins = [number for number, body in enumerate(render_scene.bodies) if body.soft is not None]
    drawn = [number for batch in render_scene.of_role(VISUAL) for number in batch.bodies.tolist()]
    drawn += [skin.body for skin in render_scene.skins.surfaces]
    painted = any(
        batch.name.startswith("mesh") for batch in render_scene.batches
    )  # a mesh with several colours has several instances
    assert not render_scene.missing_meshes
    assert len(drawn) + len(render_scene.floor_heights) >= len(wanted) + len(skins)
    assert painted or len(drawn) <= len(wanted) + len(skins)
    assert np.isfinite(render_scene.low).all() and (render_scene.high >= render_scene.low).all()


def test_thousands_of_boxes_are_one_batch_for_each_role() -> None:
    render_scene = RenderScene(boxes(500))
    assert sorted(batch.role for batch in render_scene.batches) == [COLLISION, VISUAL]
    assert [len(batch.bodies) for batch in render_scene.batches] == [500, 500]
    assert np.allclose(render_scene.batches[0].scales, [0.2, 0.3, 0.4])


def test_instances_follow_the_kinematics() -> None:
    scene = load_text(world(sliding("cart", "1 2 0.5", RED)))
    render_scene = RenderScene(scene.world)
    moved = spatial.pose7(Kinematics(scene.world.models).poses([0.3]))
    positions, _ = render_scene.batches[0].instance_poses(moved)
    assert np.allclose(positions, [[1.0, 2.3, 0.5]])
    corners = render_scene.batches[0].boxes(moved)[0]
    assert np.allclose([corners.min(axis=0), corners.max(axis=0)], [[0.75, 2.05, 0.25], [1.25, 2.55, 0.75]])


def test_a_missing_mesh_has_a_placeholder_and_is_reported() -> None:
    text = world(pinned("part", "0 0 0", RED)).replace(
        "<box><size>0.5 0.5 0.5</size></box>", "<mesh><file_name>nowhere.obj</file_name><scale>1 1 1</scale></mesh>", 1
    )
    render_scene = RenderScene(load_text(text).world)
    (missing,) = render_scene.missing_meshes
    assert missing.body.name == "part" and "nowhere.obj" in missing.reason
    assert [batch.name.split("_")[0] for batch in render_scene.of_role(VISUAL)] == ["box"]


def test_large_ground_is_ignored_by_the_camera() -> None:
    small = falling("ball", "0 0 1", RED)
    narrow = RenderScene(load_text(world(small)).world)
    huge = pinned("floor", "0 0 -1", GREEN).replace("0.5 0.5 0.5", "100 100 1")
    wide = RenderScene(load_text(world(small, huge)).world)
    assert np.allclose(wide.low, narrow.low) and np.allclose(wide.high, narrow.high)


def test_a_level_plane_is_drawn_as_the_ground() -> None:
    world = exoskel.World(gravity=(0, -9.81, 0))
    world.add_model("ground", static=True).add_body("g", shapes=[exoskel.Plane((0.0, 1.0, 0.0), -0.5)])
    world.add_model("slope", static=True).add_body("s", shapes=[exoskel.Plane((0.0, 0.8, 0.6), 0.0)])
    render_scene = RenderScene(world)
    assert render_scene.ground == -0.5
    assert [batch.name.split("_")[0] for batch in render_scene.of_role(VISUAL)] == ["plane"]


def test_the_inertia_ellipsoid_of_an_ellipsoid_is_itself() -> None:
    world = exoskel.World()
    body = world.add_model("m").add_body("b", shapes=[exoskel.Ellipsoid((0.2, 0.4, 0.8))])
    body.mass = 3.0
    x, y, z = 0.2**2, 0.4**2, 0.8**2
    body.moment = (3.0 / 20 * (y + z), 3.0 / 20 * (x + z), 3.0 / 20 * (x + y), 0.0, 0.0, 0.0)
    inertia, _ = overlays.inertia_batches([body], [0], 1.0)
    assert sorted(inertia.scales[0]) == pytest.approx([0.2, 0.4, 0.8])


def test_joint_axes_pass_through_their_joints() -> None:
    scene = load_text(world(sliding("cart", "1 2 0.5", RED)))
    arrows = overlays.joint_axes(scene.world, 2.0)
    (ends,) = arrows.world_points(RenderScene(scene.world).initial)
    assert np.allclose(ends, [[1.0, 1.0, 0.5], [1.0, 3.0, 0.5]])


MISSING = "<mesh><file_name>nowhere.obj</file_name><scale>1 1 1</scale></mesh>"


@pytest.mark.parametrize("size", [0.01, 1.0, 1000.0])
def test_a_placeholder_has_a_size_that_fits_the_scene(size: float) -> None:
    edge = " ".join([str(size)] * 3)
    text = world(falling("a", f"0 0 {size}", RED, edge), falling("b", f"{2 * size} 0 {size}", GREEN, edge))
    render_scene = RenderScene(load_text(text.replace(f"<box><size>{edge}</size></box>", MISSING, 1)).world)
    (placeholder,) = [
        scale
        for batch in render_scene.of_role(VISUAL)
        for scale, body in zip(batch.scales, batch.bodies, strict=True)
        if body == 0
    ]
    assert (placeholder > 0.1 * size).all() and (placeholder < 0.6 * size).all()


def test_a_single_placeholder_is_visible() -> None:
    render_scene = RenderScene(
        load_text(world(pinned("a", "0 0 0", RED)).replace("<box><size>0.5 0.5 0.5</size></box>", MISSING)).world
    )
    assert {tuple(batch.scales[0]) for batch in render_scene.batches} == {(0.1, 0.1, 0.1)}
