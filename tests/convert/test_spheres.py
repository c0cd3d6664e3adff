"""Ellipsoids with equal diameters, the spheres of most SKEL files, reach other programs as spheres."""

from __future__ import annotations

from pathlib import Path

import pytest

import exoskel
from exoskel.fates import Fate
from exoskel.scene.shape import Sphere, simplest_geometry

FILES = {
    "mjcf": ("ball.xml", 'type="sphere"'),
    "sdf": ("ball.sdf", "<sphere>"),
    "urdf": ("ball.urdf", "<sphere radius"),
    "usd": ("ball.usda", "def Sphere"),
    "xode": ("ball.xode", "<sphere radius"),
}


def _ball(folder: Path, diameters: str) -> Path:
    geometry = f"<geometry><ellipsoid><size>{diameters}</size></ellipsoid></geometry>"
    file = folder / "ball.skel"
    file.write_text(
        '<skel version="1.0"><world name="w"><skeleton name="toy"><body name="ball"><inertia><mass>1</mass></inertia>'
        f"<visualization_shape>{geometry}</visualization_shape><collision_shape>{geometry}</collision_shape></body>"
        '<joint type="free" name="j"><parent>world</parent><child>ball</child></joint></skeleton></world></skel>'
    )
    return file


@pytest.mark.parametrize("format", FILES)
def test_an_ellipsoid_with_equal_diameters_is_written_as_a_sphere(format: str, tmp_path: Path) -> None:
    name, word = FILES[format]
    done = exoskel.convert(_ball(tmp_path, "0.2 0.2 0.2"), tmp_path / name)
    assert done.certificate.passed
    assert word in (tmp_path / name).read_text(encoding="utf-8")
    for shape in (one for body in exoskel.load(tmp_path / name).world.bodies() for one in body.shapes):
        assert simplest_geometry(shape.geometry) == Sphere(0.1)
    found = [node for node in done.items if "ellipsoid" in node.path]
    assert found
    for node in found:
        assert (node.fate, node.why) == (Fate.LOWERED, "as a sphere") or node.fate is Fate.KEPT


@pytest.mark.parametrize("format", ["mjcf", "sdf"])
def test_other_ellipsoids_stay_ellipsoids(format: str, tmp_path: Path) -> None:
    exoskel.convert(_ball(tmp_path, "0.2 0.2 0.21"), tmp_path / FILES[format][0])
    (found,) = {
        shape.kind for body in exoskel.load(tmp_path / FILES[format][0]).world.bodies() for shape in body.shapes
    }
    assert found == "ellipsoid"
