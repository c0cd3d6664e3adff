"""Find the elements that a scene does not contain, and the items that they refer to."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from exoskel.formats.mjcf.names import split_path
from exoskel.formats.mjcf.preserved_elements import ItemReference, PreservedElements, references
from exoskel.formats.mjcf.reader.compiled import Compiled
from exoskel.formats.mjcf.reader.generated_parts import GeneratedParts
from exoskel.formats.mjcf.reader.models import FoundParts

_NUMBERED = ("tendon", "actuator", "equality")


def find_preserved(
    compiled: Compiled,
    generated: GeneratedParts,
    found: FoundParts,
    unread: Mapping[str, Collection[int]],
) -> PreservedElements | None:
    """The elements that no item of the scene contains; None if there are none.

    `unread` are the numbers of the actuators and equality constraints that were not read.
    """
    collected = compiled.prepared.collected
    if collected is None or not (collected.elements or collected.options):
        return None
    tendons = [n for n in range(compiled.model.ntendon) if n not in generated.tendons]
    numbers = {"tendon": tendons, **unread}
    fragments = list(compiled.prepared.root.iter())
    rows = {"tendon": compiled.tendons, "actuator": compiled.actuators, "equality": compiled.equalities}
    wanted = {
        id(fragments[line - 1])
        for section, parts in rows.items()
        for number in numbers[section]
        if 0 < (line := parts.lines.get(number, 0)) <= len(fragments)
    }
    kept = [one for key, one in collected.elements if one.section not in _NUMBERED or key in wanted]
    names = {(kind, name) for one in kept for _, _, kind, name in references(one.element)}
    finder = _ItemFinder(compiled, found)
    return PreservedElements(
        kept,
        {key: item for key in names if (item := finder.find(*key)) is not None},
        dict(finder.materials()) if any(one.element.tag == "material" for one in kept) else {},
        collected.defaults,
        collected.options,
        tuple(collected.option_nodes),
        collected.has_automatic_limits,
    )


class _ItemFinder:
    def __init__(self, compiled: Compiled, found: FoundParts) -> None:
        self.compiled = compiled
        self.model: Any = compiled.model
        self.found = found

    def find(self, kind: str, name: str) -> ItemReference | None:
        find = {"body": self._body, "joint": self._joint, "site": self._site, "geom": self._geom}.get(kind)
        return find(name) if find is not None else None

    def _body(self, name: str) -> ItemReference | None:
        number = self.compiled.bodies.numbers.get(name)
        body = self.found.bodies.get(number) if number is not None else None
        if number is None or body is None:
            return None
        return ItemReference(body.node, self.found.models[number].name, body.name)

    def _joint(self, name: str) -> ItemReference | None:
        number = self.compiled.joints.numbers.get(name)
        owner = self.found.owners.get(number) if number is not None else None
        if number is None or owner is None:
            return None
        is_single = self.compiled.types[number] in ("hinge", "slide")
        is_shifted = is_single and bool(self.model.qpos0[self.model.jnt_qposadr[number]])
        return ItemReference(owner.joint.node, owner.model.name, owner.joint.name, owner.first, is_shifted)

    def _site(self, name: str) -> ItemReference | None:
        number = self.compiled.sites.numbers.get(name)
        if number is None:
            return None
        model = self.found.models.get(int(self.model.site_bodyid[number]))
        path = split_path(name)
        own = path[2] if len(path) == 3 else name
        node = self.compiled.sites.node(number)
        return ItemReference(node, model.name, own) if model is not None else None

    def _geom(self, name: str) -> ItemReference | None:
        number = self.compiled.geoms.numbers.get(name)
        if number is None:
            return None
        model = self.found.models.get(int(self.model.geom_bodyid[number]))
        node = self.compiled.geoms.node(number)
        return ItemReference(node, model.name, name) if model is not None else None

    def materials(self) -> Iterator[tuple[tuple[int, str], str]]:
        """The materials of geoms."""
        model = self.model
        if not getattr(model, "nmat", 0) or not hasattr(model, "mat"):
            return
        for number, material in enumerate(model.geom_matid.tolist()):
            if material >= 0:
                geom = self.compiled.geoms
                yield (geom.node(number), geom.name(number)), model.mat(material).name
