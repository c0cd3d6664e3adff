"""Read an SDFormat document with its includes into a scene."""

from __future__ import annotations

import os
from math import isfinite
from pathlib import Path

from msgspec import Struct, structs

from exoskel.diagnostics import PACKAGE_HINT, Diagnostic
from exoskel.formats.interface import ReadOptions
from exoskel.formats.macro_expansion import MacroFormat, read_expanded
from exoskel.formats.sdf.cameras_and_lights import LIGHT, SdfViewReader, has_world_cameras
from exoskel.formats.sdf.codes import CATALOGUE
from exoskel.formats.sdf.context import (
    NEWEST,
    OLDEST,
    NamedFrame,
    Scope,
    SdfContext,
    parse_version,
    version_text,
)
from exoskel.formats.sdf.frames import (
    ModelReference,
    SdfFrames,
    StatedFrame,
    by_owner,
    places_of_links,
    resolve_poses,
    state_frame,
)
from exoskel.formats.sdf.models import (
    ModelPlacement,
    SdfModelReader,
    SelfCollision,
    inner_transform,
    placement_of,
    unique_in_scope,
)
from exoskel.formats.sdf.names import WORLD
from exoskel.formats.sdf.resource_uris import is_remote, local_reference
from exoskel.formats.sdf.sensors import pending_sensors, read_sensors
from exoskel.formats.sdf.surfaces import report_bitmasks
from exoskel.formats.sdf.unread_values import check_unread_values
from exoskel.formats.sdf.values import is_zero
from exoskel.formats.sdf.vocabulary import (
    PHYSICS_ELEMENT,
    SDF,
    WORLD_ELEMENT,
)
from exoskel.scene.cameras_and_keyframes import View
from exoskel.scene.item import Names
from exoskel.scene.model import Model
from exoskel.scene.pose import Pose, Vector
from exoskel.scene.sensor import SensorSource
from exoskel.scene.source_info import SourceInfo
from exoskel.scene.world import DEFAULT_TIME_STEP, Scene, World
from exoskel.source.document import Document, Tree
from exoskel.source.file_access import read_referenced
from exoskel.source.file_lookup import MODEL_SCHEME, FoundFile, Location, confinement, find_beside
from exoskel.source.flat_tree import Node, invalid_fields, stated_fields
from exoskel.source.output_context import NodeOfDocument
from exoskel.source.root_check import RootCodes, parse_root, report_malformed
from exoskel.source.structure import StructureReader
from exoskel.source.well_formedness import MalformedError

MAX_DEPTH = 50
MAX_INCLUDED_ELEMENTS = 300_000
"""The limit for the elements of all includes together: a file that is included often is read once, but placed often."""
MIN_ELEMENTS = 30
"""The minimum number of elements that an include counts for: placing even a small model takes time."""
_PLACED = ("actor", "population")
"""Elements of worlds that have a pose, and are not part of a scene."""
_CONFIG = "model.config"


def find(source: SdfContext, uri: str, number: int) -> Path | None:
    """Find the file of an include, which names a file or the folder of a model."""
    local = local_reference(uri, confine=source.options.paths.confine)
    if is_remote(local):
        source.report("SD040.remote", number, "uri", token=uri, uri=uri)
        return None
    outside = False
    names = [local] if ":" in local or os.path.isabs(local) else [local, f"{MODEL_SCHEME}{local}"]
    inside = ("", f"/{_CONFIG}", "/model.sdf")
    for candidate in (f"{name.rstrip('/')}{end}" if end else name for name in names for end in inside):
        found = source.find(candidate)
        outside = outside or "outside" in found.findings
        if found.path is not None and found.path.name == _CONFIG:
            found = _choose_file(source, found.path, number)
            outside = outside or "outside" in found.findings
        if found.path is not None:
            return found.path
    hint = source.search_hint(names[-1]) or PACKAGE_HINT
    source.report("SD040.outside" if outside else "SD040.missing", number, "uri", token=uri, uri=uri, hint=[hint])
    return None


def _choose_file(source: SdfContext, config: Path, number: int) -> FoundFile:
    """The file that `model.config` names for the newest supported version."""
    location, paths, limits = source.document.location, source.options.paths, source.options.limits
    named: list[tuple[tuple[int, int], str]] = []
    try:
        tree = Document(read_referenced(config, limits.bytes, confinement(location, paths))).parse(limits)
        named = [(parse_version(e.get("version", "")), Path((e.text or "").strip()).name) for e in tree.iter("sdf")]
    except MalformedError as problem:
        source.report("SD040.config", number, "uri", file=config.name, reason=problem.located_reason)
    except OSError:
        pass
    known = [(version, name) for version, name in named if name and version <= (1, 12)]
    return find_beside(config, max(known)[1] if known else "model.sdf", location, paths)


