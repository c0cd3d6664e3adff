"""Writing URDF: elements, values and reported losses."""

from __future__ import annotations

from math import inf
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

import exoskel
from exoskel import ExoskelError, Model, Pose, Scene, World
from exoskel.fates import Fate
from exoskel.formats.urdf.vocabulary import URDF
from exoskel.formats.urdf.write import write
from exoskel.scene.joint import Mimic
from exoskel.scene.shape import (
    Ball,
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    Geometry,
    MultiSphere,
    Plane,
    Ray,
    Shape,
    Sphere,
)
from exoskel.source.markup import Markup
from exoskel.source.output_context import OutputContext
from tests.urdf.support import FILES, read_text, sample, written
from tests.urdf.test_round_trip import rig


def scene_of(*models: Model) -> Scene:
    return Scene(worlds=[World(models=list(models))])


def arm(kind: str = "revolute", **options: object) -> tuple[Scene, Model]:
    model = Model(name="arm")
    model.add_body("base", joint="weld")
    model.add_body("hand", parent="base", joint=kind, axes=((0.0, 0.0, 1.0),), joint_name="wrist", **options)  # type: ignore[arg-type]
    return scene_of(model), model


def joint(scene: Scene, name: str = "wrist", output: OutputContext | None = None) -> Markup:
    root = write(scene, output or OutputContext())
    return next(e for e in root.children if e.tag == "joint" and e.attributes["name"] == name)


def child(element: Markup, tag: str) -> dict[str, str]:
    return next(c.attributes for c in element.children if c.tag == tag)


# --- which model --------------------------------------------------------------------------------------


def test_a_document_contains_one_robot() -> None:
    scene = scene_of(Model(name="left"), Model(name="right"))
    with pytest.raises(ExoskelError, match=r"2 \('left', 'right'\)"):
        write(scene, OutputContext())
    assert write(scene, OutputContext(), model="right").attributes["name"] == "right"
    with pytest.raises(ExoskelError, match="middle"):
        write(scene, OutputContext(), model="middle")


def test_elements_refer_to_their_items() -> None:
    scene = rig("euler")
    root = write(scene, OutputContext())
    items = [e.item for e in root.iter() if e.item is not None]
    model = scene.world.models[0]
    assert items[0] is model
    for item in (*model.bodies, *model.joints):
        assert sum(1 for one in items if one is item) == 1


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_written_elements_are_in_the_vocabulary(file: object) -> None:
    scene = sample(file)  # type: ignore[arg-type]
    for model in scene.world.models:
        root = write(scene, OutputContext(), model=model.name)
        waiting = [(root, URDF.root)]
        while waiting:
            element, rule = waiting.pop()
            assert element.attributes.keys() <= rule.attributes.keys()
            waiting += [(inner, rule.children[inner.tag]) for inner in element.children]


# --- joints -------------------------------------------------------------------------------------------


def test_joint_kinds_become_joint_types() -> None:
    scene, model = arm()
    assert joint(scene).attributes["type"] == "continuous"
    model.joints[1].dofs[0].position_limits = (-1.0, inf)
    made = joint(scene)
    assert made.attributes["type"] == "revolute"
    assert child(made, "limit") == {"lower": "-1", "upper": "1e+30", "effort": "1e+30", "velocity": "1e+30"}
    model.joints[1].limits_enforced = False
    assert joint(scene).attributes["type"] == "continuous"
    scene, _ = arm("prismatic")
    assert child(joint(scene), "limit")["lower"] == "-1e+30"


def test_asymmetric_limits_are_reported() -> None:
    scene, model = arm()
    model.joints[1].dofs[0].force_limits = (-2.0, 3.0)
    output = OutputContext()
    assert child(joint(scene, output=output), "limit")["effort"] == "3"
    assert [(loss.item, loss.fields) for loss in output.losses] == [(model.joints[1], ("force_limits",))]


def test_dynamics_and_mimic_are_written() -> None:
    scene, model = arm()
    model.add_body("tip", parent="hand", joint="revolute", axes=((1.0, 0.0, 0.0),), joint_name="tip")
    model.joint("tip").mimic = Mimic("wrist", 2.0, 0.5)
    model.joint("tip").dofs[0].damping = 0.25
    made = joint(scene, "tip")
    assert child(made, "mimic") == {"joint": "wrist", "multiplier": "2", "offset": "0.5"}
    assert child(made, "dynamics") == {"damping": "0.25"}


