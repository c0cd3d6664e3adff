"""The account of a conversion: every element, attribute and comment of the input has exactly one fate."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property

from exoskel.convert.diagnostic_fates import DiagnosticFates, told
from exoskel.convert.format_fates import FormatFates
from exoskel.convert.passes import verdict_on_lowered
from exoskel.convert.pyode_fates import PyodeFates
from exoskel.convert.related_items import RelatedItems
from exoskel.convert.selection import NOT_SELECTED
from exoskel.convert.write_only_fates import WriteOnlyFates
from exoskel.diagnostics import Diagnostic, Severity
from exoskel.fates import Fate, NodeFate, Verdict
from exoskel.formats import registry
from exoskel.formats.comments_and_extensions import UNKNOWN_NAMESPACE, PreservedData
from exoskel.formats.write import Written
from exoskel.scene.body import Body
from exoskel.scene.fields import CHILD_LISTS, FIELDS, differences, items_by_document, iter_items
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.lowering.joint_passes import Chain
from exoskel.scene.lowering.up_axis import UP_AXIS_PASS, anisotropic_fields
from exoskel.scene.world import Model, Scene, World
from exoskel.source.document import Document
from exoskel.source.embedded_format import TAGS, embedded_nodes, embedded_owner
from exoskel.source.positions import Span
from exoskel.source.scene_fields import SceneField

_EXACT = Verdict(Fate.EXACT)
_KEPT_WHOLE = Verdict(Fate.KEPT, "data of another application, kept whole")
_FLATTENED = "flattened into what is inside"
_NO_EXTENSIONS = "PyODE refuses extensions"
_CARRIED = "carried along by exoskel; other readers of {format} do not see it"


class FateRecorder:
    """Works out the fates of the nodes of one document that was read into `scene` and written as `written`.

    `chains` are what joints were taken apart into, by the ids of their last links.  `left_out` are elements of
    models that were not chosen; `turned` says that the world was.
    """

    def __init__(
        self,
        scene: Scene,
        document: Document,
        written: Written,
        source: str,
        target: str,
        chains: Mapping[int, Chain] | None = None,
        left_out: Collection[int] = (),
        turned: bool = False,
    ) -> None:
        self.scene = scene
        self.chains = chains or {}
        self.left_out = left_out
        self.turned = turned
        self.document = document
        self.outline = document.outline
        self.source = registry.by_name(source)
        self.target = registry.by_name(target)
        self.mapping = self.source.source_mapping()
        self.reach = RelatedItems(scene)
        self.native_joints = self.target.capabilities().native_joints
        self.other_words = self.target.capabilities().rewritten_fields
        self.title = self.target.label
        self.everything = items_by_document(scene)
        self.items = self.everything.get(0, {})
        self.file = ""
        self.written = written
        self.kept = written.preserved
        self.carried = {(id(c.item), c.field) for c in written.embedded}
        self._verdicts: dict[tuple[int, SceneField], Verdict] = {}
        self.ours = embedded_nodes(document)
        self.plain: PyodeFates | FormatFates | None = None
        """Set where the output carries nothing of ours."""
        if written.native_only:
            judge = PyodeFates if self.target.embeds_data else FormatFates if self.target.is_xml else WriteOnlyFates
            self.plain = judge(scene, written, self.target, self.errors, self.chains)
        self.remarks = DiagnosticFates(scene, document, self.source)
        self.lost = self._unused()

    def fates(self) -> list[NodeFate]:
        """All fates, in the order of the document, and then those of the files that it includes."""
        found = [*self._elements(), *self._regions()]
        found.sort(key=lambda fate: fate.line)
        for number, document in enumerate(self.scene.documents):
            if number not in self.everything or not number or not isinstance(document, Document):
                continue
            if document.outline.tags[:1] == self.outline.tags[:1]:  # a scene may be merged from other formats
                found += self._included(number, document).fates()
        return found

    def _included(self, number: int, document: Document) -> FateRecorder:
        """The account of a file that the document includes."""
        made = copy(self)
        made.document, made.outline, made.file = document, document.outline, document.name
        made.items, made.everything = self.everything[number], {}
        made.kept, made.left_out = PreservedData(), ()
        made.ours = embedded_nodes(document)
        made.remarks = DiagnosticFates(self.scene, document, self.source)
        made.lost = made._unused()
        return made

    # --- elements and attributes ----------------------------------------------------------------------

    def _elements(self) -> Iterator[NodeFate]:
        owners: list[tuple[Item | None, str]] = []
        dropped: list[Verdict | None] = []
        unread: set[int] = set()
        """Elements that were not read: nothing in them can be."""
        lines = self.document.lines(range(len(self.outline.tags))) if self.outline.tags else []
        for node, parent in enumerate(self.outline.parents):
            holder, path = owners[parent] if parent >= 0 else (None, "")
            above = dropped[parent] if parent >= 0 else None
            if above is not None and self._stands(node):
                above = None
            owner, path = self._place(node, holder, path, root=parent < 0)
            owners.append((owner, path))
            lost = None if node in self.kept.unknown else above or self.lost.get((node, ""))
            found = lost or self.remarks.capped(self._judge(owner, path, node), node)
            if self.outline.tags[node] in self.mapping.includes and not lost:
                found = self._of_content(node, found)
            if (above and parent in unread) or ((node, "") in self.lost and not self._is_own(node)):
                unread.add(node)
            goes = found.fate is Fate.DROPPED and self._takes_along(found, node, owner, path)
            dropped.append(found if goes or node in unread else None)
            shown = self.document.path_of(node)
            yield NodeFate(lines[node], shown, found.fate, found.why, node, loss=found.loss, file=self.file)
            for name in self.document.attributes(node):
                verdict = self._of_attribute(node, name, f"{path}/@{name}" if path else f"@{name}", owner, dropped[-1])
                where = f"{shown}/@{name}"
                yield NodeFate(lines[node], where, verdict.fate, verdict.why, node, name, verdict.loss, self.file)

    def _stands(self, node: int) -> bool:
        """Whether an element is a part of the scene that is in the output, whatever became of what it lies in."""
        return id(self.items.get(node)) in self.written.counterparts

    def _takes_along(self, found: Verdict, node: int, owner: Item | None, path: str) -> bool:
        """Whether what is inside of an element that is dropped goes with it, and is not judged by itself."""
        if found.harmless or self._is_own(node):
            return False
        row = self.mapping.scene_fields.find(type(owner) if owner is not None else None, path)
        return row is None or not (row.unused or row.name)

    def _is_own(self, node: int) -> bool:
        """Whether an element is data of ours, which is judged by what it says."""
        return self.plain is not None and node in self.ours

    def _place(self, node: int, holder: Item | None, path: str, *, root: bool) -> tuple[Item | None, str]:
        """The item an element belongs to, and its path below the item's own element."""
        own = self.items.get(node)
        tag = self.outline.tags[node]
        if (own is not None and tag not in self.mapping.includes) or root:
            return own, ""
        if tag in self.mapping.joint_elements and isinstance(holder, Body) and id(holder) in self.reach.holders:
            return self.reach.holders[id(holder)], ""
        if tag in self.mapping.transparent:
            return holder, tag
        return holder, f"{path}/{tag}" if path else tag

    @cached_property
    def _content(self) -> dict[int, list[Item]]:
        """All items that were read from the document, by the elements that they are, or are read in the place of."""
        found: dict[int, list[Item]] = {}
        for item, _, _ in iter_items(self.scene):
            if item.document == 0:
                found.setdefault(item.node, []).append(item)
        return found

    def _of_content(self, node: int, found: Verdict) -> Verdict:
        """The verdict on an element that others are read in the place of."""
        for item in self._content.get(node, ()):
            stated = ["", *(name for name in FIELDS[type(item)] if getattr(item, name) is not None)]
            lost = next((v for field in stated if (v := self._of_field(item, field)).loss), None)
            if lost is not None and not found.loss:
                return Verdict(
                    Fate.APPROXIMATED,
                    f"in part: {type(item).__name__.lower()} '{getattr(item, 'name', '')}': {lost.why}",
                )
        return found

    def _of_attribute(self, node: int, name: str, path: str, owner: Item | None, above: Verdict | None) -> Verdict:
        if node in self.kept.unknown:
            return _KEPT_WHOLE
        lost = above or self.lost.get((node, name))
        if lost is not None:
            return lost
        if name == "xmlns" or name.startswith("xmlns:") or name.startswith("xsi:"):
            return Verdict(Fate.DROPPED, "a declaration for XML tools", harmless=True)
        return self.remarks.capped(self._judge(owner, path, node, name), node, name)

    def _judge(self, owner: Item | None, path: str, node: int, attribute: str = "") -> Verdict:
        """The verdict on an element, or one of its attributes, by its path below the element of the item around it."""
        if node in self.kept.unknown:
            return _KEPT_WHOLE
        row = self.mapping.scene_fields.find(type(owner) if owner is not None else None, path)
        if node in self.ours:
            return self._of_own(node)
        is_foreign = "ext" in path and "ext" in path.split("/")[0 if row is None else 1 :]
        if node in self.kept.nodes and (is_foreign or row is None or not row.name):
            return _KEPT_WHOLE
        if is_foreign:
            return self._extension()
        if row is None and owner is None and path.split("/", maxsplit=1)[0] == "world":
            return Verdict(Fate.DROPPED, "this world was not chosen")
        if row is None:
            known = None if attribute else self.remarks.within(node)
            what = f"attribute '{attribute}'" if attribute else f"<{self.outline.tags[node]}>"
            return Verdict(Fate.DROPPED, told(known) if known else f"{what} means nothing here")
        if row.unused:
            return Verdict(Fate.DROPPED, row.unused, harmless=not row.affects_motion)
        if row.elsewhere:
            return Verdict(Fate.LOWERED, row.elsewhere)
        if row.name == "drives" and row.parts and (number := self.outline.ordinal(node)) > 1:
            row = SceneField(row.name, parts=tuple(f"{part}/{number}" for part in row.parts))
        if row.owner == "driven":
            named = self.reach.driven(self._value(node, "joint"))
            return _of_all([self._of_field(joint, row.name, row.parts) for joint in named])
        return self._verdict(owner, row)

    def _verdict(self, owner: Item | None, row: SceneField) -> Verdict:
        if owner is None:
            return Verdict(Fate.LOWERED, _FLATTENED) if row.name else Verdict(Fate.EXACT)
        if row.owner:
            return self._of_others(owner, row)
        if row.name and row.name not in FIELDS[type(owner)]:
            return Verdict(Fate.LOWERED, _FLATTENED)
        key = (id(owner), row)
        found = self._verdicts.get(key)
        if found is None:
            found = self._verdicts[key] = self._of_field(owner, row.name, row.parts)
        return found

    def _of_others(self, owner: Item, row: SceneField) -> Verdict:
        """What feeds not the item around it, but others: one, or all that there are."""
        key = (id(owner) if row.owner in _SINGLE else 0, row)
        if key not in self._verdicts:
            found = [self._of_field(item, row.name, row.parts) for item in self.reach.of(owner, row.owner)]
            self._verdicts[key] = found[0] if len(found) == 1 else _of_all(found)
        return self._verdicts[key]

    # --- fields ---------------------------------------------------------------------------------------

    def _of_field(self, item: Item, field: str, parts: Sequence[str] = ()) -> Verdict:
        found = self._of_unturned(item, field, parts)
        if not self.turned:
            return found
        if field == "dofs" and isinstance(item, Joint) and found.fate is not Fate.DROPPED:
            return Verdict(Fate.APPROXIMATED, _UNEVEN) if anisotropic_fields(item) & {*parts} else found
        if found.fate is Fate.EXACT and (type(item), field) in _TURNED:
            return Verdict(Fate.LOWERED, f"turned with the world, by {UP_AXIS_PASS}")
        return found

    def _of_unturned(self, item: Item, field: str, parts: Sequence[str]) -> Verdict:
        if self.chains and (lowered := self._of_lowered(item, field)) is not None:
            return lowered
        if self.plain is not None:
            return self.plain.field(item, field, parts)
        title = self.title
        if (id(item), "") in self.carried:
            return Verdict(Fate.KEPT, f"{title} has no words for it: {_CARRIED.format(format=title)}")
        if id(item) not in self.written.counterparts:
            if isinstance(item, Model):
                return Verdict(Fate.EXACT)
            if isinstance(item, Joint) and item.kind == "free":
                return Verdict(Fate.LOWERED, "a body without a joint floats freely")
            return Verdict(Fate.DROPPED, f"{title} has no words for it")
        if field and (id(item), field) in self.carried:
            return self._of_carried(item, field, title)
        return _EXACT

    def _of_lowered(self, item: Item, field: str) -> Verdict | None:
        chain = self.chains.get(id(item))
        if chain is None or id(item) not in self.written.counterparts:
            return None
        return verdict_on_lowered(chain, field, self.written)

    @cached_property
    def errors(self) -> dict[tuple[int, str], float]:
        """How far off fields are for a reader that knows the format and nothing of ours."""
        made = self.written.counterparts
        pairs = [(item, made[id(item)]) for item, _, _ in iter_items(self.scene) if id(item) in made]
        precision = self.target.capabilities().precision
        return {(id(d.one), d.field): d.error for d in differences(pairs, precision)}

    def _of_carried(self, item: Item, field: str, title: str) -> Verdict:
        other = self.other_words.get((type(item), field))
        if other is not None and (not isinstance(item, Joint) or item.kind in self.native_joints):
            return Verdict(Fate.LOWERED, other)
        if (id(item), field) not in self.errors:
            return Verdict(Fate.EXACT)
        return Verdict(Fate.KEPT, f"{title} cannot say it: {_CARRIED.format(format=title)}")

    def _extension(self) -> Verdict:
        if self.plain is not None and self.target.embeds_data:
            return Verdict(Fate.DROPPED, _NO_EXTENSIONS)
        return Verdict(Fate.DROPPED, "data of another application with no place in the output")

    # --- our own data ---------------------------------------------------------------------------------

    def _of_own(self, node: int) -> Verdict:
        """Data that an earlier writing carried is in the scene, and so has the fate of what it says there."""
        if self.plain is None:
            return Verdict(Fate.KEPT, "exoskel's own data, taken up into the scene")
        tag = self.outline.tags[node].rpartition(":")[2]
        if tag not in TAGS:
            return Verdict(Fate.DROPPED, self._extension().why, harmless=tag == "ext")
        if tag == "stand-in":
            return Verdict(Fate.DROPPED, "a mark for exoskel alone", harmless=True)
        if tag == "models":
            return self.plain.grouping()
        owner = self._owner(node)
        if tag == "add":
            inner = _found(owner, self._value(node, "to"), self._value(node, "at"))
            return self.plain.item(inner) if inner is not None else Verdict(Fate.DROPPED, "it was not used")
        field = self._value(node, "field")
        if owner is None or field not in FIELDS[type(owner)]:
            return Verdict(Fate.DROPPED, "it was not used")
        return self._of_field(owner, field)

    def _owner(self, node: int) -> Item | None:
        """The item that a carried element is about."""
        owner = self.items.get(embedded_owner(self.outline, node))
        return self.reach.holders.get(id(owner)) if self._value(node, "of") == "joint" else owner

    def _value(self, node: int, attribute: str) -> str:
        return self.document.attribute_text(node, attribute)

    # --- what is not used -----------------------------------------------------------------------------

    def _unused(self) -> dict[tuple[int, str], Verdict]:
        found = {(node, ""): Verdict(Fate.DROPPED, NOT_SELECTED) for node in self.left_out}
        found |= self.mapping.find_unused(self.document)
        for spot, finding in self.remarks.unused.items():
            # A note about an attribute is about what an engine decides by itself.
            harmless = bool(spot[1]) and finding.severity is Severity.INFO
            found.setdefault(spot, Verdict(Fate.DROPPED, self._why_unused(finding), harmless))
        return found

    def _why_unused(self, finding: Diagnostic) -> str:
        if finding.key in UNKNOWN_NAMESPACE:  # the reader says that it is kept, and here it is not
            return self._extension().why
        return told(finding)

    # --- comments and instructions --------------------------------------------------------------------

    def _comment(self, start: int) -> Verdict:
        if self.file:
            return Verdict(Fate.DROPPED, "comments of included files are left out")
        if start in self.kept.comments:
            return Verdict(Fate.KEPT)
        if self.plain is None:
            return Verdict(Fate.LOWERED, "read as data; what it says is in the output")
        if self.target.is_xml and not self.target.embeds_data:
            return Verdict(Fate.DROPPED, "it stands at nothing that is in the output")
        return Verdict(Fate.DROPPED, f"comments are left out for {'PyODE' if self.target.embeds_data else self.title}")

    def _regions(self) -> Iterator[NodeFate]:
        scan, text = self.document.scan, self.document.text
        for number, (start, end) in enumerate(scan.regions):
            line = scan.position(Span(start, end)).line
            if text.startswith(b"<!--", start):
                found = self._comment(start)
                yield NodeFate(line, f"comment[{number + 1}]", found.fate, found.why, file=self.file)
            elif text.startswith(b"<?xml", start):
                yield NodeFate(line, "declaration", Fate.LOWERED, "the output is UTF-8", file=self.file)
            elif text.startswith(b"<![CDATA[", start):
                continue
            else:
                why = "for other tools; carries no physics"
                yield NodeFate(line, f"instruction[{number + 1}]", Fate.DROPPED, why, file=self.file)


