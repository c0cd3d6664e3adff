"""Writing scenes: canonical text in a format's own words, and what these cannot say carried along.

What has to be carried is not listed anywhere: the format's own text is read back, and every field that does not
come back as it was is carried.
"""

from __future__ import annotations

from math import inf
from pathlib import Path
from typing import Any

from msgspec import Struct

from exoskel.diagnostics import ExoskelError
from exoskel.formats import registry
from exoskel.formats.comments_and_extensions import PreservedData, keep, keep_comments
from exoskel.formats.model_grouping import Row, row_of
from exoskel.formats.read_options import Dialect, ReadOptions
from exoskel.scene.body import Body
from exoskel.scene.copies import copy_scene
from exoskel.scene.fields import Difference, differences, iter_items, relative_difference
from exoskel.scene.initial_velocities import bodies_moved_by_initial_positions
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.json_codec import encode_json, field_value, fingerprint, name_in_file
from exoskel.scene.validation import first_joint_problem, first_non_finite_number
from exoskel.scene.world import Model, Scene, World
from exoskel.source.canonical_layout import format_document
from exoskel.source.document import Document
from exoskel.source.embedded_data import EXTENSION, NAMESPACE, PREFIX
from exoskel.source.location import Location
from exoskel.source.markup import Markup, UnwritableError, serialize
from exoskel.source.output_context import Circumstances, OutputContext, Target

TOLERANCE = 1e-12
"""Poses and moments that come back this close are not carried: they are only spelled otherwise."""
_SPELLED_OTHERWISE = ("pose", "axes", "inertia", "soft")
"""The fields that hold such; all others come back exactly or are carried, however small a number is."""


class EmbeddedField(Struct, frozen=True):
    """A field, or with no field a whole item, that the format has no words for.

    `error` is how far the format's own words are off, infinite where they say something else altogether.
    """

    item: Item
    field: str = ""
    error: float = inf


class Written(Struct):
    """A document that was made from a scene.

    `native` is the scene that a reader without our extension sees; `counterparts` are the items in it, by the id
    of the item they were written from; `full` is the scene that our own reader makes of `data`, and `seen` what it
    makes of it without our extension, as anyone would.  An output that is `plain` carries nothing: all three are the
    same.  `elements` are the ids of items that have an element of their own.
    """

    data: bytes
    native: Scene
    counterparts: dict[int, Item]
    carried: list[EmbeddedField]
    output: OutputContext
    kept: PreservedData
    full: Scene
    seen: Scene
    plain: bool = False
    elements: frozenset[int] = frozenset()


def write(
    scene: Scene,
    format: str,
    *,
    folder: Path | None = None,
    target: Target = "portable",
    output: OutputContext | None = None,
) -> Written:
    """The scene in a format, for a document that will lie in `folder`.

    Portable text is settled: what is read from it and written again is the same text.  `output` says how files are
    referred to that go with the document.
    """
    problem = first_joint_problem(joint for world in scene.worlds for joint in world.joints())
    if problem:
        raise UnwritableError(problem)
    try:
        return _settled(scene, format, output or OutputContext(folder, target))
    except ValueError as error:
        raise (UnwritableError(problem) if (problem := first_non_finite_number(scene)) else error) from None


def _settled(scene: Scene, format: str, output: OutputContext) -> Written:
    readings = _Readings(format)
    written = _write_once(scene, format, output, readings)
    for _ in range(0 if written.plain else _ROUNDS):
        written.full, written.seen = readings.of(written.data, output)
        again = _write_once(written.full, format, output.anew(), readings)
        if again.data == written.data:
            return written
        # Rounding: numbers that were taken apart and put together again have come back a bit off.
        written.data = again.data
    if not written.plain:
        written.full, written.seen = readings.of(written.data, output)
    return written


_ROUNDS = 4


