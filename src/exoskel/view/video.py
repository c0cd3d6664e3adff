"""Pictures and videos as files."""

from __future__ import annotations

import importlib.util
import os
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

import numpy as np

from exoskel.diagnostics import ExoskelError
from exoskel.source.atomic_write import WriteError, open_atomically
from exoskel.view.software_renderer import Image

STILL = (".png", ".jpg", ".jpeg", ".webp")
MOVING = (".mp4", ".gif")
GIF_RATE = 50.0
"""Pictures a second of a .gif: it holds times in hundredths of a second, and browsers are slow if one is below two."""
_NEEDS_FFMPEG = "mp4 videos need imageio-ffmpeg: pip install 'exoskel[view]'; .gif needs nothing"


def is_video(path: str | os.PathLike[str]) -> bool:
    return Path(path).suffix.lower() in MOVING


def is_gif(path: str | os.PathLike[str]) -> bool:
    return Path(path).suffix.lower() == ".gif"


def check_file(path: str | os.PathLike[str], endings: tuple[str, ...] = STILL + MOVING) -> None:
    """Raise if such a file could not be written there: for asking before a long run."""
    target = Path(path)
    if target.suffix.lower() not in endings:
        ending = target.suffix or "a file without an ending"
        raise ExoskelError(f"{ending!r} is nothing that can be drawn: {', '.join(endings[:-1])} or {endings[-1]}")
    if not target.absolute().parent.is_dir():
        raise ExoskelError(f"there is no folder {os.fspath(target.parent)!r} to write to")
    if target.is_dir():
        raise ExoskelError(f"{os.fspath(target)!r} is a folder, not a file to write to")
    if target.suffix.lower() == ".mp4" and importlib.util.find_spec("imageio_ffmpeg") is None:
        raise ExoskelError(_NEEDS_FFMPEG)


def write_picture(path: str | os.PathLike[str], image: Image) -> None:
    """Write one picture, by the ending."""
    from PIL import Image as Pillow

    kind = Pillow.registered_extensions().get(Path(path).suffix.lower())
    try:
        with open_atomically(Path(path)) as file:
            Pillow.fromarray(image).save(file, format=kind)
    except WriteError:
        raise
    except (OSError, ValueError) as error:
        raise ExoskelError(f"the picture cannot be written: {error}") from None


def write_video(path: str | os.PathLike[str], images: Iterable[Image], rate: float) -> None:
    """Write pictures of one size, `rate` of them a second, as `.mp4` or `.gif`."""
    try:
        with open_atomically(Path(path)) as file:
            (_write_gif if is_gif(path) else _write_mp4)(file, images, rate)
    except WriteError:
        raise
    except OSError as error:
        raise ExoskelError(f"the video cannot be written: {error}") from None


def _write_gif(file: BinaryIO, images: Iterable[Image], rate: float) -> None:
    from PIL import Image as Pillow

    kept = list(images)
    if not kept:
        raise ExoskelError("there is nothing to draw")
    # One set of colours for all pictures, taken from some of them: with one for each, still parts flicker.
    some = np.concatenate([kept[i] for i in np.unique(np.linspace(0, len(kept) - 1, 6).astype(int))])
    colors = Pillow.fromarray(some).quantize(255)
    frames = [Pillow.fromarray(image).quantize(palette=colors) for image in kept]
    frames[0].save(
        file,
        format="GIF",
        save_all=True,
        append_images=frames[1:],
        duration=_durations(len(frames), rate),
        loop=0,
        optimize=False,
    )


def _durations(count: int, rate: float) -> list[int]:
    """How long each picture is shown, ms, in whole hundredths of a second that add up to what they should."""
    ends = np.round(np.arange(count + 1) * (100.0 / rate)).astype(int)
    times: list[int] = (10 * np.diff(ends)).tolist()
    return times


def _write_mp4(file: BinaryIO, images: Iterable[Image], rate: float) -> None:
    try:
        import imageio_ffmpeg
    except ImportError:
        raise ExoskelError(_NEEDS_FFMPEG) from None
    pictures = iter(images)
    first = next(pictures, None)
    if first is None:
        raise ExoskelError("there is nothing to draw")
    height, width = first.shape[:2]
    # fmt: off
    command = [
        imageio_ffmpeg.get_ffmpeg_exe(), "-y", "-loglevel", "error",
        "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{rate:.12g}", "-i", "-",
        "-an", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "18", "-preset", "medium", "-movflags", "+faststart",
        "-f", "mp4", f"file:{file.name}",
    ]
    # fmt: on
    with TemporaryFile() as said:
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=said) as ffmpeg:
            assert ffmpeg.stdin is not None
            with suppress(BrokenPipeError):  # it says why
                for image in chain([first], pictures):
                    ffmpeg.stdin.write(np.ascontiguousarray(image).tobytes())
                ffmpeg.stdin.close()
        if ffmpeg.returncode:
            said.seek(0)
            lines = said.read().decode("utf-8", "replace").strip().splitlines()
            # The first line is the cause; what stands in brackets is ffmpeg's own.
            raise OSError(lines[0].rpartition("] ")[2] if lines else f"ffmpeg ended with exit code {ffmpeg.returncode}")
