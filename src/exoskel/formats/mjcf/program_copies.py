"""Adapts the copy of a document to the program that will read it: its words, and names without slashes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import cast

from msgspec import Struct, field, structs

from exoskel.fates import Fate, Verdict
from exoskel.formats.interface import NodeKey, SourceCopy
from exoskel.formats.mjcf.ignored_words import ignored_words
from exoskel.formats.mjcf.losses import projection_losses
from exoskel.formats.mjcf.names import Kind, reference_kind, tables_of_names
from exoskel.formats.mjcf.tree import MjcfElement
from exoskel.formats.mjcf.unknown_words import (
    ONLY_MUJOCO_4,
    REFUSED,
    REFUSED_BY_MUJOCO_3,
    REFUSED_BY_NEWTON,
    UNKNOWN_ATTRIBUTES,
)
from exoskel.scene.world import Scene
from exoskel.source.document import Document
from exoskel.source.markup import Markup
from exoskel.source.output_context import OutputContext, Target
from exoskel.source.splice import Patch

TARGETS: frozenset[Target] = frozenset({"portable", "mujoco4", "mujoco3", "dm_control", "newton", "isaac"})
"""The programs that a document is copied for; DART reads so little of MJCF that it gets a new document."""
_WITHOUT_SLASHES: frozenset[Target] = frozenset({"portable", "dm_control"})
"""The programs that may refuse names with slashes."""

# --- words -------------------------------------------------------------------------------------------


class _Word(Struct, frozen=True):
    """An attribute, or one value of it, that some programs refuse: what they get instead, and the fate of it.

    With `value`, only this value is replaced.  Without `given`, the attribute is removed.
    """

    attribute: str
    tags: frozenset[str]
    fate: Verdict
    value: str = ""
    given: tuple[str, str] | None = None
    also: str = ""
    """Another attribute that is removed with it."""


_OPTION, _CAMERA = frozenset({"option"}), frozenset({"camera"})
_INTEGRATOR = "other versions refuse the integrator discrete: {}; contacts, limits and springs differ slightly"
_IMPLICIT = _Word(
    "integrator",
    _OPTION,
    Verdict(Fate.APPROXIMATED, _INTEGRATOR.format("it is implicitfast")),
    "discrete",
    ("integrator", "implicitfast"),
)
_NO_INTEGRATOR = _Word(
    "integrator",
    _OPTION,
    Verdict(Fate.DROPPED, _INTEGRATOR.format("the program uses its own")),
    "discrete",
)
_ONLY_MUJOCO_4 = tuple(
    _Word(attribute, frozenset({tag}), REFUSED_BY_MUJOCO_3)
    for tag, attributes in ONLY_MUJOCO_4.items()
    for attribute in sorted(attributes)
)
_PERSPECTIVE = Verdict(
    Fate.DROPPED,
    "MuJoCo 3 has two attributes for orthographic cameras, and each version refuses one: it has a perspective",
)
_BY_DEFAULT = Verdict(Fate.DROPPED, "some versions of MuJoCo 3 refuse it, and all have it by default", harmless=True)
_PROJECTIONS = (
    _Word("projection", _CAMERA, _PERSPECTIVE, "orthographic", also="fovy"),
    _Word("projection", _CAMERA, _BY_DEFAULT),
    _Word("orthographic", _CAMERA, _PERSPECTIVE, "true", also="fovy"),
    _Word("orthographic", _CAMERA, _BY_DEFAULT),
)
_RENAMED = Verdict(Fate.LOWERED, "as projection, its name since MuJoCo 3.5")
_FLAGS = (
    _Word("orthographic", _CAMERA, _RENAMED, "true", ("projection", "orthographic")),
    _Word("orthographic", _CAMERA, _RENAMED, "false", ("projection", "perspective")),
)
_UNKNOWN = tuple(
    _Word(attribute, frozenset({tag}), REFUSED, also="type" if (tag, attribute) == ("site", "mesh") else "")
    for tag, attributes in UNKNOWN_ATTRIBUTES.items()
    for attribute in sorted(attributes)
)
_WORDS: dict[Target, tuple[_Word, ...]] = {
    **dict.fromkeys(("portable", "mujoco4"), _FLAGS),
    "mujoco3": (_IMPLICIT, *_PROJECTIONS, *_UNKNOWN),
    "dm_control": (_IMPLICIT, *_ONLY_MUJOCO_4, *_FLAGS),
    "newton": (_NO_INTEGRATOR, _Word("solver", _OPTION, REFUSED_BY_NEWTON), *_FLAGS),
    "isaac": (_NO_INTEGRATOR, *_ONLY_MUJOCO_4, *_FLAGS),
}
"""What is replaced for each program; the first row that applies counts."""

# --- names -------------------------------------------------------------------------------------------

_NAME_ATTRIBUTES: dict[str, str] = {
    **dict.fromkeys(("class", "childclass"), "class"),
    **{name: name for name in ("hfield", "instance", "model", "frame")},
}
"""Attributes that name elements of a kind of their own."""
_PREFIXES: dict[str, frozenset[str]] = {"prefix": frozenset({"attach", "composite"}), "sep": frozenset({"replicate"})}
"""Attributes that become parts of names, and their elements."""
_LISTS = {"flex": ("body", "node")}
"""Attributes that are lists of bodies."""
_SECTIONS = frozenset({"tendon", "actuator", "equality", "sensor"})
_KINDS = {"freejoint": "joint", "default": "class", "mujoco": "world"}
_WITHOUT_SLASH = Verdict(Fate.LOWERED, "dm_control refuses names with slashes")


class _Replacements(Struct):
    """New values of attributes by the elements of a copy (None: removed), and texts to be added."""

    values: dict[NodeKey, str | None] = field(default_factory=dict)
    fates: dict[NodeKey, Verdict] = field(default_factory=dict)
    added: dict[NodeKey, str] = field(default_factory=dict)
    """New attributes."""
    texts: dict[str, str] = field(default_factory=dict)

    def replace(self, node: int, name: str, value: str | None, fate: Verdict) -> None:
        self.values[node, name] = value
        self.fates[node, name] = fate


def adapt_copy(copy: SourceCopy, scene: Scene, output: OutputContext) -> SourceCopy:
    """The copy of the document of a scene, edited or not, for the program that `output` is for."""
    for world in scene.worlds:
        output.losses += projection_losses(world, output.target)
    document = Document(copy.data)
    found = _Replacements()
    _replace_words(document, _WORDS.get(output.target, ()), found)
    if output.target in _WITHOUT_SLASHES and not output.keeps_names:
        _SlashRemover(document, found).remove()
    ignored = dict(_in_source(copy, dict(ignored_words(document, output.target))))
    if ignored:
        copy = structs.replace(copy, ignored=ignored)
    if not found.values:
        return copy
    patch = Patch(document)
    for (node, name), value in found.values.items():
        if value is None:
            patch.remove_attribute(node, name)
        else:
            patch.set_attribute(node, name, value)
    for (node, name), value in found.added.items():
        patch.set_attribute(node, name, value)
    if found.texts:
        texts = [Markup("text", {"name": name, "data": data}) for name, data in found.texts.items()]
        last = max(node for node, parent in enumerate(document.outline.parents) if parent == 0)
        patch.insert(0, Markup("custom", children=texts), after=last)
    replaced = {**found.values, **found.added}
    fates = _fates_in_source(copy, found.fates)
    every, new = list(range(len(document.outline.tags))), [-1] * (len(found.texts) + bool(found.texts))
    numbers, inserted = (
        [*(every if one is None else one), *new] for one in (copy.source_numbers, copy.inserted_numbers)
    )
    data = patch.apply()
    return structs.replace(
        copy, data=data, fates=fates, replaced=replaced, source_numbers=numbers, inserted_numbers=inserted
    )


def _fates_in_source(copy: SourceCopy, fates: Mapping[NodeKey, Verdict]) -> dict[NodeKey, Verdict]:
    """The fates of a copy, with those of replaced attributes by the elements of the source."""
    found = dict(copy.fates)
    for key, verdict in _in_source(copy, fates):
        if key not in found or key[0] in copy.inserted or found[key].fate is not Fate.DROPPED:
            found[key] = verdict
    return found


def _in_source(copy: SourceCopy, fates: Mapping[NodeKey, Verdict]) -> Iterator[tuple[NodeKey, Verdict]]:
    """Fates of the elements of a copy, by the elements of the source."""
    numbers = copy.source_numbers
    for (node, name), verdict in fates.items():
        source = node if numbers is None else numbers[node]
        if source < 0:  # an element that states an edited value
            continue
        if source not in copy.inserted:
            yield (source, name), verdict
        elif verdict.loss:  # included content has the fate of the element that includes it
            yield (source, ""), verdict


def _replace_words(document: Document, words: tuple[_Word, ...], found: _Replacements) -> None:
    by_tag = Counter(tag for word in words for tag in word.tags)
    for node, tag in enumerate(document.outline.tags):
        if tag not in by_tag:
            continue
        stated = document.attributes(node)
        for word in words:
            if tag not in word.tags or word.attribute not in stated or (node, word.attribute) in found.values:
                continue
            value = document.attribute_text(node, word.attribute)
            if word.value and value.strip() != word.value:
                continue
            is_renamed = word.given is not None and word.given[0] != word.attribute
            found.replace(node, word.attribute, None if is_renamed or not word.given else word.given[1], word.fate)
            if word.also in stated:
                found.replace(node, word.also, None, word.fate)
            if word.given is not None and is_renamed:
                found.added[node, word.given[0]] = word.given[1]


class _SlashRemover:
    """Replaces slashes in the names of a document and in the references to them."""

    def __init__(self, document: Document, found: _Replacements) -> None:
        self.document = document
        self.found = found
        self.elements = [
            MjcfElement(tag, {name: document.attribute_text(node, name) for name in document.attributes(node)})
            for node, tag in enumerate(document.outline.tags)
        ]
        for node, parent in enumerate(document.outline.parents):
            if parent >= 0:
                self.elements[parent].children.append(self.elements[node])

    def remove(self) -> None:
        names = self._new_names()
        for node, element in enumerate(self.elements):
            for attribute, value in list(element.attributes.items()):
                kinds = self._kind(node, element, attribute)
                if "/" not in str(value) or not kinds:
                    continue
                is_list = attribute in _LISTS.get(element.tag, ())
                parts = str(value).split() if is_list else [str(value)]
                new = " ".join(names.get((kinds, one), one.replace("/", "_")) for one in parts)
                element.attributes[attribute] = new
                self.found.replace(node, attribute, new, _WITHOUT_SLASH)
        short: dict[Kind, dict[str, str]] = {}
        for (kind, name), new in names.items():
            short.setdefault(cast("Kind", kind), {})[name] = new
        if short:
            self.found.texts |= tables_of_names(self.elements[0], short)

    def _new_names(self) -> dict[tuple[str, str], str]:
        """The new names by their kinds and the names that have slashes."""
        stated = list(self._stated_names())
        taken = {one for one in stated if "/" not in one[1]}
        found: dict[tuple[str, str], str] = {}
        for kind, name in dict.fromkeys(one for one in stated if "/" in one[1]):
            wanted = new = name.replace("/", "_")
            number = 1
            while (kind, new) in taken:
                number += 1
                new = f"{wanted}_{number}"
            taken.add((kind, new))
            found[kind, name] = new
        return found

    def _stated_names(self) -> Iterator[tuple[str, str]]:
        for node, element in enumerate(self.elements):
            for attribute in ("name", "class", "model"):
                name = str(element.attributes.get(attribute, ""))
                is_definition = attribute == "name" or (attribute, element.tag) in _DEFINITIONS
                if name and is_definition:
                    yield self._kind(node, element, attribute), name

    def _kind(self, node: int, element: MjcfElement, attribute: str) -> str:
        """The kind of element that an attribute names; empty for attributes that are no names."""
        tag = element.tag
        if attribute == "name":
            parent = self.document.outline.parents[node]
            section = self.elements[parent].tag if parent >= 0 else ""
            return section if section in _SECTIONS else _KINDS.get(tag, tag)
        if attribute == "model" and tag == "mujoco":
            return "world"
        if attribute in _LISTS.get(tag, ()):
            return "body"
        if tag in _PREFIXES.get(attribute, ()):
            return "prefix"
        return _NAME_ATTRIBUTES.get(attribute) or reference_kind(element, attribute)


_DEFINITIONS = frozenset({("class", "default"), ("model", "mujoco")})
"""Attributes other than `name` that define names."""
