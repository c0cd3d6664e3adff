"""Edits URDF documents in place: only the elements and attributes of what was edited change.

A result that is not read back as the edited scene is rejected by the caller, which writes a new document.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cache, partial
from itertools import chain

from msgspec import structs

from exoskel.diagnostics import ExoskelError
from exoskel.fates import Verdict
from exoskel.formats.interface import Format, FormatEditor, NodeKey, ReadOptions, SourceCopy, WriterCapabilities
from exoskel.formats.saving.changes import Changes
from exoskel.formats.saving.editor import DocumentEditor
from exoskel.formats.saving.removed_parts import NOT_FOLLOWING, REMOVED, not_following
from exoskel.formats.urdf import write
from exoskel.formats.urdf.name_references import UrdfNames
from exoskel.scene.body import Body
from exoskel.scene.item import Item, item_name
from exoskel.scene.joint import Joint
from exoskel.scene.model import Model
from exoskel.scene.shape import Shape, texture_of
from exoskel.scene.world import Scene
from exoskel.source.document import Document
from exoskel.source.embedded_format import NAMESPACED
from exoskel.source.markup import Markup, format_color
from exoskel.source.output_context import OutputContext
from exoskel.source.splice import OverlapError, Patch

_MATERIAL, _INERTIAL = "material", "inertial"
_REFERENCES_OF_ITEMS = frozenset({"parent", "child", "mimic"})
"""Elements of links and joints that refer to others: they are edited with these."""


def copy_source(scene: Scene, output: OutputContext) -> SourceCopy | None:
    """The document of a scene to be saved, as it is; conversions write a new document, with links that readers need."""
    document = scene.documents[0] if scene.documents else None
    if not output.keeps_names or not isinstance(document, Document) or document.is_generated:
        return None
    return SourceCopy(document.data)


def edit_source(
    urdf: Format, document: Document, base: Scene, scene: Scene, changes: Changes, _: Collection[int]
) -> SourceCopy | None:
    """The document with the edited values; None if a new document is needed."""
    if changes.reordered is not None or _has_other_references(document, changes):
        return None
    patch = Patch(document)
    editor = UrdfEditor(urdf, document, ReadOptions.of(scene), patch.elements, base, scene, changes)
    edits = DocumentEditor(editor, NAMESPACED, patch, changes)
    try:
        edits.write_canonical_elements(base, scene, document.location.directory)
        data = edits.apply()
    except (ExoskelError, OverlapError):
        return None
    return SourceCopy(data, dict(_fates(document, edits)))


def _has_other_references(document: Document, changes: Changes) -> bool:
    """Whether something else than links and joints refers to what was removed or renamed, or a root gets a joint."""
    renamed = [source for source, item in changes.edited if item_name(source) != item_name(item)]
    if any(isinstance(source, Joint) and source.implicit for source, _ in changes.edited):
        return True
    removed = {item.node for item in changes.removed}
    changed = removed | {item.node for item in renamed if isinstance(item, Body | Joint)}
    if not changed:
        return False
    names, ends = UrdfNames(document), document.outline.ends
    gone = set(chain.from_iterable(range(node, ends[node]) for node in removed if node >= 0))
    if any(node in names.names and names.parameters(node) for node in changed):
        return True
    references = [one for one in names.references if one.target in changed and one.node not in gone]
    return any(document.outline.tags[one.node] not in _REFERENCES_OF_ITEMS for one in references)


def _fates(document: Document, edits: DocumentEditor) -> Iterator[tuple[NodeKey, Verdict]]:
    """The fates of what is not in the edited document."""
    alone = {*not_following(edits.editor.scene, edits.changes)}
    for source, item in edits.edited:
        if id(item) in alone and source.node >= 0:
            mimics = (node for node in document.outline.children(source.node) if document.outline.tags[node] == "mimic")
            yield from (((node, ""), NOT_FOLLOWING) for node in mimics)
    for item in edits.changes.removed:
        if item.node >= 0:
            yield (item.node, ""), REMOVED


@cache
def capabilities(urdf: Format) -> WriterCapabilities:
    """What the writer of URDF supports, with edits of documents."""
    return structs.replace(write.CAPABILITIES, copy_source=copy_source, edit_source=partial(edit_source, urdf))


class UrdfEditor(FormatEditor):
    """Adapts edits to the form of a URDF document."""

    writes_items_alone = False

    def affected_items(self) -> list[tuple[Item, Item]]:
        """All other links, joints and shapes: frames of joints depend on each other."""
        known = {id(item) for _, item in self.changes.edited}
        found: list[tuple[Item, Item]] = []
        for model in (one for world in self.scene.worlds for one in world.models):
            items: list[Item] = [*model.bodies, *model.joints, *(s for body in model.bodies for s in body.shapes)]
            pairs = ((self.changes.sources.get(id(item)), item) for item in items if id(item) not in known)
            found += [(source, item) for source, item in pairs if source is not None and not _is_implicit(source)]
        return found

    def has_element(self, item: Item) -> bool:
        return item.node >= 0 and not _is_implicit(item)

    def adapt_edited(self, source: Item, item: Item, old: Markup, new: Markup) -> tuple[Markup, Markup]:
        if isinstance(item, Model):
            return _without_children(old), _without_children(new)
        if isinstance(source, Body) and isinstance(item, Body) and self._has_rotated_inertia(source):
            is_same = (source.com, source.moment) == (item.com, item.moment)
            return (old if is_same else old.without(_INERTIAL)), new
        if isinstance(source, Shape) and isinstance(item, Shape):
            if (source.color, texture_of(source)) == (item.color, texture_of(item)):
                return old.without(_MATERIAL), new.without(_MATERIAL)
            return old.without(_MATERIAL), self.adapt_added(item, new)
        return old, new

    def adapt_added(self, item: Item, element: Markup) -> Markup:
        """State colours in the elements of shapes: materials of the document may have any names."""
        if isinstance(item, Body):
            children = [self._with_color(c.item, c) if isinstance(c.item, Shape) else c for c in element.children]
            return Markup(element.tag, element.attributes, element.text, children, element.item)
        return self._with_color(item, element) if isinstance(item, Shape) else element

    def _with_color(self, shape: Shape, element: Markup) -> Markup:
        children = [child for child in element.children if child.tag != _MATERIAL]
        if len(children) == len(element.children):
            return element
        children.append(self._material(shape))
        return Markup(element.tag, element.attributes, element.text, children, element.item)

    def _material(self, shape: Shape) -> Markup:
        color = shape.color
        if color is None or texture_of(shape) is not None:
            raise ExoskelError("textures are written in new documents")
        made = Markup(_MATERIAL, {"name": "color_" + "_".join(f"{part:g}" for part in color)})
        made.add("color", rgba=format_color(color))
        return made

    def _has_rotated_inertia(self, body: Body) -> bool:
        """Whether the moment of inertia of a link is stated in axes of its own."""
        node = self.elements.child(body.node, _INERTIAL)
        origin = self.elements.child(node, "origin") if node >= 0 else -1
        return origin >= 0 and bool(self.elements.attribute(origin, "rpy"))


def _is_implicit(item: Item) -> bool:
    return isinstance(item, Joint) and item.implicit


def _without_children(element: Markup) -> Markup:
    return Markup(element.tag, element.attributes, element.text, [], element.item)
