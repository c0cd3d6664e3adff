"""How SKEL files are edited in place."""

from __future__ import annotations

from exoskel.formats.saving.format_editor import FormatEditor, without
from exoskel.scene.body import Body
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.source.markup import Markup
from exoskel.source.vocabulary import Element


class SkelEditor(FormatEditor):
    def has_element(self, item: Item) -> bool:
        return item.node >= 0 and not (isinstance(item, Joint) and item.implicit)

    def adapt_edited(self, source: Item, item: Item, old: Markup, new: Markup) -> tuple[Markup, Markup]:
        old, new = self.adapt_added(source, old), self.adapt_added(item, new)
        if isinstance(source, Body) and isinstance(item, Body) and source.com == item.com:
            return _without_offset(old), _without_offset(new)
        return old, new

    def adapt_added(self, item: Item, element: Markup) -> Markup:
        """Without a moment that is derived: what the scene does not state, the file does not state either."""
        if isinstance(item, Body) and item.inertia.moment is None:
            children = [without(c, "moment_of_inertia") if c.tag == "inertia" else c for c in element.children]
            return Markup(element.tag, element.attributes, element.text, children, element.item)
        if element.tag == "skeleton":
            children = [self.adapt_added(c.item, c) if isinstance(c.item, Body) else c for c in element.children]
            return Markup(element.tag, element.attributes, element.text, children, element.item)
        return element

    def find_child(self, node: int, wanted: Markup, ordinal: int, rule: Element | None) -> int:
        if wanted.tag == "dof":  # told by its number, not by its place
            for child in self.elements.children(node):
                if self.elements.tag(child) == "dof":
                    index = (self.elements.attribute(child, "local_index") or "").strip()
                    if index == wanted.attributes["local_index"]:
                        return child
            return -1
        return super().find_child(node, wanted, ordinal, rule)


def _without_offset(element: Markup) -> Markup:
    """A centre of mass that has not changed does not have to be stated."""
    children = [without(child, "offset") if child.tag == "inertia" else child for child in element.children]
    return Markup(element.tag, element.attributes, element.text, children, element.item)
