"""Adds the elements that a scene does not contain to an MJCF document, if the scene was read from MJCF.

The elements stay as they are, but for names: they refer to the written bodies, joints, geoms and sites.  An element
that refers to something that is not written is omitted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from exoskel.formats.mjcf.model.layout import WorldLayout
from exoskel.formats.mjcf.names import GENERATED
from exoskel.formats.mjcf.preserved_elements import (
    ACTUATOR_TAGS,
    ItemReference,
    PreservedElements,
    SourceElement,
    copy_element,
    references,
)
from exoskel.formats.mjcf.tree import MjcfElement
from exoskel.scene.item import Item, Names, unique_name
from exoskel.scene.joint import Joint
from exoskel.scene.model import Model
from exoskel.scene.shape import Shape
from exoskel.scene.world import Scene, World
from exoskel.source.output_context import OutputContext

MAIN_CLASS = f"{GENERATED}main"
"""The default class for what the source states for all elements: parts of ours must not inherit it."""
_ORDER = ("asset", "tendon", "actuator", "equality", "contact", "sensor", "custom", "visual", "statistic", "compiler")
"""Sections in the order in which their elements may refer to each other."""
_CONSTRAINT_TAGS = frozenset({"connect", "weld", "joint", "tendon", "distance"})
_RELATIVE_SENSORS = frozenset({"jointvel", "jointactuatorfrc", "jointlimitvel", "jointlimitfrc"})
"""Elements that do not depend on the position of a joint in the reference pose."""
_POSITION_SENSORS = frozenset({"jointpos", "jointlimitpos"})


def add_preserved_elements(root: MjcfElement, scene: Scene, output: OutputContext) -> None:
    """Add what the scene's source states and its items do not; records the nodes in `output.preserved_nodes`."""
    preserved = scene.source_info.preserved
    if isinstance(preserved, PreservedElements) and preserved and scene.documents:
        _PreservedWriter(root, scene.world, preserved, output).write()


class _MjcfItemNames:
    """The names in the document of the items that were read, by the nodes they were read from."""

    def __init__(self, root: MjcfElement, world: World) -> None:
        self.layout = WorldLayout(world)
        elements = [one for one in root.child("worldbody").iter() if "name" in one.attributes]
        self._names: dict[tuple[str, int], str] = {}
        for one in elements:
            if one.tag in ("body", "geom", "site") and one.item is not None:
                self._names.setdefault((one.tag, id(one.item)), str(one.attributes["name"]))
        self._joints = {str(one.attributes["name"]) for one in elements if one.tag == "joint"}
        self._items: dict[tuple[str, int], list[tuple[Model, Item, str]]] = {}
        for kind, model, item, name in _all_items(world):
            if item.document == 0:
                self._items.setdefault((kind, item.node), []).append((model, item, name))

    def name(self, kind: str, reference: ItemReference) -> str | None:
        """The name of what a reference leads to; None if it is not in the document."""
        found = self._items.get((kind, reference.node), [])
        same = [one for one in found if one[2] == reference.name] if len(found) > 1 else found
        same = [one for one in same if one[0].name == reference.model] or same
        if not same:
            return None
        model, item, _ = same[0]
        return (
            self._joint_name(model, item, reference) if isinstance(item, Joint) else self._names.get((kind, id(item)))
        )

    def _joint_name(self, model: Model, joint: Joint, reference: ItemReference) -> str | None:
        chain, names = self.layout.chain(model, joint)
        found = [name for name, link in zip(names, chain, strict=True) if reference.coordinate in link.coordinates]
        return found[0] if found and found[0] in self._joints else None


def _inheriting_tags(stated: set[str]) -> frozenset[str]:
    """The tags of the elements that defaults with some tags apply to.

    Defaults of all kinds of actuators are one, and so are those of tendons and of constraints.
    """
    found = {"material", "pair"} & stated
    found |= set(ACTUATOR_TAGS) if stated & set(ACTUATOR_TAGS) else set()
    found |= {"fixed", "spatial"} if "tendon" in stated else set()
    found |= _CONSTRAINT_TAGS if "equality" in stated else set()
    return frozenset(found)


def _all_items(world: World) -> Iterator[tuple[str, Model, Item, str]]:
    for model in world.models:
        for body in model.bodies:
            yield "body", model, body, body.name
            yield from (("geom", model, shape, shape.name) for shape in body.shapes)
            yield from (("site", model, marker, marker.name) for marker in body.markers)
        yield from (("joint", model, joint, joint.name) for joint in model.joints)


