"""The VS Code extension in Node.js, and the settings for Neovim and Emacs in these editors, where they are installed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.places import PROJECT, SAMPLES

EXTENSION = PROJECT / "editors" / "vscode" / "extension.js"
HOST = Path(__file__).with_name("extension_host.js")
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
needs_emacs = pytest.mark.skipif(shutil.which("emacs") is None, reason="needs Emacs")
needs_neovim = pytest.mark.skipif(shutil.which("nvim") is None, reason="needs Neovim")


def activated(**editor: Any) -> dict[str, Any]:
    """Activate the extension, use its command, deactivate it; returns what happened."""
    environment = {**os.environ, "PYTHONPATH": str(PROJECT / "src")}
    command = ["node", str(HOST), str(EXTENSION), json.dumps(editor)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@needs_node
def test_the_extension_starts_the_stated_server_and_restarts_it() -> None:
    pytest.importorskip("pygls")
    stated = [sys.executable, "-m", "exoskel", "lsp"]
    options = {"semantics": "dart", "dialect": "auto", "packagePath": [], "expand": True, "arguments": {"a": "b"}}
    found = activated(settings={"command": stated, **options})
    assert found["commands"] == ["exoskel.restart"]
    assert [one["command"] for one in found["started"]] == [stated, stated]
    assert [one["server"] for one in found["started"]] == ["exoskel", "exoskel"]
    assert found["started"][0]["options"] == options
    assert found["started"][0]["languages"] == ["skel", "xode", "**/*.{urdf,sdf,world,mjcf,xacro}"]
    assert (found["running"], found["messages"]) == (0, [])


@needs_node
def test_the_extension_uses_the_interpreter_of_the_python_extension() -> None:
    pytest.importorskip("pygls")
    found = activated(settings={"command": []}, interpreter=sys.executable)
    assert found["started"][0]["command"] == [sys.executable, "-m", "exoskel", "lsp"]
    assert found["started"][0]["server"] == "exoskel"


@needs_node
def test_an_interpreter_without_the_server_is_not_used(tmp_path: Path) -> None:
    empty = tmp_path / "python"
    empty.write_text("#!/bin/sh\nexit 1\n")
    empty.chmod(0o755)
    found = activated(settings={"command": []}, interpreter=str(empty))
    assert found["started"][0]["command"] == ["exoskel", "lsp"]


@needs_node
def test_a_server_that_cannot_be_started_is_reported() -> None:
    found = activated(settings={"command": ["/no/such/exoskel", "lsp"]})
    assert found["messages"][0].startswith("Cannot start the exoskel language server: ")
    assert 'pip install "exoskel[lsp]"' in found["messages"][0]


@needs_node
def test_the_extension_gives_its_schemas_to_the_xml_extension() -> None:
    found = activated(settings={"command": ["/no/such/exoskel", "lsp"]}, xml=True)
    folder = EXTENSION.parent.as_uri()
    names = ["skel", "xode", "urdf", "sdf"]
    assert found["schemas"] == [
        {"pattern": f"**/*.{name}", "systemId": f"{folder}/schemas/{name}.xsd"} for name in names
    ]


# --- the package --------------------------------------------------------------------------------------

BUNDLED = ["vscode-languageclient", "vscode-jsonrpc", "vscode-languageserver-protocol", "minimatch", "semver"]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the extension after the script that prepares the package, without the packages it was made from."""
    if shutil.which("npm") is None:
        pytest.skip("needs Node.js and npm")
    project = tmp_path_factory.mktemp("package")
    copied = project / "editors" / "vscode"
    shutil.copytree(EXTENSION.parent, copied, ignore=shutil.ignore_patterns("node_modules", "schemas", "dist"))
    (project / "docs").mkdir()
    shutil.copytree(PROJECT / "docs" / "reference", project / "docs" / "reference")
    stated = json.loads((copied / "package.json").read_text())
    stated["devDependencies"].pop("@vscode/vsce")  # it is large, and makes an archive of what is here
    (copied / "package.json").write_text(json.dumps(stated))
    command = ["npm", "install", "--no-audit", "--no-fund"]
    if subprocess.run(command, cwd=copied, check=False, capture_output=True, timeout=300).returncode:
        pytest.skip("needs packages of npm")
    subprocess.run(stated["scripts"]["vscode:prepublish"].split(), cwd=copied, check=True, timeout=60)
    shutil.rmtree(copied / "node_modules")
    return copied


@needs_node
def test_the_package_has_the_schemas_of_the_reference(package: Path) -> None:
    schemas = {path.name: path.read_bytes() for path in (package / "schemas").iterdir()}
    names = ("skel.xsd", "xode.xsd", "urdf.xsd", "sdf.xsd")
    assert schemas == {name: (PROJECT / "docs" / "reference" / name).read_bytes() for name in names}


