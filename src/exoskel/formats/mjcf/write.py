"""Writes a world as an MJCF document for MuJoCo, a tree of typed elements, with the names and frames of the scene.

Bodies are at zero joint positions, as in the scene; the engine sets the initial state.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import atan2, exp, pi, sqrt

import numpy as np

from exoskel import spatial
from exoskel.formats.mjcf.collision_filter import SKIN, Bits, ContactBits
from exoskel.formats.mjcf.geoms import GeomWriter
from exoskel.formats.mjcf.losses import moving
from exoskel.formats.mjcf.model import joints
from exoskel.formats.mjcf.model.coordinates import SIZES
from exoskel.formats.mjcf.model.driven_joints import (
    add_engine_actuators,
    driven_coordinates,
    force_range_attributes,
)
from exoskel.formats.mjcf.model.equalities import EqualityWriter, joint_solver
from exoskel.formats.mjcf.model.inertials import MassProperties
from exoskel.formats.mjcf.model.joints import (
    PRESCRIBED_ARMATURE,
    STIFF,
    STIFF_STEPS,
    UNLIMITED_RANGE,
    MujocoJoint,
    stop_spring,
    suspension,
)
from exoskel.formats.mjcf.model.layout import WorldLayout, duplicate_name
from exoskel.formats.mjcf.model.sensors import SensorWriter
from exoskel.formats.mjcf.model.soft_bodies import EXPLICIT_EDGES, BodySkin
from exoskel.formats.mjcf.model.tendons import TendonWriter
from exoskel.formats.mjcf.tree import CompactBody, MjcfElement, Value, joint_attributes
from exoskel.scene.body import Body, Marker
from exoskel.scene.item import qualified_name
from exoskel.scene.joint import PRESCRIBED_ACTUATORS, UNLIMITED, Dof, Joint, can_mimic, spring_from_erp_cfm
from exoskel.scene.lowering.joint_passes import mimicked_joint
from exoskel.scene.model import Model
from exoskel.scene.pose import ZERO
from exoskel.scene.shape import Plane, Shape
from exoskel.scene.world import World

CONTACT_STEPS = 8.0
"""Time constant of contacts in time steps: stiff enough that penetration is below a millimetre, and soft enough that
sliding bodies do not bounce."""
BOUNCE_STEPS = 16.0
"""Time steps per radian of the oscillation of a bouncing stop: slow enough that discretisation damps it little."""
MAX_BOUNCE = 0.98
"""More would take too long to swing back."""
NO_BOUNCE_DAMPING = 4.0
"""Damping ratio of stops that do not bounce: a few hundredths of the speed remain."""
SPARSE = 60
"""The number of coordinates from which MuJoCo uses sparse matrices by default."""
MAX_DENSE = 500
"""The largest number of coordinates for dense matrices: their factorization takes milliseconds."""
IMPEDANCE_RATIO = 10.0
"""Ratio of the impedances of friction and normal force: with MuJoCo's default, sticking bodies creep."""

TOLERANCE = 1e-20
"""Tolerance of the solver.  MuJoCo's default leaves stiff friction unsolved; this one needs no more iterations."""


LARGE_WORLD = 3000
"""The number of coordinates from which the memory is computed here."""
MIN_MEMORY, BYTES_PER_BODY, BYTES_PER_NUMBER, ROWS_PER_BODY = 1 << 26, 40_000, 32, 36
"""The memory of a large world: minimum, per body for contacts, per number in a sparse row; and rows per body."""


def write(
    world: World,
    *,
    limits: bool | None = None,
    integrator: str = "discrete",
    friction: float | None = None,
    time_step: float | None = None,
    layout: WorldLayout | None = None,
    skins: Sequence[BodySkin] = (),
    compact: bool = False,
) -> MjcfElement:
    """The document.  `limits` switches position limits on or off; by default each joint decides.

    `friction` is the coefficient of all contacts (default: that of each shape, else 1 as in DART), `time_step` in s
    replaces the world's own.  `layout` is that of the world, if already known.  `skins` are the soft skins to write.
    With `compact`, bodies are `CompactBody`, for `to_spec`.
    """
    writer = WorldWriter(world, limits, integrator, friction, time_step, layout, skins)
    writer.is_compact = compact
    return writer.document()


