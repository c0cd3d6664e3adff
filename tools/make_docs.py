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
    made = {"diagnostics.md": diagnostics(), "samples.md": sample_list()}
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
