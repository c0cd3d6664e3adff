"""All formats, and how the format of a file is detected.

A format loads its reader, writer and tables when they are used, so that commands start fast.
"""

from __future__ import annotations

from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING

from exoskel.diagnostics import Catalogue, ExoskelError
from exoskel.formats.interface import Format, FormatEditor, Reader, SourceMapping, WriterCapabilities
from exoskel.formats.shared_codes import CATALOGUE
from exoskel.source import root_check
from exoskel.source.embedded_format import EXTENSION, NAMESPACED
from exoskel.source.vocabulary import Vocabulary

if TYPE_CHECKING:
    from exoskel.formats.name_references import NameReferences


class SkelFormat(Format):
    name = "skel"
    title = "SKEL, the XML format of DART"
    label = "SKEL"
    roots = ("skel", "dart")
    extensions = (".skel",)
    embedding = NAMESPACED
    holds_one_world = True
    dart_ignores_limits = True
    world_name = "world"

    def catalogue(self) -> Catalogue:
        from exoskel.formats.skel.codes import CATALOGUE

        return CATALOGUE

    def reader(self) -> Reader:
        from exoskel.formats.skel.read import read

        return read

    def capabilities(self) -> WriterCapabilities:
        from exoskel.formats.skel.write import CAPABILITIES

        return CAPABILITIES

    def vocabulary(self) -> Vocabulary:
        from exoskel.formats.skel.vocabulary import SKEL

        return SKEL

    def source_mapping(self) -> SourceMapping:
        from exoskel.formats.skel.read import SOURCE_MAPPING

        return SOURCE_MAPPING

    def editor(self) -> type[FormatEditor]:
        from exoskel.formats.skel.write import SkelEditor

        return SkelEditor


class XodeFormat(Format):
    name = "xode"
    title = "XODE, the XML format of ODE"
    label = "XODE"
    roots = ("xode",)
    extensions = (".xode",)
    embedding = EXTENSION
    has_pyode_dialect = True
    targets = ("pyode",)

    def catalogue(self) -> Catalogue:
        from exoskel.formats.xode.codes import CATALOGUE

        return CATALOGUE

    def reader(self) -> Reader:
        from exoskel.formats.xode.read import read

        return read

    def capabilities(self) -> WriterCapabilities:
        from exoskel.formats.xode.write import CAPABILITIES

        return CAPABILITIES

    def vocabulary(self) -> Vocabulary:
        from exoskel.formats.xode.vocabulary import XODE

        return XODE

    def source_mapping(self) -> SourceMapping:
        from exoskel.formats.xode.read import SOURCE_MAPPING

        return SOURCE_MAPPING

    def editor(self) -> type[FormatEditor]:
        from exoskel.formats.xode.editor import XodeEditor

        return XodeEditor


class MjcfFormat(Format):
    name = "mjcf"
    title = "MJCF, the format of MuJoCo, which compiles it"
    label = "MJCF"
    roots = ("mujoco",)
    up_axis = "z"
    targets = ("mujoco4", "mujoco3", "newton", "dm_control", "dart", "isaac")
    extensions = (".xml", ".mjcf")
    holds_one_world = True
    has_vocabulary = False
    expands_xacro = True

    def catalogue(self) -> Catalogue:
        from exoskel.formats.mjcf.codes import CATALOGUE

        return CATALOGUE

    def reader(self) -> Reader:
        from exoskel.formats.mjcf.read import read

        return read

    def capabilities(self) -> WriterCapabilities:
        from exoskel.formats.mjcf.file_writer import CAPABILITIES

        return CAPABILITIES

    def source_mapping(self) -> SourceMapping:
        from exoskel.formats.mjcf.source_mapping import SOURCE_MAPPING

        return SOURCE_MAPPING

    def name_references(self) -> type[NameReferences]:
        from exoskel.formats.mjcf.name_references import MjcfNames

        return MjcfNames


class UrdfFormat(Format):
    name = "urdf"
    title = "URDF, the robot format of ROS"
    label = "URDF"
    roots = ("robot",)
    up_axis = "z"
    has_state_file = True
    has_srdf = True
    targets = ("dart",)
    extensions = (".urdf", ".xacro")
    holds_one_world = True
    holds_one_model = True
    expands_xacro = True

    def catalogue(self) -> Catalogue:
        from exoskel.formats.urdf.codes import CATALOGUE

        return CATALOGUE

    def reader(self) -> Reader:
        from exoskel.formats.urdf.read import read

        return read

    def capabilities(self) -> WriterCapabilities:
        from exoskel.formats.saving.urdf_edits import capabilities

        return capabilities(self)

    def vocabulary(self) -> Vocabulary:
        from exoskel.formats.urdf.vocabulary import URDF

        return URDF

    def source_mapping(self) -> SourceMapping:
        from exoskel.formats.urdf.read import SOURCE_MAPPING

        return SOURCE_MAPPING

    def name_references(self) -> type[NameReferences]:
        from exoskel.formats.urdf.name_references import UrdfNames

        return UrdfNames


