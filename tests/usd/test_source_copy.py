"""A document of USD that was not edited is converted to USD as it is, whatever the form and the folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import exoskel
from exoskel.conversion.report import Report
from exoskel.fates import Fate
from exoskel.source.usdz_archive import unpack
from tests.support.edits import edited
from tests.support.textured_meshes import png

pytest.importorskip("pxr")
ROBOT = """#usda 1.0
( # a robot
    customLayerData = { string note = "kept"; asset source = @./textures/wood.png@ }
    defaultPrim = "World"
    metersPerUnit = 1
    startTimeCode = 0
    subLayers = [@./parts/lights.usda@]
    upAxis = "Z"
)
def Xform "World"
{
    def PhysicsScene "Physics" (prepend apiSchemas = ["PhysxSceneAPI"])
    {
        vector3f physics:gravityDirection = (0, 0, -1)
        float physics:gravityMagnitude = 9.81
        bool physxScene:enableGPUDynamics = 1
        uint physxScene:gpuMaxRigidContactCount = 524288
    }
    def Xform "base" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysxRigidBodyAPI", "IsaacLinkAPI"])
    {
        float physics:mass = 2
        float physxRigidBody:angularDamping = 0.05
        double3 xformOp:translate = (0, 0, 1)
        double3 xformOp:translate.timeSamples = { 0: (0, 0, 1), 10: (0, 0, 2) }
        uniform token[] xformOpOrder = ["xformOp:translate"]
        def Cube "shape" (prepend apiSchemas = ["PhysicsCollisionAPI", "PhysxCollisionAPI", "MaterialBindingAPI"])
        {
            double size = 0.2
            float physxCollision:contactOffset = 0.02
            rel material:binding = </World/Look>
        }
        def Xform "tool" (variants = { string kind = "gripper" }; prepend variantSets = "kind")
        {
            variantSet "kind" = {
                "gripper" {
                    def Sphere "tip" (references = @parts/tip.usda@</tip>) { }
                }
                "none" {
                    custom asset other = @./textures/wood.png@
                }
            }
        }
        def IsaacImuSensor "imu" {
            bool enabled = 1
        }
    }
    def Material "Look"
    {
        token outputs:surface.connect = </World/Look/Surface.outputs:surface>
        token outputs:mdl:surface.connect = </World/Look/Mdl.outputs:out>
        def Shader "Surface"
        {
            uniform token info:id = "UsdPreviewSurface"
            color3f inputs:diffuseColor.connect = </World/Look/Paint.outputs:rgb>
            token outputs:surface
        }
        def Shader "Paint"
        {
            uniform token info:id = "UsdUVTexture"
            asset inputs:file = @./textures/wood.png@
            float3 outputs:rgb
        }
        def Shader "Mdl"
        {
            uniform token info:implementationSource = "sourceAsset"
            uniform asset info:mdl:sourceAsset = @OmniPBR.mdl@
            token outputs:out
        }
    }
}
"""
LIGHTS = """#usda 1.0
(metersPerUnit = 1
upAxis = "Z")
def DomeLight "Sky"
{
    asset inputs:texture:file = @../textures/sky.hdr@
}
"""
TIP = """#usda 1.0
def Sphere "tip" (prepend apiSchemas = ["PhysicsCollisionAPI", "MaterialBindingAPI"])
{
    double radius = 0.05
    rel material:binding = </tip/Look>
    def Material "Look"
    {
        token outputs:surface.connect = </tip/Look/Surface.outputs:surface>
        def Shader "Surface"
        {
            uniform token info:id = "UsdPreviewSurface"
            color3f inputs:diffuseColor.connect = </tip/Look/Paint.outputs:rgb>
            token outputs:surface
        }
        def Shader "Paint"
        {
            uniform token info:id = "UsdUVTexture"
            asset inputs:file = @../textures/wood.png@
            float3 outputs:rgb
        }
    }
}
"""
FORMS = ["usda", "usdc", "usdz", "usd"]


@pytest.fixture
def robot(tmp_path: Path) -> Path:
    """A document with a sublayer, a referenced layer and images in folders of their own."""
    folder = tmp_path / "robot"
    for name in ("parts", "textures"):
        (folder / name).mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (folder / "robot.usda").write_text(ROBOT)
    (folder / "parts" / "lights.usda").write_text(LIGHTS)
    (folder / "parts" / "tip.usda").write_text(TIP)
    (folder / "textures" / "wood.png").write_bytes(png())
    (folder / "textures" / "sky.hdr").write_bytes(b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 1 +X 1\n\x01\x02\x03\x04")
    return folder / "robot.usda"


def flat(path: Path) -> str:
    """What usd-core composes from a file, with the content of the files that its properties name."""
    from pxr import Usd

    stage = Usd.Stage.Open(str(path))
    assert stage.GetCompositionErrors() == []
    lines: list[str] = []
    for prim in stage.TraverseAll():
        lines.append(f"{prim.GetPath()} {prim.GetTypeName()} {prim.GetMetadata('apiSchemas')} {prim.GetCustomData()}")
        for one in prim.GetAuthoredProperties():
            name = f"{prim.GetPath()}.{one.GetName()}"
            if isinstance(one, Usd.Relationship):
                lines.append(f"{name} {one.GetTargets()}")
                continue
            values = [one.Get(), *(one.Get(time) for time in one.GetTimeSamples())]
            lines.append(f"{name} {one.GetTypeName()} {list(map(content, values))} {one.GetConnections()}")
    return "\n".join(lines)


def content(value: Any) -> Any:
    """A value; of a file that exists, its bytes."""
    from pxr import Ar, Sdf

    if not isinstance(value, Sdf.AssetPath) or not value.resolvedPath:
        return str(value)
    with Ar.GetResolver().OpenAsset(Ar.ResolvedPath(value.resolvedPath)) as opened:
        return bytes(opened.GetBuffer())


def check(report: Report) -> None:
    assert report.certificate.passed
    assert report.losses == []
    assert {one.fate for one in report.items if not one.path.startswith("comment")} <= {Fate.EXACT, Fate.LOWERED}


@pytest.mark.parametrize("meshes", ["reference", "copy", "absolute"])
@pytest.mark.parametrize("place", ["robot", "elsewhere"])
@pytest.mark.parametrize("form", FORMS)
def test_a_copy_composes_to_the_same_stage(form: str, place: str, meshes: Any, robot: Path, tmp_path: Path) -> None:
    output = tmp_path / place / f"copy.{form}"
    report = exoskel.convert(robot, output, meshes=meshes)
    check(report)
    assert flat(output) == flat(robot)
    if form == "usdz":
        names = {"scene.usdc", "layers/lights.usda", "layers/tip.usda", "textures/wood.png", "textures/sky.hdr"}
        assert {*unpack(output.read_bytes())} == names
    if form in ("usdz", "usda") and meshes == "copy":  # it can be moved
        files = {path.relative_to(output.parent): path.read_bytes() for path in output.parent.rglob("*.*")}
        other = tmp_path / "moved"
        for name, data in files.items():
            (other / name).parent.mkdir(parents=True, exist_ok=True)
            (other / name).write_bytes(data)
        assert flat(other / output.name) == flat(robot)


@pytest.mark.parametrize("first", ["usdc", "usdz"])
@pytest.mark.parametrize("second", FORMS)
def test_copies_of_copies_compose_to_the_same_stage(first: str, second: str, robot: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    check(exoskel.convert(robot, tmp_path / "one" / f"a.{first}"))
    check(exoskel.convert(tmp_path / "one" / f"a.{first}", tmp_path / "two" / f"b.{second}"))
    assert flat(tmp_path / "two" / f"b.{second}") == flat(robot)


def test_a_text_in_the_same_folder_stays_as_it_is(robot: Path) -> None:
    exoskel.convert(robot, robot.with_name("same.usda"))
    assert robot.with_name("same.usda").read_bytes() == robot.read_bytes()


def test_a_text_in_another_folder_keeps_its_comments_and_layout(robot: Path, tmp_path: Path) -> None:
    report = exoskel.convert(robot, tmp_path / "copy.usda")
    lines = zip((tmp_path / "copy.usda").read_text().splitlines(), ROBOT.splitlines(), strict=True)
    changed = [one for one, other in lines if one != other]
    assert len(changed) == 5 and all("@./robot/" in one for one in changed)
    lowered = [one.path for one in report.items if one.fate is Fate.LOWERED]
    assert sorted(lowered) == ["/@subLayers", "/World/Look/Paint/@inputs:file"]


@pytest.mark.parametrize("form", FORMS)
def test_saving_does_the_same(form: str, robot: Path, tmp_path: Path) -> None:
    exoskel.save(exoskel.load(robot), tmp_path / "elsewhere" / f"saved.{form}")
    assert flat(tmp_path / "elsewhere" / f"saved.{form}") == flat(robot)
    exoskel.convert(robot, tmp_path / "elsewhere" / f"converted.{form}")
    names = [tmp_path / "elsewhere" / f"{name}.{form}" for name in ("saved", "converted")]
    assert names[0].read_bytes() == names[1].read_bytes()


def test_a_file_that_an_archive_cannot_contain_is_reported(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("not an image")
    (tmp_path / "a.usda").write_text('#usda 1.0\ndef Cube "c" {\ncustom asset notes = @./secret.txt@\n}\n')
    report = exoskel.convert(tmp_path / "a.usda", tmp_path / "a.usdz")
    (lost,) = report.losses
    assert lost.path == "/c/@notes" and "not a layer, an image or a sound" in lost.why
    assert {*unpack((tmp_path / "a.usdz").read_bytes())} == {"scene.usdc"}


def test_files_outside_the_folder_are_not_read_if_it_is_confined(robot: Path, tmp_path: Path) -> None:
    inner = robot.parent / "parts" / "outer.usda"
    inner.write_text('#usda 1.0\n(metersPerUnit = 1)\ndef Cube "c" {\ncustom asset image = @../textures/wood.png@\n}\n')
    exoskel.convert(exoskel.load(inner, confine=True), tmp_path / "a.usdz", meshes="copy")
    assert {*unpack((tmp_path / "a.usdz").read_bytes())} == {"scene.usdc"}


@pytest.mark.parametrize("form", FORMS)
def test_references_to_missing_files_lead_to_the_same_place(form: str, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    layer = '#usda 1.0\n(metersPerUnit = 1)\ndef Cube "c" (references = @./later.usda@</c>) {}\n'
    (tmp_path / "a" / "a.usda").write_text(layer)
    report = exoskel.convert(tmp_path / "a" / "a.usda", tmp_path / f"b.{form}")
    assert report.certificate.passed
    (tmp_path / "a" / "later.usda").write_text('#usda 1.0\ndef Cube "c" {\ndouble size = 3\n}\n')
    if form != "usdz":
        assert "size" in flat(tmp_path / f"b.{form}")


def test_an_edited_scene_is_written_as_a_new_document(robot: Path, tmp_path: Path) -> None:
    exoskel.convert(edited(robot), tmp_path / "new.usda")
    assert "exoskel" in (tmp_path / "new.usda").read_text()


def test_joints_that_our_writer_lowers_are_copied(tmp_path: Path) -> None:
    layer = """#usda 1.0
