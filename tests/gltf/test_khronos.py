"""The validator of the Khronos Group reports no error, warning or hint for the files we write."""

from __future__ import annotations

from pathlib import Path

import pytest

import exoskel
from exoskel.formats.gltf.animation import Motion
from exoskel.formats.gltf.write import write
from exoskel.source.output_context import OutputContext
from exoskel.spatial import pose7
from tests.gltf.test_animation import boxes, rotating_boxes
from tests.oracles import khronos
from tests.support.scenes import all_files, name_of

pytestmark = pytest.mark.skipif(not khronos.available(), reason="the Khronos validator is not installed")


def is_sound(data: bytes, folder: Path) -> dict[str, object]:
    file = folder / "out.glb"
    file.write_bytes(data)
    report = khronos.report(file)
    assert report["issues"]["messages"] == []
    info: dict[str, object] = report["info"]
    return info


@pytest.mark.parametrize("file", all_files(), ids=name_of)
def test_every_scene_passes_the_validator(file: Path, tmp_path: Path) -> None:
    scene = exoskel.load(file)
    info = is_sound(write(scene, OutputContext(), shown="both"), tmp_path)
    assert info["version"] == "2.0"


def test_a_motion_passes_the_validator(tmp_path: Path) -> None:
    times, poses = rotating_boxes(50, 7)
    info = is_sound(
        write(exoskel.Scene(worlds=[boxes(7)]), OutputContext(), motion=Motion(times, pose7(poses))), tmp_path
    )
    assert info["animationCount"] == 1
