"""Collect the elements that a scene may not contain, before a document is prepared for MuJoCo."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from exoskel.formats.mjcf.names import GENERATED
from exoskel.formats.mjcf.preserved_elements import DEFAULT_TAGS, TEXTURE_FILES, SourceElement, copy_element


class NumberedElement(Protocol):
    """An element of a document that was read, and its number there."""

    @property
    def tag(self) -> str: ...
    @property
    def attributes(self) -> dict[str, Any]: ...
    @property
    def children(self) -> Sequence[NumberedElement]: ...
    @property
    def node(self) -> int: ...


_WHOLE = ("visual", "statistic")
"""Sections that are preserved as a whole."""
_SECTIONS: dict[str, frozenset[str] | None] = {
    "asset": frozenset({"texture", "material"}),
    "contact": frozenset({"pair"}),
    "tendon": None,
    "equality": None,
    "actuator": None,
    "sensor": None,
    "custom": None,
    "compiler": frozenset({"lengthrange"}),
}
"""Sections of which elements are preserved, and the tags of these elements; None: all."""
_UNPRESERVED = frozenset({"plugin", "flex", "flexvert", "flexstrain"})
"""Elements that need others which are not preserved."""
_OPTIONS = ("wind", "density", "viscosity", "magnetic")
"""Attributes of `<option>` that change the physics, and that a scene does not contain."""

FindFile = Callable[[str], str | None]
"""The path of a texture file by its reference; None if it is not found."""


class CollectedElements:
    """What a document may have to preserve, taken before it is prepared for MuJoCo."""

    def __init__(self, root: NumberedElement, find_texture: FindFile) -> None:
        self.find_texture = find_texture
        self.elements: list[tuple[int, SourceElement]] = []
        """The elements in order, with the ids of the fragments that they are copies of."""
        self.defaults: list[SourceElement] = []
        self.options: dict[str, str] = {}
        self.option_nodes: list[int] = []
        self.has_automatic_limits = True
        for section in root.children:
            self._collect(section)

    def _collect(self, section: NumberedElement) -> None:
        if section.tag in _WHOLE:
            self._add(section, section)
        elif section.tag == "option":
            found = {name: section.attributes[name] for name in _OPTIONS if name in section.attributes}
            self.options |= found
            self.option_nodes += [section.node] if found else []
        elif section.tag == "default":
            made = copy_element(section, DEFAULT_TAGS | {"default"})
            self.defaults.append(SourceElement(section.tag, made, section.node, section.node))
        elif section.tag in _SECTIONS:
            if section.tag == "compiler":
                self.has_automatic_limits = section.attributes.get("autolimits") != "false"
            tags = _SECTIONS[section.tag]
            for child in section.children:
                is_own = child.attributes.get("name", "").startswith(GENERATED)
                if not is_own and child.tag not in _UNPRESERVED and (tags is None or child.tag in tags):
                    self._add(section, child)

    def _add(self, section: NumberedElement, fragment: NumberedElement) -> None:
        files: dict[str, str | None] = {}
        if fragment.tag == "texture":
            named = {name: fragment.attributes[name] for name in TEXTURE_FILES if fragment.attributes.get(name)}
            files = {name: self.find_texture(reference) for name, reference in named.items()}
        element = copy_element(fragment)
        made = SourceElement(section.tag, element, fragment.node, section.node, files)
        self.elements.append((id(fragment), made))
