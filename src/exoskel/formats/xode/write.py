"""From a scene to XODE, by the writer rules of the reference: what as many readers as possible understand alike.

Bodies stand where they are at the initial state, all of them directly in one space.  What XODE has no words for
is not written here; `exoskel.formats.write` finds out by reading back, and carries it in extensions.
"""

from __future__ import annotations

from exoskel.formats.xode.models import ENVIRONMENT_NAME
from exoskel.formats.xode.writing.joints import JointWriter
from exoskel.formats.xode.writing.masses import mass_of
from exoskel.formats.xode.writing.shapes import add_transform, geometry_of, static_plane
from exoskel.scene.body import Body, BodyState, FiniteRotation
from exoskel.scene.inertia import Moment
from exoskel.scene.initial_velocities import bodies_moved_by_initial_positions, initial_twists, stated_twists
from exoskel.scene.item import Names, unique_name
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.pose import NO_ROTATION, ZERO, Pose, Quaternion, poses_from_matrices
from exoskel.scene.shape import Plane, Shape
from exoskel.scene.summary import moments
from exoskel.scene.world import Model, Scene, World
from exoskel.source.markup import Markup, format_number
from exoskel.source.output_context import OutputContext
from exoskel.spatial import Array

VERSION = "1.0r22"


def write(scene: Scene, output: OutputContext) -> Markup:
    """The document as a tree whose elements know the parts of the scene they stand for."""
    root = Markup("xode", {"version": VERSION}, item=scene)
    names = _Names()
    for world in scene.worlds:
        names.taken.add(world.name)
    if scene.worlds:
        root.attributes["name"] = names.fresh(f"{scene.worlds[0].name}-scene", "scene")
    for world in scene.worlds:
        root.children.append(_WorldWriter(world, output, names).write())
    return root


class _Names:
    """Names of bodies, geoms and joints: unique in the whole document, none empty."""

    def __init__(self) -> None:
        self.taken = Names()

    def fresh(self, name: str, fallback: str) -> str:
        chosen = unique_name(name or fallback, self.taken)
        self.taken.add(chosen)
        return chosen


