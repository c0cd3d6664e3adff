"""Equality constraints of a world: they round-trip, act as in MuJoCo, and are reported where there are none."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import exoskel

OPTIONS = '<option timestep="0.002" integrator="discrete" tolerance="1e-20"><flag contact="disable"/></option>'


def document(equalities: str, rest: str = "") -> str:
    """Two trees, five moving bodies and a fixed one, with sites and two tendons, and equality constraints."""
    return f"""<mujoco>{OPTIONS}
    <default><default class="soft"><equality solref="0.05 0.7" solimp="0.8 0.9 0.01 0.4 3"/></default></default>
    <worldbody><site name="top" pos="0 .3 1"/>
    <body name="base" pos="0 0 .2" euler="0 0 30"><geom size=".1"/><site name="fixed" pos=".1 .2 .3"/></body>
    <body name="a"><joint name="r" axis="0 1 0" damping=".1"/><geom size=".1" pos=".3 0 0"/>
      <site name="mid" pos=".4 0 .05" euler="10 20 30"/>
      <body name="b" pos=".6 0 0" euler="0 20 0"><joint name="s" type="slide" axis="1 0 0" ref="0.2" damping="5"/>
        <geom size=".1"/>
        <body name="c" pos=".5 0 0"><joint name="u_1" axis="1 0 0" damping=".2"/>
        <joint name="u_2" axis="0 1 0" damping=".3"/><site name="tip" pos=".1 .1 .1"/><geom size=".1" pos=".1 .2 0"/>
        </body></body></body>
    <body name="d" pos="1.3 .3 .2" euler="40 0 10"><joint name="e" type="slide" axis="0 0 1" damping="3"/>
      <geom size=".1"/><body name="g"><joint name="f" axis="1 0 0" damping=".2"/><geom size=".1 .2" type="capsule"/>
      <site name="side" pos="0 .1 0"/></body></body></worldbody>
    <tendon><fixed name="sum"><joint joint="r" coef="0.5"/><joint joint="s" coef="-2"/></fixed>
    <spatial name="string"><site site="top"/><site site="tip"/></spatial></tendon>
    <equality>{equalities}</equality>{rest}</mujoco>"""


number = st.floats(-1.0, 1.0).map(lambda value: round(value, 3))
positive = st.floats(0.1, 1.0).map(lambda value: round(value, 3))
BODIES = ("a", "b", "c", "d", "g", "base", "world")
SITES = ("top", "fixed", "mid", "tip", "side")
JOINTS = ("r", "s", "u_1", "u_2", "e", "f")
TENDONS = ("sum", "string")


def texts(draw: st.DrawFn, count: int) -> str:
    return " ".join(str(draw(number)) for _ in range(count))


@st.composite
def elements(draw: st.DrawFn) -> str:
    """An equality constraint of MJCF."""
    kind = draw(st.sampled_from(["connect", "weld", "joint", "tendon"]))
    given = {}
    target, names = kind, TENDONS if kind == "tendon" else JOINTS
    if kind in ("connect", "weld"):
        target = draw(st.sampled_from(["body", "site"]))
        names = SITES if target == "site" else BODIES
    given |= dict(zip((f"{target}1", f"{target}2"), draw(st.permutations(names)), strict=False))
    if kind in ("joint", "tendon"):
        if draw(st.booleans()):
            del given[f"{target}2"]
        size = draw(st.integers(1, 5))
        given["polycoef"] = texts(draw, size)
    elif target == "body":
        if kind == "connect" or draw(st.booleans()):
            given["anchor"] = texts(draw, 3)
        if kind == "weld" and draw(st.booleans()):
            given["relpose"] = f"{texts(draw, 3)} 1 {texts(draw, 3)}"
    if kind == "weld" and draw(st.booleans()):
        given["torquescale"] = str(draw(positive))
    if draw(st.booleans()):
        given["solref"] = f"{draw(positive)} {draw(positive)}"
    if draw(st.booleans()):
        given["solimp"] = "0.85 0.97 0.02 0.4 3"
    if draw(st.booleans()):
        given["class"] = "soft"
    if draw(st.integers(0, 3)) == 0:
        given["active"] = "false"
    return f"<{kind} {' '.join(f'{name}={chr(34)}{value}{chr(34)}' for name, value in given.items())}/>"


def compiled(text: str | bytes) -> Any:
    return mujoco.MjModel.from_xml_string(text if isinstance(text, str) else text.decode())


def final_positions(model: Any, steps: int) -> np.ndarray:
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, steps)
    return data.qpos - model.qpos0


def rows(model: Any) -> list[tuple[Any, ...]]:
    """The equality constraints by the names of what they connect, sorted.

    A fixed body counts as the world, which comes second: then the data of a constraint between bodies is in its frame.
    """
    found = []
    for i in range(model.neq):
        kind, data = int(model.eq_type[i]), model.eq_data[i].copy()
        ends = [int(model.eq_obj1id[i]), int(model.eq_obj2id[i])]
        objects = int(model.eq_objtype[i])
        names = [mujoco.mj_id2name(model, objects, end) if end >= 0 else "" for end in ends]
        if kind in (2, 3):
            names, used = list(map(str, ends)), data[:5] if ends[1] >= 0 else data[:1]  # joints have other names
        elif objects == mujoco.mjtObj.mjOBJ_SITE:
            used = data[10:11] if kind == 1 else data[:0]
        else:
            names, used = placed(model, kind, ends, data)
        solver = (*model.eq_solref[i], *model.eq_solimp[i], *used)
        found.append((kind, *names, bool(model.eq_active0[i]), tuple(round(float(one), 8) + 0.0 for one in solver)))
    return sorted(found)


def placed(model: Any, kind: int, ends: list[int], data: np.ndarray) -> tuple[list[str], np.ndarray]:
    """The names of two bodies and the points or frames of a constraint, fixed bodies replaced by the world."""
    state = mujoco.MjData(model)
    mujoco.mj_kinematics(model, state)
    first, second = ends
    points = [data[0:3], data[3:6]] if kind == 0 else [data[3:6], data[0:3]]
    is_fixed = [not model.body_weldid[one] for one in ends]
    points = [
        state.xpos[one] + state.xmat[one].reshape(3, 3) @ point if fixed else point
        for one, point, fixed in zip(ends, points, is_fixed, strict=True)
    ]
    names = ["world" if fixed else model.body(one).name for one, fixed in zip(ends, is_fixed, strict=True)]
    rotation = np.eye(3)
    if kind == 1:
        turned = np.zeros(9)
        mujoco.mju_quat2Mat(turned, data[6:10])
        rotation = turned.reshape(3, 3)
        if is_fixed[0]:
            rotation = state.xmat[first].reshape(3, 3) @ rotation
        if is_fixed[1]:
            rotation = rotation @ state.xmat[second].reshape(3, 3).T
    if is_fixed[0] and not is_fixed[1]:
        names, points, rotation = names[::-1], points[::-1], rotation.T
    values = [*points[0], *points[1], *(rotation.ravel() if kind == 1 else ()), *(data[10:11] if kind == 1 else ())]
    return names, np.array(values)


@settings(max_examples=12, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(st.lists(elements(), min_size=1, max_size=4))
def test_random_constraints_round_trip_and_act_as_in_mujoco(parts: list[str]) -> None:
    text = document("".join(parts))
    scene = exoskel.load(text)
    assert not [one for one in scene.diagnostics if one.code == "MJ403"]
    report = exoskel.convert(text, None, to="mjcf")
    assert report.certificate.passed
    assert not [item for item in report.items if "/equality[" in item.path and item.loss]
    model = compiled(text)
    assert rows(compiled(report.data)) == rows(model)
    simulation = exoskel.Simulation(scene)
    simulation.step(30)
    assert simulation.positions == pytest.approx(final_positions(model, 30), rel=1e-8, abs=1e-9)
