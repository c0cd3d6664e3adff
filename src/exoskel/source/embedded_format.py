"""How our own elements are embedded in a file: one class for each way, used to read, write, save and preserve.

SKEL readers ignore unknown elements, so ours are placed where they belong, in a namespace: `<exoskel:carry …>`.
XODE has a place for the data of applications: `<ext ename="exoskel"><carry …/></ext>`.
What the elements mean is described in `exoskel.source.embedded_data`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from copy import deepcopy
from enum import StrEnum

from msgspec import Struct

from exoskel.scene.body import Body
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.source.document import Document, Outline, Tree, split_tag
from exoskel.source.element_context import Elements
from exoskel.source.markup import Markup
from exoskel.source.splice import Patch

NAMESPACE = "urn:exoskel:carried"
TAG_START = f"{{{NAMESPACE}}}"
"""How the tags of our own elements start in a parsed tree."""


class EmbeddedTag(StrEnum):
    """The elements that hold data of the scene."""

    FIELD = "carry"
    ITEM = "add"
    PLACEHOLDER = "stand-in"
    GROUPING = "models"


_TAGS = frozenset(tag.value for tag in EmbeddedTag)
_PREFIX = "exoskel"
_DECLARATION = f"xmlns:{_PREFIX}"
_EXTENSION_TAG = "ext"
_EXTENSION = "exoskel"
"""The `ename` of our own extensions."""
_PRESERVED = "kept"
"""Our element around data of other applications, where the format has no place for such data."""
_CONTAINER = "in"
"""Its attribute: the element that the data was in, where that is not the world."""
_WORLD_DATA = frozenset({"gravity", "CFM", "ERP", "timestep"})
_WORD_IN_FILE = b"exoskel"


class OtherData(Struct):
    """Data of other applications found in a document.

    `container` is the element that an extension was in: the root (`xode`), a `space` or group, or the world (empty).
    `is_unknown` is set for elements of other namespaces, which stand outside of extensions.
    """

    parts: Sequence[Tree]
    container: str = ""
    is_unknown: bool = False


class EmbeddedDataFormat(ABC):
    """How our own elements are embedded in the documents of one format."""

    exact_fields: frozenset[tuple[type[Item], str]] = frozenset()
    """Fields that are embedded unless they are read back exactly, because each round trip would lose another bit."""
    containers: frozenset[str] = frozenset()
    """Tags of elements of the format that hold embedded data, ours or that of other applications."""
    states_initial_poses: bool = False
    """Whether the format states where bodies are in the initial state instead of at zero configuration."""

    def is_in_container(self, path: str) -> bool:
        """Whether a path of tags, separated by slashes, contains an element that holds embedded data."""
        return any(tag in path and tag in path.split("/") for tag in self.containers)

    # --- documents to be written ----------------------------------------------------------------------

    @abstractmethod
    def add(self, root: Markup, owner: Markup, element: Markup) -> None:
        """Embed an element of ours in another one."""

    @abstractmethod
    def add_other_data(self, root: Markup, owner: Markup, copy: Markup, found: OtherData) -> None:
        """Add a copy of one part of the data of another application to an element."""

    # --- documents to be edited -----------------------------------------------------------------------

    @abstractmethod
    def elements_in(self, elements: Elements, node: int) -> list[int]:
        """Our own elements that are embedded in an element, by their numbers."""

    @abstractmethod
    def owner(self, parents: Sequence[int], node: int) -> int:
        """The number of the element that an element of ours is embedded in."""

    @abstractmethod
    def remove(self, patch: Patch, node: int, removed: Collection[int]) -> None:
        """Remove elements of ours from an element."""

    @abstractmethod
    def insert(self, patch: Patch, node: int, new: Sequence[Markup], after: int, *, can_join: bool = True) -> None:
        """Embed elements in an element, behind its child `after`.

        With `can_join`, they may join those that are embedded already.
        """

    # --- documents that were parsed -------------------------------------------------------------------

    @abstractmethod
    def owner_in_tree(self, element: Tree) -> Tree | None:
        """The element that a parsed element is embedded in; None if the element is not ours."""

    @abstractmethod
    def other_data(self, element: Tree) -> OtherData | None:
        """The data of other applications in a parsed element; None if the element does not hold such data itself."""


class NamespacedElements(EmbeddedDataFormat):
    """Elements in a namespace of our own, directly in the element that they belong to (SKEL)."""

    def add(self, root: Markup, owner: Markup, element: Markup) -> None:
        root.attributes.setdefault(_DECLARATION, NAMESPACE)
        element.tag = f"{_PREFIX}:{element.tag}"
        owner.children.append(element)

    def add_other_data(self, root: Markup, owner: Markup, copy: Markup, found: OtherData) -> None:
        if found.is_unknown:
            owner.children.append(copy)
            return
        root.attributes.setdefault(_DECLARATION, NAMESPACE)
        attributes = {_CONTAINER: found.container} if found.container else {}
        owner.children.append(Markup(f"{_PREFIX}:{_PRESERVED}", attributes, verbatim=copy.verbatim))

    def elements_in(self, elements: Elements, node: int) -> list[int]:
        return [child for child in elements.children(node) if elements.tag(child).startswith(f"{_PREFIX}:")]

    def owner(self, parents: Sequence[int], node: int) -> int:
        return parents[node]

    def remove(self, patch: Patch, node: int, removed: Collection[int]) -> None:
        for element in patch.elements.children(node):
            if element in removed:
                patch.remove(element)

    def insert(self, patch: Patch, node: int, new: Sequence[Markup], after: int, *, can_join: bool = True) -> None:
        is_declared = patch.elements.attribute(0, _DECLARATION) is not None
        for element in new:
            element.tag = f"{_PREFIX}:{element.tag}"
            if not is_declared:
                element.attributes = {_DECLARATION: NAMESPACE, **element.attributes}
            patch.insert(node, element, after)

    def owner_in_tree(self, element: Tree) -> Tree | None:
        return element.getparent() if element.tag.startswith(TAG_START) else None

    def other_data(self, element: Tree) -> OtherData | None:
        if element.tag != TAG_START + _PRESERVED:
            return None
        return OtherData(list(element), str(element.get(_CONTAINER, "")))


class ExtensionElements(EmbeddedDataFormat):
    """Elements in an `<ext ename="exoskel">` of the element that they belong to (XODE).

    XODE states joints and moments in other frames than the scene does.  Each change of frames loses a bit.
    """

    exact_fields = frozenset({(Joint, "pose"), (Joint, "axes"), (Joint, "dofs"), (Body, "inertia")})
    containers = frozenset({_EXTENSION_TAG})
    states_initial_poses = True

    def add(self, root: Markup, owner: Markup, element: Markup) -> None:
        self._extension(owner).children.append(element)

    def add_other_data(self, root: Markup, owner: Markup, copy: Markup, found: OtherData) -> None:
        if found.is_unknown:
            place = self._extension(owner).add(_PRESERVED)
        elif found.container == "xode":
            place = root
        elif found.container:  # a world's own extensions are read as gravity and the like
            place = next(child for child in owner.children if child.tag == "space")
        else:
            place = owner
        place.children.append(copy)

    @staticmethod
    def _extension(owner: Markup) -> Markup:
        """Our extension in an element; it is created if missing."""
        found = next((child for child in owner.children if child.attributes.get("ename") == _EXTENSION), None)
        if found is None:
            found = Markup(_EXTENSION_TAG, {"ename": _EXTENSION})
            owner.children.insert(1 if owner.tag == "world" else len(owner.children), found)
        return found

    def elements_in(self, elements: Elements, node: int) -> list[int]:
        return [inner for extension in _extensions_in(elements, node) for inner in elements.children(extension)]

    def owner(self, parents: Sequence[int], node: int) -> int:
        return parents[parents[node]]

    def remove(self, patch: Patch, node: int, removed: Collection[int]) -> None:
        """Remove elements of ours from an element, and extensions that are empty then."""
        for extension in _extensions_in(patch.elements, node):
            inside = patch.elements.children(extension)
            leaving = [element for element in inside if element in removed]
            for element in [extension] if leaving and leaving == inside else leaving:
                patch.remove(element)

    def insert(self, patch: Patch, node: int, new: Sequence[Markup], after: int, *, can_join: bool = True) -> None:
        extensions = _extensions_in(patch.elements, node) if can_join else []
        if not extensions:
            patch.insert(node, Markup(_EXTENSION_TAG, {"ename": _EXTENSION}, children=list(new)), after)
            return
        inside = patch.elements.children(extensions[0])
        for element in new:
            patch.insert(extensions[0], element, inside[-1] if inside else -1)

    def owner_in_tree(self, element: Tree) -> Tree | None:
        extension = element.getparent()
        return extension.getparent() if _is_own_extension(extension) else None

    def other_data(self, element: Tree) -> OtherData | None:
        if element.tag == _PRESERVED:
            return OtherData(list(element), is_unknown=True) if _is_own_extension(element.getparent()) else None
        if not element.tag.endswith(_EXTENSION_TAG) or split_tag(element)[1] != _EXTENSION_TAG:
            return None
        if _is_own_extension(element):
            return None
        parent = element.getparent()
        tag = "xode" if parent is None else split_tag(parent)[1]
        if tag != "world":
            return OtherData([element], "xode" if tag == "xode" else "space")
        if not any(map(_is_world_data, element)):
            return OtherData([element])
        rest = _without_world_data(element)
        return OtherData([] if rest is None else [rest], "xode")


NAMESPACED = NamespacedElements()
EXTENSION = ExtensionElements()


def might_contain_embedded_data(text: bytes) -> bool:
    """Whether a document can contain elements of ours.  Most do not, and are not searched."""
    return _WORD_IN_FILE in text


def might_contain_other_data(text: bytes) -> bool:
    """Whether a document can contain extensions, or data of other applications that we preserved."""
    return b"<ext" in text or b":ext" in text or _PRESERVED.encode() in text


def embedded_elements(tree: Tree) -> Iterator[tuple[int, Tree, int, str]]:
    """All elements that hold data of the scene, in document order, embedded in whichever way.

    Each with its number, the number of the element that it is embedded in, and its tag without a namespace.
    """
    numbers = {element: number for number, element in enumerate(tree.iter())}
    for element, number in numbers.items():
        if not isinstance(element.tag, str):
            continue
        tag = element.tag.removeprefix(TAG_START)
        if tag not in _TAGS:
            continue
        style = NAMESPACED if element.tag.startswith(TAG_START) else EXTENSION
        owner = style.owner_in_tree(element)
        if owner is not None:
            yield number, element, numbers[owner], tag


def embedded_nodes(document: Document) -> set[int]:
    """The numbers of all elements of ours in a document, with the extensions around them."""
    outline = document.outline
    found: set[int] = set()
    prefixed = {tag for tag in set(outline.tags) if ":" in tag and tag.rpartition(":")[2] in _TAGS}
    for node, tag in enumerate(outline.tags):
        if tag in prefixed or (tag == _EXTENSION_TAG and document.attribute_text(node, "ename") == _EXTENSION):
            found.update(range(node, outline.ends[node]))
    return found


def embedded_tag(outline: Outline, node: int) -> EmbeddedTag | None:
    """The tag of an element of ours without a namespace; None for the extension around it and for other elements."""
    tag = outline.tags[node].rpartition(":")[2]
    return EmbeddedTag(tag) if tag in _TAGS else None


def is_extension(outline: Outline, node: int) -> bool:
    """Whether an element is an extension, ours or that of another application."""
    return outline.tags[node].rpartition(":")[2] == _EXTENSION_TAG


def embedded_owner(outline: Outline, node: int) -> int:
    """The number of the element that an element of ours is embedded in, in either style."""
    style = EXTENSION if outline.tags[outline.parents[node]] == _EXTENSION_TAG else NAMESPACED
    return style.owner(outline.parents, node)


def _extensions_in(elements: Elements, node: int) -> list[int]:
    return [
        child
        for child in elements.children(node)
        if elements.tag(child) == _EXTENSION_TAG and elements.attribute(child, "ename") == _EXTENSION
    ]


def _is_own_extension(element: Tree | None) -> bool:
    return element is not None and element.tag == _EXTENSION_TAG and element.get("ename") == _EXTENSION


def _without_world_data(extension: Tree) -> Tree | None:
    """A copy of a world's extension without the values that the scene holds; None if nothing is left."""
    rest = deepcopy(extension)
    for child in [c for c in rest if _is_world_data(c)]:
        before = child.getprevious()
        if before is not None:  # removing an element also removes the text behind it
            before.tail = (before.tail or "") + (child.tail or "")
        else:
            rest.text = (rest.text or "") + (child.tail or "")
        rest.remove(child)
    return rest if len(rest) or (rest.text or "").strip() else None


def _is_world_data(child: Tree) -> bool:
    """Whether an element in an extension of a world is read as a value of the world."""
    if not isinstance(child.tag, str):
        return False
    namespace, name = split_tag(child)
    return name in _WORLD_DATA and namespace in ("", split_tag(child.getparent())[0])
