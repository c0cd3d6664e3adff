"""Rules about the source code: words of one module, unique names of types, and no import cycles."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from exoskel.engines.registry import ENGINES
from exoskel.formats.registry import FORMATS
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


def _strings(nodes: Iterable[ast.AST]) -> set[str]:
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


# --- names of engines and formats ----------------------------------------------------------------------

_LAYERS_WITH_ENGINES = ("engines", "simulate", "view", "lsp", "cli")
_LAYERS_WITH_FORMATS = ("formats", "convert", *_LAYERS_WITH_ENGINES)
_FORMATS = {format.name for format in FORMATS}
_OWN_PACKAGES = (
    *("engines/mujoco", "engines/dart", "engines/ode", "engines/registry.py"),
    *(f"formats/{name}/" for name in _FORMATS),
)
_OTHER_NAMES = {"renderer"}
"""Variables whose values are not engines, although some are called like one."""


def _compared_strings(tree: ast.Module) -> Iterator[str]:
    """Strings that are compared with a value, matched, or used as keys of a table."""
    for node in ast.walk(tree):
        found: Sequence[ast.AST | None] = ()
        if isinstance(node, ast.Compare) and ast.unparse(node.left) not in _OTHER_NAMES:
            found = [inner for one in (node.left, *node.comparators) for inner in ast.walk(one)]
        elif isinstance(node, ast.Dict):
            found = node.keys
        elif isinstance(node, ast.MatchValue):
            found = [node.value]
        yield from _strings(one for one in found if one is not None)


def _chosen_strings(tree: ast.Module) -> set[str]:
    """Strings of which a condition chooses one."""
    choices = [node for node in ast.walk(tree) if isinstance(node, ast.IfExp)]
    return _strings(one for node in choices for one in (node.body, node.orelse))


def _modules_of(*layers: str) -> list[Path]:
    """The modules of some layers, without the packages of single engines and formats."""
    files = [file for layer in layers for file in sorted((SOURCE / layer).rglob("*.py"))]
    return [file for file in files if not str(file.relative_to(SOURCE)).startswith(_OWN_PACKAGES)]


def _name(file: Path) -> str:
    return str(file.relative_to(SOURCE))


@pytest.mark.parametrize("file", _modules_of(*_LAYERS_WITH_ENGINES), ids=_name)
def test_only_the_packages_of_engines_depend_on_their_names(file: Path) -> None:
    assert not {*_compared_strings(_parse(file))} & ENGINES.keys()


@pytest.mark.parametrize("file", _modules_of(*_LAYERS_WITH_FORMATS), ids=_name)
def test_only_the_packages_of_formats_depend_on_their_names(file: Path) -> None:
    tree = _parse(file)
    assert not {*_compared_strings(tree), *_chosen_strings(tree)} & _FORMATS


def test_a_comparison_with_the_name_of_an_engine_is_found() -> None:
    for text in ('engine == "dart"', '"ode" != engine', 'engine in ("mujoco", "x")', '{"warp": 1}[engine]'):
        assert {*_compared_strings(ast.parse(text))} & ENGINES.keys()
    assert not {*_compared_strings(ast.parse('renderer == "mujoco"'))}


def test_a_choice_of_a_format_by_its_name_is_found() -> None:
    for text in ('format.name == "skel"', '"skel" if len(worlds) == 1 else "xode"', '{"sdf": 1}[format]'):
        tree = ast.parse(text)
        assert {*_compared_strings(tree), *_chosen_strings(tree)} & _FORMATS


# --- names of types -------------------------------------------------------------------------------------


def _type_names(tree: ast.Module) -> Iterator[str]:
    """The names of the classes and type aliases of a module, without underscores."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name.lstrip("_")
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id.lstrip("_")
            if name[:1].isupper() and not name.isupper():
                yield name


def test_every_type_has_its_own_name() -> None:
    """No two modules define a class or a type alias of the same name."""
    modules: dict[str, list[Path]] = defaultdict(list)
    for file in MODULES:
        for name in _type_names(_parse(file)):
            modules[name].append(file)
    assert {name: files for name, files in modules.items() if len(files) > 1} == {}


# --- imports --------------------------------------------------------------------------------------------


def _module_name(file: Path) -> str:
    return ".".join(file.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")


def _imported(tree: ast.Module, known: Iterable[str]) -> Iterator[str]:
    """The modules of the package that a module imports, also in functions, but not for type checking only."""
    checks = [node for node in tree.body if isinstance(node, ast.If) and isinstance(node.test, ast.Name)]
    hidden = {node for check in checks for node in ast.walk(check)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node not in hidden:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in known else node.module


def test_no_modules_import_each_other() -> None:
    files = {_module_name(file): file for file in MODULES}
    graph = {name: {one for one in _imported(_parse(file), files) if one in files} for name, file in files.items()}
    in_cycles = []
    for start in graph:
        found: set[str] = set()
        waiting = list(graph[start] - {start})
        while waiting:
            one = waiting.pop()
            if one not in found:
                found.add(one)
                waiting += graph[one]
        if start in found:
            in_cycles.append(start)
    assert in_cycles == []
