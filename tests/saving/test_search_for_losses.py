"""Each edit of a small file of each format: every name in the source is saved, reported, or was removed by the edit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import exoskel
from exoskel.formats.saving.patch import changes_since_reading
from exoskel.scene.joint import TRAITS, Joint, JointKind
from exoskel.scene.world import World
from exoskel.source.document import Document
from tests.saving.test_lost_parts import MJCF, SDF, URDF, XODE

DOCUMENTS = {"a.xml": MJCF, "a.sdf": SDF, "a.urdf": URDF, "a.xode": XODE}
KINDS: tuple[JointKind, ...] = ("weld", "ball", "revolute", "prismatic", "universal", "free", "screw")
AXES = ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0))
Edit = Callable[[World], object]


def change_kind(path: str, kind: JointKind) -> Edit:
    def edit(world: World) -> None:
        (joint,) = world.find(path)
        assert isinstance(joint, Joint)
        joint.kind, joint.axes = kind, AXES[: TRAITS[kind].axes]

    return edit


def remove(path: str) -> Edit:
    return lambda world: world.remove(path, subtree=True)


def edits(data: bytes) -> Iterator[tuple[str, Edit]]:
    for model in exoskel.load(data).world.models:
        for body in model.bodies:
            yield f"remove {body.name}", remove(f"body:{model.name}/{body.name}")
        for joint in (joint for joint in model.joints if not joint.loop):
            path = f"joint:{model.name}/{joint.name}"
            yield f"remove {joint.name}", remove(path)
            for kind in KINDS:
                if kind != joint.kind:
                    yield f"{joint.name} as {kind}", change_kind(path, kind)


CASES = [(name, label) for name, data in DOCUMENTS.items() for label, _ in edits(data)]


def names_in(document: Document) -> Iterator[tuple[int, str]]:
    for node in range(len(document.outline.tags)):
        name = document.attribute_text(node, "name")
        if re.fullmatch(r"\w+", name):
            yield node, name


@pytest.mark.parametrize(("name", "label"), CASES)
def test_every_name_is_saved_or_reported(tmp_path: Path, name: str, label: str) -> None:
    data = DOCUMENTS[name]
    source, target = tmp_path / name, tmp_path / f"saved_{name}"
    source.write_bytes(data)
    scene = exoskel.load(source)
    dict(edits(data))[label](scene.world)
    document = scene.documents[0]
    assert isinstance(document, Document)
    found = changes_since_reading(scene)
    assert found is not None and found.changes is not None
    ends = document.outline.ends
    gone = {n for item in found.changes.removed if item.node >= 0 for n in range(item.node, ends[item.node])}
    edited = {item.node for item, _ in found.changes.edited}
    exoskel.save(scene, target)
    text = target.read_text(encoding="utf-8")
    reported = [one for one in scene.diagnostics if one.code in ("FM204", "SC116")]
    covered = {n for one in reported if one.place.node > 0 for n in range(one.place.node, ends[one.place.node])}
    told = " ".join(one.message for one in reported)
    lost = [one for node, one in names_in(document) if node not in gone | covered | edited and one not in told]
    assert [one for one in lost if not re.search(rf"\b{one}\b", text)] == []
