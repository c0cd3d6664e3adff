"""Hover texts and completion, both from the vocabulary."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lsprotocol import types

from exoskel.lsp.context import CursorContext, context_at, declaration_at, find_rule
from exoskel.lsp.open_document import OpenDocument
from exoskel.source.markup import escape_attribute
from exoskel.source.positions import Span
from exoskel.source.vocabulary import Attribute, Element, ValueType, describe_element

BODY_NAME = "body name"
"""The kind of value that refers to a body, in all formats."""

_CHOICES = re.compile(r"(?:one of )?`[^`]*`(?:(?:, | or |, or )`[^`]*`)*")


# --- hover --------------------------------------------------------------------------------------------


def hover(opened: OpenDocument, position: types.Position) -> types.Hover | None:
    context = context_at(opened.text, opened.positions.offset(position))
    path, rule, attribute = declaration_at(opened.vocabulary, context)
    if rule is None or (context.attribute and attribute is None):
        return None
    text = _attribute_help(rule, attribute) if attribute is not None else _element_help(path, rule)
    content = types.MarkupContent(types.MarkupKind.Markdown, text)
    return types.Hover(content, opened.positions.range(context.span))


def _element_help(path: str, rule: Element) -> str:
    facts = describe_element(path, rule)
    lines = [f"**`<{rule.name}>`** ({facts['occurs']})", "", rule.meaning, *_facts(facts)]
    if rule.kind is not None:
        lines += ["", f"{rule.kind.name}: {rule.kind.meaning}"]
    for title, marks in (("attributes", "`{}`"), ("children", "`<{}>`")):
        if facts[title]:
            lines += ["", f"{title}: " + ", ".join(marks.format(one["name"]) for one in facts[title])]
    return "\n".join(lines)


def _attribute_help(rule: Element, attribute: Attribute) -> str:
    facts = next(one for one in describe_element("", rule)["attributes"] if one["name"] == attribute.name)
    needed = "required" if facts["required"] else "optional"
    head = [f"**`{attribute.name}`** of `<{rule.name}>` ({needed})", "", attribute.meaning]
    return "\n".join([*head, *_facts(facts), "", f"{attribute.kind.name}: {attribute.kind.meaning}"])


def _facts(facts: dict[str, str | None]) -> Iterator[str]:
    for name in ("unit", "default", "engine"):
        if facts[name]:
            yield ""
            yield str(facts[name]) if name == "engine" else f"{name}: `{facts[name]}`"


# --- completion ---------------------------------------------------------------------------------------


def completions(opened: OpenDocument, position: types.Position) -> list[types.CompletionItem]:
    offset = opened.positions.offset(position)
    context = context_at(opened.text, offset)
    match context.where:
        case "tag":
            return list(_elements(opened, context, Span(context.span.start - 1, offset)))
        case "end":
            return _end_tag(opened, context, offset)
        case "attribute":
            return list(_attributes(opened, context, offset))
        case "value":
            _, _, attribute = declaration_at(opened.vocabulary, context)
            return _values(opened, attribute.kind, context) if attribute is not None else []
        case "text":
            rule = find_rule(opened.vocabulary, context.ancestors)
            if rule is not None and rule.kind is not None:
                return _values(opened, rule.kind, context)
            return list(_elements(opened, context, Span(context.span.start, offset)))
        case _:
            return []


def _elements(opened: OpenDocument, context: CursorContext, typed: Span) -> Iterator[types.CompletionItem]:
    """The children of the enclosing element, each with its end tag, in the order of the reference."""
    if not context.ancestors:
        rows = {opened.vocabulary.root.name: opened.vocabulary.root} if opened.vocabulary is not None else {}
    else:
        rule = find_rule(opened.vocabulary, context.ancestors)
        rows = rule.children if rule is not None else {}
    for number, child in enumerate(rows.values()):
        path = "/".join([*(one.name for one in context.ancestors), child.name])
        yield types.CompletionItem(
            label=child.name,
            kind=types.CompletionItemKind.Field if child.is_leaf else types.CompletionItemKind.Struct,
            detail=_detail(child),
            documentation=types.MarkupContent(types.MarkupKind.Markdown, _element_help(path, child)),
            sort_text=f"{int(bool(child.occurrence_code))}{number:04}",
            filter_text=f"<{child.name}",
            tags=[types.CompletionItemTag.Deprecated] if child.occurrence_code else None,
            insert_text_format=types.InsertTextFormat.Snippet,
            text_edit=types.TextEdit(opened.positions.range(typed), _snippet(child)),
        )


def _detail(element: Element) -> str:
    parts = [element.kind.name if element.kind else "", element.unit, element.default and f"default {element.default}"]
    return ", ".join(part for part in parts if part)


def _snippet(element: Element) -> str:
    """A snippet of the whole element, with tab stops for its attributes and value."""
    stops = iter(range(1, 100))
    attributes = "".join(f' {one.name}="${{{next(stops)}}}"' for one in element.attributes.values() if one.required)
    value = f"${{{next(stops)}:{element.default}}}" if element.default else "$0"
    return f"<{element.name}{attributes}>{value}</{element.name}>"


def _end_tag(opened: OpenDocument, context: CursorContext, offset: int) -> list[types.CompletionItem]:
    if not context.ancestors:
        return []
    name = context.ancestors[-1].name
    place = opened.positions.range(Span(context.span.start, offset))
    closed = opened.text[context.span.end : context.span.end + 1] == b">"
    edit = types.TextEdit(place, name if closed else f"{name}>")
    return [types.CompletionItem(label=f"/{name}", filter_text=name, text_edit=edit)]


def _attributes(opened: OpenDocument, context: CursorContext, offset: int) -> Iterator[types.CompletionItem]:
    assert context.element is not None
    rule = find_rule(opened.vocabulary, (*context.ancestors, context.element))
    if rule is None:
        return
    place = opened.positions.range(Span(context.span.start, offset))
    for attribute in rule.attributes.values():
        if attribute.name not in context.present_attributes:
            yield types.CompletionItem(
                label=attribute.name,
                kind=types.CompletionItemKind.Property,
                detail=attribute.kind.name,
                documentation=types.MarkupContent(types.MarkupKind.Markdown, _attribute_help(rule, attribute)),
                insert_text_format=types.InsertTextFormat.Snippet,
                text_edit=types.TextEdit(place, f'{attribute.name}="${{1:{attribute.default}}}"'),
            )


def _values(opened: OpenDocument, kind: ValueType, context: CursorContext) -> list[types.CompletionItem]:
    place = opened.positions.range(context.span)
    names = _body_names(opened) if kind.name == BODY_NAME else choices(kind)
    found = types.CompletionItemKind.Reference if kind.name == BODY_NAME else types.CompletionItemKind.EnumMember
    return [
        types.CompletionItem(label=name, kind=found, text_edit=types.TextEdit(place, escape_attribute(name)))
        for name in names
    ]


def choices(kind: ValueType) -> list[str]:
    """The values of a kind that has a fixed set of them, else an empty list."""
    enumeration = kind.schema_type.enumeration
    if enumeration:
        return list(enumeration)
    return re.findall(r"`([^`]*)`", kind.meaning) if _CHOICES.fullmatch(kind.meaning) else []


def _body_names(opened: OpenDocument) -> list[str]:
    names = {body.name: None for world in opened.scene.worlds for body in world.bodies() if body.name}
    world = opened.format.world_name
    return [world, *names] if world else list(names)
