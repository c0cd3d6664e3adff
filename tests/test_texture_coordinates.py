"""Texture coordinates of triangles: they survive all formats, and change nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import exoskel
from exoskel import Box, ExoskelError, Material, Mesh, Scene, Shape, Texture, TriMesh, World
from exoskel.scene.world import as_scene
from exoskel.source.mesh_textures import load_textured_triangles
from exoskel.spatial import Array
from exoskel.view.camera import Camera
from exoskel.view.render import RendererName
from tests.support.textured_meshes import BLUE, GREEN, RED, YELLOW, png

VERTICES = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
TRIANGLES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
SMOOTH = VERTICES[TRIANGLES.ravel()][:, :2]
"""One place for each vertex."""
SEAMS = np.random.default_rng(7).random((12, 2))
"""Another place for each corner."""
PLACES = {"smooth": SMOOTH, "seams": SEAMS, "zero": np.zeros((12, 2)), "tiled": 3.0 * SEAMS - 1.0}
EXACT, SINGLE = 0.0, 2e-7
FORMATS = {
    **dict.fromkeys(("skel", "xode", "xml", "sdf", "urdf"), EXACT),
    **dict.fromkeys(("usda", "usdc", "glb"), SINGLE),
}
"""The extensions of formats with texture coordinates, and the largest error of one."""
WITH_TRIANGLES = [extension for extension in FORMATS if extension not in ("sdf", "urdf")]
"""Formats in which triangles are not files."""


def tetrahedron(uvs: Any) -> TriMesh:
    return TriMesh(VERTICES, TRIANGLES, uvs=uvs)


def world_with(geometry: TriMesh, image: Path | None = None) -> World:
    world = World("w")
    body = world.add_model("m").add_body("b", mass=1.0)
    body.visuals.append(Shape(geometry=geometry))
    body.collisions.append(Shape(geometry=geometry))
    if image is not None:
        body.visuals[0].material = Material(texture=Texture(str(image)))
    return world


def shapes_of(scene: Scene) -> list[Shape]:
    return [shape for world in scene.worlds for body in world.bodies() for shape in body.shapes]


def corners(shape: Shape) -> tuple[Array, Array]:
    """The points and places of all corners of the triangles of a shape, also of one in a file."""
    geometry = shape.geometry
    if isinstance(geometry, Mesh):
        assert geometry.path is not None
        found, _ = load_textured_triangles(Path(geometry.path))
        return found.vertices[found.triangles].reshape(-1, 3), found.uv[found.triangles].reshape(-1, 2)
    assert isinstance(geometry, TriMesh) and geometry.uvs is not None
    return geometry.vertices[geometry.triangles].reshape(-1, 3), geometry.uvs


@pytest.mark.parametrize("has_image", [False, True], ids=["plain", "image"])
@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("extension", FORMATS)
def test_coordinates_survive_a_round_trip(extension: str, places: str, has_image: bool, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png())
    world = world_with(tetrahedron(PLACES[places]), tmp_path / "a.png" if has_image else None)
    path = tmp_path / f"a.{extension}"
    assert exoskel.convert(world, path).certificate.passed
    found = shapes_of(exoskel.load(path))
    assert found
    for shape in found:
        points, uvs = corners(shape)
        assert np.array_equal(points, VERTICES[TRIANGLES.ravel()])
        assert np.abs(uvs - PLACES[places]).max() <= FORMATS[extension] * 3.0


@pytest.mark.parametrize("second", WITH_TRIANGLES)
@pytest.mark.parametrize("first", WITH_TRIANGLES)
def test_coordinates_survive_two_conversions(first: str, second: str, tmp_path: Path) -> None:
    exoskel.convert(world_with(tetrahedron(SEAMS)), tmp_path / f"a.{first}")
    exoskel.convert(exoskel.load(tmp_path / f"a.{first}"), tmp_path / f"b.{second}")
    for shape in shapes_of(exoskel.load(tmp_path / f"b.{second}")):
        assert corners(shape)[1] == pytest.approx(SEAMS, abs=2.0 * max(FORMATS[first], FORMATS[second]))


def test_coordinates_do_not_change_physics() -> None:
    masses = []
    for uvs in (None, SEAMS):
        world = World("w")
        body = world.add_model("m").add_body("b", mass=2.0)
        body.collisions.append(Shape(geometry=tetrahedron(uvs)))
        body.inertia.moment = None
        masses.append(exoskel.scene.summary.moments([body]).tolist())
        assert body.collisions[0].geometry.bounds() == ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
    assert masses[0] == masses[1]


CUBE_OF_POLYGONS = """#usda 1.0
(
    defaultPrim = "cube"
    upAxis = "Z"
    metersPerUnit = 1
)
def Mesh "cube"
{
    int[] faceVertexCounts = [4, 3, 3]
    int[] faceVertexIndices = [0, 1, 2, 3, 0, 1, 4, 1, 2, 4]
    point3f[] points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1)]
    %s
}
"""
_CORNERS = [0, 1, 2, 0, 2, 3, 4, 5, 6, 7, 8, 9]
"""The corners of the polygons that the triangles have."""
_VERTICES = [0, 1, 2, 0, 2, 3, 0, 1, 4, 1, 2, 4]
_FACES = [0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2]


@pytest.mark.parametrize(
    ("interpolation", "count", "rows"),
    [
        ("constant", 1, [0] * 12),
        ("uniform", 3, _FACES),
        ("vertex", 5, _VERTICES),
        ("varying", 5, _VERTICES),
        ("faceVarying", 10, _CORNERS),
    ],
)
@pytest.mark.parametrize("has_indices", [False, True], ids=["plain", "indices"])
@pytest.mark.parametrize("name", ["st", "UVMap"])
def test_usd_states_coordinates_in_many_ways(
    interpolation: str, count: int, rows: list[int], has_indices: bool, name: str, tmp_path: Path
) -> None:
    values = [(number / 16, 1.0 - number / 16) for number in range(count)]
    listed = values[::-1] if has_indices else values
    text = f'texCoord2f[] primvars:{name} = {listed} (interpolation = "{interpolation}")'
    if has_indices:
        text += f"\n    int[] primvars:{name}:indices = {[*range(count)][::-1]}"
    (tmp_path / "a.usda").write_text(CUBE_OF_POLYGONS % text)
    scene = exoskel.load(tmp_path / "a.usda")
    (shape,) = shapes_of(scene)
    geometry = shape.geometry
    assert isinstance(geometry, TriMesh) and len(geometry.vertices) == 5
    assert np.array_equal(corners(shape)[1], [values[row] for row in rows])
    assert "US113.places" not in [one.key for one in scene.diagnostics]


@pytest.mark.parametrize(
    "wrong",
    [
        'texCoord2f[] primvars:st = [(0, 0)] (interpolation = "vertex")',
        'texCoord2f[] primvars:st = [(0, 0)] (interpolation = "vertex")\n    int[] primvars:st:indices = [0, 0]',
        'texCoord2f[] primvars:st = [(0, 0)] (interpolation = "faceVarying")\n'
        "    int[] primvars:st:indices = [0, 0, 0, 0, 0, 0, 0, 0, 0, 7]",
        'texCoord2f[] primvars:st = [(nan, 0)] (interpolation = "constant")',
    ],
)
def test_usd_coordinates_that_do_not_fit_are_reported(wrong: str, tmp_path: Path) -> None:
    (tmp_path / "a.usda").write_text(CUBE_OF_POLYGONS % wrong)
    scene = exoskel.load(tmp_path / "a.usda")
    (shape,) = shapes_of(scene)
    assert isinstance(shape.geometry, TriMesh) and shape.geometry.uvs is None
    assert "US113.places" in [one.key for one in scene.diagnostics]
    fates = {one.path: str(one.fate) for one in exoskel.convert(scene, None, to="gltf").items}
    assert fates["/cube/@primvars:st"] == "dropped"


def test_the_second_set_of_usd_is_a_loss(tmp_path: Path) -> None:
    sets = [f'texCoord2f[] primvars:{name} = [(0.5, 0.25)] (interpolation = "constant")' for name in ("st", "st1")]
    (tmp_path / "a.usda").write_text(CUBE_OF_POLYGONS % "\n    ".join(sets))
    report = exoskel.convert(exoskel.load(tmp_path / "a.usda"), None, to="gltf")
    fates = {one.path: str(one.fate) for one in report.items}
    assert (fates["/cube/@primvars:st"], fates["/cube/@primvars:st1"]) == ("exact", "dropped")


@pytest.mark.parametrize(
    "uvs", [SEAMS[:5], SEAMS[:, :1], np.full((12, 2), np.nan), np.zeros((12, 3))], ids=["few", "thin", "nan", "wide"]
)
def test_invalid_coordinates_are_reported(uvs: Array) -> None:
    problems = exoskel.check(as_scene(world_with(tetrahedron(uvs))))
    assert any("geometry.uvs" in one.message for one in problems)
    with pytest.raises(ExoskelError, match=r"geometry\.uvs"):
        exoskel.convert(world_with(tetrahedron(uvs)), None, to="skel")


def test_lists_are_converted_and_text_is_refused() -> None:
    assert tetrahedron(SEAMS.tolist()) == tetrahedron(SEAMS)
    assert tetrahedron(SEAMS) != tetrahedron(None) != tetrahedron(SMOOTH)
    assert hash(tetrahedron(SEAMS.tolist())) == hash(tetrahedron(SEAMS))
    with pytest.raises(ExoskelError, match="uvs of a trimesh are 'left', but must be rows of 2 numbers"):
        tetrahedron("left")


def test_coordinates_are_a_difference() -> None:
    found = exoskel.diff(world_with(tetrahedron(SEAMS)), world_with(tetrahedron(None)))
    assert {one.path.rpartition("/")[2] for one in found} == {"uvs"}


def gltf_with(places: list[list[float]], stated: dict[str, Any], folder: Path, attribute: str = "TEXCOORD_0") -> Path:
    """A text file with one triangle and its places, counted from the top."""
    data = VERTICES[:3].astype("<f4").tobytes() + np.array(places, "<f4").tobytes()
    (folder / "a.bin").write_bytes(data)
    (folder / "a.png").write_bytes(png())
    accessor = {"componentType": 5126, "count": 3}
    document = {
        "asset": {"version": "2.0"},
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0, attribute: 1}, "material": 0}]}],
        "materials": [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0, **stated}}}],
        "textures": [{"source": 0}],
        "images": [{"uri": "a.png"}],
        "accessors": [{**accessor, "bufferView": 0, "type": "VEC3"}, {**accessor, "bufferView": 1, "type": "VEC2"}],
        "bufferViews": [
            {"buffer": 0, "byteOffset": 0, "byteLength": 36},
            {"buffer": 0, "byteOffset": 36, "byteLength": 24},
        ],
        "buffers": [{"uri": "a.bin", "byteLength": len(data)}],
    }
    path = folder / "a.gltf"
    path.write_text(json.dumps(document))
    return path


_TRANSFORMS: dict[str, dict[str, Any]] = {
    "none": {},
    "scale": {"scale": [2.0, 3.0]},
    "offset": {"offset": [0.25, 0.5]},
    "all": {"scale": [2.0, 0.5], "offset": [0.25, 0.5], "rotation": 0.5},
    "mirrored": {"scale": [-1.0, 1.0]},
}


@pytest.mark.parametrize("transform", _TRANSFORMS)
def test_the_transform_of_a_gltf_texture_is_part_of_the_coordinates(transform: str, tmp_path: Path) -> None:
    stated = _TRANSFORMS[transform]
    places = [[0.0, 0.0], [1.0, 0.25], [0.5, 1.0]]
    path = gltf_with(places, {"extensions": {"KHR_texture_transform": stated}} if stated else {}, tmp_path)
    (shape,) = shapes_of(exoskel.load(path))
    assert shape.material is not None and shape.material.texture is not None
    (sx, sy), (ox, oy), angle = stated.get("scale", [1, 1]), stated.get("offset", [0, 0]), stated.get("rotation", 0.0)
    for (u, v), (across, up) in zip(places, corners(shape)[1] * shape.material.texture.repeat, strict=True):
        x = np.cos(angle) * sx * u + np.sin(angle) * sy * v + ox
        y = -np.sin(angle) * sx * u + np.cos(angle) * sy * v + oy
        assert (across, 1.0 - up) == pytest.approx((x, y), abs=1e-9)


@pytest.mark.parametrize("stated", [{"texCoord": 1}, {"extensions": {"KHR_texture_transform": {"texCoord": 1}}}])
def test_the_set_of_the_texture_is_read(stated: dict[str, Any], tmp_path: Path) -> None:
    path = gltf_with([[0.0, 0.0], [1.0, 0.25], [0.5, 1.0]], stated, tmp_path, "TEXCOORD_1")
    (shape,) = shapes_of(exoskel.load(path))
    assert np.array_equal(corners(shape)[1], [[0.0, 1.0], [1.0, 0.75], [0.5, 0.0]])


@pytest.mark.parametrize("renderer", ["software", "mujoco"])
@pytest.mark.parametrize("extension", ["skel", "xml", "usda", "sdf"])
def test_pictures_show_the_image_where_it_lies(extension: str, renderer: RendererName, tmp_path: Path) -> None:
    """A square seen from above, with the image upside down."""
    (tmp_path / "a.png").write_bytes(png())
    square = np.array([[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, -1.0]])
    faces = np.array([[0, 1, 2], [0, 2, 3], [0, 4, 1], [1, 4, 2], [2, 4, 3], [3, 4, 0]])
    places = 0.5 - 0.5 * square[faces.ravel()][:, :2]
    exoskel.convert(world_with(TriMesh(square, faces, uvs=places), tmp_path / "a.png"), tmp_path / f"a.{extension}")
    camera = Camera((0.0, 0.0, 5.0), (0.0, 0.0, 0.0), up=(0.0, 1.0, 0.0))
    try:
        exoskel.render(
            exoskel.load(tmp_path / f"a.{extension}"),
            tmp_path / "out.png",
            camera=camera,
            size=(200, 200),
            renderer=renderer,
        )
    except ExoskelError as error:
        pytest.skip(str(error))  # without EGL
    pixels = np.asarray(Image.open(tmp_path / "out.png").convert("RGB"), dtype=np.int64)
    seen = [pixels[y, x] for y in (85, 115) for x in (85, 115)]
    nearest = [
        min((RED, GREEN, BLUE, YELLOW), key=lambda one: abs(found / found.max() - np.array(one) / max(one)).sum())
        for found in seen
    ]
    assert nearest == [YELLOW, BLUE, GREEN, RED]


def test_other_shapes_have_none() -> None:
    assert not hasattr(Box((1.0, 1.0, 1.0)), "uvs")
