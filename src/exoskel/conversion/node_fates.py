"""The fates of all nodes of a document: each element, attribute, comment and instruction has exactly one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from operator import attrgetter

import msgspec

from exoskel.conversion.diagnostic_fates import DiagnosticFates, describe
from exoskel.conversion.format_fates import FormatFates, NonXmlFates
from exoskel.conversion.output_fates import EXACT, LISTED, EmbeddedFates, OutputFates, PyodeFates, partly_lost
from exoskel.conversion.passes import verdict_on_decomposed, verdict_on_lowered
from exoskel.conversion.selection import MODEL_NOT_SELECTED, WORLD_NOT_SELECTED
from exoskel.diagnostics import Diagnostic, Severity
from exoskel.fates import LOSSES, Fate, NodeFate, Verdict, no_effect
from exoskel.formats import registry
from exoskel.formats.comments_and_extensions import UNKNOWN_NAMESPACE, PreservedData
from exoskel.formats.interface import Format
from exoskel.formats.write import Written
from exoskel.scene.body import Body, Marker
from exoskel.scene.fields import CHILD_LISTS, FIELDS, items_by_document, iter_items
from exoskel.scene.item import Item, item_name
from exoskel.scene.joint import Joint
from exoskel.scene.lowering.joint_passes import Chain
from exoskel.scene.lowering.up_axis import UP_AXIS_PASS, anisotropic_fields
from exoskel.scene.model import Model
from exoskel.scene.shape import Shape
from exoskel.scene.world import Scene, World
from exoskel.source.document import Document
from exoskel.source.embedded_format import (
    EXTENSION,
    EmbeddedElement,
    EmbeddedTag,
    embedded_element,
    embedded_nodes,
    is_extension,
)
from exoskel.source.positions import Span
from exoskel.source.vocabulary import SceneField

_PRESERVED = Verdict(Fate.KEPT, "data of another application, preserved")
_WRITTEN_AGAIN = Verdict(Fate.KEPT, "not part of a scene; written to the same format as it is")
_FLATTENED = Verdict(Fate.LOWERED, "flattened into its content")
_UNUSED = Verdict(Fate.DROPPED, "not used")
_NO_EXTENSIONS = Verdict(Fate.DROPPED, "PyODE rejects extensions")
_NO_PLACE = Verdict(Fate.DROPPED, "data of another application; the output format does not support it")
_ROTATED = Verdict(Fate.LOWERED, f"rotated with the world by {UP_AXIS_PASS}")
_ROTATED_FIELDS = frozenset({(World, "gravity"), (Model, "pose"), (Body, "state")})
"""The fields that the rotation of the world changes."""
_ANISOTROPIC = Verdict(
    Fate.APPROXIMATED,
    f"differs between axes: MuJoCo uses the axes of the model, which {UP_AXIS_PASS} rotates, "
    "and DART those of the world",
)
_SINGLE_OWNERS = ("child", "body", "world")


class FateRecorder:
    """Determines the fates of the nodes of a document that was read into `scene` and written as `written`.

    `chains` are the lowered joints, by the ids of their last links.  `unselected` are elements of models that were not
    selected.  `moved_axes` are the numbers of the axes that a change of the up axis moved.  `parts` are the numbers of
    convex parts that meshes were decomposed into, by the documents and elements of the meshes.
    """

    def __init__(
        self,
        scene: Scene,
        document: Document,
        written: Written,
        source: str,
        target: str,
        chains: Mapping[int, Chain] | None = None,
        unselected: Collection[int] = (),
        moved_axes: frozenset[int] = frozenset(),
        parts: Mapping[tuple[int, int], int] | None = None,
    ) -> None:
        self.scene = scene
        self.chains = chains or {}
        self.unselected = unselected
        self.moved_axes = moved_axes
        self.parts = parts or {}
        self.document = document
        self.outline = document.outline
        self.source = registry.by_name(source)
        self.target = registry.by_name(target)
        self.mapping = self.source.source_mapping()
        self.related = _RelatedItems(scene)
        self.items_by_document = items_by_document(scene)
        self.items = self.items_by_document.get(0, {})
        self.file = ""
        self.written = written
        self.preserved = written.preserved
        self.has_embedded_data = not written.native_only
        self.is_for_pyode = written.output.target == "pyode"
        self.output = _output_fates(self.target, written)(scene, written, self.target, self.chains)
        self._verdicts: dict[tuple[int, SceneField], Verdict] = {}
        self._direct_verdicts: dict[tuple[int, int], Verdict] = {}
        """Verdicts by the ids of items and of rows in `_direct_rows`: a row takes long to hash."""
        self._direct_rows: dict[tuple[type[Item] | None, str], SceneField | None] = {}
        self._open_document()

    def _open_document(self) -> None:
        self.embedded = embedded_nodes(self.document)
        self.diagnostics = DiagnosticFates(self.scene, self.document, self.source, self.items.keys())
        self.unused = self._unused_nodes()
        self.generated = {} if self.file else self._generated_nodes()
        self.equalities = frozenset[int]() if self.file else self.scene.source_info.equalities
        """The elements of equality constraints of the world."""
        self.special = {*self.preserved.unknown, *self.preserved.nodes, *self.generated, *self.embedded}
        self.special |= self.equalities
        """Elements whose fates do not only depend on the field that they set."""

    def _generated_nodes(self) -> dict[int, Joint | Body]:
        """The joints and bodies that generated elements belong to, by these elements and those inside of them."""
        found: dict[int, Joint | Body] = {}
        for node, owner in self.scene.source_info.generated.items():
            item = self.items.get(owner)
            if isinstance(item, Joint | Body):
                found |= {n: item for n in range(node, self.outline.ends[node]) if n not in self.items}
        return found

    def fates(self) -> list[NodeFate]:
        """All fates, in the order of the document, and then those of the files that it includes."""
        found = [*self._element_fates(), *self._region_fates()]
        found.sort(key=attrgetter("line"))
        for number, document in enumerate(self.scene.documents):
            if number not in self.items_by_document or not number or not isinstance(document, Document):
                continue
            if document.outline.tags[:1] == self.outline.tags[:1]:  # a scene may be merged from other formats
                found += self._for_included(number, document).fates()
        return found

    def _for_included(self, number: int, document: Document) -> FateRecorder:
        """The recorder of a file that the document includes."""
        made = copy(self)
        made.document, made.outline, made.file = document, document.outline, document.name
        made.items, made.items_by_document = self.items_by_document[number], {}
        made.preserved, made.unselected = PreservedData(), ()
        made._open_document()
        return made

    # --- elements and attributes ----------------------------------------------------------------------

    def _element_fates(self) -> Iterator[NodeFate]:
        owners: list[tuple[Item | None, str]] = []
        dropped: list[Verdict | None] = []
        unread: set[int] = set()
        """Elements that were not read, and so neither was their content."""
        tags, unknown, includes = self.outline.tags, self.preserved.unknown, self.mapping.includes
        lines = self.document.lines(range(len(tags))) if tags else []
        paths, attributes = self.document.paths(), self.document.attributes
        limit = self.diagnostics.limit if self.diagnostics.changed else None
        for node, parent in enumerate(self.outline.parents):
            outer, path = owners[parent] if parent >= 0 else (None, "")
            above = dropped[parent] if parent >= 0 else None
            if above is not None and self._is_written(node):
                above = None
            owner, path = self._locate(node, outer, path, is_root=parent < 0)
            owners.append((owner, path))
            not_used = self.unused.get((node, "")) if self.unused else None
            lost = None if node in unknown else above or not_used
            found = lost or self._node_verdict(owner, path, node)
            if limit is not None and not lost and node not in unknown:
                found = limit(found, node)
            if tags[node] in includes and not lost:
                found = self._include_verdict(node, found)
            if (above and parent in unread) or (not_used is not None and not self._is_lost_embedded(node)):
                unread.add(node)
            drops_content = found.fate is Fate.DROPPED and self._drops_content(found, node, owner, path)
            dropped.append(found if drops_content or node in unread else None)
            shown = paths[node]
            affects_motion = found is EXACT or self._affects_motion(owner, path, found)
            yield self._node_fate(lines[node], shown, found, node, "", affects_motion)
            for name in attributes(node):
                inner = f"{path}/@{name}" if path else f"@{name}"
                verdict = self._attribute_verdict(node, name, inner, owner, dropped[-1])
                affects_motion = verdict is EXACT or self._affects_motion(owner, inner, verdict)
                yield self._node_fate(lines[node], f"{shown}/@{name}", verdict, node, name, affects_motion)

    def _node_fate(
        self, line: int, path: str, found: Verdict, node: int, attribute: str, affects_motion: bool
    ) -> NodeFate:
        fate, why, harmless, unselected = found
        loss, end = found is not EXACT and not harmless and fate in LOSSES, self.outline.ends[node]
        return NodeFate(line, path, fate, why, node, attribute, loss, self.file, affects_motion, end, unselected)

    def _affects_motion(self, owner: Item | None, path: str, found: Verdict) -> bool:
        """Whether a loss is more than that of a name, of the appearance, or of data of another application."""
        if found.fate is Fate.EXACT or not found.loss:
            return True
        if found in (_NO_PLACE, _NO_EXTENSIONS):
            return False
        if isinstance(owner, Marker) or id(owner) in self.related.visual_shapes:
            return False
        row = self._find_row(owner, path)
        return row is None or row.name not in ("name", "color", "material", "cameras", "lights")

    def _is_written(self, node: int) -> bool:
        """Whether an element is an item of the scene that is in the output, even if the element around it is not."""
        return id(self.items.get(node)) in self.written.counterparts

    def _drops_content(self, found: Verdict, node: int, owner: Item | None, path: str) -> bool:
        """Whether the content of a dropped element shares its fate."""
        if found.harmless or self._is_lost_embedded(node):
            return False
        row = self._find_row(owner, path)
        return row is None or not (row.unused or row.name)

    def _is_lost_embedded(self, node: int) -> bool:
        """Whether an element is embedded data that the output cannot embed: its content decides on its fate."""
        return not self.has_embedded_data and node in self.embedded

    def _direct_row(self, owner: Item | None, path: str) -> SceneField | None:
        """The field that an element sets, if nothing else decides on its fate, unless the element is special."""
        key = (None if owner is None else type(owner), path)
        try:
            return self._direct_rows[key]
        except KeyError:
            row = self._find_row(owner, path)
            if row is not None and (
                EXTENSION.is_in_container(path.partition("/")[2])
                or any((row.unused, row.elsewhere, row.later, row.owner, row.name == "drives"))
            ):
                row = None
            self._direct_rows[key] = row
            return row

    def _find_row(self, owner: Item | None, path: str) -> SceneField | None:
        return self.mapping.scene_fields.find(type(owner) if owner is not None else None, path)

    def _locate(self, node: int, outer: Item | None, path: str, *, is_root: bool) -> tuple[Item | None, str]:
        """The item an element belongs to, and its path below the item's own element."""
        own = self.items.get(node)
        tag = self.outline.tags[node]
        if (own is not None and tag not in self.mapping.includes) or is_root:
            return own, ""
        if tag in self.mapping.joint_elements and isinstance(outer, Body) and id(outer) in self.related.parent_joints:
            return self.related.parent_joints[id(outer)], ""
        if tag in self.mapping.transparent:
            return outer, tag
        return outer, f"{path}/{tag}" if path else tag

    @cached_property
    def _items_by_node(self) -> dict[int, list[Item]]:
        """All items that were read from the document, by their own elements or by the elements that include them."""
        found: dict[int, list[Item]] = {}
        for item, _, _ in iter_items(self.scene):
            if item.document == 0:
                found.setdefault(item.node, []).append(item)
        return found

    def _include_verdict(self, node: int, found: Verdict) -> Verdict:
        """The verdict on an element that includes a file: the first loss in its content."""
        for item in self._items_by_node.get(node, ()):
            stated = ["", *(name for name in FIELDS[type(item)] if getattr(item, name) is not None)]
            lost = next((v for field in stated if (v := self._field_verdict(item, field)).loss), None)
            if lost is not None and not found.loss:
                return partly_lost(f"{type(item).__name__.lower()} '{item_name(item)}': {lost.why}")
        return found

    def _attribute_verdict(self, node: int, name: str, path: str, owner: Item | None, above: Verdict | None) -> Verdict:
        if node in self.preserved.unknown:
            return _WRITTEN_AGAIN if self.source is self.target and not self.target.embeds_data else _PRESERVED
        if (node, name) in self.preserved.attributes:
            return _WRITTEN_AGAIN
        lost = above or self.unused.get((node, name))
        if lost is not None:
            return lost
        if name == "xmlns" or name.startswith(("xmlns:", "xsi:")):
            return Verdict(Fate.DROPPED, "a declaration for XML tools", harmless=True)
        return self.diagnostics.limit(self._node_verdict(owner, path, node, name), node, name)

    def _node_verdict(self, owner: Item | None, path: str, node: int, attribute: str = "") -> Verdict:
        """The verdict on an element or attribute, by its path below the element of the item around it."""
        row = None if node in self.special else self._direct_row(owner, path)
        if row is not None:
            key = (id(owner), id(row))
            found = self._direct_verdicts.get(key)
            if found is None:
                found = self._direct_verdicts[key] = self._own_verdict(owner, row)
            return found
        if node in self.preserved.unknown:
            return _WRITTEN_AGAIN if self.source is self.target and not self.target.embeds_data else _PRESERVED
        if node in self.generated:
            return self._generated_verdict(self.generated[node])
        row = self._find_row(owner, path)
        if node in self.embedded:
            return self._embedded_verdict(node)
        in_extension = EXTENSION.is_in_container(path if row is None else path.partition("/")[2])
        if node in self.preserved.nodes and (in_extension or row is None or not row.name):
            return _PRESERVED
        if in_extension:
            if self._holds_values(owner, path, node):
                return no_effect("a label that nothing refers to") if attribute else EXACT
            return self._extension_verdict()
        if row is None:
            return self._unknown_verdict(owner, path, node, attribute)
        if row.unused:
            return Verdict(Fate.DROPPED, row.unused, harmless=not row.affects_motion)
        if row.elsewhere:
            return Verdict(Fate.LOWERED, row.elsewhere)
        if row.name == "drives" and row.parts and (number := self.outline.ordinal(node)) > 1:
            row = SceneField(row.name, parts=tuple(f"{part}/{number}" for part in row.parts))
        if row.later and self.outline.ordinal(node) > 1:
            row = SceneField(row.later)
        if row.owner == "actuator":
            return self._actuator_verdict(owner, node, attribute)
        if node in self.equalities and owner is not None:
            (world,) = self.related.find(owner, "world")
            return self._field_verdict(world, "equalities")
        if row.name in LISTED and owner is not None and (names := self._listed_names(row.name, node)):
            (world,) = self.related.find(owner, "world")
            return self._field_verdict(world, row.name, names)
        return self._row_verdict(owner, row)

    def _actuator_verdict(self, owner: Item | None, node: int, attribute: str) -> Verdict:
        """The verdict on an actuator by its name, which is that of its joint or tendon if the document states none.

        Motors that are no actuators of the scene were written for the force limits of joints.
        """
        joints = self.related.driven_joints(self.document.attribute_text(node, "joint"))
        name = self.document.attribute_text(node, "name") or self.document.attribute_text(node, "tendon")
        parts = tuple(one for one in ([name] if name else map(item_name, joints)) if one in self.output.actuator_names)
        if not parts or owner is None:
            return _combine_users([self._field_verdict(joint, "dofs", ("force_limits",)) for joint in joints])
        found = self._field_verdict(owner, "actuators", (*parts, f"@{attribute}") if attribute else parts)
        if found.fate not in (Fate.LOWERED, Fate.APPROXIMATED) or not isinstance(owner, World):
            return found
        fields = {field for part in parts for field in self.output.actuator_dof_fields(owner, part)}
        if not fields:  # it is still an actuator
            return found
        own = _combine_users([self._field_verdict(joint, "dofs", sorted(fields)) for joint in joints])
        return Verdict(own.fate, f"{found.why}: {own.why}") if own.fate is Fate.DROPPED or own.loss else found

    def _listed_names(self, field: str, node: int) -> list[str]:
        """The names of the sensors, cameras or lights that were read from an element or from one around it."""
        if self.file:
            return []
        info = self.scene.source_info
        if field != "sensors":
            views = [info.views[one] for one in self.outline.ancestry(node) if one in info.views] if info.views else []
            return [one.name for one in views]
        found = [one for one in self.outline.ancestry(node) if one in info.sensors] if info.sensors else []
        return [name for one in found for name, *_ in info.sensors[one].sensors]

    def _generated_verdict(self, item: Joint | Body) -> Verdict:
        """The verdict on a part that was generated to express a motor or a loop of a joint, or the skin of a body."""
        if isinstance(item, Body):
            found, owner = self._field_verdict(item, "soft"), f"the soft skin of body '{item.name}'"
        else:
            field = "drives" if item.drives else "loop" if item.loop else "actuator"
            found, owner = self._field_verdict(item, field), f"the joint '{item.name}'"
        return found if found.loss else Verdict(Fate.LOWERED, f"generated by Exoskel for {owner}")

    def _unknown_verdict(self, owner: Item | None, path: str, node: int, attribute: str) -> Verdict:
        if owner is None and path.split("/", maxsplit=1)[0] == "world":
            return WORLD_NOT_SELECTED
        known = None if attribute else self.diagnostics.first_unused_in(node)
        what = f"attribute '{attribute}'" if attribute else f"<{self.outline.tags[node]}>"
        return Verdict(Fate.DROPPED, describe(known) if known else f"{what} has no effect here")

    def _row_verdict(self, owner: Item | None, row: SceneField) -> Verdict:
        if owner is not None and row.owner:
            return self._related_verdict(owner, row)
        key = (id(owner), row)
        found = self._verdicts.get(key)
        if found is None:
            found = self._verdicts[key] = self._own_verdict(owner, row)
        return found

    def _own_verdict(self, owner: Item | None, row: SceneField) -> Verdict:
        """The verdict on an element that sets a field of the item around it."""
        if owner is None:
            return _FLATTENED if row.name else EXACT
        if row.name and row.name not in FIELDS[type(owner)]:
            return _FLATTENED
        return self._field_verdict(owner, row.name, row.parts)

    def _related_verdict(self, owner: Item, row: SceneField) -> Verdict:
        """The verdict on an element that sets fields of other items than the one around it."""
        key = (id(owner) if row.owner in _SINGLE_OWNERS else 0, row)
        if key not in self._verdicts:
            found = [self._field_verdict(item, row.name, row.parts) for item in self.related.find(owner, row.owner)]
            self._verdicts[key] = found[0] if len(found) == 1 else _combine_users(found)
        return self._verdicts[key]

    # --- fields ---------------------------------------------------------------------------------------

    def _field_verdict(self, item: Item, field: str, parts: Sequence[str] = ()) -> Verdict:
        found = self._lowered_verdict(item, field) or self.output.field(item, field, parts)
        if field == "geometry" and (count := self.parts.get((item.document, item.node))):
            return verdict_on_decomposed(count, found)
        if not self.moved_axes:
            return found
        if field == "dofs" and isinstance(item, Joint) and found.fate is not Fate.DROPPED:
            return _ANISOTROPIC if anisotropic_fields(item, self.moved_axes) & {*parts} else found
        return _ROTATED if found.fate is Fate.EXACT and (type(item), field) in _ROTATED_FIELDS else found

    def _lowered_verdict(self, item: Item, field: str) -> Verdict | None:
        chain = self.chains.get(id(item)) if self.chains else None
        if chain is None or id(item) not in self.written.counterparts:
            return None
        return verdict_on_lowered(chain, field, self.written)

    def _holds_values(self, owner: Item | None, path: str, node: int) -> bool:
        """Whether an extension holds elements that are read as values of the item around it."""
        path = path.partition("/@")[0]
        if self._find_row(owner, path) is not None:
            return False
        tags, parents, end = self.outline.tags, self.outline.parents, self.outline.ends[node]
        inside = (tags[inner] for inner in range(node + 1, end) if parents[inner] == node)
        return any(self._find_row(owner, f"{path}/{tag}") is not None for tag in inside)

    def _extension_verdict(self) -> Verdict:
        return _NO_EXTENSIONS if self.is_for_pyode else _NO_PLACE

    # --- embedded data --------------------------------------------------------------------------------

    def _embedded_verdict(self, node: int) -> Verdict:
        """Data that Exoskel embedded earlier is in the scene, and has the fate of the fields that it sets."""
        if self.has_embedded_data:
            return Verdict(Fate.KEPT, "data embedded by Exoskel, applied to the scene")
        element = embedded_element(self.document, node)
        if element is None:
            return Verdict(Fate.DROPPED, self._extension_verdict().why, harmless=is_extension(self.outline, node))
        if element.tag is EmbeddedTag.PLACEHOLDER:
            return Verdict(Fate.DROPPED, "used only by Exoskel", harmless=True)
        if element.tag is EmbeddedTag.GROUPING:
            return self.output.grouping()
        owner = self.items.get(element.owner)
        if element.is_of_parent_joint:
            owner = self.related.parent_joints.get(id(owner))
        if element.tag is EmbeddedTag.ITEM:
            added = _added_item(owner, element, self.document.value_text(node))
            return self.output.item(added) if added is not None else _UNUSED
        if owner is None or element.field not in FIELDS[type(owner)]:
            return _UNUSED
        return self._field_verdict(owner, element.field)

    # --- unused nodes ---------------------------------------------------------------------------------

    def _unused_nodes(self) -> dict[tuple[int, str], Verdict]:
        found = dict.fromkeys(((node, "") for node in self.unselected), MODEL_NOT_SELECTED)
        found |= self.mapping.find_unused(self.document)
        for key, diagnostic in self.diagnostics.unused.items():
            # A note about an attribute is about something that an engine decides by itself.
            harmless = bool(key[1]) and diagnostic.severity is Severity.INFO
            if key not in found or found[key].fate is Fate.LOWERED:  # what the reader finds is more certain
                found[key] = Verdict(Fate.DROPPED, self._why_unused(diagnostic), harmless)
        return found

    def _why_unused(self, diagnostic: Diagnostic) -> str:
        if diagnostic.key in UNKNOWN_NAMESPACE:  # the diagnostic states that it is preserved, which it is not here
            return self._extension_verdict().why
        return describe(diagnostic)

    # --- comments and instructions --------------------------------------------------------------------

    def _comment_verdict(self, start: int) -> Verdict:
        if self.file:
            return Verdict(Fate.DROPPED, "comments of included files are not written")
        if start in self.preserved.comments:
            return Verdict(Fate.KEPT)
        if self.has_embedded_data:
            return Verdict(Fate.LOWERED, "read as data, which is in the output")
        if self.target.is_xml and not self.target.embeds_data:
            return Verdict(Fate.DROPPED, "the element next to it is not in the output")
        reader = "PyODE" if self.is_for_pyode else self.target.label
        return Verdict(Fate.DROPPED, f"comments are not written for {reader}")

    def _region_fates(self) -> Iterator[NodeFate]:
        """The fates of comments, declarations and instructions."""
        scan, text = self.document.scan, self.document.text
        for number, (start, end) in enumerate(scan.regions, 1):
            line = scan.position(Span(start, end)).line
            if text.startswith(b"<!--", start):
                found = self._comment_verdict(start)
                yield NodeFate(line, f"comment[{number}]", found.fate, found.why, file=self.file)
            elif text.startswith(b"<?xml", start):
                yield NodeFate(line, "declaration", Fate.LOWERED, "the output is UTF-8", file=self.file)
            elif text.startswith(b"<![CDATA[", start):
                continue
            else:
                why = "for other tools; no effect on the physics"
                yield NodeFate(line, f"instruction[{number}]", Fate.DROPPED, why, file=self.file)


