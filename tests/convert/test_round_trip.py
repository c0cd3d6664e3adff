"""A scene that is written and read back is the same: in its own format, in the other one, and back again."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

import exoskel
from exoskel.formats.write import reread, write
from exoskel.scene.fields import FIELDS, comparable_value, differences, iter_items
from exoskel.scene.joint import Joint
from tests.support.scenes import all_files, name_of

FILES = all_files()
FORMATS = ("skel", "xode")


def load(file: Path) -> exoskel.Scene:
    scene = exoskel.load(file)
    if not scene.worlds:
        pytest.skip("the example has no world")
    return scene


def unlike(one: exoskel.Scene, other: exoskel.Scene, tolerance: float = 1e-12) -> list[str]:
    ours, theirs = list(iter_items(one)), list(iter_items(other))
    if [type(row[0]) for row in ours] != [type(row[0]) for row in theirs]:
        return ["the items or their order differ"]
    pairs = [(a[0], b[0]) for a, b in zip(ours, theirs, strict=True)]
    return [f"{d.one!r}.{d.field}: {d.error}" for d in differences(pairs, tolerance)]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_a_written_scene_reads_back_unchanged(file: Path, format: str) -> None:
    scene = load(file)
    if format == "skel" and len(scene.worlds) > 1:
        with pytest.raises(exoskel.ExoskelError, match="SKEL files contain one world"):
            write(scene, format, folder=file.parent)
        return
    written = write(scene, format, folder=file.parent)
    again = reread(written.data, format, file.parent)
    assert unlike(scene, again) == []
    assert not [d for d in again.diagnostics if d.code in ("SK098", "X910")]
    assert write(again, format, folder=file.parent).data == written.data, "writing again gives other bytes"


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_the_native_reading_ignores_embedded_data(file: Path, format: str) -> None:
    """The certificate goes by `seen`, which is taken from the reading that also gives `full`."""
    scene = load(file)
    if format == "skel" and len(scene.worlds) > 1:
        pytest.skip("SKEL files contain one world")
    written = write(scene, format, folder=file.parent)
    bare = reread(written.data, format, file.parent, apply_embedded_data=False)
    assert unlike(written.reread_native, bare, 0.0) == []
    assert [item.node for item, _, _ in iter_items(written.reread_native)] == [
        item.node for item, _, _ in iter_items(bare)
    ]
    assert (written.reread_native is written.reread) == (b"exoskel" not in written.data)


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_a_scene_survives_conversion_to_the_other_format_and_back(file: Path) -> None:
    """SKEL → XODE → SKEL and XODE → SKEL → XODE preserve the scene through embedded data."""
    scene = load(file)
    if len(scene.worlds) > 1:
        pytest.skip("SKEL files contain one world")
    home = scene.source_info.format
    away = "xode" if home == "skel" else "skel"
    abroad = reread(write(scene, away, folder=file.parent).data, away, file.parent)
    back = reread(write(abroad, home, folder=file.parent).data, home, file.parent)
    assert unlike(scene, back) == []


@pytest.mark.parametrize("file", [f for f in FILES if f.suffix == ".skel"], ids=name_of)
def test_authored_values_in_skel_come_back_bit_by_bit(file: Path) -> None:
    scene = load(file)
    again = reread(write(scene, "skel", folder=file.parent).data, "skel", file.parent)
    for (one, _, _), (other, _, _) in zip(iter_items(scene), iter_items(again), strict=True):
        for field in FIELDS[type(one)]:
            if field in ("pose", "inertia", "soft"):  # angles beyond half a turn are written within it
                continue
            if field == "axes" and isinstance(one, Joint) and one.kind == "universal":  # written at unit length
                continue
            if isinstance(one, Joint) and field == "dofs":
                assert comparable_value(one, field) == comparable_value(other, field)
            assert comparable_value(one, field) == comparable_value(other, field), f"{one!r}.{field}"


def test_writing_is_deterministic() -> None:
    scene = exoskel.load("dart://sample/skel/walker.skel")
    assert write(scene, "xode").data == write(exoskel.load("dart://sample/skel/walker.skel"), "xode").data


@pytest.mark.parametrize("file", [f for f in FILES if f.suffix == ".xode"], ids=name_of)
def test_a_written_xode_file_states_the_plain_version(file: Path) -> None:
    assert b'<xode version="1.0r22"' in write(load(file), "xode", folder=file.parent).data


def test_a_fixed_body_keeps_its_pose_when_others_move() -> None:
    """Found with generated documents: each output lost a bit of its rotation."""
    scene = exoskel.load("""<skel version="1.0"><world><skeleton name="s">
        <body name="still"><transformation>0.1 0.1 -3 0.5 0.1 -3</transformation></body>
        <body name="low"><transformation>0.1 0.1 -3 0.5 0.1 -3</transformation></body>
        <body name="moved"/>
        <joint type="prismatic" name="a"><parent>world</parent><child>still</child><axis><xyz>0 0 1</xyz></axis></joint>
        <joint type="revolute" name="b"><parent>world</parent><child>moved</child><axis><xyz>0 0 1</xyz></axis>
        <init_pos>0.3</init_pos></joint>
        <joint type="weld" name="c"><parent>moved</parent><child>low</child></joint>
        </skeleton></world></skel>""")
    written = write(scene, "xode")
    (still, low, _) = reread(written.data, "xode", None, apply_embedded_data=False).world.bodies()
    assert still.pose.position == (0.1, 0.1, -3.0)
    assert low.pose.position != (0.1, 0.1, -3.0), "its parent moves it"
    again = written.reread
    for _ in range(3):
        again = reread(write(again, "xode").data, "xode", None)
        assert write(again, "xode").data == written.data


@pytest.mark.parametrize("normal", [(1, -2, 3), (0.6, 0, 0.8), (1, 1, 0), (0.3, 0.1, -7)])
@pytest.mark.parametrize("format", FORMATS)
def test_a_unit_normal_keeps_its_digits(normal: tuple[float, float, float], format: str) -> None:
    """Found with generated documents: normals were normalized again on every reading, with a rounding error each time."""
    x, y, z = normal
    scene = exoskel.load(f"""<skel version="1.0"><world><skeleton name="s"><body name="b"><collision_shape><geometry>
        <plane><normal>{x} {y} {z}</normal><offset>0.3</offset></plane></geometry></collision_shape></body>
        </skeleton></world></skel>""")
    for _ in range(3):
        again = reread(write(scene, format).data, format, None)
        assert unlike(scene, again, 0.0) == []
        scene = again


@pytest.mark.parametrize("kind", ["revolute", "screw", "free"])
@pytest.mark.parametrize("limits", ['lower="inf"', 'upper="-inf"', 'lower="-inf" upper="2"'])
@pytest.mark.parametrize("format", FORMATS)
def test_infinite_limits_are_preserved(kind: str, limits: str, format: str) -> None:
    """Found with generated documents: a limit at the wrong infinity was left out."""
    axis = "" if kind == "free" else "<axis><xyz>0 0 1</xyz></axis>"
    scene = exoskel.load(f"""<skel version="1.0"><world><skeleton name="s"><body name="b"/><joint type="{kind}" name="j">
        <parent>world</parent><child>b</child>{axis}<dof local_index="0"><position {limits}/><force {limits}/></dof>
        </joint></skeleton></world></skel>""")
    written = write(scene, format)
    assert unlike(scene, written.reread, 0.0) == []
    if format == "skel":
        assert unlike(scene, written.native, 0.0) == []
    assert exoskel.convert(scene, None, to=format).certificate.passed


def test_tiny_numbers_that_exchange_axes_are_embedded() -> None:
    """Found with generated documents: a joint written with exchanged links lost the order of tiny parameters."""
    scene = exoskel.load("""<xode version="1.0"><world><space><body name="b"/><joint name="j"><link2 body="b"/><hinge2>
        <anchor x="0" y="0" z="0"/><axis x="1" y="0" z="0" CFM="1e-20"/><axis x="0" y="0" z="1" CFM="2e-20"/>
        </hinge2></joint></space></world></xode>""")
    assert [drive.cfm for drive in scene.world.model("b").joint("j").drives] == [1e-20, 2e-20]
    again = reread(write(scene, "xode").data, "xode", None)
    assert unlike(scene, again, 0.0) == []


@pytest.mark.parametrize("angle", ["1e-15", "9e-13", "1e-9"])
def test_a_tiny_rotation_is_not_applied_twice(angle: str) -> None:
    """A rotation below the tolerance was taken for rounding and added again by every output."""
    scene = exoskel.load(f"""<skel version="1.0"><world><skeleton name="s">
        <body name="b"><transformation>0 0 0 0.3 0.2 0.1</transformation></body><joint type="revolute" name="j">
        <parent>world</parent><child>b</child><axis><xyz>0 0 1</xyz></axis><init_pos>{angle}</init_pos></joint>
        </skeleton></world></skel>""")
    written = write(scene, "xode")
    again = reread(written.data, "xode", None)
    assert unlike(scene, again, 0.0) == []
    assert write(again, "xode").data == written.data


@pytest.mark.parametrize("stop", ["LowStop='inf'", "HiStop='-inf'", "LowStop='-inf' HiStop='inf'"])
@pytest.mark.parametrize("links", ["<link1 body='b'/>", "<link1 body='b'/><link2 body='c'/>"])
@pytest.mark.parametrize("format", FORMATS)
def test_infinite_stops_are_preserved(stop: str, links: str, format: str) -> None:
    """Found with generated documents: embedded stops were rejected because they are infinite, and loops with them."""
    hinge = f"<hinge><anchor x='0' y='0' z='0'/><axis x='0' y='0' z='1' {stop}/></hinge>"
    scene = exoskel.load(f"""<xode version="1.0"><world><space><body name="b"/><body name="c"/>
        <joint name="j"><link1 body="b"/>{hinge}</joint><joint name="k"><link1 body="c"/><link2 body="b"/>{hinge}</joint>
        <joint name="l">{links}{hinge}</joint></space></world></xode>""")
    assert unlike(scene, write(scene, format).reread, 0.0) == []
    assert exoskel.convert(scene, None, to=format).certificate.passed


@pytest.mark.parametrize("format", FORMATS)
def test_a_name_that_contains_inf_is_not_a_number(format: str) -> None:
    body = "<body name='info'/><body name='infant'/>"
    joint = "<joint name='infinity'><link1 body='info'/><link2 body='infant'/><ball/></joint>"
    loop = joint.replace("infinity", "inf")
    scene = exoskel.load(f"<xode version='1.0'><world name='info'><space>{body}{joint}{loop}</space></world></xode>")
    assert unlike(scene, write(scene, format).reread, 0.0) == []


@pytest.mark.parametrize(
    "state", ["", "<linearVel x='0' y='0' z='0'/>", "<finiteRotation mode='0' xaxis='1' yaxis='2' zaxis='3'/>"]
)
def test_xode_states_that_a_body_is_at_rest(state: str) -> None:
    """Found with generated documents: a stated default of a body was embedded, not written."""
    scene = exoskel.load(
        f"<xode version='1.0'><world><space><body name='b' enabled='true'>{state}</body></space></world></xode>"
    )
    written = write(scene, "xode")
    assert unlike(scene, written.native, 0.0) == []
    assert exoskel.convert(scene, None, to="xode").certificate.passed


@pytest.mark.parametrize("reverse", [False, True], ids=["root first", "leaf first"])
@pytest.mark.parametrize("has_positions", [False, True], ids=["at zero", "with positions"])
@pytest.mark.parametrize("format", FORMATS)
def test_the_first_output_is_stable(
    reverse: bool, has_positions: bool, format: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scene that was read back is written with the same digits, whatever the order of bodies and joints."""
    monkeypatch.setattr(import_module("exoskel.formats.write"), "_MOST_ROUNDS", 0)
    step = -1 if reverse else 1
    bodies = [f'<body name="b{i}"><transformation>.{i} 1 2 .1 .2 .{i}</transformation></body>' for i in range(1, 8)]
    joints = [
        f'<joint type="revolute" name="j{i}"><parent>{f"b{i - 1}" if i > 1 else "world"}</parent><child>b{i}</child>'
        f"<axis><xyz>.1 .{i} 1</xyz></axis>{f'<init_pos>.{i}</init_pos>' * (has_positions and i > 3)}</joint>"
        for i in range(1, 8)
    ]
    inner = "".join([*bodies[::step], *joints[::step]])
    scene = exoskel.load(f'<skel version="1.0"><world><skeleton name="s">{inner}</skeleton></world></skel>')
    written = write(scene, format)
    assert unlike(scene, written.reread) == []
    assert write(written.reread, format).data == written.data


