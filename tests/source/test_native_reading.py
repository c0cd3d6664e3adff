"""What a document states itself is not read again after data was embedded in it."""

from __future__ import annotations

import re

import pytest

import exoskel
from exoskel.diagnostics import Diagnostic
from exoskel.formats import registry
from exoskel.formats.write import reread, write
from exoskel.scene.fields import differences, iter_items
from exoskel.scene.item import AppearanceItem, Item
from exoskel.scene.merge import world_items
from exoskel.source.document import Document
from exoskel.source.native_reading import NativeReading
from tests.support.places import SAMPLES

_NAMES = sorted(path.name for kind in ("skel", "xode") for path in SAMPLES.rglob(f"*.{kind}"))
_OTHER = {"skel": "xode", "xode": "skel"}


def _origin(item: Item) -> tuple[object, ...]:
    appearance = item.appearance_node if isinstance(item, AppearanceItem) else None
    return type(item), item.document, item.node, appearance, item.given, item.repaired


def _finding(found: Diagnostic) -> tuple[object, ...]:
    return found.key, found.severity, found.message, found.hint, found.place, found.position, found.source.name


def _written(name: str) -> tuple[NativeReading, bytes, str]:
    """A sample without its comments, written in the other format, before and after data is embedded."""
    text = re.sub(rb"<!--.*?-->", b"", next(SAMPLES.rglob(name)).read_bytes(), flags=re.DOTALL)
    source = name.rpartition(".")[2]
    made = write(exoskel.load(text, format=source), _OTHER[source])
    assert made.data != made.native_data
    return NativeReading(made.native_data, reread(made.native_data, _OTHER[source], None)), made.data, _OTHER[source]


def _is_used(known: NativeReading, data: bytes, format: str) -> bool:
    return known.apply(Document(data), exoskel.Scene(), registry.by_name(format).catalogue()) is not None


@pytest.mark.parametrize("name", _NAMES)
def test_the_scene_is_that_of_a_whole_reading(name: str) -> None:
    known, data, format = _written(name)
    scene, whole = (reread(data, format, None, native_reading=one) for one in (known, None))
    origins = [[_origin(item) for world in one.worlds for item in world_items(world)] for one in (scene, whole)]
    assert origins[0] == origins[1]
    items, others = ([item for item, _, _ in iter_items(one)] for one in (scene, whole))
    assert not differences(list(zip(items, others, strict=True)))
    assert [_finding(one) for one in scene.diagnostics] == [_finding(one) for one in whole.diagnostics]
    assert [_origin(one) for one in scene.extensions] == [_origin(one) for one in whole.extensions]
    assert scene.source_info == whole.source_info


def test_documents_without_data_of_other_applications_are_not_read_again() -> None:
    names = [name for name in _NAMES if name.endswith(".skel")]
    assert all(_is_used(*_written(name)) for name in names[::4])


@pytest.mark.parametrize(
    "change",
    [
        (b"0.1", b"0.2"),
        (b"<body ", b"<!-- a comment --><body "),
        (b"</xode>", b" </xode>"),
        (b' to="markers"', b' to="markers" to="markers"'),
        (b"</add>", b"&unknown;</add>"),
        (b"</xode>", b'</xode>\n<ext ename="exoskel">\n</ext>'),
        (b"<?xml", b'\n<ext ename="exoskel">\n</ext><?xml'),
        (b'name="b"', b'name="\n<ext ename="exoskel">\n</ext>b"'),
    ],
)
def test_a_document_that_differs_elsewhere_is_read_whole(change: tuple[bytes, bytes]) -> None:
    world = exoskel.World(name="w")
    world.add_model("m").add_body("b", shapes=[exoskel.Box((0.1, 0.2, 0.3))]).markers.append(exoskel.Marker("tip"))
    made = write(exoskel.Scene(worlds=[world]), "xode")
    known = NativeReading(made.native_data, made.native)
    assert _is_used(known, made.data, "xode")
    assert not _is_used(known, made.data.replace(*change), "xode")


def test_extensions_of_a_scene_are_those_of_other_applications() -> None:
    world = exoskel.World(name="w")
    world.add_model("m").add_body("b").markers.append(exoskel.Marker("tip"))
    made = write(exoskel.Scene(worlds=[world]), "xode")
    assert b'<ext ename="exoskel">' in made.data
    assert {one.name for one in exoskel.load(made.data, format="xode").extensions} == {"world-params"}
