"""Where a document is, and how its file references are resolved."""

from __future__ import annotations

import os
import posixpath
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

from msgspec import Struct

from exoskel.diagnostics import PACKAGE_HINT, SourceError
from exoskel.source.file_access import paths_inside, read_referenced

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


def absolute_uri(path: Path) -> str:
    """The path of a file as a URI.  Readers decode no percent codes: only what is not text is written with these."""
    text = path.resolve().as_posix()
    return "file://" + (text if text.isprintable() and text == text.rstrip() else quote(os.fsencode(text)))


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


def file_uri_path(uri: str) -> str:
    """The path in a `file:` URI, with percent codes decoded; an empty string if it names another machine."""
    try:
        split = urlsplit(uri)
    except ValueError:  # `file://[x`: the host is invalid
        return ""
    if split.netloc not in ("", "localhost"):
        return ""
    path = unquote(split.path, errors="surrogateescape")
    return path.lstrip("/") if os.name == "nt" else path


def locate_document(source: str) -> Location:
    """The location of a document given by a path or URI.  Raises SourceError if it cannot exist."""
    if source.startswith("/") and os.sep == "/" and not ("//" in source or "/." in source or source.endswith("/")):
        return Location(path=source)  # absolute and without parts to resolve
    scheme = uri_scheme(source)
    if source.startswith(SAMPLE_SCHEME):
        found = next(filter(os.path.isfile, sample_candidates(source)), None)
        if found is None:
            raise SourceError(f"unknown sample {source!r}; list the samples with `exoskel samples`")
        return Location(path=str(found), uri=source)
    if scheme.lower() == "file":
        path = file_uri_path(source)
        if not path:
            raise SourceError(f"{source!r} is a file on another machine; use three slashes for a local file")
        return Location(path=path)
    if scheme and not os.path.exists(source):
        raise SourceError(f"cannot open {source!r}: {scheme}: URIs are not supported")
    try:
        return Location(path=os.path.abspath(source))
    except FileNotFoundError:
        raise SourceError(f"cannot read {source!r}: {NO_WORKING_FOLDER}") from None


NO_WORKING_FOLDER = "the working folder no longer exists"


