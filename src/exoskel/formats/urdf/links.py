"""Read links: mass properties and shapes."""

from __future__ import annotations

from exoskel import spatial
from exoskel.formats.urdf.context import Context
from exoskel.formats.urdf.frames import pose_of
from exoskel.formats.urdf.shapes import ShapeReader
from exoskel.formats.urdf.vocabulary import MOMENT_ENTRIES
from exoskel.scene.body import Body
from exoskel.scene.inertia import NO_MOMENT, Inertia, Moment, check_moment
from exoskel.scene.item import Names
from exoskel.scene.pose import NO_ROTATION
from exoskel.source.flat_tree import Node

_GIVEN = {"@name": "name", "inertial": "inertia", "visual": "visuals", "collision": "collisions"}


class LinkReader:
    """Creates bodies; their poses follow from the joints."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.report = context.report
        self.shapes = ShapeReader(context)
        self.names = Names()

    def body(self, node: Node) -> Body:
        name = self.context.name(node, "link", self.names)
        return Body(
            name=name,
            inertia=self._inertia(node.fields.get("inertial"), name),
            visuals=self.shapes.shapes(node.nodes("visual")),
            collisions=self.shapes.shapes(node.nodes("collision")),
            **self.context.origin(node, **_GIVEN),
        )

    def _inertia(self, node: Node | None, link: str) -> Inertia:
        """The mass properties, with the tensor rotated to the link frame."""
        if node is None:
            return Inertia(mass=0.0, moment=NO_MOMENT)
        frame = pose_of(node.fields.get("origin"))
        moment = self._moment(node, link)
        if any(moment) and frame.rotation != NO_ROTATION:
            rotated = spatial.rotate_moment(frame.rotation.matrix(), spatial.moment_matrix(moment))
            xx, yy, zz, xy, xz, yz = spatial.moment_entries(rotated).tolist()
            moment = (xx, yy, zz, xy, xz, yz)
        return Inertia(mass=self._mass(node, link, moment), com=frame.position, moment=moment)

    def _mass(self, node: Node, link: str, moment: Moment) -> float:
        element: Node | None = node.fields.get("mass")
        mass: float = element.fields.get("@value", 0.0) if element is not None else 0.0
        if mass < 0.0 and element is not None:
            self.report("UR401", element.number, attribute="value", link=link, mass=mass)
            return 0.0
        if mass == 0.0 and any(moment):
            self.report("UR402.massless", node.number, link=link)
        return mass

    def _moment(self, node: Node, link: str) -> Moment:
        element: Node | None = node.fields.get("inertia")
        if element is None:
            return NO_MOMENT
        xx, yy, zz, xy, xz, yz = (float(element.fields.get(f"@{entry}", 0.0)) for entry in MOMENT_ENTRIES)
        moment = (xx, yy, zz, xy, xz, yz)
        check = check_moment(moment)
        if any(moment) and not (check.definite and check.triangle):
            shown = " ".join(f"{value:.3g}" for value in check.eigenvalues)
            self.report("UR402", element.number, link=link, moments=shown)
        return moment
