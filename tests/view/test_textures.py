"""Images and colours of meshes and shapes in pictures, in the viewer and on exported pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import exoskel
from exoskel import World
from exoskel.scene.shape import (
    Box,
    Capsule,
    Cone,
    Cylinder,
    Geometry,
    Material,
    Pyramid,
    Sphere,
    Texture,
    TriMesh,
)
from exoskel.source.surface import Surface
from exoskel.view.camera import look_at
from exoskel.view.gl_renderer import GlRenderer, NoRendererError
from exoskel.view.html_text import problems
from exoskel.view.render_scene import RenderScene
from exoskel.view.software_renderer import SoftwareRenderer
from exoskel.view.surfaces import surface_parts
from tests.support.textured_meshes import BLUE, GREEN, KINDS, RED, YELLOW, write_square
from tests.view.browser import Browser, Pixels

WIDTH, HEIGHT = 320, 240
COLORS = {"red": RED, "green": GREEN, "blue": BLUE, "yellow": YELLOW}


def square_world(path: Path) -> World:
    """A square with an image, a metre above the ground."""
    made = World()
    body = made.add_model("sign").add_body("sign", joint="free", pose=exoskel.Pose((0.0, 0.0, 2.0)))
    body.visuals.append(exoskel.Shape(exoskel.Mesh(str(path))))
    return made


def picture(world: World, renderer: str) -> Pixels:
    render_scene = RenderScene(world)
    camera = look_at(render_scene.corners(), render_scene.up, preset="right", aspect=WIDTH / HEIGHT)
    if renderer == "software":
        return SoftwareRenderer(render_scene, camera, WIDTH, HEIGHT).draw(render_scene.initial)
    try:
        drawer = GlRenderer(render_scene, camera, WIDTH, HEIGHT)
    except NoRendererError as error:
        pytest.skip(f"MuJoCo cannot render here: {error}")
    try:
        return drawer.draw(render_scene.initial)
    finally:
        drawer.close()


def places(seen: Pixels) -> dict[str, tuple[float, float]]:
    """The middle of the pixels of each colour, as column and row; pixels with another hue and white belong to none."""
    pixels = seen.astype(float)
    strong = np.ptp(pixels, axis=2) > 70
    hues = np.stack([np.array(color, dtype=float) / max(color) for color in COLORS.values()])
    scaled = pixels / np.maximum(pixels.max(axis=2, keepdims=True), 1.0)
    nearest = np.linalg.norm(scaled[:, :, None] - hues, axis=3).argmin(axis=2)
    found = {}
    for number, name in enumerate(COLORS):
        rows, columns = np.nonzero(strong & (nearest == number))
        if len(rows) > 60:
            found[name] = (float(columns.mean()), float(rows.mean()))
    return found


def assert_upright(seen: Pixels) -> None:
    """Red and green above blue and yellow."""
    at = places(seen)
    assert set(at) == set(COLORS)
    assert at["red"][0] < at["green"][0] and at["blue"][0] < at["yellow"][0]
    assert at["red"][1] < at["blue"][1] and at["green"][1] < at["yellow"][1]


@pytest.mark.parametrize("kind", KINDS)
def test_the_software_renderer_draws_images(kind: str, tmp_path: Path) -> None:
    assert_upright(picture(square_world(write_square(tmp_path, kind)), "software"))


@pytest.mark.parametrize("kind", KINDS)
def test_mujoco_draws_images(kind: str, tmp_path: Path) -> None:
    assert_upright(picture(square_world(write_square(tmp_path, kind)), "mujoco"))


def test_a_colour_of_the_shape_replaces_the_image(tmp_path: Path) -> None:
    world = square_world(write_square(tmp_path, "obj"))
    world.models[0].bodies[0].visuals[0].color = (0.1, 0.1, 0.9, 1.0)
    assert set(places(picture(world, "software"))) == {"blue"}


def test_materials_without_an_image_have_their_colours(tmp_path: Path) -> None:
    path = write_square(tmp_path, "obj")
    (tmp_path / "square.mtl").write_text("newmtl picture\nKd 0.1 0.8 0.1\n")
    assert set(places(picture(square_world(path), "software"))) == {"green"}


def test_a_mesh_of_many_colours_keeps_them() -> None:
    count = 40
    vertices = np.array([[[i, 0, 0], [i + 1, 0, 0], [i, 0, 5]] for i in range(count)], dtype=float).reshape(-1, 3)
    triangles = np.arange(3 * count, dtype=np.int64).reshape(-1, 3)
    shares = np.linspace(0.0, 1.0, count)
    colors = np.repeat(np.stack([shares, 1 - shares, 0 * shares, 1 + 0 * shares], axis=1), 3, axis=0)
    (part,) = surface_parts(Surface(vertices, np.tile([0.0, -1.0, 0.0], (3 * count, 1)), triangles, colors))
    assert part.image is not None and part.surface.uv is not None
    height, width = part.image.shape[:2]
    columns = (part.surface.uv[:, 0] * width).astype(int)
    rows = ((1.0 - part.surface.uv[:, 1]) * height).astype(int)
    np.testing.assert_allclose(part.image[rows, columns] / 255.0, colors[:, :3], atol=0.003)


def test_flat_meshes_are_drawn_by_mujoco() -> None:
    rng = np.random.default_rng(1)
    flat = np.column_stack([rng.uniform(-1, 1, 30), np.zeros(30), rng.uniform(-1, 1, 30)])
    made = World()
    shape = exoskel.Shape(TriMesh(flat, np.arange(30, dtype=np.int64).reshape(-1, 3)), color=(0.9, 0.1, 0.1, 1.0))
    made.add_model("sheet").add_body("sheet", joint="free").visuals.append(shape)
    assert "red" in places(picture(made, "mujoco"))


def sign(path: Path, geometry: Geometry, **look: Any) -> World:
    """A shape with the image of the squares as its texture."""
    write_square(path, "obj")
    texture = Texture(str(path / "square.png"), repeat=look.pop("repeat", (1.0, 1.0)))
    made = World()
    body = made.add_model("sign").add_body("sign", joint="free", pose=exoskel.Pose((0.0, 0.0, 2.0)))
    body.visuals.append(exoskel.Shape(geometry, material=Material(texture=texture), **look))
    return made


@pytest.mark.parametrize("renderer", ["software", "mujoco"])
@pytest.mark.parametrize("geometry", [Box((1.0, 1.0, 1.0)), Pyramid(1.0, 1.0, 1.0)], ids=["box", "pyramid"])
def test_the_texture_of_a_shape_is_drawn(geometry: Geometry, renderer: str, tmp_path: Path) -> None:
    assert_upright(picture(sign(tmp_path, geometry), renderer))


@pytest.mark.parametrize("geometry", [Sphere(0.5), Cylinder(0.5, 1.0), Capsule(0.3, 0.5), Cone(0.5, 1.0)])
def test_the_texture_of_a_round_shape_surrounds_it(geometry: Geometry, tmp_path: Path) -> None:
    world = sign(tmp_path, geometry)
    shown = RenderScene(world)
    (batch,) = (one for one in shown.batches if one.role == "visual")
    assert batch.surface.uv is not None
    corners = batch.surface.uv[batch.surface.triangles]
    assert np.ptp(corners[:, :, 0], axis=1).max() < 0.51  # no triangle has the whole image: there is no seam
    assert np.ptp(batch.surface.uv, axis=0).min() > 0.95
    seen = places(picture(world, "software"))
    upper, lower = (seen[one][1] for one in (("red", "blue") if "red" in seen else ("green", "yellow")))
    assert upper < lower


def test_the_texture_of_a_shape_replaces_that_of_its_mesh(tmp_path: Path) -> None:
    path = write_square(tmp_path, "obj")
    green = tmp_path / "green.png"
    Image.new("RGB", (4, 4), GREEN).save(green)
    world = square_world(path)
    world.models[0].bodies[0].visuals[0].material = Material(texture=Texture(str(green)))
    assert set(places(picture(world, "software"))) == {"green"}
    (tmp_path / "square.mtl").unlink()  # the places on the image are in the mesh, whether it has an image or not
    world.models[0].bodies[0].visuals[0].material = Material(texture=Texture(str(tmp_path / "square.png")))
    assert_upright(picture(world, "software"))


def test_the_colour_of_a_shape_multiplies_its_texture(tmp_path: Path) -> None:
    world = sign(tmp_path, Box((1.0, 1.0, 1.0)), color=(1.0, 0.0, 0.0, 0.5))
    (batch,) = (one for one in RenderScene(world).batches if one.role == "visual")
    assert batch.image is not None and not batch.image[..., 1:].any() and batch.image[..., 0].any()
    assert batch.is_transparent


def test_a_texture_is_repeated(tmp_path: Path) -> None:
    (batch,) = (
        one
        for one in RenderScene(sign(tmp_path, Box((1.0, 1.0, 1.0)), repeat=(2.0, 3.0))).batches
        if one.role == "visual"
    )
    assert batch.surface.uv is not None and batch.surface.uv.max(axis=0).tolist() == [2.0, 3.0]


def test_a_missing_texture_is_reported_and_the_shape_is_drawn_without_it(tmp_path: Path) -> None:
    world = sign(tmp_path, Box((1.0, 1.0, 1.0)), color=(0.9, 0.1, 0.1, 1.0))
    (tmp_path / "square.png").write_bytes(b"no image")
    shown = RenderScene(world)
    assert [one.is_texture for one in shown.missing_meshes] == [True]
    assert "cannot be decoded" in problems([], shown.missing_meshes)
    assert set(places(picture(world, "software"))) == {"red"}


class TestInTheBrowser:
    """The viewer and an exported page, on a desktop and on a phone."""

    @pytest.mark.parametrize("window", [(1280, 800), (390, 844)], ids=["desktop", "phone"])
    def test_images_are_shown_and_textured_bodies_can_be_selected(
        self, browser: Browser, window: tuple[int, int], tmp_path: Path
    ) -> None:
        pytest.importorskip("viser", reason="viser is not installed")
        from exoskel.view.viewer import Viewer

        world = square_world(write_square(tmp_path, "glb"))
        page = tmp_path / "sign.html"
        exoskel.export(world, page)
        size = {"width": window[0], "height": window[1], "deviceScaleFactor": 1, "mobile": False}
        browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        viewer = Viewer(lambda: exoskel.Scene([world]), port=0)
        viewer.start()
        try:
            browser.open(page.as_uri())
            assert_upright(browser.settle())
            browser.open(viewer.page.url)
            plain = browser.settle()
            assert_upright(plain)
            column, row = (int(one) for one in places(plain)["green"])
            browser.click_canvas(column, row)
            browser.wait(lambda: viewer.selected == 0)
            chosen = browser.settle()
            assert np.abs(chosen[row, column].astype(int) - plain[row, column]).max() > 40
            viewer.submit(lambda: viewer.select(-1))
            browser.wait(lambda: viewer.selected == -1)
            assert np.abs(browser.settle().astype(int) - plain).max() < 30
        finally:
            browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
            viewer.close()
