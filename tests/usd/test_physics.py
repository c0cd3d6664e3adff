"""Every sample, every example and the corpus: what usd-core sees is what the scene has.

Masses, frames of joints and limits are in single precision in UsdPhysics, places of bodies in double.
"""

from __future__ import annotations

import re
import sys
from math import degrees, inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exoskel
from exoskel import BodyState, Kinematics, Scene, Sphere, World, spatial
from exoskel.formats.usd.compose import read_back
from exoskel.formats.usd.tree import Layer, to_binary, to_text
from exoskel.scene.inertia import MIN_MASS
from exoskel.scene.joint import UNLIMITED, Joint
from exoskel.scene.summary import moments
from tests.support.scenes import all_files, name_of
from tests.usd.support import close, frame, lowered, matrix, paths, quaternion, stage_of, turn, written

pytest.importorskip("pxr", reason="usd-core is not installed")

DOUBLE, SINGLE = 1e-9, 1e-6
FILES = [file for file in all_files() if exoskel.load(file).worlds]
every_file = pytest.mark.parametrize("file", FILES, ids=name_of)


def scattered(file: Path, seed: int = 7) -> Scene:
    """The scene with random joint positions."""
    scene = exoskel.load(file)
    rng = np.random.default_rng(seed)
    for world in scene.worlds:
        for body in world.bodies():
            body.state = None  # it states the motion at the old positions
        for model in world.models:
            for joint in model.joints if not model.static else ():
                if not joint.loop:
                    joint.positions = tuple(rng.uniform(-1.0, 1.0, len(joint.motion)).tolist())
    return scene


@every_file
def test_all_usd_validators_pass(file: Path) -> None:
    from pxr import UsdValidation

    validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    assert len(validators) >= 25
    found = UsdValidation.ValidationContext(validators).Validate(stage_of(written(exoskel.load(file))[0]))
    assert not [f"{one.GetName()}: {one.GetMessage()}" for one in found]


@every_file
def test_mass_properties_are_exact(file: Path) -> None:
    from pxr import UsdPhysics

    scene = exoskel.load(file)
    layer, output = written(scene)
    stage, where = stage_of(layer), paths(layer)
    lost = {id(loss.item) for loss in output.losses if loss.code == "US211"}
    for model in (model for world in scene.worlds for model in world.models):
        tensors = spatial.moment_matrix(moments(model.bodies))
        for body, tensor in zip(model.bodies, tensors, strict=True):
            prim = stage.GetPrimAtPath(where[id(body)])
            assert prim.HasAPI(UsdPhysics.RigidBodyAPI) != model.static
            if model.static and not prim.HasAPI(UsdPhysics.MassAPI):
                assert not body.mass > 0.0 or not np.isfinite(body.mass)
                continue
            mass = UsdPhysics.MassAPI(prim)
            assert close(body.mass or MIN_MASS, mass.GetMassAttr().Get(), SINGLE)
            assert close(body.com, mass.GetCenterOfMassAttr().Get(), SINGLE)
            exact = spatial.moment_matrix(prim.GetAttribute("newton:inertia").Get())
            assert np.array_equal(exact, tensor)
            if id(body) not in lost:
                axes = quaternion(mass.GetPrincipalAxesAttr().Get())
                assert close(tensor, axes @ np.diag(mass.GetDiagonalInertiaAttr().Get()) @ axes.T, SINGLE), body.name


@pytest.mark.parametrize("load", [exoskel.load, scattered], ids=["as written", "scattered"])
@every_file
def test_bodies_have_their_initial_poses(file: Path, load: Any) -> None:
    from pxr import UsdGeom

    scene = load(file)
    layer, _ = written(scene)
    cache, stage, where = UsdGeom.XformCache(), stage_of(layer), paths(layer)
    for world in scene.worlds:
        poses = Kinematics(world.models).poses()
        for body, pose in zip(world.bodies(), poses, strict=True):
            seen = matrix(cache.GetLocalToWorldTransform(stage.GetPrimAtPath(where[id(body)])))
            assert close(pose, seen, DOUBLE), body.name


def relative(stage: Any, cache: Any, prim: Any) -> np.ndarray:
    """The frame of a joint in the second body relative to that in the first, at the poses of the bodies."""
    from pxr import UsdPhysics

    joint = UsdPhysics.Joint(prim)
    ends = []
    for side, targets in enumerate((joint.GetBody0Rel().GetTargets(), joint.GetBody1Rel().GetTargets())):
        place = matrix(cache.GetLocalToWorldTransform(stage.GetPrimAtPath(targets[0]))) if targets else np.eye(4)
        ends.append(place @ frame(joint, side))
    return spatial.inverse(ends[0]) @ ends[1]


