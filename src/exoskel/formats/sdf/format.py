"""The format SDF as the registry sees it."""

from __future__ import annotations

from exoskel.diagnostics import Catalogue
from exoskel.formats.interface import Format, Reader, SourceMapping, WriterCapabilities
from exoskel.source.vocabulary import Vocabulary


class SdfFormat(Format):
    name = "sdf"
    title = "SDFormat, the format of Gazebo"
    label = "SDF"
    roots = ("sdf", "gazebo")
    up_axis = "z"
    targets = ("dart",)
    extensions = (".sdf", ".world")

    def catalogue(self) -> Catalogue:
        from exoskel.formats.sdf.codes import CATALOGUE

        return CATALOGUE

    def reader(self) -> Reader:
        from exoskel.formats.sdf.read import read

        return read

    def capabilities(self) -> WriterCapabilities:
        from exoskel.formats.sdf.write import CAPABILITIES

        return CAPABILITIES

    def vocabulary(self) -> Vocabulary:
        from exoskel.formats.sdf.vocabulary import SDF

        return SDF

    def source_mapping(self) -> SourceMapping:
        from exoskel.formats.sdf.source_mapping import SOURCE_MAPPING

        return SOURCE_MAPPING
