"""Conversions to and from MJCF, URDF and SDFormat: certified, by the command and by the library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
import trimesh

import exoskel
from exoskel import Kinematics
from exoskel.fates import Fate
from exoskel.formats import registry
from exoskel.scene.lowering.up_axis import Up, nearest_up_axis, up_axis
from exoskel.view.render_scene import RenderScene
from tests.support.edits import edited
from tests.support.places import sample_files, xode_sample_files
from tests.support.scenes import name_of

EXAMPLES = Path(__file__).parent / "examples"
SAMPLES = [*sample_files(), *xode_sample_files()]
OTHER = ("mjcf", "urdf", "sdf")
EVERY = ("skel", "xode", *OTHER)


def failed(report: exoskel.Report) -> list[str]:
    return [check.name for check in report.certificate.checks if not check.passed]


@pytest.mark.parametrize("format", OTHER)
@pytest.mark.parametrize("file", SAMPLES, ids=name_of)
def test_every_sample_round_trips(file: Path, format: str, tmp_path: Path) -> None:
    output = tmp_path / "folder" if format == "urdf" else tmp_path / f"there.{format}"
    there = exoskel.convert(file, output, to=format)
    assert failed(there) == [] and there.saved
    for path in sorted(output.glob("*.urdf")) if output.is_dir() else [output]:  # others are initial states
        assert failed(exoskel.convert(path, tmp_path / "back.skel")) == []
        assert failed(exoskel.convert(path, tmp_path / "back.xode")) == []


@pytest.mark.parametrize("there", [True, False])
def test_a_single_model_is_written_into_a_folder_like_several(tmp_path: Path, there: bool) -> None:
    world = exoskel.World()
    world.add_model("arm").add_body("b", shapes=[exoskel.Box((1.0, 1.0, 1.0))])
    exoskel.save(exoskel.Scene(worlds=[world]), tmp_path / "a.skel")
    folder = tmp_path / "robots"
    if there:
        folder.mkdir()
    assert exoskel.convert(tmp_path / "a.skel", folder, to="urdf").saved
    assert [path.name for path in folder.iterdir()] == ["arm.urdf"]


@pytest.mark.parametrize("format", EVERY)
@pytest.mark.parametrize("file", sorted(EXAMPLES.iterdir()), ids=name_of)
def test_documents_of_every_format_convert_to_every_other(file: Path, format: str) -> None:
    report = exoskel.convert(file, None, to=format)
    assert failed(report) == []
    assert report.formats == (exoskel.load(file).source_info.format, format)


@pytest.mark.parametrize("file", sorted(EXAMPLES.iterdir()), ids=name_of)
def test_an_unedited_scene_keeps_its_bytes(file: Path, tmp_path: Path) -> None:
    scene = exoskel.load(file)
    other = exoskel.load(file)
    other.world.gravity = (0.0, 0.0, -1.0)  # an edit of another scene
    copy = tmp_path / file.name
    exoskel.save(scene, copy)
    assert copy.read_bytes() == file.read_bytes()


@pytest.mark.parametrize("file", sorted(EXAMPLES.iterdir()), ids=name_of)
def test_an_edited_scene_is_rewritten_with_a_diagnostic(file: Path, tmp_path: Path) -> None:
    scene = exoskel.load(file)
    body = next(iter(scene.world.models[-1].bodies))
    body.mass = 7.5
    copy = tmp_path / file.name
    exoskel.save(scene, copy)
    notes = [d for d in scene.diagnostics if d.code == "FM201"]
    assert len(notes) == (scene.source_info.format not in ("mjcf", "urdf"))  # these are edited in place
    assert all("comments" not in note.message for note in notes)  # they are preserved
    again = exoskel.load(copy)
    assert 7.5 in [body.mass for body in again.world.bodies()]


def test_content_determines_the_format_before_the_extension(tmp_path: Path) -> None:
    for name, root in (("skel", "<skel version='1.0'><world name='w'/></skel>"), ("mjcf", "<mujoco/>")):
        (tmp_path / "scene.xml").write_text(root)
        assert exoskel.load(tmp_path / "scene.xml").source_info.format == name


def test_xacro_is_detected(tmp_path: Path) -> None:
    file = tmp_path / "robot.xacro"
    file.write_text('<robot xmlns:xacro="http://ros.org/wiki/xacro" name="r"><xacro:include filename="x"/></robot>')
    assert [d.code for d in exoskel.load(file).diagnostics] == ["UR004"]


# --- losses -------------------------------------------------------------------------------------------

SWINGING = """<skel version="1.0"><world name="w"><physics><time_step>0.001</time_step><gravity>0 -9.81 0</gravity></physics>
<skeleton name="arm"><body name="arm"><inertia><mass>2</mass></inertia>
<collision_shape><geometry><box><size>1 1 1</size></box></geometry></collision_shape></body>
<joint type="revolute" name="j"><parent>world</parent><child>arm</child><axis><xyz>0 0 1</xyz></axis>
<init_pos>0.5</init_pos></joint></skeleton></world></skel>"""


def fates(report: exoskel.Report, part: str) -> set[str]:
    return {item.fate.value for item in report.items if item.path.endswith(part)}


def test_a_lost_initial_state_is_reported_and_passes_the_certificate() -> None:
    for format in ("urdf", "sdf"):
        report = exoskel.convert(SWINGING, None, to=format)
        assert report.certificate.passed and "has no initial state" in report.hint
        assert fates(report, "init_pos") == {"dropped"}
        with pytest.raises(exoskel.RefusedError):
            exoskel.convert(SWINGING, None, to=format, strict=True)
    report = exoskel.convert(SWINGING, None, to="mjcf")
    assert fates(report, "init_pos") == {"exact"}
    assert not [item for item in report.losses if item.fate is not Fate.DROPPED]


# --- rotated worlds -----------------------------------------------------------------------------------


@pytest.mark.parametrize("format", EVERY)
def test_a_world_is_rotated_with_its_content(format: str, tmp_path: Path) -> None:
    output = tmp_path / "out" if format == "urdf" else tmp_path / f"out.{format}"
    before = exoskel.load(SWINGING)
    report = exoskel.convert(before, output, to=format, up="z", model="arm" if format == "urdf" else None)
    assert failed(report) == []
    assert any(check.name.startswith("before world.up_axis") for check in report.certificate.checks)
    after = exoskel.load(output, format=format)
    if format != "urdf":
        assert up_axis(after.world) == "z"
    rotation = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
    there = Kinematics(after.world.models).poses(np.array([0.3]))[0]
    here = Kinematics(before.world.models).poses(np.array([0.3]))[0]
    assert np.abs(there[:3, :3] - rotation @ here[:3, :3]).max() < 1e-12


def test_a_world_without_gravity_is_rotated_from_the_given_axis(tmp_path: Path) -> None:
    sample = FLOATING.format("").replace("0 -9.81 0", "0 0 0")
    with pytest.raises(exoskel.ExoskelError, match="use 'y-to-z' or 'z-to-y'"):
        exoskel.convert(sample, tmp_path / "out.sdf", up="z")
    report = exoskel.convert(sample, tmp_path / "out.sdf", up="y-to-z")
    assert failed(report) == [] and any("world.up_axis" in check.name for check in report.certificate.checks)
    with pytest.raises(exoskel.ExoskelError, match="y points up"):
        exoskel.convert(SWINGING, tmp_path / "out.sdf", up="z-to-y")


FLOATING = """<skel version="1.0"><world name="w"><physics><gravity>0 -9.81 0</gravity></physics><skeleton name="m">
<body name="a"><inertia><mass>1</mass></inertia></body>
<joint type="free" name="r"><parent>world</parent><child>a</child>{0}</joint></skeleton></world></skel>"""


@pytest.mark.parametrize(
    ("damping", "fate"),
    [((0, 0, 0, 5, 2, 2), "exact"), ((0, 3, 3, 2, 2, 2), "exact"), ((0, 0, 0, 2, 2, 5), "approximated")],
)
def test_anisotropic_damping_of_a_floating_body_is_approximated_by_rotation(
    damping: tuple[int, ...], fate: str
) -> None:
    dofs = "".join(f'<dof local_index="{i}"><damping>{d}</damping></dof>' for i, d in enumerate(damping))
    text = FLOATING.format(dofs)
    rotated = exoskel.convert(text, None, to="skel", up="z")
    assert rotated.certificate.passed
    assert fates(rotated, "damping") == {fate}
    assert fates(exoskel.convert(text, None, to="skel"), "damping") == {"exact"}
    assert ("of the world" in "".join(item.why for item in rotated.losses)) is (fate == "approximated")


def test_a_world_without_gravity_is_not_rotated() -> None:
    with pytest.raises(exoskel.ExoskelError, match="neither gravity nor a plane"):
        exoskel.convert(SWINGING.replace("0 -9.81 0", "0 0 0"), None, to="sdf", up="z")


SLOPE = """<mujoco><option gravity="0 .5 -9"/><worldbody><geom type="plane" size="1 1 1" quat="{}"/>
<body><freejoint/><geom size=".1"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize(("rotation", "axis"), [("1 0 0 0", "z"), ("0 1 0 0", ""), ("1 1 0 0", ""), ("1 .1 0 0", "")])
def test_a_plane_states_the_up_axis_of_tilted_gravity(rotation: str, axis: str) -> None:
    text = SLOPE.format(rotation)
    assert up_axis(exoskel.load(text, format="mjcf").world) == axis
    if axis:
        rotated = exoskel.convert(text, None, to="mjcf", up="y")
        assert rotated.certificate.passed
        np.testing.assert_allclose(exoskel.load(rotated.data).world.gravity, (0, -9, -0.5), atol=1e-12)
    else:
        with pytest.raises(exoskel.ExoskelError, match=r"gravity \(0 0.5 -9\) is not along an axis"):
            exoskel.convert(text, None, to="mjcf", up="y")


