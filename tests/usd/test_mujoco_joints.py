"""Joints as MuJoCo's and Newton's schemas describe them: stacks, springs, dampers, references, equalities, mimics."""

from __future__ import annotations

import sys
from math import inf, pi, radians
from pathlib import Path

import numpy as np
import pytest

import exoskel
from exoskel.scene.joint import Joint, Mimic
from exoskel.scene.kinematics import Kinematics

pytest.importorskip("pxr", reason="usd-core is not installed")

HEAD = """#usda 1.0
(
    metersPerUnit = {metre}
    kilogramsPerUnit = 1
    upAxis = "Z"
)

def PhysicsScene "scene"
{{
    {scene}
}}
"""
BODY = """
def Xform "{name}" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"{apis}])
{{
    double3 xformOp:translate = ({x}, 0, 0)
    uniform token[] xformOpOrder = ["xformOp:translate"]
    float physics:mass = 1
    float3 physics:diagonalInertia = (1, 1, 1)
    {values}
}}
"""
JOINT = """
def Physics{kind}Joint "{name}" (prepend apiSchemas = [{apis}])
{{
    uniform token physics:axis = "{axis}"
    {body0}
    rel physics:body1 = </{child}>
    point3f physics:localPos0 = ({x}, 0, 0)
    {values}
}}
"""


def body(name: str, x: float = 0.0, apis: str = "", values: str = "") -> str:
    return BODY.format(name=name, x=x, apis=apis, values=values)


def joint(
    name: str,
    child: str,
    values: str = "",
    *,
    kind: str = "Revolute",
    axis: str = "Z",
    apis: str = '"MjcJointAPI"',
    parent: str = "",
    x: float = 0.0,
) -> str:
    body0 = f"rel physics:body0 = </{parent}>" if parent else ""
    stated = apis or '"PhysxJointAPI"'
    return JOINT.format(kind=kind, name=name, child=child, values=values, axis=axis, apis=stated, body0=body0, x=x)


def load(text: str, folder: Path, metre: float = 1.0, scene: str = "") -> exoskel.Scene:
    file = folder / "scene.usda"
    file.write_text(HEAD.format(metre=metre, scene=scene) + text, encoding="utf-8")
    return exoskel.load(file)


def joints_of(scene: exoskel.Scene) -> dict[str, Joint]:
    return {one.name: one for model in scene.world.models for one in model.joints}


def keys(scene: exoskel.Scene) -> set[str]:
    return {found.key for found in scene.diagnostics}


@pytest.mark.parametrize("format", ["skel", "xode", "mjcf", "urdf", "sdf", "usd"])
def test_bodies_are_read_with_parents_before_children(format: str, tmp_path: Path) -> None:
    parts = [body("c"), body("a"), joint("k", "c", parent="b"), body("b"), joint("i", "a"), joint("j", "b", parent="a")]
    scene = load("".join(parts), tmp_path)
    (model,) = scene.world.models
    assert [one.name for one in model.bodies] == ["a", "b", "c"]
    assert [one.name for one in model.joints] == ["i", "j", "k"]
    assert exoskel.convert(scene, None, to=format).certificate.passed


@pytest.mark.parametrize("format", ["skel", "xode", "mjcf", "urdf", "sdf", "usd"])
def test_a_body_between_stacked_joints_comes_before_their_child(format: str, tmp_path: Path) -> None:
    scene = load(body("base") + stack() + body("arm") + joint("elbow", "arm", parent="base"), tmp_path)
    names = [one.name for one in scene.world.models[0].bodies]
    assert names[-2:] == ["base", "arm"] and len(names) == 4
    assert exoskel.convert(scene, None, to=format).certificate.passed


# --- stacks -----------------------------------------------------------------------------------------------


def stack(apis: str = '"MjcJointAPI"') -> str:
    slides = [joint(f"slide{axis}", "base", kind="Prismatic", axis=axis, apis=apis, x=2.0) for axis in "XY"]
    return "".join([*slides, joint("turn", "base", axis="Z", apis=apis, x=2.0)])


