"""Section 18, items 20 to 28: world and skeleton."""

from __future__ import annotations

import numpy as np
import pytest

from exoskel import Kinematics
from tests.support.checklist import item
from tests.support.findings import Reads
from tests.support.places import EXAMPLES
from tests.support.xml import PHYSICS, body, joint, skel, skeleton, world

DROP = skeleton(body() + joint())

SMALLEST = """<?xml version="1.0"?>
<skel version="1.0">
  <world name="world">
    <physics>
      <time_step>0.001</time_step>
      <gravity>0 -9.81 0</gravity>
      <collision_detector>dart</collision_detector>
    </physics>
    <skeleton name="brick">
      <body name="brick">
        <inertia><mass>1</mass></inertia>
        <visualization_shape>
          <geometry><box><size>0.1 0.05 0.1</size></box></geometry>
          <color>0.8 0.3 0.3</color>
        </visualization_shape>
        <collision_shape>
          <geometry><box><size>0.1 0.05 0.1</size></box></geometry>
        </collision_shape>
      </body>
      <joint type="free" name="root">
        <parent>world</parent>
        <child>brick</child>
      </joint>
    </skeleton>
  </world>
</skel>
"""


@item(20)
def test_a_world_without_physics_has_default_settings(reads: Reads) -> None:
    read = reads(world(DROP, physics=None))
    read.expect("SK031", "info")
    assert (read.world.time_step, read.world.gravity) == (0.001, (0.0, 0.0, -9.81))
    assert read.world.collision_detector == ""
    assert read.world.provenance("gravity") == "default"


@item(20)
def test_the_smallest_document_of_the_newer_page_is_clean(reads: Reads) -> None:
    read = reads(SMALLEST)
    brick = read.model.body("brick")
    assert np.allclose(brick.moment, (0.00104167, 0.00166667, 0.00104167, 0, 0, 0), atol=1e-8)
    assert read.world.provenance("gravity") == "explicit"


@item(21)
@pytest.mark.parametrize("text", ["0", "-0.01"])
def test_the_time_step_must_be_positive(reads: Reads, text: str) -> None:
    read = reads(world(DROP, physics=f"<time_step>{text}</time_step><gravity>0 0 0</gravity>"))
    read.expect("SK030", "error", path="physics/time_step")
    assert read.world.time_step == 0.001


@item(22)
@pytest.mark.parametrize("word", ["fcl", "fcl_mesh", "dart", "bullet", "ode"])
def test_every_detector_is_read(reads: Reads, word: str) -> None:
    read = reads(world(DROP, physics=PHYSICS.replace(">dart<", f">{word}<")))
    assert read.world.collision_detector == word


@item(22, 101)
def test_an_unknown_detector_is_preserved(reads: Reads) -> None:
    read = reads(world(DROP, physics=PHYSICS.replace(">dart<", ">bulet<")))
    assert read.expect("SK032", "warning", says="bulet").hint == "did you mean 'bullet'?"
    assert read.world.collision_detector == "bulet"


@item(23)
def test_the_first_of_two_worlds_is_used(reads: Reads) -> None:
    physics = f"<physics>{PHYSICS}</physics>"
    first = f'<world name="one">{physics}{skeleton(body() + joint(), "a")}</world>'
    second = f'<world name="two">{physics}{skeleton(body() + joint(), "b")}</world>'
    read = reads(skel(first + second))
    read.expect("SK005.world", "warning", path="world[two]")
    assert (read.world.name, read.model.name) == ("one", "a")


@item(23)
def test_a_bare_skeleton_gets_a_world(reads: Reads) -> None:
    read = reads(skel(DROP))
    read.expect("SK009", "info")
    assert read.scene.source_info.bare
    assert read.world.gravity == (0.0, 0.0, -9.81)
    assert [model.name for model in read.world.models] == ["s"]


@item(23)
def test_several_bare_skeletons_share_a_world(reads: Reads) -> None:
    read = reads(skel(DROP + skeleton(body() + joint(), "t")))
    read.expect("SK009", "info")
    read.expect("SK005.several", "warning")
    assert [model.name for model in read.world.models] == ["s", "t"]


