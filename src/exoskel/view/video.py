"""Writing images and videos to files."""

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
from exoskel.source.atomic_write import WriteError, check_writable, open_atomically
from exoskel.view.software_renderer import Image

IMAGE_EXTENSIONS = (".png", ".jpg", ".jpeg", ".webp")
VIDEO_EXTENSIONS = (".mp4", ".gif")
RATES = (0.01, 1000.0)
"""The lowest and the highest number of frames per second."""
GIF_RATE = 50.0
"""The highest frame rate of .gif files: browsers slow down frames shorter than two hundredths of a second."""
_NEEDS_FFMPEG = "imageio-ffmpeg is not installed; for .mp4 run `pip install 'exoskel[view]'`, or write a .gif instead"


def is_video(path: str | os.PathLike[str]) -> bool:
    return Path(path).suffix.lower() in VIDEO_EXTENSIONS


def is_gif(path: str | os.PathLike[str]) -> bool:
    return Path(path).suffix.lower() == ".gif"


def check_image_file(
    path: str | os.PathLike[str], extensions: tuple[str, ...] = IMAGE_EXTENSIONS + VIDEO_EXTENSIONS
) -> None:
    """Raise an error if an image or video cannot be written to `path`; for checks before a long run."""
    target = Path(path)
    if target.suffix.lower() not in extensions:
        known = f"{', '.join(extensions[:-1])} or {extensions[-1]}"
        raise ExoskelError(f"cannot write {os.fspath(target)!r}: the extension must be {known}")
    check_writable(target)
    if target.suffix.lower() == ".mp4" and importlib.util.find_spec("imageio_ffmpeg") is None:
        raise ExoskelError(_NEEDS_FFMPEG)


def write_image(path: str | os.PathLike[str], image: Image) -> None:
    """Write an image in the format of its extension."""
    from PIL import Image as Pillow

    kind = Pillow.registered_extensions().get(Path(path).suffix.lower())
    try:
        with open_atomically(Path(path)) as file:
            Pillow.fromarray(image).save(file, format=kind)
    except WriteError:
        raise
    except (OSError, ValueError) as error:
        raise ExoskelError(f"cannot write the image: {error}") from None


def write_video(path: str | os.PathLike[str], images: Iterable[Image], rate: float) -> None:
    """Write frames of one size as `.mp4` or `.gif`, at `rate` frames per second."""
    try:
        with open_atomically(Path(path)) as file:
            (_write_gif if is_gif(path) else _write_mp4)(file, images, rate)
    except WriteError:
        raise
    except OSError as error:
        raise ExoskelError(f"cannot write the video: {error}") from None


def _write_gif(file: BinaryIO, images: Iterable[Image], rate: float) -> None:
    from PIL import Image as Pillow

    pictures = list(images)
    if not pictures:
        raise ExoskelError("cannot write a video without frames")
    # All frames share one palette, taken from a few of them; with one palette each, still parts would flicker.
    some = np.concatenate([pictures[i] for i in np.unique(np.linspace(0, len(pictures) - 1, 6).astype(int))])
    colors = Pillow.fromarray(some).quantize(255)
    frames = [Pillow.fromarray(image).quantize(palette=colors) for image in pictures]
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
    """The duration of each frame in ms: whole hundredths of a second whose sum matches the frame rate."""
    ends = np.round(np.arange(count + 1) * (100.0 / rate)).astype(int)
    times: list[int] = (10 * np.diff(ends)).tolist()
    return times


def _write_mp4(file: BinaryIO, images: Iterable[Image], rate: float) -> None:
    try:
        import imageio_ffmpeg
    except ImportError:
        raise ExoskelError(_NEEDS_FFMPEG) from None
    frames = iter(images)
    first = next(frames, None)
    if first is None:
        raise ExoskelError("cannot write a video without frames")
    height, width = first.shape[:2]
    # fmt: off
    command = [
        imageio_ffmpeg.get_ffmpeg_exe(), "-y", "-loglevel", "error",
        "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{rate:.12g}", "-i", "-",
        "-an", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "18", "-preset", "medium", "-movflags", "+faststart",
        "-f", "mp4", f"file:{file.name}",
    ]
    # fmt: on
    with TemporaryFile() as errors:
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=errors) as ffmpeg:
            assert ffmpeg.stdin is not None
            with suppress(BrokenPipeError):  # ffmpeg prints the reason
                for image in chain([first], frames):
                    ffmpeg.stdin.write(np.ascontiguousarray(image).tobytes())
                ffmpeg.stdin.close()
        if ffmpeg.returncode:
            errors.seek(0)
            lines = errors.read().decode("utf-8", "replace").strip().splitlines()
            # The first line has the cause, after the name of an ffmpeg component in brackets.
            raise OSError(lines[0].rpartition("] ")[2] if lines else f"ffmpeg ended with exit code {ffmpeg.returncode}")