def working_folder_exists() -> bool:
    """Whether the working folder exists, so that relative paths have a meaning."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True


def lower_first(text: str) -> str:
    """A message of the system as part of a sentence."""
    return text[:1].lower() + text[1:]


def confinement(location: Location, paths: SearchPaths) -> Path | None:
    """The folder in which a file that the document names must be; None if it may be anywhere."""
    return location.directory if paths.confine else None


# --- lookup --------------------------------------------------------------------------------------------


PACKAGE_SCHEME = "package://"
MODEL_SCHEME = "model://"


class FoundFile(Struct, frozen=True):
    """The result of resolving a reference.

    `path` is the file (None: not found).  `findings` are keys for problems of the reference:
    `spaces`, `backslash`, `percent`, `fragment`, `absolute`, `relative_file_uri`, `foreign_file_uri`,
    `scheme`, `no_base`, `outside`.
    """

    path: Path | None
    findings: tuple[str, ...] = ()


class _Candidate(NamedTuple):
    """A candidate file, and the finding to report if it is chosen.

    Paths are strings until a file is found: a document may name many thousands that are missing.
    """

    path: str
    finding: str = ""


def find_file(reference: str, location: Location, paths: SearchPaths) -> FoundFile:
    """Resolve a reference leniently: common misspellings are tried too, and reported as findings."""
    findings: list[str] = []
    text = reference.strip(" \t\r\n")
    if text != reference:
        findings.append("spaces")
    if paths.resolver is not None and (supplied := paths.resolver(text)) is not None:
        given = _filter_permitted([_Candidate(os.fspath(supplied))], location, paths)
        return FoundFile(Path(given[0].path), tuple(findings)) if given else FoundFile(None, (*findings, "outside"))
    candidates = _candidates(text, location, paths, findings)
    allowed = _filter_permitted(candidates, location, paths)
    for path, finding in allowed:
        if os.path.isfile(path):
            return FoundFile(Path(path), (*findings, finding) if finding else tuple(findings))
    if len(allowed) < len(candidates):
        findings.append("outside")
    elif text.startswith((SAMPLE_SCHEME, PACKAGE_SCHEME, MODEL_SCHEME)):
        findings.append("scheme")
    elif "\\" in text:
        findings.append("backslash")
    return FoundFile(None, tuple(findings))


def find_file_as_dart(reference: str, location: Location, paths: SearchPaths) -> FoundFile:
    """Resolve a reference as DART 6.20 does: no trimming, no decoding, cut at `#` and `?`.

    DART ignores the host of a URI.
    """
    candidates = [_Candidate(os.fspath(path)) for path in _literal_paths(reference, location)]
    allowed = _filter_permitted(candidates, location, paths)
    return FoundFile(_first_file(allowed), ("outside",) if len(allowed) < len(candidates) else ())


def find_beside(file: Path, name: str, location: Location, paths: SearchPaths) -> FoundFile:
    """A file in the folder of another one, which names it without a path."""
    if name in ("", ".", "..") or "\0" in name or Path(name).name != name:
        return FoundFile(None)
    allowed = _filter_permitted([_Candidate(os.fspath(file.with_name(name)))], location, paths)
    return FoundFile(_first_file(allowed), () if allowed else ("outside",))


def _first_file(candidates: list[_Candidate]) -> Path | None:
    return next((Path(path) for path, _ in candidates if os.path.isfile(path)), None)


def _filter_permitted(candidates: list[_Candidate], location: Location, paths: SearchPaths) -> list[_Candidate]:
    """The candidates that may be opened.  The result must not reveal whether the others exist."""
    if not paths.confine:
        return candidates
    home = location.directory
    inside = paths_inside(home, (candidate.path for candidate in candidates)) if home is not None else ()
    return [candidate for candidate in candidates if candidate.path in inside]


_AUTHORITY = re.compile(r"//[^/]*")
_TAIL = re.compile(r"[#?].*", re.DOTALL)


def _literal_paths(reference: str, location: Location) -> list[Path]:
    scheme = uri_scheme(reference)
    if scheme == "dart":
        return sample_candidates(reference)
    if scheme not in ("", "file"):
        return []
    rest = _TAIL.sub("", reference[len(scheme) + 1 :] if scheme else reference)
    authority = _AUTHORITY.match(rest)
    path = rest[authority.end() :] if authority else rest
    return [Path(path)] if scheme and path else _join(path, location)


def _candidates(text: str, location: Location, paths: SearchPaths, findings: list[str]) -> list[_Candidate]:
    scheme = uri_scheme(text)
    if scheme.lower() == "file":
        return _file_uri(text, location, findings)
    if text.startswith(SAMPLE_SCHEME):
        return [_Candidate(os.fspath(path)) for path in sample_candidates(text)]
    if text.startswith(PACKAGE_SCHEME):
        return _candidates_in(_package_folders, text.removeprefix(PACKAGE_SCHEME), location, paths)
    if text.startswith(MODEL_SCHEME):
        return _candidates_in(_model_folders, text.removeprefix(MODEL_SCHEME), location, paths)
    if scheme:
        findings.append("scheme")
        return []
    if os.path.isabs(text):
        findings.append("absolute")
    elif location.directory is None:
        findings.append("no_base")
        return []
    return _spelling_candidates(text, location, findings)


def _file_uri(text: str, location: Location, findings: list[str]) -> list[_Candidate]:
    if not text[5:].startswith("/"):
        findings.append("relative_file_uri")
        return _spelling_candidates(text[5:], location, findings)
    path = file_uri_path(text)
    if not path:
        findings.append("foreign_file_uri")
        return []
    literal = [_Candidate(_without_trailing_slashes(text[7:]))] if text.startswith("file:///") else []
    return [*literal, _Candidate(_without_trailing_slashes(path))]


def _spelling_candidates(text: str, location: Location, findings: list[str]) -> list[_Candidate]:
    """The file as written, and with common misspellings corrected."""
    if "#" in text or "?" in text:
        findings.append("fragment")
    spellings = {text: ""}
    spellings.setdefault(unquote(text), "percent")
    spellings.setdefault(text.replace("\\", "/"), "backslash")
    spellings.setdefault(_TAIL.sub("", text), "")
    return [
        _Candidate(os.fspath(path), finding)
        for spelling, finding in spellings.items()
        for path in _join(spelling, location)
    ]


def _join(name: str, location: Location) -> list[Path]:
    """The candidates for `name` relative to the document, whose location may be a sample URI."""
    if "\0" in name or not name:
        return []
    if os.path.isabs(name):
        return [Path(name)]
    if location.uri.startswith(SAMPLE_SCHEME):
        folder = posixpath.dirname(location.uri.removeprefix(SAMPLE_SCHEME))
        joined = posixpath.normpath(posixpath.join(folder, name))
        return sample_candidates(SAMPLE_SCHEME + joined)
    if location.directory is None:
        return []
    return [Path(os.path.normpath(location.directory / name))]


# --- packages of ROS, models of Gazebo -----------------------------------------------------------------

PACKAGE_FILE = "package.xml"
_PACKAGE_FILE_BYTES = 2**16
_PACKAGE_NAME = re.compile(rb"<name>\s*([^<\s]+)\s*</name>")
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)

_PACKAGE_VARIABLES = ("AMENT_PREFIX_PATH", "ROS_PACKAGE_PATH")
_MODEL_VARIABLES = ("GZ_SIM_RESOURCE_PATH", "GAZEBO_MODEL_PATH")
_OTHER_MODEL_VARIABLES = ("SDF_PATH", "IGN_GAZEBO_RESOURCE_PATH")
"""Variables of libsdformat and of Gazebo Fortress."""

_Folders = Callable[[str, Location, SearchPaths], Iterator[str]]


def _candidates_in(folders: _Folders, name_and_rest: str, location: Location, paths: SearchPaths) -> list[_Candidate]:
    """The file `rest` in each folder that may be the package or model `name`."""
    stated, _, rest = name_and_rest.partition("/")
    names = [name for name in _spellings(stated) if name not in ("", ".", "..") and not {"/", "\0"} & {*name}]
    if "\0" in name_and_rest:
        return []
    rest = rest.strip("/")  # with a slash at its end, it could only be a folder; at its beginning, it would be absolute
    return [
        _Candidate(os.path.join(folder, spelling) if spelling else folder)
        for name in names
        for folder in folders(name, location, paths)
        for spelling in dict.fromkeys(one.strip("/") for one in _spellings(rest))
        if "\0" not in spelling
    ]


def _spellings(text: str) -> Iterator[str]:
    """A part of a URI as it is written, and with its percent codes read."""
    return iter(dict.fromkeys((text, unquote(text, errors="surrogateescape"))))


def _without_trailing_slashes(path: str) -> str:
    """A path without slashes at its end: such a path could only be a folder."""
    return path.rstrip("/")


def find_package(name: str, location: Location, paths: SearchPaths) -> Path | None:
    """The folder of a package of ROS, searched as for `package://NAME`."""
    candidates = _candidates_in(_package_folders, name, location, paths)
    return next((Path(one.path) for one in candidates if os.path.isdir(one.path)), None)


def search_hint(reference: str, location: Location, paths: SearchPaths) -> str:
    """What to do about a `package://` or `model://` URI whose file was not found, and where it was searched."""
    text = reference.strip()
    scheme = next((one for one in _SEARCHES if text.startswith(one)), "")
    if not scheme:
        return ""
    folders, variables = _SEARCHES[scheme]
    kind, (name, _, rest) = scheme.partition(":")[0], text.removeprefix(scheme).partition("/")
    near = _filter_permitted(_candidates_in(folders, name, location, paths), location, paths)
    if found := next((path for path, _ in near if os.path.isdir(path)), None):
        missing = f"no file '{rest}'" if rest else "neither model.config nor model.sdf"
        return f"check the path: {kind} '{name}' is {found}, which has {missing}"
    places = ["in --package-path"] if paths.packages else []
    places += ["around the file" if not paths.confine else "in the folder of the file"] if location.path else []
    if not paths.confine:
        places += [f"in {one}{'' if os.environ.get(one) else ' (not set)'}" for one in variables]
    listed = f"{', '.join(places[:-1])} and {places[-1]}" if len(places) > 1 else "".join(places) or "nowhere"
    return f"{PACKAGE_HINT}: {kind} '{name}' was searched {listed}"


def _package_folders(name: str, location: Location, paths: SearchPaths) -> Iterator[str]:
    """A package of ROS: the caller's, one around or next to the document, an installed one, one in a workspace."""
    yield from _given_folders(name, paths)
    if location.path:
        yield from _packages_around(os.path.dirname(location.path), name, paths.confine)
    prefixes, workspaces = _PACKAGE_VARIABLES
    for prefix in _environment_folders(prefixes, paths):
        yield os.path.join(prefix, "share", name)
    for folder in _environment_folders(workspaces, paths):
        direct = folder if os.path.basename(folder) == name else os.path.join(folder, name)
        yield direct
        if not os.path.isdir(direct) and (inner := _packages_below(folder).get(name)) is not None:
            yield inner


