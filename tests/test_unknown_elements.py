"""Elements and attributes that no part of the program knows are written to the same format again, at every level."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from lxml import etree

import exoskel
from exoskel.conversion.report import Report

SDF = """<?xml version="1.0"?>
<sdf version="1.11" xmlns:my="http://example.org/my" xmlns:gz="http://gazebosim.org/schema">
  <my:top a="1"><my:in>text</my:in></my:top>
  <foo a="1"><bar>text<!-- c --></bar>tail</foo>
  <world name="w">
    <my:w a="1"><my:in>text</my:in></my:w>
    <foo_w a="1"><bar>text</bar></foo_w>
    <plugin name="wp" filename="x.so"><a><b c="1">2</b></a><![CDATA[raw <stuff>]]></plugin>
    <model name="m">
      <my:m a="1"><my:in>text</my:in></my:m>
      <foo_m a="1"><bar>text</bar></foo_m>
      <plugin name="mp" filename="y.so"><a><b c="1">2</b></a></plugin>
      <link name="a">
        <my:l a="1"><my:in>text</my:in></my:l>
        <foo_l a="1"><bar>text</bar></foo_l>
        <inertial><mass>1</mass><my:i>1</my:i></inertial>
        <collision name="c"><my:c><my:d>e</my:d></my:c><geometry><my:g><my:h>1</my:h></my:g><box><size>1 1 1</size><my:b>1</my:b></box></geometry><foo_c><z>1</z></foo_c></collision>
        <visual name="v"><my:v><my:d>e</my:d></my:v><geometry><box><size>1 1 1</size></box></geometry><material><my:mat>1</my:mat><diffuse>1 0 0 1</diffuse></material><plugin name="vp" filename="z.so"><q>1</q></plugin></visual>
        <sensor name="imu" type="imu"><my:s><my:d>1</my:d></my:s><imu><my:imu>1</my:imu></imu><plugin name="sp" filename="z.so"><q>1</q></plugin></sensor>
        <light name="li" type="point"><my:li>1</my:li></light>
      </link>
      <link name="b"/><link name="c"/><link name="d"/>
      <joint name="j1" type="revolute"><my:j><my:d>1</my:d></my:j><foo_j><z>1</z></foo_j><parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz><my:ax>1</my:ax><limit><my:lim>1</my:lim><lower>-1</lower></limit></axis></joint>
      <joint name="j2" type="universal"><parent>b</parent><child>c</child><axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz><mimic joint="j1" axis="axis"><multiplier>2</multiplier><offset>0.1</offset><reference>0.3</reference></mimic></axis2></joint>
      <joint name="j3" type="universal"><parent>c</parent><child>d</child><axis><xyz>1 0 0</xyz><mimic joint="j2" axis="axis2"><multiplier>2</multiplier><offset>0.1</offset><reference>0.3</reference></mimic></axis><axis2><xyz>0 1 0</xyz><mimic joint="j1"><multiplier>3</multiplier><offset>0</offset><reference>0</reference></mimic></axis2></joint>
    </model>
  </world>
</sdf>"""
URDF = """<?xml version="1.0"?>
<robot name="r" xmlns:my="http://example.org/my">
  <my:top a="1"><my:in>text</my:in></my:top>
  <foo a="1"><bar>text<!-- c --></bar>tail</foo>
  <gazebo><plugin name="p" filename="x.so"><a><b c="1">2</b></a><![CDATA[raw <stuff>]]></plugin></gazebo>
  <gazebo reference="a"><mu1>0.2</mu1><sensor name="imu" type="imu"><x>1</x></sensor></gazebo>
  <link name="a"><my:l><my:d>1</my:d></my:l><foo_l><z>1</z></foo_l><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/><my:i>1</my:i></inertial>
    <visual><my:v><my:d>1</my:d></my:v><geometry><box size="1 1 1"/><my:g>1</my:g></geometry><material name="x"><color rgba="1 0 0 1"/><my:mat>1</my:mat></material></visual>
    <collision><foo_c><z>1</z></foo_c><geometry><box size="1 1 1"/></geometry><verbose value="x"/></collision></link>
  <link name="b"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <joint name="j" type="revolute" my:attr="1"><my:j><my:d>1</my:d></my:j><foo_j><z>1</z></foo_j><parent link="a"/><child link="b"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1" my:x="2"><my:lim>1</my:lim></limit></joint>
