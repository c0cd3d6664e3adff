"""The VS Code extension: its files exist, and its settings match the server's."""

from __future__ import annotations

import json
import re

import msgspec

from exoskel.lsp.open_document import Settings
from tests.support.places import PROJECT

FOLDER = PROJECT / "editors" / "vscode"


def test_the_files_of_the_extension_exist() -> None:
    package = json.loads((FOLDER / "package.json").read_text())
    contributed = package["contributes"]
    paths = [package["main"], *(one["configuration"] for one in contributed["languages"])]
    for path in [*paths, *(one["path"] for one in contributed["grammars"])]:
        assert (FOLDER / path).is_file(), path
    for path in FOLDER.rglob("*.json"):
        json.loads(path.read_text())


def test_the_settings_match_the_server() -> None:
    properties = json.loads((FOLDER / "package.json").read_text())["contributes"]["configuration"]["properties"]
    handed_over = set(re.findall(r"(\w+): settings.get\(", (FOLDER / "extension.js").read_text()))
    defaults = {name: properties[f"exoskel.{name}"]["default"] for name in handed_over}
    assert msgspec.convert(defaults, Settings) == Settings()
    assert handed_over | {"confine"} == {field.encode_name for field in msgspec.structs.fields(Settings)}


def test_the_docs_list_all_settings() -> None:
    page = (PROJECT / "docs" / "editors.md").read_text()
    for field in msgspec.structs.fields(Settings):
        assert f"`{field.encode_name}`" in page
