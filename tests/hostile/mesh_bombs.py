"""Mesh files of less than 1 MB that need very much time or memory to read."""

from __future__ import annotations

import base64
import json
import random
import struct
import zipfile
import zlib
from collections.abc import Callable
from io import BytesIO

MEGA = 2**20

DAE = """<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit meter="1"/><up_axis>Z_UP</up_axis></asset>
<library_geometries>{geometries}</library_geometries>
<library_nodes>{nodes}</library_nodes>
<library_visual_scenes><visual_scene id="S">{scene}</visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#S"/></scene></COLLADA>"""

GEOMETRY = """<geometry id="{id}"><mesh><source id="{id}-s"><float_array id="{id}-f" count="9">0 0 0 1 0 0 0 1 0</float_array>
<technique_common><accessor source="#{id}-f" count="3" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="{id}-v"><input semantic="POSITION" source="#{id}-s"/></vertices>{primitives}</mesh></geometry>"""


def triangles(indices: str = "0 1 2", id: str = "g") -> str:
    return f'<triangles count="1"><input semantic="VERTEX" source="#{id}-v" offset="0"/><p>{indices}</p></triangles>'


def polygons(counts: str, id: str = "g") -> str:
    given = f'<input semantic="VERTEX" source="#{id}-v" offset="0"/><vcount>{counts}</vcount><p>0 1 2</p>'
    return f'<polylist count="1">{given}</polylist>'


def geometry(primitives: str = "", id: str = "g") -> str:
    return GEOMETRY.format(id=id, primitives=primitives or triangles(id=id))


def dae(scene: str, nodes: str = "", geometries: str = "") -> bytes:
    return DAE.format(scene=scene, nodes=nodes, geometries=geometries or geometry()).encode()


USE = '<instance_geometry url="#g"/>'


def doubled_nodes(levels: int, copies: int = 2, content: str = USE, descending: bool = False) -> bytes:
    """Each node instances the one before `copies` times."""
    made = [f'<node id="n0">{content}</node>']
    made += [
        f'<node id="n{i}">' + f'<instance_node url="#n{i - 1}"/>' * copies + "</node>" for i in range(1, levels + 1)
    ]
    last = f'<node id="top"><instance_node url="#n{levels}"/></node>'
    return dae(last, "".join(reversed(made) if descending else made))


# --- glTF ---------------------------------------------------------------------------------------------


def glb(binary: bytes = b"", **header: object) -> bytes:
    text = json.dumps({"asset": {"version": "2.0"}, "buffers": [{"byteLength": len(binary)}], **header}).encode()
    text += b" " * (-len(text) % 4)
    binary += b"\0" * (-len(binary) % 4)
    total = 12 + 8 + len(text) + 8 + len(binary)
    head = struct.pack("<III", 0x46546C67, 2, total) + struct.pack("<II", len(text), 0x4E4F534A)
    return head + text + struct.pack("<II", len(binary), 0x004E4942) + binary


def accessor(count: object, view: int | None = 0, kind: str = "VEC3", component: int = 5126) -> dict[str, object]:
    made: dict[str, object] = {"count": count, "componentType": component, "type": kind}
    return made if view is None else {**made, "bufferView": view}


def glb_mesh(
    accessors: list[dict[str, object]],
    binary: bytes,
    primitives: int = 1,
    nodes: list[dict[str, object]] | None = None,
    views: list[dict[str, object]] | None = None,
) -> bytes:
    own = views if views is not None else [{"buffer": 0, "byteLength": len(binary)}]
    meshes = [{"primitives": [{"attributes": {"POSITION": 0}}] * primitives}]
    placed = nodes if nodes is not None else [{"mesh": 0}]
    scenes = [{"nodes": [0]}] if nodes is None else [{"nodes": [*range(len(placed))]}]
    return glb(binary, bufferViews=own, accessors=accessors, meshes=meshes, nodes=placed, scenes=scenes, scene=0)


def _points(count: int) -> bytes:
    return struct.pack(f"<{3 * count}f", *(float(i % 7) for i in range(3 * count)))


def _chained(count: int) -> bytes:
    nodes: list[dict[str, object]] = [{"mesh": 0, "children": [i + 1]} for i in range(count - 1)]
    return glb_mesh([accessor(3)], _points(3), nodes=[*nodes, {"mesh": 0}])


