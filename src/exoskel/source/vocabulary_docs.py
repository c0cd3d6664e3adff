"""Documentation of a vocabulary: data for `exoskel describe`, and a Markdown page."""

from __future__ import annotations

from typing import Any

from exoskel.source.vocabulary import Attribute, Element, Vocabulary

_CARDINALITY = {
    "1": "exactly one",
    "2": "exactly two",
    "3": "exactly three",
    "?": "at most one",
    "+": "at least one",
    "*": "any number",
}


def describe_element(path: str, element: Element) -> dict[str, Any]:
    """An element of the vocabulary with its attributes and children, as data for JSON."""
    return {
        "path": path,
        "name": element.name,
        "meaning": element.meaning,
        "occurs": _occurs(element),
        **_facts(element),
        "attributes": [_attribute(attribute) for attribute in element.attributes.values()],
        "children": [
            {
                "name": child.name,
                "occurs": _occurs(child),
                "meaning": child.meaning,
                **_facts(child),
            }
            for child in element.children.values()
        ],
    }


def _occurs(element: Element) -> str:
    return f"at least {element.least}" if element.least > 1 else _CARDINALITY[element.card]


def _facts(element: Element) -> dict[str, Any]:
    return {
        "type": element.kind.name if element.kind else None,
        "unit": element.unit or None,
        "default": element.default or None,
        "engine": element.engine or None,
        "code": element.occurrence_code.partition(".")[0] or None,
    }


def _attribute(attribute: Attribute) -> dict[str, Any]:
    return {
        "name": attribute.name,
        "required": attribute.required or attribute.demanded,
        "meaning": attribute.meaning,
        "type": attribute.kind.name,
        "unit": attribute.unit or None,
        "default": attribute.default or None,
        "engine": attribute.engine or None,
    }


def vocabulary_markdown(vocabulary: Vocabulary) -> str:
    """The whole vocabulary as a Markdown page."""
    parts = [
        f"# {vocabulary.title}: every element",
        "This page is generated from the vocabulary of the reader (`make docs`); do not edit it.",
        "How often a child may occur: `1` exactly once, `?` at most once, `+` at least once, `*` any number of times.",
        "## Kinds of value",
        _table(["kind", "text"], [[f"`{k.name}`", k.meaning] for k in vocabulary.kinds().values()]),
    ]
    for path, element in vocabulary.rows():
        if not element.is_leaf:
            parts.append(_section(path, element))
    return "\n\n".join(parts) + "\n"


def _section(path: str, element: Element) -> str:
    parts = [f"## `{path}`", element.meaning]
    if element.engine:
        parts.append(f"*{element.engine}*")
    if element.attributes:
        rows = [
            [f"`@{a.name}`", a.kind.name, a.default, _prose(a.meaning, a.engine)] for a in element.attributes.values()
        ]
        parts.append(_table(["attribute", "kind", "default", "meaning"], rows))
    if element.children:
        rows = [_child_row(child) for child in element.children.values()]
        parts.append(_table(["child", "", "kind", "unit", "default", "meaning"], rows))
    return "\n\n".join(parts)


def _child_row(child: Element) -> list[str]:
    meaning = _prose(child.meaning, child.engine)
    if child.occurrence_code:
        meaning += f" [{child.occurrence_code.partition('.')[0]}]"
    kind = child.kind.name if child.kind else "element"
    return [f"`{child.name}`", f"`{child.card}`", kind, child.unit, child.default, meaning]


def _prose(meaning: str, engine: str) -> str:
    return f"{meaning} {engine}".strip()


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
