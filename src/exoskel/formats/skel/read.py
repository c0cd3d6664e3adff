"""Reads a SKEL document into a scene."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite

from msgspec.structs import replace

from exoskel.diagnostics import Collector, Diagnostic
from exoskel.formats.interface import DiagnosticEffects, ReadOptions, SourceMapping
from exoskel.formats.skel import checks
from exoskel.formats.skel.bodies import SkelBodyReader
from exoskel.formats.skel.codes import CATALOGUE, EMBEDDED_DATA
from exoskel.formats.skel.context import DOCUMENT, SkelContext
from exoskel.formats.skel.dofs import PLANAR_THIRD
from exoskel.formats.skel.joints import SkelJointReader, place_like_dart
from exoskel.formats.skel.vocabulary import PHYSICS_ELEMENT, SKEL, SKELETON_ELEMENT, WORLD_ELEMENT
from exoskel.scene.body import Body
from exoskel.scene.item import NO_FIELDS, Names, unique_name
from exoskel.scene.joint import Joint
from exoskel.scene.model import Model
from exoskel.scene.pose import IDENTITY
from exoskel.scene.source_info import SourceInfo
from exoskel.scene.world import DEFAULT_GRAVITY, DEFAULT_TIME_STEP, Scene, World
from exoskel.source.document import Document, Tree
from exoskel.source.embedded_data import EmbeddedReader
from exoskel.source.embedded_format import EmbeddedElement, embedded_elements, might_contain_embedded_data
from exoskel.source.flat_tree import Node, invalid_fields, stated_fields
from exoskel.source.meshes import MeshFinder
from exoskel.source.pieces import Levels, NotInPiecesError, Pieces
from exoskel.source.piecewise_reader import PiecewiseReader
from exoskel.source.plain_document import read_plain
from exoskel.source.root_check import RootCodes, parse_root, report_malformed
from exoskel.source.valid_structure import ValidStructure
from exoskel.source.vocabulary import Element, SceneFieldTable
from exoskel.source.well_formedness import MalformedError

ROOT_NAME = "root"


def order_joints(context: SkelContext, bodies: dict[str, Body], joints: list[Joint]) -> list[Joint]:
    """The valid joints and the added free joints, in the order in which DART builds and names them."""
    if len(bodies) == len(joints) == 1 and joints[0].parent is None and "name" in joints[0].given:
        return joints  # one body with one joint to the world: most skeletons of large files
    ordered = joints if _is_ordered(bodies, joints) else _JointForest(context, bodies, joints).ordered_joints()
    _make_names_unique(context, ordered)
    return ordered


def _is_ordered(bodies: dict[str, Body], joints: list[Joint]) -> bool:
    """Whether the joints connect all bodies, each after the joint of its parent: in most files."""
    built: set[int] = set()
    for joint in joints:
        child = id(joint.child)
        if child in built or not (joint.parent is None or id(joint.parent) in built):
            return False
        built.add(child)
    return len(built) == len(bodies)


def _make_names_unique(context: SkelContext, joints: list[Joint]) -> None:
    """Give each joint a unique name, in creation order, and report every changed name."""
    stated = {joint.name for joint in joints if "name" in joint.given and not joint.implicit}
    if len(stated) == len(joints):
        return
    taken = Names()
    parents = {id(joint.parent) for joint in joints}
    for joint in joints:
        name = joint.name
        if name in taken:
            joint.name = unique_name(name, taken)
        taken.add(joint.name)
        if joint.implicit:
            _report_missing_joint(context, joint, is_parent=id(joint.child) in parents)
        elif "name" not in joint.given:
            context.report("SK041.missing", joint.node, element="joint", name=joint.name)
        elif joint.name != name:
            context.report(
                "SK041.repeated", joint.node, attribute="name", element="joint", name=name, renamed=joint.name
            )


def _report_missing_joint(context: SkelContext, joint: Joint, is_parent: bool) -> None:
    """Report a body without a joint, and what DART does with it."""
    body = joint.child
    if is_parent:
        consequence = "does the same and logs errors"
    elif body.shapes or "inertia" in body.given:
        consequence = "crashes"
    else:
        consequence = "silently drops the body"
    ignored = context.ignored_joints.get(body.node)
    key = "SK074" if ignored is None else "SK074.ignored"
    context.report(key, body.node, body=body.name, joint=joint.name, ignored=ignored, consequence=consequence)


class _JointForest:
    """Builds the forest of one skeleton's joints.  `parent_joints` maps the id of a body to its parent joint."""

    def __init__(self, context: SkelContext, bodies: dict[str, Body], joints: list[Joint]) -> None:
        self.context = context
        self.bodies = list(bodies.values())
        self.parent_joints: dict[int, Joint] = {}
        self.joints = self._valid_joints(joints)

    def ordered_joints(self) -> list[Joint]:
        """All joints, implicit ones included, parents before children.

        Take the earliest joint not yet built; build the joints of its ancestors first.  Bodies that no joint
        mentions come last.
        """
        order: list[Joint] = []
        built: set[int] = set()
        for joint in self.joints:
            chain: list[Joint] = []
            step: Joint | None = joint
            while step is not None and id(step.child) not in built:
                chain.append(step)
                built.add(id(step.child))
                if step.parent is None or id(step.parent) in built:
                    break
                step = self.parent_joints.get(id(step.parent)) or self._free_joint(step.parent)
            order.extend(reversed(chain))
        return order + [self._free_joint(body) for body in self.bodies if id(body) not in built]

    def _valid_joints(self, joints: list[Joint]) -> list[Joint]:
        """The joints that form a forest: one for each child body, and no cycles."""
        report = self.context.report
        valid: list[Joint] = []
        for joint in joints:
            other = self.parent_joints.get(id(joint.child))
            if joint.parent is joint.child:
                report("SK073.self", joint.node, body=joint.child.name)
                self.context.ignored_joints[joint.child.node] = joint.name
            elif other is not None:
                report("SK072", joint.node, body=joint.child.name, other=other.name)
            else:
                self.parent_joints[id(joint.child)] = joint
                valid.append(joint)
        return self._remove_cycles(valid)

    def _remove_cycles(self, joints: list[Joint]) -> list[Joint]:
        """Cut every cycle at its last joint in the document.  Each joint is visited once."""
        visited_in: dict[int, int] = {}
        cut: set[int] = set()
        for walk, joint in enumerate(joints):
            step: Joint | None = joint
            while step is not None and id(step) not in visited_in:
                visited_in[id(step)] = walk
                step = self._parent_joint(step)
            if step is not None and visited_in[id(step)] == walk:
                cut.add(id(self._cut_cycle(step)))
        return [joint for joint in joints if id(joint) not in cut] if cut else joints

    def _parent_joint(self, joint: Joint) -> Joint | None:
        return None if joint.parent is None else self.parent_joints.get(id(joint.parent))

    def _cut_cycle(self, member: Joint) -> Joint:
        cycle = [member]
        while (above := self._parent_joint(cycle[-1])) is not None and above is not member:
            cycle.append(above)
        last = max(cycle, key=lambda joint: joint.node)
        names = ", ".join(f"'{joint.child.name}'" for joint in cycle)
        self.context.report("SK073.cycle", last.node, bodies=names)
        del self.parent_joints[id(last.child)]
        self.context.ignored_joints[last.child.node] = last.name
        return last

    def _free_joint(self, body: Body) -> Joint:
        """The free joint of a body that has no joint."""
        return Joint(
            name=ROOT_NAME,
            kind="free",
            child=body,
            limits_enforced=not self.context.dart,
            implicit=True,
            document=DOCUMENT,
            node=body.node,
        )