def _draco() -> bytes:
    primitive = {
        "attributes": {"POSITION": 0},
        "extensions": {"KHR_draco_mesh_compression": {"bufferView": 0, "attributes": {"POSITION": 0}}},
    }
    return glb(b"DRACO" * 100, bufferViews=[{"buffer": 0, "byteLength": 500}], accessors=[accessor(2**28, None)],
               meshes=[{"primitives": [primitive]}], nodes=[{"mesh": 0}], scenes=[{"nodes": [0]}])  # fmt: skip


def _image() -> bytes:
    header = b"IHDR" + (60000).to_bytes(4, "big") * 2 + b"\x08\0\0\0\0"
    picture = b"\x89PNG\r\n\x1a\n\0\0\0\x0d" + header + b"\0\0\0\0" + b"\0" * 64
    binary = _points(3) + picture
    views = [{"buffer": 0, "byteLength": 36}, {"buffer": 0, "byteOffset": 36, "byteLength": len(picture)}]
    material = {"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}
    return glb(binary, bufferViews=views, accessors=[accessor(3)], images=[{"bufferView": 1, "mimeType": "image/png"}] * 2000,
               textures=[{"source": 0}], materials=[material] * 2000, nodes=[{"mesh": 0}], scenes=[{"nodes": [0]}],
               meshes=[{"primitives": [{"attributes": {"POSITION": 0}, "material": 0}]}])  # fmt: skip


def _images(size: int, materials: int) -> bytes:
    """Valid images that are small in the file, in materials whose textures trimesh decodes to convert them."""
    packer = zlib.compressobj(9)
    rows = b"".join(packer.compress(b"\0" * (1 + 3 * size)) for _ in range(size)) + packer.flush()
    chunks = {b"IHDR": struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0), b"IDAT": rows, b"IEND": b""}
    picture = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks.items()
    )
    views = [
        {"buffer": 0, "byteLength": 36},
        {"buffer": 0, "byteOffset": 36, "byteLength": 24},
        {"buffer": 0, "byteOffset": 60, "byteLength": len(picture)},
    ]
    used = {"diffuseTexture": {"index": 0}, "specularGlossinessTexture": {"index": 0}, "specularFactor": [1, 1, 1]}
    primitive = {"attributes": {"POSITION": 0, "TEXCOORD_0": 1}}
    return glb(_points(3) + bytes(24) + picture, bufferViews=views, accessors=[accessor(3), accessor(3, 1, "VEC2")],
               images=[{"bufferView": 2, "mimeType": "image/png"}], textures=[{"source": 0}],
               materials=[{"extensions": {"KHR_materials_pbrSpecularGlossiness": used}}] * materials,
               meshes=[{"primitives": [{**primitive, "material": i} for i in range(materials)]}],
               nodes=[{"mesh": 0}], scenes=[{"nodes": [0]}])  # fmt: skip


# --- packages: text glTF and 3MF ------------------------------------------------------------------------


def gltf(**changes: object) -> bytes:
    """A triangle, with changes of the header."""
    uri = "data:application/octet-stream;base64," + base64.b64encode(_points(3)).decode()
    header = {
        "asset": {"version": "2.0"}, "buffers": [{"byteLength": 36, "uri": uri}],
        "bufferViews": [{"buffer": 0, "byteLength": 36}], "accessors": [accessor(3)],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}], "nodes": [{"mesh": 0}],
        "scenes": [{"nodes": [0]}], "scene": 0, **changes,
    }  # fmt: skip
    return json.dumps(header).encode()


_OBJECT = (
    '<mesh><vertices><vertex x="0" y="0" z="0"/><vertex x="1" y="0" z="0"/><vertex x="0" y="1" z="0"/></vertices>'
    '<triangles><triangle v1="0" v2="1" v3="2"/></triangles></mesh>'
)


def package(objects: str, items: str) -> bytes:
    """A 3MF archive."""
    model = f'<model unit="meter"><resources>{objects}</resources><build>{items}</build></model>'
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr("3D/3dmodel.model", model)
    return file.getvalue()


