"""From a document to the text that MuJoCo compiles: files pulled in, what no scene holds left out.

MuJoCo is handed no name of a file: includes are written out here, and meshes travel as bytes under names of ours.
Each element stands on a line of its own, so that a line MuJoCo tells leads back to a node of the document.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator
from math import prod
from pathlib import Path

from msgspec import Struct, field

from exoskel.diagnostics import Collector
from exoskel.formats.mjcf.reading.unsupported import LEFT_OUT, UNREAD, WITHHELD
from exoskel.formats.read_options import ReadOptions
from exoskel.source.document import Document, Tree, tag_as_written
from exoskel.source.file_lookup import find_file
from exoskel.source.files import read_at_most
from exoskel.source.location import Location
from exoskel.source.markup import escape_attribute
from exoskel.source.numbers import parse_decimal
from exoskel.source.well_formedness import MalformedError

_STAND_IN = "0 0 0 0.001 0 0 0 0.001 0 0 0 0.001"
"""Vertices in place of a mesh that is not there."""
UNCOLOURED = (-1, -1, -1, -1)
"""The colour of what states none: MuJoCo's own default is a grey that others state."""
_MULTIPLIED: dict[str, tuple[tuple[str, ...], float]] = {
    **dict.fromkeys(("replicate", "composite", "flexcomp"), (("count",), 1.0)),
    "general": (("actdim",), 1000.0),  # a class may say it of very many
    "mesh": (("params", "params"), 1.0),  # of one that MuJoCo makes up: the square of its resolution
    "hfield": (("nrow", "ncol"), 1.0 / 16.0),
}
"""Attributes that say how many MuJoCo makes of an element, and what one of them is beside an element."""
_MOST_MADE = 1_000_000
_MOST_SAMPLES = 16 * _MOST_MADE
"""Of a height field in a file."""
_ROOM = frozenset({"memory", "njmax", "nconmax", "nstack"})
"""What a large world needs to be compiled: it is set aside, not used up."""
_ENDINGS = {"mesh": (".obj", ".stl", ".msh"), "hfield": (".png", ".bin", ".hf", "")}


class Fragment(Struct):
    """An element to be compiled, and the node of the document that it came with (an include's, for its content)."""

    tag: str
    attributes: dict[str, str]
    node: int
    children: list[Fragment] = field(default_factory=list)

    def iter(self) -> Iterator[Fragment]:
        waiting = [self]
        while waiting:
            found = waiting.pop()
            yield found
            waiting += found.children[::-1]


class MeshFile(Struct, frozen=True):
    """What a mesh asset refers to: the reference as written, and where it was found (None: nowhere)."""

    reference: str
    path: str | None


class Prepared(Struct):
    """What MuJoCo is given.  `nodes` are the document's nodes, line by line; `meshes` are asset files by name."""

    text: str
    nodes: list[int]
    assets: dict[str, bytes]
    meshes: dict[str, MeshFile]
    inlined: dict[str, Fragment]
    flags: list[int]
    """The nodes of the elements that switch things on and off."""

    def node(self, line: int) -> int:
        return self.nodes[line - 1] if 0 < line <= len(self.nodes) else -1


def prepare(document: Document, tree: Tree, options: ReadOptions, collector: Collector) -> Prepared:
    """Everything MuJoCo needs of a document; what is left out is reported."""
    return _Preparer(document, options, collector).prepare(tree)