class _WorldWriter:
    def __init__(self, world: World, output: OutputContext, names: _Names) -> None:
        self.world = world
        self.output = output
        self.names = names
        bodies = list(world.bodies())
        standing = self._standing()
        self.kinematics = Kinematics(world.models, [standing.get(id(body), body.pose) for body in bodies])
        self.transforms = self.kinematics.poses()
        self.places = dict(zip(map(id, bodies), poses_from_matrices(self.transforms), strict=True))
        self.matrices: dict[int, Array] = dict(zip(map(id, bodies), self.transforms, strict=True))
        self.moments: dict[int, Moment] = dict(zip(map(id, bodies), map(tuple, moments(bodies).tolist()), strict=True))
        self.places.update(standing)
        # A joint's velocity is read as the difference of what its bodies state, whether or not that is their motion.
        own = stated_twists(bodies)
        moving = any(any(joint.velocities) for joint in world.joints() if not joint.loop)
        moving = moving or any(pair != (ZERO, ZERO) for pair in own.values())
        self.twists = initial_twists(world.models, self.kinematics, own) if moving else {}

    def _standing(self) -> dict[int, Pose]:
        """The poses, by id, of bodies that stand where their own pose says, as they are written.

        Anchors and axes have to go by these: by others they would differ in the last digit from what a second
        writing makes of them.
        """
        found: dict[int, Pose] = {}
        for model in self.world.models:
            if model.pose.is_identity:
                moved = bodies_moved_by_initial_positions(model)
                found.update((id(body), self._as_written(body.pose)) for body in model.bodies if id(body) not in moved)
        return found

    def _as_written(self, pose: Pose) -> Pose:
        """A pose with the quaternion that stands for its rotation in the file, if one does."""
        if self.output.target == "pyode" or isinstance(pose.rotation, Quaternion) or pose.rotation == NO_ROTATION:
            return pose
        return Pose(pose.position, Quaternion(pose.quaternion))

    def write(self) -> Markup:
        world = Markup("world", {"name": self.world.name}, item=self.world)
        self._parameters(world)
        space = world.add("space")
        environment = next((model for model in self.world.models if is_environment(model)), None)
        if environment is not None:
            body = environment.bodies[0]
            space.children += [made for shape in body.collisions if (made := self._geom(shape, ZERO_POSE)) is not None]
        moving = [model for model in self.world.models if model is not environment]
        # Joints refer to bodies by their names, so these come first.
        native = {id(body): self.names.fresh(body.name, "body") for model in moving for body in model.bodies}
        for model in moving:
            space.children += self._loose_planes(model)
        for model in moving:
            space.children += [self._body(body, native[id(body)]) for body in model.bodies]
        writer = JointWriter(native, self.matrices, self.kinematics, self.world.models, self.names.fresh, self.output)
        for model in moving:
            space.children += [made for joint in model.joints if (made := writer.joint(joint, model)) is not None]
        return world

    def _parameters(self, world: Markup) -> None:
        """Gravity and the like, in the extension that the reference proposes."""
        if self.output.target == "pyode":
            return
        ext = Markup("ext", {"ename": "world-params"})
        if self.world.gravity != ZERO:
            ext.add("gravity", **_components(self.world.gravity))
        for tag, value in (("CFM", self.world.cfm), ("ERP", self.world.erp)):
            if value is not None:
                ext.add(tag, value=format_number(value))
        ext.add("timestep", value=format_number(self.world.time_step))
        world.children.append(ext)

    # --- bodies ---------------------------------------------------------------------------------------

    def _body(self, body: Body, name: str) -> Markup:
        element = Markup("body", {"name": name}, item=body)
        if body.state is not None and (not body.state.enabled or body.state == BodyState()):
            # Of a body whose state is stated and is at rest, this word is all there is to tell it by.
            element.attributes["enabled"] = "true" if body.state.enabled else "false"
        if not body.gravity:
            element.attributes["gravitymode"] = "0"
        add_transform(element, self.places[id(body)], self.output)
        self._state(element, body)
        for shape in body.collisions:
            if not isinstance(shape.geometry, Plane):
                made = self._geom(shape, shape.pose)
                if made is not None:
                    element.children.append(made)
        mass = mass_of(body, self.moments[id(body)], self.output)
        if mass is not None:
            element.children.append(mass)
        return element

    def _state(self, element: Markup, body: Body) -> None:
        state = body.state or BodyState()
        linear, angular = state.linear_velocity, state.angular_velocity
        if body.state is None:
            linear, angular = self.twists.get(id(body), (ZERO, ZERO))
        for tag, vector in (("torque", state.torque), ("force", state.force)):
            if vector != ZERO:
                element.add(tag, **_components(vector))
        turning = state.finite_rotation
        if turning != FiniteRotation():
            made = element.add("finiteRotation", mode=str(turning.mode))
            for name, value in zip(("xaxis", "yaxis", "zaxis"), turning.axis, strict=True):
                made.attributes[name] = format_number(value)
        for tag, vector in (("linearVel", linear), ("angularVel", angular)):
            if vector != ZERO:
                element.add(tag, **_components(vector))

    def _geom(self, shape: Shape, pose: Pose) -> Markup | None:
        made = geometry_of(shape, self.output)
        if made is None:
            return None
        element = Markup("geom", {"name": self.names.fresh(shape.name, "geom")}, item=shape)
        if isinstance(shape.geometry, Plane):
            made = static_plane(shape.geometry, shape.pose.matrix())
        else:
            add_transform(element, shape.pose if pose is ZERO_POSE else pose, self.output)
        element.children.append(made)
        return element

    def _loose_planes(self, model: Model) -> list[Markup]:
        """Planes of bodies: XODE's never move, so they stand in the space, where the body is at the start."""
        made: list[Markup] = []
        for body in model.bodies:
            for shape in body.collisions:
                if isinstance(shape.geometry, Plane):
                    place = self.matrices[id(body)] @ shape.pose.matrix()
                    element = Markup("geom", {"name": self.names.fresh(shape.name, f"{body.name}_plane")})
                    element.children.append(static_plane(shape.geometry, place))
                    element.placeholder = True
                    made.append(element)
        return made


ZERO_POSE = Pose()


def is_environment(model: Model) -> bool:
    """Whether a model is what XODE calls the environment: geoms that stand still, and no more."""
    return (
        model.static
        and model.name == ENVIRONMENT_NAME
        and len(model.bodies) == 1
        and model.bodies[0].name == ENVIRONMENT_NAME
        and model.bodies[0].mass == 0.0
        and model.pose.is_identity
        and model.bodies[0].pose.is_identity
        and [joint.kind for joint in model.joints] == ["weld"]
    )


def _components(vector: tuple[float, ...]) -> dict[str, str]:
    return {name: format_number(value) for name, value in zip("xyz", vector, strict=True)}
