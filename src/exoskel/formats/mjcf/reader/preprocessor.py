"""Prepare the text that MuJoCo compiles: insert included files and remove elements that a scene does not support.

MuJoCo gets no file names: includes are inserted here, and meshes are passed as bytes under generated names.
Each element is on its own line, so that a line number in a message of MuJoCo identifies a node of the document.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from exoskel.diagnostics import Collector, repeats
from exoskel.formats.interface import ReadOptions
from exoskel.formats.mjcf.names import GENERATED, restore_names, stated_equalities, stated_skins
from exoskel.formats.mjcf.preserved_elements import CollectedElements, NumberedElement
from exoskel.formats.mjcf.reader.asset_paths import COMPILER_FOLDERS, asset_path, compiler_settings
from exoskel.formats.mjcf.reader.compiler import Workload
from exoskel.formats.mjcf.reader.composites import expand_composites
from exoskel.formats.mjcf.reader.fragment import Fragment
from exoskel.formats.mjcf.reader.textures import ImageFile, MaterialImages
from exoskel.formats.mjcf.reader.workload import measure, multiplicity
from exoskel.formats.mjcf.scenery import without_generated_range
from exoskel.source.document import Document, Tree, tag_as_written
from exoskel.source.file_access import read_referenced
from exoskel.source.file_lookup import confinement, find_file
from exoskel.source.markup import format_attributes
from exoskel.source.textures import image_problem
from exoskel.source.well_formedness import MalformedError


class Unsupported(Struct, frozen=True):
    """Why an element is ignored: the key of its message and the text for it.

    A section is reported child by child.  With `within`, only children of those elements are ignored.
    """

    key: str
    what: str
    is_section: bool = False
    within: tuple[str, ...] = ()


_NOT_PHYSICS, _PHYSICS = "MJ201", "MJ202"

UNSUPPORTED: dict[str, Unsupported] = {
    "sensor": Unsupported(_NOT_PHYSICS, "a sensor is", is_section=True),
    "visual": Unsupported(_NOT_PHYSICS, "visual settings are"),
    "statistic": Unsupported(_NOT_PHYSICS, "statistics are"),
    "custom": Unsupported(_NOT_PHYSICS, "custom data is", is_section=True),
    "texture": Unsupported(_NOT_PHYSICS, "a texture is"),
    "layer": Unsupported(_NOT_PHYSICS, "a texture is"),
    "skin": Unsupported(_NOT_PHYSICS, "a skin is"),
    "extension": Unsupported(_PHYSICS, "plugins", is_section=True),
    "plugin": Unsupported(_PHYSICS, "plugins", within=("body", "geom", "mesh", "actuator", "sensor", "composite")),
    "deformable": Unsupported(_PHYSICS, "deformable bodies", is_section=True),
    "flexcomp": Unsupported(_PHYSICS, "deformable bodies"),
    "flex": Unsupported(_PHYSICS, "deformable bodies"),
    "flexvert": Unsupported(_PHYSICS, "deformable bodies"),
    "flexstrain": Unsupported(_PHYSICS, "deformable bodies"),
    "model": Unsupported(_PHYSICS, "attached models", within=("asset",)),
    "attach": Unsupported(_PHYSICS, "attached models"),
    "pair": Unsupported(_PHYSICS, "contact pairs", within=("contact",)),
}

_SOLVER = dict.fromkeys(("solref", "solimp", "margin", "gap", "solmix", "priority"), False)
_DELAY = {"delay": True, "nsample": False, "interp": False}
_ACTUATORS = ("general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder", "muscle", "adhesion")
IGNORED_ATTRIBUTES: dict[str, dict[str, bool]] = {
    **dict.fromkeys((*_ACTUATORS, "dcmotor", "orientation", "pid"), _DELAY),
    "geom": _SOLVER | {"fluidshape": True, "fluidcoef": True, "adhesion": True},
    "joint": {
        **dict.fromkeys(("solreflimit", "solimplimit", "solreffriction", "solimpfriction", "margin", "group"), False),
        "springdamper": False,
        "actuatorgravcomp": True,
    },
    "option": {
        **dict.fromkeys(
            ("integrator", "cone", "jacobian", "solver", "iterations", "tolerance", "impratio", "ls_iterations"), False
        ),
        **dict.fromkeys(("wind", "density", "viscosity", "magnetic"), True),
    },
}
"""Attributes that are ignored, and whether they change the physics beyond settings of an engine."""
REMOVED_ATTRIBUTES = frozenset(_DELAY)
"""Ignored attributes that MuJoCo must not see: it would allocate memory for up to a million samples each."""


_PLACEHOLDER_VERTICES = "0 0 0 0.001 0 0 0 0.001 0 0 0 0.001"
"""The vertices of a placeholder for a missing mesh."""
NO_COLOUR = (-1, -1, -1, -1)
"""Marks geoms without a stated colour: MuJoCo's default grey cannot be distinguished from a stated one."""
_MAX_ELEMENTS = 1_000_000
_MAX_SAMPLES = 5 * _MAX_ELEMENTS
"""The limit for a height field in a file."""
_MEMORY_SIZES = frozenset({"memory", "njmax", "nconmax", "nstack"})
"""Sizes that a large world needs in order to compile: memory that is reserved, not used."""
_NAMED_AFTER_FILES = frozenset({"mesh", "hfield"})
_EXTENSIONS = {
    "mesh": (".obj", ".stl", ".msh"),
    "hfield": (".png", ".bin", ".hf", ""),
    "flexcomp": (".obj", ".stl", ".msh", ".gmsh"),
}


