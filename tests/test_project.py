"""Rules of the project that no other tool checks: layout, language, packaging, and the guide for contributors."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from fnmatch import fnmatch
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.support.checklist import numbers_shown
from tests.support.places import PROJECT, TESTS

SOURCES = sorted((PROJECT / "src").rglob("*.py"))

# Items 74 to 86 are about motion and 87 to 94 about writing; they come with the parts that do those.
ITEMS_OF_READING = {*range(1, 74), *range(95, 105)}


# Rule 34 and 37 are about writing.
RULES_OF_READING = {*range(1, 39)} - {34, 37}


@pytest.mark.parametrize(
    ("marker", "wanted"),
    [("item", ITEMS_OF_READING), ("rule", RULES_OF_READING), ("disagreement", {*range(1, 44)})],
)
def test_everything_on_the_checklists_has_a_test(marker: str, wanted: set[int]) -> None:
    missing = wanted - numbers_shown(TESTS, marker)
    assert not missing


@pytest.mark.parametrize("file", SOURCES, ids=lambda path: str(path.relative_to(PROJECT / "src")))
def test_modules_have_one_concern(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 600
    assert text.startswith('"""'), "a module says what it is for"


def test_the_library_never_prints() -> None:
    for file in SOURCES:
        if "cli" in file.parts:
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            assert not (isinstance(node, ast.Name) and node.id == "print"), file