@needs_node
def test_the_package_has_the_licences_of_what_it_contains(package: Path) -> None:
    text = (package / "dist" / "third-party-licenses.txt").read_text()
    for name in BUNDLED:
        assert re.search(rf"^{name} [\d.]+ \((MIT|ISC)\)$", text, re.MULTILINE), name
    assert text.lower().count("permission") >= len(BUNDLED)
    ignored = (package / ".vscodeignore").read_text().split()
    assert "node_modules/**" in ignored and "LICENSE" not in ignored and not any("dist" in one for one in ignored)


REMOTES = {
    "https://github.com/someone/exoskel.git": "https://github.com/someone/exoskel.git",
    "https://name:secret@gitlab.com/group/exoskel": "https://gitlab.com/group/exoskel",
    "git@github.com:someone/exoskel.git": "https://github.com/someone/exoskel.git",
    "ssh://git@codeberg.org/someone/exoskel.git": "https://codeberg.org/someone/exoskel.git",
    "/home/someone/exoskel": None,
    "file:///home/someone/exoskel": None,
    "git@server:exoskel.git": None,
    "https://localhost/exoskel.git": None,
    "": None,
}


@needs_node
@pytest.mark.parametrize("remote", REMOTES)
def test_the_package_names_the_public_repository_of_its_clone(remote: str) -> None:
    script = EXTENSION.with_name("package.js")
    code = f"process.stdout.write(require({json.dumps(str(script))}).withRepository(process.argv[1], process.argv[2]))"
    text = EXTENSION.with_name("package.json").read_text()
    made = subprocess.run(["node", "-e", code, text, remote], capture_output=True, text=True, check=True, timeout=60)
    address = REMOTES[remote]
    if address is None:
        assert made.stdout == text
    else:
        repository = {"type": "git", "url": address, "directory": "editors/vscode"}
        assert json.loads(made.stdout) == {**json.loads(text), "repository": repository}


def run_package(package: Path, command: list[str]) -> dict[str, list[str]]:
    """Start the packaged extension with its own client, which starts the server; returns what happened."""
    environment = {**os.environ, "PYTHONPATH": str(PROJECT / "src")}
    host = ["node", str(HOST.with_name("bundle_host.js")), str(package / "dist" / "extension.js"), json.dumps(command)]
    done = subprocess.run(host, capture_output=True, text=True, check=False, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, list[str]] = json.loads(done.stdout.splitlines()[-1])
    return found


@needs_node
def test_the_package_runs_without_other_packages(package: Path) -> None:
    pytest.importorskip("pygls")
    found = run_package(package, [sys.executable, "-m", "exoskel", "lsp"])
    assert found["messages"] == [] and found["commands"] == ["exoskel.restart"]
    loaded = {one.removeprefix("node:") for one in found["loaded"] if not one.startswith("/")}
    assert loaded <= {"vscode", "assert", "child_process", "crypto", "fs", "net", "os", "path", "url", "util"}
    shown = run_package(package, ["/no/such/exoskel", "lsp"])["messages"]
    assert any(one.startswith("Cannot start the exoskel language server: ") for one in shown)


# --- Neovim -------------------------------------------------------------------------------------------

GROUPS = """
vim.wait(5000, function() return vim.bo.syntax == "xml" end)
local found = {}
for line = 1, vim.fn.line("$") do
  local column = vim.fn.getline(line):find("<%a")
  if column then
    local group = vim.fn.synIDattr(vim.fn.synID(line, column + 1, 1), "name")
    found[group] = (found[group] or 0) + 1
  end
end
io.stdout:write("RESULT " .. vim.json.encode({ filetype = vim.bo.filetype, groups = found }))
vim.cmd("qa!")
"""


ATTACHED = """
vim.wait(60000, function() return #vim.diagnostic.get(0) > 0 end, 100)
local client = vim.lsp.get_clients({ bufnr = 0 })[1]
local codes = vim.tbl_map(function(one) return one.code end, vim.diagnostic.get(0))
io.stdout:write("RESULT " .. vim.json.encode({ client = client and client.name, codes = codes }))
vim.cmd("qa!")
"""


RENAMED = """
vim.wait(60000, function() return #vim.lsp.get_clients({ bufnr = 0 }) > 0 end, 100)
vim.fn.search('"arm"')
vim.cmd("normal! l")
vim.lsp.buf.rename("hand")
vim.wait(30000, function() return vim.fn.search('"arm"', "nw") == 0 end, 100)
io.stdout:write("RESULT " .. vim.json.encode({ lines = vim.api.nvim_buf_get_lines(0, 0, -1, false) }))
vim.cmd("qa!")
"""
NAMED = {
    "robot.urdf": """<robot name="r"><link name="base"/><link name="arm"/>
<joint name="j" type="fixed"><parent link="base"/><child link="arm"/></joint><gazebo reference="arm"/></robot>
""",
    "robot.mjcf": """<mujoco><worldbody><body name="arm"><geom size="1"/></body></worldbody>
<sensor><framepos objtype="body" objname="arm"/></sensor></mujoco>
""",
}


def settings_of(editor: str, language: str) -> str:
    """The settings that the page states for an editor."""
    page = (PROJECT / "docs" / "editors.md").read_text()
    found = re.search(rf"## {editor}.*?```{language}\n(.*?)```", page, re.DOTALL)
    assert found is not None
    return found[1]