class MeshFile(Struct, frozen=True):
    """The file of a mesh asset: the reference as written, and the path (None: not found)."""

    reference: str
    path: str | None


class PreparedDocument(Struct, dict=True):
    """The input of MuJoCo: its elements, one per line of its text.  `meshes` are the mesh files by asset name."""

    root: Fragment
    assets: dict[str, bytes]
    meshes: dict[str, MeshFile]
    inlined: dict[str, Fragment]
    flags: list[int]
    """The nodes of all <flag> elements."""
    work: Workload
    confined_to: Path | None = None
    """The folder in which mesh files must be; None if they may be anywhere."""
    name: str = ""
    """The name of the model."""
    skins: dict[str, str] = {}
    """The descriptions of soft skins that our writer adds, by the names of their bodies."""
    equalities: frozenset[str] = frozenset()
    """The constraints of the world that our writer lists, because they look like loops or mimics of joints."""
    collected: CollectedElements | None = None
    """The elements that may have to be preserved."""
    images: dict[str, ImageFile] = {}
    """The images of materials, by the names of these."""
    ignored_states: dict[str, str] = {}
    """The lists of keyframes that contain numbers of ignored elements, and what these are."""
    controls: tuple[bool, ...] = ()
    """Whether each control belongs to an actuator that is not ignored; empty if this is not known."""
    removed: list[Fragment] = []
    """What MuJoCo rejects: ids of elements are only unique as long as these exist."""
    lacks_files: bool = False
    """Whether an included file, a mesh or a height field cannot be read, so that MuJoCo gets less than it needs."""

    @cached_property
    def text(self) -> str:
        return "\n".join(line.start + line.ends for line in format_lines(self.root, _all_attributes)[0])

    @cached_property
    def nodes(self) -> list[int]:
        """The document's nodes by line."""
        return [fragment.node for fragment in self.root.iter()]

    def node(self, line: int) -> int:
        return self.nodes[line - 1] if 0 < line <= len(self.nodes) else -1

    # --- repairs ----------------------------------------------------------------------------------------

    def remove_attribute(self, fragment: Fragment, name: str) -> None:
        """Remove an attribute that MuJoCo rejects."""
        del fragment.attributes[name]
        if self.collected is not None:
            self.collected.remove_attribute(fragment, name)
        self.forget_text()

    def remove(self, fragment: Fragment, parent: Fragment) -> None:
        """Remove an element that MuJoCo rejects."""
        if fragment.tag in _ACTUATORS and parent.tag == "actuator":
            self._remove_control(fragment)
        parent.children = [one for one in parent.children if one is not fragment]
        if self.collected is not None:
            self.collected.remove(fragment, parent)
        self.removed.append(fragment)
        self.forget_text()

    def _remove_control(self, actuator: Fragment) -> None:
        """Remove the number of an actuator from the controls of keyframes, if each actuator has one."""
        rows = [one for section in self.root.children if section.tag == "actuator" for one in section.children]
        place = next(place for place, one in enumerate(rows) if one is actuator)
        if not self.controls or any(one.tag not in _ACTUATORS for one in rows):
            return
        for key in (key for one in self.root.children if one.tag == "keyframe" for key in one.children):
            words = key.attributes.get("ctrl", "").split()
            if len(words) == len(rows) > 1:
                key.attributes["ctrl"] = " ".join(words[:place] + words[place + 1 :])

    def forget_text(self) -> None:
        """Make the text again when it is used, because the elements have changed."""
        self.__dict__.pop("text", None)
        self.__dict__.pop("nodes", None)


