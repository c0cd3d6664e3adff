"""The mapping as Markdown, for the documentation page."""

from __future__ import annotations

from collections.abc import Iterable

from exoskel.formats.usd.codes import CATALOGUE
from exoskel.formats.usd.mapping import JOINTS, PARTS, SHAPES, MappingRow

BEGIN = "<!-- begin generated tables (`make docs`): do not edit -->"
END = "<!-- end generated tables -->"


def tables() -> str:
    """The mapping and all diagnostics of the USD writer."""
    parts = [
        "### Joints",
        _table("joint", JOINTS.items()),
        "### Shapes",
        _table("shape", SHAPES.items()),
        "### Everything else",
        _table("scene", PARTS),
        "### Diagnostics",
        _diagnostics(),
    ]
    return "\n\n".join(parts)


def _table(head: str, rows: Iterable[tuple[str, MappingRow]]) -> str:
    lines = [f"| {head} | USD | how | diagnostics |", "|---|---|---|---|"]
    for name, row in rows:
        prims = ", ".join(
            f"`{part}`" if ":" in part or part.isalpha() else part for part in row.prim.split(", ") if part
        )
        lines.append(f"| {name} | {prims} | {row.how} | {', '.join(row.codes)} |")
    return "\n".join(lines)


def _diagnostics() -> str:
    lines = ["| code | meaning | messages |", "|---|---|---|"]
    for topic in CATALOGUE.topics.values():
        messages = "; ".join(message.text for message in topic.messages)
        lines.append(f"| {topic.code} | {topic.title}. {topic.text}".rstrip() + f" | {messages} |")
    return "\n".join(lines)


def with_tables(page: str) -> str:
    """The page with the text between the two markers regenerated."""
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n\n{tables()}\n\n{END}{tail}"