(metersPerUnit = 1)
def Xform "a" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {}
def Xform "b" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {}
def PhysicsJoint "j" (prepend apiSchemas = ["PhysicsLimitAPI:transX", "PhysicsLimitAPI:transY", "PhysicsLimitAPI:transZ", "PhysicsLimitAPI:rotX"])
{
    rel physics:body0 = </a>
    rel physics:body1 = </b>
"""
    for axis in ("transX", "transY", "transZ", "rotX"):
        layer += f"    float limit:{axis}:physics:low = 1\n    float limit:{axis}:physics:high = -1\n"
    (tmp_path / "a.usda").write_text(layer + "}\n")
    check(exoskel.convert(tmp_path / "a.usda", tmp_path / "b.usdc"))
    assert flat(tmp_path / "b.usdc") == flat(tmp_path / "a.usda")


def test_layers_in_a_long_chain_are_copied(tmp_path: Path) -> None:
    for number in range(40):
        below = f"(subLayers = [@./{number + 1}.usda@])" if number < 39 else ""
        (tmp_path / f"{number}.usda").write_text(
            f'#usda 1.0\n{below}\ndef Xform "part{number}" {{\n    int a = 1\n}}\n'
        )
    (tmp_path / "out").mkdir()
    report = exoskel.convert(tmp_path / "0.usda", tmp_path / "out" / "0.usda", meshes="copy")
    assert report.saved and not report.losses
    assert len(list((tmp_path / "out" / "layers").iterdir())) == 39
