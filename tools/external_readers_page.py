"""The page about external readers, from the records of `make test-external`."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from exoskel.formats import registry

_GOLDEN = Path(__file__).resolve().parent.parent / "tests" / "golden"
EXTERNAL_READERS = _GOLDEN / "external_readers.json"
OTHER_READERS = _GOLDEN / "other_readers.json"
Scenes = dict[str, Any]
_TITLES = {
    "mujoco": "MuJoCo",
    "pinocchio": "Pinocchio",
    "drake": "Drake",
    "dart": "DART",
    "usd": "usd-core",
    "newton": "Newton",
}
_OTHER_TITLES = {
    "mujoco4": "MuJoCo",
    "mujoco3": "MuJoCo",
    "dm_control": "dm_control",
    "newton_mjcf": "Newton",
    "yourdfpy": "yourdfpy",
    "urchin": "urchin",
    "pinocchio_files": "Pinocchio",
    "dart_files": "DART",
    "usd_converter": "mujoco-usd-converter",
}
_CHANGED_COPIES = {("sdf", "dart"), ("mjcf", "pinocchio")}
"""Formats and readers that get changed copies in the first command; the second gives them the very files."""


def external_readers() -> str:
    """What other readers have found in what we write, from their record."""
    record = json.loads(EXTERNAL_READERS.read_text(encoding="utf-8"))
    scenes = {name: formats for name, formats in record["scenes"].items() if not name.startswith("documents/")}
    pairs = [pair for pair in _pairs(scenes) if pair not in _CHANGED_COPIES]
    copies = [pair for pair in _pairs(scenes) if pair in _CHANGED_COPIES]
    parts = [
        "# External readers",
        "This page is generated from the record of `make test-external` (`make docs`); do not edit it.",
        "Every sample, every example of the tests, one mechanism for each joint kind and every file of a corpus is "
        "written in each format and read by other programs, which get the very files. The values they find are "
        "compared with the scene: masses, centres of mass, moments, world poses at random configurations, mass "
        "matrices, and the limits and damping of joints. The tolerance is 1e-9. The mass matrices of the scene are "
        "computed by differentiating its kinematics.",
        "USD stores physics in single precision, so its tolerance is 1e-6. Poses at random configurations are computed "
        "in double precision from the joints that Newton has read. Newton's own kinematics, whose single-precision "
        "errors add up along a chain, must agree with them to 1e-5. The column *start* compares the initial poses and "
        "velocities of bodies. usd-core has no kinematics; all its validators must pass.",
        f"Compared on {record['date']} with "
        + ", ".join(f"{_TITLES[name]} {version}" for name, version in record["readers"].items())
        + "."
        + (f" {record['pending']}" if "pending" in record else ""),
        _largest(scenes, pairs, record["errors"]),
        "## Limits of the readers",
        "Some readers reject a file or read it differently because of their own limits. The other values of such a "
        "file are compared where possible.",
        _limits(scenes, pairs),
        "## Other readers",
        "These programs read the same files. A file that one of them refuses or reads differently counts as that. They "
        "are the files for any reader.",
        *_other_readers(scenes),
        "## Files written for one program",
        "The same scenes are converted with `--for`, with copies of their meshes, and read by that program. Masses, "
        "centres of mass, moments, poses and mass matrices are compared as above. Of single hinges and slides, so are "
        "limits, damping, stiffness, friction and armature.",
        "A value that the program reads differently must not have the fate exact or lowered. Such files are counted as "
        "*different, reported*; any other difference is a fault. *Refused, reported* are files whose conversion states "
        "that the program refuses them.",
        "Isaac Sim imports MJCF with mujoco-usd-converter: the bodies and joints of the USD stage that it makes are "
        "compared.",
        *_target_files(),
        "## Changed copies",
        "Two programs are also compared on copies that they can read, to check the values in files that they refuse as "
        "they are. These are no counts of files that open: those are above. DART reads SDFormat up to 1.6: instead of "
        "a newer file it gets a copy without shapes, labelled 1.6. Pinocchio reads one tree of bodies from MJCF: it "
        "gets a copy with all trees in one body, without actuators, sensors and keyframes.",
        _largest(scenes, copies, record["errors"]),
        _limits(scenes, copies),
        "## Scene by scene",
        "The largest error of all values; *limit* if the reader does not read the file.",
        _scenes(scenes, pairs),
    ]
    return "\n\n".join(parts) + "\n"


def _other_readers(compared: Scenes) -> list[str]:
    """How many of the compared files further readers read, and why not the others."""
    record = json.loads(OTHER_READERS.read_text(encoding="utf-8"))
    counts = ["| format | reader | files | read alike | different | refused |", "|---|---|---|---|---|---|"]
    reasons = [*_REASONS]
    for format in ("mjcf", "sdf", "urdf"):
        same = [name for name in compared if _digest(record["scenes"], name, format) == _digest(compared, name, format)]
        for title, verdicts in _by_reader(record, same, format):
            found = Counter(_outcome(verdict) for verdict in verdicts.values())
            outcomes = (str(found[one]) for one in ("", "different", "refused"))
            counts.append(f"| {title} | {len(verdicts)} | {' | '.join(outcomes)} |")
            reasons += _reasons(title, verdicts)
    return ["\n".join(counts), "\n".join(reasons)]


def _target_files() -> list[str]:
    """How many of the files for one program it reads, and why not the others."""
    record = json.loads(OTHER_READERS.read_text(encoding="utf-8"))
    columns = ("", "different, reported", "refused, reported", "refused")
    counts = [f"| format | reader | `--for` | files | read alike{' | '.join(columns)} |", "|---" * 8 + "|"]
    reasons = [*_REASONS]
    kinds = sorted({kind for formats in record["scenes"].values() for kind in formats if _TARGET in kind})
    for kind in kinds:
        for title, verdicts in _by_reader(record, record["scenes"], kind):
            found = Counter(_outcome(verdict) for verdict in verdicts.values())
            outcomes = (str(found[one]) for one in columns)
            counts.append(f"| {title} | {kind.partition(_TARGET)[2]} | {len(verdicts)} | {' | '.join(outcomes)} |")
            reasons += _reasons(title, verdicts)
    return ["\n".join(counts), "\n".join(reasons)]


_REASONS = ("| format | reader | what it says | scenes |", "|---|---|---|---|")
_TARGET = " for "


def _by_reader(record: dict[str, Any], names: Iterable[str], kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The format and title of each reader of a kind of files, and its verdicts by the names of scenes."""
    rows = {name: record["scenes"][name][kind]["readers"] for name in names if kind in record["scenes"][name]}
    for reader in sorted({reader for row in rows.values() for reader in row}):
        label = registry.by_name(kind.partition(_TARGET)[0]).label
        title = f"{label} | {_OTHER_TITLES[reader]} {record['readers'][reader]}"
        yield title, {name: row[reader] for name, row in rows.items() if reader in row}


