"""Values of SDFormat are in the output if their fates say so: a change of the value changes the output, or does not."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from lxml import etree

import exoskel
from exoskel.fates import Fate, NodeFate
from tests.sdf.test_gazebo_world import gears

TARGETS = ["sdf", "sdf for dart", "urdf", "mjcf", "skel", "xode", "usd", "gltf"]
WORLD = f"""<sdf version="1.9"><world name="w">
  <physics name="p"><max_step_size>0.002</max_step_size></physics>
  <physics name="q" default="true"><max_step_size>0.004</max_step_size></physics>
  <physics name="r" default="true"><max_step_size>0.006</max_step_size></physics>
  <model name="mast"><pose>0 0 1 0 0 0</pose>{gears()}
    <joint name="s" type="prismatic"><parent>post</parent><child>sled</child><axis><xyz>1 0 0</xyz>
      <limit><lower>-1</lower><effort>3</effort></limit>
      <mimic joint="wheel_axle"><multiplier>0.5</multiplier><offset>0.1</offset></mimic></axis></joint>
    <link name="sled"><inertial><mass>2</mass></inertial></link></model>
</world></sdf>""".replace("<axis2>", "<axis2><limit><lower>-1</lower></limit><dynamics><damping>3</damping></dynamics>")
NUMBERS = re.compile(r"[-+0-9.\s]+")


def convert(data: bytes, target: str) -> exoskel.Report:
    to, _, program = target.partition(" for ")
    return exoskel.convert(data, to=to, model="mast" if to == "urdf" else None, target=program or "portable")


def changed_documents(text: str) -> Iterator[tuple[int, bytes]]:
    """Each element with numbers, and the document with other numbers there."""
    root = etree.fromstring(text.encode())
    for node, element in enumerate(root.iter()):
        stated = element.text
        if len(element) == 0 and stated and stated.strip() and NUMBERS.fullmatch(stated):
            element.text = " ".join(f"{2.0 * float(number) + 0.25 * i:g}" for i, number in enumerate(stated.split()))
            yield node, etree.tostring(root)
            element.text = stated


def elements(report: exoskel.Report) -> dict[int, NodeFate]:
    return {one.node: one for one in report.items if not one.attribute and one.node >= 0}


@pytest.mark.parametrize("target", TARGETS)
def test_the_output_depends_on_a_value_only_if_its_fate_says_so(target: str) -> None:
    text = re.sub(r"<pose>[^<]*</pose>|<collision.*?</collision>|<light.*?</light>|<sensor.*?(/>|</sensor>)", "", WORLD)
    before = convert(text.encode(), target)
    found = elements(before)
    wrong = {
        (found[node].path, found[node].fate.value, found[node].why)
        for node, data in changed_documents(text)
        if (convert(data, target).data == before.data) is not (found[node].fate is Fate.DROPPED)
    }
    assert wrong == set()


@pytest.mark.parametrize("target", TARGETS)
def test_the_fate_of_a_gearbox_is_that_of_the_mimic_that_it_becomes(target: str) -> None:
    report = convert(WORLD.encode(), target)
    found = [one for one in report.items if "joint[gears]" in one.path]
    (ratio,) = [one for one in found if one.path.endswith("gearbox_ratio")]
    reason = {"sdf for dart": "SD206", "gltf": "GL301"}.get(target, "")
    if reason:
        assert {(one.fate, reason in one.why) for one in found} == {(Fate.DROPPED, True)}
    else:
        assert ratio.fate in (Fate.LOWERED, Fate.KEPT)
        assert not [one for one in found if one.loss]
        assert {one.fate for one in found if "limit" in one.path or "dynamics" in one.path} == {Fate.DROPPED}


def test_a_gearbox_of_an_included_model_has_the_same_fate(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("models")
    (folder / "mast.sdf").write_text(f'<sdf version="1.9"><model name="mast">{gears()}</model></sdf>')
    place = "<include><uri>mast.sdf</uri><name>{}</name></include>"
    world = folder / "w.sdf"
    world.write_text(f'<sdf version="1.9"><world name="w">{place.format("a")}{place.format("b")}</world></sdf>')
    for target, fate in (("portable", Fate.LOWERED), ("dart", Fate.DROPPED)):
        report = exoskel.convert(world, to="sdf", target=target)
        (ratio,) = [one for one in report.items if one.path.endswith("gearbox_ratio")]
        assert ratio.file and ratio.fate is fate


def test_settings_of_self_collision_that_differ_from_the_world_are_approximated() -> None:
    link = '<link name="{}"><inertial><mass>1</mass></inertial></link>'
    links = link.format("a") + link.format("b")
    model = '<model name="{}"><self_collide>{}</self_collide>' + links + "</model>"
    text = f'<sdf version="1.9"><world name="w">{model.format("x", 1)}{model.format("y", 0)}</world></sdf>'
    report = exoskel.convert(text, to="sdf")
    found = {one.path[:8]: one for one in report.items if one.path.endswith("self_collide")}
    assert found["model[x]"].fate is Fate.EXACT
    assert found["model[y]"].fate is Fate.APPROXIMATED and "SD033" in found["model[y]"].why


@pytest.mark.parametrize("to", ["mjcf", "urdf", "usd"])
def test_a_static_model_without_joints_of_its_own_is_fixed_in_the_output(to: str) -> None:
    text = '<sdf version="1.9"><model name="m"><static>true</static><link name="a"/></model></sdf>'
    found = {one.path: one for one in exoskel.convert(text, to=to).items}
    assert found["model[m]/static"].fate in (Fate.EXACT, Fate.LOWERED)
