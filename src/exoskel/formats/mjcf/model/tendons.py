"""The tendons of a scene as elements of MJCF, for files and for the engine."""

from __future__ import annotations

from exoskel.formats.mjcf.model.joints import finite_range
from exoskel.formats.mjcf.model.layout import WorldLayout
from exoskel.formats.mjcf.tree import MjcfElement, Value
from exoskel.scene.item import qualified_name
from exoskel.scene.joint import UNLIMITED, Interval
from exoskel.scene.tendon import Tendon, TendonJoint, TendonParts, TendonPoint
from exoskel.scene.world import World


class TendonWriter:
    """Writes the tendons of a world; those that refer to something that does not exist are omitted.

    `sites` and `shapes` are the ids of the markers and shapes that they refer to: the engine has no others.
    """

    def __init__(self, world: World, layout: WorldLayout) -> None:
        self.layout = layout
        self.tendons: list[Tendon] = []
        self.sites: set[int] = set()
        self.shapes: set[int] = set()
        if world.tendons or world.sensors or world.equalities:
            self._find_parts(world)

    def _find_parts(self, world: World) -> None:
        self.parts = TendonParts(world.models)
        self.tendons = [one for one in world.tendons if self.parts.is_complete(one)]
        points = [point for one in self.tendons for point in one.path]
        paths = [path for point in points for path in (point.site, point.side_site) if path]
        self.sites = {id(self.parts.sites[path][2]) for path in paths}
        self.shapes = {id(self.parts.shapes[point.shape].shape) for point in points if point.shape}
        self._models = {id(joint): model for model in self.parts.models for joint in model.joints}

    def add_tendons(self, root: MjcfElement) -> None:
        """Add all tendons to a document."""
        for tendon in self.tendons:
            kind = "fixed" if tendon.joints else "spatial"
            element = root.child("tendon").add(kind, name=tendon_name(tendon.name), **_values(tendon))
            for joint in tendon.joints:
                element.add("joint", joint=self.joint_name(joint), coef=joint.coefficient)
            for point in tendon.path:
                self._add_point(element, point)

    def joint_name(self, one: TendonJoint) -> str:
        """The name of the MuJoCo joint of a coordinate."""
        joint = self.parts.joints[one.joint]
        chain, names = self.layout.chain(self._models[id(joint)], joint)
        return next(name for name, link in zip(names, chain, strict=True) if one.coordinate in link.coordinates)

    def _add_point(self, element: MjcfElement, point: TendonPoint) -> None:
        if point.site:
            element.add("site", site=point.site)
        elif point.shape:
            side = point.side_site or None
            element.add("geom", geom=self.parts.shape_key(point.shape), sidesite=side)
        else:
            element.add("pulley", divisor=point.divisor)


def tendon_name(name: str) -> str:
    """The name of the element of a tendon: a path of one name, which is not that of a generated part."""
    return qualified_name(name)


def _values(tendon: Tendon) -> dict[str, Value]:
    """The attributes that differ from MuJoCo's defaults."""
    values = {
        "stiffness": tendon.stiffness,
        "damping": tendon.damping,
        "frictionloss": tendon.friction,
        "armature": tendon.armature,
    }
    given: dict[str, Value] = {name: value for name, value in values.items() if value}
    if tendon.stated_rest_length is not None and tendon.stiffness:
        given["springlength"] = tendon.stated_rest_length
    given |= _range("limited", "range", tendon.limits)
    return given | _range("actuatorfrclimited", "actuatorfrcrange", tendon.force_limits)


def _range(flag: str, name: str, limits: Interval) -> dict[str, Value]:
    if limits == UNLIMITED:
        return {}
    return {flag: True, name: finite_range(limits)}