class _Readings:
    """What written text was read back as, so that the same text in the same circumstances is read once."""

    def __init__(self, format: str) -> None:
        self.format = format
        self.known: list[tuple[bytes, Circumstances, _Both]] = []

    def of(self, data: bytes, output: OutputContext) -> _Both:
        """With what it carries, and without."""
        now = output.circumstances()
        for text, circumstances, found in self.known:
            if text == data and circumstances == now:
                return found
        bare: list[Scene] = []
        full = read_back(data, self.format, output, plainly=lambda scene: bare.append(copy_scene(scene)))
        self.known.append((data, now, (full, output.restore(bare[0]) if bare else full)))
        return self.known[-1][2]


_Both = tuple[Scene, Scene]


def _write_once(scene: Scene, format: str, output: OutputContext, readings: _Readings) -> Written:
    chosen = registry.by_name(format)
    target = output.target
    capabilities = chosen.capabilities()
    output.knows_models = capabilities.resolves_model_uris
    if capabilities.compose is not None:
        made = capabilities.compose(scene, output)
        kept = PreservedData()
        native, pairs = made.native, made.counterparts
        return Written(made.data, native, pairs, [], output, kept, native, native, plain=True, elements=made.elements)
    root = chosen.writer()(scene, output)
    kept = PreservedData() if chosen.embeds_data else keep_comments(root, scene, is_part=output.is_part)
    data = serialize(root).encode()
    native, _ = readings.of(data, output)
    loader = _Loader(scene, native, root, _STYLES.get(chosen.name, _PLAIN), output)
    is_plain = target != "portable" or not chosen.embeds_data
    if not is_plain:
        loader.load()
        kept = keep(root, scene, chosen.name)
        if loader.has_placed or kept.comments or kept.copied:
            data = serialize(root).encode()
        if kept.copied:  # what was copied has a layout of its own
            data = format_document(Document(data), chosen.vocabulary())
    elements = frozenset(loader.elements)
    return Written(data, native, loader.counterparts, loader.carried, output, kept, native, native, is_plain, elements)


def read_back(data: bytes, format: str, output: OutputContext, **options: Any) -> Scene:
    """What was written to an output that is not there yet, in the words of its source where files are missing."""
    return output.restore(reread(data, format, output.folder, output.target, **output.reading(), **options))


def reread(data: bytes, format: str, folder: Path | None, target: Target = "portable", **options: Any) -> Scene:
    """Written bytes as a reader sees them."""
    location = Location(path=str(folder / f"scene.{format}")) if folder is not None else Location()
    document = Document(data, f"<{format}>", location)
    dialect: Dialect = "pyode" if target == "pyode" else "spec"
    return registry.by_name(format).reader()(document, ReadOptions(dialect=dialect, **options))


class _Namespaced:
    """SKEL ignores elements it does not know, so ours stand where they belong, in a namespace."""

    exact: frozenset[tuple[type[Item], str]] = frozenset()
    at_start = False

    def prepare(self, root: Markup) -> None:
        root.attributes.setdefault(f"xmlns:{PREFIX}", NAMESPACE)

    def place(self, owner: Markup, element: Markup) -> None:
        element.tag = f"{PREFIX}:{element.tag}"
        owner.children.append(element)


class _Extended:
    """XODE has a place for data of applications.

    It states joints and moments in other frames than the scene does: there and back again a bit is lost each
    time, so these are carried unless they come back exactly.
    """

    exact: frozenset[tuple[type[Item], str]] = frozenset(
        {(Joint, "pose"), (Joint, "axes"), (Joint, "dofs"), (Body, "inertia")}
    )
    at_start = True

    def prepare(self, root: Markup) -> None:
        pass

    def place(self, owner: Markup, element: Markup) -> None:
        last = owner.children[-1] if owner.children else None
        if owner.tag == "world":
            last = next((c for c in owner.children if c.attributes.get("ename") == EXTENSION), None)
        if last is None or last.attributes.get("ename") != EXTENSION:
            last = Markup("ext", {"ename": EXTENSION})
            owner.children.insert(1 if owner.tag == "world" else len(owner.children), last)
        last.children.append(element)


