"""Keyframes also state numbers of elements that are ignored: the others are read, and the loss is reported."""

from __future__ import annotations

import mujoco
import pytest

import exoskel

INSTANCE = """<plugin plugin="mujoco.pid"><instance name="p"><config key="kp" value="4"/></instance></plugin>"""
PLUGIN = '<plugin joint="j" plugin="mujoco.pid" instance="p"/>'
FLEX = '<flexcomp name="f" type="grid" count="2 2 2" spacing=".1 .1 .1" pos="0 0 1" mass="1" dim="3" radius=".01"/>'


def document(keys: str, actuators: str = "", bodies: str = "") -> str:
    instance = f"<extension>{INSTANCE}</extension>" if actuators else ""
    return f"""<mujoco>{instance}<worldbody><body name="b"><joint name="j"/><geom size=".1"/></body>{bodies}</worldbody>
      <actuator>{actuators}</actuator><keyframe>{keys}</keyframe></mujoco>"""


@pytest.mark.parametrize(
    ("actuators", "controls"),
    [
        (f'<motor name="m" joint="j"/>{PLUGIN}', "3 4"),
        (f'{PLUGIN}<motor name="m" joint="j"/>', "4 3"),
        (f'{PLUGIN}<motor name="m" joint="j"/>{PLUGIN}', "4 3 5"),
    ],
)
def test_controls_of_plugins_are_left_out(actuators: str, controls: str) -> None:
    text = document(f'<key name="k" qpos="0.5" ctrl="{controls}"/>', actuators)
    assert mujoco.MjModel.from_xml_string(text).nkey == 1
    scene = exoskel.load(text)
    assert not [one for one in scene.diagnostics if one.severity == "error"]
    assert [(one.name, one.control) for one in scene.world.actuators] == [("m", 3.0)]
    assert dict(scene.world.keyframes[0].controls) == {"m": 3.0}
    assert scene.world.models[0].joints[0].positions == (0.5,)
    assert [one.key for one in scene.diagnostics if one.key.startswith("MJ311")] == ["MJ311.ignored"]


def test_positions_of_deformable_bodies_are_left_out() -> None:
    count = 1 + 3 * 8
    numbers = " ".join(["0.1"] * count)
    text = document(f'<key name="k" time="2" qpos="{numbers}"/>', bodies=FLEX)
    assert mujoco.MjModel.from_xml_string(text).nkey == 1
    scene = exoskel.load(text)
    assert not [one for one in scene.diagnostics if one.severity == "error"]
    assert [(one.name, one.time) for one in scene.world.keyframes] == [("k", 2.0)]
    report = exoskel.convert(text, None, to="skel")
    lost = {one.path.rpartition("/")[2] for one in report.items if one.loss and "MJ311" in (one.why or "")}
    assert lost == {"@qpos"}


def test_unedited_documents_keep_their_keyframes() -> None:
    text = document('<key name="k" ctrl="3 4"/>', f'<motor name="m" joint="j"/>{PLUGIN}')
    report = exoskel.convert(text, None, to="mjcf")
    assert mujoco.MjModel.from_xml_string(report.data.decode()).key_ctrl.tolist() == [[3.0, 4.0]]
    assert not [one for one in report.items if one.loss]
