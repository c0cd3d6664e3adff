"""Joints: kinds, pitches, limits, dynamics, motors, mimics and loops."""

from __future__ import annotations

from math import inf, pi

import numpy as np
import pytest

from exoskel import Kinematics
from exoskel.scene.joint import Drive, Mimic
from tests.sdf.support import link, load_model
from tests.support.findings import Read


def load(inside: str, kind: str = "revolute", ends: str = "<parent>a</parent><child>b</child>", more: str = "") -> Read:
    joint = f'<joint name="j" type="{kind}">{ends}{inside}</joint>'
    return load_model(link("a") + link("b", "<pose>0 0 1 0 0 0</pose>") + joint + more)


AXIS = "<axis><xyz>0 0 1</xyz></axis>"


@pytest.mark.parametrize(
    ("word", "kind", "axes"),
    [
        ("revolute", "revolute", AXIS),
        ("continuous", "revolute", AXIS),
        ("prismatic", "prismatic", AXIS),
        ("fixed", "weld", ""),
        ("ball", "ball", ""),
        ("universal", "universal", AXIS + "<axis2><xyz>1 0 0</xyz></axis2>"),
        ("revolute2", "hinge2", AXIS + "<axis2><xyz>1 0 0</xyz></axis2>"),
        ("screw", "screw", AXIS + "<screw_thread_pitch>2</screw_thread_pitch>"),
    ],
)
def test_joint_types_become_joint_kinds(word: str, kind: str, axes: str) -> None:
    read = load(axes, word)
    assert read.joint().kind == kind
    read.assert_clean()


def test_both_pitch_elements_give_the_same_screw() -> None:
    new = load(AXIS + "<screw_thread_pitch>0.25</screw_thread_pitch>", "screw")
    old = load(AXIS + f"<thread_pitch>{-2 * pi / 0.25!r}</thread_pitch>", "screw")
    old.expect("SD064.old", "info")
    assert new.joint().pitch == 0.25
    assert abs(old.joint().pitch - 0.25) < 1e-15
    # A positive travel is a right-handed thread: a rotation about the axis moves the child along it.
    kinematics = Kinematics([new.model])
    positions = np.zeros(kinematics.dof_count)
    positions[-1] = 2 * pi
    assert abs(kinematics.poses(positions)[1, 2, 3] - 1.25) < 1e-12


def test_limits_and_dynamics_are_read_per_axis() -> None:
    read = load(
        "<axis><xyz>0 0 1</xyz><limit><lower>-1</lower><upper>1e16</upper><effort>5</effort><velocity>-1</velocity></limit>"
        "<dynamics><damping>0.1</damping><friction>0.2</friction><spring_reference>0.3</spring_reference>"
        "<spring_stiffness>0.4</spring_stiffness></dynamics></axis>"
    )
    (dof,) = read.joint().dofs
    assert dof.position_limits == (-1.0, inf)
    assert dof.force_limits == (-5.0, 5.0)
    assert dof.velocity_limits == (-inf, inf)
    assert (dof.damping, dof.friction, dof.rest, dof.stiffness) == (0.1, 0.2, 0.3, 0.4)


def test_a_continuous_joint_has_no_limits() -> None:
    read = load("<axis><xyz>0 0 1</xyz><limit><lower>-1</lower><upper>1</upper></limit></axis>", "continuous")
    assert read.joint().dofs[0].position_limits == (-inf, inf)


def test_ode_parameters_become_a_drive() -> None:
    ode = "<physics><ode><velocity>1</velocity><max_force>2</max_force><limit><cfm>3</cfm><erp>4</erp></limit></ode></physics>"
    assert load(AXIS + ode).joint().drives == (Drive(velocity=1.0, max_force=2.0, stop_cfm=3.0, stop_erp=4.0),)


def test_the_mimic_reference_is_part_of_the_offset() -> None:
    more = (
        link("c") + '<joint name="k" type="revolute"><parent>b</parent><child>c</child><axis><xyz>0 0 1</xyz>'
        '<mimic joint="j"><multiplier>2</multiplier><offset>5</offset><reference>3</reference></mimic></axis></joint>'
    )
    read = load(AXIS, more=more)
    assert read.joint("k").mimic == Mimic("j", 2.0, -1.0)
    read.assert_clean()


def test_a_joint_whose_child_is_the_world_moves_the_same() -> None:
    ends = "<parent>a</parent><child>world</child>"
    read = load(AXIS + "<screw_thread_pitch>1</screw_thread_pitch>", "screw", ends=ends)
    read.expect("SD060.reversed")
    joint = read.joint()
    assert (joint.parent, joint.child.name, joint.axes) == (None, "a", ((-0.0, -0.0, -1.0),))


def test_links_without_a_joint_float_unless_static() -> None:
    assert [j.kind for j in load_model(link("a") + link("b")).model.joints] == ["free", "free"]
    assert [j.kind for j in load_model(link("a") + "<static>1</static>").model.joints] == ["weld"]


def test_a_loop_joint_is_a_constraint() -> None:
    more = '<joint name="k" type="ball"><parent>world</parent><child>b</child></joint>'
    read = load(AXIS, more=more)
    read.expect("SD063", "info")
    assert [(j.name, j.loop) for j in read.model.joints] == [("a_root", False), ("j", False), ("k", True)]


def test_links_of_an_invalid_joint_are_still_read() -> None:
    read = load(AXIS, ends="<parent>a</parent><child>nobody</child>")
    read.expect("SD060.unknown")
    assert [body.name for body in read.model.bodies] == ["a", "b"]
