"""The elements and attributes of MuJoCo's own schema."""

from __future__ import annotations

import re
from functools import cache

import mujoco

_ROW = re.compile(
    r'<td bgcolor="#\w+" class="el">((?:&nbsp;)*)([\w()|]+)</td>\s*<td class="ty">.</td>\s*<td class="at">(.*?)</td>',
    re.DOTALL,
)
_INDENT = 4 * len("&nbsp;")
"""Of elements in the printed schema, for each level."""


@cache
def schema() -> dict[str, tuple[str, ...]]:
    """The attributes of each element, by its path below the root."""
    found: dict[str, tuple[str, ...]] = {}
    above: list[str] = []
    for margin, tag, attributes in _ROW.findall(mujoco.mj_printSchema(True, False)):
        del above[len(margin) // _INDENT :]
        above.append(tag)
        found["/".join(above[1:])] = () if "<" in attributes else tuple(attributes.split())
    return found
