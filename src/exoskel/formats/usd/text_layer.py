"""The text form of USD as tokens: where prims and properties are, and the paths of other files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

_TOKEN = re.compile(
    rb'(?P<string>"""(?:\\.|[^\\])*?"""|\'\'\'(?:\\.|[^\\])*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')'
    rb"|(?P<comment>#[^\n]*)|(?P<long>@@@(?:\\@@@|[^\n])*?@@@(?!@))|(?P<asset>@[^@\n]*@)"
    rb"|(?P<newline>\n)|(?P<bracket>[(){}\[\]])"
    rb"|(?P<prim>\b(?:def|over|class)\b[^\"\n(){}]*\"(?P<name>[^\"\n]+)\")"
    rb"|(?P<property>\b[A-Za-z][\w:]*(?=\s*(?:\.timeSamples\s*)?=|\s*\())"
)
PrimPositions = dict[str, tuple[int, dict[str, int]]]
"""The lines of prims, and of their properties by name, by the paths of prims."""


class AssetToken(Struct, frozen=True):
    """The path of a file, with the place of its token in the text."""

    path: str
    start: int
    end: int
    line: int


def asset_tokens(data: bytes) -> list[AssetToken]:
    """The paths of files in a text file, in their order."""
    found: list[AssetToken] = []
    line = 1
    for match in _TOKEN.finditer(data):
        text = match[0]
        if match.lastgroup == "long":
            path = text[3:-3].replace(rb"\@@@", b"@@@").decode()
            found.append(AssetToken(path, *match.span(), line))
        elif match.lastgroup == "asset":
            found.append(AssetToken(text[1:-1].decode(), *match.span(), line))
        line += text.count(b"\n")
    return found


def comment_lines(data: bytes) -> list[int]:
    """The lines of the comments in a text file, without its first line, which states the version."""
    if not data.startswith(b"#usda") or b"#" not in data[1:]:
        return []
    found: list[int] = []
    line = 1
    for match in _TOKEN.finditer(data):
        if match.lastgroup == "comment" and match.start() > 0:
            found.append(line)
        line += match[0].count(b"\n")
    return found


def sublayer_paths(data: bytes, tokens: Sequence[AssetToken]) -> set[str]:
    """The paths of the sublayers among the paths in a text file."""
    opened: list[bytes] = []
    name = ""
    spans: list[tuple[int, int]] = []
    for match in _TOKEN.finditer(data):
        if match["prim"]:
            break
        if match["property"] and opened == [b"("]:
            name = match["property"].decode()
        elif match["bracket"] and match["bracket"] in b"([{":
            opened.append(match["bracket"])
            if name == "subLayers" and opened == [b"(", b"["]:
                spans.append((match.start(), len(data)))
        elif match["bracket"] and opened:
            if name == "subLayers" and opened == [b"(", b"["]:
                spans[-1] = (spans[-1][0], match.end())
            opened.pop()
            if not opened:
                break
    return {one.path for one in tokens if any(start < one.start < end for start, end in spans)}


def replace_tokens(data: bytes, tokens: Sequence[AssetToken], paths: Mapping[str, str]) -> bytes:
    """The text with other paths of files, by their paths."""
    parts: list[bytes] = []
    last = 0
    for one in tokens:
        made = paths.get(one.path, one.path)
        if made != one.path:
            parts += [data[last : one.start], asset_text(made).encode()]
            last = one.end
    return b"".join([*parts, data[last:]])


def asset_text(path: str) -> str:
    """The path of a file as a token."""
    return "@@@" + path.replace("@@@", r"\@@@") + "@@@" if "@" in path else f"@{path}@"


def prim_positions(data: bytes) -> PrimPositions:
    """The positions in a text file; empty for the binary form."""
    if not data.startswith(b"#usda"):
        return {}
    found: PrimPositions = {}
    path: list[str] = []
    opened: list[bytes] = []
    waiting = ""
    line = 1
    for match in _TOKEN.finditer(data):
        kind = match.lastgroup
        if match["newline"]:
            line += 1
        elif match["bracket"]:
            waiting = _enter(match["bracket"], opened, path, waiting)
        elif match["prim"]:
            if not opened or opened[-1] == b"{":
                waiting = match["name"].decode("utf-8", "replace")
                found.setdefault("/" + "/".join([*filter(None, path), waiting]), (line, {}))
        elif match["property"] and path and opened[-1:] == [b"{"]:
            own = found.get("/" + "/".join(filter(None, path)))
            if own is not None:
                own[1].setdefault(match["property"].decode(), line)
        if kind == "string":
            line += match[0].count(b"\n")
    return found


_DICTIONARY = b"dictionary"
"""Stands for the bracket of a dictionary in metadata, which contains no prims."""


def _enter(bracket: bytes, opened: list[bytes], path: list[str], waiting: str) -> str:
    """Follow a bracket; returns the name of the prim whose content is still to come."""
    if bracket == b"{" and opened[-1:] in ([b"("], [_DICTIONARY]):
        opened.append(_DICTIONARY)
        return waiting
    if bracket in b"([{":
        opened.append(bracket)
        if bracket == b"{":
            path.append(waiting)
            return ""
        return waiting
    if opened and opened.pop() == b"{" and path:
        path.pop()
    return waiting