def _outcome(verdict: Any) -> str:
    """How a file is read: `refused`, `different`, or alike (empty)."""
    return verdict.partition(": ")[0] if isinstance(verdict, str) else ""


def _reasons(title: str, verdicts: Mapping[str, Any]) -> list[str]:
    """Why files are not read alike, the most frequent reason first."""
    grouped: dict[str, list[str]] = {}
    for name, verdict in verdicts.items():
        if isinstance(verdict, str):
            grouped.setdefault(_general(verdict), []).append(_short(name))
    found = []
    for reason, names in sorted(grouped.items(), key=lambda item: -len(item[1])):
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        found.append(f"| {title} | {reason} | {shown} |")
    return found


def _digest(scenes: Scenes, name: str, format: str) -> str | None:
    found: str | None = scenes.get(name, {}).get(format, {}).get("sha256")
    return found


def _short(name: str) -> str:
    return f"{name.partition('/')[0]}/{name.rpartition('/')[2]}"


_NUMBERS = re.compile(r" off by [\d.e+-]+|inf")
_NAMES = re.compile(r"'[^']*'")


def _general(verdict: str) -> str:
    """What a reader says without names and numbers, for Markdown."""
    text = _NAMES.sub("'…'", _NUMBERS.sub("", verdict))
    return re.sub(r"[|<>\[\]*`_]", lambda found: "\\" + found[0], text)


def _pairs(scenes: Scenes) -> list[tuple[str, str]]:
    """Formats and their readers."""
    found = [(f, reader) for formats in scenes.values() for f, row in formats.items() for reader in row["errors"]]
    return list(dict.fromkeys(sorted(found, key=lambda pair: (pair[0], list(_TITLES).index(pair[1])))))


def _largest(scenes: Scenes, pairs: list[tuple[str, str]], quantities: list[str]) -> str:
    rows = [f"| format | reader | scenes | {' | '.join(q.replace('_', ' ') for q in quantities)} |"]
    rows.append("|---" * (3 + len(quantities)) + "|")
    for format, reader in pairs:
        errors = [f[format]["errors"][reader] for f in scenes.values() if reader in f.get(format, {}).get("errors", {})]
        worst = [max((e for e in column if e is not None), default=None) for column in zip(*errors, strict=True)]
        cells = ["" if error is None else f"{error:.0e}" for error in worst]
        rows.append(f"| {format.upper()} | {_TITLES[reader]} | {len(errors)} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _limits(scenes: Scenes, pairs: list[tuple[str, str]]) -> str:
    scenes_by_limit: dict[tuple[str, str, str], list[str]] = {}
    for name, formats in scenes.items():
        for format, row in formats.items():
            for reader, whys in row.get("limits", {}).items():
                for why in whys if (format, reader) in pairs else ():
                    scenes_by_limit.setdefault((format, reader, why), []).append(_short(name))
    rows = ["| format | reader | limit | scenes |", "|---|---|---|---|"]
    for (format, reader, why), names in sorted(scenes_by_limit.items()):
        rows.append(f"| {format.upper()} | {_TITLES[reader]} | {why} | {', '.join(names)} |")
    return "\n".join(rows)


def _scenes(scenes: Scenes, pairs: list[tuple[str, str]]) -> str:
    rows = ["| scene | " + " | ".join(f"{format.upper()}: {_TITLES[reader]}" for format, reader in pairs) + " |"]
    rows.append("|---" * (1 + len(pairs)) + "|")
    for name, formats in scenes.items():
        cells = []
        for format, reader in pairs:
            errors = [e for e in formats.get(format, {}).get("errors", {}).get(reader, []) if e is not None]
            cells.append(f"{max(errors):.0e}" if errors else "limit")
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(rows)
