"""Writing glTF: nodes, poses, meshes, colours, and reported losses."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from math import inf
from pathlib import Path

import numpy as np
import pytest
import trimesh

import exoskel
from exoskel import Box, Cylinder, Kinematics, Marker, Mesh, Plane, Pose, Ray, Scene, Shape, SoftBody, Sphere, World
from exoskel.diagnostics import ExoskelError
from exoskel.formats.gltf.write import Shown, write
from exoskel.scene.pose import AxisAngle, Vector, pose_matrices
from exoskel.source.output_context import OutputContext
from exoskel.source.surface import Surfaces
from tests.gltf.reader import Glb
from tests.support.edits import unchecked_values
from tests.support.geometry import TETRA
from tests.support.scenes import all_files, name_of


def written(scene: Scene | World, shown: Shown = "visual", reach: float = 10.0) -> tuple[Glb, list[str]]:
    output = OutputContext()
    whole = scene if isinstance(scene, Scene) else Scene(worlds=[scene])
    glb = Glb(write(whole, output, shown=shown, reach=reach))
    return glb, [loss.reason for loss in output.losses]


def codes(reasons: list[str]) -> list[str]:
    return sorted(re.findall(r"\((GL\d{3})\)$", "\n".join(reasons), re.MULTILINE))


def world_of(*shapes: Shape | exoskel.scene.shape.Geometry, gravity: Vector = (0.0, -9.81, 0.0)) -> World:
    world = World(gravity=gravity)
    world.add_model("thing").add_body("body", shapes=shapes)
    return world


# --- all scenes ---------------------------------------------------------------------------------------


def shown_surfaces(world: World) -> list[np.ndarray]:
    """The vertices of the visible shapes in world coordinates, from the scene's geometry."""
    surfaces, found = Surfaces(), []
    for body, place in zip(world.bodies(), Kinematics(world.models).poses(), strict=True):
        shapes = list(body.visuals or ([] if body.soft and body.soft.geometry else body.collisions))
        if body.soft is not None and body.soft.geometry is not None:
            shapes.append(Shape(geometry=body.soft.geometry, pose=body.soft.pose))
        for shape, own in zip(shapes, pose_matrices([shape.pose for shape in shapes]), strict=True):
            surface = surfaces.of(shape.geometry)
            if surface is not None:
                at = place @ own
                found.append(surface.vertices @ at[:3, :3].T + at[:3, 3])
    return found


@pytest.mark.parametrize("file", all_files(), ids=name_of)
def test_bodies_have_their_initial_poses(file: Path) -> None:
    scene = exoskel.load(file)
    glb, _ = written(scene)
    assert len(glb.document.get("scenes", [])) == len(scene.worlds)
    for number, world in enumerate(scene.worlds):
        assert [glb.nodes[m]["name"] for m in glb.models(number)] == [model.name for model in world.models]
        assert [glb.nodes[b]["name"] for b in glb.bodies(number)] == [body.name for body in world.bodies()]
        expected = Kinematics(world.models).poses()
        np.testing.assert_allclose(glb.body_poses(number), expected, rtol=0, atol=1e-9)
        masses = [glb.nodes[b]["extras"]["mass"] for b in glb.bodies(number)]
        assert masses == pytest.approx([body.mass for body in world.bodies()], rel=1e-12)  # without noise of sums


@pytest.mark.parametrize("file", all_files(), ids=name_of)
def test_trimesh_reads_the_same_shapes_and_poses(file: Path) -> None:
    scene = exoskel.load(file)
    for world in scene.worlds:
        output = OutputContext()
        data = write(Scene(worlds=[world]), output)
        expected = shown_surfaces(world)
        if not expected:
            continue
        seen = trimesh.load_scene(io.BytesIO(data), file_type="glb", process=False)
        assert len(seen.graph.nodes_geometry) == len(expected)
        points = np.concatenate(expected) @ Glb(data).upright()[:3, :3].T
        size = max(1.0, float(np.abs(points).max()))
        np.testing.assert_allclose(seen.bounds, [points.min(axis=0), points.max(axis=0)], rtol=0, atol=1e-6 * size)


# --- the tree -----------------------------------------------------------------------------------------


