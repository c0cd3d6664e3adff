"""Writes the documentation pages that are made from the code's own tables: `make docs`."""

from __future__ import annotations

import sys
from pathlib import Path

from exoskel.formats import registry
from exoskel.formats.usd.reference import with_tables
from exoskel.samples import samples
from exoskel.source.reference import markdown
from exoskel.source.schema import schema

DOCS = Path(__file__).resolve().parent.parent / "docs"
REFERENCE = DOCS / "reference"
MADE = "This page is made from the tables the program works by (`make docs`); do not edit it."


def pages() -> dict[str, str]:
    """All generated pages, by file name."""
    made = {"diagnostics.md": diagnostics(), "samples.md": sample_list(), "formats.md": format_pairs()}
    for one in registry.DESCRIBED:
        made[f"{one.name}.md"] = markdown(one.vocabulary())
        made[f"{one.name}.xsd"] = schema(one.vocabulary()).decode()
    return made


def diagnostics() -> str:
    parts = ["# Diagnostics", MADE, "`exoskel explain CODE` shows the same for one code."]
    for catalogue in registry.catalogues():
        for topic in catalogue.topics.values():
            rows = ["| severity | message | hint | " + (catalogue.engine or "note") + " |", "|---|---|---|---|"]
            for message in topic.messages:
                cells = [str(message.severity or "strict only"), message.text, message.hint, message.engine]
                rows.append("| " + " | ".join(cell.replace("|", "\\|").replace("<", "\\<") for cell in cells) + " |")
            parts += [f"## {topic.code}: {topic.title}", topic.text, "\n".join(rows)]
    return "\n\n".join(parts) + "\n"


def format_pairs() -> str:
    """Which format goes to which, and what each has words for."""
    kinds = ["| format | endings | what it is | read | written | what it cannot say |", "|---|---|---|---|---|---|"]
    for one in registry.FORMATS:
        kept = "is carried along" if one.carries else "is dropped, and told"
        endings = " ".join(f"`{ending}`" for ending in one.endings)
        read = "yes" if one.is_read else "no: FM101"
        kinds.append(f"| {one.label} | {endings} | {one.title} | {read} | yes | {kept} |")
    head = "| from | " + " | ".join(f"to {one.label}" for one in registry.FORMATS) + " |"
    rows = [head, "|---" * (len(registry.FORMATS) + 1) + "|"]
    for one in registry.FORMATS:
        cells = [_pair(one, other) for other in registry.FORMATS]
        rows.append(f"| {one.label} | " + " | ".join(cells) + " |")
    parts = ["# Formats", MADE, "\n".join(kinds), "## Pairs", "\n".join(rows)]
    return "\n\n".join(parts) + "\n"


def _pair(one: registry.Format, other: registry.Format) -> str:
    if not one.is_read:
        return "refused: FM101"
    if one is other:
        return "normalised"
    return "a document for each model" if other.holds_models and not one.holds_models else "supported"


def sample_list() -> str:
    rows = ["| URI | what it is |", "|---|---|"]
    rows += [f"| `{sample.uri}` | {sample.title} |" for sample in samples()]
    return "\n\n".join(["# Samples", MADE, "\n".join(rows)]) + "\n"


def main() -> int:
    REFERENCE.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (REFERENCE / name).write_text(text, encoding="utf-8")
    usd = DOCS / "usd.md"
    usd.write_text(with_tables(usd.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
