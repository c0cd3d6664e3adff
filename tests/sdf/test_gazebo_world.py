"""A plain world of Gazebo, with what its users write: plugins, lights, sensors, gears, extruded polygons, includes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import exoskel
from exoskel.diagnostics import Severity
from exoskel.fates import Fate
from exoskel.scene.shape import TriMesh
from exoskel.source.surface import has_hollows
from tests.sdf.support import load_text

INERTIAL = "<inertial><mass>1</mass><inertia><ixx>0.01</ixx><iyy>0.01</iyy><izz>0.01</izz></inertia></inertial>"
AXIS = "<axis><xyz>{}</xyz></axis>"
CORNERS = [(0, 0), (0.4, 0), (0.4, 0.1), (0.1, 0.1), (0.1, 0.4), (0, 0.4)]


def polyline(corners: list[tuple[float, float]], height: float = 0.5) -> str:
    points = "".join(f"<point>{x} {y}</point>" for x, y in corners)
    return f"<geometry><polyline>{points}<height>{height}</height></polyline></geometry>"


def gears(ratio: float = 2.0, axis: str = "0 0 1", second: str = "0 0 1", reference: str = "post") -> str:
    ends = ("<parent>post</parent><child>wheel</child>", "<parent>post</parent><child>gear</child>")
    return f"""
      <link name="post">{INERTIAL}<collision name="c">{polyline(CORNERS)}</collision>
        <light name="lamp" type="point"><pose>0 0 0.5 0 0 0</pose></light>
        <sensor name="imu" type="imu"><update_rate>100</update_rate></sensor></link>
      <link name="wheel"><pose>0.2 0 0 0 0 0</pose>{INERTIAL}</link>
      <link name="gear"><pose>0.4 0 0 0 0 0</pose>{INERTIAL}</link>
      <joint name="wheel_axle" type="revolute">{ends[0]}{AXIS.format("0 0 1")}
        <sensor name="torque" type="force_torque"/></joint>
      <joint name="gear_axle" type="revolute">{ends[1]}{AXIS.format(second)}</joint>
      <joint name="gears" type="gearbox"><parent>wheel</parent><child>gear</child>
        <gearbox_ratio>{ratio}</gearbox_ratio><gearbox_reference_body>{reference}</gearbox_reference_body>
        {AXIS.format(axis)}<axis2><xyz>0 0 1</xyz></axis2></joint>
      <plugin filename="gz-sim-joint-state-publisher-system" name="gz::sim::systems::JointStatePublisher"/>"""


WORLD = f"""<?xml version="1.0"?>
<sdf version="1.9"><world name="yard">
  <physics name="1ms" type="ignored"><max_step_size>0.001</max_step_size><real_time_factor>1.0</real_time_factor></physics>
  <plugin filename="gz-sim-physics-system" name="gz::sim::systems::Physics"/>
  <gui fullscreen="false"><camera name="user_camera"><pose>4 -4 3 0 0.4 2.3</pose></camera></gui>
  <atmosphere type="adiabatic"/>
  <scene><ambient>0.4 0.4 0.4 1</ambient></scene>
  <light type="directional" name="sun"><pose>0 0 10 0 0 0</pose><direction>-0.5 0.1 -0.9</direction></light>
  <model name="ground"><static>true</static><link name="link"><collision name="c"><geometry><plane>
    <normal>0 0 1</normal><size>50 50</size></plane></geometry></collision></link></model>
  <include><uri>model://crate</uri><name>crate_1</name><pose>1 0 0.25 0 0 0</pose></include>
  <actor name="walker"><skin><filename>walk.dae</filename></skin></actor>
  <model name="mast"><pose>0 0 1 0 0 0</pose>{gears()}</model>
