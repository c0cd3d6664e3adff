"""Group bodies into models: one per tree, merged if a constraint connects trees or if they share a name prefix."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from exoskel.formats.mjcf.names import split_path
from exoskel.formats.mjcf.reader.compiled import Compiled
from exoskel.formats.mjcf.reader.generated_parts import GeneratedParts, common_model
from exoskel.scene.item import Names, unique_name

WORLD = "world"
_CONNECT, _WELD = 0, 1
"""Of mjtEq."""


class BodyGroup(Struct):
    """The bodies of a model, by number; `prefix` is the prefix of their names, without the slash."""

    name: str
    prefix: str
    bodies: list[int]


def group_bodies(compiled: Compiled, generated: GeneratedParts) -> list[BodyGroup]:
    """All models of a document, in the order of their first bodies, with one for the parts of the world body."""
    roots = _roots(compiled)
    trees: dict[int, list[int]] = {}
    for number in range(1, len(compiled.parents)):
        if number not in generated.bodies:
            trees.setdefault(roots[number], []).append(number)
    prefixes = {root: common_model([compiled.bodies.name(b) for b in tree]) for root, tree in trees.items()}
    leader = _merge_trees(compiled, generated, roots, prefixes)
    gathered: dict[int, list[int]] = {}
    for root, tree in trees.items():
        gathered.setdefault(leader[root], []).extend(tree)
    taken = Names()
    out = [_world(compiled, taken)] if _has_world_parts(compiled) else []
    for root, bodies in gathered.items():
        prefix = prefixes[root] or ""
        name = unique_name(split_path(prefix)[0] if prefix else compiled.bodies.name(root) or f"model_{root}", taken)
        taken.add(name)
        out.append(BodyGroup(name, prefix, sorted(bodies)))
    return out


def _has_world_parts(compiled: Compiled) -> bool:
    return bool(compiled.model.body_geomnum[0]) or bool(
        (compiled.model.site_bodyid == 0).any() and not _has_only_motor_sites(compiled)
    )


def _has_only_motor_sites(compiled: Compiled) -> bool:
    """Whether all sites of the world body belong to angular motors."""
    model: Any = compiled.model
    return all("/amotor/" in compiled.sites.name(i) for i in range(model.nsite) if int(model.site_bodyid[i]) == 0)


def _world(compiled: Compiled, taken: Names) -> BodyGroup:
    taken.add(WORLD)
    return BodyGroup(WORLD, "", [0])


def _roots(compiled: Compiled) -> list[int]:
    roots = [0]
    for number, parent in enumerate(compiled.parents[1:], start=1):
        roots.append(roots[parent] if parent else number)
    return roots


def _merge_trees(
    compiled: Compiled, generated: GeneratedParts, roots: list[int], prefixes: dict[int, str | None]
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
    for one, other in _constrained_pairs(compiled, generated):
        if roots[one] in leader and roots[other] in leader:
            join(roots[one], roots[other])
    return {root: find(root) for root in prefixes}


def _constrained_pairs(compiled: Compiled, generated: GeneratedParts) -> list[tuple[int, int]]:
    """Pairs of moving bodies that a constraint connects."""
    model: Any = compiled.model
    out = []
    for number in range(model.neq):
        if int(model.eq_type[number]) in (_CONNECT, _WELD) and number not in generated.equalities:
            one, other = bodies_of(compiled, number)
            if model.body_weldid[one] and model.body_weldid[other]:
                out.append((one, other))
    return out


def bodies_of(compiled: Compiled, equality: int) -> tuple[int, int]:
    """The two bodies of a connect or weld constraint, which may name sites instead."""
    import mujoco

    model: Any = compiled.model
    ends = int(model.eq_obj1id[equality]), int(model.eq_obj2id[equality])
    if int(model.eq_objtype[equality]) == int(mujoco.mjtObj.mjOBJ_SITE):
        return int(model.site_bodyid[ends[0]]), int(model.site_bodyid[ends[1]])
    return ends
