"""The catalogue of all SKEL diagnostics.

`SKnnn` is a topic with one or more messages; the part of the key after the dot distinguishes them.
The severity is that of a lenient reading; in a strict reading, every warning is an error.
"""

from __future__ import annotations

from exoskel.diagnostics import Catalogue
from exoskel.formats.skel.codes import bodies, document, joints
from exoskel.formats.skel.fixes import FIXES
from exoskel.source.embedded_data import embedded_data_topic

EMBEDDED_DATA = "SK098"

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
