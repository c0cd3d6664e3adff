"""The names of elements that are added to a document, and the tables that list what they mean in the scene.

New elements are built with qualified names such as `model/body`.  In the document, they have names without slashes
that no other element has.  Where the reader would not find the names of the scene from these, `<text>` elements list
them: see `names`.  Documents whose author uses slashes get names with slashes.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import cast

from exoskel.formats.mjcf.document_references import shared_kind
from exoskel.formats.mjcf.names import (
    Kind,
    restored_names,
    split_path,
    stated_names,
    table_name,
    table_text,
    underived_names,
)
from exoskel.formats.mjcf.shape_edits import CannotEditError
from exoskel.formats.mjcf.source_copy import NAMED_AFTER_FILES
from exoskel.formats.mjcf.tree import MjcfElement
from exoskel.scene.item import item_name, qualified_name
from exoskel.scene.model import Model
from exoskel.scene.world import World
from exoskel.source.document import Document

_SECTIONS = frozenset({"tendon", "actuator", "equality", "sensor"})


def element_kind(tag: str, section: str) -> str:
    """The kind of names that an element has; `section` is the tag of the element around it."""
    if section in _SECTIONS:
        return section
    return shared_kind(tag)


def document_tree(document: Document) -> list[MjcfElement]:
    """The elements of a document, by their numbers."""
    found = [
        MjcfElement(tag, {name: document.attribute_text(node, name) for name in document.attributes(node)})
        for node, tag in enumerate(document.outline.tags)
    ]
    for node, parent in enumerate(document.outline.parents):
        if parent >= 0:
            found[parent].children.append(found[node])
    return found


def _file_stem(element: MjcfElement) -> str:
    """The name of an asset that states none: that of its file."""
    return PurePosixPath(str(element.attributes.get("file", ""))).stem if element.tag in NAMED_AFTER_FILES else ""


class AddedNames:
    """Chooses the names of new elements of a document; `tree` are its elements, `worlds` have names to avoid."""

    def __init__(self, document: Document, tree: list[MjcfElement], worlds: Iterable[World]) -> None:
        self.root = tree[0]
        self.stated = stated_names(self.root)
        self.before = restored_names(self.root)
        """The qualified names in a document of ours."""
        self.taken: dict[str, set[str]] = {"body": {"world"}}
        self.truth: dict[Kind, dict[str, str]] = {}
        """The qualified names of new elements, and of the first bodies of models, by the names in the document."""
        parents = document.outline.parents
        for node, element in enumerate(tree):
            kind = element_kind(element.tag, tree[parents[node]].tag if node else "")
            if name := str(element.attributes.get("name", "")) or _file_stem(element):
                self.taken.setdefault(kind, set()).add(name)
        self.in_document = {kind: frozenset(names) for kind, names in self.taken.items()}
        """The names that elements state."""
        self.has_slashes = self.stated is None and any("/" in name for names in self.taken.values() for name in names)
        for model in (model for world in worlds for model in world.models):
            for item, kind in (
                *((body, "body") for body in model.bodies),
                *((joint, "joint") for joint in model.joints if not joint.implicit),
                *((marker, "site") for body in model.bodies for marker in body.markers),
                *((shape, "geom") for body in model.bodies for shape in body.shapes),
            ):
                if item.node >= 0:  # copies of an element have names that no element states
                    self.taken.setdefault(kind, set()).add(item_name(item))
        self.qualified: dict[str, bool] = {}
        """Whether the bodies of a model have qualified names, by its name."""

    def is_free(self, kind: str, name: str) -> bool:
        return name not in self.taken.get(kind, ())

    def release(self, kind: str, names: Iterable[str]) -> None:
        """Let new elements have the names of elements that they replace."""
        self.taken.get(kind, set()).difference_update(names)

    def choose(self, kind: str, qualified: str, *wanted: str) -> str:
        """The name in the document of a new element, one of the wanted ones if it is free, and note what it means."""
        taken = self.taken.setdefault(kind, set())
        internal = self._internal(kind, qualified)
        if self.has_slashes:
            name = internal
            if name in taken:
                raise CannotEditError
        else:
            name = self._unused(taken, [*wanted, *self._candidates(internal)])
        taken.add(name)
        if name != internal or self.stated is not None or self.qualified.get(split_path(qualified)[0]):
            self.truth.setdefault(cast("Kind", kind), {})[name] = internal
        return name

    def _internal(self, kind: str, qualified: str) -> str:
        """The name that the reader has to find."""
        model, _, rest = qualified.partition("/")
        if not rest or self.qualified.get(split_path(model)[0], True):
            return qualified
        if kind == "site" and rest.count("/") == 1:
            return rest.partition("/")[2]
        return qualified if kind == "geom" else rest

    def choose_plain(self, kind: str, wanted: str) -> str:
        """The name in the document of a new element whose name is no part of the scene."""
        taken = self.taken.setdefault(kind, set())
        name = self._unused(taken, [wanted.replace("/", "_") or kind])
        taken.add(name)
        return name

    @staticmethod
    def _candidates(internal: str) -> list[str]:
        parts = [part.replace("/", "_") for part in split_path(internal)]
        return ["_".join(parts[1:] or parts), "_".join(parts)]

    @staticmethod
    def _unused(taken: set[str], wanted: list[str]) -> str:
        for name in wanted:
            if name and name not in taken:
                return name
        number = 2
        while f"{wanted[-1]}_{number}" in taken:
            number += 1
        return f"{wanted[-1]}_{number}"

    # --- models ---------------------------------------------------------------------------------------

    def settle(self, model: Model, roots: list[str] | None, added: list[tuple[str, str]], new_root: str) -> bool:
        """Decide whether the new bodies of a model need its name; True if its other bodies need it, too.

        `roots` are the names in the document of its first bodies, None for a new model; `new_root` is the name of a new
        first body, if there is any.  `added` are the kinds and names of its new bodies and joints.
        """
        is_free = all(self.is_free(kind, name) for kind, name in added)
        prefix = f"{qualified_name(model.name)}/"
        if roots is None:
            is_plain = is_free and new_root == model.name
            self.qualified[model.name] = not is_plain
            return False
        known = self.before.get("body", {})
        if roots and all(known.get(root, root).startswith(prefix) for root in roots):
            self.qualified[model.name] = True
            return False
        self.qualified[model.name] = not is_free or bool(new_root)
        return self.qualified[model.name]

    def qualify_root(self, name: str, qualified: str) -> None:
        """Note that a body which is already in the document has the name of its model."""
        if self.has_slashes:
            raise CannotEditError
        self.truth.setdefault("body", {})[name] = qualified

    # --- tables ---------------------------------------------------------------------------------------

    def texts(self) -> dict[str, str]:
        """The texts of all tables that have new rows; the new elements are in the tree."""
        if not self.truth or self.has_slashes:
            return {}
        stated = self.stated or {}
        found: dict[str, str] = {}
        for kind, names in underived_names(self.root, self._rule).items():
            new = {name: wanted for name, wanted in names.items() if stated.get(kind, {}).get(name) != wanted}
            if new:
                found[table_name(kind)] = table_text({**stated.get(kind, {}), **new})
        return found

    def _rule(self, kind: Kind, name: str, derived: str | None) -> str | None:
        own = self.truth.get(kind, {}).get(name)
        if own is not None:
            return own
        if self.stated is not None:
            return self.stated.get(kind, {}).get(name, derived)
        if derived is None or kind in ("body", "site"):
            return derived
        if kind == "joint":
            return f"{derived.partition('/')[0]}/{qualified_name(name)}"
        return name
