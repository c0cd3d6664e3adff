"""Links: mass properties and shapes."""

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
    """Makes bodies; where they are is told by the joints."""

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
        """The tensor in the axes of the link, whichever axes it is written in."""
        if node is None:
            return Inertia(mass=0.0, moment=NO_MOMENT)
        frame = pose_of(node.fields.get("origin"))
        moment = self._moment(node, link)
        if any(moment) and frame.rotation != NO_ROTATION:
            turned = spatial.rotate_moment(frame.rotation.matrix(), spatial.moment_matrix(moment))
            xx, yy, zz, xy, xz, yz = spatial.moment_entries(turned).tolist()
            moment = (xx, yy, zz, xy, xz, yz)
        return Inertia(mass=self._mass(node, link, moment), com=frame.position, moment=moment)

    def _mass(self, node: Node, link: str, moment: Moment) -> float:
        holder: Node | None = node.fields.get("mass")
        mass: float = holder.fields.get("@value", 0.0) if holder is not None else 0.0
        if mass < 0.0 and holder is not None:
            self.report("UR401", holder.number, attribute="value", link=link, mass=mass)
            return 0.0
        if mass == 0.0 and any(moment):
            self.report("UR402.massless", node.number, link=link)
        return mass

    def _moment(self, node: Node, link: str) -> Moment:
        holder: Node | None = node.fields.get("inertia")
        if holder is None:
            return NO_MOMENT
        xx, yy, zz, xy, xz, yz = (float(holder.fields.get(f"@{entry}", 0.0)) for entry in MOMENT_ENTRIES)
        moment = (xx, yy, zz, xy, xz, yz)
        sound = check_moment(moment)
        if any(moment) and not (sound.definite and sound.triangle):
            shown = " ".join(f"{value:.3g}" for value in sound.eigenvalues)
            self.report("UR402", holder.number, link=link, moments=shown)
        return moment
