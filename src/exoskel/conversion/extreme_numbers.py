"""Numbers of the input that are too large or too small for an exact conversion."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache
from math import inf, isfinite, log10
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from exoskel.diagnostics import Collector, Diagnostic, ExoskelError
from exoskel.formats import registry
from exoskel.formats.interface import ReadOptions
from exoskel.formats.shared_codes import CATALOGUE
from exoskel.scene.world import Scene
from exoskel.source.document import Document, Tree, tag_as_written
from exoskel.source.embedded_format import FINGERPRINT
from exoskel.source.numbers import given_numbers
from exoskel.source.source_elements import SourceElements
from exoskel.source.splice import Patch
from exoskel.source.well_formedness import MalformedError

if TYPE_CHECKING:
    from exoskel.conversion.pipeline import Conversion

_DECADES = 9.0
"""Numbers from 1e-9 to 1e9 are ordinary: poses of such numbers are composed and decomposed with enough digits."""
_MOST_REPORTED = 3
_MOST_TRIED = 12
"""Up to this number of extreme numbers, the conversion is tried without each of them."""
_LARGEST_TRIED = 100_000
"""In bytes, of a document that is converted again to find out which numbers prevent it."""


class ExtremeNumberError(ExoskelError):
    """Numbers of the input are too large or too small for an exact conversion.  `diagnostics` has the first of them."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        self.diagnostics: list[Diagnostic] = diagnostics
        first = diagnostics[0]
        super().__init__(f"line {first.line}: {first.message} ({first.code}); nothing was written")


class _ExtremeNumber(Struct, frozen=True):
    """A number in a document: `decades` is how far it is from 1."""

    decades: float
    node: int
    attribute: str
    element: str
    token: str


def report_extreme_numbers(scene: Scene, label: str) -> list[Diagnostic]:
    """Errors about the most extreme numbers of the documents of a scene, for a conversion to the format `label`."""
    out: list[Diagnostic] = []
    for document in scene.documents:
        if isinstance(document, Document):
            out += _report(document, _most_extreme(document)[:_MOST_REPORTED], label)
    return out


def _report(document: Document, numbers: Sequence[_ExtremeNumber], label: str) -> list[Diagnostic]:
    collector = Collector(CATALOGUE, document)
    for number in numbers:
        key = "FM304.infinite" if number.decades == inf else "FM304" if number.decades > 0 else "FM304.small"
        field = number.attribute or f"<{number.element}>"
        collector.report(key, number.node, attribute=number.attribute, token=number.token, field=field, format=label)
    return collector.diagnostics


def find_harmful_numbers(conversion: Conversion, select: Callable[[Scene], Scene]) -> list[Diagnostic]:
    """Errors about the numbers that prevent a conversion: it passes when they, and no others, are replaced by 1.

    None if that is not known: several documents, a large one, or a conversion that fails with ordinary numbers, too.
    """
    document = conversion.document
    if len(conversion.scene.documents) != 1 or len(document.data) > _LARGEST_TRIED:
        return []
    harmful = _most_extreme(document)
    if not 1 < len(harmful) <= _MOST_TRIED or not _passes_without(harmful, conversion, select):
        return []
    for number in reversed(list(harmful)):  # the most extreme one last
        others = [one for one in harmful if one is not number]
        if _passes_without(others, conversion, select):
            harmful = others
    return _report(document, harmful[:_MOST_REPORTED], conversion.format.label)


def _passes_without(
    numbers: Collection[_ExtremeNumber], conversion: Conversion, select: Callable[[Scene], Scene]
) -> bool:
    """Whether the document can be converted with 1 in place of some of its numbers."""
    source, scene = conversion.document, conversion.scene
    patch = Patch(source)
    for number in numbers:
        _replace_by_one(patch, number)
    document = Document(patch.apply(), source.name, source.location, source.path_style)
    try:
        again = registry.by_name(scene.source_info.format).reader()(document, ReadOptions.of(scene))
        trial = structs.replace(
            conversion,
            scene=again,
            document=document,
            given_numbers=given_numbers(again.documents),
            source_elements=SourceElements(),
        )
        return trial.write(select(again), None).certificate.passed
    except (ExoskelError, ValueError):
        return False


def _replace_by_one(patch: Patch, number: _ExtremeNumber) -> None:
    scan = patch.scan
    span = scan.attribute(number.node, number.attribute) if number.attribute else scan.content(number.node)
    if span is None:
        return
    text, token = patch.document.text[span.start : span.end], number.token.encode()
    at = text.find(token)
    if at >= 0:
        patch.splices.append((span.start + at, span.start + at + len(token), b"1"))


def _most_extreme(document: Document) -> list[_ExtremeNumber]:
    try:
        root = document.parse()
    except MalformedError:
        return []
    found = [one for one in _numbers(root) if abs(one.decades) > _DECADES]
    return sorted(found, key=lambda one: -abs(one.decades))


_NUMERIC = re.compile(r"[-+]?(?:\.?[0-9][0-9.eE+-]*|inf\w*|nan)", re.IGNORECASE)


_TEXTS = frozenset(("name", FINGERPRINT))
"""Attributes whose values are not numbers, even where they look like one: a fingerprint may be 02e11238."""


def _numbers(root: Tree) -> Iterator[_ExtremeNumber]:
    for node, element in enumerate(root.iter()):
        if not isinstance(element.tag, str):
            continue
        for attribute, text in (("", element.text or ""), *element.attrib.items()):
            if attribute in _TEXTS:
                continue
            for token in text.split():
                if _NUMERIC.fullmatch(token) and (decades := _decades(token)):
                    if decades == inf and (element.tag, attribute) in _unlimited_places():
                        continue
                    yield _ExtremeNumber(decades, node, attribute, tag_as_written(element), token)


@cache
def _unlimited_places() -> frozenset[tuple[str, str]]:
    """The elements, and their attributes or "", whose value may be infinite, such as limits."""
    vocabularies = [format.vocabulary() for format in registry.FORMATS if format.has_vocabulary]
    rows = [element for vocabulary in vocabularies for _, element in vocabulary.rows()]
    kinds = [(element.name, "", element.kind) for element in rows if element.kind is not None]
    kinds += [(element.name, one.name, one.kind) for element in rows for one in element.attributes.values()]
    infinite = {kind: kind.examine("inf", literal=False) for _, _, kind in kinds}
    return frozenset(
        (name, attribute)
        for name, attribute, kind in kinds
        if infinite[kind].value == inf and not infinite[kind].findings
    )


def _decades(token: str) -> float:
    """The logarithm of the size of a number; infinite if it is not finite, 0 for 0 and for other texts."""
    try:
        size = abs(float(token))
    except ValueError:
        return 0.0
    if not isfinite(size):
        return inf
    if size == 0.0:  # it may be too small for a number
        return -inf if re.search("[1-9]", token.lower().partition("e")[0]) else 0.0
    return log10(size)
