"""SDFormat for DART: what its SdfParser lacks is replaced, and it reads every sample."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from msgspec import structs

import exoskel
from exoskel.conversion.report import Report
from exoskel.fates import Fate
from exoskel.scene.fields import SOFT_FIELDS
from tests.support.places import PROJECT

SAMPLES = PROJECT / "src" / "exoskel" / "samples"
FILES = sorted([*SAMPLES.glob("skel/*.skel"), *SAMPLES.glob("xode/*.xode")])
READER = """
import json, sys
import dartpy
found = {}
for file in sys.argv[1:]:
    world = dartpy.utils.SdfParser.readWorld("file://" + file)
    models = [] if world is None else [world.getSkeleton(i) for i in range(world.getNumSkeletons())]
    found[file] = {
        "bodies": sum(one.getNumBodyNodes() for one in models),
        "soft": sum(one.getNumSoftBodyNodes() for one in models),
        "mass": sum(one.getMass() for one in models),
        "shapes": sum(one.getBodyNode(i).getNumShapeNodes() for one in models for i in range(one.getNumBodyNodes())),
        "pitches": [j.getPitch() for one in models for j in one.getJoints() if j.getType() == "ScrewJoint"],
    }
print("RESULT", json.dumps(found))
"""


def read_by_dart(*files: Path) -> dict[Path, dict[str, Any]]:
    """What DART finds in files, in a process of its own."""
    pytest.importorskip("dartpy")
    command = [sys.executable, "-c", READER, *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    lines = [line.removeprefix("RESULT ") for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    assert lines, done.stderr[-2000:]
    return {Path(name): found for name, found in json.loads(lines[0]).items()}


def write(file: Path, folder: Path) -> tuple[Report, Path]:
    output = folder / f"{file.stem}.sdf"
    report = exoskel.convert(file, output, target="dart", meshes="copy")
    assert report.saved
    return report, output


def test_dart_reads_every_sample_that_is_written_for_it(tmp_path: Path) -> None:
    outputs = {write(file, tmp_path)[1]: file for file in FILES}
    for output, found in read_by_dart(*outputs).items():
        scene = exoskel.load(output)
        assert ElementTree.parse(output).getroot().get("version") == "1.6"
        assert found["bodies"] == sum(1 for _ in scene.world.bodies()), output.name
        assert found["shapes"] >= sum(len(body.collisions) for body in scene.world.bodies()), output.name


def test_dart_finds_soft_skins(tmp_path: Path) -> None:
    report, output = write(SAMPLES / "skel" / "soft_bodies.skel", tmp_path)
    original = exoskel.load(SAMPLES / "skel" / "soft_bodies.skel")
    skins = [body.soft for body in original.world.bodies() if body.soft is not None]
    found = read_by_dart(output)[output]
    assert found["soft"] == len(skins) > 0
    written = ElementTree.parse(output).getroot().findall(".//soft_shape/total_mass")
    assert [float(one.text or "") for one in written] == [skin.total_mass for skin in skins]
    kept = [item for item in report.items if item.path.endswith("soft_shape")]
    assert {item.fate for item in kept} == {Fate.KEPT}
    assert {item.why for item in kept} == {"written as <soft_shape>, which only DART reads (SD108)"}


def test_soft_skins_for_dart_are_read_back(tmp_path: Path) -> None:
    report, output = write(SAMPLES / "skel" / "soft_bodies.skel", tmp_path)
    assert "soft skins" in [check.name for check in report.certificate.checks if check.passed]
    original = exoskel.load(SAMPLES / "skel" / "soft_bodies.skel")
    scene = exoskel.load(output)
    assert not [found for found in scene.diagnostics if "soft" in found.message]
    skins = [[structs.asdict(body.soft) for body in one.world.bodies() if body.soft] for one in (original, scene)]
    for mine, theirs in zip(*skins, strict=True):
        assert all(mine[name] == theirs[name] for name in SOFT_FIELDS)
    back = exoskel.convert(output, tmp_path / "back.skel")
    assert back.saved and back.certificate.passed
    assert {one.fate for one in back.items if "soft_shape" in one.path} == {Fate.EXACT}
    again = exoskel.convert(output, tmp_path / "plain.sdf")
    assert {one.fate for one in again.items if one.path.endswith("soft_shape")} == {Fate.DROPPED}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (("<total_mass>1<", "<total_mass>-1<"), "SD084.mass"),
        (("<frags>3 3 3<", "<frags>3 0 3<"), "SD084.count"),
        (("<frags>3 3 3<", "<frags>3 2.5 3<"), "SD084.count"),
        (("<frags>3 3 3<", "<frags>3 1e9 3<"), "SD084.count"),
        (("<size>1 1 1<", "<size>1 0 1<"), "SD025"),
    ],
)
def test_invalid_soft_skins_are_reported_and_ignored(change: tuple[str, str], code: str) -> None:
    text = (
        '<sdf version="1.6"><model name="m"><link name="b"><inertial><mass>1</mass></inertial><soft_shape>'
        "<total_mass>1</total_mass><geometry><box><size>1 1 1</size><frags>3 3 3</frags></box></geometry></soft_shape>"
        "</link></model></sdf>"
    )
    (body,) = exoskel.load(text).world.bodies()
    assert body.soft is not None and body.soft.point_count == 26
    scene = exoskel.load(text.replace(*change))
    (body,) = scene.world.bodies()
    assert body.soft is None and code in [found.key for found in scene.diagnostics]


def test_dart_finds_the_pitch_of_a_screw(tmp_path: Path) -> None:
    _, output = write(SAMPLES / "skel" / "screw_press.skel", tmp_path)
    expected = [joint.pitch for joint in exoskel.load(output).world.joints() if joint.kind == "screw"]
    assert read_by_dart(output)[output]["pitches"] == pytest.approx(expected)


def one_shape(geometry: exoskel.Geometry) -> exoskel.World:
    world = exoskel.World(name="w")
    body = world.add_model("m").add_body("b")
    body.collisions.append(exoskel.Shape(geometry=geometry, friction=0.5))
    return world


def test_a_capsule_is_a_cylinder_and_two_spheres(tmp_path: Path) -> None:
    report = exoskel.convert(one_shape(exoskel.Capsule(0.1, 1.0)), tmp_path / "c.sdf", target="dart")
    assert report.certificate.passed
    shapes = next(iter(exoskel.load(tmp_path / "c.sdf").world.bodies())).collisions
    assert [(shape.kind, shape.pose.position[2], shape.friction) for shape in shapes] == [
        ("cylinder", 0.0, 0.5),
        ("sphere", -0.5, 0.5),
        ("sphere", 0.5, 0.5),
    ]
    assert any("as a cylinder and two spheres" in item.why and item.loss for item in report.items)


@pytest.mark.parametrize("geometry", [exoskel.Ellipsoid((1.0, 2.0, 3.0)), exoskel.Cone(0.5, 1.0)])
def test_other_shapes_that_dart_lacks_are_meshes_beside_the_document(
    geometry: exoskel.Geometry, tmp_path: Path
) -> None:
    report = exoskel.convert(one_shape(geometry), tmp_path / "c.sdf", target="dart")
    assert report.saved and len(report.companions) == 1
    shape = next(iter(exoskel.load(tmp_path / "c.sdf").world.bodies())).collisions[0]
    assert shape.kind == "mesh"
    expected, found = geometry.bounds(), shape.geometry.bounds()
    assert found is not None and expected is not None
    assert found[0][2] == pytest.approx(expected[0][2]) and found[1][2] == pytest.approx(expected[1][2])


def test_other_programs_still_get_their_version(tmp_path: Path) -> None:
    report = exoskel.convert(one_shape(exoskel.Capsule(0.1, 1.0)), to="sdf")
    assert b'version="1.8"' in report.data and b"<capsule>" in report.data


def test_formats_that_dart_does_not_read_are_not_written_for_it() -> None:
    with pytest.raises(exoskel.ExoskelError, match="USD is not written for 'dart'"):
        exoskel.convert(one_shape(exoskel.Capsule(0.1, 1.0)), to="usd", target="dart")


# --- one file per model -------------------------------------------------------------------------------

SKELETONS = """
import json, sys
import dartpy
found = {}
for file in sys.argv[1:]:
    skeleton = dartpy.utils.SdfParser.readSkeleton("file://" + file)
    found[file] = None if skeleton is None else [skeleton.getName(), skeleton.getNumBodyNodes(), skeleton.getMass()]