def prepare(
    document: Document, tree: Tree, options: ReadOptions, collector: Collector, *, is_complete: bool = False
) -> PreparedDocument:
    """Prepare a document for MuJoCo and report the elements that are removed.

    If it `is_complete`, deformable bodies and plugins of actuators are not removed.
    """
    return _Preparer(document, options, collector, is_complete=is_complete).prepare(tree)


GENERATORS = frozenset({"flexcomp"})
"""Ignored elements that generate bodies with coordinates."""
_WITH_STATES = GENERATORS | {"extension"}
"""Ignored elements that the coordinates of a document depend on."""
_WITH_PLUGINS = frozenset({"actuator", *GENERATORS})


def _has_state(fragment: Fragment, parent: Fragment) -> bool:
    return fragment.tag in _WITH_STATES or (fragment.tag == "plugin" and parent.tag in _WITH_PLUGINS)


_BODIES = ("body", "body1", "body2", "target")
"""Attributes that refer to bodies."""


def _bodies_of_flexes(root: Fragment) -> tuple[str, ...]:
    """How the names of the bodies begin that ignored elements generate, and to which others refer."""
    return tuple(
        f"{one.attributes['name']}_" for one in root.iter() if one.tag in GENERATORS and "name" in one.attributes
    )


def _rename_projections(root: Fragment) -> None:
    """State the projections of cameras by the attribute that has done so since MuJoCo 3.5."""
    for camera in (one for one in root.iter() if one.tag == "camera" and "orthographic" in one.attributes):
        flag = camera.attributes.pop("orthographic")
        camera.attributes.setdefault("projection", _PROJECTIONS.get(flag, flag))


_PROJECTIONS = {"true": "orthographic", "false": "perspective"}
_STATES_OF: dict[str, tuple[str, ...]] = {
    "flexcomp": ("qpos", "qvel"),
    "attach": ("qpos", "qvel", "act", "ctrl", "mpos", "mquat"),
}
"""What keyframes state of ignored elements."""
_OF_ATTACHED = frozenset({"mpos", "mquat"})
"""What they state of attached models only, which are never read."""


def _ignored_states(root: Fragment) -> dict[str, str]:
    """The lists of keyframes that contain numbers of elements which are ignored, and what these are."""
    found: dict[str, str] = {}
    for section in root.children:
        if section.tag == "actuator" and any(one.tag == "plugin" for one in section.children):
            found |= dict.fromkeys(("ctrl", "act"), UNSUPPORTED["plugin"].what)
        for one in section.iter() if section.tag == "worldbody" else ():
            for name in _STATES_OF.get(one.tag, ()):
                found[name] = UNSUPPORTED[one.tag].what
    return found


def _own_controls(root: Fragment) -> tuple[bool, ...]:
    """Whether each control belongs to an actuator that is not ignored; empty if they may have several."""
    tags = [one.tag for section in root.children if section.tag == "actuator" for one in section.children]
    if any("input" in one.attributes for one in root.iter()) or not {*tags} <= {*_ACTUATORS, "plugin"}:
        return ()
    return tuple(tag != "plugin" for tag in tags)


