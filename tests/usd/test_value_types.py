"""Values of wrong types in USD files: they are reported, and the rest is read."""

from __future__ import annotations

from pathlib import Path

import pytest

import exoskel
from exoskel.formats.usd.reader.value_types import has_type
from tests.usd.test_actuators import ACTUATOR, ARM
from tests.usd.test_mujoco_joints import EQUALITY, body, joint, keys, load

pytest.importorskip("pxr", reason="usd-core is not installed")

WRONG = ('string {} = "a"', "double2 {} = (1, 2)", "string[] {} = []", "double[] {} = [1, 2]")
IN_BODIES = ("mass", "density", "centerOfMass", "diagonalInertia", "principalAxes", "velocity", "angularVelocity")
IN_JOINTS = (
    *("physics:lowerLimit", "physics:localPos1", "physics:localRot1", "drive:angular:physics:stiffness"),
    *(
        "newton:damping",
        "newton:armature",
        "newton:limitStiffness",
        "newton:mimicCoef1",
        "state:angular:physics:position",
    ),
    *("mjc:stiffness", "mjc:ref", "mjc:coef1", "mjc:actuatorfrcrange:min", "physxJoint:maxJointVelocity"),
)
SHAPE = """
def {kind} "shape" (prepend apiSchemas = ["PhysicsCollisionAPI"])
{{
    {values}
}}
"""


def stated(declarations: list[str]) -> str:
    return "\n    ".join(declarations)


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_types_of_bodies_and_joints_are_reported(wrong: str, tmp_path: Path) -> None:
    text = 'def Xform "a" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])\n{\n    '
    text += stated([wrong.format(f"physics:{name}") for name in IN_BODIES] + [wrong.format("mjc:body:gravcomp")])
    text += "\n}\n" + joint("turn", "a", stated([wrong.format(name) for name in IN_JOINTS]), apis=EQUALITY)
    scene = load(text, tmp_path)
    assert [one.name for one in scene.world.bodies()] == ["a"]
    reported = {one.message.partition("'")[2].partition("'")[0] for one in scene.diagnostics if one.key == "US004.type"}
    is_array = "[]" in wrong
    assert reported == (set() if is_array else {*IN_JOINTS, "mjc:body:gravcomp", *(f"physics:{n}" for n in IN_BODIES)})


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_types_of_shapes_scenes_and_actuators_are_reported(wrong: str, tmp_path: Path) -> None:
    sizes = stated([wrong.format(name) for name in ("size", "radius", "height", "radiusTop", "radiusBottom")])
    shapes = "".join(
        SHAPE.format(kind=kind, values=sizes).replace('"shape"', f'"{kind}"')
        for kind in ("Cube", "Sphere", "Capsule", "Cylinder_1", "SphereLight", "Camera")
    )
    drive = ACTUATOR.format(
        target="slide", values=stated([wrong.format(f"mjc:{n}") for n in ("forceRange:max", "ctrlRange:min")])
    )
    scene = load(ARM + shapes + drive, tmp_path, scene=wrong.format("physics:gravityMagnitude"))
    assert scene.world.gravity == (0.0, 0.0, -9.81)
    assert len(scene.world.actuators) == 1
    assert sum(len(one.collisions) for one in scene.world.bodies()) == 4
    assert ("US004.type" in keys(scene)) is ("[]" not in wrong)


@pytest.mark.parametrize("name", ["points", "primvars:displayColor", "faceVertexIndices", "primvars:st"])
@pytest.mark.parametrize("wrong", [*WRONG, "double[] {} = [1, 2, 3, 4]"])
def test_arrays_of_wrong_types_are_not_read(name: str, wrong: str, tmp_path: Path) -> None:
    known = {
        "points": "point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]",
        "faceVertexIndices": "int[] faceVertexIndices = [0, 1, 2]",
        "faceVertexCounts": "int[] faceVertexCounts = [3]",
    }
    values = stated([*(known | {name: wrong.format(name)}).values()])
    scene = load(SHAPE.format(kind="Mesh", values=values) + body("a"), tmp_path)
    assert "a" in [one.name for one in scene.world.bodies()]
    assert ("US105.mesh" in keys(scene)) is (name in known)


def test_what_has_a_wrong_type_is_dropped(tmp_path: Path) -> None:
    load(body("a", values='string physics:density = "a"'), tmp_path)
    report = exoskel.convert(tmp_path / "scene.usda", tmp_path / "out.xml")
    assert {one.path: one.fate for one in report.items}["/a/@physics:density"] == "dropped"


@pytest.mark.parametrize(
    ("name", "value", "fits"),
    [
        ("physics:mass", 1, True),
        ("physics:mass", "1", False),
        ("drive:rotX:physics:stiffness", 1.5, True),
        ("drive:rotX:physics:stiffness", [1.5], False),
        ("physics:localRot0", (1.0, 0.0, 0.0, 0.0), True),
        ("physics:localRot0", (1.0, 0.0, 0.0), False),
        ("physics:axis", "X", True),
        ("physics:axis", 1.0, False),
        ("userProperties:any", [1, "a"], True),
    ],
)
def test_types_are_known_by_name(name: str, value: object, fits: bool) -> None:
    assert has_type(name, value) is fits