def test_a_joint_keeps_its_velocity_below_a_body_with_an_impossible_velocity() -> None:
    """Found with generated documents: a child of a body was written to move with it, not relative to its stated velocity."""
    hinge = "<hinge><anchor x='1' y='0' z='0'/><axis x='1' y='0' z='0'/></hinge>"
    scene = exoskel.load(f"""<xode version="1.0"><world><space>
        <body name="a"><angularVel x="2" y="0" z="1"/></body><body name="b"/>
        <joint name="j"><link1 body="a"/><slider><axis x="0" y="0" z="1"/></slider></joint>
        <joint name="k"><link1 body="b"/><link2 body="a"/>{hinge}</joint></space></world></xode>""")
    assert scene.world.model("a").joint("k").velocities == (-2.0,)
    native = reread(write(scene, "xode").data, "xode", None, apply_embedded_data=False)
    assert native.world.model("a").joint("k").velocities == pytest.approx((-2.0,))
    assert exoskel.convert(scene, None, to="xode").certificate.passed


@pytest.mark.parametrize("format", FORMATS)
def test_numbers_too_small_to_be_written_are_embedded(format: str) -> None:
    """Found with generated documents: values that are written as zero by rule failed the certificate."""
    scene = exoskel.load("""<skel version="1.0"><world><skeleton name="s"><body name="b"><collision_shape><geometry>
        <plane><normal>-1 3e-310 0</normal><offset>3</offset></plane></geometry></collision_shape></body>
        </skeleton></world></skel>""")
    assert unlike(scene, write(scene, format).reread, 0.0) == []
    assert exoskel.convert(scene, None, to=format).certificate.passed


