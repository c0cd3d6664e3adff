"""The element `mujoco` of URDF: options of MuJoCo's compiler, which other readers ignore.

Before version 4, MuJoCo removes the folders of mesh files unless this element has `strippath="false"`.  The writer adds
it where a mesh file is in a folder.  An element of the source is written again, with this attribute.
"""

from __future__ import annotations

from exoskel.scene.world import Scene
from exoskel.source.document import Document
from exoskel.source.markup import Markup
from exoskel.source.output_context import OutputContext

MUJOCO, COMPILER = "mujoco", "compiler"
_OPTIONS = {"strippath": "false"}


def add_options(root: Markup, scene: Scene, output: OutputContext) -> None:
    """Add the element, if a mesh file is in a folder."""
    meshes = (one for one in root.iter() if one.tag == "mesh")
    if not any("/" in one.attributes.get("filename", "") for one in meshes):
        return
    made = Markup(MUJOCO)
    made.add(COMPILER, **_OPTIONS)
    root.children.append(made)
    document = scene.documents[0] if scene.documents else None
    if scene.source_info.format != "urdf" or not isinstance(document, Document):
        return
    for node in options_nodes(document)[:1]:
        if is_generated(document, node):
            output.preserved_nodes.add(node)
        else:
            output.source_copies[0, node] = [made]


def options_nodes(document: Document) -> list[int]:
    """The elements `mujoco` of a robot.  MuJoCo accepts only one."""
    outline = document.outline
    return [node for node, tag in enumerate(outline.tags) if tag == MUJOCO and outline.parents[node] == 0]


def is_generated(document: Document, node: int) -> bool:
    """Whether an element contains only what the writer adds."""
    outline = document.outline
    inside = range(node + 1, outline.ends[node])
    if [outline.tags[one] for one in inside] != [COMPILER] or document.attributes(node):
        return False
    return {name: document.attribute_text(node + 1, name) for name in document.attributes(node + 1)} == _OPTIONS
