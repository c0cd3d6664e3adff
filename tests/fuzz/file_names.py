"""The target for file names: an input is a line of JSON with a name and a number that selects a command.

The scene, its mesh, its world and its bodies have the name.  Commands answer with a documented exit code; what they
print is UTF-8 without control characters, and valid where it is JSON.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import quoteattr

from tests.fuzz.options import EXIT_CODES, run_in_folder

NAMES = (
    b"plain", b"x[_a]", b"[link=https:]q[bold]", b"x\x1b[31mred", b"x\x1b]8;;http:\x07y", b"x\ny", "x\u202ey".encode(), b"-dash",
    b"x\xff\xfey", "\ufffe".encode(), "\ufeff".encode(), b"\xed\xa0\x80", b"<script>", b"a&b\"'c", b"a%20b#c?d", b"a\\b",
    b"\x9b31m\xc2\x9b31m", b"=cmd", b"a" * 240, b" lead", b"trail ", b"a\rb", b"a\tb", "\u2028".encode(), b"${HOME}", b"{x}",
    b"%s%n", b"file:x", b"dart:x", b"a:b", b"+1", b"@x", b"..x", b"~", b"*", b"'",
)  # fmt: skip
COMMANDS = (
    ("check", "FILE"), ("check", "--json", "FILE"), ("check", "--sarif", "FILE"), ("info", "FILE"), ("info", "--json", "FILE"),
    ("fmt", "--check", "--json", "FILE"), ("fmt", "FILE"), ("check", "--fix", "FILE"), ("convert", "FILE", "FILE.urdf"),
    ("convert", "--meshes", "copy", "FILE", "FILE.sdf"), ("convert", "--json", "--meshes", "copy", "FILE", "FILE.xml"),
    ("convert", "--meshes", "absolute", "FILE", "FILE.urdf"), ("convert", "--meshes", "absolute", "FILE", "../out.xml"),
    ("convert", "--meshes", "copy", "FILE", "FILE.usda"), ("convert", "FILE", "FILE.glb"), ("convert", "FILE", "FILE.xode"),
    ("convert", ".", "out", "--to", "sdf", "--report", "report.md"), ("diff", "--json", "FILE", "FILE"),
    ("run", "FILE", "--time", "0.01", "--out", "FILE.npz"), ("run", "FILE", "--time", "0.01", "--out", "FILE.csv"),
    ("view", "FILE", "--export", "FILE.html", "--time", "0"), ("rollout", "FILE", "--worlds", "2", "--steps", "2", "--json"),
    ("explain", "NAME"), ("describe", "NAME"), ("schema", "NAME"), ("samples", "NAME"), ("run", "FILE", "--engine", "NAME"),
    ("convert", "FILE", "x", "--to", "NAME"), ("check", "NAME"), ("run", "FILE", "--start", "NAME"),
)  # fmt: skip
_CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200e\u200f\u2028\u2029]")
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MESH = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\nf 1 3 4\nf 2 3 4\n"
_SCENE = (
    '<skel version="1.0"><world name={0}><skeleton name={0}><body name={0}><inertia><mass>1</mass></inertia>'
    "<visualization_shape><geometry><mesh><file_name>{1}</file_name><scale>1 1 1</scale></mesh></geometry>"
    '</visualization_shape></body><joint type="revolute" name={0}><parent>world</parent><child>{1}</child>'
    "<axis><xyz>0 0 1</xyz></axis><other/></joint></skeleton></world></skel>"
)


def inputs() -> Iterator[bytes]:
    """Every name, with one command after the other."""
    for number, name in enumerate(NAMES):
        yield _join(name, number)


def _join(name: bytes, command: int) -> bytes:
    return json.dumps([os.fsdecode(name), command]).encode()


def mutate(_data: bytes, rng: random.Random, _other: bytes) -> bytes:
    """A name that is made of one or two others, and any command."""
    name = rng.choice(NAMES)
    if rng.random() < 0.5:
        name = (name + rng.choice(NAMES))[:240]
    return _join(name, rng.randrange(len(COMMANDS)))


def run(data: bytes) -> int:
    """Run a command on files with a name; returns whether it is an input."""
    try:
        name, number = json.loads(data)
        command = COMMANDS[number % len(COMMANDS)]
        os.fsencode(name)
    except (ValueError, TypeError):
        return 0
    if not name or "/" in name or "\0" in name or len(os.fsencode(name)) > 240:
        return 0
    words = {"FILE": f"./{name}.skel", "NAME": name}
    arguments = [re.sub("FILE|NAME", lambda found: words[found[0]], word) for word in command]
    code, output, errors = run_in_folder(arguments, lambda folder: _prepare(folder, name))
    printed = output + errors
    assert code in EXIT_CODES, (arguments, code)
    assert "internal error" not in printed and "Traceback" not in printed, (arguments, printed)
    assert not _CONTROL.search(printed), (arguments, printed)
    if code < 2 and {"--json", "--sarif"} & set(arguments):
        json.loads(output)
    return 1


def _prepare(folder: Path, name: str) -> None:
    text = _ILLEGAL.sub("", name).replace("\r", " ")
    content = _SCENE.format(quoteattr(text), text.replace("&", "&amp;").replace("<", "&lt;"))
    (folder / f"{name}.skel").write_text(content, encoding="utf-8")
    (folder / f"{name}.obj").write_text(_MESH, encoding="utf-8")
