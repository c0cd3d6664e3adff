"""Writes the preserved elements of a scene that was read from MJCF.

The elements stay as they are, but for names: they refer to the written bodies, joints, geoms and sites.  An element
that refers to something that is not written is omitted.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from exoskel.formats.mjcf.extra_attributes import add_extra_attributes, add_options, add_sizes
from exoskel.formats.mjcf.ignored_words import ignored_element
from exoskel.formats.mjcf.item_keys import find_value, item_keys
from exoskel.formats.mjcf.model.driven_joints import element_name, has_activation
from exoskel.formats.mjcf.model.layout import WorldLayout
from exoskel.formats.mjcf.model.tendons import tendon_name
from exoskel.formats.mjcf.names import GENERATED, plain_name
from exoskel.formats.mjcf.preserved_elements import (
    ACTUATOR_TAGS,
    ItemReference,
    PreservedElements,
    SourceElement,
    copy_element,
    references,
)
from exoskel.formats.mjcf.scenery import remove_range
from exoskel.formats.mjcf.tree import MjcfElement
from exoskel.formats.mjcf.unknown_words import (
    REFUSED,
    is_unknown,
    refuses_words,
    remove_unknown_words,
    unknown_attributes,
)
from exoskel.scene.actuator import ROTATION_VECTORS
from exoskel.scene.body import Body, Marker
from exoskel.scene.item import Item, Names, unique_name
from exoskel.scene.joint import Joint
from exoskel.scene.model import Model
from exoskel.scene.shape import Shape
from exoskel.scene.world import Scene, World
from exoskel.source.document import Document
from exoskel.source.output_context import OutputContext
from exoskel.source.textures import ImageError

MAIN_CLASS = f"{GENERATED}main"
"""The default class for what the source states for all elements: parts of ours must not inherit it."""
_ORDER = (
    "asset",
    "deformable",
    "tendon",
    "actuator",
    "equality",
    "contact",
    "sensor",
    "custom",
    "visual",
    "statistic",
    "compiler",
)
"""Sections in the order in which their elements may refer to each other."""
_CONSTRAINT_TAGS = frozenset({"connect", "weld", "joint", "tendon", "distance"})
_RELATIVE_SENSORS = frozenset({"jointvel", "jointactuatorfrc", "jointlimitvel", "jointlimitfrc"})
"""Elements that do not depend on the position of a joint in the reference pose."""
_POSITION_SENSORS = frozenset({"jointpos", "jointlimitpos"})


def _control_count(actuator: SourceElement) -> int:
    return 1 if actuator.state is None else actuator.state.controls.shape[1]


def _activation_count(actuator: SourceElement) -> int:
    return 0 if actuator.state is None else actuator.state.activations.shape[1]


def depends_on_inertial_axes(sensor: MjcfElement) -> bool:
    """Whether the values of a sensor depend on the principal axes of a body, whose order is not part of a scene."""
    is_turned = sensor.tag in ("framequat", "framexaxis", "frameyaxis", "framezaxis")
    return sensor.attributes.get("reftype") == "body" or (is_turned and sensor.attributes.get("objtype") == "body")


def add_preserved_elements(root: MjcfElement, scene: Scene, output: OutputContext) -> None:
    """Add what the scene's source states and its items do not; records the nodes in `output.preserved_nodes`."""
    preserved = scene.source_info.preserved
    if isinstance(preserved, PreservedElements) and preserved and scene.documents:
        _PreservedWriter(root, scene, preserved, output).write()


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

    def name(self, kind: str, reference: ItemReference, section: str = "") -> str | None:
        """The name of what a reference in a section leads to; None if it is not in the document."""
        found = self._items.get((kind, reference.node), [])
        same = [one for one in found if one[2] == reference.name] if len(found) > 1 else found
        same = [one for one in same if one[0].name == reference.model] or same
        if not same:
            return None
        model, item, _ = same[0]
        if section == "actuator" and isinstance(item, Joint) and _has_other_forces(reference.joint_kind, item.kind):
            return None
        return (
            self._joint_name(model, item, reference) if isinstance(item, Joint) else self._names.get((kind, id(item)))
        )

    def _joint_name(self, model: Model, joint: Joint, reference: ItemReference) -> str | None:
        chain, names = self.layout.chain(model, joint)
        found = [name for name, link in zip(names, chain, strict=True) if reference.coordinate in link.coordinates]
        return found[0] if found and found[0] in self._joints else None


