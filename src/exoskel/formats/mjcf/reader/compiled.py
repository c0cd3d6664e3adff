"""A document compiled by MuJoCo: arrays, names, the nodes they come from, and what errors are about."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache, cached_property
from typing import Any

import numpy as np
from lxml import etree

from exoskel import spatial
from exoskel.diagnostics import Collector
from exoskel.formats.mjcf import mujoco_import
from exoskel.formats.mjcf.controls import control_slices, first_outputs
from exoskel.formats.mjcf.flags import CONSTRAINTS, MEANINGS
from exoskel.formats.mjcf.reader.combined_model import compile_in_parts
from exoskel.formats.mjcf.reader.compiler import (
    CompilerError,
    CompilerMemoryError,
    CompilerOutput,
    CompilerTimeError,
    PartRow,
    compile_document,
)
from exoskel.formats.mjcf.reader.document_parts import split
from exoskel.formats.mjcf.reader.keyframe_lists import report_long_keyframe_list
from exoskel.formats.mjcf.reader.preprocessor import PreparedDocument
from exoskel.scene.shape import Material
from exoskel.spatial import Array

_TYPES = ("free", "ball", "slide", "hinge")


class Compiled:
    """The model, and for bodies, joints, geoms, sites, cameras and other elements their names and nodes.

    `zero` are the world poses of all bodies, `(bodies, 4, 4)`, at zero joint displacement.
    """

    def __init__(self, output: CompilerOutput, prepared: PreparedDocument) -> None:
        self.model = model = output.model
        self.prepared = prepared
        self.bodies = _Parts(output.parts["bodies"], prepared)
        self.joints = _Parts(output.parts["joints"], prepared)
        self.geoms = _Parts(output.parts["geoms"], prepared)
        self.sites = _Parts(output.parts["sites"], prepared)
        self.cameras = _Parts(output.parts["cameras"], prepared)
        self.lights = _Parts(output.parts["lights"], prepared)
        self.keys = _Parts(output.parts["keys"], prepared)
        self.tendons = _Parts(output.parts["tendons"], prepared)
        self.actuators = _Parts(output.parts["actuators"], prepared)
        self.equalities = _Parts(output.parts["equalities"], prepared)
        self.excludes = _Parts(output.parts["excludes"], prepared)
        self.meshes = _Parts(output.parts["meshes"], prepared)
        self.materials: dict[str, Material | None] = {}
        """What shapes have of the materials of geoms, by the names of these."""
        self.framed_meshes = output.framed_meshes
        """Meshes whose asset changes their frame."""
        self.full_inertias = output.full_inertias
        """The six moments that bodies state, NaN if they state none."""
        self.types = [_TYPES[kind] for kind in model.jnt_type.tolist()]
        self.parents: list[int] = model.body_parentid.tolist()
        local = transforms(model.body_pos, model.body_quat)
        self.zero = local
        for number, parent in enumerate(self.parents[1:], start=1):
            self.zero[number] = self.zero[parent] @ local[number]

    def joints_of(self, body: int) -> list[int]:
        first = int(self.model.body_jntadr[body])
        return list(range(first, first + int(self.model.body_jntnum[body])))

    @property
    def initial_state(self) -> tuple[Array, Array]:
        """Initial positions and velocities in MuJoCo's coordinates: the first keyframe's if there is one."""
        model = self.model
        if model.nkey:
            return np.array(model.key_qpos[0]), np.array(model.key_qvel[0])
        return np.array(model.qpos0), np.zeros(model.nv)

    @property
    def controls(self) -> Array:
        """The initial controls, in MuJoCo's order."""
        return np.array(self.model.key_ctrl[0]) if self.model.nkey else np.zeros(self.model.nu)

    def activation(self, actuator: int, key: int = 0) -> float:
        """The activation of an actuator with one in a keyframe; the initial one without keyframes is zero."""
        if not self.model.nkey:
            return 0.0
        return float(self.model.key_act[key, int(self.model.actuator_actadr[actuator])])

    @cached_property
    def gears(self) -> Array:
        """The gears of the first output of each actuator, `(actuators, 6)`."""
        return np.asarray(self.model.actuator_gear)[first_outputs(self.model)]

    @cached_property
    def control_slices(self) -> list[slice]:
        """The places of the controls of each actuator."""
        return control_slices(self.model)

    def control(self, actuator: int) -> int | None:
        """The place of the only control of an actuator; None if it has none or several."""
        found = self.control_slices[actuator]
        return found.start if found.stop == found.start + 1 else None


