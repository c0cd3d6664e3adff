"""Files that change between reading and saving, and what a save leaves on the disk."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import exoskel
from exoskel.cli.command_runner import run_command
from exoskel.cli.main import main
from exoskel.source import atomic_write
from exoskel.source.atomic_write import FileChangedError, TemporaryFolder, remove_abandoned, write_atomically
from tests.support.xml import one_body

DOCUMENT = one_body("<transfromation>0 0 1 0 0 0</transfromation>")
OTHER = one_body("<!-- another -->")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "scene.skel"
    path.write_text(DOCUMENT)
    return path


def _edit(scene: exoskel.Scene) -> None:
    scene.worlds[0].models[0].bodies[0].inertia.mass = 7.0


# --- changes by another program ------------------------------------------------------------------------


def _replace(path: Path) -> None:
    path.with_suffix(".new").write_text(OTHER)
    path.with_suffix(".new").replace(path)


def _write_same_size_and_time(path: Path) -> None:
    """What a clock that is too coarse, or a program that restores times, leaves of a change."""
    before = path.stat()
    path.write_text(DOCUMENT.replace("0 0 1", "0 0 2"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES: dict[str, Callable[[Path], Any]] = {
    "written": lambda path: path.write_text(OTHER),
    "replaced": _replace,
    "shortened": lambda path: path.write_text(""),
    "of the same size and time": _write_same_size_and_time,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_file_that_another_program_has_changed_is_not_overwritten(file: Path, change: Callable[[Path], Any]) -> None:
    scene = exoskel.load(file)
    _edit(scene)
    change(file)
    theirs = file.read_bytes()
    with pytest.raises(exoskel.FileChangedError, match=r"scene.skel.*another program has changed.*force=True"):
        exoskel.save(scene)
    with pytest.raises(exoskel.ExoskelError):
        exoskel.save(scene, file)
    assert file.read_bytes() == theirs
    assert list(file.parent.iterdir()) == [file], "no partial file is left"
    exoskel.save(scene, force=True)
    assert exoskel.load(file).worlds[0].models[0].bodies[0].mass == 7.0
    _edit(scene)
    exoskel.save(scene)


def test_a_change_through_a_link_is_noticed(file: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.skel"
    link.symlink_to(file.name)
    scene = exoskel.load(link)
    _edit(scene)
    file.write_text(OTHER)
    with pytest.raises(FileChangedError):
        exoskel.save(scene, file)


@pytest.mark.parametrize("change", [os.utime, lambda path: path.write_text(DOCUMENT), lambda path: path.chmod(0o600)])
def test_a_file_with_the_same_content_is_saved(file: Path, change: Callable[[Path], Any]) -> None:
    scene = exoskel.load(file)
    _edit(scene)
    change(file)
    exoskel.save(scene)


def test_a_removed_file_is_written_again(file: Path) -> None:
    scene = exoskel.load(file)
    file.unlink()
    exoskel.save(scene)
    assert file.read_text() == DOCUMENT


def test_another_file_is_overwritten(file: Path, tmp_path: Path) -> None:
    scene = exoskel.load(file)
    other = tmp_path / "other.skel"
    other.write_text(OTHER)
    exoskel.save(scene, other)
    assert other.read_text() == DOCUMENT


def test_a_change_of_an_old_file_is_noticed_even_if_its_time_is_restored(file: Path) -> None:
    os.utime(file, ns=(0, 10**18))
    scene = exoskel.load(file)
    _edit(scene)
    _write_same_size_and_time(file)
    with pytest.raises(FileChangedError):
        exoskel.save(scene)


@pytest.mark.parametrize(
    ("format", "document"),
    [
        ("urdf", '<robot name="r"><link name="l"><inertial><mass value="1"/></inertial></link></robot>'),
        ("skel", DOCUMENT),
    ],
)
def test_a_scene_is_saved_again_and_again(tmp_path: Path, format: str, document: str) -> None:
    path = tmp_path / f"scene.{format}"
    path.write_text(document)
    scene = exoskel.load(path)
    for mass in (2.0, 3.0):
        scene.worlds[0].models[0].bodies[0].inertia.mass = mass
        exoskel.save(scene)
        assert exoskel.load(path).worlds[0].models[0].bodies[0].mass == mass
    path.write_text(document)
    with pytest.raises(FileChangedError):
        exoskel.save(scene)


@pytest.mark.parametrize("command", [["fmt"], ["check", "--fix"]])
def test_a_command_does_not_overwrite_a_change(
    file: Path, command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another program saves at the last moment, when the new content is complete on the disk."""
    own = atomic_write.os.fsync

    def fsync(descriptor: int) -> None:
        own(descriptor)
        file.write_text(OTHER)

    monkeypatch.setattr(atomic_write.os, "fsync", fsync)
    assert main([*command, str(file)]) == 2
    shown = capsys.readouterr().err
    assert str(file) in shown and "--force" in shown and "force=True" not in shown
    assert file.read_text() == OTHER
    file.write_text(DOCUMENT)
    assert main([*command, str(file), "--force"]) in (0, 1)
    assert file.read_text() not in (OTHER, DOCUMENT)