_TURNED = frozenset({(World, "gravity"), (Model, "pose"), (Body, "state")})
"""What the pass that turns a world changes."""
_UNEVEN = (
    f"not the same along all axes, which {UP_AXIS_PASS} has turned for MuJoCo, where they go with the model, and not "
    "for DART, where they are those of the world"
)
_SINGLE = ("child", "body", "world")


def _of_all(found: list[Verdict]) -> Verdict:
    """The verdict on a value that many items share."""
    if not found:
        return Verdict(Fate.DROPPED, "nothing uses it", harmless=True)
    said = [verdict for verdict in found if verdict.fate is not Fate.DROPPED]
    if not said:
        return next((verdict for verdict in found if verdict.loss), found[0])
    lost = next((verdict for verdict in found if verdict.loss), None)
    if lost is not None:
        return Verdict(Fate.APPROXIMATED, f"in part: {lost.why.removeprefix('in part: ')}")
    return Verdict(Fate.LOWERED, "in all that uses it")


def _found(owner: Item | None, name: str, place: str) -> Item | None:
    """The item that was added to a list of another one."""
    items: Sequence[Item] = (
        getattr(owner, name) if owner is not None and name in CHILD_LISTS.get(type(owner), ()) else ()
    )
    return items[int(place)] if place.isdecimal() and int(place) < len(items) else None
