"""Finding the files that a document refers to."""

from __future__ import annotations

import os
import posixpath
import re
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from msgspec import Struct

from exoskel.source.location import (
    SAMPLE_SCHEME,
    Location,
    SearchPaths,
    file_uri_path,
    is_inside,
    package_candidates,
    sample_candidates,
    uri_scheme,
)

PACKAGE_SCHEME = "package://"


class FoundFile(Struct, frozen=True):
    """What became of a reference.

    `path` is the file (None: there is none).  `remarks` are words for what was odd about the reference:
    `blanks`, `backslash`, `percent`, `fragment`, `absolute`, `relative_file_uri`, `foreign_file_uri`,
    `scheme`, `no_base`, `outside`.
    """

    path: Path | None
    remarks: tuple[str, ...] = ()


class _Candidate(NamedTuple):
    """A file that may be meant, and what to remark if it is the one."""

    path: Path
    remark: str = ""


def find_file(reference: str, location: Location, paths: SearchPaths) -> FoundFile:
    """Resolve a reference the helpful way: odd spellings are tried too, and remarked on."""
    remarks: list[str] = []
    text = reference.strip(" \t\r\n")
    if text != reference:
        remarks.append("blanks")
    if paths.resolver is not None and (supplied := paths.resolver(text)) is not None:
        given = _permitted([_Candidate(Path(supplied))], location, paths)
        return FoundFile(given[0].path, tuple(remarks)) if given else FoundFile(None, (*remarks, "outside"))
    candidates = _candidates(text, location, paths, remarks)
    allowed = _permitted(candidates, location, paths)
    for path, remark in allowed:
        if os.path.isfile(path):
            return FoundFile(path, (*remarks, remark) if remark else tuple(remarks))
    if len(allowed) < len(candidates):
        remarks.append("outside")
    elif text.startswith((SAMPLE_SCHEME, PACKAGE_SCHEME)):
        remarks.append("scheme")
    elif "\\" in text:
        remarks.append("backslash")
    return FoundFile(None, tuple(remarks))


def find_file_as_dart(reference: str, location: Location, paths: SearchPaths) -> FoundFile:
    """Resolve a reference as DART 6.20 does: no trimming, no decoding, cut at `#` and `?`.

    Which machine a URI names does not matter to DART.
    """
    candidates = [_Candidate(path) for path in _literal_paths(reference, location)]
    allowed = _permitted(candidates, location, paths)
    found = next((path for path, _ in allowed if os.path.isfile(path)), None)
    return FoundFile(found, ("outside",) if len(allowed) < len(candidates) else ())


def _permitted(candidates: list[_Candidate], location: Location, paths: SearchPaths) -> list[_Candidate]:
    """Those that may be looked at.  Whether any of the others exists must not show."""
    if not paths.confine:
        return candidates
    home = location.directory
    return [candidate for candidate in candidates if home is not None and is_inside(home, candidate.path)]


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


def _candidates(text: str, location: Location, paths: SearchPaths, remarks: list[str]) -> list[_Candidate]:
    scheme = uri_scheme(text)
    if scheme.lower() == "file":
        return _file_uri(text, location, remarks)
    if text.startswith(SAMPLE_SCHEME):
        return [_Candidate(path) for path in sample_candidates(text)]
    if text.startswith(PACKAGE_SCHEME):
        return [_Candidate(path) for path in package_candidates(text, paths.packages)]
    if scheme:
        remarks.append("scheme")
        return []
    if os.path.isabs(text):
        remarks.append("absolute")
    elif location.directory is None:
        remarks.append("no_base")
        return []
    return _spellings(text, location, remarks)


def _file_uri(text: str, location: Location, remarks: list[str]) -> list[_Candidate]:
    if not text[5:].startswith("/"):
        remarks.append("relative_file_uri")
        return _spellings(text[5:], location, remarks)
    path = file_uri_path(text)
    if not path:
        remarks.append("foreign_file_uri")
        return []
    literal = [_Candidate(Path(text[7:]))] if text.startswith("file:///") else []
    return [*literal, _Candidate(Path(path))]


def _spellings(text: str, location: Location, remarks: list[str]) -> list[_Candidate]:
    """The file as spelled, and as DART's users may have meant it."""
    if "#" in text or "?" in text:
        remarks.append("fragment")
    spellings = {text: ""}
    spellings.setdefault(unquote(text), "percent")
    spellings.setdefault(text.replace("\\", "/"), "backslash")
    spellings.setdefault(_TAIL.sub("", text), "")
    return [_Candidate(path, remark) for spelling, remark in spellings.items() for path in _join(spelling, location)]


def _join(name: str, location: Location) -> list[Path]:
    """Where `name` may lead from the document's own place, which may be a sample URI."""
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