# --- meshes -------------------------------------------------------------------------------------------

PLATE = """solid p
facet normal 0 0 1
outer loop
vertex 0 0 0
vertex 1 0 0
vertex 0 1 0.5
endloop
endfacet
facet normal 0 0 1
outer loop
vertex 0 0 0
vertex 0 1 0.5
vertex 0 0 1
endloop
endfacet
endsolid p
"""
MESHED = """<sdf version="1.6"><world name="w"><model name="m"><link name="a"><inertial><mass>1</mass></inertial>
<visual name="v"><geometry><mesh><uri>parts/{name}</uri></mesh></geometry></visual></link></model></world></sdf>"""


@pytest.mark.parametrize("format", ["skel", "urdf", "sdf", "mjcf"])
def test_meshes_are_copied_beside_the_output(format: str, tmp_path: Path) -> None:
    (tmp_path / "in" / "parts").mkdir(parents=True)
    (tmp_path / "in" / "parts" / "plate.stl").write_text(PLATE)
    file = tmp_path / "in" / "scene.sdf"
    file.write_text(MESHED.format(name="plate.stl"))
    output = tmp_path / "out" / f"scene.{format}"
    output.parent.mkdir()
    report = exoskel.convert(file, output, to=format, meshes="copy")
    assert failed(report) == []
    # MuJoCo does not read ASCII STL.
    name = "plate.obj" if format == "mjcf" else "plate.stl"
    assert (tmp_path / "out" / "meshes" / name).is_file()
    shape = next(shape for body in exoskel.load(output, format=format).world.bodies() for shape in body.shapes)
    assert isinstance(shape.geometry, exoskel.Mesh)
    assert Path(str(shape.geometry.path)).parent.samefile(tmp_path / "out" / "meshes")