def test_nodes_form_a_tree_of_models_bodies_and_shapes() -> None:
    world = World(name="lab")
    arm = world.add_model("arm")
    upper = arm.add_body("upper", shapes=[Box((0.1, 0.1, 1.0)), Sphere(0.1)], joint="revolute", axes=((0, 1, 0),))
    arm.add_body("lower", shapes=[Shape(geometry=Box((0.1, 0.1, 0.5)), name="bone")], parent=upper, joint="weld")
    world.add_model("floor", static=True).add_body("ground", shapes=[Plane((0, 0, 1))], joint="weld")
    glb, _ = written(world)
    shape = [[[glb.nodes[s]["name"] for s in glb.children(b)] for b in glb.children(m)] for m in glb.models()]
    assert shape == [[["box", "sphere"], ["bone"]], [["plane"]]]
    assert glb.nodes[glb.root()]["name"] == "lab"
    assert glb.document["scene"] == 0
    assert len(glb.nodes) == 1 + 2 + 3 + 4
    assert glb.nodes[glb.models()[1]]["extras"] == {"static": True}


def test_an_empty_scene_is_written() -> None:
    glb, _ = written(Scene())
    assert set(glb.document) == {"asset"}
    assert not glb.binary
    empty, _ = written(World())
    assert not empty.models()


def test_each_world_is_a_scene() -> None:
    glb, _ = written(Scene(worlds=[world_of(Box((1, 1, 1))), world_of(Sphere(1.0))]))
    assert [glb.nodes[glb.shapes(i)[0]]["name"] for i in range(2)] == ["box", "sphere"]


@pytest.mark.parametrize("up", [(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)])
def test_the_up_axis_becomes_y(up: tuple[int, int, int]) -> None:
    x, y, z = (-9.81 * part for part in up)
    glb, _ = written(world_of(Box((1, 1, 1)), gravity=(x, y, z)))
    turn = glb.upright()[:3, :3]
    np.testing.assert_allclose(turn @ up, [0, 1, 0], rtol=0, atol=1e-12)
    assert np.linalg.det(turn) == pytest.approx(1.0)


def test_without_gravity_z_is_up() -> None:
    glb, _ = written(world_of(Box((1, 1, 1)), gravity=(0.0, 0.0, 0.0)))
    np.testing.assert_allclose(glb.upright()[:3, :3] @ [0, 0, 1], [0, 1, 0], rtol=0, atol=1e-12)


def test_unsupported_values_are_stored_as_extras() -> None:
    world = World(gravity=(0.0, 0.0, -9.81), time_step=0.002)
    model = world.add_model("arm")
    upper = model.add_body(
        "upper",
        mass=2.0,
        com=(0.1, 0.2, 0.3),
        moment=(1.0, 2.0, 2.5, 0.1, 0.2, 0.3),
        joint="ball",
        joint_name="shoulder",
    )
    lower = model.add_body("lower", parent=upper, joint="weld", joint_name="elbow", moment=(1, 1, 1, 0, 0, 0))
    lower.gravity = False
    model.add_joint("closure", "ball", child=lower)
    glb, losses = written(world)
    first, second = (glb.nodes[b]["extras"] for b in glb.bodies())
    assert first == {
        "mass": 2.0,
        "com": [0.1, 0.2, 0.3],
        "inertia": [1.0, 2.0, 2.5, 0.1, 0.2, 0.3],
        "joint": {"name": "shoulder", "type": "ball", "parent": None},
    }
    assert second["joint"] == {"name": "elbow", "type": "weld", "parent": "upper"}
    assert second["gravity"] is False
    loop = {"name": "closure", "type": "ball", "parent": None, "child": "lower"}
    assert glb.nodes[glb.models()[0]]["extras"] == {"loops": [loop]}
    assert glb.document["scenes"][0]["extras"] == {"gravity": [0.0, 0.0, -9.81], "time_step": 0.002}
    assert codes(losses) == ["GL301", "GL301"]


def test_markers_are_nodes_without_a_mesh() -> None:
    world = world_of(Box((1, 1, 1)))
    world.models[0].bodies[0].markers.append(Marker(name="tip", offset=(1.0, 2.0, 3.0)))
    glb, _ = written(world)
    assert glb.nodes[-1] == {"name": "tip", "translation": [1.0, 2.0, 3.0], "extras": {"marker": True}}
    assert len(glb.nodes) - 1 in glb.children(glb.bodies()[0])


# --- meshes -------------------------------------------------------------------------------------------


