"""Rules of the house that no other tool checks."""

from __future__ import annotations

import ast
import subprocess
import sys
import zipfile
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