def test_a_missing_mesh_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "scene.sdf"
    file.write_text(MESHED.format(name="none.stl"))
    report = exoskel.convert(file, tmp_path / "out.urdf", meshes="copy")
    assert "FM301" in [d.code for d in report.diagnostics]


# --- surfaces -----------------------------------------------------------------------------------------

SLIDING = """<sdf version="1.6"><world name="w"><gravity>3 0 -9.81</gravity>
<model name="ground"><static>true</static><link name="g"><collision name="c"><geometry><plane/></geometry>
<surface><friction><ode><mu>{mu}</mu></ode></friction></surface></collision></link></model>
<model name="box"><pose>0 0 0.5 0 0 0</pose><link name="b"><inertial><mass>1</mass></inertial><collision name="c">
<geometry><box><size>1 1 1</size></box></geometry><surface><friction><ode><mu>{mu}</mu></ode></friction>
<bounce><restitution_coefficient>0.25</restitution_coefficient></bounce></surface></collision></link></model></world></sdf>"""


def surfaces(scene: exoskel.Scene) -> set[tuple[float | None, float | None]]:
    return {(s.friction, s.restitution) for b in scene.world.bodies() for s in b.collisions if s.kind == "box"}


@pytest.mark.parametrize("format", EVERY)
def test_friction_and_restitution_are_written_where_supported(format: str, tmp_path: Path) -> None:
    scene = exoskel.load(SLIDING.format(mu=0.3))
    assert surfaces(scene) == {(0.3, 0.25)}
    model = "box" if format == "urdf" else None
    report = exoskel.convert(scene, tmp_path / f"out.{format}", to=format, model=model)
    assert failed(report) == []
    wanted = {"urdf": (None, None), "mjcf": (0.3, None)}.get(format, (0.3, 0.25))
    assert surfaces(exoskel.load(tmp_path / f"out.{format}", format=format)) == {wanted}
    fate = {"urdf": "dropped", "sdf": "exact", "mjcf": "exact"}.get(format, "kept")
    assert fates(report, "mu") - {"dropped"} <= {fate} and fate in fates(report, "mu")


