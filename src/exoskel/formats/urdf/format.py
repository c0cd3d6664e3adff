"""The format URDF as the registry sees it."""

from __future__ import annotations

from exoskel.diagnostics import Catalogue
from exoskel.formats.interface import Format, Reader, SourceMapping, WriterCapabilities
from exoskel.source.vocabulary import Vocabulary


class UrdfFormat(Format):
    name = "urdf"
    title = "URDF, the robot format of ROS"
    label = "URDF"
    roots = ("robot",)
    up_axis = "z"
    extensions = (".urdf", ".xacro")
    holds_one_world = True
    holds_one_model = True

    def catalogue(self) -> Catalogue:
        from exoskel.formats.urdf.codes import CATALOGUE

        return CATALOGUE

    def reader(self) -> Reader:
        from exoskel.formats.urdf.read import read

        return read

    def capabilities(self) -> WriterCapabilities:
        from exoskel.formats.urdf.write import CAPABILITIES

        return CAPABILITIES

    def vocabulary(self) -> Vocabulary:
        from exoskel.formats.urdf.vocabulary import URDF

        return URDF

    def source_mapping(self) -> SourceMapping:
        from exoskel.formats.urdf.source_mapping import SOURCE_MAPPING

        return SOURCE_MAPPING
