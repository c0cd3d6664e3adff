"""Measuring, contact forces to scale, joint axes to scale, and the last version: without a browser."""

from __future__ import annotations

import numpy as np
import pytest

import exoskel
from exoskel import World
from exoskel.engines.interface import Contact
from exoskel.scene.body import Marker
from exoskel.scene.tendon import TendonPoint
from exoskel.view.overlays import ForceScale, force_text, joint_axes, tendon_lines
from exoskel.view.player import Player
from exoskel.view.render_scene import RenderScene


def boxes() -> World:
    """A box of 0.2 m on the ground, and one of 2 m above it, both free."""
    made = World(gravity=(0.0, 0.0, -9.81))
    made.add_model("floor", static=True).add_body("floor", shapes=[exoskel.Plane((0.0, 0.0, 1.0))])
    for name, size, height in (("small", 0.2, 0.1), ("large", 2.0, 3.0)):
        pose = exoskel.Pose((0.0, 0.0, height))
        made.add_model(name).add_body(name, joint="free", pose=pose, mass=2.0, shapes=[exoskel.Box((size,) * 3)])
    return made


def contact(force: float) -> Contact:
    return Contact(("a", "b"), np.zeros(3), np.array([0.0, 0.0, 1.0]), 0.0, np.array([0.0, 0.0, force]))


def test_arrows_of_forces_keep_their_scale() -> None:
    scale = ForceScale(0.5)
    strong, weak = scale.arrows([contact(14.0)]), scale.arrows([contact(7.0)])
    assert scale.force == 20.0
    assert strong[0, 1, 2] == pytest.approx(0.35) and weak[0, 1, 2] == pytest.approx(0.175)
    assert scale.legend == "1 contact, strongest force 7 N; an arrow of 0.5 m is 20 N"
    assert scale.arrows([]).shape == (0, 2, 3) and scale.legend.startswith("0 contacts, strongest force 0 N")
    assert scale.arrows([contact(0.0)])[0, 1, 2] == pytest.approx(0.5 / 3), "normals, if there are no forces"
    assert scale.arrows([contact(np.inf)])[0, 1, 2] == pytest.approx(0.5 / 3)


def test_forces_have_units() -> None:
    assert [force_text(one) for one in (0.1234, 19.62, 999.4, 9999.0)] == ["0.123 N", "19.6 N", "999 N", "10 kN"]


def test_joint_axes_fit_their_bodies() -> None:
    made = World()
    model = made.add_model("arm")
    upper = model.add_body("upper", joint="revolute", axis=(0, 1, 0), shapes=[exoskel.Box((0.1, 0.1, 1.0))])
    model.add_body("finger", parent=upper, joint="revolute", axis=(0, 1, 0), shapes=[exoskel.Box((0.1, 0.1, 0.2))])
    sizes = RenderScene(made).body_sizes()
    arrows = joint_axes(made, sizes)
    lengths = np.linalg.norm(arrows.heads - arrows.tails, axis=1)
    np.testing.assert_allclose(lengths, [np.sqrt(1.02), np.sqrt(0.06)])


def test_a_ray_meets_the_nearest_shape_or_the_ground() -> None:
    viser = pytest.importorskip("viser", reason="viser is not installed")
    assert viser
    from exoskel.view.scene_tools import cast_ray

    render_scene = RenderScene(boxes())
    down = np.array([0.0, 0.0, -1.0])
    hit = cast_ray(render_scene, render_scene.initial, np.array([0.05, 0.0, 10.0]), down)
    assert hit is not None and hit.body == 2 and hit.point == pytest.approx([0.05, 0.0, 4.0])
    below = cast_ray(render_scene, render_scene.initial, np.array([0.05, 0.0, 1.0]), down)
    assert below is not None and below.body == 1 and below.point == pytest.approx([0.05, 0.0, 0.2])
    ground = cast_ray(render_scene, render_scene.initial, np.array([5.0, 0.0, 1.0]), down)
    assert ground is not None and ground.body == -1 and ground.point == pytest.approx([5.0, 0.0, 0.0])
    assert cast_ray(render_scene, render_scene.initial, np.array([5.0, 0.0, 1.0]), -down) is None


def test_the_player_counts_contacts_and_knows_the_force_of_a_pull() -> None:
    player = Player(boxes())
    try:
        assert player.contact_count(1) is None and player.pull_force() is None
        player.advance_to(0.1)
        assert player.contact_count(1) == 4.0 and player.contact_count(2) == 0.0
        player.play()
        player.pull(2, np.zeros(3), np.array([0.0, 0.0, 4.0]))
        player.tick(0.05)
        found = player.pull_force()
        assert found is not None and found[0] > 1.0 and not found[1]
        player.release()
        assert player.pull_force() is None
    finally:
        player.close()


def test_tendons_are_lines_between_their_sites() -> None:
    made = boxes()
    for name in ("small", "large"):
        made.model(name).bodies[0].markers.append(Marker("m", (0.0, 0.1, 0.0)))
    paths = [f"{name}/{name}/m" for name in ("small", "large")]
    pulley = TendonPoint(divisor=2.0)
    made.add_tendon("rope", path=[*paths, pulley, *paths[::-1]])
    lines = tendon_lines(made)
    poses = RenderScene(made).initial
    assert lines.bodies.tolist() == [[1, 2], [2, 1]]
    assert lines.world_points(poses)[0] == pytest.approx(np.array([[0.0, 0.1, 0.1], [0.0, 0.1, 3.0]]))
    assert tendon_lines(boxes()).bodies.shape == (0, 2)


def test_the_page_moves_and_hides_tendons() -> None:
    pytest.importorskip("viser", reason="viser is not installed")
    from exoskel.view.browser_scene import VISUAL, BrowserScene
    from exoskel.view.page import Page

    made = boxes()
    for name in ("small", "large"):
        made.model(name).bodies[0].markers.append(Marker("m"))
    made.add_tendon("rope", path=["small/small/m", "large/large/m"])
    page = Page(0)
    try:
        shown = BrowserScene(page.server, RenderScene(made))
        handle = shown._handles["tendons"]
        poses = shown.poses.copy()
        poses[2, 0] += 1.0
        shown.show(poses)
        assert np.allclose(handle.points[0, 1], shown.placement.on_page(poses[2, :3]), atol=1e-6)
        shown.set_layer(VISUAL, False)
        assert not handle.visible
        shown.remove()
    finally:
        page.close()
