"""Every node of a document has exactly one fate, and the fates are honest."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

import exoskel
from exoskel.fates import Fate
from exoskel.source.document import Document
from exoskel.source.positions import Span
from tests.support.scenes import all_files, name_of, own_files

FORMATS = ("skel", "xode")


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("file", all_files(), ids=name_of)
def test_every_node_has_exactly_one_fate(file: Path, format: str) -> None:
    scene = exoskel.load(file)
    chosen = scene.worlds[0].name if len(scene.worlds) > 1 else None
    report = exoskel.convert(scene, None, to=format, world=chosen)
    document = Document(file.read_bytes())
    wanted = {(node, "") for node in range(len(document.outline.tags))}
    wanted |= {(node, name) for node, _ in wanted for name in document.scan.attributes(node)}
    told = [(item.node, item.attribute) for item in report.items if item.node >= 0]
    assert len(told) == len(set(told)) and set(told) == wanted
    regions = [r for r in document.scan.regions if not document.text.startswith(b"<![CDATA[", r[0])]
    assert len([item for item in report.items if item.node < 0]) == len(regions)
    assert all(item.why for item in report.items if item.fate not in (Fate.EXACT, Fate.KEPT)), "no reason given"
    assert report.nodes == sum(report.fates.values()) == len(report.items)


# --- honesty ------------------------------------------------------------------------------------------

NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def perturbed(document: Document, span: Span) -> list[bytes]:
    """The document with other values in that place; none where there is no telling what another value is."""
    text = document.text
    value = text[span.start : span.end]
    tokens = value.split()
    if tokens and all(NUMBER.fullmatch(token) for token in tokens):
        # The other way round too: one component of a direction can grow without turning it.
        news = [b" ".join(change(token) for token in tokens) for change in (_grown, _turned)]
    elif value.strip().lower() in (b"true", b"false"):
        news = [b"false" if value.strip().lower() == b"true" else b"true"]
    else:
        return []
    return [text[: span.start] + new + text[span.end :] for new in news]


def _grown(token: bytes) -> bytes:
    return str(int(token) + 1 if token.isdigit() else 1.25 * float(token) + 0.125).encode()


def _turned(token: bytes) -> bytes:
    return repr(-float(token) - 0.5).encode()


def spans(document: Document) -> dict[tuple[int, str], Span]:
    """The values that a document states: texts of leaves, and attributes."""
    found: dict[tuple[int, str], Span] = {}
    for node in range(len(document.outline.tags)):
        for name, span in document.scan.attributes(node).items():
            found[node, name] = span
        if document.outline.ends[node] == node + 1:
            content = document.scan.content(node)
            if document.text[content.start : content.end].strip():
                found[node, ""] = document.scan.value(node)
    return found


def pattern(document: Document, node: int, attribute: str) -> str:
    tags = [document.outline.tags[n] for n in document.outline.ancestry(node)]
    return "/".join(tags[-3:]) + (f"/@{attribute}" if attribute else "")


@cache
def probes() -> dict[tuple[str, str, str], tuple[Path, int, str]]:
    """One place for each pattern of element or attribute and each fate, for each target."""
    found: dict[tuple[str, str, str], tuple[Path, int, str]] = {}
    for file in sorted(own_files(), key=lambda path: path.stat().st_size):
        scene = exoskel.load(file)
        document = Document(file.read_bytes())
        for format in FORMATS:
            if not scene.worlds or len(scene.worlds) > 1 or not document.encoding.walkable:
                continue
            fates = {(i.node, i.attribute): i.fate for i in exoskel.convert(scene, None, to=format).items}
            for (node, attribute), span in spans(document).items():
                # Where nothing is moved above, it makes no difference what something is relative to.
                if perturbed(document, span) and attribute != "absolute":
                    key = (format, pattern(document, node, attribute), fates[node, attribute].value)
                    found.setdefault(key, (file, node, attribute))
    return found


@cache
def plain(file: Path, format: str) -> bytes:
    return exoskel.convert(file, None, to=format).data


BATCHES = 16


@pytest.mark.parametrize("batch", range(BATCHES))
def test_fates_are_honest(batch: int) -> None:
    """A value that is told to be in the output changes it; one that is told to be dropped does not."""
    wrong: list[str] = []
    for (format, where, fate), (file, node, attribute) in list(probes().items())[batch::BATCHES]:
        document = Document(file.read_bytes())
        comparable, changes = False, False
        for data in perturbed(document, spans(document)[node, attribute]):
            output = output_of(data, file, format)
            comparable = comparable or output is not None
            changes = output is not None and output != plain(file, format)
            if changes:
                break
        if comparable and changes is (fate == Fate.DROPPED):
            wrong.append(f"{file.name}: {where} to {format} is called {fate}")
    assert wrong == []


def output_of(data: bytes, file: Path, format: str) -> bytes | None:
    """The conversion of a document that lies where `file` does; None if there is now more or less wrong with it."""
    scene = exoskel.load(data, base=file.parent, format=file.suffix[1:])
    if not scene.worlds or sorted(d.key for d in scene.diagnostics) != findings(file):
        return None
    return exoskel.convert(scene, None, to=format).data


@cache
def findings(file: Path) -> list[str]:
    return sorted(d.key for d in exoskel.load(file).diagnostics)
