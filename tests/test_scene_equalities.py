"""Equality constraints of a world: they round-trip, act as in MuJoCo, and are reported where there are none."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import exoskel
from exoskel import Equality, SolverParameters
from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.fields import relative_difference

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


EVERY_KIND = """<connect name="free" body1="c" body2="d" anchor="1 0 0" active="false"/>
<weld name="turned" body1="a" body2="world" relpose=".1 .2 .3 1 .2 .3 .4" torquescale=".5"/>
<weld name="pinned" body1="world" body2="c" anchor=".1 .2 .3" relpose=".4 .1 .2 1 .1 0 .3"/>
<connect name="held" body1="world" body2="d" anchor="1.3 .3 .2" active="false"/>
<weld name="sites" site1="tip" site2="side" solref=".1 1"/><joint name="gear" joint1="r" joint2="e" polycoef="0 2 .1"/>
<joint name="curve" joint1="u_1" joint2="u_2" polycoef="0 .2 .3 .4 .5"/>
<tendon name="lines" tendon1="sum" tendon2="string" polycoef="0 .5"/><tendon name="line" tendon1="string"/>"""


def test_numbers_and_paths_are_read() -> None:
    world = exoskel.load(document(EVERY_KIND)).world
    assert [(one.name, one.kind, one.target_kind, one.target, one.other, one.active) for one in world.equalities] == [
        ("free", "connect", "body", "a/c", "a/d", False),
        ("turned", "weld", "body", "a/a", "", True),
        ("pinned", "weld", "body", "", "a/c", True),
        ("held", "connect", "body", "", "a/d", False),
        ("sites", "weld", "site", "a/c/tip", "a/g/side", True),
        ("gear", "joint", "joint", "a/r", "a/e", True),
        ("curve", "joint", "joint", "a/c_joint", "a/c_joint", True),
        ("lines", "tendon", "tendon", "sum", "string", True),
        ("line", "tendon", "tendon", "string", "", True),
    ]
    assert world.equality("turned").solver == SolverParameters(torque_scale=0.5)
    assert world.equality("curve").polynomial == (0.0, 0.2, 0.3, 0.4, 0.5)
    assert (world.equality("curve").coordinate, world.equality("curve").other_coordinate) == (0, 1)
    assert world.equality("sites").solver.solref == (0.1, 1.0)


def test_loops_and_mimics_have_solver_parameters() -> None:
    text = document("""<connect body1="c" body2="d" anchor=".1 0 0" class="soft"/>
    <connect body1="c" body2="d" anchor=".1 .4 0" class="soft"/><weld body1="g" anchor=".1 .2 .3" torquescale=".5"/>
    <joint joint1="f" joint2="r" solref=".03 1"/>""")
    joints = {joint.name: joint for joint in exoskel.load(text).world.joints()}
    loop, weld = joints["c_revolute"], joints["g_weld"]
    assert (loop.kind, loop.pose.position) == ("revolute", (0.1, 0.2, 0.0))
    assert loop.axes[0] == pytest.approx((0.0, 0.4, 0.0))  # the points are 0.4 m apart
    assert loop.solver == SolverParameters((0.05, 0.7), (0.8, 0.9, 0.01, 0.4, 3.0))
    assert weld.solver == SolverParameters(torque_scale=0.5)
    assert joints["f"].mimic == exoskel.Mimic("r") and joints["f"].solver == SolverParameters((0.03, 1.0))
    assert rows(compiled(exoskel.convert(text, None, to="mjcf").data)) == rows(compiled(text))


def test_other_solver_parameters_of_one_joint_are_constraints_of_the_world() -> None:
    text = document("""<joint joint1="u_1" solref=".03 1"/><joint joint1="u_2" solref=".04 1"/>""")
    world = exoskel.load(text).world
    assert [one.target for one in world.equalities] == ["a/c_joint"]
    assert rows(compiled(exoskel.convert(text, None, to="mjcf").data)) == rows(compiled(text))


@pytest.mark.parametrize("format", ["skel", "xode"])
def test_files_embed_constraints(format: str) -> None:
    text = document(EVERY_KIND.replace("<weld", '<connect body1="g" body2="a" anchor="0 0 1"/><weld', 1))
    scene = exoskel.load(text.replace('tolerance="1e-20"', ""))
    report = exoskel.convert(scene, None, to=format)
    assert report.certificate.passed and not [item for item in report.items if "/equality" in item.path and item.loss]
    again = exoskel.load(report.data, format=format).world
    assert relative_difference(again.equalities, scene.world.equalities) < 1e-9
    assert [joint.solver for joint in again.joints() if joint.loop] == [SolverParameters()]
    back = compiled(exoskel.convert(again, None, to="mjcf").data)
    assert len(rows(back)) == len(rows(compiled(text)))


@pytest.mark.parametrize("format", ["sdf", "usd"])
def test_other_formats_report_constraints_as_dropped(format: str) -> None:
    report = exoskel.convert(document(EVERY_KIND), None, to=format)
    lost = [item for item in report.items if "/equality[1]/" in item.path and "/@" not in item.path]
    assert [(item.fate, item.loss) for item in lost] == [("dropped", True)] * 9


def test_worlds_are_rotated_with_their_constraints() -> None:
    text = document(EVERY_KIND)
    scene = exoskel.load(text)
    rotated = exoskel.load(exoskel.convert(scene, None, to="mjcf", up="y").data)
    one, other = exoskel.Simulation(scene), exoskel.Simulation(rotated)
    for simulation in (one, other):
        simulation.set_equality("held", True)
        simulation.step(100)
    assert other.positions == pytest.approx(one.positions, rel=1e-6, abs=1e-7)


def test_constraints_are_switched_in_a_simulation() -> None:
    text = document('<weld name="stop" body1="a" body2="world" active="false"/>')
    simulation = exoskel.Simulation(exoskel.load(text))
    simulation.step(50)
    assert simulation.equalities == {"stop": False}
    moved = abs(simulation.positions[0])
    simulation.set_equality("stop", True)
    model = compiled(text)
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 50)
    data.eq_active[0] = True
    mujoco.mj_step(model, data, 200)
    simulation.step(200)
    assert simulation.positions == pytest.approx(data.qpos - model.qpos0, rel=1e-8, abs=1e-9)
    assert abs(simulation.positions[0]) < moved
    simulation.reset()
    assert simulation.equalities == {"stop": False}
    with pytest.raises(exoskel.UnknownNameError, match="no equality constraint called 'go'"):
        simulation.set_equality("go", True)


def arm() -> exoskel.World:
    """Two bodies with a marker each, a tendon, and a constraint of each kind."""
    world = exoskel.World()
    model = world.add_model("arm")
    upper = model.add_body("upper", joint="revolute", axis=(0, 1, 0), mass=1)
    lower = model.add_body("lower", parent="upper", at=(1, 0, 0), joint="revolute", axis=(0, 1, 0), mass=1)
    for body in (upper, lower):
        body.markers.append(exoskel.Marker("tip", (0.5, 0, 0)))
    world.add_tendon("sum", joints={"upper_joint": 1.0, "lower_joint": 1.0})
    world.add_equality("point", "connect", "arm/lower", anchor=(1, 0, 0))
    world.add_equality("frames", "weld", "arm/upper/tip", "arm/lower/tip", target_kind="site")
    world.add_equality("square", "joint", "arm/upper_joint", "arm/lower_joint", polynomial=(0, 0, 1, 0, 0))
    world.add_equality("length", "tendon", "sum", active=False)
    return world


def test_references_follow_edits() -> None:
    world = arm()
    assert not exoskel.check(world)
    world.rename("arm/lower", "fore")
    world.rename("joint:lower_joint", "elbow")
    world.rename("arm", "limb")
    assert [(one.target, one.other) for one in world.equalities] == [
        ("limb/fore", ""),
        ("limb/upper/tip", "limb/fore/tip"),
        ("limb/upper_joint", "limb/elbow"),
        ("sum", ""),
    ]
    merged = exoskel.merge(world, arm(), world).world
    assert [one.name for one in merged.equalities[:5]] == ["point", "frames", "square", "length", "point(1)"]
    assert merged.equalities[-1].target == merged.tendons[-1].name != "sum"
    assert not exoskel.check(merged)
    world.remove("limb/fore")
    assert not world.equalities


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (("connect", "arm/hand"), "refers to 'arm/hand'"),
        (("weld", "arm/upper", "arm/upper"), "connects 'arm/upper' with itself"),
        (("tendon", ""), "must have a target"),
        (("spring", "arm/upper"), "the kind of equality 'new' is 'spring'"),
    ],
)
def test_invalid_constraints_are_rejected(values: tuple[str, ...], expected: str) -> None:
    with pytest.raises(exoskel.ExoskelError, match=expected):
        arm().add_equality("new", *values)  # type: ignore[arg-type]


def test_unknown_paths_and_repeated_names_are_reported() -> None:
    world = arm()
    world.equalities += [Equality("point", "connect", "body", "arm/hand"), Equality("x", "joint", "joint", "arm/knee")]
    assert sorted((one.code, one.message) for one in exoskel.check(world)) == [
        ("SC102", "world 'world' has several equality constraints called 'point'"),
        ("SC116", "equality constraint 'point' refers to 'arm/hand', which is not in the world; it is ignored"),
        ("SC116", "equality constraint 'x' refers to 'arm/knee', which is not in the world; it is ignored"),
    ]
    with no_edits():
        world.equalities.append(Equality("", "connect", "body", "arm/upper"))
    (nameless,) = (one for one in exoskel.check(world) if one.code == "SC101")
    assert "expected a name, and two ends" in nameless.message
    world.equalities = [one for one in world.equalities if one.name not in ("point", "")]
    assert exoskel.Simulation(world).equalities == {"frames": True, "square": True, "length": False}


def test_values_without_meaning_do_not_matter() -> None:
    world = arm()
    pose = exoskel.Pose((1.5, 0, 0))
    world.add_equality("same", "weld", "arm/upper", "arm/lower", anchor=(0.5, 0, 0), pose=pose)  # as without a pose
    world.add_equality("line", "tendon", "sum", anchor=(1, 2, 3), polynomial=(0, 5, 6, 7, 8), pose=pose, coordinate=3)
    report = exoskel.convert(world, None, to="mjcf")
    assert report.certificate.passed
    found = exoskel.diff(world, exoskel.load(report.data))
    assert not [one for one in found if "equalit" in one.path]


def test_a_model_selected_from_a_world_keeps_its_constraints(tmp_path: Any) -> None:
    world = arm()
    world.add_model("other").add_body("ball", mass=1)
    report = exoskel.convert(world, None, to="mjcf", model="arm")
    assert report.certificate.passed
    assert [one.name for one in exoskel.load(report.data).world.equalities] == ["point", "frames", "square", "length"]


def test_batches_have_constraints() -> None:
    scene = exoskel.load(document(EVERY_KIND + '<connect body1="g" body2="a" anchor="0 0 1"/>'))
    simulation = exoskel.Simulation(scene)
    simulation.step(50)
    batch = exoskel.rollout(scene, 2, 50)
    for positions in batch.positions[:, -1]:
        assert positions == pytest.approx(simulation.positions, rel=1e-9, abs=1e-10)
