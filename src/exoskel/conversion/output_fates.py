"""The fates of the fields of a scene in an output, with or without embedded data.

A field is exact, lowered or approximated only if the output depends on it.  A value that is lost but equal to what
readers assume is dropped without harm.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np
from msgspec import structs

from exoskel.conversion.comparison import TOLERANCE
from exoskel.fates import Fate, Verdict
from exoskel.formats.interface import Format
from exoskel.formats.write import Written
from exoskel.scene.body import Body, Marker
from exoskel.scene.fields import DOF_FIELDS, FIELDS, differences, iter_items, relative_difference
from exoskel.scene.item import Item
from exoskel.scene.joint import MOTION_FIELDS, UNLIMITED, Dof, Drive, Joint
from exoskel.scene.lowering.actuators import (
    CONTROLS,
    INITIAL_ACTIVATIONS,
    actuator_part,
    is_actuator_part,
    state_part,
)
from exoskel.scene.lowering.joint_passes import Chain
from exoskel.scene.model import Model
from exoskel.scene.pose import ZERO
from exoskel.scene.shape import Plane, Ray, Shape, simplest_geometry
from exoskel.scene.world import Scene, World
from exoskel.source.losses import Loss

EXACT = Verdict(Fate.EXACT)
BODIES_FIXED = Verdict(Fate.DROPPED, "its bodies are fixed anyway", harmless=True)
FLOATING = Verdict(Fate.LOWERED, "a body without a joint floats")
_DEFAULT_DOF = Dof()
LISTED = ("tendons", "equalities", "sensors", "cameras", "lights", "keyframes")
"""Fields of a world that list objects with a fate of their own; actuators have more."""
STATES_OF_ACTUATORS = {"@controls": CONTROLS, "@activations": INITIAL_ACTIVATIONS}
"""What nodes may state of the initial state of all actuators, as parts of the field, with names for losses."""
_LIMITS = frozenset({"@ctrlrange", "@ctrllimited", "@forcerange", "@forcelimited"})
"""Attributes of actuators that springs and dampers do not have."""
_ACTIVATION = frozenset(
    {f"@{name}" for name in ("dyntype", "dynprm", "timeconst", "actrange", "actlimited", "actearly")}
)
"""Attributes of activations, whose loss changes the effect of the control."""


class FieldVerdict(Protocol):
    """Returns the verdict on a field of an item, or on some parts of it."""

    def __call__(self, item: Item, field: str, parts: Sequence[str] = ()) -> Verdict: ...


class OutputFates(ABC):
    """Determines the fates of fields from what a reader of the output finds.

    `chains` are the lowered joints, by the ids of their last links.
    """

    def __init__(self, scene: Scene, written: Written, target: Format, chains: Mapping[int, Chain]) -> None:
        self.scene = scene
        self.written = written
        self.label = target.label
        self.not_supported = f"not supported by {target.label}"
        self.capabilities = target.capabilities()
        self.chains = chains
        self.losses: dict[int, list[Loss]] = {}
        for loss in written.output.losses:
            self.losses.setdefault(id(loss.item), []).append(loss)
        self.reasons = {item: join_reasons(losses) for item, losses in self.losses.items()}

    def actuator_dof_fields(self, world: World, name: str) -> tuple[str, ...]:
        """The fields of a degree of freedom that a lowered actuator became."""
        part = actuator_part(name)
        losses = [loss for loss in self.losses.get(id(world), ()) if part in loss.fields]
        return tuple(field for loss in losses for field in loss.fields if not is_actuator_part(field))

    @cached_property
    def actuator_names(self) -> set[str]:
        """The names of the actuators of all worlds, and of those that were lowered."""
        names = {one.name for world in self.scene.worlds for one in world.actuators}
        parts = {part for losses in self.losses.values() for loss in losses for part in loss.fields}
        return names | {part.removeprefix(actuator_part("")) for part in parts if is_actuator_part(part)}

    @abstractmethod
    def field(self, item: Item, field: str, parts: Sequence[str] = ()) -> Verdict:
        """The fate of a field, or of some parts of it; the empty field is the item itself."""

    def verdict_class(self, item: Item) -> Hashable | None:
        """What the fates of all fields of an item depend on: items of the same class have the same ones.

        None if they depend on more, such as a name that differs in the output.
        """
        return None

    def item(self, item: Item) -> Verdict:
        """The fate of an item with all its fields."""
        own = self.field(item, "")
        if own.fate is Fate.DROPPED:
            return own
        lost = [name for name in FIELDS[type(item)] if self.field(item, name).loss]
        if lost or not isinstance(item, Shape):
            return in_part(lost) if lost else own
        geometry = self.field(item, "geometry")
        return geometry if geometry.fate is Fate.LOWERED else own

    def grouping(self) -> Verdict:
        """The fate of the grouping of bodies into models."""
        return EXACT

    @cached_property
    def errors(self) -> dict[tuple[int, str], float]:
        """The differences of fields for a reader without embedded data, by the ids of items and names of fields."""
        made = {**self.capabilities.shapes_read_back(self.written.native), **self.written.counterparts}
        pairs = [(item, made[id(item)]) for item, _, _ in iter_items(self.scene) if id(item) in made]
        tolerance = self.capabilities.tolerance
        return {(id(d.one), d.field): d.error for d in differences(pairs) if d.error > tolerance(type(d.one), d.field)}

    @cached_property
    def differing_fields(self) -> dict[int, tuple[str, ...]]:
        """The fields of each item, by its id, that `errors` has."""
        found: dict[int, tuple[str, ...]] = {}
        for item, field in self.errors:
            found[item] = (*found.get(item, ()), field)
        return found

    def _differs(self, item: Item, field: str) -> bool:
        return (id(item), field) in self.errors

    def _rewritten(self, item: Item, field: str) -> str | None:
        """The other form in which a field is written; None: as it is, or not at all."""
        if isinstance(item, Shape) and field == "geometry" and simplest_geometry(item.geometry) is not item.geometry:
            other = self.written.counterparts.get(id(item))
            return as_kind(other) if isinstance(other, Shape) else None
        return self.capabilities.rewritten_fields.get((type(item), field))

    def _actuators(self, world: World, parts: Sequence[str]) -> Verdict | None:
        """The fate of the actuators of a world that were lowered; None if none of them were.

        `parts` are the names of actuators, and after them, as `@name`, that of an attribute.
        """
        if (kind := next(iter(parts), "")) in STATES_OF_ACTUATORS:
            return self._initial_states(world, STATES_OF_ACTUATORS[kind])
        stated = [part for part in parts if not part.startswith("@")]
        names = {actuator_part(part) for part in stated}
        if len(stated) == len(parts):  # whole actuators
            names |= {state_part(part, kind) for part in stated for kind in STATES_OF_ACTUATORS.values()}
        losses = [
            loss
            for loss in self.losses.get(id(world), ())
            if (names.intersection(loss.fields) if names else any(map(is_actuator_part, loss.fields)))
        ]
        if not losses:
            return None
        if "@name" in parts:
            return Verdict(Fate.DROPPED, self.not_supported, harmless=True)
        for attributes, changes_effect in ((_LIMITS, False), (_ACTIVATION, True)):
            dropped = [one for one in losses if one.code == "FM305" and one.is_dropped]
            own = [one for one in dropped if one.changes_effect is changes_effect]
            if own and attributes.intersection(parts):
                return Verdict(Fate.DROPPED, join_reasons(own))
        if all(loss.is_dropped for loss in losses) and not all(loss.changes_effect for loss in losses):
            return Verdict(Fate.DROPPED, join_reasons(losses))
        is_same = not any(loss.changes_effect for loss in losses)
        return Verdict(Fate.LOWERED if is_same else Fate.APPROXIMATED, join_reasons(losses))

    def _initial_states(self, world: World, kind: str) -> Verdict | None:
        """The fate of the initial controls or activations of all actuators; None if none of them is lost."""
        found: dict[str, list[Loss]] = {}
        for loss in self.losses.get(id(world), ()):
            for part in loss.fields:
                if is_actuator_part(part) and part.endswith(f"/{kind}"):
                    found.setdefault(part, []).append(loss)
        if not found:
            return None
        is_dropped = all(loss.is_dropped for losses in found.values() for loss in losses)
        is_dropped = is_dropped or self.capabilities.is_picture  # it has no springs
        reasons = join_reasons([loss for losses in found.values() for loss in losses])
        return Verdict(Fate.DROPPED if is_dropped else Fate.APPROXIMATED, reasons)

    def listed(self, field: str, names: Sequence[str]) -> Verdict | None:
        """The fate of objects in a list of a world, by their names; None if nothing of them is reported as lost."""
        wanted = {f"{field}/{name}" for name in names}
        worlds = [id(world) for world in self.scene.worlds]
        losses = [loss for world in worlds for loss in self.losses.get(world, ()) if wanted.intersection(loss.fields)]
        if not losses:
            return None
        is_dropped = all(loss.is_dropped for loss in losses)
        lost = {part for loss in losses for part in loss.fields}
        return Verdict(Fate.DROPPED if is_dropped and lost >= wanted else Fate.APPROXIMATED, join_reasons(losses))

    def _changed_effect(self, item: Item, part: str) -> str:
        """Why a value acts differently in the output although it is written; empty if it acts as here."""
        losses = self.losses.get(id(item))
        if losses is None:
            return ""
        return join_reasons([loss for loss in losses if loss.changes_effect and part in loss.fields])


_REPEATED = (Body, Joint, Shape, Marker)
"""The types of items of which many may be alike."""


class EmbeddedFates(OutputFates):
    """The fates of fields in an output with embedded data: nothing is lost that is in the scene."""

    def __init__(self, scene: Scene, written: Written, target: Format, chains: Mapping[int, Chain]) -> None:
        super().__init__(scene, written, target, chains)
        self.embedded = {(id(one.item), one.field): one.error for one in written.embedded}
        """How far the native values of embedded fields are off, by the ids of items and names of fields."""
        self.is_embedded = Verdict(
            Fate.KEPT, f"{self.not_supported}: embedded by Exoskel; other readers of {self.label} ignore it"
        )

    def field(self, item: Item, field: str, parts: Sequence[str] = ()) -> Verdict:
        if (id(item), "") in self.embedded:
            return self.is_embedded
        if id(item) not in self.written.counterparts:
            if isinstance(item, Model):
                return EXACT
            if isinstance(item, Joint) and item.kind == "free":
                return FLOATING
            return Verdict(Fate.DROPPED, self.not_supported)
        if isinstance(item, World) and field == "actuators" and (lowered := self._actuators(item, parts)) is not None:
            return Verdict(
                Fate.KEPT, f"embedded by Exoskel; for other readers, as far as {self.label} supports it: {lowered.why}"
            )
        if changed := self._changed_effect(item, field):
            return Verdict(Fate.APPROXIMATED, changed)
        if field and (id(item), field) in self.embedded:
            return self._embedded_field(item, field)
        return EXACT

    def verdict_class(self, item: Item) -> Hashable | None:
        if id(item) in self.losses or not isinstance(item, _REPEATED):
            return None
        kind = item.kind if isinstance(item, Joint) else ""
        return type(item), kind, id(item) in self.written.counterparts, self._embedded_fields.get(id(item))

    @cached_property
    def _embedded_fields(self) -> dict[int, tuple[Hashable, ...]]:
        """The embedded fields of each item, by its id, and whether the native values are off."""
        found: dict[int, tuple[Hashable, ...]] = {}
        for one in self.written.embedded:
            is_off = one.error > self.capabilities.tolerance(type(one.item), one.field)
            found[id(one.item)] = (*found.get(id(one.item), ()), one.field, is_off)
        return found

    def _embedded_field(self, item: Item, field: str) -> Verdict:
        rewritten = self._rewritten(item, field)
        if rewritten is not None and (not isinstance(item, Joint) or item.kind in self.capabilities.native_joints):
            return Verdict(Fate.LOWERED, rewritten)
        is_off = field != "bodies" and self.embedded[id(item), field] > self.capabilities.tolerance(type(item), field)
        return self.is_embedded if is_off else EXACT


def as_kind(shape: Shape) -> str:
    """The form of a geometry that is written as another."""
    return f"as a {shape.kind.replace('_', ' ')}"


class NativeFates(OutputFates):
    """The fates of fields in an output without embedded data: what the format does not support is lost."""

    def __init__(self, scene: Scene, written: Written, target: Format, chains: Mapping[int, Chain]) -> None:
        super().__init__(scene, written, target, chains)
        self.models = [model for world in scene.worlds for model in world.models]
        self.static_joints = {id(joint) for model in self.models if model.static for joint in model.joints}
        self.owners = {id(body): model for model in self.models for body in model.bodies}
        self.bodies = {id(shape): body for model in self.models for body in model.bodies for shape in body.shapes}

    def _dofs(self, joint: Joint, parts: Sequence[str]) -> Verdict:
        """The fate of fields of the degrees of freedom of a joint."""
        chain = self.chains.get(id(joint))
        links = [joint] if chain is None else chain.links
        return combine([(part, self._dof_part(link, part)) for part in parts for link in links])

    @abstractmethod
    def _dof_part(self, joint: Joint, part: str) -> Verdict: ...

    def _dof_values(self, joint: Joint, part: str, precision: float = TOLERANCE) -> DofValues:
        other = self.written.counterparts.get(id(joint))
        return DofValues(joint, other if isinstance(other, Joint) else None, part, precision)


class DofValues:
    """A field of the degrees of freedom of a joint, in the scene and in the output."""

    def __init__(self, joint: Joint, other: Joint | None, part: str, precision: float) -> None:
        self.mine = [getattr(dof, part) for dof in joint.dofs]
        self.theirs = [getattr(dof, part) for dof in other.dofs] if other is not None else []
        self.default = getattr(_DEFAULT_DOF, part)
        self.precision = precision
        self.is_same = relative_difference(self.mine, self.theirs) <= precision
        self.is_default = all(value == self.default for value in self.mine)

    @property
    def is_in_part_the_same(self) -> bool:
        pairs = zip(self.mine, self.theirs, strict=False)
        return any(a != self.default and relative_difference(a, b) <= self.precision for a, b in pairs)

    @property
    def is_default_there(self) -> bool:
        return all(value == self.default for value in self.theirs)

    @property
    def is_reordered(self) -> bool:
        return relative_difference(sorted(map(str, self.mine)), sorted(map(str, self.theirs))) == 0.0

    @property
    def traits(self) -> tuple[bool, ...]:
        """What a fate may depend on."""
        is_same_elsewhere = self.is_in_part_the_same, self.is_default_there, self.is_reordered
        return self.is_same, self.is_default, *is_same_elsewhere


def is_moment_derived(body: Body) -> bool:
    """Whether the moment of inertia follows from the shapes, so that the output depends on them at least there."""
    return body.inertia.moment is None and body.mass > 0.0 and any(True for _ in body.shapes)


def is_in_moment(body: Body, shape: Shape) -> bool:
    """Whether the moment of inertia of a body follows from its shapes, and depends on this one."""
    if not is_moment_derived(body) or isinstance(shape.geometry, Plane | Ray):
        return False
    return any(one is shape for one in body.mass_shapes)


def join_reasons(losses: Sequence[Loss]) -> str:
    """The reasons in their order, each of them once."""
    return "; ".join(dict.fromkeys(loss.reason for loss in losses))


_IN_PART = "in part: "


def in_part(names: Sequence[str]) -> Verdict:
    """The fate of something that has lost some of its fields."""
    return partly_lost(f"{', '.join(names)} cannot be expressed")


def partly_lost(why: str) -> Verdict:
    """The fate of something of which a part is lost for this reason."""
    return Verdict(Fate.APPROXIMATED, _IN_PART + why.removeprefix(_IN_PART))


def combine_users(found: list[Verdict]) -> Verdict:
    """The verdict on a value that several items use."""
    if not found:
        return Verdict(Fate.DROPPED, "nothing uses it", harmless=True)
    lost = next((verdict for verdict in found if verdict.loss), None)
    if all(verdict.fate is Fate.DROPPED for verdict in found):
        return lost or found[0]
    if lost is not None:
        return partly_lost(lost.why)
    return Verdict(Fate.LOWERED, "in all elements that use it")


def combine(found: list[tuple[str, Verdict]]) -> Verdict:
    """The fate of one value in the document that states several parts of a field."""
    if len(found) == 1 or len({verdict for _, verdict in found}) == 1:
        return found[0][1]
    lost = [(part, verdict) for part, verdict in found if verdict.loss]
    effective = [verdict for _, verdict in found if verdict.fate is not Fate.DROPPED and not verdict.harmless]
    if not lost:
        lowered = next((verdict for verdict in effective if verdict.fate is Fate.LOWERED), None)
        harmless = next((verdict for _, verdict in found if verdict.fate is Fate.DROPPED), None)
        return lowered or (EXACT if effective or harmless is None else harmless)
    if all(verdict.loss for verdict in effective) and all(verdict.fate is Fate.DROPPED for _, verdict in lost):
        return lost[0][1]
    return in_part(list(dict.fromkeys(part.replace("_", " ") for part, _ in lost)))


# --- XODE for PyODE, whose reader accepts no extensions ------------------------------------------------

_INITIAL_STATE = "the initial poses and velocities of the bodies"
_GROUPING = "connected bodies form one model, named after its first body"
_CENTRE = "PyODE reads only masses about the body's origin"
_ROOT_PLANE = "as a plane in the root frame"
_DOF_FORMS: dict[str, tuple[str, Callable[[Joint], bool]]] = {
    "position": ("in the poses of the bodies", lambda joint: True),
    "velocity": ("as velocities of the bodies", lambda joint: joint.child.state is None),
    "position_limits": (
        "as stops relative to the initial position",
        lambda joint: bool(joint.axes) and not joint.drives,
    ),
}
"""The fields of degrees of freedom that are written in another form, and for which joints."""


class PyodeFates(NativeFates):
    """The fates of fields in an output for PyODE."""

    def __init__(self, scene: Scene, written: Written, target: Format, chains: Mapping[int, Chain]) -> None:
        super().__init__(scene, written, target, chains)
        self.inexact = {id(loss.item): loss.reason for loss in written.output.losses}
        self.refused = {id(loss.item): loss.reason for loss in written.output.rejected}

    def grouping(self) -> Verdict:
        return Verdict(Fate.DROPPED, _GROUPING, all(self._is_preserved(model) for model in self.models))

    def _is_preserved(self, model: Model) -> bool:
        """Whether a reader finds the model, with its name and the same bodies."""
        made = self.written.counterparts
        wanted = {id(made.get(id(body))) for body in model.bodies}
        return any(
            other.name == model.name and other.static == model.static and wanted == {id(body) for body in other.bodies}
            for world in self.written.native.worlds
            for other in world.models
        )

    # --- fields ---------------------------------------------------------------------------------------

    def field(self, item: Item, field: str, parts: Sequence[str] = ()) -> Verdict:
        if isinstance(item, Model):
            return self._model(item, field)
        if id(item) not in self.written.counterparts:
            return self._missing(item, field)
        if not field:
            return EXACT
        if isinstance(item, Joint):
            return self._joint(item, field, parts)
        if isinstance(item, Body) and field == "inertia":
            return self._inertia(item, parts)
        return self._default_verdict(item, field)

    def _unsupported(self, item: Item, field: str) -> Verdict:
        return Verdict(Fate.DROPPED, self.not_supported, not self._differs(item, field))

    def _default_verdict(self, item: Item, field: str) -> Verdict:
        if (type(item), field) in self.capabilities.pyode_fields:
            return self._supported(item, field)
        return self._unsupported(item, field)

    def _supported(self, item: Item, field: str) -> Verdict:
        if not self._differs(item, field):
            return EXACT
        if isinstance(item, Shape) and isinstance(item.geometry, Plane) and field in ("geometry", "pose"):
            return Verdict(Fate.LOWERED, _ROOT_PLANE)
        rewritten = self._rewritten(item, field)
        if rewritten is not None:
            return Verdict(Fate.LOWERED, rewritten)
        error = self.errors[id(item), field]
        if field == "pose" and np.isfinite(error):
            return Verdict(Fate.APPROXIMATED, f"off by {error:.2g}")
        return self._unsupported(item, field)

    # --- models and missing items ---------------------------------------------------------------------

    def _model(self, model: Model, field: str) -> Verdict:
        match field:
            case "":
                return EXACT
            case "pose":
                return Verdict(Fate.LOWERED, "in the poses of its bodies")
            case "static" if all(joint.kind == "weld" and joint.parent is None for joint in model.joints):
                return BODIES_FIXED
            case "static":
                return Verdict(Fate.LOWERED, "its bodies are fixed") if model.static else EXACT
        return Verdict(Fate.DROPPED, _GROUPING, self._is_preserved(model))

    def _missing(self, item: Item, field: str) -> Verdict:
        if isinstance(item, Shape) and field in ("", "geometry", "pose"):
            body = self.bodies[id(item)]
            if isinstance(item.geometry, Plane) and item in body.collisions:
                if self.owners[id(body)].static:
                    return Verdict(Fate.LOWERED, _ROOT_PLANE)
                return Verdict(Fate.APPROXIMATED, "as a plane that stays at its initial pose")
            if is_in_moment(body, item):
                return Verdict(Fate.APPROXIMATED, "only in the moment of inertia: not supported by PyODE")
        return Verdict(Fate.DROPPED, self.not_supported)

    # --- masses ---------------------------------------------------------------------------------------

    def _inertia(self, body: Body, parts: Sequence[str]) -> Verdict:
        if parts:
            return combine([(part, self._inertia_part(body, part)) for part in parts])
        if id(body) in self.inexact:
            return Verdict(Fate.APPROXIMATED, self.inexact[id(body)])
        return self._supported(body, "inertia")

    def _inertia_part(self, body: Body, part: str) -> Verdict:
        other = self.written.counterparts[id(body)]
        assert isinstance(other, Body)
        why = self.inexact.get(id(body), self.not_supported)
        match part:
            case "com" if is_moment_derived(body):
                return EXACT if body.com == ZERO else Verdict(Fate.APPROXIMATED, why)
            case "com":
                return Verdict(Fate.DROPPED, _CENTRE, body.com == ZERO)
            case "products":
                return Verdict(Fate.DROPPED, why, id(body) not in self.inexact or not any(body.moment[3:]))
            case "mass" if relative_difference(body.mass, other.mass) > TOLERANCE:
                return Verdict(Fate.DROPPED, why)
            case "moment" if id(body) in self.inexact:
                return Verdict(Fate.APPROXIMATED, why)
        return EXACT

    # --- joints ---------------------------------------------------------------------------------------

    def _joint(self, joint: Joint, field: str, parts: Sequence[str]) -> Verdict:
        if field == "kind" and id(joint) in self.refused:
            return Verdict(Fate.APPROXIMATED, self.refused[id(joint)])
        if field == "dofs":
            return self._dofs(joint, parts or DOF_FIELDS)
        if field == "name" and joint.kind == "free" and joint.parent is None:
            return self._unsupported(joint, field)
        if field == "drives" and _have_same_drives(joint, self.written.counterparts[id(joint)]):
            return EXACT
        if field in MOTION_FIELDS:
            return self._motion(joint, field)
        if field == "kind" and joint.kind == "euler" and not self._is_static(joint):
            return Verdict(Fate.APPROXIMATED, "as a ball joint: the same motion in other coordinates")
        return self._default_verdict(joint, field)

    def _motion(self, joint: Joint, field: str) -> Verdict:
        """The fate of a field that defines the motion: written at the joint, or only in the initial state."""
        is_native = joint.kind in self.capabilities.native_joints or (joint.kind == "euler" and field == "pose")
        if is_native and not self._is_static(joint) and (Joint, field) in self.capabilities.pyode_fields:
            return self._supported(joint, field)
        if any(joint.positions) or any(joint.velocities):
            if joint.kind == "free" and joint.parent is None:
                return Verdict(Fate.LOWERED, f"as {_INITIAL_STATE}")
            return Verdict(Fate.APPROXIMATED, f"only in {_INITIAL_STATE}")
        return self._unsupported(joint, field)

    def _dof_part(self, joint: Joint, part: str) -> Verdict:
        values = self._dof_values(joint, part)
        text, applies = _DOF_FORMS.get(part, ("", None))
        if joint.loop or applies is None or not applies(joint) or self._has_no_stops(joint, part):
            return Verdict(Fate.DROPPED, self.not_supported, values.is_same or values.is_default)
        if values.is_same or values.is_default:
            # Any other value would be in the output.
            return Verdict(Fate.EXACT, harmless=values.is_default)
        return Verdict(Fate.LOWERED, text)

    def _has_no_stops(self, joint: Joint, part: str) -> bool:
        is_native = joint.kind in self.capabilities.native_joints
        return part == "position_limits" and (self._is_static(joint) or not is_native)

    def _is_static(self, joint: Joint) -> bool:
        return id(joint) in self.static_joints and not joint.loop


def _have_same_drives(joint: Joint, other: Item) -> bool:
    """Whether drives are the same; a stop at infinity is the same as none."""
    assert isinstance(other, Joint)
    sides = [[_without_infinite_stops(drive) for drive in one.drives] for one in (joint, other)]
    return relative_difference(*sides) <= TOLERANCE


def _without_infinite_stops(drive: Drive) -> Drive:
    low, high = UNLIMITED
    return structs.replace(
        drive,
        low_stop=None if drive.low_stop == low else drive.low_stop,
        high_stop=None if drive.high_stop == high else drive.high_stop,
    )
