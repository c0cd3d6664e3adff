"""The hostile files.  Each row creates its files in a folder and states the expected result of opening them."""

from __future__ import annotations

import gzip
import io
import json
import os
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.hostile import mesh_bombs
from tests.support import xode
from tests.support.geometry import TETRA
from tests.support.xml import body, joint, one_body, one_shape, skeleton, world

MEGA = 2**20
SECONDS = 10.0
"""Processor time of the child for files that are not large, so that a busy machine has no effect."""

Make = Callable[[Path], "str | bytes | None"]


class Hostile(NamedTuple):
    """A file: how to create it, its expected diagnostics, and its limits.

    `make` returns the content, or None if it has created the file, `scene.FORMAT`, itself.  `expect` are keys of
    diagnostics that must be reported; `loads` states whether a world is loaded.  `memory` in MiB is in addition to
    what the program needs without a file.  `secret` must not appear in anything that is printed.
    """

    make: Make
    expect: tuple[str, ...] = ()
    loads: bool = False
    format: str = "skel"
    seconds: float = SECONDS
    memory: int = 300
    secret: str = ""
    options: dict[str, object] = {}
    refused: str = ""
    """Part of the error message, if the file cannot be opened."""
    what: str = ""


def _mesh(reference: str) -> str:
    inner = f"<mesh><file_name>{reference}</file_name><scale>1 1 1</scale></mesh>"
    return one_shape(inner, "visualization_shape")


def _with(content: bytes | str, name: str) -> Make:
    """A scene with a mesh of some content beside it."""

    def make(folder: Path) -> str:
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return _mesh(name)

    return make


def _zeros(folder: Path) -> str:
    return str(_with(bytes(50 * MEGA), "a.obj")(folder))


def _text(content: str | bytes) -> Make:
    return lambda folder: content


SECRET = "root:x:0:0"

# --- documents ----------------------------------------------------------------------------------------

LAUGHS = "<!DOCTYPE skel [<!ENTITY a0 'ha'>{}]>".format(
    "".join(f"<!ENTITY a{i} '{f'&a{i - 1};' * 10}'>" for i in range(1, 10))
)
NAMED = '<skel version="1.0"><world name="{}">'


def _named(text: str) -> str:
    return one_body().replace('<world name="w">', f'<world name="{text}">')


def _million_attributes(folder: Path) -> str:
    crowd = " ".join(f'a{i}=""' for i in range(1_000_000))
    return one_body().replace('<body name="b">', f'<body name="b" {crowd}>')


