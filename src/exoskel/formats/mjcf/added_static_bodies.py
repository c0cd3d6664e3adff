"""The bodies that are added to static models: in a document of its author, they are in the bodies that carry them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from exoskel import spatial
from exoskel.formats.mjcf.reader.compiled import transforms
from exoskel.formats.mjcf.tree import MjcfElement
from exoskel.scene.item import item_name
from exoskel.scene.world import World
from exoskel.spatial import Array


def nest_static_bodies(written: MjcfElement, world: World, new: Collection[int]) -> None:
    """Move the new bodies of static models, which a new document places in the world, into their parents.

    `written` is the new document, and `new` are the ids of new items.
    """
    section = written.child("worldbody")
    joints = [j for m in world.models if m.static for j in m.joints if id(j.child) in new and j.parent is not None]
    if not joints:
        return
    bodies = {id(one.item): one for one in section.children if one.tag == "body" and one.item is not None}
    places = {key: _matrix(one) for key, one in bodies.items()}
    for joint in joints:
        body, parent = bodies.get(id(joint.child)), bodies.get(id(joint.parent))
        if joint.loop or body is None or parent is None or item_name(joint.parent or joint) == "world":
            continue
        relative = spatial.inverse(places[id(joint.parent)]) @ places[id(joint.child)]
        body.attributes["pos"] = spatial.without_noise(relative[:3, 3]).tolist()
        body.attributes["quat"] = spatial.quaternion(relative[:3, :3]).tolist()
        section.children = [one for one in section.children if one is not body]
        parent.children.append(body)


def _matrix(element: MjcfElement) -> Array:
    given: dict[str, Any] = element.attributes
    return transforms(spatial.array(given["pos"]), spatial.array(given["quat"]))
