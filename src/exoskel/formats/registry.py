"""All formats, and how the format of a file is detected."""

from __future__ import annotations

from pathlib import PurePath

from exoskel.diagnostics import Catalogue, ExoskelError
from exoskel.formats.gltf.format import GltfFormat
from exoskel.formats.interface import CATALOGUE, Format
from exoskel.formats.mjcf.format import MjcfFormat
from exoskel.formats.sdf.format import SdfFormat
from exoskel.formats.skel.format import SkelFormat
from exoskel.formats.urdf.format import UrdfFormat
from exoskel.formats.usd.format import UsdFormat
from exoskel.formats.xode.format import XodeFormat
from exoskel.source import root_check

FORMATS: tuple[Format, ...] = (
    SkelFormat(),
    XodeFormat(),
    MjcfFormat(),
    UrdfFormat(),
    SdfFormat(),
    UsdFormat(),
    GltfFormat(),
)
READABLE = tuple(one for one in FORMATS if one.is_readable)
SHARED_EXTENSIONS = frozenset({".xml"})
"""Extensions that files of several formats have."""
DEFAULT = FORMATS[0]
"""The format of files and scenes that do not say otherwise."""
WITH_VOCABULARY = tuple(one for one in READABLE if one.has_vocabulary)


def by_name(name: str) -> Format:
    found = _find(name)
    if found is None:
        known = ", ".join(f.name for f in FORMATS)
        raise ExoskelError(f"unknown format {name!r}; choose one of {known}")
    return found


def with_vocabulary(name: str) -> Format:
    """The format of that name, which must have a vocabulary."""
    found = _find(name)
    if found not in WITH_VOCABULARY:
        known = ", ".join(f.name for f in WITH_VOCABULARY)
        problem = f"Exoskel has no vocabulary of {found.label}" if found else f"unknown format {name!r}"
        raise ExoskelError(f"{problem}; choose one of {known}")
    return found


def _find(name: str) -> Format | None:
    return next((f for f in FORMATS if f.name == name.lower().lstrip(".")), None)


def by_extension(name: str) -> Format | None:
    """The format that the extension of a file name stands for."""
    extension = PurePath(name).suffix.lower()
    return next((f for f in FORMATS if extension in f.extensions), None)


def for_output(name: str) -> Format:
    """The format of a file to be written, by its extension."""
    found = by_extension(name)
    if found is None:
        known = ", ".join(extension for one in FORMATS for extension in one.extensions)
        extension = PurePath(name).suffix
        problem = f"unknown extension {extension!r}" if extension else "no extension"
        raise ExoskelError(f"cannot write {name!r}: {problem}; use one of {known}")
    return found


def for_whole_scene(worlds: int) -> Format:
    """The first format that preserves a whole scene with this number of worlds."""
    return next(one for one in FORMATS if one.embeds_data and (worlds == 1 or not one.holds_one_world))


def detect(data: bytes, name: str) -> Format:
    """The format of a file, by its content, then by its extension; the default if both are unknown."""
    binary = next((f for f in FORMATS if f.magic and data.startswith(f.magic)), None)
    if binary is not None:
        return binary
    root = root_check.root_tag(data).rpartition(":")[2]
    found = next((f for f in FORMATS if root in f.roots), None)
    return found or by_extension(name) or DEFAULT


def original_reader(code: str) -> str:
    """The name of the original reader of the format that a diagnostic code belongs to."""
    return next((c.original_reader for c in catalogues() if code in c.topics), "")


def catalogues() -> list[Catalogue]:
    return [*(f.catalogue() for f in FORMATS), CATALOGUE]
