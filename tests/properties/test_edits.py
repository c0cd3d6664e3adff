"""An edit of one number changes the element that states it, and no other byte."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import isfinite
from pathlib import Path
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec import structs

import exoskel
from exoskel.formats.save import saved_bytes
from exoskel.scene.fields import iter_items
from exoskel.scene.item import Item
from tests.properties.support import load, tried, unlike
from tests.saving.support import differing_bytes, elements
from tests.support.generate import Generated, documents

MARK = b"\xef\xbb\xbf"

Edit = tuple[str, Item, Callable[[], None]]
"""A name of the edit, the edited item, and the function that edits it."""


def edits(scene: exoskel.Scene) -> Iterator[Edit]:
    """All edits of one number that concern one element of the document."""
    for item, _, _ in iter_items(scene):
        if item.document != 0 or item.node < 0:
            continue
        match item:
            case exoskel.World():
                yield "gravity", item, lambda w=item: _set(w, "gravity", _changed(w.gravity))
                yield "time step", item, lambda w=item: _set(w, "time_step", 2.0 * w.time_step)
            case exoskel.Body():
                yield "mass", item, lambda b=item: _set(b, "mass", 2.5 * b.mass + 1.0)
                if scene.source_info.format == "skel":  # in XODE, joints are at the poses of bodies
                    yield "position", item, lambda b=item: _set(b, "pose", _moved(b.pose))
            case exoskel.Marker():
                yield "offset", item, lambda m=item: _set(m, "offset", _changed(m.offset))
            case exoskel.Shape() if not isinstance(item.geometry, exoskel.Plane):
                yield "position of a shape", item, lambda s=item: _set(s, "pose", _moved(s.pose))
                if _size(item.geometry):
                    yield "size", item, lambda s=item: _set(s, "geometry", _grown(s.geometry))
            case exoskel.Joint() if item.motion and not item.implicit and not item.loop and item.kind != "amotor":
                yield "limit", item, lambda j=item: _limit(j)
            case _:
                pass


def _set(item: Any, field: str, value: Any) -> None:
    setattr(item, field, value)


def _changed(vector: tuple[float, ...]) -> tuple[float, ...]:
    return (vector[0], vector[1] + 0.125, *vector[2:])


def _moved(pose: exoskel.Pose) -> exoskel.Pose:
    x, y, z = pose.position
    return exoskel.Pose((x, y, z - 0.5), pose.rotation)


def _size(geometry: Any) -> str:
    return next((name for name in ("size", "radius", "width", "length") if hasattr(geometry, name)), "")


def _grown(geometry: Any) -> Any:
    name = _size(geometry)
    value = getattr(geometry, name)
    return structs.replace(geometry, **{name: _changed(value) if isinstance(value, tuple) else value + 0.125})


def _limit(joint: exoskel.Joint) -> None:
    low, high = joint.dofs[0].position_limits
    joint.dofs[0].position_limits = (low - 0.25 if isfinite(low) else -0.75, high if isfinite(high) else 1.25)


@tried
@given(document=documents(), data=st.data())
def test_an_edit_of_a_number_only_changes_its_element(folder: Path, document: Generated, data: st.DataObject) -> None:
    scene = load(document, folder)
    possible = list(edits(scene))
    assume(possible)
    what, item, deed = data.draw(st.sampled_from(possible), label="edit")
    deed()
    path = folder / f"edited.{document.format}"
    path.write_bytes(document.data)
    try:
        exoskel.save(scene, path)
    except exoskel.SaveError:
        assert path.read_bytes() == document.data, "an edit that was refused has changed the file"
        return
    after = path.read_bytes()
    assert after != document.data, what
    again = load(document._replace(data=after), folder)
    # A scene has ODE's stops twice: as limits, which were edited, and in the drives.
    assert [found for found in unlike(scene, again) if not (what == "limit" and ".drives:" in found)] == []
    assert saved_bytes(scene) == after, "saved twice"
    assert_inside(document.data, after, item.node)


def assert_inside(before: bytes, after: bytes, node: int) -> None:
    """The changed bytes are inside the element or the spaces before it on its line."""
    assert before.startswith(MARK) == after.startswith(MARK)
    before, after = before.removeprefix(MARK), after.removeprefix(MARK)
    start, gone, _ = differing_bytes(before, after)
    span = elements(before).span(node)
    assert before.rfind(b"\n", 0, span.start) + 1 <= start
    assert start + len(gone) <= span.end
