"""What MuJoCo 3.3, and programs with MuJoCo 3, do not know of the MJCF of MuJoCo 4, and refuse."""

from __future__ import annotations

from exoskel.fates import Fate, Verdict
from exoskel.formats.mjcf.tree import MjcfElement
from exoskel.source.document import Document
from exoskel.source.output_context import Target

REFUSED = Verdict(Fate.DROPPED, "MuJoCo 3.3 refuses it")
_TARGETS: frozenset[Target] = frozenset({"mujoco3"})
"""The programs of which some versions are so old."""
_ELEMENTS = frozenset({"pid", "orientation", "dcmotor", "flexstrain"})
_IN_DEFAULTS = frozenset({"texture", "layer"})
"""Elements that are refused only in default classes."""
_DELAYS = frozenset({"delay", "nsample", "interp"})
_DRIVES = _DELAYS | {"armature", "damping"}
_ACTUATORS = ("motor", "position", "velocity", "damper", "cylinder", "muscle", "plugin")
_MOVED = dict.fromkeys((*_ACTUATORS, "general", "intvelocity"), frozenset({"armature", "damping"}))
"""Attributes of actuators that a new document states in their joints."""
_SENSORS = frozenset({"delay", "nsample", "interp", "interval"})
_LISTED_SENSORS = (
    *("touch", "accelerometer", "velocimeter", "gyro", "force", "torque", "magnetometer", "camprojection"),
    *("jointpos", "jointvel", "tendonpos", "tendonvel", "actuatorpos", "actuatorvel", "actuatorfrc"),
    *("jointactuatorfrc", "tendonactuatorfrc", "ballquat", "ballangvel", "jointlimitpos", "jointlimitvel"),
    *("jointlimitfrc", "tendonlimitpos", "tendonlimitvel", "tendonlimitfrc", "framepos", "framequat", "framexaxis"),
    *("frameyaxis", "framezaxis", "framelinvel", "frameangvel", "framelinacc", "frameangacc", "subtreecom"),
    *("subtreelinvel", "subtreeangmom", "distance", "normal", "fromto", "e_potential", "e_kinetic", "clock"),
)
_ELASTICITY = frozenset({"section", "sectionsize", "shear", "yield"})
UNKNOWN_ATTRIBUTES: dict[str, frozenset[str]] = {
    "compiler": frozenset({"conflict", "passthrough", "savecanonical", "savecompiled"}),
    "option": frozenset({"sleep_tolerance"}),
    "flag": frozenset({"diagexact", "ipc", "sleep", "speculative"}),
    "joint": frozenset({"springyield"}),
    "geom": frozenset({"adhesion", "castshadow", "surfacevel"}),
    "site": frozenset({"mesh"}),
    "camera": frozenset({"output"}),
    "light": frozenset({"softness"}),
    "pair": frozenset({"adhesion"}),
    "tendon": frozenset({"actuatorfrclimited", "actuatorfrcrange", "armature", "springyield"}),
    "fixed": frozenset({"springyield"}),
    "spatial": frozenset({"springyield"}),
    "texture": frozenset({"class", "embed"}),
    "body": frozenset({"fuse", "simple", "sleep"}),
    "attach": frozenset({"frame"}),
    "flexcomp": frozenset({"cellcount", "mesh"}),
    "flex": frozenset({"cellcount", "dof", "nodecoord"}),
    "elasticity": _ELASTICITY,
    "key": frozenset({"plastic"}),
    **dict.fromkeys(_ACTUATORS, _DRIVES),
    "general": _DRIVES | {"ffrange", "inheritrange", "input", "velrange"},
    "intvelocity": _DRIVES | {"actlimited"},
    "adhesion": _DELAYS,
    **dict.fromkeys(_LISTED_SENSORS, _SENSORS),
    "rangefinder": _SENSORS | {"camera", "data"},
    "insidesite": _SENSORS | {"enclosed"},
    "contact": _SENSORS | {"noise", "user"},
    "tactile": _SENSORS | {"cutoff"},
}
"""The unknown attributes of elements that are known, by tag."""
ONLY_MUJOCO_4: dict[str, frozenset[str]] = {
    "flag": frozenset({"speculative"}),
    **dict.fromkeys(("joint", "tendon", "fixed", "spatial"), frozenset({"springyield"})),
    "geom": frozenset({"castshadow"}),
    "elasticity": frozenset({"shear", "yield"}),
    "key": frozenset({"plastic"}),
}
"""The attributes that all versions of MuJoCo 3 refuse, by tag."""
REFUSED_BY_NEWTON = Verdict(Fate.DROPPED, "Newton has solvers of its own, and refuses the solver PGS")
REFUSED_BY_MUJOCO_3 = Verdict(Fate.DROPPED, "MuJoCo 3 refuses it")
_OF_TARGETS: dict[Target, tuple[dict[str, frozenset[str]], Verdict]] = {
    "mujoco3": (UNKNOWN_ATTRIBUTES, REFUSED),
    "dm_control": (ONLY_MUJOCO_4, REFUSED_BY_MUJOCO_3),
    "isaac": (ONLY_MUJOCO_4, REFUSED_BY_MUJOCO_3),
    "newton": ({"option": frozenset({"solver"})}, REFUSED_BY_NEWTON),
}


def unknown_attributes(target: Target) -> tuple[dict[str, frozenset[str]], Verdict] | None:
    """The attributes that a program refuses, by tag, and their fate; None if it knows all of them."""
    return _OF_TARGETS.get(target)


def refuses_words(target: Target) -> bool:
    """Whether documents for a program must not have these elements and attributes."""
    return target in _TARGETS


def cannot_be_copied(document: Document) -> bool:
    """Whether a document has elements that MuJoCo 3.3 refuses, or attributes that it has elsewhere."""
    tags, parents = document.outline.tags, document.outline.parents
    for node, tag in enumerate(tags):
        if tag in _ELEMENTS or (tag in _IN_DEFAULTS and _is_default(document, parents[node])):
            return True
        if tag in _MOVED and not _MOVED[tag].isdisjoint(document.attributes(node)):
            return True
    return False


def _is_default(document: Document, node: int) -> bool:
    """Whether an element is a default class, or in one."""
    return any(document.outline.tags[one] == "default" for one in document.outline.ancestry(node))


def is_unknown(element: MjcfElement) -> bool:
    """Whether MuJoCo 3.3 refuses an element, or its content."""
    return any(one.tag in _ELEMENTS for one in element.iter())


def remove_unknown_words(root: MjcfElement, target: Target) -> None:
    """Remove all that a program refuses."""
    attributes, _ = _OF_TARGETS[target]
    for one in root.iter():
        if refuses_words(target):
            one.children = [child for child in one.children if child.tag not in _ELEMENTS]
        for name in attributes.get(one.tag, frozenset()) & one.attributes.keys():
            del one.attributes[name]
