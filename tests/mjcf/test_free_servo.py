"""A servo on a free joint below another body is read back from MJCF as a servo."""

from __future__ import annotations

import pytest

import exoskel

LIMITS = '<dof local_index="4"><force lower="-50" upper="50"/></dof>'


@pytest.mark.parametrize("dof", ["", LIMITS, LIMITS.replace("-50", "-20")])
@pytest.mark.parametrize("kind", ["free", "ball", "planar"])
def test_a_servo_below_a_body_survives_mjcf(kind: str, dof: str) -> None:
    bodies = "".join(f'<body name="{name}"><inertia><mass>1</mass></inertia></body>' for name in "ab")
    plane = '<plane type="xy"/>' if kind == "planar" else ""
    own = dof if kind == "free" else dof.replace("4", "1")
    joints = f"""<joint type="revolute" name="i"><parent>world</parent><child>a</child><axis><xyz>1 0 0</xyz></axis></joint>
    <joint type="{kind}" name="j" actuator="servo"><parent>a</parent><child>b</child>{plane}{own}</joint>"""
    text = f'<skel version="1.0"><world name="w"><skeleton name="s">{bodies}{joints}</skeleton></world></skel>'
    there = exoskel.convert(text, None, to="mjcf")
    assert there.certificate.passed
    scene = exoskel.load(there.data, format="mjcf")
    assert exoskel.convert(scene, None, to="skel").certificate.passed
    assert scene.world.models[0].joints[1].actuator == ("servo" if kind != "ball" else "force")
