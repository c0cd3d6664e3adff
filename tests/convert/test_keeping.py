"""Data of other applications stays what it is: nobody takes it for something else where it is put."""

from __future__ import annotations

import pytest

import exoskel
from exoskel.formats.write import reread, write
from tests.convert.test_round_trip import unlike

EXT = "<ext ename='app'><gravity x='0' y='-9.81' z='0'/><ERP value='0.2'/></ext>"
PLACES = {
    "root": "<xode version='1.0'>{0}<world><space/></world></xode>",
    "space": "<xode version='1.0'><world><space>{0}</space></world></xode>",
    "group": "<xode version='1.0'><world><space><group>{0}</group></space></world></xode>",
    "body": "<xode version='1.0'><world><space><body>{0}</body></space></world></xode>",
    "world": "<xode version='1.0'><world>{0}<space/></world></xode>",
}


@pytest.mark.parametrize("place", PLACES)
def test_only_extensions_of_a_world_speak_of_gravity(place: str) -> None:
    """Seen with generated documents: an extension of a space was moved into the world, and read there."""
    scene = exoskel.load(PLACES[place].format(EXT))
    assert (scene.world.gravity == (0.0, 0.0, 0.0)) is (place != "world")
    straight = reread(write(scene, "xode").data, "xode", None)
    abroad = reread(write(scene, "skel").data, "skel", None)
    again = reread(write(abroad, "skel").data, "skel", None)
    home = write(again, "xode").data
    assert unlike(scene, straight) == unlike(scene, abroad) == unlike(scene, reread(home, "xode", None)) == []
    assert (b"ename='app'" in home or b'ename="app"' in home) is (place != "world")


def test_an_edited_gravity_is_not_taken_back_by_the_extension_it_came_from() -> None:
    ext = "<ext ename='app'><gravity x='0' y='-9.81' z='0'/>words<other/><q:gravity xmlns:q='urn:q'/>text</ext>"
    scene = exoskel.load(PLACES["world"].format(ext))
    scene.world.gravity = (1.0, 2.0, 3.0)
    written = write(scene, "xode")
    assert written.full.world.gravity == (1.0, 2.0, 3.0)
    assert b"words<other/>" in written.data
    assert b"q:gravity" in written.data
    home = write(reread(write(scene, "skel").data, "skel", None), "xode")
    assert home.full.world.gravity == (1.0, 2.0, 3.0)
    assert b"<other/>" in home.data