def test_importing_is_light() -> None:
    script = (
        "import sys, exoskel; heavy = {'trimesh', 'rich', 'cyclopts', 'collada', 'mujoco', 'matplotlib', 'pxr', 'urllib.request'}; "
        "print(sorted(heavy & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--outdir", str(folder), str(PROJECT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_wheel_and_source_distribution_build(distributions: Path) -> None:
    assert len(list(distributions.glob("exoskel-*.whl"))) == 1
    assert len(list(distributions.glob("exoskel-*.tar.gz"))) == 1


def test_the_installed_wheel_finds_its_samples_and_schemas(distributions: Path, tmp_path: Path) -> None:
    (wheel,) = distributions.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    assert (tmp_path / "exoskel" / "py.typed").exists()
    script = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import exoskel
assert exoskel.__file__.startswith({str(tmp_path)!r}), exoskel.__file__
from exoskel.samples import samples
from exoskel.cli.main import main
assert len(samples()) >= 15
for sample in samples():
    assert exoskel.load(sample.uri).world.models
assert main(["schema", "skel", "--out", {str(tmp_path / "out.xsd")!r}]) == 0
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out.xsd").stat().st_size > 10_000


def test_nothing_of_the_corpus_is_in_the_project() -> None:
    tracked = subprocess.run(["git", "ls-files"], capture_output=True, text=True, cwd=PROJECT, check=False)
    if tracked.returncode:
        pytest.skip("not a git checkout")
    assert not [name for name in tracked.stdout.split("\n") if "corpus" in name and not name.endswith(".py")]


# --- language -----------------------------------------------------------------------------------------

BANNED = (
    r"anew",
    r"unsaid",
    r"rivals?",
    r"encounters?",
    r"reels?",
    r"verbs? of the command line",
    r"without a word",
    r"hangs? on (?:no|a|an|the|its)",
    r"(?<!there )(?:is|are) (?-i:none)(?! of)",
    r"told",
    r"blanks",
    r"whoever",
    r"of the rest",
    r"(?:no|has|have) words for",
    r"cannot say it",
    r"who (?:may touch|meets|passes) whom",
    r"next door",
    r"(?:held|hold|holds) against",
    r"wing of",
    r"(?:rooms?|floors?) of the house",
    r"worked out",
    r"for ever",
    r"reckon\w*",
    r"afloat",
    r"nobody",
    r"somebody",
    r"judges?",
    r"ties? (?:it|them|two|bodies)",
    r"left out",
    r"length zero",
    r"has no meaning",
    r"typing errors?",
    r"(?:change|edit) wins",
    r"holds one",
    r"names (?:no|none)",
    r"there is no \w+ called",
    r"no \w+ is (?:called|named)",
    r"repeated (?:element|<\{element)",
    r"is not (?:SKEL|XODE) (?:and|here)",
    r"other people",
    r"otherwise than",
    r"surely",
    r"nothing but",
    r"(?:has|have) gone",
)
"""Phrases that readers stumble over; docs/architecture.md has the terms to use instead."""
PROSE = [
    *SOURCES,
    *(PROJECT / name for name in ("Makefile", "pyproject.toml", "tests/allowed_skips.txt")),
    *sorted(PROJECT.glob("*.md")),
    *sorted((PROJECT / "docs").rglob("*.md")),
    *sorted(path for folder in ("benchmarks", "tools") for path in (PROJECT / folder).rglob("*.py")),
    *sorted(path for path in (PROJECT / "examples").rglob("*") if path.suffix in {".py", ".sh", ".ipynb", ".skel"}),
    *sorted(
        path
        for path in (PROJECT / "editors").rglob("*")
        if path.suffix in {".js", ".json"} and "node_modules" not in path.parts
    ),
    *sorted(path for path in (PROJECT / "src").rglob("*") if path.suffix in {".skel", ".xode", ".js", ".html", ".css"}),
    *sorted(path for path in TESTS.rglob("*") if path.suffix in {".skel", ".xode", ".sdf", ".urdf"}),
]
"""Everything that people read: code, guides, samples, editor support and documents of the tests."""


@pytest.mark.parametrize("file", PROSE, ids=lambda path: str(path.relative_to(PROJECT)))
def test_no_banned_phrase_is_used(file: Path) -> None:
    text = " ".join(file.read_text(encoding="utf-8").split())
    assert re.findall(rf"(?i)\b(?:{'|'.join(BANNED)})\b", text) == []


# --- the guide for contributors -----------------------------------------------------------------------

GUIDES = [PROJECT / "CONTRIBUTING.md", PROJECT / "docs" / "architecture.md"]


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.name)
def test_every_path_in_the_guides_exists(guide: Path) -> None:
    named = re.findall(r"`((?:src|tests|docs|tools|examples)/[^`*\s]*)`", guide.read_text(encoding="utf-8"))
    assert len(named) > 20
    assert [path for path in named if "NAME" not in path and not (PROJECT / path).exists()] == []


def _steps(title: str) -> list[str]:
    """The code blocks of a section of the guide, without their indentation in the list."""
    text = GUIDES[0].read_text(encoding="utf-8")
    section = text[text.index(f"## {title}\n") :].split("\n## ")[0]
    return [
        "\n".join(line.removeprefix("   ") for line in block.split("\n"))
        for block in re.findall(r"```python\n(.*?)   ```", section, re.DOTALL)
    ]


def _apply(step: str, root: Path) -> None:
    """Make the change that the first line of a step describes."""
    head, _, body = step.partition("\n")
    if head.startswith("# new file: "):
        (root / head.removeprefix("# new file: ")).write_text(body, encoding="utf-8")
        return
    name, _, place = head.removeprefix("# ").partition(", ")
    file = root / name
    text = file.read_text(encoding="utf-8")
    match place.partition(": "):
        case "at the end", _, _:
            text += body
        case "after", _, anchor:
            assert text.count(f"{anchor}\n") == 1, head
            text = text.replace(f"{anchor}\n", f"{anchor}\n{body}")
        case "before", _, anchor:
            lines = text.split("\n")
            (line,) = [i for i, line in enumerate(lines) if line.strip().startswith(anchor)]
            text = "\n".join([*lines[:line], body.rstrip("\n"), *lines[line:]])
        case _:
            raise AssertionError(head)
    file.write_text(text, encoding="utf-8")


@pytest.fixture
def copied_source(tmp_path: Path) -> Path:
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PROJECT / "src", tmp_path / "src", ignore=ignore)
    return tmp_path