def _zip(*names: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    return data.getvalue()


def _fifo(folder: Path) -> str:
    os.mkfifo(folder / "pipe.obj")
    return _mesh("pipe.obj")


def _link(target: str) -> Make:
    def make(folder: Path) -> str:
        (folder / "link.obj").symlink_to(target)
        return _mesh("link.obj")

    return make


def _outside(folder: Path) -> str:
    outside = folder.parent / "outside.obj"
    outside.write_text(TETRA)
    (folder / "link.obj").symlink_to(outside)
    return _mesh("link.obj")


DOCUMENTS = {
    "entity bomb": Hostile(_text(LAUGHS + one_body("<a>&a9;</a>")), ("SK007.entity",), what="ten entities, 10⁹ words"),
    "quadratic entities": Hostile(
        _text(f"<!DOCTYPE skel [<!ENTITY a '{'x' * 100_000}'>]>" + one_body("&a;" * 10_000)),
        ("SK007.entity",),
        what="one entity of 100 kB, used 10,000 times",
    ),
    "external entity": Hostile(
        _text("<!DOCTYPE skel [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>" + one_body("<a>&a;</a>")),
        ("SK007.entity",),
        secret=SECRET,
        what="an entity that is a file of the system",
    ),
    "external subset": Hostile(
        _text("<!DOCTYPE skel SYSTEM 'http://127.0.0.1:9/x.dtd'>" + one_body()),
        ("SK007.doctype",),
        loads=True,
        what="a document type to be fetched",
    ),
    "parameter entity": Hostile(
        _text("<!DOCTYPE skel [<!ENTITY % a SYSTEM 'file:///etc/passwd'> %a;]>" + one_body()),
        ("SK007.entity",),
        secret=SECRET,
        what="a parameter entity that is a file",
    ),
    "xinclude": Hostile(
        _text(
            one_body(
                '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="/etc/passwd" parse="text"/>'
            )
        ),
        ("SK010.prefixed",),
        loads=True,
        secret=SECRET,
        what="an inclusion by XInclude",
    ),
    "stylesheet": Hostile(
        _text('<?xml-stylesheet type="text/xsl" href="file:///etc/passwd"?>' + one_body()),
        loads=True,
        what="an instruction to transform it",
    ),
    "compressed bomb": Hostile(
        lambda folder: gzip.compress(b"<skel>" + b" " * 200 * MEGA), ("SK001.kind",), seconds=20, what="200 MB in 200 kB"
    ),
    "zip slip": Hostile(
        lambda folder: _zip("../../../evil", "/evil", "..\\evil"), ("SK001.kind",), what="an archive that climbs out"
    ),
    "a million attributes": Hostile(_million_attributes, ("SK001.limit",), memory=600),
    "depth 100,000": Hostile(_text(one_body("<a>" * 100_000 + "</a>" * 100_000)), ("SK001.limit",)),
    "unclosed depth": Hostile(_text("<skel>" + "<a>" * 1_000_000), ("SK001",), seconds=20, memory=1000),
    "one number of 100 MB": Hostile(
        lambda folder: one_body("<transformation>0 0 " + "1" * 100 * 10**6 + " 0 0 0</transformation>"),
        ("SK026.overflow",),
        loads=True,
        seconds=60,
        memory=1500,
    ),
    "100 MB of decimal digits": Hostile(
        lambda folder: one_body("<transformation>0 0 0." + "1" * 100 * 10**6 + " 0 0 0</transformation>"),
        (),
        loads=True,
        seconds=60,
        memory=1500,
    ),
    "10 MB of numbers": Hostile(
        lambda folder: one_body("<transformation>" + "1 " * 5 * 10**6 + "</transformation>"),
        ("SK024",),
        loads=True,
        seconds=30,
        memory=1500,
    ),
    "a name of 100 MB": Hostile(
        lambda folder: _named("x" * 100 * 10**6), loads=True, seconds=60, memory=2000
    ),
    "100 MB of line ends": Hostile(lambda folder: b"\n" * 100 * 10**6 + one_body().encode(), (), loads=True, seconds=60, memory=2500),
    "only NUL bytes": Hostile(lambda folder: b"\0" * 100 * 10**6, ("SK001.kind",), memory=500),
    "NUL in the middle": Hostile(_text(one_body("<a>\0</a>")), ("SK001.kind",)),
    "NUL at the beginning": Hostile(_text(b"\0" + one_body().encode()), ("SK001",)),
    "UTF-16 declared as UTF-8": Hostile(
        lambda folder: ('<?xml version="1.0" encoding="UTF-8"?>' + one_body()).encode("utf-16"), ("SK008",), loads=True
    ),
    "UTF-8 declared as UTF-16": Hostile(
        _text('<?xml version="1.0" encoding="UTF-16"?>' + one_body()), (), loads=True
    ),
    "two encodings": Hostile(
        lambda folder: ('<?xml version="1.0" encoding="UTF-8"?>' + _named("é")).encode("latin-1"), ("SK001",)
    ),
    "an encoding that is not for text": Hostile(_text('<?xml version="1.0" encoding="zip"?>' + one_body()), ("SK001",)),
    "a Python-only encoding": Hostile(
        _text('<?xml version="1.0" encoding="unicode_escape"?>' + one_body()), ("SK001",)
    ),
    "overlong UTF-8": Hostile(lambda folder: _named("\x01").encode().replace(b"\x01", b"\xc0\xaf"), ("SK001",)),
    "a lone surrogate": Hostile(lambda folder: _named("\ud800").encode("utf-8", "surrogatepass"), ("SK001",)),
    "a reference to a surrogate": Hostile(_text(_named("&#xD800;")), ("SK001",)),
    "a character reference beyond Unicode": Hostile(_text(_named("&#x110000;")), ("SK001",)),
    "terminal control characters": Hostile(_text(_named("\x1b[2J\x07")), ("SK001",)),
    "C1 control characters": Hostile(_text(one_body("<a\u00b7b/>").replace("a\u00b7b", "a").replace('name="s"', 'name="\u009b2J\u009d0;x\u009c"')), ("SK010",), loads=True),
    "bidirectional control characters": Hostile(
        _text(one_body("<odd/>").replace('name="s"', 'name="\u202egnp.\u2066x"')), ("SK010",), loads=True
    ),
    "a name that is a path": Hostile(
        _text(one_body().replace('name="b"', 'name="../../../../tmp/evil"').replace(">b<", ">../../../../tmp/evil<")),
        (),
        loads=True,
    ),
    "names that are markup": Hostile(
        _text(one_body().replace('name="s"', 'name="[bold red]x[/] &lt;script&gt;"')), (), loads=True
    ),
    "five million opening brackets": Hostile(_text("<" * 5_000_000), ("SK001",), seconds=30),
    "quotes that never close": Hostile(_text('<skel version="' + "<a " * 1_000_000), ("SK001",), seconds=30, memory=1000),
    "a comment that never closes": Hostile(_text(one_body()[:-7] + "<!-- " * 1_000_000), ("SK001",), seconds=30),
    "a declaration that never closes": Hostile(_text("<!DOCTYPE skel [" + "<!-- ' -->" * 300_000), ("SK001",), seconds=30),
    "a million comments": Hostile(_text(one_body("<!-- -->" * 1_000_000)), loads=True, seconds=30, memory=1000),
    "a million namespaces": Hostile(
        lambda folder: one_body("".join(f'<n{i}:a xmlns:n{i}="u{i}"/>' for i in range(100_000))),
        ("SK010.prefixed",),
        loads=True,
        seconds=30,
        memory=1500,
    ),
}  # fmt: skip

# --- numbers ------------------------------------------------------------------------------------------


def _pose(numbers: str) -> str:
    return one_body(f"<transformation>{numbers}</transformation>")


NUMBERS = {
    "a huge number": Hostile(_text(_pose("1e308 1e308 1e308 0 0 0")), loads=True),
    "a number that overflows": Hostile(_text(_pose("1e400 0 0 0 0 0")), ("SK026.overflow",), loads=True),
    "a subnormal number": Hostile(_text(_pose("5e-324 2.2250738585072011e-308 0 0 0 0")), loads=True),
    "an exponent of a million digits": Hostile(
        _text(_pose("1e" + "9" * 1_000_000 + " 0 0 0 0 0")), ("SK026.overflow",), loads=True
    ),
    "a decimal comma": Hostile(_text(_pose("1,5 0 0 0 0 0")), ("SK023",), loads=True),
    "digits of other scripts": Hostile(_text(_pose("١ ٢ ٣ 0 0 0")), ("SK022",), loads=True),
    "underscores and hex": Hostile(_text(_pose("1_0 0x10 0 0 0 0")), ("SK023",), loads=True),
    "NaN and infinity": Hostile(_text(_pose("nan inf -inf 0 0 0")), ("SK026",), loads=True),
    "a huge count": Hostile(
        _text(
            one_body(
                "<soft_shape><total_mass>1</total_mass><geometry><sphere><radius>1</radius>"
                "<num_slices>2147483647</num_slices><num_stacks>2147483647</num_stacks></sphere></geometry></soft_shape>"
            )
        ),
        ("SK023.count",),
        loads=True,
    ),
    "a huge index": Hostile(
        _text(one_body(joint_inner='<dof local_index="99999999999999999999"/>')), ("SK084.range",), loads=True
    ),
    "a mass that overflows": Hostile(
        _text(one_body("<inertia><mass>1e300</mass></inertia>" + "<collision_shape><geometry><box><size>1e300 1e300 1e300</size></box></geometry></collision_shape>")),
        ("SK055.overflow",),
        loads=True,
    ),
}  # fmt: skip

# --- topology -----------------------------------------------------------------------------------------


def _ring(count: int) -> str:
    bodies = "".join(body(name=f"b{i}") for i in range(count))
    joints = "".join(joint("", "ball", f"j{i}", f"b{i}", f"b{(i + 1) % count}") for i in range(count))
    return world(skeleton(bodies + joints))


def _tower(count: int) -> str:
    bodies = "".join(body(name=f"b{i}") for i in range(count))
    joints = "".join(joint("", "ball", f"j{i}", f"b{i - 1}" if i else "world", f"b{i}") for i in range(count))
    return world(skeleton(bodies + joints))


TOPOLOGY = {
    "a body that is its own parent": Hostile(_text(one_body().replace(">world<", ">b<")), ("SK073.self",), loads=True),
    "a cycle of bodies": Hostile(_text(_ring(3)), ("SK073.cycle",), loads=True),
    "a cycle of 20,000 bodies": Hostile(lambda folder: _ring(20_000), ("SK073.cycle",), loads=True, seconds=30),
    "a chain of 20,000 bodies": Hostile(lambda folder: _tower(20_000), loads=True, seconds=30),
    "a joint to a missing body": Hostile(_text(one_body().replace(">b<", ">x<")), ("SK071.child",), loads=True),
    "a joint without a child": Hostile(_text(one_body().replace("<child>b</child>", "")), ("SK020",), loads=True),
    "a joint without a type": Hostile(_text(one_body().replace(' type="free"', "")), ("SK070.missing",), loads=True),
    "two parents": Hostile(
        _text(world(skeleton(body() + joint() + joint(name="k")))), ("SK072",), loads=True
    ),
    "ten thousand bodies of one name": Hostile(
        lambda folder: world(skeleton((body() + joint()) * 10_000)), ("SK040.repeated",), loads=True, seconds=30
    ),
    "a world in a world": Hostile(
        _text(world(world())), ("SK010",), loads=True
    ),
    "a shape without a geometry": Hostile(
        _text(one_body("<collision_shape/>")), ("SK060.none",), loads=True
    ),
    "five numbers instead of six": Hostile(_text(_pose("0 0 0 0 0")), ("SK024",), loads=True),
    "an empty value": Hostile(_text(_pose("")), ("SK021",), loads=True),
    "too many initial positions": Hostile(
        _text(one_body(joint_inner="<init_pos>" + "0 " * 1000 + "</init_pos>")), ("SK080",), loads=True
    ),
}  # fmt: skip

# --- meshes -------------------------------------------------------------------------------------------

STL = b"\0" * 80 + struct.pack("<I", 2**32 - 1) + b"\0" * 50
PLY = (
    b"ply\nformat binary_little_endian 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
    b"element face 2147483648\nproperty list uchar int vertex_indices\nend_header\n" + b"\0" * 36
)
DAE = """<?xml version="1.0"?>{}<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<library_geometries><geometry id="g"><mesh><source id="s"><float_array id="f" count="{}">{}</float_array>
<technique_common><accessor source="#f" count="3" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source><vertices id="v"><input semantic="POSITION" source="#s"/>
</vertices><triangles count="{}"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2</p></triangles></mesh></geometry>
</library_geometries><library_visual_scenes><visual_scene id="x"><node><instance_geometry url="#g"/></node></visual_scene>
</library_visual_scenes><scene><instance_visual_scene url="#x"/></scene></COLLADA>"""
VERTICES = "0 0 0 1 0 0 0 1 0"


def _glb(tree: dict[str, object], binary: bytes = b"") -> bytes:
    text = json.dumps(tree).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<II", len(text), 0x4E4F534A) + text
    if binary:
        chunks += struct.pack("<II", len(binary), 0x004E4942) + binary
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


def _gltf(accessor: dict[str, object], buffer: dict[str, object]) -> bytes:
    tree: dict[str, object] = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "type": "VEC3", **accessor}],
        "bufferViews": [{"buffer": 0, "byteLength": 36}],
        "buffers": [buffer],
    }
    return _glb(tree, b"\0" * 36)


