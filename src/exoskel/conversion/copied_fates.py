"""The fates of the nodes of a document that was copied: all are in the output as they were."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter

from exoskel.fates import Fate, NodeFate, Verdict
from exoskel.formats.interface import SourceCopy
from exoskel.source.document import Document
from exoskel.source.positions import Span

_EXACT = Verdict(Fate.EXACT)


def copied_fates(document: Document, copy: SourceCopy) -> list[NodeFate]:
    """The fates of all elements, attributes, comments and instructions of a copied document, in its order."""
    found = [*_element_fates(document, copy), *_region_fates(document)]
    found.sort(key=attrgetter("line"))
    return found


def _element_fates(document: Document, copy: SourceCopy) -> Iterator[NodeFate]:
    ends = document.outline.ends
    for node, line in enumerate(document.lines(range(len(ends)))):
        path = document.path_of(node)
        found = copy.fates.get((node, ""), _EXACT)
        yield NodeFate(line, path, found.fate, found.why, node, loss=found.loss, end=ends[node])
        for name in document.attributes(node):
            found = copy.fates.get((node, name), _EXACT)
            yield NodeFate(line, f"{path}/@{name}", found.fate, found.why, node, name, found.loss, end=ends[node])


def _region_fates(document: Document) -> Iterator[NodeFate]:
    """The fates of comments, declarations and instructions."""
    scan, text = document.scan, document.text
    for number, (start, end) in enumerate(scan.regions, 1):
        if text.startswith(b"<![CDATA[", start):
            continue
        kind = "comment" if text.startswith(b"<!--", start) else "instruction"
        path = "declaration" if text.startswith(b"<?xml", start) else f"{kind}[{number}]"
        yield NodeFate(scan.position(Span(start, end)).line, path, Fate.KEPT)