ADDS, CONSTRAINS = (f"uniform bool newton:jointsAddMobility = {value}" for value in (1, 0))
ROOT = ', "PhysicsArticulationRootAPI"'


@pytest.mark.parametrize(
    ("root", "apis", "is_chain"),
    [
        ("", '"MjcJointAPI"', True),
        (ADDS, "", True),
        (CONSTRAINS, '"MjcJointAPI"', False),
        ("", "", False),
    ],
)
def test_joints_between_the_same_bodies_add_axes(root: str, apis: str, is_chain: bool, tmp_path: Path) -> None:
    scene = load(body("base", 2.0, ROOT, root) + stack(apis), tmp_path)
    (model,) = scene.world.models
    assert ("US106.stacked" in keys(scene)) is is_chain
    assert sum(one.loop for one in model.joints) == (0 if is_chain else 2)
    if is_chain:
        assert [(one.name, one.child.name, one.child.mass) for one in model.joints] == [
            ("slideX", "base_link0", 0.0),
            ("slideY", "base_link1", 0.0),
            ("turn", "base", 1.0),
        ]


def test_a_stack_moves_like_its_joints_one_after_the_other(tmp_path: Path) -> None:
    scene = load(body("base", 2.0) + stack(), tmp_path)
    assert np.allclose(_base_pose(scene)[:3, 3], (2, 0, 0))
    found = joints_of(scene)
    for name, position in (("slideX", 0.5), ("slideY", -1.5), ("turn", pi / 2)):
        found[name].positions = (position,)
    pose = _base_pose(scene)
    assert np.allclose(pose[:3, 3], (2.5, -1.5, 0))
    assert np.allclose(pose[:3, 0], (0, 1, 0))


def _base_pose(scene: exoskel.Scene) -> np.ndarray:
    bodies = [one.name for one in scene.world.bodies()]
    found: np.ndarray = Kinematics(scene.world.models).poses()[bodies.index("base")]
    return found


def test_a_stack_runs_and_converts(tmp_path: Path) -> None:
    arm = body("arm", 3.0) + joint("elbow", "arm", parent="base", x=1.0, axis="Y")
    scene = load(body("base", 2.0) + stack() + arm, tmp_path)
    simulation = exoskel.Simulation(scene)
    assert np.allclose(np.diag(simulation.mass_matrix())[:2], (2, 2))
    simulation.forces = (1.0, 2.0, 0.0, 0.0)
    simulation.step(10)
    assert simulation.positions[0] > 0.0 and simulation.positions[1] > 0.0
    report = exoskel.convert(tmp_path / "scene.usda", tmp_path / "out.xml")
    assert report.certificate.passed
    again = exoskel.load(tmp_path / "out.xml")
    assert sum(one.dof_count for model in again.world.models for one in model.joints) == 4


def test_names_of_massless_bodies_are_unique(tmp_path: Path) -> None:
    taken = body("base_link0", 5.0) + joint("other", "base_link0", parent="base")
    scene = load(body("base", 2.0) + stack() + taken, tmp_path)
    names = [one.name for one in scene.world.bodies()]
    assert names == ["base_link0(1)", "base_link1", "base", "base_link0"]


def test_many_bodies_are_read_in_linear_time(tmp_path: Path) -> None:
    _calls_of_chain(10, tmp_path)  # imports modules and fills caches
    calls = [_calls_of_chain(count, tmp_path) for count in (100, 200, 300)]
    assert (calls[2] - calls[1]) / (calls[1] - calls[0]) < 1.1


