"""Finds attributes with numbers that are not finite, which MuJoCo compiles to wrong values everywhere else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import isfinite, isnan

from exoskel.formats.mjcf.reader.fragment import Fragment
from exoskel.formats.mjcf.reader.preprocessor import PreparedDocument

_MAY_CONTAIN = re.compile(r"[\"\s+-](?:nan|inf)", re.IGNORECASE)
_NAMES = ("name", "class", "childclass", "key", "value", "data")
"""Attributes that are texts, even if these look like numbers."""
_WITH_INFINITY = re.compile(r"range$|limit$|^(?:margin|maxhullvert)$")
"""Attributes that may be infinite."""


def infinite_numbers(prepared: PreparedDocument) -> Iterator[tuple[Fragment, str, str]]:
    """Attributes that consist of numbers of which one is not finite, with that number; limits may be infinite."""
    if not _MAY_CONTAIN.search(prepared.text):
        return
    for fragment in prepared.root.iter():
        for name, value in list(fragment.attributes.items()):
            found = "" if name in _NAMES else _not_finite(value, may_be_infinite=bool(_WITH_INFINITY.search(name)))
            if found:
                yield fragment, name, found


def _not_finite(text: str, *, may_be_infinite: bool) -> str:
    """The first number of a text that is not finite; empty if all are, or if it does not consist of numbers."""
    words = text.split()
    try:
        values = [float(word) for word in words]
    except ValueError:
        return ""  # MuJoCo reports it
    wrong = (word for word, value in zip(words, values, strict=True) if not isfinite(value))
    return next((word for word in wrong if isnan(float(word)) or not may_be_infinite), "")
