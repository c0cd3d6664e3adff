"""Conversions write computed numbers without rounding errors, and numbers of the source with all digits."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import exoskel
from exoskel.source.document import Document
from exoskel.source.markup import Markup
from exoskel.source.settled_numbers import given_numbers, settle_json, settle_markup
from tests.support.places import SAMPLES

LONG = "0.1234567890123456"
SCENE = f"""<skel version="1.0"><world name="w"><physics><gravity>0 0 -9.81</gravity></physics>
<skeleton name="s"><body name="a"><transformation>0.1 0.2 {LONG} 0.3 0.2 0.1</transformation>
<inertia><mass>{LONG}</mass></inertia>
<collision_shape><transformation>0 0 0.3 0 1.5707963267948966 0</transformation><geometry><cylinder><radius>0.1</radius>
<height>0.7</height></cylinder></geometry></collision_shape></body>
<joint name="j" type="revolute"><parent>world</parent><child>a</child><transformation>0.7 0.1 0 0 0 0.2</transformation>
<axis><xyz>0 0.6 0.8</xyz></axis></joint></skeleton></world></skel>"""
NUMBER = re.compile(r"(?<![\w.])-?[0-9]+\.[0-9]+(?:e[-+]?[0-9]+)?(?![\w.])")


def digits(number: str) -> int:
    return len(number.lstrip("-").partition("e")[0].replace(".", "").lstrip("0"))


@pytest.mark.parametrize("format", ["urdf", "sdf", "mjcf", "usd", "skel", "xode"])
def test_computed_numbers_have_13_digits_and_no_noise(format: str) -> None:
    report = exoskel.convert(SCENE, None, to=format)
    assert report.certificate.passed
    found = NUMBER.findall(report.data.decode())
    assert [one for one in found if digits(one) > 13 and one.lstrip("-") not in (LONG, "1.5707963267948966")] == []
    assert [one for one in found if 0.0 < abs(float(one)) < 1e-15 and float(one) != 1e-20] == []


@pytest.mark.parametrize("to", ["skel", "xode"])
@pytest.mark.parametrize("file", sorted(SAMPLES.glob("*/*.[sx]*")), ids=lambda file: file.name)
def test_densities_moments_and_embedded_data_of_samples_have_no_noise(file: Path, to: str) -> None:
    stated = {one.lstrip("-") for one in NUMBER.findall(file.read_text())}
    report = exoskel.convert(file, None, to=to)
    assert report.certificate.passed
    written = {one.lstrip("-") for one in NUMBER.findall(report.data.decode())}
    assert [one for one in written - stated if digits(one) > 13] == []


def test_numbers_in_embedded_data_are_rounded_and_texts_are_not() -> None:
    text = '{"name": "a \\" 0.3000000000000001", "x": [0.30000000000000004, -1.5, 0.1234567890123456, 3.5978049625629005e-07]}'
    settled = settle_json(text, frozenset({0.1234567890123456}))
    assert settled == '{"name": "a \\" 0.3000000000000001", "x": [0.3, -1.5, 0.1234567890123456, 3.597804962563e-07]}'


@pytest.mark.parametrize("format", ["urdf", "sdf", "mjcf"])
def test_numbers_of_the_source_keep_all_digits(format: str) -> None:
    assert LONG in exoskel.convert(SCENE, None, to=format).data.decode()


@pytest.mark.parametrize("to", ["skel", "sdf", "urdf", "mjcf"])
def test_masses_from_densities_are_written_as_people_write_them(to: str) -> None:
    box = """<xode><world><space><body name="b"><mass><mass_shape density="40"><box sizex="0.3" sizey="1" sizez="1"/>
    </mass_shape></mass></body></space></world></xode>"""
    assert exoskel.load(box).world.models[0].bodies[0].mass == 12.0
    other = box.replace('"0.3"', '"0.1"').replace('"40"', '"3"')
    assert "0.30000000000000004" not in exoskel.convert(other, None, to=to).data.decode()


def test_numbers_in_single_precision_have_its_digits() -> None:
    text = exoskel.convert(SAMPLES / "skel" / "geometry_zoo.skel", None, to="usd").data.decode()
    points = [line for line in text.splitlines() if "point3f[] points" in line]
    assert points
    assert max(digits(number) for line in points for number in NUMBER.findall(line)) <= 9


def test_names_and_whole_numbers_are_not_rounded() -> None:
    name = "0.1234567890123456789"
    source = SCENE.replace('name="a"', f'name="{name}"').replace("<child>a<", f"<child>{name}<")
    assert f'name="{name}"'.encode() in exoskel.convert(source, None, to="urdf").data
    root = Markup("a", {"size": "123456789012345678"}, "0.3000000000000001 1.0000000000000002")
    settle_markup(root, given_numbers([Document(b"<a>0.3000000000000001</a>")]))
    assert (root.attributes["size"], root.text) == ("123456789012345678", "0.3000000000000001 1")


@pytest.mark.parametrize("to", ["skel", "xode"])
def test_rounded_numbers_are_not_embedded(to: str) -> None:
    source = """<mujoco><worldbody><body euler="10 20 30" pos="0.1 0.2 0.3">
    <joint type="hinge" axis="1 2 3" limited="true" range="-10 20" damping="0.1"/>
    <geom type="box" size="0.1 0.2 0.3" euler="5 6 7"/></body></worldbody></mujoco>"""
    report = exoskel.convert(source, None, to=to)
    assert report.certificate.passed
    assert "-0.1745329251994" in report.data.decode()
    assert to == "xode" or 'field="dofs"' not in report.data.decode()
