"""Large documents are compiled in parts: what is read must be what the whole document says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exoskel
from exoskel import samples
from exoskel.diagnostics import Collector
from exoskel.formats.interface import ReadOptions
from exoskel.formats.load import open_document
from exoskel.formats.mjcf.codes import CATALOGUE
from exoskel.formats.mjcf.reader import compiled, compiler, document_parts
from exoskel.formats.mjcf.reader.combined_model import CombinedModel, compile_in_parts
from exoskel.formats.mjcf.reader.compiler import compile_document
from exoskel.formats.mjcf.reader.preprocessor import PreparedDocument, prepare
from tests.mjcf.support import imported

SAMPLES = ("skel/domino", "skel/joint_zoo", "skel/actuators", "xode/ragdoll")
ARRAYS = """
jnt_type jnt_qposadr jnt_dofadr jnt_bodyid jnt_pos jnt_axis jnt_stiffness jnt_range jnt_limited jnt_actfrcrange
dof_armature dof_damping dof_frictionloss qpos0 qpos_spring body_jntadr body_jntnum body_weldid body_mass body_pos
body_ipos body_inertia body_parentid actuator_trnid actuator_trntype actuator_gear actuator_gainprm actuator_biasprm
actuator_forcerange eq_type eq_objtype eq_obj1id eq_obj2id eq_data tendon_adr tendon_num tendon_frictionloss wrap_objid
wrap_prm key_time key_qpos key_qvel key_ctrl exclude_signature geom_bodyid geom_size geom_matid geom_dataid geom_pos
site_bodyid site_pos cam_pos cam_bodyid cam_targetbodyid light_pos light_bodyid light_targetbodyid body_geomadr
body_geomnum body_mocapid mat_rgba mesh_vert mesh_pos nq nv nu neq ntendon nkey njnt nbody ngeom nsite ncam nlight nmesh
"""
TETRAHEDRON = "0 0 0 1 0 0 0 1 0 0 0 1"
MIXED = f"""
<mujoco>
  <asset>
    <material name="red" rgba="1 0 0 1"/><material name="blue" rgba="0 0 1 1"/>
    <mesh name="corner" vertex="{TETRAHEDRON}"/>
  </asset>
  <worldbody>
    <body name="a"><joint name="a"/><geom size="1" material="blue"/><camera mode="targetbody" target="g"/></body>
    <geom size="2"/>
    <body name="b" mocap="true"><geom size="3"/><site/><body><joint/><geom size="4" material="red"/></body></body>
    <frame pos="1 2 3"><geom size="5"/><body name="c"><joint/><geom size="6"/><light/></body></frame>
    <body name="d"><freejoint/><geom type="mesh" mesh="corner"/><camera/></body>
    <frame pos="3 2 1"><body name="e"><joint/><geom size="7"/><geom size="8" material="blue"/></body></frame>
    <site name="last"/>
    <body name="f"><joint type="ball"/><geom size="9"/><site/></body>
    <body name="g"><joint/><geom size="0.1"/><light/></body>
    <body name="h" mocap="true"/>
    <light mode="targetbody" target="f"/>
    <body name="i"><joint/><geom size="0.2" material="red"/></body>
    <body name="j"><joint/><geom size="0.3"/></body>
  </worldbody>
  <equality><connect body1="d" body2="i" anchor="1 2 3"/><connect body1="e" body2="j" anchor="3 2 1"/></equality>