def site_attributes(marker: Marker) -> dict[str, Value]:
    """What differs from MuJoCo's defaults, without the colour."""
    default = Marker("")
    given: dict[str, Value] = {"type": marker.kind} if marker.kind != default.kind else {}
    if marker.size != default.size:
        given["size"] = marker.size
    if marker.quaternion != default.quaternion and any(marker.quaternion):
        given["quat"] = marker.quaternion
    return given


class WorldWriter:
    """Writes the document that the engine runs; `file_writer.FileWriter` adds what only files have."""

    def __init__(
        self,
        world: World,
        limits: bool | None = None,
        integrator: str | None = "discrete",
        friction: float | None = None,
        time_step: float | None = None,
        layout: WorldLayout | None = None,
        skins: Sequence[BodySkin] = (),
    ) -> None:
        self.world = world
        self.layout = layout or WorldLayout(world)
        self.limits = limits
        self.integrator = integrator
        self.step = time_step or world.time_step
        self.inertials = self.layout.inertials
        duplicates = joints.duplicate_counts(world) if self.layout.has_loops else {}
        self.shares = {body: 1.0 / (count + 1) for body, count in duplicates.items()}
        self.skins = {id(skin.body): skin for skin in skins if skin.moves}
        """The soft skins to write, by the id of the body."""
        self.filter = ContactBits(world, self.skins)
        self.root = MjcfElement("mujoco", {"model": world.name}, item=world)
        self.worldbody = MjcfElement("worldbody")
        self.driven = driven_coordinates(world)
        self.geoms = self._geom_writer(self.layout.bodies, friction)
        self.tendons = TendonWriter(world, self.layout)
        self.sensors = SensorWriter(world, self.tendons)
        self.equalities = EqualityWriter(world, self.tendons.tendons)
        self.sites = self.tendons.sites | self.sensors.sites | self.equalities.sites
        self.is_compact = False
        """Whether bodies are `CompactBody`."""
        self._model_bits: Bits | None = None
        """The contact bits of the present model, if all its shapes have the same."""
        self.speeds: dict[str, float] = {}
        """The speeds of the flywheels of motors, rad/s, by name."""
        self._has_tendons = integrator != EXPLICIT_EDGES
        """Whether the edges of skins are tendons, and not forces that are computed before each step."""
        self.stiff = (STIFF_STEPS * self.step, 1.0)
        self._hard_stop = (STIFF_STEPS * self.step, NO_BOUNCE_DAMPING)
        """Time constant and damping ratio of stops that do not bounce."""
        self.joint_friction = joints.friction_parameters(integrator, self.step)

    @cached_property
    def moving(self) -> set[int]:
        """The ids of bodies that can move."""
        return set().union(*(moving(model) for model in self.world.models))

    def _geom_writer(self, bodies: Sequence[Body], friction: float | None) -> GeomWriter:
        shapes = [shape for body in bodies for shape in body.collisions]
        return GeomWriter(shapes, (CONTACT_STEPS * self.step, 1.0), friction)

    def _add_settings(self) -> None:
        """Add the sections before the bodies."""
        root = self.root
        root.add("compiler", angle="radian", autolimits=False, inertiafromgeom=False, boundmass=0.0)
        root.add(
            "option",
            timestep=self.step,
            gravity=self.world.gravity,
            integrator=self.integrator,
            cone="elliptic",
            impratio=IMPEDANCE_RATIO,
            tolerance=TOLERANCE,
        )
        memory = _memory(self.world) if self.layout.dof_count >= LARGE_WORLD else None
        if memory is not None:
            root.add("size", memory=memory)
        root.add("default").add("geom", **self.geoms.common)

    def document(self) -> MjcfElement:
        root = self.root
        self._add_settings()
        root.children += [MjcfElement("asset"), self.worldbody]
        root.children += [MjcfElement(tag) for tag in ("tendon", "actuator", "sensor", "equality", "contact")]
        for model in self.world.models:
            self._model(model)
        self.tendons.add_tendons(root)
        self._add_devices()
        root.child("asset").children = self.geoms.assets
        root.child("option").attributes |= self._solver()
        root.children = [c for c in root.children if c.children or c.attributes]
        return root

    def _add_devices(self) -> None:
        """Add actuators, sensors, equality constraints, and pairs of bodies that do not collide."""
        root = self.root
        self._actuators()
        self.sensors.add_sensors(root, self.tendons.joint_name)
        self.equalities.add_equalities(root, self.tendons.joint_name)
        if self.filter.excludes_pairs:
            self.filter.exclude(root.child("contact"), qualified_name)

    def _actuators(self) -> None:
        """Add the actuators of the scene."""
        add_engine_actuators(self.layout, self.root)

    def _solver(self) -> dict[str, Value]:
        """Options of the solver.

        With many coordinates, MuJoCo 4.0 uses sparse matrices, and then its Newton solver does not converge if tendons
        between trees have friction, as motors do.
        """
        if not any("frictionloss" in tendon.attributes for tendon in self.root.child("tendon").children):
            return {}
        count = sum(SIZES[str(joint["type"])][1] for joint in joint_attributes(self.worldbody))
        if count < SPARSE:
            return {}
        return {"jacobian": "dense"} if count <= MAX_DENSE else {"solver": "CG"}

    # --- bodies ---------------------------------------------------------------------------------------

    def _model(self, model: Model) -> None:
        self._model_bits = self.filter.model_bits(model)
        elements: dict[int, MjcfElement] = {}
        worldbody, fixed = self.worldbody, model.static
        others: list[Joint] = []
        """Joints that need all bodies."""
        for joint in model.joints:
            if joint.loop or joint.kind == "amotor":
                others.append(joint)
            if joint.loop:
                continue
            parent_element = worldbody if joint.parent is None or fixed else elements[id(joint.parent)]
            element = elements[id(joint.child)] = self._body(model, joint, parent_element, fixed)
            if not fixed:
                self._joint(model, joint, element)
        for joint in others if not fixed else ():
            if joint.kind == "amotor":
                self._amotor(model, joint, elements, worldbody)
            elif joint.loop:
                self._loop(model, joint, worldbody if joint.parent is None else elements[id(joint.parent)])

    def _amotor(self, model: Model, joint: Joint, elements: dict[int, MjcfElement], worldbody: MjcfElement) -> None:
        parent_element = worldbody if joint.parent is None else elements[id(joint.parent)]
        frame = np.eye(4) if joint.parent is None else self.layout.zero_poses[id(joint.parent)]
        frames = (self.layout.zero_poses[id(joint.child)], frame)
        name = qualified_name(model.name, joint.name, "amotor")
        feedback = self.inertials.min_moment(joint.child) / self.step
        joints.add_angular_motor(joint, name, (elements[id(joint.child)], parent_element), frames, feedback, self.root)

    def _body(self, model: Model, joint: Joint, parent_element: MjcfElement, fixed: bool) -> MjcfElement:
        body = joint.child
        key = id(body)
        path = self.layout.body_names[key]
        element = self._new_body(body, path, fixed)
        parent_element.children.append(element)
        for number, shape in enumerate(body.collisions):
            if type(shape.geometry) is Plane and not fixed and self._is_moving_plane(body, shape):
                continue
            bits = (self._model_bits if shape.collidable else None) or self.filter.bits(model, body, shape)
            name = f"{path}/collision{number}"
            if type(element) is CompactBody:
                element.geoms += self.geoms.geoms(shape, name, bits, fixed)
            else:
                self.geoms.add(element, shape, name, bits, fixed)
        if self.sites or self.tendons.shapes:
            self._add_tendon_parts(model, body, element, fixed)
        skin = self.skins.get(key) if self.skins else None
        if skin is not None:
            skin.add_points(element, self.filter.bits(model, body, SKIN))
            if self._has_tendons:
                skin.add_edges(self.root.child("tendon"))
        return element

    def _new_body(self, body: Body, path: str, fixed: bool) -> MjcfElement:
        """A body with its pose and its mass properties."""
        position, quaternion = self.layout.frames[id(body)]
        if self.is_compact:
            given: dict[str, Value] = {} if body.gravity else {"gravcomp": 1.0}
            inertial = None if fixed else self._mass_properties(body)
            return CompactBody("body", given, [], body, path, position, quaternion, inertial)
        given = {"name": path, "pos": position, "quat": quaternion}
        if not body.gravity:
            given["gravcomp"] = 1.0
        element = MjcfElement("body", given, item=body)
        if not fixed:
            self._inertial(element, body)
        return element

    def _add_tendon_parts(self, model: Model, body: Body, element: MjcfElement, fixed: bool) -> None:
        """Add the visual shapes that tendons wrap around, and the sites of tendons and sensors."""
        for number, shape in enumerate(body.visuals if self.tendons.shapes else ()):
            if id(shape) in self.tendons.shapes:
                self.geoms.add(element, shape, qualified_name(model.name, body.name, f"visual{number}"), (0, 0), fixed)
        for marker in body.markers if self.sites else ():
            if id(marker) in self.sites:
                site = element.add("site", name=qualified_name(model.name, body.name, marker.name), pos=marker.offset)
                site.attributes |= site_attributes(marker)

    def _is_moving_plane(self, body: Body, shape: Shape) -> bool:
        """Whether a shape is a plane on a moving body, which MuJoCo does not support."""
        return type(shape.geometry) is Plane and id(body) in self.moving

    def _mass_properties(self, body: Body) -> MassProperties:
        mass, centre, moment = found = self.inertials.of(body)
        if not self.shares:
            return found
        share = self.shares.get(id(body), 1.0)
        return share * mass, centre, share * moment

    def _inertial(self, element: MjcfElement, body: Body) -> None:
        mass, centre, moment = self._mass_properties(body)
        element.children.append(MjcfElement("inertial", {"pos": centre, "mass": mass, "fullinertia": moment}))

    # --- joints ---------------------------------------------------------------------------------------

    def _joint(self, model: Model, joint: Joint, element: MjcfElement) -> None:
        chain, names = self.layout.chain(model, joint)
        if joint.is_plain and len(chain) == 1 and chain[0].type == "free":
            if type(element) is CompactBody:
                element.free_joint = names[0]
            else:
                self._add_joint(element, joint, {"name": names[0], "type": "free"})
            return
        has_motors = joint.drives or joint.actuator == "servo"
        motors = joints.motors_of_chain(joint, chain) if has_motors else [None] * len(chain)
        for name, link, motor in zip(names, chain, motors, strict=True):
            self._add_joint(element, joint, self._link(name, joint, link))
            if motor is not None:
                joints.add_motor(motor, name, self.root, self.joint_friction)
                self.speeds[joints.flywheel_name(name)] = motor.velocity
        self._couple_links(model, joint, names)

    def _couple_links(self, model: Model, joint: Joint, names: list[str]) -> None:
        """Add the constraints of a screw, and of a joint that follows another one."""
        if joint.kind == "screw":
            self._couple(joint, names[1], names[0], 0.0, joint.pitch / (2 * np.pi))
        if joint.mimic is not None:
            self._mimic(model, joint, names)

    def _mimic(self, model: Model, joint: Joint, names: list[str]) -> None:
        source = mimicked_joint(joint, model)
        if source is None or joint.mimic is None or not can_mimic(joint.kind, source.kind):
            return
        for mine, theirs in zip(names, self.layout.chain(model, source)[1], strict=True):
            self._couple(joint, mine, theirs, joint.mimic.offset, joint.mimic.multiplier)

    def _couple(self, joint: Joint, follower: str, leader: str, offset: float, factor: float) -> None:
        polynomial = (offset, factor, 0.0, 0.0, 0.0)
        made = self.root.child("equality").add("joint", joint1=follower, joint2=leader, polycoef=polynomial)
        made.attributes |= joint_solver(joint, self.stiff)

    @staticmethod
    def _add_joint(element: MjcfElement, joint: Joint, given: dict[str, Value]) -> None:
        if type(element) is CompactBody:
            element.joints.append(given)
        else:
            element.children.append(MjcfElement("joint", given, item=joint))

    def _link(self, name: str, joint: Joint, link: MujocoJoint) -> dict[str, Value]:
        """The attributes of a MuJoCo joint."""
        given: dict[str, Value] = {"name": name, "type": link.type}
        rows = [joint._dofs[c] for c in link.coordinates] if joint._dofs is not None else []
        is_prescribed = joint.actuator in PRESCRIBED_ACTUATORS
        if is_prescribed:
            given["armature"] = PRESCRIBED_ARMATURE
        elif rows and (armature := _mean([dof.armature for dof in rows])):
            given["armature"] = armature
        if link.type == "free":
            return given
        given["pos"] = ZERO if link.at_origin else joint.pose.position
        if link.type != "ball":
            given["axis"] = link.axis
        if self.driven and len(rows) == 1 and (id(joint), link.coordinates[0]) in self.driven:
            given |= force_range_attributes(rows[0])
        if rows:
            self._dynamics(given, joint, rows, is_prescribed)
        elif joint.kind == "hinge2" and not link.coordinates:
            stiffness, damping = spring_from_erp_cfm(*(suspension(joint) or (0.2, 1.0)), self.step)
            given |= {"stiffness": stiffness, "damping": damping}
        return given

    def _dynamics(self, given: dict[str, Value], joint: Joint, rows: Sequence[Dof], is_prescribed: bool) -> None:
        """Springs, damping, friction and limits; a ball has one value of each for its three axes, the mean."""
        first = rows[0]
        damping, stiffness, friction = first.damping, first.stiffness, first.friction
        if len(rows) > 1:
            damping, stiffness = _mean([dof.damping for dof in rows]), _mean([dof.stiffness for dof in rows])
            friction = _mean([dof.friction for dof in rows])
        if damping:
            given["damping"] = damping
        if stiffness:
            given["stiffness"] = stiffness
            if given["type"] != "ball":
                given["springref"] = first.rest
        if is_prescribed:
            return  # limits and friction do not apply to prescribed motion
        if friction:
            given["frictionloss"] = friction
            given |= self.joint_friction
        if joint.limits_enforced if self.limits is None else self.limits:
            self._limit(given, joint, rows)

    def _limit(self, given: dict[str, Value], joint: Joint, rows: Sequence[Dof]) -> None:
        low, high = limits = rows[0].position_limits
        if given["type"] == "ball":
            widest = max(max(-dof.position_limits[0], dof.position_limits[1]) for dof in rows)
            if 0.0 < widest < pi:
                given |= {"limited": True, "range": (0.0, widest)}
            return
        if limits == UNLIMITED or low > high or rows[0].has_limits_at_infinity:
            return
        if low < high:
            given["limited"], given["range"] = True, (_bound(low), _bound(high))
            given["solreflimit"] = self._stop(joint, rows[0]) if joint.drives else self._hard_stop
            given["solimplimit"] = STIFF
        elif (soft := stop_spring(joint, self._dof_index(joint, rows[0]))) and not rows[0].stiffness:
            stiffness, damping = spring_from_erp_cfm(*soft, self.step)  # two stops at one point are a spring and damper
            given |= {"stiffness": stiffness, "springref": low, "damping": rows[0].damping + damping}
        else:  # a range of one point fixes the joint
            fixed = (low, 0.0, 0.0, 0.0, 0.0)
            made = self.root.child("equality").add("joint", joint1=str(given["name"]), polycoef=fixed)
            made.attributes |= joint_solver(joint, self.stiff)

    @staticmethod
    def _dof_index(joint: Joint, dof: Dof) -> int:
        return next(i for i, one in enumerate(joint.dofs) if one is dof)

    def _stop(self, joint: Joint, dof: Dof) -> tuple[float, float]:
        """Time constant and damping ratio of a stop, from its bounce."""
        index = self._dof_index(joint, dof)
        bounce = (joint.drives[index].bounce or 0.0) if index < len(joint.drives) else 0.0
        bounce = min(bounce, MAX_BOUNCE)
        if not bounce > 0.0:
            return self._hard_stop
        ratio = _damping_ratio(bounce)
        return (BOUNCE_STEPS * self.step / ratio, ratio)

    # --- loops ----------------------------------------------------------------------------------------

    def _loop(self, model: Model, joint: Joint, parent_element: MjcfElement) -> None:
        """Write a joint that closes a loop: constraints between points or frames, or a duplicate of the child."""
        child = qualified_name(model.name, joint.child.name)
        if joint.kind in ("free", "amotor"):
            return
        parent = "world" if joint.parent is None else qualified_name(model.name, joint.parent.name)
        if joint.kind == "weld":
            name = qualified_name(model.name, joint.name)
            self._constrain(joint, "weld", name=name, body1=child, body2=parent, **self._weld_values(joint))
            return
        ends = {"body1": child} | ({} if joint.parent is None else {"body2": parent})
        """The world is the second body of a connection that states none.  Drake refuses its name there; DART crashes on
        a weld that states none."""
        points = joints.anchors(joint)
        for number, point in enumerate(points or ()):
            called = qualified_name(model.name, joint.name, str(number))
            self._constrain(joint, "connect", name=called, **ends, anchor=tuple(point.tolist()))
        if points is None:
            name = duplicate_name(model, joint)
            pose = self.layout.zero_poses[id(joint.child)]
            if joint.parent is not None:
                pose = spatial.inverse(self.layout.zero_poses[id(joint.parent)]) @ pose
            quaternion = spatial.quaternion(pose[:3, :3]).tolist()
            position = spatial.without_noise(pose[:3, 3]).tolist()
            body = parent_element.add("body", name=name, pos=position, quat=quaternion)
            self._inertial(body, joint.child)
            self._joint(model, joint, body)
            weld = self.root.child("equality").add("weld", name=name, body1=child, body2=name)
            weld.attributes |= {"solref": self.stiff, "solimp": STIFF}

    def _constrain(self, joint: Joint, tag: str, **attributes: Value) -> None:
        made = self.root.child("equality").add(tag, **attributes)
        made.attributes |= joint_solver(joint, self.stiff)
        made.item = joint

    def _weld_values(self, joint: Joint) -> dict[str, Value]:
        """Where a weld with solver parameters acts, in the parent, and how strongly it opposes rotation."""
        if joint.solver is None:
            return {}
        point = self.layout.zero_poses[id(joint.child)] @ np.append(joint.pose.position, 1.0)
        if joint.parent is not None:
            point = spatial.inverse(self.layout.zero_poses[id(joint.parent)]) @ point
        anchor = spatial.without_noise(point[:3])
        found: dict[str, Value] = {"anchor": anchor.tolist()} if anchor.any() else {}
        scale = joint.solver.torque_scale
        return found | ({"torquescale": scale} if scale != 1.0 else {})


