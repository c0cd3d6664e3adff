"""From a world to a neutral MJCF document: what MuJoCo runs, with our names and frames.

Bodies stand at zero joint positions, as in the scene; the initial state is set by whoever runs it.  Bodies and
joints are called `model/body` and `model/joint`, with `~1` for a slash in a name and `~0` for a tilde.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite

import numpy as np

from exoskel import spatial
from exoskel.formats.mjcf.contacts import Filter
from exoskel.formats.mjcf.geoms import GeomWriter
from exoskel.formats.mjcf.joints import Link, links
from exoskel.formats.mjcf.tree import Element
from exoskel.scene.body import Body
from exoskel.scene.joint import UNLIMITED, Dof, Joint
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.summary import moments
from exoskel.scene.world import Model, World
from exoskel.spatial import Array

STIFF_FRICTION = (-1e8, -1e6)
"""Stiffness and damping of friction rows: MuJoCo's defaults creep."""
PRESCRIBED = ("velocity", "acceleration", "locked")
"""Actuators that move their joint whatever the forces."""
PRESCRIBED_ARMATURE = 1e10
"""Inertia that no force in a scene moves, kg or kg·m²: a prescribed joint goes its way, on threads and GPUs too."""
CONTACT_STEPS = 2.0
"""Time constant of contacts in time steps: as stiff as the step resolves, so that nothing sinks in."""
LEAST_MASS = 1e-12
"""What a body without mass gets, kg: MuJoCo runs none."""


def path(*names: str) -> str:
    """Names as one path: a slash inside of one is written `~1`, a tilde `~0`."""
    return "/".join(name.replace("~", "~0").replace("/", "~1") for name in names)


def write(world: World, *, limits: bool | None = None, integrator: str = "discrete") -> Element:
    """The document.  `limits` switches position limits on or off; by default each joint says."""
    return _Writer(world, limits, integrator).document()