class _Parts:
    """Names and nodes of one kind of element, by number."""

    def __init__(self, rows: list[PartRow], prepared: PreparedDocument) -> None:
        self.names = {row.number: row.name for row in rows}
        self.lines = {row.number: row.line for row in rows}
        self.nodes = {row.number: prepared.node(row.line) for row in rows}
        self.numbers = {name: number for number, name in self.names.items() if name}

    def node(self, number: int) -> int:
        return self.nodes.get(number, -1)

    def name(self, number: int) -> str:
        return self.names.get(number, "")

    def quoted(self, number: int) -> str:
        """The name in quotes after a space, for messages; empty for an unnamed object."""
        return f" '{self.name(number)}'" if self.name(number) else ""


def compile(
    prepared: PreparedDocument, collector: Collector, seconds: float, *, is_own: bool = False
) -> Compiled | None:
    """Compile with MuJoCo; if it rejects the document, report one error at the element that it names.

    `is_own` is for documents that this process has written.
    """
    try:
        output = _compile_parts(prepared, seconds, is_own)
        if output is None:
            output = compile_document(prepared.text, prepared.assets, prepared.work, seconds)
    except CompilerTimeError as problem:
        collector.report("MJ106.limit", -1, limit=str(problem))
        return None
    except CompilerMemoryError as problem:
        collector.report("MJ106.memory", -1, limit=str(problem))
        return None
    except CompilerError as problem:
        report_rejection(str(problem), prepared, collector)
        return None
    for warned in output.warnings:
        collector.report("MJ106.warning", 0, reason=warned)
    return Compiled(output, prepared)


def _compile_parts(prepared: PreparedDocument, seconds: float, is_own: bool) -> CompilerOutput | None:
    """Compile a large document in parts; None if it has none, or if only the whole shows what is wrong."""
    parts = split(prepared.root, prepared.work)
    if parts is None:
        return None
    try:
        return compile_in_parts(parts, prepared.assets, seconds, is_own=is_own)
    except CompilerError:
        return None


def transforms(positions: Any, quaternions: Any) -> Array:
    """MuJoCo's positions and quaternions as 4x4 transforms."""
    return spatial.transform(spatial.quaternion_matrix(quaternions), positions)


# --- features that `<option><flag>` disables: the scene is read without them --------------------------


def disabled_flags(compiled: Compiled) -> frozenset[str]:
    """The names of all disabled flags."""
    import mujoco

    bits = int(compiled.model.opt.disableflags)
    kinds: Any = mujoco.mjtDisableBit
    found = {name for name in (*MEANINGS, "filterparent") if bits & int(getattr(kinds, f"mjDSBL_{name.upper()}"))}
    return frozenset(found | CONSTRAINTS if "constraint" in found else found)


def report_disabled_flags(compiled: Compiled, flags: list[int], report: Callable[..., None]) -> None:
    """Report all disabled flags at the last <flag> element."""
    disabled = disabled_flags(compiled)
    node = flags[-1] if flags else 0
    for name, meaning in MEANINGS.items():
        if name in disabled and not (name in CONSTRAINTS and "constraint" in disabled):
            report("MJ108", node, attribute=name, name=name, meaning=meaning)
    if "filterparent" in disabled:
        report("MJ108.filterparent", node, attribute="filterparent")


_LINE = re.compile(r"line (\d+)")
_ELEMENT = re.compile(r"Element '(\w+)'")
_QUOTED = re.compile(r"'([^']+)'")
_UNKNOWN_ATTRIBUTE, _UNKNOWN_ELEMENT = "unrecognized attribute", "unrecognized element"
_UNKNOWN_WORD = "invalid keyword"
_TOO_FEW, _TOO_MUCH, _TOO_LARGE = "does not have enough data", "has too much data", "number is too large"
_INVALID_NUMBERS = re.compile(
    rf"(?:bad format|{_TOO_LARGE}) in attribute '(\w+)'|attribute '(\w+)' (?:{_TOO_FEW}|{_TOO_MUCH})"
)