VERSION = "1.0"


_CUTS = (("skeleton",), ("body", "joint"))
"""The elements after which large documents are cut into pieces."""


def read(document: Document, options: ReadOptions) -> Scene:
    """Read a document.  The scene has everything that is valid, its diagnostics report everything else."""
    try:
        return _read(document, options, _CUTS)
    except NotInPiecesError:
        return _read(document, options, ())


def _read(document: Document, options: ReadOptions, cuts: Levels) -> Scene:
    collector = Collector(CATALOGUE, document, options.strict)
    source_info = SourceInfo(format="skel", semantics=options.semantics)
    scene = Scene(documents=[document], diagnostics=collector.diagnostics, source_info=source_info)
    codes = _ROOT_CODES if options.semantics == "dart" else _LENIENT_ROOT_CODES
    embedded: Iterable[EmbeddedElement] | None = None
    if options.native_reading is not None:
        embedded = options.native_reading.apply(document, scene, CATALOGUE, options.limits)
    root: Tree | Pieces | ValidStructure | None = None
    if embedded is None:
        root = read_plain(document, SKEL, collector, options.limits) if cuts else None
    if embedded is None and root is None:
        root = parse_root(document, "skel", options.limits, collector, codes, cuts)
    if embedded is not None or root is not None:
        try:
            if root is not None:
                _SkelReader(document, options, collector).read(root, scene)
                # A namespace has a colon, and most documents have none: one letter is found faster than a word.
                has_elements = not isinstance(root, ValidStructure)
                if has_elements and document.text.find(b":") >= 0 and might_contain_embedded_data(document.text):
                    embedded = embedded_elements(root)
            if embedded is not None and options.apply_embedded_data and options.semantics == "written":
                if options.on_native_scene is not None:
                    options.on_native_scene(scene)
                finder = MeshFinder(document.location, options.paths, options.limits)
                reader = EmbeddedReader(scene, collector.report, EMBEDDED_DATA, finder, options.rejected_elements)
                rejected = reader.apply(embedded)
                if rejected is not None:
                    return read(document, replace(options, rejected_elements=rejected))
        except MalformedError as problem:  # a limit was exceeded: the whole document is refused
            scene.worlds.clear()
            report_malformed(problem, collector, _ROOT_CODES)
    collector.diagnostics.sort(key=_by_node)
    return scene


