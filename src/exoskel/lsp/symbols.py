"""The outline of a document, and where its bodies and joints are named, used and renamed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from lsprotocol import types

from exoskel.diagnostics import ExoskelError
from exoskel.formats.save import saved_bytes
from exoskel.lsp.context import Context, OpenElement, context_at, declared
from exoskel.lsp.hover_and_completion import BODY_NAME
from exoskel.lsp.open_document import OpenDocument
from exoskel.lsp.problems import edits_to
from exoskel.scene.body import Body
from exoskel.scene.fields import items_by_node
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.world import Model, Scene, World
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
"""The elements that an outline shows."""


def outline(opened: OpenDocument) -> list[types.DocumentSymbol]:
    """Worlds, models, bodies and joints, one inside the other as in the file; empty if it is not well-formed."""
    try:
        shape = opened.document.outline
    except MalformedError:
        return []
    elements = Elements(opened.document.scan)
    tops: list[types.DocumentSymbol] = []
    made: dict[int, types.DocumentSymbol] = {}
    for node, tag in enumerate(shape.tags):
        if tag not in KINDS:
            continue
        symbol = types.DocumentSymbol(
            name=elements.attribute(node, "name") or tag,
            kind=KINDS[tag],
            range=opened.columns.range(elements.span(node)),
            selection_range=opened.columns.range(_name_span(opened, node)),
            detail=elements.attribute(node, "type") if tag == "joint" else tag,
            children=[],
        )
        made[node] = symbol
        holder = next((made[outer] for outer in reversed(shape.ancestry(node)[:-1]) if outer in made), None)
        (tops if holder is None or holder.children is None else holder.children).append(symbol)  # type: ignore[attr-defined]
    return tops


def _name_span(opened: OpenDocument, node: int) -> Span:
    scan = opened.document.scan
    return scan.attribute(node, "name") or scan.tag(node)


# --- what the cursor is on ----------------------------------------------------------------------------


def definition(opened: OpenDocument, position: types.Position) -> types.Range | None:
    """From the name of a body to the body; from the body itself to the joint that it hangs on."""
    context = _context(opened, position)
    referred = _referred(opened, context)
    if referred is not None:
        return _range_of(opened, referred)
    item = _named(opened, context, opened.scene)
    if isinstance(item, Body):
        joint = next((one for one in _joints(opened.scene) if one.child is item and one.node >= 0), None)
        return None if joint is None or joint.implicit else _range_of(opened, joint)
    return _range_of(opened, item.child) if isinstance(item, Joint) else None


def references(opened: OpenDocument, position: types.Position) -> list[types.Range]:
    """A body, and the joints that name it."""
    context = _context(opened, position)
    item = _referred(opened, context) or _named(opened, context, opened.scene)
    if not isinstance(item, Body):
        return [_range_of(opened, item)] if item is not None else []
    users = [joint for joint in _joints(opened.scene) if item in (joint.child, joint.parent) and not joint.implicit]
    return [_range_of(opened, one) for one in (item, *users) if one.node >= 0]


def _context(opened: OpenDocument, position: types.Position) -> Context:
    return context_at(opened.text, opened.columns.offset(position))


def _joints(scene: Scene) -> Iterator[Joint]:
    return (joint for world in scene.worlds for model in world.models for joint in model.joints)


def _range_of(opened: OpenDocument, item: Item) -> types.Range:
    return opened.columns.range(_name_span(opened, item.node))


def _node(opened: OpenDocument, element: OpenElement) -> int:
    return int(np.searchsorted(opened.document.scan.starts, element.start))


def _named(opened: OpenDocument, context: Context, scene: Scene) -> Item | None:
    """The item whose own name the cursor is on."""
    if context.element is None or (context.where, context.attribute) != ("value", "name"):
        return None
    return items_by_node(scene).get(_node(opened, context.element))


def _referred(opened: OpenDocument, context: Context) -> Body | None:
    """The body that is named where the cursor is; of several of one name the one in the same model."""
    _, rule, attribute = declared(opened.vocabulary, context)
    kind = (
        attribute.kind if attribute is not None else rule.kind if rule is not None and context.where == "text" else None
    )
    if kind is None or kind.name != BODY_NAME:
        return None
    name = opened.text[context.span.start : context.span.end].decode("utf-8", "replace")
    same = [body for world in opened.scene.worlds for body in world.bodies() if body.name == name and body.node >= 0]
    holders = {_node(opened, element) for element in context.around}
    near = [body for body in same if _model_node(opened.scene, body) in holders]
    return next(iter(near or same), None)


def _model_node(scene: Scene, body: Body) -> int:
    models = (model for world in scene.worlds for model in world.models)
    return next((model.node for model in models if any(one is body for one in model.bodies)), -1)


# --- renaming -----------------------------------------------------------------------------------------


def renamable(opened: OpenDocument, position: types.Position) -> types.Range | None:
    """The name that the cursor is on, if it is that of a world, model, body or joint."""
    context = _context(opened, position)
    item = _referred(opened, context) or _named(opened, context, opened.scene)
    return opened.columns.range(context.span) if isinstance(item, World | Model | Body | Joint) else None


def renamed(opened: OpenDocument, position: types.Position, name: str) -> list[types.TextEdit]:
    """The edits that give an item another name, wherever it is named.  Raises ExoskelError."""
    context = _context(opened, position)
    known = _referred(opened, context) or _named(opened, context, opened.scene)
    if known is None or known.node < 0:
        raise ExoskelError("there is nothing to rename here")
    scene = opened.read(opened.document.data)
    item = items_by_node(scene).get(known.node)
    if not isinstance(item, World | Model | Body | Joint):
        raise ExoskelError("there is nothing to rename here")
    item.name = name
    return edits_to(opened, saved_bytes(scene))
