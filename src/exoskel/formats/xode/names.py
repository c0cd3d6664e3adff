"""Names: which objects share one, and what those without are called."""

from __future__ import annotations

from exoskel.formats.xode.context import Context
from exoskel.formats.xode.document_layout import DocumentLayout
from exoskel.source.flat_tree import Node

_ARTICLES = {"xode": "the document", "world": "a world", "space": "a space", "group": "a group"}


def report_duplicates(context: Context, layout: DocumentLayout) -> None:
    """Names are unique in the whole document, across all kinds of object and container."""
    named: list[tuple[Node, str]] = [(frame.node, frame.kind) for frame in layout.frames]
    named += [(joint.node, "joint") for joint in layout.joints]
    named = [(node, kind) for node, kind in named if "@name" in node.fields]
    if len({node.fields["@name"] for node, _ in named}) == len(named):
        return
    named.sort(key=lambda entry: entry[0].number)
    first: dict[str, tuple[Node, str]] = {}
    for node, kind in named:
        name = node.fields["@name"]
        if name in first:
            earlier, earlier_kind = first[name]
            what = _ARTICLES.get(earlier_kind, f"a {earlier_kind}")
            line = context.line(earlier.number)
            context.report("X208", node.number, attribute="name", name=name, kind=what, line=line)
        else:
            first[name] = (node, kind)
