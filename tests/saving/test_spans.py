"""An edit of any field changes only the bytes of its item."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import exoskel
from exoskel.formats.save import saved_bytes
from exoskel.scene.fields import DOF_FIELDS, FIELDS, SOFT_FIELDS, comparable_value, relative_difference
from exoskel.scene.item import Item
from exoskel.scene.world import Scene
from exoskel.spatial import unit
from tests.saving.support import content, differing_bytes, elements, items, name_of, own_files, save_and_verify

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


def rotated(axes: tuple[Any, ...]) -> tuple[Any, ...]:
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
    (World, "self_collision"): lambda w: not w.self_collision,
    (World, "cameras"): lambda w: [exoskel.SceneCamera(name="eye", pose=exoskel.Pose((1.0, 2.0, 3.0)))],
    (World, "lights"): lambda w: [exoskel.SceneLight(name="sun", kind="directional")],
    (Joint, "mimic"): lambda j: exoskel.Mimic("another", 2.0, 0.5),
    (Model, "name"): lambda m: "renamed",
    (Model, "pose"): lambda m: moved(m.pose),
    (Model, "static"): lambda m: not m.static,
    (Body, "name"): lambda b: "renamed",
    (Body, "pose"): lambda b: moved(b.pose),
    (Body, "inertia"): lambda b: heavier(b.inertia),
    (Body, "gravity"): lambda b: not b.gravity,
    (Body, "state"): lambda b: exoskel.BodyState(force=(1.0, 2.0, 3.0)),
    (Body, "ignored_values"): lambda b: (
        {"self_collide": "1"} if b.ignored_values != {"self_collide": "1"} else {"self_collide": "0"}
    ),
    (Body, "soft"): lambda b: exoskel.SoftBody(total_mass=0.5, geometry=exoskel.Box((1.0, 1.0, 1.0))),
    (Shape, "geometry"): another_geometry,
    (Shape, "pose"): lambda s: moved(s.pose),
    (Shape, "color"): lambda s: (0.25, 0.5, 0.75, 1.0),
    (Shape, "collidable"): lambda s: not s.collidable,
    (Shape, "name"): lambda s: "renamed",
    (Shape, "space"): lambda s: "elsewhere",
    (Shape, "friction"): lambda s: 0.625,
    (Shape, "restitution"): lambda s: 0.125,
    (Shape, "material"): lambda s: exoskel.Material(0.25, 0.5, exoskel.Texture("wood.png")),
    (Marker, "name"): lambda m: "renamed",
    (Marker, "offset"): lambda m: (0.25, 0.5, 0.75),
    (Marker, "quaternion"): lambda m: (0.0, 1.0, 0.0, 0.0),
    (Marker, "kind"): lambda m: "box",
    (Marker, "size"): lambda m: (0.25, 0.5, 0.75),
    (Marker, "color"): lambda m: (0.25, 0.5, 0.75, 1.0),
    (Joint, "name"): lambda j: "renamed",
    (Joint, "pose"): lambda j: moved(j.pose),
    (Joint, "axes"): lambda j: rotated(j.axes),
    (Joint, "order"): lambda j: "zyx" if j.order == "xyz" else "xyz",
    (Joint, "plane"): lambda j: "yz" if j.plane == "xy" else "xy",
    (Joint, "pitch"): lambda j: j.pitch + 0.25,
    (Joint, "actuator"): lambda j: "servo" if j.actuator != "servo" else "velocity",
    (Joint, "drives"): lambda j: tuple(exoskel.Drive(low_stop=-0.25, velocity=1.5) for _ in j.axes),
    (Joint, "group"): lambda j: "elsewhere",
    (Joint, "solver"): lambda j: exoskel.SolverParameters((0.125, 0.5)),
}
"""A new value for each field.  `collision_exempt_groups`, `keyframes`, `actuators`, `tendons`, `sensors`, `equalities`,
`limits_enforced`, `collapses`, `swapped`, `loop`, `collide_connected`, `kind`, `child` and `parent` have tests of their own: they do not
accept any value."""

APART = {
    (World, "collision_exempt_groups"),
    (World, "keyframes"),
    (World, "actuators"),
    (World, "tendons"),
    (World, "sensors"),
    (World, "equalities"),
    (Joint, "limits_enforced"),
    (Joint, "collapses"),
    (Joint, "swapped"),
    (Joint, "loop"),
    (Joint, "collide_connected"),
    (Joint, "kind"),
    (Joint, "child"),
    (Joint, "parent"),
    (Joint, "dofs"),
}

ELSEWHERE = {(Body, "name"), (Body, "pose"), (Model, "name"), (Model, "pose"), (Model, "static")}
"""Edits that change more than the item's element: references, and what XODE states in the root frame."""

