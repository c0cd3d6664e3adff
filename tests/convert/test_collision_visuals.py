"""Bodies without visual shapes are visible in SDF and URDF, and come back as they were."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

import exoskel
from exoskel import (
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    Material,
    MultiSphere,
    Plane,
    Pose,
    Ray,
    Scene,
    Shape,
    Sphere,
    Texture,
    World,
)
from exoskel.formats.collision_visuals import PREFIX
from exoskel.scene.shape import Ball, Geometry, texture_of

RED = (1.0, 0.0, 0.0, 0.5)
MJCF = """<mujoco><asset><texture name="wood" type="2d" file="wood.png"/>
  <material name="steel" rgba="1 0 0 0.5" texture="wood" roughness="0.25" metallic="0.75"/></asset>
  <worldbody><body name="a"><freejoint/><geom type="box" size=".5 .5 .5" material="steel"/>
  <geom type="capsule" size=".1 .2" rgba="0 1 0 1"/><geom type="sphere" size=".1" pos="1 0 0"/></body></worldbody></mujoco>"""

both = pytest.mark.parametrize("to", ["sdf", "urdf"])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Image.new("RGB", (4, 2), (200, 100, 50)).save("wood.png")
    Path("robot.xml").write_text(MJCF)
    return tmp_path


def world_with(*shapes: Shape) -> World:
    world = World("w")
    world.add_model("m").add_body("a", mass=1.0).collisions.extend(shapes)
    return world


def solids(scene: Scene) -> list[Shape]:
    assert not any(body.visuals for body in scene.world.bodies())
    return [shape for body in scene.world.bodies() for shape in body.collisions]


def test_every_shape_of_an_xode_sample_is_visible_in_sdf(tmp_path: Path) -> None:
    report = exoskel.convert("dart://sample/xode/ragdoll.xode", tmp_path / "x.sdf")
    text = report.data.decode()
    assert report.certificate.passed
    assert text.count("<visual ") == text.count("<collision ") == 23
    again = exoskel.convert(tmp_path / "x.sdf", None, to="sdf")
    assert again.data == report.data and not [one for one in again.losses if "visual" in one.path]


def test_every_shape_of_an_xode_sample_is_visible_in_urdf(tmp_path: Path) -> None:
    report = exoskel.convert("dart://sample/xode/ragdoll.xode", tmp_path / "x.urdf", model="pelvis")
    text = report.data.decode()
    assert report.certificate.passed
    assert text.count("<visual ") == text.count("<collision") > 10
    again = exoskel.convert(tmp_path / "x.urdf", None, to="urdf")
    assert again.data == report.data and not [one for one in again.losses if "visual" in one.path]


def test_appearance_comes_back_from_sdf(folder: Path) -> None:
    report = exoskel.convert("robot.xml", "robot.sdf")
    assert report.certificate.passed and {"colours", "textures"} <= {row.name for row in report.certificate.checks}
    assert [one for one in report.losses if "geom" in one.path or "material" in one.path or "texture" in one.path] == []
    first, second, third = solids(exoskel.load("robot.sdf"))
    assert (first.color, second.color, third.color) == (RED, (0.0, 1.0, 0.0, 1.0), None)
    assert first.material is not None and (first.material.roughness, first.material.metalness) == (0.25, 0.75)
    image = texture_of(first)
    assert image is not None and image.path == str(folder / "wood.png")
    back = exoskel.convert("robot.sdf", "back.xml")
    assert back.certificate.passed and not [one for one in back.losses if "visual" in one.path]
    same = exoskel.convert("robot.sdf", None, to="sdf")
    assert same.data == report.data
    shown = [one for one in same.items if PREFIX in one.path]
    assert {str(one.fate) for one in shown if not one.path.endswith("@name")} == {"exact", "kept"}


def test_appearance_comes_back_from_urdf(folder: Path) -> None:
    report = exoskel.convert("robot.xml", "robot.urdf")
    assert report.certificate.passed and {"colours", "textures"} <= {row.name for row in report.certificate.checks}
    lost = [one.path.rpartition("/")[2] for one in report.losses if not one.affects_motion]
    assert sorted(lost) == ["@metallic", "@roughness"]
    shapes = solids(exoskel.load("robot.urdf"))
    assert [one.kind for one in shapes] == ["box", "cylinder", "sphere", "sphere", "sphere"]
    assert [one.color for one in shapes] == [RED, *[(0.0, 1.0, 0.0, 1.0)] * 3, None]
    image = texture_of(shapes[0])
    assert image is not None and image.path == str(folder / "wood.png")


@both
def test_an_edited_file_has_ordinary_visuals(folder: Path, to: str) -> None:
    text = exoskel.convert("robot.xml", f"robot.{to}").data.decode()
    size = "<size>1 1 1</size>" if to == "sdf" else 'size="1 1 1"'
    assert text.count(size) == 2
    edits = [
        text.replace(size, size.replace("1 1 1", "1 1 2"), 1),
        text.replace(f"{PREFIX}1", "hull"),
        text[: text.index("<collision")] + text[text.index("<collision", text.index("<collision") + 1) :],
    ]
    if to == "sdf":
        edits += [
            text.replace("</visual>", "<cast_shadows>false</cast_shadows></visual>", 1),
            text.replace("<ambient>1 0", "<ambient>0 0", 1),
        ]
    count = text.count("<visual ")
    for edited in edits:
        (body,) = exoskel.load(edited).world.bodies()
        assert len(body.visuals) == count
        assert not any(shape.color for shape in body.collisions)
        again = exoskel.convert(edited, None, to=to).data.decode()
        assert again.count("<visual ") == count


@both
def test_a_body_that_is_invisible_in_its_file_remains_so(to: str) -> None:
    world = world_with(Shape(geometry=Box((1.0, 1.0, 1.0))))
    text = exoskel.convert(world, None, to=to).data.decode()
    assert text.count("<visual ") == 1
    start, end = text.index("<visual "), text.index("</visual>") + len("</visual>")
    invisible = text[:start] + text[end:]
    for target in ("sdf", "urdf"):
        assert "<visual" not in exoskel.convert(invisible, None, to=target).data.decode()
        assert exoskel.convert(text, None, to=target).data.decode().count("<visual ") == 1
    scene = exoskel.load(invisible)
    solids(scene)[0].color = RED
    report = exoskel.convert(scene, None, to=to)
    assert report.certificate.passed and solids(exoskel.load(report.data))[0].color == RED


@both
def test_colours_of_collision_shapes_beside_visuals_are_dropped(to: str) -> None:
    world = world_with(Shape(geometry=Box((1.0, 1.0, 1.0)), color=RED))
    next(iter(world.bodies())).visuals.append(Shape(geometry=Sphere(1.0)))
    report = exoskel.convert(world, None, to=to)
    (body,) = exoskel.load(report.data).world.bodies()
    assert report.certificate.passed and PREFIX not in report.data.decode()
    assert len(body.visuals) == 1 and body.collisions[0].color is None


@both
def test_a_repeated_texture_is_reported(folder: Path, to: str) -> None:
    Path("robot.xml").write_text(MJCF.replace("<material ", '<material texrepeat="2 2" '))
    report = exoskel.convert("robot.xml", f"w.{to}")
    code = "SD215" if to == "sdf" else "UR605"
    assert report.certificate.passed and [str(one.fate) for one in report.losses if code in one.why]
    assert [image.repeat for one in solids(exoskel.load(f"w.{to}")) if (image := texture_of(one))] == [(1.0, 1.0)]


def test_dart_gets_visuals_without_textures(folder: Path) -> None:
    ellipsoid = Shape(geometry=Ellipsoid((1.0, 2.0, 3.0)), color=RED, material=Material(texture=Texture("wood.png")))
    report = exoskel.convert(world_with(ellipsoid, Shape(geometry=Capsule(0.1, 1.0))), "w.sdf", target="dart")
    text = report.data.decode()
    assert report.certificate.passed and text.count("<visual ") == text.count("<collision ") == 4
    assert len({part.partition("<")[0] for part in text.split("<uri>")[1:]}) == 1
    assert [one.color for one in solids(exoskel.load("w.sdf"))] == [RED, None, None, None]


_GEOMETRY = st.sampled_from(
    [
        Box((1.0, 2.0, 3.0)),
        Sphere(0.3),
        Cylinder(0.1, 0.4),
        Capsule(0.1, 0.4),
        Ellipsoid((1.0, 2.0, 3.0)),
        Cone(0.2, 0.7),
        Plane((0.6, 0.0, 0.8), 0.3),
        MultiSphere((Ball(0.1, (1.0, 0.0, 0.0)), Ball(0.2, (0.0, 1.0, 0.0)))),
        Ray(1.0),
    ]
)
_SHAPE = st.builds(
    Shape,
    geometry=_GEOMETRY,
    pose=st.sampled_from([Pose(), Pose((1.0, 2.0, 3.0)), Pose((0.1, 0.0, 0.0), exoskel.Euler((0.1, 0.2, 0.3)))]),
    color=st.sampled_from([None, RED, (0.1, 0.2, 0.3, 1.0)]),
    collidable=st.booleans(),
)


@both
@given(shapes=st.lists(_SHAPE, max_size=4))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_shapes_come_back_without_visuals(to: str, shapes: list[Shape]) -> None:
    report = exoskel.convert(world_with(*shapes), None, to=to)
    text = report.data.decode()
    assert report.certificate.passed and text.count("<visual ") == text.count("<collision")
    written = solids(exoskel.load(report.data))
    colors = [one.color for one in shapes if _is_written(one, to) for _ in range(_count(one.geometry, to))]
    assert [one.color for one in written] == colors
    again = exoskel.convert(report.data, None, to=to)
    assert not exoskel.diff(exoskel.load(report.data), exoskel.load(again.data))


def _is_written(shape: Shape, to: str) -> bool:
    return not isinstance(shape.geometry, Ray) and (to == "sdf" or shape.collidable)


def _count(geometry: Geometry, to: str) -> int:
    """The number of elements of a geometry."""
    match geometry:
        case MultiSphere(spheres=spheres):
            return len(spheres)
        case Capsule() if to == "urdf":
            return 3
    return 1
