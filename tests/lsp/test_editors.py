"""The VS Code extension: its files exist, and its settings match the server's."""

from __future__ import annotations

import json
import re

import msgspec

from exoskel.lsp.open_document import Settings
from exoskel.version import __version__
from tests.support.places import PROJECT

FOLDER = PROJECT / "editors" / "vscode"


def test_the_files_of_the_extension_exist() -> None:
    package = json.loads((FOLDER / "package.json").read_text())
    contributed = package["contributes"]
    paths = ["extension.js", *(one["configuration"] for one in contributed["languages"])]
    for path in [package["icon"], *paths, *(one["path"] for one in contributed["grammars"])]:
        assert (FOLDER / path).is_file(), path
    assert {one["language"] for one in contributed["grammars"]} == {one["id"] for one in contributed["languages"]}
    for path in FOLDER.glob("*.json"):
        json.loads(path.read_text())
    assert package["main"] == "./dist/extension.js"  # see bundle.js


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


def test_the_extension_has_its_license_and_a_restart_command() -> None:
    assert (FOLDER / "LICENSE").read_bytes() == (PROJECT / "LICENSE").read_bytes()
    commands = json.loads((FOLDER / "package.json").read_text())["contributes"]["commands"]
    script = (FOLDER / "extension.js").read_text()
    assert [one["command"] for one in commands] == ["exoskel.restart"]
    assert all(f'registerCommand("{one["command"]}"' in script for one in commands)


def test_the_extension_starts_the_interpreter_of_the_python_extension() -> None:
    script = (FOLDER / "extension.js").read_text()
    assert "ms-python.python" in script and '"-m", "exoskel", "lsp"' in script


def test_the_icon_is_a_square_picture_of_at_least_128_pixels() -> None:
    from PIL import Image

    with Image.open(FOLDER / "icon.png") as picture:
        assert picture.width == picture.height >= 128


def test_the_version_is_that_of_the_package() -> None:
    assert json.loads((FOLDER / "package.json").read_text())["version"] == __version__


def test_the_extension_starts_in_folders_with_any_of_its_files() -> None:
    script = (FOLDER / "extension.js").read_text()
    pattern = re.search(r'FILES = "\*\*/\*\.\{(.*?)\}"', script)
    assert pattern is not None
    events = json.loads((FOLDER / "package.json").read_text())["activationEvents"]
    assert set(events) == {f"workspaceContains:**/*.{one}" for one in pattern[1].split(",")}
