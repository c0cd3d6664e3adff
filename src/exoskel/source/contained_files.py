"""Files inside of other files: those in archives of USDZ, and images in glTF files.

Such a file has a path such as `robot.usdz[textures/wood.png]`, as in USD, or `robot.glb[images/0.png]`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import BinaryIO

from exoskel.source import gltf_images, usdz_archive
from exoskel.source.gltf_images import ReadBeside

_INSIDE = re.compile(r"(?P<container>.+\.(?:usdz|glb|gltf))\[(?P<name>.+)\]", re.IGNORECASE | re.DOTALL)


def path_inside(container: str, name: str) -> str:
    """The path of a file in another file."""
    return f"{container}[{name}]"


def split_path(path: str) -> tuple[str, str]:
    """The file around a file and the name in it, of a path; the name is empty for other files."""
    if not path.endswith("]"):
        return path, ""
    found = _INSIDE.fullmatch(path)
    return (found["container"], found["name"]) if found else (path, "")


def read_contained(file: BinaryIO, path: str, most: int, read_beside: ReadBeside) -> bytes:
    """The content of the file with a path in an open file, or its first `most` + 1 bytes.  Raises OSError.

    `read_beside` reads other files that belong to the open one, by their paths from its folder.
    """
    container, name = split_path(path)
    if _is_gltf(container):
        return gltf_images.read_member(file, name, most, read_beside)
    return usdz_archive.read_member(file, name, most)


def stem_and_extension(path: Path) -> tuple[str, str]:
    """The name of a file, which may be in another one, and its extension.

    Images in glTF files have numbers, so the name of the file precedes them.
    """
    container, name = split_path(str(path))
    own = Path(name or path)
    return (f"{Path(container).stem}_{own.stem}" if name and _is_gltf(container) else own.stem), own.suffix


def _is_gltf(container: str) -> bool:
    return container.lower().endswith(gltf_images.EXTENSIONS)
