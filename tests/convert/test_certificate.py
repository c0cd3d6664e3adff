"""The certificate fails for every fault that is planted in the writers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import exoskel
from exoskel.formats.interface import Format, Writer
from exoskel.source.markup import Markup, format_number, format_numbers
from tests.support.scenes import all_files, name_of

Fault = Callable[[Markup], None]


def elements(root: Markup, *tags: str) -> Iterator[Markup]:
    """All elements of that path: `elements(root, "joint", "axis")`."""
    found = [e for e in root.iter() if e.tag == tags[0]]
    for tag in tags[1:]:
        found = [child for e in found for child in e.children if child.tag == tag]
    yield from found


def scale_texts(root: Markup, *tags: str, by: float, of: slice = slice(None)) -> None:
    for element in elements(root, *tags):
        values = [float(v) for v in element.text.split()]
        values[of] = [by * v for v in values[of]]
        element.text = format_numbers(values)


def scale_attributes(root: Markup, *tags: str, by: float, names: tuple[str, ...]) -> None:
    for element in elements(root, *tags):
        for name in names:
            if name in element.attributes:
                element.attributes[name] = format_number(by * float(element.attributes[name]))


def drop(root: Markup, tag: str, inner: str) -> None:
    """Remove one joint of the kind from its parent element."""
    for parent in root.iter():
        for child in parent.children:
            if child.tag == tag and (
                child.attributes.get("type") == inner or any(c.tag == inner for c in child.children)
            ):
                parent.children.remove(child)
                return
    raise AssertionError("nothing to drop")


def retarget(root: Markup) -> None:
    """Make the world the parent of the last joint of SKEL."""
    last = [e for e in elements(root, "joint", "parent") if e.text != "world"][-1]
    last.text = "world"


def exchange(root: Markup) -> None:
    """Connect a joint of XODE to another body."""
    links = list(elements(root, "joint", "link2"))
    names = sorted({e.attributes["name"] for e in elements(root, "body")})
    link = links[-1]
    used = {link.attributes["body"], *(e.attributes["body"] for e in elements(root, "joint", "link1"))}
    link.attributes["body"] = next((n for n in names if n not in used), names[0])


def swap_kind(root: Markup) -> None:
    element = next(e for e in elements(root, "joint") if e.attributes["type"] == "revolute")
    element.attributes["type"] = "prismatic"


def swap_type(root: Markup) -> None:
    element = next(e for e in elements(root, "joint", "hinge"))
    element.tag = "slider"
    element.children = [c for c in element.children if c.tag == "axis"]


DEGREES = 57.29577951308232
SKEL: dict[str, Fault] = {
    "axis sign": lambda r: scale_texts(r, "joint", "axis", "xyz", by=-1.0),
    "centre of mass the other way": lambda r: scale_texts(r, "body", "inertia", "offset", by=-1.0),
    "degrees for radians": lambda r: scale_texts(r, "body", "transformation", by=DEGREES, of=slice(3, 6)),
    "positions in centimetres": lambda r: scale_texts(r, "body", "transformation", by=100.0, of=slice(0, 3)),
    "dropped joint": lambda r: drop(r, "joint", "revolute"),
    "swapped parent": retarget,
    "scaled inertia": lambda r: scale_texts(r, "body", "inertia", "moment_of_inertia", "ixx", by=2.0),
    "scaled mass": lambda r: scale_texts(r, "body", "inertia", "mass", by=1.001),
    "joint of another kind": swap_kind,
    "joint frame elsewhere": lambda r: [e.add("transformation", "0 0.25 0 0 0 0") for e in elements(r, "joint")],  # type: ignore[func-returns-value]
    "limits in degrees": lambda r: scale_texts(r, "joint", "axis", "limit", "upper", by=DEGREES),
    "radius for diameter": lambda r: scale_texts(r, "geometry", "box", "size", by=0.5),
}
XODE: dict[str, Fault] = {
    "axis sign": lambda r: scale_attributes(r, "joint", "hinge", "axis", by=-1.0, names=("x", "y", "z")),
    "centre of mass the other way": lambda r: scale_attributes(
        r, "mass", "mass_struct", "centerGravity", by=-1.0, names=("x", "y", "z")
    ),
    "rotation the other way": lambda r: scale_attributes(
        r, "body", "transform", "rotation", "quaternion", by=-1.0, names=("w",)
    ),
    "positions in centimetres": lambda r: scale_attributes(
        r, "body", "transform", "position", by=100.0, names=("x", "y", "z")
    ),
    "dropped joint": lambda r: drop(r, "joint", "hinge"),
    "swapped parent": exchange,
    "scaled inertia": lambda r: scale_attributes(r, "mass", "mass_struct", "imatrix", by=2.0, names=("m00",)),
    "scaled mass": lambda r: scale_attributes(r, "mass", "mass_struct", by=1.001, names=("total",)),
    "joint of another kind": swap_type,
    "anchor elsewhere": lambda r: scale_attributes(r, "joint", "hinge", "anchor", by=1.5, names=("x", "y", "z")),
    "stops in degrees": lambda r: scale_attributes(r, "joint", "hinge", "axis", by=0.5, names=("HiStop",)),
    "half extents": lambda r: scale_attributes(r, "geom", "box", by=0.5, names=("sizex", "sizey", "sizez")),
}


def drop_all(root: Markup, *tags: str) -> None:
    """Remove every element of these tags, wherever it is."""
    for element in root.iter():
        element.children = [child for child in element.children if child.tag not in tags]


SKEL |= {
    "gravity": lambda r: scale_texts(r, "world", "physics", "gravity", by=5.0),
    "time step": lambda r: scale_texts(r, "world", "physics", "time_step", by=500.0),
    "static left out": lambda r: drop_all(r, "mobile"),
    "damping in degrees": lambda r: scale_texts(r, "joint", "axis", "dynamics", "damping", by=DEGREES),
    "all collision shapes dropped": lambda r: drop_all(r, "collision_shape"),
    "all visual shapes dropped": lambda r: drop_all(r, "visualization_shape"),
    "initial positions": lambda r: scale_texts(r, "joint", "init_pos", by=2.0),
}
XODE |= {
    "gravity": lambda r: scale_attributes(r, "world", "ext", "gravity", by=5.0, names=("z", "y")),
    "all geoms dropped": lambda r: drop_all(r, "geom"),
}
PLANTED = [("skel", name) for name in SKEL] + [("xode", name) for name in XODE]


ELSEWHERE = {
    "degrees for radians": "trebuchet",
    "initial positions": "double_pendulum",
    "damping in degrees": "springs",
}
"""Samples for faults that do not affect the robot arm."""


@pytest.mark.parametrize(("format", "name"), PLANTED)
def test_a_planted_fault_fails_the_certificate(
    format: str, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fault = {"skel": SKEL, "xode": XODE}[format][name]
    plain = Format.writer

    def faulty(self: Format) -> Writer:
        def write(scene: exoskel.Scene, output: object) -> Markup:
            root = plain(self)(scene, output)  # type: ignore[arg-type]
            if self.name == format:
                before = [(e.tag, e.text, dict(e.attributes), len(e.children)) for e in root.iter()]
                fault(root)
                assert before != [(e.tag, e.text, dict(e.attributes), len(e.children)) for e in root.iter()]
            return root

        return write

    monkeypatch.setattr(Format, "writer", faulty)
    target = tmp_path / f"out.{format}"
    scene = ELSEWHERE.get(name, "robot_arm")
    report = exoskel.convert(f"dart://sample/skel/{scene}.skel", target)
    assert not report.certificate.passed, report.certificate.checks
    assert not report.saved and not target.exists(), "an output without a passed certificate is not written"


@pytest.mark.parametrize("format", ["skel", "xode"])
@pytest.mark.parametrize("file", all_files(), ids=name_of)
def test_every_conversion_is_certified(file: Path, format: str, tmp_path: Path) -> None:
    scene = exoskel.load(file)
    if not scene.worlds or (format == "skel" and len(scene.worlds) > 1):
        with pytest.raises(exoskel.ExoskelError):
            exoskel.convert(scene, tmp_path / f"out.{format}")
        return
    report = exoskel.convert(scene, tmp_path / f"out.{format}")
    assert [check for check in report.certificate.checks if not check.passed] == []
    assert report.saved and (tmp_path / f"out.{format}").read_bytes() == report.data
