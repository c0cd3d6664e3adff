"""Cameras and lights of USD files."""

from __future__ import annotations

from pathlib import Path

import pytest

import exoskel
from tests.usd.test_read import head

pytest.importorskip("pxr")

STAGE = """
def Xform "World"
{
    def Xform "arm" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
    {
        float physics:mass = 1
        def Camera "eye"
        {
            float focalLength = 24
        }
    }
    def DistantLight "sun"
    {
        float inputs:intensity = 3000
    }
    def DomeLight "sky" {}
}
"""


def load(tmp_path: Path, content: str, **stage: float | str) -> exoskel.Scene:
    file = tmp_path / "stage.usda"
    file.write_text(head(**stage) + content)  # type: ignore[arg-type]
    return exoskel.load(file)


def test_cameras_and_lights_that_are_not_read_are_losses(tmp_path: Path) -> None:
    scene = load(tmp_path, STAGE)
    found = [one.message for one in scene.diagnostics if one.key == "US114"]
    assert found == ["camera 'eye' is not read", "light 'sun' is not read", "light 'sky' is not read"]
    for to in ("mjcf", "sdf"):
        losses = {one.path: one.why for one in exoskel.convert(scene, None, to=to).losses}
        assert "camera 'eye' is not read (US114)" in losses.values()
        assert "light 'sky' is not read (US114)" in losses.values()
