"""`exoskel render`, and videos of `exoskel run`."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from tests.cli.conftest import Command


def test_an_image_is_rendered(exoskel_command: Command, tmp_path: Path) -> None:
    out = tmp_path / "a.png"
    ran = exoskel_command(
        "render", "dart://sample/skel/pendulum.skel", "--out", out, "--size", "64x48", "--renderer", "software"
    )
    assert (ran.code, ran.out.strip(), ran.err) == (0, str(out), "")
    assert Image.open(out).size == (64, 48)
    ran = exoskel_command("render", "dart://sample/skel/pendulum.skel", "--out", out, "--size", "big")
    assert ran.code == 2 and "1280x720" in ran.err
    ran = exoskel_command("run", "dart://sample/skel/pendulum.skel", "--time", "0.1", "--video", tmp_path / "a.png")
    assert ran.code == 2 and ".mp4 or .gif" in ran.err


def test_a_run_is_rendered_as_a_video(
    exoskel_command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exoskel.view.render.VIDEO_SIZE", (96, 64))
    out = tmp_path / "a.gif"
    ran = exoskel_command("run", "dart://sample/skel/pendulum.skel", "--time", "0.2", "--video", out)
    assert ran.code == 0
    assert Image.open(out).n_frames == 7  # type: ignore[attr-defined]


def test_it_reports_that_mujoco_cannot_render(
    exoskel_command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUJOCO_GL", "off")
    monkeypatch.setattr("exoskel.view.render.VIDEO_SIZE", (96, 64))
    picture, video = tmp_path / "a.png", tmp_path / "a.gif"
    ran = exoskel_command("render", "dart://sample/skel/pendulum.skel", "--out", picture, "--size", "64x48")
    assert (ran.code, ran.out.strip()) == (0, str(picture))
    assert "using the software renderer; MuJoCo cannot render here: MUJOCO_GL disables it" in ran.err
    ran = exoskel_command("run", "dart://sample/skel/pendulum.skel", "--time", "0.1", "--video", video)
    assert ran.code == 0 and "using the software renderer" in ran.err
    ran = exoskel_command("render", "dart://sample/skel/pendulum.skel", "--out", picture, "--renderer", "mujoco")
    assert ran.code == 2 and "MUJOCO_GL disables it" in ran.err
    assert "Traceback" not in ran.err
