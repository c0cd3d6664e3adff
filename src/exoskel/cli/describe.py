"""`exoskel describe`: what an element means."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from exoskel.cli import output
from exoskel.diagnostics import ExoskelError, did_you_mean
from exoskel.formats import registry
from exoskel.source.reference import describe as rows_of
from exoskel.source.vocabulary import Element


def describe(
    name: Annotated[str, Parameter(help="An element, or the end of its path, such as `joint/axis`.")] = "",
    /,
    *,
    format: Annotated[str | None, Parameter(help="Only this format.")] = None,
    json: Annotated[bool, Parameter(help="Print the rows as JSON.", negative="")] = False,
) -> int:
    """Show what an element means: its children, attributes, units, defaults, and what the old reader does.

    Without a name, all elements are listed.

    Examples
    --------
    ```
    exoskel describe
    exoskel describe joint
    exoskel describe body/gravity
    exoskel describe inertia --json
    ```
    """
    formats = [registry.by_name(format)] if format else list(registry.FORMATS)
    if not name:
        _outline(formats, json)
        return 0
    found = [
        (one.title, path, element) for one in formats for path, element in one.vocabulary().find(name)
    ]
    if not found:
        known = [word for one in formats for word in one.vocabulary().names()]
        hint = did_you_mean(name, known)
        raise ExoskelError(f"there is no element {name!r}" + (f"; {hint}" if hint else ""))
    if json:
        output.write_json([rows_of(path, element) for _, path, element in found])
        return 0
    for title, path, element in found:
        _show(title, rows_of(path, element))
    return 0


def _outline(formats: list[registry.Format], json: bool) -> None:
    if json:
        every = [rows_of(path, e) for one in formats for path, e in one.vocabulary().root.walk()]
        output.write_json(every)
        return
    from rich.tree import Tree

    for one in formats:
        root = one.vocabulary().root
        tree = Tree(f"[bold]{root.name}[/]  [dim]{root.meaning}[/]", guide_style="dim")
        _grow(tree, root)
        output.console().print(tree)


def _grow(tree: Any, element: Element) -> None:
    for child in element.children.values():
        attributes = "".join(f" @{attribute}" for attribute in child.attributes)
        old = " [yellow](old or misplaced)[/]" if child.remark else ""
        branch = tree.add(f"[bold]{child.name}[/] {child.card}{attributes}{old}  [dim]{child.meaning}[/]")
        _grow(branch, child)


def _show(title: str, row: dict[str, Any]) -> None:
    from rich.markup import escape

    console = output.console()
    console.print(f"[bold green]{row['path']}[/]  [dim]{title}[/]")
    console.print(f"  {escape(row['meaning'])}")
    facts = [("occurs", row["occurs"]), ("type", row["type"]), ("unit", row["unit"]), ("default", row["default"])]
    facts += [("reported as", row["code"]), ("note", row["engine"])]
    for label, value in facts:
        if value:
            console.print(f"  [dim]{label}:[/] {escape(str(value))}")
    if row["attributes"]:
        console.print(_table("attributes", row["attributes"], "required"))
    if row["children"]:
        console.print(_table("children", row["children"], "occurs"))
    console.print()


def _table(title: str, rows: list[dict[str, Any]], how_often: str) -> Any:
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 2), title_style="dim")
    for heading in ("name", "how often", "type", "default", "meaning"):
        table.add_column(heading, header_style="dim", overflow="fold")
    for row in rows:
        often = row[how_often]
        often = ("required" if often else "optional") if isinstance(often, bool) else often
        meaning = f"{row['meaning']} {row['engine'] or ''}".strip()
        unit = f" [{row['unit']}]" if row["unit"] else ""
        kind = f"{row['type'] or 'element'}{unit}"
        table.add_row(row["name"], often, escape(kind), row["default"] or "", escape(meaning))
    return table
