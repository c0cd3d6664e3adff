"""Joints of a document that are written again: those of another kind, and those in place of removed ones."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from exoskel.fates import Fate, Verdict
from exoskel.formats.interface import NodeKey
from exoskel.formats.mjcf.document_references import find_dependents, find_references
from exoskel.formats.mjcf.joint_edits import JOINTS, SINGLE, joints_of_body
from exoskel.formats.mjcf.shape_edits import CannotEditError
from exoskel.formats.mjcf.tree import MjcfElement
from exoskel.formats.saving.changes import AddedItem, Changes, changed_fields
from exoskel.scene.body import Body
from exoskel.scene.fields import DOF_FIELDS, dof_rows
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.world import Scene, World
from exoskel.source.document import Document

REPLACED = Verdict(Fate.LOWERED, "replaced by the joint of the edited scene")
"""Of elements and their attributes."""
_DEPENDENT = Verdict(Fate.DROPPED, "what it refers to is not in the output")
_NOT_FOR_KIND = Verdict(Fate.DROPPED, "joints of another kind do not have it")
_REWRITTEN = frozenset({"kind", "order", "plane"})
"""Fields whose edits need other elements."""
_STATE = frozenset({"position", "velocity"})
_SCALAR = frozenset({"hinge", "slide"})
_POLYNOMIALS = ("stiffness", "damping")
"""Attributes with coefficients, of which the scene has the first."""
_OF_SCALAR_JOINTS = frozenset(
    {"jointpos", "jointvel", "jointlimitpos", "jointlimitvel", "jointlimitfrc", "jointactuatorfrc"}
)
_OF_BALLS = frozenset({"ballquat", "ballangvel"})
_OF_LIMITED_JOINTS = frozenset({"jointlimitpos", "jointlimitvel", "jointlimitfrc"})


class ReplacedJoint(Struct, frozen=True):
    """A joint of a document, its elements, and the joint of the scene in place of it."""

    source: Joint
    item: Joint
    nodes: list[int]


def find_replaced(document: Document, base: World, changes: Changes) -> tuple[list[ReplacedJoint], Changes]:
    """The joints that need other elements, and the changes with these as removed and added.

    `base` was read from the document, and `changes` are the differences to a scene.
    """
    added = {id(one.item.child): one.item for one in changes.added if isinstance(one.item, Joint) and not one.item.loop}
    pairs: list[tuple[Item, Item]] = [pair for pair in changes.edited if _is_rewritten(*pair)]
    children = {id(source): child for child, source in _children(changes)}
    for gone in (one for one in changes.removed if isinstance(one, Joint) and not one.implicit and not one.loop):
        child = children.get(id(gone.child))
        if child is not None and child in added:
            pairs.append((gone, added[child]))
    found: list[ReplacedJoint] = []
    for source, item in pairs:
        assert isinstance(source, Joint) and isinstance(item, Joint)
        found.append(ReplacedJoint(source, item, _nodes(document, base, source)))
    edited = {id(item): source for source, item in pairs if id(item) in changes.sources}
    return found, _as_replaced(changes, edited) if edited else changes


def _children(changes: Changes) -> Iterator[tuple[int, Item]]:
    """The ids of bodies of the scene, with those of the document."""
    for key, source in changes.sources.items():
        if isinstance(source, Body):
            yield key, source


def _is_rewritten(source: Item, item: Item) -> bool:
    """Whether an edit of a joint needs other elements than those of the document."""
    if not isinstance(source, Joint) or not isinstance(item, Joint) or source.loop or item.loop:
        return False
    names = {*changed_fields(source, item)}
    if "name" in names and not source.implicit and source.kind not in SINGLE:
        return True
    if names & _REWRITTEN or ("axes" in names and len(source.axes) != len(item.axes)):
        return True
    if "pose" in names and not item.pose.has_no_rotation and not source.implicit:
        return True
    if source.kind != "free" or "dofs" not in names:
        return False
    rows = zip(dof_rows(source), dof_rows(item), strict=True)
    return any(
        name not in _STATE and a != b
        for mine, theirs in rows
        for name, a, b in zip(DOF_FIELDS, mine, theirs, strict=True)
    )


def _nodes(document: Document, base: World, joint: Joint) -> list[int]:
    """All elements of the joint of a body.  Raises CannotEditError if other joints of the scene share them."""
    body, tags = joint.child.node, document.outline.tags
    if body <= 0 or joint.child.document != 0 or tags[body] != "body":
        raise CannotEditError
    if sum(one.child.node == body for one in base.joints() if not one.loop) != 1:
        raise CannotEditError
    found = joints_of_body(document, body)
    if joint.node >= 0 and tags[joint.node] in JOINTS and joint.node not in found:  # in a frame
        raise CannotEditError
    if len(found) > 1 and len(found) != (4 if joint.kind == "free" else joint.dof_count):
        raise CannotEditError
    return found


def _as_replaced(changes: Changes, edited: Mapping[int, Item]) -> Changes:
    """The changes with edited joints as removed and added ones; `edited` are their sources."""
    added: list[AddedItem] = []
    for model in changes.models.values():
        for number, joint in enumerate(model.joints):
            if id(joint) in edited:
                added.append(AddedItem(joint, model, "joints", model.joints[:number][::-1]))
    if len(added) != len(edited):
        raise CannotEditError
    return structs.replace(
        changes,
        edited=[(source, item) for source, item in changes.edited if id(item) not in edited],
        added=[*changes.added, *added],
        removed=[*changes.removed, *edited.values()],
        sources={key: source for key, source in changes.sources.items() if key not in edited},
    )


# --- what refers to them -------------------------------------------------------------------------------


def find_unfit(document: Document, lost: Collection[int], new: Mapping[str, MjcfElement]) -> set[int]:
    """The elements that refer to the joints of `lost` elements and do not fit to those that replace them.

    `new` are the elements of new joints by their names in the document.
    """
    tags, parents = document.outline.tags, document.outline.parents
    before = {document.attribute_text(node, "name") for node in lost} - {""}
    seeds: set[int] = set()
    for node, _, kind, name in find_references(document):
        if kind != "joint" or name not in before or name not in new:
            continue
        if not _fits(tags[node], tags[parents[node]], _kind_of_named(document, lost, name), new[name]):
            seeds.add(node)
    kept = frozenset(("joint", name) for name in before & new.keys())
    found = find_dependents(document, lost, kept=kept, unfit=seeds)
    if found is None:
        raise CannotEditError
    return found


def _kind_of_named(document: Document, nodes: Collection[int], name: str) -> str:
    node = next(one for one in nodes if document.attribute_text(one, "name") == name)
    return "free" if document.outline.tags[node] == "freejoint" else document.attribute_text(node, "type") or "hinge"


def _fits(tag: str, section: str, before: str, joint: MjcfElement) -> bool:
    """Whether an element that refers to a joint may refer to one of another kind."""
    kind = str(joint.attributes.get("type", "hinge"))
    if section == "actuator":  # the numbers of a gear are forces or torques
        return _same_as_hinge(before) == _same_as_hinge(kind)
    if tag in _OF_BALLS:
        return kind == "ball"
    if tag in _OF_LIMITED_JOINTS and str(joint.attributes.get("limited")).lower() != "true":
        return False
    if tag in _OF_SCALAR_JOINTS or section in ("equality", "fixed"):
        return kind in _SCALAR
    return True


def _same_as_hinge(kind: str) -> str:
    """The kind of a joint; that of a hinge for all with one coordinate."""
    return "hinge" if kind in _SCALAR else kind


# --- attributes ----------------------------------------------------------------------------------------


def keep_extra_attributes(
    document: Document, base: Scene, joint: ReplacedJoint, elements: Sequence[MjcfElement]
) -> dict[NodeKey, Verdict]:
    """Give new elements what a scene does not contain of those that they replace; return the fates of these."""
    preserved: Any = base.source_info.preserved
    extras = [] if preserved is None else [extra for _, extra in preserved.extras.joints]
    fates: dict[NodeKey, Verdict] = {}
    for node in joint.nodes:
        fates |= {(node, name): REPLACED for name in ("", *document.attributes(node))}
    for number, node in enumerate(joint.nodes):
        values = next((dict(extra.values) for extra in extras if extra.node == node), {})
        target = elements[min(number, len(elements) - 1)] if elements else None
        kinds = {document.attribute_text(node, "type") or "hinge"}
        kinds |= {str(target.attributes.get("type", "hinge"))} if target is not None else {"weld"}
        is_scalar = kinds <= _SCALAR
        lost = values.keys() if target is None or "free" in kinds else {*_POLYNOMIALS} if not is_scalar else set()
        for name in lost & values.keys() & document.attributes(node).keys():
            fates[node, name] = _NOT_FOR_KIND
        for name, value in values.items():
            if target is None or name in lost:
                continue
            is_polynomial = name in _POLYNOMIALS
            target.attributes[name] = [target.attributes.get(name, 0.0), *value[1:]] if is_polynomial else value
    return fates


def dependent_fates(document: Document, nodes: Collection[int]) -> dict[NodeKey, Verdict]:
    """The fates of elements that are lost with joints."""
    ends = document.outline.ends
    return {
        (inner, name): _DEPENDENT
        for node in nodes
        for inner in range(node, ends[node])
        for name in ("", *document.attributes(inner))
    }
