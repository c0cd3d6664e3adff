"""What MuJoCo's compiler rejects: each error is reported at its element, and what it is about is removed.

MuJoCo names one error at a time, so that a document is compiled again after each of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from msgspec import Struct

from exoskel.diagnostics import Collector
from exoskel.formats.mjcf import mujoco_import
from exoskel.formats.mjcf.reader.finite_numbers import infinite_numbers
from exoskel.formats.mjcf.reader.fragment import Fragment
from exoskel.formats.mjcf.reader.keyframe_lists import key_elements, key_label
from exoskel.formats.mjcf.reader.preprocessor import PreparedDocument

_MOST_REPAIRS = 100
"""A document with more errors makes no sense, and each of them takes a compilation."""
_LINE = re.compile(r"line (\d+)")
_ELEMENT = re.compile(r"Element '(\w+)'")
_QUOTED = re.compile(r"'([^']*)'")
_STATED_ATTRIBUTE = re.compile(r"attribute '(\w+)'")
_UNKNOWN_ATTRIBUTE, _UNKNOWN_ELEMENT = "unrecognized attribute", "unrecognized element"
_UNKNOWN_MODEL_ELEMENT, _REPEATED_NAME = "unrecognized model element", "repeated name"
_UNKNOWN_WORD = "invalid keyword"
_TOO_FEW, _TOO_MUCH, _TOO_LARGE = "does not have enough data", "has too much data", "number is too large"
_INVALID_NUMBERS = re.compile(
    rf"(?:bad format|{_TOO_LARGE}) in attribute '(\w+)'|attribute '(\w+)' (?:{_TOO_FEW}|{_TOO_MUCH})"
)
_TOO_MANY_STATES = re.compile(r"keyframe .*: invalid (\w+) size, expected (?:length )?(\d+)")
_ID = re.compile(r"id (\d+)")
_REPEATED_CHILD = re.compile(r"unique element '(\w+)' found")
_UNKNOWN_EXCEPTION = "unknown exception"
_NO_INERTIA, _NO_MEMORY = "mass and inertia of moving bodies", "could not allocate"
_EULER = "euler sequence"

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
_OPTIONAL_REFERENCES = frozenset({*_CLASSES, "material", "target"})
"""References without which an element makes sense."""
_ALIASES: dict[str, tuple[str, ...]] = {
    "control": ("ctrlrange",),
    "force": ("forcerange",),
    "lengthrange": ("lengthrange",),
    "orientation": ("quat", "euler", "axisangle", "xyaxes", "zaxis"),
}
_FLAGS_OF_RANGES = {
    "range": "limited",
    "ctrlrange": "ctrllimited",
    "forcerange": "forcelimited",
    "actrange": "actlimited",
    "actuatorfrcrange": "actuatorfrclimited",
}
"""What says that a range is a limit, which MuJoCo refuses without the range."""
"""Attributes by a word that MuJoCo's messages have for them."""
_PATHS = frozenset({"spatial", "fixed"})
"""Elements that are something else without one of their children."""
_SECTIONS = frozenset({"mujoco", "worldbody", "compiler", "option", "size"})
"""Elements that are never removed."""
_DEFAULT_INERTIA = {"pos": "0 0 0", "mass": "1", "diaginertia": "1 1 1"}


class _RejectionMessage(Struct, frozen=True):
    """The key of a message, the attribute that it points at, and its details."""

    key: str
    attribute: str = ""
    details: dict[str, Any] = {}


class _Rejection(Struct):
    """An error at an element, and what became of that element: the second half of a sentence."""

    fragment: Fragment | None
    message: _RejectionMessage
    attribute: str
    """The attribute that was removed; empty for an element."""
    outcome: str


