"""Conversions write computed numbers without rounding errors, and numbers of the source with all digits."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import exoskel
from exoskel.source.document import Document
from exoskel.source.markup import Markup
from exoskel.source.numbers import given_numbers, round_json, round_markup
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


TINY = re.compile(r"(?<![\w.])-?[0-9.]+e-(?:1[2-9]|[2-9][0-9])(?![\w.])")
CONSTANTS = {"1e-12", "1e-13", "1e-14", "1e-20"}
"""The mass and moments of massless bodies and of points of skins, and the tolerance of MuJoCo's solver."""


@pytest.mark.parametrize("to", ["skel", "xode", "mjcf", "urdf", "sdf", "usd"])
@pytest.mark.parametrize("file", sorted(SAMPLES.glob("*/*.[sx]*")), ids=lambda file: file.name)
def test_numbers_of_converted_samples_have_no_noise(file: Path, to: str) -> None:
    """No number has more than 13 digits or is a rounding error: the same bytes follow on every processor."""
    scene = exoskel.load(file)
    stated = {one.lstrip("-") for one in NUMBER.findall(file.read_text())}
    report = exoskel.convert(scene, None, to=to, model=scene.world.models[0].name if to == "urdf" else None)
    assert report.certificate.passed
    text = report.data.decode()
    written = {one.lstrip("-") for one in NUMBER.findall(text)}
    assert [one for one in written - stated if digits(one) > 13] == []
    assert set(TINY.findall(text)) <= CONSTANTS


def test_numbers_in_embedded_data_are_rounded_and_texts_are_not() -> None:
    text = '{"name": "a \\" 0.3000000000000001", "x": [0.30000000000000004, -1.5, 0.1234567890123456, 3.5978049625629005e-07]}'
    rounded = round_json(text, given_numbers([Document(b"<a>0.1234567890123456</a>")]))
    assert rounded == '{"name": "a \\" 0.3000000000000001", "x": [0.3, -1.5, 0.1234567890123456, 3.597804962563e-07]}'


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
    round_markup(root, given_numbers([Document(b"<a>0.3000000000000001</a>")]))
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


def test_small_bodies_far_from_their_origin_are_converted_to_xode() -> None:
    """XODE has moments about the origin; 13 digits of those are too few for the moment about a distant centre."""
    at = "0.91234 0.73219 0.42173"
    source = f"""<skel version="1.0"><world name="w"><skeleton name="s"><body name="ball"><inertia><mass>0.05317</mass>
    <offset>{at}</offset></inertia><collision_shape><transformation>{at} 0 0 0</transformation><geometry><sphere>
    <radius>0.005</radius></sphere></geometry></collision_shape></body>
    <joint type="free" name="j"><parent>world</parent><child>ball</child></joint></skeleton></world></skel>"""
    assert exoskel.convert(source, None, to="xode").certificate.passed
    # The written numbers follow from rounded ones: noise in the input does not change them.
    noisy = exoskel.load(source)
    body = noisy.world.models[0].bodies[0]
    body.com = tuple(value * (1 + 4e-16) for value in body.com)
    assert body.com != exoskel.load(source).world.models[0].bodies[0].com
    matrix = re.compile(rb"<imatrix[^>]*>")
    written, other = (exoskel.convert(one, None, to="xode").data for one in (exoskel.load(source), noisy))
    assert matrix.findall(written) == matrix.findall(other) != []


def test_nodes_of_gltf_files_have_no_rounding_errors() -> None:
    data = exoskel.convert(SAMPLES / "skel" / "pendulum.skel", None, to="gltf").data
    size = int.from_bytes(data[12:16], "little")
    nodes = json.loads(data[20 : 20 + size])["nodes"][1:]  # the first one rotates the world by a constant
    values = [value for node in nodes for name in ("translation", "rotation") for value in node.get(name, ())]
    assert 0.8 in values
    assert [value for value in values if digits(repr(value)) > 13] == []


@pytest.mark.parametrize("to", ["skel", "xode", "mjcf", "urdf", "sdf", "usd"])
def test_components_with_few_digits_are_kept_beside_large_ones(to: str) -> None:
    source = """<skel version="1.0"><world name="w"><skeleton name="s"><body name="a"><inertia><mass>1</mass>
    <offset>1234567.125 1.25e-07 0</offset></inertia><visualization_shape><transformation>1000000.5 2.5e-07 0 0 0 0
    </transformation><geometry><sphere><radius>0.1</radius></sphere></geometry></visualization_shape></body>
    <joint type="free" name="j"><parent>world</parent><child>a</child></joint></skeleton></world></skel>"""
    text = exoskel.convert(source, None, to=to).data.decode()
    assert "2.5e-07" in text and "1.25e-07" in text


def test_stated_moments_about_the_origin_keep_their_digits() -> None:
    """The moment about the centre of mass is computed from them, and they again from it."""
    source = """<xode version="1.0r22"><world name="w"><space><body name="a"><mass><mass_struct total="0.12814460687437474">
    <centerGravity x="-0.021" y="0.023673799335066328" z="0.013"/><imatrix m00="0.0011546977953012145"
    m01="0.0001795693124596888" m02="-0.00012836199307989432" m10="0.0001795693124596888" m11="0.0018610560177802471"
    m12="-9.766676131120486e-05" m20="-0.00012836199307989432" m21="-9.766676131120486e-05" m22="0.0021083064626767935"/>
    </mass_struct></mass></body></space></world></xode>"""
    written = exoskel.convert(source, None, to="xode").data.decode()
    entry = re.compile(r' m[0-2]{2}="[^"]*"')
    assert entry.findall(written) == entry.findall(source.replace("\n   ", ""))
