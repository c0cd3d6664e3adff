"""Small documents that ask MuJoCo or the reader for very much time, memory or depth."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import exoskel
from exoskel.formats.interface import ReadOptions
from exoskel.formats.load import open_document
from exoskel.formats.mjcf import collision_filter, mujoco_import
from exoskel.formats.mjcf.read import import_document
from exoskel.formats.mjcf.reader import compiler, preprocessor
from exoskel.scene.shape import TriMesh
from exoskel.source.limits import Limits
from tests.mjcf.support import imported

WORLD = "<mujoco><worldbody>{}</worldbody></mujoco>"
FREE = '<body><freejoint/><geom size="1"/></body>'
BOMBS = {
    "replicas of a free body": WORLD.format(f'<replicate count="20000">{FREE}</replicate>'),
    "nested replicas": WORLD.format('<replicate count="150">' * 2 + FREE + "</replicate>" * 2),
    "many bodies": WORLD.format(('<body><joint/><geom size="1"/>' * 200 + "</body>" * 200) * 120),
    "a generated mesh": '<mujoco><asset><mesh name="m" builtin="supertorus" params="900 .5 1 1"/></asset>'
    '<worldbody><geom type="mesh" mesh="m"/></worldbody></mujoco>',
}


def _keys(text: str, **limits: float) -> list[str]:
    scene = exoskel.load(text.encode(), limits=Limits(**limits))  # type: ignore[arg-type]
    return [found.key for found in scene.diagnostics]


@pytest.mark.parametrize("name", BOMBS)
def test_a_document_that_takes_too_long_to_compile_is_reported(name: str) -> None:
    assert _keys(BOMBS[name], seconds=1.0) == ["MJ106.limit"]


def test_a_document_that_needs_too_much_memory_to_compile_is_reported() -> None:
    keyframes = f"<keyframe>{'<key/>' * 30_000}</keyframe></mujoco>"
    text = WORLD.format(FREE * 700).removesuffix("</mujoco>") + keyframes
    assert _keys(text) == ["MJ106.memory"]


def test_the_message_names_the_limit_and_how_to_raise_it() -> None:
    (found,) = exoskel.load(BOMBS["nested replicas"].encode(), limits=Limits(seconds=1.0)).diagnostics
    assert found.message == "MuJoCo cannot compile the document: it needs more than 1 s"
    assert "--max-seconds" in found.hint


def test_a_child_process_compiles_to_the_same_scene(monkeypatch: pytest.MonkeyPatch) -> None:
    text = WORLD.format(
        '<body name="a"><freejoint/><inertial mass="2" pos="0 0 0" fullinertia="3 2 2 .1 .1 .1"/>'
        '<geom name="g" size="1" rgba="1 0 0 1"/><body pos="1 2 3"><joint axis="0 1 0"/><geom size=".1"/></body></body>'
    )
    here = exoskel.load(text.encode())
    monkeypatch.setattr(compiler, "MAX_COST_IN_PROCESS", 0.0)
    assert exoskel.diff(here, exoskel.load(text.encode())) == []
    broken = import_document(open_document(WORLD.format("<body><geom/></body>").encode()), ReadOptions())
    assert [found.key for found in broken.scene.diagnostics] == ["MJ106"]


def test_included_files_cannot_be_nested_deeper_than_the_limit(tmp_path: Path) -> None:
    for number in range(12):
        inner = f'<include file="i{number + 1}.xml"/>' if number < 11 else ""
        bodies = '<body><joint/><geom size="1"/>' * 190 + inner + "</body>" * 190
        (tmp_path / f"i{number}.xml").write_text(f"<mujoco>{bodies}</mujoco>")
    main = tmp_path / "main.xml"
    main.write_text(WORLD.format('<include file="i0.xml"/>'))
    (found,) = exoskel.load(main).diagnostics
    assert found.key == "MJ101.limit" and found.message == "included files nest elements deeper than the limit of 200"


def test_a_flat_height_field_has_two_triangles_whatever_its_resolution() -> None:
    asset = '<mujoco><asset><hfield name="h" nrow="2000" ncol="2000" size="1 2 1 1"/></asset>'
    scene = exoskel.load((asset + WORLD.format('<geom type="hfield" hfield="h"/>')[8:]).encode())
    (shape,) = scene.world.models[0].bodies[0].collisions
    assert isinstance(shape.geometry, TriMesh)
    assert len(shape.geometry.triangles) == 2
    assert np.abs(np.asarray(shape.geometry.vertices)).max(axis=0).tolist() == [1.0, 2.0, 0.0]


def test_many_contact_bits_of_one_body_are_read_without_comparing_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0
    share, span = collision_filter._share_model, collision_filter._span_models

    def count(function: object) -> object:
        def counted(*arguments: object) -> object:
            nonlocal compared
            compared += 1
            return function(*arguments)  # type: ignore[operator]

        return counted

    monkeypatch.setattr(collision_filter, "_share_model", count(share))
    monkeypatch.setattr(collision_filter, "_span_models", count(span))
    geoms = "".join(f'<geom size="1" contype="{number + 1}" conaffinity="0"/>' for number in range(3000))
    assert imported(WORLD.format(f"<body><freejoint/>{geoms}</body>")).scene.diagnostics == []
    assert imported(WORLD.format(geoms)).scene.diagnostics == []
    assert compared == 0


def test_more_separated_groups_than_a_scene_can_name_are_reported() -> None:
    bodies = "".join(
        f'<body name="b{number:03}"><freejoint/><geom size="1" contype="{number + 1}" conaffinity="0"/></body>'
        for number in range(60)
    )
    found = imported(WORLD.format(bodies))
    assert [one.key for one in found.scene.diagnostics] == ["MJ308"]
    assert found.scene.world.collision_exempt_groups == []


def test_a_chain_that_is_too_long_for_mujoco_cannot_be_written(tmp_path: Path) -> None:
    links = "".join(f'<link name="b{number}"/>' for number in range(601))
    joints = "".join(
        f'<joint name="j{n}" type="continuous"><parent link="b{n}"/><child link="b{n + 1}"/></joint>'
        for n in range(600)
    )
    source = tmp_path / "chain.urdf"
    source.write_text(f'<robot name="r">{links}{joints}</robot>')
    with pytest.raises(exoskel.ExoskelError, match="nested deeper than 499 levels"):
        exoskel.convert(source, tmp_path / "chain.xml")
    assert not (tmp_path / "chain.xml").exists()


def test_a_chain_that_mujoco_can_read_is_converted_although_its_file_exceeds_the_depth_limit(tmp_path: Path) -> None:
    links = "".join(f'<link name="b{number}"/>' for number in range(301))
    joints = "".join(
        f'<joint name="j{n}" type="continuous"><parent link="b{n}"/><child link="b{n + 1}"/></joint>'
        for n in range(300)
    )
    source = tmp_path / "chain.urdf"
    source.write_text(f'<robot name="r">{links}{joints}</robot>')
    exoskel.convert(source, tmp_path / "chain.xml")
    assert exoskel.load(tmp_path / "chain.xml", limits=Limits(depth=400)).world.dof_count == 306


LOW_ADDRESS_SPACE = """
import ctypes, resource, sys
from exoskel.formats.mjcf.reader.compiler import Workload, compile_document