class _Plain:
    """Other formats have no place for data of ours: what they cannot say is lost, and the account tells it."""

    exact: frozenset[tuple[type[Item], str]] = frozenset()
    at_start = False

    def prepare(self, root: Markup) -> None:
        pass

    def place(self, owner: Markup, element: Markup) -> None:
        raise ExoskelError(f"there is no place for <{element.tag}> in <{owner.tag}>")


_Style = _Namespaced | _Extended | _Plain
_STYLES: dict[str, _Style] = {"skel": _Namespaced(), "xode": _Extended()}
_PLAIN = _Plain()


class _Loader:
    """Finds what did not come back, and has it carried."""

    def __init__(self, scene: Scene, native: Scene, root: Markup, style: _Style, output: OutputContext) -> None:
        self.scene = scene
        self.output = output
        self.root = root
        self.style = style
        self.native = native
        self.has_placed = False
        """Whether the tree holds anything that the format's writer did not put there."""
        self.carried: list[EmbeddedField] = []
        self.elements: dict[int, Markup] = {}
        self.counterparts: dict[int, Item] = {}
        index = {(type(item), item.node): item for item, _, _ in iter_items(native) if not _is_implicit(item)}
        for number, element in enumerate(root.iter()):
            if isinstance(element.item, Item):
                found = index.get((type(element.item), number))
                if found is not None:
                    self.elements[id(element.item)] = element
                    self.counterparts[id(element.item)] = found
        self.moved: set[int] = set()
        """Bodies that the format states where they are at the start, which is not where their poses say."""
        if style.at_start:
            self.moved.update(
                *(bodies_moved_by_initial_positions(model) for world in scene.worlds for model in world.models)
            )
        if isinstance(style, _Plain):
            self._pair_holders()
        self._pair_root_joints()

    def _pair_holders(self) -> None:
        """Worlds and models that the format has no element for: in their order, and by what they hold."""
        homes = {id(body): model for world in self.native.worlds for model in world.models for body in model.bodies}
        for world, other in zip(self.scene.worlds, self.native.worlds, strict=False):
            self.counterparts.setdefault(id(world), other)
            for model in world.models:
                held = [self.counterparts.get(id(body)) for body in model.bodies]
                home = next((homes[id(body)] for body in held if body is not None), None)
                if home is not None:
                    self.counterparts.setdefault(id(model), home)

    def _pair_root_joints(self) -> None:
        """Joints that the format has no element for, because it knows that a body without one floats."""
        holders = {id(joint.child): joint for world in self.native.worlds for joint in world.joints() if not joint.loop}
        taken = set() if isinstance(self.style, _Plain) else {id(item) for item in self.counterparts.values()}
        for world in self.scene.worlds:
            for joint in world.joints():
                body = self.counterparts.get(id(joint.child))
                if id(joint) in self.counterparts or body is None or joint.loop or id(body) not in holders:
                    continue
                if id(holders[id(body)]) not in taken:  # a loop may have become what holds the body
                    self.counterparts[id(joint)] = holders[id(body)]
            for model in world.models:
                self._pair_environment(model)

    def _pair_environment(self, model: Model) -> None:
        """A model without elements of its own: what stands still in XODE."""
        if id(model) in self.counterparts or len(model.bodies) != 1 or id(model.bodies[0]) in self.counterparts:
            return
        same = [m for world in self.native.worlds for m in world.models if m.static and m.name == model.name]
        if same and len(same[0].bodies) == 1:
            for mine, theirs in ((model, same[0]), (model.bodies[0], same[0].bodies[0])):
                self.counterparts[id(mine)] = theirs
            if model.joints and same[0].joints:
                self.counterparts[id(model.joints[0])] = same[0].joints[0]

    # --- carrying -------------------------------------------------------------------------------------

    def load(self) -> None:
        self._fields()
        for item, holder, name in iter_items(self.scene):
            if id(item) not in self.counterparts and holder is not None and name not in ("models", "bodies"):
                self._whole(item, holder, name)
        for element in list(self.root.iter()):
            if element.placeholder:
                self._place(element, Markup("stand-in"))
        for world in self.scene.worlds:
            self._grouping(world)

    def _place(self, owner: Markup, element: Markup) -> None:
        self.has_placed = True
        self.style.prepare(self.root)
        self.style.place(owner, element)

    def _fields(self) -> None:
        pairs = [
            (item, self.counterparts[id(item)])
            for item, _, _ in iter_items(self.scene)
            if id(item) in self.counterparts and not self._is_ungrouped(item)
        ]
        order = {id(item): number for number, (item, _) in enumerate(pairs)}
        found = [d for d in differences(pairs) if d.error > TOLERANCE or self._has_drifted(d)]
        for one in sorted(found, key=lambda d: order[id(d.one)]):
            attributes = {"field": name_in_file(one.field), "was": fingerprint(field_value(one.other, one.field))}
            owner = self.elements.get(id(one.one))
            if owner is None and isinstance(one.one, Joint):
                owner = self.elements.get(id(one.one.child))
                attributes = {"of": "joint", **attributes}
            if owner is None:
                raise ExoskelError(f"there is no place for the {one.field} of {one.one!r}")
            self._place(owner, Markup("carry", attributes, self.output.carried(one.one, one.field)))
            self.carried.append(EmbeddedField(one.one, one.field, one.error))

    def _has_drifted(self, found: Difference) -> bool:
        """Whether a small difference is more than another spelling, or would grow with every reading and writing."""
        if found.field not in _SPELLED_OTHERWISE or (type(found.one), found.field) in self.style.exact:
            return True
        if found.field == "pose" and id(found.one) in self.moved:
            return True  # it would be moved once more by the next writing
        return found.field == "pose" and found.one.pose.position != found.other.pose.position  # type: ignore[attr-defined]

    def _is_ungrouped(self, item: Item) -> bool:
        """Models that have no element: they are told by how bodies are grouped."""
        return isinstance(item, Model) and id(item) not in self.elements

    def _whole(self, item: Item, holder: Item, name: str) -> None:
        owner = self.elements.get(id(holder))
        if owner is None and isinstance(item, Joint):
            owner = self.elements.get(id(item.child))
        if owner is None:
            raise ExoskelError(f"there is no place for {item!r}")
        place = next(i for i, one in enumerate(getattr(holder, name)) if one is item)
        attributes = {"to": name, "at": str(place)}
        self._place(owner, Markup("add", attributes, self.output.carried(item)))
        self.carried.append(EmbeddedField(item))

    # --- grouping -------------------------------------------------------------------------------------

    def _grouping(self, world: World) -> None:
        owner = self.elements.get(id(world))
        other = self.counterparts.get(id(world))
        if owner is None or not isinstance(other, World) or all(id(m) in self.elements for m in world.models):
            return
        rows: list[Row] = []
        same = len(world.models) == len(other.models)
        for place, model in enumerate(world.models):
            if id(model) in self.counterparts and model.bodies and id(model.bodies[0]) not in self.elements:
                continue
            names = [self.elements[id(body)].attributes["name"] for body in model.bodies]
            rows.append(row_of(model, model.name, place, names))
            same = same and self._is_grouped(model, other.models[place])
        if not same:
            self._place(owner, Markup("models", {}, encode_json(rows)))
            self.carried += [EmbeddedField(model, "bodies") for model in world.models]

    def _is_grouped(self, model: Model, other: Model) -> bool:
        bodies = [self.counterparts.get(id(body)) for body in model.bodies]
        return (
            model.name == other.name
            and model.static == other.static
            and relative_difference(model.pose, other.pose) == 0.0
            and len(bodies) == len(other.bodies)
            and all(mine is theirs for mine, theirs in zip(bodies, other.bodies, strict=True))
        )


def _is_implicit(item: Item) -> bool:
    return isinstance(item, Joint) and item.implicit
