"""Images and materials of mesh files."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from exoskel.scene.shape import Mesh
from exoskel.source import mesh_textures, meshes
from exoskel.source.mesh_textures import decode_image, load_textured_triangles
from exoskel.source.surface import Surfaces
from tests.support.textured_meshes import KINDS, png, quarters, write_square


@pytest.mark.parametrize("kind", KINDS)
def test_images_lie_where_the_file_states(kind: str, tmp_path: Path) -> None:
    found, images = load_textured_triangles(write_square(tmp_path, kind))
    (image,) = images
    assert np.array_equal(image, quarters())
    assert found.images.tolist() == [0, 0]
    at = {tuple(point): place for point, place in zip(found.vertices.tolist(), found.uv.tolist(), strict=True)}
    assert at == {(-1, 0, -1): [0, 0], (1, 0, -1): [1, 0], (1, 0, 1): [1, 1], (-1, 0, 1): [0, 1]}
    assert found.colors is None or np.allclose(found.colors, 1.0)


@pytest.mark.parametrize("kind", KINDS)
def test_complex_files_are_read_in_a_child_process(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_square(tmp_path, kind)
    here, pictures = load_textured_triangles(path)
    monkeypatch.setattr(mesh_textures, "check_expansion", lambda data, kind: False)
    there, others = load_textured_triangles(path)
    assert np.array_equal(here.uv, there.uv) and np.array_equal(here.vertices, there.vertices)
    assert np.array_equal(here.images, there.images) and np.array_equal(pictures[0], others[0])


def test_materials_have_colours_and_opacity(tmp_path: Path) -> None:
    path = write_square(tmp_path, "obj")
    (tmp_path / "square.mtl").write_text("newmtl picture\nKd 1 0.5 0\nd 0.4\n")
    found, images = load_textured_triangles(path)
    assert not images and found.colors is not None
    np.testing.assert_allclose(found.colors[0], [1.0, 0.5, 0.0, 0.4], atol=0.003)
    assert meshes.load_colored_triangles(path)[2] is None, "files that are written do not change"


@pytest.mark.parametrize(
    "name", ["missing.png", "../../secret.png", "/etc/hostname", "https://example.org/a.png", "bad.png"]
)
def test_triangles_without_a_readable_image_have_their_colour(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "robot" / "meshes"
    folder.mkdir(parents=True)
    path = write_square(folder, "obj")
    (tmp_path / "secret.png").write_bytes(png())
    (folder / "bad.png").write_bytes(png()[:60])
    (folder / "square.mtl").write_text(f"newmtl picture\nKd 0 1 0\nmap_Kd {name}\n")
    found, images = load_textured_triangles(path)
    assert not images and found.images.tolist() == [-1, -1]
    assert found.colors is not None and found.colors[0].tolist() == [0.0, 1.0, 0.0, 1.0]


def test_images_may_be_in_a_folder_for_textures_beside_the_meshes(tmp_path: Path) -> None:
    folder = tmp_path / "robot" / "meshes"
    folder.mkdir(parents=True)
    path = write_square(folder, "obj")
    (tmp_path / "robot" / "materials" / "textures").mkdir(parents=True)
    (folder / "square.png").rename(tmp_path / "robot" / "materials" / "textures" / "square.png")
    (folder / "square.mtl").write_text("newmtl picture\nmap_Kd ..\\materials\\textures\\square.png\n")
    assert len(load_textured_triangles(path)[1]) == 1


def test_a_link_to_an_image_elsewhere_is_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "meshes"
    folder.mkdir()
    path = write_square(folder, "obj")
    (folder / "square.png").rename(tmp_path / "square.png")
    (folder / "square.png").symlink_to(tmp_path / "square.png")
    assert not load_textured_triangles(path)[1]


def test_an_image_of_too_many_pixels_is_not_decoded() -> None:
    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    header = struct.pack(">IIBBBBB", 30_000, 30_000, 8, 2, 0, 0, 0)
    bomb = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(10_000_000)))
    assert decode_image(bomb) is None


def test_a_surface_without_the_files_of_pictures_has_no_images(tmp_path: Path) -> None:
    surface = Surfaces().of(Mesh("square.obj", path=str(write_square(tmp_path, "obj"))))
    assert surface is not None and not surface.images and surface.uv is None