def test_boxes_of_all_sizes_share_one_mesh() -> None:
    world = World()
    for i in range(1, 51):
        world.add_model(f"box {i}").add_body("box", shapes=[Box((0.1 * i, 0.2, 0.3))])
    glb, _ = written(world)
    assert len(glb.document["meshes"]) == 1
    assert len(glb.document["accessors"]) == 3
    assert [glb.nodes[s]["scale"] for s in glb.shapes()] == [[0.1 * i, 0.2, 0.3] for i in range(1, 51)]


def test_meshes_of_different_colours_share_their_buffers() -> None:
    red, blue = (1.0, 0.0, 0.0, 1.0), (0.0, 0.0, 1.0, 1.0)
    boxes = [Shape(geometry=Box((1, 1, 1)), color=color) for color in (red, blue, red)]
    glb, _ = written(world_of(*boxes))
    assert len(glb.document["meshes"]) == len(glb.document["materials"]) == 2
    assert len(glb.document["accessors"]) == 3
    assert [glb.material(s)["pbrMetallicRoughness"]["baseColorFactor"] for s in glb.shapes()] == [
        [1, 0, 0, 1],
        [0, 0, 1, 1],
        [1, 0, 0, 1],
    ]


def test_a_shape_has_its_pose() -> None:
    pose = Pose((1.0, 2.0, 3.0), AxisAngle((0.0, 0.0, 1.0), np.pi / 2))
    world = World(gravity=(0, -9.81, 0))
    world.add_model("m").add_body("b", pose=Pose((10, 0, 0)), shapes=[Shape(geometry=Box((2, 4, 6)), pose=pose)])
    points = written(world)[0].points()
    np.testing.assert_allclose(points.min(axis=0), [11 - 2, 2 - 1, 0], rtol=0, atol=1e-6)
    np.testing.assert_allclose(points.max(axis=0), [11 + 2, 2 + 1, 6], rtol=0, atol=1e-6)


def test_facets_lie_within_a_hundredth_of_the_radius() -> None:
    glb, losses = written(world_of(Sphere(2.0)))
    centres = glb.points().reshape(-1, 3, 3).mean(axis=1)
    assert np.linalg.norm(centres, axis=1).min() > 0.99 * 2.0
    assert np.linalg.norm(glb.points(), axis=1).max() == pytest.approx(2.0, rel=1e-6)
    assert codes(losses) == ["GL201"]


def test_a_plane_has_the_requested_size() -> None:
    glb, losses = written(world_of(Plane((0.0, 1.0, 0.0), 2.0)), reach=3.0)
    assert np.ptp(glb.points(), axis=0).tolist() == pytest.approx([6.0, 0.0, 6.0])
    assert glb.points()[:, 1].tolist() == pytest.approx([2.0] * 6)
    assert losses == ["the plane is written as a square of 6 m (GL202)"]


def test_indices_of_large_meshes_have_four_bytes() -> None:
    n = 300
    x, y = np.meshgrid(np.arange(n, dtype=float), np.arange(n, dtype=float), indexing="ij")
    vertices = np.stack([x.ravel(), y.ravel(), np.zeros(n * n)], axis=1)
    first = (np.arange(n - 1)[:, None] * n + np.arange(n - 1)).ravel()
    mesh = exoskel.TriMesh(vertices, np.stack([first, first + n, first + n + 1], axis=1))
    glb, _ = written(world_of(mesh))
    (primitive,) = glb.document["meshes"][0]["primitives"]
    assert glb.document["accessors"][primitive["indices"]]["componentType"] == 5125
    np.testing.assert_array_equal(glb.points().reshape(-1, 3, 3)[:, 0], vertices[first])


def test_accessor_bounds_match_the_data() -> None:
    glb, _ = written(world_of(Cylinder(0.3, 0.7), Sphere(0.1)))
    for number, accessor in enumerate(glb.document["accessors"]):
        if "min" in accessor:
            values = glb.numbers(number)
            assert accessor["min"] == values.min(axis=0).tolist()
            assert accessor["max"] == values.max(axis=0).tolist()


# --- colours ------------------------------------------------------------------------------------------