class SdfFormat(Format):
    name = "sdf"
    title = "SDFormat, the format of Gazebo"
    label = "SDF"
    roots = ("sdf", "gazebo")
    up_axis = "z"
    targets = ("dart",)
    one_world_targets = frozenset({"dart"})
    has_state_file = True
    can_hold_one_model = True
    extensions = (".sdf", ".world")
    expands_xacro = True

    def catalogue(self) -> Catalogue:
        from exoskel.formats.sdf.codes import CATALOGUE

        return CATALOGUE

    def reader(self) -> Reader:
        from exoskel.formats.sdf.read import read

        return read

    def capabilities(self) -> WriterCapabilities:
        from exoskel.formats.sdf.write import CAPABILITIES

        return CAPABILITIES

    def vocabulary(self) -> Vocabulary:
        from exoskel.formats.sdf.vocabulary import SDF

        return SDF

    def source_mapping(self) -> SourceMapping:
        from exoskel.formats.sdf.source_mapping import SOURCE_MAPPING

        return SOURCE_MAPPING

    def name_references(self) -> type[NameReferences]:
        from exoskel.formats.sdf.name_references import SdfNames

        return SdfNames


class UsdFormat(Format):
    name = "usd"
    title = "USD with UsdPhysics, for Omniverse, Newton and Blender"
    label = "USD"
    targets = ("isaac",)
    extensions = (".usda", ".usdc", ".usd", ".usdz")
    magic = (b"#usda", b"PXR-USDC")
    has_vocabulary = False
    is_xml = False

    def catalogue(self) -> Catalogue:
        from exoskel.formats.usd.codes import CATALOGUE

        return CATALOGUE

    def reader(self) -> Reader:
        from exoskel.formats.usd.read import read

        return read

    def capabilities(self) -> WriterCapabilities:
        from exoskel.formats.usd.compose import CAPABILITIES

        return CAPABILITIES

    def source_mapping(self) -> SourceMapping:
        from exoskel.formats.usd.mapping import SOURCE_MAPPING

        return SOURCE_MAPPING


class GltfFormat(Format):
    name = "gltf"
    title = "glTF, for browsers, Blender and game engines"
    label = "glTF"
    extensions = (".glb", ".gltf")
    magic = (b"glTF",)
    has_vocabulary = False
    is_mesh = True
    is_xml = False

    def catalogue(self) -> Catalogue:
        from exoskel.formats.gltf.codes import CATALOGUE

        return CATALOGUE

    def reader(self) -> Reader:
        from exoskel.formats.gltf.read import read

        return read

    def source_mapping(self) -> SourceMapping:
        from exoskel.formats.gltf.read import SOURCE_MAPPING

        return SOURCE_MAPPING

    def capabilities(self) -> WriterCapabilities:
        from exoskel.formats.gltf.compose import CAPABILITIES

        return CAPABILITIES


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
_BY_ROOT = {root: one for one in reversed(FORMATS) for root in one.roots}
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
    """The format that the extension of a file name stands for, if such files are written."""
    extension = PurePath(name).suffix.lower()
    return next((f for f in FORMATS if extension in f.extensions), None)


_OTHER_WRITERS = {
    "exoskel.render (exoskel render)": (".png", ".jpg", ".jpeg", ".webp", ".mp4", ".gif"),
    "exoskel.export (exoskel view --export)": (".html", ".htm"),
    "exoskel.run(scene).save (exoskel run --out)": (".npz", ".csv", ".parquet"),
}
"""What writes files that are no scenes: pictures and videos, pages, and motions."""


def refuse_other_files(name: str) -> None:
    """Raise ExoskelError if the extension of a file name stands for a picture, a page or a motion."""
    extension = PurePath(name).suffix.lower()
    for writer, extensions in _OTHER_WRITERS.items():
        if extension in extensions:
            raise ExoskelError(f"cannot write a scene to {name!r}: {extension} files are written by {writer}")


def for_output(name: str) -> Format:
    """The format of a file to be written, by its extension."""
    found = by_extension(name)
    if found is None:
        refuse_other_files(name)
        known = ", ".join(extension for one in FORMATS for extension in one.extensions)
        extension = PurePath(name).suffix
        problem = f"unknown extension {extension!r}" if extension else "no extension"
        raise ExoskelError(f"cannot write {name!r}: {problem}; use one of {known}")
    return found


def for_whole_scene(worlds: int) -> Format:
    """The first format that preserves a whole scene with this number of worlds."""
    return next(one for one in FORMATS if one.embeds_data and (worlds == 1 or not one.holds_one_world))


def detect(data: bytes, name: str, root: str = "") -> Format:
    """The format of a file, by its content, then by its extension; the default if both are unknown.

    `root` is the tag of the root element, if it is known.
    """
    if root in _BY_ROOT and not root_check.is_binary(data):
        return _BY_ROOT[root]
    if not data.startswith(b"<"):
        binary = next((f for f in FORMATS if f.magic and data.startswith(f.magic)), None)
        if binary is not None:
            return binary
    root = root_check.root_tag(data).rpartition(":")[2]
    return _BY_ROOT.get(root) or by_extension(name) or DEFAULT


def original_reader(code: str) -> str:
    """The name of the original reader of the format that a diagnostic code belongs to."""
    if code in CATALOGUE.topics:
        return CATALOGUE.original_reader
    found = (one.catalogue() for one in FORMATS)  # each loads the codes of its format
    return next((one.original_reader for one in found if code in one.topics), "")


def catalogues() -> list[Catalogue]:
    return [*(f.catalogue() for f in FORMATS), CATALOGUE]


@cache
def code_prefixes() -> frozenset[str]:
    """All codes of diagnostics about files, and their beginnings."""
    codes = [code for one in catalogues() for code in one.topics]
    return frozenset(code[:length] for code in codes for length in range(1, len(code) + 1))
