"""Which bodies are a model: trees on the world, joined where a constraint ties them or where they share a prefix."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from exoskel.formats.mjcf.reading.compiled import Compiled
from exoskel.formats.mjcf.reading.generated_parts import GeneratedParts
from exoskel.formats.mjcf.reading.names import common_model, parts
from exoskel.scene.item import Names, unique_name

WORLD = "world"
_CONNECT, _WELD = 0, 1
"""Of mjtEq."""


class Group(Struct):
    """Bodies that make a model, by number; `prefix` is what their names begin with, without the slash."""

    name: str
    prefix: str
    bodies: list[int]


def group(compiled: Compiled, helpers: GeneratedParts) -> list[Group]:
    """All models of a document, in the order of their first bodies; what stands on the world itself is one too."""
    roots = _roots(compiled)
    trees: dict[int, list[int]] = {}
    for number in range(1, len(compiled.parents)):
        if number not in helpers.bodies:
            trees.setdefault(roots[number], []).append(number)
    prefixes = {root: common_model([compiled.bodies.name(b) for b in tree]) for root, tree in trees.items()}
    leader = _joined(compiled, helpers, roots, prefixes)
    gathered: dict[int, list[int]] = {}
    for root, tree in trees.items():
        gathered.setdefault(leader[root], []).extend(tree)
    taken = Names()
    out = [_world(compiled, taken)] if _is_furnished(compiled) else []
    for root, bodies in gathered.items():
        prefix = prefixes[root] or ""
        name = unique_name(parts(prefix)[0] if prefix else compiled.bodies.name(root) or f"model_{root}", taken)
        taken.add(name)
        out.append(Group(name, prefix, sorted(bodies)))
    return out


def _is_furnished(compiled: Compiled) -> bool:
    return bool(compiled.model.body_geomnum[0]) or bool(
        (compiled.model.site_bodyid == 0).any() and not _only_marks(compiled)
    )


def _only_marks(compiled: Compiled) -> bool:
    """Whether all sites of the world are references of angular motors."""
    model: Any = compiled.model
    return all("/amotor/" in compiled.sites.name(i) for i in range(model.nsite) if int(model.site_bodyid[i]) == 0)


def _world(compiled: Compiled, taken: Names) -> Group:
    taken.add(WORLD)
    return Group(WORLD, "", [0])


def _roots(compiled: Compiled) -> list[int]:
    roots = [0]
    for number, parent in enumerate(compiled.parents[1:], start=1):
        roots.append(roots[parent] if parent else number)
    return roots


def _joined(
    compiled: Compiled, helpers: GeneratedParts, roots: list[int], prefixes: dict[int, str | None]
) -> dict[int, int]:
    """The first tree of the model that each tree belongs to."""
    leader = {root: root for root in prefixes}

    def find(root: int) -> int:
        while leader[root] != root:
            root = leader[root]
        return root

    def join(one: int, other: int) -> None:
        low, high = sorted((find(one), find(other)))
        leader[high] = low

    first: dict[str, int] = {}
    for root, prefix in prefixes.items():
        if prefix is not None:
            join(root, first.setdefault(prefix, root))
    for one, other in _tied(compiled, helpers):
        if roots[one] in leader and roots[other] in leader:
            join(roots[one], roots[other])
    return {root: find(root) for root in prefixes}


def _tied(compiled: Compiled, helpers: GeneratedParts) -> list[tuple[int, int]]:
    """Bodies that move and that a constraint ties."""
    model: Any = compiled.model
    out = []
    for number in range(model.neq):
        if int(model.eq_type[number]) in (_CONNECT, _WELD) and number not in helpers.equalities:
            one, other = bodies_of(compiled, number)
            if model.body_weldid[one] and model.body_weldid[other]:
                out.append((one, other))
    return out


def bodies_of(compiled: Compiled, equality: int) -> tuple[int, int]:
    """The two bodies that a connect or weld ties, whether it names them or sites on them."""
    import mujoco

    model: Any = compiled.model
    ends = int(model.eq_obj1id[equality]), int(model.eq_obj2id[equality])
    if int(model.eq_objtype[equality]) == int(mujoco.mjtObj.mjOBJ_SITE):
        return int(model.site_bodyid[ends[0]]), int(model.site_bodyid[ends[1]])
    return ends