_GEOMS = ("plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "sdf")
_WORDS: dict[tuple[str, str], tuple[str, ...]] = {
    ("joint", "type"): ("free", "ball", "slide", "hinge"),
    ("geom", "type"): _GEOMS,
    ("site", "type"): ("sphere", "capsule", "ellipsoid", "cylinder", "box"),
    ("compiler", "angle"): ("radian", "degree"),
    ("option", "integrator"): ("Euler", "RK4", "implicit", "implicitfast", "discrete"),
    ("option", "cone"): ("pyramidal", "elliptic"),
}
"""The words that attributes take, where the schema does not list them."""
_BODIES, _JOINTS, _SITES, _TENDONS = ("body",), ("joint", "freejoint"), ("site",), ("spatial", "fixed")
_TARGETS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("joint", "joint1", "joint2", "jointinparent"), _JOINTS),
    **dict.fromkeys(("body", "body1", "body2", "target"), _BODIES),
    **dict.fromkeys(("site", "site1", "site2", "refsite", "sidesite", "cranksite", "slidersite"), _SITES),
    **dict.fromkeys(("tendon", "tendon1", "tendon2"), _TENDONS),
    **dict.fromkeys(("geom", "geom1", "geom2"), ("geom",)),
    **{tag: (tag,) for tag in ("mesh", "material", "texture", "hfield")},
}
"""The tags of the elements that an attribute may refer to by their names."""
_CLASSES = ("class", "childclass")


def report_rejection(problem: str, prepared: PreparedDocument, collector: Collector) -> None:
    """Report an error of MuJoCo's compiler at the element that it names.

    If files are missing, which has been reported as an error, this one may be a consequence: it is a note.
    """
    if report_long_keyframe_list(problem, prepared, collector):
        return
    lines = _LINE.findall(problem)
    line = int(lines[-1]) if lines else 0
    node = prepared.node(line)
    reason = problem.partition("\n")[0].removeprefix("XML Error: ").removeprefix("Error: ")
    named = _ELEMENT.search(problem)
    element = _element_at(prepared.text, line) if node >= 0 else None
    is_reported = element is not None and (
        _report_number(reason, element, node, collector)
        or _report_name(reason, element, node, collector)
        or ((_UNKNOWN_WORD in reason or not prepared.lacks_files) and _report_words(reason, element, node, collector))
    )
    if not is_reported:
        reason += f", <{named[1]}>" if named else ""
        collector.report("MJ106.missing" if prepared.lacks_files else "MJ106", node, reason=reason)


def _element_at(text: str, line: int) -> Any:
    try:
        root = etree.fromstring(text.encode(), etree.XMLParser(resolve_entities=False, huge_tree=True))
    except etree.XMLSyntaxError:
        return None
    return next((one for one in root.iter() if isinstance(one.tag, str) and one.sourceline == line), None)


def _report_number(reason: str, element: Any, node: int, collector: Collector) -> bool:
    """Report numbers that MuJoCo rejects at their attribute, with the first wrong one; False for other errors."""
    stated = _INVALID_NUMBERS.search(reason)
    name = stated[1] or stated[2] if stated is not None else ""
    if not name or name not in element.attrib:
        return False
    words = element.attrib[name].split()
    if _TOO_FEW in reason or _TOO_MUCH in reason:
        problem = f"has too {'few' if _TOO_FEW in reason else 'many'} numbers: {len(words)}"
    elif _TOO_LARGE in reason:
        problem = f"contains a number that is too large: {max(words, key=_magnitude, default='')}"
    else:
        wrong = next((word for word in words if _magnitude(word) < 0.0), "")
        expected = "numbers" if wrong else "whole numbers"
        problem = f"contains '{wrong or ' '.join(words)}': expected {expected}"
    label = f" '{element.get('name')}'" if element.get("name") else ""
    item = f"keyframe{label}" if element.tag == "key" and label else f"<{element.tag}>{label}"
    collector.report("MJ106.value", node, attribute=name, name=name, item=item, problem=problem)
    return True