def test_colours_are_converted_to_linear_light() -> None:
    glb, _ = written(world_of(Shape(geometry=Box((1, 1, 1)), color=(0.5, 0.02, 1.0, 0.25))))
    material = glb.material(glb.shapes()[0])
    expected = [((0.5 + 0.055) / 1.055) ** 2.4, 0.02 / 12.92, 1.0, 0.25]
    assert material["pbrMetallicRoughness"]["baseColorFactor"] == pytest.approx(expected, rel=1e-12)
    assert material["alphaMode"] == "BLEND"


def test_only_transparent_colours_are_blended() -> None:
    glb, _ = written(world_of(Box((1, 1, 1))))
    assert "alphaMode" not in glb.material(glb.shapes()[0])


def test_a_colour_out_of_range_is_clamped_and_reported() -> None:
    glb, losses = written(world_of(Shape(geometry=Box((1, 1, 1)), color=(2.0, -1.0, 0.0, 1.0))))
    assert glb.material(glb.shapes()[0])["pbrMetallicRoughness"]["baseColorFactor"] == [1, 0, 0, 1]
    assert codes(losses) == ["GL205"]


def painted(folder: Path) -> Mesh:
    file = folder / "painted.ply"
    paint = "".join(f"property uchar {c}\n" for c in ("red", "green", "blue", "alpha"))
    axes = "".join(f"property float {c}\n" for c in "xyz")
    file.write_text(
        f"ply\nformat ascii 1.0\nelement vertex 3\n{axes}{paint}"
        "element face 1\nproperty list uchar int vertex_indices\nend_header\n"
        "0 0 0 255 0 0 255\n1 0 0 0 127 0 255\n0 1 0 0 0 255 51\n3 0 1 2\n"
    )
    return Mesh("painted.ply", path=str(file), scale=(2.0, 2.0, 2.0))


def test_a_mesh_is_embedded_with_the_colours_of_its_file(tmp_path: Path) -> None:
    glb, losses = written(world_of(painted(tmp_path)))
    (shape,) = glb.shapes()
    colors = glb.numbers(glb.primitive(shape)["attributes"]["COLOR_0"])
    green = ((127 / 255 + 0.055) / 1.055) ** 2.4
    expected = [[1, 0, 0, 1], [0, green, 0, 1], [0, 0, 1, 0.2]]
    np.testing.assert_allclose(colors[glb.numbers(glb.primitive(shape)["indices"])], expected, rtol=0, atol=1e-5)
    material = glb.material(shape)
    assert material["pbrMetallicRoughness"]["baseColorFactor"] == [1, 1, 1, 1]
    assert material["alphaMode"] == "BLEND"
    assert material["doubleSided"]
    np.testing.assert_allclose(glb.points(), [[0, 0, 0], [2, 0, 0], [0, 2, 0]], rtol=0, atol=1e-7)
    assert not losses


def test_the_colour_of_the_shape_overrides_that_of_the_file(tmp_path: Path) -> None:
    glb, _ = written(world_of(Shape(geometry=painted(tmp_path), color=(1.0, 0.0, 0.0, 1.0))))
    (shape,) = glb.shapes()
    assert "COLOR_0" not in glb.primitive(shape)["attributes"]
    assert glb.material(shape)["pbrMetallicRoughness"]["baseColorFactor"] == [1, 0, 0, 1]


def test_a_written_glb_can_be_used_as_a_mesh(tmp_path: Path) -> None:
    color = (0.5, 0.25, 0.75, 1.0)
    file = tmp_path / "box.glb"
    file.write_bytes(write(Scene(worlds=[world_of(Shape(geometry=Box((1, 2, 3)), color=color))]), OutputContext()))
    surface = Surfaces().of(Mesh("box.glb", path=str(file)))
    assert surface is not None and surface.colors is not None
    np.testing.assert_allclose(surface.colors, np.tile(color, (24, 1)), rtol=0, atol=0.01)
    np.testing.assert_allclose(np.ptp(surface.vertices, axis=0), [1, 2, 3], rtol=0, atol=1e-6)


# --- visible shapes -----------------------------------------------------------------------------------


def test_collision_shapes_are_shown_if_a_body_has_no_visual_shapes() -> None:
    world = world_of(Box((1, 1, 1)))
    body = world.models[0].bodies[0]
    body.visuals.clear()
    glb, losses = written(world)
    assert len(glb.shapes()) == 1
    assert not losses


