"""Elements that a scene does not contain are written to SDF again at the same place, or reported, wherever they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

import exoskel
from exoskel.fates import Fate
from exoskel.formats.sdf.vocabulary import SDF
from tests.sdf.support import link
from tests.sdf.test_included_elements import add_model

MARK = "mark_of_the_test"
MODEL = """<model name="{name}">{model}<link name="a"><inertial><mass>1</mass></inertial>{link}
<collision name="c"><geometry><sphere><radius>1</radius></sphere></geometry>{collision}</collision>
<visual name="v"><geometry><sphere><radius>1</radius></sphere></geometry><material><diffuse>1 0 0 1</diffuse>{material}
</material>{visual}</visual></link>{other}
<joint name="j" type="revolute"><parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz></axis>{joint}</joint>
{inside}</model>"""
_UNREAD = ("Not part of a scene.", "Appearance or solver setting; not read.")


def unread(around: str) -> list[str]:
    """The tags of elements in others that a scene does not contain, by the vocabulary."""
    owner = next(rule for rule in _rules() if rule.name == around)
    return [rule.name for rule in owner.children.values() if rule.meaning in _UNREAD]


def _rules() -> Iterator[Any]:
    waiting, known = [SDF.root], {id(SDF.root)}
    while waiting:
        rule = waiting.pop(0)
        yield rule
        new = [one for one in rule.children.values() if id(one) not in known]
        known.update(map(id, new))
        waiting += new


def element(tag: str, inside: str = "") -> str:
    attributes = "" if tag == "allow_auto_disable" else ' name="x" type="odd" filename="f"'
    return f"<{tag}{attributes}><{MARK}/>{inside}</{tag}>"


def model(name: str, around: str = "", added: str = "", inside: str = "") -> str:
    slots = dict.fromkeys(("model", "link", "collision", "visual", "material", "joint"), "")
    return MODEL.format(
        **{**slots, **({around: added} if around in slots else {})}, name=name, other=link("b"), inside=inside
    )


PLACES = [
    (around, tag)
    for around in ("model", "link", "collision", "visual", "material", "joint")
    for tag in unread(around)
    if tag not in ("initial_position", "auto_inertia_params")  # masses are written as numbers
]
MOVED = ("plugin", "gripper")
"""Elements of nested models that the model around them can have; others are settings of the model itself."""
NAMED = (*MOVED, "sensor", "light", "model_state")
"""Elements with names: SDF merges those of a merged model into the model around it."""


def nested(depth: int) -> Callable[[Path, str, str], str]:
    def make(folder: Path, around: str, added: str) -> str:
        text = model("inner", around, added)
        for name in ("middle", "outer")[2 - depth :]:
            text = model(name, inside=text)
        return text

    return make


def included(how: str) -> Callable[[Path, str, str], str]:
    def make(folder: Path, around: str, added: str) -> str:
        add_model(folder, "part", f'<sdf version="1.9">{model("part", around, added)}</sdf>')
        merge = ' merge="true"' if how == "merged" else ""
        include = f"<include{merge}><uri>model://part</uri></include>"
        if how == "in a world":
            return include
        around_it = f'<model name="outer">{link("base")}{include}</model>'
        return around_it if how != "twice nested" else f'<model name="top">{link("base")}{around_it}</model>'

    return make


SOURCES = {
    "in a model": nested(0),
    "in a nested model": nested(1),
    "in a model of a nested model": nested(2),
    **{f"in a file included {how}": included(how) for how in ("in a world", "merged", "nested", "twice nested")},
}
EDITS: dict[str, dict[str, Any]] = {"all": {}, "split": {"split": True}, "model": {"model": None}, "renamed": {}}


def check(folder: Path, text: str, edit: str, around: str, tag: str) -> tuple[Fate, int]:
    """The fate of the mark, and how often it is in the output; each time it is where it was."""
    source, out = folder / "in.sdf", folder / "out.sdf"
    source.write_text(f'<sdf version="1.9"><world name="w">{text}{model("spare")}</world></sdf>')
    scene = exoskel.load(source)
    first = scene.worlds[0].models[0]
    options: dict[str, Any] = {}
    if edit == "split":
        options, out = {"split": True}, folder / "out"
    elif edit == "model":
        options = {"model": first.name}
    elif edit == "renamed":
        for name in ("a", "j"):
            for one in [*first.bodies, *first.joints]:
                if one.name.endswith(f"::{name}") or one.name == name:
                    scene.worlds[0].rename(one, f"{one.name}_new")
        scene.worlds[0].rename(first, "new")
    report = exoskel.convert(scene, out, to="sdf", **options)
    assert report.certificate.passed
    found = []
    for file in [out] if out.is_file() else sorted(out.glob("*.sdf")):
        found += etree.parse(file).getroot().iterfind(f".//{MARK}")
    for one in found:
        owner = one.getparent().getparent()
        assert (one.getparent().tag, owner.tag) == (tag, around)
        while owner.tag not in ("link", "joint", "model", "world"):
            owner = owner.getparent()
        new = "_new" if edit == "renamed" else ""
        if owner.tag in ("link", "joint"):
            assert owner.get("name").endswith(("a" if owner.tag == "link" else "j") + new)
    (fate,) = {item.fate for item in report.items if item.path.endswith(f"/{MARK}")}
    return fate, len(found)


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("where", SOURCES)
@pytest.mark.parametrize(("around", "tag"), PLACES, ids=[f"{tag} of {around}" for around, tag in PLACES])
def test_unread_elements_are_kept_or_reported(tmp_path: Path, around: str, tag: str, where: str, edit: str) -> None:
    text = SOURCES[where](tmp_path, around, element(tag))
    fate, count = check(tmp_path, text, edit, around, tag)
    is_nested = where not in ("in a model", "in a file included in a world")
    is_setting = around == "model" and is_nested and tag not in (NAMED if "merged" in where else MOVED)
    assert (fate is not Fate.DROPPED) is (count == 1)
    assert count == (0 if is_setting else 1)


@pytest.mark.parametrize("tag", unread("world"))
def test_unread_elements_of_a_world_are_kept(tmp_path: Path, tag: str) -> None:
    assert check(tmp_path, element(tag) + model("m"), "all", "world", tag) == (Fate.KEPT, 1)


@pytest.mark.parametrize("edit", ["all", "split", "model"])
@pytest.mark.parametrize("is_nested", [False, True])
def test_plugins_of_includes_are_those_of_their_models(tmp_path: Path, is_nested: bool, edit: str) -> None:
    add_model(tmp_path, "part", f'<sdf version="1.9">{model("part")}</sdf>')
    joint = "<link_name>a</link_name>"
    text = f"<include><uri>model://part</uri>{element('plugin', joint)}</include>"
    text = f'<model name="outer">{link("base")}{text}</model>' if is_nested else text
    expected = Fate.LOWERED if is_nested else Fate.KEPT
    assert check(tmp_path, text, edit, "model", "plugin") == (expected, 1)


@pytest.mark.parametrize("where", [name for name in SOURCES if "merged" not in name])
def test_parameters_of_nested_models_follow_the_names_of_the_output(tmp_path: Path, where: str) -> None:
    tags = ("joint_name", "left_joint", "gripper_link", "palm_link")
    inside = "".join(f"<{tag}>{'j' if 'joint' in tag else 'a'}</{tag}>" for tag in tags)
    text = SOURCES[where](tmp_path, "model", element("gripper", inside) + element("plugin", "<link_name>a</link_name>"))
    source, out = tmp_path / "in.sdf", tmp_path / "out.sdf"
    source.write_text(f'<sdf version="1.9"><world name="w">{text}</world></sdf>')
    report = exoskel.convert(source, out, to="sdf")
    root = etree.parse(out).getroot()
    (kept,) = {one.fate for one in report.items if f"/{MARK}" in one.path}
    assert kept is (Fate.KEPT if "nested" not in where else Fate.LOWERED)
    for tag in (*tags, "link_name"):
        (text,) = {one.text for one in root.iterfind(f".//{tag}")}
        assert root.find(f".//*[@name='{text}']") is not None and text.endswith("j" if "joint" in tag else "a")


def test_a_plugin_of_a_nested_model_that_names_no_link_is_approximated(tmp_path: Path) -> None:
    text = nested(1)(tmp_path, "model", element("plugin"))
    assert check(tmp_path, text, "all", "model", "plugin") == (Fate.APPROXIMATED, 1)


@pytest.mark.parametrize("is_included", [True, False])
def test_a_plugin_of_a_removed_joint_is_dropped_beside_a_model_with_the_same_names(
    tmp_path: Path, is_included: bool
) -> None:
    plugin = element("plugin", "<joint_name>j</joint_name>")
    add_model(tmp_path, "part", f'<sdf version="1.9">{model("part", "model", plugin)}</sdf>')
    include = "<include><uri>model://part</uri><name>{}</name></include>"
    parts = [include.format(name) if is_included else model(name, "model", plugin) for name in ("left", "right")]
    source = tmp_path / "in.sdf"
    source.write_text(f'<sdf version="1.9"><model name="m">{link("base")}{"".join(parts)}</model></sdf>')
    scene = exoskel.load(source)
    scene.world.remove("m/left::b")
    report = exoskel.convert(scene, tmp_path / "out.sdf", to="sdf")
    assert [one.text for one in etree.parse(tmp_path / "out.sdf").iterfind(".//joint_name")] == ["right__j"]
    assert [one for one in report.losses if one.path.endswith("/plugin[x]")]