def _magnitude(word: str) -> float:
    """The magnitude of a number; -1 if it is not a number."""
    try:
        return abs(float(word))
    except ValueError:
        return -1.0


def _report_name(reason: str, element: Any, node: int, collector: Collector) -> bool:
    """Report an unknown element or attribute, if the error is about one."""
    quoted = _QUOTED.findall(reason)
    if _UNKNOWN_ELEMENT in reason:
        parent = element.getparent()
        known = _schema().get(parent.tag, _NOTHING)[1] if parent is not None else frozenset()
        suggestion = collector.suggestions.among(known, are_terms=True).did_you_mean(element.tag)
        container = parent.tag if parent is not None else "mujoco"
        collector.report("MJ106.element", node, element=element.tag, parent=container, suggestion=suggestion)
        return True
    if _UNKNOWN_ATTRIBUTE in reason and quoted and quoted[0] in element.attrib:
        known = _schema().get(element.tag, _NOTHING)[0]
        suggestion = collector.suggestions.among(known, are_terms=True).did_you_mean(quoted[0])
        collector.report(
            "MJ106.attribute", node, attribute=quoted[0], name=quoted[0], element=element.tag, suggestion=suggestion
        )
        return True
    return False


def _report_words(reason: str, element: Any, node: int, collector: Collector) -> bool:
    """Report a value that is not a known word or name, if the error quotes it."""
    return any(_report_word(reason, word, element, node, collector) for word in _QUOTED.findall(reason))


def _report_word(reason: str, word: str, element: Any, node: int, collector: Collector) -> bool:
    """Report the value of an attribute that is not a word that it takes, or not the name of an element."""
    for attribute, value in element.attrib.items():
        if value != word:
            continue
        known = _WORDS.get((element.tag, attribute)) if _UNKNOWN_WORD in reason else _names(element, attribute)
        if known:
            suggestion = collector.suggestions.among(known).did_you_mean(word)
            collector.report("MJ106.word", node, attribute=attribute, reason=reason, suggestion=suggestion)
            return True
    return False


def _names(element: Any, attribute: str) -> list[str]:
    """The names in the document that an attribute may refer to."""
    root = element.getroottree().getroot()
    if attribute in _CLASSES:
        return [one.get("class") for one in root.iter("default") if one.get("class")]
    return [name for one in root.iter(*_TARGETS.get(attribute, ("?",))) if (name := one.get("name"))]


_KnownWords = tuple[frozenset[str], frozenset[str]]
_NOTHING: _KnownWords = (frozenset(), frozenset())


@cache
def _schema() -> dict[str, _KnownWords]:
    """The attributes and the children of each element, in all places where it may be."""
    attributes: dict[str, set[str]] = {}
    children: dict[str, set[str]] = {}
    above: list[tuple[int, str]] = []
    for line in str(mujoco_import.load().mj_printSchema(False, False)).splitlines():
        found = _ROW.match(line)
        if found is None:
            if above:
                attributes[above[-1][1]].update(line.split())
            continue
        depth, tag = len(found[1]), found[2]
        while above and above[-1][0] >= depth:
            above.pop()
        if above:
            children.setdefault(above[-1][1], set()).add(tag)
        above.append((depth, tag))
        attributes.setdefault(tag, set()).update(found[3].split())
    recursive: Iterable[str] = ("body", "frame", "replicate")
    for tag in ("body", "worldbody", "frame", "replicate"):
        children.setdefault(tag, set()).update(children.get("body", set()), recursive)
    children.get("worldbody", set()).difference_update({"inertial", "joint", "freejoint"})
    tags = attributes.keys() | children.keys()
    return {tag: (frozenset(attributes.get(tag, ())), frozenset(children.get(tag, ()))) for tag in tags}


_ROW = re.compile(r"^( *)(?:\(world\))?(\w+) \([!?*R]\)\s*(.*)$")
"""A row of the schema: the tag after its indentation, how often it may occur, and attributes."""
