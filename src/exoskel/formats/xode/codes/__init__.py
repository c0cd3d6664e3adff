"""The catalogue of all XODE diagnostics, and the automatic fixes for them.

A severity has two columns, strict before lenient: `E/W` is an error in strict mode and a warning
otherwise.
"""

from __future__ import annotations

from exoskel.diagnostics import Catalogue, Fix, Topic, message_with_severities
from exoskel.formats.xode.codes import bodies, document
from exoskel.source.embedded_data import embedded_data_topic

EMBEDDED_DATA = "X910"

_MEANT = "use '{nearest}'"


def _alias(name: str) -> Fix:
    return Fix("rename", f"use <{name}>", name=name)


_RENAME = Fix("rename", "use <{nearest}>", name="{nearest}", preserves_meaning=False)
_RENAME_ATTRIBUTE = Fix("rename_attribute", _MEANT, name="{nearest}", preserves_meaning=False)

FIXES = {
    "X103": Fix("add_attribute", 'add version="1.0r22"', name="version", text="1.0r22"),
    "X104": Fix("replace", 'use version="1.0r22"', text="1.0r22"),
    "X202": _RENAME,
    "X202.inside": _RENAME,
    "X206": _RENAME_ATTRIBUTE,
    "X304.float": Fix("replace", "use {whole}", text="{whole}"),
    "X305.spelling": Fix("replace", "use {word}", text="{word}"),
    "X307.gravity": Fix("replace", "use {meant}", text="{meant}"),
    "X401": Fix("replace", _MEANT, text="{nearest}", preserves_meaning=False),
    "X506": Fix("wrap", "move it into <rotation>", name="rotation"),
    "X511": _alias("matrix4f"),
    "X709.capsule": _alias("cappedCylinder"),
    "X709.indices": _alias("triangles"),
    "X807": _RENAME_ATTRIBUTE,
}
"""The automatic fixes, by the key of the diagnostic, for `exoskel check --fix` and editors."""


_WRITER = (
    Topic(
        "X921",
        "Masses in files for PyODE",
        "PyODE computes masses from boxes and spheres, and ignores their transforms. Other masses are written as the "
        "box with the most similar moments.",
        message_with_severities("X921", "W/W", "PyODE reads only masses of boxes and spheres about the body's origin"),
    ),
    Topic(
        "X922",
        "Hinge2 to the environment in files for PyODE",
        "ODE aborts if a hinge2 joint connects a body to the environment.",
        message_with_severities("X922", "W/W", "PyODE aborts on a hinge2 to the environment"),
    ),
)

CATALOGUE = Catalogue(
    "PyODE",
    (
        *document.TOPICS,
        *bodies.TOPICS,
        embedded_data_topic(EMBEDDED_DATA),
        *_WRITER,
    ),
    FIXES,
)
