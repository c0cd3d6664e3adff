"""Rules about the source code: names of formats and engines that one module owns are spelled nowhere else."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from exoskel.source.embedded_format import EXTENSION, EmbeddedTag

SOURCE = Path(__file__).parents[1] / "src" / "exoskel"
MODULES = sorted(SOURCE.rglob("*.py"))
EMBEDDED_FORMAT = SOURCE / "source" / "embedded_format.py"

_OWN_WORDS = {EmbeddedTag.FIELD.value, "was", EXTENSION.tag, EXTENSION.name_attribute, EXTENSION.world_extension}
"""Words of embedded data that mean nothing else in the project."""
_COMMON_WORDS = {*(tag.value for tag in EmbeddedTag), "kept", "of", "field", "to", "at", "in"}
"""Words of embedded data that also have other meanings: they are not used as a tag or attribute of an element."""
_ELEMENT_CALLS = {"Markup", "attribute", "attribute_text", "set_attribute", "iterchildren"}


def _parse(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def _docstrings(tree: ast.Module) -> set[ast.AST]:
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}


def _strings(nodes: Iterator[ast.AST] | list[ast.expr]) -> set[str]:
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _words_used_for_elements(tree: ast.Module) -> Iterator[str]:
    """Strings that are compared with a tag, or with which an element or attribute is made or looked up."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _called(node) in _ELEMENT_CALLS:
            yield from _strings(node.args)
        elif isinstance(node, ast.Compare) and "tag" in ast.unparse(node.left):
            yield from _strings(inner for one in node.comparators for inner in ast.walk(one))


@pytest.mark.parametrize("file", MODULES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_only_the_classes_of_embedded_data_spell_its_tags_and_attributes(file: Path) -> None:
    if file == EMBEDDED_FORMAT:
        return
    tree = _parse(file)
    docstrings = _docstrings(tree)
    assert not _strings(node for node in ast.walk(tree) if node not in docstrings) & _OWN_WORDS
    assert not {*_words_used_for_elements(tree)} & _COMMON_WORDS


def test_the_classes_of_embedded_data_spell_all_of_its_words() -> None:
    words = _strings(ast.walk(_parse(EMBEDDED_FORMAT)))
    assert words >= _OWN_WORDS | _COMMON_WORDS