SAMPLES = (
    "actuators",
    "joint_zoo",
    "soft_bodies",
    "walker",
    "groups_and_nesting",
    "hinge2_car",
    "ragdoll",
    "epicycles",
)
FILES = [path for path in own_files() if path.parent.name == "examples" or path.stem in SAMPLES]


def applies(item: Any, field: str) -> bool:
    """Whether a field has an effect on this item."""
    if isinstance(item, Joint):
        if item.implicit or (field == "axes" and (not item.axes or rotated(item.axes) == item.axes)):
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
    """Whether an edit is refused: of a world without an element, or of bodies that a PyBrain comment fixes."""
    return (path.name, kind, field) == ("9_dialect.xode", Model, "static") or (
        path.name == "10_bare.skel" and kind is World
    )


def cases() -> Iterator[Any]:
    """Every field with every file in which it can be edited."""
    for path in FILES:
        scene = exoskel.load(path)
        for kind, field in NEW:
            item = first(scene, kind, field)
            if item is not None and NEW[kind, field](item) != getattr(item, field):
                yield pytest.param(path, kind, field, id=f"{path.name}-{kind.__name__}.{field}")


def _comparable(field: str, wanted: Any) -> Any:
    if field == "axes":  # compared by direction: axes in XODE are unit vectors
        return tuple(tuple(unit(axis).tolist()) for axis in wanted)
    if isinstance(wanted, exoskel.Material):
        image = wanted.texture
        return (wanted.roughness, wanted.metalness, None if image is None else (image.uri, image.repeat))
    return wanted if not isinstance(wanted, exoskel.SoftBody) else tuple(getattr(wanted, name) for name in SOFT_FIELDS)


def test_every_field_of_the_scene_is_edited_here() -> None:
    declared = {(kind, field) for kind, fields in FIELDS.items() for field in fields}
    assert declared == NEW.keys() | APART


@pytest.mark.parametrize(("path", "kind", "field"), list(cases()))
def test_an_edited_field_changes_only_its_item(path: Path, kind: type[Item], field: str) -> None:
    before = content(path)
    scene = exoskel.load(path)
    item = first(scene, kind, field)
    wanted = NEW[kind, field](item)
    setattr(item, field, wanted)
    if refuses(path, kind, field):
        with pytest.raises(exoskel.SaveError):
            saved_bytes(scene)
        return
    after = save_and_verify(scene)
    assert relative_difference(_comparable(field, comparable_value(item, field)), _comparable(field, wanted)) <= 1e-12
    start, removed, new = differing_bytes(before, after)
    assert removed or new
    if (kind, field) not in ELSEWHERE:
        span = elements(before).span(item.node)
        assert before.rfind(b"\n", 0, span.start) < start
        assert start + len(removed) <= span.end


DOFS = dict.fromkeys(DOF_FIELDS, 0.375) | {
    "name": "renamed",
    "position_limits": (-0.375, 2.5),
    "velocity_limits": (-0.375, 2.5),
    "acceleration_limits": (-0.375, 2.5),
    "force_limits": (-0.375, 2.5),
}
JOINTED = [
    path for path in FILES if any(j.dof_count and not j.implicit for w in exoskel.load(path).worlds for j in w.joints())
]


@pytest.mark.parametrize("field", DOF_FIELDS)
@pytest.mark.parametrize("path", JOINTED, ids=name_of)
def test_an_edited_degree_of_freedom_changes_only_its_joint(path: Path, field: str) -> None:
    before = content(path)
    scene = exoskel.load(path)
    joint: Any = next(j for j in scene.worlds[0].joints() if j.dof_count and not j.implicit)
    setattr(joint.dofs[-1], field, DOFS[field])
    if path.suffix == ".xode" and field == "position":
        # XODE states initial poses: other readers would place the bodies where they were.
        with pytest.raises(exoskel.SaveError, match="would place the bodies elsewhere"):
            saved_bytes(scene)
        return
    after = save_and_verify(scene)
    assert getattr(joint.dofs[-1], field) == pytest.approx(DOFS[field])
    start, removed, new = differing_bytes(before, after)
    span = elements(before).span(joint.node)
    assert removed or new
    assert before.rfind(b"\n", 0, span.start) < start
    assert start + len(removed) <= span.end
