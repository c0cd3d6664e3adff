"""Regression tests for problems found by fuzzing, each with a minimal input."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import exoskel
from exoskel.formats.mjcf.geoms import is_flat
from tests.support.xml import one_body, one_shape

COLOR = "<sphere><radius>1</radius></sphere>"


@pytest.mark.parametrize("semantics", ["written", "dart"])
@pytest.mark.parametrize("color", ["1,1,3", "1,1,1,3", "0.1, 7 ,0.2", "1 1,-1"])
def test_a_colour_out_of_range_between_commas_is_reported(color: str, semantics: str) -> None:
    """The invalid number was looked up among the tokens between spaces, which are fewer."""
    text = one_shape(COLOR, "visualization_shape", f"<color>{color}</color>")
    found = [finding.key for finding in exoskel.load(text.encode(), semantics=semantics).diagnostics]  # type: ignore[arg-type]
    assert "SK025" in found
    assert semantics == "dart" or "SK067.range" in found


@pytest.mark.parametrize("ename", ["x", "exoskel"])
def test_an_undeclared_prefix_in_an_extension_is_accepted(ename: str) -> None:
    """lxml has no qualified name for it, and raised ValueError, in reading and in converting."""
    inside = f'<ext ename="{ename}"><q:gravity x="0" y="1" z="2"/><q:a/></ext>'
    text = f'<xode version="1.0r22"><world>{inside}</world></xode>'
    scene = exoskel.load(text.encode())
    assert scene.world.gravity == (0.0, 0.0, 0.0)
    preserved = b"q:gravity" in exoskel.convert(scene, None, to="skel").data
    assert preserved == (ename == "x"), "the contents of our own extension are not preserved as data of others"


ARRAYS = {
    "time": np.arange(2.0),
    "body_names": np.array(["m/b"]),
    "body_poses": np.ones((2, 1, 7)),
    "dof_names": np.array(["j", "j"]),
    "positions": np.zeros((2, 2)),
    "velocities": np.zeros((2, 2)),
    "energy": np.zeros((2, 2)),
    "meta": np.array("{}"),
}


def _motion(path: Path, **others: np.ndarray) -> exoskel.Trajectory:
    np.savez(path, **{**ARRAYS, **others})  # type: ignore[arg-type]
    return exoskel.Trajectory.load(path)


@pytest.mark.parametrize("pairs", ["5", "[1, 2]", '[["a"], ["b"]]', '[["m", "j"]]', '{"a": 1}', '"ab"'])
def test_a_trajectory_with_invalid_names_of_coordinates_gets_numbered_columns(tmp_path: Path, pairs: str) -> None:
    """A table of it raised ValueError or TypeError."""
    motion = _motion(tmp_path / "a.npz", meta=np.array(f'{{"dof_pairs": {pairs}}}'))
    assert [column for column in motion.to_pandas() if column.startswith("q:")] == ["q:0/j", "q:1/j"]


@pytest.mark.parametrize("last", [-1e308, -1.0])
def test_a_trajectory_that_runs_backwards_is_refused(tmp_path: Path, last: float) -> None:
    """It could not be resampled, and a page could not be made of it: IndexError."""
    with pytest.raises(exoskel.ExoskelError, match="its times decrease"):
        _motion(tmp_path / "a.npz", time=np.array([0.0, last]))


@pytest.mark.parametrize("last", [np.nan, np.inf])
def test_a_trajectory_whose_times_are_not_finite_is_refused(tmp_path: Path, last: float) -> None:
    """Even times of it raised ValueError."""
    with pytest.raises(exoskel.ExoskelError, match="times are not finite"):
        _motion(tmp_path / "a.npz", time=np.array([0.0, last]))


@pytest.mark.parametrize("last", [1e308, 1e15])
def test_a_trajectory_of_extreme_length_is_not_resampled(tmp_path: Path, last: float) -> None:
    """Even times of it took all memory."""
    motion = _motion(tmp_path / "a.npz", time=np.array([0.0, last]))
    with pytest.raises(exoskel.ExoskelError, match="too many steps"):
        motion.resample(0.01)


@pytest.mark.parametrize(
    "others",
    [
        {"time": np.zeros((2, 3))},
        {"time": np.array(["a", "b"])},
        {"time": np.zeros(2, dtype="c16")},
        {"body_names": np.array([["a", "b"]])},
        {"meta": np.array(["{}"])},
    ],
    ids=["times in a table", "times in words", "complex times", "names in a table", "a list of meta"],
)
def test_a_trajectory_with_arrays_of_the_wrong_kind_is_refused(tmp_path: Path, others: dict[str, np.ndarray]) -> None:
    """It was taken, and could not even be shown."""
    with pytest.raises(exoskel.ExoskelError, match="is not a trajectory"):
        _motion(tmp_path / "a.npz", **others)


def test_an_equality_constraint_on_a_placeholder_body_is_handled() -> None:
    """Placeholder bodies are not part of the scene; a constraint on one raised KeyError."""
    inertial = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
    text = f"""<mujoco><worldbody><body name="a/a"><freejoint name="a/a_root"/>{inertial}
    <body name="a/b" pos="1 0 0"><joint name="a/j" axis="0 0 1"/>{inertial}
    <body name="a/h/stand-in" pos="-1 0 0"><joint name="a/h" axis="0 1 0"/>{inertial}</body></body></body>
    <body name="a/c"><freejoint name="a/c_root"/>{inertial}</body></worldbody>
    <equality><weld name="a/h/stand-in" body1="a/a" body2="a/h/stand-in"/><weld body1="a/c" body2="a/h/stand-in"/></equality>
    </mujoco>"""
    scene = exoskel.load(text.encode(), format="mjcf")
    assert scene.worlds


@pytest.mark.parametrize("spring", ["", 'damping="-1"', 'damping="1e-320"', 'stiffness="1" damping="-0.002"'])
def test_a_suspension_without_a_spring_is_read(spring: str) -> None:
    """It was read as ODE's softness, which is one over what the spring and damper do in a step: ZeroDivisionError."""
    text = f"""<mujoco><worldbody><body name="s/c"><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
    <joint name="s/j/0" type="slide" axis="0 0 1" {spring}/><joint name="s/j/1" axis="0 0 1"/><joint name="s/j/2" axis="0 1 1"/>
    </body></worldbody></mujoco>"""
    scene = exoskel.load(text.encode(), format="mjcf")
    assert [joint.kind for joint in scene.world.joints()] == ["prismatic", "universal"]


