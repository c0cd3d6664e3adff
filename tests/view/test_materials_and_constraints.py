"""Roughness and metalness of shapes, and equality constraints, in the viewer."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
import pytest

import exoskel
from exoskel import Material, Pose, Shape, Sphere, World
from exoskel.view.overlays import constraint_lines
from exoskel.view.render_scene import COLLISION, VISUAL, RenderScene
from exoskel.view.selection import ItemKind, ItemSelection, TreeItem
from exoskel.view.surfaces import glb_with_material
from tests.view.browser import Browser

METAL, SMOOTH = Material(roughness=0.3, metalness=1.0), Material(roughness=0.1)
ORANGE = (0.8, 0.5, 0.2, 1.0)


def balls(*materials: Material | None) -> World:
    world = World("balls")
    for number, material in enumerate(materials):
        body = world.add_model(f"ball{number}").add_body("ball", joint="free", pose=Pose((0.3 * number, 0.0, 0.5)))
        body.visuals.append(Shape(geometry=Sphere(0.1), color=ORANGE, material=material))
        body.collisions.append(Shape(geometry=Sphere(0.1), material=material))
    return world


def surface_of(glb: bytes) -> dict[str, Any]:
    length = struct.unpack("<I", glb[12:16])[0]
    found: dict[str, Any] = json.loads(glb[20 : 20 + length])["materials"][0]
    return found


def test_shapes_with_the_same_look_are_one_batch() -> None:
    shown = RenderScene(balls(None, METAL, SMOOTH, METAL, Material(), Material(1.0, 0.0)))
    batches = [(batch.material, batch.bodies.tolist()) for batch in shown.of_role(VISUAL)]
    assert batches == [(None, [0, 4, 5]), (METAL, [1, 3]), (Material(0.1, 0.0), [2])]
    assert [batch.material for batch in shown.of_role(COLLISION)] == [None]


def test_a_material_is_written_for_the_browser_in_linear_light() -> None:
    (batch,) = RenderScene(balls(METAL)).of_role(VISUAL)
    surface = surface_of(glb_with_material(batch.surface, (0.5, 1.0, 0.0, 0.5), None, batch.material))
    values = surface["pbrMetallicRoughness"]
    assert (values["metallicFactor"], values["roughnessFactor"]) == (1.0, 0.3)
    assert values["baseColorFactor"] == pytest.approx([0.214, 1.0, 0.0, 0.5], abs=0.003)
    assert surface["alphaMode"] == "BLEND"


def test_materials_are_shown_and_such_bodies_can_be_selected(browser: Browser) -> None:
    pytest.importorskip("viser", reason="viser is not installed")
    from exoskel.view.viewer import Viewer

    viewer = Viewer(lambda: exoskel.Scene([balls(None, METAL)]), port=0)
    viewer.start()
    try:
        browser.open(viewer.page.url)
        seen = browser.settle().astype(int)
        # Highlights and dark reflections: the metal is less even than the plain ball.
        orange = (seen[..., 0] - seen[..., 2] > 60).nonzero()
        middle = (orange[1].min() + orange[1].max()) // 2
        halves = (orange[1] < middle, orange[1] > middle)
        plain, metal = (seen[orange[0][half], orange[1][half]].sum(axis=1) for half in halves)
        assert metal.std() > 1.5 * plain.std()
        viewer.submit(lambda: viewer.select(1))
        chosen = browser.settle().astype(int)
        changed = np.abs(chosen - seen).max(axis=2) > 30
        assert changed[:, middle:].sum() > 1000 and changed[:, :middle].sum() < 50
    finally:
        viewer.close()


A, B, HALF = [0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [0.5, 0.0, 1.0]
MJCF = """<mujoco><worldbody>
  <body name="a" pos="0 0 1"><joint name="ja" axis="0 1 0"/><geom size=".1"/><site name="s" pos=".1 0 0"/></body>
  <body name="b" pos="1 0 1"><joint name="jb" axis="0 1 0"/><geom size=".1"/><site name="t" pos="-.1 0 0"/></body>
  </worldbody><equality>EQUALITIES</equality></mujoco>"""
LOOP = MJCF.replace("EQUALITIES", '<connect name="point" body1="a" body2="b" anchor=".5 0 0"/>')


def pendulums() -> World:
    """Two bodies at A and B with a hinge each."""
    return exoskel.load(MJCF.replace("EQUALITIES", "")).world


def line_ends(*equality: Any, **values: Any) -> Any:
    world = pendulums()
    world.add_equality("e", *equality, **values)
    return constraint_lines(world).world_points(RenderScene(world).initial).round(6).tolist()


def test_lines_lead_from_body_to_body_through_the_connected_points() -> None:
    a, b = (f"{model.name}/{body.name}" for model in pendulums().models for body in model.bodies)
    assert line_ends("connect", a, b, anchor=HALF) == [
        [A, [0.5, 0.0, 2.0]],
        [[0.5, 0.0, 2.0]] * 2,
        [[0.5, 0.0, 2.0], B],
    ]
    top = [1.0, 0.0, 1.2]
    assert line_ends("weld", a, b, anchor=(0.0, 0.0, 0.2)) == [[A, top], [top, top], [top, B]]
    assert line_ends("weld", b, anchor=top, pose=Pose((0.0, 0.0, 0.2))) == [[B, top], [top, top]]
    near, far = [0.1, 0.0, 1.0], [0.9, 0.0, 1.0]
    sites = line_ends("connect", f"{a}/s", f"{b}/t", target_kind="site")
    assert sites == [[A, near], [near, far], [far, B]]
    first, second = (f"{path.partition('/')[0]}/{name}" for path, name in ((a, "ja"), (b, "jb")))
    assert line_ends("joint", first, second) == [[A, B]]
    assert line_ends("joint", first) == []
    assert line_ends("connect", a, b, active=False) == []


def test_loops_have_lines_that_follow_their_bodies() -> None:
    world = exoskel.load(LOOP).world
    assert not world.equalities
    poses = RenderScene(world).initial.copy()
    poses[1, 2] += 0.5
    points = constraint_lines(world).world_points(poses)
    assert sorted(points[1].tolist()) == [pytest.approx([0.5, 0.0, 1.0]), pytest.approx([0.5, 0.0, 1.5])]


def test_the_tree_lists_tendons_and_constraints() -> None:
    world = pendulums()
    first, second = (f"{model.name}/{joint.name}" for model in world.models for joint in model.joints)
    world.add_equality("gear", "joint", first, second, polynomial=(0.0, 2.0, 0.0, 0.0, 0.0))
    world.add_equality("off", "joint", second, active=False)
    world.add_tendon("cable", joints={first: 1.0, second: -0.5})
    chosen = ItemSelection(exoskel.Scene([world]), world, RenderScene(world))
    assert "aria-selected='true'" not in chosen.tree.html()
    rows = {row.name: row.note for row in chosen.tree.rows}
    assert rows["gear"] == " <i>joint equality</i>" and rows["off"] == " <i>joint equality, inactive</i>"
    assert rows["cable"] == " <i>tendon</i>"
    poses = RenderScene(world).initial
    for name, text in (("gear", "0 2 0 0 0"), ("off", "constant"), ("cable", "-0.5 · ")):
        item = chosen.find(("tendon" if name == "cable" else "equality", name))
        chosen.select(item)
        assert chosen.item == item is not None and chosen.body == -1 and chosen.joint is None
        assert text in chosen.about(poses, np.zeros(2))
        assert chosen.tree.html().count("aria-selected='true'") == 1
    chosen.select(TreeItem(ItemKind.EQUALITY, 99))
    assert chosen.item is None


def test_the_page_shows_constraints_as_a_layer(browser: Browser, show: Any) -> None:
    sites = '<connect name="sites" site1="s" site2="t"/>'
    viewer, _ = show(MJCF.replace("EQUALITIES", sites), "scene.xml")
    browser.open(viewer.page.url)
    before = browser.settle().astype(int)
    viewer.submit(lambda: viewer.set_layer("constraints", True))
    browser.wait(lambda: "/exoskel/scene/constraints" in browser.nodes())
    seen = browser.settle().astype(int)
    changed = np.abs(seen - before).max(axis=2) > 30
    assert changed.sum() > 200
    viewer.submit(lambda: viewer.select_item(TreeItem(ItemKind.EQUALITY, 0)))
    browser.press("Scene")
    browser.wait(lambda: "equality constraint" in browser.text("exoskel-inspector"))
    viewer.submit(lambda: viewer.set_layer("constraints", False))
    assert np.abs(browser.settle().astype(int) - before).max() < 30
