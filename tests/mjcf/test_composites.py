"""Cables, which MuJoCo 4 refuses, become the bodies that MuJoCo 3.3 makes of them."""

from __future__ import annotations

import json

import mujoco
import numpy as np
import pytest

import exoskel
from exoskel.formats.interface import ReadOptions
from exoskel.formats.mjcf.read import import_document
from exoskel.source.document import Document
from tests.mjcf.record_cables import CABLES, FIELDS, FILE
from tests.support.mujoco_version import needs_mujoco_4

RECORDED = json.loads(FILE.read_text(encoding="utf-8"))
CABLE = """<mujoco><extension><plugin plugin="mujoco.elasticity.cable"/></extension><worldbody><geom name="wall" size="1"/>
<body name="b" pos="0 0 3"><composite prefix="p" type="cable" curve="cos(s) sin(s) s" count="5 1 1" size="1 .1 1">
<plugin plugin="mujoco.elasticity.cable"><config key="bend" value="4e6"/></plugin>
<geom type="capsule" size=".02"/><joint kind="main" damping="0.1"/></composite></body></worldbody>
<sensor><framepos objtype="site" objname="pS_last"/></sensor></mujoco>"""


@pytest.mark.parametrize("name", CABLES)
def test_bodies_are_those_of_mujoco_3(name: str) -> None:
    compiled = import_document(Document(CABLES[name].encode()), ReadOptions()).compiled
    assert compiled is not None
    model, expected = compiled.model, RECORDED[name]
    assert [compiled.bodies.name(number) for number in range(1, model.nbody)] == expected["names"][0][1:]
    assert [compiled.joints.name(number) for number in range(model.njnt)] == expected["names"][1]
    for field in FIELDS:
        mine, theirs = np.array(getattr(model, field)), np.array(expected[field])
        if field == "dof_damping":
            mine = mine.reshape(len(theirs), -1)[:, 0] if len(theirs) else theirs
        if field.endswith("quat"):
            mine = mine * np.sign((mine * theirs).sum(axis=1, keepdims=True))
        np.testing.assert_allclose(mine.reshape(theirs.shape), theirs, rtol=1e-9, atol=1e-12, err_msg=field)


@needs_mujoco_4
def test_a_new_document_has_the_bodies_of_a_cable() -> None:
    report = exoskel.convert(CABLE, None, to="mjcf")
    assert report.certificate.passed
    assert b"<composite" not in report.data
    model = mujoco.MjModel.from_xml_string(report.data.decode())
    assert [model.body(number).name for number in range(model.nbody)][-4:] == ["pB_first", "pB_1", "pB_2", "pB_last"]
    excluded = {tuple(sorted((one >> 16, one & 0xFFFF))) for one in model.exclude_signature.tolist()}
    first = model.body("pB_first").id
    assert {(first + number, first + number + 1) for number in range(3)} <= excluded
    assert any("plugins are not supported" in item.why for item in report.losses)


def test_documents_for_mujoco_3_keep_cables() -> None:
    report = exoskel.convert(CABLE, None, to="mjcf", target="mujoco3")
    assert report.data == CABLE.encode()
    assert report.losses == []


@pytest.mark.parametrize(
    ("before", "after", "reason", "hint"),
    [
        ('type="cable"', 'type="rope"', "no composites of the type 'rope'", 'use type="cable"'),
        ('type="cable"', 'type="cloth"', "no composites of the type 'cloth'", "use <flexcomp>"),
        ('type="cable"', 'type="particle"', "no composites of the type 'particle'", "use <replicate>"),
        ('count="5 1 1"', 'count="5 2 1"', "a count like '10 1 1', not '5 2 1'", ""),
        ('count="5 1 1"', 'count="x"', "the count of a composite is not numeric: 'x'", ""),
        ('count="5 1 1"', 'vertex="1 2"', "vertices of 3 numbers, not 2 numbers", ""),
        ('cos(s) sin(s) s"', 'tan(s)"', "unknown curve 'tan(s)'", ""),
        ('prefix="p"', 'initial="hinge"', "cannot have the initial joint 'hinge'", ""),
        ('type="capsule"', 'type="sphere"', "must be capsules, cylinders or boxes", ""),
    ],
)
def test_other_composites_are_errors(before: str, after: str, reason: str, hint: str) -> None:
    scene = exoskel.load(CABLE.replace(before, after))
    found = [one for one in scene.diagnostics if one.key == "MJ106.composite"]
    assert len(found) == 1
    assert reason in found[0].message
    assert found[0].hint == hint
    assert found[0].line == 2