HEAP = "<mujoco><asset>{}</asset><worldbody><geom size='1'/></worldbody></mujoco>"
corners = ("1.00000000000000001 " + "0.00000000000000000 " * 3) * 3 + "0.00000000000000000 " * 3
mesh = "<mesh name='m{}' vertex='" + corners * 3400 + "'/>"
text = HEAP.format("".join(mesh.format(number) for number in range(20)))
compile_document(HEAP.format(""), {}, Workload(1.0), 60.0)  # its thread creates the heap that later threads use
library = ctypes.CDLL(None)
library.malloc.restype = ctypes.c_void_p
library.free(ctypes.c_void_p(library.malloc(ctypes.c_size_t(31 * 2**20))))  # from now on heaps serve large requests
size = 4096 * int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (size + 100 * 2**20, resource.RLIM_INFINITY))
print(len(compile_document(text, {}, Workload(1.0), 60.0).parts["meshes"]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space as Linux does")
def test_a_large_document_compiles_when_the_address_space_is_nearly_used_up() -> None:
    # Without a fallback, MuJoCo reports "unknown error in attribute 'vertex'" in any thread but the first.
    done = subprocess.run([sys.executable, "-c", LOW_ADDRESS_SPACE], check=False, capture_output=True, timeout=300)
    assert done.stdout.split() == [b"20"], done.stderr.decode()[-2000:]


def test_a_child_process_compiles_in_its_main_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mujoco_import, "run_in_thread", lambda _work: pytest.fail("in a thread"))
    answer = compiler._answer(compiler._CompileRequest(WORLD.format(FREE), {}, 60))
    assert len(answer.outputs) == 1 and len(answer.models[0]) > 1000


def test_an_attribute_that_mujoco_cannot_read_for_lack_of_memory_is_reported_as_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_arguments: object, **_options: object) -> None:
        raise compiler.CompilerError("XML Error: unknown error in attribute 'vertex'\nElement 'mesh', line 2")

    monkeypatch.setattr(compiler, "_compile", fail)
    answer = compiler._answer(compiler._CompileRequest(WORLD.format(FREE), {}, 60))
    assert answer.lacks_memory and not answer.outputs


