"""The format USD as the registry sees it."""

from __future__ import annotations

from exoskel.diagnostics import Catalogue
from exoskel.formats.interface import Format, WriterCapabilities


class UsdFormat(Format):
    name = "usd"
    title = "USD with UsdPhysics, for Omniverse, Newton and Blender"
    label = "USD"
    extensions = (".usda", ".usdc", ".usd")
    magic = (b"#usda", b"PXR-USDC")
    has_vocabulary = False
    is_readable = False
    is_xml = False

    def catalogue(self) -> Catalogue:
        from exoskel.formats.usd.codes import CATALOGUE

        return CATALOGUE

    def capabilities(self) -> WriterCapabilities:
        from exoskel.formats.usd.compose import CAPABILITIES

        return CAPABILITIES
