"""Reads an XODE document into a scene."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from lxml import etree
from msgspec import Struct
from msgspec.structs import replace

from exoskel.diagnostics import Collector, Diagnostic
from exoskel.fates import Verdict, no_effect
from exoskel.formats.interface import DiagnosticEffects, NodeKey, ReadOptions, SourceMapping
from exoskel.formats.xode.codes import CATALOGUE, EMBEDDED_DATA
from exoskel.formats.xode.context import (
    DOCUMENT,
    PybrainParameters,
    XodeContext,
    choose_dialect,
    find_pybrain_comment,
    parse_pybrain_comment,
    report_choice,
)
from exoskel.formats.xode.document_layout import BodyEntry, DocumentLayout, Frames
from exoskel.formats.xode.geoms import GeomReader
from exoskel.formats.xode.joints import ENVIRONMENT, OdeJoint, OdeJointReader
from exoskel.formats.xode.mass import MassReader
from exoskel.formats.xode.models import ModelBuilder, assemble
from exoskel.formats.xode.transforms import vector
from exoskel.formats.xode.values import FLOAT, POSITIVE, VERSION_PATTERN
from exoskel.formats.xode.vocabulary import BODY_ELEMENT, GROUPS, WORLD_ELEMENT, XODE
from exoskel.scene.body import Body, BodyState, FiniteRotation
from exoskel.scene.inertia import Inertia
from exoskel.scene.pose import ZERO, Vector
from exoskel.scene.shape import Shape
from exoskel.scene.source_info import SourceInfo
from exoskel.scene.world import Extension, Scene, World
from exoskel.source.document import Document, Tree, split_tag
from exoskel.source.embedded_data import EmbeddedReader
from exoskel.source.embedded_format import (
    EXTENSION,
    OWN_EXTENSION,
    EmbeddedElement,
    embedded_elements,
    might_contain_embedded_data,
)
from exoskel.source.flat_tree import Node
from exoskel.source.meshes import MeshFinder
from exoskel.source.numbers import parse_decimal
from exoskel.source.pieces import Levels, NotInPiecesError, Pieces
from exoskel.source.piecewise_reader import PiecewiseReader
from exoskel.source.plain_document import read_plain
from exoskel.source.positions import Span
from exoskel.source.root_check import RootCodes, parse_root, report_malformed
from exoskel.source.valid_structure import ValidStructure
from exoskel.source.vocabulary import Element, SceneField, SceneFieldTable, ValueType
from exoskel.source.well_formedness import MalformedError


class _Parameter(Struct, frozen=True):
    """A child of a world extension: its attributes, and their kind."""

    attributes: tuple[str, ...] = ("value",)
    kind: ValueType = FLOAT


_PARAMETERS = {
    "gravity": _Parameter(("x", "y", "z")),
    "cfm": _Parameter(),
    "erp": _Parameter(),
    "time_step": _Parameter(kind=POSITIVE),
}
"""The parameters of a world by the scene fields that they set."""


def _read_world_extensions(context: XodeContext, extensions: Iterable[tuple[int, Tree]], world: World) -> None:
    """Read gravity, CFM, ERP and time step from extensions of any name directly under the world, with their numbers."""
    stated: set[str] = set()
    for first, extension in extensions:
        ours = extension.get(EXTENSION.name_attribute, extension.get("name")) == EXTENSION.world_extension
        for child in extension.iterchildren(tag=etree.Element):
            field = EXTENSION.world_parameters.get(_extension_name(child, extension))
            if field is None:
                continue
            parameter = _PARAMETERS[field]
            values = [_extension_value(child, name, parameter.kind) for name in parameter.attributes]
            if None not in values:
                setattr(world, field, tuple(values) if len(values) > 1 else values[0])
                stated.add(field)
            elif ours:
                number = next(i for i, other in enumerate(extension.iter(), first) if other is child)
                _report_parameter(context, child, parameter, number)
    world.given = world.given | stated


def _extension_name(element: Tree, extension: Tree) -> str:
    """The name of a child of an extension; empty if it is in another namespace."""
    namespace, name = split_tag(element)
    return name if namespace in ("", split_tag(extension)[0]) else ""


def _extension_value(element: Tree, name: str, kind: ValueType) -> float | None:
    text = element.get(name)
    value = None if text is None else kind.value(text)
    return None if value is None else float(value)


def _report_parameter(context: XodeContext, element: Tree, parameter: _Parameter, number: int) -> None:
    for name in parameter.attributes:
        text = element.get(name)
        if text is None:
            context.report("X301", number, attribute_name=name, element=split_tag(element)[1])
        elif parameter.kind.value(text) is None:
            for finding in parameter.kind.examine(text, literal=False).findings:
                context.report(finding.key, number, attribute=name, token=finding.token, name=name, **finding.details)


def _read_pybrain_comment(context: XodeContext, comment: tuple[Span, str] | None) -> PybrainParameters:
    """The parameters in a PyBrain comment."""
    if comment is None:
        return PybrainParameters()
    span, text = comment
    parameters = parse_pybrain_comment(text)
    for number, line in parameters.problems:
        context.report("X905", position=context.document.scan.position(span), number=number, text=line)
    return parameters


def _attach_to_environment(
    parameters: PybrainParameters, links: list[OdeJoint], layout: DocumentLayout
) -> list[OdeJoint]:
    """The joints, with joints and bodies attached to the environment as the PyBrain comment states."""
    names = set(parameters.fixed)
    for link in links:
        if link.name in names and link.first != ENVIRONMENT:  # a joint must not have the environment on both sides
            link.second = ENVIRONMENT
    added = [
        OdeJoint(
            node=body.node, name=f"{name}_affixed", kind="weld", first=number, second=ENVIRONMENT, world=body.world
        )
        for number, body in enumerate(layout.bodies)
        if (name := body.node.get("@name")) in names
    ]
    return [*links, *added]


DEFAULT_VERSION = "1.0r22"
NO_GRAVITY: Vector = (0.0, 0.0, 0.0)

_VERSION = re.compile(VERSION_PATTERN)

_ROOT_CODES = RootCodes(malformed="X101", root="X102", declarations="X105", any_namespace=True)


_CUTS = (("body", "joint"), ("geom",))
"""The elements after which large documents are cut into pieces."""


def read(document: Document, options: ReadOptions) -> Scene:
    """Read a document.  The scene has everything that is valid, its diagnostics report everything else."""
    try:
        return _read(document, options, _CUTS)
    except NotInPiecesError:
        return _read(document, options, ())


def _read(document: Document, options: ReadOptions, cuts: Levels) -> Scene:
    document.path_style = "xpath"
    collector = Collector(CATALOGUE, document, options.strict)
    scene = Scene(documents=[document], diagnostics=collector.diagnostics, source_info=SourceInfo(format="xode"))
    embedded: Iterable[EmbeddedElement] | None = None
    if options.native_reading is not None:
        embedded = options.native_reading.apply(document, scene, CATALOGUE, options.limits)
    root: Tree | Pieces | ValidStructure | None = None
    if embedded is None:
        root = read_plain(document, XODE, collector, options.limits) if cuts else None
    if embedded is None and root is None:
        root = parse_root(document, "xode", options.limits, collector, _ROOT_CODES, cuts)
    if embedded is not None or root is not None:
        try:
            if root is not None:
                _XodeReader(document, options, collector).read(root, scene)
                if not isinstance(root, ValidStructure) and might_contain_embedded_data(document.text):
                    embedded = embedded_elements(root)
            if embedded is not None and options.apply_embedded_data:
                if options.on_native_scene is not None:
                    options.on_native_scene(scene)
                finder = MeshFinder(document.location, options.paths, options.limits)
                reader = EmbeddedReader(scene, collector.report, EMBEDDED_DATA, finder, options.rejected_elements)
                rejected = reader.apply(embedded)
                if rejected is not None:
                    return read(document, replace(options, rejected_elements=rejected))
        except (MalformedError, RecursionError) as problem:
            scene.worlds.clear()
            if isinstance(problem, RecursionError):
                problem = MalformedError("elements are nested too deeply", limit="depth")
            report_malformed(problem, collector, _ROOT_CODES)
    collector.diagnostics.sort(key=_by_node)
    return scene


def _by_node(diagnostic: Diagnostic) -> int:
    return diagnostic.place.node


class _XodeReader:
    """Reads one document."""

    def __init__(self, document: Document, options: ReadOptions, collector: Collector) -> None:
        self.document = document
        self.options = options
        self.collector = collector
        self.report = collector.report
        self.structure = PiecewiseReader(document, XODE, collector, options.limits, literal=False)

    def read(self, tree: Tree | Pieces | ValidStructure, scene: Scene) -> None:
        root = self._read_structure(tree)
        comment = find_pybrain_comment(self.document)
        chosen, reason = choose_dialect(self.options.dialect, root, has_pybrain_comment=comment is not None)
        context = XodeContext(self.document, self.options, self.collector, chosen)
        version = self._read_version(root)
        scene.source_info = SourceInfo("xode", version, chosen)
        layout = DocumentLayout(root)
        frames = Frames(context, layout)
        if chosen == "pyode":
            frames.report_nested_transforms()
        _report_duplicate_names(context, layout)
        scene.worlds = _WorldReader(context, layout, frames).read(self.structure.opaque_elements, comment)
        report_choice(context, reason)
        scene.extensions = self._read_extensions(layout)
        if not layout.worlds:
            self.report("X107", 0)

    def _read_structure(self, tree: Tree | Pieces | ValidStructure) -> Node:
        if isinstance(tree, ValidStructure):
            return self.structure.read(tree, _add_to_parent)
        tag: str = tree.root.tag if isinstance(tree, Pieces) else tree.tag
        if tag.startswith("{"):
            namespace = tag[1:].partition("}")[0]
            self.report("X106", 0, element="xode", namespace=namespace)
            self.structure.namespaces.add(namespace)
        return self.structure.read(tree, _add_to_parent)

    def _read_version(self, root: Node) -> str:
        version: str | None = root.fields.get("@version")
        if version is None:
            self.report("X103", 0)
            return DEFAULT_VERSION
        if not _VERSION.fullmatch(version):
            self.report("X104", 0, attribute="version", version=version)
        return version

    def _read_extensions(self, layout: DocumentLayout) -> list[Extension]:
        extensions: list[Extension] = []
        seen: set[tuple[int, str]] = set()
        for entry in layout.extensions:
            fields = entry.node.fields
            ename, name = fields.get(f"@{EXTENSION.name_attribute}"), fields.get("@name")
            if ename is None and name is None:
                self.report("X902", entry.node.number)
            elif ename is not None and name is not None and ename != name:
                self.report("X903.conflict", entry.node.number, ename=ename, name=name)
            called = ename if ename is not None else name or ""
            if called and (entry.owner.number, called) in seen:
                self.report("X904", entry.node.number, name=called)
            seen.add((entry.owner.number, called))
            if called != OWN_EXTENSION:
                extensions.append(Extension(name=called, owner=entry.kind, document=DOCUMENT, node=entry.node.number))
        return extensions


def _add_to_parent(node: Node, rule: Element, parent: Node, _home: Element) -> None:
    """Add a node to its parent; nodes are processed after the whole document is read, as links may refer forwards."""
    parent.fields.setdefault(rule.name, []).append(node)


_ARTICLES = {"xode": "the document", "world": "a world", "space": "a space", "group": "a group"}


def _report_duplicate_names(context: XodeContext, layout: DocumentLayout) -> None:
    """Report names that occur twice: names are unique in the document, across all kinds of elements."""
    named: list[tuple[Node, str]] = [(frame.node, frame.kind) for frame in layout.frames]
    named += [(joint.node, "joint") for joint in layout.joints]
    named = [(node, kind) for node, kind in named if "@name" in node.fields]
    if len({node.fields["@name"] for node, _ in named}) == len(named):
        return
    named.sort(key=lambda entry: entry[0].number)
    first: dict[str, tuple[Node, str]] = {}
    for node, kind in named:
        name = node.fields["@name"]
        if name in first:
            earlier, earlier_kind = first[name]
            described = _ARTICLES.get(earlier_kind, f"a {earlier_kind}")
            line = context.line(earlier.number)
            context.report("X208", node.number, attribute="name", name=name, kind=described, line=line)
        else:
            first[name] = (node, kind)


class _WorldReader:
    """Reads the worlds of a document whose frames have been computed."""

    def __init__(self, context: XodeContext, layout: DocumentLayout, frames: Frames) -> None:
        self.context = context
        self.layout = layout
        self.frames = frames

    def read(
        self, extensions: Mapping[int, Sequence[tuple[int, Tree]]], comment: tuple[Span, str] | None
    ) -> list[World]:
        """Read the worlds; `extensions` has the elements of extensions by the number of the element around them.

        `comment` is the PyBrain comment of the document.
        """
        shapes, static = self._read_geoms()
        bodies = self._read_bodies(shapes)
        parameters = _read_pybrain_comment(self.context, comment)
        links = _attach_to_environment(parameters, self._read_joints(), self.layout)
        numbers = [entry.frame for entry in self.layout.bodies]
        self._apply_colours(parameters, bodies, static)
        worlds: list[World] = []
        own_bodies = _by_world(self.layout.bodies, range(len(bodies)))
        own_links = _by_world(links, links)
        for number, node in enumerate(self.layout.worlds):
            world = World(
                name=node.get("@name") or f"world_{number + 1}",
                gravity=NO_GRAVITY,
                collision_exempt_groups=parameters.exempt_groups,
                self_collision=True,
                document=DOCUMENT,
                node=node.number,
                given=node.stated_fields(WORLD_ELEMENT),
            )
            _read_world_extensions(self.context, extensions.get(node.number, ()), world)
            builder = ModelBuilder(self.context, bodies, self.frames, numbers)
            if static.get(number):
                world.models.append(builder.build_environment(static[number]))
            world.models += builder.build_models(assemble(own_bodies.get(number, ()), own_links.get(number, ())))
            worlds.append(world)
        return worlds

    def _read_geoms(self) -> tuple[dict[int, list[Shape]], dict[int, list[Shape]]]:
        """The shapes of each body, and the static shapes of each world."""
        reader = GeomReader(self.context, self.frames)
        moving: dict[int, list[Shape]] = {}
        static: dict[int, list[Shape]] = {}
        for entry in self.layout.geoms:
            result = reader.read_shape(entry)
            if result is not None:
                shape, attached = result
                shapes, owner = (moving, entry.body) if attached else (static, entry.world)
                shapes.setdefault(owner, []).append(shape)
        return moving, static

    def _read_bodies(self, shapes: dict[int, list[Shape]]) -> list[Body]:
        own = [shapes.get(number, []) for number in range(len(self.layout.bodies))]
        elements = [entry.node.nodes("mass") for entry in self.layout.bodies]
        inertias = MassReader(self.context).read_inertias(list(zip(elements, own, strict=True)))
        rows = zip(self.layout.bodies, own, inertias, strict=True)
        return [self._read_body(number, *row) for number, row in enumerate(rows)]

    def _read_body(self, number: int, entry: BodyEntry, shapes: list[Shape], inertia: Inertia) -> Body:
        node = entry.node
        return Body(
            name=node.get("@name") or f"body_{number + 1}",
            pose=self.frames.pose(entry.frame),
            inertia=inertia,
            gravity=node.get("@gravitymode", 1) != 0,
            collisions=shapes,
            state=self._read_state(node),
            document=DOCUMENT,
            node=node.number,
            given=node.stated_fields(BODY_ELEMENT),
            repaired=node.invalid_fields(BODY_ELEMENT),
        )

    def _read_state(self, node: Node) -> BodyState | None:
        if _STATE_FIELDS.isdisjoint(node.fields):
            return None
        return BodyState(
            linear_velocity=_read_vector(node, "linearVel"),
            angular_velocity=_read_vector(node, "angularVel"),
            force=_read_vector(node, "force"),
            torque=_read_vector(node, "torque"),
            enabled=node.get("@enabled", True),
            finite_rotation=self._read_finite_rotation(node.get("finiteRotation")),
        )

    def _read_finite_rotation(self, node: Node | None) -> FiniteRotation:
        if node is None or "@mode" not in node.fields:
            return FiniteRotation()
        axis: list[Any] = [node.fields.get(name) for name in _FINITE_AXIS]
        missing = [name[1:] for name in _FINITE_AXIS if name not in node.fields and not node.is_invalid(name)]
        if 0 < len(missing) < len(_FINITE_AXIS):  # all of them or none
            self.context.report("X301", node.number, attribute_name=", ".join(missing), element="finiteRotation")
        if None in axis:
            return FiniteRotation(node.fields["@mode"])
        x, y, z = axis
        return FiniteRotation(node.fields["@mode"], (x, y, z))

    def _read_joints(self) -> list[OdeJoint]:
        reader = OdeJointReader(self.context, self.layout, self.frames)
        links: list[OdeJoint] = []
        for number, entry in enumerate(self.layout.joints):
            link = reader.read_joint(entry)
            if link is not None:
                link.name = link.name or f"joint_{number + 1}"
                links.append(link)
        return links

    def _apply_colours(self, parameters: PybrainParameters, bodies: list[Body], static: dict[int, list[Shape]]) -> None:
        """Apply the colours of the PyBrain comment, which go by the names of bodies and geoms."""
        if not parameters.colors:
            return
        for body in bodies:
            for shape in body.collisions:
                shape.color = parameters.colors.get(shape.name) or parameters.colors.get(body.name)
        for shapes in static.values():
            for shape in shapes:
                shape.color = parameters.colors.get(shape.name)


_FINITE_AXIS = ("@xaxis", "@yaxis", "@zaxis")
_STATE_FIELDS = frozenset(BODY_ELEMENT.rows_setting("state"))


_T = TypeVar("_T")


def _by_world(entries: Sequence[BodyEntry | OdeJoint], values: Iterable[_T]) -> dict[int, list[_T]]:
    """Values grouped by the number of the world of their entries."""
    grouped: dict[int, list[_T]] = {}
    for entry, value in zip(entries, values, strict=True):
        grouped.setdefault(entry.world, []).append(value)
    return grouped


def _read_vector(node: Node, name: str) -> Vector:
    inner: Node | None = node.fields.get(name)
    return ZERO if inner is None else vector(inner) or ZERO


_WORLD_EXTENSIONS: dict[str, SceneField | str] = {
    f"{EXTENSION.tag}/{tag}/**": field for tag, field in EXTENSION.world_parameters.items()
}
"""Parameters of a world that PyODE reads from an extension, which is opaque to the vocabulary."""


def _scene_fields() -> SceneFieldTable:
    rows = XODE.scene_fields(GROUPS)
    return SceneFieldTable({**rows, World: {**rows[World], **_WORLD_EXTENSIONS}})


def find_unused(document: Document) -> dict[NodeKey, Verdict]:
    """Find attributes without effect because of what the document states elsewhere."""
    verdicts: dict[NodeKey, Verdict] = {}
    for node, tag in enumerate(document.outline.tags):
        if tag in ("matrix4f", "matrix"):
            spans = document.scan.attributes(node)
            row = [
                document.text[spans[name].start : spans[name].end] for name in ("m30", "m31", "m32") if name in spans
            ]
            if any(parse_decimal(entry.decode("ascii", "replace").strip()) for entry in row):
                verdicts |= {
                    (node, name): no_effect("the translation is in the last row") for name in ("m03", "m13", "m23")
                }
        elif tag == "adjust" and "total" in document.scan.attributes(node):
            verdicts |= {
                (solid, name): no_effect("the mass is adjusted")
                for solid in _adjusted(document, node)
                for name in _AMOUNT
            }
    return verdicts


_AMOUNT = ("density", "total")


def _adjusted(document: Document, adjust: int) -> list[int]:
    """The mass shape whose density or total an `adjust` overrides: the only one in the mass."""
    outline = document.outline
    mass = outline.parents[adjust]
    inside = [n for n in range(mass + 1, outline.ends[mass]) if outline.parents[n] == mass]
    parts = [n for n in inside if outline.tags[n] in ("mass", "mass_shape", "mass_struct")]
    return parts if len(parts) == 1 and outline.tags[parts[0]] == "mass_shape" else []


SOURCE_MAPPING = SourceMapping(
    _scene_fields(),
    DiagnosticEffects(
        ignored=("X202", "X203", "X204", "X206", "X207", "X209", "X803", "X807", "X810", "X910"),
        used=("X204.mass", "X810.kept"),
        lossless=(
            "X10",
            "X204",
            "X205",
            "X208",
            "X210",
            "X30",
            "X50",
            "X51",
            "X604",
            "X607",
            "X608",
            "X610",
            "X70",
            "X80",
            "X81",
            "X902",
            "X903",
        ),
    ),
    find_unused,
    transparent=GROUPS,
)
