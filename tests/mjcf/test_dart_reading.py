"""MJCF for DART: what its MjcfParser reads, ignores and refuses is what the report says."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import exoskel
from exoskel import Box, Pose, World, spatial
from exoskel.conversion.report import Report
from tests.support.places import PROJECT

SAMPLES = PROJECT / "src" / "exoskel" / "samples"
FILES = sorted([*SAMPLES.glob("skel/*.skel"), *SAMPLES.glob("xode/*.xode")])
READER = """
import json, os, sys
import dartpy
def describe_shape(node):
    visual = node.getVisualAspect().getRGBA().tolist() if node.hasVisualAspect() else None
    dynamic = node.getDynamicsAspect().getFrictionCoeff() if node.hasDynamicsAspect() else None
    size = node.getShape().getBoundingBox().getMax().tolist()
    place = node.getRelativeTransform().matrix().tolist()
    return [node.getShape().getType(), size, place, visual, node.hasCollisionAspect(), dynamic]
def describe_joint(joint):
    dofs = range(joint.getNumDofs())
    return {
        "type": joint.getType(), "name": joint.getName(), "enforced": joint.areLimitsEnforced(),
        "actuator": str(joint.getActuatorType()), "position": joint.getPositions().tolist(),
        "velocity": joint.getVelocities().tolist(),
        "limits": [joint.getPositionLowerLimits().tolist(), joint.getPositionUpperLimits().tolist()],
        "forces": [joint.getForceLowerLimits().tolist(), joint.getForceUpperLimits().tolist()],
        "dynamics": [[joint.getDampingCoefficient(i), joint.getSpringStiffness(i), joint.getCoulombFriction(i)]
                     for i in dofs],
        "axis": joint.getAxis().tolist() if hasattr(joint, "getAxis") else None,
        "place": joint.getTransformFromParentBodyNode().matrix().tolist(),
    }
def describe_body(body):
    return {
        "mass": body.getMass(), "centre": body.getLocalCOM().tolist(), "gravity": body.getGravityMode(),
        "moment": body.getInertia().getMoment().tolist(), "place": body.getWorldTransform().matrix().tolist(),
        "joint": describe_joint(body.getParentJoint()), "shapes": [describe_shape(one) for one in body.getShapeNodes()],
    }
def describe(world):
    if world is None:
        return None
    found = {"gravity": world.getGravity().tolist(), "step": world.getTimeStep(),
             "constraints": world.getConstraintSolver().getNumConstraints(),
             "skeletons": world.getNumSkeletons(), "bodies": {}}
    for number in range(world.getNumSkeletons()):
        skeleton = world.getSkeleton(number)
        found[f"collides {number}"] = skeleton.isEnabledSelfCollisionCheck()
        for body in skeleton.getBodyNodes():
            found["bodies"][body.getName()] = describe_body(body)
    return found
