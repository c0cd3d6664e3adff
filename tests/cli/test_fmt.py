"""`exoskel fmt`: writing, checking and diffs; a file never loses its meaning."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from exoskel.cli import fmt as fmt_command
from exoskel.formats import formatter, registry
from exoskel.scene.world import Scene
from exoskel.source import atomic_write
from exoskel.source.atomic_write import WriteError, write_atomically
from exoskel.source.document import Document
from tests.cli.conftest import Command
from tests.support.places import EXAMPLES
from tests.support.xml import one_body

TIDY = """\
<skel version="1.0">
  <skeleton name="s">
    <mobile>true</mobile>
    <body name="b"/>
  </skeleton>
</skel>
"""
MESSY = """\
<skel version='1.0'><skeleton name="s">
    <body name="b"/>
<mobile>true</mobile></skeleton></skel>"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "f.skel"
    path.write_text(MESSY)
    return path


def test_a_file_is_formatted_in_place(exoskel_command: Command, file: Path) -> None:
    ran = exoskel_command("fmt", file)
    assert (ran.code, ran.out, ran.err) == (0, f"{file}: formatted\n", "")
    assert file.read_text() == TIDY
    assert exoskel_command("fmt", file).out == f"{file}: unchanged\n"
    assert os.listdir(file.parent) == ["f.skel"], "no temporary file is left"


def test_check_lists_and_writes_nothing(exoskel_command: Command, file: Path, tmp_path: Path) -> None:
    tidy = tmp_path / "tidy.skel"
    tidy.write_text(TIDY)
    ran = exoskel_command("fmt", "--check", file, tidy)
    assert (ran.code, ran.out) == (1, f"{file}\n")
    assert file.read_text() == MESSY
    assert exoskel_command("fmt", "--check", tidy) == (0, "", "")


