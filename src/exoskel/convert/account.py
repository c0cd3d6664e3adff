"""The account of a conversion: every element, attribute and comment of the input has exactly one fate."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from exoskel.convert.lowering import Lowering
from exoskel.diagnostics import Diagnostic, Place, Severity
from exoskel.fates import LOSSES, Fate, NodeFate
from exoskel.formats import registry
from exoskel.formats.keeping import STRANGERS
from exoskel.formats.write import Written
from exoskel.scene.content import FIELDS, by_node, differences, walk
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.world import Model, Scene
from exoskel.source.carriage import EXTENSION, TAGS
from exoskel.source.document import Document
from exoskel.source.feeds import Feed, Feeds
from exoskel.source.positions import Span

Verdict = tuple[Fate, str]

_SAME_PHYSICS = 1e-9
_KEPT_WHOLE: Verdict = (Fate.KEPT, "data of another application, kept whole")
_CARRIED = "carried along by exoskel; other readers of {format} do not see it"


class Account:
    """Works out the fates of the nodes of one document that was read into `scene` and written as `written`.

    A scene whose joints were lowered comes with the `lowering` that it is the outcome of.
    """

    def __init__(
        self,
        scene: Scene,
        document: Document,
        written: Written,
        source: str,
        target: str,
        lowering: Lowering | None = None,
    ) -> None:
        self.scene = scene
        self.lowering = lowering
        self.document = document
        self.outline = document.outline
        self.source = registry.by_name(source)
        self.target = registry.by_name(target)
        self.feeds: Feeds = self.source.part("feeds", "FEEDS")
        self.transparent: frozenset[str] = self.source.part("feeds", "TRANSPARENT")
        self.native_joints: frozenset[str] = self.target.part("write", "NATIVE_JOINTS")
        self.other_words: dict[tuple[type[Item], str], str] = self.target.part("write", "OTHER_WORDS")
        self.items = by_node(scene)
        self.written = written
        self.carried = {(id(c.item), c.field) for c in written.carried}
        self.inexact = {id(item): why for item, why in written.output.inexact}
        self.lost: dict[tuple[int, str], str] = self._unused()
        self._verdicts: dict[tuple[int, str], Verdict] = {}
        self.errors = self._errors()
        self.ours = self._own_data()

    def fates(self) -> list[NodeFate]:
        """All fates, in the order of the document."""
        found = [*self._elements(), *self._regions()]
        found.sort(key=lambda fate: fate.line)
        return found

    # --- elements and attributes ----------------------------------------------------------------------

    def _elements(self) -> Iterator[NodeFate]:
        owners: list[tuple[Item | None, str]] = []
        dropped: list[str] = []
        lines = self.document.lines(range(len(self.outline.tags))) if self.outline.tags else []
        for node, parent in enumerate(self.outline.parents):
            holder, path = owners[parent] if parent >= 0 else (None, "")
            above = dropped[parent] if parent >= 0 else ""
            owner, path = self._place(node, holder, path, root=parent < 0)
            owners.append((owner, path))
            why = "" if node in self.written.kept.strangers else above or self.lost.get((node, ""), "")
            fate, reason = (Fate.DROPPED, why) if why else self._element(node, owner, path)
            dropped.append(reason if fate is Fate.DROPPED and not self._is_idle(owner, path) else "")
            yield NodeFate(lines[node], self.document.path(Place(node=node)), fate, reason, node, loss=fate in LOSSES)
            for name in self.document.scan.attributes(node):
                yield self._attribute(node, name, lines[node], owner, path, dropped[-1])

    def _place(self, node: int, holder: Item | None, path: str, *, root: bool) -> tuple[Item | None, str]:
        """The item an element belongs to, and its path below the item's own element."""
        own = self.items.get(node)
        if own is not None or root:
            return own, ""
        tag = self.outline.tags[node]
        if tag in self.transparent:
            return holder, tag
        return holder, f"{path}/{tag}" if path else tag

    def _is_idle(self, owner: Item | None, path: str) -> bool:
        feed = self.feeds.find(type(owner) if owner is not None else None, path)
        return feed is not None and bool(feed.idle)

    def _element(self, node: int, owner: Item | None, path: str) -> Verdict:
        return self._judge(owner, path, f"<{self.outline.tags[node]}>", node)

    def _attribute(self, node: int, name: str, line: int, owner: Item | None, path: str, above: str) -> NodeFate:
        shown = self.document.path(Place(node=node, attribute=name))
        if node in self.written.kept.strangers:
            return NodeFate(line, shown, *_KEPT_WHOLE, node, name)
        why = above or self.lost.get((node, name), "")
        if why:
            return NodeFate(line, shown, Fate.DROPPED, why, node, name, loss=True)
        if name == "xmlns" or name.startswith("xmlns:") or name.startswith("xsi:"):
            return NodeFate(line, shown, Fate.DROPPED, "a declaration for XML tools", node, name, loss=False)
        below = f"{path}/@{name}" if path else f"@{name}"
        fate, reason = self._judge(owner, below, f"attribute '{name}'", node)
        return NodeFate(line, shown, fate, reason, node, name, loss=fate in LOSSES and not self._is_idle(owner, below))

    def _judge(self, owner: Item | None, path: str, what: str, node: int) -> Verdict:
        if node in self.written.kept.strangers:
            return _KEPT_WHOLE
        feed = self.feeds.find(type(owner) if owner is not None else None, path)
        if node in self.ours:
            return Fate.KEPT, "exoskel's own data, taken up into the scene"
        if node in self.written.kept.nodes and (feed is None or not feed.field):
            return _KEPT_WHOLE
        if feed is None and "ext" in path.split("/"):
            return self._extension()
        if feed is None and owner is None and path.split("/", maxsplit=1)[0] == "world":
            return Fate.DROPPED, "this world was not chosen"
        if feed is None:
            return Fate.DROPPED, f"{what} means nothing here"
        if feed.idle:
            return Fate.DROPPED, feed.idle
        return self._verdict(owner, feed)

    def _verdict(self, owner: Item | None, feed: Feed) -> Verdict:
        if owner is None:
            return (Fate.LOWERED, "flattened into what is inside") if feed.field else (Fate.EXACT, "")
        if feed.field and feed.field not in FIELDS[type(owner)]:
            return Fate.LOWERED, "flattened into what is inside"
        key = (id(owner), feed.field)
        if key not in self._verdicts:
            self._verdicts[key] = self._of_field(owner, feed.field)
        return self._verdicts[key]

    # --- fields ---------------------------------------------------------------------------------------

    def _of_field(self, item: Item, field: str) -> Verdict:
        counterpart = self.written.counterparts.get(id(item))
        title = self.target.name.upper()
        if (id(item), "") in self.carried:
            return Fate.KEPT, f"{title} has no words for it: {_CARRIED.format(format=title)}"
        if counterpart is None:
            if isinstance(item, Model):
                return Fate.EXACT, ""
            if isinstance(item, Joint) and item.kind == "free":
                return Fate.LOWERED, "a body without a joint floats freely"
            return Fate.DROPPED, f"{title} has no words for it"
        lowered = self.lowering.verdict(item, field, self.written) if self.lowering is not None else None
        if lowered is not None:
            return lowered
        if id(item) in self.inexact and field == "inertia":
            return Fate.APPROXIMATED, self.inexact[id(item)]
        if not field:
            return Fate.EXACT, ""
        if (id(item), field) in self.carried:
            return self._of_carried(item, field, title)
        if self.written.output.target != "portable" and (id(item), field) in self.errors:
            return self._of_lost(item, field, self.errors[id(item), field], title)
        return Fate.EXACT, ""

    def _errors(self) -> dict[tuple[int, str], float]:
        """How far off fields are for a reader that knows the format and nothing of ours."""
        made = self.written.counterparts
        pairs = [(item, made[id(item)]) for item, _, _ in walk(self.scene) if id(item) in made]
        return {(id(d.one), d.field): d.error for d in differences(pairs, _SAME_PHYSICS)}

    def _of_carried(self, item: Item, field: str, title: str) -> Verdict:
        other = self.other_words.get((type(item), field))
        if other is not None and (not isinstance(item, Joint) or self._is_native(item)):
            return Fate.LOWERED, other
        if (id(item), field) not in self.errors:
            return Fate.EXACT, ""
        return Fate.KEPT, f"{title} cannot say it: {_CARRIED.format(format=title)}"

    def _of_lost(self, item: Item, field: str, error: float, title: str) -> Verdict:
        other = self.other_words.get((type(item), field))
        if other is not None and (not isinstance(item, Joint) or self._is_native(item)):
            return Fate.LOWERED, other
        if field in ("pose", "inertia") and np.isfinite(error):
            return Fate.APPROXIMATED, f"off by {error:.2g}"
        return Fate.DROPPED, f"{title} cannot say it"

    def _is_native(self, joint: Joint) -> bool:
        return joint.kind in self.native_joints

    def _extension(self) -> Verdict:
        if self.written.output.target != "portable":
            return Fate.DROPPED, "PyODE refuses extensions"
        return Fate.DROPPED, "data of another application with no place in the output"

    def _own_data(self) -> set[int]:
        """Elements that an earlier writing by exoskel left for the scene."""
        found: set[int] = set()
        for node, tag in enumerate(self.outline.tags):
            is_ours = tag == "ext" and self._value(node, "ename") == EXTENSION
            if is_ours or (tag.rpartition(":")[2] in TAGS and ":" in tag):
                found.update(range(node, self.outline.ends[node]))
        return found

    def _value(self, node: int, attribute: str) -> str:
        span = self.document.scan.attribute(node, attribute)
        return self.document.text[span.start : span.end].decode(self.document.scan.codec, "replace") if span else ""

    # --- what is not used -----------------------------------------------------------------------------

    def _unused(self) -> dict[tuple[int, str], str]:
        found: dict[tuple[int, str], str] = dict(self.source.part("feeds", "unused")(self.document))
        for diagnostic in self.scene.diagnostics:
            if self._is_about_unused(diagnostic):
                place = diagnostic.place
                if place.node >= 0:
                    node = self.outline.descend(place.node, place.child) if place.child else place.node
                    found.setdefault((node, place.attribute), self._why_unused(diagnostic))
        return found

    def _why_unused(self, diagnostic: Diagnostic) -> str:
        if diagnostic.key in STRANGERS:  # the reader says that it is kept, and here it is not
            return self._extension()[1]
        return f"{diagnostic.message} ({diagnostic.code})"

    def _is_about_unused(self, diagnostic: Diagnostic) -> bool:
        if diagnostic.key.startswith(self.source.part("feeds", "STILL_USED")):
            return False
        return diagnostic.severity is Severity.ERROR or diagnostic.key.startswith(
            self.source.part("feeds", "NO_EFFECT")
        )

    # --- comments and instructions --------------------------------------------------------------------

    def _comment(self, start: int) -> Verdict:
        if start in self.written.kept.comments:
            return Fate.KEPT, ""
        if self.written.output.target == "portable":
            return Fate.LOWERED, "read as data; what it says is in the output"
        return Fate.DROPPED, "comments are left out for PyODE"

    def _regions(self) -> Iterator[NodeFate]:
        scan, text = self.document.scan, self.document.text
        for number, (start, end) in enumerate(scan.regions):
            line = scan.position(Span(start, end)).line
            if text.startswith(b"<!--", start):
                yield NodeFate(line, f"comment[{number + 1}]", *self._comment(start))
            elif text.startswith(b"<?xml", start):
                yield NodeFate(line, "declaration", Fate.LOWERED, "the output is UTF-8")
            elif text.startswith(b"<![CDATA[", start):
                continue
            else:
                yield NodeFate(line, f"instruction[{number + 1}]", Fate.DROPPED, "for other tools; carries no physics")
