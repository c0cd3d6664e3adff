"""Controls and activations of preserved actuators in keyframes."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import exoskel
from tests.support.edits import edited

ACTUATORS = """<motor name="tm" tendon="t"/><motor name="m" joint="r"/><muscle name="mu" joint="r" lengthrange="0.1 1"/>
<general name="f" joint="s" dyntype="filter" dynprm="0.1"/>"""
CONTROLS = "0.5 0.7 0.2 0.4"
KEYS = (
    f'<key name="home" ctrl="{CONTROLS}" act="0.3 -0.6"/>',
    '<key name="rest" ctrl="0 1 0 0"/>',
    '<key ctrl="0 0 0 9" act="0 5"/>',
)


def document(keys: str, actuators: str = ACTUATORS) -> str:
    return f"""<mujoco><worldbody><body name="a"><joint name="r" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/>
      <body name="b" pos=".6 0 0"><joint name="s" type="slide" axis="1 0 0"/><geom size=".1"/></body></body></worldbody>
      <tendon><fixed name="t"><joint joint="r" coef="1"/></fixed></tendon>
      <actuator>{actuators}</actuator><keyframe>{keys}</keyframe></mujoco>"""


def states(model: mujoco.MjModel, key: int) -> dict[str, list[float]]:
    """The controls and activations of a keyframe, by the names of actuators."""
    found: dict[str, list[float]] = {}
    for number in range(model.nu):
        first, count = model.actuator_actadr[number], model.actuator_actnum[number]
        name = model.actuator(number).name.replace("~", "")
        found[name] = [model.key_ctrl[key, number], *(model.key_act[key, first : first + count] if count else ())]
    return found


@pytest.mark.parametrize("count", [1, 2, 3])
def test_states_of_preserved_actuators_are_written(count: int) -> None:
    text = document("".join(KEYS[:count]))
    before = mujoco.MjModel.from_xml_string(text)
    report = exoskel.convert(edited(text), None, to="mjcf")
    assert report.certificate.passed
    for _ in range(2):
        after = mujoco.MjModel.from_xml_string(report.data.decode())
        found = [states(after, number) for number in range(after.nkey)]
        wanted = [states(before, number) for number in range(count)]
        assert found == [wanted[0], *wanted]
        data = [mujoco.MjData(model) for model in (before, after)]
        for model, one in zip((before, after), data, strict=True):
            mujoco.mj_resetDataKeyframe(model, one, model.nkey - 1)
            mujoco.mj_forward(model, one)
        assert np.array(data[1].qfrc_actuator) == pytest.approx(np.array(data[0].qfrc_actuator), rel=1e-9, abs=1e-9)
        report = exoskel.convert(edited(report.data), None, to="mjcf")
    assert not [
        item for item in exoskel.convert(edited(text), None, to="mjcf").items if "@act" in item.path and item.loss
    ]


def test_other_keyframes_and_removed_actuators() -> None:
    """New keyframes have no states of preserved actuators; removed ones do not displace those of others.

    `mu` is preserved, `f` is an actuator of the scene.
    """
    scene = exoskel.load(document("".join(KEYS)))
    world = scene.world
    del world.keyframes[0]
    world.add_keyframe("new")
    after = mujoco.MjModel.from_xml_string(exoskel.convert(scene, None, to="mjcf").data.decode())
    assert states(after, after.key("rest").id) == {"tm": [0], "m": [1], "mu": [0, 0], "f": [0, 0]}
    assert states(after, after.key("new").id) == {"tm": [0.5], "m": [0.7], "mu": [0, 0], "f": [0.4, -0.6]}
    world.actuators.clear()
    after = mujoco.MjModel.from_xml_string(exoskel.convert(scene, None, to="mjcf").data.decode())
    assert states(after, 0) == {"mu": [0.2, 0.3]}


@pytest.mark.parametrize(
    ("names", "fate"), [("f", "kept"), ("mu", "dropped"), ("mu f", "approximated")], ids=["read", "unread", "both"]
)
def test_states_of_actuators_that_are_not_read_are_lost_in_other_formats(names: str, fate: str) -> None:
    actuators = {
        "f": '<general name="f" joint="s" dyntype="filter" dynprm="0.1"/>',
        "mu": '<muscle name="mu" joint="r" lengthrange="0.1 1"/>',
    }
    chosen = [actuators[name] for name in names.split()]
    key = f'<key ctrl="{" ".join(["0.5"] * len(chosen))}" act="{" ".join(["0.5"] * len(chosen))}"/>'
    report = exoskel.convert(document(key, "".join(chosen)), None, to="skel")
    found = {item.path.rpartition("@")[2]: item for item in report.items if "/key" in item.path}
    assert {name: found[name].fate.value for name in ("ctrl", "act")} == {"ctrl": fate, "act": fate}
    assert {found[name].loss for name in ("ctrl", "act")} == {fate != "kept"}


MIXED = """<muscle name="mu" joint="r" lengthrange="0.1 1"/><motor name="m" joint="r"/>
<general name="f" joint="s" dyntype="filter" dynprm="0.1"/><position joint="s" kp="3"/><motor name="tm" tendon="t"/>
<damper name="d" joint="s" kv="2" ctrlrange="0 1"/>"""
MIXED_KEYS = '<key name="home" ctrl="0.1 0.2 0.3 0.4 0.5 0.6" act="0.3 -0.6"/><key ctrl="6 5 4 3 2 1"/>'


def order(model: mujoco.MjModel) -> list[tuple[int, ...]]:
    """What each actuator acts on, and how, by its number."""
    kinds = (model.actuator_gaintype, model.actuator_biastype, model.actuator_dyntype, model.actuator_trntype)
    targets = [
        (int(model.actuator_trnid[number, 0]), *(int(kind[number]) for kind in kinds)) for number in range(model.nu)
    ]
    assert len(set(targets)) == model.nu
    return targets


@pytest.mark.parametrize("build", ["file", "live"])
def test_actuators_stay_in_the_order_of_the_document(build: str) -> None:
    """Programs set controls by the numbers of actuators."""
    text = document(MIXED_KEYS, MIXED)
    before = mujoco.MjModel.from_xml_string(text)
    if build == "file":
        after = mujoco.MjModel.from_xml_string(exoskel.convert(edited(text), None, to="mjcf").data.decode())
    else:
        after = exoskel.to_mujoco(exoskel.load(text)).model
    assert order(after) == order(before)
    np.testing.assert_array_equal(after.key_ctrl[1:], before.key_ctrl)
    np.testing.assert_array_equal(after.key_act[1:], before.key_act)


def test_actuators_of_an_edited_world_stay_in_its_order() -> None:
    scene = exoskel.load(document(MIXED_KEYS, MIXED))
    actuators = scene.world.actuators
    actuators[:] = [actuators[3], actuators[0]]
    model = mujoco.MjModel.from_xml_string(exoskel.convert(scene, None, to="mjcf").data.decode())
    names = [model.actuator(number).name for number in range(model.nu)]
    assert [name for name in names if name in ("m", "tm")] == ["tm", "m"]
    assert sorted(names) == ["d", "m", "mu", "tm"]
    assert names.index("mu") < names.index("m") and names.index("d") > names.index("tm")
    row = dict(zip(names, model.key_ctrl[1].tolist(), strict=True))
    assert row == {"mu": 0.1, "m": 0.2, "tm": 0.5, "d": 0.6}


MOCAP = """<mujoco><worldbody>
  <body name="a" mocap="true" pos="0 0 2"><geom size="0.1"/></body>
  <body name="b" pos="1 0 0"><joint name="j"/><geom size="0.1"/></body>
  <body name="c" mocap="true" pos="0 3 2" euler="0 0 30"><geom size="0.2"/><body name="d"><geom size="0.1"/></body></body>
