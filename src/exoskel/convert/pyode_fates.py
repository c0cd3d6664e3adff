"""What an output says that carries nothing of ours: what is not in the format's own words is lost.

A value is exact, lowered or approximated only if the output depends on it: where it has to be what a reader takes for
granted anyway, it is dropped, if without harm.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from msgspec import structs

from exoskel.fates import Fate, Verdict
from exoskel.formats.interface import Format
from exoskel.formats.write import Written
from exoskel.scene.body import Body
from exoskel.scene.fields import DOF_FIELDS, FIELDS, relative_difference
from exoskel.scene.item import Item
from exoskel.scene.joint import UNLIMITED, Dof, Drive, Joint
from exoskel.scene.lowering.joint_passes import Chain
from exoskel.scene.pose import ZERO
from exoskel.scene.shape import Plane, Ray, Shape
from exoskel.scene.world import Model, Scene

SAME_PHYSICS = 1e-9
_HOLD = frozenset({"pose", "axes", "order", "plane", "pitch", "swapped"})
"""The fields of a joint that say how it moves."""
_AT_START = "where the bodies are, and how they move, at the start"


class PyodeFates:
    """Judges fields of a scene by what a reader of the output finds.

    `errors` says how far fields are off there.  `chains` are what joints were taken apart into, by the ids of their
    last links.
    """

    def __init__(
        self,
        scene: Scene,
        written: Written,
        target: Format,
        errors: Mapping[tuple[int, str], float],
        chains: Mapping[int, Chain],
    ) -> None:
        self.written = written
        self.title = target.label
        capabilities = target.capabilities()
        self.reads = capabilities.pyode_fields
        self.words = capabilities.rewritten_fields
        self.native = capabilities.native_joints
        self.errors = errors
        self.chains = chains
        self.models = [model for world in scene.worlds for model in world.models]
        self.static = {id(joint) for model in self.models if model.static for joint in model.joints if not joint.loop}
        self.bodies = {id(shape): body for model in self.models for body in model.bodies for shape in body.shapes}
        self.owners = {id(body): model for model in self.models for body in model.bodies}
        self.inexact = {id(loss.item): loss.reason for loss in written.output.losses}
        self.refused = {id(loss.item): loss.reason for loss in written.output.rejected}

    # --- whole items ----------------------------------------------------------------------------------

    def item(self, item: Item) -> Verdict:
        """All that an item says."""
        own = self.field(item, "")
        if own.fate is Fate.DROPPED:
            return own
        lost = [name for name in FIELDS[type(item)] if self.field(item, name).loss]
        return Verdict(Fate.APPROXIMATED, f"in part: {', '.join(lost)} cannot be said") if lost else own

    def grouping(self) -> Verdict:
        """How bodies are grouped into models."""
        return Verdict(Fate.DROPPED, _GROUPED, all(self._is_found(model) for model in self.models))

    def _is_found(self, model: Model) -> bool:
        """Whether a reader finds the model, under its name and with the same bodies."""
        made = self.written.counterparts
        wanted = {id(made.get(id(body))) for body in model.bodies}
        return any(
            other.name == model.name and other.static == model.static and wanted == {id(body) for body in other.bodies}
            for world in self.written.native.worlds
            for other in world.models
        )

    # --- fields ---------------------------------------------------------------------------------------

    def field(self, item: Item, field: str, parts: Sequence[str] = ()) -> Verdict:
        """One field, or some parts of it; without a field, that the item is there at all."""
        if isinstance(item, Model):
            return self._model(item, field)
        if id(item) not in self.written.counterparts:
            return self._missing(item, field)
        if not field:
            return Verdict(Fate.EXACT)
        if isinstance(item, Joint):
            return self._joint(item, field, parts)
        if isinstance(item, Body) and field == "inertia":
            return self._inertia(item, parts)
        if (type(item), field) not in self.reads:
            return self._unsaid(item, field)
        return self._said(item, field)

    def _differs(self, item: Item, field: str) -> bool:
        return (id(item), field) in self.errors

    def _unsaid(self, item: Item, field: str) -> Verdict:
        return Verdict(Fate.DROPPED, f"{self.title} cannot say it", not self._differs(item, field))

    def _said(self, item: Item, field: str) -> Verdict:
        if not self._differs(item, field):
            return Verdict(Fate.EXACT)
        if isinstance(item, Shape) and isinstance(item.geometry, Plane) and field in ("geometry", "pose"):
            return Verdict(Fate.LOWERED, "as a plane in the root frame")
        if (type(item), field) in self.words:
            return Verdict(Fate.LOWERED, self.words[type(item), field])
        error = self.errors[id(item), field]
        if field == "pose" and np.isfinite(error):
            return Verdict(Fate.APPROXIMATED, f"off by {error:.2g}")
        return self._unsaid(item, field)

    # --- models, and what has no element --------------------------------------------------------------

    def _model(self, model: Model, field: str) -> Verdict:
        match field:
            case "":
                return Verdict(Fate.EXACT)
            case "pose":
                return Verdict(Fate.LOWERED, "in the poses of its bodies")
            case "static" if all(joint.kind == "weld" and joint.parent is None for joint in model.joints):
                return Verdict(Fate.DROPPED, "its bodies are fixed anyway", harmless=True)
            case "static":
                return Verdict(Fate.LOWERED, "its bodies are fixed") if model.static else Verdict(Fate.EXACT)
        return Verdict(Fate.DROPPED, _GROUPED, self._is_found(model))

    def _missing(self, item: Item, field: str) -> Verdict:
        if isinstance(item, Shape) and field in ("", "geometry", "pose"):
            body = self.bodies[id(item)]
            if isinstance(item.geometry, Plane) and item in body.collisions:
                if self.owners[id(body)].static:
                    return Verdict(Fate.LOWERED, "as a plane in the root frame")
                return Verdict(Fate.APPROXIMATED, "as a plane that stays where it is at the start")
            if is_derived(body) and not isinstance(item.geometry, Plane | Ray):
                return Verdict(
                    Fate.APPROXIMATED, f"only in the moment of inertia: {self.title} cannot say it for PyODE"
                )
        return Verdict(Fate.DROPPED, f"{self.title} has no words for it")

    # --- masses ---------------------------------------------------------------------------------------

    def _inertia(self, body: Body, parts: Sequence[str]) -> Verdict:
        if not parts:
            if id(body) in self.inexact:
                return Verdict(Fate.APPROXIMATED, self.inexact[id(body)])
            return self._said(body, "inertia")
        return together([(part, self._mass_part(body, part)) for part in parts])

    def _mass_part(self, body: Body, part: str) -> Verdict:
        other = self.written.counterparts[id(body)]
        assert isinstance(other, Body)
        why = self.inexact.get(id(body), f"{self.title} cannot say it")
        match part:
            case "com" if is_derived(body):
                return Verdict(Fate.EXACT) if body.com == ZERO else Verdict(Fate.APPROXIMATED, why)
            case "com":
                return Verdict(Fate.DROPPED, _CENTRE, body.com == ZERO)
            case "products":
                return Verdict(Fate.DROPPED, why, id(body) not in self.inexact or not any(body.moment[3:]))
            case "mass" if relative_difference(body.mass, other.mass) > SAME_PHYSICS:
                return Verdict(Fate.DROPPED, why)
            case "moment" if id(body) in self.inexact:
                return Verdict(Fate.APPROXIMATED, why)
        return Verdict(Fate.EXACT)

    # --- joints ---------------------------------------------------------------------------------------

    def _joint(self, joint: Joint, field: str, parts: Sequence[str]) -> Verdict:
        if field == "kind" and id(joint) in self.refused:
            return Verdict(Fate.APPROXIMATED, self.refused[id(joint)])
        if field == "dofs":
            return self._dofs(joint, parts or DOF_FIELDS)
        if field == "name" and joint.kind == "free" and joint.parent is None:
            return self._unsaid(joint, field)
        if field == "drives" and _same_drives(joint, self.written.counterparts[id(joint)]):
            return Verdict(Fate.EXACT)
        if field in _HOLD:
            return self._hold(joint, field)
        if field == "kind" and joint.kind == "euler" and id(joint) not in self.static:
            return Verdict(Fate.APPROXIMATED, "as a ball joint: the same motion, in other coordinates")
        return self._said(joint, field) if (Joint, field) in self.reads else self._unsaid(joint, field)

    def _hold(self, joint: Joint, field: str) -> Verdict:
        """How a joint moves: by its own words, or else by what it leads to."""
        has_words = joint.kind in self.native or (joint.kind == "euler" and field == "pose")
        if has_words and id(joint) not in self.static and (Joint, field) in self.reads:
            return self._said(joint, field)
        if any(joint.positions) or any(joint.velocities):
            if joint.kind == "free" and joint.parent is None:
                return Verdict(Fate.LOWERED, f"as {_AT_START}")
            return Verdict(Fate.APPROXIMATED, f"only in {_AT_START}")
        return self._unsaid(joint, field)

    def _dofs(self, joint: Joint, parts: Sequence[str]) -> Verdict:
        chain = self.chains.get(id(joint))
        links = [joint] if chain is None else chain.links
        return together([(part, self._dof_part(link, part)) for part in parts for link in links])

    def _dof_part(self, joint: Joint, part: str) -> Verdict:
        other = self.written.counterparts.get(id(joint))
        mine, theirs = _values(joint, part), _values(other, part) if isinstance(other, Joint) else []
        is_same = relative_difference(mine, theirs) <= SAME_PHYSICS
        is_default = all(value == getattr(_DEFAULT, part) for value in mine)
        other_words = _DOF_WORDS.get(part)
        if joint.loop or other_words is None or not other_words[1](joint) or self._is_held(joint, part):
            return Verdict(Fate.DROPPED, f"{self.title} cannot say it", is_same or is_default)
        if is_same or is_default:
            # What is not there now would be, if it were anything else.
            return Verdict(Fate.EXACT, harmless=is_default)
        return Verdict(Fate.LOWERED, other_words[0])

    def _is_held(self, joint: Joint, part: str) -> bool:
        return part == "position_limits" and (id(joint) in self.static or joint.kind not in self.native)


_GROUPED = "bodies that joints tie together are one model, called after the first of them"
_CENTRE = "PyODE reads only masses about the body's origin"
_DEFAULT = Dof()
_DOF_WORDS: dict[str, tuple[str, Callable[[Joint], bool]]] = {
    "position": ("in the poses of the bodies", lambda joint: True),
    "velocity": ("as velocities of the bodies", lambda joint: joint.child.state is None),
    "position_limits": ("as stops, counted from the start", lambda joint: bool(joint.axes) and not joint.drives),
}
"""The parts of degrees of freedom that are said, if in other words, and for which joints."""


def _values(joint: Joint, part: str) -> list[object]:
    return [getattr(dof, part) for dof in joint.dofs]


def together(found: list[tuple[str, Verdict]]) -> Verdict:
    """The verdict on several parts that stand in one place."""
    if len({verdict for _, verdict in found}) == 1:
        return found[0][1]
    lost = [(part, verdict) for part, verdict in found if verdict.loss]
    said = [verdict for _, verdict in found if verdict.fate is not Fate.DROPPED and not verdict.harmless]
    if not lost:
        lowered = next((verdict for verdict in said if verdict.fate is Fate.LOWERED), None)
        harmless = next((verdict for _, verdict in found if verdict.fate is Fate.DROPPED), None)
        return lowered or (Verdict(Fate.EXACT) if said or harmless is None else harmless)
    if not any(verdict for verdict in said if not verdict.loss) and all(v.fate is Fate.DROPPED for _, v in lost):
        return lost[0][1]
    names = ", ".join(dict.fromkeys(part.replace("_", " ") for part, _ in lost))
    return Verdict(Fate.APPROXIMATED, f"in part: {names} cannot be said")


def is_derived(body: Body) -> bool:
    """Whether the moment follows from shapes, so that these are in the output if only by it."""
    return body.inertia.moment is None and body.mass > 0.0 and any(True for _ in body.shapes)


def _same_drives(joint: Joint, other: Item) -> bool:
    """Stops at infinity are none, stated or not."""
    assert isinstance(other, Joint)
    sides = [[_without_idle_stops(drive) for drive in one.drives] for one in (joint, other)]
    return relative_difference(*sides) <= SAME_PHYSICS


def _without_idle_stops(drive: Drive) -> Drive:
    low, high = UNLIMITED
    return structs.replace(
        drive,
        low_stop=None if drive.low_stop == low else drive.low_stop,
        high_stop=None if drive.high_stop == high else drive.high_stop,
    )