_NEAR_CONFINED = (".", "models")
_NEAR = (*_NEAR_CONFINED, "..", "../models", "../..")
"""Folders with models, seen from the document."""


def _model_folders(name: str, location: Location, paths: SearchPaths) -> Iterator[str]:
    """A model of Gazebo: the caller's, one near the document, a package of ROS, one in the folders of resources."""
    yield from _given_folders(name, paths)
    if location.path:
        directory = os.path.dirname(location.path)
        for near in _folders_near(directory, paths.confine):
            yield os.path.join(near, name)
        yield from _packages_around(directory, name, paths.confine)
    for variable in (*_MODEL_VARIABLES, *_OTHER_MODEL_VARIABLES):
        for folder in _environment_folders(variable, paths):
            yield os.path.join(folder, name)


_SEARCHES: dict[str, tuple[_Folders, tuple[str, str]]] = {
    PACKAGE_SCHEME: (_package_folders, _PACKAGE_VARIABLES),
    MODEL_SCHEME: (_model_folders, _MODEL_VARIABLES),
}
"""The folders of packages and models, and the variables that list some of them, by the scheme of their URIs."""


@lru_cache(maxsize=16)
def _folders_near(directory: str, confine: bool) -> tuple[str, ...]:
    return tuple(os.path.normpath(os.path.join(directory, near)) for near in (_NEAR_CONFINED if confine else _NEAR))