def _shapes_of_one_mesh(folder: Path, count: int, kind: str) -> Path:
    """A document with many shapes of one box in a COLLADA file: visual, colliding, or static and hollow."""
    import trimesh

    box = trimesh.creation.box()
    pieces = [box, box.copy().apply_translation((3.0, 0.0, 0.0))] if kind == "static" else [box]
    (folder / "part.dae").write_bytes(trimesh.util.concatenate(pieces).export(file_type="dae"))
    tag = "visual" if kind == "visual" else "collision"
    shape = (
        f"<{tag} name='{{0}}'><pose>{{0}} 0 0 0 0 0</pose><geometry><mesh><uri>part.dae</uri></mesh></geometry></{tag}>"
    )
    shapes = "".join(shape.format(number) for number in range(count))
    static = "<static>true</static>" if kind == "static" else ""
    source = folder / "many.sdf"
    source.write_text(f"<sdf version='1.9'><model name='m'>{static}<link name='l'>{shapes}</link></model></sdf>")
    return source


@pytest.mark.parametrize("kind", ["visual", "collision", "static"])
def test_a_mesh_that_many_shapes_share_is_written_once(tmp_path: Path, kind: str) -> None:
    numbers = []
    for count in (1, 5):
        report = exoskel.convert(_shapes_of_one_mesh(tmp_path, count, kind), to="mjcf")
        assert report.certificate.passed
        numbers.append(report.data.count(b"<mesh "))
    assert numbers[0] == numbers[1] >= 1


def test_a_mesh_that_many_shapes_share_is_compiled_once_for_a_run(tmp_path: Path) -> None:
    scene = exoskel.load(_shapes_of_one_mesh(tmp_path, 5, "collision"))
    assert exoskel.Simulation(scene).engine.model.nmesh == 1  # type: ignore[attr-defined]


def test_a_file_that_is_included_very_often_is_searched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    searched = []
    find = preprocessor.find_file
    monkeypatch.setattr(preprocessor, "find_file", lambda *given: searched.append(given[0]) or find(*given))
    (tmp_path / "part.xml").write_text(WORLD.format('<geom size="1"/>' * 100))
    (tmp_path / "main.xml").write_text("<mujoco>" + '<include file="part.xml"/>' * 50 + "</mujoco>")
    scene = exoskel.load(tmp_path / "main.xml")
    assert [found.key for found in scene.diagnostics] == ["MJ104.again"] * 49
    assert searched == ["part.xml"]
