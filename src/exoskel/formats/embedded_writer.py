"""Embeds the data that a format cannot express in a document that is being written.

Nothing lists what has to be embedded.  The native document, without embedded data, is read back, and every field that
does not come back as it was is embedded.
"""

from __future__ import annotations

from math import inf

from msgspec import Struct

from exoskel.diagnostics import ExoskelError
from exoskel.scene.fields import Difference, differences, iter_items, relative_difference
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.json_codec import field_value, fingerprint
from exoskel.scene.kinematics import bodies_moved_by_initial_positions
from exoskel.scene.model import Model
from exoskel.scene.world import Scene, World
from exoskel.source.embedded_format import (
    EmbeddedDataFormat,
    EmbeddedElement,
    EmbeddedTag,
    GroupingRow,
    grouping_element,
)
from exoskel.source.markup import Markup
from exoskel.source.output_context import OutputContext


def has_native_grouping(model: Model) -> bool:
    """Whether a model is defined by its joints and named after its first body, so that it needs no row."""
    return model.given == frozenset({"bodies"})


# --- the writer ----------------------------------------------------------------------------------------


TOLERANCE = 1e-12
"""Poses and moments that come back this close are not embedded: only their form differs."""
_ROUNDING_ERROR = 1e-14
_FIELDS_WITH_FORMS = ("pose", "axes", "inertia", "soft")
"""Fields that can be written in several forms; all others come back exactly or are embedded."""


class EmbeddedField(Struct, frozen=True):
    """A field, or with no field a whole item, that the format cannot express.

    `error` is how far the native value is off, infinite where it is a different one altogether.  `text` is what whole
    items are embedded as.
    """

    item: Item
    field: str = ""
    error: float = inf
    text: str = ""


class WrittenItems:
    """The items of a scene beside the elements that they were written as.

    `native` is the scene that was read back.  `elements` and `counterparts` give the element of an item and the item
    in `native`, by the item's id.  With `has_all_elements`, only root joints and the environment may lack elements.
    """

    def __init__(self, scene: Scene, native: Scene, root: Markup, *, has_all_elements: bool) -> None:
        self.scene = scene
        self.native = native
        self.root = root
        self.has_all_elements = has_all_elements
        self.elements: dict[int, Markup] = {}
        self.counterparts: dict[int, Item] = {}
        index = {(type(item), item.node): item for item, _, _ in iter_items(native) if not _is_implicit(item)}
        for number, element in root.numbered():
            if isinstance(element.item, Item):
                found = index.get((type(element.item), number))
                if found is not None:
                    self.elements[id(element.item)] = element
                    self.counterparts[id(element.item)] = found
        if not has_all_elements:
            self._pair_worlds_and_models()
        self._pair_root_joints()

    def _pair_worlds_and_models(self) -> None:
        """Pair worlds and models that the format has no element for: by their order and their bodies."""
        models = {id(body): model for world in self.native.worlds for model in world.models for body in model.bodies}
        for world, other in zip(self.scene.worlds, self.native.worlds, strict=False):
            self.counterparts.setdefault(id(world), other)
            for model in world.models:
                bodies = [self.counterparts.get(id(body)) for body in model.bodies]
                found = next((models[id(body)] for body in bodies if body is not None), None)
                if found is not None:
                    self.counterparts.setdefault(id(model), found)

    def _pair_root_joints(self) -> None:
        """Pair joints that the format has no element for, because there a body without a joint is floating."""
        joints = {id(joint.child): joint for world in self.native.worlds for joint in world.joints() if not joint.loop}
        paired = {id(item) for item in self.counterparts.values()} if self.has_all_elements else set()
        for world in self.scene.worlds:
            for joint in world.joints():
                body = self.counterparts.get(id(joint.child))
                if id(joint) in self.counterparts or body is None or joint.loop or id(body) not in joints:
                    continue
                if id(joints[id(body)]) not in paired:  # a loop joint may have become the parent joint
                    self.counterparts[id(joint)] = joints[id(body)]
            for model in world.models:
                self._pair_environment(model)

    def _pair_environment(self, model: Model) -> None:
        """Pair a model without elements of its own: the static geoms of XODE."""
        if id(model) in self.counterparts or len(model.bodies) != 1 or id(model.bodies[0]) in self.counterparts:
            return
        same = [m for world in self.native.worlds for m in world.models if m.static and m.name == model.name]
        if same and len(same[0].bodies) == 1:
            for mine, theirs in ((model, same[0]), (model.bodies[0], same[0].bodies[0])):
                self.counterparts[id(mine)] = theirs
            if model.joints and same[0].joints:
                self.counterparts[id(model.joints[0])] = same[0].joints[0]


