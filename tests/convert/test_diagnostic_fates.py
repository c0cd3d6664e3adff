"""The effects of diagnostics on fates: a value that a reader changed or ignored is a loss."""

from __future__ import annotations

from math import inf, pi
from pathlib import Path

import pytest

import exoskel
from exoskel.conversion.report import RefusedError
from exoskel.diagnostics import Severity
from exoskel.fates import Fate, NodeFate
from exoskel.formats import registry
from tests.support.edits import edited

BALL = '<geom type="sphere" size=".2"/>'


def mjcf(joint: str, body: str = "", rest: str = "") -> str:
    return f'<mujoco><worldbody><body name="a" {body}>{joint}{BALL}</body></worldbody>{rest}</mujoco>'


def losses(text: str, to: str) -> dict[str, NodeFate]:
    """The losses of a conversion by the last steps of their paths; a strict one is refused if there are any."""
    scene = edited(text)
    report = exoskel.convert(scene, None, to=to)
    if report.losses:
        with pytest.raises(RefusedError):
            exoskel.convert(scene, None, to=to, strict=True)
    return {item.path.rpartition("/")[2]: item for item in report.losses}


@pytest.mark.parametrize("to", ["skel", "mjcf"])
@pytest.mark.parametrize(
    ("text", "spot", "code"),
    [
        (mjcf('<joint name="r" type="ball" range="0 40"/>'), "@range", "MJ304"),
        (mjcf('<joint name="r" damping="1 2 3"/>'), "@damping", "MJ303"),
        (
            mjcf('<joint class="c"/>', rest='<default><default class="c"><joint damping="1 2"/></default></default>'),
            "joint[1]",
            "MJ303",
        ),
    ],
)
def test_a_value_that_is_read_differently_is_a_loss(text: str, spot: str, code: str, to: str) -> None:
    found = losses(text, to)
    if (to, spot) == ("mjcf", "@damping"):  # the document has the rest again
        assert found == {}
        return
    assert spot in found, found
    assert code in found[spot].why


def test_gravity_compensation_is_a_loss_in_other_formats() -> None:
    text = mjcf('<joint name="r"/>', 'gravcomp="0.4"')
    assert "MJ305" in losses(text, "skel")["@gravcomp"].why
    assert losses(text, "mjcf") == {}


def test_notes_are_not_losses() -> None:
    plane = '<geom type="plane" size="0 0 .1" solref=".01 1"/>'
    assert losses(f"<mujoco><worldbody>{plane}<body><freejoint/>{BALL}</body></worldbody></mujoco>", "mjcf") == {}


def test_aliases_are_not_losses() -> None:
    text = """<skel version="1.0"><world name="w"><skeleton name="s"><body name="b"><inertia><mass>1</mass></inertia>
    <collision_shape><geometry><cylinder><radius>1</radius><length>2</length></cylinder></geometry></collision_shape>
    </body></skeleton></world></skel>"""
    assert [d.key for d in exoskel.load(text).diagnostics if d.severity is Severity.WARNING] == ["SK074", "SK069"]
    assert losses(text, "skel") == {}


@pytest.mark.parametrize("name", ["skel", "xode", "urdf", "sdf", "mjcf"])
def test_the_tables_of_diagnostics_name_existing_diagnostics(name: str) -> None:
    source = registry.by_name(name)
    keys = list(source.catalogue().messages)
    effects = source.source_mapping().diagnostics
    for prefixes in (effects.ignored, effects.used, effects.lossless, effects.attributes, effects.all_similar):
        assert [prefix for prefix in prefixes if not any(key.startswith(prefix) for key in keys)] == []


# --- SDFormat -----------------------------------------------------------------------------------------


def sdf(link: str) -> str:
    return f"""<sdf version="1.11"><model name="m"><link name="a">{link}</link>
    <link name="b"><inertial><mass>1</mass></inertial></link></model></sdf>"""


BOX = "<geometry><box><size>1 2 3</size></box></geometry>"
MU = "<surface><friction><ode><mu>.4</mu><mu2>.01</mu2></ode></friction></surface>"


@pytest.mark.parametrize("to", ["skel", "sdf", "mjcf"])
@pytest.mark.parametrize(
    ("link", "spot", "code"),
    [
        ("<self_collide>true</self_collide>", "self_collide", "SD033"),
        (f'<collision name="c">{BOX}{MU}</collision>', "mu2", "SD083"),
        ('<inertial auto="true"/>', "@auto", "SD070"),
    ],
)
def test_sdformat_values_without_a_scene_field_are_losses(link: str, spot: str, code: str, to: str) -> None:
    found = losses(sdf(link), to)
    if (spot, to) == ("mu2", "sdf"):  # which is written again
        assert spot not in found
        return
    assert spot in found, found
    assert code in found[spot].why


