"""Parts of a scene that a document does not contain, or not exactly, with the reasons."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct, structs

from exoskel.diagnostics import Message, format_detail
from exoskel.scene.item import Item


class Loss(Struct, frozen=True):
    """A part of a scene that is written approximately or not at all.

    `code` is the code in the catalogue of the format, `text` the reason, for people.  `fields` are the fields of the
    item that it concerns; for a joint these may also be fields of its degrees of freedom.  No fields: the item as
    a whole.  `changes_effect`: the values of the fields are written, but act differently; an empty field is the item.
    `is_dropped`: nothing of the fields is written.  `is_refused`: the target reader refuses the document because of it.
    """

    item: Item
    code: str
    text: str
    fields: tuple[str, ...]
    changes_effect: bool = False
    is_dropped: bool = False
    is_refused: bool = False

    @property
    def reason(self) -> str:
        """The text, followed by the code."""
        return f"{self.text} ({self.code})"


def loss(
    item: Item,
    message: Message,
    *fields: str,
    changes_effect: bool = False,
    is_dropped: bool = False,
    is_refused: bool = False,
    **details: object,
) -> Loss:
    """The loss of an item, or of some fields of it, with the filled-in message of a catalogue."""
    shown = {name: format_detail(value) for name, value in details.items()}
    return Loss(item, message.code, message.text.format(**shown), fields, changes_effect, is_dropped, is_refused)


def with_owners(losses: Iterable[Loss], owner: Callable[[Item], Item | None]) -> list[Loss]:
    """The losses of a lowered world, with the items of the scene that they concern; others are omitted."""
    owned = ((loss, owner(loss.item)) for loss in losses)
    return [structs.replace(loss, item=item) for loss, item in owned if item is not None]