print("RESULT", json.dumps(found))
"""


def test_each_model_becomes_a_file(tmp_path: Path) -> None:
    file = SAMPLES / "skel" / "walker.skel"
    report = exoskel.convert(file, tmp_path / "out", to="sdf", split=True)
    assert report.saved and report.certificate.passed
    models = {model.name: model for model in exoskel.load(file).world.models}
    assert {path.name for path in (tmp_path / "out").glob("*.sdf")} == {f"{name}.sdf" for name in models}
    for name, model in models.items():
        root = ElementTree.parse(tmp_path / "out" / f"{name}.sdf").getroot()
        assert [child.tag for child in root] == ["model"]
        (read,) = exoskel.load(tmp_path / "out" / f"{name}.sdf").world.models
        assert len(read.bodies) == len(model.bodies)


def test_what_belongs_to_the_world_is_dropped(tmp_path: Path) -> None:
    report = exoskel.convert(SAMPLES / "skel" / "walker.skel", tmp_path, to="sdf", split=True)
    lost = {item.path.rpartition("/")[2]: item for item in report.items if item.why.endswith("(SD210)")}
    assert lost.keys() == {"time_step", "gravity", "collision_detector", "@name"}
    assert {item.fate for item in lost.values()} == {Fate.DROPPED}


def test_a_single_model_of_many_is_a_file(tmp_path: Path) -> None:
    exoskel.convert(SAMPLES / "skel" / "walker.skel", tmp_path / "w.sdf", model="walker", split=True)
    assert [child.tag for child in ElementTree.parse(tmp_path / "w.sdf").getroot()] == ["model"]


@pytest.mark.parametrize(
    ("output", "options", "message"),
    [
        ("w.sdf", {}, "one file per model needs a folder as output"),
        (
            "out",
            {"to": "mjcf"},
            "--split.* writes one file per model, but MJCF files contain a world; use --to urdf or sdf",
        ),
    ],
)
def test_a_split_needs_a_folder_and_a_format_with_models(
    output: str, options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(exoskel.ExoskelError, match=message):
        exoskel.convert(SAMPLES / "skel" / "walker.skel", tmp_path / output, split=True, **options)
    assert not list(tmp_path.iterdir())


def test_dart_reads_each_model_as_a_skeleton(tmp_path: Path) -> None:
    pytest.importorskip("dartpy")
    expected: dict[str, tuple[str, int]] = {}
    for file in FILES:
        folder = tmp_path / file.stem
        exoskel.convert(file, folder, to="sdf", target="dart", split=True, meshes="copy")
        for path in folder.glob("*.sdf"):
            (model,) = exoskel.load(path).world.models
            expected[str(path)] = (model.name, len(model.bodies))
    command = [sys.executable, "-c", SKELETONS, *expected]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    line = next(line for line in done.stdout.splitlines() if line.startswith("RESULT "))
    found = {path: tuple(row[:2]) for path, row in json.loads(line.removeprefix("RESULT ")).items()}
    assert found == expected


TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
MESHES = """<sdf version="1.6"><world name="w"><model name="m"><link name="l"><inertial><mass>1</mass></inertial>
<collision name="c"><geometry><mesh><uri>{}</uri></mesh></geometry></collision></link></model></world></sdf>"""


@pytest.mark.parametrize("uri", ["model://part/mesh.obj", "package://part/mesh.obj"])
def test_meshes_of_models_and_packages_are_paths_for_dart(uri: str, tmp_path: Path) -> None:
    """DART's reader resolves no such URIs, and crashes on meshes that it does not find."""
    folder, output = tmp_path / "part", tmp_path / "out" / "w.sdf"
    folder.mkdir()
    output.parent.mkdir()
    (folder / "mesh.obj").write_text(TETRAHEDRON)
    (folder / "package.xml").write_text("<package><name>part</name></package>")
    (tmp_path / "w.sdf").write_text(MESHES.format(uri))
    report = exoskel.convert(tmp_path / "w.sdf", output, target="dart")
    assert not report.losses and b"<uri>../part/mesh.obj</uri>" in output.read_bytes()
    assert read_by_dart(output)[output]["shapes"] == 1
    exoskel.convert(tmp_path / "w.sdf", tmp_path / "out" / "plain.sdf")
    assert uri in (tmp_path / "out" / "plain.sdf").read_text()


