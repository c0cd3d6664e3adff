"""Reads documents with macros of xacro: they are expanded first, and problems are reported where they were written."""

from __future__ import annotations

import re
from typing import NamedTuple

from msgspec.structs import replace

from exoskel.diagnostics import Catalogue, Collector, did_you_mean
from exoskel.formats import xacro
from exoskel.formats.interface import Reader, ReadOptions
from exoskel.formats.shared_codes import CATALOGUE
from exoskel.scene.source_info import SourceInfo
from exoskel.scene.world import Scene
from exoskel.source.document import Document, Tree, tag_as_written
from exoskel.source.encoding import UnknownEncodingError
from exoskel.source.file_lookup import PACKAGE_SCHEME, search_hint
from exoskel.source.limits import DEFAULT_LIMITS
from exoskel.source.well_formedness import MalformedError

_XACRO = "xacro"
_SUBSTITUTION = re.compile(r"\$[({]")
_MISSING_ARGUMENT = re.compile(r"Undefined substitution argument (\S+)")


class _Macro(NamedTuple):
    """The first macro or substitution of a document: its element, its attribute (empty: none), and a description."""

    number: int
    attribute: str
    what: str


class MacroFormat(NamedTuple):
    """A format whose documents may have macros: its name, its root element, and the code of messages about xacro."""

    name: str
    root: str
    code: str
    catalogue: Catalogue


def read_expanded(read: Reader, document: Document, options: ReadOptions, format: MacroFormat) -> Scene:
    """Read a document of a format, after expanding its macros if it has any."""
    macro = _find_macro(document, options, format.root)
    if macro is None:
        return read(document, options)
    collector, code = Collector(format.catalogue, document, options.strict), format.code
    expansion = _expand(document, macro, options, collector, code)
    if expansion is not None and len(expansion.document.scan.starts) == 1:
        collector.report(f"{code}.empty", 0)
        expansion = None
    if expansion is None:
        source = SourceInfo(format=format.name)
        return Scene(documents=[document], diagnostics=collector.diagnostics, source_info=source)
    collector.report(f"{code}.expanded", 0)
    for text in expansion.warnings:
        collector.report(f"{code}.warning", 0, text=[text])
    for name in expansion.unknown_arguments:
        collector.report(f"{code}.argument", 0, name=name, suggestion=did_you_mean(name, expansion.arguments))
    scene = read(expansion.document, options)
    # Fixes are of the expanded text.
    scene.diagnostics = collector.diagnostics + [replace(one, fix=None) for one in scene.diagnostics]
    return scene


def report_unused_arguments(scene: Scene, document: Document, options: ReadOptions, *, expands_xacro: bool) -> None:
    """Report arguments for macros if the document has no macros, in any format."""
    try:
        if expands_xacro and has_macros(document):
            return
    except (MalformedError, UnknownEncodingError, UnicodeDecodeError):  # the reader reports it
        return
    collector = Collector(CATALOGUE, document, options.strict)
    for name in options.arguments:
        collector.report("FM101", name=name)
    scene.diagnostics[:0] = collector.diagnostics


def _find_macro(document: Document, options: ReadOptions, root: str) -> _Macro | None:
    """What the xacro program would replace; the namespace alone remains after it has run."""
    named = document.name.endswith(f".{_XACRO}")
    try:
        if not named and document.text.find(_XACRO.encode()) < 0:  # as in nearly all files
            return None
        tree = document.parse(options.limits)
    except (MalformedError, UnknownEncodingError, UnicodeDecodeError):  # the reader reports it
        return None
    if tag_as_written(tree) != root:
        return None
    return _first_macro(tree, named or any(_XACRO in uri for uri in tree.nsmap.values()))


def has_macros(document: Document) -> bool:
    """Whether a document is a file of xacro, or has macros or substitutions; its namespace alone is neither."""
    if document.name.endswith(f".{_XACRO}"):
        return True
    if _XACRO.encode() not in document.text:
        return False
    tree = document.parse(DEFAULT_LIMITS)
    return _first_macro(tree, any(_XACRO in uri for uri in tree.nsmap.values())) is not None


def _first_macro(root: Tree, may_substitute: bool) -> _Macro | None:
    for number, element in enumerate(root.iter()):
        tag = tag_as_written(element)
        if tag.startswith(f"{_XACRO}:") or (element.tag[0] == "{" and f"wiki/{_XACRO}}}" in element.tag):
            return _Macro(number, "", f"<{tag}> is a macro")
        if may_substitute:
            name = next((n for n, value in element.items() if _SUBSTITUTION.search(value)), None)
            if name is not None:
                return _Macro(number, name, f"'{element.get(name)}' is a substitution")
            if element.text and _SUBSTITUTION.search(element.text):
                return _Macro(number, "", f"'{element.text.strip()}' is a substitution")
    return None


def _expand(
    document: Document, macro: _Macro, options: ReadOptions, collector: Collector, code: str
) -> xacro.ExpandedXacro | None:
    """The expanded document; None if it cannot be expanded, which is reported."""
    if options.paths.confine or not options.expand or not xacro.is_installed():
        reason = ".confined" if options.paths.confine else ".missing" if options.expand else ""
        collector.report(f"{code}{reason}", macro.number, attribute=macro.attribute, what=macro.what)
        return None
    try:
        return xacro.expand(document, options.arguments, options.paths, options.limits)
    except xacro.XacroError as error:
        attribute, number = (macro.attribute, macro.number) if error.number < 0 else ("", error.number)
        hint = _hint(str(error), document, options)
        collector.report(f"{code}.failed", number, attribute=attribute, reason=[str(error)], hint=[hint])
        return None


def _hint(reason: str, document: Document, options: ReadOptions) -> str:
    """What to do about an argument or a package that is missing."""
    if missing := _MISSING_ARGUMENT.search(reason):
        return f"set it with --arg {missing[1]}=VALUE (arguments=)"
    if package := xacro.MISSING_PACKAGE.search(reason):
        return search_hint(f"{PACKAGE_SCHEME}{package[1]}", document.location, options.paths)
    return ""
