"""Pictures and videos as files."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from exoskel.diagnostics import ExoskelError
from exoskel.view.picture import Image

STILL = (".png", ".jpg", ".jpeg", ".webp")
MOVING = (".mp4", ".gif")
_NEEDS_FFMPEG = "mp4 videos need imageio-ffmpeg: pip install 'exoskel[view]'; .gif needs nothing"


def is_video(path: str | os.PathLike[str]) -> bool:
    return Path(path).suffix.lower() in MOVING


def check_file(path: str | os.PathLike[str], endings: tuple[str, ...] = STILL + MOVING) -> None:
    """Raise if such a file could not be written there: for asking before a long run."""
    target = Path(path)
    if target.suffix.lower() not in endings:
        ending = target.suffix or "a file without an ending"
        raise ExoskelError(f"{ending!r} is nothing that can be drawn: {', '.join(endings[:-1])} or {endings[-1]}")
    if not target.absolute().parent.is_dir():
        raise ExoskelError(f"there is no folder {os.fspath(target.parent)!r} to write to")
    if target.suffix.lower() == ".mp4" and importlib.util.find_spec("imageio_ffmpeg") is None:
        raise ExoskelError(_NEEDS_FFMPEG)


def write_picture(path: str | os.PathLike[str], image: Image) -> None:
    """Write one picture, by the ending."""
    from PIL import Image as Pillow

    try:
        Pillow.fromarray(image).save(path)
    except (OSError, ValueError) as error:
        raise ExoskelError(f"the picture cannot be written: {error}") from None


def write_video(path: str | os.PathLike[str], images: Iterable[Image], rate: float) -> None:
    """Write pictures of one size, `rate` of them a second, as `.mp4` or `.gif`."""
    try:
        if Path(path).suffix.lower() == ".gif":
            _write_gif(path, images, rate)
        else:
            _write_mp4(path, images, rate)
    except OSError as error:
        raise ExoskelError(f"the video cannot be written: {error}") from None


def _write_gif(path: str | os.PathLike[str], images: Iterable[Image], rate: float) -> None:
    from PIL import Image as Pillow

    kept = list(images)
    if not kept:
        raise ExoskelError("there is nothing to draw")
    # One set of colours for all pictures, taken from some of them: with one for each, still parts flicker.
    some = np.concatenate([kept[i] for i in np.unique(np.linspace(0, len(kept) - 1, 6).astype(int))])
    colors = Pillow.fromarray(some).quantize(255)
    frames = [Pillow.fromarray(image).quantize(palette=colors) for image in kept]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=round(1000 / rate), loop=0, optimize=False)


def _write_mp4(path: str | os.PathLike[str], images: Iterable[Image], rate: float) -> None:
    try:
        import imageio_ffmpeg
    except ImportError:
        raise ExoskelError(_NEEDS_FFMPEG) from None
    writer = None
    try:
        for image in images:
            if writer is None:
                height, width = image.shape[:2]
                writer = imageio_ffmpeg.write_frames(
                    os.fspath(path),
                    (width, height),
                    fps=rate,
                    codec="libx264",
                    pix_fmt_out="yuv420p",
                    macro_block_size=2,
                    output_params=["-crf", "18", "-preset", "medium", "-movflags", "+faststart"],
                    ffmpeg_log_level="error",
                )
                writer.send(None)
            writer.send(np.ascontiguousarray(image))
    finally:
        if writer is not None:
            writer.close()