class _Writer:
    def __init__(self, world: World, limits: bool | None, integrator: str) -> None:
        self.world = world
        self.limits = limits
        self.integrator = integrator
        bodies = list(world.bodies())
        self.places: dict[int, Array] = dict(zip(map(id, bodies), Kinematics(world.models).zero_poses, strict=True))
        self.starts: dict[int, Array] = dict(zip(map(id, bodies), Kinematics(world.models).poses(), strict=True))
        self.moments = dict(zip(map(id, bodies), moments(bodies).tolist(), strict=True))
        self.filter = Filter(world)
        self.root = Element("mujoco", {"model": world.name})
        self.geoms = GeomWriter((CONTACT_STEPS * world.time_step, 1.0))

    def document(self) -> Element:
        self.root.add("compiler", angle="radian", autolimits=False, inertiafromgeom=False, boundmass=0.0)
        self.root.add("option", timestep=self.world.time_step, gravity=self.world.gravity, integrator=self.integrator)
        assets = self.root.add("asset")
        worldbody = self.root.add("worldbody")
        equality, contact = self.root.add("equality"), self.root.add("contact")
        for model in self.world.models:
            self._model(model, worldbody, equality)
        self.filter.exclude(contact, path)
        assets.children = self.geoms.assets
        self.root.children = [c for c in self.root.children if c.children or c.attributes]
        return self.root

    # --- bodies ---------------------------------------------------------------------------------------

    def _model(self, model: Model, worldbody: Element, equality: Element) -> None:
        made: dict[int, Element] = {}
        for joint in model.joints:
            if joint.loop:
                self._loop(model, joint, equality)
                continue
            fixed = model.static
            # What never moves stands where it is at the start, each body by itself.
            parent = None if joint.parent is None or fixed else joint.parent
            holder = worldbody if parent is None else made[id(parent)]
            made[id(joint.child)] = self._body(model, joint, parent, holder, fixed)
            if not fixed:
                self._joint(model, joint, made[id(joint.child)], equality)

    def _body(self, model: Model, joint: Joint, parent: Body | None, holder: Element, fixed: bool) -> Element:
        body = joint.child
        place = (self.starts if fixed else self.places)[id(body)]
        if parent is not None:
            place = spatial.inverse(self.places[id(parent)]) @ place
        element = holder.add(
            "body",
            name=path(model.name, body.name),
            pos=place[:3, 3].tolist(),
            quat=spatial.quaternion(place[:3, :3]).tolist(),
            gravcomp=None if body.gravity else 1.0,
        )
        if not fixed:
            self._inertial(element, body)
        kind, affinity = self.filter.bits(model)
        for number, shape in enumerate(body.collisions):
            name = path(model.name, body.name, f"collision{number}")
            self.geoms.add(element, shape, name, kind if shape.collidable else 0, affinity if shape.collidable else 0)
        return element

    def _inertial(self, element: Element, body: Body) -> None:
        mass = body.mass if body.mass > 0.0 else LEAST_MASS
        xx, yy, zz, xy, xz, yz = self.moments[id(body)]
        element.add("inertial", pos=body.com, mass=mass, fullinertia=(xx, yy, zz, xy, xz, yz))

    # --- joints ---------------------------------------------------------------------------------------

    def _joint(self, model: Model, joint: Joint, element: Element, equality: Element) -> None:
        name = path(model.name, joint.name)
        chain = links(joint)
        for number, link in enumerate(chain):
            self._link(f"{name}:{number}" if len(chain) > 1 else name, joint, link, element, equality)
        if joint.kind == "screw":
            travel = joint.pitch / (2 * np.pi)
            equality.add("joint", joint1=f"{name}:1", joint2=f"{name}:0", polycoef=(0.0, travel, 0.0, 0.0, 0.0))

    def _link(self, name: str, joint: Joint, link: Link, element: Element, equality: Element) -> None:
        made = element.add("joint", name=name, type=link.type)
        if link.type == "free":
            return
        made.attributes["pos"] = joint.pose.position
        if link.type != "ball":
            made.attributes["axis"] = link.axis
        rows = [joint._dofs[c] for c in link.coordinates] if joint._dofs is not None else []
        if rows:
            self._dynamics(made, joint, rows, equality)
        if joint.actuator in PRESCRIBED:
            made.attributes["armature"] = PRESCRIBED_ARMATURE

    def _dynamics(self, element: Element, joint: Joint, rows: Sequence[Dof], equality: Element) -> None:
        """Springs, damping, friction and limits; a ball has one value of each for its three axes."""
        dof = rows[0]
        attributes = element.attributes
        if dof.damping:
            attributes["damping"] = dof.damping
        if dof.stiffness:
            attributes["stiffness"] = dof.stiffness
            if element.attributes["type"] != "ball":
                attributes["springref"] = dof.rest
        if dof.friction:
            attributes["frictionloss"] = dof.friction
            attributes["solreffriction"] = STIFF_FRICTION
        limited = joint.limits_enforced if self.limits is None else self.limits
        low, high = dof.position_limits
        if not limited or dof.position_limits == UNLIMITED or attributes["type"] == "ball":
            return
        if low < high:
            attributes["limited"] = True
            attributes["range"] = (_bound(low), _bound(high))
        else:  # a range of one point holds the joint there
            equality.add("joint", joint1=attributes["name"], polycoef=(low, 0.0, 0.0, 0.0, 0.0))

    # --- loops ----------------------------------------------------------------------------------------

    def _loop(self, model: Model, joint: Joint, equality: Element) -> None:
        """A joint that closes a loop: one or two points, or a frame, that stay together."""
        if joint.kind in ("free", "amotor"):  # these hold nothing
            return
        child = path(model.name, joint.child.name)
        parent = "world" if joint.parent is None else path(model.name, joint.parent.name)
        anchor = np.array(joint.pose.position)
        if joint.kind == "weld":
            equality.add("weld", body1=child, body2=parent)
            return
        points = [anchor]
        if joint.kind == "revolute":
            axis = joint.pose.matrix()[:3, :3] @ spatial.unit(joint.axes[0])
            points = [anchor - 0.5 * axis, anchor + 0.5 * axis]
        for point in points:
            equality.add("connect", body1=child, body2=parent, anchor=point.tolist())


def _bound(value: float) -> float:
    return value if isfinite(value) else (1e10 if value == inf else -1e10)
