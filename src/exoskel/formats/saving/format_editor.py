"""What a format changes about the edits of a document: the defaults for all formats."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from exoskel.scene.item import Item
from exoskel.scene.model import Model
from exoskel.scene.world import Scene, World
from exoskel.source.document import Document
from exoskel.source.markup import Markup
from exoskel.source.vocabulary import Element

if TYPE_CHECKING:
    from exoskel.formats.interface import Format, ReadOptions
    from exoskel.formats.saving.changes import Changes
    from exoskel.source.positions import Elements

Restore = Callable[[], None]
"""Undoes a change of the scene."""


class FormatEditor:
    """Adapts edits to one format and one document.  The methods here are the defaults for all formats.

    `base` is the source, read again; `changes` the differences between it and `scene`.
    """

    writes_items_alone: bool = True
    """Whether the text of an item does not depend on the other items of its model."""
    derived_fields: frozenset[tuple[type[Item], str]] = frozenset()
    """Fields that the reader derives from others: unless they were edited, the values that are read back count."""
    has_model_elements: bool = True
    """Whether models have elements; otherwise the grouping of bodies into models is embedded."""
    has_independent_models: bool = False
    """Whether the elements of a model are read without those of other models, in the order of the document."""
    fixes_static_bodies: bool = False
    """Whether each body of a static model is written with a fixed joint of its own."""

    def __init__(
        self,
        format: Format,
        document: Document,
        options: ReadOptions,
        elements: Elements,
        base: Scene,
        scene: Scene,
        changes: Changes,
    ) -> None:
        self.format = format
        self.document = document
        self.options = options
        self.elements = elements
        self.base = base
        self.scene = scene
        self.changes = changes

    @staticmethod
    def mark_replaced_items(changes: Changes) -> None:
        """Convert edits that need new elements into removed and added items."""

    @staticmethod
    def find_name_clash(base: Scene, reread: Scene) -> str:
        """Why the names in an edited document are not allowed; empty if they are."""
        return ""

    def update_dependent_fields(self) -> Restore:
        """Set fields of the scene that depend on edited ones while it is written; the result undoes that."""
        return lambda: None

    def affected_items(self) -> list[tuple[Item, Item]]:
        """Items that were not edited, but whose text may change because of other edits."""
        return []

    def has_element(self, item: Item) -> bool:
        """Whether an item of the source has an element of its own."""
        return item.node >= 0

    def adapt_edited(self, source: Item, item: Item, old: Markup, new: Markup) -> tuple[Markup, Markup]:
        """Convert the canonical elements of an item before and after the edit to the form that the document uses."""
        return old, new

    def adapt_added(self, item: Item, element: Markup) -> Markup:
        """Convert the canonical element of a new item to the form that the document uses."""
        return element

    def container(self, item: Item, owner: Item | None) -> int:
        """The element of the document that a new item is inserted in, or -1."""
        if owner is not None and owner.node >= 0:
            return owner.node
        return 0 if isinstance(item, World | Model) else -1

    def find_child(self, node: int, wanted: Markup, ordinal: int, rule: Element | None) -> int:
        """The child of an element that corresponds to `wanted`, the n-th of its tag, or -1."""
        rows = rule.children.items() if rule is not None else ()
        tags = {wanted.tag} | {name for name, row in rows if row.alias_of == wanted.tag}
        if len(tags) == 1 and ordinal == 0:
            return self.elements.child(node, wanted.tag)
        same = [child for child in self.elements.children(node) if self.elements.tag(child) in tags]
        return same[ordinal] if ordinal < len(same) else -1
