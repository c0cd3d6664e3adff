"""Names in MJCF files: short, without slashes, and restored when a file is read back."""

from __future__ import annotations

import re
from typing import get_args

import mujoco
import pytest
from lxml import etree

import exoskel
from exoskel import ExoskelError, Ray, Scene, Shape
from exoskel.formats.mjcf.file_writer import INTEGRATORS, write_document
from exoskel.formats.mjcf.names import shorten_names
from exoskel.formats.mjcf.tree import to_text
from exoskel.source.output_context import Target
from tests.support.edits import edited
from tests.support.scenes import all_files

MODELS = """<mujoco model="a/b"><worldbody>
<body name="first"><joint name="hinge" type="hinge"/><geom size="1"/></body>
<body name="second"><joint name="slide" type="slide"/><geom size="1"/><site name="tip"/></body>
</worldbody></mujoco>"""


def names(scene: Scene) -> object:
    return [
        (
            model.name,
            [(body.name, [marker.name for marker in body.markers], len(body.visuals)) for body in model.bodies],
            sorted((joint.name, joint.kind, joint.loop) for joint in model.joints),
        )
        for model in scene.world.models
    ]


def converted(scene: Scene, **options: object) -> str:
    return exoskel.convert(scene, to="mjcf", **options).data.decode()  # type: ignore[arg-type]


@pytest.mark.parametrize("file", all_files(), ids=lambda file: file.name)
def test_no_name_has_a_slash_and_all_come_back(file: object) -> None:
    scene = exoskel.load(str(file))
    for world in scene.worlds:
        document = write_document(world)
        qualified = to_text(document)
        shorten_names(document)
        text = to_text(document)
        assert not re.findall(r' name="[^"]*/', text)
        assert names(exoskel.load(text.encode(), format="mjcf")) == names(
            exoskel.load(qualified.encode(), format="mjcf")
        )


def clashing(first: str, second: str, body: str) -> Scene:
    scene = exoskel.load(MODELS.encode(), format="mjcf")
    for model, name in zip(scene.world.models, (first, second), strict=True):
        model.name = name
        model.bodies[0].name = body
        model.joints[0].name = "joint"
    return scene


@pytest.mark.parametrize(
    ("first", "second", "body"),
    [
        ("one", "two", "link"),
        ("a", "a_b", "b_c"),
        ("a/b", "a~b", "c/d"),
        ("one", "two", "world"),
        ("a b", "c=d", "e%20f"),
        ("größe", "два", "名前"),
    ],
)
def test_clashing_and_unusual_names_come_back(first: str, second: str, body: str) -> None:
    scene = clashing(first, second, body)
    text = converted(scene)
    back = exoskel.load(text.encode(), format="mjcf")
    assert names(back) == names(scene)
    assert back.world.name == scene.world.name == "a/b"
    assert not re.findall(r' (?:name|model)="[^"]*/', text)
    mujoco.MjModel.from_xml_string(text)


def test_prefixes_appear_only_where_names_clash() -> None:
    text = converted(clashing("one", "two", "link"))
    assert re.findall(r'<body name="([^"]*)"', text) == ["one_link", "two_link"]
    text = converted(exoskel.load("dart://sample/skel/walker.skel"))
    assert "walker_" not in text


def test_a_body_that_is_added_by_hand_belongs_to_the_model_of_its_parent() -> None:
    text = converted(exoskel.load("dart://sample/skel/pendulum.skel"))
    edited = re.sub(r'(<body name="bob"[^>]*>)', r'\1<body name="hat"><geom size="0.1"/></body>', text)
    models = {model.name: model for model in exoskel.load(edited.encode(), format="mjcf").world.models}
    assert [body.name for body in models["pendulum"].bodies] == ["bob", "hat"]