</world></sdf>"""


@pytest.fixture
def yard(tmp_path: Path) -> Path:
    """The world, with a model in the folder `models` beside it."""
    crate = tmp_path / "models" / "crate"
    crate.mkdir(parents=True)
    config = '<model><name>crate</name><sdf version="1.9">model.sdf</sdf></model>'
    (crate / "model.config").write_text(config, encoding="utf-8")
    box = "<geometry><box><size>0.5 0.5 0.5</size></box></geometry>"
    text = f'<link name="box">{INERTIAL}<collision name="c">{box}</collision></link>'
    (crate / "model.sdf").write_text(f'<sdf version="1.9"><model name="crate">{text}</model></sdf>', encoding="utf-8")
    (tmp_path / "yard.world").write_text(WORLD, encoding="utf-8")
    return tmp_path / "yard.world"


def test_a_plain_world_has_no_problems_in_strict_mode(yard: Path) -> None:
    scene = exoskel.load(yard, strict=True)
    assert [str(one) for one in scene.diagnostics if one.severity is not Severity.INFO] == []
    assert [model.name for model in scene.world.models] == ["ground", "crate_1", "mast"]


@pytest.mark.parametrize("attribute", ["plugin colour='x'", "light shape='x'", "sensor topic='x'"])
def test_other_attributes_of_these_elements_are_still_unknown(attribute: str) -> None:
    text = f'<sdf version="1.9"><model name="m"><link name="a"><{attribute}/></link></model></sdf>'
    assert "SD011" in {one.code for one in load_text(text).diagnostics}


def test_the_world_runs_and_converts(yard: Path) -> None:
    report = exoskel.convert(yard, to="mjcf")
    assert report.certificate.passed
    fates = {item.path: item for item in report.items}
    gearbox = next(item for path, item in fates.items() if path.endswith("joint[gears]"))
    assert gearbox.fate is Fate.LOWERED and not gearbox.loss
    ratio = next(item for path, item in fates.items() if path.endswith("gearbox_ratio"))
    assert ratio.fate is Fate.LOWERED


# --- gearboxes ----------------------------------------------------------------------------------------


def mast(inside: str) -> exoskel.Model:
    return load_text(f'<sdf version="1.9"><model name="m">{inside}</model></sdf>').world.models[0]


@pytest.mark.parametrize(
    ("axis", "second", "multiplier"), [("0 0 1", "0 0 1", -2.0), ("0 0 -1", "0 0 1", 2.0), ("0 0 1", "0 0 -1", 2.0)]
)
def test_a_gearbox_couples_the_joints_from_its_reference_body(axis: str, second: str, multiplier: float) -> None:
    follower = mast(gears(2.0, axis, second)).joint("gear_axle")
    assert follower.mimic == exoskel.Mimic("wheel_axle", multiplier, 0.0)


@pytest.mark.parametrize("change", [{"axis": "1 0 0"}, {"reference": "gear"}, {"reference": "nothing"}])
def test_a_gearbox_without_two_joints_about_its_axes_is_reported(change: dict[str, str]) -> None:
    text = f'<sdf version="1.9"><model name="m">{gears(**change)}</model></sdf>'
    scene = load_text(text)
    assert "SD061" in {one.code for one in scene.diagnostics}
    assert all(joint.mimic is None for joint in scene.world.joints())


# --- extruded polygons --------------------------------------------------------------------------------


def extruded(corners: list[tuple[float, float]], height: float = 0.5) -> TriMesh | None:
    collision = f'<collision name="c">{polyline(corners, height)}</collision>'
    text = f'<sdf version="1.9"><model name="m"><link name="a">{INERTIAL}{collision}</link></model></sdf>'
    shapes = load_text(text).world.models[0].bodies[0].collisions
    geometry = shapes[0].geometry if shapes else None
    assert geometry is None or isinstance(geometry, TriMesh)
    return geometry


def volume(mesh: TriMesh) -> float:
    a, b, c = (mesh.vertices[mesh.triangles[:, i]] for i in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_polyline_is_extruded_along_z(reverse: bool) -> None:
    mesh = extruded(CORNERS[::-1] if reverse else CORNERS)
    assert mesh is not None and mesh.bounds() == ((0.0, 0.0, 0.0), (0.4, 0.4, 0.5))
    assert volume(mesh) == pytest.approx(0.5 * (0.4 * 0.1 + 0.1 * 0.3))
    assert has_hollows(mesh.vertices, mesh.triangles)


def test_a_closed_polyline_and_a_spiral_are_extruded() -> None:
    assert extruded([*CORNERS, CORNERS[0]]) == extruded(CORNERS)
    angles = np.linspace(0.0, 4.0 * np.pi, 60)
    outer = [(float(a * np.cos(a)), float(a * np.sin(a))) for a in angles + 1.0]
    inner = [(0.9 * x, 0.9 * y) for x, y in reversed(outer)]
    mesh = extruded(outer + inner)
    assert mesh is not None and len(mesh.triangles) == 2 * 118 + 2 * 120
    x, y = np.array(outer + inner).T
    area = 0.5 * abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1)))
    assert volume(mesh) == pytest.approx(0.5 * area)


def ring(centre: tuple[float, float], radius: float, count: int) -> list[tuple[float, float]]:
    angles = np.linspace(0.0, 2.0 * np.pi, count, endpoint=False)
    return [(centre[0] + radius * float(np.cos(a)), centre[1] + radius * float(np.sin(a))) for a in angles]


def area(corners: list[tuple[float, float]]) -> float:
    x, y = np.array(corners).T
    return 0.5 * abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1)))


def extruded_together(polygons: list[list[tuple[float, float]]]) -> TriMesh:
    inside = "".join(polyline(one).removeprefix("<geometry>").removesuffix("</geometry>") for one in polygons)
    collision = f'<collision name="c"><geometry>{inside}</geometry></collision>'
    scene = load_text(f'<sdf version="1.9"><model name="m"><link name="a">{INERTIAL}{collision}</link></model></sdf>')
    assert scene.diagnostics == []
    geometry = scene.world.models[0].bodies[0].collisions[0].geometry
    assert isinstance(geometry, TriMesh)
    return geometry


@pytest.mark.parametrize("seed", range(20))
def test_polylines_in_others_are_holes(seed: int) -> None:
    """Also holes in a regular grid, islands in holes, and a second polygon beside the first."""
    random = np.random.default_rng(seed)
    polygons, expected = [ring((0, 0), 10, 4 + seed), ring((30, 0), 5, 5)], 0.0
    expected = area(polygons[0]) + area(polygons[1])
    for x, y in ((3.0 * i, 3.0 * j) for i in (-1, 0, 1) for j in (-1, 0, 1)):
        if random.random() < 0.7:
            polygons.append(ring((x, y), 1.2, int(random.integers(3, 12))))
            expected -= area(polygons[-1])
            if random.random() < 0.5:
                polygons.append(ring((x, y), 0.4, 4)[::-1])
                expected += area(polygons[-1])
    mesh = extruded_together([polygons[one] for one in random.permutation(len(polygons))])
    assert volume(mesh) == pytest.approx(0.5 * expected)
    edges = Counter((a, b) for t in mesh.triangles.tolist() for a, b in zip(t, [*t[1:], t[0]], strict=True))
    assert all(count == 1 and edges[b, a] == 1 for (a, b), count in edges.items())  # a closed surface


def test_polylines_that_cross_are_reported() -> None:
    inside = "".join(
        f"<polyline>{''.join(f'<point>{x} {y}</point>' for x, y in one)}<height>1</height></polyline>"
        for one in (ring((0, 0), 1, 5), ring((1, 0), 1, 5))
    )
    text = f'<sdf version="1.9"><model name="m"><link name="a">{INERTIAL}<collision name="c"><geometry>{inside}</geometry></collision></link></model></sdf>'
    assert [one.key for one in load_text(text).diagnostics] == ["SD080.polyline"]


@pytest.mark.parametrize("corners", [[(0, 0), (1, 0)], [(0, 0), (1, 0), (2, 0)], [(0, 0)] * 5])
def test_a_polyline_without_area_is_reported(corners: list[tuple[float, float]]) -> None:
    assert extruded(corners) is None


def test_a_polyline_of_too_many_corners_is_reported() -> None:
    assert extruded([(float(np.cos(a)), float(np.sin(a))) for a in np.linspace(0.0, 6.0, 600)]) is None
