"""The files that the layers of a document name: on disk, or in its archive."""

from __future__ import annotations

import posixpath
from pathlib import Path

from exoskel.formats.interface import ReadOptions
from exoskel.formats.usd.reader.stage import ROOT
from exoskel.scene.shape import Texture
from exoskel.source import file_lookup
from exoskel.source.document import Document
from exoskel.source.file_access import read_referenced
from exoskel.source.textures import TextureFinder
from exoskel.source.usdz_archive import SIGNATURE, PackageError, unpack

LAYERS = (b"#usda", b"PXR-USDC")
"""The first bytes of layers, as text and in binary form."""


class LayerFiles:
    """Finds and reads the files that layers name.

    A file has a key: its absolute path, or its name in the archive.  That of the document, or of the layer that is
    opened of an archive, is `ROOT`.  `missing` are references to files that were not found.
    """

    def __init__(self, document: Document, options: ReadOptions) -> None:
        self.document = document
        self.options = options
        self.missing: list[str] = []
        self.files: list[str] = []
        """The paths of the layers that were found."""
        self.package: dict[str, bytes] = {}
        self.first = ""
        """The name of the layer that is opened, in the archive."""
        self._within = file_lookup.confinement(document.location, options.paths)
        self._images = TextureFinder(document.location, options.paths)

    @property
    def folder(self) -> str:
        """The folder of the document, or of its first layer in the archive."""
        if self.package:
            return posixpath.dirname(self.first)
        folder = self.document.location.directory
        return "" if folder is None else str(folder.absolute())

    def first_layer(self) -> bytes:
        """The document, or the layer that is opened of an archive."""
        data = self.document.data
        if not data.startswith(SIGNATURE):
            return data
        self.package = unpack(data)
        self.first, layer = next(iter(self.package.items()))
        if not layer.startswith(LAYERS):
            raise PackageError("the first file of the archive is not a layer")
        return layer

    def locate(self, key: str, path: str) -> str | None:
        """The key of the file that a layer names; None if there is no such file."""
        if self.package:
            name = posixpath.normpath(posixpath.join(posixpath.dirname(key or self.first), path))
            return name if name in self.package else None
        location = self.document.location if key == ROOT else file_lookup.Location(path=key)
        found = file_lookup.find_file(path, location, self.options.paths).path
        return None if found is None else str(Path(found).absolute())

    def content(self, key: str, most: int) -> bytes:
        """The content of a file, or its first `most` + 1 bytes.  Raises OSError."""
        return self.package[key] if self.package else read_referenced(key, most, self._within)

    def find(self, key: str, path: str) -> tuple[str, bytes] | None:
        """The layer that a layer names: its key and content."""
        found = self.locate(key, path)
        try:
            data = b"" if found is None else self.content(found, self.options.limits.bytes)
        except OSError:
            data = b""
        if found is None or not data.startswith(LAYERS):
            self.missing.append(path)
            return None
        if not self.package and found not in self.files:
            self.files.append(found)
        return found, data

    def locate_texture(self, texture: Texture) -> Texture:
        """The texture with the path of its image, or with None if there is no such file."""
        if not self.package:
            return self._images.locate(texture)
        return self._images.locate_inside(texture, self.locate(ROOT, texture.uri))