UNREADABLE = ("SK063.visual",)

MESHES = {
    "2³² faces in an STL": Hostile(_with(STL, "a.stl"), UNREADABLE, loads=True),
    "2³¹ faces in a PLY": Hostile(_with(PLY, "a.ply"), UNREADABLE, loads=True),
    "2³¹ faces in an OFF": Hostile(
        _with("OFF\n3 2147483648 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n", "a.off"), (), loads=True
    ),
    "2³¹ vertices in an OFF": Hostile(_with("OFF\n2147483648 1 0\n0 0 0\n", "a.off"), UNREADABLE, loads=True),
    "a face of missing vertices": Hostile(
        _with("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 2147483647\n", "a.obj"), UNREADABLE, loads=True
    ),
    "a face of vertex -9": Hostile(
        _with("v 0 0 0\nv 1 0 0\nv 0 1 0\nf -9 -8 -7\n", "a.obj"), UNREADABLE, loads=True
    ),
    "a material that is a file": Hostile(
        _with("mtllib /etc/passwd\n" + TETRA, "a.obj"), (), loads=True, secret=SECRET
    ),
    "2³¹ triangles in a COLLADA": Hostile(
        _with(DAE.format("", 9, VERTICES, 2147483648), "a.dae"), (), loads=True
    ),
    "an entity bomb in a COLLADA": Hostile(
        _with(DAE.format(LAUGHS.replace("skel", "COLLADA"), 9, "&a9;", 1), "a.dae"), UNREADABLE, loads=True
    ),
    "an external entity in a COLLADA": Hostile(
        _with(
            DAE.format("<!DOCTYPE COLLADA [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>", 9, "&a;", 1), "a.dae"
        ),
        UNREADABLE,
        loads=True,
        secret=SECRET,
    ),
    "depth 100,000 in a COLLADA": Hostile(
        _with("<COLLADA>" + "<node>" * 100_000 + "</node>" * 100_000 + "</COLLADA>", "a.dae"), UNREADABLE, loads=True
    ),
    "2³¹ vertices in a GLB": Hostile(
        _with(_gltf({"count": 2**31}, {"byteLength": 36}), "a.glb"), UNREADABLE, loads=True
    ),
    "a GLB with a buffer in another file": Hostile(
        _with(_gltf({"count": 3}, {"byteLength": 36, "uri": "../../../../etc/passwd"}), "a.glb"),
        UNREADABLE,
        loads=True,
        secret=SECRET,
    ),
    "a GLB that contains itself": Hostile(
        _with(
            _glb({"asset": {"version": "2.0"}, "scenes": [{"nodes": [0]}], "scene": 0, "nodes": [{"children": [0]}]}),
            "a.glb",
        ),
        UNREADABLE,
        loads=True,
    ),
    "a mesh in an archive": Hostile(_with(_zip("../a.obj"), "a.zip"), UNREADABLE, loads=True),
    "a mesh of zeros": Hostile(_zeros, UNREADABLE, loads=True, seconds=60, memory=1500),
    "an endless mesh": Hostile(lambda folder: _mesh("/dev/zero"), UNREADABLE, loads=True),
    "a mesh that is a pipe": Hostile(_fifo, UNREADABLE, loads=True),
    "a mesh that is a folder": Hostile(lambda folder: _mesh("/etc"), UNREADABLE, loads=True),
    "a mesh in /proc": Hostile(
        lambda folder: (folder / "a.obj").symlink_to("/proc/self/pagemap") or _mesh("a.obj"), UNREADABLE, loads=True, memory=1300, seconds=30
    ),
    "a mesh that is process memory": Hostile(lambda folder: _mesh("/proc/self/mem"), UNREADABLE, loads=True),
    "an absolute path": Hostile(
        lambda folder: _mesh("/etc/passwd"), ("SK064.absolute", *UNREADABLE), loads=True, secret=SECRET
    ),
    "a path with ..": Hostile(
        lambda folder: _mesh("../../../../../../../../etc/passwd"), UNREADABLE, loads=True, secret=SECRET
    ),
    "a path with .., confined": Hostile(
        lambda folder: _mesh("../../../../../../../../etc/passwd"),
        ("SK064.outside",),
        loads=True,
        options={"confine": True},
    ),
    "a link to another folder, confined": Hostile(
        _outside, ("SK064.outside",), loads=True, options={"confine": True}
    ),
    "an absolute path, confined": Hostile(
        lambda folder: _mesh("/etc/passwd"), ("SK064.outside",), loads=True, options={"confine": True}
    ),
    "a link to a device": Hostile(_link("/dev/zero"), UNREADABLE, loads=True),
    "a link to itself, as a mesh": Hostile(_link("link.obj"), UNREADABLE, loads=True),
    "a UNC path": Hostile(lambda folder: _mesh(r"\\server\share\a.obj"), UNREADABLE, loads=True),
    "a file: URI": Hostile(
        lambda folder: _mesh("file:///etc/passwd"), UNREADABLE, loads=True, secret=SECRET
    ),
    "a file: URI with a host": Hostile(
        lambda folder: _mesh("file://server/share/a.obj"), ("SK064.foreign_file_uri",), loads=True
    ),
    "a remote URI": Hostile(lambda folder: _mesh("http://127.0.0.1:9/a.obj"), ("SK064.scheme",), loads=True),
    "a sample URI with ..": Hostile(
        lambda folder: _mesh("dart://sample/../../../../../etc/passwd"), ("SK064.scheme",), loads=True
    ),
    "a package URI with .., confined": Hostile(
        lambda folder: _mesh("package://arm/../../../../etc/passwd"), ("SK064.outside",), loads=True,
        options={"confine": True, "package_path": ["."]},
    ),
    "a file name with a NUL": Hostile(lambda folder: _mesh("a%00.obj"), UNREADABLE, loads=True),
    "a file name of a megabyte": Hostile(lambda folder: _mesh("a" * MEGA + ".obj"), UNREADABLE, loads=True),
}  # fmt: skip

