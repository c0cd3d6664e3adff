"""Where MuJoCo searches the files that a document names."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping

COMPILER_FOLDERS = ("meshdir", "assetdir", "texturedir", "strippath")
"""The attributes of `<compiler>` that change where files are searched."""


def compiler_settings(elements: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """The attributes of all <compiler> elements; later ones win, and `assetdir` sets both other folders."""
    found: dict[str, str] = {}
    for stated in elements:
        if "assetdir" in stated:
            found |= dict.fromkeys(("meshdir", "texturedir"), stated["assetdir"])
        found |= stated
    return found


def asset_path(tag: str, reference: str, compiler: Mapping[str, str]) -> str:
    """The path at which MuJoCo searches a file, relative to the document's folder."""
    if tag == "model":
        return reference
    written = posixpath.basename(reference) if compiler.get("strippath") == "true" else reference
    return posixpath.join(compiler.get("texturedir" if tag == "texture" else "meshdir", ""), written)
