"""Inserts what was added to a scene into the document that it was read from.

The elements are those of a new document of the whole scene.  They get names that are free, state MuJoCo's defaults
where the author's default class has other values, and use the author's units.  The result is read back like all edits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from exoskel.fates import Verdict
from exoskel.formats.interface import NodeKey, SourceCopy
from exoskel.formats.mjcf.added_assets import AddedAssets
from exoskel.formats.mjcf.added_contacts import AddedContacts
from exoskel.formats.mjcf.added_keyframe_columns import expanded_keyframes
from exoskel.formats.mjcf.added_lists import NewListItems, find_list_element, new_list_items
from exoskel.formats.mjcf.added_names import AddedNames, document_tree, element_kind
from exoskel.formats.mjcf.default_values import DocumentDefaults, UnknownDefaultError
from exoskel.formats.mjcf.divided_models import divided_models, name_divided
from exoskel.formats.mjcf.insertions import (
    WORLDBODY,
    Insertion,
    contents,
    insert_elements,
    nest_static_bodies,
    position,
    shorten,
    state_degrees,
)
from exoskel.formats.mjcf.joint_edits import JOINTS, numbered_joint_node
from exoskel.formats.mjcf.keyframe_edits import StateEditError
from exoskel.formats.mjcf.moved_bodies import MovedBody, find_moved, kept_classes, move_bodies, state_lists
from exoskel.formats.mjcf.names import EQUALITIES_TEXT, equalities_text, plain_name, reference_kind, split_path
from exoskel.formats.mjcf.reader.asset_paths import compiler_settings
from exoskel.formats.mjcf.replaced_joints import (
    ReplacedJoint,
    dependent_fates,
    find_replaced,
    find_unfit,
    keep_extra_attributes,
)
from exoskel.formats.mjcf.shape_edits import CannotEditError
from exoskel.formats.mjcf.source_edits import EDITED
from exoskel.formats.mjcf.tree import MjcfElement, Value
from exoskel.formats.mjcf.views import camera_element, light_element
from exoskel.formats.saving.changes import Changes, changed_fields
from exoskel.scene.body import Body, Marker
from exoskel.scene.item import Item, item_name, qualified_name
from exoskel.scene.joint import Joint
from exoskel.scene.model import Model
from exoskel.scene.shape import Shape
from exoskel.scene.world import Scene
from exoskel.source.document import Document
from exoskel.source.output_context import OutputContext
from exoskel.source.splice import OverlapError

_PARTS = ("inertial", "joint", "freejoint", "geom", "site")
"""The parts of bodies that come before other ones."""
_ITEM_KINDS: dict[type[Item], str] = {Body: "body", Joint: "joint", Shape: "geom", Marker: "site"}
_WITH_CLASS = frozenset({"geom", "joint", "site", "camera", "light"})
_SECTIONS = {"tendons": "tendon", "actuators": "actuator", "sensors": "sensor", "equalities": "equality"}
_NEW_WORLDBODY = -2
"""The number of the section of bodies if the document has none."""


def insert_added(
    document: Document,
    base: Scene,
    scene: Scene,
    changes: Changes,
    output: OutputContext,
    write: Callable[[], MjcfElement],
) -> SourceCopy | None:
    """The document with the elements of added items; None if a new document is needed.

    `base` is the scene that was read from the document, `changes` are the differences between it and the scene, and
    `write` writes a new document of the scene.
    """
    lists = new_list_items(base.world, scene.world)
    painted = [
        (source, item)
        for source, item in changes.edited
        if isinstance(item, Shape) and "material" in changed_fields(source, item)
    ]
    losses = list(output.losses)
    try:
        replaced, changes = find_replaced(document, base.world, changes)
        divided = list(divided_models(base.world, scene.world, changes))
        moved = find_moved(document, changes, [(one.source, one.item) for one in replaced])
        if not (changes.added or lists or painted or replaced or divided or moved):
            return SourceCopy(document.data)
        inserter = _Inserter(document, base, scene, changes, output, write(), lists, replaced)
        inserter.moved = moved
        inserter.collect(painted)
        name_divided(inserter, divided)
        return inserter.apply()
    except (CannotEditError, UnknownDefaultError, StateEditError, OverlapError):
        return None
    finally:
        output.losses[:] = losses


class _Inserter:
    def __init__(
        self,
        document: Document,
        base: Scene,
        scene: Scene,
        changes: Changes,
        output: OutputContext,
        written: MjcfElement,
        lists: NewListItems,
        replaced: Sequence[ReplacedJoint],
    ) -> None:
        self.document = document
        self.tags, self.parents = document.outline.tags, document.outline.parents
        self.ends = document.outline.ends
        self.base_scene = base
        self.base, self.scene, self.changes = base.world, scene.world, changes
        self.sources = changes.sources
        self.written = written
        self.lists = lists
        self.tree = document_tree(document)
        self.defaults = DocumentDefaults(document)
        self.compiler = compiler_settings(
            {name: document.attribute_text(node, name) for name in document.attributes(node)}
            for node, tag in enumerate(self.tags)
            if tag == "compiler"
        )
        self.insertions: list[Insertion] = []
        self.values: dict[tuple[int, str], str] = {}
        """New values of attributes of elements of the document."""
        self.replaced = {id(one.item): one for one in replaced}
        self.removed = {node for one in replaced for node in one.nodes}
        """The elements that are not in the result."""
        self.moved: Sequence[MovedBody] = ()
        self.fates: dict[NodeKey, Verdict] = {}
        self.names = AddedNames(document, self.tree, (base.world,))
        for one in replaced:
            self.names.release("joint", (one.source.name, *(document.attribute_text(n, "name") for n in one.nodes)))
        self.assets = AddedAssets(document, self.names, self.compiler, written, output, self.defaults)
        self.new = {id(item) for one in changes.added for item in contents(one.item)}
        self.paths = set(self._new_paths())
        self.in_file: dict[tuple[str, str], str] = {}
        """The names in the document by their kinds and the names in a new document."""

    def _new_paths(self) -> Iterator[str]:
        """The qualified names of new joints and bodies: generated parts have longer ones."""
        for model in self.scene.models:
            for item in (*model.bodies, *model.joints):
                if id(item) in self.new:
                    yield qualified_name(model.name, item_name(item))

    def collect(self, painted: Sequence[tuple[Item, Item]]) -> None:
        nest_static_bodies(self.written, self.scene, self.new)
        self._collect_parts()
        self._collect_views()
        AddedContacts(self).set_bits()
        self._name_elements()
        self._replace_joints()
        self._collect_sections()
        self._keep_numbered_names()
        for source, item in painted:
            self._paint(source, item)
        self._collect_keyframes()
        for one in self.insertions:
            self._adapt(one)
        self.insertions[:0] = [Insertion(*self.section_place("asset"), asset, "asset") for asset in self.assets.new]
        for one in self.insertions:
            if one.section == "asset":
                self.defaults.override(one.element)

    # --- what is new ----------------------------------------------------------------------------------

    def is_new(self, element: MjcfElement) -> bool:
        """Whether an element of the new document represents a new item, or was generated for one."""
        if element.item is not None:
            return id(element.item) in self.new
        path = split_path(str(element.attributes.get("name", "")))
        return len(path) > 2 and qualified_name(*path[:2]) in self.paths

    def _collect_parts(self) -> None:
        """Collect new bodies and new parts of bodies."""
        waiting = [(self.written.child(WORLDBODY), self._worldbody())]
        while waiting:
            owner, node = waiting.pop()
            for child in owner.children:
                if self.is_new(child):
                    if any(self._is_old(one) for one in child.iter()):
                        raise CannotEditError
                    self._insert_part(node, child)
                elif child.tag == "body":
                    waiting.append((child, self.body_node(child.item)))

    def _is_old(self, element: MjcfElement) -> bool:
        return element.item is not None and id(element.item) not in self.new

    def _worldbody(self) -> int:
        found = [node for node, tag in enumerate(self.tags) if tag == WORLDBODY and self.parents[node] == 0]
        return found[-1] if found else _NEW_WORLDBODY

    def body_node(self, body: object) -> int:
        """The element of a body that is already in the document; -1 if it is not known."""
        source = self.sources.get(id(body))
        if not isinstance(source, Body) or source.document > 0:
            return -1
        if source.node < 0:
            return self._worldbody() if source is self._body_of_world() else -1
        if self.tags[source.node] == "worldbody":
            return self._worldbody()
        return source.node if self.tags[source.node] == "body" else -1

    def _body_of_world(self) -> Body | None:
        return next((body for model in self.base.models for body in model.bodies if model.name == "world"), None)

    def _insert_part(self, node: int, element: MjcfElement) -> None:
        if node == _NEW_WORLDBODY:
            self.insertions.append(Insertion(*self.section_place(WORLDBODY), element))
            self.tree[0].child(WORLDBODY).children.append(element)
            return
        if node < 0:
            raise CannotEditError
        if any(self.tags[above] == "replicate" for above in self._ancestors(node)):
            raise CannotEditError
        if element.tag == "geom" and self.tags[node] == "body":
            element.attributes["mass"] = 0.0  # the mass of the body stays as it is
        self.insertions.append(Insertion(node, self._sibling(node, element), element))
        self.tree[node].children.append(element)

    def _ancestors(self, node: int) -> Iterator[int]:
        while node > 0:
            yield node
            node = self.parents[node]

    def children(self, node: int) -> Iterator[int]:
        child, end = node + 1, self.ends[node]
        while child < end:
            yield child
            child = self.ends[child]

    def _sibling(self, node: int, element: MjcfElement) -> int:
        """The child after which a new one is inserted: for a replaced joint its first element."""
        replaced = self.replaced.get(id(element.item)) if element.tag in JOINTS else None
        if replaced is not None and replaced.nodes and self.parents[replaced.nodes[0]] == node:  # not in a frame
            return replaced.nodes[0]
        every = [one for one in self.children(node) if one not in self.removed]
        if element.tag not in _PARTS:
            same = [one for one in every if self.tags[one] == element.tag] if element.tag != "body" else []
            return max(same or every, default=-1)
        before = {source.node for source in self._preceding(element.item)}
        if before & {*every}:
            return max(before & {*every})
        same = [one for one in every if self.tags[one] == element.tag]
        rank = _PARTS.index(element.tag)
        earlier = [one for one in every if self.tags[one] in _PARTS[: rank + 1]]
        return max(same or earlier, default=-1)

    def _replace_joints(self) -> None:
        """Give new joints what the scene does not contain of those that they replace; remove what refers to these."""
        new: dict[str, MjcfElement] = {}
        for one in self.replaced.values():
            elements = [made.element for made in self.insertions if made.element.item is one.item]
            elements = [element for element in elements if element.tag in JOINTS]
            new |= {str(element.attributes.get("name", "")): element for element in elements}
            self.fates |= keep_extra_attributes(self.document, self.base_scene, one, elements)
        if self.removed:
            unfit = find_unfit(self.document, self.removed, new)
            self.fates |= dependent_fates(self.document, unfit)
            self.removed |= unfit

    def _preceding(self, item: object) -> Iterator[Item]:
        added = next((one for one in self.changes.added if one.item is item), None)
        for one in added.before if added is not None else ():
            if (source := self.sources.get(id(one))) is not None:
                yield source

    # --- names ----------------------------------------------------------------------------------------

    def _name_elements(self) -> None:
        """Choose the names of new bodies, joints, shapes and markers."""
        for model in self.scene.models:
            self._settle(model)
        for one in self.insertions:
            for element in one.element.iter():
                self._name(element)

    def _settle(self, model: Model) -> None:
        added = [("body", body.name) for body in model.bodies if id(body) in self.new]
        added += [("joint", j.name) for j in model.joints if id(j) in self.new and j.kind != "weld" and not j.loop]
        source = self.sources.get(id(model))
        parts = {id(one) for body in model.bodies for one in (body, *body.markers, *body.shapes)}
        if not added and not parts & self.new and not any(id(joint) in self.new for joint in model.joints):
            self.names.qualified.setdefault(
                model.name, any(name.startswith(f"{model.name}/") for name in self.names.taken["body"])
            )
            return
        first = [j.child for j in model.joints if j.parent is None and not j.loop]
        new_roots = [body.name for body in first if id(body) in self.new]
        if source is None:
            self.names.settle(model, None, added, new_roots[0] if len(new_roots) == 1 else "")
            return
        old = [body for body in first if id(body) not in self.new]
        nodes = [self.body_node(body) for body in old]
        if self.tags[nodes[0]] == "worldbody" if nodes else False:
            self.names.qualified[model.name] = True
            return
        stated = [self.document.attribute_text(node, "name") if node >= 0 else "" for node in nodes]
        if self.names.settle(model, stated, added, new_roots[0] if new_roots else ""):
            for body, node in zip(old, nodes, strict=True):
                name = self.file_name("body", body, node)
                self.names.qualify_root(name, qualified_name(model.name, body.name))

    def _name(self, element: MjcfElement) -> None:
        old = str(element.attributes.get("name", ""))
        if not old or element.tag in ("camera", "light"):
            return
        kind = element_kind(element.tag, "")
        item = element.item
        is_shape = isinstance(item, Shape) and element.tag == "geom" and self._is_named_alone(element, item)
        if isinstance(item, Shape) and is_shape and "/" not in item.name:
            # with a number if another geom has the name, as in a new document
            name = self.names.choose_plain("geom", item.name) if item.name else ""
            self.in_file[kind, old] = name
            element.attributes.pop("name")
            if name:
                element.attributes = {"name": name, **element.attributes}
            return
        wanted = (item.name,) if isinstance(item, Body | Joint | Marker) and "/" not in item.name else ()
        is_multiple = isinstance(item, Joint) and split_path(old)[-1] != item.name
        stated, is_same = self._stated_name(element)
        if stated:
            wanted = (stated,)
        elif is_multiple:
            wanted = ()
        self.in_file[kind, old] = stated if is_same else self.names.choose(kind, old, *wanted)
        element.attributes["name"] = self.in_file[kind, old]

    def _stated_name(self, element: MjcfElement) -> tuple[str, bool]:
        """The name of the joint element that one replaces, and whether it means the same: it is the only one."""
        replaced = self.replaced.get(id(element.item)) if element.tag in JOINTS else None
        if replaced is None or replaced.source.name != replaced.item.name:
            return "", False
        made = [one.element for one in self.insertions if one.element.item is element.item]
        number = next(number for number, one in enumerate(made) if one is element)
        if number >= len(replaced.nodes):
            return "", False
        stated = self.document.attribute_text(replaced.nodes[number], "name")
        return stated, bool(stated) and len(made) == len(replaced.nodes) == 1

    def _is_named_alone(self, element: MjcfElement, shape: Shape) -> bool:
        """Whether a geom has the name of its shape, or none: others tell by their names what they are."""
        collides = any(element.attributes.get(name, 1) for name in ("contype", "conaffinity"))
        is_visual = split_path(str(element.attributes["name"]))[-1].startswith("visual")
        geoms = [one for insertion in self.insertions for one in insertion.element.iter() if one.item is shape]
        return collides != is_visual and len(geoms) == 1

    def file_name(self, kind: str, item: Item, node: int) -> str:
        """The name in the document of an item that is already there; it gets one if it has none."""
        name = self.values.get((node, "name"), self.document.attribute_text(node, "name") if node >= 0 else "")
        own = str(getattr(self.sources.get(id(item), item), "name", ""))
        if name and any(self.tags[above] == "replicate" for above in self._ancestors(node)):
            return own
        if name or node <= 0 or self.tags[node] not in ("body", "joint", "freejoint", "geom", "site"):
            return name or own
        name = own or self.names.choose_plain(kind, kind)
        if name in self.names.in_document.get(kind, ()):
            raise CannotEditError
        if isinstance(item, Body):
            self._keep_model_name(item, name)
        self.values[node, "name"] = name
        self.tree[node].attributes["name"] = name
        return name

    def _keep_numbered_names(self) -> None:
        """Give the names that the scene has to bodies and sites without one: these would follow from other numbers."""
        for kind, type_ in (("body", Body), ("site", Marker)):
            places = [
                position(self.document, one)
                for one in self.insertions
                if not one.section and any(element.tag == kind for element in one.element.iter())
            ] + [min(one.node, one.owner + 1) for one in self.moved]
            first = min(places, default=len(self.tags))
            for model in self.scene.models:
                # of the massless links of a body, which have its element, it is the last
                for item in reversed([part for body in model.bodies for part in (body, *body.markers)]):
                    source = self.sources.get(id(item))
                    if isinstance(source, type_) and source.node >= first and self.tags[source.node] == kind:
                        self.file_name(kind, item, source.node)

    def _keep_model_name(self, body: Body, name: str) -> None:
        """Note the name of the model of a body that gets a name: a model has that of its first body."""
        source = self.sources.get(id(body))
        for model in self.scene.models:
            first = [self.sources.get(id(one.child)) for one in model.joints if one.parent is None]
            is_first = source is not None and any(one is not None and one.node == source.node for one in first)
            if is_first and model.name != name:
                self.names.qualify_root(name, qualified_name(model.name, body.name))

    def reference(self, kind: str, name: str) -> str:
        """The name in the document of what a reference in the new document means."""
        if (kind, name) not in self.in_file:
            self.in_file[kind, name] = self._find_reference(kind, name)
        found = self.in_file[kind, name]
        if not found:
            raise CannotEditError
        return found

    def _find_reference(self, kind: str, name: str) -> str:
        if kind == "body" and name == "world":
            return name
        if kind in ("tendon", "actuator"):
            return plain_name(name)
        if kind in ("mesh", "material", "texture"):
            return self.assets.name(kind, name)
        elements = [
            one
            for one in self.written.child("worldbody").iter()
            if one.attributes.get("name") == name and element_kind(one.tag, "") == kind
        ]
        item = elements[0].item if elements else None
        source = self.sources.get(id(item))
        if not isinstance(item, Body | Joint | Shape | Marker) or source is None:
            raise CannotEditError
        node = self.body_node(item) if isinstance(item, Body) else source.node
        if isinstance(item, Joint):
            node = numbered_joint_node(self.document, item, source.node, name)
        if isinstance(item, Body) and node >= 0 and self.tags[node] == "worldbody":
            return "world"
        return self.file_name(kind, item, node)

    # --- other sections -------------------------------------------------------------------------------

    def section_place(self, tag: str) -> tuple[int, int]:
        """The section of a tag, and its last child; the root and the last section if it does not exist."""
        found = [node for node, parent in enumerate(self.parents) if parent == 0 and self.tags[node] == tag]
        if not found:
            return 0, max((node for node, parent in enumerate(self.parents) if parent == 0), default=-1)
        return found[-1], max(self.children(found[-1]), default=-1)

    def insert_in_section(self, tag: str, element: MjcfElement, place: tuple[int, int] | None = None) -> None:
        parent, after = place or self.section_place(tag)
        self.insertions.append(Insertion(parent, after, element, tag))
        section = self.tree[parent] if parent else next((s for s in self.tree[0].children if s.tag == tag), None)
        (section or self.tree[0].add(tag)).children.append(element)

    def _collect_views(self) -> None:
        bodies = {qualified_name(m.name, b.name): (m, b) for m in self.scene.models for b in m.bodies}
        for camera in self.lists.cameras:
            self._insert_view(camera.body, camera_element(camera, has_projection=True), bodies)
        for light in self.lists.lights:
            self._insert_view(light.body, light_element(light), bodies)

    def _insert_view(self, path: str, element: MjcfElement, bodies: dict[str, tuple[Model, Body]]) -> None:
        name = str(element.attributes.get("name", ""))
        if name and not self.names.is_free(element.tag, name):
            raise CannotEditError
        if not path:
            self._insert_part(self._worldbody(), element)
            return
        if path not in bodies:
            raise CannotEditError
        body = bodies[path][1]
        if id(body) in self.new:
            owner = next(e for e in self.written.child("worldbody").iter() if e.tag == "body" and e.item is body)
            owner.children.append(element)
            return
        node = self.body_node(body)
        if node < 0:
            raise CannotEditError
        self._insert_part(node, element)

    def _collect_sections(self) -> None:
        """Collect new tendons, actuators, sensors and constraints, and those of new joints."""
        ambiguous: list[str] = []
        for field, tag in _SECTIONS.items():
            new = self.lists.names(field)
            known = {one.name for one in getattr(self.scene, field)}
            for element in list(self.written.child(tag).children):
                name = plain_name(str(element.attributes.get("name", "")))
                if name in new:
                    self._insert_list_element(field, tag, element, name)
                    ambiguous += [qualified_name(name)] if field == "equalities" else []
                elif name not in known and (self.is_new(element) or (not name and self._mentions_new(element))):
                    self._name_generated(tag, element)
                    self.insert_in_section(tag, element)
        texts = [one.attributes for one in self.written.child("custom").children]
        listed = [one for one in texts if one.get("name") == EQUALITIES_TEXT]
        stated = {name for one in listed for name in str(one["data"]).split()}
        if found := [name for name in ambiguous if equalities_text([name]) in stated]:
            self._set_text(EQUALITIES_TEXT, equalities_text(found), is_added=True)

    def _insert_list_element(self, field: str, tag: str, element: MjcfElement, name: str) -> None:
        if not self.names.is_free(tag, name):
            raise CannotEditError
        element.attributes["name"] = self.names.choose(tag, str(element.attributes["name"]), name)
        self.in_file[tag, qualified_name(name)] = str(element.attributes["name"])
        after = self.lists.preceding(field, name)
        node = find_list_element(self.document, tag, after) if after else None
        self.insert_in_section(tag, element, None if node is None else (self.parents[node], node))

    def _mentions_new(self, element: MjcfElement) -> bool:
        """Whether an element refers to a new joint or body."""
        return any(
            qualified_name(*split_path(str(value))[:2]) in self.paths
            for name, value in element.attributes.items()
            if reference_kind(element, name) in ("joint", "body") and "/" in str(value)
        )

    def _name_generated(self, tag: str, element: MjcfElement) -> None:
        if old := str(element.attributes.get("name", "")):
            self.in_file[tag, old] = self.names.choose(tag, old)
            element.attributes["name"] = self.in_file[tag, old]

    def _collect_keyframes(self) -> None:
        """Add new keyframes, without their states, and numbers of new joints and actuators to all others."""
        for keyframe in self.lists.keyframes:
            if keyframe.name and not self.names.is_free("key", keyframe.name):
                raise CannotEditError
            given: dict[str, Value] = {"name": keyframe.name} if keyframe.name else {}
            given |= {"time": keyframe.time} if keyframe.time else {}
            self.insert_in_section("keyframe", MjcfElement("key", given))

    def _paint(self, source: Item, item: Item) -> None:
        """Give a shape a new material."""
        assert isinstance(item, Shape)
        node = source.node
        if node < 0 or source.document > 0 or self.tags[node] != "geom" or item.material is None:
            raise CannotEditError
        name = self.assets.material_like(item, self.document.attribute_text(node, "material"))
        self.values[node, "material"] = name

    # --- meanings in the document ---------------------------------------------------------------------

    def _adapt(self, one: Insertion) -> None:
        """Express an element in the units, classes and names of the document."""
        inherited = not one.section and any(
            self.document.attribute_text(above, "childclass") for above in self._ancestors(one.parent)
        )
        if inherited and one.element.tag == "body":
            one.element.attributes["childclass"] = self.defaults.name
        elif inherited and one.element.tag in _WITH_CLASS:
            one.element.attributes["class"] = self.defaults.name
        for element in one.element.iter():
            self._refer(element)
            if element.tag == "geom" and one.section != "tendon":
                self.assets.complete(element)
            if not one.section and self.compiler.get("angle", "degree") != "radian":
                state_degrees(element)
            shorten(element)
            if element is one.element or not one.section:
                self.defaults.override(element, one.section)

    def _refer(self, element: MjcfElement) -> None:
        for name, value in list(element.attributes.items()):
            kind = reference_kind(element, name) if name != "name" else ""
            if kind and kind not in ("camera", "flex", "hfield"):
                element.attributes[name] = self.reference(kind, str(value))

    # --- the result -----------------------------------------------------------------------------------

    def _set_text(self, name: str, data: str, *, is_added: bool = False) -> None:
        """State a text in `<custom>`, or more of it."""
        nodes = [
            node
            for node, tag in enumerate(self.tags)
            if tag == "text" and self.document.attribute_text(node, "name") == name
        ]
        if nodes:
            before = self.document.attribute_text(nodes[0], "data")
            self.values[nodes[0], "data"] = f"{before} {data}" if is_added else data
            return
        self.insertions.append(
            Insertion(*self.section_place("custom"), MjcfElement("text", {"name": name, "data": data}), "custom")
        )

    def apply(self) -> SourceCopy:
        for name, data in self.names.texts().items():
            self._set_text(name, data)
        self.values |= expanded_keyframes(
            self.document, self.base_scene, self.insertions, partial(position, self.document), self.removed
        )
        self.values |= kept_classes(self.document, self.moved, self.defaults.name)
        content, numbers = insert_elements(self.document, self.insertions, self.values, self.removed)
        content, numbers = move_bodies(content, numbers, self.moved, self.base_scene)
        lost = {inner for node in self.removed for inner in range(node, self.ends[node])}
        edited = {*self.values, *(state_lists(self.document) if self.moved else ())}
        fates = {key: EDITED for key in edited if key[1] in self.document.attributes(key[0])} | self.fates
        return SourceCopy(
            content,
            fates,
            source_numbers=numbers,
            removed=frozenset(lost),
            replaced_items=frozenset(id(one.source) for one in self.replaced.values()),
            moved=frozenset(inner for one in self.moved for inner in range(one.node, self.ends[one.node])),
        )
