"""The files that a mesh file needs beside it: materials of OBJ files, and images of these and of COLLADA files.

They have the same limits as the images of pictures: they lie in the folder of the mesh, or in one for textures beside
it.  Text glTF becomes one file with its images.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from exoskel.source.mesh_packages import GLB, PACKAGES
from exoskel.source.mesh_textures import gltf_as_glb, read_beside, read_image_beside
from exoskel.source.meshes import MeshError, read_mesh_file

AddFile = Callable[[str, bytes], str]
"""Adds a file with a name and content beside the copy of a mesh; returns the name that it gets."""

_MATERIALS = re.compile(rb"^([ \t]*mtllib[ \t]+)([^\r\n]*[^\s])", re.MULTILINE)
_MAPS = re.compile(rb"^([ \t]*(?:map_\w+|bump|disp|decal|refl)[ \t]+)([^\r\n]*[^\s])", re.MULTILINE | re.IGNORECASE)
_INITIAL = re.compile(rb"(<(?:\w+:)?(?:init_from|ref)>\s*)([^<>]*[^<>\s])(?=\s*</)")
_MOST_FILES = 100
_MOST_MATERIAL_BYTES = 2**20


class MeshCompanions:
    """Copies what a mesh file refers to, and changes the references in the copy of the mesh where names are taken.

    `missing` are the references whose files cannot be copied.  Many OBJ files name materials that do not exist in their
    folder, which are not part of these.  Whether files exist elsewhere must not be seen.
    """

    def __init__(self, path: Path, add: AddFile) -> None:
        self.folder = path.parent
        self.kind = path.suffix.lower()
        self.missing: list[str] = []
        self._add = add
        self._count = 0

    def rewrite(self, data: bytes) -> bytes:
        """The content of the mesh file with references to the copies."""
        match self.kind:
            case ".obj":
                return _MATERIALS.sub(self._material, data) if b"mtllib" in data else data
            case ".dae":
                return _INITIAL.sub(self._image, data)
            case _:
                return data

    def _material(self, found: re.Match[bytes]) -> bytes:
        name = _text(found[2])
        content = read_beside(self.folder, name, _MOST_MATERIAL_BYTES) if self._may_add() else None
        if content is None:
            if not Path(os.path.normpath(self.folder / name)).is_relative_to(os.path.normpath(self.folder)):
                self.missing.append(name)
            return found[0]
        return found[1] + self._add(_last_part(name), _MAPS.sub(self._image, content)).encode()

    def _image(self, found: re.Match[bytes]) -> bytes:
        name = _text(found[2])
        content, place = read_image_beside(self.folder, name) if self._may_add() else (None, name)
        if content is None:
            if not name.startswith("#") and os.path.splitext(name)[1]:  # others are ids of elements, not files
                self.missing.append(name)
            return found[0]
        options = name[: len(name) - len(place)] if name.endswith(place) else ""
        return found[1] + (options + self._add(_last_part(place), content)).encode()

    def _may_add(self) -> bool:
        self._count += 1
        return self._count <= _MOST_FILES


def copied_extension(path: Path) -> str:
    """The extension of the copy of a mesh file: packages are copied as one file."""
    extension = path.suffix.lower()
    return f".{GLB}" if extension.lstrip(".") in PACKAGES else extension


def copied_mesh(path: Path, within: Path | None, add: AddFile) -> bytes:
    """The content of the copy of a mesh file; copies of what it refers to are added.  Raises MeshError."""
    data = read_mesh_file(path, within=within)
    if path.suffix.lower() == ".gltf":
        return gltf_as_glb(path, within=within)
    return MeshCompanions(path, add).rewrite(data)


def lacks_companions(path: Path, within: Path | None) -> bool:
    """Whether something that a mesh file refers to cannot be copied with it."""
    found = MeshCompanions(path, lambda name, _: name)
    try:
        found.rewrite(read_mesh_file(path, within=within))
    except MeshError:
        return False
    return bool(found.missing)


def _text(name: bytes) -> str:
    return name.decode("utf-8", "replace")


def _last_part(name: str) -> str:
    """The last part of a path, without spaces: some readers end names there."""
    return name.replace("\\", "/").rpartition("/")[2].replace(" ", "_")
