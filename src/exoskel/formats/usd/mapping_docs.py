"""The mapping as Markdown, for the documentation page."""

from __future__ import annotations

from collections.abc import Iterable

from exoskel.formats.usd.codes import CATALOGUE
from exoskel.formats.usd.mapping import JOINTS, PARTS, SHAPES, MappingRow

BEGIN = "<!-- made from the tables the program works by (`make docs`); do not edit from here -->"
END = "<!-- to here -->"


def tables() -> str:
    """What is written how, and everything that may be told."""
    parts = [
        "### Joints",
        _table("joint", JOINTS.items()),
        "### Shapes",
        _table("shape", SHAPES.items()),
        "### Everything else",
        _table("scene", PARTS),
        "### What is told",
        _told(),
    ]
    return "\n\n".join(parts)


def _table(head: str, rows: Iterable[tuple[str, MappingRow]]) -> str:
    lines = [f"| {head} | USD | how | told |", "|---|---|---|---|"]
    for name, row in rows:
        words = ", ".join(
            f"`{word}`" if ":" in word or word.isalpha() else word for word in row.prim.split(", ") if word
        )
        lines.append(f"| {name} | {words} | {row.how} | {', '.join(row.codes)} |")
    return "\n".join(lines)


def _told() -> str:
    lines = ["| code | | messages |", "|---|---|---|"]
    for topic in CATALOGUE.topics.values():
        messages = "; ".join(message.text for message in topic.messages)
        lines.append(f"| {topic.code} | {topic.title}. {topic.text}".rstrip() + f" | {messages} |")
    return "\n".join(lines)


def with_tables(page: str) -> str:
    """A page with what stands between the marks made anew."""
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n\n{tables()}\n\n{END}{tail}"
