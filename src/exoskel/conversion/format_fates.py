"""The fates of fields in formats without embedded data: MJCF, URDF, SDFormat, USD and glTF.

A value that comes back unchanged, and is not what a reader assumes anyway, must be in the output.  For other values the
format's tables decide.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from math import isinf
from operator import eq
from typing import Any

from exoskel.conversion.comparison import TOLERANCE
from exoskel.conversion.output_fates import (
    BODIES_FIXED,
    EXACT,
    FLOATING,
    LISTED,
    STATES_OF_ACTUATORS,
    NativeFates,
    as_kind,
    combine,
    is_in_moment,
    join_reasons,
)
from exoskel.conversion.world_object_fates import has_same_objects
from exoskel.fates import Fate, Verdict
from exoskel.formats.interface import Format
from exoskel.formats.write import Written
from exoskel.scene.body import Body, BodyState, Marker
from exoskel.scene.cameras_and_keyframes import comparable_views
from exoskel.scene.fields import DEFAULT_DOF_ROW, DOF_FIELDS, FIELDS, dof_rows, relative_difference
from exoskel.scene.item import Item
from exoskel.scene.joint import MOTION_FIELDS, STOPS, Drive, Joint
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.lowering.joint_passes import Chain
from exoskel.scene.model import Model
from exoskel.scene.shape import Material, Shape, Sphere, Texture
from exoskel.scene.world import Scene, World
from exoskel.source.losses import Loss
from exoskel.source.textures import same_image
from exoskel.spatial import Array

_NAMES = ("name", "parent", "child")
_LISTS = ("tendons", "sensors", "equalities")
"""Fields of a world that list objects, which are all lost or none."""
_APPEARANCE = ("cameras", "lights")
"""Fields of a world that only change pictures."""
_IN_ACTUATORS = Verdict(Fate.LOWERED, "in the initial state of actuators")
_ZERO_STATE = Verdict(Fate.DROPPED, "zero, as without this state", harmless=True)
_IN_POSES = Verdict(Fate.APPROXIMATED, "only in the initial poses of the bodies")
_IN_BODY_POSE = Verdict(Fate.LOWERED, "in the pose of its body")
_STATIC = Verdict(Fate.DROPPED, "its model is static", harmless=True)
_NO_STIFFNESS = Verdict(Fate.DROPPED, "no effect without a spring stiffness", harmless=True)
_NO_EFFECT = Verdict(Fate.DROPPED, "no effect here", harmless=True)
_OTHER_FRAME = Verdict(Fate.LOWERED, "the same pose, in another frame")
_NO_MOTION = Verdict(Fate.DROPPED, "the joint does not move", harmless=True)
_DEFAULT_SHAPE = Shape(geometry=Sphere(1.0))


class FormatFates(NativeFates):
    """The fates of fields in formats that are read back as a scene."""

    def __init__(self, scene: Scene, written: Written, target: Format, chains: Mapping[int, Chain]) -> None:
        super().__init__(scene, written, target, chains)
        self.fields = self.capabilities.fields
        self.rewritten = self.capabilities.rewritten_fields
        self.kept = {(id(one.item), field): one.reason for one in written.output.kept for field in one.fields}
        self.solid = {id(shape) for model in self.models for body in model.bodies for shape in body.collisions}
        self._same_images: dict[tuple[Texture, Texture], bool] = {}
        self.parent_joints = {id(j.child): j for model in self.models for j in model.joints if not j.loop}

    def field(self, item: Item, field: str, parts: Sequence[str] = ()) -> Verdict:
        if id(item) not in self.written.counterparts:
            return self._missing_shape(item, field) if isinstance(item, Shape) else self._lost(item)
        if not field:
            changed = self._changed_effect(item, "")
            return Verdict(Fate.APPROXIMATED, changed) if changed else EXACT
        if kept := self.kept.get((id(item), field)):
            return Verdict(Fate.KEPT, kept)
        match item:
            case World():
                return self._world(item, field, parts)
            case Joint():
                return self._joint(item, field, parts)
            case Shape():
                return self._material(item, parts) if field == "material" else self._shape(item, field)
            case Body() if field == "inertia":
                return self._inertia(item, parts)
            case Body() if field == "state":
                return combine([(part, self._state_part(item, part)) for part in parts or BodyState.__struct_fields__])
            case Model() if field == "static" and (Model, field) in self.rewritten and _is_fixed_anyway(item):
                return BODIES_FIXED
        return self._default_verdict(item, field)

    def verdict_class(self, item: Item) -> Hashable | None:
        if id(item) in self._items_kept:
            return None
        values = self._class_of_values(item)
        return None if values is None else (values, self._class_of_losses(item))

    def _class_of_losses(self, item: Item) -> Hashable:
        losses = self.losses.get(id(item), ())
        return tuple((one.reason, one.fields, one.changes_effect, one.is_dropped) for one in losses)

    def _class_of_values(self, item: Item) -> Hashable | None:
        """What the fates of the fields of an item depend on, except for its losses; None if they depend on names."""
        other = self.written.counterparts.get(id(item))
        differing = self.differing_fields.get(id(item), ())
        if other is None or self._depends_on_names(item, differing):
            return None
        match item:
            case Body() if item.state is None:
                return Body, differing, self.owners[id(item)].static
            case Joint() if isinstance(other, Joint) and not item.drives and not other.drives:
                return self._class_of_joint(item, other, differing)
            case Shape() if isinstance(other, Shape) and item.material is None and other.material is None:
                return Shape, differing, item.kind, other.kind
        return None

    def _depends_on_names(self, item: Item, differing: Sequence[str]) -> bool:
        """Whether a fate states a name in the output, which differs."""
        if isinstance(item, Shape) and not item.name:  # no element states its name
            return False
        return any(one in differing and not self._is_any_name_rewritten(item, one) for one in _NAMES)

    def _is_any_name_rewritten(self, item: Item, field: str) -> bool:
        """Whether a name that differs has the same fate whatever it is in the output."""
        return field == "name" and (type(item), field) in self.rewritten

    def _class_of_joint(self, joint: Joint, other: Joint, differing: tuple[str, ...]) -> Hashable:
        """The class of a joint without drives."""
        mine, theirs = dof_rows(joint), dof_rows(other)
        traits = joint.kind, joint.loop, joint.implicit, joint.actuator, joint.limits_enforced
        places = id(joint) in self.static_joints, id(joint) in self.written.elements
        found = Joint, differing, traits, places, *(tuple(map(eq, row, DEFAULT_DOF_ROW)) for row in mine)
        if mine == theirs or relative_difference(mine, theirs) <= self.capabilities.precision:
            return found
        return *found, *(self._dof_values(joint, part, self.capabilities.precision).traits for part in DOF_FIELDS)

    @cached_property
    def _items_kept(self) -> set[int]:
        """The ids of items with fields that are kept as extra data."""
        return {item for item, _ in self.kept}

    def _world(self, world: World, field: str, parts: Sequence[str]) -> Verdict:
        if field == "actuators" and (lowered := self._actuators(world, parts)) is not None:
            return lowered
        if field == "actuators" and not STATES_OF_ACTUATORS.keys().isdisjoint(parts):
            return self._initial_states_written(world)
        if field == "actuators" and "@name" in parts and (World, field) in self.rewritten:
            return Verdict(Fate.DROPPED, "named like its joint in the output", harmless=True)
        if field == "actuators" and parts and self._has_same_objects(world, field, parts):
            rewritten = self.rewritten.get((World, field))
            return EXACT if rewritten is None else Verdict(Fate.LOWERED, rewritten)
        if field in LISTED:
            lost = self.listed(field, parts or [one.name for one in getattr(world, field)])
            if lost is None and (
                (field in _APPEARANCE and self._has_same_views(world, field))
                or (parts and self._has_same_objects(world, field, parts))
            ):
                return EXACT
            return lost or self._default_verdict(world, field)
        return self._default_verdict(world, field)

    def _initial_states_written(self, world: World) -> Verdict:
        """The fate of the initial controls or activations of actuators, none of which is reported as lost."""
        if not self.actuator_names:
            return Verdict(Fate.DROPPED, "a scene has no such actuators")
        return _IN_ACTUATORS if self._is_supported(world, "actuators") else _ZERO_STATE

    def _has_same_views(self, world: World, field: str) -> bool:
        """Whether the output has the same cameras or lights, in another order or in single precision."""
        other = self.written.counterparts[id(world)]
        mine, theirs = (comparable_views(getattr(one, field)) for one in (world, other))
        return self._is_supported(world, field) and relative_difference(mine, theirs) <= TOLERANCE

    def _has_same_objects(self, world: World, field: str, names: Sequence[str]) -> bool:
        """Whether the output has these objects in a list of a world, whatever became of the others."""
        other = self.written.counterparts[id(world)]
        if field in _APPEARANCE or not self._is_supported(world, field) or self._is_lost_as_a_whole(world, field):
            return False
        assert isinstance(other, World)
        return has_same_objects(world, other, field, names, self.capabilities.tolerance(World, field))

    def _is_lost_as_a_whole(self, item: Item, field: str) -> bool:
        return any(field in loss.fields for loss in self.losses.get(id(item), ()))

    def _is_supported(self, item: Item, field: str) -> bool:
        return (type(item), field) in self.fields or (type(item), field) in self.rewritten

    def _lost(self, item: Item, harmless: bool = False, part: str = "") -> Verdict:
        is_unused = part == "position_limits" and isinstance(item, Joint) and not item.limits_enforced
        reason = "limits that are not enforced are not written" if is_unused else self.not_supported
        return Verdict(Fate.DROPPED, self._reasons_for(item, part) or reason, harmless)

    def _reasons_for(self, item: Item, part: str) -> str:
        """The reasons for the loss of a part of an item: those about the part, else those about the whole item."""
        losses = self.losses.get(id(item), [])
        named = [loss for loss in losses if part in loss.fields]
        return join_reasons(named or [loss for loss in losses if not part or not loss.fields])

    def _default_verdict(self, item: Item, field: str) -> Verdict:
        losses = self.losses.get(id(item))
        if losses and (unwritten := [loss for loss in losses if loss.is_dropped and field in loss.fields]):
            return Verdict(Fate.DROPPED, join_reasons(unwritten))
        differs = self._differs(item, field)
        if differs and field in _NAMES:
            return self._name(item, field)
        if not self._is_supported(item, field):
            harmless = field in _APPEARANCE or not differs
            if isinstance(item, World) and field in _LISTS:  # documents of single models have no world to compare
                harmless = not getattr(item, field)
            return Verdict(Fate.DROPPED, self.not_supported, harmless)
        if changed := self._changed_effect(item, field):
            return Verdict(Fate.APPROXIMATED, changed)
        if not differs:
            return EXACT
        if field and losses and (named := [loss for loss in losses if field in loss.fields]):
            return Verdict(Fate.APPROXIMATED, join_reasons(named))
        if (type(item), field) in self.rewritten:
            return Verdict(Fate.LOWERED, self.rewritten[type(item), field])
        if id(item) in self.reasons:
            return Verdict(Fate.APPROXIMATED, self.reasons[id(item)])
        return self._lost(item)

    def _name(self, item: Item, field: str) -> Verdict:
        """The fate of a name that differs in the output, or of a reference to an item whose name does."""
        mine: Any = getattr(item, field)
        theirs: Any = getattr(self.written.counterparts[id(item)], field)
        if field != "name":
            is_other = mine is None or theirs is None or id(self.written.counterparts.get(id(mine))) != id(theirs)
            return self._lost(item) if is_other else Verdict(Fate.LOWERED, f"named '{theirs.name}' in the output")
        if (type(item), field) in self.rewritten:
            return Verdict(Fate.LOWERED, self.rewritten[type(item), field])
        if theirs and mine and mine in theirs:
            return Verdict(Fate.LOWERED, f"renamed to '{theirs}' in the output")
        return Verdict(Fate.DROPPED, f"named '{theirs}' in the output" if theirs else "no name in the output")

    # --- shapes and masses ----------------------------------------------------------------------------

    def _missing_shape(self, shape: Shape, field: str) -> Verdict:
        body = self.bodies[id(shape)]
        if field == "collidable" and not shape.collidable:
            return Verdict(Fate.LOWERED, "omitted: it does not collide")
        if field in ("", "geometry", "pose") and is_in_moment(body, shape):
            return Verdict(Fate.APPROXIMATED, f"only in the moment of inertia: {self._why_missing(shape)}")
        return Verdict(Fate.DROPPED, self._why_missing(shape), harmless=self._has_no_effect(shape))

    def _has_no_effect(self, shape: Shape) -> bool:
        return not shape.collidable and id(shape) in self.solid

    def _why_missing(self, shape: Shape) -> str:
        if self._has_no_effect(shape):
            return "a shape that does not collide has no effect"
        return self.reasons.get(id(shape), self.not_supported)

    def _shape(self, shape: Shape, field: str) -> Verdict:
        if not self._differs(shape, field):
            return self._default_verdict(shape, field)
        rewritten = self.rewritten.get((Shape, field))
        match field:
            case "name":
                return self._name(shape, field)
            case "pose":
                return Verdict(Fate.LOWERED, rewritten) if rewritten else _OTHER_FRAME
            case "geometry":
                return self._geometry(shape)
        return Verdict(Fate.LOWERED, rewritten) if rewritten else Verdict(Fate.DROPPED, self.not_supported)

    def _material(self, shape: Shape, parts: Sequence[str]) -> Verdict:
        """The fate of parts of a material; by default, of those that it states."""
        other = self.written.counterparts[id(shape)]
        mine = shape.material or Material()
        theirs = (other.material if isinstance(other, Shape) else None) or Material()
        named = parts or [part for part in Material.__struct_fields__ if getattr(mine, part) is not None]
        if not named or not self._is_supported(shape, "material"):
            return Verdict(Fate.DROPPED, self.not_supported, harmless=mine == Material())
        return combine([(part, self._material_part(shape, part, mine, theirs)) for part in named])

    def _material_part(self, shape: Shape, part: str, mine: Material, theirs: Material) -> Verdict:
        value, other = getattr(mine, part), getattr(theirs, part)
        losses = [loss for loss in self.losses.get(id(shape), ()) if f"material/{part}" in loss.fields]
        if losses:
            is_dropped = any(loss.is_dropped for loss in losses)
            return Verdict(Fate.DROPPED if is_dropped else Fate.APPROXIMATED, join_reasons(losses))
        if isinstance(value, Texture) and isinstance(other, Texture):
            is_same, value, other = self._is_same_image(value, other), value.repeat, other.repeat
        else:
            is_same = True
        is_same = is_same and relative_difference(value, other) <= self.capabilities.tolerance(Shape, "material")
        return EXACT if is_same else Verdict(Fate.DROPPED, self.not_supported)

    def _is_same_image(self, one: Texture, other: Texture) -> bool:
        """Whether two textures have the same image, which many shapes may have."""
        if (one, other) not in self._same_images:
            self._same_images[one, other] = same_image(one, other)
        return self._same_images[one, other]

    def _geometry(self, shape: Shape) -> Verdict:
        other = self.written.counterparts[id(shape)]
        rewritten = self.capabilities.rewritten_shapes.get(shape.kind)
        if changed := self._changed_effect(shape, "geometry"):
            return Verdict(Fate.APPROXIMATED, changed)
        if rewritten is not None:
            return Verdict(Fate.LOWERED, rewritten)
        if id(shape) in self.reasons or not isinstance(other, Shape):
            return Verdict(Fate.APPROXIMATED, self.reasons.get(id(shape), self.not_supported))
        return Verdict(Fate.LOWERED, as_kind(other))

    def _inertia(self, body: Body, parts: Sequence[str]) -> Verdict:
        changed = (self._changed_effect(body, part) for part in parts or ("moment",))
        if reason := next(filter(None, changed), ""):
            return Verdict(Fate.APPROXIMATED, reason)
        if not self._differs(body, "inertia"):
            return EXACT
        if id(body) in self.reasons:
            return Verdict(Fate.APPROXIMATED, self.reasons[id(body)])
        if self.owners[id(body)].static:
            return Verdict(Fate.APPROXIMATED, "the mass of a static body has no effect")
        return self._default_verdict(body, "inertia")

    # --- initial states of bodies ---------------------------------------------------------------------

    def _state_part(self, body: Body, part: str) -> Verdict:
        state = body.state or BodyState()
        part, _, number = part.partition("/")
        joint = self.parent_joints[id(body)]
        has_velocity = self.capabilities.has_initial_state or (id(joint), "velocity") in self.kept
        is_moving = has_velocity and not self.owners[id(body)].static
        if part in ("linear_velocity", "angular_velocity") and is_moving:
            if joint.kind == "free":
                start = 3 * (part == "linear_velocity")
                stated, own = getattr(state, part), joint.velocities[start : start + 3]
                if relative_difference(stated, own) > TOLERANCE and joint.parent is None:
                    return Verdict(Fate.DROPPED, "its joint has another velocity")
                return Verdict(Fate.LOWERED, "as velocities of its joint")
            if self._allows(joint, "r" if part == "angular_velocity" else "t", number):
                return Verdict(Fate.APPROXIMATED, "as velocities of its joint, as far as the joint allows")
            return Verdict(Fate.DROPPED, "its joint does not allow this motion")
        value, default = getattr(state, part), getattr(BodyState(), part)
        other = self.written.counterparts[id(body)]
        if isinstance(other, Body) and other.state is not None and value == getattr(other.state, part) != default:
            return EXACT
        losses = [loss for loss in self.losses.get(id(body), ()) if _is_about_state(loss, part)]
        return Verdict(Fate.DROPPED, join_reasons(losses) or self.not_supported, harmless=value == default)

    def _allows(self, joint: Joint, letter: str, number: str) -> bool:
        """Whether a joint translates ("t") or rotates ("r") its body along an axis of the root frame (empty: any)."""
        letters = [one == letter or (letter == "t" and one != "r") for one in joint.motion]
        if not any(letters) or not number or not (len(joint.axes) == len(letters) == 1 or joint.kind == "hinge2"):
            return any(letters)
        rotation = self._initial_poses[id(joint.child)][:3, :3] @ joint.pose.matrix()[:3, :3]
        axes = [rotation @ axis for axis, own in zip(joint.axes, letters, strict=True) if own]
        return any(abs(axis[int(number)]) > TOLERANCE for axis in axes)

    @cached_property
    def _initial_poses(self) -> dict[int, Array]:
        """The poses of bodies in the initial state, by id."""
        bodies = [body for model in self.models for body in model.bodies]
        return dict(zip(map(id, bodies), Kinematics(self.models).poses(), strict=True))

    # --- joints ---------------------------------------------------------------------------------------

    def _joint(self, joint: Joint, field: str, parts: Sequence[str]) -> Verdict:
        if field == "dofs":
            return self._dofs(joint, parts or DOF_FIELDS)
        if id(joint) in self.static_joints and field in (*MOTION_FIELDS, "kind"):
            return _IN_BODY_POSE if any(joint.positions) else _STATIC
        if field == "actuator" and not joint.motion:
            return _NO_MOTION
        if id(joint) not in self.written.elements and field != "parent":
            return self._joint_without_element(joint, field)
        if field == "drives":
            return combine([(part, self._drive_part(joint, part)) for part in parts or Drive.__struct_fields__])
        if field == "actuator":
            return self._actuator(joint)
        return self._default_verdict(joint, field)

    def _actuator(self, joint: Joint) -> Verdict:
        losses = [loss for loss in self.losses.get(id(joint), []) if "actuator" in loss.fields]
        if not losses:
            return self._default_verdict(joint, "actuator")
        is_dropped = all(loss.is_dropped for loss in losses)
        return Verdict(Fate.DROPPED if is_dropped else Fate.APPROXIMATED, join_reasons(losses))

    def _joint_without_element(self, joint: Joint, field: str) -> Verdict:
        harmless = not self._differs(joint, field) or joint.implicit
        match field:
            case "kind":
                floats = joint.kind in ("free", "amotor")
                return FLOATING if floats else Verdict(Fate.LOWERED, "its body is fixed")
            case "child":
                return EXACT
            case "name":
                return Verdict(Fate.DROPPED, "the joint has no element in the output", harmless)
        return self._lost(joint, harmless)

    def _drive_part(self, joint: Joint, part: str) -> Verdict:
        """The fate of a parameter of ODE, as `name` for all axes or `name/axis` for one."""
        drive_fields = self.capabilities.drive_fields
        part, _, axis = part.partition("/")
        if axis and drive_fields.get(part) == "" and self._is_first_axis_only(joint):
            why = self.reasons.get(id(joint), f"{self.label} has one set of these values, for the first axis")
            return Verdict(Fate.DROPPED, why)
        stated = [value for drive in joint.drives if (value := getattr(drive, part)) is not None]
        if part not in drive_fields:
            return Verdict(Fate.DROPPED, self.not_supported, harmless=not stated)
        if joint.loop and not self._is_complete_loop(joint):
            return self._lost(joint, harmless=not stated)
        if not stated:
            return Verdict(Fate.EXACT, harmless=True)
        if changed := self._changed_effect(joint, f"drives/{part}"):
            return Verdict(Fate.APPROXIMATED, changed)
        if part in STOPS:
            return self._stop(joint, part)
        if self.capabilities.has_initial_state and not _is_effective(joint, part):
            return _NO_EFFECT
        if part in ("velocity", "max_force") and id(joint) in self.reasons:
            return Verdict(Fate.APPROXIMATED, self.reasons[id(joint)])
        form = drive_fields[part]
        return Verdict(Fate.LOWERED, form) if form else EXACT

    def _is_first_axis_only(self, joint: Joint) -> bool:
        """Whether the output has the parameters of the first axis alone."""
        other = self.written.counterparts[id(joint)]
        return not isinstance(other, Joint) or all(drive == Drive() for drive in other.drives[1:])

    def _is_complete_loop(self, joint: Joint) -> bool:
        """Whether a loop joint is in the output with its limits and drives."""
        other = self.written.counterparts[id(joint)]
        return isinstance(other, Joint) and (other._dofs is not None or bool(other.drives))

    def _stop(self, joint: Joint, part: str) -> Verdict:
        side = STOPS.index(part)
        if joint.kind not in self.capabilities.dof_fields["position_limits"]:
            return self._lost(joint)
        if all(isinf(dof.position_limits[side]) for dof in joint.dofs):
            return Verdict(Fate.DROPPED, "this stop has no effect", harmless=True)
        return Verdict(Fate.LOWERED, self.capabilities.drive_fields[part])

    # --- degrees of freedom ---------------------------------------------------------------------------

    def _dof_part(self, joint: Joint, part: str) -> Verdict:
        values = self._dof_values(joint, part, self.capabilities.precision)
        if id(joint) in self.static_joints:
            return _IN_BODY_POSE if part == "position" else _STATIC
        if (kept := self.kept.get((id(joint), part))) and not values.is_default:
            return Verdict(Fate.KEPT, kept)
        if part == "rest" and not values.is_same and not any(dof.stiffness for dof in joint.dofs):
            return _NO_STIFFNESS
        if not self._supports_dof_part(joint, part):
            if values.is_same and not values.is_default and not self._reasons_for(joint, part):
                return EXACT
            if values.is_in_part_the_same:
                return Verdict(Fate.APPROXIMATED, self._reasons_for(joint, part) or "an approximate value is written")
            if part == "position" and self.capabilities.is_picture and not values.is_default:
                return _IN_POSES
            return self._lost(joint, values.is_same or values.is_default, part)
        if not values.is_default and (changed := self._changed_effect(joint, part)):
            return Verdict(Fate.APPROXIMATED, changed)
        if values.is_same or values.is_default:
            # Any other value would be in the output.
            return Verdict(Fate.EXACT, harmless=values.is_default)
        if part in ("position", "velocity") and joint.kind in ("ball", "free"):
            return Verdict(Fate.LOWERED, "along the axes of the joint in the output")
        if values.is_reordered:
            return Verdict(Fate.LOWERED, "in another order")
        if values.is_default_there:
            return self._lost(joint, part=part)
        return Verdict(Fate.APPROXIMATED, self._reasons_for(joint, part) or "an approximate value is written")

    def _supports_dof_part(self, joint: Joint, part: str) -> bool:
        if joint.loop or joint.kind not in self.capabilities.dof_fields.get(part, frozenset()):
            return False
        if part == "position_limits" and not joint.limits_enforced:
            return False
        if part == "velocity" and joint.actuator in self.capabilities.resting_actuators:
            return False
        return id(joint) in self.written.elements


class NonXmlFates(FormatFates):
    """The fates of fields in formats that are not XML: USD and glTF.

    The format's tables decide on shapes and markers, and take precedence for single fields.
    """

    def field(self, item: Item, field: str, parts: Sequence[str] = ()) -> Verdict:
        if isinstance(item, Shape | Marker) and id(item) in self.written.elements:
            return self._written_shape(item, field) if isinstance(item, Shape) else self._marker(item, field)
        found = self.capabilities.field_fates.get((type(item), field))
        if found is None or id(item) not in self.written.counterparts:
            return super().field(item, field, parts)
        why = self.reasons.get(id(item), "")
        return Verdict(found.fate, why) if why and found.loss else found

    def _class_of_values(self, item: Item) -> Hashable | None:
        if not isinstance(item, Shape):
            return super()._class_of_values(item)
        if id(item) in self.written.elements:
            return self._class_of_written_shape(item)
        if id(item) not in self.written.counterparts:
            is_mass = is_in_moment(self.bodies[id(item)], item)
            return Shape, "missing", is_mass, item.collidable, id(item) in self.solid
        return super()._class_of_values(item)

    def _class_of_written_shape(self, shape: Shape) -> Hashable:
        other = self._shapes_read_back.get(id(shape))
        lost = (field for field in FIELDS[Shape] if not self._is_supported(shape, field))
        are_default = tuple(getattr(shape, field) == getattr(_DEFAULT_SHAPE, field) for field in lost)
        return Shape, shape.kind, other and other.kind, self.differing_fields.get(id(shape)), are_default

    def _is_any_name_rewritten(self, item: Item, field: str) -> bool:
        return (type(item), field) in self.capabilities.field_fates or super()._is_any_name_rewritten(item, field)

    def _marker(self, marker: Marker, field: str) -> Verdict:
        """The points of markers are written, without their axes and appearance."""
        if field in ("", "name", "offset"):
            return EXACT
        is_default = getattr(marker, field) == getattr(Marker(marker.name), field)
        return Verdict(Fate.DROPPED, self.not_supported, is_default)

    @cached_property
    def _shapes_read_back(self) -> Mapping[int, Shape]:
        return self.capabilities.shapes_read_back(self.written.native)

    def _why_missing(self, shape: Shape) -> str:
        hidden = self.capabilities.hidden_shape_reason
        return self.reasons.get(id(shape), hidden) if hidden else super()._why_missing(shape)

    def _written_shape(self, shape: Shape, field: str) -> Verdict:
        if changed := self._changed_effect(shape, field):
            return Verdict(Fate.APPROXIMATED, changed)
        known = self.capabilities.field_fates.get((Shape, field))
        if known is not None:
            return known
        if field and not self._is_supported(shape, field):
            return Verdict(Fate.DROPPED, self.not_supported, getattr(shape, field) == getattr(_DEFAULT_SHAPE, field))
        if field == "geometry":
            losses = [loss for loss in self.losses.get(id(shape), ()) if not loss.fields or field in loss.fields]
            if losses:
                return Verdict(self.capabilities.shape_fates[shape.kind].fate, join_reasons(losses))
        other = self._shapes_read_back.get(id(shape))
        return EXACT if other is None else self._compared_shape(shape, other, field)

    def _compared_shape(self, shape: Shape, other: Shape, field: str) -> Verdict:
        """The fate of a field of a shape that was read back for the certificate."""
        if not self._differs(shape, field):
            return EXACT
        match field:
            case "name":
                return Verdict(Fate.LOWERED, self.rewritten[Shape, field])
            case "geometry" if shape.kind != other.kind:
                return Verdict(Fate.LOWERED, as_kind(other))
            case "geometry" | "pose":
                return _OTHER_FRAME
        return Verdict(Fate.DROPPED, f"the shape is written without its {field}")


def _is_about_state(loss: Loss, part: str) -> bool:
    """Whether a loss concerns this part of the state of a body: it names parts, or is about all of them."""
    parts = [field for field in loss.fields if field.startswith("state/")]
    return f"state/{part}" in parts if parts else not loss.fields or "state" in loss.fields


def _is_effective(joint: Joint, part: str) -> bool:
    """Whether a joint has the motor, stop or suspension that a parameter of ODE belongs to."""
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


def _is_fixed_anyway(model: Model) -> bool:
    """Whether stated joints fix all bodies of a model: implicit ones do because the model is static."""
    return all(joint.kind == "weld" and not joint.implicit for joint in model.joints)
