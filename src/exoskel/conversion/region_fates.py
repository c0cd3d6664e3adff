"""The fates of comments, declarations and instructions of a document."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from exoskel.fates import NodeFate, Verdict
from exoskel.source.document import Document
from exoskel.source.expanded_document import region_line

RegionVerdict = Callable[[str, int], Verdict]
"""The verdict on a comment, declaration or instruction, by this kind and where it starts in the text."""


def region_fates(document: Document, verdict: RegionVerdict, file: str = "") -> Iterator[NodeFate]:
    """The fates of all comments, declarations and instructions, in the order of the document."""
    text = document.text
    for number, (start, _) in enumerate(document.scan.regions):
        if text.startswith(b"<![CDATA[", start):
            continue
        is_comment, is_declaration = text.startswith(b"<!--", start), text.startswith(b"<?xml", start)
        kind = "comment" if is_comment else "declaration" if is_declaration else "instruction"
        found = verdict(kind, start)
        path = kind if is_declaration else f"{kind}[{number + 1}]"
        yield NodeFate(region_line(document, number), path, found.fate, found.why, file=file)