@pytest.mark.parametrize(
    ("inertial", "density", "mass"),
    [
        ('<inertial auto="true"/>', "<density>500</density>", 3000.0),
        ('<inertial auto="true"/>', "", 6000.0),
        ('<inertial auto="true"><density>10</density></inertial>', "", 60.0),
        ('<inertial auto="true"><mass>12</mass></inertial>', "<density>7</density>", 12.0),
    ],
)
def test_automatic_masses_come_from_the_collision_shapes(inertial: str, density: str, mass: float) -> None:
    pose = "<pose>1 0 0 0 0 1.5707963267948966</pose>"
    text = sdf(f'{inertial}<collision name="c">{pose}{density}{BOX}</collision>')
    body = exoskel.load(text).world.models[0].bodies[0]
    assert body.mass == pytest.approx(mass)
    assert body.com == pytest.approx((1.0, 0.0, 0.0))
    # The box is turned by a quarter about z.
    assert body.moment == pytest.approx((10 * mass / 12, 13 * mass / 12, 5 * mass / 12, 0.0, 0.0, 0.0), abs=1e-9)
    assert losses(text, "sdf") == {}


def test_automatic_masses_of_two_collisions_are_about_their_common_centre() -> None:
    ball = '<collision name="{}"><pose>{} 0 0 0 0 0</pose><density>{}</density>{}</collision>'
    shape = "<geometry><sphere><radius>1</radius></sphere></geometry>"
    both = ball.format("one", -1, 300, shape) + ball.format("other", 3, 100, shape)
    body = exoskel.load(sdf('<inertial auto="true"/>' + both)).world.models[0].bodies[0]
    volume = 4 / 3 * pi
    assert body.mass == pytest.approx(400 * volume)
    assert body.com == pytest.approx((0.0, 0.0, 0.0), abs=1e-12)
    sphere_moment = 0.4 * 400 * volume
    assert body.moment[:3] == pytest.approx((sphere_moment, *2 * (sphere_moment + (300 + 900) * volume,)))


# --- actuators, flags and friction of MJCF ------------------------------------------------------------


def actuated(actuators: str) -> str:
    return mjcf('<joint name="r"/>', rest=f"<actuator>{actuators}</actuator>")


@pytest.mark.parametrize(
    ("text", "spots", "code"),
    [
        (
            mjcf('<joint name="r"/>', rest='<option><flag filterparent="disable"/></option>'),
            {"@filterparent"},
            "MJ108",
        ),
        (
            '<mujoco><worldbody><geom type="plane" size="1 1 1" friction="1 .3 .2" condim="6"/>'
            '<body><freejoint/><geom size=".2" friction=".8 .3 .2"/></body></worldbody></mujoco>',
            {"@condim", "@friction"},
            "MJ309",
        ),
        (
            mjcf(
                '<joint name="r"/>',
                rest='<tendon><fixed name="t" damping="1 2"><joint joint="r" coef="2"/></fixed></tendon>',
            ),
            {"fixed[@name='t']", "joint[1]", "@coef"},
            "MJ404",
        ),
    ],
)
def test_mjcf_values_without_a_scene_field_are_losses(text: str, spots: set[str], code: str) -> None:
    found = losses(text, "skel")
    assert spots <= found.keys(), found
    assert all(code in found[spot].why for spot in spots)


def test_the_forces_of_motors_on_one_joint_add_up() -> None:
    text = actuated('<motor joint="r" ctrlrange="-1 1"/><motor joint="r" ctrlrange="-2 3"/>')
    joint = exoskel.load(exoskel.convert(text, None, to="usd", target="isaac").data).world.models[0].joints[0]
    assert joint.dofs[0].force_limits == (-3.0, 4.0)


def test_messages_about_unnamed_actuators_have_no_name() -> None:
    found = losses(actuated('<muscle joint="r"/>'), "skel")
    assert found["muscle[1]"].why.startswith("the actuator is ignored")