# --- the document --------------------------------------------------------------------------------------


DEFAULT_GRAVITY: Vector = (0.0, 0.0, -9.8)
"""The gravity of a world that does not state it, in m/s²."""

_ROOT_CODES = RootCodes(malformed="SD001", root="SD002", declarations="SD004")


_MACROS = MacroFormat("sdf", "sdf", "SD007", CATALOGUE)


def read(document: Document, options: ReadOptions) -> Scene:
    """Read a document.  Valid parts are in the scene, problems in its diagnostics."""
    return read_expanded(_read, document, options, _MACROS)


def _read(document: Document, options: ReadOptions) -> Scene:
    reader = _SdfReader(options)
    scene = Scene(source_info=SourceInfo(format="sdf"))
    source = reader.source(document)
    root = parse_root(document, "sdf", options.limits, source.collector, _ROOT_CODES)
    if root is not None:
        try:
            reader.read(source, root, scene)
            for one in reader.sources:
                check_unread_values(one)
        except MalformedError as problem:  # a limit was exceeded: the whole document is rejected
            scene.worlds.clear()
            report_malformed(problem, source.collector, _ROOT_CODES)
    scene.documents = [one.document for one in reader.sources]
    scene.diagnostics = [d for one in reader.sources for d in _sorted_once(one.collector.diagnostics)]
    return scene


def _resolve(path: str) -> str:
    """A path with symbolic links resolved; unchanged if it is not a valid path."""
    try:
        return str(Path(path).resolve()) if path else ""
    except (OSError, ValueError):
        return path