@pytest.mark.parametrize("is_folder", [False, True], ids=["file", "folder"])
def test_a_conversion_in_place_does_not_overwrite_a_change(
    file: Path, is_folder: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    own = atomic_write.os.fsync

    def fsync(descriptor: int) -> None:
        own(descriptor)
        file.write_text(OTHER)

    places = [str(file.parent), str(file.parent), "--to", "skel"] if is_folder else [str(file), str(file)]
    with monkeypatch.context() as patch:
        patch.setattr(atomic_write.os, "fsync", fsync)
        assert main(["convert", *places, "--overwrite"]) == (1 if is_folder else 2)
    assert file.read_text() == OTHER
    shown = "".join(capsys.readouterr())
    assert "another program has changed the file" in shown and "force" not in shown
    main(["convert", *places, "--overwrite"])
    assert file.read_text() != OTHER


def test_a_scene_is_converted_in_place_again_and_again(file: Path) -> None:
    scene = exoskel.load(file)
    for mass in (2.0, 3.0):
        scene.worlds[0].models[0].bodies[0].inertia.mass = mass
        exoskel.convert(scene, file, overwrite=True)
        assert exoskel.load(file).worlds[0].models[0].bodies[0].mass == mass
    file.write_text(OTHER)
    with pytest.raises(FileChangedError):
        exoskel.convert(scene, file, overwrite=True)


def test_copies_of_samples_do_not_overwrite_a_file_that_appears(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "skel" / "pendulum.skel"
    own = atomic_write.os.fsync

    def fsync(descriptor: int) -> None:
        own(descriptor)
        target.write_text(OTHER)

    with monkeypatch.context() as patch:
        patch.setattr(atomic_write.os, "fsync", fsync)
        assert main(["samples", "pendulum", "--copy", str(tmp_path)]) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert target.read_text() == OTHER


RACE = """
import sys
from pathlib import Path
from exoskel.source.atomic_write import FileChangedError, write_atomically
for number, line in enumerate(sys.stdin):
    try:
        write_atomically(Path(sys.argv[1]), sys.argv[2].encode(), b"old %d" % number)
        print("written", flush=True)
    except FileChangedError:
        print("refused", flush=True)
"""


def test_of_several_processes_that_save_at_once_only_one_succeeds(file: Path) -> None:
    """Two could find the file unchanged, and the second replaced what the first had written."""
    command = [sys.executable, "-c", RACE, str(file)]
    pipe = subprocess.PIPE
    processes = [subprocess.Popen([*command, name], stdin=pipe, stdout=pipe, text=True, bufsize=1) for name in "abc"]
    for number in range(150):
        file.write_text(f"old {number}")
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
        answers = [process.stdout.readline().strip() for process in processes if process.stdout is not None]
        assert sorted(answers) == ["refused", "refused", "written"]
        assert file.read_text() == "abc"[answers.index("written")]
    for process in processes:
        process.communicate(timeout=60)


def test_a_file_that_another_program_keeps_locked_is_saved(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atomic_write, "_ATTEMPTS", 2)
    with file.open() as other:
        assert atomic_write.lock(other.fileno())
        write_atomically(file, b"new", file.read_bytes())
    assert file.read_bytes() == b"new"


# --- permissions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_a_private_file_is_private_while_it_is_saved(file: Path, monkeypatch: pytest.MonkeyPatch, mode: int) -> None:
    file.chmod(mode)
    seen: list[int] = []

    def watch(call: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any, **options: Any) -> Any:
            result = call(*arguments, **options)
            seen.extend(stat.S_IMODE(path.stat().st_mode) for path in file.parent.iterdir())
            return result

        return watched

    before = os.umask(0)
    try:
        for name in ("open", "dup", "chown", "chmod", "fsync", "replace"):
            monkeypatch.setattr(atomic_write.os, name, watch(getattr(os, name)))
        write_atomically(file, b"new")
    finally:
        os.umask(before)
    assert set(seen) == {0o600, mode}
    assert stat.S_IMODE(file.stat().st_mode) == mode


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("open_umask")
@pytest.mark.parametrize(
    ("mode", "expected"), [(0o600, 0o600), (0o640, 0o640), (0o644, 0o644), (0o666, 0o644), (0o444, 0o644)]
)
def test_outputs_cannot_be_read_by_more_users_than_the_source(file: Path, mode: int, expected: int) -> None:
    scene = exoskel.load(file)
    file.chmod(mode)
    exoskel.convert(file, file.with_name("a.xode"))
    exoskel.save(scene, file.with_name("b.skel"))
    assert [_mode(file.with_name(name)) for name in ("a.xode", "b.skel")] == [expected, expected]


@pytest.mark.usefixtures("open_umask")
def test_outputs_of_a_private_mesh_or_with_an_initial_state_are_private(tmp_path: Path) -> None:
    mesh, robot = tmp_path / "in" / "mesh.obj", tmp_path / "in" / "robot.skel"
    mesh.parent.mkdir()
    mesh.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\nf 1 3 4\nf 2 3 4\n")
    shape = (
        "<visualization_shape><geometry><mesh><file_name>mesh.obj</file_name></mesh></geometry></visualization_shape>"
    )
    robot.write_text(one_body(f"<transformation>0 0 1 0 0 0</transformation>{shape}"))
    mesh.chmod(0o600)
    exoskel.convert(robot, tmp_path / "out" / "robot.sdf", meshes="copy")
    assert {_mode(path) for path in (tmp_path / "out").rglob("*") if path.is_file()} == {0o600}
    assert len([path for path in (tmp_path / "out").rglob("*") if path.is_file()]) > 1


@pytest.mark.usefixtures("open_umask")
def test_an_output_that_exists_keeps_its_permissions(file: Path) -> None:
    output = file.with_name("a.xode")
    output.write_text("old")
    output.chmod(0o664)
    file.chmod(0o600)
    exoskel.convert(file, output)
    assert _mode(output) == 0o664


@pytest.mark.usefixtures("open_umask")
def test_an_output_in_another_group_is_closed_to_it(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.chmod(0o640)
    monkeypatch.setattr(atomic_write.os, "getegid", lambda: file.stat().st_gid + 1)
    exoskel.convert(file, file.with_name("a.xode"))
    assert _mode(file.with_name("a.xode")) == 0o600


def test_a_file_that_loses_its_group_is_closed_to_the_new_group(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.chmod(0o664)
    status = file.stat()
    values = list(status)
    values[stat.ST_GID] += 1
    monkeypatch.setattr(atomic_write.os, "chown", lambda *_: None)
    copy = file.with_suffix(".copy")
    copy.touch()
    atomic_write._copy_permissions(copy, os.stat_result(values))
    assert stat.S_IMODE(copy.stat().st_mode) == 0o644


# --- names ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a" * 245 + ".skel", "é" * 120 + ".skel", "\U0001f600" * 60 + ".skel"])
def test_a_long_name_can_be_saved(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    for data in (b"old", b"new"):
        write_atomically(path, data)
        assert path.read_bytes() == data


def test_other_names_of_a_saved_file_are_mentioned(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = file.with_name("other.skel")
    os.link(file, other)
    scene = exoskel.load(file)
    _edit(scene)
    exoskel.save(scene)
    assert [d.message for d in scene.diagnostics if d.code == "FM202"] == [
        "the saved file has other names (hard links: 1), which keep the old content"
    ]
    assert other.read_text() == DOCUMENT
    exoskel.save(scene)
    assert "FM202" not in [d.code for d in exoskel.load(file).diagnostics]
    os.link(file, file.with_name("third.skel"))
    assert main(["fmt", str(file)]) == 0
    assert "hard links: 1" in capsys.readouterr().err


# --- what killed processes leave ------------------------------------------------------------------------

KILLED = """
import os, signal, sys
from pathlib import Path
from exoskel.source.atomic_write import open_atomically
from exoskel.source.atomic_write import TemporaryFolder
kept = TemporaryFolder(sys.argv[1])
(kept.path / "large").write_bytes(b"x")
with open_atomically(Path(sys.argv[1]) / "scene.skel") as file:
    file.write(b"half")
    file.flush()
    print("ready", flush=True)
    sys.stdin.read()
"""


def _age(folder: Path) -> None:
    for path in folder.iterdir():
        os.utime(path, (time.time() - 60, time.time() - 60), follow_symlinks=False)


def test_the_next_process_removes_what_a_killed_one_left(file: Path, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    _age(tmp_path)
    remove_abandoned.cache_clear()
    remove_abandoned(tmp_path)
    assert len(list(tmp_path.iterdir())) == 3, "the process still uses them"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert len(list(tmp_path.iterdir())) == 3
    remove_abandoned.cache_clear()
    write_atomically(file, b"new")
    assert list(tmp_path.iterdir()) == [file]


def test_files_of_others_are_not_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("exoskel-projects", ".exoskel-projects", "a.exoskel-12345678.tmp", ".a.tmp", ".exoskel-1.tmp"):
        (tmp_path / name).mkdir()
    (tmp_path / ".exoskel-12345678.tmp").symlink_to(tmp_path)
    _age(tmp_path)
    (tmp_path / ".a.exoskel-12345678.tmp").touch()
    before = sorted(tmp_path.iterdir())
    remove_abandoned.cache_clear()
    remove_abandoned(tmp_path)
    assert sorted(tmp_path.iterdir()) == before
    _age(tmp_path)
    monkeypatch.setattr(atomic_write.os, "geteuid", lambda: os.getuid() + 1)
    remove_abandoned.cache_clear()
    remove_abandoned(tmp_path)
    assert sorted(tmp_path.iterdir()) == before, "it belongs to another user"
    monkeypatch.undo()
    remove_abandoned.cache_clear()
    remove_abandoned(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted(set(before) - {tmp_path / ".a.exoskel-12345678.tmp"})


def test_a_temporary_folder_is_removed_when_it_is_no_longer_used(tmp_path: Path) -> None:
    with TemporaryFolder(str(tmp_path)) as folder:
        (folder / "a").write_bytes(b"x")
    assert not folder.exists()
    unused = TemporaryFolder(str(tmp_path)).path
    assert not unused.exists()


def test_the_command_removes_abandoned_folders(tmp_path: Path) -> None:
    left = tmp_path / ".exoskel-12345678.tmp"
    left.mkdir()
    _age(tmp_path)
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-m", "exoskel", "engines"], env=environment, capture_output=True, check=True)
    assert not left.exists()


OUTPUTS = {
    "a.png": ("render", "--size", "32x32", "--renderer", "software"),
    "a.gif": ("render", "--size", "32x32", "--time", "0.05", "--renderer", "software"),
    "a.npz": ("run", "--time", "0.01"),
    "a.csv": ("run", "--time", "0.01"),
}


@pytest.mark.usefixtures("open_umask")
@pytest.mark.parametrize("name", OUTPUTS)
def test_pictures_and_trajectories_of_a_private_file_are_private(file: Path, name: str) -> None:
    command, *options = OUTPUTS[name]
    for mode, expected in ((0o600, 0o600), (0o644, 0o644)):
        file.chmod(mode)
        output = file.with_name(f"{mode:o}{name}")
        assert run_command([command, str(file), *options, "--out", str(output)]) == 0
        assert _mode(output) == expected


@pytest.mark.usefixtures("open_umask")
def test_a_picture_of_a_private_motion_is_private(file: Path) -> None:
    motion, output = file.with_name("a.npz"), file.with_name("a.png")
    assert run_command(["run", str(file), "--time", "0.01", "--out", str(motion)]) == 0
    motion.chmod(0o600)
    size = ["--size", "32x32", "--renderer", "software"]
    assert run_command(["render", str(file), "--motion", str(motion), *size, "--out", str(output)]) == 0
    assert _mode(output) == 0o600


@pytest.mark.usefixtures("open_umask")
def test_pages_and_pictures_of_a_private_scene_are_private(file: Path) -> None:
    file.chmod(0o600)
    scene = exoskel.load(file)
    exoskel.export(scene, file.with_name("a.html"))
    exoskel.render(scene, file.with_name("a.png"), size=(32, 32), renderer="software")
    assert [_mode(file.with_name(name)) for name in ("a.html", "a.png")] == [0o600, 0o600]