# --- XODE ---------------------------------------------------------------------------------------------


def _comment(inner: str) -> str:
    return xode.scene(xode.body()) + f"<!--odeenvironment parameters\n{inner}\n-->"


def _grid(count: int) -> str:
    return xode.scene(xode.geom(xode.trimesh(3, [(1, 2, count)])))


XODES = {
    "entity bomb in XODE": Hostile(
        _text(LAUGHS.replace("DOCTYPE skel", "DOCTYPE xode") + xode.scene(xode.body("&a9;"))), ("X105.entity",), format="xode"
    ),
    "depth 100,000 in XODE": Hostile(
        _text(xode.scene("<group>" * 100_000 + "</group>" * 100_000)), ("X101.limit",), format="xode"
    ),
    "a mesh with a missing vertex": Hostile(lambda folder: _grid(2**31), ("X701",), format="xode", loads=True),
    "90 nested bodies with transforms": Hostile(
        _text(xode.scene("<body><transform>" * 90 + "</transform></body>" * 90)), ("X201",), format="xode", loads=True
    ),
    "a program in PyBrain's comment": Hostile(
        _text(_comment("<passpairs>\n__import__('os').system('touch evil')\n<end>")), ("X905",), format="xode", loads=True
    ),
    "depth 100,000 in PyBrain's comment": Hostile(
        _text(_comment("<passpairs>\n" + "[" * 100_000 + "]" * 100_000 + "\n<end>")), ("X905",), format="xode", loads=True
    ),
    "depth 3,000 in PyBrain's comment": Hostile(
        _text(_comment("<passpairs>\n" + "(" * 3_000 + ")" * 3_000 + "\n<end>")), ("X905",), format="xode", loads=True
    ),
    "a number of 9,000 digits in PyBrain's comment": Hostile(
        _text(_comment("<colors>\n('b', (" + "9" * 9_000 + ", 0, 0))\n<end>")), ("X905",), format="xode", loads=True
    ),
    "a power in PyBrain's comment": Hostile(
        _text(_comment("<passpairs>\n9**9**9**9\n<end>")), ("X905",), format="xode", loads=True
    ),
    "a hundred thousand lines in PyBrain's comment": Hostile(
        _text(_comment("<passpairs>\n" + "x\n" * 100_000 + "<end>")), ("X905",), format="xode", loads=True, seconds=30
    ),
}  # fmt: skip

