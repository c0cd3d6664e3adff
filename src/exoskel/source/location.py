"""Locations of documents, and search paths for the files they refer to."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from exoskel.diagnostics import SourceError

SAMPLE_SCHEME = "dart://sample/"
DATA_PATH_VARIABLE = "DART_DATA_PATH"

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")
"""At least two letters, so that a Windows drive is not a scheme."""

PackagePath = Sequence[str | os.PathLike[str]] | Mapping[str, str | os.PathLike[str]]
Resolver = Callable[[str], "str | os.PathLike[str] | None"]


class Location(Struct, frozen=True):
    """Where a document was read from.

    `path` is its file, `uri` the `dart://sample/…` URI it was opened with, if any.  Both are empty for
    documents that were given as bytes without a base.
    """

    path: str = ""
    uri: str = ""
    is_base: bool = False
    """The path is only the base of references: the document itself is not a file."""

    @property
    def directory(self) -> Path | None:
        return Path(self.path).parent if self.path else None


class SearchPaths(Struct, frozen=True):
    """How URIs are resolved: packages by name or in search directories, and a resolver of the caller."""

    packages: PackagePath = ()
    resolver: Resolver | None = None
    confine: bool = False
    """Reject references that leave the directory tree of the document."""


def uri_scheme(reference: str) -> str:
    match = _SCHEME.match(reference)
    return match[1] if match else ""


def sample_directory() -> Path:
    """The samples that come with the package."""
    return Path(__file__).parent.parent / "samples"


def sample_directories() -> Iterator[Path]:
    """The search directories of `dart://sample/`: our own samples, then DART's data directory if it is set."""
    yield sample_directory()
    named = os.environ.get(DATA_PATH_VARIABLE, "")
    for directory in named.split(os.pathsep):
        if directory:
            yield Path(directory)


def sample_candidates(uri: str) -> list[Path]:
    """The candidate files of a `dart://sample/…` URI; none for names that leave the sample tree."""
    parts = [part for part in uri.removeprefix(SAMPLE_SCHEME).split("/") if part not in ("", ".")]
    if ".." in parts or not parts:
        return []
    return [directory.joinpath(*parts) for directory in sample_directories()]


def package_candidates(uri: str, packages: PackagePath) -> list[Path]:
    """The candidate files of `package://NAME/…`: in the directory of that package, or in each search directory."""
    name, _, rest = uri.removeprefix("package://").partition("/")
    if isinstance(packages, Mapping):
        return [Path(packages[name]) / rest] if name in packages else []
    return [Path(directory) / name / rest for directory in packages]


def file_uri_path(uri: str) -> str:
    """The path in a `file:` URI, with percent codes decoded; an empty string if it names another machine."""
    try:
        split = urlsplit(uri)
    except ValueError:  # `file://[x`: the host is invalid
        return ""
    if split.netloc not in ("", "localhost"):
        return ""
    path = unquote(split.path)
    return path.lstrip("/") if os.name == "nt" else path


def locate_document(source: str) -> Location:
    """The location of a document given by a path or URI.  Raises SourceError if it cannot exist."""
    scheme = uri_scheme(source)
    if source.startswith(SAMPLE_SCHEME):
        found = next(filter(os.path.isfile, sample_candidates(source)), None)
        if found is None:
            raise SourceError(f"no sample is called {source!r}; list the samples with `exoskel samples`")
        return Location(path=str(found), uri=source)
    if scheme.lower() == "file":
        path = file_uri_path(source)
        if not path:
            raise SourceError(f"{source!r} is a file on another machine; use three slashes for a local file")
        return Location(path=path)
    if scheme and not os.path.exists(source):
        raise SourceError(f"cannot open {source!r}: {scheme}: URIs are not supported")
    return Location(path=os.path.abspath(source))


def is_inside(directory: Path, path: Path) -> bool:
    """Whether `path`, with all links resolved, is in the tree under `directory`."""
    try:
        return path.resolve().is_relative_to(directory.resolve())
    except (OSError, RuntimeError, ValueError):  # circular links, invalid names
        return False
