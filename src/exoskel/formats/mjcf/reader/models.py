"""Bodies and joints: from what MuJoCo has compiled to models of a scene.

Bodies are grouped into models: one per tree, merged if a constraint connects trees or if they share a name prefix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite
from operator import add
from typing import Any

import numpy as np
from msgspec import Struct, field

from exoskel import spatial
from exoskel.formats.mjcf.model.coordinates import Addresses, Coordinates
from exoskel.formats.mjcf.model.joints import MujocoJoint, free_joint_chain, joint_chain
from exoskel.formats.mjcf.model.layout import WorldLayout, mujoco_joint_names
from exoskel.formats.mjcf.names import split_path
from exoskel.formats.mjcf.reader.compiled import Compiled
from exoskel.formats.mjcf.reader.generated_parts import (
    GeneratedParts,
    common_model,
    is_inertia_shape,
    joint_name,
    numbered_joint,
    servo_frame,
    strip_model,
)
from exoskel.formats.mjcf.reader.joint_chains import EXACT, ChainJoint, Screws, Segment, segments
from exoskel.formats.mjcf.reader.shapes import MjcfShapeReader
from exoskel.scene.body import Body, Marker, MarkerKind
from exoskel.scene.inertia import NO_MOMENT, Inertia, Moment
from exoskel.scene.item import Names, unique_name
from exoskel.scene.joint import Drive, Joint, erp_cfm_from_spring
from exoskel.scene.model import Model
from exoskel.scene.pose import IDENTITY, Pose, poses_from_matrices, vector_from_array
from exoskel.scene.shape import Shape, clamp_color
from exoskel.scene.world import World
from exoskel.spatial import Array

WORLD = "world"
_CONNECT, _WELD = 0, 1
"""Values of mjtEq."""


_SITE_KINDS: dict[int, MarkerKind] = {2: "sphere", 3: "capsule", 4: "ellipsoid", 5: "cylinder", 6: "box", 7: "box"}
"""Of mjtGeom."""
_DEFAULT_SITE_COLOR = (0.5, 0.5, 0.5, 1.0)


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
        if out and prefixes[root] == WORLD and not any(map(compiled.joints_of, bodies)):
            out[0].prefix = WORLD
            out[0].bodies += sorted(bodies)
            continue
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


DOCUMENT = 0
"""A freshly read scene has one document."""
_CLOSE = 1e-9
"""The relative tolerance within which a stated tensor replaces the compiled one."""
_LEAST_IMPULSE = 1e-300
"""The smallest impulse of a spring and damper per step and m of travel: ODE's CFM is its inverse."""


class Owner(Struct, frozen=True):
    """The joint of a scene that a MuJoCo joint belongs to, and its first degree of freedom there."""

    model: Model
    joint: Joint
    first: int


class FoundParts(Struct):
    """The items created so far, by their numbers in MuJoCo."""

    bodies: dict[int, Body] = field(default_factory=dict)
    models: dict[int, Model] = field(default_factory=dict)
    """The model of each body."""
    owners: dict[int, Owner] = field(default_factory=dict)
    segments: list[tuple[Model, Joint, Segment]] = field(default_factory=list)
    shapes: dict[int, Shape] = field(default_factory=dict)
    markers: dict[int, Marker] = field(default_factory=dict)


def _stated_moments(moments: Array, stated: Mapping[int, Sequence[float]]) -> list[Moment]:
    """The moments of all bodies about their centres of mass, as stated unless MuJoCo changed them."""
    found = {number: values for number, values in stated.items() if isfinite(values[0])}
    if found:
        numbers, values = list(found), np.array(list(found.values()))
        mine = moments[numbers]
        close = np.abs(values - mine).max(axis=1) <= _CLOSE * np.abs(mine).max(axis=1)
        moments[numbers] = np.where(close[:, None], values, mine)
    return list(map(tuple, moments.tolist()))


