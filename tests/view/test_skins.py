"""The skins of soft bodies are drawn as they are deformed: in pictures, on the page, and from recorded motions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import exoskel
from exoskel import Box, Scene, Simulation, SoftBody, Tessellation, World, spatial
from exoskel.engines.dart import dart_world
from exoskel.engines.ode import ode_world
from exoskel.scene.soft_skin import soft_skin
from exoskel.view.camera import look_at
from exoskel.view.gl_renderer import GlRenderer, NoRendererError
from exoskel.view.player import Player
from exoskel.view.render import poses_to_draw
from exoskel.view.render_scene import RenderScene
from exoskel.view.software_renderer import SoftwareRenderer
from tests.view.browser import Browser

JELLY = SoftBody(
    total_mass=0.5,
    geometry=Box((0.3, 0.3, 0.3)),
    tessellation=Tessellation(fragments=(4, 4, 4)),
    vertex_stiffness=60.0,
    damping=1.0,
)


def swung(soft: SoftBody = JELLY) -> World:
    """A soft body that hangs from a hinge and swings."""
    world = World(gravity=(0.0, 0.0, -9.81), time_step=0.001)
    body = world.add_model("model").add_body(
        "body",
        positions=(1.0,),
        mass=0.5,
        moment=(0.01, 0.01, 0.01, 0, 0, 0),
        joint="revolute",
        axis=(0, 1, 0),
        joint_at=(0, 0, 0.5),
    )
    body.soft = soft
    return world


def test_a_surface_has_the_triangles_of_the_skin_with_sharp_edges() -> None:
    render_scene, skin = RenderScene(swung()), soft_skin(JELLY)
    (surface,) = render_scene.skins.surfaces
    points = surface.rows - 1  # the first row is that of the body
    assert np.array_equal(points[surface.triangles], skin.faces)
    assert np.bincount(points).tolist() == [
        1 + (np.isclose(np.abs(point), 0.15).sum() - 1) for point in skin.points
    ]  # a vertex for each side that a point belongs to
    normals = surface.normals(surface.vertices(render_scene.initial))
    assert np.allclose(np.linalg.norm(normals, axis=1), 1.0)
    assert len(np.unique(normals.round(6), axis=0)) == 6


def test_frames_of_a_motion_have_its_points() -> None:
    world = swung()
    motion = exoskel.run(world, 0.2, every=0.1, warn=False)
    render_scene = RenderScene(world)
    frames = poses_to_draw(render_scene, motion, is_moving=False, rate=30)
    assert [frame.shape for frame in frames] == [(57, 7)] * 3
    assert np.allclose([frame[1:, :3] for frame in frames], motion.soft_points["body"], atol=1e-6)
    between = poses_to_draw(render_scene, motion, is_moving=True, rate=20)
    halfway = 0.5 * (motion.soft_points["body"][0] + motion.soft_points["body"][1])
    assert np.allclose(between[1][1:, :3], halfway, atol=1e-6)


@pytest.mark.parametrize(
    "engine",
    [
        pytest.param("ode", marks=pytest.mark.skipif(not ode_world.available(), reason="panda3d is not installed")),
        pytest.param("dart", marks=pytest.mark.skipif(not dart_world.available(), reason="dartpy is not installed")),
    ],
)
def test_skins_follow_their_bodies_if_an_engine_reports_no_points(engine: str) -> None:
    world = swung()
    motion = exoskel.run(world, 0.1, every=0.1, engine=engine, warn=False)
    frame = poses_to_draw(RenderScene(world), motion, is_moving=False, rate=30)[-1]
    rotation = spatial.quaternion_matrix(motion.body_poses[-1, 0, 3:])
    assert np.allclose(frame[1:, :3], soft_skin(JELLY).points @ rotation.T + motion.body_poses[-1, 0, :3], atol=1e-6)


def test_a_player_shows_the_points_of_its_simulation() -> None:
    world = swung()
    player = Player(world)
    assert np.allclose(player.poses, RenderScene(world).initial)
    player.advance_to(0.15)
    with Simulation(world, warn=False) as simulation:
        simulation.step(150)
        assert np.allclose(player.poses[1:, :3], simulation.soft_points["body"], atol=1e-6)
    player.close()
    recorded = Player(world, recorded=exoskel.run(world, 0.15, every=0.05, warn=False))
    recorded.seek(0.15)
    assert np.allclose(recorded.poses, player.poses, atol=1e-6)


def test_a_motion_with_other_points_is_drawn_with_skins_at_rest() -> None:
    motion = exoskel.run(swung(), 0.1, every=0.1, warn=False)
    coarse = SoftBody(total_mass=0.5, geometry=Box((0.3, 0.3, 0.3)))
    frame = poses_to_draw(RenderScene(swung(coarse)), motion, is_moving=False, rate=30)[-1]
    assert frame.shape == (27, 7)


def stretched_images(renderer: type[SoftwareRenderer] | type[GlRenderer]) -> list[int]:
    """The number of pixels of the skin at rest, and with its upper side raised by its height."""
    world = World(gravity=(0.0, 0.0, -9.81))
    world.add_model("model").add_body("body", mass=0.5).soft = JELLY
    render_scene = RenderScene(world)
    corners = render_scene.corners() + np.array([[0.0, 0.0, 0.3]])
    camera = look_at(np.concatenate([render_scene.corners(), corners]), (0.0, 0.0, 1.0), preset="front")
    rest = render_scene.initial.astype(np.float32)
    raised = rest.copy()
    raised[1:, 2] += np.where(raised[1:, 2] > 0.14, 0.3, 0.0)
    drawing = renderer(render_scene, camera, 160, 120)
    try:
        images = [drawing.draw(frame).astype(int) for frame in (rest, raised)]
    finally:
        if isinstance(drawing, GlRenderer):
            drawing.close()
    return [int((image[..., 0] - image[..., 1] > 15).sum()) for image in images]


def test_the_software_renderer_draws_the_deformed_skin() -> None:
    before, after = stretched_images(SoftwareRenderer)
    assert after == pytest.approx(2 * before, rel=0.1)


def test_mujoco_draws_the_deformed_skin() -> None:
    try:
        before, after = stretched_images(GlRenderer)
    except NoRendererError as error:
        pytest.skip(f"MuJoCo cannot render here: {error}")
    assert after == pytest.approx(2 * before, rel=0.1)


# --- the page ------------------------------------------------------------------------------------------


def test_the_page_moves_colours_and_hides_skins() -> None:
    pytest.importorskip("viser", reason="viser is not installed")
    from exoskel.view.browser_scene import FRAMES, VISUAL, BrowserScene
    from exoskel.view.page import Page

    world = swung()
    page = Page(0)
    try:
        shown = BrowserScene(page.server, RenderScene(world))
        ((surface, handle),) = shown.skins
        player = Player(world)
        player.advance_to(0.1)
        shown.show(player.poses)
        on_page = shown.placement.on_page(player.poses[surface.rows, :3])
        assert np.allclose(handle.vertices, on_page, atol=1e-6)
        before = tuple(handle.color)
        shown.select(0)
        assert tuple(handle.color) != before
        shown.set_layer(FRAMES, True)  # axes are those of bodies
        shown.set_layer(VISUAL, False)
        assert not handle.visible
        shown.remove()
        player.close()
    finally:
        page.close()


def test_an_exported_page_deforms_the_skin(browser: Browser, tmp_path: Path) -> None:
    world, page = swung(), tmp_path / "scene.html"
    exoskel.export(Scene([world]), page, motion=exoskel.run(world, 0.5, every=1 / 30, warn=False))
    browser.driver.get(page.as_uri())
    browser.wait(browser.nodes, 120)
    node = next(name for name in browser.nodes() if name.endswith("/skin_0"))
    lengths: set[float] = set()

    def has_deformed() -> bool:
        found = browser.script(
            "const node = window.__viserSceneTree.getState()[arguments[0]];"
            "return node ? [...node.message.props.vertices] : null",
            node,
        )
        points = np.array(found).reshape(-1, 3)
        lengths.add(round(float(np.linalg.norm(points[0] - points[-1])), 4))
        return len(lengths) > 3

    browser.wait(has_deformed)
