"""Edits SKEL files in place."""

from __future__ import annotations

import numpy as np
from msgspec import structs

from exoskel.formats.interface import FormatEditor
from exoskel.scene.body import Body
from exoskel.scene.inertia import derive_moments
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.source.markup import Markup
from exoskel.source.vocabulary import Element


class SkelEditor(FormatEditor):
    """Adapts edits to the form of a SKEL document."""

    def has_element(self, item: Item) -> bool:
        return item.node >= 0 and not (isinstance(item, Joint) and item.implicit)

    def adapt_edited(self, source: Item, item: Item, old: Markup, new: Markup) -> tuple[Markup, Markup]:
        old, new = self.adapt_added(source, old), self.adapt_added(item, new)
        if isinstance(source, Body) and isinstance(item, Body) and source.com == item.com:
            return _without_offset(old), _without_offset(new)
        return old, new

    def adapt_added(self, item: Item, element: Markup) -> Markup:
        """Remove a moment of inertia that DART derives too: the file does not state what the scene does not state."""
        if isinstance(item, Body) and item.inertia.moment is None and _dart_derives_moment(item):
            children = [c.without("moment_of_inertia") if c.tag == "inertia" else c for c in element.children]
            return Markup(element.tag, element.attributes, element.text, children, element.item)
        if element.tag == "skeleton":
            children = [self.adapt_added(c.item, c) if isinstance(c.item, Body) else c for c in element.children]
            return Markup(element.tag, element.attributes, element.text, children, element.item)
        return element

    def find_child(self, node: int, wanted: Markup, ordinal: int, rule: Element | None) -> int:
        if wanted.tag == "dof":  # identified by its index, not by its position in the file
            for child in self.elements.children(node):
                if self.elements.tag(child) == "dof":
                    index = (self.elements.attribute(child, "local_index") or "").strip()
                    if index == wanted.attributes["local_index"]:
                        return child
            return -1
        return super().find_child(node, wanted, ordinal, rule)


def _without_offset(element: Markup) -> Markup:
    """A body element without its centre of mass, which has not changed."""
    children = [child.without("offset") if child.tag == "inertia" else child for child in element.children]
    return Markup(element.tag, element.attributes, element.text, children, element.item)


def _dart_derives_moment(body: Body) -> bool:
    """Whether DART derives the same moment of inertia from the shapes, up to rounding."""
    if body.inertia.rule != "solid":
        return True
    stated = structs.replace(body.inertia, com=body.com)
    found = derive_moments([(stated, body.shapes)], "all_shapes").moments[0]
    return bool(np.abs(found - body.moment).max() <= _ROUNDING * np.abs(found).max())


_ROUNDING = 1e-13
