"""Copies of elements for a document in another folder: their content, namespaces, and the files that they refer to."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from lxml import etree

from exoskel.source.document import Tree
from exoskel.source.markup import Markup, escape_text

COMPILER, _FOLDERS = "compiler", ("meshdir", "texturedir", "assetdir")
_FILES = ("_map", "uri")
"""How the tags of elements end whose text is the path of a file."""


def relocate_files(element: Tree, source: Path | None, target: Path | None) -> None:
    """Change relative paths of files that an element refers to, for a document in another folder."""
    if source is None or target is None or source.resolve() == target.resolve():
        return
    for one in element.iter(etree.Element):
        text = (one.text or "").strip()
        if str(one.tag).endswith(_FILES) and _is_relative(text):
            with suppress(ValueError):  # another drive
                one.text = Path(os.path.relpath(source.resolve() / text, target.resolve())).as_posix()
        for key in _FOLDERS if one.tag == COMPILER else ():
            if _is_relative(folder := str(one.get(key) or "")):
                with suppress(ValueError):
                    one.set(key, Path(os.path.relpath(source.resolve() / folder, target.resolve())).as_posix())


def _is_relative(path: str) -> bool:
    return bool(path) and ":" not in path and not path.startswith("/")


def as_markup(element: Tree) -> Markup:
    """An element with all that it contains, and the namespaces that it uses."""
    return _structured(element) or _verbatim(element)


def _verbatim(element: Tree) -> Markup:
    """An element whose content is written unchanged: text between elements, or a namespace without a prefix."""
    prefixes = {space: prefix for prefix, space in element.nsmap.items() if prefix}
    name = etree.QName(element)
    attributes = {_name_in_file(str(key), prefixes): str(value) for key, value in element.attrib.items()}
    tag = _name_in_file(str(element.tag), prefixes) or name.localname
    if name.namespace and ":" not in tag:
        attributes["xmlns"] = name.namespace
    attributes |= {f"xmlns:{prefix}": space for space, prefix in sorted(_prefixes(element).items())}
    content = escape_text(element.text or "") + "".join(etree.tostring(one, encoding="unicode") for one in element)
    return Markup(tag, attributes, verbatim=content)


def _structured(element: Tree) -> Markup | None:
    """None if there is text between elements, or a namespace without a prefix."""
    prefixes = _prefixes(element)
    root = _plain(element, prefixes)
    waiting = [(element, root)] if root is not None else []
    while waiting:
        source, made = waiting.pop()
        text, comments = (source.text or "").strip(), list[str]()
        if text and len(source):
            return None
        made.text = text
        for child in source:
            if (child.tail or "").strip() or child.tag in (etree.Entity, etree.ProcessingInstruction):
                return None
            if child.tag is etree.Comment:
                comments.append(child.text or "")
                continue
            inner = _plain(child, prefixes)
            if inner is None:
                return None
            inner.comments, comments = comments, []
            made.children.append(inner)
            waiting.append((child, inner))
        made.closing_comments = comments
    if root is not None:
        root.attributes |= {f"xmlns:{prefix}": name for name, prefix in sorted(prefixes.items())}
    return root


def _prefixes(element: Tree) -> dict[str, str]:
    """The prefixes of the namespaces that an element uses, by namespace; other prefixes are of no use."""
    used = {
        namespace
        for one in element.iter(etree.Element)
        for name in (one.tag, *one.attrib)
        if (namespace := etree.QName(name).namespace)
    }
    found: dict[str, str] = {}
    for one in element.iter(etree.Element):
        for prefix, namespace in one.nsmap.items():
            if prefix and namespace in used and prefix not in found.values():
                found.setdefault(namespace, prefix)
    return found


def _plain(element: Tree, prefixes: Mapping[str, str]) -> Markup | None:
    """An element without content, with the names that it has in a file; None if a namespace has no prefix."""
    names = [_name_in_file(str(name), prefixes) for name in (element.tag, *element.attrib)]
    if not all(names):
        return None
    return Markup(names[0], dict(zip(names[1:], map(str, element.attrib.values()), strict=True)))


def _name_in_file(name: str, prefixes: Mapping[str, str]) -> str:
    if not name.startswith("{"):
        return name
    namespace, _, own = name[1:].partition("}")
    if namespace == _XML:
        return f"xml:{own}"
    return f"{prefixes[namespace]}:{own}" if namespace in prefixes else ""


_XML = "http://www.w3.org/XML/1998/namespace"
"""The namespace of the prefix that needs no declaration."""