class MjcfModelReader:
    """Creates models from groups of bodies."""

    def __init__(
        self,
        compiled: Compiled,
        generated: GeneratedParts,
        shapes: MjcfShapeReader,
        report: Callable[..., None],
        screws: Screws,
    ) -> None:
        self.compiled = compiled
        self.mujoco: Any = compiled.model
        self.generated = generated
        self.shapes = shapes
        self.report = report
        self.screws = screws
        self.found = FoundParts()
        self._shared = self._mass_duplicates()
        self._poses = poses_from_matrices(compiled.zero)
        rotations = spatial.quaternion_matrix(self.mujoco.body_iquat)
        principal = np.zeros((len(rotations), 3, 3))
        principal[:, range(3), range(3)] = self.mujoco.body_inertia
        self._moments = _stated_moments(
            spatial.moment_entries(spatial.rotate_moment(rotations, principal)), compiled.full_inertias
        )
        self._masses: list[float] = self.mujoco.body_mass.tolist()
        self._centres: list[tuple[float, float, float]] = list(map(tuple, self.mujoco.body_ipos.tolist()))
        self._mocap_ids: list[int] = self.mujoco.body_mocapid.tolist()
        self._compensations: list[float] = self.mujoco.body_gravcomp.tolist()
        self._sites: dict[int, list[int]] = {}
        for site, body in enumerate(self.mujoco.site_bodyid.tolist()):
            self._sites.setdefault(body, []).append(site)

    def _mass_duplicates(self) -> dict[int, list[int]]:
        """The duplicates that share a body's mass."""
        out: dict[int, list[int]] = {}
        for duplicate, body in self.generated.duplicates.items():
            out.setdefault(body, []).append(duplicate)
        return out

    def model(self, group: BodyGroup) -> Model:
        made = Model(name=group.name, document=DOCUMENT, node=self.compiled.bodies.node(group.bodies[0]))
        self._taken, self._joints = Names(), Names()
        for number in group.bodies:
            self._add_body(made, number, group)
        for duplicate, child in self.generated.duplicates.items():
            if child in group.bodies:
                self._add_loop_joint(made, duplicate, child, group)
        made.static = all(joint.kind == "weld" for joint in made.joints)
        return made

    # --- bodies ---------------------------------------------------------------------------------------

    def _add_body(self, model: Model, number: int, group: BodyGroup) -> None:
        written = self.compiled.bodies.name(number)
        name = self._unique(strip_model(written, group.prefix) if written else f"body_{number}")
        body = Body(
            name=name,
            pose=self._poses[number],
            inertia=self._inertia(number),
            gravity=self._gravity(number, name),
            soft=self.generated.skins.get(number),
            document=DOCUMENT,
            node=self.compiled.bodies.node(number),
        )
        body.visuals[:], body.collisions[:] = self._geoms(number)
        body.markers[:] = self._markers(number)
        self.found.bodies[number], self.found.models[number] = body, model
        if number and self._mocap_ids[number] >= 0:
            self.report("MJ306", body.node, attribute="mocap", body=name)
        self._add_joints(model, number, body, group)
        model.bodies.append(body)

    def _unique(self, name: str) -> str:
        out = unique_name(name, self._taken)
        self._taken.add(out)
        return out

    def _inertia(self, number: int) -> Inertia:
        if not number:
            return Inertia(mass=0.0, moment=NO_MOMENT)
        mass, moment = self._masses[number], self._moments[number]
        for other in self._shared.get(number, ()):
            mass += self._masses[other]
            xx, yy, zz, xy, xz, yz = map(add, moment, self._moments[other])
            moment = (xx, yy, zz, xy, xz, yz)
        return Inertia(mass=mass, com=self._centres[number], moment=moment)

    def _gravity(self, number: int, name: str) -> bool:
        compensation = self._compensations[number]
        if compensation not in (0.0, 1.0):
            read = "1" if compensation > 0.5 else "0"
            self.report(
                "MJ305",
                self.compiled.bodies.node(number),
                attribute="gravcomp",
                body=name,
                value=compensation,
                read=read,
            )
        return compensation <= 0.5

    def _geoms(self, number: int) -> tuple[list[Shape], list[Shape]]:
        visuals: list[Shape] = []
        collisions: list[Shape] = []
        first, count = int(self.mujoco.body_geomadr[number]), int(self.mujoco.body_geomnum[number])
        numbers = range(first, first + count) if count else range(0)
        names = {self.compiled.geoms.name(geom): geom for geom in numbers}
        parts = {name.rpartition("/")[0]: geom for name, geom in names.items() if len(name.split("/")) == 4}
        slabs = {name: part for name, part in parts.items() if name in names}
        for geom in numbers:
            name = self.compiled.geoms.name(geom)
            if name.rpartition("/")[0] in slabs:
                continue  # the whole mesh is written with its slabs
            if is_inertia_shape(self.compiled, geom):
                continue
            shape = self.shapes.shape(geom)
            if shape is None:
                continue
            collides = bool(self.mujoco.geom_contype[geom] or self.mujoco.geom_conaffinity[geom])
            split = split_path(name)
            own = split[2] if len(split) == 3 else ""
            if own.startswith(("visual", "collision")):
                shape.name = ""
            shape.collidable = collides or name in slabs or not own.startswith("collision")
            if name in slabs:
                shape.friction = self.shapes.friction(slabs[name])
            (collisions if collides or own.startswith("collision") else visuals).append(shape)
            self.found.shapes[geom] = shape
        return visuals, collisions

    def _markers(self, number: int) -> Iterator[Marker]:
        for site in self._sites.get(number, ()):
            name = self.compiled.sites.name(site)
            split = split_path(name)
            if len(split) == 4 and split[2] == "amotor":
                continue
            made = self._marker(site, (split[2] if len(split) == 3 else name) or f"site_{site}")
            self.found.markers[site] = made
            yield made

    def _marker(self, site: int, name: str) -> Marker:
        model = self.mujoco
        color = tuple(float(str(one)) for one in model.site_rgba[site].astype(np.float32))  # as in the file
        return Marker(
            name=name,
            offset=vector_from_array(model.site_pos[site]),
            quaternion=tuple(model.site_quat[site].tolist()),
            kind=_SITE_KINDS.get(int(model.site_type[site]), "sphere"),
            size=vector_from_array(model.site_size[site]),
            color=None if color == _DEFAULT_SITE_COLOR else clamp_color(color),  # type: ignore[arg-type]
            document=DOCUMENT,
            node=self.compiled.sites.node(site),
        )

    # --- joints ---------------------------------------------------------------------------------------

    def _segments(self, number: int) -> list[Segment]:
        model, joints = self.mujoco, self.compiled.joints_of(number)
        chain = [ChainJoint(j, self.compiled.types[j], model.jnt_pos[j], model.jnt_axis[j]) for j in joints]
        written = bool(numbered_joint([self.compiled.joints.name(j) for j in joints]))
        suspended = written and len(chain) == 3 and any(map(self._is_sprung, chain))
        found = segments(chain, self.screws, suspended=suspended)
        for segment in found:
            if len(segment.numbers) == 1 and segment.numbers[0] in self.generated.servos:
                self._set_servo_frame(segment)
        return found

    def _set_servo_frame(self, segment: Segment) -> None:
        """Set the joint frame of a ball or free joint to the axes of its servo."""
        driven = segment.numbers[0]
        actuators = self.generated.servos[driven]
        rotation = servo_frame(self.compiled, driven, actuators)
        if segment.kind == "free":  # forces act at the origin of the joint frame: their torque is position x force
            gears = self.compiled.gears[[actuators[3 + i] for i in range(3)]]
            segment.anchor = vector_from_array(
                spatial.without_noise(0.5 * np.cross(gears[:, :3], gears[:, 3:]).sum(axis=0))
            )
        if np.abs(rotation - np.eye(3)).max() > EXACT:
            segment.rotation = rotation

    def _is_sprung(self, part: ChainJoint) -> bool:
        """Whether a slide has a spring or damper that ODE's ERP and CFM can express."""
        if part.type != "slide":
            return False
        stiffness, damping, step = self._spring(part.number)
        return step * stiffness + damping > _LEAST_IMPULSE

    def _spring(self, slide: int) -> tuple[float, float, float]:
        """The stiffness and damping along a slide, and the step."""
        model = self.mujoco
        damping = float(model.dof_damping[model.jnt_dofadr[slide]])
        return float(model.jnt_stiffness[slide]), damping, float(model.opt.timestep)

    def _add_joints(self, model: Model, number: int, body: Body, group: BodyGroup) -> None:
        """Add the joints between a body and its parent; all but the last have massless children."""
        parent = self.found.bodies.get(self.compiled.parents[number]) if number else None
        if parent is not None and self.found.models[self.compiled.parents[number]] is not model:
            parent = None
        chain = self._segments(number) if number else []
        if len(chain) > 1:
            kinds = ", ".join(segment.kind for segment in chain)
            count = sum(len(segment.numbers) for segment in chain)
            self.report("MJ301", body.node, body=body.name, count=count, kinds=kinds)
        for place, segment in enumerate(chain):
            last = place == len(chain) - 1
            child = body if last else self._add_massless_body(model, body, place)
            self._add_joint(model, child, parent, segment, group)
            parent = child
        if not chain:
            name = self._joint_name(f"{body.name}_{'root' if parent is None else 'weld'}")
            weld = Joint(name=name, kind="weld", child=body, parent=parent, document=DOCUMENT, node=body.node)
            weld.implicit = True
            model.joints.append(weld)

    def _add_massless_body(self, model: Model, body: Body, place: int) -> Body:
        name = self._unique(f"{body.name}_link{place}")
        made = Body(name=name, pose=body.pose, inertia=Inertia(mass=0.0, moment=NO_MOMENT), document=DOCUMENT)
        made.node = body.node
        model.bodies.append(made)
        return made

    def _add_joint(self, model: Model, body: Body, parent: Body | None, segment: Segment, group: BodyGroup) -> Joint:
        names = [self.compiled.joints.name(j) for j in segment.numbers]
        called = joint_name(names, group.prefix, body.name)
        made = Joint(
            name=self._joint_name(called),
            kind=segment.kind,
            child=body,
            parent=parent,
            pose=_pose(segment),
            axes=segment.axes,
            order=segment.order,
            plane=segment.plane,
            pitch=segment.pitch,
            swapped=segment.swapped,
            document=DOCUMENT,
            node=self.compiled.joints.node(segment.numbers[0]),
        )
        if segment.suspension >= 0:
            made.drives = (self._suspension(segment.suspension), Drive())
        model.joints.append(made)
        self.found.segments.append((model, made, segment))
        if segment.kind == "free":
            firsts = {number: (3 + i if len(segment.numbers) > 1 else 0) for i, number in enumerate(segment.numbers)}
            firsts[segment.numbers[-1]] = 0
        else:
            firsts = {number: i for i, number in enumerate(segment.coordinates)}
        for number, first in firsts.items():
            self.found.owners[number] = Owner(model, made, first)
            if len(segment.numbers) > 1 and not numbered_joint(names) and segment.kind not in ("free", "screw"):
                made.dofs[first].name = strip_model(self.compiled.joints.name(number), group.prefix)
        return made

    def _suspension(self, slide: int) -> Drive:
        """The ERP and CFM of a spring and damper along a slide."""
        erp, cfm = erp_cfm_from_spring(*self._spring(slide))
        return Drive(suspension_erp=erp, suspension_cfm=cfm)

    def _joint_name(self, name: str) -> str:
        out = unique_name(name, self._joints)
        self._joints.add(out)
        return out

    def _add_loop_joint(self, model: Model, duplicate: int, child: int, group: BodyGroup) -> None:
        chain = self._segments(duplicate)
        if len(chain) != 1:
            return
        parent = self.compiled.parents[duplicate]
        joint = self._add_joint(
            model,
            self.found.bodies[child],
            self.found.bodies.get(parent) if parent else None,
            chain[0],
            group,
        )
        joint.loop = True

    # --- state ----------------------------------------------------------------------------------------

    def coordinates(self, world: World) -> Coordinates:
        """The conversion between the scene's coordinates and those of the compiled document."""
        addresses = self.mujoco.jnt_qposadr.tolist(), self.mujoco.jnt_dofadr.tolist()
        places: dict[str, tuple[int, int]] = {}
        chains: dict[int, list[MujocoJoint]] = {}
        for model, joint, segment in self.found.segments:
            whole = len(segment.numbers) == 1
            chain = free_joint_chain(joint, whole=whole) if joint.kind == "free" else joint_chain(joint)
            for name, number in zip(mujoco_joint_names(model, joint, chain), segment.numbers, strict=True):
                places[name] = (addresses[0][number], addresses[1][number])
            chains[id(joint)] = chain
        found = Addresses(int(self.mujoco.nq), int(self.mujoco.nv), places)
        return Coordinates(WorldLayout(world, lambda joint: chains.get(id(joint), [])), found)

    def set_state(self, world: World, coordinates: Coordinates) -> None:
        """Set the initial positions and velocities.  MuJoCo's hinges and slides are relative to their `ref`."""
        qpos, qvel = self.compiled.initial_state
        shifted = self.relative(qpos)
        positions = coordinates.positions(shifted)
        velocities = coordinates.velocities(shifted, qvel)
        first = 0
        for joint in world.joints():
            count = joint.dof_count
            for i, dof in enumerate(joint.dofs[:count]):
                dof.position, dof.velocity = float(positions[first + i]), float(velocities[first + i])
            first += count

    def relative(self, qpos: Array) -> Array:
        """MuJoCo's positions with hinges and slides relative to the reference pose."""
        out = np.array(qpos)
        for kind, address in zip(self.compiled.types, self.mujoco.jnt_qposadr.tolist(), strict=True):
            if kind in ("hinge", "slide"):
                out[address] -= self.mujoco.qpos0[address]
        return out


def _pose(segment: Segment) -> Pose:
    if segment.rotation is not None:
        return Pose.from_matrix(spatial.transform(segment.rotation, segment.anchor))
    return Pose(segment.anchor) if any(segment.anchor) else IDENTITY
