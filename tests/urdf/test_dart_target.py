"""URDF for DART: what its reader ignores is what the report says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

import exoskel
from exoskel import Box, Capsule, Cylinder, Mesh, Mimic, Shape, Sphere, World
from exoskel.conversion.report import Report

READER = """
import json, os, sys
import dartpy
def shape(node):
    colour = node.getVisualAspect().getRGBA().tolist() if node.hasVisualAspect() else None
    size = node.getShape().getBoundingBox().getMax().tolist()
    place = node.getRelativeTransform().matrix().tolist()
    return [node.getShape().getType(), node.getName(), size, place, colour, node.hasCollisionAspect()]
def joint(one):
    dofs = range(one.getNumDofs())
    return {
        "name": [one.getType(), one.getName(), str(one.getActuatorType()), one.areLimitsEnforced()],
        "positions": [one.getPositionLowerLimits().tolist(), one.getPositionUpperLimits().tolist()],
        "velocities": [one.getVelocityLowerLimits().tolist(), one.getVelocityUpperLimits().tolist()],
        "forces": [one.getForceLowerLimits().tolist(), one.getForceUpperLimits().tolist()],
        "dynamics": [[one.getDampingCoefficient(i), one.getCoulombFriction(i)] for i in dofs],
        "axis": one.getAxis().tolist() if hasattr(one, "getAxis") else None,
        "place": one.getTransformFromParentBodyNode().matrix().tolist(),
        "state": [one.getPositions().tolist(), one.getVelocities().tolist()],
    }
def body(one):
    return {
        "mass": [one.getMass(), one.getLocalCOM().tolist(), one.getInertia().getMoment().tolist()],
        "joint": joint(one.getParentJoint()), "shapes": [shape(node) for node in one.getShapeNodes()],
        "place": one.getWorldTransform().matrix().tolist(),
    }
def describe(skeleton):
    if skeleton is None:
        return None
    found = {one.getName(): body(one) for one in skeleton.getBodyNodes()}
    world = dartpy.simulation.World()  # mimics are visible in the motion only
    world.addSkeleton(skeleton)
    world.setGravity([0, 0, 0])
    skeleton.setVelocities([0.1] * skeleton.getNumDofs())
    for _ in range(100):
        world.step()
    return [skeleton.getName(), found, skeleton.getPositions().tolist()]
