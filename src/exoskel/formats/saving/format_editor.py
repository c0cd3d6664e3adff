"""How a format is edited in place: what the general editor has to ask about a language and a document."""

from __future__ import annotations

from collections.abc import Callable

from exoskel.formats.interface import Format
from exoskel.formats.read_options import ReadOptions
from exoskel.formats.saving.changes import Changes
from exoskel.scene.item import Item
from exoskel.scene.world import Model, Scene, World
from exoskel.source.document import Document
from exoskel.source.element_context import Elements
from exoskel.source.markup import Markup
from exoskel.source.vocabulary import Element

Restore = Callable[[], None]


class FormatEditor:
    """The general answers; a format's `edit` module has a class of its own where they are not enough.

    `follows` are fields that a format works out from others: if nobody has edited them, they follow the file.
    """

    is_local: bool = True
    """Whether the text of an item is the same whatever else is in its model."""
    follows: frozenset[tuple[type[Item], str]] = frozenset()
    groups: bool = False
    """Whether the format has no element for models: how bodies are grouped is carried."""

    def __init__(self, format: Format, document: Document, options: ReadOptions, elements: Elements) -> None:
        self.format = format
        self.document = document
        self.options = options
        self.elements = elements

    @staticmethod
    def recast(changes: Changes) -> None:
        """See to it that what has to be written anew counts as removed and added."""

    @staticmethod
    def clash(base: Scene, again: Scene) -> str:
        """Why the names of an edited document are not to be; empty if they may."""
        return ""

    def about(self, base: Scene, scene: Scene, changes: Changes) -> None:
        """The source, the scene and what differs between them."""
        self.base = base
        self.scene = scene
        self.changes = changes

    def prepare(self) -> Restore:
        """Bring the scene in step with itself for the time of writing; the result undoes that."""
        return lambda: None

    def more(self) -> list[tuple[Item, Item]]:
        """Items that are not edited themselves, but may have to be written otherwise because others are."""
        return []

    def has_element(self, item: Item) -> bool:
        """Whether an item of the source has an element that is its own."""
        return item.node >= 0

    def adapt(self, source: Item, item: Item, old: Markup, new: Markup) -> tuple[Markup, Markup]:
        """What an item was and is to be, from canonical words to those of the document."""
        return old, new

    def fresh(self, item: Item, element: Markup) -> Markup:
        """The element of a new item, as it goes into the document."""
        return element

    def home(self, item: Item, holder: Item | None) -> int:
        """The element of the document that a new item goes into, or -1."""
        if holder is not None and holder.node >= 0:
            return holder.node
        return 0 if isinstance(item, World | Model) else -1

    def find(self, node: int, wanted: Markup, ordinal: int, rule: Element | None) -> int:
        """The child of an element of the document that says what `wanted` does, or -1."""
        rows = rule.children.items() if rule is not None else ()
        tags = {wanted.tag} | {name for name, row in rows if row.alias_of == wanted.tag}
        if len(tags) == 1 and ordinal == 0:
            return self.elements.child(node, wanted.tag)
        same = [child for child in self.elements.children(node) if self.elements.tag(child) in tags]
        return same[ordinal] if ordinal < len(same) else -1


def without(element: Markup, *tags: str) -> Markup:
    """A copy that lacks some children."""
    kept = [child for child in element.children if child.tag not in tags]
    return Markup(element.tag, element.attributes, element.text, kept, element.item, element.verbatim)