class Rejections:
    """The errors of one document, which are reported when it is known what became of their elements."""

    def __init__(self, prepared: PreparedDocument, collector: Collector) -> None:
        self.prepared = prepared
        self.collector = collector
        self._found: list[_Rejection] = []
        self._classes: _DefaultClasses | None = None

    @property
    def has_found(self) -> bool:
        return bool(self._found)

    def remove_infinite_numbers(self) -> None:
        """Note and remove numbers that are not finite, which MuJoCo does not reject."""
        for fragment, name, number in list(infinite_numbers(self.prepared)):
            label = f" '{fragment.attributes['name']}'" if fragment.attributes.get("name") else ""
            problem = f"the {name} of <{fragment.tag}>{label} contains {number}: expected finite numbers"
            self._remove_attribute(fragment, name, _RejectionMessage("MJ109", name, {"problem": [problem]}))

    def repair(self, problem: str) -> bool:
        """Note an error of MuJoCo, and remove what it is about; False if that is not possible."""
        fragment, reason = self._fragment(problem), _reason(problem)
        message = self._long_keyframe_list(problem)
        if message is not None:
            key, name = message
            return self._remove_attribute(key, name.attribute, name)
        self._classes = _DefaultClasses(self.prepared.root)
        if fragment is not None:
            fragment = _repeated_child(reason, fragment)
        described = self._describe(reason, problem, fragment)
        if len(self._found) >= _MOST_REPAIRS:
            self._found.append(_Rejection(fragment, described, "", ""))
            return False
        if fragment is None:
            return self._repair_unplaced(reason, described)
        if _EULER in reason and self._repair_setting("eulerseq", described):
            return True
        if _NO_INERTIA in reason:
            return self._set_inertia(fragment, described)
        owner, attribute = self._culprit(reason, described, fragment)
        if attribute:
            return self._remove_attribute(owner, attribute, described)
        return self._remove(fragment, described)

    def report(self, *, is_read: bool) -> None:
        """Report all errors; if the document is not read, there is nothing that became of their elements."""
        for one in self._found:
            message = one.message
            node = -1 if one.fragment is None else one.fragment.node
            outcome = f"; {one.outcome}" if is_read and one.outcome else ""
            self.collector.report(
                message.key, node, attribute=message.attribute, **{**message.details, "outcome": [outcome]}
            )

    # --- what an error is about -----------------------------------------------------------------------

    def _fragment(self, problem: str) -> Fragment | None:
        """The element in the line that a message names last."""
        lines = _LINE.findall(problem)
        line = int(lines[-1]) if lines else 0
        return next((one for place, one in enumerate(self.prepared.root.iter(), 1) if place == line), None)

    def _culprit(self, reason: str, message: _RejectionMessage, fragment: Fragment) -> tuple[Fragment, str]:
        """The attribute without which an error is gone, and its element, which may be a default class."""
        name = message.attribute
        if _REPEATED_NAME in reason:
            return fragment, "name" if "name" in fragment.attributes else ""
        if not name:
            names = _mentioned_attributes(reason)
            stated = [(owner, one) for one in names if (owner := self._owner(fragment, one)) is not None]
            if "negative" in reason:
                stated.sort(key=lambda one: not one[0].attributes[one[1]].strip().startswith("-"))
            owner, name = next(iter(stated), (fragment, ""))
            return owner, "" if _is_needed(name) else name
        return fragment, "" if _is_needed(name) and _UNKNOWN_ATTRIBUTE not in reason else name

    def _owner(self, fragment: Fragment, name: str) -> Fragment | None:
        """The element that states an attribute of an element: its own, or that of a default class."""
        if name in fragment.attributes:
            return fragment
        assert self._classes is not None
        return self._classes.find(fragment, name)

    def _long_keyframe_list(self, problem: str) -> tuple[Fragment, _RejectionMessage] | None:
        """The keyframe with too many numbers that MuJoCo rejects."""
        stated, number = _TOO_MANY_STATES.search(problem), _ID.search(problem)
        if stated is None or number is None:
            return None
        key = next((key for place, key in enumerate(key_elements(self.prepared)) if place == int(number[1])), None)
        if key is None or stated[1] not in key.attributes:
            return None
        details: dict[str, Any] = {
            "name": stated[1],
            "keyframe": key_label(key, int(number[1])),
            "count": len(key.attributes[stated[1]].split()),
            "expected": int(stated[2]),
        }
        return key, _RejectionMessage("MJ106.keyframe", stated[1], details)

    # --- repairs --------------------------------------------------------------------------------------

    def _note(self, fragment: Fragment | None, message: _RejectionMessage, attribute: str, outcome: str) -> None:
        """Note an error; one that follows from an earlier repair of the element changes what became of it."""
        earlier = [one for one in self._found if fragment is not None and one.fragment is fragment]
        if earlier and attribute in _FLAGS_OF_RANGES.values() and not message.attribute:
            return
        if earlier and not attribute:
            for one in earlier:
                one.outcome = outcome
            return
        self._found.append(_Rejection(fragment, message, attribute, outcome))

    def _remove_attribute(self, fragment: Fragment, name: str, message: _RejectionMessage) -> bool:
        outcome = "it is not read" if name == "name" or message.key == "MJ106.attribute" else "its default is used"
        if name not in fragment.attributes:
            return self._remove(fragment, message)
        self._note(fragment, message, name, outcome)
        self.prepared.remove_attribute(fragment, name)
        return True

    def _remove(self, fragment: Fragment, message: _RejectionMessage) -> bool:
        """Remove an element; of a tendon, not only a part."""
        parents = {id(child): one for one in self.prepared.root.iter() for child in one.children}
        parent = parents.get(id(fragment))
        if parent is not None and parent.tag in _PATHS:
            fragment, parent = parent, parents.get(id(parent))
        if parent is None or fragment.tag in _SECTIONS:
            self._note(None if fragment.node < 0 else fragment, message, "?", "")
            return False
        self._note(fragment, message, "", f"the <{fragment.tag}> is ignored")
        self.prepared.remove(fragment, parent)
        return True

    def _repair_unplaced(self, reason: str, message: _RejectionMessage) -> bool:
        """Repair an error that MuJoCo gives without an element."""
        every = list(self.prepared.root.iter())
        if _UNKNOWN_EXCEPTION in reason:
            anchor = next(
                (one for one in every if one.tag == "connect" and not one.attributes.get("anchor", "?")), None
            )
            if anchor is not None:
                found = _describe_number(f"attribute 'anchor' {_TOO_FEW}", anchor)
                return self._remove_attribute(anchor, "anchor", found or message)
        if _REPEATED_NAME in reason:
            quoted = (*_QUOTED.findall(reason), "")[0]
            kind = reason.rpartition(" ")[2]
            copied = (one for outer in every if outer.tag == "replicate" for one in outer.iter())
            alike = [one for one in copied if _is_named(one, kind, quoted)]
            if alike:
                return self._remove_attribute(alike[-1], "name", message)
        return self._repair_setting(reason, message)

    def _repair_setting(self, reason: str, message: _RejectionMessage) -> bool:
        """Remove the settings that an error without an element is about."""
        tag, name = ("compiler", "eulerseq") if reason == "eulerseq" else ("size", "memory")
        if name == "memory" and _NO_MEMORY not in reason:
            self._note(None, message, "", "")
            return False
        found = next((one for one in self.prepared.root.iter() if one.tag == tag and name in one.attributes), None)
        if found is None:
            self._note(None, message, "", "")
            return False
        return self._remove_attribute(found, name, _RejectionMessage(message.key, name, message.details))

    def _set_inertia(self, body: Fragment, message: _RejectionMessage) -> bool:
        """Remove the inertia of a body, so that it follows from its shapes; without any, set one."""
        stated = next((one for one in body.children if one.tag == "inertial"), None)
        is_default = stated is not None and stated.attributes == _DEFAULT_INERTIA
        if body.tag != "body" or is_default:
            return self._remove(body, message)
        if stated is not None:
            self._note(stated, message, "", "the <inertial> is ignored")
            self.prepared.remove(stated, body)
            return True
        self._note(body, message, "", "a mass of 1 kg is used")
        body.children.insert(0, Fragment("inertial", dict(_DEFAULT_INERTIA), body.node))
        self.prepared.forget_text()
        return True

    # --- messages -------------------------------------------------------------------------------------

    def _describe(self, reason: str, problem: str, fragment: Fragment | None) -> _RejectionMessage:
        """The message about an error.

        If files are missing, which has been reported as an error, this one may be a consequence: it is a note.
        """
        lacks_files = self.prepared.lacks_files
        found: _RejectionMessage | None = None
        if fragment is not None:
            found = _describe_number(reason, fragment) or self._describe_name(reason, fragment)
            if found is None and (_UNKNOWN_WORD in reason or not lacks_files):
                found = self._describe_word(reason, fragment)
        if found is not None:
            return found
        named = _ELEMENT.search(problem)
        reason += f", <{named[1]}>" if named else ""
        return _RejectionMessage("MJ106.missing" if lacks_files else "MJ106", "", {"reason": reason})

    def _describe_name(self, reason: str, fragment: Fragment) -> _RejectionMessage | None:
        """An unknown element or attribute, if the error is about one."""
        quoted = [one for one in _QUOTED.findall(reason) if one]
        suggestions = self.collector.suggestions
        if _UNKNOWN_ELEMENT in reason or _UNKNOWN_MODEL_ELEMENT in reason:
            parent = next((one for one in self.prepared.root.iter() if any(c is fragment for c in one.children)), None)
            known = _schema().get(parent.tag, _NOTHING)[1] if parent is not None else frozenset()
            suggestion = suggestions.among(known, are_terms=True).did_you_mean(fragment.tag)
            container = parent.tag if parent is not None else "mujoco"
            details = {"element": fragment.tag, "parent": container, "suggestion": suggestion}
            return _RejectionMessage("MJ106.element", "", details)
        if _UNKNOWN_ATTRIBUTE in reason and quoted and quoted[0] in fragment.attributes:
            known = _schema().get(fragment.tag, _NOTHING)[0]
            suggestion = suggestions.among(known, are_terms=True).did_you_mean(quoted[0])
            details = {"name": quoted[0], "element": fragment.tag, "suggestion": suggestion}
            return _RejectionMessage("MJ106.attribute", quoted[0], details)
        return None

    def _describe_word(self, reason: str, fragment: Fragment) -> _RejectionMessage | None:
        """A value that is not a word that its attribute takes, or not the name of an element."""
        for word in _QUOTED.findall(reason):
            stated = [name for name, value in fragment.attributes.items() if value == word and name != "name"]
            is_keyword = _UNKNOWN_WORD in reason
            for name in sorted(stated, key=lambda one: one not in (_TARGETS if not is_keyword else ("type",))):
                known = _WORDS.get((fragment.tag, name)) if is_keyword else self._names(name)
                if known or is_keyword or name in _TARGETS or name in _CLASSES:
                    suggestion = self.collector.suggestions.among(known or ()).did_you_mean(word)
                    return _RejectionMessage("MJ106.word", name, {"reason": reason, "suggestion": suggestion})
        return None

    def _names(self, attribute: str) -> list[str]:
        """The names in the document that an attribute may refer to."""
        every = list(self.prepared.root.iter())
        if attribute in _CLASSES:
            return [name for one in every if one.tag == "default" and (name := one.attributes.get("class"))]
        tags = _TARGETS.get(attribute, ())
        return [name for one in every if one.tag in tags and (name := one.attributes.get("name"))]


