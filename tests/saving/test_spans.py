"""An edit of any field of any item changes the bytes of that item, and of nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exoskel
from exoskel.formats.save import saved_bytes
from exoskel.scene.content import FIELDS, SOFT_FIELDS, gap, value
from exoskel.scene.item import Item
from exoskel.scene.world import Scene
from exoskel.spatial import unit
from tests.saving.support import content, elements, items, name_of, own_files, proved, stretch

World, Model, Body, Shape, Marker, Joint = (
    exoskel.World,
    exoskel.Model,
    exoskel.Body,
    exoskel.Shape,
    exoskel.Marker,
    exoskel.Joint,
)


def moved(pose: exoskel.Pose) -> exoskel.Pose:
    x, y, z = pose.position
    return exoskel.Pose((x + 0.125, y, z - 0.5), pose.rotation)


def turned(axes: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple((y, z, x) for x, y, z in axes)


def another_geometry(shape: Any) -> Any:
    return exoskel.Sphere(0.375) if shape.geometry != exoskel.Sphere(0.375) else exoskel.Sphere(0.5)


def heavier(inertia: Any) -> Any:
    return exoskel.Inertia(
        inertia.mass * 2 + 1, inertia.com, (3.0, 4.0, 5.0, 0.0, 0.0, 0.0), rule=inertia.rule, scales=False
    )


NEW: dict[tuple[type[Item], str], Callable[[Any], Any]] = {
    (World, "name"): lambda w: "renamed",
    (World, "gravity"): lambda w: (0.5, -1.25, 2.0),
    (World, "time_step"): lambda w: w.time_step * 2,
    (World, "collision_detector"): lambda w: "bullet" if w.collision_detector != "bullet" else "ode",
    (World, "erp"): lambda w: 0.375,
    (World, "cfm"): lambda w: 0.0625,
    (Model, "name"): lambda m: "renamed",
    (Model, "pose"): lambda m: moved(m.pose),
    (Model, "static"): lambda m: not m.static,
    (Body, "name"): lambda b: "renamed",
    (Body, "pose"): lambda b: moved(b.pose),
    (Body, "inertia"): lambda b: heavier(b.inertia),
    (Body, "gravity"): lambda b: not b.gravity,
    (Body, "state"): lambda b: exoskel.BodyState(force=(1.0, 2.0, 3.0)),
    (Body, "kept"): lambda b: {"self_collide": "1"} if b.kept != {"self_collide": "1"} else {"self_collide": "0"},
    (Body, "soft"): lambda b: exoskel.SoftBody(total_mass=0.5, geometry=exoskel.Box((1.0, 1.0, 1.0))),
    (Shape, "geometry"): another_geometry,
    (Shape, "pose"): lambda s: moved(s.pose),
    (Shape, "color"): lambda s: (0.25, 0.5, 0.75, 1.0),
    (Shape, "collidable"): lambda s: not s.collidable,
    (Shape, "name"): lambda s: "renamed",
    (Shape, "space"): lambda s: "elsewhere",
    (Marker, "name"): lambda m: "renamed",
    (Marker, "offset"): lambda m: (0.25, 0.5, 0.75),
    (Joint, "name"): lambda j: "renamed",
    (Joint, "pose"): lambda j: moved(j.pose),
    (Joint, "axes"): lambda j: turned(j.axes),
    (Joint, "order"): lambda j: "zyx" if j.order == "xyz" else "xyz",
    (Joint, "plane"): lambda j: "yz" if j.plane == "xy" else "xy",
    (Joint, "pitch"): lambda j: j.pitch + 0.25,
    (Joint, "actuator"): lambda j: "servo" if j.actuator != "servo" else "velocity",
    (Joint, "drives"): lambda j: tuple(exoskel.Drive(low_stop=-0.25, velocity=1.5) for _ in j.axes),
    (Joint, "group"): lambda j: "elsewhere",
}
"""A value for each field that it does not have yet.  `passing`, `limits_enforced`, `collapses`, `swapped`, `loop`,
`kind`, `child` and `parent` have tests of their own: they are not free to take any value."""

APART = {
    (World, "passing"),
    (Joint, "limits_enforced"),
    (Joint, "collapses"),
    (Joint, "swapped"),
    (Joint, "loop"),
    (Joint, "kind"),
    (Joint, "child"),
    (Joint, "parent"),
    (Joint, "dofs"),
}

ELSEWHERE = {(Body, "name"), (Body, "pose"), (Model, "name"), (Model, "pose"), (Model, "static")}
"""Edits that change more than the item's element: references, and what XODE states in the root frame."""

FILES = own_files()


def applies(item: Any, field: str) -> bool:
    """Whether a field means anything for this item."""
    if isinstance(item, Joint):
        if item.implicit or (field == "axes" and (not item.axes or turned(item.axes) == item.axes)):
            return False
        needs = {"order": ("euler",), "plane": ("planar", "translational2d"), "pitch": ("screw",)}
        if field == "plane" and item.plane == "arbitrary":
            return False
        return field not in needs or item.kind in needs[field]
    if isinstance(item, Body):
        return item.node >= 0
    return not (isinstance(item, Shape) and type(item.geometry) in (exoskel.Plane, exoskel.TriMesh))


def first(scene: Scene, kind: type[Item], field: str) -> Any:
    return next((item for item in items(scene, kind) if item.document == 0 and applies(item, field)), None)


def refuses(path: Path, kind: type[Item], field: str) -> bool:
    """Edits that cannot be made in such a file: it has no element of the world, or models without elements."""
    if path.suffix == ".xode":
        return kind is Model or (kind is World and field == "collision_detector" and False)
    return path.name == "10_bare.skel" and kind is World


def _comparable(field: str, wanted: Any) -> Any:
    if field == "axes":  # by direction: XODE's are unit
        return tuple(tuple(unit(axis).tolist()) for axis in wanted)
    return wanted if not isinstance(wanted, exoskel.SoftBody) else tuple(getattr(wanted, name) for name in SOFT_FIELDS)


def test_every_field_of_the_scene_is_edited_here() -> None:
    declared = {(kind, field) for kind, fields in FIELDS.items() for field in fields}
    assert declared == NEW.keys() | APART


@pytest.mark.parametrize(("kind", "field"), list(NEW), ids=lambda value: getattr(value, "__name__", value))
@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_an_edit_of_a_field_changes_its_item_alone(path: Path, kind: type[Item], field: str) -> None:
    before = content(path)
    scene = exoskel.load(path)
    item = first(scene, kind, field)
    if item is None:
        return
    wanted = NEW[kind, field](item)
    if wanted == getattr(item, field):
        return
    setattr(item, field, wanted)
    if refuses(path, kind, field):
        with pytest.raises(exoskel.SaveError):
            saved_bytes(scene)
        return
    after = proved(scene)
    assert after != before
    found = value(item, field)
    assert gap(_comparable(field, found), _comparable(field, wanted)) <= 1e-12
    if (kind, field) not in ELSEWHERE:
        start, gone, _ = stretch(before, after)
        span = elements(before).span(item.node)
        line = before.rfind(b"\n", 0, span.start) + 1
        assert line <= start
        assert start + len(gone) <= span.end
