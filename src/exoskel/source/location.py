"""Where a document lives, and where what it refers to is looked for."""

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
"""At least two letters, so that a Windows drive is no scheme."""

PackagePath = Sequence[str | os.PathLike[str]] | Mapping[str, str | os.PathLike[str]]
Resolver = Callable[[str], "str | os.PathLike[str] | None"]


class Location(Struct, frozen=True):
    """The place a document was read from.

    `path` is its file, `uri` a `dart://sample/…` name when it was opened by one.  Both are empty for
    documents that came as bytes without a base.
    """

    path: str = ""
    uri: str = ""
    is_base: bool = False
    """Only references start from there: the document itself is no file."""

    @property
    def directory(self) -> Path | None:
        return Path(self.path).parent if self.path else None


class SearchPaths(Struct, frozen=True):
    """Where URIs lead: packages by name or under some directories, DART's sample data, a caller's own."""

    packages: PackagePath = ()
    resolver: Resolver | None = None
    confine: bool = False
    """Refuse every reference that leaves the directory tree of the document."""


def uri_scheme(reference: str) -> str:
    match = _SCHEME.match(reference)
    return match[1] if match else ""


def sample_directory() -> Path:
    """The samples that come with the package."""
    return Path(__file__).parent.parent / "samples"


def sample_directories() -> Iterator[Path]:
    """Where `dart://sample/` is looked up: our own samples, then DART's data directory if one is named."""
    yield sample_directory()
    named = os.environ.get(DATA_PATH_VARIABLE, "")
    for directory in named.split(os.pathsep):
        if directory:
            yield Path(directory)


def sample_candidates(uri: str) -> list[Path]:
    """Where a `dart://sample/…` URI may lead; names that climb out of the sample tree lead nowhere."""
    parts = [part for part in uri.removeprefix(SAMPLE_SCHEME).split("/") if part not in ("", ".")]
    if ".." in parts or not parts:
        return []
    return [directory.joinpath(*parts) for directory in sample_directories()]


def package_candidates(uri: str, packages: PackagePath) -> list[Path]:
    """Where `package://NAME/…` may lead: to the name's own directory, or under each search directory."""
    name, _, rest = uri.removeprefix("package://").partition("/")
    if isinstance(packages, Mapping):
        return [Path(packages[name]) / rest] if name in packages else []
    return [Path(directory) / name / rest for directory in packages]


def file_uri_path(uri: str) -> str:
    """The path in a `file:` URI, percent codes decoded; an empty string when it names another machine."""
    try:
        split = urlsplit(uri)
    except ValueError:  # `file://[x`: what stands for the machine is not even a name
        return ""
    if split.netloc not in ("", "localhost"):
        return ""
    path = unquote(split.path)
    return path.lstrip("/") if os.name == "nt" else path


def locate_document(source: str) -> Location:
    """Where a document named by a path or URI is.  Raises SourceError if it cannot be there."""
    scheme = uri_scheme(source)
    if source.startswith(SAMPLE_SCHEME):
        found = next(filter(os.path.isfile, sample_candidates(source)), None)
        if found is None:
            raise SourceError(f"no sample is called {source!r}; `exoskel samples` lists those there are")
        return Location(path=str(found), uri=source)
    if scheme.lower() == "file":
        path = file_uri_path(source)
        if not path:
            raise SourceError(f"{source!r} names a file on another machine; a local file has three slashes")
        return Location(path=path)
    if scheme and not os.path.exists(source):
        raise SourceError(f"cannot open {source!r}: there is no reader for {scheme}: addresses")
    return Location(path=os.path.abspath(source))


def is_inside(directory: Path, path: Path) -> bool:
    """Whether `path`, all links followed, lies in the tree under `directory`."""
    try:
        return path.resolve().is_relative_to(directory.resolve())
    except (OSError, RuntimeError, ValueError):  # links that lead in a circle, names that are none
        return False