def _doubled_components(levels: int) -> bytes:
    nested = "".join(
        f'<object id="{i}"><components>' + f'<component objectid="{i - 1}"/>' * 2 + "</components></object>"
        for i in range(1, levels)
    )
    return package(f'<object id="0">{_OBJECT}</object>{nested}', f'<item objectid="{levels - 1}"/>')


# --- text formats -------------------------------------------------------------------------------------


def _obj(count: int, line: str, vertices: int = 3) -> bytes:
    points = "".join(f"v {i % 9} {i % 5} 0\n" for i in range(vertices))
    return (points + "".join(line.format(i) + "\nf 1 2 3\n" for i in range(count))).encode()[:MEGA]


def _stl(count: int, name: str = "") -> bytes:
    facet = "facet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\n"
    return (f"solid {name}\n{facet}endsolid\n" * count).encode()[:MEGA]


def _ply(header: str, body: str | bytes, kind: str = "ascii") -> bytes:
    given = body if isinstance(body, bytes) else body.encode()
    return f"ply\nformat {kind} 1.0\n{header}end_header\n".encode() + given


POINT = "property float x\nproperty float y\nproperty float z\n"
FACE = "element face {}\nproperty list uchar int vertex_indices\n"


def _ply_properties(count: int, rows: int) -> bytes:
    header = "".join(f"property float p{i}\n" for i in range(count))
    lists = "property list uchar int a\nproperty list uchar int b\n"
    return _ply(f"element vertex {rows}\n{POINT}{header}{lists}", "0 0 0 0 0\n1 1 1 1 1 1\n" * (rows // 2))[:MEGA]


def _ply_edges(count: int) -> bytes:
    rng = random.Random(0)
    edges = "".join(f"{rng.randrange(500)} {rng.randrange(500)}\n" for _ in range(count))
    header = f"element vertex 500\n{POINT}element edge {count}\nproperty int vertex1\nproperty int vertex2\n"
    return _ply(header, "0 0 0\n" * 500 + edges)


def _zae() -> bytes:
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.dae", dae(f"<node>{USE}</node>") + b"<!--" + b" " * (600 * MEGA) + b"-->")
    return file.getvalue()


def _entities(levels: int = 9) -> bytes:
    declared = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, levels))
    text = dae("<node>&e1;</node>").decode()
    return (
        text.replace(
            "<COLLADA", f'<!DOCTYPE COLLADA [<!ENTITY e0 "{USE.replace(chr(34), chr(39))}">{declared}]><COLLADA', 1
        )
        .replace("&e1;", f"&e{levels - 1};")
        .encode()
    )


Make = Callable[[], bytes]