@pytest.mark.parametrize("content", [None, "f 1 2 3\n"], ids=["missing", "damaged"])
def test_meshes_that_cannot_be_read_are_not_written_for_dart(content: str | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "mesh.obj").write_text(content)
    (tmp_path / "w.sdf").write_text(MESHES.format("mesh.obj"))
    output = tmp_path / "dart.sdf"
    report = exoskel.convert(tmp_path / "w.sdf", output, target="dart")
    assert {item.fate for item in report.items if "collision" in item.path} == {Fate.DROPPED}
    assert any("SD209" in loss.why for loss in report.losses)
    assert read_by_dart(output)[output] == {"bodies": 1, "soft": 0, "mass": 1.0, "shapes": 0, "pitches": []}


def test_files_for_dart_contain_one_world() -> None:
    """DART reads only the first world of a document."""
    scene = exoskel.Scene(worlds=[exoskel.World("one"), exoskel.World("two")])
    for world in scene.worlds:
        world.add_model("m").add_body("b", joint="free", mass=1.0)
    assert exoskel.convert(scene, to="sdf").data.count(b"<world ") == 2
    with pytest.raises(exoskel.ExoskelError, match="SDF files for 'dart' contain one world, but the scene has 2"):
        exoskel.convert(scene, to="sdf", target="dart")
    report = exoskel.convert(scene, to="sdf", target="dart", world="two")
    assert report.data.count(b"<world ") == 1