# --- the living formats -------------------------------------------------------------------------------

URDF = '<robot name="r"><link name="a">{}</link></robot>'
SDF = '<sdf version="1.10"><model name="m"><link name="a">{}</link></model></sdf>'
MJCF = "<mujoco><worldbody>{}</worldbody></mujoco>"
BODY = '<body name="b"><freejoint/><geom size="1"/></body>'


def _include(name: str, inner: str) -> Make:
    """An SDF document that includes others, which it makes."""

    def make(folder: Path) -> str:
        (folder / "a.sdf").write_text(
            f'<sdf version="1.10"><model name="a"><include><uri>{inner}</uri></include></model></sdf>'
        )
        (folder / "b.sdf").write_text(
            '<sdf version="1.10"><model name="b"><include><uri>a.sdf</uri></include></model></sdf>'
        )
        return f'<sdf version="1.10"><model name="m"><include><uri>{name}</uri></include></model></sdf>'

    return make


def _repeated_include(folder: Path) -> str:
    """A model with 30,000 links, included 340 times."""
    links = "".join(f'<link name="a{i}"/>' for i in range(30_000))
    (folder / "a.sdf").write_text(f'<sdf version="1.10"><model name="m">{links}</model></sdf>')
    includes = "".join(f"<include><uri>a.sdf</uri><name>m{i}</name></include>" for i in range(340))
    return f'<sdf version="1.10"><world name="w">{includes}</world></sdf>'


