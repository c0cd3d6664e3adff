"""The pose of a body that its joint contradicts is not called exact: other readers would see the body elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

import exoskel

STAGE = """#usda 1.0
(
 defaultPrim = "W"
 metersPerUnit = 1
 upAxis = "Z"
)
def Xform "W" {{
 def Xform "a" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {{
  def Cube "c" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {{
   double size = 1
  }}
 }}
 def Xform "b" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {{
  {place}
  uniform token[] xformOpOrder = ["{name}"]
  def Cube "c" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {{
   double size = 1
  }}
 }}
 def PhysicsFixedJoint "j" {{
  rel physics:body0 = </W/a>
  rel physics:body1 = </W/b>
  point3f physics:localPos0 = (0, 0, {height})
 }}
}}
"""
PLACES = {
    "xformOp:translate": "double3 xformOp:translate = (0, 0, 2)",
    "xformOp:transform": "matrix4d xformOp:transform = ((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,0,2,1))",
}


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("to", ["sdf", "mjcf", "skel"])
@pytest.mark.parametrize("height", [2, 5])
def test_only_a_pose_that_the_joint_confirms_is_exact(name: str, to: str, height: int, tmp_path: Path) -> None:
    path = tmp_path / "a.usda"
    path.write_text(STAGE.format(place=PLACES[name], name=name, height=height))
    report = exoskel.convert(path, None, to=to)
    assert report.certificate.passed
    fates = {one.path: str(one.fate) for one in report.items}
    assert (fates[f"/W/b/@{name}"] == "approximated") is (height == 5)


def test_joints_in_different_places_may_have_the_same_name() -> None:
    """mujoco-usd-converter calls all fixed joints `PhysicsFixedJoint`, each inside of its body."""
    bodies = "".join(
        f"""def Xform "{name}" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {{
        double3 xformOp:translate = (0, 0, {height})
        uniform token[] xformOpOrder = ["xformOp:translate"]
        def PhysicsFixedJoint "PhysicsFixedJoint" {{
            rel physics:body0 = </World/{above}>
            rel physics:body1 = </World/{name}>
            point3f physics:localPos0 = (0, 0, 1)
        }}
        }}
        """
        for name, above, height in (("b", "a", 1), ("c", "b", 2))
    )
    text = f"""#usda 1.0
(defaultPrim = "World"
 metersPerUnit = 1
 upAxis = "Z")
def Xform "World" {{
    def Xform "a" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {{
    }}
    {bodies}
}}
"""
    scene = exoskel.load(text.encode(), format="usd")
    names = [joint.name for joint in scene.world.joints() if not joint.implicit]
    assert [joint.child.name for joint in scene.world.joints() if joint.name in names[-2:]] == ["b", "c"]
    assert len(set(names)) == len(names) and names[-2] == "PhysicsFixedJoint"
    assert not [one for one in scene.diagnostics if one.severity is exoskel.Severity.ERROR]


STATES = """#usda 1.0
(metersPerUnit = 1)
def Xform "W" {{
 def Xform "a" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {{
  def Cube "c" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {{}}
 }}
 def Physics{kind}Joint "j" {{
  rel physics:body1 = </W/a>
  float state:{axis}:physics:{word} = {number}
 }}
}}
"""


@pytest.mark.parametrize(("kind", "axis", "unit"), [("Revolute", "angular", 57.29578), ("Prismatic", "linear", 1.0)])
@pytest.mark.parametrize("word", ["position", "velocity"])
def test_a_stated_state_outranks_the_pose_of_the_body(kind: str, axis: str, unit: float, word: str) -> None:
    text = STATES.format(kind=kind, axis=axis, word=word, number=20)
    scene = exoskel.load(text.encode(), format="usd")
    (joint,) = scene.world.joints()
    found = joint.positions if word == "position" else joint.velocities
    assert found == pytest.approx((20 / unit,))
    assert ("US106.apart" in [one.key for one in scene.diagnostics]) is (word == "position")


@pytest.mark.parametrize(
    ("kind", "axis", "number"), [("Spherical", "rotX", "20"), ("", "rotX", "20"), ("Revolute", "angular", "inf")]
)
def test_a_state_that_is_not_read_is_not_exact(kind: str, axis: str, number: str, tmp_path: Path) -> None:
    path = tmp_path / "a.usda"
    path.write_text(STATES.format(kind=kind, axis=axis, word="position", number=number))
    for to in ("mjcf", "skel"):
        fates = {one.path: str(one.fate) for one in exoskel.convert(path, None, to=to).items}
        assert fates[f"/W/j/@state:{axis}:physics:position"] == "dropped"
