"""Documents.  An XML document is its bytes: trees are parsed on request, and positions are computed on demand.

A document that is not XML has objects with properties, such as the prims of USD and the nodes of glTF.  They are
numbered in document order, like elements, so that diagnostics and fates can refer to them and to their properties.
"""

from __future__ import annotations

import gc
import re
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from lxml import etree

from exoskel.diagnostics import Locator, Place, Position
from exoskel.source import encoding as encodings
from exoskel.source.encoding import Encoding, Prolog, escape_undeclared_references, plain_start, read_prolog
from exoskel.source.file_lookup import Location
from exoskel.source.limits import DEFAULT_LIMITS, Limits
from exoskel.source.positions import Scan, Span, may_split_text
from exoskel.source.well_formedness import ENTITIES_REFUSED, MalformedError, check_well_formedness, explain_parse_error

PathStyle = Literal["named", "xpath"]
Tree = Any
"""An lxml element.  lxml has no types of its own that a strict checker accepts."""


class PlacedComment(NamedTuple):
    """A comment, with the numbers of the element that follows it and of the one around it (-1: none)."""

    span: Span
    following: int
    container: int


_FATAL = etree.ErrorLevels.FATAL
_EMPTY_PROLOG = Prolog()
_FEW = 20
_CLOSING = ord(">")
_SHORTEST_ATTRIBUTE = len(' a=""')
_MAX_REPEAT = 2**31
"""The largest repetition count of a regular expression."""


