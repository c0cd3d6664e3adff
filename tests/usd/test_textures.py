"""Textures of shapes in USD: written as `UsdUVTexture`, and read from files of other programs."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import exoskel
from exoskel import Box, Material, Mesh, Scene, Shape, Texture, TriMesh, World
from exoskel.scene.shape import Geometry
from exoskel.source.textures import read_image
from exoskel.source.usdz_archive import unpack
from tests.support.edits import edited
from tests.support.textured_meshes import png, quarters, write_square

pytest.importorskip("pxr")
OTHER = """#usda 1.0
(
    metersPerUnit = 1
)
def Mesh "sign" (
    prepend apiSchemas = ["MaterialBindingAPI"]
)
{
    int[] faceVertexCounts = [3]
    int[] faceVertexIndices = [0, 1, 2]
    point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]
    texCoord2f[] primvars:st = [(0, 0), (1, 0), (0, 1)] (interpolation = "vertex")
    rel material:binding = </Look>
}
def Material "Look"
{
    token outputs:surface.connect = </Look/Surface.outputs:surface>
    def Shader "Surface"
    {
        uniform token info:id = "UsdPreviewSurface"
        color3f inputs:diffuseColor.connect = </Look/Paint.outputs:rgb>
        float inputs:roughness = 0.5
        token outputs:surface
    }
    def Shader "Paint"
    {
        uniform token info:id = "UsdUVTexture"
        asset inputs:file = @./textures/wood.png@
        float2 inputs:st.connect = </Look/Repeat.outputs:result>
        float3 outputs:rgb
    }
    def Shader "Repeat"
    {
        uniform token info:id = "UsdTransform2d"
        float2 inputs:scale = (3, 2)
        float2 outputs:result
    }
}
"""


def world_with(image: Path | str, geometry: Geometry, **values: Any) -> World:
    world = World("w")
    color = values.pop("color", None)
    shape = Shape(geometry=geometry, color=color, material=Material(0.25, texture=Texture(str(image), **values)))
    world.add_model("m").add_body("b", mass=1.0).visuals.append(shape)
    return world


def shape_of(scene: Scene) -> Shape:
    (shape,) = (shape for body in scene.world.bodies() for shape in body.visuals)
    return shape


@pytest.mark.parametrize("color", [None, (0.5, 1.0, 0.5, 0.5)])
@pytest.mark.parametrize("repeat", [(1.0, 1.0), (4.0, 2.0)])
def test_a_texture_comes_back(color: Any, repeat: tuple[float, float], tmp_path: Path) -> None:
    square = write_square(tmp_path, "obj")
    world = world_with(tmp_path / "square.png", Mesh(str(square)), color=color, repeat=repeat)
    report = exoskel.convert(world, tmp_path / "out" / "a.usda", meshes="copy")
    assert report.certificate.passed
    assert not [one for one in report.losses if "texture" in one.why and "US" in one.why]
    shape = shape_of(exoskel.load(tmp_path / "out" / "a.usda"))
    assert shape.color == color and shape.material is not None and shape.material.roughness == 0.25
    texture = shape.material.texture
    assert texture is not None and texture.repeat == repeat and texture.path is not None
    assert Path(texture.path).read_bytes() == png() and Path(texture.path).is_relative_to(tmp_path / "out")


def test_usd_core_finds_the_image_and_its_places(tmp_path: Path) -> None:
    from pxr import Usd, UsdGeom, UsdShade

    square = write_square(tmp_path, "obj")
    exoskel.convert(world_with(tmp_path / "square.png", Mesh(str(square))), tmp_path / "a.usda", meshes="copy")
    stage = Usd.Stage.Open(str(tmp_path / "a.usda"))
    (mesh,) = (UsdGeom.Mesh(prim) for prim in stage.Traverse() if prim.IsA(UsdGeom.Mesh))
    st = np.array(UsdGeom.PrimvarsAPI(mesh).GetPrimvar("st").Get())
    assert st == pytest.approx((np.array(mesh.GetPointsAttr().Get())[:, [0, 2]] + 1.0) / 2.0)
    material, _ = UsdShade.MaterialBindingAPI(mesh.GetPrim()).ComputeBoundMaterial()
    surface = material.ComputeSurfaceSource()[0]
    image = surface.GetInput("diffuseColor").GetConnectedSource()[0].GetPrim()
    assert Path(UsdShade.Shader(image).GetInput("file").Get().resolvedPath).read_bytes() == png()


def test_primitives_are_told_to_lack_texture_coordinates(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png())
    report = exoskel.convert(world_with(tmp_path / "a.png", Box((1.0, 1.0, 1.0))), tmp_path / "a.usda")
    assert report.certificate.passed
    assert any("US215" in one.why and str(one.fate) == "approximated" for one in report.losses)
    shape = shape_of(exoskel.load(tmp_path / "a.usda"))
    assert isinstance(shape.geometry, Box) and shape.material is not None and shape.material.texture is not None


def test_other_kinds_of_images_are_written_as_png(tmp_path: Path) -> None:
    Image.fromarray(quarters()).save(tmp_path / "a.bmp")
    exoskel.convert(world_with(tmp_path / "a.bmp", Box((1.0, 1.0, 1.0))), tmp_path / "a.usda")
    shape = shape_of(exoskel.load(tmp_path / "a.usda"))
    assert shape.material is not None and shape.material.texture is not None
    path = shape.material.texture.path
    assert path is not None and path.endswith(".png")
    assert np.array_equal(np.asarray(Image.open(path).convert("RGB")), quarters())


def test_references_to_packages_of_robots_become_paths(tmp_path: Path) -> None:
    package = tmp_path / "robot"
    package.mkdir()
    (package / "package.xml").write_text("<package><name>robot</name></package>")
    Image.new("RGB", (4, 4), (200, 10, 10)).save(package / "a.png")
    (package / "robot.urdf").write_text(
        '<robot name="r"><link name="l"><visual><geometry><box size="1 1 1"/></geometry>'
        '<material name="m"><texture filename="package://robot/a.png"/></material></visual></link></robot>'
    )
    exoskel.convert(exoskel.load(package / "robot.urdf"), tmp_path / "out.usda")
    assert "@robot/a.png@" in (tmp_path / "out.usda").read_text()
    found = shape_of(exoskel.load(tmp_path / "out.usda")).material
    assert found is not None and found.texture is not None
    assert found.texture.path == str(package / "a.png")


@pytest.mark.parametrize("kind", ["png", "bmp"])
def test_a_package_contains_its_images(kind: str, tmp_path: Path) -> None:
    Image.fromarray(quarters()).save(tmp_path / f"a.{kind}")
    (tmp_path / "out").mkdir()
    square = write_square(tmp_path, "obj")
    report = exoskel.convert(world_with(tmp_path / f"a.{kind}", Mesh(str(square))), tmp_path / "out" / "a.usdz")
    assert report.certificate.passed and not [one for one in report.losses if "US" in one.why]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a.usdz"]
    assert sorted(unpack((tmp_path / "out" / "a.usdz").read_bytes())) == ["scene.usdc", "textures/a.png"]
    material = shape_of(exoskel.load(tmp_path / "out" / "a.usdz")).material
    assert material is not None and material.texture is not None
    assert material.texture.path == f"{tmp_path / 'out' / 'a.usdz'}[textures/a.png]"


def test_an_image_that_is_missing_is_not_in_the_package(tmp_path: Path) -> None:
    report = exoskel.convert(world_with(tmp_path / "a.png", Box((1.0, 1.0, 1.0))), tmp_path / "a.usdz")
    assert any("without its material" in one.why for one in report.losses)


@pytest.mark.parametrize("to", ["a.xml", "a.urdf", "a.sdf", "a.glb", "a.usda", "a.usdc", "again.usdz", "a.skel"])
def test_an_image_in_a_package_goes_to_other_formats(to: str, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png())
    for folder in ("package", "out"):
        (tmp_path / folder).mkdir()
    world = world_with(tmp_path / "a.png", Box((1.0, 1.0, 1.0)), color=(1.0, 1.0, 1.0, 1.0))
    exoskel.convert(world, tmp_path / "package" / "a.usdz")
    report = exoskel.convert(edited(tmp_path / "package" / "a.usdz"), tmp_path / "out" / to)
    assert report.certificate.passed
    if to == "a.glb":
        assert png() in (tmp_path / "out" / to).read_bytes()
        return
    material = shape_of(exoskel.load(tmp_path / "out" / to)).material
    assert material is not None and material.texture is not None and material.texture.path is not None
    assert np.array_equal(pixels(material.texture.path), quarters())


def pixels(path: str) -> np.ndarray:
    return np.asarray(Image.open(BytesIO(read_image(Path(path)))).convert("RGB"))


def test_pictures_show_an_image_in_a_package(tmp_path: Path) -> None:
    from exoskel.source.textures import same_image

    (tmp_path / "a.png").write_bytes(png())
    exoskel.convert(world_with(tmp_path / "a.png", Box((1.0, 1.0, 1.0))), tmp_path / "a.usdz")
    texture = exoskel.load(tmp_path / "a.usdz").world.models[0].bodies[0].visuals[0].material
    assert texture is not None and texture.texture is not None
    assert same_image(texture.texture, Texture("a.png", path=str(tmp_path / "a.png")))


def test_textures_of_other_programs_are_read(tmp_path: Path) -> None:
    (tmp_path / "textures").mkdir()
    (tmp_path / "textures" / "wood.png").write_bytes(png())
    (tmp_path / "other.usda").write_text(OTHER)
    material = shape_of(exoskel.load(tmp_path / "other.usda")).material
    assert material is not None and material.roughness == 0.5 and material.texture is not None
    assert (material.texture.uri, material.texture.repeat) == ("textures/wood.png", (3.0, 2.0))
    assert material.texture.path == str(tmp_path / "textures" / "wood.png")
    scene = exoskel.load(tmp_path / "other.usda")
    geometry = shape_of(scene).geometry
    assert isinstance(geometry, TriMesh) and np.array_equal(geometry.uvs, [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    report = exoskel.convert(scene, None, to="usd")
    fates = {one.path: str(one.fate) for one in report.items}
    assert report.certificate.passed
    assert fates["/Look/Paint/@inputs:file"] == fates["/Look/Repeat/@inputs:scale"] == "exact"
    assert fates["/sign/@primvars:st"] == "exact"


def test_the_scale_of_an_image_is_the_colour_of_the_shape(tmp_path: Path) -> None:
    scaled = OTHER.replace(
        "float3 outputs:rgb\n", "float4 inputs:scale = (0.5, 0.25, 1, 1)\n        float3 outputs:rgb\n"
    )
    (tmp_path / "other.usda").write_text(scaled)
    shape = shape_of(exoskel.load(tmp_path / "other.usda"))
    assert shape.color == (0.5, 0.25, 1.0, 1.0)
    assert shape.material is not None and shape.material.texture is not None and shape.material.texture.path is None
