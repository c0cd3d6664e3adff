"""The formats there are, and how one is told from another.  Adding a format is adding a row."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import PurePath
from typing import Any

from msgspec import Struct

from exoskel.diagnostics import Catalogue, Collector, ExoskelError
from exoskel.formats.codes import CATALOGUE
from exoskel.formats.read_options import ReadOptions
from exoskel.scene.world import Scene
from exoskel.source import sniff
from exoskel.source.document import Document
from exoskel.source.markup import Markup
from exoskel.source.output_context import OutputContext
from exoskel.source.vocabulary import Vocabulary

Reader = Callable[[Document, ReadOptions], Scene]
Writer = Callable[[Scene, OutputContext], Markup]


class Format(Struct, frozen=True):
    """A format: the roots, first bytes and endings it is known by, and the package that reads and writes it.

    A format that `carries` has a place for data that it has no words for.  One without a vocabulary is checked by
    somebody else's rules.
    """

    name: str
    title: str
    roots: tuple[str, ...]
    endings: tuple[str, ...]
    package: str
    carries: bool = False
    has_vocabulary: bool = True
    is_read: bool = True
    is_markup: bool = True
    """Documents are XML; the others are composed by their package, which reads them back to prove them."""
    writing: str = "write"
    """The module that has the writer and the tables of what the format says."""
    magic: tuple[bytes, ...] = ()
    """How files begin that are no XML."""
    short: str = ""
    holds_models: bool = False
    """A document is one model, not a world."""

    @property
    def label(self) -> str:
        """What it is called in short."""
        return self.short or self.name.upper()

    def reader(self) -> Reader:
        if not self.is_read:
            return _unread
        reader: Reader = import_module(f"{self.package}.read").read
        return reader

    def writer(self) -> Writer:
        writer: Writer = self.words("write")
        return writer

    def words(self, name: str, default: Any = None) -> Any:
        """A table of what the format has words for, such as which joints; the default where it has none."""
        module = import_module(f"{self.package}.{self.writing}")
        return getattr(module, name) if default is None else getattr(module, name, default)

    def part(self, module: str, name: str) -> Any:
        """A table of another module of the format's package, such as what its elements feed."""
        return getattr(import_module(f"{self.package}.{module}"), name)

    def catalogue(self) -> Catalogue:
        catalogue: Catalogue = import_module(f"{self.package}.codes").CATALOGUE
        return catalogue

    def vocabulary(self) -> Vocabulary:
        if not self.has_vocabulary:
            raise ExoskelError(f"exoskel has no table of the elements of {self.name.upper()}: {self.title}")
        module = import_module(f"{self.package}.vocabulary")
        vocabulary: Vocabulary = getattr(module, self.name.upper())
        return vocabulary


FORMATS = (
    Format("skel", "SKEL, the XML format of DART", ("skel",), (".skel",), "exoskel.formats.skel", carries=True),
    Format("xode", "XODE, the XML format of ODE", ("xode",), (".xode",), "exoskel.formats.xode", carries=True),
    Format(
        "mjcf",
        "MJCF, the format of MuJoCo, which compiles it",
        ("mujoco",),
        (".xml", ".mjcf"),
        "exoskel.formats.mjcf",
        has_vocabulary=False,
        writing="file_writer",
    ),
    Format(
        "urdf",
        "URDF, the robot format of ROS",
        ("robot",),
        (".urdf", ".xacro"),
        "exoskel.formats.urdf",
        holds_models=True,
    ),
    Format("sdf", "SDFormat, the format of Gazebo", ("sdf", "gazebo"), (".sdf", ".world"), "exoskel.formats.sdf"),
    Format(
        "usd",
        "USD with UsdPhysics, for Omniverse, Newton and Blender",
        (),
        (".usda", ".usdc", ".usd"),
        "exoskel.formats.usd",
        has_vocabulary=False,
        is_read=False,
        is_markup=False,
        writing="compose",
        magic=(b"#usda", b"PXR-USDC"),
    ),
    Format(
        "gltf",
        "binary glTF, for browsers, Blender and game engines",
        (),
        (".glb",),
        "exoskel.formats.gltf",
        has_vocabulary=False,
        is_read=False,
        is_markup=False,
        writing="compose",
        magic=(b"glTF",),
        short="glTF",
    ),
)
READ = tuple(one for one in FORMATS if one.is_read)
SHARED_ENDINGS = frozenset({".xml"})
"""Endings that tell little: files of several formats have them."""
DESCRIBED = tuple(one for one in READ if one.has_vocabulary)


def by_name(name: str) -> Format:
    found = next((f for f in FORMATS if f.name == name.lower().lstrip(".")), None)
    if found is None:
        known = ", ".join(f.name for f in FORMATS)
        raise ExoskelError(f"there is no format called {name!r}; the formats are {known}")
    return found


def by_ending(name: str) -> Format | None:
    """The format that files with the ending of `name` have."""
    ending = PurePath(name).suffix.lower()
    return next((f for f in FORMATS if ending in f.endings), None)


def of_output(name: str) -> Format:
    """As `by_ending`, of a file to be written."""
    found = by_ending(name)
    if found is None:
        known = ", ".join(ending for one in FORMATS for ending in one.endings)
        raise ExoskelError(f"the format of {name!r} cannot be told by its ending; the endings are {known}")
    return found


def detect(data: bytes, name: str) -> Format:
    """The format of a file, by content first, then by its ending; the first one where neither tells."""
    begun = next((f for f in FORMATS if f.magic and data.startswith(f.magic)), None)
    if begun is not None:
        return begun
    root = sniff.root_tag(data).rpartition(":")[2]
    found = next((f for f in FORMATS if root in f.roots), None)
    return found or by_ending(name) or FORMATS[0]


def engine_of(code: str) -> str:
    """What the old reader of a code's format is called."""
    return next((c.engine for c in catalogues() if code in c.topics), "")


def catalogues() -> list[Catalogue]:
    return [*(f.catalogue() for f in FORMATS), CATALOGUE]


def _unread(document: Document, options: ReadOptions) -> Scene:
    """The reading of a format that is only written: a scene that says so."""
    collector = Collector(CATALOGUE, document, options.strict)
    collector.report("FM101", format=detect(document.data, document.name).title)
    return Scene(documents=[document], diagnostics=collector.diagnostics)