def _calls_of_chain(count: int, folder: Path) -> int:
    """The number of function calls that reading a chain of generic and stacked joints takes."""
    links = [body(f"b{number}", number) for number in range(count)]
    pairs = [f"b{number - 1}" for number in range(1, count)]
    joints = [joint(f"j{n}", f"b{n}", parent=parent, kind="Prismatic", axis="X") for n, parent in enumerate(pairs, 1)]
    joints += [joint(f"k{n}", f"b{n}", parent=parent) for n, parent in enumerate(pairs, 1)]
    (folder / "scene.usda").write_text(HEAD.format(metre=1, scene="") + "".join([*links, *joints]))
    found = 0

    def count_calls(frame: object, event: str, argument: object) -> None:
        nonlocal found
        found += event in ("call", "c_call")

    sys.setprofile(count_calls)
    try:
        exoskel.load(folder / "scene.usda")
    finally:
        sys.setprofile(None)
    return found


# --- springs and dampers ----------------------------------------------------------------------------------


def test_dampers_of_newton_have_the_unit_of_the_axis(tmp_path: Path) -> None:
    text = body("a") + joint("turn", "a", "float newton:damping = 0.5")
    text += body("b") + joint("slide", "b", "float newton:damping = 0.5", kind="Prismatic")
    found = joints_of(load(text, tmp_path))
    assert found["turn"].dofs[0].damping == pytest.approx(0.5 / radians(1))
    assert found["slide"].dofs[0].damping == 0.5


def test_springs_of_mujoco_are_in_radians_and_rest_at_degrees(tmp_path: Path) -> None:
    stated = "double mjc:stiffness = 3\n    double mjc:springref = 20\n    double mjc:damping = 0.25"
    text = body("a") + joint("turn", "a", stated) + body("b") + joint("slide", "b", stated, kind="Prismatic")
    found = joints_of(load(text, tmp_path))
    turn, slide = (found[name].dofs[0] for name in ("turn", "slide"))
    assert (turn.stiffness, turn.rest, turn.damping) == pytest.approx((3.0, radians(20), 0.25))
    assert (slide.stiffness, slide.rest, slide.damping) == pytest.approx((3.0, 20.0, 0.25))


def test_springs_of_mujoco_follow_the_units_of_the_stage(tmp_path: Path) -> None:
    stated = "double mjc:stiffness = 3\n    double mjc:springref = 20\n    double mjc:damping = 0.25"
    text = body("a") + joint("turn", "a", stated) + body("b") + joint("slide", "b", stated, kind="Prismatic")
    found = joints_of(load(text, tmp_path, metre=0.01))
    turn, slide = (found[name].dofs[0] for name in ("turn", "slide"))
    assert (turn.stiffness, turn.rest, turn.damping) == pytest.approx((3e-4, radians(20), 0.25e-4))
    assert (slide.stiffness, slide.rest, slide.damping) == pytest.approx((3.0, 0.2, 0.25))


def test_angles_of_mujoco_may_be_in_radians(tmp_path: Path) -> None:
    stated = "double mjc:stiffness = 3\n    double mjc:springref = 0.25"
    scene = load(body("a") + joint("turn", "a", stated), tmp_path, scene='uniform token mjc:compiler:angle = "radian"')
    assert joints_of(scene)["turn"].dofs[0].rest == 0.25


def test_a_reference_is_the_position_in_the_stated_pose(tmp_path: Path) -> None:
    stated = "double mjc:ref = 10\n    double mjc:stiffness = 1\n    float physics:lowerLimit = -90"
    scene = load(body("a") + joint("turn", "a", f"{stated}\n    float physics:upperLimit = 45"), tmp_path)
    dof = joints_of(scene)["turn"].dofs[0]
    assert dof.position_limits == pytest.approx((radians(-100), radians(35)))
    assert (dof.rest, dof.position) == pytest.approx((radians(-10), 0.0))


def test_a_drive_adds_to_passive_springs_and_dampers(tmp_path: Path) -> None:
    stated = "double mjc:stiffness = 3\n    double mjc:springref = 30\n    double mjc:damping = 0.25"
    drive = "float drive:angular:physics:{} = {}".format
    values = "\n    ".join([stated, drive("stiffness", 1 * radians(1)), drive("damping", 2 * radians(1))])
    values += f"\n    {drive('targetPosition', -10)}"
    scene = load(body("a") + joint("turn", "a", values, apis='"PhysicsDriveAPI:angular"'), tmp_path)
    dof = joints_of(scene)["turn"].dofs[0]
    assert (dof.stiffness, dof.damping, dof.rest) == pytest.approx((4.0, 2.25, radians(20)), rel=1e-6)


