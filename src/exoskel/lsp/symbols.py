"""The outline and the folds of a document; definitions, references and renaming of its bodies and joints; file links.

References to bodies are found in the text by the vocabulary, so that those of an invalid joint count too.  Elements
that an error excludes from the scene, such as the second of two bodies with the same name, can be renamed as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import NamedTuple

import numpy as np
from lsprotocol import types

from exoskel.diagnostics import ExoskelError
from exoskel.formats.macro_expansion import has_macros
from exoskel.formats.name_references import NameReference, NameReferences
from exoskel.formats.renaming import rename_and_read
from exoskel.formats.save import saved_bytes
from exoskel.lsp.hover_and_completion import BODY_NAMES, CursorContext, OpenElement, context_at, declaration_at
from exoskel.lsp.open_document import OpenDocument, edits_for
from exoskel.scene.body import Body
from exoskel.scene.fields import items_by_node
from exoskel.scene.item import Item, TakenNameError, check_name
from exoskel.scene.joint import Joint
from exoskel.scene.merge import copy_scene
from exoskel.scene.model import Model
from exoskel.scene.world import Scene, World
from exoskel.source.file_lookup import PACKAGE_SCHEME, SearchPaths, find_file
from exoskel.source.markup import escape_attribute
from exoskel.source.positions import Elements, Span
from exoskel.source.vocabulary import Element
from exoskel.source.well_formedness import MalformedError

KINDS = {
    "world": types.SymbolKind.Namespace,
    "skeleton": types.SymbolKind.Class,
    "robot": types.SymbolKind.Class,
    "model": types.SymbolKind.Class,
    "include": types.SymbolKind.Module,
    "group": types.SymbolKind.Package,
    "space": types.SymbolKind.Package,
    "jointgroup": types.SymbolKind.Package,
    "body": types.SymbolKind.Object,
    "link": types.SymbolKind.Object,
    "geom": types.SymbolKind.Constant,
    "joint": types.SymbolKind.Interface,
    "marker": types.SymbolKind.Key,
    "frame": types.SymbolKind.Key,
    "site": types.SymbolKind.Key,
    "camera": types.SymbolKind.Event,
    "light": types.SymbolKind.Event,
    "sensor": types.SymbolKind.Event,
    "xacro:macro": types.SymbolKind.Function,
}
"""The elements that the outline contains."""
_RENAMED = frozenset({"world", "skeleton", "body", "joint"})
"""The elements that can be renamed even if they are no part of the scene."""
_INCLUDE = "xacro:include"
_FIND = re.compile(r"^\$\(find ([^()]+)\)/")
"""A package in the file name of an include of xacro."""
_FILE_KINDS = frozenset({"file", "file name", "uri"})
"""The kinds of values that name files."""


def outline(opened: OpenDocument) -> list[types.DocumentSymbol]:
    """Worlds, models, bodies and joints, nested as in the file; empty if it is not well-formed."""
    try:
        shape = opened.document.outline
    except MalformedError:
        return []
    elements = Elements(opened.document.scan)
    spans = elements.spans()
    tops: list[types.DocumentSymbol] = []
    symbols_by_node: dict[int, types.DocumentSymbol] = {}
    for node, tag in enumerate(shape.tags):
        if tag not in KINDS:
            continue
        symbol = types.DocumentSymbol(
            name=elements.attribute(node, "name") or tag,
            kind=KINDS[tag],
            range=opened.positions.range(spans[node]),
            selection_range=opened.positions.range(_name_span(opened, node)),
            detail=elements.attribute(node, "type") if tag == "joint" else tag,
            children=[],
        )
        symbols_by_node[node] = symbol
        parent = next(
            (symbols_by_node[outer] for outer in reversed(shape.ancestry(node)[:-1]) if outer in symbols_by_node), None
        )
        (tops if parent is None or parent.children is None else parent.children).append(symbol)  # type: ignore[attr-defined]
    return tops


def folds(opened: OpenDocument) -> list[types.FoldingRange]:
    """The elements and comments that take more than one line."""
    try:
        shape = opened.document.outline
    except MalformedError:
        return []
    scan = opened.document.scan
    regions = [Span(start, end) for start, end in scan.regions]
    spans = [*Elements(scan).spans(), *regions]
    kinds = [None] * len(shape.tags) + [types.FoldingRangeKind.Comment] * len(regions)
    places = np.array([(one.start, one.end) for one in spans], dtype=np.intp).reshape(-1, 2)
    rows = (np.searchsorted(scan.line_starts, places, side="right") - 1).tolist()
    lines = {(first, last): kind for (first, last), kind in zip(rows[::-1], kinds[::-1], strict=True) if first < last}
    return [types.FoldingRange(*ends, kind=kind) for ends, kind in sorted(lines.items(), key=_ends)]


def _ends(fold: tuple[tuple[int, int], object]) -> tuple[int, int]:
    return fold[0]


def links(opened: OpenDocument) -> list[types.DocumentLink]:
    """The files that the document names and that exist, such as meshes and included models."""
    paths = SearchPaths(packages=opened.settings.package_path, confine=opened.settings.confine)
    made: list[types.DocumentLink] = []
    for span in _file_names(opened):
        reference = _FIND.sub(rf"{PACKAGE_SCHEME}\1/", _text_of(opened, span))
        found = find_file(reference, opened.document.location, paths).path
        if found is not None:
            made.append(types.DocumentLink(opened.positions.range(span), target=found.absolute().as_uri()))
    return made


def _file_names(opened: OpenDocument) -> Iterator[Span]:
    """The values that name files: by the vocabulary, or attributes called `file`."""
    scan = opened.document.scan
    for node, tag in enumerate(_tags(opened)):
        if tag == _INCLUDE and (span := scan.attribute(node, "filename")) is not None:
            yield span
    if opened.vocabulary is None:
        nodes = range(len(scan.starts))
        yield from (span for node in nodes if (span := scan.attribute(node, "file")) is not None)
    for node, rule in _rules(opened):
        if rule.kind is not None and rule.kind.name in _FILE_KINDS:
            yield scan.value(node)
        for name, attribute in rule.attributes.items():
            if attribute.kind.name in _FILE_KINDS and (found := scan.attribute(node, name)) is not None:
                yield found


def _tags(opened: OpenDocument) -> list[str]:
    """The tags of all elements; none in a document that is not well-formed."""
    try:
        return opened.document.outline.tags
    except MalformedError:
        return []


def _name_span(opened: OpenDocument, node: int) -> Span:
    scan = opened.document.scan
    return scan.attribute(node, "name") or scan.tag(node)


# --- definitions and references -----------------------------------------------------------------------


def definition(opened: OpenDocument, position: types.Position) -> types.Range | None:
    """From a reference to a body to the body; from the body to its parent joint; from a joint to its child."""
    named = _named_in_text(opened, position)
    if named is not None and named[1].target != named[1].node:
        return opened.positions.range(named[0].names[named[1].target])
    context = _context(opened, position)
    referenced = _referenced_body(opened, context)
    if referenced is not None:
        return _range_of(opened, referenced)
    item = _item_at_name(opened, context, opened.scene)
    if isinstance(item, Body):
        joint = next((one for one in _joints(opened.scene) if one.child is item and one.node >= 0), None)
        return None if joint is None or joint.implicit else _range_of(opened, joint)
    return _range_of(opened, item.child) if isinstance(item, Joint) else None


def references(opened: OpenDocument, position: types.Position, *, declaration: bool = True) -> list[types.Range]:
    """The name of a body, or of another item, and the places that refer to it."""
    if (named := _named_in_text(opened, position)) is not None:
        known, target = named[0], named[1].target
        spans = [span for span in known.places(target) if declaration or span != known.names[target]]
        return [opened.positions.range(span) for span in spans]
    context = _context(opened, position)
    item = _referenced_body(opened, context) or _item_at_name(opened, context, opened.scene)
    if item is None:
        is_known = declaration and _excluded_element(opened, context) is not None
        return [opened.positions.range(context.span)] if is_known else []
    own = [_name_span(opened, item.node)] if declaration and item.node >= 0 else []
    return [opened.positions.range(span) for span in (*own, *_places_of(opened, item))]


def _places_of(opened: OpenDocument, item: Item) -> list[Span]:
    """Where the document refers to a body."""
    if not isinstance(item, Body):
        return []
    known = _bodies_by_name(opened.scene)
    return [
        place.span
        for place in _body_references(opened)
        if place.name == item.name and _nearest_body(opened, known.get(place.name, []), place.node) is item
    ]


class BodyReference(NamedTuple):
    """A value that refers to a body: its name, where it is, and its element."""

    name: str
    span: Span
    node: int


def _body_references(opened: OpenDocument) -> Iterator[BodyReference]:
    """All values that the vocabulary declares as names of bodies; none in a document that is not well-formed."""
    for node, rule in _rules(opened):
        if rule.kind is not None and rule.kind.name in BODY_NAMES:
            span = opened.document.scan.value(node)
            yield BodyReference(_text_of(opened, span), span, node)
        for name, attribute in rule.attributes.items():
            if attribute.kind.name in BODY_NAMES and (found := opened.document.scan.attribute(node, name)) is not None:
                yield BodyReference(_text_of(opened, found), found, node)


def _rules(opened: OpenDocument) -> Iterator[tuple[int, Element]]:
    """The elements of the document with their declarations."""
    try:
        shape = opened.document.outline
    except MalformedError:
        return
    root = opened.vocabulary.root if opened.vocabulary is not None else None
    rules: list[Element | None] = []
    for node, (tag, parent) in enumerate(zip(shape.tags, shape.parents, strict=True)):
        above = rules[parent] if parent >= 0 else None
        is_root = parent < 0 and root is not None and tag.rpartition(":")[2] == root.name
        rule = root if is_root else above.children.get(tag) if above is not None else None
        rules.append(rule)
        if rule is not None:
            yield node, rule


def _text_of(opened: OpenDocument, span: Span) -> str:
    return unescape(opened.text[span.start : span.end].decode("utf-8", "replace"))


def _bodies_by_name(scene: Scene) -> dict[str, list[tuple[Body, int]]]:
    """The bodies of each name, with the elements of their models."""
    found: dict[str, list[tuple[Body, int]]] = {}
    for world in scene.worlds:
        for model in world.models:
            for body in model.bodies:
                if body.node >= 0 and body.document == model.document == 0:
                    found.setdefault(body.name, []).append((body, model.node))
    return found


def _nearest_body(opened: OpenDocument, bodies: list[tuple[Body, int]], node: int) -> Body | None:
    """The body that an element refers to: one of the model around it comes first."""
    around = {*opened.document.outline.ancestry(node)} if len(bodies) > 1 else set()
    near = [body for body, model in bodies if model in around]
    return next(iter(near or [body for body, _ in bodies]), None)


def _context(opened: OpenDocument, position: types.Position) -> CursorContext:
    return context_at(opened.text, opened.positions.offset(position))


def _joints(scene: Scene) -> Iterator[Joint]:
    return (joint for world in scene.worlds for model in world.models for joint in model.joints)


def _range_of(opened: OpenDocument, item: Item) -> types.Range:
    return opened.positions.range(_name_span(opened, item.node))


def _node(opened: OpenDocument, element: OpenElement) -> int:
    return int(np.searchsorted(opened.document.scan.starts, element.start))


def _item_at_name(opened: OpenDocument, context: CursorContext, scene: Scene) -> Item | None:
    """The item whose `name` attribute is under the cursor."""
    if context.element is None or (context.where, context.attribute) != ("value", "name"):
        return None
    return items_by_node(scene).get(_node(opened, context.element))


def _referenced_body(opened: OpenDocument, context: CursorContext) -> Body | None:
    """The body that the text under the cursor refers to; a body in the same model comes first."""
    _, rule, attribute = declaration_at(opened.vocabulary, context)
    kind = (
        attribute.kind if attribute is not None else rule.kind if rule is not None and context.where == "text" else None
    )
    if kind is None or kind.name not in BODY_NAMES or context.element is None:
        return None
    node = _node(opened, context.element)
    bodies = _bodies_by_name(opened.scene).get(_text_of(opened, _value_span(opened, context)), [])
    return _nearest_body(opened, bodies, node) if bodies else None


def _value_span(opened: OpenDocument, context: CursorContext) -> Span:
    """The whole value under the cursor: a name in a text may have several words."""
    if context.where != "text" or context.element is None:
        return context.span
    value = opened.document.scan.value(_node(opened, context.element))
    return value if value.start <= context.span.start and context.span.end <= value.end else context.span


def _excluded_element(opened: OpenDocument, context: CursorContext) -> int | None:
    """The element whose `name` is under the cursor, if an error excludes it from the scene."""
    if context.element is None or (context.where, context.attribute) != ("value", "name"):
        return None
    _, rule, _ = declaration_at(opened.vocabulary, context)
    node = _node(opened, context.element)
    is_item = rule is not None and rule.name in _RENAMED and node not in items_by_node(opened.scene)
    return node if is_item and any(node == known for known, _ in _rules(opened)) else None


# --- renaming -----------------------------------------------------------------------------------------


def rename_range(opened: OpenDocument, position: types.Position) -> types.Range | None:
    """The range of the name under the cursor, if it is that of a world, model, body or joint."""
    if not _can_rename(opened):
        return None
    if opened.format.name_references() is not None:
        named = _named_in_text(opened, position)
        return None if named is None else opened.positions.range(named[1].span)
    context = _context(opened, position)
    item = _referenced_body(opened, context) or _item_at_name(opened, context, opened.scene)
    can_rename = isinstance(item, World | Model | Body | Joint) or _excluded_element(opened, context) is not None
    return opened.positions.range(_value_span(opened, context)) if can_rename else None


def rename_edits(opened: OpenDocument, position: types.Position, name: str) -> list[types.TextEdit]:
    """The edits that rename an item and all references to it.  Raises ExoskelError."""
    if not _can_rename(opened):
        if opened.format.name_references() is not None:
            raise ExoskelError("names in files with macros cannot be changed")
        raise ExoskelError(f"names in {opened.format.name.upper()} files cannot be changed without rewriting the file")
    if opened.format.name_references() is not None:
        if (named := _named_in_text(opened, position)) is None:
            raise ExoskelError("the cursor is not on a name that can be renamed")
        names, target = named[0], named[1].target
        rename_and_read(opened.scene, names, target, name, opened.read)
        return [opened.positions.edit(one) for one in names.rename(target, name)]
    context = _context(opened, position)
    known = _referenced_body(opened, context) or _item_at_name(opened, context, opened.scene)
    excluded = _excluded_element(opened, context)
    if known is None and excluded is not None:
        _check_free_name(opened, excluded, name)
        return [types.TextEdit(opened.positions.range(context.span), escape_attribute(name))]
    if known is None or known.node < 0:
        raise ExoskelError("the cursor is not on a name that can be renamed")
    scene = copy_scene(opened.scene)
    item = items_by_node(scene).get(known.node)
    if not isinstance(item, World | Model | Body | Joint):
        raise ExoskelError("the cursor is not on a name that can be renamed")
    places = _places_of(opened, known)
    _rename(scene, item, name)
    edits = edits_for(opened, saved_bytes(scene, base=opened.scene))
    return edits + _missing_edits(opened, places, edits, name)


def _missing_edits(
    opened: OpenDocument, places: list[Span], edits: list[types.TextEdit], name: str
) -> list[types.TextEdit]:
    """The edits of references that are no part of the scene, because something else is wrong with their joint."""
    ranges = [opened.positions.range(span) for span in places]
    text = escape_attribute(name)
    return [
        types.TextEdit(one, text)
        for one in ranges
        if not any(one.start <= edit.range.end and edit.range.start <= one.end for edit in edits)
    ]


def _check_free_name(opened: OpenDocument, node: int, name: str) -> None:
    """Raise ExoskelError if a name is empty, or if another element of its kind in the same model has it."""
    shape, elements = opened.document.outline, Elements(opened.document.scan)
    tag = shape.tags[node]
    check_name(tag, name)
    owner = _owner(opened, node)
    for other, other_tag in enumerate(shape.tags):
        is_sibling = other != node and other_tag == tag and _owner(opened, other) == owner
        if is_sibling and elements.attribute(other, "name") == name:
            raise TakenNameError(f"another {tag} is already called {name!r}")


def _owner(opened: OpenDocument, node: int) -> int:
    """The model or world around an element; -1 if it has none."""
    shape = opened.document.outline
    return next((one for one in reversed(shape.ancestry(node)[:-1]) if shape.tags[one] in ("skeleton", "world")), -1)


def _can_rename(opened: OpenDocument) -> bool:
    """Whether names are changed in the text; otherwise, a rename would write a new document."""
    if opened.format.name_references() is not None:
        return not _has_macros(opened)  # names in files with macros have parts that only their expansion states
    return opened.format.embedding is not None


def _has_macros(opened: OpenDocument) -> bool:
    try:
        return opened.path.endswith(".xacro") or has_macros(opened.document)
    except MalformedError:
        return True


def _named_in_text(opened: OpenDocument, position: types.Position) -> tuple[NameReferences, NameReference] | None:
    """The name or reference under the cursor, in formats in which names are changed in the text."""
    kind = opened.format.name_references()
    if kind is None:
        return None
    try:
        known = kind(opened.document)
    except MalformedError:
        return None
    found = known.name_at(opened.positions.offset(position))
    return None if found is None else (known, found)


def _rename(scene: Scene, item: World | Model | Body | Joint, name: str) -> None:
    """Rename an item of a scene with all references to it."""
    if isinstance(item, World):
        if not name.strip():
            raise ExoskelError("a name must not be empty")
        item.name = name
        return
    for world in scene.worlds:
        if any(item is one for one in (*world.models, *world.bodies(), *world.joints())):
            world.rename(item, name)