def stated(prim: Any, name: str) -> float:
    """A position that the file states, in rad or m."""
    attribute = prim.GetAttribute(f"state:{name}:physics:position")
    value = attribute.Get() if attribute else 0.0
    return np.radians(value) if name[0] in "ra" else value


def allowed(prim: Any) -> np.ndarray | None:
    """The motion of a joint at its stated positions; None for a ball joint, which has none."""
    axis = prim.GetAttribute("physics:axis").Get() if prim.GetAttribute("physics:axis") else "X"
    match str(prim.GetTypeName()):
        case "PhysicsFixedJoint":
            return np.eye(4)
        case "PhysicsRevoluteJoint":
            return turn(axis, stated(prim, "angular"))
        case "PhysicsPrismaticJoint":
            return spatial.transform(np.eye(3), stated(prim, "linear") * np.eye(3)["XYZ".index(axis)])
        case "PhysicsSphericalJoint":
            return None
    free = {name for name in AXES if limits(prim, name)[0] <= limits(prim, name)[1]}
    assert all(name in free or stated(prim, name) == 0.0 for name in AXES)
    shift = spatial.transform(np.eye(3), np.array([stated(prim, name) for name in AXES[:3]]))
    return shift @ turn("X", stated(prim, "rotX")) @ turn("Y", stated(prim, "rotY")) @ turn("Z", stated(prim, "rotZ"))


AXES = ("transX", "transY", "transZ", "rotX", "rotY", "rotZ")


def limits(prim: Any, name: str) -> tuple[float, float]:
    return tuple(prim.GetAttribute(f"limit:{name}:physics:{end}").Get() for end in ("low", "high"))


@pytest.mark.parametrize("load", [exoskel.load, scattered], ids=["as written", "scattered"])
@every_file
def test_both_frames_of_a_joint_agree_at_its_position(file: Path, load: Any) -> None:
    from pxr import UsdGeom, UsdPhysics

    scene = load(file)
    layer, _ = written(scene)
    cache, stage = UsdGeom.XformCache(), stage_of(layer)
    scale = 1.0 + max((np.abs(Kinematics(w.models).poses()).max(initial=0.0) for w in scene.worlds), default=0.0)
    suspended = {id(j) for w in scene.worlds for j in w.joints() if j.kind == "free"}
    where = {path: item for item, path in paths(layer).items()}
    for prim in stage.Traverse():
        if not prim.IsA(UsdPhysics.Joint) or UsdPhysics.Joint(prim).GetExcludeFromArticulationAttr().Get():
            continue
        here, expected = relative(stage, cache, prim), allowed(prim)
        if expected is None:
            assert np.abs(here[:3, 3]).max() < SINGLE * scale
        elif where.get(str(prim.GetPath())) not in suspended:  # a rotation vector as three angles
            assert np.abs(here - expected).max() < SINGLE * scale, prim.GetPath()


def has_closed_loops(file: Path) -> bool:
    joints = [joint for world in exoskel.load(file).worlds for joint in world.joints()]
    return any(joint.loop and joint.kind != "amotor" for joint in joints) and not any(
        any(joint.positions) for joint in joints
    )


@pytest.mark.parametrize("file", [file for file in FILES if has_closed_loops(file)], ids=name_of)
def test_loop_joints_are_consistent_with_body_poses(file: Path) -> None:
    from pxr import UsdGeom, UsdPhysics

    layer, _ = written(exoskel.load(file))
    cache, stage = UsdGeom.XformCache(), stage_of(layer)
    joints = [UsdPhysics.Joint(prim) for prim in stage.Traverse() if prim.IsA(UsdPhysics.Joint)]
    loops = [joint.GetPrim() for joint in joints if joint.GetExcludeFromArticulationAttr().Get()]
    assert loops
    for prim in loops:
        assert np.abs(relative(stage, cache, prim) - np.eye(4)).max() < 1e-5


@every_file
def test_limits_are_in_degrees_and_metres(file: Path) -> None:
    scene = exoskel.load(file)
    layer, _ = written(scene)
    stage, where = stage_of(layer), paths(layer)
    for joint in (joint for world in scene.worlds for joint in world.joints()):
        if id(joint) not in where or joint.kind not in ("revolute", "prismatic") or not joint.limits_enforced:
            continue
        prim = stage.GetPrimAtPath(where[id(joint)])
        low, high = (prim.GetAttribute(f"physics:{end}Limit").Get() for end in ("lower", "upper"))
        wanted = [degrees(v) if joint.kind == "revolute" else v for v in joint.dofs[0].position_limits]
        if joint.dofs[0].position_limits == UNLIMITED:
            assert (low, high) == (-inf, inf)
        else:
            assert np.allclose([low, high], wanted, rtol=SINGLE, atol=0.0)