def _exoskel(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(root / "src")}
    command = [sys.executable, "-m", "exoskel", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=root, env=environment, check=False)


def test_following_the_guide_adds_a_diagnostic(copied_source: Path) -> None:
    for step in _steps("Add a diagnostic"):
        _apply(step, copied_source)
    sample = copied_source / "src" / "exoskel" / "samples" / "skel" / "pendulum.skel"
    heavy = copied_source / "heavy.skel"
    heavy.write_text(
        sample.read_text(encoding="utf-8").replace("<mass>2.2</mass>", "<mass>2200</mass>"), encoding="utf-8"
    )
    done = _exoskel(copied_source, "check", "heavy.skel", "--all")
    assert "SK056" in done.stdout and "body 'bob' has a mass of 2200 kg" in done.stdout, done.stdout + done.stderr
    assert "SK056" not in _exoskel(copied_source, "check", str(sample), "--all").stdout
    assert "grams" in _exoskel(copied_source, "explain", "SK056").stdout


def test_following_the_guide_adds_a_command(copied_source: Path) -> None:
    for step in _steps("Add a command"):
        _apply(step, copied_source)
    done = _exoskel(copied_source, "count", "dart://sample/skel/pendulum.skel")
    assert (done.returncode, done.stdout.strip()) == (0, "5 bodies"), done.stderr
    assert "Print the number of bodies in a file." in _exoskel(copied_source, "--help").stdout


# --- imports ------------------------------------------------------------------------------------------


def _statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """The statements of a module, with those that only the type checker sees."""
    for node in tree.body:
        is_for_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        yield from node.body if is_for_types and isinstance(node, ast.If) else (node,)


def _imports(tree: ast.Module) -> Iterator[str]:
    """The modules, or names in modules, that a module imports when it is loaded, or for its types."""
    for node in _statements(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("exoskel"):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("exoskel"))


def test_modules_do_not_import_each_other_in_cycles() -> None:
    names = {".".join(file.relative_to(PROJECT / "src").with_suffix("").parts): file for file in SOURCES}
    imports: dict[str, set[str]] = {}
    for name, file in names.items():
        found = _imports(ast.parse(file.read_text(encoding="utf-8")))
        imports[name] = {target if target in names else target.rpartition(".")[0] for target in found} & names.keys()
    try:
        tuple(TopologicalSorter(imports).static_order())
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


# --- skips --------------------------------------------------------------------------------------------


def test_every_listed_skip_names_an_existing_test() -> None:
    lines = (TESTS / "allowed_skips.txt").read_text(encoding="utf-8").splitlines()
    for pattern in (line.strip() for line in lines if line.strip() and not line.startswith("#")):
        name, _, test = pattern.partition("::")
        files = [*PROJECT.glob(name)]
        assert files, pattern
        text = "".join(file.read_text(encoding="utf-8") for file in files)
        functions = re.findall(r"^def (test_\w+)", text, re.MULTILINE)
        prefix = test.partition("[")[0]
        assert not test or any(fnmatch(function, prefix) or fnmatch(f"{function}[", test) for function in functions), (
            pattern
        )


def test_the_recipe_for_a_joint_kind_names_every_module_that_lists_kinds() -> None:
    recipe = (PROJECT / "CONTRIBUTING.md").read_text().partition("## Add a joint kind")[2].partition("\n## ")[0]
    source = PROJECT / "src" / "exoskel"
    listing = {path for path in source.rglob("*.py") if "translational2d" in path.read_text()}
    outside = {path.relative_to(PROJECT).as_posix() for path in listing if path.parts[len(source.parts)] != "formats"}
    assert outside <= set(re.findall(r"`(src/[^`]+)`", recipe))
    named = set(re.findall(r"`(src/[^`]+\.py)`", recipe.partition("5. ")[2].partition("6. ")[0]))
    assert named <= outside