def test_a_slippery_box_slides() -> None:
    """On a slope of 17 degrees, it slides with a friction of 0.1 and stays with the default of 1."""
    far = {}
    for mu in (0.1, 1.0):
        simulation = exoskel.Simulation(exoskel.load(SLIDING.format(mu=mu)).world)
        simulation.step(500)
        far[mu] = float(simulation.body_poses[1][0, 3])
    assert far[0.1] > 0.1 > 0.01 > abs(far[1.0])


def painted_dae(path: Path) -> None:
    """A tetrahedron, red all over."""
    solid = trimesh.creation.box((0.2, 0.3, 0.4))
    solid.visual = trimesh.visual.TextureVisuals(
        material=trimesh.visual.material.PBRMaterial(baseColorFactor=[255, 0, 0, 255])
    )
    path.write_bytes(trimesh.exchange.dae.export_collada(solid))


def test_a_converted_mesh_keeps_its_colours(tmp_path: Path) -> None:
    painted_dae(tmp_path / "red.dae")
    shape = (
        "<visualization_shape><geometry><mesh><file_name>red.dae</file_name></mesh></geometry></visualization_shape>"
    )
    body = f'<body name="b"><inertia><mass>1</mass></inertia>{shape}</body>'
    joint = '<joint type="free" name="j"><parent>world</parent><child>b</child></joint>'
    file = tmp_path / "a.skel"
    file.write_text(
        f'<skel version="1.0"><world name="w"><skeleton name="s">{body}{joint}</skeleton></world></skel>',
        encoding="utf-8",
    )
    (tmp_path / "out").mkdir()
    assert exoskel.convert(file, tmp_path / "out" / "a.xml", meshes="copy").certificate.passed
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "out" / "a.xml"))
    assert model.geom_rgba[0].tolist() == [1.0, 0.0, 0.0, 1.0]
    (copied,) = (tmp_path / "out" / "meshes").glob("*.obj")
    colors = trimesh.load(copied, force="mesh", process=False).visual.vertex_colors
    assert (np.asarray(colors) == [255, 0, 0, 255]).all()