# --- what a document states -----------------------------------------------------------------------------

DOCUMENT = """<sdf version="1.6"><world name="w">{world}
<physics name="p" type="ode"><max_step_size>0.002</max_step_size><gravity>0 0 -9</gravity>{physics}</physics>
<model name="m"><pose>0 0 1 0 0 0</pose>{model}
<link name="a">{link}<inertial><mass>3</mass></inertial>
<collision name="c"><geometry><box><size>.1 .2 .3</size></box></geometry>{collision}</collision>
<visual name="v"><geometry><box><size>.1 .2 .3</size></box></geometry>{visual}</visual></link>
<link name="b"><pose>1 0 0 0 0 0</pose><inertial><mass>2</mass></inertial></link>
<joint name="j" type="revolute"><parent>a</parent><child>b</child>{joint}<axis><xyz>0 1 0</xyz>{axis}</axis></joint>
</model></world></sdf>"""
SURFACE = "<surface>{}</surface>"
IGNORED: dict[str, dict[str, str]] = {
    "gravity of the world": {"world": "<gravity>0 0 -3</gravity>"},
    "ERP and CFM": {"physics": "<ode><constraints><cfm>.1</cfm><erp>.2</erp></constraints></ode>"},
    "detector": {"physics": "<dart><collision_detector>bullet</collision_detector></dart>"},
    "state": {"world": '<state world_name="w"><model name="m"><pose>5 5 5 0 0 0</pose></model></state>'},
    "self-collision": {"model": "<self_collide>true</self_collide>"},
    "friction": {"collision": SURFACE.format("<friction><ode><mu>.1</mu></ode></friction>")},
    "bounce": {"collision": SURFACE.format("<bounce><restitution_coefficient>.5</restitution_coefficient></bounce>")},
    "no collision": {"collision": SURFACE.format("<contact><collide_bitmask>0</collide_bitmask></contact>")},
    "roughness": {"visual": "<material><pbr><metal><roughness>.3</roughness></metal></pbr></material>"},
    "sensor": {"link": '<sensor name="s" type="imu"/>'},
    "light": {"link": '<light name="l" type="point"/>'},
    "initial position": {"axis": "<initial_position>.3</initial_position>"},
    "force and velocity": {"axis": "<limit><effort>3</effort><velocity>4</velocity></limit>"},
    "ODE's parameters": {
        "joint": "<physics><ode><cfm>.1</cfm><bounce>.4</bounce><limit><cfm>.1</cfm><erp>.1</erp></limit>"
        "<max_force>3</max_force><velocity>2</velocity><suspension><cfm>.1</cfm><erp>.2</erp></suspension></ode></physics>"
    },
}
"""What DART does not read: the reasons of SD216 rely on it."""
READ: dict[str, dict[str, str]] = {
    "static": {"model": "<static>true</static>"},
    "gravity": {"link": "<gravity>false</gravity>"},
    "colour": {"visual": "<material><diffuse>1 0 0 1</diffuse></material>"},
    "place": {"joint": "<pose>.1 .2 .3 0 0 0</pose>"},
    "limits": {"axis": "<limit><lower>-1</lower><upper>1</upper></limit>"},
    **{
        f"{name} of axes": {"axis": f"<dynamics><{name}>3</{name}></dynamics>"}
        for name in ("damping", "friction", "spring_stiffness", "spring_reference")
    },
}
DESCRIBER = """
import json, sys
import dartpy
def describe_shape(node):
    return [
        node.getShape().getBoundingBox().getMax().tolist(), node.getRelativeTransform().matrix().tolist(),
        node.getVisualAspect().getRGBA().tolist() if node.hasVisualAspect() else None, node.hasCollisionAspect(),
        [node.getDynamicsAspect().getFrictionCoeff(), node.getDynamicsAspect().getRestitutionCoeff()]
        if node.hasDynamicsAspect() else None,
    ]
def describe_body(body):
    joint = body.getParentJoint()
    return [
        body.getMass(), body.getGravityMode(), body.getWorldTransform().matrix().tolist(), joint.getType(),
        joint.getPositions().tolist(), joint.getPositionLowerLimits().tolist(), joint.getVelocityUpperLimits().tolist(),
        joint.getForceUpperLimits().tolist(), joint.areLimitsEnforced(), str(joint.getActuatorType()),
        joint.getTransformFromParentBodyNode().matrix().tolist(),
        [[joint.getDampingCoefficient(i), joint.getSpringStiffness(i), joint.getRestPosition(i),
          joint.getCoulombFriction(i)] for i in range(joint.getNumDofs())],
        [describe_shape(one) for one in body.getShapeNodes()],
    ]
for file in sys.argv[1:]:
    world = dartpy.utils.SdfParser.readWorld("file://" + file)
    models = [world.getSkeleton(i) for i in range(world.getNumSkeletons())]
    found = [[one.isMobile(), one.isEnabledSelfCollisionCheck(), *map(describe_body, one.getBodyNodes())]
             for one in models]
    detector = world.getConstraintSolver().getCollisionDetector().getType()
    print("RESULT", json.dumps([file, [world.getGravity().tolist(), world.getTimeStep(), detector, found]]))
"""


def test_dart_reads_what_the_losses_say(tmp_path: Path) -> None:
    pytest.importorskip("dartpy")
    files = {}
    for name, given in {"": {}, **IGNORED, **READ}.items():
        files[name] = tmp_path / f"{len(files)}.sdf"
        files[name].write_text(DOCUMENT.format_map(defaultdict(str, given)))
    command = [sys.executable, "-c", DESCRIBER, *map(str, files.values())]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    lines = [line.removeprefix("RESULT ") for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    found = {Path(name): world for name, world in map(json.loads, lines)}
    assert len(found) == len(files), done.stderr[-2000:]
    plain = found[files[""]]
    assert plain[:2] == [[0.0, 0.0, -9.0], 0.002]
    assert [name for name in IGNORED if found[files[name]] != plain] == []
    assert [name for name in READ if found[files[name]] == plain] == []
