"""Files for MuJoCo 3 have no elements and attributes that MuJoCo 3.3 refuses, and the fates report these."""

from __future__ import annotations

import pytest
from lxml import etree

import exoskel
from exoskel import Box
from exoskel.conversion.report import Report
from exoskel.formats.mjcf.unknown_words import UNKNOWN_ATTRIBUTES
from tests.mjcf.schema import schema
from tests.support.mujoco_version import needs_mujoco_4

ELEMENTS = ("pid", "orientation", "dcmotor", "flexstrain")
DOCUMENT = """
<mujoco>
<compiler conflict="merge"/><option><flag sleep="enable" energy="enable"/></option>
<default><general armature="0.1"/><geom adhesion="0.1"/><default class="c"><pid kp="2"/></default></default>
<worldbody><light softness="0.5" pos="0 0 3"/><camera name="c" output="rgb"/><geom name="g0" type="plane" size="1 1 1"/>
<body name="a" sleep="never"><joint name="j" stiffness="3"/><geom name="g" size="0.1" adhesion="0.2"/><site name="s"/>
 <body name="b"><joint name="k"/><geom size="0.1" mass="1" castshadow="false"/></body></body>
</worldbody>
<contact><pair geom1="g0" geom2="g" adhesion="0.1"/></contact>
<actuator><pid name="p" joint="j" kp="3"/><general name="q" joint="k" delay="0.004" nsample="2" dyntype="muscle"/>
 <motor name="r" joint="k" damping="2"/></actuator>
<sensor><rangefinder site="s" data="dist" name="rf"/><actuatorfrc name="af" actuator="p"/>
 <jointpos name="jp" joint="j" delay="0.004" nsample="2"/></sensor>
</mujoco>"""


def words(report: Report) -> set[str]:
    """The elements and attributes of a document that MuJoCo 3.3 refuses."""
    elements = list(etree.fromstring(report.data).iter(etree.Element))
    found = {one.tag for one in elements if one.tag in ELEMENTS}
    return found | {f"{e.tag}/@{n}" for e in elements for n in e.attrib if n in UNKNOWN_ATTRIBUTES.get(e.tag, ())}


def refused(report: Report) -> set[str]:
    """The last parts of the paths of what was lost because of that."""
    lost = [one for one in report.losses if one.why == "MuJoCo 3.3 refuses it"]
    return {"/".join(part.partition("[")[0] for part in one.path.split("/")[-2:]) for one in lost}


@needs_mujoco_4
def test_a_new_document_has_only_what_is_known() -> None:
    scene = exoskel.load(DOCUMENT.encode(), format="mjcf")
    scene.world.add_model("extra").add_body("x", joint="free", mass=1.0, shapes=[Box((0.1, 0.1, 0.1))])
    report = exoskel.convert(scene, None, to="mjcf", target="mujoco3")
    assert words(report) == set()
    assert b'energy="enable"' in report.data
    assert refused(report) >= {
        *("flag/@sleep", "geom/@adhesion", "pair/@adhesion", "actuator/pid", "general/@delay", "general/@nsample"),
        *("rangefinder/@data", "jointpos/@delay", "jointpos/@nsample"),
    }
    joint = next(one for one in etree.fromstring(report.data).iter("joint") if one.get("name") == "k")
    assert (joint.get("damping"), joint.get("armature")) == ("2", "0.1"), "an old actuator has neither"
    assert words(exoskel.convert(scene, None, to="mjcf", target="mujoco4")) != set()


@needs_mujoco_4
@pytest.mark.parametrize("is_copied", [True, False])
def test_a_document_is_copied_unless_it_has_unknown_elements(is_copied: bool) -> None:
    text = DOCUMENT
    if is_copied:
        for one in (
            '<pid name="p" joint="j" kp="3"/>',
            '<actuatorfrc name="af" actuator="p"/>',
            ' damping="2"',
            'general armature="0.1"',
        ):
            text = text.replace(one, one.split()[0] if one.startswith("general") else "")
        text = text.replace('<default class="c"><pid kp="2"/></default>', "")
    report = exoskel.convert(exoskel.load(text.encode(), format="mjcf"), None, to="mjcf", target="mujoco3")
    assert report.certificate.passed
    assert (b'pos="0 0 3"/><camera' in report.data) == is_copied
    assert words(report) == set()
    assert {"pair/@adhesion", "general/@delay", "rangefinder/@data"} <= refused(report)
    assert {"light/@softness", "camera/@output"} <= refused(report)


@needs_mujoco_4
def test_the_listed_words_are_those_of_mujoco() -> None:
    """MuJoCo 4 knows all of them; whether MuJoCo 3.3 does is tested with that version."""
    known: dict[str, set[str]] = {}
    for path, attributes in schema().items():
        known.setdefault(path.rpartition("/")[2].removeprefix("(world)"), set()).update(attributes)
    for tag, attributes in UNKNOWN_ATTRIBUTES.items():
        assert attributes <= known[tag], tag
    assert set(ELEMENTS) <= known.keys()