def _output_fates(target: Format, written: Written) -> type[OutputFates]:
    if not written.native_only:
        return EmbeddedFates
    if written.output.target == "pyode":
        return PyodeFates
    return FormatFates if target.is_xml else NonXmlFates


def _combine_users(found: list[Verdict]) -> Verdict:
    """The verdict on a value that several items use."""
    if not found:
        return Verdict(Fate.DROPPED, "nothing uses it", harmless=True)
    lost = next((verdict for verdict in found if verdict.loss), None)
    if all(verdict.fate is Fate.DROPPED for verdict in found):
        return lost or found[0]
    if lost is not None:
        return partly_lost(lost.why)
    return Verdict(Fate.LOWERED, "in all elements that use it")


def _added_item(owner: Item | None, element: EmbeddedElement, text: str) -> Item | None:
    """The item that embedded data with this text added to a list of its owner."""
    name, index = element.list_name, element.index
    is_list = owner is not None and name in CHILD_LISTS.get(type(owner), ())
    items: Sequence[Item] = getattr(owner, name) if is_list else ()
    added = items[index] if index is not None and index < len(items) else None
    try:
        stated = msgspec.json.decode(text, type=_NamedItem).name
    except msgspec.DecodeError:
        return added
    if stated and (added is None or item_name(added) != stated):  # joints that were lowered have moved it
        return next((one for one in items if item_name(one) == stated), added)
    return added