def neovim_version() -> tuple[int, ...]:
    shown = subprocess.run(["nvim", "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(map(int, re.findall(r"\d+", shown)[:2]))


def result_of(command: list[str], folder: Path) -> dict[str, Any]:
    """Run an editor with `exoskel` on its path; returns what its script prints."""
    program = folder / "exoskel"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m exoskel "$@"\n')
    program.chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(PROJECT / "src"), "HOME": str(folder)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200, env=environment)
    lines = [*done.stdout.splitlines(), *done.stderr.splitlines()]
    line = next((line for line in lines if "RESULT " in line), None)
    assert line is not None, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(line.partition("RESULT ")[2])
    return found


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A file with an error."""
    file = tmp_path / "broken.skel"
    file.write_text((SAMPLES / "skel" / "pendulum.skel").read_text().replace("<time_step>", "<time_step>x", 1))
    return file


@needs_neovim
@pytest.mark.parametrize("name", ["skel/walker.skel", "xode/four_bar.xode"])
def test_neovim_colours_files(name: str, tmp_path: Path) -> None:
    settings = settings_of("Neovim", "lua")
    if neovim_version() < (0, 11):  # it has no vim.lsp.config; before 0.8, filetypes in Lua are off by default
        settings = "vim.g.do_filetype_lua = 1\n" + settings.split("vim.lsp.config")[0]
    (tmp_path / "init.lua").write_text(settings)
    (tmp_path / "groups.lua").write_text(GROUPS)
    file = SAMPLES / name
    command = ["nvim", "--headless", "-n", "-u", str(tmp_path / "init.lua"), str(file)]
    found = result_of([*command, "-c", f"luafile {tmp_path / 'groups.lua'}"], tmp_path)
    assert found["filetype"] == file.suffix[1:]
    assert set(found["groups"]) <= {"xmlTagName", "xmlCommentPart"} and found["groups"]["xmlTagName"] > 10


@needs_neovim
def test_neovim_shows_problems(broken: Path, tmp_path: Path) -> None:
    pytest.importorskip("pygls")
    if neovim_version() < (0, 11):
        pytest.skip("needs Neovim 0.11")
    (tmp_path / "init.lua").write_text(settings_of("Neovim", "lua"))
    (tmp_path / "attached.lua").write_text(ATTACHED)
    command = ["nvim", "--headless", "-n", "-u", str(tmp_path / "init.lua"), str(broken)]
    found = result_of([*command, "-c", f"luafile {tmp_path / 'attached.lua'}"], tmp_path)
    assert found["client"] == "exoskel" and "SK022" in found["codes"]


@needs_neovim
@pytest.mark.parametrize("name", NAMED)
def test_neovim_renames_links_and_bodies(name: str, tmp_path: Path) -> None:
    pytest.importorskip("pygls")
    if neovim_version() < (0, 11):
        pytest.skip("needs Neovim 0.11")
    (tmp_path / "init.lua").write_text(settings_of("Neovim", "lua"))
    (tmp_path / "renamed.lua").write_text(RENAMED)
    (tmp_path / name).write_text(NAMED[name])
    command = ["nvim", "--headless", "-n", "-u", str(tmp_path / "init.lua"), str(tmp_path / name)]
    found = result_of([*command, "-c", f"luafile {tmp_path / 'renamed.lua'}"], tmp_path)
    assert found["lines"] == NAMED[name].replace('"arm"', '"hand"').splitlines()


# --- Emacs --------------------------------------------------------------------------------------------

FLYMAKE = """
(package-initialize)
(unless (require 'eglot nil t) (princ "RESULT {}") (kill-emacs))
(setq eglot-sync-connect 60)
(load (expand-file-name "settings.el" (getenv "HOME")))
(find-file (expand-file-name "broken.skel" (getenv "HOME")))
(run-hooks 'post-command-hook)
(with-timeout (60) (while (null (flymake-diagnostics)) (flymake-start) (accept-process-output nil 0.2)))
(princ (concat "RESULT " (json-encode
  `((mode . ,(symbol-name major-mode)) (managed . ,(if (eglot-managed-p) t :json-false))
    (texts . ,(vconcat (mapcar #'flymake-diagnostic-text (flymake-diagnostics))))))))
(kill-emacs)
"""


@needs_emacs
def test_emacs_shows_problems(broken: Path, tmp_path: Path) -> None:
    pytest.importorskip("pygls")
    (tmp_path / "settings.el").write_text(settings_of("Emacs", "elisp"))
    (tmp_path / "flymake.el").write_text(FLYMAKE)
    found = result_of(["emacs", "--no-init-file", "--batch", "--load", str(tmp_path / "flymake.el")], tmp_path)
    if not found:
        pytest.skip("needs Eglot")
    assert (found["mode"], found["managed"]) == ("exoskel-mode", True)
    assert any("is not a number" in text for text in found["texts"]), found