_ROOT_CODES = RootCodes(malformed="SK001", root="SK003", declarations="SK007", dart_text="SK002", encoding="SK008")


_LENIENT_ROOT_CODES = replace(_ROOT_CODES, early_root="dart")


def _by_node(diagnostic: Diagnostic) -> int:
    return diagnostic.place.node


class _SkelReader:
    """Reads one document."""

    def __init__(self, document: Document, options: ReadOptions, collector: Collector) -> None:
        self.context = SkelContext(document, options, collector)
        self.report = collector.report
        self.bodies = SkelBodyReader(self.context)
        self.joints = SkelJointReader(self.context)
        self.structure = PiecewiseReader(document, SKEL, collector, options.limits, self.context.dart)
        self.models: list[Model] = []
        self.bare: list[Model] = []
        self.names: dict[str, Names] = {}
        """The names of the models inside and outside the world."""

    def read(self, root: Tree | Pieces | ValidStructure, scene: Scene) -> None:
        node = self.structure.read(root, self._add_model)
        self._check_version(node)
        world: Node | None = node.fields.get("world")
        if world is None and not self.bare:
            self.report("SK004", node.number)
            return
        is_bare = world is None
        scene.worlds.append(self._build_bare_world() if world is None else self._read_world(world))
        version = node.fields.get("@version", VERSION)
        scene.source_info = SourceInfo("skel", version, self.context.options.semantics, is_bare)
        checks.check_derived_moments(self.context, self.bodies.derived)
        detector = scene.worlds[0].collision_detector
        checks.check_detector(self.context, detector, self.bodies.shapes.partly_supported)

    def _add_model(self, node: Node, _rule: Element, _parent: Node, home: Element) -> None:
        """Add the model of a skeleton, inside or outside the world."""
        models = self.models if home.name == "world" else self.bare
        taken = self.names.get(home.name)
        if taken is None:
            taken = self.names[home.name] = Names()
        models.append(self._read_model(node, taken))

    def _check_version(self, node: Node) -> None:
        version = node.fields.get("@version")
        if version is None:
            self.report("SK006.absent", node.number)
        elif version.strip() != VERSION:
            self.report("SK006.other", node.number, attribute="version", version=version)

    # --- worlds ---------------------------------------------------------------------------------------

    def _read_world(self, node: Node) -> World:
        if self.bare:
            self._handle_outside_skeletons()
        if not self.models:
            self.report("SK044.world", node.number)
        physics: Node | None = node.fields.get("physics")
        own: tuple[tuple[Node | None, Element], ...] = ((node, WORLD_ELEMENT), (physics, PHYSICS_ELEMENT))
        time_step, gravity, detector = DEFAULT_TIME_STEP, DEFAULT_GRAVITY, ""
        if physics is not None:
            time_step = self._read_time_step(physics)
            gravity = physics.fields.get("gravity", DEFAULT_GRAVITY)
            detector = physics.fields.get("collision_detector", "")
        if physics is None or ("gravity" not in physics.fields and not physics.is_invalid("gravity")):
            self.report("SK031", node.number if physics is None else physics.number)
        return World(
            name=node.fields.get("@name", "world"),
            models=self.models,
            time_step=time_step,
            gravity=gravity,
            collision_detector=detector,
            document=DOCUMENT,
            node=node.number,
            given=stated_fields(*own),
            repaired=invalid_fields(*own) if node.invalid or (physics and physics.invalid) else NO_FIELDS,
        )

    def _read_time_step(self, physics: Node) -> float:
        step: float = physics.fields.get("time_step", DEFAULT_TIME_STEP)
        if step > 0.0 and isfinite(step):
            return step
        if isfinite(step):
            self.report("SK030", physics.number, "time_step", found=step)
        physics.mark_invalid("time_step")
        return DEFAULT_TIME_STEP

    def _handle_outside_skeletons(self) -> None:
        """Report the skeletons directly under `skel` of a document with a world; use them if the world has none."""
        taken = not self.models
        for model in self.bare:
            self.report("SK005.taken" if taken else "SK005.kept", model.node)
        if taken and not self.context.dart:
            self.models = self.bare

    def _build_bare_world(self) -> World:
        self.report("SK009", self.bare[0].node)
        if len(self.bare) > 1:
            self.report("SK005.several", self.bare[1].node)
        return World(models=self.bare, document=DOCUMENT)

    # --- models ---------------------------------------------------------------------------------------

    def _read_model(self, node: Node, taken: Names) -> Model:
        fields = node.fields
        if "body" not in fields:
            self.report("SK044.skeleton", node.number)
        bodies = self.bodies.read_bodies(fields.get("body", []))
        joints = self.joints.read_joints(fields.get("joint", []), bodies)
        ordered = order_joints(self.context, bodies, joints)
        model = Model(
            name=self._unique_model_name(node, taken),
            pose=fields.get("transformation", IDENTITY),
            static=self._read_static(node),
            bodies=[joint.child for joint in ordered],
            joints=ordered,
            document=DOCUMENT,
            node=node.number,
            given=node.stated_fields(SKELETON_ELEMENT),
        )
        if node.invalid:
            model.repaired = node.invalid_fields(SKELETON_ELEMENT)
        if len(ordered) > 1 or any(dof.name for joint in ordered for dof in joint._dofs or ()):
            self._make_dof_names_unique(ordered)
        if self.context.dart:
            place_like_dart(model)
        checks.check_free_velocities(self.context, model)
        return model

    def _unique_model_name(self, node: Node, taken: Names) -> str:
        name = node.fields.get("@name")
        if name is None:
            name = unique_name("skeleton", taken)
            self.report("SK041.missing", node.number, element="skeleton", name=name)
        elif name in taken:
            renamed = unique_name(name, taken)
            self.report("SK041.repeated", node.number, attribute="name", element="skeleton", name=name, renamed=renamed)
            name = renamed
        taken.add(name)
        return str(name)

    def _read_static(self, node: Node) -> bool:
        mobile, immobile = node.fields.get("mobile"), node.fields.get("immobile")
        if immobile is not None:
            contradiction = mobile is not None and mobile == immobile
            self.report("SK043.contradiction" if contradiction else "SK043", node.number, "immobile")
            if mobile is None and not self.context.dart:
                return bool(immobile)
        return mobile is False

    def _make_dof_names_unique(self, joints: list[Joint]) -> None:
        """Rename degrees of freedom that share a name."""
        all_names = [name for joint in joints for name in joint.dof_names]
        if len(set(all_names)) == len(all_names):
            return
        names = Names()
        for joint in joints:
            for i, name in enumerate(joint.dof_names):
                renamed = unique_name(name, names)
                names.add(renamed)
                if renamed != name:
                    joint.dofs[i].name = renamed
                    if name != PLANAR_THIRD:
                        self.report(
                            "SK041.repeated", joint.node, element="degree of freedom", name=name, renamed=renamed
                        )


