"""The outline of a document; definitions, references and renaming of its bodies and joints."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from lsprotocol import types

from exoskel.diagnostics import ExoskelError
from exoskel.formats.save import saved_bytes
from exoskel.lsp.hover_and_completion import BODY_NAME, CursorContext, OpenElement, context_at, declaration_at
from exoskel.lsp.open_document import OpenDocument, edits_for
from exoskel.scene.body import Body
from exoskel.scene.fields import items_by_node
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.model import Model
from exoskel.scene.world import Scene, World
from exoskel.source.element_context import Elements
from exoskel.source.positions import Span
from exoskel.source.well_formedness import MalformedError

KINDS = {
    "world": types.SymbolKind.Namespace,
    "skeleton": types.SymbolKind.Class,
    "group": types.SymbolKind.Package,
    "space": types.SymbolKind.Package,
    "jointgroup": types.SymbolKind.Package,
    "body": types.SymbolKind.Object,
    "geom": types.SymbolKind.Constant,
    "joint": types.SymbolKind.Interface,
    "marker": types.SymbolKind.Key,
}
"""The elements that the outline contains."""


def outline(opened: OpenDocument) -> list[types.DocumentSymbol]:
    """Worlds, models, bodies and joints, nested as in the file; empty if it is not well-formed."""
    try:
        shape = opened.document.outline
    except MalformedError:
        return []
    elements = Elements(opened.document.scan)
    tops: list[types.DocumentSymbol] = []
    symbols_by_node: dict[int, types.DocumentSymbol] = {}
    for node, tag in enumerate(shape.tags):
        if tag not in KINDS:
            continue
        symbol = types.DocumentSymbol(
            name=elements.attribute(node, "name") or tag,
            kind=KINDS[tag],
            range=opened.positions.range(elements.span(node)),
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


def _name_span(opened: OpenDocument, node: int) -> Span:
    scan = opened.document.scan
    return scan.attribute(node, "name") or scan.tag(node)


# --- definitions and references -----------------------------------------------------------------------


def definition(opened: OpenDocument, position: types.Position) -> types.Range | None:
    """From a reference to a body to the body; from the body to its parent joint; from a joint to its child."""
    context = _context(opened, position)
    referenced = _referenced_body(opened, context)
    if referenced is not None:
        return _range_of(opened, referenced)
    item = _item_at_name(opened, context, opened.scene)
    if isinstance(item, Body):
        joint = next((one for one in _joints(opened.scene) if one.child is item and one.node >= 0), None)
        return None if joint is None or joint.implicit else _range_of(opened, joint)
    return _range_of(opened, item.child) if isinstance(item, Joint) else None


def references(opened: OpenDocument, position: types.Position) -> list[types.Range]:
    """A body and the joints that refer to it."""
    context = _context(opened, position)
    item = _referenced_body(opened, context) or _item_at_name(opened, context, opened.scene)
    if not isinstance(item, Body):
        return [_range_of(opened, item)] if item is not None else []
    users = [joint for joint in _joints(opened.scene) if item in (joint.child, joint.parent) and not joint.implicit]
    return [_range_of(opened, one) for one in (item, *users) if one.node >= 0]


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
    if kind is None or kind.name != BODY_NAME:
        return None
    name = opened.text[context.span.start : context.span.end].decode("utf-8", "replace")
    same = [body for world in opened.scene.worlds for body in world.bodies() if body.name == name and body.node >= 0]
    ancestor_nodes = {_node(opened, element) for element in context.ancestors}
    near = [body for body in same if _model_node(opened.scene, body) in ancestor_nodes]
    return next(iter(near or same), None)


def _model_node(scene: Scene, body: Body) -> int:
    models = (model for world in scene.worlds for model in world.models)
    return next((model.node for model in models if any(one is body for one in model.bodies)), -1)


# --- renaming -----------------------------------------------------------------------------------------


def rename_range(opened: OpenDocument, position: types.Position) -> types.Range | None:
    """The range of the name under the cursor, if it is that of a world, model, body or joint."""
    if not _can_rename(opened):
        return None
    context = _context(opened, position)
    item = _referenced_body(opened, context) or _item_at_name(opened, context, opened.scene)
    return opened.positions.range(context.span) if isinstance(item, World | Model | Body | Joint) else None


def rename_edits(opened: OpenDocument, position: types.Position, name: str) -> list[types.TextEdit]:
    """The edits that rename an item and all references to it.  Raises ExoskelError."""
    if not _can_rename(opened):
        raise ExoskelError(f"names in {opened.format.name.upper()} files cannot be changed without rewriting the file")
    context = _context(opened, position)
    known = _referenced_body(opened, context) or _item_at_name(opened, context, opened.scene)
    if known is None or known.node < 0:
        raise ExoskelError("the cursor is not on a name that can be renamed")
    scene = opened.read(opened.document.data)
    item = items_by_node(scene).get(known.node)
    if not isinstance(item, World | Model | Body | Joint):
        raise ExoskelError("the cursor is not on a name that can be renamed")
    _rename(scene, item, name)
    return edits_for(opened, saved_bytes(scene))


def _can_rename(opened: OpenDocument) -> bool:
    """Whether the format is edited in place; in others, a rename would write a new document."""
    return opened.format.embedding is not None


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
