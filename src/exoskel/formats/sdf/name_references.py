"""Names in SDFormat files and the places that refer to them, also in the states of worlds."""

from __future__ import annotations

from collections.abc import Iterator

from exoskel.diagnostics import ExoskelError
from exoskel.formats.name_references import NAME, NOWHERE, NameReference, NameReferences
from exoskel.formats.sdf.names import is_reserved
from exoskel.source.positions import Span

_SEPARATOR = b"::"
_MODELS = ("model", "world")
_STATE = "state"
_IN_MODELS = ("link", "joint", "frame", "model", "include", "light", "actor")
_IN_LINKS = ("collision", "visual", "light", "sensor")
_TEXTS: dict[tuple[str, str], tuple[str, ...]] = {
    ("joint", "parent"): ("",),
    ("joint", "child"): ("",),
    ("joint", "gearbox_reference_body"): ("",),
    ("gripper", "gripper_link"): ("",),
    ("gripper", "palm_link"): ("",),
    ("contact", "collision"): ("collision",),
    ("track_visual", "name"): ("", "visual"),
    ("deletions", "name"): ("",),
}
"""The kinds of items that texts name, by the tags of the elements around and of their own."""
_ATTRIBUTES = ("relative_to", "attached_to", "expressed_in", "canonical_link", "placement_frame")
_OF_ITS_MODEL = ("canonical_link", "placement_frame")
"""Attributes of a model that name what is in it."""
_WITH_STATE: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("model", "link", "joint", "frame", "actor"), ("",)),
    "light": ("light", ""),
    "collision": ("collision",),
}
"""The kinds of items that elements in the state of a world name."""


class SdfNames(NameReferences):
    """What models and worlds contain has different names, whatever it is; in links, for each kind."""

    def find_names(self) -> Iterator[tuple[int, Span]]:
        in_states = self._in_states
        for node, tag in enumerate(self.tags):
            above = self.above(node)
            is_top = tag in _IN_MODELS and (above in _MODELS or self.parents[node] == 0)
            is_name = tag == "world" or is_top or (tag in _IN_LINKS and above == "link")
            if not is_name or node in in_states:
                continue
            span = self._include_name(node) if tag == "include" else self.attribute(node, NAME)
            if span is not None:
                yield node, span

    def _include_name(self, node: int) -> Span | None:
        inside = range(node + 1, self.document.outline.ends[node])
        found = (one for one in inside if self.parents[one] == node and self.tags[one] == NAME)
        return next((self.document.scan.value(one) for one in found), None)

    @property
    def _in_states(self) -> set[int]:
        """The elements in the states of worlds, which name what is elsewhere."""
        ends = self.document.outline.ends
        return {one for node, tag in enumerate(self.tags) if tag == _STATE for one in range(node, ends[node])}

    def kind(self, node: int) -> str:
        return self.tags[node] if self.above(node) == "link" else ""

    def scope(self, node: int) -> int:
        """The link or model or world around an element."""
        return self.around(node, (*_MODELS, "link") if self.above(node) == "link" else _MODELS)

    def check_format(self, node: int, name: str) -> None:
        if is_reserved(name):
            raise ExoskelError(f"the name {name!r} is reserved in SDF: `world`, `__name__` and names with `::`")

    # --- references -----------------------------------------------------------------------------------

    def find_references(self) -> Iterator[NameReference]:
        in_states = self._in_states
        for node, tag in enumerate(self.tags):
            if tag == _STATE:
                yield from self._refer_in_state(node)
            elif node not in in_states:
                yield from self._refer_in_model(node, tag)

    def _refer_in_model(self, node: int, tag: str) -> Iterator[NameReference]:
        kinds = _TEXTS.get((self.above(node), tag), ())
        if kinds:
            span = self.document.scan.value(node)
            link = self.around(node, ("link",)) if "collision" in kinds else -1
            own = list(self.refer(node, span, link, kinds)) if link >= 0 else []
            yield from own or self._refer_to_parts(self.around(node, _MODELS), node, span, kinds)
        spans = self.document.scan.attributes(node)
        if tag == "mimic":
            yield from self._refer_to_parts(self.around(node, _MODELS), node, spans.get("joint"))
        for name in _ATTRIBUTES:
            if name in spans:  # most elements have none of them
                is_inner = tag == "model" and name in _OF_ITS_MODEL
                scope = node if is_inner else self._frame_scope(node)
                yield from self._refer_to_parts(scope, node, spans[name])
        if tag == "pose":
            yield from self._refer_to_parts(self._frame_scope(node), node, spans.get("frame"))

    def _frame_scope(self, node: int) -> int:
        """The model or world that an attribute names a frame of: the pose of a model is relative to one around it."""
        parent = self.parents[node]
        is_of_model = self.tags[node] == "pose" and parent >= 0 and self.tags[parent] == "model"
        return self.around(parent if is_of_model else node, _MODELS)

    def _refer_in_state(self, state: int) -> Iterator[NameReference]:
        """The references of the state of a world: its elements name what they are the state of."""
        world = self.around(state, ("world",))
        yield from self.refer(state, self.attribute(state, "world_name"), NOWHERE, ("",))
        if world < 0:
            name = self.document.attribute_text(state, "world_name")
            world = next((one for one in self.names if self.tags[one] == "world" and self.name(one) == name), -1)
        scopes = {state: world}
        for node in range(state + 1, self.document.outline.ends[state]):
            scope = scopes.get(self.parents[node])
            if scope is None:
                continue
            if self.tags[node] in ("insertions", "deletions"):
                scopes[node] = scope
                continue
            span = self.document.scan.value(node) if self.tags[node] == NAME else self.attribute(node, NAME)
            kinds = _WITH_STATE.get(self.tags[node], _TEXTS.get((self.above(node), self.tags[node]), ()))
            found = list(self._refer_to_parts(scope, node, span, kinds)) if kinds else []
            yield from found
            if found and self.tags[node] != "joint":
                scopes[node] = found[-1].target

    def _refer_to_parts(
        self, scope: int, node: int, span: Span | None, kinds: tuple[str, ...] = ("",)
    ) -> Iterator[NameReference]:
        """The parts of a name such as `arm::hand`, as far as the document states what they name."""
        if span is None:
            return
        start = span.start
        parts = self.document.text[span.start : span.end].split(_SEPARATOR)
        for number, part in enumerate(parts):
            own = Span(start, start + len(part))
            found = list(self.refer(node, own, scope, ("",) if number + 1 < len(parts) else ("", *kinds)))
            yield from found
            if not found:
                return
            scope, start = found[0].target, own.end + len(_SEPARATOR)
