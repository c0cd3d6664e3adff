"""The lists of numbers in keyframes: those that MuJoCo rejects or completes, and those of ignored elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import isfinite
from typing import Any

from msgspec import Struct

from exoskel.diagnostics import Collector
from exoskel.formats.mjcf.reader.fragment import Fragment
from exoskel.formats.mjcf.reader.preprocessor import PreparedDocument

_STATES = ("qpos", "qvel", "act", "ctrl", "mpos", "mquat")
_NUMBERS = ("time", *_STATES)
_OF_MOCAP_BODIES = ("mpos", "mquat")


def remove_invalid_keyframe_lists(prepared: PreparedDocument, collector: Collector) -> None:
    """Report lists with numbers that are not finite, and leave them out: MuJoCo then uses the default state."""
    for number, key in enumerate(key_elements(prepared)):
        for name in _NUMBERS:
            found = _not_finite(key.attributes.get(name, ""))
            if found:
                label = key_label(key, number)
                collector.report("MJ311", key.node, attribute=name, name=name, keyframe=label, found=found)
                del key.attributes[name]


class OwnNumbers(Struct, frozen=True):
    """The places in the lists of keyframes of what a scene may have, and the lengths of the whole lists."""

    places: dict[str, list[int]]
    counts: dict[str, int]


def remove_lists_of_ignored_elements(
    prepared: PreparedDocument, collector: Collector, find_own: Callable[[], OwnNumbers | None]
) -> None:
    """Remove what keyframes state of elements that are ignored: MuJoCo would refuse lists that are too long.

    `find_own` compiles the whole document.  If the places of numbers are not known, a list is removed as a whole.
    """
    ignored = prepared.ignored_states
    stated = [key for key in key_elements(prepared) if any(key.attributes.get(name, "").split() for name in ignored)]
    own = find_own() if stated else None
    for number, key in enumerate(key_elements(prepared) if stated else ()):
        for name, what in ignored.items():
            words = key.attributes.get(name, "").split()
            if not words:
                continue
            details: dict[str, Any] = {"name": name, "keyframe": key_label(key, number), "what": what}
            if own is not None and len(words) == own.counts.get(name):
                _set_list(key, name, [words[place] for place in own.places[name]])
                collector.report("MJ311.ignored", key.node, attribute=name, **details)
            elif name == "ctrl" and len(words) == len(prepared.controls):
                _set_list(key, name, [word for word, is_own in zip(words, prepared.controls, strict=True) if is_own])
                collector.report("MJ311.ignored", key.node, attribute=name, **details)
            else:
                del key.attributes[name]
                collector.report("MJ311.list", key.node, attribute=name, **details)


def _set_list(key: Fragment, name: str, words: list[str]) -> None:
    """State a list of numbers; MuJoCo refuses empty ones."""
    if words:
        key.attributes[name] = " ".join(words)
    else:
        del key.attributes[name]


def report_short_keyframe_lists(prepared: PreparedDocument, model: Any, collector: Collector) -> None:
    """Report lists with fewer numbers than the compiled model has."""
    sizes = {
        "qpos": model.nq,
        "qvel": model.nv,
        "act": getattr(model, "na", 0),
        "ctrl": model.nu,
        "mpos": 3 * getattr(model, "nmocap", 0),
        "mquat": 4 * getattr(model, "nmocap", 0),
    }
    for number, key in enumerate(key_elements(prepared)):
        for name in _STATES:
            count = len(key.attributes.get(name, "").split())
            if 0 < count < sizes[name]:
                code = "MJ311.mocap" if name in _OF_MOCAP_BODIES else "MJ311.few"
                details = {"name": name, "keyframe": key_label(key, number), "count": count, "expected": sizes[name]}
                collector.report(code, key.node, attribute=name, **details)


def key_elements(prepared: PreparedDocument) -> Iterator[Fragment]:
    """The keyframes, in the order of MuJoCo's numbers."""
    sections = (section for section in prepared.root.children if section.tag == "keyframe")
    return (key for section in sections for key in section.children if key.tag == "key")


def key_label(key: Fragment, number: int) -> str:
    """The name in quotes, or MuJoCo's number."""
    return f"'{key.attributes['name']}'" if key.attributes.get("name") else str(number)


def _not_finite(text: str) -> str:
    """The first number of a text that is not finite, such as `nan`, or an empty string."""
    if "n" not in text and "N" not in text:  # in nan and in inf
        return ""
    return next((word for word in text.split() if _is_not_finite(word)), "")


def _is_not_finite(word: str) -> bool:
    try:
        return not isfinite(float(word))
    except ValueError:
        return False  # MuJoCo reports it
