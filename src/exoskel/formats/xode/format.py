"""The format XODE as the registry sees it."""

from __future__ import annotations

from exoskel.diagnostics import Catalogue
from exoskel.formats.interface import Format, FormatEditor, Reader, SourceMapping, WriterCapabilities
from exoskel.source.embedded_format import EXTENSION
from exoskel.source.vocabulary import Vocabulary


class XodeFormat(Format):
    name = "xode"
    title = "XODE, the XML format of ODE"
    label = "XODE"
    roots = ("xode",)
    extensions = (".xode",)
    embedding = EXTENSION
    has_pyode_dialect = True
    targets = ("pyode",)

    def catalogue(self) -> Catalogue:
        from exoskel.formats.xode.codes import CATALOGUE

        return CATALOGUE

    def reader(self) -> Reader:
        from exoskel.formats.xode.read import read

        return read

    def capabilities(self) -> WriterCapabilities:
        from exoskel.formats.xode.write import CAPABILITIES

        return CAPABILITIES

    def vocabulary(self) -> Vocabulary:
        from exoskel.formats.xode.vocabulary import XODE

        return XODE

    def source_mapping(self) -> SourceMapping:
        from exoskel.formats.xode.source_mapping import SOURCE_MAPPING

        return SOURCE_MAPPING

    def editor(self) -> type[FormatEditor]:
        from exoskel.formats.xode.editor import XodeEditor

        return XodeEditor
