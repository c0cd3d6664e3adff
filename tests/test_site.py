"""The documentation site, the release files and the workflows are complete and well-formed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from exoskel.samples import samples
from exoskel.version import __version__
from tests.support.places import PROJECT
from tools import site_pages

SITE: dict[str, Any] = yaml.safe_load((PROJECT / "mkdocs.yml").read_text(encoding="utf-8"))
SETTINGS: dict[str, Any] = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
WORKFLOWS = sorted((PROJECT / ".github" / "workflows").glob("*.yml"))


def _pages(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    else:
        for inner in nav.values() if isinstance(nav, dict) else nav:
            yield from _pages(inner)


def test_the_site_shows_every_page_once() -> None:
    shown = list(_pages(SITE["nav"]))
    docs = {str(path.relative_to(PROJECT / "docs")) for path in (PROJECT / "docs").rglob("*.md")}
    generated = {"index.md", "gallery.md", *site_pages.OWN_PAGES}
    assert sorted(shown) == sorted(docs | generated)


def test_links_of_the_start_page_lead_to_pages_of_the_site() -> None:
    text = site_pages._moved("README.md")
    assert "](from-dart.md)" in text and "](contributing.md)" in text and "](docs/" not in text
    assert "](../examples)" in text  # not part of the site: shown as a name


def test_the_gallery_shows_samples() -> None:
    names = {one.uri.removeprefix("dart://sample/") for one in samples()}
    assert names >= set(site_pages.GALLERY)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_have_jobs_with_steps_and_time_limits(path: Any) -> None:
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert job["steps"] and job["timeout-minutes"] <= 90
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
    targets = set(re.findall(r"^([a-z-]+):", (PROJECT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for line in re.findall(r"run: make ([a-z -]+)$", path.read_text(encoding="utf-8"), re.MULTILINE):
        assert set(line.split()) <= targets


def test_tests_run_on_all_systems_and_python_versions() -> None:
    matrix = yaml.safe_load(WORKFLOWS[-1].read_text(encoding="utf-8"))["jobs"]["quick"]["strategy"]["matrix"]
    assert {one.split("-")[0] for one in matrix["os"]} == {"ubuntu", "macos", "windows"}
    assert any(one.endswith("-arm") for one in matrix["os"])
    tested = {*matrix["python"], *(one["python"] for one in matrix["include"])}
    stated = {one.rpartition(" ")[2] for one in SETTINGS["project"]["classifiers"] if ":: Python :: 3." in one}
    assert tested == stated


def test_issue_templates_are_forms() -> None:
    for path in (PROJECT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml"):
        form = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert {"name", "description", "body"} <= form.keys(), path.name


def test_the_citation_and_the_conda_recipe_state_the_version_and_the_dependencies() -> None:
    citation = yaml.safe_load((PROJECT / "CITATION.cff").read_text(encoding="utf-8"))
    recipe = yaml.safe_load((PROJECT / "packaging" / "recipe.yaml").read_text(encoding="utf-8"))
    assert citation["version"] == recipe["context"]["version"] == __version__
    conda = {"mujoco": "mujoco-python"}
    wanted = {}
    for one in SETTINGS["project"]["dependencies"]:
        name, bound = re.fullmatch(r"([a-z]+)>=([\d.]+)", one).groups()  # type: ignore[union-attr]
        wanted[conda.get(name, name)] = f">={bound}"
    stated = dict(one.split() for one in recipe["requirements"]["run"])
    assert stated == wanted | {"python": SETTINGS["project"]["requires-python"]}
