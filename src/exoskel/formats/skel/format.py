"""The format SKEL as the registry sees it."""

from __future__ import annotations

from exoskel.diagnostics import Catalogue
from exoskel.formats.interface import Format, FormatEditor, Reader, SourceMapping, WriterCapabilities
from exoskel.source.embedded_format import NAMESPACED
from exoskel.source.vocabulary import Vocabulary


class SkelFormat(Format):
    name = "skel"
    title = "SKEL, the XML format of DART"
    label = "SKEL"
    roots = ("skel", "dart")
    extensions = (".skel",)
    embedding = NAMESPACED
    holds_one_world = True
    dart_ignores_limits = True
    world_name = "world"

    def catalogue(self) -> Catalogue:
        from exoskel.formats.skel.codes import CATALOGUE

        return CATALOGUE

    def reader(self) -> Reader:
        from exoskel.formats.skel.read import read

        return read

    def capabilities(self) -> WriterCapabilities:
        from exoskel.formats.skel.write import CAPABILITIES

        return CAPABILITIES

    def vocabulary(self) -> Vocabulary:
        from exoskel.formats.skel.vocabulary import SKEL

        return SKEL

    def source_mapping(self) -> SourceMapping:
        from exoskel.formats.skel.source_mapping import SOURCE_MAPPING

        return SOURCE_MAPPING

    def editor(self) -> type[FormatEditor]:
        from exoskel.formats.skel.editor import SkelEditor

        return SkelEditor
