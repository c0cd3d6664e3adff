"""Settings of a project in `exoskel.toml`, or in the table `[tool.exoskel]` of `pyproject.toml`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec
from msgspec import Struct

from exoskel.cli.terminal import NOTICEABLE, STDIN, spinner
from exoskel.diagnostics import ExoskelError, did_you_mean, printable
from exoskel.source.file_lookup import lower_first, working_folder_exists

if TYPE_CHECKING:
    from exoskel.formats.file_search import Excluded

OutputFormat = Literal["text", "json", "sarif", "github", "junit"]
OWN_FILE, SHARED_FILE = "exoskel.toml", "pyproject.toml"
_TABLE = b"exoskel"


class CheckSettings(Struct, frozen=True, kw_only=True, rename="kebab"):
    """The options of `exoskel check` that a project can set; those of the command line replace them."""

    select: tuple[str, ...] = ()
    """Beginnings of the codes to report; all if empty."""
    ignore: tuple[str, ...] = ()
    """Beginnings of codes that are not reported."""
    exclude: tuple[str, ...] = ()
    """Files and folders that are skipped, as patterns of `.gitignore`."""
    respect_gitignore: bool = True
    strict: bool = False
    output_format: OutputFormat = "text"


class ProjectSettings(Struct, frozen=True):
    """The settings that apply in a folder, and the folder that their patterns are relative to."""

    check: CheckSettings = CheckSettings()
    folder: Path | None = None


class SettingsError(ExoskelError):
    """Settings that cannot be used; the message has the file and the key."""


@cache
def _fields() -> dict[str, msgspec.structs.FieldInfo]:
    return {field.encode_name: field for field in msgspec.structs.fields(CheckSettings)}


_WANTED = {
    tuple[str, ...]: "a list of strings",
    bool: "true or false",
    OutputFormat: f"one of {', '.join(get_args(OutputFormat))}",
}


def find_settings(start: Path | None = None) -> ProjectSettings:
    """The settings of the nearest file in a folder, by default the working folder, or above it."""
    if start is None and not working_folder_exists():
        return ProjectSettings()
    folder = (start or Path.cwd()).resolve()
    for place in (folder, *folder.parents):
        for name, path in ((OWN_FILE, ()), (SHARED_FILE, ("tool", "exoskel"))):
            table = _read_table(place / name, path)
            if table is not None:
                where = f"[{'.'.join(path)}] of {str(place / name)!r}" if path else repr(str(place / name))
                return ProjectSettings(_checked(table, where), place)
    return ProjectSettings()


def _read_table(file: Path, path: tuple[str, ...]) -> dict[str, Any] | None:
    """The table at a path in a TOML file; None if there is no such file or table."""
    try:
        data = file.read_bytes()
    except OSError:
        return None
    if path and _TABLE not in data:
        return None  # most projects have a file without our table
    import tomllib

    try:
        table: Any = tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"invalid settings in {str(file)!r}: {lower_first(str(error))}") from None
    for step in path:
        table = table.get(step) if isinstance(table, dict) else None
    if table is not None and not isinstance(table, dict):
        raise SettingsError(f"invalid settings in {str(file)!r}: '{'.'.join(path)}' must be a table")
    return table


def _checked(table: dict[str, Any], where: str) -> CheckSettings:
    """The settings of a table; raises SettingsError for unknown keys and for values of another type."""
    values: dict[str, Any] = {}
    known = _fields()
    for key, value in table.items():
        if key not in known:
            hint = did_you_mean(key, known) or f"known settings are {', '.join(known)}"
            raise SettingsError(f"unknown setting {key!r} in {where}; {hint}")
        field = known[key]
        try:
            values[field.name] = msgspec.convert(value, field.type)
        except msgspec.ValidationError:
            raise SettingsError(f"{key!r} in {where} must be {_WANTED[field.type]}, not {value!r}") from None
    for key in ("select", "ignore"):
        if key in values:
            values[key] = parse_codes(values[key], f"{key!r} in {where}")
    return CheckSettings(**values)


def find_files(
    arguments: Iterable[str], exclude: Sequence[str], root: Path | None, *, gitignore: bool = True
) -> list[str]:
    """Files, and the scene files in folders, without those that match patterns relative to `root`."""
    excluded: Excluded | None = None
    files: list[str] = []
    for argument in arguments:
        if argument == STDIN or not Path(argument).is_dir():
            files.append(argument)
            continue
        from exoskel.formats.file_search import Excluded, scene_files

        excluded = excluded or Excluded(exclude, root, gitignore=gitignore)
        with spinner(f"searching {printable(argument)}", after=NOTICEABLE):
            files += map(str, scene_files(Path(argument), excluded))
    return list(dict.fromkeys(files))


def parse_codes(texts: Iterable[str], name: str) -> tuple[str, ...]:
    """Beginnings of codes, separated by commas or given one by one; raises SettingsError for unknown ones."""
    codes = tuple(code.strip().upper() for code in _split(texts) if code.strip())
    if not codes:
        return ()
    from exoskel.formats.registry import code_prefixes

    unknown = next((code for code in codes if code not in code_prefixes()), None)
    if unknown is not None:
        raise SettingsError(f"{name}: no code begins with {unknown!r}; list all codes with `exoskel explain`")
    return codes


def _split(texts: Iterable[str]) -> Iterator[str]:
    return (code for text in texts for code in text.split(","))
