"""The formats there are, and how one is told from another.  Adding a format is adding a row."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import PurePath
from typing import Any

from msgspec import Struct

from exoskel.diagnostics import Catalogue, ExoskelError
from exoskel.formats.options import ReadOptions
from exoskel.scene.world import Scene
from exoskel.source import sniff
from exoskel.source.document import Document
from exoskel.source.markup import Markup
from exoskel.source.output import Output
from exoskel.source.vocabulary import Vocabulary

Reader = Callable[[Document, ReadOptions], Scene]
Writer = Callable[[Scene, Output], Markup]


class Format(Struct, frozen=True):
    """A format: the roots and endings it is known by, and the package that reads it."""

    name: str
    title: str
    roots: tuple[str, ...]
    endings: tuple[str, ...]
    package: str

    def reader(self) -> Reader:
        reader: Reader = import_module(f"{self.package}.read").read
        return reader

    def writer(self) -> Writer:
        writer: Writer = import_module(f"{self.package}.write").write
        return writer

    def part(self, module: str, name: str) -> Any:
        """A table of the format's package, such as what it calls its joints."""
        return getattr(import_module(f"{self.package}.{module}"), name)

    def catalogue(self) -> Catalogue:
        catalogue: Catalogue = import_module(f"{self.package}.codes").CATALOGUE
        return catalogue

    def vocabulary(self) -> Vocabulary:
        module = import_module(f"{self.package}.vocabulary")
        vocabulary: Vocabulary = getattr(module, self.name.upper())
        return vocabulary


FORMATS = (
    Format("skel", "SKEL, the XML format of DART", ("skel",), (".skel",), "exoskel.formats.skel"),
    Format("xode", "XODE, the XML format of ODE", ("xode",), (".xode",), "exoskel.formats.xode"),
)


def by_name(name: str) -> Format:
    found = next((f for f in FORMATS if f.name == name.lower().lstrip(".")), None)
    if found is None:
        known = ", ".join(f.name for f in FORMATS)
        raise ExoskelError(f"there is no format called {name!r}; the formats are {known}")
    return found


def detect(data: bytes, name: str) -> Format:
    """The format of a file, by content first, then by its ending; the first one where neither tells."""
    root = sniff.root_name(data).rpartition(":")[2]
    for candidate in FORMATS:
        if root in candidate.roots:
            return candidate
    ending = PurePath(name).suffix.lower()
    return next((f for f in FORMATS if ending in f.endings), FORMATS[0])


def engine_of(code: str) -> str:
    """What the old reader of a code's format is called."""
    return next((c.engine for c in catalogues() if code in c.topics), "")


def catalogues() -> list[Catalogue]:
    return [f.catalogue() for f in FORMATS]
