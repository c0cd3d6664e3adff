"""`exoskel doctor`, `exoskel engines` and `exoskel samples`: what is installed and works, engines and samples."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import metadata, util
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Struct, structs

from exoskel.cli import terminal
from exoskel.cli.parameters import Argument
from exoskel.diagnostics import ExoskelError, did_you_mean, pluralize, printable
from exoskel.samples import Sample
from exoskel.samples import samples as all_samples
from exoskel.source.atomic_write import FileChangedError, make_folder, write_atomically
from exoskel.source.file_access import has_content
from exoskel.version import __version__

Status = Literal["ok", "missing", "failed"]
_MARKS: dict[Status, str] = {"ok": "green", "missing": "yellow", "failed": "bold red"}
_SAMPLE = "dart://sample/skel/pendulum.skel"
_SECONDS = 120.0
_DEVELOPMENT = "dev"
_EGL = "sudo apt-get install libegl1 libgl1-mesa-dri"
_BROWSERS = ("firefox", "chromium", "chromium-browser", "google-chrome", "microsoft-edge", "brave-browser")


class InstalledPart(Struct, frozen=True):
    """One thing that was looked for: what it is, whether it works, and the line that installs it."""

    group: str
    name: str
    status: Status
    detail: str
    install: str = ""


def doctor(*, json: Annotated[bool, Argument(help="Print the results as JSON.")] = False) -> int:
    """Check versions, optional packages, engines, rendering, GPU and browser. Engines are tried for one step.

    Exit code 0: everything that is installed works. 1: something that is installed or required does not work.
    """
    parts: list[InstalledPart] = []
    checks: tuple[tuple[str, Callable[[], Iterator[InstalledPart]]], ...] = (
        ("looking for packages", _system),
        ("looking for packages", _packages),
        ("trying engines", _engines),
        ("trying to render", _graphics),
    )
    for label, look in checks:
        with terminal.spinner(label):
            parts += look()
    if json:
        terminal.write_json([structs.asdict(one) for one in parts])
    else:
        _show(parts)
    return int(any(one.status == "failed" for one in parts))


def _system() -> Iterator[InstalledPart]:
    yield InstalledPart("system", "exoskel", "ok", __version__)
    yield InstalledPart("system", "python", "ok", f"{platform.python_version()} ({sys.executable})")
    yield InstalledPart("system", "platform", "ok", platform.platform())


# --- packages ---------------------------------------------------------------------------------------------


def _packages() -> Iterator[InstalledPart]:
    """The packages that Exoskel needs, and those of its extras."""
    for name, extra in _requirements():
        version = _version(name)
        group = f"extra {extra}" if extra else "required"
        if version is None and name in _MODULES and util.find_spec(_MODULES[name]) is not None:
            yield _replacement(group, name)
            continue
        install = f"pip install 'exoskel[{extra}]'" if extra else f"pip install {name}"
        if version is not None:
            yield InstalledPart(group, name, "ok", version)
        else:
            yield InstalledPart(group, name, "missing" if extra else "failed", "not installed", install)


def _replacement(group: str, name: str) -> InstalledPart:
    """The package that is installed instead of a required one, with the same module: each overwrites the other."""
    module = _MODULES[name]
    packages = metadata.packages_distributions().get(module, [])
    found = f"{module} of {', '.join(dict.fromkeys(packages)) or 'another package'}"
    version, problem = _output([sys.executable, "-P", "-c", _MODULE_VERSIONS[module]])
    if problem:
        return InstalledPart(group, name, "failed", f"{found}: {problem}")
    least = next((one[1] for one in map(_LEAST.search, _lines(name)) if one), "0")
    if _numbers(version) < _numbers(least):
        return InstalledPart(group, name, "failed", f"{found} is {version}; {least} or later is needed")
    return InstalledPart(group, name, "ok", f"{version}, {found}")


_MODULES = {"usd-core": "pxr"}
"""Modules of required packages that other packages have, too."""
_MODULE_VERSIONS = {"pxr": "from pxr import Usd; print('.'.join(map(str, Usd.GetVersion()[1:])))"}
_LEAST = re.compile(r">=\s*([0-9.]+)")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(one) for one in re.findall(r"[0-9]+", version))


def _lines(name: str) -> list[str]:
    """The requirements of Exoskel for a package."""
    return [line for line in metadata.requires("exoskel") or [] if re.match(rf"{re.escape(name)}\b", line)]


def _requirements() -> list[tuple[str, str]]:
    """The names of required packages with the extras that need them, each once; an empty extra is always needed."""
    try:
        lines = metadata.requires("exoskel") or []
    except metadata.PackageNotFoundError:  # the source is on the path, but not installed
        return []
    found: dict[tuple[str, str], None] = {}
    for line in lines:
        name = re.match(r"[\w.-]+", line)
        extra = re.search(r"extra\s*==\s*[\"']([\w-]+)", line)
        if name and name[0] != "exoskel" and (extra is None or extra[1] != _DEVELOPMENT):
            found[name[0], extra[1] if extra else ""] = None
    return sorted(found, key=lambda one: (one[1] != "", one[1]))


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


# --- trials in child processes ----------------------------------------------------------------------------


_STEP = "import sys, exoskel; exoskel.Simulation(exoskel.load({sample!r}), engine={engine!r}).step()"


def _engines() -> Iterator[InstalledPart]:
    """Every engine, with a step in a process of its own: engines can crash."""
    from exoskel.engines.mujoco.warp import WARP
    from exoskel.engines.registry import ENGINES

    gpu = _gpu()
    for engine in ENGINES.values():
        version = engine.version
        if version is None:
            yield InstalledPart("engines", engine.name, "missing", "not installed", engine.install)
        elif engine is WARP and gpu.status != "ok":
            yield InstalledPart("engines", engine.name, "ok", f"{version}; not tried without a GPU")
        else:
            problem = _try([sys.executable, "-P", "-c", _STEP.format(sample=_SAMPLE, engine=engine.name)])
            detail = f"{version}; {problem or 'one step works'}"
            status: Status = "failed" if problem else "ok"
            yield InstalledPart("engines", engine.name, status, detail, engine.install if problem else "")
    yield gpu


def _gpu() -> InstalledPart:
    program = shutil.which("nvidia-smi")
    if program is None:
        return InstalledPart("hardware", "GPU", "missing", "no NVIDIA driver found", "https://www.nvidia.com/drivers")
    query = [program, "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return InstalledPart("hardware", "GPU", "failed", f"nvidia-smi does not answer: {error}")
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        reason = (done.stdout + done.stderr).strip().splitlines()
        return InstalledPart("hardware", "GPU", "missing", reason[-1] if reason else "nvidia-smi finds no GPU")
    return InstalledPart("hardware", "GPU", "ok", "; ".join(lines))


def _graphics() -> Iterator[InstalledPart]:
    """Rendering without a display, and a browser for the viewer."""
    from exoskel.source.atomic_write import TemporaryFolder

    folder = TemporaryFolder()
    picture = str(Path(folder.path) / "trial.png")
    arguments = ("render", _SAMPLE, "--out", picture, "--size", "64x48", "--renderer", "mujoco")
    problem = _try([sys.executable, "-P", "-m", "exoskel", *arguments])
    if problem:
        yield InstalledPart("hardware", "EGL", "missing", f"{problem}; the software renderer is used", _EGL)
    else:
        yield InstalledPart("hardware", "EGL", "ok", "MuJoCo renders")
    yield _browser()


def _browser() -> InstalledPart:
    import webbrowser

    try:
        name = getattr(webbrowser.get(), "name", "") or "the default browser"
    except webbrowser.Error:
        name = next(filter(shutil.which, _BROWSERS), "")
    if name:
        return InstalledPart("hardware", "browser", "ok", name)
    detail = "none found; `exoskel view --no-browser` prints the address of the page"
    return InstalledPart("hardware", "browser", "missing", detail, "sudo apt-get install firefox-esr")


def _try(command: list[str]) -> str:
    """Run a command; returns the last line of its errors, or an empty text if it works."""
    return _output(command)[1]


def _output(command: list[str]) -> tuple[str, str]:
    """What a command prints, and the last line of its errors, which is empty if it works."""
    environment = {**os.environ, "NO_COLOR": "1"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_SECONDS, env=environment, check=False, errors="replace"
        )
    except subprocess.TimeoutExpired:
        return "", f"no answer within {_SECONDS:g} s"
    except OSError as error:
        return "", str(error)
    if done.returncode == 0:
        return done.stdout.strip(), ""
    lines = done.stderr.strip().splitlines()
    return "", lines[-1].removeprefix("exoskel: ") if lines else f"it crashed (exit code {done.returncode})"


# --- output -----------------------------------------------------------------------------------------------


def _show(parts: list[InstalledPart]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    group = ""
    for one in parts:
        shown = Text(one.group if one.group != group else "", "bold")
        group = one.group
        table.add_row(shown, one.name, Text(one.status, _MARKS[one.status]), Text(printable(one.detail)))
    console = terminal.console()
    console.print(table)
    for line in dict.fromkeys(one.install for one in parts if one.install):
        names = ", ".join(dict.fromkeys(one.name for one in parts if one.install == line))
        console.print(f"for {names}: {line}", markup=False)


def engines(*, json: Annotated[bool, Argument(help="Print the list as JSON.")] = False) -> int:
    """List the physics engines with their versions and limitations."""
    from exoskel.engines.registry import ENGINES

    rows = [
        {"engine": one.name, "version": one.version, "install": one.install, "limitations": one.limitations}
        for one in ENGINES.values()
    ]
    if json:
        terminal.write_json(rows)
        return 0
    from rich.markup import escape
    from rich.table import Table

    table = Table("engine", "version", "limitations", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for row in rows:
        table.add_row(
            row["engine"],
            row["version"] or escape(f"not installed: {row['install']}"),
            escape(row["limitations"] or ""),
        )
    terminal.console().print(table)
    return 0


# --- samples ------------------------------------------------------------------------------------------


def samples(
    names: Annotated[tuple[str, ...], Argument(help="Samples to list or copy; default: all.")] = (),
    /,
    *,
    copy: Annotated[Path | None, Argument(help="Copy the samples to this directory.")] = None,
    overwrite: Annotated[bool, Argument(help="Replace files that you have changed.")] = False,
    json: Annotated[bool, Argument(help="Print the list as JSON.")] = False,
) -> int:
    """List the bundled sample scenes, or copy them to a directory.

    Every command accepts a sample by its URI, `dart://sample/skel/NAME.skel`.
    """
    chosen = [_find_sample(name) for name in names] or all_samples()
    if copy is not None:
        _copy_samples(chosen, copy, overwrite)
    elif json:
        terminal.write_json([{"name": s.name, "uri": s.uri, "title": s.title, "path": str(s.path)} for s in chosen])
    else:
        _show_samples(chosen)
    return 0


def _find_sample(name: str) -> Sample:
    bundled = all_samples()
    for sample in bundled:
        if name in (sample.name, sample.path.name, sample.uri):
            return sample
    hint = did_you_mean(name, [sample.name for sample in bundled])
    raise ExoskelError(f"unknown sample {name!r}; {hint or 'list the samples with `exoskel samples`'}")


def _show_samples(chosen: list[Sample]) -> None:
    width = max(len(sample.uri) for sample in chosen)
    for sample in chosen:
        line = terminal.StyledText(f"{sample.uri:<{width}}", "cyan")
        line.append(f"  {sample.title}")
        terminal.print_text(line)


_EXISTS = "{!r} exists and differs from the sample; use --overwrite to replace it"


def _copy_samples(chosen: list[Sample], directory: Path, overwrite: bool) -> None:
    """Copy samples with their folders, so that references between files still work."""
    found = [(one.root, source) for one in chosen for source in one.files()]
    files = {directory / source.relative_to(root): source.read_bytes() for root, source in found}
    differs = [path for path, data in files.items() if os.path.lexists(path) and not has_content(path, data)]
    if differs and not overwrite:
        raise ExoskelError(_EXISTS.format(str(differs[0])))
    for target, data in files.items():
        make_folder(target.parent)
        try:
            write_atomically(target, data, None if overwrite else data)
        except FileChangedError:  # it was written in the meantime
            raise ExoskelError(_EXISTS.format(str(target))) from None
    terminal.print_text(f"{pluralize(len(chosen), 'sample')} copied to {printable(str(directory))}")
