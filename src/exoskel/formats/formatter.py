"""Canonical layout of a whole file, proved to say and mean the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from exoskel.diagnostics import ExoskelError
from exoskel.formats.interface import Format
from exoskel.scene.summary import summarize
from exoskel.scene.world import Scene
from exoskel.source.canonical_layout import format_document
from exoskel.source.document import Document, tag_as_written
from exoskel.source.encoding import EncodingRoundTripError
from exoskel.source.equivalence import same_markup
from exoskel.source.gc_pause import garbage_collection_paused
from exoskel.source.limits import DEFAULT_LIMITS, Limits
from exoskel.source.well_formedness import MalformedError

Read = Callable[[bytes], Scene]
"""Reads the bytes of the same file in the same way."""


class FormatterError(ExoskelError):
    """A file that is left as it is, with the reason."""


def laid_out(
    document: Document, format: Format, read: Read, *, numbers: bool = False, limits: Limits = DEFAULT_LIMITS
) -> bytes | None:
    """The file in canonical layout; None if it is not well-formed, or not of the format, which reading it tells.

    Raises Unformattable where the result would not say or mean the same.
    """
    vocabulary = format.vocabulary()
    try:
        if tag_as_written(document.parse(limits)) != vocabulary.root.name:
            return None
        with garbage_collection_paused():
            data = format_document(document, vocabulary, numbers=numbers)
    except MalformedError:
        return None
    except EncodingRoundTripError as error:
        raise FormatterError(str(error)) from None
    if data != document.data and (reason := _objection(document, data, read, limits)):
        raise FormatterError(f"formatted, {reason}")
    return data


def _objection(document: Document, data: bytes, read: Read, limits: Limits) -> str:
    """Why new content must not take the place of a document: it does not say or mean the same."""
    if len(data) > limits.bytes:
        return f"it would have {len(data)} bytes, and the limit is {limits.bytes}"
    with garbage_collection_paused():
        if not same_markup(document, Document(data), limits):
            return "it would not say the same, a defect of exoskel; please report it"
        before, after = (_meaning(read(content)) for content in (document.data, data))
        return "" if before == after else "it would not mean the same, a defect of exoskel; please report it"


def _meaning(scene: Scene) -> tuple[dict[str, Any], Counter[str]]:
    """The scene's summary without its lines, which move, and what there is to say about it."""
    summary = summarize(scene)
    for world in summary["worlds"]:
        for model in world["models"]:
            for part in (*model["bodies"], *model["joints"]):
                del part["line"]
    return summary, Counter(diagnostic.key for diagnostic in scene.diagnostics)