@pytest.mark.parametrize(
    ("stated", "limits"),
    [
        ("double mjc:actuatorfrcrange:min = -5\n    double mjc:actuatorfrcrange:max = 3", (-5.0, 3.0)),
        ("double mjc:actuatorfrcrange:min = -5", (-5.0, 0.0)),
        ("double mjc:actuatorfrcrange:max = 5\n    token mjc:actuatorfrclimited = 'false'", (-inf, inf)),
        ("double mjc:actuatorfrcrange:min = 5", (-inf, inf)),
    ],
)
def test_ranges_of_forces_have_the_defaults_of_mujoco(stated: str, limits: tuple[float, float], tmp_path: Path) -> None:
    assert joints_of(load(body("a") + joint("turn", "a", stated), tmp_path))["turn"].dofs[0].force_limits == limits


@pytest.mark.parametrize("stiffness", ["inf", "-inf"])
def test_limits_without_a_finite_spring_are_rigid(stiffness: str, tmp_path: Path) -> None:
    scene = load(body("a") + joint("turn", "a", f"float newton:limitStiffness = {stiffness}"), tmp_path)
    assert joints_of(scene)["turn"].drives == ()


def test_cones_and_assumed_masses_are_reported(tmp_path: Path) -> None:
    text = body("a") + joint("ball", "a", "float physics:coneAngle0Limit = 60", kind="Spherical")
    text += 'def Xform "b" (prepend apiSchemas = ["PhysicsRigidBodyAPI"])\n{\n}\n'
    scene = load(text, tmp_path)
    assert {"US106.cone", "US108.assumed"} <= keys(scene)
    limits = [dof.position_limits for dof in joints_of(scene)["ball"].dofs]
    assert limits == [(-np.inf, np.inf), pytest.approx((-np.pi / 3, np.pi / 3)), (-np.inf, np.inf)]
    assert {one.name: one.mass for one in scene.world.bodies()}["b"] == 1.0


@pytest.mark.parametrize(("axis", "towards"), [("X", "zy"), ("Y", "xz"), ("Z", "yx")])
def test_a_cone_limits_the_rotations_that_turn_its_axis(axis: str, towards: str, tmp_path: Path) -> None:
    """The axis turns towards the next one, and towards the one after it, about the third one."""
    values = f'uniform token physics:axis = "{axis}"\n'
    values += "float physics:coneAngle0Limit = 30\nfloat physics:coneAngle1Limit = 45"
    scene = load(body("a") + joint("ball", "a", values, kind="Spherical"), tmp_path)
    limits = {name: dof.position_limits for name, dof in zip("xyz", joints_of(scene)["ball"].dofs, strict=True)}
    found = {name: float(np.degrees(high)) for name, (_, high) in limits.items()}
    assert found == pytest.approx({axis.lower(): np.inf, towards[0]: 30, towards[1]: 45})
    report = exoskel.convert(scene, tmp_path / "again.usda")
    assert report.certificate.passed
    next(scene.world.bodies()).name = "other"  # a new document
    report = exoskel.convert(scene, tmp_path / "new.usda")
    assert report.certificate.passed
    lost = {item.path.rpartition(".")[2]: str(item.fate) for item in report.losses}
    assert {fate for path, fate in lost.items() if "coneAngle" in path} == {"approximated"}
    again = exoskel.load(tmp_path / "new.usda")
    for old, new in zip(joints_of(scene)["ball"].dofs, joints_of(again)["ball"].dofs, strict=True):
        assert new.position_limits == pytest.approx(old.position_limits, rel=1e-6)


