"""Markers with axes and a look: sites of MJCF files, embedded in SKEL and XODE."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import exoskel
from exoskel.fates import Fate

SITES = """<mujoco><default><site rgba="1 0 0 1"/></default><worldbody>
<body name="b"><freejoint name="j"/><geom size=".1"/>
<site name="plain" pos="1 2 3" rgba="0.5 0.5 0.5 1"/>
<site name="tool" pos="0 0 .5" quat="0.6 0 0.8 0" type="box" size=".01 .02 .03"/>
<site name="rod" fromto="0 0 0 1 0 0" type="cylinder" size=".01"/>
<site name="tilted" euler="0 90 0" type="ellipsoid" size=".1 .2 .3" rgba="0.1 0.2 0.3 0.4"/>
</body></worldbody></mujoco>"""
LOOK = ("name", "offset", "quaternion", "kind", "size", "color")


def markers(scene: exoskel.Scene | exoskel.World) -> dict[str, dict[str, Any]]:
    world = scene.world if isinstance(scene, exoskel.Scene) else scene
    return {one.name: {name: getattr(one, name) for name in LOOK} for body in world.bodies() for one in body.markers}


def test_sites_are_read_with_their_axes_and_look() -> None:
    scene = exoskel.load(SITES)
    assert not [found for found in scene.diagnostics if found.code == "MJ203"]
    found = markers(scene)
    assert found["plain"] == markers_of(exoskel.Marker("plain", (1, 2, 3)))
    assert found["tool"] == markers_of(
        exoskel.Marker("tool", (0, 0, 0.5), (0.6, 0, 0.8, 0), "box", (0.01, 0.02, 0.03), (1, 0, 0, 1))
    )
    assert found["rod"]["kind"] == "cylinder" and found["rod"]["size"][:2] == pytest.approx((0.01, 0.5))
    assert found["tilted"]["color"] == (0.1, 0.2, 0.3, 0.4)
    assert found["tilted"]["quaternion"] == pytest.approx((0.5**0.5, 0.0, 0.5**0.5, 0.0))


def markers_of(marker: exoskel.Marker) -> dict[str, Any]:
    return {name: getattr(marker, name) for name in LOOK}


@pytest.mark.parametrize("to", ["mjcf", "skel", "xode"])
def test_axes_and_look_survive_conversions(to: str, tmp_path: Path) -> None:
    source = tmp_path / "source.xml"
    source.write_text(SITES)
    output = tmp_path / f"output.{'xml' if to == 'mjcf' else to}"
    report = exoskel.convert(source, output)
    assert report.saved and report.certificate.passed
    assert not [one for one in report.items if "site[" in one.path and one.loss]
    assert approximate(markers(exoskel.load(output))) == approximate(markers(exoskel.load(source)))
    back = exoskel.convert(output, tmp_path / "back.xml")
    assert back.saved and back.certificate.passed
    assert approximate(markers(exoskel.load(tmp_path / "back.xml"))) == approximate(markers(exoskel.load(source)))


def approximate(found: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {
        name: {key: tuple(round(one, 9) for one in row) if isinstance(row, tuple) else row for key, row in look.items()}
        for name, look in found.items()
    }


@pytest.mark.parametrize("to", ["urdf", "sdf", "usd", "gltf"])
def test_other_formats_drop_axes_and_look_with_a_fate(to: str) -> None:
    report = exoskel.convert(SITES, to=to, lower=True)
    assert report.certificate.passed
    rows = {one.path: one.fate for one in report.items if "site[tool]" in one.path or "tool" in one.path}
    dropped = [path for path, fate in rows.items() if fate is Fate.DROPPED]
    assert {path.rpartition("@")[2] for path in dropped} >= {"quat", "type", "size"}


@pytest.mark.parametrize("name", ["skel", "xode"])
def test_edited_markers_are_saved(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"scene.{name}"
    exoskel.convert(SITES, path, format="mjcf")
    scene = exoskel.load(path)
    (marker,) = (one for body in scene.world.bodies() for one in body.markers if one.name == "tool")
    marker.quaternion, marker.kind, marker.color = (1, 0, 0, 0), "capsule", (0, 1, 0, 1)
    exoskel.save(scene)
    found = markers(exoskel.load(path))["tool"]
    assert (found["quaternion"], found["kind"], found["color"]) == ((1, 0, 0, 0), "capsule", (0, 1, 0, 1))


@pytest.mark.parametrize(
    ("field", "value"),
    [("quaternion", (1, 0, 0)), ("kind", "plane"), ("size", (1, 2)), ("color", (1, 0)), ("quaternion", "up")],
)
def test_wrong_values_are_refused_where_they_are_set(field: str, value: Any) -> None:
    marker = exoskel.Marker("m")
    with pytest.raises(exoskel.ExoskelError, match=field):
        setattr(marker, field, value)


def test_invalid_values_are_reported() -> None:
    world = exoskel.World("w")
    body = world.add_model("m").add_body("b")
    body.markers.append(exoskel.Marker("p", size=(-1, 1, 1), color=(2, 0, 0, 1)))
    assert {found.code for found in exoskel.check(world)} >= {"SC107"}
