"""A document that is open in an editor, with its scene and diagnostics."""

from __future__ import annotations

from functools import cached_property

from msgspec import Struct

from exoskel.formats import registry
from exoskel.formats.interface import Dialect, Semantics
from exoskel.formats.load import load
from exoskel.lsp.text_positions import EditorPositions, editor_document
from exoskel.scene.world import Scene
from exoskel.source.document import Document
from exoskel.source.file_lookup import Location
from exoskel.source.limits import Limits

_LIMITS = Limits(seconds=2.0)
"""While a document is read, the editor waits."""


class Settings(Struct, frozen=True, kw_only=True, rename="camel"):
    """How files are read; editors can send these as initialization options."""

    semantics: Semantics = "written"
    dialect: Dialect = "auto"
    package_path: tuple[str, ...] = ()
    confine: bool = False


class OpenDocument:
    """One version of the text of a file; its scene and positions are computed once."""

    def __init__(self, text: str, path: str, settings: Settings, units: str) -> None:
        self.path = path
        self.settings = settings
        self.units = units
        location = Location(path=path) if path else Location()
        self.document = editor_document(text, path or "<untitled>", location)
        self.format = registry.detect(self.document.data, self.document.name)
        self.vocabulary = self.format.vocabulary() if self.format.has_vocabulary else None

    @property
    def text(self) -> bytes:
        return self.document.text

    @cached_property
    def positions(self) -> EditorPositions:
        return EditorPositions(self.document.scan, self.units)

    @cached_property
    def scene(self) -> Scene:
        return self.read(self.document.data)

    @property
    def source(self) -> Document:
        """The document that the scene's diagnostics and items refer to."""
        found = self.scene.documents[0] if self.scene.documents else None
        return found if isinstance(found, Document) else self.document

    def read(self, data: bytes) -> Scene:
        """Read other content of the same file with the same settings."""
        settings = self.settings
        return load(
            data,
            format=self.format.name,
            name=self.document.name,
            base=self.path or None,
            semantics=settings.semantics,
            dialect=settings.dialect,
            package_path=settings.package_path,
            confine=settings.confine,
            limits=_LIMITS,
            expand=False,  # positions are those of the text in the editor
        )