@item(23)
def test_a_skeleton_outside_an_empty_world_is_added_to_it(reads: Reads) -> None:
    read = reads(skel(f'<world name="w"><physics>{PHYSICS}</physics></world>{DROP}'))
    read.expect("SK005.taken", "warning")
    assert [model.name for model in read.world.models] == ["s"]
    assert not read.scene.source_info.bare


@item(23)
def test_a_skeleton_outside_a_world_with_skeletons_is_ignored(reads: Reads) -> None:
    inside = skeleton(body() + joint(), "inside")
    read = reads(skel(f'<world name="w"><physics>{PHYSICS}</physics>{inside}</world>{DROP}'))
    read.expect("SK005.kept", "warning", path="skeleton[s]")
    assert [model.name for model in read.world.models] == ["inside"]


@item(24)
def test_the_name_of_the_world_is_read(reads: Reads) -> None:
    assert reads(world(DROP)).world.name == "w"
    unnamed = reads(world(DROP).replace(' name="w"', ""))
    assert unnamed.world.name == "world"


@item(25)
def test_the_skeleton_pose_multiplies_from_the_left(reads: Reads) -> None:
    read = reads((EXAMPLES / "02_frames.skel").read_text())
    read.ignore("SK077", "SK054")
    base = Kinematics(read.world.models).poses()[0]
    assert np.allclose(base[:3], [[0, -1, 0, 1], [1, 0, 0, 0], [0, 0, 1, 0.5]], atol=1e-12)


@item(26)
@pytest.mark.parametrize(("text", "static"), [("false", True), ("0", True), ("true", False), ("1", False)])
def test_a_skeleton_that_is_not_mobile_is_static(reads: Reads, text: str, static: bool) -> None:
    read = reads(world(skeleton(f"<mobile>{text}</mobile>" + body() + joint())))
    assert read.model.static is static


@item(26)
@pytest.mark.parametrize(("text", "static"), [("1", True), ("0", False)])
def test_immobile_is_read_if_there_is_no_mobile(reads: Reads, text: str, static: bool) -> None:
    read = reads(world(skeleton(f"<immobile>{text}</immobile>" + body() + joint())))
    read.expect("SK043", "warning")
    assert read.model.static is static


@item(26)
def test_mobile_takes_precedence_over_immobile(reads: Reads) -> None:
    read = reads(world(skeleton("<mobile>1</mobile><immobile>1</immobile>" + body() + joint())))
    read.expect("SK043.contradiction", "warning")
    assert read.model.static is False


@item(27)
def test_duplicate_skeleton_names_get_numbers(reads: Reads) -> None:
    read = reads(world(DROP + DROP + DROP))
    read.expect("SK041.repeated", "warning", says="'s(1)'")
    read.expect("SK041.repeated", "warning", says="'s(2)'")
    assert [model.name for model in read.world.models] == ["s", "s(1)", "s(2)"]


@item(28)
def test_an_empty_skeleton_is_reported(reads: Reads) -> None:
    read = reads(world('<skeleton name="s"/>'))
    read.expect("SK044.skeleton", "info")
    assert read.model.bodies == []


@item(28)
def test_a_world_without_skeletons_is_reported(reads: Reads) -> None:
    read = reads(world())
    read.expect("SK044.world", "info")
    assert read.world.models == []


def test_a_document_with_nothing_in_it_is_an_error(reads: Reads) -> None:
    read = reads("<skel version='1.0'/>")
    read.expect("SK004", "error")
    assert read.scene.worlds == []


def test_a_missing_or_unknown_version_is_reported(reads: Reads) -> None:
    reads(world(DROP).replace(' version="1.0"', "")).expect("SK006.absent", "info")
    other = reads(world(DROP).replace("1.0", "2.0", 1))
    other.expect("SK006.other", "info")
    assert other.scene.source_info.format_version == "2.0"


def test_an_unnamed_skeleton_gets_a_name(reads: Reads) -> None:
    read = reads(world(DROP.replace(' name="s"', "")))
    read.expect("SK041.missing", "warning")
    assert read.model.name == "skeleton"