for file in sys.argv[1:]:
    sys.stdout.flush()
    child = os.fork()  # DART crashes on some files
    if child == 0:
        print("RESULT", json.dumps([file, describe(dartpy.utils.DartLoader().parseSkeleton(file))]), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""
TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def read_by_dart(*files: Path) -> dict[Path, Any]:
    """What DART finds in files, in a process of its own; None: it refuses or crashes."""
    pytest.importorskip("dartpy")
    command = [sys.executable, "-c", READER, *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    found: dict[Path, Any] = dict.fromkeys(files)
    for line in done.stdout.splitlines():
        if line.startswith("RESULT "):
            name, content = json.loads(line.removeprefix("RESULT "))
            found[Path(name)] = content
    return found


def robot(folder: Path) -> World:
    """A robot with all that URDF has."""
    (folder / "tetra.obj").write_text(TETRAHEDRON)
    world = World(name="lab")
    model = world.add_model("robot")
    base = model.add_body("base", joint="free", at=(0, 0, 1), shapes=[Box((1, 0.2, 0.3))], mass=2.0)
    base.moment = (0.2, 0.3, 0.4, 0.01, 0.02, 0.03)
    base.com = (0.1, 0.0, 0.05)
    base.collisions[0].color = (1, 0, 0, 1)
    hinge: dict[str, Any] = {"joint": "revolute", "mass": 1.0}
    arm = model.add_body(
        "arm",
        parent=base,
        axis=(0, 1, 0),
        at=(0.5, 0, 0),
        limits=(-1, 1),
        damping=0.1,
        shapes=[Cylinder(0.1, 0.4), Sphere(0.2)],
        **hinge,
    )
    slider = model.add_body(
        "slider",
        parent=arm,
        joint="prismatic",
        axis=(1, 0, 0),
        at=(0.1, 0.2, 0.3),
        mass=1.0,
        shapes=[Capsule(0.1, 0.4)],
    )
    model.joint("slider_joint").dofs[0].friction = 0.2
    model.joint("slider_joint").dofs[0].force_limits = (-5, 5)
    model.joint("slider_joint").dofs[0].velocity_limits = (-3, 3)
    hand = model.add_body("hand", parent=slider, joint="weld", at=(0, 0, 0.2), mass=0.5)
    hand.visuals = [Shape(geometry=Mesh("tetra.obj", (1, 1, 2), path=str(folder / "tetra.obj")))]
    model.add_body("finger", parent=base, axis=(0, 0, 1), at=(0, 1, 0), mimic=Mimic("arm_joint", 2.0, 0.1), **hinge)
    return world


def converted(folder: Path, world: World) -> tuple[Path, Report]:
    file = folder / "robot.urdf"
    report = exoskel.convert(world, file, target="dart", meshes="absolute")
    assert report.certificate.passed
    return file, report


def test_dart_notices_each_number_of_the_file(tmp_path: Path) -> None:
    file, _ = converted(tmp_path, robot(tmp_path))
    root = etree.fromstring(file.read_bytes())
    changed: dict[Path, str] = {}
    for number, element in enumerate(root.iter(etree.Element)):
        for name, text in element.attrib.items():
            try:
                values = [float(word) for word in text.split()]
            except ValueError:
                continue
            for place in range(len(values)):
                other = [value * 1.3 + 0.07 if i == place else value for i, value in enumerate(values)]
                element.set(name, " ".join(map(repr, other)))
                path = tmp_path / f"changed_{number}_{name}_{place}.urdf"
                path.write_bytes(etree.tostring(root))
                changed[path] = f"{element.getparent().get('name', '')} <{element.tag}> {name}[{place}]"
            element.set(name, text)
    found = read_by_dart(file, *changed)
    original = found.pop(file)
    assert original is not None and len(changed) > 60
    unnoticed = [label for path, label in changed.items() if found[path] == original]
    assert {label for label in unnoticed if "<axis>" not in label} == set()  # an axis has no length


def test_what_dart_reads_is_what_was_written(tmp_path: Path) -> None:
    world = robot(tmp_path)
    file, _ = converted(tmp_path, world)
    name, bodies, _ = read_by_dart(file)[file]
    assert name == "robot" and set(bodies) == {"base", "arm", "slider", "hand", "finger"}
    for body in world.bodies():
        assert bodies[body.name]["mass"][0] == pytest.approx(body.mass)
        assert bodies[body.name]["mass"][1] == pytest.approx(body.com)
    assert bodies["base"]["joint"]["name"][0] == "FreeJoint"
    assert [one[0] for one in bodies["slider"]["shapes"]].count("SphereShape") >= 2, "a capsule in parts"


def test_losses_are_reported(tmp_path: Path) -> None:
    world = robot(tmp_path)
    model = world.models[0]
    model.joint("slider_joint").dofs[0].position = 0.2
    model.add_body("frame", parent="base", joint="weld", mass=0.0)
    file, report = converted(tmp_path, world)
    why = {one.why for one in report.losses}
    assert {text.rpartition("(")[2] for text in why if "DART" in text} == {"UR606)"}
    assert any("enforce limits" in text for text in why)
    bodies = read_by_dart(file)[file][1]
    assert bodies["frame"]["mass"][0] == 0.0, "not 1 kg, which DART assumes for links without a mass"
    assert bodies["arm"]["joint"]["name"][3] is False
    assert bodies["slider"]["joint"]["state"][0] == [0.0], "it is in a file beside"
    assert (tmp_path / "robot.urdf.state.json").exists()
