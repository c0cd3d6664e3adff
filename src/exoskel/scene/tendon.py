"""Tendons: weighted sums of joint coordinates, and strings over sites, with springs, dampers and limits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import nextafter

from msgspec import Struct, structs

from exoskel.diagnostics import ExoskelError
from exoskel.scene.actuator import driven_joints
from exoskel.scene.body import Body, Marker
from exoskel.scene.edit_tracking import CheckedValue, checks_values
from exoskel.scene.field_checks import ConvertedField, NumberSequence, initially
from exoskel.scene.item import qualified_name
from exoskel.scene.joint import UNLIMITED, Interval, Joint
from exoskel.scene.model import Model
from exoskel.scene.shape import Cylinder, Shape, Sphere

AUTOMATIC_LENGTH = (-1.0, -1.0)
"""The rest length for which MuJoCo takes that of the model at rest."""
_ALMOST_AUTOMATIC = (-1.0, nextafter(-1.0, 0.0))


def tendon_part(name: str) -> str:
    """How losses name a tendon of a world."""
    return f"tendons/{name}"


class TendonJoint(CheckedValue, frozen=True):
    """A coordinate of a joint, given by its path `model/joint`, and its weight in the length of a fixed tendon."""

    joint: str
    coefficient: float = 1.0
    coordinate: int = 0


class TendonPoint(CheckedValue, frozen=True):
    """A part of the path of a spatial tendon: a site, a shape that it wraps around, or a pulley.

    `site` is the path of a marker, `model/body/marker`.  `shape` is the path of a sphere or cylinder, by its name or
    as `collisionN` or `visualN`, counted from 0; `side_site` is the path of the marker on whose side the tendon passes.
    A pulley has only a `divisor`, by which the length of what follows is divided.
    """

    site: str = ""
    shape: str = ""
    side_site: str = ""
    divisor: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if checks_values() and not self.is_valid:
            raise ExoskelError(f"{self!r} must have a site, or a shape, or a positive divisor")

    @property
    def is_valid(self) -> bool:
        """Whether it is one of the three: a site, a shape or a pulley."""
        kinds = [bool(self.site), bool(self.shape), self.divisor > 0.0]
        return sum(kinds) == 1 and (bool(self.shape) or not self.side_site)


class Tendon(CheckedValue, frozen=True):
    """A fixed tendon of some `joints`, or a spatial tendon along a `path`, with a length in m.

    The length of a fixed tendon is the sum of joint coordinates times their coefficients.  The spring pulls if the
    length is above the upper end of `rest_length`, and pushes if it is below the lower end; None is the length where
    the springs of all joints rest.  `friction` is dry friction, N.  `force_limits` bound the total force of actuators.
    """

    name: str
    joints: tuple[TendonJoint, ...] = ()
    path: tuple[TendonPoint, ...] = ()
    stiffness: float = 0.0
    damping: float = 0.0
    friction: float = 0.0
    rest_length: ConvertedField[Interval | None, NumberSequence | None] = initially(None)
    limits: ConvertedField[Interval, NumberSequence] = initially(UNLIMITED)
    force_limits: ConvertedField[Interval, NumberSequence] = initially(UNLIMITED)
    armature: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if checks_values():
            if problem := self.problem:
                raise ExoskelError(f"tendon {self.name!r} {problem}")
            structs.force_setattr(self, "joints", tuple(self.joints))
            structs.force_setattr(self, "path", tuple(self.path))

    @property
    def problem(self) -> str:
        """What is wrong with it as a whole, or an empty string."""
        if not all(isinstance(one, TendonJoint) for one in self.joints):
            return f"has the joints {self.joints!r}, but they must be TendonJoint objects"
        if not all(isinstance(one, TendonPoint) for one in self.path):
            return f"has the path {self.path!r}, but it must have TendonPoint objects"
        if bool(self.joints) == bool(self.path):
            return "must have either joints or a path"
        if self.path and sum(bool(one.site) for one in self.path) < 2:
            return "must pass two sites"
        negative = [name for name in ("stiffness", "damping", "friction", "armature") if getattr(self, name) < 0.0]
        return f"has a negative {negative[0]}" if negative else ""

    @property
    def stated_rest_length(self) -> Interval | None:
        """The rest length as numbers for MuJoCo, which does not take them for `AUTOMATIC_LENGTH`."""
        return _ALMOST_AUTOMATIC if self.rest_length == AUTOMATIC_LENGTH else self.rest_length

    def with_paths(self, body_path: Callable[[str], str], joint_path: Callable[[str], str]) -> Tendon:
        """The tendon with other paths of bodies and joints."""
        joints = tuple(structs.replace(one, joint=joint_path(one.joint)) for one in self.joints)
        return structs.replace(self, joints=joints, path=tuple(_with_bodies(one, body_path) for one in self.path))

    def with_numbered_shapes(self, index: TendonParts) -> Tendon:
        """The tendon with the paths of shapes by their numbers, which do not depend on names."""
        path = tuple(structs.replace(one, shape=index.shape_key(one.shape)) for one in self.path)
        return structs.replace(self, path=path)

    def comparable(self, index: TendonParts) -> tuple[object, ...]:
        """The tendon for comparisons: with shapes by their numbers, and without pulleys that have no effect."""
        following = (*self.path[1:], TendonPoint(divisor=1.0))
        points = [one for one, after in zip(self.path, following, strict=False) if not (one.divisor and after.divisor)]
        points = points[1:] if points and points[0].divisor == 1.0 else points
        path = tuple((one.site, index.shape_key(one.shape), one.side_site, one.divisor) for one in points)
        joints = tuple((one.joint, one.coefficient, one.coordinate) for one in self.joints)
        spring = self.rest_length if self.stiffness else None
        values = (self.stiffness, self.damping, self.friction, self.armature, spring)
        return (self.name, joints, path, *values, self.limits, self.force_limits)

    def __repr__(self) -> str:
        parts = f"joints={len(self.joints)}" if self.joints else f"path={len(self.path)}"
        return f"Tendon({self.name!r}, {parts})"


def _with_bodies(point: TendonPoint, body_path: Callable[[str], str]) -> TendonPoint:
    fields = {name: part_path(getattr(point, name), body_path) for name in ("site", "shape", "side_site")}
    return structs.replace(point, **fields)


def part_path(path: str, body_path: Callable[[str], str]) -> str:
    """The path of a part of a body, `model/body/part`, with another path of the body."""
    body, slash, part = path.rpartition("/")
    return f"{body_path(body)}/{part}" if slash else path


class PlacedShape(Struct, frozen=True):
    """A shape, its body and model, and its number among the collision or visual shapes."""

    model: Model
    body: Body
    shape: Shape
    label: str

    @property
    def key(self) -> str:
        """The path of the shape by its number."""
        return qualified_name(self.model.name, self.body.name, self.label)


class TendonParts:
    """What the tendons of a world may refer to, by paths."""

    def __init__(self, models: Iterable[Model]) -> None:
        self.models = list(models)
        self.joints: dict[str, Joint] = dict(driven_joints(self.models))
        self._sites: dict[str, tuple[Model, Body, Marker]] | None = None
        self._shapes: dict[str, PlacedShape] | None = None

    @property
    def sites(self) -> dict[str, tuple[Model, Body, Marker]]:
        """Markers with their models and bodies."""
        if self._sites is None:
            self._sites = {
                qualified_name(model.name, body.name, marker.name): (model, body, marker)
                for model in self.models
                for body in model.bodies
                for marker in body.markers
            }
        return self._sites

    @property
    def shapes(self) -> dict[str, PlacedShape]:
        """Spheres and cylinders, by their numbers and by their names."""
        if self._shapes is None:
            every = list(_round_shapes(self.models))
            self._shapes = {one.key: one for one in every}
            for one in every:
                if one.shape.name:
                    self._shapes.setdefault(qualified_name(one.model.name, one.body.name, one.shape.name), one)
        return self._shapes

    def shape_key(self, path: str) -> str:
        """The path of a shape by its number; the path itself if there is no such shape."""
        found = self.shapes.get(path) if path else None
        return path if found is None else found.key

    def unknown(self, tendon: Tendon) -> Iterator[str]:
        """The paths that refer to nothing."""
        for one in tendon.joints:
            joint = self.joints.get(one.joint)
            if joint is None or not 0 <= one.coordinate < joint.dof_count:
                yield one.joint
        for point in tendon.path:
            yield from (path for path in (point.site, point.side_site) if path and path not in self.sites)
            if point.shape and point.shape not in self.shapes:
                yield point.shape

    def is_complete(self, tendon: Tendon) -> bool:
        """Whether everything that a tendon refers to exists."""
        return next(self.unknown(tendon), None) is None


def _round_shapes(models: Iterable[Model]) -> Iterator[PlacedShape]:
    for model in models:
        for body in model.bodies:
            for kind, shapes in (("collision", body.collisions), ("visual", body.visuals)):
                for number, shape in enumerate(shapes):
                    if isinstance(shape.geometry, Sphere | Cylinder):
                        yield PlacedShape(model, body, shape, f"{kind}{number}")


def comparable_tendons(tendons: Iterable[Tendon], models: Iterable[Model]) -> tuple[tuple[object, ...], ...]:
    """Tendons for comparisons of worlds."""
    found = list(tendons)
    index = TendonParts(models if found else ())
    return tuple(one.comparable(index) for one in found)


def known_tendons(tendons: Iterable[Tendon], models: Iterable[Model]) -> list[Tendon]:
    """The tendons of which all parts exist."""
    found = list(tendons)
    index = TendonParts(models if found else ())
    return [one for one in found if index.is_complete(one)]