def test_limits_that_are_no_cone_are_a_loss(tmp_path: Path) -> None:
    scene = load(body("a") + joint("ball", "a", "float physics:coneAngle0Limit = 60", kind="Spherical"), tmp_path)
    for dof in joints_of(scene)["ball"].dofs:
        dof.position_limits = (-1.0, 1.0)
    report = exoskel.convert(scene, tmp_path / "new.usda")
    assert "coneAngle" not in (tmp_path / "new.usda").read_text()
    assert any("limits for each axis" in item.why for item in report.losses)


@pytest.mark.parametrize("flag", ["newton:gravityEnabled", "mjc:flag:gravity"])
@pytest.mark.parametrize("is_on", [True, False])
def test_gravity_may_be_disabled(flag: str, is_on: bool, tmp_path: Path) -> None:
    scene = load(body("a"), tmp_path, scene=f"bool {flag} = {int(is_on)}\n    float physics:gravityMagnitude = 5")
    assert scene.world.gravity == ((0.0, 0.0, -5.0) if is_on else (0.0, 0.0, 0.0))


@pytest.mark.parametrize(("share", "gravity", "is_told"), [(0, True, False), (1, False, False), (0.5, True, True)])
def test_gravity_may_be_compensated(share: float, gravity: bool, is_told: bool, tmp_path: Path) -> None:
    scene = load(body("a", values=f"custom float mjc:body:gravcomp = {share}"), tmp_path)
    assert next(scene.world.bodies()).gravity is gravity
    assert ("US116" in keys(scene)) is is_told


# --- equalities and mimics --------------------------------------------------------------------------------


def pair(values: str, apis: str, kind: str = "Revolute") -> str:
    base = body("base") + joint("fixed", "base", kind="Fixed", apis="")
    first = body("a") + joint("leader", "a", parent="base", kind=kind)
    return base + first + body("b") + joint("follower", "b", values, parent="base", apis=apis, kind=kind)


EQUALITY = '"MjcJointAPI", "MjcEqualityJointAPI"'


@pytest.mark.parametrize(("kind", "offset"), [("Revolute", 0.5), ("Prismatic", 0.5)])
def test_a_linear_equality_of_mujoco_is_a_mimic(kind: str, offset: float, tmp_path: Path) -> None:
    stated = "rel mjc:target = </leader>\n    double mjc:coef0 = 0.5\n    double mjc:coef1 = -2"
    scene = load(pair(stated, EQUALITY, kind), tmp_path)
    found = joints_of(scene)["follower"].mimic
    assert found is not None
    assert (found.joint, found.multiplier, found.offset) == ("leader", -2.0, pytest.approx(offset))
    assert scene.world.equalities == []


def test_other_equalities_of_mujoco_are_equalities(tmp_path: Path) -> None:
    stated = "rel mjc:target = </leader>\n    double mjc:coef1 = 2\n    double mjc:coef2 = 0.25"
    scene = load(pair(stated, EQUALITY), tmp_path)
    (found,) = scene.world.equalities
    (model,) = scene.world.models
    assert joints_of(scene)["follower"].mimic is None
    assert (found.target, found.other) == (f"{model.name}/follower", f"{model.name}/leader")
    assert found.polynomial == (0.0, 2.0, 0.25, 0.0, 0.0)


def test_a_polynomial_may_have_the_first_terms_of_newton(tmp_path: Path) -> None:
    stated = "rel newton:mimicJoint = </leader>\n    float newton:mimicCoef0 = 30\n    float newton:mimicCoef1 = 2"
    apis = '"NewtonMimicAPI", "MjcEqualityJointAPI"'
    scene = load(pair(f"{stated}\n    double mjc:coef3 = 0.25", apis), tmp_path)
    (found,) = scene.world.equalities
    assert found.polynomial == pytest.approx((radians(30), 2.0, 0.0, 0.25, 0.0))
    assert joints_of(scene)["follower"].mimic is None