BOMBS: dict[str, tuple[str, Make]] = {
    "18 levels of doubled nodes": ("dae", lambda: doubled_nodes(18)),
    "60 levels of doubled nodes": ("dae", lambda: doubled_nodes(60)),
    "12 levels of doubled nodes": ("dae", lambda: doubled_nodes(12)),
    "doubled nodes without geometry": ("dae", lambda: doubled_nodes(24, content="")),
    "doubled nodes, the last first": ("dae", lambda: doubled_nodes(10, descending=True)),
    "nodes in UTF-16": ("dae", lambda: doubled_nodes(18).decode().replace('<?xml version="1.0"?>', "").encode("utf-16")),
    "nodes that instance 200 nodes": ("dae", lambda: doubled_nodes(2, 200)),
    "a node that contains itself": ("dae", lambda: dae('<node id="n"><instance_node url="#n"/></node>')),
    "nodes that contain each other": ("dae", lambda: dae('<node id="a"><instance_node url="#b"/></node>', '<node id="b"><instance_node url="#a"/></node>')),
    "a chain of 6000 nodes, the last first": ("dae", lambda: doubled_nodes(6000, 1, descending=True)),
    "nested nodes": ("dae", lambda: dae("<node>" * 240 + USE + "</node>" * 240)),
    "nested nodes beyond the parser": ("dae", lambda: dae("<node>" * 5000 + USE + "</node>" * 5000)),
    "10000 instances": ("dae", lambda: dae(f"<node>{USE * 10000}</node>")),
    "30000 instances": ("dae", lambda: dae(f"<node>{USE * 30000}</node>")),
    "300 instances of a large geometry": ("dae", lambda: dae(f"<node>{USE * 300}</node>", geometries=geometry(triangles("0 1 2 " * 150_000)))),
    "200 instances of 200 primitives": ("dae", lambda: dae(f"<node>{USE * 200}</node>", geometries=geometry(triangles() * 200))),
    "a polygon of two billion corners beside words": ("dae", lambda: dae(f"<node>{USE}</node>", geometries=geometry(polygons("nan x 2000000000")))),
    "a polygon of two billion corners beside nan": ("dae", lambda: dae(f"<node>{USE}</node>", geometries=geometry(polygons("nan 2000000000")))),
    "a polygon of two billion corners": ("dae", lambda: dae(f"<node>{USE}</node>", geometries=geometry(polygons("2000000000")))),
    "5000 geometries": ("dae", lambda: dae("".join(f'<node><instance_geometry url="#g{i}"/></node>' for i in range(1500)), geometries="".join(geometry(id=f"g{i}") for i in range(1500)))),
    "entities": ("dae", _entities),
    "an archive called dae": ("dae", _zae),
    "an accessor of 200 million points": ("glb", lambda: glb_mesh([accessor(200_000_000, None)], _points(3))),
    "an accessor of 1e30 points": ("glb", lambda: glb_mesh([accessor(10**30, None)], _points(3))),
    "an accessor of 20 million points": ("glb", lambda: glb_mesh([accessor(20_000_000, None)], _points(3))),
    "an accessor with a list as its count": ("glb", lambda: glb_mesh([accessor([20_000, 20_000], None, "SCALAR")], _points(3))),
    "an accessor with a fraction as its count": ("glb", lambda: glb_mesh([accessor(2e8, None)], _points(3))),
    "4000 primitives of one accessor": ("glb", lambda: glb_mesh([accessor(60_000)], _points(60_000), 4000)),
    "4000 small primitives": ("glb", lambda: glb_mesh([accessor(3)], _points(3), 4000)),
    "10000 nodes of one mesh": ("glb", lambda: glb_mesh([accessor(60_000)], _points(60_000), nodes=[{"mesh": 0}] * 10_000)),
    "300 nodes of a mesh of 100 primitives": ("glb", lambda: glb_mesh([accessor(3)], _points(3), 100, nodes=[{"mesh": 0}] * 300)),
    "a chain of 5000 nodes": ("glb", lambda: _chained(5000)),
    "10000 views of one buffer": ("glb", lambda: glb_mesh([accessor(3)], _points(40_000), views=[{"buffer": 0, "byteLength": 480_000}] * 10_000)),
    "a stride of one byte": ("glb", lambda: glb_mesh([accessor(400_000, 0, "MAT4")] * 2000, b"\0" * 400_100, views=[{"buffer": 0, "byteLength": 400_100, "byteStride": 1}])),
    "a large accessor without a view, many times": ("glb", lambda: glb_mesh([accessor(1_000_000, None)] * 5000, _points(3))),
    "compressed with Draco": ("glb", _draco),
    "an image of billions of pixels": ("glb", _image),
    "nested JSON": ("glb", lambda: glb(extras=json.loads("[" * 900 + "]" * 900))),
    "images that an extension decodes": ("glb", lambda: _images(9000, 20)),
    "nodes that name each other": ("gltf", lambda: gltf(nodes=[{"children": [*range(1, 300)]} for _ in range(300)] + [{"mesh": 0}])),
    "1000 buffers of one file": ("gltf", lambda: gltf(buffers=[{"byteLength": 36, "uri": f"{'./' * (i % 50)}a.gltf"} for i in range(900)])[:-1] + b" " * 800_000 + b"}"),
    "a scene that names one node 300000 times": ("gltf", lambda: gltf(scenes=[{"nodes": [0] * 300_000}])),
    "a sparse accessor of billions": ("gltf", lambda: gltf(accessors=[{**accessor(2 * 10**9, None), "sparse": {"count": 2 * 10**9, "indices": {"bufferView": 0, "componentType": 5125}, "values": {"bufferView": 0}}}])),
    "a large object that is placed 90000 times": ("3mf", lambda: package(f'<object id="1">{_OBJECT}{"<a/>" * 1_000_000}</object>', '<item objectid="1"/>' * 90_000)),
    "a million vertices": ("3mf", lambda: package('<object id="1"><mesh><vertices>' + '<vertex x="0" y="0" z="0"/>' * 1_000_000 + "</vertices></mesh></object>", '<item objectid="1"/>')),
    "doubled components": ("3mf", lambda: _doubled_components(45)),
    "9000 items": ("3mf", lambda: package(f'<object id="1">{_OBJECT}</object>', '<item objectid="1"/>' * 9000)),
    "45000 materials": ("obj", lambda: _obj(45_000, "usemtl m{}")),
    "3000 materials of 40000 vertices": ("obj", lambda: _obj(3000, "usemtl m{}", 40_000)),
    "45000 uses of two materials": ("obj", lambda: _obj(45_000, "usemtl m{}"[:-2])),
    "50000 objects": ("obj", lambda: _obj(50_000, "o o{}")),
    "50000 groups": ("obj", lambda: _obj(50_000, "g g{}")),
    "a face of 300000 corners": ("obj", lambda: b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf" + b" 1 2 3" * 100_000 + b"\nf 1 2 3 1\n"),
    "polygons of all sizes": ("obj", lambda: b"v 0 0 0\nv 1 0 0\nv 0 1 0\n" + b"".join(b"f" + b" 1" * n + b"\n" for n in range(3, 900))),
    "an index of two billion": ("obj", lambda: b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 2000000000\n"),
    "material names on one line": ("obj", lambda: b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n" + b"usemtl usemtl " * 70_000),
    "lines that continue": ("obj", lambda: b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n" + b"\\\n" * 400_000),
    "8000 solids": ("stl", lambda: _stl(8000)),
    "empty solids": ("stl", lambda: b"solid\nendsolid\n" * 70_000),
    "binary with billions of triangles": ("stl", lambda: b"\0" * 80 + (2**32 - 1).to_bytes(4, "little") + b"\0" * 500),
    "vertices on one line": ("stl", lambda: b"solid a\n" + b"vertex 0 0 0 " * 70_000 + b"\nendsolid\n"),
    "200 properties, rows of different lengths": ("ply", lambda: _ply_properties(200, 40_000)),
    "10000 properties": ("ply", lambda: _ply_properties(10_000, 100)),
    "100000 edges": ("ply", lambda: _ply_edges(80_000)),
    "billions of vertices as text": ("ply", lambda: _ply(f"element vertex 4000000000\n{POINT}{FACE.format(1)}", "0 0 0\n" * 3 + "3 0 1 2\n")),
    "billions of vertices in binary": ("ply", lambda: _ply(f"element vertex 4000000000\n{POINT}{FACE.format(1)}", b"\0" * 100, "binary_little_endian")),
    "elements without properties": ("ply", lambda: _ply("element vertex 4000000000\nelement face 4000000000\n", b"", "binary_little_endian")),
    "a list of billions": ("ply", lambda: _ply(f"element vertex 3\n{POINT}element face 1\nproperty list uint int vertex_indices\n", b"\0" * 36 + b"\xff" * 40, "binary_little_endian")),
    "elements of negative length": ("ply", lambda: _ply(f"element vertex -5\n{POINT}{FACE.format(-1)}", b"\0" * 36, "binary_little_endian")),
    "a megabyte of empty lines": ("ply", lambda: _ply(f"element vertex 3\n{POINT}{FACE.format(1)}", "0 0 0\n" * 3 + "3 0 1 2\n" + "\n" * 900_000)),
    "an endless header": ("ply", lambda: b"ply\nformat ascii 1.0\n" + b"comment\n" * 100_000),
    "a comment after OFF": ("off", lambda: b"OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n" + b"#" * 900_000),
    "billions of vertices": ("off", lambda: b"OFF\n4000000000 4000000000 0\n0 0 0\n"),
    "polygons of all lengths": ("off", lambda: b"OFF\n3 800 0\n0 0 0\n1 0 0\n0 1 0\n" + b"".join(f"{n} ".encode() + b"0 " * n + b"\n" for n in range(3, 803))),
}  # fmt: skip
