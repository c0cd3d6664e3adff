"""Numbers that are not finite, and hexadecimal numbers, in transformations and axes that are read as DART reads them."""

from __future__ import annotations

import json

import numpy as np
import pytest

import exoskel
from exoskel import Kinematics, Simulation, spatial
from exoskel.engines.preflight import NotRunnableError, preflight
from tests.oracles import dart

TOKENS = ("nan", "-NaN", "inf", "-Infinity", "nan(3)")
HEXADECIMAL = {"0x10": 16.0, "-0x1p-1": -0.5, "0X1.8P0": 1.5, "0x": 0.0}
PLACES = ("skeleton", "body", "body angle", "parent", "joint", "joint angle", "axis", "slide", "universal", "plane")
A, B, C = "0.1 0.2 0.3 0.1 0.2 0.3", "0.5 -0.2 0 0 0.4 0.5", "0 0.5 0 0.3 0 0.2"
JOINTS = {
    "axis": ("revolute", "<axis><xyz>{} 0 1</xyz></axis>", "0.3"),
    "slide": ("prismatic", "<axis><xyz>{} 0 1</xyz></axis>", "0.3"),
    "universal": ("universal", "<axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 {}</xyz></axis2>", "0.3 0.2"),
    "plane": (
        "planar",
        '<plane type="arbitrary"><translation_axis1><xyz>1 0 {}</xyz></translation_axis1>'
        "<translation_axis2><xyz>0 1 0</xyz></translation_axis2></plane>",
        "0.3 0.2 0.1",
    ),
}


def document(place: str, token: str) -> str:
    """Three bodies in a row, with a token in one place."""
    stated = {
        "skeleton": f"{token} 0 0.1 0 0 0.5" if place == "skeleton" else "0 0 0.1 0 0 0.5",
        "a": f"0.1 {token} 0 0 0 0" if place == "parent" else A,
        "b": {"body": f"{token} 0 0 0 0 0.5", "body angle": f"0.5 0 0 {token} 0 0.5"}.get(place, B),
        "j": {"joint": f"{token} 0.5 0 0 0 0.5", "joint angle": f"0 0.5 0 0 {token} 0.5"}.get(place, C),
    }
    frame = {name: f"<transformation>{text}</transformation>" for name, text in stated.items()}
    kind, axes, positions = JOINTS.get(place, ("revolute", "<axis><xyz>0 0 1</xyz></axis>", "0.3"))
    inertia = "<inertia><mass>1</mass></inertia>"
    bodies = "".join(f'<body name="{n}">{frame.get(n, "")}{inertia}</body>' for n in "abc")
    return (
        '<skel version="1.0"><world name="w"><physics><time_step>0.001</time_step><gravity>0 0 0</gravity></physics>'
        f'<skeleton name="s">{frame["skeleton"]}{bodies}'
        '<joint name="i" type="free"><parent>world</parent><child>a</child></joint>'
        f'<joint name="j" type="{kind}"><parent>a</parent><child>b</child>{frame["j"]}{axes.format(token)}'
        f"<init_pos>{positions}</init_pos></joint>"
        '<joint name="k" type="revolute"><parent>b</parent><child>c</child><axis><xyz>1 0 0</xyz></axis>'
        "<init_pos>0.2</init_pos></joint></skeleton></world></skel>"
    )


def poses(text: str) -> np.ndarray:
    scene = exoskel.load(text.encode(), semantics="dart")
    return Kinematics(scene.world.models).poses()


@pytest.mark.parametrize("token", TOKENS)
@pytest.mark.parametrize("place", PLACES)
def test_poses_are_finite_and_the_number_is_reported(place: str, token: str) -> None:
    scene = exoskel.load(document(place, token).encode(), semantics="dart")
    assert np.isfinite(Kinematics(scene.world.models).poses()).all()
    assert {d.code for d in scene.diagnostics if d.severity == "error"} & {"SK026", "SK023"}


@pytest.mark.parametrize("place", ["body", "body angle"])
def test_a_joint_with_a_rejected_frame_starts_at_its_parent(place: str) -> None:
    a, b, c = poses(document(place, "nan"))
    from_joint = spatial.transform(spatial.euler_matrix((0.3, 0.0, 0.2)), (0.0, 0.5, 0.0))
    turn = spatial.transform(spatial.axis_rotation("z", 0.3), (0.0, 0.0, 0.0))
    assert b == pytest.approx(a @ turn @ spatial.inverse(from_joint), abs=1e-12)
    assert c == pytest.approx(b @ spatial.transform(spatial.axis_rotation("x", 0.2), (0.0, 0.0, 0.0)), abs=1e-12)


@pytest.mark.parametrize("place", JOINTS)
def test_an_axis_that_is_not_finite_keeps_the_child_at_its_parent(place: str) -> None:
    a, b, _ = poses(document(place, "nan"))
    assert b == pytest.approx(a, abs=1e-12)


@pytest.mark.parametrize(("token", "value"), HEXADECIMAL.items())
@pytest.mark.parametrize("place", PLACES)
def test_hexadecimal_numbers_have_their_value(place: str, token: str, value: float) -> None:
    assert poses(document(place, token)) == pytest.approx(poses(document(place, str(value))), abs=1e-12)


@pytest.mark.skipif(not dart.available(), reason="dartpy is not installed")
@pytest.mark.parametrize("place", PLACES)
def test_poses_match_dart(place: str) -> None:
    tokens = (*TOKENS, *HEXADECIMAL)
    requests = [json.dumps({"text": document(place, token), "steps": 0, "commands": {}}) for token in tokens]
    for token, answer in zip(tokens, dart.answers(requests), strict=True):
        wanted = np.array(answer["poses"]["s"]).reshape(-1, 3, 4)
        assert poses(document(place, token))[:, :3] == pytest.approx(wanted, abs=1e-9), token


@pytest.mark.parametrize(
    ("axes", "key"),
    [
        ("0 0 0|0 1 0", "EN019"),
        ("1 0 0|0 0 0", "EN019"),
        ("1 0 0|2 0 0", "EN019.plane"),
        ("0 1 1|0 -1 -1", "EN019.plane"),
    ],
)
@pytest.mark.parametrize("kind", ["planar", "translational2d"])
def test_a_plane_without_two_directions_is_refused_before_a_run(kind: str, axes: str, key: str) -> None:
    first, second = axes.split("|")
    text = document("plane", "0").replace("1 0 0</xyz></translation_axis1>", f"{first}</xyz></translation_axis1>")
    text = text.replace("0 1 0</xyz></translation_axis2>", f"{second}</xyz></translation_axis2>")
    text = text.replace('type="planar"', f'type="{kind}"')
    if kind == "translational2d":
        text = text.replace("0.3 0.2 0.1</init_pos>", "0.3 0.2</init_pos>")
    scene = exoskel.load(text.encode(), semantics="dart")
    assert np.isfinite(Kinematics(scene.world.models).poses()).all()
    with pytest.raises(NotRunnableError):
        Simulation(scene)
    assert key in [d.key for d in preflight(scene)]