def test_disabled_mimics_and_those_of_unknown_joints_move_freely(tmp_path: Path) -> None:
    stated = "rel newton:mimicJoint = </leader>\n    "
    scene = load(pair(f"{stated}bool newton:mimicEnabled = 0", '"NewtonMimicAPI"'), tmp_path)
    assert joints_of(scene)["follower"].mimic is None
    scene = load(pair(stated.replace("leader", "nothing"), '"NewtonMimicAPI"'), tmp_path)
    assert joints_of(scene)["follower"].mimic is None
    assert "US106.mimic" in keys(scene)


def test_the_offset_of_a_mimic_is_a_length_of_the_stage(tmp_path: Path) -> None:
    stated = "rel newton:mimicJoint = </leader>\n    float newton:mimicCoef0 = 25"
    scene = load(pair(stated, '"NewtonMimicAPI"', "Prismatic"), tmp_path, metre=0.01)
    assert joints_of(scene)["follower"].mimic == Mimic("leader", 1.0, 0.25)


def test_disabled_joints_do_not_join_models(tmp_path: Path) -> None:
    weld = joint("weld", "b", "bool physics:jointEnabled = 0", kind="Fixed", parent="a")
    scene = load(body("a") + body("b", 1.0) + weld, tmp_path)
    assert [model.name for model in scene.world.models] == ["a", "b"]
    assert "US106.disabled" in keys(scene)


# --- generic joints ---------------------------------------------------------------------------------------


def generic(*free: str, more: str = "") -> str:
    """A generic joint from the base to a body at its free axes; the others are locked."""
    axes = [f"{kind}{axis}" for kind in ("trans", "rot") for axis in "XYZ"]
    locked = [f"float limit:{name}:physics:{side}" for name in axes if name not in free for side in ("low", "high")]
    values = "\n    ".join([f"{one} = {1 if one.endswith('low') else -1}" for one in locked] + [more])
    text = joint("glide", "b", values, kind="", apis="", parent="base", x=1.0)
    return body("base") + joint("fixed", "base", kind="Fixed", apis="") + body("b", 1.0) + text


@pytest.mark.parametrize(
    ("free", "kinds"),
    [
        (("transX", "rotX"), ["prismatic", "revolute"]),
        (("transX", "transZ", "rotX", "rotY", "rotZ"), ["prismatic", "prismatic", "revolute", "revolute", "revolute"]),
        (("transZ", "rotX", "rotY"), ["prismatic", "revolute", "revolute"]),
    ],
)
def test_generic_joints_without_a_counterpart_are_chains(
    free: tuple[str, ...], kinds: list[str], tmp_path: Path
) -> None:
    scene = load(generic(*free), tmp_path)
    moving = [one for one in joints_of(scene).values() if one.dof_count]
    assert [one.kind for one in moving] == kinds
    assert [one.name for one in moving] == [f"glide_{name}" for name in free]
    assert moving[-1].child.name == "b" and all(one.child.mass == 0.0 for one in moving[:-1])
    assert "US106.split" in keys(scene) and "US106.axes" not in keys(scene)


def test_the_axes_of_a_chain_keep_their_limits_and_drives(tmp_path: Path) -> None:
    more = "float limit:transX:physics:low = -0.5\n    float limit:rotX:physics:high = 90"
    more += "\n    float drive:rotX:physics:stiffness = 2\n    float newton:damping = 0.5"
    scene = load(generic("transX", "rotX", more=more), tmp_path)
    found = joints_of(scene)
    slide, turn = found["glide_transX"].dofs[0], found["glide_rotX"].dofs[0]
    assert slide.position_limits == (-0.5, inf)
    assert (slide.stiffness, slide.damping) == (0.0, 0.5)
    assert turn.position_limits == (-inf, pytest.approx(pi / 2))
    assert (turn.stiffness, turn.damping) == pytest.approx((2 / radians(1), 0.5 / radians(1)))
    found["glide_transX"].positions, found["glide_rotX"].positions = (0.25,), (pi / 2,)
    (model,) = scene.world.models
    pose = Kinematics([model]).poses()[model.bodies.index(model.body("b"))]
    assert np.allclose(pose[:3, 3], (1.25, 0, 0)) and np.allclose(pose[:3, 1], (0, 0, 1))
