"""The catalogue of all XODE diagnostics.

A severity has two columns, strict before lenient: `E/W` is an error in a strict reading and a warning in a
lenient one.
"""

from __future__ import annotations

from exoskel.diagnostics import Catalogue
from exoskel.formats.xode.codes import bodies, document, joints
from exoskel.formats.xode.fixes import FIXES
from exoskel.source.embedded_data import embedded_data_topic

EMBEDDED_DATA = "X910"

CATALOGUE = Catalogue(
    "PyODE",
    (
        *document.TOPICS,
        *bodies.TOPICS,
        *joints.TOPICS,
        embedded_data_topic(EMBEDDED_DATA),
    ),
    FIXES,
)