for file in sys.argv[1:]:
    sys.stdout.flush()
    child = os.fork()  # DART crashes on some files
    if child == 0:
        print("RESULT", json.dumps([file, describe(dartpy.utils.MjcfParser.readWorld(file))]), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""


def read_by_dart(*files: Path) -> dict[Path, dict[str, Any] | None]:
    """What DART finds in files, in a process of its own; None: it refuses or crashes."""
    pytest.importorskip("dartpy")
    command = [sys.executable, "-c", READER, *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    found: dict[Path, dict[str, Any] | None] = dict.fromkeys(files)
    for line in done.stdout.splitlines():
        if line.startswith("RESULT "):
            name, world = json.loads(line.removeprefix("RESULT "))
            found[Path(name)] = world
    assert any(found.values()), done.stderr[-2000:]
    return found


def write(source: Any, path: Path) -> Report:
    report = exoskel.convert(source, path, to="mjcf", target="dart", meshes="copy")
    assert report.saved
    return report


# --- what a document states -----------------------------------------------------------------------------

DOCUMENT = """<mujoco model="m">
 <compiler angle="radian" autolimits="false" inertiafromgeom="false"/>{settings}
 <option timestep="0.002" {option}/>
 <worldbody>{world}
  <body name="a" pos="0 0 1" {body}>
   <inertial pos=".1 .2 .3" mass="3" fullinertia=".1 .2 .25 0 0 0"/>{inside}
   <joint name="j" type="hinge" axis="0 1 0" {joint}/>
   <geom name="ga" type="box" size=".1 .2 .3" {geom}/>
   <body name="b" pos="1 0 0">
    <inertial pos="0 0 0" mass="2" fullinertia=".1 .2 .25 0 0 0"/>
    <joint name="k" type="slide" axis="0 0 1"/><geom name="gb" type="sphere" size=".1"/><site name="sb" size=".1"/>
   </body>
  </body>
  <body name="c" pos="3 0 0">
   <inertial pos="0 0 0" mass="2" fullinertia=".1 .2 .25 0 0 0"/>
   <joint name="f" type="free"/><geom name="gc" type="sphere" size=".1"/>
  </body>
 </worldbody>{rest}
</mujoco>"""
IGNORED: dict[str, dict[str, str]] = {
    "gravity": {"option": 'gravity="0 0 -5"'},
    "solver": {"option": 'integrator="RK4" cone="elliptic" impratio="10" solver="CG" wind="1 2 3" density="5"'},
    "flags": {"settings": '<option><flag gravity="disable" limit="disable" contact="disable"/></option>'},
    "spring": {"joint": 'stiffness="3"'},
    "friction of joints": {"joint": 'frictionloss="3"'},
    "armature": {"joint": 'armature="3"'},
    "reference": {"joint": 'ref="0.3"'},
    "solver of joints": {"joint": 'margin="0.3" solreflimit="0.1 1" solimplimit="0.9 0.95 0.01"'},
    "force limits": {"joint": 'actuatorfrclimited="true" actuatorfrcrange="-3 3"'},
    "gravity of bodies": {"body": 'gravcomp="1"'},
    "contacts": {"geom": 'condim="6" priority="2" margin=".1" solref=".1 1"'},
    "collision filter": {"geom": 'contype="2" conaffinity="4"'},
    "exclude": {"rest": '<contact><exclude body1="a" body2="c"/></contact>'},
    "camera": {"inside": '<camera name="c1" pos=".1 0 0"/>'},
    "light": {"inside": '<light name="c1" pos=".1 0 0"/>'},
    "material": {"settings": '<asset><material name="mm" rgba="1 0 0 1"/></asset>', "geom": 'material="mm"'},
    "mimic": {"rest": '<equality><joint joint1="j" joint2="k" polycoef="0 2 0 0 0"/></equality>'},
    "locked joint": {"rest": '<equality><joint joint1="j" polycoef="1 0 0 0 0"/></equality>'},
    "connect": {"rest": '<equality><connect body1="b" body2="c" anchor="0 0 0"/></equality>'},
    "weld to the world": {"rest": '<equality><weld body1="b" body2="world"/></equality>'},
    "tendon": {"rest": '<tendon><fixed name="t" stiffness="3"><joint joint="j" coef="1"/></fixed></tendon>'},
    "motor": {"rest": '<actuator><motor name="m" joint="j" gear="3"/></actuator>'},
    "servo": {"rest": '<actuator><position name="m" joint="j" kp="3"/></actuator>'},
    "sensor": {"rest": '<sensor><jointpos joint="j"/></sensor>'},
    "keyframe": {"rest": '<keyframe><key qpos=".3 .1 3 0 5 1 0 0 0" qvel="1 2 3 4 5 6 7 8"/></keyframe>'},
}
"""What DART does not read: the reasons of MJ513 rely on it."""
READ: dict[str, dict[str, str]] = {
    "damping": {"joint": 'damping="3"'},
    "range": {"joint": 'limited="true" range="-1 1"'},
    "range that MuJoCo ignores": {"joint": 'limited="false" range="-1 1"'},
    "colour": {"geom": 'rgba="1 0 0 1"'},
    "friction": {"geom": 'friction=".1 .2 .3"'},
    "no collision": {"geom": 'contype="0" conaffinity="0"'},
    "place": {"geom": 'pos=".1 .2 .3"'},
    "site": {"inside": '<site name="s1" size=".1"/>'},
    "weld": {"rest": '<equality><weld body1="b" body2="c"/></equality>'},
    "inactive weld": {"rest": '<equality><weld body1="b" body2="c" active="false"/></equality>'},
}
REFUSED: dict[str, dict[str, str]] = {
    "welded sites": {"inside": '<site name="s"/>', "rest": '<equality><weld site1="s" site2="sb"/></equality>'},
    "sites of the world": {"world": '<site name="s"/>'},
}


def test_dart_reads_what_the_tables_say(tmp_path: Path) -> None:
    files = {}
    for name, given in {"": {}, **IGNORED, **READ, **REFUSED}.items():
        files[name] = tmp_path / f"{len(files)}.xml"
        files[name].write_text(DOCUMENT.format_map(defaultdict(str, given)))
        mujoco.MjModel.from_xml_path(str(files[name]))
    found = read_by_dart(*files.values())
    plain = found[files[""]]
    assert plain is not None and plain["step"] == 0.001
    assert [name for name in IGNORED if found[files[name]] != plain] == []
    assert [name for name in READ if found[files[name]] in (plain, None)] == []
    assert [name for name in REFUSED if found[files[name]] is not None] == []
    inertia = {name: np.array(body["moment"]) for name, body in plain["bodies"].items()}
    assert all((moment == np.eye(3)).all() for moment in inertia.values())


# --- what the writer makes of it ------------------------------------------------------------------------


def test_dart_reads_the_samples_with_their_masses_or_the_report_says_that_it_refuses_them(tmp_path: Path) -> None:
    reports = {tmp_path / f"{file.parent.name}_{file.stem}.xml": file for file in FILES}
    refused = {}
    for output, file in reports.items():
        scene = exoskel.load(file)
        world = scene.world if len(scene.worlds) == 1 else scene.worlds[0]
        refused[output] = bool(write(world, output).refusals)
    for output, found in read_by_dart(*reports).items():
        assert (found is None) == refused[output], output.name
        model = mujoco.MjModel.from_xml_path(str(output))
        for number in range(1, model.nbody) if found is not None else ():
            name = model.body(number).name
            if name.endswith("_motor"):
                continue  # a flywheel
            assert found["bodies"][name]["mass"] == pytest.approx(model.body_mass[number], rel=1e-9), name
            assert found["bodies"][name]["centre"] == pytest.approx(model.body_ipos[number], abs=1e-9), name


def test_a_body_without_shapes_has_its_mass_in_dart_and_no_shape_in_a_scene(tmp_path: Path) -> None:
    inertia: Any = {"mass": 3.0, "com": (0.5, 0.0, 0.0), "moment": (0.1, 0.1, 0.1, 0.0, 0.0, 0.0)}
    world = World("w", gravity=(0.0, 0.0, -9.81))
    world.add_model("p").add_body("arm", joint="revolute", axis=(0, 1, 0), **inertia)
    report = write(world, tmp_path / "a.xml")
    (dart,) = read_by_dart(tmp_path / "a.xml").values()
    assert dart is not None
    assert (dart["bodies"]["arm"]["mass"], dart["bodies"]["arm"]["centre"]) == (3.0, [0.5, 0.0, 0.0])
    assert not list(exoskel.load(report.data, format="mjcf").world.model("p").bodies[0].shapes)
    again = exoskel.convert(report.data, None, to="skel", format="mjcf")
    assert "exact" not in {item.fate.value for item in again.items if "exoskel_inertia" in item.path}
    plain, own = (
        mujoco.MjModel.from_xml_string(exoskel.convert(world, None, to="mjcf", target=target).data.decode())
        for target in ("portable", "dart")
    )
    states = [mujoco.MjData(model) for model in (plain, own)]
    for model, state in zip((plain, own), states, strict=True):
        for _ in range(200):
            mujoco.mj_step(model, state)
    assert states[0].qpos.tolist() == states[1].qpos.tolist() != [0.0]


def test_joints_without_limits_move_freely_if_limits_are_enforced(tmp_path: Path) -> None:
    world = World("w")
    model = world.add_model("m")
    model.add_body("a", joint="revolute", axis=(0, 1, 0), mass=1.0, shapes=[Box((0.1, 0.1, 0.1))])
    write(world, tmp_path / "a.xml")
    (found,) = read_by_dart(tmp_path / "a.xml").values()
    assert found is not None
    assert found["bodies"]["a"]["joint"]["limits"] == [[-1e10], [1e10]]
    assert not found["bodies"]["a"]["joint"]["enforced"]


# --- kinematics -----------------------------------------------------------------------------------------


WITH_AXIS = ("revolute", "prismatic", "screw")


def jointed(kind: Any, *, rotated: bool) -> World:
    world = World("w", gravity=(0.0, 0.0, -9.81))
    model = world.add_model("m")
    base = model.add_body("a", joint="weld", mass=1.0, at=(0.1, 0.2, 0.3), shapes=[Box((0.1, 0.1, 0.1))])
    axes = ((0.6, 0.0, 0.8), (0.0, 1.0, 0.0))
    given: dict[str, Any] = {"universal": {"axes": axes}}.get(kind, {"axis": axes[0]} if kind in WITH_AXIS else {})
    model.add_body("b", parent=base, joint=kind, mass=2.0, at=(0.5, 0.6, 0.7), shapes=[Box((0.1, 0.1, 0.1))], **given)
    if rotated:
        matrix = spatial.transform(spatial.axis_angle_matrix((0.6, 0.0, 0.8), 0.7), (0.1, -0.2, 0.05))
        model.joints[1].pose = Pose.from_matrix(matrix)
    return world


MOVER = """
import json, sys
import dartpy
for file, positions in json.loads(sys.argv[1]).items():
    world, found = dartpy.utils.MjcfParser.readWorld(file), {}
    for number in range(world.getNumSkeletons()):
        for joint in world.getSkeleton(number).getJoints():
            name, count = joint.getName(), joint.getNumDofs()
            if count == 1:
                joint.setPositions([positions[name]])
            elif count > 1 and joint.getType().startswith("Translational"):
                joint.setPositions([positions[f"{name[:-1]}{number}"] for number in range(count)])
        for body in world.getSkeleton(number).getBodyNodes():
            found[body.getName()] = body.getWorldTransform().matrix().tolist()
    print("RESULT", json.dumps([file, found]))
"""
SLIDES = "DART's MJCF reader ignores the axes of three slides (MJ513)"
KINDS = ("revolute", "prismatic", "screw", "universal", "euler", "planar", "translational", "translational2d", "ball")


def test_joints_move_as_in_mujoco_or_the_report_says_that_they_do_not(tmp_path: Path) -> None:
    pytest.importorskip("dartpy")
    positions: dict[str, dict[str, float]] = {}
    poses, differs = {}, {}
    for kind in KINDS:
        for rotated in (False, True):
            path = tmp_path / f"{kind}_{rotated}.xml"
            report = write(jointed(kind, rotated=rotated), path)
            differs[str(path)] = any(SLIDES in item.why for item in report.losses)
            model = mujoco.MjModel.from_xml_path(str(path))
            data, own = mujoco.MjData(model), positions.setdefault(str(path), {})
            for number in np.flatnonzero(np.isin(model.jnt_type, (2, 3))).tolist():
                own[model.joint(number).name] = data.qpos[model.jnt_qposadr[number]] = 0.3 + 0.2 * number
            mujoco.mj_kinematics(model, data)
            poses[str(path)] = spatial.transform(data.body("b").xmat.reshape(3, 3), data.body("b").xpos)
    done = subprocess.run(
        [sys.executable, "-c", MOVER, json.dumps(positions)], capture_output=True, text=True, check=False, timeout=300
    )
    results = [json.loads(line.removeprefix("RESULT ")) for line in done.stdout.splitlines() if "RESULT " in line]
    assert len(results) == len(positions), done.stderr[-2000:]
    for file, found in results:
        error = np.abs(np.array(found["b"]) - poses[file]).max()
        assert (error > 1e-9) == differs[file], (file, error)
    assert [Path(file).stem for file in differs if differs[file]] == ["translational_True"]