def test_a_joint_with_several_dofs_mimics_link_by_link() -> None:
    scene = rig("euler")
    first, second, _ = scene.world.models[0].joints
    second.mimic = Mimic(first.name)
    back = read_text(written(scene)).world.models[0]
    followed = {j.name: j.mimic.joint for j in back.joints if j.mimic is not None}
    assert len(followed) == 3
    assert followed[second.name] == first.name


def test_a_screw_becomes_a_prismatic_joint_that_mimics_a_revolute_joint() -> None:
    back = read_text(written(rig("screw"))).world.models[0]
    sliders = [j for j in back.joints if j.kind == "prismatic"]
    assert len(sliders) == 2
    assert all(j.mimic is not None and back.joint(j.mimic.joint).kind == "revolute" for j in sliders)


@pytest.mark.parametrize("case", ["screw", "ball", "hinge2", "amotor"])
def test_approximated_joints_are_reported(case: str) -> None:
    scene, output = rig(case), OutputContext()
    write(scene, output)
    assert {id(loss.item) for loss in output.losses} == {id(j) for j in scene.world.models[0].joints[:2]}


def test_loop_joints_are_reported() -> None:
    scene, model = arm()
    loop = model.add_joint("loop", "ball", child=model.bodies[1])
    output = OutputContext()
    root = write(scene, output)
    assert [loss.item for loss in output.losses] == [loop]
    assert sum(1 for e in root.children if e.tag == "joint") == 2


def test_a_static_model_is_fixed_at_its_initial_pose() -> None:
    scene, model = arm("prismatic")
    model.static = True
    model.joints[1].positions = (0.5,)
    made = joint(scene)
    assert made.attributes["type"] == "fixed"
    assert child(made, "origin") == {"xyz": "0 0 0.5"}


def test_a_body_named_world_is_renamed() -> None:
    model = Model(name="m")
    model.add_body("world")
    back = read_text(written(scene_of(model))).world.models[0]
    assert [b.name for b in back.bodies] == ["world(1)"]


# --- shapes -------------------------------------------------------------------------------------------


def collisions(geometry: Geometry, output: OutputContext) -> list[tuple[Geometry, tuple[float, float, float]]]:
    model = Model(name="m")
    model.add_body("b", shapes=[Shape(geometry=geometry, pose=Pose((0.0, 0.0, 1.0)))], joint="weld", mass=1.0)
    back = read_text(written(scene_of(model), output=output)).world.models[0].bodies[0]
    return [(shape.geometry, shape.pose.position) for shape in back.collisions]


@pytest.mark.parametrize("geometry", [Box((1.0, 2.0, 3.0)), Sphere(0.5), Cylinder(0.5, 2.0)])
def test_supported_geometries_are_written(geometry: Geometry) -> None:
    output = OutputContext()
    assert collisions(geometry, output) == [(geometry, (0.0, 0.0, 1.0))]
    assert output.losses == []


def test_a_capsule_becomes_a_cylinder_with_two_spheres() -> None:
    output = OutputContext()
    made = collisions(Capsule(0.5, 2.0), output)
    assert made == [
        (Cylinder(0.5, 2.0), (0.0, 0.0, 1.0)),
        (Sphere(0.5), (0.0, 0.0, 2.0)),
        (Sphere(0.5), (0.0, 0.0, 0.0)),
    ]
    assert output.losses == []


def test_an_ellipsoid_with_equal_axes_becomes_a_sphere() -> None:
    output = OutputContext()
    assert collisions(Ellipsoid((1.0, 1.0, 1.0)), output) == [(Sphere(0.5), (0.0, 0.0, 1.0))]
    assert output.losses == []


@pytest.mark.parametrize(
    ("geometry", "parts"),
    [
        (Ellipsoid((1.0, 2.0, 3.0)), [(Box((1.0, 2.0, 3.0)), (0.0, 0.0, 1.0))]),
        (Cone(0.5, 2.0), [(Box((1.0, 1.0, 2.0)), (0.0, 0.0, 1.0))]),
        (Plane((0.0, 0.0, 1.0), 0.5), [(Box((100.0, 100.0, 1.0)), (0.0, 0.0, 1.0))]),
        (
            MultiSphere((Ball(0.1, (0.0, 0.0, 0.0)), Ball(0.2, (1.0, 0.0, 0.0)))),
            [(Sphere(0.1), (0.0, 0.0, 1.0)), (Sphere(0.2), (1.0, 0.0, 1.0))],
        ),
        (Ray(1.0), []),
    ],
)
def test_approximated_geometries_are_reported(geometry: Geometry, parts: list[object]) -> None:
    output = OutputContext()
    assert collisions(geometry, output) == parts
    assert {type(loss.item) for loss in output.losses} == {Shape}