class _Preparer:
    def __init__(self, document: Document, options: ReadOptions, collector: Collector) -> None:
        self.document = document
        self.options = options
        self.report = collector.report
        self.assets: dict[str, bytes] = {}
        self.meshes: dict[str, MeshFile] = {}
        self.inlined: dict[str, Fragment] = {}
        self._seen: set[str] = set()
        self._unread: dict[tuple[str, str], list[int]] = {}

    def prepare(self, tree: Tree) -> Prepared:
        nodes = {element: number for number, element in enumerate(tree.iter())}
        root = self._piece(tree, nodes, self.document.location, -1)
        self._check_weight(root)
        compiler = {k: v for p in root.iter() if p.tag == "compiler" for k, v in p.attributes.items()}
        self._prune(root, within_default=False)
        for piece in root.iter():
            self._files(piece, compiler)
        spelled = " ".join(map(str, UNCOLOURED))
        root.children.insert(0, Fragment("default", {}, -1, [Fragment("geom", {"rgba": spelled}, -1)]))
        for (tag, attribute), found in self._unread.items():
            key = "MJ203.physics" if UNREAD[tag][attribute] else "MJ203"
            self.report(key, found[0], attribute=attribute, word=attribute, tag=tag, count=len(found))
        flags = [piece.node for piece in root.iter() if piece.tag == "flag"]
        lines: list[str] = []
        numbers: list[int] = []
        _lay(root, lines, numbers)
        return Prepared("\n".join(lines), numbers, self.assets, self.meshes, self.inlined, flags)

    def _check_weight(self, root: Fragment) -> None:
        """Raise Malformed where a few words ask MuJoCo for more than fits into any memory."""
        most = min(_MOST_MADE, self.options.limits.elements)
        heaviest = max(root.iter(), key=_made_of)
        if _weight(root) > most:
            scan = self.document.scan
            reason = f"<{heaviest.tag}> expands to more than {most} elements, which is the limit"
            raise MalformedError(reason, scan.position(scan.tag(max(heaviest.node, 0))), limit="elements")

    # --- includes -------------------------------------------------------------------------------------

    def _piece(self, element: Tree, nodes: dict[Tree, int], home: Location, within: int) -> Fragment:
        """An element and all below it; `within` is the node of the include that it is read for."""
        node = within if within >= 0 else nodes[element]
        made = Fragment(tag_as_written(element), {str(k): str(v) for k, v in element.attrib.items()}, node)
        for child in element:
            if child.tag == "include":
                made.children += self._included(child.get("file", ""), home, within if within >= 0 else nodes[child])
            else:
                made.children.append(self._piece(child, nodes, home, within))
        return made

    def _included(self, reference: str, home: Location, node: int) -> list[Fragment]:
        found = find_file(reference, home, self.options.paths).path
        if found is None:
            self.report("MJ104", node, attribute="file", file=reference, reason="file not found")
            return []
        path = str(found.resolve())
        if path in self._seen:
            self.report("MJ104.again", node, attribute="file", file=reference)
            return []
        self._seen.add(path)
        self.document.included.append(path)
        try:
            inner = Document(_bytes(found, self.options.limits.bytes), reference)
            root = inner.parse(self.options.limits)
        except (OSError, MalformedError) as problem:
            reason = problem.reason if isinstance(problem, MalformedError) else problem.strerror or str(problem)
            self.report("MJ104", node, attribute="file", file=reference, reason=reason)
            return []
        # MuJoCo looks for everything from the main document's folder.
        return self._piece(root, {}, home, node).children

    # --- what is left out -----------------------------------------------------------------------------

    def _prune(self, piece: Fragment, within_default: bool) -> None:
        kept: list[Fragment] = []
        for child in piece.children:
            left_out = LEFT_OUT.get(child.tag)
            if left_out is None or (left_out.within and piece.tag not in left_out.within):
                self._attributes(child)
                self._prune(child, within_default or child.tag == "default")
                kept.append(child)
            elif not within_default:
                for part in child.children if left_out.is_section else [child]:
                    named = part.attributes.get("name", "")
                    name = f" '{named}'" if named else ""
                    self.report(left_out.key, part.node, tag=part.tag, name=name, what=left_out.what)
        piece.children = kept

    def _attributes(self, piece: Fragment) -> None:
        for attribute in UNREAD.get(piece.tag, {}):
            if attribute in piece.attributes:
                self._unread.setdefault((piece.tag, attribute), []).append(piece.node)
                if attribute in WITHHELD:
                    del piece.attributes[attribute]
        if piece.tag == "material":
            piece.attributes.pop("texture", None)

    # --- files ----------------------------------------------------------------------------------------

    def _files(self, piece: Fragment, compiler: dict[str, str]) -> None:
        if piece.tag == "size":  # room for what no scene has is neither taken nor, for keyframes, filled
            piece.attributes = {name: value for name, value in piece.attributes.items() if name in _ROOM}
        if piece.tag == "compiler":
            for name in ("meshdir", "assetdir", "texturedir", "strippath", "discardvisual"):
                piece.attributes.pop(name, None)
        if piece.tag not in _ENDINGS:
            return
        reference = piece.attributes.pop("file", "")
        if not reference:
            if piece.tag == "mesh" and "vertex" in piece.attributes and "name" in piece.attributes:
                self.inlined[piece.attributes["name"]] = piece
            return
        name = piece.attributes.setdefault("name", posixpath.splitext(posixpath.basename(reference))[0])
        place = _place(piece.tag, reference, compiler)
        found = self._asset(piece, reference, place)
        if piece.tag == "mesh":  # without a file, where it was looked for has to be told
            self.meshes[name] = MeshFile(reference, str(found)) if found else MeshFile(place, None)
        if found is None and piece.tag == "mesh":
            piece.attributes = {"name": name, "vertex": _STAND_IN}
        elif found is None:
            piece.attributes |= {"nrow": "2", "ncol": "2"}

    def _asset(self, piece: Fragment, reference: str, place: str) -> Path | None:
        """Put a file among the assets; returns where it is, or None if it cannot be used."""
        found = find_file(place, self.document.location, self.options.paths)
        ending = os.path.splitext(reference)[1].lower()
        reason = "file not found" if found.path is None else ""
        if ending not in _ENDINGS[piece.tag]:
            reason = f"MuJoCo does not read {ending} files"
        if not reason and found.path is not None:
            try:
                data = _bytes(found.path, self.options.limits.mesh_bytes)
                if _pixels(data) > _MOST_SAMPLES:
                    raise OSError(0, f"the file has more than {_MOST_SAMPLES} samples, which is the limit")
                key = f"{len(self.assets)}{ending}"
                self.assets[key], piece.attributes["file"] = data, key
                return found.path
            except OSError as problem:
                reason = problem.strerror or str(problem)
        self.report("MJ105", piece.node, attribute="file", what=piece.tag, file=reference, reason=reason)
        return None


