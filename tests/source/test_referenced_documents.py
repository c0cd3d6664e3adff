"""XML files that a document names are checked as strictly as the document: includes, model.config and COLLADA."""

from __future__ import annotations

from pathlib import Path

import pytest

import exoskel

DECLARED = '<!DOCTYPE a [<!ENTITY b "c">]>'
HIDING = '<x:a/><b xmlns="rel"/>'
"""After this, libxml2 ignores what follows the root element, and reports nothing."""

COLLADA = (
    '<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><asset><unit meter="1"/></asset>'
    '<library_geometries><geometry id="g"><mesh><source id="p"><float_array id="f" count="9">0 0 0 1 0 0 0 1 0'
    '</float_array><technique_common><accessor source="#f" count="3" stride="3"><param name="X" type="float"/>'
    '<param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>'
    '<vertices id="v"><input semantic="POSITION" source="#p"/></vertices><triangles count="1">'
    '<input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2</p></triangles></mesh></geometry></library_geometries>'
    '<library_visual_scenes><visual_scene id="s"><node><instance_geometry url="#g"/></node></visual_scene>'
    '</library_visual_scenes><scene><instance_visual_scene url="#s"/></scene>{inside}</COLLADA>'
)

PLACES: dict[str, tuple[str, str, str, str]] = {
    "an MJCF include": (
        "a.xml",
        '<mujoco><include file="b.xml"/><worldbody><geom size="1"/></worldbody></mujoco>',
        "b.xml",
        "<mujocoinclude>{inside}<worldbody/></mujocoinclude>",
    ),
    "an SDF include": (
        "a.sdf",
        '<sdf version="1.9"><world name="w"><include><uri>m</uri></include></world></sdf>',
        "m/model.sdf",
        '<sdf version="1.9"><model name="m">{inside}<link name="l"/></model></sdf>',
    ),
    "model.config": (
        "a.sdf",
        '<sdf version="1.9"><world name="w"><include><uri>m</uri></include></world></sdf>',
        "m/model.config",
        '<model><name>m</name>{inside}<sdf version="1.9">model.sdf</sdf></model>',
    ),
    "COLLADA": (
        "a.urdf",
        '<robot name="r"><link name="l"><collision><geometry><mesh filename="b.dae"/></geometry></collision></link></robot>',
        "b.dae",
        COLLADA,
    ),
}


def _messages(folder: Path, place: str, before: str, inside: str, after: str) -> str:
    """What is reported about a document that names a file with this content; the file is not read as XML otherwise."""
    name, document, other, content = PLACES[place]
    (folder / "m").mkdir()
    (folder / "m/model.sdf").write_text(
        '<sdf version="1.9"><model name="m"><link name="l"/></model></sdf>', encoding="utf-8"
    )
    (folder / other).write_text(before + content.format(inside=inside) + after, encoding="utf-8")
    (folder / name).write_text(document, encoding="utf-8")
    return "\n".join(one.message for one in exoskel.load(folder / name).diagnostics)


@pytest.mark.parametrize("place", PLACES)
def test_content_after_the_root_of_a_file_that_a_document_names_is_reported(tmp_path: Path, place: str) -> None:
    assert "unexpected content after" in _messages(tmp_path, place, "", HIDING, "\n<a/>")


@pytest.mark.parametrize("place", PLACES)
def test_entities_in_a_file_that_a_document_names_are_refused(tmp_path: Path, place: str) -> None:
    assert "the document declares" in _messages(tmp_path, place, DECLARED, "", "")


@pytest.mark.parametrize("place", PLACES)
def test_a_file_that_a_document_names_is_read_if_it_is_well_formed(tmp_path: Path, place: str) -> None:
    found = _messages(tmp_path, place, "<?xml version='1.0'?>", "<!-- a -->", "\n")
    assert "well-formed" not in found and "malformed" not in found and "cannot read" not in found
