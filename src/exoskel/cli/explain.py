"""`exoskel explain`: explain a diagnostic code."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from exoskel.cli import terminal
from exoskel.cli.read_flags import Flag
from exoskel.diagnostics import Catalogue, ExoskelError, Topic, did_you_mean
from exoskel.engines import codes
from exoskel.formats import registry
from exoskel.scene import codes as scene_codes
from exoskel.scene import merge


def explain(
    code: Annotated[str, Parameter(help="Diagnostic code, such as SK024; default: list all.", show_default=False)] = "",
    /,
    *,
    json: Annotated[Flag, Parameter(help="Print the explanation as JSON.")] = False,
) -> int:
    """Explain a diagnostic code: its meaning, its severity, and how DART or PyODE handles the same input.

    Without a code, list all codes.
    """
    topics = {
        topic.code: (catalogue, topic)
        for catalogue in [*registry.catalogues(), merge.CATALOGUE, scene_codes.CATALOGUE, codes.CATALOGUE]
        for topic in catalogue.topics.values()
    }
    if not code:
        _list([topic for _, topic in topics.values()], json)
        return 0
    found = topics.get(code.upper())
    if found is None:
        hint = did_you_mean(code, topics)
        raise ExoskelError(
            f"unknown code {code!r}" + (f"; {hint}" if hint else "; list all codes with `exoskel explain`")
        )
    if json:
        terminal.write_json(_as_dict(found[1]))
    else:
        _show(*found)
    return 0


def _list(topics: list[Topic], json: bool) -> None:
    if json:
        terminal.write_json([_as_dict(topic) for topic in topics])
        return
    console = terminal.console()
    for topic in topics:
        severities = "/".join(dict.fromkeys(terminal.severity_label(m) for m in topic.messages))
        console.print(f"[bold]{topic.code}[/]  {topic.title}  [dim]{severities}[/]")


def _show(catalogue: Catalogue, topic: Topic) -> None:
    from rich.markup import escape

    console = terminal.console()
    console.print(f"[bold]{topic.code}[/]: {escape(topic.title)}\n")
    console.print(escape(topic.text) + "\n")
    for message in topic.messages:
        style = terminal.STYLES.get(message.severity or message.strict, "dim")
        console.print(f"[{style}]{terminal.severity_label(message)}[/]: {escape(_template(message.text))}")
        if message.hint and message.hint not in ("{hint}", "{suggestion}"):
            console.print(f"  [bold]hint[/]: {escape(_template(message.hint))}")
        if message.reader_note and "{" not in message.reader_note:
            console.print(f"  [bold]{catalogue.original_reader}[/]: {escape(message.reader_note)}")


def _template(text: str) -> str:
    """The text of a message with an ellipsis for each placeholder."""
    import re

    return re.sub(r"\{[a-z_]+\}", "…", text)


def _as_dict(topic: Topic) -> dict[str, Any]:
    return {
        "code": topic.code,
        "title": topic.title,
        "text": topic.text,
        "messages": [
            {
                "severity": m.severity,
                "strict": m.strict,
                "message": m.text,
                "hint": m.hint or None,
                "engine": m.reader_note or None,
            }
            for m in topic.messages
        ],
    }
