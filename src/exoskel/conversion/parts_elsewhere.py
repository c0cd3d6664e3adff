"""Elements that state a part of a joint or body that has an element elsewhere: generated parts, and gearboxes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from exoskel.conversion.output_fates import FieldVerdict, combine_users
from exoskel.fates import Fate, Verdict, no_effect
from exoskel.scene.body import Body
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.world import Scene
from exoskel.source.document import Document

_MIMIC = "as a joint that mimics another"
_COUPLING = frozenset(
    {
        *("", "@type", "parent", "child", "gearbox_ratio", "gearbox_reference_body", "axis", "axis2", "pose"),
        *(f"{axis}/{name}" for axis in ("axis", "axis2") for name in ("xyz", "use_parent_model_frame")),
        *("axis/xyz/@expressed_in", "axis2/xyz/@expressed_in", "pose/@relative_to", "pose/@frame", "pose/@degrees"),
        *("pose/@rotation_format",),
    }
)
"""What the mimic of a joint depends on, by paths below the element of a gearbox."""
_WITHOUT_EFFECT = tuple(f"{axis}/{name}" for axis in ("axis", "axis2") for name in ("limit", "dynamics"))


class PartsElsewhere:
    """The elements of one document that state parts of joints and bodies elsewhere, and their fates.

    `items` are the items of the document by their elements; `number` is that of the document.
    """

    def __init__(self, scene: Scene, document: Document, number: int, items: Mapping[int, Item]) -> None:
        self.document = document
        self.outline = document.outline
        info = scene.source_info
        self.generated: dict[int, Joint | Body] = {}
        """The joints and bodies that generated elements belong to, by these elements and those inside of them."""
        for node, owner in info.generated.items() if number == 0 else ():
            item = items.get(owner)
            if isinstance(item, Joint | Body):
                self.generated |= dict.fromkeys((n for n in self._nodes_in(node) if n not in items), item)
        self.coupled: dict[int, tuple[int, Sequence[Joint]]] = {}
        """The gearbox that an element belongs to, and the joints that mimic others because of it."""
        couplings = {node: found for (of, node), found in info.couplings.items() if of == number}
        if couplings:
            joints = [joint for world in scene.worlds for joint in world.joints()]
            for node, followers in couplings.items():
                found = [joint for joint in joints if (joint.document, joint.node) in followers]
                self.coupled |= dict.fromkeys(self._nodes_in(node), (node, found))

    @property
    def nodes(self) -> set[int]:
        return {*self.generated, *self.coupled}

    def verdict(self, node: int, attribute: str, field_verdict: FieldVerdict) -> Verdict:
        """The verdict on an element or attribute, by the verdicts on fields of the items that it belongs to."""
        if node in self.generated:
            return _generated_verdict(self.generated[node], field_verdict)
        gearbox, followers = self.coupled[node]
        return self._coupling_verdict(gearbox, followers, node, attribute, field_verdict)

    def _nodes_in(self, node: int) -> range:
        return range(node, self.outline.ends[node])

    def _coupling_verdict(
        self, gearbox: int, followers: Sequence[Joint], node: int, attribute: str, field_verdict: FieldVerdict
    ) -> Verdict:
        """The verdict on a part of a gearbox, which follows the mimics of its joints."""
        inside = [self.outline.tags[one] for one in self.outline.ancestry(node) if one > gearbox]
        path = "/".join([*inside, f"@{attribute}"] if attribute else inside)
        if path == "@name":
            return no_effect("the joint that mimics has a name of its own")
        if path.startswith(_WITHOUT_EFFECT):
            return no_effect("a gearbox has no limits, dampers or springs")
        if path not in _COUPLING:
            return Verdict(Fate.DROPPED, f"not part of a gearbox, which is read {_MIMIC}")
        verdicts = [field_verdict(joint, "mimic") for joint in followers]
        found = verdicts[0] if len(set(verdicts)) == 1 else combine_users(verdicts)
        return Verdict(Fate.LOWERED, _MIMIC) if found.fate is Fate.EXACT else found


def _generated_verdict(item: Joint | Body, field_verdict: FieldVerdict) -> Verdict:
    """The verdict on a part generated to express a motor or loop of a joint, or the skin or mass of a body."""
    if isinstance(item, Body) and item.soft is None:
        found, owner = field_verdict(item, "inertia"), f"the mass of body '{item.name}'"
    elif isinstance(item, Body):
        found, owner = field_verdict(item, "soft"), f"the soft skin of body '{item.name}'"
    else:
        field = "drives" if item.drives else "loop" if item.loop else "actuator"
        found, owner = field_verdict(item, field), f"the joint '{item.name}'"
    return found if found.loss else Verdict(Fate.LOWERED, f"generated by Exoskel for {owner}")
