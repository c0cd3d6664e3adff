"""Conversions that lower joints: what other readers see, the fates, and the certificate."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exoskel
from exoskel import Dof, Joint, Kinematics, Pose
from exoskel.fates import Fate
from exoskel.formats.write import reread
from exoskel.scene.fields import transform_differences
from exoskel.scene.joint import Mimic
from exoskel.scene.lowering import joint_passes
from exoskel.source.document import Document
from tests.convert.test_fates import findings, pattern, perturbed, spans
from tests.oracles import pyode
from tests.support.scenes import all_files, name_of, own_files

ODE_LACKS = {"euler", "planar", "translational", "translational2d"}


def is_lowered(file: Path) -> bool:
    scene = exoskel.load(file)
    return len(scene.worlds) == 1 and bool(joint_passes.joints_to_lower(scene.world))


FILES = [file for file in all_files() if is_lowered(file)]
OWN = [file for file in own_files() if file in FILES]

RIG = """<skel version="1.0">
  <world name="lab">
    <physics><time_step>0.001</time_step><gravity>0 0 -9.81</gravity></physics>
    <skeleton name="rig">
      <body name="cart">
        <inertia><mass>5</mass></inertia>
        <collision_shape><geometry><box><size>1 0.5 0.2</size></box></geometry></collision_shape>
      </body>
      <body name="arm">
        <transformation>0 0 0.5 0.1 0.2 0.3</transformation>
        <inertia><mass>2</mass></inertia>
        <collision_shape><geometry><box><size>0.1 0.1 0.8</size></box></geometry></collision_shape>
      </body>
      <body name="hand"><inertia><mass>1</mass></inertia></body>
      <body name="drone"><transformation>1 0 0 0 0 0</transformation><inertia><mass>1</mass></inertia></body>
      <joint type="planar" name="ground">
        <parent>world</parent><child>cart</child><plane type="zx"/>
        <axis><dynamics><damping>0.5</damping></dynamics></axis>
        <init_vel>0.1 0.2 0.3</init_vel>
      </joint>
      <joint type="euler" name="shoulder">
        <parent>cart</parent><child>arm</child>
        <transformation>0 0.1 -0.4 0 0 0.5</transformation><axis_order>zyx</axis_order>
        <axis><limit><lower>-1</lower><upper>1.5</upper></limit></axis>
        <axis2><limit><lower>-0.5</lower><upper>0.25</upper></limit></axis2>
      </joint>
      <joint type="translational" name="slide"><parent>arm</parent><child>hand</child></joint>
      <joint type="free" name="tether">
        <parent>cart</parent><child>drone</child><init_vel>0.1 -0.2 0.3 1 2 3</init_vel>
      </joint>
    </skeleton>
  </world>
