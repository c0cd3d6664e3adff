"""The fates of the nodes of a document that was copied: all are in the output as they were."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter

from exoskel.conversion.region_fates import region_fates
from exoskel.conversion.selection import MODEL_NOT_SELECTED
from exoskel.fates import Fate, NodeFate, Verdict
from exoskel.formats.interface import NodeKey, SourceCopy
from exoskel.source.document import Document

_EXACT = Verdict(Fate.EXACT)
_KEPT = Verdict(Fate.KEPT)


def copied_fates(document: Document, copy: SourceCopy, *, is_part: bool = False) -> list[NodeFate]:
    """The fates of all elements, attributes, comments and instructions of a copied document, in its order.

    If it is a part of the document, with some of its models, what is missing was not selected.
    """
    found = [*_element_fates(document, copy, is_part), *region_fates(document, lambda *_: _KEPT)]
    found.sort(key=attrgetter("line"))
    return found


def _element_fates(document: Document, copy: SourceCopy, is_part: bool) -> Iterator[NodeFate]:
    ends = document.outline.ends
    for node, line in enumerate(document.lines(range(len(ends)))):
        path = document.path_of(node)
        if is_part and copy.fates.get((node, ""), _EXACT).fate is Fate.DROPPED:
            names = ("", *document.attributes(node))
            yield from (_node_fate(MODEL_NOT_SELECTED, line, _path(path, one), node, one, ends[node]) for one in names)
            continue
        yield _node_fate(_verdict(copy, (node, "")), line, path, node, "", ends[node])
        for name in document.attributes(node):
            yield _node_fate(_verdict(copy, (node, name)), line, f"{path}/@{name}", node, name, ends[node])


def _verdict(copy: SourceCopy, key: NodeKey) -> Verdict:
    """What became of a node: nothing, unless the copy or its reader differs."""
    found = copy.fates.get(key, _EXACT)
    return found if found.loss else copy.ignored.get(key, found)


def _path(path: str, name: str) -> str:
    return f"{path}/@{name}" if name else path


def _node_fate(verdict: Verdict, line: int, path: str, node: int, name: str, end: int) -> NodeFate:
    return NodeFate(
        line, path, verdict.fate, verdict.why, node, name, loss=verdict.loss, end=end, unselected=verdict.unselected
    )
