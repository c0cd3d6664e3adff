"""The format MJCF as the registry sees it."""

from __future__ import annotations

from exoskel.diagnostics import Catalogue
from exoskel.formats.interface import Format, Reader, SourceMapping, WriterCapabilities


class MjcfFormat(Format):
    name = "mjcf"
    title = "MJCF, the format of MuJoCo, which compiles it"
    label = "MJCF"
    roots = ("mujoco",)
    up_axis = "z"
    targets = ("mujoco4", "mujoco3", "newton", "dm_control", "dart", "isaac")
    extensions = (".xml", ".mjcf")
    holds_one_world = True
    has_vocabulary = False

    def catalogue(self) -> Catalogue:
        from exoskel.formats.mjcf.codes import CATALOGUE

        return CATALOGUE

    def reader(self) -> Reader:
        from exoskel.formats.mjcf.read import read

        return read

    def capabilities(self) -> WriterCapabilities:
        from exoskel.formats.mjcf.file_writer import CAPABILITIES

        return CAPABILITIES

    def source_mapping(self) -> SourceMapping:
        from exoskel.formats.mjcf.source_mapping import SOURCE_MAPPING

        return SOURCE_MAPPING