</skel>
"""


@pytest.fixture
def rig(tmp_path: Path) -> Path:
    file = tmp_path / "rig.skel"
    file.write_text(RIG)
    return file


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_every_lowered_conversion_is_certified(file: Path, tmp_path: Path) -> None:
    report = exoskel.convert(file, tmp_path / "out.xode", lower=True)
    assert [check for check in report.certificate.checks if not check.passed] == []
    assert report.saved and report.hint == ""
    back = exoskel.load(tmp_path / "out.xode")
    assert not {joint.kind for model in back.world.models if not model.static for joint in model.joints} & ODE_LACKS


def test_another_reader_sees_the_same_motion(rig: Path) -> None:
    """Without our extension, bodies are where they were at any coordinates; these are known by joint and name."""
    before = exoskel.load(rig).world
    data = exoskel.convert(rig, None, to="xode", lower=True).data
    after = reread(data, "xode", None, apply_embedded_data=False).world
    assert {joint.kind for joint in after.joints()} <= {"revolute", "prismatic", "ball"}
    renamed = {"ground": "ground_rot", "shoulder": "shoulder_x", "slide": "slide_z"}
    renamed |= {f"tether_{axis}": f"tether_rot_{axis}" for axis in "xyz"}
    names = [renamed.get(name, name) for model in after.models for name in model.dof_names]
    own = [name for model in before.models for name in model.dof_names]
    assert sorted(names) == sorted(own)
    first, second = Kinematics(before.models), Kinematics(after.models)
    places = {body.name: number for number, body in enumerate(after.bodies())}
    kept = [places[body.name] for body in before.bodies()]
    for seed in range(5):
        q = np.random.default_rng(seed).uniform(-1.5, 1.5, first.dof_count)
        moved = second.poses([q[own.index(name)] for name in names])
        assert transform_differences(first.poses(q), moved[kept]).max() < 1e-12


def test_limits_become_stops_of_their_own_axes(rig: Path) -> None:
    data = exoskel.convert(rig, None, to="xode", lower=True).data
    world = reread(data, "xode", None, apply_embedded_data=False).world
    limits = {joint.name: joint.dofs[0].position_limits for joint in world.joints() if joint.name.startswith("shoul")}
    free = (-np.inf, np.inf)
    assert limits == {"shoulder_z": (-1.0, 1.5), "shoulder_y": (-0.5, 0.25), "shoulder": free}


def test_fates_of_lowered_joints_are_reported(rig: Path) -> None:
    report = exoskel.convert(rig, None, to="xode", lower=True)
    found = {item.path.partition("joint")[2]: item for item in report.items}
    kind = found["[shoulder]/@type"]
    assert kind.fate is Fate.APPROXIMATED and kind.loss
    assert kind.why == ("lower.joints: as 3 revolute joints with 2 added bodies, 0.004 kg, 0.2 % of the child's mass")
    assert "3 prismatic and 1 ball joints with 3 added bodies, 0.003 kg" in found["[tether]/@type"].why
    for path in ("[shoulder]/transformation", "[shoulder]/axis_order", "[shoulder]/axis/limit/lower", "[shoulder]"):
        assert (found[path].fate, found[path].why) == (Fate.LOWERED, "by lower.joints: the same motion"), path
    assert found["[ground]/axis/dynamics/damping"].fate is Fate.KEPT
    assert found["[shoulder]/child"].fate is Fate.EXACT
    (mass,) = [check for check in report.certificate.checks if check.name == "before lower.joints: total mass"]
    added = (2 * 5.0 + 2 * 2.0 + 2 * 1.0 + 3 * 1.0) * joint_passes.MASS_RATIO / 9.0
    assert mass.max_error == pytest.approx(added) and mass.tolerance == pytest.approx(added, abs=2e-9)


def test_joints_are_lowered_only_on_request(rig: Path) -> None:
    unlowered = exoskel.convert(rig, None, to="xode")
    assert b"~1" not in unlowered.data and unlowered.fates["approximated"] == 0
    assert unlowered.hint == (
        "4 joints are not supported by XODE (euler, free, planar, translational); "
        "use --lower (lower=True) to replace them with hinges, sliders and balls"
    )
    same = exoskel.convert(rig, None, to="skel", lower=True)
    assert same.data == exoskel.convert(rig, None, to="skel").data and same.hint == ""
    assert exoskel.convert("dart://sample/skel/pendulum.skel", None, to="xode").hint == ""


def test_a_screw_joint_is_embedded_and_not_lowered() -> None:
    scene = exoskel.load("dart://sample/skel/screw_press.skel")
    (screw,) = [joint for joint in scene.world.joints() if joint.kind == "screw"]
    report = exoskel.convert(scene, None, to="xode", lower=True)
    (kind,) = [item for item in report.items if (item.node, item.attribute) == (screw.node, "type")]
    assert report.certificate.passed and kind.fate is Fate.KEPT


def test_strict_counts_the_added_mass_as_a_loss(rig: Path) -> None:
    with pytest.raises(exoskel.RefusedError, match="4 nodes would be lost"):
        exoskel.convert(rig, None, to="xode", lower=True, strict=True)


def test_conversion_does_not_change_the_scene(rig: Path) -> None:
    scene = exoskel.load(rig)
    before = exoskel.summarize(scene)
    exoskel.convert(scene, None, to="xode", lower=True)
    assert exoskel.summarize(scene) == before
    exoskel.save(scene, rig)
    assert rig.read_text() == RIG


# --- planted faults -----------------------------------------------------------------------------------


def _other_limits(dofs: Callable[..., list[Dof]]) -> Callable[..., list[Dof]]:
    def faulty(*arguments: Any) -> list[Dof]:
        made = dofs(*arguments)
        made[0].position_limits, made[1].position_limits = made[1].position_limits, made[0].position_limits
        return made

    return faulty


def _other_damping(dofs: Callable[..., list[Dof]]) -> Callable[..., list[Dof]]:
    def faulty(*arguments: Any) -> list[Dof]:
        made = dofs(*arguments)
        made[-1].damping += 0.5
        return made

    return faulty


def _slower(dofs: Callable[..., list[Dof]]) -> Callable[..., list[Dof]]:
    def faulty(*arguments: Any) -> list[Dof]:
        made = dofs(*arguments)
        made[0].velocity *= 0.5
        return made

    return faulty


def _elsewhere(place: Callable[[Joint], Pose]) -> Callable[[Joint], Pose]:
    return lambda joint: Pose((*place(joint).position[:2], place(joint).position[2] + 0.1), place(joint).rotation)


def _backwards(links: Callable[[Joint], list[Any]]) -> Callable[[Joint], list[Any]]:
    return lambda joint: links(joint)[::-1]


def _wrong_number(links: Callable[[Joint], list[Any]]) -> Callable[[Joint], list[Any]]:
    def faulty(joint: Joint) -> list[Any]:
        made = links(joint)
        first, second = made[0].coordinates, made[1].coordinates
        made[0] = joint_passes._Link(made[0].kind, second, made[0].axes)
        made[1] = joint_passes._Link(made[1].kind, first, made[1].axes)
        return made

    return faulty


def _heavier_child(weigh: Callable[..., Any]) -> Callable[..., Any]:
    def faulty(child: exoskel.Body, ratio: float) -> Any:
        child.inertia.mass *= 1.0 + ratio
        return weigh(child, ratio)

    return faulty


FAULTS: dict[str, tuple[str, Callable[..., Any], str]] = {
    "limits of another axis": ("_dofs", _other_limits, "limits"),
    "damping": ("_dofs", _other_damping, "springs, damping and friction"),
    "velocity": ("_dofs", _slower, "initial velocities"),
    "bodies elsewhere": ("_joint_frame", _elsewhere, "poses at random configurations"),
    "axes in the wrong order": ("_links", _backwards, "poses at random configurations"),
    "coordinates exchanged": ("_links", _wrong_number, "poses at random configurations"),
    "a heavier child": ("_between_inertia", _heavier_child, "total mass"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_in_the_pass_fails_the_certificate(name: str, rig: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where, fault, check = FAULTS[name]
    assert exoskel.convert(rig, None, to="xode", lower=True).certificate.passed
    monkeypatch.setattr(joint_passes, where, fault(getattr(joint_passes, where)))
    report = exoskel.convert(rig, rig.with_suffix(".xode"), lower=True)
    failed = {one.name for one in report.certificate.checks if not one.passed}
    assert f"before lower.joints: {check}" in failed
    assert not report.saved


def test_an_undeclared_added_body_fails_the_certificate(rig: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = joint_passes.lower_joints

    def faulty(*arguments: Any) -> joint_passes.LoweredWorld:
        done = original(*arguments)
        model = done.world.models[0]
        model.add_body("undeclared", mass=1e-6, parent=model.body("hand"), joint="weld")
        return done

    monkeypatch.setattr(joint_passes, "lower_joints", faulty)
    report = exoskel.convert(rig, None, to="xode", lower=True)
    assert [one.name for one in report.certificate.checks if not one.passed] == [
        "before lower.joints: bodies and joints"
    ]


# --- effects of values on the output ------------------------------------------------------------------


@pytest.mark.parametrize("file", OWN, ids=name_of)
def test_fates_of_lowered_joints_agree_with_the_effect_of_values(file: Path) -> None:
    """Changing a dropped value does not change the output; changing any other value does."""
    document = Document(file.read_bytes())
    report = exoskel.convert(file, None, to="xode", lower=True)
    fates = {(item.node, item.attribute): item.fate for item in report.items}
    seen: set[tuple[str, Fate]] = set()
    wrong: list[str] = []
    for (node, attribute), span in spans(document).items():
        where = pattern(document, node, attribute)
        key = (where, fates[node, attribute])
        if "joint" not in where or key in seen:
            continue
        outputs = [lowered(data, file) for data in perturbed(document, span)]
        comparable = [output for output in outputs if output is not None]
        if comparable:
            seen.add(key)
            changes = any(output != report.data for output in comparable)
            wrong += [f"{where} is reported as {key[1]}"] if changes is (key[1] is Fate.DROPPED) else []
    assert seen and wrong == []


def lowered(data: bytes, file: Path) -> bytes | None:
    """The lowered conversion of a changed document; None if its diagnostics changed."""
    scene = exoskel.load(data, base=file.parent, format="skel")
    if not scene.worlds or sorted(d.key for d in scene.diagnostics) != findings(file):
        return None
    return exoskel.convert(scene, None, to="xode", lower=True).data


# --- PyODE --------------------------------------------------------------------------------------------


def is_for_pyode(file: Path) -> bool:
    """Whether PyODE supports all of a scene."""
    world = exoskel.load(file).world
    kinds = {shape.kind for body in world.bodies() for shape in body.collisions}
    return not kinds & {"trimesh", "mesh"} and not any(joint.kind in ("amotor", "screw") for joint in world.joints())


def test_inexact_masses_for_pyode_are_refused_unless_allowed(rig: Path) -> None:
    assert exoskel.convert(rig, None, to="xode", lower=True, target="pyode").certificate.passed
    rig.write_text(RIG.replace("<mass>2</mass>", "<mass>2</mass><offset>0.1 0 0</offset>"))
    with pytest.raises(exoskel.RefusedError, match="X612"):
        exoskel.convert(rig, None, to="xode", lower=True, target="pyode")
    assert exoskel.convert(rig, None, to="xode", lower=True, target="pyode", approximate=True).certificate.passed


@pytest.mark.skipif(not pyode.python(), reason="PyODE is not installed")
def test_pyode_reads_lowered_joints(rig: Path) -> None:
    output = rig.with_suffix(".xode")
    report = exoskel.convert(rig, output, lower=True, target="pyode")
    assert report.saved
    answer = pyode.ask([{"file": str(output)}])[0]
    assert "failed" not in answer, answer
    assert pyode.differences(reread(report.data, "xode", rig.parent, "pyode"), answer) == []
    kinds = [joint["type"] for joint in answer["joints"]]
    assert kinds == ["SliderJoint"] * 2 + ["HingeJoint"] * 4 + ["SliderJoint"] * 6 + ["BallJoint"]
    masses = {body["name"]: body["mass"] for body in answer["bodies"]}
    assert masses["shoulder~1"] == pytest.approx(2.0 * joint_passes.MASS_RATIO, rel=1e-12)


@pytest.mark.skipif(not pyode.python(), reason="PyODE is not installed")
@pytest.mark.parametrize("file", [file for file in FILES if is_for_pyode(file)], ids=name_of)
def test_pyode_reads_what_is_lowered_for_it(file: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.xode"
    report = exoskel.convert(file, output, lower=True, target="pyode", approximate=True)
    answer = pyode.ask([{"file": str(output)}])[0]
    assert "failed" not in answer, answer
    assert pyode.differences(reread(report.data, "xode", tmp_path, "pyode"), answer) == []


# --- mimic joints -------------------------------------------------------------------------------------

MIMICKED = ("euler", "planar", "translational", "free")


def mimicking(tmp_path: Path, kind: str, leader: str = "one", other: str = "") -> exoskel.Scene:
    """A joint `two` of that kind that follows `one`, both below a body."""
    joints = "".join(
        f'<joint type="{k}" name="{n}"><parent>{p}</parent><child>{n}b</child></joint>'
        for n, k, p in (("one", other or kind, "base"), ("two", kind, "base"))
    )
    bodies = "".join(f'<body name="{n}"><inertia><mass>1</mass></inertia></body>' for n in ("base", "oneb", "twob"))
    file = tmp_path / "follow.skel"
    file.write_text(
        f'<skel version="1.0"><world name="w"><skeleton name="s">{bodies}{joints}</skeleton></world></skel>'
    )
    scene = exoskel.load(file)
    scene.world.model("s").joint("two").mimic = Mimic(leader, -2.0, 0.5)
    exoskel.save(scene, file)
    return exoskel.load(file)


@pytest.mark.parametrize("kind", MIMICKED)
def test_each_link_mimics_the_matching_link(kind: str, tmp_path: Path) -> None:
    report = exoskel.convert(mimicking(tmp_path, kind), None, to="xode", lower=True)
    assert report.certificate.passed
    model = exoskel.load(report.data).world.model("s")
    chains = {end: [j for j in model.joints if j.name.startswith(end)] for end in ("one", "two")}
    assert len(chains["two"]) == len(chains["one"]) > 1
    for leader, follower in zip(chains["one"], chains["two"], strict=True):
        assert leader.mimic is None and follower.kind == leader.kind
        assert follower.mimic == Mimic(leader.name, -2.0, 0.5)


@pytest.mark.parametrize("broken", [None, "two"])
def test_a_link_without_its_mimic_fails_the_certificate(
    broken: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = mimicking(tmp_path, "euler")
    transfer = joint_passes._transfer_mimics

    def forgetful(model: exoskel.Model, chains: list[joint_passes.Chain]) -> None:
        transfer(model, chains)
        link = next(chain for chain in chains if chain.joint.name == "two").links[0]
        link.mimic = broken and Mimic(broken, -2.0, 0.5)

    monkeypatch.setattr(joint_passes, "_transfer_mimics", forgetful)
    failed = [
        check.name
        for check in exoskel.convert(scene, None, to="xode", lower=True).certificate.checks
        if not check.passed
    ]
    assert failed == ["before lower.joints: mimic joints"]


@pytest.mark.parametrize(("leader", "other"), [("one", "revolute"), ("nobody", "")])
def test_mimic_joints_that_cannot_be_lowered_together_are_not_lowered(leader: str, other: str, tmp_path: Path) -> None:
    report = exoskel.convert(mimicking(tmp_path, "planar", leader, other), None, to="xode", lower=True)
    assert report.certificate.passed
    two = exoskel.load(report.data).world.model("s").joint("two")
    assert (two.kind, two.mimic) == ("planar", Mimic(leader, -2.0, 0.5))


def test_a_mimic_joint_is_not_lowered_if_its_leader_is_not(tmp_path: Path) -> None:
    scene = mimicking(tmp_path, "free")
    one = scene.world.model("s").joint("one")
    one.parent = None
    assert joint_passes.joints_to_lower(scene.world) == []
