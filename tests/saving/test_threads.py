"""Edits are noticed while other threads load and copy scenes."""

from __future__ import annotations

from threading import Event, Thread

import exoskel
from exoskel.formats.save import saved_bytes
from exoskel.scene.edit_tracking import no_edits

SOURCE = b"""<skel version="1.0"><world name="w"><skeleton name="s"><body name="b"><inertia><mass>1</mass></inertia></body>
<joint type="free" name="j"><parent>world</parent><child>b</child></joint></skeleton></world></skel>"""


def test_an_edit_is_noticed_while_another_thread_loads_scenes() -> None:
    """Reading and copying are not edits, and must not hide the edits of other threads."""
    scene = exoskel.load(SOURCE)
    begun, edited = Event(), Event()

    def elsewhere() -> None:
        with no_edits():
            exoskel.load(SOURCE).world.models[0].bodies[0].mass = 7.0
            begun.set()
            edited.wait()

    other = Thread(target=elsewhere)
    other.start()
    begun.wait()
    scene.world.models[0].bodies[0].mass = 2.0
    edited.set()
    other.join()
    assert b"<mass>2</mass>" in saved_bytes(scene)


def test_edits_in_other_threads_do_not_mark_this_scene_as_edited() -> None:
    scene = exoskel.load(SOURCE)
    other = Thread(target=lambda: setattr(exoskel.load(SOURCE).world, "name", "another"))
    other.start()
    other.join()
    assert saved_bytes(scene) == SOURCE
