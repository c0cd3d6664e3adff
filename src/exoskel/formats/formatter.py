"""Formats a whole file in canonical layout, and verifies that its content and its scene stay the same."""

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
"""Reads new content of the same file with the same options."""


class FormatterError(ExoskelError):
    """A file cannot be formatted and is left as it is; the message states the reason."""


def format_file(
    document: Document, format: Format, read: Read, *, numbers: bool = False, limits: Limits = DEFAULT_LIMITS
) -> bytes | None:
    """The file in canonical layout; None if it is not well-formed or not of the format, which reading it reports.

    With `numbers`, numbers are written in their shortest form too.  Raises FormatterError where the result would have
    another content or another meaning.
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
    if data != document.data and (reason := _problem(document, data, read, limits)):
        raise FormatterError(f"the formatted file {reason}")
    return data


def _problem(document: Document, data: bytes, read: Read, limits: Limits) -> str:
    """Why formatted content must not replace a document; empty if it may."""
    if len(data) > limits.bytes:
        return f"would have {len(data)} bytes, more than the limit of {limits.bytes}"
    with garbage_collection_paused():
        if not same_markup(document, Document(data), limits):
            return "would have another content; this is a bug in exoskel, please report it"
        before, after = (_meaning(read(content)) for content in (document.data, data))
        return "" if before == after else "would have another meaning; this is a bug in exoskel, please report it"


def _meaning(scene: Scene) -> tuple[dict[str, Any], Counter[str]]:
    """The scene's summary without line numbers, which change, and its diagnostics."""
    summary = summarize(scene)
    for world in summary["worlds"]:
        for model in world["models"]:
            for part in (*model["bodies"], *model["joints"]):
                del part["line"]
    return summary, Counter(diagnostic.key for diagnostic in scene.diagnostics)
