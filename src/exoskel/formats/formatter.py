"""Formats a whole file in canonical layout, and verifies that its content and its scene stay the same."""

from __future__ import annotations

import re
from collections import Counter
from itertools import starmap, zip_longest
from operator import itemgetter
from typing import Any

from exoskel.diagnostics import ExoskelError
from exoskel.formats.interface import Format, SceneReader
from exoskel.scene.summary import summarize
from exoskel.scene.world import Scene
from exoskel.source.canonical_layout import DECIMALS, format_document
from exoskel.source.document import Document, Tree, garbage_collection_paused, tag_as_written
from exoskel.source.encoding import EncodingRoundTripError
from exoskel.source.limits import DEFAULT_LIMITS, Limits
from exoskel.source.similar_elements import SimilarElements, find_similar, matching_places
from exoskel.source.structure import MIXED_TEXT
from exoskel.source.well_formedness import MalformedError

_SPACE = " \t\r\n"
_SPACE_BETWEEN_TAGS = re.compile(rb">[ \t\r\n]+<")
_MAX_REREAD = 500_000
"""The size in bytes up to which reordered files are read to compare their scenes.

Reading takes most of the time.  Wrong orders are wrong in files of all sizes, and larger files are compared as markup.
"""


def same_markup(one: Document, other: Document, limits: Limits = DEFAULT_LIMITS) -> bool:
    """Whether two well-formed documents differ only in layout.

    Whitespace between elements, the order of attributes and of siblings with different names, and the spelling of
    numbers are ignored.  Everything else counts, including comments and instructions.
    """
    return _regions(one) == _regions(other) and _digest(one, limits) == _digest(other, limits)


def have_same_shapes(first: SimilarElements, second: SimilarElements, limits: Limits = DEFAULT_LIMITS) -> bool:
    """Whether two documents differ only in layout, of which each body and joint shows that by its shape alone.

    This is a fast test for large documents; if it fails, `same_markup` decides.
    """
    if len(first.elements) != len(second.elements):
        return False
    frames = Document(first.frame), Document(second.frame)
    if not (same_elements(*frames, limits) or same_markup(*frames, limits)):
        return False
    known: dict[tuple[int, int], list[int] | None] = {}
    for (shape, values), (other_shape, other_values) in zip(first.elements, second.elements, strict=True):
        key = shape, other_shape
        if key not in known:
            known[key] = matching_places(first.shapes[shape], second.shapes[other_shape])
        places = known[key]
        if places is None or [values[place] for place in places] != other_values:
            return False
    return True


def same_elements(one: Document, other: Document, limits: Limits = DEFAULT_LIMITS) -> bool:
    """Whether two well-formed documents differ in whitespace between elements only: a quick test for `same_markup`."""
    if _texts_of_regions(one) != _texts_of_regions(other):
        return False
    if _SPACE_BETWEEN_TAGS.sub(b"><", one.text) == _SPACE_BETWEEN_TAGS.sub(b"><", other.text):
        return True
    pairs = zip_longest(*(document.parse(limits).iter() for document in (one, other)))
    return all(starmap(_is_same_element, pairs))


def _is_same_element(one: Tree | None, other: Tree | None) -> bool:
    return (
        one is not None
        and other is not None
        and one.tag == other.tag
        and len(one) == len(other)
        and _without_space(one.text) == _without_space(other.text)
        and _without_space(one.tail) == _without_space(other.tail)
        and one.items() == other.items()
    )


def _without_space(text: str | None) -> str | None:
    """A text, or None if it is only whitespace."""
    return text if text and not text.isspace() else None


def _digest(document: Document, limits: Limits) -> int:
    """A hash that equivalent documents share.

    Canonical XML rejects relative namespace names and entity references, and defines another order.  Elements are
    visited from last to first, children before their parents.
    """
    root = document.parse(limits)
    mixed = _mixed(root)
    texts = _NormalizedText()
    done: list[tuple[str, int]] = []  # name and hash of elements whose parents are not visited yet, the first on top
    for element in reversed(list(root.iter())):
        tag, count = element.tag, len(element)
        items = element.items()
        attributes = tuple([(name, texts[value]) for name, value in sorted(items)]) if items else None
        content: object = None
        children: list[tuple[str, int]] = []
        if count:
            children = done[-count:]
            del done[-count:]
            children.reverse()
            if mixed and element in mixed:
                content = (element.text, *(child.tail for child in element))
            elif count > 1:
                children.sort(key=itemgetter(0))  # by name; equal names keep their order
        else:
            content = texts[element.text]
        done.append((str(tag), hash((tag, attributes, content, *children))))
    return done[0][1]


