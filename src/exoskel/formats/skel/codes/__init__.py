"""The catalogue of all SKEL diagnostics, and the automatic fixes for them.

`SKnnn` is a topic with one or more messages; the part of the key after the dot distinguishes them.
In strict mode, every warning is an error.
"""

from __future__ import annotations

from exoskel.diagnostics import Catalogue, Fix
from exoskel.formats.skel.codes import bodies, document, joints
from exoskel.source.embedded_data import embedded_data_topic

EMBEDDED_DATA = "SK098"

_MEANT = "use '{nearest}'"


def _insert(name: str, text: str) -> Fix:
    return Fix("insert", f"add <{name}>{text}</{name}>", name=name, text=text)


_RENAME = Fix("rename", "use <{nearest}>", name="{nearest}", preserves_meaning=False)
_WORD = Fix("replace", _MEANT, text="{nearest}", preserves_meaning=False)
_ALIAS = Fix("rename", "use <{meant}>", name="{meant}")
_NAME = Fix("add_attribute", 'add name="{name}"', name="name", text="{name}")
_REMOVE = Fix("remove", "remove it")
_TRIM = Fix("trim", "remove the spaces around it")


def _risky(name: str) -> Fix:
    return Fix("rename", f"use <{name}>", name=name, preserves_meaning=False, safe=False)


FIXES = {
    "SK003.early": Fix("rename", "use <skel>", name="skel"),
    "SK006.absent": Fix("add_attribute", 'add version="1.0"', name="version", text="1.0"),
    "SK010": _RENAME,
    "SK011": Fix("rename_attribute", _MEANT, name="{nearest}", preserves_meaning=False),
    "SK013.self_collide": _REMOVE,
    "SK013.thread_pitch": _risky("pitch"),
    "SK020.scale": _insert("scale", "1 1 1"),
    "SK020.size": _insert("size", "1 1 1"),
    "SK020.radius": _insert("radius", "0.5"),
    "SK020.height": _insert("height", "1"),
    "SK024.translation": Fix("append", "add the angles 0 0 0", text="0 0 0"),
    "SK025": Fix("separate", "separate the numbers with spaces"),
    "SK027.word": Fix("replace", "use {digit}", text="{digit}"),
    "SK027.number": Fix("replace", "use {digit}", text="{digit}"),
    "SK028.trimmed": _TRIM,
    "SK028.case": Fix("replace", "use '{word}'", text="{word}"),
    "SK032": _WORD,
    "SK040.missing": _NAME,
    "SK041.missing": _NAME,
    "SK041.repeated": Fix("replace", "rename it to '{renamed}'", text="{renamed}"),
    "SK043": Fix("invert", "use <mobile> with the opposite value", name="mobile"),
    "SK043.contradiction": _REMOVE,
    "SK050.missing": _insert("mass", "1"),
    "SK051.diagonal": Fix("insert", "add <{element}>1</{element}>", name="{element}", text="1"),
    "SK051.off_diagonal": Fix("insert", "add <{element}>0</{element}>", name="{element}", text="0"),
    "SK053.both": _REMOVE,
    "SK060.soft": _RENAME,
    "SK060.unknown": _RENAME,
    "SK064.backslash": Fix("slash", "use /"),
    "SK064.spaces": _TRIM,
    "SK064.percent": Fix("unquote", "use the characters themselves"),
    "SK065.none": _insert("offset", "0"),
    "SK068.missing": _insert("frags", "3 3 3"),
    "SK069": _ALIAS,
    "SK070.unknown": _WORD,
    "SK071.child": _WORD,
    "SK071.parent": _WORD,
    "SK075": _insert("parent", "world"),
    "SK076.torque": Fix("replace", "use '{meant}'", text="{meant}"),
    "SK076.unknown": _WORD,
    "SK077.default": _insert("xyz", "1 0 0"),
    "SK078.missing": _insert("axis_order", "xyz"),
    "SK078.unknown": _WORD,
    "SK079.no_type": Fix("add_attribute", 'add type="xy"', name="type", text="xy"),
    "SK079.unknown": _WORD,
    "SK087": Fix("wrap", "move it into <dynamics>", name="dynamics"),
    "SK088.sprint": _ALIAS,
    "SK088.spring_damping": _risky("damping"),
    "SK088.stiffness": _risky("spring_stiffness"),
}
"""The automatic fixes, by the key of the diagnostic, for `exoskel check --fix` and editors."""


CATALOGUE = Catalogue(
    "DART 6",
    (
        *document.TOPICS,
        *bodies.TOPICS,
        *joints.TOPICS,
        embedded_data_topic(EMBEDDED_DATA),
    ),
    FIXES,
)