FOUR_BAR = """<mujoco><worldbody><body name="a"><joint name="ja" axis="0 1 0"/><geom size=".1" pos="0 0 .2"/>
  <body name="b" pos="0 0 .5"><joint name="jb" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/>
    <body name="c" pos=".5 0 0"><joint name="jc" axis="0 1 0"/><geom size=".1" pos="0 0 -.2"/></body></body></body>
</worldbody><equality><connect name="tie" body1="c" anchor="0 0 -.5"/></equality></mujoco>"""
TWO_CHAINS = """<mujoco><worldbody><body name="a"><joint name="ja" axis="0 1 0"/><geom size=".1" pos="0 0 .2"/>
  <body name="b" pos="0 0 .5"><joint name="jb" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/></body></body>
  <body name="c" pos=".5 0 0"><joint name="jc" axis="0 1 0"/><geom size=".1" pos="0 0 .2"/></body>
</worldbody><equality><connect name="tie" body1="b" body2="c" anchor=".5 0 0"/></equality></mujoco>"""
FLOATING_PAIR = """<mujoco><worldbody><body name="a" pos="0 0 1"><freejoint name="fa"/><geom size=".1"/></body>
<body name="b" pos="1 0 1"><freejoint name="fb"/><geom size=".1"/></body>
</worldbody><equality><{tie} body1="a" body2="b"/></equality></mujoco>"""


@pytest.mark.parametrize("to", ["skel", "xode", "sdf", "mjcf"])
@pytest.mark.parametrize(
    "text",
    [FOUR_BAR, TWO_CHAINS, FLOATING_PAIR.format(tie="weld"), FLOATING_PAIR.format(tie='connect anchor=".5 0 0"')],
    ids=["four-bar", "two chains", "floating, welded", "floating, connected"],
)
def test_loops_convert_to_every_format_that_supports_them(text: str, to: str) -> None:
    """Readers of XODE and SDFormat may find another tree in the same joints."""
    report = exoskel.convert(text, to=to)
    assert failed(report) == []
    if to in ("skel", "xode"):  # these embed the original tree
        before, after = exoskel.load(text).world, exoskel.load(report.data).world
        joints = [[(j.name, j.kind, j.child.name, j.loop) for j in world.joints()] for world in (before, after)]
        assert joints[0] == joints[1]
        assert [m.dof_names for m in before.models] == [m.dof_names for m in after.models]


FIVE_BAR = """<mujoco><worldbody><body name="a"><geom size=".1" pos="0 0 .2"/>
  <body name="b" pos="0 0 .5"><joint name="jb" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/>
    <body name="c" pos=".5 0 0"><joint name="jc" axis="0 1 0" range="-10 20"/><geom size=".1" pos="0 0 -.2"/>
      <body name="d" pos=".5 0 0"><joint name="jd" axis="0 1 0" range="-30 40"/><geom size=".1" pos="0 0 -.2"/></body>
</body></body></body></worldbody></mujoco>"""
"""A chain whose loops give readers of XODE other trees to choose from."""


@pytest.mark.parametrize("kinds", [("ball", "weld"), ("weld", "ball"), ("revolute", "weld")])
@pytest.mark.parametrize(
    "ends",
    [(("c", "b"), ("c", "a")), (("c", "a"), ("c", None)), (("c", "b"), ("d", None)), (("d", None), ("d", "b"))],
)
def test_several_loops_keep_their_order_and_the_tree(kinds: tuple[Any, Any], ends: tuple[tuple[str, Any], ...]) -> None:
    scene = exoskel.load(FIVE_BAR)
    (model,) = scene.world.models
    for number, (kind, (child, parent)) in enumerate(zip(kinds, ends, strict=True)):
        above = None if parent is None else model.body(parent)
        axes = ((0.0, 1.0, 0.0),) if kind == "revolute" else ()
        loop = exoskel.Joint(
            name=f"loop{number}", kind=kind, child=model.body(child), parent=above, axes=axes, loop=True
        )
        model.joints.append(loop)
    report = exoskel.convert(scene, to="xode")
    assert failed(report) == []
    (back,) = exoskel.load(report.data).world.models
    assert [(j.name, j.child.name, j.loop) for j in back.joints] == [
        (j.name, j.child.name, j.loop) for j in model.joints
    ]