def _place(tag: str, reference: str, compiler: dict[str, str]) -> str:
    """Where MuJoCo looks for a file, from the document's folder."""
    written = posixpath.basename(reference) if compiler.get("strippath") == "true" else reference
    folder = compiler.get("meshdir" if tag == "mesh" else "assetdir", compiler.get("assetdir", ""))
    return posixpath.join(folder, written)


def _bytes(path: Path, most: int) -> bytes:
    data = read_at_most(path, most)
    if len(data) > most:
        raise OSError(0, f"the file has more than {most} bytes")
    return data


def _pixels(data: bytes) -> int:
    """How many a picture says it has, before anybody unpacks it; 0 if it is none."""
    if not data.startswith(b"\x89PNG\r\n\x1a\n"):
        return 0
    return int.from_bytes(data[16:20], "big") * int.from_bytes(data[20:24], "big")


def _made_of(piece: Fragment) -> float:
    """How many elements MuJoCo makes of one."""
    names, weight = _MULTIPLIED.get(piece.tag, ((), 1.0))
    words = [word for name in names for word in piece.attributes.get(name, "").split()]
    return max(1.0, weight * prod(max(1.0, abs(parse_decimal(word) or 0.0)) for word in words))


def _weight(root: Fragment) -> float:
    """How many elements MuJoCo makes of all there is; what stands in a multiplied element is multiplied with it."""
    return _made_of(root) * (1.0 + sum(map(_weight, root.children)))


def _lay(piece: Fragment, lines: list[str], nodes: list[int]) -> None:
    """One element a line; end tags stand on the last line of what they end."""
    spelled = "".join(f' {k}="{escape_attribute(v)}"' for k, v in piece.attributes.items())
    nodes.append(piece.node)
    lines.append(f"<{piece.tag}{spelled}" + (">" if piece.children else "/>"))
    for child in piece.children:
        _lay(child, lines, nodes)
    if piece.children:
        lines[-1] += f"</{piece.tag}>"