class Document:
    """The bytes of one file, with its encoding, text, tree and positions.

    `name` is the name of the file in messages; `location` is the base of relative references.
    """

    def __init__(
        self,
        data: bytes,
        name: str = "<bytes>",
        location: Location | None = None,
        path_style: PathStyle = "named",
    ) -> None:
        self.data = data
        self._name = name
        self._plain_root: str | None = None
        self._equals_signs: int | None = None
        self.location = location or Location()
        self.path_style = path_style
        self.stored: bytes | None = None
        """The content of the file when this document was read from it or last saved to it."""
        self.overwritten_with: bytes | None = None
        """What a conversion has replaced the content of the file with."""
        self.is_generated = False
        """The content was made from that of the file, which is different."""
        self.included: list[str] = []
        """Included files that were read as parts of this one."""

    @property
    def name(self) -> str:
        return self._name

    @property
    def plain_root(self) -> str:
        """The tag of the root element of a document in UTF-8 without document type; empty if that is not certain."""
        if self._plain_root is None:
            root, encoding = plain_start(self.data) or ("", None)
            self._plain_root = root
            if encoding is not None:
                self.__dict__.update(encoding=encoding, text=self.data, prolog=_EMPTY_PROLOG)
        return self._plain_root

    @cached_property
    def encoding(self) -> Encoding:
        return encodings.detect_encoding(self.data)

    @cached_property
    def text(self) -> bytes:
        """The document in an encoding that can be scanned byte by byte, without a byte-order mark."""
        return encodings.scannable_text(self.data, self.encoding)

    @cached_property
    def scan(self) -> Scan:
        """The scan of the text; of leniently decoded text if the bytes are invalid in their encoding."""
        try:
            return Scan(self.text, self.encoding.codec if self.encoding.scannable else "utf-8")
        except (encodings.UnknownEncodingError, UnicodeDecodeError):
            return Scan(encodings.lenient_text(self.data))

    @property
    def equals_signs(self) -> int:
        """The number of equals signs: the document has no more attributes."""
        if self._equals_signs is None:
            self._equals_signs = self.text.count(b"=")
        return self._equals_signs

    @cached_property
    def prolog(self) -> Prolog:
        return read_prolog(self.text)

    @property
    def encoding_position(self) -> Position:
        """Where the document declares its encoding; its beginning if it does not."""
        named = encodings.declared_encoding_span(self.scan.text)
        return self.scan.position(Span(*named) if named else Span(0, 1))

    def parse(self, limits: Limits = DEFAULT_LIMITS) -> Tree:
        """Parse the document; returns the root element, without comments, processing instructions and whitespace.

        Raises MalformedError, with a position, if the document is not well-formed XML, declares entities or exceeds a
        limit.
        """
        text = encodings.with_version_1(self.checked_text(limits))
        if text.find(b"&") >= 0 and self.prolog.is_incomplete:  # `in` takes several times as long
            text = escape_undeclared_references(text, self.scan.regions, self.scan.codec)
        parser = self._reused_parser()
        tree: Tree = None
        try:  # noqa: SIM105 - a context manager takes longer
            tree = etree.fromstring(text, parser)
        except etree.XMLSyntaxError:
            pass
        # The error's own log collects the errors of all parsers; the parser's log only has those of this document.
        log = parser.error_log
        has_problems = len(log) > 0
        if has_problems and (fatal := [entry for entry in log if entry.level == _FATAL]):
            raise explain_parse_error(self.scan, fatal[0], limits)
        # An undeclared prefix, or a repeated declaration: harmless, but the parser may have missed other errors.  If a
        # warning follows, it does not even raise, and it says nothing about repeated declarations of `xml`.
        if tree is None or has_problems or _declares_xml(text):
            check_well_formedness(self.scan)
        return etree.fromstring(text, self.parser(recover=True)) if tree is None else tree

    def checked_text(self, limits: Limits) -> bytes:
        """The text of a document that is within the limits and declares no entities.  Raises MalformedError."""
        if len(self.data) > limits.bytes:
            raise MalformedError(f"the file is too large; the limit is {limits.bytes} bytes", limit="bytes")
        text = self._decode()
        if (
            len(text) > limits.elements
            and text.count(b"<") > limits.elements
            and (count := len(self.scan.starts)) > limits.elements
        ):
            raise MalformedError(f"the file has {count} elements; the limit is {limits.elements}", limit="elements")
        self._check_attributes(text, limits.attributes)
        if self.prolog.entities is not None:
            raise MalformedError(ENTITIES_REFUSED, self.scan.position(self.prolog.entities))
        return text

    def _check_attributes(self, text: bytes, most: int) -> None:
        """Raise MalformedError for a tag with too many attributes; only very long tags are examined."""
        shortest = min(most * _SHORTEST_ATTRIBUTE, _MAX_REPEAT)
        if len(text) <= shortest or self.equals_signs <= most:
            return
        for match in re.finditer(rb"<[^<!?/][^<]{%d}" % shortest, text):
            scan = self.scan
            node = int(np.searchsorted(scan.starts, match.start()))
            if node < len(scan.starts) and scan.starts[node] == match.start() and len(scan.attributes(node)) > most:
                reason = f"an element has {len(scan.attributes(node))} attributes; the limit is {most}"
                raise MalformedError(reason, scan.position(scan.tag(node)), limit="attributes")

    def parser(self, recover: bool = False) -> etree.XMLParser:
        """A parser that does not load or expand anything.  We limit sizes and depth ourselves."""
        return etree.XMLParser(
            encoding=self.encoding.codec if self.encoding.scannable else "utf-8",
            remove_blank_text=True,
            remove_comments=True,
            remove_pis=True,
            resolve_entities=False,
            load_dtd=False,
            no_network=True,
            huge_tree=True,
            recover=recover,
        )

    def _reused_parser(self) -> etree.XMLParser:
        """A parser of this thread: creating one takes as long as parsing a small document."""
        codec = self.encoding.codec
        parser = _PARSERS.by_codec.get(codec)
        if parser is None:
            parser = _PARSERS.by_codec[codec] = self.parser()
        return parser

    def _decode(self) -> bytes:
        try:
            return self.text
        except encodings.UnknownEncodingError as error:
            reason = f"the declared encoding '{error}' is unknown"
            raise MalformedError(reason, self.encoding_position) from None
        except UnicodeDecodeError as error:
            at = len(encodings.lenient_text(self.data, error.start))
            raise MalformedError(
                f"byte {error.start + self.encoding.mark + 1} is invalid in {self.encoding.declared}",
                self.scan.position(Span(at, at + 1)),
            ) from None

    def split_texts(self) -> dict[int, str]:
        """The elements whose text is split by a comment or CDATA section, by number, each with its first piece."""
        if not may_split_text(self.text):
            return {}
        return {
            node: pieces[0]
            for node in self.scan.elements_with_regions_in_text()
            if len(pieces := self.scan.text_pieces(node)) > 1
        }

    def comments(self, beginning: bytes) -> Iterator[tuple[Span, str]]:
        """Yield the comments whose text starts with `beginning`, each with its bytes."""
        text = self.text
        if beginning not in text:
            return
        for start, end in self.scan.regions:
            if text.startswith(b"<!--", start) and text[start + 4 : end - 3].lstrip().startswith(beginning):
                yield Span(start, end), text[start + 4 : end - 3].decode(self.scan.codec, "replace")

    @cached_property
    def placed_comments(self) -> list[PlacedComment]:
        """All comments with their places among the elements, in document order."""
        if self.text.find(b"<!--") < 0:  # as in most documents; `in` takes several times as long
            return []
        text, scan, parents = self.text, self.scan, self.outline.parents
        found: list[PlacedComment] = []
        following, container, at = -1, -1, 0
        for start, end in scan.regions:
            after = int(np.searchsorted(scan.starts, start))
            if after != following:
                following, container = after, after - 1
                at = scan.tag_end(container) if container >= 0 else 0
                if text[at - 2 : at] == b"/>":
                    container = parents[container]
            # Each end tag before the comment closes one more element.
            for _ in range(text.count(b"</", at, start)):
                container = parents[container] if container >= 0 else -1
            at = end
            if text.startswith(b"<!--", start):
                found.append(PlacedComment(Span(start, end), following, container))
        return found

    def position(self, place: Place) -> Position | None:
        if place.position is not None or place.node < 0:
            return place.position
        return self.scan.position(self.span(place))

    def element(self, place: Place) -> int:
        """The number of the element that a place refers to."""
        return self.outline.descend(place.node, place.child) if place.child else place.node

    def span(self, place: Place) -> Span:
        """The bytes that a place refers to: an attribute value, a text, or the tag."""
        node = self.element(place)
        if place.attribute:
            return self.scan.attribute(node, place.attribute) or self.scan.tag(node)
        points_at_value = place.token or place.child
        return self.scan.value(node, place.token) if points_at_value else self.scan.tag(node)

    def lines(self, nodes: Sequence[int]) -> list[int]:
        """The line numbers of many elements at once."""
        return self.scan.lines(nodes)

    def path(self, place: Place) -> str:
        if place.node < 0:
            return ""
        path = self.path_of(self.element(place))
        return f"{path}/@{place.attribute}" if place.attribute else path

    def path_of(self, node: int) -> str:
        """The path of an element; cached, because paths of its children start with it."""
        paths, parents = self._paths, self.outline.parents
        waiting = [node]
        while (path := paths.get(node)) is None:
            last = waiting[-1]
            above = parents[last]
            if above >= 0 and above not in paths:
                waiting.append(above)
            else:
                paths[last] = self._path_below(last, paths.get(above, ""))
                waiting.pop()
        return path

    def line_text(self, line: int) -> str:
        return self.scan.line_text(line)

    def origin(self, place: Place) -> tuple[Locator, Place]:
        return self, place  # another document if macros were expanded

    @cached_property
    def outline(self) -> Outline:
        """Parents and tags of all elements.  Only for well-formed documents."""
        return Outline(self.parse(Limits(depth=2**30, bytes=2**62, elements=2**62)))

    def _path_below(self, node: int, above: str) -> str:
        """The path of an element; `above` is that of its parent."""
        return self._xpath(node, above) if self.path_style == "xpath" else self._named_path(node, above)

    def _named_path(self, node: int, above: str) -> str:
        """A path such as `skeleton[arm]/joint[neck]/axis2/xyz`: starts below the world and uses names where it can."""
        tags, parents = self.outline.tags, self.outline.parents
        step = tags[node]
        name = "" if self.without_attributes[node] else self._name_attribute(node)
        if name:
            step = f"{step}[{name}]"
        elif ordinal := self.outline.ordinal(node):
            step = f"{step}[{ordinal}]"
        parent = parents[node]
        is_top = parent <= 0 or (parents[parent] == 0 and tags[parent].startswith("world"))
        return step if is_top else f"{above}/{step}"

    def _xpath(self, node: int, above: str) -> str:
        """A path such as `/xode/world[1]/body[@name='arm']`."""
        tag = self.outline.tags[node]
        parent = self.outline.parents[node]
        if parent < 0:
            return f"/{tag}"
        name = self._name_attribute(node)
        index = self.outline.ordinal(node) or 1
        return f"{above}/{tag}" + (f"[@name={_quote(name)}]" if name else f"[{index}]")

    def attributes(self, node: int) -> dict[str, Span]:
        """The attributes of an element, with the spans of their values."""
        return {} if self.without_attributes[node] else self.scan.attributes(node)

    @cached_property
    def without_attributes(self) -> list[bool]:
        """Which elements certainly have no attributes: `>` follows their name.

        This holds for most elements of some formats, which then need not be examined one by one.
        """
        lengths = np.array([len(tag) for tag in self.outline.tags], dtype=np.intp)
        if len(lengths) != len(self.scan.starts):  # cannot be matched: examine them one by one
            return [False] * len(lengths)
        following = np.frombuffer(self.scan.text, dtype=np.uint8)[self.scan.starts + 1 + lengths]
        found: list[bool] = (following == _CLOSING).tolist()
        return found

    @cached_property
    def _paths(self) -> dict[int, str]:
        return {}

    def attribute_text(self, node: int, name: str) -> str:
        """The value of an attribute as written; empty if it is missing."""
        span = self.scan.attribute(node, name)
        return self.text[span.start : span.end].decode(self.scan.codec, "replace") if span else ""

    def value_text(self, node: int) -> str:
        """The text of an element as written, without the spaces around it; empty if it has none."""
        span = self.scan.content(node)
        return self.text[span.start : span.end].strip(b" \t\r\n").decode(self.scan.codec, "replace")

    def _name_attribute(self, node: int) -> str:
        span = None if self.without_attributes[node] else self.scan.attribute(node, "name")
        return _unescape(self.text[span.start : span.end].decode(self.scan.codec, "replace")) if span else ""