def _is_named(one: Fragment, kind: str, name: str) -> bool:
    """Whether a copy of an element has a name: that of the element, and a number."""
    own = one.attributes.get("name", "")
    return (
        bool(own)
        and one.tag in _TARGETS.get(kind, (kind,))
        and re.fullmatch(rf"{re.escape(own)}\D?\d+", name) is not None
    )


def _reason(problem: str) -> str:
    return problem.partition("\n")[0].removeprefix("XML Error: ").removeprefix("Error: ")


def _is_needed(name: str) -> bool:
    """Whether an element makes no sense without a reference."""
    return name in _TARGETS and name not in _OPTIONAL_REFERENCES


def _mentioned_attributes(reason: str) -> list[str]:
    """The words of a message that may be attributes, without the names that it quotes."""
    stated = _STATED_ATTRIBUTE.search(reason)
    if stated is not None and "missing" not in reason:
        return [stated[1]]
    words = re.findall(r"[a-z]+\d?", _QUOTED.sub("", reason).lower())
    names = [name for word in words for name in _ALIASES.get(word, (word,))]
    return [*names, *(_FLAGS_OF_RANGES[name] for name in names if name in _FLAGS_OF_RANGES)]


def _repeated_child(reason: str, fragment: Fragment) -> Fragment:
    """The second child of its kind, if an error is about that."""
    found = _REPEATED_CHILD.search(reason)
    children = [one for one in fragment.children if found is not None and one.tag == found[1]]
    return children[1] if len(children) > 1 else fragment


