"""Fates agree with the output: another value of an exact attribute changes it, another value of a dropped one does not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from lxml import etree

import exoskel
from exoskel.fates import Fate
from exoskel.source.output_context import Target

pytest.importorskip("pxr", reason="usd-core is not installed")

DOCUMENT = """<mujoco><worldbody><body name="b"><joint name="j"/><geom size=".1"/><site name="s"/>
<body name="c" pos="0 0 1"><joint name="k" type="slide"/><geom size=".1"/><site name="s2"/></body></body>
<body name="m" mocap="true"><geom size=".1"/></body></worldbody>
<tendon><fixed name="t" stiffness="3" damping="2" frictionloss="1" armature="0.5" range="-1 2" springlength="0.1 0.2"
 actuatorfrcrange="-3 4" margin="0.1" solreflimit="0.1 1"><joint joint="j" coef="1"/><joint joint="k" coef="2"/>
</fixed><spatial name="p" damping="2" stiffness="1" springlength="0.4"><site site="s"/><site site="s2"/>
<pulley divisor="2"/><site site="s"/><site site="s2"/></spatial></tendon>
<actuator><motor name="a" tendon="t" ctrlrange="-1 1" gear="2" forcerange="-1 2"/><position name="p" joint="j" kp="3" kv="1"/>
<velocity name="v" joint="j" kv="3"/><damper name="d" joint="j" kv="3" ctrlrange="0 1"/>
<intvelocity name="iv" joint="j" kp="3" actrange="-1 1"/><cylinder name="cy" joint="k" timeconst="0.5" area="2" bias="1 2 3"/>
<general name="g" joint="k" dyntype="filter" dynprm="0.1" gainprm="2" biastype="affine" biasprm="1 2 3" actrange="-1 1"
 actearly="true"/><general name="h" joint="j" gaintype="affine" gainprm="1 2 3"/></actuator>
<equality><joint name="bent" joint1="k" joint2="j" polycoef="0 1 1 0 0" solref="0.01 1" active="true"/>
<joint name="straight" joint1="k" joint2="j" polycoef="0 2 0 0 0"/><tendon name="et" tendon1="t" tendon2="p"/></equality>
<sensor><gyro name="gy" site="s" noise="0.1"/><tendonpos name="tp" tendon="t" cutoff="1"/></sensor>
<keyframe><key name="one" time="1" qpos="1 2" qvel="1 2" act="0.5 0.25 0.1" ctrl="0.5 2 3 0.5 1 2 1 2" mpos="1 2 3"/>
<key name="two" time="2" qpos="2 3" qvel="1 2" act="0.6 0.5 0.1" ctrl="0.5 2 3 0.5 1 2 1 2"/></keyframe></mujoco>"""
SECTIONS = ("tendon", "actuator", "equality", "sensor", "keyframe")
OTHER_WORDS = {"true": "false", "filter": "filterexact"}


def other_values(text: str) -> Iterator[str]:
    """Values with one other number, or another word; none of names."""
    if text in OTHER_WORDS:
        yield OTHER_WORDS[text]
    try:
        numbers = [float(word) for word in text.split()]
    except ValueError:
        return
    for place, number in enumerate(numbers):
        yield " ".join(map(repr, [*numbers[:place], 1.25 * number or 0.125, *numbers[place + 1 :]]))


@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize(
    ("to", "target"),
    [
        ("usd", "portable"),
        ("usd", "isaac"),
        ("sdf", "portable"),
        ("skel", "portable"),
        ("gltf", "portable"),
    ],
    ids=["usd", "usd-isaac", "sdf", "skel", "gltf"],
)
def test_the_output_depends_on_what_is_exact_only(to: str, target: Target, section: str) -> None:
    def output() -> Any:
        report = exoskel.convert(etree.tostring(root).decode(), None, to=to, target=target)
        return report.data, sorted(report.companions.items())

    root = etree.fromstring(DOCUMENT)
    report = exoskel.convert(DOCUMENT, None, to=to, target=target)
    assert report.certificate.passed
    fates = {(item.node, item.attribute): item for item in report.items}
    before, problems, tried = output(), [], 0
    for node, element in enumerate(root.iter("*")):
        if section not in (one.tag for one in (*element.iterancestors(), element)):
            continue
        for name, value in element.attrib.items():
            changes = set()
            for other in other_values(str(value)):
                element.set(name, other)
                changes.add(output() != before)
                element.set(name, str(value))
            item = fates[node, str(name)]
            is_lost = item.fate is Fate.DROPPED
            if changes and (any(changes) if is_lost else not any(changes)):
                problems.append((item.path, item.fate.value, item.why))
            tried += len(changes)
    assert problems == [] and tried > 0