def _has_other_forces(before: str, kind: str) -> bool:
    """Whether the gear of an actuator stands for other forces and torques at a joint of another kind."""
    return before != kind and not ROTATION_VECTORS.isdisjoint((before, kind))


def _inheriting_tags(stated: set[str]) -> frozenset[str]:
    """The tags of the elements that defaults with some tags apply to.

    Defaults of all kinds of actuators are one, and so are those of tendons and of constraints.
    """
    found = {"material", "pair"} & stated
    found |= set(ACTUATOR_TAGS) if stated & set(ACTUATOR_TAGS) else set()
    found |= {"fixed", "spatial"} if "tendon" in stated else set()
    found |= _CONSTRAINT_TAGS if "equality" in stated else set()
    return frozenset(found)


def _class_names(defaults: Sequence[MjcfElement]) -> dict[str, str]:
    """The names of default classes without slashes, which some readers refuse, by those in the source."""
    names = [str(one.attributes["class"]) for main in defaults for one in main.iter() if "class" in one.attributes]
    taken = Names(name for name in names if "/" not in name)
    found: dict[str, str] = {}
    for name in dict.fromkeys(name for name in names if "/" in name):
        found[name] = unique_name(name.replace("/", "_"), taken)
        taken.add(found[name])
    return found


def _class_names_of(scene: Scene, nodes: Collection[int]) -> set[str]:
    """The names of those of the nodes of the document that are default classes."""
    document = scene.documents[0]
    if not nodes or not isinstance(document, Document):
        return set()
    return {document.attribute_text(node, "class") for node in nodes if document.outline.tags[node] == "default"}


def _all_items(world: World) -> Iterator[tuple[str, Model, Item, str]]:
    for model in world.models:
        for body in model.bodies:
            yield "body", model, body, body.name
            yield from (("geom", model, shape, shape.name) for shape in body.shapes)
            yield from (("site", model, marker, marker.name) for marker in body.markers)
        yield from (("joint", model, joint, joint.name) for joint in model.joints)


_WRITTEN = ("actuator", "tendon")
"""Kinds of elements that are not written if they refer to something that does not exist."""