@pytest.mark.parametrize("inner", ["n::b", "n:", "n::", "::n"])
@pytest.mark.parametrize("beside", ["", '<model name="n"><link name="x"/></model>'])
def test_a_nested_model_with_the_separator_in_its_name_is_found(inner: str, beside: str) -> None:
    """What leads to its links was taken apart at the wrong place, and an AssertionError came of it (SDFormat)."""
    text = f"""<sdf version="1.11"><model name="m"><link name="a"/>{beside}<model name="{inner}"><pose>0 0 2 0 0 0</pose>
    <link name="b"><pose>0 1 0 0 0 0</pose></link></model>
    <joint name="j" type="revolute"><parent>a</parent><child>{inner}::b</child><axis><xyz>0 1 0</xyz></axis></joint></model></sdf>"""
    scene = exoskel.load(text.encode())
    joint = next(joint for joint in scene.world.joints() if joint.name == "j")
    assert joint.child.name.endswith("b")
    assert joint.pose.is_identity


_AFTERWARDS = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
import exoskel
from exoskel.diagnostics import Collector
from exoskel.formats.mjcf.codes import CATALOGUE
from exoskel.formats.mjcf.reader.compiled import compile
from exoskel.formats.mjcf.reader.compiler import Workload
from exoskel.formats.mjcf.reader.fragment import Fragment
from exoskel.formats.mjcf.reader.preprocessor import PreparedDocument
from exoskel.source.document import Document
text = '<mujoco><asset><hfield name="h" nrow="60000" ncol="60000" size="1 1 1 1"/></asset></mujoco>'
collector = Collector(CATALOGUE, Document(text.encode(), "a.xml"))
sizes = {"name": "h", "nrow": "60000", "ncol": "60000", "size": "1 1 1 1"}
root = Fragment("mujoco", {}, 0, [Fragment("asset", {}, 1, [Fragment("hfield", sizes, 2)])])
assert compile(PreparedDocument(root, {}, {}, {}, [], Workload(1)), collector, 60.0) is None
exoskel.load(b'<mujoco><option gravity="0 0 nan"/></mujoco>', format="mjcf")
simulation = exoskel.Simulation(exoskel.load("dart://sample/skel/pendulum.skel"))
simulation.velocities = [1e300] * len(simulation.velocities)
simulation.step(10)
print("done")
"""


def test_a_warning_after_mujoco_ran_out_of_memory_does_not_hang() -> None:
    """MuJoCo left a handler that passed the next warning to itself forever, so every later file hung."""
    command = [sys.executable, "-c", _AFTERWARDS]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert done.stdout == "done\n", done.stderr


@pytest.mark.parametrize("name", ["nkey", "nuserdata", "nuser_body", "nuser_geom"])
def test_sizes_larger_than_any_scene_are_not_allocated(name: str) -> None:
    """MuJoCo allocated this size: keyframes took minutes, the others all memory."""
    text = f'<mujoco><size {name}="2000000000"/><worldbody><geom size="1"/></worldbody></mujoco>'
    assert exoskel.load(text.encode(), format="mjcf").worlds


@pytest.mark.parametrize(
    "asset",
    [
        '<hfield name="a" nrow="6000" ncol="6000" size="1 1 1 1"/>',
        '<mesh name="a" builtin="supersphere" params="5000 1 1"/>',
    ],
)
def test_small_assets_that_need_all_memory(asset: str) -> None:
    """MuJoCo allocated them."""
    scene = exoskel.load(f"<mujoco><asset>{asset}</asset></mujoco>".encode(), format="mjcf")
    assert [diagnostic.key for diagnostic in scene.diagnostics] == ["MJ101.limit"]


def test_a_height_field_that_unpacks_to_all_memory_is_refused(tmp_path: Path) -> None:
    """An image of a few bytes declares billions of pixels."""
    header = b"IHDR" + (60000).to_bytes(4, "big") * 2 + b"\x08\0\0\0\0"
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\x0d" + header + b"\0\0\0\0")
    file = tmp_path / "a.xml"
    file.write_text('<mujoco><asset><hfield name="h" file="a.png" size="1 1 1 1"/></asset></mujoco>', encoding="utf-8")
    scene = exoskel.load(file)
    assert [d.code for d in scene.diagnostics if d.severity == "error"] == ["MJ105"]
    assert "5000000 samples" in str(scene.diagnostics[0])


@pytest.mark.parametrize("tag", ["general", "motor"])
def test_actuators_whose_history_needs_all_memory_are_read_without_it(tag: str) -> None:
    """A default class made MuJoCo allocate gigabytes for delays, and the delay was not reported."""
    bodies = "".join(f'<body><joint name="j{i}"/><geom size="1"/></body>' for i in range(200))
    driven = "".join(f'<motor joint="j{i}" ctrlrange="-1 1"/>' for i in range(200))
    delay = f'<default><{tag} nsample="10000000" delay="1"/></default>'
    text = f"<mujoco>{delay}<worldbody>{bodies}</worldbody><actuator>{driven}</actuator></mujoco>"
    scene = exoskel.load(text.encode(), format="mjcf")
    assert scene.worlds
    assert [(d.key, d.severity.value) for d in scene.diagnostics if d.key.startswith("MJ203")] == [
        ("MJ203.physics", "warning"),
        ("MJ203", "info"),
    ]


def test_actuators_with_very_many_states_are_refused() -> None:
    text = '<mujoco><default><general dyntype="user" actdim="10000000"/></default></mujoco>'
    assert [d.key for d in exoskel.load(text.encode(), format="mjcf").diagnostics] == ["MJ101.limit"]


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("kind", ["amotor", "universal", "revolute"])
def test_a_joint_with_another_number_of_drives_than_axes_is_written(kind: str, count: int) -> None:
    """The two were paired strictly: ValueError in converting to XODE."""
    scene = exoskel.load("<skel version='1.0'><world/></skel>")
    axes = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))[: {"amotor": 3, "universal": 2, "revolute": 1}[kind]]
    drives = tuple(exoskel.Drive(max_force=float(number)) for number in range(count))
    scene.world.add_model("m").add_body("b", joint=kind, axes=axes, drives=drives)  # type: ignore[arg-type]
    assert exoskel.convert(scene, None, to="xode").certificate.passed


def test_a_soft_stop_that_is_almost_rigid_runs(tmp_path: Path) -> None:
    """The least CFM gave a stiffness that is not finite: ZeroDivisionError."""
    text = """<xode><world><space><body name="a"/><joint><link1 body="a"/>
    <hinge><axis x="0" y="0" z="1" LowStop="-1" HiStop="1" StopCFM="5e-324"/></hinge></joint></space></world></xode>"""
    assert exoskel.Simulation(exoskel.load(text)).positions.shape == (1,)


@pytest.mark.parametrize("size", [1e308, 1.0, 5e-324])
def test_meshes_of_extreme_sizes_are_flat_only_if_their_points_are(size: float) -> None:
    """Their mean overflowed: LinAlgError."""
    corners = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert not is_flat(size * corners)
    assert is_flat(size * corners[:, [0, 1, 1]])


PARALLEL = """<sdf version="1.9"><world name="w"><model name="m"><link name="a"/><link name="b"/>
<joint name="j" type="{kind}"><parent>a</parent><child>b</child>
<axis><xyz>0 0 1</xyz></axis><axis2><xyz>{second}</xyz></axis2></joint></model></world></sdf>"""


@pytest.mark.parametrize("second", ["0 0 1", "0 0 -2", "1e-5 0 1"])
def test_a_hinge2_with_parallel_axes_is_not_written_as_xode(second: str) -> None:
    """Readers of XODE ignore such a joint, and the certificate failed without a reason."""
    text = PARALLEL.format(kind="revolute2", second=second)
    with pytest.raises(exoskel.ExoskelError, match="axes of the hinge2 joint 'j' are parallel"):
        exoskel.convert(text.encode(), None, to="xode")


def test_a_universal_joint_with_parallel_axes_is_written_as_xode() -> None:
    text = PARALLEL.format(kind="universal", second="0 0 1")
    assert exoskel.convert(text.encode(), None, to="xode").certificate.passed


@pytest.mark.parametrize("field", ["damping", "stiffness"])
def test_negative_forces_of_joints_are_embedded_in_skel(field: str) -> None:
    """SKEL does not have them, but the certificate expected that other readers find them."""
    joint = f'<joint name="j" type="hinge" {field}="-1"/>'
    text = f"<mujoco><worldbody><body>{joint}<geom size='1'/></body></worldbody></mujoco>"
    report = exoskel.convert(text.encode(), None, to="skel")
    assert report.certificate.passed
    assert getattr(exoskel.load(report.data).world.models[0].joints[0].dofs[0], field) == -1.0


@pytest.mark.parametrize("fields", ["damping", "frictionloss"])
def test_negative_resistance_is_a_loss_in_urdf(fields: str) -> None:
    """The written number is ignored by readers, and the certificate failed."""
    joint = f'<joint name="j" type="hinge" {fields}="-1"/>'
    text = f"<mujoco><worldbody><body>{joint}<geom size='1'/></body></worldbody></mujoco>"
    report = exoskel.convert(text.encode(), None, to="urdf")
    assert report.certificate.passed
    assert b"-1" not in report.data
    assert ["negative" in loss.why for loss in report.losses] == [True]


@pytest.mark.parametrize("angles", ["0 -1", "0 30"])
def test_the_larger_angle_limits_a_ball_joint(angles: str) -> None:
    """MuJoCo uses the larger number; the other one gave limits in the wrong order."""
    joint = f'<joint name="j" type="ball" limited="true" range="{angles}"/>'
    text = f"<mujoco><worldbody><body>{joint}<geom size='1'/></body></worldbody></mujoco>"
    expected = np.radians(max(map(float, angles.split())))
    limits = exoskel.load(text.encode()).world.models[0].joints[0].dofs[0].position_limits
    assert limits == pytest.approx((-expected, expected))


def test_a_suspension_beyond_all_numbers_is_converted_or_refused() -> None:
    """A generated motor of a joint that was not read raised KeyError."""
    axes = (
        '<axis x="0" y="0" z="1" SuspensionERP="0.4" SuspensionCFM="1e308"/><axis x="0" y="1" z="0" Vel="2" FMax="9"/>'
    )
    hinge2 = f'<hinge2><anchor x="2" y="0" z="1" absolute="true"/>{axes}</hinge2>'
    links = '<link1 body="a"/><link2 body="b"/>'
    slider = f'<joint name="k">{links}<slider><axis x="1" y="0" z="0"/></slider></joint>'
    bodies = '<body name="a"/><body name="b"/>'
    joint = f'<joint name="j">{links}{hinge2}</joint>'
    text = f'<xode version="1.0r22"><world name="w"><space>{bodies}{slider}{joint}</space></world></xode>'
    try:
        assert exoskel.convert(text.encode(), None, to="mjcf").certificate.passed
    except exoskel.ExoskelError as refusal:
        assert "1e+308" in str(refusal) or "1e308" in str(refusal)


def test_a_negative_mass_of_a_soft_skin_is_reported() -> None:
    soft = "<soft_shape><total_mass>-1</total_mass><geometry><box><size>1 1 1</size><frags>3 3 3</frags></box></geometry></soft_shape>"
    text = (
        f'<skel version="1.0"><world name="w"><skeleton name="s"><body name="b">{soft}</body></skeleton></world></skel>'
    )
    scene = exoskel.load(text.encode())
    assert [found.key for found in scene.diagnostics if found.severity is exoskel.Severity.ERROR] == ["SK050.soft"]
    assert scene.world.models[0].bodies[0].soft.total_mass == 0.0
    assert exoskel.convert(scene, None, to="xode").certificate.passed


@pytest.mark.parametrize("kind", ["ball", "free"])
def test_motors_of_joints_without_fixed_axes_are_ignored(kind: str) -> None:
    scene = exoskel.load(one_body("<inertia><mass>1</mass></inertia>", kind=kind).encode())
    (joint,) = scene.world.models[0].joints
    joint.drives = (exoskel.Drive(max_force=2.0, velocity=1.0, cfm=0.1),)
    exoskel.Simulation(scene.world).step(2)