</mujoco>
"""


@pytest.fixture
def always_split(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_parts, "is_large", lambda work: True)
    monkeypatch.setattr(document_parts, "_MOST_SHARE", np.inf)
    monkeypatch.setattr(document_parts, "_MAX_BODIES", 2)


def prepared(text: str) -> PreparedDocument:
    opened, options = open_document(text.encode()), ReadOptions()
    return prepare(opened, opened.parse(options.limits), options, Collector(CATALOGUE, opened))


def written(sample: str) -> str:
    return exoskel.convert(source(sample), to="mjcf").data.decode()


def source(sample: str) -> Path:
    return next(Path(samples.__file__).parent.glob(f"{sample}.*"))


@pytest.mark.parametrize("sample", SAMPLES)
def test_parts_give_the_same_model_as_the_whole(sample: str, always_split: None) -> None:
    compare_parts(written(sample))


def test_parts_have_shared_materials_and_separate_meshes_targets_and_world_elements(always_split: None) -> None:
    parts = compare_parts(MIXED)
    texts = ["".join(start for start, _ in part.lines) for part in parts.jointless]
    assert ["<mesh" in text for text in texts] == [True, False], (
        "the second one has the tree that is connected to a mesh"
    )
    complete = [part for part in parts.parts if part.is_complete]
    assert len(complete) > 1
    assert not any("<geom size" in start for part in parts.parts if not part.is_complete for start, _ in part.lines)
    places = [
        place
        for part in (*parts.jointless, *complete)
        for place, (start, _) in zip(part.places, part.lines, strict=True)
        if place and start.startswith("<geom size")
    ]
    assert len(places) == len(set(places)) == MIXED.count("<geom size"), "each shape is compiled once"


def test_documents_with_many_materials_have_one_part_without_joints(
    monkeypatch: pytest.MonkeyPatch, always_split: None
) -> None:
    monkeypatch.setattr(document_parts, "_MAX_MATERIALS", 1)
    assert len(compare_parts(MIXED).jointless) == 1


def compare_parts(text: str) -> document_parts.DocumentParts:
    document = prepared(text)
    parts = document_parts.split(document.root, document.work)
    assert parts is not None
    assert len(parts.parts) > 1
    whole = compile_document(document.text, document.assets, document.work, 60.0)
    found = compile_in_parts(parts, document.assets, 60.0)
    for name in ARRAYS.split():
        np.testing.assert_array_equal(getattr(found.model, name), getattr(whole.model, name), err_msg=name)
    for kind, rows in whole.parts.items():
        wanted = sorted((row.number, row.name, row.line) for row in rows)[kind == "bodies" :]
        assert sorted((row.number, row.name, row.line) for row in found.parts[kind])[kind == "bodies" :] == wanted
    assert found.full_inertias.keys() == whole.full_inertias.keys()
    return parts


@pytest.mark.parametrize("sample", ["skel/actuators", "xode/ragdoll"])
def test_conversions_in_parts_have_the_same_certificate(
    sample: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, always_split: None
) -> None:
    path = source(sample)
    seen: list[Any] = []
    original = compiled.compile_in_parts
    monkeypatch.setattr(
        compiled, "compile_in_parts", lambda *given, **more: seen.append(original(*given, **more)) or seen[-1]
    )
    in_parts = exoskel.convert(path, tmp_path / "parts.xml")
    assert isinstance(seen[0].model, CombinedModel)
    monkeypatch.setattr(document_parts, "is_large", lambda work: False)
    whole = exoskel.convert(path, tmp_path / "whole.xml")
    assert in_parts.certificate.checks == whole.certificate.checks
    assert in_parts.items == whole.items
    assert in_parts.data == whole.data


TREE = '<body name="{0}"><joint name="{0}"/><geom size="1"/></body>'
TREES = TREE.format("a") + TREE.format("b") + TREE.format("c")


@pytest.mark.parametrize(
    "document",
    [
        f'<mujoco><compiler settotalmass="3"/><worldbody>{TREES}</worldbody></mujoco>',
        f'<mujoco><worldbody><replicate count="3">{TREE.format("a")}</replicate></worldbody></mujoco>',
        f"<mujoco><worldbody>{TREES}{TREE.format('a')}</worldbody></mujoco>",
        f'<mujoco><worldbody>{TREES}</worldbody><actuator><motor joint="d"/></actuator></mujoco>',
        f'<mujoco><worldbody>{TREES}</worldbody><keyframe><key act="1"/></keyframe></mujoco>',
        f'<mujoco><default><joint springdamper="1 1"/></default><worldbody>{TREES}</worldbody></mujoco>',
    ],
)
def test_documents_whose_trees_depend_on_the_whole_are_not_split(document: str, always_split: None) -> None:
    found = prepared(document)
    assert document_parts.split(found.root, found.work) is None


@pytest.mark.parametrize(
    "relation",
    [
        '<actuator><motor joint="a"/></actuator><equality><joint joint1="a" joint2="c"/></equality>',
        '<equality><connect body1="c" body2="a" anchor="0 0 0"/></equality>',
        '<tendon><fixed name="t"><joint joint="a" coef="1"/><joint joint="c" coef="2"/></fixed></tendon>',
    ],
)
def test_trees_that_something_connects_are_in_one_part(relation: str, always_split: None) -> None:
    found = prepared(f"<mujoco><worldbody>{TREES}</worldbody>{relation}</mujoco>")
    parts = document_parts.split(found.root, found.work)
    assert parts is not None
    texts = ["".join(start for start, _ in part.lines) for part in parts.parts]
    assert [('"a"' in text, '"b"' in text, '"c"' in text) for text in texts] == [
        (True, False, True),
        (False, True, False),
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        '<keyframe><key qpos="1 2 3 4 5"/></keyframe>',
        '<contact><exclude body1="a" body2="d"/></contact>',
        '<equality><joint joint1="a" polycoef="x"/></equality>',
    ],
)
def test_errors_are_those_of_the_whole(wrong: str, monkeypatch: pytest.MonkeyPatch, always_split: None) -> None:
    document = f"<mujoco><worldbody>{TREES}</worldbody>{wrong}</mujoco>"
    in_parts = imported(document).scene.diagnostics
    monkeypatch.setattr(document_parts, "is_large", lambda work: False)
    whole = imported(document).scene.diagnostics
    assert [one.message for one in in_parts] == [one.message for one in whole]
    assert whole


def test_documents_of_a_conversion_are_compiled_in_its_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, always_split: None
) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("a child process")

    out = tmp_path / "out.xml"
    monkeypatch.setattr(compiler, "_compile_in_child", fail)
    exoskel.convert(source("skel/actuators"), out)
    with pytest.raises(AssertionError, match="a child process"):
        exoskel.load(out)


def test_a_copied_document_is_compiled_in_a_child_process_like_the_file_it_comes_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, always_split: None
) -> None:
    (tmp_path / "a.xml").write_text(f"<mujoco><worldbody>{TREES}</worldbody></mujoco>")
    scene = exoskel.load(tmp_path / "a.xml")

    def fail(*_: object) -> None:
        raise AssertionError("a child process")

    monkeypatch.setattr(compiler, "_compile_in_child", fail)
    with pytest.raises(AssertionError, match="a child process"):
        exoskel.convert(scene, tmp_path / "b.xml")


def test_the_processor_time_of_a_conversion_is_limited(monkeypatch: pytest.MonkeyPatch, always_split: None) -> None:
    document = prepared(written("skel/joint_zoo"))
    parts = document_parts.split(document.root, document.work)
    assert parts is not None and len(parts.parts) > 1
    compiled_parts: list[str] = []
    original = compiler._compile
    monkeypatch.setattr(compiler, "allowed_seconds", lambda size, seconds: 1e-9)
    monkeypatch.setattr(
        compiler, "_compile", lambda text, *rest, **more: compiled_parts.append(text) or original(text, *rest, **more)
    )
    with pytest.raises(compiler.CompilerTimeError):
        compiler.compile_parts(parts.jointless, parts.parts, document.assets, 0.0, 1.0, is_own=True)
    assert len(compiled_parts) == 1


def test_constraints_of_joints_are_in_the_parts(always_split: None) -> None:
    bodies = "".join(
        f'<body><joint name="{n}1" type="slide"/><joint name="{n}2"/><geom size="1"/></body>' for n in "abcd"
    )
    relations = "".join(
        f'<joint joint1="{n}1" joint2="{n}2" polycoef="0 0.5 0 0 0"/><joint joint1="{n}2"/>' for n in "abcd"
    )
    compare_parts(f"<mujoco><worldbody>{bodies}</worldbody><equality>{relations}</equality></mujoco>")