</robot>"""

DOCUMENTS = {"sdf": SDF, "urdf": URDF}
UNKNOWN = ("my:", "foo", "plugin", "gazebo", "verbose")


Content = tuple[object, ...]


def content(one: Any) -> Content:
    """A comparable form of an element: tag, attributes, texts without spaces around them, and children."""
    inner = [(content(child), (child.tail or "").strip()) for child in one]
    return (str(one.tag), tuple(sorted(one.attrib.items())), (one.text or "").strip(), tuple(inner))


def unknown_elements(data: bytes) -> Counter[tuple[str, Content]]:
    """The unknown elements with the tags of those around them."""
    found: Counter[tuple[str, Content]] = Counter()
    for one in etree.fromstring(data).iter(etree.Element):
        around = one.getparent()
        name = f"{one.prefix}:{etree.QName(one).localname}" if one.prefix else str(one.tag)
        if around is not None and name.startswith(UNKNOWN):
            found[str(around.tag), content(one)] += 1
    return found


def converted(format: str, *, is_edited: bool = False) -> Report:
    scene = exoskel.load(DOCUMENTS[format].encode(), format=format)
    if is_edited:
        scene.world.models[0].bodies[0].mass = 3.0
    return exoskel.convert(scene, None, to=format)


@pytest.mark.parametrize("is_edited", [False, True])
@pytest.mark.parametrize("format", DOCUMENTS)
def test_unknown_elements_are_written_again(format: str, is_edited: bool) -> None:
    report = converted(format, is_edited=is_edited)
    assert report.certificate.passed
    assert not report.losses, [f"{one.path}: {one.why}" for one in report.losses]
    assert unknown_elements(report.data) == unknown_elements(DOCUMENTS[format].encode())
    again = exoskel.convert(exoskel.load(report.data, format=format), None, to=format)
    assert not again.losses and unknown_elements(again.data) == unknown_elements(report.data)


def test_unknown_attributes_of_urdf_are_written_again() -> None:
    joint = etree.fromstring(converted("urdf").data).find("joint[@name='j']")
    assert joint is not None
    assert joint.get("{http://example.org/my}attr") == "1"
    limit = joint.find("limit")
    assert limit is not None and limit.get("{http://example.org/my}x") == "2"


def mimics(data: bytes) -> dict[tuple[str, str], list[str]]:
    """The mimics by joint and axis: the attributes and the numbers."""
    root = etree.fromstring(data)
    return {
        (joint.get("name", ""), axis): [*one.attrib.values(), *(child.text or "" for child in one)]
        for joint in root.iter("joint")
        for axis in ("axis", "axis2")
        if (one := joint.find(f"{axis}/mimic")) is not None
    }


def test_mimics_of_joints_with_several_axes_are_written_again() -> None:
    report = converted("sdf")
    assert mimics(report.data) == mimics(SDF.encode()) and len(mimics(SDF.encode())) == 3
    assert etree.fromstring(report.data).get("version") == "1.11", "older versions have no <mimic>"


def test_such_mimics_get_the_new_name_of_a_joint() -> None:
    scene = exoskel.load(SDF.encode(), format="sdf")
    scene.world.models[0].rename("j1", "knee")
    report = exoskel.convert(scene, None, to="sdf")
    found = mimics(report.data)
    assert (found["j2", "axis2"][0], found["j3", "axis2"][0]) == ("knee", "knee")


def test_items_are_found_after_mixed_text_that_is_written_again() -> None:
    text = """<sdf version="1.9"><world name="w"><physics name="p" type="ode"><ode>
      <solver>quick <type>quick</type><!-- <a> --><iters>10</iters></solver></ode></physics>
      <model name="m"><link name="a"/><link name="b"/></model></world></sdf>"""
    report = exoskel.convert(text, None, to="sdf")
    assert report.certificate.passed
    assert b"<solver>quick <type>quick</type><!-- <a> --><iters>10</iters></solver>" in report.data