class _NamedItem(msgspec.Struct):
    """The name of an item in embedded data."""

    name: str = ""


class _RelatedItems:
    """Finds the items whose fields an element sets, from the item around the element."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        joints = [joint for world in scene.worlds for joint in world.joints()]
        models = [model for world in scene.worlds for model in world.models]
        self.moving_joints = [joint for model in models if not model.static for joint in model.joints if joint.motion]
        self.bodies = [body for world in scene.worlds for body in world.bodies()]
        self.parent_joints = {id(joint.child): joint for joint in joints if not joint.loop}

    @cached_property
    def shapes(self) -> list[Shape]:
        return [shape for body in self.bodies for shape in body.shapes]

    @cached_property
    def visual_shapes(self) -> set[int]:
        """The ids of shapes that are only seen."""
        return {id(shape) for body in self.bodies for shape in body.visuals}

    @cached_property
    def _body_of_shape(self) -> dict[int, Item]:
        return {id(shape): body for body in self.bodies for shape in body.shapes}

    @cached_property
    def _world_of_item(self) -> dict[int, Item]:
        found: dict[int, Item] = {}
        for world in self.scene.worlds:
            found |= {id(item): world for item in (world, *world.models, *world.bodies(), *world.joints())}
            found |= {id(marker): world for body in world.bodies() for marker in body.markers}
        return found

    def driven_joints(self, name: str) -> Sequence[Item]:
        """The joints that an actuator of a joint of that name may drive: all, if no joint has that name."""
        return self._joints_by_name.get(name) or self.moving_joints

    @cached_property
    def _joints_by_name(self) -> dict[str, list[Joint]]:
        """Joints by their names and those of their degrees of freedom."""
        found: dict[str, list[Joint]] = {}
        for joint in self.moving_joints:
            for name in {joint.name, *(dof.name for dof in joint.dofs)}:
                found.setdefault(name, []).append(joint)
        return found

    def find(self, item: Item, relation: str) -> Sequence[Item]:
        """The items in a relation to an item, as `SceneField.owner` names it."""
        match relation:
            case "child":
                return [item.child] if isinstance(item, Joint) else []
            case "body":
                return [self._body_of_shape[id(item)]] if id(item) in self._body_of_shape else []
            case "world":
                return [self._world_of_item[id(item)]] if id(item) in self._world_of_item else []
            case "joints":
                return self.moving_joints
            case "shapes":
                return self.shapes
        return self.bodies