def _describe_number(reason: str, fragment: Fragment) -> _RejectionMessage | None:
    """Numbers that MuJoCo rejects, with the first wrong one; None for other errors."""
    stated = _INVALID_NUMBERS.search(reason)
    name = stated[1] or stated[2] if stated is not None else ""
    if not name or name not in fragment.attributes:
        return None
    words = fragment.attributes[name].split()
    if _TOO_FEW in reason or _TOO_MUCH in reason:
        problem = f"has too {'few' if _TOO_FEW in reason else 'many'} numbers: {len(words)}"
    elif _TOO_LARGE in reason:
        problem = f"contains a number that is too large: {max(words, key=_magnitude, default='')}"
    else:
        wrong = next((word for word in words if _magnitude(word) < 0.0), "")
        expected = "numbers" if wrong else "whole numbers"
        problem = f"contains '{wrong or ' '.join(words)}': expected {expected}"
    label = f" '{fragment.attributes['name']}'" if fragment.attributes.get("name") else ""
    item = f"keyframe{label}" if fragment.tag == "key" and label else f"<{fragment.tag}>{label}"
    return _RejectionMessage("MJ106.value", name, {"name": name, "item": item, "problem": problem})


def _magnitude(word: str) -> float:
    """The magnitude of a number; -1 if it is not a number."""
    try:
        return abs(float(word))
    except ValueError:
        return -1.0


