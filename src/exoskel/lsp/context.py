"""The syntactic context of the cursor, also in incomplete documents."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from exoskel.source.positions import Span
from exoskel.source.vocabulary import Attribute, Element, Vocabulary

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