def _memory(world: World) -> int:
    """Bytes for contacts and the solver in large worlds, where MuJoCo's own estimate, quadratic in coordinates, fails.

    Per body a dozen contacts of three rows each, over the coordinates of two models, and per model its matrices.  The
    memory is reserved, not used.
    """
    rows = sum(ROWS_PER_BODY * len(m.bodies) * 2 * max(m.dof_count, 6) + 2 * m.dof_count**2 for m in world.models)
    return MIN_MEMORY + BYTES_PER_NUMBER * rows + BYTES_PER_BODY * sum(len(m.bodies) for m in world.models)


def _damping_ratio(bounce: float) -> float:
    """The damping ratio of a spring and damper that only push, after which the share `bounce` of the speed remains."""
    low, high = 1e-6, 1.0 - 1e-6
    for _ in range(50):
        middle = 0.5 * (low + high)
        across = sqrt(1.0 - middle**2)
        swing = pi - atan2(2.0 * middle * across, 1.0 - 2.0 * middle**2)  # until the force is zero again, rad
        low, high = (middle, high) if exp(-middle / across * swing) > bounce else (low, middle)
    return 0.5 * (low + high)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _bound(value: float) -> float:
    return min(max(value, -UNLIMITED_RANGE), UNLIMITED_RANGE)
