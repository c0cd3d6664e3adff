"""Reads a small document directly from its bytes, as long as it is plain and has no problems.  Most files are.

A document is plain if it is ASCII, has comments only between elements, and has no document type, references,
namespaces other than that of its schema's location, processing instructions or CDATA sections.  All others are left to
the parser, so nothing is reported here.

The bytes are split at each `<` into pieces: a tag and the text that follows it.  Files repeat pieces such as `/limit>`
or `lower>0`, so their meanings are cached.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TypeVar

from exoskel.diagnostics import Collector
from exoskel.source.document import Document
from exoskel.source.flat_tree import Node
from exoskel.source.limits import Limits
from exoskel.source.positions import may_split_text
from exoskel.source.structure import reports_name
from exoskel.source.valid_structure import (
    SMALL_DOCUMENT,
    NotValidError,
    ValidStructure,
    attribute_value,
    check_required,
    leaf_value,
)
from exoskel.source.vocabulary import ChildRow, Element, PieceMeaning, Vocabulary
from exoskel.source.well_formedness import MalformedError

_SPACE = rb"[ \t\r\n]"
_NAME = rb"[A-Za-z_][A-Za-z0-9_.\-]*+"
_COMMENT = rb"<!--[\t\r\n -,.-~]*+(?:-[\t\r\n -,.-~]++)*+-->"
_DECLARATION = rb"""<\?xml\ version=(?:"1\.0"|'1\.0')(?:\ encoding=(?:"utf-8"|"UTF-8"|'utf-8'|'UTF-8'))?\ ?\?>"""
_VALUE = rb"""(?:"([ !#-%'-;=?-~]*+)"|'([ -%(-;=?-~]*+)')"""
_ATTRIBUTE = _SPACE + rb"++(" + _NAME + rb")" + _SPACE + rb"*+=" + _SPACE + rb"*+" + _VALUE
_PROLOG = re.compile(rb"(?:" + _DECLARATION + rb")?(?:" + _SPACE + rb"++|" + _COMMENT + rb")*+(?=<[A-Za-z_])")
_COMMENT_BEFORE_TAG = re.compile(_COMMENT + rb"(?=" + _SPACE + rb"*+(?:<|\Z))")
_START = re.compile(
    rb"(?P<tag>" + _NAME + rb")(?P<attributes>(?:" + _ATTRIBUTE + rb")*+)" + _SPACE + rb"*+(?P<end>/?)>"
    rb"(?P<text>[^>]*+)"
)
_ATTRIBUTES = re.compile(_ATTRIBUTE)
_NAMESPACE = rb"http://www\.w3\.org/2001/XMLSchema-instance"
_SCHEMA_LOCATION = re.compile(
    _SPACE
    + rb"++xmlns:xsi=(?:\""
    + _NAMESPACE
    + rb"\"|'"
    + _NAMESPACE
    + rb"')"
    + _SPACE
    + rb"++xsi:(?:noNamespaceSchemaLocation|schemaLocation)="
    + _VALUE
)
_TEXT = re.compile(rb"[\t\n -%'-=?-~]*+")
_SPACES = b" \t\r\n"
_MOST_CACHED, _LONGEST_CACHED = 4096, 200

_Cached = TypeVar("_Cached")

_ENDS: dict[bytes, str] = {}
"""The tags of pieces with an end tag, such as `/limit>`."""


def read_plain(
    document: Document, vocabulary: Vocabulary, collector: Collector, limits: Limits
) -> ValidStructure | None:
    """Read a document with a vocabulary; None if it is large or not plain, or may have problems."""
    root = vocabulary.root
    if len(document.data) > SMALL_DOCUMENT or document.plain_root != root.name or limits.depth < 2:
        return None
    try:
        text = document.checked_text(limits)
        prolog = _PROLOG.match(text)
        if prolog is None or may_split_text(text):
            return None
        text = text[prolog.end() + 1 :]
        if text.find(b"!") >= 0:
            text = _COMMENT_BEFORE_TAG.sub(b"", text)
        start, bracket, rest = text.partition(b">")
        if start.find(b":") >= 0 and not reports_name(collector, vocabulary.codes.unknown_prefixed_attribute):
            text = _SCHEMA_LOCATION.sub(b"", start, 1) + bracket + rest
        return _read(iter(text.split(b"<")), root, limits.depth)
    except (NotValidError, StopIteration, MalformedError):
        return None


def _read(pieces: Iterator[bytes], rule: Element, depth: int) -> ValidStructure:
    match = _START.fullmatch(next(pieces))
    if match is None or match["tag"].decode() != rule.name or match["end"] or match["text"].strip(_SPACES):
        raise NotValidError
    node = Node(0, _attributes(match["attributes"], rule))
    if not rule.has_required_attributes(node.fields):
        raise NotValidError
    found = ValidStructure(node, 0, [], [], [])
    fields, meanings, is_shallow, number = node.fields, rule.piece_meanings, True, 0
    around: list[tuple[Node, Element, bool]] = []
    """The containers around the current one."""
    for piece in pieces:
        meaning = meanings.get(piece)
        if meaning is None:
            meaning = _examine(piece, rule)
        tag, value, child, attributes, is_open = meaning
        if value is not None:  # a leaf that occurs once, like most elements
            end = next(pieces)
            if tag in fields or (_ENDS.get(end) or _end_tag(end)) != tag:
                raise NotValidError
            number += 1
            fields[tag] = value
        elif child is not None:
            number += 1
            inner = Node(number, {} if attributes is None else attributes.copy())
            if is_shallow and child.streamed:
                found.streamed.append((inner, child, node, rule))
            elif child.many:
                fields.setdefault(tag, []).append(inner)
            elif tag in fields:
                raise NotValidError
            else:
                fields[tag] = inner
            if is_open:
                around.append((node, rule, is_shallow))
                if len(around) >= depth - 1:
                    raise NotValidError
                node, rule = inner, child
                fields, meanings = inner.fields, child.piece_meanings
                is_shallow = is_shallow and child.holds_streamed and not child.streamed
            elif child.required:
                check_required(child, inner, found)
        else:  # the end of the container
            if rule.required and not rule.required <= fields.keys():
                check_required(rule, node, found)
            if not around:
                break
            node, rule, is_shallow = around.pop()
            fields, meanings = node.fields, rule.piece_meanings
    else:
        raise NotValidError
    if next(pieces, None) is not None:
        raise NotValidError
    return found


def _examine(piece: bytes, rule: Element) -> PieceMeaning:
    """What a piece means inside an element."""
    tag, bracket, text = piece.partition(b">")
    if not bracket:
        raise NotValidError
    if tag.startswith(b"/"):
        if text.strip(_SPACES) or tag[1:].rstrip(_SPACES).decode("latin-1") != rule.name:
            raise NotValidError
        meaning: PieceMeaning = (rule.name, None, None, None, False)
    else:
        row = rule.rows.get(tag.decode("latin-1"))
        meaning = _start(piece, rule) if row is None else _child(row, None, text, is_open=True)
    _cache(rule.piece_meanings, piece, meaning)
    return meaning


def _cache(cache: dict[bytes, _Cached], piece: bytes, value: _Cached) -> None:
    if len(piece) <= _LONGEST_CACHED:
        if len(cache) >= _MOST_CACHED:
            cache.clear()
        cache[piece] = value


def _end_tag(piece: bytes) -> str:
    """The name in an end tag."""
    tag, bracket, text = piece.partition(b">")
    if not (bracket and tag.startswith(b"/")) or text.strip(_SPACES):
        raise NotValidError
    name = tag[1:].rstrip(_SPACES).decode("latin-1")
    _cache(_ENDS, piece, name)
    return name


def _start(piece: bytes, rule: Element) -> PieceMeaning:
    """The meaning of a start tag with attributes or of an empty element."""
    match = _START.fullmatch(piece)
    row = None if match is None else rule.rows.get(match["tag"].decode())
    if match is None or row is None:
        raise NotValidError
    attributes, end, text = match.group("attributes", "end", "text")
    return _child(row, _attributes(attributes, row[-1]), text, is_open=not end)


def _child(row: ChildRow, attributes: dict[str, Any] | None, text: bytes, *, is_open: bool) -> PieceMeaning:
    tag, many, memo, occurrence_code, child = row
    if occurrence_code or child.opaque:
        raise NotValidError
    if memo is None:
        if text.strip(_SPACES) or (child.required_attributes and not child.has_required_attributes(attributes or {})):
            raise NotValidError
        return tag, None, child, attributes or None, is_open
    if many or attributes or not is_open or _TEXT.fullmatch(text) is None:
        raise NotValidError
    written = text.decode()
    value = memo.get(written)
    return tag, leaf_value(child, written) if value is None else value, None, None, True


def _attributes(text: bytes, rule: Element) -> dict[str, Any]:
    """The fields of attributes as written."""
    fields: dict[str, Any] = {}
    for name, *quoted in _ATTRIBUTES.findall(text):
        row = rule.attribute_rows.get(name.decode())
        if row is None or row[0] in fields:
            raise NotValidError
        fields[row[0]] = attribute_value(row, b"".join(quoted).decode())
    return fields
