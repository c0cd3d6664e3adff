"""The format glTF as the registry sees it."""

from __future__ import annotations

from exoskel.diagnostics import Catalogue
from exoskel.formats.interface import Format, WriterCapabilities


class GltfFormat(Format):
    name = "gltf"
    title = "binary glTF, for browsers, Blender and game engines"
    label = "glTF"
    extensions = (".glb",)
    magic = (b"glTF",)
    has_vocabulary = False
    is_readable = False
    is_xml = False

    def catalogue(self) -> Catalogue:
        from exoskel.formats.gltf.codes import CATALOGUE

        return CATALOGUE

    def capabilities(self) -> WriterCapabilities:
        from exoskel.formats.gltf.compose import CAPABILITIES

        return CAPABILITIES