class Outline:
    """The structure of a tree in flat lists, much smaller than the tree."""

    def __init__(self, root: Tree) -> None:
        elements = list(root.iter())
        self.tags: list[str] = [tag if (tag := e.tag)[0] != "{" else tag_as_written(e) for e in elements]
        self.parents = [-1] * len(elements)
        self.ends = list(range(1, len(elements) + 1))
        """The number after that of the last descendant of each element."""
        parents, ends = self.parents, self.ends
        counts = [len(element) for element in elements]
        for number in range(len(elements) - 1, -1, -1):
            if counts[number]:
                child = number + 1
                for _ in range(counts[number]):
                    parents[child] = number
                    child = ends[child]
                ends[number] = child

    def ancestry(self, node: int) -> list[int]:
        """The path from the root to the element: its ancestors and itself."""
        chain = [node]
        while (parent := self.parents[chain[-1]]) >= 0:
            chain.append(parent)
        return chain[::-1]

    def children(self, node: int) -> Iterator[int]:
        child = node + 1
        while child < self.ends[node]:
            yield child
            child = self.ends[child]

    def descend(self, node: int, path: str) -> int:
        """Follow the first child of each name in `path` from `node`; a missing name is skipped."""
        for name in path.split("/"):
            node = next((child for child in self.children(node) if self.tags[child] == name), node)
        return node

    def ordinal(self, node: int) -> int:
        """The number 1, 2, … among siblings of the same tag; 0 if there is only one."""
        known = self._ordinals
        if node not in known:
            self._number_siblings(node)
        return known.get(node, 0)

    @cached_property
    def _ordinals(self) -> dict[int, int]:
        """The ordinals that were asked for, and those of all siblings of these elements."""
        return {}

    def _number_siblings(self, node: int) -> None:
        parent, tags = self.parents[node], self.tags
        siblings = list(self.children(parent)) if parent >= 0 else [node]
        totals, seen = Counter([tags[sibling] for sibling in siblings]), Counter[str]()
        for sibling in siblings:
            tag = tags[sibling]
            seen[tag] += 1
            self._ordinals[sibling] = seen[tag] if totals[tag] > 1 else 0


