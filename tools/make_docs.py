"""Writes the documentation pages that are generated from tables in the code: `make docs`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from exoskel.engines import codes
from exoskel.formats import registry
from exoskel.formats.interface import Format
from exoskel.formats.usd.mapping import with_tables
from exoskel.samples import samples
from exoskel.scene import merge
from exoskel.source.schema import build_schema
from exoskel.source.vocabulary_docs import vocabulary_markdown

PROJECT = Path(__file__).resolve().parent.parent
DOCS = PROJECT / "docs"
REFERENCE = DOCS / "reference"
EXTERNAL_READERS = PROJECT / "tests" / "golden" / "external_readers.json"
PUBLIC = PROJECT / "tests" / "golden" / "public.json"
GENERATED = "This page is generated from tables in the code (`make docs`); do not edit it."


def pages() -> dict[str, str]:
    """All generated pages, by file name."""
    generated = {
        "diagnostics.md": diagnostics(),
        "samples.md": sample_list(),
        "formats.md": format_pairs(),
        "external-readers.md": external_readers(),
        "public.md": public_models(),
    }
    for one in registry.WITH_VOCABULARY:
        generated[f"{one.name}.md"] = vocabulary_markdown(one.vocabulary())
        generated[f"{one.name}.xsd"] = build_schema(one.vocabulary()).decode()
    return generated


def diagnostics() -> str:
    parts = ["# Diagnostics", GENERATED, "`exoskel explain CODE` prints the same for one code."]
    for catalogue in [*registry.catalogues(), merge.CATALOGUE, codes.CATALOGUE]:
        for topic in catalogue.topics.values():
            rows = ["| severity | message | hint | " + (catalogue.engine or "note") + " |", "|---|---|---|---|"]
            for message in topic.messages:
                cells = [str(message.severity or "strict only"), message.text, message.hint, message.engine]
                rows.append("| " + " | ".join(cell.replace("|", "\\|").replace("<", "\\<") for cell in cells) + " |")
            parts += [f"## {topic.code}: {topic.title}", topic.text, "\n".join(rows)]
    return "\n\n".join(parts) + "\n"


def format_pairs() -> str:
    """The formats, and which of them can be converted to which."""
    kinds = ["| format | extensions | description | read | written | unsupported data |", "|---|---|---|---|---|---|"]
    for one in registry.FORMATS:
        unsupported = "embedded in the file" if one.embeds_data else "dropped and reported"
        extensions = " ".join(f"`{extension}`" for extension in one.extensions)
        read = "yes" if one.is_readable else "no: FM101"
        kinds.append(f"| {one.label} | {extensions} | {one.title} | {read} | yes | {unsupported} |")
    head = "| from | " + " | ".join(f"to {one.label}" for one in registry.FORMATS) + " |"
    rows = [head, "|---" * (len(registry.FORMATS) + 1) + "|"]
    for one in registry.FORMATS:
        cells = [_pair(one, other) for other in registry.FORMATS]
        rows.append(f"| {one.label} | " + " | ".join(cells) + " |")
    parts = ["# Formats", GENERATED, "\n".join(kinds), "## Pairs", "\n".join(rows)]
    return "\n\n".join(parts) + "\n"


def _pair(one: Format, other: Format) -> str:
    if not one.is_readable:
        return "rejected: FM101"
    if one is other:
        return "normalised"
    return "one file per model" if other.holds_one_model and not one.holds_one_model else "supported"


def sample_list() -> str:
    rows = ["| URI | description |", "|---|---|"]
    rows += [f"| `{sample.uri}` | {sample.title} |" for sample in samples()]
    return "\n\n".join(["# Samples", GENERATED, "\n".join(rows)]) + "\n"


def external_readers() -> str:
    """What other readers have found in what we write, from their record."""
    record = json.loads(EXTERNAL_READERS.read_text(encoding="utf-8"))
    scenes = {name: formats for name, formats in record["scenes"].items() if not name.startswith("documents/")}
    pairs = _pairs(scenes)
    parts = [
        "# External readers",
        "This page is generated from the record of `make test-external` (`make docs`); do not edit it.",
        "Every sample, every example of the tests, one mechanism for each joint kind and every file of a corpus is "
        "written in each format and read by other programs. The values they find are compared with the scene: "
        "masses, centres of mass, moments, world poses at random configurations, mass matrices, and the limits and "
        "damping of joints. The tolerance is 1e-9. The mass matrices of the scene are computed by differentiating its "
        "kinematics.",
        "USD stores physics in single precision, so its tolerance is 1e-6. Poses at random configurations are computed "
        "in double precision from the joints that Newton has read. Newton's own kinematics, whose single-precision "
        "errors add up along a chain, must agree with them to 1e-5. The column *start* compares the initial poses and "
        "velocities of bodies. usd-core has no kinematics; all its validators must pass.",
        f"Compared on {record['date']} with "
        + ", ".join(f"{_TITLES[name]} {version}" for name, version in record["readers"].items())
        + ".",
        _largest(scenes, pairs, record["errors"]),
        "## Limits of the readers",
        "Some readers reject a file or read it differently because of their own limits. The other values of such a "
        "file are compared where possible.",
        _limits(scenes),
        "## Scene by scene",
        "The largest error of all values; *limit* if the reader does not read the file.",
        _scenes(scenes, pairs),
    ]
    return "\n\n".join(parts) + "\n"


def public_models() -> str:
    """How models that come with packages fare, from the record."""
    record = json.loads(PUBLIC.read_text(encoding="utf-8"))
    rows = ["| package | models | certified in every format | rejected |", "|---|---|---|---|"]
    for package, version in record["versions"].items():
        own = [row for name, row in record["models"].items() if name.startswith(f"{package}/")]
        refused = sum("refused" in row for row in own)
        rows.append(f"| {package} {version} | {len(own)} | {len(own) - refused} | {refused} |")
    refusals = ["| model | why |", "|---|---|"]
    losses: list[str] = []
    for name, row in record["models"].items():
        if "refused" in row:
            refusals.append(f"| {name} | {row['refused'].replace('<', '&lt;')} |")
            continue
        if not losses:
            labels = [registry.by_name(format).label for format in row]
            losses = [f"| model | {' | '.join(labels)} |", "|---|" + "---|" * len(labels)]
        losses.append(f"| {name} | {' | '.join('none' if count is None else str(count) for count in row.values())} |")
    parts = [
        "# Public models",
        "This page is generated from the record of `make test-external` (`make docs`); do not edit it.",
        "Every MJCF, URDF and SDFormat model in these packages is read, written in all seven formats and certified: "
        "the written file is read back and its physics is compared with the model.",
        f"Tested on {record['date']}.",
        "\n".join(rows),
        "## Rejected",
        "MuJoCo rejects these too: something in them is missing or wrong.",
        "\n".join(refusals),
        "## Model by model",
        "The number of losses: values that the format does not support. Each is reported with its line when "
        "converting. *none*: the file contains no body and cannot be written as URDF.",
        "\n".join(losses),
    ]
    return "\n\n".join(parts) + "\n"


_TITLES = {
    "mujoco": "MuJoCo",
    "pinocchio": "Pinocchio",
    "drake": "Drake",
    "dart": "DART",
    "usd": "usd-core",
    "newton": "Newton",
}
Scenes = dict[str, Any]


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


def _limits(scenes: Scenes) -> str:
    scenes_by_limit: dict[tuple[str, str, str], list[str]] = {}
    for name, formats in scenes.items():
        for format, row in formats.items():
            for reader, whys in row.get("limits", {}).items():
                for why in whys:
                    scenes_by_limit.setdefault((format, reader, why), []).append(
                        f"{name.partition('/')[0]}/{name.rpartition('/')[2]}"
                    )
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


def main() -> int:
    REFERENCE.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (REFERENCE / name).write_text(text, encoding="utf-8")
    usd = DOCS / "usd.md"
    usd.write_text(with_tables(usd.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