LOWERED_ACTUATORS = [
    ('<motor name="drive" joint="r" gear="5"/>', {"motor[@name='drive']", "@gear"}),
    (
        '<position joint="r" kp="100" kv="5" ctrlrange="-1 1" forcerange="-3 3"/>',
        {"position[1]", "@kp", "@kv", "@ctrlrange", "@forcerange"},
    ),
    ('<velocity joint="r" kv="5" gear="3"/>', {"velocity[1]", "@kv", "@gear"}),
    ('<general joint="r" gainprm="2" biastype="affine" biasprm="1 5 0"/>', {"general[1]", "@biasprm"}),
]


@pytest.mark.parametrize(("text", "spots"), LOWERED_ACTUATORS)
def test_actuators_are_losses_in_formats_without_them(text: str, spots: set[str]) -> None:
    found = losses(actuated(text), "sdf")
    assert spots <= found.keys()
    assert all("FM305" in found[spot].why for spot in spots)


@pytest.mark.parametrize("text", [text for text, _ in LOWERED_ACTUATORS])
def test_actuators_are_embedded_where_the_format_has_a_place(text: str) -> None:
    for format in ("skel", "xode"):
        report = exoskel.convert(actuated(text), None, to=format)
        assert report.certificate.passed
        assert not [item for item in report.items if "/actuator[" in item.path and item.loss]
        assert exoskel.load(report.data).world.actuators == exoskel.load(actuated(text)).world.actuators


FLAGGED = """<mujoco><option><flag {}/></option><worldbody><geom type="plane" size="1 1 1"/>
<body name="a" pos="0 0 3"><joint name="r" range="-10 10" damping="3" stiffness="2" frictionloss=".1"/>
<geom size=".2"/></body></worldbody><equality><joint joint1="r" polycoef=".1 0 0 0 0"/></equality>
<actuator><velocity joint="r" kv="4"/></actuator></mujoco>"""


@pytest.mark.parametrize(
    ("flags", "field", "on", "off"),
    [
        ("limit", "position_limits", (0.1, 0.1), (0.1, 0.1)),
        ("limit equality", "position_limits", (0.1, 0.1), (-inf, inf)),
        ("constraint", "position_limits", (0.1, 0.1), (-inf, inf)),
        ("damper", "damping", 3.0, 0.0),
        ("spring", "stiffness", 2.0, 0.0),
        ("frictionloss", "friction", 0.1, 0.0),
        ("constraint", "friction", 0.1, 0.0),
    ],
)
def test_values_disabled_by_a_flag_are_ignored(flags: str, field: str, on: object, off: object) -> None:
    for state, expected in (("enable", on), ("disable", off)):
        scene = exoskel.load(FLAGGED.format(" ".join(f'{flag}="{state}"' for flag in flags.split())))
        joint = next(joint for joint in scene.world.joints() if joint.motion)
        assert getattr(joint.dofs[0], field) == expected
        assert [d.code for d in scene.diagnostics if d.code == "MJ108"] == ["MJ108"] * (
            len(flags.split()) if state == "disable" else 0
        )


def test_disabled_actuators_are_ignored() -> None:
    for state, count in (("enable", 1), ("disable", 0)):
        assert len(exoskel.load(FLAGGED.format(f'actuation="{state}"')).world.actuators) == count


def test_disabled_contacts_are_ignored() -> None:
    for state, touches in (("enable", True), ("disable", False)):
        world = exoskel.load(FLAGGED.format(f'contact="{state}"')).world
        assert {shape.collidable for body in world.bodies() for shape in body.collisions} == {touches}


# --- included files -----------------------------------------------------------------------------------


def test_a_loss_in_an_included_mjcf_file_is_reported_at_the_include(tmp_path: Path) -> None:
    (tmp_path / "part.xml").write_text(
        f'<mujocoinclude><joint name="r" damping="1 2"/>{BALL}<camera name="eye"/></mujocoinclude>'
    )
    (tmp_path / "plain.xml").write_text(f'<mujocoinclude><joint name="r"/>{BALL}</mujocoinclude>')
    for part, fate in (("part", "approximated"), ("plain", "lowered")):
        main = tmp_path / "main.xml"
        main.write_text(f'<mujoco><worldbody><body name="a"><include file="{part}.xml"/></body></worldbody></mujoco>')
        report = exoskel.convert(main, None, to="skel")
        found = {item.path.rpartition("/")[2]: item for item in report.items}
        assert (found["include[1]"].fate, found["@file"].fate) == (fate, "lowered")
        assert [item.path.rpartition("/")[2] for item in report.losses] == ["include[1]"] * (fate == "approximated")


