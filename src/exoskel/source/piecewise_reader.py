"""Reads a large document with a vocabulary, in pieces: the result is that of reading its tree as a whole."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from typing import Any

from msgspec import Struct

from exoskel.source.document import Tree
from exoskel.source.flat_tree import FlatTree, Node
from exoskel.source.pieces import NotInPiecesError, Piece, Pieces
from exoskel.source.structure import Streamed, StructureReader, ignore_streamed, local_name
from exoskel.source.valid_structure import COUNT_ATTRIBUTES, ValidStructure
from exoskel.source.vocabulary import ABSENT, ChildRow, Element


class _UnclosedElement(Struct):
    """An element that continues in the next piece of the document, as read so far.

    The `depth` of the root is 1.  An element `is_shallow` if it holds streamed elements and is not inside of one.
    """

    node: Node
    rule: Element
    depth: int
    is_shallow: bool
    has_aliases: bool = False
    has_stray_text: bool = False


class PiecewiseReader(StructureReader):
    """Reads one document as a tree or in pieces."""

    is_in_pieces = False
    open_elements: list[_UnclosedElement]
    has_repeated_elements: bool
    """Whether an open element has more than one of a child that may occur once."""

    def read(self, root: Tree | Pieces | ValidStructure, on_streamed: Streamed) -> Node:
        """Read the whole document.  The root's own name has been checked before.

        Raises NotInPiecesError if it has to be read as a tree, and MalformedError if it exceeds a limit.
        """
        if isinstance(root, ValidStructure):
            return self.accept(root, on_streamed)
        if not isinstance(root, Pieces):
            return super().read(root, on_streamed)
        self.on_streamed = on_streamed
        self.is_in_pieces = True
        self.open_elements, self.has_repeated_elements = [], False
        try:
            node = self._open(root.root, self.vocabulary.root, 1, is_shallow=True)
            for piece in root:
                self._read_piece(piece)
        finally:
            self.on_streamed = ignore_streamed  # it refers to this object: what was read so far would stay in memory
        self._report_unknown_attributes()
        return node

    def _read_piece(self, piece: Piece) -> None:
        self.first_number = self.next_number - max(piece.continued, 1)
        self.stray_texts.clear()
        self._find_stray_texts(piece.root)
        self.planning = self.is_large and not (self.stray_texts or self.split)
        before = self.attributes_seen if piece.continued else 0
        self._read_open(piece, piece.root, 1, is_first=True, is_last=True)
        if self.attributes_seen - before == COUNT_ATTRIBUTES(piece.root):
            return
        if self.has_repeated_elements:
            raise NotInPiecesError  # the first of them may be in an earlier piece
        self._find_unknown_attributes(piece.root)

    def _check_nesting(self, depth: int, number: int) -> None:
        if self.is_in_pieces and depth > self.limits.depth:
            raise NotInPiecesError  # the rest may not be well-formed
        super()._check_nesting(depth, number)

    def _open(self, element: Tree, rule: Element, depth: int, *, is_shallow: bool) -> Node:
        """Start an element that has more content in the next piece."""
        node = Node(self.next_number, {})
        self.next_number += 1
        self._check_nesting(depth + (not is_shallow), node.number)
        if is_shallow or rule.attributes:
            self._attributes(element, rule, node)
        self.open_elements.append(_UnclosedElement(node, rule, depth, is_shallow))
        return node

    def _read_open(self, piece: Piece, element: Tree, depth: int, *, is_first: bool, is_last: bool) -> None:
        """Read what a piece has of an open element.

        `is_first` and `is_last` say whether it is at the edges of the piece, where elements are continued.
        """
        current = self.open_elements[depth - 1]
        if not current.has_stray_text:
            current.has_stray_text = self._stray_text(element, current.node)
        children = list(element)
        continues = is_last and depth < piece.unclosed
        last = children.pop() if continues and children else None
        if is_first and depth < piece.continued:
            first = children.pop(0) if children else last
            is_both = first is last
            self._read_open(piece, first, depth + 1, is_first=True, is_last=is_both)
            last = None if is_both else last
        self._add_children(children, current)
        if last is not None:
            self._open_child(last, current)
            self._read_open(piece, last, depth + 1, is_first=False, is_last=True)
        if not is_last or depth > piece.unclosed:
            self._close()

    def _open_child(self, element: Tree, parent: _UnclosedElement) -> None:
        rule = self._rule(element, parent.rule)
        if rule is None or rule.is_leaf or rule.opaque or (not rule.many and rule.name in parent.node.fields):
            raise NotInPiecesError  # it is not read as part of the scene
        self._note_first(element, parent)
        is_shallow = parent.is_shallow and rule.holds_streamed and not rule.streamed
        self._open(element, rule, parent.depth + 1, is_shallow=is_shallow)

    def _add_children(self, elements: Iterable[Tree], parent: _UnclosedElement) -> None:
        """Read complete children of an open element."""
        node, rule, depth = parent.node, parent.rule, parent.depth
        for element in elements:
            row = rule.rows.get(element.tag)
            is_many = row is not None and row[1]
            if not is_many:
                self._note_first(element, parent)
            if not parent.is_shallow:
                self._deep_child(element, parent)
            elif row is not None and is_many and row[-1].streamed:
                self.on_streamed(self._subtree(element, row[-1], depth + 1), row[-1], node, rule)
            elif (inner := self._shallow_child(element, rule, node, depth)) is not None:
                self._store(node, inner, self._read_shallow(element, inner, depth + 1))

    def _note_first(self, element: Tree, parent: _UnclosedElement) -> None:
        """Note the number of the first of the children that may occur once: messages name its line."""
        row = parent.rule.rows.get(local_name(element))
        if row is None or row[1]:
            return
        key = (parent.node.number, row[0])
        self.has_repeated_elements = self.has_repeated_elements or key in self.first_of
        self.first_of.setdefault(key, self.next_number)

    def _keep_opaque(self, element: Tree, parent: Node) -> None:
        super()._keep_opaque(deepcopy(element) if self.is_in_pieces else element, parent)

    def _deep_child(self, element: Tree, parent: _UnclosedElement) -> None:
        """Read a complete child of an open element that is flattened in smaller documents."""
        node, number = parent.node, self.next_number
        row = self._row(element, parent.rule)
        if row is None:
            self._unknown_element(element, parent.rule, node)
            return
        name, many, memo, _, rule = row
        if not many and (name in node.fields or node.is_invalid(name)):
            self._repeated(element, rule, node)
        elif memo is None:
            self._add_value(self._subtree(element, rule, parent.depth + 1), row, number, parent)
        else:
            flat = FlatTree(element, number)
            self.next_number += len(flat.tags)
            self._add_value(self._leaf(flat, 0, rule, node), row, number, parent)

    def _add_value(self, value: Any, row: ChildRow, number: int, parent: _UnclosedElement) -> None:
        name, many, _, occurrence_code, rule = row
        if many:
            parent.node.fields.setdefault(name, []).append(value)
        elif value is not ABSENT:
            parent.node.fields[name] = value
        if occurrence_code:
            parent.has_aliases = True
            self.structural_findings += 1
            self.collector.report(occurrence_code, number, element=name, meant=rule.alias_of)

    def _close(self) -> None:
        """Finish the innermost open element."""
        closed = self.open_elements.pop()
        node, rule = closed.node, closed.rule
        if closed.has_aliases:
            self._resolve_aliases(rule, node)
        if not rule.required <= node.fields.keys():
            self._missing(rule, node)
        if not self.open_elements:
            return
        parent = self.open_elements[-1]
        if not parent.is_shallow:
            self._add_value(node, parent.rule.rows[rule.name], node.number, parent)
        elif rule.streamed:
            self.on_streamed(node, rule, parent.node, parent.rule)
        else:
            self._store(parent.node, rule, node)