def _constrained(section: str, tag: str) -> str:
    """1,000 bodies, and 18,000 elements that each name two of them."""
    bodies = "".join(f'<body name="b{i}"><freejoint/><geom size="1"/></body>' for i in range(1000))
    pairs = ((i % 1000, (i * 7 + i // 1000 + 1) % 1000) for i in range(18_000))
    rows = "".join(f'<{tag} body1="b{one}" body2="b{other}"/>' for one, other in pairs if one != other)
    return f"<mujoco><worldbody>{bodies}</worldbody><{section}>{rows}</{section}></mujoco>"


def _tree_of_includes(folder: Path) -> str:
    """Twenty files, each of which includes the next one three times: three billion models."""
    for i in range(20):
        inner = f"<include><uri>{i + 1}.sdf</uri></include>" * 3 if i < 19 else '<link name="a"/>'
        (folder / f"{i}.sdf").write_text(f'<sdf version="1.10"><model name="m{i}">{inner}</model></sdf>')
    return '<sdf version="1.10"><world name="w"><include><uri>0.sdf</uri></include></world></sdf>'


def _mjcf_include(folder: Path) -> str:
    (folder / "a.xml").write_text('<mujoco><include file="a.xml"/><include file="b.xml"/></mujoco>')
    (folder / "b.xml").write_text('<mujoco><include file="a.xml"/></mujoco>')
    return f'<mujoco><include file="a.xml"/><worldbody>{BODY}</worldbody></mujoco>'


OTHERS = {
    "entity bomb in URDF": Hostile(
        _text(LAUGHS.replace("DOCTYPE skel", "DOCTYPE robot") + URDF.format("&a9;")), ("UR003.entity",), format="urdf"
    ),
    "depth 100,000 in URDF": Hostile(
        _text(URDF.format("<a>" * 100_000 + "</a>" * 100_000)), ("UR001.limit",), format="urdf"
    ),
    "a chain of 5,000 links in URDF": Hostile(
        lambda folder: '<robot name="r">'
        + "".join(f'<link name="l{i}"/>' for i in range(5_000))
        + "".join(
            f'<joint name="j{i}" type="fixed"><parent link="l{i}"/><child link="l{i + 1}"/></joint>'
            for i in range(4_999)
        )
        + "</robot>",
        loads=True,
        format="urdf",
        seconds=30,
    ),
    "a mesh in another folder in URDF": Hostile(
        _text(URDF.format('<visual><geometry><mesh filename="file:///etc/passwd"/></geometry></visual>')),
        ("UR405.lost",),
        loads=True,
        format="urdf",
        secret=SECRET,
    ),
    "entity bomb in SDFormat": Hostile(
        _text(LAUGHS.replace("DOCTYPE skel", "DOCTYPE sdf") + SDF.format("&a9;")), ("SD004.entity",), format="sdf"
    ),
    "depth 100,000 in SDFormat": Hostile(
        _text(SDF.format("<a>" * 100_000 + "</a>" * 100_000)), ("SD001.limit",), format="sdf"
    ),
    "150 nested models in SDFormat": Hostile(
        _text('<sdf version="1.10">' + '<model name="m">' * 150 + '<link name="a"/>' + "</model>" * 150 + "</sdf>"),
        ("SD070.default",),
        loads=True,
        format="sdf",
    ),
    "a file that includes itself": Hostile(_include("a.sdf", "a.sdf"), ("SD040.circle",), format="sdf", loads=True),
    "files that include each other": Hostile(_include("a.sdf", "b.sdf"), ("SD040.circle",), format="sdf", loads=True),
    "three billion models": Hostile(_tree_of_includes, ("SD040.many",), format="sdf", loads=True, seconds=30, memory=1000),
    "ten million included links": Hostile(_repeated_include, ("SD040.many",), format="sdf", loads=True, seconds=30, memory=1000),
    "an include with ..": Hostile(
        _include("../../../../../../../../etc/passwd", "x"), ("SD040.empty",), format="sdf", loads=True, secret=SECRET
    ),
    "a remote include": Hostile(_include("http://127.0.0.1:9/a", "x"), ("SD040.remote",), format="sdf", loads=True),
    "entity bomb in MJCF": Hostile(
        _text(LAUGHS.replace("DOCTYPE skel", "DOCTYPE mujoco") + MJCF.format("&a9;")), ("MJ103.entity",), format="mjcf"
    ),
    "depth 100,000 in MJCF": Hostile(
        _text(MJCF.format("<body>" * 100_000 + "</body>" * 100_000)), ("MJ101.limit",), format="mjcf"
    ),
    "depth 5,000 in MJCF": Hostile(_text(MJCF.format("<body>" * 5_000 + "</body>" * 5_000)), ("MJ101.limit",), format="mjcf"),
    "an include of itself in MJCF": Hostile(_mjcf_include, ("MJ104.again",), format="mjcf", loads=True),
    "an include with .. in MJCF": Hostile(
        _text(f'<mujoco><include file="../../../../../../../etc/passwd"/><worldbody>{BODY}</worldbody></mujoco>'),
        ("MJ104",),
        format="mjcf",
        loads=True,
        secret=SECRET,
    ),
    "a mesh that is process memory in MJCF": Hostile(
        _text(
            '<mujoco><asset><mesh name="m" file="/proc/self/mem"/></asset><worldbody>'
            '<body><freejoint/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>'
        ),
        ("MJ105",),
        format="mjcf",
        loads=True,
    ),
    "a plugin in MJCF": Hostile(
        _text(
            '<mujoco><extension><plugin plugin="../../evil.so"/></extension>' + MJCF.format(BODY)[len("<mujoco>") :]
        ),
        ("MJ202",),
        format="mjcf",
        loads=True,
    ),
    "a request for 900 GB in MJCF": Hostile(
        _text('<mujoco><size memory="900G"/>' + MJCF.format(BODY)[len("<mujoco>") :]), ("MJ106",), format="mjcf", memory=1000
    ),
    "a height field of 2³⁰ points in MJCF": Hostile(
        _text(
            '<mujoco><asset><hfield name="h" nrow="32768" ncol="32768" size="1 1 1 1"/></asset>'
            + MJCF.format('<geom type="hfield" hfield="h"/>')[len("<mujoco>") :]
        ),
        ("MJ101.limit",),
        format="mjcf",
        memory=2000,
    ),
    "10⁹ replicas in MJCF": Hostile(
        _text(MJCF.format('<replicate count="1000000000"><geom size="1"/></replicate>')), ("MJ101.limit",), format="mjcf", memory=2000, seconds=10
    ),
    "a cable of 10⁹ bodies in MJCF": Hostile(
        _text(MJCF.format('<composite type="cable" count="1000000000 1 1" size="1"><geom type="capsule" size=".1"/></composite>')),
        ("MJ101.limit",),
        format="mjcf",
        memory=2000,
        seconds=60,
    ),
    "18,000 exclusions in MJCF": Hostile(_text(_constrained("contact", "exclude")), ("MJ308.exclude",), format="mjcf", loads=True, seconds=30),
    "18,000 welds in MJCF": Hostile(_text(_constrained("equality", "weld")), format="mjcf", loads=True, seconds=30),
}  # fmt: skip

# --- what is no scene at all --------------------------------------------------------------------------


def _special(make: Callable[[Path], None]) -> Make:
    def made(folder: Path) -> None:
        make(folder / "scene.skel")

    return made


OPENING = {
    "a folder": Hostile(_special(lambda path: path.mkdir()), refused="directory"),
    "a link to a missing file": Hostile(_special(lambda path: path.symlink_to("nothing")), refused="no such file"),
    "a link to itself": Hostile(_special(lambda path: path.symlink_to(path.name)), refused="symbolic links"),
    "an endless file": Hostile(
        _special(lambda path: path.symlink_to("/dev/zero")), ("SK001.kind",), seconds=30, memory=2200
    ),
    "process memory": Hostile(_special(lambda path: path.symlink_to("/proc/self/mem")), refused="cannot read"),
    "an empty file": Hostile(_text(b""), ("SK001.kind",)),
    "a socket": Hostile(
        _special(lambda path: __import__("socket").socket(__import__("socket").AF_UNIX).bind(str(path)[-100:]) if len(str(path)) < 100 else path.mkdir()), refused="cannot read"
    ),
}  # fmt: skip


def _bomb(kind: str, make: Callable[[], bytes]) -> Hostile:
    def scene(folder: Path) -> str | bytes | None:
        return _with(make(), f"a.{kind}")(folder)

    return Hostile(scene, loads=True, seconds=30.0, memory=1000)


BOMBS = {f"{kind.upper()}: {name}": _bomb(kind, make) for name, (kind, make) in mesh_bombs.BOMBS.items()}
"""Each is answered within 10 s and 1 GB; the rest of the time is for slow machines."""

HOSTILE = {**DOCUMENTS, **NUMBERS, **TOPOLOGY, **MESHES, **BOMBS, **XODES, **OTHERS, **OPENING}


def make(name: str, folder: Path) -> Path:
    """Create the files of a row in an empty folder; returns the one to open."""
    row = HOSTILE[name]
    folder.mkdir(parents=True)
    path = folder / f"scene.{row.format}"
    content = row.make(folder)
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    return path
