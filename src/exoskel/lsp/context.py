"""Where in a document a cursor stands, also while the document is half written."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from exoskel.source.positions import Span
from exoskel.source.vocabulary import Attribute, Element, Vocabulary

Where = Literal["tag", "end", "attribute", "value", "text", "nowhere"]

_TOKEN = re.compile(
    rb"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)|<![^>]*>?"
    rb"|<(/?)([^\s/><!?\"']*)((?:[^<>\"']|\"[^\"<]*\"|'[^'<]*')*+)(>?)",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(rb"""([^\s=/>"']+)(\s*=\s*(?:"([^"<]*)("|\Z)?|'([^'<]*)('|\Z)?)?)?""")
_WORD = re.compile(rb"[^\s<>]+")


class OpenElement(NamedTuple):
    """An element that is not closed before the cursor, and where its start tag begins."""

    name: str
    start: int


class Context(NamedTuple):
    """What the cursor is in: the elements around it, the name of the tag or attribute, and the word it touches.

    `span` is that word; `typed` is as much of it as stands before the cursor.
    """

    where: Where
    around: tuple[OpenElement, ...] = ()
    element: OpenElement | None = None
    attribute: str = ""
    span: Span = Span(0, 0)
    typed: str = ""
    taken: tuple[str, ...] = ()
    """The attributes that the tag has already."""


def context_at(text: bytes, offset: int) -> Context:
    """The context of a byte offset."""
    around: list[OpenElement] = []
    for token in _TOKEN.finditer(text):
        start, end = token.span()
        if token[2] is not None and not token[4]:  # a tag that is not closed goes on to the next one
            following = text.find(b"<", end)
            end = len(text) if following < 0 else following
        if start >= offset:
            break
        is_inside = offset < end or (token[2] is not None and not token[4] and offset <= end)
        if token[2] is None:
            if is_inside:
                return Context("nowhere", tuple(around))
            continue
        name = token[2].decode("utf-8", "replace")
        if is_inside:
            return _in_tag(text, token, end, offset, tuple(around))
        _follow(around, name, start, is_end=bool(token[1]), is_empty=token[3].endswith(b"/"))
    return _in_text(text, offset, tuple(around))


def _follow(around: list[OpenElement], name: str, start: int, *, is_end: bool, is_empty: bool) -> None:
    """Keep account of a whole tag."""
    if not is_end:
        if not is_empty and name:
            around.append(OpenElement(name, start))
    elif any(one.name == name for one in around):
        while around.pop().name != name:
            pass


def _in_tag(text: bytes, token: re.Match[bytes], end: int, offset: int, around: tuple[OpenElement, ...]) -> Context:
    name = token[2].decode("utf-8", "replace")
    here = OpenElement(name, token.start())
    named = Span(*token.span(2))
    if offset <= named.end:
        typed = text[named.start : offset].decode("utf-8", "replace") if offset >= named.start else ""
        return Context("end" if token[1] else "tag", around, here, span=named, typed=typed)
    if token[1]:
        return Context("nowhere", around)
    taken = []
    for match in _ATTRIBUTE.finditer(text, named.end, end):
        attribute = match[1].decode("utf-8", "replace")
        value = Span(*match.span(3 if match[3] is not None else 5))
        if match.start(1) <= offset <= match.end(1):
            typed = text[match.start(1) : offset].decode("utf-8", "replace")
            return Context("attribute", around, here, attribute, Span(*match.span(1)), typed)
        if value.start >= 0 and value.start <= offset <= value.end:
            typed = text[value.start : offset].decode("utf-8", "replace")
            return Context("value", around, here, attribute, value, typed)
        taken.append(attribute)
    return Context("attribute", around, here, span=Span(offset, offset), taken=tuple(taken))


def _in_text(text: bytes, offset: int, around: tuple[OpenElement, ...]) -> Context:
    begin = offset
    while begin > 0 and text[begin - 1 : begin] not in (b" ", b"\t", b"\r", b"\n", b">"):
        begin -= 1
    word = _WORD.match(text, begin)
    span = Span(begin, word.end() if word else begin)
    typed = text[begin:offset].decode("utf-8", "replace")
    return Context("text", around, around[-1] if around else None, span=span, typed=typed)


def rule_of(vocabulary: Vocabulary | None, around: tuple[OpenElement, ...]) -> Element | None:
    """The declaration of the innermost of some nested elements; None if the vocabulary knows no such."""
    if vocabulary is None or not around or around[0].name.rpartition(":")[2] != vocabulary.root.name:
        return None
    rule: Element | None = vocabulary.root
    for step in around[1:]:
        rule = rule.children.get(step.name) if rule is not None else None
    return rule


def declared(vocabulary: Vocabulary | None, context: Context) -> tuple[str, Element | None, Attribute | None]:
    """The path, element and attribute that a context is about."""
    if context.element is None:
        return "", None, None
    chain = context.around if context.where == "text" else (*context.around, context.element)
    if context.where == "end":
        chain = context.around
    rule = rule_of(vocabulary, chain)
    path = "/".join(step.name for step in chain)
    attribute = rule.attributes.get(context.attribute) if rule is not None and context.attribute else None
    return path, rule, attribute