# --- read back ----------------------------------------------------------------------------------------


def counted(joints: list[Joint], q: dict[str, np.ndarray]) -> np.ndarray:
    return np.concatenate([q[joint.child.name] for joint in joints]) if joints else np.zeros(0)


def tree(world: World, number: int) -> list[Joint]:
    return [joint for joint in world.models[number].joints if not joint.loop]


@pytest.mark.parametrize("load", [exoskel.load, scattered], ids=["as written", "scattered"])
@every_file
def test_the_scene_that_is_read_back_moves_the_same(file: Path, load: Any) -> None:
    scene = load(file)
    layer, _ = written(scene)
    back = read_back(to_text(layer).encode())
    rng = np.random.default_rng(3)
    for before, after in zip(scene.worlds, back.worlds, strict=True):
        assert close(before.gravity, after.gravity, SINGLE)
        assert before.time_step == after.time_step
        simple = lowered(before)
        assert close(Kinematics(simple.models).poses(), Kinematics(after.models).poses(), SINGLE)
        for number, (own, other) in enumerate(zip(simple.models, after.models, strict=True)):
            assert [body.name for body in own.bodies] == [body.name for body in other.bodies]
            if own.static:
                continue
            mine, theirs = tree(simple, number), tree(after, number)
            q = {joint.child.name: rng.uniform(-1.0, 1.0, len(joint.motion)) for joint in mine}
            ours = Kinematics([own]).poses(counted(mine, q))
            assert close(ours, Kinematics([other]).poses(counted(theirs, q)), SINGLE)
            parent_joints = {joint.child.name: joint for joint in theirs}
            for joint in mine:
                assert close(joint.velocities, parent_joints[joint.child.name].velocities, SINGLE)


@pytest.mark.parametrize("file", FILES[:6], ids=name_of)
def test_text_and_binary_have_the_same_content(file: Path) -> None:
    layer: Layer = written(exoskel.load(file))[0]
    from_text, from_binary = (read_back(data) for data in (to_text(layer).encode(), to_binary(layer)))
    for one, other in zip(from_text.worlds, from_binary.worlds, strict=True):
        assert np.array_equal(Kinematics(one.models).poses(), Kinematics(other.models).poses())
        assert [body.mass for body in one.bodies()] == [body.mass for body in other.bodies()]


# --- files of other programs --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "US002"),
        (b"#usda 1.0\ndef {", "US002"),
        (b"#usda 1.0\n\xff", "US002"),
        (b"PXR-USDC and then nothing of the kind", "US002"),
        (b'#usda 1.0\ndef Xform "a" (kind = "assembly") {}', "US002"),
    ],
)
def test_files_of_other_programs_are_rejected(data: bytes, code: str) -> None:
    with pytest.raises(exoskel.ExoskelError, match=code):
        read_back(data)


def test_a_truncated_file_is_rejected() -> None:
    text = to_text(written(exoskel.load(FILES[0]))[0])
    with pytest.raises(exoskel.ExoskelError, match="US002"):
        read_back(re.sub("rel physics:body1 = .*", "", text).encode())


def test_without_usd_core_only_text_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pxr", None)
    layer = written(exoskel.load(FILES[0]))[0]
    assert to_text(layer)
    for attempt in (lambda: to_binary(layer), lambda: read_back(b"#usda 1.0")):
        with pytest.raises(exoskel.ExoskelError, match=r"pip install 'exoskel\[usd\]'.*US001"):
            attempt()


@pytest.mark.parametrize("to", ["usd", "mjcf", "sdf", "urdf", "skel"])
@pytest.mark.parametrize("source", ["xode", "usd"])
def test_sleeping_bodies_have_the_fate_of_what_is_written(source: str, to: str) -> None:
    world = World("w")
    body = world.add_model("m").add_body("b", mass=1.0, joint="free", shapes=[Sphere(0.1)])
    body.state = BodyState(enabled=False, force=(1.0, 2.0, 3.0))
    scene = exoskel.load(exoskel.convert(Scene([world]), None, to=source).data)
    scene.world.models[0].bodies[0].mass = 2.0
    report = exoskel.convert(scene, None, to=to)
    (found,) = [item for item in report.items if item.path.endswith(("/@enabled", ":startsAsleep"))]
    states = [one.state for one in exoskel.load(report.data).world.bodies()]
    is_written = any(one is not None and not one.enabled for one in states)
    assert (found.fate.value in ("exact", "kept"), found.loss) == (is_written, not is_written)
    assert "forces" not in found.why