class EmbeddedWriter:
    """Finds values that were not read back, and embeds them in the document.  `fields` lists the embedded ones."""

    def __init__(self, items: WrittenItems, embedding: EmbeddedDataFormat, output: OutputContext) -> None:
        self.items = items
        self.embedding = embedding
        self.output = output
        self.fields: list[EmbeddedField] = []
        self.has_changed = False
        """Whether the document holds anything that the format's writer did not put there."""
        self.placeholders = 0
        self.moved: set[int] = set()
        """Bodies, by id, whose poses in the format are those of the initial state."""
        if embedding.states_initial_poses:
            self.moved.update(
                *(bodies_moved_by_initial_positions(model) for world in items.scene.worlds for model in world.models)
            )

    def embed(self) -> None:
        items = self.items
        self._embed_fields()
        for item, container, name in iter_items(items.scene):
            if id(item) not in items.counterparts and container is not None and name not in ("models", "bodies"):
                self._embed_item(item, container, name)
        for element in list(items.root.iter()):
            if element.placeholder:
                self.placeholders += 1
                self._add(element, EmbeddedElement(EmbeddedTag.PLACEHOLDER))
        for world in items.scene.worlds:
            self._embed_grouping(world)

    def _add(self, owner: Markup, element: EmbeddedElement) -> None:
        self.has_changed = True
        self.embedding.add(self.items.root, owner, element.markup())

    def _embed_fields(self) -> None:
        elements, counterparts = self.items.elements, self.items.counterparts
        pairs = [
            (item, counterparts[id(item)])
            for item, _, _ in iter_items(self.items.scene)
            # Models without an element are described by how bodies are grouped.
            if id(item) in counterparts and not (isinstance(item, Model) and id(item) not in elements)
        ]
        order = {id(item): number for number, (item, _) in enumerate(pairs)}
        found = [
            d
            for d in differences(pairs)
            if (d.error > TOLERANCE or self._must_be_exact(d)) and not self._is_same_body(d)
        ]
        for difference in sorted(found, key=lambda d: order[id(d.one)]):
            item, field = difference.one, difference.field
            native = fingerprint(field_value(difference.other, field))
            element = EmbeddedElement(EmbeddedTag.FIELD, field=field, fingerprint=native)
            owner = elements.get(id(item))
            if owner is None and isinstance(item, Joint):
                owner = elements.get(id(item.child))
                element.is_of_parent_joint = True
            if owner is None:
                raise ExoskelError(f"the {field} of {item!r} cannot be embedded: there is no element for it")
            element.text = self.output.embedded_text(item, field)
            self._add(owner, element)
            self.fields.append(EmbeddedField(item, field, difference.error))

    def _is_same_body(self, found: Difference) -> bool:
        """Whether a joint is connected to the same body, which just has another name in the document."""
        if found.field not in ("child", "parent"):
            return False
        mine, theirs = getattr(found.one, found.field), getattr(found.other, found.field)
        return mine is not None and theirs is not None and self.items.counterparts.get(id(mine)) is theirs

    def _must_be_exact(self, found: Difference) -> bool:
        """Whether a small difference is more than another form, or would grow with every round trip."""
        is_rounded = self.output.given_numbers is not None
        if found.field == "pose" and is_rounded and found.error < _ROUNDING_ERROR:
            return False  # whether there is a difference depends on the processor
        if found.field == "pose" and id(found.one) in self.moved:
            return True  # the next round trip would move it again
        if (type(found.one), found.field) in self.embedding.exact_fields:
            return True
        if is_rounded:
            return False  # numbers that were rounded once do not change again
        if found.field not in _FIELDS_WITH_FORMS:
            return True
        return found.field == "pose" and found.one.pose.position != found.other.pose.position  # type: ignore[attr-defined]

    def _embed_item(self, item: Item, container: Item, name: str) -> None:
        owner = self.items.elements.get(id(container))
        if owner is None and isinstance(item, Joint):
            owner = self.items.elements.get(id(item.child))
        if owner is None:
            raise ExoskelError(f"{item!r} cannot be embedded: there is no element for it")
        index = next(i for i, other in enumerate(getattr(container, name)) if other is item)
        text = self.output.embedded_text(item)
        self._add(owner, EmbeddedElement(EmbeddedTag.ITEM, text, list_name=name, index=index))
        self.fields.append(EmbeddedField(item, text=text))

    # --- grouping -------------------------------------------------------------------------------------

    def _embed_grouping(self, world: World) -> None:
        elements, counterparts = self.items.elements, self.items.counterparts
        owner, other = elements.get(id(world)), counterparts.get(id(world))
        if owner is None or not isinstance(other, World) or all(id(m) in elements for m in world.models):
            return
        rows: list[GroupingRow] = []
        is_same = len(world.models) == len(other.models)
        for index, model in enumerate(world.models):
            if id(model) in counterparts and model.bodies and id(model.bodies[0]) not in elements:
                continue
            names = [elements[id(body)].attributes["name"] for body in model.bodies]
            rows.append(GroupingRow.of(model, model.name, index, names))
            is_same = is_same and self._is_grouped(model, other.models[index])
        if not is_same:
            self._add(owner, grouping_element(rows))
            self.fields += [EmbeddedField(model, "bodies") for model in world.models]

    def _is_grouped(self, model: Model, other: Model) -> bool:
        bodies = [self.items.counterparts.get(id(body)) for body in model.bodies]
        return (
            model.name == other.name
            and model.static == other.static
            and relative_difference(model.pose, other.pose) == 0.0
            and len(bodies) == len(other.bodies)
            and all(mine is theirs for mine, theirs in zip(bodies, other.bodies, strict=True))
        )


def _is_implicit(item: Item) -> bool:
    return isinstance(item, Joint) and item.implicit
