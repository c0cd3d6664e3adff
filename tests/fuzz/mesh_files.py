"""The target for mesh files: an input is a line with the extension, followed by the content of the file."""

from __future__ import annotations

import json
import random
import re
import struct
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.fuzz.mutate import scramble_bytes
from tests.hostile import mesh_bombs

_DOCUMENT = (
    '<robot name="r"><link name="b"><visual><geometry><mesh filename="a.{}"/></geometry></visual></link></robot>'
)
_TARGETS = ("sdf", "skel", "mjcf", "usd", "gltf", "xode")
_CONVERTED = 40
"""One in this many inputs is converted, with its mesh copied or inlined."""


def seeds() -> Iterator[bytes]:
    """Small files of all formats, with all the structures that could multiply their content."""
    import trimesh

    box = trimesh.creation.box()
    for kind in ("obj", "stl", "stl_ascii", "ply", "off", "dae", "glb"):
        made = box.export(file_type=kind)
        yield _join(kind[:3], made if isinstance(made, bytes) else str(made).encode())
    yield _join("obj", b"v 0 0 0 1 0 0\nv 1 0 0 0 1 0\nv 0 1 0 0 0 1\nusemtl a\nf 1 2 3\nusemtl b\no x\ng y\nf 3 2 1\n")
    yield _join("obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nvn 0 0 1\nvt 0 0\nf 1/1/1 2/1/1 3/1/1\nf 1//1 2//1 3//1 1//1\n")
    yield _join("dae", mesh_bombs.doubled_nodes(3))
    yield _join(
        "dae",
        mesh_bombs.dae(f"<node>{mesh_bombs.USE}</node>", geometries=mesh_bombs.geometry(mesh_bombs.polygons("3"))),
    )
    yield _join("glb", mesh_bombs.glb_mesh([mesh_bombs.accessor(3)], struct.pack("<9f", *range(9)), 3))
    strided: list[dict[str, object]] = [{"buffer": 0, "byteLength": 36, "byteStride": 12}]
    chain: list[dict[str, object]] = [{"mesh": 0, "children": [1]}, {"mesh": 0}]
    yield _join("glb", mesh_bombs.glb_mesh([mesh_bombs.accessor(3)], struct.pack("<9f", *range(9)), 1, chain, strided))
    yield _join(
        "stl",
        b"solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid a\n"
        * 2,
    )


def _join(kind: str, content: bytes) -> bytes:
    return kind.encode() + b"\n" + content


# --- mutations ----------------------------------------------------------------------------------------


_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
_WORDS = (
    b"nan",
    b"1e999",
    b"-1",
    b"0",
    b"999999999",
    b"2147483648",
    b"99999999999999999999",
    b"1e-320",
    b"2",
    b"7",
    b"a",
)


def mutate(data: bytes, rng: random.Random, other: bytes = b"") -> bytes:
    """Change numbers, repeat lines and elements, and change bytes; of a GLB file, mostly its JSON."""
    kind, _, content = data.partition(b"\n")
    for _ in range(rng.choice((0, 1, 1, 1, 2))):
        content = _mutate_glb(content, rng) if kind == b"glb" and rng.random() < 0.8 else _mutate_text(content, rng)
    return kind + b"\n" + content


def _mutate_text(content: bytes, rng: random.Random) -> bytes:
    chance = rng.random()
    found = [*_NUMBER.finditer(content)] if chance < 0.5 else []
    if found:
        one = rng.choice(found)
        return content[: one.start()] + rng.choice(_WORDS) + content[one.end() :]
    if chance < 0.85:
        separator = b">" if content.startswith(b"<") else b"\n"
        parts = content.split(separator)
        at = rng.randrange(len(parts))
        end = min(len(parts), at + rng.choice((1, 1, 3, 8)))
        parts[at:end] = parts[at:end] * rng.choice((0, 2, 2, 5, 40))
        return separator.join(parts)
    return scramble_bytes(content, rng)


def _mutate_glb(content: bytes, rng: random.Random) -> bytes:
    """Change a value or repeat a row in the JSON of a file, with correct lengths."""
    length = int.from_bytes(content[12:16], "little")
    try:
        header = json.loads(content[20 : 20 + length])
    except ValueError:
        return scramble_bytes(content, rng)
    _change(header, rng)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 4)
    rest = content[20 + length :]
    return content[:8] + struct.pack("<II", 20 + len(text) + len(rest), len(text)) + content[16:20] + text + rest


def _change(value: object, rng: random.Random) -> None:
    if isinstance(value, list) and value and rng.random() < 0.3:
        value *= rng.choice((0, 2, 2, 10, 60))
    elif isinstance(value, dict | list) and value:
        key = rng.choice([*value] if isinstance(value, dict) else [*range(len(value))])
        if isinstance(value[key], dict | list) and value[key]:  # type: ignore[index, call-overload]
            _change(value[key], rng)  # type: ignore[index, call-overload]
        else:
            value[key] = rng.choice((0, 1, 2, 3, -1, 10**6, 2**31, 10**30, 1.5, "1", None, [], [3, 3], {}, True))  # type: ignore[index, call-overload]


# --- the pipeline -------------------------------------------------------------------------------------


@cache
def _folder() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="exoskel_fuzz_")


def run(data: bytes) -> int:
    """Load a document with this mesh, format its diagnostics, and convert some of them."""
    import exoskel
    from exoskel.source.meshes import MeshError, load_colored_triangles
    from tests.fuzz.targets import MALFORMED, READ, is_sampled

    kind, _, content = data.partition(b"\n")
    extension = kind.decode("ascii", "replace") if kind.isalpha() else "obj"
    folder = Path(_folder().name)
    (folder / f"a.{extension}").write_bytes(content)
    (folder / "document.urdf").write_text(_DOCUMENT.format(extension), encoding="utf-8")
    scene = exoskel.load(folder / "document.urdf", confine=True)
    assert scene.worlds
    assert all(str(finding) for finding in scene.diagnostics)
    try:
        vertices, faces, colors = load_colored_triangles(folder / f"a.{extension}")
    except MeshError:
        return MALFORMED
    assert 0 <= faces.min() <= faces.max() < len(vertices)
    assert colors is None or len(colors) == len(vertices)
    if is_sampled(data, _CONVERTED):
        for to in _TARGETS:
            with suppress(exoskel.ExoskelError):  # a number that the format cannot express
                exoskel.convert(scene, None, to=to, meshes="copy")
    return READ