def test_a_loss_of_the_output_in_an_included_file_is_reported_at_the_include(tmp_path: Path) -> None:
    (tmp_path / "part.xml").write_text(f'<mujocoinclude><joint name="r" stiffness="2"/>{BALL}</mujocoinclude>')
    main = tmp_path / "main.xml"
    main.write_text('<mujoco><worldbody><body name="a"><include file="part.xml"/></body></worldbody></mujoco>')
    (lost,) = exoskel.convert(main, None, to="urdf").losses
    assert lost.path.endswith("include[1]") and lost.why.startswith("in part: joint 'r': ")


def test_included_sdformat_files_have_their_own_fates(tmp_path: Path) -> None:
    (tmp_path / "wheel.sdf").write_text(
        f"""<sdf version="1.9"><model name="wheel">
        <link name="rim"><inertial><mass>2</mass></inertial>
        <collision name="c">{BOX}{MU}</collision></link></model></sdf>"""
    )
    main = tmp_path / "main.sdf"
    main.write_text(
        """<sdf version="1.9"><world name="w"><include><uri>wheel.sdf</uri><name>left</name></include></world></sdf>"""
    )
    report = exoskel.convert(main, None, to="skel")
    (lost,) = report.losses
    assert (lost.file, lost.line) == (str(tmp_path / "wheel.sdf"), 3)
    assert "SD083" in lost.why and lost.path.endswith("mu2")
    rim = next(item for item in report.as_dict()["items"] if item["path"].endswith("inertial/mass"))
    assert (rim["file"], rim["line"], rim["fate"]) == (str(tmp_path / "wheel.sdf"), 2, "exact")
    assert {item.file for item in report.items} == {"", str(tmp_path / "wheel.sdf")}


# --- reasons ------------------------------------------------------------------------------------------


def reasons(text: str, to: str) -> dict[str, NodeFate]:
    return {item.path.rpartition("/")[2]: item for item in exoskel.convert(text, None, to=to).items}


JOINT = """<joint name="j" type="{}"><parent>a</parent><child>{}</child><axis><xyz>0 0 1</xyz>
<limit><effort>3</effort><velocity>2</velocity></limit></axis></joint>"""


def test_a_node_that_a_reader_ignored_has_the_diagnostic_as_reason() -> None:
    text = sdf("<inertial><mass>1</mass></inertial>").replace("</model>", JOINT.format("gearbox", "b") + "</model>")
    found = reasons(text, "mjcf")
    assert "is a gearbox, which is not supported" in found["joint[j]"].why
    assert "is a gearbox" in found["child"].why


def test_reasons_concern_the_field_they_are_given_for() -> None:
    text = sdf("<inertial><mass>1</mass></inertial>").replace("</model>", JOINT.format("revolute", "b") + "</model>")
    found = reasons(text, "mjcf")
    assert found["velocity"].why == "velocity limits are not written (MJ601)"
    assert found["effort"].fate is Fate.EXACT, "it is what a motor can do"


def test_a_renamed_child_of_a_joint_is_not_a_loss() -> None:
    nested = '<model name="n"><link name="b"><inertial><mass>1</mass></inertial></link></model>'
    text = f"""<sdf version="1.9"><model name="m"><link name="a"><inertial><mass>1</mass></inertial></link>{nested}
    {JOINT.format("revolute", "n::b")}</model></sdf>"""
    found = reasons(text, "sdf")
    assert (found["child"].fate, found["child"].why) == ("lowered", "named 'n__b' in the output")
    assert not found["child"].loss


def test_missing_names_have_a_reason() -> None:
    named = mjcf('<freejoint name="f"/><geom name="ball" size=".1"/>')
    found = reasons(named, "mjcf")
    assert "not supported" not in found["@name"].why
    shapes = [item for item in exoskel.convert(named, None, to="mjcf").items if "ball" in item.path]
    assert all("not supported" not in item.why for item in shapes)


def test_an_actuator_has_the_fate_of_the_joint_it_drives() -> None:
    text = """<mujoco><worldbody><body name="a"><joint name="r"/><geom size=".1"/></body>
    <body name="b" pos="1 0 0"><joint name="s"/><geom size=".1"/></body></worldbody>
    <actuator><motor joint="r" ctrlrange="-1 2"/><position joint="s" kp="3"/></actuator></mujoco>"""
    found = reasons(text, "sdf")  # where efforts are the same both ways
    assert "SD104" in found["@ctrlrange"].why and "spring" in found["@kp"].why
    assert not any("in part: in part" in item.why for item in found.values())
