"""Textures of shapes: found like mesh files, copied with documents, read and written by the formats."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from zlib import crc32

import mujoco
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

import exoskel
from exoskel import Box, Material, Scene, Shape, Texture, World
from exoskel.formats.write import write
from exoskel.scene.shape import texture_of
from exoskel.scene.world import as_scene
from exoskel.source.textures import ImageError, image_kind, png_of, same_image


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    image = Image.new("RGB", (4, 2), (200, 100, 50))
    image.putpixel((0, 0), (10, 20, 30))
    image.save("wood.png")
    image.save("wood.jpg")
    (tmp_path / "out").mkdir()
    return tmp_path


def world_with(texture: Texture, color: tuple[float, float, float, float] | None = None) -> World:
    world = World("w")
    body = world.add_model("m").add_body("a", mass=1.0)
    shape = Shape(geometry=Box((1.0, 1.0, 1.0)), name="v", color=color, material=Material(texture=texture))
    body.visuals.append(shape)
    return world


def shape_of(scene: Scene) -> Shape:
    return next(shape for body in scene.world.bodies() for shape in (*body.visuals, *body.collisions))


def image_of(scene: Scene) -> Texture:
    found = texture_of(shape_of(scene))
    assert found is not None
    return found


# --- the field ------------------------------------------------------------------------------------------


def test_a_program_finds_the_file_from_the_working_folder(folder: Path) -> None:
    texture = Texture("wood.png", repeat=[2, 3])
    assert texture.path == str(folder / "wood.png") and texture.repeat == (2.0, 3.0)
    assert Texture("other.png").path is None


def test_values_are_checked(folder: Path) -> None:
    found = exoskel.check(world_with(Texture("other.png")))
    assert [(one.code, one.message) for one in found] == [("SC114", "texture 'other.png' of body 'a' was not found")]
    for number in ("nan", "inf"):
        with pytest.raises(exoskel.ExoskelError, match="repeat"):
            Texture("wood.png", repeat=[1, float(number)])
    for wrong in (Texture("wood.png", repeat=[0, 1]), Texture("")):
        assert any("material.texture" in str(one) for one in exoskel.check(world_with(wrong)))


def test_the_difference_is_in_the_file_and_not_in_how_it_is_named(folder: Path) -> None:
    (folder / "copy.png").write_bytes((folder / "wood.png").read_bytes())
    one, same, other = (world_with(Texture(name)) for name in ("wood.png", "copy.png", "wood.jpg"))
    assert not exoskel.diff(one, same)
    (found,) = exoskel.diff(one, other)
    assert found.path.endswith("material/texture/file")


@pytest.mark.parametrize("to", ["skel", "xode"])
def test_embedded_data_has_the_texture(folder: Path, to: str) -> None:
    report = exoskel.convert(world_with(Texture("wood.png", (2.0, 3.0))), f"out/w.{to}")
    assert report.certificate.passed and not report.losses
    found = image_of(exoskel.load(f"out/w.{to}"))
    assert (found.path, found.repeat) == (str(folder / "wood.png"), (2.0, 3.0))


@pytest.mark.parametrize("to", ["skel", "xode"])
def test_copies_of_images_with_one_name_are_kept_apart(folder: Path, to: str) -> None:
    (folder / "a b").mkdir()
    Image.new("RGB", (2, 2), (1, 2, 3)).save("a b/wood.png")
    world = world_with(Texture("wood.png"))
    next(iter(world.bodies())).visuals.append(
        Shape(geometry=Box((1.0, 1.0, 1.0)), material=Material(texture=Texture("a b/wood.png")))
    )
    report = exoskel.convert(world, f"out/w.{to}", meshes="copy")
    assert sorted(report.companions) == ["textures/wood.png", "textures/wood_2.png"]
    scene = exoskel.load(f"out/w.{to}")
    paths = [
        image.path for body in scene.world.bodies() for one in body.visuals if (image := texture_of(one)) is not None
    ]
    assert [Path(path or "").read_bytes() for path in paths] == [
        (folder / name).read_bytes() for name in ("wood.png", "a b/wood.png")
    ]
    assert {Path(path or "").parent for path in paths} == {folder / "out" / "textures"}


def test_a_missing_image_is_reported_and_still_referred_to(folder: Path) -> None:
    exoskel.convert(world_with(Texture("gone.png")), "w.skel")
    report = exoskel.convert("w.skel", "out/w.skel")
    assert [one.message for one in report.diagnostics if one.code == "FM301"] == [
        "texture 'gone.png' was not found; the output refers to it anyway"
    ]
    assert report.certificate.passed
    assert image_of(exoskel.load("out/w.skel")).uri == "../gone.png"
    copied = exoskel.convert("w.skel", "out/v.skel", meshes="copy")
    assert [one.message for one in copied.diagnostics if one.code == "FM301"] == [
        "texture 'gone.png' cannot be read and is not copied"
    ]


# --- image files ----------------------------------------------------------------------------------------


def test_images_are_known_by_their_first_bytes(folder: Path) -> None:
    assert (image_kind("wood.png"), image_kind("wood.jpg")) == ("PNG", "JPEG")
    Image.new("RGB", (2, 2)).save("a.tga")
    assert image_kind("a.tga") == "TGA"
    (folder / "text.png").write_text("no image")
    (folder / "empty.png").write_bytes(b"")
    for name in ("text.png", "empty.png", "gone.png", "."):
        with pytest.raises(ImageError):
            image_kind(name)


def test_images_outside_the_confinement_are_not_read(folder: Path) -> None:
    os.symlink(folder / "wood.png", folder / "out" / "link.png")
    with pytest.raises(ImageError):
        image_kind(folder / "out" / "link.png", folder / "out")


def test_conversion_to_png_keeps_pixels_and_refuses_large_images(folder: Path) -> None:
    Image.new("RGB", (3, 2), (1, 2, 3)).save("a.bmp")
    (folder / "b.png").write_bytes(png_of((folder / "a.bmp").read_bytes()))
    with Image.open("b.png") as image:
        assert image.format == "PNG" and image.getpixel((2, 1)) == (1, 2, 3)
    header = bytearray((folder / "a.bmp").read_bytes())
    header[18:26] = (10000).to_bytes(4, "little") * 2
    with pytest.raises(ImageError, match="10000 x 10000"):
        png_of(bytes(header))


# --- SDF ------------------------------------------------------------------------------------------------

SDF = """<sdf version="1.9"><world name="w"><model name="m"><link name="a"><inertial><mass>1</mass></inertial>
  <visual name="v"><geometry><box><size>1 1 1</size></box></geometry><material><diffuse>0.2 0.4 0.6 1</diffuse>
  <pbr><{flow}><albedo_map>{image}</albedo_map><normal_map>bumps.png</normal_map></{flow}></pbr></material>
  </visual></link></model></world></sdf>"""


def fates_of(report: exoskel.Report) -> dict[str, tuple[str, bool]]:
    return {one.path.rpartition("/")[2]: (str(one.fate), one.loss) for one in report.items}


@pytest.mark.parametrize("flow", ["metal", "specular"])
@pytest.mark.parametrize("meshes", ["reference", "copy"])
def test_sdf_is_read_and_written(folder: Path, flow: str, meshes: str) -> None:
    (folder / "a.sdf").write_text(SDF.format(flow=flow, image="wood.png"))
    assert image_of(exoskel.load("a.sdf")).path == str(folder / "wood.png")
    report = exoskel.convert("a.sdf", "out/a.sdf", meshes=meshes)
    assert report.certificate.passed and not report.losses
    assert any(check.name == "textures" for check in report.certificate.checks)
    text = report.data.decode()
    assert text.count("albedo_map>") == 2 and text.count("<pbr>") == 1 and text.count("../bumps.png") == 1
    path = Path(image_of(exoskel.load("out/a.sdf")).path or "")
    assert path == (folder / "wood.png" if meshes == "reference" else folder / "out" / "textures" / "wood.png")
    assert path.read_bytes() == (folder / "wood.png").read_bytes()


def test_an_edited_texture_of_sdf_is_written(folder: Path) -> None:
    (folder / "a.sdf").write_text(SDF.format(flow="metal", image="wood.png"))
    scene = exoskel.load("a.sdf")
    shape_of(scene).material = Material(texture=Texture("wood.jpg"))
    text = exoskel.convert(scene, "out/a.sdf").data.decode()
    assert text.count("albedo_map>") == 2 and "wood.jpg" in text and "bumps" not in text
    shape_of(scene).material = None
    assert "<pbr>" not in exoskel.convert(scene, "out/b.sdf").data.decode()


def test_images_that_sdf_cannot_use_are_reported_with_their_line(folder: Path) -> None:
    (folder / "text.png").write_text("no image")
    found = exoskel.load(SDF.format(flow="metal", image="gone.png")).diagnostics
    assert [(one.code, one.line) for one in found] == [("SD086", 3)]
    (folder / "a.sdf").write_text(SDF.format(flow="metal", image="text.png"))
    assert [one.message for one in exoskel.load("a.sdf").diagnostics] == [
        "texture 'text.png' cannot be used: it is not an image"
    ]


def test_sdf_does_not_repeat_textures_and_dart_has_none(folder: Path) -> None:
    exoskel.convert(world_with(Texture("wood.png", (2.0, 2.0))), "w.skel")
    report = exoskel.convert("w.skel", "out/a.sdf")
    assert report.certificate.passed and [one.why for one in report.losses if "SD215" in one.why]
    assert image_of(exoskel.load("out/a.sdf")).repeat == (1.0, 1.0)
    report = exoskel.convert("w.skel", "out/b.sdf", target="dart")
    assert report.certificate.passed and "pbr" not in report.data.decode()
    assert [str(one.fate) for one in report.losses if "SD215" in one.why]


# --- URDF -----------------------------------------------------------------------------------------------

URDF = """<robot name="r">
  <material name="oak"><color rgba="0.2 0.4 0.6 1"/><texture filename="{image}"/></material>
  <link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  <visual><geometry><box size="1 1 1"/></geometry><material name="oak"/></visual>
  <visual><geometry><sphere radius="1"/></geometry><material name="pine"><texture filename="wood.jpg"/></material></visual>
  <visual><geometry><sphere radius="2"/></geometry><material name="none"><texture filename=""/></material></visual>
  </link></robot>"""


@pytest.mark.parametrize("meshes", ["reference", "copy"])
def test_urdf_is_read_and_written(folder: Path, meshes: str) -> None:
    (folder / "a.urdf").write_text(URDF.format(image="wood.png"))
    scene = exoskel.load("a.urdf")
    shapes = [shape for body in scene.world.bodies() for shape in body.visuals]
    assert [image.uri if (image := texture_of(one)) else None for one in shapes] == ["wood.png", "wood.jpg", None]
    assert shapes[0].color == (0.2, 0.4, 0.6, 1.0) and shapes[1].color is None
    report = exoskel.convert("a.urdf", "out/a.urdf", meshes=meshes)
    assert report.certificate.passed and not report.losses
    found = [texture_of(shape) for body in exoskel.load("out/a.urdf").world.bodies() for shape in body.visuals]
    place = folder if meshes == "reference" else folder / "out" / "textures"
    assert [one and one.path for one in found] == [str(place / "wood.png"), str(place / "wood.jpg"), None]


def test_an_edited_texture_of_urdf_is_written(folder: Path) -> None:
    (folder / "a.urdf").write_text(URDF.format(image="wood.png"))
    scene = exoskel.load("a.urdf")
    shape_of(scene).material = Material(texture=Texture("wood.jpg", (2.0, 1.0)), roughness=0.5)
    report = exoskel.convert(scene, "out/a.urdf")
    assert report.certificate.passed and [one.why for one in report.losses if "UR605" in one.why]
    assert "wood.png" not in report.data.decode() and report.data.decode().count("wood.jpg") == 2


def test_textures_go_from_urdf_to_sdf_and_back(folder: Path) -> None:
    (folder / "sub dir" / "ünd").mkdir(parents=True)
    (folder / "wood.png").rename(folder / "sub dir" / "ünd" / "höl z.png")
    (folder / "a.urdf").write_text(URDF.format(image="sub dir/ünd/höl z.png"), encoding="utf-8")
    report = exoskel.convert("a.urdf", "out/a.sdf")
    assert report.certificate.passed and not [one for one in report.losses if "texture" in one.path]
    assert fates_of(report)["@filename"] == ("exact", False)
    report = exoskel.convert("out/a.sdf", "b.urdf")
    assert report.certificate.passed and "sub dir/ünd/höl z.png" in report.data.decode()
    assert image_of(exoskel.load("b.urdf")).path == str(folder / "sub dir" / "ünd" / "höl z.png")


# --- MJCF -----------------------------------------------------------------------------------------------

MJCF = """<mujoco><compiler texturedir="images"/><asset>
  <texture name="oak" type="2d" file="wood.png"/><texture name="tiles" type="2d" builtin="checker" width="8" height="8"/>
  <texture name="sky" type="skybox" file="wood.png"/>
  <material name="plank" texture="oak" texrepeat="2 3" roughness="0.25" shininess="0.1"/>
  <material name="layers"><layer role="rgb" texture="oak"/><layer role="normal" texture="tiles"/></material>
  <material name="floor" texture="tiles" texrepeat="5 5"/></asset>
  <worldbody><geom type="plane" size="1 1 1" material="floor"/>
  <body name="a"><freejoint/><geom name="box" type="box" size=".5 .5 .5" material="plank"/>
  <geom name="ball" type="sphere" size=".5" material="layers" contype="0" conaffinity="0"/></body></worldbody></mujoco>"""


@pytest.fixture
def mjcf(folder: Path) -> Path:
    (folder / "images").mkdir()
    Image.new("RGB", (4, 4), (200, 100, 50)).save("images/wood.png")
    (folder / "a.xml").write_text(MJCF)
    return folder


def compiled(path: str | Path) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_path(str(path))


def textures_of(scene: Scene) -> list[Texture | None]:
    shapes = [shape for body in scene.world.bodies() for shape in (*body.visuals, *body.collisions)]
    return [texture_of(shape) for shape in shapes]


def test_images_of_mjcf_are_read_and_patterns_are_not(mjcf: Path) -> None:
    scene = exoskel.load("a.xml")
    path = str(mjcf / "images" / "wood.png")
    box = Texture("images/wood.png", (2.0, 3.0), path)
    assert textures_of(scene) == [None, Texture("images/wood.png", path=path), box]
    found = shape_of(exoskel.load("a.xml", strict=True)).material
    assert found is None
    ignored = [one.message for one in scene.diagnostics if one.code == "MJ201"]
    assert len(ignored) == 3 and not any("oak" in one for one in ignored)


@pytest.mark.parametrize("meshes", ["reference", "copy", "absolute"])
def test_materials_of_mjcf_are_written_as_they_are(mjcf: Path, meshes: str) -> None:
    report = exoskel.convert("a.xml", "out/a.xml", meshes=meshes)
    assert report.certificate.passed and not [one for one in report.losses if "asset" in one.path]
    text = report.data.decode()
    assert text.count("<material ") == 3 and text.count("<texture ") == 3 and 'shininess="0.1"' in text
    assert compiled("out/a.xml").nmat == 3
    assert len(textures_of(exoskel.load("out/a.xml"))) == 3


def test_an_edited_material_of_mjcf_is_written(mjcf: Path) -> None:
    scene = exoskel.load("a.xml")
    box = next(
        shape
        for body in scene.world.bodies()
        for shape in body.shapes
        if shape.collidable and body.name == "a" and shape in body.collisions
    )
    box.material = Material(roughness=0.5, texture=Texture("wood.jpg"))
    report = exoskel.convert(scene, "out/a.xml")
    assert report.certificate.passed
    model = compiled("out/a.xml")
    material = model.geom_matid[model.geom("box").id]
    assert model.mat_roughness[material] == 0.5
    assert sorted(report.companions) == ["textures/wood.png"]
    again = next(
        s
        for body in exoskel.load("out/a.xml").world.bodies()
        for s in body.shapes
        if s in body.collisions and body.name == "a"
    )
    assert again.material is not None and again.material.texture is not None
    assert again.material.texture.path == str(mjcf / "out" / "textures" / "wood.png")
    box.material = None
    model = (exoskel.convert(scene, "out/b.xml"), compiled("out/b.xml"))[1]
    assert model.geom_matid[model.geom("box").id] == -1


def test_our_own_mjcf_is_converted_again_with_its_materials(folder: Path) -> None:
    exoskel.convert(world_with(Texture("wood.png", (2.0, 3.0))), "a.xml")
    report = exoskel.convert("a.xml", "out/a.xml")
    assert report.certificate.passed and not report.losses
    assert image_of(exoskel.load("out/a.xml")) == Texture("../wood.png", (2.0, 3.0), str(folder / "wood.png"))
    assert compiled("out/a.xml").mat_texrepeat[0].tolist() == [2.0, 3.0]


def test_textures_go_from_mjcf_to_sdf_and_back(mjcf: Path) -> None:
    report = exoskel.convert("a.xml", "out/a.sdf")
    assert report.certificate.passed
    fates = {one.path.removeprefix("/mujoco/asset[1]/"): (str(one.fate), one.loss) for one in report.items}
    assert fates["texture[@name='oak']/@file"][0] == "approximated"  # one of its uses is repeated
    assert fates["material[@name='floor']/@texture"] == ("dropped", False)
    assert fates["texture[@name='sky']/@file"] == ("dropped", False)
    report = exoskel.convert("out/a.sdf", "b.xml")
    assert report.certificate.passed
    assert {one.path for one in textures_of(exoskel.load("b.xml")) if one} == {str(mjcf / "images" / "wood.png")}
    assert compiled("b.xml").ntex >= 1


@pytest.mark.parametrize("name", ["wood.jpg", "tall.png", "a.bmp", "named.jpg"])
def test_mujoco_reads_every_image(folder: Path, name: str) -> None:
    Image.new("RGB", (2, 8), (1, 2, 3)).save("tall.png")
    Image.new("RGB", (4, 4), (1, 2, 3)).save("a.bmp")
    (folder / "named.jpg").write_bytes((folder / "wood.png").read_bytes())  # MuJoCo goes by the extension
    for number, geometry in enumerate((Box((1.0, 1.0, 1.0)), exoskel.Plane((0.0, 0.0, 1.0)), exoskel.Sphere(1.0))):
        world = World("w")
        static = world.add_model("m", static=True)
        static.add_body("a").visuals.append(Shape(geometry=geometry, material=Material(texture=Texture(name))))
        report = exoskel.convert(world, f"out/{number}.xml")
        assert report.certificate.passed and not [one for one in report.losses if "carry" in one.path]
        assert compiled(f"out/{number}.xml").ntex == 2  # and the sky


@pytest.mark.parametrize("level", [0, 9])
def test_images_in_other_files_stay_the_same_in_mjcf(folder: Path, level: int) -> None:
    """Images of other programs are compressed in other ways than ours."""
    Image.new("RGB", (4, 2), (200, 100, 50)).save("wood.png", compress_level=level)
    (folder / "named.jpg").write_bytes((folder / "wood.png").read_bytes())
    exoskel.convert(world_with(Texture("wood.png")), "a.glb")
    for source in ("a.glb", world_with(Texture("named.jpg"))):
        report = exoskel.convert(source, "out/a.xml")
        assert report.certificate.passed
    report = exoskel.convert("a.glb", "out/a.xml")
    assert (folder / "wood.png").read_bytes() in report.companions.values()


def test_what_mujoco_cannot_read_is_a_loss(folder: Path) -> None:
    whole = (folder / "wood.png").read_bytes()
    (folder / "short.png").write_bytes(whole[:-20])
    (folder / "text.png").write_text("no image")
    large = bytearray(whole)
    large[16:24] = (60000).to_bytes(4, "big") * 2
    large[29:33] = crc32(large[12:29]).to_bytes(4, "big")
    (folder / "large.png").write_bytes(large)
    for number, name in enumerate(("short.png", "text.png", "large.png", "gone.png")):
        report = exoskel.convert(world_with(Texture(name)), f"out/{number}.xml")
        assert report.certificate.passed and [one for one in report.losses if "MJ609" in one.why], name
        assert compiled(f"out/{number}.xml").nmat == 0
    written = write(as_scene(world_with(Texture("wood.png"))), "mjcf")  # without a folder
    assert [one.code for one in written.output.losses] == ["MJ609"]


def test_missing_images_of_mjcf_are_reported_with_their_line(mjcf: Path) -> None:
    (mjcf / "images" / "wood.png").unlink()
    found = [one for one in exoskel.load("a.xml").diagnostics if one.code == "MJ105"]
    assert [(one.line, one.message) for one in found] == [(2, "cannot use the texture 'wood.png': file not found")]
    report = exoskel.convert("a.xml", "out/a.xml")
    assert report.certificate.passed and compiled("out/a.xml").mat_roughness.max() == 0.25
    assert [one for one in report.losses if "MJ609" in one.why]


@pytest.mark.parametrize("name", ["a.xml", "a.sdf", "a.urdf", "a.skel", "a.xode"])
def test_an_edited_texture_is_saved(folder: Path, name: str) -> None:
    exoskel.convert(world_with(Texture("wood.png")), name)
    scene = exoskel.load(name)
    shape_of(scene).material = Material(texture=Texture("wood.jpg"))
    exoskel.save(scene)
    found = image_of(exoskel.load(name))
    assert found.path == str(folder / ("textures/wood.png" if name == "a.xml" else "wood.jpg"))
    assert same_image(found, Texture("wood.jpg"))


_IMAGES = st.sampled_from(["wood.png", "wood.jpg", "ä b/wood.png", "gone.png", "text.png", "link.png"])
_REPEATS = st.sampled_from([(1.0, 1.0), (2.0, 0.25), (1.0 / 3.0, 7.0)])
_TEXTURED = st.tuples(_IMAGES, _REPEATS, st.sampled_from([None, 0.5]), st.sampled_from([None, (0.2, 0.4, 0.6, 1.0)]))


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(shapes=st.lists(_TEXTURED, min_size=1, max_size=4), meshes=st.sampled_from(["reference", "copy", "absolute"]))
@pytest.mark.parametrize("to", ["skel", "xode", "sdf", "urdf", "xml"])
def test_textures_of_any_shapes_come_back_or_are_lost(
    folder: Path, to: str, shapes: list[tuple[Any, ...]], meshes: Any
) -> None:
    (folder / "ä b").mkdir(exist_ok=True)
    Image.new("RGB", (4, 4), (1, 2, 3)).save("ä b/wood.png")
    (folder / "text.png").write_text("no image")
    if not (folder / "link.png").exists():
        os.symlink("ä b/wood.png", "link.png")
    world = World("w")
    body = world.add_model("m").add_body("a", mass=1.0)
    for name, repeat, roughness, color in shapes:
        material = Material(roughness, texture=Texture(name, repeat))
        body.visuals.append(Shape(geometry=Box((1.0, 1.0, 1.0)), color=color, material=material))
    report = exoskel.convert(world, f"out/w.{to}", meshes=meshes, overwrite=True)
    assert report.certificate.passed
    lost = 0
    for mine, theirs in zip(body.visuals, next(iter(exoskel.load(f"out/w.{to}").world.bodies())).visuals, strict=True):
        one, other = texture_of(mine), texture_of(theirs)
        assert one is not None and theirs.color == mine.color
        is_same = other is not None and (same_image(one, other) if one.path else other.path is None)
        lost += not is_same or other is None or other.repeat != pytest.approx(one.repeat)
    if to in ("skel", "xode"):
        assert not lost
    assert bool(lost) <= bool([one for one in report.losses if "carry" in one.path])
    if to == "xml":
        compiled("out/w.xml")


@pytest.mark.parametrize("to", ["sdf", "urdf", "skel"])
def test_files_that_are_no_images_are_not_copied(folder: Path, to: str) -> None:
    (folder / "secret").write_text("no image")
    report = exoskel.convert(world_with(Texture("secret")), f"out/w.{to}", meshes="copy")
    assert not report.companions
    (found,) = [one.message for one in report.diagnostics if one.code == "FM301"]
    assert found.startswith("texture 'file://") and found.endswith(" cannot be read and is not copied")
