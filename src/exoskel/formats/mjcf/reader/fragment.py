"""The elements of a document that is prepared for MuJoCo."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field


class Fragment(Struct):
    """An element to be compiled, and its node in the document (for included content, the node of the include)."""

    tag: str
    attributes: dict[str, str]
    node: int
    children: list[Fragment] = field(default_factory=list)

    def iter(self) -> Iterator[Fragment]:
        waiting = [self]
        while waiting:
            found = waiting.pop()
            yield found
            if found.children:
                waiting += found.children[::-1]
