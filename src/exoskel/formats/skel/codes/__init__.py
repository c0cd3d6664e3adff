"""Everything the SKEL reader can say, as data.

`SKnnn` is a topic; a topic has one message or several, told apart by what follows the dot in their key.
The severity is that of a lenient reading; a strict one turns every warning into an error.
"""

from __future__ import annotations

from exoskel.diagnostics import Catalogue
from exoskel.formats.skel.codes import bodies, document, joints, shapes, values
from exoskel.formats.skel.fixes import FIXES
from exoskel.source.embedded_data import topic

CARRIED = "SK098"

CATALOGUE = Catalogue(
    "DART 6",
    (*document.TOPICS, *values.TOPICS, *bodies.TOPICS, *shapes.TOPICS, *joints.TOPICS, topic(CARRIED)),
    FIXES,
)