SOURCE_MAPPING = SourceMapping(
    SceneFieldTable(SKEL.scene_fields()),
    DiagnosticEffects(
        ignored=(
            "SK005.world",
            "SK005.kept",
            "SK010",
            "SK011",
            "SK012",
            "SK013",
            "SK014",
            "SK040.repeated",
            "SK084",
            "SK088.stiffness",
            "SK088.spring_damping",
            "SK098",
        ),
        used=(
            "SK013.collidable_zero",
            "SK013.geometry_color",
            "SK013.self_collide",
            "SK013.soft_marker",
            "SK014.split",
            "SK051",
            "SK052",
            "SK053",
            "SK061",
            "SK063",
            "SK077.missing",
            "SK077.no_xyz",
            "SK079.axis",
            "SK090",
            "SK020",
            "SK050",
        ),
        lossless=(
            "SK005",
            "SK007",
            "SK008",
            "SK013",
            "SK014",
            "SK02",
            "SK033",
            "SK040",
            "SK041",
            "SK042",
            "SK043",
            "SK050",
            "SK051",
            "SK052",
            "SK053",
            "SK055",
            "SK063",
            "SK064",
            "SK065",
            "SK067.range",
            "SK068.missing",
            "SK069",
            "SK07",
            "SK081",
            "SK087",
            "SK088",
            "SK090",
            "SK094",
        ),
    ),
)
