"""Hover texts and completion, both from the vocabulary, for the syntactic context of the cursor.

The document may be incomplete.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from lsprotocol import types

from exoskel.lsp.open_document import OpenDocument
from exoskel.source.markup import escape_attribute
from exoskel.source.positions import Span
from exoskel.source.schema import describe_element
from exoskel.source.vocabulary import Attribute, Element, ValueType, Vocabulary

BODY_NAMES = frozenset({"body name", "link name"})
"""The kinds of values that refer to bodies."""
"""The kind of value that refers to a body, in all formats."""

_CHOICES = re.compile(r"(?:one of )?`[^`]*`(?:(?:, | or |, or )`[^`]*`)*")


# --- the context of the cursor ------------------------------------------------------------------------


CursorLocation = Literal["tag", "end", "attribute", "value", "text", "other"]

_TOKEN = re.compile(
    rb"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)|<![^>]*>?"
    rb"|<(/?)([^\s/><!?\"']*)((?:[^<>\"']|\"[^\"<]*\"|'[^'<]*')*+)(>?)",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(rb"""([^\s=/>"']+)(\s*=\s*(?:"([^"<]*)("|\Z)?|'([^'<]*)('|\Z)?)?)?""")
_WORD = re.compile(rb"[^\s<>]+")


class OpenElement(NamedTuple):
    """An element that is not closed before the cursor, and the offset of its start tag."""

    name: str
    start: int


class CursorContext(NamedTuple):
    """The context of the cursor: the enclosing elements, the tag or attribute, and the word under the cursor.

    `span` is that word; `typed` is its part before the cursor.
    """

    where: CursorLocation
    ancestors: tuple[OpenElement, ...] = ()
    element: OpenElement | None = None
    attribute: str = ""
    span: Span = Span(0, 0)
    typed: str = ""
    present_attributes: tuple[str, ...] = ()
    """The attributes that the tag already has."""


def context_at(text: bytes, offset: int) -> CursorContext:
    """The context of a byte offset."""
    ancestors: list[OpenElement] = []
    for token in _TOKEN.finditer(text):
        start, end = token.span()
        if token[2] is not None and not token[4]:  # an unclosed tag extends to the next one
            following = text.find(b"<", end)
            end = len(text) if following < 0 else following
        if start >= offset:
            break
        is_inside = offset < end or (token[2] is not None and not token[4] and offset <= end)
        if token[2] is None:
            if is_inside:
                return CursorContext("other", tuple(ancestors))
            continue
        name = token[2].decode("utf-8", "replace")
        if is_inside:
            return _in_tag(text, token, end, offset, tuple(ancestors))
        _update_ancestors(ancestors, name, start, is_end=bool(token[1]), is_empty=token[3].endswith(b"/"))
    return _in_text(text, offset, tuple(ancestors))


def _update_ancestors(ancestors: list[OpenElement], name: str, start: int, *, is_end: bool, is_empty: bool) -> None:
    """Update the enclosing elements after a complete tag."""
    if not is_end:
        if not is_empty and name:
            ancestors.append(OpenElement(name, start))
    elif any(one.name == name for one in ancestors):
        while ancestors.pop().name != name:
            pass


def _in_tag(
    text: bytes, token: re.Match[bytes], end: int, offset: int, ancestors: tuple[OpenElement, ...]
) -> CursorContext:
    name = token[2].decode("utf-8", "replace")
    here = OpenElement(name, token.start())
    named = Span(*token.span(2))
    if offset <= named.end:
        typed = text[named.start : offset].decode("utf-8", "replace") if offset >= named.start else ""
        return CursorContext("end" if token[1] else "tag", ancestors, here, span=named, typed=typed)
    if token[1]:
        return CursorContext("other", ancestors)
    present_attributes = []
    for match in _ATTRIBUTE.finditer(text, named.end, end):
        attribute = match[1].decode("utf-8", "replace")
        value = Span(*match.span(3 if match[3] is not None else 5))
        if match.start(1) <= offset <= match.end(1):
            typed = text[match.start(1) : offset].decode("utf-8", "replace")
            return CursorContext("attribute", ancestors, here, attribute, Span(*match.span(1)), typed)
        if value.start >= 0 and value.start <= offset <= value.end:
            typed = text[value.start : offset].decode("utf-8", "replace")
            return CursorContext("value", ancestors, here, attribute, value, typed)
        present_attributes.append(attribute)
    return CursorContext(
        "attribute", ancestors, here, span=Span(offset, offset), present_attributes=tuple(present_attributes)
    )


def _in_text(text: bytes, offset: int, ancestors: tuple[OpenElement, ...]) -> CursorContext:
    begin = offset
    while begin > 0 and text[begin - 1 : begin] not in (b" ", b"\t", b"\r", b"\n", b">"):
        begin -= 1
    word = _WORD.match(text, begin)
    span = Span(begin, word.end() if word else begin)
    typed = text[begin:offset].decode("utf-8", "replace")
    return CursorContext("text", ancestors, ancestors[-1] if ancestors else None, span=span, typed=typed)


def find_rule(vocabulary: Vocabulary | None, ancestors: tuple[OpenElement, ...]) -> Element | None:
    """The declaration of the innermost of some nested elements; None if the vocabulary has none."""
    if vocabulary is None or not ancestors or ancestors[0].name.rpartition(":")[2] != vocabulary.root.name:
        return None
    rule: Element | None = vocabulary.root
    for step in ancestors[1:]:
        rule = rule.children.get(step.name) if rule is not None else None
    return rule


def declaration_at(
    vocabulary: Vocabulary | None, context: CursorContext
) -> tuple[str, Element | None, Attribute | None]:
    """The path and the declarations of the element and attribute at a context."""
    if context.element is None:
        return "", None, None
    chain = context.ancestors if context.where == "text" else (*context.ancestors, context.element)
    if context.where == "end":
        chain = context.ancestors
    rule = find_rule(vocabulary, chain)
    path = "/".join(step.name for step in chain)
    attribute = rule.attributes.get(context.attribute) if rule is not None and context.attribute else None
    return path, rule, attribute


# --- hover --------------------------------------------------------------------------------------------


def markup(text: str, content: types.MarkupKind) -> types.MarkupContent:
    """A text in Markdown, or without its marks for editors that do not show Markdown."""
    if content is types.MarkupKind.PlainText:
        text = _LINK.sub(r"\1", text.replace("**", "").replace("`", ""))
    return types.MarkupContent(content, text)


_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def hover(opened: OpenDocument, position: types.Position, content: types.MarkupKind) -> types.Hover | None:
    context = context_at(opened.text, opened.positions.offset(position))
    path, rule, attribute = declaration_at(opened.vocabulary, context)
    if rule is None or (context.attribute and attribute is None):
        return None
    text = _attribute_help(rule, attribute) if attribute is not None else _element_help(path, rule)
    return types.Hover(markup(text, content), opened.positions.range(context.span))


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


def completions(
    opened: OpenDocument, position: types.Position, content: types.MarkupKind
) -> list[types.CompletionItem]:
    offset = opened.positions.offset(position)
    context = context_at(opened.text, offset)
    match context.where:
        case "tag":
            return list(_elements(opened, context, Span(context.span.start - 1, offset), content))
        case "end":
            return _end_tag(opened, context, offset)
        case "attribute":
            return list(_attributes(opened, context, offset, content))
        case "value":
            _, _, attribute = declaration_at(opened.vocabulary, context)
            return _values(opened, attribute.kind, context) if attribute is not None else []
        case "text":
            rule = find_rule(opened.vocabulary, context.ancestors)
            if rule is not None and rule.kind is not None:
                return _values(opened, rule.kind, context)
            return list(_elements(opened, context, Span(context.span.start, offset), content))
        case _:
            return []


def _elements(
    opened: OpenDocument, context: CursorContext, typed: Span, content: types.MarkupKind
) -> Iterator[types.CompletionItem]:
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
            documentation=markup(_element_help(path, child), content),
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


def _attributes(
    opened: OpenDocument, context: CursorContext, offset: int, content: types.MarkupKind
) -> Iterator[types.CompletionItem]:
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
                documentation=markup(_attribute_help(rule, attribute), content),
                insert_text_format=types.InsertTextFormat.Snippet,
                text_edit=types.TextEdit(place, f'{attribute.name}="${{1:{attribute.default}}}"'),
            )


def _values(opened: OpenDocument, kind: ValueType, context: CursorContext) -> list[types.CompletionItem]:
    place = opened.positions.range(context.span)
    names = _body_names(opened) if kind.name in BODY_NAMES else choices(kind)
    found = types.CompletionItemKind.Reference if kind.name in BODY_NAMES else types.CompletionItemKind.EnumMember
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
