"""Writes a world as an `MjSpec` for the engine.  Most bodies are added to it directly, without a document."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from exoskel.formats.mjcf import mujoco_import
from exoskel.formats.mjcf.collision_filter import Bits
from exoskel.formats.mjcf.geoms import DEFAULT_BITS, PRIMITIVES
from exoskel.formats.mjcf.model.inertials import MassProperties
from exoskel.formats.mjcf.model.joints import FREE_CHAIN, STIFF, UNLIMITED_RANGE, MujocoJoint
from exoskel.formats.mjcf.tree import MAX_UNBATCHED, NO_ROTATION, SpecEmitter, to_spec
from exoskel.formats.mjcf.write import WorldWriter
from exoskel.scene.body import Body
from exoskel.scene.item import extended_name, name_prefix
from exoskel.scene.joint import UNLIMITED, Joint
from exoskel.scene.model import Model
from exoskel.scene.pose import IDENTITY, ZERO
from exoskel.scene.shape import Geometry, Plane, Shape, TriMesh
from exoskel.spatial import Array

_LimitsAndSpring = tuple[bool, float, float, float, float, float]
"""Whether a joint has no limits, its limits, damping, stiffness and the rest position of its spring."""
_FREQUENT = 3
"""The number of joints or geoms with the same values before a class for further ones is created."""


class SpecWriter(WorldWriter):
    """Adds bodies to an `MjSpec` where nothing else adds parts to them; otherwise it writes a document first."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.is_compact = True
        self.emitter = SpecEmitter(mujoco_import.load())
        self._spec: Any = self.emitter.new_spec(self.world.name) if self._is_direct() else None
        self._root: Any = None if self._spec is None else self._spec.worldbody
        self._default: Any = None if self._spec is None else self._spec.default
        """MuJoCo's class of all parts without another one: it would look it up for each."""
        self._types, self._three = self.emitter.geom_types, self.emitter.three_numbers
        self._has_ranks = self.geoms.has_ranks
        self._classes: dict[Hashable, Any] = {}
        """MuJoCo's classes of joints and geoms with the same values."""
        self._counts: dict[Hashable, int] = {}
        self._bodies: dict[int, Any] = {}
        """MuJoCo's bodies by the ids of those of the scene."""
        self._parts: Iterator[tuple[Array, Array, MassProperties]]
        """Position, rotation and mass properties of the bodies that remain to be added."""

    def _is_direct(self) -> bool:
        """Whether bodies have only joints and geoms, and few enough are in the world itself to need no batches."""
        if self.skins or self.sites or self.tendons.tendons or self.shares:
            return False
        layout = self.layout
        if layout.has_loops or layout.has_motors or "amotor" in layout.kinds:
            return False
        return len(layout.joints) <= MAX_UNBATCHED or len(list(layout.roots)) <= MAX_UNBATCHED

    def spec(self) -> Any:
        """The `MjSpec` of the world."""
        spec, emitter, root = self._spec, self.emitter, self.root
        if spec is None:
            return to_spec(self.document())
        self._add_settings()
        emitter.add_sections(spec, root.children)
        root.children = []
        if not self.layout.is_plain:
            stops = self._stops = spec.add_default("stops", self._default)
            stops.joint.limited, stops.joint.solref_limit, stops.joint.solimp_limit = 1, self._hard_stop, STIFF
        properties = self.inertials.in_order([joint.child for _, joint in self.layout.joints])
        self._parts = zip(*self.layout.placement, properties, strict=True)
        for model in self.world.models:
            self._add_bodies(model)
        self._add_devices()
        emitter.add_meshes(spec, self.geoms.assets)
        emitter.add_sections(spec, root.children)
        return spec

    # --- bodies ---------------------------------------------------------------------------------------

    def _add_bodies(self, model: Model) -> None:
        """Add the bodies of a model: without calls for the most frequent ones, which would take a third of the time."""
        bits, prefix, is_plain = self.filter.model_bits(model), name_prefix(model.name), self.layout.is_plain
        bodies, names, root, fixed = self._bodies, self.layout.body_names, self._root, model.static
        default = self._default
        for joint in model.joints:
            body, parent = joint.child, joint.parent
            key = id(body)
            made = bodies[key] = (root if parent is None or fixed else bodies[id(parent)]).add_body(default)
            name = made.name = names[key]
            made.pos, rotation, properties = next(self._parts)
            if rotation is not NO_ROTATION:
                made.quat = rotation
            if not body.gravity:
                made.gravcomp = 1.0
            if not fixed:
                made.explicitinertial = True
                made.mass, made.ipos, made.fullinertia = properties
                if is_plain and parent is None and joint.kind == "free":
                    made.add_freejoint().name = extended_name(prefix, joint.name)
                else:
                    self._add_joints(model, joint, made)
            for number, shape in enumerate(body.collisions):
                own = (bits if shape.collidable else None) or self.filter.bits(model, body, shape)
                self._add_geoms(made, (body, shape), f"{name}/collision{number}", own, fixed)

    def _add_geoms(self, body: Any, part: tuple[Body, Shape], name: str, bits: Bits, fixed: bool) -> None:
        shape = part[1]
        geometry = shape.geometry
        kind = type(geometry)
        is_default = shape.pose is IDENTITY and shape.friction is None and shape.color is None and not self._has_ranks
        if not is_default or (kind not in PRIMITIVES and (kind is not TriMesh or fixed)):
            self._add_other(body, part, name, bits, fixed)
            return
        mesh = self.geoms.hull(name, geometry) if type(geometry) is TriMesh else ""
        if mesh is None:
            return
        values = (kind if mesh else geometry, bits)
        frequent = self._classes.get(values)
        made = body.add_geom(frequent or self._default)
        if frequent is None:
            self._set_shape(made, geometry, bits)
            if self._is_frequent(values):
                self._set_shape(self._new_class(values, self._default).geom, geometry, bits)
        made.name = name
        if mesh:
            made.meshname = mesh

    def _set_shape(self, made: Any, geometry: Geometry, bits: Bits) -> None:
        """Set the shape and the contact bits of a geom, or of a class."""
        if type(geometry) is TriMesh:
            made.type = self._types["mesh"]
        else:
            primitive, size = PRIMITIVES[type(geometry)]
            made.type, made.size = self._types[primitive], self._three(*size(geometry))
        if bits != DEFAULT_BITS:
            made.contype, made.conaffinity = bits

    def _add_other(self, made: Any, part: tuple[Body, Shape], name: str, bits: Bits, fixed: bool) -> None:
        """Add the geoms of a shape."""
        body, shape = part
        if type(shape.geometry) is Plane and not fixed and self._is_moving_plane(body, shape):
            return
        for given in self.geoms.geoms(shape, name, bits, fixed):
            self.emitter.make_geom(made, given)

    # --- joints ---------------------------------------------------------------------------------------

    def _add_joints(self, model: Model, joint: Joint, body: Any) -> None:
        chain, names = self.layout.chain(model, joint)
        if chain is FREE_CHAIN and joint.is_plain:
            body.add_freejoint().name = names[0]
        elif len(chain) != 1 or not self._add_single(body, names[0], joint, chain[0]):
            for name, link in zip(names, chain, strict=True):
                self.emitter.make_joint(body, self._link(name, joint, link))
        if joint.kind == "screw" or joint.mimic is not None:
            self._couple_links(model, joint, names)

    def _add_single(self, body: Any, name: str, joint: Joint, link: MujocoJoint) -> bool:
        """Add a hinge or slide; returns False if it has rare properties, and was not added."""
        rows = joint._dofs
        if link.type not in ("hinge", "slide") or joint.actuator != "force" or self.driven:
            return False
        if rows is None:
            made = body.add_joint(self._default)
        else:
            dof = rows[0]
            if dof.friction or dof.armature or len(rows) > 1:
                return False
            low, high = dof.position_limits
            is_free = not (joint.limits_enforced if self.limits is None else self.limits) or (low, high) == UNLIMITED
            if not (is_free or (low < high and low < UNLIMITED_RANGE and high > -UNLIMITED_RANGE)):
                return False
            values = (is_free, low, high, dof.damping, dof.stiffness, dof.rest)
            frequent = self._classes.get(values)
            above = self._default if is_free else self._stops
            made = body.add_joint(frequent or above)
            if frequent is None:
                self._set_values(made, values)
                if self._is_frequent(values):
                    self._set_values(self._new_class(values, above).joint, values)
        made.name, made.axis = name, self.emitter.array_of(link.axis)
        if link.type != "hinge":  # MuJoCo's default
            made.type = self.emitter.joint_types[link.type]
        if not link.at_origin and joint.pose.position is not ZERO:
            made.pos = self.emitter.three_numbers(*joint.pose.position)
        return True

    def _set_values(self, made: Any, values: _LimitsAndSpring) -> None:
        """Set limits, damping and spring of a joint, or of a class."""
        is_free, low, high, damping, stiffness, rest = values
        if not is_free:
            made.range = self.emitter.range_of(max(low, -UNLIMITED_RANGE), min(high, UNLIMITED_RANGE))
        if damping:
            made.damping = self.emitter.linear_term(damping)
        if stiffness:
            made.stiffness = self.emitter.linear_term(stiffness)
            if rest:
                made.springref = rest

    # --- classes --------------------------------------------------------------------------------------

    def _is_frequent(self, values: Hashable) -> bool:
        """Whether so many joints or geoms have the same values, with this one, that a class pays off."""
        count = self._counts[values] = self._counts.get(values, 0) + 1
        return count == _FREQUENT

    def _new_class(self, values: Hashable, above: Any) -> Any:
        """A class for the values of joints or geoms, which then need not be set for each."""
        made = self._classes[values] = self._spec.add_default(f"values{len(self._classes)}", above)
        return made
