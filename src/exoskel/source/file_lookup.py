"""Resolution of the file references of a document."""

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
    """The result of resolving a reference.

    `path` is the file (None: not found).  `findings` are keys for problems of the reference:
    `blanks`, `backslash`, `percent`, `fragment`, `absolute`, `relative_file_uri`, `foreign_file_uri`,
    `scheme`, `no_base`, `outside`.
    """

    path: Path | None
    findings: tuple[str, ...] = ()


class _Candidate(NamedTuple):
    """A candidate file, and the finding to report if it is chosen."""

    path: Path
    finding: str = ""


def find_file(reference: str, location: Location, paths: SearchPaths) -> FoundFile:
    """Resolve a reference leniently: common misspellings are tried too, and reported as findings."""
    findings: list[str] = []
    text = reference.strip(" \t\r\n")
    if text != reference:
        findings.append("blanks")
    if paths.resolver is not None and (supplied := paths.resolver(text)) is not None:
        given = _filter_permitted([_Candidate(Path(supplied))], location, paths)
        return FoundFile(given[0].path, tuple(findings)) if given else FoundFile(None, (*findings, "outside"))
    candidates = _candidates(text, location, paths, findings)
    allowed = _filter_permitted(candidates, location, paths)
    for path, finding in allowed:
        if os.path.isfile(path):
            return FoundFile(path, (*findings, finding) if finding else tuple(findings))
    if len(allowed) < len(candidates):
        findings.append("outside")
    elif text.startswith((SAMPLE_SCHEME, PACKAGE_SCHEME)):
        findings.append("scheme")
    elif "\\" in text:
        findings.append("backslash")
    return FoundFile(None, tuple(findings))


def find_file_as_dart(reference: str, location: Location, paths: SearchPaths) -> FoundFile:
    """Resolve a reference as DART 6.20 does: no trimming, no decoding, cut at `#` and `?`.

    DART ignores the host of a URI.
    """
    candidates = [_Candidate(path) for path in _literal_paths(reference, location)]
    allowed = _filter_permitted(candidates, location, paths)
    found = next((path for path, _ in allowed if os.path.isfile(path)), None)
    return FoundFile(found, ("outside",) if len(allowed) < len(candidates) else ())


def _filter_permitted(candidates: list[_Candidate], location: Location, paths: SearchPaths) -> list[_Candidate]:
    """The candidates that may be opened.  The result must not reveal whether the others exist."""
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


def _candidates(text: str, location: Location, paths: SearchPaths, findings: list[str]) -> list[_Candidate]:
    scheme = uri_scheme(text)
    if scheme.lower() == "file":
        return _file_uri(text, location, findings)
    if text.startswith(SAMPLE_SCHEME):
        return [_Candidate(path) for path in sample_candidates(text)]
    if text.startswith(PACKAGE_SCHEME):
        return [_Candidate(path) for path in package_candidates(text, paths.packages)]
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
    literal = [_Candidate(Path(text[7:]))] if text.startswith("file:///") else []
    return [*literal, _Candidate(Path(path))]


def _spelling_candidates(text: str, location: Location, findings: list[str]) -> list[_Candidate]:
    """The file as written, and with common misspellings corrected."""
    if "#" in text or "?" in text:
        findings.append("fragment")
    spellings = {text: ""}
    spellings.setdefault(unquote(text), "percent")
    spellings.setdefault(text.replace("\\", "/"), "backslash")
    spellings.setdefault(_TAIL.sub("", text), "")
    return [_Candidate(path, finding) for spelling, finding in spellings.items() for path in _join(spelling, location)]


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
