"""Documents that are not well-formed, in every format that is XML."""

from __future__ import annotations

from pathlib import Path

import pytest

import exoskel
from exoskel.diagnostics import Severity
from exoskel.source.meshes import MeshError, mesh_extent
from tests.hostile.corpus import DAE

PREFIXED = {
    "skel": '<skel version="1.0"><world name="w"><x:a/></world></skel>',
    "xode": '<xode version="1.0r23" name="x"><world><space/><x:a/></world></xode>',
    "urdf": '<robot name="r"><link name="l"/><x:a/></robot>',
    "sdf": '<sdf version="1.9"><model name="m"><link name="l"/><x:a/></model></sdf>',
    "mjcf": "<mujoco><worldbody/><custom><x:a/></custom></mujoco>",
}
BEHIND = {
    "a root": ("\n\n<robot/> & <junk", "after the root"),
    "text": ("\n\ntext", "after the root"),
    "an end tag": ("\n\n</a>", "</a> has no start tag"),
    "an open comment": ("\n\n<!-- ", "comment that starts here is not closed"),
    "an ampersand": ("\n\n&", "unexpected characters"),
}


DECLARATION = '<?xml version="{}" ?>'


@pytest.mark.parametrize("format", PREFIXED)
def test_files_of_version_0_are_read(format: str, tmp_path: Path) -> None:
    """Such as `plane.urdf` of PyBullet: the parsers of other programs do not look at the version."""
    text = PREFIXED[format].replace("<x:a/>", "")
    scene = exoskel.load(DECLARATION.format("0.0") + text, format=format)
    plain = exoskel.load(DECLARATION.format("1.0") + text, format=format)
    assert [str(one) for one in scene.diagnostics] == [str(one) for one in plain.diagnostics]
    assert [model.name for model in scene.world.models] == [model.name for model in plain.world.models]
    assert exoskel.convert(scene, tmp_path / "a.xml", to="mjcf").certificate.passed
    exoskel.save(scene, tmp_path / "b")
    assert (tmp_path / "b").read_text().startswith(DECLARATION.format("0.0"))


@pytest.mark.parametrize("format", PREFIXED)
@pytest.mark.parametrize("behind", BEHIND)
def test_content_after_the_root_is_an_error_beside_an_undeclared_prefix(format: str, behind: str) -> None:
    text, says = BEHIND[behind]
    scene = exoskel.load(PREFIXED[format] + text, format=format)
    (problem,) = [d for d in scene.diagnostics if d.severity is Severity.ERROR]
    assert (problem.line, problem.column) == (3, 1)
    assert says in problem.message
    assert not scene.worlds


@pytest.mark.parametrize("format", ["skel", "xode", "urdf", "sdf"])
def test_an_undeclared_prefix_alone_is_not_an_error(format: str) -> None:
    scene = exoskel.load(PREFIXED[format] + "\n<!-- c -->\n", format=format)
    assert scene.worlds and not [d for d in scene.diagnostics if d.severity is Severity.ERROR]


def test_a_repeated_attribute_is_an_error_beside_an_undeclared_prefix() -> None:
    scene = exoskel.load('<robot name="r">\n<link name="é" x:a="1" x:a="2"/></robot>')
    (problem,) = scene.diagnostics
    assert (problem.line, problem.column) == (2, 24)
    assert problem.message.endswith("an attribute is repeated")


def test_an_included_file_that_is_not_well_formed_is_reported_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "part.xml").write_text("<mujoco>\n<x:a/></mujoco>\nbehind")
    scene = exoskel.load("<mujoco><include file='part.xml'/></mujoco>", format="mjcf", base=tmp_path)
    problem = next(d for d in scene.diagnostics if d.code == "MJ104")
    assert problem.message.endswith("unexpected content after the root element (line 3)")


@pytest.mark.parametrize(
    ("inside", "behind"),
    [("", "\n<a/>"), ("", "\nbehind"), ("<x:a/>", "\n<a/>"), ("<a>", ""), ("<a b='1' b='2'/>", "")],
)
def test_a_collada_file_that_is_not_well_formed_is_refused(tmp_path: Path, inside: str, behind: str) -> None:
    document = DAE.format("", 9, "0 0 0 1 0 0 0 1 0", 1)
    path = tmp_path / "mesh.dae"
    path.write_text(document)
    assert mesh_extent(path)
    path.write_text(document.replace("<scene>", f"{inside}<scene>") + behind)
    with pytest.raises(MeshError, match="line"):
        mesh_extent(path)