@lru_cache(maxsize=16)
def _folders_around(directory: str) -> tuple[str, ...]:
    """A folder and all folders around it."""
    folder = Path(directory)
    return tuple(os.fspath(one) for one in (folder, *folder.parents))


def _given_folders(name: str, paths: SearchPaths) -> Iterator[str]:
    if not isinstance(paths.packages, Mapping):
        for directory in paths.packages:
            yield os.path.join(directory, name)
    elif name in paths.packages:
        yield os.fspath(paths.packages[name])


def _environment_folders(variable: str, paths: SearchPaths) -> list[str]:
    """The folders that an environment variable lists; none for a confined document."""
    named = "" if paths.confine else os.environ.get(variable, "")
    return [_without_trailing_slashes(folder) or "/" for folder in named.split(os.pathsep) if folder] if named else []


def _packages_around(directory: str, name: str, confine: bool) -> Iterator[str]:
    """Packages that contain the document, and packages next to these.  A confined document sees its own folder only."""
    for folder in (directory,) if confine else _folders_around(directory):
        for place in (folder, os.path.join(folder, name)):
            if _is_package(place, name):
                yield place


def _is_package(folder: str, name: str) -> bool:
    """Whether a folder is the package `name`."""
    return _package_name(folder) == name


def _package_name(folder: str) -> str | None:
    """The name of the package that a folder is: that in its `package.xml`, or else its own; None: it is no package."""
    file = os.path.join(folder, PACKAGE_FILE)
    if not os.path.lexists(file):
        return None
    try:
        content = read_referenced(Path(file), _PACKAGE_FILE_BYTES)
    except OSError:
        return None
    stated = _PACKAGE_NAME.search(_COMMENT.sub(b"", content))
    return os.fsdecode(stated[1]) if stated else os.path.basename(folder)


_MOST_FOLDERS = 5000
_IGNORED = ("CATKIN_IGNORE", "COLCON_IGNORE", "AMENT_IGNORE", "rospack_nosubdirs")
"""Files that exclude a folder from a workspace."""


@lru_cache(maxsize=16)
def _packages_below(folder: str) -> dict[str, str]:
    """The packages in a workspace by name, also in folders of repositories.  Packages do not contain packages."""
    found: dict[str, str] = {}
    waiting = deque([folder])
    for _ in range(_MOST_FOLDERS):
        if not waiting:
            break
        at = waiting.popleft()
        if (name := _package_name(at)) is not None:
            found.setdefault(name, at)
            continue
        try:
            with os.scandir(at) as entries:
                inner = [(one.name, one.is_dir(follow_symlinks=False)) for one in entries]
        except OSError:
            continue
        if not any(name in _IGNORED for name, _ in inner):
            waiting += [os.path.join(at, name) for name, is_dir in sorted(inner) if is_dir and name[:1] != "."]
    return found