@pytest.mark.parametrize(
    ("shown", "names", "losses"),
    [
        ("visual", ["box"], ["GL304"]),
        ("collision", ["sphere"], ["GL201", "GL304"]),
        ("both", ["box", "sphere"], ["GL201"]),
    ],
)
def test_the_requested_shapes_are_written(shown: Shown, names: list[str], losses: list[str]) -> None:
    world = world_of(Box((1, 1, 1)))
    world.models[0].bodies[0].collisions[:] = [Shape(geometry=Sphere(0.5))]
    glb, reasons = written(world, shown=shown)
    assert [glb.nodes[s]["name"] for s in glb.shapes()] == names
    assert codes(reasons) == losses


def test_a_soft_skin_is_shown() -> None:
    world = world_of()
    world.models[0].bodies[0].soft = SoftBody(total_mass=1.0, geometry=Box((1.0, 2.0, 3.0)))
    glb, losses = written(world)
    assert np.ptp(glb.points(), axis=0).tolist() == pytest.approx([1.0, 2.0, 3.0])
    assert codes(losses) == ["GL204"]


def test_shapes_without_a_surface_are_reported_and_not_written() -> None:
    glb, losses = written(world_of(Ray(1.0), Mesh("gone.obj"), Box((1, 1, 1))))
    assert [glb.nodes[s]["name"] for s in glb.shapes()] == ["box"]
    assert losses == [
        "the ray is not written: a ray has no surface (GL305)",
        "the mesh is not written: the file 'gone.obj' was not found (GL305)",
    ]


# --- losses -------------------------------------------------------------------------------------------


def test_a_floating_box_has_no_losses() -> None:
    assert not written(world_of(Box((1, 1, 1))))[1]


def test_every_loss_has_its_code() -> None:
    world = world_of(Box((1, 1, 1)))
    world.collision_exempt_groups = [("a", "b")]
    world.erp = 0.2
    body = world.models[0].bodies[0]
    body.state = exoskel.BodyState(force=(1.0, 0.0, 0.0), linear_velocity=(1.0, 0.0, 0.0))
    joint = world.models[0].joints[0]
    joint.velocities = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0)
    joint.dofs[0].damping = 1.0
    assert codes(written(world)[1]) == ["GL301", "GL302", "GL302", "GL303", "GL306", "GL306"]


def test_mass_properties_that_overflow_are_reported_and_not_written() -> None:
    inertia = f"""<inertia {" ".join(f'{name}="1.7e308"' for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))}/>"""
    link = f'<link name="a"><inertial><origin rpy="1 2 3"/><mass value="1"/>{inertia}</inertial></link>'
    scene = exoskel.load(f'<robot name="r">{link}</robot>')
    glb, losses = written(scene.world)
    assert "GL307" in codes(losses)
    assert "mass" not in glb.nodes[glb.bodies()[0]]["extras"]


# --- errors -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "build",
    [
        lambda: world_of(Box((inf, 1.0, 1.0))),
        lambda: world_of(Shape(geometry=Box((1, 1, 1)), pose=Pose((inf, 0.0, 0.0)))),
        lambda: world_of(Box((1, 1, 1)), gravity=(0.0, inf, 0.0)),
    ],
    ids=["size", "pose", "gravity"],
)
def test_a_value_that_is_not_finite_is_rejected_by_name(build: Callable[[], World]) -> None:
    with unchecked_values():
        world = build()
    with pytest.raises(ExoskelError, match=r"is .*inf.*: expected 3 "):
        written(world)


def test_vertices_out_of_range_are_rejected() -> None:
    mesh = exoskel.TriMesh(np.array([[0, 0, 0], [1e39, 0, 0], [0, 1e39, 0]]), np.array([[0, 1, 2]]))
    with pytest.raises(ExoskelError, match="GL102"):
        written(world_of(mesh))


def test_a_mesh_with_degenerate_triangles_has_normals(tmp_path: Path) -> None:
    file = tmp_path / "sliver.obj"
    file.write_text(TETRA + "f 1 1 2\nv 9 9 9\nv 9 9 9\nv 9 9 9\nf 5 6 7\n")
    glb, _ = written(world_of(Mesh("sliver.obj", path=str(file))))
    (shape,) = glb.shapes()
    normals = glb.numbers(glb.primitive(shape)["attributes"]["NORMAL"])
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0, rtol=0, atol=1e-6)
