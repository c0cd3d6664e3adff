"""`exoskel describe`: describe an element of a format."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from exoskel.cli import terminal
from exoskel.cli.read_flags import Flag
from exoskel.diagnostics import ExoskelError, did_you_mean
from exoskel.formats import registry
from exoskel.formats.interface import Format
from exoskel.source.schema import describe_element as rows_of
from exoskel.source.vocabulary import Element


def describe(
    name: Annotated[
        str,
        Parameter(
            help="Element name, or the end of its path, such as `joint/axis`; default: list all.", show_default=False
        ),
    ] = "",
    /,
    *,
    format: Annotated[str | None, Parameter(help="Describe only this format.")] = None,
    json: Annotated[Flag, Parameter(help="Print the description as JSON.")] = False,
) -> int:
    """Describe an element: its children, attributes, units, defaults, and how DART or PyODE reads it.

    Without a name, list all elements.
    """
    formats = [registry.with_vocabulary(format)] if format else list(registry.WITH_VOCABULARY)
    if not name:
        _print_outline(formats, json)
        return 0
    found = [(one.title, path, element) for one in formats for path, element in one.vocabulary().find(name)]
    if not found:
        known = [known_name for one in formats for known_name in one.vocabulary().names()]
        hint = did_you_mean(name, known)
        raise ExoskelError(f"unknown element {name!r}" + (f"; {hint}" if hint else ""))
    if json:
        terminal.write_json([rows_of(path, element) for _, path, element in found])
        return 0
    for title, path, element in found:
        _show(title, rows_of(path, element))
    return 0


def _print_outline(formats: list[Format], json: bool) -> None:
    if json:
        every = [rows_of(path, element) for one in formats for path, element in one.vocabulary().rows()]
        terminal.write_json(every)
        return
    from rich.tree import Tree

    for one in formats:
        root = one.vocabulary().root
        tree = Tree(f"[bold]{root.name}[/]  [dim]{root.meaning}[/]", guide_style="dim")
        _add_children(tree, root, {id(root)})
        terminal.console().print(tree)


def _add_children(tree: Any, element: Element, expanded: set[int]) -> None:
    """Add the children of an element; an element that occurs again is named but not expanded."""
    for child in element.children.values():
        attributes = "".join(f" @{attribute}" for attribute in child.attributes)
        old = " [yellow](deprecated or misplaced)[/]" if child.occurrence_code else ""
        branch = tree.add(f"[bold]{child.name}[/] {child.card}{attributes}{old}  [dim]{child.meaning}[/]")
        if id(child) not in expanded:
            expanded.add(id(child))
            _add_children(branch, child, expanded)


def _show(title: str, row: dict[str, Any]) -> None:
    from rich.markup import escape

    console = terminal.console()
    console.print(f"[bold green]{row['path']}[/]  [dim]{title}[/]")
    console.print(f"  {escape(row['meaning'])}")
    facts = [("occurs", row["occurs"]), ("type", row["type"]), ("unit", row["unit"]), ("default", row["default"])]
    facts += [("reported as", row["code"]), ("note", row["engine"])]
    for label, value in facts:
        if value:
            console.print(f"  [dim]{label}:[/] {escape(str(value))}")
    for attribute in row["attributes"]:
        _print_row(f"@{attribute['name']}", "required" if attribute["required"] else "optional", attribute)
    for child in row["children"]:
        _print_row(f"<{child['name']}>", child["occurs"], child)
    console.print()


def _print_row(name: str, occurrence: str, row: dict[str, Any]) -> None:
    """Print an attribute or child: its type on the first line, its meaning on the second."""
    from rich.markup import escape

    facts = [occurrence, row["type"] or "element"]
    facts += [row["unit"]] if row["unit"] else []
    facts += [f"default {row['default']}"] if row["default"] else []
    meaning = f"{row['meaning']} {row['engine'] or ''}".strip()
    console = terminal.console()
    console.print(f"  [bold]{escape(name)}[/]  [dim]{escape(', '.join(facts))}[/]")
    console.print(f"      {escape(meaning)}")