class _DefaultClasses:
    """The default classes of a document, and the class of each element."""

    def __init__(self, root: Fragment) -> None:
        self.own: dict[str, Fragment] = {}
        self.outer: dict[int, Fragment] = {}
        self.main: dict[int, Fragment] = {}
        self.inherited: dict[int, str] = {}
        waiting: list[tuple[Fragment, str]] = [(root, "")]
        while waiting:
            one, inherited = waiting.pop()
            inherited = one.attributes.get("childclass", inherited)
            self.inherited[id(one)] = inherited
            for child in one.children:
                waiting.append((child, inherited))
                if child.tag != "default":
                    continue
                self.own.setdefault(child.attributes.get("class", ""), child)
                if one.tag == "default":
                    self.outer[id(child)] = one
                else:
                    self.main[id(child)] = child

    def find(self, fragment: Fragment, name: str) -> Fragment | None:
        """The element of a default class that states an attribute of an element."""
        at = self.own.get(fragment.attributes.get("class") or self.inherited.get(id(fragment), ""))
        while at is not None and id(at) not in self.main:
            found = _last(at.children, fragment.tag, name)
            if found is not None:
                return found
            at = self.outer.get(id(at))
        return _last((child for one in self.main.values() for child in one.children), fragment.tag, name)


def _last(rows: Iterable[Fragment], tag: str, name: str) -> Fragment | None:
    """The last of some elements with a tag and an attribute."""
    return next((one for one in reversed(list(rows)) if one.tag == tag and name in one.attributes), None)


# --- the elements and attributes that MuJoCo knows -----------------------------------------------------

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
