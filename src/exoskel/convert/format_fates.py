"""What an output says in a format that carries nothing of ours: a reader of that format finds it, or it is lost.

The rule is that of `plain`: a value is exact, lowered or approximated only if the output depends on it.  What comes
back as it was and is not what a reader takes for granted must be there; of the rest the format's own tables tell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import isinf
from typing import Any

from exoskel.convert.pyode_fates import SAME_PHYSICS, is_derived, together
from exoskel.fates import Fate, Verdict
from exoskel.formats.interface import Format
from exoskel.formats.write import Written
from exoskel.scene.body import Body, BodyState, Marker
from exoskel.scene.fields import DOF_FIELDS, FIELDS, relative_difference
from exoskel.scene.item import Item
from exoskel.scene.joint import Dof, Drive, Joint
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.lowering.joint_passes import Chain
from exoskel.scene.shape import Plane, Ray, Shape
from exoskel.scene.world import Model, Scene, World
from exoskel.source.output_context import Loss
from exoskel.spatial import Array

_DEFAULT = Dof()
_NAMES = ("name", "parent", "child")
_HOLD = frozenset({"pose", "axes", "order", "plane", "pitch", "swapped", "kind"})
"""The fields of a joint that say how it moves."""


class FormatFates:
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
        self.capabilities = target.capabilities()
        self.says = self.capabilities.fields
        self.dof_words = self.capabilities.dof_fields
        self.words = self.capabilities.rewritten_fields
        self.shapes = self.capabilities.rewritten_shapes
        self.drive_words = self.capabilities.drive_fields
        self.starts = self.capabilities.has_initial_state
        self.precision = self.capabilities.precision
        self.resting = self.capabilities.resting_actuators
        self.errors = errors
        self.chains = chains
        models = self.models = [model for world in scene.worlds for model in world.models]
        self.static = {id(joint): model for model in models if model.static for joint in model.joints}
        self.bodies = {id(shape): body for model in models for body in model.bodies for shape in body.shapes}
        self.solid = {id(shape) for model in models for body in model.bodies for shape in body.collisions}
        self.held = {id(body): model for model in models for body in model.bodies}
        self.holders = {id(j.child): j for model in models for j in model.joints if not j.loop}
        self.losses: dict[int, list[Loss]] = {}
        for loss in written.output.losses:
            self.losses.setdefault(id(loss.item), []).append(loss)
        self.whys = {item: _reasons(losses) for item, losses in self.losses.items()}

    # --- whole items ----------------------------------------------------------------------------------

    def item(self, item: Item) -> Verdict:
        """All that an item says."""
        own = self.field(item, "")
        if own.fate is Fate.DROPPED:
            return own
        lost = [name for name in FIELDS[type(item)] if self.field(item, name).loss]
        return Verdict(Fate.APPROXIMATED, f"in part: {', '.join(lost)} cannot be said") if lost else own

    def grouping(self) -> Verdict:
        return Verdict(Fate.EXACT)

    # --- fields ---------------------------------------------------------------------------------------

    def field(self, item: Item, field: str, parts: Sequence[str] = ()) -> Verdict:
        """One field, or some parts of it; without a field, that the item is there at all."""
        if id(item) not in self.written.counterparts:
            return self._missing(item, field)
        if not field:
            return Verdict(Fate.EXACT)
        match item:
            case Joint():
                return self._joint(item, field, parts)
            case Shape():
                return self._shape(item, field)
            case Body() if field == "inertia":
                return self._inertia(item)
            case Body() if field == "state":
                return self._state(item, parts)
            case Model() if field == "static" and (Model, field) in self.words and _is_fixed(item):
                return Verdict(Fate.DROPPED, "its bodies are fixed anyway", harmless=True)
        return self._said(item, field)

    @property
    def _cannot(self) -> str:
        return f"{self.title} cannot say it"

    def _differs(self, item: Item, field: str) -> bool:
        return (id(item), field) in self.errors

    def _has_words(self, item: Item, field: str) -> bool:
        return (type(item), field) in self.says or (type(item), field) in self.words

    def _lost(self, item: Item, harmless: bool = False, part: str = "") -> Verdict:
        return Verdict(Fate.DROPPED, self._why(item, part) or f"{self.title} cannot say it", harmless)

    def _why(self, item: Item, part: str) -> str:
        """The reasons for the loss of a part of an item: those about the part, else those about the whole item."""
        losses = self.losses.get(id(item), [])
        named = [loss for loss in losses if part in loss.fields]
        return _reasons(named or [loss for loss in losses if not part or not loss.fields])

    def _said(self, item: Item, field: str) -> Verdict:
        if self._differs(item, field) and field in _NAMES:
            return self._named(item, field)
        if not self._has_words(item, field):
            return Verdict(Fate.DROPPED, f"{self.title} cannot say it", not self._differs(item, field))
        if not self._differs(item, field):
            return Verdict(Fate.EXACT)
        if (type(item), field) in self.words:
            return Verdict(Fate.LOWERED, self.words[type(item), field])
        if id(item) in self.whys:
            return Verdict(Fate.APPROXIMATED, self.whys[id(item)])
        return self._lost(item)

    def _named(self, item: Item, field: str) -> Verdict:
        """A name that is another one in the output, or that of something that has another one there."""
        mine: Any = getattr(item, field)
        theirs: Any = getattr(self.written.counterparts[id(item)], field)
        if field != "name":
            is_other = mine is None or theirs is None or id(self.written.counterparts.get(id(mine))) != id(theirs)
            if not is_other:
                return Verdict(Fate.LOWERED, f"it is called '{theirs.name}' there")
            return self._lost(item)
        if (type(item), field) in self.words:
            return Verdict(Fate.LOWERED, self.words[type(item), field])
        if theirs and mine and mine in theirs:
            return Verdict(Fate.LOWERED, f"it is called '{theirs}' there, as names have to be unique")
        return Verdict(Fate.DROPPED, f"it is called '{theirs}' there" if theirs else "it has no name of its own there")

    # --- what is not there ----------------------------------------------------------------------------

    def _missing(self, item: Item, field: str) -> Verdict:
        if isinstance(item, Shape):
            return self._missing_shape(item, field)
        if isinstance(item, Marker | World | Model) or not isinstance(item, Joint):
            return Verdict(Fate.DROPPED, self.whys.get(id(item), f"{self.title} has no words for it"))
        return self._lost(item)

    def _missing_shape(self, shape: Shape, field: str) -> Verdict:
        body = self.bodies[id(shape)]
        if field == "collidable" and not shape.collidable:
            return Verdict(Fate.LOWERED, "left out, as it touches nothing")
        if field in ("", "geometry", "pose") and is_derived(body) and not isinstance(shape.geometry, Plane | Ray):
            return Verdict(Fate.APPROXIMATED, f"only in the moment of inertia: {self._why_missing(shape)}")
        harmless = not shape.collidable and id(shape) in self.solid
        return Verdict(Fate.DROPPED, self._why_missing(shape), harmless)

    def _why_missing(self, shape: Shape) -> str:
        if not shape.collidable and id(shape) in self.solid:
            return "what touches nothing has no effect"
        return self.whys.get(id(shape), f"{self.title} has no words for it")

    # --- shapes and masses ----------------------------------------------------------------------------

    def _shape(self, shape: Shape, field: str) -> Verdict:
        if not self._differs(shape, field):
            return self._said(shape, field)
        if field == "name":
            return self._named(shape, field)
        if field not in ("geometry", "pose"):
            other_words = self.words.get((Shape, field))
            return Verdict(Fate.LOWERED, other_words) if other_words else Verdict(Fate.DROPPED, self._cannot)
        if field == "pose":
            return Verdict(Fate.LOWERED, self.words.get((Shape, "pose"), "where its origin is in the other words"))
        other = self.written.counterparts[id(shape)]
        if shape.kind in self.shapes:
            return Verdict(Fate.LOWERED, self.shapes[shape.kind])
        if id(shape) in self.whys or not isinstance(other, Shape):
            return Verdict(Fate.APPROXIMATED, self.whys.get(id(shape), f"{self.title} cannot say it"))
        return Verdict(Fate.LOWERED, f"as a {other.kind.replace('_', ' ')}")

    def _inertia(self, body: Body) -> Verdict:
        if not self._differs(body, "inertia"):
            return Verdict(Fate.EXACT)
        if id(body) in self.whys:
            return Verdict(Fate.APPROXIMATED, self.whys[id(body)])
        if self.held[id(body)].static:
            return Verdict(Fate.APPROXIMATED, "what never moves may have any mass")
        return self._said(body, "inertia")

    # --- joints ---------------------------------------------------------------------------------------

    def _joint(self, joint: Joint, field: str, parts: Sequence[str]) -> Verdict:
        if field == "dofs":
            return self._dofs(joint, parts or DOF_FIELDS)
        if id(joint) in self.static and field in _HOLD:
            return self._resting(joint, field)
        if id(joint) not in self.written.elements and field != "parent":
            return self._without_element(joint, field)
        if field == "drives":
            return together([(part, self._drive_part(joint, part)) for part in parts or Drive.__struct_fields__])
        if field == "actuator" and id(joint) in self.whys and self._has_words(joint, field):
            return Verdict(Fate.APPROXIMATED, self.whys[id(joint)])
        return self._said(joint, field)

    def _resting(self, joint: Joint, field: str) -> Verdict:
        """A joint of a model that never moves: it only places its body."""
        if any(joint.positions):
            return Verdict(Fate.LOWERED, "in where its body stands")
        return Verdict(Fate.DROPPED, "its model never moves", harmless=True)

    def _without_element(self, joint: Joint, field: str) -> Verdict:
        if field == "kind":
            floats = joint.kind in ("free", "amotor")
            return Verdict(Fate.LOWERED, "a body without a joint floats freely" if floats else "its body is fixed")
        if field == "child":
            return Verdict(Fate.EXACT)
        if field == "name":
            harmless = not self._differs(joint, field) or joint.implicit
            return Verdict(Fate.DROPPED, "there is no joint in the output that could have it", harmless)
        return self._lost(joint, harmless=not self._differs(joint, field) or joint.implicit)

    def _drive_part(self, joint: Joint, part: str) -> Verdict:
        """One of ODE's parameters."""
        part, _, axis = part.partition("/")
        if axis and self.drive_words.get(part) == "" and any(drive != joint.drives[0] for drive in joint.drives):
            return Verdict(Fate.DROPPED, self.whys.get(id(joint), f"{self.title} has one for all axes"))
        stated = [value for drive in joint.drives if (value := getattr(drive, part)) is not None]
        if part not in self.drive_words or (joint.loop and not self._is_whole(joint)):
            return self._lost(joint, harmless=not stated)
        if not stated:
            return Verdict(Fate.EXACT, harmless=True)
        if part in ("low_stop", "high_stop"):
            return self._stop(joint, part)
        if self.starts and not _is_driven(joint, part):
            return Verdict(Fate.DROPPED, "it has no effect here", harmless=True)
        if part in ("velocity", "max_force") and id(joint) in self.whys:
            return Verdict(Fate.APPROXIMATED, self.whys[id(joint)])
        words = self.drive_words[part]
        return Verdict(Fate.LOWERED, words) if words else Verdict(Fate.EXACT)

    def _is_whole(self, joint: Joint) -> bool:
        """Whether a joint that closes a loop is there with what drives and bounds it."""
        other = self.written.counterparts[id(joint)]
        return isinstance(other, Joint) and (other._dofs is not None or bool(other.drives))

    def _stop(self, joint: Joint, part: str) -> Verdict:
        side = 0 if part == "low_stop" else 1
        if joint.kind not in self.dof_words["position_limits"]:
            return self._lost(joint)
        if all(isinf(dof.position_limits[side]) for dof in joint.dofs):
            return Verdict(Fate.DROPPED, "such a stop has no effect", harmless=True)
        return Verdict(Fate.LOWERED, self.drive_words[part])

    # --- bodies ---------------------------------------------------------------------------------------

    def _state(self, body: Body, parts: Sequence[str]) -> Verdict:
        return together([(part, self._state_part(body, part)) for part in parts or _STATE])

    def _state_part(self, body: Body, part: str) -> Verdict:
        state = body.state or BodyState()
        part, _, number = part.partition("/")
        if part in ("linear_velocity", "angular_velocity") and self.starts and not self.held[id(body)].static:
            joint = self.holders[id(body)]
            if joint.kind == "free":
                return Verdict(Fate.LOWERED, "as velocities of its joint")
            if self._allows(joint, "r" if part == "angular_velocity" else "t", number):
                return Verdict(Fate.APPROXIMATED, "as velocities of its joint, as far as that allows them")
            return Verdict(Fate.DROPPED, "its joint does not allow it")
        harmless = getattr(state, part) == getattr(BodyState(), part)
        return Verdict(Fate.DROPPED, self.whys.get(id(body), f"{self.title} cannot say it"), harmless)

    def _allows(self, joint: Joint, letter: str, number: str) -> bool:
        """Whether a joint moves its body along, or turns it about, an axis of the root frame (empty: any)."""
        letters = [one == letter or (letter == "t" and one != "r") for one in joint.motion]
        if not any(letters) or not number or not (len(joint.axes) == len(letters) == 1 or joint.kind == "hinge2"):
            return any(letters)
        turn = self.starting[id(joint.child)][:3, :3] @ joint.pose.matrix()[:3, :3]
        axes = [turn @ axis for axis, own in zip(joint.axes, letters, strict=True) if own]
        return any(abs(axis[int(number)]) > SAME_PHYSICS for axis in axes)

    @cached_property
    def starting(self) -> dict[int, Array]:
        """Where bodies are at the start, by id."""
        bodies = [body for model in self.models for body in model.bodies]
        return dict(zip(map(id, bodies), Kinematics(self.models).poses(), strict=True))

    # --- degrees of freedom ---------------------------------------------------------------------------

    def _dofs(self, joint: Joint, parts: Sequence[str]) -> Verdict:
        chain = self.chains.get(id(joint))
        links = [joint] if chain is None else chain.links
        return together([(part, self._dof_part(link, part)) for part in parts for link in links])

    def _dof_part(self, joint: Joint, part: str) -> Verdict:
        other = self.written.counterparts.get(id(joint))
        mine = _values(joint, part)
        theirs = _values(other, part) if isinstance(other, Joint) else []
        is_same = relative_difference(mine, theirs) <= self.precision
        is_default = all(value == getattr(_DEFAULT, part) for value in mine)
        if id(joint) in self.static:
            if part == "position":
                return Verdict(Fate.LOWERED, "in where its body stands")
            return Verdict(Fate.DROPPED, "its model never moves", harmless=True)
        if not self._says_part(joint, part):
            return self._lost(joint, is_same or is_default, part)
        if is_same or is_default:
            # What is not there now would be, if it were anything else.
            return Verdict(Fate.EXACT, harmless=is_default)
        if part in ("position", "velocity") and joint.kind in ("ball", "free"):
            return Verdict(Fate.LOWERED, "in the axes that the joint has there")
        if relative_difference(sorted(map(str, mine)), sorted(map(str, theirs))) == 0.0:
            return Verdict(Fate.LOWERED, "in another order")
        if all(value == getattr(_DEFAULT, part) for value in theirs):
            return self._lost(joint, part=part)
        return Verdict(Fate.APPROXIMATED, self._why(joint, part) or f"{self.title} says something near it")

    def _says_part(self, joint: Joint, part: str) -> bool:
        if joint.loop or joint.kind not in self.dof_words.get(part, frozenset()):
            return False
        if part == "position_limits" and not joint.limits_enforced:
            return False
        if part == "velocity" and joint.actuator in self.resting:
            return False
        return id(joint) in self.written.elements


_STATE = ("linear_velocity", "angular_velocity", "force", "torque", "enabled", "finite_rotation")


def _is_driven(joint: Joint, part: str) -> bool:
    """Whether a parameter of a motor, a stop or a suspension has one to be about."""
    match part:
        case "velocity" | "max_force":
            return any(drive.max_force for drive in joint.drives)
        case "bounce":
            return any(not isinf(bound) for dof in joint.dofs for bound in dof.position_limits)
        case "stop_erp" | "stop_cfm":
            return any(dof.position_limits[0] == dof.position_limits[1] for dof in joint.dofs)
        case "suspension_erp" | "suspension_cfm":
            return joint.kind == "hinge2"
    return True


def _reasons(losses: Sequence[Loss]) -> str:
    """The reasons in their order, each of them once."""
    return "; ".join(dict.fromkeys(loss.reason for loss in losses))


def _is_fixed(model: Model) -> bool:
    return all(joint.kind == "weld" for joint in model.joints)


def _values(joint: Joint, part: str) -> list[object]:
    return [getattr(dof, part) for dof in joint.dofs]