class _Preparer:
    def __init__(
        self, document: Document, options: ReadOptions, collector: Collector, *, is_complete: bool = False
    ) -> None:
        self.document = document
        self.is_complete = is_complete
        self.options = options
        self.report = collector.report
        self.assets: dict[str, bytes] = {}
        self.meshes: dict[str, MeshFile] = {}
        self.inlined: dict[str, Fragment] = {}
        self.confined_to = confinement(document.location, options.paths)
        self._seen: set[str] = set()
        self._included: set[str] = set()
        """The references of the included files: a document may repeat one very often."""
        self._ignored: dict[tuple[str, str], list[int]] = {}
        self._images: set[int] = set()
        """The ids of the textures and layers whose images are part of the scene."""
        self._light_images: dict[int, dict[str, str]] = {}
        """The textures of lights, and kinds of these, by the ids of their elements."""
        self._lacks_files = False

    def prepare(self, tree: Tree) -> PreparedDocument:
        nodes = {element: number for number, element in enumerate(tree.iter())}
        root = self._convert(tree, nodes)
        work = self._check_expansion(root)
        for one in expand_composites(root):
            self.report("MJ106.composite", one.fragment.node, reason=one.reason, suggestion=one.hint)
        _rename_projections(root)
        restore_names(root)
        root.children = without_generated_range(root.children)
        stated = stated_skins(root), stated_equalities(root)
        compiler = compiler_settings(one.attributes for one in root.iter() if one.tag == "compiler")
        collected = CollectedElements(root, lambda reference: self._find_texture(reference, compiler))
        painted = MaterialImages(root, lambda texture: self._find_image(texture, compiler))
        self._images = painted.elements
        read = collected, painted.images, _ignored_states(root), _own_controls(root)
        if self.is_complete:
            read = *read[:2], {name: what for name, what in read[2].items() if name in _OF_ATTACHED}, ()
        self._prune(root)
        collected.light_images = self._light_images
        for fragment in root.iter():
            self._files(fragment, compiler)
        text = " ".join(map(str, NO_COLOUR))
        root.children.insert(0, Fragment("default", {}, -1, [Fragment("geom", {"rgba": text}, -1)]))
        for (tag, attribute), found in self._ignored.items():
            key = "MJ203.physics" if IGNORED_ATTRIBUTES[tag][attribute] else "MJ203"
            self.report(key, found[0], attribute=attribute, word=attribute, tag=tag, repeats=repeats(len(found)))
        flags = [fragment.node for fragment in root.iter() if fragment.tag == "flag"]
        files = (self.assets, self.meshes, self.inlined)
        name = root.attributes.get("model", "")
        return PreparedDocument(
            *(root, *files, flags, work, self.confined_to, name, *stated, *read, [], self._lacks_files)
        )

    def _check_expansion(self, root: Fragment) -> Workload:
        """What MuJoCo has to compile; raises MalformedError if a few elements expand to too many."""
        most = min(_MAX_ELEMENTS, self.options.limits.elements)
        work = measure(root)
        if work.elements > most:
            largest = max(root.iter(), key=multiplicity)
            reason = f"<{largest.tag}> expands to more than {most} elements, the limit"
            raise self._exceeded(reason, largest.node, "elements")
        return work

    def _exceeded(self, reason: str, node: int, limit: str) -> MalformedError:
        scan = self.document.scan
        return MalformedError(reason, scan.position(scan.tag(max(node, 0))), limit=limit)

    # --- includes -------------------------------------------------------------------------------------

    def _convert(self, tree: Tree, nodes: dict[Tree, int]) -> Fragment:
        """Convert a document with the files that it includes.

        Nesting may be as deep as these files together, so it is traversed with a stack: the remaining elements, the
        list that they go to, its depth, and the node of the include that they come from (-1: none).
        """
        root = _fragment(tree, 0)
        waiting = [(iter(tree), root.children, 1, -1)]
        while waiting:
            elements, target, depth, within = waiting[-1]
            element = next(elements, None)
            if element is None:
                waiting.pop()
                continue
            node = within if within >= 0 else nodes[element]
            if element.tag == "include":
                included = self._include(element.get("file", ""), node)
                if included is not None:
                    waiting.append((iter(included), target, depth, node))
                continue
            if within >= 0 and depth >= self.options.limits.depth:
                reason = f"included files nest elements deeper than the limit of {self.options.limits.depth}"
                raise self._exceeded(reason, node, "depth")
            made = _fragment(element, node)
            target.append(made)
            waiting.append((iter(element), made.children, depth + 1, within))
        return root

    def _include(self, reference: str, node: int) -> Tree | None:
        """The root of an included file; None if it is not read."""
        if reference in self._included:
            self.report("MJ104.again", node, attribute="file", file=reference)
            return None
        # MuJoCo resolves all paths relative to the main document.
        found = find_file(reference, self.document.location, self.options.paths).path
        if found is None:
            self._report_file("MJ104", node, file=reference, reason="file not found")
            return None
        path = str(found.resolve())
        if path in self._seen:
            self.report("MJ104.again", node, attribute="file", file=reference)
            return None
        self._seen.add(path)
        self._included.add(reference)
        self.document.included.append(path)
        try:
            inner = Document(self._read(found, self.options.limits.bytes), reference)
            return inner.parse(self.options.limits)
        except (OSError, MalformedError) as problem:
            located = problem.located_reason if isinstance(problem, MalformedError) else ""
            reason = located or getattr(problem, "strerror", "") or str(problem)
            self._report_file("MJ104", node, file=reference, reason=reason)
            return None

    # --- unsupported elements -------------------------------------------------------------------------

    def _prune(self, root: Fragment) -> None:
        """Remove unsupported elements, in document order."""
        flexes = () if self.is_complete else _bodies_of_flexes(root)
        waiting = [(iter(root.children), root, False)]
        root.children = []
        while waiting:
            children, parent, within_default = waiting[-1]
            child = next(children, None)
            if child is None:
                waiting.pop()
                continue
            unsupported = UNSUPPORTED.get(child.tag)
            if self.is_complete and _has_state(child, parent):
                unsupported = None
            elif flexes and any(child.attributes.get(name, "").startswith(flexes) for name in _BODIES):
                unsupported = UNSUPPORTED["flexcomp"]
            if unsupported is None or (unsupported.within and parent.tag not in unsupported.within):
                self._attributes(child)
                parent.children.append(child)
                waiting.append((iter(child.children), child, within_default or child.tag == "default"))
                child.children = []
            elif not within_default:
                self._report_unsupported(child, unsupported)

    def _report_unsupported(self, fragment: Fragment, unsupported: Unsupported) -> None:
        if id(fragment) in self._images:
            return
        for part in fragment.children if unsupported.is_section else [fragment]:
            if fragment.tag == "sensor" and part.tag != "plugin":
                continue  # most of them are read later
            named = part.attributes.get("name", "")
            if named.startswith(GENERATED):
                continue
            name = f" '{named}'" if named else ""
            self.report(unsupported.key, part.node, tag=part.tag, name=name, what=unsupported.what)

    def _attributes(self, fragment: Fragment) -> None:
        for attribute in IGNORED_ATTRIBUTES.get(fragment.tag, {}):
            if attribute in fragment.attributes:
                self._ignored.setdefault((fragment.tag, attribute), []).append(fragment.node)
                if attribute in REMOVED_ATTRIBUTES:
                    del fragment.attributes[attribute]
        if fragment.tag in ("material", "light"):
            texture = fragment.attributes.pop("texture", "")
            if texture and fragment.tag == "light":
                self._light_images[id(fragment)] = {
                    "texture": texture,
                    **{name: value for name, value in fragment.attributes.items() if name == "type"},
                }
        if fragment.tag == "light" and fragment.attributes.get("type") == "image":  # it would need a texture
            del fragment.attributes["type"]

    # --- files ----------------------------------------------------------------------------------------

    def _files(self, fragment: Fragment, compiler: dict[str, str]) -> None:
        if fragment.tag == "size":  # sizes for removed elements would be wrong
            fragment.attributes = {name: value for name, value in fragment.attributes.items() if name in _MEMORY_SIZES}
        if fragment.tag == "compiler":
            for name in (*COMPILER_FOLDERS, "discardvisual"):
                fragment.attributes.pop(name, None)
        if fragment.tag not in _EXTENSIONS:
            return
        reference = fragment.attributes.pop("file", "")
        if not reference:
            if fragment.tag == "mesh" and "vertex" in fragment.attributes and "name" in fragment.attributes:
                self.inlined[fragment.attributes["name"]] = fragment
            return
        name = posixpath.splitext(posixpath.basename(reference))[0]
        if fragment.tag in _NAMED_AFTER_FILES:
            name = fragment.attributes.setdefault("name", name)
        path = asset_path(fragment.tag, reference, compiler)
        found = self._load_asset(fragment, reference, path)
        if fragment.tag == "flexcomp":
            return
        if fragment.tag == "mesh":  # if it is missing, messages show where it was searched
            self.meshes[name] = MeshFile(reference, str(found)) if found else MeshFile(path, None)
        if found is None and fragment.tag == "mesh":
            fragment.attributes = {"name": name, "vertex": _PLACEHOLDER_VERTICES}
        elif found is None:
            fragment.attributes |= {"nrow": "2", "ncol": "2"}

    def _find_texture(self, reference: str, compiler: dict[str, str]) -> str | None:
        path = asset_path("texture", reference, compiler)
        found = find_file(path, self.document.location, self.options.paths).path
        return None if found is None else str(found.resolve())

    def _find_image(self, texture: NumberedElement, compiler: dict[str, str]) -> ImageFile:
        """The image of a texture; one that is missing, or is not an image, is reported."""
        reference = texture.attributes["file"]
        uri = asset_path("texture", reference, compiler)
        found = find_file(uri, self.document.location, self.options.paths).path
        reason = "file not found" if found is None else image_problem(found, self.confined_to)
        if reason:
            self.report("MJ105.texture", texture.node, attribute="file", file=reference, reason=reason)
        return ImageFile(uri, None if found is None else str(found))

    def _read(self, path: Path, most: int) -> bytes:
        data = read_referenced(path, most, self.confined_to)
        if len(data) > most:
            raise OSError(0, f"the file has more than {most} bytes, the limit")
        return data

    def _report_file(self, key: str, node: int, *, file: str, reason: str, what: str = "") -> None:
        """Report a file that MuJoCo needs and that cannot be read."""
        self._lacks_files = True
        self.report(key, node, attribute="file", what=what, file=file, reason=reason)

    def _load_asset(self, fragment: Fragment, reference: str, path: str) -> Path | None:
        """Add a file to the assets; returns its path, or None if it cannot be read."""
        found = find_file(path, self.document.location, self.options.paths)
        extension = os.path.splitext(reference)[1].lower()
        reason = "file not found" if found.path is None else ""
        if extension not in _EXTENSIONS[fragment.tag]:
            reason = f"MuJoCo does not read {extension} files" if extension else "the file name has no extension"
        if not reason and found.path is not None:
            try:
                data = self._read(found.path, self.options.limits.mesh_bytes)
                if _pixel_count(data) > _MAX_SAMPLES:
                    raise OSError(0, f"the file has more than {_MAX_SAMPLES} samples, the limit")
                key = f"{len(self.assets)}{extension}"
                self.assets[key], fragment.attributes["file"] = data, key
                return found.path
            except OSError as problem:
                reason = problem.strerror or str(problem)
        self._report_file("MJ105", fragment.node, what=fragment.tag, file=reference, reason=reason)
        return None