def _quote(name: str) -> str:
    """Quote a text for XPath, which has no escapes: text with both kinds of quotes is concatenated."""
    if "'" not in name:
        return f"'{name}'"
    if '"' not in name:
        return f'"{name}"'
    return "concat('" + name.replace("'", """', "'", '""") + "')"


def tag_as_written(element: Tree) -> str:
    """The tag as written: with its prefix, but without a default namespace."""
    tag: str = element.tag
    if tag[0] != "{":
        return tag
    local = tag.rpartition("}")[2]
    return f"{element.prefix}:{local}" if element.prefix else local


def split_tag(element: Tree) -> tuple[str, str]:
    """Split the tag of an element into its namespace, which may be empty, and its local name.

    An undeclared prefix is part of the name; lxml's QName rejects such names.
    """
    namespace, _, local = element.tag[1:].rpartition("}") if element.tag[0] == "{" else ("", "", element.tag)
    return namespace, local


_ESCAPE = re.compile(r"&(?:#([0-9]{1,7})|#x([0-9a-fA-F]{1,6})|(amp|lt|gt|quot|apos));")
_ESCAPED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


def _unescape(text: str) -> str:
    """Resolve the character references in an attribute value."""

    def character(match: re.Match[str]) -> str:
        decimal, hexadecimal, name = match.groups()
        return _ESCAPED[name] if name else chr(int(decimal or "0") or int(hexadecimal or "0", 16))

    return _ESCAPE.sub(character, text) if "&" in text else text


def _declares_xml(text: bytes) -> bool:
    """Whether a text may declare the prefix `xml`.  A few colons are examined faster than a word is found."""
    at = -1
    for _ in range(_FEW):
        at = text.find(b":", at + 1)
        if at < 0:
            return False
        if text.startswith(b"xmlns:xml", at - 5) and at >= 5:
            return True
    return b"xmlns:xml" in text


class _Parsers(threading.local):
    """The parsers of one thread by encoding; there are few, because only scannable encodings are parsed as they are."""

    def __init__(self) -> None:
        self.by_codec: dict[str, etree.XMLParser] = {}


_PARSERS = _Parsers()


class garbage_collection_paused:  # noqa: N801 - used like a function
    """Pause garbage collection: with hundreds of thousands of new objects it would take a third of the time."""

    __slots__ = ("_was_on",)

    def __enter__(self) -> None:
        self._was_on = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._was_on:
            gc.enable()