def _mixed(root: Tree) -> set[Tree]:
    """Elements with text, other than whitespace, between their children."""
    found: set[Tree] = set()
    for text in MIXED_TEXT(root):
        if text.strip(_SPACE):
            owner = text.getparent()
            found.add(owner.getparent() if text.is_tail else owner)
    return found


def _regions(document: Document) -> Counter[bytes]:
    """Comments, instructions, CDATA sections and the document type declaration, with their counts."""
    return Counter(_texts_of_regions(document))


def _texts_of_regions(document: Document) -> list[bytes]:
    return [document.text[start:end] for start, end in document.scan.regions]


class _NormalizedText(dict[Any, str]):
    """Cached normal forms of texts: numbers by value, whitespace as empty text, everything else unchanged."""

    def __missing__(self, text: str | None) -> str:
        normal = text or ""
        if not normal.strip(_SPACE):
            normal = ""
        elif DECIMALS.fullmatch(normal):
            normal = " ".join(float(token).hex() for token in normal.split())
        self[text] = normal
        return normal


# --- the formatter -------------------------------------------------------------------------------------


class FormatterError(ExoskelError):
    """A file cannot be formatted and is left as it is; the message states the reason."""


def format_file(
    document: Document,
    format: Format,
    read: SceneReader,
    *,
    numbers: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    scene: Scene | None = None,
) -> bytes | None:
    """The file in canonical layout; None if it is not well-formed or not of the format, which reading it reports.

    With `numbers`, numbers are written in their shortest form too.  `scene` is what was read from the document, if that
    is known.  Raises FormatterError where the result would have another content or another meaning.
    """
    vocabulary = format.vocabulary()
    try:
        if tag_as_written(document.parse(limits)) != vocabulary.root.name:
            return None
        with garbage_collection_paused():
            similar = None if numbers else find_similar(document, vocabulary)
            data = format_document(document, vocabulary, numbers=numbers, similar=similar)
    except MalformedError:
        return None
    except EncodingRoundTripError as error:
        raise FormatterError(str(error)) from None
    if data == document.data:
        return data
    if len(data) > limits.bytes:
        raise FormatterError(f"the formatted file would have {len(data)} bytes, more than the limit of {limits.bytes}")
    if similar is not None and len(data) > _MAX_REREAD:
        with garbage_collection_paused():
            formatted = find_similar(Document(data), vocabulary)
            if formatted is not None and have_same_shapes(similar, formatted, limits):
                return data
    if reason := _problem(document, data, read, limits, scene):
        raise FormatterError(f"the formatted file {reason}")
    return data


def _problem(document: Document, data: bytes, read: SceneReader, limits: Limits, scene: Scene | None) -> str:
    """Why formatted content must not replace a document; empty if it may."""
    with garbage_collection_paused():
        formatted = Document(data)
        if same_elements(document, formatted, limits):
            return ""  # what is read from the same elements in the same order is the same
        if not same_markup(document, formatted, limits):
            return "would have different content; this is a bug in Exoskel, please report it"
        if len(data) > _MAX_REREAD:
            return ""
        before, after = _meaning(scene or read(document.data)), _meaning(read(data))
        return "" if before == after else "would have a different meaning; this is a bug in Exoskel, please report it"


def _meaning(scene: Scene) -> tuple[dict[str, Any], Counter[str]]:
    """The scene's summary without line numbers, which change, and its diagnostics."""
    summary = summarize(scene)
    for world in summary["worlds"]:
        for model in world["models"]:
            for part in (*model["bodies"], *model["joints"]):
                del part["line"]
    return summary, Counter(diagnostic.key for diagnostic in scene.diagnostics)
