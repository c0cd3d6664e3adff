"""Diffs of typical edits, recorded to show how little they change."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

import exoskel
from exoskel.scene.pose import AxisAngle
from tests.saving.documents import SKEL, XODE
from tests.saving.support import edited


def arm(world: Any) -> Any:
    return world.model("arm")


def set_fields(item: Any, **fields: Any) -> None:
    for name, value in fields.items():
        setattr(item, name, value)


def new_hand(world: Any) -> None:
    arm(world).add_body(
        "hand",
        parent="fore",
        pose=exoskel.Pose((0.0, 0.0, 1.5)),
        joint="revolute",
        axes=((1.0, 0.0, 0.0),),
        mass=0.5,
        shapes=[exoskel.Sphere(0.05)],
    )


def new_wheel(world: Any) -> None:
    world.model("crate").add_body(
        "wheel",
        parent="crate",
        pose=exoskel.Pose((1.0, 2.0, 0.5)),
        joint="revolute",
        axes=((0.0, 1.0, 0.0),),
        mass=0.5,
        shapes=[exoskel.Cylinder(0.25, 0.1)],
    )


EDITS: dict[str, tuple[str, Callable[[Any], object]]] = {
    "skel: a mass": (SKEL, lambda w: set_fields(arm(w).body("base"), mass=7.5)),
    "skel: a moment": (SKEL, lambda w: set_fields(arm(w).body("base"), moment=(1.0, 1.0, 0.5, 0.0, 0.0, 0.0))),
    "skel: a pose and a centre of mass": (
        SKEL,
        lambda w: set_fields(arm(w).body("base"), pose=exoskel.Pose((0.0, 0.0, 0.75)), com=(0.0, 0.0, 0.25)),
    ),
    "skel: limits, a spring and an initial position": (
        SKEL,
        lambda w: set_fields(arm(w).joint("elbow").dofs[0], position_limits=(-1.0, 1.0), stiffness=4.0, position=0.5),
    ),
    "skel: another geometry": (
        SKEL,
        lambda w: set_fields(arm(w).body("base").collisions[0], geometry=exoskel.Capsule(0.1, 0.8)),
    ),
    "skel: a new name": (SKEL, lambda w: arm(w).rename("base", "pedestal")),
    "skel: a new body": (SKEL, new_hand),
    "skel: a removed body": (SKEL, lambda w: arm(w).remove("fore")),
    "skel: ODE's parameters, which are embedded": (
        SKEL,
        lambda w: set_fields(arm(w).joint("elbow"), drives=(exoskel.Drive(velocity=1.0, max_force=10.0),)),
    ),
    "xode: a mass": (XODE, lambda w: set_fields(w.model("crate").body("crate"), mass=4.5)),
    "xode: a moment": (
        XODE,
        lambda w: set_fields(w.model("crate").body("ball"), moment=(0.5, 0.5, 0.25, 0.0, 0.0, 0.0)),
    ),
    "xode: a pose in a group with a transform": (
        XODE,
        lambda w: set_fields(
            w.model("crate").body("crate"),
            pose=exoskel.Pose((1.0, 3.0, 1.5), AxisAngle((0.0, 0.0, 1.0), 90.0, degrees=True)),
        ),
    ),
    "xode: limits": (XODE, lambda w: set_fields(w.model("crate").joint("hinge").dofs[0], position_limits=(-1.0, 1.0))),
    "xode: a new name": (XODE, lambda w: w.model("crate").rename("ball", "globe")),
    "xode: gravity": (XODE, lambda w: set_fields(w, gravity=(0.0, 0.0, -9.81))),
    "xode: a new body": (XODE, new_wheel),
    "xode: damping, which is embedded": (
        XODE,
        lambda w: set_fields(w.model("crate").joint("hinge").dofs[0], damping=0.5),
    ),
}


@pytest.mark.parametrize("name", EDITS)
def test_the_diff_of_an_edit(name: str, snapshot: SnapshotAssertion) -> None:
    text, edit = EDITS[name]
    saved = edited(text, edit).decode()
    lines = difflib.unified_diff(text.splitlines(), saved.splitlines(), "before", "after", n=1, lineterm="")
    assert "\n".join(line.replace("\t", "  ") for line in lines) == snapshot