def test_lights_sky_and_camera_are_not_read_back() -> None:
    text = converted(exoskel.load("dart://sample/skel/walker.skel"))
    model = mujoco.MjModel.from_xml_string(text)
    assert (model.nlight, model.ncam, model.ntex) == (1, 1, 1)
    back = exoskel.load(text.encode(), format="mjcf")
    assert not [diagnostic for diagnostic in back.diagnostics if diagnostic.code == "MJ201"]
    again = converted(back)
    assert [again.count(f"<{tag} ") for tag in ("light", "camera", "texture")] == [1, 1, 1]


@pytest.mark.parametrize(("gravity", "up"), [("0 0 -9.81", 2), ("0 -9.81 0", 1), ("-9.81 0 0", 0), ("0 0 0", 2)])
def test_the_camera_is_upright_and_looks_at_the_bodies(gravity: str, up: int) -> None:
    option = f'<option gravity="{gravity}"/>'
    scene = edited(MODELS.replace("<worldbody>", f"{option}<worldbody>"))
    model = mujoco.MjModel.from_xml_string(converted(scene))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    right, upward, back = data.cam_xmat[0].reshape(3, 3).T
    assert abs(right[up]) < 1e-9 and upward[up] > 0.5
    centre = data.xpos[1:].mean(axis=0)
    assert abs((data.cam_xpos[0] - centre) / abs(data.cam_xpos[0] - centre).max() - back / abs(back).max()).max() < 0.01
    assert data.light_xdir[0][up] < -0.5


@pytest.mark.parametrize("target", [one for one in get_args(Target) if one not in ("pyode", "portable")])
def test_each_target_names_its_integrator_and_reports_what_it_costs(target: Target) -> None:
    report = exoskel.convert("dart://sample/skel/walker.skel", to="mjcf", target=target)
    found = re.search(r'integrator="(\w+)"', report.data.decode())
    assert (found and found[1]) == INTEGRATORS[target]
    assert report.certificate.passed
    said = [item for item in report.items if "integrat" in item.why]
    assert bool(said) == (target != "mujoco4")


def test_portable_files_leave_the_integrator_to_the_program() -> None:
    assert "integrator" not in converted(exoskel.load("dart://sample/skel/walker.skel"))


def test_a_target_of_another_format_is_refused() -> None:
    with pytest.raises(ExoskelError, match="URDF is not written for 'newton'; URDF is written for dart; use --to mjcf"):
        exoskel.convert("dart://sample/skel/pendulum.skel", to="urdf", target="newton", model="pendulum")


def test_the_camera_does_not_depend_on_shapes_that_are_not_written() -> None:
    scene = edited(MODELS)
    before = converted(scene)
    scene.world.models[0].bodies[0].collisions.append(Shape(geometry=Ray(length=50.0)))
    camera = re.compile(r"<camera [^>]*>")
    assert camera.findall(converted(scene)) == camera.findall(before)


# A document as dm_control exports it: names are paths of attached models.
ATTACHED = """<mujoco model="scene"><default><default class="/"/><default class="walker/"><joint armature="0.1"/>
<default class="walker/leg"><geom rgba="1 0 0 1"/></default><motor ctrlrange="-2 2" ctrllimited="true"/></default></default>
<asset><texture name="walker/t" type="2d" builtin="flat" width="8" height="8"/>
<material name="walker/m" texture="walker/t"/></asset>
<worldbody><light name="a/lamp" pos="0 0 3"/><camera name="a/eye" pos="0 -3 1"/><camera name="a_eye" pos="0 3 1"/>
<body name="walker/" childclass="walker/"><freejoint name="walker/root"/><geom size="0.1"/><site name="walker/s"/>
<body name="walker/leg" pos="1 0 0"><joint name="walker/hip" axis="0 1 0"/><geom class="walker/leg" size="0.1"/>
<camera name="walker/ego"/></body></body></worldbody>
<tendon><fixed name="walker/f"><joint joint="walker/hip" coef="1"/></fixed></tendon>
<actuator><motor name="walker/m" joint="walker/hip" class="walker/"/><muscle name="walker/mu" tendon="walker/f"
lengthrange="0.1 1"/><motor name="walker/s" site="walker/s" class="walker/"/></actuator>
<sensor><camprojection name="walker/p" site="walker/s" camera="a/eye"/><framepos name="walker/q" objtype="camera"
objname="walker/ego"/><user name="walker/u" dim="1"/><actuatorfrc name="walker/af" actuator="walker/mu"/></sensor>
<keyframe><key name="walker/home" qpos="0 0 1 1 0 0 0 0.3"/></keyframe></mujoco>"""