def test_a_moving_body_that_is_welded_passes() -> None:
    """In XODE the weld is the parent joint, and the body states its velocity; the certificate assumed rest."""
    text = """<mujoco><worldbody><body name="b"><freejoint/><geom size=".1"/></body></worldbody>
    <equality><weld body1="b"/></equality><keyframe><key qvel=".1 .2 .3 .4 .5 .6"/></keyframe></mujoco>"""
    for to in ("xode", "skel"):
        assert exoskel.convert(exoskel.load(text.encode(), format="mjcf"), None, to=to).certificate.passed


def test_a_missing_mesh_is_not_found_elsewhere(tmp_path: Path) -> None:
    """MuJoCo searches in `meshdir`; without it, the reference led to another file beside the output."""
    (tmp_path / "m.stl").write_bytes(b"")
    source = tmp_path / "a.xml"
    source.write_text("""<mujoco><compiler meshdir="meshes"/><asset><mesh name="m" file="m.stl"/></asset>
    <worldbody><body><freejoint/><geom type="mesh" mesh="m"/><geom size=".1"/></body></worldbody></mujoco>""")
    for to in ("skel", "xode", "sdf"):
        report = exoskel.convert(source, None, to=to)
        assert report.certificate.passed and b"meshes/m.stl" in report.data, to