def test_shapes_with_one_colour_share_a_material() -> None:
    model = Model(name="m")
    red = (1.0, 0.0, 0.0, 0.5)
    shapes = [Shape(geometry=Sphere(1.0), color=red), Shape(geometry=Sphere(2.0), color=red)]
    model.add_body("b", shapes=shapes)
    root = write(scene_of(model), OutputContext())
    assert [e.tag for e in root.children].count("material") == 1
    back = read_text(written(scene_of(model))).world.models[0].bodies[0]
    assert [shape.color for shape in back.visuals] == [red, red]


# --- MuJoCo's options ---------------------------------------------------------------------------------

TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
ROBOT = (
    """<robot name="r"><link name="base"><visual><geometry><mesh filename="{}"/></geometry></visual></link>{}</robot>"""
)
OURS = '<mujoco><compiler strippath="false"/></mujoco>'


def convert_robot(folder: Path, mesh: str, options: str, target: str = "out.urdf") -> tuple[exoskel.Report, Any]:
    (folder / "meshes").mkdir()
    for place in ("a.obj", "meshes/a.obj"):
        (folder / place).write_text(TETRAHEDRON)
    source, out = folder / "in.urdf", folder / target
    out.parent.mkdir(exist_ok=True)
    source.write_text(ROBOT.format(mesh, options))
    report = exoskel.convert(source, out)
    assert report.certificate.passed
    return report, [
        [(inner.tag, dict(inner.attrib)) for inner in one] for one in etree.parse(out).getroot().iter("mujoco")
    ]


def test_mujoco_keeps_the_folders_of_mesh_files(tmp_path: Path) -> None:
    _, options = convert_robot(tmp_path, "meshes/a.obj", "")
    assert options == [[("compiler", {"strippath": "false"})]]
    assert exoskel.load(tmp_path / "out.urdf").diagnostics == exoskel.load(tmp_path / "in.urdf").diagnostics
    again = exoskel.convert(tmp_path / "out.urdf", to="urdf")
    assert again.data.count(b"<mujoco>") == 1
    assert {one.fate for one in again.items if "mujoco" in one.path} == {Fate.KEPT}
    for to in ("sdf", "mjcf"):
        other = [one for one in exoskel.convert(tmp_path / "out.urdf", to=to).items if "mujoco" in one.path]
        assert other and not any(one.loss for one in other)


def test_mesh_files_without_folders_need_no_options(tmp_path: Path) -> None:
    assert convert_robot(tmp_path, "a.obj", "")[1] == []


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (OURS, {"strippath": "false"}),
        ("<mujoco/>", {"strippath": "false"}),
        ('<mujoco><compiler discardvisual="false"/></mujoco>', {"strippath": "false", "discardvisual": "false"}),
        ('<mujoco><compiler strippath="true"/></mujoco>', {"strippath": "true"}),
        ('<mujoco><compiler meshdir="meshes"/></mujoco>', {"meshdir": "../meshes"}),
    ],
)
def test_options_for_mujoco_are_neither_lost_nor_doubled(
    tmp_path: Path, options: str, expected: dict[str, str]
) -> None:
    report, found = convert_robot(tmp_path, "meshes/a.obj", options, "deep/out.urdf")
    assert found == [[("compiler", expected)]]
    assert {one.fate for one in report.items if "mujoco" in one.path} == {Fate.KEPT}


def test_other_options_for_mujoco_are_kept_beside_ours(tmp_path: Path) -> None:
    options = '<mujoco><option timestep="0.005"/></mujoco>'
    report, found = convert_robot(tmp_path, "meshes/a.obj", options)
    assert found == [[("option", {"timestep": "0.005"}), ("compiler", {"strippath": "false"})]]
    assert not [one for one in report.losses if "mujoco" in one.path]


def test_only_one_element_has_options_for_mujoco(tmp_path: Path) -> None:
    options = '<mujoco><option timestep="0.005"/></mujoco>'
    report, found = convert_robot(tmp_path, "meshes/a.obj", 2 * options)
    assert len(found) == 1
    assert [one.path for one in report.losses if one.path.endswith("mujoco[2]")]