def test_no_name_of_an_attached_model_has_a_slash_and_all_elements_stay() -> None:
    """dm_control refuses names and classes with slashes."""
    data = ATTACHED.encode()
    before = mujoco.MjModel.from_xml_string(ATTACHED)
    for _ in range(2):
        report = exoskel.convert(data, None, to="mjcf")
        assert not [loss for loss in report.losses if not loss.path.endswith("@name")]
        data = report.data
        after = mujoco.MjModel.from_xml_string(data.decode())
        for count in ("ncam", "nlight", "ntendon", "nu", "nsensor", "nmat"):
            assert getattr(after, count) == getattr(before, count)
        root = etree.fromstring(data)
        written = [one.get(name, "") for one in root.iter() for name in ("name", "class", "childclass", "model")]
        assert not [name for name in written if "/" in name]
        assert after.sensor("walker_p").refid[0] == after.camera("a_eye_2").id
        world = exoskel.load(data).world
        assert sorted(camera.name for camera in world.cameras) == ["a/eye", "a_eye", "walker/ego"]
        assert [light.name for light in world.lights] == ["a/lamp"]
        assert [key.name for key in world.keyframes] == ["walker/home"]


# --- names of geoms -------------------------------------------------------------------------------------


NAMED = """<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>
<body name="b"><joint/><geom name="a~b" size=".1"/><geom name="seen" size=".1" contype="0" conaffinity="0"/><geom size="1"/></body>
<body name="c"><freejoint/><geom size="1" contype="0" conaffinity="0"/><geom name="b_collision1" size=".2"/></body></worldbody>
<contact><pair geom1="a~b" geom2="b_collision1"/></contact></mujoco>"""


def _shape_names(scene: Scene) -> list[tuple[list[str], list[str]]]:
    return [([s.name for s in b.visuals], [s.name for s in b.collisions]) for b in scene.world.bodies()]


def test_geoms_have_the_names_of_shapes_and_these_come_back() -> None:
    scene = edited(NAMED)
    report = exoskel.convert(scene, None, to="mjcf")
    assert not [item for item in report.items if item.path.endswith("geom/@name") and item.fate != "exact"]
    model = mujoco.MjModel.from_xml_string(report.data.decode())
    names = [model.geom(number).name for number in range(model.ngeom)]
    assert names == ["floor", "a~b", "b_collision1_2", "seen", "b_collision1", "c_visual0"]
    assert [model.geom(model.pair_geom1[0]).name, model.geom(model.pair_geom2[0]).name] == ["a~b", "b_collision1"]
    assert _shape_names(exoskel.load(report.data)) == _shape_names(scene)


def test_shapes_of_other_formats_name_geoms() -> None:
    link = """<link name="{0}"><collision name="hull"><geometry><sphere><radius>1</radius></sphere></geometry></collision>
    <visual name="skin/top"><geometry><sphere><radius>1</radius></sphere></geometry></visual></link>"""
    text = f'<sdf version="1.9"><model name="m">{link.format("a")}{link.format("b")}</model></sdf>'
    data = exoskel.convert(text, None, to="mjcf").data
    model = mujoco.MjModel.from_xml_string(data.decode())
    names = [model.geom(number).name for number in range(model.ngeom)]
    assert names == ["hull", "skin_top", "hull_2", "skin_top_2"]


def test_shapes_with_the_same_name_have_different_names_in_mujoco() -> None:
    scene = exoskel.load(NAMED)
    for body in scene.world.bodies():
        for shape in body.shapes:
            shape.name = "same"
    model = exoskel.to_mujoco(scene).model
    assert len({model.geom(number).name for number in range(model.ngeom)}) == model.ngeom