def _sorted_once(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """Sort by position and remove duplicates of files that are included more than once."""
    unique = {(d.key, d.place, d.message): d for d in diagnostics}
    return sorted(unique.values(), key=lambda d: d.place.node)


class _IncludedFile(Struct, eq=False):
    """An included file and its root node."""

    source: SdfContext
    root: Node | None


class _SdfReader:
    """Reads a document and its includes."""

    def __init__(self, options: ReadOptions) -> None:
        self.options = options
        self.sources: list[SdfContext] = []
        self.opened: dict[str, _IncludedFile] = {}
        self.chain: dict[int, tuple[str, ...]] = {}
        """For each document, the chain of files that include it."""
        self.sensors: dict[NodeOfDocument, set[SensorSource]] = {}
        self.views: dict[NodeOfDocument, list[View]] = {}
        self.couplings: dict[NodeOfDocument, set[NodeOfDocument]] = {}
        self.frames: list[StatedFrame] = []
        self.inner: dict[ModelReference, dict[NodeOfDocument, list[str]]] = {}
        self.poses: dict[NodeOfDocument, Pose] = {}
        """The poses of elements that a scene may not contain, in their default frames, if they state another one."""
        self.nested: set[int] = set()
        """The numbers of documents with models that are parts of others."""
        self.included_elements = 0
        """The total number of included elements: small files that include each other could grow without bound."""

    def source(self, document: Document, chain: tuple[str, ...] = ()) -> SdfContext:
        made = SdfContext(document, self.options, len(self.sources))
        self.sources.append(made)
        self.chain[made.number] = (
            *chain,
            _resolve(document.location.path),
        )
        return made

    def read(self, source: SdfContext, root: Tree, scene: Scene) -> None:
        node = self._structure(source, root)
        worlds, models = node.nodes("world"), node.nodes("model")
        if not worlds and not models:
            source.report("SD003", node.number)
            return
        scene.source_info = SourceInfo("sdf", node.fields.get("@version", version_text(OLDEST)), bare=not worlds)
        if len(models) > 1 and not worlds:
            source.report("SD006.several", models[1].number)
        for index, world in enumerate(worlds):
            scene.worlds.append(self._world(source, world, models if index == 0 else []))
        for model in models if worlds else []:
            source.report("SD006.beside", model.number)
        if not worlds:
            default_world = World(document=source.number)
            self._models(source, default_world, [placement_of(source, one) for one in models], None)
            scene.worlds.append(default_world)
        places = places_of_links(scene.worlds if self.frames or self.poses else ())
        scene.source_info = structs.replace(
            scene.source_info,
            couplings=self.couplings,
            sensors=self.sensors,
            views=self.views,
            included={one.number: one.number in self.nested for one in self.sources[1:]},
            preserved=SdfFrames(by_owner(self.frames), self.poses, places, self.inner),
        )

    def _structure(self, source: SdfContext, root: Tree) -> Node:
        source.elements = list(root.iter())
        reader = StructureReader(source.document, SDF, source.collector, self.options.limits, literal=False)
        node = reader.read(root, lambda *_: None)
        stated: str | None = node.fields.get("@version")
        if stated is None:
            source.report("SD005.absent", node.number)
        else:
            source.version = parse_version(stated)
            if not OLDEST <= source.version <= NEWEST:
                source.report("SD005.other", node.number, attribute="version", version=stated)
        return node

    # --- worlds ---------------------------------------------------------------------------------------

    def _world(self, source: SdfContext, node: Node, extra_models: list[Node]) -> World:
        physics = _physics(node)
        world = World(
            name=node.fields.get("@name", "world"),
            gravity=node.fields.get("gravity") or (physics and physics.fields.get("gravity")) or DEFAULT_GRAVITY,
            time_step=_time_step(source, physics),
            document=source.number,
            node=node.number,
            given=stated_fields((node, WORLD_ELEMENT), (physics, PHYSICS_ELEMENT)),
            repaired=invalid_fields((node, WORLD_ELEMENT), (physics, PHYSICS_ELEMENT)),
        )
        _read_engine_settings(world, physics)
        for wind in node.nodes("wind"):
            if not is_zero(source.elements[wind.number].findtext("linear_velocity") or ""):  # Gazebo saves zero wind
                source.report("SD012.physics", wind.number, element="wind")
        for joint in node.nodes("joint"):
            source.report("SD061.world", joint.number, joint=joint.fields.get("@name", ""))
        placed = [placement_of(source, one) for one in (*node.nodes("model"), *extra_models)]
        included = [found for one in node.nodes("include") if (found := self._include(source, one)) is not None]
        self._models(source, world, [*placed, *included], node)
        return world

    def _models(self, source: SdfContext, world: World, placements: list[ModelPlacement], around: Node | None) -> None:
        """Read the models in order, then place them, because poses may be relative to other models' frames.

        `around` is the element of the world, which has frames and lights.
        """
        scope, names = Scope(WORLD), Names()
        made: list[tuple[Model, NamedFrame, SdfModelReader]] = []
        self_collision = SelfCollision()
        for placed in sorted(placements, key=lambda one: one.number):
            referrer = placed.referrer or placed.source
            name = unique_in_scope(referrer, placed.number, placed.name, "model", names)
            reader = SdfModelReader(self._include)
            model, inner = reader.read(placed, name)
            frame = NamedFrame(
                name, referrer, placed.number, placed.stated, inner_transform=inner_transform(placed, inner)
            )
            scope.frames[name], scope.nested[name] = frame, inner
            made.append((model, frame, reader))
            if placed.referrer is not None:
                reader.inner[placed.referrer.number, placed.number] = [""]
            if reader.inner:
                self.inner[ModelReference((placed.source.number, placed.node.number), name)] = reader.inner
            self_collision.add(reader.self_collision, len(reader.bodies))
            for gearbox, follower in reader.couplings.items():
                self.couplings.setdefault(gearbox, set()).add(follower)
            world.models.append(model)
        for one in around.nodes("frame") if around is not None else []:
            name = unique_in_scope(source, one.number, one.fields.get("@name", ""), "frame", names)
            attached = one.fields.get("@attached_to", "")
            frame = NamedFrame(name, source, one.number, source.pose(one), default_frame=attached, attached=attached)
            frame.attribute = "attached_to"
            scope.frames[name] = frame
        for model, frame, _ in made:
            direct = scope.direct(frame)
            model.pose = direct if direct is not None else Pose.from_matrix(scope.place(frame))
        owners = {id(body): model.name for model, _, _ in made for body in model.bodies}
        for frame in scope.frames.values():
            if frame.attribute:
                scope.check(frame)
                key = (world.document, world.node)
                stated = state_frame(frame, scope, key, frame.name, lambda body: owners[id(body)])
                self.frames += [] if stated is None else [stated]
        self_collision.apply(world)
        report_bitmasks(world, self.sources)
        taken, views = Names(), SdfViewReader(world, self.views)
        framed: set[NodeOfDocument] = set()
        for model, _, read in made:
            is_view = has_world_cameras(model, read.sensors)
            sensors = views.read_cameras(model, read.sensors, in_world=is_view)
            read_sensors(world, model, sensors, taken, self.sensors)
            self.nested |= read.nested_documents
            self.poses.update(resolve_poses((*read.sensors, *read.lights, *read.others)))
            if (model.document, model.node) not in framed:
                self.frames += read.stated_frames(model)
                framed.add((model.document, model.node))
            views.read_lights(model, read.lights)
            if is_view:
                world.models.remove(model)
        if around is not None:
            views.read_world_lights(source, around.nodes(LIGHT), scope)
            others = [one for tag in (LIGHT, *_PLACED) for one in around.nodes(tag)]
            self.poses.update(resolve_poses(pending_sensors(source, others, scope, "")))

    # --- includes -------------------------------------------------------------------------------------

    def _include(self, source: SdfContext, node: Node) -> ModelPlacement | None:
        """The model of an include, with the pose and settings of the include."""
        uri: str | None = node.fields.get("uri")
        path = None if uri is None else find(source, uri, node.number)
        if uri is None or path is None:
            return None
        chain = self.chain[source.number]
        if str(path.resolve()) in chain or len(chain) > MAX_DEPTH:
            key = "SD040.circle" if str(path.resolve()) in chain else "SD040.deep"
            source.report(key, node.number, "uri", uri=uri, most=MAX_DEPTH)
            return None
        opened = self._open(path, chain, confinement(source.document.location, self.options.paths))
        if opened is not None and not self._is_within_limit(source, node, opened):
            return None
        models = opened.root.nodes("model") if opened is not None and opened.root is not None else []
        if opened is None or not models:
            source.report("SD040.empty", node.number, "uri", uri=uri)
            return None
        if len(models) > 1:
            source.report("SD040.several", node.number, "uri", uri=uri)
        return _override(source, node, placement_of(opened.source, models[0]))

    def _is_within_limit(self, source: SdfContext, node: Node, opened: _IncludedFile) -> bool:
        most = min(MAX_INCLUDED_ELEMENTS, self.options.limits.elements)
        self.included_elements += max(len(opened.source.elements), MIN_ELEMENTS)
        if self.included_elements > most:
            source.report("SD040.many", node.number, "uri", uri=node.fields["uri"], most=most)
        return self.included_elements <= most

    def _open(self, path: Path, chain: tuple[str, ...], within: Path | None) -> _IncludedFile | None:
        """Open a file; each file is read once, and its problems are reported once."""
        key = str(path.resolve())
        if key not in self.opened:
            try:
                data = read_referenced(path, self.options.limits.bytes, within)
            except OSError:
                return None
            source = self.source(Document(data, str(path), Location(path=str(path))), chain)
            root: Node | None = None
            tree = parse_root(source.document, "sdf", self.options.limits, source.collector, _ROOT_CODES)
            try:
                root = None if tree is None else self._structure(source, tree)
            except MalformedError as problem:
                report_malformed(problem, source.collector, _ROOT_CODES)
            self.opened[key] = _IncludedFile(source, root)
        return self.opened[key]


def _override(source: SdfContext, node: Node, placed: ModelPlacement) -> ModelPlacement:
    """A placement with the values that an include overrides."""
    fields = node.fields
    moved = "pose" in fields
    return ModelPlacement(
        source=placed.source,
        node=placed.node,
        name=fields.get("name", placed.name),
        stated=source.pose(node) if moved else placed.stated,
        static=fields.get("static", placed.static),
        frame=fields.get("placement_frame", placed.frame),
        merge=fields.get("@merge", False),
        referrer=source,
        number=node.number,
    )


def _physics(node: Node) -> Node | None:
    stated = node.nodes("physics")
    return next((one for one in stated if one.fields.get("@default")), stated[0] if stated else None)


def _time_step(source: SdfContext, physics: Node | None) -> float:
    step: float = physics.fields.get("max_step_size", DEFAULT_TIME_STEP) if physics else DEFAULT_TIME_STEP
    if step > 0.0 and isfinite(step):
        return step
    assert physics is not None
    source.report("SD025.step", physics.number, "max_step_size", found=step)
    return DEFAULT_TIME_STEP


def _read_engine_settings(world: World, physics: Node | None) -> None:
    """Read the settings of specific engines that a scene supports."""
    if physics is None:
        return
    dart: Node | None = physics.fields.get("dart")
    ode: Node | None = physics.fields.get("ode")
    if dart is not None:
        world.collision_detector = dart.fields.get("collision_detector", "")
    constraints: Node | None = ode.fields.get("constraints") if ode else None
    if constraints is not None:
        world.erp, world.cfm = constraints.fields.get("erp"), constraints.fields.get("cfm")