def test_diff_shows_and_writes_nothing(
    exoskel_command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("f.skel").write_text(MESSY)
    ran = exoskel_command("fmt", "--diff", "f.skel")
    assert ran.code == 0
    assert (
        ran.out
        == """\
--- f.skel
+++ f.skel
@@ -1,3 +1,6 @@
-<skel version='1.0'><skeleton name="s">
+<skel version="1.0">
+  <skeleton name="s">
+    <mobile>true</mobile>
     <body name="b"/>
-<mobile>true</mobile></skeleton></skel>
\\ No newline at end of file
+  </skeleton>
+</skel>
"""
    )
    assert Path("f.skel").read_text() == MESSY
    assert exoskel_command("fmt", "--diff", "--check", "f.skel") == (1, ran.out, "")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_patch_accepts_the_diff(exoskel_command: Command, tmp_path: Path, end: str) -> None:
    path = tmp_path / "f.skel"
    path.write_bytes(MESSY.replace("\n", end).encode())
    diff = exoskel_command("fmt", "--diff", path).out
    try:
        command = ["patch", "--binary", str(path)]
        done = subprocess.run(command, input=diff.encode(), capture_output=True, check=False)
    except FileNotFoundError:
        return  # patch is not installed
    assert done.returncode == 0, done.stdout
    assert path.read_bytes() == TIDY.replace("\n", end).encode()


def test_diff_is_coloured_on_a_terminal(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    file.write_text(MESSY.replace('"s"', '"s\u202e"'))
    fmt_command.fmt((str(file),), diff=True)
    out = capsys.readouterr().out
    assert "\x1b[32m+  <skeleton" in out and "\x1b[31m-<skel" in out
    assert "\u202e" not in out and "\\u202e" in out


def test_numbers_are_shortened_on_request(exoskel_command: Command, tmp_path: Path) -> None:
    path = tmp_path / "f.skel"
    path.write_text('<skel version="1.0"><skeleton><transformation>1.50 0 0 0 0 0.0</transformation></skeleton></skel>')
    exoskel_command("fmt", path)
    assert "<transformation>1.50 0 0 0 0 0.0<" in path.read_text()
    exoskel_command("fmt", "--numbers", path)
    assert '<skel version="1.0">' in path.read_text()
    assert "<transformation>1.5 0 0 0 0 0<" in path.read_text()


def test_standard_input_goes_to_standard_output(exoskel_command: Command) -> None:
    assert exoskel_command("fmt", "-", stdin=MESSY.encode()) == (0, TIDY, "")
    assert exoskel_command("fmt", "-", "--check", stdin=MESSY.encode()) == (1, "<stdin>\n", "")
    ran = exoskel_command("fmt", "-", stdin=b"<skel>")
    assert (ran.code, ran.out) == (1, "") and "error[SK001]" in ran.err


def test_json_lists_the_files(exoskel_command: Command, file: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.skel"
    broken.write_text("<skel>")
    ran = exoskel_command("fmt", "--json", "--check", file, broken)
    assert ran.code == 1
    assert json.loads(ran.out) == [{"file": str(file), "changed": True}, {"file": str(broken), "changed": None}]
    assert json.loads(exoskel_command("fmt", "--json", file).out) == [{"file": str(file), "changed": True}]
    assert file.read_text() == TIDY
    for clash in (["--diff", file], ["-"]):
        ran = exoskel_command("fmt", "--json", *clash, stdin=MESSY.encode())
        assert ran.code == 2 and "cannot be combined" in ran.err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<skel><world></skel>", "</skel> does not match <world> of line 1"),
        (b"", "the file is empty"),
        (b"<COLLADA/>", "COLLADA"),
        (b"not xml", "plain text"),
        (b'<?xml version="1.0" encoding="nonsense"?><skel/>', "nonsense"),
    ],
)
def test_a_file_that_is_not_a_document_is_left_unchanged(
    exoskel_command: Command, tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "f.skel"
    path.write_bytes(content)
    ran = exoskel_command("fmt", path)
    assert (ran.code, ran.out) == (1, "")
    assert message in ran.err and "error[SK" in ran.err
    assert path.read_bytes() == content


def test_a_file_with_errors_in_its_values_is_formatted(exoskel_command: Command, tmp_path: Path) -> None:
    path = tmp_path / "f.skel"
    path.write_text(one_body("<inertia><mass>x</mass></inertia>"))
    assert exoskel_command("fmt", path) == (0, f"{path}: formatted\n", "")


def test_a_missing_file_is_an_error(exoskel_command: Command, file: Path) -> None:
    ran = exoskel_command("fmt", "none.skel", file)
    assert (ran.code, ran.err) == (2, "exoskel: cannot read 'none.skel': no such file or directory\n")
    assert file.read_text() == TIDY, "the other files are still formatted"


def test_samples_are_read_only(exoskel_command: Command) -> None:
    uri = "dart://sample/skel/pendulum.skel"
    ran = exoskel_command("fmt", uri)
    assert ran.code == 2 and "samples are read-only" in ran.err
    assert exoskel_command("fmt", "--check", uri) == (1, f"{uri}\n", "")


@pytest.mark.parametrize("check", ["same_markup", "_meaning"])
def test_a_result_that_means_something_else_is_never_written(
    exoskel_command: Command, file: Path, monkeypatch: pytest.MonkeyPatch, check: str
) -> None:
    lies = iter(range(10))
    monkeypatch.setattr(formatter, check, lambda *_: next(lies) if check == "_meaning" else False)
    ran = exoskel_command("fmt", file)
    assert ran.code == 1 and "is left unchanged" in ran.err and "please report it" in ran.err
    assert file.read_text() == MESSY


@pytest.mark.parametrize(
    "bug",
    [
        lambda data: data.replace(b"true", b"false"),
        lambda data: data.replace(b'"b"', b'"c"'),
        lambda data: data.replace(b"<mobile>true</mobile>", b""),
        lambda data: data.replace(b"</skel>", b"<!-- new --></skel>"),
        lambda data: data.replace(b"<body", b"<joint"),
    ],
)
def test_bugs_of_the_formatter_are_caught(
    exoskel_command: Command, file: Path, monkeypatch: pytest.MonkeyPatch, bug: object
) -> None:
    unchanged = formatter.format_document
    monkeypatch.setattr(formatter, "format_document", lambda *a, **k: bug(unchanged(*a, **k)))  # type: ignore[operator]
    assert exoskel_command("fmt", file).code == 1
    assert file.read_text() == MESSY


def test_an_order_that_changes_the_meaning_is_caught(
    exoskel_command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The markup check allows siblings of different names to swap; only the scene shows the difference."""
    path = tmp_path / "f.xode"
    sphere, box = b'<sphere radius="1"/>', b'<box sizex="1" sizey="1" sizez="1"/>'
    shapes = b'<mass_shape density="1">%b%b</mass_shape>' % (sphere, box)
    text = b'<xode version="1.0r22"><world><space><body name="b"><mass>%b</mass></body></space></world></xode>' % shapes
    path.write_bytes(text)
    monkeypatch.setattr(formatter, "format_document", lambda *_, **__: text.replace(sphere + box, box + sphere))
    ran = exoskel_command("fmt", path)
    assert ran.code == 1 and "would have a different meaning" in ran.err
    assert path.read_bytes() == text


def test_a_result_over_the_size_limit_is_not_written(exoskel_command: Command, file: Path) -> None:
    ran = exoskel_command("fmt", file, "--max-bytes", str(len(MESSY)))
    assert ran.code == 1 and f"the limit of {len(MESSY)}" in ran.err
    assert file.read_text() == MESSY


def test_meshes_are_found_relative_to_the_file(exoskel_command: Command, tmp_path: Path) -> None:
    path = tmp_path / "f.skel"
    path.write_bytes((EXAMPLES / "04_geometry.skel").read_bytes())
    assert exoskel_command("fmt", path).code == 0


# --- writing ----------------------------------------------------------------------------------------


def test_permissions_are_preserved_and_links_followed(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.write_bytes(b"old")
    real.chmod(0o640)
    link = tmp_path / "link"
    try:
        link.symlink_to("real")
    except OSError:
        link = real
    write_atomically(link, b"new")
    assert real.read_bytes() == b"new" and stat.S_IMODE(real.stat().st_mode) == 0o640
    assert link is real or link.is_symlink()
    write_atomically(tmp_path / "created", b"x")
    assert (tmp_path / "created").read_bytes() == b"x"


def test_a_read_only_file_is_left_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(WriteError, match=r"cannot write .*: the file is read-only"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"


@pytest.mark.parametrize("failing", ["replace", "fsync"])
def test_a_failed_write_leaves_the_old_file_and_no_temporary_file(
    exoskel_command: Command, file: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic_write.os, failing, fail)
    ran = exoskel_command("fmt", file)
    assert (ran.code, ran.err) == (2, f"exoskel: cannot write '{file}': no space left on device\n")
    assert file.read_text() == MESSY and os.listdir(file.parent) == ["f.skel"]


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match="the folder does not exist"):
        write_atomically(tmp_path / "no" / "f", b"")


def test_a_file_of_which_only_the_layout_changes_is_not_read(tmp_path: Path) -> None:
    """Reading takes most of the time; the same elements in the same order have the same meaning."""

    def read(data: bytes) -> Scene:
        raise AssertionError("read")

    document = Document(one_body().replace("><", ">\n      <").encode(), "a.skel")
    data = formatter.format_file(document, registry.by_name("skel"), read)
    assert data is not None and data != document.data
    reordered = Document(MESSY.encode(), "a.skel")
    with pytest.raises(AssertionError, match="read"):
        formatter.format_file(reordered, registry.by_name("skel"), read)


def test_folders_are_formatted_without_excluded_and_ignored_files(
    tmp_path: Path, exoskel_command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "exoskel.toml").write_text('exclude = ["third_party/"]\n')
    (tmp_path / ".gitignore").write_text("build/\n")
    for name in ("a/arm.skel", "third_party/arm.skel", "build/arm.skel", "a/model.xml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("<mujoco/>" if name.endswith(".xml") else one_body())
    ran = exoskel_command("fmt", "--check", ".")
    assert (ran.code, ran.out, ran.err) == (1, "a/arm.skel\n", "")
    assert exoskel_command("fmt", "build").code == 2, "nothing to format"
    assert exoskel_command("fmt", "--check", "build/arm.skel").code == 1, "files are formatted wherever they are"
