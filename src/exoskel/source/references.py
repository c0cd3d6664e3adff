"""Finding the files that a document refers to."""

from __future__ import annotations

import os
import posixpath
from pathlib import Path
from urllib.parse import unquote

from msgspec import Struct

from exoskel.source.location import (
    SAMPLE_SCHEME,
    Location,
    SearchPaths,
    file_uri_path,
    find_package,
    find_sample,
    inside,
    scheme_of,
)


class Found(Struct, frozen=True):
    """What became of a reference.

    `path` is the file (None: there is none).  `remarks` are words for what was odd about the reference:
    `blanks`, `backslash`, `percent`, `fragment`, `absolute`, `relative_file_uri`, `foreign_file_uri`,
    `scheme`, `no_base`, `outside`.
    """

    path: Path | None
    remarks: tuple[str, ...] = ()


def find(reference: str, location: Location, paths: SearchPaths) -> Found:
    """Resolve a reference the helpful way: odd spellings are tried too, and remarked on."""
    remarks: list[str] = []
    text = reference.strip(" \t\r\n")
    if text != reference:
        remarks.append("blanks")
    path = _lookup(text, location, paths, remarks)
    if path is not None and paths.confine and not _confined(path, location):
        return Found(None, (*remarks, "outside"))
    return Found(path, tuple(remarks))


def find_literally(reference: str, location: Location, paths: SearchPaths) -> Found:
    """Resolve a reference as DART 6.20 does: no trimming, no decoding, cut at `#` and `?`."""
    scheme = scheme_of(reference)
    path: Path | None = None
    if scheme == "file" and not reference.startswith("file:/"):
        path = Path(reference[5:])
    elif scheme == "file":
        path = Path(reference[7:]) if reference.startswith("file:///") else None
    elif scheme == "dart":
        path = find_sample(reference)
    elif not scheme:
        cut = reference.partition("#")[0].partition("?")[0]
        path = _join(cut, location)
    found = path if path is not None and os.path.isfile(path) else None
    if found is not None and paths.confine and not _confined(found, location):
        return Found(None, ("outside",))
    return Found(found)


def _lookup(text: str, location: Location, paths: SearchPaths, remarks: list[str]) -> Path | None:
    if paths.resolver is not None and (supplied := paths.resolver(text)) is not None:
        return Path(supplied)
    scheme = scheme_of(text)
    if scheme.lower() == "file":
        return _file_uri(text, location, remarks)
    if text.startswith((SAMPLE_SCHEME, "package://")):
        found = find_sample(text) if text.startswith(SAMPLE_SCHEME) else find_package(text, paths.packages)
        if found is None:
            remarks.append("scheme")
        return found
    if scheme:
        remarks.append("scheme")
        return None
    if os.path.isabs(text):
        remarks.append("absolute")
    elif location.directory is None:
        remarks.append("no_base")
        return None
    return _odd_spellings(text, location, remarks)


def _file_uri(text: str, location: Location, remarks: list[str]) -> Path | None:
    if not text[5:].startswith("/"):
        remarks.append("relative_file_uri")
        return _odd_spellings(text[5:], location, remarks)
    path = file_uri_path(text)
    if not path:
        remarks.append("foreign_file_uri")
        return None
    literal = Path(text[7:]) if text.startswith("file:///") else Path(path)
    return next((candidate for candidate in (literal, Path(path)) if os.path.isfile(candidate)), None)


def _odd_spellings(text: str, location: Location, remarks: list[str]) -> Path | None:
    """The file as spelled, or as DART's users may have meant it."""
    if "#" in text or "?" in text:
        remarks.append("fragment")
    spellings = [
        (text, ""),
        (unquote(text), "percent"),
        (text.replace("\\", "/"), "backslash"),
        (text.partition("#")[0].partition("?")[0], ""),
    ]
    for spelling, remark in spellings:
        path = _join(spelling, location)
        if path is not None and os.path.isfile(path):
            if remark and spelling != text:
                remarks.append(remark)
            return path
    if "\\" in text:
        remarks.append("backslash")
    return None


def _join(name: str, location: Location) -> Path | None:
    """`name` against the document's own place, which may be a sample URI."""
    if "\0" in name or not name:
        return None
    if os.path.isabs(name):
        return Path(name)
    if location.uri.startswith(SAMPLE_SCHEME):
        folder = posixpath.dirname(location.uri.removeprefix(SAMPLE_SCHEME))
        joined = posixpath.normpath(posixpath.join(folder, name))
        return find_sample(SAMPLE_SCHEME + joined)
    if location.directory is None:
        return None
    return Path(os.path.normpath(location.directory / name))


def _confined(path: Path, location: Location) -> bool:
    return location.directory is not None and inside(location.directory, path)