class _PreservedWriter:
    def __init__(self, root: MjcfElement, scene: Scene, preserved: PreservedElements, output: OutputContext) -> None:
        self.root = root
        self.world = world = scene.world
        self.preserved = preserved
        self.output = output
        self.items = _MjcfItemNames(root, world)
        self.names: dict[tuple[str, str], str] = {("body", "world"): "world"}
        """The names of what is written, by kind and by the name in the source."""
        self.names |= {("camera", camera.name): camera.name for camera in world.cameras if camera.name}
        self.names |= {("actuator", actuator.name): element_name(actuator) for actuator in world.actuators}
        self.names |= {("tendon", tendon.name): tendon_name(tendon.name) for tendon in world.tendons}
        written = {kind: {one.attributes.get("name") for one in root.child(kind).children} for kind in _WRITTEN}
        self.names = {key: name for key, name in self.names.items() if name in written.get(key[0], (name,))}
        self.taken: dict[str, Names] = {
            kind: Names(str(one.attributes.get("name", "")) for one in root.child(kind).children)
            for kind in ("tendon", "actuator", "equality", "sensor")
        }
        self.names |= {("sensor", sensor.name): sensor.name for sensor in world.sensors}
        mains = [one.element for one in preserved.defaults]
        self.main_names = {"main", *(str(one.attributes.get("class", "main")) for one in mains)}
        self.main_tags = _inheriting_tags({child.tag for one in mains for child in one.children})
        """Elements for which the main default class states something."""
        self.classes = _class_names(mains)
        self.keys = item_keys(world.bodies())
        document = scene.documents[0]
        self.document = document if isinstance(document, Document) else None
        self.unselected_classes = _class_names_of(scene, output.unselected_nodes)

    def write(self) -> None:
        by_section: dict[str, list[SourceElement]] = {name: [] for name in _ORDER}
        for one in self.preserved.elements:
            if one.node not in self.output.unselected_nodes:
                by_section[one.section].append(one)
        self._rank_assets(by_section["asset"])
        written = [(one, made) for name in _ORDER for one in by_section[name] if (made := self._rewrite(one))]
        if any(made.tag == "statistic" or any(part.tag == "map" for part in made.children) for _, made in written):
            remove_range(self.root)
        for one, made in written:
            self._section(one).children.append(made)
            self.output.preserved_nodes |= {one.node} | ({one.section_node} if one.section == "sensor" else set())
            if (ignored := ignored_element(made, one.section, self.output.target)) is not None:
                self.output.carried_nodes[0, one.node] = ignored
        self._add_states([one for one, _ in written if one.section == "actuator"])
        self._sort_actuators({id(made): one for one, made in written if one.section == "actuator"})
        if any(made.tag not in ("visual", "statistic", "texture") for _, made in written):
            self._add_defaults()
            self.root.child("compiler").attributes["autolimits"] = self.preserved.has_automatic_limits
        if any(made.tag == "texture" and made.attributes.get("type") == "skybox" for _, made in written):
            assets = self.root.child("asset")
            assets.children = [one for one in assets.children if one.attributes.get("name") != f"{GENERATED}sky"]
        self._sort_sensors({id(made): one.node for one, made in written if one.section == "sensor"})
        self._add_materials()
        if self.preserved.extras is not None:
            textures = {name: written for (kind, name), written in self.names.items() if kind == "texture"}
            add_extra_attributes(self.root, self.preserved.extras, self.items.name, textures, self.keys, self.output)
        self._add_mocap_states()
        self._add_tendon_attributes()
        add_options(self.root, self.preserved.options, self.output)
        add_sizes(self.root, self.preserved.sizes, self.output)
        self._remove_unknown_words([(one.node, made) for one, made in written])
        self.root.children = [one for one in self.root.children if one.children or one.attributes]

    def _remove_unknown_words(self, preserved: Sequence[tuple[int, MjcfElement]]) -> None:
        """Remove what the program refuses, from preserved elements and from all others."""
        output, document = self.output, self.document
        unknown = unknown_attributes(output.target)
        if unknown is None:
            return
        words, verdict = unknown
        stated = {(node, name) for node, made in preserved for name in made.attributes} | output.preserved_attributes
        if document is not None:
            tags = document.outline.tags
            refused = {(node, name) for node, name in stated if name in words.get(tags[node], ())}
            output.refused_attributes |= dict.fromkeys(refused, verdict)
            output.preserved_attributes -= refused
        remove_unknown_words(self.root, output.target)

    def _sort_sensors(self, nodes: Mapping[int, int]) -> None:
        """Sort sensors as in the source; `nodes` are those of preserved elements, by their ids.

        Those of the world stay in its order; new ones follow the one before them there.
        """
        ranks = {key: rank for rank, key in enumerate(self.preserved.sensors)}
        places: dict[int, int] = {}
        last = -1
        for one in self.root.child("sensor").children:
            node = nodes.get(id(one))
            own = ranks.get(str(one.attributes.get("name", "")) if node is None else node)
            if node is None:
                last = max(last, -1 if own is None else own)
            places[id(one)] = last if node is None else len(ranks) if own is None else own
        self.root.child("sensor").children.sort(key=lambda one: places[id(one)])

    def _sort_actuators(self, preserved: Mapping[int, SourceElement]) -> None:
        """Place preserved actuators among those of the world as in the source, as programs refer to them by number.

        Those of the world stay in its order.  Keyframes state controls in the order of the actuators.
        """
        ranks = {key: rank for rank, key in enumerate(self.preserved.actuators)}
        own_ranks = {element_name(one): ranks[one.name] for one in self.world.actuators if one.name in ranks}
        section, places, last = self.root.child("actuator"), list[int](), -1
        counts: dict[str, list[int]] = {"ctrl": [], "act": []}
        for one in section.children:
            source = preserved.get(id(one))
            counts["ctrl"].append(1 if source is None else _control_count(source))
            counts["act"].append(int(has_activation(one)) if source is None else _activation_count(source))
            if source is not None:
                places.append(ranks.get(source.node, len(ranks)))
            else:
                last = max(last, own_ranks.get(str(one.attributes.get("name", "")), -1))
                places.append(last)
        order = sorted(range(len(places)), key=places.__getitem__)
        section.children = [section.children[i] for i in order]
        for key in (key for part in self.root.children if part.tag == "keyframe" for key in part.children):
            for name, sizes in counts.items():
                numbers = key.attributes.get(name)
                if isinstance(numbers, list | tuple) and len(numbers) == sum(sizes):
                    own = [numbers[sum(sizes[:i]) : sum(sizes[: i + 1])] for i in order]
                    key.attributes[name] = [value for values in own for value in values]

    def _add_states(self, actuators: list[SourceElement]) -> None:
        """Let keyframes state the controls and activations of preserved actuators, which follow all others."""
        count = len(self.root.child("actuator").children) - len(actuators)
        active = sum(map(has_activation, self.root.child("actuator").children[:count]))
        width = sum(map(_activation_count, actuators))
        for key, row in self._keyframe_rows() if actuators else ():
            states = [one.state for one in actuators] if row >= 0 else []
            controls = [value for state in states if state is not None for value in state.controls[row].tolist()]
            activations = [value for state in states if state is not None for value in state.activations[row].tolist()]
            own = key.attributes.get("ctrl")
            if isinstance(own, list | tuple) or any(controls):
                own = own if isinstance(own, list | tuple) else [0.0] * count
                key.attributes["ctrl"] = [*own, *(controls or [0.0] * sum(map(_control_count, actuators)))]
            stated = key.attributes.get("act")
            if width and (isinstance(stated, list | tuple) or (any(activations) and len(activations) == width)):
                stated = stated if isinstance(stated, list | tuple) else [0.0] * active
                key.attributes["act"] = [*stated, *(activations if len(activations) == width else [0.0] * width)]
        if len(actuators) == sum(one.section == "actuator" for one in self.preserved.elements):
            self.output.preserved_attributes |= {(one.node, "act") for one in self.preserved.keyframes if one.node >= 0}

    def _add_mocap_states(self) -> None:
        """Let keyframes state the poses of mocap bodies, in the order of these."""
        known = self.preserved.mocap
        bodies = [one for one in self.root.child("worldbody").children if one.attributes.get("mocap")]
        items = [one.item for one in bodies]
        states = [known.get((one.node, one.name)) for one in items if isinstance(one, Body)]
        if not known or self.output.is_rotated or len(states) < len(bodies) or not bodies:
            return
        for key, row in self._keyframe_rows():
            if row >= 0 and all(one is not None for one in states):
                key.attributes["mpos"] = [x for one in states if one is not None for x in one.positions[row].tolist()]
                key.attributes["mquat"] = [
                    x for one in states if one is not None for x in one.quaternions[row].tolist()
                ]
        if len(bodies) == len(known):
            nodes = [one.node for one in self.preserved.keyframes if one.node >= 0]
            self.output.preserved_attributes |= {(node, name) for node in nodes for name in ("mpos", "mquat")}

    def _keyframe_rows(self) -> Iterator[tuple[MjcfElement, int]]:
        """The keyframes of the document, with their rows in preserved states."""
        keys = [key for section in self.root.children if section.tag == "keyframe" for key in section.children]
        first = len(keys) - len(self.world.keyframes)
        for number, key in enumerate(keys):
            name = self.world.keyframes[number - first].name if number >= first else None
            yield key, self._keyframe_row(name, number - first + 1)

    def _keyframe_row(self, name: str | None, number: int) -> int:
        """The row of a keyframe in the states of actuators: 0 for the initial state; -1 if it was not read.

        Keyframes are found by their names, those without a name by their numbers.
        """
        known = self.preserved.keyframes
        if name is None:
            return 0 if known else -1
        if name:
            return next((row for row, one in enumerate(known) if row and one.name == name), -1)
        return number if number < len(known) and not known[number].name else -1

    @staticmethod
    def _rank_assets(assets: list[SourceElement]) -> None:
        """Textures first, as materials refer to them, and skins last, as they refer to materials."""
        ranks = {"texture": 0, "skin": 2}
        assets.sort(key=lambda one: ranks.get(one.element.tag, 1))

    def _section(self, source: SourceElement) -> MjcfElement:
        return self.root if source.section == source.element.tag else self.root.child(source.section)

    # --- elements -------------------------------------------------------------------------------------

    def _rewrite(self, source: SourceElement) -> MjcfElement | None:
        """The element with the written names; None if it refers to something that is not written."""
        if source.section == "statistic" and self.output.is_rotated:
            return None  # its centre is in the frame of the world
        made = copy_element(source.element)
        if refuses_words(self.output.target) and is_unknown(made):
            self.output.carried_nodes[0, source.node] = REFUSED
            return None
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
        self._rename_classes(made)
        self._set_name(made, source.section)
        return made

    def _written_name(self, kind: str, name: str, element: MjcfElement, section: str) -> str | None:
        """The name in the document of something that an element of a section refers to."""
        if kind in ("tendon", "actuator"):
            name = plain_name(name) if (kind, name) not in self.names else name
        known = self.names.get((kind, name))
        if section == "sensor" and depends_on_inertial_axes(element):
            return None
        is_length = section not in ("sensor", "equality") or element.tag == "tendonpos"
        if kind == "tendon" and is_length:  # constraints are relative to the length in the reference pose
            extra = self.preserved.tendons.get(name)
            if extra is not None and extra.is_shifted:
                return None
        reference = self.preserved.items.get((kind, name))
        if known is not None or reference is None:
            return known
        is_absolute = element.tag not in _RELATIVE_SENSORS and (section != "sensor" or element.tag in _POSITION_SENSORS)
        if reference.is_shifted and is_absolute:
            return None
        return self.items.name(kind, reference, section)

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
        if self.output.is_copied(path):
            try:
                return self.output.copy_image(Path(path), is_readable=True)
            except ImageError:
                return None
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
            made = copy_element(source.element)
            for one in made.iter():
                one.children = [child for child in one.children if not self._is_unselected_class(child)]
            self._rename_classes(made)
            target.children += made.children

    def _is_unselected_class(self, made: MjcfElement) -> bool:
        return made.tag == "default" and made.attributes.get("class") in self.unselected_classes

    def _rename_classes(self, made: MjcfElement) -> None:
        for one in made.iter():
            if (name := one.attributes.get("class")) is not None:
                one.attributes["class"] = self.classes.get(str(name), name)

    def _add_tendon_attributes(self) -> None:
        """Give tendons the solver settings and the appearance of the source."""
        extra = {tendon_name(name): found for name, found in self.preserved.tendons.items()}
        for tendon in self.root.child("tendon").children:
            found = extra.get(str(tendon.attributes.get("name", "")))
            if found is None:
                continue
            values = dict(found.values)
            material = values.pop("material", None)
            written = self.names.get(("material", str(material))) if material else None
            tendon.attributes |= values | ({} if written is None else {"material": written})
            lost = {"material"} if material and written is None else set()
            self.output.preserved_attributes |= {(found.node, name) for name in found.stated - lost}

    def _add_materials(self) -> None:
        """Give geoms and sites the materials of the source."""
        for one in self.root.child("worldbody").iter():
            if not isinstance(one.item, Shape | Marker):
                continue
            material = find_value(self.preserved.materials, self.keys.get(id(one.item)))
            if isinstance(one.item, Shape) and self.preserved.appearances.get(material or "") != one.item.material:
                continue  # it was edited
            written = self.names.get(("material", material)) if material else None
            if written is not None:
                one.attributes["material"] = written
                if isinstance(one.item, Marker):
                    self.output.preserved_attributes.add((one.item.node, "material"))
