"""The fates of data that Exoskel embedded earlier in a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from exoskel.conversion.output_fates import FieldVerdict, OutputFates
from exoskel.conversion.related_items import RelatedItems
from exoskel.fates import Fate, Verdict
from exoskel.scene.fields import CHILD_LISTS, FIELDS
from exoskel.scene.item import Item, item_name
from exoskel.source.document import Document
from exoskel.source.embedded_format import EmbeddedElement, EmbeddedTag, embedded_element, embedded_nodes, is_extension

_UNUSED = Verdict(Fate.DROPPED, "not used")


class EmbeddedDataFates:
    """The fates of the embedded data of one document: it is in the scene, and shares the fates of what it sets.

    `items` are the items of the document by their elements; `lost` is why an output without embedded data lacks it.
    """

    def __init__(
        self, document: Document, items: Mapping[int, Item], related: RelatedItems, output: OutputFates, lost: str
    ) -> None:
        self.document = document
        self.items = items
        self.related = related
        self.output = output
        self.lost = lost
        self.is_embedded_again = not output.written.native_only
        self.nodes = embedded_nodes(document)

    def is_lost(self, node: int) -> bool:
        """Whether an element is embedded data that the output cannot embed: its content decides on its fate."""
        return not self.is_embedded_again and node in self.nodes

    def verdict(self, node: int, field_verdict: FieldVerdict) -> Verdict:
        if self.is_embedded_again:
            return Verdict(Fate.KEPT, "data embedded by Exoskel, applied to the scene")
        element = embedded_element(self.document, node)
        if element is None:
            return Verdict(Fate.DROPPED, self.lost, harmless=is_extension(self.document.outline, node))
        if element.tag is EmbeddedTag.PLACEHOLDER:
            return Verdict(Fate.DROPPED, "used only by Exoskel", harmless=True)
        if element.tag is EmbeddedTag.GROUPING:
            return self.output.grouping()
        owner = self.items.get(element.owner)
        if element.is_of_parent_joint:
            owner = self.related.parent_joints.get(id(owner))
        if element.tag is EmbeddedTag.ITEM:
            added = _added_item(owner, element, self.document.value_text(node))
            return self.output.item(added) if added is not None else _UNUSED
        if owner is None or element.field not in FIELDS[type(owner)]:
            return _UNUSED
        return field_verdict(owner, element.field)


def _added_item(owner: Item | None, element: EmbeddedElement, text: str) -> Item | None:
    """The item that embedded data with this text added to a list of its owner."""
    name, index = element.list_name, element.index
    is_list = owner is not None and name in CHILD_LISTS.get(type(owner), ())
    items: Sequence[Item] = getattr(owner, name) if is_list else ()
    added = items[index] if index is not None and index < len(items) else None
    try:
        stated = msgspec.json.decode(text, type=_NamedItem).name
    except msgspec.DecodeError:
        return added
    if stated and (added is None or item_name(added) != stated):  # joints that were lowered have moved it
        return next((one for one in items if item_name(one) == stated), added)
    return added


class _NamedItem(msgspec.Struct):
    """The name of an item in embedded data."""

    name: str = ""