</worldbody>
<equality><weld name="w" body1="a" body2="b"/></equality>
<keyframe><key name="home" qpos="0.3" mpos="0 0 3 0 4 2"/><key name="away" mquat="0 1 0 0 0 0 1 0"/></keyframe></mujoco>"""


def test_mocap_bodies_stay_in_new_documents() -> None:
    report = exoskel.convert(edited(MOCAP), None, to="mjcf")
    before, after = (mujoco.MjModel.from_xml_string(text) for text in (MOCAP, report.data.decode()))
    assert after.nmocap == 2
    numbers = [after.key("home").id, after.key("away").id]
    np.testing.assert_allclose(after.key_mpos[numbers], before.key_mpos, atol=1e-12)
    np.testing.assert_allclose(after.key_mquat[numbers], before.key_mquat, atol=1e-12)
    np.testing.assert_allclose(after.key_mpos[0], before.key_mpos[0], atol=1e-12)  # the initial state
    assert [after.body(int(one)).name for one in np.flatnonzero(after.body_mocapid >= 0)] == ["a", "c"]
    states = [one for one in report.items if one.attribute in ("mocap", "mpos", "mquat")]
    assert len(states) == 4
    assert not any(one.loss for one in states), states


def test_a_mocap_body_that_moves_or_is_removed_is_none() -> None:
    scene = edited(MOCAP)
    scene.world.remove("c")
    report = exoskel.convert(scene, None, to="mjcf")
    model = mujoco.MjModel.from_xml_string(report.data.decode())
    assert model.nmocap == 1
    np.testing.assert_allclose(model.key("home").mpos, [0, 0, 3])
    lost = {one.path.rpartition("/")[2] for one in report.items if one.loss}
    assert {"@mpos", "@mquat"} <= lost


def test_mocap_bodies_are_static_in_other_formats() -> None:
    report = exoskel.convert(MOCAP, None, to="sdf")
    lost = [one for one in report.items if one.attribute == "mocap"]
    assert len(lost) == 2
    assert all(one.loss and "mocap" in one.why for one in lost)


def test_mujoco_objects_have_mocap_bodies() -> None:
    made = exoskel.to_mujoco(exoskel.load(MOCAP))
    assert made.model.nmocap == 2