def _pixel_count(data: bytes) -> int:
    """The number of pixels in the header of a PNG file; 0 for other files."""
    if not data.startswith(b"\x89PNG\r\n\x1a\n"):
        return 0
    return int.from_bytes(data[16:20], "big") * int.from_bytes(data[20:24], "big")


def _fragment(element: Tree, node: int) -> Fragment:
    """An element without its children.

    MuJoCo 4 saves a `<text>` with special characters as the content of the element; earlier versions read only `data`.
    """
    made = Fragment(tag_as_written(element), {str(k): str(v) for k, v in element.attrib.items()}, node)
    if made.tag == "text" and element.text and not len(element):
        made.attributes.setdefault("data", element.text)
    return made


class Line(Struct, gc=False):
    """A line of text: the start tag of one element, and the end tags that follow it."""

    start: str
    ends: str = ""


def format_lines(
    root: Fragment, attributes: Callable[[Fragment], dict[str, str] | None]
) -> tuple[list[Line], list[Fragment]]:
    """One line per element, with end tags on the last line of the element, and the elements by line.

    Elements whose `attributes` are None are omitted, with all that they contain.
    """
    lines: list[Line] = []
    fragments: list[Fragment] = []
    waiting: list[Fragment | str] = [root]
    while waiting:
        found = waiting.pop()
        if isinstance(found, str):
            lines[-1].ends += found
            continue
        values = attributes(found)
        if values is None:
            continue
        text = format_attributes(values)
        fragments.append(found)
        lines.append(Line(f"<{found.tag}{text}" + (">" if found.children else "/>")))
        if found.children:
            waiting.append(f"</{found.tag}>")
            waiting += found.children[::-1]
    return lines, fragments


def _all_attributes(fragment: Fragment) -> dict[str, str]:
    return fragment.attributes
