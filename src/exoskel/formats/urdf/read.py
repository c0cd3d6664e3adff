"""Read a URDF document into a scene.

A body has the frame of its link, and a joint the frame of its child, as in URDF.  A root link named `world` represents
the world, declared or not.  Any other root gets a free joint, because URDF does not define how it is connected.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from exoskel.diagnostics import Collector, did_you_mean
from exoskel.fates import Verdict, no_effect
from exoskel.formats.interface import DiagnosticEffects, NodeKey, ReadOptions, SourceMapping
from exoskel.formats.macro_expansion import MacroFormat, read_expanded
from exoskel.formats.urdf.codes import CATALOGUE
from exoskel.formats.urdf.context import DOCUMENT, UrdfContext
from exoskel.formats.urdf.links_and_joints import JointSpec, LinkReader, UrdfJointReader
from exoskel.formats.urdf.motors import CONTROL, INITIAL_VALUE, STATES, TRANSMISSION, read_motors
from exoskel.formats.urdf.mujoco_options import MUJOCO, is_generated, options_nodes
from exoskel.formats.urdf.unread_parts import find_unread
from exoskel.formats.urdf.vocabulary import EXTENSION, HARDWARE, MOTORS, ROBOT_ELEMENT, URDF, VERSION
from exoskel.scene.body import Body
from exoskel.scene.edit_tracking import TrackedList
from exoskel.scene.item import unique_name
from exoskel.scene.joint import Joint
from exoskel.scene.model import Model
from exoskel.scene.pose import Pose
from exoskel.scene.source_info import SourceInfo
from exoskel.scene.world import Scene, World
from exoskel.source.document import Document, Tree
from exoskel.source.flat_tree import Node
from exoskel.source.root_check import RootCodes, parse_root, report_malformed
from exoskel.source.structure import StructureReader
from exoskel.source.vocabulary import STRUCTURE, Element, SceneField, SceneFieldTable, unused
from exoskel.source.well_formedness import MalformedError
from exoskel.spatial import Array


def find_parent_joints(context: UrdfContext, links: Mapping[str, int], specs: list[JointSpec]) -> dict[str, JointSpec]:
    """Find the parent joint of each link, by the link's name; `links` are node numbers by name.

    A joint is reported and ignored if a link is unknown, if its child has a parent joint already, or if it closes a
    cycle.  An unknown parent named `world` is the world, as in Drake.
    """
    parent_joints: dict[str, JointSpec] = {}
    for spec in specs:
        ends = (("parent", spec.parent), ("child", spec.child))
        missing = next(((end, name) for end, name in ends if name not in links), None)
        on_world = missing == ("parent", WORLD) and spec.child in links
        if missing is not None and not on_world:
            end, name = missing
            context.report(
                "UR302",
                spec.number,
                end,
                attribute="link",
                joint=spec.name,
                end=end,
                link=name,
                suggestion=did_you_mean(name, links),
            )
        elif spec.child in parent_joints:
            context.report("UR303", spec.number, link=spec.child, first=parent_joints[spec.child].name, joint=spec.name)
        else:
            parent_joints[spec.child] = spec
            if on_world:
                context.report("UR302.world", spec.number, "parent", attribute="link", joint=spec.name, link=spec.child)
    _cut_cycles(context, parent_joints, links)
    return parent_joints


def _cut_cycles(context: UrdfContext, parent_joints: dict[str, JointSpec], links: Mapping[str, int]) -> None:
    checked: set[str] = set()
    for start in links:
        path: list[str] = []
        on_path: set[str] = set()
        at = start
        while at not in checked and at not in on_path and at in parent_joints:
            path.append(at)
            on_path.add(at)
            at = parent_joints[at].parent
        if at in on_path:
            last = max((parent_joints[link] for link in path[path.index(at) :]), key=lambda spec: spec.number)
            context.report("UR304", last.number, joint=last.name, link=last.child)
            del parent_joints[last.child]
        checked.update(path)
        checked.add(at)


def topological_order(links: Mapping[str, int], parent_joints: Mapping[str, JointSpec]) -> list[str]:
    """Parents before children, otherwise in the order of the document."""
    order: dict[str, None] = {}
    for start in links:
        path = [start]
        while path[-1] not in order and path[-1] in parent_joints:
            path.append(parent_joints[path[-1]].parent)
        for link in reversed(path):
            order.setdefault(link)
    return list(order)


# --- the document --------------------------------------------------------------------------------------


WORLD = "world"
"""A root link of this name represents the world."""

_ROOT_CODES = RootCodes(malformed="UR001", root="UR002", declarations="UR003")


_MACROS = MacroFormat("urdf", "robot", "UR004", CATALOGUE)


def read(document: Document, options: ReadOptions) -> Scene:
    """Read a document.  Valid parts are in the scene, problems in its diagnostics."""
    return read_expanded(_read, document, options, _MACROS)


def _read(document: Document, options: ReadOptions) -> Scene:
    collector = Collector(CATALOGUE, document, options.strict)
    root = parse_root(document, "robot", options.limits, collector, _ROOT_CODES)
    scene = Scene(documents=[document], diagnostics=collector.diagnostics, source_info=SourceInfo(format="urdf"))
    if root is not None:
        try:
            scene.worlds.append(_UrdfReader(document, options, collector).read(root))
            scene.source_info = SourceInfo("urdf", root.get("version") or "1.0")
        except MalformedError as problem:  # a limit was exceeded: the whole document is rejected
            report_malformed(problem, collector, _ROOT_CODES)
    if root is not None and f"<{MUJOCO}".encode() in document.text:
        ours = {node for node in options_nodes(document) if is_generated(document, node)}
        found = [one for one in collector.diagnostics if one.place.node not in ours or one.key != EXTENSION]
        collector.diagnostics[:] = found
    collector.diagnostics.sort(key=lambda diagnostic: diagnostic.place.node)
    return scene


class _UrdfReader:
    """Reads one document."""

    def __init__(self, document: Document, options: ReadOptions, collector: Collector) -> None:
        self.context = UrdfContext(document, options, collector)
        self.collector = collector
        self.report = collector.report
        self.links = LinkReader(self.context)
        self.joints = UrdfJointReader(self.context)
        self.structure = StructureReader(document, URDF, collector, options.limits, literal=False)
        self.bodies: dict[str, Body] = {}
        self.specs: list[JointSpec] = []

    def read(self, root: Tree) -> World:
        node = self.structure.read(root, self._add_node)
        for material in node.nodes("material"):
            self.links.shapes.material(material)
        self.links.resolve_materials()
        name = node.fields.get("@name")
        if name is None and not node.is_invalid("@name"):
            self.report("UR106.name", node.number, element="robot", name="robot")
        if not self.bodies:
            self.report("UR005", node.number)
        model = Model(name=name or "robot", **self.context.origin(node, ROBOT_ELEMENT))
        self._assemble(model)
        motors = read_motors(root, model, self.collector) if self._may_have_motors() else []
        return World(models=[model], actuators=TrackedList(motors), document=DOCUMENT)

    def _may_have_motors(self) -> bool:
        text = self.context.document.text
        return any(f"<{tag}".encode() in text for tag in (CONTROL, TRANSMISSION))

    def _add_node(self, node: Node, rule: Element, _parent: Node, _home: Element) -> None:
        """Add a link or joint as soon as it is read."""
        if rule.name == "link":
            body = self.links.body(node)
            self.bodies[body.name] = body
        elif (spec := self.joints.read_spec(node)) is not None:
            self.specs.append(spec)

    def _assemble(self, model: Model) -> None:
        numbers = {name: body.node for name, body in self.bodies.items()}
        parent_joints = find_parent_joints(self.context, numbers, self.specs)
        is_world = WORLD not in parent_joints and (WORLD not in self.bodies or self._is_empty_world())
        self._check_roots(parent_joints)
        places: dict[str, Array] = {}
        for name in topological_order(numbers, parent_joints):
            if name == WORLD and is_world:
                places[name] = np.eye(4)
                continue
            body, spec = self.bodies[name], parent_joints.get(name)
            if spec is None:
                places[name] = body.pose.matrix()
                joint = self._root_joint(body)
            else:
                places[name] = places[spec.parent] @ spec.frame.matrix()
                on_world = spec.parent == WORLD and is_world
                body.pose = spec.frame if on_world else Pose.from_matrix(places[name])
                joint = self.joints.joint(spec, body, None if on_world else self.bodies[spec.parent])
            model.bodies.append(body)
            model.joints.append(joint)
        self.joints.check_mimics(model.joints)

    def _is_empty_world(self) -> bool:
        """Whether the link `world` has neither mass nor shapes."""
        body = self.bodies[WORLD]
        if body.mass == 0.0 and not body.shapes:
            return True
        self.report("UR407", body.node)
        return False

    def _check_roots(self, parent_joints: dict[str, JointSpec]) -> None:
        roots = [name for name in self.bodies if name not in parent_joints]
        if any(spec.parent not in self.bodies for spec in parent_joints.values()):
            roots.insert(0, WORLD)  # not declared
        for name in roots[1:]:
            self.report("UR305", self.bodies[name].node, link=name, first=roots[0])

    def _root_joint(self, body: Body) -> Joint:
        """The joint of a root, which URDF does not have."""
        name = unique_name(f"{body.name}_root", self.joints.names)
        self.joints.names.add(name)
        welded = body.name == WORLD
        return Joint(
            name=name,
            kind="weld" if welded else "free",
            child=body,
            implicit=True,
            document=DOCUMENT,
            node=body.node,
        )


_WORLD_LINK: dict[str, SceneField | str] = {"link": STRUCTURE, "link/@name": STRUCTURE}
"""A link named `world` without mass and shapes is not a body."""


_STATE = unused("an interface that reports a state: not part of a scene")
_MOTORS: dict[str, SceneField | str] = {
    **{f"{tag}/**": MOTORS for tag in (CONTROL, TRANSMISSION)},
    **{f"{CONTROL}/{inner}/**": HARDWARE for inner in ("hardware", "sensor", "gpio", "transmission")},
    f"{CONTROL}/joint/state_interface/**": _STATE,
    f"{CONTROL}/joint/state_interface/param/**": SceneField("dofs", parts=STATES, owner="joints"),
    f"{TRANSMISSION}/actuator/**": unused("a command of an effort interface is the force on the joint"),
}
"""What is inside the elements that may state motors."""


def _scene_fields() -> SceneFieldTable:
    rows = URDF.scene_fields()
    robot = {**rows[Model], **_WORLD_LINK, **_MOTORS}
    return SceneFieldTable({**rows, None: {"": STRUCTURE, "@version": VERSION}, Model: robot})


_WITHOUT_AXIS = ("fixed", "floating")


def find_unused(document: Document) -> dict[NodeKey, Verdict]:
    """Find what has no effect because of what the document states elsewhere."""
    outline = document.outline
    found: dict[NodeKey, Verdict] = {}
    named: set[str] = set()
    for node, tag in enumerate(outline.tags):
        above = outline.tags[outline.parents[node]] if outline.parents[node] >= 0 else ""
        if tag == "param" and above == "state_interface":
            if document.attribute_text(node, "name") != INITIAL_VALUE:
                found[node, ""] = no_effect("only initial values of state interfaces are part of a scene")
        elif tag == "material" and above == "visual":
            named.add(document.attribute_text(node, "name"))
        elif above == "joint" and tag in ("axis", "limit", "dynamics"):
            kind = document.attribute_text(outline.parents[node], "type")
            if kind in _WITHOUT_AXIS or (kind == "planar" and tag != "axis"):
                found[node, ""] = no_effect(f"a {kind} joint has no <{tag}>")
            elif kind == "continuous" and tag == "limit":
                found |= {
                    (node, name): no_effect("a continuous joint has no position limits") for name in ("lower", "upper")
                }
    for node in options_nodes(document):
        if is_generated(document, node):
            found[node, ""] = no_effect("it only says how MuJoCo finds mesh files")
    for node, tag in enumerate(outline.tags):
        is_shared = tag == "material" and outline.parents[node] == 0
        if is_shared and document.attribute_text(node, "name") not in named:
            found[node, ""] = no_effect("no visual uses it")
    return found


SOURCE_MAPPING = SourceMapping(
    _scene_fields(),
    DiagnosticEffects(
        ignored=(
            "UR003",
            "UR101",
            "UR102",
            "UR103",
            "UR104",
            "UR107",
            "UR108",
            "UR110",
            "UR111",
            "UR112",
            "UR301.material",
            "UR503",
        ),
        used=("UR301", "UR302.world", "UR305", "UR402", "UR405", "UR406", "UR407", "UR408", "UR502"),
        lossless=("UR106", "UR402", "UR405", "UR408"),
        preserved=("UR101", "UR107", "UR108", "UR109"),
    ),
    find_unused,
    find_unread=find_unread,
)
