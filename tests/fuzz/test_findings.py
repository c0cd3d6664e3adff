"""What fuzzing has found, each made small."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import exoskel
from tests.support.xml import one_shape

COLOR = "<sphere><radius>1</radius></sphere>"


@pytest.mark.parametrize("semantics", ["written", "dart"])
@pytest.mark.parametrize("color", ["1,1,3", "1,1,1,3", "0.1, 7 ,0.2", "1 1,-1"])
def test_a_colour_out_of_range_between_commas(color: str, semantics: str) -> None:
    """The number out of range was looked for among words that blanks part, of which there are fewer."""
    text = one_shape(COLOR, "visualization_shape", f"<color>{color}</color>")
    found = [finding.key for finding in exoskel.load(text.encode(), semantics=semantics).diagnostics]  # type: ignore[arg-type]
    assert "SK025" in found
    assert semantics == "dart" or "SK067.range" in found


@pytest.mark.parametrize("ename", ["x", "exoskel"])
def test_a_prefix_that_nobody_declared_in_an_extension(ename: str) -> None:
    """lxml has no qualified name for it, and raised ValueError, in reading and in converting."""
    inside = f'<ext ename="{ename}"><q:gravity x="0" y="1" z="2"/><q:a/></ext>'
    text = f'<xode version="1.0r22"><world>{inside}</world></xode>'
    scene = exoskel.load(text.encode())
    assert scene.world.gravity == (0.0, 0.0, 0.0)
    carried = b"q:gravity" in exoskel.convert(scene, None, to="skel").data
    assert carried == (ename == "x"), "what is in our own extension is ours"


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
def test_a_trajectory_that_names_its_coordinates_oddly(tmp_path: Path, pairs: str) -> None:
    """A table of it raised ValueError or TypeError."""
    motion = _motion(tmp_path / "a.npz", meta=np.array(f'{{"dof_pairs": {pairs}}}'))
    assert [column for column in motion.to_pandas() if column.startswith("q:")] == ["q:0/j", "q:1/j"]


@pytest.mark.parametrize("last", [1e308, -1e308, np.nan, np.inf, 1e15])
def test_a_trajectory_of_endless_time(tmp_path: Path, last: float) -> None:
    """Even times of it raised ValueError, or took all memory."""
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
def test_a_trajectory_with_arrays_of_the_wrong_kind(tmp_path: Path, others: dict[str, np.ndarray]) -> None:
    """It was taken, and could not even be shown."""
    with pytest.raises(exoskel.ExoskelError, match="is no trajectory"):
        _motion(tmp_path / "a.npz", **others)


def test_a_tie_to_a_body_that_only_stands_in_for_another() -> None:
    """The writer's own stand-ins are no bodies of the scene; one that something else is tied to raised KeyError."""
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
def test_a_suspension_without_a_spring(spring: str) -> None:
    """It was read as ODE's softness, which is one over what the spring and damper do in a step: ZeroDivisionError."""
    text = f"""<mujoco><worldbody><body name="s/c"><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
    <joint name="s/j/0" type="slide" axis="0 0 1" {spring}/><joint name="s/j/1" axis="0 0 1"/><joint name="s/j/2" axis="0 1 1"/>
    </body></worldbody></mujoco>"""
    scene = exoskel.load(text.encode(), format="mjcf")
    assert [joint.kind for joint in scene.world.joints()] == ["prismatic", "universal"]


@pytest.mark.parametrize("inner", ["n::b", "n:", "n::", "::n"])
@pytest.mark.parametrize("beside", ["", '<model name="n"><link name="x"/></model>'])
def test_a_nested_model_with_the_separator_in_its_name(inner: str, beside: str) -> None:
    """What leads to its links was taken apart at the wrong place, and an AssertionError came of it (SDFormat)."""
    text = f"""<sdf version="1.11"><model name="m"><link name="a"/>{beside}<model name="{inner}"><pose>0 0 2 0 0 0</pose>
    <link name="b"><pose>0 1 0 0 0 0</pose></link></model>
    <joint name="j" type="revolute"><parent>a</parent><child>{inner}::b</child><axis><xyz>0 1 0</xyz></axis></joint></model></sdf>"""
    scene = exoskel.load(text.encode())
    joint = next(joint for joint in scene.world.joints() if joint.name == "j")
    assert joint.child.name.endswith("b")
    assert joint.pose.is_identity
