"""Embedded data: applied, overridden by edits of the file, and validated."""

from __future__ import annotations

from math import pi
from pathlib import Path

import numpy as np
import pytest

import exoskel
from exoskel.formats.write import reread, write
from exoskel.scene.json_codec import fingerprint

ARM = f"""<skel version="1.0"><world name="w"><physics><time_step>0.001</time_step><gravity>0 0 -9.81</gravity></physics>
<skeleton name="arm"><body name="a"><transformation>1 0 0 0 0 0</transformation></body>
<joint type="revolute" name="j"><parent>world</parent><child>a</child><transformation>-1 0 0 0 0 0</transformation>
<axis><xyz>0 0 1</xyz><dynamics><damping>0.5</damping></dynamics></axis><init_pos>{pi / 2}</init_pos></joint>
</skeleton></world></skel>"""


def converted(text: str = ARM) -> str:
    return write(exoskel.load(text), "xode").data.decode()


def test_a_body_moved_in_the_file_keeps_its_new_pose() -> None:
    text = converted()
    assert np.allclose(
        exoskel.Kinematics(reread(text.encode(), "xode", None).world.models).poses()[0][:3, 3], [0, 1, 0]
    )
    moved = text.replace('<position x="', '<position z="0.5" x="', 1).replace(' z="0"/>', "/>", 1)
    assert moved != text
    scene = reread(moved.encode(), "xode", None)
    assert any(d.key == "X910.stale" for d in scene.diagnostics)
    place = exoskel.Kinematics(scene.world.models).poses()[0][:3, 3]
    assert np.allclose(place, [0, 1, 0.5], atol=1e-9), "the pose in the file wins, without an embedded angle added"
    assert scene.world.models[0].joints[0].dofs[0].damping == 0.5, "values that do not affect poses are preserved"


@pytest.mark.parametrize(
    "sample", ["skel/pendulum.skel", "skel/walker.skel", "xode/ragdoll.xode", "xode/extensions.xode"]
)
def test_a_converted_file_converts_back_without_loss(sample: str, tmp_path: Path) -> None:
    one, two = ("xode", "skel") if sample.startswith("skel") else ("skel", "xode")
    exoskel.convert(f"dart://sample/{sample}", tmp_path / f"there.{one}")
    back = exoskel.convert(tmp_path / f"there.{one}", tmp_path / f"back.{two}", strict=True)
    assert back.saved and not back.losses


HOSTILE = {
    "no JSON": "{",
    "a wrong type": '{"position": "x"}',
    "an infinite number": '{"position": [1e999, 0, 0]}',
    "a word for infinity": '{"position": ["inf", 0, 0]}',
    "deep nesting": "[" * 5000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_broken_embedded_data_is_reported_and_ignored(name: str) -> None:
    text = converted()
    at = text.index('<carry field="pose"')
    begin, end = text.index(">", at) + 1, text.index("</carry>", at)
    scene = reread((text[:begin] + HOSTILE[name] + text[end:]).encode(), "xode", None)
    assert any(d.key == "X910.broken" for d in scene.diagnostics) and len(scene.world.models) == 1


@pytest.mark.parametrize(
    "models",
    [
        '[{"bodies": ["a"], "at": "x"}]',
        '[{"bodies": ["a"], "at": null}]',
        '[{"bodies": ["nobody"]}]',
        "[1]",
        "3",
        '[{"bodies": "a"}]',
    ],
)
def test_a_broken_grouping_is_ignored(models: str) -> None:
    text = converted()
    begin, end = text.index("<models>") + 8, text.index("</models>")
    scene = reread((text[:begin] + models + text[end:]).encode(), "xode", None)
    assert [body.name for body in scene.world.bodies()] == ["a"]


def test_inconsistent_embedded_data_is_ignored_as_a_whole() -> None:
    text = converted(
        ARM.replace('type="revolute"', 'type="euler"')
        .replace("<axis>", "<axis_order>xyz</axis_order><axis>")
        .replace(f"<init_pos>{pi / 2}</init_pos>", "")
    )
    broken = text.replace('"zyx"', '"qqq"').replace('>"euler"<', '>"planar"<')
    scene = reread(broken.encode(), "xode", None)
    assert scene.world.models and exoskel.Kinematics(scene.world.models).poses().shape == (1, 4, 4)


def test_comments_keep_their_positions_and_order() -> None:
    text = (
        ARM.replace("<skel ", "<!-- head --><skel ").replace("</skeleton>", "<!-- end of arm --></skeleton>")
        + "<!-- tail -->"
    )
    out = write(exoskel.load(text), "skel").data.decode()
    assert (
        out.index("head") < out.index("<skel") < out.index("end of arm") < out.index("</skeleton>") < out.index("tail")
    )
    assert out.rstrip().endswith("<!-- tail -->")


def test_numbers_too_small_for_other_readers_are_written_as_zero() -> None:
    out = write(exoskel.load(ARM.replace(">1 0 0 0 0 0<", ">1 1e-310 0 0 0 0<")), "skel").data
    assert b"e-310" not in out


def test_capsules_from_xode_get_a_collision_detector_that_supports_them() -> None:
    out = write(exoskel.load("dart://sample/xode/ragdoll.xode"), "skel").data
    assert b"<collision_detector>dart</collision_detector>" in out


def _two_models_with_the_same_body() -> exoskel.Scene:
    world = exoskel.World(name="w")
    for name in ("one", "two"):
        model = world.add_model(name)
        base = model.add_body("base", mass=1.0)
        model.add_body("tip", mass=1.0, parent=base, joint="revolute", axes=[(0.0, 0.0, 1.0)])
    return exoskel.Scene(worlds=[world])


def test_bodies_renamed_in_the_file_are_not_embedded_again_for_their_joints() -> None:
    written = write(_two_models_with_the_same_body(), "xode")
    text = written.data.decode()
    assert 'name="tip(1)"' in text and 'field="name"' in text
    assert 'field="child"' not in text and 'field="parent"' not in text
    joint = written.reread.world.models[1].joints[1]
    assert (joint.child.name, joint.parent and joint.parent.name) == ("tip", "base")


def test_embedded_names_of_the_bodies_of_joints_are_still_read() -> None:
    text = write(_two_models_with_the_same_body(), "xode").data.decode()
    place = text.index("<carry", text.index('<joint name="tip_joint(1)"'))
    parts = [
        f'<carry field="{field}" was="{fingerprint(f"{name}(1)")}">"{name}"</carry>'
        for field, name in (("child", "tip"), ("parent", "base"))
    ]
    older = text[:place] + "".join(parts) + text[place:]
    scene = reread(older.encode(), "xode", None)
    assert not scene.diagnostics
    joint = scene.world.models[1].joints[1]
    assert joint.child is scene.world.models[1].bodies[1] and joint.parent is scene.world.models[1].bodies[0]