@pytest.mark.parametrize("part", ["anchor", "axis"])
def test_a_moved_joint_with_exchanged_ends_fails_the_certificate(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from exoskel.formats.xode.joint_elements import XodeJointWriter
    from exoskel.source.markup import Markup

    right = XodeJointWriter.joint

    def wrong(writer: XodeJointWriter, joint: exoskel.Joint, model: exoskel.Model) -> Markup | None:
        element = right(writer, joint, model)
        for one in element.iter() if element is not None and joint.name == "jd" else ():
            if one.tag == part:
                one.attributes["x"] = "0.3"
        return element

    monkeypatch.setattr(XodeJointWriter, "joint", wrong)
    text = FIVE_BAR.replace("</mujoco>", '<equality><weld name="tie" body1="d"/></equality></mujoco>')
    report = exoskel.convert(text, to="xode")
    assert "without embedded data: joints" in failed(report)


def test_a_moved_loop_fails_the_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    from exoskel.formats.mjcf.model import joints

    right = joints.anchors
    monkeypatch.setattr(joints, "anchors", lambda joint: [point + 1e-3 for point in right(joint) or ()])
    assert failed(exoskel.convert(edited(FOUR_BAR), to="mjcf")) == ["loops"]


@pytest.mark.parametrize("format", ["mjcf", "sdf"])
def test_a_scene_with_y_up_gets_a_hint_at_the_up_axis(format: str) -> None:
    scene = exoskel.Scene(worlds=[exoskel.World(name="w", gravity=(0.0, -9.81, 0.0))])
    scene.world.add_model("m").add_body("b", shapes=[exoskel.Sphere(1.0)], joint="free")
    assert "--up z" in exoskel.convert(scene, None, to=format).hint
    assert "--up z" not in exoskel.convert(scene, None, to=format, up="z").hint
    assert "--up z" not in exoskel.convert(scene, None, to="skel").hint
    scene.world.gravity = (0.0, 0.0, -9.81)
    assert "--up z" not in exoskel.convert(scene, None, to=format).hint


UP_AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
UP_AXES |= {f"-{name}": (-x, -y, -z) for name, (x, y, z) in UP_AXES.items()}


@pytest.mark.parametrize("wanted", ["y", "z"])
@pytest.mark.parametrize("axis", UP_AXES)
def test_any_axis_that_points_up_gets_a_hint_and_can_be_rotated(axis: str, wanted: Up) -> None:
    up = UP_AXES[axis]
    scene = exoskel.Scene(worlds=[exoskel.World(name="w", gravity=tuple(-9.81 * v for v in up))])
    body = scene.world.add_model("m").add_body("b", shapes=[exoskel.Sphere(1.0)], joint="free")
    body.pose = exoskel.Pose(up)
    assert ("--up z" in exoskel.convert(scene, None, to="sdf").hint) is (axis != "z")
    report = exoskel.convert(scene, None, to="sdf", up=wanted)
    assert failed(report) == [] and ("--up" in report.hint) is False
    after = exoskel.load(report.data).world
    assert up_axis(after) == wanted
    position = Kinematics(after.models).poses()[0][:3, 3]
    assert np.abs(position - UP_AXES[wanted]).max() < 1e-12


def test_the_ground_tells_where_up_is_in_files_of_single_models(tmp_path: Path) -> None:
    world = exoskel.World(name="w", gravity=(0.0, 0.0, 0.0))
    ground = world.add_model("ground", static=True)
    ground.add_body("plane", shapes=[exoskel.Plane((0.0, 1.0, 0.0))], joint="weld")
    world.add_model("m").add_body("b", shapes=[exoskel.Sphere(1.0)], joint="weld", at=(0.0, 2.0, 0.0))
    scene = exoskel.Scene(worlds=[world])
    assert "--up z" in exoskel.convert(scene, None, to="urdf", model="m").hint
    report = exoskel.convert(scene, tmp_path / "m.urdf", model="m", up="z")
    assert failed(report) == [] and report.hint == ""
    assert Kinematics(exoskel.load(tmp_path / "m.urdf").world.models).poses()[-1][:3, 3].tolist() == [0.0, 0.0, 2.0]


def test_the_plane_of_an_xode_file_without_gravity_says_where_up_is_in_pictures() -> None:
    text = """<xode version="1.0r23"><world><space><geom><plane a="0" b="1" c="0" d="0"/></geom>
    <body name="b"><transform><position x="0" y="2" z="0"/></transform><geom><box sizex="1" sizey="1" sizez="1"/></geom>
    </body></space></world></xode>"""
    world = exoskel.load(text).world
    assert world.gravity == (0.0, 0.0, 0.0)
    assert RenderScene(world).up == (0.0, 1.0, 0.0)


def test_a_static_plane_says_where_up_is_without_gravity() -> None:
    world = exoskel.World(name="w", gravity=(0.0, 0.0, 0.0))
    assert up_axis(world) == ""
    ground = world.add_model("ground", static=True)
    ground.add_body("plane", shapes=[exoskel.Plane((0.0, 1.0, 0.0))], joint="weld")
    assert (up_axis(world), nearest_up_axis(world)) == ("y", (0.0, 1.0, 0.0))
    world.gravity = (0.0, 0.0, -1.0)
    assert (up_axis(world), nearest_up_axis(world)) == ("z", (0.0, 0.0, 1.0))
    world.gravity = (0.0, 0.0, 0.0)
    world.add_model("m").add_body("b", shapes=[exoskel.Sphere(1.0)], joint="free")
    report = exoskel.convert(exoskel.Scene(worlds=[world]), None, to="sdf", up="z")
    assert up_axis(exoskel.load(report.data).world) == "z"


def test_walls_do_not_say_where_up_is() -> None:
    planes = {
        "x": (1.0, 0.0, 0.0),
        "-x": (-1.0, 0.0, 0.0),
        "y": (0.0, 1.0, 0.0),
        "z": (0.0, 0.0, 1.0),
        "-z": (0.0, 0.0, -1.0),
    }
    for normals, up in (
        (("x", "y"), "y"),
        (("x", "-x", "z", "-z", "y"), "y"),
        (("z", "-z", "x"), "x"),
        (("z", "y"), "z"),
    ):
        world = exoskel.World(name="w", gravity=(0.0, 0.0, 0.0))
        room = world.add_model("room", static=True)
        for name in normals:
            room.add_body(name, shapes=[exoskel.Plane(planes[name])], joint="weld")
        assert up_axis(world) == up


@pytest.mark.parametrize("format", ["mjcf", "sdf", "xode", "skel", "gltf"])
def test_an_output_folder_gets_a_file_with_the_name_of_the_input(tmp_path: Path, format: str) -> None:
    extension = registry.by_name(format).extensions[0]
    for folder in (f"{tmp_path}/new/", str(tmp_path)):
        report = exoskel.convert("dart://sample/skel/cart_pole.skel", folder, to=format)
        assert report.saved
        assert exoskel.load(f"{folder}/cart_pole{extension}").worlds if format != "gltf" else True
        assert (Path(folder) / f"cart_pole{extension}").is_file()
    with pytest.raises(exoskel.ExoskelError):
        exoskel.convert("dart://sample/skel/cart_pole.skel", tmp_path / "missing" / "out.xml", to=format)
