"""Pictures of grounds: they are drawn in full, receive shadows, and cast none on themselves."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import exoskel
from exoskel import World
from exoskel.source.surface import Surface
from exoskel.view.camera import PRESETS, frame_of, look_at
from exoskel.view.gl_renderer import GlRenderer, NoRendererError
from exoskel.view.lighting import light_directions
from exoskel.view.rasterizer import clip
from exoskel.view.render_scene import VISUAL, RenderScene
from exoskel.view.software_renderer import SIZE as MAP_SIZE
from exoskel.view.software_renderer import ShadowMap, SoftwareRenderer
from tests.view.test_render import reddish

WIDTH, HEIGHT = 320, 200
Picture = NDArray[np.uint8]


def world_on(
    ground: exoskel.Geometry, *, size: float = 0.1, height: float | None = None, distance: float = 0.0
) -> World:
    """A red box above a blue ground whose top is at the height 0."""
    height = size if height is None else height
    made = World()
    bottom = {exoskel.Box: 0.05, exoskel.Ellipsoid: 2.5}[type(ground)]
    pose = exoskel.Pose((0.0, 0.0, -bottom))
    made.add_model("ground", static=True).add_body("ground", pose=pose, shapes=[ground])
    made.models[0].bodies[0].visuals[0].color = (0.35, 0.35, 0.9, 1.0)
    pose = exoskel.Pose((0.0, 0.0, height / 2 + distance))
    made.add_model("cube").add_body("cube", joint="free", pose=pose, shapes=[exoskel.Box((size, size, height))])
    made.models[1].bodies[0].visuals[0].color = (0.9, 0.1, 0.1, 1.0)
    return made


def software(render_scene: RenderScene, preset: str = "default") -> Picture:
    camera = look_at(render_scene.corners(), render_scene.up, preset=preset, aspect=WIDTH / HEIGHT)
    return SoftwareRenderer(render_scene, camera, WIDTH, HEIGHT).draw(render_scene.initial)


def mujoco(render_scene: RenderScene) -> Picture:
    camera = look_at(render_scene.corners(), render_scene.up, aspect=WIDTH / HEIGHT)
    try:
        renderer = GlRenderer(render_scene, camera, WIDTH, HEIGHT)
    except NoRendererError as error:
        pytest.skip(f"MuJoCo cannot render here: {error}")
    try:
        return renderer.draw(render_scene.initial)
    finally:
        renderer.close()


def bluish(picture: Picture) -> NDArray[np.bool_]:
    seen = picture.astype(int)
    return np.asarray(seen[..., 2] > 1.15 * seen[..., :2].max(axis=-1))


def shadowed(picture: Picture) -> NDArray[np.bool_]:
    """The pixels of the ground in shadow: clearly darker than the rest of it."""
    on_ground = bluish(picture)
    brightness = picture.astype(float).sum(axis=-1)
    return np.asarray(on_ground & (brightness < 0.75 * np.median(brightness[on_ground])))


GROUNDS = [exoskel.Box((2.5, 2.5, 0.1)), exoskel.Box((50.0, 50.0, 0.1)), exoskel.Ellipsoid((50.0, 50.0, 5.0))]
NAMES = ["box", "huge box", "ellipsoid"]


@pytest.mark.parametrize("ground", GROUNDS, ids=NAMES)
def test_a_ground_that_reaches_behind_the_camera_is_drawn(ground: exoskel.Geometry) -> None:
    """A triangle with a corner behind the camera vanished, and the ground with it."""
    picture = software(RenderScene(world_on(ground)))
    lower = picture[HEIGHT * 2 // 3 :]
    assert (bluish(lower) | reddish(lower)).mean() > 0.99
    assert reddish(picture).sum() > 1000


@pytest.mark.parametrize("ground", GROUNDS, ids=NAMES)
@pytest.mark.parametrize("draw", [software, mujoco])
def test_a_ground_receives_the_shadow_of_a_body_and_casts_none(draw, ground: exoskel.Geometry) -> None:  # type: ignore[no-untyped-def]
    picture = draw(RenderScene(world_on(ground, distance=0.05)))
    rows, columns = np.nonzero(shadowed(picture))
    cube_rows, cube_columns = np.nonzero(reddish(picture))
    assert len(rows) > 300
    # The sun shines from the left, so everything left of the cube is lit.
    assert columns.min() > cube_columns.min() and rows.min() > cube_rows.min()
    assert len(rows) < 0.25 * bluish(picture).sum()


def test_the_shadow_is_at_the_same_place_in_both_renderers() -> None:
    render_scene = RenderScene(world_on(GROUNDS[0], distance=0.05))
    one, two = shadowed(software(render_scene)), shadowed(mujoco(render_scene))
    assert (one & two).sum() / (one | two).sum() > 0.85


def test_a_floor_does_not_make_the_picture_of_a_robot_small() -> None:
    for floor in (exoskel.Box((5.0, 5.0, 0.1)), exoskel.Box((2.0, 2.0, 0.1)), exoskel.Box((6.0, 1.0, 0.1))):
        rows, _ = np.nonzero(reddish(software(RenderScene(world_on(floor, size=0.4, height=1.8)))))
        assert np.ptp(rows) > 0.6 * HEIGHT, floor


def test_a_table_is_part_of_the_picture_and_casts_a_shadow() -> None:
    made = world_on(GROUNDS[0], size=0.2, distance=0.0)
    leg = exoskel.Pose((0.0, 0.0, -0.5))
    made.add_model("leg", static=True).add_body("leg", pose=leg, shapes=[exoskel.Box((0.1, 0.1, 1.0))])
    render_scene = RenderScene(made)
    made.models[0].bodies[0].visuals[0].geometry = exoskel.Box((0.5, 0.5, 0.1))
    table = RenderScene(made)
    assert [batch.is_ground for batch in render_scene.of_role(VISUAL)].count(True) == 1
    assert not any(batch.is_ground for batch in table.of_role(VISUAL)) and np.ptp(table.corners()[:, 0]) >= 0.5


@pytest.mark.parametrize("preset", sorted(PRESETS))
@pytest.mark.parametrize("long", [False, True], ids=["compact", "long"])
def test_the_sun_is_not_behind_the_camera(preset: str, long: bool) -> None:
    up = (0.0, 0.0, 1.0)
    camera = look_at(np.array([[0.0, 0.0, 0.0], [9.0 if long else 1.0, 1.0, 1.0]]), up, preset=preset)
    toward = np.array(camera.position) - np.array(camera.target)
    sun, _ = light_directions(camera, frame_of(up))
    cosine = toward[:2] @ sun[:2] / np.linalg.norm(toward[:2]) / np.linalg.norm(sun[:2])
    assert -0.5 < cosine < 0.5 and sun[2] > 0.0


def test_points_outside_the_shadow_map_are_lit() -> None:
    shadows = ShadowMap(np.full((MAP_SIZE, MAP_SIZE), 10.0, dtype=np.float32), bias=0.0)
    inside = [[5.0, 5.0, 0.0], [MAP_SIZE - 5.0, MAP_SIZE / 2, 0.0]]
    outside = [[-5.0, 5.0, 0.0], [MAP_SIZE + 5.0, 9.0, 0.0], [9.0, 1e9, 0.0], [9.0, -1e9, 0.0]]
    lit = shadows.light_fraction(np.array(inside + outside, dtype=np.float32))
    assert lit.tolist() == [0.0] * 2 + [1.0] * 4


def test_clipped_triangles_cover_what_is_inside_and_nothing_else() -> None:
    generator = np.random.default_rng(5)
    points = generator.uniform(-1.0, 1.0, (300, 2))
    triangles = generator.integers(0, 300, (200, 3))
    clipped = clip(triangles, points[:, 0])
    corners = clipped.extend(points)[clipped.triangles]
    assert corners[..., 0].min() >= -1e-6

    def areas(corners: NDArray[np.float64]) -> NDArray[np.float64]:
        first, second = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
        return np.asarray(first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0])

    other = clip(triangles, -points[:, 0])
    both = areas(corners).sum() + areas(other.extend(points)[other.triangles]).sum()
    assert both == pytest.approx(areas(points[triangles]).sum(), abs=1e-5)  # and the orientation is preserved


def test_values_that_are_not_numbers_are_clipped_away() -> None:
    clipped = clip(np.array([[0, 1, 2], [0, 1, 3]]), np.array([1.0, 1.0, 1.0, np.nan]))
    assert clipped.triangles.tolist()[0] == [0, 1, 2]
    values = clipped.extend(np.arange(4.0))
    assert not np.isfinite(values[clipped.triangles[1:]]).all(axis=1).any()


def test_large_triangles_are_shaded_like_small_ones() -> None:
    """Normals were mixed linearly on the screen, which is wrong for triangles that recede."""

    def sheet(steps: int) -> Surface:
        x, y = (values.ravel() for values in np.meshgrid(*[np.linspace(-1.0, 1.0, steps + 1)] * 2, indexing="ij"))
        normals = np.stack([1.5 * x, 0.7 * y, np.ones_like(x)], axis=1)
        at = np.arange((steps + 1) ** 2).reshape(steps + 1, steps + 1)
        a, b, c, d = (part.ravel() for part in (at[:-1, :-1], at[1:, :-1], at[1:, 1:], at[:-1, 1:]))
        faces = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
        return Surface(np.stack([x, y, np.zeros_like(x)], axis=1), normals, faces)

    made = World()
    made.add_model("m").add_body("b", shapes=[exoskel.Box((2.0, 2.0, 0.2))])
    pictures = []
    for steps in (1, 32):
        render_scene = RenderScene(made)
        for batch in render_scene.of_role(VISUAL):
            batch.surface, batch.scales = sheet(steps), np.ones((1, 3))
        camera = look_at(np.array([[-0.2, -0.2, 0.0], [0.9, 0.9, 0.5]]), render_scene.up)
        pictures.append(SoftwareRenderer(render_scene, camera, 160, 120).draw(render_scene.initial).astype(int))
    assert np.abs(pictures[0] - pictures[1]).mean() < 1.0