class _PreservedWriter:
    def __init__(self, root: MjcfElement, world: World, preserved: PreservedElements, output: OutputContext) -> None:
        self.root = root
        self.world = world
        self.preserved = preserved
        self.output = output
        self.items = _MjcfItemNames(root, world)
        self.names: dict[tuple[str, str], str] = {("body", "world"): "world"}
        """The names of what is written, by kind and by the name in the source."""
        self.names |= {("camera", camera.name): camera.name for camera in world.cameras if camera.name}
        self.taken: dict[str, Names] = {
            kind: Names(str(one.attributes.get("name", "")) for one in root.child(kind).children)
            for kind in ("tendon", "actuator", "equality")
        }
        mains = [one.element for one in preserved.defaults]
        self.main_names = {"main", *(str(one.attributes.get("class", "main")) for one in mains)}
        self.main_tags = _inheriting_tags({child.tag for one in mains for child in one.children})
        """Elements for which the main default class states something."""
        self.materials = {node: name for (node, _), name in preserved.materials.items()}

    def write(self) -> None:
        by_section: dict[str, list[SourceElement]] = {name: [] for name in _ORDER}
        for one in self.preserved.elements:
            by_section[one.section].append(one)
        self._rank_assets(by_section["asset"])
        written = [(one, made) for name in _ORDER for one in by_section[name] if (made := self._rewrite(one))]
        for one, made in written:
            self._section(one).children.append(made)
            self.output.preserved_nodes |= {one.node} | ({one.section_node} if one.section == "sensor" else set())
        if any(made.tag not in ("visual", "statistic", "texture") for _, made in written):
            self._add_defaults()
            self.root.child("compiler").attributes["autolimits"] = self.preserved.has_automatic_limits
        if any(made.tag == "texture" and made.attributes.get("type") == "skybox" for _, made in written):
            assets = self.root.child("asset")
            assets.children = [one for one in assets.children if one.attributes.get("name") != f"{GENERATED}sky"]
        self._add_materials()
        self.root.child("option").attributes |= dict(self.preserved.options)
        self.output.preserved_attributes |= {
            (node, name) for node in self.preserved.option_nodes for name in self.preserved.options
        }
        self.root.children = [one for one in self.root.children if one.children or one.attributes]

    @staticmethod
    def _rank_assets(assets: list[SourceElement]) -> None:
        """Textures first: materials refer to them."""
        assets.sort(key=lambda one: one.element.tag != "texture")

    def _section(self, source: SourceElement) -> MjcfElement:
        return self.root if source.section == source.element.tag else self.root.child(source.section)

    # --- elements -------------------------------------------------------------------------------------

    def _rewrite(self, source: SourceElement) -> MjcfElement | None:
        """The element with the written names; None if it refers to something that is not written."""
        if source.section == "statistic" and self.output.is_rotated:
            return None  # its centre is in the frame of the world
        made = copy_element(source.element)
        for element, attribute, kind, name in list(references(made)):
            found = self._written_name(kind, name, element, source.section)
            if found is None:
                return None
            element.attributes[attribute] = found
        for attribute, path in source.files.items():
            reference = self._file_reference(path)
            if reference is None:
                return None
            made.attributes[attribute] = reference
        self._set_class(made)
        self._set_name(made, source.section)
        return made

    def _written_name(self, kind: str, name: str, element: MjcfElement, section: str) -> str | None:
        """The name in the document of something that an element of a section refers to."""
        known = self.names.get((kind, name))
        reference = self.preserved.items.get((kind, name))
        if known is not None or reference is None:
            return known
        is_absolute = element.tag not in _RELATIVE_SENSORS and (section != "sensor" or element.tag in _POSITION_SENSORS)
        if reference.is_shifted and is_absolute:
            return None
        return self.items.name(kind, reference)

    def _set_name(self, made: MjcfElement, section: str) -> None:
        name = str(made.attributes.get("name", ""))
        if not name:
            return
        kind = section if section in self.taken else made.tag
        taken = self.taken.setdefault(kind, Names())
        written = unique_name(name.replace("/", "_").replace("~", "_"), taken)
        taken.add(written)
        made.attributes["name"] = self.names["sensor" if section == "sensor" else kind, name] = written

    def _file_reference(self, path: str | None) -> str | None:
        """How the document refers to a file; None if it cannot."""
        if path is None or self.output.folder is None:
            return None
        if self.output.meshes == "copy":
            return self.output.copy_file(Path(path))
        if self.output.meshes == "absolute":
            return Path(path).as_posix()
        try:
            return Path(os.path.relpath(path, self.output.folder.resolve())).as_posix()
        except ValueError:  # another drive
            return Path(path).as_posix()

    # --- default classes ------------------------------------------------------------------------------

    def _set_class(self, made: MjcfElement) -> None:
        """Let an element inherit what the source states for all elements."""
        if made.attributes.get("class", "main") not in self.main_names:
            return
        if made.tag in self.main_tags:
            made.attributes["class"] = MAIN_CLASS
        else:
            made.attributes.pop("class", None)

    def _add_defaults(self) -> None:
        target = self.root.child("default")
        if self.main_tags:
            target = target.add("default", **{"class": MAIN_CLASS})
        for source in self.preserved.defaults:
            target.children += copy_element(source.element).children

    def _add_materials(self) -> None:
        """Give geoms the materials of the source."""
        for geom in self.root.child("worldbody").iter():
            if geom.tag != "geom" or not isinstance(geom.item, Shape) or geom.item.document != 0:
                continue
            material = self.materials.get(geom.item.node)
            written = self.names.get(("material", material)) if material else None
            if written is not None:
                geom.attributes["material"] = written
