"""The validation of scenes: after embedded data is applied, after edits, and before writers and engines."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exoskel
from exoskel import Box, InvalidSceneError, Model, Scene, Shape, TriMesh, World
from exoskel.cli.main import main
from tests.support.edits import unchecked_values

EMBEDDED = Path(__file__).parent / "hostile" / "embedded"
REJECTED = {
    "color.skel": "the color of a shape of body 'a' is (1e+308, -5, 2, 3): expected 4 numbers from 0 to 1",
    "jself.skel": "joint 'j' connects body 'a' to itself",
    "loop.skel": "body 'a' has no parent joint",
    "names.skel": "model 's' has several bodies called 'b'",
    "self.xode": "joint 'x' connects body 'b' to itself",
    "tri2.skel": "a triangle of a shape of body 'a' refers to vertex -5: the mesh has 1 vertices, numbered from 0",
    "ts0.skel": "the time_step of world 'w' is 0: expected a positive number",
}


@pytest.mark.parametrize("name", REJECTED)
def test_embedded_data_that_makes_the_scene_invalid_is_reported_with_its_line(name: str) -> None:
    scene = exoskel.load(EMBEDDED / name)
    found = [d for d in scene.diagnostics if d.key in ("SK098.broken", "X910.broken")]
    assert [d.message for d in found] == [f"invalid embedded data: {REJECTED[name]}"]
    assert found[0].line == 1
    assert not exoskel.check(scene)


@pytest.mark.parametrize("name", REJECTED)
def test_the_plain_values_of_a_file_with_invalid_embedded_data_are_read(name: str) -> None:
    text = (EMBEDDED / name).read_text(encoding="utf-8")
    start, end = text.index("<exoskel:" if "<exoskel:" in text else "<ext"), text.rindex("</ex")
    plain = exoskel.load(text[:start] + text[text.index(">", end) + 1 :])
    assert not exoskel.diff(plain, exoskel.load(EMBEDDED / name))


@pytest.mark.parametrize("to", ["skel", "xode", "urdf", "sdf", "mjcf", "usd", "gltf"])
@pytest.mark.parametrize("name", REJECTED)
def test_a_file_with_invalid_embedded_data_is_converted_and_run(name: str, to: str) -> None:
    scene = exoskel.load(EMBEDDED / name)
    assert exoskel.convert(scene, None, to=to).certificate.passed
    exoskel.Simulation(scene).step(2)


def body(name: str, inner: str = "") -> str:
    return f'<body name="{name}"><inertia><mass>1</mass><moment_of_inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz><ixy>0</ixy><ixz>0</ixz><iyz>0</iyz></moment_of_inertia></inertia>{inner}</body>'


def joint(name: str, parent: str, child: str, inner: str = "") -> str:
    axis = "<axis><xyz>0 0 1</xyz></axis>"
    return f'<joint type="revolute" name="{name}"><parent>{parent}</parent><child>{child}</child>{axis}{inner}</joint>'


def document(*parts: str, world: str = "") -> str:
    physics = "<physics><time_step>0.001</time_step><gravity>0 0 -9.81</gravity></physics>"
    inside = f'<world name="w">{physics}{world}<skeleton name="s">{"".join(parts)}</skeleton></world>'
    return f'<skel version="1.0" xmlns:exoskel="urn:exoskel:carried">{inside}</skel>'


def carry(field: str, value: str, plain: Any) -> str:
    from exoskel.scene.json_codec import fingerprint

    return f'<exoskel:carry field="{field}" was="{fingerprint(plain)}">{value}</exoskel:carry>'


def add(to: str, value: str) -> str:
    return f'<exoskel:add to="{to}">{value}</exoskel:add>'


def broken(text: str) -> list[str]:
    scene = exoskel.load(text)
    assert not exoskel.check(scene)
    return [d.message.removeprefix("invalid embedded data: ") for d in scene.diagnostics if d.key == "SK098.broken"]


def test_valid_embedded_data_next_to_invalid_data_is_read() -> None:
    box = '{"geometry":{"type":"box","size":[1,1,1]},"color":[1,0,0,1]}'
    flat = '{"geometry":{"type":"box","size":[1,0,1]}}'
    text = document(body("a", add("visuals", box) + add("visuals", flat) + add("markers", '{"name": "m"}')))
    assert broken(text) == ["the geometry.size of a shape of body 'a' is (1, 0, 1): expected 3 positive numbers"]
    read = exoskel.load(text).world.models[0].bodies[0]
    assert [shape.color for shape in read.visuals] == [(1.0, 0.0, 0.0, 1.0)]
    assert [marker.name for marker in read.markers] == ["m"]


def test_joints_that_form_a_ring_with_embedded_parents_keep_their_plain_parents() -> None:
    joints = [
        joint("j", "world", "a", carry("parent", '"c"', None)),
        joint("k", "a", "b", carry("parent", '"a"', "a")),
        joint("l", "b", "c"),
    ]
    text = document(body("a"), body("b"), body("c"), *joints)
    assert "the joints of these bodies form a cycle: a, b, c" in broken(text)
    assert [j.parent and j.parent.name for j in exoskel.load(text).world.joints()] == [None, "a", "b"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (document(body("a", add("joints", '{"name":"x","kind":"weld","child":"a"}')), joint("j", "world", "a")),
         "body 'a' has several parent joints: j, x"),
        (document(body("a"), joint("j", "world", "a", carry("kind", '"universal"', "revolute"))),
         "wrong number of axes for joint 'j' (universal): expected 2, found 1"),
        (document(body("a"), joint("j", "world", "a", carry("child", "null", "a"))), "the child of joint 'j' is None: expected Body"),
        (document(body("a"), joint("j", "world", "a", carry("mimic", '{"joint": "j"}', None))),
         "joint 'j' mimics itself"),
        (document(body("a", add("visuals", '{"geometry":{"type":"sphere","radius":-1}}'))),
         "the geometry.radius of a shape of body 'a' is -1: expected a positive number"),
        (document(body("a", add("visuals", '{"geometry":{"type":"plane","normal":[0,0,0]}}'))),
         "the geometry.normal of a shape of body 'a' is (0, 0, 0): expected a direction"),
        (document(body("a", add("visuals", '{"geometry":{"type":"ray","length":0}}'))),
         "the geometry.length of a shape of body 'a' is 0: expected a positive number"),
        (document(body("a", carry("soft", '{"total_mass":1,"geometry":{"type":"box","size":[1,1,1]},'
                                  '"tessellation":{"fragments":[9999,9999,9999]}}', None))),
         "the soft.tessellation of body 'a' is (9999, 9999, 9999, 0, 0, 0): expected at most 1000000 points"),
        (document(body("a"), world=carry("erp", '"x"', None)), "Expected `float | null`, got `str`"),
    ],
)  # fmt: skip
def test_each_kind_of_invalid_embedded_data_has_a_reason(text: str, message: str) -> None:
    assert broken(text) == [message]


def test_a_placeholder_that_bodies_depend_on_is_not_removed() -> None:
    text = document(body("a", "<exoskel:stand-in/>"), body("b"), joint("j", "world", "a"), joint("k", "a", "b"))
    assert broken(text) == ["body 'b' has no parent joint"]
    assert [b.name for b in exoskel.load(text).world.bodies()] == ["a", "b"]


# --- edits -------------------------------------------------------------------------------------------------


def arm() -> Scene:
    return exoskel.load(document(body("a"), body("b"), joint("j", "world", "a"), joint("k", "a", "b")))


def first(scene: Scene) -> Model:
    return scene.world.models[0]


def change(target: Callable[[Model], Any], field: str, value: Any) -> Callable[[Scene], None]:
    return lambda scene: setattr(target(first(scene)), field, value)


def unchecked(edit: Callable[[Scene], Any]) -> Callable[[Scene], None]:
    """An edit with values that are only checked by the validation, as those of files are."""

    def make(scene: Scene) -> None:
        with unchecked_values():
            edit(scene)

    return make


def with_shape(value: Any) -> Callable[[Scene], None]:
    return lambda scene: first(scene).bodies[0].visuals.append(value)


def in_a_ring(scene: Scene) -> None:
    first(scene).joints[0].parent = first(scene).bodies[1]


def add_the_other_models_body(scene: Scene) -> None:
    scene.world.add_model("t").bodies.append(first(scene).bodies[0])


A, B = (lambda model: model.bodies[0]), (lambda model: model.bodies[1])
J, K = (lambda model: model.joints[0]), (lambda model: model.joints[1])
OUTSIDE = TriMesh(np.zeros((2, 3)), np.array([[0, 1, 2]]))
EDITS: list[tuple[Callable[[Scene], Any], str]] = [
    (lambda scene: first(scene).bodies.pop(), "the child of joint 'k' is body 'b', which is not in model 's'"),
    (lambda scene: first(scene).bodies.pop(0), "the child of joint 'j' is body 'a', which is not in model 's'"),
    (lambda scene: first(scene).joints.pop(), "body 'b' has no parent joint"),
    (lambda scene: first(scene).joints.reverse(), "joint 'k' is listed before the joint of its parent body 'a'"),
    (lambda scene: first(scene).bodies.append(first(scene).bodies[0]), "model 's' lists body 'a' again"),
    (lambda scene: first(scene).joints.append(None), "the joints of model 's' are None: expected Joint"),
    (in_a_ring, "the joints of these bodies form a cycle: a, b"),
    (add_the_other_models_body, "model 't' lists body 'a' again"),
    (change(K, "parent", exoskel.Body(name="z")), "the parent of joint 'k' is body 'z', which is not in model 's'"),
    (change(J, "loop", True), "body 'a' has no parent joint"),
    (unchecked(change(J, "pose", None)), "the pose of joint 'j' is None: expected Pose"),
    (unchecked(change(J, "axes", (0, 0, 1))), "wrong number of axes for joint 'j' (revolute): expected 1, found 3"),
    (unchecked(change(J, "axes", ("x",))), "the axes of joint 'j' are 'x': expected 3 finite numbers"),
    (unchecked(change(J, "kind", "hinge")), "joint 'j' has the unknown kind 'hinge'"),
    (change(J, "drives", (None,)), "the drives of joint 'j' are None: expected Drive"),
    (change(J, "mimic", exoskel.Mimic("j")), "joint 'j' mimics itself"),
    (unchecked(lambda scene: setattr(first(scene).joints[0].dofs[0], "damping", nan)),
     "the dofs[0].damping of joint 'j' is nan: expected a finite number"),
    (unchecked(lambda scene: setattr(first(scene).joints[0].dofs[0], "position_limits", (0.0,))),
     "the dofs[0].position_limits of joint 'j' are (0): expected 2 numbers"),
    (change(B, "name", "a"), "model 's' has several bodies called 'a'"),
    (unchecked(change(B, "name", None)), "the name of body 'None' is None: expected a text"),
    (change(K, "name", "j"), "model 's' has several joints called 'j'"),
    (lambda scene: scene.world.models.append(Model(name="s")), "world 'w' has several models called 's'"),
    (unchecked(change(A, "inertia", None)), "the inertia of body 'a' is None: expected Inertia"),
    (unchecked(lambda scene: setattr(first(scene).bodies[0].inertia, "mass", -1.0)),
     "the mass of body 'a' is -1: expected zero or a positive number"),
    (unchecked(lambda scene: setattr(first(scene).bodies[0].inertia, "mass", "1")),
     "the mass of body 'a' is '1': expected zero or a positive number"),
    (unchecked(lambda scene: setattr(first(scene).bodies[0].inertia, "com", (0, inf, 0))), "the com of body 'a' is (0, inf, 0): expected 3 finite numbers"),
    (unchecked(lambda scene: setattr(first(scene).bodies[0], "pose", exoskel.Pose((0, 0, nan)))),
     "the pose.position of body 'a' is (0, 0, nan): expected 3 finite numbers"),
    (unchecked(lambda scene: setattr(first(scene).bodies[0], "pose", exoskel.Pose(rotation=exoskel.Euler(order="abc")))),
     "the pose.rotation.order of body 'a' is 'abc': expected xyz, xzy, yxz, yzx, zxy, zyx, xyx, xzx, yxy, yzy, zxz or zyz"),
    (change(A, "name", "a\ud800"), "the name of body 'a\\ud800' is 'a\\ud800': expected valid characters"),
    (change(J, "name", "\udcff"), "the name of joint '\\udcff' is '\\udcff': expected valid characters"),
    (with_shape(Shape(geometry=Box((1, 1, 1)), name="\ud800")),
     "the name of shape '\\ud800' is '\\ud800': expected valid characters"),
    (unchecked(lambda scene: first(scene).bodies[0].markers.append(exoskel.Marker(name=3))),  # type: ignore[arg-type]
     "the name of marker '3' is 3: expected a text"),
    (unchecked(lambda scene: setattr(scene.world, "name", None)), "the name of world 'None' is None: expected a text"),
    (lambda scene: setattr(first(scene).joints[0].dofs[0], "name", "\ud800"),
     "the name of degree of freedom '\\ud800' is '\\ud800': expected valid characters"),
    (change(A, "name", "a\0"), "the name of body 'a\\u0000' is 'a\\x00': expected valid characters"),
    (lambda scene: scene.world.actuators.append(exoskel.Actuator("\ud800", "s/k")),
     "the actuators.name of world 'w' is '\\ud800': expected valid characters"),
    (lambda scene: scene.world.cameras.append(exoskel.SceneCamera("\0")),
     "the cameras.name of world 'w' is '\\x00': expected valid characters"),
    (lambda scene: scene.world.sensors.append(exoskel.SceneSensor("\0", "clock")),
     "the sensors.name of world 'w' is '\\x00': expected valid characters"),
    (unchecked(lambda scene: scene.world.keyframes.append(exoskel.Keyframe("k", controls=("m",)))),  # type: ignore[arg-type]
     "the keyframes.controls of world 'w' are 'm': expected the name of an actuator and its control"),
    (unchecked(lambda scene: scene.world.keyframes.append(exoskel.Keyframe("k", joints=("j",)))),  # type: ignore[arg-type]
     "the keyframes of world 'w' are 'j': expected KeyframeJoint"),
    (with_shape(None), "the visuals of body 'a' are None: expected Shape"),
    (with_shape(Shape(geometry=Box((1, 1, 0)))),
     "the geometry.size of a shape of body 'a' is (1, 1, 0): expected 3 positive numbers"),
    (with_shape(Shape(geometry=OUTSIDE)),
     "a triangle of a shape of body 'a' refers to vertex 2: the mesh has 2 vertices, numbered from 0"),
    (with_shape(Shape(geometry=Box((1, 1, 1)), friction=-1.0, name="f")),
     "the friction of shape 'f' is -1: expected zero or a positive number"),
    (unchecked(lambda scene: setattr(scene.world, "time_step", 0.0)),
     "the time_step of world 'w' is 0: expected a positive number"),
    (unchecked(lambda scene: setattr(scene.world, "gravity", (0, 0))), "the gravity of world 'w' is (0, 0): expected 3 finite numbers"),
]  # fmt: skip


@pytest.mark.parametrize(("edit", "message"), EDITS)
def test_an_invalid_edit_is_an_error_before_anything_is_done(
    edit: Callable[[Scene], Any], message: str, tmp_path: Path
) -> None:
    scene = arm()
    edit(scene)
    assert exoskel.check(scene)[0].message == exoskel.check(scene.world)[0].message == message
    for use in (exoskel.Simulation, exoskel.run, exoskel.summarize):
        with pytest.raises(InvalidSceneError) as found:
            use(scene)
        assert found.value.diagnostics[0].message == message
    for to in ("skel", "xode", "urdf", "sdf", "mjcf", "usd", "gltf"):
        with pytest.raises(InvalidSceneError):
            exoskel.convert(scene, tmp_path / "out", to=to)
        with pytest.raises(exoskel.SaveError, match="the scene cannot be saved: "):
            exoskel.save(scene, tmp_path / "out", format=to)
    assert not list(tmp_path.iterdir())
    assert exoskel.preflight(scene)[0].message == message


@pytest.mark.parametrize(("edit", "message"), EDITS)
def test_diff_compares_any_structure_and_refuses_invalid_values(edit: Callable[[Scene], Any], message: str) -> None:
    scene = arm()
    edit(scene)
    is_structure = exoskel.check(scene)[0].code in ("SC102", "SC103", "SC106")
    if is_structure:
        assert exoskel.diff(arm(), scene)
    else:
        with pytest.raises(InvalidSceneError, match=re.escape(message)):
            exoskel.diff(arm(), scene)


@pytest.mark.parametrize("to", ["skel", "xode", "sdf", "mjcf", "usd", "gltf"])
def test_a_number_that_dart_reads_and_files_cannot_store_is_named(to: str) -> None:
    text = document(body("a")).replace("0 0 -9.81", "0 nan 0")
    scene = exoskel.load(text, semantics="dart")
    with pytest.raises(exoskel.ExoskelError, match=r"the gravity of world 'w' is .0, nan, 0.|are not finite"):
        exoskel.convert(scene, None, to=to)
    assert exoskel.summarize(scene)["worlds"]


def test_the_diagnostics_of_an_edited_scene_point_into_its_file() -> None:
    scene = arm()
    with unchecked_values():
        first(scene).bodies[1].inertia.mass = -2.0
    position = scene.where(first(scene).bodies[1])
    assert position is not None
    assert [(d.code, d.line, d.column) for d in exoskel.check(scene)] == [("SC101", position.line, position.column)]


def test_a_colour_out_of_range_is_only_a_warning() -> None:
    scene = arm()
    first(scene).bodies[0].visuals.append(Shape(geometry=Box((1, 1, 1)), color=(2.0, 0.0, 0.0, 1.0)))
    assert [(d.code, d.severity.value) for d in exoskel.check(scene)] == [("SC107", "warning")]
    exoskel.Simulation(scene)


def test_colours_out_of_range_are_converted() -> None:
    rgba = "255 -1 0 1"
    models = {
        "mjcf": f'<mujoco><worldbody><body><freejoint/><geom size="1" rgba="{rgba}"/></body></worldbody></mujoco>',
        "urdf": f'<robot name="r"><link name="b"><visual><geometry><sphere radius="1"/></geometry>'
        f'<material name="m"><color rgba="{rgba}"/></material></visual></link></robot>',
    }
    for format, text in models.items():
        for to in ("skel", "xode"):
            report = exoskel.convert(text.encode(), to=to, format=format)
            assert report.certificate.passed
            (shape,) = [one for body in exoskel.load(report.data).world.bodies() for one in body.shapes]
            assert shape.color in ((255.0, -1.0, 0.0, 1.0), (1.0, 0.0, 0.0, 1.0))  # XODE has embedded colours


def test_a_scene_that_was_not_edited_is_not_checked_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    counted: list[World] = []
    from exoskel.scene import validation

    original = validation.world_problems
    monkeypatch.setattr(validation, "world_problems", lambda world: (counted.append(world), original(world))[1])
    scene = exoskel.load("dart://sample/skel/walker.skel")
    exoskel.Simulation(scene)
    exoskel.convert(scene, tmp_path / "walker.urdf", model="walker")
    exoskel.save(scene, tmp_path / "walker.skel")
    exoskel.summarize(scene)
    assert not counted
    scene.world.models[0].bodies[0].mass = 2.0
    exoskel.Simulation(scene)
    exoskel.summarize(scene)
    assert len(counted) == 1


def test_an_edit_of_a_static_body_of_xode_is_saved_or_refused(tmp_path: Path) -> None:
    scene = exoskel.load("dart://sample/xode/ragdoll.xode")
    static = next(model for model in scene.world.models if model.static)
    static.bodies[0].mass = 2.0
    path = tmp_path / "ragdoll.xode"
    exoskel.save(scene, path)
    assert exoskel.load(path).world.models[0].bodies[0].mass == 2.0


def test_the_command_line_reports_invalid_embedded_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(EMBEDDED / "jself.skel"), "--time", "0.01"]) == 0
    assert "internal error" not in capsys.readouterr().err
